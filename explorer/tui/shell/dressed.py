"""The part of the application that is about how it looks and is steered: colours, keys, the lists
of what can be done, jumping, and the pane that fills the screen."""

from collections.abc import Sequence
from typing import ClassVar

from rich.terminal_theme import TerminalTheme
from textual import events, work
from textual.app import App
from textual.filter import LineFilter

from explorer.metadata.urn import Urn
from explorer.tui.connected import ConnectedApp
from explorer.tui.find.view import FindView
from explorer.tui.shell.keyline import KeyLine
from explorer.tui.shell.look import Look
from explorer.tui.shell.pressing import PRESSED, owner_of
from explorer.tui.shell.themes import DARK
from explorer.tui.shell.welcome import SEEN, Welcome

__all__ = ["DressedApp"]

_RECENT = 20


class DressedApp(ConnectedApp):
    """An application that looks as its reader has set it."""

    ALLOW_IN_MAXIMIZED_VIEW: ClassVar[str] = "Header, KeyLine"
    _look = Look()
    _is_greeting = False

    def dress(self, look: Look) -> None:
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
            found = self._desk.query_one(FindView).query("#found")
            if found and not self._desk.query(Welcome):
                await found.first().mount(Welcome(sample=info.sample), before=0)

    def action_help(self) -> None:
        """The keys that work here."""
        from explorer.tui.shell.help import HelpScreen
        from explorer.tui.shell.palette import doable_in, scopes_here

        here = scopes_here(self.screen)
        self.push_screen(HelpScreen(here, self._look.keymap, doable_in(self.screen)))

    def action_command_palette(self) -> None:
        """Everything that can be done, by name."""
        from explorer.tui.shell.palette import PaletteScreen, Places, doable_in

        doable = doable_in(self.screen).values()
        find = self._desk.query_one(FindView)
        places = Places(
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
        from explorer.tui.shell.jump import JumpScreen, targets_in

        self.push_screen(JumpScreen(targets_in(self.screen)))

    def action_zoom(self) -> None:
        """The pane with the focus fills the screen, and back."""
        from explorer.tui.shell.zoom import turn_zoom

        turn_zoom(self.screen)

    def action_change_theme(self) -> None:
        """Choose the colours."""
        from explorer.tui.shell.colours import ColoursScreen

        if self.no_color:
            self._say("NO_COLOR is set, so there are none to choose from.", error=True)
        else:
            self.push_screen(ColoursScreen(self._look, self.theme, self._keep_theme))

    def _keep_theme(self, name: str) -> None:
        self.theme = name
        self._remembered.set("theme", name)
        if self._look.is_theme_set:
            self._say("Until you quit: the settings say which colours are started with.")

    def action_settings(self) -> None:
        """All settings and keys with their values."""
        from explorer.tui.shell.setup import SetupScreen

        self.push_screen(SetupScreen(self._look.settings, self._look.keymap))

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
            await self.run_action(action, owner_of(widget, action))

    def on_key(self) -> None:
        """A key that does something takes the last message and the introduction away."""
        for line in self.screen.query_children(KeyLine):
            line.hush()
        if self._is_greeting:
            self.end_welcome()
