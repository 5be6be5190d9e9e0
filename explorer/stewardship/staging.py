"""Staged changesets: edits that were proposed and are reviewed and applied together, in a file.

A file is JSON, a line for each thing that was noted: a first line about the changeset, a line for
each edit, and after them who decided what and what was written. Nothing in it is ever changed, so
that a program that is killed loses nothing that it noted before; what it did not come to note is
found when the edit is tried again. Such a file can be handed to a colleague.

Notes (decisions and outcomes) have an id and a time, and count in the order of these, wherever in
the file they stand: files of several machines that hold the same notes say the same. The time of a
note is later than that of every note known where it is made, so that a clock that is slow lets no
older decision win. What is applied stays so, whatever was decided at the same moment elsewhere.
"""

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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
    "SharedNote",
    "StagedChangeset",
    "StagedEdit",
    "StagedKind",
    "TextSource",
    "changesets_dir",
    "deprecation_in",
    "deprecation_text",
    "kept_changesets",
    "new_path",
    "shared_copies",
    "shared_path",
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

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_STEP: Final = timedelta(milliseconds=1)
# How many notes have one time at most, so that a server can give them in pages.
_AT_ONCE: Final = 200
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
    """`seen` is the id of the last decision of this edit that its maker saw, empty for none: what
    the decision does not say itself is as it was then. None in files of older versions."""

    number: int
    state: ReviewState
    by: str
    at: datetime
    text: str | None = None
    before: str | None = None
    id: str = ""
    seen: str | None = None


class _Tried(msgspec.Struct, frozen=True, omit_defaults=True, tag="outcome"):
    number: int
    state: ReviewState
    at: datetime
    why: str = ""
    theirs: str | None = None
    id: str = ""


class _Sent(msgspec.Struct, frozen=True, omit_defaults=True, tag="sent"):
    """Of this copy of the file alone: the server `to` has the changeset, and these notes."""

    to: str
    ids: tuple[str, ...] = ()


class _Dropped(msgspec.Struct, frozen=True, omit_defaults=True, tag="dropped"):
    """Of this copy of the file alone: these notes do not count, for a server refused them."""

    ids: tuple[str, ...]


_Note: TypeAlias = _Decided | _Tried
_Line: TypeAlias = _Header | _Staged | _Note | _Sent | _Dropped
_note = msgspec.json.Decoder(_Line)
# A later time is that of a broken clock, and could leave none after it.
_LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)


class SharedNote(msgspec.Struct, frozen=True):
    """A line of a changeset as a server holds it: an edit, a decision or an outcome."""

    id: str
    at_millis: int
    line: str


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


class _Content:
    """What the lines of a file say."""

    def __init__(self, edits: Mapping[int, StagedEdit]) -> None:
        self.edits = dict(edits)
        self.items = {number: ReviewItem(number, edit) for number, edit in edits.items()}
        self.notes: dict[str, _Note] = {}
        self.sent: dict[str, set[str]] = {}
        self.dropped: set[str] = set()
        self.last = _EPOCH
        self._of: dict[int, list[_Note]] = {}

    def add(self, note: "_Note | _Sent | _Dropped") -> None:
        """Take a line in; `settle` says what it makes of its edit."""
        if isinstance(note, _Sent):
            self.sent.setdefault(note.to, set()).update(note.ids)
        elif isinstance(note, _Dropped):
            self.dropped.update(note.ids)
        elif note.id not in self.notes and note.number in self.edits:
            self.notes[note.id] = note
            self._of.setdefault(note.number, []).append(note)
            self.last = max(self.last, note.at)

    def settle(self, numbers: Iterable[int]) -> None:
        """Bring edits to what was noted of them."""
        for number in numbers:
            kept = (note for note in self._of.get(number, ()) if note.id not in self.dropped)
            self.items[number] = _settled(number, self.edits[number], sorted(kept, key=_order))

    def last_decision(self, number: int) -> str:
        """Return the id of the last decision of an edit; empty for none."""
        found = [
            note
            for note in self._of.get(number, ())
            if isinstance(note, _Decided) and note.id not in self.dropped
        ]
        return max(found, key=_order).id if found else ""

    def next_time(self) -> datetime:
        """Return the time of a new note."""
        return max(datetime.now(UTC), self.last + _STEP)


