"""The journal of edits, to be shown: the saves, the changes of each, and whether it was undone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import unquote

import msgspec

from explorer.client.display import counted, line, moment
from explorer.client.journal import (
    JournalEntry,
    JournalSave,
    held_labels,
    is_undone,
    saves_of,
    standing_part,
    undo_depth,
    undone_in,
)
from explorer.client.records import Edit, Held, What
from explorer.client.transport import UNIX
from explorer.metadata.fieldpath import FieldPath, split_column
from explorer.metadata.names import ownership, singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.views.absence import NOBODY, NONE
from explorer.views.diff import Diff, DiffLine, text_diff
from explorer.views.table import Cell, Row, Table, TableColumn

_PART: Final = 48
_NOTHING: Final[Mapping[What, str]] = {
    "deprecation": "not deprecated",
    "owners": NOBODY,
    "parent": "the top",
}
# Of a save of thousands of edits only the first are shown; a file has all of them.
_MOST_EDITS: Final = 50
# Limits that let a question fit on the screen.
_ASKED_ABOUT: Final = 8

SaveState = Literal["", "undone", "partly undone", "undo", "redo"]
"""Whether a save was undone, or is itself an undo or redo; empty otherwise."""


@dataclass(frozen=True, slots=True)
class SaveRecord:
    """A save in the journal. `standing` holds its entries that are not undone; `None` if all are
    undone."""

    save: JournalSave
    standing: JournalSave | None
    state: SaveState

    @property
    def edits(self) -> tuple[Edit, ...]:
        """One edit for each value that the save changed, in order."""
        return without_sources(edit for edit, _ in reversed(self.save.edits))

    @property
    def entities(self) -> tuple[Urn, ...]:
        """The entities that were edited, without duplicates."""
        return tuple(dict.fromkeys(edit.urn for edit in self.edits))


def save_records(entries: Sequence[JournalEntry]) -> list[SaveRecord]:
    """Return the saves in a journal, newest first."""
    undone, entries_by_id = undone_in(entries), {entry.id: entry for entry in entries}
    records = []
    for save in reversed(saves_of(entries)):
        standing = standing_part(save, undone)
        depth = undo_depth(save.entries[0], entries_by_id)
        state: SaveState = ""
        if standing is None:
            state = "undone"
        elif len(standing.entries) < len(save.entries):
            state = "partly undone"
        elif depth:
            state = "undo" if depth % 2 else "redo"
        records.append(SaveRecord(save, standing, state))
    return records


def journal_page(
    records: Sequence[SaveRecord], format_moment: Callable[[int], str] = moment
) -> Table:
    """Return a table of saves for people. `format_moment` formats a time given in milliseconds."""
    servers = _server_names(record.save.server for record in records)

    def read_moment(record: SaveRecord) -> str:
        return format_moment(millis_of(record.save.at))

    def read_approver(record: SaveRecord) -> str:
        return Urn.label(record.save.entries[0].approved_by)

    def read_server(record: SaveRecord) -> str:
        return servers[record.save.server]

    columns = [
        TableColumn("when", None, read_moment),
        TableColumn("what", None, save_sentence, folds=True, style="bold"),
        TableColumn("change", None, _change_words, folds=True),
        TableColumn("state", max_width=13),
    ]
    if any(record.save.entries[0].approved_by for record in records):
        columns.append(TableColumn("approved by", None, read_approver, max_width=24, style="dim"))
    if len(servers) > 1:
        columns.append(
            TableColumn("server", None, read_server, max_width=24, style="dim", cut="start")
        )
    return Table.from_records(records, columns, "Journal of edits")


def _server_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the display names of servers, by address. A local catalog is called `this machine`; if
    there are several, they are named by their directories."""
    unique_addresses = dict.fromkeys(addresses)
    local = [address for address in unique_addresses if address.startswith(UNIX)]
    names = {address: str(Path(address.removeprefix(UNIX)).parent) for address in local}
    if len(local) == 1:
        names[local[0]] = "this machine"
    return {address: names.get(address, address) for address in unique_addresses}


def catalog_place(address: str) -> str:
    """Return where a catalog is, for a question that names it: `on this machine`, or `at` with its
    address; empty if that is not known yet."""
    if address.startswith(UNIX):
        return "on this machine"
    return f"at {address}" if address else ""


