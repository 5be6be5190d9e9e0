"""Where data comes from and goes to in the sample."""

from typing import Any

import networkx as nx
import pytest

from explorer.metadata import Registry, Urn
from explorer.metadata.registry import edges_of


@pytest.fixture(scope="module")
def graph(latest: dict[str, dict[str, Any]], registry: Registry) -> nx.DiGraph:
    """Every lineage edge, from upstream to downstream."""
    graph = nx.DiGraph()
    for urn, aspects in latest.items():
        for name, value in aspects.items():
            aspect = registry.aspect(name)
            for relationship, target in edges_of(aspect, aspect.read_targets(value)):
                if relationship.lineage and not target.startswith("urn:li:schemaField"):
                    # Only what a job produces lies downstream of the one that says so.
                    if relationship.name == "Produces":
                        graph.add_edge(urn, target)
                    else:
                        graph.add_edge(target, urn)
    return graph


def _table(name: str) -> str:
    return str(Urn.dataset("snowflake", name))


def test_lineage_has_no_cycle(graph: nx.DiGraph) -> None:
    assert nx.is_directed_acyclic_graph(graph)


def test_a_source_table_reaches_a_dashboard(graph: nx.DiGraph) -> None:
    source = str(Urn.dataset("postgres", "shop.public.orders"))
    board = str(Urn.of("dashboard", "looker", "dashboards.1"))
    assert nx.has_path(graph, source, board)
    path = nx.shortest_path(graph, source, board)
    assert [Urn.parse(urn).entity_type for urn in path[-2:]] == ["chart", "dashboard"]


def test_an_event_goes_a_long_way(graph: nx.DiGraph) -> None:
    topic = str(Urn.dataset("kafka", "web.page-viewed.v2"))
    assert nx.shortest_path_length(graph, topic, _table("analytics.reporting.rpt_board_kpis")) >= 7
    assert nx.dag_longest_path_length(graph) >= 10


def test_orders_meet_again_in_a_diamond(graph: nx.DiGraph) -> None:
    paths = list(
        nx.all_simple_paths(
            graph, _table("analytics.staging.stg_orders"), _table("analytics.marts.fct_orders")
        )
    )
    between = [set(path[1:-1]) for path in paths]
    assert len(paths) >= 3
    assert any(not a & b for a in between for b in between if a and b)


def test_jobs_stand_between_what_they_read_and_write(graph: nx.DiGraph) -> None:
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,store_loads,prod),pos_sales)"
    assert len(list(graph.predecessors(job))) == 4
    assert list(graph.successors(job)) == [_table("raw.stores.pos_sales")]


def test_most_datasets_are_connected(graph: nx.DiGraph, latest: dict[str, dict[str, Any]]) -> None:
    datasets = [urn for urn in latest if urn.startswith("urn:li:dataset:")]
    alone = [urn for urn in datasets if urn not in graph]
    assert len(alone) < len(datasets) * 0.08


def test_a_column_is_traced_from_the_source_to_the_report(
    latest: dict[str, dict[str, Any]],
) -> None:
    upstream: dict[str, set[str]] = {}
    for aspects in latest.values():
        for fine in aspects.get("upstreamLineage", {}).get("fineGrainedLineages", ()):
            for down in fine["downstreams"]:
                upstream.setdefault(down, set()).update(fine["upstreams"])
    todo = [
        str(
            Urn.of(
                "schemaField", _table("analytics.reporting.rpt_revenue_by_country"), "net_revenue"
            )
        )
    ]
    seen = set()
    while todo:
        field = todo.pop()
        if field not in seen:
            seen.add(field)
            todo += upstream.get(field, ())
    source = str(Urn.dataset("postgres", "shop.public.orders"))
    assert str(Urn.of("schemaField", source, "total_gross")) in seen


def test_views_show_sql_that_names_what_they_are_made_from(
    latest: dict[str, dict[str, Any]],
) -> None:
    views = {urn: a for urn, a in latest.items() if "viewProperties" in a}
    assert len(views) >= 20
    for aspects in views.values():
        first = Urn.parse(aspects["upstreamLineage"]["upstreams"][0]["dataset"])
        assert first.name in aspects["viewProperties"]["viewLogic"]
