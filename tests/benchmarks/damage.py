"""Damage copies of a catalog, its index and its database, and see what a service makes of each.

    python -m tests.benchmarks.damage [--copies 200] [--seed 1]

Prints how many copies were mended, told by `catalog check`, served only for reading, or refused
with a sentence, and every fault: values that are wrong without a word, searches that stay wrong,
writes that were answered and lost, hangs, and raw traces.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.server import test_damage as copies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="tell what was done to each copy")
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    done: Counter[str] = Counter()
    faults: list[str] = []
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        copies.build(whole)
        for at in range(given.copies):
            dice = random.Random(given.seed * 1_000_003 + at)
            directory = Path(scratch) / f"copy{at}"
            shutil.copytree(whole, directory)
            what = copies.damage(dice, directory, at)
            look = copies.Look(directory)
            look.take()
            outcomes.update(look.outcomes.keys())
            done["database" if at % 3 == 2 else "index"] += 1
            faults += [f"copy {at} ({what}): {fault}" for fault in look.faults]
            if given.verbose:
                print(at, what, dict(look.outcomes), look.faults, flush=True)
            shutil.rmtree(directory)
    print(f"copies {given.copies}, seed {given.seed}, {time.perf_counter() - begin:.0f} s: {done}")
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome:24} {count:5}")
    print(f"{'faults':24} {len(faults):5}")
    for fault in faults[:40]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
