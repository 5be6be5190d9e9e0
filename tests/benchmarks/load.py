"""How long requests wait while large jobs run, and what a service is like after a long mixed load.

    python tests/benchmarks/load.py [--datasets 20000]               delays beside each large job
    python tests/benchmarks/load.py --minutes 20 [--datasets 5000]   mixed load

The first fills a catalog whose datasets are in one container, carry one tag and come from one run;
beside each large job it writes and reads small things one after another and prints how long they
took. The second lets readers, writers, searchers, GraphQL callers and followers work at once, with
a large job now and then; it prints errors, the 99th percentile and the longest time of each kind,
memory over time, and whether every acknowledged write is there at the end. Times are milliseconds.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from explorer.instance import find

TAG = "urn:li:tag:everywhere"
HALL = "urn:li:container:hall"
CONTAINERS = ("urn:li:container:from", "urn:li:container:to")
FOLDERS = """query folders($input: BrowseV2Input!) {
  browseV2(input: $input) { metadata { totalNumEntities } } }"""
GRAPHQL = """query read($urn: String!) { dataset(urn: $urn) { urn properties { name description }
  tags { tags { tag { urn name } } } parentContainers { containers { urn } } } }"""


def urn_of(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,load.table_{number},PROD)"


def proposal(urn: str, aspect: str, value: Any, run: str | None = None) -> dict[str, Any]:
    wire = {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
    }
    system = {"systemMetadata": {"runId": run, "lastObserved": 1}} if run else {}
    return {**wire, **system, "aspect": {"value": json.dumps(value)}}


class Service:
    """A service in a process of its own."""

    def __init__(self, directory: Path, pid: int, path: str) -> None:
        self.directory, self.pid, self._path = directory, pid, path

    def connect(self, timeout: float = 300) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=self._path)
        return httpx.Client(transport=transport, base_url="http://catalog", timeout=timeout)

    def resident_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0


@contextmanager
def running() -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        command = [sys.executable, "-m", "explorer.cli.service", "--no-sample", "--data-dir", name]
        with subprocess.Popen(command) as process:
            try:
                while (instance := find(directory)) is None:
                    time.sleep(0.05)
                yield Service(directory, process.pid, instance.address.removeprefix("unix:"))
            finally:
                process.terminate()


def post(http: httpx.Client, path: str, body: Any) -> Any:
    answer = http.post(path, json=body)
    if answer.status_code != 200 or '"errors"' in answer.text[:200]:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
    return answer.json()


def ingest(http: httpx.Client, urn: str, aspect: str, value: Any) -> None:
    post(http, "/aspects?action=ingestProposal", {"proposal": proposal(urn, aspect, value)})


def fill(http: httpx.Client, datasets: int, run: str) -> None:
    for urn in (*CONTAINERS, HALL):
        ingest(http, urn, "containerProperties", {"name": urn.rpartition(":")[2]})
    ingest(http, HALL, "container", {"container": CONTAINERS[0]})
    for begin in range(0, datasets, 50):
        batch = [
            proposal(urn_of(number), aspect, value, run)
            for number in range(begin, min(begin + 50, datasets))
            for aspect, value in (
                ("datasetProperties", {"name": f"table_{number}", "description": run}),
                ("globalTags", {"tags": [{"tag": TAG}]}),
                ("container", {"container": HALL}),
            )
        ]
        post(http, "/aspects?action=ingestProposalBatch", {"proposals": batch})


def references(http: httpx.Client, *, dry: bool) -> None:
    post(http, "/entities?action=deleteReferences", {"urn": TAG, "dryRun": dry})


def roll_back(http: httpx.Client, run: str, *, dry: bool) -> None:
    post(http, "/runs?action=rollback", {"runId": run, "dryRun": dry, "safe": True})


def found_in(http: httpx.Client, container: str) -> int:
    variables = {"input": {"type": "DATASET", "path": [container]}}
    answer = post(http, "/api/graphql", {"query": FOLDERS, "variables": variables})
    total: int = answer["data"]["browseV2"]["metadata"]["totalNumEntities"]
    return total


def move(http: httpx.Client, target: str, datasets: int) -> None:
    ingest(http, HALL, "container", {"container": target})
    while found_in(http, target) < datasets:
        time.sleep(0.1)


def beside(service: Service, job: Callable[[httpx.Client], None]) -> tuple[float, dict[str, Any]]:
    """How long a job took, and how long small requests did meanwhile."""
    took: dict[str, list[float]] = {"write": [], "read": []}
    over = threading.Event()

    def small(kind: str, ask: Callable[[httpx.Client, int], object]) -> None:
        with service.connect() as http:
            number = 0
            while not over.is_set():
                begin = time.perf_counter()
                ask(http, number)
                took[kind].append((time.perf_counter() - begin) * 1000)
                number += 1
                over.wait(0.01)

    asks = {
        "write": lambda http, at: ingest(
            http, "urn:li:tag:small", "tagProperties", {"name": str(at)}
        ),
        "read": lambda http, _: http.get(f"/entitiesV2/{quote(TAG, safe='')}").raise_for_status(),
    }
    threads = [threading.Thread(target=small, args=one) for one in asks.items()]
    for thread in threads:
        thread.start()
    begin = time.perf_counter()
    with service.connect() as http:
        job(http)
    seconds = time.perf_counter() - begin
    over.set()
    for thread in threads:
        thread.join()
    return seconds, {kind: sorted(times) for kind, times in took.items()}


def told(times: list[float]) -> str:
    if not times:
        return f"{'none':>30}"
    at = [times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]]
    return f"{len(times):>6}" + "".join(f"{one:>8.0f}" for one in at)


def measure_delays(datasets: int) -> None:
    with running() as service, service.connect() as http:
        fill(http, datasets, "first")
        jobs: dict[str, Callable[[httpx.Client], None]] = {
            "nothing": lambda _: time.sleep(3),
            "container move": lambda http: move(http, CONTAINERS[1], datasets),
            "deleteReferences dry": lambda http: references(http, dry=True),
            "deleteReferences": lambda http: references(http, dry=False),
            "rollback dry": lambda http: roll_back(http, "first", dry=True),
            "rollback": lambda http: roll_back(http, "first", dry=False),
        }
        heads = "".join(f"{kind:>7}{'p50':>7}{'p99':>8}{'max':>8}" for kind in ("writes", "reads"))
        print(f"{datasets:,} datasets\n{'beside':<22}{'s':>6}{heads}")
        for name, job in jobs.items():
            seconds, took = beside(service, job)
            print(f"{name:<22}{seconds:>6.1f}{told(took['write'])}{told(took['read'])}", flush=True)


class Mixed:
    """Many callers at once, for some minutes."""

    def __init__(self, service: Service, datasets: int, minutes: float) -> None:
        self.service, self.datasets = service, datasets
        self.until = time.monotonic() + minutes * 60
        self.took: dict[str, list[float]] = collections.defaultdict(list)
        self.errors: collections.Counter[str] = collections.Counter()
        self.acknowledged: dict[str, int] = {}
        self.heard = 0

    def loop(
        self, kind: str, pause: float, work: Callable[[httpx.Client, random.Random], None]
    ) -> None:
        rng = random.Random(kind)
        with self.service.connect() as http:
            while time.monotonic() < self.until:
                begin = time.perf_counter()
                try:
                    work(http, rng)
                except (httpx.HTTPError, RuntimeError, json.JSONDecodeError) as error:
                    self.errors[f"{kind}: {str(error)[:120]}"] += 1
                self.took[kind].append((time.perf_counter() - begin) * 1000)
                time.sleep(pause)

    def write(self, name: str) -> Callable[[httpx.Client, random.Random], None]:
        urn = f"urn:li:tag:{name}"

        def work(http: httpx.Client, _: random.Random) -> None:
            number = self.acknowledged.get(urn, 0) + 1
            ingest(http, urn, "tagProperties", {"name": f"{name} {number}"})
            self.acknowledged[urn] = number

        return work

    def read(self, http: httpx.Client, rng: random.Random) -> None:
        urn = urn_of(rng.randrange(self.datasets))
        http.get(f"/entitiesV2/{quote(urn, safe='')}").raise_for_status()

    def search(self, http: httpx.Client, rng: random.Random) -> None:
        text = f"table {rng.randrange(self.datasets)}"
        body = {"input": text, "entity": "dataset", "start": 0, "count": 10}
        post(http, "/entities?action=search", body)

    def graphql(self, http: httpx.Client, rng: random.Random) -> None:
        variables = {"urn": urn_of(rng.randrange(self.datasets))}
        post(http, "/api/graphql", {"query": GRAPHQL, "variables": variables})

    def follow(self) -> None:
        with self.service.connect() as http:
            while time.monotonic() < self.until:
                try:
                    with http.stream("GET", "/changes/stream") as lines:
                        for line in lines.iter_lines():
                            self.heard += line.startswith("id:")
                            if time.monotonic() > self.until:
                                return
                except httpx.HTTPError as error:
                    self.errors[f"follow: {str(error)[:120]}"] += 1

    def large(self, http: httpx.Client, rng: random.Random) -> None:
        jobs: list[Callable[[], None]] = [
            lambda: references(http, dry=True),
            lambda: references(http, dry=False),
            lambda: roll_back(http, "mixed", dry=True),
            lambda: fill(http, self.datasets, "mixed"),
            lambda: ingest(http, HALL, "container", {"container": rng.choice(CONTAINERS)}),
        ]
        rng.choice(jobs)()

    def run(self) -> bool:
        loops: list[tuple[str, float, Callable[[httpx.Client, random.Random], None]]] = [
            *(("write", 0.02, self.write(f"writer{at}")) for at in range(4)),
            *(("read", 0.01, self.read) for _ in range(4)),
            *(("search", 0.05, self.search) for _ in range(2)),
            *(("graphql", 0.05, self.graphql) for _ in range(2)),
            ("large", 20, self.large),
        ]
        threads = [threading.Thread(target=self.loop, args=one) for one in loops]
        threads += [threading.Thread(target=self.follow, daemon=True) for _ in range(5)]
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        while time.monotonic() < self.until:
            print(
                f"{time.monotonic() - begin:6.0f} s {self.service.resident_mb():7.0f} MB",
                flush=True,
            )
            time.sleep(min(30, max(0.1, self.until - time.monotonic())))
        for thread in threads:
            if not thread.daemon:
                thread.join()
        return self.report()

    def report(self) -> bool:
        print(f"{'':<10}{'times':>6}{'p50':>8}{'p99':>8}{'max':>8}")
        for kind, times in self.took.items():
            print(f"{kind:<10}{told(sorted(times))}")
        print(f"followers heard {self.heard:,} changes; memory {self.service.resident_mb():.0f} MB")
        for error, count in self.errors.most_common(20):
            print(f"{count:>6} × {error}")
        lost = []
        with self.service.connect() as http:
            for urn, number in self.acknowledged.items():
                found = http.get(f"/aspects/{quote(urn, safe='')}?aspect=tagProperties&version=0")
                (value,) = found.json()["aspect"].values()
                if int(value["name"].rpartition(" ")[2]) < number:
                    lost.append(urn)
        acknowledged = sum(self.acknowledged.values())
        print(f"{acknowledged:,} acknowledged writes, {len(lost)} lost {lost or ''}")
        return not lost and not self.errors


def main() -> int:
    words = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=words)
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, help="a mixed load for so long")
    given = parser.parse_args()
    if given.minutes is None:
        measure_delays(given.datasets)
        return 0
    with running() as service:
        with service.connect() as http:
            fill(http, given.datasets, "mixed")
        return 0 if Mixed(service, given.datasets, given.minutes).run() else 1


if __name__ == "__main__":
    sys.exit(main())
