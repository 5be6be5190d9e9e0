"""The lineage tab: queries, filter, map, paths, impact list, and the text on them."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Input, Static

from explorer.errors import CatalogError
from explorer.metadata.names import plural
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.tui.actions import bindings
from explorer.tui.content import counted, join, line_text, padded, preview
from explorer.tui.screens.export import FileScreen, check, suggest_name, write_atomically
from explorer.tui.screens.lineage_map import (
    Edge,
    LineageDrawing,
    LineageMap,
    LineageNode,
    Neighbourhood,
    choose_nodes,
    draw,
    unfold,
)
from explorer.tui.screens.search_dialogs import ChoiceScreen
from explorer.tui.session import TerminalSession, open_graphs
from explorer.tui.widgets.dialogs import ChooserEntry, EntityScreen
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import ActionRequested, Rows
from explorer.tui.widgets.tabs import View
from explorer.views.lineage import (
    CERTAINTY,
    ImpactView,
    distance,
    hop_count,
    label_name,
    lineage_table,
)

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.graph import Affected, AsyncGraphs, Extent, Impact, Paths
    from explorer.query.filters import Filter
    from explorer.views.table import Table

__all__ = ["LineageTab", "make_picture", "read_paths"]

_READ_WHOLE = 1_000
_MOST_HOPS = 20


@dataclass(frozen=True, slots=True)
class LineageQuery:
    """The query: the entity or column, direction, and number of hops."""

    urn: Urn
    extent: "Extent" = "BOTH"
    hops: int = 2
    column: str | None = None

    @property
    def nearest(self) -> "LineageQuery":
        """Return the query with a single hop."""
        return replace(self, hops=1)

    def widened(self, hops: int) -> "LineageQuery":
        """Return the query with more hops, from 1 to the maximum."""
        return replace(self, hops=max(1, min(_MOST_HOPS, self.hops + hops)))

    def turned(self, way: str) -> "LineageQuery":
        """Return the query "upstream", "downstream" or, for any other word, in both directions."""
        match way:
            case "upstream":
                return replace(self, extent="UPSTREAM")
            case "downstream":
                return replace(self, extent="DOWNSTREAM")
            case _:
                return replace(self, extent="BOTH")


@dataclass(slots=True)
class LineageAnswer:
    """The graph of a query, and the nodes whose details were read."""

    graph: "nx.DiGraph"
    roots: tuple[str, ...]
    detailed: set[str] = field(default_factory=set)


async def read_answer(catalog: "AsyncCatalog", question: LineageQuery) -> LineageAnswer:
    """Read the graph of a query. One request per direction, and in a graph of up to a thousand
    nodes one per hundred nodes; in a larger graph `complete` reads what is visible."""
    graphs = await open_graphs(catalog)
    if question.column is not None:
        return await _read_columns(catalog, graphs, question)
    root = str(question.urn)
    graph = await graphs.lineage(question.urn, question.extent, hops=question.hops)
    answer = LineageAnswer(graph, (root,))
    if len(graph) <= _READ_WHOLE:
        await read_missing_details(catalog, answer, graph)
    return answer


async def _read_columns(
    catalog: "AsyncCatalog", graphs: "AsyncGraphs", question: LineageQuery
) -> LineageAnswer:
    from explorer.graph import merged

    urn, column, hops = question.urn, question.column, question.hops
    if question.extent == "BOTH":
        upper, lower = await asyncio.gather(
            graphs.columns(urn, column, "UPSTREAM", hops=hops),
            graphs.columns(urn, column, "DOWNSTREAM", hops=hops),
        )
        graph = merged(upper, lower)
    else:
        graph = lower = await graphs.columns(urn, column, question.extent, hops=hops)
    roots = tuple(lower.graph["roots"])
    holders = {attributes.get("dataset", node): None for node, attributes in graph.nodes(data=True)}
    entities = await catalog.summaries(Urn.parse_all(holders))
    for node, attributes in graph.nodes(data=True):
        entity = entities.get(Urn.parse(attributes.get("dataset", node)))
        if entity is not None:
            attributes["name"] = entity.name
    return LineageAnswer(graph, roots, set(graph))


async def read_missing_details(
    catalog: "AsyncCatalog", answer: LineageAnswer, nodes: Collection[str]
) -> None:
    """Read the details of the nodes that lack them."""
    from explorer.graph.nodes import read_details

    missing = [node for node in nodes if node not in answer.detailed and node in answer.graph]
    if missing:
        await read_details(catalog, answer.graph, missing)
        answer.detailed.update(missing)


async def read_paths(
    catalog: "AsyncCatalog", answer: LineageAnswer, source: str, target: str, *, columns: bool
) -> "Paths":
    """Return all shortest lineage paths between two nodes; those between columns as far as the
    graph reaches."""
    from explorer.graph import Paths, shortest_paths

    if not columns:
        graphs = await open_graphs(catalog)
        return await graphs.paths(source, target)
    paths, _ = shortest_paths(answer.graph, source, target)
    if paths:
        return Paths(source, target, "downstream", paths)
    back, _ = shortest_paths(answer.graph, target, source)
    reverse = tuple(path[::-1] for path in back)
    return Paths(source, target, "upstream", reverse)


def path_edges(paths: "Paths") -> frozenset[Edge]:
    """Return the edges of paths in the direction of the data flow."""
    steps = (
        (node_path[at], node_path[at + 1])
        for node_path in paths.node_paths
        for at in range(len(node_path) - 1)
    )
    turned = paths.direction == "upstream"
    return frozenset((down, up) if turned else (up, down) for up, down in steps)


def filtered_graph(
    answer: LineageAnswer, by: "Filter | None", along: Collection[Edge], names: Mapping[str, str]
) -> "nx.DiGraph":
    """Return the graph to draw: nodes that match the filter, connected across those that do not,
    with the roots and the shown paths in any case."""
    from explorer.graph.nodes import contracted, identity, matches

    graph = answer.graph
    if by is not None:
        nodes = {node for node, details in graph.nodes(data=True) if matches(node, details, by)}
        nodes |= {node for edge in along for node in edge if node in graph}
        graph = contracted(graph, nodes.union(answer.roots))
    if any(not graph.has_edge(*edge) for edge in along):
        graph = graph.copy()
        for edge in along:
            for node in edge:
                if node not in graph:
                    details = dict(answer.graph.nodes[node]) if node in answer.graph else None
                    graph.add_node(node, **(details or identity(node)))
                    if details is None and node in names:
                        graph.nodes[node]["name"] = names[node]
            graph.add_edge(*edge)
    return graph


@dataclass(frozen=True, slots=True)
class LineageView:
    """The view of an answer: nodes expanded by how many, the filter, the shown paths with the names
    of their nodes, and the window's size."""

    expanded: Mapping[str, int]
    filter: "Filter | None"
    path_edges: frozenset[Edge]
    names: Mapping[str, str]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LineagePicture:
    """An answer, its filtered graph, and the drawing of that."""

    answer: LineageAnswer
    graph: "nx.DiGraph"
    drawing: LineageDrawing


