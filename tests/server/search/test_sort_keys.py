"""Results in the order of their values, and going on from where a page ended."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata import Registry, Urn
from explorer.metadata.structured_properties import Definition
from explorer.query import Criterion, Filter, all_of
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchQuery, SortBy

Make = Callable[..., Document]
Names = Callable[..., list[str]]


def by(*fields: str) -> tuple[SortBy, ...]:
    """Fields to sort by, those with a minus descending."""
    return tuple(SortBy(field.removeprefix("-"), field.startswith("-")) for field in fields)


def walk(index: SearchIndex, count: int, **asked: Any) -> list[str]:
    """Every URN, page after page."""
    found: list[str] = []
    after: str | None = None
    while True:
        query = SearchQuery("*", None, Filter(), 0, count, facets=False, after=after, **asked)
        page = index.search(query)
        found += [hit.urn for hit in page.hits]
        if len(page.hits) < count:
            return found
        after = page.last


def test_texts_are_sorted_without_regard_to_case_and_entities_without_one_come_last(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    index = filled(
        dataset("a"),
        dataset("b", datasetProperties={"qualifiedName": "Zebra"}),
        dataset("c", datasetProperties={"qualifiedName": "ant"}),
        dataset("d", datasetProperties={"qualifiedName": "antler"}),
    )
    assert names(index, sort=by("qualifiedName")) == ["c", "d", "b", "a"]
    assert names(index, sort=by("-qualifiedName")) == ["b", "d", "c", "a"]


def test_the_least_value_is_the_same_however_accents_are_written(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    def columns(*paths: str) -> dict[str, Any]:
        return {"schemaMetadata": {"fields": [{"fieldPath": path} for path in paths]}}

    index = filled(
        dataset("composed", **columns("\u00e9a", "f", "g", "h")),
        dataset("decomposed", **columns("e\u0301a", "f", "g", "h")),
        dataset("first", **columns("e")),
        dataset("last", **columns("fa")),
    )
    expected = ["first", "composed", "decomposed", "last"]
    assert names(index, sort=by("fieldPaths")) == expected


def test_numbers_within_names_are_sorted_by_size(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    given = ("s10", "S2", "s1", "s100", "s20x", "s20")
    index = filled(
        *(dataset(f"d{at}", datasetProperties={"name": name}) for at, name in enumerate(given))
    )
    expected = ["d2", "d1", "d0", "d5", "d4", "d3"]
    assert names(index, sort=by("name")) == expected
    assert names(index, sort=by("-name")) == expected[::-1]
    assert [Urn.parse(urn).name for urn in walk(index, 2, sort=by("name"))] == expected


def test_numbers_and_dates_are_sorted_by_size(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    at = {"a": 5.0, "b": -1.0, "c": 100.0, "d": 0.5, "e": -30.0}
    index = filled(
        *(
            replace(dataset(name), fields=dataset(name).fields | {"lastModifiedAt": (value,)})
            for name, value in at.items()
        )
    )
    assert names(index, sort=by("lastModifiedAt")) == ["e", "b", "d", "a", "c"]
    assert names(index, sort=by("-lastModifiedAt")) == ["c", "a", "d", "b", "e"]


def test_what_is_alike_is_sorted_by_the_next_field_and_by_urn_at_last(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    index = filled(
        dataset("a", platform="kafka"),
        dataset("b", platform="hive"),
        dataset("c", platform="hive", origin="DEV"),
        dataset("d", platform="hive"),
    )
    assert names(index, sort=by("platform", "-urn")) == ["d", "c", "b", "a"]
    assert names(index, sort=by("-platform", "origin")) == ["a", "c", "b", "d"]
    assert names(index, sort=by("_entityType")) == ["b", "c", "d", "a"]


def test_the_name_is_the_one_an_entity_is_shown_by(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    index = filled(
        dataset("a", editableDatasetProperties={"name": "Zoo"}),
        dataset("m"),
        dataset("z", datasetProperties={"name": "bee"}),
    )
    assert names(index, sort=by("name")) == ["z", "m", "a"]


def test_what_is_not_true_is_sorted_as_false(
    filled: Callable[..., SearchIndex], dataset: Make, entity: Make, names: Names
) -> None:
    index = filled(
        dataset("a", datasetProperties={"description": "x"}),
        dataset("b", datasetProperties={}),
        entity("urn:li:dataPlatform:c"),
    )
    assert names(index, sort=by("hasDescription", "-urn")) == ["b", "c", "a"]
    assert names(index, sort=by("-hasDescription")) == ["a", "c", "b"]


def test_sorting_keeps_to_what_was_found(
    filled: Callable[..., SearchIndex], dataset: Make, search: Callable[..., FoundPage]
) -> None:
    index = filled(*(dataset(f"orders_{at}") for at in range(5)), dataset("customers"))
    some = all_of(Criterion("urn", ("orders_3",), "CONTAIN", negated=True))
    page = search(index, "orders", some, sort=by("-urn"), start=1, count=2)
    assert [Urn.parse(hit.urn).name for hit in page.hits] == ["orders_2", "orders_1"]
    assert page.total == 4
    assert {facet.name: facet.counts for facet in page.facets}["origin"] == {"PROD": 4}


def test_a_field_that_cannot_be_searched_is_none_to_sort_by(
    index: SearchIndex, search: Callable[..., FoundPage]
) -> None:
    with pytest.raises(UnknownName, match="no searchable field named 'nonsense'"):
        search(index, sort=by("nonsense"))


def test_going_on_meets_everything_once_while_others_write(
    index: SearchIndex, dataset: Make
) -> None:
    index.apply(1, [dataset(f"t{at:03}") for at in range(60)])
    index.flush()
    seen: list[str] = []
    after: str | None = None
    for turn in range(20):
        query = SearchQuery("*", None, Filter(), 0, 5, after=after, sort=by("urn"))
        page = index.search(query)
        if not page.hits:
            break
        seen += [Urn.parse(hit.urn).name for hit in page.hits]
        after = page.last
        # What was seen is dropped, what comes before and after is added, what follows is changed.
        index.apply(
            turn + 2, [dataset(f"a{turn}"), dataset("t055", usage=turn)], [page.hits[0].urn]
        )
        if turn % 3 == 0:
            index.flush()
    assert seen == [f"t{at:03}" for at in range(60)]


@pytest.mark.parametrize("after", ["", "x", "sbcdea", "bzzza", "sss", "bda" * 50])
def test_a_place_of_another_search_is_refused(
    index: SearchIndex, search: Callable[..., FoundPage], after: str
) -> None:
    with pytest.raises(InvalidInput, match="start again"):
        search(index, sort=by("qualifiedName"), after=after)


WORD = st.sampled_from(["a", "A", "ab", "b", "é", "", "\x00", "z" * 99 + "1", "z" * 99 + "2"])
PROPERTY = Definition(Urn.parse("urn:li:structuredProperty:io.acme.tier"), "Tier", "string")
TIER = PROPERTY.field
FIELDS: st.SearchStrategy[dict[str, tuple[Any, ...]]] = st.fixed_dictionaries(
    {},
    optional={
        "qualifiedName": st.lists(WORD, min_size=1, max_size=2).map(tuple),
        "lastModifiedAt": st.sampled_from([-1e300, -2.5, -0.0, 0.0, 3.0]).map(lambda one: (one,)),
        "deprecated": st.booleans().map(lambda value: (value,)),
        "hasDescription": st.booleans().map(lambda value: (value,)),
        "description": WORD.map(lambda one: (one,)),
        TIER: st.lists(st.sampled_from([-2.0, 7.0, "T2", "T10", "t"]), min_size=1, max_size=2).map(
            tuple
        ),
    },
)
DOCUMENTS = st.lists(
    st.tuples(st.integers(0, 12), FIELDS, WORD).map(
        lambda one: Document(
            str(Urn.dataset("hive", f"t{one[0]}")), "dataset", one[2], False, one[1]
        )
    ),
    max_size=14,
)
SORT = st.lists(
    st.builds(
        SortBy,
        st.sampled_from(
            ["qualifiedName", "lastModifiedAt", "deprecated", "hasDescription", "name", "urn", TIER]
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 3), SORT)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_memory_and_disk_sort_alike_however_the_pages_are_cut(
    registry: Registry,
    first: list[Document],
    second: list[Document],
    gone: int,
    sort: tuple[SortBy, ...],
) -> None:
    dropped = [document.urn for document in first[:gone]]
    now = {document.urn: document for document in (*first, *second)}
    now = {urn: document for urn, document in now.items() if urn not in dropped}
    in_memory, mixed = SearchIndex(None, registry), SearchIndex(None, registry)
    try:
        in_memory.apply(1, now.values())
        for one in (in_memory, mixed):
            one.vocabulary.define(str(PROPERTY.urn), PROPERTY)
        mixed.apply(1, first)
        mixed.flush()
        mixed.apply(2, second, dropped)
        expected = walk(in_memory, 100, sort=sort)
        assert sorted(expected) == sorted(now)
        for _ in range(2):
            assert walk(mixed, 100, sort=sort) == expected
            assert walk(mixed, 1, sort=sort) == expected
            assert walk(mixed, 3, sort=sort) == expected
            for start in range(0, len(expected) + 1, 3):
                query = SearchQuery("*", None, Filter(), start, 2, sort=sort)
                found = [hit.urn for hit in mixed.search(query).hits]
                assert found == expected[start : start + 2]
            mixed.flush()
    finally:
        in_memory.close()
        mixed.close()


def test_a_page_far_into_a_sorted_result_is_the_right_one(
    index: SearchIndex, dataset: Make, names: Names
) -> None:
    platforms = ("hive", "kafka", "s3")
    made = [dataset(f"t{at:04}", platform=platforms[at % 3]) for at in range(900)]
    index.apply(1, made)
    index.flush()
    index.apply(2, [dataset("t0000", platform="hive"), dataset("zz", platform="kafka")])
    expected = sorted(f"t{at:04}" for at in range(0, 900, 3))
    expected += [*sorted(f"t{at:04}" for at in range(1, 900, 3)), "zz"]
    expected += sorted(f"t{at:04}" for at in range(2, 900, 3))
    for start in (450, 299, 600, 700, 898, 901):
        found = names(index, sort=by("platform"), start=start, count=3)
        assert found == expected[start : start + 3]


def test_the_most_used_come_first(
    filled: Callable[..., SearchIndex], dataset: Make, names: Names
) -> None:
    index = filled(dataset("b", usage=900), dataset("a", usage=1_000), dataset("c"))
    use = "queryCountLast30DaysFeature"
    assert names(index, "*", sort=(SortBy(use, descending=True),)) == ["a", "b", "c"]
    assert names(index, "*", all_of(Criterion(use, ("0",)))) == ["c"]
    assert names(index, "*", all_of(Criterion(use, ("950",), "LESS_THAN"))) == ["b", "c"]
