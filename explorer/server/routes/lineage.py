"""Endpoints for lineage over any number of hops, and for the edges of one entity."""

from collections.abc import Collection, Sequence
from typing import Any, get_args

import orjson
from starlette.responses import Response

from explorer.errors import Busy, InvalidInput, ServerFault
from explorer.query.filters import Criterion, all_of
from explorer.server.catalog import CatalogEngine
from explorer.server.lineage import LineageQuestion, LineageService, ReachedEntity
from explorer.server.lineage_graph import EVERY_HOP, MOST, LineageLimits
from explorer.server.restli import (
    EXAMPLE_URN,
    MAX_PAGE,
    Endpoint,
    JsonResponse,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.search.fields import REMOVED
from explorer.server.search.query import SearchQuery
from explorer.server.store import Direction, Neighbour

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_PAGE = 1_000


def _parameters(types: str, default: str, *, is_required: bool) -> tuple[Parameter, ...]:
    return (
        Parameter("urn", "URN", "the entity, percent-encoded", EXAMPLE_URN, place="query"),
        Parameter("direction", "string", "INCOMING or OUTGOING", "OUTGOING", place="query"),
        Parameter(
            types,
            "array of strings",
            "names of relationships",
            "OwnedBy",
            place="query",
            required=is_required,
        ),
        Parameter.query("start", "integer", "how many to skip; 0 by default"),
        Parameter.query("count", "integer", f"how many at most; {default} by default"),
    )


class RelationshipRoutes(Routes):
    """The endpoints `/relationships` and `/openapi/relationships/v1`, which read edges."""

    @Endpoint(
        "GET",
        "/relationships",
        "the entities on the other side of an entity's relationships",
        role="reader",
        parameters=_parameters("types", "all of them, up to 10000", is_required=True),
        gives="entities: URNs without duplicates; start, count (of this page), total, and "
        "relationships {entity, type}",
        notes=(
            "OUTGOING edges are declared by the entity's own aspects, INCOMING edges by the "
            "aspects of other entities.",
            "Give several types by repeating the parameter, or as List(OwnedBy,TaggedWith); "
            "List() means all. An unknown type has no edges.",
            "Edges of soft-deleted entities are included.",
        ),
    )
    async def _relationships(self, request: RestliRequest) -> Response:
        types = request.query.many("types")
        if types is None or types == [""]:
            raise InvalidInput("the query parameter 'types' is required, such as types=OwnedBy")
        start, total, edges = await self._read(request, types, MAX_PAGE)
        return JsonResponse(
            {
                "start": start,
                "count": len(edges),
                "total": total,
                "entities": list(dict.fromkeys(edge.urn for edge in edges)),
                "relationships": [
                    {"entity": edge.urn, "type": edge.relationship} for edge in edges
                ],
            }
        )

    @Endpoint(
        "GET",
        "/openapi/relationships/v1",
        "an entity's relationships, page by page",
        role="reader",
        parameters=_parameters("relationshipTypes", "1000", is_required=False),
        gives="start, count (of this page), total, entities {urn, relationshipType}",
        notes=("To read all pages, repeat with start increased by count until count is 0.",),
    )
    async def _list_related(self, request: RestliRequest) -> Response:
        types = request.query.many("relationshipTypes") or []
        start, total, edges = await self._read(request, [type_ for type_ in types if type_], _PAGE)
        return JsonResponse(
            {
                "start": start,
                "count": len(edges),
                "total": total,
                "entities": [
                    {"urn": edge.urn, "relationshipType": edge.relationship} for edge in edges
                ],
            }
        )

    async def _read(
        self, request: RestliRequest, types: list[str], most: int
    ) -> tuple[int, int, list[Neighbour]]:
        query = request.query
        urn = self._catalog.intake.read_urn(query.require("urn"))
        direction = _direction(query.require("direction"))
        start = query.number("start", 0)
        count = min(query.number("count", most), MAX_PAGE)
        total, edges = await self._catalog.read(
            self._catalog.store.edges,
            [str(urn)],
            direction,
            list(dict.fromkeys(types)),
            start,
            count,
        )
        return start, total, edges


def _direction(text: str) -> Direction:
    for direction in _DIRECTIONS:
        if text == direction:
            return direction
    raise InvalidInput(f"'direction' must be {' or '.join(_DIRECTIONS)}, not {text!r}")


_DEFAULT_COUNT = 100
_USUAL = LineageLimits()
_READ_ONE_BY_ONE = 500
_EVERY_REMOVED = SearchQuery(
    text="",
    entity_types=None,
    filter=all_of(Criterion(REMOVED, ("true",))),
    start=0,
    count=0,
    facets=False,
    include_removed=True,
)
# Most edges are declared by the entity that data flows into, so they point upstream.
_UPSTREAM = {"UPSTREAM": True, "DOWNSTREAM": False, "OUTGOING": True, "INCOMING": False}


class LineageRoutes(Routes):
    """The endpoint of `/relationships` that follows lineage."""

    def __init__(self, catalog: CatalogEngine) -> None:
        super().__init__(catalog)
        self._lineage = LineageService(catalog.store, catalog.registry)

    @Endpoint(
        "POST",
        "/relationships",
        "return the upstream or downstream lineage of an entity, over any number of hops",
        role="reader",
        action="getLineage",
        parameters=(
            Parameter(
                "urn", "URN", "the URN of an entity, or of a column (schemaField)", EXAMPLE_URN
            ),
            Parameter(
                "direction",
                "string",
                "UPSTREAM (also OUTGOING) or DOWNSTREAM (also INCOMING)",
                "DOWNSTREAM",
            ),
            Parameter.optional("start", "integer", "how many entries to skip; 0 by default", 0),
            Parameter.optional("count", "integer", "how many entries at most; 100 by default", 100),
            Parameter.optional(
                "maxHops", "integer", "how many hops to follow, from 1 up; 1 by default", 3
            ),
            Parameter.optional(
                "includeGhostEntities",
                "boolean",
                "whether to return entities that were never stored; true by default for plain "
                "callers, false for DataHub's clients",
                False,
            ),
            Parameter.optional(
                "includeSoftDelete",
                "boolean",
                "whether to return soft-deleted entities; true by default for plain callers, "
                "false for DataHub's clients",
                False,
            ),
            Parameter.optional(
                "form",
                "string",
                "`entries`, or `lists` for everything at once without paths, which is the "
                "fastest form for large answers; `entries` by default",
                "lists",
            ),
            Parameter.optional(
                "maxEntities",
                "integer",
                f"how many entities to visit at most; {_USUAL.nodes} by default, {MOST.nodes} at "
                "most",
                1000,
            ),
            Parameter.optional(
                "maxEdges",
                "integer",
                f"how many edges to follow at most; {_USUAL.edges} by default, {MOST.edges} at "
                "most",
                10000,
            ),
            Parameter.optional(
                "maxMillis",
                "integer",
                f"how many milliseconds the walk may take; {_USUAL.seconds * 1000:.0f} by "
                f"default, {MOST.seconds * 1000:.0f} at most",
                5000,
            ),
        ),
        gives="`value` with `start`, `count` (entries of this page), `total` (distinct entities), "
        "`filtered` (how many were left out because they were never stored or are "
        "soft-deleted) and `relationships`: each with the `entity`, the `type` of the "
        "relationship at the end of the shortest path (all types in `types`), its `degree`, "
        "all `degrees` at which it was reached, its `paths` from the start, whether it "
        "`exists` and whether it is `removed`. `truncated` gives the reason if the walk ended "
        "early. In the form `lists`: the URNs in `entities`, the start first, then nearest "
        "first, and `degrees` in the same order; `upstream`, `downstream` and `types` have "
        "one number for each edge: the positions of its ends in `entities`, and of its type "
        "in `names`; `missing` has the positions in `entities` of entities that do not "
        "exist, `removed` those of soft-deleted entities; `total` and `truncated` are as "
        "above, and there are no pages",
        notes=(
            "OUTGOING and INCOMING have the meaning that they have for the edges of this "
            "resource: most edges are declared by the downstream entity, so OUTGOING is UPSTREAM",
            "every relationship that the registry marks as lineage is followed, in the direction "
            "of the data; a job between two datasets makes them two hops apart",
            "entities that were never stored are reached and have `exists` false; soft-deleted "
            "ones are followed and have `removed` true, unless the parameters exclude them; "
            "`lists` always include both, and mark them",
            (
                "entries are sorted nearest first; those at the same distance in the order "
                "in which the catalog first saw them"
            ),
            "`paths` are the shortest paths, at most 100 for each entity; `pathsTruncated` is "
            "present if there are more, and paths are left out once those of an answer name "
            "100000 entities",
            (
                "a walk that reaches a limit stops there, nearest entities first, and sets "
                "`truncated`"
            ),
            "a URN that the catalog does not know has no lineage",
        ),
    )
    async def _get_lineage(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        question = self._question(parameters, leaves_out=request.dialect == "datahub")
        if _reads_lists(parameters):
            return JsonResponse(await self._catalog.read(self._lists, question))
        answer = await self._catalog.read(self._lineage.answer, question)
        value: dict[str, Any] = {
            "start": question.start,
            "count": len(answer.reached),
            "total": answer.total,
            "filtered": answer.filtered,
            "relationships": [_entry(entity) for entity in answer.reached],
        }
        if answer.truncated is not None:
            value["truncated"] = answer.truncated
        return ValueResponse(value)

    def _lists(self, question: LineageQuestion) -> bytes:
        lists = self._lineage.lists(question, self._soft_deletions)
        value: dict[str, Any] = {
            "total": len(lists.entities) - 1,
            "entities": lists.entities,
            "degrees": lists.degrees,
            "upstream": lists.upstream,
            "downstream": lists.downstream,
            "types": lists.relationships,
            "names": lists.names,
            "missing": lists.missing,
            "removed": lists.removed,
        }
        if lists.truncated is not None:
            value["truncated"] = lists.truncated
        return orjson.dumps({"value": value})

    def _soft_deletions(self, urns: Sequence[str]) -> Collection[str]:
        """Return the soft-deleted entities among the URNs.

        For more than 500 URNs this returns all soft-deleted entities, from the search index, which
        is faster than the store; the store is read if the index cannot answer.
        """
        if len(urns) <= _READ_ONE_BY_ONE:
            return self._lineage.find_removed(urns)
        try:
            return self._catalog.index.find_urns(_EVERY_REMOVED)
        except (Busy, ServerFault):
            return self._lineage.find_removed(urns)

    def _question(self, parameters: Parameters, *, leaves_out: bool) -> LineageQuestion:
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        direction = parameters.text("direction")
        if direction not in _UPSTREAM:
            raise InvalidInput(
                f"'direction' must be one of {', '.join(_UPSTREAM)}, not {direction!r}; OUTGOING "
                "is UPSTREAM"
            )
        hops = parameters.count("maxHops", 1, EVERY_HOP)
        if hops == 0:
            raise InvalidInput("'maxHops' must be a number of hops from 1 up")
        return LineageQuestion(
            urn=urn,
            upstream=_UPSTREAM[direction],
            start=parameters.start(),
            count=parameters.count("count", _DEFAULT_COUNT, MAX_PAGE),
            limits=_limits(parameters, hops),
            include_missing=parameters.flag("includeGhostEntities", default=not leaves_out),
            include_removed=parameters.flag("includeSoftDelete", default=not leaves_out),
        )


def _reads_lists(parameters: Parameters) -> bool:
    form = parameters.optional_text("form") or "entries"
    if form not in ("entries", "lists"):
        raise InvalidInput(f"'form' must be entries or lists, not {form!r}")
    return form == "lists"


def _limits(parameters: Parameters, hops: int) -> LineageLimits:
    usual_millis, most_millis = round(_USUAL.seconds * 1000), round(MOST.seconds * 1000)
    return LineageLimits(
        hops,
        parameters.count("maxEntities", _USUAL.nodes, MOST.nodes),
        parameters.count("maxEdges", _USUAL.edges, MOST.edges),
        parameters.count("maxMillis", usual_millis, most_millis) / 1000,
    )


def _entry(reached: ReachedEntity) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "entity": reached.urn,
        "type": reached.types[0],
        "types": reached.types,
        "degree": reached.degree,
        "degrees": reached.degrees,
        "paths": reached.paths,
        "exists": reached.exists,
        "removed": reached.removed,
    }
    if not reached.paths_complete:
        entry["pathsTruncated"] = True
    return entry
