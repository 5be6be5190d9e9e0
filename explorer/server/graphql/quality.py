"""Resolvers and mutations for usage, operations, runs, assertions, incidents and health."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.aspects import asserted_entity
from explorer.metadata.measurements import separate_windows, window_millis
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.graphql.aspects import OWNERS, column_type, record_of
from explorer.server.graphql.schema import (
    Resolvers,
    Value,
    columns,
    entity_or_null,
    entries,
    or_else,
)
from explorer.server.graphql.search import page_bounds
from explorer.server.graphql.session import EditTransaction, Given, Info, Node, Resolver
from explorer.server.search_request import read_filter
from explorer.server.timeseries import MOST_PROFILES, PROFILE, profile_scope, read_documents

PRIORITIES = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
"""The priorities of incidents; an incident stores the index of its own."""
_RUNS = "assertionRunEvent"
_SUCCESS = "SUCCESS"
_PAGE = 20
# Further assertions or incidents of an entity are ignored.
_MOST_RELATED = 1_000


async def _find_related_nodes(
    node: Node, info: Info, relationship: str, *, with_removed: bool = False
) -> list[Node]:
    """Return the entities that point at an entity with a relationship, each once; soft-deleted ones
    only with `with_removed`."""
    catalog = info.context.catalog
    _, edges = await catalog.read(
        catalog.store.edges,
        [str(node.urn)],
        "INCOMING",
        [relationship],
        0,
        _MOST_RELATED,
    )
    nodes = await info.context.read(dict.fromkeys(edge.urn for edge in edges))
    return [node for node in nodes if with_removed or not node.is_removed]


async def _assertions(node: Node, info: Info, **given: Any) -> Value:
    start, count = page_bounds(given, _PAGE)
    with_removed = given.get("includeSoftDeleted") is True
    nodes = await _find_related_nodes(node, info, "Asserts", with_removed=with_removed)
    urns = [str(node.urn) for node in nodes]
    page = urns[start : start + count]
    return {"start": start, "count": len(page), "total": len(urns), "urns": page}


async def _run_events(node: Node, info: Info, **given: Any) -> Value:
    status, limit = given.get("status"), given.get("limit")
    events = [
        event
        for event in await _filter_points(node, info, _RUNS, {**given, "limit": None})
        if status is None or event.get("status") == status
    ]
    results = Counter((event.get("result") or {}).get("type") for event in events)
    return {
        "total": len(events),
        "failed": results["FAILURE"],
        "succeeded": results[_SUCCESS],
        "errored": results["ERROR"],
        "runEvents": events if limit is None else events[: max(limit, 0)],
    }


async def _health(node: Node, info: Info) -> list[Value]:
    incidents = [
        node
        for node in await _find_related_nodes(node, info, "IncidentOn")
        if _state(node) == "ACTIVE"
    ]
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
    assertions = await _find_related_nodes(node, info, "Asserts")
    for assertion in assertions:
        for event in await _points(assertion, info, _RUNS, limit=1):
            have_run += 1
            if (event.get("result") or {}).get("type") in ("FAILURE", "ERROR"):
                failing.append(str(assertion.urn))
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
    nodes = [
        node
        for node in await _find_related_nodes(node, info, "IncidentOn")
        if given.get("state") in (None, _state(node))
        and given.get("stage") in (None, _status(node).get("stage"))
        and given.get("priority") in (None, _priority_of(node))
        and (not assigned or assigned & set(_assignee_urns(node)))
    ]
    nodes.sort(key=_creation_millis, reverse=True)
    page = [str(node.urn) for node in nodes[start : start + count]]
    return {"start": start, "count": len(page), "total": len(nodes), "urns": page}


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


def _creation_millis(node: Node) -> int:
    time = (_incident(node).get("created") or {}).get("time")
    return time if isinstance(time, int) else 0


def _priority_of(node: Node) -> str | None:
    place = _incident(node).get("priority")
    return PRIORITIES[place] if isinstance(place, int) and 0 <= place < len(PRIORITIES) else None


def _assignee_urns(node: Node) -> Iterable[str]:
    return [assignee.get("actor") for assignee in _incident(node).get("assignees") or ()]


def _assignees(node: Node, info: Info) -> list[Any]:
    return [
        info.context.refer(str(urn), info)
        for urn in Urn.parse_all(_assignee_urns(node))
        if urn.entity_type in OWNERS
    ]


def _about(node: Node, info: Info) -> Any:
    resolve = entity_or_null("urn")
    urns = _incident(node).get("entities") or ()
    return next((asset for urn in urns if (asset := resolve({"urn": urn}, info)) is not None), None)


def _assertion_entity(node: Node, _info: Info) -> Value | None:
    aspect = node.aspect("assertionInfo")
    if aspect is None:
        return None
    note = node.aspect("assertionNote") or aspect.get("note") or {}
    return {**aspect, "entityUrn": asserted_entity(aspect), "note": note.get("content")}


def _custom_fields(value: Value, _info: Info) -> list[Value]:
    return columns(dict.fromkeys([value.get("field"), *(value.get("fields") or ())]))


def _custom_field(value: Value, info: Info) -> Value | None:
    return next(iter(_custom_fields(value, info)), None)


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
    """Return a resolver that gives a map as a list of entries, values as strings; None if there is
    no map."""

    def resolve(value: Value, _info: Info) -> list[dict[str, str]] | None:
        texts_by_key = value.get(field)
        return texts_by_key and [
            {"key": key, "value": str(text)} for key, text in texts_by_key.items()
        ]

    return resolve


_INFO = "incidentInfo"


def raise_incident(tx: EditTransaction, given: Given) -> str:
    """Create an incident about some entities, active unless the input has another status, and
    return its URN.

    Raises `InvalidInput` if the input names no entity, or the type is CUSTOM without a
    `customType`, or an assignee is no user or group; `NotFound` if an entity is not stored.
    """
    if given["type"] == "CUSTOM" and not given.get("customType"):
        raise InvalidInput("an incident of the type CUSTOM must have a customType")
    texts = [given.get("resourceUrn"), *(given.get("resourceUrns") or ())]
    values = {
        "type": given["type"],
        "customType": given.get("customType"),
        "title": given.get("title"),
        "description": given.get("description"),
        "entities": _entities(tx, [text for text in texts if text is not None]),
        "priority": _priority(given),
        "assignees": _resolve_assignees(tx, given.get("assigneeUrns") or ()) or None,
        "status": _new_status(tx, given.get("status") or {"state": "ACTIVE"}),
        "source": {"type": (given.get("source") or {"type": "MANUAL"})["type"]},
        "startedAt": given.get("startedAt"),
        "created": tx.stamp,
    }
    urn = Urn.of("incident", str(uuid4()))
    tx.write(urn, _INFO, values)
    return str(urn)


def update_incident_status(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Set the status of an incident. Parts that the input leaves out are removed."""
    stored = _read_incident(tx, urn)
    _put_status(tx, urn, stored, given)


