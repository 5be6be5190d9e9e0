"""Send very many hostile requests to every endpoint.

    python tests/benchmarks/hostile.py [--requests 20000] [--seed 1]

Prints what failed, each once with the request, the answer and the log, and whether the catalog is
still consistent.
"""

import argparse
import logging
import sys
import tempfile
import time
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from explorer.metadata.registry import load_registry
from explorer.sample import sample_proposals
from explorer.server.consistency import check
from explorer.server.opening import open_catalog
from explorer.server.service import Service

_TEST = Path(__file__).resolve().parents[1] / "server" / "test_hostile_requests.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    spec = spec_from_file_location("hostile_requests", _TEST)
    assert spec is not None
    assert spec.loader is not None
    hostile = module_from_spec(spec)
    sys.modules[spec.name] = hostile
    spec.loader.exec_module(hostile)
    logging.getLogger("explorer").propagate = False
    with tempfile.TemporaryDirectory() as directory:
        registry = load_registry()
        catalog = open_catalog(Path(directory), registry)
        catalog.seed(lambda: sample_proposals(date(2026, 1, 31)))
        head = catalog.store.log_head()
        begin = time.perf_counter()
        failures = hostile.bombard(Service(catalog), given.requests, given.seed)
        took = time.perf_counter() - begin
        changes = catalog.store.log_head() - head
        findings = check(catalog.store, catalog.index, registry)
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


if __name__ == "__main__":
    sys.exit(main())
