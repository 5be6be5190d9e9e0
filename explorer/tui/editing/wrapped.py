"""A long text broken to the width of the editor, quickly enough to be typed in."""

from textual.widgets.text_area import Location, WrappedDocument

from explorer.tui.editing.document import ExactDocument

__all__ = ["QuickWrapped"]


class QuickWrapped(WrappedDocument):
    """As its parent, which counts the lines of the whole text at every line that is drawn. What is
    broken already is not broken again to the same width: a text area asks for that several times
    until it has its place."""

    document: ExactDocument

    def __init__(self, document: ExactDocument, width: int = 0, tab_width: int = 4) -> None:
        self._wrapped_for = (-1, -1, -1)
        self._height: int | None = None
        super().__init__(document, width, tab_width)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Break every line to a width in cells, unless that was done already."""
        tab = tab_width or self._wrapped_for[1]
        wanted = (width, tab, self.document.revision)
        if wanted != self._wrapped_for:
            self._wrapped_for, self._height = wanted, None
            super().wrap(width, tab)

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Break the lines anew that were changed."""
        super().wrap_range(start, old_end, new_end)
        width, tab, _ = self._wrapped_for
        self._wrapped_for, self._height = (width, tab, self.document.revision), None

    @property
    def height(self) -> int:
        """How many lines there are on a screen without end."""
        if self._height is None:
            self._height = super().height
        return self._height
