"""Texts that people type into commands: in their editor, or on standard input. None is lost: what
is not written to the catalog stays in a file, and the file is named."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Final, Self

import click
from rich.text import Text

from explorer import config
from explorer.cli.output import note
from explorer.client.display import block, line
from explorer.errors import InvalidInput, Unusable

__all__ = ["Sheet"]

# No line of the notes below it, which all begin otherwise, can be taken for it.
_SCISSORS: Final = "# ------------------------ >8 ------------------------"
_INGESTED: Final = "#   "
_SAYS: Final = (
    "# Nothing from the line above on is saved; leave that line as it is.",
    "# The text is markdown. Saved as it was, or emptied, nothing is written.",
)


class Sheet:
    """A text that somebody typed. As a context it is kept in a file where what happens inside
    fails; else nothing is left of it."""

    def __init__(self, text: str, again: str, path: Path | None = None) -> None:
        """`again` is the command that writes the text when it is given the file."""
        self.text = text
        self._again = again
        self._path = path
        self._kept = False

    @classmethod
    def edited(cls, name: str, text: str, ingested: str, again: str) -> Self:
        """What the person makes of a text in their editor: `VISUAL`, `EDITOR` or the system's.

        What ingestion says is shown below it. Raises `Unusable` where no file can be made, before
        anything is typed, and `InvalidInput` where the editor fails or what it left cannot be
        read; the file it left is then named.
        """
        path = _new_file(name)
        blank = _sheet(name, text, ingested)
        try:
            path.write_bytes(blank)
            _run_editor(path)
            found = _above_scissors(path.read_bytes())
        except BaseException as error:
            _leave(path, blank)
            if isinstance(error, click.ClickException):
                raise InvalidInput(f"nothing was written: {error.format_message()}") from error
            if isinstance(error, OSError):
                raise Unusable(f"{path} cannot be used: {error.strerror}") from error
            raise
        return cls(found, again, path)

    def keep(self) -> None:
        """Put the text into a file and say where, with the words that write it from there."""
        self._kept = True
        # Of the end one line end is left off when it is read from standard input.
        data = (self.text + ("\r\n" if self.text.endswith("\r") else "\n")).encode()
        try:
            path = self._path or _new_file("typed")
            draft = path.with_name(f".{path.name}")
            draft.write_bytes(data)
            draft.chmod(0o600)
            draft.replace(path)
        except (OSError, Unusable):
            if self._path is None:
                note(Text("your text cannot be kept in a file; it is:\n"), Text(block(self.text)))
                return
            path = self._path
        note(Text(f"your text is kept in {line(str(path))}"))
        note(Text(f"to write it: {line(f'{self._again} < {quote(str(path))}')}", "dim"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, click.exceptions.Exit):
            self.keep()
        if not self._kept and self._path is not None:
            self._path.unlink(missing_ok=True)


def _new_file(name: str) -> Path:
    directory = config.state_dir() / "texts"
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)[:60]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made for its owner's eyes only.
        descriptor, path = tempfile.mkstemp(".md", f"{plain}-", directory)
        os.close(descriptor)
    except OSError as error:
        raise Unusable(
            f"{directory} cannot be written ({error.strerror}); "
            "name another directory with CATALOG_STATE_DIR"
        ) from error
    return Path(path)


def _sheet(name: str, text: str, ingested: str) -> bytes:
    below = [_SCISSORS, *_SAYS, f"# It describes {line(name)}."]
    if ingested:
        below += [
            "# Ingestion says:",
            *(f"{_INGESTED}{one}" for one in block(ingested).split("\n")),
        ]
    return "\n".join((text, *below, "")).encode()


def _above_scissors(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"nothing was written: it is not UTF-8 text: {error}") from None
    lines = text.split("\n")
    at = max((at for at, one in enumerate(lines) if one.rstrip("\r") == _SCISSORS), default=None)
    if at is not None:
        above = "\n".join(lines[:at])
        return above.removesuffix("\r") if lines[at].endswith("\r") else above
    if any(one.rstrip("\r") in _SAYS for one in lines):
        raise InvalidInput(
            "nothing was written: the line with >8 is gone, and so it cannot be told where your "
            "text ends"
        )
    return text.removesuffix("\n")


def _run_editor(path: Path) -> None:
    with _results_elsewhere():
        click.edit(filename=str(path))


@contextmanager
def _results_elsewhere() -> Iterator[None]:
    """What the editor shows is no result: it goes to standard error where results go to a file."""
    if os.isatty(1):
        yield
        return
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _leave(path: Path, blank: bytes) -> None:
    """Leave the file where something was typed into it, and say so."""
    try:
        if path.read_bytes() in (blank, b""):
            path.unlink()
            return
    except OSError:
        pass
    note(Text(f"what you typed is kept in {line(str(path))}"))
