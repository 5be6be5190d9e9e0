"""Entities and their aspects."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from explorer.client.abilities import config_request
from explorer.client.answers.reading import (
    parse_aspect,
    parse_config,
    parse_entities,
    parse_entity,
    parse_legacy_entity,
)
from explorer.client.entity import SUMMARY_ASPECTS, AspectRead, Entity
from explorer.client.parts.part import CatalogMethods, together
from explorer.client.records import ServerInfo
from explorer.client.requests.reading import (
    aspect_request,
    entities_request,
    entity_request,
    legacy_entity_request,
)
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import aspect_of, read_aspect
from explorer.metadata.urn import Urn

__all__ = ["EntityMethods"]

_BATCH = 150
# Servers take a request line of 16 KB or more; names of aspects go into it too.
_BATCH_BYTES = 12_000
_AT_ONCE = 4

_T = TypeVar("_T", bound=msgspec.Struct)


class EntityMethods(CatalogMethods):
    """How what is stored is read."""

    _batches = True

    async def info(self) -> ServerInfo:
        """What the server says of itself. One request."""
        body = await self._connection.send(config_request())
        return parse_config(body, self._connection.address)

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """An entity with its latest aspects, or those named. One request.

        An entity that was never written has nothing but its key (`Entity.exists` is false).
        Timeseries aspects are not among them.
        """
        request = entity_request(Urn.parse(urn), aspects)
        try:
            reply = await self._connection.ask(request)
        except NotFound:
            return Entity(Urn.parse(urn), {})
        return parse_entity(reply.body, reply.as_of)

    async def legacy_entity(self, urn: str | Urn) -> Entity:
        """An entity as the deprecated snapshot form tells it: for servers that know nothing newer;
        ask `entity` of any other. One request.

        Says neither when an aspect was written nor by whom. Raises `NotFound` for types that never
        had a snapshot, such as containers.

        Example: `cat.legacy_entity(urn)`
        """
        request = legacy_entity_request(Urn.parse(urn))
        reply = await self._connection.ask(request)
        return parse_legacy_entity(reply.body, self.registry, reply.as_of)

    async def exists(self, urn: str | Urn) -> bool:
        """Whether an entity was ever written, soft-deleted or not. One request.

        Example: `cat.exists(urn)`
        """
        target = Urn.parse(urn)
        declared = self.registry.entities.get(target.entity_type)
        key = declared.key if declared else f"{target.entity_type}Key"
        try:
            await self._connection.send(aspect_request(target, key, 0))
        except NotFound:
            return False
        return True

    async def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """Many entities, by URN, in the order given. One request for each 150, four at a time (for
        fewer where URNs are long), or one for each entity from a server that knows no batches.

        Example: `cat.entities([urn], ["ownership"])`
        """
        wanted = tuple(dict.fromkeys(Urn.parse(urn) for urn in urns))
        found: dict[Urn, Entity] = {}
        for part in await together(
            (self._some(chunk, aspects) for chunk in _batched(wanted)), _AT_ONCE
        ):
            found |= part
        return {urn: found[urn] for urn in wanted if urn in found}

    async def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """What a line in a list needs of each entity; costs what `entities` costs.

        Example: `cat.summaries([urn])[Urn.parse(urn)].name`
        """
        return await self.entities(urns, SUMMARY_ASPECTS)

    async def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """One aspect at one version: 0 is the latest, 1 the oldest. One request.

        Raises `NotFound` where there is no such entity, aspect or version.

        Example: `cat.aspect(urn, "ownership").value`
        """
        reply = await self._connection.ask(aspect_request(Urn.parse(urn), name, version))
        return parse_aspect(reply.body, name, reply.as_of)

    async def record(self, urn: str | Urn, kind: type[_T], version: int = 0) -> _T | None:
        """An aspect as its typed record, `Ownership`; nothing where the entity lacks it or that
        version of it. Fields that the record does not name are in `aspect` alone. One request.

        Raises `InvalidInput` for a record of no aspect, `ServerFault` for a value of another shape.

        Example: `cat.record(urn, Ownership)`
        """
        name = aspect_of(kind)
        try:
            read = await self.aspect(urn, name, version)
        except NotFound:
            return None
        return read_aspect(read.value, kind)

    async def _some(self, urns: Sequence[Urn], aspects: Sequence[str] | None) -> dict[Urn, Entity]:
        if self._batches:
            try:
                reply = await self._connection.ask(entities_request(urns, aspects))
                return parse_entities(reply.body, reply.as_of)
            except (InvalidInput, NotFound, ServerFault):
                # Refused for one of the entities, or for the batch: reading each will tell.
                pass
        found = await together((self.entity(urn, aspects) for urn in urns), _AT_ONCE)
        # Each can be read by itself, so it is batches that this server does not know: remembered,
        # so that it is asked but once.
        self._batches = False
        return {one.urn: one for one in found}


def _batched(urns: Iterable[Urn]) -> Iterator[list[Urn]]:
    """The URNs in lists that each fit into one request."""
    chunk: list[Urn] = []
    size = 0
    for urn in urns:
        length = len(urn.encoded) + 1
        if chunk and (len(chunk) == _BATCH or size + length > _BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(urn)
        size += length
    if chunk:
        yield chunk
