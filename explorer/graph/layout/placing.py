"""Where elements stand across their layers: straight edges, and room between the boxes."""

from collections.abc import Sequence

from explorer.graph.layout.mesh import Mesh

__all__ = ["place_across"]

_ROUNDS = 6


def place_across(
    mesh: Mesh,
    layers: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[float]],
    whole: bool = False,
) -> list[float]:
    """The place of each element across its layer, where its edges begin and end.

    `rooms[layer][n]` is the least distance of element n of the layer from the one before; the first
    has none. What is made small is the sum of how far edges climb, those between bends weighing
    most: layer by layer exactly, over a few rounds there and back, the best round kept. With
    `whole`, all places are whole numbers if the rooms are. O(edges * log edges) a round.
    """
    places: list[float] = [0] * len(mesh.layer)
    for layer, room in zip(layers, rooms, strict=True):
        stand: float = 0
        for element, apart in zip(layer, room, strict=True):
            stand += apart
            places[element] = stand
    before = _weighted(mesh, mesh.before)
    after = _weighted(mesh, mesh.after)
    both = [near + far for near, far in zip(before, after, strict=True)]
    best = list(places)
    least = _climb(before, places)
    there = range(1, len(layers))
    back = range(len(layers) - 2, -1, -1)
    for turn in range(_ROUNDS):
        links = (before, after) if turn < _ROUNDS - 2 else (both, both)
        if turn == _ROUNDS - 2:
            places = list(best)
        for at in there:
            _fit(layers[at], rooms[at], links[0], places, whole)
        for at in back:
            _fit(layers[at], rooms[at], links[1], places, whole)
        climb = _climb(before, places)
        if climb < least:
            best, least = list(places), climb
    return best


def _weighted(mesh: Mesh, links: Sequence[Sequence[int]]) -> list[list[int]]:
    """Each neighbour as often as its edge weighs: 1 between nodes, 4 between bends."""
    nodes = mesh.nodes
    return [
        [
            other
            for other in near
            for _ in range((1 if element < nodes else 2) * (1 if other < nodes else 2))
        ]
        for element, near in enumerate(links)
    ]


def _climb(before: Sequence[Sequence[int]], places: Sequence[float]) -> float:
    return sum(
        abs(places[element] - places[other])
        for element, near in enumerate(before)
        for other in near
    )


def _fit(
    layer: Sequence[int],
    room: Sequence[float],
    links: Sequence[Sequence[int]],
    places: list[float],
    whole: bool,
) -> None:
    """Move one layer to where its edges climb least, in its order and with its room.

    An isotonic regression: elements that would come too near each other are pooled into a block,
    and a block stands at the median of what its members wish for.
    """
    wishes: list[list[float]] = []
    stands: list[float] = []
    sizes: list[int] = []
    offset: float = 0
    for element, apart in zip(layer, room, strict=True):
        offset += apart
        near = links[element]
        wish = sorted([places[other] - offset for other in near]) or [places[element] - offset]
        stand = _median(wish, whole)
        size = 1
        while stands and stands[-1] > stand:
            wish = sorted(wishes.pop() + wish)
            stands.pop()
            size += sizes.pop()
            stand = _median(wish, whole)
        wishes.append(wish)
        stands.append(stand)
        sizes.append(size)
    offset = 0
    at = 0
    for stand, size in zip(stands, sizes, strict=True):
        for _ in range(size):
            offset += room[at]
            places[layer[at]] = stand + offset
            at += 1


def _median(values: Sequence[float], whole: bool) -> float:
    half = len(values) // 2
    middle = values[half] + values[~half]
    return middle // 2 if whole else middle / 2
