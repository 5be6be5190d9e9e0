"""Entities by name, completion without a request, and pages that go on."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from explorer import AsyncCatalog, Catalog
from explorer.client import Retry
from explorer.errors import IncompleteFrame, InvalidInput, NotFound, UnknownName
from explorer.metadata.urn import Urn
from explorer.notebook.entity import KnownNames

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"


@pytest.fixture
def fresh(cat: Any, tmp_path: Path) -> Iterator[Any]:
    """The same catalog, of which nothing is known yet, and the paths of what is asked of it."""
    with Catalog(cat.address) as other:
        asked: list[Any] = []
        other.watch(asked.append)
        yield other, asked


def test_a_name_that_is_unique_is_an_entity(cat: Any) -> None:
    assert str(cat["fct_orders"].urn) == ORDERS
    assert str(cat["FCT_Orders"].urn) == ORDERS
    assert str(cat[ORDERS].urn) == ORDERS
    assert str(cat[Urn.parse(ORDERS)].urn) == ORDERS


def test_a_name_of_several_or_of_none_says_what_to_do(cat: Any) -> None:
    with pytest.raises(InvalidInput, match="2 entities are named 'orders'") as several:
        cat["orders"]
    assert "(urn:li:dataPlatform:postgres,shop.public.orders,PROD)" in str(several.value)
    with pytest.raises(NotFound, match="nothing here is named 'no_such_thing'"):
        cat["no_such_thing"]
    with pytest.raises(InvalidInput):
        cat[" "]
    with pytest.raises(TypeError):
        iter(cat)


def test_the_first_completion_of_a_session_reads_names_and_the_next_is_offline(fresh: Any) -> None:
    catalog, asked = fresh
    assert {"fct_orders", ORDERS} <= set(catalog._ipython_key_completions_())
    before = len(asked)
    assert 0 < before <= 15
    read = catalog.names("revenue", limit=20)
    assert 0 < len(read) <= 20
    with pytest.warns(IncompleteFrame, match=f"Names: 20 of {read.total:,} rows"):
        assert set(read.df["name"]) == set(read)
    assert f"{len(read)} " in repr(read)
    before = len(asked)
    assert set(read) <= set(catalog._ipython_key_completions_())
    assert len(asked) == before


def test_completion_without_a_server_offers_what_is_known_and_asks_again_later(cat: Any) -> None:
    with Catalog("http://127.0.0.1:9", retry=Retry(tries=1)) as away:
        assert away._ipython_key_completions_() == []
        first = away._reading_names
        assert away._ipython_key_completions_() == []
        assert away._reading_names is not first


def test_a_signature_shows_what_a_catalog_takes(cat: Any) -> None:
    for kind in (Catalog, AsyncCatalog):
        assert list(inspect.signature(kind).parameters) == [
            *("url", "profile", "token", "data_dir", "timeout_seconds", "read_only", "offline"),
            *("retry", "transport"),
        ]
    shell = InteractiveShell()
    shell.user_ns["Catalog"] = Catalog
    told = shell.object_inspect_text("Catalog")
    assert "data_dir:" in told
    assert "asks no server" in told


async def _asked_both_ways(address: Any) -> Any:
    async with AsyncCatalog(address) as other:
        page, orders, folder = await asyncio.gather(
            other.search("orders", entity="dataset", count=3),
            other["fct_orders"],
            other.browse("/prod"),
        )
        with pytest.raises(InvalidInput, match="use entity"):
            await other.dataset("urn:li:tag:x")
        names = await other.names("revenue", limit=5)
        info = await other.info()
        assert other.last_seen(ORDERS) is not None
        assert {"fct_orders", ORDERS} <= set(other._ipython_key_completions_())
        wait = asyncio.to_thread(lambda: (page[0].urn, len(orders.lineage(1).df), page.next()))
        first, edges, after = await wait
        assert other.stewardship is not None
        return page, orders, folder, names, info, first, edges, after


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_the_asynchronous_catalog_gives_the_same_objects(cat: Any) -> None:
    page, orders, folder, names, info, first, edges, after = asyncio.run(
        _asked_both_ways(cat.address)
    )
    same = cat.search("orders", entity="dataset", count=3)
    assert page._repr_html_() == same._repr_html_()
    assert page.df.equals(same.df)
    assert repr(after) == repr(same.next())
    assert first == same.urns[0]
    assert orders._repr_html_() == cat["fct_orders"]._repr_html_()
    assert edges == len(cat["fct_orders"].lineage(1).df)
    assert folder.df.equals(cat.browse("/prod").df)
    assert set(names) <= set(cat.names("revenue", limit=5).df["name"])
    assert info._repr_html_() == cat.info()._repr_html_()


def test_the_asynchronous_catalog_has_every_method_of_the_blocking_one() -> None:
    # These run and wait for what is asynchronous.
    waiting = {"begin", "core", "leave", "wait"}
    assert {name for name in dir(Catalog) if name[0] != "_"} - waiting <= set(dir(AsyncCatalog))


@pytest.mark.nightly
def test_completion_reaches_names_columns_and_hits(cat: Any) -> None:
    shell = InteractiveShell()
    entity = cat["fct_orders"]
    shell.user_ns |= {
        "cat": cat,
        "entity": entity,
        "found": cat.search("fct_orders", entity="dataset", count=2),
        "folder": cat.browse("/prod"),
    }

    def completed(text: Any) -> Any:
        with provisionalcompleter():
            return {one.text for one in shell.Completer.completions(text, len(text))}

    for text, wanted in (
        ('cat["fct_o', "fct_orders"),
        ('entity.schema["order_', "order_id"),
        ('found["fct_', "fct_orders"),
        ('folder["snow', "snowflake"),
        ("entity.schema.fil", "filter"),
        ("entity.lin", "lineage"),
    ):
        assert any(wanted in one for one in completed(text)), text


def test_names_known_are_bounded_and_the_newest_come_first() -> None:
    known = KnownNames()
    known.learn((Urn.dataset("hive", f"t{at}"), f"t{at}") for at in range(50_010))
    assert len(known) == 50_000
    assert known.offered()[0] == "t50009"
    assert known.urns_named("t0") == []
    known.learn([(Urn.dataset("hive", "odd"), "a\x1b[31m")])
    assert not [key for key in known.offered() if "\x1b" in key]


def test_pages_follow_each_other_to_the_end(cat: Any) -> None:
    page = cat.search("orders", entity="dataset", filter="platform:snowflake", count=10)
    urns = []
    while page:
        urns += page.urns
        page = page.next()
    assert len(urns) == len(set(urns)) == page.total
    assert len(page.next()) == 0
    whole = cat.search("orders", entity="dataset", filter="platform:snowflake", count=1).all()
    assert set(whole.urns) == set(urns)
    assert all(urn in whole.summaries for urn in urns)
    assert "«orders» · dataset · platform:snowflake" in repr(whole)
    assert len(whole.all(limit=3)) == 3


def test_facets_are_frames(cat: Any) -> None:
    found = cat.search("orders", entity="dataset", count=1)
    frame = found.facets_to_frame()
    assert set(frame["facet"]) == {facet.name for facet in found.facets if facet.values}
    labels = {facet.name: facet.label for facet in cat.search("*").facets if facet.values}
    # «Chart Type» over what a search in charts finds, but not over types of other entities too.
    assert len(set(labels.values())) == len(labels)
    assert (labels["typeNames"], labels["type"]) == ("Sub Type", "Type (type)")
    charts = {facet.name: facet.label for facet in cat.search("*", entity="chart").facets}
    assert charts["type"] == "Chart Type"
    platforms = found.facets_to_frame("platform")
    assert platforms["count"].sum() == found.total
    assert "Snowflake" in set(platforms["name"])
    with pytest.raises(UnknownName, match="platform"):
        found.facets_to_frame("platfrom")


def test_facets_have_the_names_of_people_groups_domains_and_terms(cat: Any, read: Any) -> None:
    found = cat.search("orders")
    for shown in (repr(found), read(found).text):
        assert "Owned By: Data Platform 22 · Orders and Checkout 17 · " in shown
        assert "Domain: Sales 28 · " in shown
        assert re.search(r"Glossary Term: .*Net revenue 3", shown)
    # Those that are not drawn have names too, and such a name is a filter.
    owners = found.facets_to_frame("owners").set_index("name")["count"]
    assert not [name for name in owners.index if name.startswith(("team-", "urn:"))]
    wanted = found.facets_to_frame("domains")["name"][2]
    assert wanted == "Product and Supply"
    assert cat.search("orders", filter=f'domains:"{wanted}"').total == 19


def test_the_labels_of_columns_are_shown_by_their_names(cat: Any, read: Any) -> None:
    schema = cat.dataset(ORDERS).schema
    page = read(schema).text
    assert "Net revenue" in page
    assert "Finance.NetRevenue" not in page
    assert "terms  Net revenue" in repr(schema["net_amount"])
    assert schema.df.set_index("path")["terms"]["net_amount"] == ["Net revenue"]
    assert read(schema.filter("net_amount")).text.count("Net revenue") == 1


def test_a_hit_is_read_by_its_place_or_name(cat: Any) -> None:
    found = cat.search("fct_orders", entity="dataset", count=3)
    assert found[0].urn == found.urns[0]
    assert str(found["fct_orders"].urn) == ORDERS
    with pytest.raises(InvalidInput, match="no hit 3"):
        found[3]
    with pytest.raises(NotFound):
        found["nothing"]


def test_folders_are_opened_by_name(cat: Any, read: Any) -> None:
    folder = cat.browse("/prod")
    assert "snowflake/" in repr(folder)
    assert "snowflake/" in read(folder).text
    below = folder["snowflake"]
    assert below.path == "/prod/snowflake"
    assert set(folder.df["name"]) == {one.name for one in folder.folders}
    while below.folders:
        below = below[below.folders[0].name]
    entity = below[below.entities[0].name]
    assert entity.urn == below.entities[0].urn
    first = cat.browse("/prod", count=1)
    second = first.next()
    assert [one.name for one in second] != [one.name for one in first]
    assert len(cat.browse("/nowhere").next()) == 0
    assert "nothing here" in repr(cat.browse("/nowhere"))
    with pytest.raises(NotFound, match="has no entry named"):
        folder["nothing"]


def test_a_column_is_found_by_the_name_people_write(cat: Any) -> None:
    schema = cat[ORDERS].schema
    assert schema["order_id"].is_key
    assert schema["shipping.address.zip"].path.simple == "shipping.address.zip"
    with pytest.raises(UnknownName, match="did you mean order_id"):
        schema["order_idd"]


def test_a_first_search_loads_nothing_heavy(cat: Any) -> None:
    heavy = "pandas plotly ipywidgets networkx tqdm nh3 markdown_it IPython"
    source = (
        "import sys\nfrom explorer import Catalog\nfrom explorer.notebook import progress\n"
        # A bar is loaded for what takes longer, and a busy machine may.
        "progress._QUIET_SECONDS = 60\n"
        f"found = Catalog({cat.address!r}).search('orders')\nassert found.total\n"
        f"assert not [name for name in {heavy.split()} if name in sys.modules], sys.modules.keys()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", source], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
