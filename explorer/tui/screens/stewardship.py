"""The worklist of undocumented tables and columns; the coverage of documentation; and the list of
texts that were propagated to columns, each compared with its source. Propagated texts can be
refreshed, pinned and removed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, ClassVar, Final, Generic

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.sessions.listing import DatasetQuestion, DatasetStateT
from explorer.sessions.propagated import PropagatedSession, PropagatedState
from explorer.sessions.worklist import (
    NO_MATCH,
    CoverageSession,
    CoverageState,
    WorklistSession,
    WorklistState,
)
from explorer.stewardship.coverage import GROUPINGS, Part
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.charts import ChartWidget, Plot, Point
from explorer.tui.widgets.dialogs import SessionListScreen
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import Rows
from explorer.views.chart import full_number
from explorer.views.stewardship import (
    PARTS,
    count_sentence,
    coverage_page,
    coverage_table,
    group_name,
    item_sentences,
    percent_of,
    propagated_counts,
    propagated_diff,
    propagated_table,
    trend_change,
    trend_table,
    worklist_table,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.client import AsyncCatalog
    from explorer.sessions.editing import DescriptionQueue
    from explorer.stewardship.provenance import PropagatedText
    from explorer.stewardship.staging import StagedChangeset
    from explorer.stewardship.worklist import Key
    from explorer.views.diff import Diff

_HINT: Final = "words, platform:snowflake, owner:…, tags:PII, domain:…"
_PARTS: Final[Mapping[Part | None, Part | None]] = {
    None: "columns",
    "columns": "tables",
    "tables": None,
}
"""The next part whose trend is shown, by the present one; None shows no trend."""


class DatasetScreen(SessionListScreen[Urn, DatasetStateT], Generic[DatasetStateT]):
    """The base of lists about datasets that can be filtered by a search."""

    def __init__(self, session: TerminalSession, rows: Rows, state: DatasetStateT) -> None:
        super().__init__(session, rows)
        self._shown = state
        self._first_question = state.question

    def filter_line(self) -> Input:
        """Return the line that the search is typed into."""
        return AskLine(_HINT)

    def hint(self, state: DatasetStateT) -> str:
        """Return what to do if no dataset matches, as the end of a sentence."""
        return "f changes the filter, esc clears it" if state.instead == NO_MATCH else ""

    def ask_about(self, question: DatasetQuestion) -> None:
        """Read the list for another question, that is for other datasets."""
        self.read(lambda listing: listing.ask(question))

    def action_filter(self) -> None:
        """Filter the datasets by a search."""
        self.query_one(AskLine).ask(self._shown.question.text)

    def action_leave(self) -> None:
        """Go back to the question at the start; from there, close."""
        if self._shown.question != self._first_question:
            self.ask_about(self._first_question)
        else:
            self.dismiss(None)

    @on(Input.Submitted)
    def _submit_filter(self, event: Input.Submitted) -> None:
        event.stop()
        self._hide_filter()
        question = replace(self._shown.question, text=event.value.strip(), title="")
        if question != self._shown.question:
            self.ask_about(question)

    @on(AskLine.Cancelled)
    def _hide_filter(self) -> None:
        self.query_one(AskLine).display = False
        self.set_focus(self._rows)


class WorklistRows(Rows):
    """The entries of the worklist."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklistrows")


