"""Searching: a typed text is completed and searched for, and results are read page by page.

A later search replaces one that still runs. Results stay visible while another search runs, and if
that search fails or its text cannot be parsed.
"""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from explorer.errors import Busy
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.search_text import SearchText
from explorer.sessions.base import Session, SessionState, action
from explorer.views.search import (
    FacetGroup,
    ResultRow,
    facet_groups,
    facet_urns,
    result_row,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Facet, Hit, Measures, SearchPage, Suggestion
    from explorer.metadata.registry import Registry
    from explorer.query import Completion

NO_NAMES: Final = "Names and descriptions cannot be read now; names are those of the URNs."

TYPING_PAUSE_SECONDS: Final = 0.03
"""The pause in typing before a text is searched for or completed."""

# The time limit for reading entities from a server that is without its database.
_OLD_PAGE_SECONDS = 3.0
_MOST_COMPLETIONS: Final = 8
_FIELDS_BESIDE_NAMES: Final = 3
_SHORTEST: Final = 2


@dataclass(frozen=True, slots=True)
class Query:
    """A search as the user states it: a text of words and conditions, an additional filter, the
    sort order, entity types, and the position of the first result. With `columns` the results are
    columns, best first.

    `chosen` holds the chosen facet values by field; if it is `None`, they are conditions in the
    text.
    """

    text: str = ""
    filter: Filter | str = ""
    sort: str = ""
    types: tuple[str, ...] = ()
    start: int = 0
    chosen: Mapping[str, tuple[str, ...]] | None = None
    columns: bool = False

    def split(self, registry: "Registry") -> SearchText:
        """Return the text split into words and conditions."""
        return SearchText.split(self.text.strip(), guide_to(registry))

    def conditions(self, registry: "Registry", beyond: str = "") -> Filter:
        """Return all conditions as a filter; for the facet `beyond` its chosen values are excluded.
        Raises `FilterSyntax` for a condition that cannot be parsed."""
        from explorer.client.search import filter_from

        question = self.split(registry)
        in_text = beyond and self.chosen is None
        conditions = question.beyond(beyond, registry) if in_text else question.filter(registry)
        criteria = (
            Criterion(name, values, negated=name == beyond)
            for name, values in (self.chosen or {}).items()
        )
        return conditions.and_(filter_from(self.filter, registry)).and_(all_of(*criteria))

    def chosen_values(self, registry: "Registry") -> Mapping[str, tuple[str, ...]]:
        """Return the chosen values of facets by field."""
        return self.split(registry).chosen_values(registry) if self.chosen is None else self.chosen

    def toggle(self, field: str, value: str, registry: "Registry") -> "Query":
        """Return the search with a facet value chosen, or no longer chosen if it was. Raises
        `FilterSyntax` for a text that cannot be parsed."""
        if self.chosen is None:
            text = self.split(registry).toggle(field, value, registry)
            return replace(self, text=text, start=0)
        before = self.chosen.get(field, ())
        after = tuple(chosen_value for chosen_value in before if chosen_value != value)
        chosen = {**self.chosen, field: after if len(after) < len(before) else (*before, value)}
        chosen = {name: values for name, values in chosen.items() if values}
        return replace(self, chosen=chosen, start=0)


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search, as far as they were read.

    `hits` holds the results by position; `unreadable`, also by position, the texts that are not
    valid URNs. `page` is the page that was read first, with the facets. `adding` holds the facets
    with chosen values, counted over the results that a further value would add. `stopped_at` is the
    position at which the server stops, if that is before the last result.
    """

    query: Query
    question: SearchText
    filter: Filter
    page: "SearchPage"
    hits: "Mapping[int, Hit]" = field(default_factory=dict)
    unreadable: Mapping[int, str] = field(default_factory=dict)
    entities: "Mapping[Urn, Entity]" = field(default_factory=dict)
    measures: "Mapping[Urn, Measures]" = field(default_factory=dict)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    adding: "Mapping[str, Facet]" = field(default_factory=dict)
    stopped_at: int | None = None

    @property
    def total(self) -> int:
        """The number of all results."""
        return self.page.total

    @property
    def count(self) -> int:
        """The number of results that can be reached."""
        return self.total if self.stopped_at is None else self.stopped_at

    @property
    def words(self) -> str:
        """The words that were searched for: those typed, or their correction."""
        return self.page.corrected or self.question.words

    @property
    def corrected(self) -> tuple[str, str] | None:
        """The typed words, which had no results, and their correction, which was searched for
        instead; None if nothing was corrected."""
        return (self.question.words, self.page.corrected) if self.page.corrected else None

    @property
    def urns(self) -> list[Urn]:
        """The URNs of the entities of the results that were read, in order."""
        return list(dict.fromkeys(self.hits[at].entity_urn for at in sorted(self.hits)))

    @property
    def names(self) -> Mapping[str, str]:
        """The names of the entities that were read, by URN."""
        return {str(urn): entity.name for urn, entity in self.entities.items()}

    @property
    def groups(self) -> tuple[FacetGroup, ...]:
        """The facets, with the chosen values marked."""
        return facet_groups(self.page.facets, self.names, self.chosen, self.adding)

    def was_read(self, place: int) -> bool:
        """Return whether the result at a position was read."""
        return place in self.hits or place in self.unreadable

    def row(self, hit: "Hit", drafts: Container[str] = ()) -> ResultRow:
        """Return the row that shows a result; `drafts` holds the URNs of entities with drafts."""
        has_draft = str(hit.urn) in drafts
        entity, measures = self.entities.get(hit.entity_urn), self.measures.get(hit.urn)
        return result_row(hit, entity, measures, has_draft=has_draft)

    def with_page(
        self, page: "SearchPage", entities: "Mapping[Urn, Entity]", size: int
    ) -> "Results":
        """Return the results with another page of `size` results."""
        hits = dict(enumerate(page.hits, page.start))
        # The server does not report the positions of these results.
        unreadable = dict(enumerate(page.unreadable, page.start + len(hits)))
        # A server may return fewer results than it counted.
        is_short = page.end < min(page.start + size, self.count)
        return replace(
            self,
            hits={**self.hits, **hits},
            unreadable={**self.unreadable, **unreadable},
            entities={**self.entities, **entities},
            stopped_at=page.end if is_short else self.stopped_at,
        )


@dataclass(frozen=True, slots=True)
class SearchState(SessionState):
    """The state of a search. `query` is the last query; `results` are the results shown, which
    belong to an earlier query while a search runs, if the query has a `fault`, and if the search
    failed (the error is then the message). `results_held_back` is an empty result that does not
    replace the shown ones while the user types."""

    query: Query = field(default_factory=Query)
    results: Results | None = None
    results_held_back: Results | None = None
    is_searching: bool = False
    fault: FilterSyntax | None = None


@dataclass(frozen=True, slots=True)
class SearchCompletion:
    """A completion: the resulting `text` of the search box, and the position of the cursor.

    If `urn` is set, the entity can also be opened. `asks` is true for a whole search, which runs
    when accepted; `closes` if no further completion follows.
    """

    label: str
    detail: str
    text: str
    cursor: int
    urn: Urn | None = None
    asks: bool = False
    closes: bool = False


async def find(catalog: "AsyncCatalog", query: Query, start: int, count: int) -> "SearchPage":
    """Return a page of search results. One request; a second if a word is corrected.

    Raises `FilterSyntax` for a condition that cannot be parsed.
    """
    return await catalog.search(
        query.split(catalog.registry).words or "*",
        entity=query.types,
        filter=query.conditions(catalog.registry),
        sort=query.sort,
        start=start,
        count=count,
        columns=query.columns,
    )


async def read_entities(
    catalog: "AsyncCatalog", page: "SearchPage", more: Iterable[Urn] = ()
) -> "dict[Urn, Entity] | None":
    """Return the entities of a page (for columns their tables), and those in `more`, by URN. One
    request for each hundred.

    A server without its database still answers searches, but may be unable to read entities; the
    result is then `None`.
    """
    urns = list(dict.fromkeys((*(hit.entity_urn for hit in page), *more)))
    if page.as_of is None:
        return await catalog.summaries(urns)
    try:
        async with asyncio.timeout(_OLD_PAGE_SECONDS):
            return await catalog.summaries(urns)
    except (Busy, TimeoutError):
        return None


class SearchSession(Session[SearchState]):
    """Searches a catalog. A page has `size` results, and a facet shows `values` values."""

    def __init__(self, catalog: "AsyncCatalog", *, size: int, values: int) -> None:
        self.size, self._values = size, values
        self._search_task: asyncio.Task[object] | None = None
        super().__init__(catalog, SearchState())

    @action("Search", in_turn=False, supersedes={"search"})
    async def search(
        self, query: Query, *, is_typed: bool = False, cursor: int | None = None
    ) -> None:
        """Run a search. One request, one more for each facet with chosen values, and one for each
        hundred entities among the results and facets.

        With `is_typed` the search waits for a pause in typing. While a condition is being typed, at
        the position `cursor` of the text, an empty answer does not replace the results.
        """
        task = self._search_task = asyncio.current_task()
        self.replace(query=query, is_searching=True, results_held_back=None, message=None)
        try:
            if is_typed:
                await asyncio.sleep(TYPING_PAUSE_SECONDS)
            results = await self._read(query)
            is_within = cursor is not None and results.question.run_at(cursor) is not None
            is_held = is_within and not results.total and self.state.results is not None
            self.replace(
                is_searching=False, **{"results_held_back" if is_held else "results": results}
            )
        except FilterSyntax as fault:
            self.replace(fault=fault, is_searching=False)
            raise
        finally:
            if self._search_task is task and self.state.is_searching:
                self.replace(is_searching=False)

    def show_held_back(self) -> None:
        """Show the results that were held back."""
        self.replace(
            results=self.state.results_held_back or self.state.results, results_held_back=None
        )

    async def _read(self, query: Query) -> Results:
        catalog, registry = self.catalog, self.catalog.registry
        question, conditions = query.split(registry), query.conditions(registry)
        self.replace(fault=None)
        page = await find(catalog, query, query.start, self.size)
        chosen = query.chosen_values(registry)
        adding = await self._read_further_facets(query, chosen)
        named = facet_urns((*page.facets, *adding.values()), self._values)
        entities = await self._read_entities(page, named)
        results = Results(
            query,
            question,
            conditions,
            page,
            chosen=chosen,
            adding=adding,
        )
        return results.with_page(page, entities, 0)

    async def _read_further_facets(
        self, query: Query, chosen: Mapping[str, Sequence[str]]
    ) -> "dict[str, Facet]":
        registry = self.catalog.registry
        words = query.split(registry).words or "*"

        async def read_facets(field: str) -> "tuple[Facet, ...]":
            beyond = query.conditions(registry, field)
            return await self.catalog.facets(
                words, entity=query.types, filter=beyond, names=(field,)
            )

        # Columns have no facets.
        facets_by_field = await asyncio.gather(*map(read_facets, () if query.columns else chosen))
        return {facet.name: facet for facets in facets_by_field for facet in facets}

    async def _read_entities(
        self, page: "SearchPage", more: Iterable[Urn] = ()
    ) -> "dict[Urn, Entity]":
        entities = await read_entities(self.catalog, page, more)
        if entities is None:
            self.say(NO_NAMES)
        return entities or {}

    @action("Read a further page of the results", in_turn=False, supersedes={"read_page"})
    async def read_page(self, start: int) -> None:
        """Add the page of results that begins at a position, unless another search has replaced the
        results meanwhile. Two requests."""
        before = self.state.results
        if before is None:
            return
        page = await find(self.catalog, before.query, start, self.size)
        entities = await self._read_entities(page)
        results = self.state.results
        if results is not None and results.page is before.page:
            self.replace(results=results.with_page(page, entities, self.size))

    @action(
        "Read rows, use and last change of the results", in_turn=False, supersedes={"read_measures"}
    )
    async def read_measures(self) -> None:
        """Add the row count, use and last change of the datasets among the results. One request for
        each 25."""
        before = self.state.results
        if before is None:
            return
        measures = await self.catalog.measures(before.urns)
        results = self.state.results
        if results is not None and results.page is before.page:
            self.replace(results=replace(results, measures=measures))

    async def refresh(self, urns: Iterable[Urn]) -> None:
        """Read again those of the given entities that are among the results."""
        results = self.state.results
        changed = [urn for urn in urns if results is not None and urn in results.entities]
        if not changed:
            return
        entities = await self.catalog.summaries(changed)
        results = self.state.results
        if results is not None:
            self.replace(results=replace(results, entities={**results.entities, **entities}))

    @action("Complete what is typed", in_turn=False, supersedes={"complete"})
    async def complete(self, text: str, cursor: int) -> tuple[SearchCompletion, ...]:
        """Return the completions at a cursor position, after a pause in typing: names and fields
        among words, or in a filter the values that the server counts. At most two requests."""
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        question = SearchText.split(text, guide_to(self.catalog.registry))
        completions = await _completions_for(question, cursor, self.catalog)
        return tuple(
            completion for completion in completions if completion.urn or completion.text != text
        )


async def _completions_for(
    question: SearchText, cursor: int, catalog: "AsyncCatalog"
) -> list[SearchCompletion]:
    text = question.text
    words = question.words_at(cursor)
    if words is not None:
        return await _for_words(question, words, cursor, catalog)
    start = question.run_at(cursor)
    if start is None:
        return []
    completions = await catalog.complete_filter(text[start:], cursor - start)
    return [_complete(completion, text, start) for completion in completions[:_MOST_COMPLETIONS]]


async def _for_words(
    question: SearchText, place: tuple[int, int], cursor: int, catalog: "AsyncCatalog"
) -> list[SearchCompletion]:
    text = question.text
    start, end = place
    typed = text[start:cursor]
    last = typed.split()[-1] if typed.split() else ""
    if len(typed.strip()) < _SHORTEST:
        return []
    names = [
        _complete_name(suggestion, text, start, end)
        for suggestion in await catalog.suggest(typed, limit=_MOST_COMPLETIONS)
        if suggestion.text.casefold() != typed.casefold() or suggestion.urn is not None
    ]
    at = cursor - len(last)
    fields = [
        _complete(completion, text, at)
        for completion in await catalog.complete_filter(last, len(last))
        if completion.kind == "field" and completion.label.casefold().startswith(last.casefold())
    ][:_FIELDS_BESIDE_NAMES]
    return [*names[: _MOST_COMPLETIONS - len(fields)], *fields]


def _complete_name(suggestion: "Suggestion", text: str, start: int, end: int) -> SearchCompletion:
    parts = (singular(suggestion.entity_type), suggestion.platform, _folder_of(suggestion.urn))
    return SearchCompletion(
        suggestion.text,
        " · ".join(part for part in parts if part),
        f"{text[:start]}{suggestion.text}{text[end:]}",
        start + len(suggestion.text),
        suggestion.urn,
        closes=True,
    )


def _folder_of(urn: Urn | None) -> str:
    """Return what distinguishes entities with the same name: the folders in a dataset's name."""
    return urn.parts[1].rpartition(".")[0] if urn and len(urn.parts) == 3 else ""


def _complete(completion: "Completion", text: str, start: int) -> SearchCompletion:
    first, end = start + completion.start, start + completion.end
    count = "" if completion.count is None else f"{completion.count:,}"
    detail = " · ".join(part for part in (completion.hint, count) if part)
    label = f"{completion.label}:" if completion.kind == "field" else completion.label
    completed_text = f"{text[:first]}{completion.text}{text[end:]}"
    return SearchCompletion(
        label, detail or completion.kind, completed_text, first + len(completion.text)
    )
