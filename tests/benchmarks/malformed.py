"""Spoil the answers to every request that the client makes, very many times.

    python -m tests.benchmarks.malformed [--rounds 40] [--seed 1]

Prints what was done to how many answers, how the calls ended, and every error that is none of the
client's own, each once with its trace.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.client.malformed import run, served


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="How often each call is made.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, served(Path(directory)) as address:
        began = time.perf_counter()
        done, ends, faults = asyncio.run(run(address, given.rounds, given.seed))
        took = time.perf_counter() - began
    total = f"{done.total():,} answers spoilt in {ends.total():,} calls"
    print(f"{total}, seed {given.seed}, {took:.0f} s")
    for counts in (done, ends):
        print()
        for name, count in counts.most_common():
            print(f"{count:8,}  {name}")
    for (name, _), trace in faults.items():
        print(f"\n{name}:\n{trace}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
