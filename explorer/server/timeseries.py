"""Documents of timeseries aspects: reading those in a time range, and the newest ones for
search."""

import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from operator import attrgetter, ge, gt, le, lt
from typing import Any

import msgspec
import orjson

from explorer.errors import InvalidInput
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.measurements import Scope, scope_of, separate_windows, window_millis
from explorer.metadata.registry import Registry, reach
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.search.query import SortBy
from explorer.server.store import Reader, Store

USAGE = "datasetUsageStatistics"
USE_DAYS = 30
"""The number of days over which usage is counted."""

PROFILE = "datasetProfile"
_HOUR_MILLIS = 3_600_000
_DAY_MILLIS = 24 * _HOUR_MILLIS
MOST_PROFILES = 1_000
"""The number of profiles, which may be of partitions, that are read at most to find one of the
whole table."""


class NewestMeasures(msgspec.Struct, frozen=True):
    """The newest document of each timeseries aspect of an entity, with only its searchable fields.
    `queries` is the number of queries over 30 days, None if there are no usage statistics."""

    documents: dict[str, dict[str, Any]] = {}
    queries: float | None = None


class Use(msgspec.Struct, frozen=True):
    """The usage of a dataset over a period: the number of queries, and by field path how often each
    column was used; `columns` is None if columns are not counted separately. `oldest_millis` is the
    time of the oldest document counted."""

    queries: int = 0
    columns: dict[str, int] | None = None
    oldest_millis: int | None = None

    def of_table(self) -> tuple[int, str]:
        """Return how often the table was used, and what was counted: "table" for its queries,
        "column" for its most used column, "none" for nothing."""
        if self.queries:
            return self.queries, "table"
        most = max((self.columns or {}).values(), default=0)
        return (most, "column") if most else (0, "none")

    def of_column(self, path: str) -> tuple[int, str]:
        """Return how often a column was used, and what was counted: "column", or "table" for its
        table's queries if columns are not counted separately, or "none". A column may be counted by
        its path without types."""
        if self.columns is None:
            return (self.queries, "table") if self.queries else (0, "none")
        uses = self.columns.get(path)
        if uses is None:
            uses = self.columns.get(FieldPath(path).simple, 0)
        return uses, "column"


class _ColumnCount(msgspec.Struct, frozen=True):
    path: str = msgspec.field(default="", name="fieldPath")
    count: int = 0


class _Granularity(msgspec.Struct, frozen=True):
    unit: str | None = None
    multiple: int | None = None


class _UsageWindow(msgspec.Struct, frozen=True):
    at_millis: int = msgspec.field(default=0, name="timestampMillis")
    granularity: _Granularity | None = msgspec.field(default=None, name="eventGranularity")
    queries: float | None = msgspec.field(default=None, name="totalSqlQueries")
    columns: tuple[_ColumnCount, ...] | None = msgspec.field(default=None, name="fieldCounts")

    @property
    def span(self) -> tuple[int, int]:
        """The start and the length of the window, in milliseconds."""
        granularity = self.granularity or _Granularity()
        return self.at_millis, window_millis(granularity.unit, granularity.multiple)


_window = msgspec.json.Decoder(_UsageWindow)


def use_from(days: int = USE_DAYS) -> int:
    """Return the time from which usage is counted, in milliseconds since 1970: some days before the
    start of the current hour. It changes once an hour, so that everything derived within an hour
    agrees."""
    now_millis = time.time_ns() // 1_000_000
    return now_millis - now_millis % _HOUR_MILLIS - days * _DAY_MILLIS


