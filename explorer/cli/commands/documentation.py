"""`catalog describe`, `link`, `coverage`, `worklist`, `changes` and `docs`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli import options
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
    budget_options,
    catalog_options,
    dataset_options,
    format_options,
    own_urn,
    progress_bar,
    require_any,
    session_progress,
)
from explorer.cli.sections import EDIT, MAINTAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from explorer.cli.edits import Change
    from explorer.client import Catalog
    from explorer.client.records import Edit
    from explorer.metadata.aspects import Link
    from explorer.stewardship import Format
    from explorer.stewardship.coverage import Every, Grouping, Part

_LINK_EPILOG = """
\b
Examples
  catalog link URN                            (shows the links)
  catalog link URN add https://wiki.example.com/orders --label "All of it"
  catalog link URN remove https://wiki.example.com/orders
  catalog search orders --urns | catalog link - add https://x.org --label Wiki

remove deletes all links to the URL; with --label, only the one with that label.

\b
With add or remove, --json prints an object:
  dry_run  whether nothing was written
  edits    urn, column, what, before, after, changed, at
  failed   urn, error
In before and after, a link is written as "URL LABEL".
"""


@EDIT.command(epilog=_LINK_EPILOG)
@options.entity
@click.argument("action", type=click.Choice(["add", "remove"]), required=False)
@click.argument("url_linked", metavar="[URL]", type=WORDS, required=False)
@click.option("--label", type=WORDS, help="The label of the link.")
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
    """Show, add or remove an entity's links to documents.

    If URN is -, URNs are read from standard input, one per line. If one fails, the others are still
    processed. Other links are left unchanged.
    """
    options.check_forms(shown_as, dry_run=dry_run, writes=action is not None, propose=propose)
    if action and url_linked is None:
        raise click.UsageError(f"{action} needs the URL of the link")
    if url_linked is not None and (not url_linked or any(map(str.isspace, url_linked))):
        raise click.UsageError(
            f"“{url_linked}” is not a valid URL: it is empty or has spaces; write them as %20"
        )
    if action == "add" and label is None:
        raise click.UsageError("add needs a label for the link; give it with --label")
    if action is None and label is not None:
        raise click.UsageError("--label needs add or remove")
    if action is None or url_linked is None:
        _show(target, urn, shown_as)
        return
    from explorer.cli import edits

    change = _change(action, url_linked, label)
    as_json = shown_as == "json"
    edits.change_each(target, (urn,), change, dry_run=dry_run, as_json=as_json, propose=propose)


def _change(action: str, url: str, label: str | None) -> "Change":
    from explorer.sessions.links import LinkSession

    def change(catalog: "Catalog", urn: str) -> "Iterator[Edit]":
        links = LinkSession(catalog.core, urn)
        writing = links.add(url, label or "") if action == "add" else links.remove(url, label)
        yield catalog.wait(writing)

    return change


def _show(target: Target, urn: str, shown_as: OutputFormat | None) -> None:
    from explorer.cli import output
    from explorer.cli.edits import finish, go_through, read_urn_arguments
    from explorer.views.entity import entity_links_table

    urns = read_urn_arguments((urn,))
    links: list[tuple[str, Link]] = []
    with target.open() as catalog:

        def read(urn: str) -> None:
            links.extend((urn, doc_link) for doc_link in catalog.links(urn))

        done = go_through(urns, read)
    has_failed = done.failed or done.stopped is not None
    table = entity_links_table(links, several=len(urns) > 1)
    output.show(table, shown_as, empty="" if has_failed else "no links")
    finish(done)


_MAX_TREND_DAYS = 3_660

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
  A table or column is documented if it has an ingested or an edited
  description that is not blank. With --by, a dataset with several owners,
  tags or folders counts in each group. Percentages are rounded down, so 100
  means all.

\b
Continuous integration
  With --fail-under the exit code is 1 if the percentage of tables or of
  columns is lower, or if there is nothing to count. --only checks one of the
  two.

\b
--json prints an object:
  tables, columns  total, documented, edited, ingested, percent
  by, groups       key, name, tables, columns; null and empty without --by
  gate             fail_under, only, reached; null without --fail-under

\b
The trend
  --trend shows the coverage of the datasets that exist now, as it was at the
  end of each day (UTC); the last day is the current state. It is computed
  from the versions of aspects, so permanently deleted datasets are not
  included. With --by, the 50 groups with the most undocumented tables and
  columns are listed. DataHub servers have no trend. --json prints an object
  with since, by, every, datasets, group_total and days: an object for each
  group and day, oldest first, with key, name, day, tables_total,
  tables_documented, tables_percent, and the same for columns_.
"""


