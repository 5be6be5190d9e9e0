"""Entities, aspects and their points in time."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime

from explorer.client import answers, requests
from explorer.client.entity import SUMMARY_ASPECTS, AspectRead, Entity
from explorer.client.parts.part import Part, in_chunks
from explorer.client.records import ServerInfo, Timeseries
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.urn import Urn

__all__ = ["Reading"]

_BATCH = 100


class Reading(Part):
    """How what is stored is read."""

    _batches = True

    async def info(self) -> ServerInfo:
        """What the server says of itself. One request."""
        body = await self._connection.send(requests.reading.config())
        return answers.reading.config(body, self._connection.address)

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """An entity with its latest aspects, or those named. One request.

        An entity that was never written has nothing but its key (`Entity.exists` is false).
        Timeseries aspects are not among them.
        """
        request = requests.reading.entity(Urn.parse(urn), aspects)
        try:
            return answers.reading.entity(await self._connection.send(request))
        except NotFound:
            return Entity(Urn.parse(urn), {})

    async def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """Many entities, by URN, in the order given. One request for a hundred, or one each from
        a server that knows no batches."""
        wanted = [Urn.parse(urn) for urn in dict.fromkeys(urns)]
        found: dict[Urn, Entity] = {}
        for chunk in in_chunks(wanted, _BATCH):
            found.update(await self._some(chunk, aspects))
        return {urn: found[urn] for urn in wanted if urn in found}

    async def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """What a line in a list needs of each entity; costs what `entities` costs."""
        return await self.entities(urns, SUMMARY_ASPECTS)

    async def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """One aspect at one version: 0 is the latest, 1 the oldest. One request.

        Raises `NotFound` where there is no such entity, aspect or version.
        """
        request = requests.reading.aspect(Urn.parse(urn), name, version)
        return answers.reading.aspect(await self._connection.send(request), name)

    async def timeseries(
        self,
        urn: str | Urn,
        aspect: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
    ) -> Timeseries:
        """Points of a timeseries aspect, oldest first, between two aware moments, both inclusive.

        The server gives at most 10,000, the newest, or `limit`. One request.
        """
        request = requests.reading.timeseries(Urn.parse(urn), aspect, start, end, limit)
        return answers.reading.timeseries(await self._connection.send(request), aspect)

    async def _some(self, urns: Sequence[Urn], aspects: Sequence[str] | None) -> dict[Urn, Entity]:
        if self._batches:
            try:
                body = await self._connection.send(requests.reading.entities(urns, aspects))
                return answers.reading.entities(body)
            except (InvalidInput, NotFound, ServerFault):
                # An older server: remembered, so that it is asked but once.
                self._batches = False
        found = await asyncio.gather(*(self.entity(urn, aspects) for urn in urns))
        return {one.urn: one for one in found}
