"""Charts show what was measured, and leave blank what was not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from explorer.tui.widgets.charts import Plot, Point, bar_lines, bar_text, braille_lines, sparkline

FIRST = datetime(2025, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def plot(form: Any, values: Any, **more: Any) -> Any:
    """A plot of a value a day; nothing stands where there is none."""
    points = tuple(Point(FIRST + at * DAY, value) for at, value in enumerate(values) if value)
    return Plot(form, points, FIRST, FIRST + (len(values) - 1) * DAY, "{:.0f}".format, **more)


def test_a_bar_fills_by_halves_and_what_is_not_nothing_is_seen() -> None:
    assert bar_text(1, 4) == "━━━━"
    assert bar_text(0.5, 3) == "━╸ "
    assert bar_text(0.00001, 4) == "╸   "
    assert bar_text(0, 4) == "    "
    assert bar_text(7, 2) == "━━"


def test_bars_tell_a_measured_nothing_from_what_was_not_measured() -> None:
    assert bar_lines([8, 0, None, 4], 4, 1, 8) == ["█▁ ▄"]


def test_bars_grow_over_the_lines_from_the_bottom() -> None:
    assert bar_lines([16, 8, 12], 3, 2, 16) == ["█ ▄", "███"]


def test_more_days_than_cells_show_the_greatest_of_each_cell() -> None:
    assert bar_lines([1, 8, 2, 4], 2, 1, 8) == ["█▄"]


def test_a_sparkline_keeps_gaps_and_is_as_wide_as_asked() -> None:
    assert sparkline([0, None, 8], 5) == "  ▁ █"
    assert sparkline([1, 8, None, None], 2) == "█ "
    assert sparkline([0.01], 1, 0.1) == "▁"
    assert sparkline([], 3) == "   "


def test_a_line_goes_from_corner_to_corner() -> None:
    assert braille_lines([(0, 0), (1, 1)], frozenset(), 2, 1) == ["⡠⠊"]


def test_a_line_is_broken_where_it_should_be() -> None:
    whole = braille_lines([(0, 0), (1, 0)], frozenset(), 4, 1)
    broken = braille_lines([(0, 0), (1, 0)], frozenset({1}), 4, 1)
    assert whole == ["⣀⣀⣀⣀"]
    assert broken == ["⡀  ⢀"]


def test_a_steep_line_has_no_holes() -> None:
    drawn = braille_lines([(0, 0), (0.5, 1), (1, 0)], frozenset(), 2, 6)
    assert all(row.strip() for row in drawn)


def test_ten_thousand_points_keep_their_least_and_their_greatest() -> None:
    places = [(at / 9_999, 0.5) for at in range(10_000)]
    places[5_000] = (places[5_000][0], 1.0)
    places[5_001] = (places[5_001][0], 0.0)
    drawn = braille_lines(places, frozenset(), 40, 5)
    assert drawn[0].strip()
    assert drawn[-1].strip()


def test_bars_begin_at_nothing_and_lines_at_their_least() -> None:
    assert plot("bars", [90, 100]).span == (0, 100)
    assert plot("line", [90, 100]).span == (90, 100)
    assert plot("line", [90, 100], from_nothing=True).span == (0, 100)


def test_what_hardly_moves_is_not_drawn_as_mountains() -> None:
    low, high = plot("line", [1_000_000, 1_000_010]).span
    assert high - low == pytest.approx(0.005 * 1_000_010)


@pytest.mark.parametrize(
    ("days", "width", "names"),
    [
        (5, 60, ["Mar 1", "Mar 2", "Mar 3", "Mar 4"]),
        (30, 60, ["Mar 3", "Mar 10", "Mar 17", "Mar 24"]),
        (365, 60, ["Mar 2025", "May 2025", "Jul 2025", "Sep 2025", "Nov 2025", "Jan 2026"]),
    ],
)
def test_the_axis_names_days_mondays_or_months(days: int, width: int, names: Any) -> None:
    assert [name for _, name in plot("line", [1] * days).ticks(width)] == names


def test_names_on_the_axis_never_touch() -> None:
    for days in (3, 9, 14, 40, 100, 400, 4_000, 9_000):
        for width in (10, 33, 80, 170):
            for form in ("line", "bars"):
                ends = 0
                for cell, name in plot(form, [1] * days).ticks(width):
                    assert cell >= ends
                    ends = cell + len(name) + 1
                assert ends - 1 <= width


def test_a_time_of_millennia_is_drawn_too() -> None:
    far = datetime(9_000, 1, 1, tzinfo=UTC)
    for form in ("bars", "line"):
        names = [name for _, name in Plot(form, (), FIRST, far, str).ticks(80)]
        assert names[0] == "2026"
        assert len(names) <= 10
