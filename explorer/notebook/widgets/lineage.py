"""The lineage widget: upstream and downstream entities, explored in a notebook."""

import base64
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from explorer.client.display import line
from explorer.graph.export import to_graphml
from explorer.graph.lineage import read_lineage
from explorer.graph.nodes import read_details
from explorer.graph.pictures import label, to_svg
from explorer.metadata.urn import Urn
from explorer.notebook.view import AS_WRITTEN
from explorer.notebook.widgets.base import LINEAGE_MODULE, LINEAGE_STYLE, LineageRequests, Widget
from explorer.notebook.widgets.lineage_drawing import (
    SIDES,
    ColumnChoices,
    DrawnColumns,
    LineageWidgetState,
    read_between,
    read_from,
    read_names,
)
from explorer.views.lineage import LineageEntity, lineage_entities, lineage_tree

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog, Catalog
    from explorer.client.records import Flow
    from explorer.graph import Extent

__all__ = ["EmbeddedLineage", "LineageWidget", "as_html"]

_NAME = 60
_MOST_PICTURED = 60


def as_html(graph: "nx.DiGraph", sentence: str) -> str:
    """Return the lineage as a picture below a sentence, in HTML that every notebook front end
    keeps."""
    root = graph.graph["root"]
    svg = to_svg(graph, most_nodes=_MOST_PICTURED)
    encoded = base64.b64encode(svg.encode()).decode()
    name = label(root, graph.nodes[root], _NAME)
    alternative = escape(f"Lineage of {name}: {', '.join(_list_nodes(graph))}")
    return (
        f'<div class="{AS_WRITTEN}" style="color:inherit;background:transparent">'
        f'<div style="opacity:.75">{escape(sentence)}</div>'
        f'<img alt="{alternative}" style="max-width:100%;height:auto" '
        f'src="data:image/svg+xml;base64,{encoded}"/></div>'
    )


def as_tree(graph: "nx.DiGraph", sentence: str) -> str:
    """Return the lineage as text: what is upstream, then what is downstream, each entity once."""
    root = graph.graph["root"]
    entities = lineage_entities(graph.nodes(data=True))
    rows = [sentence, _row(entities[root])]
    sides: tuple[Literal["upstream", "downstream"], ...] = ("upstream", "downstream")
    for side in sides:
        lines = lineage_tree(graph, root, entities, side=side)
        rows.append(f"  {side}" if lines else f"  {side}: nothing")
        for branch in lines:
            name = _row(branch.entity) if branch.entity and not branch.reference else ""
            reference = f"{branch.entity.full_name}  " if branch.entity and branch.reference else ""
            rows.append("  " * (branch.depth + 1) + name + reference + branch.reference)
    return "\n".join(rows)


def _row(entity: LineageEntity) -> str:
    words = (entity.full_name, entity.type, entity.state)
    return "  ".join(word for word in words if word)


def _list_nodes(graph: "nx.DiGraph") -> Iterator[str]:
    """Return a short text alternative; the tree has all of it."""
    hops = [far for _, far in graph.nodes.data("hops") if far]
    yield f"{sum(far < 0 for far in hops):,} upstream"
    yield f"{sum(far > 0 for far in hops):,} downstream"


_MOST_READ = 2_000
_FIRST_SECONDS = 3.0
_COLUMN = 60
_SHOWN = ("picture", "said", "busy", "problem", "selected")


