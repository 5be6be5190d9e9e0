"""Paging through long results: how pages are requested, and the iterators over their items.

A source of pages advances only when an answer arrives: if a request failed or was cancelled, the
next call requests the same page again.
"""

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Hashable,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from explorer.client.blocking_face import BlockingFace
from explorer.client.transport import REFUSALS
from explorer.errors import InvalidInput, ServerFault

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

WINDOW = 10_000
"""The number of results that servers let a client page through by position."""


@dataclass(frozen=True, slots=True)
class Portion(Generic[_T_co]):
    """The items of one answer.

    `count` is the number of entries in the answer, including those that could not be parsed, and
    `total` the number in the whole result. `last` is true if nothing follows; `cut` is the reason
    why the rest cannot be read; `standing` is true if the server sent the same cursor as before;
    `repeats` is true if some items may have been returned already.
    """

    items: tuple[_T_co, ...]
    count: int
    total: int | None
    last: bool = False
    cut: str | None = None
    standing: bool = False
    repeats: bool = False


class Walk(Protocol[_T_co]):
    """A source of pages, read one after another."""

    async def next(self) -> Portion[_T_co]:
        """Return the next portion."""
        ...


class ByStart(Generic[_T]):
    """Pages by offset.

    `ask` gets the offset and a count; it returns the portion and the offset of the next one, which
    depends on the number of entries that the server returned.
    """

    def __init__(
        self, ask: Callable[[int, int], Awaitable[tuple[Portion[_T], int]]], size: int
    ) -> None:
        self._ask = ask
        self._size = size
        self._at = 0

    async def next(self) -> Portion[_T]:
        """Return the next portion. If the server refuses an offset above 10,000, as search engines
        do, the portion is empty and `cut` says why."""
        within = self._at < WINDOW
        count = min(self._size, WINDOW - self._at) if within else self._size
        try:
            portion, self._at = await self._ask(self._at, count)
        except (InvalidInput, ServerFault) as error:
            if within:
                raise
            why = f"the server gives no more than the first {self._at:,} ({error})"
            return Portion((), 0, None, cut=why)
        return portion


class ByScroll(Generic[_T]):
    """Pages by cursor.

    `ask` gets the cursor from the last answer; it returns the portion and the next cursor, `None`
    after the last.
    """

    def __init__(
        self, ask: Callable[[str | None], Awaitable[tuple[Portion[_T], str | None]]]
    ) -> None:
        self._ask = ask
        self._place: str | None = None

    async def next(self) -> Portion[_T]:
        """Return the next portion."""
        portion, place = await self._ask(self._place)
        standing = place is not None and place == self._place
        self._place = place
        return replace(portion, last=place is None, standing=standing)


class FirstThatWorks(Generic[_T]):
    """The first of several sources of pages that the server supports, chosen with the first
    portion.

    `has` records, by the name of each source, whether the server supports it.
    """

    def __init__(
        self, walks: Sequence[tuple[str, Walk[_T]]], has: MutableMapping[str, bool]
    ) -> None:
        *better, (_, self._last) = walks
        self._better = [(name, walk) for name, walk in better if has.get(name, True)]
        self._has = has
        self._chosen: Walk[_T] | None = None

    async def next(self) -> Portion[_T]:
        """Return the next portion. Raises the error of the last source if none works."""
        if self._chosen is not None:
            return await self._chosen.next()
        lacking = []
        for name, walk in self._better:
            try:
                portion = await walk.next()
            except REFUSALS as error:
                if self._has.get(name):
                    # The source worked before, so this request itself was refused.
                    raise
                if not isinstance(error, ServerFault):
                    lacking.append(name)
            else:
                return self._choose(walk, portion, dict.fromkeys(lacking, False) | {name: True})
        return self._choose(self._last, await self._last.next(), dict.fromkeys(lacking, False))

    def _choose(
        self, walk: Walk[_T], portion: Portion[_T], learned: dict[str, bool]
    ) -> Portion[_T]:
        # Recorded only after a source worked: before that, the others may have refused the request
        # itself.
        self._has.update(learned)
        self._chosen = walk
        return portion


class RankedPages(Generic[_T]):
    """Ranked results as far as the server supports offsets, then the remaining ones from another
    source."""

    def __init__(self, first: Walk[_T], rest: Walk[_T]) -> None:
        self._first = first
        self._rest = rest
        self._cut: str | None = None
        self._resting = False

    async def next(self) -> Portion[_T]:
        """Return the next portion."""
        if self._cut is None:
            portion = await self._first.next()
            if portion.cut is None:
                return portion
            self._cut = portion.cut
        try:
            further = await self._rest.next()
        except REFUSALS:
            if self._resting:
                raise
            return Portion((), 0, None, cut=self._cut)
        self._resting = True
        return replace(further, repeats=True)


_P = ParamSpec("_P")


