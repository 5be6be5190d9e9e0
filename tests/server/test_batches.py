"""The reads of OpenAPI clients: many entities at once, relationships page by page."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.server.conftest import Caller


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def test_many_entities_are_read_each_with_aspects_of_its_own(caller: Caller) -> None:
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
def test_a_batch_that_is_none_is_refused(caller: Caller, path: str, body: Any, status: int) -> None:
    assert caller.post(f"/openapi/v3/entity/{path}", body).status_code == status


@pytest.mark.parametrize("header", [{}, {"X-Catalog-All-Or-None": "false"}])
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/aspects?action=ingestProposalBatch", "proposals"),
        ("/entities?action=batchIngest", "entities"),
        ("/usageStats?action=batchIngest", "buckets"),
        ("/openapi/v3/entity/dataset", None),
        ("/openapi/v3/entity/generic", "dataset"),
    ],
)
def test_a_batch_that_is_too_long_is_refused_as_a_whole(
    caller: Caller, path: str, name: str | None, header: dict[str, str]
) -> None:
    elements: list[Any] = [{}] * 20_001
    answer = caller.post(path, {name: elements} if name else elements, **header)
    assert answer.status_code == 413
    assert "20,001 elements; send 20,000 at most at once" in answer.json()["message"]


def test_a_snapshot_of_too_many_aspects_is_refused(caller: Caller) -> None:
    urn = hive("batched.long")
    value = {"urn": urn, "aspects": [{"com.linkedin.common.Status": {"removed": False}}] * 20_001}
    entity = {"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": value}}
    one = caller.post("/entities?action=ingest", {"entity": entity})
    several = caller.post("/entities?action=batchIngest", {"entities": [entity]})
    for answer in (one, several):
        assert answer.status_code == 413
        assert "send 20,000 at most at once" in answer.json()["message"]
    assert not caller.exists(urn)


def test_a_trace_of_too_many_aspects_is_refused(caller: Caller) -> None:
    entities: dict[str, list[str]] = {f"urn:li:tag:{at}": [] for at in range(10_001)}
    for asked in (entities, {"urn:li:tag:x": ["status"] * 10_001}):
        answer = caller.post(f"/openapi/v1/trace/write/{'0' * 32}", asked)
        assert answer.status_code == 400
        assert "name at most 10000" in answer.json()["message"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_relationships_are_paged_until_a_page_is_empty(
    caller: Caller, dataset: str, slash: str
) -> None:
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


def test_a_type_without_snapshots_says_where_to_read_it(caller: Caller) -> None:
    urn = "urn:li:container:no-snapshot"
    caller.ingest(urn, "status", {"removed": False})
    answer = caller.get(f"/entities/{quote(urn, safe='')}")
    assert answer.status_code == 404
    assert f"/entitiesV2/{quote(urn, safe='')}" in answer.json()["message"]
    assert caller.entity(urn)["urn"] == urn


def test_an_entity_that_is_named_many_times_is_given_once(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "globalTags", {"tags": []})
    body = [{"urn": dataset, "status": {}}, {"urn": dataset, "globalTags": {}}] * 500
    found = caller.post("/openapi/v3/entity/dataset/batchGet", body).json()
    assert found == [{"urn": dataset, "globalTags": {"value": {"tags": []}}}]
    everything = caller.post("/openapi/v3/entity/dataset/batchGet", [*body, {"urn": dataset}])
    assert "datasetKey" in everything.json()[0]


def test_aspects_of_many_entities_are_written_and_patched(caller: Caller) -> None:
    first, second = hive("written.1"), hive("written.2")
    system = {"runId": "openapi-run", "lastObserved": 1_700_000_000_000}
    sent = [
        {"urn": first, "globalTags": {"value": {"tags": []}, "systemMetadata": system}},
        {
            "urn": second,
            "datasetProperties": {"value": {"description": "One"}, "headers": {}},
            "status": {"value": {"removed": False}},
        },
    ]
    answer = caller.post("/openapi/v3/entity/dataset?async=false", sent)
    assert (answer.status_code, answer.json()) == (200, sent)
    assert caller.value(second, "datasetProperties") == {"description": "One"}
    system = caller.get(f"/entitiesV2/{quote(first, safe='')}").json()["aspects"]["globalTags"]
    assert system["systemMetadata"]["runId"] == "openapi-run"

    add = {"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}
    patch = [{"urn": first, "globalTags": {"value": {"patch": [add]}}}]
    assert caller.http.request("PATCH", "/openapi/v3/entity/dataset", json=patch).json() == patch
    assert caller.value(first, "globalTags") == {"tags": [{"tag": "urn:li:tag:PII"}]}


def test_a_single_aspect_is_written_patched_read_and_removed_by_its_path(caller: Caller) -> None:
    urn = hive("single/aspect")
    entity = f"/openapi/v3/entity/dataset/{quote(urn, safe=':,()')}"
    path = f"{entity}/datasetProperties"
    sent = {"value": {"description": "One"}, "systemMetadata": {"runId": "single"}}
    answer = caller.post(path, sent)
    assert (answer.status_code, answer.json()) == (
        200,
        {"urn": urn, "datasetProperties": {"value": {"description": "One"}}},
    )
    # By default an aspect is only created.
    assert "the aspect already exists" in caller.post(path, sent).text
    # Names are compared without regard to case.
    lower = f"{entity}/datasetproperties?createIfNotExists=false&systemMetadata=true"
    answer = caller.post(lower, {"value": {"description": "Two"}}).json()["datasetProperties"]
    assert answer["value"] == {"description": "Two"}
    assert answer["systemMetadata"]["version"] == "2"
    assert caller.post(f"{path}?createIfEntityNotExists=true", sent).status_code == 422

    patch = {"patch": [{"op": "add", "path": "/description", "value": "Three"}]}
    answer = caller.http.request("PATCH", path, json=patch)
    assert answer.json()["datasetProperties"] == {"value": {"description": "Three"}}
    assert caller.get(f"{path}?version=1").json() == {"value": {"description": "One"}}
    assert caller.get(f"{path}?version=9").status_code == 404
    assert caller.get(path).json() == {"value": {"description": "Three"}}

    caller.post(f"{entity}/status", {"value": {"removed": False}})
    assert caller.http.request("DELETE", path).status_code == 200
    assert caller.get(path).status_code == 404
    assert caller.value(urn, "status") == {"removed": False}


def test_a_timeseries_document_is_added_by_the_path_of_its_aspect(caller: Caller) -> None:
    urn = hive("single.profile")
    path = f"/openapi/v3/entity/dataset/{quote(urn, safe='')}/datasetProfile"
    profile = {"timestampMillis": 1_700_000_000_000, "rowCount": 3}
    for _ in range(2):
        answer = caller.post(path, {"value": profile})
        assert answer.json() == {"urn": urn, "datasetProfile": {"value": profile}}
        assert "traceparent" in answer.headers


def test_the_newest_document_of_a_timeseries_aspect_is_read_with_the_other_aspects(
    caller: Caller,
) -> None:
    """`DataHubGraph.get_entities` asks so for profiles, beside `?aspects=datasetProfile`."""
    urn, entity = hive("read.profile"), "/openapi/v3/entity/dataset"
    path = f"{entity}/{quote(urn, safe='')}"
    for day, rows in ((1, 3), (3, 5), (2, 4)):
        profile = {"timestampMillis": day * 86_400_000, "rowCount": rows}
        caller.post(f"{path}/datasetProfile", {"value": profile})
    newest = caller.get(f"{path}/datasetProfile").json()["value"]
    assert (newest["timestampMillis"], newest["rowCount"]) == (3 * 86_400_000, 5)
    names = ("datasetProfile", "datasetKey", "operation")
    asked = {"urn": urn, **{name: {} for name in names}}
    (batch,) = caller.post(f"{entity}/batchGet", [asked]).json()
    one = caller.get(f"{path}?aspects=datasetProfile,datasetKey,operation").json()
    whole = caller.get(f"{path}?systemMetadata=true").json()
    scroll = {"entities": ["dataset"], "aspects": ["datasetProfile"]}
    only = caller.post(f"{entity[:-8]}/scroll?query=read.profile", scroll).json()["entities"]
    assert batch == one
    assert [*one] == ["urn", "datasetKey", "datasetProfile"]
    assert one["datasetProfile"]["value"] == newest == whole["datasetProfile"]["value"]
    assert whole["datasetProfile"]["systemMetadata"]["lastObserved"] > 0
    assert only == [{"urn": urn, "datasetProfile": {"value": newest}}]
    assert caller.get(f"{path}/operation").status_code == 404


def test_a_batch_reads_the_versions_that_it_names(caller: Caller) -> None:
    urn, batch = hive("read.versions"), "/openapi/v3/entity/dataset/batchGet"
    for text in ("one", "two", "three"):
        caller.ingest(urn, "datasetProperties", {"description": text})

    def read(version: Any) -> Any:
        asked = {"headers": {"If-Version-Match": version}}
        given = [{"urn": urn, "datasetProperties": asked, "datasetKey": {}}]
        return caller.post(batch, given)

    for version, text in (("0", "three"), ("1", "one"), ("2", "two"), (2, "two")):
        (entity,) = read(version).json()
        assert entity["datasetProperties"] == {"value": {"description": text}}
        assert "datasetKey" in entity
    assert [*read("9").json()[0]] == ["urn", "datasetKey"]
    for wrong in ("-1", "x", "", "9" * 30):
        assert read(wrong).status_code == 400


def test_entities_of_several_types_are_written_patched_and_read_together(caller: Caller) -> None:
    urn, tag, generic = hive("several"), "urn:li:tag:several", "/openapi/v3/entity/generic"
    sent = {
        "dataset": [{"urn": urn, "status": {"value": {"removed": False}}}],
        "tag": [{"urn": tag, "tagProperties": {"value": {"name": "Several"}}}],
    }
    answer = caller.post(f"{generic}?async=false", sent)
    assert (answer.status_code, answer.json()) == (200, sent)
    added = {"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}}
    patch = {"dataset": [{"urn": urn, "globalTags": {"value": {"patch": [added]}}}]}
    assert caller.http.request("PATCH", generic, json=patch).status_code == 200
    asked = {"dataset": [{"urn": urn, "globalTags": {}}], "tag": [{"urn": tag, "tagKey": {}}]}
    assert caller.post(f"{generic}/batchGet", asked).json() == {
        "dataset": [{"urn": urn, "globalTags": {"value": {"tags": [{"tag": tag}]}}}],
        "tag": [{"urn": tag, "tagKey": {"value": {"name": "several"}}}],
    }
    other: Any = {"urn": hive("several.not"), "status": {"value": {"removed": False}}}
    wrongs: list[Any] = [[], {"dataset": {}}, {"dataset": [other], "nonsense": [other]}]
    for wrong in (*wrongs, {"dataset": [other], "chart": [other]}):
        assert caller.post(generic, wrong).status_code == 400
        assert caller.post(f"{generic}/batchGet", wrong).status_code == 400
    assert not caller.exists(other["urn"])
    assert caller.get(generic).status_code == 400


def test_a_write_is_traced_by_the_header_it_was_answered_with(caller: Caller) -> None:
    urn = hive("traced")
    sent = [{"urn": urn, "status": {"value": {"removed": False}}}]
    answer = caller.post("/openapi/v3/entity/dataset", sent)
    version, trace, _, _ = answer.headers["traceparent"].split("-")
    assert (version, len(trace)) == ("00", 32)
    asked = {urn: ["status", "ownership"]}
    told = caller.post(f"/openapi/v1/trace/write/{trace}", asked).json()[urn]
    assert told["status"]["success"] is True
    assert told["status"]["primaryStorage"] == {"writeStatus": "ACTIVE_STATE"}
    assert told["ownership"]["success"] is False


def test_an_entity_or_some_of_its_aspects_are_removed_for_good(caller: Caller) -> None:
    urn = hive("removed.for/good")
    sent = [
        {"urn": urn, "status": {"value": {"removed": False}}, "embed": {"value": {}}},
        {"urn": hive("named.alone")},
    ]
    caller.post("/openapi/v3/entity/dataset", sent)
    assert caller.value(hive("named.alone"), "datasetKey")["name"] == "named.alone"
    path = f"/openapi/v3/entity/dataset/{quote(urn, safe=':,()')}"
    assert caller.http.request("DELETE", f"{path}?aspects=embed").status_code == 200
    assert caller.value(urn, "embed") is None
    assert caller.value(urn, "status") == {"removed": False}
    assert caller.http.request("DELETE", path).status_code == 200
    assert caller.value(urn, "status") is None


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "dataset", [{"urn": "urn:li:tag:x", "status": {"value": {}}}], 400),
        ("POST", "dataset", [{"urn": hive("odd"), "status": {"removed": True}}], 400),
        ("POST", "dataset", [{"urn": hive("odd"), "nonsense": {"value": {}}}], 422),
        ("POST", "dataset", [{"urn": hive("odd"), "globalTags": {"value": {"tags": 5}}}], 422),
        ("POST", "dataset", ["text"], 400),
        ("PATCH", "dataset", [{"urn": hive("odd")}], 400),
        ("PATCH", "dataset", [{"urn": hive("odd"), "globalTags": {"value": {"x": 1}}}], 400),
        ("POST", f"dataset/{hive('odd')}/nonsense", {"value": {}}, 404),
        ("POST", f"dataset/{hive('odd')}", {"value": {}}, 404),
        ("POST", f"dataset/{hive('odd')}/globalTags", {"tags": []}, 400),
        ("POST", f"dataset/{hive('odd')}/globalTags", [], 400),
        ("POST", f"tag/{hive('odd')}/status", {"value": {}}, 400),
        ("POST", "nothing/urn:li:nothing:x/status", {"value": {}}, 400),
        ("PATCH", f"dataset/{hive('odd')}/globalTags", {"patch": 5}, 400),
        ("DELETE", "tag/urn:li:domain:x", None, 400),
        ("DELETE", "tag/urn:li:tag:never-there/status", None, 404),
        ("DELETE", "tag/urn:li:tag:never-there", None, 404),
    ],
)
def test_a_write_that_is_none_is_refused(
    caller: Caller, method: str, path: str, body: Any, status: int
) -> None:
    answer = caller.http.request(method, f"/openapi/v3/entity/{path}", json=body)
    assert answer.status_code == status, answer.text


def test_only_what_is_not_there_yet_is_created(caller: Caller) -> None:
    urn = hive("created.once")
    for text in ("first", "second"):
        sent = [{"urn": urn, "datasetProperties": {"value": {"description": text}}}]
        caller.post("/openapi/v3/entity/dataset?createIfNotExists=true", sent)
    assert caller.value(urn, "datasetProperties") == {"description": "first"}


def test_entity_types_and_their_aspects_are_listed_page_by_page(caller: Caller) -> None:
    path = "/openapi/v1/registry/models/entity/specifications"
    found: list[Any] = []
    while True:
        page = caller.get(f"{path}?start={len(found)}&count=7").json()
        assert page["start"] == len(found)
        assert page["count"] == len(page["elements"])
        found += page["elements"]
        if len(found) >= page["total"]:
            break
    registry = caller.catalog.registry
    assert [one["name"] for one in found] == sorted(registry.entities)
    tag = next(one for one in found if one["name"] == "tag")
    assert tag["keyAspectName"] == "tagKey"
    names = [one["aspectAnnotation"]["name"] for one in tag["aspectSpecs"]]
    assert set(names) == {"tagKey", *registry.aspects_of("tag")}
    assert len(names) == len(set(names))
    assert caller.get(f"{path}?start=many").status_code == 400
