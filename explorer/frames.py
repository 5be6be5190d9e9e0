"""What the client gives, as pandas DataFrames.

Every function is pure, asks no server, and gives the same columns and dtypes for one row, many or
none. `string` is pandas' nullable text, `Int64` and `Float64` its nullable numbers: what a server
does not say is `<NA>`, never an empty text or a zero. Texts are as the catalog holds them, byte
for byte. Frames over time have an index named `time`, `datetime64[ms, UTC]`, oldest first.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from explorer.client.entity import Entity
from explorer.client.records import Edges, SearchPage, Timeseries
from explorer.client.schema import Schema
from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    Owner,
    read_aspect,
)
from explorer.metadata.urn import Urn

__all__ = [
    "column_profile_frame",
    "column_usage_frame",
    "edges_frame",
    "owners_frame",
    "profile_frame",
    "schema_frame",
    "search_frame",
    "usage_frame",
]

_Names = Mapping[Urn, str]
_Dtypes = Mapping[str, str]

_SEARCH: _Dtypes = {
    "urn": "string",
    "name": "string",
    "type": "string",
    "platform": "string",
    "description": "string",
    "edited": "bool",
    "owners": "string",
    "tags": "string",
    "matched": "string",
}
_SCHEMA: _Dtypes = {
    "path": "string",
    "name": "string",
    "type": "string",
    "native_type": "string",
    "nullable": "bool",
    "key": "bool",
    "depth": "int64",
    "description": "string",
    "ingested": "string",
    "edited": "string",
    "documented": "bool",
    "tags": "string",
    "terms": "string",
}
_OWNERS: _Dtypes = {"urn": "string", "name": "string", "type": "string", "role": "string"}
_EDGES: _Dtypes = {
    "direction": "string",
    "relationship": "string",
    "urn": "string",
    "name": "string",
    "type": "string",
    "platform": "string",
}
_USAGE: _Dtypes = {"queries": "Int64", "users": "Int64"}
_COLUMN_USAGE: _Dtypes = {"path": "string", "count": "Int64"}
_PROFILE: _Dtypes = {"rows": "Int64", "columns": "Int64"}
_COLUMN_PROFILE: _Dtypes = {
    "path": "string",
    "unique_count": "Int64",
    "unique_proportion": "Float64",
    "null_count": "Int64",
    "null_proportion": "Float64",
    "min": "string",
    "max": "string",
    "mean": "string",
    "median": "string",
    "sample_values": "string",
}


def search_frame(page: SearchPage, summaries: Mapping[Urn, Entity] | None = None) -> pd.DataFrame:
    """A row for each hit, best first; the index counts on from the page's start.

    urn, name, type, platform   string
    description                 string   what people wrote where they wrote any, else ingested
    edited                      bool     whether people wrote it
    owners, tags                string   names, joined by ", "
    matched                     string   the fields that made it match, joined by ", "

    What `summaries` does not hold is told from the URN alone.
    """
    known = summaries or {}
    rows = []
    for hit in page:
        entity = known.get(hit.urn) or Entity(hit.urn, {})
        owners = Urn.parse_all(owner.owner for owner in entity.owners)
        rows.append(
            (
                str(hit.urn),
                entity.name,
                hit.urn.entity_type,
                entity.platform,
                entity.description or None,
                bool(entity.edited_description),
                _joined(urn.name for urn in owners),
                _joined(urn.name for urn in entity.tags),
                _joined(dict.fromkeys(match.field for match in hit.matched)),
            )
        )
    index = pd.RangeIndex(page.start, page.start + len(rows), name="rank")
    return _frame(rows, _SEARCH, index)


def schema_frame(schema: Schema) -> pd.DataFrame:
    """A row for each column, every parent before its children.

    path                 string   exact, as a server wants it back
    name                 string   what is left of it below its parent
    type, native_type    string   in the catalog's words and in the platform's
    nullable, key        bool
    depth                int64    how many columns it lies in
    description          string   what people wrote where they wrote any, else ingested
    ingested, edited     string   the two apart
    documented           bool
    tags, terms          string   names, joined by ", "
    """
    return _frame(
        [
            (
                column.path.raw,
                column.name,
                column.type or None,
                column.native_type or None,
                column.nullable,
                column.is_key,
                column.depth,
                column.description or None,
                column.ingested or None,
                column.edited or None,
                column.documented,
                _joined(urn.name for urn in column.tags),
                _joined(urn.name for urn in column.terms),
            )
            for column in schema
        ],
        _SCHEMA,
    )


def owners_frame(owners: Iterable[Owner], names: _Names | None = None) -> pd.DataFrame:
    """A row for each owner, as written.

    urn    string
    name   string   from `names`, else from the URN
    type   string   corpuser or corpGroup
    role   string   DATAOWNER, TECHNICAL_OWNER, …
    """
    rows = []
    for owner in owners:
        urn = next(iter(Urn.parse_all([owner.owner])), None)
        kind = urn.entity_type if urn else None
        rows.append((owner.owner, _name(urn, names) if urn else owner.owner, kind, owner.type))
    return _frame(rows, _OWNERS)


def edges_frame(edges: Iterable[Edges], names: _Names | None = None) -> pd.DataFrame:
    """A row for each edge, in the order given.

    direction        string   OUTGOING: declared by the entity; INCOMING: leads to it
    relationship     string   DownstreamOf, OwnedBy, …
    urn, name        string   of the entity on the other side
    type, platform   string   of the entity on the other side
    """
    return _frame(
        [
            (
                group.direction,
                edge.relationship or None,
                str(edge.urn),
                _name(edge.urn, names),
                edge.urn.entity_type,
                edge.urn.platform,
            )
            for group in edges
            for edge in group.edges
        ],
        _EDGES,
    )


def usage_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics`, at the moment it starts.

    queries   Int64   queries that read the dataset
    users     Int64   different users who did
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    rows = [(point.total_sql_queries, point.unique_user_count) for point in points]
    return _frame(rows, _USAGE, _times([point.timestamp_millis for point in points]))


def column_usage_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics` and column used in it.

    path    string
    count   Int64   how often the column was used
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    found = [(point.timestamp_millis, used) for point in points for used in point.field_counts]
    rows = [(used.field_path, used.count) for _, used in found]
    return _frame(rows, _COLUMN_USAGE, _times([millis for millis, _ in found]))


def profile_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each profile in a series of `datasetProfile`.

    rows, columns   Int64   of the whole dataset
    """
    points = [read_aspect(value, DatasetProfile) for value in series.values]
    rows = [(point.row_count, point.column_count) for point in points]
    return _frame(rows, _PROFILE, _times([point.timestamp_millis for point in points]))


