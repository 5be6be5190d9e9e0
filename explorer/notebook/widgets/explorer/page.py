"""The explorer's module and its style, as a page gets them."""

from pathlib import Path

from explorer.notebook.widgets import page
from explorer.notebook.widgets.lineage.page import SCRIPTS as LINEAGE
from explorer.notebook.widgets.lineage.page import STYLE as LINEAGE_STYLE

__all__ = ["MODULE", "STYLE"]

_HERE = Path(__file__).parent
_PARTS = ("parts", "bodies", "entity", "editor", "searching", "folders", "found")
_SCRIPTS = ("../host", "elements", *_PARTS, "explorer")

# The drawing of the lineage tab is that of the lineage widget, whose names are its own.
_DRAWING = LINEAGE.replace("export default { render };", "return render;")
_OWN = page.module(_HERE, *(f"{name}.js" for name in _SCRIPTS))

MODULE = f"const renderLineage = (() => {{\n{_DRAWING}\n}})();\n{_OWN}"
STYLE = LINEAGE_STYLE + page.style(_HERE, "explorer.css")
