"""Profiles are of the whole table, a sample or a partition; windows of use that overlap count the
same use."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.metadata.measurements import comparable, scope_of, separate_windows, window_millis

HOUR, DAY, WEEK = (window_millis(unit, 1) for unit in ("HOUR", "DAY", "WEEK"))


@pytest.mark.parametrize(
    ("kind", "partition", "scope"),
    [
        (None, None, "table"),
        ("FULL_TABLE", "FULL_TABLE_SNAPSHOT", "table"),
        # Computed from a sample, and said of the table.
        ("FULL_TABLE", "SAMPLE (1,000 rows)", "table"),
        ("QUERY", "SAMPLE 10%", "sample"),
        ("PARTITION", "day=1", "partition"),
        ("QUERY", "select 1", "partition"),
        (None, "day=1", "partition"),
    ],
)
def test_what_a_profile_is_of(kind: str | None, partition: str | None, scope: str) -> None:
    assert scope_of(kind, partition) == scope


def test_profiles_of_different_parts_are_not_compared() -> None:
    def compared(*partitions: str) -> list[str]:
        return comparable(partitions, lambda part: scope_of(None, part or None), str)

    assert compared("day=1", "", "SAMPLE 1%", "") == ["", ""]
    assert compared("day=1", "SAMPLE 1%", "SAMPLE 2%") == ["SAMPLE 1%", "SAMPLE 2%"]
    assert compared("day=1", "day=2", "day=1") == ["day=1", "day=1"]
    assert compared() == []


def test_where_windows_overlap_a_day_counts_before_its_hours_and_its_week() -> None:
    day = (DAY, DAY)
    hours = [(DAY + at * HOUR, HOUR) for at in range(24)]
    next_hours = [(2 * DAY + at * HOUR, HOUR) for at in range(3)]
    week, next_week = (0, WEEK), (WEEK, WEEK)
    windows = [week, day, *hours, *next_hours, next_week, day]
    # Two sources may have counted the same day.
    assert separate_windows(windows, lambda window: window) == [day, *next_hours, next_week, day]


_WINDOWS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from((1, 24, 168))), max_size=12)


@given(_WINDOWS)
def test_no_hour_is_counted_by_windows_of_two_lengths(windows: list[tuple[int, int]]) -> None:
    spans = [(start * HOUR, length * HOUR) for start, length in windows]
    kept = sorted(separate_windows(spans, lambda span: span))
    for (start, length), (next_start, next_length) in pairwise(kept):
        assert length == next_length or start + length <= next_start
    # Nothing is left out without an overlap.
    assert all(
        any(start < other + of and other < start + length for other, of in kept)
        for start, length in spans
    )
