"""Lineage queries over entities and columns, and filters on the entities reached.

Nodes of the entity graph are the store's integer handles. Nodes of the column graph are the URNs of
schema fields; the edges between them are read from aspects. The upstream edges of a dataset's
column come from the `fineGrainedLineages` of the dataset and of the jobs that produce it; those of
a field of a chart or dashboard come from its `inputFields`. The downstream edges of a column come
from the datasets whose fine-grained lineage refers to it, from the jobs that consume its dataset,
and from the charts that use it as an input. The `via` of an edge, a term of DataHub's, is the job
that declares it or the query that the fine-grained lineage names.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, islice, pairwise, product
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import orjson

from explorer.errors import Busy, InvalidInput, InvalidUrn, ServerFault
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.lineage_graph import (
    EVERY_HOP,
    Graph,
    LineageLimits,
    LineageLists,
    Truncation,
    WalkedEntity,
    WalkResult,
    list_lineage,
    walk,
)
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document, build_document
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, Vocabulary
from explorer.server.search.query import EVERYTHING
from explorer.server.search.relevance import ResolvedSearch, read_text
from explorer.server.store import Store, is_removed


class Tables:
    """The lineage graph of entities. A hop is one query, however many nodes the frontier has."""

    def __init__(self, store: Store, *, upstream: bool) -> None:
        self._store = store
        self._upstream = upstream

    def hop(self, frontier: Sequence[int], limit: int) -> list[tuple[int, int, str]]:
        """Return the edges that lead on from the nodes; see `lineage_graph.Graph.hop`."""
        columns = self._store.lineage(frontier, upstream=self._upstream, limit=limit)
        return list(zip(*columns, strict=True))

    def entities_of(self, nodes: Sequence[int]) -> dict[int, WalkedEntity]:
        """Return the entities with these handles."""
        urns, exist = self._store.urns_of_handles(nodes)
        return {
            node: WalkedEntity(urn, urn.split(":", 3)[2], bool(exists))
            for node, urn, exists in zip(nodes, urns, exist, strict=True)
        }


_DATASET = "upstreamLineage"
_JOB = "dataJobInputOutput"
_CHART = "inputFields"
_CONSUMES_FIELD = "consumesField"
_DOWNSTREAM_OF = "DownstreamOf"
_COLUMN = "urn:li:schemaField:("
_JOB_URN = "urn:li:dataJob:"


def is_column(urn: str) -> bool:
    """Return whether a URN is that of a schema field."""
    return urn.startswith(_COLUMN)


class _Statement(NamedTuple):
    """A declaration that data flows from each upstream column to each downstream column."""

    upstreams: Sequence[str]
    downstreams: Sequence[str]
    via: str | None


class ColumnGraph:
    """The lineage graph of columns. A hop reads the aspects that may declare edges of a frontier's
    columns."""

    def __init__(self, store: Store, *, upstream: bool) -> None:
        self._store = store
        self._upstream = upstream
        self._vias: dict[tuple[str, str], dict[str | None, None]] = {}

    def hop(self, frontier: Sequence[str], limit: int) -> list[tuple[str, str, str]]:
        """Return the edges that lead on from the columns; see `lineage_graph.Graph.hop`. Ends that
        are not columns are skipped."""
        columns = set(frontier)
        edges: dict[tuple[str, str, str], None] = {}
        for upstreams, downstreams, via in self._statements(frontier):
            ups, downs = list(filter(is_column, upstreams)), list(filter(is_column, downstreams))
            near_side, far_side = (downs, ups) if self._upstream else (ups, downs)
            near = [column for column in near_side if column in columns]
            for pair in islice(product(near, far_side), limit - len(edges)):
                edges[*pair, _DOWNSTREAM_OF] = None
                self._vias.setdefault(pair, {})[via] = None
            if len(edges) >= limit:
                break
        return list(edges)

    def vias(self, near: str, far: str) -> list[str | None]:
        """Return the jobs and queries (`via`) of an edge that a hop found. None in the list means
        that the edge is also declared without one."""
        return list(self._vias[near, far])

    def expand_path(self, path: Sequence[str], limit: int) -> list[tuple[str, ...]]:
        """Return a path of columns with the `via` of each edge inserted between its ends. If edges
        have several, there is one path for each combination; at most `limit` paths are returned."""
        between = [self.vias(*pair) for pair in pairwise(path)]
        return [
            (path[0], *(urn for step in zip(vias, path[1:], strict=True) for urn in step if urn))
            for vias in islice(product(*between), limit)
        ]

    def entities_of(self, columns: Sequence[str]) -> dict[str, WalkedEntity]:
        """Return the columns as nodes. A column exists if the schema of its dataset has it, or if
        it is stored as an entity."""
        parents = {column: parent_of(column) for column in columns}
        schemas = self._store.aspects(
            sorted({parent for parent in parents.values() if parent}), ("schemaMetadata",)
        )
        existing = self._store.existing(columns)
        for parent, aspects in schemas.items():
            for aspect in aspects:
                for field in orjson.loads(aspect.value).get("fields", ()):
                    existing.add(f"{_COLUMN}{parent},{field['fieldPath']})")
        return {
            column: WalkedEntity(column, "schemaField", column in existing) for column in columns
        }

    def _statements(self, frontier: Sequence[str]) -> Iterator[_Statement]:
        """Yield every declaration of lineage that may concern the columns."""
        parents = sorted({parent for column in frontier if (parent := parent_of(column))})
        handles = self._store.handles(parents)
        _, nearby, _ = self._store.lineage(
            sorted(handles.values()), upstream=self._upstream, limit=1_000_000
        )
        neighbours, _ = self._store.urns_of_handles(sorted(set(nearby)))
        jobs = [urn for urn in neighbours if urn.startswith(_JOB_URN)]
        sources = parents if self._upstream else self._find_declaring(frontier, _DOWNSTREAM_OF)
        for urns, aspect in ((sources, _DATASET), (jobs, _JOB)):
            for urn, stored in self._store.aspects(urns, (aspect,)).items():
                for stored_aspect in stored:
                    for lineage in (
                        orjson.loads(stored_aspect.value).get("fineGrainedLineages") or ()
                    ):
                        yield _Statement(
                            lineage.get("upstreams") or (),
                            lineage.get("downstreams") or (),
                            urn if aspect == _JOB else lineage.get("query"),
                        )
        charts = parents if self._upstream else self._find_declaring(frontier, _CONSUMES_FIELD)
        for urn, stored in self._store.aspects(charts, (_CHART,)).items():
            for stored_aspect in stored:
                for field in orjson.loads(stored_aspect.value).get("fields") or ():
                    path = (field.get("schemaField") or {}).get("fieldPath")
                    if path:
                        own = f"{_COLUMN}{urn},{path})"
                        yield _Statement((field["schemaFieldUrn"],), (own,), None)

    def _find_declaring(self, columns: Sequence[str], relationship: str) -> list[str]:
        """Return the URNs of the entities that declare a relationship to any of the columns."""
        _, neighbours = self._store.edges(columns, "INCOMING", (relationship,))
        return [neighbour.urn for neighbour in neighbours]


def owner_of(urn: str) -> str:
    """Return the URN of the entity that a column belongs to; any other URN is returned as it is."""
    return parent_of(urn) or urn


def parent_of(column: str) -> str | None:
    """Return the URN of the entity that a column belongs to, None for a URN that is no column's."""
    if not is_column(column):
        return None
    try:
        return Urn.parse(column).parts[0]
    except InvalidUrn:
        return None


