"""Profiles over time: what is read of them, what moved, and that every front end shows the same."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.client.records import Timeseries
from explorer.metadata.urn import Urn
from explorer.tui.screens.timeseries import ColumnTable
from explorer.views.chart import Bars, gaps_in, with_gaps
from explorer.views.table import to_objects
from explorer.views.timeseries import (
    Profiles,
    Usage,
    moves_between,
    profile_table,
    read_profiles,
    row_counts_table,
    usage_of,
    usage_panels,
)

FIRST = datetime(2025, 3, 3, 6, tzinfo=UTC)
URN = Urn.dataset("hive", "shop.measured")


def field(path: str, nulls: float = 0.0, distinct: int = 100, **more: Any) -> dict[str, Any]:
    return {
        "fieldPath": path,
        "nullCount": round(nulls * 1_000),
        "nullProportion": nulls,
        "uniqueCount": distinct,
        "uniqueProportion": distinct / 1_000,
        **more,
    }


def profile(day: int, *fields: dict[str, Any], rows: int = 1_000, **more: Any) -> dict[str, Any]:
    at = FIRST + timedelta(days=day)
    return {
        "timestampMillis": round(at.timestamp() * 1000),
        "rowCount": rows,
        "columnCount": len(fields),
        "fieldProfiles": list(fields),
        **more,
    }


def read(*values: dict[str, Any]) -> Profiles:
    return read_profiles(Timeseries("datasetProfile", 10_000, values))


def test_nulls_that_moved_five_points_in_a_week_are_told() -> None:
    found = read(profile(0, field("zip", 0.01)), profile(7, field("zip", 0.07)))
    assert found.columns[0].drift is not None
    assert found.columns[0].drift.words == "nulls 1.0% → 7.0%"
    assert found.columns[0].drift.since == FIRST


def test_what_moved_less_or_has_no_week_before_it_is_not_told() -> None:
    less = read(profile(0, field("zip", 0.01)), profile(7, field("zip", 0.05)))
    sooner = read(profile(0, field("zip", 0.01)), profile(6, field("zip", 0.5)))
    assert less.columns[0].drift is None
    assert sooner.columns[0].drift is None


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [(5, 6, True), (100, 120, False), (100, 126, True), (100, 70, True), (6, 6, False)],
)
def test_distinct_values_move_by_a_quarter_or_where_they_are_few_by_any(
    before: int, after: int, told: bool
) -> None:
    found = read(
        profile(0, field("zip", distinct=before)), profile(8, field("zip", distinct=after))
    )
    assert (found.columns[0].drift is not None) == told


def test_rows_that_stand_still_are_told_with_the_moment() -> None:
    found = read(*(profile(day, rows=1_000 + min(day, 3)) for day in range(6)))
    assert found.drift is not None
    assert found.drift.words == "rows the same"
    assert found.drift.since == FIRST + timedelta(days=3)
    assert read(*(profile(day) for day in range(6))).drift is None


def test_rows_that_jumped_are_told() -> None:
    found = read(profile(0, rows=1_000), profile(8, rows=1_300))
    assert found.drift is not None
    assert found.drift.words == "rows 1,000 → 1,300"


def test_profiles_of_parts_are_left_out_where_there_are_whole_ones() -> None:
    part = {"type": "PARTITION", "partition": "day=1"}
    both = read(profile(0, rows=5, partitionSpec=part), profile(1, rows=1_000))
    assert both.rows == ((FIRST + timedelta(days=1), 1_000),)
    assert both.parts == 1
    alone = read(profile(0, rows=5, partitionSpec=part))
    assert alone.parts == 0
    assert alone.newest is not None
    assert alone.newest.part == "day=1"
    assert alone.caution == "of day=1 only"
    # Neither is one partition taken for the history of another.
    other = {"type": "PARTITION", "partition": "day=2"}
    sample = {"type": "QUERY", "partition": "SAMPLE 10%"}
    parts = [profile(day, rows=day, partitionSpec=spec) for day, spec in enumerate((part, other))]
    assert [rows for _, rows in read(*parts).rows] == [1]
    sampled = read(profile(2, rows=90, partitionSpec=sample), *parts)
    assert [rows for _, rows in sampled.rows] == [90]
    assert sampled.caution == "of SAMPLE 10% only, 2 profiles of parts left out"
    whole = read(profile(0, rows=1_000), profile(2, rows=90, partitionSpec=sample), *parts)
    assert [rows for _, rows in whole.rows] == [1_000]


def test_every_change_between_two_profiles_is_ranked() -> None:
    found = read(
        profile(0, field("zip", 0.01, mean="10"), field("gone"), rows=1_000),
        profile(9, field("zip", 0.21, mean="11"), field("new"), rows=1_000),
    )
    (_, before), (_, after) = found.measurements
    moves = moves_between(before, after)
    assert [(one.name, one.measure, one.words) for one in moves if one.is_over_threshold] == [
        ("gone", "column", "went"),
        ("new", "column", "came"),
        ("zip", "nulls", "1.0% → 21.0%"),
    ]
    assert [one.score for one in moves if one.measure == "mean"] == [0.4]


def test_a_gap_is_where_measurements_are_missing() -> None:
    days = [FIRST + timedelta(days=at) for at in (0, 1, 2, 6, 7)]
    assert gaps_in(days) == {3}
    assert [value for _, value in with_gaps([(at, 1.0) for at in days])] == [1, 1, 1, None, 1, 1]
    assert gaps_in(days[:1]) == frozenset()


def test_tables_have_the_columns_and_the_profiles() -> None:
    found = read(profile(0, field("zip", 0.01)), profile(7, field("zip", 0.07), sizeInBytes=9))
    (column,) = to_objects(profile_table("t", found))
    assert (column["path"], column["null_proportion"]) == ("zip", 0.07)
    assert (column["measured"], column["moved"]) == (
        "2025-03-10T06:00:00+00:00",
        "nulls 1.0% → 7.0%",
    )
    newest, oldest = to_objects(row_counts_table("t", found))
    assert (newest["size_in_bytes"], oldest["size_in_bytes"]) == (9, None)


def hours_of_use(*hours: tuple[int | None, str]) -> Timeseries:
    """Return the usage in consecutive hours of one day: how many users each had, and which."""
    windows = tuple(
        {
            "timestampMillis": round((FIRST + timedelta(hours=hour)).timestamp() * 1000),
            "totalSqlQueries": 5,
            "uniqueUserCount": users,
            "userCounts": [{"user": f"urn:li:corpuser:{name}", "count": 1} for name in names],
        }
        for hour, (users, names) in enumerate(hours)
    )
    return Timeseries("datasetUsageStatistics", 10, windows)


@pytest.mark.parametrize(
    ("hours", "users"),
    [
        (((3, ""), (2, ""), (None, "")), 3),
        (((2, "ab"), (2, "ab"), (1, "b")), 2),
        (((1, "a"), (1, "b"), (1, "a")), 2),
        (((2, "a"), (4, "b")), 4),
        (((None, ""), (None, "")), None),
    ],
)
def test_users_of_several_windows_of_a_day_are_counted_once(
    hours: tuple[tuple[int | None, str], ...], users: int | None
) -> None:
    (day,) = usage_of(hours_of_use(*hours)).days
    assert (day.day, day.count, day.users) == (FIRST.date(), 5 * len(hours), users)


def test_a_user_who_is_known_by_an_address_alone_is_one_of_the_users() -> None:
    window = {
        "timestampMillis": round(FIRST.timestamp() * 1000),
        "totalSqlQueries": 5,
        "userCounts": [
            {"user": "urn:li:corpuser:jo", "count": 2},
            {"userEmail": "ann@example.org", "count": 3},
        ],
    }
    found = usage_of(Timeseries("datasetUsageStatistics", 10, (window,)))
    assert found.users == (("ann@example.org", 3), ("urn:li:corpuser:jo", 2))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """A catalog with a dataset that was profiled twice."""
    with Catalog(data_dir=data_dir) as found:
        found.put(URN, "status", {"removed": False})
        for day, nulls in ((0, 0.01), (8, 0.0725)):
            value = profile(
                day,
                field("zip", nulls, distinct=90, min="10115", max="99998", mean="51000.5"),
                rows=1_200,
                sizeInBytes=2_500_000,
            )
            found.put(URN, "datasetProfile", value)
        yield found


def test_every_front_end_shows_the_same_numbers(catalog: Catalog, data_dir: Path) -> None:
    command = (sys.executable, "-m", "explorer.cli", "profile-stats", str(URN))
    environment = os.environ | {"COLUMNS": "160"}

    def shell(*more: str) -> str:
        words = (*command, *more, "--data-dir", str(data_dir))
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    found = catalog.entity(URN).profile(days=None)
    columns = read_profiles(found.window.series).columns
    pages = {
        "terminal": ColumnTable(columns).draw(columns[0], 120).plain,
        "notebook": repr(found),
        "shell": shell(),
    }
    for front_end, page in pages.items():
        words = ("zip", "7.2%", "90", "10115", "99998")
        assert [word for word in words if word not in page] == [], front_end
    whole = json.loads(shell("--json"))
    assert (whole["rows"], whole["size_bytes"]) == (1_200, 2_500_000)
    assert whole["columns"][0]["null_proportion"] == 0.0725


def test_a_user_of_whom_nothing_is_known_is_called_unknown() -> None:
    (users,) = usage_panels(Usage("queries", (), (("", 3),), (), (), None), {})
    assert isinstance(users, Bars)
    assert [(bar.name, bar.value) for bar in users.bars] == [("unknown", 3)]
