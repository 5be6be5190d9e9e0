"""Making the entities that people make by hand."""

from uuid import uuid4

from explorer.metadata.urn import Urn
from explorer.server.failures import Refusal
from explorer.server.graphql.pen import Given, Pen

__all__ = ["create_domain", "create_group", "create_node", "create_tag", "create_term"]


def create_tag(pen: Pen, given: Given) -> str:
    """Make a tag; gives its URN."""
    urn = _new(pen, "tag", given.get("id") or given["name"])
    said = {"name": given["name"], "description": given.get("description")}
    pen.write(urn, "tagProperties", said)
    return str(urn)


def create_domain(pen: Pen, given: Given) -> str:
    """Make a domain, within another if one is named; gives its URN."""
    parent = given.get("parentDomain")
    above = pen.stored_reference(parent, "domain", "domain") if parent else None
    urn = _new(pen, "domain", given.get("id") or str(uuid4()))
    said = {
        "name": given["name"],
        "description": given.get("description"),
        "parentDomain": above,
        "created": pen.stamp,
    }
    pen.write(urn, "domainProperties", said)
    return str(urn)


def create_term(pen: Pen, given: Given) -> str:
    """Make a glossary term, in a group if one is named; gives its URN."""
    urn = _new(pen, "glossaryTerm", given.get("id") or str(uuid4()))
    pen.write(urn, "glossaryTermInfo", {**_glossary(pen, given), "termSource": "INTERNAL"})
    return str(urn)


def create_node(pen: Pen, given: Given) -> str:
    """Make a glossary group, in another if one is named; gives its URN."""
    urn = _new(pen, "glossaryNode", given.get("id") or str(uuid4()))
    pen.write(urn, "glossaryNodeInfo", _glossary(pen, given))
    return str(urn)


def create_group(pen: Pen, given: Given) -> str:
    """Make a group of users, with nobody in it; gives its URN."""
    urn = _new(pen, "corpGroup", given.get("id") or str(uuid4()))
    said = {
        "displayName": given["name"],
        "description": given.get("description"),
        "admins": [],
        "members": [],
        "groups": [],
        "created": pen.stamp,
    }
    pen.write(urn, "corpGroupInfo", said)
    return str(urn)


def _glossary(pen: Pen, given: Given) -> Given:
    parent = given.get("parentNode")
    return {
        "name": given["name"],
        "definition": given.get("description") or "",
        "parentNode": pen.stored_reference(parent, "glossary group", "glossaryNode")
        if parent
        else None,
    }


def _new(pen: Pen, entity_type: str, key: str) -> Urn:
    urn = Urn.parse(f"urn:li:{entity_type}:{key}")
    if pen.exists(urn):
        raise Refusal(409, f"{urn} already exists; give another id")
    return urn
