"""What the client gives, as pandas DataFrames.

Every function is pure, asks no server, and gives the same columns and dtypes for one row, many or
none. `string` is pandas' nullable text, `Int64` and `Float64` its nullable numbers: what a server
does not say is `<NA>`, never an empty text or a zero. Texts are as the catalog holds them, byte
for byte. Frames over time have an index named `time`, `datetime64[ms, UTC]`, oldest first.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any, Protocol

import pandas as pd

from explorer.client.entity import Entity, Schema
from explorer.client.records import (
    AspectDiff,
    ChangeEvent,
    ColumnChange,
    Edges,
    Hit,
    Run,
    SearchPage,
    Timeseries,
    Versions,
)
from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    Owner,
    moment_of,
    read_aspect,
)
from explorer.metadata.urn import Urn

__all__ = [
    "changes_frame",
    "column_changes_frame",
    "column_profile_frame",
    "column_usage_frame",
    "edges_frame",
    "entities_frame",
    "events_frame",
    "lineage_frame",
    "owners_frame",
    "profile_frame",
    "query_usage_frame",
    "runs_frame",
    "schema_frame",
    "search_frame",
    "search_row",
    "times",
    "usage_frame",
    "user_usage_frame",
    "versions_frame",
]

_Names = Mapping[Urn, str]
_Dtypes = Mapping[str, str]

_SUMMED_UP = ("urn", "name", "type", "platform", "description", "edited", "owners", "tags")
_MOMENT = "datetime64[ms, UTC]"
_SEARCH: _Dtypes = (
    dict.fromkeys(_SUMMED_UP, "string")
    | {"edited": "bool", "rows": "Int64", "queries": "Int64", "changed": _MOMENT}
    | {"matched": "string"}
)
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
_USER_USAGE: _Dtypes = {"user": "string", "name": "string", "queries": "Int64"}
_QUERY_USAGE: _Dtypes = {"query": "string"}
_PROFILE: _Dtypes = {"rows": "Int64", "columns": "Int64", "bytes": "Int64"}
_ENTITIES: _Dtypes = dict.fromkeys(
    (*_SUMMED_UP, "terms", "domain", "removed", "deprecated"),
    "string",
) | dict.fromkeys(("edited", "removed", "deprecated"), "bool")
_ENDS = ("upstream_name", "upstream_type", "downstream_name", "downstream_type")
_LINEAGE: _Dtypes = dict.fromkeys(("upstream", "downstream", "relationship", *_ENDS), "string")
_VERSIONS: _Dtypes = {"version": "int64", "actor": "string", "run": "string", "value": "string"}
_CHANGES: _Dtypes = dict.fromkeys(("path", "kind", "before", "after"), "string")
_COLUMN_CHANGES: _Dtypes = (
    dict.fromkeys(("path", "origin", "before", "after"), "string")
    | {"version": "int64", "time": _MOMENT}
    | dict.fromkeys(("who", "actor", "run"), "string")
)
_EVENTS: _Dtypes = {"offset": "int64", "time": _MOMENT} | dict.fromkeys(
    ("urn", "name", "type", "aspect", "kind", "who", "actor", "value"), "string"
)
_RUNS: _Dtypes = {"run": "string", "time": _MOMENT, "rows": "int64"}
_NO_MOMENT = -(2**63)  # what NumPy takes for no moment at all
_COLUMN_PROFILE: _Dtypes = {
    "path": "string",
    "unique_count": "Int64",
    "unique_proportion": "Float64",
    "null_count": "Int64",
    "null_proportion": "Float64",
    "min": "Float64",
    "max": "Float64",
    "mean": "Float64",
    "median": "Float64",
    "stdev": "Float64",
    "min_text": "string",
    "max_text": "string",
    "sample_values": "string",
}


class _Edge(Protocol):
    """An edge of lineage: anything that says where data comes from and where it goes."""

    @property
    def upstream(self) -> str | Urn: ...

    @property
    def downstream(self) -> str | Urn: ...

    @property
    def relationship(self) -> str: ...


class _Measures(Protocol):
    """What is known of the size and use of an entity."""

    @property
    def rows(self) -> int | None: ...

    @property
    def queries(self) -> int | None: ...

    @property
    def changed(self) -> datetime | None: ...


def search_frame(
    page: SearchPage,
    summaries: Mapping[Urn, Entity] | None = None,
    measures: Mapping[Urn, _Measures] | None = None,
) -> pd.DataFrame:
    """A row for each hit, best first; the index counts on from the page's start.

    urn, name, type, platform   string
    description                 string   what people wrote where they wrote any, else ingested
    edited                      bool     whether people wrote it
    owners, tags                string   names, joined by ", "
    rows, queries               Int64    of the newest profile; of the last 30 days
    changed                     datetime64[ms, UTC]   when it was changed last
    matched                     string   the fields that made it match, joined by ", "

    What `summaries` does not hold is told from the URN alone; what `measures` does not, is missing.
    """
    known, measured = summaries or {}, measures or {}
    rows = [
        tuple(search_row(hit, known.get(hit.urn), measured.get(hit.urn)).values()) for hit in page
    ]
    index = pd.RangeIndex(page.start, page.start + len(rows), name="rank")
    return _frame(rows, _SEARCH, index)


def search_row(hit: Hit, entity: Entity | None, measures: _Measures | None) -> dict[str, Any]:
    """A row of `search_frame` by the names of its columns; None is what is missing."""
    said = _summed_up(entity or Entity(hit.urn, {}))
    matched = _joined(dict.fromkeys(match.field for match in hit.matched))
    numbers = [getattr(measures, name, None) for name in ("rows", "queries", "changed")]
    return dict(zip(_SEARCH, (*said, *numbers, matched), strict=True))


def entities_frame(entities: Iterable[Entity]) -> pd.DataFrame:
    """A row for each entity, in the order given.

    urn, name, type, platform     string
    description                   string   what people wrote where they wrote any, else ingested
    edited                        bool     whether people wrote it
    owners, tags, terms, domain   string   names, joined by ", "
    removed, deprecated           bool

    What was not read of an entity is missing, or false.
    """
    rows = [
        (
            *_summed_up(entity),
            _joined(urn.name for urn in entity.terms),
            _joined(urn.name for urn in entity.domains),
            entity.removed,
            entity.deprecation is not None,
        )
        for entity in entities
    ]
    return _frame(rows, _ENTITIES)


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


def lineage_frame(
    edges: Iterable[_Edge], summaries: Mapping[Urn, Entity] | None = None
) -> pd.DataFrame:
    """A row for each edge of lineage, in the order given.

    upstream, downstream              string   URNs: data flows from the first to the second
    relationship                      string   DownstreamOf, Consumes, …
    upstream_name, downstream_name    string   from `summaries`, else from the URN
    upstream_type, downstream_type    string   what the platform calls it where `summaries` says
    """
    end = cache(partial(_end, known=summaries or {}))
    rows = [
        (up, down, edge.relationship or None, *end(up), *end(down))
        for edge in edges
        for up, down in [(str(edge.upstream), str(edge.downstream))]
    ]
    return _frame(rows, _LINEAGE)


def versions_frame(versions: Versions) -> pd.DataFrame:
    """A row for each version of an aspect, at the moment it was written, where it says so.

    version   int64    as the server numbers it: 0 is the latest, 1 the oldest
    actor     string   who wrote it, a URN
    run       string   the run of ingestion that brought it
    value     string   as JSON
    """
    oldest_first = versions.versions[::-1]
    rows = [
        (one.number, one.created.actor if one.created else None, one.run_id, _spelled(one.value))
        for one in oldest_first
    ]
    index = times([one.created.time if one.created else None for one in oldest_first])
    return _frame(rows, _VERSIONS, index)


def changes_frame(diff: AspectDiff) -> pd.DataFrame:
    """A row for each place where two versions of an aspect differ.

    path            string   as a JSON pointer, elements of arrays by what tells them apart
    kind            string   added, removed or changed
    before, after   string   texts as they are, anything else as JSON; missing where there is none
    """
    rows = [(one.place, one.kind, _spelled(one.before), _spelled(one.after)) for one in diff]
    return _frame(rows, _CHANGES)


def usage_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics`, at the moment it starts.

    queries   Int64   queries that read the dataset
    users     Int64   different users who did
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    rows = [(point.total_sql_queries, point.unique_user_count) for point in points]
    return _frame(rows, _USAGE, times([point.timestamp_millis for point in points]))


def column_usage_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics` and column used in it.

    path    string
    count   Int64   how often the column was used
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    found = [(point.timestamp_millis, used) for point in points for used in point.field_counts]
    rows = [(used.field_path, used.count) for _, used in found]
    return _frame(rows, _COLUMN_USAGE, times([millis for millis, _ in found]))


def user_usage_frame(series: Timeseries, names: _Names | None = None) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics` and user who queried in it.

    user, name   string   a URN, or an address where the server knows no more; what people say
    queries      Int64
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    found = [(point.timestamp_millis, used) for point in points for used in point.user_counts]
    rows = []
    for _, used in found:
        user = used.user or used.user_email
        urn = next(iter(Urn.parse_all([user])), None) if user else None
        rows.append((user, _name(urn, names) if urn else user, used.count))
    return _frame(rows, _USER_USAGE, times([millis for millis, _ in found]))


def query_usage_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each window of `datasetUsageStatistics` and query among the most frequent in it,
    which are told without numbers.

    query   string   its text
    """
    points = [read_aspect(value, DatasetUsageStatistics) for value in series.values]
    found = [(point.timestamp_millis, text) for point in points for text in point.top_sql_queries]
    return _frame([(text,) for _, text in found], _QUERY_USAGE, times([at for at, _ in found]))


