"""Review of staged changesets: each edit is accepted, changed or refused, then all are written."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from explorer.client.display import visible
from explorer.errors import CatalogError, InvalidInput, StorageFault, Unreachable
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import reopen_undone
from explorer.stewardship.drafts import Draft, Drafts
from explorer.stewardship.proposals import (
    OVERTAKEN,
    SharedChangeset,
    changeset_urn,
    fetch_changeset,
    server_key,
    share_changeset,
    shared_changesets,
    sync_changeset,
    why_foreign,
    why_undecided,
    withdraw_changeset,
)
from explorer.stewardship.staging import (
    ReviewItem,
    StagedChangeset,
    StagedEdit,
    changeset_files,
    shared_copies,
)
from explorer.tui.actions import bindings
from explorer.tui.content import counted, join, line_text, padded
from explorer.tui.key_queue import LEADING
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import ListScreen, OverlayScreen, PromptScreen, TableScreen
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
from explorer.tui.widgets.text_area import DescriptionArea
from explorer.views.journal import catalog_place
from explorer.views.stewardship import (
    IMPORTS,
    edit_column,
    foreign_words,
    imported_sentence,
    proposal_counts,
    review_counts,
    review_diff,
    review_page,
    review_table,
    source_sentence,
    undone_sentence,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from textual.timer import Timer

    from explorer.client import AsyncCatalog
    from explorer.stewardship.changeset import StagedOutcome

__all__ = [
    "ChangesetsScreen",
    "ReviewAnswer",
    "ReviewScreen",
    "ReviewTextScreen",
    "changeset_of",
    "project_prompt",
]

_PAUSE_SECONDS: Final = 0.3
# Before a server that was not reached is asked again.
_RETRY_SECONDS: Final = 10.0


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


class ReviewScreen(TableScreen[Urn]):
    """Lists the edits of a staged changeset, above the difference of the one under the cursor. A
    key decides an edit and goes to the next undecided one. Decisions are written to the file at
    once, and for a shared changeset sent in the background. Returns the entity to open, if any."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("review")
    CSS = """
    ReviewScreen { background: $background; }
    ReviewScreen DifferenceRows { height: 12; }
    ReviewScreen.-low DifferenceRows { height: 7; }
    """

    def __init__(self, session: TerminalSession, changeset: StagedChangeset) -> None:
        super().__init__(session, ReviewRows(lambda: bool(self.check_action("edit", ()))))
        self._hold(changeset)
        # One after another, in the order in which they were typed.
        self._drafting = asyncio.Lock()
        self._user = self._address = ""
        self._progress = ""
        # What tells the server that keeps it from others; empty for one that is in its file alone.
        self._server = ""
        self._why_undecided = ""
        # Of a changeset of another catalog: how it is marked.
        self._foreign = ""
        self._is_syncing = self._is_sync_due = self._is_unreached = False
        self._retrying: Timer | None = None

    def _hold(self, changeset: StagedChangeset) -> None:
        self._changeset, self._items = changeset, changeset.items
        self._drafts = Drafts.of_changeset(changeset.id)

    def compose(self) -> ComposeResult:
        """Yield the heading, the edits, the one under the cursor, and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield TableRows(self._rows)
            yield DifferenceRows()
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the edits, with the cursor on the first undecided one."""
        self.set_focus(self._rows)
        first = self._next_open(-1)
        self._show(first if first is not None else 0)
        self._read_user()

    def table(self) -> Table | None:
        """Return the edits, for a file."""
        return review_table(self._items)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what can be done with the edit under the cursor."""
        del parameters
        item = self._item
        if action == "sync":
            return bool(self._server)
        if action == "import_here":
            return bool(self._foreign)
        if action in ("accept", "refuse", "reopen", "edit", "accept_all", "apply"):
            if self._progress or item is None:
                return False
            counts = self._changeset.counts()
            match action:
                case "apply":
                    return bool(counts.get("accepted"))
                case "accept_all":
                    return bool(counts.get("open"))
                case "edit":
                    return item.state != "applied" and item.edit.what == "description"
                case "reopen":
                    return item.state in ("accepted", "refused", "failed")
            return item.state != "applied"
        return True

    def action_accept(self) -> None:
        """Accept the edit under the cursor, and go to the next undecided one."""
        self._decide("accepted")

    def action_refuse(self) -> None:
        """Refuse the edit under the cursor, and go to the next undecided one."""
        self._decide("refused")

    def action_reopen(self) -> None:
        """Undo the decision."""
        item = self._item
        if item is not None and self._note(item, "open"):
            self._show(self._rows.cursor)

    def action_accept_all(self) -> None:
        """Accept all undecided edits, after confirmation."""
        if self._refuses_to_decide():
            return
        count = len(self._changeset.of("open"))
        question = Text.assemble(
            f"Accept all {count:,} undecided changes?\n\nNothing is written before you press ",
            ("^s", "bold"),
            " in the list.",
        )
        self.confirm(question, self._accept_all)

    def action_edit(self) -> None:
        """Change the text of the edit under the cursor, and accept it."""
        item = self._item
        if item is None or self._refuses_to_decide():
            return
        edit = item.edit

        def take_answer(answer: "ReviewAnswer | None") -> None:
            if answer is None:
                self._drop_draft(edit)
                return
            state: Literal["accepted", "open"] = "accepted" if answer.is_accepted else "open"
            if self._note(item, state, text=answer.text):
                self._drop_draft(edit)
                self._go_on(item)
            else:
                # It is in no file of a changeset, so it stays where drafts are.
                self._keep_draft(edit, answer.text)

        def read_draft() -> str | None:
            draft = self._drafts.read(edit.urn, edit.column)
            return draft.text if draft is not None else None

        title = f"{edit.name} · {edit_column(edit)}"
        sources = [source_sentence(source, edit) for source in edit.sources]
        keep = partial(self._keep_draft, edit)
        screen = ReviewTextScreen(title, sources, edit.text, typed=keep, drafted=read_draft)
        self.app.push_screen(screen, take_answer)

    def action_apply(self) -> None:
        """Write the accepted edits, after confirmation."""
        if self._session.refuses_to_write() or self._refuses_to_decide():
            return
        if self._foreign:
            self.say(f"This changeset is {self._foreign}: I imports it, to write it here.")
            return
        count = len(self._changeset.of("accepted"))
        question = Text.assemble(
            f"Write {counted(count, 'change')} to the catalog",
            " " if self._address else "",
            line_text(catalog_place(self._address), "bold"),
            "?\n\nA single undo takes all of them back.",
        )

        def apply() -> None:
            if self._is_still(count):
                self._apply()

        self.confirm(question, apply)

    def action_import_here(self) -> None:
        """Make a changeset of this catalog with the changes, after confirmation, and review it."""
        if self._session.refuses_to_write():
            return
        question = Text.assemble(
            "Import ",
            line_text(self._changeset.title, "bold"),
            f"?\n\n{IMPORTS}",
        )
        self.confirm(question, self._import)

    @work(exclusive=True, group="import")
    async def _import(self) -> None:
        from explorer.stewardship import AsyncStewardship

        with self._session.reporting("importing the changeset"):
            steward = AsyncStewardship(await self._session.catalog())
            self._hold(await steward.import_changeset(self._changeset))
            self._foreign = ""
            self._show(self._next_open(-1) or 0)
            self.say(imported_sentence(self._changeset))

    def _is_still(self, count: int) -> bool:
        """Return whether the number of accepted edits is still the one shown to the reader; else
        show a message."""
        try:
            self._read_again()
        except CatalogError as error:
            self.say(str(error), error=True)
            return False
        now = len(self._changeset.of("accepted"))
        if now != count:
            self._show(self._rows.cursor)
            self.say(
                f"Meanwhile {now:,} are accepted, not {count:,}: check the list again.", error=True
            )
        return now == count

    def action_sync(self) -> None:
        """Fetch colleagues' decisions, and send those made here."""
        self._sync()

    def apply_changes(self, changes: Changes) -> None:
        """Fetch colleagues' decisions if this changeset changed on the server."""
        if self._server and changeset_urn(self._changeset.id) in changes:
            self._sync()

    def action_open(self) -> None:
        """Open the page of the entity."""
        if self._item is not None:
            self.dismiss(Urn.parse(self._item.edit.urn))

    def action_leave(self) -> None:
        """Close; decisions are kept."""
        if self._progress:
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
        self._show_item()

    @property
    def _item(self) -> ReviewItem | None:
        return self._rows.under_cursor(self._items)

    def _decide(self, state: Literal["accepted", "refused"]) -> None:
        item = self._item
        if item is not None and self._note(item, state):
            self._go_on(item)

    def _note(
        self,
        item: ReviewItem,
        state: Literal["open", "accepted", "refused"],
        text: str | None = None,
    ) -> bool:
        """Write a decision to the file; return whether that succeeded. Accepting an edit confirms
        having seen what somebody else wrote meanwhile. Decisions that a colleague made in the same
        file meanwhile are shown first."""
        if self._refuses_to_decide():
            return False
        before = item.theirs if state == "accepted" else None
        try:
            self._read_again()
            now = self._items[self._place_of(item)]
            if (now.state, now.edit, now.theirs) != (item.state, item.edit, item.theirs):
                self._show(self._place_of(item))
                self.say(OVERTAKEN, error=True)
                return False
            self._changeset.decide(item.number, state, self._user, text=text, before=before)
            self._items = self._changeset.items
        except CatalogError as error:
            self.say(str(error), error=True)
            return False
        self._sync()
        return True

    def _refuses_to_decide(self) -> bool:
        """Return whether a shared changeset cannot be decided here, and show why."""
        if self._why_undecided:
            self.say(self._why_undecided, error=True)
        return bool(self._why_undecided)

    def _sync(self) -> None:
        """Sync the decisions with the server, after the sync that is running."""
        self._is_sync_due = bool(self._server) and not self.is_closed
        if self._is_sync_due and not self._is_syncing and not self._progress:
            self._is_syncing = True
            self._exchange()

    @work(group="sync")
    async def _exchange(self) -> None:
        doing = "syncing the decisions"
        try:
            while self._is_sync_due:
                self._is_sync_due = False
                with self._session.reporting(doing, self._show_sync_failure, self._sync):
                    await self._exchange_once()
        finally:
            self._is_syncing = False
            if self._is_unreached and self._retrying is None and not self.is_closed:
                self._retrying = self.set_timer(_RETRY_SECONDS, self._try_again)
            if not self._progress:
                self._items = self._changeset.items
                self._show(self._rows.cursor)

    def _try_again(self) -> None:
        self._retrying = None
        self._sync()

    async def _exchange_once(self) -> None:
        self._is_unreached = False
        try:
            outcome = await sync_changeset(await self._session.catalog(), self._changeset)
        except Unreachable:
            self._is_unreached = True
            raise
        if outcome.taken_back:
            self.say(outcome.why, error=True)
        for number in outcome.overtaken:
            edit = self._changeset.item(number).edit
            self.say(f"{edit.name} · {edit_column(edit)}: {OVERTAKEN}", error=True)

    def _show_sync_failure(self, sentence: str) -> bool:
        """Show why the sync failed; for an unreachable server the heading shows it."""
        if not self._is_unreached:
            self.say(sentence, error=True)
        return not self.is_closed

    @work(group="draft")
    async def _keep_draft(self, edit: StagedEdit, text: str) -> None:
        """Store a text that is typed and undecided on disk."""
        draft = Draft(edit.urn, edit.column, edit.text, text, edit.name)
        with self._session.reporting("keeping the text"):
            async with self._drafting:
                await asyncio.to_thread(self._drafts.keep, draft)

    @work(group="draft")
    async def _drop_draft(self, edit: StagedEdit) -> None:
        """Delete a stored text that was decided or discarded."""
        async with self._drafting:
            await asyncio.to_thread(self._drafts.drop, edit.urn, edit.column)

    def _read_again(self) -> None:
        """Read decisions that a colleague wrote to the file meanwhile."""
        if self._changeset.read_again():
            self._items = self._changeset.items

    def _go_on(self, item: ReviewItem) -> None:
        place = self._place_of(item)
        at = self._next_open(place)
        self._show(place if at is None else at)
        if at is None:
            self.say("Everything is decided; ^s writes the accepted changes.")

    def _place_of(self, item: ReviewItem) -> int:
        return next(
            at for at, candidate in enumerate(self._items) if candidate.number == item.number
        )

    def _next_open(self, at: int) -> int | None:
        """Return the index of the next undecided edit, from the top again after the last."""
        count = len(self._items)
        places = (place % count for place in range(at + 1, at + 1 + count))
        return next((place for place in places if self._items[place].state == "open"), None)

    def _accept_all(self) -> None:
        try:
            self._changeset.decide_open("accepted", self._user)
        except CatalogError as error:
            self.say(str(error), error=True)
        self._items = self._changeset.items
        self._show(self._rows.cursor)
        self._sync()

    @work(group="user")
    async def _read_user(self) -> None:
        with self._session.reporting("fetching the current user", lambda _: True):
            catalog = await self._session.catalog()
            reopened = await reopen_undone(catalog, self._changeset)
            if reopened:
                self._items = self._changeset.items
                self._show(self._next_open(-1) or 0)
                self.say(undone_sentence(reopened))
            key = server_key(catalog)
            if why_foreign(self._changeset, await catalog.known_as(), key):
                self._foreign = foreign_words(self._changeset)
                self._show_heading()
                self.refresh_bindings()
            elif self._changeset.is_shared_with(key):
                self._server = key
                self._show_heading()
                self._sync()
            user = await catalog.me()
            self._user = str(user) if user is not None else ""
            self._address = catalog.address
            if self._server:
                self._why_undecided = await why_undecided(catalog)

    @work(exclusive=True, group="apply")
    async def _apply(self) -> None:
        from explorer.stewardship import AsyncStewardship

        outcome: StagedOutcome | None = None
        self._show_progress(0, len(self._changeset.of("accepted")))
        try:
            with self._session.reporting("writing the changes"):
                catalog = await self._session.catalog()
                outcome = await AsyncStewardship(catalog).apply_staged(
                    self._changeset, self._show_progress
                )
                if outcome.ended_by is not None:
                    raise outcome.ended_by
        finally:
            self._progress = ""
            self._items = self._changeset.items
            self._show(self._rows.cursor)
        if outcome is None:
            return
        if outcome.ended_by is not None:
            # The error is shown already, and the heading has the number written.
            return
        failed = self._changeset.of("failed")
        if failed:
            self._show(self._place_of(failed[0]))
        changes_text = counted(outcome.applied, "change")
        refused = f"; {outcome.failed:,} failed, see the reasons below" if outcome.failed else ""
        sentence = f"Written: {changes_text}{refused}."
        self._session.say_saved(sentence, self.say, undo="", error=bool(outcome.failed))

    def _show_progress(self, done: int, total: int) -> None:
        self._progress = f"writing {done:,} of {total:,} …"
        self._show_heading()

    def _show(self, cursor: int) -> None:
        if self.is_closed:
            return
        table = self.query_one(TableRows)
        table.show(review_page(self._items), cursor=cursor, empty="There is nothing to review.")
        self._show_heading()
        self._show_item()
        self.refresh_bindings()

    def _show_heading(self) -> None:
        if self.is_closed:
            return
        counts = [Text(self._progress, "bold")] if self._progress else []
        states = [Text(words) for words in review_counts(self._changeset)]
        who = Urn.label(self._changeset.proposed_by)
        proposed = f"proposed by {who}" if who else ""
        title = line_text(self._changeset.title, "bold")
        foreign = line_text(self._foreign, "bold")
        heading = [title, foreign, *counts, *states, self._describe_sync()]
        heading.append(line_text(proposed, "dim"))
        self.query_one("#heading", Static).update(join(heading))

    def _describe_sync(self) -> Text:
        return _describe_sync(len(self._changeset.unsent(self._server))) if self._server else Text()

    def _show_item(self) -> None:
        item = self._item
        rows = self.query_one(DifferenceRows)
        rows.show_lines(review_diff(item) if item is not None else ())
        self.refresh_bindings()

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        if not self.is_closed:
            self.query_one(KeyLine).say(message, error=error)


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """The edited text, and whether it was accepted."""

    text: str
    is_accepted: bool


