"""What follows from other metadata and is filled in as DataHub fills it in: parts of an aspect, and
the summary of an entity's incidents."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from explorer.errors import InvalidAspect
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.intake.change import NO_RUN, edges_to_store
from explorer.server.store import Transaction, Write

__all__ = ["DERIVED", "fill_derived", "summarise_incidents"]

_OWNERSHIP_TYPE = "urn:li:ownershipType:__system__"
_INCIDENT = "urn:li:incident:"
_SUMMARY = "incidentsSummary"
_SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"
# Of each state an entity's summary names the incidents that were written last.
_MOST_INCIDENTS = 100
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
"""The aspects that have parts that follow from others."""


def summarise_incidents(transaction: Transaction, registry: Registry, now_millis: int) -> None:
    """Bring the `incidentsSummary` of entities up to date with the incidents that a transaction
    wrote or removed.

    An incident that is removed, or no longer about an entity, goes from its summary. An entity
    that does not exist gets none.
    """
    for text in sorted(urn for urn in transaction.touched if urn.startswith(_INCIDENT)):
        info = _stored(transaction, text, "incidentInfo")
        about = info.get("entities") or ()
        listed = [one.urn for one in transaction.references_to(text) if one.aspect == _SUMMARY]
        for entity in dict.fromkeys((*listed, *about)):
            urn = Urn.parse(entity)
            known = registry.entities.get(urn.entity_type)
            if known is None or _SUMMARY not in registry.aspects_of(urn.entity_type):
                continue
            if transaction.exists(entity):
                details = _incident_details(text, info) if entity in about else None
                state = _state(info) if details else ""
                _summarise(transaction, registry, urn, (text, state, details), now_millis)


def _stored(transaction: Transaction, urn: str, aspect: str) -> dict[str, Any]:
    """The value of an aspect; empty where there is none, or damage made it unreadable."""
    stored = transaction.latest(urn, aspect)
    try:
        value = orjson.loads(stored.value) if stored else {}
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _state(info: _Value) -> str:
    return str((info.get("status") or {}).get("state"))


def _incident_details(urn: str, info: _Value) -> dict[str, Any]:
    kind = info.get("type")
    changed = (info.get("status") or {}).get("lastUpdated") or {}
    told = {
        "urn": urn,
        "type": info.get("customType") or kind if kind == "CUSTOM" else kind,
        "createdAt": (info.get("created") or {}).get("time"),
        "resolvedAt": changed.get("time") if _state(info) == "RESOLVED" else None,
        "priority": info.get("priority"),
    }
    return {key: value for key, value in told.items() if value is not None}


def _summarise(
    transaction: Transaction,
    registry: Registry,
    entity: Urn,
    incident: tuple[str, str, dict[str, Any] | None],
    now_millis: int,
) -> None:
    """Put an incident into the summary of an entity by its state, or take it out."""
    text, state, details = incident
    before = _stored(transaction, str(entity), _SUMMARY)
    value = dict(before)
    for name, now in (("active", "ACTIVE"), ("resolved", "RESOLVED")):
        # The lists of bare URNs are those of DataHub's older releases.
        bare, full = f"{name}Incidents", f"{name}IncidentDetails"
        value[bare] = [one for one in before.get(bare) or () if one != text]
        entries = before.get(full) or []
        if details is None or state != now:
            value[full] = [one for one in entries if one.get("urn") != text]
        elif details not in entries:
            others = [one for one in entries if one.get("urn") != text]
            value[full] = [*others, details][-_MOST_INCIDENTS:]
        else:
            value[full] = entries
    if value == before or (not before and details is None):
        return
    transaction.put(
        Write(
            str(entity),
            entity.entity_type,
            _SUMMARY,
            orjson.dumps(value),
            now_millis,
            _SYSTEM_ACTOR,
            orjson.dumps({"lastObserved": now_millis, "runId": NO_RUN}),
            None,
            edges_to_store(registry, _SUMMARY, value),
        )
    )
