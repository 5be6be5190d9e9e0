"""Filters as they arrive: today's OR of ANDs, or the oldest flat list of criteria."""

from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.filters import CONDITIONS, Condition, Criterion, Filter

__all__ = ["read_filter"]

_VALUELESS = ("IS_NULL", "EXISTS")


def read_filter(given: Any) -> Filter:
    """A filter from its wire form; nothing gives the filter that lets all pass.

    A criterion without values is left out, as the real service does. Raises `InvalidInput`; a
    condition that is none is answered with all there are.
    """
    if given is None:
        return Filter()
    match given:
        case {"or": [*groups]}:
            read = tuple(_group(group) for group in groups)
            # A group without criteria asks for nothing, so the whole filter does.
            return Filter(read) if all(read) else Filter()
        case {"criteria": [*criteria]}:
            flat = _criteria(criteria)
            return Filter((flat,)) if flat else Filter()
        case {"or": None} | {"criteria": None}:
            return Filter()
        case {} if not given:
            return Filter()
    raise InvalidInput('a filter is {"or": [{"and": [{"field", "values", "condition"}]}]}')


def _group(group: Any) -> tuple[Criterion, ...]:
    match group:
        case {"and": [*criteria]}:
            return _criteria(criteria)
    raise InvalidInput('each element of a filter\'s "or" is {"and": [criterion, …]}')


def _criteria(given: list[Any]) -> tuple[Criterion, ...]:
    read = (_criterion(one) for one in given)
    return tuple(one for one in read if one.values or one.condition in _VALUELESS)


def _criterion(given: Any) -> Criterion:
    if not isinstance(given, dict):
        raise InvalidInput("a criterion of a filter is an object with field, values, condition")
    field = given.get("field")
    if not isinstance(field, str) or not field:
        raise InvalidInput("a criterion of a filter needs its 'field' as a string")
    return Criterion(
        field.removesuffix(".keyword"),
        _values(given, field),
        _condition(given.get("condition")),
        _negated(given.get("negated"), field),
    )


def _values(given: dict[str, Any], field: str) -> tuple[str, ...]:
    values = given.get("values")
    if not values:
        single = given.get("value")
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


def _condition(given: Any) -> Condition:
    if given is None:
        return "EQUAL"
    for condition in CONDITIONS:
        if given == condition:
            return condition
    # The whole list, however near one of them is: callers learn the vocabulary from it.
    raise InvalidInput(f'"{given}" is not a condition; the conditions are {", ".join(CONDITIONS)}')


def _negated(given: Any, field: str) -> bool:
    if given is None or isinstance(given, bool):
        return bool(given)
    raise InvalidInput(f"'negated' of the criterion on {field!r} is true or false")
