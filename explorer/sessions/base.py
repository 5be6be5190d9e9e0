"""What all sessions share: a state that is replaced as a whole, and actions that change it.

A session belongs to the event loop of its catalog, and needs no lock: everything of it runs there.
Actions that must not overlap wait for one another. One that is refused changes nothing, and says
why twice: as the message of the state, and as an exception.
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
    """One sentence for the person. Each is equal to itself alone, so that a sentence that is said
    again is another message.

    `error` is what went wrong, where that is an exception. One that `is_saved` tells of something
    that an undo takes back; a front end adds how.
    """

    sentence: str
    is_error: bool = False
    error: CatalogError | None = None
    is_saved: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes a while, and that `Session.cancel` ends: a sentence such as “writing”,
    and how many of how many are done. `total` is 0 where nobody knows."""

    sentence: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        """Return it in words, such as “writing 12 of 40 …”."""
        counts = f" {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.sentence}{counts} …"


@dataclass(frozen=True, slots=True)
class ActionState:
    """What a person can do: a sentence for it, and why it is not possible now; empty if it is."""

    sentence: str
    why_not: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether it can be done now."""
        return not self.why_not


@dataclass(frozen=True, slots=True)
class SessionState:
    """What every state has: the work that is under way, the last message, and the actions by the
    names of their methods."""

    work: Work | None = None
    message: Message | None = None
    actions: Mapping[str, ActionState] = field(default_factory=lambda: MappingProxyType({}))


StateT = TypeVar("StateT", bound=SessionState)


class Session(Generic[StateT]):
    """What happens when a person does something in the catalog, step by step.

    `state` is always consistent, and is replaced, never changed. Whoever subscribed is called with
    each new one, on the catalog's event loop. `close` ends what runs in the background.
    """

    _sentences: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Collect the sentences of the actions by their names."""
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
        """The client that reads and writes the catalog. Raises `Misuse` in a session of what is on
        this machine alone."""
        if self._catalog is None:
            raise Misuse("this session has no catalog")
        return self._catalog

    @property
    def state(self) -> StateT:
        """What is shown now."""
        return self._state

    def subscribe(self, listener: Callable[[StateT], object]) -> Callable[[], None]:
        """Call a function with each new state; return a function that ends that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def close(self) -> None:
        """Tell nobody of anything any more, and end what a later reading would replace. What was
        begun otherwise ends as it would: nothing that was typed or decided is lost by leaving."""
        self.is_closed = True
        self._listeners.clear()
        for task in self._latest.values():
            task.cancel()
        for timer in self._timers:
            timer.cancel()

    def cancel(self) -> None:
        """End the work that is under way. What is done of it stays done."""
        if self._working is not None:
            self._working.cancel()

    async def settle(self) -> None:
        """Wait until nothing runs in the background."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is."""
        del name
        return ""

    def check(self, name: str) -> None:
        """Raise `InvalidInput` if an action is not possible now."""
        if why := self.why_not(name):
            raise InvalidInput(why)

    def replace(self, **changes: Any) -> None:
        """Replace fields of the state, and tell whoever subscribed."""
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
        """Make a sentence the message of the state."""
        self.replace(message=Message(sentence, is_error, error, is_saved))

    def start(self, doing: Awaitable[object], instead_of: str = "") -> None:
        """Do something in the background; an error becomes the message. What was started before
        with the same word `instead_of` is cancelled."""

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
        """Do something after some seconds, unless the session is closed before."""
        loop = asyncio.get_running_loop()
        self._timers = {timer for timer in self._timers if timer.when() > loop.time()}
        self._timers.add(loop.call_later(seconds, do))

    async def work(self, sentence: str, doing: Awaitable[_T], total: int = 0) -> _T:
        """Return the outcome of something that is the work of the state meanwhile, and that
        `cancel` ends."""
        self._working = asyncio.current_task()
        self.replace(work=Work(sentence, 0, total))
        try:
            return await doing
        finally:
            self._working = None
            self.replace(work=None)

    def tell_progress(self, done: int, total: int) -> None:
        """Say how much of the work is done."""
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
        """Make an error of the block the message, and raise it."""
        try:
            yield
        except Superseded:
            raise
        except CatalogError as error:
            told = self._state.message
            if told is None or told.error is not error:
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
                # Nobody waits for work that takes minutes.
                self.check(method.__name__)
            async with self._turn:
                return await method(self, *args, **kw)

    def supersede(self, names: Collection[str]) -> None:
        """Cancel what was called of actions that can be superseded."""
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
    """Make a method an action, which the state lists with this sentence.

    It waits for the actions that were called before; while work is under way, it is refused if it
    is not possible. One that is not `in_turn` waits for none and lets none wait, and is refused
    whenever it is not possible. An error that it raises becomes the message of the state.

    One that `supersedes` actions, none or some, cancels the calls of them that are not over, which
    raise `Superseded` and say nothing, and can itself be superseded.
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
