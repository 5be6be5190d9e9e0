"""A graph around one entity as lines of text: what it is made from above it, what is made from
it below.

Every entity has one line of its own, on the shortest way from the middle. Wherever else it is met
it is referred to, and said to be above or below.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.text import Text

from explorer.cli.output import said
from explorer.client.display import line

__all__ = ["Around", "name_of", "spread", "state_of", "tree_lines", "type_of"]

# References of one entity that get lines of their own.
_MOST_REFERENCES: Final = 5
_USUAL_ORIGIN: Final = "PROD"

Further = Callable[[str], Sequence[str]]
"""What an entity leads to directly, in the order it is shown in."""

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Around:
    """One side of the entity in the middle.

    `further` leads away from it, `node` and `edge` give what is known of an entity and of the way
    from one to the next. `shown` are the entities that get lines.
    """

    further: Further
    node: Callable[[str], Attributes]
    edge: Callable[[str, str], Attributes]
    shown: Collection[str]


@dataclass(slots=True)
class _Branch:
    urn: str
    """Empty for a line that only refers or counts."""

    text: Text
    below: list["_Branch"] = field(default_factory=list)


def spread(root: str, further: Further) -> dict[str, tuple[str, int]]:
    """What is reached from `root`, nearest first: from where, and how far away it is."""
    found: dict[str, tuple[str, int]] = {root: ("", 0)}
    waiting = deque([root])
    while waiting:
        here = waiting.popleft()
        for there in further(here):
            if there not in found:
                found[there] = here, found[here][1] + 1
                waiting.append(there)
    del found[root]
    return found


def tree_lines(root: str, side: Around, *, upward: bool) -> list[Text]:
    """The lines of one side, without the root's own; with `upward` the root stands below them."""
    top = _grow(root, side, upward=upward)
    lines = list(_draw(top.below, last="┌─ " if upward else "└─ "))
    return lines[::-1] if upward else lines


def name_of(said_of: Attributes, urn: str) -> str:
    """What people call an entity; a column with its dataset before it."""
    name = line(str(said_of.get("name") or "")) or line(urn)
    return f"{name}.{line(said_of['column'])}" if "column" in said_of else name


def type_of(said_of: Attributes) -> str:
    """Kind and platform, as far as they are known, and the environment unless it is the usual."""
    kind = line(str(said_of.get("kind") or said_of.get("type") or ""))
    if "column" in said_of:
        kind = "column"
    origin = line(said_of.get("origin"))
    parts = (kind, line(said_of.get("platform")), "" if origin == _USUAL_ORIGIN else origin)
    return " · ".join(part for part in parts if part)


def state_of(said_of: Attributes) -> str:
    """What is unusual about an entity, in words."""
    states = []
    if said_of.get("removed"):
        states.append("removed")
    elif said_of.get("exists") is False:
        is_column = "column" in said_of
        states.append("not in the schema" if is_column else "only named by others")
    if said_of.get("deprecated"):
        states.append("deprecated")
    return ", ".join(states)


def _grow(root: str, side: Around, *, upward: bool) -> _Branch:
    """The tree of the shortest ways, and in it the references to what stands elsewhere."""
    parents = {
        urn: parent
        for urn, (parent, _) in spread(
            root, lambda urn: [one for one in side.further(urn) if one in side.shown]
        ).items()
    }
    places = _places(root, side, parents)
    top = _Branch(root, Text())
    waiting = [top]
    while waiting:
        branch = waiting.pop()
        references: list[_Branch] = []
        hidden = 0
        for there in side.further(branch.urn):
            if there not in places:
                hidden += 1
                continue
            text = _label(side.node(there), side.edge(branch.urn, there), there)
            if parents.get(there) == branch.urn:
                branch.below.append(_Branch(there, text))
                continue
            where = _where(branch.urn, there, parents, places, upward=upward)
            references.append(_Branch("", _reference(side.node(there), there, where)))
        waiting += branch.below
        branch.below += references[:_MOST_REFERENCES]
        if len(references) > _MOST_REFERENCES:
            more = len(references) - _MOST_REFERENCES
            branch.below.append(_Branch("", Text(f"… {more:,} that have lines elsewhere", "dim")))
        if hidden:
            branch.text.append(f"  … {hidden:,} more", "dim")
    return top


def _places(root: str, side: Around, parents: Mapping[str, str]) -> dict[str, int]:
    """The order in which entities have their lines."""
    found: dict[str, int] = {}
    waiting = [root]
    while waiting:
        here = waiting.pop()
        found[here] = len(found)
        waiting += [one for one in reversed(side.further(here)) if parents.get(one) == here]
    return found


def _where(
    here: str, there: str, parents: Mapping[str, str], places: Mapping[str, int], *, upward: bool
) -> str:
    at: str | None = here
    while at is not None:
        if at == there:
            return "↺ a cycle, back to itself" if there == here else "↺ a cycle, back to this"
        at = parents.get(at)
    before = places[there] < places[here]
    return "↑ above" if before != upward else "↓ below"


def _label(said_of: Attributes, edge: Attributes, urn: str) -> Text:
    text = said(name_of(said_of, urn), "bold")
    text.append(f"  {type_of(said_of)}", "dim")
    marks = [state_of(said_of)]
    if edge.get("guess"):
        marks.append("guess: same name")
    elif edge.get("transform"):
        marks.append(line(str(edge["transform"]), 60))
    if edge.get("over"):
        others = edge["over"]
        marks.append(f"through {others:,} {'other' if others == 1 else 'others'}")
    for mark in marks:
        if mark:
            text.append(f"  {mark}", "italic")
    return text


def _reference(said_of: Attributes, urn: str, where: str) -> Text:
    return said(name_of(said_of, urn)) + Text(f"  {where}", "dim italic")


def _draw(branches: Sequence[_Branch], *, last: str) -> Iterator[Text]:
    """A line for each branch, those that hang on it indented below it."""
    waiting = [(branch, "", branch is branches[-1]) for branch in reversed(branches)]
    while waiting:
        branch, indent, is_last = waiting.pop()
        yield Text(f"{indent}{last if is_last else '├─ '}", "dim") + branch.text
        deeper = f"{indent}{'   ' if is_last else '│  '}"
        waiting += [(below, deeper, below is branch.below[-1]) for below in reversed(branch.below)]
