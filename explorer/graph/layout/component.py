"""One connected component, drawn: layers, order, places, lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.graph.layout.bearings import Bearings, Extent
from explorer.graph.layout.cycles import Pair, turn_back_edges
from explorer.graph.layout.mesh import Mesh, make_mesh
from explorer.graph.layout.ordering import order_layers
from explorer.graph.layout.placing import place_across
from explorer.graph.layout.ranking import assign_layers
from explorer.graph.layout.records import Point, Size, Spacing
from explorer.graph.layout.routing import draw_freely, draw_loops, draw_on_grid

__all__ = ["Drawing", "draw_component"]

_PORT_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Drawing:
    """A component inside 0, `top` and `along`, `top` + `across`.

    corners    of each node
    ranks      layer of each node and its place in it
    lines      the points of each edge, from its source to its target
    reversed   the edges that lead against the direction
    """

    along: float
    across: float
    top: float
    corners: list[Point]
    ranks: list[tuple[int, int]]
    lines: list[list[Point]]
    reversed: list[bool]
    crossings: int


def draw_component(
    sizes: Sequence[Size],
    edges: Sequence[Pair],
    spacing: Spacing,
    *,
    grid: bool,
    kept: Sequence[int | None],
    effort: int | None,
) -> Drawing:
    """Draw a connected component; sizes are along and across, edges any, kept as in ordering."""
    turned = turn_back_edges(len(sizes), edges)
    # Edges of the same two nodes, whichever way they lead, are one chain of the mesh.
    strands: dict[Pair, list[int]] = {}
    loops: dict[int, list[int]] = {}
    for number, (source, target) in enumerate(edges):
        if source == target:
            loops.setdefault(source, []).append(number)
        else:
            pair = (target, source) if turned[number] else (source, target)
            strands.setdefault(pair, []).append(number)
    pairs = list(strands)
    layers = assign_layers(len(sizes), pairs)
    lanes = [any(turned[one] for one in strand) for strand in strands.values()]
    mesh = make_mesh(layers, pairs, lanes if grid else None)
    order, crossings = order_layers(mesh, [*kept, *[None] * (len(mesh.layer) - len(kept))], effort)
    extents = [
        _extent(size, len(loops.get(node, ())), spacing, grid) for node, size in enumerate(sizes)
    ]
    shifts = [
        _spread(len(strand), min(sizes[first][1], sizes[last][1]), spacing)
        for (first, last), strand in strands.items()
    ]
    bearings = _bear(mesh, order, extents, shifts, spacing, grid)
    if grid:
        starts, chains = draw_on_grid(bearings, int(spacing.layer), shifts)
    else:
        starts, chains = draw_freely(bearings, spacing.layer, shifts)
    lines: list[list[Point]] = [[] for _ in edges]
    for strand, drawn in zip(strands.values(), chains, strict=True):
        for number, line in zip(strand, drawn, strict=True):
            lines[number] = line[::-1] if turned[number] else line
    for node, numbers in loops.items():
        drawn = draw_loops(bearings, node, starts[mesh.layer[node]], whole=grid)
        for at, number in enumerate(numbers):
            lines[number] = drawn[min(at, len(drawn) - 1)]
    corners: list[Point] = [
        (starts[mesh.layer[node]], bearings.places[node] - extent.port)
        for node, extent in enumerate(extents)
    ]
    # Lines may lead above the first box or below the last.
    ways = [along for line in lines for along, _ in line]
    rows = [across for line in lines for _, across in line]
    cell = 1 if grid else 0
    sides = list(zip(corners, sizes, strict=True))
    top = min([across for _, across in corners] + rows)
    bottom = max([across + size[1] for (_, across), size in sides] + [max(rows) + cell])
    end = max([along + size[0] for (along, _), size in sides] + [max(ways) + cell])
    ranks = {node: (at, 0) for node, at in enumerate(layers)}
    for at, layer in enumerate(order):
        nodes = [element for element in layer if element < mesh.nodes]
        ranks.update((node, (at, place)) for place, node in enumerate(nodes))
    return Drawing(
        end,
        bottom - top,
        top,
        corners,
        [ranks[node] for node in range(mesh.nodes)],
        lines,
        turned,
        crossings,
    )


def _extent(size: Size, loops: int, spacing: Spacing, grid: bool) -> Extent:
    along, across = size
    if grid:
        return Extent(along, across, (across - 1) // 2, min(loops, 1), 1)
    return Extent(along, across, across / 2, loops, spacing.edge)


def _spread(strands: int, room: float, spacing: Spacing) -> list[float]:
    """How far each of several edges between two nodes lies beside the middle."""
    if strands == 1:
        return [0.0]
    step = min(spacing.edge, room * _PORT_SHARE / strands)
    return [(number - (strands - 1) / 2) * step for number in range(strands)]


def _bear(
    mesh: Mesh,
    order: list[list[int]],
    extents: list[Extent],
    shifts: Sequence[Sequence[float]],
    spacing: Spacing,
    grid: bool,
) -> Bearings:
    """Give every element its place, with room for its box, its loops or its strands."""
    above: list[float] = [extent.port + extent.reach for extent in extents]
    below: list[float] = [extent.across - extent.port for extent in extents]
    bends = len(mesh.layer) - mesh.nodes
    above += [0] * bends
    below += [1 if grid else 0] * bends
    if not grid:
        for chain, beside in zip(mesh.chains, shifts, strict=True):
            for bend in chain[1:-1]:
                above[bend] = below[bend] = beside[-1]
    rooms: list[list[float]] = []
    for layer in order:
        rooms.append([0])
        for one, next_one in pairwise(layer):
            gap = spacing.node if max(one, next_one) < mesh.nodes else spacing.edge
            rooms[-1].append(below[one] + gap + above[next_one])
    thickness: list[float] = [0] * mesh.depth
    for node, extent in enumerate(extents):
        at = mesh.layer[node]
        thickness[at] = max(thickness[at], extent.along + extent.reach)
    places = place_across(mesh, order, rooms, whole=grid)
    return Bearings(mesh, extents, places, order, thickness)
