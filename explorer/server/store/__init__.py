"""Where the catalog's truth is kept: one narrow interface, and the engine that stands behind it."""

from explorer.server.store.interface import (
    Job,
    LogEntry,
    Observer,
    Placement,
    RunRow,
    RunSummary,
    Store,
    StoredAspect,
    StoredEdge,
    StoredFolderPage,
    StoredReference,
    TimeseriesDocument,
    Transaction,
    Write,
)
from explorer.server.store.sqlite import SqliteStore

__all__ = [
    "Job",
    "LogEntry",
    "Observer",
    "Placement",
    "RunRow",
    "RunSummary",
    "SqliteStore",
    "Store",
    "StoredAspect",
    "StoredEdge",
    "StoredFolderPage",
    "StoredReference",
    "TimeseriesDocument",
    "Transaction",
    "Write",
]
