"""What finding answers: a current DataHub's answers as they come, older ones, and broken ones."""

from typing import Any

import pytest

from explorer.client.completion import interleave, parse_autocomplete, parse_suggestions
from explorer.client.records import FacetValue, Folder, Hit, Match, Named, Suggestion
from explorer.client.search import (
    parse_browse,
    parse_browse_paths,
    parse_counts,
    parse_scroll,
    parse_scroll_graphql,
    parse_search,
    parse_urns,
)
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata import Urn

HIVE = "urn:li:dataPlatform:hive"
ORDERS = Urn.dataset("hive", "db.orders")
TAG = Urn.of("tag", "PII")
USER = Urn.of("corpuser", "jdoe")

CURRENT = {
    "value": {
        "entities": [
            {
                "entity": str(ORDERS),
                "matchedFields": [{"name": "name", "value": "x"}],
                "features": {"SEARCH_BACKEND_SCORE": 1.0},
                "restrictedAspects": [],
                "score": 1.0,
            }
        ],
        "from": 0,
        "pageSize": 10,
        "numEntities": 2,
        "metadata": {
            "aggregations": [
                {
                    "name": "platform",
                    "displayName": "Platform",
                    "aggregations": {HIVE: 2},
                    "filterValues": [{"value": HIVE, "entity": HIVE, "facetCount": 2}],
                }
            ],
            "suggestions": [],
        },
    }
}


def searched(**value: Any) -> Any:
    return parse_search({"value": {"numEntities": 1, "from": 0} | value}, "x")


def test_a_current_search_is_read() -> None:
    page = parse_search(CURRENT, "x")
    assert (page.text, page.start, page.total, len(page), page.truncated) == ("x", 0, 2, 1, True)
    assert page.hits == (Hit(ORDERS, (Match("name", "x"),), 1.0),)
    (platform,) = page.facets
    assert (platform.name, platform.label) == ("platform", "Platform")
    assert platform.values == (FacetValue(HIVE, 2),)


def test_counts_may_stand_in_filter_values_alone() -> None:
    facet = {"name": "platform", "filterValues": [{"value": HIVE, "entity": HIVE, "facetCount": 7}]}
    page = searched(entities=[], metadata={"aggregations": [facet]})
    assert page.facets[0].values == (FacetValue(HIVE, 7),)


def test_facets_at_both_places_are_given_once() -> None:
    old = [{"name": "platform", "aggregations": {HIVE: 1}}]
    new = [
        {"name": "platform", "displayName": "Platform", "aggregations": {HIVE: 1}},
        {"name": "env", "displayName": "Environment", "aggregations": {"PROD": 1}},
    ]
    page = searched(entities=[], metadata={"searchResultMetadatas": old, "aggregations": new})
    assert [facet.name for facet in page.facets] == ["platform", "env"]


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}])
def test_a_search_without_metadata_is_a_search(metadata: Any) -> None:
    page = searched(entities=[str(TAG)], **metadata)
    assert page.hits == (Hit(TAG),)
    assert page.facets == ()


def test_matches_beside_the_hits_belong_to_them_in_order() -> None:
    matches = [{"matchedFields": []}, {"matchedFields": [{"name": "name", "value": "PII"}]}]
    page = searched(entities=["broken", str(TAG)], metadata={"matches": matches})
    assert page.hits == (Hit(TAG, (Match("name", "PII"),)),)


