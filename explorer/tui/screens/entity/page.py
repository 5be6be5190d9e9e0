"""The page of an entity: head, tabs, and the edits that start from it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import said
from explorer.tui.desktop import Browser
from explorer.tui.key_queue import LEADING, import_first, start_worker
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.editor.descriptions import is_describable
from explorer.tui.screens.entity.head import head_mentions, head_text
from explorer.tui.screens.entity.overview import OverviewTab
from explorer.tui.screens.entity.relations import RelationsView
from explorer.tui.screens.entity.tabs import (
    LazyHistoryTab,
    LazyLineageTab,
    LazyProfileTab,
    LazyRawTab,
    LazyUsageTab,
    Tab,
    titles,
)
from explorer.tui.screens.labels.choice import BulkLabelsAsked, LabelAsked, LabelKind
from explorer.tui.session import Changes, TerminalSession, change_sentence
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.rows import SizeAware
from explorer.views.columns import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from textual.worker import WorkType

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Health
    from explorer.stewardship.worklist import Key
    from explorer.tui.screens.history import HistoryTab
    from explorer.tui.screens.labels.launcher import LabelLauncher
    from explorer.tui.screens.lineage.tab import LineageTab
    from explorer.tui.screens.usage import UsageTab
    from explorer.views.table import Table

__all__ = ["EntityView"]


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Tells why a tab, or with no name the entity, was not read. Two of the same place are equal:
    what is told last stands there."""

    view: "EntityView"
    name: str

    def __call__(self, sentence: str) -> bool:
        return self.view.fail(self.name, sentence)


_NAMED_AT_MOST = 150
_LOW = 14
_LINES_AT_MOST = 3
# After so long what was open before is not left on the screen under another's name.
_SOON_SECONDS = 0.3


