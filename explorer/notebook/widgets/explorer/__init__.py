"""The explorer: a catalog browsed, searched, read and documented in a notebook's page."""

from explorer.notebook.widgets.explorer.opening import explore
from explorer.notebook.widgets.explorer.widget import Explorer

__all__ = ["Explorer", "explore"]
