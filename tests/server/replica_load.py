"""Services on one PostgreSQL database, behind haproxy, while services and databases are killed and
writers and readers work through the real client. Needs Debian's packages postgresql and haproxy."""

import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx

from explorer.client import Catalog
from explorer.client.transport import Retry
from explorer.errors import CatalogError, Conflict, NotFound
from explorer.metadata.registry import load_registry
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog
from explorer.server.store import SurveyedStore
from tests.postgres import Cluster, running_cluster, running_pair

__all__ = ["Outcome", "run"]

_KILL_SECONDS = 20.0
_START_SECONDS = 240.0
# For so long after a failure there may be errors, or, on a machine with other work, for three times
# as long as all services take to start.
_PROMISED_SECONDS = 10.0
_STARTS = 3
_ASPECT = "datasetProperties"
_PROXY = """
global
  maxconn 2000
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3
  retry-on conn-failure
frontend catalog
  bind 127.0.0.1:{port}
  use_backend aged if {{ nbsrv(services) eq 0 }}
  default_backend services
backend services
  balance roundrobin
  option httpchk GET /health/ready
  default-server check inter 500 fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
backend aged
  balance roundrobin
  option httpchk GET /health/search
  default-server check inter 500 fall 2 rise 1
{servers}
"""


@dataclass
class Outcome:
    """What a run found. `errors` are the moments of errors by kind, in seconds from its begin;
    `failures` the moments at which something was killed, with what it was; `start_seconds` is how
    long the services took to start."""

    seconds: float = 0.0
    start_seconds: float = 0.0
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    updates: int = 0
    updates_lost: list[str] = field(default_factory=list)
    reads: int = 0
    searches: int = 0
    errors: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    failures: list[tuple[float, str]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """For how many seconds after a failure there were errors, at most."""
        worst = 0.0
        for at in (at for listed in self.errors.values() for at in listed):
            since = [at - began for began, _ in self.failures if began <= at]
            worst = max(worst, min(since, default=float("inf")))
        return worst

    @property
    def least_done(self) -> int:
        """The number of acknowledged writes or of updates, whichever is smaller."""
        return min(self.acknowledged, self.updates)

    @property
    def promised_seconds(self) -> float:
        """For how many seconds after a failure there may be errors."""
        return max(_PROMISED_SECONDS, _STARTS * self.start_seconds)

    @property
    def broken(self) -> list[str]:
        """Return the promises that were not kept."""
        found = {
            "acknowledged writes were lost": self.lost,
            "writers did not find what they wrote": self.stale,
            "updates under a condition were lost": self.updates_lost,
            "indexes differ from new ones": self.damaged,
            "errors that were not promised": [
                kind for kind in self.errors if kind not in ("Unreachable", "TimedOut", "Busy")
            ],
            f"errors lasted {self.longest:.1f} s": [""] * (self.longest > self.promised_seconds),
        }
        return [f"{what}: {', '.join(some[:5])}" for what, some in found.items() if some]

    def __str__(self) -> str:
        kinds = ", ".join(f"{len(times)} {kind}" for kind, times in self.errors.items()) or "none"
        return (
            f"{self.seconds:.0f} s, {len(self.failures)} failures ("
            f"{', '.join(dict.fromkeys(what for _, what in self.failures))})\n"
            f"{self.acknowledged:,} acknowledged writes, {len(self.lost)} lost; {self.reads:,} "
            f"reads and {self.searches:,} searches of what was just written, "
            f"{len(self.stale)} stale\n"
            f"{self.updates:,} updates under a condition, {len(self.updates_lost)} lost\n"
            f"errors: {kinds}; at the latest {self.longest:.1f} s after a failure "
            f"({self.promised_seconds:.0f} s are promised; all services start in "
            f"{self.start_seconds:.1f} s)"
        )


class _Service:
    """`catalog serve` on the shared database, at a port that stays the same."""

    def __init__(self, directory: Path, store: str, port: int) -> None:
        self.directory, self.port = directory, port
        self._command = (
            *(sys.executable, "-m", "explorer.cli", "serve", "--port", str(port)),
            *("--data-dir", str(directory), "--log-format", "none"),
        )
        self._environment = {**os.environ, "CATALOG_STORE": store}
        self._log = directory.parent / f"{port}.log"
        directory.mkdir()
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=log
            )

    @property
    def said(self) -> str:
        """Return the end of what the service wrote to standard error since its first start."""
        return self._log.read_text()[-2_000:]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


