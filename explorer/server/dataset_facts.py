"""The facts of a dataset that the worklist and coverage need, read from its stored aspects."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import display_name
from explorer.metadata.urn import Urn
from explorer.server.timeseries import Use

__all__ = [
    "ASPECTS",
    "DatasetFacts",
    "Lacking",
    "SchemaTexts",
    "has_text",
    "read_edited_texts",
    "read_facts",
    "read_schema_texts",
]

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
    """A column without a description. `place` is its position in the schema, from 1.

    An empty path with the place 0 stands for the dataset itself. `use_of` says what `use` counts:
    `column`, `table`, or `none`.
    """

    path: str
    type: str
    place: int
    use: int
    use_of: str

    def with_use(self, use: Use) -> "Lacking":
        """Return this with the use of another period."""
        counted = use.of_column(self.path) if self.path else use.of_table()
        return Lacking(self.path, self.type, self.place, *counted)


class DatasetFacts(msgspec.Struct, frozen=True, array_like=True):
    """The facts of a dataset that the worklist and coverage need.

    `table` and `columns` count descriptions: (total, described, by people, by ingestion). `tags`
    are the tags of the dataset and of its columns, as in a filter on tags. `oldest_millis` is the
    time of the oldest use that was counted, `None` without use.
    """

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
    tags: dict[str, Any] | None = msgspec.field(default=None, name="globalTags")

    @property
    def kind(self) -> str:
        """The native type of the platform, else the type in the metadata model."""
        inner = None if self.native else self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            return str(name).rpartition(".")[2].removesuffix("Type").lower()
        return self.native


class _SchemaColumns(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = ()


class _Edited(msgspec.Struct, frozen=True):
    fields: tuple[_Field, ...] = msgspec.field(default=(), name="editableSchemaFieldInfo")


_schema = msgspec.json.Decoder(_SchemaColumns)
_edited = msgspec.json.Decoder(_Edited)


def read_facts(urn: str, stored: Mapping[str, bytes], use: Use) -> DatasetFacts:
    """Return the facts of a dataset from the stored values of its aspects. Takes about 50 µs."""
    values = {name: _object(stored.get(name)) for name in ASPECTS if not name.endswith("Metadata")}
    parsed = Urn.parse(urn)
    ingested = has_text(values["datasetProperties"].get("description"))
    edited = has_text(values["editableDatasetProperties"].get("description"))
    types = values["subTypes"].get("typeNames")
    kind = types[0] if types and isinstance(types[0], str) else _DATASET
    lacking: list[Lacking] = []
    if not (ingested or edited):
        lacking.append(Lacking("", kind, 0, *use.of_table()))
    total, described, by_people, by_ingestion = 0, 0, 0, 0
    fields = _decoded(_schema, stored.get("schemaMetadata"), _SchemaColumns()).fields
    annotated = _decoded(_edited, stored.get("editableSchemaMetadata"), _Edited()).fields
    for place, field, text in _columns(fields, annotated):
        total += 1
        told, written = has_text(field.text), has_text(text)
        by_ingestion += told
        by_people += written
        if told or written:
            described += 1
        else:
            lacking.append(Lacking(field.path, field.kind, place, *use.of_column(field.path)))
    said = values["dataPlatformInstance"].get("platform")
    platform = said.rpartition(":")[2] if isinstance(said, str) else parsed.platform
    return DatasetFacts(
        display_name(parsed, values),
        platform or "",
        values["status"].get("removed") is True,
        (1, int(ingested or edited), int(edited), int(ingested)),
        (total, described, by_people, by_ingestion),
        tuple(lacking),
        _texts(values["ownership"].get("owners"), "owner"),
        _texts(values["domains"].get("domains")),
        _tags(values["globalTags"], (*fields, *annotated)),
        _texts(values["browsePaths"].get("paths")) or _newer_path(values["browsePathsV2"]),
        use.oldest_millis,
    )


class SchemaTexts(Struct, frozen=True):
    """The field paths of a schema: those with an ingested description, and the others. A path that
    is listed twice counts twice."""

    described: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of columns."""
        return len(self.described) + len(self.others)

    def documented(self, edited: Collection[str]) -> int:
        """Return how many columns have a description, given the paths with an edited one."""
        return len(self.described) + sum(path in edited for path in self.others)


def read_schema_texts(value: bytes) -> SchemaTexts:
    """Return the field paths of a stored `schemaMetadata`."""
    fields = _decoded(_schema, value, _SchemaColumns()).fields
    return SchemaTexts(
        tuple(one.path for one in fields if has_text(one.text)),
        tuple(one.path for one in fields if not has_text(one.text)),
    )


def read_edited_texts(value: bytes) -> frozenset[str]:
    """Return the field paths with a description in a stored `editableSchemaMetadata`."""
    fields = _decoded(_edited, value, _Edited()).fields
    return frozenset(
        path for path, text in {one.path: one.text for one in fields}.items() if has_text(text)
    )


def _tags(labels: Mapping[str, Any], fields: Iterable[_Field]) -> tuple[str, ...]:
    """Return the tags of a dataset and of its columns, each once."""
    all_labels = (labels, *(field.tags for field in fields if field.tags))
    found = (tag for one in all_labels for tag in _texts(one.get("tags"), "tag"))
    return tuple(dict.fromkeys(found))


def _columns(
    fields: tuple[_Field, ...], edited: Iterable[_Field]
) -> Iterator[tuple[int, _Field, str | None]]:
    """Yield the columns in tree order, each with its position and its edited description."""
    written = {one.path: one.text for one in edited}
    ordered = list(_in_tree_order(fields))
    # A path that is listed twice has the position of its last occurrence.
    places = {field.path: place for place, field in enumerate(ordered, 1)}
    for field in ordered:
        yield places[field.path], field, written.get(field.path)


def _in_tree_order(fields: tuple[_Field, ...]) -> Iterator[_Field]:
    """Yield the columns, each directly followed by those inside it."""
    known = {field.path for field in fields}
    if not any("." in path for path in known):
        yield from fields
        return
    children: dict[str | None, list[_Field]] = {}
    for field in fields:
        parent = None
        if "." in field.path:
            above = (path for path in FieldPath(field.path).ancestors() if path in known)
            parent = next(above, None)
        children.setdefault(parent, []).append(field)
    waiting = children.pop(None, [])[::-1]
    while waiting:
        field = waiting.pop()
        yield field
        waiting.extend(reversed(children.pop(field.path, [])))


def _newer_path(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path of a `browsePathsV2` as text; empty if it has none. A URN among its steps,
    such as a container's, is shown by its name."""
    names = _texts(value.get("path"), "id")
    return ("".join(f"/{Urn.label(name)}" for name in names),) if names else ()


def _texts(given: Any, key: str | None = None) -> tuple[str, ...]:
    found = given if isinstance(given, list) else []
    if key is not None:
        found = [one.get(key) for one in found if isinstance(one, dict)]
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


def has_text(given: object) -> bool:
    """Return whether a value is a text that is not blank."""
    return isinstance(given, str) and bool(given.strip())


def _object(value: bytes | None) -> dict[str, Any]:
    try:
        found = orjson.loads(value) if value else {}
    except orjson.JSONDecodeError:
        # Reported where the entity itself is read.
        return {}
    return found if isinstance(found, dict) else {}


def _decoded(decoder: msgspec.json.Decoder[_T], value: bytes | None, nothing: _T) -> _T:
    """Decode a value. Returns `nothing` if there is none, or if it has another shape, which is
    reported where the entity itself is read."""
    try:
        return decoder.decode(value) if value else nothing
    except msgspec.MsgspecError:
        return nothing
