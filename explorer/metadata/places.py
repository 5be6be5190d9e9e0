"""Walking into a value one step at a time, as a patch addresses it.

A step into a record or map is a name. A step into an array is what tells its elements apart: one
step for each of its keys (an owner's URN, then the type), the element itself where the elements
are texts, a place (`0`, `-`) where nothing tells them apart.
"""

from collections.abc import Callable, Mapping
from typing import Any

from explorer.metadata.finegrained import FineGrained
from explorer.metadata.registry import Registry, read_type
from explorer.metadata.steps import MISSING, Allowance, Misplaced, Place

__all__ = ["Shape", "member_type"]

_SEPARATOR = "\u241f"

# What tells the elements of an array apart, by the record they are of.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "DataProductAssociation": ("destinationUrn",),
    "Edge": ("destinationUrn",),
    "EditableSchemaFieldInfo": ("fieldPath",),
    "FormAssociation": ("urn",),
    "FormPrompt": ("id",),
    "GlossaryTermAssociation": ("urn",),
    "InstitutionalMemoryMetadata": ("url",),
    "Owner": ("owner", "type"),
    "SchemaField": ("fieldPath",),
    "StructuredPropertyValueAssignment": ("propertyUrn",),
    "TagAssociation": ("tag",),
    "Upstream": ("dataset",),
}
_FINE_GRAINED = "FineGrainedLineage"
# An element that is told by several keys takes as long as so many that are told by one.
_LOOKS = 5
# A client's name for the columns of a schema, when it addresses one.
_ALIASES = {("SchemaMetadata", "schemaFieldInfo"): "fields"}


