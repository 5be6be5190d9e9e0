"""A metadata catalog people explore and document from a terminal and from a notebook.

from explorer import Catalog

with Catalog() as cat:
    page = cat.search("orders")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

__all__ = ["AsyncCatalog", "Catalog", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # `import explorer` is paid by every command; the client brings httpx.
    if name in ("AsyncCatalog", "Catalog"):
        from explorer import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
