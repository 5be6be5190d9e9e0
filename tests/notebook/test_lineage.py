"""Lineage, impact and ways show themselves as a picture, a tree, a frame and a graph."""

import json
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from explorer import Catalog
from explorer.client.search import filter_from
from explorer.errors import InvalidInput, UnknownName
from explorer.graph.nodes import distinguish_names, select
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
FIGURE = "application/vnd.plotly.v1+json"
STAGED = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.staging.stg_orders,PROD)"


@pytest.fixture(scope="module")
def orders(cat: Catalog) -> Any:
    return cat.dataset(ORDERS)


@pytest.fixture(scope="module")
def lineage(orders: Any) -> Any:
    return orders.lineage(hops=2)


def test_lineage_is_a_graph_a_frame_and_urns_of_the_same(lineage: Any) -> None:
    assert isinstance(lineage.graph, nx.DiGraph)
    frame = lineage.df
    assert list(frame["urn"]) == [str(urn) for urn in lineage]
    assert len(frame) == len(lineage) == len(lineage.graph) - 1
    assert ORDERS not in set(frame["urn"])
    assert frame["hops"].abs().is_monotonic_increasing
    assert set(frame["hops"]) == {-2, -1, 1, 2}
    assert dict(frame.dtypes.astype(str)) == dict(lineage.to_frame().iloc[:0].dtypes.astype(str))
    assert "Data Platform" in set(frame["owners"].explode())
    edges = lineage.edges_to_frame()
    assert set(zip(edges["upstream"], edges["downstream"], strict=True)) == set(lineage.graph.edges)


def test_lineage_shows_a_picture_and_below_it_a_list(lineage: Any, read: Any) -> None:
    page = read(lineage)
    (picture,) = page.pictures
    drawn = {one.text for one in picture.iter() if one.text}
    # Two of them are called mart_ltv.
    for urn, attributes in distinguish_names(lineage.graph.nodes(data=True)).items():
        assert attributes["name"] in drawn
        assert urn == ORDERS or urn in page.text
    assert {"mart_ltv (PROD)", "mart_ltv (DEV)"} <= drawn
    assert "15 upstream, 29 downstream" in page.text


def test_lineage_is_a_figure_that_begins_at_its_root_and_can_be_read(cat: Any, orders: Any) -> None:
    whole = orders.lineage(hops=3)
    data = whole._repr_mimebundle_()
    assert {"text/plain", "text/html", FIGURE} == set(data)
    figure = data[FIGURE]
    (image,) = figure["layout"]["images"]
    svg = b64decode(image["source"].partition(",")[2]).decode()
    assert svg == whole.svg()
    assert f'width="{image["sizex"]:.0f}" height="{image["sizey"]:.0f}"' in svg
    # A unit is a pixel, so that words are as large as in the picture, and the root is in view.
    (left, right), (bottom, top) = (figure["layout"][f"{axis}axis"]["range"] for axis in "xy")
    assert right - left == 1_000
    at = next(place for place, text in enumerate(figure["data"][0]["text"]) if ORDERS in text)
    assert left < figure["data"][0]["x"][at] < right < image["sizex"]
    assert top < figure["data"][0]["y"][at] < bottom
    (said,) = figure["layout"]["annotations"]
    assert "29 upstream, 38 downstream · 60 of 68 are drawn, the nearest" in said["text"]
    assert figure["config"]["modeBarButtons"][0][:3] == ["zoomIn2d", "zoomOut2d", "autoScale2d"]

    alone = cat.dataset(Urn.dataset("hive", "figures.alone")).lineage()
    assert set(alone._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_figure_says_names_and_takes_none_for_markup(cat: Any) -> None:
    source, hostile = (Urn.dataset("hive", f"figures.{name}") for name in ("source", "hostile"))
    cat.ingest(Proposal(hostile, "datasetProperties", {"name": "<img src=x onerror=y> $a$"}))
    upstreams = {"upstreams": [{"dataset": str(source), "type": "TRANSFORMED"}]}
    cat.ingest(Proposal(hostile, "upstreamLineage", upstreams))
    figure = cat.dataset(source).lineage().figure()
    texts = dict(text.split("<br>")[::-1] for text in figure.data[0].text)
    assert texts[str(hostile)] == "&lt;img src=x onerror=y&gt; &#36;a&#36;"
    # All of it is in view.
    assert figure.layout.xaxis.range[0] < 0 < figure.layout.images[0].sizex
    assert figure.layout.images[0].sizex < figure.layout.xaxis.range[1]


def test_lineage_as_text_is_a_tree(lineage: Any) -> None:
    lines = repr(lineage).splitlines()
    assert lines[0] == "Lineage of fct_orders  2 hops both ways · 15 upstream, 29 downstream"
    indents = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines if line.strip()}
    assert indents["stg_orders"] == 0
    assert indents["carriers"] == 2
    # What is met again is referred to.
    assert any(line.endswith("↑ above") for line in lines)


