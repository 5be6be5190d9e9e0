"""Generate the package's registry file from DataHub's metadata model.

    python -m explorer.metadata.derive SCHEMAS SOURCE explorer/metadata/registry.json

SCHEMAS is the folder `datahub/metadata/schemas` of an installed `acryl-datahub` package: the model
in Avro, one file per aspect, with the model's annotations (which entity an aspect is the key of,
what is searchable, what is a relationship). Only facts are taken from it. SOURCE names the origin
of the model ("acryl-datahub 1.7.0.17") and is written to the file.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from explorer.metadata.registry import (
    Aspect,
    EntityType,
    Field,
    Record,
    Registry,
    Relationship,
    SearchField,
    SearchKind,
)

# The kinds of fields that free-text search uses unless the model says otherwise.
_QUERIED = frozenset({"TEXT", "TEXT_PARTIAL", "WORD_GRAM", "URN", "URN_PARTIAL"})
# The kind of a searchable field whose annotation has none, by its type in Avro.
_KINDS: Mapping[str, SearchKind] = {
    "int": "COUNT",
    "float": "DOUBLE",
    "double": "DOUBLE",
    "map": "KEYWORD",
}
# Names the member of a union in Avro; the wire form names it by the key and leaves this out.
_LEFT_OUT = frozenset({"fieldDiscriminator"})
_SCALARS = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_MARK = "pegasus2avro."

Schema = dict[str, Any]


def derive(schemas: Path, source: str, order: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of the registry file, ready to be encoded, from a folder of Avro schemas.

    Aspects that no entity carries are left out. The entities in `order` come first, because the
    first entity's field wins if several searchable fields have one name; the others follow by name.
    """
    position = {name: at for at, name in enumerate(order)}
    documents = [json.loads(path.read_bytes()) for path in sorted(schemas.glob("*.avsc"))]
    models = [
        _Model(schema) for schema in documents if isinstance(schema, dict) and "Aspect" in schema
    ]
    aspects = {model.about["name"]: model for model in models}
    keys = {
        model.about["keyForEntity"]: model
        for model in aspects.values()
        if "keyForEntity" in model.about
    }
    entities = {
        name: EntityType(model.about["name"], tuple(model.about.get("entityAspects", ())))
        for name, model in sorted(
            keys.items(), key=lambda item: (position.get(item[0], len(position)), item[0])
        )
    }
    carried = {
        name for entity in entities.values() for name in (entity.key, *entity.aspects)
    } & set(aspects)
    records: dict[str, Record] = {}
    for name in sorted(carried):
        records |= aspects[name].records()
    return {
        "source": source,
        "entities": entities,
        "aspects": {name: aspects[name].aspect() for name in sorted(carried)},
        "records": dict(sorted(records.items())),
    }


class _Model:
    """The record of one file, with all records and enums that it uses, by name."""

    def __init__(self, schema: Schema) -> None:
        self.about: dict[str, Any] = schema["Aspect"]
        self._named: dict[str, Schema] = {}
        self._root = self._gather(schema, "")

    def records(self) -> dict[str, Record]:
        """Return every record and enum, by full name."""
        return {name: self._record(schema) for name, schema in self._named.items()}

    def aspect(self) -> Aspect:
        """Return the aspect: its record, its searchable fields and its relationships."""
        # By path: the annotation of an outer record takes precedence over that of an inner one.
        search: dict[str, SearchField] = {}
        relationships: dict[str, Relationship] = {}
        for name, annotations, path, schema in self._walk_fields(self._root, (), ()):
            for suffix, annotation in _parts(annotations.get("Searchable")):
                full = _join_path(path, suffix, schema)
                search.setdefault(full, _search_field(name, annotation, full, schema))
            for suffix, annotation in _parts(annotations.get("Relationship")):
                full = _join_path(path, suffix, schema)
                relationships.setdefault(full, _relationship(annotation, full))
        return Aspect(
            self._root["name"],
            self.about.get("type") == "timeseries",
            tuple(search.values()),
            tuple(relationships.values()),
        )

    def _gather(self, schema: Any, namespace: str) -> Any:
        """Return a type with full names instead of short ones, and store each named type in
        `_named`."""
        match schema:
            case str():
                return schema if schema in _SCALARS else _full(schema, namespace)
            case list():
                return [self._gather(member, namespace) for member in schema]
            case {"type": "array", "items": items}:
                return {"type": "array", "items": self._gather(items, namespace)}
            case {"type": "map", "values": values}:
                return {"type": "map", "values": self._gather(values, namespace)}
            case {"type": "record" | "enum" | "fixed", "name": name}:
                namespace = schema.get("namespace", namespace)
                full = _full(name, namespace)
                definition = schema | {"name": full}
                self._named[full] = definition
                if "fields" in schema:
                    definition["fields"] = [
                        field | {"type": self._gather(field["type"], namespace)}
                        for field in schema["fields"]
                    ]
                return definition
            case {"type": inner}:
                return self._gather(inner, namespace)
        raise ValueError(f"unknown form of type: {schema!r:.200}")

    def _resolve(self, schema: Any) -> Any:
        return self._named.get(schema, schema) if isinstance(schema, str) else schema

    def _walk_fields(
        self, schema: Any, path: tuple[str, ...], enclosing_records: tuple[str, ...]
    ) -> Iterator[tuple[str, Schema, tuple[str, ...], Any]]:
        """Yield every field, at any depth: its name, its schema with its annotations, its path and
        its type. A record inside itself is not entered again."""
        schema = self._resolve(_bare(schema))
        match schema:
            case {"type": "array", "items": items}:
                yield from self._walk_fields(items, (*path, "*"), enclosing_records)
            case {"type": "map", "values": values}:
                yield from self._walk_fields(values, (*path, "*"), enclosing_records)
            case {"type": "record", "name": name, "fields": fields} if (
                name not in enclosing_records
            ):
                for field in fields:
                    inner = self._resolve(_bare(field["type"]))
                    yield field["name"], field, (*path, field["name"]), inner
                    yield from self._walk_fields(
                        field["type"], (*path, field["name"]), (*enclosing_records, name)
                    )

    def _record(self, schema: Schema) -> Record:
        if schema["type"] == "enum":
            return Record(symbols=tuple(schema["symbols"]))
        return Record(
            {
                field["name"]: Field(
                    self._type(_bare(field["type"])) + _optional(field), field.get("default")
                )
                for field in schema.get("fields", ())
            }
        )

    def _type(self, schema: Any) -> str:
        match schema:
            case str():
                return schema
            case list():
                return f"union<{'|'.join(self._type(member) for member in schema)}>"
            case {"type": "array", "items": items}:
                return f"array<{self._type(items)}>"
            case {"type": "map", "values": values}:
                return f"map<{self._type(values)}>"
            case {"type": "fixed"}:
                return "bytes"
            case _:
                return str(schema["name"])