class LineageWidget(Widget):
    """A drawing of the lineage around an entity, which can be expanded, filtered, searched and
    followed by column.

        widget = LineageWidget(cat, "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")
        widget

    It starts `hops` far each way. Everything read so far is `graph`, a networkx graph; `selected`
    is the URN that the reader is at, and `on_select` calls a function with it. Nothing waits for
    the catalog on the kernel's thread; `wait()` does. Where no kernel runs, the notebook keeps a
    picture and a tree. Two requests to begin with, and one for a hundred entities drawn; as many
    again for each one looked at, unfolded, or followed by column.

    `close()` hangs up what is being read; the catalog stays open.
    """

    _esm = LINEAGE_MODULE
    _css = LINEAGE_STYLE

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
        root = str(Urn.parse(urn))
        scene = LineageWidgetState(root, hops, direction)
        super().__init__()
        self._scene = scene
        self._drawn = threading.Event()
        self._listeners: list[Callable[[str], None]] = []
        self._work = LineageRequests(catalog, self._show_busy, self._show_problem)
        self.on_msg(self._handle_message)
        self.observe(self._follow_selection, "selected")
        attributes = {} if graph is None else graph.graph
        if (
            graph is not None
            and attributes.get("root") == root
            and attributes.get("hops", 0) >= hops
        ):
            scene.know([node for node, text in graph.nodes.data("description") if text is not None])
            self._take(graph, root, attributes["direction"], attributes["hops"])
            self._complete()
        else:
            self._read(root)

    @property
    def graph(self) -> "nx.DiGraph":
        """Return a copy of everything read so far: see `explorer.graph.lineage`."""
        return self._scene.copy()

    @property
    def root(self) -> str:
        """Return the URN of the root."""
        return self._scene.root

    def on_select(self, call: Callable[[str], None]) -> Callable[[str], None]:
        """Register a function that is called with the URN of each selected entity; can be used as a
        decorator. It runs on a thread of the kernel, and its errors are shown."""
        self._listeners.append(call)
        return call

    def unfold(self, urn: str | Urn, side: "Flow") -> None:
        """Draw the neighbours of an entity on one side, after reading them if needed."""
        node = str(urn)
        has_neighbours = self._scene.has_neighbours(node, side)

        async def read(catalog: "AsyncCatalog") -> "nx.DiGraph | None":
            if has_neighbours:
                return None
            return await read_lineage(catalog, node, side, hops=1, limit=_MOST_READ)

        def then(neighbours: "nx.DiGraph | None") -> None:
            if neighbours is not None:
                self._scene.add(neighbours, side)
            full = self._scene.unfold(node, side)
            self._redraw()
            if full:
                self.problem = full
            self._complete()

        activity = "" if has_neighbours else f"reading the neighbours of {self._scene.name(node)} …"
        self._work.ask(activity, read, then)

    def fold(self, urn: str | Urn, side: "Flow") -> None:
        """Collapse an entity: hide what is connected only through it on one side."""

        def then() -> None:
            if self.selected in self._scene.fold(str(urn), side):
                self.selected = str(urn)

        self._change(then)

    def turn_to(self, urn: str | Urn) -> None:
        """Redraw the lineage around another entity."""
        root = str(Urn.parse(urn))
        self._scene.leave(root)
        self._read(root)

    def reach(self, hops: int | None = None, direction: "Extent | None" = None) -> None:
        """Change the number of hops or the direction."""
        self._scene.set_reach(hops, direction)
        self._read(self._scene.root)

    def narrow(self, *, without: Mapping[str, "list[str]"]) -> None:
        """Leave out entities by `type` and `platform`, each a list of the words on the boxes; paths
        over hidden entities are dashed. An empty list clears the filter."""

        self._change(partial(self._scene.narrow, without))

    def follow_column(self, urn: str | Urn, column: str) -> None:
        """Draw the upstream and downstream columns of a column."""
        node = str(urn)
        about = f"column {line(column, _COLUMN)} of {self._scene.name(node)}"
        _, extent = self._scene.reach
        span = self._scene.span()
        self._ask_columns(about, lambda catalog: read_from(catalog, node, column, extent, span))

    def follow_edge(self, source: str, target: str) -> None:
        """Draw which columns flow along an edge."""
        tables, name = self._scene.tables, self._scene.name
        if not tables.has_edge(source, target):
            return
        about = f"columns from {name(source)} to {name(target)}"
        self._ask_columns(about, lambda catalog: read_between(catalog, tables, source, target))

    def forget_columns(self) -> None:
        """Draw only tables again."""

        def then() -> None:
            self._scene.follow(DrawnColumns())
            self._scene.offer(ColumnChoices())

        self._change(then, key="columns")

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all requests are drawn; return whether that happened in time."""
        return self._work.wait(timeout_seconds)

    def close(self) -> None:
        """Cancel reading, and close the widget."""
        # Closing is also what ends one that was never quite made.
        work = getattr(self, "_work", None)
        if work is not None:
            work.end()
        super().close()

    def __repr__(self) -> str:
        drawing = self._scene.drawing
        if drawing is None:
            return f"Lineage of {line(self.root)}: {self.problem or 'not read yet'}"
        return as_tree(drawing.graph, self.said)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with a picture and a tree for front ends without a kernel."""
        # A notebook saves the present state. A slow lineage is shown later all the same.
        self._drawn.wait(_FIRST_SECONDS)
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        drawing = self._scene.drawing
        more = {"text/plain": repr(self)}
        if drawing is not None:
            more["text/html"] = as_html(drawing.graph, self.said)
        return {**data, **more}, metadata

    def _handle_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Handle a request of the page; ignore anything else."""
        match content:
            case {"view": str(view), "seq": int(seq)}:
                self.send({"kind": "heard", "view": view, "seq": seq})
        self.problem = ""
        match content:
            case {"kind": "unfold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self._work.run_guarded(lambda: self.unfold(urn, side))
            case {"kind": "fold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self._work.run_guarded(lambda: self.fold(urn, side))
            case {"kind": "root", "urn": str(urn)}:
                self._work.run_guarded(lambda: self.turn_to(urn))
            case {"kind": "back"}:
                self._work.run_guarded(self._go_back)
            case {"kind": "hops", "hops": int(hops)}:
                self._work.run_guarded(lambda: self.reach(hops))
            case {"kind": "direction", "direction": "BOTH" | "UPSTREAM" | "DOWNSTREAM" as extent}:
                self._work.run_guarded(lambda: self.reach(direction=extent))
            case {"kind": "narrow", "type": list(types), "platform": list(platforms)}:
                without = {"type": [*map(str, types)], "platform": [*map(str, platforms)]}
                self._work.run_guarded(lambda: self.narrow(without=without))
            case {"kind": "more"}:
                self._work.run_guarded(self._show_more)
            case {"kind": "names", "urn": str(urn)}:
                self._work.run_guarded(lambda: self._ask_names(urn))
            case {"kind": "column", "urn": str(urn), "column": str(column)}:
                self._work.run_guarded(lambda: self.follow_column(urn, column))
            case {"kind": "edge", "source": str(source), "target": str(target)}:
                self._work.run_guarded(lambda: self.follow_edge(source, target))
            case {"kind": "tables"}:
                self._work.run_guarded(self.forget_columns)
            case {"kind": "graphml"}:
                self._work.run_guarded(self._send_graphml)

    def _follow_selection(self, change: Any) -> None:
        """Notify listeners of the selected entity, and count its neighbours."""
        urn = change["new"]
        if not urn:
            return
        for call in self._listeners:
            self._work.run_guarded(partial(call, urn))
        _, extent = self._scene.reach
        sides = [side for side in SIDES if extent in ("BOTH", side)]
        if self._scene.has_neighbours(urn, *sides) or not self._scene.has_node(urn):
            return

        def then(neighbours: "nx.DiGraph") -> None:
            self._scene.add(neighbours, extent)
            self._redraw()

        self._work.ask(
            "",
            lambda catalog: read_lineage(catalog, urn, extent, hops=1, limit=_MOST_READ),
            then,
            key="look",
        )

    def _read(self, root: str) -> None:
        hops, extent = self._scene.reach

        # One hop more than is drawn, so that hidden neighbours can be counted.
        async def read(catalog: "AsyncCatalog") -> "nx.DiGraph":
            return await read_lineage(catalog, root, extent, hops=hops + 1, limit=_MOST_READ)

        def then(graph: "nx.DiGraph") -> None:
            self._take(graph, root, extent, hops + 1)
            self._complete()

        self._work.ask(f"reading the lineage of {self._scene.name(root)} …", read, then, alone=True)

    def _take(self, graph: "nx.DiGraph", root: str, extent: "Extent", hops: int) -> None:
        self._scene.take(graph, root, extent, hops)
        self._redraw()
        self.selected = root
        self._drawn.set()

    def _complete(self) -> None:
        """Read the names and states of what is drawn, and draw them."""
        bare = self._scene.bare()
        if not bare:
            return

        async def read(catalog: "AsyncCatalog") -> None:
            await read_details(catalog, bare)

        def then(_: None) -> None:
            self._scene.describe(bare)
            self._redraw()

        self._work.ask("reading names …", read, then)

    def _change(self, do: Callable[[], None], key: str = "") -> None:
        """Change the view and draw it, off the kernel's thread."""

        def then(_: None) -> None:
            do()
            self._redraw()

        self._work.ask("", _nothing, then, key=key)

    def _show_more(self) -> None:
        self._change(self._scene.widen)
        self._work.ask("", _nothing, lambda _: self._complete())

    def _go_back(self) -> None:
        root = self._scene.returning()
        if root is not None:
            self._read(root)

    def _ask_names(self, urn: str) -> None:
        name = self._scene.name(urn)

        def then(choices: ColumnChoices) -> None:
            self._scene.offer(choices)
            self._redraw()
            if not choices.paths:
                self.problem = f"no columns are known for {name}"

        self._work.ask(
            f"reading the columns of {name} …",
            lambda catalog: read_names(catalog, urn),
            then,
            key="names",
        )

    def _ask_columns(self, about: str, read: Callable[["AsyncCatalog"], Any]) -> None:
        def then(columns: "nx.DiGraph") -> None:
            any_drawn = self._scene.follow(DrawnColumns(columns, about))
            self._redraw()
            if not any_drawn:
                self.problem = f"no lineage is known for {about}"

        self._work.ask(f"reading {about} …", read, then, key="columns")

    def _send_graphml(self) -> None:
        """Send everything read as GraphML; it is built off the kernel's thread."""

        def then(_: None) -> None:
            self.send({"kind": "graphml", "text": to_graphml(self.graph)})

        self._work.ask("writing GraphML …", _nothing, then)

    def _redraw(self) -> None:
        self.said, self.picture = self._scene.lay_out()

    def _show_busy(self, message: str) -> None:
        self.busy = message

    def _show_problem(self, message: str) -> None:
        self.problem = message
        self._drawn.set()


class EmbeddedLineage(LineageWidget):
    """A lineage drawing inside another widget, which shows it and carries its messages; it has no
    model of its own on the page."""

    def __init__(
        self,
        catalog: "Catalog",
        urn: str | Urn,
        *,
        graph: "nx.DiGraph",
        changed: Callable[[dict[str, Any]], None],
        message: Callable[[Any], None],
    ) -> None:
        """`changed` is called with the whole state when a part of it changes, `message` with other
        messages to the page."""
        self._changed, self._message = changed, message
        super().__init__(catalog, urn, graph=graph)
        self.observe(lambda _: self._notify(), _SHOWN)
        self._notify()

    def open(self) -> None:
        """Do nothing: the other widget is on the page."""

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message through the other widget."""
        del buffers
        self._message(content)

    def handle_message(self, content: Any) -> None:
        """Handle a message of the page for this part."""
        match content:
            case {"kind": "selected", "urn": str(urn)}:
                self.selected = urn
            case _:
                self._handle_message(self, content, None)

    def _notify(self) -> None:
        self._changed({name: getattr(self, name) for name in _SHOWN})


async def _nothing(_: "AsyncCatalog") -> None:
    return None
