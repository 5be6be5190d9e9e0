"""The change log: read in pages, or followed as a stream of server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from explorer.client.connection import CatalogMethods
from explorer.client.records import ChangeEvent, ChangePage
from explorer.client.transport import Json, Request, as_object, read_as, value_of
from explorer.errors import Busy, InvalidInput, ServerFault, Unreachable, Unreadable, Unsupported
from explorer.metadata.proposal import NO_RUN
from explorer.metadata.urn import Urn

ChangeQuery = str
"""The part of a query string that selects changes; each parameter begins with `&`."""


OnContact = Callable[[Unreachable | None], None]
"""Called with the error when the server cannot be reached, and with `None` when it answers."""


def change_query(
    urns: Iterable[str | Urn] | None,
    aspects: Iterable[str] | None,
    entities: Iterable[str] | None,
    *,
    values: bool,
) -> ChangeQuery:
    """Return the part of a query string that selects changes; empty for all changes. Raises
    `InvalidUrn`."""
    parts = [f"&urn={Urn.parse(urn).encoded}" for urn in urns or ()]
    parts += [f"&aspect={quote(name, safe='')}" for name in aspects or ()]
    parts += [f"&entity={quote(name, safe='')}" for name in entities or ()]
    return "".join(parts) + ("" if values else "&values=false")


def changes_request(after: int | None, limit: int, query: ChangeQuery) -> Request:
    """Return a request for the changes after an offset, or from the first in the log."""
    begin = "" if after is None else f"after={after}&"
    return Request("GET", f"/changes?{begin}limit={limit}{query}")


def stream_request(after: int, query: ChangeQuery, *, resumed: bool) -> Request:
    """Return a request for the stream of changes after an offset.

    `resumed` is true if it continues an earlier stream.
    """
    headers = [("Accept", "text/event-stream")]
    if resumed:
        headers.append(("Last-Event-ID", str(after)))
    return Request("GET", f"/changes/stream?after={after}{query}", headers=tuple(headers))


@read_as("changes")
def parse_changes(body: Any) -> ChangePage:
    """Parse a page of the change log."""
    value = value_of(body, "changes")
    listed = tuple(_parse_change(entry) for entry in value.get("changes") or ())
    return ChangePage(listed, int(value.get("next", 0)), int(value.get("head", 0)))


_MAX_EVENT_BYTES = 64 * 1024 * 1024
_MAX_OFFSET_DIGITS = 18


class StreamEvent(NamedTuple):
    """One event of a stream: its offset, and its change, if it is an event of type `change`."""

    offset: int | None
    change: ChangeEvent | None


class EventReader:
    """A parser of server-sent events, fed line by line."""

    def __init__(self) -> None:
        self._id: int | None = None
        self._name = ""
        self._data: list[bytes] = []
        self._bytes = 0

    def read(self, line: bytes) -> StreamEvent | None:
        """Return the event that a line completes, or `None`.

        Comments, which keep the connection alive, and events without an id complete none.
        """
        if line:
            self._take(line)
            return None
        offset, name, data = self._id, self._name, b"\n".join(self._data)
        self._id, self._name, self._data, self._bytes = None, "", [], 0
        if data and name == "change":
            return StreamEvent(offset, _parse_change(_parse_json(data)))
        return None if offset is None else StreamEvent(offset, None)

    def _take(self, line: bytes) -> None:
        field, _, text = line.partition(b":")
        text = text.removeprefix(b" ")
        match field:
            case b"id" if text.isdigit() and len(text) <= _MAX_OFFSET_DIGITS:
                self._id = int(text)
            case b"event":
                self._name = text.decode(errors="replace")
            case b"data":
                self._bytes += len(text)
                if self._bytes > _MAX_EVENT_BYTES:
                    raise Unreadable("the server's stream of changes has an event without an end")
                self._data.append(text)


@read_as("a change")
def _parse_change(entry: Any) -> ChangeEvent:
    change = as_object(entry, "a change")
    created = as_object(change.get("created") or {}, "a change")
    system = as_object(change.get("systemMetadata") or {}, "a change")
    run = str(system.get("runId") or "")
    return ChangeEvent(
        int(change["offset"]),
        Urn.parse(change["entityUrn"]),
        str(change["aspectName"]),
        str(change["changeType"]),
        _parse_value(change.get("aspect")),
        _parse_value(change.get("previousAspectValue")),
        datetime.fromtimestamp(int(created.get("time", 0)) / 1000, UTC),
        str(created.get("actor", "")),
        "" if run == NO_RUN else run,
    )


def _parse_value(envelope: Any) -> Json | None:
    if not isinstance(envelope, dict):
        return None
    return as_object(_parse_json(envelope.get("value", "")), "a change's value")


def _parse_json(data: str | bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"a change cannot be read: {error}") from error


_PAGE = 500
_POLL_SECONDS = 0.5
_FIRST_PAUSE_SECONDS = 0.25
_LAST_PAUSE_SECONDS = 5.0
_PATIENCE_SECONDS = 300.0


class ChangeLogMethods(CatalogMethods):
    """Methods that read and follow the change log.

    All accept `urns`, `aspects` (names) and `entities` (entity types) to select changes. They raise
    `InvalidInput` on a server without a change log, such as DataHub's, and `Gone` if the log no
    longer holds changes after the offset: read the entities again, and continue from the error's
    `resume_after` or from now.
    """

    async def changes(
        self,
        after: int | None = None,
        *,
        limit: int = 100,
        urns: Iterable[str | Urn] | None = None,
        aspects: Iterable[str] | None = None,
        entities: Iterable[str] | None = None,
        values: bool = True,
    ) -> ChangePage:
        """Return a page of the changes after an offset, or from the first in the log.

        At most `limit` changes; a server may return fewer (ours at most 1,000). `values=False`
        leaves out the values. `changes(limit=0).head` is the last offset in the log. One request,
        and one more for the first call.

        Example: `cat.changes(limit=10)`
        """
        query = change_query(urns, aspects, entities, values=values)
        return await self._log_page(after, limit, query)

    async def every_change(
        self,
        after: int | None = None,
        *,
        urns: Iterable[str | Urn] | None = None,
        aspects: Iterable[str] | None = None,
        entities: Iterable[str] | None = None,
        values: bool = True,
    ) -> AsyncGenerator[ChangeEvent, None]:
        """Yield all changes after an offset, or from the first, to the end of the log.

        One request for each 500 changes.

        Example: `sum(1 for change in cat.every_change(urns=[urn]))`
        """
        query = change_query(urns, aspects, entities, values=values)
        at = after
        while True:
            page = await self._log_page(at, _PAGE, query)
            for change in page:
                yield change
            if not page.truncated:
                return
            at = _further(page, at or 0)

    async def follow(
        self,
        after: int | None = None,
        *,
        urns: Iterable[str | Urn] | None = None,
        aspects: Iterable[str] | None = None,
        entities: Iterable[str] | None = None,
        on_contact: OnContact | None = None,
    ) -> AsyncGenerator[ChangeEvent, None]:
        """Yield changes as they happen, without end, each once and in the order of the log.

        Begins after the given offset, or with changes from now on. A stream that breaks off is
        resumed at its offset; `Unreachable` is raised if the server does not come back within five
        minutes. If the transport cannot stream, the log is polled twice a second. Closing the
        generator, or cancelling the task, ends the stream.

        `on_contact` is called with the error when two attempts in a row got no answer, and with
        `None` when the changes begin to arrive, at first and after each break. It runs on the
        client's own thread.

        Example: `next(cat.follow(0))`
        """
        query = change_query(urns, aspects, entities, values=True)
        at = (await self._log_page(0, 0, query)).head if after is None else after
        await self._check_log()
        clock = asyncio.get_running_loop().time
        pause, heard, resumed = _FIRST_PAUSE_SECONDS, clock(), False
        failures = 0
        while True:
            begins = True
            try:
                source = self._stream_changes(at, query, resumed=resumed)
                async with aclosing(source) as pieces:
                    async for offset, change in pieces:
                        at, heard, pause = offset, clock(), _FIRST_PAUSE_SECONDS
                        if begins and on_contact is not None:
                            on_contact(None)
                        begins, failures = False, 0
                        if change is not None:
                            yield change
            except Unsupported:
                break
            except Unreachable as error:
                if clock() - heard > _PATIENCE_SECONDS:
                    raise
                failures += 1
                if failures > 1 and on_contact is not None:
                    on_contact(error)
                least_pause = error.retry_after_seconds if isinstance(error, Busy) else None
                pause = max(pause, least_pause or 0.0)
            resumed = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE_SECONDS)
        async with aclosing(self._poll(at, query, on_contact)) as changes:
            async for change in changes:
                yield change

    async def _stream_changes(
        self, after: int, query: ChangeQuery, *, resumed: bool
    ) -> AsyncGenerator[tuple[int, ChangeEvent | None], None]:
        """Yield pairs of the offset reached and a change; the change is `None` if the server only
        showed that it is alive."""
        at, reader = after, EventReader()
        request = stream_request(after, query, resumed=resumed)
        async with aclosing(self._connection.stream(request)) as lines:
            async for line in lines:
                piece = reader.read(line)
                if piece is not None:
                    at = at if piece.offset is None else piece.offset
                    yield at, piece.change
                elif not line or line.startswith(b":"):
                    # No change, but a sign that the server is alive.
                    yield at, None

    async def _poll(
        self, after: int, query: ChangeQuery, on_contact: OnContact | None
    ) -> AsyncGenerator[ChangeEvent, None]:
        at, begins = after, True
        while True:
            page = await self._log_page(at, _PAGE, query)
            if begins and on_contact is not None:
                on_contact(None)
            begins = False
            for change in page:
                yield change
            if page.truncated:
                at = _further(page, at)
            else:
                at = page.next
                await asyncio.sleep(_POLL_SECONDS)

    async def _log_page(self, after: int | None, limit: int, query: ChangeQuery) -> ChangePage:
        await self._check_log()
        request = changes_request(after, limit, query)
        return parse_changes((await self._connection.ask(request, fresh=True)).body)

    async def _check_log(self) -> None:
        if not (await self.abilities()).changes:
            raise InvalidInput(
                f"{self._connection.address} has no change log to read or follow; "
                "compare versions of aspects instead"
            )


def _further(page: ChangePage, at: int) -> int:
    """Return the offset of the next page. Raises `ServerFault` if it does not advance."""
    if page.next <= at:
        raise ServerFault(
            f"the server's change log does not continue after offset {at:,}, which is not its end"
        )
    return page.next
