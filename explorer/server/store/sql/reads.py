"""The statements that read the tables, shared by stores, snapshots and transactions."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing

import orjson

from explorer.server.store.interface import (
    Direction,
    DocumentRange,
    LogBounds,
    LogEntry,
    Neighbour,
    RunRow,
    RunSummary,
    StoredAspect,
    StoredDocument,
    StoredFolderPage,
)
from explorer.server.store.sql.browse import browse
from explorer.server.store.sql.dialect import Dialect, SqlConnection

__all__ = ["SqlReads"]

_LATEST = "a.name, 0, expand(a.value), a.time_millis, a.actor, coalesce(a.seen, a.system)"
_OLDER = "v.name, v.version, expand(v.value), v.time_millis, v.actor, v.system"
_NOT_REMOVED = " AND t.entity NOT IN (SELECT id FROM removed)"
_RUN = "(SELECT id FROM runs WHERE name = :run)"
# Combined with a run, this must use the index by entity: one run may have written all rows.
_OF_ENTITY = " AND t.entity = (SELECT id FROM urns WHERE urn = :urn)"
_AT_ONCE = 500
# Of the targets of edges, when all edges are read.
_HANDLES_AT_ONCE = 50_000
_LOG = """
SELECT l."offset", coalesce(u.urn, 'urn:li:unknown:' || l.entity), l.aspect,
       coalesce(l.change, 'UPSERT'),
       expand(CAST(coalesce(l.value, a.value, v.value, p.value) AS BLOB)),
       expand(CAST(coalesce(l.previous, b.value) AS BLOB)),
       coalesce(l.time_millis, a.time_millis, v.time_millis, 0),
       coalesce(l.actor, a.actor, v.actor, ''),
       coalesce(l.system, a.system, v.system, p.system, CAST('{}' AS BLOB)), l.digest
