"""The log of requests to the server: the newest in memory, all of them in a file where one is
named.
"""

import asyncio
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from explorer.client.display import line
from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from explorer.client import Exchange

__all__ = ["KEPT", "RequestLog", "request_line"]

KEPT: Final = 500

_ECHO_SECONDS = 3.0


class RequestLog:
    """The last exchanges, newest first. `count` is of all there ever were, `heard` of those that
    brought an answer. With a `file` each is also written to its end as a line, by a thread."""

    def __init__(self, file: Path | None = None) -> None:
        self.count = 0
        self.heard = 0
        self._wrote_at: float | None = None
        self._newest: deque[Exchange] = deque(maxlen=KEPT)
        self._file = file
        self._lines: list[str] = []
        self._writing: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._newest)

    def __getitem__(self, index: int) -> "Exchange":
        return self._newest[index]

    def note(self, exchange: "Exchange") -> None:
        """Keep one."""
        self._newest.appendleft(exchange)
        self.count += 1
        self.heard += exchange.status is not None
        if exchange.writes:
            self._wrote_at = time.monotonic()
        if self._file is not None:
            self._lines.append(request_line(exchange) + "\n")
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(self._write(self._file))

    def has_just_written(self) -> bool:
        """Whether something was written so lately that what is heard may be its echo."""
        return self._wrote_at is not None and time.monotonic() - self._wrote_at < _ECHO_SECONDS

    async def close(self) -> None:
        """Wait until everything is written."""
        if self._writing is not None:
            await self._writing

    async def _write(self, file: Path) -> None:
        while self._lines:
            lines, self._lines = self._lines, []
            await asyncio.to_thread(_append, file, lines)

    @staticmethod
    def check(file: Path) -> None:
        """Raise `InvalidInput` where nothing can be written to a file."""
        try:
            with file.open("a"):
                pass
        except OSError as error:
            raise InvalidInput(f"{file} cannot be written: {error.strerror}") from error


def request_line(exchange: "Exchange") -> str:
    """An exchange as one line: when, what, how it ended, how long it took and how long it was."""
    parts = [
        f"{exchange.began.astimezone():%Y-%m-%d %H:%M:%S}",
        exchange.method,
        exchange.path,
        str(exchange.status or "no answer"),
        f"{exchange.seconds * 1000:.0f} ms",
        f"{exchange.sized_bytes} bytes",
    ]
    if exchange.failure:
        parts.append(exchange.failure)
    return line(" ".join(parts))


def _append(file: Path, lines: list[str]) -> None:
    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.writelines(lines)
    except OSError:
        # The disk is full: what is lost is a log.
        return
