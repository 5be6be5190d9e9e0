"""`catalog load`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.cli.write.sending import Outcome

__all__ = ["load"]

_EPILOG = """
\b
Examples
  catalog load metadata/*.json
  curl -s https://example.com/metadata.json | catalog load -
  catalog load nightly.json --report refused.jsonl

\b
A file is a JSON list, one JSON object, or one object a line, in these forms:
  a change        {"entityUrn": …, "aspectName": …, "aspect": {"value": "…"}}
  the same        {"entityUrn": …, "aspectName": …, "aspect": {"json": {…}}}
  a snapshot      {"proposedSnapshot": {"….DatasetSnapshot": {…}}}
  counts of use   {"buckets": [{"bucket": …, "resource": …, "metrics": {…}}]}

\b
Exit codes
  0  everything went in
  1  some of it was refused; the rest went in
  2  wrong use of the command
  3  the server cannot be reached, or stopped answering; what went in before
     that stays in
"""


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every refusal to this file, one JSON object a line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all counts.")
@asks_a_catalog
def load(target: Target, files: tuple[str, ...], report: Path | None, *, as_json: bool) -> None:
    """Load metadata FILEs; - is standard input.

    What is refused is told with its place, URN and reason, and loses nothing else.
    """
    from explorer.cli.write import loading
    from explorer.errors import CatalogError

    outcomes: list[Outcome] = []
    stopped: CatalogError | None = None
    with loading.report_to(report) as log, target.open() as catalog:
        try:
            loading.load_files(catalog, files, log, outcomes)
        except CatalogError as error:
            stopped = error
    if as_json:
        loading.print_as_json(outcomes, str(stopped) if stopped else None)
    else:
        loading.print_counts(outcomes)
    loading.tell_refusals(outcomes)
    if stopped is not None:
        raise stopped
    if any(outcome.refusals for outcome in outcomes):
        click.get_current_context().exit(1)
