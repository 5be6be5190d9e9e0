"""The service and what reads it, measured at three sizes, each figure beside a baseline.

    python -m tests.benchmarks [--size 10k|100k|1m] [--only load,search,…] [--json FILE]
        [--keep DIRECTORY]

A catalog like a real one is made (`generated_catalog.py`), loaded, and asked over HTTP. Baselines
are timed in the same run: SQLite that takes the same rows, an FTS5 table of the same texts, and a
bare server that answers a constant. Read the ratios, and only those of a machine with nothing else
to do; the load of the machine stands at the head of the table. With `--keep` the catalog stays in a
directory, and is found there by the next run.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from generated_catalog import HUB, LONG_SERIES, GeneratedCatalog
from search import NOUNS
from service import BARE, Client, serve, stop

from explorer import Catalog
from explorer.graph import lineage_graph
from explorer.views.table import to_frame
from explorer.views.timeseries import usage_windows_table

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1m": 1_000_000}
PARTS = ("load", "start", "search", "read", "lineage", "series", "write", "busy", "memory", "disk")
REQUESTS = 300
BATCH = 200
# More than this is not loaded over HTTP: the rate is the same.
MOST_OVER_HTTP = 5_000
GRAPHQL = """query read($urn: String!) { dataset(urn: $urn) {
  urn type name platform { urn name } properties { name description }
  ownership { owners { type owner { ... on CorpUser { urn username } } } }
  tags { tags { tag { urn name } } } schemaMetadata { fields { fieldPath description type } } } }"""


class Table:
    """The figures, printed as they come."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def times(self, name: str, millis: list[float], baseline: list[float] | None = None) -> None:
        """Add a row of milliseconds: median, 99th percentile, and the baseline's median."""
        middle, high = spread(millis)
        row: dict[str, Any] = {"name": name, "median_ms": middle, "p99_ms": high}
        line = f"  {name:44}{middle:9.2f} {high:9.2f} ms"
        if baseline:
            other = spread(baseline)[0]
            row |= {"baseline_ms": other, "ratio": other / middle}
            line += f"   baseline {other:9.2f} ms   x {other / middle:.1f}"
        self._add(row, line)

    def figure(self, name: str, value: float, unit: str, baseline: float | None = None) -> None:
        """Add a row of one number, and how many times the baseline it is."""
        row: dict[str, Any] = {"name": name, "value": value, "unit": unit}
        line = f"  {name:44}{value:19,.1f} {unit}"
        if baseline is not None:
            row |= {"baseline": baseline, "ratio": value / baseline}
            line += f"   baseline {baseline:,.1f}   x {value / baseline:.2f}"
        self._add(row, line)

    def _add(self, row: dict[str, Any], line: str) -> None:
        self.rows.append(row)
        print(line, flush=True)


