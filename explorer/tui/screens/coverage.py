"""Coverage: how much of the catalog is documented, and where most is missing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion
from explorer.stewardship.coverage import GROUPINGS, Coverage, Group, Grouping
from explorer.tui.actions import bindings
from explorer.tui.content import join, said
from explorer.tui.screens.search.query import Query, condition_text
from explorer.tui.screens.worklist import DatasetQuestion, read_question
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.stewardship import (
    PARTS,
    count_sentence,
    coverage_page,
    coverage_table,
    group_name,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from explorer.metadata.registry import Registry

__all__ = ["CoverageScreen"]

_FIELDS: Final[dict[Grouping, str]] = {
    "domain": "domains",
    "folder": "browsePaths",
    "owner": "owners",
    "platform": "platform",
    "tag": "tags",
}
_HINT: Final = "words, platform:snowflake, owner:…, tags:PII ; how much of that is documented"


class CoverageRows(Rows):
    """The groups."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coveragerows")


class CoverageScreen(ModalScreen[None]):
    """How many tables and columns are documented, in all and by group, the least documented first;
    `open_worklist` shows what is missing in a group."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("coverage")
    CSS = """
    CoverageScreen { background: $background; }
    CoverageScreen > Vertical { height: 1fr; }
    CoverageScreen #heading {
        height: auto; max-height: 4; padding: 0 1; border-bottom: solid $border-blurred;
    }
    CoverageScreen TableRows { height: 1fr; }
    """

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        open_worklist: Callable[[DatasetQuestion], object],
    ) -> None:
        super().__init__()
        self._session = session
        self._question = question
        self._open_worklist = open_worklist
        self._by: Grouping = "platform"
        self._coverage: Coverage | None = None
        self._registry: Registry | None = None

    def compose(self) -> ComposeResult:
        """Yield the sums, the line to narrow them, the groups and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield AskLine(_HINT)
            yield TableRows(CoverageRows())
        yield KeyLine()

    def on_mount(self) -> None:
        """Count."""
        self.set_focus(self.query_one(TableRows).rows)
        self._show(None, "counting what is documented …")
        self._read()

    def table(self) -> Table | None:
        """Return the counts, for a file."""
        return coverage_table(self._coverage) if self._coverage is not None else None

    def action_turn(self, step: int) -> None:
        """Group by the next thing."""
        self._by = GROUPINGS[(GROUPINGS.index(self._by) + step) % len(GROUPINGS)]
        self._show(None, "counting what is documented …")
        self._read()

    def action_filter(self) -> None:
        """Count only what a search finds."""
        self.query_one(AskLine).ask(self._question.text)

    def action_reload(self) -> None:
        """Count again."""
        self._read()

    def action_leave(self) -> None:
        """Count everything again where a filter is set; else close."""
        if self._question.text:
            self._turn_to(DatasetQuestion())
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        group = self._group
        if group is not None and self._registry is not None:
            self._open_worklist(self._question_of(group, self._registry))

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        self._put_line_away()
        self._turn_to(DatasetQuestion(event.value.strip()))

    @on(AskLine.Left)
    def _put_line_away(self) -> None:
        self.query_one(AskLine).display = False
        self.set_focus(self.query_one(TableRows).rows)

    def _turn_to(self, question: DatasetQuestion) -> None:
        if question != self._question:
            self._question = question
            self._read()

    @property
    def _group(self) -> Group | None:
        groups = self._coverage.groups if self._coverage is not None else ()
        at = self.query_one(TableRows).rows.cursor
        return groups[at] if at < len(groups) else None

    def _question_of(self, group: Group, registry: "Registry") -> DatasetQuestion:
        field = _FIELDS[self._by]
        criterion = (
            Criterion(field, (group.key,))
            if group.key
            else Criterion(field, condition="EXISTS", negated=True)
        )
        query = Query.split(self._question.text, guide_to(registry))
        name = f"{self._by} {group_name(group, self._by)}"
        title = " · ".join(filter(None, (self._question.text, name)))
        return DatasetQuestion(query.narrowed(condition_text(criterion, registry)), title=title)

    @work(exclusive=True, group="coverage")
    async def _read(self) -> None:
        from explorer.stewardship import AsyncStewardship

        question, by = self._question, self._by
        with self._session.reporting("counting what is documented", self._fail, self._read):
            catalog = await self._session.catalog()
            self._registry = catalog.registry
            try:
                text, narrowed_by = await read_question(catalog, question)
            except FilterSyntax as error:
                self._show(None, f"The filter cannot be read: {error}")
                return
            coverage = await AsyncStewardship(catalog).coverage(
                text=text,
                narrowed_by=narrowed_by,
                by=by,
                progress=self._told_progress,
            )
            self._show(coverage, "No dataset is found there; f changes the filter, esc clears it.")

    def _told_progress(self, done: int, total: int) -> None:
        if self.is_attached and self._coverage is None and done < total:
            self._show(None, f"counting: {done:,} of {total:,} tables …")

    def _fail(self, sentence: str) -> bool:
        self._show(None, sentence)
        return True

    def _show(self, coverage: Coverage | None, state: str) -> None:
        if not self.is_attached:
            return
        self._coverage = coverage
        rows = self.query_one(TableRows)
        rows.show(coverage_page(coverage) if coverage else Table((), ()), empty=state)
        heading = join(
            [
                Text("Coverage", "bold"),
                Text(f"by {self._by}"),
                said(self._question.words(), "italic"),
            ]
        )
        if coverage is not None:
            for part in PARTS:
                heading.append(f"\n{part:<8} ", "dim").append(count_sentence(coverage.of(part)))
        self.query_one("#heading", Static).update(heading)
        self.refresh_bindings()