# A single page without new items does not mean the end: entries may have been added before the
# present position.
_MOST_WITHOUT_NEWS = 3


class Pager(Generic[_T]):
    """All items of a result, one by one (`async for`) or page by page (`page()`).

    The first request is sent for the first item; from then on one page is fetched ahead; leaving
    the iteration cancels that request. After an error, or after it was left, an iteration continues
    at the same position, first with the rest of the current page.

    `total`           the total that the server last sent; `None` before the first page
    `returned_count`  the number of items returned
    `repeated`        the number of items that came twice and were left out
    `shifted`         whether the result changed meanwhile: an item came twice, the total changed,
                      or the server returned fewer items than its total
    `truncated`       at the end: whether there are more items than were returned
    `why`             the reasons for `shifted` and `truncated`, in words; `None` if neither is true
    """

    def __init__(
        self, walk: Walk[_T], *, key: Callable[[_T], Hashable], limit: int | None = None
    ) -> None:
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit must be at least 1, or None for everything, not {limit}")
        self.total: int | None = None
        self.returned_count = 0
        self.repeated = 0
        self.truncated = False
        self._walk = walk
        self._key = key
        self._limit = limit
        self._ready: deque[_T] = deque()
        self._returned: set[Hashable] = set()
        self._read_count = 0
        self._without_news = 0
        self._total_moved: tuple[int, int] | None = None
        self._short: str | None = None
        self._cut: str | None = None
        self._ended = False
        self._ahead: asyncio.Task[Portion[_T]] | None = None
        self._lock = asyncio.Lock()

    @property
    def shifted(self) -> bool:
        """Whether the result changed while it was read."""
        return bool(self.repeated or self._total_moved or self._short)

    @property
    def why(self) -> str | None:
        """The reasons for `shifted` and `truncated`, in words, or `None`."""
        reasons = [reason for reason in (self._cut, self._short) if reason]
        if self._total_moved:
            before, after = self._total_moved
            reasons.append(f"there were {before:,}, then {after:,}")
        if self.repeated:
            reasons.append(f"{self.repeated:,} came twice, given once")
        return "; ".join(reasons) or None

    async def __aiter__(self) -> AsyncGenerator[_T, None]:
        # A generator, because leaving a loop early closes one, but not a plain iterator.
        try:
            while await self._fill():
                self.returned_count += 1
                yield self._ready.popleft()
        finally:
            await self.pause()

    async def __anext__(self) -> _T:
        if not await self._fill():
            raise StopAsyncIteration
        self.returned_count += 1
        return self._ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def page(self) -> tuple[_T, ...]:
        """Return the next page; empty after the last. Usually it was already requested ahead."""
        await self._fill()
        page = tuple(self._ready)
        self._ready.clear()
        self.returned_count += len(page)
        return page

    async def pause(self) -> None:
        """Cancel the request that fetches ahead; it is sent again for the next item."""
        ahead = self._ahead
        if ahead is None:
            return
        ahead.cancel()
        await asyncio.wait((ahead,))
        # If the answer still arrived, it is kept, because the source has advanced past it.
        if self._ahead is ahead and (ahead.cancelled() or ahead.exception() is not None):
            self._ahead = None

    async def aclose(self) -> None:
        """Cancel the request that fetches ahead, and return no more items."""
        self._ended = True
        self._ready.clear()
        await self.pause()

    async def _fill(self) -> bool:
        """Fetch pages until there is an item; return whether there is one."""
        async with self._lock:
            while not self._ready and not self._ended:
                portion = await self._next()
                if portion is not None:
                    self._take(portion)
                if not self._ended:
                    self._begin()
        return bool(self._ready)

    async def _next(self) -> Portion[_T] | None:
        """Return the next portion, or `None` if the pager was closed meanwhile."""
        while not self._ended:
            task = self._ahead or self._begin()
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError:
                await self.pause()
                raise
            if self._ahead is task:
                self._ahead = None
            # It is cancelled if another iteration over this pager was left during the wait.
            if not task.cancelled():
                return task.result()
        return None

    def _begin(self) -> asyncio.Task[Portion[_T]]:
        self._ahead = task = asyncio.ensure_future(self._walk.next())
        # Retrieved even if no one awaits it, because asyncio logs exceptions never retrieved.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _take(self, portion: Portion[_T]) -> None:
        fresh = self._new_in(portion)
        self._count(portion, len(fresh))
        room = len(fresh) if self._limit is None else self._limit - len(self._returned)
        self._returned.update(map(self._key, fresh[:room]))
        self._ready.extend(fresh[:room])
        self._finish(portion, fresh)
        if self._limit is not None and len(self._returned) == self._limit:
            if len(fresh) > room or not self._ended:
                self.truncated = True
                self._cut = f"only the first {self._limit:,} were asked for"
            self._ended = True

    def _new_in(self, portion: Portion[_T]) -> list[_T]:
        fresh: dict[Hashable, _T] = {}
        for item in portion.items:
            key = self._key(item)
            if key not in self._returned and key not in fresh:
                fresh[key] = item
        if not portion.repeats:
            self.repeated += len(portion.items) - len(fresh)
        return list(fresh.values())

    def _count(self, portion: Portion[_T], fresh: int) -> None:
        self._read_count += fresh if portion.repeats else portion.count
        self._without_news = 0 if fresh or portion.repeats else self._without_news + 1
        if portion.total is None:
            return
        if self.total is not None and portion.total != self.total:
            first = self._total_moved[0] if self._total_moved else self.total
            self._total_moved = (first, portion.total)
        self.total = portion.total

    def _finish(self, portion: Portion[_T], fresh: list[_T]) -> None:
        """Record whether the portion was the last one, and why the result is incomplete."""
        if portion.cut is not None:
            self.truncated = self.total is None or self._read_count < self.total
            self._cut = portion.cut if self.truncated else None
            self._ended = True
            return
        stuck = (portion.standing and not fresh) or self._without_news >= _MOST_WITHOUT_NEWS
        exhausted = portion.last or not portion.count
        complete = (
            self.total is not None and self._read_count >= self.total and not self._total_moved
        )
        self._ended = stuck or exhausted or complete
        if not self._ended or self.total is None or self._read_count == self.total:
            return
        if stuck:
            self._short = "the server gave the same again and again"
            self.truncated = len(self._returned) < self.total
        elif self._total_moved is None:
            self._short = f"the server said {self.total:,} and gave {self._read_count:,}"