DEGREE = "degree"
_PLATFORM = "platform"
_STATUS = "status"
# A filter on these fields alone is decided by the URN and the status of an entity, if the URN names
# a platform.
_URN_FIELDS = frozenset({ENTITY_TYPE, REMOVED, _PLATFORM})
# Entity types whose key begins with a namespace and not with a platform.
_NAMESPACED = frozenset({"mlFeature", "mlPrimaryKey"})
_AT_ONCE = 500
_MOST_TOLD = 5_000
_EVERYTHING = ResolvedSearch(EVERYTHING, EVERYTHING, (), None, include_removed=True)

# For each alternative of a filter, whether an entity matches it; empty if there is no search
# document for the entity.
_Verdict: TypeAlias = tuple[bool, ...]
# A URN up to its first comma, and whether the entity is soft-deleted.
_Alike: TypeAlias = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reached entity, and its distance in hops. `exists` is false if it is only referenced."""

    urn: str
    entity_type: str
    degree: int
    exists: bool


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One AND group of a filter: the criteria on `degree`, and a search with the text and all other
    criteria. `asks` is false if there is no text and no other criterion."""

    degree: tuple[Criterion, ...]
    search: ResolvedSearch
    asks: bool

    def accepts(self, degree: int) -> bool:
        return all(_has_degree(criterion, degree) for criterion in self.degree)

    def furthest(self) -> int:
        bounds = [
            max((last for _, last in _degrees(criterion)), default=0)
            for criterion in self.degree
            if not criterion.negated
        ]
        return min(bounds, default=EVERY_HOP)


