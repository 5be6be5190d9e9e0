"""What differs between two values of an aspect, place by place.

Elements of arrays are matched by what tells them apart (a column's `fieldPath`, an owner's URN and
role), so that an element which only moved is no change. Pure: asks no server.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal

import orjson

__all__ = ["ChangeKind", "ValueChange", "difference"]

ChangeKind = Literal["added", "removed", "changed"]

# The first of these that every element of an array says tells its elements apart.
_NATURAL: tuple[tuple[str, ...], ...] = (
    ("fieldPath",),
    ("owner", "type"),
    ("tag",),
    ("urn",),
    ("url",),
    ("dataset",),
    ("destinationUrn",),
    ("propertyUrn",),
    ("id",),
    ("key",),
    ("name",),
    ("value",),
)
# Deeper than any model goes; what lies below is compared as a whole.
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One place where two values differ.

    `path` leads to it: names of fields, and for an element of an array what tells it apart, one
    step for each of its keys. `before` is None for what was added, `after` for what was removed.
    """

    path: tuple[str, ...]
    kind: ChangeKind
    before: Any = None
    after: Any = None

    @property
    def place(self) -> str:
        """The path as one text, as a JSON pointer writes it: `/fields/id/description`."""
        return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in self.path)

    def lines(self, context: int = 3) -> tuple[str, ...]:
        """Return the change as a unified diff without its head, `context` lines around each
        difference.

        Texts line by line, anything else as indented JSON. Lines have no line ends.
        """
        found = unified_diff(_lines(self.before), _lines(self.after), n=context, lineterm="")
        return tuple(found)[2:]


def difference(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    keys: Mapping[str, Sequence[str]] | None = None,
) -> tuple[ValueChange, ...]:
    """Return what became of `before` in `after`; nothing where they say the same.

    Fields by name; in an array the elements of `after` in their order, then those removed. `keys`
    says of arrays, by their field's name, what tells their elements apart where the common keys
    do not. Elements without keys are matched by their whole value. A null is nothing.
    """
    return tuple(_Comparison(keys or {}).members(before or {}, after or {}, ()))


class _Comparison:
    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        self._keys = keys

    def members(
        self, before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]
    ) -> Iterable[ValueChange]:
        for name in sorted(before.keys() | after.keys()):
            yield from self.values(before.get(name), after.get(name), (*path, name), name)

    def values(
        self, before: Any, after: Any, path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        if before is None and after is None:
            return
        if before is None:
            yield ValueChange(path, "added", after=after)
        elif after is None:
            yield ValueChange(path, "removed", before=before)
        elif isinstance(before, dict) and isinstance(after, dict) and len(path) < _MAX_DEPTH:
            yield from self.members(before, after, path)
        elif isinstance(before, list) and isinstance(after, list) and len(path) < _MAX_DEPTH:
            yield from self._elements(before, after, path, array)
        elif not _same(before, after):
            yield ValueChange(path, "changed", before, after)

    def _elements(
        self, before: list[Any], after: list[Any], path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        keys = tuple(self._keys.get(array, ())) or _natural_keys(before, after)
        old, new = _grouped(before, keys), _grouped(after, keys)
        for led, elements in new.items():
            yield from self._alike(old.pop(led, []), elements, (*path, *led), array)
        for led, elements in old.items():
            yield from self._alike(elements, [], (*path, *led), array)

    def _alike(
        self, before: list[Any], after: list[Any], path: tuple[str, ...], array: str
    ) -> Iterable[ValueChange]:
        """Elements that nothing tells apart: those that stayed as they were are left out, the
        others taken for changed in their order while there are some on both sides."""
        if len(before) > 1 or len(after) > 1:
            before, after = _without_common(before, after)
        for at in range(max(len(before), len(after))):
            old = before[at] if at < len(before) else None
            new = after[at] if at < len(after) else None
            yield from self.values(old, new, path, array)


def _natural_keys(before: list[Any], after: list[Any]) -> tuple[str, ...]:
    elements = [*before, *after]
    if not all(isinstance(element, dict) for element in elements):
        return ()
    for keys in _NATURAL:
        if all(isinstance(element.get(key), str) for element in elements for key in keys):
            return keys
    return ()


def _grouped(elements: list[Any], keys: tuple[str, ...]) -> dict[tuple[str, ...], list[Any]]:
    """Elements under what tells them apart, in order; scalars under themselves."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for element in elements:
        found.setdefault(_told(element, keys), []).append(element)
    return found


def _told(element: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(element, str):
        return (element,)
    if isinstance(element, dict):
        return tuple(_text(element.get(key)) for key in keys) if keys else ("-",)
    return ("-",) if isinstance(element, list) else (_text(element),)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value).decode()


def _without_common(before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
    left: dict[bytes, int] = {}
    for element in after:
        mark = _json(element)
        left[mark] = left.get(mark, 0) + 1
    gone = []
    for element in before:
        mark = _json(element)
        if left.get(mark, 0):
            left[mark] -= 1
        else:
            gone.append(element)
    come = []
    for element in reversed(after):
        mark = _json(element)
        if left[mark]:
            left[mark] -= 1
            come.append(element)
    return gone, come[::-1]


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return bool(before == after)
    # True and 1 are the same to Python, not to JSON.
    return _json(before) == _json(after)


def _json(value: Any) -> bytes:
    """Return a mark of a value, the same for values that say the same."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # Nested too deeply, or a number beyond 64 bits.
        return _spelled(value).encode(errors="surrogatepass")


def _spelled(value: Any) -> str:
    """Return the same for any value whatever its depth; slower."""
    parts: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                parts.append("{")
                waiting.append(_Mark("}"))
                for name in sorted(members, key=str):
                    waiting += [members[name], _Mark(f"{name!r}:")]
            case list() as elements:
                parts.append("[")
                waiting.append(_Mark("]"))
                waiting.extend(reversed(elements))
            case _Mark() as mark:
                parts.append(mark.text)
            case other:
                parts.append(f"{other!r},")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Mark:
    text: str


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines()
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().splitlines()
    except orjson.JSONEncodeError:
        return _spelled(value).splitlines()
