"""The colours of charts, the same in plotly's figures and in pictures."""

__all__ = ["COLOURS", "GREY", "GRID"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Of those that Okabe and Ito found told apart with any kind of colour vision."""

GREY = "#787878"
"""Of texts: read on a light ground and on a dark one."""

GRID = "rgba(128,128,128,0.25)"
