"""A full-screen program on a pseudo-terminal: its keys, its screen, and what it costs.

Linux only: memory and processor time are read from /proc. The terminal answers what programs ask
one (synchronised output, colours, the cursor), for some wait for the answer.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from terminals.screen import Screen

KEYS = {
    "down": "\x1b[B",
    "up": "\x1b[A",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pagedown": "\x1b[6~",
    "backspace": "\x7f",
    "ctrl+q": "\x11",
}
FIRST_FRAME_CELLS = 40
QUIET_SECONDS = 0.45
KEY_QUIET_SECONDS = 0.06
_CHUNK = 1 << 16
_MODE = re.compile(rb"\x1b\[\?(\d+)\$p")
_COLOUR = re.compile(rb"\x1b\](1[01]);\?(?:\x07|\x1b\\)")


@dataclass(frozen=True, slots=True)
class Start:
    """A start: seconds to the first screen with text, seconds and bytes until nothing came."""

    first_frame_seconds: float
    quiet_seconds: float
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Paint:
    """What one key caused: milliseconds to the first and the last of what was sent, and how much
    that was. Nothing sent is infinitely late."""

    first_millis: float
    last_millis: float
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Idle:
    """What a program does while nothing is asked of it."""

    bytes_per_second: float
    cpu_percent: float


class Program:
    """Runs `command` on a terminal of its own until the context ends; then it is killed."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (120, 36),
    ) -> None:
        self.screen = Screen(*size)
        self._command = list(command)
        self._environment = dict(environment) | {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LINES": str(size[1]),
            "COLUMNS": str(size[0]),
        }

    def __enter__(self) -> Self:
        columns, rows = self.screen.columns, self.screen.rows
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._begin = time.perf_counter()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(master)
            os.login_tty(slave)
            os.execvpe(self._command[0], self._command, self._environment)
        os.close(slave)
        self._terminal = master
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        finally:
            os.close(self._terminal)

    def start(self, limit_seconds: float = 30) -> Start:
        """Wait for the first frame, and until nothing has come for a while after it."""
        first = last = 0.0
        sent = 0
        deadline = self._begin + limit_seconds
        while (now := time.perf_counter()) < deadline:
            if first and now - max(last, first) > QUIET_SECONDS:
                break
            data = self._read(0.05)
            if data:
                last = time.perf_counter()
                sent += len(data)
                if not first and self.screen.visible > FIRST_FRAME_CELLS:
                    first = last
        if not first:
            raise TimeoutError(f"{self._command[0]} drew nothing:\n{self.screen.text}")
        return Start(first - self._begin, last - self._begin, sent)

    def press(self, key: str, quiet_seconds: float = KEY_QUIET_SECONDS) -> Paint:
        """Press a key, and read until nothing came for `quiet_seconds`."""
        begin = time.perf_counter()
        os.write(self._terminal, KEYS.get(key, key).encode())
        first = last = 0.0
        sent = 0
        while time.perf_counter() - (last or begin + 0.4) < quiet_seconds:
            data = self._read(quiet_seconds / 2)
            if data:
                last = time.perf_counter()
                first = first or last
                sent += len(data)
        if not sent:
            return Paint(float("inf"), float("inf"), 0)
        return Paint((first - begin) * 1000, (last - begin) * 1000, sent)

    def press_until(self, key: str, seen: str | Callable[[str], bool], seconds: float = 15) -> None:
        """Press a key and wait until the screen shows what is to be seen."""
        os.write(self._terminal, KEYS.get(key, key).encode())
        self.sees(seen, seconds)

    def sees(self, seen: str | Callable[[str], bool], seconds: float = 15) -> None:
        """Wait until the screen shows a text, or is as a function wants it."""
        deadline = time.perf_counter() + seconds
        while True:
            text = self.screen.text
            if seen(text) if callable(seen) else seen in text:
                return
            if time.perf_counter() > deadline:
                raise TimeoutError(f"not on the screen: {seen}\n{text}")
            self._read(0.05)

    def settle(self, quiet_seconds: float = QUIET_SECONDS, limit_seconds: float = 10) -> None:
        """Read until nothing came for a while."""
        last = time.perf_counter()
        deadline = last + limit_seconds
        while last + quiet_seconds > time.perf_counter() < deadline:
            if self._read(quiet_seconds / 4):
                last = time.perf_counter()

    def idle(self, seconds: float) -> Idle:
        """Watch it do nothing."""
        begin = time.perf_counter()
        cpu = self._cpu_seconds()
        sent = 0
        while time.perf_counter() - begin < seconds:
            sent += len(self._read(0.1))
        return Idle(sent / seconds, (self._cpu_seconds() - cpu) / seconds * 100)

    @property
    def rss_mb(self) -> float:
        """Resident memory in MB of 10⁶ bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) * 1024 / 1e6 if found else 0.0

    def _cpu_seconds(self) -> float:
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._terminal, _CHUNK)
        except OSError as error:
            raise TimeoutError(f"{self._command[0]} ended:\n{self.screen.text}") from error
        self.screen.feed(data)
        self._answer(data)
        return data

    def _answer(self, data: bytes) -> None:
        for mode in _MODE.findall(data):
            known = b"2" if mode == b"2026" else b"0"
            os.write(self._terminal, b"\x1b[?" + mode + b";" + known + b"$y")
        for which in _COLOUR.findall(data):
            os.write(self._terminal, b"\x1b]" + which + b";rgb:1616/1818/1b1b\x1b\\")
        if b"\x1b[c" in data:
            os.write(self._terminal, b"\x1b[?62;22c")
        if b"\x1b[6n" in data:
            place = f"\x1b[{self.screen.row + 1};{self.screen.column + 1}R"
            os.write(self._terminal, place.encode())
