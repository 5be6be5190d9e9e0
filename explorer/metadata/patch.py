"""Apply patches to aspects: JSON Patch (RFC 6902) with array elements addressed by their keys.

    [{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}]
    {"arrayPrimaryKeys": {"tags": ["attribution␟source", "tag"]}, "patch": [...]}

In a path, `~1` stands for `/` and `~0` for `~`. A key that an element lacks is an empty step.
Unlike in RFC 6902, `add` creates missing parents, and removing something that does not exist is not
an error.

A step into a record or map is a name. A step into an array is one step for each key of its elements
(an owner's URN, then the type), the element itself if the elements are strings, or an index (`0`,
`-`) if they have no keys.

An element of `fineGrainedLineages` relates several upstream columns to several downstream ones. A
path addresses one pair of columns by its transform operation, downstream column, query and upstream
column; `NONE` stands for an absent operation or query.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import orjson

from explorer.errors import Conflict, InvalidAspect, InvalidInput
from explorer.metadata.aspects import without_nulls
from explorer.metadata.registry import Field, Registry, read_type, urn_fields

_MAX_LOOKS = 10_000_000
_MAX_BYTES = 64 * 1024 * 1024


class _Missing:
    """The type of `MISSING`, which stands for an absent value, unlike null."""


MISSING = _Missing()


class Misplaced(Exception):
    """A patch operation that cannot be applied, for example because its path does not exist."""


class Allowance:
    """The limits on the work of one patch, which blocks all other writes: how many elements of
    arrays are visited, and how many bytes are copied or compared."""

    __slots__ = ("_bytes", "_looks")

    def __init__(self) -> None:
        self._looks = _MAX_LOOKS
        self._bytes = _MAX_BYTES

    def look(self, elements: int) -> None:
        """Count visited elements. Raises `Misplaced` once the limit is exceeded."""
        self._looks -= elements
        if self._looks < 0:
            raise Misplaced("the patch takes too long; send fewer operations at once")

    def copy(self, size_bytes: int) -> None:
        """Count bytes copied or compared. Raises `Misplaced` once the limit is exceeded."""
        self._bytes -= size_bytes
        if self._bytes < 0:
            raise Misplaced(
                f"the patch copies or compares more than {_MAX_BYTES // 1024 // 1024} MB; "
                "send fewer operations at once"
            )


class PatchTarget(Protocol):
    """A container whose parts are addressed by the next step of a path."""

    def get(self, step: str) -> Any:
        """Return the part, or `MISSING`."""

    def put(self, step: str, value: Any) -> None:
        """Set the part, replacing an existing one."""

    def drop(self, step: str) -> None:
        """Remove the part with everything below it; do nothing if there is none. An array or map
        that the record requires is emptied instead."""

    def into(self, step: str, *, make: bool) -> "PatchTarget | None":
        """Return the part as a target, or `None` if there is none; `make` creates it."""


_NONE = "NONE"
_DEPTH = 4
# The cost of comparing an element with a path of several steps, in visited elements; also that
# of comparing an element that has several keys.
_LOOKS = 5


class FineGrained:
    """A `PatchTarget` for the elements of `fineGrainedLineages`, addressed as pairs of columns;
    `led` holds the steps taken so far."""

    def __init__(
        self, elements: list[Any], allowance: Allowance, led: tuple[str, ...] = ()
    ) -> None:
        self._elements = elements
        self._allowance = allowance
        self._key_prefix = led

    def get(self, step: str) -> Any:
        """Return the confidence score of a pair or, for a shorter path, the matching elements."""
        elements = [self._elements[at] for at in self._at((*self._key_prefix, step))]
        if not elements:
            return MISSING
        return {"confidenceScore": _sureness(elements[0])} if self._last else elements

    def put(self, step: str, value: Any) -> None:
        """Add one pair of columns or, for a shorter path, all the pairs of a nested map."""
        if self._last:
            self._join((*self._key_prefix, step), value)
            return
        self.drop(step)
        FineGrained(self._elements, self._allowance, (*self._key_prefix, step)).fill(value)

    def fill(self, value: Any) -> None:
        """Add every pair of a nested map."""
        if not isinstance(value, dict):
            raise Misplaced("expected lineage of columns by transformation, column and query")
        for step, part in value.items():
            self.put(step, part)

    def drop(self, step: str) -> None:
        """Remove the pairs that the path matches, and the elements that have no columns left."""
        key_steps = (*self._key_prefix, step)
        elements: list[Any] = []
        positions = set(self._at(key_steps))
        for at, element in enumerate(self._elements):
            elements += _remove_pairs(element, key_steps) if at in positions else [element]
        self._elements[:] = elements

    def into(self, step: str, *, make: bool) -> "FineGrained | None":
        """Return the target one step further along the path."""
        if self._last:
            if make:
                raise Misplaced("set the confidenceScore of a pair of columns as an object")
            return None
        return FineGrained(self._elements, self._allowance, (*self._key_prefix, step))

    @property
    def _last(self) -> bool:
        return len(self._key_prefix) == _DEPTH - 1

    def _at(self, key_steps: tuple[str, ...]) -> list[int]:
        self._allowance.look(_LOOKS * len(self._elements))
        return [at for at, element in enumerate(self._elements) if _leads_to(element, key_steps)]

    def _join(self, key_steps: tuple[str, ...], value: Any) -> None:
        operation, downstream, query, upstream = key_steps
        sureness = value.get("confidenceScore") if isinstance(value, dict) else None
        score = 1.0 if sureness is None else sureness
        for at in self._at((operation, downstream, query)):
            element = self._elements[at]
            if element.get("downstreams") != [downstream]:
                if upstream in _columns(element, "upstreams"):
                    return
                continue
            upstreams = list(_columns(element, "upstreams"))
            if upstream not in upstreams:
                upstreams.append(upstream)
            self._elements[at] = {**element, "upstreams": upstreams, "confidenceScore": score}
            return
        new_element: dict[str, Any] = {
            "upstreamType": "DATASET" if upstream.startswith("urn:li:dataset:") else "FIELD_SET",
            "upstreams": [upstream],
            "downstreamType": "FIELD",
            "downstreams": [downstream],
            "confidenceScore": score,
        }
        if operation != _NONE:
            new_element["transformOperation"] = operation
        if query != _NONE:
            new_element["query"] = query
        self._elements.append(new_element)


def _columns(element: dict[str, Any], side: str) -> list[Any]:
    """Return the columns on one side; empty if the value is not a list, which is refused later."""
    columns = element.get(side)
    return columns if isinstance(columns, list) else []


def _leads_to(element: Any, key_steps: tuple[str, ...]) -> bool:
    if not isinstance(element, dict):
        return False
    steps_by_level = (
        (element.get("transformOperation") or _NONE,),
        _columns(element, "downstreams"),
        (element.get("query") or _NONE,),
        _columns(element, "upstreams"),
    )
    return all(step in steps for step, steps in zip(key_steps, steps_by_level, strict=False))


def _remove_pairs(element: dict[str, Any], key_steps: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the elements that replace an element without the pairs that the path matches."""
    if len(key_steps) == 1:
        return []
    downstream = key_steps[1]
    other_columns = [column for column in element["downstreams"] if column != downstream]
    elements = [{**element, "downstreams": other_columns}] if other_columns else []
    if len(key_steps) == _DEPTH:
        upstreams = [column for column in element["upstreams"] if column != key_steps[3]]
        if upstreams:
            elements.append({**element, "downstreams": [downstream], "upstreams": upstreams})
    return elements


