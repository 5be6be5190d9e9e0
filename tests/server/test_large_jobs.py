"""Large jobs leave room for the writes of others, and can be asked for again."""

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog, open_store
from explorer.server.failures import RequestRefusal
from explorer.server.store import SurveyedStore

MANY = 250
TAG = Urn.parse("urn:li:tag:everywhere")
FROM, TO = "urn:li:container:from", "urn:li:container:to"
OTHER = Urn.parse("urn:li:tag:other")
HALL = Urn.parse("urn:li:container:hall")
RUN = {"runId": "large", "lastObserved": 1}
Big = Callable[[CatalogEngine], Coroutine[Any, Any, Any]]


def dataset(number: int) -> Urn:
    return Urn.dataset("hive", f"large.table_{number}")


async def fill(catalog: CatalogEngine) -> None:
    proposals = [
        Proposal(dataset(number), aspect, value, system=RUN)
        for number in range(MANY)
        for aspect, value in (
            ("globalTags", {"tags": [{"tag": str(TAG)}]}),
            ("container", {"container": str(HALL)}),
        )
    ]
    await catalog.ingest_all(proposals)
    for urn in (FROM, TO):
        await catalog.ingest(Proposal(Urn.parse(urn), "containerProperties", {"name": urn[-4:]}))
    await catalog.ingest(Proposal(HALL, "containerProperties", {"name": "hall"}))
    await catalog.ingest(Proposal(HALL, "container", {"container": FROM}))


MOVE = Proposal(HALL, "container", {"container": TO})


async def move(catalog: CatalogEngine) -> None:
    """Put the container of all into another, and wait until they are found there."""
    await catalog.ingest(MOVE)
    # Nothing tells when; a reader looks again.
    while not await catalog.offload(all_moved, catalog):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def all_moved(catalog: CatalogEngine) -> bool:
    return catalog.browse_v2(["dataset"], (TO,), 0, 10).total_entities == MANY


PLATFORM = Urn.parse("urn:li:dataPlatform:hive")
FOLDER = ("prod", "hive", "large.table")
RESPELL = Proposal(
    PLATFORM,
    "dataPlatformInfo",
    {"name": "hive", "type": "OTHERS", "datasetNameDelimiter": "_"},
    system={"runId": "respelling", "lastObserved": 2},
)


async def respell(catalog: CatalogEngine) -> None:
    """Change the delimiter in the names of all, and wait until they are found in the new folder."""
    await catalog.ingest(RESPELL)
    while not await catalog.offload(all_respelled, catalog):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def all_respelled(catalog: CatalogEngine) -> bool:
    return catalog.store.browse("dataset", FOLDER, 0, 0).total_below == MANY


INCIDENT = Urn.parse("urn:li:incident:everywhere")


def incident(state: str) -> Proposal:
    stamp = {"time": 0, "actor": "urn:li:corpuser:x"}
    value = {
        "type": "OPERATIONAL",
        "entities": [str(dataset(number)) for number in range(MANY)],
        "status": {"state": state, "lastUpdated": stamp},
        "created": stamp,
    }
    return Proposal(INCIDENT, "incidentInfo", value)


RAISE = incident("ACTIVE")


def all_summarised(catalog: CatalogEngine) -> bool:
    return len(catalog.index.urns_with("activeIncidents")) == MANY


BIG_JOBS: dict[str, Big] = {
    "references": lambda catalog: catalog.delete_references(TAG, dry_run=False),
    "rollback": lambda catalog: catalog.roll_back("large", dry_run=False, hard=False),
    "move": move,
    "respell": respell,
}


@pytest.mark.parametrize("name", BIG_JOBS)
def test_others_are_written_before_a_large_job_ends(
    fresh: Callable[[], CatalogEngine], name: str
) -> None:
    catalog = fresh()

    async def run() -> int:
        await fill(catalog)
        job = asyncio.ensure_future(BIG_JOBS[name](catalog))
        written = 0
        while not job.done():
            other = Proposal(
                Urn.parse("urn:li:tag:other"), "tagProperties", {"name": f"n{written}"}
            )
            await catalog.ingest(other)
            written += not job.done()
        await job
        return written

    assert asyncio.run(run()) >= 3


