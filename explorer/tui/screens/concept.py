"""Concepts: all columns with one name or glossary term, and their texts. A text is chosen or
written, columns are marked, and the edits are staged as a changeset for review."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.sessions.concept import (
    CHOOSE_FIRST,
    MARK_FIRST,
    OWN,
    ConceptQuestion,
    ConceptSession,
    ConceptState,
)
from explorer.stewardship.concepts import Concept, ConceptColumn
from explorer.stewardship.drafts import Drafts
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.label_choice import BulkLabelsRequested
from explorer.tui.screens.review import ReviewAnswer, ReviewTextScreen
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import SessionListScreen
from explorer.tui.widgets.rows import MARK, Rows, TableRows
from explorer.views.stewardship import NO_TEXT, concept_sentence, concept_table
from explorer.views.table import Table

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.sessions.labels import LabelKind
    from explorer.stewardship.staging import StagedChangeset

_MOST_VARIANTS: Final = 8
_HINTS: Final = {
    MARK_FIRST: "space marks one, u all undocumented, A all",
    CHOOSE_FIRST: "a number chooses one, e writes one",
}


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


class ConceptScreen(SessionListScreen[Urn, ConceptState]):
    """Lists the texts of a concept above its columns. A text is chosen by its number or written;
    the marked columns get it after a review. Returns the table to open, if any.

    `review` shows the staged changeset.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("concept")
    DOING = "reading the columns"
    CSS = """
    ConceptScreen { background: $background; }
    ConceptScreen #heading { max-height: 3; }
    ConceptScreen VariantRows { height: 4; border-bottom: solid $border-blurred; }
    ConceptScreen #text {
        height: 4; padding: 0 1; border-top: solid $border-blurred; text-overflow: ellipsis;
    }
    ConceptScreen.-low #text { height: 3; }
    """
    _list: ConceptSession | None = None

    def __init__(
        self,
        session: TerminalSession,
        question: ConceptQuestion,
        review: "Callable[[StagedChangeset], object]",
    ) -> None:
        super().__init__(session, ConceptRows(self._mark))
        self._question = question
        self._review = review
        concept = Concept(question.name, (), term=question.term)
        self._shown = ConceptState(concept=concept, instead=ConceptSession.READING)
        self._texts = VariantRows()

    def compose(self) -> ComposeResult:
        """Yield the heading, the texts, the columns, the text under the cursor, and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield self._texts
            yield TableRows(self._rows)
            yield Static("", id="text", markup=False)
        yield KeyLine()

    def begin(self, catalog: "AsyncCatalog") -> ConceptSession:
        """Create the session that reads this list."""
        find_drafts = partial(Drafts.of_session, self._session, "concepts")
        return ConceptSession(catalog, self._question, find_drafts)

    def on_resize(self) -> None:
        """Leave most of the height to the columns."""
        super().on_resize()
        self._fit_texts()

    def apply_changes(self, changes: Changes) -> None:
        """Show texts that others have changed."""
        if self._list is not None:
            self._list.follow(changes)

    def table(self) -> Table | None:
        """Return the columns as a table for a file."""
        return concept_table(self._shown.concept) if self._shown.listed else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only actions that have an effect now."""
        match action:
            case "variant":
                return any(variant.number == parameters[0] for variant in self._shown.variants)
            case "mark_all" | "mark_undocumented" | "turn" | "label":
                return bool(self._shown.listed)
        return super().check_action(action, parameters)

    def action_variant(self, number: int) -> None:
        """Choose the text with a number."""
        if self._list is not None:
            self._list.choose(number)

    def action_write(self) -> None:
        """Open an editor for a new text, starting from the chosen one. The text is kept as a draft
        while it is typed."""
        state, concept = self._shown, self._list
        if concept is None:
            return

        def take_text(answer: ReviewAnswer | None) -> None:
            if answer is not None and answer.text.strip():
                concept.start(concept.write(answer.text))

        what = "with the term" if state.concept.term else "called"
        title = f"A text for the columns {what} {state.concept.name}"
        marked = f"{len(state.marked):,} marked" if state.marked else "no column is marked yet"
        screen = ReviewTextScreen(
            title,
            [marked],
            state.own_text or state.text,
            typed=lambda text: concept.start(concept.keep(text)),
        )
        self.app.push_screen(screen, take_text)

    def action_mark_all(self) -> None:
        """Mark all columns."""
        self._mark_columns(self._shown.listed)

    def action_mark_undocumented(self) -> None:
        """Mark the columns without a text."""
        self._mark_columns(self._shown.concept.undocumented.columns)

    def action_label(self, kind: "LabelKind") -> None:
        """Change tags or terms of the marked columns, or of the column under the cursor."""
        column = self._shown.current
        keys = self._shown.marked or ((column.key,) if column is not None else ())
        count = counted(len(keys), "column")
        self.post_message(BulkLabelsRequested(kind, keys, f"{count} {self._shown.concept.name}"))

    def action_turn(self) -> None:
        """Switch between the texts and the columns."""
        self.set_focus(self._rows if self._texts.has_focus else self._texts)
        self.show_row()

    @work(exclusive=True, group="stage", name=LEADING)
    async def action_stage(self) -> None:
        """Stage the text for the marked columns, and review it; nothing is written."""
        why = self.why_not("stage")
        if why in _HINTS:
            self.say(f"{why[:-1]}: {_HINTS[why]}.")
        elif self._list is not None:
            changeset = await self.do(self._list.stage())
            if changeset is not None:
                self._review(changeset)

    def action_open(self) -> None:
        """Open the page of the table."""
        if self._shown.current is not None:
            self.dismiss(Urn.parse(self._shown.current.urn))

    def action_leave(self) -> None:
        """Unmark all columns; if none is marked, close."""
        if self._shown.marked and self._list is not None:
            self._list.unmark()
        else:
            self.dismiss(None)

    def choose(self) -> None:
        """Choose the text under the cursor, or stage the chosen one."""
        if self._texts.has_focus:
            self.action_variant(self._shown.variants[self._texts.cursor].number)
            self.set_focus(self._rows)
        else:
            self.action_stage()

    @on(Rows.Moved, "VariantRows")
    def _look_at_text(self, event: Rows.Moved) -> None:
        event.stop()
        self.show_row()

    def _mark(self) -> None:
        column = self._shown.current
        if column is not None:
            self._mark_columns([column])
            self._rows.move_to(self._rows.cursor + 1)

    def _mark_columns(self, columns: Sequence[ConceptColumn]) -> None:
        if self._list is not None:
            self._list.mark(columns)

    def rows_table(self, state: ConceptState) -> Table:
        """Return the columns, each with its mark."""
        marked = frozenset(state.marked)
        return concept_table(
            state.concept, mark=lambda column: MARK if column.key in marked else ""
        )

    def draw_state(self, before: ConceptState, state: ConceptState) -> None:
        """Show the columns and the texts."""
        super().draw_state(before, state)
        if before.marked != state.marked:
            self.draw_rows()
        if (before.variants, before.variant) != (state.variants, state.variant):
            numbers = [variant.number for variant in state.variants]
            at = numbers.index(state.variant) if state.variant in numbers else 0
            self._texts.show(len(state.variants), self._draw_variant, cursor=at)
            self._fit_texts()
            self.show_row()

    def heading(self, state: ConceptState) -> Text:
        """Return the heading: the name, the number of marked columns, and a summary of the
        texts."""
        concept = state.concept
        what = "Columns with the term" if concept.term else "Columns"
        name = Text.assemble((what, "bold"), " ", line_text(concept.name, "bold"))
        marked = Text(f"{len(state.marked):,} marked" if state.marked else "", "bold")
        return join([name, marked, Text(concept_sentence(concept) if concept.columns else "")])

    def show_row(self) -> None:
        """Show the full text under the cursor, or of the column under the cursor."""
        text, column, variants = Text(), self._shown.current, self._shown.variants
        if self._texts.has_focus and self._texts.cursor < len(variants):
            text = line_text(variants[self._texts.cursor].text, missing=NO_TEXT)
        elif column is not None:
            text = join(
                [line_text(Urn.parse(column.urn).name, "bold"), line_text(column.platform or "")]
            )
            text.append("\n").append_text(line_text(column.text, missing=NO_TEXT))
        self.query_one("#text", Static).update(text)

    def _fit_texts(self) -> None:
        count, most = len(self._shown.variants), max(min(_MOST_VARIANTS, self.size.height // 4), 3)
        self._texts.styles.height = min(max(count, 1), most) + 1
        self._texts.display = bool(count)

    def _draw_variant(self, index: int, width: int) -> tuple[Text]:
        del width
        variant = self._shown.variants[index]
        sign = "●" if variant.number == self._shown.variant and variant.text else " "
        number = "new" if variant.number == OWN else str(variant.number or "")
        count = "" if variant.number == OWN else f"{variant.count:,}"
        row = Text.assemble((f" {sign} ", "bold"), f"{number:>3} ", (f"{count:>6}  ", "dim"))
        words = " ".join(variant.text.split())
        style = "bold" if sign.strip() else ""
        return (row.append_text(line_text(words, style, missing=NO_TEXT)),)
