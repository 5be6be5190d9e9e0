"""The embedded catalog service as a process: `python -m explorer.cli.service --data-dir DIR`.

Front ends start it through `explorer.instance`. It fills a new catalog with the sample, which
`explorer.server` itself does not import.
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
from explorer.files import is_full
from explorer.instance import FULL_STATUS, HELD_STATUS, DirectoryInUse
from explorer.server import serve_embedded
from explorer.server.retention import LEAST_DOCUMENT_DAYS, Retention

if TYPE_CHECKING:
    from explorer.metadata.proposal import Proposal

_FAILED_STATUS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until idle, and return the exit status. Failures are printed to standard error."""
    parser = argparse.ArgumentParser(prog="python -m explorer.cli.service", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="directory of the catalog")
    parser.add_argument("--no-sample", action="store_true", help="leave a new catalog empty")
    parser.add_argument(
        "--idle-seconds", type=float, default=300.0, help="stop after this long without a request"
    )
    for option, variable, default, metavar in (
        ("--keep-changes", "CATALOG_KEEP_CHANGES", str(Retention().changes_days), "DAYS|all"),
        ("--keep-versions", "CATALOG_KEEP_VERSIONS", "all", "N|all"),
        ("--keep-timeseries-days", "CATALOG_KEEP_TIMESERIES_DAYS", "all", "DAYS|all"),
    ):
        parser.add_argument(
            option,
            default=os.environ.get(variable, default),
            metavar=metavar,
            help=f"as for `catalog serve` [env: {variable}]",
        )
    namespace = parser.parse_args(arguments)
    from explorer.config import finds_by_meaning

    retention = Retention(
        _number(parser, "--keep-changes", namespace.keep_changes, 0),
        _number(parser, "--keep-versions", namespace.keep_versions, 1),
        _number(
            parser, "--keep-timeseries-days", namespace.keep_timeseries_days, LEAST_DOCUMENT_DAYS
        ),
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    try:
        serve_embedded(
            data_dir=namespace.data_dir,
            seed=None if namespace.no_sample else _sample,
            idle_seconds=namespace.idle_seconds,
            retention=retention,
            actor=partial(_user, namespace.data_dir),
            finds_by_meaning=finds_by_meaning(namespace.data_dir),
        )
    except DirectoryInUse as error:
        print(error, file=sys.stderr)
        return HELD_STATUS
    except CatalogError as error:
        if is_full(error):
            # The log is on the same full disk. Flushing it at the exit would fail again, and
            # change the exit status.
            sys.stderr = None
            return FULL_STATUS
        print(error, file=sys.stderr)
        return _FAILED_STATUS
    return 0


def _number(parser: argparse.ArgumentParser, option: str, given: str, least: int) -> int | None:
    if given == "all":
        return None
    if not (given.isascii() and given.isdecimal() and int(given) >= least):
        parser.error(f"{option} must be all or a number of at least {least}, not “{given}”")
    return int(given)


def _user(data_dir: Path) -> str | None:
    """Return the URN of the user of this catalog: the one set with `catalog profile`, else
    CATALOG_USER, else the login name; None if there is none of these."""
    import getpass

    from explorer.config import user_of, user_urn

    with suppress(OSError, KeyError, CatalogError):
        user = user_of(data_dir)
        return user or user_urn(os.environ.get("CATALOG_USER", "").strip() or getpass.getuser())
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
