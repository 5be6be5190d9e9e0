"""Search, completion and browsing, in either dialect."""

from typing import Any

from explorer.client.answers.shape import Json, value_of
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
from explorer.metadata.urn import Urn

__all__ = ["browse", "search", "suggestions"]


def search(body: Any, text: str) -> SearchPage:
    """Endpoint 6, in either shape."""
    value = value_of(body, "search")
    metadata = value.get("metadata") or {}
    matches = [_matches(entry) for entry in metadata.get("matches") or ()]
    hits = []
    for at, entry in enumerate(value.get("entities") or ()):
        if isinstance(entry, str):
            matched = matches[at] if at < len(matches) else ()
            hits.append(Hit(Urn.parse(entry), matched))
        else:
            hits.append(Hit(Urn.parse(entry["entity"]), _matches(entry), entry.get("score")))
    facets = metadata.get("searchResultMetadatas") or metadata.get("aggregations") or ()
    return SearchPage(
        text,
        int(value.get("from", 0)),
        int(value.get("numEntities", 0)),
        tuple(hits),
        tuple(_facet(entry) for entry in facets),
    )


def suggestions(body: Any) -> tuple[str, ...]:
    """Endpoint 7."""
    found = value_of(body, "autocomplete").get("suggestions") or ()
    return tuple(text for text in found if isinstance(text, str))


def browse(body: Any) -> BrowsePage:
    """Endpoint 5; folders stand at one of two places."""
    value = value_of(body, "browse")
    metadata = value.get("metadata") or {}
    folders = value.get("groups") or metadata.get("groups") or ()
    here = int(value.get("numEntities", 0))
    return BrowsePage(
        metadata.get("path", ""),
        int(value.get("from", 0)),
        here,
        int(metadata.get("totalNumEntities", 0)),
        # Servers that do not count them give every folder on each page.
        int(value.get("numElements", here + len(folders))),
        tuple(Folder(entry["name"], int(entry["count"])) for entry in folders),
        tuple(
            Named(Urn.parse(entry["urn"]), entry.get("name") or Urn.parse(entry["urn"]).name)
            for entry in value.get("entities") or ()
        ),
    )


def _matches(entry: Any) -> tuple[Match, ...]:
    fields = entry.get("matchedFields") or ()
    return tuple(Match(found["name"], str(found["value"])) for found in fields)


def _facet(entry: Json) -> Facet:
    counts = entry.get("aggregations") or {}
    values = tuple(FacetValue(value, int(count)) for value, count in counts.items())
    ordered = sorted(values, key=lambda one: (-one.count, one.value))
    name = entry["name"]
    return Facet(name, entry.get("displayName") or _words(name), tuple(ordered))


def _words(name: str) -> str:
    """`glossaryTerms` as people write it: `glossary terms`."""
    spaced = "".join(f" {char.lower()}" if char.isupper() else char for char in name.lstrip("_"))
    return spaced.strip()
