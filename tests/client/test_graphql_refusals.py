"""What GraphQL refuses within an answer that looks well: the error knows where it came from, keeps
the server's words, and repeats no token."""

import logging
import pickle
import traceback
from typing import Any

import orjson
import pytest

from explorer.client import Answer, AsyncCatalog, Catalog, Retry
from explorer.errors import CatalogError, Forbidden, InvalidInput, NotFound

TOKEN = "s3cret-of-the-refused"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,nowhere,PROD)"
REFUSAL = {
    "data": None,
    "errors": [
        {
            "message": f"not for Bearer {TOKEN}",
            "path": ["search", 0],
            "extensions": {"code": 403, "type": "UNAUTHORIZED"},
        }
    ],
}


class Refusing:
    """Refuses every operation, in an answer of status 200."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def send(self, request: Any) -> Any:
        self.asked.append(request.path)
        return Answer(200, orjson.dumps(REFUSAL if "graphql" in request.path else {}))

    async def close(self) -> None:
        pass


def test_what_the_real_service_refuses_says_where_and_why(client: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        client.graphql("{ nothingOfTheKind }")
    assert "nothingOfTheKind" in str(caught.value)
    assert caught.value.excerpt
    assert caught.value.excerpt in str(caught.value)
    assert str(caught.value.url).endswith("/api/graphql")
    document = "mutation m($i: AddLinkInput!) { addLink(input: $i) }"
    link = {"linkUrl": "https://x", "label": "x", "resourceUrn": TABLE}
    with pytest.raises(NotFound) as missing:
        client.graphql(document, {"i": link})
    assert "(at addLink)" in str(missing.value)
    assert str(missing.value.url).endswith("/api/graphql")


ASKED = {
    "an operation": lambda c: c.graphql("{ a }"),
    "lineage": lambda c: c.lineage(TABLE, way="graphql"),
    "suggestions": lambda c: c.suggest("a"),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
def test_every_question_put_to_graphql_tells_its_address_and_no_token(
    ask: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG),
        Catalog("http://u:hidden@h.example/gms/", token=TOKEN, transport=Refusing()) as catalog,
        pytest.raises(Forbidden) as caught,
    ):
        ask(catalog)
    error = caught.value
    assert str(error) == "not for Bearer (the token) (at search.0)"
    assert (error.status, error.url) == (200, "http://h.example/gms/api/graphql")
    trace = traceback.TracebackException.from_exception(error)
    assert TOKEN not in "".join(trace.format()) + caplog.text + repr(vars(error))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.url) == (str(error), error.url)


@pytest.mark.anyio
async def test_a_refusal_is_not_kept_for_working_offline() -> None:
    refusing = Refusing()
    settings: dict[str, Any] = {"token": TOKEN, "retry": Retry(1), "transport": refusing}
    async with AsyncCatalog("http://refused.example", offline="fallback", **settings) as catalog:
        with pytest.raises(Forbidden):
            await catalog.graphql("{ a }")
    async with AsyncCatalog("http://refused.example", offline="only", **settings) as catalog:
        with pytest.raises(CatalogError, match="not in the local cache"):
            await catalog.graphql("{ a }")
    assert len(refusing.asked) == 1
