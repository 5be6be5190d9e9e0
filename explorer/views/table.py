"""Tables, and their content as CSV, JSON, Markdown, Parquet and pandas data frames."""

import csv
import inspect
import io
import json
import re
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, overload

from explorer.client.display import line, moment
from explorer.errors import IncompleteFrame, MissingExtra
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.views.text import TextLine

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import TypeVar

    _Record = TypeVar("_Record", default=Any)
else:
    from typing import TypeVar

    _Record = TypeVar("_Record")

Cell = str | int | float | bool | datetime | Sequence[str] | TextLine | None
"""The value of a cell; `None` if unknown. Times have a time zone. A line with styles is for
people."""

Row = Sequence[Cell]

Audience = Literal[
    "everyone", "people", "programs", "printed", "files", "objects", "frames", "index"
]
_Reader = Literal["people", "files", "objects", "frames"]
_READERS: Final[Mapping[Audience, tuple[_Reader, ...]]] = {
    "everyone": ("people", "files", "objects", "frames"),
    "people": ("people",),
    "programs": ("files", "objects", "frames"),
    "printed": ("people", "files", "objects"),
    "files": ("files", "objects"),
    "objects": ("objects",),
    "frames": ("frames",),
    "index": ("frames",),
}

TIME: Final = "datetime64[ms, UTC]"
"""The `dtype` of times, also of those that are given in milliseconds since 1970."""

LIST: Final = "object"
"""The `dtype` of lists."""

_FORMULA: Final = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠])")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[_Record]):
    """A column of a table.

    `name` is the key in JSON and the header in CSV; `heading` is the header for people, by default
    the name with spaces. `read` returns the value for a record, by default its attribute `name`.
    `audience` says who gets the column: "everyone", "people" or "programs"; of programs only
    "files" (CSV, JSON, …), only "objects" (JSON), or only data "frames", also as their "index";
    "printed" is for people and files. `max_width` is the number of cells that people see of a
    value; a longer value is cut at the end that `cut` names, or wrapped if it `folds`. A value that
    `is_below` has a line of its own below the row. A number that `is_bar` is drawn as a bar.
    `style` is a text attribute for people: "bold", "dim" or "italic". With `markdown` the values
    are descriptions. `missing` is shown to people for unknown values. `detail` names the column
    whose value is shown below in small print if there is room, `link` the column with the address
    that the text links to. `dtype` is the type in a data frame, by default that of the values;
    widgets recognize a column of numbers by "int64". `decimals` is the number of decimals that
    people see of a float, by default all, up to six digits.
    """

    name: str
    heading: str | None = None
    read: Callable[[_Record], Cell] | None = None
    audience: Audience = "everyone"
    max_width: int | None = None
    folds: bool = False
    is_below: bool = False
    is_bar: bool = False
    cut: Literal["start", "end"] = "end"
    style: Literal["", "bold", "dim", "italic"] = ""
    markdown: bool = False
    missing: str = ""
    detail: str = ""
    link: str = ""
    dtype: str = ""
    decimals: int | None = None

    @property
    def title(self) -> str:
        """The header for people."""
        return self.name.replace("_", " ") if self.heading is None else self.heading

    def is_for(self, audience: _Reader) -> bool:
        """Return whether people, files or frames get the column."""
        return audience in _READERS[self.audience]


def attributes(*names: str, audience: Audience = "everyone", dtype: str = "") -> list[TableColumn]:
    """Return columns that show the attributes of a record with these names."""
    return [TableColumn(name, audience=audience, dtype=dtype) for name in names]


def places_for(audience: _Reader, columns: Sequence[TableColumn]) -> list[int]:
    """Return the positions of the columns that people, files or frames get."""
    return [at for at, column in enumerate(columns) if column.is_for(audience)]


