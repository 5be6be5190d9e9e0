"""A catalog read row by row, all tables side by side."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from explorer.server.store.sql.dialect import SqlRows
from explorer.server.store.sql.transaction import SqlSnapshot
from explorer.server.store.survey import (
    AspectRow,
    BrowseFolderRow,
    EdgeRow,
    EntityRows,
    LeafRow,
    PlacementRow,
    PointRow,
    VersionRow,
)

__all__ = ["SqlSurvey"]

_T = TypeVar("_T")

_ASPECTS = """
SELECT a.entity, a.name, expand(CAST(a.value AS BLOB)), a.superseded,
       CAST(coalesce(a.seen, a.system) AS BLOB), r.name
FROM aspects a LEFT JOIN runs r ON r.id = a.run ORDER BY a.entity, a.name
"""
_VERSIONS = "SELECT entity, name, version FROM versions ORDER BY entity, name, version"
_EDGES = """
SELECT e.source, e.type, u.urn, e.aspect, e.flow
FROM edges e LEFT JOIN urns u ON u.id = e.target ORDER BY e.source
"""
_PLACEMENTS = "SELECT entity, folder, sort, urn, name FROM placements ORDER BY entity"
_LEAVES = "SELECT entity, folder, leaf FROM leaves ORDER BY entity"
_POINTS = """
SELECT entity, aspect, at_millis, expand(CAST(value AS BLOB))
FROM points ORDER BY entity, aspect, at_millis, series
"""


class SqlSurvey(SqlSnapshot):
    """A survey of the state that one connection sees. See `survey.Survey`."""

    def damage(self) -> list[str]:
        return []

    def all_entity_rows(self) -> Iterator[EntityRows]:
        tables = _Tables(self._run)
        for entity, urn, entity_type, live in self._run(
            "SELECT id, urn, type, live FROM urns ORDER BY id"
        ):
            while (stray := tables.ahead()) is not None and stray < entity:
                yield tables.entity_rows(stray, None, "", live=False)
            yield tables.entity_rows(entity, urn, entity_type, live=bool(live))
        while (stray := tables.ahead()) is not None:
            yield tables.entity_rows(stray, None, "", live=False)

    def folders(self) -> Iterator[BrowseFolderRow]:
        for row in self._run("SELECT id, type, parent, key, entities FROM folders"):
            yield BrowseFolderRow(*row)


class _RowsByEntity(Generic[_T]):
    """The rows of a table in the order of their entities, read along with the entities."""

    def __init__(self, rows: SqlRows, kind: Callable[..., _T]) -> None:
        self._rows = rows
        self._kind = kind
        self._next = rows.fetchone()

    @property
    def entity(self) -> int | None:
        """The entity of the next row, `None` at the end."""
        return self._next[0] if self._next else None

    def take(self, entity: int) -> list[_T]:
        """Return the rows of an entity; empty if the next row belongs to another one."""
        found: list[_T] = []
        while self._next is not None and self._next[0] == entity:
            found.append(self._kind(*self._next[1:]))
            self._next = self._rows.fetchone()
        return found


class _Tables:
    """All tables with rows by entity, in the order of `EntityRows`'s fields, read side by side."""

    def __init__(self, run: Callable[[str], SqlRows]) -> None:
        self._tables: list[_RowsByEntity[Any]] = [
            _RowsByEntity(run(_ASPECTS), AspectRow),
            _RowsByEntity(run(_VERSIONS), VersionRow),
            _RowsByEntity(run(_EDGES), EdgeRow),
            _RowsByEntity(run(_PLACEMENTS), PlacementRow),
            _RowsByEntity(run(_LEAVES), LeafRow),
            _RowsByEntity(run(_POINTS), PointRow),
        ]

    def ahead(self) -> int | None:
        """Return the entity that comes next in any table, `None` at the end."""
        found = (table.entity for table in self._tables)
        return min((entity for entity in found if entity is not None), default=None)

    def entity_rows(
        self, entity: int, urn: str | None, entity_type: str, *, live: bool
    ) -> EntityRows:
        """Return what the tables have of an entity."""
        return EntityRows(urn, entity_type, live, *(table.take(entity) for table in self._tables))
