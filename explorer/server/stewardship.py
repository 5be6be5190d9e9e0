"""What is documented and what is not, counted once and kept: worklist and coverage.

Nothing is counted before somebody asks. From then on the datasets that change are counted anew in
the background, and at the latest when somebody asks; a start reads a file in the data directory and
what the change log has since. The file is derived: one of another format, of another catalog or
damaged, is made anew.

How many entities are made from each, at any distance, is worked out for a whole catalog at once:
walking from every entity by itself costs as much as all walks together have edges. Every edge is
looked at once for some thousand entities at a time, and what an entity reaches is a set of bits.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec
import orjson
from msgspec import Struct, structs

from explorer.errors import Busy, CatalogError
from explorer.files import replace_file
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import display_name
from explorer.metadata.urn import Urn
from explorer.server.store import Store, log_mark
from explorer.server.timeseries import Use, read_use, use_from

__all__ = [
    "GROUPINGS",
    "PATIENCE_SECONDS",
    "CoverageCount",
    "DatasetFacts",
    "Grouping",
    "Lacking",
    "Ledger",
    "SchemaTexts",
    "UndescribedItem",
    "WorklistDataset",
    "WorklistPage",
    "count_downstream",
    "cover",
    "group_keys",
    "has_text",
    "rank",
    "read_edited_texts",
    "read_facts",
    "read_schema_texts",
    "with_use",
]

ASPECTS = (
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
    """A column that nobody described; `place` is where it stands in its schema, from 1. An empty
    path and 0 stand for the dataset itself. `use_of` says what `use` counts: the column, its table,
    or nothing."""

    path: str
    type: str
    place: int
    use: int
    use_of: str


class DatasetFacts(msgspec.Struct, frozen=True, array_like=True):
    """`table` and `columns` count what is described: (total, described, by people, by ingestion).
    `tags` are those of the dataset and of its columns, as a filter on tags takes them.
    `oldest_millis` is when the first of the use that is counted was, None where nothing is."""

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

    @property
    def kind(self) -> str:
        """The type as its platform says it, else the model's word for it."""
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
    """Return the facts of a dataset from the values of its aspects, as stored; some 50 µs."""
    values = {name: _object(stored.get(name)) for name in ASPECTS if not name.endswith("Metadata")}
    parsed = Urn.parse(urn)
    ingested = has_text(values["datasetProperties"].get("description"))
    edited = has_text(values["editableDatasetProperties"].get("description"))
    types = values["subTypes"].get("typeNames")
    kind = types[0] if types and isinstance(types[0], str) else _DATASET
    lacking: list[Lacking] = []
    if not (ingested or edited):
        lacking.append(Lacking("", kind, 0, *use.of_table()))
    total, described, by_people, by_ingestion = 0, 0, 0, 0
    fields = _decoded(_schema, stored.get("schemaMetadata"), _SchemaColumns()).fields
    annotated = _decoded(_edited, stored.get("editableSchemaMetadata"), _Edited()).fields
    for place, field, text in _columns(fields, annotated):
        total += 1
        told, written = has_text(field.text), has_text(text)
        by_ingestion += told
        by_people += written
        if told or written:
            described += 1
        else:
            lacking.append(Lacking(field.path, field.kind, place, *use.of_column(field.path)))
    said = values["dataPlatformInstance"].get("platform")
    platform = said.rpartition(":")[2] if isinstance(said, str) else parsed.platform
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
        _texts(values["browsePaths"].get("paths")) or _newer_path(values["browsePathsV2"]),
        use.oldest_millis,
    )


