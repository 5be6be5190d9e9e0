"""The worklist: what is worth documenting next, written one after another."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, all_of
from explorer.stewardship.worklist import Item, Worklist, WorkQueue, documented_meanwhile
from explorer.tui.actions import bindings
from explorer.tui.content import join, said
from explorer.tui.screens.search.query import Query
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.inputs import AskLine
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.table import TableRows
from explorer.views.stewardship import worklist_page, worklist_table
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client import AsyncCatalog
    from explorer.query.filters import Filter

__all__ = ["DatasetQuestion", "WorklistScreen", "read_question"]

_FIRST = 500
_MOST = 10_000
_DAYS = 30
_HINT = "words, platform:snowflake, owner:…, tags:PII, domain:… ; what is worth documenting there"


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """Which datasets are meant: those that a search finds, as it is typed, or with `is_mine` the
    ones among them that the user owns. `title` is shown in the place of the text."""

    text: str = ""
    is_mine: bool = False
    title: str = ""

    def words(self) -> str:
        """Return it in words; nothing for the whole catalog."""
        owned = "owned by you" if self.is_mine else ""
        return " · ".join(filter(None, (self.title or self.text, owned)))


async def read_question(catalog: "AsyncCatalog", question: DatasetQuestion) -> "tuple[str, Filter]":
    """Return words and filter as stewardship takes them. Raises `FilterSyntax` for a filter
    that cannot be read, and `InvalidInput` where the server does not say who the user is."""
    query = Query.split(question.text, guide_to(catalog.registry))
    narrowed_by = query.filter(catalog.registry)
    if question.is_mine:
        user = await catalog.me()
        if user is None:
            raise InvalidInput("this server does not say who you are; filter by owner:NAME instead")
        narrowed_by = narrowed_by.narrowed_by(all_of(Criterion("owners", (str(user),))))
    return query.words or "*", narrowed_by


class WorklistRows(Rows):
    """What is undocumented."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklistrows")