def update_incident(tx: EditTransaction, urn: Urn, given: Given) -> None:
    """Update an incident. Parts that the input leaves out are not changed."""
    stored = _read_incident(tx, urn)
    values: dict[str, Any] = {
        name: given[name]
        for name in ("title", "description", "startedAt")
        if given.get(name) is not None
    }
    if given.get("priority") is not None:
        values["priority"] = _priority(given)
    if given.get("resourceUrns") is not None:
        values["entities"] = _entities(tx, given["resourceUrns"])
    if given.get("assigneeUrns") is not None:
        values["assignees"] = _resolve_assignees(tx, given["assigneeUrns"])
    if values:
        tx.write(urn, _INFO, values)
    if given.get("status") is not None:
        _put_status(tx, urn, stored, given["status"])


def report_operation(tx: EditTransaction, given: Given) -> None:
    """Record an operation that changed a dataset, such as the insertion of rows.

    Raises `InvalidInput` if the URN is not that of a dataset, `NotFound` if it is not stored.
    """
    urn = Urn.parse(tx.stored_reference(given["urn"], "dataset", "dataset"))
    at_millis = given.get("timestampMillis")
    partition = given.get("partition")
    values = {
        "timestampMillis": at_millis,
        "lastUpdatedTimestamp": tx.stamp["time"] if at_millis is None else at_millis,
        "actor": tx.actor,
        "operationType": given["operationType"],
        "customOperationType": given.get("customOperationType"),
        "sourceType": given["sourceType"],
        "numAffectedRows": given.get("numAffectedRows"),
        "partitionSpec": partition and {"type": "PARTITION", "partition": partition},
        "customProperties": _map_of(given.get("customProperties")),
    }
    tx.append(urn, "operation", values)


