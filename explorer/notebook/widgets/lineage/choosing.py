"""Which entities of a lineage graph are drawn, and which more or fewer when one is unfolded."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from explorer.client.records import Flow
from explorer.notebook.widgets.lineage.held import SIDES, near

if TYPE_CHECKING:
    import networkx as nx

    from explorer.graph import Extent

__all__ = ["MOST", "first", "folded", "hidden", "unfolded"]

MOST = 150
"""How many entities are drawn before more are asked for."""

_FAN = 12
"""How many neighbours of one entity are drawn on one side before more are asked for."""

_MORE = 50
"""How many neighbours one unfolding brings at most."""


def first(graph: "nx.DiGraph", extent: "Extent", hops: int, most: int) -> dict[str, None]:
    """The nodes up to `hops` from the graph's root, up and down, nearest first: at most `most`, and
    of each at most a dozen neighbours. One left out takes the room of saying so, and is drawn."""
    root = graph.graph["root"]
    chosen: dict[str, None] = {root: None}
    sides = [side for side in SIDES if extent in ("BOTH", side)]
    frontiers = {side: [root] for side in sides}
    for _ in range(hops):
        for side in sides:
            following: list[str] = []
            for node in frontiers[side]:
                left = [one for one in near(graph, node, side) if one not in chosen]
                room = _FAN if len(left) > _FAN + 1 else len(left)
                taken = left[: max(min(room, most - len(chosen)), 0)]
                following += taken
                chosen |= dict.fromkeys(taken)
            frontiers[side] = following
    return chosen


def hidden(graph: "nx.DiGraph", drawn: Collection[str], node: str, side: Flow) -> int:
    """How many neighbours of a node on a side are known and not drawn."""
    return sum(1 for one in near(graph, node, side) if one not in drawn)


def unfolded(
    graph: "nx.DiGraph", drawn: Collection[str], node: str, side: Flow, most: int
) -> list[str]:
    """What is drawn besides when a node is unfolded on a side, while fewer than `most` are."""
    left = [one for one in near(graph, node, side) if one not in drawn]
    return left[: max(min(_MORE, most - len(drawn)), 0)]


def folded(graph: "nx.DiGraph", drawn: Collection[str], node: str, side: Flow) -> set[str]:
    """What is no longer drawn when a node is folded on a side: what hangs on the root by it alone,
    on that side. Never the root, nor the node itself."""
    inside = set(drawn) - {node}
    beside: Flow = "DOWNSTREAM" if side == "UPSTREAM" else "UPSTREAM"
    root = graph.graph["root"]
    away = _joined(graph, inside, near(graph, node, side))
    ends = (root,) if node != root else near(graph, node, beside)
    return away - _joined(graph, inside, ends)


def _joined(graph: "nx.DiGraph", inside: Collection[str], starts: Iterable[str]) -> set[str]:
    """Everything of `inside` that is connected with one of the starts, whichever way."""
    found = {start for start in starts if start in inside}
    queue = list(found)
    for node in queue:
        for side in SIDES:
            for other in near(graph, node, side):
                if other in inside and other not in found:
                    found.add(other)
                    queue.append(other)
    return found
