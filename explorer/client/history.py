"""Versions of aspects, their differences, and who wrote the description of each column.

The authorship classes send no requests: they are given versions, newest first, as far back as
needed.
"""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.client.connection import CatalogMethods, gather_limited, in_chunks
from explorer.client.editable import earlier_entries
from explorer.client.entity import AspectRead, aspect_request, int_or, parse_aspect, parse_wrapper
from explorer.client.records import AspectDiff, ColumnChange, Origin, Version, Versions, difference
from explorer.client.transport import REFUSALS, Json, Request, as_object
from explorer.errors import InvalidInput, NotFound, ServerFault, Unreadable
from explorer.metadata.urn import Urn


def versions_request(urn: Urn, name: str, newest: int, start: int, count: int) -> Request:
    """Return a request to our own service for the versions of an aspect up to a number, newest
    first."""
    return Request(
        "GET",
        f"/versions/{urn.encoded}?aspect={quote(name, safe='')}"
        f"&from=1&to={newest}&start={start}&count={count}",
    )


def version_of(read: AspectRead) -> Version:
    """Return an aspect that was read as a `Version`."""
    return Version(read.version, read.value, read.created, read.run_id)


def parse_versions(body: Any, urn: Urn, name: str, as_of: datetime | None = None) -> Versions:
    """Parse a page of versions from our own service."""
    answer = as_object(body, "versions")
    listed = answer.get("versions")
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to versions lists none")
    versions = tuple(version_of(parse_wrapper(name, wrapper)) for wrapper in listed)
    start = int_or(answer.get("start"), 0)
    total = int_or(answer.get("total"), start + len(versions))
    return Versions(urn, name, versions, start, total, start + len(versions) < total, as_of)


_Texts = dict[str, str]


@dataclass(slots=True)
class ColumnTexts:
    """The column descriptions in one aspect, and their changes, collected from its versions."""

    origin: Origin
    aspect: str
    array: str
    latest: _Texts = field(default_factory=dict)
    order: tuple[str, ...] = ()
    changes: dict[str, list[ColumnChange]] = field(default_factory=dict)
    value: Json = field(default_factory=dict)
    _newer: tuple[Version, _Texts] | None = None

    def read(self, version: Version) -> None:
        """Add the next older version."""
        elements = tuple(_elements(version.value.get(self.array)))
        texts = {path: text for path, text in elements if text}
        if self._newer is None:
            self.latest, self.order = texts, tuple(dict.fromkeys(path for path, _ in elements))
            self.value = version.value
        else:
            self._compare(texts)
        self._newer = version, texts

    def end(self) -> None:
        """Record that there is no older version: all descriptions in the oldest version count as
        new."""
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
    """The column descriptions of both aspects, ingested and edited."""

    ingested: ColumnTexts = field(
        default_factory=lambda: ColumnTexts("ingested", "schemaMetadata", "fields")
    )
    edited: ColumnTexts = field(
        default_factory=lambda: ColumnTexts(
            "edited", "editableSchemaMetadata", "editableSchemaFieldInfo"
        )
    )

    def is_incomplete(self, track: ColumnTexts) -> bool:
        """Return whether a present description was written in a version older than those read."""
        return any(
            counting is track and path not in track.changes
            for _, path, counting in self._counting()
        )

    def of_column(self, path: str) -> tuple[ColumnChange, ...]:
        """Return all changes of one column, newest first. If its edited description was written
        under an earlier path, the changes at that path are included.

        A change without a time comes after the next newer change of the same aspect.
        """
        timed = []
        edited = [
            (self.edited, description_path) for description_path in self._description_paths(path)
        ]
        for track, track_path in (*edited, (self.ingested, path)):
            track.end()
            latest_millis: float = float("inf")
            for change in track.changes.get(track_path, ()):
                if change.created is not None:
                    latest_millis = min(latest_millis, change.created.time)
                timed.append((latest_millis, change))
        # The sort is stable, so each aspect's changes stay in order.
        timed.sort(key=lambda timed_change: timed_change[0], reverse=True)
        return tuple(change for _, change in timed)

    def blame_columns(self) -> dict[str, ColumnChange]:
        """Return the change that wrote the present description of each described column."""
        self.edited.end()
        self.ingested.end()
        return {column: track.changes[path][0] for column, path, track in self._counting()}

    def _description_paths(self, column: str) -> tuple[str, ...]:
        """Return the path of a column, and the earlier path, if any, under which its edited
        description was written before its type or case changed."""
        earlier = earlier_entries(self.edited.value, self.ingested.order)
        return (column, earlier[column]) if column in earlier else (column,)

    def _counting(self) -> Iterator[tuple[str, str, ColumnTexts]]:
        """Yield each described column with the path and the aspect of its present description."""
        earlier = earlier_entries(self.edited.value, self.ingested.order)
        for column in self.ingested.order or self.edited.order:
            places = ((column, self.edited), (earlier.get(column, ""), self.edited))
            for path, track in (*places, (column, self.ingested)):
                if track.latest.get(path, "").strip():
                    yield column, path, track
                    break