class SchemaTexts(Struct, frozen=True):
    """The paths of a schema, of which one that is listed twice counts twice: those that ingestion
    describes, and the others."""

    described: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many columns there are."""
        return len(self.described) + len(self.others)

    def documented(self, edited: Collection[str]) -> int:
        """Return how many columns are described, given the paths that people describe."""
        return len(self.described) + sum(path in edited for path in self.others)


def read_schema_texts(value: bytes) -> SchemaTexts:
    """Return the paths of a stored `schemaMetadata`."""
    fields = _decoded(_schema, value, _SchemaColumns()).fields
    return SchemaTexts(
        tuple(one.path for one in fields if has_text(one.text)),
        tuple(one.path for one in fields if not has_text(one.text)),
    )


def read_edited_texts(value: bytes) -> frozenset[str]:
    """Return the paths that a stored `editableSchemaMetadata` describes."""
    fields = _decoded(_edited, value, _Edited()).fields
    return frozenset(
        path for path, text in {one.path: one.text for one in fields}.items() if has_text(text)
    )


def _tags(labels: Mapping[str, Any], fields: Iterable[_Field]) -> tuple[str, ...]:
    """The tags of a dataset and of its columns, each once."""
    all_labels = (labels, *(field.tags for field in fields if field.tags))
    found = (tag for one in all_labels for tag in _texts(one.get("tags"), "tag"))
    return tuple(dict.fromkeys(found))


def _columns(
    fields: tuple[_Field, ...], edited: Iterable[_Field]
) -> Iterator[tuple[int, _Field, str | None]]:
    """The columns in the order of the tree, each with its place and what people wrote of it."""
    written = {one.path: one.text for one in edited}
    ordered = list(_in_tree_order(fields))
    # A path that is listed twice stands where it is listed last.
    places = {field.path: place for place, field in enumerate(ordered, 1)}
    for field in ordered:
        yield places[field.path], field, written.get(field.path)


def _in_tree_order(fields: tuple[_Field, ...]) -> Iterator[_Field]:
    """The columns, each right before those inside it."""
    known = {field.path for field in fields}
    if not any("." in path for path in known):
        yield from fields
        return
    children: dict[str | None, list[_Field]] = {}
    for field in fields:
        above = (path for path in FieldPath(field.path).ancestors() if path in known)
        children.setdefault(next(above, None), []).append(field)
    waiting = children.pop(None, [])[::-1]
    while waiting:
        field = waiting.pop()
        yield field
        waiting.extend(reversed(children.pop(field.path, [])))


def _newer_path(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The folder in the newer form of browse paths, whose steps may be containers."""
    names = _texts(value.get("path"), "id")
    return ("".join(f"/{Urn.label(name)}" for name in names),) if names else ()


def _texts(given: Any, key: str | None = None) -> tuple[str, ...]:
    found = given if isinstance(given, list) else []
    if key is not None:
        found = [one.get(key) for one in found if isinstance(one, dict)]
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


def has_text(given: object) -> bool:
    """Return whether a value is a text that says something."""
    return isinstance(given, str) and bool(given.strip())


def _object(value: bytes | None) -> dict[str, Any]:
    found = orjson.loads(value) if value else {}
    return found if isinstance(found, dict) else {}


def _decoded(decoder: msgspec.json.Decoder[_T], value: bytes | None, nothing: _T) -> _T:
    """A value of another shape says nothing here; whoever reads the entity is told."""
    try:
        return decoder.decode(value) if value else nothing
    except msgspec.MsgspecError:
        return nothing


# So many entities are bits of one number, which is 1 kB.
_BLOCK = 8_192


