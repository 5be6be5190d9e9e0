"""Taking back what a run of ingestion brought."""

from typing import Any

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.intake import Intake
from explorer.server.store import StoredAspect, Transaction, Write

__all__ = ["Undone", "roll_back"]

_MAX_LISTED = 100


class Undone(Struct):
    """What a rollback did, or would do.

    `rows` counts versions, points among them; `unsafe` are the entities that the run made and
    that others have written to since.
    """

    run: str
    summaries: list[dict[str, Any]] = []
    rows: int = 0
    reverted: int = 0
    entities: set[str] = set()
    deleted: list[str] = []
    unsafe: list[str] = []

    def to_wire(self) -> dict[str, Any]:
        """The `value` of the rollback's answer."""
        return {
            "runId": self.run,
            "aspectRowSummaries": self.summaries,
            "entitiesAffected": len(self.entities),
            "aspectsAffected": self.rows,
            "aspectsReverted": self.reverted,
            "entitiesDeleted": len(self.deleted),
            "unsafeEntitiesCount": len(self.unsafe),
            "unsafeEntities": [{"urn": urn} for urn in self.unsafe],
        }


def roll_back(
    transaction: Transaction,
    run: str,
    intake: Intake,
    registry: Registry,
    stamp: tuple[int, str],
    *,
    safe: bool,
) -> Undone:
    """Remove every version and point that a run wrote.

    The newest version of another run comes back. An entity that the run made goes as a whole;
    with `safe` one that others have written to since is only soft-deleted. `stamp` is when this
    happens (milliseconds since 1970) and who does it.
    """
    undone = Undone(run)
    made: list[str] = []
    by_aspect: dict[tuple[str, str], list[StoredAspect]] = {}
    for urn, version in transaction.written_by(run):
        by_aspect.setdefault((urn, version.name), []).append(version)
    for (urn, aspect), versions in by_aspect.items():
        undone.entities.add(urn)
        is_key = registry.entity(Urn.parse(urn).entity_type).key == aspect
        _count(undone, urn, versions, is_key=is_key)
        if is_key:
            made.append(urn)
            continue
        latest = _withdraw(transaction, urn, versions, intake, stamp)
        undone.reverted += latest
    for urn, aspect, points in transaction.remove_points_of(run, *stamp):
        undone.entities.add(urn)
        undone.rows += points
        undone.reverted += 1
        _list(undone, {"runId": run, "urn": urn, "aspectName": aspect, "rows": points})
    for urn in made:
        key = registry.entity(Urn.parse(urn).entity_type).key
        if any(aspect.name != key for aspect in transaction.aspects(urn)):
            undone.unsafe.append(urn)
            if safe:
                _soft_delete(transaction, urn, stamp)
                continue
        transaction.erase(urn, key, *stamp)
        undone.deleted.append(urn)
    return undone


def _withdraw(
    transaction: Transaction,
    urn: str,
    versions: list[StoredAspect],
    intake: Intake,
    stamp: tuple[int, str],
) -> bool:
    """Remove these versions of one aspect; whether what is read of it changed."""
    aspect = versions[0].name
    for version in versions:
        if version.version:
            transaction.drop_version(urn, aspect, version.version)
    if all(version.version for version in versions):
        return False
    earlier = transaction.newest_superseded(urn, aspect)
    if earlier is None:
        transaction.remove(urn, aspect, *stamp)
    else:
        edges = intake.edges(aspect, orjson.loads(earlier.value))
        transaction.restore(urn, earlier, edges, *stamp)
    return True


def _soft_delete(transaction: Transaction, urn: str, stamp: tuple[int, str]) -> None:
    system = orjson.dumps({"lastObserved": stamp[0]})
    transaction.put(
        Write(
            urn,
            Urn.parse(urn).entity_type,
            "status",
            orjson.dumps({"removed": True}),
            *stamp,
            system,
        )
    )


def _count(undone: Undone, urn: str, versions: list[StoredAspect], *, is_key: bool) -> None:
    undone.rows += len(versions)
    for version in versions:
        _list(
            undone,
            {
                "runId": undone.run,
                "urn": urn,
                "aspectName": version.name,
                "timestamp": version.time_millis,
                "version": version.version,
                "keyAspect": is_key,
            },
        )


def _list(undone: Undone, summary: dict[str, Any]) -> None:
    if len(undone.summaries) < _MAX_LISTED:
        undone.summaries.append(summary)
