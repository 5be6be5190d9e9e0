"""What the terminal costs: its start, its memory, its keys and its rest, beside what others cost.

    python tests/benchmarks/terminal.py [--rounds 7] [--visits 200] [--idle-seconds 5]
        [--harlequin-python PATH] [--posting-bin PATH] [--only start,keys,idle,memory,slow,drawing]

Run by hand on Linux, the quieter the machine the better: read the ratios rather than the times, for
everything in a table is measured in turns with an empty Textual application. The others are taken
from virtual environments of their own (pip install harlequin; pip install posting
'tree-sitter<0.26', whose later versions crash it). `last` is the time from a key to the last byte
of what it caused, `first` to the first.
"""

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import networkx as nx
from layout import lineage
from terminals.filling import VISITS, WIDE, fill, visit
from terminals.program import Idle, Paint, Program, Start

from explorer import instance
from explorer.tui.screens.lineage_map import draw
from explorer.views.lineage import Neighbourhood, choose_nodes

SLOW = Path(__file__).with_name("terminals") / "slow.py"
ANSWER_SECONDS = 2.0
TUI = str(Path(sys.executable).with_name("catalog-tui"))
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("catalog " * 12)
Empty().run()
"""
PLAIN = """
from textual.app import App
from textual.widgets import OptionList
class Plain(App):
    def compose(self):
        yield OptionList(*(f"row {at} of a plain list of Textual" for at in range(2000)))
