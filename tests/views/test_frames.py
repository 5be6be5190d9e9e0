"""Frames have the columns and dtypes that they are documented to have, for any number of rows."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import pandas as pd
import pytest

from explorer.client.entity import AspectRead, Entity, read_schema
from explorer.client.records import (
    AspectDiff,
    ChangeEvent,
    ColumnChange,
    Edge,
    Edges,
    Hit,
    Match,
    Origin,
    Run,
    SearchPage,
    Timeseries,
    Version,
    Versions,
    difference,
)
from explorer.errors import ServerFault
from explorer.metadata.aspects import (
    AuditStamp,
    EditableSchemaMetadata,
    Owner,
    SchemaMetadata,
    read_aspect,
)
from explorer.metadata.urn import Urn
from explorer.views import columns, history, lineage, search, timeseries
from explorer.views import entity as entity_views
from explorer.views.table import Table, to_frame

ORDERS = Urn.dataset("hive", "shop.orders")
MARA = Urn.parse("urn:li:corpuser:mara")
DAY_MILLIS = 86_400_000


def entity(urn: Any, **aspects: Any) -> Any:
    return Entity(urn, {name: AspectRead(name, 0, value) for name, value in aspects.items()})


def usage(*points: Any) -> Any:
    return Timeseries("datasetUsageStatistics", 10_000, points)


@pytest.fixture
def schema() -> Any:
    field = {"type": {"type": {"com.linkedin.schema.StringType": {}}}, "nativeDataType": "text"}
    ingested = {
        "fields": [
            {"fieldPath": "a", "nativeDataType": "struct", "description": "An a.", **field},
            {"fieldPath": "a.b", "nullable": True, "isPartOfKey": True, **field},
        ]
    }
    edited = {
        "editableSchemaFieldInfo": [
            {"fieldPath": "a.b", "description": "A *b*.\n", "globalTags": {"tags": [TAG]}}
        ]
    }
    return read_schema(
        read_aspect(ingested, SchemaMetadata), read_aspect(edited, EditableSchemaMetadata)
    )


TAG = {"tag": "urn:li:tag:PII"}


def test_hits_are_rows_in_order_ranked_from_the_start_of_the_page() -> None:
    chart = Urn.of("chart", "looker", "1")
    page = SearchPage(
        "orders", 20, 42, (Hit(ORDERS, (Match("name", "x"), Match("name", "y"))), Hit(chart))
    )
    summaries = {
        ORDERS: entity(
            ORDERS,
            datasetProperties={"name": "orders", "description": "ingested"},
            editableDatasetProperties={"description": "edited"},
            ownership={"owners": [{"owner": str(MARA), "type": "DATAOWNER"}]},
            globalTags={"tags": [TAG, {"tag": "urn:li:tag:Finance"}]},
        )
    }
    frame = to_frame(search.search_table(page, summaries, start=page.start))
    assert list(frame.index) == [20, 21]
    assert frame[["rows", "queries", "changed"]].isna().all(axis=None)
    first, second = frame.drop(columns=["rows", "queries", "changed"]).to_dict("records")
    assert first == {
        "urn": str(ORDERS),
        "name": "orders",
        "type": "dataset",
        "platform": "hive",
        "description": "edited",
        "edited": True,
        "owners": ["mara"],
        "owner_urns": [str(MARA)],
        "tags": ["PII", "Finance"],
        "tag_urns": ["urn:li:tag:PII", "urn:li:tag:Finance"],
        "matched": ["name"],
    }
    assert (second["name"], second["platform"]) == ("1", "looker")
    assert second["owners"] is None
    assert frame["description"].isna().tolist() == [False, True]


def test_columns_are_rows_with_both_texts_apart(schema: Any) -> None:
    frame = to_frame(columns.columns_table("", schema))
    assert list(frame["path"]) == ["a", "a.b"]
    assert list(frame["depth"]) == [0, 1]
    assert list(frame["key"]) == [False, True]
    below = frame.iloc[1]
    assert (below["name"], below["type"], below["native_type"]) == ("b", "string", "text")
    assert below["edited"] == "A *b*.\n"
    assert below["ingested"] is pd.NA
    assert (below["tags"], below["tag_urns"]) == (["PII"], ["urn:li:tag:PII"])


def test_owners_and_edges_are_called_by_the_names_known() -> None:
    owners = [Owner(str(MARA), "DATAOWNER"), Owner("somebody", "NONE")]
    frame = to_frame(entity_views.owners_table(owners, {MARA: "Mara Lind"}))
    assert list(frame["name"]) == ["Mara Lind", "somebody"]
    assert frame["type"].tolist() == ["corpuser", pd.NA]

    groups = [
        Edges("OUTGOING", 1, (Edge("OwnedBy", MARA),)),
        Edges("INCOMING", 1, (Edge("DownstreamOf", ORDERS),)),
    ]
    frame = to_frame(entity_views.edges_table(groups, {MARA: "Mara Lind"}))
    assert list(frame["direction"]) == ["OUTGOING", "INCOMING"]
    assert list(frame["name"]) == ["Mara Lind", "shop.orders"]
    assert frame["platform"].tolist() == [pd.NA, "hive"]


def test_usage_is_a_series_in_utc_and_what_is_not_said_is_missing() -> None:
    series = usage(
        {"timestampMillis": 0, "totalSqlQueries": 5, "fieldCounts": [_used("a", 2), _used("b", 1)]},
        {"timestampMillis": DAY_MILLIS, "uniqueUserCount": 3},
    )
    frame = to_frame(timeseries.usage_windows_table(series))
    assert frame.index[1] == datetime(1970, 1, 2, tzinfo=UTC)
    assert frame["queries"].tolist() == [5, pd.NA]
    assert frame["users"].tolist() == [pd.NA, 3]
    assert frame["queries"].sum() == 5
    assert frame.resample("2D").sum()["queries"].tolist() == [5]

    column_frame = to_frame(timeseries.column_usage_table(series))
    assert column_frame.groupby("path")["count"].sum().to_dict() == {"a": 2, "b": 1}


def test_profiles_are_a_series_for_the_table_and_one_for_its_columns() -> None:
    series = Timeseries(
        "datasetProfile",
        10_000,
        (
            {
                "timestampMillis": DAY_MILLIS,
                "rowCount": 2**40,
                "columnCount": 2,
                "sizeInBytes": 2**50,
                "fieldProfiles": [
                    {
                        "fieldPath": "a",
                        "nullProportion": 0.25,
                        "min": "1",
                        "max": "2026-01-01",
                        "mean": "1_000",
                        "stdev": "0.5",
                        "sampleValues": ["x", "y"],
                    }
                ],
            },
        ),
    )
    assert to_frame(timeseries.profiles_table(series))["rows"].tolist() == [2**40]
    column_frame = to_frame(timeseries.column_profiles_table(series))
    row = column_frame.iloc[0]
    assert to_frame(timeseries.profiles_table(series))["bytes"].tolist() == [2**50]
    assert (row["path"], row["null_proportion"], row["min"]) == ("a", 0.25, 1.0)
    # A date is no number, and no database writes a number with underscores.
    assert row[["max", "mean"]].tolist() == [pd.NA, pd.NA]
    assert (row["stdev"], row["min_text"], row["max_text"]) == (0.5, "1", "2026-01-01")
    assert row["sample_values"] == ["x", "y"]
    assert column_frame["unique_count"].tolist() == [pd.NA]


def test_a_moment_far_outside_the_calendar_is_kept() -> None:
    frame = to_frame(
        timeseries.usage_windows_table(usage({"timestampMillis": 253_402_300_800_000 * 10}))
    )
    assert cast(Any, frame.index).asi8.tolist() == [253_402_300_800_000 * 10]


def test_a_point_of_another_shape_is_told_as_the_servers_fault() -> None:
    with pytest.raises(ServerFault, match="DatasetUsageStatistics"):
        to_frame(timeseries.usage_windows_table(usage({"timestampMillis": "yesterday"})))


class Flow(NamedTuple):
    upstream: str
    downstream: Urn
    relationship: str


def versions(*found: Any) -> Any:
    return Versions(ORDERS, "status", found)


def diff(before: Any, after: Any) -> Any:
    found = difference(before, after)
    return AspectDiff(ORDERS, "status", Version(1, before), Version(0, after), found)


def test_entities_are_rows_with_all_that_a_list_tells() -> None:
    said = entity(
        ORDERS,
        datasetProperties={"description": "ingested"},
        status={"removed": True},
        domains={"domains": ["urn:li:domain:sales"]},
        glossaryTerms={"terms": [{"urn": "urn:li:glossaryTerm:Order"}]},
        deprecation={"deprecated": True, "note": ""},
    )
    frame = to_frame(search.entities_table([said, entity(MARA)]))
    first, second = frame.to_dict("records")
    assert (first["description"], first["edited"]) == ("ingested", False)
    assert (first["domain"], first["terms"]) == ("sales", ["Order"])
    assert (first["domain_urn"], first["term_urns"]) == (
        "urn:li:domain:sales",
        ["urn:li:glossaryTerm:Order"],
    )
    assert (first["removed"], first["deprecated"]) == (True, True)
    assert (second["type"], second["removed"]) == ("corpuser", False)
    assert frame["owners"].tolist() == [[], []]


def test_edges_of_lineage_say_both_ends() -> None:
    chart = Urn.of("chart", "looker", "1")
    summaries = {
        ORDERS: entity(
            ORDERS, datasetProperties={"name": "Orders"}, subTypes={"typeNames": ["View"]}
        )
    }
    frame = to_frame(
        lineage.edges_table(
            [Flow(str(ORDERS), chart, "Consumes"), Flow("no urn", chart, "")], summaries
        )
    )
    assert frame["upstream_name"].tolist() == ["Orders", "no urn"]
    assert frame["upstream_type"].tolist() == ["View", pd.NA]
    assert frame["downstream"].tolist() == [str(chart)] * 2
    assert frame["downstream_type"].tolist() == ["chart", "chart"]
    assert frame["relationship"].tolist() == ["Consumes", pd.NA]


def test_versions_stand_at_the_moment_they_were_written_oldest_first() -> None:
    frame = to_frame(
        history.versions_table(
            versions(
                Version(0, {"b": "ü"}, AuditStamp(DAY_MILLIS, str(MARA)), "run-2"), Version(1, {})
            )
        )
    )
    assert frame["version"].tolist() == [1, 0]
    assert frame.index[0] is pd.NaT
    assert frame.index[1] == datetime(1970, 1, 2, tzinfo=UTC)
    assert frame["actor"].tolist() == [pd.NA, str(MARA)]
    assert frame["run"].tolist() == [pd.NA, "run-2"]
    assert frame["value"].tolist() == ["{}", '{"b":"ü"}']


def test_changes_are_rows_with_texts_as_they_are() -> None:
    frame = to_frame(history.differences_table(diff({"a": "x\n", "b": 1}, {"a": "y", "c": [1]})))
    assert frame["path"].tolist() == ["/a", "/b", "/c"]
    assert frame["kind"].tolist() == ["changed", "removed", "added"]
    assert frame["before"].tolist() == ["x\n", "1", pd.NA]
    assert frame["after"].tolist() == ["y", pd.NA, "[1]"]


def change(origin: Origin = "edited", millis: Any = DAY_MILLIS) -> Any:
    stamp = AuditStamp(millis, str(MARA)) if millis else None
    return ColumnChange("a", origin, None, "text", 3, stamp, "run-1")


EVENT = ChangeEvent(
    7,
    ORDERS,
    "status",
    "UPSERT",
    {"removed": True},
    None,
    datetime(1970, 1, 2, tzinfo=UTC),
    str(MARA),
)


def test_changes_of_columns_say_who_and_when() -> None:
    frame = to_frame(
        history.column_changes_table("", [change(), change("ingested", 0)], {MARA: "Mara Berg"})
    )
    assert frame["time"].tolist() == [pd.Timestamp("1970-01-02", tz="UTC"), pd.NaT]
    assert frame["who"].tolist() == ["Mara Berg", pd.NA]
    assert frame[["origin", "after", "version", "run"]].iloc[0].tolist() == [
        "edited",
        "text",
        3,
        "run-1",
    ]


def test_events_and_runs_are_rows_in_order() -> None:
    events = to_frame(
        history.events_table("", [EVENT, replace(EVENT, value=None)], {ORDERS: "Orders"})
    )
    assert events["name"].tolist() == ["Orders", "Orders"]
    assert events["who"].tolist() == ["mara", "mara"]
    assert events["value"].tolist() == ['{"removed":true}', pd.NA]
    runs = to_frame(history.runs_table([Run("nightly", datetime(1970, 1, 2, tzinfo=UTC), 3)]))
    assert runs.iloc[0].tolist() == ["nightly", pd.Timestamp("1970-01-02", tz="UTC"), 3]


def test_users_and_queries_are_rows_for_each_window() -> None:
    window = {
        "timestampMillis": DAY_MILLIS,
        "userCounts": [{"user": str(MARA), "count": 3}, {"userEmail": "x@y.example", "count": 1}],
        "topSqlQueries": ["select 1", "select 2"],
    }
    users = to_frame(timeseries.user_usage_table(usage(window), {MARA: "Mara Berg"}))
    assert users["name"].tolist() == ["Mara Berg", "x@y.example"]
    assert users["queries"].tolist() == [3, 1]
    queries = to_frame(
        timeseries.query_usage_table(usage(window, {"timestampMillis": 2 * DAY_MILLIS}))
    )
    assert queries["query"].tolist() == ["select 1", "select 2"]
    assert queries.index[0] == datetime(1970, 1, 2, tzinfo=UTC)


def name_of_view(describe: Callable[..., Table]) -> str:
    return f"{describe.__module__.rpartition('.')[2]}.{describe.__name__}"


WINDOW = {
    "timestampMillis": 1,
    "topSqlQueries": ["select 1"],
    "userCounts": [{"user": str(MARA), "count": 1}],
    "fieldCounts": [{"fieldPath": "a", "count": 1}],
}
PROFILE = {"timestampMillis": 1, "rowCount": 1, "fieldProfiles": [{"fieldPath": "a"}]}
TABLES: dict[Callable[..., Table], tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    entity_views.edges_table: (([Edges("INCOMING", 1, (Edge("OwnedBy", MARA),))], {}), ([], {})),
    entity_views.owners_table: (([Owner(str(MARA))], {}), ([], {})),
    history.column_changes_table: (("", [change()], {}), ("", [], {})),
    history.differences_table: ((diff({}, {"removed": True}),), (diff({}, {}),)),
    history.events_table: (("", [EVENT], {}), ("", [], {})),
    history.runs_table: (([Run("nightly", EVENT.at, 3)],), ([],)),
    history.versions_table: ((versions(Version(0, {}, AuditStamp(1))),), (versions(),)),
    lineage.edges_table: (([Flow(str(ORDERS), ORDERS, "DownstreamOf")],), ([],)),
    search.entities_table: (([entity(ORDERS)],), ([],)),
    search.search_table: (([Hit(ORDERS)],), ([],)),
    timeseries.column_profiles_table: ((usage(PROFILE),), (usage(),)),
    timeseries.column_usage_table: ((usage(WINDOW),), (usage(),)),
    timeseries.profiles_table: ((usage(PROFILE),), (usage(),)),
    timeseries.query_usage_table: ((usage(WINDOW),), (usage(),)),
    timeseries.usage_windows_table: ((usage(WINDOW),), (usage(),)),
    timeseries.user_usage_table: ((usage(WINDOW), {}), (usage(), {})),
}


@pytest.mark.parametrize("describe", TABLES, ids=name_of_view)
def test_no_rows_have_the_columns_and_dtypes_of_some(describe: Callable[..., Table]) -> None:
    some, none = (to_frame(describe(*given)) for given in TABLES[describe])
    assert len(some) == 1
    assert none.empty
    assert some.dtypes.to_dict() == none.dtypes.to_dict()
    assert some.index.dtype == none.index.dtype
    assert some.index.name == none.index.name


@pytest.mark.parametrize("describe", [*TABLES, columns.columns_table], ids=name_of_view)
def test_every_column_stands_in_the_docstring_with_its_dtype(
    describe: Callable[..., Table], schema: Any
) -> None:
    given = TABLES[describe][0] if describe in TABLES else ("", schema)
    documented: dict[str, Any] = {}
    for line in (describe.__doc__ or "").splitlines():
        dtypes = r"string|bool|int64|Int64|Float64|object|datetime64\S+ UTC\]"
        found = re.match(rf" *((?:\w+, )*\w+) {{2,}}({dtypes})", line)
        if found:
            documented |= dict.fromkeys(found[1].split(", "), found[2])
    frame = to_frame(describe(*given))
    assert documented == {column: str(dtype) for column, dtype in frame.dtypes.items()}


@pytest.mark.parametrize("describe", TABLES, ids=name_of_view)
def test_all_times_have_one_resolution(describe: Callable[..., Table]) -> None:
    frame = to_frame(describe(*TABLES[describe][0]))
    kinds = {frame.index.dtype, *frame.dtypes}
    assert {str(kind) for kind in kinds if "datetime" in str(kind)} <= {"datetime64[ms, UTC]"}


def _used(path: Any, count: Any) -> Any:
    return {"fieldPath": path, "count": count}
