"""Assertions with their runs, incidents, and the health of what they are about."""

import time
from typing import Any

import pytest

from tests.server.conftest import Caller

HEALTH = "query($u: String!) { dataset(urn: $u) { health { type status message causes } } }"
ASSERTIONS = """query($u: String!) { dataset(urn: $u) { assertions { total assertions {
  urn
  info { type entityUrn note
    datasetAssertion { datasetUrn fields { path } parameters { value { value } }
                       nativeParameters { key value } }
    fieldAssertion { entityUrn fieldValuesAssertion { field { path } operator } }
    customAssertion { entityUrn field { path } fields { path } } }
  runEvents(status: COMPLETE, limit: 1) {
    total failed succeeded errored
    runEvents { timestampMillis result { type rowCount error { displayMessage } } }
  }
} } } }"""
FIND = """query($f: [FacetFilterInput!]) {
  searchAcrossEntities(input: {types: [ASSERTION], query: "*", orFilters: [{and: $f}]}) {
    searchResults { entity { urn } }
  }
}"""
RAISE = "mutation($i: RaiseIncidentInput!) { raiseIncident(input: $i) }"
INCIDENTS = """query($u: String!, $s: IncidentState) { dataset(urn: $u) { incidents(state: $s) {
  total
  incidents {
    urn incidentType title priority startedAt source { type } created { actor }
    incidentStatus { state stage message }
    assignees { ... on CorpUser { urn } ... on CorpGroup { urn } }
    entity { urn }
  }
} } }"""


def column(dataset: Any, path: Any) -> str:
    return f"urn:li:schemaField:({dataset},{path})"


@pytest.fixture
def asserted(caller: Caller, dataset: str, request: pytest.FixtureRequest) -> Any:
    """A dataset with an assertion about a column, one about its values and one of its own kind."""
    caller.ingest(dataset, "status", {"removed": False})
    names = [f"urn:li:assertion:{request.node.name[:60]}-{n}" for n in range(3)]
    value = {"value": {"value": "0", "type": "NUMBER"}}
    field = {"path": "b", "type": "STRING", "nativeType": "text"}
    threshold = {"type": "COUNT", "value": 0}
    infos = (
        {
            "type": "DATASET",
            "datasetAssertion": {
                "dataset": dataset,
                "scope": "DATASET_COLUMN",
                "operator": "GREATER_THAN",
                "fields": [column(dataset, "a")],
                "parameters": value,
                "nativeParameters": {"mostly": "0.9"},
            },
        },
        {
            "type": "FIELD",
            "fieldAssertion": {
                "type": "FIELD_VALUES",
                "entity": dataset,
                "fieldValuesAssertion": {
                    "field": field,
                    "operator": "NOT_NULL",
                    "failThreshold": threshold,
                    "excludeNulls": True,
                },
            },
        },
        {
            "type": "CUSTOM",
            "customAssertion": {
                "type": "sum",
                "entity": dataset,
                "fields": [column(dataset, "a"), column(dataset, "c")],
            },
        },
    )
    for name, info in zip(names, infos, strict=True):
        caller.ingest(name, "assertionInfo", info)
    return dataset, names


def run(caller: Any, urn: Any, dataset: Any, result: Any, age_millis: int = 0) -> None:
    event = {
        "timestampMillis": time.time_ns() // 1_000_000 - age_millis,
        "runId": f"run-{age_millis}",
        "asserteeUrn": dataset,
        "assertionUrn": urn,
        "status": "COMPLETE",
        "result": {"type": result, "rowCount": 3},
    }
    if result == "ERROR":
        event["result"]["error"] = {"type": "UNKNOWN_ERROR", "properties": {"message": "no rows"}}
    caller.ingest(urn, "assertionRunEvent", event)


def found(answer: Any) -> Any:
    results = answer["data"]["searchAcrossEntities"]["searchResults"]
    return {one["entity"]["urn"] for one in results}


def health(caller: Any, urn: Any) -> Any:
    told = caller.graphql(HEALTH, u=urn)["data"]["dataset"]["health"]
    return {one["type"]: (one["status"], one["message"]) for one in told}


