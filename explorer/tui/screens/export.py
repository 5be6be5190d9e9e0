"""Tables of the content of screens, their file formats (CSV, JSON, Markdown, Parquet), and the
dialogs that write a table or a screenshot to a file."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, runtime_checkable

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input, Static

from explorer.errors import CatalogError, InvalidInput
from explorer.tui.actions import bindings
from explorer.tui.content import line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.session import TerminalSession, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows
from explorer.views.search import result_row
from explorer.views.table import FILE_FORMATS, Row, Table, require_parquet

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Hit
    from explorer.sessions.search import Results

_PAGE: Final = 100
_DRAWN_WIDTH: Final = 240
_DRAWN_AT_ONCE: Final = 50
_RESULT: Final = (
    "urn",
    "name",
    "type",
    "platform",
    "origin",
    "description",
    "owners",
    "tags",
    "terms",
    "domains",
    "matched",
)

_COLUMN: Final = (
    *("urn", "name", "table", "path", "native_type", "platform", "description", "matched"),
)


def results_table(session: "TerminalSession", results: "Results") -> Table:
    """Return the results of a search as a table with the results read so far. Reading all rows
    takes two requests per page."""

    is_columns = results.query.columns
    names, of_hit = (_COLUMN, _of_column) if is_columns else (_RESULT, _of_hit)

    async def read_all_rows() -> AsyncIterator[Sequence[Row]]:
        catalog = await session.catalog()
        pages = catalog.hits(
            results.question.words or "*",
            filter=results.filter,
            sort=results.query.sort,
            page_size=_PAGE,
            columns=results.query.columns,
        )
        while hits := await pages.page():
            summed = await catalog.summaries({hit.entity_urn for hit in hits})
            yield [of_hit(hit, summed.get(hit.entity_urn)) for hit in hits]

    hits = [results.hits[at] for at in sorted(results.hits)]
    rows = [of_hit(hit, results.entities.get(hit.entity_urn)) for hit in hits]
    more = read_all_rows if results.total > len(rows) else None
    title = f"results {results.question.words}".rstrip()
    return Table.of(title, names, rows, total=results.total, read_all=more)


def _of_column(hit: "Hit", entity: "Entity | None") -> Row:
    row = result_row(hit, entity)
    path, type_ = (hit.column.path, hit.column.native_type) if hit.column else ("", "")
    about = (row.folder, path, type_, row.platform, row.description)
    return (str(hit.urn), row.name, *about, row.matched_fields)


def _of_hit(hit: "Hit", entity: "Entity | None") -> Row:
    matched = tuple(dict.fromkeys(match.field for match in hit.matches))
    urn = hit.urn
    if entity is None:
        return (str(urn), urn.name, urn.entity_type, urn.platform, urn.origin, *[None] * 5, matched)
    return (
        str(urn),
        entity.name,
        entity.kind,
        entity.platform,
        urn.origin,
        entity.description,
        tuple(owner.owner for owner in entity.owners),
        tuple(map(str, entity.tags)),
        tuple(map(str, entity.terms)),
        tuple(map(str, entity.domains)),
        matched,
    )


def aspects_table(entity: "Entity") -> Table:
    """Return a table of an entity's aspects, sorted by name, each as JSON text; in a JSON file each
    is a JSON value."""
    exact = {name: aspect.value for name, aspect in sorted(entity.aspects.items())}
    rows: list[Row] = [
        (name, json.dumps(value, ensure_ascii=False)) for name, value in exact.items()
    ]
    return Table.of(f"{entity.name} aspects", ("aspect", "value"), rows, exact=exact)


def rows_table(shown: Rows, title: str = "list") -> Table | None:
    """Return any list as a table of its lines in a wide terminal; None for an empty list."""
    draw = shown.draw
    if draw is None or not shown.count:
        return None

    async def read_all_rows() -> AsyncIterator[Sequence[Row]]:
        for start in range(0, shown.count, _DRAWN_AT_ONCE):
            end = min(start + _DRAWN_AT_ONCE, shown.count)
            yield [
                ("\n".join(line.plain.rstrip() for line in draw(at, _DRAWN_WIDTH)),)
                for at in range(start, end)
            ]
            # Let the event loop run, so that the user can stop the export.
            await asyncio.sleep(0)

    return Table.of(title, ("text",), (), total=shown.count, read_all=read_all_rows)


@runtime_checkable
class Tabular(Protocol):
    """A widget whose content can be written to a file."""

    def table(self) -> Table | None:
        """Return the shown list as a table; None if the content is not a list."""
        ...


def suggest_name(title: str) -> str:
    """Return a file name for a table that is valid on every file system."""
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in title)
    return f"{plain.strip('-')[:80] or 'catalog'}.csv"


def path_of(typed: str, forms: Sequence[str]) -> Path:
    """Return the path for a typed file name. Raise `InvalidInput` unless it ends with one of
    `forms`."""
    path = Path(typed.strip()).expanduser()
    if path.suffix.lower() not in forms:
        raise InvalidInput(f"The file name must end in {', '.join(forms)}; “{path.name}” does not.")
    return path


def write(path: Path, table: Table, rows: Sequence[Row], *, replace: bool = False) -> Path:
    """Write rows of a table in the format of the file name's ending; return the path for messages.

    The file is written atomically. Raises `InvalidInput` if it exists and may not be replaced, if
    it cannot be written, and for Parquet if its writer is not installed.
    """
    data = FILE_FORMATS[path.suffix.lower()](table, rows)
    return write_atomically(path, data, replace=replace)


def write_atomically(path: Path, data: bytes, *, replace: bool) -> Path:
    """Write a file atomically; see `write`."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("xb") as file:
            file.write(data)
        try:
            if replace:
                fresh.replace(path)
            else:
                _put_new(path, fresh, data)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}.") from None
    return path.resolve()


