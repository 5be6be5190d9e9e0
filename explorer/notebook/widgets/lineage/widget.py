"""The lineage widget: what an entity is made from and what it feeds, walked in a notebook."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.graph.export import to_graphml
from explorer.graph.export.labels import label
from explorer.graph.lineage import read_lineage
from explorer.graph.nodes import identity, read_details
from explorer.metadata.urn import Urn
from explorer.notebook.widgets.lineage import choosing, still
from explorer.notebook.widgets.lineage.columns import (
    Columns,
    Names,
    read_between,
    read_from,
    read_names,
)
from explorer.notebook.widgets.lineage.drawing import Drawing, Shown, draw
from explorer.notebook.widgets.lineage.held import SIDES, Held
from explorer.notebook.widgets.lineage.work import Work

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog, Catalog
    from explorer.client.records import Flow
    from explorer.graph import Extent

__all__ = ["LineageWidget"]

_HERE = Path(__file__).parent
_MOST_HOPS = 20
_MOST_READ = 2_000
_FIRST_SECONDS = 3.0
_SHORT = 60


class LineageWidget(anywidget.AnyWidget):
    """The lineage around an entity, drawn: unfolded, narrowed, searched and followed by column.

        widget = LineageWidget(cat, "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")
        widget

    It starts `hops` far each way. Everything read so far is `graph`, a networkx graph; `selected`
    is the URN that the reader is at, and `on_select` calls a function with it. Nothing waits for
    the catalog on the kernel's thread; `wait()` does. Where no kernel runs, the notebook keeps a
    picture and a tree. Two requests to begin with, and one for a hundred entities drawn; as many
    again for each one looked at, unfolded, or followed by column.

    `close()` hangs up what is being read; the catalog stays open.
    """

    # Read here, for a path would be watched, and the watching keeps every widget alive.
    _esm = (_HERE / "lineage.js").read_text(encoding="utf-8")
    _css = (_HERE / "lineage.css").read_text(encoding="utf-8")

    picture = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)
    busy = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        catalog: "Catalog",
        urn: str | Urn,
        *,
        hops: int = 1,
        direction: "Extent" = "BOTH",
        graph: "nx.DiGraph | None" = None,
    ) -> None:
        """`graph` is a lineage graph of this entity, read before and at least `hops` far: it is
        drawn at once, as far as `hops` and `direction` say, and not read again."""
        if not 1 <= hops <= _MOST_HOPS:
            raise InvalidInput(f"lineage is drawn 1 to {_MOST_HOPS} hops far, not {hops}")
        root = str(Urn.parse(urn))
        super().__init__()
        self._lock = threading.RLock()
        self._held = Held(root)
        self._hops, self._extent, self._most = hops, direction, choosing.MOST
        self._nodes: dict[str, None] = {}
        self._without: set[tuple[str, str]] = set()
        self._columns, self._names = Columns(), Names()
        self._back: list[str] = []
        self._drawing: Drawing | None = None
        self._drawn = threading.Event()
        self._listeners: list[Callable[[str], None]] = []
        self._work = Work(catalog, self._tell_busy, self._tell_problem)
        self.on_msg(self._heard_from_page)
        self.observe(self._went_to, "selected")
        told = {} if graph is None else graph.graph
        if graph is not None and told.get("root") == root and told.get("hops", 0) >= hops:
            self._held.detailed.update(
                node for node, text in graph.nodes.data("description") if text is not None
            )
            self._take(graph, root, told["direction"], told["hops"])
            self._complete()
        else:
            self._read(root)

    @property
    def graph(self) -> "nx.DiGraph":
        """Everything read so far, as a graph of its own: see `explorer.graph.lineage`."""
        with self._lock:
            return self._held.graph.copy()

    @property
    def root(self) -> str:
        """The URN that everything is seen from."""
        with self._lock:
            return self._held.root

    def on_select(self, call: Callable[[str], None]) -> Callable[[str], None]:
        """Have a function called with the URN of whatever the reader goes to; it may be used as a
        decorator. It is called on a thread of the kernel's, and what it raises is shown."""
        self._listeners.append(call)
        return call

    def unfold(self, urn: str | Urn, side: "Flow") -> None:
        """Draw the neighbours of an entity on a side, read where they are not known."""
        node = str(urn)
        with self._lock:
            known = self._held.knows(node, side)

        async def read(catalog: "AsyncCatalog") -> "nx.DiGraph | None":
            if known:
                return None
            return await read_lineage(catalog, node, side, hops=1, limit=_MOST_READ)

        def then(found: "nx.DiGraph | None") -> None:
            with self._lock:
                if found is not None:
                    self._held.absorb(found, side, 1)
                graph = self._held.graph
                more = choosing.unfolded(graph, self._nodes, node, side, self._most)
                left = choosing.hidden(graph, self._nodes, node, side)
                self._nodes.update(dict.fromkeys(more))
                self._redraw()
            if left > len(more) and len(self._nodes) >= self._most:
                self.problem = f"{self._most:,} are drawn; «show more» makes room for others"
            self._complete()

        self._work.ask(
            "" if known else f"reading the neighbours of {self._name(node)} …", read, then
        )

    def fold(self, urn: str | Urn, side: "Flow") -> None:
        """No longer draw what hangs on an entity on a side."""

        def then() -> None:
            gone = choosing.folded(self._held.graph, self._nodes, str(urn), side)
            self._nodes = {node: None for node in self._nodes if node not in gone}
            if self.selected in gone:
                self.selected = str(urn)

        self._change(then)

    def turn_to(self, urn: str | Urn) -> None:
        """See the lineage from another entity, drawn anew around it."""
        root = str(Urn.parse(urn))
        with self._lock:
            if root != self._held.root:
                self._back.append(self._held.root)
        self._read(root)

    def reach(self, hops: int | None = None, direction: "Extent | None" = None) -> None:
        """Draw so many hops, or another direction, around the same entity."""
        if hops is not None and not 1 <= hops <= _MOST_HOPS:
            raise InvalidInput(f"lineage is drawn 1 to {_MOST_HOPS} hops far, not {hops}")
        with self._lock:
            self._hops, self._extent = hops or self._hops, direction or self._extent
            root = self._held.root
        self._read(root)

    def narrow(self, *, without: Mapping[str, "list[str]"]) -> None:
        """Leave out entities by `type` and `platform`, each a list of the words on the boxes; the
        ways over what is left out are drawn dashed. An empty list takes the filter off."""

        def then() -> None:
            self._without = {
                (name, word) for name in ("type", "platform") for word in without.get(name, ())
            }

        self._change(then)

    def follow_column(self, urn: str | Urn, column: str) -> None:
        """Draw what a column is made from and what it feeds."""
        node = str(urn)
        about = f"column {line(column, _SHORT)} of {self._name(node)}"
        self._ask_columns(
            about, lambda catalog: read_from(catalog, node, column, self._extent, self._far())
        )

    def follow_edge(self, source: str, target: str) -> None:
        """Draw which columns flow along an edge."""
        with self._lock:
            tables = self._drawing.graph if self._drawing else self._held.graph
        if not tables.has_edge(source, target):
            return
        about = f"columns from {self._name(source)} to {self._name(target)}"
        self._ask_columns(about, lambda catalog: read_between(catalog, tables, source, target))

    def forget_columns(self) -> None:
        """Draw tables alone again."""

        def then() -> None:
            self._columns, self._names = Columns(), Names()

        self._change(then, key="columns")

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything asked for is drawn; whether it was in time."""
        return self._work.wait(timeout_seconds)

    def close(self) -> None:
        """Hang up what is being read, and take the widget off the page."""
        # Closing is also what ends one that was never quite made.
        work = getattr(self, "_work", None)
        if work is not None:
            work.end()
        super().close()

    def __repr__(self) -> str:
        with self._lock:
            if self._drawing is None:
                return f"Lineage of {line(self._held.root)}: {self.problem or 'not read yet'}"
            return still.as_tree(self._drawing.graph, self.said)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The living widget, and a picture and a tree for where it cannot live."""
        # A notebook saves what is there now. One that is slow to read is shown all the same.
        self._drawn.wait(_FIRST_SECONDS)
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        with self._lock:
            drawing = self._drawing
        more = {"text/plain": repr(self)}
        if drawing is not None:
            more["text/html"] = still.as_html(drawing.graph, self.said)
        return {**data, **more}, metadata

    def _heard_from_page(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """What the page asks for; anything else is nothing to us."""
        self.problem = ""
        match content:
            case {"kind": "unfold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self._work.guarded(lambda: self.unfold(urn, side))
            case {"kind": "fold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self._work.guarded(lambda: self.fold(urn, side))
            case {"kind": "root", "urn": str(urn)}:
                self._work.guarded(lambda: self.turn_to(urn))
            case {"kind": "back"}:
                self._work.guarded(self._go_back)
            case {"kind": "hops", "hops": int(hops)}:
                self._work.guarded(lambda: self.reach(hops))
            case {"kind": "direction", "direction": "BOTH" | "UPSTREAM" | "DOWNSTREAM" as extent}:
                self._work.guarded(lambda: self.reach(direction=extent))
            case {"kind": "narrow", "type": list(types), "platform": list(platforms)}:
                without = {"type": [*map(str, types)], "platform": [*map(str, platforms)]}
                self._work.guarded(lambda: self.narrow(without=without))
            case {"kind": "more"}:
                self._work.guarded(self._show_more)
            case {"kind": "names", "urn": str(urn)}:
                self._work.guarded(lambda: self._ask_names(urn))
            case {"kind": "column", "urn": str(urn), "column": str(column)}:
                self._work.guarded(lambda: self.follow_column(urn, column))
            case {"kind": "edge", "source": str(source), "target": str(target)}:
                self._work.guarded(lambda: self.follow_edge(source, target))
            case {"kind": "tables"}:
                self._work.guarded(self.forget_columns)
            case {"kind": "graphml"}:
                self._work.guarded(self._send_graphml)

    def _went_to(self, change: Any) -> None:
        """What the reader went to: those who listen are told, and its neighbours are counted."""
        urn = change["new"]
        if not urn:
            return
        for call in self._listeners:
            self._work.guarded(partial(call, urn))
        with self._lock:
            sides = [side for side in SIDES if self._extent in ("BOTH", side)]
            known = all(self._held.knows(urn, side) for side in sides)
            extent, unknown = self._extent, urn not in self._held.graph
        if known or unknown:
            return

        def then(found: "nx.DiGraph") -> None:
            with self._lock:
                self._held.absorb(found, extent, 1)
                self._redraw()

        self._work.ask(
            "",
            lambda catalog: read_lineage(catalog, urn, extent, hops=1, limit=_MOST_READ),
            then,
            key="look",
        )

    def _read(self, root: str) -> None:
        with self._lock:
            hops, extent = self._hops, self._extent
            name = self._name(root)

        # One hop more than is drawn, so that what is left out can be counted.
        async def read(catalog: "AsyncCatalog") -> "nx.DiGraph":
            return await read_lineage(catalog, root, extent, hops=hops + 1, limit=_MOST_READ)

        def then(found: "nx.DiGraph") -> None:
            self._take(found, root, extent, hops + 1)
            self._complete()

        self._work.ask(f"reading the lineage of {name} …", read, then, alone=True)

    def _take(self, found: "nx.DiGraph", root: str, extent: "Extent", hops: int) -> None:
        with self._lock:
            self._held.absorb(found, extent, hops)
            self._held.turn_to(root)
            self._columns, self._names = Columns(), Names()
            self._most = choosing.MOST
            graph = self._held.graph
            self._nodes = choosing.first(graph, self._extent, self._hops, self._most)
            self._drawing = (
                None if self._drawing and root not in self._drawing.graph else self._drawing
            )
            self._redraw()
        self.selected = root
        self._drawn.set()

    def _complete(self) -> None:
        """Read the names and states of what is drawn, and draw them."""
        with self._lock:
            left = self._held.without_details(self._nodes)
            bare = self._held.graph.subgraph(left).copy()
        if not left:
            return

        async def read(catalog: "AsyncCatalog") -> None:
            await read_details(catalog, bare)

        def then(_: None) -> None:
            with self._lock:
                for node, said in bare.nodes(data=True):
                    # How far it is may have changed meanwhile.
                    said.pop("hops", None)
                    self._held.graph.nodes[node].update(said)
                self._held.detailed.update(left)
                self._redraw()

        self._work.ask("reading names …", read, then)

    def _change(self, do: Callable[[], None], key: str = "") -> None:
        """Change what is looked at, and draw it, off the kernel's thread."""

        def then(_: None) -> None:
            with self._lock:
                do()
                self._redraw()

        self._work.ask("", _nothing, then, key=key)

    def _show_more(self) -> None:
        def then() -> None:
            self._most += choosing.MOST
            graph = self._held.graph
            wider = choosing.first(graph, self._extent, self._hops, self._most)
            room = max(self._most - len(self._nodes), 0)
            new = [node for node in wider if node not in self._nodes]
            left = [node for node in graph if node not in self._nodes and node not in wider]
            self._nodes.update(dict.fromkeys([*new, *left][:room]))

        self._change(then)
        self._work.ask("", _nothing, lambda _: self._complete())

    def _go_back(self) -> None:
        with self._lock:
            root = self._back.pop() if self._back else None
        if root is not None:
            self._read(root)

    def _ask_names(self, urn: str) -> None:
        def then(found: Names) -> None:
            with self._lock:
                self._names = found
                self._redraw()
            if not found.paths:
                self.problem = f"no columns are known of {self._name(urn)}"

        self._work.ask(
            f"reading the columns of {self._name(urn)} …",
            lambda catalog: read_names(catalog, urn),
            then,
            key="names",
        )

    def _ask_columns(self, about: str, read: Callable[["AsyncCatalog"], Any]) -> None:
        def then(found: "nx.DiGraph") -> None:
            with self._lock:
                self._columns = Columns(found, about)
                self._redraw()
                lines = self._columns.links(self._nodes)
            if not lines:
                self.problem = f"no lineage is known of {about}"

        self._work.ask(f"reading {about} …", read, then, key="columns")

    def _send_graphml(self) -> None:
        """Everything read, as a file for other programs; made off the kernel's thread."""

        def then(_: None) -> None:
            self.send({"kind": "graphml", "text": to_graphml(self.graph)})

        self._work.ask("writing GraphML …", _nothing, then)

    def _redraw(self) -> None:
        if self._held.root not in self._held.graph:
            self._held.graph.add_node(self._held.root, **identity(self._held.root), hops=0)
        shown = Shown(self._nodes, frozenset(self._without), self._columns)
        before = self._drawing
        self._drawing = draw(self._held, shown, before.layout if before else None)
        held, drawn = len(self._held.graph), len(self._drawing.graph)
        self.said = self._sentence(drawn, held)
        self.picture = {
            **self._drawing.told,
            "hops": self._hops,
            "direction": self._extent,
            "more": len(self._nodes) >= self._most and held > len(self._nodes),
            "back": bool(self._back),
            "about": self._columns.about,
            "names": {
                "urn": self._names.urn,
                "columns": [line(path, 200) for path in self._names.paths],
            },
        }

    def _sentence(self, drawn: int, held: int) -> str:
        far = f"{self._hops} hop{'s' if self._hops != 1 else ''}"
        parts = [self._name(self._held.root)]
        parts += [f"upstream {far}"] if self._extent != "DOWNSTREAM" else []
        parts += [f"downstream {far}"] if self._extent != "UPSTREAM" else []
        parts.append(f"all {drawn:,} shown" if drawn == held else f"{drawn:,} of {held:,} shown")
        cut = self._held.graph.graph["truncated"]
        parts += [f"cut: {line(cut)}"] if cut else []
        return " · ".join(parts)

    def _name(self, urn: str) -> str:
        said = self._held.graph.nodes.get(urn) or identity(urn)
        return label(urn, said, _SHORT)

    def _far(self) -> int:
        """How far the drawing reaches from any of its tables."""
        with self._lock:
            hops = [abs(far) for _, far in self._held.graph.nodes.data("hops") if far]
        return min(2 * max(hops, default=1) + 1, _MOST_HOPS)

    def _tell_busy(self, said: str) -> None:
        self.busy = said

    def _tell_problem(self, said: str) -> None:
        self.problem = said
        self._drawn.set()


async def _nothing(_: "AsyncCatalog") -> None:
    return None
