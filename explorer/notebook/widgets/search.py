"""The results, facets and folders of the explorer widget, and what its page draws of them."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from explorer.client.display import counted, in_quotes, line
from explorer.client.folders import EntryPage, EntrySource, FolderEntry, TypesSource
from explorer.client.records import Facet, Suggestion
from explorer.metadata.names import singular
from explorer.notebook.markup import markdown_line_tree
from explorer.notebook.search import EDITED
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.search_text import SearchText
from explorer.views.chart import compact
from explorer.views.search import (
    FacetGroup,
    ResultRow,
    facet_groups,
    facet_urns,
    facet_value_label,
    result_rows,
)

if TYPE_CHECKING:
    from explorer.client.records import Measures
    from explorer.notebook.catalog import NotebookCatalog
    from explorer.notebook.search import SearchResults

__all__ = [
    "Search",
    "SearchAnswer",
    "Tree",
    "offers_of",
    "read_answer",
    "types_of",
    "with_measures",
]

FOLDER_PAGE = 50

_NAME = 120


@dataclass(eq=False, slots=True)
class _Node:
    """An entry with what was read of it: `read_count` of `total` entries, besides those of the
    head."""

    entry: FolderEntry
    level: int
    source: EntrySource | None
    below: "list[str] | None" = None
    read_count: int = 0
    total: int = 0
    has_more: bool = True
    is_open: bool = False
    note: str = ""


@dataclass(eq=False)
class Tree:
    """The entries of the folders that were read, and which folders are open. Sends no request:
    its owner calls what `unfold` and `reading` return, and gives the pages to `take`."""

    _nodes: dict[str, _Node] = field(default_factory=dict)
    _top: list[str] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was read yet."""
        return not self._top

    def plant(self, entries: tuple[FolderEntry, ...]) -> None:
        """Replace everything by these topmost entries."""
        self._nodes.clear()
        self._top = [self._add(entry, 1) for entry in entries]

    @property
    def first(self) -> str:
        """Return the key of the topmost node; "" where there is none."""
        return self._top[0] if self._top else ""

    def unfold(self, key: str) -> "Callable[[NotebookCatalog], EntryPage] | None":
        """Open a folder; return what reads its first page, None where it was read already."""
        node = self._nodes.get(key)
        if node is None or node.source is None:
            return None
        node.is_open = True
        return None if node.below is not None else self.reading(key)

    def reading(self, key: str) -> "Callable[[NotebookCatalog], EntryPage] | None":
        """Return what reads the next page of a folder; None after the last."""
        node = self._nodes.get(key)
        if node is None or node.source is None or not node.has_more:
            return None
        node.note = "reading …"
        source, start = node.source, node.read_count
        return lambda catalog: catalog.wait(source.read(catalog.core, start, FOLDER_PAGE))

    def fold(self, key: str) -> None:
        """Close a folder."""
        if key in self._nodes:
            self._nodes[key].is_open = False

    def take(self, key: str, page: EntryPage) -> None:
        """Add a page of a folder that was read."""
        node = self._nodes.get(key)
        if node is None:
            return
        new = [self._add(entry, node.level + 1) for entry in (*page.head, *page.entries)]
        node.below = [*(node.below or ()), *new]
        node.source = page.instead or node.source
        node.read_count += len(page.entries)
        node.total = len(page.head) + page.total
        node.has_more = bool(page.entries) and node.read_count < page.total
        node.note = page.note if node.below and not node.has_more else ""
        if not node.below:
            node.note = "empty"

    def fail(self, key: str, why: str) -> None:
        """Show on a folder why a page of it could not be read."""
        if key in self._nodes:
            self._nodes[key].note = f"{line(why, 200)} — expand it again to retry"
            self._nodes[key].is_open = self._nodes[key].below is not None

    def name(self, key: str) -> str:
        """Return the name of a node."""
        node = self._nodes.get(key)
        return line(node.entry.name, _NAME) if node else ""

    def rows(self, drafts: Container[str] = ()) -> list[dict[str, Any]]:
        """Return the visible rows from top to bottom, as the page draws them; `drafts` has the URNs
        of entities with drafts."""
        return list(self._rows(self._top, drafts))

    def _rows(self, keys: list[str], drafts: Container[str]) -> Iterator[dict[str, Any]]:
        waiting = [(key, at, len(keys)) for at, key in reversed([*enumerate(keys, 1)])]
        while waiting:
            key, at, size = waiting.pop()
            if at == 0:
                yield self._more(key)
                continue
            node = self._nodes[key]
            yield {
                "key": key,
                "name": line(node.entry.name, _NAME),
                "urn": str(node.entry.urn or ""),
                "count": node.entry.count,
                "level": node.level,
                "at": at,
                "of": size,
                "open": node.is_open if node.source is not None else None,
                "note": node.note,
                "draft": str(node.entry.urn) in drafts,
            }
            if not node.is_open or node.below is None:
                continue
            if node.has_more:
                waiting.append((key, 0, 0))
            below = node.below
            waiting += [(child, n, len(below)) for n, child in reversed([*enumerate(below, 1)])]

    def _more(self, key: str) -> dict[str, Any]:
        node = self._nodes[key]
        name = f"{len(node.below or ()):,} of {node.total:,}"
        return {"more": key, "key": f"{key}+", "level": node.level + 1, "name": name}

    def _add(self, entry: FolderEntry, level: int) -> str:
        key = f"n{next(self._numbers)}"
        self._nodes[key] = _Node(entry, level, entry.below)
        return key


