"""The text area: it keeps line ends, highlights Markdown, and wraps long texts quickly.

Textual's document drops the line ends, joins all lines with one kind of line end, and also breaks
lines at characters that are not line ends elsewhere. Here a line ends at CR, LF or CRLF and keeps
its own end. Characters that would drive the terminal are drawn as marks; the text itself is not
changed.
"""

import operator
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import ClassVar, Literal, SupportsIndex, overload

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.expand_tabs import expand_tabs_inline, get_tab_widths
from textual.geometry import Offset, Size, clamp
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import (
    Document,
    DocumentBase,
    DocumentNavigator,
    Edit,
    EditResult,
    Location,
    Selection,
    WrappedDocument,
)

from explorer.client.display import visible
from explorer.tui.actions import actions_of, bindings
from explorer.tui.widgets.bars import KeyLine

# Lone surrogates, which occur in no text. The first breaks a line that is too long to be redrawn at
# every key; the second follows a single CR, so that a following LF does not turn it into CRLF.
_FOLD = "\udfff"
_ALONE = "\udffe"
_INNER = re.compile(f"[{_FOLD}{_ALONE}]")
# Lines longer than the first limit are folded into parts of about the second, which are drawn
# quickly.
_LONGEST = 2_000
_FOLD_AT = 480
_ENDS = re.compile(f"\r\n|\r{_ALONE}?|\n|{_FOLD}")
_UNUSUAL_END = re.compile(f"[\r{_FOLD}{_ALONE}]")
_LINE = re.compile("[^\r\n]+")


_LineEnd = Literal["\r\n", "\n", "\r"]


