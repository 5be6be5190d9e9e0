"""A long text broken to the width of the editor, quickly enough to be typed in."""

from textual._wrap import compute_wrap_offsets
from textual.document._wrapped_document import WrappedDocument
from textual.expand_tabs import get_tab_widths

__all__ = ["QuickWrapped"]


class QuickWrapped(WrappedDocument):
    """As its parent, whose cost grows with the whole text at every line that is drawn."""

    @property
    def height(self) -> int:
        """How many lines there are on a screen without end."""
        return len(self._offset_to_line_info)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Break every line to a width in cells; most are short and need no looking at."""
        self._width = width
        self._tab_width = tab = tab_width or self._tab_width
        at = 0
        self._wrap_offsets, self._tab_width_cache = [], []
        self._offset_to_line_info, self._line_index_to_offsets = [], []
        for row, line in enumerate(self.document.lines):
            breaks: list[int] = []
            tabs: list[int] = []
            if not (width == 0 or (len(line) < width and line.isascii())) or "\t" in line:
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
