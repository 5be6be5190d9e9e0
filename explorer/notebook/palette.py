"""The colours of charts, the same in plotly's figures and in pictures."""

from dataclasses import dataclass

__all__ = ["COLOURS", "DARK", "LIGHT", "Palette"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Of those that Okabe and Ito found told apart with any kind of colour vision."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The ground of a chart, and what is written and ruled on it.

    No single colour has a contrast of 4.5 on white and on the ground of a dark notebook, so a chart
    brings its own ground.
    """

    ground: str
    text: str
    grid: str


LIGHT = Palette("#ffffff", "#4b5563", "rgba(128,128,128,0.25)")
DARK = Palette("#161a1d", "#c3cad1", "rgba(128,128,128,0.35)")
