"""What was read of the lineage around an entity, answer upon answer, as one graph."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import networkx as nx

from explorer.client.records import Flow

if TYPE_CHECKING:
    from explorer.graph import Extent

__all__ = ["SIDES", "Held", "near"]

SIDES: tuple[Flow, Flow] = ("UPSTREAM", "DOWNSTREAM")


class Held:
    """The graph of everything read, and of which of its nodes which neighbours are known.

    A node has in `hops` how far it is from the root, negative upstream; nothing where it is neither
    made from the root nor what the root is made from.
    """

    def __init__(self, root: str) -> None:
        self.graph: nx.DiGraph = nx.DiGraph(root=root, direction="BOTH", truncated=None)
        self.detailed: set[str] = set()
        self._known: set[tuple[str, Flow]] = set()

    @property
    def root(self) -> str:
        """The entity that everything is seen from."""
        return str(self.graph.graph["root"])

    def turn_to(self, root: str) -> None:
        """See everything from another entity."""
        self.graph.graph["root"] = root
        self._measure()

    def absorb(self, read: "nx.DiGraph", extent: "Extent", hops: int) -> None:
        """Take an answer in: a graph walked `hops` far from its own root."""
        cut = read.graph.get("truncated")
        self.graph.graph["truncated"] = cut or self.graph.graph["truncated"]
        for node, said in read.nodes(data=True):
            if node not in self.graph:
                self.graph.add_node(node, **said)
            for side in SIDES:
                far = said.get("hops", hops) * (-1 if side == "UPSTREAM" else 1)
                if extent in ("BOTH", side) and 0 <= far < hops and not cut:
                    self._known.add((node, side))
        self.graph.add_edges_from(read.edges(data=True))
        self._measure()

    def knows(self, node: str, side: Flow) -> bool:
        """Whether all neighbours of a node on a side were read."""
        return (node, side) in self._known

    def without_details(self, nodes: Iterable[str]) -> list[str]:
        """Which of them nothing is known of but what their URN says."""
        return [node for node in nodes if node in self.graph and node not in self.detailed]

    def _measure(self) -> None:
        root = self.root
        if root not in self.graph:
            return
        below, above = (_distances(self.graph, root, side) for side in ("DOWNSTREAM", "UPSTREAM"))
        for node, said in self.graph.nodes(data=True):
            down, up = below.get(node), above.get(node)
            if down is not None and (up is None or down <= up):
                said["hops"] = down
            elif up is not None:
                said["hops"] = -up
            else:
                said.pop("hops", None)


def near(graph: "nx.DiGraph", node: str, side: Flow) -> Iterable[str]:
    """The neighbours of a node on a side, as the graph has them."""
    found: Iterable[str] = graph.pred[node] if side == "UPSTREAM" else graph.succ[node]
    return found


def _distances(graph: "nx.DiGraph", root: str, side: Flow) -> dict[str, int]:
    far = {root: 0}
    queue = deque((root,))
    while queue:
        at = queue.popleft()
        for other in near(graph, at, side):
            if other not in far:
                far[other] = far[at] + 1
                queue.append(other)
    return far
