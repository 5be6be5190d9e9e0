"""The lineage widget."""

from explorer.notebook.widgets.lineage.widget import LineageWidget

__all__ = ["LineageWidget"]
