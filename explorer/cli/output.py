"""Output of commands: results on standard output, everything else on standard error; tables for
people, CSV, JSON and URNs for programs.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import orjson
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from explorer.client.display import block, line, visible
from explorer.metadata.urn import Urn
from explorer.views.chart import Bars, Lines, Panel, panel_rows
from explorer.views.diff import Diff, LineKind
from explorer.views.parts import (
    Chain,
    Code,
    Difference,
    Facts,
    Fitted,
    Fold,
    Note,
    Prose,
    Report,
    ReportPart,
    Say,
    Title,
    with_names,
)
from explorer.views.table import (
    Cell,
    Table,
    TableColumn,
    cell_text,
    places_for,
    to_csv,
    to_objects,
)
from explorer.views.text import TextLine

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from explorer.client import Catalog
    from explorer.sessions.base import Session

# In JSON, characters outside ASCII occur only in strings, where an escape is equivalent.
_NOT_ASCII = re.compile(r"[^\n -~]")

# Spaces and the characters that draw the lines of trees.
_DRAWN: Final = re.compile("[ ─-╿]*")

_LINE_LIMIT = 2_000
# Lines of the terminal reserved for the header, the totals and the next prompt.
_RESERVED_LINES: Final = 4
_MIN_ENTRIES: Final = 10
_MAX_PIPED: Final = 1_000

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


def page_size(form: str | None) -> int:
    """Return how many entries of a list are printed by default: those that fit the terminal, or
    1,000 if the output is not for people."""
    if form is not None or not sys.stdout.isatty():
        return _MAX_PIPED
    return max(_MIN_ENTRIES, results().height - _RESERVED_LINES)


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


def show_notes(messages: Iterable[Note]) -> None:
    """Print messages to standard error."""
    for message in messages:
        note(styled_text(message) if isinstance(message, TextLine) else line_text(message))


def note_saved(*parts: RenderableType, undo: str, warnings: Sequence[str]) -> None:
    """Print what was saved and how to undo it; the latter is left out if there are `warnings`
    (`Catalog.save_warnings`), which are printed already."""
    note(*parts, *(() if warnings else (Text(f"; {undo}"),)))


def note_message(session: "Session[Any]", hint: str = "", *, undo: str = "") -> None:
    """Print the last message of a session, if any, followed by `hint` and by `undo`, which says how
    to undo a save and is left out if the client has save warnings."""
    if session.state.message is not None:
        sentence = line_text(session.state.message.sentence.removesuffix("."))
        hints = (hint, "" if session.catalog.save_warnings else undo)
        note(Text("; ").join((sentence, *(Text(given) for given in hints if given))))


def confirm(catalog: "Catalog", question: str, *, default: bool = False) -> bool:
    """Ask a yes-or-no question that names the catalog, and return whether the answer is yes."""
    import click

    from explorer.views.journal import catalog_place

    return click.confirm(
        f"In the catalog {line(catalog_place(catalog.address))}: {question}",
        default=default,
        err=True,
    )


def print_json(value: Any, *, is_indented: bool = True) -> None:
    """Print one JSON value to standard output, as UTF-8.

    Characters that a terminal would interpret are escaped; parsing returns exactly `value`.
    """
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if is_indented else None)
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


def styled_text(text_line: TextLine) -> Text:
    """Return a line with the styles of its pieces."""
    text = Text()
    for piece in text_line.pieces:
        words, style = (piece, "") if isinstance(piece, str) else piece
        text.append(_clean_piece(words), style)
    return text


def _clean_piece(words: str) -> str:
    """Return a text without characters that a terminal would interpret; leading and trailing
    spaces, and spaces in drawn lines, are kept."""
    if _DRAWN.fullmatch(words):
        return words
    before = words[: len(words) - len(words.lstrip(" "))]
    return f"{before}{line(words)}{words[len(words.rstrip(' ')) :]}"


def block_text(text: str | None, style: str = "") -> Text:
    """Return a text from the catalog with its line breaks."""
    return Text(block(text).strip("\n"), style)


def words(parts: Iterable[Text | None], between: str = " · ") -> Text:
    """Join the parts that are not empty, with `between` between them."""
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


_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_GAP: Final = 2
_MIN_SHRUNK_WIDTH: Final = 12
_PROSE_WIDTH: Final = 16


def print_table(table: Table, console: Console | None = None) -> None:
    """Print the table for people, fitted to the width of the terminal. Outside a terminal, each row
    is one line and nothing is cut.

    Columns of numbers are aligned right; columns that are only for programs are left out.
    """
    console = console or results()
    visible_columns = places_for("people", table.columns)
    positions = [at for at in visible_columns if not table.columns[at].is_below]
    below = [at for at in visible_columns if table.columns[at].is_below]
    cells = [[_format_cell(row[at], table.columns[at]) for at in positions] for row in table.rows]
    widths = _widths(table, positions, cells, console.width)
    _draw_bars(table, positions, cells, widths, console.width)
    rich_table = _frame_table(table, positions, widths)
    for texts, row in zip(cells, table.rows, strict=True):
        rich_table.add_row(*texts)
        if below:
            console.print(rich_table)
            for at in below:
                if text := _format_cell(row[at], table.columns[at]):
                    below_row = Padding(text, _INDENT)
                    if table.columns[at].folds:
                        console.print(below_row, overflow="fold")
                    else:
                        console.print(below_row, no_wrap=True, overflow="ellipsis")
            rich_table = _frame_table(table, positions, widths, has_headings=False)
    if not below:
        console.print(rich_table)


def _draw_bars(
    table: Table,
    positions: Sequence[int],
    cells: Sequence[list[Text]],
    widths: list[int],
    width: int,
) -> None:
    """Replace the numbers in bar columns with bars as wide as the remaining space; modifies `cells`
    and `widths`."""
    for place, at in enumerate(positions):
        if table.columns[at].is_bar:
            numbers = [float(str(row[at] or 0)) for row in table.rows]
            others = sum(widths) - widths[place] + _GAP * (len(widths) - 1)
            widths[place] = room = _bar_room(width - others)
            for texts, number in zip(cells, numbers, strict=True):
                share = number / max(numbers) if number else 0
                texts[place] = Text(_bar(share, room), "cyan")


def _bar_room(room: int) -> int:
    least, most = _BAR_WIDTHS
    return max(least, min(most, room))


def _frame_table(
    table: Table, positions: Sequence[int], widths: Sequence[int], *, has_headings: bool = True
) -> RichTable:
    rich_table = RichTable(
        box=None,
        pad_edge=False,
        padding=(0, _GAP, 0, 0),
        header_style="bold",
        show_header=has_headings and not table.is_list,
    )
    for at, width in zip(positions, widths, strict=True):
        column = table.columns[at]
        numbers = [row[at] for row in table.rows if row[at] is not None]
        right = bool(numbers) and not column.is_bar and all(map(_is_number, numbers))
        rich_table.add_column(
            column.title,
            width=width,
            justify="right" if right else "left",
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
        )
    return rich_table


def show(
    view: Report | Table,
    form: Literal["csv", "json", "urns"] | None = None,
    rows_name: str = "",
    *,
    empty: str = "",
    **document: Any,
) -> None:
    """Print a view in the given form, by default for people, and messages to standard error.

    The JSON of a table is a list or, with `rows_name`, the object `document` with the list under
    that name. For people, `empty` is shown instead of a table without rows.
    """
    if isinstance(view, Table):
        remarks = (empty,) if empty and not view.rows else ()
        view = Report(view, document=document or ..., rows_name=rows_name, remarks=remarks)
    table = view.table or Table((), ())
    match form:
        case "json":
            _print_document(_json_document(view, table))
        case "csv":
            print_exactly(to_csv(table) if view.table else "")
        case "urns" if view.urns is not None:
            print_urns(view.urns)
        case "urns":
            at = [column.name for column in table.columns].index("urn")
            print_urns(dict.fromkeys(str(row[at]) for row in table.rows))
        case None if view.parts is not None:
            print_parts(view.parts, view.names)
        case None if table.rows:
            print_table(table)
    if form is None:
        show_notes(view.remarks)
    if form != "json" or not view.is_complete:
        show_notes(view.notes)


def _print_document(document: Any) -> None:
    """Print a document as JSON: with `--budget` and `--cursor` the page that they select, otherwise
    all of it."""
    import click

    context = click.get_current_context(silent=True)
    chosen = context.meta.get(PAGE_OF_JSON) if context is not None else None
    if chosen is None:
        print_json(document)
        return
    from explorer.views.budget import check_budget, page_of

    budget, cursor = chosen
    how = "the same command with --cursor CURSOR"
    whole = {"rows": document} if isinstance(document, list) else document
    page = page_of(whole, check_budget(budget), cursor, how=how, hint=_CUT)
    print_json(page, is_indented=False)


PAGE_OF_JSON: Final = "explorer.page_of_json"
"""The key in the context of a command under which its budget of tokens and its cursor are."""

_CUT: Final = "without --budget, no text is cut"


def _json_document(view: Report, table: Table) -> Any:
    if not view.rows_name:
        return to_objects(table) if view.document is ... else view.document
    document = {} if view.document is ... else view.document
    return {**document, view.rows_name: to_objects(table)}


def print_parts(
    parts: Iterable[ReportPart], names: Mapping[Urn, str] = {}, console: Console | None = None
) -> None:
    """Print parts for people, with the names of entities, by default to standard output."""
    console = console or results()
    for at, part in enumerate(with_names(parts, names)):
        if at and isinstance(part, Title | Bars | Lines):
            console.print()
        _print_part(part, console, names)


def _print_part(part: ReportPart, console: Console, names: Mapping[Urn, str]) -> None:
    match part:
        case Title(title, remark):
            console.print(line_text(title, "bold") + Text(f"  {line(remark)}".rstrip(), "dim"))
        case Say(text, tone):
            console.print(line_text(text, _TONES[tone]), soft_wrap=True)
        case TextLine():
            _print_line(part, console)
        case Chain():
            _print_chain(part, console)
        case Prose(text, missing, label):
            if label:
                console.print(line_text(label, "bold"))
            console.print(Padding(block_text(text) or Text(missing, "dim italic"), _INDENT))
        case Code(text):
            console.print(block_text(text), soft_wrap=True)
        case Facts(rows):
            grid = RichTable.grid(padding=(0, 2))
            grid.add_column(style="dim", no_wrap=True)
            grid.add_column(overflow="fold")
            for name, cell in rows:
                grid.add_row(line_text(name), line_text(cell.text))
            console.print(grid)
        case Table():
            if part.rows:
                print_table(part, console)
        case Bars() | Lines():
            _print_panel(part, console)
        case Fitted(width, wide, narrow, is_cut):
            is_wide = width <= console.width < (UNLIMITED if is_cut else UNLIMITED + 1)
            print_parts(wide if is_wide else narrow, names, console)
        case Fold(label, inner):
            console.print(line_text(label, "bold"))
            print_parts(inner, names, console)
        case Difference(lines):
            print_diff(lines, console, indent=2)


def _print_line(text_line: TextLine, console: Console) -> None:
    text = styled_text(text_line)
    if text_line.is_cut:
        console.print(text, no_wrap=True, overflow="ellipsis")
    else:
        console.print(text, soft_wrap=not text_line.wraps)


def _print_chain(chain: Chain, console: Console) -> None:
    lines = [Text(chain.start, "dim")]
    for at, step in enumerate(chain.steps):
        text = styled_text(step)
        if at and lines[-1].cell_len + text.cell_len + 1 > console.width:
            lines.append(Text(" " * (len(chain.start) + 2)) + text)
        else:
            lines[-1] = lines[-1] + Text(" " if at else "") + text
    for line_of_steps in lines:
        console.print(line_of_steps, overflow="fold")


_TONES: Final = {"plain": "", "quiet": "dim", "loud": "bold"}
_INDENT: Final = (0, 0, 0, 2)
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_BAR_WIDTHS: Final = (10, 60)
_MAX_NAME: Final = 36


def _print_panel(panel: Panel, console: Console) -> None:
    """Print the rows of a panel below its title."""
    rows = list(panel_rows(panel))
    console.print(line_text(panel.title, "bold") + Text(f"  {panel.note}".rstrip(), "dim"))
    first = min(max((cell_len(line(row.name)) for row in rows), default=0), _MAX_NAME)
    digits = max((len(row.number) for row in rows), default=0)
    room = _bar_room(console.width - first - digits - 8)
    for row in rows:
        name = line_text(row.name)
        name.truncate(first, overflow="ellipsis", pad=True)
        text = Text("  ") + name + Text(f"  {row.number:>{digits}}  ")
        bar = row.trend if row.share is None else _bar(row.share, room)
        console.print(text.append(bar, "cyan"), no_wrap=True, overflow="crop")


def _bar(share: float, room: int) -> str:
    eighths = round(share * room * 8)
    if share and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


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
    if isinstance(value, TextLine):
        return styled_text(value)
    return line_text(cell_text(value, column), column.style)


def _widths(
    table: Table, positions: Sequence[int], cells: Sequence[Sequence[Text]], width: int
) -> list[int]:
    """Return the width of each column: that of its cells, or less for the widest columns if the
    table would exceed `width`.

    Columns that can be cut give way first, then those that fold their text, down to their longest
    words and to less than that only if it has to be.
    """
    widths, least = [], []
    for place, at in enumerate(positions):
        column = table.columns[at]
        heading = 0 if table.is_list else len(column.title)
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
    """Return the width of the longest word of a column. For prose, rare long words are ignored, so
    that names in other columns are not cut because of them."""
    words = [text.split() for text in texts]
    longest = max((cell_len(word) for words_of_text in words for word in words_of_text), default=0)
    return min(longest, _PROSE_WIDTH) if max(map(len, words), default=0) > 1 else longest


def _shrink(widths: list[int], places: Sequence[int], floors: Sequence[int], over: int) -> None:
    """Reduce the widest of the columns at `places` by `over` characters in total, none below its
    width in `floors`."""
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
