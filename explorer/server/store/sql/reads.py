"""The statements that read the tables, shared by stores, snapshots and transactions, and a catalog
read row by row, all tables side by side."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, Generic, TypeVar

import orjson

from explorer.metadata.names import natural_key
from explorer.server.store import (
    AspectRow,
    BrowseFolderRow,
    Direction,
    DocumentRange,
    EdgeKey,
    EdgeRow,
    EntityEdge,
    EntityRows,
    LeafRow,
    LogBounds,
    LogEntry,
    Neighbour,
    PlacementRow,
    PointRow,
    RunRow,
    RunSummary,
    StoredAspect,
    StoredDocument,
    StoredFolderPage,
    VersionRow,
)
from explorer.server.store.sql import (
    COMPRESSED,
    Dialect,
    SqlConnection,
    SqlRows,
    TableLayout,
)

_T = TypeVar("_T")

_LATEST = "a.name, 0, expand(a.value), a.time_millis, a.actor, coalesce(a.seen, a.system)"
_OLDER = "v.name, v.version, expand(v.value), v.time_millis, v.actor, v.system"
_NOT_REMOVED = " AND t.entity NOT IN (SELECT id FROM removed)"
_RUN = "(SELECT id FROM runs WHERE name = :run)"
# Combined with a run, this must use the index by entity: one run may have written all rows.
_OF_ENTITY = " AND t.entity = (SELECT id FROM urns WHERE urn = :urn)"
_AT_ONCE = 500
# The number of edge targets that are read at once when all edges are read.
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
LATEST_OF_ONE = (
    f"SELECT {_LATEST} FROM urns u JOIN aspects a ON a.entity = u.id WHERE u.urn = ? AND a.name = ?"
)
"""The statement that reads the latest version of one aspect."""
_ASPECT_ROWS = """
SELECT a.entity, a.name, expand(CAST(a.value AS BLOB)), a.superseded,
       CAST(coalesce(a.seen, a.system) AS BLOB), r.name
