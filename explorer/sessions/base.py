"""The base of all sessions: a state that is replaced as a whole, and actions that change it.

A session runs entirely on the event loop of its catalog, so it needs no lock. Actions that must not
overlap wait for one another. A refused action changes nothing; the reason becomes the message of
the state and is raised as an exception.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Final, Generic, ParamSpec, TypeVar

from explorer.errors import CatalogError, InvalidInput, Misuse, Superseded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.client import AsyncCatalog

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SessionT = TypeVar("_SessionT", bound="Session[Any]")

READ_ONLY: Final = "Nothing can be written: this server is open read-only."
_SENTENCE: Final = "action_sentence"


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A sentence shown to the user. A message is equal only to itself, so a repeated sentence
    counts as a new message.

    `error` is the exception that the message reports, if any. `is_saved` is true if the message
    reports a save that can be undone; the front end adds how to undo it.
    """

    sentence: str
    is_error: bool = False
    error: CatalogError | None = None
    is_saved: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Work in progress, which `Session.cancel` ends: a sentence such as “writing”, and how many of
    `total` items are done. `total` is 0 if unknown."""

    sentence: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        """Return the work in words, such as “writing 12 of 40 …”."""
        counts = f" {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.sentence}{counts} …"


@dataclass(frozen=True, slots=True)
class ActionState:
    """An action of the user: a sentence that names it, and the reason why it is not possible now,
    which is empty if it is possible."""

    sentence: str
    why_not: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether the action is possible now."""
        return not self.why_not


@dataclass(frozen=True, slots=True)
class SessionState:
    """The fields of every state: the work in progress, the last message, and the actions by the
    names of their methods."""

    work: Work | None = None
    message: Message | None = None
    actions: Mapping[str, ActionState] = field(default_factory=lambda: MappingProxyType({}))


StateT = TypeVar("StateT", bound=SessionState)


