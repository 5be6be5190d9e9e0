"""Scrolling of OpenAPI clients: through entities, relationships and edges of lineage."""

from typing import Any
from urllib.parse import quote, urlencode

import pytest

from explorer.server.search_request import pack_scroll_id, unpack_scroll_id
from tests.server.conftest import Caller

ENTITIES, RELATIONSHIPS = "/openapi/v3/entity", "/openapi/v3/relationship"
LINEAGE = "/openapi/v3/lineage/scroll"


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,scrolled.{name},PROD)"


LAKES = [hive(f"lake/{at}") for at in range(7)]
HIDDEN, OWNER = hive("hidden"), "urn:li:corpuser:scroll-owner"
TAG = "urn:li:tag:scroll-tag"


@pytest.fixture(scope="module", autouse=True)
def lakes(caller: Caller) -> None:
    """Seven datasets that only this module's word finds, in a chain, and a soft-deleted one at its
    end; all have one owner."""
    owned = {"owners": [{"owner": OWNER, "type": "NONE"}]}
    before = None
    for at, urn in enumerate([*LAKES, HIDDEN]):
        caller.ingest(urn, "datasetProperties", {"name": f"N{9 - at}", "description": "seegrund"})
        caller.ingest(urn, "ownership", owned)
        if before is not None:
            upstreams = [{"dataset": before, "type": "TRANSFORMED"}]
            caller.ingest(urn, "upstreamLineage", {"upstreams": upstreams})
        before = urn
    caller.ingest(HIDDEN, "status", {"removed": True})
    caller.ingest(TAG, "tagProperties", {"name": "t", "description": "seegrund"})


def ask(caller: Caller, path: str, body: Any = None, /, **query: Any) -> Any:
    path = f"{path}?{urlencode(query, doseq=True)}"
    answer = caller.get(path) if body is None else caller.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def scroll(caller: Caller, path: str, body: Any = None, /, **query: Any) -> list[Any]:
    """Return all pages, each as its list of entities or edges."""
    pages: list[Any] = []
    following: dict[str, str] = {}
    while True:
        page = ask(caller, path, body, **query, **following)
        pages.append(page["results"] if "results" in page else page["entities"])
        if "scrollId" not in page:
            return pages
        following = {"scrollId": page["scrollId"]}


def urns(pages: list[Any]) -> list[str]:
    return [entity["urn"] for page in pages for entity in page]


def edges(pages: list[Any]) -> list[tuple[str, str, str]]:
    return [
        (one["source"]["urn"], one["relationshipType"], one["destination"]["urn"])
        for page in pages
        for one in page
    ]


OWNED = [(urn, "OwnedBy", OWNER) for urn in LAKES]
CHAIN = [(LAKES[at], "DownstreamOf", LAKES[at - 1]) for at in range(1, 7)]


@pytest.mark.parametrize("count", [1, 3, 7, 100])
@pytest.mark.parametrize("entity", ["dataset", "DATASET"])
def test_the_entities_of_a_type_are_listed_to_the_end(
    caller: Caller, entity: str, count: int
) -> None:
    pages = scroll(caller, f"{ENTITIES}/{entity}", query="seegrund", count=count, aspects="status")
    assert urns(pages) == LAKES
    assert all(len(page) == count for page in pages[:-1])
    posted = scroll(
        caller, f"{ENTITIES}/scroll", {"entities": [entity]}, query="seegrund", count=count
    )
    assert posted == [[{"urn": entity["urn"]} for entity in page] for page in pages]


def test_a_listing_is_ten_entities_with_all_aspects_unless_it_says_otherwise(
    caller: Caller,
) -> None:
    page = ask(caller, f"{ENTITIES}/dataset", query="seegrund")
    assert page["totalCount"] == 7
    assert {"datasetKey", "datasetProperties", "ownership"} <= set(page["entities"][0])
    assert "systemMetadata" not in page["entities"][0]["ownership"]
    assert len(ask(caller, f"{ENTITIES}/dataset")["entities"]) <= 10


