"""How long it takes from nothing to a first answer in a notebook, and to draw what is shown.

    python tests/benchmarks/notebook.py [--rounds 7]

Run by hand on a quiet machine. Starts are whole processes, in milliseconds of the clock and of the
processor, the fastest of the rounds each; the modules that they must not have loaded are looked
for, and the benchmark fails where there are any.
Drawings are made in this process, on its own time, the fastest of the rounds. The catalog is an
embedded one with the sample, running before anything is timed.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import networkx as nx

from explorer import Catalog, instance
from explorer.client.records import Timeseries
from explorer.graph.layout import lay_out_pairs
from explorer.graph.pictures import box_size, to_svg
from explorer.metadata.urn import Urn
from explorer.notebook.chart import ShownChart
from explorer.notebook.timeseries import ProfileChart, UsageChart, Window

HEAVY = ("pandas", "plotly", "ipywidgets", "anywidget", "networkx", "tqdm", "IPython")
STARTS = {
    "python": "",
    "import pandas": "import pandas",
    "import explorer": "from explorer import Catalog",
    "first search": "from explorer import Catalog; found = Catalog({address!r}).search('orders'); "
    "assert found.total",
    "first search, shown": "from explorer import Catalog; "
    "found = Catalog({address!r}).search('orders'); repr(found), found._repr_html_()",
    "first frame": "from explorer import Catalog; Catalog({address!r}).search('orders').df",
    "first figure": "from explorer import Catalog; "
    "Catalog({address!r})['fct_orders'].usage().figure()",
}
LIGHT = ("import explorer", "first search", "first search, shown")
LOADED = "; import sys, json; print(json.dumps([one for one in {heavy!r} if one in sys.modules]))"
DAY_MILLIS = 86_400_000
NEWEST_MILLIS = 1_700_000_000_000
POINTS = (30, 365, 2_000)
COLUMNS = 100
GRAPHS = ((30, 37, 6), (500, 832, 8))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Whole)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with served() as address:
        starts(address, rounds)
    figures(rounds)
    drawings(rounds)
    return 0


class _Whole(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


@contextmanager
def served() -> Iterator[str]:
    """The address of a catalog with the sample, which is ended afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "catalog"
        with Catalog(data_dir=directory) as catalog:
            catalog.search("orders")
            address = catalog.address
        try:
            yield address
        finally:
            running = instance.find(directory)
            if running is not None:
                os.kill(running.pid, signal.SIGTERM)
            while instance.is_held(directory):
                time.sleep(0.02)


def starts(address: str, rounds: int) -> None:
    """Whole processes; each kind in turn, so that a busy moment is shared."""
    clock: dict[str, list[float]] = {name: [] for name in STARTS}
    processor: dict[str, list[float]] = {name: [] for name in STARTS}
    loaded: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, source in STARTS.items():
            code = source.format(address=address) + LOADED.format(heavy=HEAVY)
            begin, used = time.perf_counter(), processor_of_children()
            ran = subprocess.run(
                [sys.executable, "-c", code.removeprefix("; ")],
                check=True,
                capture_output=True,
                text=True,
            )
            clock[name].append((time.perf_counter() - begin) * 1000)
            processor[name].append((processor_of_children() - used) * 1000)
            loaded[name] = json.loads(ran.stdout)
    base = min(processor["import pandas"])
    print(f"{'start':>22} {'clock ms':>9} {'cpu ms':>7} {'to pandas':>10}  heavy modules loaded")
    for name in STARTS:
        used = min(processor[name])
        said = ", ".join(loaded[name]) or "none"
        print(f"{name:>22} {min(clock[name]):9.0f} {used:7.0f} {used / base:10.2f}  {said}")
    wrong = {name: loaded[name] for name in LIGHT if loaded[name]}
    assert not wrong, wrong


def processor_of_children() -> float:
    """Seconds of the processor that ended children have taken."""
    used = os.times()
    return used.children_user + used.children_system


def drift(points: int) -> ShownChart:
    return profile(points).drift()


