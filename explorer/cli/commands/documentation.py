"""`catalog describe`, `link`, `coverage`, `worklist` and `docs`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli import options
from explorer.cli.commands.dbt import dbt_export, dbt_import
from explorer.cli.commands.review import (
    concept,
    draft,
    propagated,
    proposals,
    propose,
    review,
    share,
    withdraw,
)
from explorer.cli.options import (
    WORDS,
    DatasetChoice,
    OutputFormat,
    Target,
    catalog_options,
    dataset_options,
    format_options,
    own_urn,
    progress_bar,
    require_any,
)
from explorer.cli.shell_completion import complete_urns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.edits import Change
    from explorer.client import Catalog
    from explorer.client.records import Edit
    from explorer.stewardship import Format
    from explorer.stewardship.coverage import Every, Grouping, Part

__all__ = ["coverage", "describe", "docs", "link", "worklist"]

_LINK_EPILOG = """
\b
Examples
  catalog link URN                            (shows the links)
  catalog link URN add https://wiki.example.com/orders --label "All of it"
  catalog link URN remove https://wiki.example.com/orders
  catalog search orders --urns | catalog link - add https://x.org --label Wiki

With remove, --label takes away only the link of that label; without it all to the address go.

\b
With add or remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
A link reads "URL LABEL" there.
"""


@click.command(epilog=_LINK_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.argument("action", type=click.Choice(["add", "remove"]), required=False)
@click.argument("url_linked", metavar="[URL]", type=WORDS, required=False)
@click.option("--label", type=WORDS, help="What the link is called.")
@options.dry_run
@options.propose
@format_options("json", "csv")
@catalog_options
def link(
    target: Target,
    urn: str,
    action: str | None,
    url_linked: str | None,
    label: str | None,
    *,
    dry_run: bool,
    shown_as: OutputFormat | None,
    propose: Path | None,
) -> None:
    """Show, add and remove links to documents about an entity.

    URN may be - for several on standard input, one a line. One that fails loses no other. Links
    that are not named stay.
    """
    options.check_forms(shown_as, dry_run=dry_run, writes=action is not None, propose=propose)
    if action and url_linked is None:
        raise click.UsageError(f"{action} needs the URL of the link")
    if url_linked is not None and (not url_linked or any(map(str.isspace, url_linked))):
        raise click.UsageError(f"“{url_linked}” is no address; write spaces in it as %20")
    if action == "add" and label is None:
        raise click.UsageError("say with --label what the link is called")
    if action is None and label is not None:
        raise click.UsageError("--label goes with add and remove")
    if action is None or url_linked is None:
        _show(target, urn, shown_as)
        return
    from explorer.cli import edits

    change = _change(action, url_linked, label, dry_run=dry_run or propose is not None)
    as_json = shown_as == "json"
    edits.change_each(target, (urn,), change, dry_run=dry_run, as_json=as_json, propose=propose)


def _change(action: str, url: str, label: str | None, *, dry_run: bool) -> "Change":
    from explorer.client.records import Edit
    from explorer.errors import NotFound
    from explorer.metadata.urn import Urn

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        if not dry_run:
            if action == "add":
                yield catalog.add_link(urn, url, label or "")
            else:
                yield catalog.remove_link(urn, url, label)
            return
        before = tuple(f"{one.url} {one.description}" for one in catalog.links(urn))
        if action == "add":
            added = f"{url} {label}"
            after = tuple(dict.fromkeys((*before, added)))
            yield Edit.now(Urn.parse(urn), "links", before, after)
            return
        gone = f"{url} {label or ''}"
        after = tuple(
            one for one in before if one != gone and (label is not None or one.split(" ")[0] != url)
        )
        if after == before:
            raise NotFound(f"{urn} has no link to {url}{f' called “{label}”' if label else ''}")
        yield Edit.now(Urn.parse(urn), "links", before, after)

    return change


def _show(target: Target, urn: str, shown_as: OutputFormat | None) -> None:
    from explorer.cli import output
    from explorer.cli.edits import finish, given_urns, go_through
    from explorer.cli.output import note

    urns = given_urns((urn,))
    rows: list[tuple[str, str, str, str | None, int | None]] = []
    with target.open() as catalog:

        def read(one: str) -> None:
            for found in catalog.links(one):
                stamp = found.create_stamp
                row = (one, found.description, found.url, stamp.actor or None, stamp.time or None)
                rows.append(row)

        done = go_through(urns, read)
    columns = [
        output.TableColumn("urn", audience="everyone" if len(urns) > 1 else "programs", folds=True),
        output.TableColumn("label", max_width=36, folds=True, style="bold"),
        output.TableColumn("url", folds=True),
        output.TableColumn("by", audience="programs"),
        output.TableColumn("at_millis", audience="programs"),
    ]
    table = output.StyledTable(columns, rows)
    match shown_as:
        case "csv":
            output.print_csv(table)
        case "json":
            output.print_rows_as_json(table)
        case _ if rows:
            output.print_table(table)
        case _ if not done.failed and done.stopped is None:
            note("no links")
    finish(done)


_MOST_TREND_DAYS = 3_660

_COVERAGE_EPILOG = """
\b
Examples
  catalog coverage
  catalog coverage --by owner
  catalog coverage --folder /prod/snowflake --by folder
  catalog coverage --filter platform:snowflake --fail-under 80
  catalog coverage --filter tags:PII --only columns --fail-under 100
  catalog coverage --by domain --csv > coverage.csv
  catalog coverage --trend --days 365 --every week
  catalog coverage --trend --by platform

