"""The client layer: one asynchronous client over HTTP, and a blocking face driven by it.

from explorer.client import AsyncCatalog, Catalog

with Catalog("http://localhost:8080") as catalog:
    table = catalog.entity("urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")

Everything that a method takes or gives is here, or part of the vocabulary in `explorer.metadata`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Named as its module is: once that module is imported, only what is bound here hides it.
from explorer.client.difference import Change, ChangeKind, difference

if TYPE_CHECKING:
    from explorer.client.abilities import Abilities
    from explorer.client.aio import AsyncCatalog
    from explorer.client.blocking import Catalog
    from explorer.client.conflict import TextConflict
    from explorer.client.entity import AspectRead, Entity
    from explorer.client.exchange import Exchange, Watching
    from explorer.client.interruption import LoadInterrupted
    from explorer.client.journal import Journal, JournalEntry, Save, one_save
    from explorer.client.keeping import Offline
    from explorer.client.paging import Pager, Pages
    from explorer.client.records import (
        AspectDiff,
        BrowsePage,
        ChangeEvent,
        ChangePage,
        ColumnChange,
        Deletion,
        DescribedCount,
        DescribedCounts,
        DescribedGroup,
        Direction,
        Edge,
        Edges,
        Edit,
        Facet,
        FacetValue,
        FailingAssertion,
        Flow,
        Folder,
        Health,
        Held,
        Hit,
        Lineage,
        LineageEdge,
        LoadReport,
        Match,
        Measures,
        Named,
        OpenIncident,
        Origin,
        Reached,
        Reference,
        RefusedChange,
        Rollback,
        Run,
        SearchPage,
        ServerInfo,
        StatusChange,
        Suggestion,
        Timeseries,
        Undescribed,
        UndescribedPage,
        Version,
        Versions,
        Way,
        What,
    )
    from explorer.client.requests.request import Request
    from explorer.client.retry import Retry
    from explorer.client.schema import Column, Schema
    from explorer.client.secret import Secret
    from explorer.client.transport import Answer, NeverSent, Streamed, Streaming, Transport

__all__ = [
    "Abilities",
    "Answer",
    "AspectDiff",
    "AspectRead",
    "AsyncCatalog",
    "BrowsePage",
    "Catalog",
    "Change",
    "ChangeEvent",
    "ChangeKind",
    "ChangePage",
    "Column",
    "ColumnChange",
    "Deletion",
    "DescribedCount",
    "DescribedCounts",
    "DescribedGroup",
    "Direction",
    "Edge",
    "Edges",
    "Edit",
    "Entity",
    "Exchange",
    "Facet",
    "FacetValue",
    "FailingAssertion",
    "Flow",
    "Folder",
    "Health",
    "Held",
    "Hit",
    "Journal",
    "JournalEntry",
    "Lineage",
    "LineageEdge",
    "LoadInterrupted",
    "LoadReport",
    "Match",
    "Measures",
    "Named",
    "NeverSent",
    "Offline",
    "OpenIncident",
    "Origin",
    "Pager",
    "Pages",
    "Reached",
    "Reference",
    "RefusedChange",
    "Request",
    "Retry",
    "Rollback",
    "Run",
    "Save",
    "Schema",
    "SearchPage",
    "Secret",
    "ServerInfo",
    "StatusChange",
    "Streamed",
    "Streaming",
    "Suggestion",
    "TextConflict",
    "Timeseries",
    "Transport",
    "Undescribed",
    "UndescribedPage",
    "Version",
    "Versions",
    "Watching",
    "Way",
    "What",
    "difference",
    "one_save",
]

# A front end that only shows text imports one module from here before its first frame; the client
# itself takes a third as long to import as all of Textual, so it comes when it is asked for.
_HOMES = {
    "Abilities": "explorer.client.abilities",
    "Answer": "explorer.client.transport",
    "AspectDiff": "explorer.client.records",
    "AspectRead": "explorer.client.entity",
    "AsyncCatalog": "explorer.client.aio",
    "BrowsePage": "explorer.client.records",
    "Catalog": "explorer.client.blocking",
    "ChangeEvent": "explorer.client.records",
    "ChangePage": "explorer.client.records",
    "Column": "explorer.client.schema",
    "ColumnChange": "explorer.client.records",
    "Deletion": "explorer.client.records",
    "DescribedCount": "explorer.client.records",
    "DescribedCounts": "explorer.client.records",
    "DescribedGroup": "explorer.client.records",
    "Direction": "explorer.client.records",
    "Edge": "explorer.client.records",
    "Edges": "explorer.client.records",
    "Edit": "explorer.client.records",
    "Entity": "explorer.client.entity",
    "Exchange": "explorer.client.exchange",
    "Facet": "explorer.client.records",
    "FacetValue": "explorer.client.records",
    "FailingAssertion": "explorer.client.records",
    "Flow": "explorer.client.records",
    "Folder": "explorer.client.records",
    "Health": "explorer.client.records",
    "Held": "explorer.client.records",
    "Hit": "explorer.client.records",
    "Journal": "explorer.client.journal",
    "JournalEntry": "explorer.client.journal",
    "Lineage": "explorer.client.records",
    "LineageEdge": "explorer.client.records",
    "LoadInterrupted": "explorer.client.interruption",
    "LoadReport": "explorer.client.records",
    "Match": "explorer.client.records",
    "Measures": "explorer.client.records",
    "Named": "explorer.client.records",
    "NeverSent": "explorer.client.transport",
    "Offline": "explorer.client.keeping",
    "OpenIncident": "explorer.client.records",
    "Origin": "explorer.client.records",
    "Pager": "explorer.client.paging",
    "Pages": "explorer.client.paging",
    "Reached": "explorer.client.records",
    "Reference": "explorer.client.records",
    "RefusedChange": "explorer.client.records",
    "Request": "explorer.client.requests.request",
    "Retry": "explorer.client.retry",
    "Rollback": "explorer.client.records",
    "Run": "explorer.client.records",
    "Save": "explorer.client.journal",
    "Schema": "explorer.client.schema",
    "SearchPage": "explorer.client.records",
    "Secret": "explorer.client.secret",
    "ServerInfo": "explorer.client.records",
    "StatusChange": "explorer.client.records",
    "Streamed": "explorer.client.transport",
    "Streaming": "explorer.client.transport",
    "Suggestion": "explorer.client.records",
    "TextConflict": "explorer.client.conflict",
    "Timeseries": "explorer.client.records",
    "Transport": "explorer.client.transport",
    "Undescribed": "explorer.client.records",
    "UndescribedPage": "explorer.client.records",
    "Version": "explorer.client.records",
    "Versions": "explorer.client.records",
    "Watching": "explorer.client.exchange",
    "Way": "explorer.client.records",
    "What": "explorer.client.records",
    "one_save": "explorer.client.journal",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
