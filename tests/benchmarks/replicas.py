"""Services on one PostgreSQL database, behind haproxy, while services and databases are killed.

    python -m tests.benchmarks.replicas [--minutes 5] [--replicas 3]
        [--standby | --hindered]

Every 20 seconds one service is killed and started again; half-way the database is killed and
started again, or with `--standby` the primary of a synchronous pair is killed and its standby
promoted. With `--hindered` a service is killed every 10 seconds, and after each the database does
not answer for up to 12: by turns it is locked, frozen, or silent to all, and between those to one.

Prints what was acknowledged and lost, what a writer did not find of its own, what no order of the
operations explains (`tests/server/history.py`), errors by kind and how long after a failure they
came, and whether every index is what a new one would be. The status is 1 where one of the promises
was not kept. Needs Debian's packages postgresql and haproxy.
"""

import argparse
import sys

from tests.server.replica_load import run


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--replicas", type=int, default=3)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--standby", action="store_true")
    ways.add_argument("--hindered", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    outcome = run(
        given.minutes * 60,
        replicas=given.replicas,
        standby=given.standby,
        kill_seconds=10 if given.hindered else 20,
        hindered_seconds=12 if given.hindered else 0,
        seed=given.seed,
    )
    print(outcome)
    for sentence in outcome.broken:
        print(f"not kept: {sentence}")
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
