"""A long text broken to the width of the editor, quickly enough to be typed in."""

import re

from textual._wrap import compute_wrap_offsets
from textual.document._document import Location
from textual.document._wrapped_document import WrappedDocument
from textual.expand_tabs import get_tab_widths

from explorer.tui.editing.document import ExactDocument

__all__ = ["QuickWrapped"]

# A word with the space behind it, as Textual breaks lines.
_WORD = re.compile(r"\S+\s*|\s+")


class QuickWrapped(WrappedDocument):
    """As its parent, whose cost grows with the whole text at every line that is drawn. What is
    broken already is not broken again to the same width: a text area asks for that several times
    until it has its place."""

    _broken_for: tuple[int, int, int] | None = None

    @property
    def _revision(self) -> int:
        return self.document.revision if isinstance(self.document, ExactDocument) else -1

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Break the lines anew that were changed."""
        super().wrap_range(start, old_end, new_end)
        self._broken_for = (self._width, self._tab_width, self._revision)

    @property
    def height(self) -> int:
        """How many lines there are on a screen without end."""
        return len(self._offset_to_line_info)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Break every line to a width in cells; most are short and need no looking at."""
        tab = tab_width or self._tab_width
        wanted = (width, tab, self._revision)
        if wanted == self._broken_for:
            return
        self._broken_for = wanted
        self._width, self._tab_width = width, tab
        at = 0
        self._wrap_offsets, self._tab_width_cache = [], []
        self._offset_to_line_info, self._line_index_to_offsets = [], []
        for row, line in enumerate(self.document.lines):
            breaks: list[int] = []
            tabs: list[int] = []
            found = _breaks(line, width) if line.isascii() and line.isprintable() else None
            if found is not None:
                breaks = found
            elif not (width == 0 or (len(line) < width and line.isascii())) or "\t" in line:
                sections = get_tab_widths(line, tab)
                tabs = [cells for _, cells in sections]
                if width:
                    breaks = compute_wrap_offsets(
                        line, width, tab, precomputed_tab_sections=sections
                    )
            self._wrap_offsets.append(breaks)
            self._tab_width_cache.append(tabs)
            count = len(breaks) + 1
            self._line_index_to_offsets.append(list(range(at, at + count)))
            self._offset_to_line_info.extend((row, part) for part in range(count))
            at += count


def _breaks(line: str, width: int) -> list[int] | None:
    """Where a line of characters of one cell each is broken; None where a word is longer than that,
    which Textual breaks in its own way."""
    if width == 0 or len(line) <= width:
        return []
    breaks: list[int] = []
    used = 0
    for found in _WORD.finditer(line):
        start, end = found.span()
        if used + end - start <= width:
            used += end - start
        elif end - start > width:
            return None
        else:
            breaks.append(start)
            used = end - start
    return breaks
