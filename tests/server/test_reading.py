"""Reading: whole entities, single aspects, documents over time, and hostile URNs."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.conftest import Caller

HOSTILE = [
    "db/sch/table",
    "100%25done",
    "100%",
    "a+b c",
    "ünïcode.表",
    "quote'd\"x",
    "semi;colon&and=eq?q#h",
]


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_urn_in_a_path_is_decoded_exactly_once(caller: Caller, name: Any) -> None:
    urn = hive(name)
    caller.ingest(urn, "datasetProperties", {"description": name})
    for path in ("/entitiesV2", "/entities", "/aspects"):
        answer = caller.get(f"{path}/{quote(urn, safe='')}?aspect=datasetProperties")
        assert answer.status_code == 200, path
        assert name in json.dumps(answer.json(), ensure_ascii=False).replace('\\"', '"')


def test_a_path_takes_raw_parentheses_commas_and_slashes(caller: Caller) -> None:
    urn = hive("raw/path.name")
    caller.ingest(urn, "status", {"removed": False})
    assert caller.get(f"/entitiesV2/{urn}").json()["urn"] == urn
    assert "status" in caller.get(f"/entitiesV2/{urn}").json()["aspects"]


def test_a_urn_in_a_query_is_decoded_exactly_once(caller: Caller) -> None:
    urn = hive("q%2Cuery/x")
    owners = [{"owner": "urn:li:corpuser:querying", "type": "NONE"}]
    caller.ingest(urn, "ownership", {"owners": owners})
    for spelled in (quote(urn, safe=""), urn.replace("%", "%25")):
        path = f"/relationships?direction=OUTGOING&types=OwnedBy&urn={spelled}"
        assert caller.get(path).json()["entities"] == ["urn:li:corpuser:querying"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?aspects=List(status)", {"datasetKey", "status"}),
        ("?aspects=List(status,ownership)", {"datasetKey", "status", "ownership"}),
        ("?aspects=List%28ownership%2Cstatus%29", {"datasetKey", "status", "ownership"}),
        ("?aspects=List(ownership,%20status)", {"datasetKey", "status", "ownership"}),
        ("?aspects=status&aspects=ownership", {"datasetKey", "status", "ownership"}),
        ("?aspects=List(nonsense)", {"datasetKey"}),
        ("?aspects=List()", {"datasetKey"}),
        (
            "",
            {
                "datasetKey",
                "dataPlatformInstance",
                "browsePaths",
                "status",
                "ownership",
                "globalTags",
            },
        ),
    ],
)
def test_the_aspects_of_a_read_can_be_named(caller: Caller, query: str, names: Any) -> None:
    urn = hive("named.aspects")
    caller.ingest(urn, "status", {"removed": False})
    caller.ingest(urn, "ownership", {"owners": []})
    caller.ingest(urn, "globalTags", {"tags": []})
    assert set(caller.entity(urn, query)["aspects"]) == names


def test_an_unclosed_list_is_refused(caller: Caller) -> None:
    answer = caller.get(f"/entitiesV2/{hive('x')}?aspects=List(status")
    assert answer.status_code == 400
    assert "not closed" in answer.json()["message"]


def test_a_urn_never_written_reads_as_its_key_alone_and_its_aspect_as_404(caller: Caller) -> None:
    urn = hive("never.written")
    key = {"platform": "urn:li:dataPlatform:hive", "name": "never.written", "origin": "PROD"}
    aspects = caller.entity(urn)["aspects"]
    assert {name: aspect["value"] for name, aspect in aspects.items()} == {"datasetKey": key}
    assert caller.version(urn, "datasetKey", 0).status_code == 404
    ((_, snapshot),) = caller.get(f"/entities/{quote(urn)}").json()["value"].items()
    assert [list(aspect.values()) for aspect in snapshot["aspects"]] == [[key]]


def test_many_entities_are_read_in_one_call(caller: Caller) -> None:
    urns = [hive(f"many/of,{n}") if n == 7 else hive(f"many/of.{n}") for n in range(12) if n != 7]
    for urn in urns:
        caller.ingest(urn, "ownership", {"owners": []})
        caller.ingest(urn, "status", {"removed": False})
    ids = ",".join(quote(urn, safe="") for urn in [*urns, hive("many.missing")])
    for some in (ids, ",".join(ids.split(",")[:2])):
        path = f"/entitiesV2?ids=List({some})&aspects=List(status)"
        answer = caller.get(path, **{"X-RestLi-Method": "batch_get"}).json()
        assert set(answer) == {"results", "statuses", "errors"}
        for urn in urns[:2]:
            assert answer["results"][urn]["urn"] == urn
            assert set(answer["results"][urn]["aspects"]) == {"datasetKey", "status"}
    assert list(answer["results"]) == urns[:2]


def test_a_snapshot_read_holds_each_aspect_under_its_record(caller: Caller) -> None:
    urn = "urn:li:corpuser:snapped"
    caller.ingest(urn, "corpUserInfo", {"active": True, "displayName": "S"})
    answer = caller.get(f"/entities/{quote(urn)}")
    assert answer.headers["deprecation"] == "true"
    assert answer.json() == {
        "value": {
            "com.vendor.metadata.snapshot.CorpUserSnapshot": {
                "urn": urn,
                "aspects": [
                    {"com.vendor.metadata.key.CorpUserKey": {"username": "snapped"}},
                    {
                        "com.vendor.identity.CorpUserInfo": {
                            "active": True,
                            "displayName": "S",
                        }
                    },
                ],
            }
        }
    }


@pytest.mark.parametrize(
    ("headers", "prefix"),
    [
        ({}, "com.vendor."),
        ({"X-DataHub-Client-Mode": "SDK"}, "com.linkedin."),
        ({"User-Agent": "DataHub-Client/1.0 (cli; ; 1.7)"}, "com.linkedin."),
        ({"User-Agent": "DataHub-Client/1.0", "X-Catalog-Dialect": "plain"}, "com.vendor."),
        ({"X-Catalog-Dialect": "datahub"}, "com.linkedin."),
    ],
)
def test_record_names_follow_the_dialect_and_values_do_not(
    caller: Caller, headers: Any, prefix: str
) -> None:
    urn = hive("dialects")
    schema = {"com.linkedin.schema.OtherSchema": {"rawSchema": "x"}}
    value = {
        "schemaName": "s",
        "platform": "urn:li:dataPlatform:hive",
        "version": 0,
        "hash": "",
        "platformSchema": schema,
        "fields": [],
    }
    caller.ingest(urn, "schemaMetadata", value)
    answer = caller.get(f"/aspects/{quote(urn)}?aspect=schemaMetadata", **headers).json()
    assert answer["aspect"] == {f"{prefix}schema.SchemaMetadata": value}
    (snapshot,) = caller.get(f"/entities/{quote(urn)}", **headers).json()["value"]
    assert snapshot == f"{prefix}metadata.snapshot.DatasetSnapshot"


def test_an_unknown_dialect_is_refused(caller: Caller) -> None:
    answer = caller.get(f"/entities/{quote(hive('x'))}", **{"X-Catalog-Dialect": "klingon"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("aspect=nonsense", 404),
        ("aspect=status&version=9", 404),
        ("aspect=status&version=x", 400),
        ("aspect=status&version=99999999999999999999", 404),
        ("version=0", 400),
    ],
)
def test_a_point_lookup_that_finds_nothing_is_404(caller: Caller, query: str, status: int) -> None:
    urn = hive("lookup")
    caller.ingest(urn, "status", {"removed": False})
    assert caller.get(f"/aspects/{quote(urn)}?{query}").status_code == status


def test_existence_can_leave_out_what_is_soft_deleted(caller: Caller, dataset: str) -> None:
    assert not caller.exists(dataset)
    caller.ingest(dataset, "status", {"removed": False})
    caller.ingest(dataset, "status", {"removed": True})
    body = {"urn": dataset, "includeSoftDelete": False}
    assert caller.exists(dataset)
    assert caller.post("/entities?action=exists", body).json() == {"value": False}


def by(field: Any, condition: Any, value: Any) -> Any:
    return {"criteria": [{"field": field, "condition": condition, "values": [value]}]}


class TestTimeseries:
    """Documents of a timeseries aspect."""

    @staticmethod
    def read(caller: Any, urn: Any, /, **more: Any) -> Any:
        body = {"urn": urn, "entity": "dataset", "aspect": "datasetUsageStatistics"} | more
        return caller.post("/aspects?action=getTimeseriesAspectValues", body)

    @classmethod
    def times(cls, caller: Any, urn: Any, /, **more: Any) -> Any:
        values = cls.read(caller, urn, **more).json()["value"]["values"]
        return [json.loads(one["aspect"]["value"])["timestampMillis"] for one in values]

    @staticmethod
    def use(caller: Any, urn: Any, at: Any, queries: int = 1, **more: Any) -> Any:
        value = {"timestampMillis": at, "totalSqlQueries": queries} | more
        caller.ingest(urn, "datasetUsageStatistics", value)
        return value

    def test_are_answered_in_their_envelopes_newest_first(
        self, caller: Caller, dataset: str
    ) -> None:
        written = [self.use(caller, dataset, at) for at in (10, 30, 20)]
        value = self.read(caller, dataset, startTimeMillis=0, endTimeMillis=99).json()["value"]
        assert {key: value[key] for key in value if key != "values"} == {
            "entityName": "dataset",
            "aspectName": "datasetUsageStatistics",
            "startTimeMillis": 0,
            "endTimeMillis": 99,
            "limit": 10000,
        }
        envelopes = [one["aspect"] for one in value["values"]]
        assert {one["contentType"] for one in envelopes} == {"application/json"}
        assert [json.loads(one["value"]) for one in envelopes] == [
            written[1],
            written[2],
            written[0],
        ]
        assert "datasetUsageStatistics" not in caller.entity(dataset)["aspects"]

    def test_bounds_are_inclusive_and_open_ends_are_open(
        self, caller: Caller, dataset: str
    ) -> None:
        for at in (10, 20, 30):
            self.use(caller, dataset, at)
        assert self.times(caller, dataset, startTimeMillis=10, endTimeMillis=20) == [20, 10]
        assert self.times(caller, dataset, startTimeMillis=11, endTimeMillis=29) == [20]
        assert self.times(caller, dataset, startTimeMillis=40, endTimeMillis=50) == []
        assert self.times(caller, dataset) == [30, 20, 10]
        assert self.times(caller, dataset, endTimeMillis=2**63) == [30, 20, 10]

    def test_the_limit_keeps_the_newest(self, caller: Caller, dataset: str) -> None:
        for at in (10, 20, 30):
            self.use(caller, dataset, at)
        assert self.times(caller, dataset, limit=2) == [30, 20]
        assert self.times(caller, dataset, latestValue=True) == [30]
        assert self.read(caller, dataset, latestValue=True).json()["value"]["limit"] == 1
        assert self.read(caller, dataset, limit=50_000).json()["value"]["limit"] == 10000

    def test_the_same_moment_replaces_and_another_partition_does_not(
        self, caller: Caller, dataset: str
    ) -> None:
        self.use(caller, dataset, 10, 1)
        self.use(caller, dataset, 10, 2)
        spec = {"partition": "p1", "type": "PARTITION"}
        self.use(caller, dataset, 10, 3, partitionSpec=spec)
        values = self.read(caller, dataset).json()["value"]["values"]
        counts = [json.loads(one["aspect"]["value"])["totalSqlQueries"] for one in values]
        assert sorted(counts) == [2, 3]
        only = {"or": [{"and": [{"field": "partitionSpec.partition", "value": "p1"}]}]}
        assert len(self.times(caller, dataset, filter=only)) == 1

    def test_make_the_entity_exist(self, caller: Caller, dataset: str) -> None:
        self.use(caller, dataset, 10)
        assert caller.exists(dataset)
        assert "datasetUsageStatistics" not in caller.entity(dataset)["aspects"]

    def test_can_be_deleted(self, caller: Caller, dataset: str) -> None:
        self.use(caller, dataset, 10)
        caller.ingest(dataset, "datasetUsageStatistics", None, "DELETE")
        assert self.times(caller, dataset) == []
        assert caller.exists(dataset)

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"aspect": "status"}, 400),
            ({"aspect": "nonsense"}, 404),
            ({"aspect": None}, 400),
            ({"entity": "chart"}, 400),
            ({"urn": "urn:li:dataset:x"}, 400),
            ({"startTimeMillis": "now"}, 400),
            ({"limit": -1}, 400),
            ({"filter": {"or": [{"and": [{"field": "a", "value": "b", "condition": "X"}]}]}}, 400),
        ],
    )
    def test_a_bad_question_is_refused(
        self, caller: Caller, dataset: str, change: Any, status: int
    ) -> None:
        assert self.read(caller, dataset, **change).status_code == status

    @pytest.mark.parametrize("at", [2**63, "now", None])
    def test_a_moment_that_is_none_is_refused(self, caller: Caller, dataset: str, at: Any) -> None:
        answer = caller.send(dataset, "datasetUsageStatistics", {"timestampMillis": at})
        assert answer.status_code == 422
        assert not caller.exists(dataset)

    @pytest.mark.parametrize(
        ("field", "condition", "values", "found"),
        [
            ("totalSqlQueries", "EQUAL", ["9"], [20]),
            ("totalSqlQueries", "IN", ["9", "100"], [30, 20]),
            ("totalSqlQueries", "GREATER_THAN", ["9"], [30]),
            ("totalSqlQueries", "GREATER_THAN_OR_EQUAL_TO", ["9"], [30, 20]),
            ("totalSqlQueries", "LESS_THAN", ["9"], [10]),
            ("totalSqlQueries", "LESS_THAN_OR_EQUAL_TO", ["9.5"], [20, 10]),
            ("totalSqlQueries", "BETWEEN", ["2", "9"], [20, 10]),
            ("messageId", "CONTAIN", ["load"], [30, 10]),
            ("messageId", "START_WITH", ["Night"], [10]),
            ("messageId", "END_WITH", ["ly", "load"], [30, 10]),
            ("messageId", "IEQUAL", ["NIGHTLY LOAD"], [10]),
            ("messageId", "EXISTS", None, [30, 10]),
            ("messageId", "IS_NULL", None, [20]),
            ("timestampMillis", "GREATER_THAN", ["10"], [30, 20]),
            ("fieldCounts.*.fieldPath", "EQUAL", ["id"], [20]),
        ],
    )
    def test_pass_a_filter_of_every_condition(
        self, caller: Caller, hive_named: Any, field: str, condition: str, values: Any, found: Any
    ) -> None:
        urn = hive_named(f"{condition}.{field.split('.', maxsplit=1)[0]}")
        self.use(caller, urn, 10, 2, messageId="Nightly load")
        self.use(caller, urn, 20, 9, fieldCounts=[{"fieldPath": "id", "count": 1}])
        self.use(caller, urn, 30, 100, messageId="reload")
        criterion = {"field": field, "condition": condition, "values": values}
        asked = {"or": [{"and": [criterion]}]}
        assert self.times(caller, urn, filter=asked) == found
        criterion["negated"] = True
        assert set(self.times(caller, urn, filter=asked)) == {10, 20, 30} - set(found)

    @pytest.fixture
    def hive_named(self) -> Any:
        return lambda name: f"urn:li:dataset:(urn:li:dataPlatform:hive,series.{name},PROD)"

    def test_are_sorted_by_a_field_and_limited_then(self, caller: Caller, dataset: str) -> None:
        for at, queries in ((10, 9), (20, 100), (30, 5)):
            self.use(caller, dataset, at, queries)
        caller.ingest(dataset, "datasetUsageStatistics", {"timestampMillis": 40})
        by = {"field": "totalSqlQueries", "order": "DESCENDING"}
        assert self.times(caller, dataset, sort=by) == [20, 10, 30, 40]
        assert self.times(caller, dataset, sort=by | {"order": "ASCENDING"}) == [30, 10, 20, 40]
        assert self.times(caller, dataset, sort=by, limit=1) == [20]
        oldest = {"field": "timestampMillis", "order": "ASCENDING"}
        assert self.times(caller, dataset, sort=oldest, limit=2) == [10, 20]
        few = {"or": [{"and": [{"field": "totalSqlQueries", "condition": "EXISTS"}]}]}
        assert self.times(caller, dataset, sort=oldest, limit=1, filter=few) == [10]

    @pytest.mark.parametrize(
        "change",
        [
            {"sort": {"order": "ASCENDING"}},
            {"sort": {"field": "a", "order": "UP"}},
            {"filter": by("messageId", "BETWEEN", "1")},
            {"filter": by("timestampMillis", "LESS_THAN", "noon")},
        ],
    )
    def test_a_sort_or_a_comparison_that_cannot_be_made_is_refused(
        self, caller: Caller, dataset: str, change: Any
    ) -> None:
        self.use(caller, dataset, 10, messageId="m")
        assert self.read(caller, dataset, **change).status_code == 400

    def test_pass_the_filter_of_a_graphql_query(self, caller: Caller, dataset: str) -> None:
        for at in (100, 200, 300):
            caller.ingest(dataset, "datasetProfile", {"timestampMillis": at, "rowCount": at})
        query = """query profiles($urn: String!, $filter: FilterInput) {
          dataset(urn: $urn) { datasetProfiles(filter: $filter, limit: 1) { rowCount } } }"""
        criterion = {"field": "rowCount", "condition": "LESS_THAN", "values": ["300"]}
        found = caller.graphql(query, urn=dataset, filter={"and": [criterion]})
        assert found["data"]["dataset"]["datasetProfiles"] == [{"rowCount": 200}]
