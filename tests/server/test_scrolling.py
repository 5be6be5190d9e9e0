"""Sorted results, and going through all of one while others write."""

from typing import Any

import pytest

from tests.server.conftest import Caller


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def ask(caller: Any, action: Any, /, **body: Any) -> Any:
    answer = caller.post(f"/entities?action={action}", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.fixture(scope="module")
def rivers(caller: Caller) -> Any:
    """Seven datasets that only this module's word finds, named against their URNs' order."""
    urns = []
    for at, name in enumerate(("Rhine", "oder", "Neisse", "main", "Lech", "isar", "Havel")):
        urns.append(hive(f"rivers.{at}"))
        caller.ingest(urns[-1], "datasetProperties", {"name": name, "description": "flussbett"})
    return urns


def scroll(caller: Any, **body: Any) -> Any:
    pages = []
    scroll_id = None
    while True:
        page = ask(caller, "scrollAcrossEntities", scrollId=scroll_id, keepAlive="5m", **body)
        pages.append(page["entities"])
        scroll_id = page["scrollId"]
        if scroll_id is None:
            return pages


def test_a_search_is_sorted_both_ways_by_any_searchable_field(caller: Caller, rivers: Any) -> None:
    by_name = {"field": "name", "order": "ASCENDING"}
    body = {"input": "flussbett", "start": 0, "count": 10}
    assert ask(caller, "search", entity="dataset", sort=by_name, **body)["entities"] == rivers[::-1]
    by_name["order"] = "DESCENDING"
    found = ask(caller, "searchAcrossEntities", sort=by_name, **body)
    assert found["entities"] == found["metadata"]["urns"] == rivers
    by_urn = [{"field": "platform"}, {"field": "urn", "order": "DESCENDING"}]
    found = ask(caller, "search", entity="dataset", sortCriteria=by_urn, **body)
    assert found["entities"] == rivers[::-1]


def test_filter_and_list_take_no_text(caller: Caller, rivers: Any) -> None:
    some = {"or": [{"and": [{"field": "urn", "value": "rivers.", "condition": "CONTAIN"}]}]}
    body = {"entity": "dataset", "filter": some, "sort": {"field": "name"}, "start": 1, "count": 3}
    assert ask(caller, "filter", **body)["entities"] == rivers[5:2:-1]
    assert ask(caller, "list", **body) == {
        "start": 1,
        "count": 3,
        "total": 7,
        "entities": rivers[5:2:-1],
    }


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_scrolling_meets_everything_once_and_ends(caller: Caller, rivers: Any, count: int) -> None:
    pages = scroll(caller, input="flussbett", count=count)
    assert [urn for page in pages for urn in page] == rivers
    by_name = {"field": "name", "order": "ASCENDING"}
    pages = scroll(caller, input="flussbett", entities=["dataset"], count=count, sort=by_name)
    assert [urn for page in pages for urn in page] == rivers[::-1]


def test_what_is_written_meanwhile_does_not_disturb_a_scroll(caller: Caller) -> None:
    def write(name: Any) -> None:
        caller.ingest(hive(f"drift.{name}"), "datasetProperties", {"description": "driftwort"})

    for at in range(6):
        write(f"m{at}")
    first = ask(caller, "scrollAcrossEntities", input="driftwort", count=3)
    write("a")
    caller.post("/entities?action=delete", {"urn": first["entities"][0]}).raise_for_status()
    caller.catalog.index.flush()
    body = {"input": "driftwort", "count": 3, "scrollId": first["scrollId"]}
    second = ask(caller, "scrollAcrossEntities", **body)
    assert first["entities"] + second["entities"] == [hive(f"drift.m{at}") for at in range(6)]
    assert ask(caller, "scrollAcrossEntities", **body) == second


@pytest.mark.parametrize("scroll_id", ["x", "", "§", "AAAAAAAAAAAAAAAA", 5])
def test_a_scroll_id_that_is_none_is_refused(
    caller: Caller, rivers: Any, scroll_id: int | str
) -> None:
    body = {"input": "flussbett", "count": 2, "scrollId": scroll_id}
    assert caller.post("/entities?action=scrollAcrossEntities", body).status_code == 400


def test_a_scroll_id_of_another_search_is_refused(caller: Caller, rivers: Any) -> None:
    page = ask(caller, "scrollAcrossEntities", input="flussbett", count=2)
    for change in (
        {"input": "fluss"},
        {"entities": ["dataset"]},
        {"sort": {"field": "name"}},
        {"filter": {"or": [{"and": [{"field": "origin", "value": "PROD"}]}]}},
    ):
        body = {"input": "flussbett", "count": 2, "scrollId": page["scrollId"]} | change
        answer = caller.post("/entities?action=scrollAcrossEntities", body)
        assert answer.status_code == 400
        assert "scrollId" in answer.json()["message"]


@pytest.mark.parametrize(
    ("sort", "told"),
    [
        ({"field": "nonsense"}, "no searchable field named"),
        ({"field": "name", "order": "UP"}, "ASCENDING or DESCENDING"),
        ({"order": "ASCENDING"}, "a sort must be"),
        ("name", "a sort must be"),
    ],
)
def test_a_sort_that_is_none_is_refused(caller: Caller, sort: Any, told: str) -> None:
    for action, body in (
        ("search", {"entity": "dataset", "input": "*"}),
        ("list", {"entity": "dataset"}),
        ("scrollAcrossEntities", {"input": "*"}),
    ):
        answer = caller.post(f"/entities?action={action}", body | {"sort": sort})
        assert answer.status_code == 400
        assert told in answer.json()["message"]


def test_browsing_can_be_narrowed_by_a_filter(caller: Caller) -> None:
    for at in range(4):
        urn = hive(f"narrowed.{at}")
        folder = f"/narrowed/f{at % 2}/x" if at < 3 else "/narrowed"
        caller.ingest(urn, "browsePaths", {"paths": [folder]})
    only = [hive(f"narrowed.{at}") for at in (0, 3)]
    some = {"or": [{"and": [{"field": "urn", "values": only}]}]}
    body = {"entity": "dataset", "path": "/narrowed", "start": 0, "limit": 10, "filter": some}
    page = ask(caller, "browse", **body)
    assert page["groups"] == [{"name": "f0", "count": 1}]
    assert [one["urn"] for one in page["entities"]] == [only[1]]
    assert (page["numGroups"], page["numEntities"], page["numElements"]) == (1, 1, 2)
    assert page["metadata"]["totalNumEntities"] == 2
    page = ask(caller, "browse", **body | {"start": 1, "limit": 1})
    assert (page["groups"], len(page["entities"])) == ([], 1)
