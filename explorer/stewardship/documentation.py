"""The datasets that are meant, and what is written of their tables and columns, a row for each."""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from explorer.client.entity import Entity
from explorer.client.records import Folder
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = [
    "ASPECTS",
    "CLEAR",
    "TEXT_ASPECTS",
    "Entry",
    "Progress",
    "Row",
    "cell_of",
    "digest_of",
    "named_datasets",
    "read_datasets",
    "rows_of",
    "select_datasets",
    "text_in",
]

Progress = Callable[[int, int], None]
"""Is told, from the work's own thread, how many are done and of how many."""


_DATASET = "dataset"
_CHUNK = 600


async def select_datasets(
    catalog: "AsyncCatalog",
    urns: Iterable[str | Urn] = (),
    *,
    text: str = "*",
    narrowed_by: Filter | str | None = None,
    folder: str | None = None,
) -> tuple[Urn, ...]:
    """Return the datasets named, each once in their order; where none is named, those in and below
    a folder, by its browse path; else all that a search finds, as `AsyncCatalog.search` takes it.

    Named ones cost no request; a search one for each page; a folder one for each page of it and
    of every folder below it. Raises `InvalidInput` for a URN of anything else than a dataset, and
    where more than one of these is asked for.
    """
    named = named_datasets(urns, text=text, narrowed_by=narrowed_by, folder=folder)
    if named:
        return named
    if folder is not None:
        return await _below(catalog, folder)
    if text != "*":
        hits = catalog.hits(text, entity=_DATASET, narrowed_by=narrowed_by)
        return tuple([hit.urn async for hit in hits])
    return tuple([urn async for urn in catalog.urns(_DATASET, narrowed_by=narrowed_by)])


def named_datasets(
    urns: Iterable[str | Urn],
    *,
    text: str = "*",
    narrowed_by: Filter | str | None = None,
    folder: str | None = None,
) -> tuple[Urn, ...]:
    """Return the datasets named, each once in their order. Raises as `select_datasets`."""
    named = tuple(dict.fromkeys(Urn.parse(urn) for urn in urns))
    searched = text != "*" or bool(narrowed_by)
    if sum((bool(named), searched, folder is not None)) > 1:
        raise InvalidInput("give datasets, a search or a folder, not several of them")
    for urn in named:
        if urn.entity_type != _DATASET:
            raise InvalidInput(f"{urn} is no dataset; only datasets have columns")
    return named


async def read_datasets(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    aspects: Sequence[str],
    progress: "Progress | None" = None,
) -> AsyncIterator[Entity]:
    """Yield the datasets that exist among those named, in their order, a few hundred at a time;
    costs what `AsyncCatalog.entities` costs. `progress` is told how many were read of how many."""
    rest = iter(urns)
    done = 0
    while chunk := list(islice(rest, _CHUNK)):
        found = await catalog.entities(chunk, aspects)
        for entity in found.values():
            if entity.exists:
                yield entity
        done += len(chunk)
        if progress is not None:
            progress(done, len(urns))


async def _below(catalog: "AsyncCatalog", folder: str) -> tuple[Urn, ...]:
    found: dict[Urn, None] = {}
    waiting = [folder.rstrip("/") or "/"]
    passed = set(waiting)
    while waiting:
        path = waiting.pop()
        below = []
        async for entry in catalog.folder(path, entity=_DATASET):
            if not isinstance(entry, Folder):
                found[entry.urn] = None
                continue
            lower = f"{path.rstrip('/')}/{entry.name}"
            if lower not in passed:
                passed.add(lower)
                below.append(lower)
        waiting += reversed(below)
    return tuple(found)


TEXT_ASPECTS = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "status",
)
"""The aspects that the descriptions of a dataset and of its columns are read from."""

ASPECTS = (*TEXT_ASPECTS, "subTypes", "globalTags")
"""The aspects that rows are made from."""

CLEAR = "!clear"
"""What a file says in place of a text to have the text taken back."""

_MARKS = re.compile(r"'*" + re.escape(CLEAR))
_DIGEST_BYTES = 10
_DIGEST_FORM = "v1:"


@dataclass(frozen=True, slots=True)
class Row:
    """What is written of a column, or of a table itself, whose `column` is empty.

    `column` is the exact field path. `ingested` and `edited` are empty where nothing is written;
    `edited` is what a file may change. `exported` is the digest of the edited text as it was when
    the row was made; empty in a file that was not exported.
    """

    urn: str
    table: str
    column: str
    type: str
    ingested: str
    edited: str
    tags: tuple[str, ...] = ()
    exported: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a file: its row as it stands there, or the `problem` that makes it unreadable.

    `place` says where, as people find it in the file. `clears` is true where the file asks for the
    text to be taken back; the row's `edited` is empty then. `base` is the text that the line
    started from, where more of it is known than the digest in the row.
    """

    place: str
    row: Row
    clears: bool = False
    problem: str | None = None
    base: str | None = None


def digest_of(text: str) -> str:
    """Return a short text that is another for every other text; never one that a spreadsheet takes
    for a number, a date or a formula."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES)
    return _DIGEST_FORM + digest.hexdigest()


def rows_of(entity: Entity) -> Iterator[Row]:
    """Yield the row of a dataset itself, then one for each column, in the schema's order; a path
    that the schema lists twice has one. Pure.

    Raises `ServerFault` when an aspect has another shape than its record.
    """
    urn, table = str(entity.urn), entity.name
    # Raw: white space alone is a text too where it is compared and changed.
    held = (entity.raw("editableDatasetProperties") or {}).get("description")
    edited = held if isinstance(held, str) else ""
    yield Row(
        urn,
        table,
        "",
        entity.kind,
        entity.ingested_description,
        edited,
        _names(entity.tags),
        digest_of(edited),
    )
    passed: set[str] = set()
    for column in entity.schema:
        path = column.path.raw
        if path in passed:
            continue
        passed.add(path)
        edited = column.edited or ""
        yield Row(
            urn,
            table,
            path,
            column.native_type or column.type,
            column.ingested or "",
            edited,
            _names(column.tags),
            digest_of(edited),
        )


def cell_of(text: str) -> str:
    """Return a text as a file holds it: one that reads like the sign for clearing gets an
    apostrophe."""
    return f"'{text}" if _MARKS.fullmatch(text) else text


def text_in(cell: str) -> tuple[str, bool]:
    """Return the text that a file means, and whether it asks for the text to be taken back; the
    inverse of `cell_of`."""
    if cell == CLEAR:
        return "", True
    return (cell[1:] if _MARKS.fullmatch(cell) else cell), False


def _names(urns: tuple[Urn, ...]) -> tuple[str, ...]:
    return tuple(map(str, urns))
