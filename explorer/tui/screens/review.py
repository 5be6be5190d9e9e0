"""Review of staged changesets: each edit is accepted, changed or refused, then all are written."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from explorer.client.display import counted
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.sessions.changesets import ChangesetsSession, ChangesetsState
from explorer.sessions.review import OWN_TEXT, ReviewSession, ReviewState
from explorer.stewardship.staging import (
    ReviewItem,
    StagedChangeset,
)
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded
from explorer.tui.key_queue import LEADING
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import (
    OverlayScreen,
    PromptScreen,
    SessionListDialog,
    SessionScreen,
    TableScreen,
)
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
from explorer.tui.widgets.text_area import DescriptionArea
from explorer.views.journal import catalog_place
from explorer.views.stewardship import (
    IMPORTS,
    edit_column,
    proposer_words,
    review_counts,
    review_diff,
    review_table,
    source_sentence,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from textual.timer import Timer

    from explorer.client import AsyncCatalog


_PAUSE_SECONDS: Final = 0.3
_NO_CHANGESETS: Final = "p in the worklist proposes texts, i reviews a file, d opens a dbt project."
_OFFERED: Final = ("accept", "refuse", "reopen", "edit", "accept_all", "sync", "import_here")


class ReviewRows(Rows):
    """The edits of a changeset."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("reviewrows")

    def __init__(self, is_editable: Callable[[], bool]) -> None:
        super().__init__()
        self._is_editable = is_editable

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow editing only for edits of texts."""
        if action == "choose":
            return self._is_editable()
        return super().check_action(action, parameters)


class ReviewScreen(TableScreen[Urn], SessionScreen[Urn, ReviewState]):
    """Lists the edits of a staged changeset, above the difference of the edit under the cursor.
    Deciding an edit goes to the next undecided one. Returns the entity to open, if any."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("review")
    DOING = "reviewing the changeset"
    CSS = """
    ReviewScreen { background: $background; }
    ReviewScreen DifferenceRows { height: 12; }
    ReviewScreen.-low DifferenceRows { height: 7; }
    """

    def __init__(self, session: TerminalSession, changeset: StagedChangeset) -> None:
        super().__init__(session, ReviewRows(lambda: bool(self.check_action("edit", ()))))
        self._changeset = changeset
        self._review: ReviewSession | None = None
        self._shown = ReviewState()

    def compose(self) -> ComposeResult:
        """Yield the heading, the edits, the difference of the edit under the cursor, and the
        keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield TableRows(self._rows)
            yield DifferenceRows()
        yield KeyLine()

    async def on_mount(self) -> None:
        """Show the edits, with the cursor on the first undecided one."""
        self.set_focus(self._rows)
        with self._session.reporting("opening the review"):
            review = self._review = ReviewSession(await self._session.catalog(), self._changeset)
            self.follow(review)
            review.replace()
            review.start(review.open())
            review.start(review.read_drafts())

    def table(self) -> Table | None:
        """Return the edits as a table for a file."""
        return review_table(self._shown.items)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only actions that are possible for the edit under the cursor."""
        del parameters
        if action == "apply":
            return not self._shown.work and bool(self._shown.counts.get("accepted"))
        # Shown as disabled: pressing the key shows why.
        return action not in _OFFERED or self.why_not(action) in ("", self._shown.why_undecided)

    async def action_accept(self) -> None:
        """Accept the edit under the cursor, and go to the next undecided one."""
        if self._shown.number in self._shown.drafts:
            self.say(OWN_TEXT, error=True)
            self.action_edit()
        elif self._item is not None:
            await self.act("accept", self._item)

    async def action_refuse(self) -> None:
        """Refuse the edit under the cursor, and go to the next undecided one."""
        await self.act("refuse", self._item)

    async def action_reopen(self) -> None:
        """Make the edit under the cursor undecided again."""
        await self.act("reopen", self._item)

    def action_accept_all(self) -> None:
        """Accept all undecided edits, after confirmation."""
        count = self._shown.counts.get("open", 0)
        question = Text.assemble(
            f"Accept all {count:,} undecided changes?\n\nNothing is written before you press ",
            ("^s", "bold"),
            " in the list.",
        )
        self.ask(question, "accept_all", count)

    def action_edit(self) -> None:
        """Open the text of the edit under the cursor for editing. The answer accepts the edit with
        the new text, keeps the text undecided, or (None) discards its draft."""
        item, review = self._item, self._review
        if item is None or review is None or not self.is_possible("edit"):
            return
        edit = item.edit

        def take_answer(answer: "ReviewAnswer | None") -> None:
            if answer is None:
                review.start(review.discard_draft(item.number))
            elif answer.is_accepted:
                review.start(review.accept(item, answer.text))
            else:
                review.start(review.leave(item, answer.text))

        title = f"{edit.name} · {edit_column(edit)}"
        sources = [source_sentence(source, edit) for source in edit.sources]
        screen = ReviewTextScreen(
            title,
            sources,
            edit.text,
            typed=lambda text: review.start(review.type(item.number, text)),
            drafted=lambda: review.draft(item.number),
        )
        self.app.push_screen(screen, take_answer)

    def action_apply(self) -> None:
        """Write the accepted edits, after confirmation."""
        count = self._shown.counts.get("accepted", 0)
        address = self._review.catalog.address if self._review is not None else ""
        question = Text.assemble(
            f"Write {counted(count, 'change')} to the catalog",
            " " if address else "",
            line_text(catalog_place(address), "bold"),
            "?\n\nA single undo takes all of them back.",
        )
        self.ask(question, "write", count)

    def action_import_here(self) -> None:
        """After confirmation, convert a changeset of another catalog to one of this catalog, and
        review that."""
        title = line_text(self._changeset.title, "bold")
        self.ask(Text.assemble("Import ", title, f"?\n\n{IMPORTS}"), "import_here")

    async def action_sync(self) -> None:
        """Fetch the decisions of colleagues, and send the decisions made here."""
        await self.act("sync")

    def apply_changes(self, changes: Changes) -> None:
        """Fetch colleagues' decisions if this changeset changed on the server."""
        if self._review is not None:
            self._review.follow(changes)

    def action_open(self) -> None:
        """Open the page of the entity."""
        if self._item is not None:
            self.dismiss(Urn.parse(self._item.edit.urn))

    def action_leave(self) -> None:
        """Close; decisions are kept."""
        if self._shown.work:
            self.say(
                "The changes are being written; if you quit, those not yet written stay accepted."
            )
        else:
            self.dismiss(None)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self.check_action("edit", ()):
            self.action_edit()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        item = self._rows.under_cursor(self._shown.items)
        if item is not None and self._review is not None:
            self._review.look_at(item.number)

    @property
    def _item(self) -> ReviewItem | None:
        return self._shown.item

    def draw_state(self, before: ReviewState, state: ReviewState) -> None:
        """Show the edits, the difference of the edit under the cursor, and the number of
        decisions."""
        numbers = [item.number for item in state.items]
        cursor = numbers.index(state.number) if state.number in numbers else 0
        is_changed = before.items != state.items or not numbers
        if is_changed or self._rows.cursor != cursor:
            table = self.query_one(TableRows)
            empty = "There is nothing to review."
            table.show(review_table(state.items), cursor=cursor, empty=empty)
        if is_changed or before.number != state.number:
            lines = review_diff(state.item) if state.item is not None else ()
            self.query_one(DifferenceRows).show_lines(lines)
        self._draw_heading(state)

    def _draw_heading(self, state: ReviewState) -> None:
        """Show the title, the counts of decisions, and the work under way."""
        changeset = self._review.changeset if self._review is not None else self._changeset
        states = [Text(words) for words in review_counts(changeset)]
        who = proposer_words(changeset)
        heading = [
            line_text(changeset.title, "bold"),
            line_text(state.foreign, "bold"),
            Text(str(state.work), "bold") if state.work else Text(),
            *states,
            Text() if state.sync == "local" else _describe_sync(state.unsent),
            line_text(f"proposed by {who}" if who else "", "dim"),
        ]
        self.query_one("#heading", Static).update(join(heading))


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """The edited text, and whether it was accepted; if not, it is kept undecided."""

    text: str
    is_accepted: bool