async def make_picture(
    catalog: "AsyncCatalog",
    question: LineageQuery,
    known: LineageAnswer | None,
    sight: LineageView,
    previous: LineageDrawing | None,
) -> LineagePicture:
    """Draw the answer of a query, `known` or read now; see `read_answer` for the requests. Nodes
    drawn before keep their order."""
    answer = known or await read_answer(catalog, question)
    if sight.filter is not None:
        # A filter asks for owners, tags and texts of everything.
        await read_missing_details(catalog, answer, answer.graph)
    graph = await asyncio.to_thread(
        filtered_graph, answer, sight.filter, sight.path_edges, sight.names
    )
    path_nodes = {node for edge in sight.path_edges for node in edge}

    def pick() -> Neighbourhood:
        return choose_nodes(graph, answer.roots, expanded=sight.expanded, wanted=path_nodes)

    hood = await asyncio.to_thread(pick)
    missing = [node for node in hood.nodes if node in answer.graph and node not in answer.detailed]
    if missing:
        await read_missing_details(catalog, answer, missing)
        hood = await asyncio.to_thread(pick)
    width, height = sight.size
    before = previous if known else None
    drawing = await asyncio.to_thread(draw, hood, width - 2, height, before)
    return LineagePicture(answer, graph, drawing)


_DRAWN_AT_MOST: Final = 2_000
"""Laying out so many takes a second."""