@MAINTAIN.command(epilog=_COVERAGE_EPILOG)
@dataset_options
@click.option(
    "--by",
    "grouping",
    type=click.Choice(("platform", "owner", "domain", "folder", "tag")),
    help="Show coverage by group, the groups with the most left to document first.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if less than this percentage is documented.",
)
@click.option(
    "--only",
    type=click.Choice(("columns", "tables")),
    help="With --fail-under, check only columns or only tables.",
)
@click.option("--trend", is_flag=True, help="Show coverage over time.")
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_TREND_DAYS),
    help="With --trend, the number of days to show.  [default: 90]",
)
@click.option(
    "--every",
    type=click.Choice(("day", "week")),
    help="With --trend, the interval between values.  [default: day]",
)
@budget_options
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
    """Show how much of the catalog is documented.

    Tables and columns are counted separately. Select datasets by URN, by search and filters, or by
    folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    if only and fail_under is None:
        raise click.UsageError("--only needs --fail-under")
    if trend and fail_under is not None:
        raise click.UsageError("--trend and --fail-under cannot be combined; give only one of them")
    if (days or every) and not trend:
        raise click.UsageError("--days and --every need --trend")
    from explorer.cli.output import show
    from explorer.stewardship import Stewardship
    from explorer.views.stewardship import CoverageGate, coverage_report, trend_report

    with target.open() as catalog:
        selection = choice.selection(catalog)
        if trend:
            with progress_bar("reading") as progress:
                course = Stewardship(catalog).coverage_trend(
                    **selection,
                    by=grouping,
                    days=days or 90,
                    every=every or "day",
                    progress=progress,
                )
            if not choice.urns:
                require_any(course.datasets)
            show(trend_report(course), shown_as)
            return
        with progress_bar("reading") as progress:
            report = Stewardship(catalog).coverage(**selection, by=grouping, progress=progress)
    if not choice.urns:
        require_any(report.tables.total)
    gate = CoverageGate(report, fail_under, only) if fail_under is not None else None
    show(coverage_report(report, gate), shown_as)
    if gate is not None and not gate.is_reached:
        click.get_current_context().exit(1)


_MAX_ENTITIES = 10_000
_MAX_DAYS = 365

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
Order
  Items are sorted by weight, which is (used + 1) x (downstream + 1), highest
  first; then by used, downstream, URN and position in the schema.
  used        uses of the column within --days; if usage is not counted per
              column, the number of queries of its table
  downstream  number of entities downstream of the table, at any distance;
              at most 10,000

\b
--json prints an object:
  days, total  number of days, and number of all undocumented items
  items        urn, table, platform, column, type, weight, used, used_of,
               downstream, at_least

An item without a column is the table itself.
"""


