"""Taking the references to an entity out of all others."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from explorer.metadata.registry import load_registry
from explorer.server.removal import without_references
from tests.server.conftest import Caller

TAG = "urn:li:tag:unlinked"
STAMP = {"time": 0, "actor": "urn:li:corpuser:x"}


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def unlink(caller: Any, urn: Any, dry_run: bool = False) -> Any:
    body = {"urn": urn, "dryRun": dry_run}
    answer = caller.post("/entities?action=deleteReferences", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def test_references_go_from_every_aspect_and_the_rest_stays(
    caller: Caller, schema: Callable[..., dict[str, Any]]
) -> None:
    tagged, columned = hive("unlinked.tagged"), hive("unlinked.columned")
    other = {"tag": "urn:li:tag:stays"}
    caller.ingest(tagged, "globalTags", {"tags": [{"tag": TAG}, other]})
    infos = [
        {"fieldPath": "a", "description": "kept", "globalTags": {"tags": [{"tag": TAG}]}},
        {"fieldPath": "b", "globalTags": {"tags": [other]}},
    ]
    caller.ingest(columned, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})
    rehearsed = unlink(caller, TAG, dry_run=True)
    assert caller.value(tagged, "globalTags") == {"tags": [{"tag": TAG}, other]}
    told = unlink(caller, TAG)
    assert told == rehearsed
    assert told["total"] == 2
    assert {(one["entity"], one["aspect"]) for one in told["relatedAspects"]} == {
        (tagged, "globalTags"),
        (columned, "editableSchemaMetadata"),
    }
    assert {one["relationship"] for one in told["relatedAspects"]} == {
        "TaggedWith",
        "EditableSchemaFieldTaggedWith",
    }
    assert caller.value(tagged, "globalTags") == {"tags": [other]}
    found = caller.value(columned, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert found == [
        {"fieldPath": "a", "description": "kept", "globalTags": {"tags": []}},
        infos[1],
    ]
    path = f"/relationships?direction=INCOMING&types=List()&urn={quote(TAG)}"
    assert caller.get(path).json()["entities"] == []
    (before,) = caller.version(tagged, "globalTags", 1).json()["aspect"].values()
    assert before == {"tags": [{"tag": TAG}, other]}
    assert caller.search("tags:unlinked")["numEntities"] == 0
    assert unlink(caller, TAG)["total"] == 0


def test_what_cannot_be_without_the_reference_stays_and_is_told(caller: Caller) -> None:
    flow = "urn:li:dataFlow:(airflow,unlinked,PROD)"
    job = f"urn:li:dataJob:({flow},task)"
    caller.ingest(job, "status", {"removed": False})
    table = hive("unlinked.contained")
    caller.ingest(table, "container", {"container": "urn:li:container:unlinked"})
    told = unlink(caller, flow)
    assert told["total"] == 0
    assert told["leftAspects"] == [
        {"entity": job, "relationship": "IsPartOf", "aspect": "dataJobKey"}
    ]
    told = unlink(caller, "urn:li:container:unlinked")
    assert (told["total"], told["leftTotal"]) == (0, 1)
    assert caller.value(table, "container") == {"container": "urn:li:container:unlinked"}


@pytest.mark.parametrize(
    ("aspect", "path", "urn", "value", "left"),
    [
        (
            "ownership",
            "owners.*.owner",
            "urn:li:corpuser:a",
            {"owners": [{"owner": "urn:li:corpuser:a"}, {"owner": "urn:li:corpuser:b"}]},
            {"owners": [{"owner": "urn:li:corpuser:b"}]},
        ),
        (
            "ownership",
            "owners.*.typeUrn",
            "urn:li:ownershipType:a",
            {"owners": [{"owner": "urn:li:corpuser:a", "typeUrn": "urn:li:ownershipType:a"}]},
            {"owners": [{"owner": "urn:li:corpuser:a"}]},
        ),
        (
            "chartInfo",
            "inputs.*.string",
            "urn:li:dataset:a",
            {"title": "t", "inputs": [{"string": "urn:li:dataset:a"}]},
            {"title": "t", "inputs": []},
        ),
        (
            "domains",
            "domains.*",
            "urn:li:domain:a",
            {"domains": ["urn:li:domain:a", "urn:li:domain:b"]},
            {"domains": ["urn:li:domain:b"]},
        ),
        (
            "glossaryTermInfo",
            "parentNode",
            "urn:li:glossaryNode:a",
            {"definition": "d", "termSource": "s", "parentNode": "urn:li:glossaryNode:a"},
            {"definition": "d", "termSource": "s"},
        ),
        ("container", "container", "urn:li:container:a", {"container": "urn:li:container:a"}, None),
    ],
)
def test_the_least_goes_that_can_go(
    aspect: str, path: str, urn: str, value: Any, left: Any
) -> None:
    assert without_references(load_registry(), aspect, value, [path], urn) == left


def test_many_references_are_counted_and_a_hundred_listed(caller: Caller) -> None:
    proposals = [
        caller.proposal(hive(f"unlinked.many{n}"), "globalTags", {"tags": [{"tag": f"{TAG}-many"}]})
        for n in range(120)
    ]
    caller.batch(*proposals).raise_for_status()
    told = unlink(caller, f"{TAG}-many")
    assert (told["total"], len(told["relatedAspects"])) == (120, 100)
