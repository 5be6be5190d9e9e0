"""How fast lineage comes from a served catalog into a graph, beside what is done anyway.

    python tests/benchmarks/lineage.py [--datasets 60000] [--catalog DIRECTORY] [--repeat 5]

The datasets are a tree of four children a node; every second one is made of a neighbour of its
parent too, so that there are three edges for two nodes. The catalog is served by a process of its
own and walked through the client; networkx is imported before the clock starts. Figures are µs a
node, the best of the repeats. `bare walk` is the same walk as one SQLite query a hop and the names,
in this process; `bare graph` fills a DiGraph from lists that are there, without attributes: read
the ratios to them. `--catalog` keeps what was built for the next run.
"""

import argparse
import asyncio
import http.client
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import networkx as nx
import orjson

from explorer.client import Catalog
from explorer.client.lineage import lineage_request, parse_lineage
from explorer.client.records import Lineage, Way
from explorer.graph import lineage_graph
from explorer.metadata import Proposal, Urn
from explorer.metadata.registry import load_registry
from explorer.server.data_directory import open_catalog

PLATFORMS = ("hive", "kafka", "snowflake", "postgres", "s3")
AREAS = ("sales", "stock", "web", "people", "finance", "risk", "ads", "core")
STAMP = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:jdoe"}
AT_ONCE = 2_000
EVERY_HOP = 100
BARE_HOP = """
SELECT f.value, e.source FROM json_each(?) f
CROSS JOIN edges e INDEXED BY lineage_in ON e.target = f.value WHERE e.flow > 0 AND e.flow = 1
"""
BARE_NAMES = "SELECT u.id, u.urn FROM json_each(?) f CROSS JOIN urns u ON u.id = f.value"


def urn_of(number: int) -> Urn:
    return Urn.dataset(PLATFORMS[number % 5], f"{AREAS[number % 8]}.table_{number}")


def proposals(number: int) -> Iterator[Proposal]:
    """A dataset with what it is made of, and its status: one in a hundred is removed."""
    if number == 0:
        yield Proposal(urn_of(number), "datasetProperties", {"name": "root"})
        return
    parent = (number - 1) // 4
    parents = {parent, max(0, parent - 1)} if number % 2 else {parent}
    upstreams = [
        {"auditStamp": STAMP, "dataset": str(urn_of(one)), "type": "COPY"}
        for one in sorted(parents)
    ]
    yield Proposal(urn_of(number), "upstreamLineage", {"upstreams": upstreams})
    yield Proposal(urn_of(number), "status", {"removed": number % 100 == 7})


def build(directory: Path, count: int) -> None:
    """Write the catalog, unless it is there."""
    if (directory / "catalog.db").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(directory, load_registry())

    async def write() -> None:
        batch: list[Proposal] = []
        for number in range(count):
            batch += proposals(number)
            if len(batch) >= AT_ONCE:
                await catalog.ingest_all(batch)
                batch = []
        await catalog.ingest_all(batch)

    begin = time.perf_counter()
    asyncio.run(write())
    catalog.close()
    print(f"{count} datasets written in {time.perf_counter() - begin:.0f} s")


