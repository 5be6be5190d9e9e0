"""Timeseries aspects: usage, profiles, other points, and the measures of datasets."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from typing import Any

from explorer.client.connection import CatalogMethods, in_chunks
from explorer.client.entity import int_or, parse_value
from explorer.client.records import Measures, Timeseries
from explorer.client.transport import (
    REFUSALS,
    Json,
    Request,
    action,
    as_object,
    graphql_request,
    millis,
    value_of,
)
from explorer.errors import InvalidInput, ServerFault, Unreadable
from explorer.metadata.aspects import moment_of
from explorer.metadata.measurements import scope_of
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

Moment = datetime | date | str
"""A time, or a day as a whole: a datetime, a pandas Timestamp or a date, or one as ISO 8601 text.
Without a zone it is in UTC."""


def read_moment(moment: Moment, *, ends: bool = False) -> datetime:
    """Return a time with its zone; for a day its beginning, or with `ends` its last moment.

    Raises `InvalidInput` for anything else.
    """
    value: object = moment
    if isinstance(moment, str):
        for parse in (date.fromisoformat, datetime.fromisoformat):
            with suppress(ValueError):
                value = parse(moment.strip())
                break
    # The missing time of pandas (NaT) is not equal to itself.
    if not isinstance(value, date) or value != value:
        raise InvalidInput(
            f"{moment!r:.60} is no time; give a date or datetime, or a text such as '2026-11-01' "
            "or '2026-11-01T09:30+01:00'"
        )
    if not isinstance(value, datetime):
        value = datetime.combine(value, clock_time.max if ends else clock_time.min)
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def read_range(
    start: Moment | None, end: Moment | None, days: int | None = None
) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last moment of a range: from `start` to `end`, or the `days` days
    before `end` or now; None for an open side. Raises `InvalidInput` if the end is before the
    start."""
    first = None if start is None else read_moment(start)
    last = None if end is None else read_moment(end, ends=True)
    if days is not None:
        if first is not None or days < 1:
            raise InvalidInput("give either start, or days as a number of at least 1")
        try:
            # The last moment of a day still belongs to that day.
            first = (last or datetime.now(UTC)) - timedelta(days=days, microseconds=-1)
        except OverflowError:
            raise InvalidInput(f"{days} days ago is before the year 1") from None
    if first is not None and last is not None and last < first:
        raise InvalidInput(f"the end, {last}, is before the start, {first}")
    return first, last


def timeseries_request(
    urn: Urn,
    name: str,
    start: datetime | None,
    end: datetime | None,
    limit: int | None,
    *,
    latest: bool = False,
    filter: Filter | None = None,
) -> Request:
    """Return a request for points of a timeseries aspect between two times, both inclusive."""
    body: dict[str, Any] = {"urn": str(urn), "entity": urn.entity_type, "aspect": name}
    if start is not None:
        body["startTimeMillis"] = millis(start)
    if end is not None:
        body["endTimeMillis"] = millis(end)
    if limit is not None:
        body["limit"] = limit
    if latest:
        body["latestValue"] = True
    if filter:
        body["filter"] = filter.to_wire()
    return action("/aspects", "getTimeseriesAspectValues", body)


_LIMIT = 10_000


def parse_timeseries(body: Any, name: str, as_of: datetime | None = None) -> Timeseries:
    """Parse the points of a timeseries, and sort them oldest first; servers send the newest
    first."""
    value = value_of(body, "timeseries")
    listed = value.get("values") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to timeseries has no list of values")
    points = [(_point(entry), entry.get("systemMetadata") or {}) for entry in listed]
    points.sort(key=lambda pair: point_millis(pair[0]))
    values, systems = zip(*points, strict=True) if points else ((), ())
    return Timeseries(name, int_or(value.get("limit"), _LIMIT), values, as_of, systems)


def point_millis(point: Json) -> int:
    """Return the time of a point in milliseconds since 1970; 0 if it has none."""
    return int_or(point.get("timestampMillis"), 0)


