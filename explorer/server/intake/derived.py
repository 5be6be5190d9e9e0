"""Parts of an aspect that follow from its other parts, filled in as DataHub fills them in."""

from collections.abc import Callable, Mapping
from typing import Any

from explorer.errors import InvalidAspect

__all__ = ["DERIVED", "fill_derived"]

_OWNERSHIP_TYPE = "urn:li:ownershipType:__system__"
_Value = Mapping[str, Any]


def fill_derived(
    aspect: str, stored: _Value, value: dict[str, Any], *, adds: bool
) -> dict[str, Any]:
    """Return the value of an aspect with the parts that follow from others.

    `ownership` gets `ownerTypes`, the owners by the URN of their ownership type; the two lists of
    `domains` are kept in step. `stored` is the value before, empty where there was none. Unless it
    `adds`, only a part that was left as it was stored is made to follow. Raises `InvalidAspect`
    where what is given contradicts itself.
    """
    if aspect not in _FILLED:
        return value
    part, fill = _FILLED[aspect]
    is_left = value.get(part) is not None and value[part] == stored.get(part)
    return fill(stored, value) if adds or is_left else value


def _owner_types(_stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for owner in value.get("owners") or ():
        named = owner.get("typeUrn") or f"{_OWNERSHIP_TYPE}{owner.get('type', 'NONE').lower()}"
        # DataHub's search takes a dot for a step into a field.
        owners = found.setdefault(named.replace(".", "%2E"), [])
        if owner.get("owner") not in (None, *owners):
            owners.append(owner["owner"])
    return {**value, "ownerTypes": found}


def _domains(stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    """Keep `domains` and `domainAssociations` in step.

    Where both changed, the associations count and must agree with the domains; those that
    propagation made name no domain of the entity itself.
    """
    domains = list(dict.fromkeys(value.get("domains") or ()))
    given, before = value.get("domainAssociations"), stored.get("domainAssociations")
    if given is not None and given != before:
        named = list(dict.fromkeys(one["domain"] for one in given if not _is_propagated(one)))
        if set(named) != set(domains) and value.get("domains") != stored.get("domains"):
            raise InvalidAspect(
                "domains", "domainAssociations", "they name other domains than 'domains' does"
            )
        return {**value, "domains": named}
    # What is stored may be older than the model, and lack what it requires.
    kept = [one for one in before or () if one.get("domain") in domains or _is_propagated(one)]
    present = {one.get("domain") for one in kept if not _is_propagated(one)}
    added = [{"domain": domain} for domain in domains if domain not in present]
    return {**value, "domainAssociations": [*kept, *added]}


def _is_propagated(association: _Value) -> bool:
    detail = (association.get("attribution") or {}).get("sourceDetail") or {}
    return str(detail.get("propagated")).lower() == "true"


# The part that follows, and what fills it in.
_FILLED: Mapping[str, tuple[str, Callable[[_Value, dict[str, Any]], dict[str, Any]]]] = {
    "ownership": ("ownerTypes", _owner_types),
    "domains": ("domainAssociations", _domains),
}
DERIVED = frozenset(_FILLED)
"""The aspects that have such parts."""