def profile_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each profile in a series of `datasetProfile`.

    rows, columns, bytes   Int64   of the whole dataset
    """
    points = [read_aspect(value, DatasetProfile) for value in series.values]
    rows = [(point.row_count, point.column_count, point.size_in_bytes) for point in points]
    return _frame(rows, _PROFILE, times([point.timestamp_millis for point in points]))


def column_profile_frame(series: Timeseries) -> pd.DataFrame:
    """A row for each profile in a series of `datasetProfile` and column profiled in it.

    path                                  string
    unique_count, null_count              Int64
    unique_proportion, null_proportion    Float64   from 0 to 1
    min, max, mean, median, stdev         Float64   missing where they are no numbers
    min_text, max_text                    string    as profiling wrote them: a date, a text
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
            profiled.number("min"),
            profiled.number("max"),
            profiled.number("mean"),
            profiled.number("median"),
            profiled.number("stdev"),
            profiled.min,
            profiled.max,
            _joined(profiled.sample_values or ()),
        )
        for _, profiled in found
    ]
    return _frame(rows, _COLUMN_PROFILE, times([millis for millis, _ in found]))


def column_changes_frame(
    changes: Iterable[ColumnChange], names: _Names | None = None
) -> pd.DataFrame:
    """A row for each change of a column's description, in the order given.

    path            string   of the column
    origin          string   ingested or edited
    before, after   string   missing where there was no text
    version         int64    of the aspect, which brought it
    time            datetime64[ms, UTC]   when it was written, where it says so
    who, actor      string   who wrote it, by name and as a URN
    run             string   the run of ingestion that brought it
    """
    rows = []
    for one in changes:
        actor = one.created.actor if one.created else None
        urn = next(iter(Urn.parse_all([actor])), None) if actor else None
        who = _name(urn, names) if urn else actor
        moment = _moment(one.created.time if one.created else None)
        told = (one.path, one.origin, one.before, one.after, one.version)
        rows.append((*told, moment, who, actor, one.run_id))
    return _frame(rows, _COLUMN_CHANGES)