def check(path: Path, *, replace: bool) -> None:
    """Raise the same errors as `write` for an existing file or a missing Parquet writer, before the
    rows are read."""
    if not replace and path.exists():
        raise _there_already(path)
    if path.suffix.lower() == ".parquet":
        require_parquet()


def _put_new(path: Path, fresh: Path, data: bytes) -> None:
    # Unlike a check before writing, both methods never overwrite a file created in between.
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system supports links.
        with path.open("xb") as file:
            file.write(data)


def _there_already(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} already exists; press ⏎ again to replace it.")


MOST_ROWS: Final = 10_000
"""The most rows that are read from the server and written; the final message says if rows are
missing."""


def table_here(screen: Screen[object]) -> Table | None:
    """Return the table of the focused widget or of an ancestor, else of the open page; None if
    there is none."""
    nodes = [] if screen.focused is None else screen.focused.ancestors_with_self
    for node in nodes:
        table = node.table() if isinstance(node, Tabular) else None
        if table is not None:
            return table
    if isinstance(screen.focused, Rows):
        return rows_table(screen.focused)
    for pages in screen.query("#page").results(ContentSwitcher):
        name = pages.current
        if name is None:
            return None
        widget = pages.get_child_by_id(name)
        table = widget.table() if isinstance(widget, Tabular) else None
        if table is None:
            lists = [rows for rows in widget.query(Rows) if rows.is_on_screen and rows.count]
            table = rows_table(lists[0]) if lists else None
        return table
    return None


