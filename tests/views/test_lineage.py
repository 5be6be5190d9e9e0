"""Lineage, impact and paths say the same in the terminal, the notebook and the shell."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from explorer import Catalog
from explorer.graph.export import to_svg
from explorer.graph.nodes import distinctions, distinguish_names
from explorer.metadata.urn import Urn
from explorer.tui.screens.lineage import ImpactRows
from explorer.views.lineage import (
    ImpactView,
    choose_nodes,
    lineage_entities,
    lineage_entity,
    lineage_tree,
)
from explorer.views.table import places_for

RAW = Urn.dataset("hive", "shop.raw")
STAGED = Urn.dataset("hive", "staging.orders")
MART = Urn.dataset("hive", "mart.orders")
OTHERS = (Urn.dataset("kafka", "bus"), Urn.dataset("hive", "bus"))
STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lineage")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """Two tables called orders and two called bus are made from one."""
    with Catalog(data_dir=data_dir) as found:
        found.put(RAW, "datasetProperties", {"name": "raw"})
        for urn in (STAGED, MART, *OTHERS):
            name = "orders" if urn in (STAGED, MART) else "bus"
            upstream = {"dataset": str(RAW), "type": "COPY", "auditStamp": STAMP}
            found.put(urn, "datasetProperties", {"name": name})
            found.put(urn, "upstreamLineage", {"upstreams": [upstream]})
        yield found


def shell(data_dir: Path, *words: str) -> str:
    command = (sys.executable, "-m", "explorer.cli", *words, "--data-dir", str(data_dir))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_shares_a_name_says_what_differs_in_every_impact(
    catalog: Catalog, data_dir: Path
) -> None:
    impact = catalog.dataset(RAW).impact()
    rows = ImpactRows()
    rows.view = impact.view
    rows._rows = list(impact.impact.affected)
    pages = {
        "terminal": "\n".join(rows._draw_row(at, 100)[0].plain for at in range(len(impact))),
        "notebook": repr(impact),
        "shell": shell(data_dir, "impact", str(RAW)),
    }
    for front_end, page in pages.items():
        lines = [line for line in page.splitlines() if "orders" in line]
        assert sorted("staging" in line for line in lines) == [False, True], front_end
        assert sorted("mart" in line for line in lines) == [False, True], front_end
        lines = [line for line in page.splitlines() if "bus" in line]
        assert sorted("kafka" in line for line in lines) == [False, True], front_end


def test_what_shares_a_name_says_what_differs_in_every_lineage(
    catalog: Catalog, data_dir: Path
) -> None:
    lineage = catalog.dataset(RAW).lineage()
    hood = choose_nodes(lineage.graph, [str(RAW)])
    drawn = {(node.name, node.fact.split(" · ")[0]) for node in hood.nodes.values()}
    assert {("orders", "staging"), ("orders", "mart"), ("bus", "kafka"), ("bus", "hive")} <= drawn
    for page in (repr(lineage), lineage.svg(), shell(data_dir, "lineage", str(RAW))):
        for name in ("orders (staging)", "orders (mart)", "bus (kafka)", "bus (hive)"):
            assert name in page


def test_the_tree_of_lineage_is_the_same_in_the_notebook_and_the_shell(
    catalog: Catalog, data_dir: Path
) -> None:
    lineage = catalog.dataset(RAW).lineage()
    entities = lineage_entities(lineage.graph.nodes(data=True))
    lines = lineage_tree(lineage.graph, str(RAW), entities, side="downstream")
    names = [line.entity.full_name for line in lines if line.entity is not None]
    assert len(names) == 4
    for page in (repr(lineage), shell(data_dir, "lineage", str(RAW))):
        at = [page.index(name) for name in names]
        assert at == sorted(at)


def test_paths_have_the_same_steps_everywhere(catalog: Catalog, data_dir: Path) -> None:
    paths = catalog.dataset(RAW).paths_to(MART)
    assert paths.view.counts == "1 way, 1 hop"
    steps = [step.entity.full_name for step in paths.view.steps[0]]
    assert steps == ["raw", "orders"]
    assert "raw → orders" in repr(paths)
    assert shell(data_dir, "path", str(RAW), str(MART)).split(" (")[0] == steps[0]


def test_the_fewest_facts_that_differ_tell_entities_apart() -> None:
    urns = [
        Urn.dataset("hive", "a.orders"),
        Urn.dataset("hive", "a.orders", "DEV"),
        Urn.dataset("kafka", "a.orders"),
    ]
    nodes = [(str(urn), {"name": "orders", "type": "dataset"}) for urn in urns]
    assert list(distinctions(nodes[:2]).values()) == ["PROD", "DEV"]
    assert list(distinctions(nodes).values()) == ["hive · PROD", "hive · DEV", "kafka · PROD"]
    assert distinctions(nodes[:1]) == {}
    dashboard = ("urn:li:dashboard:(looker,7)", {"name": "orders", "type": "dashboard"})
    assert distinctions([nodes[0], dashboard]) == {}
    tasks = [
        (f"urn:li:dataJob:(urn:li:dataFlow:(airflow,{flow},PROD),load)", {"name": "load"})
        for flow in ("daily", "hourly")
    ]
    assert list(distinctions(tasks).values()) == ["daily", "hourly"]
    charts = [(f"urn:li:chart:(looker,{at})", {"name": "Revenue"}) for at in (1, 2)]
    assert [one["name"] for one in distinguish_names(charts).values()] == [
        "Revenue (1)",
        "Revenue (2)",
    ]


def test_an_entity_in_words_is_safe_to_show() -> None:
    attributes = {
        "name": "a\x1b[31m\u202eb",
        "type": "dataJob",
        "platform": "air\nflow",
        "origin": "DEV",
        "owners": ["urn:li:corpuser:jdoe"],
        "removed": True,
        "deprecated": True,
        "hops": -2,
    }
    entity = lineage_entity("urn:li:x", attributes, {"urn:li:corpuser:jdoe": "Jordan\x07 Doe"})
    assert (entity.name, entity.type) == ("a[31mb", "task · air flow · DEV")
    assert (entity.state, entity.owners) == ("removed, deprecated", ("Jordan Doe",))


def test_pictures_tell_nodes_of_one_name_apart() -> None:
    graph = nx.DiGraph(root=str(RAW))
    for urn in (RAW, STAGED, MART):
        graph.add_node(str(urn), name="orders", type="dataset", hops=0)
    assert {"orders (shop.raw)", "orders (staging)", "orders (mart)"} <= {
        name
        for name in ("orders (shop.raw)", "orders (staging)", "orders (mart)")
        if name in to_svg(graph)
    }


def test_an_impact_has_one_table_for_every_program(catalog: Catalog, data_dir: Path) -> None:
    view = catalog.dataset(RAW).impact().view
    assert isinstance(view, ImpactView)
    header = shell(data_dir, "impact", str(RAW), "--csv").splitlines()[0]
    columns = view.table().columns
    assert header.split(",") == [columns[at].name for at in places_for("files", columns)]
