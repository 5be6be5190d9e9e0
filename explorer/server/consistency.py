"""A consistency check of a catalog: replays the change log, recomputes the data derived from the
store, and compares both with the stored data."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson
from msgspec import Struct

from explorer.errors import CatalogError, Unusable
from explorer.metadata.names import natural_key
from explorer.metadata.proposal import NO_RUN
from explorer.metadata.registry import Registry, load_registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.browse import default_delimiter
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import find_damage, find_missing, is_read_only, open_store
from explorer.server.ingestion import Intake
from explorer.server.projection import places_of, read_delimiter, read_state
from explorer.server.remembered import FILE, INDEX, CatalogMemory
from explorer.server.retention import complete_since
from explorer.server.search import SearchEngine
from explorer.server.search.analysis import analyse, identity
from explorer.server.search.fields import Vocabulary
from explorer.server.search.index import SearchIndex
from explorer.server.search.layers import read_problems
from explorer.server.search.query import SearchQuery, SortBy
from explorer.server.store import (
    BrowseFolderRow,
    EntityRows,
    LogEntry,
    Placement,
    StoreFault,
    Survey,
    SurveyedStore,
    digest,
    read_object,
)
from explorer.server.timeseries import use_from

Part = Literal["lost", "file", "entities", "versions", "edges", "browse", "log", "points", "search"]

MOST = 1_000
_EXACT_FACET_VALUES = 100
_PAGE = 1_000

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE aspects (
    urn TEXT, aspect TEXT, value BLOB, by_run INTEGER, PRIMARY KEY (urn, aspect)
) WITHOUT ROWID;
CREATE TABLE points (
    urn TEXT, aspect TEXT, value BLOB, sure INTEGER, PRIMARY KEY (urn, aspect, value)
) WITHOUT ROWID;
BEGIN;
"""


class ReplayedAspect(Struct, frozen=True):
    """The digest of an aspect's last value.

    `by_run` is true if any of its versions named a run, which may have been rolled back.
    """

    value: bytes
    by_run: bool


class ReplayedPoint(Struct, frozen=True):
    """The digest of a document of a timeseries aspect.

    `sure` is false if documents of the aspect were removed later: the log does not say which ones.
    """

    aspect: str
    value: bytes
    sure: bool


