"""Filters in the words that a server understands: names in the place of URNs, and states."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic

from explorer.client.answers.finding import parse_search
from explorer.client.connection import Connection
from explorer.client.entity import Entity
from explorer.client.parts.reading import EntityMethods
from explorer.client.requests.finding import search_request
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.filters import DOCUMENTED, Condition, Criterion, Filter
from explorer.metadata.naming import NAME_ASPECTS

__all__ = ["FilterMethods"]

_REFUSALS = (InvalidInput, NotFound, ServerFault)
_KEPT_SECONDS = 60.0
_MOST_FOUND = 100
_NAMES = ("displayName", "fullName", "name", "title")
_PEOPLE = frozenset({"corpuser", "corpGroup"})
_RUN = re.compile(r"[^\W_]+")


class FilterMethods(EntityMethods):
    """How what people type for an entity is told to a server."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._named: dict[tuple[tuple[str, ...], str], tuple[float, tuple[str, ...]]] = {}

    async def _adapted(self, asked: Filter) -> Filter:
        """The filter as the server understands it. One that knows no names in filters is asked for
        the entities that are called so, two requests a name, kept for a minute; one that has no
        field of its own for documentation is asked for descriptions."""
        if not any(one.names or one.field == DOCUMENTED for group in asked.any_of for one in group):
            return asked
        if (await self.abilities()).names:
            return Filter(
                tuple(
                    tuple(replace(one, values=(*one.values, *one.names), names=()) for one in group)
                    for group in asked.any_of
                )
            )
        groups = []
        for group in asked.any_of:
            told = [await self._told(one) for one in group]
            groups.append(tuple(one for one in told if one is not None))
        return Filter(tuple(groups)) if all(groups) else Filter()

    async def _told(self, one: Criterion) -> Criterion | None:
        """A criterion in the words of any server; None for one that lets all pass."""
        if one.field == DOCUMENTED:
            return _described(one)
        if not one.names:
            return one
        # Hardly anybody asks so, and what knows the fields takes a while to be there.
        from explorer.metadata.filtertext.fields import guide_to

        field = guide_to(self.registry).exactly(one.field)
        found = [
            urn
            for name in one.names
            for urn in await self._called(name, field.targets if field else ())
        ]
        return replace(one, values=tuple(dict.fromkeys((*one.values, *found))), names=())

    async def _called(self, name: str, types: Sequence[str]) -> tuple[str, ...]:
        """The URNs of the entities of some types that are called so: people and groups by words of
        their names, anything else by its whole name."""
        key = (tuple(types), name)
        since, found = self._named.get(key, (float("-inf"), ()))
        if not types or monotonic() - since <= _KEPT_SECONDS:
            return found
        try:
            request = search_request(name, types, 0, _MOST_FOUND, Filter())
            page = parse_search(await self._connection.send(request), name)
            entities = await self.entities((hit.urn for hit in page), NAME_ASPECTS)
        except _REFUSALS:
            # It may not know one of the types; then names say nothing here.
            return ()
        found = tuple(str(urn) for urn, one in entities.items() if _is_called(one, name))
        self._named[key] = (monotonic(), found)
        return found


def _described(one: Criterion) -> Criterion | None:
    said = {value.casefold() for value in one.values}
    if one.condition not in ("EQUAL", "IN") or said >= {"true", "false"}:
        return None
    condition: Condition = "EXISTS" if "true" in said else "IS_NULL"
    return Criterion("description", (), condition, one.negated)


def _is_called(entity: Entity, name: str) -> bool:
    if entity.entity_type in _PEOPLE:
        words = _words(name)
        return any(words <= _words(one) for one in _names_of(entity))
    return any(name.casefold() == one.casefold() for one in _names_of(entity))


def _names_of(entity: Entity) -> Iterator[str]:
    yield entity.name
    for aspect in NAME_ASPECTS:
        value = entity.raw(aspect) or {}
        yield from (value[name] for name in _NAMES if isinstance(value.get(name), str))


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _RUN.findall(text))
