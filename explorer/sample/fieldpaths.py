"""Field paths of declared columns: dotted for tables, with types for topics and files."""

from collections.abc import Iterable

from msgspec.structs import replace

from explorer.sample.datatypes import data_type
from explorer.sample.tables import Column

__all__ = ["with_field_paths"]

_VERSION = "[version=2.0]"


def with_field_paths(platform: str, record: str, columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns with the field paths their platform's schemas have.

    A topic's paths carry the names of its Avro records, those of files say `struct`. A column
    stands after the record that holds it.
    """
    if platform not in ("kafka", "s3"):
        return tuple(replace(column, field_path=column.name) for column in columns)
    root = record or "struct"
    paths = {
        (False, ""): f"{_VERSION}.[type={root}]",
        (True, ""): f"{_VERSION}.[key=True].[type={root}Key]",
    }
    found: list[Column] = []
    for column in columns:
        parent, _, leaf = column.name.rpartition(".")
        name, _, member = leaf.partition("#")
        annotation = f"[type=union].[type={member}]" if member else _annotation(column)
        path = f"{paths[column.in_key, parent]}.{annotation}.{name}"
        paths[column.in_key, column.name] = path
        found.append(replace(column, field_path=path))
    return tuple(found)


def _annotation(column: Column) -> str:
    record = column.record or "struct"
    match column.kind:
        case "record":
            return f"[type={record}]"
        case "records":
            return f"[type=array].[type={record}]"
        case "list":
            return "[type=array].[type=string]"
        case "map" | "json":
            return "[type=map].[type=string]"
        case kind:
            return f"[type={data_type(kind).avro}]"