def parse_measures(body: Any, urns: Sequence[Urn]) -> dict[Urn, Measures]:
    """Parse the measures of datasets from a GraphQL answer with the fields `d0`, `d1`, ….

    Datasets without measures are left out.
    """
    data = as_object(body, "measures").get("data")
    datasets = data if isinstance(data, dict) else {}
    pairs = ((urn, _dataset_measures(datasets.get(f"d{at}"))) for at, urn in enumerate(urns))
    return {urn: value for urn, value in pairs if value != Measures()}


def _dataset_measures(value: Any) -> Measures:
    summary = _inside(value, "statsSummary")
    changes = (
        _count(_inside(value, "operations"), "lastUpdatedTimestamp"),
        _count(_inside(_inside(value, "properties"), "lastModified"), "time"),
    )
    moments = [change for change in changes if change]
    return Measures(
        _rows(_inside(value, "datasetProfiles"), summary),
        _count(summary, "queryCountLast30Days"),
        _count(summary, "uniqueUserCountLast30Days"),
        moment_of(max(moments)) if moments else None,
    )


def _rows(profile: Any, summary: Any) -> int | None:
    """Return the row count of a table: from the latest profile if it covers the whole table, else
    from the summary, which servers take from the latest profile of the whole table, else from a
    profile of a sample."""
    spec = _inside(profile, "partitionSpec")
    kind, partition = (spec.get("type"), spec.get("partition")) if spec else (None, None)
    scope = scope_of(kind, partition)
    rows, rows_of_summary = _count(profile, "rowCount"), _count(summary, "rowCount")
    if scope == "table" and rows is not None:
        return rows
    return rows if rows_of_summary is None and scope == "sample" else rows_of_summary


def _inside(value: Any, field: str) -> Any:
    """Return the value of a field, its first element if it is a list."""
    inner = value.get(field) if isinstance(value, dict) else None
    return next(iter(inner), None) if isinstance(inner, list) else inner


