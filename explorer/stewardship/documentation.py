"""Selecting datasets, and their documentation as rows, one for each table and column."""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from explorer.client.connection import KnownCatalog, in_chunks
from explorer.client.editable import listed
from explorer.client.entity import Entity
from explorer.client.records import Folder
from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

Progress = Callable[[int, int], None]
"""A callback with the number of items done and the total, called on the thread that does the
work."""


_DATASET = "dataset"
_CHUNK = 600


class DatasetSelection(TypedDict):
    """The datasets in `urns`, or those in and below `folder`, or those that a search with `text`
    and `filter` finds; the parameters of `select_datasets` and of `AsyncCatalog.described`."""

    urns: tuple[Urn, ...]
    text: str
    filter: Filter | str | None
    folder: str | None


def selection_of(
    urns: str | Urn | Iterable[str | Urn],
    text: str,
    filter: Filter | str | None,
    folder: str | None,
) -> DatasetSelection:
    """Return a selection, its URNs without duplicates, in order. Raises as `select_datasets`."""
    urns_or_texts = listed(urns, "URNs of datasets")
    parsed_urns = tuple(dict.fromkeys(_parse_urn(urn) for urn in urns_or_texts))
    searched = text != "*" or bool(filter)
    if sum((bool(parsed_urns), searched, folder is not None)) > 1:
        raise InvalidInput("give datasets, a search or a folder, not several of them")
    for urn in parsed_urns:
        if urn.entity_type != _DATASET:
            raise InvalidInput(f"{urn} is not a dataset; only datasets have columns")
    return {"urns": parsed_urns, "text": text, "filter": filter, "folder": folder}


def _parse_urn(urn: str | Urn) -> Urn:
    if isinstance(urn, str) and not urn.startswith("urn:"):
        raise InvalidUrn(f"{urn[:60]!r} is not a URN; text={urn[:60]!r} searches for datasets")
    return Urn.parse(urn)


async def select_datasets(
    catalog: "AsyncCatalog",
    urns: str | Urn | Iterable[str | Urn] = (),
    *,
    text: str = "*",
    filter: Filter | str | None = None,
    folder: str | None = None,
) -> tuple[Urn, ...]:
    """Return the given datasets, one or several, or those in and below a folder, or those that a
    search finds.

    Given datasets are returned without duplicates, in order. A folder is given by its browse path;
    a search as for `AsyncCatalog.search`. No request for given datasets; for a search one for each
    page; for a folder one for each page of it and of every folder below it. Raises `InvalidInput`
    for a URN that is not a dataset's, and if more than one of the three is given.
    """
    dataset_urns = selection_of(urns, text, filter, folder)["urns"]
    if dataset_urns:
        return dataset_urns
    if folder is not None:
        return await _below(catalog, folder)
    if text != "*":
        hits = catalog.hits(text, entity=_DATASET, filter=filter)
        return tuple([hit.urn async for hit in hits])
    return tuple([urn async for urn in catalog.urns(_DATASET, filter=filter)])


async def read_datasets(
    catalog: "AsyncCatalog",
    urns: Sequence[Urn],
    aspects: Sequence[str],
    progress: Progress | None = None,
) -> AsyncIterator[Entity]:
    """Yield the datasets among `urns` that exist, in order, reading a few hundred at a time.

    Costs the requests of `AsyncCatalog.entities`. `progress` is called with the number read and the
    total.
    """
    done = 0
    for chunk in in_chunks(urns, _CHUNK):
        entities = await catalog.entities(chunk, aspects)
        for entity in entities.values():
            if entity.exists:
                yield entity
        done += len(chunk)
        if progress is not None:
            progress(done, len(urns))


async def _below(catalog: "AsyncCatalog", folder: str) -> tuple[Urn, ...]:
    urns: dict[Urn, None] = {}
    waiting = [folder.rstrip("/") or "/"]
    folders = set(waiting)
    while waiting:
        path = waiting.pop()
        below = []
        async for entry in catalog.folder(path, entity=_DATASET):
            if not isinstance(entry, Folder):
                urns[entry.urn] = None
                continue
            lower = f"{path.rstrip('/')}/{entry.name}"
            if lower not in folders:
                folders.add(lower)
                below.append(lower)
        waiting += reversed(below)
    return tuple(urns)


TEXT_ASPECTS = (
    "datasetKey",
    "datasetProperties",
    "editableDatasetProperties",
    "schemaMetadata",
    "editableSchemaMetadata",
    "status",
)
"""The aspects that hold the descriptions of a dataset and its columns."""

ASPECTS = (*TEXT_ASPECTS, "subTypes", "globalTags")
"""The aspects needed for rows."""

CLEAR = "!clear"
"""The text in a file that asks to remove a description."""

_MARKS = re.compile(r"'*" + re.escape(CLEAR))
_DIGEST_BYTES = 10
_MARK_BYTES = 4
_DIGEST_FORM = "v1:"


@dataclass(frozen=True, slots=True)
class Row:
    """The documentation of a column, or of a table if `column` is empty.

    `column` is the field path. `ingested` and `edited` are empty if there is no description;
    `edited` is the one that can be changed in a file. `exported` is the digest of the edited
    description when the row was created, in files followed by the mark of the catalog that it was
    exported from (`mark_of`); empty in a file that was not exported.
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
    """A line of a file: its row, or the `problem` that makes it unreadable.

    `place` is its location in the file, for people. `clears` is true if the line asks to remove the
    description; the row's `edited` is then empty. `base` is the text that the line started from, if
    known.
    """

    place: str
    row: Row
    clears: bool = False
    problem: str | None = None
    base: str | None = None


def digest_of(text: str) -> str:
    """Return a short digest of a text, in a form that no spreadsheet takes for a number, date or
    formula."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES)
    return _DIGEST_FORM + digest.hexdigest()


def mark_of(catalog: KnownCatalog) -> str:
    """Return a short text that distinguishes a catalog from others, to follow the digests in its
    files."""
    identity = (catalog.id or catalog.address).encode()
    return hashlib.blake2b(identity, digest_size=_MARK_BYTES).hexdigest()


def split_mark(exported: str) -> tuple[str, str]:
    """Return the digest in `Row.exported`, and the mark of the catalog, empty if there is none."""
    form, _, rest = exported.partition(":")
    digest, _, mark = rest.partition(":")
    return f"{form}:{digest}" if rest else exported, mark


def rows_of(entity: Entity) -> Iterator[Row]:
    """Yield the row of a dataset, then one for each column in schema order, without duplicate
    paths.

    No requests. Raises `ServerFault` if an aspect does not fit its record.
    """
    urn, table = str(entity.urn), entity.name
    # Not `edited_description`, which ignores a description of only white space.
    description = (entity.raw("editableDatasetProperties") or {}).get("description")
    edited = description if isinstance(description, str) else ""
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
    paths: set[str] = set()
    for column in entity.schema:
        path = column.path.raw
        if path in paths:
            continue
        paths.add(path)
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
    """Return the form of a text in a file: a text that looks like `CLEAR` gets an apostrophe."""
    return f"'{text}" if _MARKS.fullmatch(text) else text


def text_in(cell: str) -> tuple[str, bool]:
    """Return the text of a cell, and whether the cell asks to remove the text; the inverse of
    `cell_of`."""
    if cell == CLEAR:
        return "", True
    return (cell[1:] if _MARKS.fullmatch(cell) else cell), False


def _names(urns: tuple[Urn, ...]) -> tuple[str, ...]:
    return tuple(map(str, urns))
