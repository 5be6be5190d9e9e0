"""The lineage widget's module and its style, as a page gets them."""

from pathlib import Path

from explorer.notebook.widgets import page

__all__ = ["MODULE", "SCRIPTS", "STYLE"]

_HERE = Path(__file__).parent

SCRIPTS = page.module(_HERE, "elements.js", "saving.js", "lineage.js")
"""Without what all widgets share."""

MODULE = page.module(_HERE, "../host.js") + "\n" + SCRIPTS
STYLE = page.style(_HERE, "lineage.css")
