"""The worklist's order is the one that a person works out by hand."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from explorer.client.entity import AspectRead, Entity
from explorer.metadata import Urn
from explorer.stewardship import Reach, Stewardship, TableUse, rank
from explorer.stewardship.coverage import GROUPINGS
from tests.conftest import schema_metadata


@pytest.fixture
def steward(either: Any) -> Any:
    return either


def test_the_order_is_use_times_what_is_downstream(steward: Any) -> None:
    worklist = steward.worklist()
    # (use + 1) × (downstream + 1)
    assert [
        (item.table, str(item.column or ""), item.use, item.downstream, item.weight)
        for item in worklist.items
    ] == [
        ("mart", "", 20, 1, 42),
        ("orders", "total", 7, 2, 24),
        ("raw", "", 4, 3, 20),
        ("raw", "id", 4, 3, 20),
        ("raw", "body", 4, 3, 20),
        ("mart", "mail", 6, 1, 14),
        ("mart", "id", 0, 1, 2),
        ("side", "", 0, 0, 1),
        ("side", "a", 0, 0, 1),
        ("side", "b", 0, 0, 1),
    ]
    assert worklist.total == 10
    assert not worklist.truncated


def test_of_equal_weight_the_more_used_comes_first_then_urns_and_columns_in_schema_order() -> None:
    # (use, downstream), all of the weight 12.
    counts = {"a": (1, 5), "b": (2, 3), "c": (5, 1), "d": (3, 2), "e": (5, 1)}
    schema = AspectRead("schemaMetadata", 0, schema_metadata({"z": None, "y": None}))
    urns = {name: Urn.dataset("hive", name) for name in counts}
    ranked = rank(
        [Entity(urn, {"schemaMetadata": schema}) for urn in urns.values()],
        {urns[name]: TableUse(use) for name, (use, _) in counts.items()},
        {urns[name]: Reach(downstream) for name, (_, downstream) in counts.items()},
    )
    assert {item.weight for item in ranked.items} == {12}
    assert [(Urn.parse(item.urn).name, str(item.column or "")) for item in ranked.items] == [
        (name, path) for name in "cedba" for path in ("", "z", "y")
    ]


def test_each_item_says_where_its_use_comes_from(steward: Any) -> None:
    told = {(item.table, str(item.column or "")): item.use_of for item in steward.worklist().items}
    assert told["orders", "total"] == "column"
    assert told["mart", "id"] == "column"
    assert told["raw", "id"] == "table"
    assert told["mart", ""] == "table"
    assert told["side", "a"] == "none"


def test_the_first_are_given_and_all_are_counted(steward: Any) -> None:
    worklist = steward.worklist(top=3)
    assert [item.table for item in worklist.items] == ["mart", "orders", "raw"]
    assert (worklist.total, worklist.truncated) == (10, True)


def test_more_days_count_more_use(steward: Any, named: Any) -> None:
    (item,) = steward.worklist([named("orders")], days=60).items
    assert (item.use, item.weight) == (907, 908 * 3)
    # One dataset needs no list.
    assert steward.worklist(named("orders"), days=60).items == (item,)


def test_what_is_documented_leaves_the_list(steward: Any, catalog: Any, named: Any) -> None:
    catalog.describe(named("mart"), "The mart.")
    catalog.describe(named("orders"), "Sum.", column="total")
    assert [item.table for item in steward.worklist(top=2).items] == ["raw", "raw"]


@pytest.mark.parametrize("either", ["counted here"], indirect=True)
def test_only_what_lacks_documentation_is_measured(steward: Any) -> None:
    seen = []
    steward.worklist(progress=lambda *at: seen.append(at))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_usage_by_the_path_without_types_is_that_of_the_column(
    steward: Any, catalog: Any, named: Any
) -> None:
    path = "[version=2.0].[type=struct].[type=string].zip"
    value = catalog.aspect(named("side"), "schemaMetadata").value
    value["fields"] = [value["fields"][0] | {"fieldPath": path}]
    catalog.put(named("side"), "schemaMetadata", value)
    urn = Urn.parse(named("side"))
    ranked = rank(
        [catalog.entity(urn)], {urn: TableUse(9, {"zip": 5})}, {urn: Reach(3, at_least=True)}
    )
    (column,) = [item for item in ranked.items if item.column]
    assert column.column is not None
    assert (column.column.raw, column.use, column.use_of) == (path, 5, "column")
    assert (column.weight, column.at_least) == (24, True)


def test_the_server_and_the_client_count_the_same_over_the_whole_sample(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> Iterator[Any]:
        steward = Stewardship(sample)
        yield steward.worklist()
        yield steward.worklist(top=7, days=3)
        yield steward.worklist(text="orders", filter="platform:snowflake")
        yield steward.worklist(folder="/prod/snowflake/analytics", top=50)
        yield from (steward.coverage(by=by) for by in GROUPINGS)

    counted = list(asked())
    assert len(counted[0].items) == counted[0].total > 100
    here = replace(sample.abilities(), stewardship=False)
    monkeypatch.setattr(sample.core._connection, "_abilities", here)
    for by_server, here in zip(counted, asked(), strict=True):
        assert by_server == here
