"""The catalog in a notebook: objects that show themselves well and are DataFrames when asked.

`%load_ext explorer.notebook` adds the commands of `explorer.notebook.magics`.
"""

from typing import TYPE_CHECKING

from explorer.notebook.catalog import AsyncNotebookCatalog as AsyncCatalog
from explorer.notebook.catalog import NotebookCatalog as Catalog

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["AsyncCatalog", "Catalog", "load_ipython_extension"]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Offer `%catalog` and `%%describe` in this shell; IPython calls it."""
    from explorer.notebook.magics import CatalogMagics

    CatalogMagics(shell).register()
