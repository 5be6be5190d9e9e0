"""Thirty days of usage and profiles, and what drifts in them."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from explorer.metadata import Urn
from explorer.sample import sample_proposals


def _mart(name: str) -> str:
    return str(Urn.dataset("snowflake", f"analytics.marts.{name}"))


ORDERS = _mart("fct_orders")


@pytest.fixture(scope="module")
def usage(series: Any) -> Any:
    return series("datasetUsageStatistics")


@pytest.fixture(scope="module")
def profiles(series: Any) -> Any:
    return series("datasetProfile")


def _day(value: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(value["timestampMillis"] / 1000, UTC)


def _field(profile: dict[str, Any], path: str) -> Any:
    (found,) = [one for one in profile["fieldProfiles"] if one["fieldPath"] == path]
    return found


def test_usage_covers_thirty_days_that_end_on_the_day_given(usage: Any, today: date) -> None:
    expected = {today - timedelta(days=ago) for ago in range(30)}
    seen = {_day(value) for days in usage.values() for value in days}
    assert {day.date() for day in seen} == expected
    assert all((day.hour, day.minute, day.second) == (0, 0, 0) for day in seen)
    assert [_day(value).date() for value in usage[ORDERS]] == sorted(expected)


def test_usage_adds_up_and_names_columns_of_the_schema(
    usage: Any, latest: dict[str, dict[str, Any]]
) -> None:
    for urn, days in usage.items():
        paths = {field["fieldPath"] for field in latest[urn]["schemaMetadata"]["fields"]}
        for day in days:
            assert day["eventGranularity"] == {"unit": "DAY", "multiple": 1}
            assert sum(entry["count"] for entry in day["userCounts"]) == day["totalSqlQueries"]
            assert len(day["userCounts"]) == day["uniqueUserCount"]
            assert {entry["fieldPath"] for entry in day["fieldCounts"]} <= paths
            assert all(0 < e["count"] <= day["totalSqlQueries"] for e in day["fieldCounts"])


def test_few_tables_get_most_of_the_queries(usage: Any) -> None:
    totals = sorted(
        (sum(day["totalSqlQueries"] for day in days) for days in usage.values()), reverse=True
    )
    assert len(totals) > 80
    assert sum(day["totalSqlQueries"] for day in usage[ORDERS]) == totals[0]
    assert totals[0] > 1000
    assert sum(totals[:10]) > 0.4 * sum(totals)
    assert totals[-1] < totals[0] / 20


def test_weekends_are_quiet(usage: Any) -> None:
    counts: dict[bool, list[int]] = {True: [], False: []}
    for day in usage[ORDERS]:
        counts[_day(day).weekday() >= 5].append(day["totalSqlQueries"])
    assert max(counts[True]) < min(counts[False])


def test_profiles_come_daily_for_the_important_tables(profiles: Any, today: date) -> None:
    assert 20 <= len(profiles) <= 30
    for days in profiles.values():
        assert [_day(day).date() for day in days] == [
            today - timedelta(days=ago) for ago in range(29, -1, -1)
        ]


def test_the_numbers_of_a_profile_agree_with_each_other(profiles: Any) -> None:
    for days in profiles.values():
        for day in days:
            rows = day["rowCount"]
            for field in day["fieldProfiles"]:
                filled = rows - field["nullCount"]
                assert 0 <= field["nullCount"] <= rows
                assert field["nullProportion"] == pytest.approx(field["nullCount"] / rows, abs=1e-8)
                assert field["uniqueCount"] <= filled
                frequencies = field.get("distinctValueFrequencies")
                if frequencies is not None:
                    assert sum(one["frequency"] for one in frequencies) == filled
                    assert len(frequencies) == field["uniqueCount"]
                if "mean" in field:
                    assert float(field["min"]) <= float(field["mean"]) <= float(field["max"])
                    assert float(field["min"]) <= float(field["median"]) <= float(field["max"])
                elif "min" in field:
                    assert field["min"] <= field["max"]


def test_tables_grow_from_day_to_day(profiles: Any) -> None:
    rows = [day["rowCount"] for day in profiles[ORDERS]]
    assert all(before < after for before, after in pairwise(rows))
    assert 60_000 < rows[-1] - rows[0] < 110_000


def test_a_share_of_empty_values_starts_to_climb_nine_days_ago(profiles: Any) -> None:
    shares = [
        _field(day, "country_code")["nullProportion"] for day in profiles[_mart("dim_customers")]
    ]
    calm, climb = shares[:20], shares[19:]
    assert max(calm) - min(calm) < 0.001
    assert all(after > before + 0.005 for before, after in pairwise(climb))
    assert shares[-1] > 0.1


def test_one_table_gets_no_row_since_four_days(profiles: Any) -> None:
    rows = [day["rowCount"] for day in profiles[_mart("fct_shipments")]]
    assert len(set(rows[-5:])) == 1
    assert all(before < after for before, after in pairwise(rows[:-4]))
    latest = [_field(day, "delivered_at")["max"] for day in profiles[_mart("fct_shipments")]]
    assert len(set(latest[-5:])) == 1


def test_a_profile_is_of_the_day_that_has_just_ended_and_has_no_later_value(profiles: Any) -> None:
    planned = {"promised_on", "next_arrival_on"}
    for urn, days in profiles.items():
        for profile in days:
            ended = str(_day(profile).date() - timedelta(days=1))
            for field in profile["fieldProfiles"]:
                if "max" not in field or "mean" in field:
                    continue
                samples = [sample[:10] for sample in field.get("sampleValues", ())]
                last = max((field["max"][:10], *samples))
                assert last == field["max"][:10], (urn, field)
                assert last <= ended or field["fieldPath"] in planned, (urn, field)
    for profile in profiles[ORDERS]:
        ended = str(_day(profile).date() - timedelta(days=1))
        assert _field(profile, "ordered_on")["max"] == ended
        assert _field(profile, "ordered_at")["max"].startswith(ended)


def test_a_value_appears_that_was_not_there_before(profiles: Any) -> None:
    counts = []
    for day in profiles[_mart("fct_payments")]:
        frequencies = _field(day, "method")["distinctValueFrequencies"]
        counts.append({one["value"]: one["frequency"] for one in frequencies}.get("wero", 0))
    assert counts[:23] == [0] * 23
    assert all(before < after for before, after in pairwise(counts[22:]))


def test_samples_name_no_person(profiles: Any, latest: dict[str, dict[str, Any]]) -> None:
    for urn, days in profiles.items():
        tagged = {
            field["fieldPath"]
            for field in latest[urn]["schemaMetadata"]["fields"]
            if {"tag": "urn:li:tag:PII"} in field.get("globalTags", {}).get("tags", ())
        }
        for field in days[-1]["fieldProfiles"]:
            if field["fieldPath"] in tagged:
                assert all("example" in text for text in field.get("sampleValues", ()))


def test_what_is_used_more_is_so_on_every_day_of_the_week(today: date) -> None:
    """Search puts what was used more in 30 days first: in the same order, every day."""

    def queries(day: Any) -> Any:
        proposals = sample_proposals(day)
        usage = (one for one in proposals if one.aspect == "datasetUsageStatistics")
        found: Counter[str] = Counter()
        for one in usage:
            found[str(one.urn)] += one.value["totalSqlQueries"]
        return found

    first, *others = (queries(today + timedelta(days=ahead)) for ahead in range(7))
    assert all(first == other for other in others)


def test_what_moved_in_the_profiles_has_moved_on_every_day_of_the_week(today: date) -> None:
    def shares(day: Any) -> Any:
        return [
            (str(one.urn), field["fieldPath"], field["nullProportion"], field.get("mean"))
            for one in sample_proposals(day)
            if one.aspect == "datasetProfile"
            for field in one.value["fieldProfiles"]
        ]

    first, *others = (shares(today + timedelta(days=ahead)) for ahead in range(0, 7, 2))
    for other in others:
        for (*known, nulls, mean), (*column, share, average) in zip(first, other, strict=True):
            assert (column, average) == (known, mean)
            assert share == pytest.approx(nulls, abs=0.0005)