class WorklistScreen(DatasetScreen[WorklistState]):
    """Lists undocumented tables and columns, the most used first. The editor opened from here goes
    from one to the next, across tables. Returns the table to open, if any.

    `edit` opens the editor at a description of a queue. `review` shows proposed texts for review,
    `show_concept` all columns with a name.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklist")
    DOING = "reading the documentation"
    OFFERED: ClassVar[Mapping[str, str]] = {"propose": "propose"}
    CSS = """
    WorklistScreen #item {
        height: 3; padding: 0 1; border-top: solid $border-blurred; text-overflow: ellipsis;
    }
    """
    _list: WorklistSession | None = None

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        edit: "Callable[[DescriptionQueue, Urn, str | None], object]",
        review: "Callable[[StagedChangeset], object]",
        show_concept: "Callable[[str, Key], object]",
    ) -> None:
        state = WorklistState(question=question, instead=WorklistSession.READING)
        super().__init__(session, WorklistRows(), state)
        self._edit = edit
        self._show_concept = show_concept
        self._review = review

    def begin(self, catalog: "AsyncCatalog") -> WorklistSession:
        """Create the session that reads this list."""
        return WorklistSession(catalog, self._first_question)

    def detail(self) -> ComposeResult:
        """Yield the widget for the details of the item under the cursor."""
        yield Static("", id="item", markup=False)

    def rows_table(self, state: WorklistState) -> Table:
        """Return the undocumented tables and columns."""
        return worklist_table(state.worklist)

    def apply_changes(self, changes: Changes) -> None:
        """Remove entries that others have documented."""
        if self._list is not None:
            self._list.follow(changes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow showing columns with the same name only if the item under the cursor is a
        column."""
        if action == "concept":
            item = self._shown.current
            return item is not None and item.column is not None
        return super().check_action(action, parameters)

    @work(exclusive=True, group="propose", name=LEADING)
    async def action_propose(self) -> None:
        """Propose texts for the columns of these datasets from upstream columns, and review them.
        Nothing is written."""
        if self._list is not None:
            changeset = await self.do(self._list.propose())
            if changeset is not None:
                self._review(changeset)

    def action_open(self) -> None:
        """Open the page of the table under the cursor."""
        if self._shown.current is not None:
            self.dismiss(Urn.parse(self._shown.current.urn))

    def action_concept(self) -> None:
        """Show all columns with the name of the column under the cursor."""
        item = self._shown.current
        if item is not None and item.column is not None:
            self._show_concept(item.column.name, item.key)

    def action_mine(self) -> None:
        """Switch between all datasets and those that the user owns."""
        question = self._shown.question
        self.ask_about(replace(question, is_mine=not question.is_mine))

    def choose(self) -> None:
        """Edit the description of the item under the cursor."""
        if self._shown.current is not None and self._list is not None:
            urn, path = self._shown.current.key
            self._edit(self._list, Urn.parse(urn), path)

    def heading(self, state: WorklistState) -> Text:
        """Return the heading: how much is left, and how much was documented here."""
        listed, total = len(state.listed), state.worklist.total
        parts = [Text("Worklist", "bold")]
        if state.work is not None:
            parts.append(Text(str(state.work), "bold"))
        if listed:
            more = f", {listed:,} of them listed" if total > listed else ""
            parts.append(Text(f"{total:,} undocumented{more}"))
        if state.written_count:
            parts.append(Text(f"{state.written_count:,} documented here", "bold"))
        return join([*parts, line_text(state.question.words(), "italic")])

    def show_row(self) -> None:
        """Show the details of the item under the cursor."""
        item = self._shown.current
        text = Text()
        if item is not None:
            text = join(
                [
                    line_text(item.column.simple if item.column else "", "bold"),
                    line_text(Urn.parse(item.urn).name),
                    line_text(item.platform or ""),
                    *(
                        Text(sentence, "dim")
                        for sentence in item_sentences(item, self._shown.worklist.days)
                    ),
                ]
            )
        self.query_one("#item", Static).update(text)


class CoverageRows(Rows):
    """The groups of the coverage."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coveragerows")


class CoverageScreen(DatasetScreen[CoverageState]):
    """Shows how many tables and columns are documented, in total and by group, the least documented
    first. `open_worklist` shows the worklist of a group."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coverage")
    DOING = "reading the documentation"
    CSS = """
    CoverageScreen #heading { border-bottom: solid $border-blurred; }
    CoverageScreen ChartWidget {
        display: none; height: 10; border-bottom: solid $border-blurred;
    }
    CoverageScreen.-trend ChartWidget { display: block; }
    """
    _list: CoverageSession | None = None

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        open_worklist: Callable[[DatasetQuestion], object],
    ) -> None:
        state = CoverageState(question=question, instead=CoverageSession.READING)
        super().__init__(session, CoverageRows(), state)
        self._open_worklist = open_worklist

    def begin(self, catalog: "AsyncCatalog") -> CoverageSession:
        """Create the session that reads this list."""
        return CoverageSession(catalog, self._first_question)

    def detail(self) -> ComposeResult:
        """Yield the trend of the group under the cursor."""
        yield ChartWidget()

    def rows_table(self, state: CoverageState) -> Table:
        """Return the counts of each group."""
        return coverage_page(state.coverage) if state.coverage is not None else Table((), ())

    def table(self) -> Table | None:
        """Return the counts as a table for a file; if the trend is shown, the counts of each
        day."""
        state = self._shown
        if state.part is not None and state.trend is not None:
            return trend_table(state.trend)
        return coverage_table(state.coverage) if state.coverage is not None else None

    @work(exclusive=True, group="trend")
    async def action_trend(self) -> None:
        """Show the trend of the columns in the group under the cursor; again, of the tables; again,
        hide it."""
        if self._list is not None:
            await self.do(self._list.show_trend(_PARTS[self._shown.part]))

    def action_turn(self, step: int) -> None:
        """Group by the next attribute (1) or the previous one (-1)."""
        attribute = GROUPINGS[(GROUPINGS.index(self._shown.by) + step) % len(GROUPINGS)]
        self.read(lambda coverage: coverage.group(attribute))

    def choose(self) -> None:
        """Show the worklist of the group under the cursor."""
        if self._shown.current is not None and self._list is not None:
            self._open_worklist(self._list.question_of(self._shown.current))

    def draw_state(self, before: CoverageState, state: CoverageState) -> None:
        """Show the counts, and the trend."""
        super().draw_state(before, state)
        trend = (state.part, state.trend, state.trend_instead)
        if trend != (before.part, before.trend, before.trend_instead):
            self.set_class(state.part is not None, "-trend")
            self.show_row()

    def heading(self, state: CoverageState) -> Text:
        """Return the heading with the total counts."""
        question = line_text(state.question.words(), "italic")
        heading = join([Text("Coverage", "bold"), Text(f"by {state.by}"), question])
        if state.coverage is not None:
            for part in PARTS:
                counts = count_sentence(state.coverage.of(part))
                heading.append(f"\n{part:<8} ", "dim").append(counts)
        return heading

    def show_row(self) -> None:
        """Show the trend of the group under the cursor, or a sentence in its place."""
        state, chart = self._shown, self.query_one(ChartWidget)
        trend, part, group = state.trend, state.part, state.current
        if part is None or trend is None or group is None:
            chart.show(None, lambda _: Text(), state.trend_instead)
            return
        name = group_name(group, state.by)
        group_trend = next((trend for trend in trend.groups if trend.key == group.key), None)
        if group_trend is None:
            chart.show(None, lambda _: Text(), f"The trend of {name} is not shown.")
            return
        days = [
            (datetime.combine(day, time(), UTC), count)
            for day, count in zip(trend.days, group_trend.of(part), strict=True)
            if count.total
        ]
        points = tuple(Point(day, count.documented / count.total) for day, count in days)
        plot = None
        if points:
            first, last = points[0].at, points[-1].at
            plot = Plot("line", points, first, last, _write_share, UTC)
        change = trend_change(group_trend.of(part))

        def read_out(index: int) -> Text:
            day, count = days[index]
            counted = f"{count.documented:,} of {count.total:,} ({percent_of(count)})"
            changed = "" if change is None else f"{change:+.1f} points in {len(trend.days):,} days"
            return join(
                [line_text(name, "bold"), Text(part), Text(f"{day:%Y-%m-%d}"), Text(counted)]
                + ([Text(changed, "dim")] if changed else [])
            )

        chart.show(plot, read_out, f"{name} has no {part}.")