class StagedChangeset:
    """A changeset in its file. Everything that is noted is on disk when the call returns; calls
    that say so may block for that.

    `cursor` is up to where in a server's change log this object has taken in what others noted; see
    `explorer.stewardship.proposals`.
    """

    def __init__(self, path: Path, header: _Header, content: _Content) -> None:
        self.path = path
        self.cursor: tuple[str, int] | None = None
        self._header = header
        self._content = content
        # How much of the file is known.
        self._size = 0
        # An outcome is noted in a thread, while others are read in another.
        self._changing = threading.RLock()

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
        staged = {edit.place: edit for edit in edits}.values()
        if not staged:
            raise InvalidInput("there is nothing to stage")
        header = _Header(os.urandom(8).hex(), title, server, proposed_by, datetime.now(UTC))
        numbered = dict(enumerate(staged, 1))
        return cls._write(path, header, numbered, progress=progress)

    @classmethod
    def copy(
        cls,
        path: Path,
        edits: Iterable[str],
        *,
        changeset_id: str,
        title: str,
        server: str,
        proposed_by: str,
        at: datetime,
        version: int,
        held_by: str,
    ) -> "StagedChangeset":
        """Return the changeset that the server `held_by` has in a file that must not be there yet;
        `edits` are their lines. Blocks; raises as `create`, and `InvalidInput` for lines that are
        none or of a newer version."""
        if version > _VERSION:
            raise InvalidInput(f"{changeset_id} is of a newer version; update the catalog")
        header = _Header(changeset_id, title, server, proposed_by, at)
        found: dict[int, StagedEdit] = {}
        for text in edits:
            line = _read_line(text)
            if not isinstance(line, _Staged):
                raise InvalidInput(f"the changeset {changeset_id} has an edit that cannot be read")
            found.setdefault(line.number, line.edit)
        return cls._write(path, header, dict(sorted(found.items())), _Sent(held_by))

    @classmethod
    def _write(
        cls,
        path: Path,
        header: _Header,
        edits: dict[int, StagedEdit],
        *more: _Sent,
        progress: "Callable[[int], None] | None" = None,
    ) -> "StagedChangeset":
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.exists():
                raise InvalidInput(f"{path} is there already; name another file")
            with os.fdopen(os.open(part, _NEW_FILE, 0o600), "wb") as file:
                file.write(_line(header))
                for number, edit in edits.items():
                    file.write(_line(_Staged(number, edit)))
                    if progress is not None:
                        progress(number)
                file.writelines(map(_line, more))
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
        made = cls(path, header, _Content(edits))
        for line in more:
            made._content.add(line)
        made._size = size
        return made

    @classmethod
    def open(cls, path: Path) -> "StagedChangeset":
        """Return the changeset of a file, as far as it was noted. Blocks. Raises `InvalidInput` for
        a file that is none, naming the line, and `StorageFault` where it cannot be read."""
        header, content, size = _read_file(path)
        opened = cls(path, header, content)
        opened._size = size
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
        with self._changing:
            _, self._content, self._size = _read_file(self.path)
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
    def format(self) -> str:
        """What tells its lines from those of other files."""
        return self._header.format

    @property
    def version(self) -> int:
        """The version of this form of lines."""
        return self._header.version

    @property
    def items(self) -> tuple[ReviewItem, ...]:
        """All edits, in the order in which they were staged."""
        return tuple(self._content.items.values())

    def item(self, number: int) -> ReviewItem:
        """Return the edit of a number, as it is now. Raises `KeyError`."""
        return self._content.items[number]

    def of(self, *states: ReviewState) -> tuple[ReviewItem, ...]:
        """Return the edits of these states, in their order."""
        return tuple(item for item in self._content.items.values() if item.state in states)

    def next_open(self, number: int = 0) -> ReviewItem | None:
        """Return the first edit after a number that nobody has decided, from the top again after
        the last; None where everything is decided."""
        waiting = self.of("open")
        later = (item for item in waiting if item.number > number)
        return next(later, waiting[0] if waiting else None)

    def counts(self) -> dict[ReviewState, int]:
        """Return how many edits there are of each state that there are any of."""
        found = Counter(item.state for item in self._content.items.values())
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
        with self._changing:
            content = self._content
            if content.items[number].state == "applied":
                raise InvalidInput("it is applied already; undo takes it back")
            seen, at = content.last_decision(number), content.next_time()
            note = _Decided(number, state, by, at, text, before, _new_id(), seen)
            self._append(note, is_synced=False)
            return self._added(content, note)

    def decide_open(self, state: Literal["accepted", "refused"], by: str) -> int:
        """Note the same decision of everything that is open, in one go; return how many that
        were."""
        with self._changing:
            content = self._content
            begin = content.next_time()
            pending = [number for number, item in content.items.items() if item.state == "open"]
            times = (begin + at // _AT_ONCE * _STEP for at in range(len(pending)))
            notes = [
                _Decided(number, state, by, at, id=_new_id(), seen=content.last_decision(number))
                for number, at in zip(pending, times, strict=True)
            ]
            self._append(*notes, is_synced=False)
            for note in notes:
                self._added(content, note)
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
        with self._changing:
            content = self._content
            note = _Tried(number, state, content.next_time(), why, theirs, _new_id())
            self._append(note, is_synced=True)
            return self._added(content, note)

    def _added(self, content: _Content, note: _Note) -> ReviewItem:
        content.add(note)
        content.settle((note.number,))
        return content.items[note.number]

    def is_shared_with(self, server: str) -> bool:
        """Return whether a server has the changeset, as far as this file knows."""
        return server in self._content.sent

    @property
    def shared_with(self) -> tuple[str, ...]:
        """The servers that have the changeset, as far as this file knows."""
        return tuple(self._content.sent)

    def notes(self) -> tuple[SharedNote, ...]:
        """Return the decisions and outcomes, in their order."""
        with self._changing:
            content = self._content
            kept = (note for name, note in content.notes.items() if name not in content.dropped)
            return tuple(map(_shared, sorted(kept, key=_order)))

    def unsent(self, server: str) -> tuple[SharedNote, ...]:
        """Return the decisions and outcomes that a server is not known to have, in their order;
        none for one that does not have the changeset."""
        known = self._content.sent.get(server)
        if known is None:
            return ()
        return tuple(note for note in self.notes() if note.id not in known)

    def edit_notes(self) -> tuple[SharedNote, ...]:
        """Return the edits as they were proposed, as a server holds them: always the same ids and
        times."""
        at_millis = _millis(self._header.at)
        return tuple(
            SharedNote(
                f"edit-{number}", at_millis + number // _AT_ONCE, _text(_Staged(number, edit))
            )
            for number, edit in self._content.edits.items()
        )

    def note_sent(self, server: str, ids: Collection[str]) -> None:
        """Note that a server has the changeset, and these notes."""
        known = self._content.sent.get(server)
        fresh = tuple(name for name in ids if known is None or name not in known)
        if fresh or known is None:
            self._append_own(_Sent(server, fresh))

    def drop(self, ids: Collection[str]) -> None:
        """Take notes back that a server refused; they stay in the file, and do not count."""
        if ids:
            self._append_own(_Dropped(tuple(ids)))

    def take_in(self, server: str, notes: Iterable[SharedNote]) -> tuple[int, tuple[int, ...]]:
        """Add what a server holds and this file lacks. Return how many notes that were, and the
        numbers of the edits that others decided otherwise, who had not seen what was decided
        here."""
        with self._changing:
            content = self._content
            came: list[_Note] = []
            lines: list[bytes] = []
            known: list[str] = []
            for one in notes:
                line = _read_line(one.line)
                if not isinstance(line, _Decided | _Tried) or line.number not in content.edits:
                    # An edit, or what a newer version noted.
                    continue
                known.append(one.id)
                if one.id in content.notes or line.at > _LATEST:
                    continue
                if line.id == one.id:
                    lines.append(one.line.encode() + b"\n")
                else:
                    line = structs.replace(line, id=one.id)
                    lines.append(_line(line))
                came.append(line)
            before = {n.number: content.items[n.number] for n in came if _overtakes(n, content)}
            if lines:
                self._append_lines(b"".join(lines), is_synced=False)
            for note in came:
                content.add(note)
            content.settle(dict.fromkeys(note.number for note in came))
            self.note_sent(server, known)
            now = content.items
        told = {number for number, one in before.items() if _outcome(one) != _outcome(now[number])}
        return len(came), tuple(sorted(told))

    def _append_own(self, line: "_Sent | _Dropped") -> None:
        with self._changing:
            self._append(line, is_synced=False)
            content = self._content
            content.add(line)
            if isinstance(line, _Dropped):
                content.settle({content.notes[name].number for name in line.ids})

    def _append(self, *notes: _Line, is_synced: bool) -> None:
        self._append_lines(b"".join(map(_line, notes)), is_synced=is_synced)

    def _append_lines(self, lines: bytes, *, is_synced: bool) -> None:
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


def _read_file(path: Path) -> "tuple[_Header, _Content, int]":
    """Return what a file says, and how long it is; raises as `StagedChangeset.open`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    lines = data.split(b"\n")
    # A line without an end was cut short by a crash, and never acknowledged.
    del lines[-1]
    header: _Header | None = None
    edits: dict[int, StagedEdit] = {}
    notes: list[_Note | _Sent | _Dropped] = []
    last = _EPOCH
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
            edits[note.number] = note.edit
        elif isinstance(note, _Decided | _Tried):
            if note.at.tzinfo is None:
                continue
            if not note.id:
                # Of an older version, which noted in the order of the file.
                name = f"{number:06}-{hashlib.sha256(line).hexdigest()[:8]}"
                note = structs.replace(note, id=name, at=max(note.at, last))
            last = max(last, note.at)
            notes.append(note)
        else:
            notes.append(note)
    if header is None or header.format != _FORMAT:
        raise InvalidInput(f"{path} is no changeset; catalog docs propose writes one")
    if header.version > _VERSION:
        raise InvalidInput(f"{path} was written by a newer version; update the catalog")
    content = _Content(edits)
    for note in notes:
        content.add(note)
    content.settle(edits)
    return header, content, len(data)


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


def shared_path(server: str, changeset_id: str) -> Path:
    """Return the path of the working copy of a changeset that a server holds."""
    return changesets_dir() / "shared" / server / f"{changeset_id}{_ENDING}"


def shared_copies(server: str) -> tuple[Path, ...]:
    """Return the working copies of the changesets of a server, in no order that means anything."""
    return tuple((changesets_dir() / "shared" / server).glob(f"*{_ENDING}"))


def _settled(number: int, edit: StagedEdit, notes: "Iterable[_Note]") -> ReviewItem:
    """Return an edit as its notes, in their order, leave it."""
    item = ReviewItem(number, edit)
    # What every decision left, for those that were made when it was the last.
    left = {"": (edit, item.theirs)}
    for note in notes:
        if item.state == "applied":
            break
        item.state = note.state
        if isinstance(note, _Tried):
            item.why, item.theirs = note.why, note.theirs
            continue
        if note.seen is not None and note.seen in left and note.seen != next(reversed(left)):
            item.edit, item.theirs = left[note.seen]
        item.decided_by = note.by
        if note.text is not None:
            item.edit = structs.replace(item.edit, text=note.text)
        if note.before is not None:
            item.edit = structs.replace(item.edit, before=note.before)
            item.theirs = None
        left[note.id] = (item.edit, item.theirs)
    item.is_changed = item.edit.text != edit.text
    return item


def _overtakes(note: "_Note", content: _Content) -> bool:
    """Return whether something was decided here that the maker of a note did not know of."""
    last = content.last_decision(note.number)
    if isinstance(note, _Decided):
        return bool(last) and note.seen != last
    return bool(last) and last not in set().union(*content.sent.values())


def _outcome(item: ReviewItem) -> tuple[ReviewState, StagedEdit]:
    return item.state, item.edit


def _order(note: "_Note") -> tuple[datetime, str]:
    return note.at, note.id


def _millis(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _new_id() -> str:
    return os.urandom(8).hex()


def _shared(note: "_Note") -> SharedNote:
    return SharedNote(note.id, _millis(note.at), _text(note))


def _read_line(text: str) -> "_Line | None":
    """Return the line that a server holds; None for one that cannot be read."""
    if "\n" in text:
        return None
    try:
        line: _Line = _note.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if isinstance(line, _Decided | _Tried) and line.at.tzinfo is None:
        return None
    return line


def _text(line: _Line) -> str:
    return msgspec.json.encode(line).decode()


def _line(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"
