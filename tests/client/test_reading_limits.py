"""Servers that give no more than so much at once, or refuse some of it."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

TAG = "urn:li:tag:PII"
ORDERS = Urn.dataset("hive", "orders")


class Points:
    """A server with many points, that gives at most 10,000 of them, the newest first."""

    def __init__(self, points: Any) -> None:
        self.points = sorted(points, key=lambda one: one["timestampMillis"], reverse=True)
        self.asked = 0

    async def send(self, request: Any) -> Any:
        self.asked += 1
        end = request.body.get("endTimeMillis", 2**62)
        limit = min(request.body.get("limit", 10_000), 10_000)
        found = [one for one in self.points if one["timestampMillis"] <= end][:limit]
        values = [{"aspect": {"value": orjson.dumps(one).decode()}} for one in found]
        return 200, orjson.dumps({"value": {"limit": limit, "values": values}})

    async def close(self) -> None:
        pass


def test_more_points_than_a_server_gives_are_said_and_all_of_them_got() -> None:
    wire = Points([{"timestampMillis": at // 3, "n": at} for at in range(25_000)])

    async def all_of_them() -> Any:
        async with AsyncCatalog(transport=wire) as client:
            series = await client.timeseries(ORDERS, "datasetProfile")
            assert (len(series.values), series.truncated) == (10_000, True)
            return [point["n"] async for point in client.every_point(ORDERS, "datasetProfile")]

    found = asyncio.run(all_of_them())
    assert len(found) == 25_000
    assert set(found) == set(range(25_000))
    assert wire.asked == 4


def test_more_points_at_one_moment_than_a_page_has_are_not_lost_in_silence() -> None:
    wire = Points([{"timestampMillis": 7, "n": at} for at in range(12)])
    with Catalog(transport=wire) as client:
        assert len(list(client.every_point(ORDERS, "datasetProfile", page_size=13))) == 12
        with pytest.raises(InvalidInput, match="partition"):
            list(client.every_point(ORDERS, "datasetProfile", page_size=12))


class Refusing:
    """A server that knows no batches, or refuses one of the entities it is asked for."""

    def __init__(self, refused: Any = ()) -> None:
        self.refused = refused
        self.batches = 0

    async def send(self, request: Any) -> Any:
        if "ids=" in request.path:
            self.batches += 1
            return 400, b'{"message": "no"}'
        urn = request.path.rpartition("/")[2]
        if urn in self.refused:
            return 400, b'{"message": "no such type"}'
        return 200, orjson.dumps({"urn": urn.replace("%3A", ":"), "aspects": {}})

    async def close(self) -> None:
        pass


def test_one_refused_entity_is_told_and_does_not_end_batches_for_good() -> None:
    wire = Refusing({"urn%3Ali%3Atag%3Ab"})
    with Catalog(transport=wire) as client:
        for _ in range(2):
            with pytest.raises(InvalidInput, match="no such type"):
                client.entities([TAG, "urn:li:tag:b"])
        assert wire.batches == 2
        assert len(client.entities([TAG])) == 1
        assert len(client.entities([TAG])) == 1
        assert wire.batches == 3


def test_long_urns_are_asked_for_in_lists_that_fit_a_request_line() -> None:
    sizes = []

    class Measuring(Refusing):
        async def send(self, request: Any) -> Any:
            sizes.append(len(request.path))
            ids = request.path.partition("List(")[2].partition(")")[0].split(",")
            plain = [one.replace("%3A", ":") for one in ids]
            results = {one: {"urn": one, "aspects": {}} for one in plain}
            return 200, orjson.dumps({"results": results})

    urns = [f"urn:li:tag:{at:0>400}" for at in range(100)]
    with Catalog(transport=Measuring()) as client:
        assert list(map(str, client.entities(urns))) == urns
        assert len(sizes) > 2
        assert max(sizes) < 14_000


def test_what_was_kept_of_an_earlier_reading_says_how_old_it_is(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path))
    urn = Urn.dataset("hive", "limits.kept")

    def read_all(client: Any) -> Any:
        return (
            client.entity(urn),
            client.entities([urn])[urn],
            client.aspect(urn, "datasetProperties"),
            client.versions(urn, "datasetProperties"),
            client.timeseries(urn, "datasetProfile"),
            client.legacy_entity(urn),
        )

    with Catalog(site.address, offline="keep") as client:
        client.ingest(Proposal(urn, "datasetProperties", {"description": "kept"}))
        fresh = read_all(client)
    with Catalog(site.address, offline="only") as client:
        kept = read_all(client)
    assert [one.as_of for one in fresh] == [None] * 6
    assert all(one.as_of is not None for one in kept)
    assert kept[0].description == "kept"
    assert kept[3].versions == fresh[3].versions
