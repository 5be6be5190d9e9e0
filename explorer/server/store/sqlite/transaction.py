"""What the writer's jobs do to the tables: versions, edges, points, removal, the change log."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence

from explorer.server.store.interface import (
    Placement,
    StoredAspect,
    StoredEdge,
    StoredReference,
    TimeseriesDocument,
    Write,
    counted,
    same_value,
    seen_again,
    version_of,
)
from explorer.server.store.sqlite.browse import BrowseFolders

__all__ = ["SqliteTransaction"]

_ASPECT = "a.name, 0, a.value, a.time_millis, a.actor, a.system"
_VERSION = "v.name, v.version, v.value, v.time_millis, v.actor, v.system"
_NO_SYSTEM = b"{}"


def points_query(
    urn: str, aspect: str, start_millis: int | None, end_millis: int | None, limit: int
) -> tuple[str, tuple[str | int, ...]]:
    """The statement that reads documents of a timeseries aspect with its values, see
    `engine.Store.points`."""
    bounds = ""
    values: list[str | int] = [urn, aspect]
    for condition, bound in ((">=", start_millis), ("<=", end_millis)):
        if bound is not None:
            bounds += f" AND p.at_millis {condition} ?"
            values.append(bound)
    return (
        "SELECT p.value, p.system FROM urns u JOIN points p ON p.entity = u.id "
        f"WHERE u.urn = ? AND p.aspect = ?{bounds} "
        "ORDER BY p.at_millis DESC, p.series DESC LIMIT ?",
        (*values, limit),
    )


class SqliteTransaction:
    """One transaction of the writer's connection. See `engine.Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.touched: set[str] = set()
        self.measured: set[tuple[str, str]] = set()
        self.rewired = False
        self.stale: set[str] = set()
        self._run = connection.execute
        self._folders = BrowseFolders(connection)
        # What rows are known by here; see `forget`.
        self._urns: dict[str, tuple[int, bool]] = {}
        self._runs: dict[str, int] = {}

    def exists(self, urn: str) -> bool:
        return self._known(urn)[1]

    def forget(self) -> None:
        """Look everything up again: a job was undone, and with it rows that it made."""
        self._urns.clear()
        self._runs.clear()

    def latest(self, urn: str, aspect: str) -> StoredAspect | None:
        row = self._run(
            f"SELECT {_ASPECT} FROM urns u JOIN aspects a ON a.entity = u.id "
            "WHERE u.urn = ? AND a.name = ?",
            (urn, aspect),
        ).fetchone()
        return StoredAspect(*row) if row else None

    def aspects(self, urn: str) -> list[StoredAspect]:
        rows = self._run(
            f"SELECT {_ASPECT} FROM urns u JOIN aspects a ON a.entity = u.id WHERE u.urn = ?",
            (urn,),
        )
        return [StoredAspect(*row) for row in rows]

    def put(self, write: Write) -> bool:
        entity = self._live_id(write.urn, write.entity_type)
        old = self._run(
            "SELECT id, value, superseded, time_millis, actor, system, run "
            "FROM aspects WHERE entity = ? AND name = ?",
            (entity, write.aspect),
        ).fetchone()
        if old is not None and same_value(old[1], write.value):
            seen = seen_again(old[5], write.system)
            self._run("UPDATE aspects SET system = ? WHERE id = ?", (seen, old[0]))
            return False
        run = self._run_id(write.run)
        if old is not None:
            before = version_of(old[5], old[2])
        else:
            before = self._last_version(entity, write.aspect)
        system = counted(write.system, before + 1)
        if old is None:
            self._run(
                "INSERT INTO aspects (entity, name, value, time_millis, actor, system, run) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    entity,
                    write.aspect,
                    write.value,
                    write.time_millis,
                    write.actor,
                    system,
                    run,
                ),
            )
        else:
            row, value, superseded, *stamp = old
            self._run(
                "INSERT INTO versions "
                "(entity, name, version, value, time_millis, actor, system, run) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (entity, write.aspect, superseded + 1, value, *stamp),
            )
            self._run(
                "UPDATE aspects SET value = ?, superseded = ?, time_millis = ?, actor = ?, "
                "system = ?, run = ? WHERE id = ?",
                (
                    write.value,
                    superseded + 1,
                    write.time_millis,
                    write.actor,
                    system,
                    run,
                    row,
                ),
            )
        if write.edges or old is not None:
            self._set_edges(entity, write.aspect, write.edges)
        self._log(
            (write.urn, write.aspect, "UPSERT", write.value, old[1] if old else None),
            (write.time_millis, write.actor, system),
        )
        self.touched.add(write.urn)
        return True

    def append(self, point: TimeseriesDocument) -> bool:
        entity = self._live_id(point.urn, point.entity_type)
        place = (entity, point.aspect, point.at_millis, point.series)
        old = self._run(
            "SELECT value FROM points "
            "WHERE entity = ? AND aspect = ? AND at_millis = ? AND series = ?",
            place,
        ).fetchone()
        if old is not None and same_value(old[0], point.value):
            return False
        self._run(
            "INSERT OR REPLACE INTO points "
            "(entity, aspect, at_millis, series, value, system, run) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, point.value, point.system, self._run_id(point.run)),
        )
        self._log(
            (point.urn, point.aspect, "UPSERT", point.value, old[0] if old else None),
            (point.time_millis, point.actor, point.system),
        )
        self.measured.add((point.urn, point.aspect))
        return True

    def remove(self, urn: str, aspect: str, time_millis: int, actor: str) -> int:
        current = self.latest(urn, aspect)
        if current is None:
            return 0
        entity = self._id(urn)
        self._keep_last_versions(entity, aspect)
        gone = self._run(
            "DELETE FROM versions WHERE entity = ? AND name = ?", (entity, aspect)
        ).rowcount
        self._run("DELETE FROM aspects WHERE entity = ? AND name = ?", (entity, aspect))
        self._set_edges(entity, aspect, ())
        self._log((urn, aspect, "DELETE", None, current.value), (time_millis, actor, _NO_SYSTEM))
        self.touched.add(urn)
        return gone + 1

    def erase(self, urn: str, key_aspect: str, time_millis: int, actor: str) -> tuple[int, int]:
        entity = self._id(urn)
        key = self.latest(urn, key_aspect)
        self._keep_last_versions(entity)
        rows = 0
        for table in ("versions", "aspects"):
            rows += self._run(f"DELETE FROM {table} WHERE entity = ?", (entity,)).rowcount
        points = self._run("DELETE FROM points WHERE entity = ?", (entity,)).rowcount
        self.rewired = self.rewired or bool(
            self._run(
                "SELECT 1 FROM edges WHERE source = ? AND flow > 0 LIMIT 1", (entity,)
            ).fetchone()
        )
        self._run("DELETE FROM edges WHERE source = ?", (entity,))
        self._run("UPDATE urns SET live = 0 WHERE id = ?", (entity,))
        self._urns[urn] = (entity, False)
        self._log(
            (urn, key_aspect, "DELETE", None, key.value if key else None),
            (time_millis, actor, _NO_SYSTEM),
        )
        self.touched.add(urn)
        return rows, points

    def remove_points(
        self,
        urn: str,
        aspect: str,
        bounds: tuple[int | None, int | None],
        time_millis: int,
        actor: str,
    ) -> int:
        gone = self._run(
            "DELETE FROM points WHERE entity = ? AND aspect = ? "
            "AND at_millis >= coalesce(?, at_millis) AND at_millis <= coalesce(?, at_millis)",
            (self._id(urn), aspect, *bounds),
        ).rowcount
        if gone:
            self._log((urn, aspect, "DELETE", None, None), (time_millis, actor, _NO_SYSTEM))
            self.measured.add((urn, aspect))
        return gone

    def points(
        self,
        urn: str,
        aspect: str,
        start_millis: int | None = None,
        end_millis: int | None = None,
        limit: int = -1,
    ) -> Iterator[tuple[bytes, bytes]]:
        yield from self._run(*points_query(urn, aspect, start_millis, end_millis, limit))

    def run_urns(self, run: str) -> list[str]:
        rows = self._run(
            "SELECT u.urn FROM urns u JOIN (SELECT entity FROM aspects WHERE run = :run "
            "UNION SELECT entity FROM versions WHERE run = :run "
            "UNION SELECT entity FROM points WHERE run = :run) e ON e.entity = u.id ORDER BY u.urn",
            {"run": self._known_run(run)},
        )
        return [urn for (urn,) in rows]

    def written_by(self, run: str, urn: str) -> list[StoredAspect]:
        rows = self._run(
            # The index of the entity, not the one of the run, which may be all there is.
            f"SELECT {_ASPECT} FROM aspects a WHERE a.entity = :entity AND +a.run = :run "
            f"UNION ALL SELECT {_VERSION} FROM versions v "
            "WHERE v.entity = :entity AND +v.run = :run",
            {"entity": self._id(urn), "run": self._known_run(run)},
        )
        return [StoredAspect(*row) for row in rows]

    def points_of(self, run: str, urn: str) -> list[tuple[str, int, int]]:
        return self._run(
            "SELECT aspect, count(*), "
            "max(coalesce(json_extract(system, '$.lastObserved'), at_millis)) "
            "FROM points WHERE entity = ? AND +run = ? GROUP BY aspect ORDER BY aspect",
            (self._id(urn), self._known_run(run)),
        ).fetchall()

    def version_count(self, urn: str, aspect: str) -> int:
        place = {"entity": self._id(urn), "name": aspect}
        found: int = self._run(
            "SELECT (SELECT count(*) FROM aspects WHERE entity = :entity AND name = :name) "
            "+ (SELECT count(*) FROM versions WHERE entity = :entity AND name = :name)",
            place,
        ).fetchone()[0]
        return found

    def drop_version(self, urn: str, aspect: str, version: int) -> None:
        self._run(
            "DELETE FROM versions WHERE entity = ? AND name = ? AND version = ?",
            (self._id(urn), aspect, version),
        )
        self._run(
            "UPDATE aspects SET superseded = (SELECT coalesce(max(version), 0) FROM versions v "
            "WHERE v.entity = aspects.entity AND v.name = aspects.name) "
            "WHERE entity = ? AND name = ?",
            (self._id(urn), aspect),
        )

    def newest_superseded(self, urn: str, aspect: str) -> StoredAspect | None:
        row = self._run(
            f"SELECT {_VERSION} FROM versions v "
            "WHERE v.entity = ? AND v.name = ? ORDER BY v.version DESC LIMIT 1",
            (self._id(urn), aspect),
        ).fetchone()
        return StoredAspect(*row) if row else None

    def restore(
        self,
        urn: str,
        version: StoredAspect,
        edges: Sequence[StoredEdge],
        time_millis: int,
        actor: str,
    ) -> None:
        entity = self._id(urn)
        replaced = self.latest(urn, version.name)
        # A version that somebody may have read never comes to stand for another value.
        last = max(version_of(old.system) for old in (version, replaced or version))
        system = counted(version.system, last + 1)
        place = (entity, version.name, version.version)
        (run,) = self._run(
            "SELECT run FROM versions WHERE entity = ? AND name = ? AND version = ?", place
        ).fetchone()
        self._run("DELETE FROM versions WHERE entity = ? AND name = ? AND version = ?", place)
        self._run(
            "UPDATE aspects SET value = ?, time_millis = ?, actor = ?, system = ?, run = ?, "
            "superseded = (SELECT coalesce(max(version), 0) FROM versions v "
            "WHERE v.entity = aspects.entity AND v.name = aspects.name) "
            "WHERE entity = ? AND name = ?",
            (
                version.value,
                version.time_millis,
                version.actor,
                system,
                run,
                entity,
                version.name,
            ),
        )
        self._set_edges(entity, version.name, edges)
        self._log(
            (urn, version.name, "UPSERT", version.value, replaced.value if replaced else None),
            (time_millis, actor, system),
        )
        self.touched.add(urn)

    def remove_points_of(self, run: str, urn: str, time_millis: int, actor: str) -> None:
        for aspect, _, _ in self.points_of(run, urn):
            self._run(
                "DELETE FROM points WHERE entity = ? AND aspect = ? AND +run = ?",
                (self._id(urn), aspect, self._known_run(run)),
            )
            self._log((urn, aspect, "DELETE", None, None), (time_millis, actor, _NO_SYSTEM))
            self.measured.add((urn, aspect))

    def references_to(self, urn: str) -> list[StoredReference]:
        rows = self._run(
            "SELECT s.urn, e.aspect, e.type FROM urns t JOIN edges e ON e.target = t.id "
            "JOIN urns s ON s.id = e.source WHERE t.urn = ? ORDER BY s.urn, e.aspect, e.type",
            (urn,),
        )
        return [StoredReference(*row) for row in rows]

    def urns_starting_with(self, prefix: str) -> list[str]:
        rows = self._run(
            "SELECT urn FROM urns WHERE urn >= ? AND urn < ? AND live ORDER BY urn",
            (prefix, prefix + "\U0010ffff"),
        )
        return [urn for (urn,) in rows]

    def place(
        self, urn: str, entity_type: str, name: str, placements: Collection[Placement]
    ) -> None:
        self._folders.place(self._id(urn), urn, entity_type, name, placements)

    def trim_log(self, before_millis: int, through: int, most: int) -> int:
        (last,) = self._run("SELECT coalesce(max(offset), 0) FROM log").fetchone()
        rows = self._run(
            "SELECT offset, time_millis FROM log WHERE offset <= ? ORDER BY offset LIMIT ?",
            (min(through, last - 1), most),
        ).fetchall()
        cut = 0
        for offset, time_millis in rows:
            if time_millis >= before_millis:
                break
            cut = offset
        return self._run("DELETE FROM log WHERE offset <= ?", (cut,)).rowcount

    def note(self, key: str) -> str | None:
        row = self._run("SELECT value FROM meta WHERE key = ?", (f"note.{key}",)).fetchone()
        return row[0] if row else None

    def set_note(self, key: str, value: str | None) -> None:
        if value is None:
            self._run("DELETE FROM meta WHERE key = ?", (f"note.{key}",))
        else:
            self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"note.{key}", value))

    def finish(self) -> None:
        """Settle what is kept until the end; before the commit."""
        self._folders.finish()

    def _known(self, urn: str) -> tuple[int, bool]:
        """The row of a URN, -1 when there is none, and whether an entity stands behind it."""
        known = self._urns.get(urn)
        if known is None:
            row = self._run("SELECT id, live FROM urns WHERE urn = ?", (urn,)).fetchone()
            known = (row[0], bool(row[1])) if row else (-1, False)
            self._urns[urn] = known
        return known

    def _id(self, urn: str) -> int:
        return self._known(urn)[0]

    def _live_id(self, urn: str, entity_type: str) -> int:
        found, live = self._known(urn)
        if found == -1:
            return self._new_id(urn, entity_type, live=True)
        if not live:
            self._run("UPDATE urns SET live = 1 WHERE id = ?", (found,))
            self._urns[urn] = (found, True)
        return found

    def _new_id(self, urn: str, entity_type: str, *, live: bool) -> int:
        made = self._run(
            "INSERT INTO urns (urn, type, live) VALUES (?, ?, ?)", (urn, entity_type, int(live))
        ).lastrowid
        self._urns[urn] = (made or 0, live)
        return made or 0

    def _target_id(self, urn: str) -> int:
        found = self._id(urn)
        return found if found != -1 else self._new_id(urn, urn.split(":", 3)[2], live=False)

    def _known_run(self, run: str) -> int:
        """The row of a run, -1 when there is none."""
        row = self._run("SELECT id FROM runs WHERE name = ?", (run,)).fetchone()
        return row[0] if row else -1

    def _run_id(self, run: str | None) -> int | None:
        if run is None:
            return None
        known = self._runs.get(run)
        if known is None:
            row = self._run("SELECT id FROM runs WHERE name = ?", (run,)).fetchone()
            if row is None:
                row = (self._run("INSERT INTO runs (name) VALUES (?)", (run,)).lastrowid,)
            known = self._runs[run] = int(row[0])
        return known

    def _last_version(self, entity: int, aspect: str) -> int:
        """The last version that an aspect which is not stored had; 0 where it never had one."""
        row = self._run(
            "SELECT version FROM last_versions WHERE entity = ? AND name = ?", (entity, aspect)
        ).fetchone()
        return row[0] if row else 0

    def _keep_last_versions(self, entity: int, aspect: str | None = None) -> None:
        """Remember which version an aspect, or every aspect of an entity, has; before it goes."""
        rows = self._run(
            "SELECT name, system, superseded FROM aspects "
            "WHERE entity = ? AND name = coalesce(?, name)",
            (entity, aspect),
        ).fetchall()
        for name, system, superseded in rows:
            self._run(
                "INSERT OR REPLACE INTO last_versions VALUES (?, ?, ?)",
                (entity, name, version_of(system, superseded)),
            )

    def _set_edges(self, entity: int, aspect: str, edges: Sequence[StoredEdge]) -> None:
        wanted = {(edge.relationship, self._target_id(edge.target), edge.flow) for edge in edges}
        rows = self._run(
            "SELECT type, target, flow FROM edges WHERE source = ? AND aspect = ?",
            (entity, aspect),
        )
        stored = set(rows.fetchall())
        self.rewired = self.rewired or any(flow for *_, flow in stored ^ wanted)
        for relationship, target, _ in stored - wanted:
            self._run(
                "DELETE FROM edges WHERE source = ? AND type = ? AND target = ? AND aspect = ?",
                (entity, relationship, target, aspect),
            )
        for relationship, target, flow in wanted - stored:
            self._run(
                "INSERT OR REPLACE INTO edges (source, type, target, aspect, flow) "
                "VALUES (?, ?, ?, ?, ?)",
                (entity, relationship, target, aspect, flow),
            )

    def _log(
        self,
        change: tuple[str, str, str, bytes | None, bytes | None],
        stamp: tuple[int, str, bytes],
    ) -> None:
        self._run(
            "INSERT INTO log (urn, aspect, change, value, previous, time_millis, actor, system) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*change, *stamp),
        )
