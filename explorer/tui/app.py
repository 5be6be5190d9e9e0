"""The application: the main screen with folders, search and entity page, navigation between them,
and the end of the program.
"""

import asyncio
import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.segment import Segment
from rich.terminal_theme import TerminalTheme
from textual import events, on, work
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.color import Color
from textual.containers import Horizontal
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import ContentSwitcher
from textual.worker import active_worker, get_current_worker

from explorer import config
from explorer.client.display import visible
from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.tui import screens
from explorer.tui.actions import bindings
from explorer.tui.content import line
from explorer.tui.key_queue import LEADING, KeyQueue, opening, start_worker
from explorer.tui.screens.browse import BrowseTree
from explorer.tui.screens.label_choice import BulkLabelsRequested
from explorer.tui.screens.search import SearchView
from explorer.tui.screens.search_results import SEEN, Facets, Welcome
from explorer.tui.session import (
    ChangeListener,
    Changes,
    ChangeWatch,
    RequestLog,
    TerminalSession,
    moves_entity,
)
from explorer.tui.settings import Appearance
from explorer.tui.state import ServerState, TerminalState, VisitHistory
from explorer.tui.themes import (
    ANSI_COLOURS,
    ATTRIBUTES,
    CONTRAST,
    DARK,
    FaintFilter,
    is_without_colour,
)
from explorer.tui.widgets.bars import (
    PATIENCE_SECONDS,
    PRESSED,
    READ_ONLY,
    Header,
    KeyLine,
    action_owner,
    format_waiting,
)
from explorer.tui.widgets.rows import Rows
from explorer.tui.widgets.tabs import Tab
from explorer.views.drafts import unsaved_sentence

if TYPE_CHECKING:
    from textual.timer import Timer

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.journal import JournalSave
    from explorer.sessions.editing import DescriptionQueue
    from explorer.sessions.listing import DatasetQuestion
    from explorer.stewardship.staging import StagedChangeset
    from explorer.stewardship.worklist import Key
    from explorer.tui.screens.changes import FeedPlace, UndoActions
    from explorer.tui.screens.editor import EditorLauncher
    from explorer.tui.screens.entity import EntityView
    from explorer.tui.screens.sources import SourceChoice
    from explorer.tui.session import Opening
    from explorer.tui.settings import ClipboardMethod

_WITHIN_A_LINE = str.maketrans("", "", "\t\n")


class ControlFilter(LineFilter):
    """Removes control, escape and bidirectional characters. They have no width, so the text after
    them keeps its position."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line without control, escape and bidirectional characters."""
        del background
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            Segment(_harmless(segment.text), segment.style, segment.control) for segment in segments
        ]


def _harmless(text: str) -> str:
    """Return a text without characters that could drive the terminal."""
    # `visible` replaces dangerous characters with marks; here they are removed instead.
    pairs = zip(text, visible(text), strict=True)
    return "".join(char for char, mark in pairs if char == mark).translate(_WITHIN_A_LINE)


# Windows has no hangup.
_SIGNALS = [
    number for number in (getattr(signal, "SIGHUP", None), signal.SIGTERM) if number is not None
]


def handle_signals(end: Callable[[int], None]) -> None:
    """Call `end` with the exit status at the first SIGTERM or SIGHUP; a second one ends the program
    at once."""
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        restore_signals()
        # The exit status that shells use for a program ended by a signal.
        end(128 + number)

    # Not supported on every platform, nor outside the main thread.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in _SIGNALS:
            loop.add_signal_handler(number, on_signal, number)


