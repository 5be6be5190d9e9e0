"""Saved searches, which have names, and recent searches: they are listed, renamed and removed."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.client.display import in_quotes
from explorer.config.searches import SavedSearch, SearchFile, SearchStore
from explorer.errors import InvalidInput, StorageFault
from explorer.sessions.base import action
from explorer.sessions.listing import ListSession, ListState
from explorer.sessions.search import SearchCompletion

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

NOTHING_TO_SAVE: Final = "Nothing to save: type a search first."
NO_NAME: Final = "Only a saved search has a name."
_MOST_COMPLETIONS: Final = 8


@dataclass(frozen=True, slots=True)
class ListedSearch:
    """A search saved under a `name`, or a recent search, whose name is empty."""

    text: str
    name: str = ""
    sort: str = ""


class SavedSearchSession(ListSession[ListState[ListedSearch]]):
    """The saved searches by name, then the recent ones, latest first. They are stored on this
    machine under `server`, by default the address of the catalog."""

    READING = "reading the searches …"
    NONE = "No saved searches yet."

    def __init__(self, catalog: "AsyncCatalog", server: str = "") -> None:
        self._server = server or catalog.address
        super().__init__(catalog, ListState())

    async def read_rows(self) -> None:
        """Read the searches. Raises `Unusable` for a file that cannot be read."""
        await self._do(SearchStore.read)

    def key_of(self, row: ListedSearch) -> tuple[str, str]:
        """Return a key that identifies a row in the list."""
        return row.name, row.text

    def recent(self) -> tuple[SearchCompletion, ...]:
        """Return the recent searches as completions of an empty text, latest first."""
        texts = [search.text for search in self.state.rows if not search.name]
        return tuple(
            SearchCompletion(text, "recent search", text, len(text), asks=True)
            for text in texts[:_MOST_COMPLETIONS]
        )

    async def remember(self, text: str) -> None:
        """Add a text to the recent searches. A failure to write them is ignored, because the search
        itself succeeded."""
        if text:
            with suppress(StorageFault):
                await self._do(lambda store: store.add_recent(text))

    @action("Save the search under a name")
    async def save(self, name: str, text: str, sort: str = "") -> None:
        """Save a search under a name."""
        if not text:
            raise InvalidInput(NOTHING_TO_SAVE)
        await self._do(lambda store: store.save(SavedSearch(name, text, sort)))
        self.say(f"Saved as {in_quotes(name, 60)}.")

    @action("Rename the saved search")
    async def rename(self, search: ListedSearch, new: str) -> None:
        """Rename a saved search, and select it."""
        self._key = (new, search.text)
        await self._do(lambda store: store.rename(search.name, new))

    @action("Forget the search")
    async def forget(self, search: ListedSearch) -> None:
        """Remove a saved or a recent search."""
        recent = "" if search.name else search.text
        await self._do(lambda store: store.forget(name=search.name, recent=recent))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        current = self.state.current
        if name in ("rename", "forget") and current is None:
            return self.state.instead
        return NO_NAME if name == "rename" and current is not None and not current.name else ""

    async def _do(self, do: Callable[[SearchStore], SearchFile]) -> None:
        """Run a function that reads or changes the file, and list the searches in the result."""
        file = await asyncio.to_thread(lambda: do(SearchStore.of(self._server)))
        saved = (ListedSearch(search.text, search.name, search.sort) for search in file.saved)
        rows = (*saved, *map(ListedSearch, file.recent))
        self.put(rows, rows=rows)