@MAINTAIN.command(epilog=_WORKLIST_EPILOG)
@dataset_options
@click.option(
    "--owner",
    "owners",
    type=WORDS,
    metavar="OWNER",
    multiple=True,
    help="Only what this person or group owns: a name, an ID or a URN; can be repeated.",
)
@click.option(
    "--mine",
    "is_mine",
    is_flag=True,
    help="Only what you own: as the user of the local catalog, or of the token on a server.",
)
@click.option(
    "--top", type=click.IntRange(1), default=50, show_default=True, help="Number of items to show."
)
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_DAYS),
    default=30,
    show_default=True,
    help="Number of days of usage to count.",
)
@budget_options
@format_options("json", "csv", "urns", urns="Print only the URNs of the datasets, each once.")
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
    """Show what to document next, the most used first.

    Lists undocumented tables and columns. Select datasets by URN, by search and filters, or by
    folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    from explorer.cli.output import note, show
    from explorer.stewardship import Stewardship
    from explorer.views.stewardship import worklist_counts, worklist_table

    with target.open() as catalog:
        mine = (own_urn(catalog),) if is_mine else ()
        selection = choice.selection(catalog, (*owners, *mine))
        with progress_bar("reading usage and lineage") as progress:
            tasks = Stewardship(catalog).worklist(
                **selection, top=top, days=days, progress=progress
            )
    if not choice.urns:
        require_any(tasks.datasets)
    show(worklist_table(tasks), shown_as, "items", days=tasks.days, total=tasks.total)
    more = "; --top shows more" if tasks.total and tasks.truncated else ""
    note(f"{worklist_counts(tasks)}{more}")


_CHANGES_EPILOG = """
\b
Examples
  catalog changes
  catalog changes --read                  (marks these changes as read)
  catalog changes --care                  (descriptions that may be outdated)
  catalog changes --match "orders ann"
  catalog changes --json | jq '.changes[] | select(.kind == "orphaned text")'

\b
Kinds of changes
  orphaned text    a column with an edited description was dropped;
                   likely_column is the column it was probably renamed to
  type             the type of a column changed
  ingested text    the ingested description of a column or entity changed
  column dropped, column added, new, deleted, restored
  description, tags, terms, owners, domain, deprecation, links
                   edited by somebody else

Your own edits are left out. The time of your last visit is stored on this machine, for each
catalog; the terminal app and notebooks use the same one.

\b
--json prints an object:
  since, user      end of the last visit; the user whose edits are left out
  unread           number of older changes that were not read
  more_entities    number of changed entities that are not listed
  trimmed          true if the change log begins after the last visit
  replaced         true if the change log is not the one of the last visit
  changes          at, actor, urn, name, column, kind, needs_care, before,
                   after, edited, likely_column, added, removed
"""


@MAINTAIN.command(epilog=_CHANGES_EPILOG)
@click.option("--read", "is_read", is_flag=True, help="Mark these changes as read.")
@click.option("--earlier", is_flag=True, help="Show the changes since the visit before the last.")
@click.option(
    "--care",
    is_flag=True,
    help="Only changes that need attention: edited descriptions may be outdated.",
)
@click.option(
    "--match", "words", metavar="WORDS", default="", help="Only changes that contain these words."
)
@click.option(
    "--top",
    type=click.IntRange(1, _MAX_ENTITIES),
    default=200,
    show_default=True,
    help="Number of entities to read, the most recently changed first.",
)
@budget_options
@format_options("json", "csv", "urns", urns="Print only the URNs of changed entities, each once.")
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
    """Show what other people and ingestion changed since your last visit.

    Changes are grouped by entity, the most recently changed first. In each group, changes that need
    attention come first. Changes stay unread until you give --read.
    """
    from explorer.cli.output import show
    from explorer.stewardship import Stewardship
    from explorer.views.feed import feed_report

    with target.open() as catalog:
        steward = Stewardship(catalog)
        feed = steward.feed(earlier=earlier, most_entities=top)
        show(feed_report(feed, words, care=care), shown_as)
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
  The file has a row for each table, with an empty “column”, and for each of
  its columns. Import reads only the texts in “edited”, byte for byte. Do not
  change urn, column and exported: exported is needed to detect edits that
  others made since the export. You can add columns; they are ignored.
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
Kinds of lines
  new, changed       would be written
  cleared            the edited description would be removed: the file has
                     !clear
  emptied            the text in the file is empty, but the catalog has one;
                     no change, except with --clear-empty
  conflict           somebody edited the description since the export
  unknown table, unknown column, orphan (column was dropped), duplicate,
  unreadable         cannot be matched, and is never written

\b
--json prints an object:
  file, counts  number of lines of each kind
  changes       place, kind, urn, table, column, base, theirs, mine, why;
                without unchanged lines
"""
_IMPORT = """
\b
Examples
  catalog docs import orders.xlsx --dry-run
  catalog docs import orders.xlsx --report left.csv
  catalog docs import orders.csv --force-conflicts

Each text is written on its own. If one is rejected, the others are still written. After a failure
you can import the same file again: texts that were written are not written twice. catalog undo
reverts an import.

\b
Exit codes
  0  all changes in the file were written
  1  some were not: a conflict, a line that cannot be matched, or an error
  3  the connection was lost; the message says what was written before

\b
--json prints an object:
  file, dry_run, counts  number of lines of each kind
  changes   the same as in catalog docs diff
  applied   urn, column, before, after, at
  failed    place, urn, column, error
  untried   number of changes not tried; stopped has the reason
"""

