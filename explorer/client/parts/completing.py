"""What may be typed next: names of entities, and the text of filters."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from explorer.client.answers.finding import parse_search
from explorer.client.answers.suggesting import (
    interleave,
    pair_suggestions,
    parse_autocomplete,
    parse_properties,
    parse_suggestions,
    suggestions_from_hits,
)
from explorer.client.connection import Connection
from explorer.client.narrowing import read_narrowing, read_types
from explorer.client.parts.finding import SearchMethods
from explorer.client.records import Facet, SearchPage, Suggestion
from explorer.client.requests.finding import entity_symbol, search_request
from explorer.client.requests.suggesting import (
    autocomplete_request,
    properties_request,
    suggest_request,
)
from explorer.errors import InvalidInput, NotFound, ServerFault, Unreachable
from explorer.metadata.filters import Filter
from explorer.metadata.naming import NAME_ASPECTS
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.metadata.filtertext import Completion
    from explorer.metadata.filtertext.fields import FilterField

__all__ = ["CompletionMethods"]

# What is completed, one type at a time, where the server cannot be asked for all at once.
_COMPLETED = (
    "dataset",
    "chart",
    "dashboard",
    "dataJob",
    "dataFlow",
    "container",
    "glossaryTerm",
    "tag",
    "domain",
    "corpuser",
    "corpGroup",
)
_ENTITY_TYPE = "_entityType"
_PROPERTY = "structuredProperty"
_MOST_PROPERTIES = 500
_REFUSALS = (InvalidInput, NotFound, ServerFault)
_MOST_NAMED = 20
# People type the id of a platform, which is its name in small letters.
_IDS_ARE_NAMES = frozenset({"dataPlatform"})
# Nobody types a filter for longer without a pause, and counts may be a little old.
_FACETS_KEPT_SECONDS = 10.0


class CompletionMethods(SearchMethods):
    """How typing is helped."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._counting = asyncio.Lock()
        self._facet_names: dict[str, tuple[float, tuple[str, ...], dict[str, str]]] = {}
        self._counted_facets: dict[tuple[str, ...], tuple[float, tuple[Facet, ...]]] = {}
        self._defined: tuple[float, tuple[Facet, ...]] = (float("-inf"), ())

    async def autocomplete(
        self,
        text: str,
        *,
        entity: str = "dataset",
        narrowed_by: Filter | str | None = None,
        limit: int = 10,
        superseding: str | None = None,
    ) -> tuple[str, ...]:
        """Names that complete `text`, best first, at most `limit`. One request. `superseding` is
        that of `search`.

        Example: `cat.autocomplete("ord", narrowed_by="platform:snowflake")`
        """
        narrowing = await self._adapted(read_narrowing(narrowed_by, self.registry))
        request = autocomplete_request(text, entity, limit, narrowing)
        body = await self._latest.run(superseding, self._connection.send(request))
        return parse_autocomplete(body)[0]

    async def suggest(
        self,
        text: str,
        *,
        entities: Sequence[str] | None = None,
        limit: int = 10,
        superseding: str | None = None,
    ) -> tuple[Suggestion, ...]:
        """Names that complete `text`, of all types of entities or of those named, at most `limit`:
        the best of every type, then the second best, and so on.

        One request; from a server without GraphQL one for each type, and a search where it
        completes none of them. `superseding` is that of `search`.

        Example: `cat.suggest("ord", entities=["dataset", "chart"])`
        """
        work = self._suggested(text, read_types(entities), limit)
        return await self._latest.run(superseding, work)

    async def complete_filter(
        self, text: str, cursor: int, *, entity: str | Sequence[str] | None = None
    ) -> "tuple[Completion, ...]":
        """What may be typed at the cursor of a filter's text, best first: fields, operators, and
        the values that entities of some types or of all have, most frequent first. People, groups
        and whatever else has a URN are offered by their names.

        Up to two requests, one more where structured properties may be defined and two for a value
        with a name, whose answers do for ten seconds; where none comes, no values are offered.

        Example: `cat.complete_filter("owner:ni", 8)`
        """
        from explorer.metadata.filtertext import complete, value_at

        types = read_types(entity)
        facets = await self._facets_of(types)
        counted = {one.name for one in facets}
        defined = await self._properties(types, facets)
        facets += tuple(one for one in defined if one.name not in counted)
        place = value_at(text, cursor, self.registry)
        names = await self._names_for(*place, facets) if place else {}
        return complete(text, cursor, self.registry, facets, names)

    async def _names_for(
        self, field: "FilterField", typed: str, facets: Sequence[Facet]
    ) -> dict[str, str]:
        """What the URNs are called that a field may have at a place: those whose names begin so,
        then those of its facet."""
        if _IDS_ARE_NAMES.issuperset(field.targets):
            return {}
        try:
            begun = await self._suggested(typed, field.targets, _MOST_NAMED) if typed else ()
            counted = [
                value.value
                for facet in facets
                if facet.name == field.name
                for value in facet.values
            ]
            known = await self._names_of(field.name, tuple(counted))
        except (Unreachable, *_REFUSALS):
            return {}
        found = {str(one.urn): one.text for one in begun if one.urn is not None}
        return found | known

    async def _names_of(self, field: str, urns: tuple[str, ...]) -> dict[str, str]:
        """What the values of a facet are called, kept as long as the facet is."""
        since, kept, names = self._facet_names.get(field, (float("-inf"), (), {}))
        if kept != urns or monotonic() - since > _FACETS_KEPT_SECONDS:
            known = await self.entities(Urn.parse_all(urns), NAME_ASPECTS)
            names = {str(urn): entity.name for urn, entity in known.items() if entity.exists}
            self._facet_names[field] = (monotonic(), urns, names)
        return names

    async def _suggested(
        self, text: str, types: Sequence[str], limit: int
    ) -> tuple[Suggestion, ...]:
        if self._ways.get("suggest", True):
            try:
                body = await self._connection.send(suggest_request(text, types, limit))
                known = self.registry.entities
                symbols = {entity_symbol(entity): entity for entity in known}
                found = parse_suggestions(body, symbols)
            except _REFUSALS:
                if self._ways.get("suggest"):
                    raise
            else:
                self._ways["suggest"] = True
                return interleave(found, limit)
        groups = await self._completed_each(text, types or _COMPLETED, limit)
        if not groups:
            page = await self._found(f"{text}*", types, limit)
            groups = suggestions_from_hits(page.hits)
        if not types:
            # Only now, and without types that it may not know, is it known that the server lacks
            # this way, and did not refuse the question.
            self._ways.setdefault("suggest", False)
        return interleave(groups, limit)

    async def _completed_each(
        self, text: str, types: Sequence[str], limit: int
    ) -> list[list[Suggestion]]:
        """The completions of each type that the server completes."""
        each = await asyncio.gather(
            *(self._completed(text, entity, limit) for entity in types), return_exceptions=True
        )
        groups = []
        for group in each:
            if not isinstance(group, BaseException):
                groups.append(group)
            elif not isinstance(group, _REFUSALS):
                raise group
        return groups

    async def _completed(self, text: str, entity: str, limit: int) -> list[Suggestion]:
        request = autocomplete_request(text, entity, limit, Filter())
        names, urns = parse_autocomplete(await self._connection.send(request))
        return pair_suggestions(names, urns, entity)

    async def _facets_of(self, types: tuple[str, ...]) -> tuple[Facet, ...]:
        async with self._counting:
            since, facets = self._counted_facets.get(types, (float("-inf"), ()))
            if monotonic() - since > _FACETS_KEPT_SECONDS:
                try:
                    facets = (await self._found("*", types, 0)).facets
                except Unreachable:
                    # Kept as well: not every key is to wait for a server that is not there.
                    facets = ()
                self._counted_facets[types] = (monotonic(), facets)
            return facets

    async def _properties(self, types: Sequence[str], facets: Sequence[Facet]) -> tuple[Facet, ...]:
        """The structured properties that are defined, as facets with the values they allow. Where
        all entities were counted by type and none is a structured property, nobody is asked."""
        since, found = self._defined
        if monotonic() - since > _FACETS_KEPT_SECONDS:
            has_any = bool(types) or any(
                value.value == _PROPERTY
                for one in facets
                if one.name == _ENTITY_TYPE
                for value in one.values
            )
            found = await self._asked_properties() if facets and has_any else ()
            self._defined = (monotonic(), found)
        return found

    async def _asked_properties(self) -> tuple[Facet, ...]:
        try:
            body = await self._connection.send(properties_request(_MOST_PROPERTIES))
            return parse_properties(body)
        except (*_REFUSALS, Unreachable):
            return ()

    async def _found(self, text: str, types: Sequence[str], count: int) -> SearchPage:
        request = search_request(text, types, 0, count, Filter())
        return parse_search(await self._connection.send(request), text)
