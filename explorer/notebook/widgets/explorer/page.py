"""The explorer's module and its style, as a page gets them."""

from pathlib import Path

from explorer.notebook.widgets import page

__all__ = ["MODULE", "STYLE"]

_HERE = Path(__file__).parent
_PARTS = ("parts", "bodies", "entity", "editor", "searching", "folders", "found")
_SCRIPTS = ("../host", "elements", *_PARTS, "explorer")

MODULE = page.module(_HERE, *(f"{name}.js" for name in _SCRIPTS))
STYLE = page.style(_HERE, "explorer.css")
