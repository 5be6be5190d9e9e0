"""The facets of a search with their counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.content import padded, said
from explorer.tui.widgets.rows import Rows
from explorer.views.search import FacetGroup, FacetRow

__all__ = ["SHORT", "Facets", "draw_value"]

SHORT: Final = 5
"""How many values of a facet are shown before it is expanded."""

_NUMBERED: Final = 9


@dataclass(frozen=True, slots=True)
class _FacetItem:
    group: FacetGroup
    value: FacetRow | None = None
    number: int = 0


class Facets(Rows):
    """Facets and their values. Enter, or its number, takes a value or gives it up.

    A count is the number of results that have the value; beside values that are taken, `+7`, how
    many it would add.
    """

    DEFAULT_CSS = """
    Facets > .rows--cursor { background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("facets")

    @dataclass
    class Toggled(Message):
        """A value was taken or given up."""

        field: str
        value: str

    @dataclass
    class Left(Message):
        """The reader goes back to the results."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[_FacetItem] = []
        self._groups: tuple[FacetGroup, ...] = ()
        self._expanded: set[str] = set()

    def show_facets(self, groups: Sequence[FacetGroup]) -> None:
        """Show the facets of a result."""
        self._groups = tuple(groups)
        self._lay_out()

    def toggle_numbered(self, number: int) -> None:
        """Take the value with that number, or give it up."""
        for row in self._rows:
            if row.value is not None and row.number == number:
                self.post_message(self.Toggled(row.group.field, row.value.value))

    def action_leave(self) -> None:
        """Go back to the results."""
        self.post_message(self.Left())

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        row = self._rows[event.index]
        if row.value is not None:
            self.post_message(self.Toggled(row.group.field, row.value.value))
            return
        self._expanded ^= {row.group.field}
        self._lay_out()

    def _lay_out(self) -> None:
        rows: list[_FacetItem] = []
        number = 0
        for group in self._groups:
            rows.append(_FacetItem(group))
            shown = len(group.rows) if group.field in self._expanded else SHORT
            for at, value in enumerate(group.rows):
                if at < shown or value.is_taken:
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
        # Only what can be expanded has the sign for it.
        fold = "  " if not is_long else "▾ " if group.field in self._expanded else "▸ "
        text = Text.assemble((fold, "dim"), said(group.label, "bold"))
        return (text.append(f" {group.size}", "dim") if is_long else text,)


def draw_value(value: FacetRow, number: int, width: int) -> Text:
    """Return the line of a value; `number` is the key that takes it, 0 for none."""
    name = said(value.label, "bold" if value.is_taken else "", missing="none")
    text = Text.assemble((f" {number or ' '} ", "dim"), ("● " if value.is_taken else "  ", "bold"))
    text.append_text(padded(name, width - len(value.count_label) - 8))
    return text.append(f" {value.count_label}", "dim")