class LineageFilter:
    """A filter on the entities that lineage reaches.

    It may use every field that can be searched, and `degree`, whose values are `1`, `2`, …, and
    `3+` for three or more. An entity that is not stored has only the fields that follow from its
    URN. Raises the same errors as a search for unknown fields, `UnknownName` for an unknown entity
    type, and `InvalidInput` for an invalid degree.
    """

    def __init__(
        self,
        registry: Registry,
        index: SearchEngine,
        *,
        types: Sequence[str] = (),
        text: str = "",
        filter: Filter | None = None,
    ) -> None:
        self._registry = registry
        self._index = index
        self._vocabulary = vocabulary = index.vocabulary
        self._types = frozenset(types)
        for entity_type in types:
            registry.entity(entity_type)
        groups = (filter or Filter()).any_of or ((),)
        self._alternatives = [self._alternative(group, text) for group in groups]
        fields = {
            criterion.field for group in groups for criterion in group if criterion.field != DEGREE
        }
        self._is_decided_by_urn = not text and fields <= _URN_FIELDS
        searches = tuple(alternative.search for alternative in self._alternatives)
        self._verdicts = _verdict_cache(vocabulary, searches) if self._is_decided_by_urn else {}

    @property
    def furthest(self) -> int:
        """The number of hops beyond which nothing can match."""
        return max(alternative.furthest() for alternative in self._alternatives)

    def choose(
        self, store: Store, candidates: Sequence[Candidate], seconds: float
    ) -> tuple[list[bool], bool]:
        """Return which of the candidates match, and whether all were checked within `seconds`.

        A candidate that was not checked does not match. Costs nothing if entity types and degrees
        decide, about 10 µs per entity if its platform and status decide, 0.1 ms if the search index
        is queried, and 0.7 ms if the index lacks the entity.
        """
        deadline = time.monotonic() + seconds
        matches = [False] * len(candidates)
        asking: list[int] = []
        for at, candidate in enumerate(candidates):
            if self._types and candidate.entity_type not in self._types:
                continue
            open_to = [
                alternative
                for alternative in self._alternatives
                if alternative.accepts(candidate.degree)
            ]
            if any(not alternative.asks for alternative in open_to):
                matches[at] = True
            elif open_to:
                asking.append(at)
        for start in range(0, len(asking), _AT_ONCE):
            if time.monotonic() > deadline:
                return matches, False
            chunk = asking[start : start + _AT_ONCE]
            verdicts = self._judge(store, [candidates[at].urn for at in chunk])
            for at in chunk:
                verdict = verdicts.get(candidates[at].urn, ())
                matches[at] = any(
                    passes and alternative.accepts(candidates[at].degree)
                    for alternative, passes in zip(self._alternatives, verdict, strict=False)
                )
        return matches, True

    def _alternative(self, group: tuple[Criterion, ...], text: str) -> _Alternative:
        degree = tuple(criterion for criterion in group if criterion.field == DEGREE)
        criteria = tuple(criterion for criterion in group if criterion.field != DEGREE)
        for criterion in degree:
            _degrees(criterion)
        search = read_text(
            text,
            None,
            Filter((criteria,)) if criteria else Filter(),
            self._vocabulary,
            include_removed=True,
            names=self._index.names,
        )
        return _Alternative(degree, search, bool(criteria or text))

    def _judge(self, store: Store, urns: Sequence[str]) -> dict[str, _Verdict]:
        """Return, by URN, which alternatives each entity matches, ignoring criteria on the
        degree."""
        if not self._is_decided_by_urn:
            return self._read(store, urns)
        removed = find_removed(store, urns)
        # The platform is in the first part of the key; parsing every URN would cost the most.
        keys_by_urn = {text: (text.partition(",")[0], text in removed) for text in urns}
        verdicts = {
            key: self._verdicts[key] for key in keys_by_urn.values() if key in self._verdicts
        }
        unknown = {key: text for text, key in keys_by_urn.items() if key not in verdicts}
        if unknown:
            verdicts |= self._verdicts_from_urns(unknown)
            if len(self._verdicts) < _MOST_TOLD:
                self._verdicts |= verdicts
        verdicts_by_urn: dict[str, _Verdict] = {}
        unclear: list[str] = []
        for text, key in keys_by_urn.items():
            verdict = verdicts[key]
            if verdict is None:
                unclear.append(text)
            else:
                verdicts_by_urn[text] = verdict
        return verdicts_by_urn | self._read(store, unclear)

    def _verdicts_from_urns(
        self, urns_by_key: Mapping[_Alike, str]
    ) -> dict[_Alike, _Verdict | None]:
        """Return the verdicts that follow from the URNs and soft deletions; None if the URN names
        no platform, so that the aspects must be read."""
        values: dict[Urn, dict[str, Any]] = {}
        for (_, removed), text in urns_by_key.items():
            for urn in Urn.parse_all((text,)):
                if platform_of(urn) is not None:
                    values[urn] = {_STATUS: {"removed": True}} if removed else {}
        verdicts = self._verdicts_of(values)
        return {key: verdicts.get(text) for key, text in urns_by_key.items()}

    def _read(self, store: Store, urns: Sequence[str]) -> dict[str, _Verdict]:
        """Return, by URN, which alternatives each entity matches, using all of its fields: from the
        search index, or from the store if the index lacks the entity or cannot be searched."""
        searches = [alternative.search for alternative in self._alternatives]
        try:
            indexed_urns, *matches = self._index.matching(urns, [_EVERYTHING, *searches])
        except (Busy, ServerFault):
            indexed_urns, matches = set(), []
        verdicts = {
            urn: tuple(urn in matching_urns for matching_urns in matches) for urn in indexed_urns
        }
        lacking = [urn for urn in urns if urn not in indexed_urns]
        if not lacking:
            return verdicts
        stored = store.aspects(lacking)
        return verdicts | self._verdicts_of(
            {
                urn: {
                    aspect.name: orjson.loads(aspect.value) for aspect in stored.get(str(urn), ())
                }
                for urn in Urn.parse_all(lacking)
            }
        )

    def _verdicts_of(self, values: Mapping[Urn, dict[str, Any]]) -> dict[str, _Verdict]:
        """Return the verdicts on entities with these aspects."""
        documents: list[Document] = []
        for urn, aspects in values.items():
            platform = platform_of(urn)
            if platform is not None:
                aspects.setdefault("dataPlatformInstance", {"platform": platform})
            if urn.entity_type in self._registry.entities:
                with suppress(InvalidUrn):
                    documents.append(build_document(self._registry, urn, aspects))
        document_urns = {document.urn for document in documents}
        searches = [alternative.search for alternative in self._alternatives]
        passing = self._index.matching_documents(documents, searches)
        return {
            str(urn): tuple(str(urn) in urns for urns in passing)
            if str(urn) in document_urns
            else ()
            for urn in values
        }