def json_text(value: Any) -> str | None:
    """Return a text as it is, and other values as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def label_columns(
    label: str,
    read_urns: "Callable[[_Record], Iterable[object] | None]",
    names: Mapping[str, str],
) -> tuple[TableColumn[_Record], TableColumn[_Record]]:
    """Return two columns of lists for data frames: `owners`, the names of labels, from `names` or
    else from their URNs, and `owner_urns`. A list is missing where `read_urns` returns None."""

    def urns(record: _Record) -> list[str] | None:
        labels = read_urns(record)
        return None if labels is None else list(map(str, labels))

    def called(record: _Record) -> list[str] | None:
        labels = urns(record)
        return None if labels is None else [names.get(urn) or Urn.label(urn) for urn in labels]

    return (
        TableColumn(f"{label}s", None, called, "frames", dtype=LIST),
        TableColumn(f"{label}_urns", None, urns, "frames", dtype=LIST),
    )


def domain_columns(
    read_urn: "Callable[[_Record], object]", names: Mapping[str, str]
) -> tuple[TableColumn[_Record], TableColumn[_Record]]:
    """Return two columns of texts for data frames: `domain`, the name, from `names` or else from
    the URN, and `domain_urn`. Both are missing without a domain."""

    def urn(record: _Record) -> str | None:
        domain = read_urn(record)
        return None if domain is None else str(domain)

    def called(record: _Record) -> str | None:
        domain = urn(record)
        return None if domain is None else names.get(domain) or Urn.label(domain)

    return (
        TableColumn("domain", None, called, "frames", dtype="string"),
        TableColumn("domain_urn", None, urn, "frames", dtype="string"),
    )


def _number_text(value: float, column: TableColumn) -> str:
    """Return a number as people see it."""
    if isinstance(value, int):
        return f"{value:,}"
    if column.decimals is not None:
        return f"{value:,.{column.decimals}f}"
    return f"{value:,.6g}" if value % 1 else f"{value:,.0f}"


def cell_text(cell: Cell, column: TableColumn, *, utc: bool = False) -> str:
    """Return a value as people see it; empty if it is unknown."""
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case int() | float():
            return _number_text(cell, column)
        case datetime():
            return moment(millis_of(cell), utc=utc)
        case str():
            return cell
        case TextLine():
            return cell.text
        case _:
            return ", ".join(cell)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a cell for each column.

    If the server has more rows than `rows`, `total` is the number of all rows and `read_all` reads
    them page by page. `incomplete` says in words that there may be more, and how to read them, if
    numbers of rows cannot tell; `total` is then the number of things named by `total_of`. `exact`,
    if set, is written as JSON instead of the rows. A table that `is_list` is shown to people
    without headings.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Row]
    title: str = ""
    total: int | None = None
    incomplete: str = ""
    total_of: str = "rows"
    read_all: Callable[[], AsyncIterator[Sequence[Row]]] | None = None
    exact: Any = None
    is_list: bool = False

    @classmethod
    def from_records(
        cls,
        records: Iterable[_Record],
        columns: Sequence[TableColumn[_Record]],
        title: str = "",
        *,
        is_list: bool = False,
    ) -> "Table":
        """Return a table with a row for each record. Cells are read by the columns when the row is
        first accessed."""
        return cls(columns, _RecordRows(tuple(records), columns), title, is_list=is_list)

    @property
    def shortfall(self) -> str:
        """How many of all rows the table has, in words; empty if it has all of them."""
        if self.incomplete or self.total is None or len(self.rows) >= self.total:
            return self.incomplete
        return f"{len(self.rows):,} of {self.total:,} {self.total_of}"

    def without_empty_columns(self) -> "Table":
        """Return the table without columns that are empty in every row."""
        used = [
            at
            for at in range(len(self.columns))
            if any(row[at] not in (None, "", 0, ()) for row in self.rows)
        ]
        rows = [[row[at] for at in used] for row in self.rows]
        return Table([self.columns[at] for at in used], rows, self.title)

    @classmethod
    def of(cls, title: str, names: Iterable[str], rows: Sequence[Row], **rest: Any) -> "Table":
        """Return a table whose columns only have names."""
        return cls(tuple(TableColumn(name) for name in names), rows, title, **rest)


class _RecordRows(Sequence[Row]):
    """Rows that are read only when accessed, because lists of thousands of rows are shown again and
    again."""

    def __init__(self, records: Sequence[Any], columns: Sequence[TableColumn]) -> None:
        self._records = records
        self._readers = [column.read or attrgetter(column.name) for column in columns]
        self._rows: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        if at not in self._rows:
            record = self._records[at]
            self._rows[at] = tuple(read(record) for read in self._readers)
        return self._rows[at]


def to_csv(table: Table, rows: Iterable[Row] | None = None) -> str:
    """Return CSV that follows RFC 4180, with a header line and CRLF line ends.

    Unknown values are empty and lists are JSON. Text that a spreadsheet would run as a formula gets
    an apostrophe in front; numbers do not, whatever their sign.
    """
    for_programs = places_for("files", table.columns)
    page = io.StringIO(newline="")
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow([_without_formula(table.columns[at].name) for at in for_programs])
    for row in table.rows if rows is None else rows:
        writer.writerow([_csv_cell(row[at]) for at in for_programs])
    return page.getvalue()


def to_objects(table: Table, rows: Iterable[Row] | None = None) -> list[dict[str, Any]]:
    """Return each row as a dictionary by column name; times are ISO 8601 in UTC."""
    columns = [(at, table.columns[at].name) for at in places_for("objects", table.columns)]
    return [
        {
            name: _iso(cell) if isinstance(cell := row[at], datetime) else _plain(cell)
            for at, name in columns
        }
        for row in (table.rows if rows is None else rows)
    ]


def to_json(table: Table, rows: Iterable[Row] | None = None) -> str:
    """Return a JSON list with an object for each row, or `table.exact` if set."""
    objects = to_objects(table, rows) if table.exact is None else table.exact
    return json.dumps(objects, ensure_ascii=False, indent=2, default=list) + "\n"


def to_markdown(table: Table, rows: Iterable[Row] | None = None) -> str:
    """Return a Markdown table below a heading; markup in cells is escaped."""
    lines = (f"# {markdown_cell(table.title)}", "", *markdown_table(table, rows))
    return "\n".join(lines) + "\n"


def markdown_table(table: Table, rows: Iterable[Row] | None = None) -> Iterator[str]:
    """Yield the lines of a Markdown table; markup in cells is escaped."""
    for_programs = places_for("files", table.columns)
    yield _between_bars([markdown_cell(table.columns[at].name) for at in for_programs])
    yield _between_bars(["---"] * len(for_programs))
    for row in table.rows if rows is None else rows:
        yield _between_bars([markdown_cell(row[at]) for at in for_programs])


def to_frame(
    table: Table,
    rows: Iterable[Row] | None = None,
    audience: Literal["files", "frames"] = "frames",
) -> "pd.DataFrame":
    """Return a data frame with the same columns and types for any number of rows: `string`, `Int64`
    and `Float64` are nullable, and a missing value is never an empty text or zero.

    For "frames" its `attrs` have `complete`, whether it has all rows, and `total`, the number of
    things named by `total_of`, None if unknown. If it is not complete, gives the warning
    `IncompleteFrame`.
    """
    import pandas as pd

    row_list = list(table.rows if rows is None else rows)
    columns, index = {}, None
    for at in places_for(audience, table.columns):
        column, cells = table.columns[at], [_plain(row[at]) for row in row_list]
        values = _to_series(cells, column.dtype or _dtype(cells))
        if column.audience == "index":
            index = pd.Index(values, name=column.name)
        else:
            columns[column.name] = values
    frame = pd.DataFrame(columns)
    if index is not None:
        frame = frame.set_axis(index)
    if audience == "frames":
        shortfall = table.shortfall
        total = table.total if shortfall else len(row_list)
        total_of = table.total_of if shortfall else "rows"
        frame.attrs |= {"complete": not shortfall, "total": total, "total_of": total_of}
        if shortfall:
            title = f"{line(table.title, _TITLE)}: " if table.title else ""
            warnings.warn(f"{title}{shortfall}", IncompleteFrame, stacklevel=_level_of_caller())
    return frame


_TITLE: Final = 80


def _level_of_caller() -> int:
    """Return the `stacklevel` with which the calling function attributes a warning to the code that
    uses this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("explorer."):
        frame, level = frame.f_back, level + 1
    return level


