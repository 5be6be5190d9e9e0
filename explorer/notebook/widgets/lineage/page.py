"""The lineage widget's module and its style, as a page gets them."""

from explorer.notebook.widgets.page import script, stylesheet

__all__ = ["MODULE", "SCRIPTS", "STYLE"]

SCRIPTS = script("lineage/elements.js", "lineage/saving.js", "lineage/lineage.js")
"""Without what all widgets share."""

MODULE = script("host.js") + "\n" + SCRIPTS
STYLE = stylesheet("lineage/lineage.css")
