"""What was read once can be read again without the server, marked with its age."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.connection import Connection
from explorer.client.http import HttpTransport
from explorer.client.transport import Request, Retry
from explorer.errors import NotFound, Unreachable

pytestmark = pytest.mark.anyio

URL = "http://catalog.example"
READ = Request("GET", "/entitiesV2/x")
OTHER = Request("GET", "/entitiesV2/y")
WRITE = Request("POST", "/aspects", {}, writes=True)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path))


class Remote:
    """A server that may be away."""

    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        self.config: dict[str, Any] = {}

    def __call__(self, request: Any) -> Any:
        self.asked += 1
        if self.away:
            raise httpx.ReadError("gone")
        if request.url.path.endswith("missing"):
            return httpx.Response(404, json={"message": "no such thing"})
        if request.url.path == "/config":
            return httpx.Response(200, json=self.config)
        return httpx.Response(200, json={"path": request.url.path})


@pytest.fixture
def remote() -> Any:
    return Remote()


def connection_to(remote: Any, mode: Any, url: Any = URL) -> Any:
    transport = HttpTransport(url, carrier=httpx.MockTransport(remote))
    return Connection(url, transport=transport, offline=mode, retry=Retry(2, 5, 0.001))


async def kept(remote: Any) -> None:
    connection = connection_to(remote, "keep")
    reply = await connection.ask(READ)
    assert reply.as_of is None
    await connection.send(WRITE)
    await connection.close()


async def test_a_kept_answer_stands_in_for_one_that_does_not_come(remote: Any) -> None:
    await kept(remote)
    connection = connection_to(remote, "fallback")
    remote.away = True
    reply = await connection.ask(READ)
    assert reply.body == {"path": "/entitiesV2/x"}
    assert datetime.now(UTC) - reply.as_of < timedelta(minutes=1)
    assert connection.as_of == reply.as_of
    asked = remote.asked
    await connection.ask(READ)
    assert remote.asked == asked + 1
    with pytest.raises(Unreachable):
        await connection.ask(OTHER)
    with pytest.raises(Unreachable):
        await connection.ask(READ, fresh=True)
    with pytest.raises(Unreachable):
        await connection.ask(WRITE)
    remote.away = False
    assert (await connection.ask(READ)).as_of is None
    assert connection.as_of is None
    await connection.close()


async def test_offline_nobody_is_asked(remote: Any) -> None:
    await kept(remote)
    asked = remote.asked
    connection = connection_to(remote, "only")
    assert (await connection.ask(READ)).as_of is not None
    for request, fresh in ((OTHER, False), (WRITE, False), (READ, True)):
        with pytest.raises(Unreachable, match="offline"):
            await connection.ask(request, fresh=fresh)
    with pytest.raises(Unreachable, match="offline"):
        await anext(connection.stream(READ))
    assert remote.asked == asked
    await connection.close()


async def test_answers_of_another_catalog_that_was_at_the_address_are_forgotten(
    remote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    for catalog_id, is_kept in (("first", True), ("first", True), ("second", False)):
        remote.config = {"noCode": "true", "catalogExplorer": {"id": catalog_id}}
        if catalog_id == "first":
            await kept(remote)
        connection = connection_to(remote, "keep")
        assert (await connection.abilities()).catalog_id == catalog_id
        await connection.close()
        offline = connection_to(remote, "only")
        if is_kept:
            assert (await offline.ask(READ)).as_of is not None
        else:
            with pytest.raises(Unreachable):
                await offline.ask(READ)
        assert (await offline.abilities()).catalog_id == catalog_id
        await offline.close()


async def test_a_refusal_is_told_and_not_papered_over(remote: Any) -> None:
    connection = connection_to(remote, "fallback")
    with pytest.raises(NotFound):
        await connection.ask(Request("GET", "/missing"))
    await connection.close()


@pytest.mark.parametrize("mode", ["off", "keep"])
async def test_kept_answers_are_given_only_where_that_is_wanted(remote: Any, mode: str) -> None:
    await kept(remote)
    remote.away = True
    connection = connection_to(remote, mode)
    with pytest.raises(Unreachable):
        await connection.ask(READ)
    await connection.close()


async def test_answers_of_one_server_are_not_another_ones(remote: Any) -> None:
    await kept(remote)
    connection = connection_to(remote, "only", "http://other.example")
    with pytest.raises(Unreachable):
        await connection.ask(READ)
    await connection.close()


def test_the_faces_tell_how_old_what_they_show_is(remote: Any) -> None:
    transport = HttpTransport(URL, carrier=httpx.MockTransport(remote))
    with Catalog(URL, transport=transport, offline="fallback", retry=Retry(1)) as catalog:
        catalog.graphql("{ a }")
        assert catalog.as_of is None
    remote.away = True
    transport = HttpTransport(URL, carrier=httpx.MockTransport(remote))
    with Catalog(URL, transport=transport, offline="fallback", retry=Retry(1)) as catalog:
        catalog.graphql("{ a }")
        assert catalog.as_of is not None
        with pytest.raises(Unreachable):
            catalog.graphql("mutation { a }")


async def test_a_cache_that_cannot_be_kept_fails_nobody(
    remote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(blocked))
    transport = HttpTransport(URL, carrier=httpx.MockTransport(remote))
    async with AsyncCatalog(URL, transport=transport, offline="fallback") as catalog:
        assert await catalog.graphql("{ a }") == {}


async def test_answers_kept_for_one_person_are_not_another_ones(remote: Any) -> None:
    def connection_of(token: Any, mode: Any) -> Any:
        transport = HttpTransport(URL, carrier=httpx.MockTransport(remote))
        return Connection(URL, transport=transport, offline=mode, token=token)

    ours = connection_of("s3cret", "keep")
    await ours.ask(READ)
    await ours.close()
    theirs, again = connection_of("0ther", "only"), connection_of("s3cret", "only")
    with pytest.raises(Unreachable):
        await theirs.ask(READ)
    assert (await again.ask(READ)).as_of is not None
    await theirs.close()
    await again.close()
