"""The search box, its text as words and a filter, and the completions below it.

In the text, in any order, a word followed by an operator, as in `platform:snowflake`, begins a
condition. Conditions with AND, OR, NOT and parentheses are the filter; all other words are searched
for. Results match the words and the filter.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Protocol

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from explorer.metadata.names import singular
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax, read_filter, write_filter
from explorer.query.fields import ENTITY_TYPE, FieldGuide, guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.tokens import FIELD, KEYWORD, OPERATOR
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
    "Query",
    "SearchBox",
    "SearchCompletion",
    "completions_for",
    "condition_text",
]

_NEGATIONS = re.compile(r"[-(]*")
_QUOTED_FIELD = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_NOT_OPERATORS: Final = ("://", "::")
_INSIDE = re.compile(rf"(?:^|[\s(-])\w[\w.$@/-]*\s*(?:{OPERATOR.pattern})")
_WORDED = re.compile(
    r"\s+(?:IS\s+(?:NOT\s+)?NULL(?=[\s)]|$)|((?:NOT\s+)?IN\s*)(?=\())", re.IGNORECASE
)
_SPACED = re.compile(rf"\s+(?:{OPERATOR.pattern})")
_BEFORE_QUOTE: Final = ":=~<>(,"
_EQUALITIES: Final = ("EQUAL", "IN")

QueryPartKind = Literal["word", "condition", "keyword"]


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A part of the text between white space, or a whole condition."""

    kind: QueryPartKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Query:
    """The text split into words and filter. `runs` are the stretches of the text that are filter,
    each complete in itself."""

    text: str
    parts: tuple[QueryPart, ...]
    words: str
    runs: tuple[tuple[int, int], ...]
    fault: FilterSyntax | None = None

    @classmethod
    def split(cls, text: str, guide: FieldGuide) -> "Query":
        """Split a text into words and filter, without parsing the filter."""
        parts = tuple(_parts(text, guide))
        words: list[QueryPart] = []
        runs: list[tuple[int, int]] = []
        pending: list[QueryPart] = []
        fault = None
        last: QueryPartKind | None = None
        for part in parts:
            if part.kind == "keyword":
                pending.append(part)
                continue
            if last is None or last == part.kind:
                if part.kind == "word":
                    words.extend(pending)
                elif last is None:
                    runs.append((pending[0].start if pending else part.start, part.end))
                else:
                    runs[-1] = (runs[-1][0], part.end)
            else:
                joins = [one for one in pending if not _is(text, one, "NOT")]
                nots = [one for one in pending if _is(text, one, "NOT")]
                alternative = next((one for one in joins if _is(text, one, "OR")), None)
                if alternative is not None and fault is None:
                    fault = FilterSyntax(
                        text,
                        alternative.start,
                        2,
                        "words cannot be alternatives to a condition; write them as a condition, "
                        "such as name:*orders*",
                    )
                if part.kind == "word":
                    words.extend(nots)
                else:
                    runs.append((nots[0].start if nots else part.start, part.end))
            if part.kind == "word":
                words.append(part)
            pending, last = [], part.kind
        if last == "condition" and pending:
            runs[-1] = (runs[-1][0], pending[-1].end)
        elif pending:
            words.extend(pending)
        line_text = " ".join(text[one.start : one.end] for one in words)
        return cls(text, parts, line_text, tuple(runs), fault)

    def filter(self, registry: Registry) -> Filter:
        """Parse the filter. Raises `FilterSyntax` with a position in the whole text."""
        if self.fault is not None:
            raise self.fault
        found = Filter()
        for start, end in self.runs:
            found = found.and_(self._read(start, end, registry))
        return found

    def chosen(self, registry: Registry) -> dict[str, tuple[str, ...]]:
        """Return the values of which fields must have one: those that the facets show as chosen."""
        found: dict[str, tuple[str, ...]] = {}
        for _, criterion in self._plain(registry):
            found.setdefault(criterion.field, criterion.values)
        return found

    def beyond(self, field: str, registry: Registry) -> Filter:
        """Return the filter for the results that another value of a field would add: all other
        conditions, and none of the chosen values."""
        for part, criterion in self._plain(registry):
            if criterion.field == field:
                rest = Query.split(self._without(part), guide_to(registry)).filter(registry)
                return rest.and_(all_of(replace(criterion, negated=True)))
        return self.filter(registry)

    def toggled(self, field: str, value: str, registry: Registry) -> str:
        """Return the text with a value of a field added, or removed if it was there."""
        for part, criterion in self._plain(registry):
            if criterion.field != field:
                continue
            values = tuple(one for one in criterion.values if one != value)
            if len(values) == len(criterion.values):
                values = (*values, value)
            if not values:
                return self._without(part)
            changed = condition_text(Criterion(field, values), registry)
            return self.text[: part.start] + changed + self.text[part.end :]
        return self.narrowed(condition_text(Criterion(field, (value,)), registry))

    def narrowed(self, condition: str) -> str:
        """Return the text with a further condition joined by AND."""
        text = self.text.rstrip()
        if not self.runs or self.runs[-1][1] < len(text):
            return f"{text} {condition}".lstrip()
        start, end = self.runs[-1]
        if self._has_or(start, end):
            text = f"{text[:start]}({text[start:end]})"
        return f"{text} AND {condition}"

    def widened(self, condition: str) -> str:
        """Return the text with a condition as an alternative, joined by OR."""
        written = [self.text[start:end] for start, end in self.runs]
        if len(written) > 1:
            written = [
                f"({one})" if self._has_or(*run) else one
                for one, run in zip(written, self.runs, strict=True)
            ]
        before = " AND ".join(written)
        return f"{self.words} {before} OR {condition}".lstrip()

    @property
    def has_alternatives(self) -> bool:
        """Return whether the last stretch of filter has an OR outside parentheses."""
        return bool(self.runs) and self._has_or(*self.runs[-1])

    def run_at(self, cursor: int) -> int | None:
        """Return the start of the filter at a position of the text; None among words."""
        before = [one for one in self.parts if one.start < cursor]
        if not before or before[-1].kind == "word":
            return None
        return next(
            (start for start, end in self.runs if start < cursor and before[-1].end <= end), None
        )

    def words_at(self, cursor: int) -> tuple[int, int] | None:
        """Return the words at a position, from the first of adjacent words to the end of the one
        being typed; empty if there is none."""
        at = next((n for n, one in enumerate(self.parts) if one.start < cursor <= one.end), None)
        if at is None or self.parts[at].kind == "condition":
            return None
        if self.parts[at].kind == "keyword" and self.run_at(cursor) is not None:
            return None
        first = at
        while first and self.parts[first - 1].kind == "word":
            first -= 1
        return self.parts[first].start, self.parts[at].end

    def _read(self, start: int, end: int, registry: Registry) -> Filter:
        try:
            # Blanks replace the text before it, so that positions are those of the whole text.
            return read_filter(" " * start + self.text[start:end], registry)
        except FilterSyntax as fault:
            raise FilterSyntax(self.text, fault.position, fault.length, fault.message) from None

    def _plain(self, registry: Registry) -> Iterator[tuple[QueryPart, Criterion]]:
        """Return the conditions on one field that always have to hold."""
        for start, end in self.runs:
            if self._has_or(start, end):
                continue
            inside = self._inside(start, end)
            for at, part in enumerate(inside):
                is_turned = at > 0 and _is(self.text, inside[at - 1], "NOT")
                if part.kind != "condition" or is_turned:
                    continue
                match self._read(part.start, part.end, registry).any_of:
                    case ((Criterion(condition="EQUAL" | "IN", negated=False) as only,),):
                        yield part, only

    def _inside(self, start: int, end: int) -> list[QueryPart]:
        return [one for one in self.parts if start <= one.start < end]

    def _has_or(self, start: int, end: int) -> bool:
        return any(
            one.kind == "keyword" and _is(self.text, one, "OR") for one in self._inside(start, end)
        )

    def _without(self, part: QueryPart) -> str:
        """Return the text without a condition and the AND that joined it."""
        start, end = part.start, part.end
        at = self.parts.index(part)
        before = self.parts[at - 1] if at else None
        after = self.parts[at + 1] if at + 1 < len(self.parts) else None
        if before is not None and before.kind == "keyword" and _is(self.text, before, "AND"):
            start = before.start
        elif after is not None and after.kind == "keyword" and _is(self.text, after, "AND"):
            end = after.end
        return " ".join(
            one for one in (self.text[:start].rstrip(), self.text[end:].lstrip()) if one
        )