def test_others_are_written_before_a_large_batch_of_which_each_element_counts_ends(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()
    proposals = [Proposal(dataset(number), "subTypes", {"typeNames": []}) for number in range(1000)]

    async def run() -> bool:
        with catalog.feed.follow(catalog.store.log_bounds().head) as follower:
            batch = asyncio.ensure_future(
                catalog.ingest_batch(
                    "proposals", proposals, lambda proposal: [proposal], all_or_none=False
                )
            )
            assert await follower.news(120)
            await catalog.ingest(Proposal(OTHER, "tagProperties", {"name": "other"}))
            is_over = batch.done()
            await batch
        return is_over

    assert not asyncio.run(run())
    assert catalog.store.count() >= len(proposals)


def test_others_are_written_between_the_summaries_of_an_incident_of_many(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()

    async def run() -> None:
        await fill(catalog)
        await catalog.ingest(RAISE)
        written = 0
        while not await catalog.offload(all_summarised, catalog):
            written += 1
            await catalog.ingest(Proposal(OTHER, "tagProperties", {"name": f"n{written}"}))
        await catalog.ingest(incident("RESOLVED"))
        while catalog.index.urns_with("activeIncidents"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    asyncio.run(run())
    written = [row.aspect for row in catalog.store.log(0, 10_000)]
    summaries = [at for at, aspect in enumerate(written) if aspect == "incidentsSummary"]
    assert len(summaries) == 2 * MANY
    assert "tagProperties" in written[summaries[0] : summaries[-1]]
    assert len(catalog.index.urns_with("resolvedIncidents")) == MANY
    assert check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry) == []


@pytest.mark.parametrize("name", ["references", "rollback"])
def test_a_rehearsal_waits_for_no_writer_and_keeps_none_waiting(
    fresh: Callable[[], CatalogEngine], name: str
) -> None:
    catalog = fresh()

    async def run() -> tuple[Any, Any]:
        await fill(catalog)
        # A container was moved, and the writer is held: what is in it waits for the writer.
        await catalog.ingest(MOVE)
        held, go = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def busy(_: object) -> None:
            loop.call_soon_threadsafe(held.set)
            go.wait()

        writing = asyncio.ensure_future(catalog.write(busy))
        await held.wait()
        try:
            told = await asyncio.wait_for(
                catalog.delete_references(TAG, dry_run=True)
                if name == "references"
                else catalog.roll_back("large", dry_run=True, hard=False),
                60,
            )
        finally:
            go.set()
            await writing
        return told, await BIG_JOBS[name](catalog)

    told, done = asyncio.run(run())
    assert told.to_wire() == done.to_wire()
    assert str(MANY) in json.dumps(told.to_wire())


@pytest.mark.parametrize("name", ["references", "rollback"])
def test_a_large_job_that_was_ended_goes_on_when_it_is_asked_for_again(
    fresh: Callable[[], CatalogEngine], name: str
) -> None:
    catalog = fresh()

    async def begin() -> None:
        await fill(catalog)
        before = catalog.store.log_bounds().head
        job = asyncio.ensure_future(BIG_JOBS[name](catalog))
        while catalog.store.log_bounds().head < before + 20:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        catalog.store.close()
        with pytest.raises(
            RequestRefusal, match=r"stopped after \d+ of 250: .* repeat the request to continue"
        ):
            await job

    asyncio.run(begin())
    catalog = fresh()
    left = asyncio.run(BIG_JOBS[name](catalog)).to_wire()
    assert 0 < (left["total"] if name == "references" else left["entitiesAffected"]) < MANY
    again = asyncio.run(BIG_JOBS[name](catalog)).to_wire()
    assert (again["total"] if name == "references" else again["entitiesAffected"]) == 0


@pytest.mark.parametrize(
    ("change", "note", "is_done"),
    [
        (MOVE, "moved", all_moved),
        (RESPELL, "respelled", all_respelled),
        (RAISE, "incidents", all_summarised),
    ],
    ids=["move", "respell", "incident"],
)
def test_a_move_that_was_ended_is_finished_when_the_catalog_is_opened_again(
    fresh: Callable[[], CatalogEngine],
    change: Proposal,
    note: str,
    is_done: Callable[[CatalogEngine], bool],
) -> None:
    catalog = fresh()

    async def begin() -> None:
        await fill(catalog)
        await catalog.ingest(change)

    asyncio.run(begin())
    assert catalog.store.note(note)
    catalog = fresh()
    assert [catalog.store.note(one) for one in ("moved", "respelled", "incidents")] == [None] * 3
    assert is_done(catalog)
    assert check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry) == []


def test_names_respelled_by_a_service_that_was_killed_are_respelled_by_the_next(
    fresh: Callable[[], CatalogEngine], tmp_path: Path
) -> None:
    catalog, killed = fresh(), tmp_path / "killed"

    def copy(_: object) -> None:
        # Nothing is committed meanwhile; the copy is what a kill would leave.
        shutil.copytree(tmp_path / "data", killed, ignore=shutil.ignore_patterns("search"))

    async def begin() -> None:
        await fill(catalog)
        before = catalog.store.log_bounds().head
        job = asyncio.ensure_future(respell(catalog))
        while catalog.store.log_bounds().head < before + 20:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await catalog.write(copy)
        await job

    asyncio.run(begin())
    with closing(open_store(killed)) as store:
        assert 0 < store.browse("dataset", FOLDER, 0, 0).total_below < MANY
    with closing(open_catalog(killed, load_registry())) as next_one:
        assert all_respelled(next_one)
        assert check(cast(SurveyedStore, next_one.store), next_one.index, next_one.registry) == []
        assert len(next_one.store.urns(run="respelling")) == MANY + 1
        asyncio.run(next_one.roll_back("respelling", dry_run=False, hard=False))
        asyncio.run(next_one.offload(next_one.catch_up))
        assert next_one.store.browse("dataset", ("prod", "hive", "large"), 0, 0).total_below == MANY
        assert check(cast(SurveyedStore, next_one.store), next_one.index, next_one.registry) == []
