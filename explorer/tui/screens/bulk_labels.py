"""Dialogs that change labels, deprecation or links of all marked items. The choice is staged as a
changeset, and reviewed before anything is written."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.client.editable import deprecation
from explorer.sessions.bulk_labels import BulkLabelSession, BulkStaging
from explorer.sessions.labels import NO_CHANGES, NOUNS
from explorer.sessions.lifecycle import DeprecationFields, LifecycleSession
from explorer.stewardship.labels import LabelsChange
from explorer.tui.actions import bindings
from explorer.tui.content import line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.label_choice import BulkLabelsRequested, draw_change
from explorer.tui.screens.labels import PickerScreen, draw_label
from explorer.tui.screens.lifecycle import DeprecationScreen
from explorer.tui.screens.links import LinkForm, LinkInput
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client import AsyncCatalog
    from explorer.stewardship.staging import StagedChangeset


class BulkPickerScreen(PickerScreen):
    """The picker for labels of one kind on all marked items. The choice is staged; nothing is
    written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklabels")


class BulkDeprecationScreen(DeprecationScreen):
    """The deprecation of all marked items: note, date and replacement; staged, not written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulkdeprecation")

    def __init__(
        self, session: TerminalSession, catalog: "AsyncCatalog", staging: BulkStaging
    ) -> None:
        places = staging.places.places if staging.places is not None else ()
        deprecations = [place.deprecation for place in places]
        is_same = bool(deprecations) and all(aspect == deprecations[0] for aspect in deprecations)
        now = DeprecationFields.of_stored(deprecations[0] if is_same else None)
        super().__init__(
            session, LifecycleSession(catalog, staging.keys[0][0], staging.subject, now)
        )
        self._staging = staging
        self._is_any_deprecated = any(aspect is not None for aspect in deprecations)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow removing the deprecation only if any item is deprecated."""
        del parameters
        return action != "lift" or self._is_any_deprecated

    def action_lift(self) -> None:
        """Stage the removal of the deprecation from all marked items."""
        self._stage_lift()

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        with self._session.reporting("staging the deprecation"):
            note, gone_from, replacement = self.typed()
            change = LabelsChange(deprecation=deprecation(note, gone_from, replacement))
            await self._stage(change, " ".join(note.split()) or "deprecated")

    @work(exclusive=True, group="write", name=LEADING)
    async def _stage_lift(self) -> None:
        with self._session.reporting("staging the deprecation"):
            await self._stage(LabelsChange(), "undeprecated")

    async def _stage(self, change: LabelsChange, words: str) -> None:
        await self._staging.stage(self._lifecycle.catalog, change, words)
        self.dismiss(self._lifecycle)


class BulkLinkRows(Rows):
    """The links."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklinkrows")


class BulkLinksScreen(FramedScreen[None]):
    """The links of the marked items: each can be removed from all or added to all, and new ones
    added. The choice is staged; nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("bulklinks")
    CSS = """
    BulkLinksScreen > Vertical { width: 100; height: 20; }
    BulkLinksScreen #what { height: 1; }
    BulkLinksScreen Rows { height: 1fr; }
    BulkLinksScreen #preview { height: auto; max-height: 3; }
    """

    def __init__(self, session: TerminalSession, staging: BulkStaging) -> None:
        super().__init__()
        self._session = session
        self._staging = staging
        self._choice = staging.choice()

    def compose(self) -> ComposeResult:
        """Yield the heading, the links, the change to be staged, and the keys."""
        with Vertical():
            title = Text.assemble(("Links", "bold"), " of ", line_text(self._staging.subject))
            yield Static(title, id="what", markup=False)
            yield BulkLinkRows()
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the links."""
        self.set_focus(self.query_one(Rows))
        self._show()

    def action_add(self) -> None:
        """Ask for a link, and choose to add it to all marked items."""

        def add_link(new: LinkInput | None) -> None:
            link = f"{new.url} {new.label}" if new is not None else ""
            if link and link not in self._choice.selection:
                self._choice = self._choice.toggle(link)
                self._show()

        self.app.push_screen(LinkForm(f"A new link for {line(self._staging.subject)}"), add_link)

    def action_write(self) -> None:
        """Stage the chosen changes."""
        if self._choice.is_changed:
            self._stage()
        else:
            self.say(NO_CHANGES)

    def action_leave(self) -> None:
        """Close; if something was chosen, ask first."""
        if not self._choice.is_changed:
            self.dismiss(None)
            return
        question = Text.assemble(("Close without these changes?\n", "bold"), self._change())
        self.confirm(question, partial(self.dismiss, None), discards=True)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        self._choice = self._choice.toggle(self._choice.all_labels[event.index])
        self._show()

    @work(exclusive=True, group="write", name=LEADING)
    async def _stage(self) -> None:
        with self._session.reporting("staging the links"):
            change = LabelsChange(self._choice.added, self._choice.removed)
            catalog = await self._session.catalog()
            await self._staging.stage(catalog, change, self._change().plain)
            self.dismiss(None)

    def _change(self) -> Text:
        return draw_change(self._choice, lambda link: link.partition(" ")[2] or link)

    def _show(self) -> None:
        rows, links = self.query_one(Rows), self._choice.all_labels
        cursor = len(links) - 1 if rows.count and len(links) > rows.count else rows.cursor
        rows.show(len(links), self._draw, cursor=cursor, empty="No links yet; a adds one to all.")
        preview = self._change() if self._choice.is_changed else Text(NO_CHANGES, "dim italic")
        self.query_one("#preview", Static).update(preview)
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text]:
        link = self._choice.all_labels[index]
        url, _, name = link.partition(" ")
        about = " · ".join(filter(None, (self._staging.describe_holders(link), url)))
        return (draw_label(self._choice.mark(link), name or url, about, "", width, 30),)


class BulkLauncher:
    """Opens the dialogs that change all marked items; `review` shows the staged changeset."""

    def __init__(
        self,
        app: App[None],
        session: TerminalSession,
        review: "Callable[[StagedChangeset], object]",
    ) -> None:
        self._app = app
        self._session = session
        self._review = review

    def open(self, request: BulkLabelsRequested) -> None:
        """Open the dialog for a change."""
        if not request.keys or self._session.refuses_to_write():
            return
        staging = BulkStaging(request.what, request.keys, request.subject)
        self._app.run_worker(self._open(staging), LEADING, "bulk", exclusive=True)

    async def _open(self, staging: BulkStaging) -> None:
        """Open the dialog for the kind of change."""
        with self._session.reporting(f"reading the {NOUNS[staging.what][1]} of the marked items"):
            catalog = await self._session.catalog()
            await staging.read(catalog)
            review = partial(self._review_staged, staging)
            match staging.what:
                case "deprecation":
                    screen = BulkDeprecationScreen(self._session, catalog, staging)
                    self._app.push_screen(screen, review)
                case "links":
                    self._app.push_screen(BulkLinksScreen(self._session, staging), review)
                case kind:
                    labels = BulkLabelSession(catalog, staging, kind)
                    self._app.push_screen(BulkPickerScreen(self._session, labels), review)

    def _review_staged(self, staging: BulkStaging, _: object = None) -> None:
        if staging.staged is None:
            return
        self._review(staging.staged)
        sentence = staging.describe_left_out()
        if sentence:
            self._app.call_after_refresh(self._session.say, sentence)