def read_measures(registry: Registry, urn: Urn, view: Reader, from_millis: int) -> NewestMeasures:
    """Return the newest measurements of an entity, and its queries from `from_millis` on. Takes a
    query of about 20 µs for each timeseries aspect of its type that can be searched."""
    text = str(urn)
    readers = _readers(registry, urn.entity_type)
    documents: dict[str, dict[str, Any]] = {}
    for aspect, decoder in readers.items():
        limit = MOST_PROFILES if aspect == PROFILE else 1
        for stored in view.documents(text, aspect, None, None, limit):
            try:
                scope, document = _decode(decoder, stored.value)
            except msgspec.MsgspecError:
                continue
            if aspect != PROFILE or scope == "table":
                documents[aspect] = document
                break
            if scope == "sample":
                # Use the newest profile of a part as long as there is none of the whole table.
                documents.setdefault(aspect, document)
    if USAGE not in documents:
        return NewestMeasures(documents)
    return NewestMeasures(documents, float(read_use(text, view, from_millis).queries))


def read_use(urn: str, view: Reader, from_millis: int) -> Use:
    """Return the usage of a dataset from a time on; about 5 µs per document. Documents that cannot
    be decoded are skipped."""
    windows = []
    for stored in view.documents(urn, USAGE, from_millis):
        with suppress(msgspec.MsgspecError):
            windows.append(_window.decode(stored.value))
    queries = 0
    columns: dict[str, int] = {}
    for window in separate_windows(windows, attrgetter("span")):
        queries += int(window.queries or 0)
        for column in window.columns or ():
            columns[column.path] = columns.get(column.path, 0) + column.count
    return Use(queries, columns or None, windows[-1].at_millis if windows else None)


def measured_aspects(registry: Registry, entity_type: str) -> frozenset[str]:
    """Return the timeseries aspects of an entity type that can be searched."""
    return frozenset(_readers(registry, entity_type))


@lru_cache(maxsize=512)
def _readers(registry: Registry, entity_type: str) -> dict[str, Callable[[bytes], Any]]:
    readers: dict[str, Callable[[bytes], Any]] = {}
    if entity_type not in registry.entities:
        return readers
    for name in registry.aspects_of(entity_type):
        aspect = registry.aspects.get(name)
        if aspect is not None and aspect.timeseries and aspect.search:
            # Documents can be large, so only the fields that are searched are decoded.
            names = {field.path.partition(".")[0] for field in aspect.search}
            fields = [(name, Any, None) for name in sorted(names | {"partitionSpec"})]
            record = msgspec.defstruct(f"Searched_{name}", fields, frozen=True)
            readers[name] = msgspec.json.Decoder(record).decode
    return readers


def _decode(decode: Callable[[bytes], Any], value: bytes) -> tuple[Scope, dict[str, Any]]:
    """Return the scope of a document (a part or the whole), and its searchable fields. Raises
    `MsgspecError` if it cannot be decoded."""
    document: dict[str, Any] = msgspec.structs.asdict(decode(value))
    scope = profile_scope(document.pop("partitionSpec"))
    fields = {name: field for name, field in document.items() if field is not None}
    return scope, fields


def profile_scope(spec: Any) -> Scope:
    """Return the scope of a profile, from its `partitionSpec`."""
    if not isinstance(spec, dict):
        return "table"
    kind, partition = spec.get("type"), spec.get("partition")
    return scope_of(kind, partition if isinstance(partition, str) else None)


Document = tuple[dict[str, Any], bytes, bytes]
"""A document: its parsed value, the value as stored, and the system metadata as stored."""

_MOMENT = "timestampMillis"
_MAX_MILLIS = 2**62

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "GREATER_THAN": gt,
    "GREATER_THAN_OR_EQUAL_TO": ge,
    "LESS_THAN": lt,
    "LESS_THAN_OR_EQUAL_TO": le,
}


