"""Objects that render themselves: their parts as plain text and as HTML that every notebook front
end shows."""

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from html import escape
from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rich.cells import cell_len, set_cell_size

from explorer.client.display import block, line
from explorer.errors import MissingExtra
from explorer.metadata.urn import Urn
from explorer.views.diff import DiffLine, LineKind
from explorer.views.entity import ink_on
from explorer.views.parts import (
    Cell,
    Code,
    Difference,
    Fact,
    Facts,
    Fold,
    Grid,
    Part,
    Picture,
    Prose,
    Say,
    Title,
    Tone,
    is_safe_link,
    with_names,
)
from explorer.views.table import Cell as Value
from explorer.views.table import Row, Table, TableColumn, cell_text, places_for

if TYPE_CHECKING:
    import pandas as pd
    from itables.widget import ITable


EDITED = "✎"
"""The mark before an edited text that replaces the ingested one."""
MOST_ROWS = 60
"""How many rows of a table are drawn."""

_Item = TypeVar("_Item")


def values_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name, to create a subclass that renders itself."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


_MOMENT = "%Y-%m-%d %H:%M"


class Shown(ABC):
    """A base class whose `repr` and HTML are rendered from `parts`."""

    __slots__ = ()

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """Return the parts shown, from top to bottom."""

    def __repr__(self) -> str:
        return draw_text(self.parts())

    def _repr_html_(self) -> str:
        return draw_html(self.parts())


class ShownTable(Shown):
    """A rendered object that can be converted to a DataFrame."""

    __slots__ = ()

    @abstractmethod
    def to_frame(self) -> "pd.DataFrame":
        """Return all data as a DataFrame, including rows that are not drawn."""

    @property
    def df(self) -> "pd.DataFrame":
        """Return a new DataFrame from `to_frame()` each time."""
        return self.to_frame()

    def sortable(self, **options: Any) -> "ITable":
        """Return a table with sorting by headers, filters and pages, for any notebook.

        The table is drawn by itables, to which `options` are passed. Raises `MissingExtra` if the
        extra `tables` is not installed.

        Example: `cat.search("orders").sortable(paging=False)`
        """
        try:
            from itables.widget import ITable
        except ImportError:
            raise MissingExtra("tables that sort are itables'", "tables") from None
        frame = self.to_frame()
        # URNs, the longest texts, become the last columns.
        frame = frame[sorted(frame, key=lambda name: str(name).endswith(("urn", "urns")))]
        # Times are shown as texts that sort in the order of time.
        moments = frame.select_dtypes("datetimetz").columns
        frame = frame.assign(**{name: frame[name].dt.strftime(_MOMENT) for name in moments})
        if frame.index.dtype.kind == "M":
            frame = frame.set_axis(frame.index.map(lambda at: f"{at:{_MOMENT}}"))
        # The name of an index would be on a separate line below the headers.
        if frame.index.name is not None:
            frame = frame.reset_index()
        texts: list[str] = [*frame.select_dtypes(["string", "object"]).columns]
        frame = frame.assign(**{name: frame[name].map(_text_of) for name in texts})
        return ITable(frame, **{"classes": "display compact"} | options)


def _text_of(value: object) -> str:
    """Return a text or a list of texts of a data frame as one line; empty for a missing one."""
    if isinstance(value, list):
        return line(", ".join(value))
    return line(value) if isinstance(value, str) else ""


class NamedRecords(ShownTable, tuple[_Item, ...]):
    """Records that can be converted to a DataFrame, and the names of the entities in them."""

    names: Mapping[Urn, str]

    def __new__(cls, records: Iterable[_Item] = (), names: Mapping[Urn, str] | None = None) -> Self:
        """Create it from records and the names of the entities in them."""
        new = super().__new__(cls, records)
        new.names = names or {}
        return new


def grid_parts(
    headers: Sequence[str],
    items: Sequence[_Item],
    draw: Callable[[_Item], Sequence[Cell]],
    *,
    numbers: Collection[str] = (),
    most: int = MOST_ROWS,
    rest: str = "drawn; .to_frame() has them all",
) -> Iterator[Part]:
    """Yield a table of the first `most` items, whose rows are made by `draw`, and, if there are
    more, a sentence with both numbers and `rest`. Yield nothing if there are no items."""
    if items:
        yield Grid(headers, [draw(item) for item in items[:most]], frozenset(numbers))
    if most < len(items):
        yield Say(f"{most} of {len(items):,} {rest}")


