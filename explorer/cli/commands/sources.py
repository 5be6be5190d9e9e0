"""`catalog add` and `catalog sources`: load metadata of your own data into the catalog."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    dry_run,
    format_options,
)
from explorer.cli.sections import BRING_IN

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from rich.progress import TaskID

    from explorer.client import Catalog
    from explorer.sources.configured import CarriedText
    from explorer.sources.run import RunOutcome, RunPlan
    from explorer.sources.source import Progress, Source

_T = TypeVar("_T")

_ADD: Final = """
\b
Examples
  catalog add ./app.sqlite
  catalog add ./warehouse.duckdb --dry-run
  catalog add postgresql+psycopg://ana@warehouse/shop --schema 'sales*'
  catalog add 'postgresql+psycopg://ana:${SHOP_PASSWORD}@warehouse/shop'
  catalog add ./lake
  catalog add ./lake --pattern 'orders_*.parquet'
  catalog add ./towns.csv --encoding latin-1
  catalog add s3://bucket/lake
  catalog add ./dbt_project
  catalog add ./artifacts/shop_manifest.json
  catalog add ./load.sql --dialect snowflake
  catalog add ./query_history.csv --dialect snowflake
  catalog add ./recipe.yml

\b
What is read
  SQLite, DuckDB  tables, views, columns, keys; the file is only read
  databases       the same by the address, as SQLAlchemy writes it; the driver
                  is yours to install
  folders, files  Parquet, CSV, JSON of records: their columns and sizes;
                  folders key=value are the partitions of one table, and files
                  with the same columns become one with --pattern; Delta and
                  Iceberg tables by their own log, and a metadata.json of
                  Iceberg; what is left out is counted by its kind
  buckets         the same at s3://, gs:// and az://
  dbt projects    target/manifest.json, and catalog.json, run_results.json and
                  sources.json where dbt has written them: models, sources,
                  seeds, snapshots, their tests with the last result, semantic
                  models, metrics, and exposures as dashboards; meta.owner and
                  meta.terms become owners and terms: ann, @ann or
                  Ann (a@b.org), or as owner_extraction_pattern and owners say
                  under vars: catalog: in dbt_project.yml. Without the
                  project: a manifest.json or NAME_manifest.json, or its
                  folder, with the other artifacts beside it
  queries         with --dialect: SQL, or a query history as CSV, JSON or
                  Parquet, as Snowflake, BigQuery (also bq --format=json),
                  Redshift, Databricks and PostgreSQL's csvlog name its
                  columns; PostgreSQL's log (*.log); or a folder of these.
                  Tables that the catalog has get lineage to the column, and
                  where it is known who asked what when, their use by day,
                  with ? for the values in queries
  recipes         of DataHub's ingestion, run by its own command: datahub on
                  the PATH or named in CATALOG_DATAHUB. The recipe's sink is
                  left out: what is found comes here, and nothing where the
                  run fails

Views and models have lineage to the column, from their SQL; columns that are
not traced are listed with the reason. Of CSV and JSON the first rows are read,
to know the types; of others none, but that the rows of an SQLite file of up to
256 MB are counted. The encoding of CSV, JSON and query histories is found out,
and told where it is not UTF-8. It is a guess where a file is neither that nor
UTF-16: --encoding sets it.

With --stats up to 50,000 rows of each table are read, for the share of nulls
and of different values, and for smallest, largest and frequent values, mean,
quantiles and histograms. Of columns that look personal, by name or by their
values, no values are kept, unless --values allows it. Of Delta and Iceberg
tables no rows are read: what their log says of nulls is always told, and with
--stats the smallest and largest values.

\b
What is written
  What the source has, under a run of its own. What people wrote in the
  catalog stays. What the source had the last time and has no more is hidden,
  and comes back with its documentation when the source has it again. A source
  that shows a fifth of its datasets or less writes nothing, unless that is
  accepted.

