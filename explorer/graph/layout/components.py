"""The parts of a graph that no edge holds together."""

from collections.abc import Sequence

from explorer.graph.layout.cycles import Pair

__all__ = ["split_components"]


def split_components(count: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """The nodes of each component, both nodes and components in the order given."""
    near: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        near[source].append(target)
        near[target].append(source)
    seen = [False] * count
    components: list[list[int]] = []
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = True
        component = [root]
        for node in component:
            for other in near[node]:
                if not seen[other]:
                    seen[other] = True
                    component.append(other)
        components.append(sorted(component))
    return components
