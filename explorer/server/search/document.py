"""The search document of an entity, and the folders that it is in.

Folders are not stored separately: a folder exists as long as an entity is in it, and its counts are
those of a search, so the text and the filter of a search apply to them too.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import orjson

from explorer.metadata.aspects import asserted_columns, asserted_entity, run_summary
from explorer.metadata.names import display_name
from explorer.metadata.registry import (
    PathReader,
    Registry,
    SearchField,
    compile_paths,
    key_value,
    reach,
)
from explorer.metadata.structured_properties import ASSIGNMENTS, assigned_fields
from explorer.metadata.urn import Urn
from explorer.query.fields import DESCRIPTIONS
from explorer.query.filters import DOCUMENTED, Filter
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, URN

_MARK = "␟"
MOST_FOLDERS = 10_000
_DEEPEST = 40
_ALL = Filter()


@dataclass(frozen=True, slots=True)
class FolderQuery:
    """A query for the folders directly below a path, given as folder ids from the top.

    Only entities of these types (`None` for all) that match the text and the filter are counted,
    and only folders that contain some are returned.
    """

    entity_types: tuple[str, ...] | None
    path: tuple[str, ...]
    text: str = ""
    filter: Filter = _ALL


@dataclass(frozen=True, slots=True)
class FolderCount:
    """A folder, with the number of entities in or below it and whether it has subfolders."""

    id: str
    count: int
    has_folders: bool


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The folders directly below a path, ordered by id.

    `total` is the number of entities in or below the path.
    """

    total: int
    folders: tuple[FolderCount, ...]


def folder_key(path: Sequence[str]) -> str:
    """Return a folder as one text, which begins with the keys of the folders that contain it."""
    return "".join(f"{_MARK}{folder}" for folder in path)


def folder_keys(path: Sequence[str]) -> list[str]:
    """Return the keys of the folders that contain a folder, from the top, and its own."""
    return [folder_key(path[:depth]) for depth in range(1, min(len(path), _DEEPEST) + 1)]