def _render_graph(graph: "nx.DiGraph", form: str) -> bytes:
    from explorer.graph import export

    forms: Mapping[str, Callable[[nx.DiGraph], str]] = {
        ".mmd": export.to_mermaid,
        ".dot": export.to_dot,
        ".graphml": export.to_graphml,
        ".csv": export.to_csv,
        ".svg": partial(export.to_svg, most_nodes=_DRAWN_AT_MOST, most_edges=_DRAWN_AT_MOST * 5),
    }
    return forms[form](graph).encode(errors="backslashreplace")


class GraphScreen(FileScreen):
    """Writes a graph to a file: everything that matches the filter, drawn or not. Pictures and
    diagrams that leave out parts of a large graph say so."""

    FORMS: ClassVar[tuple[str, ...]] = (".mmd", ".svg", ".dot", ".graphml", ".csv")

    def __init__(self, session: TerminalSession, name: str, graph: "nx.DiGraph") -> None:
        offered = Path(suggest_name(f"{name}-lineage")).with_suffix(".mmd")
        super().__init__(session, str(offered))
        self._entity_name = name
        self._graph = graph

    def about(self) -> Text:
        """Return how much is written."""
        return Text.assemble(
            line_text(f"Lineage of {self._entity_name}", "bold"), f", {len(self._graph):,} in all"
        )

    async def write_to(self, path: Path, *, replace: bool) -> str:
        """Write the file in a thread."""
        await asyncio.to_thread(partial(check, path, replace=replace))
        self.show_message("writing …")
        data = await asyncio.to_thread(_render_graph, self._graph, path.suffix.lower())
        where = await asyncio.to_thread(partial(write_atomically, path, data, replace=replace))
        return f"Wrote {len(self._graph):,} of the lineage of {self._entity_name} to {where}"


_OWNERS_SHOWN = 3
_FILTER = 60


def describe_extent(
    name: str,
    question: LineageQuery,
    hood: Neighbourhood | None,
    filter: str,
    cut: str | None,
    further: int = 0,
) -> Text:
    """Return the line above the drawing: the entity, hops in each direction, how much is drawn, and
    why it is incomplete; `further` is the number that one more hop would show, if that hop was left
    out for lack of room."""
    hops = hop_count(question.hops)
    column = f".{question.column}" if question.column else ""
    parts = [
        line_text(_shorten(name + column), "bold"),
        Text(f"upstream {hops}" if question.extent != "DOWNSTREAM" else ""),
        Text(f"downstream {hops}" if question.extent != "UPSTREAM" else ""),
    ]
    if hood is not None:
        is_complete = hood.count == hood.total
        parts.append(Text(f"all {hood.total:,} shown" if is_complete else _part(hood)))
    if further:
        parts.append(Text.assemble(("+", "bold"), f" for {further:,}"))
    if filter:
        parts.append(Text.assemble("only ", line_text(_shorten(filter), "bold")))
    if cut:
        parts.append(line_text(f"cut: {cut}", "italic"))
    return join(parts)


def describe_node(
    node: LineageNode,
    held: Mapping[str, Any],
    owner: LineageNode | None,
    names: Mapping[str, str],
    *,
    is_mark: bool,
) -> Text:
    """Return two lines on the node under the cursor; `names` has the names of its owners by URN, as
    far as they were read."""
    if node.state == "more":
        name = owner.name if owner else ""
        does = "feed" if node.upstream else "are fed by"
        text = (
            Text(f"{node.hidden:,} more ")
            .append(f"that {does} ")
            .append_text(line_text(name, "bold"))
        )
        return text.append("\nspace or ⏎ shows them", "dim")
    facts = [
        line_text(node.name, "bold"),
        line_text(node.fact, "dim"),
        Text(distance(held.get("hops"))),
        Text(
            "not in the catalog, only referenced by others" if node.state == "ghost" else "",
            "italic",
        ),
        Text("SOFT-DELETED" if node.state == "removed" else "", "bold"),
        Text("deprecated" if held.get("deprecated") else "", "italic"),
        Text("◆ marked" if is_mark else "", "bold"),
    ]
    owners = [label_name(owner, names) for owner in held.get("owners", ())]
    if owners:
        rest = f" +{len(owners) - _OWNERS_SHOWN}" if len(owners) > _OWNERS_SHOWN else ""
        facts.append(line_text(f"owner {', '.join(owners[:_OWNERS_SHOWN])}{rest}", "dim"))
    text = join(facts)
    text.append("\n")
    if held.get("description"):
        return text.append_text(preview(held["description"]))
    return text.append_text(line_text(node.id, "dim"))