def figures(rounds: int) -> None:
    """Usage and profiles of several lengths, drawn in each way; sizes in kB."""
    print(f"\n{'figure':>22} {'plotly ms':>10} {'page ms':>8} {'text ms':>8} {'all kB':>8}")
    for points in POINTS:
        shown: dict[str, Callable[[], ShownChart]] = {
            "usage": partial(usage, points),
            "profile": partial(profile, points),
            "drift": partial(drift, points),
        }
        for name, make in shown.items():
            if name != "usage" and points > POINTS[1]:
                continue
            figure(rounds, f"{name}, {points:,} days", make)


def figure(rounds: int, label: str, make: Callable[[], ShownChart]) -> None:
    plotly = fastest(rounds, lambda: make().figure())
    page = fastest(rounds, lambda: make()._repr_html_())
    text = fastest(rounds, lambda: repr(make()))
    size = len(json.dumps(make()._repr_mimebundle_())) / 1000
    print(f"{label:>22} {plotly:10.1f} {page:8.1f} {text:8.1f} {size:8.1f}")


def drawings(rounds: int) -> None:
    """Lineage laid out, and its picture, which is laid out too; the picture in kB."""
    print(f"\n{'lineage':>22} {'layout ms':>10} {'svg ms':>8} {'svg kB':>8}")
    for nodes, edges, layers in GRAPHS:
        graph = lineage(nodes, edges, layers)
        sizes = {urn: box_size(urn, said) for urn, said in graph.nodes.items()}
        svg = to_svg(graph, most_nodes=nodes, most_edges=edges)
        alone = fastest(rounds, partial(lay_out_pairs, sizes, graph.edges))
        both = fastest(rounds, partial(to_svg, graph, most_nodes=nodes, most_edges=edges))
        label = f"{nodes:,} nodes, {edges:,} edges"
        print(f"{label:>22} {alone:10.1f} {both:8.1f} {len(svg) / 1000:8.1f}")


def fastest(rounds: int, work: Callable[[], object]) -> float:
    """Milliseconds of this process; the first run, which imports, does not count."""
    work()
    took = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        took.append((time.process_time() - begin) * 1000)
    return min(took)


def usage(days: int) -> UsageChart:
    """Use on each day, of a table with many columns."""
    dice = random.Random(1)
    values = [
        {
            "timestampMillis": NEWEST_MILLIS - day * DAY_MILLIS,
            "totalSqlQueries": dice.randrange(1_000),
            "uniqueUserCount": dice.randrange(50),
            "fieldCounts": [
                {"fieldPath": f"column_{at}", "count": dice.randrange(100)} for at in range(COLUMNS)
            ],
        }
        for day in reversed(range(days))
    ]
    return UsageChart(
        "table", Window(Timeseries("datasetUsageStatistics", days, tuple(values)), None)
    )


def profile(days: int) -> ProfileChart:
    """What was measured on each day of all columns of a table."""
    dice = random.Random(1)
    values = [
        {
            "timestampMillis": NEWEST_MILLIS - day * DAY_MILLIS,
            "rowCount": 1_000_000 - day,
            "columnCount": COLUMNS,
            "fieldProfiles": [
                {
                    "fieldPath": f"column_{at}",
                    "nullProportion": dice.random(),
                    "uniqueCount": dice.randrange(1_000),
                    "uniqueProportion": dice.random(),
                    "mean": str(dice.random()),
                }
                for at in range(COLUMNS)
            ],
        }
        for day in reversed(range(days))
    ]
    return ProfileChart("table", Window(Timeseries("datasetProfile", days, tuple(values)), None))


def lineage(nodes: int, edges: int, layers: int) -> nx.DiGraph:
    """Tables in layers, each edge from a layer to the next."""
    dice = random.Random(1)
    urns = [str(Urn.dataset("hive", f"sales.table_{number}")) for number in range(nodes)]
    graph = nx.DiGraph(root=urns[0], direction="BOTH", truncated=None)
    for number, urn in enumerate(urns):
        hops = number % layers
        graph.add_node(urn, name=f"table_{number}", type="dataset", platform="hive", hops=hops)
    by_layer = [urns[at::layers] for at in range(layers)]
    while graph.number_of_edges() < edges:
        at = dice.randrange(layers - 1)
        source = dice.randrange(len(by_layer[at]))
        near = min(len(by_layer[at + 1]) - 1, max(0, source + dice.randint(-3, 3)))
        graph.add_edge(by_layer[at][source], by_layer[at + 1][near])
    return graph


if __name__ == "__main__":
    sys.exit(main())
