"""A queue of keys: each key is dispatched once all effects of the previous key are done.

A key is dispatched to the focused widget, bubbles up to the application, and often moves the focus
by a message. Somebody who types fast, pastes or runs a script has pressed the next key by then;
dispatched at once, it would go to the old focus. So it is held while a message caused by the
previous key is queued, or a worker runs whose name says that it moves the focus. Nothing runs while
no key is held.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unicodedata import category
from weakref import WeakSet

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.widget import Widget
from textual.worker import NoActiveWorker, Worker, WorkType, get_current_worker

LEADING = "leading"
"""Name of workers that change the focus; key dispatch waits for them."""

OPENING = "opening"
"""Name of workers that open something that the next keys are typed into, such as an editor or a
tab. Key dispatch waits for them without a limit: imports and requests do end, and typed text must
not be taken for commands."""

CLOSING = "closing"
"""Name of workers that close a screen because of the last key. Key dispatch does not wait for them:
a further key keeps the screen open."""

# A key is held for at most this time or this many turns of the event loop, whichever ends later: on
# a busy machine, the dispatch of a key may take longer than the time. In an idle program the turns
# take a few milliseconds, longer than any dispatch.
_MAX_HELD_SECONDS = 1.0
_TURNS = 500

_DROPPED_SECONDS = 1.0

_PAUSE_SECONDS = 0.01


def start_worker(
    node: DOMNode,
    do: Callable[[], Coroutine[None, None, object]],
    name: str = "",
    *,
    group: str,
    exclusive: bool = False,
) -> Worker[object]:
    """Run a coroutine function as a worker of a node, and return the worker. The function is called
    when the worker starts, so that a worker cancelled earlier leaves no coroutine that was never
    awaited."""
    work: WorkType[object] = do
    return node.run_worker(work, name, group, exclusive=exclusive)


@contextmanager
def opening(node: DOMNode, reporting: AbstractContextManager[None]) -> Iterator[None]:
    """Return a context that opens what the next keys are typed into. On an error, `reporting` shows
    it, and the queued keys are dropped."""
    is_open = False
    with reporting:
        yield
        is_open = True
    if not is_open:
        node.app.post_message(OpeningFailed())


class KeyDone(Message, bubble=False, verbose=True):
    """Sent to the application when the last key is handled and the next one can be dispatched."""


class OpeningFailed(Message, bubble=False, verbose=True):
    """Sent to the application when the screen that queued keys are meant for could not be
    opened."""


class KeyQueue:
    """The queued keys of an application. `send` dispatches an event to the widget with the
    focus."""

    def __init__(self, app: App[None], send: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._queued: deque[Event] = deque()
        self._first_keys: Callable[[], Iterable[Event]] | None = None
        self._target: Widget | None = None
        self._holding: asyncio.Task[None] | None = None
        self._too_slow: WeakSet[Worker[object]] = WeakSet()
        self._drops_until = 0.0
        self._sent_at = 0.0

    async def enqueue(self, event: Event) -> bool:
        """Queue an event if it is a key or a paste; return whether it is."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            return False
        if time.monotonic() < self._drops_until:
            return True
        if isinstance(event, Key) and _types_unprintable(event):
            event = Paste(event.character or "")
        self._queued.append(event)
        if self._holding is None:
            await self._dispatch_ready()
        return True

    def note_closed(self) -> None:
        """Note that a screen was closed. Unless a key closed it, the queued keys and those of the
        next second are dropped, because they were meant for that screen.

        A key closes a screen in its own handler, or within a second through a worker named
        `LEADING`, `OPENING` or `CLOSING`.
        """
        try:
            worker = get_current_worker()
        except NoActiveWorker:
            return
        is_named = worker.name in (LEADING, OPENING, CLOSING) and worker not in self._too_slow
        if not is_named or time.monotonic() > self._sent_at + _MAX_HELD_SECONDS:
            self.drop()

    def drop(self) -> None:
        """Drop the queued keys and those of the next second, which were meant for something that is
        not on the screen."""
        self._queued.clear()
        self._drops_until = time.monotonic() + _DROPPED_SECONDS

    async def put_first(self, take: Callable[[], Iterable[Event]]) -> None:
        """Dispatch the keys returned by `take` before the queued ones. `take` is called once the
        last key is handled."""
        self._first_keys = take
        if self._holding is None:
            await self._dispatch_ready()

    async def on_idle(self) -> None:
        """Dispatch the next keys, once the last one is handled or timed out."""
        self._holding = None
        await self._dispatch_ready(is_idle=True)

    async def _dispatch_ready(self, *, is_idle: bool = False) -> None:
        """Dispatch queued keys one after another, until one has to be held. `is_idle` means that
        the last key is handled or timed out."""
        while self._queued or self._first_keys is not None:
            if not is_idle and self._is_busy():
                self._holding = asyncio.create_task(self._hold())
                return
            is_idle = False
            if self._first_keys is not None:
                first_keys, self._first_keys = self._first_keys, None
                self._queued.extendleft(reversed(list(first_keys())))
            if self._queued:
                self._target = self._app.focused or self._app.screen
                self._sent_at = time.monotonic()
                await self._send(self._queued.popleft())

    def _is_busy(self) -> bool:
        """Return whether messages are queued for the widget that got the last key, for the focused
        widget, or for an ancestor of either."""
        if self._app.message_queue_size:
            return True
        if any(self._leading()):
            return True
        targets = [self._app.focused or self._app.screen]
        if self._target is not None and self._target is not targets[0] and self._target.is_attached:
            targets.append(self._target)
        return any(
            node.message_queue_size or not node.is_mounted
            for target in targets
            for node in target.ancestors_with_self
            if isinstance(node, Widget)
        )

    def _leading(self) -> Iterator[Worker[object]]:
        """Yield the running workers that change the focus, except those that took too long
        before."""
        for worker in self._app.workers:
            is_led = worker.name in (LEADING, OPENING) and not worker.is_finished
            if is_led and worker not in self._too_slow:
                yield worker

    async def _hold(self) -> None:
        """Wait until the last key is handled or timed out, or the application ends."""
        deadline, turns = time.monotonic() + _MAX_HELD_SECONDS, _TURNS
        while self._app.is_running and self._is_busy():
            if any(worker.name == OPENING for worker in self._leading()):
                deadline, turns = time.monotonic() + _MAX_HELD_SECONDS, _TURNS
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if turns <= 0 and time.monotonic() >= deadline:
                break
            await asyncio.sleep(0 if turns > 0 else _PAUSE_SECONDS)
            turns -= 1
        if self._app.is_running:
            # A worker that takes too long delays only one key.
            self._too_slow.update(self._leading())
            self._app.post_message(KeyDone())


def _types_unprintable(key: Key) -> bool:
    """Return whether a key types a character that Textual does not insert.

    `Key.is_printable` is `str.isprintable`, which is false for all spaces but U+0020 (Japanese and
    French keyboards have others) and for joiners (Persian words and emoji need them). Such a key is
    sent as a paste.
    """
    typed = key.character or ""
    return len(typed) == 1 and not typed.isprintable() and category(typed) not in ("Cc", "Cs")
