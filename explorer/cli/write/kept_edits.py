"""The edits that were made from this machine: listed, and taken back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from rich.padding import Padding
from rich.text import Text

from explorer import config
from explorer.cli import tables
from explorer.cli.forms import Form
from explorer.cli.output import note, print_json, results, said, words
from explorer.cli.target import Target
from explorer.cli.write.edits import (
    JOURNAL,
    as_record,
    keep_journal,
    part,
    place_words,
    refuse_read_only,
    tell,
)
from explorer.client.conflict import TextConflict
from explorer.client.display import line, moment
from explorer.client.journal import Journal, JournalEntry, is_undone, read_undone
from explorer.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["print_list", "take_back"]

_SHORT: Final = 8


def print_list(count: int, shown_as: Form | None) -> None:
    """The edits, newest first. Nothing is asked of any server."""
    entries = list(_journal())[::-1]
    undone = read_undone(config.state_dir() / JOURNAL)
    table = _table(entries[:count], undone)
    match shown_as:
        case "json":
            records = tables.as_objects(table)
            # Texts, lists and objects as they are, not as a table has them.
            for record, entry in zip(records, entries, strict=False):
                record["before"], record["after"] = entry.before, entry.after
            print_json(records)
        case "csv":
            tables.print_csv(table)
        case _:
            _print_entries(entries[:count], undone)
    if not entries:
        note(Text("no edits were made from this machine"))
    else:
        note(Text(f"{min(count, len(entries)):,} of {len(entries):,} shown"))


def take_back(target: Target, edit_id: str | None, *, as_json: bool) -> None:
    """Take an edit back, by the beginning of its ID, or the last one of the server that is asked.

    Raises `NotFound` where there is none, `InvalidInput` for one that is taken back already or of
    another server, and `TextConflict` where somebody changed it since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        journal = keep_journal(catalog)
        entries = list(journal)
        undone = journal.undone()
        entry = _chosen(entries, undone, edit_id, _address(catalog))
        known = {one.id for one in entries}
        try:
            edit = catalog.undo(entry)
        except TextConflict as conflict:
            note(Text(f"edit {entry.id[:_SHORT]} left: "), said(conflict.base, missing="nothing"))
            note(Text("there is now: "), said(conflict.theirs, missing="nothing"))
            note(Text("would come back: "), said(conflict.mine, missing="nothing"))
            raise
        made = [
            one.id
            for one in journal
            if one.id not in known
            and (one.urn, one.what, one.column) == (entry.urn, entry.what, entry.column)
        ]
        journal.note_undone(entry.id, made)
    tell([edit])
    if as_json:
        print_json(as_record(edit))


def _journal() -> Sequence[JournalEntry]:
    path = config.state_dir() / JOURNAL
    return list(Journal(path)) if path.exists() else []


def _address(catalog: "Catalog") -> str:
    if not catalog.address:
        # The embedded catalog has one when it was found.
        catalog.abilities()
    return catalog.address


def _chosen(
    entries: Sequence[JournalEntry],
    undone: Mapping[str, tuple[str, ...]],
    edit_id: str | None,
    address: str,
) -> JournalEntry:
    if edit_id is None:
        undoing = {by for several in undone.values() for by in several}
        for entry in reversed(entries):
            if entry.server != address or entry.id in undoing:
                continue
            if not is_undone(entry.id, undone):
                return entry
        raise NotFound(
            f"no edit was made from this machine to {address} that could be taken back; "
            "catalog undo --list shows all"
        )
    found = [entry for entry in entries if entry.id.startswith(edit_id)]
    if not found:
        raise NotFound(
            f"no edit has an ID that begins with {edit_id}; catalog undo --list shows all"
        )
    if len(found) > 1:
        ids = ", ".join(entry.id for entry in found[:4])
        raise InvalidInput(f"{len(found):,} edits have an ID that begins with {edit_id}: {ids}")
    (entry,) = found
    if entry.server != address:
        raise InvalidInput(
            f"edit {entry.id} was made to {entry.server}, not to {address}; "
            "name that server with --url or --profile"
        )
    if is_undone(entry.id, undone):
        raise InvalidInput(
            f"edit {entry.id} is taken back already, by {' and '.join(undone[entry.id])}; "
            "taking that back does the edit again"
        )
    return entry


def _table(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> tables.Table:
    undoes = {by: of for of, several in undone.items() for by in several}
    columns = ("id", "at", "server", "urn", "column", "what", "before", "after", "undone", "undoes")
    rows = [
        (
            entry.id,
            entry.at.isoformat(),
            entry.server,
            entry.urn,
            entry.column,
            entry.what,
            _cell(entry.before),
            _cell(entry.after),
            is_undone(entry.id, undone),
            undoes.get(entry.id),
        )
        for entry in entries
    ]
    return tables.Table([tables.Column(name) for name in columns], rows)


def _cell(held: object) -> tables.Cell:
    match held:
        case str() | None:
            return held
        case list():
            return [str(one) for one in held]
        case _:
            return msgspec.json.encode(held).decode()


def _print_entries(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> None:
    console = results()
    undoes = {by: of for of, several in undone.items() for by in several}
    several_servers = len({entry.server for entry in entries}) > 1
    for entry in entries:
        edit = entry.edit
        state = ""
        if is_undone(entry.id, undone):
            state = "undone"
        elif entry.id in undoes:
            state = f"undoes {undoes[entry.id][:_SHORT]}"
        head = [
            Text(entry.id[:_SHORT], "bold"),
            Text(moment(round(entry.at.timestamp() * 1000))),
            Text(f"{entry.what} of ") + said(place_words(edit.urn, edit.column), "bold"),
            Text(state, "italic"),
            Text(line(entry.server) if several_servers else "", "dim"),
        ]
        console.print(words(head))
        room = max((console.width - 7) // 2, 16)
        limit = room - 3 if entry.what == "description" else room * 2
        was, now = (part(entry.what, held, limit) for held in (edit.before, edit.after))
        change = Text(f"{was} → {now}", "dim" if state else "")
        console.print(Padding(change, (0, 0, 0, 2)))
