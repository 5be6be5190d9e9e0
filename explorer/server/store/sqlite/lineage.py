"""The lineage of the SQLite engine: edges along which data flows, a whole frontier at a time.

Two partial indexes cover what a hop reads, so that the other edges of an entity (owners, tags,
children) cost nothing. They are made when a file is opened that lacks them.
"""

import json
import sqlite3
from collections.abc import Sequence

import orjson

from explorer.server.store.interface import KnownUrn

__all__ = [
    "add_indexes",
    "handles",
    "hop",
    "hop_columns",
    "known",
    "names",
    "pairs",
    "sources",
]

_INDEXES = (
    "CREATE INDEX IF NOT EXISTS lineage_in ON edges (target, source, flow, type) WHERE flow > 0",
    "CREATE INDEX IF NOT EXISTS lineage_out ON edges (source, target, flow, type) WHERE flow > 0",
)
_HOP = """
SELECT f.value, e.source, e.type
FROM json_each(?1) f CROSS JOIN edges e INDEXED BY lineage_in ON e.target = f.value
WHERE e.flow > 0 AND e.flow = ?2
UNION ALL
SELECT f.value, e.target, e.type
FROM json_each(?1) f CROSS JOIN edges e INDEXED BY lineage_out ON e.source = f.value
WHERE e.flow > 0 AND e.flow = ?3
LIMIT ?4
"""


# A row becomes a tuple of numbers in 1 µs and more; as JSON a whole column takes a tenth of that.
_AS_COLUMNS = """
SELECT json_group_array(near), json_group_array(far), json_group_array(type) FROM (
SELECT f.value AS near, e.source AS far, e.type AS type
FROM json_each(?1) f CROSS JOIN edges e INDEXED BY lineage_in ON e.target = f.value
WHERE e.flow > 0 AND e.flow = ?2
UNION ALL
SELECT f.value, e.target, e.type
FROM json_each(?1) f CROSS JOIN edges e INDEXED BY lineage_out ON e.source = f.value
WHERE e.flow > 0 AND e.flow = ?3
LIMIT ?4)
"""
_PAIRS = """
SELECT json_group_array(CASE flow WHEN 1 THEN target ELSE source END),
       json_group_array(CASE flow WHEN 1 THEN source ELSE target END)
FROM edges INDEXED BY lineage_in WHERE flow > 0
"""
_NAMES = """
SELECT json_group_array(u.urn), json_group_array(u.live)
FROM json_each(?) f CROSS JOIN urns u ON u.id = f.value
"""


def add_indexes(connection: sqlite3.Connection) -> None:
    """Make the indexes that a hop needs; two seconds a million edges, once."""
    for statement in _INDEXES:
        connection.execute(statement)


def hop(
    connection: sqlite3.Connection, frontier: Sequence[int], *, upstream: bool, limit: int
) -> list[tuple[int, int, str]]:
    """The lineage edges that lead on from a frontier. See `engine.Store.lineage_edges`."""
    # Flow 1 runs from the target to the entity that declares the edge, flow 2 the other way.
    pointing_in, pointing_out = (2, 1) if upstream else (1, 2)
    found: list[tuple[int, int, str]] = connection.execute(
        _HOP, (_array(frontier), pointing_in, pointing_out, limit)
    ).fetchall()
    return found


def hop_columns(
    connection: sqlite3.Connection, frontier: Sequence[int], *, upstream: bool, limit: int
) -> tuple[list[int], list[int], list[str]]:
    """The same edges as `hop` gives, in columns. See `engine.Store.lineage_columns`."""
    pointing_in, pointing_out = (2, 1) if upstream else (1, 2)
    near, far, types = connection.execute(
        _AS_COLUMNS, (_array(frontier), pointing_in, pointing_out, limit)
    ).fetchone()
    return orjson.loads(near), orjson.loads(far), orjson.loads(types)


def pairs(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
    """Every lineage edge. See `engine.Store.lineage_pairs`."""
    upstream, downstream = connection.execute(_PAIRS).fetchone()
    return orjson.loads(upstream), orjson.loads(downstream)


def names(connection: sqlite3.Connection, wanted: Sequence[int]) -> tuple[list[str], list[int]]:
    """The URNs behind handles, in columns. See `engine.Store.lineage_names`."""
    urns, live = connection.execute(_NAMES, (_array(wanted),)).fetchone()
    return orjson.loads(urns), orjson.loads(live)


def known(connection: sqlite3.Connection, wanted: Sequence[int]) -> list[KnownUrn]:
    """The URNs behind handles. See `engine.Store.known`."""
    rows = connection.execute(
        "SELECT u.id, u.urn, u.type, u.live FROM json_each(?) f "
        "CROSS JOIN urns u ON u.id = f.value",
        (_array(wanted),),
    )
    return [KnownUrn(handle, urn, kind, bool(live)) for handle, urn, kind, live in rows]


def handles(connection: sqlite3.Connection, urns: Sequence[str]) -> dict[str, int]:
    """The handles of URNs. See `engine.Store.handles`."""
    rows = connection.execute(
        "SELECT u.urn, u.id FROM json_each(?) f CROSS JOIN urns u ON u.urn = f.value",
        (json.dumps(urns),),
    )
    return dict(rows.fetchall())


def sources(connection: sqlite3.Connection, targets: Sequence[str], relationship: str) -> list[str]:
    """Whose edges lead to the targets. See `engine.Store.sources`."""
    rows = connection.execute(
        "SELECT DISTINCT s.urn FROM json_each(?) f CROSS JOIN urns t ON t.urn = f.value "
        "CROSS JOIN edges e ON e.target = t.id AND e.type = ? CROSS JOIN urns s ON s.id = e.source",
        (json.dumps(targets), relationship),
    )
    return [urn for (urn,) in rows]


def _array(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
