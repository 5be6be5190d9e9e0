"""Lineage graphs: what is asked of the catalog, the filter, and the picture of it."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn
from explorer.tui.screens.lineage.drawing import (
    Edge,
    LineageDrawing,
    Neighbourhood,
    choose_nodes,
    draw,
)

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.graph import AsyncGraphs, Extent, Paths
    from explorer.query.filters import Filter

__all__ = [
    "LineageAnswer",
    "LineageQuery",
    "LineageView",
    "make_picture",
    "open_graphs",
    "path_edges",
    "read_paths",
]

_READ_WHOLE = 1_000
_MOST_HOPS = 20


@dataclass(frozen=True, slots=True)
class LineageQuery:
    """Whose lineage is shown, which way and how far; of a column where one is named."""

    urn: Urn
    extent: "Extent" = "BOTH"
    hops: int = 2
    column: str | None = None

    @property
    def nearest(self) -> "LineageQuery":
        """The same with a single hop."""
        return replace(self, hops=1)

    def widened(self, hops: int) -> "LineageQuery":
        """Return the same with so many hops more, within 1 and the most that are walked."""
        return replace(self, hops=max(1, min(_MOST_HOPS, self.hops + hops)))

    def turned(self, way: str) -> "LineageQuery":
        """Return the same "upstream", "downstream" or, for any other word, both ways."""
        match way:
            case "upstream":
                return replace(self, extent="UPSTREAM")
            case "downstream":
                return replace(self, extent="DOWNSTREAM")
            case _:
                return replace(self, extent="BOTH")


@dataclass(slots=True)
class LineageAnswer:
    """The graph of a question, and of which of its nodes the details were read."""

    graph: "nx.DiGraph"
    roots: tuple[str, ...]
    detailed: set[str] = field(default_factory=set)


async def open_graphs(catalog: "AsyncCatalog") -> "AsyncGraphs":
    """The graph questions of a catalog; their library is imported beside the screen's thread."""

    def load() -> "AsyncGraphs":
        from explorer.graph import AsyncGraphs

        return AsyncGraphs(catalog)

    return await asyncio.to_thread(load)


async def read_answer(catalog: "AsyncCatalog", question: LineageQuery) -> LineageAnswer:
    """The graph of a question. One request a direction, and in a graph of up to a thousand nodes
    one for a hundred of them; in a larger one `complete` asks for what is looked at."""
    graphs = await open_graphs(catalog)
    if question.column is not None:
        return await _read_columns(catalog, graphs, question)
    root = str(question.urn)
    graph = await graphs.lineage(question.urn, question.extent, hops=question.hops)
    answer = LineageAnswer(graph, (root,))
    if len(graph) <= _READ_WHOLE:
        await read_missing_details(catalog, answer, graph)
    return answer


async def _read_columns(
    catalog: "AsyncCatalog", graphs: "AsyncGraphs", question: LineageQuery
) -> LineageAnswer:
    from explorer.graph import merged

    urn, column, hops = question.urn, question.column, question.hops
    if question.extent == "BOTH":
        upper, lower = await asyncio.gather(
            graphs.columns(urn, column, "UPSTREAM", hops=hops),
            graphs.columns(urn, column, "DOWNSTREAM", hops=hops),
        )
        graph = merged(upper, lower)
    else:
        graph = lower = await graphs.columns(urn, column, question.extent, hops=hops)
    roots = tuple(lower.graph["roots"])
    holders = {said.get("dataset", node): None for node, said in graph.nodes(data=True)}
    known = await catalog.summaries(Urn.parse_all(holders))
    for node, said in graph.nodes(data=True):
        held = known.get(Urn.parse(said.get("dataset", node)))
        if held is not None:
            said["name"] = held.name
    return LineageAnswer(graph, roots, set(graph))


async def read_missing_details(
    catalog: "AsyncCatalog", answer: LineageAnswer, nodes: Collection[str]
) -> None:
    """Read the details of those nodes of which they were not read yet."""
    from explorer.graph.nodes import read_details

    left = [node for node in nodes if node not in answer.detailed and node in answer.graph]
    if left:
        await read_details(catalog, answer.graph, left)
        answer.detailed.update(left)


