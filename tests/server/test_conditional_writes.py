"""Writing only while what the change was made from still stands."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from explorer.metadata.proposal import read_condition
from tests.server.conftest import Caller

ASPECT = "datasetProperties"


def text(value: str) -> dict[str, Any]:
    return {"description": value}


def version(caller: Any, urn: str) -> str:
    found: str = caller.entity(urn)["aspects"][ASPECT]["systemMetadata"]["version"]
    return found


def changed(caller: Any, urn: str) -> datetime:
    millis = caller.entity(urn)["aspects"][ASPECT]["created"]["time"]
    return datetime.fromtimestamp(millis / 1000, UTC)


def test_the_version_counts_the_changes_of_an_aspect(caller: Caller, dataset: str) -> None:
    told = []
    for value in ("one", "one", "two", "one"):
        caller.ingest(dataset, ASPECT, text(value), systemMetadata={"version": "77"})
        told.append(version(caller, dataset))
    assert told == ["1", "1", "2", "3"]
    aspects = caller.entity(dataset)["aspects"]
    assert {wrapper["systemMetadata"]["version"] for wrapper in aspects.values()} == {"1", "3"}
    superseded = caller.version(dataset, ASPECT, 1).json()
    assert superseded["systemMetadata"]["version"] == "1"


def test_a_version_taken_back_is_never_given_to_another_value(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("kept"))
    caller.ingest(dataset, ASPECT, text("undone"), systemMetadata={"runId": "taken-back"})
    caller.post("/runs?action=rollback", {"runId": "taken-back", "dryRun": False, "safe": False})
    assert caller.value(dataset, ASPECT) == text("kept")
    assert version(caller, dataset) == "3"
    caller.ingest(dataset, ASPECT, text("next"))
    assert version(caller, dataset) == "4"


@pytest.mark.parametrize("name", ["If-Version-Match", "if-version-match", "IF-VERSION-MATCH"])
def test_a_write_that_expects_another_version_is_refused(
    caller: Caller, dataset: str, name: str
) -> None:
    caller.ingest(dataset, ASPECT, text("one"), headers={name: "-1"})
    caller.ingest(dataset, ASPECT, text("two"), headers={name: "1"})
    for expected in ("1", "-1", "3"):
        answer = caller.send(dataset, ASPECT, text("late"), headers={name: expected})
        assert answer.status_code == 412
        assert answer.json()["message"] == f"Expected version {expected}, actual version 2"
    assert caller.value(dataset, ASPECT) == text("two")


def test_an_aspect_that_is_not_there_has_version_minus_one(caller: Caller, dataset: str) -> None:
    answer = caller.send(dataset, ASPECT, text("one"), headers={"If-Version-Match": "4"})
    assert answer.status_code == 412
    assert answer.json()["message"] == "Expected version 4, actual version -1"
    assert not caller.exists(dataset)


def test_the_condition_may_stand_in_the_request_and_the_proposals_own_wins(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, ASPECT, text("one"))
    body = {"proposal": caller.proposal(dataset, ASPECT, text("two"))}
    path = "/aspects?action=ingestProposal"
    assert caller.post(path, body, **{"If-Version-Match": "9"}).status_code == 412
    body["proposal"]["headers"] = {"if-version-match": "1"}
    assert caller.post(path, body, **{"If-Version-Match": "9"}).status_code == 200
    assert caller.value(dataset, ASPECT) == text("two")


def test_times_of_change_are_conditions(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("one"))
    at = changed(caller, dataset)
    before, after = at - timedelta(hours=1), at + timedelta(hours=1)
    for name, at_time, status in [
        ("If-Unmodified-Since", before.isoformat(), 412),
        ("If-Modified-Since", after.isoformat(), 412),
        ("If-Modified-Since", at.isoformat(), 412),
        ("If-Unmodified-Since", format_datetime(before, usegmt=True), 412),
        ("If-Unmodified-Since", at.isoformat(), 200),
        ("If-Modified-Since", before.isoformat().replace("+00:00", "Z"), 200),
        ("If-Unmodified-Since", format_datetime(after, usegmt=True), 200),
    ]:
        answer = caller.send(dataset, ASPECT, text("one"), headers={name: at_time})
        assert answer.status_code == status, (name, at_time)


def test_a_change_in_the_same_second_is_a_change(
    caller: Caller, dataset: str, clock: Callable[[int], None]
) -> None:
    clock(20_000)
    caller.ingest(dataset, ASPECT, text("read"))
    at_reading = changed(caller, dataset)
    clock(20_000)
    caller.ingest(dataset, ASPECT, text("of somebody else"))
    at_change = changed(caller, dataset)
    assert at_change - at_reading == timedelta(milliseconds=1)
    for at_time in (
        at_reading.isoformat(),
        at_reading.isoformat(timespec="milliseconds"),
        format_datetime(at_reading, usegmt=True),
    ):
        headers = {"If-Unmodified-Since": at_time}
        answer = caller.send(dataset, ASPECT, text("late"), headers=headers)
        assert answer.status_code == 412, at_time
        assert caller.value(dataset, ASPECT) == text("of somebody else")
        caller.ingest(
            dataset, ASPECT, text("of somebody else"), headers={"If-Modified-Since": at_time}
        )
    caller.ingest(
        dataset, ASPECT, text("next"), headers={"If-Unmodified-Since": at_change.isoformat()}
    )


def test_a_change_after_the_clock_was_set_back_is_a_change(
    caller: Caller, dataset: str, clock: Callable[[int], None]
) -> None:
    clock(20_000)
    caller.ingest(dataset, ASPECT, text("read"))
    at_reading = changed(caller, dataset)
    clock(19_999)
    caller.ingest(dataset, ASPECT, text("of somebody else"))
    assert changed(caller, dataset) > at_reading
    headers = {"If-Unmodified-Since": at_reading.isoformat()}
    assert caller.send(dataset, ASPECT, text("late"), headers=headers).status_code == 412
    assert caller.value(dataset, ASPECT) == text("of somebody else")


@pytest.mark.parametrize("how", ["aspect", "entity", "run", "latest version"])
def test_what_was_removed_and_written_again_after_the_clock_was_set_back_is_a_change(
    caller: Caller, dataset: str, clock: Callable[[int], None], how: str
) -> None:
    clock(20_000)
    before = {"runId": "kept" if how == "latest version" else "withdrawn"}
    caller.ingest(dataset, ASPECT, text("one"), systemMetadata=before)
    caller.ingest(dataset, ASPECT, text("read"), systemMetadata={"runId": "withdrawn"})
    for _ in range(2):
        at_reading = changed(caller, dataset)
        clock(10_000)
        withdraw(caller, dataset, "run" if how == "latest version" else how)
        if how != "latest version":
            clock(10_000)
            caller.ingest(dataset, ASPECT, text("one"), systemMetadata={"runId": "withdrawn"})
        assert changed(caller, dataset) > at_reading
        headers = {"If-Unmodified-Since": at_reading.isoformat()}
        assert caller.send(dataset, ASPECT, text("late"), headers=headers).status_code == 412
        assert caller.value(dataset, ASPECT) == text("one")
        if how == "latest version":
            caller.ingest(dataset, ASPECT, text("two"), systemMetadata={"runId": "withdrawn"})


@pytest.mark.parametrize("year", [1987, 2026, 2038, 2039])
def test_a_time_in_a_condition_is_exact_to_the_millisecond(year: int) -> None:
    first = datetime(year, 9, 1, tzinfo=UTC)
    for number in range(2_000):
        moment = first + timedelta(milliseconds=number)
        condition = read_condition({"If-Unmodified-Since": moment.isoformat()})
        assert condition is not None
        since_first = (condition.unmodified_since_millis or 0) - round(first.timestamp()) * 1000
        assert since_first == number


@pytest.mark.parametrize(
    "headers",
    [
        {"If-Version-Match": "one"},
        {"If-Version-Match": 1.5},
        {"If-Version-Match": True},
        {"If-Version-Match": "9" * 5000},
        {"If-Modified-Since": "yesterday"},
        {"If-Modified-Since": 5},
        {"If-Unmodified-Since": ""},
        {"If-Unmodified-Since": "2024-99-01"},
        {"If-None-Match": "abc"},
    ],
)
def test_a_condition_that_cannot_be_read_is_refused(
    caller: Caller, dataset: str, headers: Any
) -> None:
    answer = caller.send(dataset, ASPECT, text("one"), headers=headers)
    assert answer.status_code == 400
    assert next(iter(headers)) in answer.json()["message"]
    assert not caller.exists(dataset)


@pytest.mark.parametrize("change", ["CREATE_ENTITY", "CREATE"])
def test_what_is_to_be_created_and_exists_is_dropped_silently_when_asked(
    caller: Caller, dataset: str, change: str
) -> None:
    for value in ("first", "second"):
        caller.ingest(dataset, ASPECT, text(value), change, headers={"If-None-Match": "*"})
    assert caller.value(dataset, ASPECT) == text("first")


def test_an_upsert_may_ask_that_there_is_nothing_yet(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("first"), headers={"If-None-Match": "*"})
    answer = caller.send(dataset, ASPECT, text("second"), headers={"If-None-Match": "*"})
    assert answer.status_code == 412
    assert caller.value(dataset, ASPECT) == text("first")


def test_one_failed_condition_refuses_the_batch(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("one"))
    good = caller.proposal("urn:li:tag:conditional", "tagProperties", {"name": "t"})
    bad = caller.proposal(dataset, ASPECT, text("two")) | {"headers": {"If-Version-Match": "2"}}
    answer = caller.batch(good, bad)
    assert answer.status_code == 412
    assert answer.json()["message"].endswith("Expected version 2, actual version 1")
    assert not caller.exists("urn:li:tag:conditional")


def test_a_removal_takes_conditions_too(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("one"))
    answer = caller.send(dataset, ASPECT, None, "DELETE", headers={"If-Version-Match": "2"})
    assert answer.status_code == 412
    caller.ingest(dataset, ASPECT, None, "DELETE", headers={"If-Version-Match": "1"})
    assert caller.value(dataset, ASPECT) is None


def test_of_many_writers_from_one_version_one_wins(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, ASPECT, text("start"))

    def attempt(n: int) -> int:
        headers = {"If-Version-Match": "1"}
        status: int = caller.send(dataset, ASPECT, text(str(n)), headers=headers).status_code
        return status

    with ThreadPoolExecutor(8) as threads:
        told = sorted(threads.map(attempt, range(16)))
    assert told == [200] + [412] * 15
    assert version(caller, dataset) == "2"


def withdraw(caller: Any, urn: str, how: str) -> None:
    match how:
        case "aspect":
            caller.ingest(urn, ASPECT, None, "DELETE")
        case "entity":
            caller.post("/entities?action=delete", {"urn": urn})
        case "run":
            body = {"runId": "withdrawn", "dryRun": False, "safe": False}
            caller.post("/runs?action=rollback", body)


@pytest.mark.parametrize("how", ["aspect", "entity", "run"])
def test_versions_go_on_after_what_was_removed_is_written_again(
    caller: Caller, dataset: str, how: str
) -> None:
    system = {"runId": "withdrawn"}
    caller.ingest(dataset, ASPECT, text("one"), systemMetadata=system)
    caller.ingest(dataset, ASPECT, text("two"), systemMetadata=system)
    for expected in ("3", "4"):
        withdraw(caller, dataset, how)
        answer = caller.send(dataset, ASPECT, text("late"), headers={"If-Version-Match": "1"})
        assert answer.json()["message"] == "Expected version 1, actual version -1"
        new = text(f"new {expected}")
        caller.ingest(
            dataset, ASPECT, new, headers={"If-Version-Match": "-1"}, systemMetadata=system
        )
        assert version(caller, dataset) == expected
        for stale in ("1", "2"):
            answer = caller.send(dataset, ASPECT, text("late"), headers={"If-Version-Match": stale})
            assert answer.status_code == 412
        assert caller.value(dataset, ASPECT) == new
    # What is kept of its history still counts from 1, the oldest.
    caller.ingest(dataset, ASPECT, text("last"))
    assert caller.version(dataset, ASPECT, 1).json()["systemMetadata"]["version"] == "4"
