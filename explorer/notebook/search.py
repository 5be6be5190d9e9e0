"""Search results and folders that render themselves."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.client.entity import Entity
from explorer.client.records import BrowsePage, Facet, FacetValue, Hit, Measures, SearchPage
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.browse_paths import below_path
from explorer.metadata.names import plural
from explorer.metadata.urn import Urn
from explorer.notebook.entity import (
    EntityCatalog,
    EntityPage,
    EntityReader,
    Waiting,
    names_of_existing,
)
from explorer.notebook.view import (
    MOST_ROWS,
    Shown,
    ShownTable,
    table_parts,
    values_of,
)
from explorer.query.filters import Filter
from explorer.query.search_text import condition_fault
from explorer.sessions.search import NO_NAMES, read_entities
from explorer.views.chart import compact
from explorer.views.parts import Cell, Facts, Fold, Grid, Part, Say, Title
from explorer.views.search import (
    FacetGroup,
    ResultRow,
    facet_groups,
    facet_urns,
    facet_value_label,
    folder_table,
    loosened_label,
    result_row,
    result_rows,
    search_table,
    tables_label,
)
from explorer.views.table import Table, TableColumn, attributes, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.query import Order


@dataclass(frozen=True, slots=True, repr=False)
class BrowsedFolder(ShownTable, BrowsePage):
    """A page of a folder: the folders below it, then the entities in it.

    `folder["name"]` opens the entry of that name on this page: a `BrowsedFolder` or an
    `EntityPage`.
    """

    entity_type: str = "dataset"
    catalog: "SearchCatalog" = field(compare=False, kw_only=True)

    def __getitem__(self, name: str) -> "BrowsedFolder | EntityPage":
        """Return a folder or an entity of this page. One request for a folder, two for an entity.
        Raises `NotFound` if there is none with that name."""
        for folder in self.folders:
            if name in (folder.name, folder.title):
                path = below_path(self.path, folder.name)
                return self.catalog.browse(path, entity=self.entity_type)
        for entity in self.entities:
            if name in (entity.name, str(entity.urn)):
                return self.catalog.entity(entity.urn)
        more = "; there are more; next() reads them" if self.truncated else ""
        raise NotFound(f"{line(self.path)} has no entry named {line(name, 100)!r} here{more}")

    def next(self) -> "BrowsedFolder":
        """Return the next page; after the last an empty one without a request. One request."""
        if not self.truncated:
            return _make_folder(
                BrowsePage(self.path, self.end, self.direct_count, self.total, self.entry_count),
                self.entity_type,
                self.catalog,
            )
        return self.catalog.browse(self.path, entity=self.entity_type, start=self.end)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each folder and entity of this page. No request.

        name, kind   string   kind is folder, or the entity's type
        count        Int64    entities in or below a folder
        urn, path    string   the URN of an entity, the path of a folder
        """
        table = replace(folder_table(self), total=self._entry_total)
        if table.shortfall:
            table = replace(table, incomplete=f"{table.shortfall}; .next() reads on")
        return to_frame(table)

    @property
    def _entry_total(self) -> int:
        if self.repeats_folders:
            return self.direct_count + len(self.folders)
        return self.entry_count

    def parts(self) -> Iterator[Part]:
        after = f"{self.total:,} {plural(self.entity_type)} in and below it"
        if self.start:
            after += f", after the first {self.start:,}"
        yield Title(self.path or "/", after if self.total else "nothing here")
        yield from table_parts(folder_table(self))
        if self.truncated:
            yield Say("there are more; .next() reads them")

    def _ipython_key_completions_(self) -> list[str]:
        names = (
            *(folder.title for folder in self.folders),
            *(entity.name for entity in self.entities),
        )
        return [name for name in dict.fromkeys(names) if name == line(name)]


def _make_folder(page: BrowsePage, entity_type: str, catalog: "SearchCatalog") -> BrowsedFolder:
    """Return the page with its path and catalog."""
    return BrowsedFolder(**values_of(page), entity_type=entity_type, catalog=catalog)


EDITED = "✎"
"""The mark before an edited text that replaces the ingested one."""

