"""The lineage of the SQLite engine: edges along which data flows, a whole frontier at a time.

Two partial indexes cover what a hop reads, so that the other edges of an entity (owners, tags,
children) cost nothing. They are made when a file is opened that lacks them.
"""

import sqlite3
from collections.abc import Sequence

import orjson

__all__ = ["add_indexes", "handles", "hop", "known_urns", "pairs"]

_INDEXES = (
    "CREATE INDEX IF NOT EXISTS lineage_in ON edges (target, source, flow, type) WHERE flow > 0",
    "CREATE INDEX IF NOT EXISTS lineage_out ON edges (source, target, flow, type) WHERE flow > 0",
)
# A row becomes a tuple of numbers in 1 µs and more; as JSON a whole column takes a tenth of that.
_HOP = """
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
) -> tuple[list[int], list[int], list[str]]:
    """The lineage edges that lead on from a frontier. See `interface.Reader.lineage`."""
    # Flow 1 runs from the target to the entity that declares the edge, flow 2 the other way.
    pointing_in, pointing_out = (2, 1) if upstream else (1, 2)
    near, far, types = connection.execute(
        _HOP, (_array(frontier), pointing_in, pointing_out, limit)
    ).fetchone()
    return orjson.loads(near), orjson.loads(far), orjson.loads(types)


def pairs(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
    """Every lineage edge. See `interface.Reader.lineage_pairs`."""
    upstream, downstream = connection.execute(_PAIRS).fetchone()
    return orjson.loads(upstream), orjson.loads(downstream)


def known_urns(
    connection: sqlite3.Connection, handles: Sequence[int]
) -> tuple[list[str], list[int]]:
    """The URNs behind handles. See `interface.Reader.known_urns`."""
    urns, live = connection.execute(_NAMES, (_array(handles),)).fetchone()
    return orjson.loads(urns), orjson.loads(live)


def handles(connection: sqlite3.Connection, urns: Sequence[str]) -> dict[str, int]:
    """The handles of URNs. See `interface.Reader.handles`."""
    rows = connection.execute(
        "SELECT u.urn, u.id FROM json_each(?) f CROSS JOIN urns u ON u.urn = f.value",
        (orjson.dumps(list(urns)).decode(),),
    )
    return dict(rows.fetchall())


def _array(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
