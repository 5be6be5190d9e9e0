"""The columns of a dataset: a tree in a table, and all that is known of the one looked at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from rich.text import Text
from textual import on
from textual.app import ComposeResult, RenderResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.content import join, padded, preview, said
from explorer.tui.entity.tab import Tab
from explorer.tui.rows import Rows

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.schema import Column, Schema

__all__ = ["ColumnsView"]

_NAME_AT_LEAST = 16
_KIND_AT_LEAST = 6
_INDENT = 2


class ColumnRows(Rows):
    """The rows of the table."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("schema")

    @dataclass
    class Asked(Message):
        """A key asked for something that the view around the table does."""

        what: str

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__()
        self._moved = moved

    def move_to(self, index: int) -> None:
        """Move the cursor, and tell at once: row and detail are painted together."""
        super().move_to(index)
        self._moved()

    def action_choose(self) -> None:
        """A click on the row under the cursor edits it."""
        self.action_edit_column()

    def action_edit_column(self) -> None:
        """Edit the column under the cursor."""
        self.post_message(self.Asked("edit"))

    def action_next_undocumented(self) -> None:
        """To the next column without a description."""
        self.post_message(self.Asked("next"))

    def action_fold(self) -> None:
        """Fold or unfold the record under the cursor."""
        self.post_message(self.Asked("toggle"))


