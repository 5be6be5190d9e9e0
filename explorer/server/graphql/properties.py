"""Mutations and resolvers for structured properties: their definitions, and their values on
entities."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from explorer.errors import InvalidInput
from explorer.metadata.structured_properties import ASSIGNMENTS, DEFINITION
from explorer.metadata.urn import Urn
from explorer.server.failures import RequestRefusal
from explorer.server.graphql.object_types import entity_type_symbol
from explorer.server.graphql.schema import Resolvers
from explorer.server.graphql.session import EditTransaction, Given, Info, Node

_TYPE = "structuredProperty"
_SETTINGS = "structuredPropertySettings"
_SHOWN = (
    "isHidden",
    "showInSearchFilters",
    "showInAssetSummary",
    "showAsAssetBadge",
    "showInColumnsTable",
)
_NAMESPACE = "datahub."
_STANDARD = ("STRING", "NUMBER", "URN", "RICH_TEXT", "DATE")
_Value = dict[str, Any]


def upsert_properties(tx: EditTransaction, given: Given) -> _Value:
    """Set values of structured properties on an entity, replacing those of the same properties.
    Return all assignments of the entity afterwards."""
    urn = tx.stored_entity(given["assetUrn"])
    new: dict[str, _Value] = {}
    for parameter in given["structuredPropertyInputParams"]:
        text = tx.stored_reference(parameter["structuredPropertyUrn"], "structured property", _TYPE)
        values = [_wire(value) for value in parameter["values"] if value is not None]
        new[text] = {"propertyUrn": text, "values": values, "lastModified": tx.stamp}
    assignments: list[_Value] = []
    for assignment in tx.read(urn, ASSIGNMENTS).get("properties") or ():
        changed = new.pop(assignment.get("propertyUrn"), None)
        if changed is None or changed["values"] == assignment.get("values"):
            assignments.append(assignment)
        else:
            assignments.append({**assignment, **changed})
    assignments += [{**assignment, "created": tx.stamp} for assignment in new.values()]
    return _write(tx, urn, assignments)


def remove_properties(tx: EditTransaction, given: Given) -> _Value:
    """Remove structured properties from an entity. Return its remaining assignments."""
    urn = tx.stored_entity(given["assetUrn"])
    property_urns = {str(Urn.parse(text)) for text in given["structuredPropertyUrns"]}
    stored = tx.read(urn, ASSIGNMENTS).get("properties") or ()
    return _write(
        tx,
        urn,
        [assignment for assignment in stored if assignment.get("propertyUrn") not in property_urns],
    )


def create_property(tx: EditTransaction, given: Given) -> str:
    """Create the definition of a structured property and return its URN. Raises `RequestRefusal`
    (409) if it exists."""
    id_, qualified_name = given.get("id"), given.get("qualifiedName")
    if id_ and qualified_name and id_ != qualified_name:
        raise InvalidInput(f"id {id_!r} and qualifiedName {qualified_name!r} must be the same")
    name = id_ or qualified_name or str(uuid4())
    if any(char.isspace() for char in name):
        raise InvalidInput(
            f"the id of a structured property must not contain white space: {name!r}"
        )
    urn = Urn.parse(f"urn:li:{_TYPE}:{name}")
    if tx.exists(urn):
        raise RequestRefusal(409, f"{urn} already exists; give another id")
    allowed = (given.get("typeQualifier") or {}).get("allowedTypes")
    definition = {
        "qualifiedName": name,
        "displayName": given.get("displayName"),
        "description": given.get("description"),
        "valueType": _urn(given["valueType"], "dataType"),
        "typeQualifier": {"allowedTypes": _types(allowed)} if allowed else None,
        "allowedValues": [
            _parse_allowance(allowance) for allowance in given.get("allowedValues") or ()
        ]
        or None,
        "cardinality": given.get("cardinality") or "SINGLE",
        "entityTypes": _types(given["entityTypes"]),
        "immutable": given.get("immutable") is True,
    }
    tx.write(urn, DEFINITION, definition)
    _set(tx, urn, given)
    return str(urn)


def update_property(tx: EditTransaction, given: Given) -> str:
    """Update the parts of a definition that the input has, and return its URN."""
    text = tx.stored_reference(given["urn"], "structured property", _TYPE)
    urn = Urn.parse(text)
    stored = tx.read(urn, DEFINITION)
    if not stored:
        raise InvalidInput(f"{urn} has no definition; define it with createStructuredProperty")
    changed: _Value = {
        key: given[key] for key in ("displayName", "description", "immutable") if key in given
    }
    if given.get("setCardinalityAsMultiple"):
        changed["cardinality"] = "MULTIPLE"
    if given.get("newEntityTypes"):
        changed["entityTypes"] = _add_types(
            stored.get("entityTypes"), _types(given["newEntityTypes"])
        )
    if given.get("newAllowedValues"):
        changed["allowedValues"] = _extend_allowance(stored, given["newAllowedValues"])
    types = (given.get("typeQualifier") or {}).get("newAllowedTypes")
    if types:
        qualifier = stored.get("typeQualifier") or {}
        added = _add_types(qualifier.get("allowedTypes"), _types(types))
        changed["typeQualifier"] = {**qualifier, "allowedTypes": added}
    if changed:
        tx.write(urn, DEFINITION, changed)
    _set(tx, urn, given)
    return text


async def delete_property(_root: Any, info: Info, **given: Any) -> bool:
    """Delete a structured property, then its values on entities."""
    urn = Urn.parse(given["input"]["urn"])
    if urn.entity_type != _TYPE:
        raise InvalidInput(f"{urn} is not a structured property")
    session = info.context
    await session.catalog.delete(urn, None, (None, None), session.actor)
    session.forget()
    return True


def _write(tx: EditTransaction, urn: Urn, properties: list[_Value]) -> _Value:
    tx.write(urn, ASSIGNMENTS, {"properties": properties})
    return {"properties": [{**assignment, "associatedUrn": str(urn)} for assignment in properties]}


def _set(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Write the display settings in an input to a property."""
    fields = {
        key: value
        for key, value in (given.get("settings") or {}).items()
        if key in _SHOWN and value is not None
    }
    if given.get("filterStatus"):
        fields.setdefault("showInSearchFilters", given["filterStatus"] == "ENABLED")
    if fields:
        tx.write(urn, _SETTINGS, fields)


