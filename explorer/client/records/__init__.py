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
from explorer.client.records.health import FailingAssertion, Health, OpenIncident
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
from explorer.client.records.stewardship import (
    DescribedCount,
    DescribedCounts,
    DescribedGroup,
    Undescribed,
    UndescribedPage,
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
    "DescribedCount",
    "DescribedCounts",
    "DescribedGroup",
    "Direction",
    "Edge",
    "Edges",
    "Edit",
    "Facet",
    "FacetValue",
    "FailingAssertion",
    "Flow",
    "Folder",
    "Health",
    "Held",
    "Hit",
    "Lineage",
    "LineageEdge",
    "LoadReport",
    "Match",
    "Measures",
    "Named",
    "OpenIncident",
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
]
