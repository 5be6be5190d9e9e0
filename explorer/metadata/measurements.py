"""The coverage of measurements: how much of a table a profile covers, and which windows of usage
overlap."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeVar

Scope = Literal["table", "sample", "partition"]
"""The scope of a profile, the part of a table that it covers; the widest scope is the first."""

_SCOPES: Final[tuple[Scope, ...]] = ("table", "sample", "partition")
_DAY_MILLIS: Final = 86_400_000
_UNIT_MILLIS: Final = {
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": _DAY_MILLIS,
    "WEEK": 7 * _DAY_MILLIS,
    "MONTH": 30 * _DAY_MILLIS,
    "QUARTER": 91 * _DAY_MILLIS,
    "YEAR": 365 * _DAY_MILLIS,
}
_T = TypeVar("_T")


def scope_of(kind: str | None, partition: str | None) -> Scope:
    """Return the scope of a profile, by the type and the text of its `partitionSpec`.

    Without a `partitionSpec`, or with the type FULL_TABLE, it covers the table, whatever the text:
    a sample was then only used to compute the profile.
    """
    if kind == "FULL_TABLE" or partition is None or partition.startswith("FULL_TABLE"):
        return "table"
    return "sample" if partition.startswith("SAMPLE") else "partition"


def comparable(
    profiles: Sequence[_T], scope: Callable[[_T], Scope], part: Callable[[_T], str]
) -> list[_T]:
    """Return the profiles that cover the same data: those of the whole table; if there are none,
    those of samples; else those of the partition of the last profile."""
    for wide in _SCOPES:
        chosen = [profile for profile in profiles if scope(profile) == wide]
        if chosen and wide == "partition":
            return [profile for profile in chosen if part(profile) == part(chosen[-1])]
        if chosen:
            return chosen
    return []


def window_millis(unit: str | None, multiple: int | None) -> int:
    """Return the length of a usage window in milliseconds, from the unit and multiple of its
    `eventGranularity`; a day if it has none."""
    return _UNIT_MILLIS.get(unit or "DAY", _DAY_MILLIS) * max(multiple or 1, 1)


def separate_windows(windows: Iterable[_T], span: Callable[[_T], tuple[int, int]]) -> list[_T]:
    """Return the windows of usage that can be added up, in their order.

    `span` returns the start and the length of a window in milliseconds. Overlapping windows of
    different lengths count the same queries, so only one of them is kept: a day first, then the
    longest one below a day, then the shortest above.
    """
    listed = list(windows)
    spans = [span(window) for window in listed]
    lengths = sorted({length for _, length in spans}, key=_rank)
    if len(lengths) < 2:
        return listed
    kept: set[int] = set()
    covered: list[tuple[int, int]] = []
    for length in lengths:
        uncovered = [
            at
            for at, (start, own_length) in enumerate(spans)
            if own_length == length and not _overlaps(covered, start, start + length)
        ]
        kept.update(uncovered)
        covered = _merge([*covered, *((spans[at][0], spans[at][0] + length) for at in uncovered)])
    return [window for at, window in enumerate(listed) if at in kept]


def _rank(length: int) -> tuple[int, int]:
    if length == _DAY_MILLIS:
        return 0, 0
    return (1, -length) if length < _DAY_MILLIS else (2, length)


def _overlaps(covered: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether a span overlaps any of the covered ones, which are sorted and disjoint."""
    after = bisect_left(covered, (end, end))
    return after > 0 and covered[after - 1][1] > start


def _merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
