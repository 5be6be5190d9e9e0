"""How well datasets are documented: the facts of a dataset that the worklist and coverage need,
read from its stored aspects, and how much was documented on each day, computed from their versions.

The days are those of the trend of coverage. Nothing is read before the first request. The first
request reads the versions of every dataset, in the caller's thread and for at most ten seconds; the
next request continues where it stopped. For each dataset the days on which its counts changed are
cached, some 200 bytes. From then on only datasets that the change log names are read again. The
counts are not computed from the change log itself, because it may be trimmed and contains every
other change too. If old versions are not kept, `retention.complete_since` returns the time since
which none is missing.

The trend covers the datasets that exist now, grouped as they are now. The counts of a day are those
at its end (UTC), taken from the last version of each aspect written by then. Datasets that were
soft-deleted at that time are left out. A hard-deleted dataset leaves no versions, so it is counted
on no day.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from explorer.errors import Busy
from explorer.metadata.browse_paths import path_texts
from explorer.metadata.fieldpath import FieldPath, earlier_paths
from explorer.metadata.names import display_name
from explorer.metadata.urn import Urn
from explorer.server.store import Store, StoredAspect, read_object
from explorer.server.timeseries import Use

FACT_ASPECTS = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "ownership",
    "status",
    "subTypes",
    "dataPlatformInstance",
    "domains",
    "globalTags",
    "browsePaths",
    "browsePathsV2",
)
"""The aspects that facts are read from."""

_DATASET = "dataset"
_T = TypeVar("_T")


class Lacking(msgspec.Struct, frozen=True, array_like=True):
    """A column without a description. `place` is its position in the schema, from 1.

    An empty path with the place 0 stands for the dataset itself. `use_of` says whose usage `use`
    counts: `column`, `table`, or `none`.
    """

    path: str
    type: str
    place: int
    use: int
    use_of: str

    def with_use(self, use: Use) -> "Lacking":
        """Return a copy with the usage counts of another period."""
        counted = use.of_column(self.path) if self.path else use.of_table()
        return Lacking(self.path, self.type, self.place, *counted)


class DatasetFacts(msgspec.Struct, frozen=True, array_like=True):
    """The facts of a dataset that the worklist and coverage need.

    `table` and `columns` count descriptions: (total, described, by people, by ingestion). `tags`
    are the tags of the dataset and of its columns, as in a filter on tags. `oldest_millis` is the
    time of the oldest use that was counted, `None` without use.
    """

    name: str
    platform: str
    removed: bool
    table: tuple[int, int, int, int]
    columns: tuple[int, int, int, int]
    lacking: tuple[Lacking, ...]
    owners: tuple[str, ...]
    domains: tuple[str, ...]
    tags: tuple[str, ...]
    folders: tuple[str, ...]
    oldest_millis: int | None = None


class _Field(msgspec.Struct, frozen=True):
    path: str = msgspec.field(default="", name="fieldPath")
    text: str | None = msgspec.field(default=None, name="description")
    native: str = msgspec.field(default="", name="nativeDataType")
    type: dict[str, Any] = {}
    tags: dict[str, Any] | None = msgspec.field(default=None, name="globalTags")
    terms: dict[str, Any] | None = msgspec.field(default=None, name="glossaryTerms")

    @property
    def is_empty(self) -> bool:
        """Whether there are neither a description nor labels."""
        tags, terms = (self.tags or {}).get("tags"), (self.terms or {}).get("terms")
        return not (has_text(self.text) or tags or terms)

    @property
    def kind(self) -> str:
        """The native type of the platform, else the type in the metadata model."""
        inner = None if self.native else self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            return str(name).rpartition(".")[2].removesuffix("Type").lower()
        return self.native


class _SchemaColumns(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = ()


class _Edited(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = msgspec.field(default=(), name="editableSchemaFieldInfo")


_schema = msgspec.json.Decoder(_SchemaColumns)
_edited = msgspec.json.Decoder(_Edited)


def read_facts(urn: str, stored: Mapping[str, bytes], use: Use) -> DatasetFacts:
    """Return the facts of a dataset from the stored values of its aspects. Takes about 50 µs."""
    values = {
        name: read_object(stored.get(name))
        for name in FACT_ASPECTS
        if not name.endswith("Metadata")
    }
    parsed = Urn.parse(urn)
    ingested = has_text(values["datasetProperties"].get("description"))
    edited = has_text(values["editableDatasetProperties"].get("description"))
    types = values["subTypes"].get("typeNames")
    kind = types[0] if types and isinstance(types[0], str) else _DATASET
    lacking: list[Lacking] = []
    if not (ingested or edited):
        lacking.append(Lacking("", kind, 0, *use.of_table()))
    total, described, by_people, by_ingestion = 0, 0, 0, 0
    fields = _decode(_schema, stored.get("schemaMetadata"), _SchemaColumns()).fields
    annotated = _decode(_edited, stored.get("editableSchemaMetadata"), _Edited()).fields
    for place, field, text in _columns(fields, annotated):
        total += 1
        is_ingested, is_edited = has_text(field.text), has_text(text)
        by_ingestion += is_ingested
        by_people += is_edited
        if is_ingested or is_edited:
            described += 1
        else:
            lacking.append(Lacking(field.path, field.kind, place, *use.of_column(field.path)))
    platform_urn = values["dataPlatformInstance"].get("platform")
    platform = platform_urn.rpartition(":")[2] if isinstance(platform_urn, str) else parsed.platform
    return DatasetFacts(
        display_name(parsed, values),
        platform or "",
        values["status"].get("removed") is True,
        (1, int(ingested or edited), int(edited), int(ingested)),
        (total, described, by_people, by_ingestion),
        tuple(lacking),
        _texts(values["ownership"].get("owners"), "owner"),
        _texts(values["domains"].get("domains")),
        _tags(values["globalTags"], (*fields, *annotated)),
        path_texts(parsed, values),
        use.oldest_millis,
    )


class SchemaTexts(Struct, frozen=True):
    """The field paths of a schema: those with an ingested description, and the others. A path that
    is listed twice counts twice."""

    described: tuple[str, ...] = ()
    undescribed: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of columns."""
        return len(self.described) + len(self.undescribed)

    def count_documented(self, edited: Mapping[str, bool]) -> int:
        """Return how many columns have a description, given the entries of people, as
        `read_edited_texts` returns them."""
        earlier = earlier_paths((*self.described, *self.undescribed), edited)
        return len(self.described) + sum(
            edited.get(path, False) or edited.get(earlier.get(path, ""), False)
            for path in self.undescribed
        )