class Replay:
    """A replay of a change log into a temporary file, so that it need not fit in memory.

    If the oldest entries of the log were dropped (`is_complete` is false), values that they wrote
    are unknown.
    """

    def __init__(self, registry: Registry, no_run: str) -> None:
        """`no_run` is the run id of writes that do not belong to a run."""
        self.is_complete = True
        self._no_run = no_run
        self._keys = {entity.key for entity in registry.entities.values()}
        self._timeseries = {name for name, aspect in registry.aspects.items() if aspect.timeseries}
        # For an empty name SQLite creates a temporary file, which it removes.
        self._scratch = sqlite3.connect("", isolation_level=None)
        self._scratch.executescript(_TABLES)
        self._run = self._scratch.execute

    def close(self) -> None:
        """Remove the file."""
        self._scratch.close()

    def play(self, entry: LogEntry) -> str | None:
        """Apply an entry of the log; return the problem with it, `None` if there is none."""
        if entry.aspect in self._timeseries:
            return self._play_point(entry)
        row = self._run(
            "SELECT value, by_run FROM aspects WHERE urn = ? AND aspect = ?",
            (entry.urn, entry.aspect),
        ).fetchone()
        problem = None
        is_complete = self.is_complete or row is not None
        if is_complete and (row[0] if row else None) != _digest(entry.previous):
            problem = (
                "the previous value that it records is not the one in the earlier rows of the log"
            )
        if entry.change == "DELETE":
            self._run("DELETE FROM aspects WHERE urn = ? AND aspect = ?", (entry.urn, entry.aspect))
            if entry.aspect in self._keys:
                for table in ("aspects", "points"):
                    self._run(f"DELETE FROM {table} WHERE urn = ?", (entry.urn,))
        elif (value_digest := _digest_of_write(entry)) is None:
            problem = "it has no value"
        else:
            by_run = bool(row and row[1]) or self._names_run(entry.system)
            self._run(
                "INSERT OR REPLACE INTO aspects VALUES (?, ?, ?, ?)",
                (entry.urn, entry.aspect, value_digest, by_run),
            )
        return problem

    def aspects(self, urn: str) -> dict[str, ReplayedAspect]:
        """Return the aspects that an entity must have according to the log."""
        rows = self._run("SELECT aspect, value, by_run FROM aspects WHERE urn = ?", (urn,))
        return {aspect: ReplayedAspect(value, bool(by_run)) for aspect, value, by_run in rows}

    def points(self, urn: str) -> list[ReplayedPoint]:
        """Return the documents that an entity must have according to the log, or may have."""
        rows = self._run("SELECT aspect, value, sure FROM points WHERE urn = ?", (urn,))
        return [ReplayedPoint(aspect, value, bool(sure)) for aspect, value, sure in rows]

    def settle(self, urn: str) -> None:
        """Record that an entity has been compared."""
        for table in ("aspects", "points"):
            self._run(f"DELETE FROM {table} WHERE urn = ?", (urn,))

    def remaining(self) -> Iterator[str]:
        """Yield the URNs of entities that must exist but were not compared, sorted."""
        rows = self._run(
            "SELECT urn FROM aspects UNION SELECT urn FROM points WHERE sure ORDER BY urn"
        )
        for (urn,) in rows:
            yield urn

    def _names_run(self, system: bytes) -> bool:
        try:
            run = orjson.loads(system).get("runId")
        except (orjson.JSONDecodeError, AttributeError):
            # Damaged; comparing the aspects reports it.
            return False
        return isinstance(run, str) and run != self._no_run

    def _play_point(self, entry: LogEntry) -> str | None:
        if entry.change == "DELETE":
            self._run(
                "UPDATE points SET sure = 0 WHERE urn = ? AND aspect = ?", (entry.urn, entry.aspect)
            )
            return None
        value_digest = _digest_of_write(entry)
        if value_digest is None:
            return "it has no value"
        problem = None
        if entry.previous is not None:
            replaced = self._run(
                "DELETE FROM points WHERE urn = ? AND aspect = ? AND value = ?",
                (entry.urn, entry.aspect, _digest(entry.previous)),
            )
            if self.is_complete and not replaced.rowcount:
                problem = "the document that it replaced is not in the earlier rows of the log"
        self._run(
            "INSERT OR REPLACE INTO points VALUES (?, ?, ?, 1)",
            (entry.urn, entry.aspect, value_digest),
        )
        return problem


class BrowseTreeCheck:
    """Compares the folders of the browse tree with the entities that should be in them."""

    def __init__(self, folders: Iterable[BrowseFolderRow]) -> None:
        self._folders = {folder.id: folder for folder in folders}
        self._ids = {
            (folder.type, folder.parent, folder.key): folder.id for folder in self._folders.values()
        }
        self._counted = dict.fromkeys(self._folders, 0)

    def compare(
        self, urn: Urn, name: str, expected: Iterable[Placement], entity_rows: EntityRows
    ) -> Iterator[str]:
        """Yield the problems with the places of an entity, and count the entity in the folders
        where it should be."""
        expected_rows: set[tuple[int, str, str, str]] = set()
        leaves: set[tuple[int, str]] = set()
        for placement in expected:
            folder = self._find(urn.entity_type, placement.folder)
            if folder is None:
                yield f"the folder /{'/'.join(placement.folder)} is missing"
                continue
            expected_rows.add((folder, natural_key(name), str(urn), name))
            if placement.leaf is not None:
                leaves.add((folder, placement.leaf.casefold()))
        placements = {
            (placement.folder, placement.sort, placement.urn, placement.name)
            for placement in entity_rows.placements
        }
        for folder, _, _, listed in sorted(placements - expected_rows):
            yield f"it is listed as {listed} in {self._path(folder)}, where it does not belong"
        for folder, *_ in sorted(expected_rows - placements):
            yield f"it is not listed as {name} in {self._path(folder)}"
        for folder, leaf in {(leaf.folder, leaf.leaf) for leaf in entity_rows.leaves} ^ leaves:
            yield f"it is recorded wrongly whether {self._path(folder)}/{leaf} refers to it"
        ancestors = {above for folder, *_ in expected_rows for above in self._with_parents(folder)}
        for above in ancestors:
            self._counted[above] += 1

    def wrong(self) -> Iterator[tuple[str, str]]:
        """Yield each wrong folder, for example one with a wrong count, and its problem. Call this
        after `compare` was called for every entity."""
        for folder in self._folders.values():
            counted = self._counted[folder.id]
            if folder.entities != counted:
                yield (
                    self._path(folder.id),
                    f"its stored count is {folder.entities} entities, and it holds {counted}",
                )
            elif not counted:
                yield self._path(folder.id), "it is empty"
            if folder.parent and folder.parent not in self._folders:
                yield self._path(folder.id), "its parent folder is missing"

    def _find(self, entity_type: str, names: tuple[str, ...]) -> int | None:
        folder_id = self._ids.get((entity_type, 0, ""))
        for name in names:
            if folder_id is None:
                return None
            folder_id = self._ids.get((entity_type, folder_id, name.casefold()))
        return folder_id

    def _with_parents(self, folder: int) -> Iterator[int]:
        while folder in self._folders:
            yield folder
            folder = self._folders[folder].parent

    def _path(self, folder: int) -> str:
        above = [self._folders[path] for path in self._with_parents(folder)]
        if not above:
            return f"folder {folder}, which is missing"
        keys = [row.key for row in reversed(above) if row.key]
        return f"{above[0].type}:/{'/'.join(keys)}"


