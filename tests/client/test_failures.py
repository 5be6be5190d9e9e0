"""A refusal keeps the server's own words, its status and its address, and nothing secret."""

import pickle
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from explorer.client import AsyncCatalog, TextConflict
from explorer.client.connection import read_abilities
from explorer.client.http import HttpTransport
from explorer.client.transport import Retry, error_of_answer, error_of_graphql, parse_retry_after
from explorer.errors import (
    Busy,
    CatalogError,
    Conflict,
    Forbidden,
    InvalidAspect,
    InvalidInput,
    NotFound,
    NotSignedIn,
    ServerFault,
    TimedOut,
    UnknownName,
    Unreachable,
)
from tests.client.conftest import Site

pytestmark = pytest.mark.anyio

URL = "http://u:hidden@h.example/aspects?action=x&accessToken=hidden&count=1"


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 412, 418, 422, 429, 500, 503])
def test_every_refusal_knows_where_it_came_from(status: int) -> None:
    error = error_of_answer(status, b'{"message": "the reason"}', url=URL)
    assert (error.status, error.excerpt) == (status, "the reason")
    assert error.url == "http://h.example/aspects?action=x&accessToken=…&count=1"
    assert "hidden" not in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.status, str(again)) == (type(error), status, str(error))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"message": "a\\u001b[31m\\nb", "stackTrace": "at java"}', "a[31m b"),
        (b'{"error": "nope"}', "nope"),
        (b'{"errors": [{"message": "first"}, {"message": "second"}]}', "first"),
        (b"plain words", "plain words"),
        (b"<html><head><title>504 Time-out</title></head><p>x</p></html>", "504 Time-out"),
        (b"<html><style>p{}</style><body><h1>No</h1>&nbsp;such <b>host</b></body>", "No"),
        (b"", None),
        (b"{}", None),
        (b'{"message": {"not": "text"}}', None),
        (b"\xff\xfe\x00", "��"),
    ],
)
def test_the_servers_own_words_are_found_in_whatever_it_sent(
    body: bytes, words: str | None
) -> None:
    excerpt = error_of_answer(500, body).excerpt
    assert excerpt == words or (excerpt and words and excerpt.startswith(words))
    assert excerpt is None or "<" not in excerpt


def test_words_without_end_are_cut() -> None:
    assert len(str(error_of_answer(500, b"x" * 1_000_000))) < 1_000


@pytest.mark.parametrize(
    ("extensions", "kind"),
    [
        ({"code": 400, "type": "BAD_REQUEST"}, InvalidInput),
        ({"code": 401}, NotSignedIn),
        ({"code": 403, "type": "UNAUTHORIZED"}, Forbidden),
        ({"code": 404}, NotFound),
        ({"code": 409, "type": "CONFLICT"}, Conflict),
        ({"code": 500}, ServerFault),
        ({"code": 503}, Unreachable),
        ({"code": 504}, TimedOut),
        ({"type": "NOT_FOUND"}, NotFound),
        ({"type": "DEADLINE_EXCEEDED"}, TimedOut),
        ({"classification": "ValidationError"}, InvalidInput),
        (None, InvalidInput),
        ("odd", InvalidInput),
    ],
)
def test_a_graphql_error_is_of_the_kind_it_names(extensions: Any, kind: Any) -> None:
    listed = [{"message": "no", "path": ["a", 0, "b"], "extensions": extensions}]
    error = error_of_graphql(listed, url=URL)
    assert type(error) is kind
    assert str(error) == "no (at a.0.b)"
    assert (error.status, error.excerpt) == (200, "no")


@pytest.mark.parametrize("errors", [[], {}, "x", [None], [{"message": 3}]])
def test_graphql_errors_of_no_shape_are_an_error_still(errors: Any) -> None:
    assert "said no more" in str(error_of_graphql(errors))


def test_an_error_without_an_answer_has_nothing_to_tell_of_one() -> None:
    error = CatalogError("x")
    assert (error.status, error.url, error.excerpt) == (None, None, None)
    for made in (InvalidAspect("status", "a", "wrong"), UnknownName("entity", "x", ["y"])):
        assert str(pickle.loads(pickle.dumps(made))) == str(made)


