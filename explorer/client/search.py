"""Search, facets, counts, browsing and coverage: requests, parsing and methods.

An answer of an unexpected shape raises a `ServerFault` that says what is wrong with it. A hit whose
URN cannot be parsed is left out of its page and listed in `unreadable`.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import msgspec

from explorer.client.connection import Connection
from explorer.client.display import line
from explorer.client.entity import Entity, EntityMethods
from explorer.client.pages import (
    WINDOW,
    ByScroll,
    ByStart,
    FirstThatWorks,
    Pager,
    PagesAt,
    Portion,
    RankedPages,
    Walk,
)
from explorer.client.records import (
    BrowsePage,
    DescribedCounts,
    DescribedTrend,
    Facet,
    FacetValue,
    Folder,
    Hit,
    HitColumn,
    Match,
    Named,
    SearchPage,
    UndescribedPage,
)
from explorer.client.transport import (
    REFUSALS,
    Json,
    Request,
    action,
    as_object,
    error_of_graphql,
    graphql_request,
    read_as,
    value_of,
)
from explorer.errors import InvalidInput, InvalidUrn, NotFound, ServerFault
from explorer.metadata.names import NAME_ASPECTS, is_name, singular
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query.filters import DOCUMENTED, Condition, Criterion, Filter

if TYPE_CHECKING:
    from explorer.query import Order


def filter_from(condition: Filter | str | None, registry: Registry) -> Filter:
    """Return a filter; text is parsed as the query language. Raises `InvalidInput`."""
    if isinstance(condition, str):
        from explorer.query.syntax import read_filter

        return read_filter(condition, registry) if condition.strip() else Filter()
    if condition is not None and not isinstance(condition, Filter):
        raise InvalidInput(
            f"a filter is a text such as 'platform:snowflake', or a Filter, not {condition!r:.60}"
        )
    return condition or Filter()


def query_from(text: str, filter: Filter | str | None, registry: Registry) -> tuple[str, Filter]:
    """Split the text of a search: return its words, and the filter combined with the conditions in
    the text.

    A text that is not a valid query, such as one with an unknown field, is returned unchanged as
    words. Raises `InvalidInput` for a filter that cannot be parsed, and for a text that is not a
    string.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"search takes a text, not {text!r}; '*' or '' finds everything")
    from explorer.query.fields import guide_to
    from explorer.query.search_text import SearchText
    from explorer.query.tokens import FilterSyntax

    conditions = filter_from(filter, registry)
    query = SearchText.split(text, guide_to(registry))
    if not query.runs:
        return text, conditions
    try:
        return query.words or "*", query.filter(registry).and_(conditions)
    except FilterSyntax:
        return text, conditions


def sort_from(order: "str | Sequence[Order] | None", registry: Registry) -> "tuple[Order, ...]":
    """Return a sort order, most significant field first. Text is parsed by `read_sort`: `usage
    desc`, `-created, name`.

    Raises `InvalidInput`.
    """
    if not order or (isinstance(order, str) and not order.strip()):
        return ()
    from explorer.query.syntax import Order, read_sort

    if isinstance(order, str):
        return read_sort(order, registry)
    fields: object = order
    if not isinstance(fields, Iterable) or not all(isinstance(field, Order) for field in fields):
        raise InvalidInput(f"a sort order is a text such as '-created, name', not {order!r:.80}")
    return tuple(order)


def entity_types_from(
    types: str | Iterable[str] | None, registry: Registry | None
) -> tuple[str, ...]:
    """Return entity types without duplicates; an empty tuple means all types.

    Types of the registry may also be given in words, such as `people`; unknown names are kept
    unchanged, because the server may know them. Raises `InvalidInput` for an empty name and for a
    subtype.
    """
    names: tuple[str, ...] = ("",)
    if isinstance(types, str):
        names = (types,)
    elif isinstance(types, Iterable | None):
        names = tuple(types or ())
    if not all(map(is_name, names)):
        raise InvalidInput(
            "entity types are given by their names, such as 'dataset'; leave them out for all"
        )
    return tuple(dict.fromkeys(_find_type(name, registry) for name in names))


def _find_type(name: str, registry: Registry | None) -> str:
    if registry is None or name in registry.entities:
        return name
    from explorer.query.fields import guide_to

    guide = guide_to(registry)
    entity_type = guide.find_type(name)
    if entity_type is None and guide.is_subtype(name):
        condition = f"type:{name.casefold()}"
        raise InvalidInput(f"{name!r} is a subtype of entities, not a type; filter by {condition}")
    return entity_type or name


_DATAHUB_VALUES = 20
_EVERYTHING = Filter()


@read_as("search")
def parse_search(body: Any, text: str, as_of: datetime | None = None) -> SearchPage:
    """Parse an answer to `search` or `searchAcrossEntities`; both shapes are accepted."""
    return _parse_page(value_of(body, "search"), text, as_of)


@read_as("scroll")
def parse_scroll(body: Any, text: str) -> tuple[SearchPage, str | None]:
    """Parse a page of a scroll; return it and the id of the next page, `None` after the last.

    The page's `start` has no meaning.
    """
    value = value_of(body, "scroll")
    return _parse_page(value, text, None), _text_or_none(value.get("scrollId"))


def parse_scroll_graphql(body: Any, text: str) -> tuple[SearchPage, str | None]:
    """Parse a page of a GraphQL scroll; return it and the id of the next page, as
    `parse_scroll`."""
    value = as_object(graphql_data(body).get("scrollAcrossEntities"), "scrollAcrossEntities")
    hits, unreadable = _hits(list_in(value, "searchResults", "scroll"), ())
    total = _number(value, "total", "scroll")
    page = SearchPage(text, 0, total, hits, unreadable=unreadable)
    return page, _text_or_none(value.get("nextScrollId"))


