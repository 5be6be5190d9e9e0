"""What may be typed next, dropped down from the search box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import join, padded, said
from explorer.tui.find.question import Question

if TYPE_CHECKING:
    from textual import events

    from explorer.client import AsyncCatalog
    from explorer.client.records import Suggestion
    from explorer.query import Completion

__all__ = ["MOST", "DropDown", "Offer", "offers_for"]

MOST = 8
_FIELDS_BESIDE_NAMES = 3
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Offer:
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

        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer = offer

    def __init__(self) -> None:
        super().__init__()
        self.offers: tuple[Offer, ...] = ()
        self.at = -1

    @property
    def chosen(self) -> Offer | None:
        """The row chosen with the arrow keys; nothing at first."""
        return self.offers[self.at] if 0 <= self.at < len(self.offers) else None

    def offer(self, offers: Sequence[Offer]) -> None:
        """Show these instead of what was there; with none, fold up. A row chosen before stays
        chosen where it is offered again."""
        before = self.chosen
        self.offers = tuple(offers)[:MOST]
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


async def offers_for(question: Question, cursor: int, catalog: "AsyncCatalog") -> list[Offer]:
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
    return [_completed(one, text, start) for one in found[:MOST]]


async def _for_words(
    question: Question, place: tuple[int, int], cursor: int, catalog: "AsyncCatalog"
) -> list[Offer]:
    text = question.text
    start, end = place
    typed = text[start:cursor]
    last = typed.split()[-1] if typed.split() else ""
    if len(typed.strip()) < _SHORTEST:
        return []
    names = [
        _named(one, text, start, end)
        for one in await catalog.suggest(typed, limit=MOST)
        if one.text.casefold() != typed.casefold() or one.urn is not None
    ]
    at = cursor - len(last)
    fields = [
        _completed(one, text, at)
        for one in await catalog.complete_filter(last, len(last))
        if one.kind == "field" and one.label.casefold().startswith(last.casefold())
    ][:_FIELDS_BESIDE_NAMES]
    return [*names[: MOST - len(fields)], *fields]


def _named(one: "Suggestion", text: str, start: int, end: int) -> Offer:
    kind = join(
        [said(singular(one.entity_type)), said(one.platform or ""), said(_place(one.urn))]
    ).plain
    return Offer(
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


def _completed(one: "Completion", text: str, start: int) -> Offer:
    begin, end = start + one.start, start + one.end
    count = "" if one.count is None else f"{one.count:,}"
    detail = " · ".join(part for part in (one.hint, count) if part)
    label = f"{one.label}:" if one.kind == "field" else one.label
    whole = f"{text[:begin]}{one.text}{text[end:]}"
    return Offer(label, detail or one.kind, whole, begin + len(one.text))
