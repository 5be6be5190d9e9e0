"""Browse paths: the folders in which an entity is browsed, stored or derived from its URN."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from explorer.metadata.urn import Urn

PATH_ASPECTS: Final = ("browsePaths", "browsePathsV2", "glossaryTermInfo")
"""The aspects that contain the folders of an entity."""

_FOLDER: Final = re.compile(r"(?:\\/|[^/])+")
_WORDS: Final = re.compile(r"\w+")


def split_path(path: str) -> tuple[str, ...]:
    """Return the folders of a path, ignoring empty parts and slashes at the ends. A slash in the
    name of a folder is written `\\/`."""
    if "\\/" in path:
        return tuple(folder.replace("\\/", "/") for folder in _FOLDER.findall(path))
    return tuple(filter(None, path.split("/")))


def join_path(folders: Iterable[str]) -> str:
    """Return folders joined into a path, with slashes in their names escaped; the inverse of
    `split_path`."""
    return "".join(f"/{_escape(folder)}" for folder in folders)


def below_path(path: str, name: str) -> str:
    """Return the path of a folder inside another."""
    return f"{path.rstrip('/')}/{_escape(name)}"


def _escape(folder: str) -> str:
    return folder.replace("/", "\\/")


def suggested_path(urn: Urn, delimiter: str, group: str | None = None) -> tuple[str, ...]:
    """Return the path derived from a URN, in lower case; empty (the root) if there is none.

    `delimiter` separates the parts of dataset names; `group` is the URN of the group that contains
    a glossary term now, whatever the term's own URN says.
    """
    match urn.entity_type, urn.parts:
        case (("dataset" | "mlModel" | "mlModelGroup"), (_, name, origin)):
            path = f"{origin}/{urn.platform}/{name.replace(delimiter, '/')}"
        case (("chart" | "dashboard" | "notebook"), (tool, key)):
            path = f"{tool}/{key}"
        case "dataFlow", (orchestrator, flow, cluster):
            path = f"{orchestrator}/{cluster}/{flow}"
        case "dataJob", (flow_urn, job):
            path = f"{urn.platform}/{Urn.label(flow_urn)}/{job}"
        case "glossaryTerm", (name,):
            own = name.rpartition(".")[2] if group else name
            path = ".".join(filter(None, (group and Urn.label(group), own))).replace(".", "/")
        case _:
            return ()
    return split_path(path.lower())


def stored_paths(urn: Urn, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths in the `browsePaths` of an entity; none if a source sent only the newer
    aspect, for which servers store the path derived from the URN."""
    paths = _listed(values, "browsePaths", "paths")
    texts = tuple(path for path in paths if isinstance(path, str) and split_path(path))
    if len(texts) == 1 and (newer_folders(values) or group_of(values)):
        # The delimiter of the platform may have changed since, and the group of a term, which may
        # have been at the top level.
        suggestion = _WORDS.findall(" ".join(suggested_path(urn, "/")))
        is_default = _WORDS.findall(texts[0].lower()) == suggestion
        return () if is_default or texts == top_paths(urn) else texts
    return texts


def top_paths(urn: Urn) -> tuple[str, ...]:
    """Return the stored paths of a glossary term that was moved to the top level, where the path
    that its URN suggests would be in a folder; empty for any other entity."""
    if urn.entity_type != "glossaryTerm" or "." not in urn.name:
        return ()
    return (join_path(split_path(urn.name.rpartition(".")[2].lower())),)


def group_of(values: Mapping[str, Any]) -> str | None:
    """Return the URN of the group that contains a glossary term, or `None`."""
    group = (values.get("glossaryTermInfo") or {}).get("parentNode")
    return group if isinstance(group, str) and group else None


def newer_folders(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the folders of an entity in its `browsePathsV2`, from the top. A folder that
    represents an entity, such as a container, is given by its URN."""
    return tuple(
        folder["id"]
        for folder in _listed(values, "browsePathsV2", "path")
        if isinstance(folder, dict) and isinstance(folder.get("id"), str) and folder["id"]
    )


def _listed(values: Mapping[str, Any], aspect: str, field: str) -> list[Any]:
    listed = (values.get(aspect) or {}).get(field)
    return listed if isinstance(listed, list) else []


def path_texts(urn: Urn, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of an entity as texts: the stored ones and that of the newer aspect. Folders
    given by URN are shown by the name in the URN."""
    newer = newer_folders(values)
    paths = stored_paths(urn, values)
    if not paths and (group := group_of(values)):
        paths = (join_path(suggested_path(urn, ".", group)),)
    return (*paths, join_path(map(Urn.label, newer))) if newer else paths
