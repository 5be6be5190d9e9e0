"""Send very many hostile requests to every endpoint, or flood a served catalog.

    python tests/benchmarks/hostile.py [--requests 20000] [--seed 1]
    python tests/benchmarks/hostile.py --flood-megabytes 200 [--half-open 5000]

The first prints what failed, each once with the request, the answer and the log, and whether the
catalog is still consistent. The second sends endless heads and trailers to `catalog serve`, then
opens connections that never complete a request, and prints how much memory each took of the service
and how long another client waited meanwhile.
"""

import argparse
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

import httpx

from explorer.metadata.registry import load_registry
from explorer.sample import sample_proposals
from explorer.server.app import Service
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog
from explorer.server.store import SurveyedStore

_TESTS = Path(__file__).resolve().parents[1] / "server"
_MEGABYTE = 1024 * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flood-megabytes", type=int, default=0)
    parser.add_argument("--half-open", type=int, default=5_000)
    given = parser.parse_args()
    if given.flood_megabytes:
        return flood(given.flood_megabytes, given.half_open)
    hostile = tests_of("test_hostile_requests")
    logging.getLogger("explorer").propagate = False
    with tempfile.TemporaryDirectory() as directory:
        registry = load_registry()
        catalog = open_catalog(Path(directory), registry)
        catalog.seed(lambda: sample_proposals(date(2026, 1, 31)))
        head = catalog.store.log_bounds().head
        begin = time.perf_counter()
        failures = hostile.bombard(Service(catalog), given.requests, given.seed)
        took = time.perf_counter() - begin
        changes = catalog.store.log_bounds().head - head
        findings = check(cast(SurveyedStore, catalog.store), catalog.index, registry)
        catalog.close()
    print(f"{given.requests:,} requests, seed {given.seed}, {took:.0f} s, {changes:,} changes")
    print(f"{len(failures)} failures, {len(findings)} findings of the check")
    seen: dict[str, str] = {}
    for failure in failures:
        seen.setdefault(failure.splitlines()[-1], failure)
    for failure in seen.values():
        print(f"\n{failure}")
    for finding in findings[:20]:
        print(finding)
    return 1 if failures or findings else 0


def tests_of(name: str) -> Any:
    """A module of tests, for what it sends."""
    spec = spec_from_file_location(name, _TESTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def flood(megabytes: int, half_open: int) -> int:
    """Flood a service of its own process; 1 when it took more than 20 MB or left others waiting."""
    tests = tests_of("test_connection")
    print(f"{'what is sent':<45} {'grew by':>9} {'took':>8} {'others waited at most':>22}")
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        process = tests.OnPort(Path(directory) / "data")
        try:
            for what, (first, again) in tests.FLOODS.items():
                with process.connect() as attacker, process.client() as good:
                    good.get("/config").raise_for_status()
                    before, begin = process.resident_bytes(), time.perf_counter()
                    waits = asking(good)
                    tests.flood(attacker, first, again, megabytes * _MEGABYTE)
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