class FileScreen(FramedScreen[None]):
    """Asks for a file name, and writes the file on enter. An existing file is replaced only after a
    second enter."""

    DEFAULT_CSS = """
    FileScreen > Vertical { width: 76; max-width: 100%; max-height: 100%; padding: 0; }
    FileScreen Static { padding: 0 1; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("export")
    FORMS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, session: TerminalSession, name: str) -> None:
        super().__init__()
        self._session = session
        self._offered = name
        self._replacing: Path | None = None

    def compose(self) -> ComposeResult:
        """Yield the text on what is written, the input, and the message."""
        with Vertical() as frame:
            frame.border_title = "Write to a file"
            yield Static(self.about(), id="about", markup=False)
            yield HintedLine(self._offered, select_on_focus=False)
            yield Static(self._hint(), id="told", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Select the name without its ending, so that typing replaces it."""
        line = self.query_one(HintedLine)
        self.set_focus(line)
        line.cursor_position = len(self._offered) - len(Path(self._offered).suffix)

    def about(self) -> Text:
        """Return the text that says what is written."""
        raise NotImplementedError

    async def write_to(self, path: Path, *, replace: bool) -> str:
        """Write the file, and return the message for the reader."""
        raise NotImplementedError

    def show_message(self, sentence: str, *, error: bool = False) -> None:
        """Show a message below the input."""
        self.query_one("#told", Static).update(Text(sentence, "bold" if error else ""))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow choosing between all and shown rows only for a table."""
        del parameters
        return action != "shown" or isinstance(self, ExportScreen)

    def action_close(self) -> None:
        """Close without writing; stop reading."""
        self.workers.cancel_node(self)
        self.dismiss()

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._replacing = None

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            path = path_of(event.value, self.FORMS)
        except CatalogError as error:
            self.show_message(sentence_of(error), error=True)
            return
        replace = path == self._replacing
        self._replacing = path
        self._write(path, replace=replace)

    @work(exclusive=True, name=LEADING)
    async def _write(self, path: Path, *, replace: bool) -> None:
        try:
            outcome = await self.write_to(path, replace=replace)
        except CatalogError as error:
            self.show_message(sentence_of(error), error=True)
            return
        with self._session.reporting("writing a file"):
            self.dismiss()
            # The screen is closed, so the key line below shows the message.
            self._session.say(outcome)

    def _hint(self) -> str:
        return f"⏎ writes · the ending of the name chooses the format: {' '.join(self.FORMS)}"


class ExportScreen(FileScreen):
    """Writes a table."""

    FORMS: ClassVar[tuple[str, ...]] = tuple(FILE_FORMATS)

    def __init__(self, session: TerminalSession, table: Table) -> None:
        super().__init__(session, suggest_name(table.title))
        self._table = table
        self._wants_all = table.read_all is not None

    def about(self) -> Text:
        """Return the text that says how much is written."""
        table = self._table
        text = Text.assemble(line_text(table.title, "bold"), f": {len(table.rows):,} rows")
        if table.read_all is not None and table.total is not None and not table.rows:
            return Text.assemble(line_text(table.title, "bold"), f": {table.total:,} lines")
        if table.read_all is not None and table.total is not None:
            total = min(table.total, MOST_ROWS)
            cut = f", the first {MOST_ROWS:,}" if table.total > MOST_ROWS else ""
            text = Text.assemble(line_text(table.title, "bold"), f": {table.total:,} in all{cut}")
            chosen = f"all {total:,}" if self._wants_all else f"the {len(table.rows):,} shown"
            text.append(f"\nWrites {chosen}; ^t switches.")
        return text

    def action_shown(self) -> None:
        """Switch between writing all rows and writing the shown rows."""
        if self._table.read_all is not None and self._table.rows:
            self._wants_all = not self._wants_all
            self.query_one("#about", Static).update(self.about())

    async def write_to(self, path: Path, *, replace: bool) -> str:
        """Write the shown rows, or read the others, too, and write all; return the message for the
        user."""
        table = self._table
        await asyncio.to_thread(partial(check, path, replace=replace))
        rows: list[Row] = list(table.rows)
        if self._wants_all and table.read_all is not None:
            rows = []
            async for page in table.read_all():
                rows += page
                self.show_message(f"{len(rows):,} of {table.total or 0:,} read; esc stops")
                if len(rows) >= MOST_ROWS:
                    break
        rows = rows[:MOST_ROWS]
        self.show_message(f"writing {len(rows):,} rows …")
        where = await asyncio.to_thread(partial(write, path, table, rows, replace=replace))
        of = f" of {table.total:,}" if table.total and table.total > len(rows) else ""
        return f"Wrote {len(rows):,}{of} rows to {where}"


class PictureScreen(FileScreen):
    """Writes a screenshot, taken before this dialog opened."""

    FORMS: ClassVar[tuple[str, ...]] = (".svg",)

    def __init__(self, session: TerminalSession, picture: str) -> None:
        super().__init__(session, "catalog.svg")
        self._picture = picture

    def about(self) -> Text:
        """Return the text that says what is written."""
        return Text("The screen as a picture (SVG), which any browser shows", "bold")

    async def write_to(self, path: Path, *, replace: bool) -> str:
        """Write the screenshot."""
        data = self._picture.encode()
        where = await asyncio.to_thread(partial(write_atomically, path, data, replace=replace))
        return f"Wrote the screenshot to {where}"
