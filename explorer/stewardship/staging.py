"""Staged changesets: files of proposed edits that are reviewed and applied together.

A file has one line of JSON for each record: first the changeset, then each edit, then decisions and
outcomes. Lines are only appended, so that a program that is killed loses nothing it recorded; an
outcome that it could not record is found out when the edit is tried again. A file can be passed on
to a colleague.

Decisions and outcomes have an id and a time, and are ordered by time, then id, wherever they are in
the file, so that files on several machines with the same records have the same result. The time of
a record is later than that of all records known where it is made, so that a slow clock cannot let
an older decision win. An applied edit stays applied, whatever was decided elsewhere at the same
time, until a later outcome says that it was undone.
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
from explorer.client.connection import KnownCatalog
from explorer.errors import InvalidInput, StorageFault
from explorer.metadata.proposal import millis_of

StagedKind = Literal["description", "tags", "terms", "owners", "domain", "deprecation", "links"]
"""The kinds of edits that can be staged."""

ReviewState = Literal["open", "accepted", "refused", "applied", "failed"]
STATES: Final[tuple[ReviewState, ...]] = get_args(ReviewState)
"""The states of a staged edit.

`open`      not decided
`accepted`  to be written
`refused`   not to be written
`applied`   written, or already in the catalog
`failed`    accepted, but refused by the server
"""

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_STEP: Final = timedelta(milliseconds=1)
# The maximum number of notes with the same time, so that a server can return them in pages.
_AT_ONCE: Final = 200
_FORMAT: Final = "catalog-changeset"
_VERSION: Final = 1
_ENDING: Final = ".changes.jsonl"
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class TextSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """The source of a proposed description.

    `found_by` is how it was found: along the column's `lineage`, by the same `name` along the
    table's lineage, by the same name `elsewhere`, or in a `file` or the output of a `command`.
    `urn` and `column` are the source column, `hops` its distance in the lineage, and `agreeing` the
    number of columns with this description.
    """

    found_by: Literal["lineage", "name", "elsewhere", "file", "command"]
    urn: str = ""
    table: str = ""
    column: str = ""
    hops: int = 0
    agreeing: int = 1


class Agent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The agent that proposed a changeset, as it calls itself, with its version and its model."""

    name: str
    version: str = ""
    model: str = ""

    @property
    def label(self) -> str:
        """The agent in words: `claude-code 2.1 (opus-5)`."""
        model = f"({self.model})" if self.model else ""
        return " ".join(filter(None, (self.name, self.version, model)))


