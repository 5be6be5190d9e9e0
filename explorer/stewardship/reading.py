"""Documentation out of a catalog into rows, and beside what a file says of it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import Changeset, compare
from explorer.stewardship.documentation import ASPECTS, Entry, Row, rows_of
from explorer.stewardship.selection import read_datasets

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.progress import Progress

__all__ = ["read_changeset", "read_documentation"]


async def read_documentation(
    catalog: "AsyncCatalog", urns: Sequence[Urn], progress: "Progress | None" = None
) -> tuple[Row, ...]:
    """The rows of the datasets among `urns` that exist, in their order; costs what
    `AsyncCatalog.entities` costs."""
    found: list[Row] = []
    async for entity in read_datasets(catalog, urns, ASPECTS, progress):
        found.extend(rows_of(entity))
    return tuple(found)


async def read_changeset(
    catalog: "AsyncCatalog",
    entries: Iterable[Entry],
    *,
    clear_empty: bool = False,
    progress: "Progress | None" = None,
) -> Changeset:
    """What a file's entries would change, compared as `compare` says with the catalog as it is
    now; costs what `AsyncCatalog.entities` of the datasets named costs."""
    lines = tuple(entries)
    urns = dict.fromkeys(filter(None, (_dataset(line.row.urn) for line in lines)))
    held = {
        entity.urn: entity
        async for entity in read_datasets(catalog, tuple(urns), ASPECTS, progress)
    }
    return compare(lines, held, clear_empty=clear_empty)


def _dataset(urn: str) -> Urn | None:
    try:
        parsed = Urn.parse(urn)
    except InvalidUrn:
        return None
    return parsed if parsed.entity_type == "dataset" else None
