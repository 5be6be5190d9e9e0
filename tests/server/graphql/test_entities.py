"""Entities of every kind: how they are found by their URN, and what is read of them."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from explorer.metadata.urn import Urn
from tests.server.conftest import Caller

PLATFORM = "urn:li:dataPlatform:gqlplatform"
DAY = 86_400_000


def test_every_registered_kind_is_read_by_its_urn(caller: Caller) -> None:
    registry = caller.catalog.registry
    urns = []
    for name in registry.entities:
        values = [_part(field) for field in registry.key_fields(name)]
        urns.append(str(Urn.of(name, *values)))
    caller.ingest("urn:li:dataHubPolicy:gqlkey", "dataHubPolicyKey", {"id": "gqlkey"})
    query = """query($u: [String!]!) { entities(urns: $u, checkForExistence: false) {
      __typename urn type
      ... on GenericEntity { name aspects { aspectName payload } }
    } }"""
    answer = caller.graphql(query, u=urns)
    assert "errors" not in answer
    assert [one["urn"] for one in answer["data"]["entities"]] == urns
    kinds = {one["type"]: one for one in answer["data"]["entities"]}
    assert kinds["CORP_USER"]["__typename"] == "CorpUser"
    assert kinds["MLFEATURE_TABLE"]["__typename"] == "MLFeatureTable"
    policy = kinds["DATAHUB_POLICY"]
    assert policy["__typename"] == "GenericEntity"
    (raw,) = [one for one in policy["aspects"] if one["aspectName"] == "dataHubPolicyKey"]
    assert json.loads(raw["payload"]) == {"id": "gqlkey"}


def _part(field: Any) -> Any:
    urns = {
        "platform": PLATFORM,
        "flow": "urn:li:dataFlow:(airflow,gqlflow,PROD)",
        "parent": f"urn:li:dataset:({PLATFORM},gqlkey,PROD)",
        "origin": "PROD",
    }
    return urns.get(field, "gqlkey")


def test_what_is_not_stored_is_null_and_can_be_asked_about(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    no = "urn:li:tag:not-there"
    query = """query($a: String!, $b: String!) {
      yes: entityExists(urn: $a) no: entityExists(urn: $b) entity(urn: $b) { urn }
      entities(urns: [$b, $a]) { urn }
      unchecked: entities(urns: [$b], checkForExistence: false) { urn type }
    }"""
    assert caller.graphql(query, a=dataset, b=no)["data"] == {
        "yes": True,
        "no": False,
        "entity": None,
        "entities": [None, {"urn": dataset}],
        "unchecked": [{"urn": no, "type": "TAG"}],
    }


def test_a_chart_reads_its_title_as_its_name_and_its_inputs_as_datasets(
    caller: Caller, dataset: str
) -> None:
    urn = "urn:li:chart:(gqltool,one)"
    stamps = {"created": {"time": 1, "actor": "urn:li:corpuser:a"}}
    caller.ingest(
        urn,
        "chartInfo",
        {
            "title": "Orders",
            "description": "by day",
            "lastModified": {**stamps, "lastModified": {"time": 2, "actor": "urn:li:corpuser:b"}},
            "inputs": [{"string": dataset}],
        },
    )
    query = """query($u: String!) { chart(urn: $u) {
      tool chartId platform { name }
      properties { name description inputs { urn } created { time } lastModified { actor } }
    } }"""
    assert caller.graphql(query, u=urn)["data"]["chart"] == {
        "tool": "gqltool",
        "chartId": "one",
        "platform": {"name": "gqltool"},
        "properties": {
            "name": "Orders",
            "description": "by day",
            "inputs": [{"urn": dataset}],
            "created": {"time": 1},
            "lastModified": {"actor": "urn:li:corpuser:b"},
        },
    }


def test_containers_above_are_read_the_nearest_first(caller: Caller, dataset: str) -> None:
    caller.ingest("urn:li:container:gqltop", "containerProperties", {"name": "Top"})
    caller.ingest("urn:li:container:gqllow", "containerProperties", {"name": "Low"})
    caller.ingest("urn:li:container:gqllow", "container", {"container": "urn:li:container:gqltop"})
    caller.ingest(dataset, "container", {"container": "urn:li:container:gqllow"})
    query = """query($u: String!) { dataset(urn: $u) {
      container { properties { name } }
      parentContainers { count containers { properties { name } } }
    } }"""
    assert caller.graphql(query, u=dataset)["data"]["dataset"] == {
        "container": {"properties": {"name": "Low"}},
        "parentContainers": {
            "count": 2,
            "containers": [{"properties": {"name": "Low"}}, {"properties": {"name": "Top"}}],
        },
    }


def test_an_older_schema_is_read_by_its_version(
    caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
) -> None:
    caller.ingest(dataset, "schemaMetadata", schema("old"))
    caller.ingest(dataset, "schemaMetadata", schema("new"))
    query = """query($u: String!) { dataset(urn: $u) {
      now: schemaMetadata { aspectVersion fields { fieldPath } }
      latest: schemaMetadata(version: 0) { fields { fieldPath } }
      first: schemaMetadata(version: 1) { aspectVersion fields { fieldPath } }
      none: schemaMetadata(version: 9) { name }
    } }"""
    assert caller.graphql(query, u=dataset)["data"]["dataset"] == {
        "now": {"aspectVersion": 0, "fields": [{"fieldPath": "new"}]},
        "latest": {"fields": [{"fieldPath": "new"}]},
        "first": {"aspectVersion": 1, "fields": [{"fieldPath": "old"}]},
        "none": None,
    }


def test_structured_properties_are_texts_and_numbers(caller: Caller, dataset: str) -> None:
    kept = "urn:li:structuredProperty:gqlkept"
    # A type of the deployment's own, whose values may be of either kind.
    definition = {
        "qualifiedName": "gqlkept",
        "valueType": "urn:li:dataType:ours",
        "cardinality": "MULTIPLE",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    }
    caller.ingest(kept, "propertyDefinition", definition)
    caller.ingest(
        dataset,
        "structuredProperties",
        {"properties": [{"propertyUrn": kept, "values": [{"string": "a"}, {"double": 2.5}]}]},
    )
    query = """query($u: String!) { dataset(urn: $u) { structuredProperties { properties {
      structuredProperty { urn } associatedUrn
      values { ... on StringValue { stringValue } ... on NumberValue { numberValue } }
    } } } }"""
    read = caller.graphql(query, u=dataset)["data"]["dataset"]["structuredProperties"]
    assert read["properties"] == [
        {
            "structuredProperty": {"urn": kept},
            "associatedUrn": dataset,
            "values": [{"stringValue": "a"}, {"numberValue": 2.5}],
        }
    ]


def test_use_is_read_by_bucket_and_over_all_of_them(caller: Caller, dataset: str) -> None:
    now = time.time_ns() // 1_000_000
    for days, queries in ((1, 10), (2, 5), (400, 1)):
        caller.ingest(
            dataset,
            "datasetUsageStatistics",
            {
                "timestampMillis": now - days * DAY,
                "eventGranularity": {"unit": "DAY", "multiple": 1},
                "totalSqlQueries": queries,
                "uniqueUserCount": 1,
                "topSqlQueries": ["select 1"],
                "userCounts": [{"user": "urn:li:corpuser:gqluser", "count": queries}],
                "fieldCounts": [{"fieldPath": "a", "count": queries}],
            },
        )
    query = """query($u: String!, $range: TimeRange) { dataset(urn: $u) {
      usageStats(range: $range) {
        buckets { bucket duration resource metrics {
          uniqueUserCount totalSqlQueries topSqlQueries fields { fieldName count }
        } }
        aggregations {
          uniqueUserCount totalSqlQueries users { user { username } count }
          fields { fieldName count }
        }
      }
      statsSummary { queryCountLast30Days topUsersLast30Days { username } }
    } }"""
    read = caller.graphql(query, u=dataset, range="WEEK")["data"]["dataset"]
    assert read["usageStats"]["aggregations"] == {
        "uniqueUserCount": 1,
        "totalSqlQueries": 15,
        "users": [{"user": {"username": "gqluser"}, "count": 15}],
        "fields": [{"fieldName": "a", "count": 15}],
    }
    older, newer = read["usageStats"]["buckets"]
    assert older["bucket"] < newer["bucket"]
    assert newer == {
        "bucket": now - DAY,
        "duration": "DAY",
        "resource": dataset,
        "metrics": {
            "uniqueUserCount": 1,
            "totalSqlQueries": 10,
            "topSqlQueries": ["select 1"],
            "fields": [{"fieldName": "a", "count": 10}],
        },
    }
    assert read["statsSummary"] == {
        "queryCountLast30Days": 15,
        "topUsersLast30Days": [{"username": "gqluser"}],
    }
    whole = caller.graphql(query, u=dataset, range="ALL")["data"]["dataset"]["usageStats"]
    assert whole["aggregations"]["totalSqlQueries"] == 16


def test_profiles_and_operations_come_newest_first_within_bounds(
    caller: Caller, dataset: str
) -> None:
    for at in (100, 200, 300):
        caller.ingest(dataset, "datasetProfile", {"timestampMillis": at, "rowCount": at * 2**33})
        operation = {
            "timestampMillis": at,
            "lastUpdatedTimestamp": at,
            "operationType": "INSERT" if at < 300 else "DELETE",
        }
        caller.ingest(dataset, "operation", operation)
    query = """query($u: String!, $filter: FilterInput) { dataset(urn: $u) {
      datasetProfiles(startTimeMillis: 100, endTimeMillis: 200, limit: 1) {
        timestampMillis rowCount
      }
      operations(filter: $filter) { timestampMillis operationType }
    } }"""
    only = {"and": [{"field": "operationType", "values": ["INSERT"]}]}
    assert caller.graphql(query, u=dataset, filter=only)["data"]["dataset"] == {
        "datasetProfiles": [{"timestampMillis": 200, "rowCount": 200 * 2**33}],
        "operations": [
            {"timestampMillis": 200, "operationType": "INSERT"},
            {"timestampMillis": 100, "operationType": "INSERT"},
        ],
    }


def test_entities_referred_to_are_read_with_one_query_a_level(
    caller: Caller, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = [f"urn:li:tag:gqllevel{n}" for n in range(12)]
    for tag in tags:
        caller.ingest(tag, "tagProperties", {"name": tag[-3:]})
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": tag} for tag in tags]})
    reads = []
    read = caller.catalog.store.aspects

    def counted(urns: Any, names: Any = None) -> Any:
        # What is documented is counted beside.
        if threading.current_thread().name != "stewardship":
            reads.append(len(urns))
        return read(urns, names)

    monkeypatch.setattr(caller.catalog.store, "aspects", counted)
    query = "query($u: String!) { dataset(urn: $u) { tags { tags { tag { name } } } } }"
    found = caller.graphql(query, u=dataset)["data"]["dataset"]["tags"]["tags"]
    assert [one["tag"]["name"] for one in found] == [tag[-3:] for tag in tags]
    assert reads == [1, 12]
    reads.clear()
    query = "query($u: String!) { dataset(urn: $u) { tags { tags { tag { urn type } } } } }"
    caller.graphql(query, u=dataset)
    assert reads == [1]


def test_a_costly_query_that_waits_too_long_for_another_is_told_to_come_again(
    caller: Caller, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    monkeypatch.setattr("explorer.server.graphql.executor._HEAVY_WAIT_SECONDS", 0.01)
    begun, go = threading.Event(), threading.Event()
    read = caller.catalog.store.aspects

    def wait(*given: Any, **named: Any) -> Any:
        begun.set()
        go.wait(120)
        return read(*given, **named)

    monkeypatch.setattr(caller.catalog.store, "aspects", wait)
    fields = " ".join(f'a{at}: dataset(urn: "{dataset}") {{ urn }}' for at in range(21))
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(caller.graphql, f"{{ {fields} }}")
        try:
            assert begun.wait(120)
            answer = caller.post("/api/graphql", {"query": f"{{ {fields} }}"})
        finally:
            go.set()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert "other costly queries take long" in answer.json()["message"]
        assert len(first.result(120)["data"]) == 21
    assert len(caller.graphql(f"{{ {fields} }}")["data"]) == 21


def test_who_asks_is_told(caller: Caller) -> None:
    query = "{ me { corpUser { urn username } platformPrivileges { createTags managePolicies } } }"
    assert caller.graphql(query)["data"]["me"] == {
        "corpUser": {"urn": "urn:li:corpuser:unknown", "username": "unknown"},
        "platformPrivileges": {"createTags": True, "managePolicies": False},
    }


class TestWhatDataHubsDocumentsAskOf:
    """Fields and addresses that only documents written for DataHub use."""

    def test_the_document_may_be_sent_to_its_second_address(self, caller: Caller) -> None:
        body = {"query": "{ __typename }"}
        answer = caller.post("/api/v2/graphql", body)
        assert answer.json() == caller.post("/api/graphql", body).json()
        assert caller.post("/api/v2/graphql", {}).status_code == 400

    def test_the_deprecated_description_is_that_of_the_properties(
        self, caller: Caller, dataset: str
    ) -> None:
        caller.ingest(dataset, "datasetProperties", {"description": "ingested"})
        caller.ingest(dataset, "editableDatasetProperties", {"description": "edited"})
        document = "query q($urn: String!) { dataset(urn: $urn) { description } }"
        body = {"query": document, "variables": {"urn": dataset}}
        for dialect, said in (("plain", "edited"), ("datahub", "ingested")):
            headers = {"X-Catalog-Dialect": dialect}
            found = caller.post("/api/graphql", body, **headers).json()["data"]["dataset"]
            assert found == {"description": said}

    def test_what_a_user_says_of_themselves_has_two_names(self, caller: Caller) -> None:
        urn = "urn:li:corpuser:two-names"
        caller.ingest(urn, "corpUserEditableInfo", {"aboutMe": "Ada", "skills": ["sql"]})
        document = """query q($urn: String!) { corpUser(urn: $urn) {
          editableInfo { aboutMe skills } editableProperties { aboutMe skills } } }"""
        found = caller.graphql(document, urn=urn)["data"]["corpUser"]
        assert found["editableInfo"] == {"aboutMe": "Ada", "skills": ["sql"]}
        assert found["editableProperties"] == found["editableInfo"]

    def test_the_browse_path_is_where_browsing_shows_the_entity(
        self, caller: Caller, dataset: str
    ) -> None:
        document = """query q($urn: String!) { dataset(urn: $urn) {
          browsePathV2 { path { name entity { urn } } } } }"""
        browse = """query b($input: BrowseV2Input!) { browseV2(input: $input) {
          groups { name count } } }"""

        def path() -> Any:
            found = caller.graphql(document, urn=dataset)["data"]["dataset"]["browsePathV2"]
            return [(one["name"], (one["entity"] or {}).get("urn")) for one in found["path"]]

        def is_shown_at(names: Any) -> Any:
            *above, last = names
            asked = {"type": "DATASET", "path": above, "start": 0, "count": 1000}
            groups = caller.graphql(browse, input=asked)["data"]["browseV2"]["groups"]
            return last in [one["name"] for one in groups]

        caller.ingest(dataset, "status", {"removed": False})
        assert path() == [("prod", None), ("hive", None)]
        assert is_shown_at(["prod", "hive"])
        outer, inner = "urn:li:container:path-outer", "urn:li:container:path-inner"
        caller.ingest(outer, "containerProperties", {"name": "outer"})
        caller.ingest(inner, "container", {"container": outer})
        caller.ingest(dataset, "container", {"container": inner})
        assert path() == [(outer, outer), (inner, inner)]
        assert is_shown_at([outer, inner])
        caller.ingest(dataset, "browsePathsV2", {"path": [{"id": "mine"}]})
        assert path() == [("mine", None)]


def test_the_runs_of_a_job_come_newest_first_with_their_results(caller: Caller) -> None:
    """As the source `datahub-gc` asks for them, and with `state` beside."""
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)"
    caller.ingest(job, "dataJobInfo", {"name": "load", "type": {"string": "COMMAND"}})
    for at in (1, 3, 2):
        run = f"urn:li:dataProcessInstance:nightly-{at}"
        made = {"time": at, "actor": "urn:li:corpuser:airflow"}
        result = {"type": "SUCCESS", "nativeResultType": "airflow"}
        parents = {"parentTemplate": job, "upstreamInstances": []}
        caller.ingest(run, "dataProcessInstanceProperties", {"name": "load", "created": made})
        caller.ingest(run, "dataProcessInstanceRelationships", parents)
        for state in ({"status": "STARTED"}, {"status": "COMPLETE", "result": result}):
            event = {"timestampMillis": at + len(state), **state}
            caller.ingest(run, "dataProcessInstanceRunEvent", event)
    caller.ingest("urn:li:dataProcessInstance:nightly-2", "status", {"removed": True})
    query = """query getDataJobRuns($dataJobUrn: String!, $start: Int!, $count: Int!) {
      dataJob(urn: $dataJobUrn) { runs(start: $start, count: $count) { total runs {
        created { time actor } urn
        state(limit: 1) { status timestampMillis result { resultType nativeResultType } } } } }
    }"""
    asked = {"dataJobUrn": job, "start": 0, "count": 5}
    found = caller.graphql(query, **asked)["data"]["dataJob"]["runs"]
    assert found["total"] == 2
    assert [one["created"]["time"] for one in found["runs"]] == [3, 1]
    done = {"resultType": "SUCCESS", "nativeResultType": "airflow"}
    assert found["runs"][0]["state"] == [
        {"status": "COMPLETE", "timestampMillis": 5, "result": done}
    ]
    second = caller.graphql(query, **{**asked, "start": 1})["data"]["dataJob"]["runs"]
    assert [one["created"]["time"] for one in second["runs"]] == [1]
