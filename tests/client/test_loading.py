"""A load that does not go as it should: what went in is known, and nothing is done twice that may
not be."""

import asyncio
import json
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog, LoadInterrupted, NeverSent, Retry, ingestion
from explorer.client.http import HttpTransport
from explorer.errors import TimedOut, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.metadata.files import read_file
from explorer.metadata.proposal import ChangeType
from explorer.metadata.registry import load_registry
from tests.client.conftest import Site

FAILED = (500, b'{"message": "it broke"}')
REFUSED = (400, b'{"message": "no"}')


def changes(count: Any, **more: Any) -> Any:
    return [
        Proposal(Urn.of("tag", f"load{at}"), "tagProperties", {"name": f"l{at}"}, **more)
        for at in range(count)
    ]


class Scripted:
    """Answers every write as `act(number, changes in it)` says."""

    def __init__(self, act: Any) -> None:
        self.act = act
        self.sent: list[Any] = []

    async def send(self, request: Any) -> Any:
        if not request.writes:
            return 200, b'{"noCode": "true", "catalogExplorer": {"version": "1"}}'
        body = request.body
        held = body["proposals"] if "proposals" in body else [body["proposal"]]
        self.sent.append(held)
        return await self.act(len(self.sent), held)

    async def close(self) -> None:
        pass


def load(proposals: Any, wire: Any, tries: int = 1) -> Any:
    async def run() -> Any:
        async with AsyncCatalog(transport=wire, retry=Retry(tries)) as catalog:
            return await catalog.ingest_batch(proposals)

    return asyncio.run(run())


def interrupted(proposals: Any, act: Any) -> LoadInterrupted:
    with pytest.raises(LoadInterrupted) as caught:
        load(proposals, Scripted(act))
    return caught.value


def test_lines_of_a_file_are_sent_as_they_are() -> None:
    # With spaces, which the client does not write.
    lines = [json.dumps(change.to_wire()).encode() for change in changes(250)]
    read = read_file(b"\n".join(lines), load_registry())
    bodies: list[bytes] = []

    async def act(_: Any, held: Any) -> Any:
        bodies.append(orjson.dumps(held))
        return 200, b"{}"

    report = load([change for change in read if isinstance(change, Proposal)], Scripted(act))
    assert report.written_count == 250
    assert b",".join(body[1:-1] for body in bodies) == b",".join(lines)


def test_what_had_gone_in_when_the_server_stopped_answering_is_told() -> None:
    async def act(number: Any, held: Any) -> Any:
        if number == 3:
            raise TimedOut("too slow")
        return 200, b"{}"

    error = interrupted(changes(1000), act)
    assert isinstance(error, Unreachable)
    assert isinstance(error.cause, TimedOut)
    # Whatever was under way beside it arrived, and counts.
    assert error.report.written_count == len(error.stored) in (400, 600)
    assert error.stored[:400] == tuple(range(400))
    assert error.unanswered == tuple(range(400, 600))
    assert error.not_tried == 800 - error.report.written_count
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.stored, again.report) == (str(error), error.stored, error.report)


def test_what_came_while_the_other_batch_was_lost_counts() -> None:
    lost = asyncio.Event()

    async def act(number: Any, held: Any) -> Any:
        if number == 1:
            lost.set()
            raise Unreachable("gone")
        await lost.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        return 200, b"{}"

    error = interrupted(changes(800), act)
    assert error.stored == tuple(range(200, 400))
    assert (len(error.unanswered), error.not_tried) == (200, 400)


def test_what_never_left_is_not_said_to_be_unanswered() -> None:
    async def act(number: Any, held: Any) -> None:
        raise NeverSent("nobody there")

    error = interrupted(changes(150), act)
    assert (error.report.written_count, error.unanswered, error.not_tried) == (0, (), 150)
    assert interrupted(iter(changes(150)), act).not_tried is None


def test_a_server_that_is_started_again_is_waited_for_and_gets_everything_once(
    tmp_path: Path,
) -> None:
    """The load goes on when the server listens again, as after an update of it."""
    with ExitStack() as held:
        port = held.enter_context(socket.socket())
        port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port.bind(("127.0.0.1", 0))
        number = port.getsockname()[1]
        address = f"http://127.0.0.1:{number}"
        command = (sys.executable, "-m", "explorer.cli", "serve", "--port", str(number))

        def start() -> subprocess.Popen[bytes]:
            process = held.enter_context(
                subprocess.Popen(
                    (*command, "--data-dir", str(tmp_path / "data"), "--log-format", "none"),
                    stdout=subprocess.PIPE,
                )
            )
            held.callback(process.terminate)
            return process

        def restarting() -> Iterator[Proposal]:
            for at, change in enumerate(changes(2_000)):
                if at == 1_000:
                    service.terminate()
                    service.wait(30)
                    away.start()
                yield change

        service, away = start(), threading.Timer(2.5, start)
        assert service.stdout is not None
        assert address in service.stdout.readline().decode()
        with Catalog(address) as catalog:
            report = catalog.ingest_batch(restarting())
            assert (report.written_count, report.refused) == (2_000, ())
            assert catalog.search("*", entity="tag").total == 2_000


