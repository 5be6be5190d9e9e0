"""How the use of a dataset, its profiles and its changes are answered, from what was measured
over time."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.filters import read_filter
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import Value, entity_or_null, or_else
from explorer.server.graphql.nodes import Info, Node
from explorer.server.timeseries import read_documents

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
_PERCENTILES = ("queryCountPercentileLast30Days", "uniqueUserPercentileLast30Days")
_EVERYTHING = Filter()


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
                    one["fieldPath"]: one.get("count")
                    for one in point.get("fieldCounts") or ()
                    if one.get("fieldPath")
                }
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
            if user := one.get("user"):
                users[user] += one.get("count") or 0
                emails[user] = one.get("userEmail") or emails.get(user)
        for one in point.get("fieldCounts") or ():
            if path := one.get("fieldPath"):
                fields[path] += one.get("count") or 0
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
    points = await _points(node, info, _USAGE, start, None, _MOST)
    profiles = await _points(node, info, "datasetProfile", None, None, 1)
    operations = await _points(node, info, "operation", start, None, 1)
    features = node.aspect("usageFeatures") or {}
    if not (points or profiles or operations or features):
        return None
    profile = profiles[0] if profiles else {}
    found: dict[str, Any] = {
        "changed": (node, start),
        "topUsersLast30Days": [],
        "rowCount": profile.get("rowCount"),
        "sizeInBytes": profile.get("sizeInBytes"),
        **{name: features.get(name) for name in _PERCENTILES},
    }
    if points:
        used = _aggregated(points)
        found["queryCountLast30Days"] = used["totalSqlQueries"]
        found["uniqueUserCountLast30Days"] = used["uniqueUserCount"]
        found["topUsersLast30Days"] = [one["user"] for one in used["users"][:_TOP_USERS]]
    return found


async def _update_count(summary: Value, info: Info) -> int:
    node, start = summary["changed"]
    return len(await _points(node, info, "operation", start, None, _MOST))


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
    filtered_by = read_filter({"or": [given["filter"]]} if given.get("filter") else None)
    bounds = given.get("startTimeMillis"), given.get("endTimeMillis")
    return await _points(node, info, aspect, *bounds, wanted, filtered_by)


async def _points(
    node: Node,
    info: Info,
    aspect: str,
    start: int | None,
    end: int | None,
    limit: int,
    filtered_by: Filter = _EVERYTHING,
) -> list[Value]:
    """Documents of a timeseries aspect, newest first; both ends belong to it."""
    catalog, most = info.context.catalog, min(limit, _MOST)
    documents = await catalog.offload(
        read_documents, catalog.store, str(node.urn), aspect, (start, end), most, filtered_by
    )
    info.context.budget.read_documents(len(documents))
    return [value for value, _, _ in documents]


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
    "DatasetStatsSummary": {
        "topUsersLast30Days": _top_users,
        "updateCountLast30Days": _update_count,
    },
    "Operation": {"customProperties": _operation_properties, "partition": _partition},
}
