"""Output of commands: results on standard output, everything else on standard error; tables for
people, CSV, JSON and URNs for programs.
"""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import orjson
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from explorer.client.display import block, line, visible
from explorer.metadata.urn import Urn
from explorer.views import table as values
from explorer.views.diff import Diff, LineKind
from explorer.views.table import Table, TableColumn, cell_text, places_for

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from explorer.client import Catalog
    from explorer.sessions.base import Session

EDITED = "✎"
"""The mark before a text that people edited, as opposed to an ingested one."""

# In JSON, characters outside ASCII occur only in strings, where an escape is equivalent.
_NOT_ASCII = re.compile(r"[^\n -~]")

_LINE_LIMIT = 2_000

UNLIMITED: Final = 10_000
"""The width of a console whose lines nothing wraps or cuts."""


class _Console(Console):
    """A rich console that raises `BrokenPipeError` for a closed pipe instead of exiting, and writes
    no trailing spaces to files and pipes."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as capture:
            super().print(*objects, **options)
        self.file.write("\n".join(text_line.rstrip(" ") for text_line in capture.get().split("\n")))


def results() -> Console:
    """Return a console for standard output, with colours only if that is a terminal. Its width is
    that of the terminal or of `COLUMNS`, else `UNLIMITED`: other programs read whole lines."""
    return _console(sys.stdout)


def notes() -> Console:
    """Return a console for standard error."""
    return _console(sys.stderr)


def progress_bars(*columns: "ProgressColumn") -> "Progress":
    """Return progress bars on standard error, which are shown only if that is a terminal, and
    removed at the end. Beside a bar are the number of items done and the total, or `columns`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = notes()
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *(columns or (MofNCompleteColumn(),)),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _console(file: IO[str]) -> Console:
    is_fitted = file.isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if is_fitted else UNLIMITED
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def note(*parts: RenderableType) -> None:
    """Print a message to standard error."""
    notes().print(*parts, sep="", soft_wrap=True)


def note_saved(*parts: RenderableType, undo: str, warnings: Sequence[str]) -> None:
    """Print what was saved and how to undo it, unless that was warned of, which is printed
    already (`Catalog.save_warnings`)."""
    note(*parts, *(() if warnings else (Text(f"; {undo}"),)))


def note_message(session: "Session[Any]", hint: str = "", *, undo: str = "") -> None:
    """Print what a session said last, and how to go on from there, or how to undo what it saved,
    as `note_saved`."""
    if session.state.message is not None:
        sentence = line_text(session.state.message.sentence.removesuffix("."))
        hints = (hint, "" if session.catalog.save_warnings else undo)
        note(Text("; ").join((sentence, *(Text(given) for given in hints if given))))


def confirm(catalog: "Catalog", question: str, *, default: bool = False) -> bool:
    """Ask a question about a catalog, which it names, and return whether it is confirmed."""
    import click

    from explorer.views.journal import catalog_place

    return click.confirm(
        f"In the catalog {line(catalog_place(catalog.address))}: {question}",
        default=default,
        err=True,
    )


def print_json(value: Any) -> None:
    """Print one JSON value to standard output, indented, as UTF-8.

    Characters that a terminal would interpret are escaped; parsing returns exactly `value`.
    """
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    sys.stdout.buffer.write(escape_json(text) + b"\n")
    sys.stdout.buffer.flush()


def escape_json(text: bytes) -> bytes:
    """Return equivalent JSON in which characters that a terminal would interpret are escaped."""
    return _NOT_ASCII.sub(_escape, text.decode()).encode()


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char.isprintable():
        return char
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def line_text(
    text: str | None, style: str = "", *, missing: str = "", limit: int = _LINE_LIMIT
) -> Text:
    """Return a text from the catalog as one line of at most `limit` characters, or `missing` if
    there is none."""
    one_line = line(text, limit)
    return Text(one_line, style) if one_line else Text(missing, "dim italic")


def block_text(text: str | None, style: str = "") -> Text:
    """Return a text from the catalog with its line breaks."""
    return Text(block(text).strip("\n"), style)


def words(parts: Iterable[Text | None], between: str = " · ") -> Text:
    """Join the parts that are not empty."""
    return Text(between, "dim").join(part for part in parts if part)


_DIFF_STYLES: Final[dict[LineKind, str]] = {
    "place": "bold",
    "minor": "dim",
    "added": "green",
    "removed": "red",
    "gap": "dim",
    "note": "dim italic",
}


def print_diff(diff: Diff, console: Console | None = None, *, indent: int = 0) -> None:
    """Print a diff, by default to standard output. Lines below a place are indented by `indent`."""
    console = console or results()
    for diff_line in diff:
        style = _DIFF_STYLES.get(diff_line.kind, "")
        is_place = diff_line.kind in ("place", "minor")
        text = Text(f"{diff_line.mark} " if is_place else f"{' ' * indent}{diff_line.mark}", style)
        for segment, is_changed in diff_line.cleaned(visible).segments():
            text.append(Text(segment, "bold underline" if is_changed else ""))
        console.print(text, soft_wrap=True)