_form = click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="The format of the file.  [default: that of its extension]",
)
_file = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
_clear_empty = click.option(
    "--clear-empty",
    is_flag=True,
    help="Remove the descriptions whose text in the file is empty.",
)


@MAINTAIN.group(epilog=_DOCS_EPILOG)
def docs() -> None:
    """Export, import, review and propagate descriptions.

    Files can be CSV, XLSX, JSON or Markdown; the extension of the file name determines the format.
    """


docs.add_command(propose)
docs.add_command(concept)
docs.add_command(draft)
docs.add_command(review)
docs.add_command(share)
docs.add_command(proposals)
docs.add_command(withdraw)
docs.add_command(propagated)


@docs.command(epilog=_EXPORT)
@dataset_options
@options.new_file("--output", "-o", text="Write to this file; its extension determines the format.")
@_form
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it exists.")
@catalog_options
def export(
    target: Target,
    choice: DatasetChoice,
    output: Path | None,
    form: "Format | None",
    *,
    overwrite: bool,
) -> None:
    """Export the descriptions of datasets and their columns to a file.

    Select datasets by URN, by search and filters, or by folder; by default all datasets are
    exported. If URN is -, URNs are read from standard input, one per line. Writes to standard
    output unless --output is given.
    """
    from explorer.cli import documentation_files as documentation
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
@options.encoding
@_clear_empty
@format_options("json", "csv")
@catalog_options
def diff(
    target: Target,
    file: Path,
    form: "Format | None",
    encoding: str | None,
    shown_as: OutputFormat | None,
    *,
    clear_empty: bool,
) -> None:
    """Show what importing FILE would change.

    Lines that would not be imported are listed too. If FILE is -, standard input is read; then give
    --format.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli.output import show
    from explorer.stewardship import Stewardship
    from explorer.views.documentation import changes_report

    entries = documentation.read(file, form, encoding)
    with target.open() as catalog, progress_bar("comparing") as progress:
        changeset = Stewardship(catalog).changeset(
            entries, clear_empty=clear_empty, progress=progress
        )
    show(changes_report(changeset, str(file)), shown_as)


@docs.command("import", epilog=_IMPORT)
@_file
@_form
@options.encoding
@options.dry_run
@click.option(
    "--force-conflicts", is_flag=True, help="Overwrite edits made by others since the export."
)
@_clear_empty
@options.new_file(
    "--report",
    text="Write the lines that were not imported to this CSV file, with the reasons.",
)
@format_options("json")
@catalog_options
def import_(
    target: Target,
    file: Path,
    form: "Format | None",
    encoding: str | None,
    report: Path | None,
    shown_as: OutputFormat | None,
    *,
    dry_run: bool,
    force_conflicts: bool,
    clear_empty: bool,
) -> None:
    """Import the descriptions that were changed in FILE.

    Only texts that differ from the export are written, and empty ones are ignored. If FILE is -,
    standard input is read; then give --format.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli import edits
    from explorer.cli.output import show
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import Applied, Stewardship
    from explorer.views.documentation import FileOutcome, outcome_report

    if not dry_run:
        edits.refuse_read_only(target)
    entries = documentation.read(file, form, encoding)
    if report is not None:
        documentation.check_report(report, file)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("comparing") as progress:
            changeset = steward.changeset(entries, clear_empty=clear_empty, progress=progress)
        to_apply = changeset.to_apply(force_conflicts=force_conflicts)
        applied = Applied()
        if to_apply and not dry_run:
            edits.keep_journal(catalog)
            changesets = ChangesetsSession(catalog.core)
            with session_progress(changesets, "writing"):
                applied = catalog.wait(changesets.import_changes(to_apply)).applied
    outcome = FileOutcome(str(file), changeset, applied, to_apply, dry_run=dry_run)
    if report is not None:
        documentation.write_report_to(report, outcome.unapplied)
    show(outcome_report(outcome, report), shown_as)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails:
        click.get_current_context().exit(1)