def test_a_conflict_is_the_same_after_a_pickle() -> None:
    made = TextConflict("the tags of x", "a", "b", "c", author="ann", version="3")
    again = pickle.loads(pickle.dumps(made))
    assert (str(again), vars(again)) == (str(made), vars(made))


def test_a_pause_is_read_in_seconds_and_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    pause = parse_retry_after({"retry-after": later})
    assert pause is not None
    assert 50 < pause <= 60
    for text, seconds in (
        ("7", 7),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("99999999999999", 86_400),
        ("-1", None),
        ("soon", None),
        ("", None),
    ):
        assert parse_retry_after({"retry-after": text}) == seconds
    error = error_of_answer(429, b"", {"retry-after": "7"})
    assert type(error) is Busy
    assert error.retry_after_seconds == 7
    error = error_of_answer(429, b"")
    assert type(error) is Busy
    assert error.retry_after_seconds is None


def test_pauses_grow_and_are_never_shorter_than_asked() -> None:
    retry = Retry(first_pause_seconds=1)
    for tried, most in ((1, 1), (2, 2), (3, 4)):
        assert most / 2 <= retry.pause_seconds(tried) <= most
    assert retry.pause_seconds(1, 9) == 9
    for wrong in ({"tries": 0}, {"total_seconds": 0}, {"first_pause_seconds": -1}):
        with pytest.raises(InvalidInput):
            Retry(**wrong)


def test_abilities_are_read_from_what_a_server_tells_of_itself() -> None:
    ours = read_abilities({"noCode": "true", "catalogExplorer": {"version": "1.10.2"}})
    assert (ours.product, ours.release) == ("catalog", (1, 10, 2))
    assert ours.versions
    assert ours.changes
    theirs = read_abilities(
        {
            "patchCapable": True,
            "versions": {"acryldata/datahub": {"version": "v0.14.1rc2"}},
        }
    )
    assert (theirs.product, theirs.release) == ("datahub", (0, 14, 1))
    assert theirs.patch
    assert not theirs.versions
    assert theirs.release < (0, 14, 10)


@pytest.mark.parametrize(
    "told",
    [None, [], {}, {"versions": {"acryldata/datahub": {"version": "null"}}}, {"versions": 3}],
)
def test_a_server_that_tells_little_offers_little_and_fails_nobody(told: Any) -> None:
    found = read_abilities(told)
    assert (found.product, found.version, found.release) == ("datahub", "", ())
    assert not found.patch


async def test_abilities_and_fields_are_found_out_once(site: Site) -> None:
    asked = []

    class Counted(HttpTransport):
        async def send(self, request: Any) -> Any:
            asked.append(request.path)
            return await super().send(request)

    transport = Counted("http://127.0.0.1", carrier=httpx.ASGITransport(site.service))
    async with AsyncCatalog(transport=transport) as catalog:
        assert (await catalog.abilities()).lineage
        assert await catalog.abilities() is await catalog.abilities()
        assert await catalog._offers("Mutation", "updateDescription")
        assert not await catalog._offers("Mutation", "noSuchField")
    assert asked == ["/config", "/api/graphql"]


async def test_a_server_that_tells_nothing_is_asked_for_what_is_documented() -> None:
    def answer(request: Any) -> Any:
        if request.url.path == "/api/graphql":
            return httpx.Response(200, json={"errors": [{"message": "introspection is disabled"}]})
        return httpx.Response(404)

    transport = HttpTransport("http://h.example", carrier=httpx.MockTransport(answer))
    async with AsyncCatalog(transport=transport) as catalog:
        assert (await catalog.abilities()).product == "datahub"
        assert await catalog._offers("Mutation", "addTag")


def test_a_redirection_to_no_address_is_told_as_it_is() -> None:
    error = error_of_answer(301, b"", {"location": "http://["}, url="http://here")
    assert isinstance(error, InvalidInput)
    assert "http://[" in str(error)
