"""Routing in a channel between two layers, on a grid of cells.

Edges that leave one element form a net, and so do those of elements that lead to one and the same
and nowhere else: rows it comes from, rows it goes to, and one column where it changes between them.
One of the two is a single row, so that any two edges of a net have an end in common. Two nets that
would meet in a column get two. A net that leaves a row turns off before another that enters the
same row turns in, so lines of different nets only ever cross. Where nets ask this of each other in
a circle, one of them makes a step on a row of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

__all__ = ["Channel", "Net", "Track", "assign_tracks"]


class Net(NamedTuple):
    """The rows that edges come from, and the rows they lead to: one of either or both."""

    rows: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def bent(self) -> bool:
        """Whether any of its edges changes its row."""
        return self.rows != self.targets

    @property
    def leaving(self) -> tuple[int, ...]:
        """The rows that edges leave in the channel."""
        return self.rows if len(self.rows) == 1 else _without(self.rows, self.targets)

    @property
    def entered(self) -> tuple[int, ...]:
        """The rows that edges enter in the channel."""
        return self.targets if len(self.rows) > 1 else _without(self.targets, self.rows)


def _without(rows: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    return tuple(row for row in rows if row not in others)


class Track(NamedTuple):
    """The columns of a net, from 0. A net with a step changes to row `step`, then to `second`."""

    column: int
    step: int | None = None
    second: int = 0

    def turns(self, row: int, target: int) -> list[tuple[int, int]]:
        """Column and row of each turn of an edge between two rows."""
        if row == target:
            return []
        if self.step is None:
            return [(self.column, row), (self.column, target)]
        return [
            (self.column, row),
            (self.column, self.step),
            (self.second, self.step),
            (self.second, target),
        ]


@dataclass(frozen=True, slots=True)
class Channel:
    """The track of each net, in the order given, and how many columns they take."""

    tracks: tuple[Track, ...]
    columns: int


def assign_tracks(nets: Sequence[Net]) -> Channel:
    """Columns for the nets of one channel; no two come from the same row. O(nets squared)."""
    return _Assignment(nets).run()


class _Assignment:
    """Nets put into columns from the left, each as soon as those it waits for have theirs."""

    def __init__(self, nets: Sequence[Net]) -> None:
        self.left = [net.leaving if net.bent else () for net in nets]
        self.bent = [net.entered if net.bent else () for net in nets]
        rows = {row: number for number, leaving in enumerate(self.left) for row in leaving}
        self.waits = [
            {rows[target] for target in targets if target in rows} for targets in self.bent
        ]
        self.waiters: list[list[int]] = [[] for _ in nets]
        for number, waits in enumerate(self.waits):
            for other in sorted(waits):
                self.waiters[other].append(number)
        self.busy = {row for net in nets for row in (*net.rows, *net.targets)}
        self.columns: list[list[tuple[int, int]]] = []
        self.first: list[int | None] = [None] * len(nets)
        self.steps: dict[int, int] = {}
        self.second: dict[int, int] = {}

    def run(self) -> Channel:
        left = {number for number, bent in enumerate(self.bent) if bent}
        ready = [(self._turn(number), number) for number in left if not self.waits[number]]
        heapify(ready)
        while left:
            while ready:
                number = heappop(ready)[1]
                left.discard(number)
                if number in self.steps:
                    self._end_step(number)
                    continue
                self.first[number] = self._take(self.left[number], self.bent[number])
                self._release(number, ready)
            if left:
                number = self._find_circle(min(left))
                self._begin_step(number)
                self._release(number, ready)
        tracks = [
            Track(column or 0, self.steps.get(number), self.second.get(number, 0))
            for number, column in enumerate(self.first)
        ]
        return Channel(tuple(tracks), len(self.columns))

    def _turn(self, number: int) -> tuple[bool, int]:
        """Whose turn it is: rising nets from the top, then falling ones from the bottom."""
        rows, targets = self.left[number], self.bent[number]
        falling = sum(targets) * len(rows) > sum(rows) * len(targets)
        return falling, -max(rows) if falling else min(rows)

    def _release(self, number: int, ready: list[tuple[tuple[bool, int], int]]) -> None:
        for waiter in self.waiters[number]:
            self.waits[waiter].discard(number)
            if not self.waits[waiter]:
                heappush(ready, (self._turn(waiter), waiter))

    def _take(self, rows: Sequence[int], targets: Sequence[int]) -> int:
        """The column after the last one in which the rows are taken."""
        low, high = min(*rows, *targets), max(*rows, *targets)
        at = len(self.columns)
        while at and all(
            high < other_low or other_high < low for other_low, other_high in self.columns[at - 1]
        ):
            at -= 1
        if at == len(self.columns):
            self.columns.append([])
        self.columns[at].append((low, high))
        return at

    def _find_circle(self, number: int) -> int:
        """From a net that cannot go on to one that waits for itself; the smallest such one."""
        seen: list[int] = []
        while number not in seen:
            seen.append(number)
            number = min(self.waits[number])
        circle = seen[seen.index(number) :]
        return min(
            circle, key=lambda one: (len(self.left[one]) + len(self.bent[one]), self.left[one])
        )

    def _begin_step(self, number: int) -> None:
        rows, targets = self.left[number], self.bent[number]
        middle = (rows[len(rows) // 2] + targets[len(targets) // 2]) // 2
        step = next(
            free
            for away in range(len(self.busy) + 1)
            for free in (middle + away, middle - away)
            if free not in self.busy
        )
        self.busy.add(step)
        self.steps[number] = step
        self.first[number] = self._take(rows, (step,))

    def _end_step(self, number: int) -> None:
        self.second[number] = self._take((self.steps[number],), self.bent[number])
