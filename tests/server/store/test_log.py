"""The change log: every committed change, with what it replaced."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.catalog import Catalog

URN = Urn.of("tag", "logged")


@pytest.fixture
def catalog(fresh: Callable[[], Catalog]) -> Catalog:
    return fresh()


def change(catalog: Catalog, aspect: str, value: Any, kind: Any = "UPSERT", run: str = "r") -> None:
    actor = "urn:li:corpuser:logger"
    proposal = Proposal(URN, aspect, value, kind, {"runId": run}, actor)
    checked = catalog.intake.check(proposal)
    catalog.store.write(lambda tx: catalog.intake.apply(tx, checked, 77)).result()


def test_each_change_is_one_row_with_the_new_and_the_previous_value(catalog: Catalog) -> None:
    change(catalog, "tagProperties", {"name": "one"})
    change(catalog, "tagProperties", {"name": "two"})
    change(catalog, "tagProperties", {"name": "two"})
    change(catalog, "tagProperties", None, "DELETE")
    rows = catalog.store.log(0, 100)
    one, two, key = b'{"name":"one"}', b'{"name":"two"}', b'{"name":"logged"}'
    assert [(row.aspect, row.change, row.previous, row.value) for row in rows] == [
        ("tagKey", "UPSERT", None, key),
        ("tagProperties", "UPSERT", None, one),
        ("tagProperties", "UPSERT", one, two),
        ("tagProperties", "DELETE", two, None),
    ]
    assert [row.offset for row in rows] == [1, 2, 3, 4]
    assert {row.urn for row in rows} == {str(URN)}
    assert {(row.time_millis, row.actor) for row in rows} == {(77, "urn:li:corpuser:logger")}
    assert orjson.loads(rows[1].system)["runId"] == "r"


def test_it_is_read_from_an_offset(catalog: Catalog) -> None:
    for n in range(5):
        change(catalog, "tagProperties", {"name": str(n)})
    assert [row.offset for row in catalog.store.log(2, 2)] == [3, 4]
    assert catalog.store.log(catalog.store.log_head(), 10) == []
    assert catalog.store.changed_since(3) == [str(URN)]
    assert catalog.store.changed_since(6) == []


def test_documents_over_time_are_logged_with_what_they_replaced(catalog: Catalog) -> None:
    global_urn = Urn.dataset("hive", "logged")
    for queries in (1, 2):
        value = {"timestampMillis": 5, "totalSqlQueries": queries}
        checked = catalog.intake.check(Proposal(global_urn, "datasetUsageStatistics", value))
        catalog.store.write(lambda tx, c=checked: catalog.intake.apply(tx, c, 1)).result()
    rows = [row for row in catalog.store.log(0, 9) if row.aspect == "datasetUsageStatistics"]
    assert [row.previous for row in rows] == [None, rows[0].value]


def test_the_log_outlives_what_it_tells_of(catalog: Catalog) -> None:
    change(catalog, "tagProperties", {"name": "one"})
    change(catalog, "tagKey", None, "DELETE")
    assert catalog.store.entity_count() == 0
    last = catalog.store.log(0, 9)[-1]
    assert (last.aspect, last.change, last.value) == ("tagKey", "DELETE", None)