\b
Passwords
  Never in the catalog. A password is taken from ${NAME} in the address, from
  CATALOG_SOURCE_PASSWORD, or from where the driver looks (PGPASSWORD,
  .pgpass); else a terminal is asked. With --keyring it is kept in this
  machine's keyring, where later runs find it, and removed with the source.
  The keys to a bucket are those of the environment (AWS_ACCESS_KEY_ID,
  GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY) or of the
  provider's own files; AWS_ENDPOINT_URL names another server of S3.

\b
Exit codes
  0  the catalog has what the source has
  1  something was refused, or the source cannot be read
  3  the catalog or the database cannot be reached

\b
--json prints an object:
  source, kind, location
  found     how many there are of each kind
  counts    how many entities are new, changed, back, gone, unchanged
  entities  the URNs of each but the unchanged
  drift     how tables changed since the last run: urn, kind, column, before,
            after, likely (the column it likely was, or is now)
  skipped   subject, reason
  notes     sentences on what was read from elsewhere or otherwise than usual
  patterns  of files that likely are one table, for --pattern
  dry_run, run_id, written
  refused   urn, aspect, reason
"""
_SOURCES: Final = """
\b
Examples
  catalog sources
  catalog sources run
  catalog sources run shop --json | jq .counts
  catalog sources drift shop
  catalog sources drift shop --take
  catalog sources remove shop

