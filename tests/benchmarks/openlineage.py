"""How many events of OpenLineage the service takes in a second, one by one and in batches.

    python tests/benchmarks/openlineage.py [--events 4000] [--jobs 200] [--connections 8]

Each run has two events: START with two inputs, COMPLETE with an output of ten columns and their
lineage. `new jobs` are seen for the first time; `known jobs` run again, as most do. The bare server
runs on the same uvicorn in the same run, reads the same bodies as JSON and answers nothing, and
SQLite is given the same bodies as rows, flushed a hundred at a time: read the ratios. The processor
time is that of the service, with its search index.
"""

import argparse
import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from service import serve, stop

BARE = """
import sys, orjson, uvicorn
async def app(scope, receive, send):
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    orjson.loads(b"".join(pieces))
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", lifespan="off", access_log=False)
"""
PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/spark"
BATCH = 100
COLUMNS = 10


def events(begin: int, count: int, jobs: int) -> list[Any]:
    """Two events of each run; the runs go round the jobs."""
    made = []
    for number in range(begin, begin + count // 2):
        job = number % jobs if jobs else number
        named = {"namespace": "prod", "name": f"flow_{job % 20}.task_{job}"}
        source = "postgres://db:5432"
        inputs = [f"shop.public.t{job}", f"shop.public.t{job + 1}"]
        facets = {
            "schema": {
                "_producer": PRODUCER,
                "fields": [{"name": f"c{at}", "type": "int"} for at in range(COLUMNS)],
            },
            "columnLineage": {
                "_producer": PRODUCER,
                "fields": {
                    f"c{at}": {
                        "inputFields": [{"namespace": source, "name": inputs[0], "field": f"c{at}"}]
                    }
                    for at in range(COLUMNS)
                },
            },
        }
        output = {"namespace": "s3://lake", "name": f"out/t{job}", "facets": facets}
        engine = {"_producer": PRODUCER, "name": "spark", "version": "3.5.0"}
        common = {
            "producer": PRODUCER,
            "run": {"runId": str(UUID(int=number)), "facets": {"processing_engine": engine}},
            "job": named,
        }
        at = 1_700_000_000 + number
        times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at + more)) for more in (0, 30)]
        read = [{"namespace": source, "name": name} for name in inputs]
        made.append({"eventType": "START", "eventTime": times[0], **common, "inputs": read})
        ended = {"eventType": "COMPLETE", "eventTime": times[1], **common, "inputs": read}
        made.append(ended | {"outputs": [output]})
    return made


async def send(address: str, path: str, bodies: Sequence[bytes], connections: int) -> float:
    """Post bodies over several connections; the seconds that took."""
    where = urlsplit(address)
    waiting = iter(bodies)

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        for body in waiting:
            head = f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {len(body)}"
            writer.write(f"{head}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(connections)))
    return time.perf_counter() - begin


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """The processor time that a process took so far; 0 where the system does not tell."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def as_rows(directory: Path, bodies: Sequence[bytes]) -> float:
    """The seconds in which SQLite takes the bodies as rows."""
    rows = sqlite3.connect(directory / "bare.db", isolation_level=None)
    rows.execute("PRAGMA journal_mode = WAL")
    rows.execute("PRAGMA synchronous = FULL")
    rows.execute("CREATE TABLE events (body BLOB)")
    begin = time.perf_counter()
    for at in range(0, len(bodies), BATCH):
        rows.execute("BEGIN")
        rows.executemany(
            "INSERT INTO events VALUES (?)", [(one,) for one in bodies[at : at + BATCH]]
        )
        rows.execute("COMMIT")
    took = time.perf_counter() - begin
    rows.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--connections", type=int, default=8)
    given = parser.parse_args()
    count = given.events

    def bodies(begin: int, jobs: int) -> list[bytes]:
        return [json.dumps(one).encode() for one in events(begin, count, jobs)]

    def batched(single: Sequence[bytes]) -> list[bytes]:
        groups = [single[at : at + BATCH] for at in range(0, len(single), BATCH)]
        return [b"[" + b",".join(group) + b"]" for group in groups]

    with tempfile.TemporaryDirectory() as scratch, socket.socket() as free:
        directory = Path(scratch)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        first = bodies(0, given.jobs)
        print(
            f"{count} events of {sum(map(len, first)) // count} bytes, {given.connections} at once"
        )
        print(f"  rows of SQLite         {count / as_rows(directory, first):8.0f} /s")
        bare = subprocess.Popen([sys.executable, "-c", BARE, str(port)])
        process, address, _ = serve(directory / "catalog")
        try:
            time.sleep(1)
            constant = asyncio.run(send(f"http://127.0.0.1:{port}", "/", first, given.connections))
            print(f"  bare server            {count / constant:8.0f} /s")
            path = "/api/v1/lineage"
            # So that every job is known.
            asyncio.run(send(address, path, bodies(0, given.jobs), given.connections))
            single, batch = (path, given.connections), (f"{path}/batch", 2)
            for name, made, (where, connections) in (
                ("known jobs, single", bodies(count, given.jobs), single),
                ("known jobs, batches", batched(bodies(2 * count, given.jobs)), batch),
                # Last, for so many jobs displace the others in the service's memory.
                ("new jobs, single", bodies(10 * count, 0), single),
                ("new jobs, batches", batched(bodies(20 * count, 0)), batch),
            ):
                before = cpu_seconds(process)
                took = asyncio.run(send(address, where, made, connections))
                each = (cpu_seconds(process) - before) * 1000 / count
                print(
                    f"  {name:22} {count / took:8.0f} /s   x{took / constant:.1f}"
                    f"   {each:.2f} ms of processor time each"
                )
        finally:
            bare.kill()
            bare.wait()
            stop(process)


if __name__ == "__main__":
    main()
