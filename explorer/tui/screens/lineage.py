"""The lineage tab: the map with its filter and paths, the impact list, and the lines that describe
both."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Input, Static

from explorer.client.display import counted
from explorer.errors import CatalogError
from explorer.metadata.names import plural
from explorer.metadata.urn import Urn
from explorer.sessions.lineage import LineageQuery, LineageSession, LineageState
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded, preview
from explorer.tui.screens.export import FileScreen, check, suggest_name, write_atomically
from explorer.tui.screens.lineage_map import LineageDrawing, LineageMap, draw
from explorer.tui.screens.search_dialogs import ChoiceScreen
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import ChooserEntry, EntityScreen
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import ActionRequested, Rows
from explorer.tui.widgets.tabs import View
from explorer.views.absence import NOBODY, refusal_sentence
from explorer.views.lineage import (
    CERTAINTY,
    Edge,
    ImpactView,
    LineageNode,
    Neighbourhood,
    distance,
    hop_count,
    label_name,
    lineage_table,
)

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client.entity import Entity
    from explorer.graph import Affected
    from explorer.views.table import Table

_DRAWN_AT_MOST: Final = 2_000
"""The most nodes that are drawn in a file; laying out so many takes a second."""


def _render_graph(graph: "nx.DiGraph", form: str) -> bytes:
    """Return a graph as the content of a file with the ending `form`."""
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
    """Writes a graph to a file: all nodes that match the filter, even those not drawn on the
    screen. Pictures and diagrams of a large graph leave out parts, and say so."""

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


def describe_extent(state: LineageState) -> Text:
    """Return the line above the drawing: the entity, the hops in each direction, how much is drawn,
    why it is incomplete, and how many nodes one more hop would add."""
    if state.query is None:
        return Text()
    column = f".{state.query.column}" if state.query.column else ""
    parts = [line_text(_shorten(state.name + column), "bold"), *map(Text, state.extent)]
    if state.further_count:
        parts.append(Text.assemble(("+", "bold"), f" for {state.further_count:,}"))
    if state.filter:
        parts.append(Text.assemble("only ", line_text(_shorten(state.filter), "bold")))
    if state.truncated:
        parts.append(line_text(f"cut: {state.truncated}", "italic"))
    return join(parts)


def describe_node(
    node: LineageNode,
    held: Mapping[str, Any],
    owner: LineageNode | None,
    names: Mapping[str, str],
    *,
    is_mark: bool,
) -> Text:
    """Return two lines on the node under the cursor, with its attributes in `held`. `owner` is the
    node that holds a column; `names` has the names of owners by URN, as far as they were read."""
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
    """Return the heading of an impact list; if the list is incomplete, it says why."""
    impact = view.impact
    text = Text.assemble(line_text(f"what depends on {_shorten(view.name)}", "bold"))
    text.append(f" · {len(impact):,} · most used first, queries of 30 days", "dim")
    if impact.truncated:
        text.append_text(line_text(f" · cut: {impact.truncated}", "italic"))
    return text


def describe_affected(affected: "Affected | None", view: "ImpactView | None") -> Text:
    """Return two lines on an entity of the impact list."""
    if affected is None or view is None:
        return Text()
    entity = view.entities[affected.urn]
    facts = [
        line_text(entity.full_name, "bold"),
        line_text(f"owner {', '.join(entity.owners) or NOBODY}"),
        line_text(f"domain {entity.domain}" if entity.domain else "", "dim"),
        line_text(f"columns {', '.join(affected.columns)}" if affected.columns else "", "dim"),
        Text(CERTAINTY[affected.certainty] if affected.certainty != "said" else "", "italic"),
    ]
    return join(facts).append("\n").append_text(line_text(affected.urn, "dim"))


def _shorten(text: str) -> str:
    return text if len(text) <= _FILTER else f"{text[: _FILTER - 1]}…"


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
        """Return the row of an entity or of a heading in the impact list."""
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
    """The lineage tab: a drawing of the neighbourhood, with a line on its extent above and the
    details of the node under the cursor below; or the impact list of an entity."""

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
        self._lineage = LineageSession(session.opened)
        self._lineage.subscribe(self._show)
        self._message = self._lineage.state.message
        self._hood: Neighbourhood | None = None
        self._at = ""
        # The paths of the last message.
        self._paths: frozenset[Edge] = frozenset()
        # The last drawing, with its neighbourhood.
        self._drawn: tuple[Neighbourhood, LineageDrawing] | None = None
        self._impact_heading = Text()

    def compose(self) -> ComposeResult:
        """Yield the heading, the drawing and the impact list, the filter line, and the details of
        the node under the cursor."""
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

    @property
    def _is_listing(self) -> bool:
        """Return whether the impact list is shown."""
        return self.query_one(ContentSwitcher).current == "impact"

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the drawing of the previous entity."""
        if keep and self._lineage.state.query is not None:
            self._lineage.forget_read()
            return
        self.query_one(AskLine).display = False
        self.workers.cancel_group(self, "impact")
        self.query_one(ContentSwitcher).current = "drawn"
        self._map.hold(frozenset())
        self._map.say("reading the lineage …")
        self._lineage.begin(LineageQuery(entity.urn), entity.name, self._fits)

    async def read(self, entity: "Entity") -> None:
        """Read and draw the lineage: see `LineageSession.read` for the requests."""
        query = self._lineage.state.query
        if query is not None and entity.urn == query.urn:
            await self._lineage.read()
            await self._draw(self._lineage.state)

    def table(self) -> "Table | None":
        """Return the impact list, or all nodes of the lineage, as a table for a file."""
        state = self._lineage.state
        if self._is_listing:
            return state.impact.table() if state.impact is not None else None
        return lineage_table(f"{state.name} lineage", state.graph) if state.graph else None

    def focus_content(self) -> None:
        """Focus the drawing or the list."""
        self.screen.set_focus(self.query_one(ImpactRows) if self._is_listing else self._map)

    def _show(self, state: LineageState) -> None:
        """Show a state of the session: its message, the drawing, and the lines above and below."""
        if not self.is_mounted:
            return
        if state.message is not None and state.message is not self._message:
            self._message = state.message
            if state.message.error is None:
                are_new = state.path_edges and state.path_edges is not self._paths
                self._paths = state.path_edges
                clears = " esc clears them." if are_new else ""
                self._session.say(f"{state.message.sentence}{clears}")
        if state.reading == "failed":
            self._map.say(f"{refusal_sentence('The lineage')}; r tries again.")
        elif state.is_current and state.hood is not self._hood:
            self._draw_later(state)
        self._show_extent()
        self._show_details()

    @work(exclusive=True, group="drawing")
    async def _draw_later(self, state: LineageState) -> None:
        await self._draw(state)

    async def _draw(self, state: LineageState) -> None:
        """Lay out the neighbourhood of a state, and show it."""
        hood = state.hood
        if hood is None or state.full_graph is None or not state.is_current:
            return
        with self._session.reporting(f"drawing the lineage of {state.name}"):
            if len(state.full_graph) <= 1 and not state.path_edges:
                self._map.say(_NOTHING)
            elif hood is not self._hood:
                drawing = await self._lay_out(hood)
                if self._lineage.state.hood is not hood:
                    return
                cursor = self._map.cursor if state.current_node == self._at else state.current_node
                self._at = state.current_node
                self._map.show(drawing, state.full_graph.graph["roots"][0], cursor)
                self._map.hold(state.path_edges)
            self._hood = hood
            self._show_extent()
            self._show_details()

    @property
    def _window(self) -> tuple[int, int]:
        return self.room.width, max(self.room.height - _AROUND, 1)

    async def _fits(self, hood: Neighbourhood) -> bool:
        return (await self._lay_out(hood)).fits(self._window)

    async def _lay_out(self, hood: Neighbourhood) -> LineageDrawing:
        """Return a drawing for the window, in which nodes drawn before keep their order."""
        if self._drawn is None or self._drawn[0] is not hood:
            width, height = self._window
            drawing = await asyncio.to_thread(draw, hood, width - 2, height, self._map.drawing)
            self._drawn = hood, drawing
        return self._drawn[1]

    @work(group="lineage")
    async def _run(self, doing: Coroutine[Any, Any, None]) -> None:
        """Run a step of the session, and show its errors."""
        with self._session.reporting(f"reading the lineage of {self._lineage.state.name}"):
            await doing
            await self._draw(self._lineage.state)

    def on_resize(self, event: events.Resize) -> None:
        """Give the drawing all lines of a low terminal."""
        self.set_class(event.size.height < _LOW, "-low")
        self.set_class(event.size.height < _LOWEST, "-lowest")

    @on(ActionRequested)
    def _handle_action(self, event: ActionRequested) -> None:
        """Run an action that was requested by a key of the map."""
        event.stop()
        state = self._lineage.state
        match event.action:
            case "open":
                self._open()
            case "expand":
                self._expand()
            case "filter":
                self.query_one(AskLine).ask(state.filter)
            case "write" if state.graph is not None:
                self.app.push_screen(GraphScreen(self._session, state.name, state.graph))
            case "column":
                self._follow_column()
            case "impact":
                self._show_impact()
            case "marked":
                self._show_marked()
            case "ways":
                self._ask_for_paths()
            case "forget":
                self._clear_last()
            case "more" | "fewer" as change:
                self._run(self._lineage.widen(1 if change == "more" else -1))
            case "upstream":
                self._run(self._lineage.turn("UPSTREAM"))
            case "downstream":
                self._run(self._lineage.turn("DOWNSTREAM"))
            case _:
                self._run(self._lineage.turn("BOTH"))

    def _open(self) -> None:
        node, state = self._map.node, self._lineage.state
        if node is None or node.state == "more":
            self._expand()
            return
        urn = Urn.parse(state.attributes_of(node.id).get("dataset", node.id))
        if state.query is None or urn != state.query.urn:
            self.post_message(self.BoxOpened(urn))

    def _expand(self) -> None:
        """Draw more neighbours of the node under the cursor, or the usual number again."""
        if self._map.node is not None:
            self._run(self._lineage.toggle(self._map.node.owner or self._map.node.id))

    def _follow_column(self) -> None:
        query = self._lineage.state.query
        if query is None:
            return
        column = self._column() if query.column is None else None
        if column is None and query.column is None:
            self._session.say("This entity has no columns with lineage.")
            return
        self._map.mark = ""
        self._run(self._lineage.follow(column))

    def _clear_last(self) -> None:
        """Clear paths and mark; without those, the filter; without one, the column."""
        state = self._lineage.state
        if state.path_edges or self._map.mark:
            self._map.mark = ""
            self._run(self._lineage.forget_paths())
        elif state.filter:
            self._run(self._lineage.narrow(""))
        elif state.query is not None:
            self._run(self._lineage.ask(replace(state.query, column=None)))

    def _show_marked(self) -> None:
        """Show a message on the mark that was set or removed."""
        node = self._map.node
        if node is not None and self._map.mark == node.id:
            self._session.say(
                f"Marked {node.name}; p on another entity shows the paths between them."
            )
        elif node is not None:
            self._session.say(f"{node.name} is no longer marked.")

    def _ask_for_paths(self) -> None:
        """Show the paths between the marked node and the node under the cursor. If no other node is
        marked, ask for one."""
        node, mark, query = self._map.node, self._map.mark, self._lineage.state.query
        if node is None or node.state == "more" or query is None:
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
        if query.column is not None:
            # For columns, only those in the drawing can be chosen.
            self.app.push_screen(ChoiceScreen(title, near))
        else:

            def show_paths(urn: Urn) -> None:
                self._show_paths_from(node, str(urn), urn.name)

            self.app.push_screen(EntityScreen(self._session, title, near, show_paths))

    def _show_paths_from(self, node: LineageNode, target: str, name: str) -> None:
        if target == node.id:
            self._session.say(f"{node.name} is the start of the paths; choose a different end.")
        else:
            end = LineageNode(target, name)
            self._show_paths(node.id, end, f"from {node.name} to")

    def _show_paths(self, source: str, node: LineageNode, between: str) -> None:
        self._run(self._lineage.show_paths(source, node, between))

    def _show_impact(self) -> None:
        """Show the list of everything that depends on the node under the cursor."""
        node, rows, state = self._map.node, self.query_one(ImpactRows), self._lineage.state
        if state.query is None or (node is not None and node.state == "more"):
            return
        # Without a drawing, list the impact of the open entity.
        urn, column = state.query.urn, state.query.column
        name = state.name if column is None else column
        if node is not None:
            urn, column, name = Urn.parse(node.id), None, node.name
        if urn.entity_type == "schemaField":
            attributes = state.attributes_of(str(urn))
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
        """Read and show the impact list of an entity or a column."""
        rows = self.query_one(ImpactRows)
        with self._session.reporting(f"reading what depends on {name}"):
            try:
                await self._lineage.list_impact(urn, column, name)
            except CatalogError:
                rows.say(f"{refusal_sentence('The impact')}; x in the drawing tries again.")
                raise
            view = self._lineage.state.impact
            if view is not None:
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
        """Go back from the impact list to the drawing."""
        event.stop()
        self.query_one(ContentSwitcher).current = "drawn"
        self._show_extent()
        self._show_details()
        self.screen.set_focus(self._map)

    @on(AskLine.Cancelled)
    def _close_filter(self) -> None:
        """Hide the filter line, and focus the drawing."""
        self.query_one(AskLine).display = False
        self.screen.set_focus(self._map)

    @on(Input.Submitted)
    def _handle_input(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._lineage.check_filter(event.value.strip())
        except CatalogError as error:
            self._session.say(str(error), error=True)
        else:
            self._run(self._lineage.narrow(event.value.strip()))
            self._close_filter()

    def _show_extent(self) -> None:
        """Update the line above the drawing."""
        text = self._impact_heading if self._is_listing else describe_extent(self._lineage.state)
        self.query_one("#extent", Static).update(text)

    def _show_details(self) -> None:
        """Update the details of the node under the cursor."""
        node, state = self._map.node, self._lineage.state
        text = Text()
        if self._is_listing:
            rows = self.query_one(ImpactRows)
            text = describe_affected(rows.affected, rows.view)
        elif node is not None:
            owner = self._map.drawing.hood.nodes.get(node.owner) if self._map.drawing else None
            is_mark = node.id == self._map.mark
            text = describe_node(
                node, state.attributes_of(node.id), owner, state.label_names, is_mark=is_mark
            )
        self.query_one("#under", Static).update(text, layout=False)