_DBT_EXPORT = """
\b
Examples
  catalog docs dbt-export ~/shop --dry-run
  catalog docs dbt-export ~/shop --filter platform:dbt --tags --owners
  catalog docs dbt-export ~/shop URN --json | jq '.updates[] | .why'

\b
What is written
  Descriptions that were edited in the catalog are written to the schema.yml
  of the model, seed, snapshot or source. Only changed lines are touched:
  comments, order, quotes, anchors and line endings are kept. A model without
  properties gets them in the file that +dbt-osmosis in dbt_project.yml names,
  else in the file of its folder that has several models, or in _MODEL.yml
  next to it. Jinja delimiters are escaped.

\b
How models are matched to datasets
  By the database, schema and alias in target/manifest.json, with the names
  that DataHub's connectors use, on dbt or on the warehouse. Without a
  manifest (dbt parse writes it), by a name that only one dataset has. Models
  that do not match are listed.

\b
Kinds of updates
  new, changed  written
  conflict      the project has a description that was not ingested into the
                catalog; written only with --force-conflicts
  template      the description uses doc() or other Jinja; never written
  shared        the place is shared, by an anchor or by versions of a model
  unwritable    the file, the place or the text cannot be written

\b
Exit codes
  0  the project has the descriptions of the catalog
  1  some were not written: one of the last four kinds, or a model that
     matches several datasets

\b
--json prints an object:
  project, dry_run, counts  number of updates of each kind
  updates    file, resource, column, property, kind, before, after, urn, why;
             without unchanged ones
  files      file, made
  unmatched  resource, kind, why, candidates
  problems   file, why; files that cannot be read
"""
_DBT_IMPORT = """
\b
Examples
  catalog docs dbt-import ~/shop --dry-run
  catalog docs dbt-import ~/shop --filter platform:dbt --tags --owners
  catalog docs dbt-import ~/shop --json | jq .counts

\b
What is read
  The descriptions of models, seeds, snapshots, sources and their columns, as
  dbt renders them: doc() is resolved from the project, other Jinja from
  target/manifest.json. Descriptions that are empty, or that the catalog
  already has, edited or ingested, change nothing. If the catalog has a
  different edited description, that is a conflict. With --tags and --owners,
  missing tags and owners are added, if they exist in the catalog; the tag
  dbt:NAME is treated as NAME.

\b
How models are matched to datasets
  The same as in catalog docs dbt-export; datasets on dbt are preferred to
  those on the warehouse.

\b
Exit codes
  0  all changes in the project were written
  1  some were not: a conflict, an unknown column, an error, or a model that
     matches several datasets
  3  the connection was lost; the message says what was written before

\b
--json prints the object of catalog docs import, with the project as file, and
  labels     urn, column, property, label, added, error
  unmatched  resource, kind, why, candidates
  problems   file, why; files that cannot be read

catalog undo reverts the import.
"""

