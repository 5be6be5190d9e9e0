"""Where the processor time of a load goes: each part of it alone, then `catalog load` as a whole.

    python tests/benchmarks/loading.py [--datasets 5000] [--only parts,load,http,datahub]
        [--json FILE]

All figures are milliseconds of processor time a dataset (`generated_catalog.py`), of all threads of
a process: unlike the time on a clock, they are nearly the same on a busy machine. The parts run in
this process, one after another, on the same datasets. A whole load is told by process: the service,
the process that makes entries of the search index for it, and the process that sends. What the
service takes beyond the sum of the parts is HTTP, roles, audit, futures and waking threads.
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from generated_catalog import GeneratedCatalog
from service import serve
from suite import write_file

from explorer.instance import find
from explorer.metadata.proposal import read_proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.ingestion import CheckedProposal, Intake
from explorer.server.projection import read_state
from explorer.server.search.analysis import analyse
from explorer.server.search.document import StoredValues
from explorer.server.search.fields import Vocabulary
from explorer.server.search.layers import DiskIndex
from explorer.server.store import Transaction
from explorer.server.store.sqlite import SqliteStore
from explorer.server.timeseries import use_from

# As many as the command line sends in a request.
A_REQUEST = 20
_ROWS = "rows, change log, commit"
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def chunked(made: GeneratedCatalog) -> Iterator[bytes]:
    """The bodies of the requests that write a catalog."""
    for begin in range(0, made.count, A_REQUEST):
        numbers = range(begin, min(made.count, begin + A_REQUEST))
        proposals = [proposal for number in numbers for proposal in made.proposals(number)]
        yield orjson.dumps({"proposals": proposals})


class Parts:
    """The processor time of each part of the service's work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def spend(self, name: str) -> Iterator[None]:
        """Add what the block takes to a part."""
        before = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - before


