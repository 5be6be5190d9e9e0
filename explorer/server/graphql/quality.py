"""How assertions and their runs, incidents, and the health of an entity are answered."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from explorer.metadata.assertion import asserted_entity
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.filters import read_filter
from explorer.server.graphql.asking import page_bounds
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.columns import column_type, record_of
from explorer.server.graphql.fields import (
    Resolver,
    Value,
    custom_properties,
    entities,
    entity_or_null,
    flat,
    or_else,
    renamed,
)
from explorer.server.graphql.nodes import Info, Node
from explorer.server.graphql.shapes import GENERIC, SHAPES
from explorer.server.timeseries import read_documents

__all__ = ["PRIORITIES", "RESOLVERS"]

PRIORITIES = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
"""The priorities of incidents; an incident keeps the place of its own among them."""
_RUNS = "assertionRunEvent"
_COMPLETE = "COMPLETE"
_SUCCESS = "SUCCESS"
_OWNERS = ("corpuser", "corpGroup")
_PAGE = 20
# An entity with more of them is told of the first.
_MOST_RELATED = 1_000
_MOST_RUNS = 10_000


async def _related(
    node: Node, info: Info, relationship: str, *, with_removed: bool = False
) -> list[Node]:
    """What points at an entity with a relationship, each once, without what is soft-deleted unless
    that is asked for."""
    catalog = info.context.catalog
    _, edges = await catalog.offload(
        catalog.store.relationships,
        str(node.urn),
        "INCOMING",
        [relationship],
        0,
        _MOST_RELATED,
    )
    found = await info.context.read(dict.fromkeys(urn for urn, _ in edges))
    return [
        one
        for one in found
        if with_removed or (one.aspect("status") or {}).get("removed") is not True
    ]


async def _assertions(node: Node, info: Info, **given: Any) -> Value:
    start, count = page_bounds(given, _PAGE)
    with_removed = given.get("includeSoftDeleted") is True
    found = await _related(node, info, "Asserts", with_removed=with_removed)
    urns = [str(one.urn) for one in found]
    page = urns[start : start + count]
    return {"start": start, "count": len(page), "total": len(urns), "urns": page}


async def _run_events(node: Node, info: Info, **given: Any) -> Value:
    limit = given.get("limit")
    bounds = given.get("startTimeMillis"), given.get("endTimeMillis")
    wanted = read_filter({"or": [given["filter"]]} if given.get("filter") else None)
    events = [
        event
        for event in await _runs(node, info, bounds, _MOST_RUNS, wanted)
        if given.get("status") is None or event.get("status") == given["status"]
    ]
    results = Counter((event.get("result") or {}).get("type") for event in events)
    return {
        "total": len(events),
        "failed": results["FAILURE"],
        "succeeded": results[_SUCCESS],
        "errored": results["ERROR"],
        "runEvents": events if limit is None else events[: max(limit, 0)],
    }


async def _runs(
    node: Node,
    info: Info,
    bounds: tuple[int | None, int | None] = (None, None),
    limit: int = 1,
    wanted: Filter | None = None,
) -> list[Value]:
    """The runs of an assertion, newest first."""
    catalog = info.context.catalog
    found = await catalog.offload(
        read_documents, catalog.store, str(node.urn), _RUNS, bounds, limit, wanted or Filter()
    )
    info.context.budget.read_documents(len(found))
    return [value for value, _, _ in found]


async def _health(node: Node, info: Info) -> list[Value]:
    incidents = [one for one in await _related(node, info, "IncidentOn") if _state(one) == "ACTIVE"]
    health: list[Value] = [{"type": "INCIDENTS", "status": "PASS"}]
    if incidents:
        plural = "" if len(incidents) == 1 else "s"
        health = [
            {
                "type": "INCIDENTS",
                "status": "FAIL",
                "message": f"{len(incidents)} active incident{plural}",
                "causes": ["ACTIVE_INCIDENTS"],
            }
        ]
    failing, have_run = [], 0
    assertions = await _related(node, info, "Asserts")
    for one in assertions:
        for event in await _runs(one, info):
            have_run += 1
            if (event.get("result") or {}).get("type") in ("FAILURE", "ERROR"):
                failing.append(str(one.urn))
    if failing:
        message = f"{len(failing)} of {len(assertions)} assertions are failing"
        health.append(
            {"type": "ASSERTIONS", "status": "FAIL", "message": message, "causes": failing}
        )
    elif have_run:
        message = "All assertions are passing"
        health.append({"type": "ASSERTIONS", "status": "PASS", "message": message})
    return health


async def _incidents(node: Node, info: Info, **given: Any) -> Value:
    start, count = page_bounds(given, _PAGE)
    assigned = set(given.get("assigneeUrns") or ())
    found = [
        one
        for one in await _related(node, info, "IncidentOn")
        if given.get("state") in (None, _state(one))
        and given.get("stage") in (None, _status(one).get("stage"))
        and given.get("priority") in (None, _priority_of(one))
        and (not assigned or assigned & set(_assigned(one)))
    ]
    found.sort(key=_created_millis, reverse=True)
    page = [str(one.urn) for one in found[start : start + count]]
    return {"start": start, "count": len(page), "total": len(found), "urns": page}


def _incident(node: Node) -> Value:
    return node.aspect("incidentInfo") or {}


def _incident_type(node: Node, _info: Info) -> str | None:
    kind = _incident(node).get("type")
    return kind if isinstance(kind, str) else None


def _status(node: Node) -> Value:
    return _incident(node).get("status") or {}


def _state(node: Node) -> str:
    state: str = _status(node).get("state") or ""
    return state


def _created_millis(node: Node) -> int:
    time = (_incident(node).get("created") or {}).get("time")
    return time if isinstance(time, int) else 0


def _priority_of(node: Node) -> str | None:
    place = _incident(node).get("priority")
    return PRIORITIES[place] if isinstance(place, int) and 0 <= place < len(PRIORITIES) else None


def _assigned(node: Node) -> Iterable[str]:
    return [one.get("actor") for one in _incident(node).get("assignees") or ()]


def _assignees(node: Node, info: Info) -> list[Any]:
    return [
        info.context.refer(str(urn), info)
        for urn in Urn.parse_all(_assigned(node))
        if urn.entity_type in _OWNERS
    ]


def _about(node: Node, info: Info) -> Any:
    urns = _incident(node).get("entities") or ()
    return next((found for urn in urns if (found := _named(urn, info)) is not None), None)


def _named(urn: str, info: Info) -> Any:
    return entity_or_null("urn")({"urn": urn}, info)


def _asserted(node: Node, _info: Info) -> Value | None:
    found = node.aspect("assertionInfo")
    if found is None:
        return None
    note = node.aspect("assertionNote") or found.get("note") or {}
    return {**found, "entityUrn": asserted_entity(found), "note": note.get("content")}


def _asserted_fields(value: Value, _info: Info) -> list[Value]:
    return _columns(value.get("fields") or ())


def _custom_fields(value: Value, _info: Info) -> list[Value]:
    return _columns(dict.fromkeys([value.get("field"), *(value.get("fields") or ())]))


def _custom_field(value: Value, info: Info) -> Value | None:
    return next(iter(_custom_fields(value, info)), None)


def _columns(urns: Iterable[Any]) -> list[Value]:
    return [
        {"urn": urn.parts[0], "path": urn.name}
        for urn in Urn.parse_all(urns)
        if urn.entity_type == "schemaField"
    ]


def _schema_fields(value: Value, _info: Info) -> list[Value]:
    return [
        {
            "path": field.get("fieldPath"),
            "type": column_type(record_of(field)),
            "nativeType": field.get("nativeDataType"),
        }
        for field in (value.get("schema") or {}).get("fields") or ()
    ]


def _entries(field: str) -> Resolver:
    """A map as entries."""

    def resolve(value: Value, _info: Info) -> list[dict[str, str]] | None:
        found = value.get(field)
        return found and [{"key": key, "value": str(text)} for key, text in found.items()]

    return resolve


def _error_text(error: Value, _info: Info) -> str | None:
    text = (error.get("properties") or {}).get("message")
    return text if isinstance(text, str) else None


_TARGETED: dict[str, Resolver] = {"entityUrn": renamed("entity")}
_HEALTHY: dict[str, Resolver] = {"health": _health, "incidents": _incidents}

RESOLVERS: Resolvers = {
    **{shape.object_type: _HEALTHY for shape in SHAPES.values()},
    GENERIC: _HEALTHY,
    "Dataset": {**_HEALTHY, "assertions": _assertions},
    "EntityAssertionsResult": {"assertions": entities("urns", "assertion")},
    "EntityIncidentsResult": {"incidents": entities("urns", "incident")},
    "Assertion": {"info": _asserted, "runEvents": _run_events},
    "AssertionInfo": {"customProperties": custom_properties},
    "DatasetAssertionInfo": {
        "datasetUrn": renamed("dataset"),
        "fields": _asserted_fields,
        "nativeParameters": _entries("nativeParameters"),
    },
    "FreshnessAssertionInfo": _TARGETED,
    "VolumeAssertionInfo": _TARGETED,
    "SqlAssertionInfo": _TARGETED,
    "FieldAssertionInfo": _TARGETED,
    "SchemaAssertionInfo": {
        **_TARGETED,
        "fields": _schema_fields,
        "compatibility": or_else("compatibility", "EXACT_MATCH"),
    },
    "CustomAssertionInfo": {
        **_TARGETED,
        "field": _custom_field,
        "fields": _custom_fields,
        "nativeParameters": _entries("nativeParameters"),
    },
    "AssertionRunEvent": {"runtimeContext": _entries("runtimeContext")},
    "AssertionResult": {"nativeResults": _entries("nativeResults")},
    "AssertionResultError": {
        "displayMessage": _error_text,
        "properties": _entries("properties"),
    },
    "Incident": {
        "incidentType": _incident_type,
        "customType": flat("incidentInfo", "customType"),
        "title": flat("incidentInfo", "title"),
        "description": flat("incidentInfo", "description"),
        "incidentStatus": flat("incidentInfo", "status"),
        "status": flat("incidentInfo", "status"),
        "priority": lambda node, _info: _priority_of(node),
        "assignees": _assignees,
        "entity": _about,
        "source": flat("incidentInfo", "source"),
        "startedAt": flat("incidentInfo", "startedAt"),
        "created": flat("incidentInfo", "created"),
    },
    "IncidentSource": {"source": entity_or_null("sourceUrn")},
}