def test_the_requested_aspects_are_returned(caller: Caller) -> None:
    for query in (
        {"aspects": ["ownership", "status"]},
        {"aspects": "ownership,status"},
        {"aspectNames": "ownership", "aspects": "status"},
    ):
        page = ask(caller, f"{ENTITIES}/dataset", query="seegrund", count=1, **query)
        (entity,) = page["entities"]
        assert set(entity) == {"urn", "ownership"}
        assert entity["ownership"]["value"]["owners"][0]["owner"] == OWNER
    body: dict[str, Any] = {"entities": ["dataset"], "aspects": ["ownership"]}
    posted = ask(caller, f"{ENTITIES}/scroll", body, query="seegrund", systemMetadata="true")
    assert "runId" in posted["entities"][0]["ownership"]["systemMetadata"]
    everything = ask(caller, f"{ENTITIES}/scroll", body | {"aspects": []}, query="seegrund")
    assert {"datasetKey", "datasetProperties"} <= set(everything["entities"][0])


def test_soft_deleted_entities_are_listed_only_on_request(caller: Caller) -> None:
    asked = {"query": "seegrund", "includeSoftDelete": "true"}
    assert urns(scroll(caller, f"{ENTITIES}/dataset", **asked)) == sorted([*LAKES, HIDDEN])
    posted = scroll(caller, f"{ENTITIES}/scroll", {"entities": ["dataset"]}, **asked, count=3)
    assert urns(posted) == sorted([*LAKES, HIDDEN])


def test_all_types_are_scrolled_together_and_counted_by_value(caller: Caller) -> None:
    asked = {"query": "seegrund", "count": 3, "skipAggregation": "false"}
    assert urns(scroll(caller, f"{ENTITIES}/scroll", {}, **asked)) == [*LAKES, TAG]
    facets = ask(caller, f"{ENTITIES}/scroll", {}, **asked)["facets"]
    assert {"field": "owners", "aggregations": {OWNER: 7}} in facets


def test_entities_are_scrolled_in_the_requested_order(caller: Caller) -> None:
    for query in ({"sort": "name"}, {"sortCriteria": ["platform", "name"]}):
        pages = scroll(caller, f"{ENTITIES}/dataset", query="seegrund", count=2, **query)
        assert urns(pages) == LAKES[::-1]
    by_urn = scroll(caller, f"{ENTITIES}/dataset", query="seegrund", sortOrder="DESCENDING")
    assert urns(by_urn) == LAKES[::-1]
    body = {"entities": ["dataset"], "sortCriteria": [{"field": "name", "order": "DESCENDING"}]}
    assert urns(scroll(caller, f"{ENTITIES}/scroll", body, query="seegrund", count=2)) == LAKES


def test_a_filter_in_either_form_narrows_a_scroll(caller: Caller) -> None:
    some = {"field": "urn", "values": LAKES[2:4], "condition": "EQUAL"}
    last = {"field": "urn", "values": ["lake/6,PROD)"], "condition": "ENDS_WITH"}
    body = {"filter": {"and": [{"criteria": [some]}, {"criteria": [last]}]}}
    assert urns(scroll(caller, f"{ENTITIES}/scroll", body, count=1)) == [*LAKES[2:4], LAKES[6]]
    body = {"filter": {"or": [{"and": [some]}]}}
    assert urns(scroll(caller, f"{ENTITIES}/scroll", body)) == LAKES[2:4]


def test_slices_are_disjoint_and_together_everything(caller: Caller) -> None:
    asked = {"query": "seegrund", "count": 2, "sliceMax": 3}
    slices = [urns(scroll(caller, f"{ENTITIES}/dataset", **asked, sliceId=at)) for at in range(3)]
    assert all(len(one) < 7 for one in slices)
    assert sorted(urn for one in slices for urn in one) == LAKES
    found = [
        edges(scroll(caller, f"{RELATIONSHIPS}/scroll", pointing_at(OWNER), sliceMax=3, sliceId=at))
        for at in range(3)
    ]
    assert sorted(edge for one in found for edge in one) == OWNED


