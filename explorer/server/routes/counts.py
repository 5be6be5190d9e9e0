"""How many there are, and the plain list of what there is."""

from explorer.errors import InvalidInput
from explorer.metadata.urn import MAX_URN_BYTES
from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.routes.usage import COUNT, ENTITY, START

__all__ = ["CountRoutes"]

# Each one multiplies the ways in which a URN may fit.
_MOST_ANYTHING = 8


class CountRoutes:
    """`/entities` and `/aspects` where they count"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._urns,
                "the URNs of all entities of a type",
                role="reader",
                action="listUrns",
                parameters=(ENTITY, START, COUNT),
                gives="entities: URNs in their own order; start, count (of this page) and total",
                notes=("Soft-deleted entities are listed too.",),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._total,
                "how many entities of a type there are",
                role="reader",
                action="getTotalEntityCount",
                parameters=(ENTITY,),
                gives="a number",
                notes=("Soft-deleted entities do not count.",),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._totals,
                "how many entities of several types there are",
                role="reader",
                action="batchGetTotalEntityCount",
                parameters=(
                    parameter(
                        "entities", "array of strings", "names of entity types", ["dataset", "tag"]
                    ),
                ),
                gives="a number for each type",
                notes=("Soft-deleted entities do not count.",),
            ),
            Endpoint(
                "POST",
                "/aspects",
                self._aspects,
                "how many entities have an aspect",
                role="reader",
                action="getCount",
                parameters=(
                    parameter("aspect", "string", "the name of an aspect", "ownership"),
                    parameter(
                        "urnLike",
                        "string",
                        "a pattern that their URNs match: % for any text, _ for any character",
                        "urn:li:dataset:%",
                        required=False,
                    ),
                ),
                gives="a number; of documents, for an aspect over time",
                notes=("Soft-deleted entities count. Letters match without regard to case.",),
            ),
        )

    async def _urns(self, call: Call) -> Answer:
        parameters = await call.parameters()
        entity = parameters.text("entity")
        self._catalog.registry.entity(entity)
        start, count = parameters.start(), parameters.page("count")
        total, urns = await self._catalog.offload(
            self._catalog.store.entity_urns, entity, start, count
        )
        value = {"entities": urns, "start": start, "count": len(urns), "total": total}
        return Answer.of({"value": value})

    async def _total(self, call: Call) -> Answer:
        parameters = await call.parameters()
        return Answer.of({"value": await self._count(parameters.text("entity"))})

    async def _totals(self, call: Call) -> Answer:
        parameters = await call.parameters()
        parameters.items("entities")
        entities = dict.fromkeys(parameters.texts("entities") or ())
        return Answer.of({"value": {entity: await self._count(entity) for entity in entities}})

    async def _count(self, entity: str) -> int:
        self._catalog.registry.entity(entity)
        return await self._catalog.offload(self._catalog.index.total, (entity,))

    async def _aspects(self, call: Call) -> Answer:
        parameters = await call.parameters()
        aspect = parameters.text("aspect")
        self._catalog.registry.aspect(aspect)
        like = parameters.optional_text("urnLike")
        if like is not None and (len(like) > MAX_URN_BYTES or like.count("%") > _MOST_ANYTHING):
            raise InvalidInput(
                f"'urnLike' has at most {MAX_URN_BYTES} characters, as URNs have, and "
                f"{_MOST_ANYTHING} of them %"
            )
        found = await self._catalog.offload(self._catalog.store.aspect_count, aspect, like)
        return Answer.of({"value": found})
