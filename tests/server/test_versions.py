"""The versions an aspect has had, in ranges."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.server.conftest import Caller


@pytest.fixture(scope="module")
def written(caller: Caller) -> Any:
    """A dataset whose description was written five times."""
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,versions/five,PROD)"
    for text in "abcde":
        caller.ingest(urn, "datasetProperties", {"description": text})
    caller.ingest(urn, "datasetProperties", {"description": "e"})
    return urn


def versions(caller: Any, urn: Any, query: str = "") -> Any:
    path = f"/versions/{quote(urn, safe='')}?aspect=datasetProperties{query}"
    answer = caller.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def texts(found: Any) -> Any:
    return "".join(one["value"]["description"] for one in found["versions"])


def test_all_versions_come_newest_first_each_with_its_stamp(caller: Caller, written: Any) -> None:
    found = versions(caller, written)
    assert (found["urn"], found["aspectName"]) == (written, "datasetProperties")
    assert (found["start"], found["count"], found["total"]) == (0, 5, 5)
    assert [one["version"] for one in found["versions"]] == [0, 4, 3, 2, 1]
    assert texts(found) == "edcba"
    times = [one["created"]["time"] for one in found["versions"]]
    assert times == sorted(times, reverse=True)
    assert all(one["created"]["actor"].startswith("urn:li:corpuser:") for one in found["versions"])
    assert all("runId" in one["systemMetadata"] for one in found["versions"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("&from=2&to=3", "cb"),
        ("&from=3&to=2", "cb"),
        ("&from=3", "edc"),
        ("&to=2", "ba"),
        ("&from=0&to=0", "e"),
        ("&from=-2&to=-1", "dc"),
        ("&from=-1", "ed"),
        ("&from=4&to=99", "ed"),
        ("&from=-99&to=1", "a"),
        ("&from=50&to=99", ""),
        ("&from=-99&to=-50", ""),
        ("&from=99999999999999999999", "e"),
    ],
)
def test_a_range_includes_its_ends_and_stops_where_the_versions_do(
    caller: Caller, written: Any, query: str, expected: str
) -> None:
    found = versions(caller, written, query)
    assert texts(found) == expected
    assert found["total"] == len(expected)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pages_cover_a_range_once(caller: Caller, written: Any, count: int) -> None:
    pages = [versions(caller, written, f"&start={n}&count={count}") for n in range(0, 7, count)]
    assert "".join(texts(page) for page in pages) == "edcba"
    assert {page["total"] for page in pages} == {5}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?aspect=nonsense", 404),
        ("?aspect=ownership", 404),
        ("?aspect=datasetUsageStatistics", 400),
        ("?aspect=datasetProperties&from=x", 400),
        ("?aspect=datasetProperties&start=-1", 400),
        ("?aspect=datasetProperties&count=many", 400),
    ],
)
def test_what_has_no_versions_is_refused(
    caller: Caller, written: Any, query: str, status: int
) -> None:
    assert caller.get(f"/versions/{quote(written, safe='')}{query}").status_code == status


def test_a_negative_version_of_a_point_lookup_counts_back(caller: Caller, written: Any) -> None:
    for number, text in ((0, "e"), (-1, "d"), (-4, "a"), (1, "a"), (4, "d")):
        (value,) = caller.version(written, "datasetProperties", number).json()["aspect"].values()
        assert value == {"description": text}
    assert caller.version(written, "datasetProperties", -5).status_code == 404
