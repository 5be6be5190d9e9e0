"""The first look at an entity: everything stored of it in words, each mention a way on."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.message import Message

from explorer.client.records import Health
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.entity.layout import RENDERED, Layout, Line, lay_out
from explorer.tui.entity.relationships import page_of_urn
from explorer.tui.entity.tab import Tab
from explorer.tui.rows import Rows
from explorer.tui.session import Session
from explorer.views.entity import entity_parts, health_parts
from explorer.views.parts import Code, Part, Prose, mentioned

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["OverviewTab"]

_NAMED_AT_MOST = 500
_READING = "reading …"
_RAW_HINT = "8 Raw shows each aspect as it is"


class OverviewTab(Rows, Tab):
    """Both descriptions, each marked, and every aspect in words. The keys move through its lines;
    a line that names another entity, or an address, is a way there."""

    NAME: ClassVar[str] = "overview"
    KEY: ClassVar[str] = "1"
    TITLE: ClassVar[str] = "Overview"
    SHORT: ClassVar[str] = "Over"
    BINDINGS: ClassVar[list[BindingType]] = bindings("overview")

    @dataclass
    class Opened(Message):
        """An entity that is named was opened."""

        urn: Urn

    @dataclass
    class Visited(Message):
        """An address of the web was chosen."""

        url: str

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.id = self.NAME
        self._session = session
        self._entity: Entity | None = None
        self._parts: Sequence[Part] = ()
        self._names: Mapping[Urn, str] = {}
        self._lines: Sequence[Line] = ()
        self._laid_for = 0
        self._laid_of: Entity | None = None
        self._whole = False
        self._health: Health | None = None

    def clear(self) -> None:
        """Show nothing, until there is an entity."""
        self._entity, self._parts, self._lines, self._names = None, (), (), {}
        self._health = None
        self._whole = False
        self.show(0, self._draw_line, empty=_READING)

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Tell what is stored of it, from the top when it is another one."""
        if not keep:
            self.clear()
            self.scroll_home(animate=False)
        self._entity = entity
        self._lay_out()

    def show_health(self, health: "Health") -> None:
        """Tell what is wrong with it, before all else."""
        if health != (self._health or Health(health.urn)):
            self._health = health
            self._lay_out()

    async def read(self, entity: "Entity") -> None:
        """Ask what those are called that are named: a request for each 150."""
        parts = await asyncio.to_thread(entity_parts, entity)
        urns = list(dict.fromkeys(mentioned(parts)))[:_NAMED_AT_MOST]
        if not urns:
            return
        catalog = await self._session.catalog()
        known = await catalog.summaries(urns)
        if entity is self._entity:
            self._names = {urn: one.name for urn, one in known.items()}
            self._lay_out()

    def on_resize(self) -> None:
        """Lines are as long as there is room."""
        super().on_resize()
        if self.size.width and self.size.width != self._laid_for:
            self._lay_out()

    def on_show(self) -> None:
        """What was not looked at was not laid out."""
        if self._laid_of is not self._entity:
            self._lay_out()

    def show_times(self) -> None:
        """Say the moments in the zone looked at."""
        self._laid_of = None
        self._lay_out()

    def focus_content(self) -> None:
        """The keys move through the lines."""
        self.screen.set_focus(self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a text that is cut can be read on."""
        if action == "whole":
            return self._is_cut
        return super().check_action(action, parameters)

    def action_whole(self) -> None:
        """Show long texts to their end, or as they are meant to look again."""
        self._whole = not self._whole
        self._lay_out()

    def action_next_mention(self) -> None:
        """To the next line that leads somewhere."""
        self._move_to_mention(range(self.cursor + 1, len(self._lines)))

    def action_previous_mention(self) -> None:
        """To the line before that leads somewhere."""
        self._move_to_mention(range(self.cursor - 1, -1, -1))

    @property
    def _is_cut(self) -> bool:
        texts = (part.text for part in self._parts if isinstance(part, Prose | Code))
        return any(len(text) > RENDERED for text in texts)

    def _move_to_mention(self, lines: range) -> None:
        here = self._lines[self.cursor].target if self._lines else None
        for at in lines:
            target = self._lines[at].target
            if target is not None and target != here:
                self.move_to(at)
                return

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        target = self._lines[event.index].target
        if isinstance(target, Urn):
            self.post_message(self.Opened(page_of_urn(target)))
        elif target is not None:
            self.post_message(self.Visited(target))

    @work(exclusive=True, group="overview")
    async def _lay_out(self) -> None:
        entity, width = self._entity, self.size.width - 1
        if entity is None or width <= 0 or not self.display:
            # It is laid out when it is looked at, and so has a width.
            self._laid_of = None
            return
        self._laid_for, self._laid_of = self.size.width, entity
        layout = Layout(width, self._names, self._session.times, self._whole)
        with self._session.reporting(f"telling of {entity.urn.name}"):
            self._parts, lines = await asyncio.to_thread(_told, entity, self._health, layout)
            if entity is self._entity:
                cursor = _same_place(self._lines, self.cursor, lines)
                self._lines = lines
                self.show(len(lines), self._draw_line, cursor=cursor)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        return (self._lines[index].text,)


def _told(
    entity: "Entity", health: Health | None, layout: Layout
) -> tuple[Sequence[Part], Sequence[Line]]:
    parts = [*(health_parts(health) if health else ()), *entity_parts(entity, _RAW_HINT)]
    if health:
        # Assertions have an id that nobody says; what they assert is.
        called = {one.urn: one.rule for one in health.failing}
        called |= {one.urn: one.title for one in health.incidents}
        layout = replace(layout, names={**layout.names, **called})
    return parts, lay_out(parts, layout)


def _same_place(before: Sequence[Line], cursor: int, lines: Sequence[Line]) -> int:
    """Where the cursor stands after a new layout: on what it led to, where it led anywhere."""
    target = before[cursor].target if cursor < len(before) else None
    if target is None:
        return cursor if before else 0
    nearest = sorted(range(len(lines)), key=lambda at: abs(at - cursor))
    return next((at for at in nearest if lines[at].target == target), cursor)
