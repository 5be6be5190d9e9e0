"""The two places a command writes to: results on standard output, all else on standard error.

What a catalog says is shown as literal text only: cleaned by `explorer.client.display` and given
to rich as `Text`, so that no name or description is ever read as markup or reaches the terminal
as a command.
"""

import re
import sys
from collections.abc import Iterable
from typing import IO, Any

import orjson
from rich.console import Console, RenderableType
from rich.text import Text

from explorer.client.display import block, line

__all__ = [
    "EDITED",
    "escaped_json",
    "note",
    "notes",
    "print_json",
    "results",
    "said",
    "told",
    "words",
]

EDITED = "✎"
"""Stands before every text that people wrote over what ingestion says."""

# In JSON anything outside ASCII stands inside a string, where its escape means the same.
_NOT_ASCII = re.compile(r"[^\n -~]")

_TRAILING = re.compile(r" +$", re.MULTILINE)
_LINE_LIMIT = 2_000


class _Console(Console):
    """rich's console, which here leaves it to the command's edge what a closed pipe means, and
    writes no spaces at the ends of lines into files and pipes."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as held:
            super().print(*objects, **options)
        self.file.write(_TRAILING.sub("", held.get()))


def results() -> Console:
    """Where results go. No colours unless it is a terminal; as wide as the terminal."""
    return _console(sys.stdout)


def notes() -> Console:
    """Where everything else goes."""
    return _console(sys.stderr)


def _console(file: IO[str]) -> Console:
    return _Console(file=file, highlight=False, markup=False, emoji=False)


def note(*parts: RenderableType) -> None:
    """Say something to the person at the terminal, on standard error."""
    notes().print(*parts, sep="", soft_wrap=True)


def print_json(value: Any) -> None:
    """Write one JSON value to standard output, indented, as UTF-8.

    It reads back as exactly `value`; characters that a terminal would act on are written as
    escapes.
    """
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    sys.stdout.buffer.write(escaped_json(text) + b"\n")
    sys.stdout.buffer.flush()


def escaped_json(text: bytes) -> bytes:
    """The same JSON, with escapes for the characters that a terminal would act on."""
    return _NOT_ASCII.sub(_escaped, text.decode()).encode()


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    if char.isprintable():
        return char
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def said(text: str | None, style: str = "", *, missing: str = "", limit: int = _LINE_LIMIT) -> Text:
    """One line of a catalog's text, at most `limit` characters of it; `missing` is said where
    there is none."""
    shown = line(text, limit)
    return Text(shown, style) if shown else Text(missing, "dim italic")


def told(text: str | None, style: str = "") -> Text:
    """A catalog's text over as many lines as it has."""
    return Text(block(text).strip("\n"), style)


def words(parts: Iterable[Text | None], between: str = " · ") -> Text:
    """Parts side by side; those that are empty are left out."""
    return Text(between, "dim").join(part for part in parts if part)