class ExactDocument(DocumentBase):
    """A text as lines with their ends. A fold breaks a long line for the display: it is not part of
    the text, but the cursor stops at it."""

    def __init__(self, text: str) -> None:
        self.revision = 0
        """The number of changes to the text so far."""
        self._raw, self._ends = _split(fold_long_lines(text))
        self._lines = [_format_key(line) for line in self._raw]
        self._newline = _usual(self._ends)
        self._text: tuple[int, str] | None = None

    @property
    def text(self) -> str:
        """Return the exact text. It is cached until the next change, because a text area asks for
        it at every line that it draws."""
        if self._text is None or self._text[0] != self.revision:
            text = "".join(chain.from_iterable(zip(self._raw, self._ends, strict=True)))
            self._text = self.revision, text.replace(_FOLD, "")
        return self._text[1]

    @property
    def newline(self) -> _LineEnd:
        """Return the line end that most lines of the initial text had."""
        return self._newline

    @property
    def lines(self) -> list[str]:
        """Return the lines for drawing: with marks, without line ends."""
        return self._lines

    @property
    def line_count(self) -> int:
        """Return the number of lines; at least one."""
        return len(self._lines)

    @property
    def start(self) -> Location:
        """Return the place before the first character."""
        return (0, 0)

    @property
    def end(self) -> Location:
        """Return the place after the last character."""
        return (len(self._lines) - 1, len(self._lines[-1]))

    @overload
    def __getitem__(self, line_index: int) -> str: ...
    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...
    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        """Return a line, or several, for drawing."""
        return self._lines[line_index]

    def get_line(self, index: int) -> str:
        """Return a line for drawing; an empty text beyond the last line."""
        return self._lines[index] if index < len(self._lines) else ""

    def get_size(self, indent_width: int) -> Size:
        """Return the width of the longest line in cells, and the number of lines."""
        widths = (cell_len(line.expandtabs(indent_width)) for line in self._lines)
        return Size(max(widths), len(self._lines))

    def get_text_range(self, start: Location, end: Location) -> str:
        """Return the exact text between two places."""
        top, bottom = sorted((start, end))
        return _INNER.sub("", self._exact(top, bottom))

    def is_folded_before(self, row: int) -> bool:
        """Return whether there is only a fold, no line end, between a line and the line above."""
        return 0 < row < len(self._ends) and self._ends[row - 1] == _FOLD

    def line_ends(self) -> str:
        """Return the names of the line ends if they are unusual; an empty text for LF alone."""
        kinds = {_NAMES[end] for end in self._ends[:-1] if end != _FOLD}
        if not kinds - {"LF"}:
            return ""
        return f"{' and '.join(sorted(kinds))} line ends"

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace the text between two places. The result has the replaced text with its exact line
        ends."""
        self.revision += 1
        top, bottom = sorted((start, end))
        replaced = self._exact(top, bottom)
        before = self._raw[top[0]][: top[1]] if top[0] < len(self._raw) else ""
        after = self._raw[bottom[0]][bottom[1] :] if bottom[0] < len(self._raw) else ""
        raw, ends = _split(text)
        last = self._ends[bottom[0]] if bottom[0] < len(self._ends) else ""
        raw[0] = before + raw[0]
        stop = (top[0] + len(raw) - 1, len(raw[-1]))
        raw[-1] += after
        ends[-1] = last
        rows = slice(top[0], bottom[0] + 1)
        self._raw[rows], self._ends[rows] = raw, ends
        self._lines[rows] = [_format_key(line) for line in raw]
        return EditResult(stop, replaced)

    def _exact(self, top: Location, bottom: Location) -> str:
        (first, start), (last, end) = top, bottom
        if first == last:
            return self._raw[first][start:end]
        parts = [self._raw[first][start:], _SAFE.get(self._ends[first], self._ends[first])]
        for row in range(first + 1, min(last, len(self._raw))):
            parts += (self._raw[row], _SAFE.get(self._ends[row], self._ends[row]))
        if last < len(self._raw):
            parts.append(self._raw[last][:end])
        return "".join(parts)


def fold_long_lines(text: str) -> str:
    """Return the text with folds in lines of thousands of characters."""
    # A quick check by LF alone is safe: lines that end at CR are only shorter.
    if len(max(text.split("\n"), key=len)) <= _LONGEST:
        return text
    return _LINE.sub(_fold, text)


_SAFE = {"\r": f"\r{_ALONE}"}
_NAMES = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of a text and their ends; the last end is empty."""
    if not _UNUSUAL_END.search(text):
        lines = text.split("\n")
        return lines, ["\n"] * (len(lines) - 1) + [""]
    lines = []
    ends: list[str] = []
    at = 0
    for match in _ENDS.finditer(text):
        lines.append(text[at : match.start()])
        ends.append(match[0].rstrip(_ALONE))
        at = match.end()
    return [*lines, text[at:]], [*ends, ""]


def _fold(match: re.Match[str]) -> str:
    line = match[0]
    if len(line) <= _LONGEST:
        return line
    return _FOLD.join(line[at : at + _FOLD_AT] for at in range(0, len(line), _FOLD_AT))


def _format_key(line: str) -> str:
    return line if line.isprintable() else visible(line)


def _usual(ends: Sequence[str]) -> _LineEnd:
    """Return the line end that most lines have."""
    counted = Counter(end for end in ends if end in _NAMES)
    for kind in ("\r\n", "\n", "\r"):
        if counted[kind] and counted[kind] == max(counted.values()):
            return kind
    return "\n"


SpanKind = Literal["heading", "strong", "emphasis", "code", "link", "mark", "quote"]

FENCE = re.compile(r" {0,3}(?:```|~~~)")
# Longer texts are not highlighted: nobody writes them by hand.
_LINES_LIMIT = 20_000
_LENGTH_LIMIT = 2_000

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_QUOTE = re.compile(r"\s*>")
_START = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?=\s)(?:\s+\[[ xX]\](?=\s))?")
_RULE = re.compile(r" {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE: Mapping[SpanKind, re.Pattern[str]] = {
    "strong": re.compile(r"(\*\*|__)(?=\S).+?(?<=\S)\1"),
    "emphasis": re.compile(
        r"(?<![*\w\\])\*(?![*\s])[^*]+(?<![\s*])\*(?!\*)|(?<![\w\\])_(?![_\s])[^_]+_(?!\w)"
    ),
    "link": re.compile(r"!?\[[^\]]*\]\([^)]*\)|<?\bhttps?://[^\s)>]+>?"),
    "mark": re.compile(r"(?<!\\)\||<!--.*?-->"),
}


