"""What a widget asks of the catalog: one question after the other, never on the kernel's thread."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.errors import CatalogError, Superseded

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client import Catalog as ClientCatalog

__all__ = ["Work"]

_log = logging.getLogger(__name__)

_Read = Callable[["AsyncCatalog"], Coroutine[Any, Any, Any]]


@dataclass(eq=False)
class _Job:
    said: str
    key: str
    read: _Read
    then: Callable[[Any], None]
    dropped: bool = False
    tasks: list[tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]] = field(default_factory=list)


class Work:
    """Questions in a row. The thread that waits for the answers lives while there are any, so that
    a widget that rests, or is closed, or was forgotten, holds none.

    `busy` is told what is being read, and "" when all is; `failed` a sentence on what went wrong.
    """

    def __init__(
        self, catalog: "ClientCatalog", busy: Callable[[str], None], failed: Callable[[str], None]
    ) -> None:
        self._catalog = catalog
        self._busy, self._failed = busy, failed
        self._lock = threading.Condition(threading.RLock())
        self._queue: deque[_Job] = deque()
        self._now: _Job | None = None
        self._thread: threading.Thread | None = None
        self._ended = False

    def ask(
        self,
        said: str,
        read: _Read,
        then: Callable[[Any], None],
        *,
        key: str = "",
        alone: bool = False,
    ) -> None:
        """Read, then do something with the answer, both on the thread of this work.

        A question takes the place of earlier ones of the same `key`; one that is `alone` that of
        all. What is under way then is hung up, and its answer is not looked at.
        """
        with self._lock:
            if self._ended:
                return
            self._drop(key, everything=alone)
            self._queue.append(_Job(said, key, read, then))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="catalog-lineage", daemon=True
                )
                self._thread.start()

    def end(self) -> None:
        """Hang up whatever is asked; nothing more is."""
        with self._lock:
            self._ended = True
            self._drop("", everything=True)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until nothing is asked any more; whether it came to that in time."""
        with self._lock:
            if self._thread is threading.current_thread():
                return False
            return self._lock.wait_for(lambda: self._thread is None, timeout_seconds)

    def guarded(self, do: Callable[[], None]) -> None:
        """Do something for the reader, and show what goes wrong: nothing else would."""
        try:
            do()
        except CatalogError as error:
            self._failed(line(str(error)))
        except Exception as error:
            _log.debug("a callback of the lineage widget failed", exc_info=True)
            self._failed(line(f"{type(error).__name__}: {error}", 300))

    def _drop(self, key: str, *, everything: bool) -> None:
        jobs = [*self._queue, *([self._now] if self._now else [])]
        for job in jobs:
            if everything or (key and job.key == key):
                job.dropped = True
                for loop, task in job.tasks:
                    # A client that was closed has ended its loop, and with it the task.
                    with suppress(RuntimeError):
                        loop.call_soon_threadsafe(task.cancel)
        self._queue = deque(job for job in self._queue if not job.dropped)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._now = self._queue.popleft() if self._queue else None
                job = self._now
                if job is None:
                    self._busy("")
                    self._thread = None
                    self._lock.notify_all()
                    return
                if job.said:
                    self._busy(job.said)
            self.guarded(partial(self._do, job))

    def _do(self, job: _Job) -> None:
        try:
            answer = self._catalog.wait(self._stoppable(job))
        except CatalogError:
            if job.dropped:
                return
            raise
        if not job.dropped:
            job.then(answer)

    async def _stoppable(self, job: _Job) -> Any:
        task = asyncio.ensure_future(job.read(self._catalog.core))
        with self._lock:
            job.tasks.append((asyncio.get_running_loop(), task))
            if job.dropped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            if job.dropped:
                raise Superseded("what was asked for is no longer wanted") from None
            raise
        finally:
            with self._lock:
                job.tasks.clear()
