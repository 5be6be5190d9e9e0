"""The results of a search, why each matched, and the line with their number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from rich.text import Text
from textual import events
from textual.binding import BindingType

from explorer.client.display import in_quotes
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, marked, padded, preview, said
from explorer.tui.widgets.rows import MARK, Rows

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Hit, Match, SearchPage

__all__ = [
    "MOST_RESULTS",
    "ORDERS",
    "PAGE",
    "ResultCount",
    "Results",
    "count_line",
    "fault_line",
    "match_explanation",
    "match_line",
    "order_label",
]

_CONTEXT = 10
_TOLD = 5
# Where these matched can be seen in the name above.
_NAMES = frozenset(("name", "id", "title", "urn", "qualifiedName", "displayName", "fullName"))
# What people call the fields in which a search finds words.
_WHERE = {
    "fieldPaths": "column",
    "fieldDescriptions": "column text",
    "editedFieldDescriptions": "column text",
    "editedDescription": "description",
    "fieldTags": "column tag",
    "editedFieldTags": "column tag",
    "fieldGlossaryTerms": "column term",
    "editedFieldGlossaryTerms": "column term",
    "customProperties": "property",
    "glossaryTerms": "term",
    "qualifiedName": "full name",
}


def match_line(hit: "Hit", words: str, width: int) -> Text:
    """The first match that the name does not show, with the words marked; nothing where the name,
    or the description below it, shows it all."""
    if not words:
        return Text()
    names = [one for one in hit.matched if one.field in _NAMES]
    others = [one for one in hit.matched if one.field not in _NAMES]
    if names or not others:
        return Text()
    return _told(others[0], words, width)


def match_explanation(
    hit: "Hit", entity: "Entity | None", words: str, *, rank: int, order: str, width: int
) -> list[Text]:
    """What is known of a result's place, line by line: order, score, the reason of both, and every
    field that matched with its weight."""
    name = said(entity.name if entity else hit.urn.name, "bold")
    score = "the server gives no score" if hit.score is None else f"score {hit.score:.4g}"
    if hit.use:
        score += f", {hit.use:.2g} of it for its use"
    head = join([Text.assemble("Why ", name, f" is number {rank:,}"), Text(order), Text(score)])
    lines = [head]
    if hit.reason:
        lines.append(Text("  ").append_text(said(hit.reason)))
    for match in hit.matched[:_TOLD]:
        weight = Text("" if match.weight is None else f"  weight {match.weight:g}", "dim")
        told = _told(match, words, width - 2 - weight.cell_len)
        told.truncate(max(width - 2 - weight.cell_len, _CONTEXT), overflow="ellipsis")
        lines.append(Text.assemble("  ", told, weight))
    more = len(hit.matched) - _TOLD
    if more > 0:
        lines.append(Text(f"  … {more} more fields matched", "dim"))
    if not hit.matched:
        nothing = (
            "  the server names no field that matched"
            if words
            else ("  nothing was searched for, so nothing ranks it")
        )
        lines.append(Text(nothing, "dim italic"))
    return lines


def _told(match: "Match", words: str, width: int) -> Text:
    where = said(f"{_WHERE.get(match.field, match.field)} ", "dim")
    value = FieldPath(match.value).simple if match.field == "fieldPaths" else Urn.label(match.value)
    shown = preview(_around(value, words, max(width - where.cell_len - 2, _CONTEXT)))
    return Text.assemble(where, " ", marked(shown, words))


def _around(value: str, words: str, width: int) -> str:
    """The part of a long value that holds the first word that is in it."""
    value = line(value)
    if len(value) <= width:
        return value
    lowered = value.lower()
    places = [at for word in words.lower().split() if (at := lowered.find(word)) >= 0]
    at = min(places, default=0)
    return f"…{value[at - _CONTEXT :]}" if at > width // 2 else value


PAGE = 50
MOST_RESULTS = 10_000
"""How far servers let a result be paged, but for our own."""

_WIDE = 84


class ResultKeys(Protocol):
    """What the keys of the results do, done by what is around them. Called at once and not told
    by messages: the next key is on its way already."""

    def open_result(self, index: int) -> None:
        """Open what is in a row."""
        ...

    def need_page(self, start: int) -> None:
        """Read the page that begins at a row."""
        ...

    def results_key(self, what: str) -> None:
        """Do what a key stands for."""
        ...

    def keeps(self, event: events.Key) -> bool:
        """Whether a key is kept for the page that is about to open."""
        ...

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Look at what was pasted."""
        ...