FROM aspects a LEFT JOIN runs r ON r.id = a.run ORDER BY a.entity, a.name
"""
_VERSION_ROWS = "SELECT entity, name, version FROM versions ORDER BY entity, name, version"
_EDGE_ROWS = """
SELECT e.source, e.type, u.urn, e.aspect, e.flow
FROM edges e LEFT JOIN urns u ON u.id = e.target ORDER BY e.source
"""
_PLACEMENT_ROWS = "SELECT entity, folder, sort, urn, name FROM placements ORDER BY entity"
_LEAF_ROWS = "SELECT entity, folder, leaf FROM leaves ORDER BY entity"
_POINT_ROWS = """
SELECT entity, aspect, at_millis, expand(CAST(value AS BLOB))
FROM points ORDER BY entity, aspect, at_millis, series
"""
_ALL = 1 << 40
_HERE = "SELECT name, sort, urn FROM placements WHERE folder = :folder"
_EXACT = """
SELECT p.name, p.sort, p.urn FROM leaves l
JOIN placements p ON p.folder = l.folder AND p.entity = l.entity
WHERE l.folder = :parent AND l.leaf = :leaf
"""
_BELOW = """
WITH RECURSIVE below (id, name) AS (
    SELECT id, name FROM folders WHERE type = :type AND parent = :folder
    UNION ALL
    SELECT f.id, b.name FROM below b JOIN folders f ON f.type = :type AND f.parent = b.id
)
SELECT b.name, p.urn FROM below b JOIN placements p ON p.folder = b.id
"""


def read_aspects(
    connection: SqlConnection, urns: Sequence[str], names: Collection[str] | None
) -> dict[str, list[StoredAspect]]:
    """Return the latest versions of the aspects of entities; see `store.Reader.aspects`."""
    aspects_by_urn: dict[str, list[StoredAspect]] = {}
    name_condition = "" if names is None else f" AND a.name IN ({_marks(names)})"
    for chunk in _chunks(urns):
        rows = connection.execute(
            f"SELECT u.urn, {_LATEST} FROM urns u JOIN aspects a ON a.entity = u.id "
            f"WHERE u.urn IN ({_marks(chunk)}){name_condition}",
            (*chunk, *(names or ())),
        )
        for urn, *rest in rows:
            aspects_by_urn.setdefault(urn, []).append(StoredAspect(*rest))
    return aspects_by_urn


class SqlReads(ABC):
    """The read operations in SQL. See `store.Reader`."""

    _dialect: Dialect

    @abstractmethod
    def _reading(self) -> AbstractContextManager[SqlConnection]:
        """Return a connection for one statement."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[SqlConnection]:
        """Return a connection whose statements all see the same moment."""

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        condition = "u.urn = ? AND v.name = ?"
        parameters: tuple[str | int, ...] = (urn, name)
        if version == 0:
            query = LATEST_OF_ONE
        elif version > 0:
            query = (
                f"SELECT {_OLDER} FROM urns u JOIN versions v ON v.entity = u.id "
                f"WHERE {condition} AND v.version = ?"
            )
            parameters = (urn, name, version)
        else:
            query = (
                f"SELECT {_OLDER} FROM urns u JOIN versions v ON v.entity = u.id "
                f"WHERE {condition} ORDER BY v.version DESC LIMIT 1 OFFSET ?"
            )
            parameters = (urn, name, -version - 1)
        with self._reading() as connection:
            row = connection.execute(query, parameters).fetchone()
        return StoredAspect(*row) if row else None

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        with self._reading() as connection:
            return read_aspects(connection, urns, names)

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
            aspects = [StoredAspect(*latest)] if has_latest and start == 0 and count else []
            rows = connection.execute(
                f"SELECT {_OLDER} {where} ORDER BY v.version DESC LIMIT ? OFFSET ?",
                (
                    *bounds,
                    self._dialect.limit(max(-1, count - len(aspects))),
                    max(0, start - has_latest),
                ),
            )
            aspects += [StoredAspect(*row) for row in rows]
        return older + has_latest, aspects

    def histories(
        self, urns: Sequence[str], names: Collection[str]
    ) -> dict[str, list[StoredAspect]]:
        aspects_by_urn: dict[str, list[StoredAspect]] = {}
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
                        aspects_by_urn.setdefault(urn, []).append(StoredAspect(*rest))
        return aspects_by_urn

    def existing(self, urns: Sequence[str]) -> set[str]:
        return self._urns_that("live", urns)

    def measured(self, urns: Sequence[str]) -> set[str]:
        return self._urns_that("EXISTS (SELECT 1 FROM points p WHERE p.entity = urns.id)", urns)

    def _urns_that(self, condition: str, urns: Sequence[str]) -> set[str]:
        """Return the URNs among these whose rows meet a condition."""
        with self._reading() as connection:
            return {
                urn
                for chunk in _chunks(urns)
                for (urn,) in connection.execute(
                    f"SELECT urn FROM urns WHERE {condition} AND urn IN ({_marks(chunk)})", chunk
                )
            }

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
        # `type`, so that it uses the index of URNs, which also has their order, or the index of a
        # run's entities.
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
        parameters = {
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
                f"SELECT urn FROM urns WHERE {where} ORDER BY urn LIMIT :limit OFFSET :start",
                parameters,
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
        parameters = {"type": entity_type, "aspect": aspect, "like": urn_like}
        if entity_type is not None:
            where += " AND u.type = :type"
        if other_than:
            other_types = {f"other{at}": name for at, name in enumerate(other_than)}
            where += f" AND u.type NOT IN ({', '.join(f':{name}' for name in other_types)})"
            parameters |= other_types
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
            total: int = connection.execute(query, parameters).fetchone()[0]
        return total

    def runs(self, start: int, count: int, *, with_removed: bool) -> list[RunSummary]:
        begin, narrowed = ("", "") if with_removed else (self._dialect.removed, _NOT_REMOVED)
        grouped_runs = f"t WHERE t.run IS NOT NULL{narrowed} GROUP BY t.run"
        dated = "SELECT t.run, count(*) AS rows, max(t.time_millis) AS at FROM"
        parts = (
            f"{dated} aspects {grouped_runs}",
            f"{dated} versions {grouped_runs}",
            f"SELECT n.run, n.rows, (SELECT {self._dialect.seen_millis.format('l')} FROM points l "
            "WHERE l.id = n.newest) FROM "
            f"(SELECT t.run, count(*) AS rows, max(t.id) AS newest FROM points {grouped_runs}) n",
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
        seen_millis = self._dialect.seen_millis.format("t")
        columns = (
            "t.name, {0} AS version, t.time_millis AS at, expand(t.value) AS value, "
            "{1} AS system, CAST(NULL AS BIGINT) AS moment, t.id AS row_id"
        )
        latest = columns.format("0", "coalesce(t.seen, t.system)")
        older = columns.format("t.version", "t.system")
        parts = (
            f"SELECT t.entity, {latest}, 0 AS age FROM aspects t {of_run}",
            f"SELECT t.entity, {older}, -t.version FROM versions t {of_run}",
            f"SELECT t.entity, t.aspect, 0, coalesce({seen_millis}, t.at_millis), "
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
        parameters: list[str | int] = [urn]
        for condition, value in (
            ("p.aspect =", aspect),
            ("p.at_millis >=", start_millis),
            ("p.at_millis <=", end_millis),
        ):
            if value is not None:
                where += f" AND {condition} ?"
                parameters.append(value)
        order = "p.at_millis DESC, p.series DESC"
        if aspect is None:
            order = f"p.aspect, {order}"
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT p.aspect, expand(p.value), p.system "
                "FROM urns u JOIN points p ON p.entity = u.id "
                f"WHERE {where} ORDER BY {order} LIMIT ?",
                (*parameters, self._dialect.limit(limit)),
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
        near_column, far_column = (
            ("source", "target") if direction == "OUTGOING" else ("target", "source")
        )
        if len(urns) == 1:
            # For one URN, the index has the order in which the rows are grouped.
            where = f"e.{near_column} = (SELECT id FROM urns WHERE urn = ?)"
            parameters = (urns[0], *types)
        else:
            urn_ids = f"SELECT u.id FROM {self._dialect.texts} JOIN urns u ON u.urn = f.value"
            where = f"e.{near_column} IN ({urn_ids})"
            parameters = (_array(urns), *types)
        if types:
            where += f" AND e.type IN ({_marks(types)})"
        grouped = f"FROM edges e WHERE {where} GROUP BY e.type, e.{far_column}"
        gathered = self._dialect.gathered.format("e.aspect")
        with self._snapshot() as connection:
            rows = connection.execute(
                "SELECT o.urn, e.type, e.aspects FROM "
                f"(SELECT e.type, e.{far_column} AS other, {gathered} AS aspects "
                f"{grouped} ORDER BY e.type, e.{far_column} LIMIT ? OFFSET ?) e "
                "JOIN urns o ON o.id = e.other ORDER BY e.type, e.other",
                (*parameters, self._dialect.limit(limit), start),
            ).fetchall()
            total = len(rows)
            if start or limit >= 0:
                (total,) = connection.execute(
                    f"SELECT count(*) FROM (SELECT 1 {grouped}) found", parameters
                ).fetchone()
        return total, [
            Neighbour(urn, name, tuple(sorted(set(orjson.loads(aspects)))))
            for urn, name, aspects in rows
        ]

    def scroll_edges(
        self,
        direction: Direction,
        urns: Sequence[str] | None = None,
        types: Sequence[str] = (),
        *,
        lineage: bool = False,
        after: EdgeKey | None = None,
        limit: int,
    ) -> list[EntityEdge]:
        near_column, far_column = (
            ("source", "target") if direction == "OUTGOING" else ("target", "source")
        )
        where = ""
        parameters: list[Any] = []
        if urns is not None:
            urn_ids = f"SELECT u.id FROM {self._dialect.texts} JOIN urns u ON u.urn = f.value"
            where += f" AND e.{near_column} IN ({urn_ids})"
            parameters.append(_array(urns))
        if types:
            where += f" AND e.type IN ({_marks(types)})"
            parameters += types
        if lineage:
            # The index of lineage has another order, in which a page would be sorted from all rows.
            where += f" AND {self._dialect.unindexed.format('e.flow')} > 0"
        # Each of the two is a range of an index; a comparison of whole keys is not, for one URN.
        ranges: list[tuple[str, Sequence[Any]]] = [
            (f"e.{near_column} > ?", (after[0] if after else -1,))
        ]
        if after:
            ranges.insert(0, (f"e.{near_column} = ? AND (e.type, e.{far_column}) > (?, ?)", after))
        key = f"e.{near_column}, e.type, e.{far_column}"
        edges: list[EntityEdge] = []
        with self._snapshot() as connection:
            for within, bounds in ranges:
                if len(edges) == limit:
                    break
                rows = connection.execute(
                    "SELECT h.urn, e.type, t.urn, e.flow, e.here, e.there FROM "
                    f"(SELECT e.{near_column} AS here, e.type, e.{far_column} AS there, "
                    f"max(e.flow) AS flow FROM edges e WHERE {within}{where} "
                    f"GROUP BY {key} ORDER BY {key} LIMIT ?) e "
                    "JOIN urns h ON h.id = e.here JOIN urns t ON t.id = e.there "
                    "ORDER BY e.here, e.type, e.there",
                    (*bounds, *parameters, limit - len(edges)),
                )
                for near, name, far, flow, *ends in rows:
                    source, target = (near, far) if direction == "OUTGOING" else (far, near)
                    edges.append(EntityEdge(source, name, target, flow, (ends[0], name, ends[1])))
        return edges

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
                parameters = {"begin": begin, "end": begin + _HANDLES_AT_ONCE}
                upstream, downstream, begin = connection.execute(
                    self._dialect.lineage_pairs, parameters
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
            return _browse(connection, entity_type, path, start, limit, among)

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


class SqlSnapshot(SqlReads):
    """A reader of the state that one connection sees."""

    def __init__(self, connection: SqlConnection, dialect: Dialect) -> None:
        self._dialect = dialect
        self._connection = nullcontext(connection)
        self._run = connection.execute

    def _reading(self) -> AbstractContextManager[SqlConnection]:
        return self._connection

    def _snapshot(self) -> AbstractContextManager[SqlConnection]:
        return self._connection

    def rows_of(
        self,
        table: TableLayout,
        after: Sequence[Any] | None,
        limit: int,
        through: Sequence[Any] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a table after one key and up to another, in the order of the keys.

        Values are returned uncompressed.
        """
        keys, where, parameters = table.between(after, through)
        columns = ", ".join(
            f'expand("{column}")' if column in COMPRESSED else f'"{column}"'
            for column in table.columns
        )
        statement = f"SELECT {columns} FROM {table.name} WHERE {where} ORDER BY {keys} LIMIT ?"
        return list(self._run(statement, (*parameters, self._dialect.limit(limit))).fetchall())


class SqlSurvey(SqlSnapshot):
    """A survey of the state that one connection sees. See `store.Survey`."""

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
        entity_rows: list[_T] = []
        while self._next is not None and self._next[0] == entity:
            entity_rows.append(self._kind(*self._next[1:]))
            self._next = self._rows.fetchone()
        return entity_rows


class _Tables:
    """All tables with rows by entity, in the order of `EntityRows`'s fields, read side by side."""

    def __init__(self, run: Callable[[str], SqlRows]) -> None:
        self._tables: list[_RowsByEntity[Any]] = [
            _RowsByEntity(run(_ASPECT_ROWS), AspectRow),
            _RowsByEntity(run(_VERSION_ROWS), VersionRow),
            _RowsByEntity(run(_EDGE_ROWS), EdgeRow),
            _RowsByEntity(run(_PLACEMENT_ROWS), PlacementRow),
            _RowsByEntity(run(_LEAF_ROWS), LeafRow),
            _RowsByEntity(run(_POINT_ROWS), PointRow),
        ]

    def ahead(self) -> int | None:
        """Return the entity that comes next in any table, `None` at the end."""
        entities = (table.entity for table in self._tables)
        return min((entity for entity in entities if entity is not None), default=None)

    def entity_rows(
        self, entity: int, urn: str | None, entity_type: str, *, live: bool
    ) -> EntityRows:
        """Return the rows of an entity from all tables."""
        return EntityRows(urn, entity_type, live, *(table.take(entity) for table in self._tables))


def _chunks(urns: Sequence[str]) -> Iterable[Sequence[str]]:
    return (urns[begin : begin + _AT_ONCE] for begin in range(0, len(urns), _AT_ONCE))


def _array(values: Sequence[str] | Sequence[int]) -> str:
    return orjson.dumps(list(values)).decode()


def _marks(values: Collection[object]) -> str:
    # Not every engine accepts an empty list.
    return ",".join("?" * len(values)) or "NULL"


def _browse(
    connection: SqlConnection,
    entity_type: str,
    path: tuple[str, ...],
    start: int,
    limit: int,
    among: Collection[str] | None = None,
) -> StoredFolderPage:
    """Return a page of the contents of a folder; call this inside a read transaction."""
    run = connection.execute
    parent, folder, below = 0, 0, 0
    for at, key in enumerate(("", *(name.casefold() for name in path))):
        parent = folder
        row = run(
            "SELECT id, entities FROM folders WHERE type = ? AND parent = ? AND key = ?",
            (entity_type, parent, key),
        ).fetchone()
        if row is None:
            if at < len(path):
                return StoredFolderPage((), (), 0, 0, 0)
            folder, below = -1, 0
            break
        folder, below = row
    parameters = {"folder": folder, "parent": parent, "leaf": path[-1].casefold() if path else None}
    exact = [urn for _, _, urn in run(_EXACT, parameters)]
    listed = f"({_HERE} UNION {_EXACT}) listed" if exact else f"({_HERE}) listed"
    groups = _groups(connection, entity_type, folder)
    end = start + limit if limit >= 0 else _ALL
    if among is None:
        total: int = run(f"SELECT COUNT(*) FROM {listed}", parameters).fetchone()[0]
        below += sum(1 for urn in exact if not _is_below(connection, urn, folder))
        room = max(0, end - max(start, len(groups)))
        cut = f"LIMIT {room} OFFSET {max(0, start - len(groups))}"
        entities = run(
            f"SELECT name, urn FROM {listed} ORDER BY sort, urn {cut}", parameters
        ).fetchall()
    else:
        rows = run(f"SELECT name, urn FROM {listed} ORDER BY sort, urn", parameters)
        entities = [(name, urn) for name, urn in rows if urn in among]
        by_group: dict[str, set[str]] = {}
        for name, urn in run(_BELOW, {"type": entity_type, "folder": folder}):
            if urn in among:
                by_group.setdefault(name, set()).add(urn)
        groups = [(name, len(by_group[name])) for name, _ in groups if name in by_group]
        total = len(entities)
        below = len({urn for _, urn in entities}.union(*by_group.values()))
        entities = entities[max(0, start - len(groups)) : max(0, end - len(groups))]
    return StoredFolderPage(tuple(groups[start:end]), tuple(entities), len(groups), total, below)


def _groups(connection: SqlConnection, entity_type: str, folder: int) -> list[tuple[str, int]]:
    rows = connection.execute(
        "SELECT name, entities FROM folders WHERE type = ? AND parent = ?", (entity_type, folder)
    ).fetchall()
    return sorted(rows, key=lambda row: (natural_key(row[0]), row[0]))


def _is_below(connection: SqlConnection, urn: str, folder: int) -> bool:
    """Return whether an entity is also in or below the folder, and so already counted."""
    row = connection.execute(
        """
        WITH RECURSIVE up (id) AS (
            SELECT p.folder FROM urns u JOIN placements p ON p.entity = u.id WHERE u.urn = ?
            UNION
            SELECT f.parent FROM up JOIN folders f ON f.id = up.id
        )
        SELECT 1 FROM up WHERE id = ?
        """,
        (urn, folder),
    ).fetchone()
    return row is not None