_dbt_project = click.argument(
    "project", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


@docs.command("dbt-export", epilog=_DBT_EXPORT)
@_dbt_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Also add the tags in the catalog.")
@click.option("--owners", "with_owners", is_flag=True, help="Also set meta.owner.")
@options.dry_run
@click.option(
    "--force-conflicts",
    is_flag=True,
    help="Overwrite descriptions in the project that were not ingested.",
)
@format_options("json")
@catalog_options
def dbt_export(
    target: Target,
    project: Path,
    choice: DatasetChoice,
    shown_as: OutputFormat | None,
    *,
    with_tags: bool,
    with_owners: bool,
    dry_run: bool,
    force_conflicts: bool,
) -> None:
    """Export descriptions from the catalog to a dbt project.

    PROJECT is the directory with dbt_project.yml. Select datasets by URN, by search and filters, or
    by folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli.output import show
    from explorer.sessions.dbt import ProjectOptions
    from explorer.stewardship import Stewardship
    from explorer.stewardship.dbt_project import read_project
    from explorer.views.dbt import is_ambiguous, plan_report

    dbt_project = read_project(project)
    with target.open() as catalog:
        urns = choice.read(catalog)
        with progress_bar("reading") as progress:
            plan = Stewardship(catalog).dbt_plan(
                dbt_project,
                urns,
                properties=ProjectOptions(with_tags, with_owners).properties,
                force_conflicts=force_conflicts,
                progress=progress,
            )
    documentation.require_dbt_matches(
        len(dbt_project.resources), plan.unmatched, has_manifest=dbt_project.has_manifest
    )
    if not dry_run:
        plan.write()
    show(plan_report(plan, str(project), dry_run=dry_run), shown_as)
    if plan.left_out or plan.problems or is_ambiguous(plan.unmatched):
        click.get_current_context().exit(1)


@docs.command("dbt-import", epilog=_DBT_IMPORT)
@_dbt_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Also add the tags in the project.")
@click.option("--owners", "with_owners", is_flag=True, help="Also add the owners in meta.owner.")
@options.dry_run
@click.option(
    "--force-conflicts", is_flag=True, help="Overwrite descriptions edited in the catalog."
)
@options.new_file(
    "--report",
    text="Write the descriptions that were not imported to this CSV file, with the reasons.",
)
@format_options("json")
@catalog_options
def dbt_import(
    target: Target,
    project: Path,
    choice: DatasetChoice,
    report: Path | None,
    shown_as: OutputFormat | None,
    *,
    with_tags: bool,
    with_owners: bool,
    dry_run: bool,
    force_conflicts: bool,
) -> None:
    """Import descriptions from a dbt project into the catalog.

    PROJECT is the directory with dbt_project.yml. Select datasets by URN, by search and filters, or
    by folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    from explorer.cli import documentation_files as documentation
    from explorer.cli import edits
    from explorer.cli.output import show
    from explorer.sessions.changesets import ChangesetsSession, ImportOutcome
    from explorer.sessions.dbt import ProjectOptions
    from explorer.stewardship import Stewardship
    from explorer.stewardship.dbt_project import read_project
    from explorer.views.dbt import DbtLabelOutcome, import_report, is_ambiguous
    from explorer.views.documentation import FileOutcome

    if not dry_run:
        edits.refuse_read_only(target)
    dbt_project = read_project(project)
    if report is not None:
        documentation.check_report(report, project)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        urns = choice.read(catalog)
        with progress_bar("comparing") as progress:
            changes = steward.dbt_changes(
                dbt_project,
                urns,
                properties=ProjectOptions(with_tags, with_owners).properties,
                progress=progress,
            )
        documentation.require_dbt_matches(
            len(dbt_project.resources), changes.unmatched, has_manifest=dbt_project.has_manifest
        )
        to_apply = changes.changeset.to_apply(force_conflicts=force_conflicts)
        imported = ImportOutcome(labels=changes.labels)
        if (to_apply or changes.labels) and not dry_run:
            edits.keep_journal(catalog)
            changesets = ChangesetsSession(catalog.core)
            with session_progress(changesets, "writing"):
                imported = catalog.wait(changesets.import_changes(to_apply, changes.labels))
    texts, applied = changes.changeset, imported.applied
    outcome = FileOutcome(str(project), texts, applied, to_apply, dry_run=dry_run)
    if report is not None:
        documentation.write_report_to(report, outcome.unapplied)
    labels = DbtLabelOutcome(imported.labels, imported.added_indexes, imported.failed)
    show(import_report(outcome, labels, changes, report), shown_as)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails or imported.failed or changes.problems or is_ambiguous(changes.unmatched):
        click.get_current_context().exit(1)


_DESCRIBE_EPILOG = """
\b
Examples
  catalog describe URN                            (shows the description)
  catalog describe URN --edit                     (in $VISUAL or $EDITOR)
  catalog describe URN --text "One row an order, as it stands at midnight."
  catalog describe URN --column shipping.zip --text "Postal code as typed."
  catalog describe URN --text - --dry-run < orders.md
  catalog describe URN --carry-over

The text is Markdown and stored as it is, except that one line break at the end of standard input is
dropped. --text "" removes the edited description, so that the ingested one is shown again.

What was written about a column before its type or the case of its name changed is shown at the
column. A new text, tag or term moves it there first; --carry-over moves it as it is.

If a text cannot be written, it is saved to a file, and the message names that file. catalog undo
reverts an edit.

\b
--json prints an object: urn, column, description (the edited one, else the
ingested one), edited, ingested; after an edit also before, changed, dry_run.
"""


@EDIT.command(epilog=_DESCRIBE_EPILOG)
@options.entity
@options.column_option
@click.option("--text", type=WORDS, help="The new description; - reads standard input.")
@click.option("--stdin", "from_stdin", is_flag=True, help="The same as --text -.")
@click.option("--edit", is_flag=True, help="Edit the description in your editor.")
@click.option(
    "--force", is_flag=True, help="With --edit, overwrite edits made by others meanwhile."
)
@click.option(
    "--carry-over",
    is_flag=True,
    help="Move what was written for earlier types or cases of columns to the present columns.",
)
@options.dry_run
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
    carry_over: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Show or edit the description of a dataset, column or container.

    Without --text, --stdin or --edit the description is shown, and nothing is written.
    """
    has_source = {
        "--text": text is not None,
        "--stdin": from_stdin,
        "--edit": edit,
        "--carry-over": carry_over,
    }
    sources = [option for option, is_given in has_source.items() if is_given]
    if len(sources) > 1:
        raise click.UsageError(f"{' and '.join(sources)} cannot be combined; give only one of them")
    if (force or dry_run) and not sources:
        raise click.UsageError("there is nothing to write; give --text, --stdin or --edit")
    if carry_over and (force or as_json):
        raise click.UsageError("--carry-over cannot be combined with --force or --json")
    from explorer.cli import edits

    describe_options = edits.DescribeOptions(force=force, dry_run=dry_run, as_json=as_json)
    if edit:
        edits.describe_in_editor(target, urn, column, describe_options)
    elif from_stdin or text == "-":
        edits.describe_from_stdin(target, urn, column, describe_options)
    elif carry_over:
        edits.carry_over(target, urn, column, dry_run=dry_run)
    elif text is not None:
        edits.describe(target, urn, column, text, describe_options)
    else:
        edits.show_description(target, urn, column, as_json=as_json)
