"""Listing and counting what the tables hold: versions, URNs, aspects, runs."""

import sqlite3

from explorer.server.store.records import RunRow, RunSummary, StoredAspect

__all__ = ["count_aspects", "read_run", "read_runs", "read_urns", "read_versions"]

_LATEST = "a.name, 0, a.value, a.time_millis, a.actor, a.system"
_OLDER = "v.name, v.version, v.value, v.time_millis, v.actor, v.system"
_REMOVED = """
WITH removed (id) AS MATERIALIZED (
    SELECT entity FROM aspects WHERE name = 'status' AND json_extract(value, '$.removed') = 1
)
"""
_NOT_REMOVED = " AND t.entity NOT IN removed"


def read_versions(
    connection: sqlite3.Connection,
    urn: str,
    aspect: str,
    ends: tuple[int, int],
    start: int,
    count: int,
) -> tuple[int, list[StoredAspect]] | None:
    """The versions between two numbers, newest first, and how many there are in all.

    0 is the latest, 1 the oldest, negative numbers count back from the latest; either end may come
    first, and what is beyond the versions there are is left out. None when there is no such aspect.
    """
    row = connection.execute(
        f"SELECT a.entity, a.superseded, {_LATEST} "
        "FROM urns u JOIN aspects a ON a.entity = u.id WHERE u.urn = ? AND a.name = ?",
        (urn, aspect),
    ).fetchone()
    if row is None:
        return None
    entity, superseded, *latest = row
    low, high = sorted(end if end > 0 else superseded + 1 + end for end in ends)
    has_latest = low <= superseded + 1 <= high
    bounds = (entity, aspect, low, high)
    where = "FROM versions v WHERE v.entity = ? AND v.name = ? AND v.version BETWEEN ? AND ?"
    older: int = connection.execute(f"SELECT count(*) {where}", bounds).fetchone()[0]
    found = [StoredAspect(*latest)] if has_latest and start == 0 and count else []
    rows = connection.execute(
        f"SELECT {_OLDER} {where} ORDER BY v.version DESC LIMIT ? OFFSET ?",
        (*bounds, count - len(found), max(0, start - has_latest)),
    )
    found += [StoredAspect(*row) for row in rows]
    return older + has_latest, found


def read_urns(
    connection: sqlite3.Connection, entity_type: str, start: int, count: int
) -> tuple[int, list[str]]:
    """How many entities of a type are stored, and a page of their URNs, sorted."""
    total: int = connection.execute(
        "SELECT count(*) FROM urns WHERE type = ? AND live", (entity_type,)
    ).fetchone()[0]
    rows = connection.execute(
        # The unary plus keeps the engine on the index that has the order.
        "SELECT urn FROM urns WHERE urn >= ? AND urn < ? AND +type = ? AND +live "
        "ORDER BY urn LIMIT ? OFFSET ?",
        (f"urn:li:{entity_type}:", f"urn:li:{entity_type};", entity_type, count, start),
    )
    return total, [urn for (urn,) in rows]


def count_aspects(connection: sqlite3.Connection, aspect: str, like: str | None) -> int:
    """How many entities have an aspect, or documents of it if it is one over time. `like` is a
    pattern of their URNs, with % and _."""
    narrowed, given = "", [aspect]
    if like is not None:
        narrowed, given = " AND u.urn LIKE ?", [aspect, like]
    found: int = connection.execute(
        "SELECT (SELECT count(*) FROM aspects a JOIN urns u ON u.id = a.entity "
        f"WHERE a.name = ?{narrowed}) + (SELECT count(*) FROM points p "
        f"JOIN urns u ON u.id = p.entity WHERE p.aspect = ?{narrowed})",
        (*given, *given),
    ).fetchone()[0]
    return found


def read_runs(
    connection: sqlite3.Connection, start: int, count: int, *, with_removed: bool
) -> list[RunSummary]:
    """A page of the runs that something is left of, newest first."""
    begin, narrowed = ("", "") if with_removed else (_REMOVED, _NOT_REMOVED)
    kept = f"t WHERE t.run IS NOT NULL{narrowed} GROUP BY t.run"
    dated = "SELECT t.run, count(*) AS rows, max(t.time_millis) AS at FROM"
    parts = (
        f"{dated} aspects {kept}",
        f"{dated} versions {kept}",
        "SELECT n.run, n.rows, (SELECT json_extract(l.system, '$.lastObserved') FROM points l "
        "WHERE l.id = n.newest) FROM "
        f"(SELECT t.run, count(*) AS rows, max(t.id) AS newest FROM points {kept}) n",
    )
    rows = connection.execute(
        f"{begin} SELECT r.name, sum(f.rows), coalesce(max(f.at), 0) AS newest "
        f"FROM ({' UNION ALL '.join(parts)}) f JOIN runs r ON r.id = f.run "
        "GROUP BY r.id ORDER BY newest DESC, r.id DESC LIMIT ? OFFSET ?",
        (count, start),
    )
    return [RunSummary(*row) for row in rows]


def read_run(
    connection: sqlite3.Connection, run: str, start: int, count: int, *, with_removed: bool
) -> list[RunRow]:
    """A page of what is left of a run: versions of aspects and documents over time, by URN, then
    aspect, the latest first."""
    begin, narrowed = ("", "") if with_removed else (_REMOVED, _NOT_REMOVED)
    of_run = f"WHERE t.run = (SELECT id FROM runs WHERE name = :run){narrowed}"
    columns = "t.name, {version} AS version, t.time_millis AS at, t.value, t.actor, t.system"
    parts = (
        f"SELECT t.entity, {columns.format(version='0')}, 0 AS age FROM aspects t {of_run}",
        f"SELECT t.entity, {columns.format(version='t.version')}, -t.version FROM versions t "
        f"{of_run}",
        "SELECT t.entity, t.aspect, 0, coalesce(json_extract(t.system, '$.lastObserved'), 0), "
        f"t.value, '', t.system, -t.at_millis FROM points t {of_run}",
    )
    rows = connection.execute(
        f"{begin} SELECT u.urn, f.name, f.version, f.at, f.value, f.system "
        f"FROM ({' UNION ALL '.join(parts)}) f JOIN urns u ON u.id = f.entity "
        "ORDER BY u.urn, f.name, f.age = 0 DESC, f.age LIMIT :count OFFSET :start",
        {"run": run, "count": count, "start": start},
    )
    return [RunRow(*row) for row in rows]
