"""What the explorer asks of the catalog: never on the kernel's thread, and called off when it is no
longer wanted."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, SupportsIndex, TypeVar

from explorer.client.display import line
from explorer.errors import CatalogError, Superseded
from explorer.notebook.catalog import Catalog

__all__ = ["Asking", "Kind"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

Kind = Literal["search", "measures", "offers", "tree", "entity", "tab", "preview", "draft", "save"]
_LONGEST_SENTENCE = 400


@dataclass(eq=False)
class _Question:
    said: str
    read: Callable[[Catalog], Any]
    then: Callable[[Any], None]
    failed: Callable[[Exception], bool] | None
    firm: bool
    dropped: bool = False
    tasks: list[tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]] = field(default_factory=list)


class _Asked(Catalog):
    """The same catalog for the length of one question, which hangs up when that is dropped."""

    def __init__(self, whole: Catalog, question: _Question, lock: threading.Condition) -> None:
        self.__dict__.update(vars(whole))
        # Kept, for a catalog that nobody has any more ends its thread.
        self._whole, self._question, self._lock = whole, question, lock

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # What was read with it outlives the question.
        return self._whole.__reduce_ex__(protocol)

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        return super().wait(self._stoppable(work))

    async def _stoppable(self, work: Coroutine[Any, Any, _T]) -> _T:
        question, task = self._question, asyncio.ensure_future(work)
        with self._lock:
            question.tasks.append((asyncio.get_running_loop(), task))
            if question.dropped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            if question.dropped:
                raise Superseded("what was asked for is no longer wanted") from None
            raise
        finally:
            with self._lock:
                question.tasks.clear()


class Asking:
    """A row of questions for each kind, the kinds beside each other.

    The thread of a kind lives while it has questions, so that an explorer that rests, was closed or
    was forgotten holds none. `busy` is told what is being read, and "" when all is; `failed` a
    sentence on what went wrong. `lock` is held while an answer is taken.
    """

    def __init__(
        self,
        catalog: Catalog,
        lock: "threading.RLock",
        busy: Callable[[str], None],
        failed: Callable[[str], None],
    ) -> None:
        self._catalog = catalog
        self._busy, self._failed = busy, failed
        self._lock = threading.Condition(lock)
        self._waiting: dict[Kind, deque[_Question]] = {}
        self._now: dict[Kind, _Question] = {}
        self._threads: dict[Kind, threading.Thread] = {}
        self._ended = False

    def ask(
        self,
        kind: Kind,
        said: str,
        read: Callable[[Catalog], _T],
        then: Callable[[_T], None],
        *,
        failed: Callable[[Exception], bool] | None = None,
        in_turn: bool = False,
    ) -> None:
        """Read, then do something with the answer, both on the thread of its kind.

        It takes the place of the questions of its kind, which are hung up and whose answers are
        not looked at; one that is asked `in_turn` waits for them, and is never hung up for a later
        one. `failed` may deal with an error; where it gives false, the error is told.
        """
        with self._lock:
            if self._ended:
                return
            if not in_turn:
                self._drop(kind)
            firm = kind in ("draft", "save")
            self._waiting.setdefault(kind, deque()).append(
                _Question(said, read, then, failed, firm)
            )
            if kind not in self._threads:
                thread = threading.Thread(
                    target=self._run, args=(kind,), name=f"catalog-explorer-{kind}", daemon=True
                )
                self._threads[kind] = thread
                thread.start()

    def forget(self, kind: Kind) -> None:
        """Hang up what is asked of a kind."""
        with self._lock:
            self._drop(kind)

    def end(self) -> None:
        """Hang up whatever is asked, but not a text being saved or kept; nothing more is asked."""
        with self._lock:
            self._ended = True
            for kind in (*self._waiting,):
                self._drop(kind)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until nothing is asked any more; whether it came to that in time."""
        with self._lock:
            if threading.current_thread() in self._threads.values():
                return False
            return self._lock.wait_for(lambda: not self._threads, timeout_seconds)

    def guarded(self, do: Callable[[], None]) -> None:
        """Do something for the reader, and show what goes wrong: nothing else would."""
        try:
            do()
        except CatalogError as error:
            self._failed(line(str(error), _LONGEST_SENTENCE))
        # The outermost edge: what nobody foresaw would be seen nowhere else.
        except Exception as error:
            _log.debug("the explorer failed", exc_info=True)
            self._failed(line(f"{type(error).__name__}: {error}", _LONGEST_SENTENCE))

    def _drop(self, kind: Kind) -> None:
        waiting = self._waiting.get(kind, deque())
        now = self._now.get(kind)
        for question in (*waiting, *([now] if now else [])):
            if question.firm:
                continue
            question.dropped = True
            for loop, task in question.tasks:
                # A client that was closed has ended its loop, and with it the task.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(task.cancel)
        self._waiting[kind] = deque(one for one in waiting if not one.dropped)

    def _run(self, kind: Kind) -> None:
        while True:
            with self._lock:
                self._now.pop(kind, None)
                waiting = self._waiting.get(kind)
                if not waiting:
                    del self._threads[kind]
                    self._say()
                    self._lock.notify_all()
                    return
                question = self._now[kind] = waiting.popleft()
                self._say()
            self.guarded(partial(self._do, question))

    def _do(self, question: _Question) -> None:
        try:
            answer = question.read(_Asked(self._catalog, question, self._lock))
        except Exception as error:
            with self._lock:
                if question.dropped or (question.failed is not None and question.failed(error)):
                    return
            raise
        with self._lock:
            if not question.dropped:
                question.then(answer)

    def _say(self) -> None:
        self._busy(", ".join(dict.fromkeys(one.said for one in self._now.values() if one.said)))
