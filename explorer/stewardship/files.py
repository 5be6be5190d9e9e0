"""Documentation as files that people edit: CSV, XLSX, JSON, Markdown.

Every format gives back exactly the rows that were written to it. A line that cannot be read is
given with its problem and stops nothing.

CSV (RFC 4180, UTF-8), safe to open in a spreadsheet and exact on the way back.

A cell that a spreadsheet would take for a formula gets an apostrophe before it. So does one that
already reads like a cell with such apostrophes; reading takes one away from exactly those, so that
an apostrophe that somebody wrote stays.

XLSX, through openpyxl: every cell a text, never a formula, whatever it holds.

Characters that a workbook cannot hold are written as workbooks write them, `_x000D_`, which Excel
and LibreOffice show as the characters they stand for. A text too long for a cell goes on in the
cells of further columns, `edited (2)`.

Markdown: a heading for each table, a section for each column, and the text below it to edit.

A section begins with a comment that says, as JSON, what it is about, and its text begins after the
line `<!-- text -->`, up to the next such comment or the end. What stands between the two is there
to be read and may be changed at will; but for the quoted text of ingestion, reading passes it over.

White space around a text does not count. A text that cannot stand so, because it has white space
at its ends, control characters or carriage returns, or a line that looks like one of those
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

from explorer.errors import InvalidInput, MissingExtra
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import Change
from explorer.stewardship.documentation import CLEAR, Entry, Row, cell_of, text_in

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["FORMATS", "Format", "format_of", "read_rows", "write_report", "write_rows"]

HEADER: Final = ("urn", "table", "column", "type", "ingested", "edited", "tags", "exported")
"""The names of the columns, in the order in which they are written."""

_NEEDED: Final = ("urn", "column", "edited")


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the cells of a row under the header."""
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
    """Return the URNs of tags out of their cell."""
    # Their names may hold spaces, but none is followed by the beginning of a URN.
    first, *others = cell.split(" urn:li:")
    return tuple(filter(None, (first, *(f"urn:li:{name}" for name in others))))


def read_table(lines: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Entry]:
    """Yield the entries of a table, given as places and cells, the header first.

    Columns may stand in any order and be joined by others; cells that a line lacks are empty, and
    lines without any text are passed over. Raises `InvalidInput` where the header lacks a column
    that every line needs, or names one twice.
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
        problem = None if row.urn else "the line names no table: its urn is empty"
        yield Entry(place, row, clears, problem)


def _places(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InvalidInput(
            f"the first line of the file has no column named {' or '.join(missing)}; "
            "an exported file shows the form"
        )
    twice = next((name for name in HEADER if names.count(name) > 1), None)
    if twice:
        raise InvalidInput(f"the first line of the file has two columns named {twice}")
    return {name: names.index(name) for name in HEADER if name in names}


# What spreadsheets read as the beginning of a formula, the full-width forms with it.
_BEGINNING: Final = r"(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠])"
_FORMULA: Final = re.compile(f"'*{_BEGINNING}")
_DEFUSED: Final = re.compile(f"'+{_BEGINNING}")
_DELIMITERS: Final = ",;\t"
_LONGEST: Final = 2**31 - 1


def escape_formula(cell: str) -> str:
    """Return the cell, with an apostrophe before it where a spreadsheet could run it."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Return the cell without the apostrophe that `escape_formula` put before it."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def write_csv(rows: Iterable[Row]) -> bytes:
    """Return a header and a line for each row; begins with the mark by which Excel knows UTF-8."""
    held = io.StringIO(newline="")
    writer = csv.writer(held)
    writer.writerow(HEADER)
    for row in rows:
        writer.writerow(map(escape_formula, cells_of(row)))
    return held.getvalue().encode("utf-8-sig")


def read_csv(data: bytes) -> Iterable[Entry]:
    """Return the entries of a file that was exported, or edited and saved by a spreadsheet since:
    commas, semicolons or tabs between the cells, with or without the mark for UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the file is not UTF-8 (byte {error.start:,}); save it as “CSV UTF-8”"
        ) from None
    return read_table(_lines(text))


def _lines(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    # The module's own limit is for the whole process; it is only ever raised.
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
            raise InvalidInput(f"{place} is no CSV: {error}") from None
        yield place, [unescape_formula(cell) for cell in cells]


_MOST_ROWS: Final = 1_048_575
_MOST_UNITS: Final = 32_767
_TITLE: Final = "documentation"
_HEADING: Final = "documentation heading"
_BODY: Final = "documentation text"
_WIDTHS: Final = dict(zip(HEADER, (48, 28, 28, 16, 48, 64, 28, 26), strict=True))
_UNHELD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# Halves of surrogate pairs are no characters.
_ESCAPE: Final = re.compile(r"_x((?![dD][89a-fA-F])[0-9A-Fa-f]{4})_")
_CONTINUED: Final = re.compile(r"(.*\S)\s*\((\d+)\)")


def write_xlsx(rows: Iterable[Row]) -> bytes:
    """Return one sheet, its header fixed in sight."""
    openpyxl = _openpyxl()
    table = [[_pieces(cell) for cell in cells_of(row)] for row in rows]
    if len(table) > _MOST_ROWS:
        raise InvalidInput(
            f"{len(table):,} rows are more than a sheet holds ({_MOST_ROWS:,}); write CSV or JSON, "
            "or choose fewer tables"
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
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def read_xlsx(data: bytes) -> Iterable[Entry]:
    """Return the entries of the first sheet. A number, a date or a formula that somebody put into a
    cell counts as the text that is seen there."""
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, openpyxl.utils.exceptions.InvalidFileException):
        raise InvalidInput("the file is no XLSX workbook, or it is damaged") from None
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
    """Return the column that a header's name belongs to, and which part of it."""
    found = _CONTINUED.fullmatch(name)
    if found and found[1].lower() in HEADER and int(found[2]) > 1:
        return found[1], int(found[2])
    return name, 1


