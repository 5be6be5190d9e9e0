"""What the client gives: immutable records, whichever kind of server answered."""

from explorer.client.records.finding import (
    BrowsePage,
    Facet,
    FacetValue,
    Folder,
    Hit,
    Match,
    Named,
    SearchPage,
)
from explorer.client.records.reading import ServerInfo, Timeseries
from explorer.client.records.relating import Direction, Edge, Edges
from explorer.client.records.writing import LoadReport, Rollback

__all__ = [
    "BrowsePage",
    "Direction",
    "Edge",
    "Edges",
    "Facet",
    "FacetValue",
    "Folder",
    "Hit",
    "LoadReport",
    "Match",
    "Named",
    "Rollback",
    "SearchPage",
    "ServerInfo",
    "Timeseries",
]