\b
What counts
  Documented is what ingestion or people say something about; white space
  says nothing. What has several owners, tags or folders counts under each of
  them. Percentages are cut, not rounded: 100 means all.

\b
For a build
  With --fail-under the exit code is 1 when tables or columns are less
  documented than that, or when there is nothing to count. --only looks at
  one of the two.

\b
--json prints an object:
  tables, columns  total, documented, edited, ingested, percent
  by, groups       key, name, tables, columns; null and empty without --by
  gate             fail_under, only, reached; null without --fail-under

\b
The trend
  Of the datasets that there are now, as they were at the end of each day
  (UTC), worked out from the versions of their aspects; the last day is now.
  What was deleted for good is on no day. By group the 50 with the most left to
  write are told. Only the catalog's own server can tell it, not DataHub's.
  With --json it is since, by, every, datasets, group_total and days: key, name,
  day, tables_total, tables_documented, tables_percent and columns_ likewise,
  an object for each group and day, oldest first.
"""


@click.command(epilog=_COVERAGE_EPILOG)
@dataset_options
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("platform", "owner", "domain", "folder", "tag")),
    help="In groups, those with the most left to write first.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 when less than this is documented.",
)
@click.option(
    "--only", type=click.Choice(("columns", "tables")), help="What --fail-under is about."
)
@click.option("--trend", is_flag=True, help="How it was on the last days.")
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_TREND_DAYS),
    help="With --trend: the last so many days.  [default: 90]",
)
@click.option("--every", type=click.Choice(("day", "week")), help="With --trend.  [default: day]")
@format_options("json", "csv")
@catalog_options
def coverage(
    target: Target,
    choice: DatasetChoice,
    grouping: "Grouping | None",
    fail_under: float | None,
    only: "Part | None",
    days: int | None,
    every: "Every | None",
    shown_as: OutputFormat | None,
    *,
    trend: bool,
) -> None:
    """Show how much is documented: tables and columns apart.

    Of the datasets named, or of those that a search finds or a folder holds; of all without.
    URN may be - for those on standard input, one a line.
    """
    if only and fail_under is None:
        raise click.UsageError("--only goes with --fail-under")
    if trend and fail_under is not None:
        raise click.UsageError("--trend and --fail-under exclude each other; give one of them")
    if (days or every) and not trend:
        raise click.UsageError("--days and --every go with --trend")
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        meant = choice.selection(catalog)
        if trend:
            with progress_bar("reading") as progress:
                course = Stewardship(catalog).coverage_trend(
                    **meant, by=grouping, days=days or 90, every=every or "day", progress=progress
                )
            if not choice.urns:
                require_any(course.datasets)
            documentation.print_trend(course, shown_as)
            return
        with progress_bar("reading") as progress:
            found = Stewardship(catalog).coverage(**meant, by=grouping, progress=progress)
    if not choice.urns:
        require_any(found.tables.total)
    gate = documentation.CoverageGate(found, fail_under, only) if fail_under is not None else None
    documentation.print_coverage(found, gate, shown_as)
    if gate is not None and not gate.tell():
        click.get_current_context().exit(1)


_MOST_ENTITIES = 10_000
_MOST_DAYS = 365

_WORKLIST_EPILOG = """
\b
Examples
  catalog worklist
  catalog worklist --mine --top 10
  catalog worklist --owner 'Nina Weber'
  catalog worklist --filter 'platform:snowflake tags:PII'
  catalog worklist --top 20 --urns | catalog docs export - --output todo.xlsx
  catalog worklist --json | jq -r '.items[] | [.table, .column] | @tsv'

