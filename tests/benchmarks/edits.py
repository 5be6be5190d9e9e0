"""Many people edit the same thing at once, over a network that loses requests and answers.

    python -m tests.benchmarks.edits [--writers 8] [--saves 1000] [--seed 1]
        [--failures 0.1] [--kinds column,term] [--pause 0] [--no-own] [--postgres]

Each writer, a client with connections of its own, saves so many times over what it saw last, and
after each save writes a column of its own. The service is a process of its own, on SQLite or on a
new cluster of PostgreSQL. Prints, for every kind of edit, what was accepted, refused and lost, and
how many saves replaced what their writer had not seen, as the versions that the server kept tell
it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack

from tests.client import test_simultaneous_edits as races
from tests.postgres import running_cluster


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--writers", type=int, default=8, help="at most 8")
    parser.add_argument("--saves", type=int, default=1000, help="accepted saves of each writer")
    parser.add_argument("--failures", type=float, default=0.1, help="share of writes that are lost")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="column", help="separated by commas, or all")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after a refusal, at most")
    parser.add_argument("--no-own", action="store_true", help="write no column of one's own")
    parser.add_argument("--postgres", action="store_true", help="keep the catalog in PostgreSQL")
    given = parser.parse_args()
    kinds = list(races.KINDS) if given.kinds == "all" else given.kinds.split(",")
    head = f"{'kind':12} {'writers':>7} {'accepted':>8} {'conflicts':>9} {'lost':>6} {'faults':>6}"
    print(f"{head} {'seconds':>8}")
    failed = False
    for kind in kinds:
        if kind not in races.KINDS:
            parser.error(f"no kind {kind}; known: {', '.join(races.KINDS)}")
        with ExitStack() as held:
            directory = held.enter_context(tempfile.TemporaryDirectory())
            store = held.enter_context(running_cluster()).new_schema() if given.postgres else None
            race = _run(kind, directory, store, given)
        failed = failed or bool(race.faults)
    return 1 if failed else 0


def _run(kind: str, directory: str, store: str | None, given: argparse.Namespace) -> races.Race:
    command = [sys.executable, "-m", "explorer.cli", "serve", "--port", "0", "--log-format", "none"]
    command += ["--data-dir", directory, *(["--store", store] if store else [])]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            address = _address(server)
            races.prepare(address, races.KINDS[kind], given.saves * 20)
            race = races.Race(address, races.KINDS[kind], given.seed, given.failures)
            race.with_own, race.pause_seconds = not given.no_own, given.pause
            began = time.perf_counter()
            race.run(given.writers, given.saves)
            seconds = time.perf_counter() - began
        finally:
            server.terminate()
    counts = f"{len(race.accepted):8,} {race.conflicts:9,} {race.lost:6,} {len(race.faults):6,}"
    print(f"{kind:12} {given.writers:7} {counts} {seconds:8.1f}", flush=True)
    for fault in race.faults[:10]:
        print(f"  {fault}")
    return race


def _address(server: subprocess.Popen[str]) -> str:
    """Where the service answers, which it prints once it does."""
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"https?://\S+", line):
            return found[0]
    raise SystemExit("the service did not start")


if __name__ == "__main__":
    sys.exit(main())
