"""The edits that were made from this machine: listed, and taken back."""

from collections import Counter
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
    as_record,
    keep_journal,
    part,
    place_words,
    refuse_read_only,
    tell,
)
from explorer.client.display import line, moment
from explorer.client.editable import TextConflict
from explorer.client.journal import (
    JOURNAL,
    Journal,
    JournalEntry,
    Save,
    is_undone,
    last_save,
    last_undo,
    saves_of,
    undone_in,
)
from explorer.client.records import Edit
from explorer.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["do_again", "print_list", "take_back"]

_SHORT: Final = 8


def print_list(count: int, shown_as: Form | None) -> None:
    """The edits, newest first. Nothing is asked of any server."""
    entries = list(_journal())[::-1]
    undone = undone_in(entries[::-1])
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


def take_back(target: Target, edit_id: str | None, *, force: bool, as_json: bool) -> None:
    """Undo an edit or a save, by the beginning of its ID, or the last save to the server asked.

    Raises `NotFound` where there is none, `InvalidInput` for one that is undone already or of
    another server, and without `force` `TextConflict` where somebody changed it since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries = list(keep_journal(catalog))
        address = _address(catalog)
        save = last_save(entries, address) if edit_id is None else _chosen(entries, edit_id)
        if save is None:
            raise NotFound(f"nothing left to undo on {address}; catalog undo --list shows all")
        if save.server != address:
            raise InvalidInput(
                f"edit {save.id} was made to {save.server}, not to {address}; "
                "name that server with --url or --profile"
            )
        made = _undone(catalog, save, force=force)
    _tell(made, as_json=as_json)


def do_again(target: Target, *, force: bool, as_json: bool) -> None:
    """Do again what the last undo on the server asked took back.

    Raises `NotFound` where nothing was undone, and without `force` `TextConflict` where somebody
    changed it since.
    """
    refuse_read_only(target)
    with target.open() as catalog:
        entries, address = list(keep_journal(catalog)), _address(catalog)
        undo = last_undo(entries, address)
        if undo is None:
            raise NotFound(
                f"nothing was undone on {address} that could be done again, or something else was "
                "saved since; catalog undo --list shows all, and catalog undo ID undoes an undo too"
            )
        made = _undone(catalog, undo, force=force)
    _tell(made, as_json=as_json)


def _undone(catalog: "Catalog", save: Save, *, force: bool) -> tuple[Edit, ...]:
    try:
        return catalog.undo_save(save, force=force)
    except TextConflict as conflict:
        note(Text(f"edit {save.id[:_SHORT]} left: "), said(conflict.base, missing="nothing"))
        note(Text("there is now: "), said(conflict.theirs, missing="nothing"))
        note(Text("would come back: "), said(conflict.mine, missing="nothing"))
        note(Text("nothing was written; --force writes over what is there now", "dim"))
        raise


def _tell(made: Sequence[Edit], *, as_json: bool) -> None:
    for edit in made:
        tell([edit])
    if as_json:
        records = [as_record(edit) for edit in made]
        print_json({**records[0], "edits": records})


def _journal() -> Sequence[JournalEntry]:
    path = config.state_dir() / JOURNAL
    return list(Journal(path)) if path.exists() else []


def _address(catalog: "Catalog") -> str:
    if not catalog.address:
        # The embedded catalog has one when it was found.
        catalog.abilities()
    return catalog.address


def _chosen(entries: Sequence[JournalEntry], edit_id: str) -> Save:
    """The edit whose ID begins so, or all that is left of the save whose ID does."""
    undone = undone_in(entries)
    found = [Save(entry.id, (entry,)) for entry in entries if entry.id.startswith(edit_id)]
    for save in saves_of(entries):
        if save.id.startswith(edit_id) and save.id not in {one.id for one in found}:
            left = tuple(one for one in save.entries if not is_undone(one.id, undone))
            found.append(Save(save.id, left or save.entries))
    if not found:
        raise NotFound(
            f"no edit has an ID that begins with {edit_id}; catalog undo --list shows all"
        )
    if len(found) > 1:
        ids = ", ".join(save.id for save in found[:4])
        raise InvalidInput(f"{len(found):,} edits have an ID that begins with {edit_id}: {ids}")
    (chosen,) = found
    first = chosen.entries[0].id
    if is_undone(first, undone):
        raise InvalidInput(
            f"edit {first} is taken back already, by {' and '.join(undone[first])}; "
            "taking that back does the edit again"
        )
    return chosen


def _table(entries: Sequence[JournalEntry], undone: Mapping[str, tuple[str, ...]]) -> tables.Table:
    columns = (
        *("id", "at", "server", "urn", "column", "what", "before", "after", "undone", "undoes"),
        "save",
    )
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
            " ".join(entry.undoes) or None,
            entry.save or entry.id,
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
    sizes = Counter(entry.save for entry in entries)
    several_servers = len({entry.server for entry in entries}) > 1
    for entry in entries:
        edit = entry.edit
        state = ""
        is_over = bool(entry.undoes) or is_undone(entry.id, undone)
        if is_undone(entry.id, undone):
            state = "undone"
        elif entry.undoes:
            state = f"undoes {entry.undoes[0][:_SHORT]}"
        if sizes[entry.save] > 1:
            state = f"{state} save {entry.save[:_SHORT]}".strip()
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
        change = Text(f"{was} → {now}", "dim" if is_over else "")
        console.print(Padding(change, (0, 0, 0, 2)))
