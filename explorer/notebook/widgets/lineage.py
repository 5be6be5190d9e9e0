"""The lineage widget: upstream and downstream entities, explored in a notebook."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import traitlets

from explorer.client.display import line
from explorer.errors import CatalogError
from explorer.graph.export import to_graphml
from explorer.graph.nodes import simplify_attributes
from explorer.graph.pictures import label, to_svg
from explorer.metadata.urn import Urn
from explorer.notebook.view import draw_html
from explorer.notebook.widgets.base import LINEAGE_MODULE, LINEAGE_STYLE, Widget, guard
from explorer.notebook.widgets.lineage_drawing import DrawnLineage, draw
from explorer.sessions.lineage import LineageQuery, LineageSession, LineageState
from explorer.views.lineage import LineageEntity, lineage_entities, lineage_tree
from explorer.views.parts import Picture, Say

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.records import Flow
    from explorer.graph import Extent

_NAME = 60


def as_html(graph: "nx.DiGraph", sentence: str) -> str:
    """Return the lineage as a picture below a sentence, in HTML that every notebook front end
    keeps."""
    root = graph.graph["root"]
    name = label(root, graph.nodes[root], _NAME)
    alternative = f"Lineage of {name}: {', '.join(_list_nodes(graph))}"
    return draw_html([Say(sentence), Picture(to_svg(graph), alternative)])


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
    """Return a short text alternative; the tree has all entities."""
    hops = [far for _, far in graph.nodes.data("hops") if far]
    yield f"{sum(far < 0 for far in hops):,} upstream"
    yield f"{sum(far > 0 for far in hops):,} downstream"


_FIRST_SECONDS = 3.0
_LONGEST_PROBLEM = 400
_SHOWN = ("picture", "said", "busy", "problem", "selected")


class LineageWidget(Widget):
    """A drawing of the lineage around an entity, which can be expanded, filtered, searched and
    followed by column.

        widget = LineageWidget(cat, "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)")
        widget

    It starts with `hops` in each direction. `graph` is a networkx graph of everything read so far;
    `selected` is the URN of the selected entity, and `on_select` registers a function that is
    called with it. Requests never block the kernel's thread; `wait()` waits for them. Without a
    kernel, the notebook shows a picture and a tree. Two requests at first, and one per hundred
    entities drawn; as many again for each entity selected, expanded, or followed by column.

    `close()` cancels reading; the catalog stays open.
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
        query = LineageQuery(Urn.parse(urn), direction, hops)
        query.check()
        super().__init__()
        self._catalog = catalog
        self._lineage = LineageSession(catalog.core, explores=True)
        self._lineage.begin(query, query.urn.name)
        self._lineage.subscribe(self._show_later)
        self._state: LineageState | None = None
        self._drawing: DrawnLineage | None = None
        self._drawn = threading.Event()
        self._listeners: list[Callable[[str], None]] = []
        self._requests: list[Future[None]] = []
        self._is_closed = False
        self._queue_lock, self._drawing_lock = threading.Lock(), threading.RLock()
        self._drawing_thread: threading.Thread | None = None
        self.on_msg(self._handle_message)
        self.observe(self._follow_selection, "selected")
        attributes = {} if graph is None else graph.graph
        is_read = attributes.get("root") == str(query.urn) and attributes.get("hops", 0) >= hops
        if graph is not None and is_read:
            self._ask(self._lineage.take(graph))
        else:
            self._ask(self._lineage.read())

    @property
    def graph(self) -> "nx.DiGraph":
        """Return a copy of everything read so far, in the form of `EntityLineage.graph`."""
        graph = self._lineage.state.full_graph
        return simplify_attributes(nx.DiGraph(root=self.root) if graph is None else graph)

    @property
    def root(self) -> str:
        """Return the URN of the root."""
        query = self._lineage.state.query
        return "" if query is None else str(query.urn)

    def on_select(self, call: Callable[[str], None]) -> Callable[[str], None]:
        """Register a function that is called with the URN of each selected entity; can be used as a
        decorator. It runs on a thread of the kernel, and its errors are shown."""
        self._listeners.append(call)
        return call

    def unfold(self, urn: str | Urn, side: "Flow") -> None:
        """Draw the neighbours of an entity on one side, after reading them if needed."""
        self._ask(self._lineage.unfold(str(urn), side))

    def fold(self, urn: str | Urn, side: "Flow") -> None:
        """Collapse an entity: hide what is connected only through it on one side."""
        self._ask(self._lineage.fold(str(urn), side))

    def turn_to(self, urn: str | Urn) -> None:
        """Redraw the lineage around another entity."""
        self._ask(self._lineage.turn_to(Urn.parse(urn)))

    def reach(self, hops: int | None = None, direction: "Extent | None" = None) -> None:
        """Change the number of hops or the direction."""
        if hops is not None:
            LineageQuery(Urn.parse(self.root), hops=hops).check()
            self._ask(self._lineage.reach(hops))
        if direction is not None:
            self._ask(self._lineage.turn(direction))

    def narrow(self, *, without: Mapping[str, "list[str]"]) -> None:
        """Leave out entities by `type` and `platform`, each a list of the words on the boxes; paths
        over hidden entities are dashed. An empty list clears the filter."""
        self._ask(self._lineage.leave_out(without))

    def follow_column(self, urn: str | Urn, column: str) -> None:
        """Draw the upstream and downstream columns of a column."""
        self._ask(self._lineage.follow_column(Urn.parse(urn), column))

    def follow_edge(self, source: str, target: str) -> None:
        """Draw which columns flow along an edge."""
        self._ask(self._lineage.follow_edge(source, target))

    def forget_columns(self) -> None:
        """Draw only tables again."""
        self._ask(self._lineage.forget_columns())

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all requests are drawn; return whether that happened in time."""
        if self._drawing_thread is threading.current_thread():
            return False
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while pending := [request for request in self._requests if not request.done()]:
            remaining = None if end is None else max(end - time.monotonic(), 0)
            if wait_for(pending, remaining).not_done:
                return False
        return True

    def close(self) -> None:
        """Cancel reading, and close the widget."""
        # Also called for a widget whose constructor failed.
        if not getattr(self, "_is_closed", True):
            self._is_closed = True
            # A closed client has ended its requests.
            with suppress(CatalogError):
                self._queue(_end(self._lineage))
        super().close()

    def __repr__(self) -> str:
        if self._drawing is None:
            return f"Lineage of {line(self.root)}: {self.problem or 'not read yet'}"
        return as_tree(self._drawing.hood.graph, self.said)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with a picture and a tree for front ends without a kernel."""
        # A notebook saves the present state. A slow lineage is shown later all the same.
        self._drawn.wait(_FIRST_SECONDS)
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        more = {"text/plain": repr(self)}
        if self._drawing is not None:
            more["text/html"] = as_html(self._drawing.hood.graph, self.said)
        return {**data, **more}, metadata

    def _handle_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Handle a request of the page; ignore anything else."""
        match content:
            case {"view": str(view), "seq": int(seq)}:
                self.send({"kind": "heard", "view": view, "seq": seq})
        self.problem = ""
        self._guard(partial(self._answer, content))

    def _answer(self, content: Any) -> None:
        match content:
            case {"kind": "unfold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self.unfold(urn, side)
            case {"kind": "fold", "urn": str(urn), "side": "UPSTREAM" | "DOWNSTREAM" as side}:
                self.fold(urn, side)
            case {"kind": "root", "urn": str(urn)}:
                self.turn_to(urn)
            case {"kind": "back"}:
                self._ask(self._lineage.go_back())
            case {"kind": "hops", "hops": int(hops)}:
                self.reach(hops)
            case {"kind": "direction", "direction": "BOTH" | "UPSTREAM" | "DOWNSTREAM" as extent}:
                self.reach(direction=extent)
            case {"kind": "narrow", "type": list(types), "platform": list(platforms)}:
                without = {"type": [*map(str, types)], "platform": [*map(str, platforms)]}
                self.narrow(without=without)
            case {"kind": "more"}:
                self._ask(self._lineage.draw_more())
            case {"kind": "names", "urn": str(urn)}:
                self._ask(self._lineage.offer_columns(Urn.parse(urn)))
            case {"kind": "column", "urn": str(urn), "column": str(column)}:
                self.follow_column(urn, column)
            case {"kind": "edge", "source": str(source), "target": str(target)}:
                self.follow_edge(source, target)
            case {"kind": "tables"}:
                self.forget_columns()
            case {"kind": "graphml"}:
                self._ask(asyncio.to_thread(self._send_graphml))

    def _send_graphml(self) -> None:
        """Send everything read as GraphML."""
        graph = self._lineage.state.full_graph
        self.send({"kind": "graphml", "text": to_graphml(self.graph if graph is None else graph)})

    def _follow_selection(self, change: Any) -> None:
        """Notify listeners of the selected entity, and count its neighbours."""
        urn = change["new"]
        if urn:
            for call in self._listeners:
                self._guard(partial(call, urn))
            self._ask(self._lineage.look_at(urn))

    def _guard(self, do: Callable[[], None]) -> None:
        guard(do, self._show_problem)

    def _ask(self, action: Coroutine[Any, Any, None]) -> None:
        """Begin an action of the session on the client's thread."""
        if self._is_closed:
            action.close()
            return

        def begin() -> None:
            try:
                self._queue(self._run(action))
            except CatalogError:
                action.close()
                raise

        self._guard(begin)

    def _queue(self, work: Coroutine[Any, Any, None]) -> None:
        request = self._catalog.begin(work)
        with self._queue_lock:
            pending = [earlier for earlier in self._requests if not earlier.done()]
            self._requests = [*pending, request]

    async def _run(self, action: Coroutine[Any, Any, None]) -> None:
        try:
            # An error of the catalog is the message of the state.
            with suppress(CatalogError):
                await action
        except Exception as error:
            # The outermost edge: no other code would show an unexpected exception.
            self._guard(partial(_raise, error))
        finally:
            if not self._is_closed:
                await asyncio.to_thread(self._show)

    def _show_later(self, state: LineageState) -> None:
        del state
        self._queue(asyncio.to_thread(self._show))

    def _show(self) -> None:
        """Draw the session's state; its listeners may wait for the catalog."""
        with self._drawing_lock:
            state, before = self._lineage.state, self._state
            if state is before or self._is_closed:
                return
            self._state, self._drawing_thread = state, threading.current_thread()
            try:
                self._guard(lambda: self._draw(state, before))
            finally:
                self._drawing_thread = None

    def _draw(self, state: LineageState, before: LineageState | None) -> None:
        self.busy = "" if state.work is None else str(state.work)
        if before is None or _drawn_parts(state) != _drawn_parts(before):
            drawing = draw(state, self._lineage.knows, self._drawing)
            if drawing is not None:
                self._drawing = drawing
                self.said, self.picture = drawing.sentence, dict(drawing.page_state)
        if self._drawing is not None:
            is_led = before is None or state.current_node != before.current_node
            if state.current_node and (is_led or self.selected not in self._drawing.hood.graph):
                self.selected = state.current_node
            self._drawn.set()
        message = state.message
        if message is not None and message.is_error and (not before or message != before.message):
            self._show_problem(line(message.sentence, _LONGEST_PROBLEM))

    def _show_problem(self, message: str) -> None:
        self.problem = message
        self._drawn.set()


async def _end(lineage: LineageSession) -> None:
    lineage.close()


def _raise(error: Exception) -> None:
    raise error


def _drawn_parts(state: LineageState) -> tuple[Any, ...]:
    """Return the parts of a state from which a drawing is made."""
    parts = (state.hood, state.columns, state.choices)
    return (*map(id, parts), state.extent, state.columns_of, state.back)


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