def folders_in(aspect: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return the path to an entity as (id, URN or empty text), from its `browsePathsV2`."""
    path = aspect.get("path") if aspect else None
    return tuple(
        (entry["id"], entry.get("urn") or "")
        for entry in path or ()
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )


def list_folders(counts: Mapping[str, tuple[int, int]]) -> Iterable[FolderCount]:
    """Yield folders in the order of their keys, without empty ones.

    `counts` has for each key the number of entities in or below the folder, and how many of them
    are in or below one of its subfolders.
    """
    for key in sorted(counts):
        count, deeper = counts[key]
        if count > 0:
            yield FolderCount(key.rpartition(_MARK)[2], count, deeper > 0)


Scalar: TypeAlias = str | float | bool

_NUMBERS = frozenset({"COUNT", "DATETIME", "DOUBLE"})
_RUNS = "assertionRunEvent"
_RUN_SUMMARY = "assertionRunSummary"
_log = logging.getLogger("explorer.server")
BROWSE_PATHS = "browsePathsV2"
"""The aspect with the folders that an entity is in."""


@dataclass(frozen=True, slots=True)
class Document:
    """The searchable data of one entity, which the index holds.

    `fields` has the values of every searchable field that has any, strings as stored, times as
    milliseconds since 1970 UTC; `urn`, `_entityType` and `removed` are always there. `usage` is the
    number of queries in the last 30 days. `folders` is the path to the entity from the top: each
    folder as its id and the URN of the entity behind it, or an empty text.
    """

    urn: str
    entity_type: str
    name: str
    removed: bool
    fields: dict[str, tuple[Scalar, ...]]
    usage: float = 0.0
    folders: tuple[tuple[str, str], ...] = ()

    def build(self, _registry: Registry) -> "Document":
        """Return the document itself, as `EntityState.build` does."""
        return self


class StoredValues(Mapping[str, Any]):
    """The values of the aspects of an entity, by name. Each is decoded when it is first read; one
    that is not JSON is logged, and is empty."""

    def __init__(self, urn: str, aspects: Iterable[tuple[str, bytes]]) -> None:
        """`aspects` are the names of the aspects, and their values as JSON."""
        self._urn = urn
        self.json_by_name = dict(aspects)
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            try:
                self._decoded[name] = orjson.loads(self.json_by_name[name])
            except orjson.JSONDecodeError:
                _log.error(
                    "the stored %s of %s is not JSON and is left out of the search index; write it "
                    "again, or restore a backup",
                    name,
                    self._urn,
                )
                self._decoded[name] = {}
        return self._decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.json_by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.json_by_name)

    def __len__(self) -> int:
        return len(self.json_by_name)


class EntityState(NamedTuple):
    """What the document of an entity is built from: the values of its latest aspects, those that
    are derived from other entities and from timeseries (`derived`, by the name of the aspect that
    they stand for), and its number of queries in the last 30 days."""

    urn: str
    values: Mapping[str, Any]
    derived: Mapping[str, Any]
    usage: float = 0.0

    def build(self, registry: Registry) -> Document:
        """Return the document. Raises as `build_document`."""
        urn, aspects = Urn.parse(self.urn), {**self.values, **self.derived}
        if urn.entity_type == "assertion":
            return _assertion_document(registry, urn, aspects)
        document = build_document(registry, urn, aspects)
        return replace(document, usage=self.usage) if self.usage else document


Indexed: TypeAlias = Document | EntityState
"""What an index is given for an entity: its document, or what that is built from."""


def _assertion_document(registry: Registry, urn: Urn, values: Mapping[str, Any]) -> Document:
    """Return the search document of an assertion. It can also be found by the entity and the
    columns in the part for its kind, and by the status of its newest run."""
    summary = {**values.get(_RUN_SUMMARY, {}), **run_summary(values.get(_RUNS, {}))}
    document = build_document(registry, urn, {**values, _RUN_SUMMARY: summary})
    info = values.get("assertionInfo", {})
    entity = asserted_entity(info)
    about = {"entity": (entity,) if entity else (), "fieldPath": tuple(asserted_columns(info))}
    urns_by_field = {name: urns for name, urns in about.items() if urns}
    return replace(document, fields={**document.fields, **urns_by_field})


def build_document(registry: Registry, urn: Urn, aspects: Mapping[str, Any]) -> Document:
    """Build the document of an entity from the values of its latest aspects, by aspect name.

    The fields of the key are set even when `aspects` lacks the key aspect. Entries of a map are
    indexed as `key=value`, values of structured properties under `structuredProperties.<id>`.
    Raises `UnknownName` for an entity type that the registry lacks, and `InvalidUrn` for a URN that
    does not fit its key.
    """
    entity_type = urn.entity_type
    searched = _fields_to_search(registry, entity_type)
    values_by_field: dict[str, dict[Scalar, None]] = {}
    present = dict.fromkeys(searched.has, False)
    counted: dict[str, set[Scalar]] = {}
    for aspect, read, declared in searched.aspects:
        value = aspects.get(aspect)
        if value is None and aspect == searched.key:
            value = key_value(urn, registry.key_fields(entity_type))
        if not value:
            continue
        for (field, convert), reached in zip(declared, read(value), strict=True):
            # Most aspects have values for only a few of their fields.
            values = dict.fromkeys(convert(reached)) if reached else {}
            if values:
                if field.name in values_by_field:
                    values_by_field[field.name].update(values)
                else:
                    values_by_field[field.name] = values
                if field.has:
                    present[field.has] = True
            if field.count:
                counted.setdefault(field.count, set()).update(values)
        if aspect == ASSIGNMENTS:
            for name, assigned in assigned_fields(value):
                values_by_field.setdefault(name, {}).update(dict.fromkeys(assigned))
    removed = True in values_by_field.get(REMOVED, ())
    fields: dict[str, tuple[Scalar, ...]] = {
        name: tuple(values) for name, values in values_by_field.items()
    }
    fields |= {name: (has_value,) for name, has_value in present.items()}
    fields |= {name: (float(len(values)),) for name, values in counted.items()}
    fields |= {URN: (str(urn),), ENTITY_TYPE: (entity_type,), REMOVED: (removed,)}
    if searched.is_described:
        has_description = not values_by_field.keys().isdisjoint(DESCRIPTIONS)
        fields[DOCUMENTED] = (has_description or _has_text(aspects.get("documentation")),)
    used = aspects.get("usageFeatures", {}).get("queryCountLast30Days")
    return Document(
        urn=str(urn),
        entity_type=entity_type,
        name=display_name(urn, aspects),
        removed=removed,
        fields=fields,
        usage=float(used) if isinstance(used, int | float) else 0.0,
        folders=folders_in(aspects.get(BROWSE_PATHS)),
    )


class _Searched(NamedTuple):
    """The searchable fields of an entity type, prepared for `build_document`.

    `aspects` has for each aspect its name, the reader of its paths, and its fields, each with the
    function that converts the values read. `has` names the derived fields that say whether other
    fields have values. `is_described` says whether any field is a description.
    """

    key: str
    aspects: tuple[tuple[str, PathReader, tuple[tuple[SearchField, "_Convert"], ...]], ...]
    has: tuple[str, ...]
    is_described: bool


@lru_cache(maxsize=256)
def _fields_to_search(registry: Registry, entity_type: str) -> _Searched:
    names = registry.aspects_of(entity_type)
    declared = [(name, registry.aspects[name].search) for name in names if name in registry.aspects]
    fields = [field for _, search in declared for field in search]
    read: list[tuple[str, PathReader, tuple[tuple[SearchField, _Convert], ...]]] = []
    for name, search in declared:
        if search or name == ASSIGNMENTS:
            paths_and_conversions = [_path_and_conversion(field) for field in search]
            conversions = zip(
                search, (convert for _, convert in paths_and_conversions), strict=True
            )
            read.append(
                (name, compile_paths(path for path, _ in paths_and_conversions), tuple(conversions))
            )
    return _Searched(
        registry.entity(entity_type).key,
        tuple(read),
        tuple(dict.fromkeys(field.has for field in fields if field.has)),
        any(field.name in DESCRIPTIONS for field in fields),
    )


def _has_text(documentation: Any) -> bool:
    """Return whether the `documentation` aspect, with texts by people and rules, has any text."""
    return any(
        isinstance(text, str) and text.strip()
        for text in reach(documentation or {}, "documentations.*.documentation")
    )


_Convert = Callable[[Sequence[Any]], Iterable[Scalar]]


def _path_and_conversion(field: SearchField) -> tuple[str, _Convert]:
    """Return the path to the data of a field within its aspect, and the function that converts the
    data to the field's values, without blank ones."""
    if field.kind == "BROWSE_PATH_V2":
        return field.path, _folders
    convert = _numbers if field.kind in _NUMBERS else _texts
    if field.path.endswith(".*"):
        return field.path[:-2], partial(_entries, convert)
    return field.path, convert


def _folders(reached: Sequence[Any]) -> Iterable[Scalar]:
    folders = [folder for folder in reached if isinstance(folder, str)]
    return (folder_key(folders),) if folders else ()


def _entries(convert: _Convert, reached: Sequence[Any]) -> Iterable[Scalar]:
    """Return each entry of a map as `key=value`, and the elements of a list."""
    values: list[Scalar] = []
    for container in reached:
        if isinstance(container, dict):
            values += (f"{key}={_plain(entry)}" for key, entry in container.items())
        else:
            values += convert((container,) if isinstance(container, str) else container)
    return values


def _numbers(reached: Sequence[Any]) -> Iterable[Scalar]:
    return [number for number in map(_number, reached) if number is not None]


def _texts(reached: Sequence[Any]) -> Iterable[Scalar]:
    return [
        value if isinstance(value, str | bool) else _plain(value)
        for value in reached
        if (value.strip() if isinstance(value, str) else isinstance(value, int | float))
    ]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def _plain(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(value)
