"""Where the catalog's truth is kept: one narrow interface, and the engine that stands behind it."""

from explorer.server.store.interface import (
    BrowsePage,
    Job,
    LogEntry,
    Observer,
    Placement,
    Point,
    Reference,
    RunRow,
    RunSummary,
    Store,
    StoredAspect,
    StoredEdge,
    Transaction,
    Write,
)
from explorer.server.store.sqlite import SqliteStore

__all__ = [
    "BrowsePage",
    "Job",
    "LogEntry",
    "Observer",
    "Placement",
    "Point",
    "Reference",
    "RunRow",
    "RunSummary",
    "SqliteStore",
    "Store",
    "StoredAspect",
    "StoredEdge",
    "Transaction",
    "Write",
]