def upsert_custom_assertion(tx: EditTransaction, given: Given) -> str:
    """Create or completely replace the definition of an assertion that is evaluated elsewhere, and
    return its URN.

    Raises `InvalidInput` if the URN is not that of an assertion or no platform is named, `NotFound`
    if the dataset is not stored.
    """
    arguments = given["input"]
    urn = Urn.parse(given["urn"]) if given.get("urn") else Urn.of("assertion", str(uuid4()))
    if urn.entity_type != "assertion":
        raise InvalidInput(f"{urn} is not an assertion")
    entity = tx.stored_reference(arguments["entityUrn"], "dataset", "dataset")
    paths = dict.fromkeys([arguments.get("fieldPath"), *(arguments.get("fieldPaths") or ())])
    columns = [str(Urn.of("schemaField", entity, path)) for path in paths if path]
    custom = {
        "type": arguments["type"],
        "entity": entity,
        "field": columns[0] if columns else None,
        "fields": columns or None,
        "parameters": _parameters(arguments.get("parameters")),
        "nativeParameters": _map_of(arguments.get("nativeParameters")),
        **{
            name: arguments.get(name)
            for name in ("scope", "aggregation", "operator", "nativeType", "logic")
        },
    }
    stored = tx.read(urn, "assertionInfo")
    created = (stored.get("source") or {}).get("created") or tx.stamp
    values = {
        "type": "CUSTOM",
        "description": arguments["description"],
        "externalUrl": arguments.get("externalUrl"),
        "entityUrn": entity,
        "customAssertion": {name: value for name, value in custom.items() if value is not None},
        "source": {"type": "EXTERNAL", "created": created},
        "lastUpdated": tx.stamp,
    }
    tx.write(urn, "assertionInfo", {**dict.fromkeys(stored), **values})
    tx.write(urn, "dataPlatformInstance", {"platform": _platform(arguments["platform"])})
    return str(urn)


def report_assertion_result(tx: EditTransaction, given: Given) -> None:
    """Record the result of an evaluation of an assertion.

    Raises `NotFound` if the assertion is not stored, or does not name the entity it is about.
    """
    urn = Urn.parse(tx.stored_reference(given["urn"], "assertion", "assertion"))
    entity = asserted_entity(tx.read(urn, "assertionInfo"))
    if entity is None:
        raise NotFound(
            f"{urn} does not name the dataset that it is about; write its assertionInfo first"
        )
    arguments = given["result"]
    error = arguments.get("error") if arguments["type"] == "ERROR" else None
    result = {
        "type": arguments["type"],
        "severity": arguments.get("severity") if arguments["type"] == "FAILURE" else None,
        "externalUrl": arguments.get("externalUrl"),
        "nativeResults": _map_of(arguments.get("properties")),
        "error": error and {"type": error["type"], "properties": {"message": error["message"]}},
    }
    values = {
        "timestampMillis": arguments.get("timestampMillis"),
        "runId": str(uuid4()),
        "assertionUrn": str(urn),
        "asserteeUrn": entity,
        "status": "COMPLETE",
        "result": {name: value for name, value in result.items() if value is not None},
    }
    tx.append(urn, "assertionRunEvent", values)


