"""Keys go one after another: the next one sets out when all that the one before led to is done.

A key travels: to the widget that has the focus, up to the application, and often further as a
message that moves the focus. Whoever types fast, pastes, or lets a script type, has pressed the
next key by then; sent at once, it would go where the focus was. So a marker is sent after each key
on the same way, as often as a key leads to messages of its own, and the next key waits for it to
come home. Nothing runs while no key is under way.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from textual.app import App
from textual.events import Event, Key, Paste
from textual.message import Message

if TYPE_CHECKING:
    from textual.dom import DOMNode

__all__ = ["Home", "InOrder"]

# A key leads to a message, which leads to another, which opens something.
_ROUNDS = 3
# A widget that is gone, or waits for something for so long, holds up nobody. The clock alone does
# not tell: where the machine is busy, a key may be under way for longer. So the loop has to have
# turned as often as no way is long; with nothing else to do, that takes a few milliseconds.
_PATIENCE_SECONDS = 1.0
_TURNS = 500


class Home(Message, bubble=True, verbose=True):
    """The marker that travels behind a key."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class InOrder:
    """The keys of an application. `send` gives one on to the widget that it is meant for."""

    def __init__(self, app: App[None], send: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._waiting: deque[Event] = deque()
        self._kept: Callable[[], Iterable[Event]] | None = None
        self._number = 0
        self._rounds = 0
        self._target: DOMNode | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def takes(self, event: Event) -> bool:
        """Whether an event is a key that somebody pressed, or a paste; it is sent in its turn."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            return False
        self._waiting.append(event)
        if self._target is None:
            await self._next()
        return True

    async def put_first(self, take: Callable[[], Iterable[Event]]) -> None:
        """Have keys that somebody kept sent before all that wait: those that `take` gives, called
        when the one that is under way is home."""
        self._kept = take
        if self._target is None:
            await self._next()

    async def came_home(self, marker: Home) -> None:
        """A marker reached the application."""
        if marker.number == self._number and self._target is not None:
            self._rounds -= 1
            await self._follow()

    async def _next(self) -> None:
        """Send the key whose turn it is."""
        self._stop_waiting()
        if self._kept is not None:
            kept, self._kept = self._kept, None
            self._waiting.extendleft(reversed(list(kept())))
        if not self._waiting:
            return
        event = self._waiting.popleft()
        self._number += 1
        self._rounds = _ROUNDS
        self._target = self._app.focused or self._app.screen
        await self._send(event)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE_SECONDS, self._turn, self._number, _TURNS)
        await self._follow()

    async def _follow(self) -> None:
        """Send the marker once more, at last from where the focus is now."""
        while self._rounds > 0:
            target = self._target if self._rounds > 1 else None
            if target is None or not target.is_attached:
                target = self._app.focused or self._app.screen
            if target.post_message(Home(self._number)):
                return
            self._rounds -= 1
        await self._next()

    def _stop_waiting(self) -> None:
        self._target = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _turn(self, number: int, turns: int) -> None:
        """The loop turned once more and the marker is not home."""
        if number != self._number or self._target is None:
            return
        if turns:
            asyncio.get_running_loop().call_soon(self._turn, number, turns - 1)
        else:
            self._app.call_later(self._give_up, number)

    async def _give_up(self, number: int) -> None:
        """Go on, unless the marker came home after all."""
        if number == self._number and self._target is not None:
            await self._next()
