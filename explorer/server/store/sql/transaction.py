"""The statements that change the tables: aspects, edges, documents, removal, the browse tree, the
change log."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from msgspec.structs import replace

from explorer.errors import CatalogError
from explorer.metadata.names import natural_key
from explorer.server.store import (
    Job,
    Placement,
    StoredAspect,
    StoredDocument,
    StoredEdge,
    StoredFolderPage,
    TimeseriesDocument,
    TransactionChanges,
    Trimmed,
    Write,
    digest,
    same_value,
    set_version,
    update_observation,
    version_of,
)
from explorer.server.store.sql import COMPRESSED, Dialect, SqlConnection, TableLayout
from explorer.server.store.sql.reads import LATEST_OF_ONE, SqlSnapshot, read_aspects

T = TypeVar("T")

_NO_SYSTEM = b"{}"
# The note with the latest time of all removed aspects, in milliseconds. An aspect that is written
# again after a removal gets a later time.
_LATEST_REMOVED = "latest_removed"
_AT_ONCE = 500
# A URN takes about 300 bytes.
_MOST_URNS = 50_000
_MOST_READ = 1_000
_LARGEST_READ = 4_096
_MOST_FOLDERS = 10_000

_URNS = """
SELECT u.urn, u.id, u.live, NOT u.live AND (
    EXISTS (SELECT 1 FROM last_versions l WHERE l.entity = u.id)
    OR EXISTS (SELECT 1 FROM aspects a WHERE a.entity = u.id))