def find_removed(store: Store, urns: Sequence[str]) -> set[str]:
    """Return which of the URNs are soft-deleted; about 10 µs each."""
    stored = store.aspects(urns, (_STATUS,))
    return {urn for urn, aspects in stored.items() if is_removed(aspects)}


def platform_of(urn: Urn) -> str | None:
    """Return the URN of the platform in a URN's key, None if there is none."""
    platform = None if urn.entity_type in _NAMESPACED else urn.platform
    return str(Urn.of("dataPlatform", platform)) if platform else None


def _has_degree(criterion: Criterion, degree: int) -> bool:
    is_within = any(first <= degree <= last for first, last in _degrees(criterion))
    return is_within != criterion.negated


def _degrees(criterion: Criterion) -> list[tuple[int, int]]:
    """Return the ranges of hops, both ends included, that a criterion names if it is not negated.

    Raises `InvalidInput` for values that are no degrees, and for conditions on parts of a text.
    """
    condition = criterion.condition
    ranges = [_degree(value) for value in criterion.values]
    match condition:
        case "EXISTS":
            return [(0, EVERY_HOP)]
        case "IS_NULL":
            return []
        case "EQUAL" | "IEQUAL" | "IN":
            return ranges
        case "GREATER_THAN":
            return [(first + 1, EVERY_HOP) for first, _ in ranges]
        case "GREATER_THAN_OR_EQUAL_TO":
            return [(first, EVERY_HOP) for first, _ in ranges]
        case "LESS_THAN":
            return [(0, first - 1) for first, _ in ranges]
        case "LESS_THAN_OR_EQUAL_TO":
            return [(0, last) for _, last in ranges]
        case "BETWEEN" if len(ranges) == 2:
            return [(ranges[0][0], ranges[1][1])]
        case "BETWEEN":
            raise InvalidInput("BETWEEN on degree takes two values, the lower first")
    raise InvalidInput(f"'degree' is a number of hops, and cannot be compared by {condition}")


