"""Versions of aspects, their differences, and who wrote the description of each column.

Authorship is pure: versions are given newest first, an aspect at a time, as far back as it takes.
"""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.client.connection import CatalogMethods, gather_limited, in_chunks
from explorer.client.difference import difference
from explorer.client.entities import aspect_request, parse_aspect, parse_wrapper, whole_number
from explorer.client.entity import AspectRead
from explorer.client.records import AspectDiff, ColumnChange, Origin, Version, Versions
from explorer.client.responses import REFUSALS, as_object
from explorer.client.transport import Request
from explorer.errors import InvalidInput, NotFound, ServerFault, Unreadable
from explorer.metadata.urn import Urn

__all__ = ["HistoryMethods", "parse_versions", "versions_request"]


def versions_request(urn: Urn, name: str, newest: int, start: int, count: int) -> Request:
    """Return a request for the versions of an aspect up to a number, newest first, as this
    package's own service offers it."""
    return Request(
        "GET",
        f"/versions/{urn.encoded}?aspect={quote(name, safe='')}"
        f"&from=1&to={newest}&start={start}&count={count}",
    )


def version_of(read: AspectRead) -> Version:
    """Return an aspect that was read at one version as a `Version`."""
    return Version(read.version, read.value, read.created, read.run_id)


def parse_versions(body: Any, urn: Urn, name: str, as_of: datetime | None = None) -> Versions:
    """Return the versions that an answer of this package's own service lists."""
    answer = as_object(body, "versions")
    listed = answer.get("versions")
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to versions lists none")
    found = tuple(version_of(parse_wrapper(name, wrapper)) for wrapper in listed)
    start = whole_number(answer.get("start"), 0)
    total = whole_number(answer.get("total"), start + len(found))
    return Versions(urn, name, found, start, total, start + len(found) < total, as_of)


_Texts = dict[str, str]


@dataclass(slots=True)
class ColumnTexts:
    """The texts that one aspect gives to columns, followed back through its versions."""

    origin: Origin
    aspect: str
    array: str
    latest: _Texts = field(default_factory=dict)
    order: tuple[str, ...] = ()
    changes: dict[str, list[ColumnChange]] = field(default_factory=dict)
    _newer: tuple[Version, _Texts] | None = None

    def read(self, version: Version) -> None:
        """Add the next older version."""
        elements = tuple(_elements(version.value.get(self.array)))
        texts = {path: text for path, text in elements if text}
        if self._newer is None:
            self.latest, self.order = texts, tuple(dict.fromkeys(path for path, _ in elements))
        else:
            self._compare(texts)
        self._newer = version, texts

    def end(self) -> None:
        """Note that there is no older version, so that the oldest one brought all its texts."""
        if self._newer is not None:
            self._compare({})
            self._newer = None

    def _compare(self, older: _Texts) -> None:
        if self._newer is None:
            return
        version, newer = self._newer
        for path in dict.fromkeys((*newer, *older)):
            before, after = older.get(path), newer.get(path)
            if before != after:
                change = ColumnChange(
                    path,
                    self.origin,
                    before,
                    after,
                    version.number,
                    version.created,
                    version.run_id,
                )
                self.changes.setdefault(path, []).append(change)


@dataclass(slots=True)
class Authorship:
    """The texts of both aspects that describe columns."""

    ingested: ColumnTexts = field(
        default_factory=lambda: ColumnTexts("ingested", "schemaMetadata", "fields")
    )
    edited: ColumnTexts = field(
        default_factory=lambda: ColumnTexts(
            "edited", "editableSchemaMetadata", "editableSchemaFieldInfo"
        )
    )

    def unexplained(self, track: ColumnTexts) -> bool:
        """Return whether the author of a text in use is in an older version than those read."""
        return any(
            counting is track and path not in track.changes for path, counting in self._counting()
        )

    def of_column(self, path: str) -> tuple[ColumnChange, ...]:
        """Return every change of one column, newest first; one without a time comes after the next
        newer change of the same aspect."""
        timed = []
        for track in (self.edited, self.ingested):
            track.end()
            latest_millis: float = float("inf")
            for change in track.changes.get(path, ()):
                if change.created is not None:
                    latest_millis = min(latest_millis, change.created.time)
                timed.append((latest_millis, change))
        # Stable: each aspect's changes stay in their order.
        timed.sort(key=lambda one: one[0], reverse=True)
        return tuple(change for _, change in timed)

    def blamed(self) -> dict[str, ColumnChange]:
        """Return the change that gave each documented column its text."""
        self.edited.end()
        self.ingested.end()
        return {path: track.changes[path][0] for path, track in self._counting()}

    def _counting(self) -> Iterator[tuple[str, ColumnTexts]]:
        """Yield each documented column, with the aspect whose text is in use."""
        for path in self.ingested.order or self.edited.order:
            for track in (self.edited, self.ingested):
                if track.latest.get(path, "").strip():
                    yield path, track
                    break