async def read_paths(
    catalog: "AsyncCatalog", answer: LineageAnswer, source: str, target: str, *, columns: bool
) -> "Paths":
    """All shortest ways of lineage between two nodes, through whatever they lead; those between
    columns as far as the graph goes."""
    from explorer.graph import Paths, shortest_paths

    if not columns:
        graphs = await open_graphs(catalog)
        return await graphs.paths(source, target)
    ways, _ = shortest_paths(answer.graph, source, target)
    if ways:
        return Paths(source, target, "downstream", ways)
    back, _ = shortest_paths(answer.graph, target, source)
    turned = tuple(way[::-1] for way in back)
    return Paths(source, target, "upstream", turned)


def path_edges(paths: "Paths") -> frozenset[Edge]:
    """The edges of ways, each as data flows along it."""
    steps = ((way[at], way[at + 1]) for way in paths.ways for at in range(len(way) - 1))
    turned = paths.direction == "upstream"
    return frozenset((down, up) if turned else (up, down) for up, down in steps)


def filtered_graph(
    answer: LineageAnswer, by: "Filter | None", ways: Collection[Edge], names: Mapping[str, str]
) -> "nx.DiGraph":
    """The graph that is drawn: what passes the filter, what lies between stepped over, with the
    roots and the ways that are shown whatever the filter says."""
    from explorer.graph.nodes import identity
    from explorer.graph.selection import contracted, matches

    graph = answer.graph
    if by is not None:
        kept = {node for node, said in graph.nodes(data=True) if matches(node, said, by)}
        kept |= {node for edge in ways for node in edge if node in graph}
        graph = contracted(graph, kept.union(answer.roots))
    if any(not graph.has_edge(*edge) for edge in ways):
        graph = graph.copy()
        for edge in ways:
            for node in edge:
                if node not in graph:
                    said = dict(answer.graph.nodes[node]) if node in answer.graph else None
                    graph.add_node(node, **(said or identity(node)))
                    if said is None and node in names:
                        graph.nodes[node]["name"] = names[node]
            graph.add_edge(*edge)
    return graph


@dataclass(frozen=True, slots=True)
class LineageView:
    """What of an answer is looked at: which nodes are expanded by how many, what filter it passes,
    which ways are shown in any case with the names of what they meet, and the window's size."""

    expanded: Mapping[str, int]
    narrowed_by: "Filter | None"
    ways: frozenset[Edge]
    names: Mapping[str, str]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LineagePicture:
    """An answer, the part of its graph that passes, and that drawn."""

    answer: LineageAnswer
    graph: "nx.DiGraph"
    drawing: LineageDrawing


async def make_picture(
    catalog: "AsyncCatalog",
    question: LineageQuery,
    known: LineageAnswer | None,
    sight: LineageView,
    previous: LineageDrawing | None,
) -> LineagePicture:
    """Draw a question's answer, `known` or asked for now; see `read_answer` for the requests. What
    was drawn of a known answer before stays in its order."""
    answer = known or await read_answer(catalog, question)
    if sight.narrowed_by is not None:
        # A filter asks for owners, tags and texts of everything.
        await read_missing_details(catalog, answer, answer.graph)
    graph = await asyncio.to_thread(
        filtered_graph, answer, sight.narrowed_by, sight.ways, sight.names
    )
    wanted = {node for edge in sight.ways for node in edge}

    def pick() -> Neighbourhood:
        return choose_nodes(graph, answer.roots, expanded=sight.expanded, wanted=wanted)

    hood = await asyncio.to_thread(pick)
    left = [node for node in hood.nodes if node in answer.graph and node not in answer.detailed]
    if left:
        await read_missing_details(catalog, answer, left)
        hood = await asyncio.to_thread(pick)
    width, height = sight.size
    before = previous if known else None
    drawing = await asyncio.to_thread(draw, hood, width - 2, height, before)
    return LineagePicture(answer, graph, drawing)