FROM urns u WHERE u.urn IN
"""
_ADD_ASPECT = (
    "INSERT INTO aspects (id, entity, name, value, time_millis, actor, system, run) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_ADD_URN = "INSERT INTO urns (id, urn, type, live) VALUES (?, ?, ?, ?)"
_REVIVE = "UPDATE urns SET live = TRUE WHERE id = ?"
_ADD_EDGE = (
    "INSERT INTO edges (source, type, target, aspect, flow) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (source, type, target, aspect) DO UPDATE SET flow = excluded.flow"
)
_ADD_POINT = (
    "INSERT INTO points (id, entity, aspect, at_millis, series, value, system, run) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# A row that has no more than this takes half the time of a full one, most of whose values are NULL.
_ADD_SHORT_LOG = 'INSERT INTO log ("offset", entity, aspect, digest) VALUES (?, ?, ?, ?)'
_ADD_LOG = (
    "INSERT INTO log "
    '("offset", entity, aspect, change, previous, before, digest, time_millis, actor, system) '
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class WriterCache:
    """Rows that the writer remembers between transactions, valid while nobody else writes.

    Cleared when a transaction or one of its jobs is rolled back. Without them a load would send 1.5
    times as many statements to the database, and a save 12 instead of 10.
    """

    def __init__(self) -> None:
        # The id of the row, -1 if there is none; whether the entity exists; whether rows of a
        # removed entity with this URN remain.
        self.urns: dict[str, tuple[int, bool, bool]] = {}
        self.runs: dict[str, int] = {}
        self.notes: dict[str, str | None] = {}
        # Latest aspects by entity and name, `None` for one that does not exist. A load reads those
        # of the same platforms and containers for each of its datasets.
        self.aspects: dict[int, dict[str, StoredAspect | None]] = {}
        self.folders = FolderCache()

    def clear(self) -> None:
        for entries in (self.urns, self.runs, self.notes, self.aspects):
            entries.clear()
        self.folders.clear()

    def trim(self) -> None:
        """Empty the parts that have become too large."""
        if len(self.urns) > _MOST_URNS:
            self.urns.clear()
        for entries in (self.runs, self.notes):
            if len(entries) > _MOST_READ:
                entries.clear()
        self.folders.trim()


_SET_SEEN = "UPDATE aspects SET seen = ? WHERE id = ?"
_UNKNOWN = (-1, False, False)
# The log no longer has the entry that wrote a row `v`: the id of the row is the entry's offset.
_NOT_IN_LOG = 'v.id < (SELECT coalesce(min("offset"), 4611686018427387904) FROM log)'


class NewEntity:
    """An entity that this transaction created.

    `last_versions` has the last version numbers of aspects from before an earlier removal of the
    entity. `has_documents` says whether documents were added to it.
    """

    __slots__ = ("aspects", "has_documents", "last_versions")

    def __init__(self, last_versions: dict[str, int]) -> None:
        self.aspects: dict[str, StoredAspect] = {}
        self.last_versions = last_versions
        self.has_documents = False


class SqlTransaction(SqlSnapshot):
    """A transaction of the writer's connection. See `store.Transaction`.

    New rows of aspects, their edges, documents and the log are buffered and written in batches:
    before the database is read, and when a job ends. Data that is known to be new is not looked up.
    """

    def __init__(self, connection: SqlConnection, dialect: Dialect, cache: WriterCache) -> None:
        super().__init__(connection, dialect)
        self._compress = dialect.compress
        self.changes = TransactionChanges()
        self._cache = cache
        self._folders = BrowseFolders(connection, cache.folders)
        self._run_many = connection.executemany
        self._urn_rows: list[tuple[object, ...]] = []
        self._live_rows: list[tuple[object, ...]] = []
        self._aspect_rows: list[tuple[object, ...]] = []
        # With the URN of the target; its id is determined when the rows are written.
        self._edge_rows: list[tuple[int, str, str, str, int]] = []
        # Rows of values that replace none, and have time, actor and system metadata themselves.
        self._short_log_rows: list[tuple[object, ...]] = []
        self._log_rows: list[tuple[object, ...]] = []
        self._point_rows: list[tuple[object, ...]] = []
        # The keys of the documents that this transaction wrote; and, by entity and aspect, the
        # first and last timestamp of those that existed before, some of which may be removed now.
        self._points_written: set[tuple[int, str, int, str]] = set()
        self._points_before: dict[tuple[int, str], tuple[int, int]] = {}
        # System metadata of values that were written again unchanged, with the ids of their rows.
        self._seen_rows: list[tuple[bytes, int]] = []
        # The aspects, by entity and name, that have buffered rows.
        self._gathered: set[tuple[int, str]] = set()
        self._new: dict[int, NewEntity] = {}
        # Entities that this transaction removed. Not cleared before it ends.
        self._removed: set[int] = set()
        self._last_offset: int | None = None
        self._last_urn: int | None = None

    def existing(self, urns: Sequence[str]) -> set[str]:
        entries_by_urn = self._cache.urns
        if len(urns) == 1 and (urn_entry := entries_by_urn.get(urns[0])) is not None:
            return {urns[0]} if urn_entry[1] else set()
        unknown = [urn for urn in dict.fromkeys(urns) if urn not in entries_by_urn]
        for begin in range(0, len(unknown), _AT_ONCE):
            chunk = unknown[begin : begin + _AT_ONCE]
            rows = self._run(f"{_URNS} ({','.join('?' * len(chunk))})", chunk)
            entries_by_urn.update(
                (urn, (row, bool(live), bool(past))) for urn, row, live, past in rows
            )
            entries_by_urn.update((urn, _UNKNOWN) for urn in chunk if urn not in entries_by_urn)
        return {urn for urn in urns if entries_by_urn[urn][1]}

    def aspect(self, urn: str, name: str, version: int = 0) -> StoredAspect | None:
        if version:
            return super().aspect(urn, name, version)
        entity, is_live, _ = self._urn_entry(urn)
        if not is_live:
            return None
        new = self._new.get(entity)
        if new is not None:
            return new.aspects.get(name)
        aspects = self._cache.aspects.get(entity, {})
        if name in aspects:
            return aspects[name]
        if (entity, name) in self._gathered:
            self._write_rows()
        # The rows of others may stay in their buffers.
        row = self._run(LATEST_OF_ONE, (urn, name)).fetchone()
        stored = StoredAspect(*row) if row else None
        if stored is None or len(stored.value) + len(stored.system) <= _LARGEST_READ:
            if len(self._cache.aspects) >= _MOST_READ:
                self._cache.aspects.clear()
            self._cache.aspects.setdefault(entity, {})[name] = stored
        return stored

    def aspects(
        self, urns: Sequence[str], names: Collection[str] | None = None
    ) -> dict[str, list[StoredAspect]]:
        self.existing(urns)
        aspects_by_urn: dict[str, list[StoredAspect]] = {}
        unknown: list[str] = []
        for urn in dict.fromkeys(urns):
            entity, is_live, _ = self._cache.urns[urn]
            new = self._new.get(entity)
            if is_live and new is None:
                unknown.append(urn)
            elif is_live and new is not None:
                listed = [
                    aspect for name, aspect in new.aspects.items() if names is None or name in names
                ]
                if listed:
                    aspects_by_urn[urn] = listed
        if unknown:
            entities = {self._id(urn) for urn in unknown}
            if any(entity in entities for entity, _ in self._gathered):
                self._write_rows()
            # The rows of others may stay in their buffers.
            with super()._reading() as connection:
                aspects_by_urn |= read_aspects(connection, unknown, names)
        return aspects_by_urn

    def documents(
        self,
        urn: str,
        aspect: str | None = None,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[StoredDocument]:
        # A new entity has no documents until `append` adds one.
        new = self._new.get(self._id(urn))
        if new is not None and not new.has_documents:
            return iter(())
        return super().documents(urn, aspect, start_millis, end_millis, limit)

    def browse(
        self,
        entity_type: str,
        path: tuple[str, ...],
        start: int,
        limit: int,
        among: Collection[str] | None = None,
    ) -> StoredFolderPage:
        self._folders.write_rows()
        return super().browse(entity_type, path, start, limit, among)

    def note(self, key: str) -> str | None:
        notes = self._cache.notes
        if key not in notes:
            notes[key] = super().note(key)
        return notes[key]

    def forget(self) -> None:
        """Discard buffers and caches after a job was rolled back; rows that it made no longer
        exist."""
        self._urn_rows.clear()
        self._live_rows.clear()
        self._aspect_rows.clear()
        self._edge_rows.clear()
        self._short_log_rows.clear()
        self._log_rows.clear()
        self._point_rows.clear()
        self._points_written.clear()
        self._points_before.clear()
        self._seen_rows.clear()
        self._gathered.clear()
        self._new.clear()
        self._cache.clear()
        self._last_urn = None
        self._last_offset = None
        # `_removed` stays: an entity that is listed there wrongly is only looked up needlessly.
        self._folders.forget()

    def attempt(self, job: Job[T]) -> T:
        self.finish()
        before, self.changes = self.changes, TransactionChanges()
        self._run("SAVEPOINT part")
        try:
            result = job(self)
            self.finish()
        except CatalogError:
            self._run("ROLLBACK TO part")
            self._run("RELEASE part")
            self.forget()
            self.changes = TransactionChanges()
            raise
        finally:
            # After an error of the engine the whole job is undone.
            before.add(self.changes)
            self.changes = before
        self._run("RELEASE part")
        return result

    def put(self, write: Write) -> bool:
        entity = self._live_id(write.urn, write.entity_type)
        new = self._new.get(entity)
        if new is not None and write.aspect not in new.aspects:
            self._put_first(entity, write, new.last_versions.get(write.aspect, 0), new)
            return True
        self._new.pop(entity, None)
        if (entity, write.aspect) in self._gathered:
            self._write_rows()
        old = self._run(
            "SELECT id, expand(value), superseded, seen, time_millis, actor, system, run "
            "FROM aspects WHERE entity = ? AND name = ?",
            (entity, write.aspect),
        ).fetchone()
        if old is None:
            self._put_first(entity, write, self._last_version(entity, write.aspect), None)
            return True
        row, value, superseded, seen_system, *stamp = old
        old_system, latest_system = stamp[2], seen_system or stamp[2]
        if same_value(value, write.value):
            self._seen_rows.append((update_observation(latest_system, write.system), row))
            self._cache.aspects.pop(entity, None)
            self._gathered.add((entity, write.aspect))
            return False
        # Conditions refer to the time of the value that a client read, and the clock may be set
        # back.
        write = replace(write, time_millis=max(write.time_millis, stamp[0] + 1))
        run = self._run_id(write.run)
        system = set_version(write.system, version_of(latest_system, superseded) + 1)
        if seen_system is not None:
            # The log row keeps the system metadata as it was when the value was first written.
            self._write_rows()
            self._run(
                'UPDATE log SET system = ? WHERE "offset" = ? AND system IS NULL', (old_system, row)
            )
            stamp[2] = seen_system
        self._run(
            "INSERT INTO versions "
            "(id, entity, name, version, value, time_millis, actor, system, run) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row, entity, write.aspect, superseded + 1, self._compress(value), *stamp),
        )
        offset = self._log(entity, write.aspect, write.value, before=row)
        self._run(
            "UPDATE aspects SET id = ?, value = ?, superseded = ?, time_millis = ?, actor = ?, "
            "system = ?, run = ?, seen = NULL WHERE id = ?",
            (
                offset,
                self._compress(write.value),
                superseded + 1,
                write.time_millis,
                write.actor,
                system,
                run,
                row,
            ),
        )
        self._set_edges(entity, write.aspect, write.edges)
        self.changes.touched.add(write.urn)
        return True

    def _put_first(
        self, entity: int, write: Write, last_version: int, new: NewEntity | None
    ) -> None:
        """Write an aspect that does not exist yet, with its edges and log entry."""
        if last_version:
            # It existed before. See `put`.
            least_millis = int(self.note(_LATEST_REMOVED) or 0) + 1
            write = replace(write, time_millis=max(write.time_millis, least_millis))
        system = set_version(write.system, last_version + 1)
        run = self._run_id(write.run)
        stamp = (write.time_millis, write.actor, system)
        offset = self._next_offset(entity)
        self._short_log_rows.append((offset, entity, write.aspect, digest(write.value)))
        packed = self._compress(write.value)
        self._gathered.add((entity, write.aspect))
        self._aspect_rows.append((offset, entity, write.aspect, packed, *stamp, run))
        for edge in write.edges:
            row = (entity, edge.relationship, edge.target, write.aspect, edge.flow)
            self._edge_rows.append(row)
            self.changes.rewired = self.changes.rewired or edge.flow != 0
        if new is not None:
            new.aspects[write.aspect] = StoredAspect(write.aspect, 0, write.value, *stamp)
        self.changes.touched.add(write.urn)

    def append(self, document: TimeseriesDocument) -> bool:
        entity = self._live_id(document.urn, document.entity_type)
        new = self._new.get(entity)
        if new is not None:
            new.has_documents = True
        place = (entity, document.aspect, document.at_millis, document.series)
        old = None
        if self._may_have_point(place):
            old = self._run(
                "SELECT id, expand(value), system, run FROM points "
                "WHERE entity = ? AND aspect = ? AND at_millis = ? AND series = ?",
                place,
            ).fetchone()
        if old is not None and same_value(old[1], document.value):
            latest = (document.system, self._run_id(document.run))
            if old[2:] != latest:
                self._run("UPDATE points SET system = ?, run = ? WHERE id = ?", (*latest, old[0]))
            return False
        if old is not None:
            self._keep_logged("points", "t.id = ?", (old[0],))
        offset = self._log(
            entity,
            document.aspect,
            document.value,
            previous=old[1] if old else None,
            stamp=(document.time_millis, document.actor, None),
        )
        if old is not None:
            self._run("DELETE FROM points WHERE id = ?", (old[0],))
        packed, run = self._compress(document.value), self._run_id(document.run)
        self._point_rows.append((offset, *place, packed, document.system, run))
        self._points_written.add(place)
        self.changes.measured.add((document.urn, document.aspect))
        return True

    def _may_have_point(self, place: tuple[int, str, int, str]) -> bool:
        """Return whether a document may exist at a place.

        If this transaction wrote one there, the buffered rows are written first.
        """
        entity, aspect, at_millis, _ = place
        before = self._points_before.get((entity, aspect))
        if before is None and entity in self._new:
            before = self._points_before[entity, aspect] = (1, 0)
        if before is None:
            before = self._points_before[entity, aspect] = self._run(
                "SELECT coalesce(min(at_millis), 1), coalesce(max(at_millis), 0) FROM points "
                "WHERE entity = ? AND aspect = ?",
                (entity, aspect),
            ).fetchone()
        if place in self._points_written:
            self._write_rows()
            return True
        return before[0] <= at_millis <= before[1]

    def remove_entity(
        self, urn: str, key_aspect: str, time_millis: int, actor: str
    ) -> tuple[int, int]:
        entity = self._id(urn)
        self._touch(entity)
        key = self.aspect(urn, key_aspect)
        self._removed.add(entity)
        self._keep_last_versions(entity)
        rows = 0
        for table in ("versions", "aspects"):
            self._keep_logged(table, "t.entity = ?", (entity,))
            rows += self._run(f"DELETE FROM {table} WHERE entity = ?", (entity,)).rowcount
        self._keep_logged("points", "t.entity = ?", (entity,))
        documents = self._run("DELETE FROM points WHERE entity = ?", (entity,)).rowcount
        lineage = self._run(
            "SELECT 1 FROM edges WHERE source = ? AND flow > 0 LIMIT 1", (entity,)
        ).fetchone()
        self.changes.rewired = self.changes.rewired or lineage is not None
        self._run("DELETE FROM edges WHERE source = ?", (entity,))
        self._run("UPDATE urns SET live = FALSE WHERE id = ?", (entity,))
        self._cache.urns[urn] = (entity, False, True)
        self._log_removal(entity, key_aspect, key, time_millis, actor)
        self.changes.touched.add(urn)
        return rows, documents

    def remove_aspect(self, urn: str, aspect: str, time_millis: int, actor: str) -> int:
        current = self.aspect(urn, aspect)
        if current is None:
            return 0
        entity = self._id(urn)
        self._touch(entity)
        self._keep_last_versions(entity, aspect)
        for table in ("versions", "aspects"):
            self._keep_logged(table, "t.entity = ? AND t.name = ?", (entity, aspect))
        count = self._run(
            "DELETE FROM versions WHERE entity = ? AND name = ?", (entity, aspect)
        ).rowcount
        self._run("DELETE FROM aspects WHERE entity = ? AND name = ?", (entity, aspect))
        self._set_edges(entity, aspect, ())
        self._log_removal(entity, aspect, current, time_millis, actor)
        self.changes.touched.add(urn)
        return count + 1

    def remove_version(
        self,
        urn: str,
        aspect: str,
        version: int,
        edges: Sequence[StoredEdge],
        time_millis: int,
        actor: str,
    ) -> None:
        entity = self._id(urn)
        self._touch(entity)
        if version:
            self._drop_superseded(entity, aspect, version)
            return
        latest, earlier = self.aspect(urn, aspect), self.aspect(urn, aspect, -1)
        if latest is None or earlier is None:
            self.remove_aspect(urn, aspect, time_millis, actor)
            return
        # A version number or a time that a client may have read must never refer to another value.
        time_millis = max(time_millis, latest.time_millis + 1)
        last = max(version_of(latest.system), version_of(earlier.system))
        system = set_version(earlier.system, last + 1)
        (run,) = self._run(
            "SELECT run FROM versions WHERE entity = ? AND name = ? AND version = ?",
            (entity, aspect, earlier.version),
        ).fetchone()
        self._keep_logged("aspects", "t.entity = ? AND t.name = ?", (entity, aspect))
        offset = self._log(
            entity,
            aspect,
            earlier.value,
            previous=latest.value,
            stamp=(time_millis, actor, system),
        )
        self._write_rows()
        self._run(
            "UPDATE aspects SET id = ?, value = ?, time_millis = ?, actor = ?, system = ?, "
            "run = ?, seen = NULL WHERE entity = ? AND name = ?",
            (
                offset,
                self._compress(earlier.value),
                time_millis,
                earlier.actor,
                system,
                run,
                entity,
                aspect,
            ),
        )
        self._drop_superseded(entity, aspect, earlier.version)
        self._set_edges(entity, aspect, edges)
        self.changes.touched.add(urn)

    def remove_documents(
        self,
        urn: str,
        aspect: str,
        bounds: tuple[int | None, int | None],
        time_millis: int,
        actor: str,
        run: str | None = None,
    ) -> int:
        where = (
            "t.entity = ? AND t.aspect = ? AND t.at_millis >= coalesce(?, t.at_millis) "
            "AND t.at_millis <= coalesce(?, t.at_millis)"
        )
        entity = self._id(urn)
        parameters = [entity, aspect, *bounds]
        self._touch(entity)
        if run is not None:
            column = self._dialect.unindexed.format("t.run")
            where += f" AND {column} = (SELECT id FROM runs WHERE name = ?)"
            parameters.append(run)
        self._keep_logged("points", where, parameters)
        count = self._run(f"DELETE FROM points AS t WHERE {where}", parameters).rowcount
        if count:
            self._log_removal(entity, aspect, None, time_millis, actor)
            self.changes.measured.add((urn, aspect))
        return count

    def place(
        self, urn: str, entity_type: str, name: str, placements: Collection[Placement]
    ) -> None:
        entity = self._id(urn)
        is_new = entity in self._new and entity not in self._removed
        self._folders.place(entity, urn, entity_type, name, placements, is_new=is_new)

    def trim_log(self, before_millis: int, through: int, most: int) -> int:
        self._write_rows()
        last = self.log_bounds().head
        rows = self._run(
            'SELECT l."offset", coalesce(l.time_millis, a.time_millis, v.time_millis, 0) '
            "FROM log l "
            'LEFT JOIN aspects a ON a.id = l."offset" LEFT JOIN versions v ON v.id = l."offset" '
            'WHERE l."offset" <= ? ORDER BY l."offset" LIMIT ?',
            (min(through, last - 1), most),
        ).fetchall()
        cut = 0
        for offset, time_millis in rows:
            if time_millis >= before_millis:
                break
            cut = offset
        return self._run('DELETE FROM log WHERE "offset" <= ?', (cut,)).rowcount

    def trim_versions(self, keep: int, after: int, most: int) -> Trimmed:
        last, end = self._next_entities("versions", after, most)
        rows = self._run(
            "SELECT v.id, v.name, v.until FROM (SELECT id, name, "
            "row_number() OVER (PARTITION BY entity, name ORDER BY version DESC) AS age, "
            "lead(time_millis) OVER (PARTITION BY entity, name ORDER BY version) AS until "
            "FROM versions WHERE entity > ? AND entity <= ?) v WHERE v.age > ? "
            f"AND {_NOT_IN_LOG} AND NOT EXISTS (SELECT 1 FROM log WHERE log.before = v.id)",
            (after, last, keep),
        ).fetchall()
        self._run_many("DELETE FROM versions WHERE id = ?", [(row,) for row, *_ in rows])
        since: dict[str, int] = {}
        for _, name, until in rows:
            since[name] = max(until, since.get(name, until))
        return Trimmed(len(rows), end, since)

    def trim_documents(self, before_millis: int, after: int, most: int) -> Trimmed:
        last, end = self._next_entities("points", after, most)
        newest = (
            "SELECT max(n.at_millis) FROM points n WHERE n.entity = v.entity "
            "AND n.aspect = v.aspect"
        )
        count = self._run(
            "DELETE FROM points AS v WHERE v.entity > ? AND v.entity <= ? AND v.at_millis < ? "
            f"AND v.at_millis < ({newest}) AND {_NOT_IN_LOG} "
            f"AND (v.series != '' OR v.at_millis < ({newest} AND n.series = ''))",
            (after, last, before_millis),
        ).rowcount
        return Trimmed(count, end)

    def _next_entities(self, table: str, after: int, most: int) -> tuple[int, int | None]:
        """Return the last of the next `most` entities in a table, and `Trimmed.after`."""
        self._write_rows()
        entities = self._run(
            f"SELECT DISTINCT entity FROM {table} WHERE entity > ? ORDER BY entity LIMIT ?",
            (after, most),
        ).fetchall()
        last = entities[-1][0] if entities else after
        return last, last if len(entities) == most else None

    def set_note(self, key: str, value: str | None) -> None:
        self._cache.notes[key] = value
        if value is None:
            self._run("DELETE FROM meta WHERE key = ?", (f"note.{key}",))
        else:
            self._run(
                "INSERT INTO meta (key, value) VALUES (?, ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (f"note.{key}", value),
            )

    def empty(self, table: TableLayout) -> None:
        """Delete the rows of a table."""
        self._run(f"DELETE FROM {table.name} WHERE {table.where}")

    def replace_rows(
        self,
        table: TableLayout,
        rows: Sequence[Sequence[Any]],
        after: Sequence[Any] | None,
        through: Sequence[Any] | None,
    ) -> None:
        """Replace the rows between two keys.

        Rows elsewhere that equal a new row in the table's unique columns are deleted too.
        """
        _, where, parameters = table.between(after, through)
        self._run(f"DELETE FROM {table.name} WHERE {where}", parameters)
        if table.unique:
            places = [table.columns.index(column) for column in table.unique]
            condition = " AND ".join(f'"{column}" = ?' for column in table.unique)
            self._run_many(
                f"DELETE FROM {table.name} WHERE {condition}",
                [[row[at] for at in places] for row in rows],
            )
        self.add_rows(table, rows)

    def add_rows(self, table: TableLayout, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows as returned by `rows_of`."""
        columns = ", ".join(f'"{column}"' for column in table.columns)
        marks = ", ".join("?" * len(table.columns))
        pressed = [at for at, column in enumerate(table.columns) if column in COMPRESSED]
        stored_rows = [list(row) for row in rows]
        for row in stored_rows:
            for at in pressed:
                if isinstance(row[at], bytes):
                    row[at] = self._compress(row[at])
            if table.name == "urns":
                row[-1] = bool(row[-1])
        self._run_many(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", stored_rows)

    def finish_copy(self) -> None:
        """Make the ids of new rows continue after those of the copied rows."""
        for statement in self._dialect.after_copy:
            self._run(statement)

    def finish(self) -> None:
        """Write the buffered rows, at the end of a job or of the transaction."""
        self._write_rows()
        self._folders.finish()

    def _reading(self) -> AbstractContextManager[SqlConnection]:
        self._write_rows()
        return super()._reading()

    def _snapshot(self) -> AbstractContextManager[SqlConnection]:
        self._write_rows()
        return super()._snapshot()

    def _write_rows(self) -> None:
        self._gathered.clear()
        edges = self._edge_rows
        if edges:
            self.existing([target for _, _, target, _, _ in edges])
        linked = [
            (source, kind, self._target_id(target), aspect, flow)
            for source, kind, target, aspect, flow in edges
        ]
        edges.clear()
        for statement, rows in (
            (_ADD_URN, self._urn_rows),
            (_REVIVE, self._live_rows),
            (_ADD_ASPECT, self._aspect_rows),
            (_ADD_EDGE, linked),
            (_ADD_POINT, self._point_rows),
            (_ADD_SHORT_LOG, self._short_log_rows),
            (_ADD_LOG, self._log_rows),
            (_SET_SEEN, self._seen_rows),
        ):
            if rows:
                self._run_many(statement, rows)
                rows.clear()

    def _touch(self, entity: int) -> None:
        """Write the buffered rows, and treat an entity as one that existed before: it is looked up
        in the database from now on."""
        self._write_rows()
        self._new.pop(entity, None)

    def _urn_entry(self, urn: str) -> tuple[int, bool, bool]:
        """Return the entry of a URN in `WriterCache.urns`, looking it up if necessary."""
        urn_entry = self._cache.urns.get(urn)
        if urn_entry is None:
            self.existing([urn])
            urn_entry = self._cache.urns[urn]
        return urn_entry

    def _id(self, urn: str) -> int:
        return self._urn_entry(urn)[0]

    def _live_id(self, urn: str, entity_type: str) -> int:
        entity, live, past = self._urn_entry(urn)
        if live:
            return entity
        if entity == -1:
            entity = self._new_id(urn, entity_type, live=True)
            self._new[entity] = NewEntity({})
            return entity
        self._live_rows.append((entity,))
        self._cache.urns[urn] = (entity, True, False)
        last_versions: dict[str, int] = {}
        if past:
            self._write_rows()
            rows = self._run("SELECT name, version FROM last_versions WHERE entity = ?", (entity,))
            last_versions = dict(rows.fetchall())
            stored = self._run("SELECT 1 FROM aspects WHERE entity = ?", (entity,)).fetchone()
            # No aspect remains, unless another program changed the file.
            if stored is not None:
                return entity
        self._new[entity] = NewEntity(last_versions)
        return entity

    def _new_id(self, urn: str, entity_type: str, *, live: bool) -> int:
        if self._last_urn is None:
            (self._last_urn,) = self._run("SELECT coalesce(max(id), 0) FROM urns").fetchone()
        self._last_urn += 1
        self._urn_rows.append((self._last_urn, urn, entity_type, live))
        self._cache.urns[urn] = (self._last_urn, live, False)
        return self._last_urn

    def _target_id(self, urn: str) -> int:
        target = self._id(urn)
        return target if target != -1 else self._new_id(urn, urn.split(":", 3)[2], live=False)

    def _run_id(self, run: str | None) -> int | None:
        if run is None:
            return None
        run_id = self._cache.runs.get(run)
        if run_id is None:
            row = self._run("SELECT id FROM runs WHERE name = ?", (run,)).fetchone()
            if row is None:
                row = self._run(
                    "INSERT INTO runs (name) VALUES (?) RETURNING id", (run,)
                ).fetchone()
            run_id = self._cache.runs[run] = int(row[0])
        return run_id

    def _last_version(self, entity: int, aspect: str) -> int:
        """Return the last version number of an aspect that is not stored; 0 if it never was."""
        row = self._run(
            "SELECT version FROM last_versions WHERE entity = ? AND name = ?", (entity, aspect)
        ).fetchone()
        return row[0] if row else 0

    def _keep_last_versions(self, entity: int, aspect: str | None = None) -> None:
        """Store the last version numbers of an aspect, or of all aspects of an entity, before their
        removal, and the latest time of all removed aspects."""
        rows = self._run(
            "SELECT name, system, superseded, time_millis FROM aspects "
            "WHERE entity = ? AND name = coalesce(?, name)",
            (entity, aspect),
        ).fetchall()
        latest_millis = max((time_millis for *_, time_millis in rows), default=0)
        if latest_millis > int(self.note(_LATEST_REMOVED) or 0):
            self.set_note(_LATEST_REMOVED, str(latest_millis))
        for name, system, superseded, _ in rows:
            self._run(
                "INSERT INTO last_versions (entity, name, version) VALUES (?, ?, ?) "
                "ON CONFLICT (entity, name) DO UPDATE SET version = excluded.version",
                (entity, name, version_of(system, superseded)),
            )

    def _set_edges(self, entity: int, aspect: str, edges: Sequence[StoredEdge]) -> None:
        declared = {(edge.relationship, self._target_id(edge.target), edge.flow) for edge in edges}
        rows = self._run(
            "SELECT type, target, flow FROM edges WHERE source = ? AND aspect = ?",
            (entity, aspect),
        )
        stored = set(rows.fetchall())
        self.changes.rewired = self.changes.rewired or any(flow for *_, flow in stored ^ declared)
        for relationship, target, _ in stored - declared:
            self._run(
                "DELETE FROM edges WHERE source = ? AND type = ? AND target = ? AND aspect = ?",
                (entity, relationship, target, aspect),
            )
        for relationship, target, flow in declared - stored:
            self._run(_ADD_EDGE, (entity, relationship, target, aspect, flow))

    def _drop_superseded(self, entity: int, aspect: str, version: int) -> None:
        where = "t.entity = ? AND t.name = ? AND t.version = ?"
        self._keep_logged("versions", where, (entity, aspect, version))
        self._run(
            "DELETE FROM versions WHERE entity = ? AND name = ? AND version = ?",
            (entity, aspect, version),
        )
        self._run(
            "UPDATE aspects SET superseded = (SELECT coalesce(max(version), 0) FROM versions v "
            "WHERE v.entity = aspects.entity AND v.name = aspects.name) "
            "WHERE entity = ? AND name = ?",
            (entity, aspect),
        )

    def _keep_logged(self, table: str, where: str, parameters: Sequence[object]) -> None:
        """Copy the values of rows that are about to be deleted to the log rows that refer to them.

        `where` names the rows of the table as `t`.
        """
        stamps = ("system",) if table == "points" else ("time_millis", "actor", "system")
        copied = ", ".join(f"{stamp} = coalesce(log.{stamp}, t.{stamp})" for stamp in stamps)
        self._run(
            f"UPDATE log SET value = t.value, {copied} FROM {table} t "
            f'WHERE log."offset" = t.id AND {where}',
            parameters,
        )
        if table == "versions":
            self._run(
                "UPDATE log SET previous = t.value, before = NULL FROM versions t "
                f"WHERE log.before = t.id AND {where}",
                parameters,
            )

    def _log_removal(
        self, entity: int, aspect: str, removed: StoredAspect | None, time_millis: int, actor: str
    ) -> None:
        previous = self._compress(removed.value) if removed else None
        offset = self._next_offset(entity)
        self._log_rows.append(
            (offset, entity, aspect, "DELETE", previous, None, None, time_millis, actor, _NO_SYSTEM)
        )

    def _log(
        self,
        entity: int,
        aspect: str,
        value: bytes,
        *,
        before: int | None = None,
        previous: bytes | None = None,
        stamp: tuple[int | None, str | None, bytes | None] = (None, None, None),
    ) -> int:
        """Log that a value was written; return the offset, which becomes the id of the value's row.

        The previous value is given as `before`, the id of its row in `versions`, or as `previous`.
        `stamp` is time, actor and system metadata; `None` means that of the value's row.
        """
        offset = self._next_offset(entity)
        was = None if previous is None else self._compress(previous)
        row = (offset, entity, aspect, None, was, before, digest(value), *stamp)
        self._log_rows.append(row)
        return offset

    def _next_offset(self, entity: int) -> int:
        """Return the offset of a change of an entity, whose aspects are read anew from now on."""
        self._cache.aspects.pop(entity, None)
        if self._last_offset is None:
            self._last_offset = self.log_bounds().head
        self._last_offset += 1
        return self._last_offset


class FolderCache:
    """The ids of folders by type and path, and of their parents, kept between transactions."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, tuple[str, ...]], int] = {}
        self.parents: dict[int, int] = {}

    def clear(self) -> None:
        self.rows.clear()
        self.parents.clear()

    def trim(self) -> None:
        """Empty the cache if it has become too large."""
        if len(self.parents) > _MOST_FOLDERS:
            self.clear()


class BrowseFolders:
    """Changes to the browse tree within one transaction; call `finish` before the commit.

    Paths are case-insensitive; a folder keeps the case of the name with which it was created.
    """

    def __init__(self, connection: SqlConnection, cache: FolderCache) -> None:
        self._run = connection.execute
        self._run_many = connection.executemany
        self._cache = cache
        self._deltas: dict[int, int] = {}
        self._placement_rows: list[tuple[object, ...]] = []
        self._leaf_rows: list[tuple[object, ...]] = []
        # New entities that have been placed; their rows may still be buffered.
        self._placed: set[int] = set()

    def place(
        self,
        entity: int,
        urn: str,
        entity_type: str,
        name: str,
        placements: Collection[Placement],
        *,
        is_new: bool,
    ) -> None:
        """Place an entity in these folders and in no others.

        An entity that `is_new` had no places before this transaction.
        """
        sort = natural_key(name)
        leaves_by_folder: dict[int, set[str]] = {}
        for placement in placements:
            folder = self._folder(entity_type, placement.folder)
            leaves = leaves_by_folder.setdefault(folder, set())
            if placement.leaf is not None:
                leaves.add(placement.leaf.casefold())
        new_leaves = {
            (folder, leaf) for folder, leaves in leaves_by_folder.items() for leaf in leaves
        }
        if entity in self._placed:
            self.write_rows()
            is_new = False
        stored: dict[int, str] = {}
        stored_leaves: set[tuple[int, str]] = set()
        if is_new:
            self._placed.add(entity)
        else:
            rows = self._run("SELECT folder, name FROM placements WHERE entity = ?", (entity,))
            stored = dict(rows.fetchall())
            rows = self._run("SELECT folder, leaf FROM leaves WHERE entity = ?", (entity,))
            stored_leaves = set(rows.fetchall())
        if stored != dict.fromkeys(leaves_by_folder, name):
            if stored:
                self._run("DELETE FROM placements WHERE entity = ?", (entity,))
            self._placement_rows += [
                (folder, sort, urn, entity, name) for folder in leaves_by_folder
            ]
            self._count(stored.keys(), leaves_by_folder.keys())
        if stored_leaves != new_leaves:
            if stored_leaves:
                self._run("DELETE FROM leaves WHERE entity = ?", (entity,))
            self._leaf_rows += [(folder, leaf, entity) for folder, leaf in new_leaves]
        if not is_new:
            self.write_rows()

    def write_rows(self) -> None:
        """Write the buffered rows of placements."""
        if self._placement_rows:
            self._run_many(
                "INSERT INTO placements (folder, sort, urn, entity, name) VALUES (?, ?, ?, ?, ?)",
                self._placement_rows,
            )
            self._placement_rows.clear()
        if self._leaf_rows:
            self._run_many(
                "INSERT INTO leaves (folder, leaf, entity) VALUES (?, ?, ?)", self._leaf_rows
            )
            self._leaf_rows.clear()

    def finish(self) -> None:
        """Write the buffered rows and the changed counts, and delete folders that became empty."""
        self.write_rows()
        changed = [(delta, folder) for folder, delta in self._deltas.items() if delta]
        if changed:
            self._run_many("UPDATE folders SET entities = entities + ? WHERE id = ?", changed)
        for folder in [folder for folder, delta in self._deltas.items() if delta <= 0]:
            rows = self._run("DELETE FROM folders WHERE id = ? AND entities = 0", (folder,))
            if rows.rowcount:
                self._cache.clear()
        self._deltas.clear()

    def forget(self) -> None:
        """Discard buffers and caches after the changes were rolled back."""
        self._deltas.clear()
        self._cache.clear()
        self._placement_rows.clear()
        self._leaf_rows.clear()
        self._placed.clear()

    def _folder(self, entity_type: str, names: tuple[str, ...]) -> int:
        keys = tuple(name.casefold() for name in names)
        cached_folder = self._cache.rows.get((entity_type, keys))
        if cached_folder is not None:
            return cached_folder
        if not names:
            parent, key, name = 0, "", ""
        else:
            parent, key, name = self._folder(entity_type, names[:-1]), keys[-1], names[-1]
        row = self._run(
            "SELECT id FROM folders WHERE type = ? AND parent = ? AND key = ?",
            (entity_type, parent, key),
        ).fetchone()
        if row is None:
            row = self._run(
                "INSERT INTO folders (type, parent, key, name) VALUES (?, ?, ?, ?) RETURNING id",
                (entity_type, parent, key, name),
            ).fetchone()
        folder: int = row[0]
        self._cache.rows[entity_type, keys] = folder
        self._cache.parents[folder] = parent
        # Noted even if nothing is placed in it, so that `finish` deletes the folder if it is empty.
        self._deltas.setdefault(folder, 0)
        return folder

    def _count(self, old: Collection[int], new: Collection[int]) -> None:
        before, after = self._with_ancestors(old), self._with_ancestors(new)
        for folder in before - after:
            self._deltas[folder] = self._deltas.get(folder, 0) - 1
        for folder in after - before:
            self._deltas[folder] = self._deltas.get(folder, 0) + 1

    def _with_ancestors(self, folders: Collection[int]) -> set[int]:
        ancestors: set[int] = set()
        for folder in folders:
            at = folder
            while at and at not in ancestors:
                ancestors.add(at)
                parent = self._cache.parents.get(at)
                if parent is None:
                    row = self._run("SELECT parent FROM folders WHERE id = ?", (at,)).fetchone()
                    parent = self._cache.parents[at] = row[0] if row else 0
                at = parent
        return ancestors
