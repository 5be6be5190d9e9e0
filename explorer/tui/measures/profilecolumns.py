"""The columns of a profile as a table: as many numbers of each as there is room for."""

from collections.abc import Sequence

from rich.text import Text

from explorer.metadata.aspects import FieldProfile
from explorer.metadata.fieldpath import FieldPath
from explorer.tui.content import padded, said
from explorer.tui.measures.profiles import ColumnHistory
from explorer.tui.measures.series import whole
from explorer.tui.measures.shapes import spark

__all__ = ["ColumnTable", "share"]

_NAME_AT_LEAST = 14
_NAME_AT_MOST = 32
_SPARK = 12
_SPARK_NARROW = 6
_MOMENT = 20
# Small shares are drawn small.
_SHARE_AT_LEAST = 0.2
# Widths of the numbers, in the order in which they are given room.
_WIDTHS = {"nulls": 7, "distinct": 11, "min": 12, "max": 12, "mean": 10, "median": 10}
_NUMBERS = ("min", "max", "mean", "median")


class ColumnTable:
    """How the columns of a profile are drawn: name, numbers, and the nulls over time."""

    def __init__(self, columns: Sequence[ColumnHistory]) -> None:
        self._longest = max((len(FieldPath(one.path).simple) for one in columns), default=0)
        newest = [field for column in columns for _, field in column.points[-1:]]
        # What no column has takes no room.
        self._told = [
            name
            for name in _WIDTHS
            if name not in _NUMBERS or any(_text(field, name) for field in newest)
        ]

    def heading(self, width: int) -> Text:
        """The names of the table's columns."""
        name, spark_width, shown = self._layout(width)
        text = Text(f"   {'column':<{name}}")
        for one in shown:
            text.append(f" {one:>{_WIDTHS[one]}}")
        return text.append(f"  {'nulls trend' if spark_width == _SPARK else 'trend'}")

    def draw(self, column: ColumnHistory, width: int) -> Text:
        """A line for a column: a mark where something moved, its newest numbers, its nulls."""
        name, spark_width, shown = self._layout(width)
        text = Text().append(" ! " if column.drift else "   ", "bold")
        text.append_text(padded(said(FieldPath(column.path).simple), name))
        text.append_text(_cells(column.newest, shown)).append("  ")
        nulls = [field.null_proportion for _, field in column.points]
        return text.append(spark(nulls, spark_width, _SHARE_AT_LEAST), "dim")

    def heading_at(self, width: int) -> Text:
        """The names of the table's columns where a line is a moment."""
        text = Text(f"  {'measured':<{_MOMENT}}")
        for one in self._fitting(width - _MOMENT - 2):
            text.append(f" {one:>{_WIDTHS[one]}}")
        return text

    def draw_at(self, moment: str, field: FieldProfile, width: int) -> Text:
        """A line for what was measured of a column at a moment."""
        text = Text(f"  {moment:<{_MOMENT}}")
        return text.append_text(_cells(field, self._fitting(width - _MOMENT - 2)))

    def _layout(self, width: int) -> tuple[int, int, list[str]]:
        """The width of names and of the small charts, and which numbers there is room for."""
        drawn = _SPARK if width >= 70 else _SPARK_NARROW
        name = max(_NAME_AT_LEAST, min(self._longest, _NAME_AT_MOST, width // 3))
        shown = self._fitting(width - name - drawn - 6)
        left = width - name - drawn - 6 - sum(_WIDTHS[one] + 1 for one in shown)
        return min(name + max(left, 0), max(self._longest, _NAME_AT_LEAST)), drawn, shown

    def _fitting(self, room: int) -> list[str]:
        shown = []
        for name in self._told:
            room -= _WIDTHS[name] + 1
            if room < 0:
                break
            shown.append(name)
        return shown


def share(proportion: float) -> str:
    """A share as people read it; what is not nothing is not said to be nothing."""
    if 0 < proportion < 0.0005:
        return "<0.1%"
    return f"{proportion:.1%}"


def _cells(field: FieldProfile, shown: Sequence[str]) -> Text:
    text = Text()
    for name in shown:
        value = said(_text(field, name), missing="—")
        value.truncate(_WIDTHS[name], overflow="ellipsis")
        text.append(" " * (_WIDTHS[name] - value.cell_len + 1)).append_text(value)
    return text


def _text(field: FieldProfile, name: str) -> str:
    match name:
        case "nulls":
            if field.null_proportion is not None:
                return share(field.null_proportion)
            return "" if field.null_count is None else whole(field.null_count)
        case "distinct":
            return "" if field.unique_count is None else whole(field.unique_count)
        case "min":
            return field.min or ""
        case "max":
            return field.max or ""
        case "mean":
            return field.mean or ""
        case _:
            return field.median or ""
