"""The schemas of the declared tables, and the texts and tags that people put on their columns."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from explorer.metadata import Urn
from explorer.sample.avro import key_document, value_document
from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.datatypes import data_type
from explorer.sample.days import Days
from explorer.sample.tables import Column, Table
from explorer.sample.warehouse import Warehouse

__all__ = ["edited_schema", "schema", "tags_value", "terms_value"]

# Elsewhere the values of an enum are kept as strings.
_WITH_ENUMS = frozenset({"postgres", "kafka"})


def schema(table: Table, warehouse: Warehouse, days: Days, age: int) -> Changes:
    """The table's schema, after the one it had before its newest columns were added.

    `age` is the number of days since the table was made.
    """
    stamps = {
        "created": audit_stamp(days.millis(age), user("svc_dbt")),
        "lastModified": audit_stamp(days.millis(age // 4), user("svc_dbt")),
    }
    older = [column for column in table.columns if not column.added]
    if len(older) < len(table.columns):
        yield Change(table.urn, "schemaMetadata", _value(table, older, warehouse, days) | stamps)
    value = _value(table, table.columns, warehouse, days)
    yield Change(table.urn, "schemaMetadata", value | stamps)


def edited_schema(table: Table, days: Days, editor: str, ago: int) -> Changes:
    """What people wrote on the columns, by one editor that many days ago; none if they did not."""
    fields = [
        _edited_field(column, days)
        for column in table.columns
        if column.edited or column.edited_tags or column.edited_terms
    ]
    if fields:
        stamp = audit_stamp(days.millis(ago), user(editor))
        value = {"created": stamp, "lastModified": stamp, "editableSchemaFieldInfo": fields}
        yield Change(table.urn, "editableSchemaMetadata", value, user(editor))


def tags_value(names: Iterable[str]) -> dict[str, Any]:
    """The value of a `globalTags` aspect."""
    return {"tags": [{"tag": f"urn:li:tag:{name}"} for name in names]}


def terms_value(names: Iterable[str], days: Days) -> dict[str, Any]:
    """The value of a `glossaryTerms` aspect."""
    return {
        "terms": [{"urn": f"urn:li:glossaryTerm:{name}"} for name in names],
        "auditStamp": audit_stamp(days.millis(60), user("akowalski")),
    }


def _value(
    table: Table, columns: Sequence[Column], warehouse: Warehouse, days: Days
) -> dict[str, Any]:
    paths = "\n".join(column.field_path for column in columns)
    value: dict[str, Any] = {
        "schemaName": table.name,
        "platform": str(Urn.of("dataPlatform", table.platform)),
        "version": 0,
        "hash": sha256(paths.encode()).hexdigest()[:16],
        "platformSchema": _platform_schema(table),
        "fields": [_field(table, column, days) for column in columns],
    }
    keys = [column.field_path for column in columns if column.key]
    if keys and table.platform != "kafka":
        value["primaryKeys"] = keys
    foreign = [_foreign_key(table, c, warehouse) for c in columns if c.refers]
    if foreign:
        value["foreignKeys"] = foreign
    return value


def _platform_schema(table: Table) -> dict[str, Any]:
    if table.platform == "kafka":
        documents = {"documentSchema": value_document(table), "keySchema": key_document(table)}
        return {"com.linkedin.schema.KafkaSchema": documents}
    return {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}


def _field(table: Table, column: Column, days: Days) -> dict[str, Any]:
    kind = data_type(column.kind)
    if column.kind == "enum" and table.platform not in _WITH_ENUMS:
        kind = data_type("text")
    field: dict[str, Any] = {
        "fieldPath": column.field_path,
        "type": {"type": {kind.record: {}}},
        "nativeDataType": kind.native[table.platform],
        "nullable": not column.required,
        "recursive": False,
        "isPartOfKey": column.key,
    }
    if column.doc:
        field["description"] = column.doc
    if column.tags:
        field["globalTags"] = tags_value(column.tags)
    if column.terms:
        field["glossaryTerms"] = terms_value(column.terms, days)
    return field


def _edited_field(column: Column, days: Days) -> dict[str, Any]:
    field: dict[str, Any] = {"fieldPath": column.field_path}
    if column.edited:
        field["description"] = column.edited
    if column.edited_tags:
        field["globalTags"] = tags_value(column.edited_tags)
    if column.edited_terms:
        field["glossaryTerms"] = terms_value(column.edited_terms, days)
    return field


def _foreign_key(table: Table, column: Column, warehouse: Warehouse) -> dict[str, Any]:
    target, target_column = warehouse.column(column.refers)
    return {
        "name": f"fk_{table.label}_{column.name}",
        "foreignFields": [target.field_urn(target_column)],
        "sourceFields": [table.field_urn(column)],
        "foreignDataset": str(target.urn),
    }
