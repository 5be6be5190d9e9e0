"""Documentation files that people edit: CSV, XLSX, JSON, Markdown.

Every format returns exactly the rows that were written. A line that cannot be parsed is returned
with its problem, and does not affect others.

CSV (RFC 4180, UTF-8) is safe to open in a spreadsheet. A cell that a spreadsheet would take for a
formula gets an apostrophe in front, and so does a cell that already looks like one with such
apostrophes. Reading removes one apostrophe from exactly these cells, so that other apostrophes
stay.

XLSX, through openpyxl: every cell is text, never a formula. Characters that a workbook cannot
contain are written as `_x000D_`, which Excel and LibreOffice show as the characters. A text too
long for a cell continues in cells of further columns, `edited (2)`.

Markdown: a heading for each table, a section for each column, and below it the text to edit. A
section begins with a comment that identifies it in JSON. Its text begins after the line `<!-- text
-->` and ends before the next such comment, or at the end of the file. What is in between is only
information and may be changed; except for the quoted ingested description it is not read. White
space around a text is ignored. A text that cannot be written like that, because it begins or ends
with white space, has control characters or carriage returns, or a line that looks like one of those
comments, is written in a fence as JSON strings, one for each of its lines.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from zipfile import BadZipFile

import orjson

from explorer.encoding import decode_text
from explorer.errors import InvalidInput, MissingExtra
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import Change
from explorer.stewardship.documentation import CLEAR, Entry, Row, cell_of, text_in

if TYPE_CHECKING:
    from types import ModuleType

HEADER: Final = ("urn", "table", "column", "type", "ingested", "edited", "tags", "exported")
"""The names of the columns, in the order in which they are written."""

_NEEDED: Final = ("urn", "column", "edited")


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the cells of a row, in the order of the header."""
    return (
        row.urn,
        row.table,
        row.column,
        row.type,
        row.ingested,
        cell_of(row.edited),
        " ".join(row.tags),
        row.exported,
    )


def tag_names(cell: str) -> tuple[str, ...]:
    """Return the URNs of tags in a cell."""
    # Names of tags may contain spaces, but not followed by the beginning of a URN.
    first, *names = cell.split(" urn:li:")
    return tuple(filter(None, (first, *(f"urn:li:{name}" for name in names))))


def read_table(lines: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Entry]:
    """Yield the entries of a table, given as positions and cells, the header first.

    Columns may be in any order, and there may be others; missing cells are empty, and empty lines
    are skipped. Raises `InvalidInput` if the header lacks a required column or has one twice.
    """
    numbered = iter(lines)
    at = _places(next(numbered, ("", ()))[1])
    for place, cells in numbered:
        if not any(cell.strip() for cell in cells):
            continue
        fields = {name: cells[index] if index < len(cells) else "" for name, index in at.items()}
        edited, clears = text_in(fields["edited"])
        row = Row(
            urn=fields["urn"].strip(),
            table=fields.get("table", ""),
            column=fields["column"],
            type=fields.get("type", ""),
            ingested=fields.get("ingested", ""),
            edited=edited,
            tags=tag_names(fields.get("tags", "")),
            exported=fields.get("exported", "").strip(),
        )
        problem = None if row.urn else "the urn is empty"
        yield Entry(place, row, clears, problem)


