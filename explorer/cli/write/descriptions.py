"""The description of an entity or column: read, shown, compared and written."""

import shlex
from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import Any

import click
from rich.text import Text

from explorer.cli.find.page import print_description
from explorer.cli.output import note, notes, print_json, results, said
from explorer.cli.reading import column_at, read_existing
from explorer.cli.target import Target
from explorer.cli.write import edits
from explorer.cli.write.sheets import Sheet
from explorer.client import Catalog
from explorer.client.display import visible
from explorer.client.editable import TextConflict, place_of
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn

__all__ = [
    "Manner",
    "Place",
    "find",
    "read_stdin",
    "show",
    "write",
    "write_from_editor",
    "write_typed",
]

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a description stands and what it says; `path` is the column's, exact."""

    urn: str
    name: str
    path: str | None
    ingested: str
    edited: str


@dataclass(frozen=True, slots=True)
class Manner:
    """How a text is written: over somebody else's, not at all but shown, told as JSON."""

    force: bool
    dry_run: bool
    as_json: bool


def find(catalog: Catalog, urn: str, column: str | None) -> Place:
    """The entity's description, or that of a column of it. One request.

    Raises `NotFound` for an entity and `UnknownName` for a column that does not exist.
    """
    entity = read_existing(catalog, urn)
    if column is None:
        texts = entity.ingested_description, entity.edited_description
        return Place(urn, entity.name, None, *texts)
    held = column_at(entity, column)
    name = f"{entity.name} · {held.path.simple}"
    return Place(urn, name, held.path.raw, held.ingested or "", held.edited or "")


def read_stdin() -> str:
    """All of standard input without one line end at its end.

    Raises `InvalidInput` when there is nothing, so that a script whose input went missing takes
    no description back.
    """
    text = edits.read_stdin()
    if not text.strip():
        raise InvalidInput(
            "there is no text on standard input; --text gives one, "
            '--text "" takes the description back, and `catalog get` shows it'
        )
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def show(target: Target, urn: str, column: str | None, *, as_json: bool) -> None:
    """Show both texts, each marked."""
    with target.open() as catalog:
        place = find(catalog, urn, column)
    if as_json:
        print_json(_as_json(place))
        return
    console = results()
    console.print(said(place.name, "bold underline"))
    print_description(console, place.ingested, place.edited)


def write(target: Target, urn: str, column: str | None, text: str, manner: Manner) -> None:
    """Write a text that was given with the command."""
    edits.refuse_read_only(target)
    with target.open() as catalog:
        _write(catalog, _find_writable(catalog, urn, column), text, manner)


def write_typed(target: Target, urn: str, column: str | None, manner: Manner) -> None:
    """Write a text from standard input, which is kept in a file where that fails."""
    edits.refuse_read_only(target)
    typed = Sheet(read_stdin(), _again(urn, column))
    with typed as sheet, target.open() as catalog:
        _write(catalog, _find_writable(catalog, urn, column), sheet.text, manner)


def write_from_editor(target: Target, urn: str, column: str | None, manner: Manner) -> None:
    """Write what the person makes of the text in their editor; kept in a file where that fails.

    Where the text in the catalog changed meanwhile nothing is written, unless with `force`.
    """
    edits.refuse_read_only(target)
    with target.open() as catalog:
        place = _find_writable(catalog, urn, column)
        again = _again(urn, place.path)
        with Sheet.edited(place.name, place.edited, place.ingested, again) as sheet:
            if sheet.text == place.edited or not (sheet.text.strip() or place.edited.strip()):
                note(Text("the text is as it was; nothing was written"))
                return
            if not sheet.text.strip():
                note(Text("the text was emptied; nothing was written"))
                note(Text('--text "" in place of --edit takes the description back', "dim"))
                click.get_current_context().exit(1)
            if manner.dry_run:
                sheet.keep()
            _write(catalog, place, sheet.text, manner, instead_of=place.edited)


def _again(urn: str, column: str | None) -> str:
    words = ("catalog", "describe", urn, *(("--column", column) if column else ()), "--text", "-")
    return shlex.join(words)


def _find_writable(catalog: Catalog, urn: str, column: str | None) -> Place:
    """As `find`; raises `InvalidInput` for what cannot be described, before anything is typed."""
    place_of(Urn.parse(urn), column)
    return find(catalog, urn, column)


def _write(
    catalog: Catalog, place: Place, text: str, manner: Manner, *, instead_of: str | None = None
) -> None:
    before = place.edited
    if manner.dry_run:
        if manner.as_json:
            print_json(_told(replace(place, edited=text), before, dry_run=True))
        elif text != before:
            _print_difference(before, text, to_results=True)
        same = "" if text != before else "the text is as it was; "
        note(Text(f"{same}nothing was written: this was a dry run"))
        return
    edits.keep_journal(catalog)
    try:
        edit = catalog.describe(
            place.urn, text, column=place.path, instead_of=instead_of, force=manner.force
        )
    except TextConflict as conflict:
        note(Text("what changed while you wrote:"))
        _print_difference(conflict.base, conflict.theirs, to_results=False)
        note(Text("--force with --edit writes over it, as --text does", "dim"))
        raise
    if edit.changed:
        head = Text("described ") + said(place.name, "bold")
        was, now = (edits.part("description", held) for held in (edit.before, edit.after))
        note(head, Text(f": {was} → {now}"))
    else:
        note(said(place.name, "bold"), Text(" says that already; nothing was written"))
    if manner.as_json:
        held = edit.before if isinstance(edit.before, str) else ""
        print_json(_told(replace(place, edited=text), held, dry_run=False))


def _print_difference(before: str, after: str, *, to_results: bool) -> None:
    console = results() if to_results else notes()
    old, new = (text.split("\n") if text else [] for text in (before, after))
    for one in unified_diff(old, new, "before", "after", lineterm=""):
        style = "bold" if one.startswith(("---", "+++")) else _STYLES.get(one[:1], "")
        console.print(Text(visible(one), style), soft_wrap=True)


def _as_json(place: Place) -> dict[str, Any]:
    """`description` is the text that counts: what people wrote where they wrote any."""
    return {
        "urn": place.urn,
        "column": place.path,
        "description": place.edited or place.ingested,
        "edited": place.edited or None,
        "ingested": place.ingested or None,
    }


def _told(place: Place, before: str, *, dry_run: bool) -> dict[str, Any]:
    changed = place.edited != before
    return {**_as_json(place), "before": before or None, "changed": changed, "dry_run": dry_run}
