"""The lineage widget."""

from explorer.notebook.widgets.lineage.widget import EmbeddedLineage, LineageWidget

__all__ = ["EmbeddedLineage", "LineageWidget"]