@dataclass(frozen=True, slots=True)
class _Widths:
    """How much room names and types would like to have, in cells."""

    name: int
    kind: int

    @classmethod
    def of(cls, schema: "Schema") -> Self:
        """What the longest of a schema's columns would like."""
        return cls(
            max((len(one.name) + one.depth * _INDENT + 4 for one in schema), default=0),
            max((len(one.type or one.native_type) for one in schema), default=0),
        )

    def at(self, width: int) -> tuple[int, int, int]:
        """The widths of name, type and description in a table of `width` cells."""
        name = max(_NAME_AT_LEAST, min(self.name, width * 2 // 5))
        kind = max(_KIND_AT_LEAST, min(self.kind, width // 7))
        return name, kind, max(8, width - name - kind - 8)


class Heading(Widget):
    """The names of the table's columns over them, and at the right how far its text goes."""

    DEFAULT_CSS = """
    Heading { height: 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._tally = ""
        self._widths = _Widths(0, 0)

    def show(self, tally: str, widths: "_Widths") -> None:
        """Say at the right how much of the schema is documented."""
        self._tally = tally
        self._widths = widths
        self.refresh()

    def render(self) -> RenderResult:
        """The names at the widths of the rows below, whose last cell is the scroll bar's."""
        name, kind, _ = self._widths.at(self.size.width - 1)
        text = Text(f"{'   column':<{name}} {'type':<{kind}} {'':6}description", no_wrap=True)
        text.truncate(max(self.size.width - len(self._tally) - 1, 0), pad=True)
        return text.append(f"{self._tally} ")


class ColumnsView(Vertical, Tab):
    """A schema as a tree of columns; the line below tells what the row has no room for."""

    NAME: ClassVar[str] = "columns"
    KEY: ClassVar[str] = "2"
    TITLE: ClassVar[str] = "Columns"
    SHORT: ClassVar[str] = "Col"

    DEFAULT_CSS = """
    ColumnsView #column { height: 5; padding: 0 2;
                          border-top: solid $border-blurred; }
    """

    @dataclass
    class Edited(Message):
        """A column is to be edited."""

        path: str

    def __init__(self) -> None:
        super().__init__(id=self.NAME)
        self._schema: Schema | None = None
        self._folded: set[str] = set()
        self._visible: list[Column] = []
        self._widths = _Widths(0, 0)

    def compose(self) -> ComposeResult:
        """A heading, the table, and the column looked at."""
        yield Heading()
        yield ColumnRows(self._tell)
        yield Static("", id="column", markup=False)

    def offers(self, entity: "Entity") -> bool:
        """Whether it has columns."""
        return len(entity.schema) > 0

    def tally(self) -> str:
        """How many columns there are."""
        return str(len(self._schema)) if self._schema else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Show a schema; `keep` leaves the cursor and the folds, for the same dataset anew."""
        schema = self._schema = entity.schema
        self._widths = _Widths.of(schema)
        rows = self.query_one(ColumnRows)
        cursor = rows.cursor if keep else 0
        if not keep:
            self._folded.clear()
        self._lay_out(cursor)

    def focus_content(self) -> None:
        """Give the table the keys."""
        self.query_one(ColumnRows).focus()

    def move_to_path(self, path: str) -> None:
        """Put the cursor on a column, unfolding what hides it."""
        if self._schema is None:
            return
        column = self._schema.column(path)
        while column is not None and column.parent is not None:
            self._folded.discard(column.parent.raw)
            column = self._schema.column(column.parent.raw)
        self._lay_out(0)
        for at, shown in enumerate(self._visible):
            if shown.path.raw == path:
                self.query_one(ColumnRows).move_to(at)

    def undocumented_after(self, path: str | None) -> str | None:
        """The next column without a description after `path`, from the top again at the end."""
        if self._schema is None:
            return None
        columns = self._schema.columns
        at = next((n for n, one in enumerate(columns) if one.path.raw == path), -1)
        ahead = [*columns[at + 1 :], *columns[: max(at, 0)]]
        return next((one.path.raw for one in ahead if not one.documented), None)

    @property
    def current(self) -> "Column | None":
        """The column under the cursor."""
        at = self.query_one(ColumnRows).cursor
        return self._visible[at] if at < len(self._visible) else None

    @on(ColumnRows.Asked)
    def _asked(self, event: ColumnRows.Asked) -> None:
        event.stop()
        current = self.current
        match event.what:
            case "edit":
                self._edit()
            case "next" if current is not None:
                path = self.undocumented_after(current.path.raw)
                if path is not None:
                    self.move_to_path(path)
            case "toggle" if current is not None and current.children:
                self._folded ^= {current.path.raw}
                self._lay_out(self.query_one(ColumnRows).cursor)

    def _edit(self) -> None:
        if self.current is not None:
            self.post_message(self.Edited(self.current.path.raw))

    def _lay_out(self, cursor: int) -> None:
        schema = self._schema
        columns = schema.columns if schema else ()
        self._visible = [column for column in columns if not self._hidden(column)]
        rows = self.query_one(ColumnRows)
        rows.show(
            len(self._visible),
            self._draw_column,
            cursor=cursor,
            empty="No columns are known of this one.",
        )
        tally = f"{schema.documented} of {len(schema)} documented" if schema else ""
        self.query_one(Heading).show(tally, self._widths)
        self._tell()

    def _hidden(self, column: "Column") -> bool:
        parent = column.parent
        while parent is not None:
            if parent.raw in self._folded:
                return True
            above = self._schema.column(parent.raw) if self._schema else None
            parent = above.parent if above else None
        return False

    def _draw_column(self, index: int, width: int) -> tuple[Text]:
        column = self._visible[index]
        name_width, kind_width, text_width = self._widths.at(width)
        fold = " "
        if column.children:
            fold = "▸" if column.path.raw in self._folded else "▾"
        indent = min(column.depth * _INDENT, name_width - 12)
        name = Text.assemble((f" {' ' * indent}{fold} ", "dim"), said(column.name))
        row = padded(name, name_width).append(" ")
        kind = column.type or column.native_type
        row.append_text(padded(said(kind, "dim"), kind_width)).append(" ")
        row.append("key " if column.is_key else "    ", "bold")
        row.append("✎ " if column.edited else "  ", "bold")
        marks = " ".join(urn.name for urn in (*column.tags, *column.terms))
        room = text_width - (min(len(marks), text_width // 3) + 1 if marks else 0)
        row.append_text(padded(preview(column.description, missing="—"), room))
        if marks:
            row.append(" ").append_text(padded(said(marks, "italic dim"), text_width - room - 1))
        return (row,)

    def _tell(self) -> None:
        column = self.current
        # Its height stays, so that moving through the rows lays nothing out anew.
        told = _told(column) if column else Text()
        self.query_one("#column", Static).update(told, layout=False)


def _told(column: "Column") -> Text:
    """Everything known of a column."""
    facts = [
        said(column.path.simple, "bold"),
        said(column.native_type),
        Text("nullable" if column.nullable else "not null"),
        Text("key" if column.is_key else ""),
        Text("recursive" if column.recursive else ""),
        said(f"{column.children} inside" if column.children else ""),
        *(Text.assemble("tag ", said(tag.name, "bold")) for tag in column.tags),
        *(Text.assemble("term ", said(term.name, "bold")) for term in column.terms),
    ]
    text = join(facts)
    if column.edited:
        text.append("\n✎ edited    ", "bold").append_text(said(column.edited))
    if column.ingested or not column.edited:
        text.append("\n  ingested  ", "dim").append_text(
            said(column.ingested, missing="no description")
        )
    return text
