"""A queue of keys: the next key is dispatched once everything that the one before caused is done.

A key is dispatched to the focused widget, bubbles up to the application, and often moves the focus
by a message. Somebody who types fast, pastes or runs a script has pressed the next key by then;
dispatched at once, it would go where the focus was. So it is held while a message of the one before
is queued anywhere, or a worker runs whose name says that it moves the focus. Nothing runs while no
key is held.
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
"""Name of workers that open what the next keys are typed into, as an editor or a tab. Key dispatch
waits for them however long they take: an import and a request end, and text must not be taken for
commands."""

CLOSING = "closing"
"""Name of workers that close a screen for the key that was pressed last. Key dispatch does not wait
for them: a key that is pressed meanwhile keeps the screen open."""

# A key is held for so long at most. On a busy machine the dispatch of a key may take longer, so the
# event loop has to have turned so often as well, which takes a few milliseconds with nothing else
# to do, and is more than any dispatch takes.
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
    """Run a coroutine function as a worker of a node. It is called when the worker starts: the
    coroutine itself would never be awaited where the worker is cancelled before that."""
    work: WorkType[object] = do
    return node.run_worker(work, name, group, exclusive=exclusive)


@contextmanager
def opening(node: DOMNode, reporting: AbstractContextManager[None]) -> Iterator[None]:
    """Open in the block what the next keys are for. `reporting` shows errors; the keys are dropped
    then."""
    is_open = False
    with reporting:
        yield
        is_open = True
    if not is_open:
        node.app.post_message(OpeningFailed())


class KeyDone(Message, bubble=False, verbose=True):
    """Sent to the application when the last key is handled and the next one can be dispatched."""


class OpeningFailed(Message, bubble=False, verbose=True):
    """Sent to the application when what the queued keys are meant for could not be opened."""


class KeyQueue:
    """The keys of an application. `send` dispatches one to the widget with the focus."""

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
        """Return whether an event is a key or a paste; if so, it is queued."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            return False
        if time.monotonic() < self._drops_until:
            return True
        if isinstance(event, Key) and _types_unprintable(event):
            event = Paste(event.character or "")
        self._queued.append(event)
        if self._holding is None:
            await self._go_on()
        return True

    def note_closed(self) -> None:
        """Note that a screen was closed. Unless a key closed it, keys that are queued and those of
        the next second were meant for that screen and are dropped.

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
        """Drop the queued keys and those of the next second: they were meant for what is not on the
        screen."""
        self._queued.clear()
        self._drops_until = time.monotonic() + _DROPPED_SECONDS

    async def put_first(self, take: Callable[[], Iterable[Event]]) -> None:
        """Dispatch the keys that `take` returns before those that are queued; it is called once the
        last key is done with."""
        self._first_keys = take
        if self._holding is None:
            await self._go_on()

    async def on_idle(self) -> None:
        """Dispatch the next keys, once the last one is handled or timed out."""
        self._holding = None
        await self._go_on(is_idle=True)

    async def _go_on(self, *, is_idle: bool = False) -> None:
        """Dispatch queued keys one after another, up to one that has to be held."""
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
        """Return whether messages are queued for the widget that the last key went to, for the one
        that the next would go to, or for their ancestors."""
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
        """Yield the workers that change the focus, but those that took too long before."""
        for worker in self._app.workers:
            is_led = worker.name in (LEADING, OPENING) and not worker.is_finished
            if is_led and worker not in self._too_slow:
                yield worker

    async def _hold(self) -> None:
        """Wait until the last key is done with, or was waited for long enough; no longer than the
        application runs."""
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
            # A worker that takes too long holds up one key, not each of them.
            self._too_slow.update(self._leading())
            self._app.post_message(KeyDone())


def _types_unprintable(key: Key) -> bool:
    """Return whether a key types a character that Textual does not insert.

    `Key.is_printable` is `str.isprintable`, which is false for all spaces but U+0020, such as those
    of Japanese and French keyboards, and for joiners, as in Persian words and in emoji. A paste of
    the character is inserted.
    """
    typed = key.character or ""
    return len(typed) == 1 and not typed.isprintable() and category(typed) not in ("Cc", "Cs")
