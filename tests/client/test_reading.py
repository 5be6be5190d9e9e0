"""Entities, aspects and points in time, read by every form of the client."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pandas as pd
import pytest

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.graph.analysis import QueryUsage, total_usage
from explorer.metadata import Proposal, Urn
from explorer.metadata.aspects import (
    DatasetProperties,
    Ownership,
    SchemaMetadata,
    Status,
    TagProperties,
)
from explorer.query import Criterion, all_of
from explorer.views.timeseries import read_profiles, usage_of

ORDERS = Urn.dataset("hive", "reading/of orders+ü")
MARA = Urn.parse("urn:li:corpuser:mara")
DAY = timedelta(days=1)
FIRST = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True, scope="module")
def _written(client: Any) -> None:
    client.ingest(Proposal(ORDERS, "datasetProperties", {"description": "All orders."}))
    owners = {"owners": [{"owner": str(MARA), "type": "DATAOWNER"}]}
    client.ingest(Proposal(ORDERS, "ownership", owners))
    for at in range(3):
        client.ingest(Proposal(ORDERS, "datasetUsageStatistics", window(at, partition=f"p{at}")))


def window(day: Any, **more: Any) -> Any:
    partition = more.pop("partition", None)
    spec = {"partitionSpec": {"partition": partition, "type": "PARTITION"}} if partition else {}
    stands = int((FIRST + day * DAY).timestamp() * 1000)
    return {"timestampMillis": stands, "totalSqlQueries": day, **spec, **more}


def test_a_record_is_typed_and_nothing_where_the_entity_lacks_it(client: Any) -> None:
    assert client.record(ORDERS, DatasetProperties).description == "All orders."
    assert client.record(ORDERS, Ownership).owners[0].owner == str(MARA)
    assert client.record(ORDERS, SchemaMetadata) is None
    assert client.record(ORDERS, DatasetProperties, 99) is None
    assert client.record("urn:li:tag:nowhere", TagProperties) is None


def test_a_record_of_no_aspect_is_refused(client: Any) -> None:
    from explorer.metadata.aspects import Owner

    with pytest.raises(InvalidInput, match="Owner is not the record of an aspect"):
        client.record(ORDERS, Owner)


def test_an_entity_exists_once_it_was_written_and_also_when_it_is_removed(client: Any) -> None:
    gone = Urn.parse(f"urn:li:tag:{uuid4()}")
    assert not client.exists(gone)
    client.ingest(Proposal(gone, "tagProperties", {"name": "gone"}))
    client.ingest(Proposal(gone, "status", {"removed": True}))
    assert client.exists(gone)
    assert client.entity(gone).removed
    assert client.record(gone, Status).removed
    assert not client.entity(ORDERS).removed


def test_a_snapshot_holds_the_same_values_under_the_same_names(client: Any) -> None:
    old, new = client.legacy_entity(ORDERS), client.entity(ORDERS)
    assert old.urn == ORDERS
    assert {"datasetKey", "datasetProperties", "ownership"} <= set(old.aspects)
    for name, read in old.aspects.items():
        assert read.value == new.raw(name)
    with pytest.raises(NotFound):
        client.legacy_entity("urn:li:container:c")


def test_many_entities_come_in_the_order_asked_for_and_once(client: Any) -> None:
    urns = [Urn.parse(f"urn:li:tag:reading-{at}") for at in range(320)]
    report = client.ingest_batch(Proposal(urn, "tagProperties", {"name": urn.name}) for urn in urns)
    assert report.written_count == 320
    asked = [*reversed(urns), str(urns[0])]
    found = client.entities(asked, ["tagProperties"])
    assert list(found) == list(reversed(urns))
    assert all(found[urn].name == urn.name for urn in urns)
    assert client.entities([]) == {}


def test_an_audit_stamp_is_a_moment_and_keeps_its_milliseconds(client: Any) -> None:
    read = client.entity(ORDERS).aspects["ownership"]
    assert read.created.at == datetime.fromtimestamp(read.created.time / 1000, UTC)
    assert abs(datetime.now(UTC) - read.created.at) < DAY


def test_points_are_read_between_two_moments_of_any_zone(client: Any) -> None:
    east = timezone(timedelta(hours=5))
    series = client.timeseries(
        ORDERS, "datasetUsageStatistics", start=(FIRST + DAY).astimezone(east), end=FIRST + 2 * DAY
    )
    assert [point.total_sql_queries for point in series.usage()] == [1, 2]
    assert series.usage()[0].at == FIRST + DAY
    assert not series.truncated


SECOND = FIRST + DAY


@pytest.mark.parametrize(
    "start",
    [
        SECOND,
        SECOND.astimezone(timezone(timedelta(hours=5))),
        SECOND.replace(tzinfo=None),
        SECOND.date(),
        SECOND.date().isoformat(),
        SECOND.isoformat(),
        SECOND.astimezone(timezone(timedelta(hours=-8))).isoformat(),
        pd.Timestamp(SECOND),
        pd.Timestamp(SECOND).tz_convert("Asia/Kolkata"),
        pd.Timestamp(SECOND).tz_localize(None),
    ],
    ids=repr,
)
def test_a_range_begins_at_any_kind_of_time(client: Any, start: Any) -> None:
    series = client.timeseries(ORDERS, "datasetUsageStatistics", start=start)
    assert series.usage()[0].at == SECOND
    assert client.usage(ORDERS, start=start).values == series.values
    # The whole day, also at its end.
    one_day = client.usage(ORDERS, start=start, end=SECOND.date())
    assert [point.at for point in one_day.usage()] == [SECOND]
    assert client.usage(ORDERS, days=1, end=str(SECOND.date())).values == one_day.values


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"start": "yesterday"}, "'yesterday' is no time; give a date or datetime"),
        ({"end": 7}, "7 is no time"),
        ({"start": pd.NaT}, "NaT is no time"),
        ({"start": "2026-01-02", "end": "2026-01-01"}, "is before the start"),
    ],
)
def test_what_is_no_range_is_refused_before_anything_is_asked(
    client: Any, bounds: Any, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        client.timeseries(ORDERS, "datasetProfile", **bounds)


def test_the_latest_point_alone_and_those_of_a_partition(client: Any) -> None:
    latest = client.timeseries(ORDERS, "datasetUsageStatistics", latest=True)
    assert [point.total_sql_queries for point in latest.usage()] == [2]
    of_one = all_of(Criterion("partitionSpec.partition", ("p1",)))
    found = client.timeseries(ORDERS, "datasetUsageStatistics", filter=of_one)
    assert [point.total_sql_queries for point in found.usage()] == [1]


def test_at_the_limit_there_may_be_more_and_every_point_gets_all(client: Any) -> None:
    series = client.timeseries(ORDERS, "datasetUsageStatistics", limit=2)
    assert series.truncated
    assert [point.total_sql_queries for point in series.usage()] == [1, 2]
    found = client.every_point(ORDERS, "datasetUsageStatistics", page_size=2)
    assert [point["totalSqlQueries"] for point in found] == [2, 1, 0]


def test_use_and_profiles_of_the_last_days(client: Any) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    profile = {"timestampMillis": int(today.timestamp() * 1000), "rowCount": 7}
    client.ingest(Proposal(ORDERS, "datasetProfile", profile))
    assert [profile.row_count for profile in client.profiles(ORDERS, days=1).profiles()] == [7]
    assert client.usage(ORDERS, days=1).values == ()
    assert len(client.usage(ORDERS, days=2, end=FIRST + 2 * DAY).values) == 3
    assert len(client.usage(ORDERS, start=FIRST + DAY, end=FIRST + DAY).values) == 1
    with pytest.raises(InvalidInput, match="give either start, or days"):
        client.usage(ORDERS, days=2, start=FIRST)
    with pytest.raises(InvalidInput, match="no usage statistics of a tag"):
        client.usage("urn:li:tag:x")


def test_rows_use_and_the_last_change_of_many_datasets_are_one_request(client: Any) -> None:
    table, other = Urn.dataset("hive", "reading.measured"), Urn.dataset("hive", "reading.bare")
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    now = int(today.timestamp() * 1000)
    points = {
        "datasetProfile": {"timestampMillis": now, "rowCount": 7},
        "datasetUsageStatistics": {"timestampMillis": now, "totalSqlQueries": 5},
        "operation": {
            "timestampMillis": now,
            "lastUpdatedTimestamp": 86_400_000,
            "operationType": "INSERT",
        },
    }
    for name, value in points.items():
        client.ingest(Proposal(table, name, value))
    client.ingest(Proposal(other, "status", {"removed": False}))
    # The first time, the server is asked what it measures.
    client.measures([table])
    asked: list[Any] = []
    client.watch(asked.append)
    found = client.measures([table, str(other), "urn:li:tag:x", table])
    client.watch(None)
    assert len(asked) == 1
    assert (found[table].rows, found[table].queries) == (7, 5)
    assert found[table].changed == datetime(1970, 1, 2, tzinfo=UTC)
    assert other not in found
    assert client.measures([]) == {}


def test_every_reader_counts_each_use_once_and_takes_no_part_for_the_table(client: Any) -> None:
    table = Urn.dataset("hive", "reading.kinds")
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = int((today - DAY).timestamp() * 1000)

    def ingest(aspect: str, at: int, **value: Any) -> None:
        client.ingest(Proposal(table, aspect, {"timestampMillis": at, **value}))

    def use(at: int, unit: str, count: int, source: str) -> None:
        ingest(
            "datasetUsageStatistics",
            at,
            eventGranularity={"unit": unit, "multiple": 1},
            messageId=source,
            totalSqlQueries=count,
            uniqueUserCount=1,
            userCounts=[{"user": f"urn:li:corpuser:{source}", "count": count}],
            fieldCounts=[{"fieldPath": "a", "count": count}],
        )

    for source, count in (("morning", 3), ("evening", 2)):
        use(start, "DAY", count, source)
    for hour in range(24):
        use(start + hour * 3_600_000, "HOUR", 100, "hourly")
    parts: dict[int, dict[str, Any]] = {
        0: {"rowCount": 1_000},
        1: {"rowCount": 7, "partitionSpec": {"type": "PARTITION", "partition": "day=1"}},
        2: {"rowCount": 90, "partitionSpec": {"type": "QUERY", "partition": "SAMPLE 10%"}},
    }
    for at, value in parts.items():
        ingest("datasetProfile", start + at, **value)

    series = client.usage(table, days=30)
    (window,) = series.usage()
    assert (window.total_sql_queries, window.unique_user_count) == (5, 2)
    assert [(used.field_path, used.count) for used in window.field_counts] == [("a", 5)]
    assert usage_of(series).total == 5
    assert total_usage(series) == QueryUsage(5, 2)
    measured = client.measures([table])[table]
    assert (measured.rows, measured.queries, measured.users) == (1_000, 5, 2)
    query = """query q($u: String!) { dataset(urn: $u) { usageStats {
      aggregations { totalSqlQueries } buckets { metrics { totalSqlQueries uniqueUserCount } }
    } } }"""
    stats = client.graphql(query, {"u": str(table)})["dataset"]["usageStats"]
    assert stats["aggregations"] == {"totalSqlQueries": 5}
    assert stats["buckets"] == [{"metrics": {"totalSqlQueries": 5, "uniqueUserCount": 2}}]
    assert [hit.urn for hit in client.search("reading.kinds", filter="rows:1000")] == [table]
    assert read_profiles(client.profiles(table)).caution == "2 profiles of parts left out"


def test_what_was_done_is_read_as_operations(client: Any) -> None:
    told = {
        "timestampMillis": int(FIRST.timestamp() * 1000),
        "lastUpdatedTimestamp": 5,
        "operationType": "INSERT",
        "numAffectedRows": 12,
    }
    client.ingest(Proposal(ORDERS, "operation", told))
    (done,) = client.timeseries(ORDERS, "operation").operations()
    assert (done.operation_type, done.num_affected_rows, done.at) == ("INSERT", 12, FIRST)


def test_a_point_of_another_shape_is_the_servers_fault_when_it_is_typed(client: Any) -> None:
    series = client.timeseries(ORDERS, "datasetUsageStatistics")
    with pytest.raises(ServerFault, match="Status"):
        type(series)("status", 1, ({"removed": {"a": 1}},)).records(Status)


def test_fields_no_record_names_stay_in_the_value(client: Any) -> None:
    urn = Urn.dataset("hive", "reading.unknown")
    value = {"description": "d", "customProperties": {"a": "b"}, "tags": ["x"]}
    client.ingest(Proposal(urn, "datasetProperties", value))
    read = client.aspect(urn, "datasetProperties")
    assert json.loads(json.dumps(read.value)) == value
    assert client.record(urn, DatasetProperties).custom_properties == {"a": "b"}
