"""Reporting on the quality of data: incidents, custom assertions with their results, operations."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.assertion import asserted_entity
from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen
from explorer.server.graphql.quality import PRIORITIES

__all__ = [
    "raise_incident",
    "report_assertion_result",
    "report_operation",
    "update_incident",
    "update_incident_status",
    "upsert_custom_assertion",
]

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


def report_operation(pen: Pen, given: Given) -> None:
    """Report that a dataset was changed: rows were inserted, say.

    Raises `InvalidInput` for what is no dataset, `NotFound` for one that is not there.
    """
    urn = Urn.parse(pen.stored_reference(given["urn"], "dataset", "dataset"))
    at_millis = given.get("timestampMillis")
    partition = given.get("partition")
    said = {
        "timestampMillis": at_millis,
        "lastUpdatedTimestamp": pen.stamp["time"] if at_millis is None else at_millis,
        "actor": pen.actor,
        "operationType": given["operationType"],
        "customOperationType": given.get("customOperationType"),
        "sourceType": given["sourceType"],
        "numAffectedRows": given.get("numAffectedRows"),
        "partitionSpec": partition and {"type": "PARTITION", "partition": partition},
        "customProperties": _entries(given.get("customProperties")),
    }
    pen.append(urn, "operation", said)


def upsert_custom_assertion(pen: Pen, given: Given) -> str:
    """Define an assertion that is evaluated elsewhere, or define it anew as a whole; gives its
    URN.

    Raises `InvalidInput` where the URN is of no assertion or no platform is named, `NotFound` for
    an entity that is not there.
    """
    asked = given["input"]
    urn = Urn.parse(given["urn"]) if given.get("urn") else Urn.of("assertion", str(uuid4()))
    if urn.entity_type != "assertion":
        raise InvalidInput(f"{urn} is no assertion")
    entity = pen.stored_reference(asked["entityUrn"], "dataset", "dataset")
    paths = dict.fromkeys([asked.get("fieldPath"), *(asked.get("fieldPaths") or ())])
    columns = [str(Urn.of("schemaField", entity, path)) for path in paths if path]
    custom = {
        "type": asked["type"],
        "entity": entity,
        "field": columns[0] if columns else None,
        "fields": columns or None,
        "parameters": _parameters(asked.get("parameters")),
        "nativeParameters": _entries(asked.get("nativeParameters")),
        **{
            name: asked.get(name)
            for name in ("scope", "aggregation", "operator", "nativeType", "logic")
        },
    }
    stored = pen.read(urn, "assertionInfo")
    created = (stored.get("source") or {}).get("created") or pen.stamp
    said = {
        "type": "CUSTOM",
        "description": asked["description"],
        "externalUrl": asked.get("externalUrl"),
        "entityUrn": entity,
        "customAssertion": {name: value for name, value in custom.items() if value is not None},
        "source": {"type": "EXTERNAL", "created": created},
        "lastUpdated": pen.stamp,
    }
    pen.write(urn, "assertionInfo", {**dict.fromkeys(stored), **said})
    pen.write(urn, "dataPlatformInstance", {"platform": _platform(asked["platform"])})
    return str(urn)


def report_assertion_result(pen: Pen, given: Given) -> None:
    """Report what the evaluation of an assertion gave.

    Raises `NotFound` for an assertion that is not there, or does not say what it is about.
    """
    urn = Urn.parse(pen.stored_reference(given["urn"], "assertion", "assertion"))
    entity = asserted_entity(pen.read(urn, "assertionInfo"))
    if entity is None:
        raise NotFound(f"{urn} does not say what it is about; write its assertionInfo first")
    asked = given["result"]
    error = asked.get("error") if asked["type"] == "ERROR" else None
    result = {
        "type": asked["type"],
        "severity": asked.get("severity") if asked["type"] == "FAILURE" else None,
        "externalUrl": asked.get("externalUrl"),
        "nativeResults": _entries(asked.get("properties")),
        "error": error and {"type": error["type"], "properties": {"message": error["message"]}},
    }
    said = {
        "timestampMillis": asked.get("timestampMillis"),
        "runId": str(uuid4()),
        "assertionUrn": str(urn),
        "asserteeUrn": entity,
        "status": "COMPLETE",
        "result": {name: value for name, value in result.items() if value is not None},
    }
    pen.append(urn, "assertionRunEvent", said)


def _entries(given: Iterable[Given] | None) -> dict[str, str] | None:
    """A map that a document gives as a list of entries; the last value of a key counts."""
    return None if given is None else {one["key"]: one.get("value") or "" for one in given}


def _parameters(given: Given | None) -> dict[str, Any] | None:
    return {name: dict(one) for name, one in given.items() if one is not None} if given else None


def _platform(given: Given) -> str:
    """The URN of a platform that is given by its URN or its name; it need not be stored."""
    if given.get("urn"):
        urn = Urn.parse(given["urn"])
        if urn.entity_type != "dataPlatform":
            raise InvalidInput(f"{urn} is no platform")
        return str(urn)
    if not given.get("name"):
        raise InvalidInput("the platform of an assertion is given by its urn or its name")
    return str(Urn.of("dataPlatform", given["name"]))


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
