"""The journal of edits: a file with one line of JSON for each edit, including the replaced value.

The edits of one save share an id, so that they are undone together. An edit that undoes others
records their ids, so the journal alone shows what is undone.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.client.connection import KnownCatalog
from explorer.client.display import has_words, moment
from explorer.client.records import Edit, Held, What
from explorer.errors import StorageFault
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn

JOURNAL: Final = "journal.jsonl"
"""The name of the journal file in the state directory, which all front ends use."""
# Older versions recorded in this file which edits were undone.
_UNDONE: Final = "undone.jsonl"
# Our service rejects longer names.
_LONGEST_RUN: Final = 500


@dataclass(frozen=True, slots=True)
class _Saving:
    id: str
    undoes: tuple[str, ...] = ()
    changeset: str = ""
    proposed_by: str = ""
    approved_by: str = ""


SESSION: Final = f"{Path(sys.argv[0]).stem} {os.getpid()} {os.urandom(4).hex()}"
"""This process in the journal: its program, its process id, and a part that makes it unique."""

_SAVING: ContextVar[_Saving | None] = ContextVar("saving", default=None)


@contextmanager
def one_save(
    save_id: str = "",
    *,
    undoes: Iterable[str] = (),
    changeset: str = "",
    proposed_by: str = "",
    approved_by: str = "",
) -> Iterator[str]:
    """A context whose edits are recorded as one save, which is undone as a whole. Yields the id of
    the save.

    `save_id` continues an earlier save. Inside another `one_save` the edits become part of that
    save, and missing arguments are taken from it. `undoes` are the ids of the entries that the
    edits undo. For reviewed edits, `changeset` is the id of their changeset, and `proposed_by` and
    `approved_by` are the people.
    """
    outer = _SAVING.get() or _Saving(save_id or _new_id())
    saving = _Saving(
        outer.id,
        tuple(undoes) or outer.undoes,
        changeset or outer.changeset or outer.id,
        proposed_by or outer.proposed_by,
        approved_by or outer.approved_by,
    )
    token = _SAVING.set(saving)
    try:
        yield saving.id
    finally:
        _SAVING.reset(token)


def run_name() -> str:
    """Return the name of the run that reviewed edits are stored with; empty for other edits.

    It names the changeset, and who proposed and approved it.
    """
    saving = _SAVING.get()
    if saving is None or not (saving.proposed_by or saving.approved_by):
        return ""
    people = (saving.proposed_by, saving.approved_by)
    proposer, approver = (Urn.label(person) or "somebody" for person in people)
    name = f"changeset {saving.changeset}, proposed by {proposer}, approved by {approver}"
    # A proposals file may contain any text, but a run's name must be one line.
    return "".join(char if char.isprintable() else " " for char in name)[:_LONGEST_RUN]


def save_in_progress() -> str:
    """Return the id of the save that edits made now belong to; empty if each edit is its own
    save."""
    saving = _SAVING.get()
    return saving.id if saving is not None else ""


class JournalEntry(msgspec.Struct, frozen=True):
    """One line of the journal: an edit, its id, its time, the address of the server, and the id of
    the catalog, which is empty if an older version recorded it or the server gives none.

    `save` is the id of its save, `undoes` the ids of the entries that it undoes. `proposed_by` and
    `approved_by` are empty for edits that were not reviewed. `session` is the process that made it.
    """

    id: str
    at: datetime
    server: str
    urn: str
    what: What
    before: Any
    after: Any
    column: str | None = None
    save: str = ""
    undoes: tuple[str, ...] = ()
    proposed_by: str = ""
    approved_by: str = ""
    session: str = ""
    catalog: str = ""

    @property
    def made_on(self) -> KnownCatalog:
        """The catalog that the edit was made on."""
        return KnownCatalog(self.server, self.catalog)

    @property
    def edit(self) -> Edit:
        """The edit as the client returned it."""
        urn = Urn.parse(self.urn)
        return Edit(
            urn,
            self.what,
            _parse_value(self.before),
            _parse_value(self.after),
            self.at,
            self.column,
        )


@dataclass(frozen=True, slots=True)
class JournalSave:
    """The journal entries of one save, oldest first."""

    id: str
    entries: tuple[JournalEntry, ...]

    @property
    def server(self) -> str:
        """The address of the server that the edits were made on."""
        return self.entries[0].server

    @property
    def made_on(self) -> KnownCatalog:
        """The catalog that the edits were made on."""
        return self.entries[0].made_on

    @property
    def session(self) -> str:
        """The process that made the last edit; empty if an older version recorded it."""
        return self.entries[-1].session

    @property
    def made_by(self) -> str:
        """The program that made the save, with its process id."""
        program, _, process = self.session.rpartition(" ")[0].rpartition(" ")
        return f"{program} (process {process})" if process else "an older version"

    @property
    def people(self) -> tuple[str, ...]:
        """Who proposed a reviewed save, and who approved it: `approved by nina`."""
        entry = self.entries[0]
        people = (("proposed", entry.proposed_by), ("approved", entry.approved_by))
        return tuple(f"{verb} by {Urn.label(who)}" for verb, who in people if who)

    @property
    def at(self) -> datetime:
        """The time of the last edit."""
        return self.entries[-1].at

    def origin(self, format_moment: Callable[[int], str] = moment) -> str:
        """Return when and by whom it was saved; the program is left out if it is this process.

        `format_moment` formats a time given in milliseconds.
        """
        when = f"saved {format_moment(millis_of(self.at))}"
        made_by = "" if self.session == SESSION else f" by {self.made_by}"
        return ", ".join((when + made_by, *self.people))

    @property
    def edits(self) -> "tuple[tuple[Edit, tuple[str, ...]], ...]":
        """One edit for each value that the save changed, with the ids of its entries.

        The last edit comes first, except that creations of entities come last, because concurrent
        edits reach the journal in any order. For labels and links the edit contains only those that
        the save added or removed.
        """
        edits_by_place: dict[tuple[str, What, str | None], tuple[Edit, tuple[str, ...]]] = {}
        for entry in self.entries:
            place = (entry.urn, entry.what, entry.column)
            edit = entry.edit
            ids: tuple[str, ...] = (entry.id,)
            if place in edits_by_place:
                first, before = edits_by_place.pop(place)
                edit, ids = _join(first, edit), (*before, *ids)
            edits_by_place[place] = edit, ids
        edits = reversed(edits_by_place.values())
        return tuple(
            sorted(edits, key=lambda pair: pair[0].what == "entity" and pair[0].before is None)
        )

    def has(self, words: str) -> bool:
        """Return whether each of the words occurs in the save, ignoring case.

        Searched are the URNs of entities, columns, texts and labels before and after, kinds of
        edits, the server's address, the names of proposer and approver, and the day (2030-01-31).
        """
        return has_words(words, self._texts())

    def _texts(self) -> Iterator[str]:
        yield from (self.server, f"{self.at.astimezone():%Y-%m-%d}")
        for entry in self.entries:
            yield from (
                entry.urn,
                entry.column or "",
                entry.what,
                entry.proposed_by,
                entry.approved_by,
            )
            yield from (_text_to_search(entry.before), _text_to_search(entry.after))


class Journal:
    """A journal in a file that several processes may write to concurrently.

    Each line is written in one piece and is on disk when `append` returns. Only the user who
    created the file can read it, because it contains texts that people wrote.
    """

    def __init__(self, path: Path) -> None:
        """Create the file if it does not exist. Raises `StorageFault` if it cannot be opened or
        created."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(self._open())
        except OSError as error:
            raise StorageFault(_cannot(path, error)) from error

    def append(self, edit: Edit, made_on: KnownCatalog) -> JournalEntry:
        """Append an edit to the current save, or as a save of its own, and return the entry.

        Raises `StorageFault` if the line cannot be written completely.
        """
        own = _new_id()
        saving = _SAVING.get() or _Saving(own)
        entry = JournalEntry(
            own,
            edit.at,
            made_on.address,
            str(edit.urn),
            edit.what,
            edit.before,
            edit.after,
            edit.column,
            saving.id,
            saving.undoes,
            saving.proposed_by,
            saving.approved_by,
            SESSION,
            made_on.id,
        )
        line = msgspec.json.encode(entry) + b"\n"
        try:
            file = self._open()
            try:
                if _is_torn(file):
                    line = b"\n" + line
                if os.write(file, line) != len(line):
                    raise StorageFault(f"the journal {self.path} is cut short; is the disk full?")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StorageFault(_cannot(self.path, error)) from error
        return entry

    def __iter__(self) -> Iterator[JournalEntry]:
        """Yield the entries, oldest first, without lines that a crash cut off."""
        older = _read_undone(self.path.with_name(_UNDONE))
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    entry = _read(line)
                    if entry is None:
                        continue
                    if entry.id in older and not entry.undoes:
                        entry = msgspec.structs.replace(entry, undoes=older[entry.id])
                    yield entry
        except OSError as error:
            raise StorageFault(_cannot(self.path, error)) from error

    def _open(self) -> int:
        # Also opened for reading, because `append` first looks at the last byte.
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def saves_of(entries: Iterable[JournalEntry]) -> list[JournalSave]:
    """Return the saves of the entries, ordered by the last entry of each."""
    entries_by_save: dict[str, tuple[JournalEntry, ...]] = {}
    for entry in entries:
        save = entry.save or entry.id
        entries_by_save[save] = (*entries_by_save.pop(save, ()), entry)
    return [JournalSave(save, several) for save, several in entries_by_save.items()]


