"""What aspects state about columns is read whatever else they hold."""

from typing import Any

import pytest

from explorer.metadata.column_lineage import ColumnPaths, column_edges, column_urn

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
MART = "urn:li:dataset:(urn:li:dataPlatform:hive,mart,PROD)"


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
