"""What is asked of the search and what it answers."""

from dataclasses import dataclass

from explorer.query.filters import Filter

__all__ = ["Facet", "SearchHit", "SearchPage", "SearchQuery", "SortBy", "Suggestion"]


@dataclass(frozen=True, slots=True)
class SortBy:
    """A searchable field to sort by; `name` is the name an entity is shown by. Of several values
    the least one counts, and entities without any come last."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search: `text` in the query language of `explorer.server.search.parser`, `entity_types`
    None for all, and the entries from `start` on, `count` at most. Removed entities are left out
    unless asked for, or asked about by a filter on `removed`.

    `also_counted` are fields of structured properties that are counted as facets even where their
    settings do not show them as such.

    With `sort` the entries are in the order of these fields, then of their URNs, instead of best
    first. `after` is the `last` of a page of the same search: the entries that follow it.
    """

    text: str
    entity_types: tuple[str, ...] | None
    filter: Filter
    start: int
    count: int
    facets: bool = True
    include_removed: bool = False
    sort: tuple[SortBy, ...] = ()
    after: str | None = None
    also_counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An entity found. `score` is higher for what fits better and says nothing across queries;
    `matched` are fields with values that have what was asked for, heavier fields first, `weights`
    what each weighs. `reason` says in words why it is where it is among what was found by words;
    `use` is the part of the score that comes from how much it is used, below 1."""

    urn: str
    score: float
    matched: tuple[tuple[str, str], ...]
    weights: tuple[float, ...] = ()
    reason: str = ""
    use: float = 0.0


@dataclass(frozen=True, slots=True)
class Facet:
    """How many entities of the whole result have each value of a field: most frequent first, then
    by value, 100 at most; `has_more` says that there are others."""

    name: str
    label: str
    counts: dict[str, int]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The entities asked for, in order, of `total` in all; facets that any entity has.

    `corrected` is the text that was searched for in the place of one with a word that nothing has.
    `last` is the place of the last one in a sorted search, to be named as `after` for the next
    page. It stays good while entities come and go: what is there throughout is met exactly once.
    """

    total: int
    hits: tuple[SearchHit, ...]
    facets: tuple[Facet, ...]
    last: str | None = None
    corrected: str | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A name that begins as typed, and an entity called so."""

    text: str
    urn: str
