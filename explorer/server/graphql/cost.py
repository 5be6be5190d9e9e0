"""What a document asks for, measured before it is executed: how deep it goes, and how many fields
its answer may have, lists counted as long as they are asked for."""

from collections.abc import Mapping, Sequence
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

__all__ = ["Cost", "Measure"]

_LENGTHS = ("count", "limit", "urns")
_PAGE = 10

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
    that is known: fragments within fragments can select any number with a few words."""

    def __init__(self, document: DocumentNode, most: int) -> None:
        self._most = most
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._known: dict[str, Cost] = {}
        self.operations = tuple(
            self._selection(definition.selection_set)
            for definition in document.definitions
            if isinstance(definition, OperationDefinitionNode)
        )

    def _selection(self, selection_set: SelectionSetNode | None) -> Cost:
        found = []
        for selection in selection_set.selections if selection_set else ():
            match selection:
                case FieldNode():
                    found.append(self._field(selection))
                case InlineFragmentNode():
                    found.append(self._selection(selection.selection_set))
                case FragmentSpreadNode():
                    found.append(self._fragment(selection.name.value))
        selected = sum(one.selected for one in found)
        return Cost(
            sum(one.fields for one in found),
            max((one.depth for one in found), default=0),
            tuple(entry for one in found for entry in one.lists) if selected <= self._most else (),
            selected,
        )

    def _field(self, field: FieldNode) -> Cost:
        inner = self._selection(field.selection_set)
        length = _asked_length(field)
        if length is None or not inner.fields + len(inner.lists):
            return Cost(inner.fields + 1, inner.depth + 1, inner.lists, inner.selected + 1)
        return Cost(1, inner.depth + 1, ((length, inner),), inner.selected + 1)

    def _fragment(self, name: str) -> Cost:
        if name not in self._known:
            self._known[name] = self._selection(self._fragments[name].selection_set)
        return self._known[name]


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
    match value:
        case VariableNode():
            return (value.name.value,)
        case IntValueNode():
            return int(value.value)
        case ListValueNode():
            return len(value.values)
    return _PAGE


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
