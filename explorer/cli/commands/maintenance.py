"""`catalog load`, `export`, `backup`, `check`, `reindex`, `compact`, `migrate` and `sample`: a
catalog's content as a whole.
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from explorer.cli.options import (
    WORDS,
    Target,
    catalog_options,
    kept_in,
    registry_file,
    warn_of_password,
)

if TYPE_CHECKING:
    from explorer.cli.ingestion import Outcome
    from explorer.client.connection import Connection
    from explorer.client.records import Rollback

__all__ = ["backup", "check", "compact", "export", "load", "migrate", "reindex", "sample"]

_EXPORT_EPILOG = """
\b
Examples
  catalog export all.json
  catalog export --entity dataset --platform hive | gzip > hive.json.gz
  catalog export - --url http://one:8080 | catalog load - --url http://two:8080

The file is a JSON list of changes, as `catalog load` takes them. Older versions of aspects are not
in it; `catalog backup` copies those too.
"""
_STDOUT = "-"
_PAGE = 200


@click.command(epilog=_EXPORT_EPILOG)
@click.argument("file", default=_STDOUT, metavar="[FILE]", type=click.Path(allow_dash=True))
@click.option("--entity", type=WORDS, help="Only entities of this type, such as dataset.")
@click.option("--platform", type=WORDS, help="Only entities of this platform, such as hive.")
@click.option(
    "--include-removed/--exclude-removed",
    "removed",
    default=True,
    show_default=True,
    help="Whether entities marked as removed are given.",
)
@catalog_options
def export(
    target: Target, file: str, entity: str | None, platform: str | None, *, removed: bool
) -> None:
    """Write everything the catalog holds to FILE, or to standard output.

    All latest aspects and all documents over time. A FILE that exists is replaced once all is
    written.
    """
    from explorer.cli.output import note
    from explorer.client.connection import Connection

    query = {"entity": entity, "platform": platform, "removed": str(removed).lower()}
    with _opened(file) as out:
        connection = Connection(target.url, data_dir=target.data_dir, token=target.token)
        changes, entities = asyncio.run(
            _write(connection, query, out.write, to_stdout=file == _STDOUT)
        )
    note(f"{changes:,} changes of {entities:,} entities are written")


async def _write(
    connection: "Connection",
    query: dict[str, str | None],
    write: Callable[[bytes], Any],
    *,
    to_stdout: bool,
) -> tuple[int, int]:
    import orjson

    from explorer.cli.output import escaped_json

    changes, urns = 0, 0
    last = None
    # Files and pipes get every byte as it is stored.
    shown = escaped_json if sys.stdout.isatty() and to_stdout else bytes
    write(b"[")
    try:
        async for proposal in _proposals(connection, query):
            write((b",\n" if changes else b"\n") + shown(orjson.dumps(proposal)))
            changes += 1
            if proposal["entityUrn"] != last:
                last = proposal["entityUrn"]
                urns += 1
    finally:
        await connection.close()
    write(b"\n]\n")
    return changes, urns


async def _proposals(
    connection: "Connection", query: dict[str, str | None]
) -> AsyncIterator[dict[str, Any]]:
    from urllib.parse import urlencode

    from explorer.client.transport import Request
    from explorer.errors import InvalidInput, NotFound, ServerFault

    after: str | None = ""
    while after is not None:
        given = {"after": after, "limit": str(_PAGE), **query}
        said = urlencode({key: value for key, value in given.items() if value})
        try:
            body = await connection.send(Request("GET", f"/export?{said}"))
        except NotFound as error:
            raise InvalidInput(
                f"{connection.address} cannot export: only a server of `catalog serve` can"
            ) from error
        match body:
            case {"value": {"proposals": [*proposals], "next": str() | None as following}}:
                after = following
            case _:
                raise ServerFault(f"{connection.address} answered with something else")
        for proposal in proposals:
            yield proposal


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Where to write; a file has its name only when all of it is there."""
    from explorer.errors import InvalidInput

    if name == _STDOUT:
        yield sys.stdout.buffer
        return
    path = Path(name)
    draft = path.with_name(f"{path.name}.partial")
    try:
        with draft.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


_BACKUP_EPILOG = """
\b
Examples
  catalog backup /backups/catalog-$(date +%F)
  catalog serve --data-dir /backups/catalog-2030-01-31 --port 0

To go back to a copy: catalog restore /backups/catalog-2030-01-31. To prove that it
is whole: catalog check --data-dir /backups/catalog-2030-01-31.
"""


@click.command(epilog=_BACKUP_EPILOG)
@click.argument("dest", type=click.Path(path_type=Path), metavar="DEST")
@kept_in
def backup(dest: Path, data_dir: Path | None) -> None:
    """Copy the catalog, as it is at one moment, to the new directory DEST.

    It may be served and written to meanwhile. Access tokens kept in its directory are copied too.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.server.data_directory import back_up

    directory = data_dir or config.data_dir()
    size_bytes = back_up(directory, dest)
    note(f"{directory} is copied to {dest}: {size_bytes:,} bytes")


_SHOWN = 100

_CHECK_EPILOG = """
\b
Examples
  catalog check
  catalog check --data-dir /var/lib/catalog
  catalog check --data-dir /media/backups/catalog-2030-01-31
