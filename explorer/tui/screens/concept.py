"""Concepts: all columns with one name or glossary term, and their texts. A text is chosen or
written, columns are marked, and the edits are staged as a changeset for review."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, overload

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.stewardship.concepts import Concept, ConceptColumn
from explorer.stewardship.drafts import Draft, Drafts
from explorer.stewardship.worklist import Key
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.label_choice import BulkLabelsRequested
from explorer.tui.screens.review import ReviewAnswer, ReviewTextScreen
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import TableScreen
from explorer.tui.widgets.rows import MARK, Rows, TableRows
from explorer.views.stewardship import (
    NO_TEXT,
    ConceptVariant,
    concept_sentence,
    concept_table,
    concept_variants,
)
from explorer.views.table import Row, Table, TableColumn

if TYPE_CHECKING:
    from explorer.sessions.labels import LabelKind
    from explorer.stewardship.staging import StagedChangeset

_READING: Final = "reading columns …"
_OWN: Final = -1
"""The number of the text that was written here."""
_MOST_VARIANTS: Final = 8
_DRAFT: Final = "concept"


@dataclass(frozen=True, slots=True)
class ConceptQuestion:
    """Which columns to show: those named `name`, or those with a glossary term. `at` is the column
    from which the screen was opened."""

    name: str
    term: str | None = None
    at: Key | None = None


class ConceptRows(Rows):
    """The columns."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("conceptrows")

    def __init__(self, mark: Callable[[], object]) -> None:
        super().__init__()
        self._mark = mark

    def action_mark(self) -> None:
        """Mark or unmark the column under the cursor, and go to the next."""
        self._mark()