def _elements(listed: Any) -> Iterator[tuple[str, str | None]]:
    for element in listed if isinstance(listed, list) else ():
        path = element.get("fieldPath") if isinstance(element, dict) else None
        if isinstance(path, str):
            text = element.get("description")
            yield path, text if isinstance(text, str) else None


_PAGE = 100
# Versions of a schema are large.
_SCHEMA_PAGE = 20
_AT_ONCE = 4


class HistoryMethods(CatalogMethods):
    """Reading versions of aspects."""

    async def versions(
        self, urn: str | Urn, aspect: str, *, start: int = 0, count: int = _PAGE
    ) -> Versions:
        """Return versions of an aspect, newest first: `count` of them after the first `start`.

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
    ) -> AsyncGenerator[Version, None]:
        """Yield every version of an aspect, newest first, each once, also when it is written to
        meanwhile. Costs what `versions` costs, a page at a time, as far as it is read.

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
        """Return what differs between two versions of an aspect; by default what the latest
        changed.

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
        """Return every change of a column's description, newest first, by ingestion and by people;
        empty where it never had one. `column` is its exact field path.

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
        """Return for each documented column, in the order of the schema, the change that gave it
        its present description: what people wrote where they wrote any, else what was ingested.

        Costs what `column_history` costs, but reads no further back than it takes: two requests
        where the latest 20 versions tell it.

        Example: `cat.blame(urn)`
        """
        target = Urn.parse(urn)
        found = Authorship()
        tracks = (found.edited, found.ingested)
        sources = [self._written(target, track.aspect) for track in tracks]
        # The latest of both say which text of a column is in use.
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
        """Return versions from the number `newest` downward, 0 being the latest."""
        if not (await self.abilities()).versions:
            return await self._walked(urn, aspect, newest, start, count)
        reply = await self._connection.ask(versions_request(urn, aspect, newest, start, count))
        return parse_versions(reply.body, urn, aspect, reply.as_of)

    async def _walked(self, urn: Urn, aspect: str, newest: int, start: int, count: int) -> Versions:
        """Return the same, with one request for each number."""
        known: dict[int, AspectRead] = {}
        if newest == 0:
            known[0] = await self._lookup(urn, aspect, 0)
            known |= await self._superseded(urn, aspect)
            older = range(max(known), 0, -1)
            numbers = [0, *older[: count - 1]] if start == 0 else list(older[start - 1 :][:count])
            total = 1 + len(older)
        else:
            numbers = list(range(newest, 0, -1)[start:][:count])
            total = newest
        found: list[Version] = []
        as_of = None
        for chunk in in_chunks(numbers, _AT_ONCE):
            looked = await gather_limited(
                (self._held(urn, aspect, at, known) for at in chunk), _AT_ONCE
            )
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
        """Return the version before the latest by its number, and others read on the way to it;
        none where there is only the latest."""
        try:
            before = await self._lookup(urn, aspect, -1)
        except REFUSALS:
            pass
        else:
            if before.version > 0:
                return {before.version: before}
        found: dict[int, AspectRead] = {}
        size = 1
        while True:
            numbers = range(len(found) + 1, len(found) + 1 + size)
            size = _AT_ONCE
            looked = await gather_limited(
                (self._held(urn, aspect, at, {}) for at in numbers), _AT_ONCE
            )
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
