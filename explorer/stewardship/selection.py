"""Which datasets are meant: named ones, those that a search finds, those in a folder."""

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from explorer.client.entity import Entity
from explorer.client.records import Folder
from explorer.errors import InvalidInput
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.progress import Progress

__all__ = ["named_datasets", "read_datasets", "select_datasets"]

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
    """The datasets named, each once in their order; where none is named, those in and below a
    folder, by its browse path; else all that a search finds, as `AsyncCatalog.search` takes it.

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
    """The datasets named, each once in their order. Raises as `select_datasets`."""
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
    """The datasets that exist among those named, in their order, a few hundred at a time; costs
    what `AsyncCatalog.entities` costs. `progress` is told how many were read of how many."""
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
