"""The relationships of an entity, as a table for a file."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from explorer.tui.entity.relationships import COLUMN, Kind, page_of_urn
from explorer.views.table import Row, Table

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.metadata.urn import Urn
    from explorer.tui.session import Session

__all__ = ["of_related"]

_AT_ONCE: Final = 100
_COLUMNS: Final = (
    "relationship",
    "direction",
    "words",
    "urn",
    "name",
    "type",
    "platform",
    "in_catalog",
    "soft_deleted",
)


def of_related(session: "Session", name: str, found: Sequence[tuple[Kind, "Urn"]]) -> Table:
    """Every relationship given, with what is on its other side by name: one request for a hundred
    of them."""

    async def whole() -> AsyncIterator[Sequence[Row]]:
        catalog = await session.catalog()
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            urns = [urn for _, urn in some if urn.entity_type != COLUMN]
            known = await catalog.summaries(urns) if urns else {}
            yield [_row(kind, urn, known) for kind, urn in some]

    return Table.of(f"{name} relationships", _COLUMNS, (), total=len(found), read_all=whole)


def _row(kind: Kind, urn: "Urn", known: Mapping["Urn", "Entity"]) -> Row:
    told = (kind.name, kind.direction.lower(), kind.words, str(urn))
    if urn.entity_type == COLUMN:
        return (*told, urn.name, COLUMN, page_of_urn(urn).platform, None, None)
    entity = known.get(urn)
    if entity is None:
        return (*told, urn.name, urn.entity_type, urn.platform, False, None)
    exists = entity.exists
    return (*told, entity.name, entity.kind, entity.platform, exists, entity.removed)
