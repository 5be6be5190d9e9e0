"""What stewardship counts is kept: over changes, restarts, damage and days."""

import asyncio
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from explorer.errors import Busy
from explorer.metadata import Proposal, Urn, load_registry
from explorer.server import stewardship as ledgers
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import COUNTS, open_catalog
from explorer.server.stewardship import (
    Lacking,
    UndescribedItem,
    WorklistDataset,
    count_downstream,
    rank,
)
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
        return {
            Urn.parse(urn).name.removeprefix("kept."): (
                one.lacking,
                one.most_used,
                one.downstream,
            )
            for urn, one in entries.items()
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
    read = []
    real = ledgers.read_facts

    def noted(urn: Any, *more: Any) -> Any:
        read.append(urn)
        return real(urn, *more)

    monkeypatch.setattr(ledgers, "read_facts", noted)
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


def test_reach_is_that_of_walking_from_each_node_circles_and_blocks_included(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explorer.server.stewardship._BLOCK", 16)
    dice = random.Random(5)
    for _ in range(30):
        size = dice.randint(2, 80)
        edges = [(dice.randrange(size), dice.randrange(size)) for _ in range(dice.randint(1, 160))]
        graph = nx.DiGraph((near, far) for near, far in edges if near != far)
        expected = {node: len(nx.descendants(graph, node)) for node in graph}
        assert count_downstream(edges) == expected


def test_a_page_of_the_worklist_is_that_of_sorting_everything() -> None:
    dice = random.Random(9)
    entries = {}
    whole = []
    encode = ledgers._encoder.encode
    for at in range(200):
        urn = f"urn:{at:03}"
        reach = dice.choice((0, 0, 1, 5, 20_000))
        lacking = tuple(
            Lacking(f"c{place}", "text", place, dice.choice((0, 0, 1, 7)), "column")
            for place in range(1, dice.randint(1, 5))
        )
        facts = ledgers.DatasetFacts(
            f"t{at}", "hive", False, (1, 0, 0, 0), (4, 0, 0, 0), lacking, (), (), (), ()
        )
        most = max((one.use for one in lacking), default=0)
        entries[urn] = WorklistDataset(len(lacking), most, False, 0, reach, encode(facts))
        whole += [
            UndescribedItem(urn, f"t{at}", "hive", one, min(reach, 10_000), reach > 10_000)
            for one in lacking
        ]
    whole.sort(key=lambda one: one.key)
    for start, count in ((0, 1), (0, 10), (5, 20), (100, 50), (0, 10_000), (len(whole), 5), (3, 0)):
        page = rank(entries.items(), start, count)
        assert page.items == whole[start : start + count], (start, count)
        assert (page.total, page.datasets) == (len(whole), 200)


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


def test_who_asks_first_is_told_to_wait_while_it_takes_long(
    fresh: Callable[[], CatalogEngine], chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    write(catalog, *chain)
    gate = threading.Event()
    real = ledgers.read_facts

    def held(*given: Any) -> Any:
        gate.wait()
        return real(*given)

    monkeypatch.setattr(ledgers, "read_facts", held)
    monkeypatch.setattr(ledgers, "PATIENCE_SECONDS", 0.05)
    with pytest.raises(Busy) as told:
        counted(catalog)
    assert told.value.retry_after_seconds == 2
    gate.set()
    monkeypatch.setattr(ledgers, "PATIENCE_SECONDS", 20.0)
    assert counted(catalog)["mart"] == (1, 9, 1)