--json and --csv have of each source also run_id, report (of its last run) and urn.
"""
_MOST_SKIPPED: Final = 20
# The columns of a bar, and of its numbers.
_BAR: Final = 50

# The options that may be repeated, by their parameters.
_REPEATED: Final = {"schemas": "schema", "patterns": "pattern"}
_accept = click.option(
    "--accept-removals",
    is_flag=True,
    help="Hide what is gone, also where that is four fifths of the datasets or more.",
)
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@BRING_IN.command(epilog=_ADD)
@click.argument("location", type=WORDS)
@click.option(
    "--name", type=WORDS, help="What to call the source; by default what it calls itself."
)
@click.option(
    "--env",
    type=WORDS,
    default="PROD",
    show_default=True,
    help="The environment in the URNs: PROD, DEV, …",
)
@click.option(
    "--instance",
    type=WORDS,
    help="The platform instance, which stands before the names of all tables.",
)
@click.option(
    "--schema",
    "schemas",
    type=WORDS,
    multiple=True,
    metavar="PATTERN",
    help="Only these schemas; * stands for any letters. May be repeated.",
)
@click.option(
    "--dialect",
    type=WORDS,
    help="The file is a log of queries, of this SQL: snowflake, bigquery, postgres, …",
)
@click.option(
    "--encoding",
    type=WORDS,
    help="The encoding of text files: utf-8, cp1252, shift_jis, …; by default found out.",
)
@click.option(
    "--pattern",
    "patterns",
    type=WORDS,
    multiple=True,
    metavar="PATTERN",
    help="Files of such names are one table: 'orders_*.csv'. May be repeated.",
)
@click.option(
    "--keyring/--no-keyring", default=False, help="Keep the password in this machine's keyring."
)
@click.option(
    "--stats/--no-stats", default=False, help="Measure what the columns hold, on a sample."
)
@click.option(
    "--values/--no-values", default=False, help="With --stats: values of personal columns too."
)
@dry_run
@_accept
@_yes
@format_options("json")
@catalog_options
@click.pass_context
def add(
    context: click.Context,
    target: Target,
    location: str,
    name: str | None,
    env: str,
    instance: str | None,
    schemas: tuple[str, ...],
    dialect: str | None,
    encoding: str | None,
    patterns: tuple[str, ...],
    shown_as: OutputFormat | None,
    *,
    keyring: bool,
    stats: bool,
    values: bool,
    dry_run: bool,
    accept_removals: bool,
    yes: bool,
) -> None:
    """Put a database, files, a dbt project or a log of queries into the catalog.

    LOCATION is a file, a folder, or the address of a database or bucket. Adding it again brings the
    catalog up to date, as catalog sources run does, with the options that it was added with, where
    others are not given.
    """
    from explorer.cli import edits
    from explorer.cli.output import confirm, line_text, note, show, show_notes
    from explorer.sources.configured import OPTIONS
    from explorer.sources.source import SourceOptions
    from explorer.views.sources import (
        first_run_notes,
        options_sentence,
        run_plan_report,
        run_report,
    )

    if not dry_run:
        edits.refuse_read_only(target)
    if values and not stats:
        raise click.UsageError("--values says what --stats may show; give both")
    given_options = {
        field
        for option, field in OPTIONS.items()
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE
    }
    options = SourceOptions(
        env, instance, schemas, dialect, stats, values, keyring, encoding, patterns
    )
    with target.open() as catalog:
        sources = _Sources(catalog)
        opened = sources.do(sources.session.open(location, name or "", options, given_options))
        password = _ask_password(opened.source) if keyring else None
        if opened.kept_options:
            flags = [f"--{_REPEATED.get(option, option)}" for option in opened.kept_options]
            note(line_text(options_sentence(flags, opened.name).rstrip(".")))
        plan = sources.plan(password, dry_run=dry_run)
        as_json = shown_as == "json"
        asks = plan.before is None and not yes and not as_json and _is_interactive()
        if dry_run:
            show(run_plan_report(plan), shown_as)
            show_notes(() if as_json else ["nothing was written"])
            return
        if plan.before is None and not as_json:
            show_notes(first_run_notes(plan))
        if asks and not confirm(catalog, "Add this?", default=True):
            raise click.Abort
        if opened.source.contains_secret and not opened.options.keyring:
            note(
                "the password in the address is not kept: before catalog sources run, set "
                "CATALOG_SOURCE_PASSWORD, or add it with ${NAME} in its place"
            )
        outcome = sources.write(plan, accept_removals=accept_removals, yes=yes)
        has_sample = plan.before is None and catalog.info().sample
    show(run_report(outcome), shown_as)
    if has_sample and not as_json:
        note("the sample is in this catalog as well; catalog sample remove takes it out")
    if outcome.refused:
        click.get_current_context().exit(1)


@BRING_IN.group(epilog=_SOURCES, invoke_without_command=True)
@format_options("json", "csv")
@catalog_options
@click.pass_context
def sources(context: click.Context, target: Target, shown_as: OutputFormat | None) -> None:
    """List the sources that were added, run them again, or remove them."""
    if context.invoked_subcommand is not None:
        if shown_as or target != Target(None, None, None):
            raise click.UsageError(f"give the options after {context.invoked_subcommand}")
        return
    from datetime import UTC, datetime

    from explorer.cli.output import show
    from explorer.views.sources import sources_table

    with target.open() as catalog:
        sources = _Sources(catalog)
        sources.do(sources.session.read())
    show(
        sources_table(sources.session.state.added, datetime.now(UTC)),
        shown_as,
        empty="no source was added; catalog add FILE or catalog add ADDRESS adds one",
    )


@sources.command("run")
@click.argument("names", nargs=-1, type=WORDS, metavar="[NAME]...")
@dry_run
@_accept
@_yes
@format_options("json")
@catalog_options
def run_sources(
    target: Target,
    names: tuple[str, ...],
    shown_as: OutputFormat | None,
    *,
    dry_run: bool,
    accept_removals: bool,
    yes: bool,
) -> None:
    """Read sources again and bring the catalog up to date.

    All that were added, where no NAME is given. One that fails loses no other. --json prints a list
    with an object for each, as catalog add does; one that failed has source and error.
    """
    from explorer.cli import edits
    from explorer.cli.output import line_text, note, print_json, show
    from explorer.errors import CatalogError
    from explorer.sources.configured import read_sources, require_source
    from explorer.views.sources import run_plan_report, run_report

    if not dry_run:
        edits.refuse_read_only(target)
    values: list[dict[str, Any]] = []
    as_json = shown_as == "json"
    failed = False
    with target.open() as catalog:
        if names:
            chosen = [require_source(catalog, name) for name in names]
        else:
            chosen = [
                source
                for source in read_sources(catalog)
                if source.is_own and not source.is_in_memory
            ]
        sources = _Sources(catalog)
        for configured in chosen:
            try:
                sources.do(sources.session.open_added(configured))
                plan = sources.plan(dry_run=dry_run)
                if dry_run:
                    report = run_plan_report(plan)
                    values.append(report.document)
                    if not as_json:
                        show(report)
                    continue
                outcome = sources.write(plan, accept_removals=accept_removals, yes=yes)
            except Exception as error:
                # Any error concerns only this source; the others are still read.
                if len(chosen) == 1 and not as_json:
                    raise
                is_told = isinstance(error, CatalogError)
                reason = str(error) if is_told else f"{type(error).__name__}: {error}"
                failed = True
                note(line_text(f"error: {configured.name}: {reason}"))
                values.append({"source": configured.name, "error": reason})
                continue
            failed = failed or bool(outcome.refused)
            report = run_report(outcome)
            values.append(report.document)
            if not as_json:
                show(report)
    if as_json:
        print_json(values)
    elif not chosen:
        note("no source was added; catalog add FILE or catalog add ADDRESS adds one")
    if failed:
        click.get_current_context().exit(1)


@sources.command("drift")
@click.argument("name", type=WORDS)
@click.option(
    "--take",
    is_flag=True,
    help="Write the texts of renamed columns to those that have none.",
)
@format_options("json", "csv")
@catalog_options
def drift(target: Target, name: str, shown_as: OutputFormat | None, *, take: bool) -> None:
    """Show how the tables of a source changed from run to run.

    Where a column was likely renamed, what people wrote of it can be taken over with --take: a
    column that has a text keeps it, and the old text stays as well, unless only the column's type
    or case changed.
    """
    from explorer.cli import edits
    from explorer.cli.output import line_text, note, show
    from explorer.sources.configured import find_texts, read_runs, require_source
    from explorer.views.sources import drift_table

    if take:
        edits.refuse_read_only(target)
    moved_texts: list[CarriedText] = []
    with target.open() as catalog:
        runs = read_runs(catalog, require_source(catalog, name))
        texts = find_texts(catalog, (entry for run in runs for entry in run.drift))
        if take:
            edits.keep_journal(catalog)
            sources = _Sources(catalog)
            moved_texts = sources.do(sources.session.take_texts(texts))
    unchanged = f"the tables of {name} have not changed since it was added"
    show(drift_table(runs), shown_as, empty=unchanged)
    for text in texts:
        place = f"{text.urn.name}: what was written of {text.column}"
        if text in moved_texts:
            note(line_text(f"{place} is taken to {text.likely}"))
        elif text.new_text:
            note(line_text(f"{place} is not taken to {text.likely}, which has a text of its own"))
        elif not take:
            note(line_text(f"{place} fits {text.likely}; --take writes it there: {text.text[:60]}"))


@sources.command("remove")
@click.argument("name", type=WORDS)
@click.option(
    "--hard", is_flag=True, help="Delete what it brought for good, with what people wrote of it."
)
@click.option("--dry-run", is_flag=True, help="Say what would go; remove nothing.")
@_yes
@catalog_options
def remove(target: Target, name: str, *, hard: bool, dry_run: bool, yes: bool) -> None:
    """Remove a source with all it brought.

    What it brought is hidden and can be restored; it comes back with its documentation when the
    source is added again. With --hard it is deleted for good. What other sources brought as well
    stays, and so do the lineage and use that a log of queries added.
    """
    from explorer.cli import edits
    from explorer.cli.output import confirm, line_text, note, note_message
    from explorer.sources.configured import require_source
    from explorer.views.sources import removal_sentence

    if not dry_run:
        edits.refuse_read_only(target)
    with target.open() as catalog:
        source = require_source(catalog, name)
        if not (yes or dry_run or _is_interactive()):
            raise click.UsageError("nobody is there to be asked; give --yes to remove the source")
        sources = _Sources(catalog)
        removal = sources.do(sources.session.plan_removal(source, is_hard=hard))
        note(line_text(removal_sentence(removal, is_hard=hard)))
        if dry_run:
            return
        if not yes and not confirm(catalog, "Remove it?"):
            raise click.Abort
        sources.do(sources.session.remove(removal, is_hard=hard))
    note_message(sources.session)


def _is_interactive() -> bool:
    """Return whether questions can be asked, because input comes from a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())