def serve(directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A served catalog and its address."""
    command = [sys.executable, "-m", "explorer.cli", "serve", "--port", "0", "--data-dir"]
    process = subprocess.Popen(
        [*command, str(directory)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    return process, process.stdout.readline().decode().strip()


def bare_walk(file: Path, root: str, most: int) -> int:
    """The walk as SQLite has it; how many nodes it reached."""
    rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    start: int = rows.execute("SELECT id FROM urns WHERE urn = ?", (root,)).fetchone()[0]
    seen, frontier = {start}, [start]
    while frontier and len(seen) <= most:
        found = rows.execute(BARE_HOP, (json.dumps(frontier),)).fetchall()
        frontier = sorted({far for _, far in found} - seen)[: most + 1 - len(seen)]
        seen.update(frontier)
    names = rows.execute(BARE_NAMES, (json.dumps(sorted(seen)),)).fetchall()
    rows.close()
    return len(names)


def bare_graph(lineage: Lineage) -> Callable[[], object]:
    pairs = [(up, down) for up, down, _ in lineage.pairs()]
    urns = list(lineage.urns)

    def fill() -> object:
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(urns)
        graph.add_edges_from(pairs)
        return graph

    return fill


def best(repeat: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    took = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return min(took)


def carried(address: str, root: Urn, hops: int, most: int) -> tuple[float, float, float]:
    """Seconds until the server began to answer, until all was there, and until it was read."""
    where = urlsplit(address)
    asked = lineage_request(root, "DOWNSTREAM", hops, most, None)
    wire = http.client.HTTPConnection(where.hostname or "", where.port)
    wire.connect()
    wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin = time.perf_counter()
    wire.request(
        asked.method, asked.path, json.dumps(asked.body), {"Content-Type": "application/json"}
    )
    answer = wire.getresponse()
    begun = time.perf_counter()
    body = answer.read()
    came = time.perf_counter()
    parse_lineage(orjson.loads(body), root, "DOWNSTREAM", hops)
    read = time.perf_counter()
    wire.close()
    return begun - begin, came - begun, read - came


def measure(address: str, file: Path, most: int, repeat: int) -> None:
    root = urn_of(0)
    with Catalog(address) as catalog:

        def walk(hops: int, most: int, way: Way = "server", start: Urn = root) -> Lineage:
            return catalog.lineage(start, hops=hops, limit=most, way=way)

        for title, hops, limit in (("every hop", EVERY_HOP, most), ("6 hops", 6, 5_000)):
            lineage = walk(hops, limit)
            nodes = len(lineage.urns)

            def micros(seconds: float, nodes: int = nodes) -> float:
                return seconds / nodes * 1e6

            def whole(hops: int = hops, limit: int = limit) -> object:
                return lineage_graph(walk(hops, limit))

            def fetch(hops: int = hops, limit: int = limit) -> object:
                return walk(hops, limit)

            def build(lineage: Lineage = lineage) -> object:
                return lineage_graph(lineage)

            def bare(nodes: int = nodes) -> object:
                return bare_walk(file, str(root), nodes - 1)

            parts = [carried(address, root, hops, limit) for _ in range(repeat)]
            server, transfer, parse = (min(part) for part in zip(*parts, strict=True))
            print(f"{title}: {nodes} nodes, {len(lineage.edges)} edges; {lineage.truncated}")
            print(f"  all              {micros(best(repeat, whole)):8.2f}")
            print(f"    server         {micros(server):8.2f}")
            print(f"    transfer       {micros(transfer):8.2f}")
            print(f"    parse          {micros(parse):8.2f}")
            print(f"    client, all    {micros(best(repeat, fetch)):8.2f}")
            print(f"    graph          {micros(best(repeat, build)):8.2f}")
            print(f"  bare walk        {micros(best(repeat, bare)):8.2f}")
            print(f"  bare graph       {micros(best(repeat, bare_graph(lineage))):8.2f}")
        roots = [urn_of(number) for number in range(1, 7)]
        ways: tuple[Way, ...] = ("server", "relationships")
        for way in ways:
            nodes = sum(len(walk(4, 341, way, one).urns) for one in roots)

            def six(way: Way = way) -> object:
                return [lineage_graph(walk(4, 341, way, one)) for one in roots]

            seconds = best(repeat, six)
            print(f"4 hops, 6 graphs, {nodes} nodes by {way}: {seconds / nodes * 1e6:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=60_000)
    parser.add_argument("--most", type=int, default=50_000, help="nodes to walk to")
    parser.add_argument("--catalog", type=Path, help="where the catalog is kept")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = given.catalog or Path(scratch)
        build(directory, given.datasets)
        process, address = serve(directory)
        try:
            measure(address, directory / "catalog.db", given.most, given.repeat)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


if __name__ == "__main__":
    main()