def parse_urns(body: Any) -> SearchPage:
    """Parse an answer to `listUrns` as a page of hits that have only a URN."""
    what = "the list of URNs"
    value = value_of(body, what)
    hits, unreadable = _hits(list_in(value, "entities", what), ())
    start, total = _number(value, "start", what), _number(value, "total", what)
    return SearchPage("*", start, total, hits, unreadable=unreadable)


def parse_browse(body: Any, as_of: datetime | None = None) -> BrowsePage:
    """Parse an answer to `browse`. Servers put the folders in one of two places."""
    value = value_of(body, "browse")
    metadata = as_object(value.get("metadata") or {}, "browse (its metadata)")
    place = value if value.get("groups") else metadata
    folders = tuple(_folder(entry) for entry in list_in(place, "groups", "browse"))
    number = _number(value, "numEntities", "browse")
    entities, unreadable = [], []
    for entry in list_in(value, "entities", "browse"):
        entity = as_object(entry, "browse (an entity)")
        urn = _urn(entity.get("urn"), "browse (the urn of an entity)")
        if isinstance(urn, str):
            unreadable.append(urn)
        else:
            entities.append(Named(urn, entity.get("name") or urn.name))
    # Servers that do not send `numElements` repeat all folders on each page.
    repeats_folders = "numElements" not in value
    return BrowsePage(
        metadata.get("path", ""),
        _number(value, "from", "browse"),
        number,
        _number(metadata, "totalNumEntities", "browse"),
        number + len(folders) if repeats_folders else _number(value, "numElements", "browse"),
        folders,
        tuple(entities),
        repeats_folders,
        tuple(unreadable),
        as_of,
    )


def parse_browse_paths(body: Any) -> tuple[str, ...]:
    """Parse an answer to `getBrowsePaths`: the browse paths of an entity."""
    paths = as_object(body, "browse paths").get("value")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ServerFault("the server's answer to browse paths is not a list of paths")
    return tuple(paths)


def parse_counts(body: Any) -> dict[str, int]:
    """Parse an answer to `batchGetTotalEntityCount`: the number of entities of each type."""
    value = value_of(body, "counts")
    return {entity: _number(value, entity, "counts") for entity in value}


def graphql_data(body: Any) -> Json:
    """Return the `data` of a GraphQL answer. Raises the error that its first error maps to."""
    answer = as_object(body, "GraphQL")
    if answer.get("errors"):
        raise error_of_graphql(answer["errors"])
    return as_object(answer.get("data"), "GraphQL (its data)")


def _parse_page(value: Json, text: str, as_of: datetime | None) -> SearchPage:
    metadata = as_object(value.get("metadata") or {}, "search (its metadata)")
    matches = [_matches(entry) for entry in list_in(metadata, "matches", "search")]
    explanations = [
        as_object(entry, "search (an explanation)")
        for entry in list_in(metadata, "explanations", "search")
    ]
    columns = [_column(entry) for entry in list_in(metadata, "columns", "search")]
    hits, unreadable = _hits(list_in(value, "entities", "search"), matches, explanations, columns)
    tables = as_object(metadata.get("tables") or {}, "search (its tables)")
    loosened = as_object(metadata.get("loosened") or {}, "search (how it is loosened)")
    return SearchPage(
        text,
        _number(value, "from", "search"),
        _number(value, "numEntities", "search"),
        hits,
        _facets(metadata),
        unreadable,
        as_of,
        _text_or_none(metadata.get("corrected")),
        _first_suggestion(metadata),
        _number(loosened, "complete", "search") if loosened else None,
        tuple(map(str, list_in(loosened, "words", "search"))),
        (_number(tables, "read", "search"), _number(tables, "total", "search")) if tables else None,
        loosened.get("byMeaning") is True,
    )


def _column(entry: Any) -> HitColumn | None:
    """Return the column of a hit, which only our own server sends."""
    column = as_object(entry, "search (a column)")
    table, path = (
        _urn(column.get("table"), "search (the table of a column)"),
        column.get("fieldPath"),
    )
    if isinstance(table, str) or not isinstance(path, str):
        return None
    return HitColumn(
        table,
        path,
        str(column.get("nativeDataType") or ""),
        str(column.get("description") or ""),
        column.get("edited") is True,
    )


