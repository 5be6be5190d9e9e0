"""What goes over the wire, to the byte."""

from datetime import UTC, datetime

import pytest

from explorer.client.completion import autocomplete_request, suggest_request
from explorer.client.entity import aspect_request, entities_request, entity_request
from explorer.client.ingestion import ingest_request
from explorer.client.lineage import relationships_request
from explorer.client.search import (
    SearchParameters,
    browse_paths_request,
    browse_request,
    counts_request,
    list_urns_request,
    scroll_graphql_request,
    scroll_request,
    search_request,
    with_removed,
)
from explorer.client.timeseries import timeseries_request
from explorer.client.transport import graphql_request
from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn
from explorer.query import Criterion, Filter, Order, all_of

ODD = Urn.dataset("s3", "a/b%2C c+ü")
ENCODED = "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3As3%2Ca%2Fb%252C%20c%2B%C3%BC%2CPROD%29"


def test_a_urn_is_encoded_exactly_once_wherever_it_goes() -> None:
    assert entity_request(ODD, None).path == f"/entitiesV2/{ENCODED}"
    assert aspect_request(ODD, "status", 0).path == f"/aspects/{ENCODED}?aspect=status&version=0"
    assert f"&urn={ENCODED}&" in relationships_request(ODD, "INCOMING", ["A"], 0, 10).path
    assert entities_request([ODD, ODD], ["a"]).path == (
        f"/entitiesV2?ids=List({ENCODED},{ENCODED})&aspects=List(a)"
    )


def test_a_read_may_be_limited_to_aspects() -> None:
    assert entity_request(Urn.parse("urn:li:tag:x"), ["a", "b"]).path.endswith("?aspects=List(a,b)")


def test_one_relationship_goes_by_name_and_several_as_a_list() -> None:
    one = relationships_request(ODD, "OUTGOING", ["OwnedBy"], 0, 5).path
    assert "types=OwnedBy&start=0&count=5" in one
    assert one.startswith("/relationships?direction=OUTGOING&")
    assert "types=List(A,B)&" in relationships_request(ODD, "OUTGOING", ["A", "B"], 0, 5).path


def test_a_search_sends_a_filter_only_when_there_is_one() -> None:
    plain = search_request(SearchParameters("orders", "dataset"), 0, 10)
    assert plain.path == "/entities?action=search"
    assert plain.body == {"input": "orders", "entity": "dataset", "start": 0, "count": 10}
    narrowed = search_request(
        SearchParameters("", filter=all_of(Criterion("tags", ("a", "b")))), 5, 10
    )
    assert narrowed.path == "/entities?action=searchAcrossEntities"
    assert narrowed.body["input"] == "*"
    (group,) = narrowed.body["filter"]["or"]
    assert group["and"] == [
        {"field": "tags", "value": "a", "values": ["a", "b"], "condition": "EQUAL"}
    ]


def test_autocomplete_and_browse_send_what_the_service_asks_for() -> None:
    assert autocomplete_request("fct", "dataset", 5, Filter()).body == {
        "query": "fct",
        "entity": "dataset",
        "limit": 5,
    }
    narrowed = all_of(Criterion("platform", ("hive",)))
    assert autocomplete_request("f", "chart", 5, narrowed).body == {
        "query": "f",
        "entity": "chart",
        "limit": 5,
        "filter": narrowed.to_wire(),
    }
    assert browse_request("/prod", "dataset", 0, 10).body == {
        "path": "/prod",
        "entity": "dataset",
        "start": 0,
        "limit": 10,
    }


def test_a_search_of_several_types_names_them_and_of_one_names_it() -> None:
    several = search_request(SearchParameters("a", ["dataset", "chart"]), 0, 1)
    assert several.path == "/entities?action=searchAcrossEntities"
    assert several.body == {
        "input": "a",
        "entities": ["dataset", "chart"],
        "start": 0,
        "count": 1,
    }
    every = search_request(SearchParameters("a"), 0, 1)
    assert every.path == several.path
    assert every.body == {"input": "a", "start": 0, "count": 1}
    assert "entities" not in search_request(SearchParameters("a", "chart"), 0, 1).body


def test_an_order_goes_as_one_sort_and_several_as_a_list_too() -> None:
    one = search_request(SearchParameters("a", "tag", sort=[Order("name", True)]), 0, 1).body
    assert one["sort"] == {"field": "name", "order": "DESCENDING"}
    assert "sortCriteria" not in one
    two = search_request(
        SearchParameters("a", "tag", sort=[Order("b"), Order("a", True)]), 0, 1
    ).body
    assert two["sort"] == {"field": "b", "order": "ASCENDING"}
    assert two["sortCriteria"] == [
        {"field": "b", "order": "ASCENDING"},
        {"field": "a", "order": "DESCENDING"},
    ]


