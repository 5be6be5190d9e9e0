"""The page of one entity: who and where it is, its text, its columns, what it is related to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.columns.view import ColumnsView
from explorer.tui.content import join, said
from explorer.tui.entity.overview import OverviewTab
from explorer.tui.entity.relations import RelationsView
from explorer.tui.entity.tab import Tab
from explorer.tui.history.tab import HistoryTab
from explorer.tui.lineage import LineageTab
from explorer.tui.measures.profile import ProfileTab
from explorer.tui.measures.usage import UsageTab
from explorer.tui.raw.tab import RawTab
from explorer.tui.session import Session
from explorer.tui.words import singular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from explorer.client.entity import Entity

__all__ = ["EntityView"]

_EDITABLE = ("dataset", "container")


class EntityView(Vertical):
    """One entity. There is one view; opening another swaps what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("entity")
    DEFAULT_CSS = """
    EntityView #who { height: auto; max-height: 4; padding: 0 1; }
    EntityView #tabs { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EntityView ContentSwitcher { height: 1fr; }
    """

    @dataclass
    class Edit(Message):
        """A description is to be edited: a column's, or with no `path` the entity's own."""

        entity: "Entity"
        path: str | None

    @dataclass
    class Opened(Message):
        """A related entity was opened."""

        urn: Urn

    def __init__(self, session: Session) -> None:
        super().__init__(id="entity")
        self._session = session
        self._entity: Entity | None = None
        self._wanted: Urn | None = None
        self._names: Mapping[Urn, Entity] = {}
        self._tabs_left: dict[Urn, str] = {}
        self._read_tabs: set[str] = set()
        self.relations = RelationsView(session)
        self.columns = ColumnsView()
        self._tabs: tuple[Tab, ...] = (
            OverviewTab(),
            self.columns,
            LineageTab(session, self._column_path),
            self.relations,
            UsageTab(session),
            ProfileTab(session),
            HistoryTab(session),
            RawTab(session),
        )

    def compose(self) -> ComposeResult:
        """Header, tabs, and what the tab chosen shows."""
        yield Static("", id="who", markup=False)
        yield Static("", id="tabs", markup=False)
        with ContentSwitcher(initial=OverviewTab.NAME):
            yield from self._tabs

    @property
    def urn(self) -> Urn | None:
        """The entity that is shown, or on its way."""
        return self._wanted

    def open(self, urn: Urn) -> None:
        """Show an entity."""
        self._wanted = urn
        self._entity = None
        self.query_one("#who", Static).update(said(urn.name, "bold").append("\nreading …", "dim"))
        self.query_one("#tabs", Static).update("")
        self.query_one(OverviewTab).clear()
        self._read(urn, keep=False)

    def action_reload(self) -> None:
        """Read the entity again."""
        if self._wanted is not None:
            self._read(self._wanted, keep=True)

    async def refresh_entity(self) -> "Entity | None":
        """Read the entity again and show it where it was; gives what was read."""
        if self._wanted is None:
            return None
        with self._session.reporting("reading the entity again"):
            catalog = await self._session.catalog()
            entity = await catalog.entity(self._wanted)
            if entity.urn == self._wanted:
                self._show(entity, keep=True)
            return entity
        return None

    def action_tab(self, name: str) -> None:
        """Show a tab."""
        tab = self._tab(name)
        if self._entity is None or not tab.offers(self._entity):
            return
        self.query_one(ContentSwitcher).current = name
        self._tabs_left[self._entity.urn] = name
        self._draw_tabs()
        self.focus_content()
        self._look(self._entity)

    def focus_content(self) -> None:
        """Give the keys to what the tab shows."""
        self._current.focus_content()

    @property
    def _current(self) -> Tab:
        return self._tab(self.query_one(ContentSwitcher).current or OverviewTab.NAME)

    def _column_path(self) -> str | None:
        """The column chosen under Columns."""
        current = self.columns.current
        return current.path.raw if current else None

    def _tab(self, name: str) -> Tab:
        return next(tab for tab in self._tabs if name == tab.NAME)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is in the catalog, and has a text of people, can be edited."""
        del parameters
        entity = self._entity
        if action != "edit":
            return True
        return entity is not None and entity.exists and entity.entity_type in _EDITABLE

    def action_edit(self) -> None:
        """Edit the entity's own description."""
        if self._entity is not None:
            self.post_message(self.Edit(self._entity, None))

    def action_copy_urn(self) -> None:
        """Copy the URN to the clipboard."""
        if self._wanted is not None:
            self.app.copy_to_clipboard(str(self._wanted))
            self._session.say(f"Copied {self._wanted}")

    @on(ColumnsView.Edited)
    def _edit_column(self, event: ColumnsView.Edited) -> None:
        event.stop()
        if self._entity is not None:
            self.post_message(self.Edit(self._entity, event.path))

    @on(UsageTab.ColumnChosen)
    def _look_at_column(self, event: UsageTab.ColumnChosen) -> None:
        event.stop()
        self.action_tab(ColumnsView.NAME)
        self.columns.move_to_path(event.path)

    @on(HistoryTab.Restored)
    @work(group="entity-again")
    async def _read_again(self, event: HistoryTab.Restored) -> None:
        event.stop()
        await self.refresh_entity()

    @on(RelationsView.Opened)
    @on(LineageTab.Opened)
    def _follow(self, event: RelationsView.Opened | LineageTab.Opened) -> None:
        event.stop()
        self.post_message(self.Opened(event.urn))

    @work(exclusive=True, group="entity")
    async def _read(self, urn: Urn, *, keep: bool) -> None:
        with self._session.reporting(f"reading {urn.name}"):
            catalog = await self._session.catalog()
            entity = await catalog.entity(urn)
            if urn != self._wanted:
                return
            self._show(entity, keep=keep)
            self._names = await catalog.summaries(_mentioned(entity))
            if urn == self._wanted:
                self._draw_who()

    def _show(self, entity: "Entity", *, keep: bool) -> None:
        self._entity = entity
        self._read_tabs.clear()
        for tab in self._tabs:
            tab.show_entity(entity, keep=keep)
        self._draw_who()
        if not keep:
            usual = ColumnsView.NAME if self.columns.offers(entity) else OverviewTab.NAME
            chosen = self._tabs_left.get(entity.urn, usual)
            self.query_one(ContentSwitcher).current = chosen
            if self.display:
                self.focus_content()
        self._draw_tabs()
        self._look(entity)

    def _look(self, entity: "Entity") -> None:
        """Let the tabs that are looked at, or always read, ask for what they show."""
        for tab in self._tabs:
            wanted = tab.eager or tab is self._current
            if wanted and tab.offers(entity) and tab.NAME not in self._read_tabs:
                self._read_tabs.add(tab.NAME)
                self._read_tab(tab, entity)

    @work(group="tab")
    async def _read_tab(self, tab: Tab, entity: "Entity") -> None:
        with self._session.reporting(f"reading the {tab.TITLE.lower()} of {entity.urn.name}"):
            await tab.read(entity)
        if entity is self._entity:
            self._draw_who()
            self._draw_tabs()

    def _named(self, urn: Urn, style: str = "") -> Text:
        known = self._names.get(urn)
        return said(known.name if known else urn.name, style)

    def _draw_who(self) -> None:
        entity = self._entity
        if entity is None:
            return
        where = said(" / ".join(entity.browse_paths[:1]).strip("/").replace("/", " / "))
        facts = join(
            [
                said(singular(entity.kind)),
                said(entity.platform or "", "bold"),
                said(entity.urn.origin or ""),
                where,
            ]
        )
        text = Text.assemble(said(entity.name, "bold"), "   ", facts, no_wrap=True)
        if entity.removed:
            text.append("\n SOFT-DELETED: hidden from search and browse ", "bold reverse")
        if entity.deprecation:
            text.append("\n DEPRECATED ", "bold reverse").append(" ")
            text.append_text(said(entity.deprecation))
        if not entity.exists:
            named = "; only named by others" if self.relations.total else ""
            text.append(f"\nNot in the catalog{named}.", "italic")
        owners = [
            Text.assemble(self._named(urn, "bold"), " ", said(f"({_role(owner.type)})", "dim"))
            for owner in entity.owners
            for urn in Urn.parse_all([owner.owner])
        ]
        if owners or _may_be_owned(entity):
            text.append("\nowner ", "dim")
            text.append_text(join(owners, ", ") if owners else Text("nobody", "dim italic"))
        for word, urns in (
            ("tags", entity.tags),
            ("terms", entity.terms),
            ("domain", entity.domains),
        ):
            if urns:
                text.append(" · " if owners or _may_be_owned(entity) else "\n")
                text.append(f"{word} ", "dim")
                text.append_text(join([self._named(urn, "bold") for urn in urns], ", "))
        self.query_one("#who", Static).update(text)

    def _draw_tabs(self) -> None:
        entity = self._entity
        if entity is None:
            return
        titles = self._titles(entity, short=False)
        if titles.cell_len > self.size.width - 2:
            titles = self._titles(entity, short=True)
        self.query_one("#tabs", Static).update(titles)

    def _titles(self, entity: "Entity", *, short: bool) -> Text:
        text = Text(no_wrap=True)
        for tab in self._tabs:
            if tab.offers(entity):
                title = tab.SHORT if short and tab is not self._current else tab.TITLE
                tally = tab.tally()
                text.append(f" {tab.KEY} ", "dim")
                text.append(
                    f"{title}·{tally}" if tally else title,
                    "bold underline" if tab is self._current else "",
                )
                text.append(" " if short else "  ")
        return text

    def on_resize(self) -> None:
        """The titles are as long as there is room."""
        self._draw_tabs()


def _may_be_owned(entity: "Entity") -> bool:
    return entity.exists and entity.entity_type not in ("corpuser", "dataPlatform", "tag")


def _mentioned(entity: "Entity") -> list[Urn]:
    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    return [*owners, *entity.tags, *entity.terms, *entity.domains]


def _role(kind: str) -> str:
    return kind.replace("_", " ").lower().replace("dataowner", "data owner")