def test_assertions_are_told_with_what_they_check_and_all_runs_are_counted(
    caller: Caller, asserted: Any
) -> None:
    dataset, names = asserted
    for age, result in enumerate(("FAILURE", "SUCCESS", "ERROR")):
        run(caller, names[0], dataset, result, age * 1000)
    caller.ingest(
        names[0],
        "assertionNote",
        {"content": "Ask finance", "lastModified": {"time": 0, "actor": "urn:li:corpuser:a"}},
    )
    told = caller.graphql(ASSERTIONS, u=dataset)["data"]["dataset"]["assertions"]
    assert told["total"] == 3
    by_urn = {one["urn"]: one for one in told["assertions"]}
    info = by_urn[names[0]]["info"]
    assert (info["entityUrn"], info["note"]) == (dataset, "Ask finance")
    assert info["datasetAssertion"]["fields"] == [{"path": "a"}]
    assert info["datasetAssertion"]["nativeParameters"] == [{"key": "mostly", "value": "0.9"}]
    events = by_urn[names[0]]["runEvents"]
    counted = [events[name] for name in ("total", "failed", "succeeded", "errored")]
    assert counted == [3, 1, 1, 1]
    assert [one["result"]["type"] for one in events["runEvents"]] == ["FAILURE"]
    values = by_urn[names[1]]["info"]["fieldAssertion"]
    assert values["entityUrn"] == dataset
    assert values["fieldValuesAssertion"]["field"] == {"path": "b"}
    own = by_urn[names[2]]["info"]["customAssertion"]
    assert (own["field"], own["fields"]) == ({"path": "a"}, [{"path": "a"}, {"path": "c"}])


def test_assertions_are_found_by_what_they_are_about_and_by_their_newest_run(
    caller: Caller, asserted: Any
) -> None:
    dataset, names = asserted
    about = {"field": "entity", "values": [dataset]}
    assert found(caller.graphql(FIND, f=[about])) == set(names)
    by_column = [about, {"field": "fieldPath", "values": ["a"]}]
    assert found(caller.graphql(FIND, f=by_column)) == {names[0], names[2]}
    failing = [about, {"field": "assertionStatus", "values": ["FAILING"]}]
    assert found(caller.graphql(FIND, f=failing)) == set()
    run(caller, names[1], dataset, "FAILURE", 5_000)
    assert found(caller.graphql(FIND, f=failing)) == {names[1]}
    run(caller, names[1], dataset, "SUCCESS")
    assert found(caller.graphql(FIND, f=failing)) == set()


def test_health_follows_the_newest_runs_and_the_active_incidents(
    caller: Caller, asserted: Any
) -> None:
    dataset, names = asserted
    assert health(caller, dataset) == {"INCIDENTS": ("PASS", None)}
    run(caller, names[0], dataset, "FAILURE", 5_000)
    failing = ("FAIL", "1 of 3 assertions are failing")
    assert health(caller, dataset)["ASSERTIONS"] == failing
    run(caller, names[0], dataset, "SUCCESS")
    assert health(caller, dataset)["ASSERTIONS"] == ("PASS", "All assertions are passing")
    caller.ingest(names[0], "status", {"removed": True})
    assert "ASSERTIONS" not in health(caller, dataset)
    raised = caller.graphql(RAISE, i={"type": "VOLUME", "resourceUrn": dataset})
    assert health(caller, dataset)["INCIDENTS"] == ("FAIL", "1 active incident")
    resolve = """mutation($u: String!, $i: IncidentStatusInput!) {
      updateIncidentStatus(urn: $u, input: $i) }"""
    caller.graphql(resolve, u=raised["data"]["raiseIncident"], i={"state": "RESOLVED"})
    assert health(caller, dataset)["INCIDENTS"] == ("PASS", None)


