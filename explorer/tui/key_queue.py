"""A queue of keys: the next key is dispatched when everything that the one before led to is done.

A key is dispatched to the focused widget, bubbles up to the application, and often moves the focus
by a message. Whoever types fast, pastes or runs a script has pressed the next key by then;
dispatched at once, it would go where the focus was. So it is held while a message of the one before
waits anywhere, or a worker runs whose name says that it moves the focus. Nothing runs while no key
is held.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from weakref import WeakSet

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.widget import Widget
from textual.worker import NoActiveWorker, Worker, WorkType, get_current_worker

__all__ = ["CLOSING", "LEADING", "KeyDone", "KeyQueue", "import_first", "start_worker"]

LEADING = "leading"
"""The name of a worker at whose end the reader is elsewhere."""

CLOSING = "closing"
"""The name of a worker that closes a screen for the key that was pressed last, and holds no keys:
what is pressed meanwhile keeps the screen open."""

# A widget that is gone, or waits for something for so long, holds up nobody. The clock alone does
# not tell: where the machine is busy, a key may be under way for longer. So the loop has to have
# turned as often as no way is long; with nothing else to do, that takes a few milliseconds.
_PATIENCE_SECONDS = 1.0
_TURNS = 500

_DROPPED_SECONDS = 1.0

_IMPORTED: set[str] = set()
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


def import_first(
    node: DOMNode, module: str, go_on: Callable[[], object], reporting: AbstractContextManager[None]
) -> None:
    """Call `go_on` once a module is imported, at once where it was. It is read beside the thread of
    the screen, and what is pressed meanwhile goes to where `go_on` leads; who has gone elsewhere
    all the same is left alone. `node` is what it is for, the application or a widget of it, and
    what goes wrong is told by `reporting`."""
    screen, focused = node.app.screen, node.app.focused

    async def lead_on() -> None:
        with reporting:
            await asyncio.to_thread(import_module, module)
            _IMPORTED.add(module)
            if node.app.screen is screen and screen.focused in (focused, None):
                go_on()

    if module in _IMPORTED:
        go_on()
    else:
        leading: WorkType[None] = lead_on
        node.run_worker(leading, LEADING, "import", module, exclusive=True)


class KeyDone(Message, bubble=False, verbose=True):
    """To the application: what the last key led to is done, the next one can be sent."""


class KeyQueue:
    """The keys of an application. `send` gives one on to the widget that it is meant for."""

    def __init__(self, app: App[None], send: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._waiting: deque[Event] = deque()
        self._kept: Callable[[], Iterable[Event]] | None = None
        self._target: Widget | None = None
        self._is_held = False
        self._tired_of: WeakSet[Worker[object]] = WeakSet()
        self._drops_until = 0.0
        self._sent_at = 0.0

    async def takes(self, event: Event) -> bool:
        """Whether an event is a key that somebody pressed, or a paste; it is sent in its turn."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            return False
        if time.monotonic() < self._drops_until:
            return True
        self._waiting.append(event)
        if not self._is_held:
            await self._go_on()
        return True

    def note_closed(self) -> None:
        """A screen was closed. Where that was not done by a key, what is typed is still meant for
        that screen: what waits and what comes within a second is dropped.

        A key closes a screen in its own handler, or within a second through a worker that is named
        for it. All else closes it at a moment that the reader does not know.
        """
        try:
            worker = get_current_worker()
        except NoActiveWorker:
            return
        now = time.monotonic()
        is_named = worker.name in (LEADING, CLOSING) and worker not in self._tired_of
        if not is_named or now > self._sent_at + _PATIENCE_SECONDS:
            self._waiting.clear()
            self._drops_until = now + _DROPPED_SECONDS

    @property
    def drops_until(self) -> float:
        """Up to when keys are dropped, by the monotonic clock."""
        return self._drops_until

    async def put_first(self, take: Callable[[], Iterable[Event]]) -> None:
        """Have keys that somebody kept sent before all that wait: those that `take` gives, called
        when what is under way is done."""
        self._kept = take
        if not self._is_held:
            await self._go_on()

    async def came_home(self) -> None:
        """What the last key led to is done, or waited for no longer."""
        self._is_held = False
        await self._go_on(is_home=True)

    async def _go_on(self, *, is_home: bool = False) -> None:
        """Send what waits, one after another, up to one that has to be held."""
        while self._waiting or self._kept is not None:
            if not is_home and self._is_under_way():
                self._is_held = True
                self._look(time.monotonic() + _PATIENCE_SECONDS, _TURNS)
                return
            is_home = False
            if self._kept is not None:
                kept, self._kept = self._kept, None
                self._waiting.extendleft(reversed(list(kept())))
            if self._waiting:
                self._target = self._app.focused or self._app.screen
                self._sent_at = time.monotonic()
                await self._send(self._waiting.popleft())

    def _is_under_way(self) -> bool:
        """Whether anything waits to be heard by the widget that the last key went to, by the one
        that the next would go to, or by those around them."""
        if self._app.message_queue_size:
            return True
        if any(self._leading()):
            return True
        ways = [self._app.focused or self._app.screen]
        if self._target is not None and self._target is not ways[0] and self._target.is_attached:
            ways.append(self._target)
        return any(
            node.message_queue_size or not node.is_mounted
            for way in ways
            for node in way.ancestors_with_self
            if isinstance(node, Widget)
        )

    def _leading(self) -> Iterator[Worker[object]]:
        """What leads elsewhere and was not waited for in vain before."""
        for worker in self._app.workers:
            is_led = worker.name == LEADING and not worker.is_finished
            if is_led and worker not in self._tired_of:
                yield worker

    def _look(self, deadline: float, turns: int) -> None:
        """Look whether it is done, every time that the loop turns."""
        if not self._app.is_running:
            # On leaving there is soon no screen left to look at.
            return
        is_late = turns <= 0 and time.monotonic() >= deadline
        if is_late or not self._is_under_way():
            # What takes longer than anybody is patient holds up one key, not each of them.
            self._tired_of.update(self._leading())
            self._app.post_message(KeyDone())
            return
        loop = asyncio.get_running_loop()
        if turns > 0:
            loop.call_soon(self._look, deadline, turns - 1)
        else:
            loop.call_later(_PAUSE_SECONDS, self._look, deadline, 0)