def _map_of(given: Iterable[Given] | None) -> dict[str, str] | None:
    """Return the map that an input has as a list of entries. If a key occurs more than once, its
    last value is used."""
    return None if given is None else {entry["key"]: entry.get("value") or "" for entry in given}


def _parameters(given: Given | None) -> dict[str, Any] | None:
    return (
        {name: dict(parameter) for name, parameter in given.items() if parameter is not None}
        if given
        else None
    )


def _platform(given: Given) -> str:
    """Return the URN of a platform given by its URN or its name; it need not be stored. Raises
    `InvalidInput` if neither is given, or if the URN is not that of a platform."""
    if given.get("urn"):
        urn = Urn.parse(given["urn"])
        if urn.entity_type != "dataPlatform":
            raise InvalidInput(f"{urn} is not a platform")
        return str(urn)
    if not given.get("name"):
        raise InvalidInput("the platform of an assertion must be given by its urn or its name")
    return str(Urn.of("dataPlatform", given["name"]))


def _read_incident(tx: EditTransaction, urn: Urn) -> Given:
    if urn.entity_type != "incident":
        raise InvalidInput(f"{urn} is not an incident")
    stored = tx.read(urn, _INFO)
    if not stored:
        raise NotFound(f"{urn} has no {_INFO}; write that aspect first")
    return stored


def _put_status(tx: EditTransaction, urn: Urn, stored: Given, given: Given) -> None:
    status, before = _new_status(tx, given), stored.get("status") or {}
    if any(before.get(name) != status.get(name) for name in ("state", "stage", "message")):
        tx.write(urn, _INFO, {"status": status})


def _new_status(tx: EditTransaction, given: Given) -> dict[str, Any]:
    values = {name: given.get(name) for name in ("state", "stage", "message")}
    status = {name: value for name, value in values.items() if value is not None}
    return {**status, "lastUpdated": tx.stamp}


def _priority(given: Given) -> int | None:
    priority = given.get("priority")
    return None if priority is None else PRIORITIES.index(priority)


def _entities(tx: EditTransaction, texts: Iterable[str]) -> list[str]:
    urns = list(dict.fromkeys(str(tx.stored_entity(text)) for text in texts))
    if not urns:
        raise InvalidInput(
            "an incident must be about at least one entity; name it with resourceUrn"
        )
    return urns


def _resolve_assignees(tx: EditTransaction, texts: Iterable[str]) -> list[dict[str, Any]]:
    # As in DataHub, assignees need not be stored: pipelines assign people who have never signed in.
    urns = [Urn.parse(text) for text in dict.fromkeys(texts)]
    for urn in urns:
        if urn.entity_type not in OWNERS:
            raise InvalidInput(f"{urn} is not an assignee: name a user or a group")
    return [{"actor": str(urn), "assignedAt": tx.stamp} for urn in urns]


_DAY_MILLIS = 86_400_000
_RANGE_DAYS = {
    "DAY": 1,
    "WEEK": 7,
    "MONTH": 30,
    "QUARTER": 91,
    "HALF_YEAR": 182,
    "YEAR": 365,
}
_MOST = 10_000
_TOP_USERS = 5
_USAGE = "datasetUsageStatistics"
_PERCENTILES = ("queryCountPercentileLast30Days", "uniqueUserPercentileLast30Days")


async def _usage(node: Node, info: Info, **given: Any) -> Value:
    # The argument `resource` is ignored: the usage is always that of the dataset itself.
    start = given.get("startTimeMillis")
    if start is None:
        days = _RANGE_DAYS.get(given.get("range") or "MONTH")
        start = _now_millis() - days * _DAY_MILLIS if days else None
    points = await _usage_points(node, info, start)
    parts_by_span: dict[tuple[int, int], list[Value]] = {}
    for point in reversed(points):
        parts_by_span.setdefault(_span(point), []).append(point)
    buckets = [_bucket(node, parts) for parts in parts_by_span.values()]
    return {"buckets": buckets, "aggregations": _aggregate(points)}


