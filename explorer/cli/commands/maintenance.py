"""`catalog load`, `export`, `backup`, `check`, `reindex`, `compact`, `migrate` and `sample`: the
commands for a catalog as a whole."""

import asyncio
import os
import shlex
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
from explorer.cli.sections import EDIT, RUN

if TYPE_CHECKING:
    from explorer.client.connection import Connection
    from explorer.client.records import Rollback
    from explorer.sessions.loading import LoadSession

_EXPORT_EPILOG = """
\b
Examples
  catalog export all.json
  catalog export --entity dataset --platform hive | gzip > hive.json.gz
  catalog export - --profile test | catalog load - --profile prod

The file is a JSON list of changes, in the format of catalog load. It has no older versions of
aspects; catalog backup copies these too.
"""
_STDOUT = "-"
_PAGE = 200


@EDIT.command(epilog=_EXPORT_EPILOG)
@click.argument("file", default=_STDOUT, metavar="[FILE]", type=click.Path(allow_dash=True))
@click.option("--entity", type=WORDS, help="Only entities of this type, such as dataset.")
@click.option("--platform", type=WORDS, help="Only entities of this platform, such as hive.")
@click.option(
    "--include-removed/--exclude-removed",
    "removed",
    default=True,
    show_default=True,
    help="Whether to export soft-deleted entities.",
)
@catalog_options
def export(
    target: Target, file: str, entity: str | None, platform: str | None, *, removed: bool
) -> None:
    """Export the whole catalog to FILE, or to standard output.

    Exports the latest version of every aspect, and all time series aspects. An existing FILE is
    replaced when the export is complete.
    """
    from explorer.cli.output import note
    from explorer.client.connection import Connection

    query = {"entity": entity, "platform": platform, "removed": str(removed).lower()}
    with _open_output(file) as out:
        connection = Connection(target.url, data_dir=target.data_dir, token=target.token)
        changes, entities = asyncio.run(
            _write(connection, query, out.write, to_stdout=file == _STDOUT)
        )
    note(f"exported {changes:,} changes of {entities:,} entities")


async def _write(
    connection: "Connection",
    query: dict[str, str | None],
    write: Callable[[bytes], Any],
    *,
    to_stdout: bool,
) -> tuple[int, int]:
    import orjson

    from explorer.cli.output import escape_json

    changes, urns = 0, 0
    last = None
    # Files and pipes get every byte as it is stored; only on a terminal, characters are escaped.
    encode = escape_json if sys.stdout.isatty() and to_stdout else bytes
    try:
        async for proposal in _proposals(connection, query):
            write((b",\n" if changes else b"[\n") + encode(orjson.dumps(proposal)))
            changes += 1
            if proposal["entityUrn"] != last:
                last = proposal["entityUrn"]
                urns += 1
    finally:
        await connection.close()
    write(b"\n]\n" if changes else b"[\n]\n")
    return changes, urns


async def _proposals(
    connection: "Connection", query: dict[str, str | None]
) -> AsyncIterator[dict[str, Any]]:
    from urllib.parse import urlencode

    from explorer.client.transport import Request
    from explorer.errors import InvalidInput, NotFound, ServerFault

    after: str | None = ""
    while after is not None:
        fields = {"after": after, "limit": str(_PAGE), **query}
        parameters = urlencode({key: value for key, value in fields.items() if value})
        try:
            body = await connection.send(Request("GET", f"/export?{parameters}"))
        except NotFound as error:
            raise InvalidInput(
                f"{connection.address} does not support export: only servers started with catalog "
                "serve do"
            ) from error
        match body:
            case {"value": {"proposals": [*proposals], "next": str() | None as following}}:
                after = following
            case _:
                raise ServerFault(f"unexpected response from {connection.address} to an export")
        for proposal in proposals:
            yield proposal


@contextmanager
def _open_output(name: str) -> Iterator[IO[bytes]]:
    """Open standard output for `-`, or a device, pipe or file. A file is written under a temporary
    name, and renamed when it is complete.

    Raises `InvalidInput` if the file cannot be written.
    """
    from explorer.errors import InvalidInput
    from explorer.files import path_to_replace

    if name == _STDOUT:
        yield sys.stdout.buffer
        return
    path = path_to_replace(Path(name))
    if path is None:
        try:
            with Path(name).open("wb") as out:
                yield out
        except OSError as error:
            raise InvalidInput(f"cannot write {name}: {error.strerror or error}") from error
        return
    draft = path.with_name(f"{path.name}.partial")
    try:
        # An export is as confidential as the catalog.
        draft.touch(mode=0o600)
        draft.chmod(0o600)
        with draft.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


