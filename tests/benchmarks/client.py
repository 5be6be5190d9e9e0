"""How fast the client is beside DataHub's own SDK, against the same server in the same run.

    python tests/benchmarks/client.py [--sdk-python PYTHON] [--datasets 5000] [--rounds 5] [--json]

`catalog serve` holds datasets of six aspects each; their lineage is a tree of four children a node
whose root reaches all of them within six hops. Each client is a process of its own that is
imported, connected and warm before the clock starts, and the rounds alternate. The SDK runs under
`--sdk-python`, else `DATAHUB_PYTHON`: a Python that has acryl-datahub[datahub-rest].

Every figure is a median over the rounds, in milliseconds: by the clock, and of the processor, the
client's own and the server's. Machines differ and are shared: read the ratios. What both were asked
for is compared afterwards: the same aspects of the same entities, the same URNs, the same nodes of
lineage; what was written is read back. What the SDK is timed with is the fastest public way it has:

read     `graph.get_entities`, one request for all; `get_entity_semityped`, one by one, is timed
         beside it. It makes typed objects of the aspects at once, this client when one is asked for
write    `graph.emit_mcps` with its default batches, over what was made before the clock starts
scroll   `graph.get_urns_by_filter` with its default pages
lineage  `client.lineage.get_lineage`, a list of nodes without edges, the root left out; this client
         gives a networkx DiGraph with the edges and the root
start    a new process until its first answer, a dataset

Point reads are a thousand `AsyncCatalog.entity` awaited at once, beside the same requests over bare
connections whose answers nobody looks at: what the server and this machine give at most.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from clients import AREAS, HOPS, READ, STAMP, WRITTEN, urn_of, written_by

SIDES = Path(__file__).with_name("clients.py")
AT_ONCE = 198
TASKS = ("read", "write", "scroll", "lineage")
QUIET = {"DATAHUB_TELEMETRY_ENABLED": "false", "DATAHUB_SKIP_CONFIG": "true"}


def aspects(number: int) -> dict[str, Any]:
    """What one dataset holds; every second one is made of a neighbour of its parent too."""
    column = {"type": {"type": {"com.linkedin.schema.StringType": {}}}, "nativeDataType": "string"}
    found: dict[str, Any] = {
        "datasetProperties": {
            "name": f"table_{number}",
            "description": f"Every row of table {number}",
            "customProperties": {"team": AREAS[number % 8]},
        },
        "schemaMetadata": {
            "schemaName": "table",
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": [{"fieldPath": f"column_{at}", **column} for at in range(10)],
        },
        "ownership": {
            "owners": [{"owner": f"urn:li:corpuser:u{number % 50}", "type": "DATAOWNER"}],
            "lastModified": STAMP,
        },
        "globalTags": {"tags": [{"tag": f"urn:li:tag:{AREAS[number % 7]}"}]},
        "status": {"removed": False},
    }
    if number:
        parent = (number - 1) // 4
        parents = {parent, max(0, parent - 1)} if number % 2 else {parent}
        found["upstreamLineage"] = {
            "upstreams": [
                {"auditStamp": STAMP, "dataset": urn_of(one), "type": "COPY"}
                for one in sorted(parents)
            ]
        }
    return found


class Worker:
    """A client's process, seen from outside."""

    def __init__(self, who: str, python: str, address: str) -> None:
        self.who = who
        self._command = [python, str(SIDES), who, address]
        # Nothing but warnings of the SDK's comes from its standard error.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | QUIET,
            text=True,
        )

    def ask(self, task: str, turn: int = 0) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"task": task, "turn": turn}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {self.who} ended while it was asked for {task}")
        told: dict[str, Any] = json.loads(line)
        return told

    def started(self) -> dict[str, float]:
        """A new process, in milliseconds."""
        begin = time.perf_counter()
        done = subprocess.run(
            [*self._command, "--start"], capture_output=True, check=True, env=os.environ | QUIET
        )
        told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return told | {"all": (time.perf_counter() - begin) * 1e3}

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)


def post(address: str, path: str, body: Any) -> Any:
    asked = Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(asked) as given:
        said = given.read()
    return json.loads(said) if said else None


def fill(address: str, count: int) -> None:
    """Write the datasets."""
    batch: list[dict[str, Any]] = []
    for number in range(count):
        batch += (
            {
                "entityType": "dataset",
                "entityUrn": urn_of(number),
                "changeType": "UPSERT",
                "aspectName": name,
                "aspect": {"value": json.dumps(value), "contentType": "application/json"},
            }
            for name, value in aspects(number).items()
        )
        if len(batch) >= AT_ONCE - 6 or number == count - 1:
            post(address, "/aspects?action=ingestProposalBatch", {"proposals": batch})
            batch = []


def check_written(address: str, who: str, turn: int) -> None:
    """Whether what a client wrote is what is stored."""
    asked = [{"urn": urn_of(number), WRITTEN: {}} for number in range(READ)]
    stored = post(address, "/openapi/v3/entity/dataset/batchGet", asked)
    texts = {one["urn"]: one[WRITTEN]["value"]["description"] for one in stored}
    expected = {urn_of(number): written_by(who, turn, number) for number in range(READ)}
    if texts != expected:
        wrong = sum(texts.get(urn) != text for urn, text in expected.items())
        raise SystemExit(f"{who}, round {turn}: {wrong} of {READ} aspects are not as written")


