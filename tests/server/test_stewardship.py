"""What stewardship counts is kept: over changes, restarts, damage and days."""

import asyncio
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from explorer.errors import Busy
from explorer.metadata import Proposal, Urn, load_registry
from explorer.server import stewardship
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.coverage import DatasetFacts, Lacking, read_facts
from explorer.server.data_directory import COUNTS, open_catalog
from explorer.server.process import listen_on_tcp, run
from explorer.server.projection import Projection
from explorer.server.stewardship import EntryDatabase, UndescribedItem
from tests.server.conftest import Caller

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
DAY_MILLIS = 86_400_000


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,kept.{name},PROD)"


def upstream(*names: Any) -> Any:
    return {
        "upstreams": [
            {"dataset": table(name), "type": "COPY", "auditStamp": STAMP} for name in names
        ]
    }


def used(days_ago: Any, queries: Any) -> Any:
    at = int(time.time() * 1000) - days_ago * DAY_MILLIS
    return {"timestampMillis": at, "totalSqlQueries": queries}


def write(catalog: Any, *changes: Any) -> None:
    for name, aspect, value in changes:
        asyncio.run(catalog.ingest(Proposal(Urn.parse(table(name)), aspect, value)))


def counted(catalog: Any) -> Any:
    """(what is not described, the most it is used, what is made from it), by table."""
    with catalog.ledger.entries() as entries:
        downstream = dict(entries.downstream("", -1))
        found: dict[str, Any] = dict.fromkeys(downstream, (0, 0))
        for one in entries.rank(None, 0, 1_000).items:
            lacking, most = found[one.urn]
            found[one.urn] = (lacking + 1, max(most, one.lacking.use))
    return {
        Urn.parse(urn).name.removeprefix("kept."): (*one, downstream[urn])
        for urn, one in found.items()
    }


@pytest.fixture
def chain(schema: Callable[..., dict[str, Any]]) -> Any:
    """raw → mart → report."""
    return (
        ("raw", "schemaMetadata", schema("id", "body")),
        ("mart", "upstreamLineage", upstream("raw")),
        ("report", "upstreamLineage", upstream("mart")),
        ("mart", "datasetUsageStatistics", used(1, 9)),
    )


