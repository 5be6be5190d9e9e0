"""Rollback of runs of ingestion, and removal of the references to an entity.

A reference is removed with as little around it as possible: an optional field, else the array
element or the map entry that contains it. An aspect stays unchanged if it would lose a required
field and nothing around that field can be removed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn
from explorer.server.dialect import Dialect
from explorer.server.ingestion import SUMMARIES, Intake, fill_derived, own_write
from explorer.server.store import Reader, RunRow, Transaction, Write

_MAX_LISTED = 100


class Stamp(NamedTuple):
    """The transaction of a removal, its time in milliseconds since 1970, and its actor."""

    transaction: Transaction
    time_millis: int
    actor: str


class AspectReference(Struct, frozen=True, order=True):
    """A reference from an aspect of an entity to another entity."""

    urn: str
    aspect: str
    relationship: str


class UnlinkedReferences(Struct):
    """The result of removing the references to an entity, or of a dry run: `removed` are the
    references that were removed, `required` those in aspects that require them."""

    removed: list[AspectReference] = []
    required: list[AspectReference] = []

    def add(self, other: "UnlinkedReferences") -> None:
        """Add the references of another result."""
        self.removed += other.removed
        self.required += other.required

    def to_wire(self) -> dict[str, Any]:
        """Return the `value` of the response, which lists at most 100 references of each kind."""
        return {
            "total": len(self.removed),
            "relatedAspects": _to_list(self.removed),
            "leftTotal": len(self.required),
            "leftAspects": _to_list(self.required),
        }


def references_to(view: Reader, urn: str) -> list[list[AspectReference]]:
    """Return the references to a URN, sorted, in one list for each aspect of an entity."""
    _, pointing = view.edges([urn], "INCOMING")
    by_aspect: dict[tuple[str, str], list[AspectReference]] = {}
    for reference in sorted(
        AspectReference(neighbour.urn, aspect, neighbour.relationship)
        for neighbour in pointing
        for aspect in neighbour.aspects
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
    """Remove the references to a URN from the latest version of the aspect that contains them, and
    return which were removed.

    `view` is the transaction of the stamp. Without a stamp nothing is written, and the result is
    what would be removed.
    """
    source, aspect = Urn.parse(references[0].urn), references[0].aspect
    stored = view.aspect(references[0].urn, aspect)
    if stored is None or aspect == registry.entity(source.entity_type).key:
        return UnlinkedReferences(required=references)
    paths = _paths(registry, aspect, references)
    before = orjson.loads(stored.value)
    value = without_references(registry, aspect, before, paths, urn)
    if value is None:
        return UnlinkedReferences(required=references)
    value = fill_derived(aspect, before, value, adds=False)
    if stamp is not None:
        transaction, millis, actor = stamp
        transaction.put(own_write(registry, source, aspect, value, millis, actor))
    return UnlinkedReferences(removed=references)


def without_references(
    registry: Registry, aspect: str, value: dict[str, Any], paths: Sequence[str], urn: str
) -> dict[str, Any] | None:
    """Return the value of an aspect without the references to a URN at the given paths, or `None`
    if one of them cannot be removed."""
    record = registry.aspect(aspect).record
    for path in paths:
        pruned = _Pruner(registry, urn).prune(value, tuple(path.split(".")), record)
        if not isinstance(pruned, dict):
            return None
        value = pruned
    return value


class _Removed:
    """A marker in place of a value that cannot exist without the reference that it contained."""


_GONE = _Removed()


class _Pruner:
    def __init__(self, registry: Registry, urn: str) -> None:
        self._registry = registry
        self._urn = urn

    def prune(self, value: Any, steps: tuple[str, ...], kind: str) -> Any:
        """Return `value`, which has the type `kind`, without the URN at the path `steps`, or
        `_GONE` if the value cannot exist without it."""
        if not steps:
            return _GONE if value == self._urn else value
        step, rest = steps[0], steps[1:]
        match value:
            case dict() if step == "$key":
                return {key: content for key, content in value.items() if key != self._urn}
            case dict() if step == "*":
                inner = _inner(kind)
                pruned_map = {
                    key: self.prune(content, rest, inner) for key, content in value.items()
                }
                return {key: content for key, content in pruned_map.items() if content is not _GONE}
            case list() if step == "*":
                inner = _inner(kind)
                pruned_list = (self.prune(element, rest, inner) for element in value)
                return [element for element in pruned_list if element is not _GONE]
            case dict() if step in value:
                field_kind, optional = self._field(kind, step)
                remainder = self.prune(value[step], rest, field_kind)
                if remainder is not _GONE:
                    return {**value, step: remainder}
                if optional:
                    return {key: content for key, content in value.items() if key != step}
                return _GONE
        return value

    def _field(self, kind: str, name: str) -> tuple[str, bool]:
        """Return the type of a field of a record, or of a member of a union, and whether it is
        optional."""
        shape, arguments = read_type(kind)
        if shape == "union":
            return next((argument for argument in arguments if argument == name), name), False
        record = self._registry.records.get(kind)
        field = record.fields.get(name) if record else None
        return (field.base, field.optional) if field else ("string", True)


def _inner(kind: str) -> str:
    shape, arguments = read_type(kind)
    return arguments[0] if shape in ("array", "map") else kind


def _paths(registry: Registry, aspect: str, references: Sequence[AspectReference]) -> list[str]:
    names = {reference.relationship for reference in references}
    declared = registry.aspect(aspect).relationships
    return list(
        dict.fromkeys(relationship.path for relationship in declared if relationship.name in names)
    )


def _to_list(references: Sequence[AspectReference]) -> list[dict[str, str]]:
    return [
        {
            "entity": reference.urn,
            "relationship": reference.relationship,
            "aspect": reference.aspect,
        }
        for reference in references[:_MAX_LISTED]
    ]


class RollbackResult(Struct):
    """The result of a rollback, or of a dry run.

    `rows` is the number of versions and timeseries documents, and `reverted` the number of aspects
    whose value changed. `deleted` are the entities that the run created, softly or for good;
    `unsafe` those of them that others have written to since, and `foreign` is the number of their
    aspects that others wrote.
    """

    run: str
    summaries: list[dict[str, Any]] = []
    rows: int = 0
    reverted: int = 0
    entities: set[str] = set()
    deleted: list[str] = []
    unsafe: list[str] = []
    foreign: int = 0

    def add(self, other: "RollbackResult") -> None:
        """Add the result for other entities."""
        self.summaries += other.summaries[: _MAX_LISTED - len(self.summaries)]
        self.rows += other.rows
        self.reverted += other.reverted
        self.entities |= other.entities
        self.deleted += other.deleted
        self.unsafe += other.unsafe
        self.foreign += other.foreign

    def to_wire(self, dialect: Dialect = "plain") -> dict[str, Any]:
        """Return the `value` of the response.

        DataHub's command warns that `aspectsAffected` aspects of the deleted entities were written
        by others, so for its dialect that number is returned.
        """
        return {
            "runId": self.run,
            "aspectRowSummaries": self.summaries,
            "entitiesAffected": len(self.entities),
            "aspectsAffected": self.rows if dialect == "plain" else self.foreign,
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
    hard: bool,
) -> RollbackResult:
    """Remove every version and timeseries document of one entity that a run wrote; return the
    result.

    The newest version of another run becomes the latest again. An entity that the run created is
    soft-deleted, with `hard` deleted permanently. One without a status is deleted permanently
    unless others have written to it since; then it stays. `view` is the transaction of the stamp.
    Without a stamp nothing is written, and the result is what would be rolled back.
    """
    rollback = RollbackResult(run)
    entity_type = Urn.parse(urn).entity_type
    key = registry.entity(entity_type).key
    versions: dict[str, list[RunRow]] = {}
    documents: dict[str, list[RunRow]] = {}
    for row in view.run_rows(run, urn=urn):
        kind = versions if row.at_millis is None else documents
        kind.setdefault(row.aspect, []).append(row)
    is_soft = not hard and "status" in registry.aspects_of(entity_type)
    if is_soft and versions.keys() == {key} and not documents and _is_removed(view, urn):
        return rollback
    # The aspects that others wrote are counted before anything is removed.
    shared = sum(
        len(versions.get(aspect.name, ())) < _version_count(view, urn, aspect.name)
        for aspect in view.aspects([urn]).get(urn, ())
        if aspect.name != key and aspect.name not in SUMMARIES
    )
    for aspect, rows in versions.items():
        rollback.entities.add(urn)
        _count(rollback, urn, rows, is_key=aspect == key)
        if aspect == key:
            continue
        rollback.reverted += rows[0].version == 0
        if stamp is not None:
            _withdraw(stamp, urn, rows, intake)
    for aspect, rows in documents.items():
        rollback.entities.add(urn)
        rollback.rows += len(rows)
        rollback.reverted += 1
        summary = _summary(run, urn, aspect, max(row.time_millis for row in rows))
        _list(rollback, summary | {"rows": len(rows)})
        if stamp is not None:
            transaction, millis, actor = stamp
            transaction.remove_documents(urn, aspect, (None, None), millis, actor, run)
    if key in versions:
        if shared:
            rollback.unsafe.append(urn)
            rollback.foreign += shared
        if hard or is_soft or not shared:
            rollback.deleted.append(urn)
            if stamp is not None and is_soft:
                _soft_delete(stamp, urn)
            elif stamp is not None:
                transaction, millis, actor = stamp
                transaction.remove_entity(urn, key, millis, actor)
    return rollback


def _is_removed(view: Reader, urn: str) -> bool:
    status = view.aspect(urn, "status")
    return status is not None and orjson.loads(status.value).get("removed") is True


def _version_count(view: Reader, urn: str, aspect: str) -> int:
    versions = view.versions(urn, aspect, (1, 0), 0, 0)
    return versions[0] if versions else 0


def _withdraw(stamp: Stamp, urn: str, rows: list[RunRow], intake: Intake) -> None:
    """Remove the given versions of one aspect; `rows` begin with the latest."""
    transaction, millis, actor = stamp
    aspect = rows[0].aspect
    # The latest version is removed last, so that none of the others replaces it.
    for row in reversed(rows):
        earlier = None if row.version else transaction.aspect(urn, aspect, -1)
        edges = intake.edges(aspect, orjson.loads(earlier.value)) if earlier else ()
        transaction.remove_version(urn, aspect, row.version, edges, millis, actor)


def _soft_delete(stamp: Stamp, urn: str) -> None:
    transaction, millis, actor = stamp
    system = orjson.dumps({"lastObserved": millis})
    entity_type, value = Urn.parse(urn).entity_type, orjson.dumps({"removed": True})
    transaction.put(Write(urn, entity_type, "status", value, millis, actor, system))


def _count(rollback: RollbackResult, urn: str, rows: list[RunRow], *, is_key: bool) -> None:
    rollback.rows += len(rows)
    for row in rows:
        summary = _summary(rollback.run, urn, row.aspect, row.time_millis)
        _list(rollback, summary | {"version": row.version, "keyAspect": is_key})


def _summary(run: str, urn: str, aspect: str, time_millis: int) -> dict[str, Any]:
    """Return an entry of the summary of a rolled back run. Its version and `keyAspect` are those of
    timeseries documents, which have no versions and are never keys."""
    return {
        "runId": run,
        "urn": urn,
        "aspectName": aspect,
        "timestamp": time_millis,
        "version": 0,
        "keyAspect": False,
    }


def _list(rollback: RollbackResult, summary: dict[str, Any]) -> None:
    if len(rollback.summaries) < _MAX_LISTED:
        rollback.summaries.append(summary)