def condition_text(criterion: Criterion, registry: Registry) -> str:
    """Return a condition as it is typed, with the display word of an entity type."""
    text = write_filter(all_of(criterion), registry)
    if criterion.field == ENTITY_TYPE:
        short = text.replace(ENTITY_TYPE, "type", 1)
        try:
            if read_filter(short, registry) == all_of(criterion):
                return short
        except FilterSyntax:
            pass
    return text


def _is(text: str, part: QueryPart, keyword: str) -> bool:
    return text[part.start : part.end].upper() == keyword


def _parts(text: str, guide: FieldGuide) -> Iterator[QueryPart]:
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        end = _condition_end(text, at, guide)
        if end is not None:
            yield QueryPart("condition", at, end)
        else:
            end = _word_end(text, at)
            is_keyword = KEYWORD.fullmatch(text[at:end])
            yield QueryPart("keyword" if is_keyword else "word", at, end)
        at = end


def _condition_end(text: str, at: int, guide: FieldGuide) -> int | None:
    """Return the end of the condition that begins at a position; None if none does."""
    signs = _NEGATIONS.match(text, at)
    start = signs.end() if signs else at
    if "(" in text[at:start]:
        end = _word_end(text, at)
        return end if _INSIDE.search(text[at:end]) else None
    name = _QUOTED_FIELD.match(text, start) or FIELD.match(text, start)
    if name is None or name.group()[0].isdigit():
        return None
    operator = OPERATOR.match(text, name.end())
    if operator is not None:
        if text.startswith(_NOT_OPERATORS, operator.start()):
            return None
        return _value_end(text, operator.end())
    if guide.named(name.group()) is None:
        return None
    if worded := _WORDED.match(text, name.end()):
        return _word_end(text, worded.end()) if worded.group(1) else worded.end()
    if spaced := _SPACED.match(text, name.end()):
        return _value_end(text, spaced.end())
    return None


def _value_end(text: str, at: int) -> int:
    """Return the end of the value after an operator; white space may precede the value."""
    start = at
    while start < len(text) and text[start].isspace():
        start += 1
    if start == len(text) or (start > at and KEYWORD.match(text, start)):
        return at
    return _word_end(text, start)


def _word_end(text: str, at: int) -> int:
    """Return the end of the word at a position: the next white space outside quotes and
    parentheses."""
    depth, start = 0, at
    while at < len(text):
        char = text[at]
        before = text[at - 1] if at else ""
        if char == '"' or (char == "'" and before in _BEFORE_QUOTE and before):
            at = _quote_end(text, at)
            continue
        if char == "(" or (char == "[" and before in _BEFORE_QUOTE and before):
            depth += 1
        elif char in ")]" and depth:
            depth -= 1
        elif char.isspace() and not depth:
            break
        at += 1
    return max(at, start + 1)


def _quote_end(text: str, at: int) -> int:
    quote, at = text[at], at + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


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
    question: Query, cursor: int, catalog: "AsyncCatalog"
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