def read_documents(
    store: Store,
    urn: str,
    aspect: str,
    bounds: tuple[int | None, int | None],
    limit: int,
    filtered_by: Filter,
    sort: SortBy | None = None,
) -> list[Document]:
    """Return at most `limit` documents of an aspect that pass a filter, newest first or in the
    order of `sort`.

    `bounds` are the start and the end in milliseconds since 1970, both inclusive, None if open. The
    filter and the sort name fields of the documents (`partitionSpec.partition`,
    `fieldProfiles.*.fieldPath`). Documents without a value in the sort field come last; of several
    values the smallest is used. Raises `InvalidInput` if a criterion compares a number with other
    text, or if BETWEEN does not have two values.
    """
    start, end = (None if bound is None else _clamp(bound) for bound in bounds)
    newest_first = sort is None or (sort.field == _MOMENT and sort.descending)
    # To filter or to sort by anything but the time, every document of the range must be read.
    read_limit = limit if newest_first and not filtered_by else -1
    matching: Iterator[Document] = (
        (orjson.loads(document.value), document.value, document.system)
        for document in store.documents(urn, aspect, start, end, read_limit)
    )
    if filtered_by:
        matching = (document for document in matching if _passes(document[0], filtered_by))
    if sort is None or newest_first:
        return list(islice(matching, limit))
    if sort.descending:
        return heapq.nlargest(
            limit, matching, key=lambda document: _place(document[0], sort.field, 1)
        )
    return heapq.nsmallest(
        limit, matching, key=lambda document: _place(document[0], sort.field, -1)
    )


def _clamp(millis: int) -> int:
    return max(-_MAX_MILLIS, min(millis, _MAX_MILLIS))


def _place(document: dict[str, Any], field: str, present: int) -> tuple[int, int, Any]:
    """Return the sort key of a document. It begins with `present` if the document has a value in
    the field, else with 0, so that documents without a value come last."""
    values = [
        (present, 0, value) if isinstance(value, int | float) else (present, 1, _text(value))
        for value in reach(document, field)
    ]
    return min(values, default=(0, 0, 0))


def _passes(document: dict[str, Any], filtered_by: Filter) -> bool:
    return any(
        all(_meets(document, criterion) for criterion in group) for group in filtered_by.any_of
    )


def _meets(document: dict[str, Any], criterion: Criterion) -> bool:
    field_values = reach(document, criterion.field)
    return (
        any(_value_matches(value, criterion) for value in field_values or [None])
        != criterion.negated
    )


def _value_matches(value: Any, criterion: Criterion) -> bool:
    """Return whether one value of a document meets a criterion, ignoring its negation. A `value` of
    None means that the document has no value in the field."""
    values = criterion.values
    if value is None or criterion.condition in ("EXISTS", "IS_NULL"):
        return (value is None) == (criterion.condition == "IS_NULL")
    match criterion.condition:
        case "EQUAL" | "IN" | "DESCENDANTS_INCL" | "ANCESTORS_INCL" | "RELATED_INCL":
            return any(_equal(value, expected) for expected in values)
        case "IEQUAL":
            return any(_text(value).casefold() == expected.casefold() for expected in values)
        case "CONTAIN":
            return any(expected in _text(value) for expected in values)
        case "START_WITH":
            return _text(value).startswith(values)
        case "END_WITH":
            return _text(value).endswith(values)
        case "BETWEEN":
            if len(values) != 2:
                raise InvalidInput(
                    f"BETWEEN on {criterion.field} takes two values, the lower first"
                )
            low, high = values
            return _compare(ge, value, low, criterion) and _compare(le, value, high, criterion)
        case _:
            compare = _COMPARISONS[criterion.condition]
            return any(_compare(compare, value, expected, criterion) for expected in values)


def _equal(value: Any, expected: str) -> bool:
    """Return whether a value equals that of a criterion: strings are compared directly, other
    values with the criterion parsed as JSON."""
    if isinstance(value, str):
        return value == expected
    try:
        return bool(orjson.loads(expected) == value)
    except orjson.JSONDecodeError:
        return _text(value) == expected


def _compare(
    compare: Callable[[Any, Any], bool], value: Any, expected: str, criterion: Criterion
) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return compare(_text(value), expected)
    try:
        return compare(value, float(expected))
    except ValueError:
        raise InvalidInput(
            f"{criterion.field} is compared with a number, not with {expected!r:.60}"
        ) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
