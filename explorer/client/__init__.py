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
    from explorer.client.requests import Request
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
    "abilities": ("Abilities",),
    "aio": ("AsyncCatalog",),
    "blocking": ("Catalog",),
    "conflict": ("TextConflict",),
    "entity": ("AspectRead", "Entity"),
    "exchange": ("Exchange", "Watching"),
    "interruption": ("LoadInterrupted",),
    "journal": ("Journal", "JournalEntry", "Save", "one_save"),
    "keeping": ("Offline",),
    "paging": ("Pager", "Pages"),
    "records": (
        "AspectDiff",
        "BrowsePage",
        "ChangeEvent",
        "ChangePage",
        "ColumnChange",
        "Deletion",
        "DescribedCount",
        "DescribedCounts",
        "DescribedGroup",
        "Direction",
        "Edge",
        "Edges",
        "Edit",
        "Facet",
        "FailingAssertion",
        "Health",
        "OpenIncident",
        "FacetValue",
        "Flow",
        "Folder",
        "Held",
        "Hit",
        "Lineage",
        "LineageEdge",
        "LoadReport",
        "Match",
        "Measures",
        "Named",
        "Origin",
        "Reached",
        "Reference",
        "RefusedChange",
        "Rollback",
        "Run",
        "SearchPage",
        "ServerInfo",
        "StatusChange",
        "Suggestion",
        "Timeseries",
        "Undescribed",
        "UndescribedPage",
        "Version",
        "Versions",
        "Way",
        "What",
    ),
    "requests": ("Request",),
    "retry": ("Retry",),
    "schema": ("Column", "Schema"),
    "secret": ("Secret",),
    "transport": ("Answer", "NeverSent", "Streamed", "Streaming", "Transport"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__