_NO_TIME: Final = -(2**63)  # NumPy's value for NaT


def _to_series(cells: Sequence[Any], dtype: str) -> "pd.Series[Any]":
    """Return the values of a column as a series; times given in milliseconds may be far outside the
    calendar."""
    import pandas as pd

    if dtype == TIME and any(isinstance(cell, int) for cell in cells):
        millis = [_NO_TIME if cell is None else cell for cell in cells]
        return pd.Series(millis, dtype="int64").astype("datetime64[ms]").dt.tz_localize("UTC")
    return pd.Series(cells, dtype=dtype)


def to_parquet(table: Table, rows: Iterable[Row] | None = None) -> bytes:
    """Return a Parquet file. Raises `MissingExtra` if pyarrow is not installed."""
    require_parquet()
    page = io.BytesIO()
    to_frame(table, rows, "files").to_parquet(page, index=False)
    return page.getvalue()


def require_parquet() -> None:
    """Raise `MissingExtra` if pyarrow is not installed."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise MissingExtra(
            "Parquet files need the package pyarrow", "parquet", ", or choose .csv, .json or .md"
        )


def _encode(text: str, encoding: str = "utf-8") -> bytes:
    return text.encode(encoding, errors="backslashreplace")


FILE_FORMATS: Final[Mapping[str, Callable[[Table, Iterable[Row] | None], bytes]]] = {
    # Spreadsheets recognize UTF-8 by the byte order mark.
    ".csv": lambda table, rows: _encode(to_csv(table, rows), "utf-8-sig"),
    ".json": lambda table, rows: _encode(to_json(table, rows)),
    ".md": lambda table, rows: _encode(to_markdown(table, rows)),
    ".parquet": to_parquet,
}
"""The function that returns the content of a file, by file extension."""


def _csv_cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case int() | float():
            return str(cell)
        case datetime():
            return _iso(cell)
        case str():
            return _without_formula(cell.replace("\0", ""))
        case TextLine():
            return _without_formula(cell.text)
        case _:
            return json.dumps(list(cell), ensure_ascii=False)


def _without_formula(text: str) -> str:
    if _NUMBER.fullmatch(text) or not _FORMULA.match(text):
        return text
    return f"'{text}"


# Markdown's markup characters, except underscores within a word, which names of tables have.
_MARKUP: Final = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)")


def markdown_cell(cell: Cell) -> str:
    """Return a value as Markdown text in one line, with markup escaped."""
    match cell:
        case None:
            text = ""
        case bool():
            text = "yes" if cell else "no"
        case datetime():
            text = _iso(cell)
        case str() | int() | float():
            text = str(cell)
        case TextLine():
            text = cell.text
        case _:
            text = ", ".join(cell)
    text = _MARKUP.sub(r"\\\g<0>", text).replace("&", "&amp;")
    return "<br>".join(text.replace("<", "&lt;").splitlines())


def _between_bars(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _plain(cell: Cell) -> Any:
    if isinstance(cell, TextLine):
        return cell.text
    return cell if cell is None or isinstance(cell, str | int | float | datetime) else list(cell)


def _dtype(cells: Sequence[Cell]) -> str:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds == {datetime}:
        return "datetime64[ms, UTC]"
    if kinds == {int}:
        return "Int64"
    return "Float64" if kinds <= {int, float} else "object"
