"""Where the catalog's truth is kept: one narrow interface, and the engines that stand behind it.

An engine is a package of its own below this one, and is imported where it is chosen:
`explorer.server.data_directory`.
"""

from explorer.server.store.interface import (
    Direction,
    DocumentRange,
    Job,
    LogBounds,
    LogEntry,
    Neighbour,
    Observer,
    Placement,
    Reader,
    RunRow,
    RunSummary,
    Store,
    StoredAspect,
    StoredDocument,
    StoredEdge,
    StoredFolderPage,
    StoreFault,
    StoreUnavailable,
    TimeseriesDocument,
    Transaction,
    TransactionChanges,
    Trimmed,
    Write,
    log_mark,
    version_of,
)
from explorer.server.store.survey import SurveyedStore

__all__ = [
    "Direction",
    "DocumentRange",
    "Job",
    "LogBounds",
    "LogEntry",
    "Neighbour",
    "Observer",
    "Placement",
    "Reader",
    "RunRow",
    "RunSummary",
    "Store",
    "StoreFault",
    "StoreUnavailable",
    "StoredAspect",
    "StoredDocument",
    "StoredEdge",
    "StoredFolderPage",
    "SurveyedStore",
    "TimeseriesDocument",
    "Transaction",
    "TransactionChanges",
    "Trimmed",
    "Write",
    "log_mark",
    "version_of",
]
