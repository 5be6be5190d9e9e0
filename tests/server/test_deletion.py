"""Deleting for good, and taking back what a run of ingestion brought."""

from typing import Any

import pytest

from tests.server.conftest import Caller

INFO = {"name": "undone", "displayName": "Undone", "type": "OTHERS", "datasetNameDelimiter": "."}
SECRET = {"name": "undone", "value": "hidden"}


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def roll_back(caller: Any, run: str, *, dry_run: bool = False, safe: bool = False) -> Any:
    body = {"runId": run, "dryRun": dry_run, "safe": safe}
    answer = caller.post("/runs?action=rollback", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def by(run: str) -> dict[str, Any]:
    return {"systemMetadata": {"runId": run, "lastObserved": 1}}


def test_a_deleted_entity_is_gone_with_everything(caller: Caller, dataset: str) -> None:
    for text in ("one", "deletedword"):
        caller.ingest(dataset, "datasetProperties", {"description": text})
    caller.ingest(dataset, "datasetUsageStatistics", {"timestampMillis": 5, "totalSqlQueries": 1})
    answer = caller.post("/entities?action=delete", {"urn": dataset})
    assert answer.json() == {"value": {"urn": dataset, "rows": 5, "timeseriesRows": 1}}
    assert not caller.exists(dataset)
    assert list(caller.entity(dataset)["aspects"]) == ["datasetKey"]
    assert caller.search("deletedword")["numEntities"] == 0
    again = caller.post("/entities?action=delete", {"urn": dataset})
    assert again.status_code == 404
    caller.ingest(dataset, "status", {"removed": False})
    assert {"datasetKey", "status"} <= set(caller.entity(dataset)["aspects"])
    assert caller.value(dataset, "datasetProperties") is None


def test_one_aspect_or_a_range_of_documents_can_be_deleted(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "globalTags", {"tags": []})
    for at in (10, 20, 30):
        caller.ingest(dataset, "datasetUsageStatistics", {"timestampMillis": at})
    body: dict[str, Any] = {"urn": dataset, "aspectName": "globalTags"}
    assert caller.post("/entities?action=delete", body).json()["value"]["rows"] == 1
    assert caller.value(dataset, "globalTags") is None
    body = {
        "urn": dataset,
        "aspectName": "datasetUsageStatistics",
        "startTimeMillis": 20,
        "endTimeMillis": 30,
    }
    assert caller.post("/entities?action=delete", body).json()["value"]["timeseriesRows"] == 2
    assert caller.exists(dataset)


class TestRollback:
    """Undoing a run."""

    def test_removes_what_the_run_made(self, caller: Caller, dataset: str) -> None:
        caller.ingest(dataset, "ownership", {"owners": []}, **by("made"))
        usage = {"timestampMillis": 1, "totalSqlQueries": 3}
        caller.ingest(dataset, "datasetUsageStatistics", usage, **by("made"))
        undone = roll_back(caller, "made")
        assert undone["entitiesAffected"] == 1
        assert undone["entitiesDeleted"] == 1
        assert undone["aspectsAffected"] == 5
        assert undone["unsafeEntities"] == []
        assert {row["runId"] for row in undone["aspectRowSummaries"]} == {"made"}
        assert not caller.exists(dataset)
        assert roll_back(caller, "made")["entitiesAffected"] == 0

    def test_brings_back_the_version_before(self, caller: Caller, dataset: str) -> None:
        owners = [{"owner": "urn:li:corpuser:undo-a", "type": "NONE"}]
        caller.ingest(dataset, "ownership", {"owners": owners}, **by("keeps"))
        others = [{"owner": "urn:li:corpuser:undo-b", "type": "NONE"}]
        caller.ingest(dataset, "ownership", {"owners": others}, **by("goes"))
        caller.ingest(dataset, "globalTags", {"tags": []}, **by("goes"))
        undone = roll_back(caller, "goes")
        assert undone["aspectsReverted"] == 2
        assert caller.value(dataset, "ownership")["owners"] == owners
        assert caller.value(dataset, "globalTags") is None
        assert caller.version(dataset, "ownership", 1).status_code == 404
        path = "/relationships?direction=INCOMING&types=OwnedBy&urn=urn:li:corpuser:undo-"
        assert caller.get(f"{path}a").json()["entities"] == [dataset]
        assert caller.get(f"{path}b").json()["entities"] == []

    def test_drops_a_version_in_the_middle_and_leaves_the_latest(
        self, caller: Caller, dataset: str
    ) -> None:
        for run in ("first", "middle", "last"):
            caller.ingest(dataset, "datasetProperties", {"description": run}, **by(f"mid-{run}"))
        roll_back(caller, "mid-middle")
        assert caller.value(dataset, "datasetProperties") == {"description": "last"}
        assert caller.version(dataset, "datasetProperties", 1).status_code == 200
        assert caller.version(dataset, "datasetProperties", 2).status_code == 404
        caller.ingest(dataset, "datasetProperties", {"description": "next"})
        assert caller.value(dataset, "datasetProperties") == {"description": "next"}

    def test_a_rehearsal_tells_the_same_and_changes_nothing(
        self, caller: Caller, dataset: str
    ) -> None:
        caller.ingest(dataset, "ownership", {"owners": []}, **by("rehearsed"))
        before = caller.entity(dataset)
        told = roll_back(caller, "rehearsed", dry_run=True)
        assert caller.entity(dataset) == before
        assert caller.search(dataset.split(",")[1])["entities"] == [dataset]
        assert roll_back(caller, "rehearsed") == told

    @pytest.mark.parametrize(
        ("asked", "is_hard"),
        [
            ({}, False),
            ({"hardDelete": False}, False),
            ({"hardDelete": True}, True),
            ({"safe": True, "hardDelete": True}, False),
            ({"safe": False, "hardDelete": False}, True),
        ],
    )
    def test_what_the_run_made_is_hidden_and_deleted_for_good_only_when_asked(
        self, caller: Caller, dataset: str, asked: dict[str, bool], is_hard: bool
    ) -> None:
        caller.ingest(dataset, "ownership", {"owners": []}, **by("made-softly"))
        body = {"runId": "made-softly", "dryRun": False, **asked}
        undone = caller.post("/runs?action=rollback", body).json()["value"]
        assert (undone["entitiesAffected"], undone["entitiesDeleted"]) == (1, 1)
        assert caller.exists(dataset) is not is_hard
        assert caller.value(dataset, "ownership") is None
        assert caller.value(dataset, "status") == (None if is_hard else {"removed": True})
        assert caller.search(f'"{dataset.split(",")[1]}"')["numEntities"] == 0
        again = caller.post("/runs?action=rollback", body).json()["value"]
        assert (again["entitiesAffected"], again["entitiesDeleted"]) == (0, 0)
        roll_back(caller, "made-softly")

    def test_what_cannot_be_hidden_stays_if_others_wrote_to_it(self, caller: Caller) -> None:
        alone, shared = "urn:li:dataPlatform:undone", "urn:li:dataHubSecret:undone"
        caller.ingest(alone, "dataPlatformInfo", INFO, **by("no-status"))
        caller.ingest(shared, "dataHubSecretValue", SECRET, **by("no-status"))
        caller.ingest(shared, "dataHubSecretValue", {**SECRET, "name": "x"}, **by("another"))
        undone = roll_back(caller, "no-status", safe=True)
        assert (undone["entitiesDeleted"], undone["unsafeEntities"]) == (1, [{"urn": shared}])
        assert not caller.exists(alone)
        assert caller.value(shared, "dataHubSecretValue")["name"] == "x"

    @pytest.mark.parametrize("safe", [True, False])
    def test_an_entity_others_wrote_to_is_reported_and_spared_when_asked(
        self, caller: Caller, safe: bool
    ) -> None:
        urn, run = hive(f"undo.shared.{safe}"), f"shared-{safe}"
        caller.ingest(urn, "ownership", {"owners": []}, **by(run))
        caller.ingest(urn, "datasetProperties", {"description": "kept"}, **by("another"))
        undone = roll_back(caller, run, safe=safe)
        assert undone["unsafeEntities"] == [{"urn": urn}]
        assert undone["unsafeEntitiesCount"] == 1
        assert caller.exists(urn) is safe
        if safe:
            assert caller.value(urn, "status") == {"removed": True}
            assert caller.value(urn, "ownership") is None
            assert caller.value(urn, "datasetProperties") == {"description": "kept"}

    def test_refuses_the_name_that_stands_for_no_run(self, caller: Caller) -> None:
        body = {"runId": "no-run-id-provided", "dryRun": False, "safe": False}
        assert caller.post("/runs?action=rollback", body).status_code == 400


@pytest.mark.parametrize("far", [2**63, -(2**63), 2**64 - 1])
def test_a_range_of_documents_may_reach_further_than_any_time(
    caller: Caller, dataset: str, far: Any
) -> None:
    usage = {"timestampMillis": 1_700_000_000_000}
    caller.ingest(dataset, "datasetUsageStatistics", usage)
    body = {"urn": dataset, "aspectName": "datasetUsageStatistics"}
    ends = ("startTimeMillis", "endTimeMillis") if far < 0 else ("endTimeMillis", "startTimeMillis")
    outside = caller.post("/entities?action=delete", body | {ends[1]: far})
    assert outside.status_code == 200, outside.text
    assert outside.json()["value"]["timeseriesRows"] == 0
    inside = caller.post("/entities?action=delete", body | {ends[0]: far})
    assert inside.json()["value"]["timeseriesRows"] == 1