def test_a_hit_that_is_no_urn_loses_no_page() -> None:
    page = searched(entities=["no urn", str(TAG), {"entity": "neither"}], numEntities=3)
    assert [hit.urn for hit in page] == [TAG]
    assert page.unreadable == ("no urn", "neither")
    assert (len(page), page.end, page.truncated) == (1, 3, False)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"entities": [7]}, "names no entity: 7"),
        ({"entities": [{"urn": "x"}]}, "names no entity"),
        ({"entities": [{"entity": None}]}, "names no entity"),
        ({"entities": {}}, "'entities' in the server's answer to search is not a list"),
        ({"numEntities": "many"}, "'numEntities' in the server's answer to search is not a number"),
        ({"from": None}, "'from' in the server's answer to search is not a number"),
        ({"metadata": {"aggregations": [{"aggregations": {}}]}}, "has no name"),
        ({"metadata": {"aggregations": [{"name": "a", "aggregations": {"b": "c"}}]}}, "facet a"),
        ({"metadata": {"matches": ["x"]}}, "its matches"),
        ({"metadata": []}, None),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(value: Any, said: str | None) -> None:
    if said is None:
        assert searched(**value).facets == ()
        return
    with pytest.raises(ServerFault) as raised:
        searched(**value)
    assert said in str(raised.value)


def test_a_scroll_says_where_it_goes_on() -> None:
    page, place = parse_scroll({"value": CURRENT["value"] | {"scrollId": "next"}}, "x")
    assert (page.hits[0].urn, page.total, place) == (ORDERS, 2, "next")
    for last in ({}, {"scrollId": None}, {"scrollId": ""}):
        assert parse_scroll({"value": CURRENT["value"] | last}, "x")[1] is None


def test_a_scroll_of_graphql_is_read() -> None:
    body = {
        "data": {
            "scrollAcrossEntities": {
                "nextScrollId": "next",
                "count": 1,
                "total": 9,
                "searchResults": [
                    {
                        "entity": {"urn": str(ORDERS), "type": "DATASET"},
                        "matchedFields": [{"name": "name", "value": "orders"}],
                        "extraProperties": [{"name": "name", "value": '"orders"'}],
                    }
                ],
            }
        },
        "extensions": {},
    }
    page, place = parse_scroll_graphql(body, "x")
    assert page.hits == (Hit(ORDERS, (Match("name", "orders"),)),)
    assert (page.total, place) == (9, "next")


def test_an_error_of_graphql_is_raised_in_its_words() -> None:
    error = {"message": "Validation error (FieldUndefined@[x])", "extensions": {"code": 400}}
    with pytest.raises(InvalidInput, match="FieldUndefined"):
        parse_scroll_graphql({"data": None, "errors": [error]}, "x")
    with pytest.raises(ServerFault):
        parse_scroll_graphql({"data": {"scrollAcrossEntities": None}}, "x")


def test_a_current_folder_is_read() -> None:
    page = parse_browse(
        {
            "value": {
                "entities": [{"name": "orders", "urn": str(ORDERS)}, {"name": "x", "urn": "x"}],
                "groups": [{"name": "hive", "count": 5}],
                "metadata": {"path": "/prod", "totalNumEntities": 7},
                "from": 0,
                "pageSize": 10,
                "numEntities": 2,
                "numGroups": 1,
                "numElements": 3,
            }
        }
    )
    assert list(page) == [Folder("hive", 5), Named(ORDERS, "orders")]
    assert (page.direct_count, page.total, page.entry_count, len(page)) == (2, 7, 3, 2)
    assert (page.unreadable, page.end, page.truncated) == (("x",), 3, False)


def test_a_folder_without_counts_gives_its_folders_on_every_page() -> None:
    groups = [{"name": "a", "count": 1}, {"name": "b", "count": 1}]
    value = {
        "entities": [{"urn": str(ORDERS)}],
        "metadata": {"path": "/", "totalNumEntities": 9, "groups": groups},
        "from": 0,
        "numEntities": 3,
    }
    page = parse_browse({"value": value})
    assert page.repeats_folders
    assert not parse_browse({"value": value | {"from": 2}}).truncated
    assert (page.entry_count, page.end, page.truncated) == (5, 1, True)
    assert page.entities[0].name == "db.orders"