class VariantRows(Rows):
    """The texts."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("variantrows")


class ConceptScreen(TableScreen[Urn]):
    """The texts above the columns that have them. A text is chosen by its number or written; the
    marked columns get it after a review. Returns the table to open, if any.

    `review` shows the changeset that is staged.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("concept")
    CSS = """
    ConceptScreen { background: $background; }
    ConceptScreen #heading { max-height: 3; }
    ConceptScreen VariantRows { height: 4; border-bottom: solid $border-blurred; }
    ConceptScreen #text {
        height: 4; padding: 0 1; border-top: solid $border-blurred; text-overflow: ellipsis;
    }
    ConceptScreen.-low #text { height: 3; }
    """

    def __init__(
        self,
        session: TerminalSession,
        question: ConceptQuestion,
        review: "Callable[[StagedChangeset], object]",
    ) -> None:
        super().__init__(session, ConceptRows(self._mark))
        self._question = question
        self._review = review
        self._concept = Concept(question.name, ())
        self._variants: tuple[ConceptVariant, ...] = ()
        self._variant = 1
        self._own = ""
        self._marked: dict[Key, None] = {}
        self._texts = VariantRows()
        self._state = _READING

    def compose(self) -> ComposeResult:
        """Yield the heading, the texts, the columns, the text under the cursor, and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield self._texts
            yield TableRows(self._rows)
            yield Static("", id="text", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the columns."""
        self.set_focus(self._rows)
        self._show(None)
        self._read(first=True)

    def on_resize(self) -> None:
        """Leave most of the height to the columns."""
        super().on_resize()
        self._fit_texts()

    def apply_changes(self, changes: Changes) -> None:
        """Show what was written meanwhile."""
        if {str(urn) for urn in changes} & {column.urn for column in self._concept.columns}:
            self._read()

    def table(self) -> Table | None:
        """Return the columns, for a file."""
        return concept_table(self._concept) if self._concept.columns else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is something for."""
        match action:
            case "variant":
                return any(variant.number == parameters[0] for variant in self._variants)
            case "open" | "mark_all" | "mark_undocumented" | "turn" | "label":
                return bool(self._concept.columns)
        return True

    def action_variant(self, number: int) -> None:
        """Choose the text with a number."""
        self._take(number)

    def action_write(self) -> None:
        """Write a text, starting from the chosen one. It is kept on disk while it is typed."""
        text = self._variant_text()
        what = "with the term" if self._concept.term else "called"

        def take_text(answer: ReviewAnswer | None) -> None:
            if answer is not None and answer.text.strip():
                self._own = answer.text
                self._keep(answer.text)
                self._take(_OWN)

        title = f"A text for the columns {what} {self._concept.name}"
        marked = f"{len(self._marked):,} marked" if self._marked else "no column is marked yet"
        screen = ReviewTextScreen(title, [marked], self._own or text, typed=self._keep)
        self.app.push_screen(screen, take_text)

    def action_mark_all(self) -> None:
        """Mark all columns."""
        self._mark_these(self._concept.columns)

    def action_mark_undocumented(self) -> None:
        """Mark the columns without a text."""
        self._mark_these(self._concept.undocumented.columns)

    def action_label(self, kind: "LabelKind") -> None:
        """Change tags or terms of the marked columns, or of the one under the cursor."""
        column = self._column
        keys = tuple(self._marked) or ((column.key,) if column is not None else ())
        count = counted(len(keys), "column")
        self.post_message(BulkLabelsRequested(kind, keys, f"{count} {self._concept.name}"))

    def action_turn(self) -> None:
        """Switch between the texts and the columns."""
        self.set_focus(self._rows if self._texts.has_focus else self._texts)
        self._show_text()

    def action_stage(self) -> None:
        """Stage the text for the marked columns, and review it; nothing is written."""
        if self._session.refuses_to_write():
            return
        if not self._marked:
            self.say("Mark columns first: space marks one, u all undocumented, A all.")
        elif not self._variant_text():
            self.say("Choose a text by its number, or write one with e.")
        else:
            self._stage()

    def action_open(self) -> None:
        """Open the page of the table."""
        if self._column is not None:
            self.dismiss(Urn.parse(self._column.urn))

    def show_written(self) -> None:
        """Read the columns again."""
        self._read()

    def action_reload(self) -> None:
        """Read the columns again."""
        self._read()

    def action_leave(self) -> None:
        """Unmark all columns, then close."""
        if self._marked:
            self._marked.clear()
            self._show_marks()
        else:
            self.dismiss(None)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if event.rows is self._texts:
            self._take(self._variants[event.index].number)
            self.set_focus(self._rows)
        else:
            self.action_stage()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_text()

    @property
    def _column(self) -> ConceptColumn | None:
        return self._rows.under_cursor(self._concept.columns)

    def _variant_text(self) -> str:
        """Return the chosen text; empty if there is none."""
        return next(
            (variant.text for variant in self._variants if variant.number == self._variant), ""
        )

    def _take(self, number: int) -> None:
        self._variant = number
        self._show_texts()

    def _mark(self) -> None:
        column = self._column
        if column is None:
            return
        if column.key in self._marked:
            del self._marked[column.key]
        else:
            self._marked[column.key] = None
        self._rows.move_to(self._rows.cursor + 1)
        self._show_marks()

    def _mark_these(self, columns: Sequence[ConceptColumn]) -> None:
        """Mark some columns; where they are all marked, unmark them."""
        keys = [column.key for column in columns]
        if all(key in self._marked for key in keys):
            for key in keys:
                del self._marked[key]
        else:
            self._marked |= dict.fromkeys(keys)
        self._show_marks()

    @work(exclusive=True, group="concept")
    async def _read(self, *, first: bool = False) -> None:
        from explorer.stewardship import AsyncStewardship

        question = self._question
        with self._session.reporting("reading the columns", self._fail, self._read):
            catalog = await self._session.catalog()
            steward = AsyncStewardship(catalog)
            read_concept = steward.concept if question.term is None else steward.term_concept
            concept = await read_concept(
                question.term or question.name, progress=self._show_progress
            )
            if first:
                self._own = await self._read_draft()
            self._state = "No dataset has a matching column."
            at = question.at if first else self._column.key if self._column is not None else None
            self._concept = concept
            keys = {column.key for column in concept.columns}
            for key in [key for key in self._marked if key not in keys]:
                del self._marked[key]
            self._show(at)
            if first and self._own:
                self.say("The text that you wrote last is marked “new”.")

    def _show_progress(self, done: int, total: int) -> None:
        if not self._concept.columns:
            self._state = f"{done:,} of {total:,} tables read …"
            self._show(None)

    def _fail(self, sentence: str) -> bool:
        self._state = sentence
        self._show(None)
        return not self._concept.columns

    @work(exclusive=True, group="stage", name=LEADING)
    async def _stage(self) -> None:
        from explorer.sessions.changesets import ChangesetsSession

        with self._session.reporting("staging the texts"):
            changesets = ChangesetsSession(await self._session.catalog())
            changeset = await changesets.stage_concept(
                self._concept, self._variant_text(), self._marked
            )
            if changeset is None:
                self.say("The marked columns already have this text.")
                return
            if self._variant == _OWN:
                # It is in the changeset now.
                drafts = await self._drafts()
                await asyncio.to_thread(drafts.drop, _DRAFT, self._draft_name)
            self._review(changeset)

    @property
    def _draft_name(self) -> str:
        return self._question.term or self._question.name.casefold()

    async def _drafts(self) -> Drafts:
        return await Drafts.at(self._session, "concepts")

    async def _read_draft(self) -> str:
        drafts = await self._drafts()
        draft = await asyncio.to_thread(drafts.read, _DRAFT, self._draft_name)
        return draft.text if draft is not None else ""

    @work(group="keep")
    async def _keep(self, text: str) -> None:
        """Store the typed text on disk."""
        with self._session.reporting("keeping the text"):
            drafts = await self._drafts()
            draft = Draft(_DRAFT, self._draft_name, "", text, self._concept.name)
            await asyncio.to_thread(drafts.keep, draft)

    def _show(self, at: Key | None) -> None:
        """Show everything, with the cursor on a column if it is listed."""
        if self.is_closed:
            return
        concept = self._concept
        keys = [column.key for column in concept.columns]
        cursor = keys.index(at) if at in keys else self._rows.cursor
        page = concept_table(concept)
        columns = (TableColumn("mark", " "), *page.columns)
        rows = _MarkedRows(page.rows, keys, self._marked)
        table = Table(columns, rows, page.title)
        self.query_one(TableRows).show(table, cursor=cursor, empty=self._state)
        self._show_texts()

    def _show_texts(self) -> None:
        if self.is_closed:
            return
        variants = concept_variants(self._concept)
        number = next(
            (variant.number for variant in variants if variant.text == self._own.strip()), 0
        )
        if self._own and number:
            # The text is in the catalog now.
            self._own, self._variant = "", number if self._variant == _OWN else self._variant
        own = (ConceptVariant(_OWN, 0, self._own),) if self._own else ()
        self._variants = (*own, *variants)
        numbers = [variant.number for variant in self._variants]
        if self._variant not in numbers or not self._variant_text():
            self._variant = next((variant.number for variant in self._variants if variant.text), 1)
        at = numbers.index(self._variant) if self._variant in numbers else 0
        self._texts.show(len(self._variants), self._draw_variant, cursor=at)
        self._fit_texts()
        self._show_marks()

    def _fit_texts(self) -> None:
        most = max(min(_MOST_VARIANTS, self.size.height // 4), 3)
        self._texts.styles.height = min(max(len(self._variants), 1), most) + 1
        self._texts.display = bool(self._variants)

    def _show_marks(self) -> None:
        self._rows.refresh()
        concept = self._concept
        what = "Columns with the term" if concept.term else "Columns"
        marked = Text(f"{len(self._marked):,} marked" if self._marked else "", "bold")
        counts = Text(concept_sentence(concept) if concept.columns else "")
        name = Text.assemble((what, "bold"), " ", line_text(concept.name, "bold"))
        self.query_one("#heading", Static).update(join([name, marked, counts]))
        self._show_text()
        self.refresh_bindings()

    def _show_text(self) -> None:
        """Show all of the text under the cursor."""
        text = Text()
        if self._texts.has_focus and self._texts.cursor < len(self._variants):
            text = line_text(self._variants[self._texts.cursor].text, missing=NO_TEXT)
        elif self._column is not None:
            column = self._column
            text = join(
                [line_text(Urn.parse(column.urn).name, "bold"), line_text(column.platform or "")]
            )
            text.append("\n").append_text(line_text(column.text, missing=NO_TEXT))
        self.query_one("#text", Static).update(text)

    def _draw_variant(self, index: int, width: int) -> tuple[Text]:
        del width
        variant = self._variants[index]
        sign = "●" if variant.number == self._variant and variant.text else " "
        number = "new" if variant.number == _OWN else str(variant.number or "")
        count = "" if variant.number == _OWN else f"{variant.count:,}"
        row = Text.assemble((f" {sign} ", "bold"), f"{number:>3} ", (f"{count:>6}  ", "dim"))
        words = " ".join(variant.text.split())
        style = "bold" if sign.strip() else ""
        return (row.append_text(line_text(words, style, missing=NO_TEXT)),)


class _MarkedRows(Sequence[Row]):
    """The rows of columns, each with its mark, which is looked up when the row is drawn."""

    def __init__(self, rows: Sequence[Row], keys: Sequence[Key], marked: dict[Key, None]) -> None:
        self._rows, self._keys, self._marked = rows, keys, marked

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return _MarkedRows(self._rows[at], self._keys[at], self._marked)
        return (MARK if self._keys[at] in self._marked else "", *self._rows[at])