Cell = values.Cell | Text
"""The value of a cell; a `Text` is printed with its own style."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_GAP: Final = 2
_MIN_SHRUNK_WIDTH: Final = 12
_PROSE_WIDTH: Final = 16


@dataclass(frozen=True, slots=True)
class StyledTable:
    """A table whose cells may be styled texts."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Cell]]

    @classmethod
    def of(cls, names: Iterable[str], rows: Sequence[Sequence[Cell]]) -> "StyledTable":
        """Return a table whose columns have these names and no other properties."""
        return cls([TableColumn(name) for name in names], rows)

    def plain(self) -> Table:
        """Return the table without styles."""
        rows = [
            [cell.plain if isinstance(cell, Text) else cell for cell in row] for row in self.rows
        ]
        return Table(self.columns, rows)


def print_table(table: Table | StyledTable, *, headings: bool = True) -> None:
    """Print the table for people, fitted to the width of the terminal; elsewhere each row is one
    line and nothing is cut.

    Columns of numbers are aligned right; columns that are only for programs are left out.
    """
    positions = places_for("people", table.columns)
    rich_table = RichTable(
        box=None,
        pad_edge=False,
        padding=(0, _GAP, 0, 0),
        header_style="bold",
        show_header=headings,
    )
    cells = [[_format_cell(row[at], table.columns[at]) for at in positions] for row in table.rows]
    console = results()
    widths = _widths(table, positions, cells, console.width, headings=headings)
    for place, at in enumerate(positions):
        column = table.columns[at]
        numbers = [row[at] for row in table.rows if row[at] is not None]
        right = bool(numbers) and all(_is_number(value) for value in numbers)
        rich_table.add_column(
            column.title,
            width=widths[place],
            justify="right" if right else "left",
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
        )
    for texts in cells:
        rich_table.add_row(*texts)
    console.print(rich_table)


def show(
    table: Table | StyledTable,
    form: Literal["csv", "json", "urns"] | None,
    rows_name: str = "",
    *,
    empty: str = "",
    **document: Any,
) -> None:
    """Print the table in the given form, by default for people.

    As JSON it is a list, or with `rows_name` the object `document` with the list under that name;
    as URNs those of its rows, each once. Instead of a table without rows people see the note
    `empty`.
    """
    match form:
        case "json":
            objects = as_objects(table)
            print_json({**document, rows_name: objects} if rows_name else objects)
        case "csv":
            plain = table.plain() if isinstance(table, StyledTable) else table
            print_exactly(values.to_csv(plain))
        case "urns":
            at = [column.name for column in table.columns].index("urn")
            print_urns(dict.fromkeys(str(row[at]) for row in table.rows))
        case None if table.rows:
            print_table(table)
        case None if empty:
            note(line_text(empty))


def as_objects(table: Table | StyledTable) -> list[dict[str, Any]]:
    """Return one dictionary per row, from column name to value, for JSON."""
    return values.to_objects(table.plain() if isinstance(table, StyledTable) else table)


def print_urns(urns: Iterable[str | Urn]) -> None:
    """Print the URNs, one per line."""
    print_exactly("".join(f"{_one_line(str(urn))}\n" for urn in urns))


def print_exactly(text: str) -> None:
    """Print text unchanged, for other programs. On a terminal, characters that it would interpret
    are replaced by visible marks."""
    if sys.stdout.isatty():
        text = visible(text.replace("\r\n", "\n"))
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def _format_cell(value: Cell, column: TableColumn) -> Text:
    return value if isinstance(value, Text) else line_text(cell_text(value, column), column.style)


def _widths(
    table: Table | StyledTable,
    positions: Sequence[int],
    cells: Sequence[Sequence[Text]],
    width: int,
    *,
    headings: bool,
) -> list[int]:
    """Return the width of each column: that of its cells, or less for the widest columns if the
    table would exceed `width`.

    Columns that can be cut give way first, then those that fold their text, down to their longest
    words and to less than that only if it has to be.
    """
    widths, least = [], []
    for place, at in enumerate(positions):
        column = table.columns[at]
        heading = len(column.title) if headings else 0
        widest = max((row[place].cell_len for row in cells), default=0)
        if column.max_width is not None and width < UNLIMITED:
            widest = min(widest, column.max_width)
        widths.append(max(heading, widest, 1))
        least.append(_longest_word([row[place].plain for row in cells]) if column.folds else 0)
    least = [max(floor, _MIN_SHRUNK_WIDTH) for floor in least]
    shortest = [_MIN_SHRUNK_WIDTH] * len(widths)
    cut = [place for place, at in enumerate(positions) if not table.columns[at].folds]
    for places, floors in (
        (cut, shortest),
        (range(len(widths)), least),
        (range(len(widths)), shortest),
    ):
        _shrink(widths, places, floors, sum(widths) + _GAP * max(len(widths) - 1, 0) - width)
    return widths


def _longest_word(texts: Sequence[str]) -> int:
    """Return the width of the longest word of a column, but of prose no more than most words have,
    because a long one among many is no reason to cut names in other columns."""
    words = [text.split() for text in texts]
    longest = max((cell_len(word) for words_of_text in words for word in words_of_text), default=0)
    return min(longest, _PROSE_WIDTH) if max(map(len, words), default=0) > 1 else longest


def _shrink(widths: list[int], places: Sequence[int], floors: Sequence[int], over: int) -> None:
    """Take `over` characters off the widest of these columns, none of which gets narrower than its
    floor."""
    while over > 0:
        giving = [place for place in places if widths[place] > floors[place]]
        if not giving:
            return
        # Columns of equal width shrink together, one character at a time.
        widths[max(giving, key=lambda place: widths[place])] -= 1
        over -= 1


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_line(text: str) -> str:
    """Return a text as one line, with ␤ in place of line breaks."""
    return _LINE_END.sub("␤", text)