"""


@click.command(epilog=_CHECK_EPILOG)
@kept_in
@registry_file
def check(data_dir: Path | None, registry_file: Path | None) -> None:
    """Prove that a catalog on this machine's disk agrees with itself.

    Lets SQLite check the database file, and compares the files of the search index with their
    checksums. Then works everything out again that follows from what was written (versions,
    relationships, browse folders, the change log, the search index), makes searches, and compares
    it with what is kept. Nobody may be serving the catalog meanwhile. A backup can be checked
    where it lies, also on read-only media. Ends with 1 when something does not agree.
    """
    from explorer import config
    from explorer.errors import StorageFault
    from explorer.instance import hold

    directory = data_dir or config.data_dir()
    if not (directory / "catalog.db").is_file():
        raise StorageFault(f"there is no catalog in {directory}; name another with --data-dir")
    # A directory that cannot be written cannot be held, and nobody serves it.
    with hold(directory) if os.access(directory, os.W_OK) else nullcontext():
        from explorer.server.consistency import MOST, check_directory

        findings = check_directory(directory, registry_file)
    if not findings:
        click.echo(f"{directory} is consistent")
        return
    from explorer.client.display import line

    for finding in findings[:_SHOWN]:
        click.echo(line(f"{finding.part}\t{finding.subject}\t{finding.problem}"))
    counts = Counter(finding.part for finding in findings)
    most = " or more" if len(findings) == MOST else ""
    told = ", ".join(f"{count} in {part}" for part, count in counts.most_common())
    click.echo(f"{len(findings)}{most} findings: {told}", err=True)
    click.echo(_advice(directory, set(counts)), err=True)
    click.get_current_context().exit(1)


def _advice(directory: Path, parts: set[str]) -> str:
    if parts == {"search"}:
        return (
            "only the search index differs, and nothing that was written is lost; make it anew "
            "with: catalog reindex"
        )
    if "file" in parts:
        return (
            f"the database is damaged, and reading it may give wrong answers: keep a copy of "
            f"{directory}, look for what damages files (disk, memory, other programs), and go back "
            "to a backup with: catalog restore BACKUP"
        )
    return (
        f"keep a copy of {directory} and report this with the lines above; "
        "if there is a backup, go back to it with: catalog restore BACKUP"
    )


@click.command()
@kept_in
@registry_file
def reindex(data_dir: Path | None, registry_file: Path | None) -> None:
    """Make the search index anew from what is stored.

    Nobody may serve the catalog meanwhile. What is stored is not touched.
    """
    from explorer import config
    from explorer.cli.ingestion import progress
    from explorer.cli.output import note
    from explorer.metadata.registry import load_registry
    from explorer.server.data_directory import reindex as make_anew

    directory = data_dir or config.data_dir()
    with progress() as begin:
        entities = make_anew(
            directory, load_registry(registry_file), lambda total: begin("indexing", total)
        )
    note(f"the search index of {directory} is made anew: {entities:,} entities")


_COMPACT_EPILOG = """
\b
Examples
  catalog compact
  catalog compact --data-dir /var/lib/catalog
"""


@click.command(epilog=_COMPACT_EPILOG)
@kept_in
def compact(data_dir: Path | None) -> None:
    """Give back the disk that what was removed from a catalog took.

    What is written later takes that room too, so this is of use after much was removed for good, or
    after a new release brought the catalog to its format. Nobody may serve the catalog meanwhile.
    The database is written anew and needs as much room again until that is done.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.server.data_directory import compact as write_anew

    directory = data_dir or config.data_dir()
    before, now = write_anew(directory)
    note(f"the database of {directory} takes {now:,} bytes; it took {before:,}")


_MIGRATE_EPILOG = """
\b
Examples
  catalog migrate --from /var/lib/catalog --to postgresql://catalog@db.example.com/catalog
  catalog migrate --from postgresql://catalog@db.example.com/catalog --to /var/lib/catalog

What is copied are all versions, who wrote them when, documents over time and the change log. Access
tokens stay where they are, in the data directory. Stop what serves the catalog first. Interrupted,
it goes on where it was when it is started again with the same words.
"""
_PLACE = "DIR|postgresql://USER@HOST/DATABASE"


