"""What stewardship asks of a dataset: what is documented of it, its columns that are not, and how
much it is used."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import orjson

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import display_name
from explorer.metadata.urn import Urn
from explorer.server.measures import Use

__all__ = ["ASPECTS", "Facts", "Lacking", "read_facts"]

ASPECTS = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "ownership",
    "status",
    "subTypes",
    "dataPlatformInstance",
    "domains",
    "globalTags",
    "browsePaths",
    "browsePathsV2",
)
"""The aspects that facts are read from."""

_DATASET = "dataset"
_T = TypeVar("_T")


class Lacking(msgspec.Struct, frozen=True, array_like=True):
    """A column that nobody described; `place` is where it stands in its schema, from 1. An empty
    path and 0 stand for the dataset itself. `use_of` says what `use` counts: the column, its table,
    or nothing."""

    path: str
    type: str
    place: int
    use: int
    use_of: str


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """`table` and `columns` count what is described: (total, described, by people, by ingestion).
    `oldest_millis` is when the first of the use that is counted was, None where nothing is."""

    name: str
    platform: str
    removed: bool
    table: tuple[int, int, int, int]
    columns: tuple[int, int, int, int]
    lacking: tuple[Lacking, ...]
    owners: tuple[str, ...]
    domains: tuple[str, ...]
    tags: tuple[str, ...]
    folders: tuple[str, ...]
    oldest_millis: int | None = None


class _Field(msgspec.Struct, frozen=True):
    path: str = msgspec.field(default="", name="fieldPath")
    text: str | None = msgspec.field(default=None, name="description")
    native: str = msgspec.field(default="", name="nativeDataType")
    type: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """The type as its platform says it, else the model's word for it."""
        inner = None if self.native else self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            return str(name).rpartition(".")[2].removesuffix("Type").lower()
        return self.native


class _Schema(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = ()


class _Edited(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = msgspec.field(default=(), name="editableSchemaFieldInfo")


_schema = msgspec.json.Decoder(_Schema)
_edited = msgspec.json.Decoder(_Edited)


def read_facts(urn: str, stored: Mapping[str, bytes], use: Use) -> Facts:
    """Return the facts of a dataset from the values of its aspects, as stored; some 50 µs."""
    values = {name: _object(stored.get(name)) for name in ASPECTS if not name.endswith("Metadata")}
    parsed = Urn.parse(urn)
    ingested = _is_text(values["datasetProperties"].get("description"))
    edited = _is_text(values["editableDatasetProperties"].get("description"))
    types = values["subTypes"].get("typeNames")
    kind = types[0] if types and isinstance(types[0], str) else _DATASET
    lacking: list[Lacking] = []
    if not (ingested or edited):
        lacking.append(Lacking("", kind, 0, *use.of_table()))
    total, described, by_people, by_ingestion = 0, 0, 0, 0
    for place, field, text in _columns(stored):
        total += 1
        told, written = _is_text(field.text), _is_text(text)
        by_ingestion += told
        by_people += written
        if told or written:
            described += 1
        else:
            lacking.append(Lacking(field.path, field.kind, place, *use.of_column(field.path)))
    said = values["dataPlatformInstance"].get("platform")
    platform = said.rpartition(":")[2] if isinstance(said, str) else parsed.platform
    return Facts(
        display_name(parsed, values),
        platform or "",
        values["status"].get("removed") is True,
        (1, int(ingested or edited), int(edited), int(ingested)),
        (total, described, by_people, by_ingestion),
        tuple(lacking),
        _texts(values["ownership"].get("owners"), "owner"),
        _texts(values["domains"].get("domains")),
        _texts(values["globalTags"].get("tags"), "tag"),
        _texts(values["browsePaths"].get("paths")) or _newer_path(values["browsePathsV2"]),
        use.oldest_millis,
    )


def _columns(stored: Mapping[str, bytes]) -> Iterator[tuple[int, _Field, str | None]]:
    """The columns in the order of the tree, each with its place and what people wrote of it."""
    fields = _decoded(_schema, stored.get("schemaMetadata"), _Schema()).fields
    edited = _decoded(_edited, stored.get("editableSchemaMetadata"), _Edited()).fields
    written = {one.path: one.text for one in edited}
    ordered = list(_in_tree_order(fields))
    # A path that is listed twice stands where it is listed last.
    places = {field.path: place for place, field in enumerate(ordered, 1)}
    for field in ordered:
        yield places[field.path], field, written.get(field.path)


def _in_tree_order(fields: tuple[_Field, ...]) -> Iterator[_Field]:
    """The columns, each right before those inside it."""
    known = {field.path for field in fields}
    if not any("." in path for path in known):
        yield from fields
        return
    children: dict[str | None, list[_Field]] = {}
    for field in fields:
        above = (path for path in FieldPath(field.path).ancestors() if path in known)
        children.setdefault(next(above, None), []).append(field)
    waiting = children.pop(None, [])[::-1]
    while waiting:
        field = waiting.pop()
        yield field
        waiting.extend(reversed(children.pop(field.path, [])))


def _newer_path(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The folder in the newer form of browse paths, whose steps may be containers."""
    names = _texts(value.get("path"), "id")
    return ("".join(f"/{Urn.label(name)}" for name in names),) if names else ()


def _texts(given: Any, key: str | None = None) -> tuple[str, ...]:
    found = given if isinstance(given, list) else []
    if key is not None:
        found = [one.get(key) for one in found if isinstance(one, dict)]
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


def _is_text(given: object) -> bool:
    return isinstance(given, str) and bool(given.strip())


def _object(value: bytes | None) -> dict[str, Any]:
    found = orjson.loads(value) if value else {}
    return found if isinstance(found, dict) else {}


def _decoded(decoder: msgspec.json.Decoder[_T], value: bytes | None, nothing: _T) -> _T:
    """A value of another shape says nothing here; whoever reads the entity is told."""
    try:
        return decoder.decode(value) if value else nothing
    except msgspec.MsgspecError:
        return nothing
