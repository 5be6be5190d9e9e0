"""The worklist of what to document next; the coverage of documentation; and the texts that were
propagated to columns: the source of each, and whether it still has that text. These can be
refreshed, pinned and taken back."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from explorer.client.display import counted
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.search_text import SearchText, condition_text
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.coverage import GROUPINGS, Coverage, CoverageTrend, Group, Grouping, Part
from explorer.stewardship.worklist import Item, Key, Worklist, WorkQueue, documented_meanwhile
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.charts import ChartWidget, Plot, Point
from explorer.tui.widgets.dialogs import FilteredListScreen, TableScreen
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
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
    propagated_outcome,
    propagated_table,
    propagated_with,
    trend_change,
    trend_table,
    worklist_table,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from explorer.client import AsyncCatalog
    from explorer.metadata.registry import Registry
    from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
    from explorer.stewardship.staging import StagedChangeset

_FIRST: Final = 500
_MOST: Final = 10_000
_DAYS: Final = 30
_HINT: Final = "words, platform:snowflake, owner:…, tags:PII, domain:…"
_READING: Final = "reading the undocumented columns …"
_COUNTING: Final = "counting the documented columns …"
_COUNTING_DAYS: Final = "counting the documented columns of each day …"
_TREND_DAYS: Final = 90
_NOTHING: Final = "No dataset matches; f changes the filter, esc clears it."
_FILTERS: Final[dict[Grouping, str]] = {
    "domain": "domains",
    "folder": "browsePaths",
    "owner": "owners",
    "platform": "platform",
    "tag": "tags",
}
"""The field that a filter for a group is on."""


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """The datasets to show: those that match a search text, or with `is_mine` those among them that
    the user owns. `title` is shown instead of the text."""

    text: str = ""
    is_mine: bool = False
    title: str = ""

    def words(self) -> str:
        """Return the question in words; empty for the whole catalog."""
        owned = "owned by you" if self.is_mine else ""
        return " · ".join(filter(None, (self.title or self.text, owned)))


async def read_question(catalog: "AsyncCatalog", question: DatasetQuestion) -> "tuple[str, Filter]":
    """Return the words and the filter of a question. Raises `FilterSyntax` for an invalid filter,
    and `InvalidInput` if the server does not report who the user is."""
    query = SearchText.split(question.text, guide_to(catalog.registry))
    filter = query.filter(catalog.registry)
    if question.is_mine:
        user = await catalog.me()
        if user is None:
            raise InvalidInput(
                "the server does not report who you are; filter by owner:NAME instead"
            )
        filter = filter.and_(all_of(Criterion("owners", (str(user),))))
    return query.words or "*", filter


class DatasetScreen(TableScreen[Urn]):
    """The base of screens with a table about datasets, which a search filters."""

    def __init__(self, session: TerminalSession, question: DatasetQuestion, rows: Rows) -> None:
        super().__init__(session, rows)
        self._question = self._first_question = question

    def compose(self) -> ComposeResult:
        """Yield the heading, the filter line, the table and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield AskLine(_HINT)
            yield TableRows(self._rows)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the data."""
        self.set_focus(self._rows)
        self._turn_to(self._question)

    def action_filter(self) -> None:
        """Filter the datasets by a search."""
        self.query_one(AskLine).ask(self._question.text)

    def show_written(self) -> None:
        """Read the data again."""
        self.action_reload()

    def action_reload(self) -> None:
        """Read the data again."""
        self._read()

    def action_leave(self) -> None:
        """Go back to the first question, or close."""
        if self._question != self._first_question:
            self._turn_to(self._first_question)
        else:
            self.dismiss(None)

    @on(Input.Submitted)
    def _submit_filter(self, event: Input.Submitted) -> None:
        event.stop()
        self._hide_filter()
        question = DatasetQuestion(event.value.strip(), self._question.is_mine)
        if question != self._question:
            self._turn_to(question)

    @on(AskLine.Cancelled)
    def _hide_filter(self) -> None:
        self.query_one(AskLine).display = False
        self.set_focus(self._rows)

    def _turn_to(self, question: DatasetQuestion) -> None:
        """Clear the table, and read the data of another question."""
        self._question = question
        self.clear()
        self._read()

    @work(exclusive=True, group="datasets")
    async def _read(self) -> None:
        with self._session.reporting("reading the documentation", self.show_state, self._read):
            catalog = await self._session.catalog()
            try:
                text, filter = await read_question(catalog, self._question)
            except FilterSyntax as error:
                self.show_state(f"The filter cannot be read: {error}")
            else:
                await self.read(catalog, text, filter)

    async def read(self, catalog: "AsyncCatalog", text: str, filter: Filter) -> None:
        """Read and show the data for the datasets that match a search."""
        raise NotImplementedError

    def clear(self) -> None:
        """Show that nothing was read yet."""
        raise NotImplementedError

    def show_state(self, sentence: str) -> bool:
        """Show a sentence in place of an empty table; return whether it is visible there."""
        raise NotImplementedError


class WorklistRows(Rows):
    """The entries of the worklist."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklistrows")


