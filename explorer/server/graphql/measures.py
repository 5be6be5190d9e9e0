"""How the use of a dataset, its profiles and its changes are answered, from what was measured
over time."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from explorer.metadata.urn import Urn
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entity_or_null, or_else
from explorer.server.graphql.nodes import Info, Node

__all__ = ["RESOLVERS"]

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


async def _usage(node: Node, info: Info, **given: Any) -> Value:
    # A `resource` may be named as well; the dataset itself is what is asked about.
    start = given.get("startTimeMillis")
    if start is None:
        days = _RANGE_DAYS.get(given.get("range") or "MONTH")
        start = _now_millis() - days * _DAY_MILLIS if days else None
    points = await _points(node, info, _USAGE, start, None, _MOST)
    buckets = [_bucket(node, point) for point in reversed(points)]
    return {"buckets": buckets, "aggregations": _aggregated(points)}


def _bucket(node: Node, point: Value) -> Value:
    return {
        "bucket": point["timestampMillis"],
        "duration": (point.get("eventGranularity") or {}).get("unit"),
        "resource": str(node.urn),
        "metrics": {
            "uniqueUserCount": point.get("uniqueUserCount"),
            "totalSqlQueries": point.get("totalSqlQueries"),
            "topSqlQueries": point.get("topSqlQueries"),
            "users": point.get("userCounts"),
            "fields": _fields(
                {one["fieldPath"]: one["count"] for one in point.get("fieldCounts") or ()}
            ),
        },
    }


def _aggregated(points: Iterable[Value]) -> Value:
    users: Counter[str] = Counter()
    emails: dict[str, Any] = {}
    fields: Counter[str] = Counter()
    queries = 0
    for point in points:
        queries += point.get("totalSqlQueries") or 0
        for one in point.get("userCounts") or ():
            users[one["user"]] += one["count"]
            emails[one["user"]] = one.get("userEmail") or emails.get(one["user"])
        for one in point.get("fieldCounts") or ():
            fields[one["fieldPath"]] += one["count"]
    return {
        "uniqueUserCount": len(users),
        "totalSqlQueries": queries,
        "users": [
            {"user": user, "count": count, "userEmail": emails[user]}
            for user, count in users.most_common()
        ],
        "fields": _fields(dict(fields.most_common())),
    }


def _fields(counts: Mapping[str, int]) -> list[Value]:
    return [{"fieldName": path, "count": count} for path, count in counts.items()]


async def _summary(node: Node, info: Info) -> Value | None:
    start = _now_millis() - _RANGE_DAYS["MONTH"] * _DAY_MILLIS
    points = await _points(node, info, _USAGE, start, None, _MOST)
    if not points:
        return None
    found = _aggregated(points)
    return {
        "queryCountLast30Days": found["totalSqlQueries"],
        "uniqueUserCountLast30Days": found["uniqueUserCount"],
        "topUsersLast30Days": [one["user"] for one in found["users"][:_TOP_USERS]],
    }


def _top_users(summary: Value, info: Info) -> list[Any]:
    users = Urn.parse_all(summary["topUsersLast30Days"])
    return info.context.refer_all(
        [str(urn) for urn in users if urn.entity_type == "corpuser"], info
    )


async def _profiles(node: Node, info: Info, **given: Any) -> list[Value]:
    return await _asked_points(node, info, "datasetProfile", given)


async def _operations(node: Node, info: Info, **given: Any) -> list[Value]:
    return await _asked_points(node, info, "operation", given)


async def _asked_points(
    node: Node, info: Info, aspect: str, given: Mapping[str, Any]
) -> list[Value]:
    limit = given.get("limit")
    wanted = _MOST if limit is None else max(limit, 0)
    criteria = (given.get("filter") or {}).get("and") or []
    bounds = given.get("startTimeMillis"), given.get("endTimeMillis")
    # What a filter drops is not known before it is read.
    points = await _points(node, info, aspect, *bounds, _MOST if criteria else wanted)
    return [point for point in points if all(_holds(one, point) for one in criteria)][:wanted]


async def _points(
    node: Node, info: Info, aspect: str, start: int | None, end: int | None, limit: int
) -> list[Value]:
    """Documents of a timeseries aspect, newest first; both ends belong to it."""
    store, urn = info.context.catalog.store, str(node.urn)

    def read() -> list[Value]:
        found = store.points(urn, aspect, start, end, min(limit, _MOST))
        return [orjson.loads(value) for value, _ in found]

    return await info.context.catalog.offload(read)


def _holds(criterion: Value, point: Value) -> bool:
    values = criterion.get("values") or ([criterion["value"]] if criterion.get("value") else [])
    found = point.get(criterion["field"])
    return (str(found) in values) is not (criterion.get("negated") is True)


def _operation_properties(operation: Value, _info: Info) -> list[Value]:
    return [
        {"key": key, "value": text}
        for key, text in (operation.get("customProperties") or {}).items()
    ]


def _partition(operation: Value, _info: Info) -> Any:
    return (operation.get("partitionSpec") or {}).get("partition")


def _now_millis() -> int:
    return time.time_ns() // 1_000_000


RESOLVERS: Resolvers = {
    "Dataset": {
        "usageStats": _usage,
        "datasetProfiles": _profiles,
        "operations": _operations,
        "statsSummary": _summary,
    },
    "ValueFrequency": {"value": or_else("value", ""), "frequency": or_else("frequency", 0)},
    "UserUsageCounts": {"user": entity_or_null("user")},
    "DatasetStatsSummary": {"topUsersLast30Days": _top_users},
    "Operation": {"customProperties": _operation_properties, "partition": _partition},
}
