"""The client layer: one asynchronous client over HTTP, and a blocking face driven by it."""

from explorer.client.aio import AsyncCatalog
from explorer.client.blocking import Catalog

__all__ = ["AsyncCatalog", "Catalog"]