def describe_impact(view: "ImpactView") -> Text:
    """Return the heading of an impact list, with the reason if it is incomplete."""
    impact = view.impact
    text = Text.assemble(line_text(f"what depends on {_shorten(view.name)}", "bold"))
    text.append(f" · {len(impact):,} · most used first, queries of 30 days", "dim")
    if impact.truncated:
        text.append_text(line_text(f" · cut: {impact.truncated}", "italic"))
    return text


def describe_paths(paths: "Paths", between: str, name: str) -> str:
    """Return how many paths lead from one end to the other, how long they are, and what was not
    searched; `between` names the ends."""
    cut = f"; {paths.truncated}" if paths.truncated else ""
    if paths.hops is None:
        return f"No lineage path leads {between} {name}{cut}."
    many = f"{len(paths)} paths" if len(paths) > 1 else "One path"
    return (
        f"{many} {between} {name}, {hop_count(paths.hops)} {paths.direction}{cut}. esc clears them."
    )


def describe_affected(affected: "Affected | None", view: "ImpactView | None") -> Text:
    """Return what is known of an entity that depends on another, in two lines."""
    if affected is None or view is None:
        return Text()
    entity = view.entities[affected.urn]
    facts = [
        line_text(entity.full_name, "bold"),
        line_text(f"owner {', '.join(entity.owners) or 'nobody'}"),
        line_text(f"domain {entity.domain}" if entity.domain else "", "dim"),
        line_text(f"columns {', '.join(affected.columns)}" if affected.columns else "", "dim"),
        Text(CERTAINTY[affected.certainty] if affected.certainty != "said" else "", "italic"),
    ]
    return join(facts).append("\n").append_text(line_text(affected.urn, "dim"))


def _shorten(text: str) -> str:
    return text if len(text) <= _FILTER else f"{text[: _FILTER - 1]}…"


def _part(hood: Neighbourhood) -> str:
    return f"{hood.count:,} of {hood.total:,} shown"


_OWNERS = 2
_WIDE = 100
_FACTS = 44


