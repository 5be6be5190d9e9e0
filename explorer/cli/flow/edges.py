"""The relationships of one entity: read, named, and shown under their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rich.text import Text

from explorer.cli import output
from explorer.cli.flow.known import check_there, read_known
from explorer.cli.flow.trees import name_of, state_of, type_of
from explorer.cli.flow.ways import check_relationships
from explorer.cli.output import note, results, said
from explorer.cli.tables import Column, Table, as_objects, print_csv, print_table, print_urns
from explorer.client import Catalog
from explorer.client.records import Direction
from explorer.metadata.urn import Urn

__all__ = [
    "Group",
    "Related",
    "Side",
    "print_as_csv",
    "print_as_json",
    "print_as_urns",
    "print_for_people",
    "read_edges",
    "say_how_many",
]

Side = Literal["both", "in", "out"]

_SHOWN: Final = 20
_SIDES: Final[Mapping[Side, tuple[Direction, ...]]] = {
    "both": ("OUTGOING", "INCOMING"),
    "in": ("INCOMING",),
    "out": ("OUTGOING",),
}


@dataclass(frozen=True, slots=True)
class Group:
    """The entities under one relationship's name in one direction: how many, and those shown."""

    direction: Direction
    name: str
    count: int
    shown: tuple[Urn, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Relationships of an entity in groups, outgoing ones first, and what is known of those
    shown. `totals` are the server's counts; of more than was read, the groups' are of what was."""

    urn: str
    groups: tuple[Group, ...]
    totals: Mapping[Direction, int]
    about: Mapping[str, Mapping[str, Any]]

    @property
    def read(self) -> int:
        """How many were read."""
        return sum(group.count for group in self.groups)


def read_edges(
    catalog: Catalog,
    urn: str,
    side: Side,
    names: Sequence[str],
    *,
    limit: int | None,
    whole: bool,
) -> Related:
    """The relationships, those of the names given or all; `limit` are shown under each name.

    With `whole` every one is read and shown unless a limit is given, else the first 10,000 a
    direction. Raises `NotFound` where there is no such entity, `UnknownName` for a relationship
    that there is not.
    """
    check_relationships(names, catalog.registry)
    groups: list[Group] = []
    totals: dict[Direction, int] = {}
    for direction in _SIDES[side]:
        edges = catalog.relationships(urn, direction, names or None)
        totals[direction] = edges.total
        held: Mapping[str, Sequence[Urn]] = edges.by_relationship()
        if whole and edges.truncated:
            held = _every(catalog, urn, direction, names)
        most = limit or (None if whole else _SHOWN)
        groups += [
            Group(direction, name, len(held[name]), tuple(held[name][:most]))
            for name in sorted(held)
        ]
    if not groups:
        check_there(catalog, urn)
    shown = [urn, *(str(one) for group in groups for one in group.shown)]
    return Related(urn, tuple(groups), totals, read_known(catalog, shown))


def print_for_people(found: Related) -> None:
    """A heading for each relationship with its count, and below it the entities."""
    console = results()
    for at, group in enumerate(found.groups):
        if at:
            console.print()
        arrow = "→" if group.direction == "OUTGOING" else "←"
        word = "outgoing" if group.direction == "OUTGOING" else "incoming"
        heading = Text(f"{arrow} ", "dim") + said(group.name, "bold underline", missing="unnamed")
        console.print(heading + Text(f"  {group.count:,} {word}", "dim"))
        abouts = [(urn, found.about[str(urn)]) for urn in group.shown]
        rows = [
            (name_of(said_of, str(urn)), type_of(said_of), state_of(said_of))
            for urn, said_of in abouts
        ]
        columns = (
            Column("name", max_width=60, folds=True),
            Column("type", style="dim"),
            Column("state", style="italic"),
        )
        print_table(Table(columns, rows), headings=False)
        if len(group.shown) < group.count:
            console.print(Text(f"… {group.count - len(group.shown):,} more", "dim"))


def print_as_json(found: Related) -> None:
    """One object: `counts` by direction and name, `edges` in the server's order under each."""
    counts: dict[str, dict[str, int]] = {side.lower(): {} for side in found.totals}
    for group in found.groups:
        counts[group.direction.lower()][group.name] = group.count
    output.print_json(
        {
            "urn": found.urn,
            "total": sum(found.totals.values()),
            "counts": counts,
            "edges": as_objects(_rows(found)),
        }
    )


def print_as_csv(found: Related) -> None:
    """A line for each relationship."""
    print_csv(_rows(found))


def print_as_urns(found: Related) -> None:
    """The URNs at the other ends, each once."""
    print_urns(dict.fromkeys(urn for group in found.groups for urn in group.shown))


def say_how_many(found: Related) -> None:
    """The totals, and what was not shown, to the person."""
    total = sum(found.totals.values())
    name = said(name_of(found.about[found.urn], found.urn))
    if not total:
        sides = " or ".join(direction.lower() for direction in found.totals)
        note(Text(f"no {sides} relationships of "), name)
        return
    counts = ", ".join(f"{count:,} {side.lower()}" for side, count in found.totals.items())
    shown = sum(len(group.shown) for group in found.groups)
    if shown < total:
        note(Text(f"{shown:,} of {total:,} shown ({counts}); --limit shows more"))
    else:
        note(Text(counts))
    if found.read < total:
        note(Text(f"counted under their names: the first {found.read:,} that the server gave"))


def _every(
    catalog: Catalog, urn: str, direction: Direction, names: Sequence[str]
) -> Mapping[str, Sequence[Urn]]:
    held: dict[str, list[Urn]] = {}
    for edge in catalog.related(urn, direction, names or None):
        held.setdefault(edge.relationship, []).append(edge.urn)
    return held


def _rows(found: Related) -> Table:
    names = ("direction", "relationship", "urn", "name", "type", "kind", "platform", "exists")
    rows = []
    for group in found.groups:
        for urn in group.shown:
            about = found.about[str(urn)]
            rows.append(
                (
                    group.direction.lower(),
                    group.name,
                    str(urn),
                    name_of(about, str(urn)),
                    about["type"],
                    about.get("kind", about["type"]),
                    about.get("platform"),
                    about.get("exists"),
                )
            )
    return Table([Column(name) for name in names], rows)
