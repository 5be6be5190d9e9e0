"""How the schema of a dataset is answered: its columns, and what people wrote about them."""

from typing import Any

import orjson

from explorer.metadata.urn import Urn
from explorer.server.cache import cached_short
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entities, entity_or_null, shown_text, stored
from explorer.server.graphql.nodes import Info, Node

__all__ = ["RESOLVERS", "column_type", "record_of"]

_TYPES = frozenset(
    {
        "BOOLEAN",
        "FIXED",
        "STRING",
        "BYTES",
        "NUMBER",
        "DATE",
        "TIME",
        "ENUM",
        "NULL",
        "MAP",
        "ARRAY",
        "UNION",
        "STRUCT",
    }
)
# What the records of platforms' schemas call the text of the schema.
_TEXTS = ("rawSchema", "tableSchema", "documentSchema", "schema")


def _schema(node: Node, info: Info, version: int | None = None) -> Value | None:
    about = str(node.urn)
    if version:
        kept = info.context.catalog.store.aspect(about, "schemaMetadata", version)
        schema: dict[str, Any] | None = orjson.loads(kept.value) if kept else None
    else:
        schema = node.aspect("schemaMetadata")
    if schema is None:
        return None
    edited = {
        one.get("fieldPath"): one.get("description")
        for one in (node.aspect("editableSchemaMetadata") or {}).get("editableSchemaFieldInfo")
        or ()
    }
    return {
        **schema,
        "aspectVersion": version or 0,
        "datasetUrn": about,
        # Ingestion may leave these out; the schema promises them.
        "name": schema.get("schemaName") or "",
        "platformUrn": schema.get("platform") or Urn.parse(about).parts[0],
        "version": schema.get("version") or 0,
        "hash": schema.get("hash") or "",
        "createdAt": (schema.get("created") or {}).get("time"),
        "fields": [
            _column(about, field, edited.get(field.get("fieldPath")), info)
            for field in schema.get("fields") or ()
        ],
    }


def _column(about: str, field: dict[str, Any], edited: str | None, info: Info) -> dict[str, Any]:
    return {
        **field,
        "datasetUrn": about,
        "nullable": field.get("nullable") is True,
        "recursive": field.get("recursive") is True,
        "isPartOfKey": field.get("isPartOfKey") is True,
        "description": shown_text(field.get("description"), edited, info),
        "type": column_type(record_of(field)),
    }


def record_of(field: dict[str, Any]) -> str:
    """The name of the record that is a column's type; nothing where the column has no type."""
    return next(iter((field.get("type") or {}).get("type") or {}), "")


@cached_short(1 << 20)
def column_type(record: str) -> str:
    """The symbol for the record that is a column's type."""
    word = record.rpartition(".")[2].removesuffix("Type").upper()
    word = "STRUCT" if word == "RECORD" else word
    # A kind of a newer model; the native type says what it is.
    return word if word in _TYPES else "NULL"


def _tags(value: Value, _info: Info) -> Any:
    return value.get("globalTags")


def _column_entity(field: Value, info: Info) -> Any:
    urn = Urn.of("schemaField", field["datasetUrn"], field.get("fieldPath") or "")
    for parsed in Urn.parse_all((str(urn),)):
        return info.context.refer(str(parsed), info)
    return None


def _platform_schema(schema: Value, _info: Info) -> Value | None:
    for record, value in (schema.get("platformSchema") or {}).items():
        if record.endswith("KeyValueSchema"):
            return {"__typename": "KeyValueSchema", **value}
        for text in _TEXTS:
            if isinstance(value.get(text), str):
                return {"__typename": "TableSchema", "schema": value[text]}
    return None


RESOLVERS: Resolvers = {
    "Dataset": {
        "schemaMetadata": _schema,
        "editableSchemaMetadata": stored("editableSchemaMetadata"),
    },
    "SchemaMetadata": {"platformSchema": _platform_schema},
    "SchemaField": {"tags": _tags, "schemaFieldEntity": _column_entity},
    "EditableSchemaFieldInfo": {"tags": _tags},
    "ForeignKeyConstraint": {
        "foreignFields": entities("foreignFields", "schemaField"),
        "sourceFields": entities("sourceFields", "schemaField"),
        "foreignDataset": entity_or_null("foreignDataset"),
    },
}
