"""What stands in the folders, and where it is read from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from explorer.metadata.names import natural_key
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Entry", "Kept", "Portion", "Source", "named_like", "naturally"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: a type, a folder or an entity. `below` is where to read what it holds, None for
    what holds nothing; `count` is how many entities lie in it, None where nobody said; `aside`
    tells it from others of its name."""

    name: str
    urn: Urn | None = None
    count: int | None = None
    below: "Source | None" = None
    heading: bool = False
    aside: str = ""

    @property
    def key(self) -> object:
        """What tells it from every other of its folder."""
        return self.name if self.urn is None else self.urn


@dataclass(frozen=True, slots=True)
class Portion:
    """A page of a folder. `total` counts the entries that its pages hold together, without those
    of `head`, which come before them and are given with the first page only. `instead` is where
    to read on from, once that is known better; `note` is what is to be said after the last."""

    entries: tuple[Entry, ...]
    total: int
    head: tuple[Entry, ...] = ()
    instead: "Source | None" = None
    note: str = ""


class Source(Protocol):
    """Where the entries of a folder are read."""

    @property
    def by_name(self) -> bool:
        """Whether entities come in the order of their names, whatever the page."""
        ...

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """The entries from `start` on, at most `count`."""
        ...

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> "Source":
        """The same folder, only what has a text in its name; `known` are entries at hand."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Entries that are all at hand: nothing is asked."""

    entries: tuple[Entry, ...]
    by_name: bool = False

    async def read(self, catalog: "AsyncCatalog", start: int, count: int) -> Portion:
        """A piece of them."""
        del catalog
        return Portion(self.entries[start : start + count], len(self.entries))

    def narrowed(self, text: str, known: tuple[Entry, ...]) -> "Source":
        """Those that have the text in their name."""
        del known
        return Kept(tuple(one for one in self.entries if named_like(one, text)))


def named_like(entry: Entry, text: str) -> bool:
    """Whether a text is part of a name, whatever the case."""
    return text.casefold() in entry.name.casefold()


def naturally(name: str) -> tuple[str, str]:
    """A key that puts s2 before s10, and names alike but for their case in one order."""
    return natural_key(name), name