def _wire(value: Given) -> _Value:
    """Return a value of an input in the form in which it is stored."""
    text, number = value.get("stringValue"), value.get("numberValue")
    if (text is None) == (number is None):
        raise InvalidInput("a value must have either a stringValue or a numberValue")
    return {"string": text} if number is None else {"double": number}


def _parse_allowance(given: Given) -> _Value:
    description = {"description": given["description"]} if given.get("description") else {}
    return {"value": _wire(given), **description}


def _extend_allowance(stored: Mapping[str, Any], given: Iterable[Given]) -> list[_Value]:
    """Return the allowed values with new ones added. A new one replaces a stored one that has the
    same value, and thereby its description."""
    new = [_parse_allowance(allowance) for allowance in given]
    values = [allowance["value"] for allowance in new]
    return [
        *(
            allowance
            for allowance in stored.get("allowedValues") or ()
            if allowance.get("value") not in values
        ),
        *new,
    ]


def _add_types(stored: Iterable[str] | None, new: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*(stored or ()), *new)))


def _types(urns: Iterable[str] | None) -> list[str]:
    return [_urn(text, "entityType") for text in urns or ()]


def _urn(text: str, entity_type: str) -> str:
    urn = Urn.parse(text)
    if urn.entity_type != entity_type:
        raise InvalidInput(f"expected urn:li:{entity_type}:{_NAMESPACE}<name>, found {text!r:.80}")
    return str(urn)


def _settings(node: Node, _info: Info) -> _Value | None:
    aspect = node.aspect(_SETTINGS)
    return aspect and {key: aspect.get(key) is True for key in _SHOWN}


async def _assignments(assignments: Mapping[str, Any], info: Info) -> list[_Value]:
    """Return the assignments of an entity, without those of soft-deleted properties.

    DataHub leaves these out too (its `StructuredPropertiesSoftDelete`). They stay stored, and are
    shown again when the property is restored.
    """
    properties = assignments.get("properties") or ()
    urns = Urn.parse_all(assignment.get("propertyUrn") for assignment in properties)
    removed = {
        str(node.urn)
        for node in await info.context.read(dict.fromkeys(map(str, urns)))
        if node.is_removed
    }
    return [assignment for assignment in properties if assignment.get("propertyUrn") not in removed]


def _filter_status(definition: Mapping[str, Any], _info: Info) -> str:
    return "ENABLED" if definition.get("isFacet") else "DISABLED"


def _data_type(node: Node, _info: Info) -> _Value:
    kind = node.urn.name.removeprefix(_NAMESPACE).upper()
    info_fields = {"qualifiedName": node.urn.name, **(node.aspect("dataTypeInfo") or {})}
    return {**info_fields, "type": kind if kind in _STANDARD else "OTHER"}


def _entity_type(node: Node, info: Info) -> _Value:
    name = node.urn.name.removeprefix(_NAMESPACE)
    entity_types = {entity.casefold(): entity for entity in info.context.catalog.registry.entities}
    entity_type = entity_types.get(name.casefold())
    info_fields = {"qualifiedName": node.urn.name, **(node.aspect("entityTypeInfo") or {})}
    return {**info_fields, "type": entity_type_symbol(entity_type) if entity_type else None}


RESOLVERS: Resolvers = {
    "StructuredProperties": {"properties": _assignments},
    "StructuredPropertyEntity": {"settings": _settings},
    "StructuredPropertyDefinition": {"filterStatus": _filter_status},
    "DataTypeEntity": {"info": _data_type},
    "EntityTypeEntity": {"info": _entity_type},
}
