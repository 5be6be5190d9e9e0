"""What was documented on each day is what the versions of that day's end say."""

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from explorer.errors import Busy, NotFound
from explorer.metadata import Proposal, Urn
from explorer.server import coverage
from explorer.server.catalog import CatalogEngine
from explorer.server.coverage import (
    DAY_MILLIS,
    HISTORY_ASPECTS,
    CoverageHistories,
    read_facts,
    series_of,
)
from explorer.server.timeseries import read_use, use_from
from tests.server.conftest import Caller

TODAY = 20_600
V = "[version=2.0].[type=string].v"
# Some are the same column before and after its type or case changed.
PATHS = ("id", "ID", "a", "b", "r", "r.x", V, V.replace("string", "int"))
USER = "urn:li:corpuser:ann"
TEXTS = ("", " ", "A text.", "Another.")


def urn_of(name: object) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,trend.{name},PROD)"


def write(catalog: CatalogEngine, urn: str, aspect: str, value: dict[str, Any]) -> None:
    asyncio.run(catalog.ingest(Proposal(Urn.parse(urn), aspect, value)))


def some_change(
    dice: random.Random, schema: Callable[..., dict[str, Any]]
) -> tuple[str, dict[str, Any]]:
    paths = dice.sample(PATHS, dice.randrange(1, len(PATHS)))
    match dice.randrange(6):
        case 0:
            columns = [(path, dice.choice(TEXTS)) for path in paths]
            return "schemaMetadata", schema(*columns)
        case 1:
            infos = [{"fieldPath": path, "description": dice.choice(TEXTS)} for path in paths]
            return "editableSchemaMetadata", {"editableSchemaFieldInfo": infos}
        case 2:
            return "datasetProperties", {"description": dice.choice(TEXTS)}
        case 3:
            return "editableDatasetProperties", {"description": dice.choice(TEXTS)}
        case 4:
            stamp = {"time": dice.randrange(99), "actor": USER}
            return "ownership", {"owners": [], "lastModified": stamp}
        case _:
            return "status", {"removed": dice.random() < 0.5}


def counts_by_versions(catalog: CatalogEngine, urns: Iterable[str], day: int) -> list[int]:
    """The counts at the end of a day, from every version read one by one."""
    total = [0, 0, 0, 0]
    for urn in urns:
        stored: dict[str, bytes] = {}
        for name in HISTORY_ASPECTS:
            versions = catalog.store.versions(urn, name, (1, 0), 0, -1)
            for one in reversed(versions[1] if versions else ()):
                if one.time_millis < (day + 1) * DAY_MILLIS:
                    stored[name] = one.value
        if not stored:
            continue
        facts = read_facts(urn, stored, read_use(urn, catalog.store, use_from()))
        if not facts.removed:
            for at, number in enumerate((*facts.table[:2], *facts.columns[:2])):
                total[at] += number
    return total


def trend(histories: CoverageHistories, urns: Iterable[str], days: list[int]) -> list[list[int]]:
    with histories.days() as known:
        whole, _ = series_of([(known[urn], ()) for urn in urns if urn in known], days)
    series = (whole.tables, whole.tables_documented, whole.columns, whole.columns_documented)
    return [list(counts) for counts in zip(*series, strict=True)]


@pytest.mark.parametrize("seed", range(4))
def test_every_day_is_as_its_versions_say(
    fresh: Callable[[], CatalogEngine],
    clock: Callable[[int], None],
    schema: Callable[..., dict[str, Any]],
    seed: int,
) -> None:
    dice, catalog = random.Random(seed), fresh()
    urns = [urn_of(name) for name in range(6)]
    first = TODAY - 30
    for day in range(first, TODAY + 1):
        for _ in range(dice.randrange(4)):
            # Once the clock was set back.
            clock(day - 5 if dice.random() < 0.05 else day)
            # What does not exist is not soft-deleted.
            with suppress(NotFound):
                write(catalog, dice.choice(urns), *some_change(dice, schema))
        if day == TODAY - 8:
            asyncio.run(catalog.delete(Urn.parse(urns[0]), None, (None, None)))
        if day == TODAY - 20:
            # From here on only what changes is read again.
            histories = catalog.coverage_histories
            assert trend(histories, urns, [day])[-1] == counts_by_versions(catalog, urns, day)
    for days in (list(range(first - 3, TODAY + 1)), list(range(TODAY - 28, TODAY + 1, 7))):
        expected = [counts_by_versions(catalog, urns, day) for day in days]
        assert trend(catalog.coverage_histories, urns, days) == expected
        assert trend(CoverageHistories(catalog.store), urns, days) == expected


