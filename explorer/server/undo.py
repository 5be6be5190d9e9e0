"""Taking back what a run of ingestion brought."""

from typing import Any

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.dialect import Dialect
from explorer.server.intake.intake import Intake
from explorer.server.store import StoredAspect, Transaction, Write

__all__ = ["Undone", "roll_back"]

_MAX_LISTED = 100


class Undone(Struct):
    """What a rollback did, or would do.

    `rows` counts versions, points among them; `unsafe` are the entities that the run made and
    that others have written to since, `others` how many of their aspects those wrote.
    """

    run: str
    summaries: list[dict[str, Any]] = []
    rows: int = 0
    reverted: int = 0
    entities: set[str] = set()
    deleted: list[str] = []
    unsafe: list[str] = []
    others: int = 0

    def add(self, other: "Undone") -> None:
        """Count what was done to other entities too."""
        self.summaries += other.summaries[: _MAX_LISTED - len(self.summaries)]
        self.rows += other.rows
        self.reverted += other.reverted
        self.entities |= other.entities
        self.deleted += other.deleted
        self.unsafe += other.unsafe
        self.others += other.others

    def to_wire(self, dialect: Dialect = "plain") -> dict[str, Any]:
        """The `value` of the rollback's answer. DataHub's command warns of `aspectsAffected` as of
        what others wrote to the entities that go."""
        return {
            "runId": self.run,
            "aspectRowSummaries": self.summaries,
            "entitiesAffected": len(self.entities),
            "aspectsAffected": self.rows if dialect == "plain" else self.others,
            "aspectsReverted": self.reverted,
            "entitiesDeleted": len(self.deleted),
            "unsafeEntitiesCount": len(self.unsafe),
            "unsafeEntities": [{"urn": urn} for urn in self.unsafe],
        }


def roll_back(
    transaction: Transaction,
    run: str,
    urn: str,
    intake: Intake,
    registry: Registry,
    stamp: tuple[int, str] | None,
    *,
    safe: bool,
) -> Undone:
    """Remove every version and point of one entity that a run wrote.

    The newest version of another run comes back. An entity that the run made goes as a whole;
    with `safe` one that others have written to since is only soft-deleted. `stamp` is when this
    happens (milliseconds since 1970) and who does it; without it nothing is written, and the
    answer tells what would be.
    """
    undone = Undone(run)
    key = registry.entity(Urn.parse(urn).entity_type).key
    by_aspect: dict[str, list[StoredAspect]] = {}
    for version in transaction.written_by(run, urn):
        by_aspect.setdefault(version.name, []).append(version)
    # What others wrote is known before anything is taken back.
    shared = sum(
        len(by_aspect.get(aspect.name, ())) < transaction.version_count(urn, aspect.name)
        for aspect in transaction.aspects(urn)
        if aspect.name != key
    )
    for aspect, versions in by_aspect.items():
        undone.entities.add(urn)
        _count(undone, urn, versions, is_key=aspect == key)
        if aspect == key:
            continue
        undone.reverted += any(version.version == 0 for version in versions)
        if stamp is not None:
            _withdraw(transaction, urn, versions, intake, stamp)
    for aspect, points, seen_millis in transaction.points_of(run, urn):
        undone.entities.add(urn)
        undone.rows += points
        undone.reverted += 1
        summary = _summary(run, urn, aspect, seen_millis)
        _list(undone, summary | {"rows": points})
    if stamp is not None:
        transaction.remove_points_of(run, urn, *stamp)
    if key in by_aspect:
        if shared:
            undone.unsafe.append(urn)
            undone.others += shared
        if shared and safe:
            if stamp is not None:
                _soft_delete(transaction, urn, stamp)
        else:
            if stamp is not None:
                transaction.erase(urn, key, *stamp)
            undone.deleted.append(urn)
    return undone


def _withdraw(
    transaction: Transaction,
    urn: str,
    versions: list[StoredAspect],
    intake: Intake,
    stamp: tuple[int, str],
) -> None:
    """Remove these versions of one aspect."""
    aspect = versions[0].name
    for version in versions:
        if version.version:
            transaction.drop_version(urn, aspect, version.version)
    if all(version.version for version in versions):
        return
    earlier = transaction.newest_superseded(urn, aspect)
    if earlier is None:
        transaction.remove(urn, aspect, *stamp)
    else:
        edges = intake.edges(aspect, orjson.loads(earlier.value))
        transaction.restore(urn, earlier, edges, *stamp)


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
        summary = _summary(undone.run, urn, version.name, version.time_millis)
        _list(undone, summary | {"version": version.version, "keyAspect": is_key})


def _summary(run: str, urn: str, aspect: str, time_millis: int) -> dict[str, Any]:
    """Return a row of the summaries; documents in time have no versions and are never keys."""
    return {
        "runId": run,
        "urn": urn,
        "aspectName": aspect,
        "timestamp": time_millis,
        "version": 0,
        "keyAspect": False,
    }


def _list(undone: Undone, summary: dict[str, Any]) -> None:
    if len(undone.summaries) < _MAX_LISTED:
        undone.summaries.append(summary)