def read_schema_texts(value: bytes) -> SchemaTexts:
    """Return the field paths of a stored `schemaMetadata`."""
    fields = _decode(_schema, value, _SchemaColumns()).fields
    return SchemaTexts(
        tuple(field.path for field in fields if has_text(field.text)),
        tuple(field.path for field in fields if not has_text(field.text)),
    )


def read_edited_texts(value: bytes) -> dict[str, bool]:
    """Return, by field path, whether the entries in a stored `editableSchemaMetadata` have a
    description; entries that are empty are left out."""
    return _texts_by_path(_decode(_edited, value, _Edited()).fields)


def _texts_by_path(edited: Iterable[_Field]) -> dict[str, bool]:
    entries = {field.path: field for field in edited}
    return {path: has_text(entry.text) for path, entry in entries.items() if not entry.is_empty}


def _tags(labels: Mapping[str, Any], fields: Iterable[_Field]) -> tuple[str, ...]:
    """Return the tags of a dataset and of its columns, each once."""
    all_labels = (labels, *(field.tags for field in fields if field.tags))
    tags = (tag for label in all_labels for tag in _texts(label.get("tags"), "tag"))
    return tuple(dict.fromkeys(tags))


def _columns(
    fields: tuple[_Field, ...], edited: Sequence[_Field]
) -> Iterator[tuple[int, _Field, str | None]]:
    """Yield the columns in tree order, each with its position and its edited description."""
    texts_by_path = {field.path: field.text for field in edited}
    for path, earlier in earlier_paths(
        [field.path for field in fields], _texts_by_path(edited)
    ).items():
        texts_by_path[path] = texts_by_path[earlier] or texts_by_path.get(path)
    ordered = list(_in_tree_order(fields))
    # A path that is listed twice has the position of its last occurrence.
    places = {field.path: place for place, field in enumerate(ordered, 1)}
    for field in ordered:
        yield places[field.path], field, texts_by_path.get(field.path)


