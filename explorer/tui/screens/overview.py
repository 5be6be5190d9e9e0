"""The overview tab: every aspect of an entity in words, as lines that link to other entities."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.message import Message

from explorer.client.records import Health
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import Times, block, join, line_text, markdown, render_lines
from explorer.tui.screens.relations import page_of_urn
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.rows import Rows, wrap_parts
from explorer.tui.widgets.tabs import Tab
from explorer.views.absence import LOADING
from explorer.views.entity import entity_parts, health_parts, mention_name, problems
from explorer.views.parts import (
    Code,
    Fact,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Title,
    Trail,
    Value,
    Web,
    mentions_of,
)

if TYPE_CHECKING:
    from explorer.client.entity import Entity

RENDERED = 20_000
"""The most characters of a text that are rendered."""
_WHOLE = 4_000_000
_LEFT = 2
_LABEL_MOST = 26


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of the page, and the entity or address that it opens."""

    text: Text
    target: Urn | str | None = None


@dataclass(frozen=True, slots=True)
class PageLayout:
    """How to lay out lines: the `width` in cells, the `names` of entities, the most characters of a
    text (`limit`), and whether to show long texts in full, as Markdown source (`in_full`)."""

    width: int
    names: Mapping[Urn, str]
    times: Times
    in_full: bool = False
    limit: int = RENDERED


def lay_out(parts: Sequence[Part], layout: PageLayout) -> list[PageLine]:
    """Return the parts as lines, with an empty line before each heading but the first."""
    lines: list[PageLine] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        match part:
            case Title(words, remark):
                heading = Text.assemble(" " * _LEFT, (words, "bold"))
                if remark:
                    heading.append("  ").append_text(line_text(remark, "dim"))
                if lines:
                    lines.append(PageLine(Text()))
                lines.append(PageLine(heading))
                at += 1
            case Prose():
                lines += _prose(part, layout)
                at += 1
            case Code():
                lines += _code(part, layout)
                at += 1
            case Fact():
                end = at
                while end < len(parts) and isinstance(parts[end], Fact):
                    end += 1
                facts = [part for part in parts[at:end] if isinstance(part, Fact)]
                lines += _facts(facts, layout)
                at = end
    for line in lines:
        line.text.truncate(max(layout.width, 1), overflow="ellipsis")
    return lines


