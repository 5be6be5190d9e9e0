"""Raising incidents, and saying where they stand."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen
from explorer.server.graphql.quality import PRIORITIES

__all__ = ["raise_incident", "update_incident", "update_incident_status"]

_INFO = "incidentInfo"
_OWNERS = ("corpuser", "corpGroup")


def raise_incident(pen: Pen, given: Given) -> str:
    """Report a problem with entities, which is active unless the input says otherwise; gives the
    URN of the incident.

    Raises `InvalidInput` where no entity is named, or a custom type is not; `NotFound` for an
    entity or an assignee that is not there.
    """
    if given["type"] == "CUSTOM" and not given.get("customType"):
        raise InvalidInput("an incident of the type CUSTOM needs a customType")
    named = [given.get("resourceUrn"), *(given.get("resourceUrns") or ())]
    said = {
        "type": given["type"],
        "customType": given.get("customType"),
        "title": given.get("title"),
        "description": given.get("description"),
        "entities": _entities(pen, [text for text in named if text is not None]),
        "priority": _priority(given),
        "assignees": _assignees(pen, given.get("assigneeUrns") or ()) or None,
        "status": _status(pen, given.get("status") or {"state": "ACTIVE"}),
        "source": {"type": (given.get("source") or {"type": "MANUAL"})["type"]},
        "startedAt": given.get("startedAt"),
        "created": pen.stamp,
    }
    urn = Urn.of("incident", str(uuid4()))
    pen.write(urn, _INFO, said)
    return str(urn)


def update_incident_status(pen: Pen, urn: Urn, given: Given) -> None:
    """Say whether an incident is active; what the input leaves out of the status is taken away."""
    stored = _stored(pen, urn)
    _put_status(pen, urn, stored, given)


def update_incident(pen: Pen, urn: Urn, given: Given) -> None:
    """Change what is given of an incident; a part left out stays as it is."""
    stored = _stored(pen, urn)
    said: dict[str, Any] = {
        name: given[name]
        for name in ("title", "description", "startedAt")
        if given.get(name) is not None
    }
    if given.get("priority") is not None:
        said["priority"] = _priority(given)
    if given.get("resourceUrns") is not None:
        said["entities"] = _entities(pen, given["resourceUrns"])
    if given.get("assigneeUrns") is not None:
        said["assignees"] = _assignees(pen, given["assigneeUrns"])
    if said:
        pen.write(urn, _INFO, said)
    if given.get("status") is not None:
        _put_status(pen, urn, stored, given["status"])


def _stored(pen: Pen, urn: Urn) -> Given:
    if urn.entity_type != "incident":
        raise InvalidInput(f"{urn} is no incident")
    stored = pen.read(urn, _INFO)
    if not stored:
        raise NotFound(f"{urn} has no {_INFO}; write that first")
    return stored


def _put_status(pen: Pen, urn: Urn, stored: Given, given: Given) -> None:
    status, before = _status(pen, given), stored.get("status") or {}
    if any(before.get(name) != status.get(name) for name in ("state", "stage", "message")):
        pen.write(urn, _INFO, {"status": status})


def _status(pen: Pen, given: Given) -> dict[str, Any]:
    said = {name: given.get(name) for name in ("state", "stage", "message")}
    kept = {name: value for name, value in said.items() if value is not None}
    return {**kept, "lastUpdated": pen.stamp}


def _priority(given: Given) -> int | None:
    named = given.get("priority")
    return None if named is None else PRIORITIES.index(named)


def _entities(pen: Pen, named: Iterable[str]) -> list[str]:
    urns = list(dict.fromkeys(str(pen.stored_entity(text)) for text in named))
    if not urns:
        raise InvalidInput("an incident is about at least one entity; name it with resourceUrn")
    return urns


def _assignees(pen: Pen, named: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {"actor": pen.stored_reference(text, "assignee", *_OWNERS), "assignedAt": pen.stamp}
        for text in dict.fromkeys(named)
    ]