# The number of items before the last page that are kept, for a list that is scrolled back a little.
_KEPT = 1_000


class PagesAt(Generic[_T]):
    """The items of a pager by position. They are read in order, and only the last ones are kept."""

    def __init__(self, pager: Pager[_T]) -> None:
        self._pager = pager
        self._items: list[_T] = []
        self._lock = asyncio.Lock()
        self.begin = 0
        """The first position that can still be read."""

    async def read(self, start: int, count: int) -> list[_T]:
        """Return at most `count` items from position `start`, which is not before `begin`.

        Costs a request for each page up to there. Raises `InvalidInput` if the server does not give
        the items there.
        """
        async with self._lock:
            try:
                while (end := self.begin + len(self._items)) < start + count:
                    if not (page := await self._pager.page()):
                        break
                    forgotten = max(min(start, end - _KEPT) - self.begin, 0)
                    self._items = [*self._items[forgotten:], *page]
                    self.begin += forgotten
            finally:
                await self._pager.pause()
            items = self._items[start - self.begin :][:count]
            if not items and self._pager.truncated:
                raise InvalidInput(f"there is no page at {start:,}: {self._pager.why}")
            return items


class Pages(Generic[_T]):
    """A blocking `Pager`, with `for`, `page()` and the same properties. For one thread at a
    time."""

    def __init__(self, pager: Pager[_T], face: BlockingFace) -> None:
        self._pager = pager
        self._face = face
        self._ready: deque[_T] = deque()

    @property
    def total(self) -> int | None:
        """The total that the server last sent; `None` before the first page."""
        return self._pager.total

    @property
    def returned_count(self) -> int:
        """The number of items returned."""
        return self._pager.returned_count - len(self._ready)

    @property
    def repeated(self) -> int:
        """The number of items that came twice and were left out."""
        return self._pager.repeated

    @property
    def truncated(self) -> bool:
        """At the end: whether there are more items than were returned."""
        return self._pager.truncated

    @property
    def shifted(self) -> bool:
        """Whether the result changed while it was read."""
        return self._pager.shifted

    @property
    def why(self) -> str | None:
        """The reasons for `shifted` and `truncated`, in words, or `None`."""
        return self._pager.why

    def __iter__(self) -> Generator[_T, None, None]:
        try:
            while self._ready or self._fill():
                yield self._ready.popleft()
        finally:
            self._face.leave(self._pager.pause())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def page(self) -> tuple[_T, ...]:
        """Return the next page; empty after the last. Usually it was already requested ahead."""
        if not self._ready:
            self._fill()
        page = tuple(self._ready)
        self._ready.clear()
        return page

    def close(self) -> None:
        """Cancel the request that fetches ahead, and return no more items."""
        self._ready.clear()
        self._face.leave(self._pager.aclose())

    def _fill(self) -> bool:
        self._ready.extend(self._face.wait(self._pager.page()))
        return bool(self._ready)


def as_pages(
    method: Callable[Concatenate[Any, _P], Pager[_T]],
) -> Callable[Concatenate[BlockingFace, _P], Pages[_T]]:
    """Return the blocking counterpart of a method that returns a `Pager`."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: _P.args, **kwargs: _P.kwargs) -> Pages[_T]:
        return Pages(method(self.core, *args, **kwargs), self)

    return call
