"""The Avro documents of the topics, written from their declared columns."""

import json
from collections.abc import Sequence
from typing import Any

from explorer.sample.datatypes import data_type
from explorer.sample.tables import Column, Table

__all__ = ["key_document", "value_document"]

_LOGICAL = {
    "ts": {"type": "long", "logicalType": "timestamp-millis"},
    "date": {"type": "int", "logicalType": "date"},
    "uuid": {"type": "string", "logicalType": "uuid"},
    "money": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
    "list": {"type": "array", "items": "string"},
    "map": {"type": "map", "values": "string"},
    # The symbols are no column of anything, so an enum is written as what it is on the wire.
    "enum": "string",
}


def value_document(table: Table) -> str:
    """The schema of a topic's messages, as JSON."""
    return _document(table.record, [c for c in table.columns if not c.in_key])


def key_document(table: Table) -> str:
    """The schema of a topic's keys, as JSON."""
    return _document(f"{table.record}Key", [c for c in table.columns if c.in_key])


def _document(record: str, columns: Sequence[Column]) -> str:
    return json.dumps(_record(record, "", columns))


def _record(name: str, parent: str, columns: Sequence[Column]) -> dict[str, Any]:
    fields = [
        _field(column, columns)
        for column in columns
        if column.name.rpartition(".")[0] == parent and "#" not in column.name[len(parent) :]
    ]
    return {"type": "record", "name": name, "fields": fields}


def _field(column: Column, columns: Sequence[Column]) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name.rpartition(".")[2]}
    kind = _type(column, columns)
    if column.required:
        field["type"] = kind
    else:
        field |= {"type": ["null", kind], "default": None}
    if column.doc:
        field["doc"] = column.doc
    return field


def _type(column: Column, columns: Sequence[Column]) -> Any:
    match column.kind:
        case "record":
            return _record(column.record, column.name, columns)
        case "records":
            return {"type": "array", "items": _record(column.record, column.name, columns)}
        case "union":
            return [
                _record(member.name.rpartition("#")[2], member.name, columns)
                for member in columns
                if member.name.startswith(f"{column.name}#") and member.kind == "record"
            ]
        case kind:
            return _LOGICAL.get(kind, data_type(kind).avro)