\b
The order
  The heaviest first, and the weight is (used + 1) x (downstream + 1); equal
  ones by used, by downstream, then by URN and as the schema has them.
  used        how often the column was used in the last days; where columns
              are not counted apart, the queries of its table
  downstream  how many entities are made from its table, however far away;
              10,000 at most

\b
--json prints an object:
  days, total  over how many days, and how many are undocumented in all
  items        urn, table, platform, column, type, weight, used, used_of,
               downstream, at_least

An item without a column is the table itself.
"""


@click.command(epilog=_WORKLIST_EPILOG)
@dataset_options
@click.option(
    "--owner",
    "owners",
    type=WORDS,
    metavar="OWNER",
    multiple=True,
    help="Only what this person or group owns: a name, an id or a URN; several may be given.",
)
@click.option(
    "--mine",
    "is_mine",
    is_flag=True,
    help="Only what you own: the user of this machine, or of the token on a server.",
)
@click.option(
    "--top", type=click.IntRange(1), default=50, show_default=True, help="Only so many, the first."
)
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    default=30,
    show_default=True,
    help="Count the use of the last so many days.",
)
@format_options("json", "csv", "urns", urns="Print the URNs of their datasets, each once.")
@catalog_options
def worklist(
    target: Target,
    choice: DatasetChoice,
    owners: tuple[str, ...],
    is_mine: bool,
    top: int,
    days: int,
    shown_as: OutputFormat | None,
) -> None:
    """Show what is worth documenting next, the most used first.

    Undocumented tables and columns of the datasets named, or of those that a search finds or a
    folder holds; of all without. URN may be - for those on standard input, one a line.
    """
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        mine = (own_urn(catalog),) if is_mine else ()
        meant = choice.selection(catalog, (*owners, *mine))
        with progress_bar("measuring use and reach") as progress:
            found = Stewardship(catalog).worklist(**meant, top=top, days=days, progress=progress)
    if not choice.urns:
        require_any(found.datasets)
    documentation.print_worklist(found, shown_as)
    documentation.say_how_many_undocumented(found)


_CHANGES_EPILOG = """
\b
Examples
  catalog changes
  catalog changes --read                  (the next time begins after these)
  catalog changes --care                  (only what written texts may not fit any more)
  catalog changes --match "orders ann"
  catalog changes --json | jq '.changes[] | select(.kind == "orphaned text")'

\b
The kinds
  orphaned text    a column was dropped that people described; likely_column is
                   the one that it was likely renamed to
  type             the type of a column changed
  ingested text    what ingestion says of a column or an entity changed
  column dropped, column added, new, deleted, restored
  description, tags, terms, owners, domain, deprecation, links
                   what somebody else wrote

One's own edits are left out. Up to where one has read is kept on this machine, for each catalog;
the terminal and the notebook go by the same place.

