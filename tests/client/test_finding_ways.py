"""Finding with servers that lack something, and questions that are no longer asked."""

import asyncio
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.records import Suggestion
from explorer.errors import InvalidInput, ServerFault, Superseded
from explorer.metadata import Urn

ORDERS = Urn.dataset("hive", "db.orders")
REFUSED = (400, orjson.dumps({"message": "not supported", "status": 400}))


class Server:
    """Answers what it knows, by action, and refuses the rest."""

    def __init__(self, **knows: Any) -> None:
        self.knows = knows
        self.asked: list[str] = []

    async def send(self, request: Any) -> Any:
        name = "graphql" if "graphql" in request.path else request.path.partition("=")[2]
        self.asked.append(name)
        answer = self.knows.get(name)
        if answer is None:
            return REFUSED
        value = answer(request.body) if callable(answer) else answer
        return 200, orjson.dumps({"value": value})

    async def close(self) -> None:
        pass


def completed(body: Any) -> Any:
    if body["entity"] != "dataset":
        return {"query": body["query"], "suggestions": []}
    entities = [{"urn": str(ORDERS)}]
    return {"query": body["query"], "suggestions": ["db.orders"], "entities": entities}


def found(body: Any) -> Any:
    entity = body.get("entity") or "any"
    hit = {"entity": str(ORDERS), "matchedFields": [{"name": "name", "value": "orders"}]}
    total = {"dataset": 3, "tag": 5}.get(entity, 0)
    return {"entities": [hit] if body["count"] else [], "from": 0, "numEntities": total}


def test_without_graphql_every_type_is_completed() -> None:
    server = Server(autocomplete=completed)
    with Catalog(transport=server) as catalog:
        assert catalog.suggest("ord") == (Suggestion("db.orders", ORDERS, "dataset", "hive"),)
        assert server.asked[0] == "graphql"
        server.asked.clear()
        catalog.suggest("ord")
        assert set(server.asked) == {"autocomplete"}


def test_where_nothing_is_completed_a_search_suggests() -> None:
    with Catalog(transport=Server(searchAcrossEntities=found)) as catalog:
        assert catalog.suggest("ord") == (Suggestion("orders", ORDERS, "dataset", "hive"),)


def test_a_server_that_cannot_count_several_is_asked_for_each() -> None:
    server = Server(search=found)
    with Catalog(transport=server) as catalog:
        assert catalog.counts(["tag", "dataset", "chart"]) == {"tag": 5, "dataset": 3, "chart": 0}
        assert catalog.counts() == {"tag": 5, "dataset": 3}
    assert server.asked.count("batchGetTotalEntityCount") == 1


def test_counts_of_a_type_that_the_server_lacks_are_refused_only_when_it_was_named() -> None:
    def known(body: Any) -> Any:
        return found(body) if body["entity"] == "tag" else None

    class Narrow(Server):
        async def send(self, request: Any) -> Any:
            if request.body.get("entity") not in (None, "tag"):
                return REFUSED
            return await super().send(request)

    with Catalog(transport=Narrow(search=known)) as catalog:
        assert catalog.counts() == {"tag": 5}
        with pytest.raises(Exception, match="not supported"):
            catalog.counts(["tag", "dataset"])


def test_a_filter_is_completed_with_values_that_are_counted_once() -> None:
    facet = {"name": "platform", "aggregations": {"urn:li:dataPlatform:hive": 3}}
    answer = {"entities": [], "numEntities": 3, "metadata": {"aggregations": [facet]}}
    server = Server(searchAcrossEntities=answer)
    with Catalog(transport=server) as catalog:
        values = catalog.complete_filter("platform:h", 10)
        assert [(one.kind, one.label, one.count) for one in values] == [("value", "hive", 3)]
        assert catalog.complete_filter("plat", 4)[0].kind == "field"
        assert server.asked == ["searchAcrossEntities"]
        catalog.complete_filter("platform:", 9, entity=["dataset", "tag"])
        assert len(server.asked) == 2


def test_fields_are_completed_without_a_server() -> None:
    with Catalog("http://127.0.0.1:9") as catalog:
        fields = catalog.complete_filter("platf", 5)
    assert "platform" in [one.label for one in fields]


def test_a_later_search_takes_the_place_of_an_earlier_one() -> None:
    async def scene() -> None:
        asked, gone = asyncio.Event(), asyncio.Event()

        class Slow(Server):
            async def send(self, request: Any) -> Any:
                if request.body["input"] == "o":
                    asked.set()
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        gone.set()
                        raise
                return await super().send(request)

        async with AsyncCatalog(transport=Slow(searchAcrossEntities=found)) as catalog:
            first = asyncio.create_task(catalog.search("o", superseding="typing"))
            await asked.wait()
            page = await catalog.search("or", superseding="typing")
            assert page.hits[0].urn == ORDERS
            with pytest.raises(Superseded):
                await first
            assert gone.is_set()

    asyncio.run(scene())


@pytest.mark.parametrize("name", ["autocomplete", "suggest"])
def test_completing_is_superseded_too(name: str) -> None:
    async def scene() -> None:
        async with AsyncCatalog(transport=Server(autocomplete=completed)) as catalog:
            ask = getattr(catalog, name)
            first: Any
            second: Any
            first, second = await asyncio.gather(
                ask("o", superseding="typing"),
                ask("or", superseding="typing"),
                return_exceptions=True,
            )
            assert isinstance(first, Superseded)
            assert second

    asyncio.run(scene())


def test_a_broken_answer_says_which_it_was() -> None:
    with (
        Catalog(transport=Server(searchAcrossEntities={"entities": [1]})) as catalog,
        pytest.raises(ServerFault, match="answer to search"),
    ):
        catalog.search()


def test_a_server_that_has_no_columns_as_results_is_named() -> None:
    server = Server(searchAcrossEntities=found)
    with (
        Catalog(transport=server) as catalog,
        pytest.raises(InvalidInput, match="does not search for columns"),
    ):
        catalog.search("email", columns=True)
    assert "searchColumns" not in server.asked