def test_one_entity_and_one_aspect_are_read_by_urn(caller: Caller) -> None:
    for urn in (quote(LAKES[0], safe=""), quote(LAKES[0], safe="/:,()")):
        path = f"{ENTITIES}/dataset/{urn}"
        assert ask(caller, path, aspects="ownership").keys() == {"urn", "ownership"}
        assert {"datasetKey", "ownership"} <= ask(caller, path).keys()
        assert ask(caller, f"{path}/ownership")["value"]["owners"][0]["owner"] == OWNER
        assert caller.get(f"{path}/globalTags").status_code == 404
        for method in ("GET", "DELETE"):
            missing = caller.http.request(method, f"{path}/nope")
            assert missing.status_code == 404
            assert missing.json()["message"] == "dataset has no aspect 'nope'"
    assert ask(caller, f"{ENTITIES}/dataset/{quote(HIDDEN)}", aspects="status") == {
        "urn": HIDDEN,
        "status": {"value": {"removed": True}},
    }


@pytest.mark.parametrize("count", [2, 7, 100])
def test_version_2_lists_and_reads_entities_in_its_own_form(caller: Caller, count: int) -> None:
    path = "/openapi/v2/entity"
    asked = {"query": "seegrund", "count": count, "aspectNames": ["status", "ownership"]}
    pages = scroll(caller, f"{path}/dataset", **asked)
    assert urns(pages) == LAKES
    assert {name for page in pages for one in page for name in one["aspects"]} == {"ownership"}
    body = {"urns": [LAKES[1], hive("never"), LAKES[0]], "aspectNames": ["ownership"]}
    found = ask(caller, f"{path}/batch/dataset", body)["entities"]
    assert [one["urn"] for one in found] == [LAKES[1], LAKES[0]]
    assert found[0] == pages[0][1]
    (whole,) = ask(
        caller, f"{path}/batch/dataset", {"urns": LAKES[:1], "withSystemMetadata": True}
    )["entities"]
    assert "runId" in whole["aspects"]["datasetKey"]["systemMetadata"]
    for wrong in ({}, {"urns": [TAG]}, {"urns": "x"}):
        assert caller.post(f"{path}/batch/dataset", wrong).status_code == 400
    assert caller.post(f"{path}/batch/nonsense", body).status_code == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (LAKES[0], 204),
        (f"{LAKES[0]}/ownership", 204),
        (f"{LAKES[0]}/globalTags", 404),
        (hive("never"), 404),
        ("urn:li:tag:x", 400),
    ],
)
def test_a_head_says_whether_something_exists(caller: Caller, path: str, status: int) -> None:
    answer = caller.http.head(f"{ENTITIES}/dataset/{quote(path, safe='/')}")
    assert (answer.status_code, answer.content) == (status, b"")


def pointing_at(*targets: str) -> dict[str, Any]:
    one = {"field": "urn", "values": list(targets), "condition": "EQUAL"}
    return {"destinationFilter": {"and": [{"criteria": [one]}]}}


def coming_from(*sources: str) -> dict[str, Any]:
    return {"sourceFilter": pointing_at(*sources)["destinationFilter"]}


@pytest.mark.parametrize("count", [1, 3, 7, 100])
def test_what_points_at_an_entity_is_scrolled_to_the_end(caller: Caller, count: int) -> None:
    pages = scroll(caller, f"{RELATIONSHIPS}/scroll", pointing_at(OWNER), count=count)
    assert edges(pages) == OWNED
    assert all(len(page) == count for page in pages[:-1])
    assert pages[0][0] == {
        "relationshipType": "OwnedBy",
        "source": {"entityType": "dataset", "urn": LAKES[0]},
        "destination": {"entityType": "corpuser", "urn": OWNER},
    }


