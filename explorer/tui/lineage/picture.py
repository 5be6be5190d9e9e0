"""From a question to a drawing: what is asked of the catalog, chosen and laid out, beside the
thread of the screen."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.tui.lineage.drawing import Drawing, draw
from explorer.tui.lineage.neighbourhood import Edge, Neighbourhood, choose
from explorer.tui.lineage.reading import Answer, Question, complete, narrowed, read_answer

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.query.filters import Filter

__all__ = ["Picture", "Sight", "make_picture"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What of an answer is looked at: which nodes are expanded by how many, what filter it passes,
    which ways are shown in any case with the names of what they meet, and the window's size."""

    expanded: Mapping[str, int]
    narrowed_by: "Filter | None"
    ways: frozenset[Edge]
    names: Mapping[str, str]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Picture:
    """An answer, the part of its graph that passes, and that drawn."""

    answer: Answer
    graph: "nx.DiGraph"
    drawing: Drawing


async def make_picture(
    catalog: "AsyncCatalog",
    question: Question,
    known: Answer | None,
    sight: Sight,
    previous: Drawing | None,
) -> Picture:
    """Draw a question's answer, `known` or asked for now; see `read_answer` for the requests. What
    was drawn of a known answer before stays in its order."""
    answer = known or await read_answer(catalog, question)
    if sight.narrowed_by is not None:
        # A filter asks for owners, tags and texts of everything.
        await complete(catalog, answer, answer.graph)
    graph = await asyncio.to_thread(narrowed, answer, sight.narrowed_by, sight.ways, sight.names)
    wanted = {node for edge in sight.ways for node in edge}

    def pick() -> Neighbourhood:
        return choose(graph, answer.roots, expanded=sight.expanded, wanted=wanted)

    hood = await asyncio.to_thread(pick)
    left = [node for node in hood.nodes if node in answer.graph and node not in answer.detailed]
    if left:
        await complete(catalog, answer, left)
        hood = await asyncio.to_thread(pick)
    width, height = sight.size
    before = previous if known else None
    drawing = await asyncio.to_thread(draw, hood, width - 2, height, before)
    return Picture(answer, graph, drawing)
