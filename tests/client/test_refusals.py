"""A refusal is one error of one kind, whatever it is written in: JSON, a proxy's page, nothing."""

from typing import Any

import orjson
import pytest

from explorer.client import Answer, AsyncCatalog, Catalog, Retry
from explorer.errors import (
    Busy,
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    NotSignedIn,
    ServerFault,
    TimedOut,
    Unreachable,
)

KINDS = {
    400: InvalidInput,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    405: InvalidInput,
    409: Conflict,
    412: Conflict,
    422: InvalidInput,
    429: Busy,
    500: ServerFault,
    501: ServerFault,
    502: Unreachable,
    503: Unreachable,
    504: TimedOut,
}
BODIES = {
    "json": (orjson.dumps({"message": "the reason", "stackTrace": "at x"}), "the reason"),
    "graphql": (orjson.dumps({"errors": [{"message": "the reason"}]}), "the reason"),
    "page": (b"<!DOCTYPE html><html><title>Gone &amp; lost</title><p>nginx</p>", "Gone & lost"),
    "text": (b"the reason", "the reason"),
    "nothing": (b"", None),
}
ASKED = {
    "reading": lambda c: c.entity("urn:li:tag:x", ["status"]),
    "searching": lambda c: c.search("x"),
    "GraphQL": lambda c: c.graphql("{ a }"),
    "writing": lambda c: c.remove("urn:li:tag:x", "status"),
}


class Saying:
    def __init__(self, status: Any, body: Any) -> None:
        self.answer = Answer(status, body)

    async def send(self, _request: Any) -> Any:
        return self.answer

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("status", KINDS)
def test_a_refusal_is_of_its_kind_whatever_it_is_written_in(
    status: Any, body: Any, ask: Any
) -> None:
    said, words = BODIES[body]
    transport = Saying(status, said)
    settings: dict[str, Any] = {"retry": Retry(1), "transport": transport}
    if (ask, status) == ("reading", 404):
        with Catalog("http://h.example", **settings) as catalog:
            assert not catalog.entity("urn:li:tag:x").exists
        return
    with Catalog("http://h.example", **settings) as catalog, pytest.raises(CatalogError) as caught:
        ASKED[ask](catalog)
    error = caught.value
    assert type(error) is KINDS[status]
    assert (error.status, error.excerpt) == (status, words)
    assert str(error.url).startswith("http://h.example/")
    assert "<" not in str(error)
    assert words is None or words in str(error)


@pytest.mark.anyio
@pytest.mark.parametrize("status", KINDS)
async def test_the_asynchronous_client_says_the_same(status: Any) -> None:
    body, _ = BODIES["json"]
    settings: dict[str, Any] = {"retry": Retry(1), "transport": Saying(status, body)}
    with Catalog("http://h.example", **settings) as catalog, pytest.raises(CatalogError) as waited:
        catalog.info()
    async with AsyncCatalog("http://h.example", **settings) as catalog:
        with pytest.raises(CatalogError) as asked:
            await catalog.info()
    first, second = waited.value, asked.value
    assert (type(first), str(first), vars(first)) == (type(second), str(second), vars(second))
