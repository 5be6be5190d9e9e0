"""Browsing by folders that entities of several types share, each maybe an entity itself."""

from collections.abc import Sequence

import orjson
from msgspec import Struct

from explorer.errors import InvalidUrn
from explorer.metadata.names import NAME_ASPECTS, display_name, natural_key
from explorer.metadata.urn import Urn
from explorer.server.search.folders import Folder, FolderQuery
from explorer.server.search.index import SearchIndex
from explorer.server.store import Store

__all__ = ["FolderGroup", "FolderPage", "read_folders"]


class FolderGroup(Struct, frozen=True):
    """A folder: its id, what it is called, the URN of the entity behind it if there is one, how
    many entities are in or below it, and whether it has folders itself."""

    name: str
    label: str
    entity: str | None
    count: int
    has_subgroups: bool


class FolderPage(Struct, frozen=True):
    """A page of the folders at a path, in the order of what they are called; `total` is how many
    folders there are, `total_entities` how many entities are in and below the path."""

    groups: tuple[FolderGroup, ...]
    total: int
    total_entities: int


def read_folders(
    store: Store, index: SearchIndex, query: FolderQuery, start: int, count: int
) -> FolderPage:
    """The folders right below a path; a few milliseconds. Raises as `SearchIndex.search`."""
    found = index.folders(query)
    labels = _labels(store, [folder.id for folder in found.folders])

    def place(folder: Folder) -> tuple[str, str]:
        return natural_key(labels.get(folder.id, folder.id)), folder.id

    page = sorted(found.folders, key=place)[start : start + count]
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
    return FolderPage(groups, len(found.folders), found.total)


def _labels(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """What the entities are called whose URNs are among the ids."""
    urns = {one: urn for one in ids if one.startswith("urn:li:") and (urn := _parsed(one))}
    stored = store.aspects(list(urns), NAME_ASPECTS) if urns else {}
    return {
        one: display_name(
            urn, {aspect.name: orjson.loads(aspect.value) for aspect in stored.get(one, ())}
        )
        for one, urn in urns.items()
    }


def _parsed(text: str) -> Urn | None:
    try:
        return Urn.parse(text)
    except InvalidUrn:
        return None