def _write_share(share: float) -> str:
    return full_number(share, "share")


class PropagatedRows(Rows):
    """The propagated texts."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagatedrows")


class PropagatedScreen(SessionListScreen[Urn, PropagatedState]):
    """Lists propagated texts by table and column, above the difference between the text under the
    cursor and its source. Returns the dataset to open, if any."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagated")
    DOING = "reading and changing the propagated texts"
    HINT = "words of a table, a column, a text, or a state such as outdated"
    NONE_HINT = "p in the worklist proposes some"
    OFFERED: ClassVar[Mapping[str, str]] = {
        "pin": "pin",
        "refresh": "refresh",
        "remove": "take_back",
        "remove_all": "take_back",
    }
    _list: PropagatedSession | None = None

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session, PropagatedRows())
        self._shown = PropagatedState(instead=PropagatedSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> PropagatedSession:
        """Create the session that reads this list."""
        return PropagatedSession(catalog)

    def rows_table(self, state: PropagatedState) -> Table:
        """Return the listed texts as a table."""
        return propagated_table(state.listed)

    def difference(self, row: "PropagatedText") -> "Diff":
        """Return the difference between a text and its source."""
        return propagated_diff(row)

    def heading(self, state: PropagatedState) -> Text:
        """Return the heading: the number of texts in each state."""
        counts = Text(propagated_counts(state.listed, len(state.rows)))
        return join([Text("Propagated texts", "bold"), counts, line_text(state.words, "italic")])

    def action_open(self) -> None:
        """Open the page of the table."""
        if self._shown.current is not None:
            self.dismiss(Urn.parse(self._shown.current.urn))

    @work(group="write")
    async def action_pin(self) -> None:
        """Pin the text, so that it is never refreshed, or unpin it."""
        text = self._shown.current
        if text is not None and self._list is not None:
            await self.do(self._list.pin([text], is_pinned=not text.is_pinned))

    def action_refresh(self) -> None:
        """Update all listed outdated texts from their sources."""
        texts = self._shown.outdated
        question = f"Write the current texts of their sources to {counted(len(texts), 'column')}?"
        self.ask(Text(question, "bold"), "refresh", texts)

    def action_remove(self) -> None:
        """Remove the propagated text under the cursor from its column, after confirmation."""
        if self._shown.current is not None:
            self._ask_to_take_back([self._shown.current])

    def action_remove_all(self) -> None:
        """Remove all listed texts from their columns, after confirmation."""
        self._ask_to_take_back(self._shown.listed)

    def _ask_to_take_back(self, texts: "Sequence[PropagatedText]") -> None:
        question = f"Take back the propagated text of {counted(len(texts), 'column')}?"
        if any(text.state == "changed" for text in texts):
            question += " Texts that people wrote since are kept."
        self.ask(Text(question, "bold"), "take_back", texts)
