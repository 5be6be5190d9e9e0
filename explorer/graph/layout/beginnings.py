"""Orders to begin with, before any crossing is looked at."""

from collections.abc import Sequence

from explorer.graph.layout.mesh import Mesh

__all__ = ["as_given", "from_first", "from_last"]


def as_given(mesh: Mesh) -> list[list[int]]:
    """Nodes as they came, the bends of an edge where its first node is."""
    origin = list(range(len(mesh.layer)))
    for chain in mesh.chains:
        for bend in chain[1:-1]:
            origin[bend] = chain[0]
    return _by_layer(mesh, sorted(range(len(origin)), key=origin.__getitem__))


def from_first(mesh: Mesh) -> list[list[int]]:
    """As met by a walk depth first along the edges."""
    return _by_layer(mesh, _walk(mesh.after, mesh.before))


def from_last(mesh: Mesh) -> list[list[int]]:
    """As met by a walk depth first against the edges."""
    return _by_layer(mesh, _walk(mesh.before, mesh.after))


def _walk(ahead: Sequence[Sequence[int]], behind: Sequence[Sequence[int]]) -> list[int]:
    met: dict[int, None] = {}
    for root in range(len(ahead)):
        stack = [] if behind[root] else [root]
        while stack:
            element = stack.pop()
            if element not in met:
                met[element] = None
                stack.extend(reversed(ahead[element]))
    return list(met)


def _by_layer(mesh: Mesh, elements: Sequence[int]) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(mesh.depth)]
    for element in elements:
        layers[mesh.layer[element]].append(element)
    return layers