def test_edges_of_soft_deleted_entities_are_scrolled_only_on_request(caller: Caller) -> None:
    asked = {"includeSoftDelete": "true", "count": 3}
    found = edges(scroll(caller, f"{RELATIONSHIPS}/scroll", pointing_at(OWNER), **asked))
    assert found == [*OWNED, (HIDDEN, "OwnedBy", OWNER)]
    path = f"{RELATIONSHIPS}/dataset/{quote(LAKES[6], safe='')}"
    assert edges(scroll(caller, path, direction="INCOMING")) == []
    found = edges(scroll(caller, path, direction="INCOMING", **asked))
    assert found == [(HIDDEN, "DownstreamOf", LAKES[6])]


def test_references_that_are_rewritten_while_they_are_scrolled_are_all_met(caller: Caller) -> None:
    old, new = "urn:li:corpuser:scroll-old", "urn:li:corpuser:scroll-new"
    tables = [hive(f"moved{at}") for at in range(5)]
    for urn in tables:
        caller.ingest(urn, "ownership", {"owners": [{"owner": old, "type": "NONE"}]})
    met: list[str] = []
    following: dict[str, str] = {}
    while True:
        page = ask(caller, f"{RELATIONSHIPS}/scroll", pointing_at(old), count=2, **following)
        for one in page["results"]:
            met.append(one["source"]["urn"])
            owners = [{"owner": new, "type": "NONE"}]
            caller.ingest(met[-1], "ownership", {"owners": owners})
        if "scrollId" not in page:
            break
        following = {"scrollId": page["scrollId"]}
    assert met == tables


def test_relationships_are_selected_by_name_ends_and_types(caller: Caller) -> None:
    path = f"{RELATIONSHIPS}/scroll"
    three = LAKES[:3]
    from_three = [edge for edge in (*OWNED, *CHAIN) if edge[0] in three]
    named = {"relationshipTypes": ["OwnedBy", "DownstreamOf"]}
    assert sorted(edges(scroll(caller, path, coming_from(*three), count=2, **named))) == sorted(
        from_three
    )
    both = coming_from(*three) | pointing_at(OWNER)
    assert edges(scroll(caller, path, both, count=2)) == OWNED[:3]
    swapped = coming_from(OWNER) | pointing_at(*three)
    assert edges(scroll(caller, path, swapped, direction="INCOMING")) == OWNED[:3]
    of_users = {"destinationTypes": "corpuser"}
    assert edges(scroll(caller, path, coming_from(*three), **of_users)) == OWNED[:3]
    assert edges(scroll(caller, path, coming_from(*three), sourceTypes="chart")) == []
    edge = [
        {"field": "source.urn", "values": three, "condition": "EQUAL"},
        {"field": "relationshipType", "values": ["OwnedBy"], "condition": "IN"},
    ]
    assert edges(scroll(caller, path, {"edgeFilter": {"and": [{"criteria": edge}]}})) == OWNED[:3]


def test_all_relationships_of_a_name_are_scrolled(caller: Caller) -> None:
    found = edges(scroll(caller, f"{RELATIONSHIPS}/OwnedBy", count=3))
    assert len(found) == len(set(found))
    assert [edge for edge in found if edge[2] == OWNER] == OWNED
    assert {edge[1] for edge in found} == {"OwnedBy"}
    assert found == edges(
        scroll(caller, f"{RELATIONSHIPS}/scroll", {}, relationshipTypes="OwnedBy")
    )
    assert scroll(caller, f"{RELATIONSHIPS}/Nonsense") == [[]]


def test_the_relationships_of_an_entity_are_scrolled(caller: Caller) -> None:
    path = f"{RELATIONSHIPS}/dataset/{quote(LAKES[3], safe='')}"
    named = {"relationshipType[]": ["OwnedBy", "DownstreamOf"], "count": 1}
    assert edges(scroll(caller, path, **named)) == [CHAIN[2], OWNED[3]]
    assert edges(scroll(caller, path, direction="incoming")) == [CHAIN[3]]


