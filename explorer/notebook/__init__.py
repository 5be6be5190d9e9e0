"""The catalog in a notebook: objects that show themselves well and are DataFrames when asked."""

from explorer.notebook.catalog import Catalog

__all__ = ["Catalog"]