def test_an_incident_is_raised_changed_and_listed_by_its_state(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    assert not caller.exists("urn:li:corpuser:fixer")
    asked = {
        "type": "OPERATIONAL",
        "title": "Stuck",
        "resourceUrn": dataset,
        "priority": "CRITICAL",
        "assigneeUrns": ["urn:li:corpuser:fixer"],
        "startedAt": 5,
    }
    urn = caller.graphql(RAISE, i=asked)["data"]["raiseIncident"]
    assert caller.value(urn, "incidentInfo")["priority"] == 0
    listed = caller.graphql(INCIDENTS, u=dataset, s="ACTIVE")["data"]["dataset"]["incidents"]
    (incident,) = listed["incidents"]
    assert (incident["urn"], incident["title"]) == (urn, "Stuck")
    assert (incident["priority"], incident["startedAt"]) == ("CRITICAL", 5)
    assert incident["assignees"] == [{"urn": "urn:li:corpuser:fixer"}]
    assert incident["entity"] == {"urn": dataset}
    assert incident["source"] == {"type": "MANUAL"}

    change = (
        "mutation($u: String!, $i: UpdateIncidentInput!) { updateIncident(urn: $u, input: $i) }"
    )
    fixed = {"state": "RESOLVED", "stage": "FIXED", "message": "Restarted"}
    done = caller.graphql(change, u=urn, i={"priority": "LOW", "status": fixed})
    assert done["data"] == {"updateIncident": True}
    assert caller.graphql(INCIDENTS, u=dataset, s="ACTIVE")["data"]["dataset"]["incidents"] == {
        "total": 0,
        "incidents": [],
    }
    (incident,) = caller.graphql(INCIDENTS, u=dataset)["data"]["dataset"]["incidents"]["incidents"]
    assert (incident["incidentStatus"], incident["priority"]) == (fixed, "LOW")
    assert incident["title"] == "Stuck"


def test_an_entity_has_a_summary_of_its_incidents(caller: Caller, dataset: str) -> None:
    other = dataset.replace(",PROD)", "2,PROD)")
    for urn in (dataset, other):
        caller.ingest(urn, "status", {"removed": False})

    def summary(urn: Any = dataset) -> Any:
        found = caller.value(urn, "incidentsSummary")
        return (
            [(one["urn"], one["type"]) for one in found["activeIncidentDetails"]],
            [(one["urn"], one["resolvedAt"] > 0) for one in found["resolvedIncidentDetails"]],
        )

    def named(field: Any, urn: Any) -> Any:
        only = {"field": "urn", "values": [dataset, other]}
        has = {"field": field, "values": [urn]}
        return caller.search("*", filter={"or": [{"and": [only, has]}]})["entities"]

    raised = {"type": "CUSTOM", "customType": "LATE", "priority": "HIGH", "resourceUrn": dataset}
    urn = caller.graphql(RAISE, i=raised)["data"]["raiseIncident"]
    assert summary() == ([(urn, "LATE")], [])
    details = caller.value(dataset, "incidentsSummary")["activeIncidentDetails"][0]
    assert details["priority"] == 1
    assert details["createdAt"] > 0
    assert named("activeIncidents", urn) == [dataset]

    info = caller.value(urn, "incidentInfo")
    resolved = {**info["status"], "state": "RESOLVED"}
    caller.ingest(urn, "incidentInfo", {**info, "status": resolved})
    assert summary() == ([], [(urn, True)])
    assert (named("activeIncidents", urn), named("resolvedIncidents", urn)) == ([], [dataset])
    caller.ingest(urn, "incidentInfo", {**info, "entities": [other]})
    assert (summary(), summary(other)) == (([], []), ([(urn, "LATE")], []))
    assert caller.post("/entities?action=delete", {"urn": urn}).status_code == 200
    assert summary(other) == ([], [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"resourceUrn": "urn:li:tag:never-made"}, "does not exist"),
        ({"resourceUrn": None}, "at least one entity"),
        ({"type": "CUSTOM"}, "customType"),
        ({"assigneeUrns": ["urn:li:tag:x"]}, "is not an assignee"),
    ],
)
def test_an_incident_about_nothing_is_refused(
    desk: Any, caller: Caller, dataset: str, change: Any, told: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    asked = {"type": "FIELD", "resourceUrn": dataset} | change
    assert told in desk.one_error(caller.graphql(RAISE, i=asked))["message"]


DEFINE = """mutation($u: String, $i: UpsertCustomAssertionInput!) {
  upsertCustomAssertion(urn: $u, input: $i) { urn info { type description customAssertion {
    type logic operator fields { path } parameters { minValue { value type } } } }
    platform { urn } } }"""
RESULT = """mutation($u: String!, $r: AssertionResultInput!) {
  reportAssertionResult(urn: $u, result: $r) }"""


def test_an_assertion_of_another_tool_is_defined_and_its_results_are_reported(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    asked = {
        "entityUrn": dataset,
        "type": "Freshness",
        "description": "Loaded every day",
        "fieldPath": "loaded_at",
        "platform": {"name": "checker"},
        "logic": "select max(loaded_at)",
        "operator": "GREATER_THAN",
        "parameters": {"minValue": {"value": "3", "type": "NUMBER"}},
    }
    made = caller.graphql(DEFINE, u=None, i=asked)["data"]["upsertCustomAssertion"]
    assert made["platform"] == {"urn": "urn:li:dataPlatform:checker"}
    assert made["info"] == {
        "type": "CUSTOM",
        "description": "Loaded every day",
        "customAssertion": {
            "type": "Freshness",
            "logic": "select max(loaded_at)",
            "operator": "GREATER_THAN",
            "fields": [{"path": "loaded_at"}],
            "parameters": {"minValue": {"value": "3", "type": "NUMBER"}},
        },
    }
    urn = made["urn"]
    first = caller.value(urn, "assertionInfo")
    assert first["source"]["type"] == "EXTERNAL"
    failed = {
        "type": "FAILURE",
        "severity": "HIGH",
        "timestampMillis": 1_000,
        "properties": [{"key": "rows", "value": "0"}],
        "error": {"type": "UNKNOWN_ERROR", "message": "not kept"},
    }
    assert caller.graphql(RESULT, u=urn, r=failed)["data"] == {"reportAssertionResult": True}
    assert health(caller, dataset)["ASSERTIONS"] == ("FAIL", "1 of 1 assertions are failing")
    broken = {"type": "ERROR", "error": {"type": "UNKNOWN_ERROR", "message": "No connection"}}
    caller.graphql(RESULT, u=urn, r=broken)
    events = """query($u: String!) { assertion(urn: $u) { runEvents { total runEvents {
      timestampMillis asserteeUrn status
      result { type severity nativeResults { key value } error { type displayMessage } } } } } }"""
    found = caller.graphql(events, u=urn)["data"]["assertion"]["runEvents"]
    newer, older = found["runEvents"]
    assert newer["timestampMillis"] > 1_000
    assert newer["result"]["error"] == {"type": "UNKNOWN_ERROR", "displayMessage": "No connection"}
    assert older == {
        "timestampMillis": 1_000,
        "asserteeUrn": dataset,
        "status": "COMPLETE",
        "result": {
            "type": "FAILURE",
            "severity": "HIGH",
            "nativeResults": [{"key": "rows", "value": "0"}],
            "error": None,
        },
    }

    changed = {name: asked[name] for name in ("entityUrn", "type", "platform")}
    caller.graphql(DEFINE, u=urn, i={**changed, "description": "Loaded"})
    second = caller.value(urn, "assertionInfo")
    assert (second["description"], "logic" in second["customAssertion"]) == ("Loaded", False)
    assert second["source"] == first["source"]


@pytest.mark.parametrize(
    ("urn", "change", "told"),
    [
        ("urn:li:tag:x", {}, "is not an assertion"),
        (None, {"platform": {}}, "by its urn or its name"),
        (None, {"platform": {"urn": "urn:li:tag:x"}}, "is not a platform"),
        (None, {"entityUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)"}, "not exist"),
    ],
)
def test_a_custom_assertion_needs_a_platform_and_an_entity(
    desk: Any, caller: Caller, dataset: str, urn: str | None, change: Any, told: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    asked = {
        "entityUrn": dataset,
        "type": "Own",
        "description": "",
        "platform": {"name": "checker"},
    }
    answer = caller.graphql(DEFINE, u=urn, i=asked | change)
    assert told in desk.one_error(answer)["message"]
    none = caller.graphql(RESULT, u="urn:li:assertion:never-made", r={"type": "SUCCESS"})
    assert "does not exist" in desk.one_error(none)["message"]


def test_an_operation_is_reported(caller: Caller, dataset: str, desk: Any) -> None:
    report = "mutation($i: ReportOperationInput!) { reportOperation(input: $i) }"
    asked = {
        "urn": dataset,
        "operationType": "INSERT",
        "sourceType": "DATA_PROCESS",
        "numAffectedRows": 12,
        "partition": "day=1",
        "customProperties": [{"key": "run", "value": "a"}],
        "timestampMillis": 5_000,
    }
    assert "does not exist" in desk.one_error(caller.graphql(report, i=asked))["message"]
    caller.ingest(dataset, "status", {"removed": False})
    assert caller.graphql(report, i=asked)["data"] == {"reportOperation": True}
    query = """query($u: String!) { dataset(urn: $u) { operations(limit: 5) { timestampMillis
      operationType sourceType partition numAffectedRows customProperties { key value }
      lastUpdatedTimestamp } } }"""
    (found,) = caller.graphql(query, u=dataset)["data"]["dataset"]["operations"]
    assert found == {
        "timestampMillis": 5_000,
        "lastUpdatedTimestamp": 5_000,
        "operationType": "INSERT",
        "sourceType": "DATA_PROCESS",
        "partition": "day=1",
        "numAffectedRows": 12,
        "customProperties": [{"key": "run", "value": "a"}],
    }
    tag = caller.graphql(report, i={**asked, "urn": "urn:li:tag:x"})
    assert "is not a dataset" in desk.one_error(tag)["message"]
