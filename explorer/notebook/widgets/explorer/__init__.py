"""The explorer: a catalog browsed, searched, read and documented in a notebook's page."""

from explorer.notebook.widgets.explorer.widget import Explorer, explore

__all__ = ["Explorer", "explore"]
