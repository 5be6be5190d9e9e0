"""What was answered is there after any crash, and what was not is there whole or not at all.

The long form is `python -m tests.benchmarks.crash`.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.instance import Instance, find
from explorer.server.consistency import check_directory
from tests.conftest import nightly

BATCH = 5


@contextmanager
def running(data_dir: Path) -> Iterator[tuple[Instance, subprocess.Popen[bytes]]]:
    """A service in a process of its own; killed at the end if it still runs."""
    command = [sys.executable, "-m", "explorer.cli.service", "--no-sample"]
    words = (data_dir / "words.log").open("ab")
    with words, subprocess.Popen([*command, "--data-dir", str(data_dir)], stderr=words) as process:
        try:
            while (instance := find(data_dir)) is None:
                assert process.poll() is None, (data_dir / "words.log").read_text()
                time.sleep(0.002)
            yield instance, process
        finally:
            process.kill()


def connect(instance: Instance) -> httpx.Client:
    path = instance.address.removeprefix("unix:")
    transport = httpx.HTTPTransport(uds=path)
    return httpx.Client(transport=transport, base_url="http://catalog", timeout=120)


def proposal(urn: str, aspect: str, value: Any) -> dict[str, Any]:
    entity = urn.split(":")[2]
    wire = {"entityType": entity, "entityUrn": urn, "changeType": "UPSERT", "aspectName": aspect}
    return {**wire, "aspect": {"value": json.dumps(value)}}


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


@dataclass
class Writer:
    """Writes numbers one after another: `tried` is the last that was sent, `answered` the last
    that was answered well."""

    name: str
    tried: int = 0
    answered: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def urn(self) -> str:
        return f"urn:li:tag:{self.name}"

    def setup(self, http: httpx.Client) -> None:
        """Write what must be there first."""

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        body = {"proposal": proposal(self.urn, "tagProperties", {"name": self.text(number)})}
        return http.post("/aspects?action=ingestProposal", json=body)

    def text(self, number: int) -> str:
        return f"{self.name}x{number}"

    def run(self, instance: Instance) -> None:
        """Write until the service is gone or refuses."""
        with connect(instance) as http:
            try:
                while True:
                    self.tried += 1
                    answer = self.write(http, self.tried)
                    if answer.status_code != 200 or "errors" in answer.text:
                        self.refused.append(answer.text)
                        return
                    self.answered = self.tried
            except httpx.TransportError:
                return

    def faults(self, http: httpx.Client) -> Iterator[str]:
        """What is not as it was answered; the service writes nothing meanwhile."""
        found = value(http, self.urn, "tagProperties")
        number = int(found["name"].rpartition("x")[2]) if found else 0
        yield from self._judge(number)
        if found and self.urn not in search(http, found["name"], "tag"):
            yield f"lost: search does not find {found['name']}"
        self.tried = self.answered = number

    def _judge(self, number: int) -> Iterator[str]:
        if not self.answered <= number <= self.tried:
            yield f"lost: {self.name} has {number}, {self.answered} was answered"


class BatchWriter(Writer):
    """Writes the same number to several entities at once."""

    def urns(self) -> list[str]:
        return [f"{self.urn}{at}" for at in range(BATCH)]

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        named = {"name": self.text(number)}
        proposals = [proposal(urn, "tagProperties", named) for urn in self.urns()]
        return http.post("/aspects?action=ingestProposalBatch", json={"proposals": proposals})

    def faults(self, http: httpx.Client) -> Iterator[str]:
        found = [value(http, urn, "tagProperties") for urn in self.urns()]
        numbers = {int(one["name"].rpartition("x")[2]) if one else 0 for one in found}
        if len(numbers) > 1:
            yield f"half-written: {self.name} has {numbers}"
        yield from self._judge(min(numbers))
        self.tried = self.answered = min(numbers)


class BulkWriter(Writer):
    """Writes a hundred new entities at once, as a load does."""

    def named(self, number: int) -> list[str]:
        return [f"{self.urn}n{number}n{at}" for at in range(100)]

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        name = {"name": self.text(number)}
        proposals = [proposal(urn, "tagProperties", name) for urn in self.named(number)]
        return http.post("/aspects?action=ingestProposalBatch", json={"proposals": proposals})

    def faults(self, http: httpx.Client) -> Iterator[str]:
        for number in range(max(1, self.answered - 30), self.answered + 1):
            body = {"input": f'"{self.text(number)}"', "entity": "tag", "start": 0, "count": 1}
            answer = http.post("/entities?action=search", json=body)
            if (count := answer.json()["value"]["numEntities"]) != 100:
                yield f"lost: search finds {count} of 100 with {self.text(number)}"


class EditWriter(Writer):
    """Edits a description through GraphQL."""

    @property
    def urn(self) -> str:
        return dataset(self.name)

    def setup(self, http: httpx.Client) -> None:
        body = {"proposal": proposal(self.urn, "datasetProperties", {"name": self.name})}
        http.post("/aspects?action=ingestProposal", json=body).raise_for_status()

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        given = f'{{editableProperties: {{description: "{self.text(number)}"}}}}'
        query = f'mutation {{ updateDataset(urn: "{self.urn}", input: {given}) {{ urn }} }}'
        return http.post("/api/graphql", json={"query": query})

    def faults(self, http: httpx.Client) -> Iterator[str]:
        found = value(http, self.urn, "editableDatasetProperties")
        number = int(found["description"].rpartition("x")[2]) if found else 0
        yield from self._judge(number)
        if found and self.urn not in search(http, found["description"], "dataset"):
            yield f"lost: search does not find {found['description']}"
        self.tried = self.answered = number


class DeleteWriter(Writer):
    """Writes an entity at odd numbers and deletes it at even ones."""

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        if number % 2:
            return super().write(http, number)
        return http.post("/entities?action=delete", json={"urn": self.urn})

    def faults(self, http: httpx.Client) -> Iterator[str]:
        found = value(http, self.urn, "tagProperties")
        # The numbers that would look as it does: what was answered last, or the one after it.
        odd = int(found["name"].rpartition("x")[2]) if found else None
        fits = [
            number
            for number in range(self.answered, self.tried + 1)
            if number == odd or (odd is None and number % 2 == 0)
        ]
        if not fits:
            yield f"lost: {self.name} is {found}, {self.answered} was answered"
        written = odd or self.answered - 1 + self.answered % 2
        listed = self.urn in search(http, self.text(written), "tag")
        if listed != bool(found):
            yield f"lost: search and {self.name} do not agree"
        self.tried = self.answered = fits[0] if fits else 0


class PointWriter(Writer):
    """Appends a document of a timeseries aspect, each of another moment."""

    @property
    def urn(self) -> str:
        return dataset(self.name)

    def write(self, http: httpx.Client, number: int) -> httpx.Response:
        point = {"timestampMillis": number, "totalSqlQueries": number}
        body = {"proposal": proposal(self.urn, "datasetUsageStatistics", point)}
        return http.post("/aspects?action=ingestProposal", json=body)

    def faults(self, http: httpx.Client) -> Iterator[str]:
        body = {"urn": self.urn, "entity": "dataset", "aspect": "datasetUsageStatistics"}
        asked = http.post("/aspects?action=getTimeseriesAspectValues", json=body)
        documents = [json.loads(one["aspect"]["value"]) for one in asked.json()["value"]["values"]]
        found = sorted(one["timestampMillis"] for one in documents)
        newest = max(found, default=0)
        if found != list(range(1, newest + 1)):
            yield f"lost: {self.name} has holes before {newest}"
        yield from self._judge(newest)
        self.tried = self.answered = newest


def value(http: httpx.Client, urn: str, aspect: str) -> Any:
    read = http.get("/entitiesV2", params={"ids": f"List({urn})"}).json()["results"][urn]
    found = read["aspects"].get(aspect)
    return found["value"] if found else None


def search(http: httpx.Client, text: str, entity: str) -> list[str]:
    body = {"input": f'"{text}"', "entity": entity, "start": 0, "count": 10}
    answer = http.post("/entities?action=search", json=body)
    return list(answer.json()["value"]["metadata"]["urns"])


def writers(prefix: str) -> list[Writer]:
    kinds = (Writer, Writer, BatchWriter, EditWriter, DeleteWriter, PointWriter)
    return [kind(f"{prefix}w{at}") for at, kind in enumerate(kinds)]


class Crash:
    """Rounds of writing, killing and looking, on one directory; with `loads`, beside a load."""

    def __init__(self, data_dir: Path, *, loads: bool = False) -> None:
        self.data_dir = data_dir
        self._loads = loads
        self.acknowledged = 0
        self.faults: list[str] = []
        self.restarts_seconds: list[float] = []
        self.makers_killed = 0
        self._rounds = 0
        self._pid = 0

    def round(self, moment: Callable[[], None]) -> None:
        """Write until `moment` returns, kill, start again and look."""
        self._rounds += 1
        crew = writers(f"r{self._rounds}")
        if self._loads:
            crew.append(BulkWriter(f"r{self._rounds}bulk"))
        with running(self.data_dir) as (instance, process):
            with connect(instance) as http:
                for one in crew:
                    one.setup(http)
            threads = [threading.Thread(target=one.run, args=(instance,)) for one in crew]
            for thread in threads:
                thread.start()
            while not all(one.answered for one in crew):
                assert not any(one.refused for one in crew), [one.refused for one in crew]
                time.sleep(0.001)
            self._pid = process.pid
            moment()
            os.kill(process.pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
        self.faults += [f"refused: {words}" for one in crew for words in one.refused]
        self.acknowledged += sum(one.answered for one in crew)
        begin = time.perf_counter()
        with running(self.data_dir) as (instance, process), connect(instance) as http:
            self.restarts_seconds.append(time.perf_counter() - begin)
            for one in crew:
                self.faults += one.faults(http)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        self.faults += [f"inconsistent: {finding}" for finding in check_directory(self.data_dir)]

    def kill_maker(self, seconds: float) -> None:
        """Kill the process that makes index entries, and let the service go on for a while."""
        deadline = time.monotonic() + 60
        tasks = Path(f"/proc/{self._pid}/task")
        while not (pids := "".join(one.read_text() for one in tasks.glob("*/children")).split()):
            assert time.monotonic() < deadline, "no other process ever made entries"
            time.sleep(0.01)
        time.sleep(seconds / 2)
        os.kill(int(pids[0]), signal.SIGKILL)
        self.makers_killed += 1
        time.sleep(seconds / 2)

    def at_commit(self) -> None:
        """The moment in which the search index is being committed."""
        directory = self.data_dir / "search"
        before = set(directory.iterdir())
        deadline = time.monotonic() + 60
        while set(directory.iterdir()) <= before:
            assert time.monotonic() < deadline, "the index was never committed"


def test_a_write_that_is_not_there_after_a_restart_is_noticed(tmp_path: Path) -> None:
    crew = writers("gone")
    with running(tmp_path) as (instance, _), connect(instance) as http:
        for one in crew:
            one.setup(http)
            assert one.write(http, 1).status_code == 200
            one.tried = one.answered = 1
            assert list(one.faults(http)) == []
            # As if a second write had been answered.
            one.tried = one.answered = 2
            assert any(fault.startswith("lost") for fault in one.faults(http)), one.name


@pytest.mark.parametrize("kills", [0, *nightly(5)])
def test_what_was_answered_survives_kills_at_any_moment(tmp_path: Path, kills: int) -> None:
    """So many kills at a moment that the dice choose, and one while the index is committed."""
    dice = random.Random(11)
    crash = Crash(tmp_path)
    for _ in range(kills):
        wait = dice.uniform(0.05, 0.6)
        crash.round(partial(time.sleep, wait))
    crash.round(crash.at_commit)
    assert crash.faults == []
    assert crash.acknowledged > 10


@pytest.mark.nightly
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="the service makes all entries itself")
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the processes of others")
def test_what_was_answered_survives_kills_of_the_process_that_makes_index_entries(
    tmp_path: Path,
) -> None:
    crash = Crash(tmp_path, loads=True)
    for seconds in (0.0, 0.2, 1.0):
        crash.round(partial(crash.kill_maker, seconds))
    assert crash.faults == []
    assert crash.makers_killed == 3


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs limits of other processes")
def test_a_full_disk_is_said_and_outlived(tmp_path: Path) -> None:
    no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    crew = writers("full")
    with running(tmp_path) as (instance, process):
        with connect(instance) as http:
            # So that no limit is met by what is made once.
            for one in crew:
                one.setup(http)
                one.tried = one.answered = 1
                assert one.write(http, 1).status_code == 200
        most = (tmp_path / "catalog.db-wal").stat().st_size + 300_000
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        threads = [threading.Thread(target=one.run, args=(instance,)) for one in crew]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in crew:
            assert one.refused, "the limit was never met"
            assert "could not be saved" in one.refused[0], one.refused
        with connect(instance) as http:
            assert http.get("/health").status_code == 200
            for one in crew:
                assert list(one.faults(http)) == []
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, no_limit)
            for one in crew:
                one.tried = one.answered + 1
                assert one.write(http, one.tried).status_code == 200
                one.answered = one.tried
                assert list(one.faults(http)) == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert check_directory(tmp_path) == []
