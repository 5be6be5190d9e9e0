"""Kill the service at random moments while it is written to, many times.

    python -m tests.benchmarks.crash [--kills 60] [--seed 1]

Prints what was acknowledged, lost and half-written, and how long a restart took. Every fourth kill
comes while the search index is committed; before two of four the process that makes index entries
is killed.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from tests.server.test_crash import Crash


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as directory:
        crash = Crash(Path(directory), loads=True)
        for at in range(given.kills):
            wait = dice.uniform(0, 1.5)
            moments: tuple[Callable[[], None], ...] = (
                partial(time.sleep, wait),
                *[partial(crash.kill_maker, wait)] * 2,
                crash.at_commit,
            )
            crash.round(moments[at % 4])
        seconds = sorted(crash.restarts_seconds)
    kinds = ("lost", "half-written", "refused", "inconsistent")
    counts = {kind: sum(one.startswith(kind) for one in crash.faults) for kind in kinds}
    print(f"kills of the process that makes index entries: {crash.makers_killed}")
    print(f"kills {given.kills}, seed {given.seed}, acknowledged {crash.acknowledged:,}")
    print(", ".join(f"{kind} {count}" for kind, count in counts.items()))
    print(f"restart: median {median(seconds):.2f} s, longest {seconds[-1]:.2f} s")
    for fault in crash.faults[:20]:
        print(fault)
    return 1 if crash.faults else 0


if __name__ == "__main__":
    sys.exit(main())
