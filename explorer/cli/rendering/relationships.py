"""The relationships of an entity, and the paths between two, read and printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rich.text import Text

from explorer.cli import output
from explorer.cli.output import (
    Column,
    StyledTable,
    as_objects,
    note,
    print_csv,
    print_table,
    print_urns,
    results,
    said,
)
from explorer.cli.rendering.lineage import check_there, read_known
from explorer.client import Catalog
from explorer.client.records import Direction
from explorer.errors import UnknownName
from explorer.graph import Graphs
from explorer.graph.nodes import DETAIL_ASPECTS
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.views.lineage import LineageEntity, PathsView, lineage_entities, lineage_entity

__all__ = [
    "Side",
    "print_as_csv",
    "print_as_json",
    "print_as_urns",
    "print_for_people",
    "print_paths",
    "print_paths_as_json",
    "read_edges",
    "read_paths",
    "say_how_many",
    "say_how_many_paths",
]

_INDENT: Final = "  "


def check_relationships(names: Sequence[str], registry: Registry) -> None:
    """Raises `UnknownName` for a relationship that the model does not have."""
    known = {edge.name for aspect in registry.aspects.values() for edge in aspect.relationships}
    for name in names:
        if name not in known:
            raise UnknownName("relationship", name, known)


def read_paths(
    catalog: Catalog,
    source: str,
    target: str,
    relationships: Sequence[str],
    *,
    hops: int | None,
    limit: int,
) -> PathsView:
    """Return all shortest paths, at most `limit`. Raises `NotFound` where there
    is none and one of the ends is not there at all."""
    check_relationships(relationships, catalog.registry)
    found = Graphs(catalog).paths(
        source, target, relationships=relationships or None, hops=hops, limit=limit
    )
    if not found.ways:
        for end in (found.source, found.target):
            check_there(catalog, end)
    along = dict.fromkeys((found.source, found.target, *(urn for way in found.ways for urn in way)))
    return PathsView.of(found, catalog.entities(Urn.parse_all(along), DETAIL_ASPECTS))


def print_paths(found: PathsView) -> None:
    """Print a line for each path, broken between entities where it is too long; numbered where
    there are several. Along other relationships than lineage each step says which one it is."""
    console = results()
    several = len(found.steps) > 1
    widest = len(str(len(found.steps)))
    for number, steps in enumerate(found.steps, 1):
        before = f"{number:>{widest}}  " if several else ""
        lines = [Text(before, "dim")]
        for at, step in enumerate(steps):
            text = _step(step.entity)
            if at:
                arrow = _arrow(found, step.relationship)
                if lines[-1].cell_len + arrow.cell_len + text.cell_len + 1 > console.width:
                    lines.append(Text(" " * len(before) + _INDENT) + arrow)
                else:
                    lines[-1] = lines[-1] + Text(" ") + arrow
            lines[-1] = lines[-1] + text
        for line in lines:
            line.overflow = "fold"
            console.print(line)


def print_paths_as_json(found: PathsView) -> None:
    """Print one object: each way lists its entities from `source` to `target`, and `joined_by` for
    each way the relationship of each step."""
    paths = found.paths
    output.print_json(
        {
            "source": paths.source,
            "target": paths.target,
            "direction": paths.direction if paths.ways else None,
            "hops": paths.hops,
            "joined_by": paths.joined_by,
            "truncated": paths.truncated,
            "ways": [[_as_json(found.nodes[urn], urn) for urn in way] for way in paths.ways],
        }
    )


def say_how_many_paths(found: PathsView, relationships: Sequence[str]) -> None:
    """Print how many paths there are, how long, and which way they run."""
    paths = found.paths
    source, target = said(found.source.full_name), said(found.target.full_name)
    if not paths.ways:
        along = f"along {', '.join(relationships)}" if relationships else "along lineage"
        note(Text("there is no way from "), source, Text(" to "), target, Text(f" {along}"))
    elif paths.direction == "any":
        note(Text(found.counts))
    else:
        ends = (target, source) if paths.direction == "downstream" else (source, target)
        middle = Text(" is made from ")
        note(Text(f"{found.counts}, {paths.direction}: "), ends[0], middle, ends[1])
    if paths.truncated:
        note(Text("not everything was looked at: ", "bold"), said(paths.truncated))


def _step(entity: LineageEntity) -> Text:
    text = said(entity.full_name, "bold") + Text(f" ({entity.type})", "dim")
    if entity.state:
        text.append(f" {entity.state}", "italic")
    return text


def _arrow(found: PathsView, relationship: str) -> Text:
    arrow = Text(f"{found.arrow} ", "dim")
    if found.paths.direction != "any" or not relationship:
        return arrow
    return arrow + said(relationship, "dim") + Text(" ") + arrow


def _as_json(about: Mapping[str, Any], urn: str) -> dict[str, Any]:
    return {
        "urn": urn,
        "name": about["name"],
        "type": about["type"],
        "kind": about.get("kind", about["type"]),
        "platform": about.get("platform"),
        "exists": about.get("exists"),
        "removed": about.get("removed", False),
    }


Side = Literal["both", "in", "out"]

_SHOWN: Final = 20
_SIDES: Final[Mapping[Side, tuple[Direction, ...]]] = {
    "both": ("OUTGOING", "INCOMING"),
    "in": ("INCOMING",),
    "out": ("OUTGOING",),
}


@dataclass(frozen=True, slots=True)
class RelationshipGroup:
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
    groups: tuple[RelationshipGroup, ...]
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
    groups: list[RelationshipGroup] = []
    totals: dict[Direction, int] = {}
    for direction in _SIDES[side]:
        edges = catalog.relationships(urn, direction, names or None)
        totals[direction] = edges.total
        held: Mapping[str, Sequence[Urn]] = edges.by_relationship()
        if whole and edges.truncated:
            held = _every(catalog, urn, direction, names)
        most = limit or (None if whole else _SHOWN)
        groups += [
            RelationshipGroup(direction, name, len(held[name]), tuple(held[name][:most]))
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
        entities = lineage_entities((str(urn), found.about[str(urn)]) for urn in group.shown)
        shown = [entities[str(urn)] for urn in group.shown]
        rows = [(one.full_name, one.type, one.state) for one in shown]
        columns = (
            Column("name", max_width=60, folds=True),
            Column("type", style="dim"),
            Column("state", style="italic"),
        )
        print_table(StyledTable(columns, rows), headings=False)
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
    name = said(lineage_entity(found.urn, found.about[found.urn]).name)
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


def _rows(found: Related) -> StyledTable:
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
                    lineage_entity(str(urn), about).name,
                    about["type"],
                    about.get("kind", about["type"]),
                    about.get("platform"),
                    about.get("exists"),
                )
            )
    return StyledTable([Column(name) for name in names], rows)