def spread(millis: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    ordered = sorted(millis)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def timed(count: int, ask: Callable[[int], object]) -> list[float]:
    """The milliseconds of each of `count` calls, a few before them not counted."""
    for at in range(min(5, count)):
        ask(count + at)
    found = []
    for at in range(count):
        begin = time.perf_counter()
        ask(at)
        found.append((time.perf_counter() - begin) * 1000)
    return found


def memory_mb(pid: int, kind: str = "RssAnon") -> float:
    """What a process holds for itself; `VmHWM` is the most it ever had resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{kind}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def _with_text(work: Callable[[str], object], text: Callable[[int], str], at: int) -> object:
    return work(text(at))


def progress(text: str) -> None:
    """Tell what is going on, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def write_file(made: GeneratedCatalog, path: Path) -> float:
    """Write a catalog as JSON lines; gives the bytes of a dataset."""
    with path.open("w") as file:
        for number in range(made.count):
            for proposal in made.proposals(number):
                file.write(json.dumps(proposal) + "\n")
            if number % 1_000 == 0:
                progress(f"making the catalog: {number:,} of {made.count:,}")
    progress("")
    return path.stat().st_size / made.count


def rows_a_second(made: GeneratedCatalog, directory: Path) -> float:
    """How many datasets a second SQLite takes as rows of JSON, flushed once in 200."""
    count = min(made.count, 10_000)
    path = directory / "rows.db"
    for left in directory.glob(f"{path.name}*"):
        # Of a run that was stopped.
        left.unlink()
    rows = sqlite3.connect(path, isolation_level=None)
    rows.execute("PRAGMA journal_mode = WAL")
    rows.execute("PRAGMA synchronous = FULL")
    rows.execute("CREATE TABLE aspects (urn TEXT, name TEXT, at, value TEXT)")
    rows.execute("CREATE UNIQUE INDEX one ON aspects (urn, name, at)")
    took = 0.0
    for begin in range(0, count, BATCH):
        given = [
            (one["entityUrn"], one["aspectName"], at, one["aspect"]["value"])
            for number in range(begin, min(count, begin + BATCH))
            for at, one in enumerate(made.proposals(number))
        ]
        before = time.perf_counter()
        rows.execute("BEGIN")
        rows.executemany("INSERT INTO aspects VALUES (?, ?, ?, ?)", given)
        rows.execute("COMMIT")
        took += time.perf_counter() - before
    rows.close()
    return count / took


def load_over_http(address: str, count: int) -> float:
    """Write so many datasets, 20 a request, and return how many a second the server took."""
    made, client, took = GeneratedCatalog(MOST_OVER_HTTP, seed=8), Client(address), 0.0
    for begin in range(0, count, BATCH // 10):
        numbers = range(begin, min(count, begin + BATCH // 10))
        batch = [proposal for number in numbers for proposal in made.proposals(number)]
        before = time.perf_counter()
        client.ask("POST", "/aspects?action=ingestProposalBatch", {"proposals": batch})
        took += time.perf_counter() - before
    return count / took


class Texts:
    """The baseline of searches: an FTS5 table, ranked by bm25, with facets in a table beside it."""

    def __init__(self, made: GeneratedCatalog, path: Path) -> None:
        is_new = not path.exists()
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute("PRAGMA cache_size = -200000")
        if is_new:
            self._fill(made)

    def _fill(self, made: GeneratedCatalog) -> None:
        run = self._rows.execute
        run("PRAGMA synchronous = OFF")
        run("CREATE VIRTUAL TABLE f USING fts5(name, words, prefix='2 3')")
        run("CREATE TABLE d (id INTEGER PRIMARY KEY, urn, platform, tag, type)")
        run("BEGIN")
        for number in range(made.count):
            aspects = made.aspects(number)
            name = made.table(number).replace("_", " ")
            fields = aspects["schemaMetadata"]["fields"]
            words = [aspects["datasetProperties"]["description"]]
            words += [one["fieldPath"].replace("_", " ").replace(".", " ") for one in fields]
            words += [one.get("description", "") for one in fields]
            tags = aspects["globalTags"]["tags"]
            kept = (tags[0]["tag"] if tags else None, aspects["subTypes"]["typeNames"][0])
            run("INSERT INTO f (rowid, name, words) VALUES (?, ?, ?)", (number, name, str(words)))
            run(
                "INSERT INTO d VALUES (?, ?, ?, ?, ?)",
                (number, made.urn(number), made.platform(number), *kept),
            )
            if number % 1_000 == 0:
                progress(f"filling FTS5: {number:,} of {made.count:,}")
        run("COMMIT")
        progress("")

    def top(self, match: str, start: int = 0) -> object:
        """Ten, the best first."""
        return self._rows.execute(
            "SELECT urn FROM f JOIN d ON d.id = f.rowid WHERE f MATCH ? ORDER BY rank "
            "LIMIT 10 OFFSET ?",
            (match, start),
        ).fetchall()

    def page(self, match: str) -> object:
        """Ten, the total, and three facets."""
        counts = self._rows.execute(
            "SELECT platform, tag, type, count(*) FROM f JOIN d ON d.id = f.rowid "
            "WHERE f MATCH ? GROUP BY 1, 2, 3",
            (match,),
        ).fetchall()
        return self.top(match), counts


@contextmanager
def bare_server() -> Iterator[Client]:
    """A server that answers a constant."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", BARE, str(port)])
    try:
        for _ in range(200):
            try:
                client = Client(f"http://127.0.0.1:{port}")
                break
            except OSError:
                time.sleep(0.05)
        yield client
    finally:
        process.kill()
        process.wait()


class Suite:
    """One run: a catalog, its server, and the parts that are measured."""

    def __init__(self, made: GeneratedCatalog, directory: Path, table: Table, bare: Client) -> None:
        self.made = made
        self.directory = directory
        self.table = table
        self._bare = timed(REQUESTS, lambda _: bare.ask("GET", "/"))
        self._chance = random.Random(11)
        self._numbers = [self._chance.randrange(made.count) for _ in range(10_000)]

    @property
    def data(self) -> Path:
        return self.directory / "catalog"

    def run(self, parts: list[str]) -> None:
        """Measure what is asked for; the catalog is loaded where it is not there yet."""
        self.table.times("a constant answer", self._bare)
        if "load" in parts or not (self.data / "catalog.db").exists():
            self.load()
        process, address, seconds = serve(self.data)
        try:
            if "start" in parts:
                self.table.figure("start until /health is answered", seconds * 1000, "ms")
            self._client = Client(address)
            self._address = address
            for part in PARTS:
                if part in parts and part not in ("load", "start", "memory", "disk"):
                    getattr(self, part)()
            if "memory" in parts:
                self.table.figure("memory of the service's own", memory_mb(process.pid), "MB")
        finally:
            stop(process)
        if "disk" in parts:
            files = [one for one in self.data.rglob("*") if one.is_file()]
            size = sum(one.stat().st_size for one in files) / self.made.count / 1000
            self.table.figure("disk of a dataset", size, "kB")
            self.table.figure("files", len(files), "")

    def load(self) -> None:
        """Load the file into a local catalog."""
        file = self.directory / "catalog.jsonl"
        if not file.exists():
            write_file(self.made, file)
        size = file.stat().st_size / self.made.count / 1000
        rows = rows_a_second(self.made, self.directory)
        command = [sys.executable, "-m", "explorer.cli", "load", str(file)]
        state = {"CATALOG_STATE_DIR": str(self.directory / "state")}
        begin = time.perf_counter()
        loading = subprocess.Popen(
            [*command, "--data-dir", str(self.data)],
            env=os.environ | state,
            stdout=subprocess.DEVNULL,
        )
        most, server_most = 0.0, 0.0
        while loading.poll() is None:
            most = max(most, memory_mb(loading.pid))
            pid = self._service_pid()
            server_most = max(server_most, memory_mb(pid) if pid else 0.0)
            time.sleep(0.25)
        if loading.returncode:
            raise SystemExit("the catalog could not be loaded")
        speed = self.made.count / (time.perf_counter() - begin)
        self.table.figure("JSON of a dataset", size, "kB")
        self.table.figure("load into a local catalog", speed, "datasets/s", rows)
        self.table.figure("memory of the loading process, at most", most, "MB")
        self.table.figure("memory of the service meanwhile, at most", server_most, "MB")
        self._leave()

    def _service_pid(self) -> int | None:
        from explorer.instance import find

        found = find(self.data)
        return found.pid if found else None

    def _leave(self) -> None:
        pid = self._service_pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
        while self._service_pid() is not None or Path(f"/proc/{pid}").exists():
            time.sleep(0.05)

    def _ask(self, path: str, body: Any) -> Any:
        return json.loads(self._client.ask("POST", path, body))

    def _search(self, text: str, start: int = 0, count: int = 10, **more: Any) -> Any:
        asked = {"input": text, "entity": "dataset", "start": start, "count": count, **more}
        return self._ask("/entities?action=search", asked)

    def search(self) -> None:
        """Search pages, letters, filters, folders."""
        texts = Texts(self.made, self.directory / "texts.db")
        terms = [self._chance.choice(NOUNS) for _ in range(2 * REQUESTS)]
        few = max(REQUESTS // 10, 10)

        def pair(at: int) -> str:
            return f"{terms[at % REQUESTS]} {terms[at % REQUESTS + REQUESTS]}"

        def one(at: int) -> str:
            return terms[at % len(terms)]

        def contain(at: int) -> Any:
            criterion = {"field": "name", "value": f"{one(at)[1:]}_", "condition": "CONTAIN"}
            return self._search("*", filter={"or": [{"and": [criterion]}]})

        def narrowed(at: int) -> Any:
            criterion = {"field": "tags", "value": f"urn:li:tag:t{at % 60}", "condition": "EQUAL"}
            return self._search(one(at), filter={"or": [{"and": [criterion]}]})

        def letters(at: int) -> Any:
            asked = {"query": one(at)[: 1 + at % 4], "entity": "dataset", "limit": 10}
            return self._ask("/entities?action=autocomplete", asked)

        def folder(at: int) -> Any:
            number = self._numbers[at]
            path = f"/prod/{self.made.platform(number)}/prod/{self.made.folder(number)}"
            asked = {"path": path, "entity": "dataset", "start": 0, "limit": 50}
            return self._ask("/entities?action=browse", asked)

        for name, text in (("one term", one), ("two terms", pair)):
            baseline = timed(few, partial(_with_text, texts.page, text))
            self.table.times(
                f"search page, {name}",
                timed(REQUESTS, partial(_with_text, self._search, text)),
                baseline,
            )
        baseline = timed(few, lambda at: texts.top(one(at), 2_000))
        deep = timed(REQUESTS, lambda at: self._search(one(at), start=2_000))
        self.table.times("search page 200", deep, baseline)
        self.table.times("search page, filtered by a tag", timed(REQUESTS, narrowed))
        self.table.times("search page, name CONTAIN", timed(REQUESTS, contain))
        baseline = timed(few, lambda at: texts.top(f"name: {one(at)[: 1 + at % 4]}*"))
        self.table.times("autocomplete, a letter", timed(REQUESTS, letters), baseline)
        self.table.times("browse a folder", timed(REQUESTS, folder))

    def read(self) -> None:
        """Entities, one and many at a time, and GraphQL."""
        urns = [self.made.urn(number) for number in self._numbers[: REQUESTS * 2]]

        def one(at: int) -> bytes:
            return self._client.ask("GET", f"/entitiesV2/{quote(urns[at % len(urns)], safe='')}")

        def many(at: int) -> bytes:
            chosen = [quote(urns[(at + more) % len(urns)], safe="") for more in range(50)]
            return self._client.ask("GET", f"/entitiesV2?ids=List({','.join(chosen)})")

        def graphql(at: int) -> bytes:
            body = {"query": GRAPHQL, "variables": {"urn": urns[at % len(urns)]}}
            return self._client.ask("POST", "/api/graphql", body)

        self.table.times("read an entity", timed(REQUESTS, one), self._bare)
        self.table.times("read 50 entities", timed(REQUESTS // 3, many), self._bare)
        self.table.times("GraphQL dataset", timed(REQUESTS, graphql), self._bare)

    def lineage(self) -> None:
        """Walks below the hub, into a graph of networkx."""
        with Catalog(self._address) as catalog:
            for hops in (1, 2, 4, 6):
                took, nodes = [], 0
                for _ in range(5):
                    begin = time.perf_counter()
                    walk = catalog.lineage(self.made.urn(HUB), hops=hops, limit=5_000)
                    nodes = len(lineage_graph(walk))
                    took.append((time.perf_counter() - begin) * 1e6)
                name = f"lineage, {hops} hops, {nodes:,} nodes"
                self.table.figure(name, min(took) / max(nodes, 1), "µs a node")

    def series(self) -> None:
        """A long timeseries into a DataFrame."""
        rows = 0

        def frame(_: int) -> object:
            nonlocal rows
            series = catalog.timeseries(
                self.made.urn(0), "datasetUsageStatistics", limit=LONG_SERIES
            )
            found = to_frame(usage_windows_table(series))
            rows = len(found)
            return found

        with Catalog(self._address) as catalog:
            millis = timed(10, frame)
        self.table.times(f"{rows:,} points into a DataFrame", millis)

    def _write_then_find(self, client: Client, at: int) -> None:
        word = f"novelty{time.time_ns()}"
        number = self._numbers[at]
        value = {"description": f"{word} of a benchmark"}
        proposal = self.made.proposals(number)[0] | {
            "aspectName": "editableDatasetProperties",
            "aspect": {"value": json.dumps(value), "contentType": "application/json"},
        }
        client.ask("POST", "/aspects?action=ingestProposal", {"proposal": proposal})
        asked = {"input": word, "entity": "dataset", "start": 0, "count": 1}
        found = json.loads(client.ask("POST", "/entities?action=search", asked))
        if found["value"]["entities"] != [self.made.urn(number)]:
            raise SystemExit(f"{word} was not found: {found}")

    def write(self) -> None:
        """A write that the next search finds."""
        millis = timed(REQUESTS // 3, lambda at: self._write_then_find(self._client, at))
        self.table.times("write, then found", millis, self._bare)

    def busy(self) -> None:
        """What others wait while a bulk load runs over HTTP, and how fast it is."""
        count = min(self.made.count, MOST_OVER_HTTP)
        # In a process of its own: what it computes would be waited for otherwise.
        loading = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        speed = loading.submit(load_over_http, self._address, count)
        reads: list[float] = []
        writes: list[float] = []
        for at in itertools.count():
            if speed.done():
                break
            path = f"/entitiesV2/{quote(self.made.urn(self._numbers[at % 10_000]), safe='')}"
            begin = time.perf_counter()
            self._client.ask("GET", path)
            reads.append((time.perf_counter() - begin) * 1000)
            if at % 5 == 0:
                begin = time.perf_counter()
                self._write_then_find(self._client, at % 10_000)
                writes.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.02)
        loading.shutdown()
        self.table.figure("load over HTTP, one connection", speed.result(), "datasets/s")
        self.table.times("read an entity beside it", reads, self._bare)
        self.table.times("write, then found, beside it", writes, self._bare)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="10k")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, help="a file that the figures are written to")
    parser.add_argument("--keep", type=Path, help="where the catalog stays for another run")
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    table = Table()
    load, processors = os.getloadavg()[0], os.cpu_count()
    print(f"{given.size} datasets; load {load:.2f} on {processors} processors")
    with tempfile.TemporaryDirectory() as scratch, bare_server() as bare:
        directory = given.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        Suite(GeneratedCatalog(SIZES[given.size]), directory, table, bare).run(parts)
    if given.json:
        about = {"size": SIZES[given.size], "load": load, "processors": processors}
        given.json.write_text(json.dumps({**about, "rows": table.rows}, indent=1))
