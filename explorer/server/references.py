"""Taking the references to an entity out of the aspects of others.

What goes with a reference is the least that can go: an optional field, else the element of the
array or the entry of the map it stands in. An aspect in which a required field would be lost with
nothing around it to go stays as it is.
"""

from collections.abc import Sequence
from typing import Any

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn
from explorer.server.intake.change import NO_RUN
from explorer.server.intake.derived import fill_derived
from explorer.server.intake.intake import Intake
from explorer.server.store import Reference, Transaction, Write

__all__ = ["Unlinked", "references_to", "unlink", "without_references"]

_MAX_LISTED = 100


class Unlinked(Struct):
    """What was done about the references to an entity, or would be: those taken out, and those in
    aspects that cannot be without them."""

    taken: list[Reference] = []
    left: list[Reference] = []

    def add(self, other: "Unlinked") -> None:
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


def references_to(transaction: Transaction, urn: str) -> list[list[Reference]]:
    """Return the references to a URN, those of one aspect of an entity together."""
    by_aspect: dict[tuple[str, str], list[Reference]] = {}
    for reference in transaction.references_to(urn):
        by_aspect.setdefault((reference.urn, reference.aspect), []).append(reference)
    return list(by_aspect.values())


def unlink(
    transaction: Transaction,
    urn: str,
    references: list[Reference],
    intake: Intake,
    registry: Registry,
    stamp: tuple[int, str] | None,
) -> Unlinked:
    """Take the references to a URN out of one aspect, as it is now.

    `stamp` is when this happens (milliseconds since 1970) and who does it; without it nothing is
    written, and the answer tells what would be.
    """
    source, aspect = references[0].urn, references[0].aspect
    entity_type = Urn.parse(source).entity_type
    stored = transaction.latest(source, aspect)
    if stored is None or aspect == registry.entity(entity_type).key:
        return Unlinked(left=references)
    paths = _paths(registry, aspect, references)
    before = orjson.loads(stored.value)
    value = without_references(registry, aspect, before, paths, urn)
    if value is None:
        return Unlinked(left=references)
    value = fill_derived(aspect, before, value, adds=False)
    if stamp is not None:
        system = orjson.dumps({"lastObserved": stamp[0], "runId": NO_RUN})
        edges = intake.edges(aspect, value)
        given = orjson.dumps(value)
        transaction.put(Write(source, entity_type, aspect, given, *stamp, system, None, edges))
    return Unlinked(taken=references)


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


def _paths(registry: Registry, aspect: str, references: Sequence[Reference]) -> list[str]:
    names = {reference.relationship for reference in references}
    declared = registry.aspect(aspect).relationships
    return list(dict.fromkeys(one.path for one in declared if one.name in names))


def _listed(references: Sequence[Reference]) -> list[dict[str, str]]:
    return [
        {"entity": one.urn, "relationship": one.relationship, "aspect": one.aspect}
        for one in references[:_MAX_LISTED]
    ]
