"""The search box, and the completions below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.tui.actions import bindings
from explorer.tui.content import join, padded, said
from explorer.tui.screens.search.query import Query
from explorer.tui.widgets.inputs import TypedLine, pasted_line

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Suggestion
    from explorer.query import Completion

__all__ = ["MOST_COMPLETIONS", "DropDown", "SearchBox", "SearchCompletion", "completions_for"]

MOST_COMPLETIONS = 8
_FIELDS_BESIDE_NAMES = 3
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class SearchCompletion:
    """One thing that may be typed: the `text` of the box with it, the cursor where it belongs.

    One with a `urn` may be opened as well; one that `asks` is a whole search, run when taken;
    after one that `closes` there is nothing to go on with.
    """

    label: str
    detail: str
    text: str
    cursor: int
    urn: Urn | None = None
    asks: bool = False
    closes: bool = False


class DropDown(Widget):
    """A few rows over what lies below the box, none of which moves for it. It never has the
    focus: the box turns over its keys."""

    DEFAULT_CSS = """
    DropDown {
        layer: above; dock: top; margin: 4 0 0 0; display: none; height: auto; background: $panel;
    }
    DropDown > .dropdown--chosen { background: $primary-muted; }
    """
    COMPONENT_CLASSES = {"dropdown--chosen"}  # noqa: RUF012 - as Textual declares it

    class Taken(Message):
        """A row was clicked."""

        def __init__(self, offer: SearchCompletion) -> None:
            super().__init__()
            self.offer = offer

    def __init__(self) -> None:
        super().__init__()
        self.offers: tuple[SearchCompletion, ...] = ()
        self.at = -1

    @property
    def chosen(self) -> SearchCompletion | None:
        """The row chosen with the arrow keys; nothing at first."""
        return self.offers[self.at] if 0 <= self.at < len(self.offers) else None

    def offer(self, offers: Sequence[SearchCompletion]) -> None:
        """Show these instead of what was there; with none, fold up. A row chosen before stays
        chosen where it is offered again."""
        before = self.chosen
        self.offers = tuple(offers)[:MOST_COMPLETIONS]
        self.at = self.offers.index(before) if before in self.offers else -1
        self.display = bool(self.offers)
        self.styles.height = len(self.offers)
        self.refresh()

    def move(self, rows: int) -> None:
        """Choose the next row, or the one before; before the first none is chosen."""
        self.at = max(-1, min(self.at + rows, len(self.offers) - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One offer."""
        width = self.size.width
        if y >= len(self.offers):
            return Strip.blank(width, self.rich_style)
        offer, is_chosen = self.offers[y], y == self.at
        style = self.rich_style
        if is_chosen:
            style += self.get_component_rich_style("dropdown--chosen", partial=True)
        mark = "› " if is_chosen else ("⇥ " if y == 0 and self.at < 0 else "  ")
        detail = said(offer.detail, "dim")
        detail.truncate(width // 2, overflow="ellipsis")
        room = max(width - detail.cell_len - 5, 1)
        text = Text.assemble(" ", (mark, "bold"))
        text.append_text(padded(said(offer.label, "bold" if is_chosen else ""), room))
        text.append(" ").append_text(detail).append(" ")
        text.truncate(width, pad=True)
        text.end = ""
        strip = Strip(text.render(self.app.console), width)
        return strip.apply_style(Style.chain(style)).adjust_cell_length(width, style)

    def on_click(self, event: "events.Click") -> None:
        """Take the row that was clicked."""
        event.stop()
        if event.y < len(self.offers):
            self.post_message(self.Taken(self.offers[event.y]))


async def completions_for(
    question: Query, cursor: int, catalog: "AsyncCatalog"
) -> list[SearchCompletion]:
    """What may be typed at a place of the box: names and fields among words, and in a filter what
    the server counts. At most two requests."""
    text = question.text
    words = question.words_at(cursor)
    if words is not None:
        return await _for_words(question, words, cursor, catalog)
    start = question.run_at(cursor)
    if start is None:
        return []
    found = await catalog.complete_filter(text[start:], cursor - start)
    return [_completed(one, text, start) for one in found[:MOST_COMPLETIONS]]


async def _for_words(
    question: Query, place: tuple[int, int], cursor: int, catalog: "AsyncCatalog"
) -> list[SearchCompletion]:
    text = question.text
    start, end = place
    typed = text[start:cursor]
    last = typed.split()[-1] if typed.split() else ""
    if len(typed.strip()) < _SHORTEST:
        return []
    names = [
        _named(one, text, start, end)
        for one in await catalog.suggest(typed, limit=MOST_COMPLETIONS)
        if one.text.casefold() != typed.casefold() or one.urn is not None
    ]
    at = cursor - len(last)
    fields = [
        _completed(one, text, at)
        for one in await catalog.complete_filter(last, len(last))
        if one.kind == "field" and one.label.casefold().startswith(last.casefold())
    ][:_FIELDS_BESIDE_NAMES]
    return [*names[: MOST_COMPLETIONS - len(fields)], *fields]


def _named(one: "Suggestion", text: str, start: int, end: int) -> SearchCompletion:
    kind = join(
        [said(singular(one.entity_type)), said(one.platform or ""), said(_place(one.urn))]
    ).plain
    return SearchCompletion(
        one.text,
        kind,
        f"{text[:start]}{one.text}{text[end:]}",
        start + len(one.text),
        one.urn,
        closes=True,
    )


def _place(urn: Urn | None) -> str:
    """What tells things of one name apart: the folders that are part of a dataset's name."""
    return urn.parts[1].rpartition(".")[0] if urn and len(urn.parts) == 3 else ""


def _completed(one: "Completion", text: str, start: int) -> SearchCompletion:
    begin, end = start + one.start, start + one.end
    count = "" if one.count is None else f"{one.count:,}"
    detail = " · ".join(part for part in (one.hint, count) if part)
    label = f"{one.label}:" if one.kind == "field" else one.label
    whole = f"{text[:begin]}{one.text}{text[end:]}"
    return SearchCompletion(label, detail or one.kind, whole, begin + len(one.text))


class BoxKeys(Protocol):
    """What the keys of the box do, done by what is around it. Called at once and not told by
    messages: the next key is on its way already."""

    def enter(self) -> None:
        """Search, or open what is chosen."""
        ...

    def take(self) -> None:
        """Take a completion."""
        ...

    def choose(self, rows: int) -> None:
        """Go through the completions, or on to the results."""
        ...

    def leave_box(self) -> None:
        """Close the completions, or leave."""
        ...

    def explain_syntax(self) -> None:
        """Show what can be typed."""
        ...

    def save_search(self) -> None:
        """Keep the search under a name."""
        ...

    def show_searches(self) -> None:
        """Show the searches that are kept."""
        ...

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Look at what was pasted; says whether that was all there is to do with it."""
        ...


class _Faults(Highlighter):
    """Underlines what is wrong with a filter."""

    def __init__(self) -> None:
        self.fault: FilterSyntax | None = None

    def highlight(self, text: Text) -> None:
        """Mark the place, as long as the text is the one with the fault."""
        if self.fault is not None and text.plain.startswith(self.fault.text):
            place = self.fault.position
            text.stylize("underline reverse", place, place + self.fault.length)


class SearchBox(TypedLine):
    """One line of words and conditions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    def __init__(self, keys: BoxKeys) -> None:
        self._faults = _Faults()
        super().__init__(
            placeholder="a name, a word, platform:snowflake, tags:PII …   ? explains",
            highlighter=self._faults,
        )
        self.cursor_blink = False
        self._does = keys

    def mark(self, fault: FilterSyntax | None) -> None:
        """Mark the place of what is wrong, or nothing."""
        if fault is not self._faults.fault:
            self._faults.fault = fault
            self.refresh()

    def action_enter(self) -> None:
        """Search, or open what is chosen."""
        self._does.enter()

    def action_take(self) -> None:
        """Take the completion."""
        self._does.take()

    def action_choose(self, rows: int) -> None:
        """Through the completions, or on to the results."""
        self._does.choose(rows)

    def action_leave(self) -> None:
        """Out of the box."""
        self._does.leave_box()

    def action_syntax(self) -> None:
        """What can be typed."""
        self._does.explain_syntax()

    def action_save(self) -> None:
        """Keep the search under a name."""
        self._does.save_search()

    def action_searches(self) -> None:
        """The searches that are kept."""
        self._does.show_searches()

    def on_key(self, event: events.Key) -> None:
        """In an empty box a question mark is a question."""
        if event.key == "question_mark" and not self.value:
            event.stop()
            event.prevent_default()
            self._does.explain_syntax()

    def _on_paste(self, event: events.Paste) -> None:
        """One line of what was pasted goes in; a URN is gone to."""
        event.stop()
        # Else the line as Textual would take it goes in as well.
        event.prevent_default()
        line, is_cut = pasted_line(event.text)
        is_replaced = not self.value or len(self.selected_text) == len(self.value)
        if line and not self._does.pasted(line, is_cut=is_cut, into_empty=is_replaced):
            self.replace(line, *self.selection)
