"""Versions and documents that are older than is kept go; what is told of the past stays right."""

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from typing import Any, cast

import httpx
import orjson
import pytest

from explorer.metadata import Proposal, Urn
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import Finding, check
from explorer.server.coverage import DAY_MILLIS
from explorer.server.retention import Retention, complete_since, trim_documents, trim_versions
from explorer.server.store import SurveyedStore

NOW_DAY = int(time.time() * 1000) // DAY_MILLIS


def urn_of(name: object) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,kept.{name},PROD)"


def never() -> bool:
    return False


def write(catalog: CatalogEngine, urn: str, aspect: str, value: dict[str, Any]) -> None:
    asyncio.run(catalog.ingest(Proposal(Urn.parse(urn), aspect, value)))


def describe(catalog: CatalogEngine, urn: str, text: object) -> None:
    write(catalog, urn, "editableDatasetProperties", {"description": f"{text}"})


def forget_log(catalog: CatalogEngine) -> None:
    """Drop all of the change log but its last row, which is of another entity."""
    describe(catalog, urn_of("last"), uuid.uuid4())
    catalog.index.flush()
    head = catalog.store.log_bounds().head
    catalog.store.write(lambda tx: tx.trim_log(1 << 60, head, 1 << 30)).result()


def findings(catalog: CatalogEngine) -> list[Finding]:
    return check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry)


def texts(catalog: CatalogEngine, urn: str) -> list[bytes]:
    found = catalog.store.versions(urn, "editableDatasetProperties", (0, 1), 0, 1_000)
    assert found is not None
    return [one.value for one in found[1]]


def test_the_newest_versions_of_each_aspect_stay(fresh: Callable[[], CatalogEngine]) -> None:
    catalog, dice = fresh(), random.Random(3)
    urns = [urn_of(name) for name in range(30)]
    written: dict[str, int] = dict.fromkeys(urns, 0)
    for text in range(200):
        urn = dice.choice(urns)
        written[urn] += 1
        describe(catalog, urn, text)
    before = {urn: texts(catalog, urn) for urn in urns if written[urn]}
    # The log tells of every one of them yet.
    assert trim_versions(catalog.store, 3, never) == 0
    forget_log(catalog)
    gone = trim_versions(catalog.store, 3, never)
    assert gone == sum(max(0, count - 4) for count in written.values()) > 0
    for urn, all_of_them in before.items():
        assert texts(catalog, urn) == all_of_them[:4]
    assert findings(catalog) == []
    # What is written afterwards goes on counting.
    urn = max(written, key=lambda one: written[one])
    describe(catalog, urn, "Afterwards.")
    assert len(texts(catalog, urn)) == 5
    assert trim_versions(catalog.store, 3, never) == 1
    assert trim_versions(catalog.store, 3, never) == 0
    assert findings(catalog) == []


def test_no_row_of_the_change_log_loses_what_it_tells_of(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()
    for text in range(20):
        describe(catalog, urn_of("told"), text)
    catalog.index.flush()
    head = catalog.store.log_bounds().head
    catalog.store.write(lambda tx: tx.trim_log(1 << 60, head - 5, 1 << 30)).result()
    told = catalog.store.log(0, 100)
    assert len(told) == 5
    assert trim_versions(catalog.store, 1, never) > 0
    assert catalog.store.log(0, 100) == told
    # Five writes, and what stood there before the first of them.
    assert len(texts(catalog, urn_of("told"))) == 6


def test_the_documents_of_the_last_days_stay_and_the_newest_of_each(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()

    def measure(name: str, days_ago: int, **more: object) -> None:
        moment = int(time.time() * 1000) - days_ago * DAY_MILLIS + 60_000
        value = {"timestampMillis": moment, "rowCount": 1_000 - days_ago, **more}
        write(catalog, urn_of(name), "datasetProfile", value)

    def days_ago(name: str) -> list[int]:
        found = catalog.store.documents(urn_of(name), "datasetProfile")
        return [1_000 - orjson.loads(one.value)["rowCount"] for one in found]

    partition = {"partitionSpec": {"partition": "day=1", "type": "PARTITION"}}
    for days in (1, 39, 40, 41, 90):
        measure("used", days)
        measure("other", days + 100)
    measure("parts", 60)
    measure("parts", 70)
    measure("parts", 50, **partition)
    measure("parts", 80, **partition)
    forget_log(catalog)
    assert trim_documents(catalog.store, 40, never) == 8
    assert sorted(days_ago("used")) == [1, 39, 40]
    assert days_ago("other") == [101]
    # The newest that tells of the whole table, beside the newest of all.
    assert sorted(days_ago("parts")) == [50, 60]
    assert findings(catalog) == []


def test_coverage_over_time_begins_where_no_version_is_missing(
    fresh: Callable[[], CatalogEngine],
    clock: Callable[[int], None],
    serve: Callable[[Service], str],
) -> None:
    catalog = fresh()
    clock(NOW_DAY - 20)
    describe(catalog, urn_of("last"), "It stays described.")
    for days_ago in (20, 15, 10, 5):
        clock(NOW_DAY - days_ago)
        describe(catalog, urn_of("long"), "" if days_ago % 2 else days_ago)
        describe(catalog, urn_of(days_ago), "Once.")
    address = serve(Service(catalog))
    whole = trend(address)
    assert whole["sinceMillis"] == (NOW_DAY - 20) * DAY_MILLIS
    forget_log(catalog)
    assert trim_versions(catalog.store, 1, never) == 2
    # The text of 15 days ago went with that of 20: it held until 10 days ago.
    begin = NOW_DAY - 10
    assert complete_since(catalog.store)["editableDatasetProperties"] // DAY_MILLIS == begin
    trimmed = trend(address)
    assert trimmed["sinceMillis"] == begin * DAY_MILLIS
    at = whole["days"].index(begin * DAY_MILLIS)
    assert trimmed["days"] == whole["days"][at:]
    assert trimmed["tables"] == {name: one[at:] for name, one in whole["tables"].items()}


def trend(address: str) -> Any:
    answer = httpx.post(f"{address}/stewardship?action=trend", json={"days": 60}, timeout=120)
    return answer.json()["value"]


def test_a_store_that_is_away_is_told_on_one_line(
    fresh: Callable[[], CatalogEngine], caplog: pytest.LogCaptureFixture
) -> None:
    catalog = fresh()
    catalog.store.close()
    catalog.keep(Retention(None, 2, 31))
    deadline = time.monotonic() + 60
    while not caplog.records:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    record = caplog.records[0]
    assert record.getMessage().startswith("expired changes, versions and documents could not be")
    assert record.exc_info is None


def test_a_catalog_that_keeps_little_trims_by_itself(fresh: Callable[[], CatalogEngine]) -> None:
    catalog = fresh()
    for text in range(9):
        describe(catalog, urn_of("little"), text)
    forget_log(catalog)
    catalog.keep(Retention(None, 2, 31))
    deadline = time.monotonic() + 60
    while len(texts(catalog, urn_of("little"))) > 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    left = [orjson.loads(one)["description"] for one in texts(catalog, urn_of("little"))]
    assert left == ["8", "7", "6"]
