"""Search, completion and browsing, in either dialect.

An answer of another shape is a `ServerFault` that names what is wrong with it. A single URN that
cannot be read loses no page: it is left out and said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from explorer.client import failures
from explorer.client.answers.shape import Json, as_object, read_as, value_of
from explorer.client.records import (
    BrowsePage,
    Facet,
    FacetValue,
    Folder,
    Hit,
    Match,
    Named,
    SearchPage,
)
from explorer.errors import InvalidUrn, ServerFault
from explorer.metadata.urn import Urn

__all__ = [
    "graphql_data",
    "parse_browse",
    "parse_browse_paths",
    "parse_counts",
    "parse_scroll",
    "parse_scroll_graphql",
    "parse_search",
    "parse_urns",
]


_DATAHUB_VALUES = 20


@read_as("search")
def parse_search(body: Any, text: str, as_of: datetime | None = None) -> SearchPage:
    """Endpoint 6, in either shape; also its twins over several types."""
    return _parse_page(value_of(body, "search"), text, as_of)


@read_as("scroll")
def parse_scroll(body: Any, text: str) -> tuple[SearchPage, str | None]:
    """A page of a scroll, and what to go on with; nothing after the last. Its `start` says
    nothing."""
    value = value_of(body, "scroll")
    return _parse_page(value, text, None), _scroll_id(value.get("scrollId"))


def parse_scroll_graphql(body: Any, text: str) -> tuple[SearchPage, str | None]:
    """The same from GraphQL."""
    value = as_object(graphql_data(body).get("scrollAcrossEntities"), "scrollAcrossEntities")
    hits, unreadable = _hits(list_in(value, "searchResults", "scroll"), ())
    total = _number(value, "total", "scroll")
    page = SearchPage(text, 0, total, hits, unreadable=unreadable)
    return page, _scroll_id(value.get("nextScrollId"))


def parse_urns(body: Any) -> SearchPage:
    """The answer of listUrns, as a page of bare hits."""
    what = "the list of URNs"
    value = value_of(body, what)
    hits, unreadable = _hits(list_in(value, "entities", what), ())
    start, total = _number(value, "start", what), _number(value, "total", what)
    return SearchPage("*", start, total, hits, unreadable=unreadable)


def parse_browse(body: Any, as_of: datetime | None = None) -> BrowsePage:
    """Endpoint 5; folders stand at one of two places."""
    value = value_of(body, "browse")
    metadata = as_object(value.get("metadata") or {}, "browse (its metadata)")
    place = value if value.get("groups") else metadata
    folders = tuple(_folder(entry) for entry in list_in(place, "groups", "browse"))
    here = _number(value, "numEntities", "browse")
    entities, unreadable = [], []
    for entry in list_in(value, "entities", "browse"):
        held = as_object(entry, "browse (an entity)")
        urn = _urn(held.get("urn"), "browse (the urn of an entity)")
        if isinstance(urn, str):
            unreadable.append(urn)
        else:
            entities.append(Named(urn, held.get("name") or urn.name))
    # Servers that do not count them give every folder on each page.
    repeating = "numElements" not in value
    return BrowsePage(
        metadata.get("path", ""),
        _number(value, "from", "browse"),
        here,
        _number(metadata, "totalNumEntities", "browse"),
        here + len(folders) if repeating else _number(value, "numElements", "browse"),
        folders,
        tuple(entities),
        repeating,
        tuple(unreadable),
        as_of,
    )


def parse_browse_paths(body: Any) -> tuple[str, ...]:
    """Where an entity is found when browsing."""
    paths = as_object(body, "browse paths").get("value")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ServerFault("the server's answer to browse paths is not a list of paths")
    return tuple(paths)


def parse_counts(body: Any) -> dict[str, int]:
    """How many entities of each type there are."""
    value = value_of(body, "counts")
    return {entity: _number(value, entity, "counts") for entity in value}


def graphql_data(body: Any) -> Json:
    """The `data` of a GraphQL answer; raises the error that the first of its errors stands for."""
    answer = as_object(body, "GraphQL")
    if answer.get("errors"):
        raise failures.from_graphql(answer["errors"])
    return as_object(answer.get("data"), "GraphQL (its data)")


def _parse_page(value: Json, text: str, as_of: datetime | None) -> SearchPage:
    metadata = as_object(value.get("metadata") or {}, "search (its metadata)")
    matches = [_matches(entry) for entry in list_in(metadata, "matches", "search")]
    told = [
        as_object(entry, "search (an explanation)")
        for entry in list_in(metadata, "explanations", "search")
    ]
    hits, unreadable = _hits(list_in(value, "entities", "search"), matches, told)
    return SearchPage(
        text,
        _number(value, "from", "search"),
        _number(value, "numEntities", "search"),
        hits,
        _facets(metadata),
        unreadable,
        as_of,
        _text_or_none(metadata.get("corrected")),
        _suggested(metadata),
    )


def _suggested(metadata: Json) -> str | None:
    """The best of the texts that a DataHub server proposes."""
    for one in list_in(metadata, "suggestions", "search"):
        if isinstance(one, dict) and isinstance(one.get("text"), str):
            return str(one["text"])
    return None


def _text_or_none(given: Any) -> str | None:
    return given if isinstance(given, str) and given else None


def _hits(
    entries: Sequence[Any],
    matches: Sequence[tuple[Match, ...]],
    explanations: Sequence[Json] = (),
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    hits, unreadable = [], []
    for at, entry in enumerate(entries):
        beside = matches[at] if at < len(matches) else ()
        hit = _hit(entry, beside)
        if isinstance(hit, str):
            unreadable.append(hit)
        else:
            hits.append(_explained(hit, explanations[at]) if at < len(explanations) else hit)
    return tuple(hits), tuple(unreadable)


def _hit(entry: Any, beside: tuple[Match, ...]) -> Hit | str:
    """A hit, or the text that is no URN."""
    match entry:
        case str():
            urn = _urn(entry, "search (a hit)")
            return urn if isinstance(urn, str) else Hit(urn, beside)
        case {"entity": {"urn": str(named)}} | {"entity": str(named)}:
            score = entry.get("score")
            urn = _urn(named, "search (the entity of a hit)")
            return urn if isinstance(urn, str) else Hit(urn, _matches(entry) or beside, score)
    raise ServerFault(f"a hit in the server's answer to search names no entity: {entry!r:.80}")


def _explained(hit: Hit, told: Json) -> Hit:
    """The hit with what our own server says of its place; what it does not say stays."""
    weights = told.get("weights")
    weights = weights if isinstance(weights, list) else []
    matched = tuple(
        replace(match, weight=_float(weights[at])) if at < len(weights) else match
        for at, match in enumerate(hit.matched)
    )
    score = _float(told.get("score"))
    reason = told.get("reason")
    return replace(
        hit,
        matched=matched,
        score=hit.score if score is None else score,
        reason=reason if isinstance(reason, str) else "",
        use=_float(told.get("use")) or 0.0,
    )


def _float(given: Any) -> float | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number else None


def _urn(text: Any, what: str) -> Urn | str:
    """A URN, or the text that is none; raises `ServerFault` for what is no text."""
    if not isinstance(text, str):
        raise ServerFault(f"the server's answer to {what} is not a URN: {text!r:.80}")
    try:
        return Urn.parse(text)
    except InvalidUrn:
        return text


def _matches(entry: Any) -> tuple[Match, ...]:
    found = as_object(entry, "search (its matches)").get("matchedFields") or ()
    return tuple(
        Match(field["name"], str(field.get("value", "")))
        for field in found
        if isinstance(field, dict) and isinstance(field.get("name"), str)
    )


def _facets(metadata: Json) -> tuple[Facet, ...]:
    """The facets at both places that servers have them at, each once; the older place first,
    whose facets go by the same words on every server."""
    found: dict[str, Facet] = {}
    for place in ("searchResultMetadatas", "aggregations"):
        for entry in list_in(metadata, place, "search"):
            facet = _facet(as_object(entry, "search (a facet)"))
            before = found.setdefault(facet.name, facet)
            if place == "aggregations" and before.has_more != facet.has_more:
                found[facet.name] = replace(before, has_more=facet.has_more)
    return tuple(found.values())


def _facet(entry: Json) -> Facet:
    name = entry.get("name")
    if not isinstance(name, str):
        raise ServerFault("a facet in the server's answer to search has no name")
    counted: Mapping[str, Any] = as_object(entry.get("aggregations") or {}, f"the facet {name}")
    if not counted:
        values = list_in(entry, "filterValues", f"the facet {name}")
        counted = {
            one["value"]: one.get("facetCount", 0)
            for one in values
            if isinstance(one, dict) and isinstance(one.get("value"), str)
        }
    found = (FacetValue(value, _number(counted, value, f"the facet {name}")) for value in counted)
    ordered = sorted(found, key=lambda one: (-one.count, one.value))
    # DataHub does not say whether there are more, and gives no more than these.
    more = entry.get("hasMore", len(ordered) == _DATAHUB_VALUES)
    return Facet(name, entry.get("displayName") or _words(name), tuple(ordered), more is True)


def _folder(entry: Any) -> Folder:
    held = as_object(entry, "browse (a folder)")
    if not isinstance(held.get("name"), str):
        raise ServerFault("a folder in the server's answer to browse has no name")
    return Folder(held["name"], _number(held, "count", "browse (a folder)"))


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


def _scroll_id(given: Any) -> str | None:
    return given if isinstance(given, str) and given else None


def _words(name: str) -> str:
    """`glossaryTerms` as people write it: `glossary terms`."""
    spaced = "".join(f" {char.lower()}" if char.isupper() else char for char in name.lstrip("_"))
    return spaced.strip()
