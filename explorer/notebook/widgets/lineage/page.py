"""The lineage widget's module and its style, as a page gets them."""

from pathlib import Path

from explorer.notebook.widgets import page

__all__ = ["MODULE", "STYLE"]

_HERE = Path(__file__).parent

MODULE = page.module(_HERE, "../host.js", "elements.js", "saving.js", "lineage.js")
STYLE = page.style(_HERE, "lineage.css")