_BACKUP_EPILOG = """
\b
Examples
  catalog backup /backups/catalog-$(date +%F)
  catalog serve --data-dir /backups/catalog-2030-01-31 --port 0

To check a backup: catalog check --data-dir /backups/catalog-2030-01-31. To restore it: catalog
restore /backups/catalog-2030-01-31.
"""


@RUN.command(epilog=_BACKUP_EPILOG)
@click.argument("dest", type=click.Path(path_type=Path), metavar="DEST")
@kept_in
def backup(dest: Path, data_dir: Path | None) -> None:
    """Back up the catalog to the new directory DEST.

    The backup is a consistent snapshot, and can be made while the catalog is served and written to.
    Access tokens in the data directory are copied too.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.server.data_directory import back_up

    directory = data_dir or config.data_dir()
    size_bytes = back_up(directory, dest)
    note(f"backed up {directory} to {dest}: {size_bytes:,} bytes")


_SHOWN = 100

_CHECK_EPILOG = """
\b
Examples
  catalog check
  catalog check --data-dir /var/lib/catalog
  catalog check --data-dir /media/backups/catalog-2030-01-31
"""


@RUN.command(epilog=_CHECK_EPILOG)
@click.option(
    "--accept-loss", is_flag=True, help="Go on without the changes that are told to be lost."
)
@kept_in
@registry_file
def check(data_dir: Path | None, registry_file: Path | None, *, accept_loss: bool) -> None:
    """Check the integrity of a catalog on this machine.

    Runs SQLite's integrity check on the database file, and compares the files of the search index
    with their checksums. Then it recomputes everything that is derived from the stored aspects
    (versions, relationships, browse folders, the change log, the search index), runs searches, and
    compares the results with what is stored. Stop the service of the catalog first. Backups can be
    checked too, even on read-only media. The exit code is 1 if there are differences.

    A catalog that lost its file, or its latest changes with the write-ahead log beside it, is told
    by what the directory remembers of it; so is an older copy that was put in its place by hand.
    Restore a backup then. With --accept-loss nothing is checked: what is lost is told once more,
    and not after that. A catalog that is gone begins anew as an empty one.
    """
    from explorer import config
    from explorer.errors import StorageFault
    from explorer.server.data_directory import accept_loss as accept
    from explorer.server.data_directory import find_missing, hold_to
    from explorer.server.remembered import FILE

    directory = data_dir or config.data_dir()
    is_there = directory.is_dir() if accept_loss else (directory / FILE).is_file()
    if not is_there and find_missing(directory) is None:
        raise StorageFault(
            f"there is no catalog in {directory}; give its directory with --data-dir"
        )
    if accept_loss:
        with hold_to("check", directory):
            lost = accept(directory)
        for sentence in lost or ("nothing is lost",):
            click.echo(sentence, err=True)
        return
    # A read-only directory cannot be locked, and cannot be served either.
    with hold_to("check", directory) if os.access(directory, os.W_OK) else nullcontext():
        from explorer.server.consistency import MOST, check_directory

        findings = check_directory(directory, registry_file)
    if not findings:
        click.echo(f"{directory} is consistent")
        return
    from explorer.client.display import counted, line

    for finding in findings[:_SHOWN]:
        click.echo(line(f"{finding.part}\t{finding.subject}\t{finding.problem}"))
    counts = Counter(finding.part for finding in findings)
    number = len(findings)
    total = f"{number} or more findings" if number == MOST else counted(number, "finding")
    by_part = ", ".join(f"{count} in {part}" for part, count in counts.most_common())
    click.echo(f"{total}: {by_part}", err=True)
    click.echo(_advice(directory, set(counts)), err=True)
    click.get_current_context().exit(1)


def _advice(directory: Path, parts: set[str]) -> str:
    if parts == {"search"}:
        return (
            "only the search index differs, and no metadata is lost; rebuild the index with: "
            "catalog reindex"
        )
    if "lost" in parts:
        return (
            f"keep a copy of {directory}, and restore a backup with: catalog restore BACKUP; or go "
            "on with what is left: catalog check --accept-loss"
        )
    if "file" in parts:
        return (
            f"the database is damaged, and reading it may give wrong results: keep a copy of "
            f"{directory}, find what damages files (disk, memory, other programs), and restore a "
            "backup with: catalog restore BACKUP"
        )
    return (
        f"keep a copy of {directory} and report this with the lines above; "
        "if you have a backup, restore it with: catalog restore BACKUP"
    )


@RUN.command()
@kept_in
@registry_file
def reindex(data_dir: Path | None, registry_file: Path | None) -> None:
    """Rebuild the search index from the stored metadata.

    Stop the service of the catalog first. The metadata itself is not changed.
    """
    from explorer import config
    from explorer.cli.ingestion import progress
    from explorer.cli.output import note
    from explorer.metadata.registry import load_registry
    from explorer.server.data_directory import reindex as rebuild_index

    directory = data_dir or config.data_dir()
    with progress() as start_task:
        entities = rebuild_index(
            directory, load_registry(registry_file), lambda total: start_task("indexing", total)
        )
    note(f"rebuilt the search index of {directory}: {entities:,} entities")


_COMPACT_EPILOG = """
\b
Examples
  catalog compact
  catalog compact --data-dir /var/lib/catalog