async def _usage_points(node: Node, info: Info, start: int | None) -> list[Value]:
    """Return the usage statistics from a time on, without windows that overlap others and so cannot
    be added up."""
    return separate_windows(await _points(node, info, _USAGE, start), _span)


def _span(point: Value) -> tuple[int, int]:
    granularity = point.get("eventGranularity") or {}
    length = window_millis(granularity.get("unit"), granularity.get("multiple"))
    return point.get("timestampMillis") or 0, length


def _bucket(node: Node, parts: Sequence[Value]) -> Value:
    """Return the bucket of a usage window, which adds up the counts of one or several sources."""
    point = parts[0]
    if len(parts) > 1:
        total = _aggregate(parts)
        users = max(total["uniqueUserCount"], *(part.get("uniqueUserCount") or 0 for part in parts))
        point = {
            **point,
            "uniqueUserCount": users,
            "totalSqlQueries": total["totalSqlQueries"],
            "userCounts": total["users"],
            "fieldCounts": [
                {"fieldPath": field["fieldName"], "count": field["count"]}
                for field in total["fields"]
            ],
            "topSqlQueries": list(
                dict.fromkeys(text for part in parts for text in part.get("topSqlQueries") or ())
            ),
        }
    return {
        "bucket": point.get("timestampMillis"),
        "duration": (point.get("eventGranularity") or {}).get("unit"),
        "resource": str(node.urn),
        "metrics": {
            "uniqueUserCount": point.get("uniqueUserCount"),
            "totalSqlQueries": point.get("totalSqlQueries"),
            "topSqlQueries": point.get("topSqlQueries"),
            "users": point.get("userCounts"),
            "fields": _fields(
                {
                    field_count["fieldPath"]: field_count.get("count")
                    for field_count in point.get("fieldCounts") or ()
                    if field_count.get("fieldPath")
                }
            ),
        },
    }


def _aggregate(points: Iterable[Value]) -> Value:
    users: Counter[str] = Counter()
    emails: dict[str, Any] = {}
    fields: Counter[str] = Counter()
    queries = 0
    for point in points:
        queries += point.get("totalSqlQueries") or 0
        for user_count in point.get("userCounts") or ():
            if user := user_count.get("user"):
                users[user] += user_count.get("count") or 0
                emails[user] = user_count.get("userEmail") or emails.get(user)
        for user_count in point.get("fieldCounts") or ():
            if path := user_count.get("fieldPath"):
                fields[path] += user_count.get("count") or 0
    return {
        "uniqueUserCount": len(users),
        "totalSqlQueries": queries,
        "users": [
            {"user": user, "count": count, "userEmail": emails[user]}
            for user, count in users.most_common()
        ],
        "fields": _fields(dict(fields.most_common())),
    }


def _fields(counts: Mapping[str, int | None]) -> list[Value]:
    return [{"fieldName": path, "count": count} for path, count in counts.items()]


async def _summary(node: Node, info: Info) -> Value | None:
    start = _now_millis() - _RANGE_DAYS["MONTH"] * _DAY_MILLIS
    points = await _usage_points(node, info, start)
    profile = await _newest_profile(node, info)
    operations = await _points(node, info, "operation", start, limit=1)
    features = node.aspect("usageFeatures") or {}
    if not (points or profile or operations or features):
        return None
    summary: dict[str, Any] = {
        "changed": (node, start),
        "topUsersLast30Days": [],
        "rowCount": profile.get("rowCount"),
        "sizeInBytes": profile.get("sizeInBytes"),
        **{name: features.get(name) for name in _PERCENTILES},
    }
    if points:
        used = _aggregate(points)
        summary["queryCountLast30Days"] = used["totalSqlQueries"]
        summary["uniqueUserCountLast30Days"] = used["uniqueUserCount"]
        summary["topUsersLast30Days"] = [user["user"] for user in used["users"][:_TOP_USERS]]
    return summary


