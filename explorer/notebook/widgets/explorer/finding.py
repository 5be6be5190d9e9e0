"""Searching in the explorer: what is asked, and what the page is told of the answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from explorer.client.display import in_quotes, line
from explorer.client.records import Facet, FacetValue, Hit, Match, Suggestion
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.notebook.amounts import compact
from explorer.notebook.results import EDITED
from explorer.notebook.widgets.explorer.marked import marked_line
from explorer.query.filters import Criterion, Filter, all_of

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Measures
    from explorer.notebook.catalog import Catalog
    from explorer.notebook.results import Results

__all__ = ["ORDERS", "PAGE", "Answer", "Search", "measured", "offers_of", "read_answer"]

PAGE = 20
ORDERS = {
    "": "best first",
    "name": "by name, A to Z",
    "-name": "by name, Z to A",
    "-use": "most used first",
    "-lastModifiedAt": "changed last first",
    "lastModifiedAt": "longest unchanged first",
}
"""How results may be ordered: as the client reads it, and in words."""

_MOST = 10_000
_FIRST = (
    "_entityType",
    "platform",
    "tags",
    "owners",
    "domains",
    "glossaryTerms",
    "typeNames",
    "documented",
)
_BOOLEANS = {"true": "yes", "false": "no"}
_MOST_VALUES = 40
_NAMED_VALUES = 12
_AROUND = 24
_WIDE = 140
_SHORT = 200
# Where these matched can be seen in the name above.
_NAMES = frozenset(("name", "id", "title", "urn", "qualifiedName", "displayName", "fullName"))
_WHERE = {
    "fieldPaths": "column",
    "fieldDescriptions": "column text",
    "editedFieldDescriptions": "column text",
    "editedDescription": "description",
    "fieldTags": "column tag",
    "editedFieldTags": "column tag",
    "fieldGlossaryTerms": "column term",
    "editedFieldGlossaryTerms": "column term",
    "customProperties": "property",
    "glossaryTerms": "term",
    "qualifiedName": "full name",
}


@dataclass(frozen=True, slots=True)
class Search:
    """A question: words, a filter as people type it, values of facets that were taken on, an order
    and where the page begins."""

    words: str = ""
    filter: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    order: str = ""
    start: int = 0

    def toggled(self, name: str, value: str) -> "Search":
        """The same with a value of a facet taken on, or off where it was on."""
        before = self.chosen.get(name, ())
        after = tuple(one for one in before if one != value)
        if len(after) == len(before):
            after = (*before, value)
        chosen = {**self.chosen, name: after}
        return replace(self, chosen={key: held for key, held in chosen.items() if held}, start=0)

    def narrowing(self, catalog: "Catalog", beyond: str = "") -> Filter:
        """The filter as a whole; `beyond` is a facet whose chosen values are left out instead.
        Raises `FilterSyntax` for one that cannot be read."""
        from explorer.query import read_filter

        typed = read_filter(self.filter, catalog.registry) if self.filter.strip() else Filter()
        criteria = (
            Criterion(name, values, negated=name == beyond) for name, values in self.chosen.items()
        )
        return typed.narrowed_by(all_of(*criteria))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said to a search, and what the URNs among the facets are called."""

    search: Search
    page: "Results"
    names: Mapping[str, str]
    adding: Mapping[str, Facet]
    """The facets some of whose values are taken on, counted over what is not found yet."""
    most: int | None = _MOST
    """How far the server lets a result be paged."""

    def told(self, ticked: Iterable[str]) -> dict[str, Any]:
        """What the page draws."""
        page, search, marked = self.page, self.search, frozenset(ticked)
        return {
            "said": self._sentence(),
            "words": [line(one) for one in (page.corrected or search.words).split()],
            "hits": [self._hit(hit, marked) for hit in page.hits],
            "facets": [self._facet(one) for one in sorted(page.facets, key=_rank) if one.values],
            "chosen": [
                {"field": name, "value": value, "label": self._label(name, value)}
                for name, values in search.chosen.items()
                for value in values
            ],
            "start": page.start,
            "total": page.total,
            "before": page.start > 0,
            "after": page.truncated and (self.most is None or page.end < self.most),
        }

    def _sentence(self) -> str:
        page, search = self.page, self.search
        if not page.total:
            hint = "; take a condition off, or try fewer words"
            return f"No results{hint if search.chosen or search.filter or search.words else ''}"
        parts = [f"{page.total:,} {'result' if page.total == 1 else 'results'}"]
        if page.total > len(page):
            parts.append(f"{page.start + 1:,}–{page.end:,}")
        if self.most is not None and page.total > self.most:
            parts.append(f"the server stops at {self.most:,}")
        if page.corrected:
            typed, corrected = in_quotes(search.words, _SHORT), in_quotes(page.corrected, _SHORT)
            parts.append(f"for {corrected}; nothing has {typed}")
        return " · ".join(parts)

    def _hit(self, hit: Hit, ticked: frozenset[str]) -> dict[str, Any]:
        from explorer.client.entity import Entity

        entity = self.page.summaries.get(hit.urn) or Entity(hit.urn, {})
        text = next(iter(entity.description.strip().splitlines()), "")
        return {
            "urn": str(hit.urn),
            "name": line(entity.name, _SHORT),
            "kind": line(kind_of(entity), 60),
            "platform": line(entity.platform, 60),
            "about": marked_line(text, 2 * _SHORT),
            "mark": EDITED if entity.edited_description else "",
            "measures": _measured(self.page.measures.get(hit.urn)),
            "state": "deprecated" if entity.deprecation is not None else "",
            "why": _why(hit, f"{entity.name} {text}".lower(), self.search.words),
            "ticked": str(hit.urn) in ticked,
        }

    def _facet(self, facet: Facet) -> dict[str, Any]:
        on_now = self.search.chosen.get(facet.name, ())
        adding = self.adding.get(facet.name)
        if adding is not None:
            facet = facet.beside(on_now, adding)
        shown = [*facet.values[:_MOST_VALUES]]
        shown += [FacetValue(one, 0) for one in on_now if one not in {v.value for v in shown}]
        return {
            "field": facet.name,
            "label": line(facet.label, 60),
            "more": max(len(facet.values) - _MOST_VALUES, 0),
            "size": facet.size,
            "values": [
                {
                    "value": one.value,
                    "label": self._label(facet.name, one.value),
                    "count": one.count,
                    "on": one.value in on_now,
                    "adds": adding is not None and one.value not in on_now,
                }
                for one in shown
            ],
        }

    def _label(self, name: str, value: str) -> str:
        if name == "_entityType":
            return singular(value)
        label = line(self.names.get(value) or Urn.label(value), 80) or "none"
        return _BOOLEANS.get(label, label)


