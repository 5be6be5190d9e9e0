"""The differences between two values of an aspect, field by field.

Elements of arrays are matched by the fields that identify them (a column's `fieldPath`, an owner's
URN and type), so moving an element is not a change. No requests.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal

import orjson

__all__ = ["ChangeKind", "ValueChange", "difference"]

ChangeKind = Literal["added", "removed", "changed"]

# Elements of an array are identified by the first of these keys that all of them have.
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
# Deeper than any aspect is nested; values below are compared as a whole.
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One position at which two values differ.

    `path` leads to it: the names of fields, and for an element of an array the values that identify
    it, one step for each of its keys. `before` is `None` for an added value, `after` for a removed
    one.
    """

    path: tuple[str, ...]
    kind: ChangeKind
    before: Any = None
    after: Any = None

    @property
    def place(self) -> str:
        """The path as a JSON pointer: `/fields/id/description`."""
        return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in self.path)

    def lines(self, context: int = 3) -> tuple[str, ...]:
        """Return the change as the lines of a unified diff without its header, without line ends.

        `context` unchanged lines are shown around each difference. Texts are compared line by line,
        other values as indented JSON.
        """
        found = unified_diff(_lines(self.before), _lines(self.after), n=context, lineterm="")
        return tuple(found)[2:]


def difference(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    keys: Mapping[str, Sequence[str]] | None = None,
) -> tuple[ValueChange, ...]:
    """Return the changes from `before` to `after`; empty if they are equal.

    Fields are in the order of their names; elements of an array in the order of `after`, then the
    removed ones. `keys` gives the identifying keys of arrays, by the array's field name, if the
    common keys do not apply. Elements without keys are matched by their whole value. Null counts as
    absent.
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
        """Compare elements with the same identity, or without one.

        Elements present on both sides are left out; the others are paired in order as changed, as
        long as there are some on both sides.
        """
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
    """Group the elements by their identifying values, in order; scalars by themselves."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for element in elements:
        found.setdefault(_identity_of(element, keys), []).append(element)
    return found


def _identity_of(element: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
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
    """Return a serialization that is the same for equal values."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # Nested too deeply, or a number beyond 64 bits.
        return _spelled(value).encode(errors="surrogatepass")


def _spelled(value: Any) -> str:
    """Return a serialization that works at any depth, but is slower."""
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