def test_edges_of_lineage_are_scrolled_around_entities(caller: Caller) -> None:
    body = {"urns": LAKES[2:4]}
    assert sorted(edges(scroll(caller, LINEAGE, body, count=1))) == CHAIN[1:4]
    assert sorted(edges(scroll(caller, LINEAGE, body, direction="UPSTREAM"))) == CHAIN[1:3]
    assert sorted(edges(scroll(caller, LINEAGE, body, direction="DOWNSTREAM"))) == CHAIN[2:4]
    (edge,) = ask(caller, LINEAGE, {"urns": [LAKES[0]]})["results"]
    assert (edge["upstream"], edge["downstream"]) == (LAKES[0], LAKES[1])
    assert ask(caller, LINEAGE, body, relationshipTypes="Consumes")["results"] == []


def test_all_lineage_is_scrolled(caller: Caller) -> None:
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,scrolled,PROD),j)"
    io = {"inputDatasets": [LAKES[0]], "outputDatasets": [LAKES[1]]}
    caller.ingest(job, "dataJobInputOutput", io)
    pages = scroll(caller, LINEAGE, {}, count=2)
    found = edges(pages)
    assert len(found) == len(set(found))
    assert set(CHAIN) | {(job, "Consumes", LAKES[0]), (job, "Produces", LAKES[1])} <= set(found)
    assert not any(edge[1] == "OwnedBy" for edge in found)
    assert found == edges(scroll(caller, LINEAGE, {}, direction="UPSTREAM", count=5))
    flows = {
        (one["upstream"], one["downstream"])
        for page in pages
        for one in page
        if one["source"]["urn"] == job
    }
    assert flows == {(LAKES[0], job), (job, LAKES[1])}
    filtered = coming_from(job) | {"urns": None}
    assert edges(scroll(caller, LINEAGE, filtered, direction="OUTGOING")) == [
        (job, "Consumes", LAKES[0]),
        (job, "Produces", LAKES[1]),
    ]
    caller.ingest(job, "status", {"removed": True})


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        (f"{ENTITIES}/nonsense", None, "nonsense"),
        (f"{ENTITIES}/dataset?count=-1", None, "count"),
        (f"{ENTITIES}/dataset?count=many", None, "count"),
        (f"{ENTITIES}/dataset?sort=nonsense", None, "nonsense"),
        (f"{ENTITIES}/dataset?sortOrder=UP", None, "sortOrder"),
        (f"{ENTITIES}/dataset?scrollId=nonsense", None, "scrollId"),
        (f"{ENTITIES}/dataset?scrollId=%C2%A7", None, "scrollId"),
        (f"{ENTITIES}/dataset?sliceId=1", None, "sliceId"),
        (f"{ENTITIES}/dataset?sliceId=2&sliceMax=2", None, "sliceId"),
        (f"{ENTITIES}/dataset/nonsense", None, "nonsense"),
        (f"{ENTITIES}/dataset/urn:li:tag:x", None, "is not a dataset"),
        (f"{ENTITIES}/scroll", [], "object"),
        (f"{ENTITIES}/scroll", {"entities": ["nonsense"]}, "nonsense"),
        (f"{ENTITIES}/scroll", {"aspects": "ownership"}, "aspects"),
        (f"{ENTITIES}/scroll", {"filter": {"and": [{"or": []}]}}, "criteria"),
        (f"{ENTITIES}/scroll", {"sortCriteria": ["name"]}, "sort"),
        (f"{ENTITIES}/scroll?scrollId=AAAAAAAAAAAAAAAA", {}, "scrollId"),
        (f"{RELATIONSHIPS}/scroll?direction=UNDIRECTED", {}, "direction"),
        (f"{RELATIONSHIPS}/scroll?sourceTypes=nonsense", {}, "nonsense"),
        (f"{RELATIONSHIPS}/OwnedBy?scrollId=nonsense", None, "scrollId"),
        (f"{RELATIONSHIPS}/dataset/urn:li:tag:x", None, "is not a dataset"),
        (f"{LINEAGE}?direction=SIDEWAYS", {}, "direction"),
        (f"{LINEAGE}?direction=INCOMING", {"urns": [OWNER]}, "direction"),
        (LINEAGE, {"urns": ["nonsense"]}, "nonsense"),
    ],
)
def test_a_scroll_that_makes_no_sense_is_refused(
    caller: Caller, path: str, body: Any, told: str
) -> None:
    answer = caller.get(path) if body is None else caller.post(path, body)
    assert answer.status_code == 400
    assert told in answer.json()["message"]


