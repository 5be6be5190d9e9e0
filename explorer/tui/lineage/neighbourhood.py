"""Which entities of a lineage graph are drawn: the nearest, the rest counted where it hangs on."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from explorer.metadata.names import singular
from explorer.tui.content import line

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Edge", "Neighbourhood", "Node", "State", "choose", "edges_between", "unfold"]

State = Literal["plain", "root", "ghost", "removed", "more"]
Edge = tuple[str, str]

MOST = 150
"""How many entities are drawn before any is asked for by name."""
FAN = 12
"""How many neighbours of one entity are drawn on one side before any is asked for."""

_MORE = 50


@dataclass(frozen=True, slots=True)
class Node:
    """Something drawn: an entity, a column, or what stands for `hidden` neighbours of `owner`."""

    id: str
    name: str
    fact: str = ""
    state: State = "plain"
    hidden: int = 0
    owner: str = ""
    upstream: bool = False


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What is drawn. `indirect` are the edges that stand for more than was said: a step over what
    was left out, or a guess. `shown` of `total` entities are among the nodes."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    indirect: frozenset[Edge]
    shown: int
    total: int


def choose(
    graph: "nx.DiGraph",
    roots: Collection[str],
    *,
    expanded: Mapping[str, int] | None = None,
    wanted: Collection[str] = (),
    most: int = MOST,
) -> Neighbourhood:
    """The nodes nearest to the roots, at most `most`, and of each at most a dozen neighbours on
    each side; `expanded` allows some so many more, and `wanted` are there in any case. Pure."""
    extra = expanded or {}
    chosen = dict.fromkeys(root for root in roots if root in graph)
    chosen |= dict.fromkeys(node for node in wanted if node in graph)
    limit = most + sum(extra.values())
    frontier = list(chosen)
    while frontier:
        following: list[str] = []
        for node in frontier:
            room = FAN + extra.get(node, 0)
            for near in (graph.pred[node], graph.succ[node]):
                left = [one for one in near if one not in chosen]
                free = max(room - (len(near) - len(left)), 0)
                # One left out takes the same room as saying so.
                free = min(len(left) if len(left) == free + 1 else free, limit - len(chosen))
                following += left[: max(free, 0)]
                chosen |= dict.fromkeys(left[: max(free, 0)])
        frontier = following
    nodes = {node: _node(node, graph.nodes[node], node in roots) for node in chosen}
    edges = [(up, down) for up, down in graph.edges if up in chosen and down in chosen]
    indirect = frozenset(edge for edge in edges if _is_indirect(graph.edges[edge]))
    for node in chosen:
        for upstream, near in ((True, graph.pred[node]), (False, graph.succ[node])):
            hidden = sum(1 for one in near if one not in chosen)
            if hidden:
                more = f"{'<' if upstream else '>'}{node}"
                nodes[more] = Node(
                    more, f"+{hidden:,} more", "", "more", hidden, node, upstream=upstream
                )
                edges.append((more, node) if upstream else (node, more))
    return Neighbourhood(nodes, tuple(edges), indirect, len(chosen), len(graph))


def unfold(expanded: dict[str, int], hood: Neighbourhood, node: str) -> bool:
    """Allow a node whose neighbours are not all drawn more of them, or one that was allowed more
    the usual number again; whether there was anything to change."""
    if any(one.owner == node for one in hood.nodes.values()):
        expanded[node] = expanded.get(node, 0) + _MORE
        return True
    return expanded.pop(node, 0) > 0


def edges_between(edges: Iterable[Edge], source: str, target: str) -> frozenset[Edge]:
    """The edges of all shortest ways from one node to the other, or the other way round. Pure."""
    below: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    for up, down in edges:
        below.setdefault(up, []).append(down)
        above.setdefault(down, []).append(up)
    for first, last in ((source, target), (target, source)):
        far = _distances(below, first)
        if last in far:
            back = _distances(above, last)
            return frozenset(
                (up, down)
                for up, downs in below.items()
                for down in downs
                if up in far and down in back and far[up] + 1 + back[down] == far[last]
            )
    return frozenset()


def _distances(near: Mapping[str, list[str]], start: str) -> dict[str, int]:
    far = {start: 0}
    queue = [start]
    for node in queue:
        for other in near.get(node, ()):
            if other not in far:
                far[other] = far[node] + 1
                queue.append(other)
    return far


def _node(urn: str, said: Mapping[str, Any], is_root: bool) -> Node:
    name = line(said.get("column") or said.get("name") or urn) or urn
    if "column" in said:
        fact = line(said.get("name") or "")
    else:
        kind = singular(said.get("kind") or said.get("type") or "")
        fact = line(" · ".join(part for part in (kind, said.get("platform") or "") if part))
    state: State = "plain"
    if said.get("exists") is False:
        state = "ghost"
    elif said.get("removed"):
        state = "removed"
    elif is_root:
        state = "root"
    return Node(urn, name, fact, state)


def _is_indirect(said: Mapping[str, Any]) -> bool:
    return bool(said.get("over") or said.get("guess"))
