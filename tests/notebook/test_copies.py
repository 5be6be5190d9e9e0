"""What a notebook gives can be pickled, copied, and asked again afterwards."""

import copy
import pickle
from typing import Any

import pytest

from explorer import AsyncCatalog, Catalog

TOKEN = "s3cret-token-of-mine"

EXPRESSIONS = {
    "results": "cat.search('orders')",
    "hit": "next(iter(cat.search('orders')))",
    "entity": "orders",
    "edited": "orders.made_by(Edit(orders.urn, 'tags', (), (), MOMENT))",
    "schema": "orders.schema",
    "column": "orders.schema['order_id']",
    "comparison": "orders.compare('int_orders_enriched')",
    "columns": "cat.columns('customer_id', limit=5)",
    "lineage": "orders.lineage(1)",
    "column lineage": "orders.lineage(1, column='net_amount')",
    "impact": "orders.impact('net_amount')",
    "paths": "orders.paths_to(cat['mart_customer_360'].urn)",
    "history": "orders.history()",
    "diff": "orders.diff()",
    "owners": "orders.owners",
    "links": "orders.links",
    "relationships": "orders.relationships()",
    "usage": "orders.usage()",
    "top users": "orders.usage().top_users",
    "top queries": "orders.usage().top_queries",
    "chart": "orders.usage().over_time()",
    "by column": "orders.usage().by_column()",
    "profile": "orders.profile()",
    "values": "orders.profile().values('status')",
    "quantiles": "orders.profile().quantiles('net_amount')",
    "histogram": "orders.profile().histogram('net_amount')",
    "nulls": "orders.profile().nulls()",
    "drift": "orders.profile(90).drift()",
    "drift drawn": "orders.profile(90).drift().chart()",
    "folder": "cat.browse('/prod')",
    "server": "cat.info()",
    "names": "cat.names('orders', limit=5)",
    "blame": "cat.blame(orders.urn)",
    "column history": "cat.column_history(orders.urn, 'net_amount')",
    "changes": "cat.changes(limit=5)",
    "runs": "cat.runs()",
    "coverage": "cat.stewardship.coverage(text='orders')",
    "worklist": "cat.stewardship.worklist(text='orders', top=5)",
    "documentation": "cat.stewardship.documentation([orders.urn])",
    "changeset": "cat.stewardship.changeset([])",
    "loaded": "cat.ingest_batch([])",
}


@pytest.fixture(scope="module")
def names(cat: Catalog) -> Any:
    from datetime import UTC, datetime

    from explorer.client.records import Edit

    orders = cat["fct_orders"]
    return {"cat": cat, "orders": orders, "Edit": Edit, "MOMENT": datetime.now(UTC)}


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_object_is_the_same_as_its_copy_and_its_pickle(names: Any, name: Any) -> None:
    shown = eval(EXPRESSIONS[name], names)
    text, frame = repr(shown), getattr(shown, "df", None)
    for again in (copy.deepcopy(shown), copy.copy(shown), pickle.loads(pickle.dumps(shown))):
        assert type(again) is type(shown)
        assert repr(again) == text
        if frame is not None:
            assert again.df.equals(frame)


def test_what_was_unpickled_asks_the_same_catalog_again(cat: Catalog, names: Any) -> None:
    results = pickle.loads(pickle.dumps(cat.search("fct_orders")))
    assert results.question.catalog is not cat
    assert results["fct_orders"] == names["orders"]
    again = pickle.loads(pickle.dumps(names["orders"]))
    assert again.reload() == names["orders"]
    # A copy within a session asks through the same connection.
    assert copy.deepcopy(names["orders"]).catalog is cat


@pytest.mark.parametrize("kind", [Catalog, AsyncCatalog])
def test_a_pickled_catalog_is_opened_as_it_was_and_holds_no_token(kind: Any) -> None:
    url = "https://reader:s3cret-token-of-mine@catalog.example/gms"
    given = kind(url, token=TOKEN, timeout_seconds=7, read_only=True, offline="keep")
    held = pickle.dumps(given)
    assert TOKEN.encode() not in held
    again = pickle.loads(held)
    assert again.address == given.address
    assert (again.read_only, type(again)) == (True, kind)
    assert pickle.dumps(again) == held
    for one in (given, again):
        if isinstance(one, Catalog):
            one.close()


def test_an_explorer_gives_an_entity_that_can_be_pickled(cat: Catalog) -> None:
    explorer = cat.explore(urn=cat.urn_of("fct_orders"))
    assert explorer.wait(120)
    assert pickle.loads(pickle.dumps(explorer.entity)) == explorer.entity
    explorer.close()