def _places(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InvalidInput(
            f"the first line of the file has no column named {' or '.join(missing)}; "
            "see an exported file for an example"
        )
    twice = next((name for name in HEADER if names.count(name) > 1), None)
    if twice:
        raise InvalidInput(f"the first line of the file has two columns named {twice}")
    return {name: names.index(name) for name in HEADER if name in names}


# The characters that begin a formula in spreadsheets, including the full-width ones.
_BEGINNING: Final = r"(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠])"
_FORMULA: Final = re.compile(f"'*{_BEGINNING}")
_DEFUSED: Final = re.compile(f"'+{_BEGINNING}")
_DELIMITERS: Final = ",;\t"
_LONGEST: Final = 2**31 - 1


def escape_formula(cell: str) -> str:
    """Return the cell, with an apostrophe in front if a spreadsheet could take it for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Return the cell without the apostrophe that `escape_formula` added."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def write_csv(rows: Iterable[Row]) -> bytes:
    """Return a CSV file with a header and a line for each row, with the byte order mark that Excel
    needs."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(HEADER)
    for row in rows:
        writer.writerow(map(escape_formula, cells_of(row)))
    return buffer.getvalue().encode("utf-8-sig")


def read_csv(text: str) -> Iterable[Entry]:
    """Parse a CSV file that was exported, and possibly saved by a spreadsheet.

    Cells may be separated by commas, semicolons or tabs.
    """
    return read_table(_lines(text))


def _lines(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    # The limit applies to the whole process, so it is only ever increased.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidInput(f"{place} is not valid CSV: {error}") from None
        yield place, [unescape_formula(cell) for cell in cells]


_MOST_ROWS: Final = 1_048_575
_MOST_UNITS: Final = 32_767
_TITLE: Final = "documentation"
_HEADING: Final = "documentation heading"
_BODY: Final = "documentation text"
_WIDTHS: Final = dict(zip(HEADER, (48, 28, 28, 16, 48, 64, 28, 26), strict=True))
_UNHELD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# Excludes surrogates, which are not characters.
_ESCAPE: Final = re.compile(r"_x((?![dD][89a-fA-F])[0-9A-Fa-f]{4})_")
_CONTINUED: Final = re.compile(r"(.*\S)\s*\((\d+)\)")


def write_xlsx(rows: Iterable[Row]) -> bytes:
    """Return a workbook with one sheet, whose header stays visible when scrolling."""
    openpyxl = _openpyxl()
    table = [[_pieces(cell) for cell in cells_of(row)] for row in rows]
    if len(table) > _MOST_ROWS:
        raise InvalidInput(
            f"{len(table):,} rows are more than a sheet can have ({_MOST_ROWS:,}); use CSV or "
            "JSON, or choose fewer tables"
        )
    widths = [max((len(cells[at]) for cells in table), default=1) for at in range(len(HEADER))]
    book = openpyxl.Workbook(write_only=True)
    _add_styles(openpyxl, book)
    sheet = book.create_sheet(_TITLE)
    sheet.freeze_panes = "A2"
    names = [
        _name(name, part)
        for name, width in zip(HEADER, widths, strict=True)
        for part in range(width)
    ]
    for at, name in enumerate(names, start=1):
        letter = openpyxl.utils.get_column_letter(at)
        sheet.column_dimensions[letter].width = _WIDTHS[name.partition(" ")[0]]
    sheet.append([_cell(openpyxl, sheet, name, heads=True) for name in names])
    for cells in table:
        pieces = [
            piece
            for parts, width in zip(cells, widths, strict=True)
            for piece in (*parts, *[""] * (width - len(parts)))
        ]
        sheet.append([_cell(openpyxl, sheet, piece) for piece in pieces])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read_xlsx(data: bytes) -> Iterable[Entry]:
    """Parse the first sheet of a workbook. A number, date or formula is read as its displayed
    text."""
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, openpyxl.utils.exceptions.InvalidFileException):
        raise InvalidInput("the file is not an XLSX workbook, or it is damaged") from None
    if not book.worksheets:
        raise InvalidInput("the workbook has no sheet")
    return read_table(_sheet_lines(book.worksheets[0]))


def _sheet_lines(sheet: Any) -> Iterator[tuple[str, Sequence[str]]]:
    rows = sheet.iter_rows(values_only=True)
    header = [_text(value) for value in next(rows, ())]
    homes = [_home(name) for name in header]
    names = [name for at, name in enumerate(header) if homes[at] == (name, 1)]
    yield "row 1", names
    for number, values in enumerate(rows, start=2):
        parts: dict[str, dict[int, str]] = {name: {} for name in names}
        for (name, part), value in zip(homes, values, strict=False):
            if name in parts:
                parts[name].setdefault(part, _text(value))
        yield (
            f"row {number}",
            ["".join(parts[name][at] for at in sorted(parts[name])) for name in names],
        )


def _name(name: str, part: int) -> str:
    return f"{name} ({part + 1})" if part else name


def _home(name: str) -> tuple[str, int]:
    """Return the column that a name in the header belongs to, and the number of its part."""
    match = _CONTINUED.fullmatch(name)
    if match and match[1].lower() in HEADER and int(match[2]) > 1:
        return match[1], int(match[2])
    return name, 1


def _cell(openpyxl: "ModuleType", sheet: Any, text: str, *, heads: bool = False) -> Any:
    # An empty cell is left out of the file.
    if not text:
        return None
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    cell.style = _HEADING if heads else _BODY
    if escape_formula(text) != text:
        cell.quotePrefix = True
    return cell


def _add_styles(openpyxl: "ModuleType", book: Any) -> None:
    """Add the named styles, which take a third of the time of separate styles for each cell."""
    for name in (_HEADING, _BODY):
        style = openpyxl.styles.NamedStyle(name)
        # Text entered into a cell later stays text as well, even if it begins with an equals sign.
        style.number_format = "@"
        style.font = openpyxl.styles.Font(bold=name == _HEADING)
        style.alignment = openpyxl.styles.Alignment(vertical="top", wrap_text=name == _BODY)
        book.add_named_style(style)


def _pieces(text: str) -> list[str]:
    """Return the text split into cells; one cell unless it is too long."""
    escaped = _UNHELD.sub(_escape, text)
    if len(escaped) <= _MOST_UNITS and len(escaped.encode("utf-16-le")) <= 2 * _MOST_UNITS:
        return [escaped]
    half = min(len(text) // 2, _MOST_UNITS)
    return [*_pieces(text[:half]), *_pieces(text[half:])]


def _escape(match: re.Match[str]) -> str:
    return f"_x{ord(match[0]):04X}_"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _openpyxl() -> "ModuleType":
    try:
        import openpyxl
        import openpyxl.cell
        import openpyxl.styles
        import openpyxl.utils
        import openpyxl.utils.exceptions
    except ImportError as error:
        raise MissingExtra(
            "XLSX files need the package openpyxl", "files", ", or use CSV, JSON or Markdown"
        ) from error
    module: ModuleType = openpyxl
    return module


_FORM: Final = "catalog documentation"
_TEXTS: Final = ("urn", "table", "column", "type", "ingested", "exported")


def write_json(rows: Iterable[Row]) -> bytes:
    """Return a JSON file: `{"format": …, "version": 1, "rows": [{urn, table, column, type,
    ingested, edited, tags, exported}]}`.

    Texts are empty if there is no description.
    """
    value = {"format": _FORM, "version": 1, "rows": [_as_json(row) for row in rows]}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_json(text: str) -> Iterable[Entry]:
    """Parse a JSON file, or a JSON list of rows; null counts as an empty text."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the file is not valid JSON: {error}") from None
    rows = value.get("rows") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise InvalidInput("the file has no list of rows; see an exported file for an example")
    return _json_entries(rows)


def _json_entries(rows: list[Any]) -> Iterator[Entry]:
    for number, row in enumerate(rows, start=1):
        yield _json_entry(f"row {number}", row if isinstance(row, dict) else None)


def _json_entry(place: str, fields: dict[str, Any] | None) -> Entry:
    nothing = Row("", "", "", "", "", "")
    if fields is None:
        return Entry(place, nothing, problem="the row is not an object")
    texts = {name: fields.get(name) for name in (*_TEXTS, "edited")}
    wrong = [name for name, text in texts.items() if not isinstance(text, str | None)]
    cells = {name: text if isinstance(text, str) else "" for name, text in texts.items()}
    edited, clears = text_in(cells.pop("edited"))
    tag_urns = fields.get("tags")
    tags = tuple(map(str, tag_urns)) if isinstance(tag_urns, list) else ()
    row = Row(**cells, edited=edited, tags=tags)
    if wrong:
        return Entry(place, row, problem=f"{wrong[0]} is not text")
    if not row.urn:
        return Entry(place, row, problem="the urn is empty")
    return Entry(place, row, clears)


def _as_json(row: Row) -> dict[str, Any]:
    return {
        "urn": row.urn,
        "table": row.table,
        "column": row.column,
        "type": row.type,
        "ingested": row.ingested,
        "edited": cell_of(row.edited),
        "tags": list(row.tags),
        "exported": row.exported,
    }


_OPENING: Final = "<!-- catalog: "
_CLOSING: Final = " -->"
_TEXT: Final = "<!-- text -->"
_FENCE: Final = "```json lines"
_FENCE_END: Final = "```"
_QUOTE: Final = "> "
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_COMMENT: Final = re.compile(r"^<!-- (?:catalog:|text -->)", re.MULTILINE)
_SPACE: Final = re.compile(r"\s+")
_KNOWN: Final = ("urn", "table", "column", "type", "exported")

_PREFACE: Final = """\
<!--
Write below each line that says “text”, or change what stands there; an empty text changes nothing,
!clear takes a text back. Leave the comments as they are; what they enclose is not read.
-->
"""


def write_markdown(rows: Iterable[Row]) -> bytes:
    """Return a Markdown file with a section for each row, in order."""
    parts = [_PREFACE, *map(_section, rows)]
    return "\n".join(parts).encode()


def read_markdown(text: str) -> Iterable[Entry]:
    """Parse a Markdown file, whatever line ends it has."""
    entries = list(_sections(text.replace("\r\n", "\n").split("\n")))
    if not entries and text.strip() != _PREFACE.strip():
        raise InvalidInput(
            "the file has no sections of documentation; see an exported file for an example"
        )
    return entries


def _section(row: Row) -> str:
    written_below = ("ingested", "edited")
    about = {name: value for name, value in _as_json(row).items() if name not in written_below}
    # Escaped as in JSON strings, so that none ends the comment.
    text = json.dumps(about, ensure_ascii=False).replace(">", "\\u003e")
    text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    level, name = ("##", FieldPath(row.column).simple) if row.column else ("#", row.table)
    lines = [f"{_OPENING}{text}{_CLOSING}", f"{level} {_line(name)}", ""]
    # Labels come first, so that no text from the catalog begins a line.
    fields = (("Type", _line(row.type)), ("Tags", _line(" ".join(map(Urn.label, row.tags)))))
    if facts := " · ".join(f"{name}: {words}" for name, words in fields if words):
        lines += [facts, ""]
    if row.ingested:
        lines += [*(f"{_QUOTE}{line}" for line in _to_text(row.ingested).split("\n")), ""]
    lines += [_TEXT, ""]
    if row.edited:
        lines += [_to_text(cell_of(row.edited)), ""]
    return "\n".join((*lines, ""))


def _to_text(text: str) -> str:
    if (
        text == text.strip()
        and not _UNSAFE.search(text)
        and not _COMMENT.search(text)
        and not text.startswith(_FENCE)
    ):
        return text
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "\n".join((_FENCE, *map(_quote, ended), _FENCE_END))


def _quote(line: str) -> str:
    text = json.dumps(line, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _read_text(lines: list[str]) -> str:
    """Return the text in these lines. Raises `ValueError` for a fence that cannot be parsed."""
    text = "\n".join(lines).strip()
    if not text.startswith(_FENCE):
        return text
    fenced = text.split("\n")
    if len(fenced) < 2 or fenced[-1].strip() != _FENCE_END:
        raise ValueError("the fence around the text has no end")
    pieces = [json.loads(line) for line in fenced[1:-1] if line.strip()]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ValueError("a line in the fence is not a JSON string")
    return "".join(pieces)


def _sections(lines: list[str]) -> Iterator[Entry]:
    starts = [at for at, line in enumerate(lines) if line.startswith(_OPENING)]
    before = lines[: starts[0]] if starts else lines
    if _TEXT in before:
        nothing = Row("", "", "", "", "", "\n".join(before).strip())
        problem = "the comment that begins the section is missing"
        yield Entry(f"line {before.index(_TEXT) + 1}", nothing, problem=problem)
    for start, end in pairwise([*starts, len(lines)]):
        yield _section_entry(f"line {start + 1}", lines[start], lines[start + 1 : end])


def _section_entry(place: str, opening: str, lines: list[str]) -> Entry:
    # Of a section that cannot be parsed, the whole text is returned.
    nothing = Row("", "", "", "", "", "\n".join(lines).strip())
    try:
        about = json.loads(opening.rstrip().removeprefix(_OPENING).removesuffix(_CLOSING))
        cells = {name: about.get(name, "") for name in _KNOWN}
        tags = tuple(about.get("tags", ()))
    except (ValueError, AttributeError, TypeError):
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    if not all(isinstance(text, str) for text in (*cells.values(), *tags)) or not cells["urn"]:
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    row = Row(**cells, ingested="", edited="", tags=tags)
    marks = [at for at, line in enumerate(lines) if line.rstrip() == _TEXT]
    if len(marks) != 1:
        often = "two lines" if marks else "no line"
        row = replace(row, edited=nothing.edited)
        return Entry(place, row, problem=f"the section has {often} {_TEXT}")
    above, below = lines[: marks[0]], lines[marks[0] + 1 :]
    quoted = [line[1:].removeprefix(" ") for line in above if line.startswith(">")]
    try:
        ingested = _read_text(quoted)
        edited, clears = text_in(_read_text(below))
    except ValueError as error:
        row = replace(row, edited=nothing.edited)
        return Entry(place, row, problem=f"its text cannot be read: {error}")
    return Entry(place, Row(**cells, ingested=ingested, edited=edited, tags=tags), clears)


def _line(text: str) -> str:
    """Return the text on one line, for display."""
    return _SPACE.sub(" ", _UNSAFE.sub(" ", text)).strip()


_BEFORE: Final = ("place", "kind", "why", "theirs")
_EDITED: Final = HEADER.index("edited")


def write_report(changes: Iterable[Change]) -> bytes:
    """Return a CSV file with a line for each change.

    It has the position in the imported file, the kind, the reason why it was not applied, the
    catalog's text, and then all cells of the imported line under their names.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow((*_BEFORE, *HEADER))
    for change in changes:
        entry = change.entry
        cells = list(cells_of(entry.row))
        if entry.clears:
            cells[_EDITED] = CLEAR
        outcome = (entry.place, change.kind, change.why or "", change.theirs or "")
        writer.writerow(map(escape_formula, (*outcome, *cells)))
    return buffer.getvalue().encode("utf-8-sig")


Format = Literal["csv", "json", "md", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats, by file name extension."""

_WRITERS: Final[dict[Format, Callable[[Iterable[Row]], bytes]]] = {
    "csv": write_csv,
    "json": write_json,
    "md": write_markdown,
    "xlsx": write_xlsx,
}
_READERS: Final[dict[Format, Callable[[str], Iterable[Entry]]]] = {
    "csv": read_csv,
    "json": read_json,
    "md": read_markdown,
}
_OTHER_ENDINGS: Final[dict[str, Format]] = {"markdown": "md"}


def format_of(name: str | PurePath) -> Format:
    """Return the format for a file name's extension. Raises `InvalidInput` for an unknown one."""
    ending = PurePath(name).suffix[1:].lower()
    for extension in FORMATS:
        if ending == extension:
            return extension
    if ending in _OTHER_ENDINGS:
        return _OTHER_ENDINGS[ending]
    endings = ", ".join(f".{extension}" for extension in FORMATS)
    raise InvalidInput(f"the format of {name} is unknown; use a name that ends in {endings}")


def write_rows(rows: Iterable[Row], form: Format) -> bytes:
    """Return the content of a file with these rows, in order, with all texts exact.

    Raises `MissingExtra` for XLSX if openpyxl is not installed, `InvalidInput` for more rows than a
    sheet can have.
    """
    return _WRITERS[form](rows)


def read_rows(data: bytes, form: Format, encoding: str | None = None) -> tuple[Entry, ...]:
    """Parse a file, line by line; `encoding` is needed unless it is UTF-8 or UTF-16.

    Raises `InvalidInput` if it is not such a file or lacks a required column; a line that cannot be
    parsed is returned with its problem.
    """
    if form == "xlsx":
        return tuple(read_xlsx(data))
    return tuple(_READERS[form](decode_text(data, encoding)))
