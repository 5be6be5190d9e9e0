"""Type descriptions blindly over networks that are slow and lose requests, table after table.

    python -m tests.benchmarks.editor [--rounds 40] [--columns 6] [--seed 1]
        [--longest-ms 1000] [--longest-pause-ms 60]

Every round takes a delay up to the longest, with jitter or without, a share of writes that fail,
and a typing speed. Prints what was typed, acknowledged, not saved and kept as drafts; ends with
status 1 where a column holds a text that was not typed for it, or a failed save was not told.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from explorer import instance
from tests.tui import test_saves as saves


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest-ms", type=float, default=1000)
    parser.add_argument("--longest-pause-ms", type=float, default=60)
    given = parser.parse_args()
    seeds = random.Random(given.seed)
    counts: Counter[str] = Counter()
    faults = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        desk = Path(directory) / "catalog"
        running = instance.ensure(desk)
        try:
            for at in range(given.rounds):
                os.environ["CATALOG_STATE_DIR"] = str(Path(directory) / f"state-{at}")
                seed = seeds.randrange(1 << 30)
                found = asyncio.run(
                    saves.write_a_table(
                        desk,
                        f"round_{at}",
                        seed,
                        longest_seconds=given.longest_ms / 1000,
                        longest_pause=given.longest_pause_ms / 1000,
                        count=given.columns,
                    )
                )
                counts.update(found.counts)
                faults += [f"seed {seed}: {fault}" for fault in found.faults]
        finally:
            os.kill(running.pid, 15)
    seconds = time.monotonic() - started
    print(f"rounds {given.rounds}, delays up to {given.longest_ms:,.0f} ms, {seconds:,.0f} s")
    for name, count in counts.items():
        print(f"{name:<14}{count:>7,}")
    print(f"{'faults':<14}{len(faults):>7,}")
    for fault in faults[:20]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
