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
from explorer.query.search_text import SearchText
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded
from explorer.tui.widgets.inputs import TypedLine, pasted_line

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Suggestion
    from explorer.query import Completion

__all__ = [
    "MOST_COMPLETIONS",
    "DropDown",
    "SearchBox",
    "SearchCompletion",
    "completions_for",
]

MOST_COMPLETIONS = 8
_FIELDS_BESIDE_NAMES = 3
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class SearchCompletion:
    """A completion: the resulting `text` of the box, and the position of the cursor.

    One with a `urn` can also be opened; one that `asks` is a whole search that runs when accepted;
    after one that `closes` no further completion follows.
    """

    label: str
    detail: str
    text: str
    cursor: int
    urn: Urn | None = None
    asks: bool = False
    closes: bool = False


class DropDown(Widget):
    """The list of completions, an overlay below the box. It never has the focus: the box passes
    keys to it."""

    DEFAULT_CSS = """
    DropDown {
        layer: above; dock: top; margin: 4 0 0 0; display: none; height: auto; background: $panel;
    }
    DropDown > .dropdown--chosen { background: $primary-muted; }
    """
    COMPONENT_CLASSES = {"dropdown--chosen"}  # noqa: RUF012 - as Textual declares it

    class Clicked(Message):
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
        """Return the completion chosen with the arrow keys; None at first."""
        return self.offers[self.at] if 0 <= self.at < len(self.offers) else None

    def offer(self, offers: Sequence[SearchCompletion]) -> None:
        """Show these completions; hide the list if there are none. A chosen one stays chosen if it
        is listed again."""
        before = self.chosen
        self.offers = tuple(offers)[:MOST_COMPLETIONS]
        self.at = self.offers.index(before) if before in self.offers else -1
        self.display = bool(self.offers)
        self.styles.height = len(self.offers)
        self.refresh()

    def move(self, rows: int) -> None:
        """Choose the next or the previous row; before the first none is chosen."""
        self.at = max(-1, min(self.at + rows, len(self.offers) - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Render one completion."""
        width = self.size.width
        if y >= len(self.offers):
            return Strip.blank(width, self.rich_style)
        offer, is_chosen = self.offers[y], y == self.at
        style = self.rich_style
        if is_chosen:
            style += self.get_component_rich_style("dropdown--chosen", partial=True)
        mark = "› " if is_chosen else ("⇥ " if y == 0 and self.at < 0 else "  ")
        detail = line_text(offer.detail, "dim")
        detail.truncate(width // 2, overflow="ellipsis")
        room = max(width - detail.cell_len - 5, 1)
        text = Text.assemble(" ", (mark, "bold"))
        text.append_text(padded(line_text(offer.label, "bold" if is_chosen else ""), room))
        text.append(" ").append_text(detail).append(" ")
        text.truncate(width, pad=True)
        text.end = ""
        strip = Strip(text.render(self.app.console), width)
        return strip.apply_style(Style.chain(style)).adjust_cell_length(width, style)

    def on_click(self, event: "events.Click") -> None:
        """Accept the clicked row."""
        event.stop()
        if event.y < len(self.offers):
            self.post_message(self.Clicked(self.offers[event.y]))


async def completions_for(
    question: SearchText, cursor: int, catalog: "AsyncCatalog"
) -> list[SearchCompletion]:
    """Return the completions at a position: names and fields among words, in a filter the values
    that the server counts. At most two requests."""
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
    question: SearchText, place: tuple[int, int], cursor: int, catalog: "AsyncCatalog"
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
        [
            line_text(singular(one.entity_type)),
            line_text(one.platform or ""),
            line_text(_place(one.urn)),
        ]
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
    """Return what distinguishes entities with the same name: the folders in a dataset's name."""
    return urn.parts[1].rpartition(".")[0] if urn and len(urn.parts) == 3 else ""


def _completed(one: "Completion", text: str, start: int) -> SearchCompletion:
    begin, end = start + one.start, start + one.end
    count = "" if one.count is None else f"{one.count:,}"
    detail = " · ".join(part for part in (one.hint, count) if part)
    label = f"{one.label}:" if one.kind == "field" else one.label
    whole = f"{text[:begin]}{one.text}{text[end:]}"
    return SearchCompletion(label, detail or one.kind, whole, begin + len(one.text))


class BoxKeys(Protocol):
    """The actions of the box's keys, implemented by the view around it. They are called directly
    rather than sent as messages, because the next key may be queued already."""

    def enter(self) -> None:
        """Search, or open the chosen completion."""
        ...

    def take(self) -> None:
        """Accept a completion."""
        ...

    def choose(self, rows: int) -> None:
        """Move in the completions, or to the results."""
        ...

    def leave_box(self) -> None:
        """Close the completions, or leave the box."""
        ...

    def explain_syntax(self) -> None:
        """Show the search syntax."""
        ...

    def save_search(self) -> None:
        """Save the search under a name."""
        ...

    def show_searches(self) -> None:
        """Show the saved and recent searches."""
        ...

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Handle a pasted text; return whether it is handled completely."""
        ...


class _Faults(Highlighter):
    """Underlines the fault in a filter."""

    def __init__(self) -> None:
        self.fault: FilterSyntax | None = None

    def highlight(self, text: Text) -> None:
        """Underline the fault while the text is the one that has it."""
        if self.fault is not None and text.plain.startswith(self.fault.text):
            place = self.fault.position
            text.stylize("underline reverse", place, place + self.fault.length)


class SearchBox(TypedLine):
    """The input line for words and conditions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    def __init__(self, keys: BoxKeys) -> None:
        self._faults = _Faults()
        super().__init__(
            placeholder="a name, a word, platform:snowflake, tags:PII …   ? for syntax",
            highlighter=self._faults,
        )
        self._does = keys

    def mark(self, fault: FilterSyntax | None) -> None:
        """Set the position of the fault, or none."""
        if fault is not self._faults.fault:
            self._faults.fault = fault
            self.refresh()

    def action_enter(self) -> None:
        """Search, or open the chosen completion."""
        self._does.enter()

    def action_take(self) -> None:
        """Accept the completion."""
        self._does.take()

    def action_choose(self, rows: int) -> None:
        """Move in the completions, or to the results."""
        self._does.choose(rows)

    def action_leave(self) -> None:
        """Leave the box."""
        self._does.leave_box()

    def action_syntax(self) -> None:
        """Show the search syntax."""
        self._does.explain_syntax()

    def action_save(self) -> None:
        """Save the search under a name."""
        self._does.save_search()

    def action_searches(self) -> None:
        """Show the saved and recent searches."""
        self._does.show_searches()

    def on_key(self, event: events.Key) -> None:
        """Show the syntax on a question mark in an empty box."""
        if event.key == "question_mark" and not self.value:
            event.stop()
            event.prevent_default()
            self._does.explain_syntax()

    def _on_paste(self, event: events.Paste) -> None:
        """Insert a pasted text as one line; open a pasted URN."""
        event.stop()
        # Else the line as Textual would take it goes in as well.
        event.prevent_default()
        line, is_cut = pasted_line(event.text)
        is_replaced = not self.value or len(self.selected_text) == len(self.value)
        if line and not self._does.pasted(line, is_cut=is_cut, into_empty=is_replaced):
            self.replace(line, *self.selection)
