"""The terminal driver: fewer bytes for colours and styles, and an orderly end when the terminal
disconnects.

Textual writes the whole style before every segment of text and resets it after the segment: fifty
bytes for a word, most of the delay over a slow connection. Between segments usually only the colour
changes, or nothing visible.
"""

import re
import select
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

if TYPE_CHECKING:
    from io import TextIOWrapper

__all__ = ["TerminalDriver", "shortened"]

_STYLED = re.compile(r"\x1b\[([\d;]*)m")
# What shows nothing of a style: the way to another place, and how the terminal is to behave.
_SILENT = re.compile(r"(?:\r?\n|\x1b\[\d+;\d+H|\x1b\[\?\d+[hl])*")
# How weights are taken off, bold and dim only together.
_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "7": "27", "9": "29"}
_WEIGHTS = frozenset(_OFF)
# What is seen of them where there is nothing but blanks.
_LINES = frozenset("479")


class _Pen(NamedTuple):
    """A text style as SGR codes: attributes, foreground and background."""

    weights: frozenset[str] = frozenset()
    ink: str = "39"
    ground: str = "49"


_PLAIN = _Pen()


def shortened(text: str) -> str:
    """Return output for the terminal that looks the same in fewer bytes.

    The text is expected to begin in the default style. The terminal's current style is not assumed,
    because other programs may have written to it.
    """
    pen: _Pen | None = None
    wanted: _Pen | None = _PLAIN
    parts: list[str] = []
    at = 0
    for styled in _STYLED.finditer(text):
        shown = text[at : styled.start()]
        at = styled.end()
        if shown:
            if not _looks_alike(shown, pen, wanted):
                parts.append(_change(pen, wanted))
                pen = wanted
            parts.append(shown)
        following = _apply(wanted, styled[1])
        if following is None:
            # Nothing is known of a style until all of it is taken back.
            parts += (_change(pen, wanted), styled[0])
            pen = None
        wanted = following
    if not at:
        return text
    parts += (_change(pen, wanted), text[at:])
    return "".join(parts)


def _looks_alike(shown: str, one: _Pen | None, other: _Pen | None) -> bool:
    """Return whether a text looks the same in both styles."""
    if one is other or one == other or _SILENT.fullmatch(shown):
        return True
    if one is None or other is None or not shown.isspace():
        return False
    return one.ground == other.ground and _LINES.isdisjoint(one.weights | other.weights)


@lru_cache(1024)
def _apply(pen: _Pen | None, codes_text: str) -> _Pen | None:
    """Return the style after SGR codes; None where they are not understood."""
    codes = codes_text.split(";") if codes_text else ["0"]
    if codes[0] == "0":
        pen, codes = _PLAIN, codes[1:]
    if pen is None:
        return None
    weights, ink, ground = set(pen.weights), pen.ink, pen.ground
    while codes:
        code = codes.pop(0)
        if code in _WEIGHTS:
            weights.add(code)
        elif code in ("38", "48"):
            length = {"2": 4, "5": 2}.get(codes[0], 0) if codes else 0
            if not length or len(codes) < length:
                return None
            colour = ";".join((code, *codes[:length]))
            codes = codes[length:]
            ink, ground = (colour, ground) if code == "38" else (ink, colour)
        elif code.startswith(("3", "9")) and len(code) == 2:
            ink = code
        elif code.startswith(("4", "10")) and code != "4":
            ground = code
        else:
            return None
    return _Pen(frozenset(weights), ink, ground)


@lru_cache(4096)
def _change(pen: _Pen | None, wanted: _Pen | None) -> str:
    """Return the escape sequence that changes one style to another; empty where the wanted style is
    unknown or already set."""
    if wanted is None or pen == wanted:
        return ""
    if wanted == _PLAIN:
        return "\x1b[0m"
    told = [*sorted(wanted.weights), wanted.ink, wanted.ground]
    whole = ["0", *(code for code in told if code not in ("39", "49"))]
    if pen is None:
        return f"\x1b[{';'.join(whole)}m"
    off = dict.fromkeys(_OFF[weight] for weight in pen.weights - wanted.weights)
    kept = {weight for weight in pen.weights & wanted.weights if _OFF[weight] not in off}
    colours = [new for old, new in zip(pen[1:], wanted[1:], strict=True) if old != new]
    changed = [*off, *sorted(wanted.weights - kept), *colours]
    return f"\x1b[{min(';'.join(changed), ';'.join(whole), key=len)}m"


class TerminalDisconnected(Message):
    """The terminal disconnected."""


class TerminalDriver(LinuxDriver):
    """Textual's driver with shorter output, which ends the program in order when the terminal
    disconnects.

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
        # Closing a window sends SIGHUP, but not to every program in it.
        Thread(target=self._watch, daemon=True, name="terminal-watch").start()

    def _watch(self) -> None:
        """Wait until the terminal disconnects."""
        ends = select.poll()
        ends.register(self.fileno, 0)
        if any(what & select.POLLHUP for _, what in ends.poll()):
            self._app.post_message(TerminalDisconnected())


class _Outliving:
    """A terminal file that shortens output, and drops it after a disconnect."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write a text."""
        with suppress(OSError):
            self._terminal.write(shortened(text))
        return len(text)

    def flush(self) -> None:
        """Flush the output."""
        with suppress(OSError):
            self._terminal.flush()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._terminal.fileno()
