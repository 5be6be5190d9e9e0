"""The base of the application: connection to a catalog, theme, keymap, zoom, and the dialogs that
any screen may open.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final

from rich.terminal_theme import TerminalTheme
from rich.text import Text
from textual import events, work
from textual.app import App, RenderResult
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import get_current_worker

from explorer.metadata.urn import Urn
from explorer.tui.request_log import RequestLog
from explorer.tui.screens.entity.tabs import Tab
from explorer.tui.screens.search.facets import Facets
from explorer.tui.screens.search.view import SearchView
from explorer.tui.session import Changes, ChangeWatch, TerminalSession
from explorer.tui.settings import Appearance
from explorer.tui.state import ServerState, TerminalState
from explorer.tui.themes import DARK, is_without_colour
from explorer.tui.widgets.bars import PRESSED, READ_ONLY, Header, KeyLine, action_owner
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.tui.desktop import ClipboardMethod
    from explorer.tui.session import Opening

__all__ = ["SEEN", "ZOOMED", "BaseApp", "VisitHistory", "Welcome", "keep_zoom"]

_KEPT = 200


class VisitHistory:
    """Entities visited, and between them the search, where every run begins.

    `before` were visited in an earlier run, oldest first: they lie before this run's search.
    """

    def __init__(self, before: Iterable[Urn] = (), last: Urn | None = None) -> None:
        earlier = list(before)[-_KEPT:]
        self._places: list[Urn | None] = [None, *earlier, None] if earlier else [None]
        self._at = len(self._places) - 1
        self._last = last
        self._here: Urn | None = None

    @property
    def visited(self) -> tuple[Urn, ...]:
        """Every entity one can go back or forward to, oldest first, none twice in a row."""
        entities = [place for place in self._places if place is not None]
        return tuple(urn for urn, _ in groupby(entities))

    def recent(self, count: int) -> list[Urn]:
        """The entities visited last, at most `count`, the latest first, each once."""
        return list(dict.fromkeys(reversed(self.visited)))[:count]

    @property
    def here(self) -> Urn | None:
        """The entity opened last in this run, or else in the one before."""
        return self._here or self._last

    def visit(self, urn: Urn) -> None:
        """Go on to an entity; what lay ahead is forgotten."""
        self._note(urn)
        if self._places[self._at] != urn:
            self._places = [*self._places[: self._at + 1], urn][-_KEPT:]
            self._at = len(self._places) - 1

    def back(self, *, from_search: bool = False) -> Urn | None:
        """The entity before; nothing is the search. Who left an entity for the search comes back
        to that one first."""
        if not (from_search and self._places[self._at] is not None):
            self._at = max(self._at - 1, 0)
        return self._stand()

    def forward(self) -> Urn | None:
        """The entity after, or the last one again; nothing is the search."""
        self._at = min(self._at + 1, len(self._places) - 1)
        return self._stand()

    def last(self, open_now: Urn | None) -> Urn | None:
        """The entity that was open last, or, while that is `open_now`, the one before it."""
        found = self._last if self.here == open_now else self.here
        if found is not None:
            self.visit(found)
        return found

    def _stand(self) -> Urn | None:
        place = self._places[self._at]
        if place is not None:
            self._note(place)
        return place

    def _note(self, urn: Urn) -> None:
        if self._here != urn:
            self._last, self._here = self._here or self._last, urn


class ConnectedApp(App[None]):
    """An application over one catalog at a time, that `make` gives a client for; `server` is what
    tells that one from others."""

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        *,
        server: str = "",
        remembered: TerminalState | None = None,
        exchanges: RequestLog | None = None,
    ) -> None:
        # With colours the theme says which; without, nothing may be mixed of any.
        super().__init__(ansi_color=True if is_without_colour() else None)
        self._remembered = remembered or TerminalState()
        self._session = TerminalSession(
            make, self._say, self._heard, server=server, exchanges=exchanges
        )
        self._history = self._history_of(server)
        self._offers_again = False
        self._watch = ChangeWatch(self._session, self._others_changed, self._missed_changes)
        self.clipboard_way: ClipboardMethod = "auto"

    @property
    def _desk(self) -> Screen[object]:
        """The one screen that is always there, below whatever else is open."""
        return self.screen_stack[0]

    def _say(self, message: str, *, error: bool = False) -> None:
        raise NotImplementedError

    def _start(self) -> None:
        """Ask for what is shown first."""
        raise NotImplementedError

    def _show(self, urn: Urn) -> None:
        raise NotImplementedError

    async def _clear(self) -> None:
        """Empty every page."""
        raise NotImplementedError

    def _open_now(self) -> Urn | None:
        """The entity that is looked at."""
        raise NotImplementedError

    def _others_changed(self, changes: Changes) -> None:
        """Show what somebody changed, where it is on screen."""
        raise NotImplementedError

    def _missed_changes(self) -> None:
        """Read what is on screen again: the changes to it were not heard."""
        raise NotImplementedError

    async def _finish_writing(self) -> bool:
        """Keep and write what was typed; says whether it is safe to go elsewhere."""
        raise NotImplementedError

    async def on_unmount(self) -> None:
        """Hang up, and keep what is remembered."""
        self._watch.stop()
        await self._session.close()
        await self._remembered.close()

    @work(group="info")
    async def _greet(self) -> None:
        header = self._desk.query_one(Header)
        with self._session.reporting("opening the catalog", header.fail, self._greet):
            catalog = await self._session.catalog()
            info = await catalog.info()
            header.show(info, read_only=catalog.read_only)
            self.set_class(catalog.read_only, READ_ONLY)
            self._watch.start()

    def _heard(self) -> None:
        """The header tells how the server was last heard."""
        if not self.screen_stack:
            # What was under way when the program ended.
            return
        for header in self._desk.query_children(Header):
            header.look()
        if self._session.has_unanswered != self._offers_again:
            self._offers_again = self._session.has_unanswered
            self._desk.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is asked again where everything was answered."""
        if action == "try_again":
            return self._session.has_unanswered
        return super().check_action(action, parameters)

    def _visit(self, urn: Urn) -> None:
        """Go on to an entity, and remember that."""
        self._history.visit(urn)
        self._note_place()

    def _note_place(self) -> None:
        visited = tuple(map(str, self._history.visited))
        here = self._history.here
        self._remembered.note_place(
            self._session.server, ServerState(visited, None if here is None else str(here))
        )

    def _history_of(self, server: str) -> VisitHistory:
        place = self._remembered.place(server)
        last = Urn.parse_all([place.last] if place.last else [])
        return VisitHistory(Urn.parse_all(place.visited), next(iter(last), None))

    def action_open_last(self) -> None:
        """To what was open last, and back."""
        found = self._history.last(self._open_now())
        if found is None:
            self._say("Nothing was open before.")
        else:
            self._note_place()
            self._show(found)

    def action_try_again(self) -> None:
        """Ask for everything that was not answered."""
        self._session.ask_again()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the way that works here, and say which it was."""
        self._copy(text)

    @work(group="clipboard", exclusive=True, description="copying")
    async def _copy(self, text: str) -> None:
        from explorer.tui.desktop import copy

        self._clipboard = text
        with self._session.reporting("copying"):
            how = await copy(text, self.clipboard_way, super().copy_to_clipboard)
            self._say(how)

    def action_servers(self) -> None:
        """Choose another server."""
        if self.screen is not self._desk:
            self._say("Close what is open first; what was typed is kept.", error=True)
            return
        from explorer.tui.screens.servers import ServersScreen

        screen = ServersScreen(self._session)

        def chosen(opening: "Opening | None") -> None:
            if opening is not None:
                self._turn_to_server(opening)

        self.push_screen(screen, chosen)

    @work(group="switch", exclusive=True)
    async def _turn_to_server(self, opening: "Opening") -> None:
        import asyncio

        with self._session.reporting("switching to another server"):
            found = await asyncio.to_thread(opening.found)
            if not await self._finish_writing():
                return
            here = get_current_worker()
            for worker in list(self.workers):
                if worker is not here:
                    worker.cancel()
            self._watch.stop()
            await self._session.switch(opening.maker(), found.identity)
            self._history = self._history_of(found.identity)
            self._desk.query_one(Header).forget()
            await self._clear()
            self._start()

    def action_exchanges(self) -> None:
        """What was asked of the server."""
        from explorer.tui.screens.log import LogScreen

        self.push_screen(LogScreen(self._session))

    def action_export(self) -> None:
        """Write what is shown to a file."""
        from explorer.tui.screens.export import ExportScreen, table_here

        table = table_here(self.screen)
        if table is None:
            self._say("There is no list here that could be written to a file.", error=True)
        else:
            self.push_screen(ExportScreen(self._session, table))

    def action_picture(self) -> None:
        """Write the screen as a picture."""
        from explorer.tui.screens.export import PictureScreen

        picture = self.export_screenshot(title="catalog")
        self.push_screen(PictureScreen(self._session, picture))


ZOOMED = """
Screen.-maximized-view > #body { layout: vertical; }
.-maximized { width: 100% !important; height: 1fr !important; max-height: 100%; margin: 0; }
"""

_FOUND = "found"


def turn_zoom(screen: Screen[object]) -> bool:
    """The pane with the focus fills the screen, or goes back; gives whether one fills it."""
    if screen.maximized is not None:
        screen.minimize()
    else:
        pane = _pane(screen.focused)
        screen.maximized = pane
        if pane is not None and screen.focused is not None:
            screen.focused.refresh(layout=True)
    return screen.maximized is not None


def keep_zoom(screen: Screen[object]) -> None:
    """A pane that the focus has left goes back to its place."""
    pane, focused = screen.maximized, screen.focused
    if pane is not None and (focused is None or pane not in focused.ancestors_with_self):
        screen.minimize()


def _pane(focused: Widget | None) -> Widget | None:
    """What is read as one pane: a tab of an entity, the results, the facets, the folders."""
    if focused is None:
        return None
    for node in focused.ancestors_with_self:
        if isinstance(node, Tab | Facets):
            return node
        if isinstance(node, Widget) and node.id == _FOUND:
            return node
    return focused if isinstance(focused, Rows) or focused.allow_maximize else None


SEEN: Final = "first find"
"""What the terminal remembers once an entity was opened: newcomers are greeted until then."""

_SMALL: Final = 20
_INTRODUCTION: Final = (
    "This is a catalog of data. Find a table or a dashboard, see what is in it, who uses it and\n"
    "what depends on it, and write down what nobody has described yet.",
    "Find a table, see what is in it and who uses it, describe what nobody has described yet.",
)
_SAMPLE: Final = (
    "What is here now is a sample: the warehouse of Tarnwood, a made-up shop for outdoor gear.\n"
    "Try: / then orders, then ⏎ twice."
)
_GAP: Final = "   "
_STEPS: Final = (("/", "type a name"), ("F6", "folders"), ("⏎", "open"), ("?", "every key"))


class Welcome(Widget):
    """A short introduction above the results. It goes with the first key."""

    DEFAULT_CSS = """
    Welcome {
        height: auto; margin: 0 1; padding: 0 1; border: round $primary;
        border-title-color: $text; border-title-style: bold;
    }
    Welcome.-small { border: none; margin: 0; }
    """

    def __init__(self, *, sample: bool) -> None:
        super().__init__()
        self._sample = sample
        self.border_title = "Welcome"

    def on_mount(self) -> None:
        """In a small terminal there is one line of it."""
        self.set_class(self.screen.size.height < _SMALL, "-small")

    def render(self) -> RenderResult:
        """What this is, what to press, and what is to be found."""
        steps = _packed(self.content_size.width)
        if self.screen.size.height < _SMALL:
            return steps
        wide = self.size.width > max(map(len, _INTRODUCTION[0].splitlines()))
        lines = [Text(_INTRODUCTION[not wide]), steps]
        if self._sample:
            lines.append(Text(_SAMPLE, "dim"))
        return Text("\n").join(lines)


def _packed(width: int) -> Text:
    """The steps, as many in a line as there is room for; none is broken."""
    packed, room = Text(), width
    for key, what in _STEPS:
        step = Text.assemble((key, "bold"), f" {what}")
        if packed.plain:
            fits = step.cell_len + len(_GAP) <= room
            packed.append(_GAP if fits else "\n")
            room = room - len(_GAP) if fits else width
        packed.append_text(step)
        room -= step.cell_len
    return packed


_RECENT = 20


class BaseApp(ConnectedApp):
    """An application that looks as its reader has set it."""

    ALLOW_IN_MAXIMIZED_VIEW: ClassVar[str] = "Header, KeyLine"
    _look = Appearance()
    _is_greeting = False

    def dress(self, look: Appearance) -> None:
        """Have the themes and the keys; before anything is drawn."""
        self._look = look
        for theme in look.themes.values():
            self.register_theme(theme)
        self.clipboard_way = look.settings.clipboard
        self._session.times.utc = look.settings.zone == "utc"
        # From the start: a theme that changes later styles everything anew.
        self.set_reactive(App.theme, DARK)
        # The colours of a theme that is there from the start are not looked up by Textual.
        self.stylesheet.set_variables(self.get_css_variables())

    def turn_to_colours(self) -> None:
        """Put on the theme that is wanted and take the keys; tell what was wrong with either."""
        self.theme = self._look.first(self._remembered.theme)
        keys = self._look.keymap.bindings()
        if keys:
            self.set_keymap(keys)
        if self._look.problems:
            self.call_after_refresh(self._complain, self._look.problems)

    def _complain(self, problems: Sequence[str]) -> None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        self._say(f"{problems[0]}{more}", error=True)

    @property
    def ansi_theme(self) -> TerminalTheme:
        """What the names of colours mean."""
        return self._look.table(self.current_theme) or super().ansi_theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every drawn line goes through; what the theme wants comes before the colours."""
        return [*self._look.filters(self.theme), *super().get_line_filters()]

    @property
    def starts_with_last(self) -> bool:
        """Whether what was open last is opened first."""
        return self._look.settings.start == "last"

    def begin(self) -> None:
        """With nothing named to be opened: as the settings say, and with a word to newcomers."""
        if self._look.settings.start == "browse":
            self.action_browse()
        if not self._remembered.has_seen(SEEN):
            self._greet_newcomer()

    def note_find(self) -> None:
        """Somebody has found something: no introduction is needed any more."""
        self._remembered.note_seen(SEEN)
        self.end_welcome()

    def end_welcome(self) -> None:
        """Take the introduction away."""
        self._is_greeting = False
        self.workers.cancel_group(self, "welcome")
        for welcome in self._desk.query(Welcome):
            welcome.remove()

    def _greet_newcomer(self) -> None:
        self._is_greeting = True
        self._introduce()

    @work(group="welcome", exclusive=True)
    async def _introduce(self) -> None:
        # Whoever asks for what is to be seen tells why it cannot be had.
        with self._session.reporting("opening the catalog", lambda _: True):
            info = await (await self._session.catalog()).info()
            found = self._desk.query_one(SearchView).query("#found")
            if found and not self._desk.query(Welcome):
                await found.first().mount(Welcome(sample=info.sample), before=0)

    def action_help(self) -> None:
        """The keys that work here."""
        from explorer.tui.screens.palette import HelpScreen, available_actions, scopes_here

        here = scopes_here(self.screen)
        self.push_screen(HelpScreen(here, self._look.keymap, available_actions(self.screen)))

    def action_command_palette(self) -> None:
        """Everything that can be done, by name."""
        from explorer.tui.screens.palette import PaletteScreen, PaletteTargets, available_actions

        doable = available_actions(self.screen).values()
        find = self._desk.query_one(SearchView)
        places = PaletteTargets(
            self._session, self._history.recent(_RECENT), find.searches, self.open_page, self.search
        )
        self.push_screen(PaletteScreen(doable, self._look.keymap, places))

    def open_page(self, urn: Urn) -> None:
        """Open the page of an entity from the palette."""
        raise NotImplementedError

    def search(self, text: str, order: str) -> None:
        """Search for a text from the palette."""
        raise NotImplementedError

    def action_jump(self) -> None:
        """Letters over everything that can be gone to."""
        from explorer.tui.screens.jump import JumpScreen, targets_in

        self.push_screen(JumpScreen(targets_in(self.screen)))

    def action_zoom(self) -> None:
        """The pane with the focus fills the screen, and back."""

        turn_zoom(self.screen)

    def action_change_theme(self) -> None:
        """Choose the colours."""
        from explorer.tui.screens.palette import ThemesScreen

        if self.no_color:
            self._say("NO_COLOR is set, so there are none to choose from.", error=True)
        else:
            self.push_screen(ThemesScreen(self._look, self.theme, self._keep_theme))

    def _keep_theme(self, name: str) -> None:
        self.theme = name
        self._remembered.set("theme", name)
        if self._look.is_theme_set:
            self._say("Until you quit: the settings say which colours are started with.")

    def action_settings(self) -> None:
        """All settings and keys with their values."""
        from explorer.tui.screens.palette import SettingsScreen

        self.push_screen(SettingsScreen(self._look.settings, self._look.keymap))

    def action_welcome(self) -> None:
        """The introduction once more."""
        self.turn_to_results()
        self._greet_newcomer()

    def turn_to_results(self) -> None:
        """To the results."""
        raise NotImplementedError

    def action_browse(self) -> None:
        """To the folders."""
        raise NotImplementedError

    async def on_click(self, event: events.Click) -> None:
        """A text that does something when it is clicked does it."""
        action = event.style.meta.get(PRESSED)
        if isinstance(action, str):
            widget, _ = self.screen.get_widget_at(event.screen_x, event.screen_y)
            await self.run_action(action, action_owner(widget, action))

    def on_key(self) -> None:
        """A key that does something takes the last message and the introduction away."""
        for line in self.screen.query_children(KeyLine):
            line.hush()
        if self._is_greeting:
            self.end_welcome()