def column_profile_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each profile in a series of `datasetProfile` and column profiled in it.

    path                                  string
    unique_count, null_count              Int64
    unique_proportion, null_proportion    Float64   from 0 to 1
    min, max, mean, median                string    as profiling wrote them
    sample_values                         string    joined by ", "
    """
    points = [read_aspect(value, DatasetProfile) for value in series.values]
    found = [
        (point.timestamp_millis, profiled)
        for point in points
        for profiled in point.field_profiles or ()
    ]
    rows = [
        (
            profiled.field_path,
            profiled.unique_count,
            profiled.unique_proportion,
            profiled.null_count,
            profiled.null_proportion,
            profiled.min,
            profiled.max,
            profiled.mean,
            profiled.median,
            _joined(profiled.sample_values or ()),
        )
        for _, profiled in found
    ]
    return _frame(rows, _COLUMN_PROFILE, _times([millis for millis, _ in found]))


def _frame(
    rows: Sequence[tuple[Any, ...]], dtypes: _Dtypes, index: "pd.Index[Any] | None" = None
) -> pd.DataFrame:
    """Rows under the columns of `dtypes`; made of objects first, so that no value is guessed at."""
    frame = pd.DataFrame(rows, columns=list(dtypes), index=index, dtype="object")
    return frame.astype(dict(dtypes))


def _times(millis: Sequence[int]) -> pd.DatetimeIndex:
    moments = pd.Series(millis, dtype="int64").astype("datetime64[ms]")
    return pd.DatetimeIndex(moments, name="time").tz_localize("UTC")


def _joined(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None


def _name(urn: Urn, names: _Names | None) -> str:
    return (names or {}).get(urn) or urn.name
