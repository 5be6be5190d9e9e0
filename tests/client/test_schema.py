"""Columns in tree order, with the ingested and the edited text beside each other."""

from typing import Any

from explorer.client.entity import read_schema
from explorer.metadata.aspects import EditableSchemaMetadata, SchemaMetadata, read_aspect


def schema_of(paths: Any, edited: Any = (), **more: Any) -> Any:
    fields = [
        {
            "fieldPath": path,
            "nativeDataType": "x",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
            "description": None,
        }
        for path in paths
    ]
    ingested = read_aspect({"schemaName": "s", "fields": fields, **more}, SchemaMetadata)
    written = {"editableSchemaFieldInfo": list(edited)}
    return read_schema(ingested, read_aspect(written, EditableSchemaMetadata))


def test_children_stand_below_their_parent_wherever_they_were_listed() -> None:
    schema = schema_of(["a.x", "b", "a", "a.y.z", "c.d"])
    assert [(c.path.raw, c.depth, c.name) for c in schema] == [
        ("b", 0, "b"),
        ("a", 0, "a"),
        ("a.x", 1, "x"),
        ("a.y.z", 1, "y.z"),
        ("c.d", 0, "c.d"),
    ]
    assert schema.column("a").children == 2


def test_typed_paths_nest_by_their_whole_prefix() -> None:
    parent = "[version=2.0].[type=struct].[type=array].[type=struct].lines"
    schema = schema_of([f"{parent}.[type=string].sku", parent])
    assert [(c.name, c.depth) for c in schema] == [("lines", 0), ("sku", 1)]


def test_an_edited_text_counts_and_the_ingested_one_stays() -> None:
    schema = schema_of(
        ["a", "a.b"],
        [
            {"fieldPath": "a", "description": "mine"},
            {"fieldPath": "gone", "description": "orphan"},
            {"fieldPath": "a.b", "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]}},
        ],
    )
    assert schema.column("a").description == "mine"
    assert schema.column("a.b").description == ""
    assert [tag.name for tag in schema.column("a.b").tags] == ["PII"]
    assert [entry.field_path for entry in schema.orphans] == ["gone"]
    assert (schema.documented, len(schema)) == (1, 2)


def test_keys_are_told_by_the_column_by_the_path_and_by_the_schema() -> None:
    schema = schema_of(["id", "[version=2.0].[key=True].[type=int].k", "v"], primaryKeys=["id"])
    assert [c.is_key for c in schema] == [True, True, False]


def test_a_path_listed_twice_loses_neither_row_nor_children() -> None:
    schema = schema_of(["a", "a", "a.b"])
    assert [c.path.raw for c in schema] == ["a", "a.b", "a"]


def test_no_schema_is_an_empty_one() -> None:
    assert len(read_schema(None, None)) == 0
