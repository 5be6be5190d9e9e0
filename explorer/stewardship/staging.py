"""Staged changesets: edits that were proposed and are reviewed and applied together, in a file.

A file is JSON, a line for each thing that was noted, in the order of time: a first line about the
changeset, a line for each edit, and after them who decided what and what was written. Nothing in it
is ever changed, so that a program that is killed loses nothing that it noted before; what it did
not come to note is found when the edit is tried again. Such a file can be handed to a colleague.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import structs

from explorer import config
from explorer.errors import InvalidInput, StorageFault

__all__ = [
    "STATES",
    "ReviewItem",
    "ReviewState",
    "StagedChangeset",
    "StagedEdit",
    "StagedKind",
    "TextSource",
    "changesets_dir",
    "deprecation_in",
    "deprecation_text",
    "kept_changesets",
    "new_path",
]

StagedKind = Literal["description", "tags", "terms", "owners", "domain", "deprecation", "links"]
"""What can be staged."""

ReviewState = Literal["open", "accepted", "refused", "applied", "failed"]
STATES: Final[tuple[ReviewState, ...]] = get_args(ReviewState)
"""What can have become of a staged edit.

`open`      nobody has decided
`accepted`  to be written
`refused`   not to be written
`applied`   written, or found to stand there already
`failed`    accepted, and the server refused it
"""

_FORMAT: Final = "catalog-changeset"
_VERSION: Final = 1
_ENDING: Final = ".changes.jsonl"
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class TextSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a proposed text comes from.

    `found_by` is how it was found: along the `lineage` of the column, by the same `name` along the
    lineage of its table, by the same name `elsewhere`, or out of a `file` or a `command`. `urn` and
    `column` say whose text it is, `hops` how far away in the lineage, and `agreeing` how many
    columns have that very text.
    """

    found_by: Literal["lineage", "name", "elsewhere", "file", "command"]
    urn: str = ""
    table: str = ""
    column: str = ""
    hops: int = 0
    agreeing: int = 1


class StagedEdit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One edit that is proposed, of an entity or of its column at the exact path `column`.

    A description is `text`, in the place of `before`, which is what people had written when it was
    proposed. Of labels `add` and `remove` name URNs, of owners `URN KIND`, of links `ADDRESS
    LABEL`; what is neither stays. A domain is the one in `add`, or none, in the place of those in
    `before`, with commas. A deprecation is `text` in the place of `before`, both as
    `deprecation_text` writes them. Of links `before` are those to the addresses concerned, a line
    each. `name` is what people call the entity, `shown` the description that came with the
    metadata, `creates` the tags of `add` that are made where there are none, and `called` what
    people call the URNs of labels.
    """

    urn: str
    name: str
    column: str | None = None
    what: StagedKind = "description"
    before: str = ""
    text: str = ""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    shown: str = ""
    sources: tuple[TextSource, ...] = ()
    creates: tuple[str, ...] = ()
    called: dict[str, str] = {}

    @property
    def place(self) -> tuple[str, str | None, StagedKind]:
        """What it changes; a changeset has one edit for each place."""
        return self.urn, self.column, self.what


def deprecation_text(held: Mapping[str, Any] | None) -> str:
    """Return a deprecation, as edits have it, as a text of an edit; empty for None."""
    return "" if held is None else msgspec.json.encode(held, order="sorted").decode()


def deprecation_in(text: str) -> dict[str, Any] | None:
    """Return the deprecation that a text of an edit says; the inverse of `deprecation_text`. Any
    other text is a note."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else None
    except msgspec.DecodeError:
        return {"note": text}


class _Header(msgspec.Struct, frozen=True, omit_defaults=True, tag="changeset"):
    id: str
    title: str
    server: str
    proposed_by: str
    at: datetime
    format: str = _FORMAT
    version: int = _VERSION


class _Staged(msgspec.Struct, frozen=True, omit_defaults=True, tag="edit"):
    number: int
    edit: StagedEdit


class _Decided(msgspec.Struct, frozen=True, omit_defaults=True, tag="decision"):
    number: int
    state: ReviewState
    by: str
    at: datetime
    text: str | None = None
    before: str | None = None


class _Tried(msgspec.Struct, frozen=True, omit_defaults=True, tag="outcome"):
    number: int
    state: ReviewState
    at: datetime
    why: str = ""
    theirs: str | None = None


_Note: TypeAlias = _Header | _Staged | _Decided | _Tried
_note = msgspec.json.Decoder(_Note)