def _count(value: Any, field: str) -> int | None:
    number = value.get(field) if isinstance(value, dict) else None
    return int(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def _point(entry: Any) -> Json:
    envelope = as_object(as_object(entry, "timeseries").get("aspect"), "timeseries")
    if envelope.get("value") is None:
        raise Unreadable("a timeseries point of the server has no value")
    return parse_value(envelope["value"], "timeseries value")


# The GraphQL fields with measures of a dataset, by the type and field that the server must have.
_MEASURES = {
    ("Dataset", "statsSummary"): (
        "statsSummary { queryCountLast30Days uniqueUserCountLast30Days }"
    ),
    ("Dataset", "datasetProfiles"): "datasetProfiles(limit: 1) { rowCount }",
    ("DatasetProfile", "partitionSpec"): (
        "datasetProfiles(limit: 1) { partitionSpec { type partition } }"
    ),
    ("DatasetStatsSummary", "rowCount"): "statsSummary { rowCount }",
    ("Dataset", "operations"): "operations(limit: 1) { lastUpdatedTimestamp }",
    ("DatasetProperties", "lastModified"): "properties { lastModified { time } }",
}


_MAX_POINTS = 10_000
_MEASURED_AT_ONCE = 25


class TimeseriesMethods(CatalogMethods):
    """Methods that read timeseries aspects."""

    async def timeseries(
        self,
        urn: str | Urn,
        aspect: str,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        limit: int | None = None,
        latest: bool = False,
        filter: Filter | None = None,
    ) -> Timeseries:
        """Return points of a timeseries aspect, oldest first, between two times, both inclusive.

        `start` and `end` are times or days, also as texts; without a zone they are in UTC. The
        server returns the newest points, at most `limit` or 10,000; with `latest` only the newest.
        `filter` has conditions on the points' own fields, such as `partitionSpec.partition`, for
        equality. One request. Raises `InvalidInput` for an invalid time.

        Example: `cat.timeseries(urn, "datasetProfile", limit=1)`
        """
        begin, until = read_range(start, end)
        request = timeseries_request(
            Urn.parse(urn), aspect, begin, until, limit, latest=latest, filter=filter
        )
        reply = await self._connection.ask(request)
        return parse_timeseries(reply.body, aspect, reply.as_of)

    async def every_point(
        self,
        urn: str | Urn,
        aspect: str,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        page_size: int = _MAX_POINTS,
        filter: Filter | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield all points between two times, as JSON, newest first.

        One request for each `page_size` points. Raises `InvalidInput` if more points than fit in a
        page have the same time: filter them by partition.

        Example: `list(cat.every_point(urn, "datasetProfile"))`
        """
        begin, until = read_range(start, end)
        while True:
            series = await self.timeseries(
                urn, aspect, start=begin, end=until, limit=page_size, filter=filter
            )
            newest_first = series.values[::-1]
            if not series.truncated or not newest_first:
                for point in newest_first:
                    yield point
                return
            # The page may end between points of the same time, so all points of its oldest time are
            # left to the next page.
            oldest_millis = point_millis(newest_first[-1])
            further = moment_of(oldest_millis)
            if further is None or oldest_millis == point_millis(newest_first[0]):
                raise InvalidInput(
                    f"{aspect} has more points with the same time than the server returns at once "
                    f"({series.limit}); filter them by partitionSpec.partition"
                )
            if until is not None and further >= until:
                raise ServerFault(f"the server returned points of {aspect} after the requested end")
            for point in newest_first:
                if point_millis(point) != oldest_millis:
                    yield point
            until = further

    async def usage(
        self,
        urn: str | Urn,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        days: int | None = None,
    ) -> Timeseries:
        """Return the usage statistics of a dataset, chart or dashboard, oldest first.

        Either between `start` and `end`, or in the `days` days before `end` or now; the times are
        given as for `timeseries`. `Timeseries.usage` returns typed records. One request.

        Example: `cat.usage(urn, start="2026-11-01")`
        """
        target = Urn.parse(urn)
        aspect = f"{target.entity_type}UsageStatistics"
        if aspect not in self.registry.aspects:
            raise InvalidInput(f"there are no usage statistics of a {target.entity_type}")
        begin, until = read_range(start, end, days)
        return await self.timeseries(target, aspect, start=begin, end=until)

    async def profiles(
        self,
        urn: str | Urn,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        days: int | None = None,
    ) -> Timeseries:
        """Return the profiles of a dataset, oldest first; the times are given as for `usage`.

        `Timeseries.profiles` returns typed records. One request.

        Example: `cat.profiles(urn, days=30)`
        """
        begin, until = read_range(start, end, days)
        return await self.timeseries(urn, "datasetProfile", start=begin, end=until)

    async def measures(self, urns: Iterable[str | Urn]) -> dict[Urn, Measures]:
        """Return the size, use and last change of datasets, by URN; other entities are ignored.

        Datasets without measures are left out. One request for each 25.

        Example: `cat.measures([urn])[Urn.parse(urn)].rows`
        """
        targets = dict.fromkeys(Urn.parse(urn) for urn in urns)
        datasets = [urn for urn in targets if urn.entity_type == "dataset"]
        measures: dict[Urn, Measures] = {}
        for chunk in in_chunks(datasets, _MEASURED_AT_ONCE):
            measures |= await self._measures(chunk)
        return measures

    async def _measures(self, urns: Sequence[Urn]) -> dict[Urn, Measures]:
        selections = [
            text for (kind, field), text in _MEASURES.items() if await self._offers(kind, field)
        ]
        names = range(len(urns))
        variables = ", ".join(f"$u{at}: String!" for at in names)
        each = " ".join(f"d{at}: dataset(urn: $u{at}) {{ {' '.join(selections)} }}" for at in names)
        operation = graphql_request(
            f"query measures({variables}) {{ {each} }}", {f"u{at}": str(urns[at]) for at in names}
        )
        try:
            body = await self._connection.send(operation)
        except REFUSALS:
            # The server has no measures, or another GraphQL schema.
            return {}
        return parse_measures(body, urns)
