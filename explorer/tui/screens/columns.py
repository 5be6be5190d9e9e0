"""The columns tab of a dataset: a tree of columns with a filter, and the details of the column
under the cursor."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult, RenderResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from explorer.client.display import counted
from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import Times, join, line_text, padded, preview, without_start
from explorer.tui.screens.label_choice import LabelsRequested
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.charts import bar_text
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import MARK, ActionRequested, ActionRows, SizeAware, strip_of
from explorer.tui.widgets.tabs import Tab
from explorer.views.absence import NONE
from explorer.views.columns import (
    ColumnFilter,
    ColumnKnowledge,
    ColumnMeasurements,
    ColumnRow,
    ForeignKey,
    ShownColumn,
    by_use,
    column_measurements,
    column_row,
    columns_table,
    foreign_keys,
    in_tree_order,
    parse_column_filter,
    schema_of,
)
from explorer.views.history import actors_of
from explorer.views.timeseries import needs_older

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity, Schema
    from explorer.client.records import Timeseries
    from explorer.sessions.labels import LabelKind
    from explorer.views.table import Table

DAYS: Final = 30
"""The number of days over which use is counted."""


async def read_measurements(
    catalog: "AsyncCatalog", entity: "Entity", schema: "Schema"
) -> tuple[ColumnMeasurements, list[BaseException]]:
    """Return the measurements of an entity's columns, and the errors of reading them; both are
    empty for an entity that is not a dataset. Two requests, and a third if the latest profile has
    no columns."""
    if entity.entity_type != "dataset" or not entity.exists:
        return ColumnMeasurements(), []
    answers = await asyncio.gather(
        catalog.usage(entity.urn, days=DAYS),
        _column_profiles(catalog, entity.urn),
        return_exceptions=True,
    )
    usage, profile = (None if isinstance(answer, BaseException) else answer for answer in answers)
    measured = await asyncio.to_thread(column_measurements, usage, profile, schema)
    return measured, [answer for answer in answers if isinstance(answer, BaseException)]


async def _column_profiles(catalog: "AsyncCatalog", urn: Urn) -> "Timeseries":
    """Return the latest profile, or all profiles if the latest does not cover the columns of the
    whole table."""
    latest = await catalog.timeseries(urn, "datasetProfile", latest=True)
    return await catalog.profiles(urn) if needs_older(latest) else latest


TAG, TERM = "#", "≡"
"""The signs before the names of tags and of glossary terms."""

_NAME_AT_LEAST = 14
_KIND_AT_LEAST = 6
_INDENT = 2
_NO_KIND, _NO_USE = 46, 64
_ROOMY = 100


@dataclass(frozen=True, slots=True)
class _Room:
    """The widths in cells of the parts of a row; 0 for parts that are left out."""

    name: int
    kind: int
    key: int
    use: int
    text: int


@dataclass(frozen=True, slots=True)
class ColumnDrawing:
    """Draws the rows of columns. Its fields: the widths of names, types and keys; the highest use
    of a column (`most`); whether columns are sorted by use (`ranked`); and the raw paths of marked
    columns."""

    name: int = 0
    kind: int = 0
    key: int = 0
    most: int = 0
    ranked: bool = False
    marked: Collection[str] = ()

    @classmethod
    def of(cls, schema: "Schema", foreign: Collection[str], most: int) -> Self:
        """Return a drawing whose widths fit the longest names, types and keys of a schema;
        `foreign` has the raw paths of foreign keys, `most` is the highest use."""
        keys = {len(_key(column.is_key, column.path.raw in foreign)) for column in schema}
        return cls(
            max((len(column.name) + column.depth * _INDENT + 4 for column in schema), default=0),
            max((len(_kind(column)) for column in schema), default=0),
            # At least as wide as its heading.
            max(len("key"), *keys) if any(keys) else 0,
            most,
        )

    def heading(self, width: int) -> Text:
        """Return the line of headings."""
        room = self._room(width)
        text = Text(f"{'   column':<{room.name}} ", no_wrap=True)
        if room.kind:
            text.append(f"{'type':<{room.kind}} ")
        if room.key:
            text.append(f"{'key':<{room.key}} ")
        if room.use:
            text.append(f"{'use ↓' if self.ranked else 'use':<{room.use}} ")
        return text.append("  description")

    def draw(self, row: ColumnRow, fold: str, width: int) -> Text:
        """Return a column as a line; `fold` is the sign for an expanded or collapsed record, else a
        blank."""
        room = self._room(width)
        column = row.column
        indent = min(row.indent * _INDENT, max(room.name - 8, 0))
        before = Text.assemble(
            (MARK if row.path in self.marked else " ", "bold"), (f"{' ' * indent}{fold} ", "dim")
        )
        label = line_text(row.label, "" if row.is_match else "dim")
        if "." in label.plain:
            # A path is cut at its start, because its end distinguishes neighbours.
            label = without_start(label, room.name - before.cell_len)
        name = before.append_text(label)
        text = padded(name, room.name).append(" ")
        if room.kind:
            text.append_text(padded(line_text(_kind(column), "dim"), room.kind)).append(" ")
        if room.key:
            text.append(f"{_key(column.is_key, bool(row.foreign_key)):<{room.key}} ", "bold")
        if room.use:
            share = (row.uses or 0) / self.most if self.most else 0
            text.append(bar_text(share, room.use), "dim").append(" ")
        text.append("↷ " if row.earlier else "✎ " if row.is_edited else "  ", "bold")
        return _append_description(text, row, room.text)

    def _room(self, width: int) -> _Room:
        name = max(_NAME_AT_LEAST, min(self.name, width * 2 // 5))
        kind = max(_KIND_AT_LEAST, min(self.kind, width // 7)) if width >= _NO_KIND else 0
        key = self.key if width >= _NO_KIND else 0
        use = (10 if width >= _ROOMY else 6) if self.most and width >= _NO_USE else 0
        parts = [part for part in (name, kind, key, use) if part]
        return _Room(name, kind, key, use, max(8, width - sum(parts) - len(parts) - 2))


def _key(is_key: bool, is_foreign: bool) -> str:
    return " ".join(word for word, meant in (("PK", is_key), ("FK", is_foreign)) if meant)


def _kind(column: "Column") -> str:
    """Return the type with `?` for a nullable column and `↻` for a recursive one."""
    marks = ("?" if column.nullable else "") + (" ↻" if column.recursive else "")
    return f"{column.type or column.native_type}{marks}"


def _append_description(text: Text, row: ColumnRow, room: int) -> Text:
    """Append the description and the labels of a column to its line."""
    marks = [*(f"{TAG}{name}" for name in row.tags), *(f"{TERM}{name}" for name in row.terms)]
    about = preview(row.description, "" if row.is_match else "dim", missing=NONE.mark)
    if row.has_draft:
        about = Text.assemble((" draft ", "reverse"), " ", about)
    if not marks:
        return text.append_text(padded(about, room))
    label = line_text(" ".join(marks), "italic dim")
    # Labels get the room that the description leaves, at least a third.
    share = min(label.cell_len, max(room // 3, room - about.cell_len - 1, 6))
    text.append_text(padded(about, room - share - 1)).append(" ")
    return text.append_text(padded(label, share))


_SAMPLE_WIDTH = 24


def column_lines(row: ColumnRow, times: Times, lines: int, width: int) -> Text:
    """Return the details of a column: facts, measurements and both descriptions, in `lines` lines
    of `width` cells. A single line has only facts and measurements."""
    facts, measured = _facts(row), _describe_measures(row, times)
    if lines <= 1:
        return _cut(join([facts, measured]), width)
    parts = [_cut(facts, width)]
    if measured.plain and lines > 2:
        parts.append(_cut(Text("  ").append_text(measured), width))
    column = row.column
    if column.edited:
        text = Text.assemble(("✎ edited    ", "bold"), preview(column.edited))
        parts.append(_with_author(text, row, times, "edited"))
    if column.ingested or not column.edited:
        ingested = preview(column.ingested, missing="no description")
        text = Text.assemble(("  ingested  ", "dim"), ingested)
        parts.append(text if column.edited else _with_author(text, row, times, "ingested"))
    return Text("\n").join(parts)


def column_fact_line(row: ColumnRow, times: Times) -> Text:
    """Return type and key, use, and sample values of a column in one line."""
    return join([*map(line_text, (*row.facts, row.earlier)), _describe_measures(row, times)])


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def _facts(row: ColumnRow) -> Text:
    """Return path, type, labels and foreign key of a column."""
    column = row.column
    foreign = Text()
    if row.foreign_key:
        foreign = Text.assemble("foreign key → ", line_text(row.foreign_key, "bold"))
    return join(
        [
            line_text(column.path.simple, "bold"),
            line_text(f"↷ M moves here what was {row.earlier}" if row.earlier else ""),
            *map(line_text, row.facts),
            foreign,
            Text("recursive" if column.recursive else ""),
            line_text(f"{column.children} fields" if column.children else ""),
            *(Text.assemble((TAG, "dim"), line_text(name, "bold")) for name in row.tags),
            *(Text.assemble((TERM, "dim"), line_text(name, "bold")) for name in row.terms),
        ]
    )


def _describe_measures(row: ColumnRow, times: Times) -> Text:
    """Return use, nulls, distinct count and sample values of a column, as far as they are known."""
    used = ""
    if row.uses is not None:
        used = f"used {counted(row.uses, 'time')}" if row.uses else "not used"
        used = f"{used} in {DAYS} days"
    samples = [_cut(line_text(sample), _SAMPLE_WIDTH) for sample in row.samples]
    profiled = f"profiled {times.day_of(row.profiled_at)}" if row.profiled_at else ""
    return join(
        [
            Text(used),
            Text(profiled),
            Text("" if row.nulls is None else f"{_share(row.nulls)} null"),
            Text("" if row.distinct is None else f"{row.distinct:,} distinct"),
            join(samples, ", "),
        ]
    )


def _share(share: float) -> str:
    percent = share * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %".replace(".0 %", " %")


def _with_author(text: Text, row: ColumnRow, times: Times, origin: str) -> Text:
    """Append time and author to the text of a description, if known; `origin` says which
    description it is."""
    change = row.change
    if change is None or change.origin != origin or change.created is None:
        return text
    words = f"· {times.when(change.created)} {row.written_by}"
    return text.append("  ").append_text(line_text(words, "dim"))


class ColumnDetail(SizeAware):
    """The details of a column. The parent sets the height, so that a new text causes no layout."""

    DEFAULT_CSS = """
    ColumnDetail { height: 5; padding: 0 2; border-top: solid $border-blurred; }
    ColumnDetail.-low { border-top: none; }
    """

    def __init__(self) -> None:
        super().__init__(id="column")
        self._text = Text()
        self._ground = Style.null()
        self._lines: list[Text] = []

    def show_text(self, text: Text) -> None:
        """Show a text."""
        self._text = text
        before, self._lines = self._lines, self._wrap()
        for y in range(max(len(before), len(self._lines))):
            old = before[y] if y < len(before) else Text()
            new = self._lines[y] if y < len(self._lines) else Text()
            if (old, old.style) != (new, new.style):
                width = max(cell_len(old.plain), cell_len(new.plain))
                self.refresh(Region(0, y, width, 1))

    def on_resize(self) -> None:
        """Draw the text for the new width."""
        self._lines = self._wrap()
        self.refresh()

    def render(self) -> RenderResult:
        """Return as much of the text as there is room for."""
        return Text("\n", no_wrap=True).join(self._lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines on one common background."""
        self._ground = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Render a single line; Textual highlights a selection in it."""
        if self.text_selection is not None:
            return super().render_line(y)
        line = self._lines[y] if y < len(self._lines) else Text()
        return strip_of(line, self.size.width, self._ground).apply_offsets(0, y)

    def _wrap(self) -> list[Text]:
        width, height = self.size
        return list(self._text.wrap(_CONSOLE, width))[:height] if width else []


_CONSOLE = Console()


class ColumnHeading(Widget):
    """The headings of the table's columns, and at the right how many columns are documented."""

    DEFAULT_CSS = """
    ColumnHeading { height: 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._tally = ""
        self._drawing = ColumnDrawing()

    def show(self, tally: str, drawing: ColumnDrawing) -> None:
        """Show headings at the widths of `drawing`, and `tally` at the right."""
        self._tally = tally
        self._drawing = drawing
        self.refresh()

    def render(self) -> RenderResult:
        """Render the headings at the widths of the rows below, without the cell of the scroll
        bar."""
        text = self._drawing.heading(self.size.width - 1)
        text.truncate(max(self.size.width - len(self._tally) - 2, 0), overflow="ellipsis", pad=True)
        text = text.append(f" {self._tally} ")
        text.truncate(self.size.width, overflow="ellipsis")
        return text


class ColumnRows(ActionRows):
    """The list of columns."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("schema")

    def __init__(self, moved: Callable[[], None], offers: Callable[[str], bool]) -> None:
        super().__init__(offers)
        self._moved = moved

    def post_moved(self) -> None:
        """Call the parent instead of posting a message, so that row and details are painted
        together."""
        self._moved()

    def action_choose(self) -> None:
        """Ask to edit the column under the cursor."""
        self.action_ask("edit_column")

    def action_label(self, kind: "LabelKind") -> None:
        """Ask for a change of the tags or terms of the column under the cursor."""
        self.post_message(LabelsRequested(kind))