def _elements(listed: Any) -> Iterator[tuple[str, str | None]]:
    for element in listed if isinstance(listed, list) else ():
        path = element.get("fieldPath") if isinstance(element, dict) else None
        if isinstance(path, str):
            text = element.get("description")
            yield path, text if isinstance(text, str) else None


_PAGE = 100
# Smaller, because versions of a schema are large.
_SCHEMA_PAGE = 20
_AT_ONCE = 4


class HistoryMethods(CatalogMethods):
    """Methods that read versions of aspects and their differences."""

    async def versions(
        self, urn: str | Urn, aspect: str, *, start: int = 0, count: int = _PAGE
    ) -> Versions:
        """Return `count` versions of an aspect, newest first, from position `start`.

        One request if the server lists versions (`Abilities.versions`). On other servers they are
        read one by one: two requests and one for each version, or, if the server does not count
        back from the latest, one for each version that the aspect ever had. Such servers may have
        dropped old versions; versions older than a missing one are not found.

        Raises `NotFound` if the entity lacks the aspect, `InvalidInput` for a timeseries aspect.

        Example: `cat.versions(urn, "schemaMetadata")`
        """
        target = Urn.parse(urn)
        if not isinstance(aspect, str):
            raise InvalidInput(f"give the name of an aspect, not {aspect!r:.80}")
        if start < 0 or count < 1:
            raise InvalidInput(
                f"start must be at least 0 and count at least 1, not {start} and {count}"
            )
        declared = self.registry.aspects.get(aspect)
        if declared is not None and declared.timeseries:
            raise InvalidInput(f"{aspect} is a timeseries and has no versions; read its points")
        return await self._versions(target, aspect, 0, start, count)

    async def every_version(
        self, urn: str | Urn, aspect: str, *, page_size: int = _PAGE
    ) -> AsyncGenerator[Version, None]:
        """Yield all versions of an aspect, newest first, each once, even if it is written to
        meanwhile.

        Each page that is read costs the requests of `versions`.

        Example: `list(cat.every_version(urn, "schemaMetadata"))`
        """
        target = Urn.parse(urn)
        # The second version's number (the first is always 0) says where the next page begins, even
        # if something is written in between.
        size = max(page_size, 2)
        versions = await self.versions(target, aspect, count=size)
        below: float = float("inf")
        while True:
            for version in versions:
                yield version
            last = versions.versions[-1].number if versions.versions else 0
            if not versions.truncated or last <= 1:
                return
            if last >= below:
                raise ServerFault(
                    f"the server returned versions of {aspect} that were not requested"
                )
            below = last
            versions = await self._versions(target, aspect, last - 1, 0, size)

    async def diff(
        self, urn: str | Urn, aspect: str, older: int = -1, newer: int = 0
    ) -> AspectDiff:
        """Return the differences between two versions of an aspect, by default the latest two.

        Version 0 is the latest, 1 the oldest; negative numbers count back from the latest, -1 being
        the one before it. One or two requests if the server lists versions, else those of reading
        each. Raises `NotFound` if there is no such version.

        Example: `cat.diff(urn, "schemaMetadata")`
        """
        target = Urn.parse(urn)
        if (older, newer) == (-1, 0):
            versions = (await self.versions(target, aspect, count=2)).versions
            if len(versions) < 2:
                raise NotFound(f"{aspect} of {target} has one version only; nothing came before it")
            new, old = versions
        else:
            old = await self._version(target, aspect, older)
            new = await self._version(target, aspect, newer)
        return AspectDiff(target, aspect, old, new, difference(old.value, new.value))

    async def column_history(self, urn: str | Urn, column: str) -> tuple[ColumnChange, ...]:
        """Return all changes of a column's description, newest first, by ingestion and by people.

        Empty if it never had one. `column` is its exact field path. Reads all versions of the
        ingested and the edited schema: one request for each 20 of either if the server lists
        versions, else one for each.

        Example: `cat.column_history(urn, "order_id")`
        """
        target = Urn.parse(urn)
        authorship = Authorship()
        for track in (authorship.edited, authorship.ingested):
            async for version in self._walk_writes(target, track.aspect):
                track.read(version)
        return authorship.of_column(column)

    async def blame(self, urn: str | Urn) -> dict[str, ColumnChange]:
        """Return the change that wrote the present description of each described column, in schema
        order.

        The present description is the edited one, or the ingested one if there is none. Costs at
        most the requests of `column_history`, but reads only as far back as needed: two requests if
        the latest 20 versions suffice.

        Example: `cat.blame(urn)`
        """
        target = Urn.parse(urn)
        authorship = Authorship()
        tracks = (authorship.edited, authorship.ingested)
        sources = [self._walk_writes(target, track.aspect) for track in tracks]
        # The latest versions of both aspects decide which description of a column is shown.
        for track, source in zip(tracks, sources, strict=True):
            async for version in source:
                track.read(version)
                break
        for track, source in zip(tracks, sources, strict=True):
            while authorship.is_incomplete(track):
                older = await anext(source, None)
                if older is None:
                    break
                track.read(older)
            await source.aclose()
        return authorship.blame_columns()

    async def _walk_writes(self, urn: Urn, aspect: str) -> AsyncGenerator[Version, None]:
        try:
            async for version in self.every_version(urn, aspect, page_size=_SCHEMA_PAGE):
                yield version
        except NotFound:
            return

    async def _version(self, urn: Urn, aspect: str, number: int) -> Version:
        if number < 0:
            versions = await self.versions(urn, aspect, start=-number, count=1)
        else:
            versions = await self._versions(urn, aspect, number, 0, 1)
        if not versions.versions or (number >= 0 and versions.versions[0].number != number):
            raise NotFound(f"{aspect} of {urn} has no version {number}")
        return versions.versions[0]

    async def _versions(
        self, urn: Urn, aspect: str, newest: int, start: int, count: int
    ) -> Versions:
        """Return versions in descending order from the number `newest`; 0 is the latest."""
        if not (await self.abilities()).versions:
            return await self._read_one_by_one(urn, aspect, newest, start, count)
        reply = await self._connection.ask(versions_request(urn, aspect, newest, start, count))
        return parse_versions(reply.body, urn, aspect, reply.as_of)

    async def _read_one_by_one(
        self, urn: Urn, aspect: str, newest: int, start: int, count: int
    ) -> Versions:
        """Return the versions that `_versions` would, with one request for each number."""
        aspect_reads: dict[int, AspectRead] = {}
        if newest == 0:
            aspect_reads[0] = await self._lookup(urn, aspect, 0)
            aspect_reads |= await self._read_previous(urn, aspect)
            older = range(max(aspect_reads), 0, -1)
            numbers = [0, *older[: count - 1]] if start == 0 else list(older[start - 1 :][:count])
            total = 1 + len(older)
        else:
            numbers = list(range(newest, 0, -1)[start:][:count])
            total = newest
        versions: list[Version] = []
        as_of = None
        for chunk in in_chunks(numbers, _AT_ONCE):
            chunk_reads = await gather_limited(
                (self._find_version(urn, aspect, at, aspect_reads) for at in chunk), _AT_ONCE
            )
            for number, aspect_read in zip(chunk, chunk_reads, strict=True):
                if aspect_read is None:
                    # The server dropped this version and all older ones.
                    total = start + len(versions)
                    return Versions(urn, aspect, tuple(versions), start, total, as_of=as_of)
                versions.append(
                    Version(number, aspect_read.value, aspect_read.created, aspect_read.run_id)
                )
                as_of = min(filter(None, (as_of, aspect_read.as_of)), default=None)
        more = start + len(versions) < total
        counted = None if more and 1 not in aspect_reads else total
        return Versions(urn, aspect, tuple(versions), start, counted, more, as_of)

    async def _read_previous(self, urn: Urn, aspect: str) -> dict[int, AspectRead]:
        """Return the version before the latest, and others that were read to find it, by number.

        Empty if there is only the latest.
        """
        try:
            before = await self._lookup(urn, aspect, -1)
        except REFUSALS:
            pass
        else:
            if before.version > 0:
                return {before.version: before}
        aspect_reads: dict[int, AspectRead] = {}
        size = 1
        while True:
            numbers = range(len(aspect_reads) + 1, len(aspect_reads) + 1 + size)
            size = _AT_ONCE
            chunk_reads = await gather_limited(
                (self._find_version(urn, aspect, at, {}) for at in numbers), _AT_ONCE
            )
            for number, aspect_read in zip(numbers, chunk_reads, strict=True):
                if aspect_read is None:
                    return aspect_reads
                aspect_reads[number] = aspect_read

    async def _find_version(
        self, urn: Urn, aspect: str, number: int, aspect_reads: dict[int, AspectRead]
    ) -> AspectRead | None:
        try:
            return aspect_reads.get(number) or await self._lookup(urn, aspect, number)
        except NotFound:
            return None

    async def _lookup(self, urn: Urn, aspect: str, number: int) -> AspectRead:
        reply = await self._connection.ask(aspect_request(urn, aspect, number))
        return parse_aspect(reply.body, aspect, reply.as_of)