class StagedEdit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One proposed edit of an entity, or of its column with the field path `column`.

    A description is `text`, replacing `before`, the edited description at the time of the proposal.
    For labels `add` and `remove` are URNs, for owners `URN TYPE`, for links `ADDRESS LABEL`; other
    labels are not changed. A domain is the one in `add`, or none, replacing those in `before`,
    separated by commas. A deprecation is `text` replacing `before`, both in the form of
    `deprecation_text`. For links `before` are those to the same addresses, one on each line. `name`
    is the entity's display name, `ingested` the ingested description, `creates` the tags in `add`
    that are created if they do not exist, and `label_names` the display names of labels by URN.
    `why` is the reason that an agent gave.
    """

    urn: str
    name: str
    column: str | None = None
    what: StagedKind = "description"
    before: str = ""
    text: str = ""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    ingested: str = msgspec.field(default="", name="shown")
    sources: tuple[TextSource, ...] = ()
    creates: tuple[str, ...] = ()
    label_names: dict[str, str] = msgspec.field(default_factory=dict, name="called")
    why: str = ""

    @property
    def place(self) -> tuple[str, str | None, StagedKind]:
        """The place that the edit changes; a changeset has one edit for each place."""
        return self.urn, self.column, self.what


def deprecation_text(held: Mapping[str, Any] | None) -> str:
    """Return a deprecation, given as in `Edit`, as text; empty for `None`."""
    return "" if held is None else msgspec.json.encode(held, order="sorted").decode()


def deprecation_in(text: str) -> dict[str, Any] | None:
    """Parse a deprecation from text; the inverse of `deprecation_text`. Other text is taken as the
    note."""
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
    catalog: str = ""
    agent: Agent | None = None


class _Staged(msgspec.Struct, frozen=True, omit_defaults=True, tag="edit"):
    number: int
    edit: StagedEdit


class _Decided(msgspec.Struct, frozen=True, omit_defaults=True, tag="decision"):
    """A decision about an edit.

    `seen` is the id of the last decision about this edit that its author had seen, empty for none:
    fields that this decision does not set keep their values from that one. `None` in files of older
    versions.
    """

    number: int
    state: ReviewState
    by: str
    at: datetime
    text: str | None = None
    before: str | None = None
    id: str = ""
    seen: str | None = None


class _Tried(msgspec.Struct, frozen=True, omit_defaults=True, tag="outcome"):
    """An outcome: an edit was applied, or failed, or is open again because it was undone.

    For an edit that is open again, `undoes` are the outcomes that no longer count, and `entries`
    the entries of the journal that the edit had made.
    """

    number: int
    state: ReviewState
    at: datetime
    why: str = ""
    theirs: str | None = None
    id: str = ""
    undoes: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


class _Sent(msgspec.Struct, frozen=True, omit_defaults=True, tag="sent"):
    """A line for this copy of the file only: the server `to` has the changeset and these notes."""

    to: str
    ids: tuple[str, ...] = ()


class _Dropped(msgspec.Struct, frozen=True, omit_defaults=True, tag="dropped"):
    """A line for this copy of the file only: these notes do not count, because a server refused
    them."""

    ids: tuple[str, ...]


_Note: TypeAlias = _Decided | _Tried
_Line: TypeAlias = _Header | _Staged | _Note | _Sent | _Dropped
_note = msgspec.json.Decoder(_Line)
# Later times come from a wrong clock, and could make it impossible to add a later note.
_LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)


class SharedNote(msgspec.Struct, frozen=True):
    """A line of a changeset as stored on a server: an edit, a decision or an outcome."""

    id: str
    at_millis: int
    line: str


@dataclass(slots=True)
class ReviewItem:
    """A staged edit and its state.

    `decided_by` is who last accepted, changed or refused it, `why` the server's reason if it
    failed. `theirs` is the value that somebody else wrote in the meantime, or `None`.
    """

    number: int
    edit: StagedEdit
    state: ReviewState = "open"
    decided_by: str = ""
    why: str = ""
    theirs: str | None = None
    is_changed: bool = field(default=False)
    """Whether a reviewer changed the proposed text."""


class _Content:
    """The content of a file."""

    def __init__(self, edits: Mapping[int, StagedEdit]) -> None:
        self.edits = dict(edits)
        self.items = {number: ReviewItem(number, edit) for number, edit in edits.items()}
        self.notes: dict[str, _Note] = {}
        self.sent: dict[str, set[str]] = {}
        self.dropped: set[str] = set()
        self.last = _EPOCH
        self._of: dict[int, list[_Note]] = {}

    def add(self, note: "_Note | _Sent | _Dropped") -> None:
        """Add a line. `settle` computes the resulting state of its edit."""
        if isinstance(note, _Sent):
            self.sent.setdefault(note.to, set()).update(note.ids)
        elif isinstance(note, _Dropped):
            self.dropped.update(note.ids)
        elif note.id not in self.notes and note.number in self.edits:
            self.notes[note.id] = note
            self._of.setdefault(note.number, []).append(note)
            self.last = max(self.last, note.at)

    def settle(self, numbers: Iterable[int]) -> None:
        """Compute the state of edits from their notes."""
        for number in numbers:
            notes = (note for note in self._of.get(number, ()) if note.id not in self.dropped)
            self.items[number] = _settle(number, self.edits[number], sorted(notes, key=_order))

    def last_decision(self, number: int) -> str:
        """Return the id of the last decision about an edit; empty for none."""
        decisions = [
            note
            for note in self._of.get(number, ())
            if isinstance(note, _Decided) and note.id not in self.dropped
        ]
        return max(decisions, key=_order).id if decisions else ""

    def outcomes(self, number: int) -> list[_Tried]:
        """Return the outcomes of an edit, in no particular order."""
        return [note for note in self._of.get(number, ()) if isinstance(note, _Tried)]

    def applied_before(self, numbers: Iterable[int]) -> int:
        """Return how many edits were applied before the first of these edits was last decided."""
        decided = map(self.last_decision, numbers)
        first = min((self.notes[note].at for note in decided if note), default=_EPOCH)
        return sum(note.state == "applied" and note.at < first for note in self.notes.values())

    def next_time(self) -> datetime:
        """Return the time for a new note."""
        return max(datetime.now(UTC), self.last + _STEP)


class StagedChangeset:
    """A changeset and its file.

    Everything that is recorded is on disk when the call returns; docstrings say which calls block.
    `cursor` is the server's change log offset up to which this object has received the records of
    others; see `explorer.stewardship.proposals`.
    """

    def __init__(self, path: Path, header: _Header, content: _Content) -> None:
        self.path = path
        self.cursor: tuple[str, int] | None = None
        self._header = header
        self._content = content
        # The size of the part of the file that was read.
        self._size = 0
        # Outcomes may be recorded in one thread while notes of others are added in another.
        self._changing = threading.RLock()

    def __repr__(self) -> str:
        """Return its title, the number of edits in each state, and its file."""
        states = ", ".join(f"{count:,} {state}" for state, count in self.counts().items())
        return f"<{type(self).__name__} {self.title!r}: {states}; {self.path}>"

    @classmethod
    def create(
        cls,
        path: Path,
        edits: Iterable[StagedEdit],
        *,
        title: str,
        server: str,
        proposed_by: str,
        catalog: str = "",
        agent: Agent | None = None,
        progress: "Callable[[int], None] | None" = None,
    ) -> "StagedChangeset":
        """Create a changeset in a new file. Blocks.

        If several edits are for one place, the last counts. Raises `InvalidInput` if the file
        exists or there is nothing to stage, `StorageFault` if it cannot be written.
        """
        staged = {edit.place: edit for edit in edits}.values()
        if not staged:
            raise InvalidInput("there is nothing to stage")
        header = _Header(
            *(os.urandom(8).hex(), title, server, proposed_by, datetime.now(UTC)),
            catalog=catalog,
            agent=agent,
        )
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
        catalog: str = "",
        agent: Agent | None = None,
    ) -> "StagedChangeset":
        """Create a new file with a changeset from the server `held_by`, whose catalog has the id
        `catalog`. Blocks.

        `edits` are the lines of its edits. Raises as `create`, and `InvalidInput` for lines that
        cannot be parsed or are of a newer version.
        """
        if version > _VERSION:
            raise InvalidInput(f"{changeset_id} is from a newer version; upgrade this program")
        header = _Header(changeset_id, title, server, proposed_by, at, catalog=catalog, agent=agent)
        edits_by_number: dict[int, StagedEdit] = {}
        for text in edits:
            line = _read_line(text)
            if not isinstance(line, _Staged):
                raise InvalidInput(f"the changeset {changeset_id} has an edit that cannot be read")
            edits_by_number.setdefault(line.number, line.edit)
        return cls._write(path, header, dict(sorted(edits_by_number.items())), _Sent(held_by))

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
                raise InvalidInput(f"{path} already exists; give another file")
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
            raise InvalidInput(f"{path} already exists; give another file") from error
        except OSError as error:
            raise StorageFault(f"{path} cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
        changeset = cls(path, header, _Content(edits))
        for line in more:
            changeset._content.add(line)
        changeset._size = size
        return changeset

    @classmethod
    def open(cls, path: Path) -> "StagedChangeset":
        """Read a changeset from a file. Blocks.

        Raises `InvalidInput`, with the line, if it is not a changeset, and `StorageFault` if it
        cannot be read.
        """
        header, content, size = _read_file(path)
        opened = cls(path, header, content)
        opened._size = size
        return opened

    def read_again(self) -> bool:
        """Read the lines that other programs appended to the file; return whether there were any.

        `items` then contains new objects. Blocks; raises as `open`.
        """
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise StorageFault(f"{self.path} cannot be read: {error.strerror}") from error
        if size == self._size:
            return False
        with self._changing:
            _, self._content, self._size = _read_file(self.path)
        return True

    def discard(self) -> None:
        """Delete the file. Applied edits stay in the catalog and in the journal. Blocks; raises
        `StorageFault` if the file cannot be deleted."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageFault(f"{self.path} cannot be deleted: {error.strerror}") from error

    @property
    def id(self) -> str:
        """The id of the changeset."""
        return self._header.id

    def save_id(self) -> str:
        """Return the id in the journal of the save that will write the accepted edits.

        It is that of the changeset until an edit was applied. Edits that were all accepted after
        others had been applied get an id of their own, which stays the same if writing them is
        interrupted and continued later.
        """
        with self._changing:
            earlier = self._content.applied_before(item.number for item in self.of("accepted"))
        return self._save_id(earlier)

    def save_ids(self) -> frozenset[str]:
        """Return the ids of all saves that edits of this changeset may be part of."""
        with self._changing:
            applied = sum(note.state == "applied" for note in self._content.notes.values())
        return frozenset(map(self._save_id, range(applied + 1)))

    def _save_id(self, earlier: int) -> str:
        if not earlier:
            return self.id
        return hashlib.sha256(f"{self.id} {earlier}".encode()).hexdigest()[: len(self.id)]

    @property
    def title(self) -> str:
        """The title given by whoever proposed the changeset."""
        return self._header.title

    @property
    def server(self) -> str:
        """The address of the server that the changeset was made for."""
        return self._header.server

    @property
    def catalog(self) -> str:
        """The id of the catalog that the changeset was made for; empty if it is not known."""
        return self._header.catalog

    @property
    def made_on(self) -> KnownCatalog:
        """The catalog that the changeset was made for."""
        return KnownCatalog(self.server, self.catalog)

    @property
    def proposed_by(self) -> str:
        """The user who created the changeset."""
        return self._header.proposed_by

    @property
    def agent(self) -> Agent | None:
        """The agent that proposed the changeset on behalf of the user; `None` for a person."""
        return self._header.agent

    @property
    def proposer(self) -> str:
        """Who proposed the changeset: an agent in words, else the URN of the user."""
        return self.proposed_by if self.agent is None else self.agent.label

    @property
    def at(self) -> datetime:
        """When the changeset was created."""
        return self._header.at

    @property
    def format(self) -> str:
        """The identifier of this file format."""
        return self._header.format

    @property
    def version(self) -> int:
        """The version of this file format."""
        return self._header.version

    @property
    def items(self) -> tuple[ReviewItem, ...]:
        """All edits, in the order in which they were staged."""
        return tuple(self._content.items.values())

    def item(self, number: int) -> ReviewItem:
        """Return the edit with a number, as it is now. Raises `KeyError`."""
        return self._content.items[number]

    def of(self, *states: ReviewState) -> tuple[ReviewItem, ...]:
        """Return the edits in these states, in order."""
        return tuple(item for item in self._content.items.values() if item.state in states)

    def next_open(self, number: int = 0) -> ReviewItem | None:
        """Return the first undecided edit after a number, continuing at the top; `None` if there is
        none."""
        waiting = self.of("open")
        later = (item for item in waiting if item.number > number)
        return next(later, waiting[0] if waiting else None)

    def counts(self) -> dict[ReviewState, int]:
        """Return the number of edits in each state that occurs."""
        counts = Counter(item.state for item in self._content.items.values())
        return {state: counts[state] for state in STATES if counts[state]}

    def decide(
        self,
        number: int,
        state: Literal["open", "accepted", "refused"],
        by: str,
        *,
        text: str | None = None,
        before: str | None = None,
    ) -> ReviewItem:
        """Record a decision about an edit.

        `text` replaces the proposed text if the reviewer changed it; `before` replaces the expected
        present value if the reviewer saw a newer one. Raises `InvalidInput` for an applied edit.
        """
        with self._changing:
            content = self._content
            if content.items[number].state == "applied":
                raise InvalidInput("the edit is already applied; use undo to reverse it")
            earlier, at = content.last_decision(number), content.next_time()
            note = _Decided(number, state, by, at, text, before, _new_id(), earlier)
            self._append(note, is_synced=False)
            return self._add(content, note)

    def decide_open(self, state: Literal["accepted", "refused"], by: str) -> int:
        """Record the same decision about all undecided edits; return their number."""
        with self._changing:
            content = self._content
            first_time = content.next_time()
            pending = [number for number, item in content.items.items() if item.state == "open"]
            times = (first_time + at // _AT_ONCE * _STEP for at in range(len(pending)))
            notes = [
                _Decided(number, state, by, at, id=_new_id(), seen=content.last_decision(number))
                for number, at in zip(pending, times, strict=True)
            ]
            self._append(*notes, is_synced=False)
            for note in notes:
                self._add(content, note)
        return len(notes)

    def note_outcome(
        self,
        number: int,
        state: Literal["applied", "failed"],
        *,
        why: str = "",
        theirs: str | None = None,
    ) -> ReviewItem:
        """Record the outcome of an edit that was tried. Blocks until it is on disk.

        Raises `StorageFault` if the file cannot be written; the outcome is then only in this
        object.
        """
        with self._changing:
            content = self._content
            note = _Tried(number, state, content.next_time(), why, theirs, _new_id())
            item = self._add(content, note)
            self._append(note, is_synced=True)
            return item

    def note_conflicts(self, found: Mapping[int, tuple[str, str | None]]) -> None:
        """Record that edits cannot be written unchanged: for each number, the reason, and the value
        in the catalog if that is the reason. Blocks."""
        with self._changing:
            content = self._content
            at = content.next_time()
            notes = [
                _Tried(number, "failed", at + place // _AT_ONCE * _STEP, why, theirs, _new_id())
                for place, (number, (why, theirs)) in enumerate(found.items())
            ]
            self._append(*notes, is_synced=True)
            for note in notes:
                self._add(content, note)

    def note_undone(self, entries: Mapping[int, Collection[str]]) -> None:
        """Record that applied edits were undone, which makes them undecided again.

        `entries` are, by the number of the edit, the ids of the entries that it had made in the
        journal; `entries_undone` returns them later. Blocks.
        """
        with self._changing:
            content = self._content
            at = content.next_time()
            notes = [
                _Tried(
                    number,
                    "open",
                    at + place // _AT_ONCE * _STEP,
                    id=_new_id(),
                    undoes=tuple(note.id for note in content.outcomes(number)),
                    entries=tuple(entry_ids),
                )
                for place, (number, entry_ids) in enumerate(entries.items())
            ]
            self._append(*notes, is_synced=True)
            for note in notes:
                self._add(content, note)

    def entries_undone(self, number: int) -> frozenset[str]:
        """Return the ids of the journal entries of an edit that were recorded as undone by
        `note_undone`."""
        outcomes = self._content.outcomes(number)
        return frozenset(entry for note in outcomes for entry in note.entries)

    def _add(self, content: _Content, note: _Note) -> ReviewItem:
        content.add(note)
        content.settle((note.number,))
        return content.items[note.number]

    def is_shared_with(self, server: str) -> bool:
        """Return whether a server has the changeset, according to this file."""
        return server in self._content.sent

    def notes(self) -> tuple[SharedNote, ...]:
        """Return the decisions and outcomes, in order."""
        with self._changing:
            content = self._content
            notes = (note for name, note in content.notes.items() if name not in content.dropped)
            return tuple(map(_to_shared_note, sorted(notes, key=_order)))

    def unsent(self, server: str) -> tuple[SharedNote, ...]:
        """Return the decisions and outcomes that a server is not known to have, in order.

        Empty for a server that does not have the changeset.
        """
        sent_ids = self._content.sent.get(server)
        if sent_ids is None:
            return ()
        return tuple(note for note in self.notes() if note.id not in sent_ids)

    def edit_notes(self) -> tuple[SharedNote, ...]:
        """Return the edits as proposed, as notes for a server, always with the same ids and
        times."""
        at_millis = millis_of(self._header.at)
        return tuple(
            SharedNote(
                f"edit-{number}", at_millis + number // _AT_ONCE, _text(_Staged(number, edit))
            )
            for number, edit in self._content.edits.items()
        )

    def note_sent(self, server: str, ids: Collection[str]) -> None:
        """Record that a server has the changeset and these notes."""
        sent_ids = self._content.sent.get(server)
        fresh = tuple(name for name in ids if sent_ids is None or name not in sent_ids)
        if fresh or sent_ids is None:
            self._append_own(_Sent(server, fresh))

    def drop(self, ids: Collection[str]) -> None:
        """Exclude notes that a server refused; they stay in the file but do not count."""
        if ids:
            self._append_own(_Dropped(tuple(ids)))

    def take_in(self, server: str, notes: Iterable[SharedNote]) -> tuple[int, tuple[int, ...]]:
        """Add the notes from a server that this file lacks.

        Returns their number, and the numbers of edits that others decided differently without
        having seen the decision here.
        """
        with self._changing:
            content = self._content
            came: list[_Note] = []
            lines: list[bytes] = []
            shared_ids: list[str] = []
            for shared_note in notes:
                line = _read_line(shared_note.line)
                if not isinstance(line, _Decided | _Tried) or line.number not in content.edits:
                    # The line is an edit, or a record of a newer version.
                    continue
                shared_ids.append(shared_note.id)
                if shared_note.id in content.notes or line.at > _LATEST:
                    continue
                if line.id == shared_note.id:
                    lines.append(shared_note.line.encode() + b"\n")
                else:
                    line = structs.replace(line, id=shared_note.id)
                    lines.append(_line(line))
                came.append(line)
            before = {n.number: content.items[n.number] for n in came if _overtakes(n, content)}
            if lines:
                self._append_lines(b"".join(lines), is_synced=False)
            for note in came:
                content.add(note)
            content.settle(dict.fromkeys(note.number for note in came))
            self.note_sent(server, shared_ids)
            now = content.items
        conflicting = {
            number for number, item in before.items() if _outcome(item) != _outcome(now[number])
        }
        return len(came), tuple(sorted(conflicting))

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
    """Return the content of a file and its size. Raises as `StagedChangeset.open`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    lines = data.split(b"\n")
    # A line without an end was cut off by a crash, so it was never acknowledged.
    del lines[-1]
    header: _Header | None = None
    edits: dict[int, StagedEdit] = {}
    notes: list[_Note | _Sent | _Dropped] = []
    last = _EPOCH
    for number, line in enumerate(lines, 1):
        try:
            note = _note.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # A line damaged by a crash or by concurrent writes does not invalidate others.
            if header is not None and not line.startswith(b'{"type":"edit"'):
                continue
            raise InvalidInput(f"{path}, line {number}: this is not a changeset") from error
        if isinstance(note, _Header):
            header = note
        elif isinstance(note, _Staged):
            edits[note.number] = note.edit
        elif isinstance(note, _Decided | _Tried):
            if note.at.tzinfo is None:
                continue
            if not note.id:
                # A line of an older version, in which the order of the file counted.
                name = f"{number:06}-{hashlib.sha256(line).hexdigest()[:8]}"
                note = structs.replace(note, id=name, at=max(note.at, last))
            last = max(last, note.at)
            notes.append(note)
        else:
            notes.append(note)
    if header is None or header.format != _FORMAT:
        raise InvalidInput(f"{path} is not a changeset; catalog docs propose creates one")
    if header.version > _VERSION:
        raise InvalidInput(f"{path} was written by a newer version; upgrade this program")
    content = _Content(edits)
    for note in notes:
        content.add(note)
    content.settle(edits)
    return header, content, len(data)


def changesets_dir() -> Path:
    """Return the directory for changesets that were not given a path."""
    return config.state_dir() / "changesets"


def new_path(title: str, at: datetime) -> Path:
    """Return a path that does not exist yet for a changeset, named after its time and title."""
    words = "".join(char if char.isalnum() else "-" for char in title.lower())
    name = "-".join(filter(None, words.split("-")))[:40].strip("-") or "changes"
    stem = f"{at:%Y-%m-%d-%H%M%S}-{name}"
    paths = (
        changesets_dir() / f"{stem}{f'-{number}' if number > 1 else ''}{_ENDING}"
        for number in count(1)
    )
    return next(path for path in paths if not path.exists())


def changeset_files() -> tuple[Path, ...]:
    """Return the files in the directory of changesets, newest first."""
    return tuple(sorted(changesets_dir().glob(f"*{_ENDING}"), reverse=True))


def shared_path(server: str, changeset_id: str) -> Path:
    """Return the path of the working copy of a changeset stored on a server."""
    return changesets_dir() / "shared" / server / f"{changeset_id}{_ENDING}"


def shared_copies(server: str) -> tuple[Path, ...]:
    """Return the working copies of the changesets of a server, in no particular order."""
    return tuple((changesets_dir() / "shared" / server).glob(f"*{_ENDING}"))


def _settle(number: int, edit: StagedEdit, notes: "Collection[_Note]") -> ReviewItem:
    """Return the state of an edit after its notes, given in order."""
    item = ReviewItem(number, edit)
    undone = {name for note in notes if isinstance(note, _Tried) for name in note.undoes}
    # The state after each decision, for later decisions whose author had seen only that one.
    states = {"": (edit, item.theirs)}
    for note in notes:
        item.state = note.state
        if isinstance(note, _Tried):
            item.why, item.theirs = note.why, note.theirs
            if note.state == "applied" and note.id not in undone:
                break
            if note.undoes:
                item.decided_by = ""
            continue
        if note.seen is not None and note.seen in states and note.seen != next(reversed(states)):
            item.edit, item.theirs = states[note.seen]
        item.decided_by = note.by
        if note.text is not None:
            item.edit = structs.replace(item.edit, text=note.text)
        if note.before is not None:
            item.edit = structs.replace(item.edit, before=note.before)
            item.theirs = None
        states[note.id] = (item.edit, item.theirs)
    item.is_changed = item.edit.text != edit.text
    return item


def _overtakes(note: "_Note", content: _Content) -> bool:
    """Return whether this file has a decision that the author of a note had not seen."""
    last = content.last_decision(note.number)
    if isinstance(note, _Decided):
        return bool(last) and note.seen != last
    return bool(last) and last not in set().union(*content.sent.values())


def _outcome(item: ReviewItem) -> tuple[ReviewState, StagedEdit]:
    return item.state, item.edit


def _order(note: "_Note") -> tuple[datetime, str]:
    return note.at, note.id


def _new_id() -> str:
    return os.urandom(8).hex()


def _to_shared_note(note: "_Note") -> SharedNote:
    return SharedNote(note.id, millis_of(note.at), _text(note))


def _read_line(text: str) -> "_Line | None":
    """Parse a line from a server; `None` if it cannot be parsed."""
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
