"""Who owns an entity, and in which way."""

from collections.abc import Sequence
from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.graphql.names import BUILT_IN_OWNERSHIP, ownership_type
from explorer.server.graphql.pen import Given, Pen

__all__ = ["add_owners", "remove_owners", "replace_owners"]

_PLACE = ("ownership", "owners")
_OWNERS = {"CORP_USER": "corpuser", "CORP_GROUP": "corpGroup"}
_Owners = Sequence[dict[str, Any]]


def add_owners(pen: Pen, given: Given) -> None:
    """Add owners to what the input names; one who owns it in the same way already stays."""
    common = given.get("ownershipTypeUrn") if "owners" in given else None
    owners = [_owner(pen, one, common) for one in given.get("owners", (given,))]

    def change(stored: _Owners) -> list[dict[str, Any]]:
        present = [_way(one) for one in stored]
        return [*stored, *(one for one in owners if _way(one) not in present)]

    for urn in _resources(pen, given):
        pen.change_list(urn, _PLACE, change)


def remove_owners(pen: Pen, given: Given) -> None:
    """Take owners away, in one kind of ownership or in all; who owns nothing here does no harm."""
    named = given["ownerUrns"] if "ownerUrns" in given else [given["ownerUrn"]]
    gone = {str(Urn.parse(urn)) for urn in named}
    kind = given.get("ownershipTypeUrn")

    def change(stored: _Owners) -> list[dict[str, Any]]:
        return [
            one
            for one in stored
            if one.get("owner") not in gone or (kind is not None and ownership_type(one) != kind)
        ]

    for urn in _resources(pen, given):
        pen.change_list(urn, _PLACE, change)


def replace_owners(pen: Pen, urn: Urn, given: Given) -> None:
    """Have these owners and no others."""
    owners = [_owner(pen, {**one, "ownerUrn": one["owner"]}, None) for one in given["owners"]]

    def change(stored: _Owners) -> list[dict[str, Any]]:
        known = {_way(one): one for one in stored}
        return [known.get(_way(one), one) for one in owners]

    pen.change_list(urn, _PLACE, change)


def _owner(pen: Pen, given: Given, common: str | None) -> dict[str, Any]:
    owner = pen.stored_reference(given["ownerUrn"], "owner", *_OWNERS.values())
    said = given.get("ownerEntityType")
    if said is not None and Urn.parse(owner).entity_type != _OWNERS[said]:
        raise InvalidInput(f"{owner} is no {said}")
    kind, named = given.get("type"), given.get("ownershipTypeUrn") or common
    if named is None:
        kind = kind or "NONE"
        named = f"{BUILT_IN_OWNERSHIP}{kind.lower()}"
    elif named.startswith(BUILT_IN_OWNERSHIP):
        kind = kind or named.removeprefix(BUILT_IN_OWNERSHIP).upper()
    else:
        named, kind = pen.stored_reference(named, "ownership type", "ownershipType"), "CUSTOM"
    return {"owner": owner, "type": kind, "typeUrn": named, "source": {"type": "MANUAL"}}


def _way(owner: Given) -> tuple[str, str]:
    return owner.get("owner", ""), ownership_type(owner)


def _resources(pen: Pen, given: Given) -> list[Urn]:
    resources = given.get("resources", (given,))
    return [pen.stored_entity(one["resourceUrn"]) for one in resources]
