"""Conversion of the client's records to pandas DataFrames.

The functions send no requests. Each returns the same columns and dtypes for any number of rows,
including none. `string` is pandas' nullable text dtype, `Int64` and `Float64` are its nullable
number dtypes: a missing value is `<NA>`, never an empty text or zero. Texts are exactly as in the
catalog. Frames over time have an index named `time` of dtype `datetime64[ms, UTC]`, oldest first.
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
    Owner,
    moment_of,
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
    "earlier": "string",
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
_NO_MOMENT = -(2**63)  # NumPy's value for NaT
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
    """A lineage edge: any object with these attributes."""

    @property
    def upstream(self) -> str | Urn: ...

    @property
    def downstream(self) -> str | Urn: ...

    @property
    def relationship(self) -> str: ...


class _Measures(Protocol):
    """The size and use of an entity; `None` if unknown."""

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
    """Return a row for each hit, best first. The index `rank` starts at the page's start.

    urn, name, type, platform   string
    description                 string   the edited description, else the ingested one
    edited                      bool     whether there is an edited description
    owners, tags                string   names, joined by ", "
    rows, queries               Int64    of the latest profile; of the last 30 days
    changed                     datetime64[ms, UTC]   when the dataset or its rows last changed
    matched                     string   the fields that matched, joined by ", "

    Entities that are not in `summaries` have only what their URN says; those that are not in
    `measures` have no rows, queries and changed.
    """
    entities, measured = summaries or {}, measures or {}
    rows = [
        tuple(search_row(hit, entities.get(hit.urn), measured.get(hit.urn)).values())
        for hit in page
    ]
    index = pd.RangeIndex(page.start, page.start + len(rows), name="rank")
    return _frame(rows, _SEARCH, index)


def search_row(hit: Hit, entity: Entity | None, measures: _Measures | None) -> dict[str, Any]:
    """Return a row of `search_frame` by column name; missing values are `None`."""
    summary = _summary_values(entity or Entity(hit.urn, {}))
    matched = _join(dict.fromkeys(match.field for match in hit.matched))
    numbers = [getattr(measures, name, None) for name in ("rows", "queries", "changed")]
    return dict(zip(_SEARCH, (*summary, *numbers, matched), strict=True))


def entities_frame(entities: Iterable[Entity]) -> pd.DataFrame:
    """Return a row for each entity, in the given order.

    urn, name, type, platform     string
    description                   string   the edited description, else the ingested one
    edited                        bool     whether there is an edited description
    owners, tags, terms, domain   string   names, joined by ", "
    removed, deprecated           bool

    Values of aspects that were not read are missing, or false.
    """
    rows = [
        (
            *_summary_values(entity),
            _join(urn.name for urn in entity.terms),
            _join(urn.name for urn in entity.domains),
            entity.removed,
            entity.deprecation is not None,
        )
        for entity in entities
    ]
    return _frame(rows, _ENTITIES)


def schema_frame(schema: Schema, names: _Names | None = None) -> pd.DataFrame:
    """Return a row for each column, each parent before its children.

    path                 string   the exact field path, as the server uses it
    name                 string   the part of the path below the parent
    type, native_type    string   the catalog's type, and the platform's
    nullable, key        bool
    depth                int64    the number of ancestors
    description          string   the edited description, else the ingested one
    ingested, edited     string   the ingested and the edited description
    documented           bool     whether there is a description
    tags, terms          string   from `names`, else from the URNs, joined by ", "
    earlier              string   the path that people wrote for, if the type or case changed since
    """
    names_by_urn = names or {}
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
                _join(names_by_urn.get(urn) or urn.name for urn in column.tags),
                _join(names_by_urn.get(urn) or urn.name for urn in column.terms),
                column.earlier.raw if column.earlier else None,
            )
            for column in schema
        ],
        _SCHEMA,
    )


def owners_frame(owners: Iterable[Owner], names: _Names | None = None) -> pd.DataFrame:
    """Return a row for each owner, in the given order.

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
    """Return a row for each edge, in the given order.

    direction        string   OUTGOING from the entity, or INCOMING
    relationship     string   DownstreamOf, OwnedBy, …
    urn, name        string   of the entity at the other end
    type, platform   string   of the entity at the other end
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
    """Return a row for each lineage edge, in the given order.

    upstream, downstream              string   URNs; data flows from upstream to downstream
    relationship                      string   DownstreamOf, Consumes, …
    upstream_name, downstream_name    string   from `summaries`, else from the URN
    upstream_type, downstream_type    string   the platform's name for it from `summaries`, such as
                                               View, else the entity type
    """
    end = cache(partial(_end, entities=summaries or {}))
    rows = [
        (up, down, edge.relationship or None, *end(up), *end(down))
        for edge in edges
        for up, down in [(str(edge.upstream), str(edge.downstream))]
    ]
    return _frame(rows, _LINEAGE)


def versions_frame(versions: Versions) -> pd.DataFrame:
    """Return a row for each version of an aspect, indexed by when it was written, if known.

    version   int64    the server's number: 0 is the latest, 1 the oldest
    actor     string   the URN of who wrote it
    run       string   the ingestion run that wrote it
    value     string   as JSON
    """
    oldest_first = versions.versions[::-1]
    rows = [
        (
            version.number,
            version.created.actor if version.created else None,
            version.run_id,
            _to_text(version.value),
        )
        for version in oldest_first
    ]
    index = times([version.created.time if version.created else None for version in oldest_first])
    return _frame(rows, _VERSIONS, index)


def changes_frame(diff: AspectDiff) -> pd.DataFrame:
    """Return a row for each position at which two versions of an aspect differ.

    path            string   a JSON pointer, with the identifying values of array elements
    kind            string   added, removed or changed
    before, after   string   texts unchanged, other values as JSON; missing if there is none
    """
    rows = [
        (change.place, change.kind, _to_text(change.before), _to_text(change.after))
        for change in diff
    ]
    return _frame(rows, _CHANGES)


def usage_frame(series: Timeseries) -> pd.DataFrame:
    """Return a row for each window of `datasetUsageStatistics`, indexed by its start.

    queries   Int64   the number of queries that read the dataset
    users     Int64   the number of different users of these queries
    """
    points = series.usage()
    rows = [(point.total_sql_queries, point.unique_user_count) for point in points]
    return _frame(rows, _USAGE, times([point.timestamp_millis for point in points]))


def column_usage_frame(series: Timeseries) -> pd.DataFrame:
    """Return a row for each window of `datasetUsageStatistics` and each column used in it.

    path    string
    count   Int64   how often the column was used
    """
    points = series.usage()
    usages = [(point.timestamp_millis, usage) for point in points for usage in point.field_counts]
    rows = [(usage.field_path, usage.count) for _, usage in usages]
    return _frame(rows, _COLUMN_USAGE, times([millis for millis, _ in usages]))


def user_usage_frame(series: Timeseries, names: _Names | None = None) -> pd.DataFrame:
    """Return a row for each window of `datasetUsageStatistics` and each user with queries in it.

    user      string   a URN, or the email address if there is no URN
    name      string   from `names`, else from the URN, else as `user`
    queries   Int64
    """
    points = series.usage()
    usages = [(point.timestamp_millis, usage) for point in points for usage in point.user_counts]
    rows = []
    for _, user_usage in usages:
        user = user_usage.user or user_usage.user_email
        urn = next(iter(Urn.parse_all([user])), None) if user else None
        rows.append((user, _name(urn, names) if urn else user, user_usage.count))
    return _frame(rows, _USER_USAGE, times([millis for millis, _ in usages]))


def query_usage_frame(series: Timeseries) -> pd.DataFrame:
    """Return a row for each window of `datasetUsageStatistics` and each of its most frequent
    queries. How frequent they are is not known.

    query   string   the text of the query
    """
    points = series.usage()
    queries = [(point.timestamp_millis, text) for point in points for text in point.top_sql_queries]
    return _frame([(text,) for _, text in queries], _QUERY_USAGE, times([at for at, _ in queries]))


def profile_frame(series: Timeseries) -> pd.DataFrame:
    """Return a row for each profile in a series of `datasetProfile`.

    rows, columns, bytes   Int64   the size of the dataset
    """
    points = series.profiles()
    rows = [(point.row_count, point.column_count, point.size_in_bytes) for point in points]
    return _frame(rows, _PROFILE, times([point.timestamp_millis for point in points]))


def column_profile_frame(series: Timeseries) -> pd.DataFrame:
    """Return a row for each profile in a series of `datasetProfile` and each column profiled in it.

    path                                  string
    unique_count, null_count              Int64
    unique_proportion, null_proportion    Float64   from 0 to 1
    min, max, mean, median, stdev         Float64   missing if they are not finite numbers
    min_text, max_text                    string    as in the profile, such as dates and texts
    sample_values                         string    joined by ", "
    """
    points = series.profiles()
    profiles = [
        (point.timestamp_millis, profile)
        for point in points
        for profile in point.field_profiles or ()
    ]
    rows = [
        (
            profile.field_path,
            profile.unique_count,
            profile.unique_proportion,
            profile.null_count,
            profile.null_proportion,
            profile.number("min"),
            profile.number("max"),
            profile.number("mean"),
            profile.number("median"),
            profile.number("stdev"),
            profile.min,
            profile.max,
            _join(profile.sample_values or ()),
        )
        for _, profile in profiles
    ]
    return _frame(rows, _COLUMN_PROFILE, times([millis for millis, _ in profiles]))


def column_changes_frame(
    changes: Iterable[ColumnChange], names: _Names | None = None
) -> pd.DataFrame:
    """Return a row for each change of a column's description, in the given order.

    path            string   the field path of the column
    origin          string   ingested or edited
    before, after   string   missing if there was no description
    version         int64    the version of the aspect that made the change
    time            datetime64[ms, UTC]   when it was written, if known
    who, actor      string   who wrote it, by name and as a URN
    run             string   the ingestion run that wrote it
    """
    rows = []
    for change in changes:
        actor = change.created.actor if change.created else None
        urn = next(iter(Urn.parse_all([actor])), None) if actor else None
        who = _name(urn, names) if urn else actor
        moment = _moment(change.created.time if change.created else None)
        cells = (change.path, change.origin, change.before, change.after, change.version)
        rows.append((*cells, moment, who, actor, change.run_id))
    return _frame(rows, _COLUMN_CHANGES)


def events_frame(events: Iterable[ChangeEvent], names: _Names | None = None) -> pd.DataFrame:
    """Return a row for each change of an aspect, in the given order.

    offset            int64    the position in the change log
    time              datetime64[ms, UTC]   when the change was stored
    urn, name, type   string   of the entity that changed
    aspect, kind      string   kind is the change type: UPSERT, DELETE, …
    who, actor        string   who made the change, by name and as a URN
    value             string   the new value, as JSON
    """
    rows = []
    for event in events:
        actor = next(iter(Urn.parse_all([event.actor])), None)
        who = _name(actor, names) if actor else event.actor or None
        what = (
            str(event.urn),
            _name(event.urn, names),
            event.urn.entity_type,
            event.aspect,
            event.kind,
        )
        rows.append(
            (event.offset, event.at, *what, who, event.actor or None, _to_text(event.value))
        )
    return _frame(rows, _EVENTS)


def runs_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return a row for each ingestion run, in the given order.

    run    string   the run id
    time   datetime64[ms, UTC]   when it last wrote
    rows   int64    the number of its versions and points that are still stored
    """
    return _frame([(run.run_id, run.at, run.rows) for run in runs], _RUNS)


