"""Removal of what a run of ingestion wrote, and of the references to an entity.

Of a reference the least that can go is removed: an optional field, else the element of the array or
the entry of the map that it stands in. An aspect that would lose a required field, with nothing
around it to remove, stays as it is.
"""

from collections.abc import Sequence
from typing import Any

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn
from explorer.server.dialect import Dialect
from explorer.server.ingestion import Intake
from explorer.server.ingestion_rules import NO_RUN, SUMMARIES, fill_derived
from explorer.server.store import StoredAspect, StoredReference, Transaction, Write

__all__ = [
    "RollbackResult",
    "UnlinkedReferences",
    "references_to",
    "roll_back",
    "unlink",
    "without_references",
]

_MAX_LISTED = 100


class UnlinkedReferences(Struct):
    """What was done about the references to an entity, or would be: those taken out, and those in
    aspects that cannot be without them."""

    taken: list[StoredReference] = []
    left: list[StoredReference] = []

    def add(self, other: "UnlinkedReferences") -> None:
        """Count what was done about others too."""
        self.taken += other.taken
        self.left += other.left

    def to_wire(self) -> dict[str, Any]:
        """The `value` of the answer; 100 references of each kind are listed at most."""
        return {
            "total": len(self.taken),
            "relatedAspects": _listed(self.taken),
            "leftTotal": len(self.left),
            "leftAspects": _listed(self.left),
        }


def references_to(transaction: Transaction, urn: str) -> list[list[StoredReference]]:
    """Return the references to a URN, those of one aspect of an entity together."""
    by_aspect: dict[tuple[str, str], list[StoredReference]] = {}
    for reference in transaction.references_to(urn):
        by_aspect.setdefault((reference.urn, reference.aspect), []).append(reference)
    return list(by_aspect.values())


def unlink(
    transaction: Transaction,
    urn: str,
    references: list[StoredReference],
    intake: Intake,
    registry: Registry,
    stamp: tuple[int, str] | None,
) -> UnlinkedReferences:
    """Take the references to a URN out of one aspect, as it is now.

    `stamp` is when this happens (milliseconds since 1970) and who does it; without it nothing is
    written, and the answer tells what would be.
    """
    source, aspect = references[0].urn, references[0].aspect
    entity_type = Urn.parse(source).entity_type
    stored = transaction.latest(source, aspect)
    if stored is None or aspect == registry.entity(entity_type).key:
        return UnlinkedReferences(left=references)
    paths = _paths(registry, aspect, references)
    before = orjson.loads(stored.value)
    value = without_references(registry, aspect, before, paths, urn)
    if value is None:
        return UnlinkedReferences(left=references)
    value = fill_derived(aspect, before, value, adds=False)
    if stamp is not None:
        system = orjson.dumps({"lastObserved": stamp[0], "runId": NO_RUN})
        edges = intake.edges(aspect, value)
        given = orjson.dumps(value)
        transaction.put(Write(source, entity_type, aspect, given, *stamp, system, None, edges))
    return UnlinkedReferences(taken=references)


def without_references(
    registry: Registry, aspect: str, value: dict[str, Any], paths: Sequence[str], urn: str
) -> dict[str, Any] | None:
    """An aspect's value without the references to a URN that are found at these paths; None where
    one of them must stay."""
    record = registry.aspect(aspect).record
    for path in paths:
        pruned = _Pruner(registry, urn).pruned(value, tuple(path.split(".")), record)
        if not isinstance(pruned, dict):
            return None
        value = pruned
    return value


class _Gone:
    """Stands for a value that cannot be without the reference it held."""


_GONE = _Gone()


class _Pruner:
    def __init__(self, registry: Registry, urn: str) -> None:
        self._registry = registry
        self._urn = urn

    def pruned(self, value: Any, steps: tuple[str, ...], kind: str) -> Any:
        """The value of that type without what is at the end of the steps, where that is the URN."""
        if not steps:
            return _GONE if value == self._urn else value
        step, rest = steps[0], steps[1:]
        match value:
            case dict() if step == "$key":
                return {key: one for key, one in value.items() if key != self._urn}
            case dict() if step == "*":
                inner = _inner(kind)
                kept = {key: self.pruned(one, rest, inner) for key, one in value.items()}
                return {key: one for key, one in kept.items() if one is not _GONE}
            case list() if step == "*":
                inner = _inner(kind)
                found = (self.pruned(one, rest, inner) for one in value)
                return [one for one in found if one is not _GONE]
            case dict() if step in value:
                field_kind, optional = self._field(kind, step)
                left = self.pruned(value[step], rest, field_kind)
                if left is not _GONE:
                    return {**value, step: left}
                if optional:
                    return {key: one for key, one in value.items() if key != step}
                return _GONE
        return value

    def _field(self, kind: str, name: str) -> tuple[str, bool]:
        """The type of a field of a record, or of a member of a union, and whether it may lack."""
        shape, arguments = read_type(kind)
        if shape == "union":
            return next((one for one in arguments if one == name), name), False
        record = self._registry.records.get(kind)
        field = record.fields.get(name) if record else None
        return (field.base, field.optional) if field else ("string", True)


def _inner(kind: str) -> str:
    shape, arguments = read_type(kind)
    return arguments[0] if shape in ("array", "map") else kind


def _paths(registry: Registry, aspect: str, references: Sequence[StoredReference]) -> list[str]:
    names = {reference.relationship for reference in references}
    declared = registry.aspect(aspect).relationships
    return list(dict.fromkeys(one.path for one in declared if one.name in names))


def _listed(references: Sequence[StoredReference]) -> list[dict[str, str]]:
    return [
        {"entity": one.urn, "relationship": one.relationship, "aspect": one.aspect}
        for one in references[:_MAX_LISTED]
    ]


class RollbackResult(Struct):
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

    def add(self, other: "RollbackResult") -> None:
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
) -> RollbackResult:
    """Remove every version and point of one entity that a run wrote.

    The newest version of another run comes back. An entity that the run made goes as a whole;
    with `safe` one that others have written to since is only soft-deleted. `stamp` is when this
    happens (milliseconds since 1970) and who does it; without it nothing is written, and the
    answer tells what would be.
    """
    undone = RollbackResult(run)
    key = registry.entity(Urn.parse(urn).entity_type).key
    by_aspect: dict[str, list[StoredAspect]] = {}
    for version in transaction.written_by(run, urn):
        by_aspect.setdefault(version.name, []).append(version)
    # What others wrote is known before anything is taken back.
    shared = sum(
        len(by_aspect.get(aspect.name, ())) < transaction.version_count(urn, aspect.name)
        for aspect in transaction.aspects(urn)
        if aspect.name != key and aspect.name not in SUMMARIES
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


def _count(undone: RollbackResult, urn: str, versions: list[StoredAspect], *, is_key: bool) -> None:
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


def _list(undone: RollbackResult, summary: dict[str, Any]) -> None:
    if len(undone.summaries) < _MAX_LISTED:
        undone.summaries.append(summary)
