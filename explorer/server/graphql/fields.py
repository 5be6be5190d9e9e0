"""Ways to answer a field that many fields share. A resolver is given what its parent's resolver
gave: a `Node` for an entity, a mapping for anything else."""

from collections.abc import Callable, Mapping
from typing import Any

from explorer.metadata.names import display_name
from explorer.metadata.urn import Urn
from explorer.server.graphql.names import entity_type_symbol
from explorer.server.graphql.nodes import Info, Node

__all__ = [
    "Resolver",
    "Value",
    "custom_properties",
    "entities",
    "entity",
    "entity_or_null",
    "flat",
    "key",
    "named",
    "or_else",
    "properties",
    "renamed",
    "shown_text",
    "stored",
    "symbol",
]

Value = Mapping[str, Any]
Resolver = Callable[..., Any]


def stored(aspect: str) -> Resolver:
    """An aspect of an entity, as it is."""
    return lambda node, _info: node.aspect(aspect)


def flat(aspect: str, field: str) -> Resolver:
    """One field of an aspect."""
    return lambda node, _info: (node.aspect(aspect) or {}).get(field)


def key(at: int) -> Resolver:
    """One part of an entity's key."""
    return lambda node, _info: node.part(at)


def named(node: Node, _info: Info) -> str:
    """The name to show an entity by."""
    return display_name(node.urn, node.values())


def symbol(node: Node, _info: Info) -> str:
    """The kind of an entity."""
    return entity_type_symbol(node.urn.entity_type)


def renamed(field: str) -> Resolver:
    """A field that the aspect has under another name."""
    return lambda value, _info: value.get(field)


def or_else(field: str, default: Any) -> Resolver:
    """A field that the schema promises, though an aspect may lack it."""

    def resolve(value: Value, _info: Info) -> Any:
        found = value.get(field)
        return default if found is None else found

    return resolve


def entity(field: str) -> Resolver:
    """The entity that a field names; it need not be stored. None where the field is missing."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        return info.context.refer(text, info) if text else None

    return resolve


def entity_or_null(field: str) -> Resolver:
    """The entity that a field names, where it names one of a kind that there is."""

    def resolve(value: Value, info: Info) -> Any:
        text = value.get(field)
        for urn in Urn.parse_all((text,)):
            if urn.entity_type in info.context.catalog.registry.entities:
                return info.context.refer(str(urn), info)
        return None

    return resolve


def entities(field: str, entity_type: str | None = None) -> Resolver:
    """The entities that a list names, of one type or of any that there is."""

    def resolve(value: Value, info: Info) -> list[Any]:
        known = info.context.catalog.registry.entities
        urns = [
            str(urn)
            for urn in Urn.parse_all(value.get(field) or ())
            if (urn.entity_type == entity_type if entity_type else urn.entity_type in known)
        ]
        return info.context.refer_all(urns, info)

    return resolve


def properties(aspect: str, edited: str | None = None, name: str = "name") -> Resolver:
    """Properties as ingested. The description is what people wrote, where they wrote one, for
    plain callers, who have no other field for it; for DataHub's, only where ingestion gave none.

    `name` is what the aspect calls the name; the one in the URN stands in for it.
    """

    def resolve(node: Node, info: Info) -> Value | None:
        found = node.aspect(aspect)
        written = (node.aspect(edited) or {}).get("description") if edited else None
        if found is None:
            if not written:
                return None
            found = {}
        return {
            **found,
            "name": found.get(name) or node.urn.name,
            "description": shown_text(found.get("description"), written, info),
        }

    return resolve


def shown_text(ingested: str | None, written: str | None, info: Info) -> str | None:
    """Return which of two descriptions is shown first in the request's dialect."""
    if info.context.dialect == "plain":
        return written or ingested or written
    return ingested or written or ingested


def custom_properties(value: Value, _info: Info) -> list[dict[str, str]]:
    """A map of custom properties as entries."""
    return [
        {"key": entry, "value": text}
        for entry, text in (value.get("customProperties") or {}).items()
    ]
