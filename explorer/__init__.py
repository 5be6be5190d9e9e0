"""A metadata catalog people explore and document from a terminal and from a notebook.

from explorer import Catalog

with Catalog() as cat:
    page = cat.search("orders")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from explorer.version import __version__

if TYPE_CHECKING:
    from explorer.notebook.catalog import AsyncNotebookCatalog as AsyncCatalog
    from explorer.notebook.catalog import NotebookCatalog as Catalog

__all__ = ["AsyncCatalog", "Catalog", "__version__"]

# Every command imports this package, so its classes are imported when they are first used.
_CLASSES = {"AsyncCatalog": "AsyncNotebookCatalog", "Catalog": "NotebookCatalog"}


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module("explorer.notebook.catalog"), _CLASSES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