\b
--json prints an object:
  since, user      when the last visit ended, and whose edits are left out
  unread           how many older changes were not looked at
  more_entities    how many changed entities are not listed
  trimmed          true where the change log does not reach back to the last visit
  replaced         true where it is another log than at the last visit
  changes          at, actor, urn, name, column, kind, needs_care, before, after,
                   edited, likely_column, added, removed
"""


@click.command(epilog=_CHANGES_EPILOG)
@click.option("--read", "is_read", is_flag=True, help="Mark as read: the next begins after these.")
@click.option("--earlier", is_flag=True, help="Since the visit before the last one.")
@click.option("--care", is_flag=True, help="Only what written texts may not fit any more.")
@click.option("--match", "words", metavar="WORDS", default="", help="Only what has these words.")
@click.option(
    "--top",
    type=click.IntRange(1, _MOST_ENTITIES),
    default=200,
    show_default=True,
    help="Read so many entities, those changed last.",
)
@format_options("json", "csv", "urns", urns="Print the URNs of what changed, each once.")
@catalog_options
def changes(
    target: Target,
    shown_as: OutputFormat | None,
    words: str,
    top: int,
    *,
    is_read: bool,
    earlier: bool,
    care: bool,
) -> None:
    """Show what others and ingestion changed since the last visit.

    By entity, the one changed last first, and of each first what needs care. Looking marks
    nothing as read.
    """
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        steward = Stewardship(catalog)
        feed = steward.feed(earlier=earlier, most_entities=top)
        documentation.print_feed(feed, words, shown_as, care=care)
        if is_read:
            steward.mark_read(feed)


_FORMATS = ("csv", "json", "md", "xlsx")

_DOCS_EPILOG = """
\b
Examples
  catalog docs export --search orders --output orders.xlsx
  catalog docs diff orders.xlsx
  catalog docs import orders.xlsx --dry-run
  catalog docs import orders.xlsx
  catalog docs propose --folder /prod --output texts.changes.jsonl
  catalog docs review texts.changes.jsonl

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


@click.group(epilog=_DOCS_EPILOG)
def docs() -> None:
    """Take descriptions out as files, and bring them in again.

    CSV, XLSX, JSON or Markdown, by the ending of the file's name.
    """


docs.add_command(propose)
docs.add_command(concept)
docs.add_command(draft)
docs.add_command(review)
docs.add_command(share)
docs.add_command(proposals)
docs.add_command(withdraw)
docs.add_command(propagated)
docs.add_command(dbt_export)
docs.add_command(dbt_import)