class ImpactRows(Rows):
    """The impact list: everything downstream, grouped by type."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("impact")

    @dataclass
    class BackToDrawing(Message):
        """Asks to go back to the drawing."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[str | Affected] = []
        self._counts: dict[str, int] = {}
        self.view: ImpactView | None = None
        """What is listed."""

    def say(self, sentence: str) -> None:
        """Show a sentence instead of the list."""
        self._rows, self.view = [], None
        self.show(0, self._draw_row, empty=sentence)

    async def read(self, catalog: "AsyncCatalog", urn: Urn, column: str | None) -> "Impact":
        """Read what depends on an entity or a column: see `find_impact` for the requests."""
        try:
            return await (await open_graphs(catalog)).impact(urn, column)
        except CatalogError:
            self.say("The impact could not be read; x in the drawing tries again.")
            raise

    def show_impact(self, view: "ImpactView") -> None:
        """Show the impact."""
        self.view = view
        groups = view.impact.by("type")
        self._counts = {kind: len(some) for kind, some in groups.items()}
        self._rows = []
        for kind, some in groups.items():
            self._rows += [kind, *some]
        self.show(
            len(self._rows), self._draw_row, cursor=1, empty="Nothing is known to depend on it."
        )

    @property
    def affected(self) -> "Affected | None":
        """Return the entity under the cursor."""
        row = self._rows[self.cursor] if self.cursor < len(self._rows) else ""
        return None if isinstance(row, str) else row

    def action_leave(self) -> None:
        """Go back to the drawing."""
        self.post_message(self.BackToDrawing())

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if isinstance(row, str) or self.view is None:
            count = line_text(f"· {self._counts[str(row)]:,}", "dim")
            return (Text.assemble(" ", line_text(plural(str(row)), "bold"), " ", count),)
        entity = self.view.entities[row.urn]
        apart = entity.distinction if entity.distinction != entity.platform else ""
        facts = [
            line_text(entity.platform, "" if entity.distinction else "dim"),
            Text(hop_count(row.hops), "dim"),
            Text("" if row.queries is None else counted(row.queries, "query", "queries")),
            Text(counted(row.users, "person", "people") if row.users else "", "dim"),
            *(Text(state, "italic") for state in entity.states),
        ]
        if width >= _WIDE:
            owners = ", ".join(entity.owners[:_OWNERS])
            rest = len(entity.owners) - _OWNERS
            facts.append(line_text(f"{owners} +{rest}" if rest > 0 else owners, "dim"))
        right = min(max(width // 2, _FACTS), width - 20)
        name = line_text(f"{entity.name} ({apart})" if apart else entity.name)
        text = Text("     ").append_text(padded(name, width - right - 8))
        return (text.append("  ").append_text(padded(join(facts), right)),)


_LOW, _LOWEST, _AROUND = 12, 5, 4
_NOTHING = "This entity has no known lineage, neither upstream nor downstream."


class LineageTab(Vertical, View):
    """The lineage tab: a drawing of the neighbourhood with a line on what it shows and one on the
    node under the cursor; or the impact list of an entity."""

    DEFAULT_CSS = """
    LineageTab #extent { height: auto; padding: 0 1; }
    LineageTab ContentSwitcher { height: 1fr; }
    LineageTab #under {
        height: 3; padding: 0 1; border-top: solid $border-blurred;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    LineageTab.-low #under { display: none; }
    LineageTab.-low #extent { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    LineageTab.-lowest #extent { display: none; }
    LineageTab.-lowest LineageMap { scrollbar-size: 0 0; }
    """

    @dataclass
    class BoxOpened(Message):
        """An entity of the drawing was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession, column: Callable[[], str | None]) -> None:
        super().__init__()
        self._session = session
        self._column = column
        self._question: LineageQuery | None = None
        self._answer: LineageAnswer | None = None
        self._shown: nx.DiGraph | None = None
        self._expanded: dict[str, int] = {}
        self._filter: Filter | None = None
        self._filter_text = ""
        self._path_edges: frozenset[Edge] = frozenset()
        self._names: dict[str, str] = {}
        # Names of owners and domains, by URN; all that were read stay known.
        self._label_names: dict[str, str] = {}
        self._entity_name = ""
        self._impact_heading = Text()
        self._turn = 0
        # A picture opens with as many hops as fit the window. Until that is decided, hops asked
        # for are counted; `_further` is how many nodes one hop more has, where it was left out.
        self._is_opening = True
        self._more_hops = 0
        self._further = 0

    def compose(self) -> ComposeResult:
        """Yield the line on what is shown, the drawing or the list, an input line, and the details
        of the cursor."""
        yield Static("", id="extent", markup=False)
        with ContentSwitcher(initial="drawn"):
            lineage_map = LineageMap(self._show_details)
            lineage_map.id = "drawn"
            yield lineage_map
            impact = ImpactRows()
            impact.id = "impact"
            yield impact
        yield AskLine()
        yield Static("", id="under", markup=False)

    @property
    def _map(self) -> LineageMap:
        return self.query_one(LineageMap)

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the drawing of the previous entity."""
        self._turn += 1
        self._answer = None
        self._entity_name = entity.name
        if not keep or self._question is None:
            self._question = LineageQuery(entity.urn)
            self._is_opening, self._more_hops, self._further = True, 0, 0
            self._expanded.clear()
            self._filter, self._filter_text, self._path_edges = None, "", frozenset()
            self._shown = None
            self.query_one(AskLine).display = False
            self.workers.cancel_group(self, "impact")
            self.query_one(ContentSwitcher).current = "drawn"
            self._map.hold(frozenset())
            self._map.say("reading the lineage …")
            self._show_extent()

    async def read(self, entity: "Entity") -> None:
        """Read and draw the lineage: see `read_answer` for the requests."""
        if self._question is not None and entity.urn == self._question.urn:
            await self._look()

    def table(self) -> "Table | None":
        """Return the impact list, or all nodes around this entity, for a file."""
        if self.query_one(ContentSwitcher).current == "impact":
            view = self.query_one(ImpactRows).view
            return view.table() if view is not None else None
        if self._shown is None:
            return None
        return lineage_table(f"{self._entity_name} lineage", self._shown)

    def focus_content(self) -> None:
        """Focus the drawing or the list."""
        if self.query_one(ContentSwitcher).current == "impact":
            self.screen.set_focus(self.query_one(ImpactRows))
        else:
            self.screen.set_focus(self._map)

    @work(exclusive=True, group="lineage")
    async def _look_again(self, cursor: str = "") -> None:
        with self._session.reporting(f"reading the lineage of {self._entity_name}"):
            await self._look(cursor=cursor)

    async def _look(self, *, cursor: str = "") -> None:
        """Read what is not known yet, and draw it. Only the latest query is drawn."""
        question = self._question
        if question is None:
            return
        self._turn += 1
        turn = self._turn
        try:
            catalog = await self._session.catalog()
            size = (self.room.width, max(self.room.height - _AROUND, 1))
            sight = LineageView(
                dict(self._expanded), self._filter, self._path_edges, self._names, size
            )
            picture = await make_picture(catalog, question, self._answer, sight, self._map.drawing)
            if turn == self._turn and self._is_opening:
                self._is_opening = False
                opening = question if picture.drawing.fits(size) else question.nearest
                opening = opening.widened(self._more_hops)
                if opening != question:
                    self._further = 0 if self._more_hops else len(picture.graph)
                    self._question = question = opening
                    picture = await make_picture(catalog, question, None, sight, None)
        except CatalogError:
            if turn == self._turn:
                self._map.say("The lineage could not be read; r tries again.")
            raise
        if turn != self._turn:
            return
        answer = self._answer = picture.answer
        self._shown = picture.graph
        if len(answer.graph) <= 1 and not self._path_edges:
            self._map.say(_NOTHING)
        else:
            self._map.show(picture.drawing, answer.roots[0], cursor or self._map.cursor)
            self._map.hold(self._path_edges)
        self._show_extent()
        if picture.drawing.hood.nodes:
            owners = (
                self._attributes_of(node).get("owners", ()) for node in picture.drawing.hood.nodes
            )
            await self._read_label_names(catalog, chain.from_iterable(owners))
            self._show_details()

    async def _read_label_names(self, catalog: "AsyncCatalog", urns: Iterable[str]) -> None:
        """Read the names of owners and domains; one request per hundred not known yet."""
        unknown = dict.fromkeys(urn for urn in urns if urn not in self._label_names)
        if unknown:
            entities = await catalog.summaries(Urn.parse_all(unknown))
            self._label_names |= {str(urn): entity.name for urn, entity in entities.items()}

    def on_resize(self, event: events.Resize) -> None:
        """Give the drawing all lines of a low terminal."""
        self.set_class(event.size.height < _LOW, "-low")
        self.set_class(event.size.height < _LOWEST, "-lowest")

    @on(ActionRequested)
    def _do(self, event: ActionRequested) -> None:
        event.stop()
        match event.action:
            case "open":
                self._open()
            case "expand":
                self._expand()
            case "filter":
                self.query_one(AskLine).ask(self._filter_text)
            case "write" if self._shown is not None:
                self.app.push_screen(GraphScreen(self._session, self._entity_name, self._shown))
            case "column":
                self._follow_column()
            case "impact":
                self._show_impact()
            case "marked":
                self._show_marked()
            case "ways":
                self._ask_for_paths()
            case "forget":
                self._forget()
            case "more" | "fewer" as change if self._question is not None:
                self._widen(1 if change == "more" else -1)
            case way if self._question is not None:
                self._ask_for(self._question.turned(way))

    def _widen(self, hops: int) -> None:
        """Show more hops, counted from those shown or about to be shown."""
        if self._is_opening:
            self._more_hops += hops
        elif self._question is not None:
            self._ask_for(self._question.widened(hops))

    def _ask_for(self, question: LineageQuery) -> None:
        """Read again if the query differs."""
        if question != self._question:
            self._question, self._answer = question, None
            self._further = 0
            self._show_extent()
            self._look_again()

    def _attributes_of(self, node: str) -> "Mapping[str, Any]":
        return self._shown.nodes[node] if self._shown is not None and node in self._shown else {}

    def _open(self) -> None:
        node = self._map.node
        if node is None or node.state == "more":
            self._expand()
            return
        urn = Urn.parse(self._attributes_of(node.id).get("dataset", node.id))
        if self._question is None or urn != self._question.urn:
            self.post_message(self.BoxOpened(urn))

    def _expand(self) -> None:
        """Draw more neighbours of the node under the cursor, or the usual number again."""
        node, drawing = self._map.node, self._map.drawing
        if node is None or drawing is None:
            return
        owner = node.owner or node.id
        if not unfold(self._expanded, drawing.hood, owner):
            self._session.say(f"Nothing around {drawing.hood.nodes[owner].name} is hidden.")
            return
        self._look_again(cursor=owner)

    def _follow_column(self) -> None:
        if self._question is None:
            return
        column = self._column() if self._question.column is None else None
        if column is None and self._question.column is None:
            self._session.say("This entity has no columns with lineage.")
            return
        self._expanded.clear()
        self._path_edges = frozenset()
        self._map.mark = ""
        self._ask_for(replace(self._question, column=column))

    def _forget(self) -> None:
        """Clear what was set last: paths and mark, the filter, or the column."""
        if self._path_edges or self._map.mark:
            self._path_edges, self._map.mark = frozenset(), ""
            self._look_again()
        elif self._filter is not None:
            self._filter, self._filter_text = None, ""
            self._look_again()
        elif self._question is not None:
            self._ask_for(replace(self._question, column=None))

    def _show_marked(self) -> None:
        node = self._map.node
        if node is not None and self._map.mark == node.id:
            self._session.say(
                f"Marked {node.name}; p on another entity shows the paths between them."
            )
        elif node is not None:
            self._session.say(f"{node.name} is no longer marked.")

    def _ask_for_paths(self) -> None:
        """Show the paths between the node under the cursor and the marked one; without another
        marked node, ask for a name."""
        node, mark = self._map.node, self._map.mark
        if node is None or node.state == "more" or self._answer is None or not self._question:
            return
        if mark and mark != node.id:
            self._show_paths(mark, node, "from the marked entity to")
            return
        hood = self._map.drawing.hood.nodes if self._map.drawing else {}
        near = [
            ChooserEntry(
                neighbour.name,
                aside=neighbour.fact,
                do=partial(self._show_paths_from, node, neighbour.id, neighbour.name),
                also=neighbour.id,
            )
            for neighbour in hood.values()
            if neighbour.state != "more" and neighbour.id != node.id
        ]
        title = f"Paths from {node.name} to …"
        if self._question.column is not None:
            # Columns are named by those that hold them, and only those drawn are known.
            self.app.push_screen(ChoiceScreen(title, near))
        else:

            def go(urn: Urn) -> None:
                self._show_paths_from(node, str(urn), urn.name)

            self.app.push_screen(EntityScreen(self._session, title, near, go))

    def _show_paths_from(self, node: LineageNode, target: str, name: str) -> None:
        if target == node.id:
            self._session.say(f"{node.name} is the start of the paths; choose a different end.")
        else:
            end = LineageNode(target, name)
            self._show_paths(node.id, end, f"from {node.name} to")

    @work(exclusive=True, group="lineage")
    async def _show_paths(self, source: str, node: LineageNode, between: str) -> None:
        question, answer = self._question, self._answer
        if answer is None:
            return
        columns = bool(question and question.column)
        with self._session.reporting("searching for paths"):
            catalog = await self._session.catalog()
            paths = await read_paths(catalog, answer, source, node.id, columns=columns)
            if question is not self._question:
                return
            if not paths.node_paths:
                self._session.say(describe_paths(paths, between, node.name))
                return
            self._path_edges = path_edges(paths)
            urns = Urn.parse_all(
                {path_node for node_path in paths.node_paths for path_node in node_path}
            )
            entities = {} if columns else await catalog.summaries(urns)
            self._names = {str(urn): entity.name for urn, entity in entities.items()}
            await self._look(cursor=node.id)
            self._session.say(describe_paths(paths, between, self._names.get(node.id, node.name)))

    def _show_impact(self) -> None:
        node, rows = self._map.node, self.query_one(ImpactRows)
        if self._question is None or (node is not None and node.state == "more"):
            return
        # Before anything is drawn it is of what was opened.
        urn, column = self._question.urn, self._question.column
        name = self._entity_name if column is None else column
        if node is not None:
            urn, column, name = Urn.parse(node.id), None, node.name
        if urn.entity_type == "schemaField":
            attributes = self._attributes_of(str(urn))
            urn, column = Urn.parse(attributes["dataset"]), attributes["column"]
        self.query_one(ContentSwitcher).current = "impact"
        rows.say(f"reading what depends on {name} …")
        self.screen.set_focus(rows)
        self._impact_heading = line_text(f"what depends on {name}", "bold")
        self._show_extent()
        self._show_details()
        self._read_impact(urn, column, name)

    @work(exclusive=True, group="impact")
    async def _read_impact(self, urn: Urn, column: str | None, name: str) -> None:
        rows = self.query_one(ImpactRows)
        with self._session.reporting(f"reading what depends on {name}"):
            catalog = await self._session.catalog()
            impact = await rows.read(catalog, urn, column)
            labels = (
                (*dependents.owners, dependents.domain or "") for dependents in impact.affected
            )
            await self._read_label_names(catalog, filter(None, chain.from_iterable(labels)))
            view = ImpactView.of(impact, self._label_names, name)
            rows.show_impact(view)
            self._impact_heading = describe_impact(view)
            self._show_extent()
            self._show_details()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_details()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        affected = self.query_one(ImpactRows).affected
        if affected is not None:
            self.post_message(self.BoxOpened(Urn.parse(affected.urn)))

    @on(ImpactRows.BackToDrawing)
    def _leave_impact(self, event: ImpactRows.BackToDrawing) -> None:
        event.stop()
        self.query_one(ContentSwitcher).current = "drawn"
        self._show_extent()
        self._show_details()
        self.screen.set_focus(self._map)

    @on(AskLine.Cancelled)
    def _close_line(self) -> None:
        self.query_one(AskLine).display = False
        self.screen.set_focus(self._map)

    @on(Input.Submitted)
    def _handle_input(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._narrow(event.value.strip())
        except CatalogError as error:
            self._session.say(str(error), error=True)
        else:
            self._close_line()

    def _narrow(self, text: str) -> None:
        self._filter = read_filter(text, load_registry(), strict=False) if text else None
        self._filter_text = text
        self._look_again()

    def _show_extent(self) -> None:
        """Update the line above the drawing."""
        text = Text()
        if self.query_one(ContentSwitcher).current == "impact":
            text = self._impact_heading
        elif self._question is not None:
            drawing = self._map.drawing if self._answer is not None else None
            cut = self._answer.graph.graph.get("truncated") if self._answer is not None else None
            text = describe_extent(
                self._entity_name,
                self._question,
                drawing.hood if drawing else None,
                self._filter_text,
                cut,
                self._further,
            )
        self.query_one("#extent", Static).update(text)

    def _show_details(self) -> None:
        """Update the details of the node under the cursor."""
        node = self._map.node
        text = Text()
        if self.query_one(ContentSwitcher).current == "impact":
            rows = self.query_one(ImpactRows)
            text = describe_affected(rows.affected, rows.view)
        elif node is not None:
            owner = self._map.drawing.hood.nodes.get(node.owner) if self._map.drawing else None
            is_mark = node.id == self._map.mark
            text = describe_node(
                node, self._attributes_of(node.id), owner, self._label_names, is_mark=is_mark
            )
        self.query_one("#under", Static).update(text, layout=False)