def _in_tree_order(fields: tuple[_Field, ...]) -> Iterator[_Field]:
    """Yield the columns, each directly followed by the columns nested in it."""
    paths = {field.path for field in fields}
    if not any("." in path for path in paths):
        yield from fields
        return
    children: dict[str | None, list[_Field]] = {}
    for field in fields:
        parent = None
        if "." in field.path:
            above = (path for path in FieldPath(field.path).ancestors() if path in paths)
            parent = next(above, None)
        children.setdefault(parent, []).append(field)
    waiting = children.pop(None, [])[::-1]
    while waiting:
        field = waiting.pop()
        yield field
        waiting.extend(reversed(children.pop(field.path, [])))


def _texts(entries: Any, key: str | None = None) -> tuple[str, ...]:
    texts = entries if isinstance(entries, list) else []
    if key is not None:
        texts = [entry.get(key) for entry in texts if isinstance(entry, dict)]
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str)))


def has_text(value: object) -> bool:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def _decode(decoder: msgspec.json.Decoder[_T], value: bytes | None, nothing: _T) -> _T:
    """Decode a value. Return `nothing` if there is none, or if it has another shape; that is
    reported where the entity itself is read."""
    try:
        return decoder.decode(value) if value else nothing
    except msgspec.MsgspecError:
        return nothing


DAY_MILLIS: Final = 86_400_000
HISTORY_ASPECTS: Final = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "status",
)
PATIENCE_SECONDS: Final = 10.0
_RETRY_AFTER_SECONDS: Final = 0.5
_AT_ONCE: Final = 200
_PREFIX: Final = "urn:li:dataset:"


class CoverageDay(NamedTuple):
    """The counts of a dataset from a day on, in days since 1970 (UTC): tables (1, or 0 while it is
    soft-deleted), tables that are documented, columns, and columns that are documented."""

    day: int
    tables: int
    tables_documented: int
    columns: int
    columns_documented: int


def coverage_days(versions: Iterable[StoredAspect]) -> tuple[CoverageDay, ...]:
    """Return the days on which the counts of a dataset changed, oldest first, from all its versions
    of `HISTORY_ASPECTS`; about 30 µs per version."""
    by_name: dict[str, list[tuple[int, StoredAspect]]] = {}
    for version in versions:
        # The latest version has the number 0; it is sorted last.
        order = version.version or 1 << 62
        by_name.setdefault(version.name, []).append((order, version))
    days = sorted(
        {
            aspect.time_millis // DAY_MILLIS
            for versions_of_aspect in by_name.values()
            for _, aspect in versions_of_aspect
        }
    )
    for ordered in by_name.values():
        ordered.sort(key=lambda version: version[0])
    counts = _Counts()
    coverage_points: list[CoverageDay] = []
    for day in days:
        for name, ordered in by_name.items():
            # Searched from the latest version: times may decrease where a clock was set back.
            latest = next(
                (
                    aspect
                    for _, aspect in reversed(ordered)
                    if aspect.time_millis // DAY_MILLIS <= day
                ),
                None,
            )
            if latest is not None:
                counts.read(name, latest)
        now = counts.of(day)
        if not coverage_points or coverage_points[-1][1:] != now[1:]:
            coverage_points.append(now)
    return tuple(coverage_points)


class _Counts:
    """The counts of a dataset, updated as versions of its aspects are read."""

    def __init__(self) -> None:
        self._read: dict[str, int] = {}
        self._described_in: dict[str, bool] = {}
        self._removed = False
        self._schema = SchemaTexts()
        self._edited: Mapping[str, bool] = {}
        self._documented = 0

    def read(self, name: str, version: StoredAspect) -> None:
        """Use a version of an aspect for the counts. Does nothing if it is already in use."""
        if self._read.get(name) == version.version:
            return
        self._read[name] = version.version
        match name:
            case "schemaMetadata":
                self._schema = read_schema_texts(version.value)
            case "editableSchemaMetadata":
                self._edited = read_edited_texts(version.value)
            case "status":
                self._removed = read_object(version.value).get("removed") is True
                return
            case _:
                self._described_in[name] = has_text(read_object(version.value).get("description"))
                return
        self._documented = self._schema.count_documented(self._edited)

    def of(self, day: int) -> CoverageDay:
        """Return the current counts as a `CoverageDay` that begins on a day."""
        if self._removed:
            return CoverageDay(day, 0, 0, 0, 0)
        is_described = any(self._described_in.values())
        return CoverageDay(day, 1, int(is_described), self._schema.total, self._documented)