def _first_suggestion(metadata: Json) -> str | None:
    """Return the first suggestion of a DataHub server, or `None`."""
    for suggestion in list_in(metadata, "suggestions", "search"):
        if isinstance(suggestion, dict) and isinstance(suggestion.get("text"), str):
            return str(suggestion["text"])
    return None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _hits(
    entries: Sequence[Any],
    matches: Sequence[tuple[Match, ...]],
    explanations: Sequence[Json] = (),
    columns: Sequence[HitColumn | None] = (),
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    hits, unreadable = [], []
    for at, entry in enumerate(entries):
        hit_matches = matches[at] if at < len(matches) else ()
        hit = _hit(entry, hit_matches)
        if isinstance(hit, str):
            unreadable.append(hit)
        else:
            hit = _add_explanation(hit, explanations[at]) if at < len(explanations) else hit
            hits.append(replace(hit, column=columns[at] if at < len(columns) else None))
    return tuple(hits), tuple(unreadable)


def _hit(entry: Any, other_matches: tuple[Match, ...]) -> Hit | str:
    """Return a hit, or, if its URN cannot be parsed, the text in its place."""
    match entry:
        case str():
            urn = _urn(entry, "search (a hit)")
            return urn if isinstance(urn, str) else Hit(urn, other_matches)
        case {"entity": {"urn": str(named)}} | {"entity": str(named)}:
            score = entry.get("score")
            urn = _urn(named, "search (the entity of a hit)")
            return (
                urn if isinstance(urn, str) else Hit(urn, _matches(entry) or other_matches, score)
            )
    raise ServerFault(f"a hit in the server's answer to search names no entity: {entry!r:.80}")


def _add_explanation(hit: Hit, explanation: Json) -> Hit:
    """Return the hit with its score, weights and reason, which only our own server sends."""
    weights = explanation.get("weights")
    weights = weights if isinstance(weights, list) else []
    columns = list_in(explanation, "columns", "search")
    matched = tuple(
        replace(
            match,
            weight=_float(weights[at]) if at < len(weights) else None,
            column=_text_or_none(columns[at]) if at < len(columns) else None,
        )
        for at, match in enumerate(hit.matches)
    )
    score = _float(explanation.get("score"))
    reason = explanation.get("reason")
    return replace(
        hit,
        matches=matched,
        score=hit.score if score is None else score,
        reason=reason if isinstance(reason, str) else "",
        use=_float(explanation.get("use")) or 0.0,
        lacks=tuple(map(str, list_in(explanation, "lacks", "search"))),
        by_meaning=explanation.get("byMeaning") is True,
    )


def _float(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _urn(text: Any, what: str) -> Urn | str:
    """Parse a URN; return the text itself if it is not one. Raises `ServerFault` if it is not
    text."""
    if not isinstance(text, str):
        raise ServerFault(f"the server's answer to {what} is not a URN: {text!r:.80}")
    try:
        return Urn.parse(text)
    except InvalidUrn:
        return text


def _matches(entry: Any) -> tuple[Match, ...]:
    fields = as_object(entry, "search (its matches)").get("matchedFields") or ()
    return tuple(
        Match(field["name"], str(field.get("value", "")))
        for field in fields
        if isinstance(field, dict) and isinstance(field.get("name"), str)
    )


def _facets(metadata: Json) -> tuple[Facet, ...]:
    """Return the facets of an answer, without duplicates, no two of them under one label.

    Servers send them in two places. The older place comes first, because its facets have the same
    names on every server; only the newer one has labels and says whether there are more values.
    """
    facets: dict[str, Facet] = {}
    for place in ("searchResultMetadatas", "aggregations"):
        for entry in list_in(metadata, place, "search"):
            facet = _facet(as_object(entry, "search (a facet)"))
            before = facets.setdefault(facet.name, facet)
            if place == "aggregations":
                facets[facet.name] = replace(before, label=facet.label, has_more=facet.has_more)
    return _with_distinct_labels(facets.values())


def _with_distinct_labels(facets: Iterable[Facet]) -> tuple[Facet, ...]:
    """Return the facets with distinct labels: if several facets with values share a label, the
    field name is added to all but the first: `Environment` and `Environment (env)`."""
    distinct_facets, labels = [], set()
    for facet in facets:
        label = facet.label.casefold()
        is_taken = bool(facet.values) and label in labels
        distinct_facets.append(
            replace(facet, label=f"{facet.label} ({facet.name})") if is_taken else facet
        )
        if facet.values:
            labels.add(label)
    return tuple(distinct_facets)


def _facet(entry: Json) -> Facet:
    name = entry.get("name")
    if not isinstance(name, str):
        raise ServerFault("a facet in the server's answer to search has no name")
    counted: Mapping[str, Any] = as_object(entry.get("aggregations") or {}, f"the facet {name}")
    if not counted:
        values = list_in(entry, "filterValues", f"the facet {name}")
        counted = {
            value["value"]: value.get("facetCount", 0)
            for value in values
            if isinstance(value, dict) and isinstance(value.get("value"), str)
        }
    facet_values = (
        FacetValue(value, _number(counted, value, f"the facet {name}")) for value in counted
    )
    ordered = sorted(facet_values, key=lambda facet_value: (-facet_value.count, facet_value.value))
    # DataHub sends at most this many values and does not say whether there are more.
    more = entry.get("hasMore", len(ordered) == _DATAHUB_VALUES)
    label = _text_or_none(entry.get("displayName"))
    # Servers send the name of a field that has no label.
    label = _words(name) if label is None or label == name else label
    return Facet(name, label, tuple(ordered), more is True)


def _folder(entry: Any) -> Folder:
    folder = as_object(entry, "browse (a folder)")
    if not isinstance(folder.get("name"), str):
        raise ServerFault("a folder in the server's answer to browse has no name")
    return Folder(folder["name"], _number(folder, "count", "browse (a folder)"))


def list_in(value: Mapping[str, Any], name: str, what: str) -> list[Any]:
    entries = value.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise ServerFault(f"{name!r} in the server's answer to {what} is not a list")
    return entries


def _number(value: Mapping[str, Any], name: str, what: str) -> int:
    number = value.get(name, 0)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ServerFault(f"{name!r} in the server's answer to {what} is not a number")
    return number


def _words(name: str) -> str:
    """Return a field name as words, like the labels that servers send: `Glossary Terms` for
    `glossaryTerms`."""
    spaced = "".join(f" {char}" if char.isupper() else char for char in name.lstrip("_")).strip()
    return f"{spaced[:1].upper()}{spaced[1:]}"


_KEEP_ALIVE = "5m"

_SCROLL = """
query scrollAcrossEntities($input: ScrollAcrossEntitiesInput!) {
  scrollAcrossEntities(input: $input) {
    nextScrollId
    count
    total
    searchResults { entity { urn } matchedFields { name value } }
  }
}
"""


# Symbols of GraphQL's EntityType that are not simply the name in capitals.
_SYMBOLS = {"corpuser": "CORP_USER"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """The text, entity types, filter and sort order of a search.

    `types` is empty for all types; a single type given as text is searched with `search` instead of
    `searchAcrossEntities`. Without `sort` the results come best match first; `sort` has the most
    significant field first. With `columns` the results are columns.
    """

    text: str = "*"
    types: str | Sequence[str] = ()
    filter: Filter = _EVERYTHING
    sort: "Sequence[Order]" = ()
    columns: bool = False

    def to_wire(self, form: Json) -> Json:
        """Return the body of a rest.li action: `form` with the text, filter and sort order
        added."""
        sort = [order.to_wire() for order in self.sort]
        # Older servers read only `sort`, which has one field.
        order = {"sort": sort[0]} if sort else {}
        orders = {"sortCriteria": sort} if len(sort) > 1 else {}
        return {"input": self.text or "*"} | form | filter_of(self.filter) | order | orders


def search_request(query: SearchParameters, start: int, count: int) -> Request:
    """Return a request for a page of a search: `search` for one type, `searchColumns` for columns,
    else `searchAcrossEntities`."""
    if query.columns:
        return action("/entities", "searchColumns", query.to_wire({"start": start, "count": count}))
    types: dict[str, Any] = {"entities": list(query.types)} if query.types else {}
    name = "searchAcrossEntities"
    if query.types and isinstance(query.types, str):
        types, name = {"entity": query.types}, "search"
    return action("/entities", name, query.to_wire({"start": start, "count": count} | types))


def scroll_request(query: SearchParameters, count: int, scroll_id: str | None) -> Request:
    """Return a request for the page of a scroll after `scroll_id`, or for the first."""
    body: dict[str, Any] = {"count": count, "keepAlive": _KEEP_ALIVE}
    if query.types:
        body["entities"] = list(query.types)
    if scroll_id is not None:
        body["scrollId"] = scroll_id
    return action("/entities", "scrollAcrossEntities", query.to_wire(body))


def scroll_graphql_request(query: SearchParameters, count: int, scroll_id: str | None) -> Request:
    """Return the GraphQL request for a page of a scroll.

    It asks for no facets, because they cost more than the hits.
    """
    fields: dict[str, Any] = {
        "query": query.text or "*",
        "count": count,
        "keepAlive": _KEEP_ALIVE,
        "searchFlags": {"skipAggregates": True},
    }
    if scroll_id is not None:
        fields["scrollId"] = scroll_id
    if query.types:
        fields["types"] = [entity_symbol(name) for name in query.types]
    if query.filter:
        fields["orFilters"] = [
            {"and": [_wire_criterion(criterion) for criterion in group]}
            for group in query.filter.any_of
        ]
    if query.sort:
        sort = [order.to_wire() for order in query.sort]
        criteria = [
            {"field": wire_order["field"], "sortOrder": wire_order["order"]} for wire_order in sort
        ]
        fields["sortInput"] = {"sortCriteria": criteria}
    return graphql_request(_SCROLL, {"input": fields})


def list_urns_request(entity: str, start: int, count: int) -> Request:
    """Return a request for the URNs of one type, including those that are soft-deleted."""
    return action("/entities", "listUrns", {"entity": entity, "start": start, "count": count})


def browse_request(path: str, entity: str, start: int, limit: int) -> Request:
    """Return a request for a page of a folder."""
    body = {"path": path, "entity": entity, "start": start, "limit": limit}
    return action("/entities", "browse", body)


def browse_paths_request(urn: Urn) -> Request:
    """Return a request for the browse paths of an entity."""
    return action("/entities", "getBrowsePaths", {"urn": str(urn)})


def counts_request(entities: Sequence[str]) -> Request:
    """Return a request for the number of entities of each type."""
    return action("/entities", "batchGetTotalEntityCount", {"entities": list(entities)})


def entity_symbol(entity: str) -> str:
    """Return the name of an entity type in GraphQL's `EntityType`: `DATA_PLATFORM` for
    `dataPlatform`."""
    if entity in _SYMBOLS:
        return _SYMBOLS[entity]
    name = entity.replace("dataHub", "datahub")
    if name.startswith("ml"):
        return f"ML{_HUMP.sub('_', name[2:])}".upper()
    return _HUMP.sub("_", name).upper()


def with_removed(conditions: Filter) -> Filter:
    """Return the filter extended so that soft-deleted entities match as well.

    Servers leave them out unless a filter has a condition on the field `removed`.
    """
    removed = Criterion("removed", ("true",))
    either = (removed, Criterion("removed", ("true",), negated=True))
    if any(criterion.field == "removed" for group in conditions.any_of for criterion in group):
        return conditions
    groups = conditions.any_of if conditions else ((),)
    return Filter(tuple((*group, criterion) for group in groups for criterion in either))


def filter_of(conditions: Filter) -> dict[str, Any]:
    """Return the part of a request's body that holds a filter; empty for a filter without
    conditions."""
    return {"filter": conditions.to_wire()} if conditions else {}


def _wire_criterion(criterion: Criterion) -> dict[str, Any]:
    wire = criterion.to_graphql()
    if criterion.field == "_entityType":
        wire["values"] = [
            value if value.isupper() else entity_symbol(value) for value in criterion.values
        ]
    if not criterion.negated:
        del wire["negated"]
    return wire


NO_COLUMN_SORT = "columns come best match first; leave out the sort order"
NO_COLUMN_TYPES = "only datasets have columns; leave out the entity types"

_KEPT_SECONDS = 60.0
_MOST_FOUND = 100
_NAMES = ("displayName", "fullName", "name", "title")
_PEOPLE = frozenset({"corpuser", "corpGroup"})
_RUN = re.compile(r"[^\W_]+")


class FilterMethods(EntityMethods):
    """Adapting filters to the server, in particular filters that contain entity names."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._named: dict[tuple[tuple[str, ...], str], tuple[float, tuple[str, ...]]] = {}

    async def _adapt_filter(self, conditions: Filter) -> Filter:
        """Return the filter in a form that the server understands.

        For a server without names in filters, and before `/*` for any, each name is replaced by the
        URNs of the entities of that name: two requests for each name, cached for a minute. If the
        server lacks the field `documented`, the condition is replaced by one on `description`.
        """
        if not any(
            criterion.names or criterion.field == DOCUMENTED
            for group in conditions.any_of
            for criterion in group
        ):
            return conditions
        takes_names = (await self.abilities()).names
        groups = []
        for group in conditions.any_of:
            adapted = [
                replace(criterion, values=(*criterion.values, *criterion.names), names=())
                if takes_names and criterion.condition != "DESCENDANTS_INCL"
                else await self._adapt_criterion(criterion)
                for criterion in group
            ]
            groups.append(tuple(criterion for criterion in adapted if criterion is not None))
        return Filter(tuple(groups)) if all(groups) else Filter()

    async def _adapt_criterion(self, criterion: Criterion) -> Criterion | None:
        """Return a criterion that every server understands, or `None` if all entities meet it."""
        if criterion.field == DOCUMENTED:
            return _description_criterion(criterion)
        if not criterion.names:
            return criterion
        # Names in filters are rare, and the guide to the fields takes long to import.
        from explorer.query.fields import FilterField, guide_to

        field = guide_to(self.registry).exactly(criterion.field) or FilterField(criterion.field)
        is_parent = criterion.condition == "DESCENDANTS_INCL"
        types = field.parents if is_parent else field.targets
        urns = [urn for name in criterion.names for urn in await self._find_urns(name, types)]
        return replace(criterion, values=tuple(dict.fromkeys((*criterion.values, *urns))), names=())

    async def _find_urns(self, name: str, types: Sequence[str]) -> tuple[str, ...]:
        """Return the URNs of the entities of these types that have a name.

        People and groups are found by words of their names, all others by their whole name.
        """
        key = (tuple(types), name)
        since, urns = self._named.get(key, (float("-inf"), ()))
        if not types or monotonic() - since <= _KEPT_SECONDS:
            return urns
        try:
            request = search_request(SearchParameters(name, types), 0, _MOST_FOUND)
            page = parse_search(await self._connection.send(request), name)
            entities = await self.entities((hit.urn for hit in page), NAME_ASPECTS)
        except REFUSALS:
            # The server may not have one of the types.
            return ()
        urns = tuple(str(urn) for urn, entity in entities.items() if _has_name(entity, name))
        self._named[key] = (monotonic(), urns)
        return urns


def _description_criterion(criterion: Criterion) -> Criterion | None:
    values = {value.casefold() for value in criterion.values}
    if criterion.condition not in ("EQUAL", "IN") or values >= {"true", "false"}:
        return None
    condition: Condition = "EXISTS" if "true" in values else "IS_NULL"
    return Criterion("description", (), condition, criterion.negated)


def _has_name(entity: Entity, name: str) -> bool:
    if entity.entity_type in _PEOPLE:
        words = _name_words(name)
        return any(words <= _name_words(name) for name in _names_of(entity))
    return any(name.casefold() == entity_name.casefold() for entity_name in _names_of(entity))


def _names_of(entity: Entity) -> Iterator[str]:
    yield entity.name
    for aspect in NAME_ASPECTS:
        value = entity.raw(aspect) or {}
        yield from (value[name] for name in _NAMES if isinstance(value.get(name), str))


def _name_words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _RUN.findall(text))


class _Urns:
    """A source of pages with the URNs of the hits of another source."""

    def __init__(self, hits: Walk[Hit]) -> None:
        self._hits = hits

    async def next(self) -> Portion[Urn]:
        portion = await self._hits.next()
        urns = tuple(hit.urn for hit in portion.items)
        return Portion(
            urns,
            portion.count,
            portion.total,
            portion.last,
            portion.cut,
            portion.standing,
            portion.repeats,
        )


def _portion(page: SearchPage) -> Portion[Hit]:
    return Portion(page.hits, len(page.hits) + len(page.unreadable), page.total)


_ScrollRequest = Callable[[SearchParameters, int, str | None], Request]
_ParseScroll = Callable[[Any, str], tuple[SearchPage, str | None]]
_T = TypeVar("_T", bound=msgspec.Struct)
_HITS = 200
_HITS_PASSED = 1_000
_URNS = 2_500
_ENTRIES = 500


MOST_COMPARED = 50
"""The maximum number of search results that are compared with a name."""
_MOST_TOLD = 10


class SeveralNamed(InvalidInput):
    """Several entities (`urns`) have the same name."""

    def __init__(self, message: str, urns: list[Urn]) -> None:
        super().__init__(message)
        self.urns = urns


def only_named(name: str, types: Sequence[str], names: Mapping[Urn, str]) -> Urn:
    """Return the one entity in `names` that has the name. If no name matches exactly, case and
    surrounding spaces are ignored; then datasets are matched by the end of their full name after a
    dot: `sales.orders` matches `shop.sales.orders`.

    Raises `NotFound` if no entity has the name, `SeveralNamed` with the candidates if several do.
    `types` are the entity types that were asked for, for the message.
    """
    # Parentheses and commas of a name are encoded in its URN.
    spellings_by_urn = {urn: (name, urn.name, unquote(urn.name)) for urn, name in names.items()}
    exact = [urn for urn, spellings in spellings_by_urn.items() if name in spellings]
    folded = name.strip().casefold()
    candidates = exact or [
        urn
        for urn, spellings in spellings_by_urn.items()
        if folded in (spelling.strip().casefold() for spelling in spellings)
    ]
    candidates = candidates or [
        urn
        for urn, spellings in spellings_by_urn.items()
        if urn.entity_type == "dataset"
        and folded
        and spellings[-1].casefold().endswith(f".{folded}")
    ]
    if len(candidates) == 1:
        return candidates[0]
    short_name = line(name, 100)
    if not candidates:
        found_names = ", ".join(dict.fromkeys(line(name, 60) for name in list(names.values())[:3]))
        hint = f"; a search for it finds {found_names}" if found_names else ""
        what = f"no {' or '.join(map(singular, types))}" if types else "nothing here"
        raise NotFound(f"{what} is named {short_name!r}{hint}")
    listed = "".join(f"\n  {urn}" for urn in sorted(map(str, candidates))[:_MOST_TOLD])
    more = f"\n  and {len(candidates) - _MOST_TOLD} more" if len(candidates) > _MOST_TOLD else ""
    raise SeveralNamed(
        f"{len(candidates)} entities are named {short_name!r}; give the URN of one:{listed}{more}",
        candidates,
    )


async def folder_labels(catalog: EntityMethods, names: Iterable[str]) -> dict[str, str]:
    """Return the names of the entities that folders stand for, by folder name. One request for each
    150 such folders."""
    urns = {name: urn for name in names if isinstance(urn := _urn(name, "browse"), Urn)}
    entities = await catalog.summaries(urns.values()) if urns else {}
    return {name: entities[urn].name for name, urn in urns.items() if urn in entities}


class SearchMethods(FilterMethods):
    """Search, facets, counts and browsing."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._supported: dict[str, bool] = {}
        self._far: tuple[SearchParameters, PagesAt[Hit]] | None = None

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
    ) -> SearchPage:
        """Return a page of the entities that match `text`, with the facets of the whole result.

        Hits come best match first, or in the order of `sort`. All entity types are searched unless
        `entity` names some. `filter` and `sort` accept text in the query language
        (`explorer.query`), and conditions in `text`, as in `orders platform:snowflake`, are part of
        the filter; a text that is no such query is searched for as it is. If few entities have all
        words, or if the text is a question, entities that have most words follow
        (`SearchPage.complete`, `Hit.lacks`). Soft-deleted entities are left out unless the filter
        has a condition on `removed`. One request; a second if nothing matches and the server
        suggests another spelling. Beyond the first 10,000 results, those before the page are read
        first, 1,000 per request, unless the last call read them; without a sort they follow in the
        server's own order.

        With `columns`, the results are columns (`Hit.column`), best first: those with words of
        `text`, of the datasets that the search finds. Only `Abilities.columns` servers have that,
        and there are no facets.

        A later call with the same `superseding` key cancels this one, which then raises
        `Superseded`.
        """
        if columns:
            await self._check_columns(entity, sort)
        types = entity_types_from(entity or (), self.registry)
        words, conditions = query_from(text, filter, self.registry)
        order = sort_from(sort, self.registry)
        query = SearchParameters(
            words,
            types[0] if isinstance(entity, str) and types else types,
            await self._adapt_filter(conditions),
            order,
            columns,
        )
        page = await self._search_page(query, start, count, superseding)
        if not page.total and page.suggested not in (None, words):
            query = replace(query, text=page.suggested or "")
            again = await self._search_page(query, start, count, superseding)
            if again.total:
                page = replace(again, corrected=page.suggested)
        return replace(page, text=text)

    async def facets(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        filter: Filter | str | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[Facet, ...]:
        """Return the facets of a search: the values of each field with the number of entities.

        Without `names` all facets that the server counts are returned; with `names` only these, in
        that order, as far as the server counts them. One request.

        Example: `cat.facets("orders", entity="dataset")`
        """
        page = await self.search(text, entity=entity, filter=filter, count=0)
        if names is None:
            return page.facets
        facets = {facet.name: facet for facet in page.facets}
        return tuple(facets[name] for name in dict.fromkeys(names) if name in facets)

    async def counts(self, entities: Sequence[str] | None = None) -> dict[str, int]:
        """Return the number of entities of each type, without soft-deleted ones.

        With `entities` only these types, in that order; without it all types that have entities,
        most frequent first. One request, or one for each type if the server cannot count several at
        once.

        Example: `cat.counts(["dataset", "chart"])`
        """
        types = entity_types_from(
            self.registry.listed if entities is None else entities, self.registry
        )
        counts: dict[str, int] | None = None
        if self._supported.get("counts", True):
            try:
                body = await self._connection.send(counts_request(types))
                counts = parse_counts(body)
            except REFUSALS:
                pass
        if counts is None:
            counts = await self._fetch_counts(types, strictly=entities is not None)
            self._supported["counts"] = False
        if entities is not None:
            return {name: counts.get(name, 0) for name in types}
        present = ((name, number) for name, number in counts.items() if number)
        return dict(
            sorted(present, key=lambda type_and_count: (-type_and_count[1], type_and_count[0]))
        )

    async def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsePage:
        """Return a page of the folder at a browse path: its folders first, then its entities.

        An unknown path gives an empty page. One request, and one for each 150 folders that stand
        for an entity, to read their names.
        """
        request = browse_request(path, entity, start, count)
        reply = await self._connection.ask(request)
        page = parse_browse(reply.body, reply.as_of)
        return replace(page, folders=await self._label_folders(page.folders))

    async def _label_folders(self, folders: Sequence[Folder]) -> tuple[Folder, ...]:
        """Return the folders with the names of the entities that they stand for."""
        labels = await folder_labels(self, (folder.name for folder in folders))
        return tuple(
            replace(folder, label=labels[folder.name]) if folder.name in labels else folder
            for folder in folders
        )

    async def browse_paths(self, urn: str | Urn) -> tuple[str, ...]:
        """Return the browse paths of an entity; empty for an entity that does not exist. One
        request.

        Example: `cat.browse_paths(urn)`
        """
        request = browse_paths_request(Urn.parse(urn))
        return parse_browse_paths(await self._connection.send(request))

    async def urn_of(self, name: str | Urn, *types: str) -> Urn:
        """Return the URN of the entity with a name, of any entity type or of the given types; a URN
        is returned unchanged.

        Two requests, none for a URN. Raises `NotFound` if no entity has the name, and
        `InvalidInput` if several do, with their URNs, or if the name is empty.

        Example: `cat.urn_of("Nina Weber", "corpuser")`
        """
        if isinstance(name, Urn) or name.startswith("urn:"):
            return Urn.parse(name)
        if not name.strip():
            raise InvalidInput("give a name or a URN")
        page = await self.search(name, entity=types or None, count=MOST_COMPARED)
        entities = await self.summaries(hit.urn for hit in page.only_complete())
        return only_named(name, types, {urn: entity.name for urn, entity in entities.items()})

    async def other_spelling(self, urn: str | Urn) -> Urn | None:
        """Return the URN of a stored entity that differs from the given URN only in case, such as
        `l.hub` and `L.HUB`; None if there is none. One request.

        Example: `cat.other_spelling("urn:li:tag:pii")`
        """
        target = Urn.parse(urn)
        page = await self.search(target.name, entity=target.entity_type, count=MOST_COMPARED)
        folded = str(target).casefold()
        urns = (hit.urn for hit in page.only_complete() if hit.urn != target)
        return next((other for other in urns if str(other).casefold() == folded), None)

    def hits(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        filter: Filter | str | None = None,
        sort: "str | Sequence[Order] | None" = None,
        page_size: int = _HITS,
        limit: int | None = None,
        columns: bool = False,
    ) -> Pager[Hit]:
        """Return an iterator over all hits of a search that have all words, at most `limit`; with
        `columns` over columns.

        The hits of a text come best match first as far as the server can page by position (10,000
        with many servers), and after that in the server's own order. All entities (`*`) and sorted
        results are read in one order to the end. One request for each page.

        Example: `[hit.urn for hit in cat.hits("orders", limit=50)]`
        """
        words, conditions = query_from(text, filter, self.registry)
        query = SearchParameters(
            words,
            entity_types_from(entity, self.registry),
            conditions,
            sort_from(sort, self.registry),
            columns,
        )
        walk = self._walk_hits(query, _size(page_size, limit))
        return Pager(walk, key=_urn_of, limit=limit)

    def urns(
        self,
        entity: str | Sequence[str] | None = None,
        *,
        filter: Filter | str | None = None,
        include_removed: bool = False,
        page_size: int = _URNS,
        limit: int | None = None,
    ) -> Pager[Urn]:
        """Return an iterator over the URNs of all entities of some types, or of all types.

        Only entities that match the filter are returned, in the server's order; `include_removed`
        adds soft-deleted ones. One request for each page.

        Example: `list(cat.urns("dataset", filter="NOT owners:*"))`
        """
        types = entity_types_from(entity, self.registry)
        conditions = filter_from(filter, self.registry)
        query = SearchParameters(
            types=types, filter=with_removed(conditions) if include_removed else conditions
        )
        size = _size(page_size, limit)
        walks = [*self._scrolls(query, size), ("start", self._by_start(query, size))]
        if include_removed and len(types) == 1 and not conditions:
            # By far the fastest, but it cannot leave out soft-deleted entities.
            walks.insert(0, ("listUrns", self._walk_urns(types[0], size)))
        walk = _Urns(FirstThatWorks(walks, self._supported))
        return Pager(walk, key=str, limit=limit)

    def folder(
        self,
        path: str = "/",
        *,
        entity: str = "dataset",
        page_size: int = _ENTRIES,
        limit: int | None = None,
    ) -> Pager[Folder | Named]:
        """Return an iterator over the folders and then the entities at a browse path.

        One request for each page.

        Example: `list(cat.folder("/prod/snowflake"))`
        """
        walk = self._walk_folder(path, entity, _size(page_size, limit))
        return Pager(walk, key=_entry_of, limit=limit)

    async def undescribed(
        self,
        urns: Sequence[Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        start: int = 0,
        count: int = 1_000,
        days: int = 30,
    ) -> UndescribedPage:
        """Return a page of the tables and columns without a description, most important first.

        Importance is how much they were used in the last `days` days and how many entities are
        derived from them. One request.

        The datasets are those in `urns`, those in and below `folder`, or those that a search for
        `text` finds. Needs a server with `Abilities.stewardship`.

        Example: `cat.undescribed(filter="platform:snowflake", count=20)`
        """
        body = await self._datasets_body(urns, text, filter, folder)
        body |= {"start": start, "count": count, "days": days}
        answer = await self._connection.send(action("/stewardship", "worklist", body))
        return _convert_answer(answer, "worklist", UndescribedPage)

    async def described(
        self,
        urns: Sequence[Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        by: str | None = None,
    ) -> DescribedCounts:
        """Return how many tables and columns have a description.

        The counts are for all datasets together and, with `by`, for each `domain`, `folder`,
        `owner`, `platform` or `tag`. The datasets are selected like those of `undescribed`. One
        request.

        Example: `cat.described(by="platform")`
        """
        body = await self._datasets_body(urns, text, filter, folder)
        answer = await self._connection.send(action("/stewardship", "coverage", body | {"by": by}))
        return _convert_answer(answer, "coverage", DescribedCounts)

    async def described_trend(
        self,
        urns: Sequence[Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        by: str | None = None,
        days: int = 90,
        every: str = "day",
    ) -> DescribedTrend:
        """Return how many tables and columns had a description on each of the last `days` days.

        With `every="week"` there is one value for every seventh day. The counts are grouped with
        `by` as in `described`, and the datasets are chosen as in `undescribed`. Needs a server with
        `Abilities.coverage_trend`. One request.

        Example: `cat.described_trend(days=30)`
        """
        body = await self._datasets_body(urns, text, filter, folder)
        body |= {"by": by, "days": days, "every": every}
        answer = await self._connection.send(action("/stewardship", "trend", body))
        return _convert_answer(answer, "trend", DescribedTrend)

    async def _datasets_body(
        self,
        urns: Sequence[Urn],
        text: str,
        filter: Filter | str | None,
        folder: str | None,
    ) -> dict[str, Any]:
        words, conditions = query_from(text, filter, self.registry)
        body: dict[str, Any] = {}
        if urns:
            body["urns"] = [str(urn) for urn in urns]
        if words != "*":
            body["input"] = words
        if folder is not None:
            body["folder"] = folder
        return body | filter_of(await self._adapt_filter(conditions))

    async def _check_columns(
        self, entity: str | Sequence[str] | None, sort: "str | Sequence[Order] | None"
    ) -> None:
        if sort:
            raise InvalidInput(NO_COLUMN_SORT)
        if {*entity_types_from(entity or (), self.registry)} - {"dataset"}:
            raise InvalidInput(NO_COLUMN_TYPES)
        if not (await self.abilities()).columns:
            raise InvalidInput(
                "this server does not search for columns; search for the tables that have them"
            )

    async def _search_page(
        self, query: SearchParameters, start: int, count: int, superseding: str | None
    ) -> SearchPage:
        if start + count > WINDOW and not query.columns:
            return await self._latest.run(superseding, self._far_page(query, start, count))
        request = search_request(query, start, count)
        reply = await self._latest.run(superseding, self._connection.ask(request))
        return parse_search(reply.body, query.text, reply.as_of)

    async def _far_page(self, query: SearchParameters, start: int, count: int) -> SearchPage:
        """Return a page that ends beyond the number of results that servers page through by
        position."""
        page = await self._search_page(query, 0, 0, None)
        if start >= page.total:
            return replace(page, start=start)
        if self._far is None or self._far[0] != query or start < self._far[1].begin:
            pager = Pager(self._walk_all(query, _HITS_PASSED), key=_urn_of)
            self._far = query, PagesAt(pager)
        hits = await self._far[1].read(start, count)
        if len(hits) < count:
            # Not kept, because a later call is to find entities that were added since.
            self._far = None
        return replace(page, start=start, hits=tuple(hits))

    def _walk_all(self, query: SearchParameters, size: int) -> Walk[Hit]:
        """Return a source of pages with all hits of a search, in the order of pages by position as
        far as the server has these."""
        types = (query.types,) if isinstance(query.types, str) else query.types
        query = replace(query, types=types)
        by_start, scrolls = self._by_start(query, size), self._scrolls(query, size)
        if query.sort:
            return FirstThatWorks([*scrolls, ("start", by_start)], self._supported)
        return RankedPages(by_start, FirstThatWorks(scrolls, self._supported))

    def _walk_hits(self, query: SearchParameters, size: int) -> Walk[Hit]:
        """Return a source of pages with all hits of a search, best match first if there is a
        text."""
        if query.columns:
            return self._by_start(query, size)
        if query.sort or query.text not in ("", "*"):
            return self._walk_all(query, size)
        walks = [*self._scrolls(query, size), ("start", self._by_start(query, size))]
        return FirstThatWorks(walks, self._supported)

    def _walk_folder(self, path: str, entity: str, size: int) -> Walk[Folder | Named]:
        """Return a source of pages with the folders and entities at a browse path."""
        folders: set[str] = set()

        async def ask(start: int, count: int) -> tuple[Portion[Folder | Named], int]:
            request = browse_request(path, entity, start, count)
            page = parse_browse(await self._connection.send(request))
            fresh = [folder for folder in page.folders if folder.name not in folders]
            page_folders = await self._label_folders(
                fresh if page.repeats_folders else page.folders
            )
            folders.update(folder.name for folder in page.folders)
            entry_count = len(page_folders) + len(page.entities) + len(page.unreadable)
            end = start + page.end - page.start
            return Portion((*page_folders, *page.entities), entry_count, page.entry_count), end

        return ByStart(ask, size)

    def _by_start(self, query: SearchParameters, size: int) -> Walk[Hit]:
        types = query.types[0] if len(query.types) == 1 else query.types

        async def ask(start: int, count: int) -> tuple[Portion[Hit], int]:
            adapted = replace(query, types=types, filter=await self._adapt_filter(query.filter))
            reply = await self._connection.send(search_request(adapted, start, count))
            portion = _portion(parse_search(reply, query.text).only_complete())
            return portion, start + portion.count

        return ByStart(ask, size)

    def _scrolls(self, query: SearchParameters, size: int) -> list[tuple[str, Walk[Hit]]]:
        """Return the two sources of pages that use scrolling, with the names of their methods."""

        def scroll(request_of: _ScrollRequest, parse: _ParseScroll) -> Walk[Hit]:
            async def ask(scroll_id: str | None) -> tuple[Portion[Hit], str | None]:
                adapted = replace(query, filter=await self._adapt_filter(query.filter))
                reply = await self._connection.send(request_of(adapted, size, scroll_id))
                page, following = parse(reply, query.text)
                return _portion(page), following

            return ByScroll(ask)

        return [
            ("scroll", scroll(scroll_request, parse_scroll)),
            ("scroll in GraphQL", scroll(scroll_graphql_request, parse_scroll_graphql)),
        ]

    def _walk_urns(self, entity: str, size: int) -> Walk[Hit]:
        async def ask(start: int, count: int) -> tuple[Portion[Hit], int]:
            page = parse_urns(await self._connection.send(list_urns_request(entity, start, count)))
            portion = _portion(page)
            return portion, start + portion.count

        return ByStart(ask, size)

    async def _fetch_counts(self, types: Sequence[str], *, strictly: bool) -> dict[str, int]:
        pages = await asyncio.gather(
            *(self.search(entity=name, count=0) for name in types), return_exceptions=True
        )
        counts = {}
        for name, page in zip(types, pages, strict=True):
            if isinstance(page, SearchPage):
                counts[name] = page.total
            elif strictly or not isinstance(page, REFUSALS):
                raise page
        return counts


def _convert_answer(answer: Any, what: str, kind: type[_T]) -> _T:
    @read_as(what)
    def read(body: Any) -> _T:
        return msgspec.convert(value_of(body, what), kind, strict=False)

    return read(answer)


def _size(page_size: int, limit: int | None) -> int:
    if page_size < 1:
        raise InvalidInput(f"page_size must be at least 1, not {page_size}")
    return page_size if limit is None else max(1, min(page_size, limit))


def _urn_of(hit: Hit) -> Urn:
    return hit.urn


def _entry_of(entry: Folder | Named) -> object:
    return entry.urn if isinstance(entry, Named) else entry.name


async def missing_entity(catalog: SearchMethods, urn: str | Urn) -> NotFound:
    """Return the error for an entity that does not exist, with the URN of one that differs from it
    in case alone. One request."""
    spelling = await catalog.other_spelling(urn)
    hint = f"; did you mean {spelling}?" if spelling is not None else ""
    return NotFound(f"there is no {urn} in this catalog{hint}")
