"""The line between the box and the results: how much was found, which of it is seen, what is
wrong."""

from dataclasses import dataclass
from typing import Final

from rich.text import Text

from explorer.client.display import in_quotes
from explorer.query import FilterSyntax
from explorer.tui.content import line
from explorer.tui.find.results import PAGE

__all__ = ["ORDERS", "Found", "fault_line", "found_line", "order_label"]

# How results may be ordered: in words, and as the client reads it.
ORDERS: Final = (
    ("best first", ""),
    ("by name, A to Z", "name"),
    ("by name, Z to A", "-name"),
    ("most used first", "-use"),
    ("recently changed first", "-lastModifiedAt"),
    ("longest unchanged first", "lastModifiedAt"),
)
_AROUND = 14
_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Found:
    """What the results are: how many there are, and which rows are in view, the first and the last,
    counted from 0; None while something else is shown in their place. `marked` are marked."""

    total: int
    seen: tuple[int, int] | None
    order: str
    has_words: bool
    has_filter: bool
    stopped_at: int | None = None
    corrected: tuple[str, str] | None = None
    """What was typed and nothing has, and what was searched for instead."""
    marked: int = 0


def order_label(order: str, *, has_words: bool) -> str:
    """An order in words; without words to look for, nothing is better than anything."""
    if not order:
        return "best first" if has_words else "everything"
    return next((label for label, one in ORDERS if one == order), line(order, 60))


def found_line(found: Found, width: int) -> Text:
    """How much was found, and what of it is seen."""
    if found.total == 0:
        hint = "; x clears the conditions" if found.has_filter else ""
        return Text.assemble(("No results", "bold"), hint)
    thing = "result" if found.total == 1 else "results"
    text = Text.assemble((f"{found.total:,} {thing}", "bold"))
    if found.corrected is not None:
        typed, corrected = (in_quotes(one, _SHOWN) for one in found.corrected)
        text.append(f" for {corrected}; nothing has {typed}", "bold")
    if found.marked:
        text.append(f" · {found.marked:,} marked", "bold")
    if found.seen is not None:
        text.append(_place(found.seen, found))
    if found.has_words or found.order:
        text.append(f" · {order_label(found.order, has_words=found.has_words)}")
    if found.stopped_at is not None and found.stopped_at < found.total:
        stop = f" · the server stops at {found.stopped_at:,}"
        text.append(
            stop if text.cell_len + len(stop) <= width else f" · stops at {found.stopped_at:,}",
            "bold",
        )
    return text


def _place(seen: tuple[int, int], found: Found) -> str:
    """Which of the results are in view, and on which page."""
    first, last = seen
    place = f" · {first + 1:,}–{last + 1:,}" if last - first + 1 < found.total else ""
    if found.total > PAGE:
        pages = -(-min(found.total, found.stopped_at or found.total) // PAGE)
        place += f" · page {first // PAGE + 1:,} of {pages:,}"
    return place


def fault_line(fault: FilterSyntax, width: int) -> Text:
    """What is wrong with a filter, and where: the place between »«, with what stands before it
    where there is room. What is only not typed yet is no mistake."""
    place, end = fault.position, fault.position + fault.length
    is_unfinished = place >= len(fault.text.rstrip())
    text = Text.assemble(("… " if is_unfinished else "✗ ", "bold"), line(fault.message), "   ")
    wrong = Text(line(fault.text[place : min(end, place + _AROUND)]) or "here", "bold reverse")
    where = Text.assemble(("»", "bold"), wrong, ("«", "bold"))
    before = line(fault.text[max(place - _AROUND, 0) : place] + "|")[:-1]
    before = f"…{before}" if place > _AROUND else before
    if text.cell_len + len(before) + where.cell_len <= width:
        where = Text.assemble(before, where)
    text.truncate(max(width - where.cell_len, _AROUND), overflow="ellipsis")
    return text.append_text(where)