def table_parts(
    table: Table, most: int = MOST_ROWS, rest: str = "drawn; .to_frame() has them all"
) -> Iterator[Part]:
    """Yield the first `most` rows of a table as people see it, and, if there are more, a sentence
    with both numbers and `rest`."""
    names = [column.name for column in table.columns]
    visible = [(at, table.columns[at]) for at in places_for("people", table.columns)]
    numbers = [
        column.title
        for at, column in visible
        if (values := [row[at] for row in table.rows[:most] if row[at] is not None])
        and all(isinstance(value, int | float) for value in values)
    ]

    def cells(row: Row) -> Sequence[Cell]:
        return [
            _table_cell(
                row[at],
                column,
                str(row[names.index(column.detail)] or "") if column.detail else "",
                str(row[names.index(column.link)] or "") if column.link else "",
            )
            for at, column in visible
        ]

    headers = [column.title for _, column in visible]
    yield from grid_parts(headers, table.rows, cells, numbers=numbers, most=most, rest=rest)


def _table_cell(value: Value, column: TableColumn, detail: str, link: str) -> Cell:
    tone = _TONES_OF_STYLES.get(column.style, "plain")
    text = cell_text(value, column, utc=True)
    if value is None or value == "":
        text, tone = column.missing, "quiet"
    markdown = column.markdown and bool(value)
    return Cell(text, detail=detail, link=link, tone=tone, markdown=markdown)


_TONES_OF_STYLES: Mapping[str, Tone] = {"bold": "loud", "dim": "quiet"}
_WIDTH = 100
_GAP = "  "
_NARROWEST = 8
_FIRST = 28


def draw_text(parts: Iterable[Part]) -> str:
    """Render parts as text, with table lines of at most 100 cells."""
    return "\n".join(row.rstrip() for part in parts for row in _part_as_text(part))


def _part_as_text(part: Part) -> Iterator[str]:
    match part:
        case Title(text, remark):
            yield _GAP.join(piece for piece in (line(text), line(remark)) if piece)
        case Say(text):
            yield line(text)
        case Prose(text, missing, label):
            if label:
                yield f"{label}:"
            yield from _indent_lines(text or missing)
        case Code(text):
            yield from _indent_lines(text)
        case Fact():
            for below in with_names([part], {}):
                yield from _part_as_text(below)
        case Facts(rows):
            width = max((cell_len(name) for name, _ in rows), default=0)
            for name, cell in rows:
                yield set_cell_size(name, width) + _GAP + _one_line(cell)
        case Grid():
            yield from _table_as_text(part)
        case Fold(label, inner):
            yield f"{line(label)}:"
            for below in inner:
                for row in _part_as_text(below):
                    yield _GAP + row
        case Difference(lines):
            yield from map(_diff_line_as_text, lines)
        case Picture(instead=instead):
            for below in instead:
                yield from _part_as_text(below)


def _diff_line_as_text(diff_line: DiffLine) -> str:
    indent = "" if diff_line.kind in ("place", "minor") else _GAP
    space = " " if not indent and diff_line.mark else ""
    return indent + diff_line.mark + space + diff_line.on_one_line().text


def _indent_lines(text: str) -> Iterator[str]:
    for row in block(text).strip("\n").split("\n"):
        yield _GAP + row


def _table_as_text(grid: Grid) -> Iterator[str]:
    rows = [[[_one_line(cell), *map(line, cell.below)] for cell in row] for row in grid.rows]
    columns = zip(*rows, strict=True) if rows else ([] for _ in grid.headers)
    right = [header in grid.numbers for header in grid.headers]
    widths = _fit_widths(
        [
            max(cell_len(text) for text in (header, *(text for cell in column for text in cell)))
            for header, column in zip(grid.headers, columns, strict=True)
        ],
        right,
    )
    yield _row(grid.headers, widths, right)
    for row in rows:
        for texts in zip_longest(*row, fillvalue=""):
            yield _row(texts, widths, right)


def _fit_widths(widths: list[int], numbers: Sequence[bool]) -> list[int]:
    """Return the column widths, the widest reduced until all fit. The first column, which
    identifies a row, goes below 28 cells only if the others are at their narrowest, and numbers and
    dates, which would be misleading in part, are cut only if nothing else can be."""
    fitted = list(widths)
    room = _WIDTH - len(_GAP) * (len(widths) - 1)
    for first, cut in ((_FIRST, False), (0, False), (0, True)):
        while sum(fitted) > room:
            reducible = [
                0 if number and not cut else width
                for width, number in zip(fitted, numbers, strict=True)
            ]
            reducible[0] = reducible[0] if reducible[0] > first else 0
            if max(reducible) <= _NARROWEST:
                break
            fitted[reducible.index(max(reducible))] -= 1
    return fitted