def _full(name: str, namespace: str) -> str:
    return (name if "." in name or not namespace else f"{namespace}.{name}").replace(_MARK, "")


def _bare(schema: Any) -> Any:
    """Return a type without null among its alternatives."""
    if not isinstance(schema, list):
        return schema
    members = [member for member in schema if member != "null"]
    return members[0] if len(members) == 1 else members


def _optional(field: Schema) -> str:
    can_lack = isinstance(field["type"], list) and "null" in field["type"]
    return "?" if can_lack or field["name"] in _LEFT_OUT else ""


def _parts(annotation: Any) -> Iterator[tuple[str, Schema]]:
    """Yield each part of an annotation with its path below the field: `/*/actor`, or empty for the
    field itself.

    Parts for DataHub's third search index alone (`v3`) are left out.
    """
    if annotation is None:
        return
    below = {key: part for key, part in annotation.items() if key.startswith("/")}
    yield from (
        (key, part) for key, part in (below or {"": annotation}).items() if set(part) != {"v3"}
    )


def _join_path(path: tuple[str, ...], suffix: str, schema: Any) -> str:
    """Return the path to the values that an annotation describes; for an array, to its elements."""
    if not suffix and isinstance(schema, dict) and schema["type"] == "array":
        suffix = "/*"
    return ".".join((*path, *suffix.split("/")[1:]))


def _search_field(name: str, annotation: Schema, path: str, schema: Any) -> SearchField:
    avro = schema if isinstance(schema, str) else schema["type"] if isinstance(schema, dict) else ""
    kind = annotation.get("fieldType") or _KINDS.get(avro, "TEXT")
    return SearchField(
        name=annotation.get("fieldName", name),
        kind=kind,
        path=path,
        facet=annotation.get("addToFilters", False),
        label=annotation.get("filterNameOverride", ""),
        # Free text is compared with words, and keywords are not split into words.
        queried=kind != "KEYWORD"
        and str(annotation.get("queryByDefault", kind in _QUERIED)).lower() == "true",
        weight=annotation.get("boostScore", 1.0),
        autocomplete=annotation.get("enableAutocomplete", False),
        has=annotation.get("hasValuesFieldName", ""),
        count=annotation.get("numValuesFieldName", ""),
    )


def _relationship(annotation: Schema, path: str) -> Relationship:
    return Relationship(
        annotation["name"],
        path,
        tuple(annotation.get("entityTypes", ())),
        annotation.get("isLineage", False),
        not annotation.get("isUpstream", True),
    )


def main(schemas: Path, source: str, target: Path) -> None:
    """Derive the registry file, check that it can be read, and write it. Entities keep the order of
    the present file."""
    order = tuple(Registry.from_json(target.read_bytes()).entities) if target.exists() else ()
    content = msgspec.json.encode(derive(schemas, source, order))
    Registry.from_json(content)
    target.write_bytes(content + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
