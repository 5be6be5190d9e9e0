"""The worklist as a table, as CSV, as JSON, as URNs."""

from typing import Final

from rich.text import Text

from explorer.cli.output import note, print_json
from explorer.cli.tables import Cell, Column, Table, as_objects, print_csv, print_table, print_urns
from explorer.stewardship import Item, Worklist

__all__ = ["print_as_csv", "print_as_json", "print_as_urns", "print_for_people", "say_how_many"]

_FOR_PROGRAMS: Final = (
    Column("urn"),
    Column("table"),
    Column("platform"),
    Column("column"),
    Column("type"),
    Column("weight"),
    Column("used"),
    Column("used_of"),
    Column("downstream"),
    Column("at_least"),
)


def print_for_people(worklist: Worklist) -> None:
    """A line for each item, with what its place in the order comes from."""
    if not worklist.items:
        return
    columns = (
        Column("weight"),
        Column("used"),
        Column("used_of", "of", style="dim"),
        Column("downstream"),
        Column("table", folds=True, style="bold"),
        Column("column", folds=True),
        Column("type", max_width=12, style="dim"),
    )
    rows: list[list[Cell]] = [
        [
            item.weight,
            item.use,
            item.use_of if item.use else None,
            f"{item.downstream:,}+" if item.at_least else item.downstream,
            item.table,
            item.column.simple if item.column else "(the table itself)",
            item.type,
        ]
        for item in worklist.items
    ]
    print_table(Table(columns, rows))


def print_as_csv(worklist: Worklist) -> None:
    """A line for each item, under the keys of its JSON."""
    print_csv(_table(worklist))


def print_as_json(worklist: Worklist) -> None:
    """The items as objects; `total` counts what is undocumented in all."""
    print_json(
        {"days": worklist.days, "total": worklist.total, "items": as_objects(_table(worklist))}
    )


def print_as_urns(worklist: Worklist) -> None:
    """The datasets, each once, in the order in which they come up."""
    print_urns(dict.fromkeys(item.urn for item in worklist.items))


def say_how_many(worklist: Worklist) -> None:
    """How many of how many were shown."""
    if not worklist.total:
        note(Text("everything here is documented"))
        return
    more = "; --top shows more" if worklist.truncated else ""
    note(Text(f"{len(worklist):,} of {worklist.total:,} undocumented shown{more}"))


def _table(worklist: Worklist) -> Table:
    return Table(_FOR_PROGRAMS, [_row(item) for item in worklist.items])


def _row(item: Item) -> list[Cell]:
    return [
        item.urn,
        item.table,
        item.platform,
        str(item.column) if item.column else None,
        item.type,
        item.weight,
        item.use,
        item.use_of,
        item.downstream,
        item.at_least,
    ]
