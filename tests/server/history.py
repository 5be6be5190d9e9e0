"""What clients did to one value that services share, and what is wrong about what came of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["read", "accepted", "refused", "unknown"]


@dataclass(frozen=True)
class Operation:
    """One request of a client, and how it ended.

    `marks` are those that the client saw in a read, or had seen when it wrote `mark` after them;
    `None` for a write that replaces whatever is there. Times are of one clock.
    """

    client: int
    began: float
    ended: float
    outcome: Outcome
    marks: tuple[str, ...] | None = None
    mark: str = ""

    def __str__(self) -> str:
        what = f"the {self.outcome} write of {self.mark}" if self.mark else "a read"
        return f"{what} by client {self.client} at {self.began:.1f}"


def violations(history: Iterable[Operation], final: Sequence[str]) -> Iterator[str]:
    """Yield what no order of the operations explains, if `final` are the marks in the order in
    which they were written.

    A write without an answer is there once or not at all, and before what its client wrote later.
    """
    operations = sorted(history, key=lambda one: one.began)
    places = {mark: at for at, mark in enumerate(final)}
    for mark, times in Counter(final).items():
        if times > 1:
            yield f"{mark} was written {times} times"
    for mark in places.keys() - {one.mark for one in operations}:
        yield f"nobody wrote {mark}"
    for one in operations:
        place = places.get(one.mark)
        if one.outcome == "accepted" and place is None:
            yield f"{one} is lost"
        elif one.outcome == "refused" and place is not None:
            yield f"{one} is there"
        if one.marks is None:
            continue
        if tuple(final[: len(one.marks)]) != one.marks:
            yield f"{one} saw what was never there"
        elif place is not None and place != len(one.marks):
            yield f"{one} replaced what its client had not seen"
    yield from _out_of_order(operations, places)


def _out_of_order(operations: list[Operation], places: dict[str, int]) -> Iterator[str]:
    """Yield what comes before something that had ended when it began, and writes that come before
    an earlier one of the same client."""
    ended = sorted(operations, key=lambda one: one.ended)
    furthest, at = -1, 0
    of_client: dict[int, int] = {}
    for one in operations:
        while ended[at].ended < one.began:
            if ended[at].outcome in ("read", "accepted"):
                furthest = max(furthest, _place(ended[at], places))
            at += 1
        place = _place(one, places)
        if one.outcome == "read" and place < furthest:
            yield f"{one} went back from {furthest + 1} marks to {place + 1}"
        if one.mark not in places:
            continue
        before = of_client.get(one.client, -1)
        if place < max(before, furthest if one.outcome == "accepted" else -1):
            yield f"{one} comes before what was there already"
        of_client[one.client] = max(place, before)


def _place(one: Operation, places: dict[str, int]) -> int:
    """Return the place of the last mark that an operation saw or wrote; -1 for none."""
    return places.get(one.mark, -1) if one.mark else len(one.marks or ()) - 1
