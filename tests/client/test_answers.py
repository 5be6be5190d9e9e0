"""Answers of the specification's shape and of a current DataHub's read as the same records."""

from typing import Any

import pytest

from explorer.client.entity import parse_config, parse_entity
from explorer.client.lineage import parse_relationships
from explorer.client.records import Match
from explorer.client.search import parse_browse, parse_search
from explorer.client.timeseries import parse_timeseries
from explorer.client.transport import error_of_answer, error_of_graphql
from explorer.errors import (
    Busy,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    NotSignedIn,
    ServerFault,
    StorageFull,
    Unreachable,
)
from explorer.metadata import Urn

TAG = "urn:li:tag:PII"
USER = "urn:li:corpuser:jdoe"


def test_search_hits_are_read_as_urns_and_as_objects() -> None:
    plain = parse_search(
        {
            "value": {
                "numEntities": 3,
                "pageSize": 1,
                "from": 2,
                "entities": [TAG],
                "metadata": {
                    "urns": [TAG],
                    "matches": [{"matchedFields": [{"name": "name", "value": "PII"}]}],
                    "searchResultMetadatas": [
                        {"name": "typeNames", "aggregations": {"a": 1, "b": 2}}
                    ],
                },
            }
        },
        "pii",
    )
    modern = parse_search(
        {
            "value": {
                "numEntities": 3,
                "from": 2,
                "entities": [
                    {"entity": TAG, "matchedFields": [{"name": "name", "value": "PII"}], "score": 1}
                ],
                "metadata": {
                    "aggregations": [
                        {"name": "typeNames", "displayName": "Sub type", "aggregations": {"b": 2}}
                    ]
                },
            }
        },
        "pii",
    )
    for page in (plain, modern):
        assert (page.total, page.start, len(page)) == (3, 2, 1)
        assert page.hits[0].urn == Urn.parse(TAG)
        assert page.hits[0].matches == (Match("name", "PII"),)
        assert page.facets[0].values[0].value == "b"
    assert plain.facets[0].label == "Type Names"
    assert modern.facets[0].label == "Sub type"
    assert not plain.truncated


def _faceted(*aggregations: Any) -> Any:
    """The facets of an answer that has both places, with the same names in each."""
    older = [{"name": one["name"], "aggregations": one["aggregations"]} for one in aggregations]
    metadata = {"urns": [], "searchResultMetadatas": older, "aggregations": list(aggregations)}
    page = parse_search({"value": {"numEntities": 3, "from": 0, "metadata": metadata}}, "pii")
    return [(facet.name, facet.label) for facet in page.facets]


def test_a_facet_has_the_label_that_the_server_sends_beside_older_facets_without_labels() -> None:
    def facet(name: str, label: Any, **counts: int) -> Any:
        return {"name": name, "displayName": label, "aggregations": counts}

    assert _faceted(
        facet("typeNames", "Sub Type", Table=2),
        # Without a label of its own: the server sends the field's name, nothing or nonsense.
        facet("assertionStatus", "assertionStatus", ACTIVE=1),
        facet("fieldPath", None, id=1),
        facet("inputs", 3, a=1),
    ) == [
        ("typeNames", "Sub Type"),
        ("assertionStatus", "Assertion Status"),
        ("fieldPath", "Field Path"),
        ("inputs", "Inputs"),
    ]


def test_facets_of_one_label_are_told_apart_by_their_fields() -> None:
    def facet(name: str, label: str, **counts: int) -> Any:
        return {"name": name, "displayName": label, "aggregations": counts}

    assert _faceted(
        # One without values is not shown, so it takes no label.
        facet("platformInstance", "Environment"),
        facet("origin", "Environment", PROD=2),
        facet("env", "environment", PROD=2),
    ) == [
        ("platformInstance", "Environment"),
        ("origin", "Environment"),
        ("env", "environment (env)"),
    ]


def test_relationships_are_read_with_and_without_types() -> None:
    bare = parse_relationships({"entities": [USER]}, "OUTGOING", ["OwnedBy"])
    typed = parse_relationships(
        {
            "start": 0,
            "count": 1,
            "total": 7,
            "relationships": [{"entity": USER, "type": "OwnedBy"}],
        },
        "OUTGOING",
        ["OwnedBy", "TaggedWith"],
    )
    assert bare.edges == typed.edges
    assert (bare.total, typed.total) == (1, 7)
    assert typed.by_relationship() == {"OwnedBy": (Urn.parse(USER),)}


