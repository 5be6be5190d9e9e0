"""What search, completion and browsing give."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from explorer.metadata.urn import Urn

__all__ = [
    "BrowsePage",
    "Facet",
    "FacetValue",
    "Folder",
    "Hit",
    "Match",
    "Named",
    "SearchPage",
    "Suggestion",
]


@dataclass(frozen=True, slots=True)
class Match:
    """A field that made an entity match, and the value that did; how much the field weighs, where
    the server says."""

    field: str
    value: str
    weight: float | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """One entity found. `reason` says why it is where it is, `use` how much of the score comes
    from its use, where the server tells."""

    urn: Urn
    matched: tuple[Match, ...] = ()
    score: float | None = None
    reason: str = dataclasses.field(default="", compare=False)
    use: float = dataclasses.field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet and how many entities of the whole result have it."""

    value: str
    count: int

    @property
    def label(self) -> str:
        """The value as people say it: the name of a URN, anything else as it is."""
        return Urn.label(self.value)


@dataclass(frozen=True, slots=True)
class Facet:
    """A field by which a result can be narrowed, its values most frequent first; `has_more` says
    that there are others, which the server does not give."""

    name: str
    label: str
    values: tuple[FacetValue, ...]
    has_more: bool = False

    @property
    def size(self) -> str:
        """How many values there are, `7`, or at least, `100+`."""
        return f"{len(self.values):,}{'+' if self.has_more else ''}"

    def beside(self, chosen: Sequence[str], adding: "Facet") -> "Facet":
        """The facet where some values are chosen already: these first, then what another one would
        add, which `adding` counted over all that the chosen ones leave out."""
        taken = [one for one in self.values if one.value in chosen]
        return replace(self, values=(*taken, *adding.values), has_more=adding.has_more)


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of a search, best first. `total` counts the whole result, `len()` what is shown.

    `unreadable` holds what the server gave as a hit and is no URN; it counts where a page ends.
    `as_of` says when the answer was given, where it is one that was kept; nothing for a fresh one.
    `corrected` is the text that was searched for instead, where a word of `text` is one that
    nothing has; `suggested` one that the server proposes and did not search for.
    """

    text: str
    start: int
    total: int
    hits: tuple[Hit, ...] = ()
    facets: tuple[Facet, ...] = ()
    unreadable: tuple[str, ...] = ()
    as_of: datetime | None = None
    corrected: str | None = None
    suggested: str | None = None

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def shown(self) -> int:
        """How many hits are on this page."""
        return len(self.hits)

    @property
    def end(self) -> int:
        """Where the page after this one starts."""
        return self.start + len(self.hits) + len(self.unreadable)

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.end < self.total


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below a browse path; `count` entities lie in or below it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Named:
    """An entity in a folder."""

    urn: Urn
    name: str


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """A page of a folder: the folders below it first, then the entities in it.

    `here` counts the entities in the folder itself, `total` those in and below it, `entries` the
    folders and entities that its pages hold together, `len()` those on this one. `repeating` says
    that the server, an older one, gives all folders on each page and counts `start` in entities.
    `unreadable` and `as_of` are as in `SearchPage`.
    """

    path: str
    start: int
    here: int
    total: int
    entries: int
    folders: tuple[Folder, ...] = ()
    entities: tuple[Named, ...] = ()
    repeating: bool = False
    unreadable: tuple[str, ...] = ()
    as_of: datetime | None = None

    def __len__(self) -> int:
        return len(self.folders) + len(self.entities)

    def __iter__(self) -> Iterator[Folder | Named]:
        yield from self.folders
        yield from self.entities

    @property
    def shown(self) -> int:
        """How many folders and entities are on this page."""
        return len(self)

    @property
    def end(self) -> int:
        """Where the page after this one starts."""
        entities = len(self.entities) + len(self.unreadable)
        return self.start + entities + (0 if self.repeating else len(self.folders))

    @property
    def truncated(self) -> bool:
        """Whether there is more after this page."""
        return self.end < (self.here if self.repeating else self.entries)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A name that completes what was typed, and what is called so, where the server says."""

    text: str
    urn: Urn | None
    entity_type: str
    platform: str | None = None
