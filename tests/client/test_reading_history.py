"""Versions of aspects and what differs between them, from a server that tells them at once and
from those where each is looked up."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.transport import Answer
from explorer.errors import InvalidInput, NotFound
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site
from tests.conftest import schema_metadata

TEXTS = "abcdefg"


def fresh() -> Any:
    return Urn.dataset("hive", f"history.{uuid4().hex}")


def write(client: Any, urn: Any, texts: Any = TEXTS, aspect: str = "datasetProperties") -> Any:
    for text in texts:
        client.ingest(Proposal(urn, aspect, {"description": text}))
    return urn


def said(versions: Any) -> Any:
    return "".join(version.value["description"] for version in versions)


@pytest.fixture(scope="module")
def written(client: Any) -> Any:
    return write(client, fresh())


def test_as_many_writes_make_as_many_versions_and_one_diff_less(client: Any, written: Any) -> None:
    found = client.versions(written, "datasetProperties")
    assert said(found) == TEXTS[::-1]
    assert [version.number for version in found] == [0, 6, 5, 4, 3, 2, 1]
    assert (found.total, found.truncated, found.urn) == (7, False, written)
    diffs = [client.diff(written, "datasetProperties", -at - 1, -at) for at in range(6)]
    assert [(one.changes[0].before, one.changes[0].after) for one in diffs] == list(
        zip("fedcba", "gfedcb", strict=True)
    )
    with pytest.raises(NotFound, match="no version -7"):
        client.diff(written, "datasetProperties", -7)


def test_each_version_says_who_wrote_it_and_when(client: Any, written: Any) -> None:
    found = client.versions(written, "datasetProperties")
    times = [version.created.time for version in found]
    assert times == sorted(times, reverse=True)
    assert all(version.created.actor.startswith("urn:li:corpuser:") for version in found)
    assert all(version.run_id for version in found)


def test_a_page_of_versions_says_whether_there_are_more(client: Any, written: Any) -> None:
    found = client.versions(written, "datasetProperties", start=2, count=3)
    assert (said(found), found.start, found.total, found.truncated) == ("edc", 2, 7, True)
    last = client.versions(written, "datasetProperties", start=5, count=3)
    assert (said(last), last.truncated) == ("ba", False)
    assert len(client.versions(written, "datasetProperties", start=50)) == 0


def test_every_version_comes_once_over_many_pages(client: Any, written: Any) -> None:
    assert said(client.every_version(written, "datasetProperties", page_size=3)) == TEXTS[::-1]
    assert said(client.every_version(written, "datasetProperties", page_size=1)) == TEXTS[::-1]


def test_a_write_in_between_neither_repeats_nor_loses_a_version(client: Any) -> None:
    urn = write(client, fresh())
    found = client.every_version(urn, "datasetProperties", page_size=3)
    seen = [next(found)]
    write(client, urn, "xy")
    assert said([*seen, *found]) == TEXTS[::-1]


def test_any_two_versions_are_compared_whichever_is_older(client: Any, written: Any) -> None:
    diff = client.diff(written, "datasetProperties", 2, 5)
    assert (diff.older.number, diff.newer.number) == (2, 5)
    (change,) = diff
    assert (change.place, change.before, change.after) == ("/description", "b", "e")
    assert client.diff(written, "datasetProperties", 0, 0).changes == ()
    with pytest.raises(NotFound, match="no version 99"):
        client.diff(written, "datasetProperties", 99)


def test_one_version_has_nothing_before_it(client: Any) -> None:
    urn = write(client, fresh(), "a")
    assert len(client.versions(urn, "datasetProperties")) == 1
    with pytest.raises(NotFound, match="one version only"):
        client.diff(urn, "datasetProperties")


def test_what_has_no_versions_is_said_so(client: Any, written: Any) -> None:
    with pytest.raises(NotFound):
        client.versions(written, "ownership")
    with pytest.raises(NotFound):
        client.versions(fresh(), "datasetProperties")
    with pytest.raises(InvalidInput, match="timeseries"):
        client.versions(written, "datasetProfile")
    with pytest.raises(InvalidInput, match="count at least 1"):
        client.versions(written, "datasetProperties", count=0)


# Where nothing but point lookups is offered.


class Elsewhere:
    """A server before ours that offers no versions at once; it may refuse to count back, and have
    dropped the oldest versions."""

    def __init__(self, transport: Any, *, counts_back: Any, dropped: int = 0) -> None:
        self.transport = transport
        self.counts_back = counts_back
        self.dropped = dropped
        self.asked: list[str] = []

    async def send(self, request: Any) -> Any:
        self.asked.append(request.path)
        if request.path == "/config":
            return 200, b'{"noCode": "true"}'
        if request.path.startswith("/versions"):
            return 404, b"{}"
        number = request.path.partition("&version=")[2]
        if number.startswith("-") and not self.counts_back:
            return 400, b'{"message": "version must not be negative"}'
        if number and 0 < int(number) <= self.dropped:
            return 404, b"{}"
        return await self.transport.send(request)

    async def close(self) -> None:
        await self.transport.close()


class Real:
    """Carries requests to a real service by its own client."""

    def __init__(self, address: Any) -> None:
        self.address = address
        self.inner: AsyncCatalog | None = None

    async def send(self, request: Any) -> Any:
        if self.inner is None:
            self.inner = AsyncCatalog(self.address)
        connection = self.inner._connection
        transport = await connection._reach.open()
        answer = await transport.send(request)
        return (answer.status, answer.body) if isinstance(answer, Answer) else answer

    async def close(self) -> None:
        if self.inner is not None:
            await self.inner.close()


@pytest.fixture(params=[True, False], ids=["counting back", "counting up"])
def older(request: pytest.FixtureRequest, site: Site) -> Iterator[Any]:
    wire = Elsewhere(Real(site.address), counts_back=request.param)
    with Catalog(transport=wire) as made:
        yield made, wire


def test_versions_are_looked_up_where_the_server_does_not_tell_them_at_once(older: Any) -> None:
    client, _ = older
    urn = write(client, fresh())
    found = client.versions(urn, "datasetProperties")
    assert said(found) == TEXTS[::-1]
    assert [version.number for version in found] == [0, 6, 5, 4, 3, 2, 1]
    assert (found.total, found.truncated) == (7, False)
    assert said(client.versions(urn, "datasetProperties", start=2, count=3)) == "edc"
    assert client.versions(urn, "datasetProperties", start=2, count=3).truncated
    assert said(client.every_version(urn, "datasetProperties", page_size=3)) == TEXTS[::-1]
    assert len(client.versions(urn, "datasetProperties", start=7)) == 0


def test_two_versions_are_compared_there_too(older: Any) -> None:
    client, _ = older
    urn = write(client, fresh())
    assert client.diff(urn, "datasetProperties").changes[0].before == "f"
    assert client.diff(urn, "datasetProperties", -3, 2).changes[0].before == "d"
    with pytest.raises(NotFound):
        client.diff(urn, "datasetProperties", 99)
    with pytest.raises(NotFound):
        client.versions(fresh(), "datasetProperties")


def test_one_version_is_found_to_be_alone(older: Any) -> None:
    client, wire = older
    urn = write(client, fresh(), "a")
    wire.asked.clear()
    assert client.versions(urn, "datasetProperties").total == 1
    looked_up = [path.partition("&version=")[2] for path in wire.asked if "/aspects/" in path]
    assert looked_up == ["0", "-1", "1"]


def test_counting_back_reads_no_version_that_was_not_asked_for(site: Site) -> None:
    wire = Elsewhere(Real(site.address), counts_back=True)
    with Catalog(transport=wire) as client:
        urn = write(client, fresh())
        wire.asked.clear()
        found = client.versions(urn, "datasetProperties", count=3)
        assert (said(found), found.total, found.truncated) == ("gfe", None, True)
        looked_up = [path.partition("&version=")[2] for path in wire.asked if "/aspects/" in path]
        assert looked_up == ["0", "-1", "5"]


def test_dropped_versions_end_the_walk(site: Site) -> None:
    wire = Elsewhere(Real(site.address), counts_back=True, dropped=3)
    with Catalog(transport=wire) as client:
        urn = write(client, fresh())
        found = client.versions(urn, "datasetProperties")
        assert (said(found), found.total, found.truncated) == ("gfed", 4, False)


# Columns.


def schema(**texts: str | None) -> Any:
    return schema_metadata(texts)


def edited(**texts: Any) -> Any:
    infos = [{"fieldPath": path, "description": text} for path, text in texts.items()]
    return {"editableSchemaFieldInfo": infos}


@pytest.fixture(scope="module")
def described(client: Any) -> Any:
    urn = fresh()
    for aspect, value in (
        ("schemaMetadata", schema(id="The id.", name=None)),
        ("schemaMetadata", schema(id="The key.", name="A name.", size="How big.")),
        ("editableSchemaMetadata", edited(id="Who it is.")),
        ("editableSchemaMetadata", edited(id="Who it is.", name="What it is called.")),
        ("schemaMetadata", schema(id="The key!", name="A name.", size="How big.")),
        ("editableSchemaMetadata", edited(id="", name="What it is called.")),
    ):
        client.ingest(Proposal(urn, aspect, value))
    return urn


def test_the_history_of_a_column_is_told_newest_first_from_both_aspects(
    client: Any, described: Any
) -> None:
    history = client.column_history(described, "id")
    assert [(one.origin, one.before, one.after) for one in history] == [
        ("edited", "Who it is.", None),
        ("ingested", "The key.", "The key!"),
        ("edited", None, "Who it is."),
        ("ingested", "The id.", "The key."),
        ("ingested", None, "The id."),
    ]
    assert [one.version for one in history] == [0, 0, 1, 2, 1]
    assert all(one.created is not None and one.run_id for one in history)
    assert client.column_history(described, "nowhere") == ()
    assert client.column_history(fresh(), "id") == ()


def test_blame_names_the_change_that_gave_each_column_its_text(client: Any, described: Any) -> None:
    blamed = client.blame(described)
    assert list(blamed) == ["id", "name", "size"]
    assert [(one.origin, one.version, one.after) for one in blamed.values()] == [
        ("ingested", 0, "The key!"),
        ("edited", 2, "What it is called."),
        ("ingested", 2, "How big."),
    ]
    assert client.blame(fresh()) == {}


def test_blame_goes_back_no_further_than_it_takes(site: Site) -> None:
    asked = []

    class Counting(Real):
        async def send(self, request: Any) -> Any:
            asked.append(request.path)
            return await super().send(request)

    with Catalog(transport=Counting(site.address)) as client:
        urn = fresh()
        client.ingest(Proposal(urn, "editableSchemaMetadata", edited(a="kept")))
        for at in range(45):
            client.ingest(Proposal(urn, "schemaMetadata", schema(a=f"{at}", b=f"{at}")))
        asked.clear()
        assert client.blame(urn)["b"].after == "44"
        assert sum(path.startswith("/versions/") for path in asked) == 2
        asked.clear()
        assert len(client.column_history(urn, "b")) == 45
        assert sum(path.startswith("/versions/") for path in asked) == 4


def test_versions_that_came_odd_are_the_servers_fault_and_never_another(site: Site) -> None:
    from explorer.client.history import parse_versions
    from explorer.errors import ServerFault

    urn = fresh()
    body: Any
    for body in (
        None,
        [],
        {},
        {"versions": {}},
        {"versions": [None]},
        {"versions": [{"value": 3}]},
    ):
        with pytest.raises(ServerFault):
            parse_versions(body, urn, "status")
    odd = {"versions": [{"version": "x", "value": None, "created": {"time": "soon"}}], "total": "y"}
    found = parse_versions(orjson.loads(orjson.dumps(odd)), urn, "status")
    assert (found.versions[0].value, found.versions[0].created, found.total) == ({}, None, 1)


def test_two_may_ask_at_once(site: Site) -> None:
    async def both() -> Any:
        async with AsyncCatalog(site.address) as client:
            urn = fresh()
            for text in "ab":
                await client.ingest(Proposal(urn, "datasetProperties", {"description": text}))
            return await asyncio.gather(
                client.versions(urn, "datasetProperties"), client.diff(urn, "datasetProperties")
            )

    versions, diff = asyncio.run(both())
    assert said(versions) == "ba"
    assert len(diff) == 1