class WorklistScreen(ModalScreen[Urn]):
    """Lists undocumented tables and columns, the most used first. The editor that is opened from it
    goes from one to the next across tables. Gives the table to be opened, where one is.

    `edit` opens the editor at one description of a queue; it calls back after every save and when
    the editor is left.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("worklist")
    CSS = """
    WorklistScreen { background: $background; }
    WorklistScreen > Vertical { height: 1fr; }
    WorklistScreen #heading { height: auto; max-height: 2; padding: 0 1; }
    WorklistScreen TableRows { height: 1fr; }
    WorklistScreen #under {
        height: 3; padding: 0 1; border-top: solid $border-blurred; text-overflow: ellipsis;
    }
    """

    def __init__(
        self,
        session: TerminalSession,
        question: DatasetQuestion,
        edit: "Callable[[WorkQueue, Urn, str | None, Callable[[], object]], object]",
    ) -> None:
        super().__init__()
        self._session = session
        self._question = self._first_question = question
        self._edit = edit
        self._queue = WorkQueue(Worklist((), 0, _DAYS))
        self._shown: tuple[Item, ...] = ()
        self._state = "reading what is undocumented …"

    def compose(self) -> ComposeResult:
        """Yield what is listed, the line to narrow it, the list, and what is under the cursor."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield AskLine(_HINT)
            yield TableRows(WorklistRows())
            yield Static("", id="under", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the list."""
        self.set_focus(self.query_one(TableRows).rows)
        self._tell()
        self._read()

    def table(self) -> Table | None:
        """Return what is listed, for a file."""
        return worklist_table(self._queue.worklist) if self._shown else None

    def hear(self, changes: Changes) -> None:
        """Take out what others have documented."""
        keys = self._queue.keys_of({str(urn) for urn in changes})
        if keys:
            self._look_again(keys)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what there is something to do it to."""
        del parameters
        return bool(self._shown) if action == "open" else True

    def action_open(self) -> None:
        """Open the page of the table under the cursor."""
        if self._item is not None:
            self.dismiss(Urn.parse(self._item.urn))

    def action_filter(self) -> None:
        """Narrow the list by a search."""
        self.query_one(AskLine).ask(self._question.text)

    def action_mine(self) -> None:
        """List only what the user owns, or all."""
        self._turn_to(replace(self._question, is_mine=not self._question.is_mine))

    def action_reload(self) -> None:
        """Read the list again."""
        self._read()

    def action_leave(self) -> None:
        """List what was listed first where it is narrowed; else close."""
        if self._question != self._first_question:
            self._turn_to(self._first_question)
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._item is not None:
            urn, path = self._item.key
            self._edit(self._queue, Urn.parse(urn), path, self._written)

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._tell_item()

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        self._put_line_away()
        self._turn_to(DatasetQuestion(event.value.strip(), self._question.is_mine))

    @on(AskLine.Left)
    def _put_line_away(self) -> None:
        self.query_one(AskLine).display = False
        self.set_focus(self.query_one(TableRows).rows)

    def _turn_to(self, question: DatasetQuestion) -> None:
        if question != self._question:
            self._question = question
            self._queue = WorkQueue(Worklist((), 0, _DAYS))
            self._show("reading what is undocumented …")
            self._read()

    @property
    def _item(self) -> Item | None:
        at = self.query_one(TableRows).rows.cursor
        return self._shown[at] if at < len(self._shown) else None

    @work(exclusive=True, group="worklist")
    async def _read(self) -> None:
        """Read the first of the list, then as many as are listed at most."""
        from explorer.stewardship import AsyncStewardship

        question = self._question
        with self._session.reporting("reading the worklist", self._fail, self._read):
            catalog = await self._session.catalog()
            try:
                text, narrowed_by = await read_question(catalog, question)
            except FilterSyntax as error:
                self._show(f"The filter cannot be read: {error}")
                return
            # Where the client counts by itself, the first ones cost as much as all.
            is_counted = (await catalog.abilities()).stewardship
            for most in (_FIRST, _MOST) if is_counted else (_MOST,):
                worklist = await AsyncStewardship(catalog).worklist(
                    text=text,
                    narrowed_by=narrowed_by,
                    top=most,
                    days=_DAYS,
                    progress=self._told_progress,
                )
                self._queue.extend(worklist)
                self._show("Everything here is documented." if worklist.datasets else _NOTHING)
                if not worklist.truncated:
                    return

    def _told_progress(self, done: int, total: int) -> None:
        if self.is_attached and not self._shown and done < total:
            self._show(f"measuring use and reach: {done:,} of {total:,} tables …")

    def _fail(self, sentence: str) -> bool:
        """Show a sentence in the place of the list; return whether it is seen there."""
        self._show(sentence)
        return not self._shown

    @work(group="documented")
    async def _look_again(self, keys: list[tuple[str, str | None]]) -> None:
        with self._session.reporting("reading what others documented", lambda _: True):
            catalog = await self._session.catalog()
            found = await documented_meanwhile(catalog, keys)
            if self.is_attached and self._queue.drop(found):
                self._show(self._state)

    def _written(self) -> None:
        """The editor was left: what was written there is not listed any more."""
        if self.is_attached:
            self._show(self._state)

    def _show(self, state: str) -> None:
        """Show what is left; `state` says why where that is nothing."""
        if not self.is_attached:
            return
        self._state = state
        rows = self.query_one(TableRows)
        current = self._item
        worklist = self._queue.worklist
        self._shown = worklist.items
        at = rows.rows.cursor
        if current is not None:
            keys = [item.key for item in self._shown]
            at = keys.index(current.key) if current.key in keys else at
        rows.show(worklist_page(worklist), cursor=at, empty=state)
        self._tell()
        self.refresh_bindings()

    def _tell(self) -> None:
        queue = self._queue
        counts = [Text("Worklist", "bold")]
        if self._shown:
            more = f", {len(self._shown):,} of them listed" if queue.left > len(self._shown) else ""
            counts.append(Text(f"{queue.left:,} undocumented{more}"))
        if queue.written:
            counts.append(Text(f"{queue.written:,} documented here", "bold"))
        counts.append(said(self._question.words(), "italic"))
        self.query_one("#heading", Static).update(join(counts))
        self._tell_item()

    def _tell_item(self) -> None:
        item = self._item
        text = Text()
        if item is not None:
            at_least = "at least " if item.at_least else ""
            used = f"used {item.use:,} times in {_DAYS} days" if item.use else "no use was measured"
            of_table = " (its table)" if item.use and item.use_of == "table" and item.column else ""
            text = join(
                [
                    said(item.column.simple if item.column else "", "bold"),
                    said(Urn.parse(item.urn).name),
                    said(item.platform or ""),
                    Text(f"{used}{of_table}", "dim"),
                    Text(f"{at_least}{item.downstream:,} made from its table", "dim"),
                ]
            )
        self.query_one("#under", Static).update(text)


_NOTHING = "No dataset is found there; f changes the filter, esc clears it."
