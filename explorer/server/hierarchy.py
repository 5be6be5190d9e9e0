"""The folders an entity stands in when it does not say so itself: its containers, from the
outermost, else the folders of its browse path."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from explorer.metadata.names import display_name
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.paths import placements
from explorer.server.search.document import BROWSE_PATHS

__all__ = ["AspectOf", "containers_of", "with_folders"]

AspectOf = Callable[[str, str], bytes | None]
"""Reads the latest value of an aspect, by URN and aspect name."""

_CONTAINER = "container"
_DEEPEST = 40


def with_folders(
    registry: Registry,
    urn: Urn,
    values: Mapping[str, Any],
    delimiter: str,
    aspect_of: AspectOf,
) -> Mapping[str, Any]:
    """The values of an entity's aspects, with a browsePathsV2 where its type takes one and it has
    none. Reads one aspect for each container above it."""
    entity = registry.entities.get(urn.entity_type)
    if not values or BROWSE_PATHS in values or not entity or BROWSE_PATHS not in entity.aspects:
        return values
    above = containers_of(values, aspect_of)
    if above:
        path = [{"id": one, "urn": one} for one in above]
    else:
        stored = values.get("browsePaths", {}).get("paths")
        places = placements(urn, display_name(urn, values), stored, delimiter)
        path = [{"id": folder} for folder in places[0].folder] if places else []
    return {**values, BROWSE_PATHS: {"path": path}} if path else values


def containers_of(values: Mapping[str, Any], aspect_of: AspectOf) -> list[str]:
    """The URNs of the containers that an entity is in, from the outermost; a circle is cut."""
    found: list[str] = []
    at = _container(values.get(_CONTAINER))
    while at is not None and at not in found and len(found) < _DEEPEST:
        found.append(at)
        stored = aspect_of(at, _CONTAINER)
        at = _container(orjson.loads(stored)) if stored else None
    return found[::-1]


def _container(value: Any) -> str | None:
    named = value.get(_CONTAINER) if isinstance(value, dict) else None
    return named if isinstance(named, str) and named else None
