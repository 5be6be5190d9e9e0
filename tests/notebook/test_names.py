"""Entities by name, completion without a request, and pages that go on."""

import subprocess
import sys

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from explorer import Catalog
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.urn import Urn
from explorer.notebook.names import NamesKnown

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"


@pytest.fixture
def fresh(cat, tmp_path):
    """The same catalog, of which nothing is known yet, and the paths of what is asked of it."""
    with Catalog(cat.address) as other:
        asked = []
        other.watch(asked.append)
        yield other, asked


def test_a_name_that_is_unique_is_an_entity(cat):
    assert str(cat["fct_orders"].urn) == ORDERS
    assert str(cat["FCT_Orders"].urn) == ORDERS
    assert str(cat[ORDERS].urn) == ORDERS
    assert str(cat[Urn.parse(ORDERS)].urn) == ORDERS


def test_a_name_of_several_or_of_none_says_what_to_do(cat):
    with pytest.raises(InvalidInput, match="2 entities are called 'orders'") as several:
        cat["orders"]
    assert "(urn:li:dataPlatform:postgres,shop.public.orders,PROD)" in str(several.value)
    with pytest.raises(NotFound, match="nothing here is called 'no_such_thing'"):
        cat["no_such_thing"]
    with pytest.raises(InvalidInput):
        cat[" "]
    with pytest.raises(TypeError):
        iter(cat)


def test_completion_knows_what_was_read_and_asks_nobody(fresh):
    catalog, asked = fresh
    assert catalog._ipython_key_completions_() == []
    assert asked == []
    catalog.search("fct_orders", entity="dataset", count=1)
    before = len(asked)
    assert before
    assert {"fct_orders", ORDERS} <= set(catalog._ipython_key_completions_())
    read = catalog.names("revenue", limit=20)
    assert 0 < len(read) <= 20
    assert set(read) <= set(catalog._ipython_key_completions_())
    assert set(read.df["name"]) == set(read)
    assert f"{len(read)} " in repr(read)
    before = len(asked)
    catalog._ipython_key_completions_()
    assert len(asked) == before


def test_completion_reaches_names_columns_and_hits(cat):
    shell = InteractiveShell()
    entity = cat["fct_orders"]
    shell.user_ns |= {
        "cat": cat,
        "entity": entity,
        "found": cat.search("fct_orders", entity="dataset", count=2),
        "folder": cat.browse("/prod"),
    }

    def completed(text):
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


def test_names_known_are_bounded_and_the_newest_come_first():
    known = NamesKnown()
    known.learn((Urn.dataset("hive", f"t{at}"), f"t{at}") for at in range(50_010))
    assert len(known) == 50_000
    assert known.offered()[0] == "t50009"
    assert known.called("t0") == []
    known.learn([(Urn.dataset("hive", "odd"), "a\x1b[31m")])
    assert not [key for key in known.offered() if "\x1b" in key]


def test_pages_follow_each_other_to_the_end(cat):
    page = cat.search("orders", entity="dataset", narrowed_by="platform:snowflake", count=10)
    urns = []
    while page:
        urns += page.urns
        page = page.next()
    assert len(urns) == len(set(urns)) == page.total
    assert len(page.next()) == 0
    whole = cat.search("orders", entity="dataset", narrowed_by="platform:snowflake", count=1).all()
    assert set(whole.urns) == set(urns)
    assert all(urn in whole.summaries for urn in urns)
    assert "«orders» · dataset · platform:snowflake" in repr(whole)
    assert len(whole.all(limit=3)) == 3


def test_facets_are_frames(cat):
    found = cat.search("orders", entity="dataset", count=1)
    frame = found.facets_to_frame()
    assert set(frame["facet"]) == {facet.name for facet in found.facets if facet.values}
    platforms = found.facets_to_frame("platform")
    assert platforms["count"].sum() == found.total
    assert "snowflake" in set(platforms["name"])
    with pytest.raises(UnknownName, match="platform"):
        found.facets_to_frame("platfrom")


def test_a_hit_is_read_by_its_place_or_name(cat):
    found = cat.search("fct_orders", entity="dataset", count=3)
    assert found[0].urn == found.urns[0]
    assert str(found["fct_orders"].urn) == ORDERS
    with pytest.raises(InvalidInput, match="no hit 3"):
        found[3]
    with pytest.raises(NotFound):
        found["nothing"]


def test_folders_are_opened_by_name(cat, read):
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
    assert "nothing is filed here" in repr(cat.browse("/nowhere"))
    with pytest.raises(NotFound, match="holds nothing called"):
        folder["nothing"]


def test_a_column_is_found_by_the_name_people_write(cat):
    schema = cat[ORDERS].schema
    assert schema["order_id"].is_key
    assert schema["shipping.address.zip"].path.simple == "shipping.address.zip"
    with pytest.raises(UnknownName, match="did you mean order_id"):
        schema["order_idd"]


def test_a_first_search_loads_nothing_heavy(cat):
    heavy = "pandas plotly ipywidgets networkx tqdm nh3 markdown_it IPython"
    source = (
        "import sys\nfrom explorer import Catalog\n"
        f"found = Catalog({cat.address!r}).search('orders')\nassert found.total\n"
        f"assert not [name for name in {heavy.split()} if name in sys.modules], sys.modules.keys()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", source], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