class Session(Generic[StateT]):
    """One activity of a user in the catalog, such as a search or a review, without a user
    interface.

    `state` is always consistent, and is replaced, never modified. Subscribers are called with each
    new state, on the catalog's event loop. `close` unsubscribes all of them.
    """

    _sentences: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Collect the sentences of the actions in `_sentences`, by the names of their methods."""
        methods = ((name, getattr(cls, name)) for name in dir(cls) if not name.startswith("_"))
        sentences = {n: getattr(m, _SENTENCE) for n, m in methods if hasattr(m, _SENTENCE)}
        cls._sentences = MappingProxyType(sentences)

    def __init__(self, catalog: "AsyncCatalog | None", state: StateT) -> None:
        self._catalog = catalog
        self._turn = asyncio.Lock()
        self._listeners: list[Callable[[StateT], object]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._latest: dict[str, asyncio.Task[None]] = {}
        self._working: asyncio.Task[Any] | None = None
        self._timers: set[asyncio.TimerHandle] = set()
        self.is_closed = False
        self._calls: dict[asyncio.Task[Any], str] = {}
        self._state = state
        self._state = self._with_actions(state)

    @property
    def catalog(self) -> "AsyncCatalog":
        """The client of the catalog. Raises `Misuse` if the session works only with files on this
        machine."""
        if self._catalog is None:
            raise Misuse("this session has no catalog")
        return self._catalog

    @property
    def state(self) -> StateT:
        """The current state, for the front end to show."""
        return self._state

    def subscribe(self, listener: Callable[[StateT], object]) -> Callable[[], None]:
        """Call a function with each new state; return a function that unsubscribes it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def close(self) -> None:
        """Unsubscribe all listeners, and cancel the timers and the background tasks that a later
        task could replace (see `start`). Other tasks run to their end, so nothing typed or decided
        is lost."""
        self.is_closed = True
        self._listeners.clear()
        for task in self._latest.values():
            task.cancel()
        for timer in self._timers:
            timer.cancel()

    def cancel(self) -> None:
        """Cancel the work in progress. Steps that are already done are kept."""
        if self._working is not None:
            self._working.cancel()

    async def settle(self) -> None:
        """Wait until no background task is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        del name
        return ""

    def check(self, name: str) -> None:
        """Raise `InvalidInput` if an action is not possible now."""
        if why := self.why_not(name):
            raise InvalidInput(why)

    def replace(self, **changes: Any) -> None:
        """Replace fields of the state, and call the subscribers with the new state."""
        self._state = self._with_actions(replace(self._state, **changes))
        for listener in tuple(self._listeners):
            listener(self._state)

    def say(
        self,
        sentence: str,
        *,
        is_error: bool = False,
        error: CatalogError | None = None,
        is_saved: bool = False,
    ) -> None:
        """Set the message of the state."""
        self.replace(message=Message(sentence, is_error, error, is_saved))

    def start(self, doing: Awaitable[object], instead_of: str = "") -> None:
        """Run something in the background; an error becomes the message of the state. An earlier
        background task with the same `instead_of` is cancelled."""

        async def run() -> None:
            with suppress(CatalogError), self.telling():
                await doing

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if instead_of:
            before = self._latest.get(instead_of)
            if before is not None:
                before.cancel()
            self._latest[instead_of] = task

    def later(self, seconds: float, do: Callable[[], object]) -> None:
        """Call a function after some seconds, unless the session is closed before."""
        loop = asyncio.get_running_loop()
        self._timers = {timer for timer in self._timers if timer.when() > loop.time()}
        self._timers.add(loop.call_later(seconds, do))

    async def work(self, sentence: str, doing: Awaitable[_T], total: int = 0) -> _T:
        """Await something and return its result. Until it ends, the state shows it as the work in
        progress, and `cancel` can end it."""
        self._working = asyncio.current_task()
        self.replace(work=Work(sentence, 0, total))
        try:
            return await doing
        finally:
            self._working = None
            self.replace(work=None)

    def tell_progress(self, done: int, total: int) -> None:
        """Show how much of the work in progress is done."""
        if self._state.work is not None:
            self.replace(work=Work(self._state.work.sentence, done, total))

    def _with_actions(self, state: StateT) -> StateT:
        self._state = state
        actions = {
            n: ActionState(sentence, self.why_not(n)) for n, sentence in self._sentences.items()
        }
        return replace(state, actions=MappingProxyType(actions))

    @contextmanager
    def telling(self) -> "Iterator[None]":
        """Make an error raised in the context the message of the state, and raise it again."""
        try:
            yield
        except Superseded:
            raise
        except CatalogError as error:
            message = self._state.message
            if message is None or message.error is not error:
                self.say(str(error), is_error=True, error=error)
            raise

    async def _act(
        self, method: Callable[..., Awaitable[_T]], in_turn: bool, *args: Any, **kw: Any
    ) -> _T:
        with self.telling():
            if not in_turn:
                self.check(method.__name__)
                return await method(self, *args, **kw)
            if self._working is not None:
                # Refused now, rather than after waiting for work that may take minutes.
                self.check(method.__name__)
            async with self._turn:
                return await method(self, *args, **kw)

    def supersede(self, names: Collection[str]) -> None:
        """Cancel the running calls of the actions with these names that can be superseded."""
        for task in [task for task, name in self._calls.items() if name in names]:
            del self._calls[task]
            task.cancel()

    async def _take_over(
        self,
        method: Callable[..., Awaitable[_T]],
        in_turn: bool,
        superseded: Collection[str],
        *args: Any,
        **kw: Any,
    ) -> _T:
        self.supersede(superseded)
        call = asyncio.ensure_future(self._act(method, in_turn, *args, **kw))
        self._calls[call] = method.__name__
        try:
            return await call
        except asyncio.CancelledError:
            if call in self._calls:
                raise
            raise Superseded("a later request replaced this one; there is nothing to do") from None
        finally:
            self._calls.pop(call, None)


def action(
    sentence: str, *, in_turn: bool = True, supersedes: Collection[str] | None = None
) -> Callable[
    [Callable[Concatenate[_SessionT, _P], Coroutine[Any, Any, _T]]],
    Callable[Concatenate[_SessionT, _P], Coroutine[Any, Any, _T]],
]:
    """Return a decorator that makes a method an action, which the state lists with this sentence.

    An action waits for the actions that were called before it; while work is in progress, it is
    refused if it is not possible. With `in_turn=False` it waits for no other action and no other
    waits for it, and it is refused whenever it is not possible. An error that it raises becomes the
    message of the state.

    With `supersedes`, names of actions, it cancels their unfinished calls, which raise `Superseded`
    without setting a message. An action with `supersedes`, even an empty one, can itself be
    superseded.
    """

    def decorate(
        method: Callable[Concatenate[_SessionT, _P], Coroutine[Any, Any, _T]],
    ) -> Callable[Concatenate[_SessionT, _P], Coroutine[Any, Any, _T]]:
        @wraps(method)
        async def act(self: _SessionT, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
            if supersedes is not None:
                return await self._take_over(method, in_turn, supersedes, *args, **kwargs)
            return await self._act(method, in_turn, *args, **kwargs)

        setattr(act, _SENTENCE, sentence)
        return act

    return decorate