async def _newest_profile(node: Node, info: Info) -> Value:
    """Return the newest profile of the whole table, else of a sample, else an empty one."""
    sample: Value = {}
    for limit in (1, MOST_PROFILES):
        profiles = await _points(node, info, PROFILE, limit=limit)
        for profile in profiles:
            scope = profile_scope(profile.get("partitionSpec"))
            if scope == "table":
                return profile
            if scope == "sample":
                sample = sample or profile
        if len(profiles) < limit:
            break
    return sample


async def _update_count(summary: Value, info: Info) -> int:
    node, start = summary["changed"]
    return len(await _points(node, info, "operation", start))


async def _profiles(node: Node, info: Info, **given: Any) -> list[Value]:
    return await _filter_points(node, info, PROFILE, given)


async def _states(node: Node, info: Info, **given: Any) -> list[Value]:
    return await _filter_points(node, info, "dataProcessInstanceRunEvent", given)


async def _operations(node: Node, info: Info, **given: Any) -> list[Value]:
    return await _filter_points(node, info, "operation", given)


async def _filter_points(
    node: Node, info: Info, aspect: str, arguments: Mapping[str, Any]
) -> list[Value]:
    """Return the documents of a timeseries aspect that match the arguments `filter`,
    `startTimeMillis`, `endTimeMillis` and `limit`, newest first."""
    return await _points(
        node,
        info,
        aspect,
        arguments.get("startTimeMillis"),
        arguments.get("endTimeMillis"),
        arguments.get("limit"),
        read_filter({"or": [arguments["filter"]]} if arguments.get("filter") else None),
    )


async def _points(
    node: Node,
    info: Info,
    aspect: str,
    start: int | None = None,
    end: int | None = None,
    limit: int | None = None,
    filtered_by: Filter | None = None,
) -> list[Value]:
    """Return documents of a timeseries aspect, newest first, at most 10,000. `start` and `end` are
    inclusive."""
    catalog, most = info.context.catalog, _MOST if limit is None else min(max(limit, 0), _MOST)
    documents = await catalog.read(
        read_documents,
        catalog.store,
        str(node.urn),
        aspect,
        (start, end),
        most,
        filtered_by or Filter(),
    )
    info.context.budget.read_documents(len(documents))
    return [value for value, _, _ in documents]


def _now_millis() -> int:
    return time.time_ns() // 1_000_000


_TARGETED = {"entityUrn": "entity"}

RESOLVERS: Resolvers = {
    "Entity": {"health": _health, "incidents": _incidents},
    "Dataset": {
        "assertions": _assertions,
        "usageStats": _usage,
        "datasetProfiles": _profiles,
        "operations": _operations,
        "statsSummary": _summary,
    },
    "DataProcessInstance": {"state": _states},
    "DataProcessInstanceRunResult": {"resultType": "type"},
    "DatasetStatsSummary": {"updateCountLast30Days": _update_count},
    "Operation": {
        "customProperties": entries("customProperties"),
        "partition": "partitionSpec.partition",
    },
    "Assertion": {"info": _assertion_entity, "runEvents": _run_events},
    "DatasetAssertionInfo": {
        "datasetUrn": "dataset",
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
        "displayMessage": "properties.message",
        "properties": _entries("properties"),
    },
    "Incident": {
        "incidentType": _incident_type,
        "customType": "incidentInfo.customType",
        "title": "incidentInfo.title",
        "description": "incidentInfo.description",
        "incidentStatus": "incidentInfo.status",
        "status": "incidentInfo.status",
        "priority": lambda node, _info: _priority_of(node),
        "assignees": _assignees,
        "entity": _about,
        "source": "incidentInfo.source",
        "startedAt": "incidentInfo.startedAt",
        "created": "incidentInfo.created",
    },
    "IncidentSource": {"source": "sourceUrn"},
}
