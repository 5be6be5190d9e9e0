"""The numbers of coverage are those that counting one by one gives."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.stewardship import (
    Count,
    CoverageTrend,
    DayCount,
    GroupTrend,
    Stewardship,
    cover,
)
from explorer.stewardship.coverage import GROUPINGS, Grouping, keys_of
from explorer.views import stewardship as views
from tests.stewardship.conftest import columns


@pytest.fixture
def steward(either: Any) -> Any:
    return either


def test_tables_and_columns_are_counted_apart_and_by_who_wrote(steward: Any) -> None:
    coverage = steward.coverage()
    assert coverage.tables == Count(total=5, documented=2, edited=1, ingested=1)
    assert coverage.columns == Count(total=11, documented=4, edited=2, ingested=3)
    assert coverage.columns.undocumented == 7
    assert coverage.tables.percent == 40.0
    assert coverage.columns.percent == 36.3


def test_a_text_counts_after_the_type_or_case_of_its_column_changed(
    steward: Any, catalog: Catalog, named: Any
) -> None:
    orders = named("orders")
    before = steward.coverage()
    typed = "[version=2.0].[type=string].city"
    catalog.put(
        orders,
        "schemaMetadata",
        columns(id="The key.", total="", NOTE="", **{typed: "A city."}),
    )
    assert steward.coverage().columns == before.columns
    lacking = [str(item.column) for item in steward.worklist([orders]).items]
    assert lacking == ["total"]
    # Of two columns that are spelled alike nobody can tell which is meant.
    catalog.put(orders, "schemaMetadata", columns(NOTE="", Note="", city="A city."))
    assert {str(item.column) for item in steward.worklist([orders]).items} == {"NOTE", "Note"}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("platform", {"hive": (2, 5, 4, 11)}),
        (
            "owner",
            {
                "urn:li:corpuser:ann": (1, 2, 3, 6),
                "urn:li:corpuser:bob": (1, 1, 3, 4),
                "": (1, 3, 1, 5),
            },
        ),
        ("domain", {"urn:li:domain:sales": (0, 1, 0, 2), "": (2, 4, 4, 9)}),
        ("tag", {"urn:li:tag:PII": (0, 1, 0, 2), "": (2, 4, 4, 9)}),
    ],
)
def test_groups_hold_what_is_theirs_and_those_of_several_count_under_each(
    steward: Any, by: str, expected: Any
) -> None:
    coverage = steward.coverage(by=by)
    found = {
        one.key: (
            one.tables.documented,
            one.tables.total,
            one.columns.documented,
            one.columns.total,
        )
        for one in coverage.groups
    }
    assert found == expected
    lacking = [group.columns.undocumented for group in coverage.groups]
    assert lacking == sorted(lacking, reverse=True)


def test_folders_are_those_that_the_dataset_says(steward: Any) -> None:
    found = {group.key: group.columns.total for group in steward.coverage(by="folder").groups}
    assert found["/in/raw"] == found["/all"] == 2


def test_groups_are_called_by_the_names_that_people_gave(steward: Any) -> None:
    names = {group.key: group.name for group in steward.coverage(by="domain").groups}
    assert names["urn:li:domain:sales"] == "Sales"


def test_a_part_of_the_catalog_can_be_counted_alone(steward: Any, named: Any) -> None:
    assert steward.coverage([named("orders")]).columns == Count(4, 3, 2, 2)
    assert steward.coverage(filter="tags:PII").tables.total == 1
    assert steward.coverage([named("nowhere")]).tables == Count()


def test_a_gate_is_reached_to_the_last_column_and_never_by_rounding() -> None:
    almost, whole = Count(total=100_000, documented=99_999), Count(total=3, documented=3)
    assert almost.percent == 99.9
    assert not almost.reaches(100)
    assert almost.reaches(99.999)
    assert whole.percent == 100.0
    assert whole.reaches(100)
    assert Count(total=3, documented=2).reaches(66.6)
    assert not Count(total=3, documented=2).reaches(66.7)


def test_over_a_whole_sample_the_numbers_are_those_of_counting_one_by_one(sample: Any) -> None:
    steward, catalog = Stewardship(sample), sample
    urns = list(catalog.urns("dataset"))
    entities = list(catalog.entities(urns).values())
    tables = [bool(entity.description.strip()) for entity in entities]
    columns = [column.documented for entity in entities for column in entity.schema]
    edited = [bool((c.edited or "").strip()) for entity in entities for c in entity.schema]
    seen = []
    for by in GROUPINGS:
        coverage = steward.coverage(by=by, progress=lambda *at: seen.append(at))
        assert (coverage.tables.documented, coverage.tables.total) == (sum(tables), len(tables))
        assert (coverage.columns.documented, coverage.columns.total) == (sum(columns), len(columns))
        assert coverage.columns.edited == sum(edited)
        for group in coverage.groups:
            own = [entity for entity in entities if group.key in keys_of(entity, by)]
            assert (group.tables, group.columns) == (cover(own).tables, cover(own).columns)
            assert group.tables.total == len(own)
    assert seen[-1] == (len(urns), len(urns))


FIELDS: dict[Grouping, str] = {
    "platform": "platform",
    "owner": "owners",
    "domain": "domains",
    "tag": "tags",
    "folder": "browsePaths",
}


def test_a_group_counts_what_a_filter_for_it_finds(sample: Catalog) -> None:
    """Also where only a column of a table has the tag."""
    steward = Stewardship(sample)
    for by, field in FIELDS.items():
        for group in steward.coverage(by=by).groups:
            filter = f'{field}:"{group.key}"' if group.key else f"NOT {field}:*"
            found = steward.coverage(filter=filter)
            assert (found.tables, found.columns) == (group.tables, group.columns), group.key


def test_the_trend_ends_with_what_coverage_counts(steward: Any, named: Any) -> None:
    trend = steward.coverage_trend(by="owner")
    coverage = steward.coverage(by="owner")
    for part in ("tables", "columns"):
        last, now = trend.of(part)[-1], coverage.of(part)
        assert (last.total, last.documented, last.percent) == (
            now.total,
            now.documented,
            now.percent,
        )
    assert {(one.key, one.columns[-1].documented) for one in trend.groups} == {
        (one.key, one.columns.documented) for one in coverage.groups
    }
    assert trend.days[0] == trend.since
    assert len(trend.days) == len(trend.tables) == len(trend.columns) == 1
    week = steward.coverage_trend([named("orders")], every="week", days=30)
    assert week.datasets == 1


def test_a_server_that_cannot_tell_the_trend_says_so(
    catalog: Any, steward: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(catalog.abilities(), coverage_trend=False)
    monkeypatch.setattr(catalog.core._connection, "_abilities", here)
    with pytest.raises(InvalidInput, match="DataHub"):
        steward.coverage_trend()


def days_of(*counts: tuple[int, int]) -> CoverageTrend:
    """A trend whose tables and columns have these totals and documented ones."""
    days = tuple(date(2026, 1, 1) + timedelta(days=at) for at in range(len(counts)))
    series = tuple(DayCount(*one) for one in counts)
    return CoverageTrend(days, series, series, since=days[0])


def test_a_trend_is_a_line_with_gaps_and_a_row_for_each_change() -> None:
    trend = days_of((0, 0), (4, 1), (4, 1), (4, 1), (8, 6), (8, 6))
    (chart,) = views.trend_charts(trend)
    assert [value for _, value in chart.lines[0].points] == [None, 0.25, 0.25, 0.25, 0.75, 0.75]
    assert chart.unit == "share"
    assert [row[0] for row in views.trend_page(trend).rows] == [
        "2026-01-06",
        "2026-01-05",
        "2026-01-02",
        "2026-01-01",
    ]
    assert len(views.trend_table(trend).rows) == 6
    sentences = views.trend_sentences(trend)
    assert "columns: 75.0% documented, +50.0 points since 2026-01-01" in sentences
    assert "nothing is known before 2026-01-01" in sentences
    group = GroupTrend("a", "A", trend.tables, trend.columns)
    grouped = replace(trend, by="owner", groups=(group,), group_total=3)
    assert [chart.title for chart in views.trend_charts(grouped)] == [
        "Documented tables by owner",
        "Documented columns by owner",
    ]
    assert views.trend_page(grouped).rows[0] == ("A", 8, 75.0, "+50.0", 8, 75.0, "+50.0")
    assert "the first 1 of 3 groups" in views.trend_sentences(grouped)
    assert views.trend_change(trend.tables[:1]) is None
    assert views.trend_sentences(CoverageTrend()) == ("nothing is known of earlier days",)
