"""Whether two values are the same, and what the system metadata of a write says of its place
among the writes of its aspect."""

from typing import Any

import orjson

__all__ = ["counted", "same_value", "seen_again", "version_of"]


def same_value(stored: bytes, given: bytes) -> bool:
    """Whether two values are the same JSON, whatever the order of their keys."""
    if stored == given:
        return True
    if abs(len(stored) - len(given)) > max(len(stored), len(given)) // 2:
        return False
    return _canonical(stored) == _canonical(given)


def seen_again(stored: bytes, given: bytes) -> bytes:
    """The stored system metadata, with when and by which run the value was last seen."""
    system, now = orjson.loads(stored), orjson.loads(given)
    system["lastObserved"] = now.get("lastObserved", system.get("lastObserved"))
    system["lastRunId"] = now.get("runId", system.get("lastRunId"))
    return orjson.dumps(system)


def version_of(system: bytes, superseded: int = 0) -> int:
    """The version that system metadata names, from 1 up; where it names none it is told by how
    many values were superseded."""
    named: Any = orjson.loads(system).get("version")
    return int(named) if isinstance(named, str) and named.isdecimal() else superseded + 1


def counted(system: bytes, version: int) -> bytes:
    """System metadata that names this version."""
    return orjson.dumps(orjson.loads(system) | {"version": str(version)})


def _canonical(value: bytes) -> bytes:
    return orjson.dumps(orjson.loads(value), option=orjson.OPT_SORT_KEYS)
