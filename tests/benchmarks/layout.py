"""How long a drawing takes and how many edges cross in it, for lineage of several sizes.

    python tests/benchmarks/layout.py [--seeds 3]

Each is set beside networkx, which only puts nodes into layers, and Graphviz where it is installed,
whose own count of crossings is taken. Times are of the processor, but for Graphviz, a program of
its own, on the clock.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import time
from statistics import mean
from typing import Any

import networkx as nx

from explorer.graph.layout import lay_out_pairs

_SHAPES = ((30, 37, 6), (150, 230, 6), (200, 313, 6), (500, 832, 8), (2_000, 3_300, 10))
_NEAR = 0.88
_SLOW = 1_000
_PAIR = tuple[int, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(f"{'nodes':>6} {'edges':>6} {'drawing':>22} {'ms':>8} {'crossings':>10} {'to dot':>7}")
    for nodes, edges, layers in _SHAPES:
        graphs = [lineage(nodes, edges, layers, seed) for seed in range(given.seeds)]
        free = [_ours(nodes, pairs, grid=False) for pairs in graphs]
        cells = [_ours(nodes, pairs, grid=True) for pairs in graphs]
        plain = [(_multipartite(nodes, pairs), None) for pairs in graphs]
        found: list[tuple[str, list[Any]]] = [
            ("free", free),
            ("on cells", cells),
            ("networkx multipartite", plain),
        ]
        dots = []
        if shutil.which("dot") and nodes <= _SLOW:
            dots = [_dot(nodes, pairs) for pairs in graphs]
            found.append(("dot", dots))
        for name, runs in found:
            took = mean(millis for millis, _ in runs)
            counts = [count for _, count in runs if count is not None]
            crossings = f"{mean(counts):,.0f}" if counts else "-"
            best = sum(count or 0 for _, count in dots)
            ratio = f"{sum(counts) / best:.2f}" if counts and best else "-"
            print(f"{nodes:6,} {edges:6,} {name:>22} {took:8.1f} {crossings:>10} {ratio:>7}")
    return 0


def lineage(nodes: int, edges: int, layers: int, seed: int) -> list[_PAIR]:
    """Tables in layers, most made from tables near them in the layer before."""
    dice = random.Random(seed)
    layer = [min(layers - 1, int(dice.random() ** 1.2 * layers)) for _ in range(nodes)]
    beside = [dice.random() for _ in range(nodes)]
    members = [[node for node in range(nodes) if layer[node] == at] for at in range(layers)]
    pairs: set[_PAIR] = set()
    while len(pairs) < edges:
        at = dice.randrange(1, layers)
        back = at - (1 if dice.random() > 0.1 else dice.randint(1, at))
        if not members[at] or not members[back]:
            continue
        target = dice.choice(members[at])
        some = dice.sample(members[back], min(len(members[back]), 4))
        some.sort(key=lambda node: abs(beside[node] - beside[target]))
        pairs.add((some[0] if dice.random() < _NEAR else dice.choice(some), target))
    return sorted(pairs)


def _ours(nodes: int, pairs: list[_PAIR], grid: bool) -> tuple[float, int]:
    size = (18, 1) if grid else (160, 32)
    sizes = dict.fromkeys(range(nodes), size)
    started = time.process_time()
    layout = lay_out_pairs(sizes, pairs, grid=grid)
    return (time.process_time() - started) * 1000, layout.crossings


def _multipartite(nodes: int, pairs: list[_PAIR]) -> float:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(pairs)
    started = time.process_time()
    for at, generation in enumerate(nx.topological_generations(graph)):
        for node in generation:
            graph.nodes[node]["layer"] = at
    nx.multipartite_layout(graph, subset_key="layer")
    return (time.process_time() - started) * 1000


def _dot(nodes: int, pairs: list[_PAIR]) -> tuple[float, int]:
    lines = [f"n{node};" for node in range(nodes)]
    lines += [f"n{source} -> n{target};" for source, target in pairs]
    text = "digraph { rankdir=LR; node [shape=box, width=1.6, height=0.4];" + "".join(lines) + "}"
    started = time.perf_counter()
    done = subprocess.run(
        ["dot", "-v", "-Tplain"], input=text, capture_output=True, text=True, check=True
    )
    took = (time.perf_counter() - started) * 1000
    counts = re.findall(r"mincross [^:]*: (\d+) crossings", done.stderr)
    return took, int(counts[-1])


if __name__ == "__main__":
    sys.exit(main())