def types_of(catalog: "NotebookCatalog") -> tuple[FolderEntry, ...]:
    """Return the types that the catalog has entities of, the most wanted first. One request."""
    return catalog.wait(TypesSource().read(catalog.core, 0, FOLDER_PAGE)).entries


PAGE = 20
_MOST_VALUES = 40
_LONGEST_MATCH = 140
_SHORT = 200


@dataclass(frozen=True, slots=True)
class Search:
    """A search: words, a filter as people type it, the chosen values of facets by field, a sort
    order, and the start of the page."""

    words: str = ""
    filter: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sort: str = ""
    start: int = 0

    def toggle(self, name: str, value: str) -> "Search":
        """Return the search with a value of a facet added, or removed if it was chosen."""
        before = self.chosen.get(name, ())
        after = tuple(chosen_value for chosen_value in before if chosen_value != value)
        if len(after) == len(before):
            after = (*before, value)
        chosen = {**self.chosen, name: after}
        return replace(
            self, chosen={key: values for key, values in chosen.items() if values}, start=0
        )

    def combined_filter(self, catalog: "NotebookCatalog", beyond: str = "") -> Filter:
        """Return the whole filter; the taken values of the facet `beyond` are excluded instead.
        Raises `FilterSyntax` for a filter that cannot be read."""
        from explorer.query import read_filter

        typed = read_filter(self.filter, catalog.registry) if self.filter.strip() else Filter()
        criteria = (
            Criterion(name, values, negated=name == beyond) for name, values in self.chosen.items()
        )
        return typed.and_(all_of(*criteria))


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to a search, with the names of the URNs among the facets."""

    search: Search
    page: "SearchResults"
    names: Mapping[str, str]
    adding: Mapping[str, Facet]
    """The facets that have taken values, by field, counted over results not found yet."""

    def page_state(self, ticked: Iterable[str], drafts: Container[str] = ()) -> dict[str, Any]:
        """Return what the page draws; `ticked` are the URNs of ticked results, `drafts` those of
        entities with drafts."""
        page, search, marked = self.page, self.search, frozenset(ticked)
        groups = facet_groups(page.facets, self.names, search.chosen, self.adding)
        return {
            "said": self._sentence(),
            "words": [line(word) for word in (page.corrected or search.words).split()],
            "hits": [
                _hit(row, search.words, ticked=str(row.urn) in marked)
                for row in result_rows(page, page.summaries, page.measures, drafts)
            ],
            "facets": [_facet(group) for group in groups],
            "chosen": [
                {"field": name, "value": value, "label": self._label(name, value)}
                for name, values in search.chosen.items()
                for value in values
            ],
            "start": page.start,
            "total": page.total,
            "before": page.start > 0,
            "after": page.truncated,
        }

    def _sentence(self) -> str:
        page, search = self.page, self.search
        if not page.total:
            hint = "; remove a condition, or try fewer words"
            return f"No results{hint if search.chosen or search.filter or search.words else ''}"
        parts = [counted(page.total, "result")]
        if page.total > len(page):
            parts.append(f"{page.start + 1:,}–{page.end:,}")
        if page.corrected:
            typed, corrected = in_quotes(search.words, _SHORT), in_quotes(page.corrected, _SHORT)
            parts.append(f"for {corrected}; nothing matches {typed}")
        return " · ".join(parts)

    def _label(self, name: str, value: str) -> str:
        return _display_label(facet_value_label(name, value, self.names))


def _hit(row: ResultRow, words: str, *, ticked: bool) -> dict[str, Any]:
    match = row.hidden_match(f"{row.name} {row.first_line}", words)
    return {
        "urn": str(row.urn),
        "name": line(row.name, _SHORT),
        "kind": line(row.kind_label, 60),
        "platform": line(row.platform, 60),
        "about": markdown_line_tree(row.first_line, 2 * _SHORT),
        "mark": EDITED if row.is_edited else "",
        "measures": _describe_measures(row.measures),
        "state": " · ".join(row.states),
        "why": match
        and {
            "field": line(match.label, 60),
            "value": line(match.excerpt(words, _LONGEST_MATCH), _LONGEST_MATCH),
        },
        "ticked": ticked,
    }


def _facet(group: FacetGroup) -> dict[str, Any]:
    rows = [row for at, row in enumerate(group.rows) if at < _MOST_VALUES or row.is_chosen]
    return {
        "field": group.field,
        "label": line(group.label, 60),
        "more": len(group.rows) - len(rows),
        "size": group.size,
        "values": [
            {
                "value": row.value,
                "label": _display_label(row.label),
                "count": row.count,
                "on": row.is_chosen,
                "adds": row.adds,
            }
            for row in rows
        ],
    }


def _display_label(label: str) -> str:
    return line(label, 80) or "none"


def read_answer(catalog: "NotebookCatalog", search: Search) -> SearchAnswer:
    """Search. One request, one for each hundred hits, one for each facet with chosen values, and
    one for the names of each hundred URNs among the facets. Rows and use are read later, by
    `with_measures`.

    Raises `FilterSyntax` for a condition among the words that cannot be read, and for such a
    filter."""
    words = search.words.strip() or "*"
    SearchText.split(words, guide_to(catalog.registry)).filter(catalog.registry)
    page = catalog.search(
        words,
        filter=search.combined_filter(catalog),
        sort=search.sort or None,
        start=search.start,
        count=PAGE,
        measures=False,
    )
    adding = {
        facet.name: facet
        for name in search.chosen
        for facet in catalog.facets(
            words, filter=search.combined_filter(catalog, name), names=[name]
        )
    }
    counted = (*page.facets, *adding.values())
    entities = catalog.summaries(facet_urns(counted, _MOST_VALUES))
    names = {str(urn): entity.name for urn, entity in entities.items()}
    return SearchAnswer(search, page, names, adding)


def with_measures(catalog: "NotebookCatalog", answer: SearchAnswer) -> SearchAnswer:
    """Return the answer with rows, use and last change of its datasets. One request."""
    page = answer.page
    return replace(answer, page=replace(page, measures=catalog.measures(page.urns)))


def offers_of(suggestions: Iterable[Suggestion]) -> list[dict[str, Any]]:
    """Return completions as the page draws them."""
    return [
        {
            "text": line(suggestion.text, _SHORT),
            "urn": str(suggestion.urn) if suggestion.urn else "",
            "kind": singular(suggestion.entity_type),
            "platform": line(suggestion.platform, 60),
        }
        for suggestion in suggestions
    ]


def _describe_measures(measures: "Measures | None") -> str:
    """Return rows, use and last change in a few words; empty where none is known."""
    if measures is None:
        return ""
    rows, queries, changed = measures.rows, measures.queries, measures.changed
    parts = (
        "" if rows is None else f"{compact(rows)} rows",
        "" if queries is None else f"{compact(queries)} queries a month",
        "" if changed is None else f"changed {changed:%Y-%m-%d}",
    )
    return " · ".join(part for part in parts if part)