class Finding(Struct, frozen=True):
    """An inconsistency: the part of the catalog, the subject (a URN, a folder, a row of the log),
    and the problem."""

    part: Part
    subject: str
    problem: str


def check(store: SurveyedStore, index: SearchEngine | None, registry: Registry) -> list[Finding]:
    """Return the inconsistencies of a catalog, at most 1,000; empty if there are none.

    The database file is checked first. If it is damaged, nothing else is checked, because data
    read from it is not reliable. Without an `index` the search index is not checked. Nobody may
    write to the store meanwhile.

    Everything is read once, which takes about 2 ms per entity. In memory, only the folders of the
    browse tree and the counts of facets grow with the catalog; the log is replayed into a temporary
    file. Raises `ServerFault` if the index cannot be read.
    """
    with store.survey() as survey:
        if damage := survey.damage():
            return [Finding("file", FILE, line) for line in damage]
        with closing(Replay(registry, NO_RUN)) as replay:
            checker = _Checker(survey, replay, index, registry)
            return list(islice(checker.findings(), MOST))


def check_directory(data_dir: Path, registry_file: Path | None = None) -> list[Finding]:
    """Return the changes that the catalog of a data directory has lost, and its inconsistencies
    (see `check`). The caller holds the directory.

    First, the search index is brought up to date, as when a service starts. Damaged files of the
    index are reported and not changed. On read-only media the index is not checked. Raises
    `Unusable` if the directory cannot be read.
    """
    if (missing := find_missing(data_dir)) is not None:
        return [Finding("lost", FILE, missing)]
    if damage := find_damage(data_dir):
        return [Finding("file", FILE, line) for line in damage]
    registry = load_registry(registry_file)
    read_only = is_read_only(data_dir)
    problems = read_problems(data_dir / INDEX)
    store = open_store(data_dir, read_only=read_only)
    try:
        return _check_opened(data_dir, store, registry, problems, read_only=read_only)
    except Unusable as error:
        if store.problem != str(error):
            raise
        return [Finding("file", FILE, store.problem)]
    except StoreFault as error:
        # For example, tables or columns with other names.
        return [Finding("file", FILE, str(error))]


def _check_opened(
    data_dir: Path,
    store: SurveyedStore,
    registry: Registry,
    problems: list[str],
    *,
    read_only: bool,
) -> list[Finding]:
    try:
        losses = CatalogMemory(data_dir, store).losses
        findings = [Finding("lost", "the change log", str(loss)) for loss in losses]
        if problems or read_only:
            findings += [Finding("search", "the index", problem) for problem in problems]
            findings += check(store, None, registry)
            store.close()
            return findings
        index = SearchIndex(data_dir / INDEX, registry, store)
    except BaseException:
        store.close()
        raise
    catalog = CatalogEngine(store, index, registry)
    try:
        catalog.catch_up()
        catalog.recount_use()
        return [*findings, *check(store, index, registry)]
    finally:
        catalog.close()


