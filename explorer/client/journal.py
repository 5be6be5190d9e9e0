"""What was edited, in a file: one line of JSON for each edit, each with what stood there before."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.client.records.editing import Edit, Held, What
from explorer.errors import Unusable
from explorer.metadata.urn import Urn

__all__ = ["Journal", "JournalEntry", "is_undone", "read_undone"]

_UNDONE: Final = "undone.jsonl"


class JournalEntry(msgspec.Struct, frozen=True):
    """One line: an edit, its id, when it was applied, and the address of the server that has it."""

    id: str
    at: datetime
    server: str
    urn: str
    what: What
    before: Any
    after: Any
    column: str | None = None

    @property
    def edit(self) -> Edit:
        """The edit, as it was given when it was made."""
        urn = Urn.parse(self.urn)
        return Edit(urn, self.what, _held(self.before), _held(self.after), self.at, self.column)


class _Undoing(msgspec.Struct, frozen=True):
    """An edit that took another back, by their ids."""

    by: str
    of: str


class Journal:
    """A journal in a file that several processes may write to at once.

    Every line is written in one go and is on disk when `append` returns. Only the reader's own
    user may read the file, for it holds what people wrote.
    """

    def __init__(self, path: Path) -> None:
        """Make the file where there is none; raises `Unusable` where that cannot be."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(self._open())
        except OSError as error:
            raise Unusable(_cannot(path, error)) from error

    def append(self, edit: Edit, server: str) -> JournalEntry:
        """Write an edit down; raises `Unusable` where it cannot be written whole."""
        entry = JournalEntry(
            os.urandom(8).hex(),
            edit.at,
            server,
            str(edit.urn),
            edit.what,
            edit.before,
            edit.after,
            edit.column,
        )
        line = msgspec.json.encode(entry) + b"\n"
        try:
            file = self._open()
            try:
                if _is_torn(file):
                    line = b"\n" + line
                if os.write(file, line) != len(line):
                    raise Unusable(f"the journal {self.path} is cut short; is the disk full?")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise Unusable(_cannot(self.path, error)) from error
        return entry

    def __iter__(self) -> Iterator[JournalEntry]:
        """The entries, oldest first. A line that a crash cut short is passed over."""
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    entry = _read(line)
                    if entry is not None:
                        yield entry
        except OSError as error:
            raise Unusable(_cannot(self.path, error)) from error

    def undone(self) -> dict[str, tuple[str, ...]]:
        """For each edit that was taken back, by its id, what took it back: see `is_undone`."""
        return read_undone(self.path)

    def note_undone(self, entry_id: str, by: Iterable[str]) -> None:
        """Write down, beside the journal, which edits took one back, so that whoever takes back
        next does not take these for edits like others. Raises `Unusable`."""
        undoings = [_Undoing(one, entry_id) for one in by]
        if not undoings:
            return
        path = self.path.with_name(_UNDONE)
        data = b"".join(msgspec.json.encode(one) + b"\n" for one in undoings)
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, data)
            finally:
                os.close(file)
        except OSError as error:
            raise Unusable(
                f"the edit is taken back, but {path} cannot say so: {error.strerror}"
            ) from error

    def _open(self) -> int:
        # To read as well, for the end of the file is looked at before anything is added.
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def read_undone(journal: Path) -> dict[str, tuple[str, ...]]:
    """For each edit of a journal that was taken back, by its id, what took it back, the first
    first. Lines cut short are passed over; raises `Unusable` for a file that cannot be read."""
    found: dict[str, tuple[str, ...]] = {}
    path = journal.with_name(_UNDONE)
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return found
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from error
    for text in filter(None, lines):
        try:
            one = msgspec.json.decode(text, type=_Undoing)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        # Nothing takes back what came after it.
        if one.by != one.of:
            found[one.of] = (*found.get(one.of, ()), one.by)
    return found


def is_undone(entry_id: str, undone: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether an edit was taken back, and what took it back still stands."""
    return any(not is_undone(by, undone) for by in undone.get(entry_id, ()))


def _is_torn(file: int) -> bool:
    """Whether the last line has no end."""
    end = os.lseek(file, 0, os.SEEK_END)
    return end > 0 and os.pread(file, 1, end - 1) != b"\n"


def _read(line: bytes) -> JournalEntry | None:
    try:
        return msgspec.json.decode(line, type=JournalEntry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _held(value: Any) -> Held:
    match value:
        case list():
            return tuple(value)
        case str() | dict():
            return value
        case _:
            return None


def _cannot(path: Path, error: OSError) -> str:
    return f"the journal {path} cannot be used ({error.strerror}); name another place for it"
