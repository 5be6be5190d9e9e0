"""The numbers of coverage are those that counting one by one gives."""

from typing import Any

import pytest

from explorer.client import Catalog
from explorer.stewardship import Count, Stewardship, cover
from explorer.stewardship.coverage import GROUPINGS, keys_of


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
    assert steward.coverage(narrowed_by="tags:PII").tables.total == 1
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


FIELDS = {
    "platform": "platform",
    "owner": "owners",
    "domain": "domains",
    "tag": "tags",
    "folder": "browsePaths",
}


@pytest.mark.parametrize("by", FIELDS)
def test_a_group_counts_what_a_filter_for_it_finds(sample: Catalog, by: Any) -> None:
    """Also where only a column of a table has the tag."""
    steward = Stewardship(sample)
    coverage = steward.coverage(by=by)
    for group in coverage.groups:
        field = FIELDS[by]
        narrowed_by = f'{field}:"{group.key}"' if group.key else f"NOT {field}:*"
        found = steward.coverage(narrowed_by=narrowed_by)
        assert (found.tables, found.columns) == (group.tables, group.columns), group.key