class ReviewTextScreen(OverlayScreen[ReviewAnswer]):
    """The editor for the text of a staged edit, with the sources of the text below. Nothing typed
    is lost: closing keeps the text, undecided, and `typed` is called with it at every pause.
    `drafted` reads a text that was kept and never decided; it may block."""

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
        drafted: Callable[[], str | None] = lambda: None,
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
        # Typed keys wait until the draft is read.
        area.hold()
        area.open_text(self._text)
        self.set_focus(area)
        self._open_draft()

    @work
    async def _open_draft(self) -> None:
        area = self.query_one(DescriptionArea)
        text = await asyncio.to_thread(self._drafted)
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
        # The timer may fire before the screen is removed; the text is decided by then.
        self._is_left = True
        self.dismiss(answer)


def project_prompt(folder: str) -> PromptScreen:
    """Return the prompt for the folder of a dbt project, with `folder` as the default."""
    hint = "the folder with dbt_project.yml"
    return PromptScreen("A dbt project", hint, folder)


def _describe_sync(unsent: int) -> Text:
    return Text(f"{unsent:,} not sent yet", "bold") if unsent else Text("shared")


@dataclass(frozen=True, slots=True)
class _Listed:
    """A changeset from a file, from the server, or from both; `working_copy` is the one in a
    file."""

    title: str
    at: datetime
    counts: str
    working_copy: StagedChangeset | None = None
    shared: Urn | None = None
    unsent: int = 0
    foreign: str = ""
    """How one of another catalog is marked."""


