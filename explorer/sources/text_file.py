"""Convert CSV and JSON files to a form that DuckDB reads: in UTF-8 and, for CSV, with as many
fields in each row as in the header. Of other files, the beginning is copied in this form."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, Literal, TextIO
from uuid import uuid4

from explorer.encoding import SAMPLE_BYTES, find_encoding, undecodable
from explorer.errors import InvalidFile
from explorer.metadata.files import decompress
from explorer.sources.storage import Storage

TextFormat = Literal["csv", "json", "json lines"]

DELIMITERS: Final = ",;\t|"
"""The characters that separate the fields of CSV files."""

_SPACE: Final = " \t\r\n"
_METADATA: Final = ("proposedSnapshot", "aspectName")
_MOST_CHARACTERS: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class TextCopy:
    """The beginning of a file, copied to `path`. `encoding` is the encoding of the original. `rows`
    is the number of rows after the header, `ragged` the number of rows with more or fewer fields
    than the header. `is_whole` is set if nothing was left out."""

    path: Path
    encoding: str
    rows: int = 0
    ragged: int = 0
    is_whole: bool = True


@contextmanager
def _open(storage: Storage, address: str) -> Iterator[BinaryIO]:
    """Open the decompressed bytes of a file. Raises `InvalidFile` if it is damaged."""
    with storage.open(address) as stream:
        data, source = decompress(stream)
        yield data
        if source is not None and source.damage is not None:
            raise InvalidFile(f"it is cut off or damaged: {source.damage}")


def read_encoding(storage: Storage, address: str) -> str:
    """Return the encoding of a text file, detected from its beginning."""
    with _open(storage, address) as data:
        return find_encoding(data.read(SAMPLE_BYTES))


def why_no_records(storage: Storage, address: str, encoding: str) -> str | None:
    """Return a phrase for the content of a JSON file that does not contain records, or `None` if it
    does: objects in a list, or one after another. Reads its beginning."""
    with _open(storage, address) as data:
        start = data.read(SAMPLE_BYTES)
    text = start.decode(encoding, errors="replace").removeprefix("\ufeff").lstrip(_SPACE)
    is_list = text.startswith("[")
    first = text.removeprefix("[").lstrip(_SPACE)
    if not first.startswith("{"):
        return "no objects"
    try:
        record, end = json.JSONDecoder().raw_decode(first)
    except json.JSONDecodeError:
        if len(start) < SAMPLE_BYTES:
            return "damaged JSON"
        record, end = {}, len(first)
    if any(name in record for name in _METADATA):
        return "metadata, which catalog load takes"
    if not is_list and not first[end:].lstrip(_SPACE).startswith("{"):
        return "one object instead of records"
    return None


def copy_text(
    storage: Storage,
    address: str,
    format_: TextFormat,
    folder: Path,
    most_rows: int,
    encoding: str | None,
) -> TextCopy:
    """Copy the beginning of a file into a folder: at most `most_rows` rows, but all of a JSON list.

    The copy is in UTF-8. In ragged rows of a CSV file, fields beyond those of the header are
    dropped, and missing ones are empty. The encoding is detected unless it is given. Raises
    `InvalidFile` if the file is not in that encoding, or damaged, and `OSError`.
    """
    name = encoding or read_encoding(storage, address)
    # Partition keys are read from the path.
    keys = [part for part in address.split("/")[:-1] if "=" in part]
    path = folder.joinpath(*keys, f"{uuid4().hex}.txt")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _open(storage, address) as data, path.open("w", encoding="utf-8", newline="") as file:
            lines = _decode_lines(data, name)
            if format_ == "csv":
                rows, ragged, is_whole = _copy_rows(lines, file, most_rows)
            else:
                is_whole = _copy_json(lines, file, most_rows if format_ == "json lines" else None)
                return TextCopy(path, name, is_whole=is_whole)
    except UnicodeDecodeError as error:
        raise InvalidFile(undecodable(name, error, is_given=encoding is not None)) from None
    except csv.Error as error:
        raise InvalidFile(f"it is no CSV: {error}") from None
    if ragged:
        path = _level_rows(path)
    return TextCopy(path, name, rows, ragged, is_whole)


def _decode_lines(data: BinaryIO, encoding: str) -> Iterator[str]:
    with io.TextIOWrapper(data, encoding, newline="") as lines:
        yield lines.readline().removeprefix("\ufeff")
        yield from lines


def _copy_json(lines: Iterable[str], file: TextIO, most_lines: int | None) -> bool:
    """Copy lines, at most `most_lines`, and return whether all were copied."""
    size = 0
    for number, line in enumerate(lines):
        if number == most_lines:
            return False
        size += file.write(line)
        if size > _MOST_CHARACTERS:
            raise InvalidFile("it is too long to be read in its encoding: save it as UTF-8")
    return True


def _read_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the non-empty rows of a CSV file, the header first."""
    csv.field_size_limit(sys.maxsize)
    each_line = iter(lines)
    header = next(each_line, "")
    delimiter = max(
        DELIMITERS, key=lambda character: len(next(csv.reader([header], delimiter=character), []))
    )
    return filter(None, csv.reader(chain([header], each_line), delimiter=delimiter))


def _copy_rows(lines: Iterable[str], file: TextIO, most_rows: int) -> tuple[int, int, bool]:
    """Copy the header and the rows after it. Return the number of rows, the number of ragged ones,
    and whether all were copied."""

    def copied() -> Iterator[str]:
        for line in lines:
            file.write(line)
            yield line

    rows = _read_rows(copied())
    width = len(next(rows, []))
    count = ragged = delimited = 0
    for row in islice(rows, most_rows):
        count += 1
        delimited += len(row) > 1
        ragged += len(row) < width or any(row[width:])
    # In prose the delimiter has no meaning.
    is_table = width > 1 and 2 * delimited >= count
    return count, ragged if is_table else 0, next(rows, None) is None


def _level_rows(path: Path) -> Path:
    """Copy a CSV file with as many fields in each row as in the header, and return its path."""
    level = path.with_name(f"level-{path.name}")
    with (
        path.open(encoding="utf-8", newline="") as file,
        level.open("w", encoding="utf-8", newline="") as copy,
    ):
        rows = _read_rows(file)
        writer = csv.writer(copy)
        header = next(rows)
        writer.writerow(header)
        writer.writerows((row + [""] * len(header))[: len(header)] for row in rows)
    path.unlink()
    return level