@dataclass(slots=True)
class ReviewItem:
    """A staged edit and what became of it.

    `decided_by` is who accepted, changed or refused it last, `why` what the server said where it
    failed. `theirs` is the text that somebody else wrote there meanwhile, None where nobody did.
    """

    number: int
    edit: StagedEdit
    state: ReviewState = "open"
    decided_by: str = ""
    why: str = ""
    theirs: str | None = None
    is_changed: bool = field(default=False)
    """Whether the text is another than the one that was proposed."""


class StagedChangeset:
    """A changeset in its file. Everything that is noted is on disk when the call returns; calls
    that say so may block for that."""

    def __init__(self, path: Path, header: _Header, items: Sequence[ReviewItem]) -> None:
        self.path = path
        self._header = header
        self._items = {item.number: item for item in items}
        # How much of the file is known.
        self._size = 0

    @classmethod
    def create(
        cls,
        path: Path,
        edits: Iterable[StagedEdit],
        *,
        title: str,
        server: str,
        proposed_by: str,
        progress: "Callable[[int], None] | None" = None,
    ) -> "StagedChangeset":
        """Return a new changeset in a file that must not be there yet. Blocks.

        Of several edits for one place the last counts. Raises `InvalidInput` where there is such a
        file or nothing to stage, `StorageFault` where it cannot be written.
        """
        staged = {edit.place: edit for edit in edits}
        if not staged:
            raise InvalidInput("there is nothing to stage")
        header = _Header(os.urandom(8).hex(), title, server, proposed_by, datetime.now(UTC))
        items = [ReviewItem(number, edit) for number, edit in enumerate(staged.values(), 1)]
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.exists():
                raise InvalidInput(f"{path} is there already; name another file")
            with os.fdopen(os.open(part, _NEW_FILE, 0o600), "wb") as file:
                file.write(_line(header))
                for item in items:
                    file.write(_line(_Staged(item.number, item.edit)))
                    if progress is not None:
                        progress(item.number)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            os.link(part, path)
        except FileExistsError as error:
            raise InvalidInput(f"{path} is there already; name another file") from error
        except OSError as error:
            raise StorageFault(f"{path} cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
        made = cls(path, header, items)
        made._size = size
        return made

    @classmethod
    def open(cls, path: Path) -> "StagedChangeset":
        """Return the changeset of a file, as far as it was noted. Blocks. Raises `InvalidInput` for
        a file that is none, naming the line, and `StorageFault` where it cannot be read."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
        lines = data.split(b"\n")
        # A line without an end was cut short by a crash, and never acknowledged.
        del lines[-1]
        header: _Header | None = None
        found: dict[int, ReviewItem] = {}
        for number, line in enumerate(lines, 1):
            try:
                note = _note.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                # What two programs wrote at once, or a crash left, spoils no other line.
                if header is not None and not line.startswith(b'{"type":"edit"'):
                    continue
                raise InvalidInput(f"{path}, line {number}: this is no changeset") from error
            if isinstance(note, _Header):
                header = note
            elif isinstance(note, _Staged):
                found[note.number] = ReviewItem(note.number, note.edit)
            elif note.number in found:
                _take(found[note.number], note)
        if header is None or header.format != _FORMAT:
            raise InvalidInput(f"{path} is no changeset; catalog docs propose writes one")
        if header.version > _VERSION:
            raise InvalidInput(f"{path} was written by a newer version; update the catalog")
        opened = cls(path, header, list(found.values()))
        opened._size = len(data)
        return opened

    def read_again(self) -> bool:
        """Take in what other programs noted in the file; return whether there was anything. The
        items are other objects then. Blocks; raises as `open`."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise StorageFault(f"{self.path} cannot be read: {error.strerror}") from error
        if size == self._size:
            return False
        self._items = {item.number: item for item in StagedChangeset.open(self.path).items}
        self._size = size
        return True

    @property
    def id(self) -> str:
        """The id under which its edits stand in the journal."""
        return self._header.id

    @property
    def title(self) -> str:
        """What it is about, in the words of who proposed it."""
        return self._header.title

    @property
    def server(self) -> str:
        """The address of the server whose texts it was made from."""
        return self._header.server

    @property
    def proposed_by(self) -> str:
        """Who made it."""
        return self._header.proposed_by

    @property
    def at(self) -> datetime:
        """When it was made."""
        return self._header.at

    @property
    def items(self) -> tuple[ReviewItem, ...]:
        """All edits, in the order in which they were staged."""
        return tuple(self._items.values())

    def of(self, *states: ReviewState) -> tuple[ReviewItem, ...]:
        """Return the edits of these states, in their order."""
        return tuple(item for item in self._items.values() if item.state in states)

    def next_open(self, number: int = 0) -> ReviewItem | None:
        """Return the first edit after a number that nobody has decided, from the top again after
        the last; None where everything is decided."""
        waiting = self.of("open")
        later = (item for item in waiting if item.number > number)
        return next(later, waiting[0] if waiting else None)

    def counts(self) -> dict[ReviewState, int]:
        """Return how many edits there are of each state that there are any of."""
        found = Counter(item.state for item in self._items.values())
        return {state: found[state] for state in STATES if found[state]}

    def decide(
        self,
        number: int,
        state: Literal["open", "accepted", "refused"],
        by: str,
        *,
        text: str | None = None,
        before: str | None = None,
    ) -> ReviewItem:
        """Note what somebody decided of an edit, with another `text` where they changed it, and
        with another `before` where they saw what stands there by now. Raises `InvalidInput` for
        one that is applied."""
        item = self._items[number]
        if item.state == "applied":
            raise InvalidInput("it is applied already; undo takes it back")
        note = _Decided(number, state, by, datetime.now(UTC), text, before)
        self._append(note, is_synced=False)
        return _take(item, note)

    def decide_open(self, state: Literal["accepted", "refused"], by: str) -> int:
        """Note the same decision of everything that is open, in one go; return how many that
        were."""
        at = datetime.now(UTC)
        notes = [_Decided(item.number, state, by, at) for item in self.of("open")]
        self._append(*notes, is_synced=False)
        for note in notes:
            _take(self._items[note.number], note)
        return len(notes)

    def note_outcome(
        self,
        number: int,
        state: Literal["applied", "failed"],
        *,
        why: str = "",
        theirs: str | None = None,
    ) -> ReviewItem:
        """Note what became of an edit that was tried. Blocks until it is on disk."""
        note = _Tried(number, state, datetime.now(UTC), why, theirs)
        self._append(note, is_synced=True)
        return _take(self._items[number], note)

    def _append(self, *notes: _Note, is_synced: bool) -> None:
        lines = b"".join(map(_line, notes))
        try:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try:
                end = os.lseek(file, 0, os.SEEK_END)
                if end and os.pread(file, 1, end - 1) != b"\n":
                    lines = b"\n" + lines
                if os.write(file, lines) != len(lines):
                    raise StorageFault(f"{self.path} is cut short; is the disk full?")
                if end == self._size:
                    self._size += len(lines)
                if is_synced:
                    os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StorageFault(f"{self.path} cannot be written: {error.strerror}") from error


def changesets_dir() -> Path:
    """Return the directory where changesets are kept that were given no other name."""
    return config.state_dir() / "changesets"


def new_path(title: str, at: datetime) -> Path:
    """Return a path for a changeset made at a moment, named after what it is about; one that is
    not there yet."""
    words = "".join(char if char.isalnum() else "-" for char in title.lower())
    name = "-".join(filter(None, words.split("-")))[:40].strip("-") or "changes"
    stem = f"{at:%Y-%m-%d-%H%M%S}-{name}"
    paths = (
        changesets_dir() / f"{stem}{f'-{number}' if number > 1 else ''}{_ENDING}"
        for number in count(1)
    )
    return next(path for path in paths if not path.exists())


def kept_changesets() -> tuple[Path, ...]:
    """Return the files in the directory of changesets, the newest first."""
    return tuple(sorted(changesets_dir().glob(f"*{_ENDING}"), reverse=True))


def _take(item: ReviewItem, note: "_Decided | _Tried") -> ReviewItem:
    """Bring an edit to what was noted of it."""
    item.state = note.state
    if isinstance(note, _Tried):
        item.why, item.theirs = note.why, note.theirs
        return item
    item.decided_by = note.by
    if note.text is not None:
        item.is_changed = item.is_changed or note.text != item.edit.text
        item.edit = structs.replace(item.edit, text=note.text)
    if note.before is not None:
        item.edit = structs.replace(item.edit, before=note.before)
        item.theirs = None
    return item


def _line(note: _Note) -> bytes:
    return msgspec.json.encode(note) + b"\n"