def test_one_direction_and_no_lineage_are_said(cat: Catalog, orders: Any, read: Any) -> None:
    below = orders.lineage(hops=1, direction="DOWNSTREAM")
    assert "1 hop downstream" in repr(below)
    assert (below.df["hops"] == 1).all()
    urn = Urn.dataset("hive", "notebook.alone")
    cat.ingest(Proposal(urn, "datasetProperties", {"description": "Alone."}))
    alone = cat.dataset(urn).lineage()
    assert len(alone) == 0
    assert "no lineage" in repr(alone)
    assert read(alone).pictures == []
    assert list(alone.df.columns) == list(below.df.columns)
    with pytest.raises(UnknownName, match="UPSTREAM"):
        orders.lineage(direction="UPSTREM")
    with pytest.raises(InvalidInput, match="at least 1"):
        orders.lineage(hops=0)


def test_a_walk_that_was_cut_says_so(orders: Any) -> None:
    cut = orders.lineage(limit=2)
    assert cut.truncated
    assert "incomplete: " in repr(cut)


def test_impact_is_most_used_first_and_names_whom_to_ask(orders: Any, read: Any) -> None:
    impact = orders.impact()
    frame = impact.df
    assert len(frame) == len(impact) == len(list(impact))
    used = frame["queries"].dropna()
    assert used.is_monotonic_decreasing
    assert "Jordan Doe" in impact.owners
    for text in (repr(impact), read(impact).text):
        assert f"{len(impact)} affected" in text
        assert "6 tasks" in text
        assert "task · airflow" in text
        assert "mart_daily_revenue" in text
        assert "Jordan Doe" in text


def test_impact_of_a_column_says_how_sure_it_is(orders: Any) -> None:
    impact = orders.impact("order_id")
    assert 0 < len(impact) < len(orders.impact())
    assert {"said", "table"} <= set(impact.df["certainty"])
    assert "table only: it uses an affected table" in repr(impact)
    with pytest.raises(UnknownName, match="order_id"):
        orders.impact("order_idd")


def test_tables_of_one_name_are_told_apart_in_every_row_of_a_columns_lineage(orders: Any) -> None:
    # `revenue_total` is a column of one of them only, `ltv_24m` of both.
    lineage = orders.lineage(column="net_amount")
    rows = [row.split() for row in repr(lineage).splitlines()]
    marts = {(row[1], row[2]) for row in rows if row[0] == "mart_ltv"}
    assert marts == {("(PROD)", "ltv_24m"), ("(PROD)", "revenue_total"), ("(DEV)", "ltv_24m")}
    # The same order in every run: sets have another one in each.
    frame = lineage.df.assign(far=lineage.df["hops"].abs())
    placed = frame[["far", "table", "column", "urn"]].to_records(index=False).tolist()
    assert placed == sorted(placed)


def test_paths_lead_to_an_entity_by_its_name_and_to_a_page(cat: Catalog, orders: Any) -> None:
    by_name = orders.paths_to("mart_customer_360")
    assert len(by_name) == 1
    assert repr(orders.paths_to(cat["mart_customer_360"])) == repr(by_name)


