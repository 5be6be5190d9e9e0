"""The embedded catalog as a process: `python -m explorer.cli.service --data-dir DIR`.

Front ends start it through `explorer.instance`; it is the edge where the service meets the sample.
"""

import argparse
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import CatalogError
from explorer.instance import HELD_STATUS, DirectoryInUse
from explorer.server import KEEP_CHANGES_DAYS, serve_embedded

if TYPE_CHECKING:
    from explorer.metadata.proposal import Proposal

__all__ = ["main"]

_FAILED_STATUS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until nobody asks any more; the exit status, with one sentence on failure."""
    parser = argparse.ArgumentParser(prog="python -m explorer.cli.service", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="where the catalog is kept")
    parser.add_argument("--no-sample", action="store_true", help="leave a new catalog empty")
    parser.add_argument(
        "--idle-seconds", type=float, default=300.0, help="leave after so long without a request"
    )
    parser.add_argument(
        "--keep-changes",
        default=os.environ.get("CATALOG_KEEP_CHANGES", str(KEEP_CHANGES_DAYS)),
        metavar="DAYS|all",
        help="how long the change log keeps what was changed [env: CATALOG_KEEP_CHANGES]",
    )
    given = parser.parse_args(arguments)
    if given.keep_changes != "all" and not given.keep_changes.isdecimal():
        parser.error(f"--keep-changes is a number of days or all, not “{given.keep_changes}”")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    try:
        serve_embedded(
            data_dir=given.data_dir,
            seed=None if given.no_sample else _sample,
            idle_seconds=given.idle_seconds,
            keep_changes_days=None if given.keep_changes == "all" else int(given.keep_changes),
            actor=partial(_user, given.data_dir),
        )
    except DirectoryInUse as error:
        print(error, file=sys.stderr)
        return HELD_STATUS
    except CatalogError as error:
        print(error, file=sys.stderr)
        return _FAILED_STATUS
    return 0


def _user(data_dir: Path) -> str | None:
    """Return the URN of who works on this catalog: whom `catalog profile` named, CATALOG_USER, or
    the login name; None where there is none of them."""
    import getpass

    from explorer.config import user_of, user_urn

    with suppress(OSError, KeyError, CatalogError):
        named = user_of(data_dir)
        return named or user_urn(os.environ.get("CATALOG_USER", "").strip() or getpass.getuser())
    return None


def _sample() -> "Iterable[Proposal]":
    import time
    from datetime import UTC, datetime

    from explorer.sample import SAMPLE_RUN_ID, sample_proposals

    observed_millis = time.time_ns() // 1_000_000
    for proposal in sample_proposals(datetime.now(UTC).date()):
        yield proposal.from_run(SAMPLE_RUN_ID, observed_millis)


if __name__ == "__main__":
    sys.exit(main())
