"""Folders by what entities say of where they stand: each names the whole way to itself.

There is no second tree to keep: a folder is there as long as an entity names it, and its counts are
those of a search, so that text and filters narrow them too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.query.filters import Filter

__all__ = [
    "MOST_FOLDERS",
    "Folder",
    "FolderQuery",
    "Folders",
    "folder_key",
    "folder_keys",
    "folders_in",
    "listed",
]

_MARK = "␟"
MOST_FOLDERS = 10_000
_DEEPEST = 40
_ALL = Filter()


@dataclass(frozen=True, slots=True)
class FolderQuery:
    """Which folders: those right below `path`, ids from the top, that entities of these types (None
    for all) which the text and the filter let through are found in or below."""

    entity_types: tuple[str, ...] | None
    path: tuple[str, ...]
    text: str = ""
    filter: Filter = _ALL


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder: how many entities are in or below it, and whether it has folders itself."""

    id: str
    count: int
    has_folders: bool


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a path by their ids, of `total` entities in and below the path."""

    total: int
    folders: tuple[Folder, ...]


def folder_key(path: Sequence[str]) -> str:
    """A folder as one text; those that hold it begin it."""
    return "".join(f"{_MARK}{one}" for one in path)


def folder_keys(path: Sequence[str]) -> list[str]:
    """The folder and all that hold it, from the top."""
    return [folder_key(path[:depth]) for depth in range(1, min(len(path), _DEEPEST) + 1)]


def folders_in(aspect: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """The way to an entity as (id, URN or nothing), from the value of its browsePathsV2."""
    path = aspect.get("path") if aspect else None
    return tuple(
        (entry["id"], entry.get("urn") or "")
        for entry in path or ()
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )


def listed(counts: Mapping[str, tuple[int, int]]) -> Iterable[Folder]:
    """Folders from their keys with how many entities are below, and how many of those deeper."""
    for key in sorted(counts):
        count, deeper = counts[key]
        if count > 0:
            yield Folder(key.rpartition(_MARK)[2], count, deeper > 0)