class _Sources:
    """A session with the sources of a catalog. It shows a progress bar for each step, and asks
    questions on the terminal."""

    def __init__(self, catalog: "Catalog") -> None:
        from explorer.sessions.sources import CallerRunner, SourceSession

        self._catalog = catalog
        self._runner = CallerRunner(catalog)
        self.session = SourceSession(catalog.core, self._runner)

    def do(self, doing: "Coroutine[Any, Any, _T]") -> "_T":
        """Run an action of the session and return its result."""
        with _bars() as progress:
            self.session.progress = progress
            return self._runner.wait(doing)

    def plan(self, password: str | None = None, *, dry_run: bool) -> "RunPlan":
        """Return what a run of the open source would change. If a password is missing or refused,
        asks for it."""
        from explorer.cli.output import line_text, note
        from explorer.sources.source import WrongPassword

        try:
            return self.do(self.session.plan(password, dry_run=dry_run))
        except WrongPassword:
            opened = self.session.state.opened
            if opened is None or not _is_interactive():
                raise
            place = opened.source.location
            note(line_text(f"{place} refuses the sign-in without the right password"))
            password = click.prompt("Password", hide_input=True, err=True)
            return self.do(self.session.plan(password, dry_run=dry_run))

    def write(self, plan: "RunPlan", *, accept_removals: bool, yes: bool) -> "RunOutcome":
        """Write a plan. If it hides most datasets of the source, asks for confirmation unless
        `accept_removals` or `yes` is set."""
        from explorer.cli.output import confirm, note
        from explorer.views.sources import removals_question

        question = removals_question(plan)
        if question and not accept_removals and not yes and _is_interactive():
            accept_removals = confirm(self._catalog, question)
        outcome = self.do(self.session.write(plan, accept_removals=accept_removals))
        if self.session.state.is_password_kept:
            note("the password is in this machine's keyring")
        return outcome


def _ask_password(source: "Source") -> str | None:
    """Return the password to store, asked for on the terminal; `None` if it is known already."""
    from explorer.cli.output import line_text, note
    from explorer.sources.database import PASSWORD_VARIABLE

    if not source.needs_password:
        raise click.UsageError("--keyring keeps the password of a database; this has none")
    if source.has_password:
        return None
    if not _is_interactive():
        raise click.UsageError(
            f"nobody is there to be asked for the password: set {PASSWORD_VARIABLE}"
        )
    note(line_text(f"the password of {source.location} is kept in this machine's keyring"))
    return str(click.prompt("Password", hide_input=True, err=True))


@contextmanager
def _bars() -> "Iterator[Progress]":
    """Show a progress bar for each step on standard error, if that is a terminal, until the block
    ends. Yields a function to call with the step, the number of items done, and the total."""
    from explorer.cli.output import progress_bars

    with progress_bars() as bars:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: int, total: int | None) -> None:
            # Steps without a total share one line, which shows the current step.
            key, label = ("", what[: bars.console.width - _BAR]) if total is None else (what, what)
            if key not in tasks:
                tasks[key] = bars.add_task(label, total=total)
            bars.update(tasks[key], description=label, completed=done, total=total)

        yield advance