Plain().run()
"""
PARTS = ("start", "keys", "idle", "memory", "slow", "drawing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--idle-seconds", type=float, default=5)
    parser.add_argument("--harlequin-python", type=Path)
    parser.add_argument("--posting-bin", type=Path)
    parser.add_argument("--only", default=",".join(PARTS))
    given = parser.parse_args()
    parts = given.only.split(",")
    print(f"load of the last minute {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as scratch:
        environment = _environment(Path(scratch))
        data = Path(environment["CATALOG_DATA_DIR"])
        fill(data)
        try:
            if "start" in parts:
                measure_starts(environment, given)
            if "keys" in parts:
                measure_keys(environment)
            if "idle" in parts:
                measure_idle(environment, given.idle_seconds)
            if "memory" in parts:
                measure_memory(environment, min(given.visits, VISITS // 2))
            if "slow" in parts:
                measure_typing(environment, data)
        finally:
            running = instance.find(data)
            if running is not None:
                os.kill(running.pid, signal.SIGTERM)
                while instance.find(data) is not None:
                    time.sleep(0.05)
    if "drawing" in parts:
        measure_drawing()
    print(f"\nload of the last minute {os.getloadavg()[0]:.2f}")


def _environment(scratch: Path) -> dict[str, str]:
    """What is installed has its bytecode, and finds nothing of ours in its home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CATALOG_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    places = {
        f"CATALOG_{what}_DIR": str(scratch / what.lower())
        for what in ("DATA", "STATE", "CONFIG", "CACHE")
    }
    os.environ.update(places)
    return kept | places | {"HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch)}


def measure_starts(environment: Mapping[str, str], given: argparse.Namespace) -> None:
    """Everything starts in turns, after once that does not count."""
    commands: dict[str, Sequence[str]] = {
        "empty Textual application": (sys.executable, "-c", EMPTY),
        "catalog-tui": (TUI,),
    }
    if given.harlequin_python:
        commands["harlequin"] = (str(given.harlequin_python.with_name("harlequin")),)
    if given.posting_bin:
        commands["posting"] = (str(given.posting_bin),)
    found: dict[str, list[tuple[Start, float, Idle]]] = {name: [] for name in commands}
    for turn in range(given.rounds + 1):
        for name, command in commands.items():
            with Program(command, environment) as program:
                start = program.start()
                program.settle(1)
                if turn:
                    found[name].append((start, program.rss_mb, program.idle(1)))
    print(f"\n{'start':<28}{'first frame':>18}{'quiet':>9}{'RSS':>8}{'bytes':>9}{'idle':>16}")
    base = statistics.median(one.first_frame_seconds for one, _, _ in found[next(iter(commands))])
    for name, runs in found.items():
        first = statistics.median(one.first_frame_seconds for one, _, _ in runs)
        quiet = statistics.median(one.quiet_seconds for one, _, _ in runs)
        sent = statistics.median(one.sent_bytes for one, _, _ in runs)
        rss = statistics.median(rss for _, rss, _ in runs)
        rest = statistics.median(idle.bytes_per_second for _, _, idle in runs)
        cpu = statistics.median(idle.cpu_percent for _, _, idle in runs)
        print(
            f"{name:<28}{first:8.2f} s  x {first / base:4.2f}{quiet:7.2f} s{rss:5.0f} MB"
            f"{sent:9,.0f}{rest:6.0f} B/s {cpu:4.1f} %"
        )


def measure_keys(environment: Mapping[str, str]) -> None:
    """Row down within a screen and beyond it, and from pane to pane."""
    print(f"\n{'keys':<28}{'first ms: median p90 p99':>26}{'last ms: median p90':>22}{'bytes':>14}")
    with Program((sys.executable, "-c", PLAIN), environment) as program:
        program.start()
        _tell("Textual's own list, down", [program.press("down") for _ in range(30)])
    with Program((TUI,), environment) as program:
        program.start()
        program.sees("fct_orders")
        program.settle()
        _tell("results, down", [program.press("down") for _ in range(11)])
        _tell("results, down, scrolling", [program.press("down") for _ in range(20)])
        _tell("results to facets, and back", [program.press("f") for _ in range(10)])
        _tell("folders away, and back", [program.press("b") for _ in range(10)][1:])
        program.press("home")
        _tell("folders, down", [program.press("down") for _ in range(10)])
    with Program((TUI, "--search", WIDE), environment) as program:
        program.start()
        program.sees(f"{WIDE} ", 20)
        program.settle()
        program.press_until("enter", f"{WIDE}_column_0003")
        program.settle()
        _tell("columns, down", [program.press("down") for _ in range(18)])
        _tell("columns, down, scrolling", [program.press("down") for _ in range(60)])
        _tell("columns, a screen down", [program.press("pagedown") for _ in range(20)])
        tabs = [program.press(key, 0.2) for _ in range(3) for key in "13452"]
        _tell("from tab to tab", tabs)


def _tell(name: str, paints: Sequence[Paint]) -> None:
    first = sorted(one.first_millis for one in paints)
    last = sorted(one.last_millis for one in paints)
    sent = sorted(one.sent_bytes for one in paints)
    print(
        f"{name:<28}{statistics.median(first):14.1f}{_at(first, 0.9):6.1f}{_at(first, 0.99):6.1f}"
        f"{statistics.median(last):14.1f}{_at(last, 0.9):8.1f}"
        f"{statistics.median(sent):8,.0f} ≤{sent[-1]:7,.0f}"
    )


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure_idle(environment: Mapping[str, str], seconds: float) -> None:
    """What every screen does while nobody presses a key."""
    print(f"\n{'at rest, ' + format(seconds, 'g') + ' s each':<28}{'bytes/s':>10}{'CPU':>9}")
    with Program((sys.executable, "-c", EMPTY), environment) as program:
        program.start()
        _rest("empty Textual application", program, seconds)
    with Program((TUI, "--search", "fct_orders"), environment) as program:
        program.start()
        program.sees("fct_orders ", 20)
        program.settle(1.5)
        for name, keys in (
            ("find", ""),
            ("facets", "f"),
            ("folders", "fb"),
            ("search box", "b/"),
        ):
            _walk(program, keys)
            _rest(name, program, seconds)
        program.press("enter")
        program.settle()
        program.press_until("enter", "Columns", 20)
        tabs = "overview columns lineage relations usage profile history raw"
        for key, name in enumerate(tabs.split(), 1):
            _walk(program, str(key))
            _rest(name, program, seconds)
        for name, keys, leave in (
            ("help", "?", "escape"),
            ("palette", ":", "escape"),
            ("editor", "2e", "escape"),
        ):
            _walk(program, keys)
            _rest(name, program, seconds)
            program.press(leave)
            program.settle()


def _walk(program: Program, keys: Iterable[str]) -> None:
    for key in keys:
        program.press(key)
    program.settle(1)


def _rest(name: str, program: Program, seconds: float) -> None:
    idle = program.idle(seconds)
    print(f"{name:<28}{idle.bytes_per_second:10.0f}{idle.cpu_percent:7.2f} %")


def measure_memory(environment: Mapping[str, str], visits: int) -> None:
    """Entities are opened by keys, one after another, each once."""
    print(f"\n{'memory':<28}{'RSS':>10}{'a visit':>12}")
    with Program((TUI,), environment) as program:
        program.start()
        program.sees("fct_orders ", 20)
        program.settle(1.5)
        print(f"{'before':<28}{program.rss_mb:7.1f} MB")
        for begin in (0, visits):
            clock = time.perf_counter()
            for number in range(begin, begin + visits):
                _visit(program, number)
            took = (time.perf_counter() - clock) / visits
            print(
                f"{f'after {begin + visits} visits':<28}{program.rss_mb:7.1f} MB"
                f"{took * 1000:9.0f} ms"
            )


def _visit(program: Program, number: int) -> None:
    """Type a name, open the one that has it, and look at its columns."""
    name = visit(number)
    program.press("/")
    for char in name:
        program.press(char, 0.0)
    program.press("enter", 0.02)
    program.sees(lambda text: name in text.partition(" result")[2], 20)
    program.press_until("enter", f"{name}_column_0002", 20)


def measure_typing(environment: Mapping[str, str], data: Path) -> None:
    """Letters, while every answer takes its time."""
    running = instance.ensure(data)
    command = (sys.executable, str(SLOW), running.address.removeprefix("unix:"), "2")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        try:
            port = int(slow.stdout.readline() if slow.stdout else 0)
            with Program((TUI, "--url", f"http://127.0.0.1:{port}"), environment) as program:
                program.start()
                program.sees("fct_orders", 40)
                program.settle(3, 10)
                program.press("/")
                typed = [*"orders of customers by day", *["backspace"] * 12] * 3
                paints = []
                for key in typed:
                    paints.append(program.press(key, 0.02))
                    program.settle(0.06, 0.1)
                print(f"\n{f'typing, answers take {ANSWER_SECONDS:g} s':<28}")
                _tell("letters", [one for one in paints if one.sent_bytes])
        finally:
            slow.kill()


def measure_drawing() -> None:
    """The drawing of lineage itself, in this process, the best of twenty. Layers and places are
    found in a thread; what is on screen of them is drawn where the keys are heard."""
    print(f"\n{'lineage':<28}{'laid out, in a thread':>24}{'a screen of it':>18}")
    for nodes, edges, layers in ((12, 14, 4), (200, 313, 6)):
        root, hood = _neighbourhood(nodes, edges, layers)
        drawing = draw(hood, 118, 34)
        made = _best(partial(draw, hood, 118, 34))
        see = partial(drawing.window, 0, 0, 118, 34, lit=set(), cursor=root, mark="")
        name = f"{len(hood.nodes)} nodes, {len(hood.edges)} edges"
        print(f"{name:<28}{made:21.2f} ms{_best(see):15.2f} ms")


def _neighbourhood(nodes: int, edges: int, layers: int) -> tuple[str, Neighbourhood]:
    """The one with the most around it, of the smallest graph that has so much around it."""
    for size in itertools.count(nodes):
        graph = nx.DiGraph(lineage(size, edges * size // nodes, layers, seed=1))
        for node in list(graph):
            graph.nodes[node]["name"] = f"table_{node}"
        graph = nx.relabel_nodes(graph, {node: f"table_{node}" for node in graph})
        root = max(graph, key=lambda node: len(_around(graph, node)))
        hood = choose_nodes(graph, [root])
        if len(hood.nodes) >= nodes:
            return root, hood
    raise AssertionError


def _around(graph: "nx.DiGraph[str]", node: str) -> set[str]:
    around: set[str] = nx.ancestors(graph, node) | nx.descendants(graph, node)
    return around


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(20):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best * 1000


if __name__ == "__main__":
    main()
