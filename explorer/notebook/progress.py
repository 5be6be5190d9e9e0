"""Progress bars for long work, which can be interrupted.

Nothing is shown for work that ends within a second. An interrupt (Ctrl-C, or the kernel's stop
button) cancels the request under way; the catalog can be used again right away.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sized
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from explorer.client.blocking_face import BlockingFace
    from explorer.stewardship.documentation import Progress

_T = TypeVar("_T")

_QUIET_SECONDS = 1.0
_TICK_SECONDS = 0.2
_GRACE_SECONDS = 5.0


class _Bar(Protocol):
    """The part of tqdm's interface that is used."""

    n: float
    total: float | None

    def update(self, n: float = 1) -> bool | None: ...

    def refresh(self) -> object: ...

    def close(self) -> object: ...


def each(
    items: Iterable[_T], what: str, *, total: int | Callable[[], int | None] | None = None
) -> Generator[_T, None, None]:
    """Yield the items, and show a progress bar once they take longer than a second.

    `total` may become known, or change, while items arrive.
    """
    ask = total if callable(total) else lambda: total
    begun, bar = time.monotonic(), None
    try:
        for done, item in enumerate(items, start=1):
            if bar is None and time.monotonic() - begun > _QUIET_SECONDS:
                bar = _bar(what)
            if bar is not None:
                bar.total = ask()
                bar.update(done - bar.n)
            yield item
    finally:
        if bar is not None:
            bar.close()


@contextmanager
def steps() -> "Iterator[Callable[[str, int, int | None], None]]":
    """Yield a function that takes the name of a step, its progress and its total; it shows a
    progress bar after a second."""
    begun, bar, step = time.monotonic(), None, ""

    def tell(what: str, done: int, total: int | None) -> None:
        nonlocal bar, step
        if time.monotonic() - begun < _QUIET_SECONDS:
            return
        if bar is None or what != step:
            if bar is not None:
                bar.close()
            bar, step = _bar(what), what
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()


def with_progress(
    waiting: "BlockingFace", work: "Callable[[Progress], Coroutine[Any, Any, _T]]", what: str
) -> _T:
    """Run work on the thread of `waiting`, and return its result.

    `work` gets a function that reports its progress; a bar shows it, or the elapsed seconds, after
    the first second. Raises what the work raised. An interrupt cancels the work and waits for its
    end.
    """
    # Raises on the client's own thread, where waiting would never end: the work itself is waited
    # for on another thread, which would not notice.
    waiting.wait(asyncio.sleep(0))
    running = _Running(waiting, work)
    try:
        running.begin()
        if running.wait(_QUIET_SECONDS):
            return running.result()
        bar = _bar(what)
        try:
            while not running.wait(_TICK_SECONDS):
                bar.n, bar.total = running.progress
                bar.refresh()
        finally:
            bar.close()
    except BaseException:
        running.cancel()
        raise
    return running.result()


def counting(items: Iterable[_T], tell: "Progress") -> Iterable[_T]:
    """Return the items so that iterating over them reports the number taken to `tell`; if their
    total is unknown, return them unchanged."""
    return _CountedItems(items, tell) if isinstance(items, Sized) else items


class _CountedItems(Generic[_T]):
    def __init__(self, items: Iterable[_T], tell: "Progress") -> None:
        self._items = items
        self._note_progress = tell
        self._size = len(items) if isinstance(items, Sized) else 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_T]:
        for at, item in enumerate(self._items):
            self._note_progress(at, self._size)
            yield item


class _Running(Generic[_T]):
    """Work that runs on its own thread, so that another can show its progress."""

    def __init__(
        self, waiting: "BlockingFace", work: "Callable[[Progress], Coroutine[Any, Any, _T]]"
    ) -> None:
        self.progress: tuple[int, int | None] = (0, None)
        self._at: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None] | None = None
        self._is_cancelled = False
        self._waiting = waiting
        self._work = work
        self._executor = ThreadPoolExecutor(1, "catalog-waiting")
        self._future: futures.Future[_T] = futures.Future()
        self._future.cancel()

    def begin(self) -> None:
        """Start the work."""
        self._future = self._executor.submit(lambda: self._waiting.wait(self._run()))
        self._executor.shutdown(wait=False)

    async def _run(self) -> _T:
        self._at = (asyncio.get_running_loop(), asyncio.current_task())
        if self._is_cancelled:
            raise asyncio.CancelledError
        return await self._work(self._note_progress)

    def wait(self, seconds: float) -> bool:
        """Return whether the work ends within some seconds."""
        return bool(futures.wait((self._future,), seconds).done)

    def result(self) -> _T:
        """Return the result of the work."""
        return self._future.result()

    def cancel(self) -> None:
        """Cancel the work, and wait for its end."""
        self._is_cancelled = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        loop, task = self._at or (None, None)
        if loop is not None and task is not None:
            loop.call_soon_threadsafe(task.cancel)
        self.wait(_GRACE_SECONDS)

    def _note_progress(self, done: int, total: int) -> None:
        self.progress = (done, total)


def _bar(what: str) -> _Bar:
    # Imported when there is something to show.
    from IPython.core.getipython import get_ipython

    off = os.environ.get("TQDM_DISABLE", "").lower() not in ("", "0", "false")
    if not off and hasattr(get_ipython(), "kernel"):
        return _Displayed(what)
    from tqdm.auto import tqdm

    # tqdm's bars for notebooks ignore the setting that disables all bars.
    bar: _Bar = tqdm(desc=what, leave=False, dynamic_ncols=True, disable=off)
    return bar


class _Displayed:
    """A progress bar in a notebook's output that ends as empty text. A bar that is a widget would
    be saved without its kernel, and open as an error."""

    def __init__(self, what: str) -> None:
        from IPython.display import DisplayHandle

        self.n: float = 0
        self.total: float | None = None
        self._what, self._begun, self._drawn = what, time.monotonic(), 0.0
        handle: Callable[[], Any] = DisplayHandle
        self._handle = handle()
        self._handle.display(self._mime_bundle(), raw=True)

    def update(self, n: float = 1) -> bool:
        """Advance the bar by some items."""
        self.n += n
        if time.monotonic() - self._drawn < _TICK_SECONDS:
            return False
        self.refresh()
        return True

    def refresh(self) -> None:
        """Draw the bar."""
        self._drawn = time.monotonic()
        self._handle.update(self._mime_bundle(), raw=True)

    def close(self) -> None:
        """Remove the bar."""
        self._handle.update({"text/plain": ""}, raw=True)

    def _mime_bundle(self) -> dict[str, str]:
        seconds = f"{time.monotonic() - self._begun + _QUIET_SECONDS:.0f} s"
        counted = f"{self.n:,.0f} of {self.total:,.0f}" if self.total else f"{self.n:,.0f}"
        text = " · ".join(part for part in (self._what, counted if self.n else "", seconds) if part)
        # While the total is unknown, the bar is animated without a value.
        share = f' value="{self.n:.0f}" max="{self.total:.0f}"' if self.total else ""
        html = f'<progress{share} style="vertical-align:middle"></progress> {escape(text)}'
        return {"text/plain": text, "text/html": html}