def _cell(openpyxl: "ModuleType", sheet: Any, text: str, *, heads: bool = False) -> Any:
    # A cell without a text is left out of the file.
    if not text:
        return None
    cell = openpyxl.cell.WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    cell.style = _HEADING if heads else _BODY
    if escape_formula(text) != text:
        cell.quotePrefix = True
    return cell


def _add_styles(openpyxl: "ModuleType", book: Any) -> None:
    """Named ones: giving each cell a style of its own takes three times as long."""
    for name in (_HEADING, _BODY):
        style = openpyxl.styles.NamedStyle(name)
        # What is typed into a cell later is a text as well, a leading sign of equality included.
        style.number_format = "@"
        style.font = openpyxl.styles.Font(bold=name == _HEADING)
        style.alignment = openpyxl.styles.Alignment(vertical="top", wrap_text=name == _BODY)
        book.add_named_style(style)


def _pieces(text: str) -> list[str]:
    """Return the text in cells, one of them unless it is too long for it."""
    written = _UNHELD.sub(_escaped, text)
    if len(written) <= _MOST_UNITS and len(written.encode("utf-16-le")) <= 2 * _MOST_UNITS:
        return [written]
    half = min(len(text) // 2, _MOST_UNITS)
    return [*_pieces(text[:half]), *_pieces(text[half:])]


def _escaped(found: re.Match[str]) -> str:
    return f"_x{ord(found[0]):04X}_"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)
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
            "XLSX files need the package openpyxl", "files", ", or choose CSV, JSON or Markdown"
        ) from error
    found: ModuleType = openpyxl
    return found


_FORM: Final = "catalog documentation"
_TEXTS: Final = ("urn", "table", "column", "type", "ingested", "exported")


def write_json(rows: Iterable[Row]) -> bytes:
    """`{"format": …, "version": 1, "rows": [{urn, table, column, type, ingested, edited, tags,
    exported}]}`; texts are empty where nothing is written."""
    value = {"format": _FORM, "version": 1, "rows": [_as_json(row) for row in rows]}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_json(data: bytes) -> Iterable[Entry]:
    """Return the entries of such a file, or of a bare list of rows; null is as good as an empty
    text."""
    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the file is no JSON: {error}") from None
    rows = value.get("rows") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise InvalidInput("the file has no list of rows; an exported file shows the form")
    return _json_entries(rows)


def _json_entries(rows: list[Any]) -> Iterator[Entry]:
    for number, row in enumerate(rows, start=1):
        yield _json_entry(f"row {number}", row if isinstance(row, dict) else None)


def _json_entry(place: str, fields: dict[str, Any] | None) -> Entry:
    nothing = Row("", "", "", "", "", "")
    if fields is None:
        return Entry(place, nothing, problem="the row is no object")
    texts = {name: fields.get(name) for name in (*_TEXTS, "edited")}
    wrong = [name for name, text in texts.items() if not isinstance(text, str | None)]
    known = {name: text if isinstance(text, str) else "" for name, text in texts.items()}
    edited, clears = text_in(known.pop("edited"))
    given = fields.get("tags")
    tags = tuple(map(str, given)) if isinstance(given, list) else ()
    row = Row(**known, edited=edited, tags=tags)
    if wrong:
        return Entry(place, row, problem=f"{wrong[0]} is no text")
    if not row.urn:
        return Entry(place, row, problem="the row names no table: its urn is empty")
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
    """Return the sections of the rows, in their order."""
    parts = [_PREFACE, *map(_section, rows)]
    return "\n".join(parts).encode()


