"""What a lineage widget shows: what was read, what of it is looked at, and how it is told."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.client.records import Flow
from explorer.errors import InvalidInput
from explorer.graph.export.pictures import label
from explorer.graph.nodes import identity
from explorer.notebook.widgets.lineage import choosing
from explorer.notebook.widgets.lineage.columns import Columns, Names
from explorer.notebook.widgets.lineage.drawing import Drawing, Shown, draw
from explorer.notebook.widgets.lineage.held import SIDES, Held

if TYPE_CHECKING:
    import networkx as nx

    from explorer.graph import Extent

__all__ = ["MOST_HOPS", "Scene"]

MOST_HOPS = 20
_SHORT = 60
_LONG = 200


class Scene:
    """The state of one lineage widget.

    One thread at a time changes what is drawn; any thread may ask meanwhile, and never waits for a
    layout to be made.
    """

    def __init__(self, root: str, hops: int, extent: "Extent") -> None:
        self._lock = threading.RLock()
        self._held = Held(root)
        self._hops, self._extent, self._most = _far_enough(hops), extent, choosing.MOST
        self._nodes: dict[str, None] = {}
        self._without: frozenset[tuple[str, str]] = frozenset()
        self._columns, self._names = Columns(), Names()
        self._back: list[str] = []
        self._drawing: Drawing | None = None

    @property
    def root(self) -> str:
        """The URN that everything is seen from."""
        with self._lock:
            return self._held.root

    @property
    def drawing(self) -> Drawing | None:
        """What was drawn last."""
        return self._drawing

    @property
    def reach(self) -> "tuple[int, Extent]":
        """How many hops are drawn, and which way."""
        with self._lock:
            return self._hops, self._extent

    @property
    def tables(self) -> "nx.DiGraph":
        """The graph between the boxes, as it was drawn last."""
        with self._lock:
            return self._drawing.graph if self._drawing else self._held.graph

    def copied(self) -> "nx.DiGraph":
        """Everything read so far."""
        with self._lock:
            return self._held.graph.copy()

    def name(self, urn: str) -> str:
        """What an entity is called in a sentence."""
        with self._lock:
            said = self._held.graph.nodes.get(urn) or identity(urn)
        return label(urn, said, _SHORT)

    def knows(self, urn: str, *sides: Flow) -> bool:
        """Whether all neighbours of an entity on these sides were read."""
        with self._lock:
            return all(self._held.knows(urn, side) for side in sides)

    def holds(self, urn: str) -> bool:
        """Whether an entity is in what was read."""
        with self._lock:
            return urn in self._held.graph

    def span(self) -> int:
        """How many hops lie between the ends of what was read."""
        with self._lock:
            hops = [abs(far) for _, far in self._held.graph.nodes.data("hops") if far]
        return min(2 * max(hops, default=1) + 1, MOST_HOPS)

    def set_reach(self, hops: int | None, extent: "Extent | None") -> None:
        """Draw so many hops, or another direction, from the next answer on."""
        with self._lock:
            self._hops = self._hops if hops is None else _far_enough(hops)
            self._extent = extent or self._extent

    def leave(self, urn: str) -> None:
        """Remember where it started until now, if it is to start elsewhere."""
        with self._lock:
            if urn != self._held.root:
                self._back.append(self._held.root)

    def returning(self) -> str | None:
        """Where it started before; each is told once."""
        with self._lock:
            return self._back.pop() if self._back else None

    def take(self, found: "nx.DiGraph", root: str, extent: "Extent", hops: int) -> None:
        """An answer, walked `hops` far from what is to be the root; drawn anew around it."""
        with self._lock:
            self._held.absorb(found, extent, hops)
            self._hold(root)
            self._held.turn_to(root)
            self._columns, self._names = Columns(), Names()
            self._most = choosing.MOST
            self._nodes = choosing.first(self._held.graph, self._extent, self._hops, self._most)
            if self._drawing and root not in self._drawing.graph:
                self._drawing = None

    def add(self, found: "nx.DiGraph", extent: "Extent") -> None:
        """An answer on the neighbours of one entity."""
        with self._lock:
            self._held.absorb(found, extent, 1)

    def unfold(self, node: str, side: Flow) -> str:
        """Draw the neighbours of an entity on a side. A sentence where there is no room for all."""
        with self._lock:
            graph = self._held.graph
            more = choosing.unfolded(graph, self._nodes, node, side, self._most)
            left = choosing.hidden(graph, self._nodes, node, side)
            self._nodes.update(dict.fromkeys(more))
            if left == len(more) or len(self._nodes) < self._most:
                return ""
            return f"{self._most:,} are drawn; «Show more» makes room for others"

    def fold(self, node: str, side: Flow) -> set[str]:
        """No longer draw what hangs on an entity on a side; that is what is given."""
        with self._lock:
            gone = choosing.folded(self._held.graph, self._nodes, node, side)
            self._nodes = {one: None for one in self._nodes if one not in gone}
            return gone

    def widen(self) -> None:
        """Make room for more, and draw what was read and had none: nearest first."""
        with self._lock:
            self._most += choosing.MOST
            graph = self._held.graph
            wider = choosing.first(graph, self._extent, self._hops, self._most)
            room = max(self._most - len(self._nodes), 0)
            new = [node for node in wider if node not in self._nodes]
            left = [node for node in graph if node not in self._nodes and node not in wider]
            self._nodes.update(dict.fromkeys([*new, *left][:room]))

    def narrow(self, without: Mapping[str, "list[str]"]) -> None:
        """Leave out entities by `type` and `platform`."""
        with self._lock:
            self._without = frozenset(
                (name, word) for name in ("type", "platform") for word in without.get(name, ())
            )

    def follow(self, columns: Columns) -> bool:
        """Draw lineage of columns; whether there is any between what is drawn."""
        with self._lock:
            self._columns = columns
            return bool(columns.links(self._nodes))

    def offer(self, names: Names) -> None:
        """The columns of a dataset, to choose one from."""
        with self._lock:
            self._names = names

    def bare(self) -> "nx.DiGraph":
        """What is drawn and nothing is known of but what its URN says, as a graph of its own."""
        with self._lock:
            return self._held.graph.subgraph(self._held.without_details(self._nodes)).copy()

    def describe(self, told: "nx.DiGraph") -> None:
        """Names and states that were read."""
        with self._lock:
            for node, said in told.nodes(data=True):
                # How far it is may have changed meanwhile.
                said.pop("hops", None)
                self._held.graph.nodes[node].update(said)
            self._held.detailed.update(told)

    def know(self, nodes: "list[str]") -> None:
        """Names and states of these need not be read."""
        with self._lock:
            self._held.detailed.update(nodes)

    def drawn(self) -> tuple[str, dict[str, Any]]:
        """Lay out what is looked at: a sentence on it, and what the page is told."""
        with self._lock:
            self._hold(self._held.root)
        shown = Shown(self._nodes, self._without, self._columns)
        before = self._drawing
        # Only who draws changes what is held: it is read here without holding others up.
        drawing = draw(self._held, shown, before.layout if before else None)
        with self._lock:
            self._drawing = drawing
            held = len(self._held.graph)
            told = {
                **drawing.told,
                "hops": self._hops,
                "direction": self._extent,
                "more": len(self._nodes) >= self._most and held > len(self._nodes),
                "back": bool(self._back),
                "about": self._columns.about,
                "names": {
                    "urn": self._names.urn,
                    "columns": [line(path, _LONG) for path in self._names.paths],
                },
            }
            return self._sentence(len(drawing.graph), held), told

    def _sentence(self, drawn: int, held: int) -> str:
        far = f"{self._hops} hop{'s' if self._hops != 1 else ''}"
        parts = [self.name(self._held.root)]
        parts += [f"{side.lower()} {far}" for side in SIDES if self._extent in ("BOTH", side)]
        parts.append(f"all {drawn:,} shown" if drawn == held else f"{drawn:,} of {held:,} shown")
        cut = self._held.graph.graph["truncated"]
        parts += [f"cut: {line(cut)}"] if cut else []
        return " · ".join(parts)

    def _hold(self, root: str) -> None:
        """Have the root in the graph, even where nothing was read of it."""
        if root not in self._held.graph:
            self._held.graph.add_node(root, **identity(root), hops=0)


def _far_enough(hops: int) -> int:
    if 1 <= hops <= MOST_HOPS:
        return hops
    raise InvalidInput(f"lineage is drawn 1 to {MOST_HOPS} hops far, not {hops}")