class ChangesetsScreen(ListScreen[StagedChangeset | Path]):
    """Lists the changesets on this machine and on the server, newest first; returns the one to
    review, or the folder of a dbt project. A file of descriptions is converted to a changeset; a
    colleague's changeset is reviewed in its own file. `project` is the folder of the project opened
    last."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("changesets")

    def __init__(self, session: TerminalSession, project: str = "") -> None:
        super().__init__(session)
        self._project = project
        self._listed: list[_Listed] = []
        self._can_share = False

    def action_open(self) -> None:
        """Review the changeset under the cursor."""
        current = self._current
        if current is not None and current.shared is not None:
            self._fetch(current.shared)
        elif current is not None:
            self.dismiss(current.working_copy)

    def action_share(self) -> None:
        """Share the changeset under the cursor on the server, for everyone to review."""
        current = self._current
        if (
            current is not None
            and current.working_copy is not None
            and not self._session.refuses_to_write()
        ):
            self._share(current.working_copy)

    def action_withdraw(self) -> None:
        """Withdraw the changeset under the cursor from the server, after confirmation."""
        current = self._current
        if current is None or current.shared is None or self._session.refuses_to_write():
            return
        question = Text.assemble(
            "Withdraw ",
            line_text(current.title, "bold"),
            " from the server?\n\n"
            "Others can no longer review it. Sharing its file again restores it.",
        )
        self.confirm(question, partial(self._withdraw, current.shared))

    def action_discard(self) -> None:
        """Delete the file of the changeset under the cursor, after confirmation."""
        current = self._current
        if current is None or current.working_copy is None or current.shared is not None:
            return
        unwritten = len(current.working_copy.of("open", "accepted"))
        lost = f"Not written: {counted(unwritten, 'change')}.\n" if unwritten else ""
        question = Text.assemble(
            "Discard ",
            line_text(current.title, "bold"),
            f"?\n\n{lost}What was written stays in the catalog.",
        )
        self.confirm(question, partial(self._discard, current.working_copy))

    def action_reload(self) -> None:
        """Read the changesets again."""
        self._read()

    def action_take_in(self) -> None:
        """Ask for a file, and review its changes."""
        hint = "a changeset, or CSV, XLSX, JSON or Markdown of “catalog docs export”"
        self.app.push_screen(PromptScreen("Review a file", hint), self._take_in)

    def action_dbt_project(self) -> None:
        """Ask for the folder of a dbt project, and return it."""

        def take_folder(name: str | None) -> None:
            if name is not None:
                self.dismiss(Path(name).expanduser())

        self.app.push_screen(project_prompt(self._project), take_folder)

    def on_mount(self) -> None:
        """Read the changesets."""
        self._read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done with the changeset under the cursor."""
        del parameters
        current = self._current
        match action:
            case "share":
                return (
                    self._can_share
                    and current is not None
                    and current.shared is None
                    and not current.foreign
                )
            case "withdraw":
                return self._can_share and current is not None and current.shared is not None
            case "discard":
                return (
                    current is not None
                    and current.working_copy is not None
                    and current.shared is None
                )
            case "open":
                return bool(self._listed)
        return True

    @property
    def _current(self) -> _Listed | None:
        return self.query_one(Rows).under_cursor(self._listed)

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        self.refresh_bindings()

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self.action_open()

    def _take_in(self, name: str | None) -> None:
        if name is not None:
            self._open_file(Path(name).expanduser())

    @work(exclusive=True, group="file", name=LEADING)
    async def _open_file(self, path: Path) -> None:
        what = self.query_one("#what", Static)
        what.update(f"reading {visible(path.name)} …")
        with self._session.reporting("reading the file"):
            catalog = await self._session.catalog()
            self.dismiss(await changeset_of(catalog, path))
            return
        self._show_count()

    @work(exclusive=True, group="file", name=LEADING)
    async def _fetch(self, urn: Urn) -> None:
        self.query_one("#what", Static).update("fetching the changeset …")
        with self._session.reporting("fetching the changeset"):
            self.dismiss(await fetch_changeset(await self._session.catalog(), urn))
            return
        self._show_count()

    @work(exclusive=True, group="file")
    async def _share(self, changeset: StagedChangeset) -> None:
        self.query_one("#what", Static).update("sharing the changeset …")
        with self._session.reporting("sharing the changeset"):
            await share_changeset(await self._session.catalog(), changeset)
            self.say("Shared: everyone with edit rights can review it now.")
        self._read()

    @work(exclusive=True, group="file")
    async def _discard(self, changeset: StagedChangeset) -> None:
        with self._session.reporting("discarding the changeset"):
            await asyncio.to_thread(changeset.discard)
            self._show_listed(
                [entry for entry in self._listed if entry.working_copy is not changeset]
            )
            self.say("Discarded.")
        self._read()

    @work(exclusive=True, group="file")
    async def _withdraw(self, urn: Urn) -> None:
        with self._session.reporting("withdrawing the changeset"):
            await withdraw_changeset(await self._session.catalog(), urn)
            sentence = "Withdrawn: it is no longer in anyone's list."
            self._session.say_saved(sentence, self.say, undo="")
        self._read()

    @work(exclusive=True, group="changesets")
    async def _read(self) -> None:
        if not self._listed:
            self.query_one(Rows).show(0, self._draw, empty="looking for changesets …")
        with self._session.reporting("looking for changesets"):
            changesets = await asyncio.to_thread(_read_changesets, changeset_files)
            if await asyncio.to_thread(Path("dbt_project.yml").is_file):
                # The one that is being worked in.
                self._project = "."
            if changesets:
                self._show_listed([_file_entry(changeset) for changeset in changesets])
            catalog = await self._session.catalog()
            key = server_key(catalog)
            # Shared changesets are recognised by their files, even if the server does not answer.
            copies = await asyncio.to_thread(_read_changesets, partial(shared_copies, key))
            working_copies = [
                changeset for changeset in (*copies, *changesets) if changeset.is_shared_with(key)
            ]
            entries_by_id = {
                changeset.id: _copy_entry(changeset, key) for changeset in reversed(working_copies)
            }
            files = [
                _file_entry(changeset)
                for changeset in changesets
                if changeset.id not in entries_by_id
            ]
            if entries_by_id or files:
                self._show_listed([*entries_by_id.values(), *files])
            server_names = await catalog.known_as()
            foreign = {
                changeset.id: foreign_words(changeset)
                for changeset in (*working_copies, *changesets)
                if why_foreign(changeset, server_names, key)
            }
            entries = [entry for name, entry in entries_by_id.items() if name not in foreign]
            self._can_share = (await catalog.abilities()).proposals
            if self._can_share:
                queue = await shared_changesets(catalog)
                entries = [
                    _server_entry(shared, entries_by_id.get(shared.urn.name)) for shared in queue
                ]
            shared_names = {entry.shared.name for entry in entries if entry.shared is not None}
            files = [
                _file_entry(changeset, foreign.get(changeset.id, ""))
                for changeset in changesets
                if changeset.id not in shared_names
            ]
            self._show_listed([*entries, *files])
        if not self._listed:
            self._show_listed([])

    def _show_listed(self, listed: list[_Listed]) -> None:
        rows = self.query_one(Rows)
        current = self._current
        self._listed = sorted(listed, key=lambda entry: entry.at, reverse=True)
        places = {(entry.at, entry.title): at for at, entry in enumerate(self._listed)}
        cursor = places.get((current.at, current.title), 0) if current is not None else 0
        empty = "p in the worklist proposes texts, i reviews a file, d opens a dbt project."
        rows.show(len(self._listed), self._draw, cursor=cursor, empty=empty)
        self._show_count()
        self.refresh_bindings()

    def _show_count(self) -> None:
        count = len(self._listed)
        heading = Text(counted(count, "changeset") if count else "No changesets", "bold")
        self.query_one("#what", Static).update(heading)

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        entry = self._listed[index]
        moment = self._session.times.format(millis_of(entry.at))
        title = padded(line_text(entry.title, "bold"), max(width - len(moment) - 4, 8))
        shared = [_describe_sync(entry.unsent)] if entry.shared is not None else []
        counts = join([Text(entry.counts), line_text(entry.foreign, "bold"), *shared])
        return Text.assemble(" ", title, " ", (moment, "dim")), Text.assemble("   ", counts)