def _facts(facts: Sequence[Fact], layout: PageLayout) -> Iterator[PageLine]:
    """Yield the lines of facts, with their labels in one column."""
    most = min(_LABEL_MOST, max((layout.width - _LEFT) * 2 // 5, 8))
    labels = [_label(fact.label, most) for fact in facts]
    wide = min(max((label.cell_len for label in labels), default=0), most)
    indent = wide + 2 if wide else 0
    for fact, label in zip(facts, labels, strict=True):
        label.stylize("bold reverse" if fact.loud else "dim")
        label.truncate(wide, overflow="ellipsis", pad=True)
        start = Text(" " * _LEFT).append_text(label) if wide else Text(" " * _LEFT)
        blank = Text(" " * (_LEFT + indent))
        if wide:
            start.append("  ")
        for value in fact.values:
            for line in _value(value, layout, max(layout.width - _LEFT - indent - 1, 8)):
                yield PageLine(start.copy().append_text(line.text), line.target)
                start = blank


def _label(label: str, most: int) -> Text:
    """Return a label. A label that is a path is cut at its start, because its end distinguishes it
    from others: `… min value: type`."""
    text = line_text(label)
    inside = text.plain
    while text.cell_len > most and ": " in inside:
        inside = inside.partition(": ")[2]
        text = Text(f"… {inside}")
    return text


def _value(value: Value, layout: PageLayout, room: int) -> Iterator[PageLine]:
    """Yield the lines of a value, with links to entities and addresses."""
    match value:
        case Plain(text, style):
            yield from _wrap(line_text(text).plain, style, room)
        case Moment(millis):
            yield PageLine(Text(layout.times.format(millis)))
        case Stamped(millis, actor, remark):
            yield PageLine(_stamp_text(value, layout), actor)
        case Mention(urn, remark):
            parts = [
                _name(urn, layout),
                line_text(remark, "dim"),
                Text("" if _facts_include_type(urn) else singular(urn.entity_type), "dim"),
                line_text(urn.platform if urn.entity_type == "dataset" else "", "dim"),
            ]
            yield PageLine(_short(join(parts), room), urn)
        case Trail():
            yield from _wrap(line_text(value.text(layout.names)).plain, "", room)
        case Web(url, label, added):
            if label:
                yield PageLine(_short(Text.assemble("↗ ", line_text(label)), room), url)
            mark = "" if label else "↗ "
            for address_part in wrap_parts(line_text(url).plain, room - len(mark)):
                yield PageLine(Text(f"{mark}{address_part}", "dim" if label else ""), url)
                mark = " " * len(mark)
            if added is not None:
                stamp = Text.assemble(("added ", "dim"), _stamp_text(added, layout))
                yield PageLine(_short(stamp, room), added.actor)


def _stamp_text(stamp: Stamped, layout: PageLayout) -> Text:
    text = Text(layout.times.format(stamp.millis))
    if stamp.actor is not None:
        text.append(" by ", "dim").append_text(_name(stamp.actor, layout))
    return join([text, line_text(stamp.remark, "dim")])


def _name(urn: Urn, layout: PageLayout) -> Text:
    name = layout.names.get(urn)
    return line_text(name or urn.name, "underline", missing=str(urn))


def _facts_include_type(urn: Urn) -> bool:
    """Return whether the facts on an entity include its type."""
    return urn.entity_type in ("corpuser", "tag", "glossaryTerm", "domain", "dataPlatform")


def _short(text: Text, room: int) -> Text:
    text.truncate(room, overflow="ellipsis")
    return text


def _wrap(text: str, style: str, room: int) -> Iterator[PageLine]:
    for line in wrap_parts(text, room):
        yield PageLine(Text(line.rstrip(), style))


def _prose(part: Prose, layout: PageLayout) -> Iterator[PageLine]:
    width = max(layout.width - _LEFT - 1, 8)
    if layout.in_full and len(part.text) > RENDERED:
        for line in block(part.text, _WHOLE).splitlines():
            yield from _indent(_wrap(line, "", width))
        return
    for text in _render_prose(_beginning(part.text, layout.limit), part.missing, width):
        yield PageLine(Text(" " * _LEFT).append_text(text))
    if len(part.text) > RENDERED:
        yield PageLine(Text(f"{' ' * _LEFT}w shows all of it, as Markdown source", "bold"))


def _beginning(text: str, limit: int) -> str:
    """Return the whole lines of a text that fit within a number of characters."""
    if len(text) <= limit or limit >= RENDERED:
        return text
    end = text.rfind("\n", 0, limit)
    return text[: end if end > 0 else limit]


@lru_cache(8)
def _render_prose(text: str, missing: str, width: int) -> Sequence[Text]:
    """Return the lines of a rendered text. Cached, because a page is laid out again once its names
    are read."""
    return tuple(render_lines(markdown(text, missing), width))


def _code(part: Code, layout: PageLayout) -> Iterator[PageLine]:
    """Yield the lines of code or JSON, in colours."""
    width = max(layout.width - _LEFT - 3, 8)
    limit = _WHOLE if layout.in_full else RENDERED
    clean = block(part.text, limit)
    if layout.in_full and len(part.text) > RENDERED:
        coloured = Text(clean)
    else:
        # The import is slow, so it happens only when there is code to colour.
        from rich.syntax import Syntax

        coloured = Syntax(clean, part.language or "text", theme="ansi_dark").highlight(clean)
    for line in coloured.split("\n"):
        offsets: list[int] = []
        at = 0
        for piece in wrap_parts(line.plain, width):
            at += len(piece)
            offsets.append(at)
        for piece_of in line.divide(offsets[:-1]) if len(offsets) > 1 else (line,):
            yield PageLine(Text.assemble(" " * _LEFT, ("│ ", "dim"), piece_of))
    if len(part.text) > limit:
        yield PageLine(Text(f"{' ' * _LEFT}w shows all of it", "bold"))


def _indent(lines: Iterator[PageLine]) -> Iterator[PageLine]:
    for line in lines:
        yield PageLine(Text(" " * _LEFT).append_text(line.text), line.target)


_NAMED_AT_MOST = 500
_RAW_HINT = "8 Raw shows every aspect unformatted"


class OverviewTab(Rows, Tab):
    """The two descriptions, edited and ingested, and every aspect in words. The cursor moves
    through the lines; enter opens the entity or address in a line."""

    NAME: ClassVar[str] = "overview"
    KEY: ClassVar[str] = "1"
    TITLE: ClassVar[str] = "Overview"
    SHORT: ClassVar[str] = "Over"
    BINDINGS: ClassVar[list[BindingType]] = bindings("overview")

    @dataclass
    class MentionOpened(Message):
        """A mentioned entity was opened."""

        urn: Urn

    @dataclass
    class Visited(Message):
        """A web address was chosen."""

        url: str

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self.id = self.NAME
        self._session = session
        self._entity: Entity | None = None
        self._parts: Sequence[Part] = ()
        self._names: Mapping[Urn, str] = {}
        self._lines: Sequence[PageLine] = ()
        self._laid_for = 0
        self._laid_of: Entity | None = None
        self._in_full = False
        self._health: Health | None = None

    def clear(self) -> None:
        """Show an empty page while no entity is read."""
        self._entity, self._parts, self._lines, self._names = None, (), (), {}
        self._health = None
        self._in_full = False
        self.show(0, self._draw_line, empty=LOADING.phrase)

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Show the aspects of an entity, from the top unless it is the same entity."""
        if not keep:
            self.clear()
            self.scroll_home(animate=False)
        self._entity = entity
        self._lay_out()

    def show_health(self, health: "Health") -> None:
        """Show failed assertions and incidents first."""
        if health != (self._health or Health(health.urn)):
            self._health = health
            self._lay_out()

    async def read(self, entity: "Entity") -> None:
        """Read the names of mentioned entities: one request per 150."""
        parts = await asyncio.to_thread(entity_parts, entity)
        urns = list(dict.fromkeys(mentions_of(parts)))[:_NAMED_AT_MOST]
        if not urns:
            return
        catalog = await self._session.catalog()
        entities = await catalog.summaries(urns)
        if entity is self._entity:
            self._names = {urn: mention_name(entity) for urn, entity in entities.items()}
            self._lay_out()

    def on_resize(self) -> None:
        """Lay out the lines for the new width."""
        super().on_resize()
        if self.size.width and self.size.width != self._laid_for:
            self._lay_out()

    def on_show(self) -> None:
        """Lay out the page when it is first shown."""
        if self._laid_of is not self._entity:
            self._lay_out()

    def show_times(self) -> None:
        """Show times in the chosen zone."""
        self._laid_of = None
        self._lay_out()

    def focus_content(self) -> None:
        """Focus the lines."""
        self.screen.set_focus(self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow showing the whole text only if a text is cut."""
        if action == "whole":
            return self._is_cut
        return super().check_action(action, parameters)

    def action_whole(self) -> None:
        """Switch between long texts in full, as source, and rendered texts that are cut."""
        self._in_full = not self._in_full
        self._lay_out()

    def action_next_mention(self) -> None:
        """Go to the next line that opens something."""
        self._move_to_mention(range(self.cursor + 1, len(self._lines)))

    def action_previous_mention(self) -> None:
        """Go to the previous line that opens something."""
        self._move_to_mention(range(self.cursor - 1, -1, -1))

    @property
    def _is_cut(self) -> bool:
        return any(_is_longer(part, RENDERED) for part in self._parts)

    def _move_to_mention(self, lines: range) -> None:
        current = self._lines[self.cursor].target if self._lines else None
        for at in lines:
            target = self._lines[at].target
            if target is not None and target != current:
                self.move_to(at)
                return

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        target = self._lines[event.index].target
        if isinstance(target, Urn):
            self.post_message(self.MentionOpened(page_of_urn(target)))
        elif target is not None:
            self.post_message(self.Visited(target))

    @work(exclusive=True, group="overview")
    async def _lay_out(self) -> None:
        """Lay out the page for its width: of a new page, first the part that fits on the screen."""
        entity, width = self._entity, self.size.width - 1
        if entity is None or width <= 0 or not self.display:
            # A hidden tab has no width; it is laid out when it is shown.
            self._laid_of = None
            return
        self._laid_for, self._laid_of = self.size.width, entity
        layout = PageLayout(width, self._names, self._session.times, self._in_full)
        with self._session.reporting(f"rendering the overview of {entity.urn.name}"):
            if not self._lines and not self._in_full:
                # Of a new page, the lines that fit on the screen are shown before the rest is laid
                # out.
                first = replace(layout, limit=min(width * self.size.height, RENDERED))
                await self._show_layout(entity, first)
                long = (part for part in self._parts if isinstance(part, Prose))
                if not any(_is_longer(part, first.limit) for part in long):
                    return
                await self.wait_for_refresh()
            await self._show_layout(entity, layout)

    async def _show_layout(self, entity: "Entity", layout: PageLayout) -> None:
        self._parts, lines = await asyncio.to_thread(_lay_out_entity, entity, self._health, layout)
        if entity is self._entity:
            cursor = _same_place(self._lines, self.cursor, lines)
            self._lines = lines
            self.show(len(lines), self._draw_line, cursor=cursor)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        return (self._lines[index].text,)


def _is_longer(part: Part, limit: int) -> bool:
    return isinstance(part, Prose | Code) and len(part.text) > limit


def _lay_out_entity(
    entity: "Entity", health: Health | None, layout: PageLayout
) -> tuple[Sequence[Part], Sequence[PageLine]]:
    parts = [*(health_parts(health) if health else ()), *entity_parts(entity, _RAW_HINT)]
    if health:
        # The ID of an assertion means nothing to people, so its text is the title.
        called = {problem.urn: problem.name for problem in problems(health)}
        layout = replace(layout, names={**layout.names, **called})
    return parts, lay_out(parts, layout)


def _same_place(before: Sequence[PageLine], cursor: int, lines: Sequence[PageLine]) -> int:
    """Return the index of the cursor after a new layout: the line that opens the same target, if
    there is one."""
    target = before[cursor].target if cursor < len(before) else None
    if target is None:
        return cursor if before else 0
    nearest = sorted(range(len(lines)), key=lambda at: abs(at - cursor))
    return next((at for at in nearest if lines[at].target == target), cursor)