class _Checker:
    """Checks a catalog in one pass over the change log and one over the entities."""

    def __init__(
        self,
        survey: Survey,
        replay: Replay,
        index: SearchEngine | None,
        registry: Registry,
    ) -> None:
        self._survey = survey
        self._replay = replay
        self._index = index
        self._registry = registry
        self._intake = Intake(registry)
        self._tree = BrowseTreeCheck(survey.folders())
        self._vocabulary = Vocabulary(registry)
        self._is_index_wrong = False
        self._trimmed = complete_since(survey)
        self._types: Counter[str] = Counter()
        self._facets: dict[str, Counter[str]] = {}
        self._use_from = use_from()

    def findings(self) -> Iterator[Finding]:
        yield from self._check_log()
        for entity_rows in self._survey.all_entity_rows():
            yield from self._check_entity(entity_rows)
        for urn in self._replay.remaining():
            yield Finding(
                "log", urn, "it exists according to the change log, but nothing of it is stored"
            )
        for folder, problem in self._tree.wrong():
            yield Finding("browse", folder, problem)
        if self._index is not None:
            yield from self._find_surplus_entries(self._index)
            if not self._is_index_wrong:
                yield from self._compare_searches(self._index)

    def _check_log(self) -> Iterator[Finding]:
        head = self._survey.log_bounds().floor
        self._replay.is_complete = head == 0
        for entry in self._entries():
            if entry.offset != head + 1:
                yield Finding("log", f"row {entry.offset}", f"the row before it is {head}")
            head = entry.offset
            problem = self._replay.play(entry)
            if problem:
                about = f"row {head}, {entry.aspect} of {entry.urn}"
                yield Finding("log", about, problem)
        committed = self._index.committed_offset if self._index else 0
        if committed > head:
            problem = (
                f"it was built from the change log up to row {committed}, but the log ends at "
                f"row {head}"
            )
            yield Finding("search", "the index", problem)

    def _entries(self) -> Iterator[LogEntry]:
        after = 0
        while rows := self._survey.log(after, _PAGE):
            yield from rows
            after = rows[-1].offset

    def _check_entity(self, entity_rows: EntityRows) -> Iterator[Finding]:
        if entity_rows.urn is None:
            yield Finding("entities", "rows", "they belong to an entity that has no row of its own")
            return
        urn = entity_rows.urn
        values = {aspect.name: read_object(aspect.value) for aspect in entity_rows.aspects}
        try:
            parsed = Urn.parse(urn)
        except CatalogError as error:
            # Values can refer to any text that begins like a URN; only an entity must have a valid
            # one.
            if entity_rows.live:
                yield Finding("entities", urn, f"its URN cannot be read: {error}")
            return
        yield from self._entity(entity_rows, parsed)
        yield from self._versions(urn, entity_rows)
        yield from self._edges(urn, entity_rows, values)
        yield from self._browse(parsed, entity_rows, values)
        yield from self._compare_with_log(urn, entity_rows)
        yield from self._compare_index_entry(parsed, values)
        self._replay.settle(urn)

    def _entity(self, entity_rows: EntityRows, urn: Urn) -> Iterator[Finding]:
        text, entity_type = str(urn), self._registry.entities.get(urn.entity_type)
        if entity_rows.entity_type != urn.entity_type:
            yield Finding(
                "entities", text, f"it is stored with the entity type {entity_rows.entity_type}"
            )
        if entity_rows.live != bool(entity_rows.aspects):
            state = "exists" if entity_rows.live else "does not exist"
            yield Finding("entities", text, f"it {state} with {len(entity_rows.aspects)} aspects")
        if (
            entity_rows.aspects
            and entity_type
            and entity_type.key not in {aspect.name for aspect in entity_rows.aspects}
        ):
            yield Finding("entities", text, f"its key aspect {entity_type.key} is missing")
        for aspect in entity_rows.aspects:
            for what, stored in (("value", aspect.value), ("system metadata", aspect.system)):
                if not _is_object(stored):
                    yield Finding("entities", text, f"the {what} of {aspect.name} is not JSON")
            run = read_object(aspect.system).get("runId")
            run_name = run if isinstance(run, str) and run != NO_RUN else None
            if run_name != aspect.run:
                problem = (
                    f"{aspect.name} is stored under the run {aspect.run}, but its system "
                    f"metadata names {run_name}"
                )
                yield Finding("entities", text, problem)

    def _versions(self, urn: str, entity_rows: EntityRows) -> Iterator[Finding]:
        numbers_by_aspect: dict[str, list[int]] = {}
        for version in entity_rows.versions:
            numbers_by_aspect.setdefault(version.aspect, []).append(version.version)
        for aspect in entity_rows.aspects:
            numbers = numbers_by_aspect.pop(aspect.name, [])
            newest = max(numbers, default=0)
            if aspect.superseded != newest:
                problem = (
                    f"its newest older version is {newest}, but {aspect.superseded} is recorded"
                )
                yield Finding("versions", f"{aspect.name} of {urn}", problem)
            if numbers and numbers[0] < 1:
                problem = f"it has the version {numbers[0]}"
                yield Finding("versions", f"{aspect.name} of {urn}", problem)
            played = self._replay.aspects(urn).get(aspect.name)
            # Only the rollback of a run leaves gaps. The oldest versions are missing if retention
            # dropped some.
            first = min(numbers, default=1) if aspect.name in self._trimmed else 1
            if len(numbers) <= newest - first and played is not None and not played.by_run:
                problem = f"only {len(numbers)} of its versions {first} to {newest} are stored"
                yield Finding("versions", f"{aspect.name} of {urn}", problem)
        for name in numbers_by_aspect:
            yield Finding("versions", f"{name} of {urn}", "it has older versions but no latest one")

    def _edges(
        self, urn: str, entity_rows: EntityRows, values: dict[str, Any]
    ) -> Iterator[Finding]:
        declared = {
            (edge.relationship, edge.target, aspect, edge.flow)
            for aspect, value in values.items()
            if aspect in self._registry.aspects
            for edge in self._intake.edges(aspect, value)
        }
        stored_edges = {
            (edge.relationship, edge.target, edge.aspect, edge.flow) for edge in entity_rows.edges
        }
        for name, target, aspect, flow in sorted(stored_edges - declared, key=str):
            problem = f"{aspect} declares no edge {name} to {target} (flow {flow})"
            yield Finding("edges", urn, problem)
        for name, target, aspect, flow in sorted(declared - stored_edges):
            problem = f"the edge {name} to {target} (flow {flow}) of {aspect} is missing"
            yield Finding("edges", urn, problem)

    def _browse(
        self, urn: Urn, entity_rows: EntityRows, values: dict[str, Any]
    ) -> Iterator[Finding]:
        delimiter = read_delimiter(self._survey, urn.platform)
        if urn.entity_type == "dataPlatform":
            declared = values.get("dataPlatformInfo", {}).get("datasetNameDelimiter")
            expected_delimiter = declared or default_delimiter(urn.name)
            if delimiter != expected_delimiter:
                problem = (
                    f"its names are separated by {delimiter!r}, but the delimiter should be "
                    f"{expected_delimiter!r}"
                )
                yield Finding("browse", str(urn), problem)
        name, expected = places_of(urn, values, delimiter)
        for problem in self._tree.compare(urn, name, expected, entity_rows):
            yield Finding("browse", str(urn), problem)

    def _compare_with_log(self, urn: str, entity_rows: EntityRows) -> Iterator[Finding]:
        played = self._replay.aspects(urn)
        for aspect in entity_rows.aspects:
            last = played.pop(aspect.name, None)
            if last is None:
                if not self._replay.is_complete:
                    continue
                problem = f"{aspect.name} is stored, but the change log does not have it"
            elif last.value != digest(aspect.value):
                problem = f"{aspect.name} differs from the last value in the change log"
            else:
                continue
            yield Finding("log", urn, problem)
        for name in played:
            yield Finding("log", urn, f"{name} is in the change log, but it is not stored")
        points = {(point.aspect, point.value): point.sure for point in self._replay.points(urn)}
        for row in entity_rows.points:
            if not entity_rows.live:
                yield Finding(
                    "points", urn, f"the entity does not exist, but a {row.aspect} of it is stored"
                )
            stamp = f"{row.aspect} of {row.at_millis}"
            by_log = points.pop((row.aspect, digest(row.value)), None)
            if by_log is None and self._replay.is_complete:
                yield Finding(
                    "points", urn, f"the {stamp} is stored, but the change log does not have it"
                )
            if read_object(row.value).get("timestampMillis") != row.at_millis:
                yield Finding("points", urn, f"the {stamp} has a different time in its value")
        missing = [name for (name, _), sure in points.items() if sure]
        for name in dict.fromkeys(missing):
            problem = f"{missing.count(name)} {name} are in the change log, but they are not stored"
            yield Finding("points", urn, problem)

    def _compare_index_entry(self, urn: Urn, values: dict[str, Any]) -> Iterator[Finding]:
        if self._index is None or not values or urn.entity_type not in self._registry.entities:
            return
        state = read_state(self._registry, self._survey, urn, values, self._use_from)
        document = state.build(self._registry)
        if not self._index.has_document(document):
            self._is_index_wrong = True
            yield Finding("search", str(urn), "its entry in the search index is not up to date")
        self._types[urn.entity_type] += 1
        if not document.removed:
            for name, counted in analyse(self._vocabulary, document).facets.items():
                self._facets.setdefault(name, Counter()).update(counted)

    def _find_surplus_entries(self, index: SearchEngine) -> Iterator[Finding]:
        for urn in index.urns():
            if not self._survey.existing([urn]):
                self._is_index_wrong = True
                yield Finding("search", urn, "it is in the search index, but it does not exist")

    def _compare_searches(self, index: SearchEngine) -> Iterator[Finding]:
        """Compare the results of searches with the store: the number of entities of each type, the
        counts of facet values, and listings of everything in two orders."""
        for name in sorted(self._registry.entities):
            query = SearchQuery("*", (name,), Filter(), 0, 0, facets=False, include_removed=True)
            total = index.search(query).total
            if total != self._types[name]:
                problem = f"a search finds {total} {name}, but {self._types[name]} are stored"
                yield Finding("search", "counts", problem)
        for facet in index.search(SearchQuery("*", None, Filter(), 0, 0)).facets:
            stored = self._facets.get(facet.name, Counter())
            if len(stored) > _EXACT_FACET_VALUES:
                # With more values than this, a search counts only the most frequent exactly.
                continue
            trait, counts_by_identity = self._vocabulary.trait(facet.name), Counter[str]()
            for value, count in stored.items():
                counts_by_identity[identity(trait, value)] += count
            for value, count in facet.counts.items():
                # A search counts the values that differ in case only under one of them.
                stored_count = counts_by_identity[identity(trait, value)]
                if count != stored_count:
                    problem = f"a search counts {count} with {value}, but {stored_count} are stored"
                    yield Finding("search", f"the facet {facet.name}", problem)
        yield from self._compare_order(index, "urn")
        yield from self._compare_order(index, "name")

    def _compare_order(self, index: SearchEngine, field: str) -> Iterator[Finding]:
        query = SearchQuery(
            "*", None, Filter(), 0, _PAGE, facets=False, include_removed=True, sort=(SortBy(field),)
        )
        listed, last = 0, ""
        while True:
            page = index.search(query)
            listed += len(page.hits)
            if page.last is None or len(page.hits) < _PAGE:
                break
            if page.last <= last:
                yield Finding(
                    "search",
                    f"the order by {field}",
                    "a page does not come after the previous one",
                )
                return
            last = page.last
            query = replace(query, after=last)
        stored = self._types.total()
        if listed != stored:
            problem = f"{listed} are listed, but {stored} are stored"
            yield Finding("search", f"the order by {field}", problem)


def _is_object(stored: bytes) -> bool:
    try:
        return isinstance(orjson.loads(stored), dict)
    except orjson.JSONDecodeError:
        return False


def _digest(value: bytes | None) -> bytes | None:
    return None if value is None else digest(value)


def _digest_of_write(entry: LogEntry) -> bytes | None:
    """Return the digest of the value that an entry wrote."""
    return entry.digest or _digest(entry.value)