class WorklistScreen(DatasetScreen):
    """Lists undocumented tables and columns, most used first. The editor opened from it goes from
    one to the next across tables. Returns the table to open, if any.

    `edit` opens the editor at one description of a queue; it calls back after every save and when
    the editor is closed. `review` shows proposed texts for review, `show_concept` all columns with
    the name of one.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklist")
    CSS = """
    WorklistScreen #item {
        height: 3; padding: 0 1; border-top: solid $border-blurred; text-overflow: ellipsis;
    }
    """

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        edit: Callable[[WorkQueue, Urn, str | None, Callable[[], object]], object],
        review: "Callable[[StagedChangeset], object]",
        show_concept: Callable[[str, Key], object],
    ) -> None:
        super().__init__(session, question, WorklistRows())
        self._edit = edit
        self._show_concept = show_concept
        self._review = review
        self._queue = WorkQueue(Worklist((), 0, _DAYS))
        self._shown: tuple[Item, ...] = ()
        self._current: Key | None = None
        self._state = _READING
        self._progress = ""

    def compose(self) -> ComposeResult:
        """Yield the list, and below it the details of the cursor."""
        yield from super().compose()
        yield Static("", id="item", markup=False)

    def table(self) -> Table | None:
        """Return what is listed, for a file."""
        return worklist_table(self._queue.worklist) if self._shown else None

    def apply_changes(self, changes: Changes) -> None:
        """Remove what others have documented."""
        keys = self._queue.keys_of({str(urn) for urn in changes})
        if keys:
            self._drop_documented(keys)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to open a table only where one is listed."""
        del parameters
        if action == "concept":
            return self._item is not None and self._item.column is not None
        return bool(self._shown) if action in ("open", "propose") else True

    @work(exclusive=True, group="propose", name=LEADING)
    async def action_propose(self) -> None:
        """Propose texts for the columns of these datasets from upstream columns, and review them.
        Nothing is written."""
        from explorer.stewardship import AsyncStewardship

        self._report_progress(0, 0)
        with self._session.reporting("searching for texts"):
            catalog = await self._session.catalog()
            steward = AsyncStewardship(catalog)
            text, filter = await read_question(catalog, self._question)
            edits = await steward.propose_descriptions(
                text=text, filter=filter, progress=self._report_progress
            )
            if edits:
                title = f"Proposed texts: {self._question.words() or 'the whole catalog'}"
                self._review(await steward.stage(edits, title))
            else:
                self._session.say("No text was found upstream or by name for any of these columns.")
        self._progress = ""
        self._show_left()

    def _report_progress(self, done: int, total: int) -> None:
        self._progress = f"searching for texts, {done:,} of {total:,} tables read …"
        if not self.is_closed:
            self.query_one("#heading", Static).update(self._heading())

    def action_open(self) -> None:
        """Open the page of the table under the cursor."""
        if self._item is not None:
            self.dismiss(Urn.parse(self._item.urn))

    def action_concept(self) -> None:
        """Show all columns with the name of the one under the cursor."""
        item = self._item
        if item is not None and item.column is not None:
            self._show_concept(item.column.name, item.key)

    def action_reload(self) -> None:
        """Read the worklist again, and put the cursor on the same item if it is still listed."""
        current = self._item
        # Documented items are counted by the server from here on: a queue that had noted them as
        # documented here would count them twice, and hide those whose save was undone.
        self.clear()
        self._current = current.key if current is not None else None
        self._read()

    def action_mine(self) -> None:
        """List only what the user owns, or everything."""
        self._turn_to(replace(self._question, is_mine=not self._question.is_mine))

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._item is not None:
            urn, path = self._item.key
            self._edit(self._queue, Urn.parse(urn), path, self._show_left)

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_item()

    @property
    def _item(self) -> Item | None:
        return self._rows.under_cursor(self._shown)

    def clear(self) -> None:
        """Show that nothing was read yet."""
        self._queue = WorkQueue(Worklist((), 0, _DAYS))
        self._current = None
        self.show_state(_READING)

    async def read(self, catalog: "AsyncCatalog", text: str, filter: Filter) -> None:
        """Read the top of the list first, then up to the limit."""
        from explorer.stewardship import AsyncStewardship

        # Where the client counts by itself, the first ones cost as much as all.
        is_counted = (await catalog.abilities()).stewardship
        for most in (_FIRST, _MOST) if is_counted else (_MOST,):
            worklist = await AsyncStewardship(catalog).worklist(
                text=text,
                filter=filter,
                top=most,
                days=_DAYS,
                progress=self._show_progress,
                waiting=self.show_state,
            )
            self._queue.extend(worklist)
            self.show_state("Everything here is documented." if worklist.datasets else _NOTHING)
            if not worklist.truncated:
                return

    def _show_progress(self, done: int, total: int) -> None:
        if not self._shown and done < total:
            self.show_state(f"measuring usage and impact: {done:,} of {total:,} tables …")

    @work(group="documented")
    async def _drop_documented(self, keys: list[Key]) -> None:
        with self._session.reporting("checking the changes of others", lambda _: True):
            catalog = await self._session.catalog()
            if self._queue.drop(await documented_meanwhile(catalog, keys)):
                self._show_left()

    def show_state(self, sentence: str) -> bool:
        """Show a sentence in place of an empty list; return whether it is visible there."""
        self._state = sentence
        self._show_left()
        return not self._shown

    def _show_left(self) -> None:
        """Show the remaining items, with the cursor on the same one if it is listed."""
        if self.is_closed:
            return
        current, at = self._item.key if self._item else self._current, self._rows.cursor
        worklist = self._queue.worklist
        self._shown = worklist.items
        if current is not None:
            keys = [item.key for item in self._shown]
            at = keys.index(current) if current in keys else at
        self.query_one(TableRows).show(worklist_table(worklist), cursor=at, empty=self._state)
        self.query_one("#heading", Static).update(self._heading())
        self._show_item()
        self.refresh_bindings()

    def _heading(self) -> Text:
        queue, listed = self._queue, len(self._shown)
        parts = [Text("Worklist", "bold")]
        if self._progress:
            parts.append(Text(self._progress, "bold"))
        if listed:
            more = f", {listed:,} of them listed" if queue.left > listed else ""
            parts.append(Text(f"{queue.left:,} undocumented{more}"))
        if queue.written:
            parts.append(Text(f"{queue.written:,} documented here", "bold"))
        return join([*parts, line_text(self._question.words(), "italic")])

    def _show_item(self) -> None:
        item = self._item
        text = Text()
        if item is not None:
            text = join(
                [
                    line_text(item.column.simple if item.column else "", "bold"),
                    line_text(Urn.parse(item.urn).name),
                    line_text(item.platform or ""),
                    *(Text(sentence, "dim") for sentence in item_sentences(item, _DAYS)),
                ]
            )
        self.query_one("#item", Static).update(text)
        self.refresh_bindings()


