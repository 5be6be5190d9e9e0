"""The client of a catalog server: `AsyncCatalog`, and `Catalog` with the same methods, blocking.

from explorer.client import AsyncCatalog, Catalog

with Catalog("http://localhost:8080") as catalog:
    table = catalog.entity("urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")

`explorer.AsyncCatalog` and `explorer.Catalog`, for notebooks and scripts, extend these two: they
are opened in the same way and have the same methods, but their results display themselves and have
more attributes, such as `.df`. Code below the front ends uses the classes here, which send no
requests for display only.

The types of all parameters and results are in this package or in `explorer.metadata`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.client.catalog import AsyncCatalog, Catalog
    from explorer.client.connection import Abilities, Exchange, KnownCatalog, Offline, Watching
    from explorer.client.editable import TextConflict
    from explorer.client.entity import AspectRead, Column, Entity, Schema
    from explorer.client.ingestion import LoadInterrupted
    from explorer.client.journal import Journal, JournalEntry, JournalSave, one_save
    from explorer.client.pages import Pager, Pages
    from explorer.client.records import (
        AspectDiff,
        BrowsePage,
        ChangeEvent,
        ChangeKind,
        ChangePage,
        ColumnChange,
        Deletion,
        DescribedCount,
        DescribedCounts,
        DescribedGroup,
        DescribedGroupTrend,
        DescribedSeries,
        DescribedTrend,
        Direction,
        Edge,
        Edges,
        Edit,
        EntityReference,
        Facet,
        FacetValue,
        FailingAssertion,
        Flow,
        Folder,
        Health,
        Held,
        Hit,
        HitColumn,
        Lineage,
        LineageEdge,
        LoadReport,
        Match,
        Measures,
        MovedContents,
        Named,
        OpenIncident,
        Origin,
        Reached,
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
        ValueChange,
        Version,
        Versions,
        Way,
        What,
        difference,
    )
    from explorer.client.transport import (
        Answer,
        NeverSent,
        Request,
        Retry,
        Secret,
        Streamed,
        Streaming,
        Transport,
    )
    from explorer.config import Drafting

__all__ = [
    "Abilities",
    "Answer",
    "AspectDiff",
    "AspectRead",
    "AsyncCatalog",
    "BrowsePage",
    "Catalog",
    "ChangeEvent",
    "ChangeKind",
    "ChangePage",
    "Column",
    "ColumnChange",
    "Deletion",
    "DescribedCount",
    "DescribedCounts",
    "DescribedGroup",
    "DescribedGroupTrend",
    "DescribedSeries",
    "DescribedTrend",
    "Direction",
    "Drafting",
    "Edge",
    "Edges",
    "Edit",
    "Entity",
    "EntityReference",
    "Exchange",
    "Facet",
    "FacetValue",
    "FailingAssertion",
    "Flow",
    "Folder",
    "Health",
    "Held",
    "Hit",
    "HitColumn",
    "Journal",
    "JournalEntry",
    "JournalSave",
    "KnownCatalog",
    "Lineage",
    "LineageEdge",
    "LoadInterrupted",
    "LoadReport",
    "Match",
    "Measures",
    "MovedContents",
    "Named",
    "NeverSent",
    "Offline",
    "OpenIncident",
    "Origin",
    "Pager",
    "Pages",
    "Reached",
    "RefusedChange",
    "Request",
    "Retry",
    "Rollback",
    "Run",
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
    "ValueChange",
    "Version",
    "Versions",
    "Watching",
    "Way",
    "What",
    "difference",
    "one_save",
]

# Imported when a name is first used: importing the whole client takes a third as long as
# importing Textual, and some front ends need one of its modules before their first frame.
_NAMES = {
    "catalog": ("AsyncCatalog", "Catalog"),
    "connection": ("Abilities", "Drafting", "Exchange", "KnownCatalog", "Offline", "Watching"),
    "editable": ("TextConflict",),
    "entity": ("AspectRead", "Column", "Entity", "Schema"),
    "ingestion": ("LoadInterrupted",),
    "journal": ("Journal", "JournalEntry", "JournalSave", "one_save"),
    "pages": ("Pager", "Pages"),
    "transport": (
        "Answer",
        "NeverSent",
        "Request",
        "Retry",
        "Secret",
        "Streamed",
        "Streaming",
        "Transport",
    ),
}
"""The module of each public name that is not in `records`."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'records')}")
    globals()[name] = export = getattr(module, name)
    return export


def __dir__() -> list[str]:
    return __all__
