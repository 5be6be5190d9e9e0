"""Conditions joined by AND and OR, and the OR of ANDs that a server takes."""

from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from explorer.metadata.filters import Criterion

__all__ = ["Joined", "Node", "criteria_in", "groups_of", "joined"]

Group: TypeAlias = tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts of which all, or any, must hold."""

    by: Literal["and", "or"]
    parts: "tuple[Node, ...]"


Node: TypeAlias = Criterion | Joined


def joined(by: Literal["and", "or"], parts: list[Node]) -> Node:
    """The parts as one; a single one stays what it is."""
    return parts[0] if len(parts) == 1 else Joined(by, tuple(parts))


def criteria_in(node: Node) -> int:
    """How many criteria the OR of ANDs will have, without making it."""
    return _size(node)[1]


def groups_of(node: Node) -> tuple[Group, ...]:
    """The OR of ANDs. Where the parts are one already, nothing is added, left out or moved."""
    match node:
        case Criterion():
            return ((node,),)
        case Joined("or", parts):
            return tuple(group for part in parts for group in groups_of(part))
        case Joined(_, parts):
            return tuple(
                tuple(criterion for group in chosen for criterion in group)
                for chosen in product(*map(groups_of, parts))
            )


def _size(node: Node) -> tuple[int, int]:
    """How many groups there will be, and how many criteria in all of them."""
    if isinstance(node, Criterion):
        return 1, 1
    groups, criteria = (0, 0) if node.by == "or" else (1, 0)
    for part in node.parts:
        more, inside = _size(part)
        if node.by == "or":
            groups, criteria = groups + more, criteria + inside
        else:
            groups, criteria = groups * more, criteria * more + inside * groups
    return groups, criteria