class CoverageRows(Rows):
    """The groups of the coverage."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coveragerows")


class CoverageScreen(DatasetScreen):
    """Shows how many tables and columns are documented, in all and by group, the least documented
    first; `open_worklist` shows what is undocumented in a group."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coverage")
    CSS = """
    CoverageScreen #heading { border-bottom: solid $border-blurred; }
    CoverageScreen ChartWidget {
        display: none; height: 10; border-bottom: solid $border-blurred;
    }
    CoverageScreen.-trend ChartWidget { display: block; }
    """

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        open_worklist: Callable[[DatasetQuestion], object],
    ) -> None:
        super().__init__(session, question, CoverageRows())
        self._open_worklist = open_worklist
        self._by: Grouping = "platform"
        self._coverage: Coverage | None = None
        self._trend: CoverageTrend | None = None
        self._trend_of: Part | None = None
        self._registry: Registry | None = None

    def compose(self) -> ComposeResult:
        """Yield the counts, and their trend above the keys."""
        yield from super().compose()
        yield ChartWidget()

    def table(self) -> Table | None:
        """Return the counts for a file; those of each day if the trend is shown."""
        if self._trend_of is not None and self._trend is not None:
            return trend_table(self._trend)
        return coverage_table(self._coverage) if self._coverage is not None else None

    def action_trend(self) -> None:
        """Show the trend of the columns in the group under the cursor, then of the tables, then
        none."""
        following: dict[Part | None, Part | None] = {
            None: "columns",
            "columns": "tables",
            "tables": None,
        }
        self._trend_of = following[self._trend_of]
        self.set_class(self._trend_of is not None, "-trend")
        if self._trend_of is not None and self._trend is None:
            self._show_trend(_COUNTING_DAYS)
            self._read_trend(self._question, self._by)
        else:
            self._show_trend()

    @work(exclusive=True, group="trend")
    async def _read_trend(self, question: DatasetQuestion, by: Grouping) -> None:
        from explorer.stewardship import AsyncStewardship

        with self._session.reporting("reading the documentation trend", self._show_trend):
            catalog = await self._session.catalog()
            text, filter = await read_question(catalog, question)
            trend = await AsyncStewardship(catalog).coverage_trend(
                text=text, filter=filter, by=by, days=_TREND_DAYS, waiting=self._show_trend
            )
            if (question, by) == (self._question, self._by):
                self._trend = trend
                self._show_trend()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        if self._trend_of is not None and self._trend is not None:
            self._show_trend()

    def _show_trend(self, sentence: str = "") -> bool:
        """Show the trend of the group under the cursor, or a sentence in its place; return whether
        it is visible."""
        if self.is_closed or self._trend_of is None:
            return False
        chart, trend, part = self.query_one(ChartWidget), self._trend, self._trend_of
        groups = self._coverage.groups if self._coverage is not None else ()
        group = self._rows.under_cursor(groups)
        if sentence or trend is None or group is None:
            chart.show(None, lambda _: Text(), sentence)
            return True
        name = group_name(group, self._by)
        group_trend = next((trend for trend in trend.groups if trend.key == group.key), None)
        if group_trend is None:
            chart.show(None, lambda _: Text(), f"The trend of {name} is not shown.")
            return True
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
        return True

    def action_turn(self, step: int) -> None:
        """Group by the next attribute."""
        self._by = GROUPINGS[(GROUPINGS.index(self._by) + step) % len(GROUPINGS)]
        self._turn_to(self._question)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        groups = self._coverage.groups if self._coverage is not None else ()
        group = self._rows.under_cursor(groups)
        if group is not None and self._registry is not None:
            self._open_worklist(self._question_of(group, self._registry))

    def _question_of(self, group: Group, registry: "Registry") -> DatasetQuestion:
        """Return the question for the datasets of a group."""
        field = _FILTERS[self._by]
        criterion = (
            Criterion(field, (group.key,))
            if group.key
            else Criterion(field, condition="EXISTS", negated=True)
        )
        query = SearchText.split(self._question.text, guide_to(registry))
        name = f"{self._by} {group_name(group, self._by)}"
        title = " · ".join(filter(None, (self._question.text, name)))
        return DatasetQuestion(query.narrow(condition_text(criterion, registry)), title=title)

    def clear(self) -> None:
        """Show that nothing was counted yet."""
        self._trend = None
        self.show_state(_COUNTING)

    async def read(self, catalog: "AsyncCatalog", text: str, filter: Filter) -> None:
        """Count what is documented, and show it."""
        from explorer.stewardship import AsyncStewardship

        self._registry = catalog.registry
        coverage = await AsyncStewardship(catalog).coverage(
            text=text,
            filter=filter,
            by=self._by,
            progress=self._show_progress,
            waiting=self.show_state,
        )
        self._show(coverage, _NOTHING)
        self._trend = None
        if self._trend_of is not None:
            self._show_trend(_COUNTING_DAYS)
            self._read_trend(self._question, self._by)

    def _show_progress(self, done: int, total: int) -> None:
        if self._coverage is None and done < total:
            self.show_state(f"counting: {done:,} of {total:,} tables …")

    def show_state(self, sentence: str) -> bool:
        """Show a sentence in place of the counts; return whether it is visible there."""
        self._show(None, sentence)
        return True

    def _show(self, coverage: Coverage | None, state: str) -> None:
        if self.is_closed:
            return
        self._coverage = coverage
        rows = self.query_one(TableRows)
        rows.show(coverage_page(coverage) if coverage else Table((), ()), empty=state)
        heading = join(
            [
                Text("Coverage", "bold"),
                Text(f"by {self._by}"),
                line_text(self._question.words(), "italic"),
            ]
        )
        if coverage is not None:
            for part in PARTS:
                heading.append(f"\n{part:<8} ", "dim").append(count_sentence(coverage.of(part)))
        self.query_one("#heading", Static).update(heading)
        self.refresh_bindings()