class Served:
    """A served catalog."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "explorer.cli", "serve", "--port", "0", "--data-dir"]
        self._process = subprocess.Popen(
            [*command, str(directory)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout
        self.address = self._process.stdout.readline().decode().strip()

    @property
    def cpu_ms(self) -> float:
        """What it has had of the processor; 0 where the system does not say."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(told[11]) + int(told[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(120)


def compare(served: Served, workers: list[Worker], task: str, rounds: int) -> dict[str, Any]:
    """Medians over the rounds of each client; a round more, the first, is not counted."""
    told: dict[str, list[dict[str, Any]]] = {worker.who: [] for worker in workers}
    for turn in range(rounds + 1):
        for worker in workers if turn % 2 else workers[::-1]:
            before = served.cpu_ms
            one = worker.ask(task, turn) | {"server_ms": served.cpu_ms - before}
            if task == "write":
                check_written(served.address, worker.who, turn)
            told[worker.who].append(one)
    digests = {one["digest"] for found in told.values() for one in found}
    if len(digests) > 1:
        raise SystemExit(f"{task}: the clients did not give the same")
    return {
        who: {
            part: statistics.median(one[part] for one in found[1:])
            for part in ("ms", "cpu_ms", "server_ms", "count")
        }
        for who, found in told.items()
    }


def starting(workers: list[Worker], rounds: int) -> dict[str, Any]:
    """Medians of new processes."""
    told: dict[str, list[dict[str, float]]] = {worker.who: [] for worker in workers}
    for turn in range(rounds):
        for worker in workers if turn % 2 else workers[::-1]:
            told[worker.who].append(worker.started())
    return {
        who: {part: statistics.median(one[part] for one in found) for part in found[0]}
        for who, found in told.items()
    }


def measure(served: Served, sdk_python: str, rounds: int) -> dict[str, Any]:
    """All figures."""
    pythons = {"Ours": sys.executable, "Theirs": sdk_python}
    workers = [Worker(who, python, served.address) for who, python in pythons.items()]
    ours, theirs = workers
    found: dict[str, Any] = {task: compare(served, workers, task, rounds) for task in TASKS}
    found["start"] = starting(workers, rounds)
    found["memory"] = {worker.who: worker.ask("memory")["mb"] for worker in workers}
    found["theirs_read_one_by_one_ms"] = theirs.ask("one by one")["ms"]
    gathered = [ours.ask("gathered") for _ in range(rounds)]
    found["point_reads_per_second"] = {
        name: READ * 1e3 / statistics.median(one[part] for one in gathered)
        for name, part in (("ours", "ms"), ("bare", "bare_ms"))
    }
    for worker in workers:
        worker.end()
    return found


def show(found: dict[str, Any]) -> None:
    """The table."""
    said = {
        "read": f"{READ} entities with their aspects",
        "write": f"{READ} aspects written",
        "scroll": f"{found['scroll']['Ours']['count']:.0f} URNs scrolled",
        "lineage": f"{found['lineage']['Ours']['count']:.0f} nodes of lineage, {HOPS} hops",
    }
    print(f"{'':32}{'ours':>9}{'theirs':>9}{'ratio':>8}   {'processor: client':>20}{'server':>16}")
    for task in TASKS:
        ours, theirs = found[task]["Ours"], found[task]["Theirs"]
        print(
            f"{said[task]:32}{ours['ms']:9.1f}{theirs['ms']:9.1f}{theirs['ms'] / ours['ms']:7.1f}x"
            f"   {ours['cpu_ms']:9.0f} {theirs['cpu_ms']:9.0f}"
            f"{ours['server_ms']:9.0f} {theirs['server_ms']:9.0f}   ms"
        )
    ours, theirs = found["start"]["Ours"], found["start"]["Theirs"]
    for part, words in (
        ("import", "import"),
        ("answer", "construct and first answer"),
        ("all", "new process to first answer"),
    ):
        ratio = theirs[part] / ours[part]
        print(f"{words:32}{ours[part]:9.1f}{theirs[part]:9.1f}{ratio:7.1f}x   ms")
    held = found["memory"]
    ratio = held["Theirs"] / held["Ours"]
    print(f"{'memory at most':32}{held['Ours']:9.1f}{held['Theirs']:9.1f}{ratio:7.1f}x   MB")
    print(f"their entities one by one: {found['theirs_read_one_by_one_ms']:.0f} ms")
    reads = found["point_reads_per_second"]
    share = reads["ours"] / reads["bare"]
    print(
        f"our point reads, {READ} at once: {reads['ours']:.0f} /s; "
        f"bare connections {reads['bare']:.0f} /s, x{share:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sdk-python", default=os.environ.get("DATAHUB_PYTHON"))
    parser.add_argument("--datasets", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="the figures as one JSON object")
    given = parser.parse_args()
    if not given.sdk_python:
        parser.error("name a Python that has acryl-datahub[datahub-rest] with --sdk-python")
    if given.datasets < READ:
        parser.error(f"--datasets is at least {READ}")
    with tempfile.TemporaryDirectory() as scratch:
        served = Served(Path(scratch))
        try:
            fill(served.address, given.datasets)
            load = os.getloadavg()[0]
            found = measure(served, given.sdk_python, given.rounds)
        finally:
            served.stop()
    found |= {"datasets": given.datasets, "rounds": given.rounds}
    found["load"] = {"before": load, "after": os.getloadavg()[0], "processors": os.cpu_count()}
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
        held = found["load"]
        print(
            f"load {held['before']:.1f} to {held['after']:.1f} on {held['processors']} processors"
        )


if __name__ == "__main__":
    main()
