"""`catalog serve` as a process: stopping without loss, streams that end, and its access log."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from explorer.server.authentication import create_token

Start = Callable[..., "Served"]


class Served:
    """A served directory: its process, its address, and what it said on standard error."""

    def __init__(self, data_dir: Path, arguments: tuple[str, ...]) -> None:
        self.log = data_dir.with_name(f"{data_dir.name}.log")
        command = (sys.executable, "-m", "explorer.cli", "serve", "--port", "0")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                (*command, "--data-dir", str(data_dir), *arguments),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http"), self.log.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=120)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Serve this test's directory; whatever still runs at the end is killed."""
    started: list[Served] = []

    def begin(*arguments: str) -> Served:
        started.append(Served(tmp_path / "data", arguments))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.process.communicate()


def tag(name: str) -> dict[str, Any]:
    return {
        "proposal": {
            "entityType": "tag",
            "entityUrn": f"urn:li:tag:{name}",
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
            "aspect": {"value": json.dumps({"name": name})},
        }
    }


def test_every_write_that_was_answered_is_there_after_a_stop(start: Start) -> None:
    served = start("--log-format", "none")
    answered: list[str] = []
    begun = threading.Event()

    def write(worker: int) -> None:
        with httpx.Client(base_url=served.address, timeout=120) as http:
            for n in range(100_000):
                name = f"w{worker}n{n}"
                try:
                    answer = http.post("/aspects?action=ingestProposal", json=tag(name))
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    return
                answered.append(name)
                if len(answered) > 100:
                    begun.set()

    workers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    assert begun.wait(30)
    assert served.stop() == 0
    for worker in workers:
        worker.join()
    again = start()
    with httpx.Client(base_url=again.address, timeout=120) as http:
        for begin in range(0, len(answered), 100):
            names = answered[begin : begin + 100]
            ids = ",".join(f"urn:li:tag:{name}" for name in names)
            results = http.get(f"/entitiesV2?ids=List({ids})&aspects=List(tagProperties)").json()
            found = [
                one for one in results["results"].values() if "tagProperties" in one["aspects"]
            ]
            assert len(found) == len(names)
        body = {"input": "*", "entity": "tag", "start": 0, "count": 1}
        searched = http.post("/entities?action=search", json=body).json()["value"]
        assert searched["numEntities"] >= len(answered)
    assert again.stop(signal.SIGINT) == 0


def test_streams_end_when_the_service_stops(start: Start) -> None:
    served = start()
    with httpx.stream("GET", f"{served.address}/changes/stream", timeout=120) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 2000"
        served.process.send_signal(signal.SIGTERM)
        # Read to its end, and not cut off, as by a stop that is forced: httpx would raise for a
        # body without its last chunk.
        assert list(lines) == [""]
    assert served.process.wait(timeout=120) == 0


def test_the_log_tells_each_request_and_no_secret(tmp_path: Path, start: Start) -> None:
    token, _ = create_token(tmp_path / "data" / "tokens.json", "a", "urn:li:corpuser:alice")
    served = start("--log-format", "json")
    headers = {
        b"Authorization": f"Bearer {token}".encode(),
        b"X-Request-Id": b"trace-1",
        b"User-Agent": b"probe \x9b31m",
    }
    sent = tag("secret-in-body")
    asked = f"/aspects?action=ingestProposal&token={token}&{token}"
    answer = httpx.post(f"{served.address}{asked}", json=sent, headers=headers, timeout=120)
    assert answer.status_code == 200
    assert answer.headers["x-request-id"] == "trace-1"
    refused = httpx.get(
        f"{served.address}/metrics", headers={"X-Request-Id": "bad id"}, timeout=120
    )
    made = refused.headers["x-request-id"]
    assert made != "bad id"
    assert served.stop() == 0
    text = served.log.read_text()
    first, second = filter(lambda told: "method" in told, map(json.loads, text.splitlines()))
    assert first["time"].endswith("Z")
    assert first["millis"] > 0
    del first["time"], first["millis"]
    assert first == {
        "method": "POST",
        "path": "/aspects?action=ingestProposal&token=…&…=…",
        "status": 200,
        "bytes": len(answer.content),
        "actor": "urn:li:corpuser:alice",
        "client": "127.0.0.1",
        "request_id": "trace-1",
        "user_agent": "probe \x9b31m",
    }
    assert (second["status"], second["actor"], second["request_id"]) == (401, None, made)
    assert token not in text
    assert token.split("_", 2)[2] not in text
    assert "secret-in-body" not in text


TROUBLED = """
    import asyncio
    import sys
    import threading
    import warnings
    from explorer.cli.command import run
    from explorer.server.process import _Server

    startup = _Server.startup

    def fail(what):
        raise RuntimeError(f"in {what}\\nand on another line")

    class Kept:
        def __del__(self):
            fail("a destructor")

    async def start(self, sockets=None):
        await startup(self, sockets)
        warnings.warn("a warning of a library", stacklevel=1)
        print("printed by a library", file=sys.stderr)
        asyncio.get_running_loop().call_soon(fail, "the loop")
        thread = threading.Thread(target=fail, args=("a thread",), name="of-a-library")
        thread.start()
        thread.join()
        Kept()

    _Server.startup = start
    code = run()
    fail("the program") if code == 0 else sys.exit(code)
"""