def times(millis: Sequence[int | None]) -> pd.DatetimeIndex:
    """Return the index of a frame over time, from milliseconds since 1970 UTC; `None` gives NaT."""
    numbers = [_NO_MOMENT if number is None else number for number in millis]
    moments = pd.Series(numbers, dtype="int64").astype("datetime64[ms]")
    return pd.DatetimeIndex(moments, name="time").tz_localize("UTC")


def _frame(
    rows: Sequence[tuple[Any, ...]], dtypes: _Dtypes, index: "pd.Index[Any] | None" = None
) -> pd.DataFrame:
    """Return a frame with the columns and dtypes of `dtypes`.

    It is created with dtype object and then converted, so that pandas does not infer dtypes.
    """
    frame = pd.DataFrame(rows, columns=list(dtypes), index=index, dtype="object")
    return frame.astype(dict(dtypes))


def _moment(millis: int | None) -> datetime | None:
    return None if millis is None else moment_of(millis)


def _summary_values(entity: Entity) -> tuple[Any, ...]:
    """Return the values of the columns `_SUMMED_UP`, with which frames of entities begin."""
    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    return (
        str(entity.urn),
        entity.name,
        entity.entity_type,
        entity.platform,
        entity.description or None,
        bool(entity.edited_description),
        _join(urn.name for urn in owners),
        _join(urn.name for urn in entity.tags),
    )


def _end(text: str, entities: Mapping[Urn, Entity]) -> tuple[str, str | None]:
    """Return the name and the type of the entity at an end of an edge; text that is not a URN is
    its own name and has no type."""
    for urn in Urn.parse_all([text]):
        entity = entities.get(urn) or Entity(urn, {})
        return entity.name, entity.kind
    return text, None


def _to_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _join(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None


def _name(urn: Urn, names: _Names | None) -> str:
    return (names or {}).get(urn) or urn.name