def count_downstream(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return how many others each node reaches along edges (from, to); about 0.3 µs for each edge
    and 8,000 nodes, and 1 kB a node."""
    below: dict[int, list[int]] = {}
    for near, far in edges:
        if near != far:
            below.setdefault(near, []).append(far)
            below.setdefault(far, [])
    groups = _circles(below)
    group_of = {node: at for at, nodes in enumerate(groups) for node in nodes}
    # Groups come after all that they reach.
    further = [
        sorted({group_of[far] for node in nodes for far in below[node]} - {at})
        for at, nodes in enumerate(groups)
    ]
    sizes = list(map(len, groups))
    counts = [0] * len(groups)
    for begin, end in _blocks(sizes):
        reached = [0] * len(groups)
        offset = 0
        for at in range(begin, len(groups)):
            bits = 0
            if at < end:
                bits = ((1 << sizes[at]) - 1) << offset
                offset += sizes[at]
            for other in further[at]:
                bits |= reached[other]
            reached[at] = bits
            counts[at] += bits.bit_count()
    return {node: counts[at] - 1 for node, at in group_of.items()}


def _blocks(sizes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Stretches of groups of about so many nodes that one number holds them."""
    begin, held = 0, 0
    for at, size in enumerate(sizes):
        if held and held + size > _BLOCK:
            yield begin, at
            begin, held = at, 0
        held += size
    if held:
        yield begin, len(sizes)


def _circles(below: dict[int, list[int]]) -> list[list[int]]:
    """The nodes in groups that reach each other (Tarjan's algorithm), every group after those that
    it reaches."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    is_open: set[int] = set()
    groups: list[list[int]] = []
    for root, right_below in below.items():
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        stack.append(root)
        is_open.add(root)
        work = [(root, iter(right_below))]
        while work:
            node, rest = work[-1]
            for far in rest:
                if far not in order:
                    order[far] = lowest[far] = len(order)
                    stack.append(far)
                    is_open.add(far)
                    work.append((far, iter(below[far])))
                    break
                if far in is_open:
                    lowest[node] = min(lowest[node], order[far])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    group: list[int] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        is_open.discard(group[-1])
                    groups.append(group)
    return groups


_log = logging.getLogger("explorer.server")

# Raise it when what is kept changes.
_FORMAT = 2
_AT_ONCE = 500
_PREFIX = "urn:li:dataset:"
# What changes in this time is counted together.
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
"""So long somebody who asks first waits."""
_RETRY_AFTER_SECONDS = 2.0


class WorklistDataset(msgspec.Struct, gc=False, array_like=True):
    """A dataset: how much of it is not described, the most that any of that is used, whether it is
    soft-deleted, when the first of its counted use was (0 for none), how many entities are made
    from it, and its facts, packed."""

    lacking: int
    most_used: int
    removed: bool
    oldest_millis: int
    downstream: int
    packed: bytes

    @property
    def facts(self) -> DatasetFacts:
        """The facts; about 4 µs."""
        return _facts.decode(self.packed)


class _LedgerFile(msgspec.Struct, array_like=True):
    format: int
    catalog: str
    offset: int
    mark: str
    entries: dict[str, WorklistDataset]


_facts = msgspec.msgpack.Decoder(DatasetFacts)
_file = msgspec.msgpack.Decoder(_LedgerFile)
_encoder = msgspec.msgpack.Encoder()


class Ledger:
    """Any thread may call. `file` is where it is kept; in memory alone without one."""

    def __init__(self, store: Store, file: Path | None) -> None:
        self._store = store
        self._file = file
        self._entries: dict[str, WorklistDataset] = {}
        self._is_counted = False
        # What is to be counted anew: what changed, and what is only used less by now.
        self._changed: set[str] = set()
        self._aged: set[str] = set()
        self._is_rewired = False
        # All that the change log has up to the first is in the entries, when nothing is left.
        self._offset = 0
        self._seen = 0
        self._is_listening = False
        self._is_closing = False
        self._ready = threading.Event()
        self._is_saved = False
        self._thread: threading.Thread | None = None
        # `_lock` is held for moments, `_counting` while facts are read.
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._counting = threading.RLock()
        self.before_read: Callable[[], object] = lambda: None

    def open(self) -> None:
        """Go on with what is kept, in the background, if anything is."""
        if self._file is not None and self._file.exists():
            self._listen()

    def note(self, urns: Iterable[str], aged: Iterable[str], offset: int, *, rewired: bool) -> None:
        """Take note of a commit: of the entities that changed, those that are `aged`, derived anew
        while what is stored of them stayed, and whether lineage changed. Returns at once."""
        if not self._is_listening:
            return
        with self._news:
            self._changed.update(urn for urn in urns if urn.startswith(_PREFIX))
            self._aged.update(urn for urn in aged if urn.startswith(_PREFIX))
            self._is_rewired = self._is_rewired or rewired
            self._seen = max(self._seen, offset)
            self._news.notify()

    @property
    def is_ready(self) -> bool:
        """Whether everything was counted once; it is being counted from now on."""
        self._listen()
        return self._ready.is_set()

    @contextmanager
    def entries(self) -> Iterator[dict[str, WorklistDataset]]:
        """Every dataset by its URN, as it is stored now; for the length of a `with`, to be read
        only. Seconds the first time in a large catalog, else milliseconds. Raises `Busy` when that
        first time takes longer than 10 seconds, and goes on counting, and what `before_read`, which
        is called first, raises."""
        self.before_read()
        self._listen()
        if not self._ready.wait(PATIENCE_SECONDS):
            raise Busy(
                "what is documented is being counted for the first time; try again soon",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        with self._counting:
            self._bring_up_to_date()
            yield self._entries

    def close(self) -> None:
        """Keep what was counted for the next start."""
        with self._news:
            self._is_closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
        with self._counting:
            if self._is_counted and not self._is_saved:
                self._save()

    def _listen(self) -> None:
        with self._lock:
            if self._is_listening or self._is_closing:
                return
            self._is_listening = True
            self._thread = threading.Thread(target=self._serve, name="stewardship", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        """Count what changes while nobody asks."""
        while not self._is_closing:
            try:
                with self._counting:
                    self._bring_up_to_date(is_aged_too=True)
                if self._is_counted:
                    self._ready.set()
            except CatalogError:
                _log.exception("what is documented cannot be counted; trying again")
                self._wait(_RETRY_SECONDS)
            with self._news:
                while not (self._changed or self._aged or self._is_rewired or self._is_closing):
                    self._news.wait()
            self._wait(_PAUSE_SECONDS)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._news:
            while not self._is_closing and (left := until - time.monotonic()) > 0:
                self._news.wait(left)

    def _bring_up_to_date(self, *, is_aged_too: bool = False) -> None:
        """`_counting` is held."""
        if not self._is_counted:
            self._begin()
        while not self._is_closing:
            with self._lock:
                urns, self._changed = self._changed, set()
                if is_aged_too:
                    urns, self._aged = urns | self._aged, set()
                is_rewired, self._is_rewired = self._is_rewired, False
                seen = self._seen
            if not urns and not is_rewired:
                with self._lock:
                    self._offset = max(self._offset, seen)
                return
            try:
                self._count(sorted(urns))
                if is_rewired:
                    self._count_downstream()
            except BaseException:
                with self._lock:
                    self._changed |= urns
                    self._is_rewired = self._is_rewired or is_rewired
                raise
            self._is_saved = False

    def _begin(self) -> None:
        kept = self._read()
        head = self._store.log_bounds().head
        if kept is not None:
            self._entries = kept.entries
            since = self._store.changed_urns(kept.offset)
            begin = use_from()
            old = [urn for urn, one in kept.entries.items() if 0 < one.oldest_millis < begin]
            with self._lock:
                self._changed.update(urn for urn in since if urn.startswith(_PREFIX))
                self._aged.update(old)
                # Any change may be one of lineage.
                self._is_rewired = self._is_rewired or bool(since)
            self._offset = kept.offset
            self._is_saved = not since
        else:
            self._entries = {}
            after = ""
            while chunk := self._store.urns(entity_type=_DATASET, after=after, limit=_AT_ONCE):
                if self._is_closing:
                    return
                self._count(chunk)
                after = chunk[-1]
            self._offset = head
            with self._lock:
                self._is_rewired = True
        with self._lock:
            self._seen = max(self._seen, head)
        self._is_counted = True

    def _count(self, urns: Sequence[str]) -> None:
        begin = use_from()
        for at in range(0, len(urns), _AT_ONCE):
            chunk = urns[at : at + _AT_ONCE]
            stored = self._store.aspects(chunk, ASPECTS)
            for urn in chunk:
                aspects = stored.get(urn)
                if not aspects:
                    self._entries.pop(urn, None)
                    continue
                use = read_use(urn, self._store, begin)
                facts = read_facts(urn, {one.name: one.value for one in aspects}, use)
                before = self._entries.get(urn)
                self._entries[urn] = WorklistDataset(
                    len(facts.lacking),
                    max((one.use for one in facts.lacking), default=0),
                    facts.removed,
                    facts.oldest_millis or 0,
                    before.downstream if before else 0,
                    _encoder.encode(facts),
                )
                if before is None:
                    # It may have been pointed at before it was stored.
                    self._is_rewired = True

    def _count_downstream(self) -> None:
        upstream, downstream = self._store.lineage_pairs()
        counts = count_downstream(zip(upstream, downstream, strict=True))
        handles = list(counts)
        names, _ = self._store.known_urns(handles)
        for entry in self._entries.values():
            entry.downstream = 0
        for handle, urn in zip(handles, names, strict=True):
            found = self._entries.get(urn)
            if found is not None:
                found.downstream = counts[handle]

    def _read(self) -> _LedgerFile | None:
        """What is kept of this catalog as it was, or nothing."""
        try:
            kept = _file.decode(self._file.read_bytes()) if self._file else None
        except (OSError, msgspec.MsgspecError):
            return None
        if kept is None or kept.format != _FORMAT or kept.catalog != self._store.catalog_id():
            return None
        if kept.offset < self._store.log_bounds().floor:
            return None
        return kept if log_mark(self._store, kept.offset) == kept.mark else None

    def _save(self) -> None:
        file, mark = self._file, log_mark(self._store, self._offset)
        if file is None or mark is None:
            return
        kept = _LedgerFile(_FORMAT, self._store.catalog_id(), self._offset, mark, self._entries)
        try:
            replace_file(file, _encoder.encode(kept))
        except OSError as error:
            _log.warning("%s cannot be written: %s; it is counted anew when asked for", file, error)


Grouping = Literal["domain", "folder", "owner", "platform", "tag"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

MOST_DOWNSTREAM = 10_000
"""More entities made from a dataset count as so many."""

# Equal ones by use, then by what is downstream, then by URN and as the schema has them.
_Key: TypeAlias = tuple[int, int, int, str, int]


class UndescribedItem(Struct, frozen=True):
    """A column, or with an empty path a table, that nobody described."""

    urn: str
    table: str
    platform: str
    lacking: Lacking
    downstream: int
    at_least: bool

    @property
    def key(self) -> _Key:
        """Puts the heaviest first: by (use + 1) × (downstream + 1)."""
        return _key(self.lacking.use, self.downstream, self.urn, self.lacking.place)


class WorklistPage(Struct, frozen=True):
    """A page of the worklist of `datasets`, of `total` items."""

    datasets: int
    total: int
    items: list[UndescribedItem]


class CoverageCount(Struct):
    """How many of `total` are described: by people, by ingestion, or by both."""

    total: int = 0
    documented: int = 0
    edited: int = 0
    ingested: int = 0

    def add(self, counts: tuple[int, int, int, int]) -> None:
        """Count more."""
        self.total += counts[0]
        self.documented += counts[1]
        self.edited += counts[2]
        self.ingested += counts[3]


class CoverageGroup(Struct):
    """The counts of datasets that share something, whose `key` is empty where they have none."""

    key: str
    tables: CoverageCount
    columns: CoverageCount


class DescribedCoverage(Struct, frozen=True):
    """The counts over all datasets, and of each group: most undescribed columns first."""

    tables: CoverageCount
    columns: CoverageCount
    groups: list[CoverageGroup]


def rank(
    entries: Iterable[tuple[str, WorklistDataset]],
    start: int,
    count: int,
    used: Callable[[str, DatasetFacts], DatasetFacts] | None = None,
) -> WorklistPage:
    """Return a page of the worklist of some datasets. `used` gives facts with the use of other days
    than are kept; every dataset is looked at for it. Without, some 1 µs a dataset and 5 µs for each
    that is on the page or before it."""
    datasets, total = 0, 0
    open_ones: list[tuple[_Key, str, WorklistDataset]] = []
    for urn, entry in entries:
        datasets += 1
        if entry.lacking:
            total += entry.lacking
            most = entry.most_used if used is None else 0
            open_ones.append((_key(most, _reach(entry), urn, 0), urn, entry))
    wanted = start + count
    if used is not None or wanted >= total:
        found = (item for _, urn, entry in open_ones for item in _items(urn, entry, used))
        return WorklistPage(datasets, total, nsmallest(wanted, found, key=_key_of)[start:])
    # No item of a dataset comes before the place that its most used one would have. So the best
    # are found once the next dataset could only add worse ones.
    open_ones.sort(key=lambda one: one[0])
    found_items: list[UndescribedItem] = []
    at = 0
    while at < len(open_ones) and wanted:
        while at < len(open_ones) and len(found_items) < wanted:
            found_items += _items(*open_ones[at][1:], used)
            at += 1
        found_items = nsmallest(wanted, found_items, key=_key_of)
        if len(found_items) == wanted:
            last = found_items[-1].key
            further = at
            while further < len(open_ones) and open_ones[further][0] < last:
                further += 1
            if further == at:
                break
            for _, urn, entry in open_ones[at : min(further, at + wanted)]:
                found_items += _items(urn, entry, used)
                at += 1
            found_items = nsmallest(wanted, found_items, key=_key_of)
    return WorklistPage(datasets, total, found_items[start:])


def cover(entries: Iterable[WorklistDataset], by: Grouping | None) -> DescribedCoverage:
    """Return how much of some datasets is described; about 5 µs each."""
    tables, columns = CoverageCount(), CoverageCount()
    groups: dict[str, CoverageGroup] = {}
    for entry in entries:
        facts = entry.facts
        tables.add(facts.table)
        columns.add(facts.columns)
        for key in group_keys(facts, by) if by else ():
            if key not in groups:
                groups[key] = CoverageGroup(key, CoverageCount(), CoverageCount())
            groups[key].tables.add(facts.table)
            groups[key].columns.add(facts.columns)

    def left(group: CoverageGroup) -> tuple[int, str]:
        return group.columns.documented - group.columns.total, group.key

    return DescribedCoverage(tables, columns, sorted(groups.values(), key=left))


def with_use(facts: DatasetFacts, use_of: Callable[[str], tuple[int, str]]) -> DatasetFacts:
    """Return facts with another use; `use_of` gives that of a column by its path, or of the table
    for an empty one, and what it counts."""
    lacking = tuple(
        Lacking(one.path, one.type, one.place, *use_of(one.path)) for one in facts.lacking
    )
    return structs.replace(facts, lacking=lacking)


def _items(
    urn: str, entry: WorklistDataset, used: Callable[[str, DatasetFacts], DatasetFacts] | None
) -> Iterator[UndescribedItem]:
    facts = entry.facts if used is None else used(urn, entry.facts)
    reach, at_least = _reach(entry), entry.downstream > MOST_DOWNSTREAM
    for one in facts.lacking:
        yield UndescribedItem(urn, facts.name, facts.platform, one, reach, at_least)


def _reach(entry: WorklistDataset) -> int:
    return min(entry.downstream, MOST_DOWNSTREAM)


def _key(use: int, downstream: int, urn: str, place: int) -> _Key:
    return -(use + 1) * (downstream + 1), -use, -downstream, urn, place


def _key_of(item: UndescribedItem) -> _Key:
    return item.key


def group_keys(facts: DatasetFacts, by: Grouping) -> Collection[str]:
    """Return what a dataset counts under; one empty key where there is nothing."""
    match by:
        case "platform":
            return (facts.platform,)
        case "owner":
            return facts.owners or ("",)
        case "domain":
            return facts.domains or ("",)
        case "tag":
            return facts.tags or ("",)
        case "folder":
            return facts.folders or ("",)