def journal_table(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> Table:
    """Return a table of entries for programs, in order.

    `undone` maps the id of each undone entry to those that undid it; see
    `explorer.client.journal.undone_in`.
    """
    names = (
        *("id", "at", "server", "urn", "column", "what", "before", "after", "undone", "undoes"),
        *("save", "proposed_by", "approved_by"),
    )
    rows: list[Row] = [
        (
            *(entry.id, entry.at, entry.server, entry.urn, entry.column, entry.what),
            *(_cell(entry.before), _cell(entry.after), is_undone(entry.id, undone)),
            *(" ".join(entry.undoes) or None, entry.save or entry.id),
            *(entry.proposed_by or None, entry.approved_by or None),
        )
        for entry in entries
    ]
    return Table.of("journal", names, rows)


def without_sources(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits without those of text sources, which accompany edits of texts; all of them
    if nothing else was edited."""
    all_edits = tuple(edits)
    return tuple(edit for edit in all_edits if edit.what != "source") or all_edits


def save_sentence(record: SaveRecord) -> str:
    """Return what a save edited, in words: the place of its only edit, or the number of edits of
    each kind and of entities."""
    edits = record.edits
    if len(edits) == 1:
        urn, column = edits[0].urn, edits[0].column
        # The column comes first, because the end of a long place is cut.
        place = urn.name if column is None else f"{FieldPath(column).simple} in {urn.name}"
        return f"{edits[0].what} of {place}"
    counts = Counter(edit.what for edit in edits)
    kinds = ", ".join(_count_edits(what, count) for what, count in counts.items())
    entities = record.entities
    return f"{kinds} of {entities[0].name if len(entities) == 1 else f'{len(entities):,} entities'}"


def saved_sentence(sentence: str, warnings: Iterable[str], undo: str = "") -> str:
    """Return a sentence on a save, followed by how to undo it, or by its warnings
    (`Catalog.save_warnings`)."""
    sentences = [f"{warning[0].upper()}{warning[1:]}." for warning in warnings]
    return " ".join(filter(None, (sentence, *(sentences or (undo,)))))


def save_diff(record: SaveRecord) -> Diff:
    """Return the changes of a save as lines, each edit below the name of its place; only the first
    edits if there are very many."""
    lines: list[DiffLine] = []
    lines += (DiffLine(words, "note", "") for words in record.save.people)
    edits = record.edits
    for edit in edits[:_MOST_EDITS]:
        lines += (DiffLine(edit_title(edit), "place", ""), *_edit_diff(edit))
    more = len(edits) - _MOST_EDITS
    if more > 0:
        lines.append(DiffLine(f"and {more:,} more, which a file of the journal has", "note", ""))
    return tuple(lines)


class UndoneValue(NamedTuple):
    """The effect of an undo on one value: `before`, which is empty for labels and entities, becomes
    `after`."""

    title: str
    before: str
    after: str

    @property
    def change(self) -> str:
        """The change in one line."""
        return f"{self.before} → {self.after}" if self.before else self.after


@dataclass(frozen=True, slots=True)
class UndoPreview:
    """A preview of the undo of a save: `question` asks whether to do it, `origin` says when and by
    whom the save was made. `values` are the first values that change, `remaining` is the number of
    the others."""

    question: str
    origin: str
    values: tuple[UndoneValue, ...]
    remaining: int


def undo_preview(
    save: JournalSave,
    *,
    is_last: bool,
    is_redo: bool,
    format_moment: Callable[[int], str] = moment,
) -> UndoPreview:
    """Return a preview of the undo of a save. `is_redo` is true if the save is itself an undo,
    `is_last` if it was not chosen but is the last one."""
    edits = without_sources(edit for edit, _ in save.edits)
    if is_redo:
        question = "Redo the save that was undone last" if is_last else "Redo what this save undid"
    else:
        question = "Undo the last save" if is_last else "Undo this save"
    several = f", {len(edits):,} edits" if len(edits) > 1 else ""
    return UndoPreview(
        f"{question}{several}?",
        save.origin(format_moment),
        tuple(map(_undone_value, edits[:_ASKED_ABOUT])),
        max(len(edits) - _ASKED_ABOUT, 0),
    )


def _undone_value(edit: Edit) -> UndoneValue:
    title, (removed_labels, added_labels) = edit_title(edit), _label_difference(edit)
    if edit.what == "entity":
        removed = "is removed, unless something else uses it"
        return UndoneValue(title, "", removed if edit.before is None else "is created again")
    if removed_labels or added_labels:
        return UndoneValue(title, "", _label_words(added=removed_labels, removed=added_labels))
    before, after = (value_words(edit.what, value) for value in (edit.after, edit.before))
    texts = _text(edit.after), _text(edit.before)
    if before == after and all(texts):
        # Both texts begin alike, so they are shown from the first differing word.
        common_length = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
        )
        start = texts[0].rfind(" ", 0, common_length) + 1
        before, after = (f"… “{line(text[start:], _PART)}”" for text in texts)
    return UndoneValue(title, before, after)


def edit_title(edit: Edit) -> str:
    """Return the value that an edit changed, in words: `description of orders · amount`, `tag
    PII`."""
    if edit.what == "entity":
        return f"{singular(edit.urn.entity_type)} {edit.urn.name}"
    return f"{edit.what} of {edit_place(edit.urn, edit.column)}"


def edit_place(urn: Urn, column: str | None) -> str:
    """Return the display name of an entity or of one of its columns."""
    return urn.name if column is None else f"{urn.name} · {FieldPath(column).simple}"


def value_words(what: What, value: Held, limit: int = _PART) -> str:
    """Return the value of an edit in one line; text is cut to `limit` characters."""
    if not value:
        return _NOTHING.get(what, NONE.phrase)
    match value:
        case str():
            if what == "parent":
                return line(Urn.label(value), limit)
            return value if what == "status" else f"“{line(value, limit)}”"
        case dict() if what == "entity":
            return "created"
        case dict() if what == "path":
            return ", ".join(line(path, limit) for path in value)
        case dict() if what == "source":
            return source_words(value)
        case dict():
            return line(", ".join(_deprecation(value)), limit * 2)
        case _:
            return ", ".join(line(word) for word in _labels(what, value))


def source_words(source: Mapping[str, Any]) -> str:
    """Return the column that a description was propagated from, in words."""
    detail = source.get("attribution", {}).get("sourceDetail") or {}
    origin = split_column(str(detail.get("origin")))
    if origin is None:
        return "propagated"
    return f"propagated from {line(edit_place(Urn.parse(origin[0]), unquote(origin[1])))}"


def _edit_diff(edit: Edit) -> Iterator[DiffLine]:
    before, after = edit.before, edit.after
    if edit.what == "description":
        yield from text_diff(_text(before), _text(after))
        return
    removed_labels, added_labels = _label_difference(edit)
    if removed_labels or added_labels:
        yield from (DiffLine(label, "removed", "-") for label in removed_labels)
        yield from (DiffLine(label, "added", "+") for label in added_labels)
        return
    yield DiffLine(value_words(edit.what, before), "removed", "-")
    yield DiffLine(value_words(edit.what, after), "added", "+")


def _change_words(record: SaveRecord) -> str:
    edits = record.edits
    if len(edits) > 1:
        places = (edit_place(edit.urn, edit.column) for edit in edits[:3])
        return ", ".join((*places, "…") if len(edits) > 3 else places)
    edit = edits[0]
    removed_labels, added_labels = _label_difference(edit)
    if removed_labels or added_labels:
        return _label_words(added=added_labels, removed=removed_labels)
    if edit.what == "description":
        # The replaced text is shown below the list.
        return value_words("description", edit.after) if edit.after else "removed"
    return f"{value_words(edit.what, edit.before)} → {value_words(edit.what, edit.after)}"


def _label_words(*, added: Iterable[str], removed: Iterable[str]) -> str:
    return "  ".join((*(f"+ {label}" for label in added), *(f"− {label}" for label in removed)))


def _label_difference(edit: Edit) -> tuple[list[str], list[str]]:
    """Return the labels or links that an edit removed and those it added, in words."""
    labels_before, labels_after = held_labels(edit.before), held_labels(edit.after)
    removed_labels = tuple(label for label in labels_before if label not in labels_after)
    added_labels = tuple(label for label in labels_after if label not in labels_before)
    return list(_labels(edit.what, removed_labels)), list(_labels(edit.what, added_labels))


def _count_edits(what: What, count: int) -> str:
    """Return the number of edits of a kind in words."""
    if what in ("description", "name", "parent", "domain", "deprecation"):
        return counted(count, what)
    return what if count == 1 else f"{count:,} × {what}"


def _labels(what: What, labels: tuple[str, ...]) -> Iterator[str]:
    for label in labels:
        # The ownership type of an owner, and the label of a link, follow a space.
        name, _, beside = label.partition(" ")
        match what:
            case "owners":
                name, _, beside = label.rpartition(" ")
                kind = Urn.parse(beside).name if beside.startswith("urn:li:") else beside
                yield f"{_name(name)} ({ownership(kind)})"
            case "links":
                yield f"{beside} <{name}>" if beside else name
            case _:
                yield _name(label)


def _name(urn: str) -> str:
    urns = Urn.parse_all([urn])
    return urns[0].name if urns else urn


def _deprecation(deprecation: Mapping[str, Any]) -> Iterator[str]:
    note_text = deprecation.get("note")
    yield f"deprecated “{note_text}”" if note_text else "deprecated"
    if deprecation.get("decommissionTime"):
        yield f"until {moment(deprecation['decommissionTime'], utc=True)}"
    if deprecation.get("replacement"):
        yield f"use {_name(str(deprecation['replacement']))} instead"


def _text(value: Held) -> str:
    return value if isinstance(value, str) else ""


def _cell(value: object) -> Cell:
    match value:
        case str() | None:
            return value
        case list() | tuple():
            return [str(element) for element in value]
        case _:
            return msgspec.json.encode(value).decode()