def _write_share(share: float) -> str:
    return full_number(share, "share")


_NOTHING_PROPAGATED: Final = "No propagated texts; p in the worklist proposes some."
_NOT_LISTED: Final = "No text matches; esc shows all."


class PropagatedRows(Rows):
    """The propagated texts."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagatedrows")


class PropagatedScreen(FilteredListScreen[Urn]):
    """Lists propagated texts by table and column, above the difference between the one under the
    cursor and its source. Returns the dataset to open, if any."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("propagated")
    TITLE_TEXT = "Propagated texts"
    HINT = "words of a table, a column, a text, or a state such as outdated"
    READING = "reading the propagated texts …"

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session, PropagatedRows())
        self._texts: Sequence[PropagatedText] = ()
        self._shown: Sequence[PropagatedText] = ()

    def table(self) -> "Table | None":
        """Return the texts that are listed, for a file."""
        return propagated_table(self._shown) if self._shown else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is something for."""
        del parameters
        match action:
            case "open" | "text":
                return self._text is not None
            case "pin" | "remove":
                return self._writing(self._text is not None)
            case "refresh":
                return self._writing(bool(self._texts_to_refresh))
            case "remove_all":
                return self._writing(bool(self._shown))
            case "filter":
                return bool(self._texts)
        return True

    def _writing(self, is_offered: bool) -> bool | None:
        return None if is_offered and self._session.read_only else is_offered

    def action_open(self) -> None:
        """Open the page of the table."""
        if self._text is not None:
            self.dismiss(Urn.parse(self._text.urn))

    def action_pin(self) -> None:
        """Pin the text, so that it is never refreshed, or unpin it."""
        text = self._text
        if text is None:
            return
        is_pinned = not text.is_pinned

        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            return await steward.pin_propagated([text], is_pinned=is_pinned)

        self._write("pinning the text", "pinned" if is_pinned else "unpinned", write)

    def action_refresh(self) -> None:
        """Update all listed outdated texts from their sources."""
        texts = self._texts_to_refresh
        if not texts:
            return

        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            me = await steward.catalog.me()
            return await steward.refresh_propagated(texts, by=str(me or ""))

        question = f"Write the current texts of their sources to {counted(len(texts), 'column')}?"
        self._ask(question, "refreshing the texts", "refreshed", write)

    def action_remove(self) -> None:
        """Take back the text under the cursor."""
        if self._text is not None:
            self._ask_to_take_back([self._text])

    def action_remove_all(self) -> None:
        """Take back all texts that are listed."""
        self._ask_to_take_back(self._shown)

    def _ask_to_take_back(self, texts: "Sequence[PropagatedText]") -> None:
        async def write(steward: AsyncStewardship) -> "PropagatedOutcome":
            return await steward.take_back_propagated(texts)

        question = f"Take back the propagated text of {counted(len(texts), 'column')}?"
        if any(text.state == "changed" for text in texts):
            question += " Texts that people wrote since are kept."
        self._ask(question, "taking back the texts", "taken back", write)

    def _ask(
        self,
        question: str,
        doing: str,
        done: str,
        write: "Callable[[AsyncStewardship], Awaitable[PropagatedOutcome]]",
    ) -> None:
        self.confirm(Text(question, "bold"), partial(self._write, doing, done, write))

    @work(group="write")
    async def _write(
        self,
        doing: str,
        done: str,
        write: "Callable[[AsyncStewardship], Awaitable[PropagatedOutcome]]",
    ) -> None:
        if self._session.refuses_to_write():
            return
        with self._session.reporting(doing):
            outcome = await write(AsyncStewardship(await self._session.catalog()))
            sentence = propagated_outcome(outcome, done)
            self._session.say_saved(sentence, undo="", error=bool(outcome.failed))
            if not self.is_closed:
                self.read()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self.action_text()

    @property
    def _text(self) -> "PropagatedText | None":
        return self._rows.under_cursor(self._shown)

    @property
    def _texts_to_refresh(self) -> "list[PropagatedText]":
        return [text for text in self._shown if text.state == "outdated"]

    @work(exclusive=True, group="list")
    async def read(self) -> None:
        """Read the propagated texts, and list them."""
        with self._session.reporting("reading the propagated texts"):
            steward = AsyncStewardship(await self._session.catalog())
            self._texts = await steward.propagated()
            await self.list_again()

    async def show_list(self) -> None:
        """List the texts that match the words, with the cursor on the same one if it is listed."""
        text = self._text
        self._shown = await asyncio.to_thread(propagated_with, self._texts, self.words)
        page = propagated_table(self._shown)
        keys = [text.key for text in self._shown]
        cursor = keys.index(text.key) if text is not None and text.key in keys else 0
        empty = _NOT_LISTED if self._texts else _NOTHING_PROPAGATED
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        counts = propagated_counts(self._shown, len(self._texts))
        heading = [Text(self.TITLE_TEXT, "bold"), Text(counts), line_text(self.words, "italic")]
        self.query_one("#heading", Static).update(join(heading))
        self.show_row()

    def show_row(self) -> None:
        """Show the difference between the text under the cursor and its source."""
        text = self._text
        self.query_one(DifferenceRows).show_lines(propagated_diff(text) if text else ())
        self.refresh_bindings()