def events_frame(events: Iterable[ChangeEvent], names: _Names | None = None) -> pd.DataFrame:
    """A row for each change of an aspect, in the order given.

    offset            int64    its place in the change log
    time              datetime64[ms, UTC]   when it was stored
    urn, name, type   string   of what was changed
    aspect, kind      string   kind is the change type: UPSERT, DELETE, …
    who, actor        string   who changed it, by name and as a URN
    value             string   what was written, as JSON
    """
    rows = []
    for one in events:
        actor = next(iter(Urn.parse_all([one.actor])), None)
        who = _name(actor, names) if actor else one.actor or None
        what = (str(one.urn), _name(one.urn, names), one.urn.entity_type, one.aspect, one.kind)
        rows.append((one.offset, one.at, *what, who, one.actor or None, _spelled(one.value)))
    return _frame(rows, _EVENTS)


def runs_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """A row for each run of ingestion, in the order given.

    run    string   its name
    time   datetime64[ms, UTC]   when it wrote last
    rows   int64    versions and points that are left of it
    """
    return _frame([(one.run_id, one.at, one.rows) for one in runs], _RUNS)


def times(millis: Sequence[int | None]) -> pd.DatetimeIndex:
    """The index of a frame over time: moments in milliseconds since 1970 UTC."""
    known = [_NO_MOMENT if stands is None else stands for stands in millis]
    moments = pd.Series(known, dtype="int64").astype("datetime64[ms]")
    return pd.DatetimeIndex(moments, name="time").tz_localize("UTC")


def _frame(
    rows: Sequence[tuple[Any, ...]], dtypes: _Dtypes, index: "pd.Index[Any] | None" = None
) -> pd.DataFrame:
    """Rows under the columns of `dtypes`; made of objects first, so that no value is guessed at."""
    frame = pd.DataFrame(rows, columns=list(dtypes), index=index, dtype="object")
    return frame.astype(dict(dtypes))


def _moment(millis: int | None) -> datetime | None:
    return None if millis is None else moment_of(millis)


def _summed_up(entity: Entity) -> tuple[Any, ...]:
    """What every frame of entities begins with."""
    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    return (
        str(entity.urn),
        entity.name,
        entity.entity_type,
        entity.platform,
        entity.description or None,
        bool(entity.edited_description),
        _joined(urn.name for urn in owners),
        _joined(urn.name for urn in entity.tags),
    )


def _end(text: str, known: Mapping[Urn, Entity]) -> tuple[str, str | None]:
    """What an end of an edge is called, and what it is."""
    for urn in Urn.parse_all([text]):
        entity = known.get(urn) or Entity(urn, {})
        return entity.name, entity.kind
    return text, None


def _spelled(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _joined(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None


def _name(urn: Urn, names: _Names | None) -> str:
    return (names or {}).get(urn) or urn.name
