"""Use and profiles of a dataset, over time and by column, with what cannot be drawn said."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from explorer import Catalog
from explorer.client.records import Timeseries
from explorer.errors import IncompleteFrame, InvalidInput, UnknownName
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.timeseries import ProfileChart, UsageChart, Window

FIRST = 1_772_409_600_000  # 2026-03-02, a Monday
DAY = 86_400_000
V2 = "[version=2.0].[type=struct].[type=string].city"


def test_use_by_column_is_added_up_and_says_how_many_are_left_out(read: Any) -> None:
    shown = use(
        {"totalSqlQueries": 5, "uniqueUserCount": 2, **counts(a=3, b=1)},
        {"totalSqlQueries": 7, "uniqueUserCount": 3, **counts(a=2, c=4)},
    )
    assert list(shown.by_column().df["path"]) == ["a", "c", "b"]
    assert list(shown.by_column().df["uses"]) == [5, 4, 1]
    some = shown.by_column(most=2).figure()
    assert list(some.data[0].x) == [5, 4]
    assert list(some.layout.yaxis.ticktext) == ["a", "c"]
    assert some.layout.annotations[0].text == "Columns, uses · 2 of 3"
    assert len(shown.by_column(most=2).df) == 3
    with pytest.raises(InvalidInput, match="at least 1"):
        shown.by_column(most=0)

    queries, users = shown.figure().data
    assert (list(queries.y), list(users.y)) == ([5, 7], [2, 3])
    assert "12 queries" in shown.figure().layout.title.subtitle.text
    # What a notebook shows has all three.
    assert [trace.name for trace in shown.chart().figure().data] == [
        "queries",
        "users",
        "Columns",
    ]
    assert "queries  7 ▆█" in repr(shown)
    assert read(shown).pictures


def test_users_that_were_not_counted_are_not_nobody(read: Any) -> None:
    shown = use({"totalSqlQueries": 5}, {"totalSqlQueries": 7, "uniqueUserCount": 3})
    assert list(shown.figure().data[1].y) == [None, 3]
    nobody = use({"totalSqlQueries": 5})
    assert "not measured" in repr(nobody)
    assert "at most 0" not in repr(nobody)


def test_nothing_in_that_time_is_said() -> None:
    for shown, words in ((use(), "no usage"), (profiles(), "no profile")):
        assert f"{words} in the last 30 days" in repr(shown)
        assert shown.figure().layout.annotations[-1].text == f"{words} in the last 30 days"
        assert f"{words} in the last 30 days" in shown.svg()
    for shown in (profiles().sizes(), profiles().nulls(), profiles().unique(), use().by_column()):
        assert shown.is_empty
        assert len(shown.df) == 0
        assert " in the last 30 days" in shown.figure().layout.annotations[-1].text
    with pytest.raises(UnknownName, match="no measured column named 'a'"):
        profiles().values("a")


def test_moments_beyond_the_calendar_are_not_drawn() -> None:
    shown = use({"totalSqlQueries": 5}, {"totalSqlQueries": 7, "timestampMillis": 10**17})
    assert list(shown.figure().data[0].y) == [5]
    assert "at an unreadable time" in repr(shown)


def test_sizes_over_time_are_those_that_were_measured(read: Any) -> None:
    shown = profiles(
        {"rowCount": 10, "columnCount": 2, "sizeInBytes": 2000},
        {"rowCount": 12, "columnCount": 3, "sizeInBytes": 2500},
    ).sizes()
    assert [list(trace.y) for trace in shown.figure().data] == [[10, 12], [2, 3], [2000, 2500]]
    assert list(shown.df.columns) == ["rows", "columns", "bytes", "part"]
    assert list(shown.df["bytes"]) == [2000, 2500]
    assert "2.5 kB" in repr(shown)
    assert read(shown).pictures
    rows_only = profiles({"rowCount": 10}, {"rowCount": 12}).sizes()
    assert [trace.name for trace in rows_only.figure().data] == ["rows"]


def test_shares_are_of_the_columns_named_or_of_those_that_matter() -> None:
    shown = profiles(
        {"rowCount": 10, "fieldProfiles": [column(V2, 0.1, 0.5), column("b", 0), column("c", 0.3)]},
        {
            "rowCount": 10,
            "fieldProfiles": [column(V2, 0.2, 0.9), column("b", 0), column("c", None)],
        },
    )
    figure = shown.nulls().figure()
    assert [trace.name for trace in figure.data] == ["c", "city"]
    assert [list(trace.y) for trace in figure.data] == [[0.3, None], [0.1, 0.2]]
    assert figure.layout.yaxis.tickformat == "~%"
    assert figure.layout.annotations[0].text == "share of nulls, 2 of 3 columns"
    assert [trace.name for trace in shown.nulls("b").figure().data] == ["b"]
    assert [trace.name for trace in shown.nulls(V2, "city").figure().data] == ["city"]
    assert list(shown.nulls("city").df["share"]) == [0.1, 0.2]
    assert str(shown.nulls("city").df.index.tz) == "UTC"
    assert next(iter(shown.unique().figure().data)).name == "city"
    with pytest.raises(UnknownName, match="did you mean city"):
        shown.nulls("citi")


def test_a_share_that_was_only_counted_is_worked_out() -> None:
    counted = {"fieldPath": "a", "nullCount": 2, "uniqueCount": 5}
    shown = profiles({"rowCount": 8, "fieldProfiles": [counted]})
    assert list(shown.nulls("a").figure().data[0].y) == [0.25]
    assert list(shown.unique("a").figure().data[0].y) == [0.625]


def test_profiles_of_parts_are_left_out_where_there_are_any_of_the_whole(read: Any) -> None:
    part = {"rowCount": 1, "partitionSpec": {"partition": "day=1", "type": "PARTITION"}}
    shown = profiles({"rowCount": 10}, part, {"rowCount": 12})
    assert list(shown.figure().data[0].y) == [10, 12]
    assert "1 profile of parts left out" in repr(shown)
    assert "1 profile of parts left out" in shown.figure().layout.title.subtitle.text
    assert list(profiles(part).figure().data[0].y) == [1]


def test_values_of_a_column_are_those_measured_last(read: Any) -> None:
    old = {"fieldPath": "a", **values(x=1)}
    new = {"fieldPath": "a", "uniqueCount": 9, **values(rare=2, usual=30, **{"": 5})}
    shown = profiles({"fieldProfiles": [old]}, {"fieldProfiles": [new]}).values("a", most=2)
    assert list(shown.figure().data[0].x) == [30, 5]
    assert list(shown.figure().layout.yaxis.ticktext) == ["usual", "(empty)"]
    assert "2 of 9 values, measured 2026-03-03 00:00 UTC" in repr(shown)
    with pytest.warns(IncompleteFrame, match="Values of a: 3 of 9 values"):
        assert list(shown.df["value"]) == ["usual", "", "rare"]
    nothing = profiles({"fieldProfiles": [column("a", 0)]}).values("a")
    assert "profiling recorded no values of this column" in repr(nothing)


def test_quantiles_and_histograms_are_drawn_where_they_were_measured(cat: Catalog) -> None:
    measured = {
        "fieldPath": "a",
        "quantiles": [{"quantile": "0.25", "value": "-3"}, {"quantile": "0.5", "value": "4.5"}],
        "histogram": {"boundaries": ["0", "10000", "20000"], "heights": [0.25, 0.75]},
    }
    dates = {"fieldPath": "b", "quantiles": [{"quantile": "0.5", "value": "2026-01-01"}]}
    urn = Urn.dataset("hive", "notebook.measured")
    value = {"timestampMillis": FIRST, "rowCount": 4, "fieldProfiles": [measured, dates]}
    cat.ingest(Proposal(urn, "datasetProfile", value))
    shown = cat.dataset(urn).profile(days=None)
    quantiles = shown.quantiles("a")
    assert list(quantiles.figure().data[0].x) == [-3, 4.5]
    assert list(quantiles.figure().layout.yaxis.ticktext) == ["25%", "50%"]
    assert list(quantiles.df["value"]) == ["-3", "4.5"]
    assert "its quantiles are not numbers: 50% 2026-01-01" in repr(shown.quantiles("b"))
    histogram = shown.histogram("a").figure()
    assert list(histogram.data[0].y) == [0.25, 0.75]
    assert list(histogram.layout.xaxis.ticktext) == ["0 – 10 k", "10 k – 20 k"]
    # Heights that add up to 1 are shares.
    assert histogram.layout.yaxis.tickformat == "~%"
    assert "75.0%" in repr(shown.histogram("a"))
    assert "profiling recorded no histogram of this column" in repr(shown.histogram("b"))


def test_drift_is_ranked_by_how_far_over_the_rule(read: Any) -> None:
    shown = profiles(
        {"rowCount": 100, "fieldProfiles": [column("a", 0.1), column("b", 0.1), column("gone", 0)]},
        {"rowCount": 130, "fieldProfiles": [column("a", 0.15), column("b", 0.9), column("new", 0)]},
    ).drift()
    assert [(one.path, one.measure, one.words) for one in shown] == [
        ("b", "nulls", "10.0% → 90.0%"),
        ("gone", "column", "went"),
        ("new", "column", "came"),
        ("", "rows", "100 → 130"),
        ("a", "nulls", "10.0% → 15.0%"),
    ]
    assert shown.columns == ("b", "gone", "new", "a")
    top = shown.df.iloc[0]
    assert (top["path"], top["change"], top["moved"]) == ("b", pytest.approx(0.8), True)
    assert top["relative"] == pytest.approx(8)
    assert shown.df["score"].is_monotonic_decreasing
    assert "5 measures moved" in repr(shown)
    assert "the table" in read(shown).text
    figure = shown.figure()
    assert list(figure.data[0].x) == [10, 10, 10, pytest.approx(1.2), 1]
    assert "10.0% → 90.0%" in figure.data[0].hovertext[0]


def test_drift_counts_as_in_the_terminal() -> None:
    def moved(before: Any, after: Any) -> Any:
        pair = ({"rowCount": 9, "fieldProfiles": [one]} for one in (before, after))
        return [(move.measure, move.words) for move in profiles(*pair).drift()]

    assert moved(distinct(20), distinct(19)) == [("distinct", "20 → 19")]
    assert moved(distinct(400), distinct(401)) == []
    assert moved(distinct(400), distinct(500)) == [("distinct", "400 → 500")]
    assert moved(column("a", 0.1), column("a", 0.1499)) == []
    assert moved(summary(mean="10"), summary(mean="12.5")) == [("mean", "10 → 12.5")]
    assert moved(summary(mean="10"), summary(mean="N/A")) == []
    assert moved(summary(max="2026-01-01"), summary(max="2027-01-01")) == []
    assert moved(summary(median="0"), summary(median="0")) == []
    assert moved(summary(stdev="1"), summary(stdev="2")) == [("stdev", "1 → 2")]


def test_values_that_came_and_went_are_told_where_all_are_counted() -> None:
    def told(before: Any, after: Any, whole: Any) -> Any:
        one = {"fieldPath": "a", "uniqueCount": whole}
        pair = ({**one, **values(**each)} for each in (before, after))
        drift = profiles(*({"fieldProfiles": [each]} for each in pair)).drift()
        return [move.words for move in drift]

    assert told({"x": 98, "y": 2}, {"x": 98, "z": 2}, 2) == [
        "came: z; went: y; 2.0% of the rows have another value"
    ]
    assert told({"x": 98, "y": 2}, {"x": 98, "z": 2}, 5_000) == []
    assert told({"x": 9, "y": 1}, {"x": 8, "y": 2}, 2) == ["10.0% of the rows have another value"]


def test_drift_compares_the_profiles_asked_for(read: Any) -> None:
    shown = profiles(*({"rowCount": 100 + at} for at in range(20)))

    def rows(drift: Any) -> Any:
        return [(one.before, one.after) for one in drift.moves]

    def at(day: Any) -> Any:
        return datetime(2026, 3, 2, tzinfo=UTC) + timedelta(days=day)

    assert rows(shown.drift()) == [(112, 119)]
    assert rows(shown.drift(days=1)) == [(118, 119)]
    assert rows(shown.drift(days=500)) == [(100, 119)]
    assert rows(shown.drift(days=10**9)) == [(100, 119)]
    assert rows(shown.drift(since=at(3.5))) == [(103, 119)]
    assert rows(shown.drift(since=at(-9), until=at(5))) == [(100, 105)]
    assert "2026-03-14 00:00 UTC → 2026-03-21 00:00 UTC" in repr(shown.drift())
    assert "nothing moved" in repr(shown.drift())
    assert shown.drift().figure().layout.annotations[-1].text == "nothing moved"

    alone = profiles({"rowCount": 1}).drift()
    assert len(alone) == len(alone.df) == 0
    assert "there are no two profiles to compare" in read(alone).text
    assert alone.df.dtypes.to_dict() == shown.drift().df.dtypes.to_dict()
    assert rows(shown.drift(since="2026-03-05", until=date(2026, 3, 7))) == [(103, 105)]
    with pytest.raises(InvalidInput, match="'soon' is no time"):
        shown.drift(since="soon")
    with pytest.raises(InvalidInput, match="at least 1"):
        shown.drift(days=0)


def test_the_samples_drift_is_noticed(cat: Catalog) -> None:
    marts = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.{},PROD)"
    customers = cat.dataset(marts.format("dim_customers")).profile().drift()
    assert [(one.path, one.measure) for one in customers] == [("country_code", "nulls")]
    payments = cat.dataset(marts.format("fct_payments")).profile().drift()
    assert payments.columns == ("method",)
    assert any("came: wero" in one.words for one in payments)


def use(*points: Any) -> Any:
    return UsageChart("t", window("datasetUsageStatistics", points))


def profiles(*points: Any) -> Any:
    return ProfileChart("t", window("datasetProfile", points))


def window(aspect: Any, points: Any) -> Any:
    stamped = tuple({"timestampMillis": FIRST + DAY * at, **one} for at, one in enumerate(points))
    return Window(Timeseries(aspect, 10_000, stamped), 30)


def counts(**columns: Any) -> Any:
    return {"fieldCounts": [{"fieldPath": path, "count": many} for path, many in columns.items()]}


def column(path: Any, nulls: Any, unique: Any = None) -> Any:
    shares = {"nullProportion": nulls, "uniqueProportion": unique}
    return {"fieldPath": path} | {name: one for name, one in shares.items() if one is not None}


def distinct(count: Any) -> Any:
    return {"fieldPath": "a", "uniqueCount": count}


def summary(**told: Any) -> Any:
    return {"fieldPath": "a", **told}


def values(**counted: Any) -> Any:
    listed = [{"value": value, "frequency": many} for value, many in counted.items()]
    return {"distinctValueFrequencies": listed}