class CoverageHistories:
    """The days on which the counts of every dataset changed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[str, tuple[CoverageDay, ...]] = {}
        self._after: str | None = ""
        self._offset = 0
        self._lock = threading.Lock()

    @contextmanager
    def days(
        self, patience_seconds: float = PATIENCE_SECONDS
    ) -> Iterator[Mapping[str, tuple[CoverageDay, ...]]]:
        """Yield the days of each dataset by URN, up to date with the store. The mapping must not be
        changed, nor used after the `with` block.

        Raises `Busy` if the first read of all datasets, or waiting for another thread, takes longer
        than `patience_seconds`; the next call continues the read.
        """
        end = time.monotonic() + patience_seconds
        if not self._lock.acquire(timeout=patience_seconds):
            raise _busy()
        try:
            self._read_first(end)
            self._bring_up_to_date(end)
            yield self._days
        finally:
            self._lock.release()

    def _read_first(self, end: float) -> None:
        if self._after == "":
            # Use the offset from before the read: datasets that change meanwhile are read again.
            self._days, self._offset = {}, self._store.log_bounds().head
        while self._after is not None:
            urns = self._store.urns(entity_type=_DATASET, after=self._after, limit=_AT_ONCE)
            self._read(urns)
            self._after = urns[-1] if urns else None
            if self._after is not None and time.monotonic() > end:
                raise _busy()

    def _bring_up_to_date(self, end: float) -> None:
        bounds = self._store.log_bounds()
        if bounds.floor > self._offset:
            # The log was trimmed beyond this offset, so some changes are unknown: read everything.
            self._after = ""
            self._read_first(end)
            bounds = self._store.log_bounds()
        if bounds.head == self._offset:
            return
        changed = self._store.changed_urns(self._offset)
        datasets = sorted(urn for urn in changed if urn.startswith(_PREFIX))
        for at in range(0, len(datasets), _AT_ONCE):
            self._read(datasets[at : at + _AT_ONCE])
        self._offset = bounds.head

    def _read(self, urns: Sequence[str]) -> None:
        histories = self._store.histories(urns, HISTORY_ASPECTS)
        for urn in urns:
            if urn in histories:
                self._days[urn] = coverage_days(histories[urn])
            else:
                self._days.pop(urn, None)


def _busy() -> Busy:
    return Busy(
        "the history of documentation coverage is being computed for the first time; try again "
        "soon",
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )


class CoverageSeries(Struct):
    """The counts at the end of each day of a series, oldest first."""

    tables: list[int]
    tables_documented: list[int]
    columns: list[int]
    columns_documented: list[int]

    @property
    def left(self) -> int:
        """The number of columns that are not documented on the last day."""
        return self.columns[-1] - self.columns_documented[-1]


class _Sum:
    """The changes of the four counts on each day of a series, summed over datasets."""

    def __init__(self, days: int) -> None:
        self.changes = [[0] * days for _ in range(4)]

    def add(self, days: Sequence[int], history: Sequence[CoverageDay]) -> None:
        before: tuple[int, ...] = (0, 0, 0, 0)
        for point in history:
            at = bisect_left(days, point.day)
            if at == len(days):
                return
            now = point[1:]
            for change, count, count_before in zip(self.changes, now, before, strict=True):
                change[at] += count - count_before
            before = now

    def series(self) -> CoverageSeries:
        return CoverageSeries(*(list(accumulate(change)) for change in self.changes))


def series_of(
    histories: Iterable[tuple[Sequence[CoverageDay], Iterable[str]]], days: Sequence[int]
) -> tuple[CoverageSeries, dict[str, CoverageSeries]]:
    """Return the counts at the end of each of `days`, which are sorted: of all datasets together,
    and by key. Each dataset is given as the days on which its counts changed and the keys that it
    counts under. Takes about 3 µs per change and key."""
    total = _Sum(len(days))
    groups: dict[str, _Sum] = {}
    for history, keys in histories:
        total.add(days, history)
        for key in keys:
            if key not in groups:
                groups[key] = _Sum(len(days))
            groups[key].add(days, history)
    return total.series(), {key: group.series() for key, group in groups.items()}