@pytest.mark.parametrize(
    "value",
    [
        {"entities": [{"name": "x"}]},
        {"entities": ["x"]},
        {"groups": [{"count": 1}]},
        {"groups": [{"name": "a", "count": "1"}]},
        {"numElements": None},
    ],
)
def test_a_folder_of_another_shape_is_a_fault_of_the_server(value: Any) -> None:
    with pytest.raises(ServerFault, match="browse"):
        parse_browse({"value": {"metadata": {}} | value})


def test_smaller_answers_are_read_and_checked() -> None:
    assert parse_browse_paths({"value": ["/a/b"]}) == ("/a/b",)
    assert parse_counts({"value": {"dataset": 3}}) == {"dataset": 3}
    listed = parse_urns({"value": {"start": 2, "count": 1, "total": 3, "entities": [str(TAG)]}})
    assert (listed.start, listed.total, [hit.urn for hit in listed]) == (2, 3, [TAG])
    for read, value in (
        (parse_browse_paths, "/a"),
        (parse_counts, {"dataset": "3"}),
        (parse_urns, {"entities": 1}),
    ):
        with pytest.raises(ServerFault):
            read({"value": value})


def test_completions_come_with_and_without_urns() -> None:
    old = {"value": {"query": "o", "suggestions": ["orders"]}}
    assert parse_autocomplete(old) == (("orders",), ())
    new = {"value": old["value"] | {"entities": [{"urn": str(ORDERS)}, {"urn": "broken"}]}}
    assert parse_autocomplete(new) == (("orders",), (ORDERS,))


def suggested(*groups: Any) -> Any:
    body = {"data": {"autoCompleteForMultiple": {"query": "o", "suggestions": list(groups)}}}
    found = parse_suggestions(body, {"DATASET": "dataset", "CORP_USER": "corpuser"})
    return interleave(found, 10)


def test_a_suggestion_is_told_by_its_name_wherever_the_server_puts_it() -> None:
    sales = Urn.dataset("hive", "a1")
    group = {
        "type": "DATASET",
        "suggestions": ["Sales", "db.orders", "a1"],
        "entities": [
            {"urn": str(ORDERS), "name": "orders", "properties": None},
            {"urn": str(Urn.dataset("kafka", "x.a1"))},
            {"urn": str(sales), "properties": {"name": "sales"}},
        ],
    }
    assert suggested(group) == (
        Suggestion("Sales", sales, "dataset", "hive"),
        Suggestion("db.orders", ORDERS, "dataset", "hive"),
        Suggestion("a1", Urn.dataset("kafka", "x.a1"), "dataset", "kafka"),
    )


def test_suggestions_that_only_names_tell_are_not_mixed_up() -> None:
    group = {
        "type": "CORP_USER",
        "suggestions": ["John", "Jane"],
        "entities": [
            {"urn": "urn:li:corpuser:u2", "properties": {"displayName": "Jane"}},
            {"urn": str(USER), "properties": {"displayName": "john"}},
        ],
    }
    assert [str(one.urn) for one in suggested(group)] == [str(USER), "urn:li:corpuser:u2"]


def test_a_suggestion_that_nothing_tells_has_no_urn() -> None:
    group = {
        "type": "CORP_USER",
        "suggestions": ["John", "Jane"],
        "entities": [{"urn": str(USER)}, {"urn": "urn:li:corpuser:u2"}],
    }
    assert suggested(group) == (
        Suggestion("John", None, "corpuser"),
        Suggestion("Jane", None, "corpuser"),
    )
    single = group | {"suggestions": ["John"], "entities": [{"urn": str(USER)}]}
    assert suggested(single) == (Suggestion("John", USER, "corpuser"),)


def test_every_type_has_its_best_among_the_first() -> None:
    tags = {"type": "TAG", "suggestions": ["t1", "t2", "t3"], "entities": []}
    sets = {"type": "DATASET", "suggestions": ["d1"], "entities": []}
    assert [one.text for one in suggested(tags, sets)] == ["t1", "d1", "t2", "t3"]
    assert {one.entity_type for one in suggested(tags, sets)} == {"tag", "dataset"}