def _sureness(element: dict[str, Any]) -> Any:
    return element.get("confidenceScore", 1.0)


_SEPARATOR = "\u241f"

# The keys of the elements of arrays, by the name of their record.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "DataProductAssociation": ("destinationUrn",),
    "Edge": ("destinationUrn",),
    "EditableSchemaFieldInfo": ("fieldPath",),
    "FormAssociation": ("urn",),
    "FormPrompt": ("id",),
    "GlossaryTermAssociation": ("urn",),
    "InstitutionalMemoryMetadata": ("url",),
    "Owner": ("owner", "type"),
    "PropertyValue": ("value",),
    "SchemaField": ("fieldPath",),
    "StructuredPropertyValueAssignment": ("propertyUrn",),
    "TagAssociation": ("tag",),
    "Upstream": ("dataset",),
}
_FINE_GRAINED = "FineGrainedLineage"
# The name by which clients address the columns of a schema.
_ALIASES = {("SchemaMetadata", "schemaFieldInfo"): "fields"}


class ValueShape:
    """The types of a value, from which a step into it gets the right kind of target.

    `keys` are the keys of the elements of arrays, by the array's name or path; with `generic` the
    model's own keys are not used. `fresh` makes the initial value of a record, given its name.
    """

    def __init__(
        self,
        registry: Registry,
        keys: Mapping[str, tuple[str, ...]],
        fresh: Callable[[str], dict[str, Any]],
        *,
        generic: bool,
        allowance: Allowance | None = None,
    ) -> None:
        self._registry = registry
        self._keys = keys
        self._fresh = fresh
        self._generic = generic
        self.allowance = allowance or Allowance()

    def place(self, value: Any, kind: str | None, path: tuple[str, ...]) -> PatchTarget:
        """Return the target for a value of a type at a path of names. Raises `Misplaced` for a
        value that is neither an object nor a list."""
        if isinstance(value, dict):
            return _NamedParts(self, value, kind, path)
        if isinstance(value, list):
            element = _element(kind)
            if self._is_fine_grained(element):
                return FineGrained(value, self.allowance)
            keys = self.keys(kind, path)
            return (
                _Keyed(self, value, element, path, keys) if keys else _Listed(self, value, element)
            )
        raise Misplaced("a single value has no parts")

    def keys(self, kind: str | None, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys of the elements of an array; empty if they are addressed by index."""
        keys = self._keys.get(_SEPARATOR.join(path)) or self._keys.get(path[-1] if path else "")
        if keys or self._generic:
            return keys or ()
        return _KEYS.get((_element(kind) or "").rpartition(".")[2], ())

    def in_stored_form(self, value: Any, kind: str | None, path: tuple[str, ...]) -> Any:
        """Return a value in its stored form; an array may be given as a map of its elements by
        their keys."""
        if not isinstance(value, dict) or kind is None or read_type(kind)[0] != "array":
            return value
        if self._is_fine_grained(_element(kind)):
            elements: list[Any] = []
            FineGrained(elements, self.allowance).fill(value)
            return elements
        keys = self.keys(kind, path)
        if keys:
            return flatten(value, len(keys))
        return list(value) if _element(kind) == "string" else value

    def make(self, kind: str | None, path: tuple[str, ...]) -> Any:
        """Return the initial value of a type, for a path that leads through it."""
        if kind is None:
            return {}
        sort, arguments = read_type(kind)
        if sort == "array" or self.keys(kind, path):
            return []
        return self._fresh(arguments[0]) if sort == "name" else {}

    def empty(self, record_name: str | None, name: str) -> list[Any] | dict[str, Any] | None:
        """Return the value that replaces a removed field of a record: an empty array or map if the
        record requires one, else `None`."""
        record = self._registry.records.get(record_name or "")
        field = record.fields.get(name) if record else None
        if field is None or field.optional:
            return None
        kind = read_type(field.base)[0]
        return [] if kind == "array" else {} if kind == "map" else None

    def element(self, kind: str | None, keys: Mapping[str, str]) -> dict[str, Any]:
        """Return a new element for a path that leads through it. Raises `Misplaced` if the record
        requires more fields than its keys."""
        record = self._registry.records.get(kind or "")
        fields = record.fields if record else {}
        begun = self._fresh(kind or "") | dict(keys)
        lacking = [
            name
            for name, field in fields.items()
            if not field.optional and field.default is None and name not in begun
        ]
        if lacking:
            raise Misplaced(f"there is no {'/'.join(keys.values())}; add it as a whole first")
        return begun

    def name(self, kind: str | None, step: str) -> str:
        """Return the name of the field that a step of a path addresses."""
        return _ALIASES.get(((kind or "").rpartition(".")[2], step), step)

    def member(self, kind: str | None, step: str) -> str | None:
        """Return the type that a step leads to, or `None` if it is unknown."""
        return member_type(self._registry, kind, step)

    def unknown(self) -> "ValueShape":
        """Return a shape without types that shares the allowance of this one."""
        return ValueShape(_NOTHING, {}, lambda _name: {}, generic=True, allowance=self.allowance)

    def _is_fine_grained(self, element: str | None) -> bool:
        return not self._generic and (element or "").rpartition(".")[2] == _FINE_GRAINED


class _NamedParts:
    """A record, map or union, whose parts are addressed by name."""

    def __init__(
        self, shape: ValueShape, value: dict[str, Any], kind: str | None, path: tuple[str, ...]
    ) -> None:
        self._shape = shape
        self._value = value
        self._kind = kind
        self._path = path

    def get(self, step: str) -> Any:
        return self._value.get(self._shape.name(self._kind, step), MISSING)

    def put(self, step: str, value: Any) -> None:
        name = self._shape.name(self._kind, step)
        kind = self._shape.member(self._kind, name)
        self._value[name] = self._shape.in_stored_form(value, kind, (*self._path, name))

    def drop(self, step: str) -> None:
        name = self._shape.name(self._kind, step)
        if name not in self._value:
            return
        empty = self._shape.empty(self._kind, name)
        if empty is None:
            del self._value[name]
        else:
            self._value[name] = empty

    def into(self, step: str, *, make: bool) -> PatchTarget | None:
        name = self._shape.name(self._kind, step)
        kind, path = self._shape.member(self._kind, name), (*self._path, name)
        inner = self._value.get(name)
        if inner is None:
            if not make:
                return None
            inner = self._value[name] = self._shape.make(kind, path)
        return self._shape.place(inner, kind, path)


class _Keyed:
    """An array whose elements are addressed by their keys; `key_steps` holds the steps taken so
    far."""

    def __init__(
        self,
        shape: ValueShape,
        elements: list[Any],
        kind: str | None,
        path: tuple[str, ...],
        keys: tuple[str, ...],
        key_steps: tuple[str, ...] = (),
    ) -> None:
        self._shape = shape
        self._elements = elements
        self._kind = kind
        self._path = path
        self._keys = keys
        self._key_prefix = key_steps

    def get(self, step: str) -> Any:
        elements = [self._elements[at] for at in self._at(step)]
        if not elements:
            return MISSING
        return elements[0] if self._last else elements

    def put(self, step: str, value: Any) -> None:
        if step == "-" and not self._key_prefix:
            self._elements.append(value)
            return
        positions = self._at(step)
        for element in self._complete_elements(step, value):
            if self._last and positions:
                self._elements[positions[0]] = element
                return
            self._elements.append(element)
        for at in reversed(positions):
            del self._elements[at]

    def drop(self, step: str) -> None:
        for at in reversed(self._at(step)):
            del self._elements[at]

    def into(self, step: str, *, make: bool) -> PatchTarget | None:
        positions = self._at(step)
        if not positions and not make:
            return None
        key_steps = (*self._key_prefix, step)
        if not self._last:
            return _Keyed(
                self._shape, self._elements, self._kind, self._path, self._keys, key_steps
            )
        if not positions:
            keys = {key: part for key, part in zip(self._keys, key_steps, strict=True) if part}
            if any(_SEPARATOR in key for key in keys):
                raise Misplaced(f"there is no {'/'.join(key_steps)}; add it as a whole first")
            self._elements.append(self._shape.element(self._kind, keys))
            positions = [len(self._elements) - 1]
        return self._shape.place(self._elements[positions[0]], self._kind, self._path)

    @property
    def _last(self) -> bool:
        return len(self._key_prefix) == len(self._keys) - 1

    def _at(self, step: str) -> list[int]:
        """Return the indexes of the elements that match the steps so far and this one."""
        key_steps = (*self._key_prefix, step)
        if len(self._keys) == 1 and _SEPARATOR not in self._keys[0] and step:
            self._shape.allowance.look(len(self._elements))
            (key,) = self._keys
            return [
                at
                for at, element in enumerate(self._elements)
                if isinstance(element, dict) and _matches_step(element.get(key), step)
            ]
        self._shape.allowance.look(_LOOKS * len(self._elements))
        return [
            at
            for at, element in enumerate(self._elements)
            if _key_values(element, self._keys)[: len(key_steps)] == key_steps
        ]

    def _complete_elements(self, step: str, value: Any) -> list[Any]:
        """Return the elements that a patch at `step` adds, given as one element, a list, or objects
        nested by key. Key fields that an element lacks are filled in from the path. Raises
        `Misplaced` if an element is not an object, or its keys differ from those in the path."""
        key_steps = (*self._key_prefix, step)
        key_values = _key_values(value, self._keys) if value else ()
        if self._last or key_values[: len(key_steps)] == key_steps:
            elements = [value]
        elif isinstance(value, list):
            elements = value
        else:
            elements = flatten(value, len(self._keys) - len(key_steps))
        return [self._complete_element(element, key_steps) for element in elements]

    def _complete_element(self, element: Any, key_steps: tuple[str, ...]) -> Any:
        if not isinstance(element, dict):
            raise Misplaced(f"an element of {'.'.join(self._path)} must be an object")
        for key, part in zip(self._keys, key_steps, strict=False):
            if part and _SEPARATOR not in key and element.get(key) is None:
                element = {**element, key: part}
        if _key_values(element, self._keys)[: len(key_steps)] != key_steps:
            raise Misplaced("the keys in the value differ from those in the path")
        return element


class _Listed:
    """An array of strings, addressed by themselves, or of elements addressed by index."""

    def __init__(self, shape: ValueShape, elements: list[Any], kind: str | None) -> None:
        self._shape = shape
        self._elements = elements
        sort, arguments = read_type(kind) if kind else ("name", ("",))
        self._wrapped = sort == "union" and "string" in arguments
        self._texts = self._wrapped or kind == "string"

    def get(self, step: str) -> Any:
        at = self._at(step)
        return MISSING if at is None or at >= len(self._elements) else self._elements[at]

    def put(self, step: str, value: Any) -> None:
        if step == "-":
            self._elements.append(value)
            return
        at = self._at(step)
        if step.isdecimal() and at is not None:
            if at > len(self._elements):
                raise Misplaced(f"the array has {len(self._elements)} elements")
            self._elements.insert(at, value)
        elif not self._texts:
            raise Misplaced(
                "address its elements by position (0, 1, -), or give the keys that identify them "
                "in arrayPrimaryKeys"
            )
        elif at is None:
            text = {"string": step} if self._wrapped else step
            if value not in ({}, None, step, text):
                raise Misplaced("the value differs from the one in the path")
            self._elements.append(text)

    def drop(self, step: str) -> None:
        at = self._at(step)
        if at is not None and at < len(self._elements):
            del self._elements[at]

    def into(self, step: str, *, make: bool) -> PatchTarget | None:
        at = self._at(step)
        if at is not None and at < len(self._elements) and isinstance(self._elements[at], dict):
            return _NamedParts(self._shape.unknown(), self._elements[at], None, ())
        if make:
            raise Misplaced(f"there is no element {step}")
        return None

    def _at(self, step: str) -> int | None:
        # No array is so long that its index has nine digits.
        if step.isdecimal() and len(step) < 9:
            return int(step)
        self._shape.allowance.look(len(self._elements))
        text = {"string": step} if self._wrapped else step
        return self._elements.index(text) if text in self._elements else None


_NOTHING = Registry({}, {}, {})


def flatten(value: Any, levels: int) -> list[Any]:
    """Return the elements of maps nested `levels` deep."""
    if levels == 0:
        return [value]
    if not isinstance(value, dict):
        raise Misplaced("expected the elements as a list, or as objects by their keys")
    return [element for part in value.values() for element in flatten(part, levels - 1)]


def member_type(registry: Registry, kind: str | None, step: str) -> str | None:
    """Return the type of a field, of a map's values or of a union's member, without the `?` of
    optional fields; `None` if it is unknown."""
    if kind is None:
        return None
    sort, arguments = read_type(kind)
    if sort == "map":
        return arguments[0]
    if sort == "union":
        last = step.rpartition(".")[2]
        return next((name for name in arguments if name.rpartition(".")[2] == last), None)
    record = registry.records.get(arguments[0]) if sort == "name" else None
    field = record.fields.get(step) if record else None
    return field.base if field else None


def _element(kind: str | None) -> str | None:
    sort, arguments = read_type(kind) if kind else ("", ())
    return arguments[0] if sort == "array" else None


def _matches_step(part: Any, step: str) -> bool:
    return bool(part == step) or (
        part is not None and not isinstance(part, str) and _key_text(part) == step
    )


def _key_text(part: Any) -> str:
    """Return the value of a key as text. For a union, such as `{"double": 30}`, it is that of the
    member; a number is written as a double, `30.0`."""
    if isinstance(part, dict) and len(part) == 1:
        ((member, value),) = part.items()
        is_number = isinstance(value, int | float)
        return str(float(value)) if member == "double" and is_number else str(value)
    return "" if part is None else str(part)


def _key_values(element: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of an element's keys as text; a missing value is an empty text."""
    texts: list[str] = []
    for key in keys:
        part = element
        for name in key.split(_SEPARATOR):
            part = part.get(name) if isinstance(part, dict) else None
        texts.append(_key_text(part))
    return tuple(texts)


Op = Literal["add", "remove", "replace", "move", "copy", "test"]
_OPS: tuple[Op, ...] = get_args(Op)
_MAX_STEPS = 64
_STAMP = "com.linkedin.common.AuditStamp"
_STAMPS = "com.linkedin.common.ChangeAuditStamps"

Stamp = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One operation of a patch; `source` is the path that `move` and `copy` read from."""

    op: Op
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations, in order. `keys` are the keys of the elements of arrays, by the array's name or
    path; with `generic` the model's own keys are not used."""

    operations: tuple[PatchOperation, ...]
    keys: Mapping[str, tuple[str, ...]]
    generic: bool = False

    @property
    def only_removes(self) -> bool:
        """Whether every operation is `remove` or `test`."""
        return all(operation.op in ("remove", "test") for operation in self.operations)


def read_patch(value: Any) -> Patch:
    """Parse a patch: a list of operations, or an object with the list as `patch`. Raises
    `InvalidInput` naming the invalid operation."""
    keys: Any = None
    generic = False
    if isinstance(value, dict):
        keys, generic = value.get("arrayPrimaryKeys"), value.get("forceGenericPatch") is True
        value = value.get("patch")
    if not isinstance(value, list):
        raise InvalidInput(
            "a PATCH must be a list of operations, or an object with the list as 'patch'"
        )
    operations = tuple(_operation(at, entry) for at, entry in enumerate(value))
    return Patch(operations, _keys(keys), generic)


class Patcher:
    """Applies JSON patches to aspect values, using the record types in a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def start(self, aspect: str, stamp: Stamp) -> dict[str, Any]:
        """Return the value that a patch of an absent aspect starts from: the required fields of its
        record, with the model's defaults or empty, and `stamp` for audit stamps."""
        return self._begin(self._registry.aspect(aspect).record, stamp, whole=True)

    def apply(self, aspect: str, value: dict[str, Any], patch: Patch, stamp: Stamp) -> Any:
        """Return the value with the patch applied. The given value may be modified in place.

        Raises `InvalidAspect` for an operation that cannot be applied, and `Conflict` for a `test`
        that fails.
        """
        record = self._registry.aspect(aspect).record
        shape = ValueShape(
            self._registry,
            patch.keys,
            lambda name: self._begin(name, stamp, whole=False),
            generic=patch.generic,
        )
        for at, operation in enumerate(patch.operations):
            try:
                value = _apply(shape, value, record, operation)
            except Misplaced as problem:
                place = f"patch[{at}]"
                message = f"cannot {operation.op} /{'/'.join(operation.path)[:200]}: {problem}"
                raise InvalidAspect(aspect, place, message) from None
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
            start = _initial_value(field, stamp, whole=whole and key not in urns)
            if start is not MISSING:
                begun[key] = start
        return begun


def _initial_value(field: Field, stamp: Stamp, *, whole: bool) -> Any:
    """Return the initial value of a required field, or `MISSING` if it has none."""
    if field.base == _STAMP:
        return dict(stamp)
    if field.base == _STAMPS:
        return {"created": dict(stamp), "lastModified": dict(stamp)}
    if field.default is not None:
        return without_nulls(field.default)
    match read_type(field.base):
        case "array", _:
            return []
        case "map", _:
            return {}
        case "name", ("string",) if whole:
            return ""
        case _:
            return MISSING


def _apply(shape: ValueShape, value: Any, record: str, operation: PatchOperation) -> Any:
    root = shape.place(value, record, ())
    match operation.op:
        case "test":
            present = _find(root, operation.path, value)
            if present is MISSING or not _same(shape, present, operation.value):
                excerpt = "nothing" if present is MISSING else orjson.dumps(present).decode()[:200]
                raise Conflict(
                    f"the test of /{'/'.join(operation.path)} failed: the value is {excerpt}"
                )
            return value
        case "remove":
            _drop(root, operation.path)
            return value
        case "add" | "replace":
            new_value = operation.value
            if operation.op == "replace" and _find(root, operation.path, value) is MISSING:
                raise Misplaced("there is no value to replace; use add")
        case "move" | "copy":
            new_value = _find(root, operation.source, value)
            if new_value is MISSING:
                raise Misplaced(f"there is nothing at /{'/'.join(operation.source)}")
            if operation.op == "move":
                if operation.path[: len(operation.source)] == operation.source:
                    return value if operation.path == operation.source else _into_itself()
                _drop(root, operation.source)
    copied = _copy(shape, new_value)
    if not operation.path:
        if not isinstance(copied, dict):
            raise Misplaced("an aspect must be an object")
        return copied
    if operation.op == "replace":
        # In an array addressed by index, `put` inserts instead of replacing.
        _drop_listed(root, operation.path)
    _reach(root, operation.path).put(operation.path[-1], copied)
    return value


def _into_itself() -> Any:
    raise Misplaced("a value cannot be moved into itself")


def _reach(root: PatchTarget, path: tuple[str, ...]) -> PatchTarget:
    place = root
    for step in path[:-1]:
        inner = place.into(step, make=True)
        if inner is None:
            raise Misplaced(f"there is no {step}")
        place = inner
    return place


def _look_up(root: PatchTarget, path: tuple[str, ...]) -> PatchTarget | None:
    place: PatchTarget | None = root
    for step in path[:-1]:
        place = place.into(step, make=False) if place is not None else None
    return place


def _find(root: PatchTarget, path: tuple[str, ...], aspect_value: Any) -> Any:
    if not path:
        return aspect_value
    try:
        place = _look_up(root, path)
    except Misplaced:
        return MISSING
    return MISSING if place is None else place.get(path[-1])


def _drop(root: PatchTarget, path: tuple[str, ...]) -> None:
    if not path:
        raise Misplaced("remove the aspect with changeType DELETE")
    try:
        place = _look_up(root, path)
    except Misplaced:
        return
    if place is not None:
        place.drop(path[-1])


def _drop_listed(root: PatchTarget, path: tuple[str, ...]) -> None:
    if path[-1].isdecimal():
        _drop(root, path)


def _operation(at: int, entry: Any) -> PatchOperation:
    if not isinstance(entry, dict):
        raise InvalidInput(f"patch[{at}] must be an object with op and path")
    op = entry.get("op")
    if op not in _OPS:
        raise InvalidInput(f"patch[{at}].op must be one of {', '.join(_OPS)}, not {op!r:.60}")
    if op in ("add", "replace", "test") and "value" not in entry:
        raise InvalidInput(f"patch[{at}] ({op}) needs a value")
    path = _path(f"patch[{at}].path", entry.get("path"))
    source = _path(f"patch[{at}].from", entry.get("from")) if op in ("move", "copy") else ()
    return PatchOperation(op, path, entry.get("value"), source)


def _path(name: str, text: Any) -> tuple[str, ...]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise InvalidInput(f"{name} must be a string that begins with '/', not {text!r:.60}")
    steps = text.split("/")[1:]
    if len(steps) > _MAX_STEPS:
        raise InvalidInput(f"{name} has more than {_MAX_STEPS} steps")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _keys(keys: Any) -> dict[str, tuple[str, ...]]:
    if keys is None:
        return {}
    if isinstance(keys, dict) and all(
        isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        for names in keys.values()
    ):
        return {array: tuple(names) for array, names in keys.items()}
    raise InvalidInput("arrayPrimaryKeys must be an object of lists: the keys of each array")


def _copy(shape: ValueShape, value: Any) -> Any:
    """Return a deep copy, so that the patch can be applied again."""
    try:
        sort_key = orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise Misplaced(f"its value cannot be stored: {error}") from None
    shape.allowance.copy(len(sort_key))
    return orjson.loads(sort_key)


def _same(shape: ValueShape, present: Any, operand: Any) -> bool:
    operand_key, present_key = _sort_key(operand), _sort_key(present)
    shape.allowance.copy(len(present_key))
    return operand_key == present_key


def _sort_key(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise Misplaced(f"its value cannot be compared: {error}") from None