class Results(Rows):
    """What was found, in its order. It is as long as the whole result; pages that were not read
    yet are asked for as they come into view."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("results")

    def __init__(self, keys: ResultKeys) -> None:
        super().__init__(row_height=2)
        self.hits: dict[int, Hit] = {}
        self.total = 0
        self.known: dict[Urn, Entity] = {}
        self.drafts: frozenset[str] = frozenset()
        """The URNs of entities of which there are drafts."""
        self.stopped_at: int | None = None
        self._marked: dict[Urn, None] = {}
        self._unreadable: dict[int, str] = {}
        self._query = ""
        self._does = keys

    def show_page(
        self,
        page: "SearchPage",
        known: Mapping[Urn, "Entity"],
        query: str,
        *,
        cursor: int = 0,
        empty: str = "",
        most: int | None = MOST_RESULTS,
    ) -> None:
        """Show a first page instead of what was there; `query` are the words to mark, `most` is how
        far the server lets the result be paged."""
        self.hits, self._unreadable, self.known = {}, {}, dict(known)
        self.total, self._query = page.total, query
        self.stopped_at = most if most is not None and page.total > most else None
        self._keep(page)
        if cursor == 0:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.show(self.stopped_at or page.total, self._draw_hit, cursor=cursor, empty=empty)

    def add_page(self, page: "SearchPage", known: Mapping[Urn, "Entity"]) -> None:
        """Show a further page in its place."""
        self.known.update(known)
        self._keep(page)
        if page.end < min(page.start + PAGE, self.count):
            # The server gives no more, whatever it counted.
            self.stopped_at = page.end
            self.grow(page.end)
            self.move_to(min(self.cursor, page.end - 1))
        self.refresh()

    def update_known(self, known: Mapping[Urn, "Entity"]) -> None:
        """Say what entities among the results are now; rows stay where they are."""
        self.known.update(known)
        self.refresh()

    @property
    def marked(self) -> tuple[Urn, ...]:
        """The results that are marked, in the order in which they were."""
        return tuple(self._marked)

    def unmark(self) -> None:
        """Mark nothing any more."""
        if self._marked:
            self._marked.clear()
            self.refresh()
            self.refresh_bindings()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark off, and go on to the next."""
        urn = self.urn_at(self.cursor)
        if urn is None:
            return
        if self._marked.pop(urn, urn) is urn:
            self._marked[urn] = None
        self.refresh()
        self.refresh_bindings()
        self.move_to(self.cursor + 1)
        self._does.results_key("seen")

    def action_unmark(self) -> None:
        """Unmark all rows."""
        self.unmark()
        self._does.results_key("seen")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Marks can be taken off where there are any."""
        if action == "unmark":
            return bool(self._marked)
        return super().check_action(action, parameters)

    def urn_at(self, index: int) -> Urn | None:
        """The URN of a row; nothing for one that was not read yet."""
        hit = self.hits.get(index)
        return hit.urn if hit else None

    @property
    def in_view(self) -> tuple[int, int]:
        """The first and the last row that are seen as a whole, counted from 0."""
        first = -(-int(self.scroll_offset.y) // self.row_height)
        height = max(self.scrollable_content_region.height // self.row_height, 1)
        return first, min(first + height, self.count) - 1

    def missing(self) -> int | None:
        """Where the first page begins that is in view and was not read."""
        first, last = self.in_view
        for row in range(max(first - 1, 0), min(last + 2, self.count)):
            if row not in self.hits and row not in self._unreadable:
                return row // PAGE * PAGE
        return None

    def tell_moved(self) -> None:
        """Nothing around the list follows its cursor."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Read what has come into view, and tell which rows these are."""
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def on_resize(self, event: events.Resize | None = None) -> None:
        """As much is in view as there is room for."""
        del event
        # Textual has the list's own part done too, and that brings the cursor into view.
        self.call_next(self._look)

    def _look(self) -> None:
        start = self.missing()
        if start is not None:
            self._does.need_page(start)
        self._does.results_key("seen")

    def move_to(self, index: int) -> None:
        """Move the cursor; what is told of the row follows it."""
        before = self.cursor
        super().move_to(index)
        if self.cursor != before:
            self._does.results_key("moved")

    def jump_to(self, index: int) -> None:
        """Put the cursor on a row, as far up on the screen as it goes."""
        self.move_to(index)
        self.scroll_to(y=self.cursor * self.row_height, animate=False, immediate=True)

    def action_choose(self) -> None:
        """Open what is under the cursor; before the answer is there, what comes first in it."""
        self._does.open_result(self.cursor)

    def action_next_page(self) -> None:
        """To the next fifty."""
        following = (self.cursor // PAGE + 1) * PAGE
        if following < self.count:
            self.jump_to(following)

    def action_previous_page(self) -> None:
        """To the fifty before."""
        self.jump_to(max(self.cursor // PAGE - 1, 0) * PAGE)

    def action_do(self, what: str) -> None:
        """Something that the view around the list does."""
        self._does.results_key(what)

    def action_facet(self, number: int) -> None:
        """Filter by the facet value with that number."""
        self._does.results_key(str(number))

    def on_key(self, event: events.Key) -> None:
        """A key for the page that is about to open is not for this list."""
        if self._does.keeps(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """The URN of an entity, pasted, is gone to."""
        event.stop()
        self._does.pasted(event.text[:_PASTED], is_cut=False, into_empty=True)

    def _keep(self, page: "SearchPage") -> None:
        for at, hit in enumerate(page.hits, page.start):
            self.hits[at] = hit
        # Nothing says where among the others the server had them.
        for at, text in enumerate(page.unreadable, page.start + len(page.hits)):
            self._unreadable[at] = text

    def _draw_hit(self, index: int, width: int) -> tuple[Text, Text]:
        hit = self.hits.get(index)
        if hit is None:
            text = self._unreadable.get(index)
            if text is None:
                return Text(" …", "dim"), Text()
            return Text(f" {line(text, 200)}", "bold"), Text("   no URN, so not opened", "dim")
        entity = self.known.get(hit.urn)
        right = min(46 if width >= _WIDE else 28, width * 2 // 5)
        left = width - right - 2
        name = said(entity.name if entity else hit.urn.name, "bold")
        first = Text(MARK if hit.urn in self._marked else " ", "bold")
        first.append_text(padded(marked(name, self._query), left)).append(" ")
        first.append_text(padded(self._kind(hit, entity), right))
        matched = match_line(hit, self._query, left - 2)
        described = preview(entity.description if entity else "", "dim", "no description")
        place = said(_place(hit, entity), "dim")
        second = Text("   ")
        if matched.plain:
            second.append_text(padded(matched, left - 2))
        else:
            second.append_text(padded(marked(described, self._query), left - 2))
        second.append(" ").append_text(padded(place, right))
        return first, second

    def _kind(self, hit: "Hit", entity: "Entity | None") -> Text:
        platform = (entity.platform if entity else hit.urn.platform) or ""
        kind = singular(entity.kind if entity else hit.urn.entity_type)
        text = join([said(kind), said(platform, "bold"), said(hit.urn.origin or "", "dim")])
        if self.drafts and str(hit.urn) in self.drafts:
            text = Text.assemble((" draft ", "reverse"), " ", text)
        if entity and entity.deprecation:
            text = Text.assemble(("deprecated ", "bold"), text)
        if entity and entity.removed:
            text = Text.assemble((" SOFT-DELETED ", "bold reverse"), " ", text)
        return text


_PASTED = 10_000


def _place(hit: "Hit", entity: "Entity | None") -> str:
    """What tells entities of one name apart: the folders in a dataset's name."""
    del entity
    parts = hit.urn.parts
    return parts[1].rpartition(".")[0] if len(parts) == 3 else ""


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
class ResultCount:
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


def count_line(found: ResultCount, width: int) -> Text:
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
        text.append(_page_in_view(found.seen, found))
    if found.has_words or found.order:
        text.append(f" · {order_label(found.order, has_words=found.has_words)}")
    if found.stopped_at is not None and found.stopped_at < found.total:
        stop = f" · the server stops at {found.stopped_at:,}"
        text.append(
            stop if text.cell_len + len(stop) <= width else f" · stops at {found.stopped_at:,}",
            "bold",
        )
    return text


def _page_in_view(seen: tuple[int, int], found: ResultCount) -> str:
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
