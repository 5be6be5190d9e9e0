"""The journal of edits: a file with one line of JSON for each edit and what stood there before.

The edits of one save share its id, so that they are undone together. An edit that undoes others
names them, so that the journal alone says what is undone.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from explorer.client.records import Edit, Held, What
from explorer.errors import StorageFault
from explorer.metadata.urn import Urn

__all__ = [
    "JOURNAL",
    "Journal",
    "JournalEntry",
    "JournalSave",
    "entries_with",
    "held_labels",
    "is_undone",
    "last_save",
    "last_undo",
    "one_save",
    "run_name",
    "saves_of",
    "standing_part",
    "undo_depth",
    "undone_in",
]

JOURNAL: Final = "journal.jsonl"
"""The name of the file in the state directory that every front end writes to."""
# Where older versions noted which edits were undone.
_UNDONE: Final = "undone.jsonl"
# Our service refuses a longer one.
_LONGEST_RUN: Final = 500


@dataclass(frozen=True, slots=True)
class _Saving:
    id: str
    undoes: tuple[str, ...] = ()
    proposed_by: str = ""
    approved_by: str = ""


_SAVING: ContextVar[_Saving | None] = ContextVar("saving", default=None)


@contextmanager
def one_save(
    save_id: str = "",
    *,
    undoes: Iterable[str] = (),
    proposed_by: str = "",
    approved_by: str = "",
) -> Iterator[str]:
    """Journal all edits made inside as one save, which is undone at once. Yields its id.

    `save_id` continues an earlier save. Inside another save this one is a part of it. `undoes`
    names the entries of the journal that the edits undo. Of edits that were reviewed, `proposed_by`
    and `approved_by` say by whom.
    """
    outer = _SAVING.get()
    number = outer.id if outer else save_id or _new_id()
    saving = _Saving(number, tuple(undoes), proposed_by, approved_by)
    token = _SAVING.set(saving)
    try:
        yield saving.id
    finally:
        _SAVING.reset(token)


def run_name() -> str:
    """Return the name of the run that edits made now are stored with, where they were reviewed: it
    names the changeset, who proposed and who approved it. Empty for any other edit."""
    saving = _SAVING.get()
    if saving is None or not (saving.proposed_by or saving.approved_by):
        return ""
    people = (saving.proposed_by, saving.approved_by)
    proposer, approver = (Urn.label(one) or "somebody" for one in people)
    name = f"changeset {saving.id}, proposed by {proposer}, approved by {approver}"
    # A file of proposals may hold anything, and a run's name is one line.
    return "".join(char if char.isprintable() else " " for char in name)[:_LONGEST_RUN]


class JournalEntry(msgspec.Struct, frozen=True):
    """One line: an edit, its id, when it was applied, and the address of the server.

    `save` is the id of its save, `undoes` the ids of the entries that it undoes. `proposed_by` and
    `approved_by` are empty for edits that were not reviewed.
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

    @property
    def edit(self) -> Edit:
        """The edit as the client returned it."""
        urn = Urn.parse(self.urn)
        return Edit(urn, self.what, _held(self.before), _held(self.after), self.at, self.column)


@dataclass(frozen=True, slots=True)
class JournalSave:
    """The entries of one save, oldest first."""

    id: str
    entries: tuple[JournalEntry, ...]

    @property
    def server(self) -> str:
        """The address of the server that was written to."""
        return self.entries[0].server

    @property
    def at(self) -> datetime:
        """When its last edit was made."""
        return self.entries[-1].at

    @property
    def edits(self) -> "tuple[tuple[Edit, tuple[str, ...]], ...]":
        """One edit for each value that the save changed, with the ids of its entries, the last
        first, but what made an entity behind all others: edits that are made at the same time
        reach the journal in any order.

        Of labels and links the edit names those that the save added or removed, and no others.
        """
        found: dict[tuple[str, What, str | None], tuple[Edit, tuple[str, ...]]] = {}
        for entry in self.entries:
            place = (entry.urn, entry.what, entry.column)
            edit = entry.edit
            ids: tuple[str, ...] = (entry.id,)
            if place in found:
                first, before = found.pop(place)
                edit, ids = _joined(first, edit), (*before, *ids)
            found[place] = edit, ids
        edits = reversed(found.values())
        return tuple(
            sorted(edits, key=lambda one: one[0].what == "entity" and one[0].before is None)
        )

    def has(self, words: str) -> bool:
        """Return whether every word is somewhere in the save: in the URN of an entity, a column, a
        text or label before or after, the kind of an edit, the server's address, the name of who
        proposed or approved it, or in its day (2030-01-31). Upper and lower case are the same."""
        wanted = words.casefold().split()
        if not wanted:
            return True
        parts = [self.server, f"{self.at.astimezone():%Y-%m-%d}"]
        for one in self.entries:
            parts += (one.urn, one.column or "", one.what, one.proposed_by, one.approved_by)
            parts += (_searched(one.before), _searched(one.after))
        searched = "\n".join(parts).casefold()
        return all(word in searched for word in wanted)


