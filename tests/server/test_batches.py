"""The reads of OpenAPI clients: many entities at once, relationships page by page."""

from urllib.parse import quote

import pytest


def hive(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def test_many_entities_are_read_each_with_aspects_of_its_own(caller):
    first, second = hive("batched.1"), hive("batched/2")
    for urn in (first, second):
        caller.ingest(urn, "ownership", {"owners": []})
        caller.ingest(urn, "globalTags", {"tags": []})
    asked = [
        {"urn": second, "globalTags": {}, "status": {}},
        {"urn": hive("batched.missing"), "globalTags": {}},
        {"urn": first, "ownership": {}, "globalTags": {}},
    ]
    answer = caller.post("/openapi/v3/entity/dataset/batchGet", asked)
    assert answer.json() == [
        {"urn": second, "globalTags": {"value": {"tags": []}}},
        {
            "urn": first,
            "ownership": {"value": {"owners": []}},
            "globalTags": {"value": {"tags": []}},
        },
    ]
    path = "/openapi/v3/entity/dataset/batchGet?systemMetadata=true"
    (found,) = caller.post(path, asked[:1]).json()
    assert "runId" in found["globalTags"]["systemMetadata"]
    (whole,) = caller.post(path, {"urn": first}).json()
    assert {"datasetKey", "ownership", "globalTags"} <= set(whole)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("dataset/batchGet", "text", 400),
        ("dataset/batchGet", [{"ownership": {}}], 400),
        ("dataset/batchGet", [{"urn": "urn:li:tag:x"}], 400),
        ("dataset/batchGet", ["urn:li:tag:x"], 400),
        ("nonsense/batchGet", [], 400),
        ("dataset/batchForget", [], 404),
    ],
)
def test_a_batch_that_is_none_is_refused(caller, path, body, status):
    assert caller.post(f"/openapi/v3/entity/{path}", body).status_code == status


@pytest.mark.parametrize("slash", ["", "/"])
def test_relationships_are_paged_until_a_page_is_empty(caller, dataset, slash):
    owners = [f"urn:li:corpuser:paged-{n}" for n in range(5)]
    owned = {"owners": [{"owner": owner, "type": "NONE"} for owner in owners]}
    caller.ingest(dataset, "ownership", owned)
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": "urn:li:tag:paged"}]})
    address = f"/openapi/relationships/v1{slash}?urn={quote(dataset, safe='')}&direction=OUTGOING"
    types = "&relationshipTypes=OwnedBy&relationshipTypes=TaggedWith"
    found, start = [], 0
    while True:
        page = caller.get(f"{address}{types}&start={start}&count=4").json()
        assert (page["start"], page["total"]) == (start, 6)
        if not page["count"]:
            break
        found += page["entities"]
        start += page["count"]
    expected = [{"urn": owner, "relationshipType": "OwnedBy"} for owner in owners]
    expected.append({"urn": "urn:li:tag:paged", "relationshipType": "TaggedWith"})
    assert found == expected
    every = caller.get(address).json()["entities"]
    assert [one for one in every if one in expected] == expected
    assert caller.get(f"{address}&count=x").status_code == 400


def test_a_type_without_snapshots_says_where_to_read_it(caller):
    urn = "urn:li:container:no-snapshot"
    caller.ingest(urn, "status", {"removed": False})
    answer = caller.get(f"/entities/{quote(urn, safe='')}")
    assert answer.status_code == 404
    assert f"/entitiesV2/{quote(urn, safe='')}" in answer.json()["message"]
    assert caller.entity(urn)["urn"] == urn


def test_an_entity_that_is_named_many_times_is_given_once(caller, dataset):
    caller.ingest(dataset, "globalTags", {"tags": []})
    body = [{"urn": dataset, "status": {}}, {"urn": dataset, "globalTags": {}}] * 500
    found = caller.post("/openapi/v3/entity/dataset/batchGet", body).json()
    assert found == [{"urn": dataset, "globalTags": {"value": {"tags": []}}}]
    everything = caller.post("/openapi/v3/entity/dataset/batchGet", [*body, {"urn": dataset}])
    assert "datasetKey" in everything.json()[0]