def _reserved_ports(count: int, held: ExitStack) -> list[int]:
    """Return ports that nobody else is given until `held` is left.

    A socket that is bound and does not listen keeps its port from outgoing connections and from
    other tests; a server that sets SO_REUSEADDR, as this one does, may listen there all the same.
    """
    ports = []
    for _ in range(count):
        reserved = held.enter_context(socket.socket())
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        ports.append(int(reserved.getsockname()[1]))
    return ports


@contextmanager
def _proxy(folder: Path, services: list[_Service], port: int) -> Iterator[str]:
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    servers = "\n".join(f"  server s{n} 127.0.0.1:{one.port}" for n, one in enumerate(services))
    config = folder / "haproxy.cfg"
    config.write_text(_PROXY.format(port=port, servers=servers))
    process = subprocess.Popen((program, "-f", str(config), "-db"), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _is_ready(port):
            assert process.poll() is None, "the proxy ended at its start"
            assert time.monotonic() < deadline, "the proxy does not find a service"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


class _Load:
    """Writers and readers at the proxy, until they are told to stop."""

    def __init__(self, address: str, outcome: Outcome, seed: int) -> None:
        self._address, self._outcome, self._seed = address, outcome, seed
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self.written: dict[str, set[str]] = {}
        self._threads: list[threading.Thread] = []

    @property
    def now(self) -> float:
        return time.monotonic() - self._begun

    def start(self, writers: int, counters: int) -> None:
        work = [*(self._write,) * writers, *(self._count,) * counters]
        for number, do in enumerate(work):
            thread = threading.Thread(target=self._run, args=(do, number), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, do: Any, number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        retry = Retry(tries=4, total_seconds=8)
        with Catalog(self._address, timeout_seconds=8, retry=retry) as catalog:
            while not self._stop.is_set():
                try:
                    do(catalog, number, chance)
                except CatalogError as error:
                    self._note(type(error).__name__)
                    time.sleep(0.1)

    def _note(self, kind: str) -> None:
        with self._lock:
            self._outcome.errors[kind].append(self.now)

    def _write(self, catalog: Catalog, number: int, chance: random.Random) -> None:
        """Write a text that nobody wrote, and look for it: by its name and by its word."""
        urn = _urn(f"writer{number}.table{chance.randrange(40)}")
        word = f"w{number}x{chance.getrandbits(60):x}"
        # What was not answered may be there or not; at first that is nothing, which is in any text.
        self.written.setdefault(urn, {""}).add(word)
        catalog.put(urn, _ASPECT, {"description": f"about {word}"})
        with self._lock:
            self._outcome.acknowledged += 1
            self.written[urn] = {word}
        told = str(catalog.aspect(urn, _ASPECT).value.get("description"))
        self._outcome.reads += 1
        if word not in told:
            self._outcome.stale.append(f"read {urn} at {self.now:.1f}: {told!r} and not {word}")
        hits = [str(hit.urn) for hit in catalog.search(word).hits]
        self._outcome.searches += 1
        if hits != [urn]:
            self._outcome.stale.append(f"search {word} at {self.now:.1f}: {hits}")

    def _count(self, catalog: Catalog, number: int, chance: random.Random) -> None:
        """Add a mark to a list that all counters share, if nobody added one meanwhile."""
        urn = _urn(f"counted{chance.randrange(3)}")
        try:
            read = catalog.aspect(urn, _ASPECT)
        except NotFound:
            read = None
        marks: Mapping[str, str] = read.value.get("customProperties", {}) if read else {}
        version = int((read.system or {}).get("version", 1)) if read else -1
        mark = f"c{number}x{chance.getrandbits(60):x}"
        value = {"customProperties": {**marks, mark: ""}}
        with suppress(Conflict):
            catalog.put(urn, _ASPECT, value, only_if_version=version)
            with self._lock:
                self._outcome.updates += 1
                self.written.setdefault(urn, set()).add(mark)

    def check(self, catalog: Catalog) -> None:
        """Note which acknowledged writes are not there."""
        for urn, words in self.written.items():
            try:
                value = catalog.aspect(urn, _ASPECT).value
            except NotFound:
                value = {}
            if "counted" in urn:
                gone = words - set(value.get("customProperties", {}))
                self._outcome.updates_lost += [f"{mark} of {urn}" for mark in gone]
            elif not any(word in str(value.get("description")) for word in words):
                self._outcome.lost.append(f"{urn}: none of {words}, but {value}")


def _urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def _wait_until_ready(services: list[_Service]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    for service in services:
        while not _is_ready(service.port):
            ended = service.process.poll()
            assert ended is None, f"a service ended with {ended} at its start:\n{service.said}"
            assert time.monotonic() < deadline, f"a service does not start:\n{service.said}"
            time.sleep(0.1)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/ready").status_code == 200
    except httpx.HTTPError:
        return False


def run(
    seconds: float,
    *,
    replicas: int = 3,
    standby: bool = False,
    kill_seconds: float = _KILL_SECONDS,
    seed: int = 1,
    least: int = 0,
    cluster: Cluster | None = None,
) -> Outcome:
    """Return what a run of at least so many seconds found.

    The run goes on until there are `least` acknowledged writes and as many updates, which may
    take longer on a busy machine. With `standby` a pair of clusters is started, else `cluster` is
    used, or one that is started.
    """
    outcome = Outcome(seconds=seconds)
    with ExitStack() as held, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spare: Cluster | None = None
        if standby:
            cluster, spare = held.enter_context(running_pair())
            store = cluster.address(others=(spare,))
        else:
            cluster = cluster or held.enter_context(running_cluster())
            store = cluster.new_schema()
        ports = _reserved_ports(replicas + 1, held)
        services = [_Service(folder / f"data{port}", store, port) for port in ports[1:]]
        try:
            begun = time.monotonic()
            _wait_until_ready(services)
            outcome.start_seconds = time.monotonic() - begun
            address = held.enter_context(_proxy(folder, services, ports[0]))
            load = _Load(address, outcome, seed)
            load.start(writers=4, counters=2)
            turn, is_database_due = 0, True
            while load.now < seconds or is_database_due or outcome.least_done < least:
                time.sleep(min(kill_seconds, max(seconds - load.now, 0.1)))
                # A service is killed first, even if half of the time has passed on a busy machine.
                if is_database_due and turn and load.now > seconds / 2:
                    is_database_due = False
                    outcome.failures.append((load.now, "standby promoted" if spare else "database"))
                    cluster.stop()
                    if spare is not None:
                        spare.promote()
                    else:
                        cluster.start()
                elif not turn or load.now < seconds - _PROMISED_SECONDS / 2:
                    one = services[turn % replicas]
                    turn += 1
                    outcome.failures.append((load.now, "service"))
                    one.kill()
                    one.start()
            load.stop()
            _wait_until_ready(services)
            with Catalog(f"http://127.0.0.1:{ports[1]}") as catalog:
                load.check(catalog)
        finally:
            for one in services:
                one.stop()
        for one in services:
            engine = open_catalog(one.directory, load_registry(), store)
            try:
                faults = check(cast(SurveyedStore, engine.store), engine.index, engine.registry)
                outcome.damaged += [f"{one.directory.name}: {fault}" for fault in faults]
            finally:
                engine.close()
    return outcome
