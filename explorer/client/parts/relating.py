"""Edges between entities."""

from collections.abc import Sequence

from explorer.client import answers, requests
from explorer.client.parts.part import Part
from explorer.client.records import Direction, Edges
from explorer.metadata.urn import Urn

__all__ = ["Relating"]

_EVERYTHING = 10_000


class Relating(Part):
    """How entities hang together."""

    async def relationships(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        count: int = _EVERYTHING,
    ) -> Edges:
        """Edges of an entity: OUTGOING those it declares, INCOMING those that lead to it.

        Of the relationships named, or of every one the model allows. One request.
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        if not names:
            return Edges(direction, 0)
        request = requests.relating.relationships(source, direction, names, 0, count)
        return answers.relating.relationships(
            await self._connection.send(request), direction, names
        )

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """The relationships that an entity of a type may have in a direction, sorted."""
        registry = self.registry
        if direction == "INCOMING":
            found = {
                edge.name
                for aspect in registry.aspects.values()
                for edge in aspect.relationships
                if not edge.to or entity_type in edge.to
            }
        else:
            names = registry.aspects_of(entity_type) if entity_type in registry.entities else ()
            found = {
                edge.name
                for name in names
                if name in registry.aspects
                for edge in registry.aspects[name].relationships
            }
        return tuple(sorted(found))
