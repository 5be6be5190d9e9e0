"""The saved and the recent searches of each catalog."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from explorer.config.catalogs import state_name
from explorer.config.files import lock_file, read_private, state_dir, write_private
from explorer.errors import InvalidFile, StorageFault, Unusable

_RECENT: Final = 30
_NAMED: Final = 500


class SavedSearch(msgspec.Struct, frozen=True):
    """A search saved under a name."""

    name: str
    text: str
    sort: str = msgspec.field(default="", name="order")


class SearchFile(msgspec.Struct, frozen=True):
    """The saved searches by name, and the recent ones, latest first."""

    saved: tuple[SavedSearch, ...] = ()
    recent: tuple[str, ...] = ()


_SearchChange = Callable[[SearchFile], SearchFile]


@dataclass(frozen=True, slots=True)
class SearchStore:
    """The searches of one catalog. Every change reads the file again under a lock, so that two
    programs do not lose each other's changes. Reading and writing block: call from a thread."""

    path: Path

    @classmethod
    def of(cls, address: str) -> "SearchStore":
        """Return the store for the catalog at an address. Blocks."""
        return cls(state_dir() / "searches" / f"{state_name(address)}.json")

    def read(self) -> SearchFile:
        """Return the stored searches. Raises `Unusable` for a file that cannot be read."""
        text = read_private(self.path, secret=False)
        if text is None:
            return SearchFile()
        try:
            return msgspec.json.decode(text, type=SearchFile)
        except msgspec.DecodeError as error:
            raise InvalidFile(
                f"{self.path} holds the saved searches and cannot be read; repair or move it"
            ) from error

    def save(self, search: SavedSearch) -> SearchFile:
        """Save a search under its name, replacing an existing search of that name."""

        def change(file: SearchFile) -> SearchFile:
            searches = [
                saved_search for saved_search in file.saved if saved_search.name != search.name
            ]
            return SearchFile((*searches, search)[-_NAMED:], file.recent)

        return self._change(change)

    def rename(self, name: str, new: str) -> SearchFile:
        """Rename a saved search, replacing an existing search of the new name."""

        def change(file: SearchFile) -> SearchFile:
            searches = [
                search for search in file.saved if search.name != new or search.name == name
            ]
            return SearchFile(
                tuple(
                    msgspec.structs.replace(search, name=new) if search.name == name else search
                    for search in searches
                ),
                file.recent,
            )

        return self._change(change)

    def forget(self, *, name: str = "", recent: str = "") -> SearchFile:
        """Remove a saved search by its name, or a recent one by its text."""

        def change(file: SearchFile) -> SearchFile:
            return SearchFile(
                tuple(search for search in file.saved if not name or search.name != name),
                tuple(
                    recent_text
                    for recent_text in file.recent
                    if not recent or recent_text != recent
                ),
            )

        return self._change(change)

    def add_recent(self, text: str) -> SearchFile:
        """Add a search to the recent ones, as the latest."""

        def change(file: SearchFile) -> SearchFile:
            recent_texts = (recent_text for recent_text in file.recent if recent_text != text)
            return SearchFile(file.saved, (text, *recent_texts)[:_RECENT])

        return self._change(change)

    def _change(self, change: _SearchChange) -> SearchFile:
        try:
            with lock_file(self.path):
                file = change(self.read())
                write_private(self.path, msgspec.json.encode(file).decode())
        except Unusable as error:
            if self.path.exists() and isinstance(error.__cause__, msgspec.DecodeError):
                raise
            raise StorageFault(
                f"the search cannot be saved in {self.path.parent}; "
                "choose another directory with CATALOG_STATE_DIR"
            ) from error
        return file
