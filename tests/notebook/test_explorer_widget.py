"""The explorer without a page: what it finds, opens and says in Python when it is told."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import Busy
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sessions.search import NO_NAMES

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
WAIT_SECONDS = 30


@pytest.fixture
def explore(cat: Any) -> Iterator[Any]:
    """Makes explorers, waits until they have read, and closes them afterwards."""
    made = []

    def one(*asked: Any, catalog: Any = cat, **options: Any) -> Any:
        made.append(catalog.explore(*asked, **options))
        assert made[-1].wait(WAIT_SECONDS)
        assert not made[-1].problem
        return made[-1]

    yield one
    for explorer in made:
        explorer.close()


def hear(explorer: Any, kind: Any, **more: Any) -> None:
    """What the page would send."""
    explorer._handle_custom_msg({"kind": kind, "seq": 1, **more}, [])
    assert explorer.wait(WAIT_SECONDS)


def names(explorer: Any) -> Any:
    return [hit["name"] for hit in explorer.find["hits"]]


def test_it_begins_with_what_is_asked_for_and_says_so_in_python(cat: Any, explore: Any) -> None:
    explorer = explore("fct_orders", filter="platform:snowflake", urn=ORDERS)
    assert names(explorer)[0] == "fct_orders"
    found = cat.search("fct_orders", filter="platform:snowflake")
    assert explorer.results == found.urns
    assert list(explorer.df["urn"]) == [str(urn) for urn in found.urns]
    assert explorer.selected == ORDERS
    assert explorer.entity.name == "fct_orders"
    assert explorer.page["name"] == "fct_orders"
    assert explorer.tab["texts"]
    assert not explorer.busy
    json.dumps(explorer.get_state(), default=repr)
    assert explore(urn="fct_orders").selected == ORDERS


def test_typing_searches_completes_and_takes_the_latest(explore: Any) -> None:
    explorer = explore()
    put = explorer.find["put"]
    for end in range(1, len("customer") + 1):
        explorer._handle_custom_msg({"kind": "search", "text": "customer"[:end], "filter": ""}, [])
    assert explorer.wait(WAIT_SECONDS)
    assert explorer.find["text"] == "customer"
    # What is typed in the page is not put there again.
    assert explorer.find["put"] == put
    assert explorer.offers["for"] == "customer"
    assert {"text", "urn", "kind", "platform"} == set(explorer.offers["rows"][0])
    assert "customer" in names(explorer)[0].lower()
    hear(explorer, "search", text="", filter="")
    assert explorer.offers == {"for": "", "rows": []}


def test_a_result_tells_the_field_and_value_that_its_name_does_not_show(explore: Any) -> None:
    explorer = explore("customer email", filter="platform:snowflake")
    hits = {hit["name"]: hit["why"] for hit in explorer.find["hits"]}
    assert hits["dim_customers"]["field"] == "column"
    assert "email" in hits["dim_customers"]["value"]
    explorer.search("dim_customers")
    assert explorer.wait(WAIT_SECONDS)
    assert explorer.find["hits"][0]["why"] is None


def test_facets_narrow_and_are_taken_off_again(cat: Any, explore: Any) -> None:
    explorer = explore("orders")
    whole = explorer.find["total"]
    platforms = next(one for one in explorer.find["facets"] if one["field"] == "platform")
    value = next(one for one in platforms["values"] if one["label"] == "Snowflake")
    hear(explorer, "toggle", field="platform", value=value["value"])
    assert explorer.find["total"] == value["count"] < whole
    assert [one["label"] for one in explorer.find["chosen"]] == ["Snowflake"]
    assert all("snowflake" in str(urn) for urn in explorer.results)
    hear(explorer, "toggle", field="platform", value=value["value"])
    assert explorer.find["total"] == whole
    assert explorer.find["chosen"] == []


def test_pages_and_orders(explore: Any) -> None:
    explorer = explore("orders")
    first = explorer.results
    assert (explorer.find["before"], explorer.find["after"]) == (False, True)
    hear(explorer, "page", start=20)
    assert not set(first) & set(explorer.results)
    assert explorer.find["before"]
    assert " · 21–40" in explorer.find["said"]
    hear(explorer, "order", order="name")
    assert explorer.find["start"] == 0
    assert names(explorer) == sorted(names(explorer), key=str.lower)


def test_columns_are_listed_and_opened_in_their_table(explore: Any) -> None:
    explorer = explore("customer email")
    entities = explorer.results
    hear(explorer, "order", order="columns")
    assert explorer.find["order"] == "columns"
    assert " columns · 1–20 · " in explorer.find["said"]
    first = explorer.find["hits"][0]
    assert first["name"] == "email"
    assert first["kind"].startswith("column of ")
    hear(explorer, "open", urn=first["urn"])
    assert explorer.entity.urn.name in first["kind"]
    assert explorer.tab["tab"] == "columns"
    assert explorer.tab["text"] == "email"
    hear(explorer, "order", order="")
    assert explorer.results == entities


def test_a_filter_that_cannot_be_read_is_said_and_the_results_stay(explore: Any) -> None:
    explorer = explore("orders")
    before = explorer.results
    hear(explorer, "search", text="orders", filter="platform:snowflake )")
    assert explorer.find["fault"].startswith("✗")
    assert explorer.results == before
    hear(explorer, "search", text="orders", filter="platform:")
    assert explorer.find["fault"].startswith("…")
    hear(explorer, "search", text="orders", filter="platform:snowflake")
    assert not explorer.find["fault"]
    hear(explorer, "search", text="orders platform:", filter="")
    assert explorer.find["fault"].startswith("…")
    hear(explorer, "search", text="orders nonsense:1", filter="")
    assert "nonsense" in explorer.find["fault"]


def test_what_is_ticked_is_the_frame_on_whatever_page(explore: Any) -> None:
    explorer = explore("orders")
    first = str(explorer.results[0])
    hear(explorer, "tick", urn=first, on=True)
    hear(explorer, "page", start=20)
    second = str(explorer.results[0])
    hear(explorer, "tick", urn=second, on=True)
    assert [str(urn) for urn in explorer.chosen] == list(explorer.df["urn"]) == [first, second]
    assert explorer.df["name"].notna().all()
    hear(explorer, "tick", urn=second, on=False)
    assert list(explorer.df["urn"]) == [first]


def row(explorer: Any, name: Any) -> Any:
    return next(one for one in explorer.tree if one["name"] == name)


def test_folders_are_a_tree_with_counts_read_as_they_are_unfolded(cat: Any, explore: Any) -> None:
    explorer = explore()
    counted = cat.counts()
    assert row(explorer, "datasets")["count"] == counted["dataset"]
    assert row(explorer, "datasets")["open"]
    path = ("prod", "snowflake", "analytics", "marts")
    for level, name in enumerate(path, 2):
        one = row(explorer, name)
        assert (one["level"], one["open"]) == (level, False)
        hear(explorer, "unfold", key=one["key"])
    leaf = row(explorer, "fct_orders")
    assert (leaf["urn"], leaf["open"]) == (ORDERS, None)
    beside = [one for one in explorer.tree if one["level"] == leaf["level"]]
    assert [one["at"] for one in beside] == list(range(1, leaf["of"] + 1))
    assert len(beside) == row(explorer, "marts")["count"]
    hear(explorer, "fold", key=row(explorer, "marts")["key"])
    assert "fct_orders" not in [one["name"] for one in explorer.tree]


def test_a_long_folder_is_read_a_page_at_a_time(cat: Any, explore: Any) -> None:
    for at in range(60):
        urn = Urn.dataset("hive", f"long.t{at:02}")
        paths = {"paths": ["/long/folder"]}
        cat.ingest(Proposal(urn, "browsePaths", paths))
    explorer = explore()
    hear(explorer, "unfold", key=row(explorer, "long")["key"])
    hear(explorer, "unfold", key=row(explorer, "folder")["key"])
    more = next(one for one in explorer.tree if "more" in one)
    assert more["name"] == "50 of 60"
    hear(explorer, "more", key=more["more"])
    assert not [one for one in explorer.tree if "more" in one]
    assert sum("long.t" in one.get("urn", "") for one in explorer.tree) == 60


def test_terms_lie_in_their_groups(explore: Any) -> None:
    explorer = explore()
    hear(explorer, "unfold", key=row(explorer, "glossary groups")["key"])
    group = next(
        one for one in explorer.tree if one.get("urn", "").startswith("urn:li:glossaryNode")
    )
    hear(explorer, "unfold", key=group["key"])
    place = explorer.tree.index(row(explorer, group["name"])) + 1
    assert explorer.tree[place]["level"] == group["level"] + 1
    assert explorer.tree[place]["urn"].startswith(("urn:li:glossaryTerm", "urn:li:glossaryNode"))


def test_each_tab_is_read_when_it_is_looked_at(explore: Any) -> None:
    explorer = explore(urn=ORDERS)
    assert explorer.page["tabs"] == [
        "overview",
        "columns",
        "lineage",
        "usage",
        "profile",
        "history",
    ]
    ways = {one["name"]: one for one in explorer.tab["facts"]}
    assert {"owners", "tags", "terms", "domains", "columns", "folder"} <= set(ways)
    hear(explorer, "tab", tab="columns")
    columns = {one["path"]: one for one in explorer.tab["columns"]}
    assert columns["order_number"]["mark"] == "✎"
    assert columns["order_number"]["ingested"]
    hear(explorer, "tab", tab="columns", text="is:undocumented")
    assert explorer.tab["said"] == f"{len(explorer.tab['columns'])} of 29 columns, 0 documented"
    hear(explorer, "tab", tab="columns", text="is:nonsense")
    assert explorer.tab["said"].startswith("is: takes documented, undocumented, edited, ")
    hear(explorer, "tab", tab="columns", text="currency", most=100)
    assert explorer.tab["said"].endswith("documented")
    assert 0 < len(explorer.tab["columns"]) < len(columns)
    hear(explorer, "tab", tab="lineage")
    assert [one["label"].split(",")[0] for one in explorer.tab["sides"]] == [
        "upstream",
        "downstream",
    ]
    # The drawing is the lineage widget's, walked from here.
    root = explorer.selected
    assert explorer.drawing["picture"]["root"] == root
    drawn = {node["id"]: node for node in explorer.drawing["picture"]["nodes"]}
    near = next(urn for urn, node in drawn.items() if node["down"]["hidden"] and urn != root)
    hear(explorer, "drawing", told={"kind": "unfold", "urn": near, "side": "DOWNSTREAM"})
    assert len(explorer.drawing["picture"]["nodes"]) > len(drawn)
    hear(explorer, "drawing", told={"kind": "selected", "urn": near})
    assert explorer.drawing["selected"] == near
    near = sum(len(one["ways"]) for one in explorer.tab["sides"])
    hear(explorer, "tab", tab="lineage", hops=2)
    assert sum(len(one["ways"]) for one in explorer.tab["sides"]) > near
    for tab in ("usage", "profile"):
        hear(explorer, "tab", tab=tab)
        assert "picture" in [part["is"] for part in explorer.tab["parts"]]
    hear(explorer, "tab", tab="history", aspect="schemaMetadata")
    assert explorer.tab["aspect"] == "schemaMetadata"
    assert explorer.tab["parts"][0]["text"].startswith("schemaMetadata of fct_orders")


def test_only_what_is_looked_at_is_read(explore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explore()
    asked = []
    real = Catalog.timeseries

    def timeseries(catalog: Any, urn: Any, aspect: Any, **more: Any) -> Any:
        asked.append(aspect)
        return real(catalog, urn, aspect, **more)

    monkeypatch.setattr(Catalog, "timeseries", timeseries)
    hear(explorer, "open", urn=ORDERS)
    hear(explorer, "tab", tab="columns")
    assert asked == []
    hear(explorer, "tab", tab="usage")
    assert asked == ["datasetUsageStatistics"]


def test_opening_from_python_and_from_the_page_is_the_same(explore: Any) -> None:
    explorer = explore()
    seen = []
    explorer.observe(lambda change: seen.append(change["new"]), "selected")
    explorer.selected = ORDERS
    assert explorer.wait(WAIT_SECONDS)
    assert str(explorer.entity.urn) == ORDERS
    tag = "urn:li:tag:PII"
    hear(explorer, "open", urn=f" {tag} ")
    assert explorer.page["tabs"] == ["overview", "history"]
    hear(explorer, "back")
    assert explorer.entity is None
    assert explorer.page == {}
    assert seen == [ORDERS, tag, ""]


def test_trouble_is_said_in_the_explorer(explore: Any) -> None:
    explorer = explore()
    hear(explorer, "open", urn="urn:li:nothing")
    assert explorer.problem == "position 7: expected '<entity>:<id>', found 'nothing'"
    hear(explorer, "open", urn="urn:li:dataset:(urn:li:dataPlatform:hive,no.such,PROD)")
    assert not explorer.problem
    assert explorer.page["states"] == ["not in this catalog, or only referenced in it"]
    for odd in (None, 7, {}, {"kind": "open"}, {"kind": "page", "start": -1}, {"kind": "tab"}):
        explorer._handle_custom_msg(odd, [])
    assert explorer.wait(WAIT_SECONDS)
    assert not explorer.problem


def test_a_facet_some_of_whose_values_are_on_says_what_another_one_adds(explore: Any) -> None:
    explorer = explore("orders")

    def values(name: Any) -> Any:
        facet = next(one for one in explorer.find["facets"] if one["field"] == name)
        return {one["value"]: one for one in facet["values"]}

    first, second = list(values("platform"))[:2]
    hear(explorer, "toggle", field="platform", value=first)
    before = explorer.find["total"]
    other = values("platform")[second]
    assert (values("platform")[first]["adds"], other["adds"]) == (False, True)
    hear(explorer, "toggle", field="platform", value=second)
    assert explorer.find["total"] == before + other["count"]


def test_slips_people_states_and_use(explore: Any) -> None:
    explorer = explore("custmers")
    assert "for “customers”; nothing matches “custmers”" in explorer.find["said"]
    assert explorer.find["words"] == ["customers"]
    explorer = explore("orders")
    hear(explorer, "order", order="-use")
    assert names(explorer)[0] == "fct_orders"
    documented = next(one for one in explorer.find["facets"] if one["field"] == "documented")
    told = {one["label"]: one for one in documented["values"]}
    hear(explorer, "toggle", field="documented", value=told["no"]["value"])
    assert explorer.find["total"] == told["no"]["count"]


def test_what_is_found_while_the_database_is_away_is_shown_by_its_urns(
    cat: Any, explore: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = AsyncCatalog.search

    async def search_earlier(*arguments: Any, **options: Any) -> Any:
        return replace(await search(*arguments, **options), as_of=datetime.now(UTC))

    async def fail(*_: Any, **__: Any) -> Any:
        raise Busy("the database is away")

    monkeypatch.setattr(AsyncCatalog, "search", search_earlier)
    monkeypatch.setattr(AsyncCatalog, "summaries", fail)
    monkeypatch.setattr(AsyncCatalog, "measures", fail)
    explorer = explore("fct_orders")
    assert NO_NAMES in explorer.find["said"]
    assert ORDERS in [hit["urn"] for hit in explorer.find["hits"]]
    page = repr(cat.search("fct_orders"))
    assert NO_NAMES in page
    assert "analytics.marts.fct_orders" in page