async def changeset_of(catalog: "AsyncCatalog", path: Path) -> StagedChangeset:
    """Return the changeset of a file, or a new one with the changes of a file of descriptions; see
    `explorer.stewardship.files`. Raises `InvalidInput` for a file that is neither, or that changes
    nothing."""
    from explorer.stewardship import AsyncStewardship, format_of, read_rows, stage_changes

    if path.suffix == ".jsonl":
        return await asyncio.to_thread(StagedChangeset.open, path)
    try:
        content = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    entries = await asyncio.to_thread(read_rows, content, format_of(path))
    steward = AsyncStewardship(catalog)
    compared = await steward.changeset(entries)
    edits = stage_changes(compared.changes)
    if not edits:
        raise InvalidInput(f"{path.name} contains no changes that can be written")
    return await steward.stage(edits, path.name)


def _file_entry(changeset: StagedChangeset, foreign: str = "") -> _Listed:
    counts = " · ".join(review_counts(changeset))
    return _Listed(changeset.title, changeset.at, counts, changeset, foreign=foreign)


def _copy_entry(changeset: StagedChangeset, key: str) -> _Listed:
    unsent = len(changeset.unsent(key))
    return replace(_file_entry(changeset), shared=changeset_urn(changeset.id), unsent=unsent)


def _server_entry(shared: SharedChangeset, copy: _Listed | None) -> _Listed:
    unsent = copy.unsent if copy is not None else 0
    counts = copy.counts if copy is not None and unsent else proposal_counts(shared)
    return _Listed(shared.title, shared.at, counts, None, shared.urn, unsent)


def _read_changesets(list_paths: Callable[[], Iterable[Path]]) -> list[StagedChangeset]:
    """Return the changesets of files that can be read, in the order of the files. Blocks."""
    changesets = []
    for path in list_paths():
        try:
            changesets.append(StagedChangeset.open(path))
        except CatalogError:
            # Files that are not changesets are skipped.
            continue
    return changesets
