"""Resolvers for lineage: the searches across it, and the fields `lineage` and `relationships` of
entities."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from explorer.errors import InvalidInput, InvalidUrn, NotFound
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.graphql.object_types import entity_type_symbol, symbols
from explorer.server.graphql.schema import Resolvers
from explorer.server.graphql.search import Given, input_filter, page_bounds, read_types
from explorer.server.graphql.session import EditTransaction, Info, Node
from explorer.server.lineage import (
    DEGREE,
    Candidate,
    ColumnForm,
    LineageFilter,
    LineageQuestion,
    LineageResults,
    LineageService,
    ReachedEntity,
    platform_of,
)
from explorer.server.lineage_graph import LineageLimits
from explorer.server.search.fields import REMOVED
from explorer.server.search.parser import names_field
from explorer.server.store import Store


class Stamps(Struct, frozen=True):
    """The audit stamps of a lineage edge. Times are milliseconds since 1970 (UTC); anything that
    the edge lacks is None."""

    created_millis: int | None = None
    created_by: str | None = None
    updated_millis: int | None = None
    updated_by: str | None = None
    is_manual: bool | None = None

    def is_within(self, start_millis: int | None, end_millis: int | None) -> bool:
        """Return whether the edge was last changed within a time range, both ends inclusive. True
        for an edge without times."""
        changed = self.updated_millis or self.created_millis
        if changed is None:
            return True
        after = start_millis is None or changed >= start_millis
        return after and (end_millis is None or changed <= end_millis)


NO_STAMPS = Stamps()


def read_stamps(
    store: Store, registry: Registry, urn: str, other_urns: Sequence[str]
) -> dict[str, Stamps]:
    """Return the audit stamps of the edges between an entity and others, by the other's URN.

    Either side may declare the edge, so the lineage aspects of both are read; takes one query per
    few hundred entities.
    """
    aspects = sorted(
        name
        for name, aspect in registry.aspects.items()
        if any(edge.lineage for edge in aspect.relationships)
    )
    stored = store.aspects(list(dict.fromkeys((urn, *other_urns))), aspects)
    neighbours = set(other_urns)
    stamps_by_urn: dict[str, Stamps] = {}
    for declaring, values in stored.items():
        for value in values:
            for target, edge in _edges(orjson.loads(value.value)):
                neighbour = target if declaring == urn else declaring if target == urn else None
                if neighbour in neighbours and neighbour is not None:
                    stamps_by_urn[neighbour] = _stamps(edge)
    return stamps_by_urn


def _edges(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the edges of an aspect that are records, each with the URN it points at."""
    for entries in value.values():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                target = entry.get("destinationUrn") or entry.get("dataset")
                if isinstance(target, str):
                    yield target, entry


def _stamps(edge: Mapping[str, Any]) -> Stamps:
    created, updated = edge.get("created"), edge.get("lastModified") or edge.get("auditStamp")
    source = (edge.get("properties") or {}).get("source")
    return Stamps(
        *_stamp(created), *_stamp(updated), source == "UI" if source is not None else None
    )


def _stamp(stamp: Any) -> tuple[int | None, str | None]:
    # Writers that do not know the time write 0.
    if not isinstance(stamp, dict) or not stamp.get("time"):
        return None, None
    return stamp["time"], stamp.get("actor")


_ONE_HOP_COUNT = 100
# A count larger than any catalog.
_ALL = 2**31
_ENTITY_TYPE = "_entityType"
_BEYOND = 3
# The entity type that DataHub leaves out of results unless it is named: queries carry data between
# columns, so they occur in paths.
_TRANSIENT = "query"


async def _search_across_lineage(_root: Any, info: Info, **given: Any) -> dict[str, Any]:
    arguments: Given = given["input"]
    start, count = page_bounds(arguments)
    answer = await _across(info, arguments, (start, count), _column_form(arguments, info))
    return {"start": start, **_results(answer)}


