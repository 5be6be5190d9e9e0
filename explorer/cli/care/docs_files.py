"""The files of `catalog docs`: written whole or not at all, never over one that is there."""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from explorer.cli.output import note
from explorer.cli.tables import print_exactly
from explorer.client.display import line
from explorer.errors import InvalidInput, Unusable
from explorer.stewardship import Entry, Row, format_of, read_rows, write_report, write_rows

if TYPE_CHECKING:
    from explorer.stewardship import Change, Format

__all__ = ["check_report", "check_target", "format_for", "read", "write", "write_report_to"]

_STDIO = Path("-")


def format_for(file: Path | None, form: "Format | None") -> "Format":
    """The format said, or the one that the file's name tells."""
    if form is not None:
        return form
    if file is None or file == _STDIO:
        raise click.UsageError("--format says what is read or written where no file's name does")
    return format_of(file)


def check_target(file: Path | None, form: "Format", *, overwrite: bool) -> None:
    """Raises before anything is asked where the export could not be kept, or would replace a file
    in which somebody may have written."""
    if file is None or file == _STDIO:
        if form == "xlsx" and sys.stdout.isatty():
            raise click.UsageError("a workbook is nothing for a terminal; name a file: --output")
        return
    if file.exists() and not overwrite:
        raise InvalidInput(
            f"{line(str(file))} is there already, and somebody may have written in it; name "
            "another file, or say --overwrite"
        )
    if not file.absolute().parent.is_dir():
        raise Unusable(f"{line(str(file.absolute().parent))} is no directory; make it first")


def check_report(report: Path, file: Path) -> None:
    """Raises where the report would replace the file that is imported."""
    if file != _STDIO and report.exists() and report.samefile(file):
        raise click.UsageError("--report names the file that is imported; name another")
    if not report.absolute().parent.is_dir():
        raise Unusable(f"{line(str(report.absolute().parent))} is no directory; make it first")


def read(file: Path, form: "Format | None") -> tuple[Entry, ...]:
    """What a file says, or standard input."""
    chosen = format_for(file, form)
    try:
        data = sys.stdin.buffer.read() if file == _STDIO else file.read_bytes()
    except OSError as error:
        raise Unusable(f"{line(str(file))} cannot be read: {error.strerror}") from error
    return read_rows(data, chosen)


def write(rows: Sequence[Row], file: Path | None, form: "Format", *, asked: int) -> None:
    """The export, and what is in it. Raises `InvalidInput` where none of the datasets is there."""
    tables = sum(1 for row in rows if not row.column)
    if not tables:
        raise InvalidInput("none of these datasets is in this catalog; nothing was written")
    data = write_rows(rows, form)
    if file is not None and file != _STDIO:
        _replace(file, data)
    elif form == "xlsx":
        sys.stdout.buffer.write(data)
    else:
        print_exactly(data.decode())
    counts = f"{tables:,} {_s(tables, 'table')}, {len(rows) - tables:,} columns"
    where = f" in {line(str(file))}" if file is not None and file != _STDIO else ""
    note(Text(f"{counts}{where}"))
    if tables < asked:
        note(Text(f"{asked - tables:,} of the {asked:,} datasets are not in this catalog"))


def write_report_to(report: Path, left: "Iterable[Change]") -> None:
    """The report of what was not applied."""
    _replace(report, write_report(left))


def _replace(file: Path, data: bytes) -> None:
    try:
        if file.exists() and not file.is_file():
            # A pipe or a device is written to, not replaced.
            file.write_bytes(data)
            return
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o666 & ~_umask()
        descriptor, draft = tempfile.mkstemp(".part", f".{file.name[:60]}-", file.absolute().parent)
        try:
            with os.fdopen(descriptor, "wb") as held:
                held.write(data)
            Path(draft).chmod(mode)
            Path(draft).replace(file)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Unusable(f"{line(str(file))} cannot be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _s(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"
