"""Send very many hostile requests to every endpoint, or flood a served catalog.

    python -m tests.benchmarks.hostile [--requests 20000] [--seed 1] [--served]
    python -m tests.benchmarks.hostile --flood-megabytes 200 [--half-open 5000]

The first prints what failed, each once with the request, the answer and the log, which endpoints
never answered well, and whether the catalog is still consistent. With `--served` the requests go
over sockets to `catalog serve`; it also prints how much memory that took, and fails if the service
ended, is not healthy afterwards, or told of an error of its own.

The second sends endless heads and trailers to `catalog serve`, then opens connections that never
complete a request, and prints how much memory each took of the service and how long another client
waited meanwhile.
"""

import argparse
import itertools
import logging
import resource
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import date
from http.client import HTTPResponse
from pathlib import Path
from typing import cast

import httpx

from explorer.metadata.registry import load_registry
from explorer.sample import sample_proposals
from explorer.server.app import Service
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog
from explorer.server.store import SurveyedStore
from tests.server import test_connection
from tests.server import test_hostile_requests as hostile
from tests.server.test_connection import FLOODS, OnPort
from tests.server.test_serving import Served

_MEGABYTE = 1024 * 1024
# Of so many requests each endpoint answers some well, or what is sent to it proves nothing.
_ENOUGH = 20_000
_SAMPLES = 10
# In the second half, after everything is loaded and every cache is full.
_GROWTH_MEGABYTES = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--flood-megabytes", type=int, default=0)
    parser.add_argument("--half-open", type=int, default=5_000)
    given = parser.parse_args()
    if given.flood_megabytes:
        return flood(given.flood_megabytes, given.half_open)
    logging.getLogger("explorer").propagate = False
    with tempfile.TemporaryDirectory() as directory:
        registry, data = load_registry(), Path(directory) / "data"
        data.mkdir()
        catalog = open_catalog(data, registry)
        catalog.seed(lambda: sample_proposals(date(2026, 1, 31)))
        head = catalog.store.log_bounds().head
        service = Service(catalog)
        begin = time.perf_counter()
        if given.served:
            service.graphql.ready()
            catalog.close()
            outcome = bombard_process(service, data, given.requests, given.seed)
            catalog = open_catalog(data, registry)
        else:
            outcome = hostile.bombard(service, given.requests, given.seed)
        took = time.perf_counter() - begin
        changes = catalog.store.log_bounds().head - head
        findings = check(cast(SurveyedStore, catalog.store), catalog.index, registry)
        catalog.close()
    failures = outcome.failures
    if given.requests >= _ENOUGH:
        failures += [f"never answered well: {title}" for title in sorted(outcome.never_well)]
    print(f"{given.requests:,} requests, seed {given.seed}, {took:.0f} s, {changes:,} changes")
    print(f"answers by status (0: none): {dict(sorted(outcome.statuses.items()))}")
    print(f"{len(failures)} failures, {len(findings)} findings of the check")
    seen: dict[str, str] = {}
    for failure in failures:
        seen.setdefault(failure.splitlines()[-1], failure)
    for failure in seen.values():
        print(f"\n{failure}")
    for finding in findings[:20]:
        print(finding)
    return 1 if failures or findings else 0


