"""Breaking cycles: which edges are turned so that all of them lead one way."""

from collections.abc import Sequence

__all__ = ["Pair", "turn_back_edges"]

Pair = tuple[int, int]


def turn_back_edges(count: int, pairs: Sequence[Pair]) -> list[bool]:
    """For each pair whether it must be turned, so that the graph has no cycle.

    Depth first from the nodes nothing leads to, in the order given, then from what is left: an
    edge back to a node still being walked closes a cycle and is turned. Loops are left alone.
    O(nodes + pairs), without recursion.
    """
    out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entered = [False] * count
    for number, (source, target) in enumerate(pairs):
        if source != target:
            out[source].append((number, target))
            entered[target] = True
    turned = [False] * len(pairs)
    unseen, walking, left = 0, 1, 2
    state = [unseen] * count
    roots = [node for node in range(count) if not entered[node]]
    roots += [node for node in range(count) if entered[node]]
    for root in roots:
        if state[root] != unseen:
            continue
        state[root] = walking
        stack = [(root, iter(out[root]))]
        while stack:
            node, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                state[node] = left
                stack.pop()
                continue
            number, target = step
            if state[target] == walking:
                turned[number] = True
            elif state[target] == unseen:
                state[target] = walking
                stack.append((target, iter(out[target])))
    return turned
