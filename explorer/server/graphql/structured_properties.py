"""Values of structured properties on entities."""

from collections.abc import Sequence
from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen

__all__ = ["remove_properties", "set_properties"]

_PLACE = ("structuredProperties", "properties")
_Properties = Sequence[dict[str, Any]]


def set_properties(pen: Pen, urn: Urn, given: Given) -> None:
    """Give an entity values of structured properties, in place of those it has of the same ones.

    Raises `NotFound` for a property that is not defined, `InvalidInput` for a value that is
    neither a text nor a number, and as `Intake.check` for one that the property does not take.
    """
    values = {
        _property(pen, one["structuredPropertyUrn"]): [_value(value) for value in one["values"]]
        for one in given["structuredPropertyInputParams"]
    }

    def change(stored: _Properties) -> list[dict[str, Any]]:
        kept = [_with(pen, one, values.get(one.get("propertyUrn", ""))) for one in stored]
        present = {one.get("propertyUrn") for one in stored}
        stamp = {"created": pen.stamp, "lastModified": pen.stamp}
        added = [
            {"propertyUrn": name, "values": value, **stamp}
            for name, value in values.items()
            if name not in present
        ]
        return [*kept, *added]

    pen.change_list(urn, _PLACE, change)


def remove_properties(pen: Pen, urn: Urn, given: Given) -> None:
    """Take structured properties away from an entity; those it has not do no harm."""
    gone = {str(Urn.parse(text)) for text in given["structuredPropertyUrns"]}

    def change(stored: _Properties) -> list[dict[str, Any]]:
        return [one for one in stored if one.get("propertyUrn") not in gone]

    pen.change_list(urn, _PLACE, change)


def _property(pen: Pen, text: str) -> str:
    return pen.stored_reference(text, "structured property", "structuredProperty")


def _with(pen: Pen, stored: dict[str, Any], values: list[Any] | None) -> dict[str, Any]:
    if values is None or values == stored.get("values"):
        return stored
    return {**stored, "values": values, "lastModified": pen.stamp}


def _value(given: Given) -> dict[str, Any]:
    """A value as the aspect keeps it, named by its type."""
    text, number = given.get("stringValue"), given.get("numberValue")
    if (text is None) == (number is None):
        raise InvalidInput("a value has a stringValue or a numberValue, and not both")
    return {"string": text} if number is None else {"double": number}
