"""What the client gives: immutable records, whichever kind of server answered."""

from explorer.client.records.editing import Edit, Held, What
from explorer.client.records.finding import (
    BrowsePage,
    Facet,
    FacetValue,
    Folder,
    Hit,
    Match,
    Named,
    SearchPage,
    Suggestion,
)
from explorer.client.records.following import ChangeEvent, ChangePage
from explorer.client.records.history import AspectDiff, ColumnChange, Origin, Version, Versions
from explorer.client.records.reading import Measures, ServerInfo, Timeseries
from explorer.client.records.relating import (
    Direction,
    Edge,
    Edges,
    Flow,
    Lineage,
    LineageEdge,
    Reached,
    Way,
)
from explorer.client.records.writing import (
    Deletion,
    LoadReport,
    Reference,
    RefusedChange,
    Rollback,
    Run,
    StatusChange,
)

__all__ = [
    "AspectDiff",
    "BrowsePage",
    "ChangeEvent",
    "ChangePage",
    "ColumnChange",
    "Deletion",
    "Direction",
    "Edge",
    "Edges",
    "Edit",
    "Facet",
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
    "Version",
    "Versions",
    "Way",
    "What",
]
