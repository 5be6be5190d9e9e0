"""Of several questions of one kind only the last is answered: what a reader typing needs."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from explorer.errors import Superseded

__all__ = ["Latest"]

_T = TypeVar("_T")


class Latest:
    """Questions under way, one for each key. Used from one event loop."""

    def __init__(self) -> None:
        self._asked: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str | None, work: Coroutine[Any, Any, _T]) -> _T:
        """What comes of the work, unless another begins under the same key before it is given.

        That other one cancels this: its request is hung up, and `Superseded` is raised here,
        in whichever order the answers come. Without a key nothing supersedes anything.
        """
        if key is None:
            return await work
        task = asyncio.ensure_future(work)
        older = self._asked.get(key)
        self._asked[key] = task
        if older is not None:
            older.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            # Waited for, so that its slot and connection are free when this returns.
            task.cancel()
            await asyncio.wait((task,))
            raise
        finally:
            is_last = self._asked.get(key) is task
            if is_last:
                del self._asked[key]
        if not is_last:
            if not task.cancelled():
                # Looked at, for nobody else will; what failed too late is of no use either.
                task.exception()
            raise Superseded("a later question took this one's place; nothing is to be done")
        return task.result()