_MOST_VALUES = 6
_HEADERS = (*("name", "type", "platform", "rows", "queries", "changed", "description", "matched"),)
_NUMBERS = frozenset(("rows", "queries", "changed", "score", "score from use"))
_MOST_MATCHED = 2
# Generated names mean nothing to a reader.
_OPAQUE = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_FACETS = (
    *attributes("facet", "label", "value", "name"),
    TableColumn("count", dtype="int64"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """The search that returned a page of results, and its catalog."""

    catalog: "SearchCatalog"
    entity: str | Sequence[str] | None = None
    filter: "Filter | str | None" = None
    sort: "str | Sequence[Order] | None" = None
    count: int = 20
    measures: bool = True
    columns: bool = False

    @property
    def words(self) -> str:
        """Return the types and the filter of the search, as typed; empty for none."""
        types = (self.entity,) if isinstance(self.entity, str) else tuple(self.entity or ())
        typed = self.filter if isinstance(self.filter, str) else ""
        condition = typed or ("a filter" if self.filter else "")
        kinds = ", ".join(types) or ("columns" if self.columns else "")
        return " · ".join(part for part in (kinds, condition) if part)


@dataclass(frozen=True, slots=True, repr=False)
class ShownHit(Shown, Hit, Mapping[str, Any]):
    """A result with the values of its row: `found["name"]`, by the columns of the DataFrame."""

    entity: Entity | None = field(default=None, compare=False)
    measures: Measures | None = field(default=None, compare=False)
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self._row()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row())

    def __len__(self) -> int:
        return len(self._row())

    def _row(self) -> dict[str, Any]:
        entities = {} if self.entity is None else {self.entity_urn: self.entity}
        measures = {} if self.measures is None else {self.urn: self.measures}
        table = search_table((self,), entities, measures, names=self.names)
        columns = [(at, column) for at, column in enumerate(table.columns)]
        return {
            column.name: table.rows[0][at] for at, column in columns if column.audience != "index"
        }

    def parts(self) -> Iterator[Part]:
        row = self._row()
        kinds = [row["type"], row["platform"]]
        yield Title(row["name"], " · ".join(kind for kind in kinds if kind))
        facts = {name: value for name, value in row.items() if name not in ("name", "edited")}
        texts = {
            name: ", ".join(value) if isinstance(value, list) else str(value)
            for name, value in facts.items()
            if value is not None and value != []
        }
        yield Facts([(name, Cell(text)) for name, text in texts.items()])


@dataclass(frozen=True, slots=True, repr=False)
class SearchResults(ShownTable, SearchPage):
    """A page of search results, best first: iterates over the hits; `total` is the number of all
    results. `pd.DataFrame(results)` has the columns of `results.df`.

    `summaries` has the aspects read for each hit, by URN, and `measures` its number of rows, use
    and last change; `facets` counts all results by the values of fields, and `names` has the names
    of URNs among these values, and of owners and tags. `results[0]` or `results["name"]` reads a
    hit as an `EntityPage`.
    """

    summaries: Mapping[Urn, Entity] = field(default_factory=dict)
    measures: Mapping[Urn, Measures] = field(default_factory=dict, compare=False)
    question: Question | None = field(default=None, compare=False)
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __iter__(self) -> Iterator[ShownHit]:
        for hit in self.hits:
            entity, measures = self.summaries.get(hit.entity_urn), self.measures.get(hit.urn)
            yield ShownHit(**values_of(hit), entity=entity, measures=measures, names=self.names)

    @property
    def urns(self) -> tuple[Urn, ...]:
        """Return the URNs of the hits, in order."""
        return tuple(hit.urn for hit in self.hits)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each hit on this page; see `explorer.views.search.search_table`."""
        table = search_table(
            self, self.summaries, self.measures, start=self.start, names=self.names
        )
        return to_frame(replace(table, title=self._title(), **self._cut(len(self))))

    def _cut(self, count: int) -> dict[str, Any]:
        """Return the attributes of a table of `count` results: the number of all, and how to read
        the others."""
        if count >= self.total:
            return {}
        numbers = f"{count:,} of {self.total:,} results"
        hint = "; .next() reads on, .all() reads every one"
        return {"total": self.total, "incomplete": numbers + hint, "total_of": "results"}

    def facets_to_frame(self, name: str | None = None) -> "pd.DataFrame":
        """Return a row for each value of each facet, or of one facet, most frequent first. No
        request.

        facet, label   string   the field to filter by, and its display name
        value, name    string   as in a filter, and its display name
        count          int64    entities of the whole result that have it

        Raises `UnknownName` for a facet that is not there.
        """
        facet_names = [facet.name for facet in self.facets]
        if name is not None and name not in facet_names:
            raise UnknownName("facet", name, map(line, facet_names))
        rows = [
            (facet.name, facet.label, value.value, self._label(facet, value), value.count)
            for facet in self.facets
            if name in (None, facet.name)
            for value in facet.values
        ]
        cut = [
            facet.label for facet in self.facets if name in (None, facet.name) and facet.has_more
        ]
        incomplete = f"there are more values of {', '.join(cut)}" if cut else ""
        return to_frame(Table(_FACETS, rows, self._title(), incomplete=incomplete))

    def _label(self, facet: Facet, value: FacetValue) -> str:
        return facet_value_label(facet.name, value.value, self.names)

    def next(self) -> "SearchResults":
        """Return the next page; after the last an empty one without a request.

        Requests are those of `Catalog.search`. `while page: page = page.next()` reads all pages.
        """
        question = self._require_question()
        page = self
        while page.truncated:
            page = question.catalog.search(
                self.text,
                entity=question.entity,
                filter=question.filter,
                sort=question.sort,
                start=page.end,
                count=question.count,
                measures=question.measures,
                columns=question.columns,
            )
            if page.hits or not page.unreadable:
                return page
        return replace(page, start=page.end, hits=(), unreadable=(), summaries={})

    def all(self, limit: int | None = None) -> "SearchResults":
        """Return all results, at most `limit`, from the first on.

        One request per 200 hits, two for their rows, and one per hundred names of owners and
        tags; shows its progress, and can be interrupted.
        """
        from explorer.notebook.progress import each

        question = self._require_question()
        pages = question.catalog.hits(
            self.text,
            entity=question.entity,
            filter=question.filter,
            sort=question.sort,
            limit=limit,
            columns=question.columns,
        )

        def total() -> int | None:
            return pages.total if limit is None else min(limit, pages.total or limit)

        with pages:
            hits = tuple(each(pages, f"reading {line(self._title(), 40)}", total=total))
        urns = list(dict.fromkeys(hit.entity_urn for hit in hits))
        summaries = question.catalog.summed_up(urns)
        is_measured = question.measures and not question.columns
        measured = question.catalog.measures(urns) if is_measured else {}
        total_hits = max(len(hits), pages.total or 0)
        unnamed = [urn for urn in _labels_of(summaries.values()) if str(urn) not in self.names]
        labels = question.catalog.summed_up(unnamed)
        names = {**self.names, **{str(urn): entity.name for urn, entity in labels.items()}}
        results = replace(self, start=0, total=total_hits, hits=hits, unreadable=(), names=names)
        return replace(results, summaries=summaries, measures=measured)

    def __getitem__(self, place: int | str) -> EntityPage:
        """Return the entity at an index of this page, or with a name or URN on it; for a column,
        its table. Two requests."""
        catalog = self._require_question().catalog
        if isinstance(place, int):
            if not -len(self.hits) <= place < len(self.hits):
                raise InvalidInput(f"there is no hit {place}; this page has {len(self.hits)}")
            return catalog.entity(self.hits[place].entity_urn)
        if not isinstance(place, str):
            raise InvalidInput(
                f"give an index, a name or a URN, not {place!r:.60}; .hits and .urns can be sliced"
            )
        hits = [hit for hit in self.hits if place in (str(hit.urn), self._name_of(hit))]
        urns = [hit.urn for hit in hits]
        if len(hits) == 1:
            return catalog.entity(hits[0].entity_urn)
        label = line(place, 100)
        if not urns:
            raise NotFound(f"no result on this page is named {label!r}")
        listed = "".join(f"\n  {urn}" for urn in urns[:_MOST_VALUES])
        raise InvalidInput(
            f"{len(urns)} results on this page are named {label!r}; give a URN:{listed}"
        )

    def _ipython_key_completions_(self) -> list[str]:
        names = [self._name_of(hit) for hit in self.hits]
        keys = dict.fromkeys((*names, *(str(hit.urn) for hit in self.hits)))
        return [key for key in keys if key == line(key)]

    def _name_of(self, hit: Hit) -> str:
        return result_row(hit, self.summaries.get(hit.entity_urn)).name

    def _require_question(self) -> Question:
        if self.question is None:
            raise InvalidInput("these results were constructed by hand and have no catalog")
        return self.question

    def _title(self) -> str:
        subject = f"«{self.text}»" if self.text not in ("", "*") else "everything"
        words = self.question.words if self.question else ""
        return f"{subject} · {words}" if words else subject

    def parts(self) -> Iterator[Part]:
        yield Title(self._title(), self._count())
        if self.corrected:
            yield Say(f"no match for «{self.text}»; these are the results for «{self.corrected}»")
        question = self.question
        fault = condition_fault(self.text, question.catalog.registry) if question else None
        if fault is not None:
            yield Say(f"searched for as words, because it is no condition: {fault}")
        if loosened := loosened_label(self):
            yield Say(loosened)
        if tables := tables_label(self):
            yield Say(f"columns {tables}")
        if not self.hits:
            if not self.total and fault is None and self._is_narrowed:
                yield Say("remove a condition, or try fewer words")
            return
        if not self.summaries:
            yield Say(NO_NAMES)
        hits = self.hits[:MOST_ROWS]
        page = replace(self, hits=hits)
        page_rows = result_rows(page, self.summaries, self.measures, self._drafts())
        rows = [_cells(row) for row in page_rows]
        # A column that is empty for every hit is left out.
        filled = [at for at in range(len(_HEADERS)) if any(row[at].text for row in rows)]
        yield Grid(
            [_HEADERS[at] for at in filled], [[row[at] for at in filled] for row in rows], _NUMBERS
        )
        if len(hits) < len(self.hits):
            yield Say(f"{len(hits)} of {len(self.hits):,} drawn; .to_frame() has them all")
        if self.truncated:
            yield Say("there are more; .next() reads them, .all() every one")
        if any(hit.reason for hit in hits):
            headers = ("name", "score", "score from use", "why", "matched, with its weight")
            yield Fold("why each was found", [Grid(headers, list(map(_why, page_rows)), _NUMBERS)])
        narrowing = [text for text in map(_facet, facet_groups(self.facets, self.names)) if text]
        if narrowing:
            yield Fold("filter by", [Say(text) for text in narrowing])

    def _drafts(self) -> frozenset[str]:
        """Return the URNs of entities with drafts now."""
        from explorer.stewardship.drafts import Drafts

        if self.question is None:
            return frozenset()
        drafts = Drafts.of_catalog(self.question.catalog).free()
        return frozenset(draft.draft.urn for draft in drafts)

    @property
    def _is_narrowed(self) -> bool:
        question = self.question
        filtered = question is not None and bool(question.filter or question.entity)
        return filtered or self.text not in ("", "*")

    def _count(self) -> str:
        if not self.total:
            return "no results"
        if self.truncated or self.start:
            return f"{len(self)} of {self.total:,}" + (
                f", after the first {self.start:,}" if self.start else ""
            )
        return f"{self.total:,} found"


def _cells(row: ResultRow) -> tuple[Cell, ...]:
    measured = row.measures or Measures()
    changed = measured.changed
    states = ", ".join(row.states)
    return (
        Cell(row.name, detail=str(row.urn), tone="loud", mark=f"{states}:" if states else ""),
        Cell(row.kind_label if row.column is None else f"{row.kind_label} of {row.folder}"),
        Cell(" · ".join(filter(None, (row.platform, row.place)))),
        Cell("" if measured.rows is None else compact(measured.rows)),
        Cell("" if measured.queries is None else compact(measured.queries)),
        Cell("" if changed is None else f"{changed:%Y-%m-%d}"),
        Cell(row.first_line, EDITED if row.is_edited else "", markdown=True)
        if row.first_line
        else Cell("no description", tone="quiet"),
        Cell(_describe_match([match.place_label for match in row.matches]), tone="quiet"),
    )


def _why(row: ResultRow) -> tuple[Cell, ...]:
    weights = [
        f"{match.field} {match.weight:g}" for match in row.matches if match.weight is not None
    ]
    return (
        Cell(row.name),
        Cell("" if row.score is None else f"{row.score:.4g}"),
        Cell(f"{row.use:.2g}" if row.use else ""),
        Cell(row.reason),
        Cell(", ".join(dict.fromkeys(weights))),
    )


def make_results(
    page: SearchPage,
    summaries: Mapping[Urn, Entity],
    question: Question,
    measures: Mapping[Urn, Measures] | None = None,
    names: Mapping[str, str] | None = None,
) -> SearchResults:
    """Return the page with the details of its hits, its search, and the names of URNs among its
    facets."""
    return SearchResults(
        **values_of(page),
        summaries=summaries,
        measures=measures or {},
        question=question,
        names=names or {},
    )


def _describe_match(labels: Sequence[str]) -> str:
    unique_labels = list(dict.fromkeys(labels))
    more = len(unique_labels) - _MOST_MATCHED
    return ", ".join(unique_labels[:_MOST_MATCHED]) + (f", {more} more" if more > 0 else "")


def _facet(group: FacetGroup) -> str:
    rows = [row for row in group.rows if not _OPAQUE.fullmatch(row.label)]
    labels = [f"{row.label} {row.count_label}" for row in rows[:_MOST_VALUES]]
    if not labels:
        return ""
    more = len(rows) - len(labels)
    least = "at least " if group.has_more else ""
    tail = f" · and {least}{more} more" if more else ""
    return f"{group.label}: {' · '.join(labels)}{tail}"


_NAMED_VALUES = 40


def _labels_of(entities: Iterable[Entity]) -> list[Urn]:
    """Return the owners and tags of entities, each once."""
    urns: dict[Urn, None] = {}
    for entity in entities:
        owners = Urn.parse_all(owner.owner for owner in entity.owners)
        urns |= dict.fromkeys((*owners, *entity.tags))
    return list(urns)


class SearchReader(EntityReader):
    """The methods of both notebook catalogs that search and browse, implemented with a client."""

    _blocking: "Callable[[], SearchCatalog]"

    async def search(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        filter: Filter | str | None = None,
        sort: "str | Sequence[Order] | None" = None,
        start: int = 0,
        count: int = 20,
        superseding: str | None = None,
        columns: bool = False,
        measures: bool = True,
    ) -> SearchResults:
        """Return a page of results for `text`, best first or sorted, with what each row shows.

        `text`      words, and conditions as in a filter: `orders tags:PII`; `*` or "" finds all
        `entity`    entity types, such as "dataset", "dashboard", "glossaryTerm", "corpuser";
                    without it all
        `filter`    conditions joined by AND, OR and NOT: `platform:snowflake`, `owners:*` for any,
                    `owner:"Nina Weber"`, `rows>1000`, `documented:false`; a page's
                    `facets_to_frame()` has the fields and their values
        `sort`      "name", "usage" for the most used first, "updated desc", "-created, name";
                    without it the best first
        `start`     the place of the first result wanted; `next()` of a page gives the one after it
        `count`     how many results a page has at most
        `columns`   whether the results are columns of the datasets that are found: those with words
                    of the text
        `measures`  whether number of rows, use and last change are read too

        A search with a name as `superseding` cancels a running search with the same name.

        `len(page)` is the number of results on the page, `page.total` the number of all, `page.df`
        a DataFrame of the page, and `page.all()` returns every result. One request, one more per
        hundred hits and values of facets, one per hundred other owners and tags of hits, and one
        per 25 datasets for their measures.

        Example: `cat.search("orders platform:snowflake", entity="dataset")`
        """
        page = await self._plain.search(
            text,
            entity=entity,
            filter=filter,
            sort=sort,
            start=start,
            count=count,
            superseding=superseding,
            columns=columns,
        )
        urns = list(dict.fromkeys(hit.entity_urn for hit in page))
        counted = facet_urns(page.facets, _NAMED_VALUES)
        known_entities = await read_entities(self._plain, page, counted)
        entities = dict(known_entities or {})
        summaries = {urn: entities[urn] for urn in urns if urn in entities}
        labels = _labels_of(summaries.values())
        if page.as_of is None:
            entities |= await self._plain.summaries(urn for urn in labels if urn not in entities)
        self.known_names.learn(names_of_existing(entities.values()))
        names = {str(urn): entities[urn].name for urn in (*counted, *labels) if urn in entities}
        is_whole = known_entities is not None
        is_measured = measures and is_whole and not columns
        measured = await self._plain.measures(urns) if is_measured else {}
        question = Question(self._blocking(), entity, filter, sort, count, measures, columns)
        return make_results(page, summaries, question, measured, names)

    async def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsedFolder:
        """Return a page of a browse path: folders first, each opened by its name,
        `folder["sales"]`. An unknown path is empty. One request.

        Example: `cat.browse("/prod/snowflake")`
        """
        page = await self._plain.browse(path, entity=entity, start=start, count=count)
        self.known_names.learn((entity.urn, entity.name) for entity in page.entities)
        return _make_folder(page, entity, self._blocking())


class SearchCatalog(EntityCatalog):
    """The part of the notebook's catalog through which results send requests; searches return
    `SearchResults`."""

    search = Waiting(SearchReader.search, "searching").call
    browse = Waiting(SearchReader.browse).call
