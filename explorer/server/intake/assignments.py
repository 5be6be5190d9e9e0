"""Whether a change of a structured property's definition, or of the values that an entity has of
it, is allowed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from explorer.errors import InvalidAspect, InvalidUrn
from explorer.metadata.structured_properties import (
    ASSIGNMENTS,
    DEFINITION,
    Definition,
    check_assignment,
    plain_value,
    read_definition,
)
from explorer.metadata.urn import Urn
from explorer.server.store import Transaction

__all__ = ["check_assignments", "check_definition"]

_PROPERTY = "structuredProperty"
_Value = Mapping[str, Any]
# A moment of UTC as digits, such as 20261231235959.
_VERSION = re.compile(r"\d{14}", re.ASCII)


def check_definition(value: _Value, stored: _Value | None) -> None:
    """Raise `InvalidAspect` where a definition has no valid `version`, or forbids what the stored
    one allowed and has no later one.

    The rules are those of DataHub's `PropertyDefinitionValidator`: the qualified name stays; the
    value type stays, MULTIPLE does not become SINGLE, and what was an allowed value stays one,
    unless the version is raised.
    """
    version = value.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        raise InvalidAspect(
            DEFINITION, "version", f"expected 14 digits, such as 20261231235959, found {version!r}"
        )
    if stored is None:
        return
    if value.get("qualifiedName") != stored.get("qualifiedName"):
        raise InvalidAspect(
            DEFINITION,
            "qualifiedName",
            f"the qualified name {stored.get('qualifiedName')!r} cannot be changed; define another "
            "property",
        )
    before = stored.get("version")
    if version is not None and (before is None or version > before):
        return
    for field, problem in _narrowed(value, stored):
        raise InvalidAspect(
            DEFINITION,
            field,
            f"{problem}, for values that were allowed before may no longer be; give a "
            f"version later than {before or 'none'} to change it all the same",
        )


def _narrowed(value: _Value, stored: _Value) -> Iterator[tuple[str, str]]:
    """The fields in which a definition allows less than the stored one, each with what is wrong."""
    if value.get("valueType") != stored.get("valueType"):
        yield "valueType", f"the value type cannot be changed from {stored.get('valueType')}"
    if stored.get("cardinality") == "MULTIPLE" and value.get("cardinality") != "MULTIPLE":
        yield "cardinality", "the cardinality cannot be changed from MULTIPLE to SINGLE"
    if value.get("allowedValues") is None:
        return
    now = [plain_value(one.get("value")) for one in value["allowedValues"]]
    if stored.get("allowedValues") is None:
        yield "allowedValues", "a property that allows all values cannot be restricted to some"
    for one in stored.get("allowedValues") or ():
        known = plain_value(one.get("value"))
        if known not in now:
            yield "allowedValues", f"the allowed value {known!r} cannot be taken away"


def check_assignments(
    transaction: Transaction, entity: Urn, value: _Value, stored: _Value | None
) -> None:
    """Raise `InvalidAspect` unless an entity may carry these structured properties.

    What is `stored` already and stays as it is passes: a definition that changed or went since
    keeps nobody from writing the others. A value of an immutable property stays.
    """
    before = dict(_assigned(stored)) if stored else {}
    seen: set[str] = set()
    for at, (text, values) in enumerate(_assigned(value)):
        path = f"properties[{at}]"
        if text in seen:
            raise InvalidAspect(
                ASSIGNMENTS, path, f"{text} stands there twice; send all its values in one entry"
            )
        seen.add(text)
        if before.get(text) == values:
            continue
        definition = _required(transaction, text, path)
        if text in before and definition.is_immutable:
            raise _unchangeable(definition, path)
        check_assignment(definition, entity, _platform(transaction, entity), values, path)
    for text in before.keys() - seen:
        for urn in Urn.parse_all((text,)):
            gone = _defined(transaction, urn)
            if gone is not None and gone.is_immutable:
                raise _unchangeable(gone, "properties")


def _assigned(value: _Value) -> Iterator[tuple[str, list[Any]]]:
    """Every property with its values as they stand, bare or not."""
    for one in value.get("properties") or ():
        values = [plain_value(given) for given in one.get("values") or ()]
        yield str(one.get("propertyUrn")), values


def _required(transaction: Transaction, text: str, path: str) -> Definition:
    place = f"{path}.propertyUrn"
    try:
        urn = Urn.parse(text)
    except InvalidUrn as error:
        raise InvalidAspect(ASSIGNMENTS, place, f"expected a URN; {error}") from None
    if urn.entity_type != _PROPERTY:
        raise InvalidAspect(
            ASSIGNMENTS, place, f"expected urn:li:{_PROPERTY}:<id>, found {text!r:.80}"
        )
    definition = _defined(transaction, urn)
    if definition is not None:
        return definition
    status = transaction.latest(text, "status")
    if status is not None and orjson.loads(status.value).get("removed") is True:
        problem = "was removed; restore it (status removed=false) or leave it out"
    else:
        problem = "has no definition; write its propertyDefinition first or leave it out"
    raise InvalidAspect(ASSIGNMENTS, place, f"the structured property {urn.name} {problem}")


def _defined(transaction: Transaction, urn: Urn) -> Definition | None:
    aspects = transaction.aspects(str(urn))
    return read_definition(urn, {one.name: orjson.loads(one.value) for one in aspects})


def _platform(transaction: Transaction, entity: Urn) -> str | None:
    """The platform of an entity: that of its URN, else that of its instance."""
    if entity.platform:
        return entity.platform
    stored = transaction.latest(str(entity), "dataPlatformInstance")
    said = orjson.loads(stored.value).get("platform") if stored else None
    return Urn.label(said) if isinstance(said, str) else None


def _unchangeable(definition: Definition, path: str) -> InvalidAspect:
    return InvalidAspect(
        ASSIGNMENTS,
        path,
        f"the structured property {definition.urn.name} is immutable: a value of it stays; send "
        "the one that is stored",
    )
