"""When an edge was made and changed, by whom, and whether by hand: as its aspect says it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from explorer.metadata.registry import Registry
from explorer.server.store import Store

__all__ = ["NO_STAMPS", "Stamps", "read_stamps"]


class Stamps(Struct, frozen=True):
    """What is said of an edge; times are milliseconds since 1970 UTC, nothing where unsaid."""

    created_millis: int | None = None
    created_by: str | None = None
    updated_millis: int | None = None
    updated_by: str | None = None
    is_manual: bool | None = None

    def is_within(self, start_millis: int | None, end_millis: int | None) -> bool:
        """Whether the edge was last changed in a time, both ends inclusive; one that says no time
        always was."""
        changed = self.updated_millis or self.created_millis
        if changed is None:
            return True
        after = start_millis is None or changed >= start_millis
        return after and (end_millis is None or changed <= end_millis)


NO_STAMPS = Stamps()


def read_stamps(
    store: Store, registry: Registry, urn: str, others: Sequence[str]
) -> dict[str, Stamps]:
    """The stamps of the edges between an entity and others, by the other's URN.

    Either side may declare the edge: the lineage aspects of both are read, in one query of the
    store a few hundred entities.
    """
    aspects = sorted(
        name
        for name, aspect in registry.aspects.items()
        if any(edge.lineage for edge in aspect.relationships)
    )
    stored = store.aspects(list(dict.fromkeys((urn, *others))), aspects)
    wanted = set(others)
    found: dict[str, Stamps] = {}
    for declaring, values in stored.items():
        for value in values:
            for target, edge in _edges(orjson.loads(value.value)):
                other = target if declaring == urn else declaring if target == urn else None
                if other in wanted and other is not None:
                    found[other] = _stamps(edge)
    return found


def _edges(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The edges of an aspect that are records, each with what it points at."""
    for entries in value.values():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                target = entry.get("destinationUrn") or entry.get("dataset")
                if isinstance(target, str):
                    yield target, entry


def _stamps(edge: Mapping[str, Any]) -> Stamps:
    created, updated = edge.get("created"), edge.get("lastModified") or edge.get("auditStamp")
    source = (edge.get("properties") or {}).get("source")
    return Stamps(
        *_stamp(created), *_stamp(updated), source == "UI" if source is not None else None
    )


def _stamp(stamp: Any) -> tuple[int | None, str | None]:
    # Writers that know no time put 0 there.
    if not isinstance(stamp, dict) or not stamp.get("time"):
        return None, None
    return stamp["time"], stamp.get("actor")