def test_a_trimmed_change_log_loses_no_day(
    fresh: Callable[[], CatalogEngine],
    clock: Callable[[int], None],
    schema: Callable[..., dict[str, Any]],
) -> None:
    catalog, urn = fresh(), urn_of("trimmed")
    clock(TODAY - 9)
    write(catalog, urn, "schemaMetadata", schema("a", "b"))
    assert trend(catalog.coverage_histories, [urn], [TODAY - 9]) == [[1, 0, 2, 0]]
    clock(TODAY - 5)
    write(catalog, urn, "schemaMetadata", schema(("a", "Told."), "b"))
    write(catalog, urn_of("other"), "status", {"removed": False})
    head = catalog.store.log_bounds().head
    most = 1_000
    catalog.store.write(lambda tx: tx.trim_log(TODAY * DAY_MILLIS, head, most)).result()
    assert catalog.store.log_bounds().floor > 0
    days = [TODAY - 10, TODAY - 9, TODAY - 6, TODAY - 5, TODAY]
    assert trend(catalog.coverage_histories, [urn], days) == [
        [0, 0, 0, 0],
        [1, 0, 2, 0],
        [1, 0, 2, 0],
        [1, 0, 2, 1],
        [1, 0, 2, 1],
    ]


def test_who_asks_again_goes_on_where_the_first_had_to_wait(
    fresh: Callable[[], CatalogEngine],
    clock: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = fresh()
    clock(TODAY)
    urns = [urn_of(f"busy{at}") for at in range(6)]
    for urn in urns:
        write(catalog, urn, "status", {"removed": False})
    monkeypatch.setattr(coverage, "_AT_ONCE", 2)
    histories = CoverageHistories(catalog.store)
    # Two of the six at a time; then it is seen that there are no more.
    for _ in range(3):
        with pytest.raises(Busy, match="first time"), histories.days(patience_seconds=0):
            pass
    with histories.days(patience_seconds=0) as known:
        assert known.keys() == set(urns)


def test_the_trend_is_told_over_the_wire_by_day_week_and_group(
    caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
) -> None:
    caller.ingest(dataset, "schemaMetadata", schema(("a", "Told."), "b"))
    caller.ingest(dataset, "datasetProperties", {"description": "All of it."})
    body = {"urns": [dataset], "by": "platform", "days": 30}
    value = caller.post("/stewardship?action=trend", body).json()["value"]
    today = int(time.time() * 1000) // DAY_MILLIS * DAY_MILLIS
    assert (value["datasets"], value["sinceMillis"], value["groupTotal"]) == (1, today, 1)
    # Nothing is told of days before anything was there.
    assert value["days"] == [today]
    assert value["tables"] == {"total": [1], "documented": [1]}
    assert value["columns"] == {"total": [2], "documented": [1]}
    assert [(one["key"], one["columns"]) for one in value["groups"]] == [
        ("hive", {"total": [2], "documented": [1]})
    ]
    nothing = caller.post("/stewardship?action=trend", {"urns": [urn_of("no")]}).json()["value"]
    assert (nothing["datasets"], nothing["sinceMillis"], nothing["groups"]) == (0, None, [])
    for wrong in ({"days": 0}, {"every": "year"}, {"by": "colour"}, {"days": 9_999}):
        answer = caller.post("/stewardship?action=trend", wrong)
        assert answer.status_code == 400, (wrong, answer.text)