async def _scroll_across_lineage(_root: Any, info: Info, **given: Any) -> dict[str, Any]:
    arguments: Given = given["input"]
    start = _parse_scroll(arguments.get("scrollId"))
    _, count = page_bounds(arguments)
    # DataHub's scroll ignores the `groupingSpec`, which its SDK always sends.
    form: ColumnForm = "owners" if info.context.dialect == "datahub" else "columns"
    answer = await _across(info, arguments, (start, count), form)
    end = start + len(answer.reached)
    more = len(answer.reached) > 0 and end < answer.total
    return {"nextScrollId": str(end) if more else None, **_results(answer)}


def _column_form(arguments: Given, info: Info) -> ColumnForm:
    """Return the form in which the lineage of a column is answered. In the plain dialect it is
    columns; in DataHub's the entities of the columns, unless the request has a `groupingSpec` that
    does not group schema fields by dataset."""
    if info.context.dialect == "plain":
        return "columns"
    spec = (arguments.get("searchFlags") or {}).get("groupingSpec")
    if spec is None:
        return "owners"
    criteria = spec.get("groupingCriteria") or ()
    ends = {
        (criterion.get("baseEntityType"), criterion.get("groupingEntityType"))
        for criterion in criteria
    }
    return "owners" if ("SCHEMA_FIELD", "DATASET") in ends else "via"


async def _across(
    info: Info, arguments: Given, bounds: tuple[int, int], form: ColumnForm
) -> LineageResults:
    catalog = info.context.catalog
    lineage = LineageService(catalog.store, catalog.registry)
    names = symbols(catalog.registry)
    flags: Given = arguments.get("searchFlags") or {}
    text = (arguments.get("query") or "").strip()
    start, count = bounds
    condition = await input_filter(arguments, names, (), info.context, (DEGREE,))
    # An edge may lead to an entity of an unknown type, which has no symbol in the schema.
    types = read_types(arguments, names) or [
        name for name in catalog.registry.entities if form == "columns" or name != _TRANSIENT
    ]
    question = LineageQuestion(
        urn=catalog.intake.read_urn(arguments["urn"]),
        upstream=arguments["direction"] == "UPSTREAM",
        start=start,
        count=count,
        filter=LineageFilter(
            catalog.registry,
            catalog.index,
            types=types,
            text="" if text == "*" else text,
            filter=condition,
        ),
        candidates=not flags.get("skipAggregates"),
        include_missing=arguments.get("includeGhostEntities") is True,
        include_removed=(
            flags.get("includeSoftDeleted") is True
            or arguments.get("includeSoftDelete") is True
            or names_field(condition, REMOVED)
        ),
        columns=form,
    )
    return await catalog.read(lineage.answer, question)


def _results(answer: LineageResults) -> dict[str, Any]:
    return {
        "count": len(answer.reached),
        "total": answer.total,
        "filtered": answer.filtered,
        "searchResults": answer.reached,
        "facets": lambda _info: _facets(answer.candidates),
        "isPartial": answer.truncated is not None,
        "truncated": answer.truncated,
    }