@docs.command(epilog=_EXPORT)
@dataset_options
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file; its ending tells the format.",
)
@_form
@click.option("--overwrite", is_flag=True, help="Replace the file where there is one.")
@catalog_options
def export(
    target: Target,
    choice: DatasetChoice,
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
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Stewardship

    chosen = documentation.format_for(output, form)
    documentation.check_target(output, chosen, overwrite=overwrite)
    with target.open() as catalog:
        urns = choice.read(catalog)
        with progress_bar("reading") as progress:
            rows = Stewardship(catalog).documentation(urns, progress=progress)
    documentation.write(rows, output, chosen, asked=len(urns))


@docs.command(epilog=_DIFF)
@_file
@_form
@_clear_empty
@format_options("json", "csv")
@catalog_options
def diff(
    target: Target,
    file: Path,
    form: "Format | None",
    shown_as: OutputFormat | None,
    *,
    clear_empty: bool,
) -> None:
    """Show what importing FILE would change, and what not.

    FILE may be - for standard input; --format then says what it is.
    """
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Stewardship

    entries = documentation.read(file, form)
    with target.open() as catalog, progress_bar("comparing") as progress:
        found = Stewardship(catalog).changeset(entries, clear_empty=clear_empty, progress=progress)
    documentation.print_changes(found, str(file), shown_as)
    documentation.say_counts(found)


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
@format_options("json")
@catalog_options
def import_(
    target: Target,
    file: Path,
    form: "Format | None",
    report: Path | None,
    shown_as: OutputFormat | None,
    *,
    dry_run: bool,
    force_conflicts: bool,
    clear_empty: bool,
) -> None:
    """Write what was changed in FILE into the catalog.

    Only texts that were changed in the file are written, and an empty one changes nothing. FILE
    may be - for standard input; --format then says what it is.
    """
    from explorer.cli import edits
    from explorer.cli.rendering import documentation
    from explorer.stewardship import Applied, Stewardship

    if not dry_run:
        edits.refuse_read_only(target)
    entries = documentation.read(file, form)
    if report is not None:
        documentation.check_report(report, file)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("comparing") as progress:
            found = steward.changeset(entries, clear_empty=clear_empty, progress=progress)
        wanted = found.to_apply(force_conflicts=force_conflicts)
        applied = Applied()
        if wanted and not dry_run:
            edits.keep_journal(catalog)
            with progress_bar("writing") as progress:
                applied = steward.apply(wanted, progress=progress)
    outcome = documentation.FileOutcome(str(file), found, applied, wanted, dry_run=dry_run)
    if report is not None:
        documentation.write_report_to(report, outcome.left)
    if shown_as == "json":
        documentation.print_outcome_as_json(outcome)
    elif dry_run:
        documentation.print_changes(found)
    else:
        documentation.print_outcome(outcome)
    documentation.tell(outcome, report=report)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails:
        click.get_current_context().exit(1)


_DESCRIBE_EPILOG = """
\b
Examples
  catalog describe URN                            (shows what is written now)
  catalog describe URN --edit                     (in $VISUAL or $EDITOR)
  catalog describe URN --text "One row an order, as it stands at midnight."
  catalog describe URN --column shipping.zip --text "Postal code as typed."
  catalog describe URN --text - --dry-run < orders.md

The text is markdown. From standard input one line end at the very end is left off, anything else
is stored as it is. --text "" takes a description back; what ingestion says then shows again.

What was typed is never lost: where it cannot be written it is kept in a file, which is named.
What was written is taken back by catalog undo.

\b
--json prints one object: urn, column, description (the text that counts),
edited, ingested; where something was written also before, changed, dry_run.
"""


@click.command(epilog=_DESCRIBE_EPILOG)
@click.argument("urn", type=WORDS, shell_complete=complete_urns)
@click.option(
    "--column",
    type=WORDS,
    metavar="PATH",
    help="Of this column: its path as the schema has it, or a.b.c where that is unmistakable.",
)
@click.option("--text", type=WORDS, help="The description; - reads it from standard input.")
@click.option("--stdin", "from_stdin", is_flag=True, help="The same as --text -.")
@click.option("--edit", is_flag=True, help="Write it in your editor.")
@click.option(
    "--force", is_flag=True, help="With --edit: write over what somebody else wrote meanwhile."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the description as a JSON object.")
@catalog_options
def describe(
    target: Target,
    urn: str,
    column: str | None,
    text: str | None,
    *,
    from_stdin: bool,
    edit: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write a description of a dataset, column or container.

    Without --text, --stdin or --edit nothing is written: the description is shown.
    """
    given = {"--text": text is not None, "--stdin": from_stdin, "--edit": edit}
    sources = [option for option, is_given in given.items() if is_given]
    if len(sources) > 1:
        raise click.UsageError(f"{' and '.join(sources)} exclude each other; give one of them")
    if (force or dry_run) and not sources:
        raise click.UsageError("there is nothing to write; give --text, --stdin or --edit")
    from explorer.cli import edits

    manner = edits.DescribeOptions(force=force, dry_run=dry_run, as_json=as_json)
    if edit:
        edits.describe_in_editor(target, urn, column, manner)
    elif from_stdin or text == "-":
        edits.describe_from_stdin(target, urn, column, manner)
    elif text is not None:
        edits.describe(target, urn, column, text, manner)
    else:
        edits.show_description(target, urn, column, as_json=as_json)