FROM log l LEFT JOIN urns u ON u.id = l.entity LEFT JOIN aspects a ON a.id = l."offset"
LEFT JOIN versions v ON v.id = l."offset" LEFT JOIN points p ON p.id = l."offset"
LEFT JOIN versions b ON b.id = l.before
WHERE l."offset" > ? ORDER BY l."offset" LIMIT ?
"""


class SqlReads(ABC):
    """The read operations in SQL. See `interface.Reader`."""

    _dialect: Dialect

    @abstractmethod
    def _reading(self) -> AbstractContextManager[SqlConnection]:
        """Return a connection for one statement."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[SqlConnection]:
        """Return a connection whose statements all see the same moment."""

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        of = "u.urn = ? AND v.name = ?"
        given: tuple[str | int, ...] = (urn, name)
        if version == 0:
            query = (
                f"SELECT {_LATEST} FROM urns u JOIN aspects a ON a.entity = u.id "
                "WHERE u.urn = ? AND a.name = ?"
            )
        elif version > 0:
            query = (
                f"SELECT {_OLDER} FROM urns u JOIN versions v ON v.entity = u.id "
                f"WHERE {of} AND v.version = ?"
            )
            given = (urn, name, version)
        else:
            query = (
                f"SELECT {_OLDER} FROM urns u JOIN versions v ON v.entity = u.id "
                f"WHERE {of} ORDER BY v.version DESC LIMIT 1 OFFSET ?"
            )
            given = (urn, name, -version - 1)
        with self._reading() as connection:
            row = connection.execute(query, given).fetchone()
        return StoredAspect(*row) if row else None

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        found: dict[str, list[StoredAspect]] = {}
        named = "" if names is None else f" AND a.name IN ({_marks(names)})"
        with self._reading() as connection:
            for chunk in _chunks(urns):
                rows = connection.execute(
                    f"SELECT u.urn, {_LATEST} FROM urns u JOIN aspects a ON a.entity = u.id "
                    f"WHERE u.urn IN ({_marks(chunk)}){named}",
                    (*chunk, *(names or ())),
                )
                for urn, *rest in rows:
                    found.setdefault(urn, []).append(StoredAspect(*rest))
        return found

    def versions(
        self, urn: str, name: str, ends: tuple[int, int], start: int, count: int
    ) -> tuple[int, list[StoredAspect]] | None:
        with self._snapshot() as connection:
            row = connection.execute(
                f"SELECT a.entity, a.superseded, {_LATEST} "
                "FROM urns u JOIN aspects a ON a.entity = u.id WHERE u.urn = ? AND a.name = ?",
                (urn, name),
            ).fetchone()
            if row is None:
                return None
            entity, superseded, *latest = row
            low, high = sorted(end if end > 0 else superseded + 1 + end for end in ends)
            has_latest = low <= superseded + 1 <= high
            bounds = (entity, name, low, high)
            where = (
                "FROM versions v WHERE v.entity = ? AND v.name = ? AND v.version BETWEEN ? AND ?"
            )
            older: int = connection.execute(f"SELECT count(*) {where}", bounds).fetchone()[0]
            found = [StoredAspect(*latest)] if has_latest and start == 0 and count else []
            rows = connection.execute(
                f"SELECT {_OLDER} {where} ORDER BY v.version DESC LIMIT ? OFFSET ?",
                (
                    *bounds,
                    self._dialect.limit(max(-1, count - len(found))),
                    max(0, start - has_latest),
                ),
            )
            found += [StoredAspect(*row) for row in rows]
        return older + has_latest, found

    def histories(
        self, urns: Sequence[str], names: Collection[str]
    ) -> dict[str, list[StoredAspect]]:
        found: dict[str, list[StoredAspect]] = {}
        with self._snapshot() as connection:
            for chunk in _chunks(urns):
                where = f"WHERE u.urn IN ({_marks(chunk)})"
                for columns, source in (
                    (_LATEST, "aspects a ON a.entity = u.id AND a.name"),
                    (_OLDER, "versions v ON v.entity = u.id AND v.name"),
                ):
                    rows = connection.execute(
                        f"SELECT u.urn, {columns} FROM urns u "
                        f"JOIN {source} IN ({_marks(names)}) {where}",
                        (*names, *chunk),
                    )
                    for urn, *rest in rows:
                        found.setdefault(urn, []).append(StoredAspect(*rest))
        return found

    def existing(self, urns: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._reading() as connection:
            for chunk in _chunks(urns):
                rows = connection.execute(
                    f"SELECT urn FROM urns WHERE live AND urn IN ({_marks(chunk)})", chunk
                )
                found.update(urn for (urn,) in rows)
        return found

    def urns(
        self,
        *,
        entity_type: str | None = None,
        prefix: str = "",
        run: str | None = None,
        measured: DocumentRange | None = None,
        after: str = "",
        start: int = 0,
        limit: int = -1,
    ) -> list[str]:
        if entity_type is not None:
            prefix = prefix or f"urn:li:{entity_type}:"
        # `unindexed` (a unary plus in SQLite) keeps the engine from using an index on `live` or
        # `type`, so that it uses that of the URNs, which also has their order, or that of a run's
        # entities.
        unindexed = self._dialect.unindexed.format
        # One lower bound: of two, SQLite uses the first, and reads everything up to the other.
        where = f"{'urn >= :prefix' if after < prefix else 'urn > :after'} AND {unindexed('live')}"
        if prefix:
            where += " AND urn < :end"
        if entity_type is not None:
            where += f" AND {unindexed('type')} = :type"
        if run is not None:
            where += (
                " AND id IN ("
                + " UNION ".join(
                    f"SELECT entity FROM {table} WHERE run = {_RUN}"
                    for table in ("aspects", "versions", "points")
                )
                + ")"
            )
        if measured is not None:
            # One index has all three columns, so that no document is read.
            where += (
                " AND id IN (SELECT entity FROM points WHERE aspect = :aspect "
                "AND at_millis >= :from_millis AND at_millis < :to_millis)"
            )
        given = {
            "after": after,
            "prefix": prefix,
            "end": f"{prefix}\U0010ffff",
            "type": entity_type,
            "run": run,
            "aspect": measured.aspect if measured else None,
            "from_millis": measured.start_millis if measured else None,
            "to_millis": measured.end_millis if measured else None,
            "limit": self._dialect.limit(limit),
            "start": start,
        }
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT urn FROM urns WHERE {where} ORDER BY urn LIMIT :limit OFFSET :start", given
            )
            return [urn for (urn,) in rows]

    def count(
        self,
        *,
        entity_type: str | None = None,
        other_than: Collection[str] = (),
        aspect: str | None = None,
        urn_like: str | None = None,
    ) -> int:
        where = "u.live"
        given = {"type": entity_type, "aspect": aspect, "like": urn_like}
        if entity_type is not None:
            where += " AND u.type = :type"
        if other_than:
            others = {f"other{at}": name for at, name in enumerate(other_than)}
            where += f" AND u.type NOT IN ({', '.join(f':{name}' for name in others)})"
            given |= others
        if urn_like is not None:
            where += f" AND {self._dialect.like}"
        query = f"SELECT count(*) FROM urns u WHERE {where}"
        if aspect is not None:
            query = (
                "SELECT (SELECT count(*) FROM aspects a JOIN urns u ON u.id = a.entity "
                f"WHERE a.name = :aspect AND {where}) + (SELECT count(*) FROM points p "
                f"JOIN urns u ON u.id = p.entity WHERE p.aspect = :aspect AND {where})"
            )
        with self._reading() as connection:
            found: int = connection.execute(query, given).fetchone()[0]
        return found

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        begin, narrowed = ("", "") if with_removed else (self._dialect.removed, _NOT_REMOVED)
        kept = f"t WHERE t.run IS NOT NULL{narrowed} GROUP BY t.run"
        dated = "SELECT t.run, count(*) AS rows, max(t.time_millis) AS at FROM"
        parts = (
            f"{dated} aspects {kept}",
            f"{dated} versions {kept}",
            f"SELECT n.run, n.rows, (SELECT {self._dialect.seen.format('l')} FROM points l "
            "WHERE l.id = n.newest) FROM "
            f"(SELECT t.run, count(*) AS rows, max(t.id) AS newest FROM points {kept}) n",
        )
        with self._reading() as connection:
            rows = connection.execute(
                f"{begin} SELECT r.name, CAST(sum(f.rows) AS BIGINT), "
                "coalesce(max(f.at), 0) AS newest "
                f"FROM ({' UNION ALL '.join(parts)}) f JOIN runs r ON r.id = f.run "
                "GROUP BY r.id ORDER BY newest DESC, r.id DESC LIMIT ? OFFSET ?",
                (self._dialect.limit(count), start),
            )
            return [RunSummary(*row) for row in rows]

    def run_rows(
        self,
        run: str,
        start: int = 0,
        count: int = -1,
        *,
        urn: str | None = None,
        with_removed: bool = True,
    ) -> list[RunRow]:
        begin, narrowed = ("", "") if with_removed else (self._dialect.removed, _NOT_REMOVED)
        column = "t.run" if urn is None else self._dialect.unindexed.format("t.run")
        of_run = f"WHERE {column} = {_RUN}{'' if urn is None else _OF_ENTITY}{narrowed}"
        seen = self._dialect.seen.format("t")
        columns = (
            "t.name, {0} AS version, t.time_millis AS at, expand(t.value) AS value, "
            "{1} AS system, CAST(NULL AS BIGINT) AS moment, t.id AS row_id"
        )
        latest = columns.format("0", "coalesce(t.seen, t.system)")
        older = columns.format("t.version", "t.system")
        parts = (
            f"SELECT t.entity, {latest}, 0 AS age FROM aspects t {of_run}",
            f"SELECT t.entity, {older}, -t.version FROM versions t {of_run}",
            f"SELECT t.entity, t.aspect, 0, coalesce({seen}, t.at_millis), "
            f"expand(t.value), t.system, t.at_millis, t.id, -t.at_millis FROM points t {of_run}",
        )
        with self._reading() as connection:
            rows = connection.execute(
                f"{begin} SELECT u.urn, f.name, f.version, f.at, f.value, f.system, f.moment "
                f"FROM ({' UNION ALL '.join(parts)}) f JOIN urns u ON u.id = f.entity "
                "ORDER BY u.urn, f.name, f.age = 0 DESC, f.age, f.row_id "
                "LIMIT :count OFFSET :start",
                {"run": run, "urn": urn, "count": self._dialect.limit(count), "start": start},
            )
            return [RunRow(*row) for row in rows]

    def documents(
        self,
        urn: str,
        aspect: str | None = None,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[StoredDocument]:
        where = "u.urn = ?"
        given: list[str | int] = [urn]
        for condition, value in (
            ("p.aspect =", aspect),
            ("p.at_millis >=", start_millis),
            ("p.at_millis <=", end_millis),
        ):
            if value is not None:
                where += f" AND {condition} ?"
                given.append(value)
        order = "p.at_millis DESC, p.series DESC"
        if aspect is None:
            order = f"p.aspect, {order}"
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT p.aspect, expand(p.value), p.system "
                "FROM urns u JOIN points p ON p.entity = u.id "
                f"WHERE {where} ORDER BY {order} LIMIT ?",
                (*given, self._dialect.limit(limit)),
            )
            # Closed before the connection is reused: an open statement holds its snapshot.
            with closing(rows):
                for row in rows:
                    yield StoredDocument(*row)

    def edges(
        self,
        urns: Sequence[str],
        direction: Direction,
        types: Sequence[str] = (),
        start: int = 0,
        limit: int = -1,
    ) -> tuple[int, list[Neighbour]]:
        here, there = ("source", "target") if direction == "OUTGOING" else ("target", "source")
        if len(urns) == 1:
            # For one URN, the index has the order in which the rows are grouped.
            where = f"e.{here} = (SELECT id FROM urns WHERE urn = ?)"
            given = (urns[0], *types)
        else:
            found = f"SELECT u.id FROM {self._dialect.texts} JOIN urns u ON u.urn = f.value"
            where = f"e.{here} IN ({found})"
            given = (_array(urns), *types)
        if types:
            where += f" AND e.type IN ({_marks(types)})"
        grouped = f"FROM edges e WHERE {where} GROUP BY e.type, e.{there}"
        gathered = self._dialect.gathered.format("e.aspect")
        with self._snapshot() as connection:
            rows = connection.execute(
                "SELECT o.urn, e.type, e.aspects FROM "
                f"(SELECT e.type, e.{there} AS other, {gathered} AS aspects "
                f"{grouped} ORDER BY e.type, e.{there} LIMIT ? OFFSET ?) e "
                "JOIN urns o ON o.id = e.other ORDER BY e.type, e.other",
                (*given, self._dialect.limit(limit), start),
            ).fetchall()
            total = len(rows)
            if start or limit >= 0:
                (total,) = connection.execute(
                    f"SELECT count(*) FROM (SELECT 1 {grouped}) found", given
                ).fetchone()
        return total, [
            Neighbour(urn, name, tuple(sorted(set(orjson.loads(aspects)))))
            for urn, name, aspects in rows
        ]

    def handles(self, urns: Sequence[str]) -> dict[str, int]:
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT u.urn, u.id FROM {self._dialect.texts} JOIN urns u ON u.urn = f.value",
                (_array(urns),),
            )
            return dict(rows.fetchall())

    def urns_of_handles(self, handles: Sequence[int]) -> tuple[list[str], list[int]]:
        with self._reading() as connection:
            urns, live = connection.execute(
                self._dialect.urns_of_handles, (_array(handles),)
            ).fetchone()
        return orjson.loads(urns), orjson.loads(live)

    def lineage(
        self, frontier: Sequence[int], *, upstream: bool, limit: int = -1
    ) -> tuple[list[int], list[int], list[str]]:
        # Flow 1 leads from the target to the entity that declares the edge, flow 2 the other way.
        pointing_in, pointing_out = (2, 1) if upstream else (1, 2)
        with self._reading() as connection:
            near, far, types = connection.execute(
                self._dialect.lineage,
                {
                    "frontier": _array(frontier),
                    "in": pointing_in,
                    "out": pointing_out,
                    "limit": self._dialect.limit(limit),
                },
            ).fetchone()
        return orjson.loads(near), orjson.loads(far), orjson.loads(types)

    def lineage_pairs(self) -> Iterator[tuple[list[int], list[int]]]:
        begin: int | None = 0
        with self._snapshot() as connection:
            while begin is not None:
                given = {"begin": begin, "end": begin + _HANDLES_AT_ONCE}
                upstream, downstream, begin = connection.execute(
                    self._dialect.lineage_pairs, given
                ).fetchone()
                yield orjson.loads(upstream), orjson.loads(downstream)

    def browse(
        self,
        entity_type: str,
        path: tuple[str, ...],
        start: int,
        limit: int,
        among: Collection[str] | None = None,
    ) -> StoredFolderPage:
        with self._snapshot() as connection:
            return browse(connection, entity_type, path, start, limit, among)

    def log(self, after: int, limit: int) -> list[LogEntry]:
        with self._reading() as connection:
            rows = connection.execute(_LOG, (after, self._dialect.limit(limit)))
            return [LogEntry(*row) for row in rows]

    def log_bounds(self) -> LogBounds:
        with self._reading() as connection:
            # Two subqueries, each of one end of the table; one for both would scan all of it.
            row = connection.execute(
                'SELECT coalesce((SELECT min("offset") FROM log), 1) - 1, '
                'coalesce((SELECT max("offset") FROM log), 0)'
            ).fetchone()
        return LogBounds(*row)

    def changed_urns(self, after: int) -> list[str]:
        with self._reading() as connection:
            rows = connection.execute(
                'SELECT u.urn FROM (SELECT DISTINCT entity FROM log WHERE "offset" > ?) l '
                "JOIN urns u ON u.id = l.entity",
                (after,),
            )
            return [urn for (urn,) in rows]

    def note(self, key: str) -> str | None:
        with self._reading() as connection:
            row = connection.execute(
                "SELECT value FROM meta WHERE key = ?", (f"note.{key}",)
            ).fetchone()
        return row[0] if row else None


def _chunks(urns: Sequence[str]) -> Iterable[Sequence[str]]:
    return (urns[begin : begin + _AT_ONCE] for begin in range(0, len(urns), _AT_ONCE))


def _array(values: Sequence[str] | Sequence[int]) -> str:
    return orjson.dumps(list(values)).decode()


def _marks(values: Collection[object]) -> str:
    # Not every engine accepts an empty list.
    return ",".join("?" * len(values)) or "NULL"
