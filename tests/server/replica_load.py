"""Services on one PostgreSQL database, behind haproxy, while services and databases are killed or
do not answer, and writers and readers work through the real client.

Needs Debian's packages postgresql and haproxy.
"""

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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, cast

import httpx

from explorer.client import Catalog
from explorer.client.transport import Retry
from explorer.errors import CatalogError, Conflict, NotFound
from explorer.metadata.registry import load_registry
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog
from explorer.server.store import SurveyedStore
from tests.postgres import Cluster, running_cluster, running_pair
from tests.relay import Relay, frozen, locked, relayed, silent
from tests.server.history import Operation, violations

_KILL_SECONDS = 20.0
_START_SECONDS = 240.0
# For so long after a failure there may be errors, or, on a machine with other work, for three times
# as long as all services take to start.
_PROMISED_SECONDS = 10.0
_STARTS = 3
# Later marks are appended to other lists, so that no list grows without end.
_LIST_SECONDS = 20
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
  option abortonclose
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
    `failures` what was killed or did not answer, with the moments of its begin and its end;
    `start_seconds` is how long the services took to start."""

    seconds: float = 0.0
    start_seconds: float = 0.0
    acknowledged: int = 0
    stale: list[str] = field(default_factory=list)
    updates: int = 0
    conflicts: int = 0
    violations: list[str] = field(default_factory=list)
    reads: int = 0
    searches: int = 0
    errors: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    failures: list[tuple[float, float, str]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """For how many seconds after the end of a failure there were errors, at most."""
        worst = 0.0
        for at in (at for listed in self.errors.values() for at in listed):
            since = [max(0, at - ended) for began, ended, _ in self.failures if began <= at]
            worst = max(worst, min(since, default=float("inf")))
        return worst

    @property
    def lost(self) -> list[str]:
        """Return the acknowledged writes that are not there."""
        return [violation for violation in self.violations if violation.endswith("is lost")]

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
            "writers did not find what they wrote": self.stale,
            "what clients did and saw has no order": self.violations,
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
            f"{', '.join(dict.fromkeys(what for _, _, what in self.failures))})\n"
            f"{self.acknowledged:,} acknowledged writes, {len(self.lost)} lost; {self.reads:,} "
            f"reads and {self.searches:,} searches of what was just written, "
            f"{len(self.stale)} stale\n"
            f"{self.updates:,} updates under a condition, {self.conflicts:,} refused; "
            f"{len(self.violations)} violations\n"
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
        self.history: dict[str, list[Operation]] = collections.defaultdict(list)
        # By client, marks of lists that a search has found.
        self._found: dict[int, set[str]] = collections.defaultdict(set)
        self._threads: list[threading.Thread] = []

    @property
    def now(self) -> float:
        return time.monotonic() - self._begun

    def start(self, writers: int, appenders: int) -> None:
        work = [*(self._write,) * writers, *(self._append,) * appenders]
        for number, do in enumerate(work):
            thread = threading.Thread(target=self._run, args=(do, number), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            if thread.is_alive():
                self._note("a client that waits for ever")

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
                except Exception as error:
                    self._note(f"a client that ended: {error!r}")
                    raise

    def _note(self, kind: str) -> None:
        with self._lock:
            self._outcome.errors[kind].append(self.now)

    def _write(self, catalog: Catalog, number: int, chance: random.Random) -> None:
        """Write a text that nobody wrote, and look for it: by its name and by its word."""
        urn = _urn(f"writer{number}.table{chance.randrange(4)}")
        word = f"w{number}x{chance.getrandbits(60):x}"
        self._put(catalog, number, urn, None, word)
        told = str(catalog.aspect(urn, _ASPECT).value.get("description"))
        self._outcome.reads += 1
        if word != told:
            self._outcome.stale.append(f"read {urn} at {self.now:.1f}: {told!r} and not {word}")
        self._search(catalog, word, urn)

    def _append(self, catalog: Catalog, number: int, chance: random.Random) -> None:
        """Append a mark to one of a few lists, if nobody appended one since it was read, and look
        for one that was found before."""
        urn = _urn(f"list{chance.randrange(3)}after{self.now // _LIST_SECONDS:.0f}")
        began = self.now
        try:
            read = catalog.aspect(urn, _ASPECT)
        except NotFound:
            read = None
        marks = tuple(str(read.value["description"]).split()) if read else ()
        version = int((read.system or {}).get("version", 1)) if read else -1
        self.history[urn].append(Operation(number, began, self.now, "read", marks))
        mark = f"c{number}x{chance.getrandbits(60):x}"
        if self._put(catalog, number, urn, marks, mark, version):
            self._search(catalog, mark, urn)
        elif marks and marks[0] in self._found[number]:
            self._search(catalog, marks[0], urn)
        elif marks and catalog.search(marks[0]).hits:
            self._found[number].add(marks[0])

    def _put(
        self,
        catalog: Catalog,
        number: int,
        urn: str,
        marks: tuple[str, ...] | None,
        mark: str,
        version: int | None = None,
    ) -> bool:
        """Write a mark, after others if they are given, and note how that ended; return whether it
        was accepted."""
        outcome: Literal["accepted", "refused", "unknown"] = "unknown"
        began, value = self.now, {"description": " ".join((*(marks or ()), mark))}
        try:
            catalog.put(urn, _ASPECT, value, only_if_version=version)
            outcome = "accepted"
        except Conflict:
            outcome = "refused"
        finally:
            self.history[urn].append(Operation(number, began, self.now, outcome, marks, mark))
        with self._lock:
            self._outcome.acknowledged += marks is None and outcome == "accepted"
            self._outcome.updates += marks is not None and outcome == "accepted"
            self._outcome.conflicts += outcome == "refused"
        return outcome == "accepted"

    def _search(self, catalog: Catalog, word: str, urn: str) -> None:
        hits = [str(hit.urn) for hit in catalog.search(word).hits]
        self._outcome.searches += 1
        if hits != [urn]:
            self._outcome.stale.append(f"search {word} at {self.now:.1f}: {hits}")

    def check(self, catalog: Catalog) -> None:
        """Note which answers no order of the operations explains."""
        for urn, operations in self.history.items():
            try:
                versions = [*catalog.every_version(urn, _ASPECT, page_size=200)]
            except NotFound:
                versions = []
            texts = [str(version.value["description"]) for version in reversed(versions)]
            final = texts if "writer" in urn else " ".join(texts[-1:]).split()
            found = violations(operations, final)
            self._outcome.violations += [f"{urn}: {violation}" for violation in found]


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


def _hindrances(
    cluster: Cluster, relays: list[Relay]
) -> list[tuple[str, Callable[[], AbstractContextManager[None]]]]:
    """Return the ways in which the database does not answer, each with its name."""

    @contextmanager
    def all_silent() -> Iterator[None]:
        with ExitStack() as networks:
            for relay in relays:
                networks.enter_context(silent(cluster, relay))
            yield

    cut_off = ("silent to one", lambda: silent(cluster, relays[0]))
    return [
        cut_off,
        ("locked", lambda: locked(cluster, relays[0])),
        cut_off,
        ("frozen", lambda: frozen(cluster, relays[0])),
        cut_off,
        ("silent to all", all_silent),
    ]


def run(
    seconds: float,
    *,
    replicas: int = 3,
    standby: bool = False,
    kill_seconds: float = _KILL_SECONDS,
    seed: int = 1,
    least: int = 0,
    cluster: Cluster | None = None,
    hindered_seconds: float = 0,
) -> Outcome:
    """Return what a run of at least so many seconds found.

    The run goes on until there are `least` acknowledged writes and as many updates, which may
    take longer on a busy machine. With `standby` a pair of clusters is started, else `cluster` is
    used, or one that is started. After every kill of a service the database does not answer for up
    to `hindered_seconds`: by turns it is silent to one service or to all, locked or frozen.
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
        relays: list[Relay] = []
        for port in ports[1:] if hindered_seconds else ():
            network = folder / f"network{port}"
            network.mkdir()
            relays.append(held.enter_context(relayed(cluster, store, network)))
        stores = [relay.address for relay in relays] or [store] * replicas
        services = [
            _Service(folder / f"data{port}", one, port)
            for port, one in zip(ports[1:], stores, strict=True)
        ]
        try:
            begun = time.monotonic()
            _wait_until_ready(services)
            outcome.start_seconds = time.monotonic() - begun
            address = held.enter_context(_proxy(folder, services, ports[0]))
            load = _Load(address, outcome, seed)
            load.start(writers=4, appenders=4)

            @contextmanager
            def failure(what: str) -> Iterator[None]:
                began = load.now
                yield
                outcome.failures.append((began, load.now, what))

            chance = random.Random(seed)
            ways = cycle(_hindrances(cluster, relays))
            turn, is_database_due = 0, True
            while load.now < seconds or is_database_due or outcome.least_done < least:
                time.sleep(min(kill_seconds, max(seconds - load.now, 0.1)))
                # A service is killed first, even if half of the time has passed on a busy machine.
                if is_database_due and turn and load.now > seconds / 2:
                    is_database_due = False
                    with failure("standby promoted" if spare else "database"):
                        cluster.stop()
                        if spare is not None:
                            spare.promote()
                        else:
                            cluster.start()
                elif not turn or load.now < seconds - _PROMISED_SECONDS / 2:
                    one = services[turn % replicas]
                    turn += 1
                    with failure("service"):
                        one.kill()
                        one.start()
                    if relays:
                        time.sleep(kill_seconds)
                        what, hinder = next(ways)
                        with failure(what), hinder():
                            time.sleep(chance.uniform(0.1, 1) * hindered_seconds)
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