def test_a_scroll_names_the_place_only_when_it_has_one() -> None:
    first = scroll_request(SearchParameters("", ["tag"]), 50, None)
    assert first.path == "/entities?action=scrollAcrossEntities"
    assert first.body == {"input": "*", "count": 50, "keepAlive": "5m", "entities": ["tag"]}
    second = scroll_request(SearchParameters("", sort=[Order("name")]), 50, "place")
    assert second.body == {
        "input": "*",
        "count": 50,
        "keepAlive": "5m",
        "scrollId": "place",
        "sort": {"field": "name", "order": "ASCENDING"},
    }


def test_a_scroll_in_graphql_says_the_same_in_its_words() -> None:
    narrowed = all_of(
        Criterion("_entityType", ("mlModel", "DATASET")), Criterion("tags", ("a",), negated=True)
    )
    query = SearchParameters("x", ["corpuser", "dataHubPolicy"], narrowed, [Order("name", True)])
    request = scroll_graphql_request(query, 5, "place")
    assert (request.method, request.path) == ("POST", "/api/graphql")
    assert request.repeatable
    assert not request.writes
    assert request.body["variables"]["input"] == {
        "query": "x",
        "count": 5,
        "keepAlive": "5m",
        "searchFlags": {"skipAggregates": True},
        "scrollId": "place",
        "types": ["CORP_USER", "DATAHUB_POLICY"],
        "orFilters": [
            {
                "and": [
                    {
                        "field": "_entityType",
                        "values": ["MLMODEL", "DATASET"],
                        "condition": "EQUAL",
                    },
                    {"field": "tags", "values": ["a"], "condition": "EQUAL", "negated": True},
                ]
            }
        ],
        "sortInput": {"sortCriteria": [{"field": "name", "sortOrder": "DESCENDING"}]},
    }


def test_what_is_asked_beside_search_goes_as_the_service_names_it() -> None:
    sent = [
        list_urns_request("tag", 5, 10),
        counts_request(["tag", "chart"]),
        browse_paths_request(ODD),
    ]
    assert [(request.path.partition("=")[2], request.body) for request in sent] == [
        ("listUrns", {"entity": "tag", "start": 5, "count": 10}),
        ("batchGetTotalEntityCount", {"entities": ["tag", "chart"]}),
        ("getBrowsePaths", {"urn": str(ODD)}),
    ]
    suggested = suggest_request("ord", ["glossaryTerm"], 3).body["variables"]["input"]
    assert suggested == {"query": "ord", "limit": 3, "types": ["GLOSSARY_TERM"]}
    assert "types" not in suggest_request("ord", [], 3).body["variables"]["input"]


def test_the_removed_are_found_by_a_filter_that_speaks_of_them() -> None:
    both = with_removed(all_of(Criterion("tags", ("a",))))
    assert [[(one.field, one.negated) for one in group] for group in both.any_of] == [
        [("tags", False), ("removed", False)],
        [("tags", False), ("removed", True)],
    ]
    assert len(with_removed(Filter()).any_of) == 2
    spoken = all_of(Criterion("removed", ("true",)))
    assert with_removed(spoken) is spoken


def test_a_time_range_goes_as_milliseconds_and_wants_a_zone() -> None:
    start = datetime(2026, 1, 2, tzinfo=UTC)
    body = timeseries_request(ODD, "datasetProfile", start, None, 3).body
    assert body == {
        "urn": str(ODD),
        "entity": "dataset",
        "aspect": "datasetProfile",
        "startTimeMillis": 1767312000000,
        "limit": 3,
    }
    with pytest.raises(InvalidInput, match="time zone"):
        timeseries_request(ODD, "datasetProfile", start.replace(tzinfo=None), None, None)


def test_an_aspect_travels_as_a_json_string_in_an_envelope() -> None:
    request = ingest_request(Proposal(ODD, "status", {"removed": True}))
    assert request.body["proposal"] == {
        "entityType": "dataset",
        "entityUrn": str(ODD),
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"value": '{"removed":true}', "contentType": "application/json"},
    }
    assert request.repeatable
    removal = ingest_request(Proposal(ODD, "status", change="DELETE"))
    assert "aspect" not in removal.body["proposal"]
    assert not removal.repeatable


def test_what_people_write_travels_in_variables_only() -> None:
    text = '"""}) { evil } """ $x'
    body = graphql_request("mutation m($t: String!) { f(t: $t) }", {"t": text}).body
    assert text not in body["query"]
    assert body["variables"] == {"t": text}
    assert not graphql_request("", {}).repeatable
