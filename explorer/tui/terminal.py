"""The terminal driver: an orderly end when the terminal disconnects."""

import select
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

if TYPE_CHECKING:
    from io import TextIOWrapper

_DEFAULT_STYLE = "\x1b[0m"


class TerminalDisconnected(Message):
    """The terminal disconnected."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which ends the program in order when the terminal disconnects.

    In Textual's driver the writer thread ends at the first error and later writes block forever, so
    a program whose window was closed never ends.
    """

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            self._file = cast("TextIOWrapper", _Outliving(self._file))
        # Closing a window sends SIGHUP, but not to every program in the window.
        Thread(target=self._watch, daemon=True, name="terminal-watch").start()

    def _watch(self) -> None:
        """Wait until the terminal disconnects."""
        ends = select.poll()
        ends.register(self.fileno, 0)
        if any(what & select.POLLHUP for _, what in ends.poll()):
            self._app.post_message(TerminalDisconnected())


class _Outliving:
    """A terminal file that drops output after a disconnect."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write a text, beginning in the default style, because another program may have left a
        different one."""
        with suppress(OSError):
            self._terminal.write(f"{_DEFAULT_STYLE}{text}")
        return len(text)

    def flush(self) -> None:
        """Flush the output."""
        with suppress(OSError):
            self._terminal.flush()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._terminal.fileno()
