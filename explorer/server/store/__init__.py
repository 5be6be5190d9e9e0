"""Where the catalog's truth is kept: one narrow interface, and the engines that stand behind it.

An engine is a package of its own below this one, and is imported where it is chosen:
`explorer.server.data_directory`.
"""

from explorer.server.store.interface import (
    Job,
    KnownUrn,
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
    StoreFault,
    TimeseriesDocument,
    Transaction,
    Write,
)
from explorer.server.store.survey import SurveyedStore

__all__ = [
    "Job",
    "KnownUrn",
    "LogEntry",
    "Observer",
    "Placement",
    "RunRow",
    "RunSummary",
    "Store",
    "StoreFault",
    "StoredAspect",
    "StoredEdge",
    "StoredFolderPage",
    "StoredReference",
    "SurveyedStore",
    "TimeseriesDocument",
    "Transaction",
    "Write",
]