def measure_parts(made: GeneratedCatalog, directory: Path) -> dict[str, float]:
    """Return the seconds of each part."""
    registry = load_registry()
    store, intake = SqliteStore(directory / "parts.db"), Intake(registry)
    vocabulary = Vocabulary(registry)
    index = DiskIndex(directory / "index", vocabulary, None)
    parts, begin, applying = Parts(), use_from(), 0.0
    for at, body in enumerate(chunked(made), start=1):
        with parts.spend("parse JSON"):
            wires = orjson.loads(body)["proposals"]
        with parts.spend("read proposals"):
            proposals = [read_proposal(wire, registry, complete=True) for wire in wires]
        with parts.spend("check"):
            changes = [intake.check(proposal) for proposal in proposals]

        def apply(transaction: Transaction, changes: list[CheckedProposal] = changes) -> None:
            nonlocal applying
            before = time.thread_time()
            intake.apply_all(transaction, changes, time.time_ns() // 1_000_000)
            applying += time.thread_time() - before

        with parts.spend(_ROWS):
            store.write(apply).result()
        with parts.spend("index: read back"):
            stored = store.aspects(list(dict.fromkeys(change.text for change in changes)))
            states = [
                read_state(
                    registry,
                    store,
                    Urn.parse(urn),
                    StoredValues(urn, ((aspect.name, aspect.value) for aspect in aspects)),
                    begin,
                    has_series=False,
                )
                for urn, aspects in stored.items()
            ]
        with parts.spend("index: documents"):
            documents = [state.build(registry) for state in states]
        with parts.spend("index: words and codes"):
            entries = [index.terms.values(analyse(vocabulary, each)) for each in documents]
        with parts.spend("index: add, commit, merge"):
            for entry in entries:
                index.put(entry["urn"], index.terms.entry(entry))
            if at % 100 == 0:
                index.commit(at)
    with parts.spend("index: add, commit, merge"):
        index.commit(made.count)
        index.close()
    store.close()
    return {**parts.seconds, _ROWS: parts.seconds[_ROWS] - applying, "apply": applying}


def spent_seconds(pid: int) -> float:
    """Return the processor time of a process so far, 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK_SECONDS


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in tasks for child in path.read_text().split()]


class Spent:
    """The processor time of the processes of a service."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._by_child: dict[int, float] = {}
        self._before = spent_seconds(pid)

    def look(self) -> None:
        """Note what its child processes have taken: they may end before the service does."""
        for child in children(self._pid):
            self._by_child[child] = max(self._by_child.get(child, 0.0), spent_seconds(child))

    def seconds(self) -> dict[str, float]:
        """Return the seconds since the beginning, by process, once all is indexed on disk."""
        quiet, last = 0, -1.0
        # Nothing is left to do when it has taken nothing for two seconds.
        while quiet < 4:
            time.sleep(0.5)
            self.look()
            now = spent_seconds(self._pid) + sum(self._by_child.values())
            quiet = quiet + 1 if now - last < 0.03 else 0
            last = now
        return {
            "service": spent_seconds(self._pid) - self._before,
            "second process": sum(self._by_child.values()),
        }


def measure_load(file: Path, directory: Path) -> dict[str, float]:
    """Return the seconds of `catalog load` into a local catalog, by process."""
    data = directory / "local"
    command = [sys.executable, "-m", "explorer.cli", "load", str(file), "--data-dir", str(data)]
    environment = os.environ | {"CATALOG_STATE_DIR": str(directory / "state")}
    spent: Spent | None = None
    seconds = 0.0
    begin = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as loading:
        while loading.poll() is None:
            seconds = max(seconds, spent_seconds(loading.pid))
            if spent is None and (instance := find(data)) is not None:
                spent = Spent(instance.pid)
            elif spent is not None:
                spent.look()
            time.sleep(0.05)
    clock = time.perf_counter() - begin
    if loading.returncode or spent is None:
        raise SystemExit("the catalog could not be loaded")
    by_process = {**spent.seconds(), "loading process": seconds, "(clock)": clock}
    instance = find(data)
    if instance is not None:
        os.kill(instance.pid, signal.SIGTERM)
        while Path(f"/proc/{instance.pid}").exists():
            time.sleep(0.05)
    return by_process


def measure_http(made: GeneratedCatalog, directory: Path, dialect: str) -> dict[str, float]:
    """Return the seconds of requests that write a catalog over one connection, by process.

    Those of DataHub's client may be applied in part.
    """
    bodies = list(chunked(made))
    process, address, _ = serve(directory / f"http-{dialect}", "--dialect", dialect)
    try:
        spent = Spent(process.pid)
        where = urlsplit(address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port)
        before, begin = time.process_time(), time.perf_counter()
        headers = {"Content-Type": "application/json"}
        for at, body in enumerate(bodies):
            connection.request("POST", "/aspects?action=ingestProposalBatch", body, headers)
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise SystemExit(f"the server answered {response.status}")
            if at % 20 == 0:
                spent.look()
        sending, clock = time.process_time() - before, time.perf_counter() - begin
        return {**spent.seconds(), "sending": sending, "(clock)": clock}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=5_000)
    parser.add_argument("--only", default="parts,load,http,datahub")
    parser.add_argument("--json", type=Path, help="a file that the figures are written to")
    given = parser.parse_args()
    made, wanted = GeneratedCatalog(given.datasets), given.only.split(",")
    figures: dict[str, dict[str, float]] = {}
    load = os.getloadavg()[0]
    print(f"{given.datasets:,} datasets; load {load:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        measures: dict[str, Callable[[], dict[str, float]]] = {
            "parts": lambda: measure_parts(made, directory),
            "load": lambda: measure_load(_file(made, directory), directory),
            "http": lambda: measure_http(made, directory, "plain"),
            "datahub": lambda: measure_http(made, directory, "datahub"),
        }
        for name in (name for name in measures if name in wanted):
            millis = {
                part: seconds * 1000 / given.datasets for part, seconds in measures[name]().items()
            }
            figures[name] = millis
            print(f"\n{name:30}{'ms a dataset':>14}")
            for part, each in millis.items():
                print(f"  {part:28}{each:>14.3f}")
            total = sum(each for part, each in millis.items() if not part.startswith("("))
            print(f"  {'together':28}{total:>14.3f}", flush=True)
    if given.json:
        given.json.write_text(
            json.dumps({"datasets": given.datasets, "load": load, **figures}, indent=1)
        )


def _file(made: GeneratedCatalog, directory: Path) -> Path:
    file = directory / "catalog.jsonl"
    size = write_file(made, file)
    print(f"\na dataset has {size / 1000:.1f} kB of JSON")
    return file


if __name__ == "__main__":
    main()
