"""The token goes to the server that asked for it, and nowhere else."""

import logging
import pickle
import traceback
from typing import Any

import httpx
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.connection import Connection
from explorer.client.http import HttpTransport
from explorer.client.transport import Answer, Request, Secret, graphql_request, part_login
from explorer.errors import CatalogError, InvalidInput, NotSignedIn, ReadOnly
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

pytestmark = pytest.mark.anyio

TOKEN = "s3cret-of-the-tests"
READ = Request("GET", "/entitiesV2/x")


class Gate:
    """Lets in whoever shows the token, and to some paths everybody."""

    def __init__(self, *, closed: bool = True) -> None:
        self.closed = closed
        self.shown: list[str | None] = []
        self.urls: list[str] = []

    def __call__(self, request: Any) -> Any:
        shown = request.headers.get("authorization")
        self.shown.append(shown)
        self.urls.append(str(request.url))
        if self.closed and shown is None:
            return httpx.Response(401, json={"message": "Unauthorized"})
        return httpx.Response(200, json={"data": {}})


def connection_to(gate: Any, url: str = "http://catalog.example", **more: Any) -> Any:
    return Connection(transport=HttpTransport(url, carrier=httpx.MockTransport(gate)), **more)


async def test_a_token_is_shown_from_the_first_request_on() -> None:
    gate = Gate()
    connection = connection_to(gate, token=TOKEN)
    assert gate.shown == []
    await connection.send(READ)
    await connection.send(Request("POST", "/x", {}, repeatable=False))
    assert gate.shown == [f"Bearer {TOKEN}"] * 2


async def test_without_a_token_the_server_is_asked_once_and_its_wish_is_told() -> None:
    gate = Gate()
    with pytest.raises(NotSignedIn, match="CATALOG_TOKEN"):
        await connection_to(gate).send(READ)
    assert gate.shown == [None]


@pytest.mark.parametrize("base", ["http://h.example:8080/gms", "http://h.example:8080/gms/"])
async def test_a_prefix_and_a_slash_at_the_end_make_no_difference_to_paths(base: str) -> None:
    gate = Gate(closed=False)
    await connection_to(gate, base).send(READ)
    assert gate.urls == ["http://h.example:8080/gms/entitiesV2/x"]


async def test_a_redirect_is_not_followed() -> None:
    hosts = []

    def moved(request: Any) -> Any:
        hosts.append(request.url.host)
        return httpx.Response(301, headers={"Location": "https://elsewhere.example/x"})

    with pytest.raises(InvalidInput, match=r"https://elsewhere\.example/x") as caught:
        await connection_to(moved, token=TOKEN).send(graphql_request("{ a }", {}))
    assert hosts == ["catalog.example"]
    assert caught.value.status == 301


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "http://", "http://h:x", "http://h/?token=abc123", "http://u:abc123@h/#f", "h:1"],
)
async def test_an_address_that_is_none_is_said_without_what_is_secret_in_it(url: str) -> None:
    async with AsyncCatalog(url, token=TOKEN) as catalog:
        with pytest.raises(InvalidInput) as caught:
            await catalog.info()
    assert "abc123" not in str(caught.value)


def test_a_name_and_password_in_an_address_are_shown_to_nobody() -> None:
    with Catalog("http://someone:hidden@127.0.0.1:9/gms", token=None) as catalog:
        assert catalog.address == "http://127.0.0.1:9/gms"
        assert "hidden" not in repr(catalog)
    address, login = part_login("https://a%40b:c@h/x")
    assert address == "https://h/x"
    assert login is not None
    assert login.header == "Basic YUBiOmM="


def test_a_secret_has_no_text_of_its_own() -> None:
    secret = Secret.of(TOKEN)
    assert TOKEN not in repr(secret) + str(secret) + f"{secret}" + repr([secret])
    assert TOKEN not in repr(Request("GET", "/", signature=secret))
    with pytest.raises(TypeError):
        pickle.dumps(secret)


async def test_no_error_on_the_way_in_shows_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caught = []
    with caplog.at_level(logging.DEBUG):
        for face in (AsyncCatalog, Catalog):
            try:
                face(profile="of nobody", token=TOKEN)
            except CatalogError as error:
                caught.append(error)
        try:
            async with AsyncCatalog("http://127.0.0.1:1", token=TOKEN) as catalog:
                await catalog.info()
        except CatalogError as error:
            caught.append(error)
    assert len(caught) == 3
    for each in caught:
        trace = traceback.TracebackException.from_exception(each, capture_locals=True)
        text = "".join(trace.format()).replace(f"TOKEN = {TOKEN!r}", "")
        assert TOKEN not in text + caplog.text
        pickle.loads(pickle.dumps(each))


async def test_what_only_reads_writes_nothing() -> None:
    gate = Gate(closed=False)
    transport = HttpTransport("http://h.example", carrier=httpx.MockTransport(gate))
    async with AsyncCatalog(transport=transport, read_only=True) as catalog:
        await catalog.graphql("query mutation { a }")
        for write in (
            catalog.ingest(Proposal(Urn.parse("urn:li:tag:x"), "tagProperties", {})),
            catalog.graphql("# query\nmutation { a }"),
        ):
            with pytest.raises(ReadOnly, match="read-only"):
                await write
    assert len(gate.urls) == 1


@pytest.mark.parametrize(
    ("query", "writes", "repeatable"),
    [
        ("{ mutation }", False, True),
        ("query q { a }", False, True),
        ('query mutation($x: String = "mutation") @d(y: {z: 1}) { a }', False, True),
        (
            '# mutation { a }\n"""mutation""" query { a(b: """ } mutation " \\""" """) }',
            False,
            True,
        ),
        ("fragment f on T { a } query { ...f }", False, True),
        ("mutation { a }", True, False),
        ("\ufeff,,mutation{a}", True, False),
        ('query a { b(c: "}") } mutation m { d }', True, False),
        ('query a { b(c: "\\"}") }\n# }\nmutation m { d }', True, False),
        ("{ a } subscription { b }", True, False),
        ("", False, False),
    ],
)
def test_a_change_is_told_from_a_question_however_it_is_written(
    query: str, writes: bool, repeatable: bool
) -> None:
    request = graphql_request(query, {})
    assert (request.writes, request.repeatable) == (writes, repeatable)


async def test_an_application_in_this_process_may_be_asked(site: Site) -> None:
    transport = HttpTransport("http://127.0.0.1", carrier=httpx.ASGITransport(site.service))
    async with AsyncCatalog(transport=transport) as catalog:
        assert (await catalog.info()).product == "catalog"
        assert (await catalog.abilities()).versions


async def test_the_simplest_of_transports_is_taken_too() -> None:
    class Simple:
        async def send(self, _request: Any) -> Any:
            return 200, b'{"a": 1}'

        async def close(self) -> None:
            pass

    assert await Connection(transport=Simple()).send(READ) == {"a": 1}
    assert Answer(200, b"").headers == {}