def _degree(value: str) -> tuple[int, int]:
    number, more = value.removesuffix("+"), value.endswith("+")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise InvalidInput(f"'degree' must be a number of hops such as 1, 2 or 3+, not {value!r}")
    return int(number), EVERY_HOP if more else int(number)


N = TypeVar("N", int, str)
# The form of the lineage of a column: `columns` alone; the columns and the jobs and queries that
# carry data between them (`via`); or the same with the entity that each column belongs to in its
# place (`owners`).
ColumnForm = Literal["columns", "via", "owners"]

PATHS_EACH = 100
# The paths of one answer have at most this many nodes in all; where this cuts the paths of an
# entity, its `paths_complete` is false.
_PATH_NODES = 100_000
_NAMED_AT_ONCE = 5_000
_LIMITS = LineageLimits()


@dataclass(frozen=True, slots=True)
class LineageQuestion:
    """A lineage query: all entities upstream or downstream of `urn`, within `limits`, that match
    `filter`. The answer is a page of `count` entities, beginning with number `start`.

    Entities that exist only as the target of a reference are left out unless `include_missing` is
    set, soft-deleted ones unless `include_removed` is set; lineage is still followed through them.
    For both, a column counts like its dataset. With `candidates`, `LineageResults.candidates` is
    filled. `columns` selects the form of the results if `urn` is a column; paths always name the
    columns.
    """

    urn: Urn
    upstream: bool
    start: int = 0
    count: int = 100
    limits: LineageLimits = _LIMITS
    filter: LineageFilter | None = None
    candidates: bool = False
    include_missing: bool = True
    include_removed: bool = True
    columns: ColumnForm = "columns"


@dataclass(frozen=True, slots=True)
class ReachedEntity:
    """A reached entity.

    `degree` is the length of the shortest path, `degrees` holds every distance at which the walk
    met the entity, `types` the relationships of the last edges of the shortest paths. `paths` are
    the shortest paths from the start, both ends included, at most 100; `paths_complete` is false
    if there are more. `explored` is false if the walk did not follow the edges that lead on from
    the entity; `has_more` is true if that was because of a limit other than the requested number
    of hops. `removed` means soft-deleted. `exists` is false if the entity is only referenced.
    """

    urn: str
    entity_type: str
    exists: bool
    removed: bool
    degree: int
    degrees: tuple[int, ...]
    types: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    paths_complete: bool
    explored: bool
    has_more: bool


@dataclass(frozen=True, slots=True)
class LineageResults:
    """A page of reached entities, nearest first. Those at the same distance are in the order in
    which the catalog first saw them, columns in the order of their URNs.

    `truncated` says in a few words why the answer is incomplete; it is None if the answer is
    complete. `candidates` holds every entity of the answer, regardless of the page; it is empty
    unless requested. `filtered` counts the entities left out because they are missing or removed.
    """

    total: int
    reached: tuple[ReachedEntity, ...]
    truncated: str | None = None
    candidates: tuple[Candidate, ...] = ()
    filtered: int = 0


