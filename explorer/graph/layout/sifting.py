"""Sifting: single elements moved past others of their layer while that takes crossings away."""

from bisect import bisect_left, bisect_right

from explorer.graph.layout.arrangement import Arrangement

__all__ = ["sift"]

_ROUNDS = 30
# How far an element is tried from where it stands, and the loss, in multiples of its edges, after
# which going on is given up: both were chosen where more no longer paid.
_REACH = 12
_LOSS = 3


def sift(arrangement: Arrangement) -> int:
    """Move elements both ways until no move helps or the effort is spent. The crossings left."""
    last = arrangement.mesh.depth - 1
    waiting = set(range(last + 1))
    for turn in range(_ROUNDS):
        if not waiting or arrangement.effort <= 0:
            break
        for at in sorted(waiting, reverse=turn % 2 == 1):
            if at not in waiting:
                continue
            waiting.discard(at)
            if _sift_layer(arrangement, arrangement.layers[at]):
                waiting.update(near for near in (at - 1, at + 1) if 0 <= near <= last)
    return arrangement.count()


def _sift_layer(arrangement: Arrangement, layer: list[int]) -> bool:
    size = len(layer)
    if size == 1:
        return False
    places, kept = arrangement.places, arrangement.kept
    before, after = arrangement.mesh.before, arrangement.mesh.after
    left = {element: sorted([places[one] for one in before[element]]) for element in layer}
    right = {element: sorted([places[one] for one in after[element]]) for element in layer}
    looked = size
    moved = False
    for element in list(layer):
        at = goal = places[element]
        mine_left, mine_right = left[element], right[element]
        fixed = kept[element] is not None
        best = 0
        worst = -_LOSS * (len(mine_left) + len(mine_right))
        for step, end in ((-1, max(-1, at - _REACH - 1)), (1, min(size, at + _REACH + 1))):
            gain = 0
            for other in range(at + step, end, step):
                passed = layer[other]
                if fixed and kept[passed] is not None:
                    break
                looked += 1
                theirs = left[passed]
                if mine_left and theirs:
                    gain += _gain(mine_left, theirs) if step > 0 else _gain(theirs, mine_left)
                theirs = right[passed]
                if mine_right and theirs:
                    gain += _gain(mine_right, theirs) if step > 0 else _gain(theirs, mine_right)
                if gain > best:
                    best, goal = gain, other
                elif gain < worst:
                    break
        if goal != at:
            moved = True
            del layer[at]
            layer.insert(goal, element)
            for where in range(min(at, goal), max(at, goal) + 1):
                places[layer[where]] = where
    arrangement.effort -= 2 * looked
    return moved


def _gain(first: list[int], second: list[int]) -> int:
    """How many crossings go when the element before, with edges to `first`, steps behind."""
    if first[-1] < second[0]:
        return -len(first) * len(second)
    if first[0] > second[-1]:
        return len(first) * len(second)
    # Mostly one of them has a single edge, which is looked up among those of the other.
    size = len(second)
    if len(first) == 1:
        return bisect_left(second, first[0]) + bisect_right(second, first[0]) - size
    if size == 1:
        return len(first) - bisect_left(first, second[0]) - bisect_right(first, second[0])
    return sum([bisect_left(second, end) + bisect_right(second, end) - size for end in first])