def _row(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return _GAP.join(
        _cut_text(text, width).rjust(width)
        if to_right
        else set_cell_size(_cut_text(text, width), width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    )


def _cut_text(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _one_line(cell: Cell) -> str:
    text = "  " * cell.indent + " ".join(part for part in (cell.mark, line(cell.text)) if part)
    link = line(cell.link)
    return f"{text}  {link}" if link and link != line(cell.text) else text


AS_WRITTEN = "mathjax_ignore tex2jax_ignore"
"""The classes of the outermost element of a page of ours: within it no notebook sets formulas,
which it would wherever a catalog's text has two dollars."""

_TONES: dict[Tone, str] = {
    "plain": "",
    # As pale as text may be on any theme: a contrast of 4.5 to 1.
    "quiet": "opacity:.72;",
    "loud": "font-weight:600;",
}
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:none;"
_UNBROKEN = "white-space:nowrap;"
_NUMBER = f"text-align:right;{_UNBROKEN}"
_HEAD = f"{_CELL}font-weight:600;opacity:.75;border-bottom:1px solid currentColor;"
_TABLE = "border-collapse:collapse;background:transparent;color:inherit;margin:4px 0;"
_SMALL = 0.85
_PROSE = "margin:0 0 4px 1em;max-width:60em;"
# Cut at its beginning: URNs of one platform differ at their end.
_ONE_LINE = (
    "max-width:22em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;user-select:all;"
    "direction:rtl;text-align:left;"
)
_SHORT = 20
_SMALLEST = 0.9
_SVG_WIDTH = re.compile(r'<svg [^>]*?\bwidth="(\d+)"')
_WORD_END = re.compile(r"(_+)(?=[^_])")
_LINES = (
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:2px 0 6px 1em;max-width:80em;"
    "font-family:var(--jp-code-font-family,monospace);font-size:.9em;"
)
# The blue and the orange of Okabe and Ito; the marks say the same.
_DIFF_STYLES: dict[LineKind, str] = {
    "added": "background:rgba(0,114,178,.16);",
    "removed": "background:rgba(213,94,0,.16);",
    "place": "font-weight:600;",
    "minor": "opacity:.72;",
    "gap": "opacity:.72;",
    "note": "opacity:.72;",
}
_CHANGED_WORDS = "font-weight:600;text-decoration:underline;"


def draw_html(parts: Iterable[Part]) -> str:
    """Render parts as one HTML element."""
    inside = "".join(_draw_part(part) for part in parts)
    # marimo cuts off content wider than its page.
    style = "line-height:1.45;color:inherit;background:transparent;overflow-x:auto"
    return f'<div class="{AS_WRITTEN}" style="{style}">{inside}</div>'


def _draw_part(part: Part) -> str:
    match part:
        case Title(text, remark):
            name = _span(line(text), "font-weight:600;font-size:1.15em;")
            quiet = f" {_span(line(remark), _TONES['quiet'])}" if remark else ""
            return _div(name + quiet, "margin-top:6px;")
        case Say(text, tone):
            return _div(escape(line(text)), _TONES[tone])
        case Prose(text, missing, label):
            from explorer.notebook.markup import safe_markdown

            head = _div(escape(label), "font-weight:600;margin-top:4px;") if label else ""
            if not text:
                return head + _div(escape(line(missing)), _TONES["quiet"])
            return head + _div(safe_markdown(text), _PROSE)
        case Code(text):
            return _div(escape(block(text)), _LINES)
        case Fact():
            return "".join(_draw_part(below) for below in with_names([part], {}))
        case Facts(rows):
            return _table((), [[Cell(name, tone="quiet"), cell] for name, cell in rows])
        case Grid(headers, cells, numbers):
            return _table(headers, cells, numbers)
        case Fold(label, inner):
            summary = f'<summary style="{_TONES["quiet"]}">{escape(line(label))}</summary>'
            return f"<details>{summary}{''.join(_draw_part(below) for below in inner)}</details>"
        case Difference(lines):
            return _div("".join(map(_diff_line, lines)), _LINES)
        case Picture(svg, alt, details=details):
            below = _draw_part(Fold("as a list", details)) if details else ""
            return _picture(svg, alt) + below


def _table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    numbers: frozenset[str] = frozenset(),
) -> str:
    short = [all(_is_short(row[at]) for row in rows) for at in range(len(headers))]
    aligned = [
        _CELL + (_NUMBER if header in numbers else _UNBROKEN * short[at])
        for at, header in enumerate(headers)
    ]
    head = "".join(
        f'<th style="{_HEAD}{"text-align:right;" if header in numbers else ""}">'
        f"{escape(header)}</th>"
        for header in headers
    )
    body = "".join(
        '<tr style="background:transparent">'
        + "".join(
            f'<td style="{aligned[at] if aligned else _CELL}">'
            f"{_cell(cell, is_short=bool(short) and short[at])}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<table style="{_TABLE}">{f"<thead><tr>{head}</tr></thead>" if head else ""}'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(cell: Cell, *, is_short: bool) -> str:
    if cell.markdown:
        from explorer.notebook.markup import safe_markdown_line

        text = safe_markdown_line(cell.text)
    elif cell.labels:
        text = ", ".join(_label(line(name), colour) for name, colour in cell.labels)
    else:
        # A browser wraps at <wbr> even where white-space is nowrap.
        text = escape(line(cell.text)) if is_short else _breakable(line(cell.text))
    address = line(cell.link)
    if address and is_safe_link(address):
        text = (
            f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer" '
            f'style="color:inherit;text-decoration:underline">'
            f"{text or escape(address)}</a>"
        )
    elif address and address != line(cell.text):
        text = f"{text} {escape(address)}"
    if cell.mark:
        text = f"{_span(cell.mark, _TONES['quiet'])} {text}"
    style = _TONES[cell.tone] + _indent(cell.indent)
    first_line = _div(text, style) if style else text
    indent = _indent(cell.indent / _SMALL)
    small = f"{_TONES['quiet']}font-size:{_SMALL}em;{indent}"
    below = "".join(
        _div(escape(line(below_line)), f"{small}overflow-wrap:anywhere;")
        for below_line in cell.below
    )
    return first_line + below + (_cut(line(cell.detail), small) if cell.detail else "")


def _label(name: str, colour: str) -> str:
    if not colour:
        return _breakable(name)
    ink = ink_on(colour)
    return _span(name, f"background:{colour};color:{ink};padding:0 .4em;border-radius:3px;")


def _cut(text: str, style: str) -> str:
    """Render a text on one line, cut by CSS; the tooltip shows all of it, and a click selects
    all."""
    inside = _span(text, "direction:ltr;unicode-bidi:isolate;")
    return f'<div title="{escape(text)}" style="{style}{_ONE_LINE}">{inside}</div>'


def _is_short(cell: Cell) -> bool:
    """Return whether a text is kept on one line, such as a time or a name; lists may be wrapped
    after commas."""
    lines = (cell.text, *cell.below)
    return not cell.markdown and all(len(text) <= _SHORT and ", " not in text for text in lines)


def _breakable(text: str) -> str:
    """Return a text in which names may be wrapped after underscores."""
    escaped = escape(text)
    return escaped if " " in text else _WORD_END.sub(r"\1<wbr>", escaped)


def _picture(svg: str, alt: str) -> str:
    data = b64encode(svg.encode()).decode("ascii")
    wide = _SVG_WIDTH.match(svg)
    # A wider picture is scrolled: its texts, of 10 and 12 pixels, could not be read any smaller.
    least = f"min-width:{ceil(int(wide[1]) * _SMALLEST)}px;" if wide else ""
    image = (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(line(alt))}" '
        f'style="max-width:100%;{least}height:auto">'
    )
    return _div(image, "margin:4px 0;")


def _diff_line(diff_line: DiffLine) -> str:
    segments = "".join(
        _span(segment, _CHANGED_WORDS) if is_changed else escape(segment)
        for segment, is_changed in diff_line.on_one_line().segments()
    )
    is_place = diff_line.kind in ("place", "minor")
    mark = f"{diff_line.mark} " if is_place and diff_line.mark else diff_line.mark
    return _div(escape(mark) + segments, _DIFF_STYLES.get(diff_line.kind, ""))


def _indent(levels: float) -> str:
    return f"padding-left:{levels * 1.2:.1f}em;" if levels else ""


def _span(text: str, style: str) -> str:
    return f'<span style="{style}">{escape(text)}</span>'


def _div(inside: str, style: str = "") -> str:
    return f'<div style="{style}">{inside}</div>' if style else f"<div>{inside}</div>"
