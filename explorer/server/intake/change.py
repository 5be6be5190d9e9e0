"""A change that may be applied, and what is stored of it."""

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct

from explorer.errors import InvalidAspect
from explorer.metadata.proposal import ChangeType, Condition
from explorer.metadata.registry import Aspect, Registry, edges_of
from explorer.metadata.urn import Urn
from explorer.server.dialect import Dialect
from explorer.server.store import Point, StoredEdge, Write

__all__ = ["NO_RUN", "UNKNOWN_ACTOR", "Change", "edges_to_store"]

UNKNOWN_ACTOR = "urn:li:corpuser:unknown"
NO_RUN = "no-run-id-provided"

_FULL_TABLE = "FULL_TABLE_SNAPSHOT"


class Change(Struct, frozen=True):
    """A proposal that passed every check that needs no look at the store. The value of a PATCH is
    the `Patch`. `dialect` says whose rules it is taken by."""

    urn: Urn
    text: str
    aspect: str
    kind: ChangeType
    value: Any
    declared: Aspect
    actor: str
    system: Mapping[str, Any] | None
    condition: Condition | None = None
    dialect: Dialect = "plain"

    def write(
        self, aspect: str, value: Any, edges: tuple[StoredEdge, ...], now_millis: int
    ) -> Write:
        """A versioned aspect of this change's entity, as the store takes it; it carries the run
        and actor of the change."""
        system, run = _system(self.system, now_millis)
        return Write(
            self.text,
            self.urn.entity_type,
            aspect,
            _dump(aspect, value),
            now_millis,
            self.actor,
            system,
            run,
            edges,
        )

    def point(self, now_millis: int) -> Point:
        """The document of a timeseries aspect, as the store takes it."""
        system, run = _system(self.system, now_millis)
        return Point(
            self.text,
            self.urn.entity_type,
            self.aspect,
            self.value["timestampMillis"],
            _series(self.value),
            _dump(self.aspect, self.value),
            now_millis,
            self.actor,
            system,
            run,
        )


def edges_to_store(registry: Registry, aspect: str, value: Any) -> tuple[StoredEdge, ...]:
    """Return the edges that the value of an aspect declares."""
    return tuple(
        StoredEdge(
            relationship.name,
            target,
            (2 if relationship.source_is_upstream else 1) if relationship.lineage else 0,
        )
        for relationship, target in edges_of(registry.aspect(aspect), value)
    )


def _system(given: Mapping[str, Any] | None, now_millis: int) -> tuple[bytes, str | None]:
    """The system metadata as it is stored, and the run it names."""
    system = {"lastObserved": now_millis, "runId": NO_RUN, **(given or {})}
    # Counted by the store, and by it alone.
    system.pop("version", None)
    run = system["runId"]
    return _dump("systemMetadata", system), run if isinstance(run, str) and run != NO_RUN else None


def _dump(aspect: str, value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise InvalidAspect(aspect, "", f"cannot be stored: {error}") from None


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
