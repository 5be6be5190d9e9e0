from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Registry, Urn
from explorer.metadata.files import Refused, read_file
from explorer.query import Criterion, all_of
from explorer.sample import sample_proposals
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document, build_document
from explorer.server.search.query import FoundPage

REAL_FILES = Path(__file__).parents[4] / "shared" / "data" / "datahub"
SAMPLE_FILES = (
    "bootstrap_mce.json",
    "bootstrap_mce.as_mcps.json",
    "data_platforms.json",
    "dbt_with_schemas.json",
    "looker.json",
    "mongodb.json",
    "s3_local_folder_partition.json",
)

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Search = Callable[..., FoundPage]


def counts(page: FoundPage) -> dict[str, dict[str, int]]:
    return {facet.name: facet.counts for facet in page.facets}


def tagged(*names: str) -> dict[str, Any]:
    return {"tags": [{"tag": f"urn:li:tag:{name}"} for name in names]}


def test_facets_count_the_whole_result(filled: Fill, dataset: Make, search: Search) -> None:
    index = filled(
        *(dataset(f"orders{at}", globalTags=tagged("a", "b")) for at in range(5)),
        dataset("orders9", platform="kafka", globalTags=tagged("b")),
        dataset("customers", platform="kafka"),
        dataset("orders_old", status={"removed": True}),
    )
    page = search(index, "orders", types=("dataset",), count=1)
    assert page.total == 6
    assert len(page.hits) == 1
    assert counts(page) == {
        "_entityType": {"dataset": 6},
        "platform": {"urn:li:dataPlatform:hive": 5, "urn:li:dataPlatform:kafka": 1},
        "origin": {"PROD": 6},
        "tags": {"urn:li:tag:b": 6, "urn:li:tag:a": 5},
        "documented": {"false": 6},
    }
    assert list(counts(page)["tags"]) == ["urn:li:tag:b", "urn:li:tag:a"]
    assert {facet.name: facet.label for facet in page.facets}["platform"] == "Platform"


def test_facets_follow_the_filter(filled: Fill, dataset: Make, search: Search) -> None:
    index = filled(dataset("a", globalTags=tagged("x")), dataset("b", platform="kafka"))
    page = search(index, "*", all_of(Criterion("platform", ("kafka",))), types=("dataset",))
    assert counts(page)["platform"] == {"urn:li:dataPlatform:kafka": 1}
    assert "tags" not in counts(page)


def test_facets_are_those_of_the_types(
    filled: Fill, dataset: Make, entity: Make, search: Search
) -> None:
    index = filled(
        dataset("a"), entity("urn:li:chart:(looker,c)", chartInfo={"title": "c", "type": "PIE"})
    )
    assert "type" not in counts(search(index, "*", types=("dataset",)))
    both = counts(search(index, "*"))
    assert both["type"] == {"PIE": 1}
    assert both["_entityType"] == {"chart": 1, "dataset": 1}


def test_facets_can_be_left_out(filled: Fill, dataset: Make, search: Search) -> None:
    page = search(filled(dataset("a")), "*", facets=False)
    assert page.total == 1
    assert page.facets == ()


def test_facets_show_the_most_frequent_values(
    index: SearchEngine, dataset: Make, search: Search
) -> None:
    """More values than are shown, spread over several parts of the index and over memory."""

    def owned(at: int) -> dict[str, Any]:
        return {"owners": [{"owner": f"urn:li:corpuser:u{at:03}"}, {"owner": "urn:li:corpuser:z"}]}

    first = [dataset(f"a{at}", ownership=owned(at)) for at in range(150)]
    second = [dataset(f"b{at}", ownership=owned(at)) for at in range(100, 260)]
    index.apply(1, first)
    index.flush()
    index.apply(2, second)
    expected = {"urn:li:corpuser:z": 310}
    expected |= {f"urn:li:corpuser:u{at:03}": 2 for at in range(100, 150)}
    expected |= {f"urn:li:corpuser:u{at:03}": 1 for at in range(49)}
    for _ in range(2):
        assert counts(search(index, "*", count=0))["owners"] == expected
        index.flush()


def test_values_as_frequent_are_in_the_order_of_their_names(
    filled: Fill, dataset: Make, search: Search
) -> None:
    index = filled(*(dataset(f"d{at}", platform=f"p{at}") for at in (10, 2, 1, 100)))
    found = counts(search(index))["platform"]
    assert [Urn.parse(value).name for value in found] == ["p1", "p2", "p10", "p100"]