def read_markdown(data: bytes) -> Iterable[Entry]:
    """Return the entries of such a file, wherever its lines have got other ends since."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the file is not UTF-8 (byte {error.start:,})") from None
    entries = list(_sections(text.replace("\r\n", "\n").split("\n")))
    if not entries and text.strip() != _PREFACE.strip():
        raise InvalidInput("the file has no section of documentation; an exported one shows them")
    return entries


def _section(row: Row) -> str:
    about = {
        "urn": row.urn,
        "table": row.table,
        "column": row.column,
        "type": row.type,
        "tags": list(row.tags),
        "exported": row.exported,
    }
    # Within a string of JSON, where its escape means the same; so that none ends the comment.
    text = json.dumps(about, ensure_ascii=False).replace(">", "\\u003e")
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    level, name = ("##", FieldPath(row.column).simple) if row.column else ("#", row.table)
    lines = [f"{_OPENING}{text}{_CLOSING}", f"{level} {_line(name)}", ""]
    # Words of our own come first, so that none of theirs begins a line.
    fields = (("Type", _line(row.type)), ("Tags", _line(" ".join(map(Urn.label, row.tags)))))
    if shown := " · ".join(f"{name}: {words}" for name, words in fields if words):
        lines += [shown, ""]
    if row.ingested:
        lines += [*(f"{_QUOTE}{line}" for line in _written(row.ingested).split("\n")), ""]
    lines += [_TEXT, ""]
    if row.edited:
        lines += [_written(cell_of(row.edited)), ""]
    return "\n".join((*lines, ""))


def _written(text: str) -> str:
    if (
        text == text.strip()
        and not _UNSAFE.search(text)
        and not _COMMENT.search(text)
        and not text.startswith(_FENCE)
    ):
        return text
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "\n".join((_FENCE, *map(_quoted, ended), _FENCE_END))


def _quoted(line: str) -> str:
    text = json.dumps(line, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _read_text(lines: list[str]) -> str:
    """Return the text that stands in these lines; raises `ValueError` for a fence that cannot be
    read."""
    text = "\n".join(lines).strip()
    if not text.startswith(_FENCE):
        return text
    fenced = text.split("\n")
    if len(fenced) < 2 or fenced[-1].strip() != _FENCE_END:
        raise ValueError("the fence around the text has no end")
    pieces = [json.loads(line) for line in fenced[1:-1] if line.strip()]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ValueError("a line in the fence is no JSON string")
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
    # What cannot be told apart is kept as a whole.
    nothing = Row("", "", "", "", "", "\n".join(lines).strip())
    try:
        about = json.loads(opening.rstrip().removeprefix(_OPENING).removesuffix(_CLOSING))
        known = {name: about.get(name, "") for name in _KNOWN}
        tags = tuple(about.get("tags", ()))
    except (ValueError, AttributeError, TypeError):
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    if not all(isinstance(text, str) for text in (*known.values(), *tags)) or not known["urn"]:
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    row = Row(**known, ingested="", edited="", tags=tags)
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
    return Entry(place, Row(**known, ingested=ingested, edited=edited, tags=tags), clears)


def _line(text: str) -> str:
    """Return the text as decoration on one line."""
    return _SPACE.sub(" ", _UNSAFE.sub(" ", text)).strip()


_BEFORE: Final = ("place", "kind", "why", "theirs")
_EDITED: Final = HEADER.index("edited")


def write_report(changes: Iterable[Change]) -> bytes:
    """Return a line for each change: its place in the imported file, its kind, why it was left,
    what the catalog holds, and then everything that the line said, under the names it had there."""
    held = io.StringIO(newline="")
    writer = csv.writer(held)
    writer.writerow((*_BEFORE, *HEADER))
    for change in changes:
        entry = change.entry
        cells = list(cells_of(entry.row))
        if entry.clears:
            cells[_EDITED] = CLEAR
        outcome = (entry.place, change.kind, change.why or "", change.theirs or "")
        writer.writerow(map(escape_formula, (*outcome, *cells)))
    return held.getvalue().encode("utf-8-sig")


Format = Literal["csv", "json", "md", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats, by the ending of a file's name."""

_WRITERS: Final[dict[Format, Callable[[Iterable[Row]], bytes]]] = {
    "csv": write_csv,
    "json": write_json,
    "md": write_markdown,
    "xlsx": write_xlsx,
}
_READERS: Final[dict[Format, Callable[[bytes], Iterable[Entry]]]] = {
    "csv": read_csv,
    "json": read_json,
    "md": read_markdown,
    "xlsx": read_xlsx,
}
_OTHER_ENDINGS: Final[dict[str, Format]] = {"markdown": "md"}


def format_of(name: str | PurePath) -> Format:
    """Return the format that the ending of a file's name tells; raises `InvalidInput` for
    another."""
    ending = PurePath(name).suffix[1:].lower()
    for known in FORMATS:
        if ending == known:
            return known
    if ending in _OTHER_ENDINGS:
        return _OTHER_ENDINGS[ending]
    endings = ", ".join(f".{known}" for known in FORMATS)
    raise InvalidInput(f"{name} does not tell its format; end its name in one of {endings}")


def write_rows(rows: Iterable[Row], form: Format) -> bytes:
    """Return a file with these rows, in their order, with every text in it exact.

    Raises `MissingExtra` for XLSX where openpyxl is not installed, `InvalidInput` for more rows
    than a sheet has.
    """
    return _WRITERS[form](rows)


def read_rows(data: bytes, form: Format) -> tuple[Entry, ...]:
    """Return what a file says, line by line.

    Raises `InvalidInput` when it is no such file, or lacks what every line needs; a line that
    cannot be read is given with its problem.
    """
    return tuple(_READERS[form](data))