def test_a_change_is_counted_when_somebody_asks_next(
    fresh: Callable[[], CatalogEngine], chain: Any, schema: Callable[..., dict[str, Any]]
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    assert counted(catalog) == {"raw": (3, 0, 2), "mart": (1, 9, 1), "report": (1, 0, 0)}
    described = {"description": "Told."}
    write(
        catalog,
        ("mart", "datasetProperties", described),
        ("raw", "datasetUsageStatistics", used(2, 4)),
    )
    assert counted(catalog) == {"raw": (3, 4, 2), "mart": (0, 0, 1), "report": (1, 0, 0)}
    write(catalog, ("report", "upstreamLineage", upstream("raw")))
    assert counted(catalog)["raw"] == (3, 4, 2)
    assert counted(catalog)["mart"] == (0, 0, 0)
    asyncio.run(catalog.delete(Urn.parse(table("report")), None, (None, None)))
    assert counted(catalog) == {"raw": (3, 4, 1), "mart": (0, 0, 0)}
    # Something new is made from what was pointed at before it was stored.
    write(
        catalog,
        ("raw", "upstreamLineage", upstream("later")),
        ("later", "status", {"removed": False}),
    )
    assert counted(catalog)["later"] == (1, 0, 2)


@pytest.fixture
def kept(fresh: Callable[[], CatalogEngine], chain: Any, tmp_path: Path) -> Any:
    """The file of a catalog that was counted and closed, and what was counted."""
    catalog = fresh()
    write(catalog, *chain)
    found = counted(catalog)
    catalog.close()
    return tmp_path / "data" / COUNTS, found


def noted_reads(monkeypatch: pytest.MonkeyPatch, gate: Callable[[str], object] = str) -> list[str]:
    """Return the list of the datasets that are read from now on; `gate` is called before each."""
    read: list[str] = []

    def noted(urn: str, *more: Any) -> Any:
        gate(urn)
        read.append(urn)
        return read_facts(urn, *more)

    monkeypatch.setattr(stewardship, "read_facts", noted)
    return read


@contextmanager
def opened(file: Any) -> Iterator[Any]:
    catalog = open_catalog(file.parent, load_registry())
    yield catalog
    catalog.close()


def test_what_was_counted_is_kept_over_a_restart(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, before = kept
    assert file.stat().st_mode & 0o077 == 0
    read = noted_reads(monkeypatch)
    with opened(file) as catalog:
        assert counted(catalog) == before
        assert read == []
        write(catalog, ("mart", "datasetProperties", {"description": "Told."}))
        assert counted(catalog) == before | {"mart": (0, 0, 1)}
        assert read == [table("mart")]


def test_after_a_crash_what_was_kept_is_brought_up_to_date(kept: Any) -> None:
    file, before = kept
    as_it_was = file.read_bytes()
    with opened(file) as catalog:
        write(
            catalog,
            ("mart", "datasetProperties", {"description": "Told."}),
            ("report", "upstreamLineage", upstream("raw")),
        )
        counted(catalog)
    file.write_bytes(as_it_was)
    with opened(file) as catalog:
        assert counted(catalog) == before | {"mart": (0, 0, 0)}


@pytest.mark.parametrize("damage", [b"", b"\x00", b"half"])
def test_a_file_that_cannot_be_read_is_made_anew(kept: Any, damage: bytes) -> None:
    file, before = kept
    file.write_bytes(damage if damage != b"half" else file.read_bytes()[:-9])
    with opened(file) as catalog:
        assert counted(catalog) == before


def test_the_file_of_another_catalog_is_not_taken(kept: Any, tmp_path: Path) -> None:
    file, _ = kept
    (tmp_path / "other").mkdir()
    shutil.copy(file, tmp_path / "other" / COUNTS)
    with opened(tmp_path / "other" / COUNTS) as catalog:
        assert counted(catalog) == {}


def test_nothing_is_counted_before_somebody_asks(
    fresh: Callable[[], CatalogEngine], chain: Any, tmp_path: Path
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    fresh()
    assert not (tmp_path / "data" / COUNTS).exists()


def test_days_that_are_over_do_not_count(
    fresh: Callable[[], CatalogEngine], chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    assert counted(catalog)["mart"] == (1, 9, 1)
    later = time.time_ns() + 31 * DAY_MILLIS * 10**6
    monkeypatch.setattr(time, "time_ns", lambda: later)
    catalog.recount_use()
    deadline = time.monotonic() + 60
    while counted(catalog)["mart"] != (1, 0, 1) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert counted(catalog)["mart"] == (1, 0, 1)


@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_page_of_the_worklist_is_that_of_sorting_everything(seed: int, *, chosen: bool) -> None:
    dice = random.Random(seed)
    facts: dict[str, DatasetFacts | None] = {}
    downstream: dict[str, int] = {}
    whole = []
    for at in range(200):
        urn = f"urn:{dice.randrange(10**6):06}"
        reach = downstream[urn] = dice.choice((0, 0, 1, 5, 10_000, 10_001))
        lacking = tuple(
            # The last one has the path and the position of the one before: it is listed twice.
            Lacking(f"c{min(place, 3)}", "text", min(place, 3), dice.choice((0, 1, 7)), "column")
            for place in range(1, dice.randint(1, 6))
        )
        is_removed = dice.random() < 0.1
        facts[urn] = DatasetFacts(
            f"t{at}", "hive", is_removed, (1, 0, 0, 0), (4, 0, 0, 0), lacking, (), (), (), ()
        )
        if chosen or not is_removed:
            whole += [
                UndescribedItem(urn, f"t{at}", "hive", one, min(reach, 10_000), reach > 10_000)
                for one in lacking
            ]
    whole.sort(key=lambda one: one.key)
    urns = [*facts, *list(facts)[:9], "urn:unknown"] if chosen else None
    kept = [one for one in facts.values() if one is not None and (chosen or not one.removed)]
    database = EntryDatabase(None)
    database.put(facts)
    database.set_downstream(downstream)
    database.finish()
    for start, count in ((0, 1), (0, 10), (5, 20), (100, 50), (0, 10_000), (len(whole), 5), (3, 0)):
        page = database.rank(urns, start, count)
        keys = [one.key for one in whole[start : start + count]]
        assert [one.key for one in page.items] == keys, (start, count)
        assert (page.total, page.datasets) == (len(whole), len(kept))
    assert sorted(map(repr, database.rank(urns, 0, 10_000).items)) == sorted(map(repr, whole))
    # As if nothing was used: the use of another period is read for each dataset.
    page = database.rank(
        urns, 2, 7, lambda _, lacking: tuple(replace(one, use=0) for one in lacking)
    )
    unused = sorted(replace(one, lacking=replace(one.lacking, use=0)).key for one in whole)
    assert [one.key for one in page.items] == unused[2:9]
    database.close()


def test_of_equal_weight_the_more_used_comes_first_then_urns_and_columns_in_schema_order() -> None:
    # (use, downstream), all of the weight 12.
    counts = {"a": (1, 5), "b": (2, 3), "c": (5, 1), "d": (3, 2), "e": (5, 1)}

    def lacking(use: int) -> tuple[Lacking, ...]:
        return tuple(Lacking(path, "text", place, use, "table") for place, path in enumerate("zy"))

    database = EntryDatabase(None)
    database.put(
        {
            name: DatasetFacts(
                *(name, "hive", False, (1, 0, 0, 0), (1, 0, 0, 0), lacking(use)), (), (), (), ()
            )
            for name, (use, _) in counts.items()
        }
    )
    database.set_downstream({name: downstream for name, (_, downstream) in counts.items()})
    database.finish()
    of_other_days = database.rank(None, 0, 99, lambda name, _: lacking(counts[name][0]))
    for page in (database.rank(None, 0, 99), of_other_days):
        assert [(item.urn, item.lacking.path) for item in page.items] == [
            (name, path) for name in "cedba" for path in "zy"
        ]
    database.close()


def test_both_questions_are_answered_over_the_wire_and_wrong_ones_refused(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    body = {"urns": [dataset], "count": 5}
    value = caller.post("/stewardship?action=worklist", body).json()["value"]
    (item,) = value["items"]
    assert (value["datasets"], value["total"], value["days"]) == (1, 1, 30)
    assert (item["urn"], item["column"], item["usedOf"], item["downstream"]) == (
        dataset,
        None,
        "none",
        0,
    )
    value = caller.post(
        "/stewardship?action=coverage", {"urns": [dataset], "by": "platform"}
    ).json()["value"]
    assert value["tables"] == {"total": 1, "documented": 0, "edited": 0, "ingested": 0}
    assert [(one["key"], one["name"]) for one in value["groups"]] == [("hive", "hive")]
    for action, wrong in (
        ("worklist", {"days": 0}),
        ("worklist", {"urns": [dataset], "folder": "/prod"}),
        ("coverage", {"by": "colour"}),
        ("coverage", {"urns": "x"}),
    ):
        answer = caller.post(f"/stewardship?action={action}", wrong)
        assert answer.status_code == 400, (action, wrong, answer.text)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that the first count waits for after two of the three tables, in parts of one."""
    gate = threading.Event()
    monkeypatch.setattr(stewardship, "_AT_ONCE", 1)
    noted_reads(monkeypatch, lambda urn: gate.wait() if urn == table("report") else None)
    yield gate
    gate.set()


def until(so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not so() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert so()


def test_who_asks_first_is_told_to_wait_and_how_far_the_count_is(
    fresh: Callable[[], CatalogEngine],
    chain: Any,
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    monkeypatch.setattr(stewardship, "PATIENCE_SECONDS", 0.05)
    assert not catalog.ledger.is_counting
    with pytest.raises(Busy, match="being counted for the first time"):
        counted(catalog)
    until(lambda: catalog.ledger.is_counting)
    until(lambda: "2 of 3 datasets; try again soon" in str(catalog.ledger.busy()))
    with pytest.raises(Busy, match="2 of 3 datasets; try again soon") as told:
        counted(catalog)
    assert told.value.retry_after_seconds is not None
    assert told.value.retry_after_seconds >= 2
    held.set()
    monkeypatch.setattr(stewardship, "PATIENCE_SECONDS", 20.0)
    assert counted(catalog)["mart"] == (1, 9, 1)
    assert not catalog.ledger.is_counting


def test_a_count_that_takes_long_says_in_how_many_minutes_to_try_again(
    fresh: Callable[[], CatalogEngine],
    chain: Any,
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    assert not catalog.ledger.is_ready
    until(lambda: "2 of 3" in str(catalog.ledger.busy()))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 300)
    busy = catalog.ledger.busy()
    monkeypatch.undo()
    # Two took five minutes.
    assert str(busy).endswith("2 of 3 datasets; try again in about 3 minutes")
    assert busy.retry_after_seconds == pytest.approx(150, rel=0.1)
    held.set()


def test_an_interrupted_count_goes_on_where_it_stopped(
    fresh: Callable[[], CatalogEngine], schema: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    catalog = fresh()
    write(catalog, *((f"t{at:02}", "schemaMetadata", schema("a", "b")) for at in range(20)))
    write(catalog, ("t03", "upstreamLineage", upstream("t02")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stewardship, "_AT_ONCE", 3)
        stopped = threading.Event()

        def stop(urn: str) -> None:
            if urn == table("t10"):
                stopped.set()
                until(lambda: catalog.ledger._is_closing)

        read = noted_reads(patch, stop)
        assert not catalog.ledger.is_ready
        assert stopped.wait(60)
        catalog.ledger.close()
        first = set(read)
    # While it was stopped, one that was counted changed.
    write(catalog, ("t01", "datasetProperties", {"description": "Told."}))
    with pytest.MonkeyPatch.context() as patch:
        read = noted_reads(patch)
        catalog = fresh()
        found = counted(catalog)
    assert found == {f"t{at:02}": (2 if at == 1 else 3, 0, 1 if at == 2 else 0) for at in range(20)}
    assert table("t00") in first
    assert table("t00") not in read
    assert len(read) <= 20 - len(first) + 3 + 1
    assert (tmp_path / "data" / COUNTS).exists()


def test_damage_that_is_found_later_is_repaired_by_counting_again(kept: Any) -> None:
    file, before = kept
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE datasets SET undescribed = x'ff'")
        database.commit()
    with opened(file) as catalog:
        with pytest.raises(Busy):
            counted(catalog)
        assert counted(catalog) == before


def test_entries_of_dropped_changes_are_counted_again(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, before = kept
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE state SET offset = 1, mark = 'of a row that was dropped'")
        database.commit()
    read = noted_reads(monkeypatch)
    with opened(file) as catalog:
        assert counted(catalog) == before
    assert sorted(read) == sorted(map(table, before))


def test_the_file_of_an_earlier_release_is_removed(
    fresh: Callable[[], CatalogEngine], tmp_path: Path
) -> None:
    former = tmp_path / "data" / "stewardship.counts"
    former.write_bytes(b"as it was")
    fresh()
    assert not former.exists()


def test_a_place_that_cannot_be_written_is_counted_into_a_temporary_file(
    fresh: Callable[[], CatalogEngine], chain: Any, tmp_path: Path
) -> None:
    (tmp_path / "data" / COUNTS).mkdir()
    catalog = fresh()
    write(catalog, *chain)
    assert counted(catalog)["mart"] == (1, 9, 1)


def test_changed_lineage_of_a_large_catalog_is_followed_in_the_background(
    fresh: Callable[[], CatalogEngine], chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stewardship, "_LONG_SECONDS", -1.0)
    monkeypatch.setattr(stewardship, "_PAUSE_SECONDS", 0.01)
    catalog = fresh()
    write(catalog, *chain)
    assert counted(catalog)["raw"] == (3, 0, 2)
    write(catalog, ("later", "upstreamLineage", upstream("report")))
    until(lambda: counted(catalog)["raw"] == (3, 0, 3))


@contextmanager
def served_until_idle(catalog: CatalogEngine) -> Iterator[threading.Event]:
    """Serve a catalog that may be idle for 0.3 seconds; gives what is set when the service ends."""
    ready, leaving = threading.Event(), threading.Event()
    listener = listen_on_tcp("127.0.0.1", 0)
    work = partial(
        run, Service(catalog), listener, ready=ready.set, leaving=leaving.set, idle_seconds=0.3
    )
    service = threading.Thread(target=work)
    service.start()
    assert ready.wait(60)
    yield leaving
    assert leaving.wait(60)
    service.join()
    listener.close()


def test_a_service_that_counts_for_the_first_time_is_not_idle(
    fresh: Callable[[], CatalogEngine], chain: Any, held: threading.Event
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    assert not catalog.ledger.is_ready
    until(lambda: catalog.ledger.is_counting)
    with served_until_idle(catalog) as leaving:
        # Nobody asks for longer than the service may be idle.
        assert not leaving.wait(1.5)
        held.set()


def test_a_service_that_rebuilds_its_search_index_is_not_idle(
    fresh: Callable[[], CatalogEngine],
    chain: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    gate, rebuild = threading.Event(), Projection.rebuild
    monkeypatch.setattr(
        Projection, "rebuild", lambda *given: rebuild(*given) if gate.wait(60) else 0
    )
    catalog.rebuild_index()
    assert catalog.recount_use() == 0
    with served_until_idle(catalog) as leaving:
        assert not leaving.wait(1.5)
        gate.set()
    assert "was rebuilt, with" in caplog.text
