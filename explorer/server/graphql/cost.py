"""What a document asks for, measured before it is executed: how deep it goes, and how many fields
its answer may have, lists counted as long as they are asked for.

Most pages are shorter than they may be, so that the fields of an answer are far fewer: what this
says decides where a document is executed, and bounds edits and descriptions of the schema.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)
from msgspec import Struct

__all__ = ["Cost", "Measure", "literal_length"]

_LENGTHS = ("count", "limit", "urns")
_PAGE = 10
# How long the lists of the schema's description are, about; they say nothing of it themselves.
_OF_THE_SCHEMA = {
    "types": 300,
    "fields": 6,
    "inputFields": 2,
    "enumValues": 2,
    "directives": 6,
}
_DESCRIBING = ("__schema", "__type")
# The deepest that repeated fields are looked for; a document that goes deeper is refused.
_DEEPEST = 20
# Python reads no number of thousands of digits; any of more than these is larger than any limit.
_DIGITS = 18

# A list's length: known, or found in the variables by this path.
_Length: TypeAlias = int | tuple[str, ...]


class Cost(Struct, frozen=True):
    """Fields selected outside lists, lists with what each element costs, levels, and how many
    fields are selected altogether."""

    fields: int = 0
    depth: int = 0
    lists: tuple[tuple[_Length, "Cost"], ...] = ()
    selected: int = 0

    def total(self, variables: Mapping[str, Any]) -> int:
        """How many fields an answer may have with these variables."""
        return self.fields + sum(
            _length(length, variables) * inner.total(variables) for length, inner in self.lists
        )


class Measure:
    """The costs of a document's operations. Of one that selects more than `most` fields only
    that is known: fragments within fragments can select any number with a few words.

    The document need not be valid: a fragment that is missing, or within itself, counts nothing.
    """

    def __init__(self, document: DocumentNode, most: int) -> None:
        self._most = most
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._known: dict[str, Cost] = {}
        self._left = 2 * most
        self._sets = [
            definition.selection_set
            for definition in document.definitions
            if isinstance(definition, OperationDefinitionNode)
        ]
        self.operations = tuple(self._selection(one, describing=False) for one in self._sets)

    def root_fields(self) -> int:
        """Return how many fields of the root the largest operation selects."""
        return max((sum(1 for _ in self._flat([one], set())) for one in self._sets), default=0)

    def repeats(self) -> int:
        """Return how many pairs of fields the validator compares because they have the same name
        in one answer. Meant for a document that selects no more than `most` fields."""
        self._left = 2 * self._most
        return sum(self._repeats([one], 0) for one in self._sets)

    def _repeats(self, sets: Iterable[SelectionSetNode], depth: int) -> int:
        times: dict[str, int] = {}
        inner: dict[str, list[SelectionSetNode]] = {}
        for field in self._flat(sets, set()):
            name = (field.alias or field.name).value
            times[name] = times.get(name, 0) + 1
            if field.selection_set:
                inner.setdefault(name, []).append(field.selection_set)
        found = sum(count * (count - 1) // 2 for count in times.values())
        if depth < _DEEPEST and self._left > 0:
            found += sum(self._repeats(one, depth + 1) for one in inner.values())
        return found

    def _flat(self, sets: Iterable[SelectionSetNode], seen: set[str]) -> Iterable[FieldNode]:
        """The fields of selections, those of fragments among them."""
        for selection in (one for selection_set in sets for one in selection_set.selections):
            self._left -= 1
            match selection:
                case FieldNode():
                    yield selection
                case InlineFragmentNode():
                    yield from self._flat([selection.selection_set], seen)
                case FragmentSpreadNode():
                    name = selection.name.value
                    fragment = self._fragments.get(name)
                    if fragment is not None and name not in seen:
                        seen.add(name)
                        yield from self._flat([fragment.selection_set], seen)

    def _selection(self, selection_set: SelectionSetNode | None, *, describing: bool) -> Cost:
        found = []
        for selection in selection_set.selections if selection_set else ():
            match selection:
                case FieldNode():
                    found.append(self._field(selection, describing=describing))
                case InlineFragmentNode():
                    inner = selection.selection_set
                    found.append(self._selection(inner, describing=describing))
                case FragmentSpreadNode():
                    found.append(self._fragment(selection.name.value))
        selected = sum(one.selected for one in found)
        return Cost(
            sum(one.fields for one in found),
            max((one.depth for one in found), default=0),
            tuple(entry for one in found for entry in one.lists) if selected <= self._most else (),
            selected,
        )

    def _field(self, field: FieldNode, *, describing: bool) -> Cost:
        name = field.name.value
        inner = self._selection(field.selection_set, describing=describing or name in _DESCRIBING)
        length = _OF_THE_SCHEMA.get(name) if describing else _asked_length(field)
        if length is None or not inner.fields + len(inner.lists):
            return Cost(inner.fields + 1, inner.depth + 1, inner.lists, inner.selected + 1)
        return Cost(1, inner.depth + 1, ((length, inner),), inner.selected + 1)

    def _fragment(self, name: str) -> Cost:
        fragment = self._fragments.get(name)
        if name not in self._known and fragment is not None:
            # What it counts for within itself.
            self._known[name] = Cost()
            describing = fragment.type_condition.name.value.startswith("__")
            self._known[name] = self._selection(fragment.selection_set, describing=describing)
        return self._known.get(name, Cost())


def _asked_length(field: FieldNode) -> _Length | None:
    """How many elements the arguments of a field ask for; None where they ask for none."""
    for argument in field.arguments or ():
        name, value = argument.name.value, argument.value
        if name in _LENGTHS:
            return _value_length(value)
        if name == "input":
            if isinstance(value, VariableNode):
                return (value.name.value, "")
            if isinstance(value, ObjectValueNode):
                for entry in value.fields:
                    if entry.name.value in _LENGTHS:
                        return _value_length(entry.value)
                return _PAGE
    return None


def _value_length(value: ValueNode) -> _Length:
    if isinstance(value, VariableNode):
        return (value.name.value,)
    known = literal_length(value)
    return _PAGE if known is None else known


def literal_length(value: ValueNode) -> int | None:
    """How long a list a literal asks for: a number itself, of a list its elements. None for any
    other literal."""
    match value:
        case IntValueNode():
            return int(value.value) if len(value.value) <= _DIGITS else 10**_DIGITS
        case ListValueNode():
            return len(value.values)
    return None


def _length(length: _Length, variables: Mapping[str, Any]) -> int:
    if isinstance(length, int):
        return max(length, 1)
    given = variables.get(length[0])
    if len(length) > 1 and isinstance(given, Mapping):
        given = next((given[name] for name in _LENGTHS if given.get(name) is not None), None)
    match given:
        case bool():
            return _PAGE
        case int():
            return max(given, 1)
        case str():
            return _PAGE
        case Sequence():
            return max(len(given), 1)
    return _PAGE
