"""The explorer's module and its style, as a page gets them."""

from explorer.notebook.widgets.lineage.page import SCRIPTS as LINEAGE
from explorer.notebook.widgets.lineage.page import STYLE as LINEAGE_STYLE
from explorer.notebook.widgets.page import script, stylesheet

__all__ = ["MODULE", "STYLE"]

_PARTS = ("parts", "bodies", "entity", "editor", "searching", "folders", "found", "explorer")

# The drawing of the lineage tab is that of the lineage widget, whose names are its own.
_DRAWING = LINEAGE.replace("export default { render };", "return render;")
_OWN = script("host.js", "explorer/elements.js", *(f"explorer/{name}.js" for name in _PARTS))

MODULE = f"const renderLineage = (() => {{\n{_DRAWING}\n}})();\n{_OWN}"
STYLE = LINEAGE_STYLE + stylesheet("explorer/explorer.css")
