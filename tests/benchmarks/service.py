"""How fast the service is over its own HTTP face, beside a bare server that answers a constant.

    python tests/benchmarks/service.py [--datasets 10000] [--requests 300]

The bare server runs on the same uvicorn, in the same run, and is asked through the same client, so
read the ratios. Ingestion is measured against SQLite that is given the same JSON, flushed to disk
as often. Times are milliseconds, median and 99th percentile, one request at a time.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

BARE = """
import sys, uvicorn
BODY = b"x" * 3500
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"3500")]})
    await send({"type": "http.response.body", "body": BODY})
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", lifespan="off", access_log=False)
"""
AREAS = ("sales", "stock", "web", "people", "finance", "risk", "ads", "core")
NOUNS = ("order", "item", "visit", "payment", "invoice", "customer", "store", "price", "return")
AT_ONCE = 198
GRAPHQL = """query read($urn: String!) { dataset(urn: $urn) {
  urn type name origin platform { urn name } properties { name description }
  editableProperties { description }
  ownership { owners { type owner { ... on CorpUser { urn username } } } }
  tags { tags { tag { urn name } } } schemaMetadata { fields { fieldPath description type } } } }"""

Proposal = dict[str, Any]


def name_of(number: int) -> str:
    return f"{AREAS[number % 8]}.{NOUNS[number % 9]}_{number}"


def urn_of(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name_of(number)},PROD)"


def proposals(number: int) -> Iterator[Proposal]:
    """The six aspects of one dataset; its lineage is a tree of four children a node."""
    stamp = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:jdoe"}
    column = {"type": {"type": {"com.linkedin.schema.StringType": {}}}, "nativeDataType": "string"}
    noun, area = NOUNS[number % 9], AREAS[number % 8]
    aspects: dict[str, Any] = {
        "datasetProperties": {
            "name": f"{noun}_{number}",
            "description": f"Every {noun} of {area}, one row each, as number {number} has it",
            "customProperties": {"team": area},
        },
        "schemaMetadata": {
            "schemaName": noun,
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": [
                {"fieldPath": f"{one}_{at}", "description": f"The {one} of the {noun}", **column}
                for at, one in enumerate((*NOUNS, "id"))
            ],
        },
        "ownership": {
            "owners": [{"owner": f"urn:li:corpuser:u{number % 50}", "type": "DATAOWNER"}],
            "lastModified": stamp,
        },
        "globalTags": {"tags": [{"tag": f"urn:li:tag:{AREAS[number % 7]}"}]},
        "status": {"removed": False},
    }
    if number:
        upstream = {"auditStamp": stamp, "dataset": urn_of((number - 1) // 4), "type": "COPY"}
        aspects["upstreamLineage"] = {"upstreams": [upstream]}
    for aspect, value in aspects.items():
        yield {
            "entityType": "dataset",
            "entityUrn": urn_of(number),
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"value": json.dumps(value), "contentType": "application/json"},
            "systemMetadata": {"runId": "benchmark", "lastObserved": 1_700_000_000_000},
        }


def batches(count: int) -> Iterator[list[Proposal]]:
    batch: list[Proposal] = []
    for number in range(count):
        batch += proposals(number)
        if len(batch) >= AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


class Client:
    """One connection, which is opened again if the server closed it while a baseline was timed.
    `headers` are sent with each request, `answered` are those of the last answer."""

    def __init__(self, address: str) -> None:
        where = urlsplit(address)
        self.headers = {"Content-Type": "application/json"}
        self.answered: Mapping[str, str] = {}
        self._http = http.client.HTTPConnection(where.hostname or "", where.port)
        self._connect()

    def _connect(self) -> None:
        self._http.close()
        self._http.connect()
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        try:
            self._http.request(method, path, data, self.headers)
            answer = self._http.getresponse()
        except ConnectionError:
            self._connect()
            self._http.request(method, path, data, self.headers)
            answer = self._http.getresponse()
        self.answered = dict(answer.headers)
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {said[:300]!r}")
        return said


def timed(count: int, ask: Callable[[int], object]) -> tuple[float, float]:
    """Milliseconds, median and 99th percentile."""
    for number in range(min(20, count)):
        ask(number)
    took = []
    for number in range(count):
        begin = time.perf_counter()
        ask(number)
        took.append((time.perf_counter() - begin) * 1000)
    took.sort()
    return took[len(took) // 2], took[int(len(took) * 0.99)]


async def throughput(address: str, path: Callable[[int], str], count: int) -> float:
    """Requests a second of twenty connections that ask without a pause."""
    where = urlsplit(address)
    left = iter(range(count))

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        for number in left:
            writer.write(f"GET {path(number)} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(20)))
    return count / (time.perf_counter() - begin)


def bare_rows(directory: Path, count: int) -> float:
    """Datasets a second that SQLite takes as rows of JSON, flushed once a batch."""
    made = list(batches(count))
    rows = sqlite3.connect(directory / "bare.db", isolation_level=None)
    rows.execute("PRAGMA journal_mode = WAL")
    rows.execute("PRAGMA synchronous = FULL")
    rows.execute("CREATE TABLE aspects (urn TEXT, name TEXT, value TEXT, PRIMARY KEY (urn, name))")
    begin = time.perf_counter()
    for batch in made:
        rows.execute("BEGIN")
        rows.executemany(
            "INSERT INTO aspects VALUES (?, ?, ?)",
            [(one["entityUrn"], one["aspectName"], one["aspect"]["value"]) for one in batch],
        )
        rows.execute("COMMIT")
    took = time.perf_counter() - begin
    rows.close()
    return count / took


def serve(
    directory: Path, *options: str, environment: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], str, float]:
    """A served catalog, its address, and the seconds until it answered."""
    command = [sys.executable, "-m", "explorer.cli", "serve", "--port", "0", *options]
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--data-dir", str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None
    address = process.stdout.readline().decode().strip()
    Client(address).ask("GET", "/health")
    return process, address, time.perf_counter() - begin


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=300)
    given = parser.parse_args()
    chance = random.Random(11)
    numbers = [chance.randrange(given.datasets) for _ in range(10_000)]
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        rows = bare_rows(directory, min(given.datasets, 10_000))
        process, address, _ = serve(directory / "catalog")
        client = Client(address)
        made = list(batches(given.datasets))
        begin = time.perf_counter()
        for batch in made:
            client.ask("POST", "/aspects?action=ingestProposalBatch", {"proposals": batch})
        speed = given.datasets / (time.perf_counter() - begin)
        print(f"{given.datasets} datasets of 6 aspects, durable and found at once")
        print(f"  ingest           {speed:10.0f} /s     rows {rows:.0f} /s, x{rows / speed:.1f}")
        stop(process)
        process, address, seconds = serve(directory / "catalog")
        print(f"  start            {seconds * 1000:10.0f} ms until /health is answered")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        bare = subprocess.Popen([sys.executable, "-c", BARE, str(port)])
        try:
            time.sleep(1.5)
            measure(given.requests, numbers, address, f"http://127.0.0.1:{port}")
        finally:
            bare.kill()
            bare.wait()
            stop(process)


def measure(requests: int, numbers: list[int], address: str, bare: str) -> None:
    """Time each kind of request against the constant answer."""
    client, constant = Client(address), Client(bare)
    base, base_tail = timed(requests * 3, lambda _: constant.ask("GET", "/"))
    print(f"  constant answer  {base:10.2f} {base_tail:8.2f} ms")

    def post(path: str, body: Any) -> bytes:
        return client.ask("POST", path, body)

    def search(at: int) -> object:
        text = f"{NOUNS[numbers[at] % 9]} {AREAS[numbers[at] % 8]}"
        asked = {"input": text, "entity": "dataset", "start": 0, "count": 10}
        return post("/entities?action=search", asked)

    def autocomplete(at: int) -> object:
        text = name_of(numbers[at]).partition(".")[2][: 3 + at % 4]
        return post(
            "/entities?action=autocomplete", {"query": text, "entity": "dataset", "limit": 10}
        )

    def browse(at: int) -> object:
        path = f"/prod/hive/{AREAS[numbers[at] % 8]}"
        return post(
            "/entities?action=browse", {"path": path, "entity": "dataset", "start": 0, "limit": 50}
        )

    def lineage(at: int) -> object:
        asked = {"urn": urn_of(numbers[at] % 20), "direction": "DOWNSTREAM", "maxHops": 4}
        return post("/relationships?action=getLineage", {**asked, "start": 0, "count": 1000})

    def write(at: int) -> object:
        tags = {"tags": [{"tag": f"urn:li:tag:fresh{at}_{chance}"}]}
        proposal = next(proposals(numbers[at])) | {
            "aspectName": "globalTags",
            "aspect": {"value": json.dumps(tags), "contentType": "application/json"},
        }
        post("/aspects?action=ingestProposal", {"proposal": proposal})
        asked = {"input": f"tags:fresh{at}_{chance}", "entity": "dataset", "start": 0, "count": 1}
        found = json.loads(post("/entities?action=search", asked))["value"]["entities"]
        assert found == [urn_of(numbers[at])], found
        return found

    chance = time.time_ns() % 100_000
    kinds: dict[str, Callable[[int], object]] = {
        "point read": lambda at: client.ask(
            "GET", f"/entitiesV2/{quote(urn_of(numbers[at]), safe='')}"
        ),
        "GraphQL dataset": lambda at: post(
            "/api/graphql", {"query": GRAPHQL, "variables": {"urn": urn_of(numbers[at])}}
        ),
        "search page": search,
        "autocomplete": autocomplete,
        "browse": browse,
        "lineage, 4 hops": lineage,
        "write, then found": write,
    }
    for name, ask in kinds.items():
        median, tail = timed(requests, ask)
        print(f"  {name:17}{median:10.2f} {tail:8.2f} ms   x{median / base:.1f}")
    limit = asyncio.run(throughput(bare, lambda _: "/", 20_000))
    paths = [f"/entitiesV2/{quote(urn_of(number), safe='')}" for number in numbers]
    reads = asyncio.run(throughput(address, lambda at: paths[at % len(paths)], 20_000))
    print(f"  point reads      {reads:10.0f} /s     constant {limit:.0f} /s, x{limit / reads:.1f}")


if __name__ == "__main__":
    main()
