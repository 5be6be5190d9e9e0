"""The results of a search, the explanation of a match, the line above the results, the facets, and
the introduction for new users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from rich.text import Text
from textual import events, on
from textual.app import RenderResult
from textual.binding import BindingType
from textual.widget import Widget

from explorer.client.display import counted, in_quotes
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text, marked, padded, preview
from explorer.tui.screens.label_choice import BulkLabelsRequested
from explorer.tui.widgets.rows import MARK, Rows
from explorer.views.absence import NONE
from explorer.views.search import (
    FacetGroup,
    FacetRow,
    MatchedField,
    ResultRow,
    loosened_label,
    sort_label,
    tables_label,
)

if TYPE_CHECKING:
    from explorer.client.records import Hit
    from explorer.sessions.search import Results
    from explorer.stewardship.labels import LabelledKind

_FIELDS_EXPLAINED = 5
_NARROWEST = 10


def match_explanation(
    row: ResultRow, words: str, *, rank: int, order: str, width: int
) -> list[Text]:
    """Return the lines that explain the rank of a result: the order, the score and the reason for
    both, and the fields that matched, with their weights."""
    score = row.score_label or "the server returns no score"
    head = Text.assemble("Why ", line_text(row.name, "bold"), f" is number {rank:,}")
    lines = [join([head, Text(order), Text(score)])]
    if row.reason:
        lines.append(Text("  ").append_text(line_text(row.reason)))
    for match in row.matches[:_FIELDS_EXPLAINED]:
        weight = Text("" if match.weight is None else f"  weight {match.weight:g}", "dim")
        room = width - 2 - weight.cell_len
        text = match_text(match, words, room)
        text.truncate(max(room, _NARROWEST), overflow="ellipsis")
        lines.append(Text.assemble("  ", text, weight))
    more = len(row.matches) - _FIELDS_EXPLAINED
    if more > 0:
        lines.append(Text(f"  … {more} more fields matched", "dim"))
    if not row.matches:
        nothing = (
            "  the server does not say which fields matched"
            if words
            else "  the search has no words, so results have no rank"
        )
        lines.append(Text(nothing, "dim italic"))
    return lines


def match_text(match: MatchedField, words: str, width: int) -> Text:
    """Return a field that matched, and its value with the words of the search highlighted."""
    label = line_text(f"{match.label} ", "dim")
    value = preview(match.excerpt(words, max(width - label.cell_len - 2, _NARROWEST)))
    return Text.assemble(label, " ", marked(value, words))


PAGE = 50
_WIDE = 84


class ResultKeys(Protocol):
    """The actions of the results and facets, implemented by the view around them. They are called
    directly rather than sent as messages, because the next key may be queued already."""

    def open_result(self, index: int) -> None:
        """Open the result in a row."""
        ...

    def toggle_facet(self, field: str, value: str) -> None:
        """Add or remove a value of a facet."""
        ...

    def focus_results(self) -> None:
        """Focus the results."""
        ...

    def need_page(self, start: int) -> None:
        """Read the page that begins at a row."""
        ...

    def results_key(self, what: str) -> None:
        """Run the action of a key."""
        ...

    def keeps(self, event: events.Key) -> bool:
        """Return whether a result is about to open; if so, keep the key for its page."""
        ...

    def take_paste(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Open a pasted URN, or search for a pasted text; return whether this was done."""
        ...