_NAMED_AT_MOST = 150
_SPACIOUS, _LOW, _LEAST = 26, 14, 7
_UNREADABLE = "The stored columns do not have the form of a schema; 8 Raw shows them."


class ColumnsView(Vertical, Tab):
    """A schema as a tree of columns, with the details of the column under the cursor below."""

    NAME: ClassVar[str] = "columns"
    KEY: ClassVar[str] = "2"
    TITLE: ClassVar[str] = "Columns"
    SHORT: ClassVar[str] = "Col"

    @dataclass
    class Edited(Message):
        """Asks to edit a column."""

        path: str

    @dataclass
    class TextsMoved(Message):
        """Descriptions and labels of earlier columns were moved to the present columns."""

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(id=self.NAME)
        self._session = session
        self._entity: Entity | None = None
        self._schema: Schema | None = None
        self._folded: set[str] = set()
        self._shown: list[ShownColumn] = []
        self._drawing = ColumnDrawing()
        self._filter = ColumnFilter()
        self._by_use = False
        self._known = ColumnKnowledge()
        self._authors_read = False
        self._marked: dict[str, None] = {}
        self._lines = 4

    def compose(self) -> ComposeResult:
        """Yield the heading, the filter line, the table, and the details."""
        yield ColumnHeading()
        yield FilterLine("a name or a word, type:string, tag:PII, term:…, is:undocumented")
        yield ColumnRows(self._show_details, self._offers)
        yield ColumnDetail()

    def offers(self, entity: "Entity") -> bool:
        """Return whether the entity has columns."""
        schema = schema_of(entity)
        return schema is None or len(schema) > 0

    def tally(self) -> str:
        """Return the number of columns."""
        return f"{len(self._schema):,}" if self._schema else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Show the schema of an entity. With `keep`, the same entity was read again: cursor,
        collapsed records and filter stay."""
        self._entity = entity
        self._schema = schema_of(entity)
        knowledge = self._known if keep else ColumnKnowledge()
        self._known = replace(knowledge, foreign=foreign_keys(entity), changes={})
        self._authors_read = False
        if not keep:
            self._folded.clear()
            self._by_use = False
            self._marked.clear()
            self._filter = ColumnFilter()
            self.query_one(FilterLine).put_away()
        self._measure_rows()
        self._lay_out(self.query_one(ColumnRows).cursor if keep else 0)

    async def read(self, entity: "Entity") -> None:
        """Read the usage of the columns, the newest profile, and the names of tags and terms: three
        requests. If one fails, its data is left out and the error is shown."""
        schema = self._schema
        if schema is None or not len(schema):
            return
        catalog = await self._session.catalog()
        summaries, (measured, failed) = await asyncio.gather(
            self._read_names(catalog, schema), read_measurements(catalog, entity, schema)
        )
        if entity is not self._entity:
            return
        self._known = replace(self._known, measured=measured)
        if isinstance(summaries, dict):
            names = {urn: entity.name for urn, entity in summaries.items()}
            self._known = replace(self._known, names=names)
        else:
            failed = [summaries, *failed]
        self._measure_rows()
        self._lay_out(self.query_one(ColumnRows).cursor)
        for error in failed:
            raise error

    async def _read_names(
        self, catalog: "AsyncCatalog", schema: "Schema"
    ) -> "dict[Urn, Entity] | BaseException":
        """Return the tags, terms and datasets that columns mention, or the error of reading
        them."""
        try:
            return await catalog.summaries(_labels(schema, self._known.foreign))
        except CatalogError as error:
            return error

    def measured_of(self, entity: "Entity") -> ColumnMeasurements | None:
        """Return the measurements of an entity's columns; None if another entity is shown, or they
        were not read yet."""
        is_shown = self._entity is not None and self._entity.urn == entity.urn
        measured = self._known.measured
        return measured if is_shown and measured != ColumnMeasurements() else None

    def focus_content(self) -> None:
        """Focus the table."""
        self.screen.set_focus(self.query_one(ColumnRows))

    def show_times(self) -> None:
        """Show times in the chosen zone."""
        self._show_details()

    def move_to_path(self, path: str) -> None:
        """Move the cursor to a column. Records and a filter that hide the column are expanded or
        cleared."""
        if self._schema is None or self._schema.column(path) is None:
            return
        column = self._schema.column(path)
        while column is not None and column.parent is not None:
            self._folded.discard(column.parent.raw)
            column = self._schema.column(column.parent.raw)
        self._lay_out(0)
        at = self._index_of(path)
        if at is None and self._filter:
            self._narrow("")
            self.query_one(FilterLine).put_away()
            at = self._index_of(path)
        if at is not None:
            self.query_one(ColumnRows).move_to(at)

    def undocumented_after(self, path: str | None) -> str | None:
        """Return the path of the next column without a description after `path`, in the shown order
        and among the columns that match the filter. At the end, continue at the start."""
        columns = [row.column for row in self._columns_to_show(()) if row.is_match]
        at = next((n for n, column in enumerate(columns) if column.path.raw == path), -1)
        ahead = [*columns[at + 1 :], *columns[: max(at, 0)]]
        return next((column.path.raw for column in ahead if not column.documented), None)

    @property
    def current(self) -> "Column | None":
        """Return the column under the cursor."""
        column = self.query_one(ColumnRows).under_cursor(self._shown)
        return column.column if column is not None else None

    def on_resize(self) -> None:
        """Divide the height between the table and the details."""
        height = self.size.height
        self._lines = 5 if height >= _SPACIOUS else 4 if height >= _LOW else 1
        detail = self.query_one(ColumnDetail)
        detail.display = height >= _LEAST
        detail.styles.height = self._lines + (1 if height >= _LOW else 0)
        detail.set_class(height < _LOW, "-low")
        self._show_details()

    def _offers(self, action: str) -> bool:
        match action:
            case "unfilter":
                return bool(self._filter or self._marked)
            case "carry_over":
                return bool(self._to_carry_over())
        return True

    @on(ActionRequested)
    def _handle_action(self, event: ActionRequested) -> None:
        """Run an action that was requested by a key of the list."""
        event.stop()
        match event.action:
            case "edit_column":
                if self.current is not None:
                    self.post_message(self.Edited(self.current.path.raw))
            case "next_undocumented":
                self._go_to_next_gap()
            case "fold":
                self._fold()
            case "fold_all":
                self._fold_all()
            case "order":
                self._toggle_order()
            case "filter":
                self.query_one(FilterLine).ask()
            case "mark":
                self._mark()
            case "carry_over" if self._entity is not None and not self._session.refuses_to_write():
                self._carry_over(self._entity.urn, self._to_carry_over())
            case "unfilter" if self._marked:
                self._marked.clear()
                self._show_marks()
            case "unfilter":
                self.query_one(FilterLine).put_away()
                self._narrow("")

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow(event.value)

    @on(FilterLine.FilterClosed)
    def _handle_filter_end(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        if not event.keep:
            self._narrow("")
        elif self._filter.trouble:
            self._session.say(self._filter.trouble, error=True)
        self.screen.set_focus(self.query_one(ColumnRows))

    def _narrow(self, text: str) -> None:
        current = self.current
        self._filter = parse_column_filter(text)
        self._lay_out_at(current)

    def _go_to_next_gap(self) -> None:
        current = self.current
        path = self.undocumented_after(current.path.raw if current else None)
        if path is not None:
            self.move_to_path(path)
        elif self._schema:
            which = "these" if self._filter else "its"
            self._session.say(f"Every other one of {which} columns is documented.")

    @property
    def marked(self) -> tuple[str, ...]:
        """Return the raw paths of the marked columns, in the order of marking."""
        return tuple(self._marked)

    def _to_carry_over(self) -> list[str]:
        """Return those of the marked columns, or the column under the cursor, that were described
        under an earlier type or case."""
        schema, current = self._schema, self.current
        paths = self.marked or ((current.path.raw,) if current else ())
        columns = [schema.column(path) for path in paths] if schema else []
        return [
            column.path.raw
            for column in columns
            if column is not None and column.earlier is not None
        ]

    @work(group="carry-over", description="moving what was written")
    async def _carry_over(self, urn: Urn, paths: Sequence[str]) -> None:
        """Move descriptions and labels of earlier columns to the present columns at these paths."""
        from explorer.sessions.descriptions import DescriptionSession

        with self._session.reporting("moving what was written about earlier columns"):
            descriptions = DescriptionSession(await self._session.catalog(), urn)
            await descriptions.carry_over(paths)
            self.post_message(self.TextsMoved())
            if descriptions.state.message is not None:
                self._session.say_saved(descriptions.state.message.sentence)

    def _mark(self) -> None:
        """Mark or unmark the column under the cursor, and go to the next."""
        current = self.current
        if current is None:
            return
        path = current.path.raw
        if self._marked.pop(path, path) is path:
            self._marked[path] = None
        self._show_marks()
        self.query_one(ColumnRows).action_down()

    def _show_marks(self) -> None:
        """Redraw the rows and the heading after a mark was set or removed."""
        self._drawing = replace(self._drawing, marked=frozenset(self._marked))
        rows = self.query_one(ColumnRows)
        rows.refresh()
        rows.refresh_bindings()
        self.query_one(ColumnHeading).show(
            self._tally(), replace(self._drawing, ranked=self._by_use)
        )

    def _fold(self) -> None:
        """Expand or collapse the record under the cursor."""
        current = self.current
        if current is None or not current.children or self._filter or self._by_use:
            return
        self._folded ^= {current.path.raw}
        self._lay_out(self.query_one(ColumnRows).cursor)

    def _fold_all(self) -> None:
        """Collapse all records; if all are collapsed, expand them."""
        if self._schema is None or self._filter or self._by_use:
            return
        current = self.current
        records = {column.path.raw for column in self._schema if column.children}
        if not records:
            self._session.say("No column is a record that can be collapsed.")
            return
        self._folded = set() if self._folded >= records else records
        while current is not None and current.parent is not None and self._folded:
            current = self._schema.column(current.parent.raw)
        self._lay_out_at(current)

    def _toggle_order(self) -> None:
        """Switch between the order of the schema and the order by use."""
        if not self._by_use and not self._known.measured.most:
            self._session.say(f"No use of these columns was recorded in the last {DAYS} days.")
            return
        current = self.current
        self._by_use = not self._by_use
        self._lay_out_at(current)
        self._session.say(
            f"Sorted by use in the last {DAYS} days." if self._by_use else "Sorted in schema order."
        )

    def _measure_rows(self) -> None:
        """Compute the widths of the rows anew, and mark columns with drafts."""
        if self._schema is not None:
            knowledge = self._known = replace(self._known, drafts=self._drafts())
            drawing = ColumnDrawing.of(self._schema, knowledge.foreign, knowledge.measured.most)
            self._drawing = replace(drawing, marked=frozenset(self._marked))

    def _drafts(self) -> frozenset[str]:
        """Return the raw paths of the columns with drafts."""
        urn = None if self._entity is None else str(self._entity.urn)
        return frozenset(
            path for urn_text, path in self._session.drafts if urn_text == urn and path
        )

    def show_drafts(self) -> None:
        """Mark the columns with drafts."""
        drafts = self._drafts()
        if drafts != self._known.drafts:
            self._known = replace(self._known, drafts=drafts)
            self.query_one(ColumnRows).refresh()

    def _columns_to_show(self, folded: "set[str] | tuple[()]") -> list[ShownColumn]:
        """Return the columns that match the filter, in the chosen order."""
        columns = self._schema.columns if self._schema else ()
        chosen = self._filter.chosen(columns, self._known.names) if self._filter else None
        if self._by_use:
            return by_use(columns, self._known.measured.use, chosen)
        return in_tree_order(columns, folded, chosen)

    def _lay_out_at(self, column: "Column | None") -> None:
        """Show the rows again, with the cursor on a column, or on the first row if that column is
        not shown."""
        self._lay_out(0)
        at = self._index_of(column.path.raw) if column else None
        if at is not None:
            self.query_one(ColumnRows).move_to(at)

    def _lay_out(self, cursor: int) -> None:
        """Show the columns that match the filter, with the cursor at an index."""
        schema = self._schema
        self._shown = self._columns_to_show(self._folded)
        empty = "No columns are known for this entity." if schema is not None else _UNREADABLE
        if self._filter:
            empty = "No column matches the filter; esc clears it."
        rows = self.query_one(ColumnRows)
        rows.show(len(self._shown), self._draw_column, cursor=cursor, empty=empty)
        self.query_one(ColumnHeading).show(
            self._tally(), replace(self._drawing, ranked=self._by_use)
        )
        self._show_details()

    def _tally(self) -> str:
        schema = self._schema
        if schema is None:
            return ""
        marked = f"{len(self._marked):,} marked · " if self._marked else ""
        if self._filter:
            count = sum(column.is_match for column in self._shown)
            return f"{marked}{count:,} of {len(schema):,} columns"
        return f"{marked}{schema.documented:,} of {len(schema):,} documented"

    def table(self) -> "Table | None":
        """Return the shown columns, including columns in collapsed records, as a table for a
        file."""
        if self._entity is None:
            return None
        return columns_table(
            f"{self._entity.name} columns", [row.column for row in self._columns_to_show(())]
        )

    def _index_of(self, path: str) -> int | None:
        places = (at for at, column in enumerate(self._shown) if column.column.path.raw == path)
        return next(places, None)

    def _draw_column(self, index: int, width: int) -> tuple[Text]:
        column = self._shown[index]
        fold = " "
        if column.column.children and not column.is_flat:
            fold = "▸" if column.column.path.raw in self._folded and not self._filter else "▾"
        return (self._drawing.draw(column_row(column, self._known), fold, width),)

    def _show_details(self) -> None:
        """Show the details of the column under the cursor."""
        column, entity = self.current, self._entity
        text = Text()
        if column is not None and entity is not None:
            if column.edited and not self._authors_read:
                self._authors_read = True
                self._read_authors(entity)
            row = column_row(column, self._known)
            text = column_lines(row, self._session.times, self._lines, self.size.width - 4)
        self.query_one(ColumnDetail).show_text(text)

    @work(exclusive=True, group="authors", description="who edited columns")
    async def _read_authors(self, entity: "Entity") -> None:
        """Read who described the columns: once, when the cursor first reaches an edited column."""
        with self._session.reporting(f"reading who described {entity.urn.name}"):
            catalog = await self._session.catalog()
            try:
                changes = await catalog.blame(entity.urn)
            except CatalogError:
                # No message, because the user did not ask for the authors; the history tab reports
                # such errors.
                return
            await self._session.read_names(actors_of(change.created for change in changes.values()))
            if entity is self._entity:
                names = {**self._known.names, **self._session.names}
                self._known = replace(self._known, changes=changes, names=names)
                self._show_details()


def _labels(schema: "Schema", foreign: Mapping[str, ForeignKey]) -> list[Urn]:
    """Return the tags, terms and datasets that columns mention, at most as many as one request
    reads."""
    urns: dict[Urn, None] = {}
    for column in schema:
        urns |= dict.fromkeys((*column.tags, *column.terms))
    urns |= dict.fromkeys(key.dataset for key in foreign.values())
    return list(urns)[:_NAMED_AT_MOST]
