"""Field paths in both forms: shown simply, kept exactly, parents found without cutting names;
and what aspects state about columns, read whatever else they hold."""

from typing import Any

import pytest

from explorer.metadata import FieldPath
from explorer.metadata.fieldpath import (
    ColumnPaths,
    column_edges,
    column_urn,
    earlier_paths,
    written_entries,
)

NESTED = "[version=2.0].[key=True].[type=struct].[type=array].[type=struct].lines.[type=string].sku"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
MART = "urn:li:dataset:(urn:li:dataPlatform:hive,mart,PROD)"


@pytest.mark.parametrize(
    ("raw", "names", "version", "key"),
    [
        ("order_id", ("order_id",), 1, False),
        ("address.zip", ("address", "zip"), 1, False),
        ("[version=2.0].[type=boolean].field_bar", ("field_bar",), 2, False),
        (NESTED, ("lines", "sku"), 2, True),
    ],
)
def test_a_path_tells_its_names_and_form(raw: Any, names: Any, version: int, key: bool) -> None:
    path = FieldPath(raw)
    assert (path.names, path.version, path.is_key) == (names, version, key)
    assert str(path) == raw
    assert path.simple == ".".join(names)


def test_a_path_without_names_is_shown_as_it_is() -> None:
    assert FieldPath("[version=2.0].[type=string]").name == "[version=2.0].[type=string]"


def test_ancestors_are_the_cuts_outside_brackets_nearest_first() -> None:
    assert list(FieldPath("a.b.c").ancestors()) == ["a.b", "a"]
    parent = "[version=2.0].[key=True].[type=struct].[type=array].[type=struct].lines"
    cuts = list(FieldPath(NESTED).ancestors())
    assert parent in cuts
    assert not any(cut.count("[") != cut.count("]") for cut in cuts)


def test_each_pair_of_columns_is_an_edge_and_anything_else_is_none() -> None:
    above, other, below = (column_urn(ORDERS, "a"), column_urn(ORDERS, "b"), column_urn(MART, "a"))
    fine = {"upstreams": [above, ORDERS, 7, other], "downstreams": [below, MART]}
    lineage = {"fineGrainedLineages": [fine, "text", {"upstreams": None}, {"upstreams": [above]}]}
    found = [(edge.upstream, edge.downstream) for edge in column_edges(lineage)]
    assert found == [(above, below), (other, below)]


@pytest.mark.parametrize("lineage", [None, {}, {"fineGrainedLineages": {}}])
def test_an_aspect_without_columns_has_no_edges(lineage: Any) -> None:
    assert list(column_edges(lineage)) == []


def test_a_path_is_found_as_the_schema_has_it() -> None:
    typed = "[version=2.0].[type=struct].[type=string].zip"
    paths = ["a,b", typed, "Id", "x", "X", "x"]
    columns = ColumnPaths.of_schema({"fields": [{"fieldPath": path} for path in paths]})
    assert [columns.exact(path) for path in ("a%2Cb", "zip", "ID", "x", "X", "gone")] == [
        *("a,b", typed, "Id", "x", "X", "gone"),
    ]


@pytest.mark.parametrize("path", ["pay.amount", "PAY.AMOUNT", "pay%2Eamount", "Id", "%49d"])
def test_a_path_that_stands_for_several_columns_is_none_of_them(path: str) -> None:
    union = "[version=2.0].[type=union].[type={}].pay.[type={}].amount"
    typed = [union.format("card", "int"), union.format("cash", "string")]
    for paths in (typed, typed[::-1]):
        columns = ColumnPaths.of([*paths, "id", "ID"])
        assert columns.exact(path) == path
        assert [columns.exact(exact) for exact in (*paths, "id", "ID")] == [*paths, "id", "ID"]


LONG, INT = "[version=2.0].[type=E].[type=long].id", "[version=2.0].[type=E].[type=int].id"


@pytest.mark.parametrize(
    ("columns", "written", "found"),
    [
        ([LONG], {INT: True}, {LONG: INT}),
        ([LONG], {"id": True}, {LONG: "id"}),
        (["user_id"], {"USER_ID": False}, {"user_id": "USER_ID"}),
        # What is at the column's own path is its own.
        ([LONG], {LONG: True}, {}),
        ([LONG], {LONG: True, INT: True}, {}),
        ([LONG], {LONG: False, INT: True}, {LONG: INT}),
        ([LONG], {LONG: True, INT: False}, {LONG: INT}),
        # Nobody can tell which column or which entry is meant.
        (["ID", "id"], {"Id": True}, {}),
        ([LONG], {INT: True, "id": True}, {}),
        (["other"], {"id": True}, {}),
    ],
)
def test_what_was_written_for_an_earlier_path_belongs_to_the_only_column_that_it_fits(
    columns: list[str], written: dict[str, bool], found: dict[str, str]
) -> None:
    assert earlier_paths(columns, written) == found


@pytest.mark.parametrize(
    ("earlier", "present", "shown"),
    [
        (INT, LONG, "[type=int].id"),
        ("id", LONG, "id"),
        ("USER_ID", "user_id", "USER_ID"),
        ("a.ID", "a.id", "ID"),
        (
            "[version=2.0].[type=A].address.[type=int].zip",
            "[version=2.0].[type=A].address.[type=string].zip",
            "[type=int].zip",
        ),
    ],
)
def test_an_earlier_path_is_shown_by_what_differs(earlier: str, present: str, shown: str) -> None:
    assert FieldPath(earlier).below(FieldPath(present)) == shown


def test_entries_that_hold_nothing_are_not_written() -> None:
    tags = {"tags": [{"tag": "urn:li:tag:PII"}]}
    infos = [
        {"fieldPath": "text", "description": "A text.", "globalTags": {"tags": []}},
        {"fieldPath": "tags", "description": " ", "globalTags": tags},
        {"fieldPath": "empty", "description": "", "glossaryTerms": {"terms": []}},
        {"fieldPath": "odd", "description": 7, "globalTags": [1]},
        {"description": "of nothing"},
        "text",
    ]
    found = written_entries({"editableSchemaFieldInfo": infos})
    assert found == {"text": True, "tags": False}
    assert written_entries(None) == {}
