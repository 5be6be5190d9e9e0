"""`catalog docs`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.care.choosing import Choice, chooses_datasets, watched
from explorer.cli.forms import Form, printed_as
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.stewardship import Format

__all__ = ["docs"]

_FORMATS = ("csv", "json", "md", "xlsx")

_EPILOG = """
\b
Examples
  catalog docs export --search orders --output orders.xlsx
  catalog docs diff orders.xlsx
  catalog docs import orders.xlsx --dry-run
  catalog docs import orders.xlsx

\b
The file
  One row a column, and one a table, its column empty. Only what stands under
  “edited” is read back; every text in it is kept to the byte. Leave urn,
  column and exported as they are: by exported it is noticed what somebody
  else wrote meanwhile. Columns of your own are passed over.
"""
_EXPORT = """
\b
Examples
  catalog docs export URN --output orders.md
  catalog docs export --filter platform:snowflake --output all.xlsx
  catalog docs export --folder /prod/snowflake --format csv > all.csv
  catalog worklist --top 20 --urns | catalog docs export - -o todo.xlsx
"""
_DIFF = """
\b
Examples
  catalog docs diff orders.xlsx
  catalog docs diff orders.csv --json | jq .counts

\b
What comes of a line
  new, changed       it would be written
  cleared            the text would be taken back: the file says !clear
  emptied            an empty text where one stands: no change, unless with
                     --clear-empty
  conflict           somebody wrote there since the file was made
  unknown table, unknown column, orphan (the column is gone), duplicate,
  unreadable         the line fits nowhere, and is never written

\b
--json prints an object:
  file, counts  how many lines there are of each kind
  changes       place, kind, urn, table, column, base, theirs, mine, why; all
                but the unchanged
"""
_IMPORT = """
\b
Examples
  catalog docs import orders.xlsx --dry-run
  catalog docs import orders.xlsx --report left.csv
  catalog docs import orders.csv --force-conflicts

Each text is written by itself. One that is refused stops no other; after a failure import the same
file again, what went through is not repeated. catalog undo takes an edit back.

\b
Exit codes
  0  everything that the file changes is written
  1  something is left: a conflict, a line that fits nowhere, a refusal
  3  the server went away; what was written till then is said

\b
--json prints an object:
  file, dry_run, counts  how many lines there are of each kind
  changes   as catalog docs diff has them
  applied   urn, column, before, after, at
  failed    place, urn, column, error
  untried   how many were not come to; stopped says why
"""

_form = click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="The file's format, where its name does not tell it.",
)
_file = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
_clear_empty = click.option(
    "--clear-empty", is_flag=True, help="An empty text takes back the one that stands there."
)


@click.group(epilog=_EPILOG)
def docs() -> None:
    """Take descriptions out as files, and bring them in again.

    CSV, XLSX, JSON or Markdown, by the ending of the file's name.
    """


@docs.command(epilog=_EXPORT)
@chooses_datasets
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file; its ending tells the format.",
)
@_form
@click.option("--overwrite", is_flag=True, help="Replace the file where there is one.")
@asks_a_catalog
def export(
    target: Target,
    choice: Choice,
    output: Path | None,
    form: "Format | None",
    *,
    overwrite: bool,
) -> None:
    """Write the descriptions of datasets and their columns to a file.

    Of the datasets named, or of those that a search finds or a folder holds; of all without.
    URN may be - for those on standard input, one a line. Without --output it goes to standard
    output.
    """
    from explorer.cli.care import docs_files
    from explorer.stewardship import Stewardship

    chosen = docs_files.format_for(output, form)
    docs_files.check_target(output, chosen, overwrite=overwrite)
    with target.open() as catalog:
        urns = choice.read(catalog)
        with watched("reading") as progress:
            rows = Stewardship(catalog).documentation(urns, progress=progress)
    docs_files.write(rows, output, chosen, asked=len(urns))


@docs.command(epilog=_DIFF)
@_file
@_form
@_clear_empty
@printed_as("json", "csv")
@asks_a_catalog
def diff(
    target: Target, file: Path, form: "Format | None", shown_as: Form | None, *, clear_empty: bool
) -> None:
    """Show what importing FILE would change, and what not.

    FILE may be - for standard input; --format then says what it is.
    """
    from explorer.cli.care import docs_files, docs_page
    from explorer.stewardship import Stewardship

    entries = docs_files.read(file, form)
    with target.open() as catalog, watched("comparing") as progress:
        found = Stewardship(catalog).changeset(entries, clear_empty=clear_empty, progress=progress)
    match shown_as:
        case "json":
            docs_page.print_changes_as_json(str(file), found)
        case "csv":
            docs_page.print_changes_as_csv(found)
        case _:
            docs_page.print_changes(found)
    docs_page.say_counts(found)


@docs.command("import", epilog=_IMPORT)
@_file
@_form
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.option(
    "--force-conflicts", is_flag=True, help="Write over what somebody wrote since the export."
)
@_clear_empty
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every line that was not applied to this CSV file, with the reason.",
)
@printed_as("json")
@asks_a_catalog
def import_(
    target: Target,
    file: Path,
    form: "Format | None",
    report: Path | None,
    shown_as: Form | None,
    *,
    dry_run: bool,
    force_conflicts: bool,
    clear_empty: bool,
) -> None:
    """Write what was changed in FILE into the catalog.

    Only texts that were changed in the file are written, and an empty one changes nothing. FILE
    may be - for standard input; --format then says what it is.
    """
    from explorer.cli.care import docs_files, docs_page
    from explorer.cli.write import edits
    from explorer.stewardship import Applied, Stewardship

    if not dry_run:
        edits.refuse_read_only(target)
    entries = docs_files.read(file, form)
    if report is not None:
        docs_files.check_report(report, file)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with watched("comparing") as progress:
            found = steward.changeset(entries, clear_empty=clear_empty, progress=progress)
        wanted = found.to_apply(force_conflicts=force_conflicts)
        applied = Applied()
        if wanted and not dry_run:
            edits.keep_journal(catalog)
            with watched("writing") as progress:
                applied = steward.apply(wanted, progress=progress)
    outcome = docs_page.Outcome(str(file), found, applied, wanted, dry_run=dry_run)
    if report is not None:
        docs_files.write_report_to(report, outcome.left)
    if shown_as == "json":
        docs_page.print_outcome_as_json(outcome)
    elif dry_run:
        docs_page.print_changes(found)
    else:
        docs_page.print_outcome(outcome)
    docs_page.tell(outcome, report=report)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails:
        click.get_current_context().exit(1)