def restore_signals() -> None:
    """Restore the default handling: a signal ends the program at once."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


ZOOMED = """
Screen.-maximized-view > #body { layout: vertical; }
.-maximized { width: 100% !important; height: 1fr !important; max-height: 100%; margin: 0; }
"""

_FOUND = "found"
# Typed before the name of a glossary term in the prompt for a column name.
_TERM = "term:"


def turn_zoom(screen: Screen[object]) -> bool:
    """Maximize the focused pane, or restore it; return whether a pane is maximized."""
    if screen.maximized is not None:
        screen.minimize()
    else:
        pane = _pane(screen.focused)
        screen.maximized = pane
        if pane is not None and screen.focused is not None:
            screen.focused.refresh(layout=True)
    return screen.maximized is not None


def keep_zoom(screen: Screen[object]) -> None:
    """Restore a maximized pane once the focus has left it."""
    pane, focused = screen.maximized, screen.focused
    if pane is not None and (focused is None or pane not in focused.ancestors_with_self):
        screen.minimize()


def _pane(focused: Widget | None) -> Widget | None:
    """Return the pane that holds the focus: a tab, the results, the facets, the folders, a list."""
    if focused is None:
        return None
    for node in focused.ancestors_with_self:
        if isinstance(node, Tab | Facets):
            return node
        if isinstance(node, Widget) and node.id == _FOUND:
            return node
    return focused if isinstance(focused, Rows) or focused.allow_maximize else None


# The least terminal widths, in cells, that show the folders beside the page, and the facets beside
# the results.
_FOLDERS_WIDE = 115
_FACETS_WIDE = 100
_SIZES = [(0, "-narrow"), (_FACETS_WIDE, "-medium"), (_FOLDERS_WIDE, "-wide")]
_END_SECONDS = 2
# If drafts cannot be written for this long, the program may end without keeping them.
_DISK_SECONDS = 10
_WARNED_SECONDS = 60
_COUNT_SECONDS = 2
_TOLD = 2_000
_HUNG_UP = 128 + 1
_RECENT = 20
_PROJECT = "dbt_project"
"""The setting that holds the folder of the dbt project opened last."""


def _screen_modules() -> list[str]:
    """Return the names of the modules of all screens."""
    return [module.name for module in iter_modules(screens.__path__, f"{screens.__name__}.")]


class CatalogApp(App[None]):
    """Explores the catalog whose client `make` returns. It opens `urn` or searches for `query`
    first where they are given, or with `last` the page that was open last. `on_mounted` is called
    when everything is set up, and again after every switch of servers."""

    TITLE = "catalog"
    ALLOW_IN_MAXIMIZED_VIEW: ClassVar[str] = "Header, KeyLine"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = _SIZES
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    CSS = (
        ATTRIBUTES
        + ZOOMED
        + """
    Screen { background: $background; }
    ModalScreen { background: $background 60%; }
    ModalScreen:ansi { background: ansi_default; }
    ModalScreen.-clear:ansi { background: transparent; }
    EditorScreen { background: $background; }
    Input > .input--placeholder { color: $text-muted; text-style: italic; }
    * {
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background; scrollbar-color: $border-blurred;
        scrollbar-color-hover: $primary; scrollbar-color-active: $primary;
    }
    #body { height: 1fr; }
    #page { width: 1fr; }
    .-wide BrowseTree { max-width: 60%; }
    .-narrow BrowseTree, .-medium BrowseTree { width: 1fr; border-right: none; }
    .-narrow SearchView Facets { width: 1fr; }
    """
    )

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        *,
        urn: Urn | None = None,
        query: str = "",
        last: bool = False,
        review: Path | None = None,
        server: str = "",
        remembered: TerminalState | None = None,
        exchanges: RequestLog | None = None,
        look: Appearance | None = None,
        on_mounted: Callable[[], None] = lambda: None,
    ) -> None:
        # None leaves the choice to the theme; with NO_COLOR, Textual must not mix colours of its
        # own.
        super().__init__(ansi_color=True if is_without_colour() else None)
        self._look = look or Appearance()
        self._remembered = remembered or TerminalState()
        self._session = TerminalSession(
            make,
            self._say,
            self._show_server_status,
            server=server,
            exchanges=exchanges,
            say_at_start=self._show_at_start,
        )
        self._state_keys: tuple[str, ...] = ()
        self._load_history(config.state_keys(server))
        self._offers_again = False
        self._watch = ChangeWatch(self._session, self._others_changed, self._refresh_after_gap)
        self._is_greeting = False
        self.clipboard_method: ClipboardMethod = self._look.settings.clipboard
        self._apply_settings()
        self._undimmed, self._gate = FaintFilter(), ControlFilter()
        self._keys = KeyQueue(self, super().on_event)
        self._entity_page_lock = asyncio.Lock()
        self._has_entity_page = False
        self._notify_mounted = on_mounted
        self._is_ending = False
        self._is_count_due = False
        self._status_timer: Timer | None = None
        self._disk_warned_at = -math.inf
        self._first_messages: list[str] = []
        self._is_first_error = False
        self._editing: EditorLauncher | None = None
        self._taking_back: UndoActions | None = None
        self._feed_place: FeedPlace | None = None
        self._first_urn = urn or (self._history.here if last or self.starts_with_last else None)
        self._first_query = query
        self._first_review = review

    def _apply_settings(self) -> None:
        """Register the themes, and apply the dark one before the first frame."""
        for theme in self._look.themes.values():
            self.register_theme(theme)
        self._session.times.utc = self._look.settings.zone == "utc"
        # Set before the first frame, because changing the theme later restyles every widget.
        self.set_reactive(App.theme, DARK)
        # Textual does not look up the colours of a theme that was set without the watcher.
        self.stylesheet.set_variables(self.get_css_variables())

    def turn_to_colours(self) -> None:
        """Apply the theme and the keymap of the settings, and show what is wrong with either."""
        self.theme = self._look.first(self._remembered.theme)
        keys = self._look.keymap.bindings()
        if keys:
            self.set_keymap(keys)
        if self._look.problems:
            self.call_after_refresh(self._show_problems, self._look.problems)

    def _show_problems(self, problems: Sequence[str]) -> None:
        """Show the first problem of the settings, and the number of others."""
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        self._show_at_start(f"{problems[0]}{more}.", error=True)

    def _show_at_start(self, message: str, *, error: bool = False) -> None:
        """Show a message together with the earlier start messages, so that none is replaced unread.
        The longest comes last, because the end is cut if there is no room."""
        self._first_messages.append(message)
        self._is_first_error |= error
        self._say(" ".join(sorted(self._first_messages, key=len)), error=self._is_first_error)

    @property
    def ansi_theme(self) -> TerminalTheme:
        """Return the RGB colours of the ANSI colour names."""
        return ANSI_COLOURS.get(self.current_theme.name) or super().ansi_theme

    def get_driver_class(self) -> type[Driver]:
        """Return the driver that reads and writes the terminal."""
        driver_class = super().get_driver_class()
        if driver_class.__name__ != "LinuxDriver":
            return driver_class
        from explorer.tui.terminal import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[object]:
        """Return the main screen, with the folders open if there is room."""
        width = self.size.width
        name = next(name for least, name in reversed(_SIZES) if width >= least)
        return Screen(id="_default", classes=name)

    def compose(self) -> ComposeResult:
        """Yield the header, the folders beside the page, and the key line."""
        yield Header(self._session)
        with Horizontal(id="body"):
            yield from self._panes()
        yield KeyLine()

    def _panes(self) -> Iterator[Widget]:
        """Yield the folders and the page."""
        tree = BrowseTree(self._session, self._remembered)
        tree.display = self.size.width >= _FOLDERS_WIDE
        yield tree
        find = SearchView(self._session, is_narrow=self.size.width < _FACETS_WIDE)
        yield ContentSwitcher(find, initial="find", id="page")

    async def _reset_panes(self) -> None:
        """Mount new, empty panes; drop the entity page, the editor and the requested start page."""
        body = self._main_screen.query_one("#body", Horizontal)
        async with self._entity_page_lock:
            await body.remove_children()
            self._has_entity_page, self._first_urn, self._first_query = False, None, ""
            self._first_review = None
            # The editor and its saves belong to the server that was left.
            self._editing = None
            self._feed_place = None
            await body.mount_all(self._panes())
        self._main_screen.query_one(SearchView).focus_results()

    async def on_event(self, event: events.Event) -> None:
        """Queue keys, so that they are dispatched one after another; handle all other events at
        once."""
        if not await self._keys.enqueue(event):
            await super().on_event(event)

    async def on_key_done(self) -> None:
        """Dispatch the keys that were held while the last one was handled."""
        await self._keys.on_idle()

    def on_opening_failed(self) -> None:
        """Drop the queued keys: the screen they were typed for could not be opened."""
        self._keys.drop()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of every drawn line: the theme's, Textual's, and last the one that
        removes control characters."""
        of_theme = [self._undimmed] if self.theme == CONTRAST else []
        return [*of_theme, *super().get_line_filters(), self._gate]

    def on_mount(self) -> None:
        """Handle signals, apply the theme, and request data once the first frame is drawn."""
        handle_signals(self._end)
        self.turn_to_colours()
        self.query_one(SearchView).focus_results()
        self.call_after_refresh(self._request_first_data)

    def on_resize(self, event: events.Resize) -> None:
        """In a narrow terminal show the page alone, or the folders if they have the focus."""
        tree = self._main_screen.query_one(BrowseTree)
        is_beside = event.size.width >= _FOLDERS_WIDE
        self._show_folders(tree.display and (is_beside or tree.has_focus_within))
        self._main_screen.query_one(SearchView).narrow(event.size.width < _FACETS_WIDE)

    def _request_first_data(self) -> None:
        """Open the catalog, fill folders and search, and open the page that was asked for at the
        start."""
        self._open_catalog()
        self._main_screen.query_one(BrowseTree).fill()
        self._main_screen.query_one(SearchView).start(self._first_query)
        if self._first_urn is not None:
            self._open(self._first_urn)
        elif not self._first_query:
            self.begin()
        if self._first_review is not None:
            self._review_file(self._first_review)
        start_worker(self, self._furnish, group="furnish")
        self.look_for_drafts(tell=True)

    @work(exclusive=True, group="drafts-noted", description="the list of drafts")
    async def look_for_drafts(self, *, tell: bool = False) -> None:
        """Find the descriptions that have drafts, and mark them; with `tell`, also show their
        number."""
        with self._session.reporting("looking for drafts"):
            drafts_of = await asyncio.to_thread(import_module, "explorer.stewardship.drafts")
            drafts = await drafts_of.Drafts.at(self._session)
            free_drafts = [stored.draft for stored in await asyncio.to_thread(drafts.free)]
            self._session.note_drafts(tuple((draft.urn, draft.path) for draft in free_drafts))
            self._main_screen.query_one(SearchView).show_drafts()
            if self._has_entity_page:
                self._entity_view.show_drafts()
            if tell and free_drafts:
                self._show_at_start(f"{unsaved_sentence(len(free_drafts))}: F4 lists the drafts.")

    async def _furnish(self) -> None:
        """Mount the entity page, then import the modules of all screens, so that no key waits for
        an import; then call `on_mounted`."""
        await self._mount_entity_page()
        for name in await asyncio.to_thread(_screen_modules):
            # An import error is shown when the key of that screen is pressed.
            with suppress(Exception):
                await asyncio.to_thread(import_module, name)
        self._notify_mounted()

    async def _mount_entity_page(self, first: Urn | None = None, column: str | None = None) -> None:
        """Mount the entity page after the first frame; then open the `first` entity, at a
        `column`."""
        async with self._entity_page_lock:
            if not self._has_entity_page:
                home = await asyncio.to_thread(import_module, "explorer.tui.screens.entity")
                pages = self._main_screen.query_one("#page", ContentSwitcher)
                await pages.add_content(home.EntityView(self._session))
                self._has_entity_page = True
        if first is not None:
            self._show(first, column)

    @property
    def _entity_view(self) -> "EntityView":
        from explorer.tui.screens.entity import EntityView

        return self._main_screen.query_one(EntityView)

    def _open_pages(self) -> "Iterable[EntityView]":
        """Return the entity page, if it is mounted. While the application ends there may be none:
        widgets are removed before screens."""
        if not self._has_entity_page:
            return ()
        from explorer.tui.screens.entity import EntityView

        return self._main_screen.query(EntityView)

    def _say(self, message: str, *, error: bool = False) -> None:
        """Show a message on the key line of the top screen, or of the main screen if that has
        none."""
        for screen in (*self.screen_stack[-1:], *self.screen_stack[:1]):
            lines = screen.query(KeyLine)
            if lines:
                lines.first().say(message, error=error)
                return

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Restore the maximized pane when the focus leaves it."""
        del event
        keep_zoom(self.screen)

    async def action_quit(self) -> None:
        """Quit, after waiting briefly for saves under way."""
        await self.action_leave_all()

    async def action_leave_all(self) -> None:
        """Quit from any screen, after keeping the typed text as a draft and waiting briefly for
        saves under way."""
        if await self._finish_writing():
            self.exit(message=self._describe_losses())

    async def _finish_writing(self) -> bool:
        """Keep the typed text as a draft, wait briefly for saves under way, and return whether the
        program may end. If the disk does not answer, the first call shows a message and returns
        false; a second one within a minute returns true."""
        if self._editing is None:
            return True
        try:
            async with asyncio.timeout(_DISK_SECONDS):
                return await self._editing.ready_to_quit(_END_SECONDS)
        except TimeoutError:
            # An old warning was about another text, so it does not count.
            now = time.monotonic()
            is_warned, self._disk_warned_at = now < self._disk_warned_at + _WARNED_SECONDS, now
            self._say(
                f"What you typed is not kept as a draft: {config.state_dir()} does not answer. "
                "Leave again to lose it.",
                error=True,
            )
            return is_warned

    def _describe_losses(self) -> str | None:
        """Return the message printed after the exit about texts that were not saved."""
        titles = self._editing.unsaved if self._editing is not None else []
        if not titles:
            return None
        return f"Not saved, kept as drafts: {line(', '.join(titles), _TOLD)}"

    def pop_screen(self) -> AwaitComplete:
        """Close the top screen. Its workers are cancelled, except the one that closes it, and
        queued keys that were meant for it are dropped."""
        self._keys.note_closed()
        closed, current_worker = self.screen, active_worker.get(None)
        popped = super().pop_screen()
        for worker in self.workers:
            if worker is not current_worker and closed in worker.node.ancestors_with_self:
                worker.cancel()
        return popped

    def on_terminal_disconnected(self) -> None:
        """Quit as after SIGHUP, which may not have arrived."""
        self._end(_HUNG_UP)

    def _end(self, status: int) -> None:
        """Quit after a signal; the typed text is kept as a draft."""
        if self._is_ending:
            return
        self._is_ending = True

        async def keep_and_leave() -> None:
            if self._editing is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._editing.ready_to_quit(0), _END_SECONDS)
            self.exit(return_code=status)

        start_worker(self, keep_and_leave, group="end")

    async def on_unmount(self) -> None:
        """Close the connection, and write the remembered state; from now on a signal ends the
        program at once."""
        restore_signals()
        self._watch.stop()
        await self._session.close()
        await self._remembered.close()

    def action_find(self) -> None:
        """Focus the search box."""
        self._turn_to("find")
        self._main_screen.query_one(SearchView).focus_box()

    def turn_to_results(self) -> None:
        """Focus the results."""
        self._turn_to("find")
        self._main_screen.query_one(SearchView).focus_results()

    def action_browse(self) -> None:
        """Show and focus the folders, or hide them if they are shown."""
        if self._main_screen.query_one(BrowseTree).display:
            self._show_folders(False)
            self._focus_page()
        else:
            self._focus_folders()

    def action_folders(self) -> None:
        """Focus the folders, shown if they were hidden; from the folders, focus the page."""
        if self._main_screen.query_one(BrowseTree).has_focus_within:
            self._show_folders(self.size.width >= _FOLDERS_WIDE)
            self._focus_page()
        else:
            self._focus_folders()

    def _focus_folders(self) -> None:
        self._show_folders(True)
        self._main_screen.query_one(BrowseTree).take_keys()

    def action_reveal(self) -> None:
        """Show the open entity in the folders; again, show its next place."""
        self._show_folders(True)
        self._main_screen.query_one(BrowseTree).reveal()

    def _show_folders(self, shown: bool) -> None:
        """Show or hide the folders beside the page; a narrow terminal shows one of the two."""
        self._main_screen.query_one(BrowseTree).display = shown
        is_beside = self.size.width >= _FOLDERS_WIDE
        self._main_screen.query_one("#page").display = is_beside or not shown

    def action_go_back(self) -> None:
        """Go back to the previous page."""
        self._go_to_place(self._history.back(from_search=self._open_now() is None))

    def action_go_forward(self) -> None:
        """Go forward to the next page."""
        self._go_to_place(self._history.forward())

    @on(SearchView.HitOpened)
    @on(BrowseTree.NodeOpened)
    def _handle_opened(self, event: SearchView.HitOpened | BrowseTree.NodeOpened) -> None:
        """Open the page of a chosen result or folder entry."""
        column = event.column if isinstance(event, SearchView.HitOpened) else None
        self._open(event.urn, column)

    @on(SearchView.ResultOpened)
    def _handle_result(self, event: SearchView.ResultOpened) -> None:
        """Open the first result of a search that ended, and dispatch the keys kept for its page."""
        if event.urn is not None:
            self._open(event.urn, event.column)
        # The kept keys are dispatched before the next key, once the page is open.
        self.call_next(self._keys.put_first, event.take)

    # Textual finds this handler by its name, because the class of the message is imported late.
    def on_entity_view_related_opened(self, event: "EntityView.RelatedOpened") -> None:
        """Follow a reference."""
        self._open(event.urn)

    def _others_changed(self, changes: Changes) -> None:
        """Pass the changes of others to everything that is shown."""
        if not self._is_open:
            return
        for view in self._main_screen.query(SearchView):
            view.apply_changes(changes)
        for page in self._open_pages():
            page.apply_changes(changes)
        for screen in self.screen_stack[1:]:
            if isinstance(screen, ChangeListener):
                screen.apply_changes(changes)
        if any(moves_entity(event) for events in changes.values() for event in events):
            self._count_again()

    def _count_again(self) -> None:
        """Read the folders and the number of entities again: once, shortly after any number of
        changes."""
        if not self._is_count_due:
            self._is_count_due = True
            self.set_timer(_COUNT_SECONDS, self._read_counts)

    @work(group="counts")
    async def _read_counts(self) -> None:
        self._is_count_due = False
        if not self._is_open:
            return
        self._main_screen.query_one(BrowseTree).refresh_folders()
        with suppress(CatalogError):
            catalog = await self._session.catalog()
            info = await catalog.info()
            self._main_screen.query_one(Header).show(info, read_only=catalog.read_only)

    def _refresh_after_gap(self) -> None:
        """Read everything that is shown again, because changes were lost."""
        if not self._is_open:
            return
        self._count_again()
        for view in self._main_screen.query(SearchView):
            view.refresh_results()
        for page in self._open_pages():
            page.refresh_missed()

    @property
    def _is_open(self) -> bool:
        """Return whether the application still has screens; changes may arrive while it ends."""
        return bool(self.screen_stack)

    def open_page(self, urn: Urn) -> None:
        """Open the page of an entity from the palette."""
        if self._is_page_free():
            self._open(urn)

    def _is_page_free(self) -> bool:
        """Return whether no dialog is open over the page; if one is, show a message."""
        is_free = self.screen is self._main_screen
        if not is_free:
            self._say("Close the open dialog first; what you typed is kept.", error=True)
        return is_free

    def search(self, text: str, sort: str) -> None:
        """Search for a text from the palette."""
        if self._is_page_free():
            self._turn_to("find")
            self._main_screen.query_one(SearchView).run(text, sort)

    def _open(self, urn: Urn, column: str | None = None) -> None:
        """Open the page of an entity, and add it to the history."""
        self._visit(urn)
        self.note_find()
        self._show(urn, column)

    def _go_to_place(self, place: Urn | None) -> None:
        """Show an entity of the history, or with None the search."""
        if place is None:
            self._turn_to("find")
            self._main_screen.query_one(SearchView).focus_results()
        else:
            self._note_place()
            self._show(place)

    def _open_now(self) -> Urn | None:
        """Return the URN of the open entity; None if the search is open."""
        is_entity_open = self._main_screen.query_one("#page", ContentSwitcher).current == "entity"
        return self._entity_view.urn if is_entity_open else None

    def _show(self, urn: Urn, column: str | None = None) -> None:
        """Show the page of an entity, and mount that page first if needed."""
        if not self._has_entity_page:
            # Before the next key is dispatched: later keys are meant for the page.
            self.call_next(self._mount_entity_page, urn, column)
            return
        self._turn_to("entity")
        self._main_screen.query_one(BrowseTree).mark(urn)
        view = self._entity_view
        view.open(urn)
        if column is not None:
            view.go_to("columns", column)
        view.focus_content()

    @on(BrowseTree.TabChosen)
    def _show_tab(self, event: BrowseTree.TabChosen) -> None:
        """Show a tab of the open entity that was chosen in the folders."""
        if self._open_now() is not None:
            self._turn_to("entity")
            self._entity_view.action_tab(event.name)

    def _turn_to(self, name: str) -> None:
        """Show a page (`find` or `entity`); in a narrow terminal hide the folders."""
        if self.size.width < _FOLDERS_WIDE:
            self._show_folders(False)
        self._main_screen.query_one("#page", ContentSwitcher).current = name

    def _focus_page(self) -> None:
        """Focus the entity's page, or the results if the search is shown."""
        if self._main_screen.query_one("#page", ContentSwitcher).current == "entity":
            self._entity_view.focus_content()
        else:
            self._main_screen.query_one(SearchView).focus_results()

    def _opening(self, subject: str) -> AbstractContextManager[None]:
        """Return a context for importing and opening a screen; an error is shown, and queued keys
        are then dropped."""
        return opening(self, self._session.reporting(f"opening {subject}"))

    def _call_editor(self, call: Callable[["EditorLauncher"], None]) -> None:
        """Call a function with the launcher of the editor, which is created on first use."""
        with self._opening("the editor"):
            from explorer.tui.screens.editor import EditorLauncher

            if self._editing is None:
                self._editing = EditorLauncher(
                    self,
                    self._session,
                    lambda: self._entity_view,
                    self._open,
                    lambda: self._main_screen.query_one(SearchView).found,
                    self.look_for_drafts,
                )
            call(self._editing)

    def on_entity_view_edit_requested(self, event: "EntityView.EditRequested") -> None:
        """Edit a description."""
        self._call_editor(lambda editing: editing.edit(event.entity, event.path))

    def on_entity_view_links_requested(self, event: "EntityView.LinksRequested") -> None:
        """Show the links of an entity, and change them."""
        self._call_editor(lambda editing: editing.show_links(event.entity))

    def action_drafts(self) -> None:
        """Show the drafts."""
        self._call_editor(lambda editing: editing.show_drafts())

    def action_worklist(self) -> None:
        """Show the worklist: of the current search if its results are shown, else of all
        datasets."""
        if self._is_page_free():
            self._show_worklist(self._search_text_here())

    def action_coverage(self) -> None:
        """Show the coverage of documentation, of the same datasets as the worklist."""
        if self._is_page_free():
            self._show_coverage(self._search_text_here())

    def _search_text_here(self) -> str:
        """Return the text of the search if its results are shown, else an empty text."""
        is_search_open = self._main_screen.query_one("#page", ContentSwitcher).current == "find"
        return self._main_screen.query_one(SearchView).text if is_search_open else ""

    def _show_worklist(self, text: str) -> None:
        with self._opening("the worklist"):
            from explorer.sessions import listing

            self._push_worklist(listing.DatasetQuestion(text))

    def _push_worklist(self, question: "DatasetQuestion") -> None:
        from explorer.tui.screens.stewardship import WorklistScreen

        def edit(queue: "DescriptionQueue", urn: Urn, path: str | None) -> None:
            self._call_editor(lambda editing: editing.edit_queued(queue, urn, path))

        def show_concept(name: str, at: "Key") -> None:
            self._show_concept(name, None, at)

        screen = WorklistScreen(self._session, question, edit, self._review, show_concept)
        self.push_screen(screen, self._open_from_list)

    def _open_from_list(self, urn: Urn | None) -> None:
        """Open the page of an entity that was chosen in a list over the page."""
        if urn is not None:
            while self.screen is not self._main_screen:
                self.pop_screen()
            self._open(urn)

    def _show_coverage(self, text: str) -> None:
        with self._opening("the coverage"):
            from explorer.sessions import listing
            from explorer.tui.screens.stewardship import CoverageScreen

            question = listing.DatasetQuestion(text)
            screen = CoverageScreen(self._session, question, self._push_worklist)
            self.push_screen(screen)

    def action_changesets(self) -> None:
        """Show the changesets."""
        if not self._is_page_free():
            return

        with self._opening("the changesets"):
            from explorer.tui.screens.review import ChangesetsScreen

            project = self._remembered.setting(_PROJECT)
            screen = ChangesetsScreen(self._session, str(project or ""))
            self.push_screen(screen, self._open_from_changesets)

    def _review(self, changeset: "StagedChangeset") -> None:
        """Review a changeset that was staged."""
        with self._opening("the changeset"):
            self._push_review(changeset)

    def _open_from_changesets(self, chosen: "StagedChangeset | Path | None") -> None:
        """Review the chosen changeset, or show the chosen dbt project."""
        if isinstance(chosen, Path):
            self._show_project(chosen)
        else:
            self._push_review(chosen)

    def _show_project(self, folder: Path) -> None:
        """Show the changes that the catalog would make to the files of a dbt project."""

        def review(changeset: "StagedChangeset", remark: str) -> None:
            self._push_review(changeset)
            if remark:
                # Shown on the review screen, once that is drawn.
                self.call_after_refresh(self._say, remark)

        def note(folder: Path) -> None:
            self._remembered.set(_PROJECT, str(folder))

        with self._opening("the project"):
            from explorer.tui.screens.dbt import DbtProjectScreen

            screen = DbtProjectScreen(self._session, folder, review, note)
            self.push_screen(screen, self._open_from_list)

    def _push_review(self, changeset: "StagedChangeset | None") -> None:
        from explorer.tui.screens.review import ReviewScreen

        if changeset is not None:
            self.push_screen(ReviewScreen(self._session, changeset), self._open_from_list)

    def _review_file(self, path: Path) -> None:
        """Review a file that was named when the program was started."""
        start_worker(self, partial(self._open_review, path), LEADING, group="review")

    async def _open_review(self, path: Path) -> None:
        with self._session.reporting("reading the file"):
            from explorer.sessions.changesets import ChangesetsSession

            changesets = ChangesetsSession(await self._session.catalog())
            self._push_review(await changesets.open_file(path))

    def action_journal(self) -> None:
        """Show the journal of saves from this machine."""
        if not self._is_page_free():
            return

        def undo(save: "JournalSave", again: bool, done: Callable[[], object]) -> None:
            self._call_undo(lambda taking: taking.undo_save(save, again=again, done=done))

        with self._opening("the journal"):
            from explorer.tui.screens.changes import JournalScreen

            self.push_screen(JournalScreen(self._session, undo), self._open_from_list)

    def action_propagated(self) -> None:
        """Show the texts that were propagated to columns."""
        if not self._is_page_free():
            return

        with self._opening("the propagated texts"):
            from explorer.tui.screens.stewardship import PropagatedScreen

            self.push_screen(PropagatedScreen(self._session), self._open_from_list)

    def action_feed(self) -> None:
        """Show the changes by others and by ingestion since the last visit."""
        if not self._is_page_free():
            return

        with self._opening("the changes"):
            from explorer.tui.screens.changes import FeedScreen

            self.push_screen(FeedScreen(self._session, self._feed_place), self._open_from_feed)

    def _open_from_feed(self, place: "FeedPlace | None") -> None:
        """Remember the entry that was opened in the feed, and open its page at the changed
        column."""
        self._feed_place = place
        if place is not None:
            self._open_from_list(place.urn)
            if self._has_entity_page:
                self._entity_view.go_to(place.tab, place.column)

    def on_entity_view_concept_requested(self, event: "EntityView.ConceptRequested") -> None:
        """Show all columns with the same name, or with the same glossary term."""
        self._show_concept(event.name, event.term, event.at)

    def action_concept(self) -> None:
        """Ask for a column name, and show all columns with it."""
        from explorer.tui.screens.label_choice import TERM_PREFIX
        from explorer.tui.widgets.dialogs import PromptScreen

        def show_concept(name: str | None) -> None:
            if name is None:
                return
            term = name if name.startswith(TERM_PREFIX) else None
            if name.startswith(_TERM):
                term = name.removeprefix(_TERM).strip()
            self._show_concept((term or name).removeprefix(TERM_PREFIX), term, None)

        if self._is_page_free():
            hint = f"a column name, or {_TERM} and the name of a glossary term"
            self.push_screen(PromptScreen("Columns with the same name", hint), show_concept)

    def action_govern(self) -> None:
        """Show the actions on tags, glossary terms, domains and data products."""
        if not self._is_page_free():
            return

        with self._opening("the list of actions"):
            from explorer.tui.screens.governance import GovernanceLauncher

            def show_uses() -> None:
                self._entity_view.action_tab("relations")

            launcher = GovernanceLauncher(
                self, self._session, self._open, show_uses, self._show_written
            )
            launcher.show(self._entity_here())

    def _entity_here(self) -> "Entity | None":
        """Return the entity whose page is shown."""
        current = self._main_screen.query_one("#page", ContentSwitcher).current
        return self._entity_view.entity if current == "entity" else None

    def _show_concept(self, name: str, term: str | None, at: "Key | None") -> None:
        with self._opening("the columns with the same name"):
            from explorer.sessions.concept import ConceptQuestion
            from explorer.tui.screens.concept import ConceptScreen

            screen = ConceptScreen(self._session, ConceptQuestion(name, term, at), self._review)
            self.push_screen(screen, self._open_from_list)

    @on(BulkLabelsRequested)
    def _handle_bulk_labels(self, event: BulkLabelsRequested) -> None:
        """Change labels of the marked items through a changeset."""

        with self._opening("the dialog"):
            from explorer.tui.screens.bulk_labels import BulkLauncher

            BulkLauncher(self, self._session, self._review).open(event)

    def action_take_back(self) -> None:
        """Undo the last save, on whatever page it was made."""
        self._call_undo_here(lambda taking: taking.undo())

    def action_do_again(self) -> None:
        """Redo the save that was undone last, on whatever page it was made."""
        self._call_undo_here(lambda taking: taking.redo())

    def _call_undo_here(self, call: Callable[["UndoActions"], None]) -> None:
        """Call a function with the undo actions, unless an editor or a dialog is open."""
        if self.screen is not self._main_screen:
            from explorer.tui.widgets.dialogs import TableScreen

            if not isinstance(self.screen, TableScreen):
                # An editor or a dialog has undo keys of its own.
                return
        self._call_undo(call)

    def _call_undo(self, call: Callable[["UndoActions"], None]) -> None:
        """Call a function with the undo actions, which are created on first use."""
        with self._opening("the undo dialog"):
            from explorer.tui.screens.changes import UndoActions

            if self._taking_back is None:
                self._taking_back = UndoActions(self, self._session, self._show_written)
            call(self._taking_back)

    async def _show_written(self, urns: frozenset[Urn]) -> None:
        """Show what was written: read the open lists again, and the shown entity if it was
        written."""
        from explorer.tui.widgets.dialogs import TableScreen

        for screen in self.screen_stack:
            if isinstance(screen, TableScreen):
                screen.show_written()
        if self._has_entity_page and self._entity_view.urn in urns:
            await self._entity_view.show_changed()

    @property
    def _main_screen(self) -> Screen[object]:
        """Return the main screen, below all dialogs."""
        return self.screen_stack[0]

    @work(group="info")
    async def _open_catalog(self) -> None:
        """Open the catalog, show its description in the header, and follow its changes."""
        header = self._main_screen.query_one(Header)
        with self._session.reporting("opening the catalog", header.fail, self._open_catalog):
            catalog = await self._session.catalog()
            info = await catalog.info()
            header.show(info, read_only=catalog.read_only)
            self.set_class(catalog.read_only, READ_ONLY)
            self._watch.start()
            await self._identify_catalog(catalog)

    def _show_server_status(self) -> None:
        """Show the server status in the header, and on screens over the page how long a request has
        been waiting. A timer runs only while a request is waiting."""
        if not self.screen_stack:
            # A request was still under way when the program ended.
            return
        for header in self._main_screen.query_children(Header):
            header.look()
        waiting = format_waiting(self._session)
        for screen in self.screen_stack[1:]:
            for key_line in screen.query_children(KeyLine):
                key_line.show_waiting(waiting)
        if self._status_timer is None and self._session.waiting_seconds is not None:
            self._status_timer = self.set_timer(PATIENCE_SECONDS, self._update_waiting_time)
        if self._session.has_unanswered != self._offers_again:
            self._offers_again = self._session.has_unanswered
            self._main_screen.refresh_bindings()

    def _update_waiting_time(self) -> None:
        self._status_timer = None
        self._show_server_status()

    async def _identify_catalog(self, catalog: "AsyncCatalog") -> None:
        """Identify the catalog at the address. If it is not the one of the last run, load its own
        history and look for its drafts."""
        with suppress(CatalogError):
            await catalog.abilities()
        keys = await asyncio.to_thread(config.state_keys, self._session.server)
        if set(keys).isdisjoint(self._state_keys):
            self._load_history(keys)
            self.look_for_drafts(tell=True)
        self._state_keys = keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action can be done: retrying needs a request without an answer."""
        if action == "try_again":
            return self._session.has_unanswered
        return super().check_action(action, parameters)

    def _visit(self, urn: Urn) -> None:
        """Add an entity to the history."""
        self._history.visit(urn)
        self._note_place()

    def _note_place(self) -> None:
        """Store the history of this catalog."""
        visited = tuple(map(str, self._history.visited))
        urn = self._history.here
        self._remembered.note_place(
            self._state_keys[0], ServerState(visited, None if urn is None else str(urn))
        )

    def _load_history(self, state_keys: tuple[str, ...]) -> None:
        """Load the history of a catalog, and remember the keys of its state."""
        self._state_keys = state_keys
        place = self._remembered.place(*state_keys)
        last = Urn.parse_all([place.last] if place.last else [])
        self._history = VisitHistory(Urn.parse_all(place.visited), next(iter(last), None))

    def action_open_last(self) -> None:
        """Switch to the page that was open before; a second time, switch back."""
        urn = self._history.last(self._open_now())
        if urn is None:
            self._say("No other page was open before.")
        else:
            self._note_place()
            self._show(urn)

    def action_try_again(self) -> None:
        """Retry every request that was not answered."""
        self._session.ask_again()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text to the clipboard by a method that works here, and show which one."""
        self._copy(text)

    @work(group="clipboard", exclusive=True, description="copying")
    async def _copy(self, text: str) -> None:
        """Copy a text to the clipboard, and show how."""
        from explorer.tui.desktop import copy

        self._clipboard = text
        with self._session.reporting("copying"):
            how = await copy(text, self.clipboard_method, super().copy_to_clipboard)
            self._say(how)

    def action_servers(self) -> None:
        """Choose another server."""
        if self.screen is not self._main_screen:
            self._say("Close the open dialog first; what you typed is kept.", error=True)
            return
        from explorer.tui.screens.connection import ServersScreen

        screen = ServersScreen(self._session)

        def turn_to(opening: 'Opening | Literal["sources"] | None') -> None:
            if opening == "sources":
                self.action_sources()
            elif opening is not None:
                self._switch_server(opening)

        self.push_screen(screen, turn_to)

    @work(group="switch", exclusive=True, name=LEADING)
    async def _switch_server(self, opening: "Opening") -> None:
        """Switch to another server once the typed text is kept: cancel all other workers, load the
        history of the new server, and mount and fill the panes as at the start."""
        with self._session.reporting("switching to another server"):
            settings = await asyncio.to_thread(opening.server_settings)
            if not await self._finish_writing():
                return
            current_worker = get_current_worker()
            for worker in list(self.workers):
                if worker is not current_worker:
                    worker.cancel()
            self._watch.stop()
            await self._session.switch(opening.maker(), settings.identity)
            self._load_history(await asyncio.to_thread(config.state_keys, settings.identity))
            self._main_screen.query_one(Header).forget()
            await self._reset_panes()
            self._request_first_data()

    def action_sources(self) -> None:
        """Show the sources of this catalog, and add one."""
        if not self._is_page_free():
            return

        with self._opening("the sources"):
            from explorer.tui.screens.sources import SourcesScreen

            self.push_screen(SourcesScreen(self._session), self._add_source)

    def _add_source(self, choice: "SourceChoice | None") -> None:
        """Open the form for a source; afterwards search for its metadata."""
        from explorer.tui.screens.sources import AddSourceScreen

        def search_source(search: str | None) -> None:
            if search:
                self.search(search, "")

        if choice is not None:
            self.push_screen(AddSourceScreen(self._session, choice), search_source)

    def action_exchanges(self) -> None:
        """Show the requests that were sent to the server."""
        from explorer.tui.screens.connection import LogScreen

        self.push_screen(LogScreen(self._session))

    def action_export(self) -> None:
        """Ask for a file, and write the shown table to it."""
        from explorer.tui.screens.export import ExportScreen, table_here

        table = table_here(self.screen)
        if table is None:
            self._say("There is no list on this screen to write to a file.", error=True)
        else:
            self.push_screen(ExportScreen(self._session, table))

    def action_picture(self) -> None:
        """Take a screenshot, ask for a file, and write it there."""
        from explorer.tui.screens.export import PictureScreen

        picture = self.export_screenshot(title="catalog")
        self.push_screen(PictureScreen(self._session, picture))

    @property
    def starts_with_last(self) -> bool:
        """Return whether the settings say to start with the page that was open last."""
        return self._look.settings.start == "last"

    def begin(self) -> None:
        """Start without an entity or a search: show the folders if the settings say so, and the
        introduction to a new user."""
        if self._look.settings.start == "browse":
            self.action_browse()
        if not self._remembered.has_seen(SEEN):
            self._greet_newcomer()

    def note_find(self) -> None:
        """Remember that an entity was opened, and remove the introduction permanently."""
        self._remembered.note_seen(SEEN)
        self.end_welcome()

    def end_welcome(self) -> None:
        """Remove the introduction."""
        self._is_greeting = False
        self.workers.cancel_group(self, "welcome")
        for welcome in self._main_screen.query(Welcome):
            welcome.remove()

    def _greet_newcomer(self) -> None:
        """Show the introduction until the next key."""
        self._is_greeting = True
        self._introduce()

    @work(group="welcome", exclusive=True)
    async def _introduce(self) -> None:
        """Show the introduction above the results, once the catalog is open."""
        # No message: if the server does not answer, the search reports it.
        with self._session.reporting("opening the catalog", lambda _: True):
            info = await (await self._session.catalog()).info()
            query = self._main_screen.query_one(SearchView).query("#found")
            if query and not self._main_screen.query(Welcome):
                await query.first().mount(Welcome(sample=info.sample), before=0)

    def action_help(self) -> None:
        """Show the help: the keys that work at the focus, and all others."""
        from explorer.tui.screens.palette import HelpScreen, available_actions, scopes_here

        scopes = scopes_here(self.screen)
        self.push_screen(HelpScreen(scopes, self._look.keymap, available_actions(self.screen)))

    def action_command_palette(self) -> None:
        """Show the command palette."""
        from explorer.tui.screens.palette import PaletteScreen, PaletteTargets, available_actions

        doable = available_actions(self.screen).values()
        find = self._main_screen.query_one(SearchView)
        places = PaletteTargets(
            self._session,
            self._history.recent(_RECENT),
            find.saved.read,
            self.open_page,
            self.search,
        )
        self.push_screen(PaletteScreen(doable, self._look.keymap, places))

    def action_jump(self) -> None:
        """Show a letter over every place that can be jumped to."""
        from explorer.tui.screens.palette import JumpScreen, targets_in

        self.push_screen(JumpScreen(targets_in(self.screen)))

    def action_zoom(self) -> None:
        """Maximize the focused pane, or restore it."""
        turn_zoom(self.screen)

    def action_change_theme(self) -> None:
        """Choose a theme."""
        from explorer.tui.screens.palette import ThemesScreen

        if self.no_color:
            self._say("NO_COLOR is set, so no theme can be chosen.", error=True)
        else:
            self.push_screen(ThemesScreen(self._look, self.theme, self._keep_theme))

    def _keep_theme(self, name: str) -> None:
        """Apply a theme and remember it as the one chosen last."""
        self.theme = name
        self._remembered.set("theme", name)
        if self._look.is_theme_set:
            self._say("This lasts until you quit: the settings choose the theme at the start.")

    def action_settings(self) -> None:
        """Show all settings and keys with their values."""
        from explorer.tui.screens.palette import SettingsScreen

        self.push_screen(SettingsScreen(self._look.settings, self._look.keymap))

    def action_welcome(self) -> None:
        """Show the introduction again."""
        self.turn_to_results()
        self._greet_newcomer()

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked text."""
        action = event.style.meta.get(PRESSED)
        if isinstance(action, str):
            widget, _ = self.screen.get_widget_at(event.screen_x, event.screen_y)
            await self.run_action(action, action_owner(widget, action))

    def on_key(self) -> None:
        """Remove the last message and the introduction after a key."""
        self._first_messages, self._is_first_error = [], False
        for key_line in self.screen.query_children(KeyLine):
            key_line.hush()
        if self._is_greeting:
            self.end_welcome()