def fenced_rows(lines: Sequence[str]) -> frozenset[int]:
    """Return the rows of fenced code, including the fences. A fence that is never closed includes
    all rows after it."""
    inside = ""
    rows: list[int] = []
    for row, line in enumerate(lines[:_LINES_LIMIT]):
        # Most lines contain neither character, and this check is faster than the pattern.
        if ("```" in line or "~~~" in line) and FENCE.match(line):
            fence = line.lstrip()[:3]
            rows.append(row)
            inside = "" if inside == fence else inside or fence
        elif inside:
            rows.append(row)
    return frozenset(rows)


def spans(line: str) -> Iterator[tuple[int, int, SpanKind]]:
    """Yield the start, end and kind of each piece of Markdown in a line outside fences."""
    line = line[:_LENGTH_LIMIT]
    if _HEADING.match(line):
        yield 0, len(line), "heading"
    elif _RULE.match(line):
        yield 0, len(line), "mark"
        return
    elif quote := _QUOTE.match(line):
        yield 0, len(line), "quote"
        yield quote.start(), quote.end(), "mark"
    elif start := _START.match(line):
        yield start.start(), start.end(), "mark"
    codes = [match.span() for match in _CODE.finditer(line)] if "`" in line else []
    for kind, pattern in _INLINE.items():
        for match in pattern.finditer(line):
            at, end = match.span()
            if not any(first <= at < last for first, last in codes):
                yield at, end, kind
    for first, last in codes:
        yield first, last, "code"


# Matches lines where every character takes one cell and the only white space is the blank.
_NARROW = re.compile("[ -~¡-ʯ]*")


def _narrow_breaks(line: str, width: int) -> list[int] | None:
    """Return the columns at which a line is broken to a width in cells, always before a word.

    None if counting characters is not enough: a character may not be one cell wide, or a word is
    longer than the width.
    """
    if not (line.isprintable() and (line.isascii() or _NARROW.fullmatch(line))):
        return None
    breaks: list[int] = []
    start = 0
    while len(line) - start > width > 0:
        end = start + width
        if line[end] == " ":
            # The blanks after a word count as part of it.
            end = start + len(line[start:end].rstrip(" "))
        following = line.rfind(" ", start, end) + 1
        if following <= start:
            return None
        breaks.append(following)
        start = following
    return breaks


class _LineOfRow(list[tuple[int, int]]):
    """For each row of a wrapped text, its line and its part of that line. Computed on access,
    because a text of 200 kB has thousands of rows and a screen shows forty."""

    def __init__(self, first_rows: list[int]) -> None:
        super().__init__()
        self._first_rows = first_rows

    def __getitem__(self, row: SupportsIndex) -> tuple[int, int]:  # type: ignore[override]
        """Return the line of a row and its part of that line, both from 0. Raise `IndexError` for
        other rows."""
        at = operator.index(row)
        if not 0 <= at < self._first_rows[-1]:
            raise IndexError(at)
        line = bisect_right(self._first_rows, at) - 1
        return line, at - self._first_rows[line]