def test_with_json_everything_is_told_as_one_object_a_line(tmp_path: Path) -> None:
    def serve(errors: IO[bytes]) -> subprocess.Popen[str]:
        command = (sys.executable, "-c", textwrap.dedent(TROUBLED), "serve", "--port", "0")
        return subprocess.Popen(
            (*command, "--data-dir", str(tmp_path / "data"), "--log-format", "json"),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    log = tmp_path / "log"
    with log.open("wb") as errors, serve(errors) as served:
        try:
            assert served.stdout is not None
            address = httpx.URL(served.stdout.readline().strip())
            with serve(errors) as second:
                assert second.wait(120) == 3
            with socket.create_connection((address.host, address.port or 0), 120) as line:
                line.sendall(b"not HTTP\r\n\r\n")
                assert line.recv(64).startswith(b"HTTP/1.1 400")
            served.send_signal(signal.SIGTERM)
            assert served.wait(120) == 1
        finally:
            served.kill()
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(one["time"].endswith("Z") for one in told)
    messages = [one["message"] for one in told]
    for expected in (
        "serving the catalog in",
        "a warning of a library",
        "printed by a library",
        "the thread of-a-library failed",
        "error: ",
        "Invalid HTTP request received.",
        "the process failed",
    ):
        assert any(expected in message for message in messages), (expected, messages)
    traces = [one["traceback"] for one in told if "traceback" in one]
    for place in ("the loop", "a thread", "a destructor", "the program"):
        assert any(f"RuntimeError: in {place}\nand on" in trace for trace in traces), place


def test_a_line_of_the_log_stays_one_line_of_text(start: Start) -> None:
    served = start()
    httpx.get(
        f"{served.address}/x%0Ay?urn=%1b%5B31m", headers={b"User-Agent": b"a\x9b0mb"}, timeout=120
    )
    assert served.stop() == 0
    text = served.log.read_text()
    assert "GET /x%0Ay?urn=%1b%5B31m 404 " in text
    assert " - 127.0.0.1 " in text
    assert " a%C2%9B0mb\n" in text


def test_a_log_that_nobody_reads_holds_up_no_answer(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "explorer.cli", "serve", "--port", "0")
    process = subprocess.Popen(
        (*command, "--data-dir", str(tmp_path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        with httpx.Client(base_url=address, timeout=120, headers={"User-Agent": "x" * 900}) as http:
            # Far more than a pipe takes.
            for _ in range(300):
                assert http.get("/health").status_code == 200
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(
    ("named", "status"), [((), 403), (("--allow-host", "my.host", "--allow-open"), 200)]
)
def test_other_host_names_are_answered_when_they_were_allowed(
    start: Start, named: tuple[str, ...], status: int
) -> None:
    served = start(*named)
    answer = httpx.get(f"{served.address}/config", headers={"Host": "my.host"}, timeout=120)
    assert answer.status_code == status
    assert httpx.get(f"{served.address}/config", timeout=120).status_code == 200


def test_the_dialect_can_be_settled_for_everybody(start: Start) -> None:
    served = start("--dialect", "datahub")
    httpx.post(f"{served.address}/aspects?action=ingestProposal", json=tag("a"), timeout=120)
    body = {"input": "*", "entity": "tag", "start": 0, "count": 1}
    hits = httpx.post(f"{served.address}/entities?action=search", json=body, timeout=120).json()
    assert hits["value"]["entities"][0]["entity"] == "urn:li:tag:a"


LABELS = """query labels($dataset: String!) {
  searchAcrossEntities(input: {query: "*", types: [DATASET]}) {
    facets { field aggregations { value entity {
      ... on DataPlatform { properties { displayName logoUrl } }
      ... on CorpUser { properties { displayName } }
    } } }
  }
  dataset(urn: $dataset) { ownership { owners { ownershipType { info { name } } } } }
  everything: searchAcrossEntities(input: {query: "*"}) { searchResults { entity { urn } } }
}"""


def test_a_new_server_has_labels_for_platforms_owners_and_kinds_of_ownership(start: Start) -> None:
    dataset = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)"
    user, kind = "urn:li:corpuser:datahub", "urn:li:ownershipType:__system__data_steward"
    own = {"owners": [{"owner": user, "type": "DATA_STEWARD", "typeUrn": kind}]}
    renamed = {"name": "hive", "displayName": "Our Hive", "type": "OTHERS"}
    renamed["datasetNameDelimiter"] = "."
    served = start()
    with httpx.Client(base_url=served.address, timeout=120) as http:
        write_aspect(http, dataset, "ownership", own)
        write_aspect(http, "urn:li:dataPlatform:hive", "dataPlatformInfo", renamed)
        body = {"query": LABELS, "variables": {"dataset": dataset}}
        found = http.post("/api/graphql", json=body).json()["data"]
        entities = http.get("/config").json()["catalogExplorer"]["entities"]
    facets = {
        one["field"]: [value["entity"] for value in one["aggregations"]]
        for one in found["searchAcrossEntities"]["facets"]
    }
    (platform,) = facets["platform"]
    assert platform["properties"] == {
        "displayName": "Snowflake",
        "logoUrl": "assets/platforms/snowflakelogo.png",
    }
    assert facets["owners"] == [{"properties": {"displayName": "DataHub"}}]
    (owner,) = found["dataset"]["ownership"]["owners"]
    assert owner["ownershipType"]["info"] == {"name": "Data Steward"}
    urns = [one["entity"]["urn"] for one in found["everything"]["searchResults"]]
    assert urns == [dataset]
    # It is written once: what was changed or removed stays so.
    assert served.stop() == 0
    served = start()
    with httpx.Client(base_url=served.address, timeout=120) as http:
        answer = http.get("/aspects/urn%3Ali%3AdataPlatform%3Ahive?aspect=dataPlatformInfo")
        (value,) = answer.json()["aspect"].values()
        assert value == renamed
        assert http.get("/config").json()["catalogExplorer"]["entities"] == entities


def write_aspect(http: httpx.Client, urn: str, aspect: str, value: Any) -> None:
    proposal = {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
    }
    answer = http.post("/aspects?action=ingestProposal", json={"proposal": proposal})
    assert answer.status_code == 200, answer.text
