"""What the reader keeps of searches: names, a list, the latest ones."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget

from explorer.client.display import in_quotes
from explorer.tui.find.searches import Kept, Saved, Searches
from explorer.tui.session import Session

__all__ = ["Keeper"]


class Keeper:
    """Keeps the searches of the server that the session is at. Files are read and written in a
    thread."""

    def __init__(self, view: Widget, session: Session, run: Callable[[str, str], None]) -> None:
        self._view = view
        self._run = run
        self._session = session

    async def read(self) -> Kept:
        """What is kept. Raises `Unusable`."""
        searches = await self._searches()
        return await asyncio.to_thread(searches.read)

    def remember(self, text: str) -> None:
        """Remember a search that somebody went on from."""
        if text:
            self._do("keeping the search", lambda searches: searches.asked(text))

    def save(self, text: str, order: str) -> None:
        """Ask for a name, and keep a search under it."""
        from explorer.tui.find.ask import AskScreen

        if not text:
            self._session.say("Type a search first: there is nothing to save.", error=True)
            return

        def keep(name: str | None) -> None:
            if name:
                search = Saved(name, text, order)
                self._do(
                    "saving the search",
                    lambda searches: searches.save(search),
                    f"Saved as {in_quotes(name, 60)}; S lists what is saved.",
                )

        self._view.app.push_screen(AskScreen("Save this search as", "a name", text), keep)

    def show(self) -> None:
        """List what is kept."""
        self._view.run_worker(self._show(), group="keeping")

    async def _searches(self) -> Searches:
        catalog = await self._session.catalog()
        return Searches.of(self._session.server or catalog.address)

    async def _show(self) -> None:
        from explorer.tui.find.lists import SearchesScreen

        with self._session.reporting("reading the searches"):
            kept = await self.read()
            if not (kept.saved or kept.recent):
                self._session.say("No searches are saved yet: s in the results saves one.")
                return
            self._view.app.push_screen(SearchesScreen(kept, self._run, self._rename, self._forget))

    def _rename(self, name: str) -> None:
        from explorer.tui.find.ask import AskScreen

        def rename(new: str | None) -> None:
            if new and new != name:
                self._do("renaming the search", lambda one: one.rename(name, new), then=self.show)

        self._view.app.push_screen(AskScreen("Rename", "a name", name), rename)

    def _forget(self, name: str, recent: str) -> None:
        self._do(
            "forgetting the search",
            lambda one: one.forget(name=name, recent=recent),
            then=self.show,
        )

    def _do(
        self,
        doing: str,
        change: Callable[[Searches], Kept],
        said: str = "",
        then: Callable[[], None] | None = None,
    ) -> None:
        self._view.run_worker(self._changed(doing, change, said, then), group="keeping")

    async def _changed(
        self,
        doing: str,
        change: Callable[[Searches], Kept],
        said: str,
        then: Callable[[], None] | None,
    ) -> None:
        with self._session.reporting(doing):
            searches = await self._searches()
            await asyncio.to_thread(change, searches)
            if said:
                self._session.say(said)
            if then is not None:
                then()