class LineageService:
    """Answers lineage queries on a catalog: over entities, or over columns if the URN is that of a
    schema field."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self.registry = registry

    def answer(self, question: LineageQuestion) -> LineageResults:
        """Return one page of the lineage that a query reaches. A URN that the store does not know
        has no lineage.

        Takes one query per hop and a few for the page, about 3 µs per edge walked, and the time of
        the filter (see `LineageFilter.choose`). Never raises because of the content of the catalog.
        """
        urn = str(question.urn)
        if is_column(urn):
            columns = ColumnGraph(self._store, upstream=question.upstream)
            if question.columns != "columns":
                return self._answer_with_via(question, urn, columns)
            return self._answer(question, urn, columns)
        handle = self._store.handles([urn]).get(urn)
        if handle is None:
            return LineageResults(0, ())
        return self._answer(question, handle, Tables(self._store, upstream=question.upstream))

    def lists(
        self,
        question: LineageQuestion,
        find_removed: Callable[[Sequence[str]], Collection[str]] | None = None,
    ) -> LineageLists:
        """Return everything reached and every edge as lists, without paths. The requested page and
        filter are ignored.

        Takes one query per hop and one per 1,000 names or so. `find_removed` returns which URNs
        are soft-deleted, for callers that know it without reading the status of each.
        """
        urn, find = str(question.urn), find_removed or self.find_removed
        if is_column(urn):
            columns = ColumnGraph(self._store, upstream=question.upstream)
            return self._list(question, urn, columns, find)
        handle = self._store.handles([urn]).get(urn)
        if handle is None:
            return LineageLists([urn], [0], [], [], [], [], [0], [])
        return self._list(question, handle, Tables(self._store, upstream=question.upstream), find)

    def _list(
        self,
        question: LineageQuestion,
        start: N,
        graph: "_NamedGraph[N]",
        find_removed: Callable[[Sequence[str]], Collection[str]],
    ) -> LineageLists:
        walked, limits = _walk(question, start, graph)
        entities_by_node = _find_entities(graph, list(walked.degrees))
        return list_lineage(
            walked,
            entities_by_node,
            find_removed,
            upstream=question.upstream,
            truncated=_why(walked.truncated, limits, looked_at_all=True),
        )

    def _answer(
        self, question: LineageQuestion, start: N, graph: "_NamedGraph[N]"
    ) -> LineageResults:
        filter = question.filter
        walked, limits = _walk(question, start, graph)
        nodes = walked.reached_nodes()
        candidates: list[Candidate] = []
        looked_at_all = True
        hides = not (question.include_missing and question.include_removed)
        if filter is not None or question.candidates or hides:
            candidates = _candidates(walked, _find_entities(graph, nodes))
        if filter is not None:
            matches, looked_at_all = self._choose(question, candidates, limits)
            nodes, candidates = list(compress(nodes, matches)), list(compress(candidates, matches))
        count_before = len(nodes)
        if hides:
            visible = self._find_visible(question, candidates)
            nodes, candidates = list(compress(nodes, visible)), list(compress(candidates, visible))
        page = nodes[question.start : question.start + question.count]
        reached = self._fill_in(walked, page, graph)
        return LineageResults(
            len(nodes),
            reached,
            _why(walked.truncated, limits, looked_at_all=looked_at_all),
            tuple(candidates) if question.candidates else (),
            count_before - len(nodes),
        )

    def _answer_with_via(
        self, question: LineageQuestion, start: str, graph: ColumnGraph
    ) -> LineageResults:
        walked, limits = _walk(question, start, graph)
        visits = _collect_visits(walked, graph, owners=question.columns == "owners")
        stored = self._store.existing(sorted({owner_of(visit.urn) for visit in visits}))
        entities = graph.entities_of([visit.urn for visit in visits if is_column(visit.urn)])
        candidates = [
            Candidate(
                visit.urn,
                visit.entity_type,
                visit.degree,
                entities[visit.urn].exists if visit.urn in entities else visit.urn in stored,
            )
            for visit in visits
        ]
        matches, looked_at_all = self._choose(question, candidates, limits)
        visits, candidates = list(compress(visits, matches)), list(compress(candidates, matches))
        # The visits of each entity, one for each of its columns, nearest first.
        groups: dict[str, list[_Visit]] = {}
        first: dict[str, Candidate] = {}
        for visit, candidate in zip(visits, candidates, strict=True):
            groups.setdefault(visit.urn, []).append(visit)
            first.setdefault(visit.urn, candidate)
        visible = self._find_visible(question, list(first.values()))
        visible_candidates = list(compress(first.values(), visible))
        page = visible_candidates[question.start : question.start + question.count]
        return LineageResults(
            len(visible_candidates),
            self._fill_in_with_via(walked, page, groups, graph),
            _why(walked.truncated, limits, looked_at_all=looked_at_all),
            tuple(visible_candidates) if question.candidates else (),
            len(first) - len(visible_candidates),
        )

    def _fill_in_with_via(
        self,
        walked: WalkResult[str],
        page: Sequence[Candidate],
        groups: "Mapping[str, Sequence[_Visit]]",
        graph: ColumnGraph,
    ) -> tuple[ReachedEntity, ...]:
        ends = {visit.column for candidate in page for visit in groups[candidate.urn]}
        trace = walked.trace(sorted(ends - {walked.start}))
        removed = self.find_removed([candidate.urn for candidate in page])
        room, reached = _PATH_NODES, []
        for candidate in page:
            members = groups[candidate.urn]
            most = max(0, min(PATHS_EACH, room // (2 * candidate.degree + 1)))
            paths: dict[tuple[str, ...], None] = {}
            degrees, types = {member.degree for member in members}, {"DownstreamOf"}
            for member in members:
                for path in trace.paths(member.column, most + 1):
                    tail = (member.urn,) if member.is_via else ()
                    for columns in graph.expand_path(path, most + 1):
                        paths[*columns, *tail] = None
                if not member.is_via:
                    degrees |= trace.met[member.column]
                if len(paths) > most:
                    break
            room -= sum(map(len, paths))
            explored = all(member.is_via or walked.is_explored(member.column) for member in members)
            reached.append(
                ReachedEntity(
                    urn=candidate.urn,
                    entity_type=candidate.entity_type,
                    exists=candidate.exists,
                    removed=candidate.urn in removed,
                    degree=candidate.degree,
                    degrees=tuple(sorted(degrees)),
                    types=tuple(types),
                    paths=tuple(islice(paths, most)),
                    paths_complete=len(paths) <= most,
                    explored=explored,
                    has_more=walked.truncated is not None and not explored,
                )
            )
        return tuple(reached)

    def _choose(
        self, question: LineageQuestion, candidates: Sequence[Candidate], limits: LineageLimits
    ) -> tuple[list[bool], bool]:
        """Return which candidates the filter accepts, and whether it checked all of them."""
        if question.filter is None:
            return [True] * len(candidates), True
        return question.filter.choose(self._store, candidates, limits.seconds)

    def _find_visible(
        self, question: LineageQuestion, candidates: Sequence[Candidate]
    ) -> list[bool]:
        """Return which entities the answer shows: missing and removed ones only if the query
        includes them."""
        tables = [parent_of(candidate.urn) or candidate.urn for candidate in candidates]
        visible = [True] * len(candidates)
        if not question.include_missing:
            columns = [
                t for t, candidate in zip(tables, candidates, strict=True) if t != candidate.urn
            ]
            stored = self._store.existing(sorted(set(columns)))
            visible = [
                candidate.exists if table == candidate.urn else table in stored
                for table, candidate in zip(tables, candidates, strict=True)
            ]
        if not question.include_removed:
            removed = self.find_removed(sorted(set(compress(tables, visible))))
            visible = [
                is_shown and t not in removed for is_shown, t in zip(visible, tables, strict=True)
            ]
        return visible

    def _fill_in(
        self, walked: WalkResult[N], page: Sequence[N], graph: "_NamedGraph[N]"
    ) -> tuple[ReachedEntity, ...]:
        trace = walked.trace(page)
        paths: dict[N, list[tuple[N, ...]]] = {}
        room = _PATH_NODES
        complete: dict[N, bool] = {}
        for node in page:
            length = walked.degrees[node] + 1
            most = min(PATHS_EACH, room // length)
            node_paths = trace.paths(node, most + 1)
            paths[node], complete[node] = node_paths[:most], len(node_paths) <= most
            room -= length * len(paths[node])
        entities_by_node = _find_entities(
            graph, sorted({node for path in paths.values() for p in path for node in p})
        )
        entities_by_node |= _find_entities(
            graph, [node for node in page if node not in entities_by_node]
        )
        removed = self.find_removed([entities_by_node[node].urn for node in page])
        return tuple(
            ReachedEntity(
                urn=entities_by_node[node].urn,
                entity_type=entities_by_node[node].entity_type,
                exists=entities_by_node[node].exists,
                removed=entities_by_node[node].urn in removed,
                degree=walked.degrees[node],
                degrees=tuple(sorted(trace.met[node])),
                types=tuple(trace.relationships(node)),
                paths=tuple(
                    tuple(entities_by_node[step].urn for step in path) for path in paths[node]
                ),
                paths_complete=complete[node],
                explored=walked.is_explored(node),
                has_more=walked.truncated is not None and not walked.is_explored(node),
            )
            for node in page
        )

    def find_removed(self, urns: Sequence[str]) -> set[str]:
        """Return which of the URNs are soft-deleted; about 10 µs each."""
        return find_removed(self._store, urns)


@dataclass(frozen=True, slots=True)
class _Visit:
    """An entity or column that a walk over columns met, and its distance in hops. `column` is the
    column itself or one of the entity's columns; for a job or query that carries data (`is_via`),
    it is the end of the edge that is nearer to the start."""

    urn: str
    degree: int
    column: str
    is_via: bool = False

    @property
    def entity_type(self) -> str:
        return self.urn.split(":", 3)[2]


def _collect_visits(walked: WalkResult[str], graph: ColumnGraph, *, owners: bool) -> list[_Visit]:
    """Return the entities and columns that the walk met, nearest first, then by URN. A job or query
    that carries data counts at the distance at which it was first met."""
    visits = [
        _Visit(owner_of(column) if owners else column, walked.degrees[column], column)
        for column in walked.reached_nodes()
    ]
    met_vias: set[str] = set()
    for degree, level in enumerate(walked.levels, 1):
        carriers = {
            (via, near): None
            for near, far, _ in level
            if walked.degrees.get(far) == degree
            for via in graph.vias(near, far)
            if via is not None and via not in met_vias
        }
        visits += [_Visit(via, degree, near, is_via=True) for via, near in carriers]
        met_vias.update(via for via, _ in carriers)
    return sorted(visits, key=lambda visit: (visit.degree, visit.urn, visit.column))


class _NamedGraph(Graph[N], Protocol[N]):
    """A graph that knows the URNs of its nodes."""

    def entities_of(self, nodes: Sequence[N]) -> dict[N, WalkedEntity]: ...


def _walk(
    question: LineageQuestion, start: N, graph: Graph[N]
) -> tuple[WalkResult[N], LineageLimits]:
    """Run the walk that answers a query; return its result, and the limits it was given."""
    limits, filter = question.limits, question.filter
    if filter is not None and filter.furthest < limits.hops:
        limits = LineageLimits(filter.furthest, limits.nodes, limits.edges, limits.seconds)
    return walk(start, graph, limits), limits


def _candidates(walked: WalkResult[N], entities: Mapping[N, WalkedEntity]) -> list[Candidate]:
    return [
        Candidate(
            entities[node].urn,
            entities[node].entity_type,
            walked.degrees[node],
            entities[node].exists,
        )
        for node in walked.reached_nodes()
    ]


@lru_cache(maxsize=64)
def _verdict_cache(
    vocabulary: Vocabulary, searches: tuple[ResolvedSearch, ...]
) -> dict[_Alike, _Verdict | None]:
    """Return the cache of verdicts for these searches. The same searches get the same dictionary,
    so later queries reuse the verdicts of earlier ones."""
    del vocabulary, searches
    return {}


def _find_entities(graph: _NamedGraph[N], nodes: Sequence[N]) -> dict[N, WalkedEntity]:
    entities: dict[N, WalkedEntity] = {}
    for start in range(0, len(nodes), _NAMED_AT_ONCE):
        entities |= graph.entities_of(nodes[start : start + _NAMED_AT_ONCE])
    return entities


def _why(
    truncation: Truncation | None, limits: LineageLimits, *, looked_at_all: bool
) -> str | None:
    match truncation:
        case "nodes":
            return f"the walk stopped after the nearest {limits.nodes} entities"
        case "edges":
            return f"the walk stopped after the nearest {limits.edges} edges"
        case "time":
            return f"the walk stopped after {limits.seconds:g} seconds"
    if not looked_at_all:
        return f"the filter stopped after {limits.seconds:g} seconds, nearest entities first"
    return None