class ReviewTextScreen(OverlayScreen[ReviewAnswer]):
    """The editor for the text of a staged edit, with the sources of the text below. Nothing typed
    is lost: closing returns the text as undecided, and `typed` is called with the text at every
    pause. `drafted` reads an undecided text kept earlier."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("reviewtext")
    CSS = """
    ReviewTextScreen { background: $background; }
    ReviewTextScreen #title { height: 1; padding: 0 1; }
    ReviewTextScreen #sources { height: auto; max-height: 6; padding: 0 1; color: $text-muted; }
    ReviewTextScreen DescriptionArea {
        height: 1fr; background: $background; border: round $primary; padding: 0 1;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(
        self,
        title: str,
        sources: list[str],
        text: str,
        typed: Callable[[str], object] = lambda _: None,
        drafted: Callable[[], Awaitable[str | None]] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._sources, self._text = title, sources, text
        self._typed, self._drafted = typed, drafted
        self._pause: Timer | None = None
        self._is_left = False

    def compose(self) -> ComposeResult:
        """Yield the heading, the text, its sources, and the keys."""
        yield Static(line_text(self._title, "bold"), id="title", markup=False)
        yield DescriptionArea("")
        yield Static(Text("\n").join(map(line_text, self._sources)), id="sources", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        area = self.query_one(DescriptionArea)
        # Keys are queued until the draft is read.
        area.hold()
        area.open_text(self._text)
        self.set_focus(area)
        self._open_draft()

    @work
    async def _open_draft(self) -> None:
        area = self.query_one(DescriptionArea)
        text = await self._drafted() if self._drafted is not None else None
        if text is not None and text != self._text:
            area.replace_all(text)
            self.say("This is the text you typed before; ^z reverts it.")
        await area.go_on()

    @on(TextArea.Changed)
    def _change(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_PAUSE_SECONDS, self._pass_typed_text)

    def _pass_typed_text(self) -> None:
        text = self.query_one(DescriptionArea).text
        if text != self._text and not self._is_left:
            self._typed(text)

    def action_accept(self) -> None:
        """Accept the edited text."""
        self._leave(ReviewAnswer(self.query_one(DescriptionArea).text, is_accepted=True))

    def action_leave(self) -> None:
        """Go back; the text is kept, undecided."""
        text = self.query_one(DescriptionArea).text
        self._leave(ReviewAnswer(text, is_accepted=False) if text != self._text else None)

    def _leave(self, answer: ReviewAnswer | None) -> None:
        # Stop the timer, which may fire before the screen is removed: the text is decided now.
        self._is_left = True
        self.dismiss(answer)


def project_prompt(folder: str) -> PromptScreen:
    """Return the prompt for the folder of a dbt project, with `folder` as the default."""
    hint = "the folder with dbt_project.yml"
    return PromptScreen("A dbt project", hint, folder)


def _describe_sync(unsent: int) -> Text:
    return Text(f"{unsent:,} not sent yet", "bold") if unsent else Text("shared")


class ChangesetsScreen(SessionListDialog[StagedChangeset | Path, ChangesetsState]):
    """Lists the changesets on this machine and on the server, newest first; returns the changeset
    to review, or the folder of a dbt project. A file of descriptions is converted to a changeset; a
    colleague's changeset is copied to a local file. `project` is the folder of the dbt project
    opened last."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("changesets")
    DOING = "reading and changing the changesets"
    OFFERED: ClassVar[Mapping[str, str]] = {
        "open": "open",
        "share": "share",
        "withdraw": "withdraw",
        "discard": "discard",
        "next_agent": "next_agent",
    }
    _list: ChangesetsSession | None = None

    def __init__(self, session: TerminalSession, project: str = "") -> None:
        super().__init__(session)
        self._project = project
        self._shown = ChangesetsState(instead=ChangesetsSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> ChangesetsSession:
        """Create the session that reads this list."""
        return ChangesetsSession(catalog)

    def instead(self, state: ChangesetsState) -> str:
        """Return the sentence shown in place of rows, with how to create a changeset."""
        is_none = not (state.rows or state.is_reading or state.failure)
        return _NO_CHANGESETS if is_none and state.instead else super().instead(state)

    def action_open(self) -> None:
        """Review the changeset under the cursor."""
        if self._list is not None and self._shown.current is not None:
            self._leave_with(self._list.open(self._shown.current))

    def action_share(self) -> None:
        """Share the changeset under the cursor on the server, for everyone to review."""
        current = self._shown.current
        if current is not None and current.working_copy is not None:
            self._do("share", current.working_copy)

    def action_withdraw(self) -> None:
        """Withdraw the changeset under the cursor from the server, after confirmation."""
        current = self._shown.current
        if current is None or current.shared_urn is None:
            return
        question = Text.assemble(
            "Withdraw ",
            line_text(current.title, "bold"),
            " from the server?\n\n"
            "Others can no longer review it. Sharing its file again restores it.",
        )
        self.confirm(question, partial(self._do, "withdraw", current.shared_urn))

    def action_discard(self) -> None:
        """Delete the file of the changeset under the cursor, after confirmation."""
        current = self._shown.current
        if current is None or current.working_copy is None or current.shared_urn is not None:
            return
        unwritten = len(current.working_copy.of("open", "accepted"))
        lost = f"Not written: {counted(unwritten, 'change')}.\n" if unwritten else ""
        question = Text.assemble(
            "Discard ",
            line_text(current.title, "bold"),
            f"?\n\n{lost}What was written stays in the catalog.",
        )
        self.confirm(question, partial(self._do, "discard", current.working_copy))

    @work(exclusive=True, group="file")
    async def action_next_agent(self) -> None:
        """List only the changesets of the next agent; after the last agent, list all."""
        await self.act("next_agent")

    def action_take_in(self) -> None:
        """Ask for a file, and review its changes."""

        def take_in(name: str | None) -> None:
            if name is not None and self._list is not None:
                self._leave_with(self._list.open_file(Path(name).expanduser()))

        hint = "a changeset, or CSV, XLSX, JSON or Markdown of “catalog docs export”"
        self.app.push_screen(PromptScreen("Review a file", hint), take_in)

    @work(exclusive=True, group="project", name=LEADING)
    async def action_dbt_project(self) -> None:
        """Ask for the folder of a dbt project, and close with it. The default is the current folder
        if it has a project, else the folder opened last."""

        def take_folder(name: str | None) -> None:
            if name is not None:
                self.dismiss(Path(name).expanduser())

        is_here = await asyncio.to_thread(Path("dbt_project.yml").is_file)
        prompt = project_prompt("." if is_here else self._project)
        self.app.push_screen(prompt, take_folder)

    @work(exclusive=True, group="file", name=LEADING)
    async def _leave_with(self, opening: Coroutine[Any, Any, StagedChangeset]) -> None:
        changeset = await self.do(opening)
        if changeset is not None:
            self.dismiss(changeset)

    @work(exclusive=True, group="file")
    async def _do(self, name: str, subject: object) -> None:
        await self.act(name, subject)

    def heading(self, state: ChangesetsState) -> Text:
        """Return the number of changesets, or the work under way."""
        if state.work is not None:
            return line_text(str(state.work))
        if not state.listed:
            return Text("" if state.is_reading else "No changesets", "bold")
        whose = f" by {state.agent}" if state.agent else ""
        return line_text(f"{counted(len(state.listed), 'changeset')}{whose}", "bold")

    def draw_row(self, index: int, width: int) -> tuple[Text, Text]:
        """Return the title, time and counts of a changeset."""
        entry = self._shown.listed[index]
        moment = self._session.times.format(millis_of(entry.at))
        title = padded(line_text(entry.title, "bold"), max(width - len(moment) - 4, 8))
        shared = [_describe_sync(entry.unsent)] if entry.shared_urn is not None else []
        counts = join([Text(entry.counts), line_text(entry.foreign, "bold"), *shared])
        return Text.assemble(" ", title, " ", (moment, "dim")), Text.assemble("   ", counts)