class EntityView(Vertical, SizeAware):
    """The page of one entity. There is one page; opening another entity swaps what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("entity")
    DEFAULT_CSS = """
    EntityView #who { height: auto; max-height: 3; padding: 0 1; }
    EntityView #tabs { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EntityView.-low #who { height: 1; }
    EntityView.-low #tabs { height: 1; border-bottom: none; }
    EntityView #failed { display: none; height: auto; max-height: 6; padding: 1 2 0 2; }
    EntityView ContentSwitcher { height: 1fr; }
    """

    @dataclass
    class EditRequested(Message):
        """A description is to be edited: a column's, or with no `path` the entity's own."""

        entity: "Entity"
        path: str | None

    @dataclass
    class LinksRequested(Message):
        """The links to documents are to be shown, and changed."""

        entity: "Entity"

    @dataclass
    class ConceptRequested(Message):
        """The columns of one name, or with a glossary term, are to be shown, from the column
        `at`."""

        name: str
        term: str | None
        at: "Key | None"

    @dataclass
    class Opened(Message):
        """A related entity was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(id="entity")
        self._session = session
        self._entity: Entity | None = None
        self._labelling: LabelLauncher | None = None
        self._wanted: Urn | None = None
        self._names: Mapping[Urn, Entity] = {}
        self._health: Health | None = None
        self._tabs_left: dict[Urn, str] = {}
        self._column_wanted: str | None = None
        self._read_tabs: set[str] = set()
        self._failed: dict[str, str] = {}
        self._drafts_told = 0
        self._web = Browser(session, self._copy)
        self.relations = RelationsView(session)
        self.columns = ColumnsView(session)
        self._tabs: tuple[Tab, ...] = (
            OverviewTab(session),
            self.columns,
            LazyLineageTab(session, self.column_path),
            self.relations,
            LazyUsageTab(session),
            LazyProfileTab(session),
            LazyHistoryTab(session),
            LazyRawTab(session),
        )

    def compose(self) -> ComposeResult:
        """Header, tabs, and what the tab chosen shows."""
        yield Static("", id="who", markup=False)
        yield Static("", id="tabs", markup=False)
        yield Static("", id="failed", markup=False)
        with ContentSwitcher(initial=OverviewTab.NAME):
            yield from self._tabs

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is in the catalog, and has a text of people, can be edited."""
        del parameters
        entity = self._entity
        if action == "concept":
            return self._concept() is not None
        if action not in ("edit", "links"):
            return True
        if entity is None or not entity.exists:
            return False
        return action == "links" or is_describable(entity.urn)

    def action_edit(self) -> None:
        """Edit the entity's own description."""
        if self._entity is not None:
            self.post_message(self.EditRequested(self._entity, None))

    def action_links(self) -> None:
        """Show the links to documents, and change them."""
        if self._entity is not None:
            self.post_message(self.LinksRequested(self._entity))

    def action_label(self, kind: LabelKind) -> None:
        """Choose the tags, terms, owners or the domain of it all."""
        entity = self._entity
        self._label(lambda labelling: labelling.label(kind, entity))

    @on(LabelAsked)
    def _label_column(self, event: LabelAsked) -> None:
        event.stop()
        entity, path, paths = self._entity, self.column_path(), self.columns.marked
        if entity is not None and paths:
            keys = tuple((str(entity.urn), one) for one in paths)
            words = "1 marked column" if len(paths) == 1 else f"{len(paths):,} marked columns"
            self.post_message(BulkLabelsAsked(event.kind, keys, f"{words} of {entity.name}"))
            return
        self._label(lambda labelling: labelling.label(event.kind, entity, path))

    def action_concept(self) -> None:
        """Show all columns of the name under the cursor, or with this glossary term."""
        asked = self._concept()
        if asked is not None:
            self.post_message(asked)

    def _concept(self) -> "ConceptRequested | None":
        entity = self._entity
        if entity is None:
            return None
        if entity.entity_type == "glossaryTerm":
            return self.ConceptRequested(entity.name, str(entity.urn), None)
        current = self.columns.current if self._current is self.columns else None
        if current is None:
            return None
        return self.ConceptRequested(current.path.name, None, (str(entity.urn), current.path.raw))

    def action_deprecate(self) -> None:
        """Deprecate it, or take that back."""
        entity = self._entity
        self._label(lambda labelling: labelling.deprecate(entity))

    def action_set_aside(self) -> None:
        """Hide it from search and browse, or restore it."""
        entity = self._entity
        self._label(lambda labelling: labelling.set_aside(entity))

    def _label(self, what: "Callable[[LabelLauncher], None]") -> None:
        def go_on() -> None:
            from explorer.tui.screens.labels.launcher import LabelLauncher

            if self._labelling is None:
                self._labelling = LabelLauncher(self, self._session, self.show_changed)
            what(self._labelling)

        reporting = self._session.reporting("opening what changes it")
        import_first(self, "explorer.tui.screens.labels.launcher", go_on, reporting)

    @on(ColumnsView.Edited)
    def _edit_column(self, event: ColumnsView.Edited) -> None:
        event.stop()
        if self._entity is not None:
            self.post_message(self.EditRequested(self._entity, event.path))

    @property
    def urn(self) -> Urn | None:
        """The entity that is shown, or on its way."""
        return self._wanted

    @property
    def entity(self) -> "Entity | None":
        """The entity that is shown, once it was read."""
        return self._entity

    def open(self, urn: Urn) -> None:
        """Show an entity."""
        self._wanted = urn
        self._entity = self._health = self._column_wanted = None
        self.query_one("#who", Static).update(said(urn.name, "bold").append("   reading …", "dim"))
        self.query_one("#tabs", Static).update("")
        self.query_one(OverviewTab).clear()
        self._failed.clear()
        self._draw_failed()
        self._read_anew(urn)
        self.set_timer(_SOON_SECONDS, partial(self._say_reading, urn))

    def go_to(self, tab: str, column: str | None) -> None:
        """Show a tab, and under Columns a column by its path, once the entity is read."""
        self.action_tab(tab)
        self._column_wanted = column
        if self._entity is not None:
            self._go_to_column()

    def _go_to_column(self) -> None:
        column, self._column_wanted = self._column_wanted, None
        if column is not None:
            self.columns.move_to_path(column)

    def action_reload(self) -> None:
        """Read the entity again."""
        if self._wanted is None:
            return
        if self._entity is None:
            self._read_anew(self._wanted)
        else:
            self._read(self._wanted, keep=True)

    def _say_reading(self, urn: Urn) -> None:
        """What takes its time takes what was open before from under the keys."""
        if self._entity is None and self._wanted == urn and not self._failed:
            had_keys = self.has_focus_within
            self.query_one(ContentSwitcher).current = OverviewTab.NAME
            if had_keys:
                self.focus_content()

    def fail(self, name: str, sentence: str) -> bool:
        """Say in its place why a tab, or with no name the entity, was not read; gives whether that
        is to be seen."""
        if not self._is_whole:
            return False
        self._failed[name] = sentence
        if self._entity is None and self._wanted is not None:
            self.query_one("#who", Static).update(said(self._wanted.name, "bold"))
        self._draw_failed()
        return self.display and name in ("", self._current.NAME)

    def _draw_failed(self) -> None:
        change_sentence = self._failed.get("") or self._failed.get(self._current.NAME, "")
        # What another entity showed is not this one's.
        is_shown = self._entity is not None or not change_sentence
        self.query_one(ContentSwitcher).display = is_shown
        panel = self.query_one("#failed", Static)
        panel.display = bool(change_sentence)
        panel.update(said(change_sentence))

    def table(self) -> "Table | None":
        """What the tab shows as a list."""
        return self._current.table() if self._entity is not None else None

    def show_drafts(self) -> None:
        """Mark what there are drafts of."""
        self.columns.show_drafts()
        if self._drafts() != self._drafts_told:
            self._draw_who()

    def _drafts(self) -> int:
        """Of how many texts of the entity there are drafts."""
        urn = None if self._entity is None else str(self._entity.urn)
        return sum(of == urn for of, _ in self._session.drafts)

    async def refresh_entity(self) -> "Entity | None":
        """Read the entity again and show it where it was; gives what was read."""
        if self._wanted is None:
            return None
        with self._session.reporting("reading the entity again"):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, self._wanted)
            if entity.urn == self._wanted:
                self._show(entity, keep=True)
            return entity
        return None

    def hear(self, changes: Changes) -> None:
        """What is shown was changed by somebody else: show it so, the reader left in place."""
        if self._entity is not None and self._entity.urn in changes:
            self._read_changed(self._entity, change_sentence(changes[self._entity.urn]))

    def refresh_missed(self) -> None:
        """Changes were lost: read what is shown again, the reader left in place."""
        if self._entity is not None:
            self._read_changed(self._entity, "Updated while no changes were heard")

    @work(exclusive=True, group="heard", description="what others changed")
    async def _read_changed(self, known: "Entity", what: str) -> None:
        with self._session.reporting(f"reading {known.urn.name} again"):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, known.urn)
            # What one wrote oneself is shown already, and somebody may have gone on meanwhile.
            if self._entity is not known or entity.aspects == known.aspects:
                return
            self._show(entity, keep=True)
            # What is just told of one's own doing matters more.
            is_telling = any(line.is_telling for line in self.app.screen.query(KeyLine))
            if not is_telling and not self._session.exchanges.has_just_written():
                self._session.say(f"{what}; refreshed.")
            await self._name_mentioned(entity)

    def action_tab(self, name: str) -> None:
        """Show a tab; before the entity was read, the one to show then."""
        if self._entity is None and self._wanted is not None:
            self._tabs_left[self._wanted] = name
        tab = self._tab(name)
        if self._entity is None or not tab.offers(self._entity):
            return
        self.query_one(ContentSwitcher).current = name
        self._tabs_left[self._entity.urn] = name
        self._draw_tabs()
        self._draw_failed()
        self.focus_content()
        self._look(self._entity)

    def focus_content(self) -> None:
        """Give the keys to what the tab shows."""
        self._current.focus_content()

    @property
    def _current(self) -> Tab:
        return self._tab(self.query_one(ContentSwitcher).current or OverviewTab.NAME)

    def column_path(self) -> str | None:
        """The column chosen under Columns."""
        current = self.columns.current
        return current.path.raw if current else None

    def _tab(self, name: str) -> Tab:
        return next(tab for tab in self._tabs if name == tab.NAME)

    def action_copy_urn(self) -> None:
        """Copy the URN to the clipboard."""
        if self._wanted is not None:
            self.app.copy_to_clipboard(str(self._wanted))

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)

    def action_zone(self) -> None:
        """Say times in UTC, or in the zone of this machine again."""
        self._session.times.turn()
        for tab in self._tabs:
            tab.show_times()
        self._draw_who()
        self._session.say(f"Times are shown in {self._session.times.zone}.")

    @work(exclusive=True, group="web")
    async def action_open_page(self) -> None:
        """Open the entity's page in the web interface of its server."""
        if self._wanted is not None:
            await self._web.open_page(self._wanted)

    @on(OverviewTab.Visited)
    @work(exclusive=True, group="web")
    async def _visit(self, event: OverviewTab.Visited) -> None:
        event.stop()
        await self._web.visit(event.url)

    # Handlers of messages whose classes are imported late are found by their names.
    def on_usage_tab_column_chosen(self, event: "UsageTab.ColumnChosen") -> None:
        """Go on to a column that is used."""
        event.stop()
        self.action_tab(ColumnsView.NAME)
        self.columns.move_to_path(event.path)

    def on_history_tab_restored(self, event: "HistoryTab.DescriptionRestored") -> None:
        """Show the entity as it is after an older version was restored."""
        event.stop()
        start_worker(self, self.refresh_entity, group="entity-again")

    def on_lineage_tab_opened(self, event: "LineageTab.Opened") -> None:
        """Follow an edge of the drawing."""
        event.stop()
        self.post_message(self.Opened(event.urn))

    @on(OverviewTab.Opened)
    @on(RelationsView.Opened)
    def _follow(self, event: OverviewTab.Opened | RelationsView.Opened) -> None:
        event.stop()
        self.post_message(self.Opened(event.urn))

    async def _entity_of(self, catalog: "AsyncCatalog", urn: Urn) -> "Entity":
        entity = await catalog.entity(urn)
        # Ten thousand columns take a while to be put in order.
        await asyncio.to_thread(schema_of, entity)
        return entity

    def _read_anew(self, urn: Urn) -> None:
        """Read another entity; what is pressed meanwhile is for its page."""
        reading: WorkType[None] = partial(self._reading, urn, keep=False)
        self.run_worker(reading, LEADING, "entity", "the entity", exclusive=True)

    @work(exclusive=True, group="entity")
    async def _read(self, urn: Urn, *, keep: bool) -> None:
        await self._reading(urn, keep=keep)

    async def _reading(self, urn: Urn, *, keep: bool) -> None:
        failing = FailurePlace(self, "")
        with self._session.reporting(f"reading {urn.name}", failing, self.action_reload):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, urn)
            if urn != self._wanted:
                return
            self._show(entity, keep=keep)
            self._name_again(entity)
            self._read_health(entity)

    @work(exclusive=True, group="names", description="the names on the page")
    async def _name_again(self, entity: "Entity") -> None:
        with self._session.reporting("reading the names on the page"):
            await self._name_mentioned(entity)

    @work(exclusive=True, group="health", description="what is wrong with the entity")
    async def _read_health(self, entity: "Entity") -> None:
        # What cannot be asked is told by what asks for the page itself.
        with suppress(CatalogError):
            catalog = await self._session.catalog()
            health = await catalog.health(entity.urn)
            if entity.urn == self._wanted and self._is_whole:
                self._health = health
                self.query_one(OverviewTab).show_health(health)
                self._draw_who()

    async def show_changed(self) -> None:
        """Show the entity as it is after a change, what it mentions now by name."""
        entity = await self.refresh_entity()
        if entity is not None:
            with self._session.reporting("reading the names on the page"):
                await self._name_mentioned(entity)

    async def _name_mentioned(self, entity: "Entity") -> None:
        catalog = await self._session.catalog()
        names = await catalog.summaries(head_mentions(entity)[:_NAMED_AT_MOST])
        if entity is self._entity:
            self._names = names
            self._draw_who()

    def _show(self, entity: "Entity", *, keep: bool) -> None:
        self._entity = entity
        self._read_tabs.clear()
        self._failed.clear()
        self._draw_failed()
        for tab in self._tabs:
            tab.show_entity(entity, keep=keep)
        self._draw_who()
        if not keep:
            usual = ColumnsView.NAME if self.columns.offers(entity) else OverviewTab.NAME
            chosen = self._tabs_left.get(entity.urn, usual)
            if not self._tab(chosen).offers(entity):
                chosen = usual
            self.query_one(ContentSwitcher).current = chosen
            if self.display:
                self.focus_content()
            self._go_to_column()
        self._draw_tabs()
        self._draw_failed()
        # What can be done with it may be other than with the one before, or with none.
        self.refresh_bindings()
        self._look(entity)

    def _look(self, entity: "Entity") -> None:
        """Let the tabs that are looked at, or always read, ask for what they show."""
        for tab in self._tabs:
            wanted = tab.eager or tab is self._current
            if wanted and tab.offers(entity) and tab.NAME not in self._read_tabs:
                self._read_tabs.add(tab.NAME)
                self._read_tab(tab, entity)

    # Without a description, Textual would write the whole entity out as one.
    @work(group="tab", description="a tab")
    async def _read_tab(self, tab: Tab, entity: "Entity") -> None:
        doing = f"reading the {tab.TITLE.lower()} of {entity.urn.name}"

        def again() -> None:
            if entity is self._entity:
                self._read_tab(tab, entity)

        with self._session.reporting(doing, FailurePlace(self, tab.NAME), again):
            await tab.read(entity)
            self._failed.pop(tab.NAME, None)
        if entity is self._entity and self._is_whole:
            self._draw_failed()
            self._draw_who()
            self._draw_tabs()

    @property
    def _is_whole(self) -> bool:
        """Whether all parts of the page are there. They are removed one by one when the program
        ends, while workers may still be at their last step."""
        parts = ("#who", "#tabs", "#failed", "ContentSwitcher")
        return all(self.query(part) for part in parts)

    def _draw_who(self) -> None:
        entity = self._entity
        if entity is None:
            return
        self._drafts_told = self._drafts()
        text = head_text(
            entity,
            self._names,
            self._session.times,
            named=self.relations.total > 0,
            drafts=self._drafts_told,
            health=self._health,
            width=self.size.width - 2,
            lines=1 if self.size.height < _LOW else _LINES_AT_MOST,
        )
        self.query_one("#who", Static).update(text)

    def _draw_tabs(self) -> None:
        entity = self._entity
        if entity is None:
            return
        offered = [tab for tab in self._tabs if tab.offers(entity)]
        shown = titles(offered, self._current, self.size.width - 2)
        self.query_one("#tabs", Static).update(shown)

    def on_resize(self) -> None:
        """Head and titles take what room there is; where there is little, a line each."""
        self.set_class(self.size.height < _LOW, "-low")
        self._draw_who()
        self._draw_tabs()
