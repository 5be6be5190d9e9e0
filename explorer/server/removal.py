"""Removal of what a run of ingestion wrote, and of the references to an entity.

Of a reference the least that can go is removed: an optional field, else the element of the array or
the entry of the map that it stands in. An aspect that would lose a required field, with nothing
around it to remove, stays as it is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn
from explorer.server.dialect import Dialect
from explorer.server.ingestion import Intake
from explorer.server.ingestion_rules import SUMMARIES, fill_derived, own_write
from explorer.server.store import Reader, RunRow, Transaction, Write

__all__ = [
    "AspectReference",
    "RollbackResult",
    "Stamp",
    "UnlinkedReferences",
    "references_to",
    "roll_back",
    "unlink",
    "without_references",
]

_MAX_LISTED = 100


class Stamp(NamedTuple):
    """The transaction in which something is removed, when that is (milliseconds since 1970), and
    who does it."""

    transaction: Transaction
    time_millis: int
    actor: str


class AspectReference(Struct, frozen=True, order=True):
    """That an aspect of an entity points at another."""

    urn: str
    aspect: str
    relationship: str


class UnlinkedReferences(Struct):
    """What was done about the references to an entity, or would be: those taken out, and those in
    aspects that cannot be without them."""

    taken: list[AspectReference] = []
    left: list[AspectReference] = []

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


def references_to(view: Reader, urn: str) -> list[list[AspectReference]]:
    """Return the references to a URN, those of one aspect of an entity together, sorted."""
    _, pointing = view.edges([urn], "INCOMING")
    by_aspect: dict[tuple[str, str], list[AspectReference]] = {}
    for reference in sorted(
        AspectReference(one.urn, aspect, one.relationship)
        for one in pointing
        for aspect in one.aspects
    ):
        by_aspect.setdefault((reference.urn, reference.aspect), []).append(reference)
    return list(by_aspect.values())


def unlink(
    view: Reader,
    urn: str,
    references: list[AspectReference],
    registry: Registry,
    stamp: Stamp | None,
) -> UnlinkedReferences:
    """Take the references to a URN out of one aspect, as it is now.

    `view` is the transaction of the stamp; without a stamp nothing is written, and the answer is
    what would be done.
    """
    source, aspect = Urn.parse(references[0].urn), references[0].aspect
    stored = view.aspect(references[0].urn, aspect)
    if stored is None or aspect == registry.entity(source.entity_type).key:
        return UnlinkedReferences(left=references)
    paths = _paths(registry, aspect, references)
    before = orjson.loads(stored.value)
    value = without_references(registry, aspect, before, paths, urn)
    if value is None:
        return UnlinkedReferences(left=references)
    value = fill_derived(aspect, before, value, adds=False)
    if stamp is not None:
        transaction, millis, actor = stamp
        transaction.put(own_write(registry, source, aspect, value, millis, actor))
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


def _paths(registry: Registry, aspect: str, references: Sequence[AspectReference]) -> list[str]:
    names = {reference.relationship for reference in references}
    declared = registry.aspect(aspect).relationships
    return list(dict.fromkeys(one.path for one in declared if one.name in names))


def _listed(references: Sequence[AspectReference]) -> list[dict[str, str]]:
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
    view: Reader,
    run: str,
    urn: str,
    intake: Intake,
    registry: Registry,
    stamp: Stamp | None,
    *,
    safe: bool,
) -> RollbackResult:
    """Remove every version and document of one entity that a run wrote.

    The newest version of another run comes back. An entity that the run made goes as a whole;
    with `safe` one that others have written to since is only soft-deleted. `view` is the
    transaction of the stamp; without a stamp nothing is written, and the answer is what would be
    done.
    """
    undone = RollbackResult(run)
    key = registry.entity(Urn.parse(urn).entity_type).key
    versions: dict[str, list[RunRow]] = {}
    documents: dict[str, list[RunRow]] = {}
    for row in view.run_rows(run, urn=urn):
        kind = versions if row.at_millis is None else documents
        kind.setdefault(row.aspect, []).append(row)
    # What others wrote is known before anything is taken back.
    shared = sum(
        len(versions.get(aspect.name, ())) < _version_count(view, urn, aspect.name)
        for aspect in view.aspects([urn]).get(urn, ())
        if aspect.name != key and aspect.name not in SUMMARIES
    )
    for aspect, rows in versions.items():
        undone.entities.add(urn)
        _count(undone, urn, rows, is_key=aspect == key)
        if aspect == key:
            continue
        undone.reverted += rows[0].version == 0
        if stamp is not None:
            _withdraw(stamp, urn, rows, intake)
    for aspect, rows in documents.items():
        undone.entities.add(urn)
        undone.rows += len(rows)
        undone.reverted += 1
        summary = _summary(run, urn, aspect, max(row.time_millis for row in rows))
        _list(undone, summary | {"rows": len(rows)})
        if stamp is not None:
            transaction, millis, actor = stamp
            transaction.remove_documents(urn, aspect, (None, None), millis, actor, run)
    if key in versions:
        if shared:
            undone.unsafe.append(urn)
            undone.others += shared
        if shared and safe:
            if stamp is not None:
                _soft_delete(stamp, urn)
        else:
            if stamp is not None:
                transaction, millis, actor = stamp
                transaction.remove_entity(urn, key, millis, actor)
            undone.deleted.append(urn)
    return undone


def _version_count(view: Reader, urn: str, aspect: str) -> int:
    found = view.versions(urn, aspect, (1, 0), 0, 0)
    return found[0] if found else 0


def _withdraw(stamp: Stamp, urn: str, rows: list[RunRow], intake: Intake) -> None:
    """Remove these versions of one aspect, the latest of which come first."""
    transaction, millis, actor = stamp
    aspect = rows[0].aspect
    # The latest goes last, so that none of the others comes in its place.
    for row in reversed(rows):
        earlier = None if row.version else transaction.aspect(urn, aspect, -1)
        edges = intake.edges(aspect, orjson.loads(earlier.value)) if earlier else ()
        transaction.remove_version(urn, aspect, row.version, edges, millis, actor)


def _soft_delete(stamp: Stamp, urn: str) -> None:
    transaction, millis, actor = stamp
    system = orjson.dumps({"lastObserved": millis})
    entity_type, value = Urn.parse(urn).entity_type, orjson.dumps({"removed": True})
    transaction.put(Write(urn, entity_type, "status", value, millis, actor, system))


def _count(undone: RollbackResult, urn: str, rows: list[RunRow], *, is_key: bool) -> None:
    undone.rows += len(rows)
    for row in rows:
        summary = _summary(undone.run, urn, row.aspect, row.time_millis)
        _list(undone, summary | {"version": row.version, "keyAspect": is_key})


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
