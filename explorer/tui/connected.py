"""The part of the application that is about the catalog it asks: contact, what is remembered, and
the ways out of the program for what is shown."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import work
from textual.app import App
from textual.screen import Screen
from textual.worker import get_current_worker

from explorer.metadata.urn import Urn
from explorer.tui.exchanges import Exchanges
from explorer.tui.session import Session
from explorer.tui.shell.header import Header
from explorer.tui.shell.keyline import READ_ONLY
from explorer.tui.shell.remembering import Place, Remembered
from explorer.tui.shell.themes import is_without_colour
from explorer.tui.visited import History
from explorer.tui.watching import Changes, Watch

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.tui.opening import Opening
    from explorer.tui.shell.clipboard import Way

__all__ = ["ConnectedApp"]


class ConnectedApp(App[None]):
    """An application over one catalog at a time, that `make` gives a client for; `server` is what
    tells that one from others."""

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        *,
        server: str = "",
        remembered: Remembered | None = None,
        exchanges: Exchanges | None = None,
    ) -> None:
        # With colours the theme says which; without, nothing may be mixed of any.
        super().__init__(ansi_color=True if is_without_colour() else None)
        self._remembered = remembered or Remembered()
        self._session = Session(make, self._say, self._heard, server=server, exchanges=exchanges)
        self._history = self._history_of(server)
        self._offers_again = False
        self._watch = Watch(self._session, self._others_changed, self._missed_changes)
        self.clipboard_way: Way = "auto"

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
            self._session.server, Place(visited, None if here is None else str(here))
        )

    def _history_of(self, server: str) -> History:
        place = self._remembered.place(server)
        last = Urn.parse_all([place.last] if place.last else [])
        return History(Urn.parse_all(place.visited), next(iter(last), None))

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
        from explorer.tui.shell.clipboard import copy

        self._clipboard = text
        with self._session.reporting("copying"):
            how = await copy(text, self.clipboard_way, super().copy_to_clipboard)
            self._say(how)

    def action_servers(self) -> None:
        """Choose another server."""
        if self.screen is not self._desk:
            self._say("Close what is open first; what was typed is kept.", error=True)
            return
        from explorer.tui.shell.servers import ServersScreen

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
        from explorer.tui.shell.logscreen import LogScreen

        self.push_screen(LogScreen(self._session))

    def action_export(self) -> None:
        """Write what is shown to a file."""
        from explorer.tui.shell.exporting import ExportScreen, table_here

        table = table_here(self.screen)
        if table is None:
            self._say("There is no list here that could be written to a file.", error=True)
        else:
            self.push_screen(ExportScreen(self._session, table))

    def action_picture(self) -> None:
        """Write the screen as a picture."""
        from explorer.tui.shell.exporting import PictureScreen

        picture = self.export_screenshot(title="catalog")
        self.push_screen(PictureScreen(self._session, picture))
