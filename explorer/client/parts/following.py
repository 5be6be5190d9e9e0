"""What was changed, read from the change log or followed as it happens."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing

from explorer.client.answers.following import EventReader, parse_changes
from explorer.client.parts.part import CatalogMethods
from explorer.client.records import ChangeEvent, ChangePage
from explorer.client.requests.following import (
    ChangeQuery,
    change_query,
    changes_request,
    stream_request,
)
from explorer.errors import Busy, InvalidInput, ServerFault, Unreachable, Unusable
from explorer.metadata.urn import Urn

__all__ = ["ChangeLogMethods"]

_PAGE = 500
_POLL_SECONDS = 0.5
_FIRST_PAUSE_SECONDS = 0.25
_LAST_PAUSE_SECONDS = 15.0
_PATIENCE_SECONDS = 300.0


class ChangeLogMethods(CatalogMethods):
    """How one learns what changed. All of it may be narrowed to `urns`, to `aspects` and to
    `entities` (types) by their names.

    Raises `InvalidInput` on a server that keeps no change log, as DataHub's do not, and `Gone`
    when changes after the offset are not kept any more: read anew what you follow, and go on from
    its `resume_after` or from now.
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
        """A page of what was changed after an offset of the log, or from the first change that is
        kept, at most `limit` (a server may give fewer, ours 1,000); `values=False` leaves out what
        was written. One request, one more the first time. `changes(limit=0).head` is where the log
        ends.

        Example: `cat.changes(limit=10)`
        """
        narrowed = change_query(urns, aspects, entities, values=values)
        return await self._log_page(after, limit, narrowed)

    async def every_change(
        self,
        after: int | None = None,
        *,
        urns: Iterable[str | Urn] | None = None,
        aspects: Iterable[str] | None = None,
        entities: Iterable[str] | None = None,
        values: bool = True,
    ) -> AsyncIterator[ChangeEvent]:
        """Every change after an offset, or from the first that is kept, up to where the log ends
        by then. One request for 500.

        Example: `sum(1 for change in cat.every_change(urns=[urn]))`
        """
        narrowed = change_query(urns, aspects, entities, values=values)
        at = after
        while True:
            page = await self._log_page(at, _PAGE, narrowed)
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
    ) -> AsyncIterator[ChangeEvent]:
        """Changes as they happen, without end: from an offset, or from now on. Each comes once, in
        the order of the log.

        A stream that is cut is taken up where it was; `Unreachable` is raised when the server does
        not come back within five minutes. Where nothing can be streamed the log is asked twice a
        second. To leave, stop asking: closing the iterator, or being cancelled, hangs up.

        Example: `next(cat.follow(0))`
        """
        narrowed = change_query(urns, aspects, entities, values=True)
        at = (await self._log_page(0, 0, narrowed)).head if after is None else after
        await self._check_log()
        clock = asyncio.get_running_loop().time
        pause, heard, resumed = _FIRST_PAUSE_SECONDS, clock(), False
        while True:
            try:
                source = self._streamed(at, narrowed, resumed=resumed)
                async with aclosing(source) as pieces:
                    async for offset, change in pieces:
                        at, heard, pause = offset, clock(), _FIRST_PAUSE_SECONDS
                        if change is not None:
                            yield change
            except Unusable:
                break
            except Unreachable as error:
                if clock() - heard > _PATIENCE_SECONDS:
                    raise
                asked = error.retry_after_seconds if isinstance(error, Busy) else None
                pause = max(pause, asked or 0.0)
            resumed = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE_SECONDS)
        async with aclosing(self._polled(at, narrowed)) as changes:
            async for change in changes:
                yield change

    async def _streamed(
        self, after: int, narrowed: ChangeQuery, *, resumed: bool
    ) -> AsyncGenerator[tuple[int, ChangeEvent | None], None]:
        """How far the stream has come, with each change."""
        at, reader = after, EventReader()
        request = stream_request(after, narrowed, resumed=resumed)
        async with aclosing(self._connection.stream(request)) as lines:
            async for line in lines:
                piece = reader.read(line)
                if piece is not None:
                    at = at if piece.offset is None else piece.offset
                    yield at, piece.change
                elif not line or line.startswith(b":"):
                    # Nothing happened, and the server is there.
                    yield at, None

    async def _polled(self, after: int, narrowed: ChangeQuery) -> AsyncGenerator[ChangeEvent, None]:
        at = after
        while True:
            page = await self._log_page(at, _PAGE, narrowed)
            for change in page:
                yield change
            if page.truncated:
                at = _further(page, at)
            else:
                at = page.next
                await asyncio.sleep(_POLL_SECONDS)

    async def _log_page(self, after: int | None, limit: int, narrowed: ChangeQuery) -> ChangePage:
        await self._check_log()
        request = changes_request(after, limit, narrowed)
        return parse_changes((await self._connection.ask(request, fresh=True)).body)

    async def _check_log(self) -> None:
        if not (await self.abilities()).changes:
            raise InvalidInput(
                f"{self._connection.address} keeps no change log to read or follow; "
                "compare versions of aspects instead"
            )


def _further(page: ChangePage, at: int) -> int:
    """Where to go on from; raises `ServerFault` where that is no further than this page was."""
    if page.next <= at:
        raise ServerFault(
            f"the server's change log does not go on after {at:,}, and is not at its end"
        )
    return page.next