class ResultRows(Rows):
    """The results in order. The list is as long as the whole result; pages are read as they come
    into view."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("results")

    def __init__(self, keys: ResultKeys) -> None:
        super().__init__(row_height=2)
        self.results: Results | None = None
        self.drafts: frozenset[str] = frozenset()
        """The URNs of entities that have drafts."""
        self._marked: dict[Urn, ResultRow] = {}
        self._does = keys

    @property
    def hits(self) -> "Mapping[int, Hit]":
        """Return the results that were read, by their rank from 0."""
        return self.results.hits if self.results is not None else {}

    @property
    def total(self) -> int:
        """Return the number of all results."""
        return self.results.total if self.results is not None else 0

    def show_results(self, results: "Results", *, cursor: int, empty: str) -> None:
        """Show the results of another search."""
        self.results = results
        if cursor == 0:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.show(results.count, self._draw_hit, cursor=cursor, empty=empty)

    def update_results(self, results: "Results") -> None:
        """Show more of the same results; rows stay where they are."""
        self.results = results
        if results.count != self.count:
            self.grow(results.count)
            self.move_to(min(self.cursor, results.count - 1))
        self.refresh()

    @property
    def marked(self) -> tuple[Urn, ...]:
        """Return the marked results, in the order of marking."""
        return tuple(self._marked)

    def unmark(self) -> None:
        """Remove all marks."""
        if self._marked:
            self._marked.clear()
            self.refresh()
            self.refresh_bindings()

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next."""
        row = self.row_at(self.cursor)
        if row is None:
            return
        if self._marked.pop(row.urn, None) is None:
            self._marked[row.urn] = row
        self.refresh()
        self.refresh_bindings()
        self.move_to(self.cursor + 1)
        self._does.results_key("seen")

    def action_label(self, what: "LabelledKind") -> None:
        """Change labels, deprecation or links of the marked results, or of the result under the
        cursor."""
        at = self.row_at(self.cursor)
        rows = tuple(self._marked.values()) or ((at,) if at is not None else ())
        if not rows:
            return
        kind = "entities" if rows[0].column is None else "columns"
        subject = rows[0].name if len(rows) == 1 else f"{len(rows):,} marked {kind}"
        places = ((str(row.entity_urn), row.column.path if row.column else None) for row in rows)
        self.post_message(BulkLabelsRequested(what, tuple(places), subject))

    def action_unmark(self) -> None:
        """Unmark all rows."""
        self.unmark()
        self._does.results_key("seen")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow unmarking while there are marks."""
        if action == "unmark":
            return bool(self._marked)
        if action == "label" and self.results is not None and self.results.query.columns:
            return True if parameters[0] in ("tags", "terms") else None
        if action == "choose":
            # While a search runs, choosing is allowed without rows: it opens the first result
            # later.
            return True
        return super().check_action(action, parameters)

    @property
    def words(self) -> str:
        """Return the words that were searched for."""
        return self.results.words if self.results is not None else ""

    def row_at(self, index: int) -> ResultRow | None:
        """Return the data of the result in a row; None if it was not read yet."""
        hit = self.hits.get(index)
        if hit is None or self.results is None:
            return None
        return self.results.row(hit, self.drafts)

    def urn_at(self, index: int) -> Urn | None:
        """Return the URN of the result in a row; None if it was not read yet."""
        hit = self.hits.get(index)
        return hit.urn if hit else None

    @property
    def in_view(self) -> tuple[int, int]:
        """Return the first and the last fully visible row, counted from 0."""
        first = -(-int(self.scroll_offset.y) // self.row_height)
        height = max(self.scrollable_content_region.height // self.row_height, 1)
        return first, min(first + height, self.count) - 1

    def missing(self) -> int | None:
        """Return the first row of the first visible page that was not read; None if all were
        read."""
        first, last = self.in_view
        for row in range(max(first - 1, 0), min(last + 2, self.count)):
            if self.results is None or not self.results.was_read(row):
                return row // PAGE * PAGE
        return None

    def post_moved(self) -> None:
        """Send no message: `move_to` calls the view itself."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Read the rows that came into view."""
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def on_resize(self, event: events.Resize | None = None) -> None:
        """Read the rows that came into view."""
        del event
        # Textual also calls the handler of the base class, which scrolls to the cursor.
        self.call_next(self._look)

    def _look(self) -> None:
        start = self.missing()
        if start is not None:
            self._does.need_page(start)
        self._does.results_key("seen")

    def move_to(self, index: int) -> None:
        """Move the cursor, and explain the result under it."""
        before = self.cursor
        super().move_to(index)
        if self.cursor != before:
            self._does.results_key("moved")

    def jump_to(self, index: int) -> None:
        """Move the cursor to a row, and scroll it to the top."""
        self.move_to(index)
        self.scroll_to(y=self.cursor * self.row_height, animate=False, immediate=True)

    def action_choose(self) -> None:
        """Open the result under the cursor. While a search runs, open its first result when the
        answer comes."""
        self._does.open_result(self.cursor)

    def action_next_page(self) -> None:
        """Move to the next page."""
        following = (self.cursor // PAGE + 1) * PAGE
        if following < self.count:
            self.jump_to(following)

    def action_previous_page(self) -> None:
        """Move to the previous page."""
        self.jump_to(max(self.cursor // PAGE - 1, 0) * PAGE)

    def action_do(self, what: str) -> None:
        """Run the action `what` of the view around the list."""
        self._does.results_key(what)

    def action_facet(self, number: int) -> None:
        """Filter by the facet value with that number."""
        self._does.results_key(str(number))

    def on_key(self, event: events.Key) -> None:
        """Stop keys that are kept for the page that is about to open."""
        if self._does.keeps(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Open the entity whose URN is pasted."""
        event.stop()
        self._does.take_paste(event.text[:_PASTED], is_cut=False, into_empty=True)

    def _draw_hit(self, index: int, width: int) -> tuple[Text, Text]:
        row = self.row_at(index)
        if row is None:
            text = self.results.unreadable.get(index) if self.results is not None else None
            if text is None:
                return Text(" …", "dim"), Text()
            return Text(f" {line(text, 200)}", "bold"), Text("   no URN: cannot be opened", "dim")
        return draw_result(row, self.words, width, is_marked=row.urn in self._marked)


_PASTED = 10_000


def draw_result(
    row: ResultRow, words: str, width: int, *, is_marked: bool = False
) -> tuple[Text, Text]:
    """Return the two lines of a result: its name and type, and its description.

    If words of the search occur neither in the name nor in the visible part of the description, the
    second line shows the field that matched instead.
    """
    right_width = min(46 if width >= _WIDE else 28, width * 2 // 5)
    left_width = width - right_width - 2
    first = Text(MARK if is_marked else " ", "bold")
    first.append_text(padded(marked(line_text(row.name, "bold"), words), left_width)).append(" ")
    kind = join(
        [
            line_text(row.kind_label),
            line_text(row.platform, "bold"),
            line_text(row.entity_urn.origin, "dim"),
        ]
    )
    first.append_text(padded(kind, right_width))
    states = _states(row)
    room = left_width - 2 - states.cell_len
    about = padded(preview(row.description, "dim", row.description_placeholder), room)
    match = row.hidden_match(f"{row.name} {about.plain}", words)
    about = match_text(match, words, room) if match is not None else marked(about, words)
    second = Text("   ").append_text(states).append_text(padded(about, room))
    second.append(" ").append_text(padded(line_text(row.folder, "dim"), right_width))
    return first, second


def _states(row: ResultRow) -> Text:
    """Return the marks before the description: draft, deprecated, soft-deleted, and the missing
    words of the search."""
    styles = {"draft": "reverse", "soft-deleted": "bold reverse", "deprecated": "bold"}
    states = Text()
    for label in row.states:
        style = styles.get(label)
        states.append(label if style is None else f" {label} ", style or "dim italic").append(" ")
    return states


_AROUND = 14
_SHOWN = 30


def count_line(
    results: "Results", row_range: tuple[int, int] | None, marked: int, width: int
) -> Text:
    """Return the line above the results: their number, which of them are visible, and the order.

    `row_range` holds the first and the last visible row, counted from 0, None while the results are
    hidden. `marked` is the number of marked results.
    """
    has_words, sort = bool(results.question.words), results.query.sort
    if results.total == 0:
        hint = "; x clears the conditions" if results.question.runs else ""
        return Text.assemble(("No results", "bold"), hint)
    noun = "column" if results.query.columns else "result"
    text = Text.assemble((counted(results.total, noun), "bold"))
    if tables := tables_label(results.page):
        text.append(f" {tables}", "bold")
    if results.corrected is not None:
        typed, corrected = (in_quotes(words, _SHOWN) for words in results.corrected)
        text.append(f" for {corrected}; nothing matches {typed}", "bold")
    keys = "t T" if results.query.columns else "t T O D ! L"
    rest = Text(f" · {marked:,} marked: {keys}" if marked else "", "bold")
    if row_range is not None:
        rest.append(_page_in_view(row_range, results), "not bold")
    if has_words or sort:
        rest.append(f" · {sort_label(sort, has_words=has_words)}", "not bold")
    room = width - text.cell_len - rest.cell_len - 3
    if loosened := loosened_label(results.page, room):
        text.append(f" · {loosened}", "bold")
    text.append_text(rest)
    if results.count < results.total:
        stop = f" · the server stops at {results.count:,}"
        text.append(
            stop if text.cell_len + len(stop) <= width else f" · stops at {results.count:,}",
            "bold",
        )
    return text


def _page_in_view(row_range: tuple[int, int], results: "Results") -> str:
    """Return which results are visible, and on which page."""
    first, last = row_range
    place = f" · {first + 1:,}–{last + 1:,}" if last - first + 1 < results.total else ""
    if results.total > PAGE:
        place += f" · page {first // PAGE + 1:,} of {-(-results.count // PAGE):,}"
    return place


def fault_line(fault: FilterSyntax, width: int) -> Text:
    """Return a syntax error with the wrong part of the filter between »«, after the text before it
    if there is room. An unfinished filter is marked with …, any other with ✗."""
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


SEEN: Final = "to search"
"""The name under which the state records that an entity was opened. Until then the introduction is
shown."""

_SMALL: Final = 20
_INTRODUCTION: Final = (
    "This is a catalog of data. Find a table or a dashboard, see what it contains, who uses it\n"
    "and what depends on it, and describe what is undocumented.",
    "Find a table, see what it contains and who uses it, describe what is undocumented.",
)
_SAMPLE: Final = (
    "What is here now is a sample: the warehouse of Tarnwood, a made-up shop for outdoor gear.\n"
    "Try: / then orders, then ⏎ twice."
)
_GAP: Final = "   "
_STEPS: Final = (
    ("/", "type a name"),
    ("F6", "folders"),
    ("⏎", "open"),
    ("A", "add your own data"),
    ("?", "all keys"),
)


class Welcome(Widget):
    """A short introduction above the results, removed by the first key."""

    DEFAULT_CSS = """
    Welcome {
        height: auto; padding: 0 1; border: round $primary;
        border-title-color: $text; border-title-style: bold;
    }
    Welcome.-small { border: none; }
    """

    def __init__(self, *, sample: bool) -> None:
        super().__init__()
        self._sample = sample
        self.border_title = "Welcome"

    def on_mount(self) -> None:
        """Use one line in a small terminal."""
        self.set_class(self.screen.size.height < _SMALL, "-small")

    def render(self) -> RenderResult:
        """Render the introduction."""
        steps = _pack(self.content_size.width)
        if self.screen.size.height < _SMALL:
            return steps
        wide = self.size.width > max(map(len, _INTRODUCTION[0].splitlines()))
        lines = [Text(_INTRODUCTION[not wide]), steps]
        if self._sample:
            lines.append(Text(_SAMPLE, "dim"))
        return Text("\n").join(lines)


def _pack(width: int) -> Text:
    """Return the steps, as many on each line as fit; no step is wrapped."""
    packed, room = Text(), width
    for key, what in _STEPS:
        step = Text.assemble((key, "bold"), f" {what}")
        if packed.plain:
            fits = step.cell_len + len(_GAP) <= room
            packed.append(_GAP if fits else "\n")
            room = room - len(_GAP) if fits else width
        packed.append_text(step)
        room -= step.cell_len
    return packed


SHORT: Final = 5
"""The number of values of a facet that is not expanded."""

_NUMBERED: Final = 9


@dataclass(frozen=True, slots=True)
class _FacetItem:
    group: FacetGroup
    value: FacetRow | None = None
    number: int = 0


class Facets(Rows):
    """Facets and their values. Enter, or the number of a value, adds or removes it.

    The count of a value is the number of results with it; if other values of the facet are chosen,
    `+7` is the number of results that it would add.
    """

    DEFAULT_CSS = """
    Facets > .rows--cursor { background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("facets")

    def __init__(self, keys: ResultKeys) -> None:
        super().__init__()
        self._does = keys
        self._rows: list[_FacetItem] = []
        self._groups: tuple[FacetGroup, ...] = ()
        self._expanded: set[str] = set()

    def show_facets(self, groups: Sequence[FacetGroup]) -> None:
        """Show the facets of a result."""
        self._groups = tuple(groups)
        self._lay_out()

    def toggle_numbered(self, number: int) -> None:
        """Add or remove the value with that number."""
        for row in self._rows:
            if row.value is not None and row.number == number:
                self._does.toggle_facet(row.group.field, row.value.value)

    def action_facet(self, number: int) -> None:
        """Add or remove the value with that number."""
        self.toggle_numbered(number)

    def action_do(self, what: str) -> None:
        """Run the action `what`, which is the same as in the results."""
        self._does.results_key(what)

    def action_leave(self) -> None:
        """Go back to the results."""
        self._does.focus_results()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        row = self._rows[event.index]
        if row.value is not None:
            self._does.toggle_facet(row.group.field, row.value.value)
            return
        self._expanded ^= {row.group.field}
        self._lay_out()

    def _lay_out(self) -> None:
        """Show the facets with their values, as far as they are expanded."""
        rows: list[_FacetItem] = []
        number = 0
        for group in self._groups:
            rows.append(_FacetItem(group))
            row_limit = len(group.rows) if group.field in self._expanded else SHORT
            for at, value in enumerate(group.rows):
                if at < row_limit or value.is_chosen:
                    number += 1
                    rows.append(_FacetItem(group, value, number if number <= _NUMBERED else 0))
        self._rows = rows
        self.show(len(rows), self._draw_facet, cursor=self.cursor)

    def _draw_facet(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.value is not None:
            return (draw_value(row.value, row.number, width),)
        group = row.group
        is_long = len(group.rows) > SHORT
        # Only facets that can be expanded have a sign.
        fold = "  " if not is_long else "▾ " if group.field in self._expanded else "▸ "
        text = Text.assemble((fold, "dim"), line_text(group.label, "bold"))
        return (text.append(f" {group.size}", "dim") if is_long else text,)


def draw_value(value: FacetRow, number: int, width: int) -> Text:
    """Return the line of a value; `number` is the key that adds or removes it, 0 if no key does."""
    name = line_text(value.label, "bold" if value.is_chosen else "", missing=NONE.phrase)
    text = Text.assemble((f" {number or ' '} ", "dim"), ("● " if value.is_chosen else "  ", "bold"))
    text.append_text(padded(name, width - len(value.count_label) - 8))
    return text.append(f" {value.count_label}", "dim")