class FastWrappedDocument(WrappedDocument):
    """A faster replacement for its parent, which counts the lines of the whole text at every line
    drawn, measures every word, and builds two lists and a tuple for every line. A text is not
    wrapped again for the same width: a text area asks for that several times during its layout."""

    document: ExactDocument

    def __init__(self, document: ExactDocument, width: int = 0, tab_width: int = 4) -> None:
        self._wrapped_for = (-1, -1, -1)
        self._breaks: list[list[int]] = []
        # The first row of every line, and at the end the number of all rows.
        self._first_rows = [0]
        super().__init__(document, width, tab_width)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap every line to a width in cells, unless that was done already."""
        tab = tab_width or self._wrapped_for[1]
        wrapped_for = (width, tab, self.document.revision)
        if wrapped_for != self._wrapped_for:
            self._wrapped_for, self._tab_width = wrapped_for, tab
            self._breaks = self._breaks_of(self.document.lines)
            self._number_rows(0)

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Wrap the changed lines again."""
        last = len(self._breaks) - 1
        top, bottom = sorted((min(start[0], last), min(old_end[0], last)))
        new_bottom = max(top, start[0], new_end[0])
        width, tab, _ = self._wrapped_for
        self._wrapped_for = (width, tab, self.document.revision)
        self._breaks[top : bottom + 1] = self._breaks_of(self.document.lines[top : new_bottom + 1])
        self._number_rows(top)

    def _breaks_of(self, lines: Sequence[str]) -> list[list[int]]:
        """Return for each line the columns at which it is broken. Lines on one row share an empty
        list, which must not be changed."""
        width, tab, _ = self._wrapped_for
        unbroken: list[int] = []
        breaks_by_line = [unbroken] * len(lines)
        for index, line in enumerate(lines if width else ()):
            if len(line) <= width and line.isascii() and "\t" not in line:
                continue
            breaks = _narrow_breaks(line, width)
            if breaks is None:
                breaks = WrappedDocument(Document(line), width, tab).get_offsets(0)
            breaks_by_line[index] = breaks
        return breaks_by_line

    def _number_rows(self, top: int) -> None:
        """Number the rows from the line `top` on."""
        heights = (len(breaks) + 1 for breaks in self._breaks[top:])
        self._first_rows[top:] = accumulate(heights, initial=self._first_rows[top])
        # The text area reads this attribute directly.
        self._offset_to_line_info = _LineOfRow(self._first_rows)

    @property
    def wrapped(self) -> bool:
        """Return whether every line is on one row; despite its name, so does the parent's
        property."""
        return self.height == len(self._breaks)

    @property
    def lines(self) -> list[list[str]]:
        """Return the parts of every line."""
        return [self.get_sections(index) for index in range(len(self._breaks))]

    @property
    def height(self) -> int:
        """Return the number of rows of the whole text."""
        return self._first_rows[-1]

    def offset_to_location(self, offset: Offset) -> Location:
        """Return the place in the text that is nearest to a column and a row on the screen."""
        x, y = offset
        line, part = self._offset_to_line_info[clamp(y, 0, self.height - 1)]
        return line, self.get_target_document_column(line, max(x, 0), part)

    def location_to_offset(self, location: Location) -> Offset:
        """Return the column in cells and the row on the screen of a place in the text."""
        line, column = location
        breaks = self.get_offsets(line)
        part = bisect_right(breaks, column)
        before = self.document[line][breaks[part - 1] if part else 0 : column]
        cells = cell_len(expand_tabs_inline(before, self._wrapped_for[1]))
        return Offset(cells, self._first_rows[line] + part)

    def get_sections(self, line_index: int) -> list[str]:
        """Return the parts of a line, one for each row."""
        line, breaks = self.document[line_index], self.get_offsets(line_index)
        return [line[start:end] for start, end in pairwise((0, *breaks, len(line)))]

    def get_offsets(self, line_index: int) -> list[int]:
        """Return the columns at which a line is broken. Raise `ValueError` if there is no such
        line."""
        if not 0 <= line_index < len(self._breaks):
            raise ValueError(f"There is no line {line_index}: there are {len(self._breaks)}.")
        return self._breaks[line_index]

    def get_tab_widths(self, line_index: int) -> list[int]:
        """Return the widths of the tabs of a line in cells."""
        sections = get_tab_widths(self.document[line_index], self._wrapped_for[1])
        return [width for _, width in sections]


