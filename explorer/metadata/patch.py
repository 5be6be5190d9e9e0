"""Changing part of an aspect: JSON Patch (RFC 6902) over records whose arrays are addressed by
what tells their elements apart.

    [{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}]
    {"arrayPrimaryKeys": {"tags": ["attribution␟source", "tag"]}, "patch": [...]}

`~1` in a path stands for `/`, `~0` for `~`. A key that an element lacks is an empty step. Unlike
in RFC 6902, `add` makes the parents that are missing, and removing what is not there is no error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson

from explorer.errors import Conflict, InvalidAspect, InvalidInput
from explorer.metadata.places import Shape
from explorer.metadata.references import urn_fields
from explorer.metadata.registry import Field, Registry, read_type
from explorer.metadata.steps import MISSING, Misplaced, Place

__all__ = ["Operation", "Patch", "Patcher", "read_patch"]

Op = Literal["add", "remove", "replace", "move", "copy", "test"]
_OPS: tuple[Op, ...] = get_args(Op)
_MAX_STEPS = 64
_STAMP = "com.linkedin.common.AuditStamp"
_STAMPS = "com.linkedin.common.ChangeAuditStamps"

Stamp = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `source` is where `move` and `copy` take from."""

    op: Op
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations in order. `keys` says of arrays, by name, what tells their elements apart;
    with `generic` nothing else does."""

    operations: tuple[Operation, ...]
    keys: Mapping[str, tuple[str, ...]]
    generic: bool = False

    @property
    def only_removes(self) -> bool:
        """Whether it can add nothing."""
        return all(one.op in ("remove", "test") for one in self.operations)


def read_patch(value: Any) -> Patch:
    """A patch from its JSON form, a list of operations or an object that holds one; raises
    `InvalidInput` naming the operation that is wrong."""
    keys: Any = None
    generic = False
    if isinstance(value, dict):
        keys, generic = value.get("arrayPrimaryKeys"), value.get("forceGenericPatch") is True
        value = value.get("patch")
    if not isinstance(value, list):
        raise InvalidInput("a PATCH is a list of operations, or an object with the list as 'patch'")
    operations = tuple(_operation(at, given) for at, given in enumerate(value))
    return Patch(operations, _keys(keys), generic)


class Patcher:
    """Applies patches to the values of a registry's aspects."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def start(self, aspect: str, stamp: Stamp) -> dict[str, Any]:
        """The value that a patch of an absent aspect starts from: what its record requires, empty
        or as the model has it, and `stamp` where it asks who and when."""
        return self._begin(self._registry.aspect(aspect).record, stamp, whole=True)

    def apply(self, aspect: str, value: dict[str, Any], patch: Patch, stamp: Stamp) -> Any:
        """The value with the patch applied; what is given may be changed on the way.

        Raises `InvalidAspect` for an operation that cannot be done, `Conflict` for a `test` that
        fails.
        """
        record = self._registry.aspect(aspect).record
        shape = Shape(
            self._registry,
            patch.keys,
            lambda name: self._begin(name, stamp, whole=False),
            generic=patch.generic,
        )
        for at, operation in enumerate(patch.operations):
            try:
                value = _applied(shape, value, record, operation)
            except Misplaced as problem:
                place = f"patch[{at}]"
                told = f"cannot {operation.op} /{'/'.join(operation.path)[:200]}: {problem}"
                raise InvalidAspect(aspect, place, told) from None
        return value

    def _begin(self, name: str, stamp: Stamp, *, whole: bool) -> dict[str, Any]:
        record = self._registry.records.get(name)
        if record is None:
            return {}
        urns = urn_fields(name)
        begun: dict[str, Any] = {}
        for key, field in record.fields.items():
            if field.type.endswith("?") or (field.default is not None and not whole):
                continue
            start = _beginning(field, stamp, whole=whole and key not in urns)
            if start is not MISSING:
                begun[key] = start
        return begun


def _beginning(field: Field, stamp: Stamp, *, whole: bool) -> Any:
    """What a required field begins as."""
    if field.base == _STAMP:
        return dict(stamp)
    if field.base == _STAMPS:
        return {"created": dict(stamp), "lastModified": dict(stamp)}
    if field.default is not None:
        return _without_nulls(field.default)
    match read_type(field.base):
        case "array", _:
            return []
        case "map", _:
            return {}
        case "name", ("string",) if whole:
            return ""
        case _:
            return MISSING


