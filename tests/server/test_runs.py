"""Runs of ingestion: listed and described."""

import json
from typing import Any

import pytest

from tests.server.conftest import Caller


def by(run: Any, at: int = 1) -> Any:
    return {"systemMetadata": {"runId": run, "lastObserved": at}}


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def ask(caller: Any, action: Any, /, **body: Any) -> Any:
    answer = caller.post(f"/runs?action={action}", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def rows(caller: Any, run: Any, **more: Any) -> Any:
    return {one["runId"]: one["rows"] for one in ask(caller, "list", **more)}.get(run, 0)


def test_runs_are_listed_newest_first_with_what_is_left_of_them(caller: Caller) -> None:
    for run in ("listed-1", "listed-2", "listed-3"):
        caller.ingest(hive(f"runs.{run}"), "ownership", {"owners": []}, **by(run))
    found = ask(caller, "list", pageOffset=0, pageSize=3)
    assert {"listed-1", "listed-2", "listed-3"} == {one["runId"] for one in found}
    times = [one["timestamp"] for one in found]
    assert times == sorted(times, reverse=True)
    assert [ask(caller, "list", pageOffset=at, pageSize=1)[0] for at in range(3)] == found
    whole = len(ask(caller, "describe", runId="listed-1"))
    assert rows(caller, "listed-1") == whole
    caller.post("/entities?action=delete", {"urn": hive("runs.listed-1")}).raise_for_status()
    assert rows(caller, "listed-1") == 0
    assert ask(caller, "describe", runId="listed-1") == []


def test_a_run_is_described_row_by_row(caller: Caller) -> None:
    urn = hive("runs.described")
    for text in ("one", "two"):
        caller.ingest(urn, "datasetProperties", {"description": text}, **by("described"))
    usage = {"timestampMillis": 5, "totalSqlQueries": 2}
    caller.ingest(urn, "datasetUsageStatistics", usage, **by("described", 77))
    found = ask(caller, "describe", runId="described", includeAspect=True)
    by_name = {(one["aspectName"], one["version"]): one for one in found}
    assert {("datasetKey", 0), ("datasetProperties", 0), ("datasetProperties", 1)} <= set(by_name)
    assert {one["urn"] for one in found} == {urn}
    assert {one["runId"] for one in found} == {"described"}
    assert [name for (name, _), one in by_name.items() if one["keyAspect"]] == ["datasetKey"]
    latest = by_name["datasetProperties", 0]
    assert json.loads(latest["aspect"]["value"]) == {"description": "two"}
    assert json.loads(latest["metadata"])["runId"] == "described"
    point = by_name["datasetUsageStatistics", 0]
    assert json.loads(point["aspect"]["value"]) == usage
    assert point["timestamp"] == 77
    assert "aspect" not in ask(caller, "describe", runId="described")[0]
    parts = [
        one
        for at in range(0, len(found) + 1, 2)
        for one in ask(caller, "describe", runId="described", start=at, count=2, includeAspect=True)
    ]
    assert parts == found


def test_what_is_soft_deleted_counts_only_when_asked_for(caller: Caller) -> None:
    urn = hive("runs.soft")
    caller.ingest(urn, "ownership", {"owners": []}, **by("soft-run"))
    whole = rows(caller, "soft-run")
    caller.ingest(urn, "status", {"removed": True})
    assert rows(caller, "soft-run") == 0
    assert rows(caller, "soft-run", includeSoft=True) == whole > 0
    assert ask(caller, "describe", runId="soft-run") == []
    assert len(ask(caller, "describe", runId="soft-run", includeSoft=True)) == whole


def test_writing_again_what_is_there_does_not_make_it_the_second_runs(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "globalTags", {"tags": []}, **by("first-owner"))
    caller.ingest(dataset, "globalTags", {"tags": []}, **by("second-owner"))
    assert ask(caller, "describe", runId="second-owner") == []
    system = caller.entity(dataset)["aspects"]["globalTags"]["systemMetadata"]
    assert (system["runId"], system["lastRunId"]) == ("first-owner", "second-owner")
    body = {"runId": "second-owner", "dryRun": False, "safe": False}
    assert ask(caller, "rollback", **body)["aspectsAffected"] == 0
    assert caller.value(dataset, "globalTags") == {"tags": []}


@pytest.mark.parametrize("safe", [True, False])
def test_a_rehearsal_counts_documents_and_shared_entities_as_the_real_one(
    caller: Caller, safe: bool
) -> None:
    run, urn = f"counted-{safe}", hive(f"runs.counted.{safe}")
    for at in (1, 2, 3):
        caller.ingest(urn, "datasetUsageStatistics", {"timestampMillis": at}, **by(run))
    caller.ingest(urn, "ownership", {"owners": []}, **by("others"))
    body = {"runId": run, "safe": safe}
    told = ask(caller, "rollback", dryRun=True, **body)
    assert ask(caller, "rollback", dryRun=False, **body) == told
    points = [one for one in told["aspectRowSummaries"] if "rows" in one]
    assert [one["rows"] for one in points] == [3]
    for row in told["aspectRowSummaries"]:
        assert {"runId", "urn", "aspectName", "timestamp", "version", "keyAspect"} <= set(row)
    assert [(one["timestamp"], one["version"], one["keyAspect"]) for one in points] == [
        (1, 0, False)
    ]
    assert told["unsafeEntitiesCount"] == 1


@pytest.mark.parametrize(
    ("action", "body"),
    [("describe", {}), ("list", {"pageSize": -1}), ("describe", {"runId": "x", "start": -1})],
)
def test_a_bad_question_is_refused(caller: Caller, action: str, body: Any) -> None:
    assert caller.post(f"/runs?action={action}", body).status_code == 400
