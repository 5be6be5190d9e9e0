"""The edges of an entity, one hop."""

from typing import get_args

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.call import MAX_PAGE, Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint
from explorer.server.store.engine import Direction

__all__ = ["RelationshipRoutes"]

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


class RelationshipRoutes:
    """`/relationships`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        summary = "the entities on the other side of an entity's relationships"
        return (Endpoint("GET", "/relationships", self._relationships, summary),)

    async def _relationships(self, call: Call) -> Answer:
        query = call.query
        urn = Urn.parse(query.required("urn"))
        direction = _direction(query.required("direction"))
        types = query.many("types")
        if types is None or types == [""]:
            raise InvalidInput("the query parameter 'types' is required, such as types=OwnedBy")
        start = _count(query.one("start"), "start", 0, 2**31)
        count = _count(query.one("count"), "count", MAX_PAGE, MAX_PAGE)
        total, edges = await self._catalog.offload(
            self._catalog.store.relationships,
            str(urn),
            direction,
            list(dict.fromkeys(types)),
            start,
            count,
        )
        return Answer.of(
            {
                "start": start,
                "count": len(edges),
                "total": total,
                "entities": list(dict.fromkeys(other for other, _ in edges)),
                "relationships": [{"entity": other, "type": name} for other, name in edges],
            }
        )


def _direction(text: str) -> Direction:
    for direction in _DIRECTIONS:
        if text == direction:
            return direction
    raise InvalidInput(f"'direction' is {' or '.join(_DIRECTIONS)}, not {text!r}")


def _count(text: str | None, name: str, default: int, most: int) -> int:
    if text is None:
        return default
    if not text.isdecimal():
        raise InvalidInput(f"the query parameter {name!r} is a count from 0 up, not {text!r}")
    return min(int(text[:12]), most)