def _applied(shape: Shape, value: Any, record: str, operation: Operation) -> Any:
    root = shape.place(value, record, ())
    match operation.op:
        case "test":
            found = _found(root, operation.path, value)
            if found is MISSING or not _same(shape, found, operation.value):
                shown = "nothing" if found is MISSING else orjson.dumps(found).decode()[:200]
                raise Conflict(f"the test of /{'/'.join(operation.path)} failed: there is {shown}")
            return value
        case "remove":
            _drop(root, operation.path)
            return value
        case "add" | "replace":
            given = operation.value
            if operation.op == "replace" and _found(root, operation.path, value) is MISSING:
                raise Misplaced("there is nothing to replace; use add")
        case "move" | "copy":
            given = _found(root, operation.source, value)
            if given is MISSING:
                raise Misplaced(f"there is nothing at /{'/'.join(operation.source)}")
            if operation.op == "move":
                if operation.path[: len(operation.source)] == operation.source:
                    return value if operation.path == operation.source else _into_itself()
                _drop(root, operation.source)
    copied = _copied(shape, given)
    if not operation.path:
        if not isinstance(copied, dict):
            raise Misplaced("an aspect is an object")
        return copied
    if operation.op == "replace":
        # In an array that goes by places, adding would shift what is there.
        _drop_listed(root, operation.path)
    _reached(root, operation.path).put(operation.path[-1], copied)
    return value


def _into_itself() -> Any:
    raise Misplaced("nothing can be moved into itself")


def _reached(root: Place, path: tuple[str, ...]) -> Place:
    place = root
    for step in path[:-1]:
        inner = place.into(step, make=True)
        if inner is None:
            raise Misplaced(f"there is no {step}")
        place = inner
    return place


def _seen(root: Place, path: tuple[str, ...]) -> Place | None:
    place: Place | None = root
    for step in path[:-1]:
        place = place.into(step, make=False) if place is not None else None
    return place


def _found(root: Place, path: tuple[str, ...], whole: Any) -> Any:
    if not path:
        return whole
    try:
        place = _seen(root, path)
    except Misplaced:
        return MISSING
    return MISSING if place is None else place.get(path[-1])


def _drop(root: Place, path: tuple[str, ...]) -> None:
    if not path:
        raise Misplaced("remove the aspect with changeType DELETE")
    try:
        place = _seen(root, path)
    except Misplaced:
        return
    if place is not None:
        place.drop(path[-1])


def _drop_listed(root: Place, path: tuple[str, ...]) -> None:
    if path[-1].isdecimal():
        _drop(root, path)


def _operation(at: int, given: Any) -> Operation:
    if not isinstance(given, dict):
        raise InvalidInput(f"patch[{at}] must be an object with op and path")
    op = given.get("op")
    if op not in _OPS:
        raise InvalidInput(f"patch[{at}].op must be one of {', '.join(_OPS)}, not {op!r:.60}")
    if op in ("add", "replace", "test") and "value" not in given:
        raise InvalidInput(f"patch[{at}] ({op}) needs a value")
    path = _path(f"patch[{at}].path", given.get("path"))
    source = _path(f"patch[{at}].from", given.get("from")) if op in ("move", "copy") else ()
    return Operation(op, path, given.get("value"), source)


def _path(name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, str) or (given and not given.startswith("/")):
        raise InvalidInput(f"{name} must be a string that begins with '/', not {given!r:.60}")
    steps = given.split("/")[1:]
    if len(steps) > _MAX_STEPS:
        raise InvalidInput(f"{name} has more than {_MAX_STEPS} steps")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _keys(given: Any) -> dict[str, tuple[str, ...]]:
    if given is None:
        return {}
    if isinstance(given, dict) and all(
        isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        for names in given.values()
    ):
        return {array: tuple(names) for array, names in given.items()}
    raise InvalidInput("arrayPrimaryKeys must be an object of lists: the keys of each array")


def _copied(shape: Shape, value: Any) -> Any:
    """A value of its own, for a patch may be applied again."""
    try:
        written = orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise Misplaced(f"its value cannot be stored: {error}") from None
    shape.allowance.copy(len(written))
    return orjson.loads(written)


def _same(shape: Shape, found: Any, given: Any) -> bool:
    wanted, there = _sorted(given), _sorted(found)
    shape.allowance.copy(len(there))
    return wanted == there


def _sorted(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise Misplaced(f"its value cannot be compared: {error}") from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return orjson.loads(orjson.dumps(value))
