"""The page of one entity: who and where it is, its text, its columns, what it is related to."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.columns import ColumnsView
from explorer.tui.content import join, markdown, said
from explorer.tui.relations import RelationsView
from explorer.tui.session import Session
from explorer.tui.words import singular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from explorer.client.entity import Entity

__all__ = ["EntityView"]

_TABS = ("overview", "columns", "relations")
_EDITABLE = ("dataset", "container")


class EntityView(Vertical):
    """One entity. There is one view; opening another swaps what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("entity")
    DEFAULT_CSS = """
    EntityView #who { height: auto; max-height: 4; padding: 0 1; }
    EntityView #tabs { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EntityView ContentSwitcher { height: 1fr; }
    EntityView #overview { padding: 0 2; scrollbar-size-vertical: 1; }
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

    def compose(self) -> ComposeResult:
        """Header, tabs, and what the tab chosen shows."""
        yield Static("", id="who", markup=False)
        yield Static("", id="tabs", markup=False)
        with ContentSwitcher(initial="overview"):
            with VerticalScroll(id="overview"):
                yield Static("", id="text", markup=False)
            yield ColumnsView()
            yield RelationsView(self._session)

    @property
    def urn(self) -> Urn | None:
        """The entity that is shown, or on its way."""
        return self._wanted

    @property
    def columns(self) -> ColumnsView:
        """The columns of the entity."""
        return self.query_one(ColumnsView)

    def open(self, urn: Urn) -> None:
        """Show an entity."""
        self._wanted = urn
        self._entity = None
        self.query_one("#who", Static).update(said(urn.name, "bold").append("\nreading …", "dim"))
        self.query_one("#tabs", Static).update("")
        self.query_one("#text", Static).update("")
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

    def action_tab(self, index: int) -> None:
        """Show a tab."""
        name = _TABS[index]
        if self._entity is None or (name == "columns" and not self._has_columns):
            return
        self.query_one(ContentSwitcher).current = name
        self._tabs_left[self._entity.urn] = name
        self._draw_tabs()
        self.focus_content()

    def focus_content(self) -> None:
        """Give the keys to what the tab shows."""
        match self.query_one(ContentSwitcher).current:
            case "columns":
                self.columns.focus_rows()
            case "relations":
                self.query_one(RelationsView).focus()
            case _:
                self.query_one("#overview").focus()

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

    @on(RelationsView.Opened)
    def _follow(self, event: RelationsView.Opened) -> None:
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
            relations = self.query_one(RelationsView)
            _, self._names = await asyncio.gather(
                relations.read(urn), catalog.summaries(_mentioned(entity))
            )
            if urn == self._wanted:
                self._draw_who()
                self._draw_text()
                self._draw_tabs()

    @property
    def _has_columns(self) -> bool:
        return self._entity is not None and len(self._entity.schema) > 0

    def _show(self, entity: "Entity", *, keep: bool) -> None:
        self._entity = entity
        switcher = self.query_one(ContentSwitcher)
        self.columns.show_schema(entity.schema, keep=keep)
        self._draw_who()
        self._draw_text()
        if not keep:
            usual = "columns" if self._has_columns else "overview"
            switcher.current = self._tabs_left.get(entity.urn, usual)
            self.query_one("#overview").scroll_home(animate=False)
            if self.display:
                self.focus_content()
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
            named = "; only named by others" if self.query_one(RelationsView).total else ""
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
        current = self.query_one(ContentSwitcher).current
        related = self.query_one(RelationsView).total
        labels = {
            "overview": "Overview",
            "columns": f"Columns·{len(entity.schema)}" if self._has_columns else "",
            "relations": f"Relationships·{related}",
        }
        text = Text()
        for at, name in enumerate(_TABS):
            if labels[name]:
                text.append(f" {at + 1} ", "dim")
                text.append(labels[name], "bold underline" if name == current else "")
                text.append("  ")
        self.query_one("#tabs", Static).update(text)

    def _draw_text(self) -> None:
        entity = self._entity
        if entity is None:
            return
        parts: list[RenderableType] = []
        edited, ingested = entity.edited_description, entity.ingested_description
        if edited:
            parts += [_heading("Description", "✎ edited"), markdown(edited)]
        if ingested or not edited:
            parts += [_heading("Description", "ingested" if ingested else ""), markdown(ingested)]
        if entity.links:
            parts.append(_heading("Links"))
            parts += [
                Text.assemble("• ", said(link.description or link.url), "  ", said(link.url, "dim"))
                for link in entity.links
            ]
        parts += _properties(entity)
        parts += [_heading("URN"), said(str(entity.urn), "dim")]
        self.query_one("#text", Static).update(Group(*parts))


def _may_be_owned(entity: "Entity") -> bool:
    return entity.exists and entity.entity_type not in ("corpuser", "dataPlatform", "tag")


def _heading(words: str, remark: str = "") -> RenderableType:
    text = Text(words, "bold")
    if remark:
        text.append(f"  {remark}", "dim")
    return Padding(text, (1, 0, 0, 0))


def _properties(entity: "Entity") -> list[RenderableType]:
    held = (entity.raw("datasetProperties") or {}).get("customProperties")
    if not isinstance(held, dict) or not held:
        return []
    rows = [
        Text.assemble(said(str(name), "dim"), "  ", said(str(value)))
        for name, value in sorted(held.items())
    ]
    return [_heading("Properties"), *rows]


def _mentioned(entity: "Entity") -> list[Urn]:
    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    return [*owners, *entity.tags, *entity.terms, *entity.domains]


def _role(kind: str) -> str:
    return kind.replace("_", " ").lower().replace("dataowner", "data owner")
