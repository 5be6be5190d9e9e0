"""What a service keeps of large requests once it has answered them."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import get_introspection_query

from explorer.instance import find

MOST_GROWTH_MB = 100


class Process:
    """A service in a process of its own, and how much memory it has."""

    def __init__(self, pid: int, http: httpx.Client) -> None:
        self.pid = pid
        self.http = http

    def resident_mb(self) -> float:
        return self._mb("VmRSS")

    def peak_mb(self) -> float:
        return self._mb("VmHWM")

    def _mb(self, name: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise AssertionError(f"no {name}")

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.http.post(path, json=body)

    def graphql(self, query: str) -> dict[str, Any]:
        answer = self.post("/api/graphql", {"query": query})
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    command = [sys.executable, "-m", "explorer.cli.service", "--no-sample"]
    words = (tmp_path / "words.log").open("ab")
    with words, subprocess.Popen([*command, "--data-dir", str(tmp_path)], stderr=words) as running:
        try:
            while (instance := find(tmp_path)) is None:
                assert running.poll() is None, (tmp_path / "words.log").read_text()
                time.sleep(0.01)
            transport = httpx.HTTPTransport(uds=instance.address.removeprefix("unix:"))
            with httpx.Client(transport=transport, base_url="http://catalog", timeout=120) as http:
                yield Process(running.pid, http)
        finally:
            running.kill()


def fill(process: Process) -> None:
    """What any service does before it is attacked: it writes, searches and describes itself."""
    value = {"value": json.dumps({"name": "orders", "description": "every order"})}
    for number in range(50):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,orders_{number},PROD)"
        proposal = {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": "datasetProperties",
        }
        body = {"proposal": {**proposal, "aspect": value}}
        assert process.post("/aspects?action=ingestProposal", body).status_code == 200
    assert search(process, [f"orders_{at}" for at in range(10_000)]).status_code == 200
    assert process.graphql(get_introspection_query())["data"]


def search(process: Process, values: list[str]) -> httpx.Response:
    criterion = {"field": "name", "values": values, "condition": "EQUAL"}
    body = {"input": "*", "entity": "dataset", "start": 0, "count": 10}
    given = {**body, "filter": {"or": [{"and": [criterion]}]}}
    return process.post("/entities?action=search", given)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_what_large_requests_took_is_given_back(process: Process) -> None:
    fill(process)
    before = process.resident_mb()
    for round_ in range(3):
        refused = search(process, [f"some_name_{round_}_{at}" for at in range(200_000)])
        assert refused.status_code == 400
        assert "at most 10,000" in refused.json()["message"]
        taken = search(process, [f"some_name_{round_}_{at}" for at in range(10_000)])
        assert taken.status_code == 200
    for round_ in range(4):
        comment = f"# {round_}" + "x" * 15_000_000 + "\n"
        (error,) = process.graphql(comment + get_introspection_query())["errors"]
        assert "at most 1,000,000 are read" in error["message"]
        comment = f"# {round_}" + "x" * 900_000 + "\n"
        assert process.graphql(comment + get_introspection_query())["data"]
    for round_ in range(20):
        names = " ".join(f"a{round_}x{at}: name" for at in range(1_200))
        assert "errors" not in process.graphql(
            '{ dataset(urn: "urn:li:dataset:(urn:li:'
            f'dataPlatform:hive,orders_1,PROD)") {{ {names} }} }}'
        )
    for round_ in range(20):
        words = " ".join(f"word{round_}x{at}" for at in range(60))
        assert search(process, [words * 40]).status_code == 200
    grown = process.resident_mb() - before
    print(f"{before:.0f} MB before, {grown:.0f} MB more afterwards")
    assert grown < MOST_GROWTH_MB


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("{}", 5_000_000),
        ("{}", 499_000),
        ('{"a":1}', 499_000),
        ("[1]", 740_000),
        ('"\U0001f600"', 1_490_000),
        ('{"a":' * 900 + "1" + "}" * 900, 830),
    ],
)
def test_no_batch_takes_much_more_memory_than_its_length(
    process: Process, value: str, number: int
) -> None:
    body = f'{{"proposals":[{",".join([value] * number)}]}}'.encode()
    for header in ("true", "false"):
        answer = process.http.post(
            "/aspects?action=ingestProposalBatch",
            content=gzip.compress(body, 1),
            headers={"content-encoding": "gzip", "x-catalog-all-or-none": header},
        )
        assert answer.status_code in (400, 413), answer.text
    assert process.peak_mb() < 300


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_aspects_that_were_just_written_take_the_memory_of_their_length(process: Process) -> None:
    def load(start: int, end: int) -> None:
        for begin in range(start, end, 500):
            proposals = [
                {
                    "entityType": "tag",
                    "entityUrn": f"urn:li:tag:kept{number}",
                    "changeType": "UPSERT",
                    "aspectName": "tagProperties",
                    "aspect": {
                        "value": json.dumps({"name": f"{number}", "description": "x" * 600})
                    },
                }
                for number in range(begin, begin + 500)
            ]
            answer = process.post("/aspects?action=ingestProposalBatch", {"proposals": proposals})
            assert answer.status_code == 200

    load(0, 2_000)
    before = process.resident_mb()
    load(2_000, 14_000)
    grown = process.resident_mb() - before
    print(f"{before:.0f} MB before, {grown:.0f} MB more afterwards")
    # Some 12 MB of values and system metadata, and what the index takes meanwhile.
    assert grown < MOST_GROWTH_MB