@pytest.mark.parametrize("above", [True, False])
def test_folders_are_read_from_either_place(above: bool) -> None:
    groups = [{"name": "hive", "count": 2}]
    value = {
        "numEntities": 1,
        "pageSize": 10,
        "from": 0,
        "entities": [{"name": "t", "urn": TAG}],
        "metadata": {"path": "/prod", "totalNumEntities": 3, "groups": [] if above else groups},
    }
    page = parse_browse({"value": value | ({"groups": groups} if above else {})})
    assert [(folder.name, folder.count) for folder in page.folders] == [("hive", 2)]
    assert (page.direct_count, page.total, page.entry_count, page.path) == (1, 3, 2, "/prod")


def test_a_further_page_of_a_folder_still_tells_how_much_there_is() -> None:
    value = {"numEntities": 9, "numElements": 12, "from": 10, "entities": [], "metadata": {}}
    assert parse_browse({"value": value}).entry_count == 12


def test_timeseries_points_come_oldest_first() -> None:
    point = {"contentType": "application/json"}
    values = [
        {"aspect": point | {"value": '{"timestampMillis": 2}'}},
        {"aspect": point | {"value": '{"timestampMillis": 1}'}},
    ]
    series = parse_timeseries({"value": {"limit": 2, "values": values}}, "datasetProfile")
    assert [value["timestampMillis"] for value in series.values] == [1, 2]
    assert series.truncated


def test_an_entity_that_was_never_written_does_not_exist() -> None:
    key = {"name": "tagKey", "version": 0, "value": {"name": "PII"}}
    stored = key | {"created": {"time": 1, "actor": USER}}
    derived = key | {"created": {"time": 0, "actor": USER}}
    assert not parse_entity({"urn": TAG, "aspects": {"tagKey": key}}).exists
    assert not parse_entity({"urn": TAG, "aspects": {"tagKey": derived}}).exists
    assert parse_entity({"urn": TAG, "aspects": {"tagKey": stored}}).exists


def test_a_server_tells_what_it_is() -> None:
    ours = parse_config(
        {"noCode": "true", "catalogExplorer": {"version": "1", "sample": True, "entities": 3}},
        "unix:x",
    )
    assert (ours.product, ours.sample, ours.entities, ours.embedded) == ("catalog", True, 3, True)
    theirs = parse_config(
        {"noCode": "true", "versions": {"acryldata/datahub": {"version": "v1.2.0"}}}, "http://x"
    )
    assert (theirs.product, theirs.version) == ("datahub", "v1.2.0")
    with pytest.raises(ServerFault, match="not a metadata service"):
        parse_config({}, "http://x")


@pytest.mark.parametrize("body", [None, [], {"value": None}, {"value": []}, "text"])
def test_an_answer_of_another_shape_is_a_fault_of_the_server(body: Any) -> None:
    with pytest.raises(ServerFault):
        parse_search(body, "")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInput),
        (401, NotSignedIn),
        (403, Forbidden),
        (404, NotFound),
        (412, Conflict),
        (418, InvalidInput),
        (422, InvalidInput),
        (500, ServerFault),
        (503, Unreachable),
        (507, StorageFull),
    ],
)
def test_a_refusal_becomes_the_error_that_says_what_to_do(status: int, kind: Any) -> None:
    error = error_of_answer(status, b'{"message": "the reason\\u001b[31m", "status": 1}')
    assert type(error) is kind
    assert "the reason" in str(error)
    assert "\x1b" not in str(error)


def test_a_server_that_says_when_to_ask_again_is_busy() -> None:
    body = b'{"message": "the index is being built", "status": 503}'
    error = error_of_answer(503, body, {"retry-after": "3"})
    assert type(error) is Busy
    assert error.retry_after_seconds == 3
    assert str(error) == "the server cannot answer now (the index is being built); try again"
    body = b'{"message": "it is being counted; try again in 2 minutes", "status": 503}'
    said = str(error_of_answer(503, body))
    assert said == "the server cannot answer now (it is being counted; try again in 2 minutes)"


def test_a_page_of_a_proxy_is_not_shown() -> None:
    assert "html" not in str(error_of_answer(502, b"<html><body>Bad Gateway</body></html>"))
    assert "said no more" in str(error_of_answer(500, b""))


def test_a_graphql_error_keeps_the_words_of_the_server() -> None:
    error = error_of_graphql([{"message": "x does not exist.", "extensions": {"code": 404}}])
    assert type(error) is NotFound
    assert str(error) == "x does not exist."
    assert type(error_of_graphql([{"message": "m"}])) is InvalidInput