_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def _inherit_bindings() -> list[BindingType]:
    """Return Textual's key bindings of a text area, without keys that have another action in the
    editor."""
    editor_keys = {
        key for scope in ("text", "editor") for action in actions_of(scope) for key in action.keys
    }
    base_bindings: list[BindingType] = []
    for binding in TextArea.BINDINGS:
        if isinstance(binding, Binding):
            keys = [key for key in binding.key.split(",") if key not in editor_keys]
            if keys:
                base_bindings.append(
                    Binding(",".join(keys), binding.action, binding.description, show=False)
                )
    return base_bindings


class DescriptionArea(TextArea, inherit_bindings=False):
    """A text area that keeps line ends, and shows characters that would drive the terminal as
    marks."""

    BINDINGS: ClassVar[list[BindingType]] = [*_inherit_bindings(), *bindings("text")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "area--heading",
        "area--strong",
        "area--emphasis",
        "area--code",
        "area--link",
        "area--mark",
        "area--quote",
    }
    DEFAULT_CSS = """
    DescriptionArea > .area--heading { color: $text-primary; text-style: bold; }
    DescriptionArea > .area--strong { text-style: bold; }
    DescriptionArea > .area--emphasis { text-style: italic; }
    DescriptionArea > .area--code { color: $text-accent; }
    DescriptionArea > .area--link { color: $text-primary; text-style: underline; }
    DescriptionArea > .area--mark { color: $text-muted; text-style: bold; }
    DescriptionArea > .area--quote { color: $text-muted; text-style: italic; }
    """

    class Typed(Message):
        """Something was typed or pasted."""

    def __init__(self, text: str) -> None:
        self._fenced: frozenset[int] | None = None
        self._state: Literal["open", "waits", "deaf"] = "open"
        self._held: deque[events.Key | events.Paste] = deque()
        self._is_catching_up = False
        self._give_up: Callable[[], None] | None = None
        super().__init__(soft_wrap=True)
        self.cursor_blink = False
        # Bracket matching would search the whole text at every move.
        self.match_cursor_bracket = False
        self._load_document(text)

    @property
    def exact(self) -> ExactDocument:
        """Return the edited document, with its line ends."""
        document = self.document
        return document if isinstance(document, ExactDocument) else ExactDocument(document.text)

    def load_text(self, text: str) -> None:
        """Replace the text, and clear the undo history."""
        super().load_text("")
        self._load_document(text)

    def open_text(self, text: str) -> None:
        """Replace the text, clear the undo history, and put the cursor at the end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def replace_all(self, text: str) -> None:
        """Replace the text by an edit that undo can revert; put the cursor at the end."""
        if text != self.text:
            self.history.checkpoint()
            self.replace(text, self.document.start, self.document.end)
            self.move_cursor(self.document.end)

    def hold(self, give_up: Callable[[], None] | None = None) -> None:
        """Queue every key from now on, until `go_on` processes them in order. With `give_up`,
        escape is not queued but calls it."""
        self._state, self._give_up = "waits", give_up

    def ignore(self) -> None:
        """Drop the queued keys, and all further keys: there is no text for them."""
        self._state = "deaf"
        self._held.clear()

    @property
    def is_waiting(self) -> bool:
        """Return whether keys are queued, or the next key would be."""
        return self._state == "waits" or self._is_catching_up or bool(self._held)

    @property
    def has_held(self) -> bool:
        """Return whether a key is queued."""
        return bool(self._held)

    def drop_held(self) -> None:
        """Drop the queued keys."""
        self._held.clear()

    async def go_on(self) -> None:
        """Stop queueing, and process the queued keys in order until a key calls `hold` again."""
        self._state, self._give_up = "open", None
        if self._is_catching_up:
            return
        self._is_catching_up = True
        try:
            while self._held and self._state == "open":
                await self._do(self._held.popleft())
        finally:
            self._is_catching_up = False

    def on_resize(self) -> None:
        """Repaint the text, and scroll the cursor into view.

        Textual wraps the text only after it has painted the screen at the new size, and repaints
        only if the number of lines changed.
        """
        self.refresh()
        self.call_next(self.scroll_cursor_visible)

    def undo(self) -> None:
        """Undo the last group of edits."""
        self._run_edits(super().undo)

    def redo(self) -> None:
        """Redo the edits that were undone last."""
        self._run_edits(super().redo)

    def _run_edits(self, change: Callable[[], None]) -> None:
        """Run a change of many edits with the cursor at the start of the text, because the cursor
        is read between the edits, when its old place may be gone."""
        was, before = self.selection, self.exact.revision
        self._fenced = None
        self.set_reactive(TextArea.selection, Selection.cursor((0, 0)))
        change()
        if self.exact.revision == before:
            self.set_reactive(TextArea.selection, was)

    def action_to_start(self) -> None:
        """Move the cursor to the start of the text."""
        self.move_cursor(self.document.start)

    def action_to_end(self) -> None:
        """Move the cursor to the end of the text."""
        self.move_cursor(self.document.end)

    def action_indent(self) -> None:
        """Insert four spaces, the indent of Markdown."""
        self._type("    ")

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit, with folds in long lines of its text."""
        self._fenced = None
        edit.text = fold_long_lines(edit.text)
        return super().edit(edit)

    def action_delete_left(self) -> None:
        """Delete the character before the cursor, even across a fold."""
        row, column = self.cursor_location
        if self.selection.is_empty and column == 0 and self.exact.is_folded_before(row):
            self.move_cursor((row - 1, len(self.document.get_line(row - 1))))
        super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete the character under the cursor, even across a fold."""
        row, column = self.cursor_location
        at_end = column == len(self.document.get_line(row))
        if self.selection.is_empty and at_end and self.exact.is_folded_before(row + 1):
            self.move_cursor((row + 1, 0))
        super().action_delete_right()

    def get_line(self, line_index: int) -> Text:
        """Return a line with its Markdown highlighted."""
        line = super().get_line(line_index)
        if self._fenced is None:
            self._fenced = fenced_rows(self.exact.lines)
        if line_index in self._fenced:
            line.stylize(self.get_component_rich_style("area--code", partial=True))
            return line
        for start, end, kind in spans(line.plain):
            line.stylize(self.get_component_rich_style(f"area--{kind}", partial=True), start, end)
        return line

    def _type(self, text: str) -> None:
        """Insert a text at the cursor in place of the selection."""
        self.post_message(self.Typed())
        # Typed and pasted line ends become those of the text.
        newline = self.document.newline
        exact = _LINE_ENDS.sub(lambda _: newline, text)
        done = self.replace(exact, *self.selection, maintain_selection_offset=False)
        self.move_cursor(done.end_location)

    async def on_key(self, event: events.Key) -> None:
        if self._state == "open" and not self._is_catching_up:
            if not await self._do(event):
                # Not a key of the editor: let it bubble up.
                return
        elif event.key == "escape" and self._give_up is not None:
            self._give_up()
        elif self._state != "deaf":
            self._held.append(events.Key(event.key, event.character))
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._state == "open" and not self._is_catching_up:
            self._type(event.text)
        elif self._state != "deaf":
            self._held.append(events.Paste(event.text))

    async def _do(self, event: events.Key | events.Paste) -> bool:
        """Handle a key or a paste; return whether it has an effect here.

        Such a key does not bubble up: its action would run only after the letters that follow it.
        """
        if isinstance(event, events.Paste):
            self._type(event.text)
        elif event.key == "enter" or (event.is_printable and event.character):
            self._type("\n" if event.key == "enter" else event.character or "")
        else:
            bound = self.screen.active_bindings.get(event.key)
            if bound is None or bound.node not in (self, self.screen):
                return False
            for line in self.screen.query_children(KeyLine):
                line.hush()
            if bound.enabled:
                await self.app.run_action(bound.binding.action, bound.node)
        return True

    def _load_document(self, text: str) -> None:
        """Replace Textual's document, which knows only one line end, by one with this text."""
        self._fenced = None
        document = ExactDocument(text)
        self.document = document
        self.wrapped_document = FastWrappedDocument(document, self.wrap_width, self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.virtual_size = Size(0, self.wrapped_document.height)
        self.refresh()