@click.command(epilog=_MIGRATE_EPILOG)
@click.option("--from", "source", required=True, metavar=_PLACE, help="Where the catalog is.")
@click.option(
    "--to", "target", required=True, metavar=_PLACE, help="Where it is to be; nothing is there yet."
)
def migrate(source: str, target: str) -> None:
    """Copy a catalog between a data directory and a PostgreSQL database.

    Nobody may serve either meanwhile. The source is only read. At the end both are compared, row by
    row.
    """
    from explorer.cli.ingestion import progress
    from explorer.cli.output import note
    from explorer.server.data_directory import migrate as copy

    for option, place in (("--from", source), ("--to", target)):
        warn_of_password(option, place)
    with progress() as begin:
        tables = copy(source, target, lambda total: begin("copying", total))
    counted = ", ".join(f"{one.rows:,} {one.name}" for one in tables)
    note(f"everything is copied, and the same in both: {counted}")


_SAMPLE_EPILOG = """
\b
Examples
  catalog sample load
  catalog search orders
  catalog sample remove
"""


@click.group(epilog=_SAMPLE_EPILOG)
def sample() -> None:
    """A made-up company's catalog, to try things on.

    A new catalog of this machine's own holds it already. It goes in as one run of ingestion, and
    is taken out again without touching anything else.
    """


@sample.command("load")
@catalog_options
def load_sample(target: Target) -> None:
    """Put the sample into the catalog.

    Use and profiles reach from thirty days ago to today.

    \b
    Example
      catalog sample load --url http://127.0.0.1:8080
    """
    from datetime import UTC, datetime

    from explorer.cli.ingestion import Outcome, print_counts, progress, send, tell_refusals
    from explorer.sample import sample_proposals

    outcome = Outcome("sample")
    with target.open() as catalog, progress() as begin:
        changes = list(sample_proposals(datetime.now(UTC).date()))
        send(catalog, changes, outcome, begin(outcome.source, len(changes)))
    print_counts([outcome])
    tell_refusals([outcome])
    if outcome.refused:
        click.get_current_context().exit(1)


@sample.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@catalog_options
def remove(target: Target, *, yes: bool) -> None:
    """Take the sample out again, with what was written over it.

    Says what will go, and asks.

    \b
    Example
      catalog sample remove --yes
    """
    import sys

    from explorer.sample import SAMPLE_RUN_ID

    if not (yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("nobody is there to be asked; give --yes to remove the sample")
    with target.open() as catalog:
        going = catalog.roll_back(SAMPLE_RUN_ID, dry_run=True)
        if not going.aspects:
            click.echo("no sample in this catalog; nothing to remove", err=True)
            return
        if not yes:
            click.echo(f"to be removed: {_counted(going)}", err=True)
            if not click.confirm("Remove them?", err=True):
                click.echo("nothing was removed", err=True)
                click.get_current_context().exit(1)
        click.echo(f"removed {_counted(catalog.roll_back(SAMPLE_RUN_ID))}")


def _counted(rollback: "Rollback") -> str:
    counts = f"{rollback.aspects:,} aspects, {rollback.entities:,} entities"
    if rollback.touched:
        counts += f" ({rollback.touched:,} of them with what others wrote since)"
    return counts


_LOAD_EPILOG = """
\b
Examples
  catalog load metadata/*.json
  curl -s https://example.com/metadata.json | catalog load -
  catalog load nightly.json.zst --report refused.jsonl
  catalog load --resume metadata/*.json       (after one was interrupted)

\b
A file is a JSON list, or JSON objects one after the other, and may be
compressed by gzip or zstd. It is read as it is sent: it may be of any size.
In it are:
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


@click.command(epilog=_LOAD_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every refusal to this file, one JSON object a line.",
)
@click.option("--resume", is_flag=True, help="Go on where an earlier load of the FILEs ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all counts.")
@catalog_options
def load(
    target: Target,
    files: tuple[str, ...],
    report: Path | None,
    *,
    resume: bool,
    as_json: bool,
) -> None:
    """Load metadata FILEs; - is standard input.

    What is refused is told with its place, URN and reason, and loses nothing else.
    """
    can_resume = "-" not in files
    if resume and not can_resume:
        raise click.UsageError("standard input comes only once; --resume goes with named files")
    from explorer.cli import ingestion
    from explorer.cli.output import note
    from explorer.errors import CatalogError

    outcomes: list[Outcome] = []
    stopped: CatalogError | None = None
    with ingestion.report_to(report) as log, target.open() as catalog:
        try:
            ingestion.load_files(catalog, files, log, outcomes, resume=resume)
        except CatalogError as error:
            stopped = error
        except KeyboardInterrupt:
            if can_resume:
                note("interrupted; the same command with --resume goes on")
            raise
    if as_json:
        ingestion.print_as_json(outcomes, str(stopped) if stopped else None)
    else:
        ingestion.print_counts(outcomes)
    ingestion.tell_refusals(outcomes)
    if stopped is not None:
        if can_resume and any(outcome.aspects for outcome in outcomes):
            note("the same command with --resume goes on")
        raise stopped
    if any(outcome.refused for outcome in outcomes):
        click.get_current_context().exit(1)
