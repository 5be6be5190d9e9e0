"""Structured properties: their definitions, the check of assigned values, and their search fields.

A property is an entity (`urn:li:structuredProperty:io.acme.retention`) whose `propertyDefinition`
constrains the values that other entities carry in their `structuredProperties`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from explorer.errors import InvalidAspect, InvalidUrn
from explorer.metadata.urn import Urn

ASSIGNMENTS = "structuredProperties"
"""The aspect with the property values of an entity."""
DEFINITION = "propertyDefinition"
"""The aspect with the definition of a property."""
PREFIX = "structuredProperties."
"""The prefix of the name of a property's search field, before the id of the property."""

_SETTINGS = "structuredPropertySettings"
_DATA_TYPE = "urn:li:dataType:"
_ENTITY_TYPE = "urn:li:entityType:"
_NAMESPACE = "datahub."
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SPACE = re.compile(r"\s+")
# The number of allowed values that an error lists.
_NAMED = 20

Plain = str | float
_Fail = Callable[[str, str], InvalidAspect]


class Definition(Struct, frozen=True):
    """The definition of a property. `kind` is `string`, `rich_text`, `number`, `date` or `urn`; any
    other is a deployment's own type, whose values are not checked. Empty collections allow
    everything."""

    urn: Urn
    label: str
    kind: str
    is_multiple: bool = False
    is_immutable: bool = False
    is_facet: bool = False
    allowed: tuple[Plain, ...] = ()
    entity_types: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    value_types: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The search field of the property."""
        return field_name(self.urn.name)


def field_name(property_id: str) -> str:
    """Return the search field of a property, given its id; white space in the id becomes `_`."""
    return PREFIX + _SPACE.sub("_", property_id)


def read_definition(urn: Urn, aspects: Mapping[str, Any]) -> Definition | None:
    """Return the definition in a property's aspects, or `None` if there is none or the property is
    soft-deleted."""
    definition = aspects.get(DEFINITION)
    if not isinstance(definition, Mapping) or (aspects.get("status") or {}).get("removed") is True:
        return None
    allowed = definition.get("allowedValues")
    return Definition(
        urn,
        str(definition.get("displayName") or definition.get("qualifiedName") or urn.name),
        _type_name(definition.get("valueType"), _DATA_TYPE),
        definition.get("cardinality") == "MULTIPLE",
        definition.get("immutable") is True,
        (aspects.get(_SETTINGS) or {}).get("showInSearchFilters") is True,
        tuple(_plain_values(entry.get("value") for entry in allowed or ())),
        _type_names(definition.get("entityTypes")),
        tuple(Urn.label(platform) for platform in definition.get("allowedPlatforms") or ()),
        _type_names((definition.get("typeQualifier") or {}).get("allowedTypes")),
    )


def plain_value(value: Any) -> Plain | None:
    """Return a property's value, given bare or wrapped in an object with its type as on the wire;
    `None` if it is neither a string nor a number."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), None)
    match value:
        case bool() | None:
            return None
        case int() | float():
            return float(value)
        case str():
            return value
    return None


def assigned_fields(value: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Plain, ...]]]:
    """Yield the search field of each property assigned to an entity, with its values."""
    for assignment in value.get("properties") or ():
        for urn in Urn.parse_all((assignment.get("propertyUrn"),)):
            yield field_name(urn.name), tuple(_plain_values(assignment.get("values") or ()))


def check_assignment(
    definition: Definition, entity: Urn, platform: str | None, values: Sequence[Any], path: str
) -> None:
    """Raise `InvalidAspect` if a property does not allow an entity to have these values; `path` is
    the place of the assignment in the aspect. The error names the property, the rule, and what to
    do."""
    name = f"the structured property {definition.urn.name}"

    def fail(place: str, problem: str) -> InvalidAspect:
        return InvalidAspect(ASSIGNMENTS, f"{path}{place}", problem)

    types = definition.entity_types
    if types and entity.entity_type.casefold() not in map(str.casefold, types):
        raise fail(
            "",
            f"{name} is for {_join_values(types)}, not for a {entity.entity_type}; leave it out, "
            "or add the type to its entityTypes",
        )
    if definition.platforms and platform not in definition.platforms:
        raise fail(
            "",
            f"{name} is for entities on {_join_values(definition.platforms)}, not on "
            f"{platform or 'no platform'}; leave it out, or add the platform to its "
            "allowedPlatforms",
        )
    if len(values) > 1 and not definition.is_multiple:
        raise fail(
            ".values",
            f"{name} has only one value (cardinality SINGLE), and {len(values)} were given; send "
            "one, or define it with cardinality MULTIPLE",
        )
    for at, value in enumerate(values):
        _check_value(definition, plain_value(value), fail, f".values[{at}]", name)


def _check_value(
    definition: Definition, value: Plain | None, fail: _Fail, place: str, name: str
) -> None:
    text = _format(value)
    if value is None:
        raise fail(place, f"a value of {name} must be a string or a double")
    match definition.kind:
        case "number" if _number(value) is None:
            raise fail(place, f"{name} takes numbers (value type number), not {text}")
        case "string" | "rich_text" | "date" | "urn" if not isinstance(value, str):
            raise fail(
                place,
                f"{name} takes texts (value type {definition.kind}), not the number {text}; "
                'send {"string": …}',
            )
        case "date" if not _is_date(str(value)):
            raise fail(place, f"{name} takes dates such as 2026-01-31, not {text}")
        case "urn":
            _check_urn(definition, str(value), fail, place, name)
    if definition.allowed and not any(
        _same(value, allowed_value) for allowed_value in definition.allowed
    ):
        raise fail(
            place,
            f"{name} allows {_join_values(tuple(map(_format, definition.allowed)))}, not {text}; "
            "send one of these, or add it to its allowedValues",
        )


def _check_urn(definition: Definition, text: str, fail: _Fail, place: str, name: str) -> None:
    try:
        entity_type = Urn.parse(text).entity_type
    except InvalidUrn as error:
        raise fail(place, f"{name} takes URNs (value type urn); {error}") from None
    types = definition.value_types
    if types and entity_type.casefold() not in map(str.casefold, types):
        raise fail(
            place,
            f"{name} takes the URN of a {_join_values(types)}, not {_format(text)}; send one of "
            "these, or add the type to the allowedTypes of its typeQualifier",
        )


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text)) and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _plain_values(values: Any) -> Iterator[Plain]:
    for value in values:
        plain = plain_value(value)
        if plain is not None and plain != "":
            yield plain


def _type_names(urns: Any) -> tuple[str, ...]:
    return tuple(_type_name(urn, _ENTITY_TYPE) for urn in urns or () if isinstance(urn, str))


def _type_name(urn: Any, prefix: str) -> str:
    """Return `dataset` for `urn:li:entityType:datahub.dataset`; the `datahub.` may be missing."""
    return str(urn or "").removeprefix(prefix).removeprefix(_NAMESPACE)


def _number(value: Plain) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _same(value: Plain, allowed: Plain) -> bool:
    if isinstance(value, str) and isinstance(allowed, str):
        return value == allowed
    return _number(value) == _number(allowed) is not None


def _format(value: Plain | None) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return f"{value!r:.80}"


def _join_values(names: Sequence[str]) -> str:
    parts = list(names[:_NAMED])
    if len(names) > _NAMED:
        parts.append(f"{len(names) - _NAMED} more")
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