"""


@RUN.command(epilog=_COMPACT_EPILOG)
@kept_in
def compact(data_dir: Path | None) -> None:
    """Free the disk space of data deleted from a catalog.

    Later writes reuse this space, so compacting is worthwhile only after much was deleted
    permanently, or after an upgrade converted the catalog to a new format. Stop the service of the
    catalog first. The database file is rewritten, which temporarily needs as much space again.
    """
    from explorer import config
    from explorer.cli.output import note
    from explorer.server.data_directory import compact as rewrite

    directory = data_dir or config.data_dir()
    before, now = rewrite(directory)
    note(f"compacted the database of {directory} from {before:,} to {now:,} bytes")


_MIGRATE_EPILOG = """
\b
Examples
  catalog migrate --from /var/lib/catalog --to postgresql://catalog@db/catalog
  catalog migrate --from postgresql://catalog@db/catalog --to /var/lib/catalog

What is copied are all versions, who wrote them when, documents over time, the change log and the
access tokens. The audit log stays where it is. Interrupted, it goes on where it was when it is
started again with the same words.

The source may be served meanwhile. At the end it takes no writes (they are answered with 503, and
reads go on) while the rest is copied and both are compared; then, until its server is stopped.
"""
_PLACE = "DIR|postgresql://USER@HOST/DATABASE"


@RUN.command(epilog=_MIGRATE_EPILOG)
@click.option("--from", "source", required=True, metavar=_PLACE, help="Where the catalog is.")
@click.option(
    "--to", "target", required=True, metavar=_PLACE, help="Where it is to be; nothing is there yet."
)
def migrate(source: str, target: str) -> None:
    """Copy a catalog between a data directory and a PostgreSQL database.

    Nobody may serve the target meanwhile. The source is only read. At the end both are compared,
    row by row.
    """
    from explorer.cli.ingestion import progress
    from explorer.cli.output import note
    from explorer.server.data_directory import has_audit_records
    from explorer.server.data_directory import migrate as copy

    for option, place in (("--from", source), ("--to", target)):
        warn_of_password(option, place)

    def switch() -> None:
        note(
            "everything is copied, and the source takes no more writes: stop what serves it, and "
            f"serve {target if '://' not in target else 'the database'} from now on; this ends "
            "when the old server has ended"
        )

    with progress() as start_task:
        tables = copy(source, target, lambda total: start_task("copying", total), switch)
    counted = ", ".join(f"{table.rows:,} {table.name}" for table in tables)
    note(f"everything is copied, and the same in both: {counted}")
    if has_audit_records(source):
        is_database = "://" in source
        place = "--store, with the address given to --from" if is_database else "--data-dir "
        note(
            "the audit log is not copied; who changed what until now, and who was refused, is "
            f"listed by: catalog audit {place}{'' if is_database else shlex.quote(source)}"
        )


_SAMPLE_EPILOG = """
\b
Examples
  catalog sample load
  catalog search orders
  catalog sample remove