def bombard_process(service: Service, data: Path, count: int, seed: int) -> hostile.Bombardment:
    """Bombard a service of its own process, which has the endpoints of `service`; what it said of
    errors, and that it ended or is not healthy, is added to the failures."""
    served = Served(data, ("--log-format", "none"))
    try:
        with httpx.Client(base_url=served.address, timeout=120) as good:
            good.get("/config").raise_for_status()
            put, turns, megabytes = sender(served.address), itertools.count(), list[float]()

            def send(request: hostile.Request) -> hostile.Reply | None:
                if next(turns) % (count // _SAMPLES or 1) == 0:
                    megabytes.append(resident_bytes(served.process.pid) / _MEGABYTE)
                return put(request)

            outcome = hostile.bombard(service, count, seed, send)
            megabytes.append(resident_bytes(served.process.pid) / _MEGABYTE)
            healthy = good.get("/health/ready").status_code
        print(f"memory in MB meanwhile: {', '.join(f'{one:.0f}' for one in megabytes)}")
        if megabytes[-1] > megabytes[len(megabytes) // 2] + _GROWTH_MEGABYTES:
            outcome.failures.append("the service took more and more memory")
        if healthy != 200:
            outcome.failures.append(f"/health/ready answers {healthy} afterwards")
        if served.process.poll() is not None or served.stop() != 0:
            outcome.failures.append(f"the service ended with {served.process.returncode}")
        if "Traceback" in (said := served.log.read_text()):
            outcome.failures.append(f"the service said:\n{said[-3000:]}")
    finally:
        served.process.kill()
        served.process.communicate()
    return outcome


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    return int(pages) * resource.getpagesize()


def sender(address: str) -> Callable[[hostile.Request], hostile.Reply | None]:
    """A function that sends a request over a connection of its own; it returns `None` if the
    service hung up, which it may do on what is not a whole request, or on a body that does not
    belong to its method, and that is still on its way when the answer is complete."""
    host, port = address.removeprefix("http://").split(":")

    def send(request: hostile.Request) -> hostile.Reply | None:
        names = {name for name, _ in request.headers}
        is_cut = bool(names & {b"content-length", b"transfer-encoding"})
        headers = [
            (b"host", f"{host}:{port}".encode()),
            (b"connection", b"close"),
            *request.headers,
        ]
        if not is_cut:
            headers.append((b"content-length", b"%d" % len(request.body)))
        target = request.path + (b"?" + request.query if request.query else b"")
        lines = [b"%s %s HTTP/1.1" % (request.method.encode(), target)]
        lines += [b"%s: %s" % header for header in headers]
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            # Who refuses a request may not read all of it.
            with suppress(ConnectionError):
                connection.sendall(b"\r\n".join([*lines, b"", request.body]))
            if is_cut:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
            answer = HTTPResponse(connection, method=request.method)
            try:
                answer.begin()
                got = {name.lower().encode(): text.encode() for name, text in answer.getheaders()}
                is_endless = got.get(b"content-type", b"").startswith(b"text/event-stream")
                return hostile.Reply(answer.status, got, b"" if is_endless else answer.read())
            except ConnectionError:
                is_odd = request.method not in ("POST", "PUT", "PATCH") and request.body
                return None if is_cut or is_odd else hostile.Reply()

    return send


def flood(megabytes: int, half_open: int) -> int:
    """Flood a service of its own process; 1 when it took more than 20 MB or left others waiting."""
    print(f"{'what is sent':<45} {'grew by':>9} {'took':>8} {'others waited at most':>22}")
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        process = OnPort(Path(directory) / "data")
        try:
            for what, (first, again) in FLOODS.items():
                with process.connect() as attacker, process.client() as good:
                    good.get("/config").raise_for_status()
                    before, begin = process.resident_bytes(), time.perf_counter()
                    waits = asking(good)
                    test_connection.flood(attacker, first, again, megabytes * _MEGABYTE)
                    failed |= told(what, process.resident_bytes() - before, begin, waits())
            with process.client() as good, ExitStack() as stack:
                good.get("/config").raise_for_status()
                before, begin = process.resident_bytes(), time.perf_counter()
                waits = asking(good)
                for _ in range(half_open):
                    connection = stack.enter_context(process.connect())
                    with suppress(OSError):
                        connection.sendall(b"GET /config HTTP/1.1\r\nA: ")
                with process.client() as newcomer:
                    newcomer.get("/config").raise_for_status()
                grown = process.resident_bytes() - before
                failed |= told(f"{half_open:,} half-open connections", grown, begin, waits())
        finally:
            process.stop()
    return int(failed)


def asking(client: httpx.Client) -> Callable[[], list[float]]:
    """Ask again and again from now on; the function ends it and gives how long each answer took."""
    waits: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            begin = time.perf_counter()
            client.get("/config").raise_for_status()
            waits.append(time.perf_counter() - begin)

    thread = threading.Thread(target=ask)
    thread.start()

    def end() -> list[float]:
        is_over.set()
        thread.join()
        return waits

    return end


def told(what: str, grown: int, begin: float, waits: list[float]) -> bool:
    """Print a line; whether it is one of a failure."""
    took = time.perf_counter() - begin
    longest = max(waits) * 1_000
    print(f"{what:<45} {grown / _MEGABYTE:>6.1f} MB {took:>6.1f} s {longest:>19.0f} ms")
    per_connection = 40 * 1024 * 2_048 if "connections" in what else 0
    return grown > 20 * _MEGABYTE + per_connection or longest > 2_000


if __name__ == "__main__":
    sys.exit(main())