@pytest.mark.parametrize("change", ["UPSERT", "PATCH"])
def test_a_batch_whose_answer_was_lost_is_sent_again_only_if_it_may_be(
    monkeypatch: pytest.MonkeyPatch, change: ChangeType
) -> None:
    """The server was stopped before it answered, and listens again a little later."""
    monkeypatch.setattr(ingestion, "_RESTART_PAUSE_SECONDS", 0.01)
    started = 0

    async def act(number: Any, held: Any) -> Any:
        nonlocal started
        if number == 3:
            raise Unreachable("closed the connection")
        if 3 < number < 12:
            raise NeverSent("nobody there")
        started = started or number * (number >= 12)
        return 200, b"{}"

    patch = [{"op": "add", "path": "/description", "value": "x"}]
    value = {"value": {"patch": patch}} if change == "PATCH" else {"name": "l"}
    tags = (Urn.of("tag", f"load{at}") for at in range(500))
    proposals = [Proposal(urn, "tagProperties", value, change=change) for urn in tags]
    wire = Scripted(act)
    if change == "PATCH":
        with pytest.raises(LoadInterrupted) as caught:
            load(proposals, wire, tries=2)
        assert len(caught.value.unanswered) == 100
    else:
        assert load(proposals, wire, tries=2).written_count == 500
        assert started == 12


def test_a_server_that_answered_an_earlier_load_is_waited_for_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingestion, "_RESTART_PAUSE_SECONDS", 0.01)

    async def act(number: Any, held: Any) -> Any:
        if 1 < number < 5:
            raise NeverSent("nobody there")
        return 200, b"{}"

    async def run() -> None:
        async with AsyncCatalog(transport=Scripted(act), retry=Retry(1)) as catalog:
            for part in (changes(10), changes(20)):
                report = await catalog.ingest_batch(part)
                assert report.written_count == len(part)

    asyncio.run(run())


def test_a_server_that_stays_away_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingestion, "_RESTART_SECONDS", 2)
    monkeypatch.setattr(ingestion, "_RESTART_PAUSE_SECONDS", 0.01)

    async def act(number: Any, held: Any) -> Any:
        if number > 2:
            raise NeverSent("nobody there")
        return 200, b"{}"

    wire = Scripted(act)
    with pytest.raises(LoadInterrupted) as caught:
        load(changes(500), wire)
    assert (caught.value.report.written_count, caught.value.unanswered) == (400, ())
    assert len(wire.sent) > 6


def test_a_refused_change_costs_few_requests_and_is_refused_alone() -> None:
    async def act(_: Any, held: Any) -> Any:
        return REFUSED if any("load77" in change["entityUrn"] for change in held) else (200, b"{}")

    wire = Scripted(act)
    report = load(changes(200), wire)
    assert report.written_count == 199
    assert [change.position for change in report.refused] == [77]
    assert len(wire.sent) < 40


def test_the_server_may_go_away_while_the_half_of_a_batch_is_sent() -> None:
    async def act(number: Any, _: Any) -> Any:
        if number == 1:
            return REFUSED
        if number == 3:
            raise Unreachable("gone")
        return 200, b"{}"

    error = interrupted(changes(200), act)
    assert error.stored == tuple(range(100))
    assert (error.unanswered, error.not_tried) == (tuple(range(100, 200)), 0)


def test_one_by_one_too_it_is_known_how_far_it_came() -> None:
    async def act(number: Any, held: Any) -> Any:
        if number == 1:
            return REFUSED
        if number == 4:
            return REFUSED
        if number == 6:
            raise Unreachable("gone")
        return 200, b"{}"

    error = interrupted(changes(10), act)
    assert error.stored == (0, 1, 3)
    assert [one.position for one in error.report.refused] == [2]
    assert (error.unanswered, error.not_tried) == ((4,), 5)


