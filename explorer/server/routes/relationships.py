"""The edges of an entity, one hop."""

from typing import get_args

from explorer.errors import InvalidInput
from explorer.server.call import MAX_PAGE, Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, Parameter, parameter
from explorer.server.routes.usage import DATASET
from explorer.server.routes.versions import read_number
from explorer.server.store.engine import Direction

__all__ = ["RelationshipRoutes"]

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_PAGE = 1_000


class RelationshipRoutes:
    """`/relationships` and `/openapi/relationships/v1`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                "/relationships",
                self._relationships,
                "the entities on the other side of an entity's relationships",
                role="reader",
                parameters=_parameters("types", "all of them, 10000 at most", is_required=True),
                gives=(
                    "entities: URNs, none twice; start, count (of this page), total, and "
                    "relationships {entity, type}"
                ),
                notes=(
                    "OUTGOING are the edges that the entity's own aspects declare, INCOMING those "
                    "that others declare to it.",
                    "Several types are repeated or written List(OwnedBy,TaggedWith); List() means "
                    "all. A type that is none gives nothing.",
                    "Edges of soft-deleted entities stay.",
                ),
            ),
            Endpoint(
                "GET",
                "/openapi/relationships/v1",
                self._related,
                "an entity's relationships, page by page",
                role="reader",
                parameters=_parameters("relationshipTypes", "1000", is_required=False),
                gives="start, count (of this page), total, entities {urn, relationshipType}",
                notes=("Ask again with start increased by count until count is 0.",),
            ),
        )

    async def _relationships(self, call: Call) -> Answer:
        types = call.query.many("types")
        if types is None or types == [""]:
            raise InvalidInput("the query parameter 'types' is required, such as types=OwnedBy")
        start, total, edges = await self._read(call, types, MAX_PAGE)
        return Answer.of(
            {
                "start": start,
                "count": len(edges),
                "total": total,
                "entities": list(dict.fromkeys(other for other, _ in edges)),
                "relationships": [{"entity": other, "type": name} for other, name in edges],
            }
        )

    async def _related(self, call: Call) -> Answer:
        types = call.query.many("relationshipTypes") or []
        start, total, edges = await self._read(call, [one for one in types if one], _PAGE)
        return Answer.of(
            {
                "start": start,
                "count": len(edges),
                "total": total,
                "entities": [{"urn": other, "relationshipType": name} for other, name in edges],
            }
        )

    async def _read(
        self, call: Call, types: list[str], most: int
    ) -> tuple[int, int, list[tuple[str, str]]]:
        query = call.query
        urn = self._catalog.intake.read_urn(query.required("urn"))
        direction = _direction(query.required("direction"))
        start = read_number(query, "start", 0)
        count = min(read_number(query, "count", most), MAX_PAGE)
        total, edges = await self._catalog.offload(
            self._catalog.store.relationships,
            str(urn),
            direction,
            list(dict.fromkeys(types)),
            start,
            count,
        )
        return start, total, edges


def _parameters(types: str, default: str, *, is_required: bool) -> tuple[Parameter, ...]:
    return (
        parameter("urn", "URN", "the entity, percent-encoded", DATASET, place="query"),
        parameter("direction", "string", "INCOMING or OUTGOING", "OUTGOING", place="query"),
        parameter(
            types,
            "array of strings",
            "names of relationships",
            "OwnedBy",
            place="query",
            required=is_required,
        ),
        parameter(
            "start", "integer", "how many to skip; 0 without it", place="query", required=False
        ),
        parameter(
            "count",
            "integer",
            f"how many at most; {default} without it",
            place="query",
            required=False,
        ),
    )


def _direction(text: str) -> Direction:
    for direction in _DIRECTIONS:
        if text == direction:
            return direction
    raise InvalidInput(f"'direction' is {' or '.join(_DIRECTIONS)}, not {text!r}")
