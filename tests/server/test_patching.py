"""Patches over the wire: applied where the value is, so that none is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.server.conftest import Caller

PII, OLD = "urn:li:tag:PII", "urn:li:tag:old"
ADD_PII = {"op": "add", "path": f"/tags/{PII}", "value": {"tag": PII}}


def send(caller: Any, urn: str, aspect: str, patch: Any, **more: Any) -> httpx.Response:
    envelope = {"value": json.dumps(patch), "contentType": "application/json-patch+json"}
    answer: httpx.Response = caller.send(urn, aspect, None, "PATCH", aspect=envelope, **more)
    return answer


def patched(caller: Any, urn: str, aspect: str, patch: Any, **more: Any) -> Any:
    answer = send(caller, urn, aspect, patch, **more)
    assert answer.status_code == 200, answer.text
    return caller.value(urn, aspect)


def test_the_server_says_that_it_takes_patches(caller: Caller) -> None:
    assert caller.get("/config").json()["patchCapable"] is True


def test_a_patch_of_an_absent_aspect_makes_the_entity(caller: Caller, dataset: str) -> None:
    assert patched(caller, dataset, "globalTags", [ADD_PII]) == {"tags": [{"tag": PII}]}
    aspects = caller.entity(dataset)["aspects"]
    assert set(aspects) >= {"datasetKey", "dataPlatformInstance", "globalTags"}
    assert caller.search(f'tags:"{PII}" AND name:{dataset.split(",")[1]}')["entities"] == [dataset]


def test_plain_json_as_content_type_and_the_object_form_are_taken(
    caller: Caller, dataset: str
) -> None:
    keys = {"tags": ["attribution\u241fsource", "tag"]}
    add = {"op": "add", "path": f"/tags//{PII}", "value": {"tag": PII}}
    patch = {"arrayPrimaryKeys": keys, "patch": [add], "forceGenericPatch": False}
    envelope = {"value": json.dumps(patch), "contentType": "application/json"}
    caller.ingest(dataset, "globalTags", None, "PATCH", aspect=envelope)
    assert caller.value(dataset, "globalTags") == {"tags": [{"tag": PII}]}


def test_who_and_when_are_filled_in_where_the_record_asks(caller: Caller, dataset: str) -> None:
    owner = {"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}
    patch = [{"op": "add", "path": "/owners/urn:li:corpuser:a/DATAOWNER", "value": owner}]
    actor = {"actor": "urn:li:corpuser:patcher"}
    value = patched(caller, dataset, "ownership", patch, auditHeader=actor)
    assert value["owners"] == [owner]
    assert value["lastModified"]["actor"] == "urn:li:corpuser:patcher"
    assert (
        value["lastModified"]["time"]
        == (caller.entity(dataset)["aspects"]["ownership"]["created"]["time"])
    )


def test_a_patch_that_changes_nothing_makes_no_version(caller: Caller, dataset: str) -> None:
    for _ in range(2):
        patched(caller, dataset, "globalTags", [ADD_PII])
    patched(caller, dataset, "globalTags", [{"op": "remove", "path": f"/tags/{OLD}"}])
    assert caller.version(dataset, "globalTags", 1).status_code == 404
    assert caller.entity(dataset)["aspects"]["globalTags"]["systemMetadata"]["version"] == "1"


def test_removing_from_what_is_not_there_makes_nothing(caller: Caller, dataset: str) -> None:
    remove = [{"op": "remove", "path": f"/tags/{PII}", "value": {}}]
    assert send(caller, dataset, "globalTags", remove).status_code == 200
    assert not caller.exists(dataset)
    caller.ingest(dataset, "status", {"removed": False})
    assert patched(caller, dataset, "globalTags", remove) is None


def test_a_description_that_a_patch_removes_does_not_come_back(
    caller: Caller, dataset: str
) -> None:
    infos = [{"fieldPath": "a", "description": "old"}, {"fieldPath": "b", "description": "kept"}]
    caller.ingest(dataset, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})
    patch = [{"op": "remove", "path": "/editableSchemaFieldInfo/a/description"}]
    value = patched(caller, dataset, "editableSchemaMetadata", patch)
    assert value["editableSchemaFieldInfo"] == [{"fieldPath": "a"}, infos[1]]


def test_patches_of_one_batch_build_on_each_other(caller: Caller, dataset: str) -> None:
    def proposal(tag: str) -> dict[str, Any]:
        add = [{"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}}]
        return caller.proposal(dataset, "globalTags", add, "PATCH")

    caller.batch(proposal(PII), proposal(OLD)).raise_for_status()
    assert caller.value(dataset, "globalTags") == {"tags": [{"tag": PII}, {"tag": OLD}]}


def test_patches_at_the_same_moment_are_all_applied(caller: Caller, dataset: str) -> None:
    def attempt(n: int) -> int:
        tag = f"urn:li:tag:at-once-{n}"
        add = [{"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}}]
        return send(caller, dataset, "globalTags", add).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(attempt, range(24))) == {200}
    tags = [tag["tag"] for tag in caller.value(dataset, "globalTags")["tags"]]
    assert sorted(tags) == sorted(f"urn:li:tag:at-once-{n}" for n in range(24))


def test_lineage_that_is_patched_in_and_out_is_followed(caller: Caller, dataset: str) -> None:
    upstream = "urn:li:dataset:(urn:li:dataPlatform:hive,patched.upstream,PROD)"
    add = {
        "op": "add",
        "path": f"/upstreams/{upstream}",
        "value": {"dataset": upstream, "type": "TRANSFORMED"},
    }
    path = f"/relationships?direction=OUTGOING&types=DownstreamOf&urn={dataset}"
    patched(caller, dataset, "upstreamLineage", [add])
    assert caller.get(path).json()["entities"] == [upstream]
    patched(caller, dataset, "upstreamLineage", [{"op": "remove", "path": add["path"]}])
    assert caller.get(path).json()["entities"] == []


@pytest.mark.parametrize(
    ("aspect", "patch", "status", "told"),
    [
        ("globalTags", {"op": "add"}, 400, "a list of operations"),
        ("globalTags", [{"op": "add", "path": "tags", "value": 1}], 400, "patch[0].path"),
        (
            "globalTags",
            [ADD_PII, {"op": "add", "path": "/tags", "value": 1}],
            422,
            "globalTags.tags",
        ),
        ("globalTags", [ADD_PII, {"op": "test", "path": "/tags", "value": []}], 422, "failed"),
        ("globalTags", [{"op": "add", "path": "/tags/x", "value": {"tag": "x"}}], 422, "a URN"),
        ("datasetUsageStatistics", [], 400, "timeseries"),
        ("datasetKey", [{"op": "add", "path": "/name", "value": "other"}], 422, "datasetKey"),
        ("status", [{"op": "add", "path": "/removed", "value": True}], 404, "does not exist"),
        ("nonsense", [], 422, "Unknown aspect"),
    ],
)
def test_a_bad_patch_is_refused_and_stores_nothing(
    caller: Caller, dataset: str, aspect: str, patch: Any, status: int, told: str
) -> None:
    answer = send(caller, dataset, aspect, patch)
    assert answer.status_code == status, answer.text
    assert told in answer.json()["message"]
    assert not caller.exists(dataset)


@pytest.mark.parametrize(("depth", "status"), [(60, 200), (300, 422), (1000, 422), (2000, 400)])
def test_a_patch_nested_deep_is_stored_or_refused_but_never_fails(
    caller: Caller, dataset: str, depth: int, status: int
) -> None:
    deep = '{"x":' * depth + "1" + "}" * depth
    patch = '[{"op": "add", "path": "/tomorrow' + "/a" * 60 + '", "value": ' + deep + "}]"
    answer = caller.send(dataset, "status", None, "PATCH", aspect={"value": patch})
    assert answer.status_code == status, answer.text


def test_a_condition_guards_a_patch(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": OLD}]})
    answer = send(caller, dataset, "globalTags", [ADD_PII], headers={"If-Version-Match": "2"})
    assert answer.status_code == 412
    value = patched(caller, dataset, "globalTags", [ADD_PII], headers={"If-Version-Match": "1"})
    assert value == {"tags": [{"tag": OLD}, {"tag": PII}]}


@pytest.mark.nightly
def test_a_patch_that_would_hold_up_every_other_write_is_refused(
    caller: Caller, dataset: str
) -> None:
    tags = [f"urn:li:tag:many{at}" for at in range(9_000)]
    patch = [{"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}} for tag in tags]
    refused = send(caller, dataset, "globalTags", patch)
    assert refused.status_code == 422
    assert "send fewer operations" in refused.json()["message"]
    assert not caller.exists(dataset)
    assert len(patched(caller, dataset, "globalTags", patch[:500])["tags"]) == 500


def test_a_patch_that_doubles_itself_is_refused_before_it_fills_the_memory(
    caller: Caller, dataset: str
) -> None:
    begin = {"op": "add", "path": "/seed", "value": {"text": "x" * 100}}
    double = [{"op": "copy", "from": "/seed", "path": f"/seed/{at}"} for at in range(60)]
    answer = send(caller, dataset, "datasetProperties", [begin, *double])
    assert answer.status_code == 422
    assert "send fewer operations" in answer.json()["message"]


@pytest.mark.parametrize("columns", [5, "text", {"a": 1}])
def test_lineage_between_what_are_no_columns_is_refused(
    caller: Caller, dataset: str, columns: Any
) -> None:
    malformed = [{"upstreams": columns, "downstreams": columns}]
    patch = [
        {"op": "add", "path": "/fineGrainedLineages", "value": malformed},
        {"op": "remove", "path": "/fineGrainedLineages/NONE/a/NONE/b"},
    ]
    assert send(caller, dataset, "upstreamLineage", patch).status_code == 422


@pytest.mark.parametrize(
    ("aspect", "array", "value"),
    [
        ("globalTags", "tags", {"tags": [{"tag": PII}, {"tag": OLD}]}),
        ("ownership", "owners", {"owners": [{"owner": "urn:li:corpuser:a", "type": "NONE"}]}),
        ("glossaryTerms", "terms", {"terms": [{"urn": "urn:li:glossaryTerm:t"}]}),
        ("upstreamLineage", "upstreams", {"upstreams": [{"dataset": "urn:li:dataset:(a,b,c)"}]}),
        ("domains", "domains", {"domains": ["urn:li:domain:d"]}),
        ("institutionalMemory", "elements", {"elements": [{"url": "https://example.com"}]}),
        (
            "structuredProperties",
            "properties",
            {
                "properties": [
                    {"propertyUrn": "urn:li:structuredProperty:p", "values": [{"string": "v"}]}
                ]
            },
        ),
        ("documentation", "documentations", {"documentations": [{"documentation": "text"}]}),
        ("browsePaths", "paths", {"paths": ["/a/b"]}),
    ],
)
def test_removing_a_whole_array_empties_it(
    caller: Caller, dataset: str, aspect: str, array: str, value: Any
) -> None:
    definition = {
        "qualifiedName": "p",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    }
    caller.ingest("urn:li:structuredProperty:p", "propertyDefinition", definition)
    urn = dataset.split("[", maxsplit=1)[0].replace("]", "")
    caller.ingest(urn, aspect, value)
    patch = [{"op": "remove", "path": f"/{array}"}]
    assert patched(caller, urn, aspect, patch)[array] == []
    for name in ("TaggedWith", "OwnedBy", "TermedWith", "DownstreamOf", "AssociatedWith"):
        path = f"/relationships?direction=OUTGOING&types={name}&urn={urn}"
        assert caller.get(path).json()["entities"] == []


def test_removing_the_tags_of_a_column_empties_them_and_keeps_its_description(
    caller: Caller, dataset: str
) -> None:
    info = {"fieldPath": "id", "description": "kept", "globalTags": {"tags": [{"tag": PII}]}}
    caller.ingest(dataset, "editableSchemaMetadata", {"editableSchemaFieldInfo": [info]})
    patch = [{"op": "remove", "path": "/editableSchemaFieldInfo/id/globalTags/tags"}]
    value = patched(caller, dataset, "editableSchemaMetadata", patch)
    (found,) = value["editableSchemaFieldInfo"]
    assert found == {"fieldPath": "id", "description": "kept", "globalTags": {"tags": []}}
