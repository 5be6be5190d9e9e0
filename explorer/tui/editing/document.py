"""The text in the editor, exactly as it came: every line keeps the line end it has.

The text area that this is for knows lines without ends, joins them with one kind of line end, and
breaks them at characters that are none to anybody else. Here a line ends at CR, LF or CRLF, and
its own end is kept with it. Lines are drawn and measured as they are shown, with a mark in the
place of each character that would drive the terminal; what is sent is what was typed.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, overload

from rich.cells import cell_len
from textual.geometry import Size
from textual.widgets.text_area import DocumentBase, EditResult, Location

from explorer.client.display import visible

__all__ = ["ExactDocument", "folded"]

# No text has these, for they are no characters. One breaks a line that is too long to be drawn at
# every key; the other follows a CR of its own, so that with an LF after it it stays one.
_FOLD = "\udfff"
_ALONE = "\udffe"
_INNER = re.compile(f"[{_FOLD}{_ALONE}]")
# A long paragraph is left whole; what is longer falls into parts that are quickly drawn.
_LONGEST = 2_000
_FOLD_AT = 480
_ENDS = re.compile(f"\r\n|\r{_ALONE}?|\n|{_FOLD}")
_LINE = re.compile("[^\r\n]+")


_LineEnd = Literal["\r\n", "\n", "\r"]


class ExactDocument(DocumentBase):
    """A text as lines with their ends. Where it was folded there is nothing in the text, but the
    cursor stops there."""

    def __init__(self, text: str) -> None:
        self.revision = 0
        """How often the text was changed."""
        self._raw, self._ends = _split(folded(text))
        self._lines = [_shown(one) for one in self._raw]
        self._newline = _usual(self._ends)
        self._text: tuple[int, str] | None = None

    @property
    def text(self) -> str:
        """The text, character for character. Put together once for each change: a text area asks
        for it at every line that it draws."""
        if self._text is None or self._text[0] != self.revision:
            whole = _INNER.sub("", self._exact(self.start, self.end))
            self._text = self.revision, whole
        return self._text[1]

    @property
    def newline(self) -> _LineEnd:
        """The line end that most lines had at first."""
        return self._newline

    @property
    def lines(self) -> list[str]:
        """The lines as they are drawn, without their ends."""
        return self._lines

    @property
    def line_count(self) -> int:
        """How many lines there are; one at least."""
        return len(self._lines)

    @property
    def start(self) -> Location:
        """The place before the first character."""
        return (0, 0)

    @property
    def end(self) -> Location:
        """The place after the last character."""
        return (len(self._lines) - 1, len(self._lines[-1]))

    @overload
    def __getitem__(self, line_index: int) -> str: ...
    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...
    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        """A line, or several, as they are drawn."""
        return self._lines[line_index]

    def get_line(self, index: int) -> str:
        """A line as it is drawn; empty beyond the last."""
        return self._lines[index] if index < len(self._lines) else ""

    def get_size(self, indent_width: int) -> Size:
        """The cells of the longest line, and the number of lines."""
        widths = (cell_len(one.expandtabs(indent_width)) for one in self._lines)
        return Size(max(widths), len(self._lines))

    def get_text_range(self, start: Location, end: Location) -> str:
        """The text between two places, character for character."""
        top, bottom = sorted((start, end))
        return _INNER.sub("", self._exact(top, bottom))

    def is_folded_before(self, row: int) -> bool:
        """Whether a line is the rest of the one above, with nothing between them in the text."""
        return 0 < row < len(self._ends) and self._ends[row - 1] == _FOLD

    def line_ends(self) -> str:
        """What lines end with where that is not the usual, in a few words; else nothing."""
        kinds = {_NAMES[end] for end in self._ends[:-1] if end != _FOLD}
        if not kinds - {"LF"}:
            return ""
        return f"{' and '.join(sorted(kinds))} line ends"

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Put a text in the place of another. What is replaced comes back with its line ends."""
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
        self._lines[rows] = [_shown(one) for one in raw]
        return EditResult(stop, replaced)

    def _exact(self, top: Location, bottom: Location) -> str:
        (first, left), (last, right) = top, bottom
        if first == last:
            return self._raw[first][left:right]
        parts = [self._raw[first][left:], _SAFE.get(self._ends[first], self._ends[first])]
        for row in range(first + 1, min(last, len(self._raw))):
            parts += (self._raw[row], _SAFE.get(self._ends[row], self._ends[row]))
        if last < len(self._raw):
            parts.append(self._raw[last][:right])
        return "".join(parts)


def folded(text: str) -> str:
    """The text with lines of thousands of characters broken into several, for a document."""
    return _LINE.sub(_fold, text) if len(text) > _LONGEST else text


_SAFE = {"\r": f"\r{_ALONE}"}
_NAMES = {"\r\n": "CRLF", "\n": "LF", "\r": "CR"}


def _split(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text and what each ends with; the last ends with nothing."""
    lines: list[str] = []
    ends: list[str] = []
    at = 0
    for found in _ENDS.finditer(text):
        lines.append(text[at : found.start()])
        ends.append(found[0].rstrip(_ALONE))
        at = found.end()
    return [*lines, text[at:]], [*ends, ""]


def _fold(found: re.Match[str]) -> str:
    line = found[0]
    if len(line) <= _LONGEST:
        return line
    return _FOLD.join(line[at : at + _FOLD_AT] for at in range(0, len(line), _FOLD_AT))


def _shown(line: str) -> str:
    return line if line.isprintable() else visible(line)


def _usual(ends: Sequence[str]) -> _LineEnd:
    """The line end that most lines have."""
    counted = Counter(end for end in ends if end in _NAMES)
    for kind in ("\r\n", "\n", "\r"):
        if counted[kind] and counted[kind] == max(counted.values()):
            return kind
    return "\n"