def _facets(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    degrees = Counter(_degree_value(candidate.degree) for candidate in candidates)
    types = Counter(entity_type_symbol(candidate.entity_type) for candidate in candidates)
    # The platform is in the first part of the key; parsing every URN would cost the most.
    alike = Counter(candidate.urn.partition(",")[0] for candidate in candidates)
    examples = {candidate.urn.partition(",")[0]: candidate.urn for candidate in candidates}
    platforms: Counter[str] = Counter()
    for beginning, count in alike.items():
        platform = _platform(examples[beginning])
        if platform is not None:
            platforms[platform] += count
    return [
        _facet("degree", "Degree of Dependencies", sorted(degrees.items())),
        _facet(_ENTITY_TYPE, "Type", types.most_common()),
        _facet("platform", "Platform", platforms.most_common()),
    ]


def _facet(field: str, label: str, counts: Sequence[tuple[str, int]]) -> dict[str, Any]:
    return {
        "field": field,
        "displayName": label,
        "aggregations": [
            {"value": value, "count": count, "entity": value} for value, count in counts
        ],
    }


def _degree_value(degree: int) -> str:
    return str(degree) if degree < _BEYOND else f"{_BEYOND}+"


def _platform(urn: str) -> str | None:
    try:
        return platform_of(Urn.parse(urn))
    except InvalidUrn:
        return None


def _result_entity(reached: ReachedEntity, info: Info) -> Any:
    return info.context.refer(reached.urn, info)


def _result_paths(reached: ReachedEntity, _info: Info) -> list[dict[str, Any]]:
    return [{"path": path} for path in reached.paths]


def _path(path: Given, info: Info) -> Any:
    return info.context.refer_all(path["path"], info)


async def _lineage(node: Node, info: Info, **given: Any) -> dict[str, Any]:
    arguments: Given = given["input"]
    catalog = info.context.catalog
    start, count = page_bounds(arguments, _ONE_HOP_COUNT)
    bounds = arguments.get("startTimeMillis"), arguments.get("endTimeMillis")
    timed = bounds != (None, None)
    question = LineageQuestion(
        urn=node.urn,
        upstream=arguments["direction"] == "UPSTREAM",
        start=0 if timed else start,
        count=_ALL if timed else count,
        limits=LineageLimits(hops=1),
        include_missing=arguments.get("includeGhostEntities") is True,
        include_removed=arguments.get("includeSoftDelete") is True,
        columns="via" if info.context.dialect == "datahub" else "columns",
    )
    answer = await catalog.read(
        LineageService(catalog.store, catalog.registry).answer,
        question,
    )
    reached = answer.reached
    stamps = await catalog.read(
        read_stamps,
        catalog.store,
        catalog.registry,
        str(node.urn),
        [entity.urn for entity in reached],
    )
    total = answer.total
    if timed:
        entities = [
            entity for entity in reached if stamps.get(entity.urn, NO_STAMPS).is_within(*bounds)
        ]
        total, reached = len(entities), tuple(entities[start : start + count])
    return {
        "start": start,
        "count": len(reached),
        "total": total,
        "filtered": answer.filtered + answer.total - total,
        "truncated": answer.truncated,
        "relationships": [
            _one_hop(entity, stamps.get(entity.urn, NO_STAMPS)) for entity in reached
        ],
    }


def _one_hop(reached: ReachedEntity, stamps: Stamps) -> dict[str, Any]:
    return {
        "type": reached.types[0],
        "entity": reached.urn,
        "degree": reached.degree,
        "paths": [{"path": path} for path in reached.paths],
        "createdOn": stamps.created_millis,
        "createdActor": stamps.created_by,
        "updatedOn": stamps.updated_millis,
        "updatedActor": stamps.updated_by,
        "isManual": stamps.is_manual,
    }


async def _relationships(node: Node, info: Info, **given: Any) -> dict[str, Any]:
    arguments: Given = given["input"]
    catalog = info.context.catalog
    start, count = page_bounds(arguments)
    direction = arguments["direction"]
    keeps_removed = arguments.get("includeSoftDelete") is not False
    total, edges = await catalog.read(
        catalog.store.edges,
        [str(node.urn)],
        direction,
        list(dict.fromkeys(arguments["types"])),
        start if keeps_removed else 0,
        count if keeps_removed else _ALL,
    )
    if not keeps_removed:
        nodes = await info.context.read(dict.fromkeys(edge.urn for edge in edges))
        removed = {str(node.urn) for node in nodes if node.is_removed}
        edges = [edge for edge in edges if edge.urn not in removed]
        total, edges = len(edges), edges[start : start + count]
    return {
        "start": start,
        "count": len(edges),
        "total": total,
        "relationships": [
            {"type": edge.relationship, "direction": direction, "entity": edge.urn}
            for edge in edges
        ],
    }


def _parse_scroll(scroll_id: str | None) -> int:
    if not scroll_id:
        return 0
    if not (scroll_id.isascii() and scroll_id.isdecimal() and len(scroll_id) < 10):
        raise InvalidInput(
            "the 'scrollId' is not one that was returned as a 'nextScrollId'; leave it out to "
            "start from the first page"
        )
    return int(scroll_id)


# By the types of the downstream and the upstream: the aspect that declares their edges, its field
# of edges, and that of plain URNs, which older clients write.
_EDGES = {
    ("dataset", "dataset"): ("upstreamLineage", "upstreams", None),
    ("dataset", "dataJob"): ("dataJobInputOutput", "outputDatasetEdges", "outputDatasets"),
    ("dataJob", "dataset"): ("dataJobInputOutput", "inputDatasetEdges", "inputDatasets"),
    ("dataJob", "dataJob"): ("dataJobInputOutput", "inputDatajobEdges", "inputDatajobs"),
    ("chart", "dataset"): ("chartInfo", "inputEdges", "inputs"),
    ("chart", "chart"): ("chartInfo", "inputEdges", "inputs"),
    ("dashboard", "dataset"): ("dashboardInfo", "datasetEdges", "datasets"),
    ("dashboard", "chart"): ("dashboardInfo", "chartEdges", "charts"),
}
_UPSTREAMS = (
    "datasets and jobs can be upstream of datasets and jobs, and datasets and charts of charts and "
    "dashboards"
)
# The required fields of an aspect that is created for an edge.
_EMPTY_LISTS: Mapping[str, Given] = {
    "upstreamLineage": {"upstreams": []},
    "dataJobInputOutput": {"inputDatasets": [], "outputDatasets": []},
}


def update_lineage(tx: EditTransaction, given: Given) -> None:
    """Add edges, then remove edges. An edge that exists is not added again; the removal of one that
    does not exist is ignored. The lineage of columns is not changed.

    Raises `NotFound` if an end of a new edge does not exist, and `InvalidInput` if DataHub's model
    has no lineage between the types of the two ends.
    """
    for edge in given["edgesToAdd"]:
        tx.stored_entity(edge["upstreamUrn"])
        _change_edge(tx, edge, add=True)
    for edge in given["edgesToRemove"]:
        _change_edge(tx, edge, add=False)


def _change_edge(tx: EditTransaction, edge: Given, *, add: bool) -> None:
    upstream, downstream = Urn.parse(edge["upstreamUrn"]), tx.stored_entity(edge["downstreamUrn"])
    kinds = (downstream.entity_type, upstream.entity_type)
    if kinds not in _EDGES:
        raise InvalidInput(f"{upstream} cannot be upstream of {downstream}: {_UPSTREAMS}")
    aspect, field, plain = _EDGES[kinds]
    # A job declares the datasets that it writes.
    by_upstream = kinds == ("dataset", "dataJob")
    holder, end = (upstream, str(downstream)) if by_upstream else (downstream, str(upstream))
    stored = tx.read(holder, aspect)
    if not stored and aspect not in _EMPTY_LISTS:
        raise NotFound(f"{holder} has no {aspect}, which declares its lineage; write it first")
    name = "destinationUrn" if plain else "dataset"
    part = {**_EMPTY_LISTS.get(aspect, {}), **stored}
    edges, urns = part.get(field) or [], part.get(plain) or [] if plain else []
    kept_edges = [edge for edge in edges if edge.get(name) != end]
    other_urns = [urn for urn in urns if urn not in (end, {"string": end})]
    if add and (kept_edges, other_urns) == (edges, urns):
        properties = {"source": "UI"}
        if plain:
            stamps = {"created": tx.stamp, "lastModified": tx.stamp}
            new = {"sourceUrn": str(holder), name: end, **stamps, "properties": properties}
        else:
            stamps = {"auditStamp": tx.stamp, "created": tx.stamp}
            new = {**stamps, name: end, "type": "TRANSFORMED", "properties": properties}
        part[field] = [*edges, new]
    elif not add and (kept_edges, other_urns) != (edges, urns):
        part |= {field: kept_edges} | ({plain: other_urns} if plain in part else {})
    else:
        return
    tx.write(holder, aspect, part)


RESOLVERS: Resolvers = {
    "Query": {
        "searchAcrossLineage": _search_across_lineage,
        "scrollAcrossLineage": _scroll_across_lineage,
    },
    "SearchAcrossLineageResult": {
        "entity": _result_entity,
        "paths": _result_paths,
        "pathsComplete": lambda reached, _info: reached.paths_complete,
        "truncatedChildren": lambda reached, _info: reached.has_more,
        "ignoredAsHop": lambda _reached, _info: False,
    },
    "EntityPath": {"path": _path},
    "Entity": {"relationships": _relationships, "lineage": _lineage},
}