def test_ways_are_told_in_the_direction_that_data_flows(orders: Any, read: Any) -> None:
    paths = orders.paths_to(STAGED)
    assert repr(paths).splitlines()[-1] == "fct_orders ← stg_orders"
    assert list(paths.df["name"]) == ["fct_orders", "stg_orders"]
    assert "1 hop" in read(paths).text
    nowhere = orders.lineage(1).paths_to("urn:li:dataset:(urn:li:dataPlatform:hive,nowhere,PROD)")
    assert len(nowhere) == 0
    assert "no lineage path" in repr(nowhere)
    assert nowhere.df.empty


_WRITERS: dict[str, Callable[[Any, Path], object]] = {
    "edge list": nx.write_edgelist,
    "gexf": nx.write_gexf,
    "gml": nx.write_gml,
    "graphml": nx.write_graphml,
    "graphml in xml": nx.write_graphml_xml,
    "node link": lambda graph, path: path.write_text(json.dumps(nx.node_link_data(graph))),
    "adjacency": lambda graph, path: path.write_text(json.dumps(nx.adjacency_data(graph))),
    "cytoscape": lambda graph, path: path.write_text(json.dumps(nx.cytoscape_data(graph))),
    "pandas": lambda graph, path: nx.to_pandas_edgelist(graph).to_parquet(path),
}


@pytest.fixture(scope="module")
def graphs(cat: Any) -> list[Any]:
    source, hostile = (Urn.dataset("hive", f"graphs.{name}") for name in ("source", "hostile"))
    text = {"name": "a\x0b<b>", "description": 'bell \x07 & "quotes"\nüß'}
    cat.ingest(Proposal(hostile, "datasetProperties", text))
    upstreams = {"upstreams": [{"dataset": str(source), "type": "TRANSFORMED"}]}
    cat.ingest(Proposal(hostile, "upstreamLineage", upstreams))
    orders = cat.dataset(ORDERS)
    with closing(orders.lineage(1).widget()) as widget:
        assert widget.wait(60)
        columns = orders.lineage(2, column="net_amount")
        lineages = (orders.lineage(2), columns, cat.dataset(source).lineage(1), widget)
        return [lineage.graph for lineage in lineages]


@pytest.mark.parametrize("write", _WRITERS.values(), ids=_WRITERS)
def test_every_writer_of_networkx_takes_the_graphs(
    graphs: Any, write: Callable[[Any, Path], object], tmp_path: Path
) -> None:
    for graph in graphs:
        write(graph, tmp_path / "graph")
        assert (tmp_path / "graph").stat().st_size > 100


def test_what_networkx_writes_it_reads_again(cat: Any, tmp_path: Path) -> None:
    graph = cat.dataset(ORDERS).lineage(2).graph
    nx.write_graphml(graph, tmp_path / "graph")
    back = nx.read_graphml(tmp_path / "graph")
    assert dict(back.nodes(data=True)) == dict(graph.nodes(data=True))
    assert set(back.edges) == set(graph.edges)
    owners = cat.dataset(ORDERS).owners
    assert graph.nodes[ORDERS]["owners"].splitlines() == [owner.owner for owner in owners]


def test_urns_and_their_texts_are_the_same_nodes(cat: Any) -> None:
    orders = cat.dataset(ORDERS)
    lineage = orders.lineage(2)
    assert orders.urn in lineage.graph
    assert ORDERS in lineage.graph
    first = lineage.urns[0]
    assert first in lineage.graph
    assert str(first) in lineage.urns
    assert str(first) in set(lineage)
    ends = (orders.urn, first) if lineage.graph.nodes[first]["hops"] > 0 else (first, orders.urn)
    assert nx.has_path(lineage.graph, *ends)
    assert first in set(lineage.df["urn"])


def test_a_graph_is_selected_from_by_its_lists(cat: Any) -> None:
    lineage = cat.dataset(ORDERS).lineage(2)
    owner = lineage.lineage.nodes[ORDERS]["owners"][0]
    chosen = filter_from(f'owners:"{owner}"', cat.registry)
    assert ORDERS in select(lineage.graph, chosen)
    assert set(select(lineage.graph, chosen)) == set(select(lineage.lineage, chosen))