class Shape:
    """What a value is made of, so that a step into it finds the right kind of place.

    `keys` says of arrays, by the array's name, what tells their elements apart; with `generic`
    nothing else does. `fresh` makes what a record of a name begins as.
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

    def place(self, value: Any, kind: str | None, path: tuple[str, ...]) -> Place:
        """A value of a type, found at a path of names, as a place."""
        if isinstance(value, dict):
            return _Named(self, value, kind, path)
        if isinstance(value, list):
            element = _element(kind)
            if self._is_fine_grained(element):
                return FineGrained(value, self.allowance)
            keys = self.keys(kind, path)
            return (
                _Keyed(self, value, element, path, keys) if keys else _Listed(self, value, element)
            )
        raise Misplaced("there is nothing below a single value")

    def keys(self, kind: str | None, path: tuple[str, ...]) -> tuple[str, ...]:
        """What tells the elements of an array apart; nothing when their place does."""
        given = self._keys.get(_SEPARATOR.join(path)) or self._keys.get(path[-1] if path else "")
        if given or self._generic:
            return given or ()
        return _KEYS.get((_element(kind) or "").rpartition(".")[2], ())

    def whole(self, value: Any, kind: str | None, path: tuple[str, ...]) -> Any:
        """A value that is set at once; an array may be given as its elements by their keys."""
        if not isinstance(value, dict) or kind is None or read_type(kind)[0] != "array":
            return value
        if self._is_fine_grained(_element(kind)):
            elements: list[Any] = []
            FineGrained(elements, self.allowance).fill(value)
            return elements
        keys = self.keys(kind, path)
        if keys:
            return gathered(value, len(keys))
        return list(value) if _element(kind) == "string" else value

    def make(self, kind: str | None, path: tuple[str, ...]) -> Any:
        """What a value of a type begins as when a path goes through it."""
        if kind is None:
            return {}
        sort, arguments = read_type(kind)
        if sort == "array" or self.keys(kind, path):
            return []
        return self._fresh(arguments[0]) if sort == "name" else {}

    def empty(self, record_name: str | None, name: str) -> list[Any] | dict[str, Any] | None:
        """Return what stays of a field of a record when it is removed: an empty array or map where
        the record requires one, else None."""
        record = self._registry.records.get(record_name or "")
        field = record.fields.get(name) if record else None
        if field is None or field.optional:
            return None
        kind = read_type(field.base)[0]
        return [] if kind == "array" else {} if kind == "map" else None

    def element(self, kind: str | None, keys: Mapping[str, str]) -> dict[str, Any]:
        """A new element that a path goes through; raises `Misplaced` when its keys alone do not
        make one."""
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
        """The field that a step means."""
        return _ALIASES.get(((kind or "").rpartition(".")[2], step), step)

    def member(self, kind: str | None, step: str) -> str | None:
        """The type of what a step leads to, where that is known."""
        return member_type(self._registry, kind, step)

    def unknown(self) -> "Shape":
        """The shape of what no record describes, for the same patch."""
        return Shape(_NOTHING, {}, lambda _name: {}, generic=True, allowance=self.allowance)

    def _is_fine_grained(self, element: str | None) -> bool:
        return not self._generic and (element or "").rpartition(".")[2] == _FINE_GRAINED


class _Named:
    """A record, map or union: parts by name."""

    def __init__(
        self, shape: Shape, value: dict[str, Any], kind: str | None, path: tuple[str, ...]
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
        self._value[name] = self._shape.whole(value, kind, (*self._path, name))

    def drop(self, step: str) -> None:
        name = self._shape.name(self._kind, step)
        if name not in self._value:
            return
        empty = self._shape.empty(self._kind, name)
        if empty is None:
            del self._value[name]
        else:
            self._value[name] = empty

    def into(self, step: str, *, make: bool) -> Place | None:
        name = self._shape.name(self._kind, step)
        kind, path = self._shape.member(self._kind, name), (*self._path, name)
        inner = self._value.get(name)
        if inner is None:
            if not make:
                return None
            inner = self._value[name] = self._shape.make(kind, path)
        return self._shape.place(inner, kind, path)


class _Keyed:
    """An array whose elements are told apart by keys; `led` holds the steps taken so far."""

    def __init__(
        self,
        shape: Shape,
        elements: list[Any],
        kind: str | None,
        path: tuple[str, ...],
        keys: tuple[str, ...],
        led: tuple[str, ...] = (),
    ) -> None:
        self._shape = shape
        self._elements = elements
        self._kind = kind
        self._path = path
        self._keys = keys
        self._led = led

    def get(self, step: str) -> Any:
        found = [self._elements[at] for at in self._at(step)]
        if not found:
            return MISSING
        return found[0] if self._last else found

    def put(self, step: str, value: Any) -> None:
        if step == "-" and not self._led:
            self._elements.append(value)
            return
        here = self._at(step)
        for element in self._given(step, value):
            if self._last and here:
                self._elements[here[0]] = element
                return
            self._elements.append(element)
        for at in reversed(here):
            del self._elements[at]

    def drop(self, step: str) -> None:
        for at in reversed(self._at(step)):
            del self._elements[at]

    def into(self, step: str, *, make: bool) -> Place | None:
        here = self._at(step)
        if not here and not make:
            return None
        led = (*self._led, step)
        if not self._last:
            return _Keyed(self._shape, self._elements, self._kind, self._path, self._keys, led)
        if not here:
            keys = {key: part for key, part in zip(self._keys, led, strict=True) if part}
            if any(_SEPARATOR in key for key in keys):
                raise Misplaced(f"there is no {'/'.join(led)}; add it as a whole first")
            self._elements.append(self._shape.element(self._kind, keys))
            here = [len(self._elements) - 1]
        return self._shape.place(self._elements[here[0]], self._kind, self._path)

    @property
    def _last(self) -> bool:
        return len(self._led) == len(self._keys) - 1

    def _at(self, step: str) -> list[int]:
        """Where the elements are that the steps so far and this one lead to."""
        led = (*self._led, step)
        if len(self._keys) == 1 and _SEPARATOR not in self._keys[0] and step:
            self._shape.allowance.look(len(self._elements))
            (key,) = self._keys
            return [
                at
                for at, element in enumerate(self._elements)
                if isinstance(element, dict) and _says(element.get(key), step)
            ]
        self._shape.allowance.look(_LOOKS * len(self._elements))
        return [
            at
            for at, element in enumerate(self._elements)
            if _told(element, self._keys)[: len(led)] == led
        ]

    def _given(self, step: str, value: Any) -> list[Any]:
        """The elements that a value stands for, each with the keys that the path says."""
        led = (*self._led, step)
        told = _told(value, self._keys) if value else ()
        if self._last or told[: len(led)] == led:
            elements = [value]
        elif isinstance(value, list):
            elements = value
        else:
            elements = gathered(value, len(self._keys) - len(led))
        return [self._agreeing(element, led) for element in elements]

    def _agreeing(self, element: Any, led: tuple[str, ...]) -> Any:
        if not isinstance(element, dict):
            raise Misplaced(f"an element of {'.'.join(self._path)} is an object")
        for key, part in zip(self._keys, led, strict=False):
            if part and _SEPARATOR not in key and element.get(key) is None:
                element = {**element, key: part}
        if _told(element, self._keys)[: len(led)] != led:
            raise Misplaced("the value's keys are others than those of the path")
        return element


class _Listed:
    """An array of texts, told apart by themselves, or of what only its place tells apart."""

    def __init__(self, shape: Shape, elements: list[Any], kind: str | None) -> None:
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
                "its elements are addressed by their place (0, 1, -); "
                "name what tells them apart in arrayPrimaryKeys"
            )
        elif at is None:
            text = {"string": step} if self._wrapped else step
            if value not in ({}, None, step, text):
                raise Misplaced("the value is another than the path says")
            self._elements.append(text)

    def drop(self, step: str) -> None:
        at = self._at(step)
        if at is not None and at < len(self._elements):
            del self._elements[at]

    def into(self, step: str, *, make: bool) -> Place | None:
        at = self._at(step)
        if at is not None and at < len(self._elements) and isinstance(self._elements[at], dict):
            return _Named(self._shape.unknown(), self._elements[at], None, ())
        if make:
            raise Misplaced(f"there is no element {step}")
        return None

    def _at(self, step: str) -> int | None:
        # A place of more digits than any array has is none.
        if step.isdecimal() and len(step) < 9:
            return int(step)
        self._shape.allowance.look(len(self._elements))
        text = {"string": step} if self._wrapped else step
        return self._elements.index(text) if text in self._elements else None


_NOTHING = Registry({}, {}, {})


def gathered(value: Any, levels: int) -> list[Any]:
    """The elements of maps nested so many levels deep."""
    if levels == 0:
        return [value]
    if not isinstance(value, dict):
        raise Misplaced("expected the elements as a list, or as objects by their keys")
    return [element for part in value.values() for element in gathered(part, levels - 1)]


def member_type(registry: Registry, kind: str | None, step: str) -> str | None:
    """The type of a field, of a map's values, or of the member of a union; without its mark of
    optionality."""
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


def _says(part: Any, step: str) -> bool:
    return bool(part == step) or (
        part is not None and not isinstance(part, str) and str(part) == step
    )


def _told(element: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    """What an element's keys say, an empty text for one that says nothing."""
    found: list[str] = []
    for key in keys:
        part = element
        for name in key.split(_SEPARATOR):
            part = part.get(name) if isinstance(part, dict) else None
        found.append("" if part is None else part if isinstance(part, str) else str(part))
    return tuple(found)