class Journal:
    """A journal in a file that several processes may write to at once.

    Every line is written at once and is on disk when `append` returns. Only the user who made the
    file may read it, because it holds what people wrote.
    """

    def __init__(self, path: Path) -> None:
        """Make the file where there is none; raises `StorageFault` where that cannot be."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(self._open())
        except OSError as error:
            raise StorageFault(_cannot(path, error)) from error

    def append(self, edit: Edit, server: str) -> JournalEntry:
        """Append an edit as a part of the current save, else as a save of its own. Raises
        `StorageFault` where the line cannot be written whole."""
        own = _new_id()
        saving = _SAVING.get() or _Saving(own)
        entry = JournalEntry(
            own,
            edit.at,
            server,
            str(edit.urn),
            edit.what,
            edit.before,
            edit.after,
            edit.column,
            saving.id,
            saving.undoes,
            saving.proposed_by,
            saving.approved_by,
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
        """Yield the entries, oldest first, without lines that a crash cut short."""
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
        # Opened for reading too, because `append` looks at the last byte first.
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def saves_of(entries: Iterable[JournalEntry]) -> list[JournalSave]:
    """Return the saves of entries, in the order of the last entry of each."""
    found: dict[str, tuple[JournalEntry, ...]] = {}
    for entry in entries:
        save = entry.save or entry.id
        found[save] = (*found.pop(save, ()), entry)
    return [JournalSave(save, several) for save, several in found.items()]


def entries_with(entries: Sequence[JournalEntry], words: str) -> list[JournalEntry]:
    """Return the entries of the saves that have all words, in their order; see
    `JournalSave.has`."""
    if not words.strip():
        return list(entries)
    saves = {save.id for save in saves_of(entries) if save.has(words)}
    return [entry for entry in entries if (entry.save or entry.id) in saves]


def undone_in(entries: Iterable[JournalEntry]) -> dict[str, tuple[str, ...]]:
    """Return, by the id of each entry that was undone, the ids of the entries that undid it."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        for of in entry.undoes:
            found[of] = (*found.get(of, ()), entry.id)
    return found


def is_undone(entry_id: str, undone: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether an entry was undone by an entry that is not undone itself."""
    return any(not is_undone(by, undone) for by in undone.get(entry_id, ()))


def last_save(entries: Sequence[JournalEntry], server: str) -> JournalSave | None:
    """Return the last save to a server that is not undone, without entries that are; None where
    there is none. An undo or a redo does not count as a save."""
    undone = undone_in(entries)
    for save in reversed(saves_of(one for one in entries if one.server == server)):
        standing = standing_part(save, undone)
        if standing is not None and not any(one.undoes for one in save.entries):
            return standing
    return None


def last_undo(entries: Sequence[JournalEntry], server: str) -> JournalSave | None:
    """Return the last undo on a server that was not redone; None where there is none, or where
    something else was saved since."""
    undone, known = undone_in(entries), {one.id: one for one in entries}
    for save in reversed(saves_of(one for one in entries if one.server == server)):
        depth = undo_depth(save.entries[0], known)
        if depth == 0:
            return None
        standing = standing_part(save, undone)
        # An undo of an undo is a redo.
        if standing is not None and depth % 2:
            return standing
    return None


def undo_depth(entry: JournalEntry, known: Mapping[str, JournalEntry]) -> int:
    """Return 0 for an edit, 1 for an undo of one, 2 for a redo, and so on. `known` are the entries
    of the journal by their ids."""
    depth, at = 0, entry
    while at.undoes:
        depth += 1
        if at.undoes[0] not in known:
            break
        at = known[at.undoes[0]]
    return depth


def standing_part(save: JournalSave, undone: Mapping[str, tuple[str, ...]]) -> JournalSave | None:
    """Return a save without its entries that are undone; None where all of them are."""
    left = tuple(one for one in save.entries if not is_undone(one.id, undone))
    return JournalSave(save.id, left) if left else None


def _joined(first: Edit, then: Edit) -> Edit:
    """Return two edits of one value as one."""
    parts = (first.before, first.after, then.before, then.after)
    if not all(isinstance(part, tuple) for part in parts):
        return replace(then, before=first.before)
    # Others' labels may have come and gone between the two.
    added: dict[str, None] = {}
    taken: dict[str, None] = {}
    for edit in (first, then):
        before, after = held_labels(edit.before), held_labels(edit.after)
        for label in (*before, *after):
            mine, others = (taken, added) if label in before else (added, taken)
            if label in before and label in after:
                continue
            if label in others:
                del others[label]
            else:
                mine[label] = None
    return replace(then, before=tuple(taken), after=tuple(added))


def held_labels(held: Held) -> tuple[str, ...]:
    """Return the labels or links that an edit holds; none for values of other kinds."""
    return held if isinstance(held, tuple) else ()


def _new_id() -> str:
    return os.urandom(8).hex()


def _read_undone(path: Path) -> dict[str, tuple[str, ...]]:
    """Return which entries the entries of an older version's journal undo, by their ids."""
    found: dict[str, tuple[str, ...]] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return found
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    for text in filter(None, lines):
        try:
            one = msgspec.json.decode(text, type=dict[str, str])
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        by, of = one.get("by"), one.get("of")
        # An entry cannot undo itself.
        if by and of and by != of:
            found[by] = (*found.get(by, ()), of)
    return found


def _is_torn(file: int) -> bool:
    """Return whether the last line has no end."""
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


def _searched(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _cannot(path: Path, error: OSError) -> str:
    return f"the journal {path} cannot be used ({error.strerror}); name another place for it"
