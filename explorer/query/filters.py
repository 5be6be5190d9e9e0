"""Filters of a search: an OR of ANDs of criteria, and their wire forms."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from explorer.errors import InvalidInput

Condition = Literal[
    "CONTAIN",
    "END_WITH",
    "EQUAL",
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL_TO",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO",
    "START_WITH",
    "IN",
    "IS_NULL",
    "EXISTS",
    "IEQUAL",
    "BETWEEN",
    "DESCENDANTS_INCL",
    "ANCESTORS_INCL",
    "RELATED_INCL",
]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

DOCUMENTED = "documented"
"""The field that says whether an entity has a description; only our own server has it."""

_VALUELESS = ("IS_NULL", "EXISTS")
_MOST_WHEN_JOINED = 1_000


@dataclass(frozen=True, slots=True)
class Criterion:
    """One condition on a searchable field. Several `values` are alternatives (BETWEEN takes two).

    `names` are what people typed for URNs among the values: entities with that name but another URN
    match as well. They are ignored when criteria are compared for equality. DESCENDANTS_INCL,
    ANCESTORS_INCL and RELATED_INCL match the values and the entities below them, above them, or
    both, for URNs of domains, containers and glossary groups.
    """

    field: str
    values: tuple[str, ...] = ()
    condition: Condition = "EQUAL"
    negated: bool = False
    names: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def to_wire(self) -> dict[str, Any]:
        """Return the criterion with both the old single `value` and today's `values`."""
        wire: dict[str, Any] = {
            "field": self.field,
            "value": self.values[0] if self.values else "",
            "values": list(self.values),
            "condition": self.condition,
        }
        if self.negated:
            wire["negated"] = True
        return wire

    def to_graphql(self) -> dict[str, Any]:
        """Return the criterion as GraphQL's `FacetFilterInput`."""
        return {
            "field": self.field,
            "values": list(self.values),
            "condition": self.condition,
            "negated": self.negated,
        }

    @classmethod
    def from_wire(cls, wire: Any) -> "Criterion":
        """Parse a criterion in either wire form. Raises `InvalidInput` if it is invalid."""
        if not isinstance(wire, dict):
            raise InvalidInput("a criterion of a filter is an object with field, values, condition")
        field = wire.get("field")
        if not isinstance(field, str) or not field:
            raise InvalidInput("a criterion of a filter needs its 'field' as a string")
        condition = _condition(wire.get("condition"))
        values = () if condition in _VALUELESS else _values(wire, field)
        negated = wire.get("negated")
        if not isinstance(negated, bool | None):
            raise InvalidInput(f"'negated' of the criterion on {field!r} is true or false")
        return cls(field, values, condition, bool(negated))


@dataclass(frozen=True, slots=True)
class Filter:
    """Alternatives (`any_of`) of conjunctions; an entity matches if it meets all criteria of one of
    them."""

    any_of: tuple[tuple[Criterion, ...], ...] = ()

    def __bool__(self) -> bool:
        return any(self.any_of)

    def to_wire(self) -> dict[str, Any]:
        """Return the filter in wire form: `{"or": [{"and": [criterion, …]}, …]}`."""
        return {"or": [{"and": [c.to_wire() for c in group]} for group in self.any_of]}

    @classmethod
    def from_wire(cls, wire: Any) -> "Filter":
        """Parse a filter: an OR of ANDs, or the legacy flat list, `{"criteria": [criterion, …]}`.

        As on a server, a criterion without values is dropped if its condition needs some, and an
        empty conjunction matches everything. Field names are kept unchanged, including a `.keyword`
        suffix. Raises `InvalidInput` for any other form.
        """
        match wire:
            case {"or": [*groups]}:
                return _from_groups([_group(group) for group in groups])
            case {"criteria": [*criteria]}:
                return _from_groups([criteria])
            case None | {"or": None} | {"criteria": None}:
                return cls()
            case dict() if not wire:
                return cls()
        raise InvalidInput('a filter is {"or": [{"and": [{"field", "values", "condition"}]}]}')

    def to_graphql(self) -> list[dict[str, Any]]:
        """Return the filter as GraphQL's `orFilters`: `[{"and": [criterion, …]}, …]`."""
        return [{"and": [c.to_graphql() for c in group]} for group in self.any_of]

    @classmethod
    def from_graphql(cls, or_filters: Any) -> "Filter":
        """Parse GraphQL's `orFilters`, by the rules of `from_wire`. Raises `InvalidInput`."""
        match or_filters:
            case None:
                return cls()
            case [*groups]:
                return _from_groups([_group(group) for group in groups])
        raise InvalidInput('orFilters are [{"and": [{"field", "values", "condition"}]}]')

    def and_(self, other: "Filter") -> "Filter":
        """Return the conjunction of the two filters.

        Raises `InvalidInput` if it has more than 1,000 criteria and more than the two filters
        together.
        """
        if not (self and all(self.any_of)):
            return other
        if not (other and all(other.any_of)):
            return self
        ours, theirs = (sum(map(len, filter_.any_of)) for filter_ in (self, other))
        size = ours * len(other.any_of) + theirs * len(self.any_of)
        if size > max(_MOST_WHEN_JOINED, ours + theirs):
            raise InvalidInput(
                f"the two filters make {size:,} criteria together, more than "
                f"{_MOST_WHEN_JOINED:,}; ask for fewer alternatives"
            )
        return Filter(tuple((*criteria, *two) for criteria in self.any_of for two in other.any_of))


def all_of(*criteria: Criterion) -> Filter:
    """Return the filter that requires every criterion."""
    return Filter((criteria,)) if criteria else Filter()


def _group(group: Any) -> list[Any]:
    match group:
        case {"and": list(criteria)}:
            return criteria
        case {"and": None}:
            return []
    raise InvalidInput('each alternative of a filter is {"and": [criterion, …]}')


def _from_groups(groups: list[list[Any]]) -> Filter:
    criteria_groups = tuple(
        tuple(
            criterion
            for criterion in map(Criterion.from_wire, group)
            if criterion.values or criterion.condition in _VALUELESS
        )
        for group in groups
    )
    return Filter(criteria_groups) if all(criteria_groups) else Filter()


def _condition(condition_name: Any) -> Condition:
    if condition_name is None:
        return "EQUAL"
    for condition in CONDITIONS:
        if condition_name == condition:
            return condition
    raise InvalidInput(
        f'"{condition_name}" is not a condition; the conditions are {", ".join(CONDITIONS)}'
    )


def _values(wire: dict[str, Any], field: str) -> tuple[str, ...]:
    values = wire.get("values")
    if not values:
        single = wire.get("value")
        values = [] if single is None or single == "" else [single]
    if not isinstance(values, list):
        raise InvalidInput(f"the 'values' of the criterion on {field!r} are a list of strings")
    return tuple(_value(value, field) for value in values)


def _value(value: Any, field: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
    raise InvalidInput(f"the 'values' of the criterion on {field!r} are a list of strings")
