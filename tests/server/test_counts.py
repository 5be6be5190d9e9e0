"""Counting, and the plain list of what there is."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from tests.server.conftest import Caller


def ask(caller: Any, path: Any, /, **body: Any) -> Any:
    answer = caller.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.fixture(scope="module")
def caller(
    caller: Caller, serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Calls of a catalog of this file's own, where nobody else counts."""
    catalog = open_catalog(tmp_path_factory.mktemp("counted"), load_registry())
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        yield type(caller)(http, catalog)
    catalog.close()


@pytest.fixture(scope="module")
def notebooks(caller: Caller) -> Any:
    """The only notebooks of the catalog, one of them soft-deleted."""
    urns = [f"urn:li:notebook:(querybook,{n})" for n in (3, 1, 2)]
    for urn in urns:
        caller.ingest(urn, "status", {"removed": False})
    caller.ingest(urns[1], "status", {"removed": True})
    return urns


def test_urns_are_listed_in_order_page_by_page(caller: Caller, notebooks: Any) -> None:
    whole = ask(caller, "/entities?action=listUrns", entity="notebook", start=0, count=10)
    assert whole == {"entities": sorted(notebooks), "start": 0, "count": 3, "total": 3}
    page = ask(caller, "/entities?action=listUrns", entity="notebook", start=2, count=2)
    assert page == {"entities": sorted(notebooks)[2:], "start": 2, "count": 1, "total": 3}


def test_a_type_whose_name_begins_another_lists_its_own(caller: Caller) -> None:
    caller.ingest(
        "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,counted)", "status", {"removed": False}
    )
    caller.ingest("urn:li:mlFeature:(counted,x)", "status", {"removed": False})
    found = ask(caller, "/entities?action=listUrns", entity="mlFeature", start=0, count=100)
    assert "urn:li:mlFeature:(counted,x)" in found["entities"]
    assert all(urn.startswith("urn:li:mlFeature:") for urn in found["entities"])


def test_totals_leave_out_what_is_soft_deleted(caller: Caller, notebooks: Any) -> None:
    assert ask(caller, "/entities?action=getTotalEntityCount", entity="notebook") == 2
    several = ask(
        caller, "/entities?action=batchGetTotalEntityCount", entities=["notebook", "dataHubRole"]
    )
    assert several == {"notebook": 2, "dataHubRole": 0}


def test_aspects_are_counted_for_all_or_for_urns_of_a_pattern(
    caller: Caller, notebooks: Any
) -> None:
    def count(aspect: Any, **more: Any) -> Any:
        return ask(caller, "/aspects?action=getCount", aspect=aspect, **more)

    assert count("status", urnLike="urn:li:notebook:%") == 3
    assert count("status", urnLike="urn:li:notebook:(querybook,_)") == 3
    assert count("status", urnLike="%no-such-entity%") == 0
    assert count("status") >= 3
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,counted.points,PROD)"
    for at in (1, 2):
        caller.ingest(urn, "datasetUsageStatistics", {"timestampMillis": at})
    assert count("datasetUsageStatistics", urnLike="%counted.points%") == 2


@pytest.mark.parametrize("pattern", ["x" * 60_000, "%a" * 200])
def test_a_pattern_that_no_urn_needs_is_refused(caller: Caller, pattern: Any) -> None:
    asked = {"aspect": "status", "urnLike": pattern}
    answer = caller.post("/aspects?action=getCount", asked)
    assert answer.status_code == 400
    assert "urnLike" in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/entities?action=listUrns", {"entity": "nonsense"}),
        ("/entities?action=getTotalEntityCount", {}),
        ("/entities?action=batchGetTotalEntityCount", {"entities": ["nonsense"]}),
        ("/entities?action=batchGetTotalEntityCount", {}),
        ("/aspects?action=getCount", {"aspect": "nonsense"}),
        ("/entities?action=getBrowsePaths", {"urn": "nonsense"}),
    ],
)
def test_unknown_names_are_refused(caller: Caller, path: str, body: Any) -> None:
    assert caller.post(path, body).status_code == 400


def test_browse_paths_are_those_stored_or_the_one_the_urn_suggests(
    caller: Caller, dataset: str
) -> None:
    def paths(urn: Any) -> Any:
        return ask(caller, "/entities?action=getBrowsePaths", urn=urn)

    assert paths(dataset) == []
    caller.ingest(dataset, "status", {"removed": False})
    assert paths(dataset) == [f"/prod/hive/{dataset.split(',')[1]}"]
    caller.ingest(dataset, "browsePaths", {"paths": ["/a/b", "/c"]})
    assert paths(dataset) == ["/a/b", "/c"]