@pytest.mark.parametrize(
    ("criterion", "told"),
    [
        ({"field": "platform", "values": ["x"]}, "urn, entityType"),
        ({"field": "urn", "values": ["x"], "condition": "CONTAIN"}, "EQUAL or IN"),
        ({"field": "urn", "values": ["x"], "negated": True}, "negated"),
        ({"field": "urn", "values": []}, "no values"),
    ],
)
def test_a_filter_of_relationships_that_is_not_understood_is_refused(
    caller: Caller, criterion: dict[str, Any], told: str
) -> None:
    body = {"sourceFilter": {"and": [{"criteria": [criterion]}]}}
    answer = caller.post(f"{RELATIONSHIPS}/scroll", body)
    assert answer.status_code == 400
    assert told in answer.json()["message"]


def test_a_scroll_id_belongs_to_its_request(caller: Caller) -> None:
    entities = ask(caller, f"{ENTITIES}/dataset", query="seegrund", count=2)["scrollId"]
    owned = ask(caller, f"{RELATIONSHIPS}/scroll", pointing_at(OWNER), count=2)["scrollId"]
    for path, body, token in (
        (f"{ENTITIES}/dataset?query=see", None, entities),
        (f"{ENTITIES}/tag?query=seegrund", None, entities),
        (f"{ENTITIES}/dataset?query=seegrund", None, owned),
        (f"{RELATIONSHIPS}/scroll", pointing_at(TAG), owned),
        (f"{RELATIONSHIPS}/scroll?includeSoftDelete=true", pointing_at(OWNER), owned),
        (f"{RELATIONSHIPS}/OwnedBy", None, owned),
        (LINEAGE, {}, owned),
    ):
        address = f"{path}{'&' if '?' in path else '?'}scrollId={token}"
        answer = caller.get(address) if body is None else caller.post(address, body)
        assert answer.status_code == 400, address
        assert "scrollId" in answer.json()["message"]


@pytest.mark.parametrize(
    "place", ["nonsense", "[0]", '[0,["x","y",1]]', f'[0,[{2**63},"x",1]]', '[-1,[1,"x",1]]', "[]"]
)
def test_a_scroll_id_with_another_place_is_refused(caller: Caller, place: str) -> None:
    page = ask(caller, f"{RELATIONSHIPS}/OwnedBy", count=1)
    asked = f"{RELATIONSHIPS}/OwnedBy {(('OwnedBy',), ('OUTGOING',), None)!r} False"
    key = unpack_scroll_id(asked, page["scrollId"])
    assert pack_scroll_id(asked, key) == page["scrollId"]
    token = pack_scroll_id(asked, place)
    assert caller.get(f"{RELATIONSHIPS}/OwnedBy?scrollId={token}").status_code == 400


def test_an_entity_that_is_deleted_between_pages_is_left_out(caller: Caller) -> None:
    made = [hive(f"gone{at}") for at in range(4)]
    for urn in made:
        caller.ingest(urn, "datasetProperties", {"description": "verlandet"})
    asked = {"query": "verlandet", "count": 2, "aspects": "status"}
    page = ask(caller, f"{ENTITIES}/dataset", **asked)
    for urn in made[1:3]:
        caller.post("/entities?action=delete", {"urn": urn}).raise_for_status()
    rest = scroll(caller, f"{ENTITIES}/dataset", **asked | {"scrollId": page["scrollId"]})
    assert urns(rest) == made[3:]
