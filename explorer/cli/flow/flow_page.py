"""Lineage for people to read: as a tree with the entity in its middle, and as a table."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from rich.text import Text

from explorer.cli.flow.flows import Flows
from explorer.cli.flow.trees import Around, name_of, state_of, tree_lines, type_of
from explorer.cli.output import note, results
from explorer.cli.tables import Column, Table, print_table
from explorer.client.display import line
from explorer.client.records import Flow

__all__ = ["print_as_table", "print_tree", "say_cut", "say_how_many"]

_SIDES: Final[dict[Flow, str]] = {"UPSTREAM": "upstream", "DOWNSTREAM": "downstream"}
_MOST_CYCLES: Final = 3


def print_tree(found: Flows) -> None:
    """What the entity is made from, the entity itself, and what is made from it."""
    console = results()
    about = found.whole.nodes[found.root]
    middle = Text("● ") + Text(name_of(about, found.root), "bold underline")
    middle.append(f"  {type_of(about)}", "dim")
    if state_of(about):
        middle.append(f"  {state_of(about)}", "italic")
    lines = [middle]
    if "UPSTREAM" in found.sides:
        lines = [*tree_lines(found.root, _around(found, "UPSTREAM"), upward=True), *lines]
    if "DOWNSTREAM" in found.sides:
        lines += tree_lines(found.root, _around(found, "DOWNSTREAM"), upward=False)
    for one in lines:
        one.no_wrap, one.overflow = True, "ellipsis"
        console.print(one)


def print_as_table(found: Flows) -> None:
    """A line for each entity, nearest first."""
    if not found.shown:
        return
    columns = (
        Column("name", max_width=48, folds=True, style="bold"),
        Column("type"),
        Column("hops"),
        Column("side"),
        Column("state", style="italic"),
    )
    rows = []
    for urn in found.shown:
        said = found.whole.nodes[urn]
        far = said["hops"]
        side = "upstream" if far < 0 else "downstream"
        rows.append((name_of(said, urn), type_of(said), abs(far), side, state_of(said)))
    used = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    print_table(Table([columns[at] for at in used], [[row[at] for at in used] for row in rows]))


def say_how_many(found: Flows) -> None:
    """The totals, what was left out and how to see it, and cycles, to the person."""
    total = found.total
    hops = "1 hop" if found.hops == 1 else f"{found.hops:,} hops"
    counts = [
        f"{found.count(flow):,} {side}" for flow, side in _SIDES.items() if flow in found.sides
    ]
    if not total:
        note(Text(f"nothing {' or '.join(_SIDES[flow] for flow in found.sides)} in {hops}"))
    elif len(found.shown) < total:
        note(
            Text(
                f"{len(found.shown):,} of {total:,} shown ({', '.join(counts)}) in {hops}; "
                "--limit shows more"
            )
        )
    else:
        note(Text(f"{', '.join(counts)} in {hops}"))
    if found.goes_on:
        note(Text(f"it goes on: --hops {found.hops + 1} shows more"))
    guesses = found.whole.graph.get("guesses")
    if guesses:
        ways = "1 way between columns is a guess" if guesses == 1 else f"{guesses:,} are guesses"
        note(Text(f"{ways}: only the tables are known to be connected"))
    _say_cycles(found)
    if found.truncated:
        note(Text("not all was walked: ", "bold"), Text(line(found.truncated)))


def say_cut(picture: str) -> None:
    """Pictures hold only so much, and say in a comment at their top what they leave out."""
    _, _, cut = "\n".join(picture.split("\n", 2)[:2]).partition("cut: ")
    if cut:
        note(Text(f"the picture is cut: {line(cut)}; --limit draws the nearest"))


def _say_cycles(found: Flows) -> None:
    from explorer.graph import cycles

    part = found.part()
    rounds = cycles(part, limit=_MOST_CYCLES + 1)
    for cycle in rounds[:_MOST_CYCLES]:
        names = [name_of(part.nodes[urn], urn) for urn in (*cycle, cycle[0])]
        note(Text("a cycle: "), Text(" → ".join(names)))
    if len(rounds) > _MOST_CYCLES:
        note(Text("there are more cycles"))


def _around(found: Flows, flow: Flow) -> Around:
    graph = found.sides[flow]
    nodes = found.whole.nodes
    upward = flow == "UPSTREAM"

    @cache
    def further(urn: str) -> Sequence[str]:
        if urn not in graph:
            return ()
        near = graph.predecessors(urn) if upward else graph.successors(urn)
        # The lines of what is above are read from the bottom.
        return sorted(near, key=lambda one: (order(one), one), reverse=upward)

    @cache
    def order(urn: str) -> str:
        return name_of(nodes[urn], urn).casefold()

    return Around(
        further,
        lambda urn: nodes[urn],
        lambda near, far: graph.edges[(far, near) if upward else (near, far)],
        {found.root, *found.shown},
    )
