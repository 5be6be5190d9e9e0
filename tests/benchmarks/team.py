"""One and three services on PostgreSQL beside one on SQLite, each with the same catalog.

    python tests/benchmarks/team.py [--datasets 100000] [--json FILE] [--batches DIRECTORY]

The same batches are loaded over HTTP by three connections, then the same requests are made. With
three services the connections are spread over them. The database, the services and the callers
share the processors of this machine, so that what a service of its own could do shows in what
does not get slower. PostgreSQL and SQLite both flush each commit to disk. Times are milliseconds,
median and 99th percentile. Needs Debian's package postgresql.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from generated_catalog import GeneratedCatalog
from search import NOUNS
from service import Client, serve, stop, throughput
from suite import GRAPHQL, memory_mb, spread, timed

from tests.postgres import running_cluster

BATCH = 25
CONNECTIONS = 3
REQUESTS = 300
# Loaded once more into each, by as many connections, when it holds the whole catalog.
MORE = 3_000
SEARCHING = 12
DATABASE = {"fsync": "on", "shared_buffers": "512MB", "autovacuum": "on"}


@dataclass
class Deployment:
    """The services of one catalog, and what was measured of them by name."""

    name: str
    addresses: list[str]
    pids: list[int]
    figures: dict[str, Any] = field(default_factory=dict)

    def note(self, name: str, value: float, unit: str) -> None:
        self.figures[name] = {"value": value, "unit": unit}
        print(f"  {self.name:18}{name:44}{value:19,.1f} {unit}", flush=True)

    def note_times(self, name: str, millis: list[float]) -> None:
        middle, high = spread(millis)
        self.figures[name] = {"median_ms": middle, "p99_ms": high}
        print(f"  {self.name:18}{name:44}{middle:9.2f} {high:9.2f} ms", flush=True)


def write_batches(made: GeneratedCatalog, path: Path) -> None:
    """Write the bodies of the requests that load a catalog, one a line, unless they are there."""
    if path.exists():
        return
    with path.open("w") as file:
        for begin in range(0, made.count, BATCH):
            numbers = range(begin, min(made.count, begin + BATCH))
            batch = [*chain.from_iterable(map(made.proposals, numbers))]
            file.write(json.dumps({"proposals": batch}) + "\n")


def load(path: Path, count: int, addresses: Sequence[str]) -> float:
    """Load the batches of a file by several connections; gives the datasets a second."""
    lock = threading.Lock()
    failed: list[BaseException] = []
    with path.open("rb") as file:

        def bodies() -> Iterator[bytes]:
            while True:
                with lock:
                    body = file.readline()
                if not body:
                    return
                yield body

        def work(address: str) -> None:
            client = Client(address)
            try:
                for body in bodies():
                    client.ask("POST", "/aspects?action=ingestProposalBatch", body)
            except (SystemExit, OSError) as error:
                failed.append(error)

        spread_over = [addresses[at % len(addresses)] for at in range(CONNECTIONS)]
        return count / _seconds_of(
            [threading.Thread(target=work, args=(one,)) for one in spread_over], failed
        )


def _seconds_of(threads: list[threading.Thread], failed: list[BaseException]) -> float:
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"it failed: {failed[0]}")
    return time.perf_counter() - begin


def _searches_a_second(addresses: Sequence[str], texts: Sequence[str]) -> float:
    failed: list[BaseException] = []
    left = iter(texts)
    lock = threading.Lock()

    def work(address: str) -> None:
        client = Client(address)
        try:
            while True:
                with lock:
                    text = next(left, None)
                if text is None:
                    return
                client.ask("POST", "/entities?action=search", _search(text))
        except (SystemExit, OSError) as error:
            failed.append(error)

    threads = [
        threading.Thread(target=work, args=(addresses[at % len(addresses)],))
        for at in range(SEARCHING)
    ]
    return len(texts) / _seconds_of(threads, failed)


def _search(text: str, count: int = 10) -> dict[str, Any]:
    return {"input": text, "entity": "dataset", "start": 0, "count": count}


def _write_then_find(made: GeneratedCatalog, writer: Client, reader: Client, number: int) -> None:
    """Write a word with one connection, and ask with another until it is found."""
    word = f"novelty{time.time_ns()}"
    proposal = made.proposals(number)[0] | {
        "aspectName": "editableDatasetProperties",
        "aspect": {
            "value": json.dumps({"description": f"{word} of a benchmark"}),
            "contentType": "application/json",
        },
    }
    writer.ask("POST", "/aspects?action=ingestProposal", {"proposal": proposal})
    offset = writer.answered.get("x-catalog-offset")
    if offset is not None:
        reader.headers["x-catalog-offset"] = offset
    answer = json.loads(reader.ask("POST", "/entities?action=search", _search(word, 1)))
    if answer["value"]["entities"] != [made.urn(number)]:
        raise SystemExit(f"{word} was not found: {answer}")


def measure(of: Deployment, made: GeneratedCatalog) -> None:
    """Make the requests that are timed, one at a time and many at once."""
    chance = random.Random(11)
    numbers = [chance.randrange(made.count) for _ in range(10_000)]
    texts = [f"{chance.choice(NOUNS)} {chance.choice(NOUNS)}" for _ in range(2 * REQUESTS)]
    paths = [f"/entitiesV2/{quote(made.urn(number), safe='')}" for number in numbers]
    clients = [Client(address) for address in of.addresses]

    def in_turn(ask: Callable[[Client, int], object]) -> list[float]:
        return timed(REQUESTS, lambda at: ask(clients[at % len(clients)], at))

    def graphql(client: Client, at: int) -> bytes:
        body = {"query": GRAPHQL, "variables": {"urn": made.urn(numbers[at])}}
        return client.ask("POST", "/api/graphql", body)

    of.note_times("read an entity", in_turn(lambda one, at: one.ask("GET", paths[at])))
    of.note_times("GraphQL dataset", in_turn(graphql))
    of.note_times(
        "search page, one term",
        in_turn(
            lambda one, at: one.ask(
                "POST", "/entities?action=search", _search(texts[at].split()[0])
            )
        ),
    )
    of.note_times(
        "search page, two terms",
        in_turn(lambda one, at: one.ask("POST", "/entities?action=search", _search(texts[at]))),
    )
    of.note_times(
        "write, then found on the same service",
        timed(
            REQUESTS // 3,
            lambda at: _write_then_find(
                made, clients[at % len(clients)], clients[at % len(clients)], numbers[at]
            ),
        ),
    )
    if len(clients) > 1:
        of.note_times(
            "write, then found on another",
            timed(
                REQUESTS // 3,
                lambda at: _write_then_find(
                    made, clients[at % len(clients)], clients[(at + 1) % len(clients)], numbers[at]
                ),
            ),
        )
    of.note("searches at once", _searches_a_second(of.addresses, texts), "/s")

    async def reads() -> None:
        count = 12_000 // len(of.addresses)
        await asyncio.gather(
            *(
                throughput(address, lambda at: paths[at % len(paths)], count)
                for address in of.addresses
            )
        )

    begin = time.perf_counter()
    asyncio.run(reads())
    of.note("reads at once", 12_000 / (time.perf_counter() - begin), "/s")
    of.note("memory of a service", max(map(memory_mb, of.pids)), "MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="a file that the figures are written to")
    parser.add_argument("--batches", type=Path, help="where the requests stay for another run")
    given = parser.parse_args()
    made = GeneratedCatalog(given.datasets)
    more = [GeneratedCatalog(MORE, seed=20 + at) for at in range(3)]
    print(
        f"{given.datasets:,} datasets; load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors"
    )
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        batches = given.batches or folder
        batches.mkdir(exist_ok=True)
        write_batches(made, batches / "all")
        for at, further in enumerate(more):
            write_batches(further, batches / f"more{at}")

        def start(name: str, store: str = "") -> tuple[str, int]:
            environment = {"CATALOG_STORE": store} if store else {}
            process, address, _ = serve(folder / name, environment=environment)
            held.callback(_end, process)
            return address, process.pid

        def fill(of: Deployment, path: Path | None, extra: int) -> None:
            if path is not None:
                of.note("load", load(path, made.count, of.addresses), "datasets/s")
            speed = load(batches / f"more{extra}", MORE, of.addresses)
            of.note("load into the full catalog", speed, "datasets/s")
            measure(of, made)

        address, pid = start("sqlite")
        alone = Deployment("SQLite", [address], [pid])
        fill(alone, batches / "all", 0)
        os.kill(pid, 15)

        cluster = held.enter_context(running_cluster(**DATABASE))
        store = cluster.new_schema()
        first, pid = start("one", store=store)
        one = Deployment("PostgreSQL, one", [first], [pid])
        fill(one, batches / "all", 1)
        three = Deployment("PostgreSQL, three", [first], [pid])
        for name in ("two", "three"):
            begin = time.perf_counter()
            address, pid = start(name, store=store)
            _wait_until_ready(address)
            three.note(f"{name} is ready after", time.perf_counter() - begin, "s")
            three.addresses.append(address)
            three.pids.append(pid)
        fill(three, None, 2)
    if given.json:
        found = {of.name: of.figures for of in (alone, one, three)}
        given.json.write_text(json.dumps({"datasets": given.datasets, "figures": found}, indent=1))


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        stop(process)


def _wait_until_ready(address: str) -> None:
    while True:
        with suppress(SystemExit, OSError):
            Client(address).ask("GET", "/health/ready")
            return
        time.sleep(0.2)


if __name__ == "__main__":
    main()
