"""The terminal itself, which may go away before the program does."""

import select
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from explorer.tui.shell.pens import shortened

if TYPE_CHECKING:
    from io import TextIOWrapper

__all__ = ["TerminalDriver", "TerminalGone"]


class TerminalGone(Message):
    """Nobody sees any more what is written, and nobody types."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, in fewer bytes; and the program outlives its terminal and ends in order.

    There, the thread that writes ends with the first error, what is to be written after that is
    waited for without end, and a program whose window was closed stays for good.
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
        # Whoever closes a window also sends a signal, but not to every program in it.
        Thread(target=self._watch, daemon=True, name="terminal-watch").start()

    def _watch(self) -> None:
        """Wait until the other end is closed."""
        ends = select.poll()
        ends.register(self.fileno, 0)
        if any(what & select.POLLHUP for _, what in ends.poll()):
            self._app.post_message(TerminalGone())


class _Outliving:
    """A terminal to write to, in few bytes; what it no longer takes is dropped."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write a text."""
        with suppress(OSError):
            self._terminal.write(shortened(text))
        return len(text)

    def flush(self) -> None:
        """Send what was written."""
        with suppress(OSError):
            self._terminal.flush()

    def fileno(self) -> int:
        """The number of the terminal's file."""
        return self._terminal.fileno()
