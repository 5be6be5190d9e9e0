"""Taking changes in: a proposal is checked as a whole before the writer sees it, and written as
one step of the writer's transaction."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import orjson
from msgspec import Struct

from explorer.errors import InvalidAspect, InvalidInput, InvalidUrn, NotFound
from explorer.metadata.proposal import ChangeType, Proposal
from explorer.metadata.registry import Aspect, Registry
from explorer.metadata.urn import Urn
from explorer.metadata.validation import Validator
from explorer.metadata.values import edges_of, key_value
from explorer.server.failures import Refusal
from explorer.server.store import Point, StoredEdge, Transaction, Write

__all__ = ["UNKNOWN_ACTOR", "Change", "Intake"]

UNKNOWN_ACTOR = "urn:li:corpuser:unknown"
NO_RUN = "no-run-id-provided"

_PLATFORM = "urn:li:dataPlatform:"
_MAX_MILLIS = 2**62
_FULL_TABLE = "FULL_TABLE_SNAPSHOT"


class Change(Struct, frozen=True):
    """A proposal that passed every check that needs no look at the store."""

    urn: Urn
    text: str
    aspect: str
    kind: ChangeType
    value: Any
    declared: Aspect
    actor: str
    system: Mapping[str, Any] | None


class Intake:
    """Checks and applies changes against a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._validator = Validator(registry)

    def check_urn(self, urn: Urn) -> dict[str, str]:
        """The value of the URN's key aspect.

        Raises `UnknownName` for an entity type that is none, `InvalidUrn` for a URN that is not
        of its shape.
        """
        fields = self._registry.key_fields(urn.entity_type)
        key = key_value(urn, fields)
        platform = key.get("platform")
        if platform is not None and not _is_platform(platform):
            raise InvalidUrn(f"expected {_PLATFORM}<platform> as the platform in {urn}")
        return key

    def check(self, proposal: Proposal, actor: str | None = None) -> Change:
        """The proposal as a change that may be applied, by `actor` if the caller proved to be one.

        Raises `InvalidUrn` and `UnknownName` for what it is about, `InvalidAspect` for an aspect
        that is none of the entity's or a value that does not fit, `InvalidInput` for a change
        type that is not done here.
        """
        urn, name = proposal.urn, proposal.aspect
        key = self.check_urn(urn)
        declared = self._declared(urn.entity_type, name)
        if proposal.change in ("PATCH", "RESTATE"):
            raise InvalidInput(
                f"changeType {proposal.change} is not supported; send the whole aspect as UPSERT"
            )
        if declared.timeseries and proposal.change not in ("UPSERT", "DELETE"):
            raise InvalidInput(f"{name} is a timeseries aspect, which takes UPSERT and DELETE only")
        if proposal.change != "DELETE":
            self._validator.check(name, proposal.value)
            if (
                declared.timeseries
                and not -_MAX_MILLIS < proposal.value["timestampMillis"] < _MAX_MILLIS
            ):
                raise InvalidAspect(name, "timestampMillis", "expected milliseconds since 1970")
            if name == self._registry.entity(urn.entity_type).key:
                _check_key(name, proposal.value, key)
        by = actor or proposal.actor or UNKNOWN_ACTOR
        return Change(
            urn, str(urn), name, proposal.change, proposal.value, declared, by, proposal.system
        )

    def apply(self, transaction: Transaction, change: Change, now_millis: int) -> None:
        """Write or remove what the change says.

        Raises `NotFound` when it needs an entity that does not exist, `Refusal` when it needs one
        that does not exist yet.
        """
        exists = transaction.exists(change.text)
        if change.kind == "DELETE":
            if not exists:
                raise NotFound(f"{change.text} does not exist.")
            self._delete(transaction, change, now_millis)
            return
        if change.kind == "CREATE_ENTITY" and exists:
            raise Refusal(422, f"Cannot perform CREATE_ENTITY since {change.text} exists already.")
        if change.kind == "CREATE" and transaction.latest(change.text, change.aspect):
            raise Refusal(422, "Cannot perform CREATE since the aspect already exists.")
        key = self._registry.entity(change.urn.entity_type).key
        if not exists and change.aspect == "status" and change.value.get("removed") is True:
            raise NotFound(f"{change.text} does not exist.")
        if not exists and change.aspect != key:
            value = key_value(change.urn, self._registry.key_fields(change.urn.entity_type))
            self._put(transaction, change, key, value, now_millis)
        if change.declared.timeseries:
            transaction.append(self._point(change, now_millis))
            return
        value = change.value
        if change.aspect == "editableSchemaMetadata":
            stored = transaction.latest(change.text, change.aspect)
            value = _keep_descriptions(orjson.loads(stored.value), value) if stored else value
        self._put(transaction, change, change.aspect, value, now_millis)

    def edges(self, aspect: str, value: Any) -> tuple[StoredEdge, ...]:
        """The edges that a value declares."""
        return tuple(
            StoredEdge(
                relationship.name,
                target,
                (2 if relationship.source_is_upstream else 1) if relationship.lineage else 0,
            )
            for relationship, target in edges_of(self._registry.aspect(aspect), value)
        )

    def _declared(self, entity_type: str, name: str) -> Aspect:
        names = self._registry.aspects_of(entity_type)
        if name not in names:
            near = get_close_matches(name, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
            raise InvalidAspect(name, "", f"Unknown aspect {name} for entity {entity_type}; {hint}")
        return self._registry.aspect(name)

    def _delete(self, transaction: Transaction, change: Change, now_millis: int) -> None:
        key = self._registry.entity(change.urn.entity_type).key
        if change.aspect == key:
            transaction.erase(change.text, key, now_millis, change.actor)
        elif change.declared.timeseries:
            transaction.remove_points(
                change.text, change.aspect, (None, None), now_millis, change.actor
            )
        else:
            transaction.remove(change.text, change.aspect, now_millis, change.actor)

    def _put(
        self, transaction: Transaction, change: Change, aspect: str, value: Any, now_millis: int
    ) -> None:
        transaction.put(
            Write(
                change.text,
                change.urn.entity_type,
                aspect,
                _dump(aspect, value),
                now_millis,
                change.actor,
                *_system(change.system, now_millis),
                self.edges(aspect, value),
            )
        )

    def _point(self, change: Change, now_millis: int) -> Point:
        return Point(
            change.text,
            change.urn.entity_type,
            change.aspect,
            change.value["timestampMillis"],
            _series(change.value),
            _dump(change.aspect, change.value),
            now_millis,
            change.actor,
            *_system(change.system, now_millis),
        )


@lru_cache(maxsize=1024)
def _is_platform(text: str) -> bool:
    try:
        return Urn.parse(text).entity_type == "dataPlatform"
    except InvalidUrn:
        return False


def _system(given: Mapping[str, Any] | None, now_millis: int) -> tuple[bytes, str | None]:
    """The system metadata as it is stored, and the run it names."""
    system = {"lastObserved": now_millis, "runId": NO_RUN, **(given or {})}
    run = system["runId"]
    return _dump("systemMetadata", system), run if isinstance(run, str) and run != NO_RUN else None


def _dump(aspect: str, value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise InvalidAspect(aspect, "", f"cannot be stored: {error}") from None


def _check_key(aspect: str, value: dict[str, Any], key: dict[str, str]) -> None:
    for field, part in key.items():
        if value.get(field) != part:
            raise InvalidAspect(aspect, field, f"expected {part!r}, as the URN has it")


def _series(value: Mapping[str, Any]) -> str:
    """What tells documents of one moment apart: partition, granularity and message."""
    partition = (value.get("partitionSpec") or {}).get("partition", _FULL_TABLE)
    granularity = value.get("eventGranularity") or {}
    told = [
        "" if partition == _FULL_TABLE else partition,
        granularity.get("unit", ""),
        granularity.get("multiple", 1) if granularity else "",
        value.get("messageId") or "",
    ]
    return orjson.dumps(told).decode() if any(told) else ""


def _keep_descriptions(stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The given value, with every column description it does not speak of.

    Ingestion that tags a column sends the whole aspect without the descriptions people wrote; an
    explicit empty text is the way to remove one.
    """
    kept = {
        info["fieldPath"]: info["description"]
        for info in stored["editableSchemaFieldInfo"]
        if info.get("description")
    }
    for info in given["editableSchemaFieldInfo"]:
        if info.get("description") is not None:
            kept.pop(info["fieldPath"], None)
    infos = []
    for info in given["editableSchemaFieldInfo"]:
        description = kept.pop(info["fieldPath"], None)
        infos.append(info if description is None else {**info, "description": description})
    infos += [{"fieldPath": path, "description": text} for path, text in kept.items()]
    return {**given, "editableSchemaFieldInfo": infos}
