"""The client layer: one asynchronous client over HTTP, and a blocking face driven by it.

from explorer.client import AsyncCatalog, Catalog

with Catalog("http://localhost:8080") as catalog:
    table = catalog.entity("urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")

Everything that a method takes or gives is here, or part of the vocabulary in `explorer.metadata`.
"""

from explorer.client.abilities import Abilities
from explorer.client.aio import AsyncCatalog
from explorer.client.blocking import Catalog
from explorer.client.conflict import TextConflict
from explorer.client.difference import Change, ChangeKind, difference
from explorer.client.entity import AspectRead, Entity
from explorer.client.interruption import LoadInterrupted
from explorer.client.journal import Journal, JournalEntry
from explorer.client.keeping import Offline
from explorer.client.paging import Pager, Pages
from explorer.client.records import (
    AspectDiff,
    BrowsePage,
    ChangeEvent,
    ChangePage,
    ColumnChange,
    Deletion,
    Direction,
    Edge,
    Edges,
    Edit,
    Facet,
    FacetValue,
    Flow,
    Folder,
    Held,
    Hit,
    Lineage,
    LineageEdge,
    LoadReport,
    Match,
    Named,
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
    "Direction",
    "Edge",
    "Edges",
    "Edit",
    "Entity",
    "Facet",
    "FacetValue",
    "Flow",
    "Folder",
    "Held",
    "Hit",
    "Journal",
    "JournalEntry",
    "Lineage",
    "LineageEdge",
    "LoadInterrupted",
    "LoadReport",
    "Match",
    "Named",
    "NeverSent",
    "Offline",
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
    "Version",
    "Versions",
    "Way",
    "What",
    "difference",
]