class FailsAfterwards:
    """The real service, which stores a batch and then says that it failed."""

    def __init__(self, address: Any) -> None:
        self._http = HttpTransport(address)
        self.sent: list[Any] = []

    async def send(self, request: Any) -> Any:
        answer = await self._http.send(request)
        if request.writes:
            self.sent.append(request)
        if "ingestProposalBatch" in request.path:
            assert answer.status == 200, answer
            return FAILED
        return answer

    async def close(self) -> None:
        await self._http.close()


@pytest.fixture
def fresh(site: Site) -> Any:
    """An entity that is not there, and is gone again afterwards."""
    urn = Urn.of("tag", "load-again")

    def there(*given: Any) -> Any:
        async def run() -> None:
            async with AsyncCatalog(site.address) as catalog:
                await catalog.delete(urn)

        wire = FailsAfterwards(site.address)
        report = load([Proposal(urn, *one[:2], **one[2]) for one in given], wire)
        asyncio.run(run())
        return report, wire

    return there


def test_what_can_be_made_once_only_and_was_made_is_not_said_to_be_refused(fresh: Any) -> None:
    report, wire = fresh(
        ("tagProperties", {"name": "x"}, {"change": "CREATE_ENTITY"}),
        ("status", {"removed": False}, {"change": "CREATE"}),
        ("ownership", {"owners": []}, {"headers": {"If-Version-Match": "-1"}}),
    )
    assert (report.written_count, report.refused) == (3, ())
    assert len(wire.sent) == 4


def test_a_creation_of_another_value_than_the_stored_one_stays_refused(site: Site) -> None:
    urn = Urn.of("tag", "load-theirs")

    class Failing(FailsAfterwards):
        async def send(self, request: Any) -> Any:
            return FAILED if "Batch" in request.path else await self._http.send(request)

    async def run() -> Any:
        async with AsyncCatalog(site.address) as catalog:
            await catalog.put(urn, "tagProperties", {"name": "theirs"})
            async with AsyncCatalog(transport=Failing(site.address)) as failing:
                name = Proposal(urn, "tagProperties", {"name": "mine"}, "CREATE")
                report = await failing.ingest_batch([name, Proposal(urn, "status", {})])
            await catalog.delete(urn)
            return report

    report = asyncio.run(run())
    assert (report.written_count, [one.position for one in report.refused]) == (1, [0])


def test_a_patch_that_may_be_stored_is_not_sent_twice_but_after_what_it_starts_from() -> None:
    async def act(number: Any, held: Any) -> Any:
        return FAILED if len(held) > 1 else (200, b"{}")

    tags = [{"op": "add", "path": "/tags/urn:li:tag:a", "value": {"tag": "urn:li:tag:a"}}]
    urn, other = Urn.of("chart", "(looker,a)"), Urn.of("chart", "(looker,b)")
    wire = Scripted(act)
    report = load(
        [
            Proposal(urn, "globalTags", tags, "PATCH"),
            Proposal(other, "globalTags", {"tags": []}),
            Proposal(other, "globalTags", tags, "PATCH"),
        ],
        wire,
    )
    assert report.written_count == 2
    (refused,) = report.refused
    assert refused.position == 0
    assert "not sent twice" in refused.reason
    singly = [held[0] for held in wire.sent[1:]]
    assert [(one["entityUrn"], one["changeType"]) for one in singly] == [
        (str(other), "UPSERT"),
        (str(other), "PATCH"),
    ]
    assert orjson.loads(singly[1]["aspect"]["value"]) == tags


def test_values_of_a_property_that_is_defined_later_go_in(site: Site) -> None:
    """As a file has them that is sorted by URN, when they are more than one batch holds."""
    prop = Urn.of("structuredProperty", "io.loaded")
    value = {"properties": [{"propertyUrn": str(prop), "values": [{"string": "v"}]}]}
    early = [
        Proposal(Urn.dataset("hive", f"load.t{at}"), "structuredProperties", value)
        for at in range(250)
    ]
    definition = {
        "qualifiedName": "io.loaded",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    }
    missing = Proposal(
        Urn.dataset("hive", "load.lost"),
        "structuredProperties",
        {"properties": [{"propertyUrn": "urn:li:structuredProperty:io.nowhere", "values": []}]},
    )

    async def run() -> Any:
        async with AsyncCatalog(url=site.address) as catalog:
            report = await catalog.ingest_batch(
                [*early, missing, Proposal(prop, "propertyDefinition", definition)]
            )
            found = await catalog.search("*", filter="structuredProperties.io.loaded:v")
            return report, found

    report, found = asyncio.run(run())
    assert report.written_count == 251
    assert [str(one.urn) for one in report.refused] == [str(missing.urn)]
    assert "has no definition" in report.refused[0].reason
    assert found.total == 250