def entries_with(entries: Sequence[JournalEntry], words: str) -> list[JournalEntry]:
    """Return the entries of the saves that contain all words, in order; see `JournalSave.has`."""
    if not words.strip():
        return list(entries)
    saves = {save.id for save in saves_of(entries) if save.has(words)}
    return [entry for entry in entries if (entry.save or entry.id) in saves]


def undone_in(entries: Iterable[JournalEntry]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the entries that undid each entry, by its id."""
    undoing_ids: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        for of in entry.undoes:
            undoing_ids[of] = (*undoing_ids.get(of, ()), entry.id)
    return undoing_ids


def is_undone(entry_id: str, undone: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether an entry was undone by an entry that is not undone itself."""
    return any(not is_undone(by, undone) for by in undone.get(entry_id, ()))


def last_save(
    entries: Sequence[JournalEntry], here: KnownCatalog, session: str | None = None
) -> JournalSave | None:
    """Return the last save on a catalog that is not undone, or `None`; with `session` the last that
    this process made.

    Its entries that are already undone are left out. An undo or a redo does not count as a save.
    """
    undone = undone_in(entries)
    for save in reversed(saves_of(entry for entry in entries if entry.made_on.is_same(here))):
        if session not in (None, save.session):
            continue
        standing = standing_part(save, undone)
        if standing is not None and not any(entry.undoes for entry in save.entries):
            return standing
    return None


def not_offered(entries: Iterable[JournalEntry], here: KnownCatalog) -> str:
    """Return a sentence to add when a catalog has nothing left to undo: why saves made at its
    address cannot be undone on it. Empty if there are no such saves."""
    if any(not entry.made_on.is_same(here) and entry.made_on.was_at(here) for entry in entries):
        return "; what was saved at this address before is of another catalog"
    return ""


def last_undo(
    entries: Sequence[JournalEntry], here: KnownCatalog, session: str | None = None
) -> JournalSave | None:
    """Return the last undo on a catalog that was not redone, or `None`; with `session` only saves
    that this process made count.

    Also `None` if another save was made since.
    """
    undone, entries_by_id = undone_in(entries), {entry.id: entry for entry in entries}
    for save in reversed(saves_of(entry for entry in entries if entry.made_on.is_same(here))):
        if session not in (None, save.session):
            continue
        depth = undo_depth(save.entries[0], entries_by_id)
        if depth == 0:
            return None
        standing = standing_part(save, undone)
        # An undo of an undo is a redo.
        if standing is not None and depth % 2:
            return standing
    return None


def undo_depth(entry: JournalEntry, entries_by_id: Mapping[str, JournalEntry]) -> int:
    """Return 0 for an edit, 1 for an undo of one, 2 for a redo, and so on.

    `entries_by_id` has all entries of the journal.
    """
    depth, at = 0, entry
    while at.undoes:
        depth += 1
        if at.undoes[0] not in entries_by_id:
            break
        at = entries_by_id[at.undoes[0]]
    return depth


def standing_part(save: JournalSave, undone: Mapping[str, tuple[str, ...]]) -> JournalSave | None:
    """Return a save without its entries that are undone; `None` if all of them are."""
    entries = tuple(entry for entry in save.entries if not is_undone(entry.id, undone))
    return JournalSave(save.id, entries) if entries else None


def _join(first: Edit, then: Edit) -> Edit:
    """Return the edit that combines two successive edits of one value."""
    parts = (first.before, first.after, then.before, then.after)
    if not all(isinstance(part, tuple) for part in parts):
        return replace(then, before=first.before)
    # Other people may have added or removed labels between the two edits.
    added: dict[str, None] = {}
    removed: dict[str, None] = {}
    for edit in (first, then):
        before, after = held_labels(edit.before), held_labels(edit.after)
        for label in (*before, *after):
            own, opposite = (removed, added) if label in before else (added, removed)
            if label in before and label in after:
                continue
            if label in opposite:
                del opposite[label]
            else:
                own[label] = None
    return replace(then, before=tuple(removed), after=tuple(added))


def held_labels(held: Held) -> tuple[str, ...]:
    """Return the labels or links in the value of an edit; empty for other kinds of values."""
    return held if isinstance(held, tuple) else ()


def _new_id() -> str:
    return os.urandom(8).hex()


def _read_undone(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the ids of the entries that each entry in an older version's journal undoes."""
    undone_ids: dict[str, tuple[str, ...]] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return undone_ids
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    for text in filter(None, lines):
        try:
            pair = msgspec.json.decode(text, type=dict[str, str])
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        by, of = pair.get("by"), pair.get("of")
        # An entry cannot undo itself.
        if by and of and by != of:
            undone_ids[by] = (*undone_ids.get(by, ()), of)
    return undone_ids


def _is_torn(file: int) -> bool:
    """Return whether the last line lacks its line end."""
    end = os.lseek(file, 0, os.SEEK_END)
    return end > 0 and os.pread(file, 1, end - 1) != b"\n"


def _read(line: bytes) -> JournalEntry | None:
    try:
        return msgspec.json.decode(line, type=JournalEntry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _parse_value(value: Any) -> Held:
    match value:
        case list():
            return tuple(value)
        case str() | dict():
            return value
        case _:
            return None


def _text_to_search(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _cannot(path: Path, error: OSError) -> str:
    return (
        f"the journal {path} cannot be used ({error.strerror}); give another path for it, or set "
        "CATALOG_STATE_DIR to another directory"
    )
