"""What aspects said earlier: versions, what differs between them, who wrote what of a column."""

from collections.abc import AsyncGenerator, AsyncIterator

from explorer.client.answers.history import parse_versions
from explorer.client.answers.reading import parse_aspect
from explorer.client.authorship import Authorship
from explorer.client.difference import difference
from explorer.client.entity import AspectRead
from explorer.client.parts.part import CatalogMethods, in_chunks, together
from explorer.client.records import AspectDiff, ColumnChange, Version, Versions
from explorer.client.requests.history import versions_request
from explorer.client.requests.reading import aspect_request
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.urn import Urn

__all__ = ["HistoryMethods"]

_PAGE = 100
# Versions of a schema are large.
_SCHEMA_PAGE = 20
_AT_ONCE = 4
_REFUSED = (InvalidInput, NotFound, ServerFault)


class HistoryMethods(CatalogMethods):
    """How what was stored earlier is read."""

    async def versions(
        self, urn: str | Urn, aspect: str, *, start: int = 0, count: int = _PAGE
    ) -> Versions:
        """Versions of an aspect, newest first: `count` of them after the first `start`.

        One request where the server tells its versions at once (`Abilities.versions`). Elsewhere
        they are looked up one by one: two requests and one for each version, or, where the server
        does not count back from the latest, one for each version that the aspect ever had. Such
        servers may have dropped old versions; what lies below one that is missing is not seen.

        Raises `NotFound` where the entity lacks the aspect, `InvalidInput` for a timeseries.

        Example: `cat.versions(urn, "schemaMetadata")`
        """
        target = Urn.parse(urn)
        if start < 0 or count < 1:
            raise InvalidInput(f"start counts from 0 and count from 1, not {start} and {count}")
        declared = self.registry.aspects.get(aspect)
        if declared is not None and declared.timeseries:
            raise InvalidInput(f"{aspect} is a timeseries and has no versions; read its points")
        return await self._versions(target, aspect, 0, start, count)

    async def every_version(
        self, urn: str | Urn, aspect: str, *, page_size: int = _PAGE
    ) -> AsyncIterator[Version]:
        """Every version of an aspect, newest first; each once, also when it is written to in
        between. Costs what `versions` costs, a page at a time, as far as it is read.

        Example: `list(cat.every_version(urn, "schemaMetadata"))`
        """
        target = Urn.parse(urn)
        # The number of the second says where to go on, whatever is written in between.
        size = max(page_size, 2)
        found = await self.versions(target, aspect, count=size)
        below: float = float("inf")
        while True:
            for version in found:
                yield version
            last = found.versions[-1].number if found.versions else 0
            if not found.truncated or last <= 1:
                return
            if last >= below:
                raise ServerFault(f"the server gives versions of {aspect} that were not asked for")
            below = last
            found = await self._versions(target, aspect, last - 1, 0, size)

    async def diff(
        self, urn: str | Urn, aspect: str, older: int = -1, newer: int = 0
    ) -> AspectDiff:
        """What differs between two versions of an aspect: by default, what the latest changed.

        Versions by number: 0 is the latest, 1 the oldest, negative numbers count back from the
        latest, -1 being the one before it. One or two requests where the server tells its versions
        at once, else what looking each up costs. Raises `NotFound` where there is no such version.

        Example: `cat.diff(urn, "schemaMetadata")`
        """
        target = Urn.parse(urn)
        if (older, newer) == (-1, 0):
            found = (await self.versions(target, aspect, count=2)).versions
            if len(found) < 2:
                raise NotFound(f"{aspect} of {target} has one version only; nothing came before it")
            new, old = found
        else:
            old = await self._version(target, aspect, older)
            new = await self._version(target, aspect, newer)
        return AspectDiff(target, aspect, old, new, difference(old.value, new.value))

    async def column_history(self, urn: str | Urn, column: str) -> tuple[ColumnChange, ...]:
        """Every change of a column's description, newest first, by ingestion and by people; empty
        where it never had one. `column` is its exact field path.

        Reads every version of the schema and of what people wrote of it: a request for each 20 of
        either where the server tells its versions at once, else one for each.

        Example: `cat.column_history(urn, "order_id")`
        """
        target = Urn.parse(urn)
        found = Authorship()
        for track in (found.edited, found.ingested):
            async for version in self._written(target, track.aspect):
                track.read(version)
        return found.of_column(column)

    async def blame(self, urn: str | Urn) -> dict[str, ColumnChange]:
        """For each documented column, in the order of the schema, the change that gave it the
        description it has now: what people wrote where they wrote any, else what came in.

        Costs what `column_history` costs, but reads no further back than it takes: two requests
        where the latest 20 versions tell it.

        Example: `cat.blame(urn)`
        """
        target = Urn.parse(urn)
        found = Authorship()
        tracks = (found.edited, found.ingested)
        sources = [self._written(target, track.aspect) for track in tracks]
        # The latest of both tell which text of a column counts.
        for track, source in zip(tracks, sources, strict=True):
            async for version in source:
                track.read(version)
                break
        for track, source in zip(tracks, sources, strict=True):
            while found.unexplained(track):
                older = await anext(source, None)
                if older is None:
                    break
                track.read(older)
            await source.aclose()
        return found.blamed()

    async def _written(self, urn: Urn, aspect: str) -> AsyncGenerator[Version, None]:
        try:
            async for version in self.every_version(urn, aspect, page_size=_SCHEMA_PAGE):
                yield version
        except NotFound:
            return

    async def _version(self, urn: Urn, aspect: str, number: int) -> Version:
        if number < 0:
            found = await self.versions(urn, aspect, start=-number, count=1)
        else:
            found = await self._versions(urn, aspect, number, 0, 1)
        if not found.versions or (number >= 0 and found.versions[0].number != number):
            raise NotFound(f"{aspect} of {urn} has no version {number}")
        return found.versions[0]

    async def _versions(
        self, urn: Urn, aspect: str, newest: int, start: int, count: int
    ) -> Versions:
        """Versions from the number `newest` downward, 0 being the latest."""
        if not (await self.abilities()).versions:
            return await self._walked(urn, aspect, newest, start, count)
        reply = await self._connection.ask(versions_request(urn, aspect, newest, start, count))
        return parse_versions(reply.body, urn, aspect, reply.as_of)

    async def _walked(self, urn: Urn, aspect: str, newest: int, start: int, count: int) -> Versions:
        """The same, looked up number by number."""
        known: dict[int, AspectRead] = {}
        if newest == 0:
            known[0] = await self._lookup(urn, aspect, 0)
            known |= await self._superseded(urn, aspect)
            older = range(max(known), 0, -1)
            wanted = [0, *older[: count - 1]] if start == 0 else list(older[start - 1 :][:count])
            total = 1 + len(older)
        else:
            wanted = list(range(newest, 0, -1)[start:][:count])
            total = newest
        found: list[Version] = []
        as_of = None
        for chunk in in_chunks(wanted, _AT_ONCE):
            looked = await together((self._held(urn, aspect, at, known) for at in chunk), _AT_ONCE)
            for number, read in zip(chunk, looked, strict=True):
                if read is None:
                    # Dropped, and all before it.
                    total = start + len(found)
                    return Versions(urn, aspect, tuple(found), start, total, as_of=as_of)
                found.append(Version(number, read.value, read.created, read.run_id))
                as_of = min(filter(None, (as_of, read.as_of)), default=None)
        more = start + len(found) < total
        counted = None if more and 1 not in known else total
        return Versions(urn, aspect, tuple(found), start, counted, more, as_of)

    async def _superseded(self, urn: Urn, aspect: str) -> dict[int, AspectRead]:
        """The version before the latest under its number, and others that were met on the way to
        it; nothing where there is none."""
        try:
            before = await self._lookup(urn, aspect, -1)
        except _REFUSED:
            pass
        else:
            if before.version > 0:
                return {before.version: before}
        found: dict[int, AspectRead] = {}
        size = 1
        while True:
            numbers = range(len(found) + 1, len(found) + 1 + size)
            size = _AT_ONCE
            looked = await together((self._held(urn, aspect, at, {}) for at in numbers), _AT_ONCE)
            for number, read in zip(numbers, looked, strict=True):
                if read is None:
                    return found
                found[number] = read

    async def _held(
        self, urn: Urn, aspect: str, number: int, known: dict[int, AspectRead]
    ) -> AspectRead | None:
        try:
            return known.get(number) or await self._lookup(urn, aspect, number)
        except NotFound:
            return None

    async def _lookup(self, urn: Urn, aspect: str, number: int) -> AspectRead:
        reply = await self._connection.ask(aspect_request(urn, aspect, number))
        return parse_aspect(reply.body, aspect, reply.as_of)
