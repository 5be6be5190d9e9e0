"""Reaching into an aspect's value along the paths that the registry declares."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.registry import Aspect, Relationship
from explorer.metadata.urn import Urn

__all__ = ["Edge", "edges_of", "key_value", "places", "reach", "urn_of_key"]

Edge = tuple[Relationship, str]


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def reach(value: Any, path: str) -> list[Any]:
    """Every value found at `path`, in the order written; nothing where the path leads nowhere.

    `*` stands for each element of an array or value of a map, `$key` for the keys of a map.
    """
    found = [value]
    for step in _steps(path):
        if step == "*":
            found = [inner for one in found for inner in _inside(one)]
        elif step == "$key":
            found = [key for one in found if isinstance(one, dict) for key in one]
        else:
            found = [one.get(step) for one in found if isinstance(one, dict)]
        if not found:
            return found
    return [one for one in found if one is not None]


def places(value: Any, path: str) -> Iterator[str]:
    """Yield where each value is that `reach` finds, in the same order: `owners[0].owner`."""
    for place, found in _placed(value, _steps(path), ""):
        if found is not None:
            yield place.removeprefix(".")


def _placed(value: Any, steps: tuple[str, ...], place: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield place, value
        return
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _placed(inner, rest, f"{place}[{at}]")
    elif step == "*" and isinstance(value, dict):
        for key, inner in value.items():
            yield from _placed(inner, rest, f"{place}[{key!r}]")
    elif step == "$key" and isinstance(value, dict):
        for key in value:
            yield from _placed(key, rest, f"{place}[{key!r}]")
    elif isinstance(value, dict):
        yield from _placed(value.get(step), rest, f"{place}.{step}")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def edges_of(aspect: Aspect, value: dict[str, Any]) -> list[Edge]:
    """The edges an aspect's value declares: each relationship with the URN it leads to.

    In the order of the registry and then of the value, without repeats. What is not a URN is no
    edge.
    """
    found: dict[tuple[str, str], Edge] = {}
    for relationship in aspect.relationships:
        for target in reach(value, relationship.path):
            if isinstance(target, str) and target.startswith("urn:li:"):
                found.setdefault((relationship.name, target), (relationship, target))
    return list(found.values())


def key_value(urn: Urn, key_fields: tuple[str, ...]) -> dict[str, str]:
    """The value of an entity's key aspect, read off its URN.

    Raises `InvalidUrn` when the URN has another number of parts than the key has fields.
    """
    if len(urn.parts) != len(key_fields):
        shape = ",".join(f"<{field}>" for field in key_fields)
        expected = f"({shape})" if len(key_fields) > 1 else shape
        raise InvalidUrn(f"expected urn:li:{urn.entity_type}:{expected}, found {urn}")
    return dict(zip(key_fields, urn.parts, strict=True))


def urn_of_key(entity_type: str, key: Any, key_fields: tuple[str, ...]) -> Urn:
    """The URN of the entity whose key aspect has that value.

    Raises `InvalidInput` for a value that lacks a part of the key, `InvalidUrn` for parts that
    make no URN.
    """
    parts = [key.get(field) if isinstance(key, dict) else None for field in key_fields]
    if not all(isinstance(part, str) and part for part in parts):
        raise InvalidInput(
            f"the key of a {entity_type} has {', '.join(key_fields)}, each a text that is not empty"
        )
    return Urn.parse(str(Urn.of(entity_type, *map(str, parts))))
