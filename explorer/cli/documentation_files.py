"""Read and write the files in which documentation is exchanged: those of `catalog docs`, and
glossaries."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.output import note, print_exactly
from explorer.client.display import counted, line
from explorer.encoding import decode_text
from explorer.errors import InvalidInput, NotFound, StorageFault
from explorer.files import replace_file
from explorer.stewardship import (
    Change,
    Entry,
    Row,
    format_of,
    read_rows,
    write_report,
    write_rows,
)
from explorer.views import dbt as dbt_views

if TYPE_CHECKING:
    from explorer.stewardship import Format
    from explorer.stewardship.dbt import Unmatched
    from explorer.stewardship.glossary import GlossaryEntry

_STDIO = Path("-")


def format_for(file: Path | None, form: "Format | None") -> "Format":
    """Return the given format, or that of the file's extension.

    Raises `click.UsageError` if there is neither.
    """
    if form is not None:
        return form
    if file is None or file == _STDIO:
        raise click.UsageError("give the format with --format: there is no file name to tell it")
    return format_of(file)


def check_target(file: Path | None, form: "Format", *, overwrite: bool) -> None:
    """Check, before any request, that the export can be written and would not overwrite a file.

    Raises `InvalidInput` if the file exists, `StorageFault` if its directory does not, and
    `click.UsageError` for a workbook on a terminal.
    """
    if file is None or file == _STDIO:
        if form == "xlsx" and sys.stdout.isatty():
            raise click.UsageError("cannot print a workbook to a terminal; give --output FILE")
        return
    if file.exists() and not overwrite:
        raise InvalidInput(
            f"{line(str(file))} already exists and may have edits; give another file name, or "
            "--overwrite"
        )
    if not file.absolute().parent.is_dir():
        raise StorageFault(
            f"{line(str(file.absolute().parent))} is not a directory; create it first"
        )


def check_report(report: Path, file: Path) -> None:
    """Check that the report can be written and would not overwrite the imported file.

    Raises `click.UsageError` and `StorageFault`.
    """
    if file != _STDIO and report.exists() and report.samefile(file):
        raise click.UsageError("--report is the file to import; give another file name")
    if not report.absolute().parent.is_dir():
        raise StorageFault(
            f"{line(str(report.absolute().parent))} is not a directory; create it first"
        )


def read(file: Path, form: "Format | None", encoding: str | None) -> tuple[Entry, ...]:
    """Return the entries of a file, or of standard input for `-`.

    Raises `StorageFault` if the file cannot be read.
    """
    chosen = format_for(file, form)
    return read_rows(_read_data(file), chosen, encoding)


def _read_data(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
    except OSError as error:
        raise StorageFault(f"cannot read {line(str(file))}: {error.strerror}") from error


def write(rows: Sequence[Row], file: Path | None, form: "Format", *, asked: int) -> None:
    """Write the export, and print the numbers of tables and columns to standard error.

    Raises `InvalidInput` if none of the datasets exists.
    """
    tables = sum(1 for row in rows if not row.column)
    if not tables:
        raise InvalidInput("none of these datasets is in the catalog; nothing was written")
    data = write_rows(rows, form)
    if file is not None and file != _STDIO:
        write_file(file, data)
    elif form == "xlsx":
        sys.stdout.buffer.write(data)
    else:
        print_exactly(data.decode())
    counts = f"{counted(tables, 'table')}, {len(rows) - tables:,} columns"
    where = f" in {line(str(file))}" if file is not None and file != _STDIO else ""
    note(f"{counts}{where}")
    if tables < asked:
        note(f"{asked - tables:,} of the {asked:,} datasets are not in the catalog")


def write_report_to(report: Path, changes: "Iterable[Change]") -> None:
    """Write the report of changes that were not applied."""
    write_file(report, write_report(changes))


def write_file(file: Path, data: bytes) -> None:
    """Write a file atomically; its mode is kept. Raises `StorageFault` if that fails."""
    try:
        replace_file(file, data, mode=None, is_synced=False)
    except OSError as error:
        raise StorageFault(f"cannot write {line(str(file))}: {error.strerror}") from error


def require_dbt_matches(
    resources: int, unmatched: "Sequence[Unmatched]", *, has_manifest: bool
) -> None:
    """Raise `NotFound` if no resource of the project matches a dataset."""
    if why := dbt_views.no_match_sentence(resources, unmatched, has_manifest=has_manifest):
        raise NotFound(why)


def check_glossary_target(file: Path | None, *, overwrite: bool) -> None:
    """Raise `InvalidInput` if the file exists and `overwrite` is not set."""
    if file is not None and file != _STDIO and file.exists() and not overwrite:
        raise InvalidInput(f"{line(str(file))} already exists; give another name, or --overwrite")


def read_glossary(file: Path, encoding: str | None) -> "tuple[GlossaryEntry, ...]":
    """Return the entries of a file, or of standard input for `-`.

    Raises `StorageFault` if the file cannot be read, and `InvalidInput` if it is invalid.
    """
    from explorer.stewardship.glossary import parse_glossary

    data = _read_data(file)
    try:
        return parse_glossary(decode_text(data, encoding))
    except InvalidInput as error:
        raise InvalidInput(f"{line(str(file))}: {error}") from error


def write_glossary_file(entries: "Sequence[GlossaryEntry]", file: Path | None) -> None:
    """Write the file, and print the numbers of terms and groups to standard error."""
    from explorer.stewardship.glossary import write_glossary

    text = write_glossary(entries)
    terms = sum(1 for entry in entries if entry.is_term)
    if file is None or file == _STDIO:
        print_exactly(text)
    else:
        write_file(file, text.encode())
    where = f" in {line(str(file))}" if file not in (None, _STDIO) else ""
    note(f"{counted(terms, 'term')}, {counted(len(entries) - terms, 'group')}{where}")
