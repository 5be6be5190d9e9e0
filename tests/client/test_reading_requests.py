"""What reading sends, to the byte."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from explorer.client.entity import (
    aspect_request,
    entities_request,
    entity_request,
    legacy_entity_request,
)
from explorer.client.history import versions_request
from explorer.client.timeseries import timeseries_request
from explorer.errors import InvalidInput
from explorer.metadata import Urn
from explorer.query import Criterion, all_of

ORDERS = Urn.dataset("hive", "a/b %+üx")
ENCODED = "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3Ahive%2Ca%2Fb%20%25%2B%C3%BCx%2CPROD%29"
TAG = Urn.parse("urn:li:tag:PII")


def test_every_urn_in_a_path_is_encoded_once() -> None:
    assert entity_request(ORDERS, None).path == f"/entitiesV2/{ENCODED}"
    assert (
        entity_request(ORDERS, ["status", "ownership"]).path
        == f"/entitiesV2/{ENCODED}?aspects=List(status,ownership)"
    )
    assert legacy_entity_request(ORDERS).path == f"/entities/{ENCODED}"
    assert (
        aspect_request(ORDERS, "ownership", 3).path
        == f"/aspects/{ENCODED}?aspect=ownership&version=3"
    )
    assert (
        versions_request(ORDERS, "ownership", 7, 2, 5).path
        == f"/versions/{ENCODED}?aspect=ownership&from=1&to=7&start=2&count=5"
    )


def test_many_entities_are_one_list() -> None:
    request = entities_request([ORDERS, TAG], ["status"])
    assert (
        request.path == f"/entitiesV2?ids=List({ENCODED},urn%3Ali%3Atag%3APII)&aspects=List(status)"
    )
    assert request.headers == (("X-RestLi-Method", "batch_get"),)


def test_points_are_asked_for_in_milliseconds_and_only_what_was_said() -> None:
    start = datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    request = timeseries_request(
        ORDERS, "datasetProfile", start, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), None
    )
    assert (request.method, request.path) == (
        "POST",
        "/aspects?action=getTimeseriesAspectValues",
    )
    assert request.body == {
        "urn": str(ORDERS),
        "entity": "dataset",
        "aspect": "datasetProfile",
        "startTimeMillis": 1704067200000,
        "endTimeMillis": -1000,
    }
    filter = all_of(Criterion("partitionSpec.partition", ("p",)))
    more = timeseries_request(TAG, "x", None, None, 5, latest=True, filter=filter)
    assert more.body == {
        "urn": str(TAG),
        "entity": "tag",
        "aspect": "x",
        "limit": 5,
        "latestValue": True,
        "filter": filter.to_wire(),
    }


def test_a_moment_without_a_zone_is_refused() -> None:
    local = datetime.fromisoformat("2024-01-01T00:00:00")
    with pytest.raises(InvalidInput, match="no time zone"):
        timeseries_request(TAG, "x", local, None, None)