"""


@RUN.group(epilog=_SAMPLE_EPILOG)
def sample() -> None:
    """Load or remove the sample catalog of a fictional company.

    A new local catalog already contains the sample. It is ingested as one run, so it can be removed
    without affecting anything else.
    """


@sample.command("load")
@catalog_options
def load_sample(target: Target) -> None:
    """Load the sample into the catalog.

    The sample has usage and profiles for the last thirty days.

    \b
    Example
      catalog sample load --url http://127.0.0.1:8080
    """
    from datetime import UTC, datetime

    from explorer.cli.ingestion import load_report, progress, send
    from explorer.cli.output import show
    from explorer.sample import sample_proposals
    from explorer.sessions.loading import LoadSession

    with target.open() as catalog, progress() as start_task:
        loading = LoadSession(catalog.core, "sample")
        changes = list(sample_proposals(datetime.now(UTC).date()))
        send(loading, catalog, changes, start_task(loading.source, len(changes)))
    show(load_report([loading]))
    if loading.state.refused:
        click.get_current_context().exit(1)


@sample.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@catalog_options
def remove(target: Target, *, yes: bool) -> None:
    """Remove the sample from the catalog, including later edits of it.

    Shows what will be removed and asks for confirmation.

    \b
    Example
      catalog sample remove --yes
    """
    import sys

    from explorer.cli.output import confirm
    from explorer.sample import SAMPLE_RUN_ID
    from explorer.sessions.loading import LoadSession

    if not (yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError(
            "cannot ask for confirmation: standard input is not a terminal; give --yes to remove "
            "the sample"
        )
    with target.open() as catalog:
        loading = LoadSession(catalog.core, "sample")
        going = catalog.wait(loading.plan_removal(SAMPLE_RUN_ID))
        if not going.aspects:
            click.echo("this catalog has no sample; nothing to remove", err=True)
            return
        if not yes:
            click.echo(f"to be removed: {_describe_counts(going)}", err=True)
            if not confirm(catalog, "Remove the sample?"):
                click.echo("nothing was removed", err=True)
                click.get_current_context().exit(1)
        click.echo(f"removed {_describe_counts(catalog.wait(loading.remove(SAMPLE_RUN_ID)))}")


def _describe_counts(rollback: "Rollback") -> str:
    counts = f"{rollback.aspects:,} aspects, {rollback.entities:,} entities"
    if rollback.changed_since:
        counts += f" ({rollback.changed_since:,} of them edited since)"
    return counts


_LOAD_EPILOG = """
\b
Examples
  catalog load metadata/*.json
  curl -s https://example.com/metadata.json | catalog load -
  catalog load nightly.json.zst --report refused.jsonl
  catalog load --resume metadata/*.json       (after an interruption)

\b
A file is a JSON list or a sequence of JSON objects, optionally compressed
with gzip or zstd. Files are streamed, so they can have any size. Records are:
  a change      {"entityUrn": …, "aspectName": …, "aspect": {"value": "…"}}
  the same      {"entityUrn": …, "aspectName": …, "aspect": {"json": {…}}}
  a snapshot    {"proposedSnapshot": {"….DatasetSnapshot": {…}}}
  usage         {"buckets": [{"bucket": …, "resource": …, "metrics": {…}}]}

\b
Exit codes
  0  everything was loaded
  1  some changes were rejected; the others were loaded
  2  usage error
  3  the server cannot be reached or stopped responding; changes loaded before
     are kept
"""


@EDIT.command(epilog=_LOAD_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all rejected changes to this file, one JSON object per line.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted load of the same FILEs.")
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
    """Load metadata from FILEs; - reads standard input.

    Rejected changes are listed with their position, URN and reason; all others are loaded.
    """
    can_resume = "-" not in files
    if resume and not can_resume:
        raise click.UsageError("--resume works only with files, not with standard input")
    from explorer.cli import ingestion
    from explorer.cli.output import note, show
    from explorer.errors import CatalogError

    loads: list[LoadSession] = []
    stopped: CatalogError | None = None
    with ingestion.report_to(report) as log, target.open() as catalog:
        try:
            ingestion.load_files(catalog, files, log, loads, resume=resume)
        except CatalogError as error:
            stopped = error
        except KeyboardInterrupt:
            if can_resume:
                note("interrupted; to continue, run the same command with --resume")
            raise
    loaded = ingestion.load_report(loads, str(stopped) if stopped else None)
    show(loaded, "json" if as_json else None)
    if stopped is not None:
        if can_resume and any(loading.state.aspects for loading in loads):
            note("to continue, run the same command with --resume")
        raise stopped
    if any(loading.state.refused for loading in loads):
        click.get_current_context().exit(1)
