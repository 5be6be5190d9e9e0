"""The places where browsing finds entities: stored paths, paths derived from URNs, and folders."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from explorer.errors import InvalidUrn
from explorer.metadata.browse_paths import (
    group_of,
    join_path,
    newer_folders,
    split_path,
    stored_paths,
    suggested_path,
)
from explorer.metadata.names import NAME_ASPECTS, display_name, natural_key
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.search import SearchEngine
from explorer.server.search.document import BROWSE_PATHS, FolderCount, FolderQuery
from explorer.server.store import Placement, Store, StoredAspect

# Platforms whose dataset names are paths. Names on other platforms are separated by dots, unless
# the platform has another delimiter.
_SLASHED = frozenset({"abs", "adlsGen1", "adlsGen2", "file", "gcs", "hdfs", "s3"})


def default_delimiter(platform: str | None) -> str:
    """Return the default delimiter in dataset names of a platform, for platforms that do not set
    one."""
    return "/" if platform in _SLASHED else "."


def placements(
    urn: Urn, name: str, values: Mapping[str, Any], delimiter: str
) -> tuple[Placement, ...]:
    """Return the places of an entity: one for each path in its aspects, or else the default one.

    A path of `browsePaths` that ends in the entity's own name (its display name, the name in its
    URN or the last part of that) places the entity in the folder before. Any other path is the
    folder itself.
    """
    paths = [split_path(path) for path in stored_paths(urn, values)]
    own_names = {name.casefold(), urn.name.casefold(), _last_part(urn, delimiter).casefold()}
    places = [
        Placement(path[:-1], path[-1]) if path[-1].casefold() in own_names else Placement(path)
        for path in paths
    ]
    if folders := newer_folders(values):
        places.append(Placement(folders))
    if not places:
        path = suggested_path(urn, delimiter, group_of(values))
        places = [Placement(path[:-1], path[-1]) if path else Placement(())]
    return tuple(dict.fromkeys(places))


def browse_paths(urn: Urn, values: Mapping[str, Any], delimiter: str) -> list[str]:
    """Return the paths of an entity as texts: those in its aspects, or else one derived from its
    URN, if any."""
    folders = newer_folders(values)
    paths = [*stored_paths(urn, values), *([join_path(folders)] if folders else ())]
    suggested = suggested_path(urn, delimiter, group_of(values))
    return paths or ([join_path(suggested)] if suggested else [])


def _last_part(urn: Urn, delimiter: str) -> str:
    separator = "." if urn.entity_type in ("glossaryTerm", "glossaryNode") else delimiter
    parts = [part for part in urn.name.split(separator) if part]
    return parts[-1] if parts else urn.name


AspectOf = Callable[[str, str], StoredAspect | None]
"""Returns the latest version of an aspect, by URN and aspect name."""

_CONTAINER = "container"
_DEEPEST = 40


def derive_path(
    registry: Registry,
    urn: Urn,
    values: Mapping[str, Any],
    delimiter: str,
    aspect_of: AspectOf,
) -> dict[str, Any] | None:
    """Return the `browsePathsV2` that an entity without one has, or `None` if it has one, or none
    can be derived. Reads one aspect for each container above the entity.
    """
    entity = registry.entities.get(urn.entity_type)
    if not values or BROWSE_PATHS in values or not entity or BROWSE_PATHS not in entity.aspects:
        return None
    above = containers_of(values, aspect_of)
    if above:
        path = [{"id": container, "urn": container} for container in above]
    else:
        places = placements(urn, display_name(urn, values), values, delimiter)
        path = [{"id": folder} for folder in places[0].folder] if places else []
    return {"path": path} if path else None


def containers_of(values: Mapping[str, Any], aspect_of: AspectOf) -> list[str]:
    """Return the URNs of the containers of an entity, outermost first; stops at a cycle."""
    containers: list[str] = []
    at = _container(values.get(_CONTAINER))
    while at is not None and at not in containers and len(containers) < _DEEPEST:
        containers.append(at)
        stored = aspect_of(at, _CONTAINER)
        at = _container(orjson.loads(stored.value)) if stored else None
    return containers[::-1]


def _container(value: Any) -> str | None:
    container = value.get(_CONTAINER) if isinstance(value, dict) else None
    return container if isinstance(container, str) and container else None


class FolderGroup(Struct, frozen=True):
    """A folder: its id, its label, and the URN of the entity that it represents, if any.

    `count` is the number of entities in or below it; `has_subgroups` says whether it has
    subfolders.
    """

    name: str
    label: str
    entity: str | None
    count: int
    has_subgroups: bool


class FolderPage(Struct, frozen=True):
    """A page of the folders at a path, ordered by label.

    `total` is the number of folders, `total_entities` the number of entities in and below the path.
    """

    groups: tuple[FolderGroup, ...]
    total: int
    total_entities: int


def read_folders(
    store: Store, index: SearchEngine, query: FolderQuery, start: int, count: int
) -> FolderPage:
    """Return a page of the folders directly below a path; takes a few milliseconds.

    Raises as `SearchEngine.search`.
    """
    counts = index.folders(query)
    labels = _labels(store, [folder.id for folder in counts.folders])

    def place(folder: FolderCount) -> tuple[str, str]:
        return natural_key(labels.get(folder.id, folder.id)), folder.id

    page = sorted(counts.folders, key=place)[start : start + count]
    groups = tuple(
        FolderGroup(
            folder.id,
            labels.get(folder.id, folder.id),
            folder.id if folder.id in labels else index.folder_urn(query, folder.id),
            folder.count,
            folder.has_folders,
        )
        for folder in page
    )
    return FolderPage(groups, len(counts.folders), counts.total)


def _labels(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Return the display names of those ids that are URNs, by id."""
    urns = {id_: urn for id_ in ids if id_.startswith("urn:li:") and (urn := _parse(id_))}
    stored = store.aspects(list(urns), NAME_ASPECTS) if urns else {}
    return {
        urn_text: display_name(
            urn, {aspect.name: orjson.loads(aspect.value) for aspect in stored.get(urn_text, ())}
        )
        for urn_text, urn in urns.items()
    }


def _parse(text: str) -> Urn | None:
    try:
        return Urn.parse(text)
    except InvalidUrn:
        return None
