"""The lineage widget."""