def test_facets_forget_what_a_document_was(
    index: SearchEngine, dataset: Make, search: Search
) -> None:
    index.apply(1, [dataset("t", globalTags=tagged("old")), dataset("u", globalTags=tagged("old"))])
    index.flush()
    index.apply(2, [dataset("t", globalTags=tagged("new"))], [dataset("u").urn])
    for _ in range(2):
        assert counts(search(index, "*"))["tags"] == {"urn:li:tag:new": 1}
        assert counts(search(index, "*"))["_entityType"] == {"dataset": 1}
        index.flush()


def assert_picking_gives_what_is_counted(index: SearchEngine, search: Search) -> int:
    """For every facet value, over all types and over each; returns how many were picked."""
    picked = 0
    every = counts(search(index, "*", count=0))
    for types in (None, *((name,) for name in every["_entityType"])):
        for field, values in counts(search(index, "*", types=types, count=0)).items():
            for value, count in values.items():
                one = all_of(Criterion(field, (value,)))
                found = search(index, "*", one, types=types, count=0, facets=False).total
                assert found == count, (types, field, value)
                picked += 1
    return picked


def test_a_facet_of_the_sample_counts_what_picking_it_finds(
    filled: Fill, registry: Registry, search: Search
) -> None:
    aspects: dict[Urn, dict[str, Any]] = {}
    for proposal in sample_proposals(date(2026, 1, 31)):
        if not registry.aspect(proposal.aspect).timeseries:
            aspects.setdefault(proposal.urn, {})[proposal.aspect] = proposal.value
    index = filled(*(build_document(registry, urn, found) for urn, found in aspects.items()))
    assert assert_picking_gives_what_is_counted(index, search) > 300


@pytest.mark.parametrize("name", SAMPLE_FILES)
def test_a_facet_of_real_files_counts_what_picking_it_finds(
    index: SearchEngine, registry: Registry, search: Search, name: str
) -> None:
    path = REAL_FILES / name
    if not path.exists():
        pytest.skip(f"the sample files of DataHub are not beside the repository: no {name}")
    aspects: dict[Urn, dict[str, Any]] = {}
    for proposal in read_file(path.read_bytes(), registry):
        assert not isinstance(proposal, Refused)
        if not registry.aspect(proposal.aspect).timeseries:
            aspects.setdefault(proposal.urn, {})[proposal.aspect] = proposal.value
    documents = [build_document(registry, urn, found) for urn, found in aspects.items()]
    # One half on disk, the other in memory: a count is of both.
    index.apply(1, documents[::2])
    index.flush()
    index.apply(2, documents[1::2])
    assert assert_picking_gives_what_is_counted(index, search) > 1


def test_a_facet_counts_labels_of_columns_and_urns_as_a_filter_finds_them(
    filled: Fill, dataset: Make, entity: Make, search: Search
) -> None:
    column = {"fieldPath": "a", "globalTags": tagged("PII")}
    edited = {"editableSchemaFieldInfo": [{"fieldPath": "a", "globalTags": tagged("PII")}]}
    index = filled(
        dataset("both", globalTags=tagged("PII"), schemaMetadata={"fields": [column]}),
        dataset("column", schemaMetadata={"fields": [column]}),
        dataset("edited", editableSchemaMetadata=edited),
        dataset("pii", globalTags=tagged("pii", "PII")),
        dataset("lower", globalTags=tagged("pii")),
        entity("urn:li:container:c", containerProperties={"name": "c", "env": "PROD"}),
    )
    found = counts(search(index, "*"))
    assert found["tags"] == {"urn:li:tag:PII": 4, "urn:li:tag:pii": 2}
    assert found["origin"] == {"PROD": 6}
    assert_picking_gives_what_is_counted(index, search)
    index.apply(2, (dataset("lower", globalTags=tagged("Pii")), dataset("column")))
    expected = {"urn:li:tag:PII": 3, "urn:li:tag:Pii": 1, "urn:li:tag:pii": 1}
    assert counts(search(index, "*"))["tags"] == expected
    assert_picking_gives_what_is_counted(index, search)


def test_a_facet_says_that_it_has_more_values_than_it_gives(
    filled: Fill, dataset: Make, search: Search
) -> None:
    index = filled(
        *(dataset(f"t{at}", globalTags=tagged(f"t{at}")) for at in range(101)),
        dataset("last", globalTags=tagged("t0")),
    )
    facets = {facet.name: facet for facet in search(index, "*").facets}
    assert (len(facets["tags"].counts), facets["tags"].has_more) == (100, True)
    assert not facets["platform"].has_more
    index.apply(2, (), [dataset("t7").urn])
    facets = {facet.name: facet for facet in search(index, "*").facets}
    assert (len(facets["tags"].counts), facets["tags"].has_more) == (100, False)
