"""The lineage of an entity: what it is made from and what is made from it, as a drawing to walk
in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Input, Static

from explorer.errors import CatalogError
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.tui.content import said
from explorer.tui.entity.tab import View
from explorer.tui.find.lists import StepScreen
from explorer.tui.lineage.asking import AskLine
from explorer.tui.lineage.files import GraphScreen
from explorer.tui.lineage.impact import ImpactRows
from explorer.tui.lineage.map import LineageMap
from explorer.tui.lineage.neighbourhood import Node, unfold
from explorer.tui.lineage.picture import Sight, make_picture
from explorer.tui.lineage.reading import (
    Answer,
    Question,
    read_ways,
    ways_edges,
)
from explorer.tui.lineage.telling import (
    tell_affected,
    tell_extent,
    tell_impact,
    tell_node,
    tell_ways,
)
from explorer.tui.rows import Rows
from explorer.tui.session import Session
from explorer.tui.shell.choosing import Entry
from explorer.tui.shell.entities import EntityScreen

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.query.filters import Filter
    from explorer.tui.lineage.neighbourhood import Edge
    from explorer.views.table import Table

__all__ = ["LineageTab"]

_LOW, _LOWEST, _AROUND = 12, 5, 4
_NOTHING = "No lineage is known of this one: nothing feeds it, and it feeds nothing."


class LineageTab(Vertical, View):
    """A drawing of the neighbourhood, a line on what it shows, and one on what is under the
    cursor; or what depends on an entity, as a list."""

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
    class Opened(Message):
        """An entity of the drawing was opened."""

        urn: Urn

    def __init__(self, session: Session, column: Callable[[], str | None]) -> None:
        super().__init__()
        self._session = session
        self._column = column
        self._question: Question | None = None
        self._answer: Answer | None = None
        self._shown: nx.DiGraph | None = None
        self._expanded: dict[str, int] = {}
        self._filter: Filter | None = None
        self._filter_text = ""
        self._ways: frozenset[Edge] = frozenset()
        self._names: dict[str, str] = {}
        # Names of owners and domains, by URN; all that were read stay known.
        self._label_names: dict[str, str] = {}
        self._called = ""
        self._impact_told, self._impact_of = Text(), ""
        self._turn = 0
        # Of what is opened, so far as is drawn legibly; how much there is further away.
        self._is_opening = True
        self._further = 0

    def compose(self) -> ComposeResult:
        """What is shown, the drawing or the list, a line to type in, and what is under the
        cursor."""
        yield Static("", id="extent", markup=False)
        with ContentSwitcher(initial="drawn"):
            drawn = LineageMap(self._tell)
            drawn.id = "drawn"
            yield drawn
            impact = ImpactRows()
            impact.id = "impact"
            yield impact
        yield AskLine()
        yield Static("", id="under", markup=False)

    @property
    def _map(self) -> LineageMap:
        return self.query_one(LineageMap)

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget the drawing of another entity."""
        self._turn += 1
        self._answer = None
        self._called = entity.name
        if not keep or self._question is None:
            self._question = Question(entity.urn)
            self._is_opening, self._further = True, 0
            self._expanded.clear()
            self._filter, self._filter_text, self._ways = None, "", frozenset()
            self._shown = None
            self.query_one(AskLine).display = False
            self.query_one(ContentSwitcher).current = "drawn"
            self._map.hold(frozenset())
            self._map.say("reading the lineage …")
            self._tell_extent()

    async def read(self, entity: "Entity") -> None:
        """Read and draw the lineage: see `read_answer` for the requests."""
        if self._question is not None and entity.urn == self._question.urn:
            await self._look()

    def table(self) -> "Table | None":
        """What depends on an entity, or all that is around this one."""
        from explorer.tui.lineage.tables import of_graph, of_impact

        if self.query_one(ContentSwitcher).current == "impact":
            impact = self.query_one(ImpactRows).impact
            return of_impact(self._impact_of, impact) if impact is not None else None
        return of_graph(self._called, self._shown) if self._shown is not None else None

    def focus_content(self) -> None:
        """The keys move in the drawing, or in the list."""
        if self.query_one(ContentSwitcher).current == "impact":
            self.screen.set_focus(self.query_one(ImpactRows))
        else:
            self.screen.set_focus(self._map)

    @work(exclusive=True, group="lineage")
    async def _look_again(self, cursor: str = "") -> None:
        with self._session.reporting(f"reading the lineage of {self._called}"):
            await self._look(cursor=cursor)

    async def _look(self, *, cursor: str = "") -> None:
        """Ask what is not known yet, and draw it. What was asked for later is drawn alone."""
        question = self._question
        if question is None:
            return
        self._turn += 1
        turn = self._turn
        try:
            catalog = await self._session.catalog()
            size = (self.room.width, max(self.room.height - _AROUND, 1))
            sight = Sight(dict(self._expanded), self._filter, self._ways, self._names, size)
            picture = await make_picture(catalog, question, self._answer, sight, self._map.drawing)
            nearer = question.nearest
            if turn == self._turn and self._is_opening and nearer != question:
                self._is_opening = False
                if not picture.drawing.fits(size):
                    self._question = question = nearer
                    self._further = len(picture.graph)
                    picture = await make_picture(catalog, question, None, sight, None)
        except CatalogError:
            if turn == self._turn:
                self._map.say("The lineage was not read; r reads it again.")
            raise
        if turn != self._turn:
            return
        self._is_opening = False
        answer = self._answer = picture.answer
        self._shown = picture.graph
        if len(answer.graph) <= 1 and not self._ways:
            self._map.say(_NOTHING)
        else:
            self._map.show(picture.drawing, answer.roots[0], cursor or self._map.cursor)
            self._map.hold(self._ways)
        self._tell_extent()
        if picture.drawing.hood.nodes:
            owners = (self._held(node).get("owners", ()) for node in picture.drawing.hood.nodes)
            await self._read_label_names(catalog, chain.from_iterable(owners))
            self._tell()

    async def _read_label_names(self, catalog: "AsyncCatalog", urns: Iterable[str]) -> None:
        """Read what owners and domains are called; one request for a hundred not known yet."""
        unknown = dict.fromkeys(one for one in urns if one not in self._label_names)
        if unknown:
            known = await catalog.summaries(Urn.parse_all(unknown))
            self._label_names |= {str(urn): entity.name for urn, entity in known.items()}

    def on_resize(self, event: events.Resize) -> None:
        """Where there are few lines, the drawing has them."""
        self.set_class(event.size.height < _LOW, "-low")
        self.set_class(event.size.height < _LOWEST, "-lowest")

    @on(LineageMap.Asked)
    def _asked(self, event: LineageMap.Asked) -> None:
        event.stop()
        match event.what:
            case "open":
                self._open()
            case "expand":
                self._expand()
            case "filter":
                self.query_one(AskLine).ask(self._filter_text)
            case "write" if self._shown is not None:
                self.app.push_screen(GraphScreen(self._session, self._called, self._shown))
            case "column":
                self._follow_column()
            case "impact":
                self._show_impact()
            case "marked":
                self._tell_marked()
            case "ways":
                self._ask_for_ways()
            case "forget":
                self._forget()
            case way if self._question is not None:
                self._ask_for(self._question.turned(way))

    def _ask_for(self, question: Question) -> None:
        """Ask anew, if it is another question."""
        if question != self._question:
            self._question, self._answer = question, None
            self._is_opening, self._further = False, 0
            self._tell_extent()
            self._look_again()

    def _held(self, node: str) -> "Mapping[str, Any]":
        return self._shown.nodes[node] if self._shown is not None and node in self._shown else {}

    def _open(self) -> None:
        node = self._map.node
        if node is None or node.state == "more":
            self._expand()
            return
        urn = Urn.parse(self._held(node.id).get("dataset", node.id))
        if self._question is None or urn != self._question.urn:
            self.post_message(self.Opened(urn))

    def _expand(self) -> None:
        """Draw more of the neighbours of what is under the cursor, or the usual ones again."""
        node, drawing = self._map.node, self._map.drawing
        if node is None or drawing is None:
            return
        owner = node.owner or node.id
        if not unfold(self._expanded, drawing.hood, owner):
            self._session.say(f"Nothing around {drawing.hood.nodes[owner].name} is left out.")
            return
        self._look_again(cursor=owner)

    def _follow_column(self) -> None:
        if self._question is None:
            return
        column = self._column() if self._question.column is None else None
        if column is None and self._question.column is None:
            self._session.say("This one has no columns whose lineage could be followed.")
            return
        self._expanded.clear()
        self._ways = frozenset()
        self._map.mark = ""
        self._ask_for(replace(self._question, column=column))

    def _forget(self) -> None:
        """Take off what was put on last: the ways and the mark, the filter, the column."""
        if self._ways or self._map.mark:
            self._ways, self._map.mark = frozenset(), ""
            self._look_again()
        elif self._filter is not None:
            self._filter, self._filter_text = None, ""
            self._look_again()
        elif self._question is not None:
            self._ask_for(replace(self._question, column=None))

    def _tell_marked(self) -> None:
        node = self._map.node
        if node is not None and self._map.mark == node.id:
            self._session.say(f"Marked {node.name}: p at another one shows the paths between them.")
        elif node is not None:
            self._session.say(f"{node.name} is not marked any more.")

    def _ask_for_ways(self) -> None:
        """Show the paths between what is under the cursor and the mark; with no mark somewhere
        else, ask by name where they lead."""
        node, mark = self._map.node, self._map.mark
        if node is None or node.state == "more" or self._answer is None or not self._question:
            return
        if mark and mark != node.id:
            self._show_ways(mark, node, "from the mark to")
            return
        hood = self._map.drawing.hood.nodes if self._map.drawing else {}
        near = [
            Entry(
                one.name,
                aside=one.fact,
                do=partial(self._show_ways_from, node, one.id, one.name),
                also=one.id,
            )
            for one in hood.values()
            if one.state != "more" and one.id != node.id
        ]
        title = f"Paths from {node.name} to …"
        if self._question.column is not None:
            # Columns are named by those that hold them, and only those drawn are known.
            self.app.push_screen(StepScreen(title, near))
        else:

            def go(urn: Urn) -> None:
                self._show_ways_from(node, str(urn), urn.name)

            self.app.push_screen(EntityScreen(self._session, title, near, go))

    def _show_ways_from(self, node: Node, target: str, name: str) -> None:
        if target == node.id:
            self._session.say(f"{node.name} is where the paths begin: name another end.")
        else:
            end = Node(target, name)
            self._show_ways(node.id, end, f"from {node.name} to")

    @work(exclusive=True, group="lineage")
    async def _show_ways(self, source: str, node: Node, between: str) -> None:
        question, answer = self._question, self._answer
        if answer is None:
            return
        columns = bool(question and question.column)
        with self._session.reporting("looking for paths"):
            catalog = await self._session.catalog()
            paths = await read_ways(catalog, answer, source, node.id, columns=columns)
            if question is not self._question:
                return
            if not paths.ways:
                self._session.say(tell_ways(paths, between, node.name))
                return
            self._ways = ways_edges(paths)
            met = Urn.parse_all({one for way in paths.ways for one in way})
            known = {} if columns else await catalog.summaries(met)
            self._names = {str(urn): entity.name for urn, entity in known.items()}
            await self._look(cursor=node.id)
            self._session.say(tell_ways(paths, between, self._names.get(node.id, node.name)))

    def _show_impact(self) -> None:
        node, rows = self._map.node, self.query_one(ImpactRows)
        if self._question is None or (node is not None and node.state == "more"):
            return
        # Before anything is drawn it is of what was opened.
        urn, column = self._question.urn, self._question.column
        name = self._called if column is None else column
        if node is not None:
            urn, column, name = Urn.parse(node.id), None, node.name
        if urn.entity_type == "schemaField":
            held = self._held(str(urn))
            urn, column = Urn.parse(held["dataset"]), held["column"]
        self.query_one(ContentSwitcher).current = "impact"
        rows.say(f"reading what depends on {name} …")
        self.screen.set_focus(rows)
        self._impact_told, self._impact_of = said(f"what depends on {name}", "bold"), name
        self._tell_extent()
        self._tell()
        self._read_impact(urn, column, name)

    @work(exclusive=True, group="impact")
    async def _read_impact(self, urn: Urn, column: str | None, name: str) -> None:
        rows, question = self.query_one(ImpactRows), self._question
        with self._session.reporting(f"reading what depends on {name}"):
            catalog = await self._session.catalog()
            impact = await rows.read(catalog, urn, column)
            labels = ((*one.owners, one.domain or "") for one in impact.affected)
            await self._read_label_names(catalog, filter(None, chain.from_iterable(labels)))
            if question is self._question:
                rows.show_impact(impact, self._label_names)
                self._impact_told = tell_impact(name, impact)
                self._tell_extent()
                self._tell()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self._tell()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        affected = self.query_one(ImpactRows).affected
        if affected is not None:
            self.post_message(self.Opened(Urn.parse(affected.urn)))

    @on(ImpactRows.Left)
    def _leave_impact(self, event: ImpactRows.Left) -> None:
        event.stop()
        self.query_one(ContentSwitcher).current = "drawn"
        self._tell_extent()
        self._tell()
        self.screen.set_focus(self._map)

    @on(AskLine.Left)
    def _close_line(self) -> None:
        self.query_one(AskLine).display = False
        self.screen.set_focus(self._map)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
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

    def _tell_extent(self) -> None:
        """The line above: whose lineage, how far, and how much of it is drawn."""
        text = Text()
        if self.query_one(ContentSwitcher).current == "impact":
            text = self._impact_told
        elif self._question is not None:
            drawing = self._map.drawing if self._answer is not None else None
            cut = self._answer.graph.graph.get("truncated") if self._answer is not None else None
            text = tell_extent(
                self._called,
                self._question,
                drawing.hood if drawing else None,
                self._filter_text,
                cut,
                self._further,
            )
        self.query_one("#extent", Static).update(text)

    def _tell(self) -> None:
        """The lines below: what is under the cursor."""
        node = self._map.node
        told = Text()
        if self.query_one(ContentSwitcher).current == "impact":
            told = tell_affected(self.query_one(ImpactRows).affected, self._label_names)
        elif node is not None:
            owner = self._map.drawing.hood.nodes.get(node.owner) if self._map.drawing else None
            is_mark = node.id == self._map.mark
            told = tell_node(node, self._held(node.id), owner, self._label_names, is_mark=is_mark)
        self.query_one("#under", Static).update(told, layout=False)
