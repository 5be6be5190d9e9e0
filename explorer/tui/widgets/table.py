"""A table: a line of headings above a list with a cursor."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from explorer.tui.content import line, padded, without_start
from explorer.tui.widgets.rows import Rows
from explorer.views.table import Cell, Table, TableColumn, number_text

__all__ = ["TableRows"]

_MEASURED_ROWS: Final = 500
_GAP: Final = 2
_NARROWEST: Final = 18
"""In cells: what a text that can be cut is given before another column is left out."""


class TableRows(Vertical):
    """Shows a `Table`. Numbers are right-aligned; a column is as wide as its longest value in the
    first rows. In less room texts are cut first, then dim columns are left out from the right."""

    DEFAULT_CSS = """
    TableRows > Static { height: 1; color: $text-muted; }
    TableRows > Rows { height: 1fr; }
    """

    def __init__(self, rows: Rows | None = None) -> None:
        super().__init__()
        self.rows = rows or Rows()
        """The list below the headings."""
        self._table = Table((), ())
        self._widths: dict[int, int] = {}
        self._measured_width = -1

    def compose(self) -> ComposeResult:
        """Yield the headings and the list."""
        yield Static("", markup=False)
        yield self.rows

    def show(self, table: Table, *, cursor: int = 0, empty: str = "") -> None:
        """Show a table with the cursor on one of its rows; `empty` is shown when it has none."""
        self._table = table
        self._measured_width = -1
        self.rows.show(len(table.rows), self._draw_row, cursor=cursor, empty=empty)
        # The scroll bar may appear or disappear with them.
        self.call_after_refresh(self._show_headings)

    def table(self) -> Table | None:
        """Return what is shown, for a file; None while nothing is."""
        return self._table if self._table.rows else None

    def on_resize(self) -> None:
        """Draw the headings for the new width."""
        self.call_after_refresh(self._show_headings)

    def _show_headings(self) -> None:
        # Beside the scroll bar, as the rows.
        width = self.rows.scrollable_content_region.width
        if width:
            columns = self._table.columns
            cells = [Text(column.title) for column in columns]
            self.query_one(Static).update(self._joined(cells, width) if self._table.rows else "")

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._table.rows[index]
        cells = [
            Text(_shown(cell, column), column.style)
            for cell, column in zip(row, self._table.columns, strict=True)
        ]
        return (self._joined(cells, width),)

    def _joined(self, cells: Sequence[Text], width: int) -> Text:
        """Return the cells of the columns that there is room for, on one line."""
        if width != self._measured_width:
            self._measured_width = width
            self._widths = _column_widths(self._table, width)
        text = Text(" ")
        for at, room in self._widths.items():
            text.append("" if at == next(iter(self._widths)) else " " * _GAP)
            cell = cells[at]
            if _is_number(self._table, at):
                text.append(" " * max(room - cell.cell_len, 0))
                text.append_text(cell)
            else:
                from_start = self._table.columns[at].cut == "start"
                text.append_text(padded(without_start(cell, room) if from_start else cell, room))
        return text


def _shown(cell: Cell, column: TableColumn) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case int() | float():
            return number_text(cell, column)
        case str():
            return line(cell)
        case _:
            return line(str(cell))


def _is_number(table: Table, at: int) -> bool:
    """Return whether a column holds numbers, as far as its first known value tells."""
    cells = (row[at] for row in table.rows[:_MEASURED_ROWS])
    first = next((cell for cell in cells if cell is not None), None)
    return isinstance(first, int | float) and not isinstance(first, bool)


def _column_widths(table: Table, width: int) -> dict[int, int]:
    """Return the width in cells of each column that is shown, by its place in the table."""
    wanted = {}
    for at, column in enumerate(table.columns):
        if column.audience == "programs":
            continue
        cells = (cell_len(_shown(row[at], column)) for row in table.rows[:_MEASURED_ROWS])
        natural = max(cell_len(column.title), max(cells, default=0))
        wanted[at] = min(natural, column.max_width or natural)
    while True:
        room = width - 2 - _GAP * (len(wanted) - 1)
        texts = [at for at in wanted if table.columns[at].folds]
        fixed = sum(size for at, size in wanted.items() if at not in texts)
        least = sum(min(wanted[at], _NARROWEST) for at in texts)
        lesser = [at for at in wanted if table.columns[at].style == "dim"]
        if fixed + least <= room or not lesser:
            return wanted | _shared_room({at: wanted[at] for at in texts}, max(room - fixed, 0))
        del wanted[lesser[-1]]


def _shared_room(wanted: dict[int, int], room: int) -> dict[int, int]:
    """Return the widths of columns in `room` cells: narrow ones get their full width, the others
    equal shares."""
    given: dict[int, int] = {}
    left = room
    for count, (at, size) in zip(
        range(len(wanted), 0, -1), sorted(wanted.items(), key=lambda one: one[1]), strict=True
    ):
        given[at] = min(size, left // count)
        left -= given[at]
    return given