def read_answer(catalog: "Catalog", search: Search) -> Answer:
    """Ask the catalog. One request, one for each hundred hits, one for each facet some of whose
    values are taken on, and one for the names of what the facets count. Rows and use are asked for
    later, with `measured`."""
    words = search.words.strip() or "*"
    page = catalog.search(
        words,
        narrowed_by=search.narrowing(catalog),
        sorted_by=search.order or None,
        start=search.start,
        count=PAGE,
        measures=False,
    )
    adding = {
        facet.name: facet
        for name in search.chosen
        for facet in catalog.facets(
            words, narrowed_by=search.narrowing(catalog, name), names=[name]
        )
    }
    counted = (*page.facets, *adding.values())
    values = (one.value for facet in counted for one in facet.values[:_NAMED_VALUES])
    named = catalog.summaries(Urn.parse_all(values))
    names = {str(urn): entity.name for urn, entity in named.items()}
    is_long = page.total > _MOST
    most = None if is_long and catalog.abilities().deep_pages else _MOST
    return Answer(search, page, names, adding, most)


def measured(catalog: "Catalog", answer: Answer) -> Answer:
    """The same with rows, use and last change of the datasets found. One request."""
    page = answer.page
    return replace(answer, page=replace(page, measures=catalog.measures(page.urns)))


def offers_of(suggestions: Iterable[Suggestion]) -> list[dict[str, Any]]:
    """Completions, as the page draws them."""
    return [
        {
            "text": line(one.text, _SHORT),
            "urn": str(one.urn) if one.urn else "",
            "kind": singular(one.entity_type),
            "platform": line(one.platform, 60),
        }
        for one in suggestions
    ]


def kind_of(entity: "Entity") -> str:
    """What the platform calls it, else its type in a word."""
    return entity.kind if entity.kind != entity.entity_type else singular(entity.entity_type)


def _measured(known: "Measures | None") -> str:
    """Rows, use and last change in a few words; "" for nothing."""
    if known is None:
        return ""
    rows, queries, changed = known.rows, known.queries, known.changed
    said = (
        "" if rows is None else f"{compact(rows)} rows",
        "" if queries is None else f"{compact(queries)} queries a month",
        "" if changed is None else f"changed {changed:%Y-%m-%d}",
    )
    return " · ".join(one for one in said if one)


def _why(hit: Hit, shown: str, words: str) -> dict[str, str] | None:
    """The first match with a word that is not in what is shown; nothing where all are."""
    hidden = [word for word in words.lower().split() if word not in shown]
    told = [one for one in hit.matched if one.field not in _NAMES]
    by_name = len(told) < len(hit.matched)
    holding = (one for one in told if any(word in one.value.lower() for word in hidden))
    match = next(holding, None if by_name or not hidden else next(iter(told), None))
    if match is None:
        return None
    field = _WHERE.get(match.field, line(match.field, 60))
    return {"field": field, "value": _around(match, " ".join(hidden))}


def _around(match: Match, words: str) -> str:
    """The part of a long value that holds the first word that is in it."""
    value = FieldPath(match.value).simple if match.field == "fieldPaths" else match.value
    shown = line(Urn.label(value))
    lowered = shown.lower()
    places = [at for word in words.lower().split() if (at := lowered.find(word)) >= 0]
    at = min(places, default=0)
    cut = f"…{shown[at - _AROUND :]}" if at > _WIDE // 2 else shown
    return line(cut, _WIDE)


def _rank(facet: Facet) -> tuple[int, str]:
    name = facet.name
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), facet.label)
