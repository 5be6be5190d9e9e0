"""Writing: what is stored, what is refused, and that a refusal stores nothing."""

import gzip
import json
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import quote

import httpx
import pytest

from explorer.server.store.sql.transaction import SqlTransaction
from tests.server.conftest import Caller

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
OWNERSHIP = {"owners": [{"owner": "urn:li:corpuser:jdoe", "type": "DATAOWNER"}]}
URNS = {
    "dataset": "urn:li:dataset:(urn:li:dataPlatform:kafka,seven.types,PROD)",
    "chart": "urn:li:chart:(looker,seven)",
    "dashboard": "urn:li:dashboard:(looker,seven)",
    "corpuser": "urn:li:corpuser:seven",
    "corpGroup": "urn:li:corpGroup:seven",
    "tag": "urn:li:tag:seven",
    "glossaryTerm": "urn:li:glossaryTerm:types.seven",
}


@pytest.mark.parametrize("urn", URNS.values(), ids=URNS)
def test_an_entity_of_each_type_is_written_and_read_back_with_its_key(
    caller: Caller, urn: Any
) -> None:
    assert caller.ingest(urn, "status", {"removed": False}) == urn
    read = caller.entity(urn)
    assert read["urn"] == urn
    assert read["entityName"] == urn.split(":")[2]
    key = caller.catalog.registry.entity(read["entityName"]).key
    assert {key, "status"} <= set(read["aspects"])
    for name, wrapper in read["aspects"].items():
        assert wrapper["name"] == name
        assert wrapper["version"] == 0
        assert set(wrapper["created"]) == {"time", "actor"}
        assert isinstance(wrapper["value"], dict)


def test_an_aspect_is_replaced_as_a_whole(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "datasetProperties", {"description": "old", "name": "n"})
    caller.ingest(dataset, "datasetProperties", {"description": "new"})
    assert caller.value(dataset, "datasetProperties") == {"description": "new"}


def test_a_write_looks_up_no_entity_that_it_is_not_about(
    caller: Caller, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.ingest(dataset, "datasetProperties", {"description": "old"})
    looked_up: list[str] = []

    def aspect(transaction: SqlTransaction, urn: str, name: str, version: int = 0) -> Any:
        looked_up.append(urn)
        return read(transaction, urn, name, version)

    read = SqlTransaction.aspect
    monkeypatch.setattr(SqlTransaction, "aspect", aspect)
    caller.ingest(dataset, "datasetProperties", {"description": "new"})
    assert set(looked_up) <= {dataset}


def test_versions_count_up_from_the_oldest_and_an_identical_value_makes_none(
    caller: Caller, dataset: str
) -> None:
    written = [{"description": text} for text in ("one", "two", "three")]
    for value in written:
        caller.ingest(dataset, "datasetProperties", value)
        caller.ingest(dataset, "datasetProperties", value)
    read = [caller.version(dataset, "datasetProperties", n).json() for n in (1, 2, 0)]
    assert [answer["version"] for answer in read] == [1, 2, 0]
    assert [next(iter(answer["aspect"].values())) for answer in read] == written
    assert caller.version(dataset, "datasetProperties", -1).json() == read[1]
    assert caller.version(dataset, "datasetProperties", 3).status_code == 404
    assert caller.version(dataset, "datasetProperties", -2).json() == read[0]
    assert caller.version(dataset, "datasetProperties", -3).status_code == 404


def test_the_same_value_with_its_keys_in_another_order_makes_no_version(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "datasetProperties", {"name": "n", "description": "d"})
    caller.ingest(dataset, "datasetProperties", {"description": "d", "name": "n"})
    assert caller.version(dataset, "datasetProperties", 1).status_code == 404


def test_an_identical_value_is_noted_as_seen_again_by_the_later_run(
    caller: Caller, dataset: str
) -> None:
    for run, seen in (("first", 1), ("second", 2)):
        system = {"runId": run, "lastObserved": seen}
        caller.ingest(dataset, "status", {"removed": False}, systemMetadata=system)
    system = caller.entity(dataset)["aspects"]["status"]["systemMetadata"]
    assert system == {
        "runId": "first",
        "lastObserved": 2,
        "lastRunId": "second",
        "version": "1",
    }


def test_system_metadata_may_be_a_json_string(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "status", {"removed": False}, systemMetadata='{"runId": "said"}')
    assert caller.entity(dataset)["aspects"]["status"]["systemMetadata"]["runId"] == "said"


def test_the_actor_is_the_one_of_the_audit_header(caller: Caller, dataset: str) -> None:
    actor = {"actor": "urn:li:corpuser:auditor", "time": 1}
    caller.ingest(dataset, "status", {"removed": False}, auditHeader=actor)
    created = caller.entity(dataset)["aspects"]["status"]["created"]
    assert created["actor"] == "urn:li:corpuser:auditor"


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"aspectName": "nonsense"}, 422, "Unknown aspect nonsense"),
        ({"aspect": {"value": '{"owners": "x"}'}}, 422, "ownership.owners"),
        ({"aspect": {"value": '{"owners": [{"type": "NONE"}]}'}}, 422, "owners[0]"),
        ({"aspect": {"value": '{"owners": [{"owner": "x", "type": "NONE"}]}'}}, 422, "a URN"),
        ({"aspect": {"value": "{"}}, 400, "not JSON"),
        ({"aspect": {"value": "{}", "contentType": "text/csv"}}, 400, "text/csv"),
        ({"aspect": None}, 400, "aspect name is required"),
        ({"aspectName": None}, 400, "aspect name is required"),
        ({"entityUrn": None}, 400, "entityUrn"),
        ({"entityUrn": "urn:li:dataset:(hive"}, 400, "expected ')'"),
        ({"entityUrn": "urn:li:tag:x"}, 400, "entityType"),
        ({"entityType": "nonsense", "entityUrn": "urn:li:nonsense:x"}, 400, "no entity named"),
        ({"entityUrn": "urn:li:dataset:(hive,x,PROD)"}, 400, "dataPlatform"),
        ({"entityUrn": "urn:li:dataset:(urn:li:dataPlatform:,x,PROD)"}, 400, "dataPlatform"),
        ({"systemMetadata": "{"}, 400, "not JSON"),
        ({"changeType": "MERGE"}, 400, "changeType"),
        ({"systemMetadata": []}, 400, "systemMetadata"),
        ({"systemMetadata": {"runId": 7}}, 400, "systemMetadata.runId"),
        ({"systemMetadata": {"lastObserved": "now"}}, 400, "systemMetadata.lastObserved"),
        ({"auditHeader": {"actor": "me"}}, 400, "urn:li:<entity>"),
        ({"auditHeader": "me"}, 400, "auditHeader"),
        ({"headers": []}, 400, "headers"),
        ({"aspect": {"value": "null"}}, 422, "expected an object, found nothing"),
        ({"aspect": {"value": "[]"}}, 422, "expected an object"),
        ({"aspect": {"value": '{"owners": null}'}}, 422, "'owners' is required"),
        ({"aspect": {"value": '{"owners": [null]}'}}, 422, "owners[0]"),
        ({"aspect": {"value": '{"owners": [], "x": NaN}'}}, 400, "not JSON"),
        ({"aspect": {"value": '{"owners": [], "x": "\\ud800"}'}}, 400, "not JSON"),
        ({"aspect": {"value": "[" * 2000}}, 400, "not JSON"),
        ({"aspect": {"value": {"owners": []}}}, 400, "as a JSON string"),
        ({"aspect": "{}"}, 400, "an object"),
        ({"aspectName": ["ownership"]}, 400, "aspectName"),
        ({"entityUrn": 7}, 400, "entityUrn"),
    ],
)
def test_a_bad_proposal_is_refused_with_its_reason_and_stores_nothing(
    caller: Caller, dataset: str, change: Any, status: int, told: str
) -> None:
    answer = caller.send(dataset, "ownership", OWNERSHIP, **change)
    assert answer.status_code == status
    assert told in answer.json()["message"]
    assert not caller.exists(dataset)


def test_a_value_nested_too_deep_to_be_stored_is_refused(caller: Caller, dataset: str) -> None:
    value: dict[str, Any] = {}
    for _ in range(400):
        value = {"x": value}
    assert caller.send(dataset, "status", value).status_code == 422
    assert not caller.exists(dataset)


def test_a_key_that_contradicts_its_urn_is_refused(caller: Caller, dataset: str) -> None:
    key = {"platform": "urn:li:dataPlatform:hive", "name": "another", "origin": "PROD"}
    answer = caller.send(dataset, "datasetKey", key)
    assert answer.status_code == 422
    assert "datasetKey.name" in answer.json()["message"]


@pytest.mark.parametrize(
    ("urn", "told"),
    [
        ("urn:li:dataJob:(shop,load)", "expected a URN as the flow"),
        ("urn:li:dataJob:(urn:li:dataFlow:shop,load)", "<orchestrator>,<flowId>,<cluster>"),
        ("urn:li:dataJob:(urn:li:tag:shop,load)", "expected the URN of a dataFlow as the flow"),
        ("urn:li:schemaField:(orders,id)", "expected a URN as the parent"),
        ("urn:li:schemaField:(urn:li:table:orders,id)", "no entity named 'table'"),
        (
            "urn:li:schemaField:(urn:li:dataset:(hive,orders,PROD),id)",
            "expected urn:li:dataPlatform:<platform> as the platform",
        ),
    ],
)
def test_a_key_whose_part_is_not_the_urn_it_must_be_is_refused(
    caller: Caller, urn: str, told: str
) -> None:
    answer = caller.send(urn, "status", {"removed": False})
    assert answer.status_code == 400
    assert told in answer.json()["message"]
    assert not caller.exists(urn)
    # Older releases stored such URNs: a deletion looks for the entity.
    assert caller.post("/entities?action=delete", {"urn": urn}).status_code == 404
    assert caller.send(urn, "status", {}, "DELETE").status_code == 404


def test_create_is_refused_where_the_aspect_exists(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "ownership", OWNERSHIP, "CREATE")
    answer = caller.send(dataset, "ownership", {"owners": []}, "CREATE")
    assert answer.status_code == 422
    assert caller.value(dataset, "ownership") == OWNERSHIP
    caller.ingest(dataset, "globalTags", {"tags": []}, "CREATE")


def test_create_entity_is_refused_where_the_entity_exists(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "ownership", OWNERSHIP, "CREATE_ENTITY")
    assert caller.send(dataset, "globalTags", {"tags": []}, "CREATE_ENTITY").status_code == 422
    assert caller.value(dataset, "globalTags") is None


def test_update_needs_the_entity_and_then_writes_like_upsert(caller: Caller, dataset: str) -> None:
    answer = caller.send(dataset, "ownership", OWNERSHIP, "UPDATE")
    assert answer.status_code == 404
    assert not caller.exists(dataset)
    caller.ingest(dataset, "status", {"removed": False})
    caller.ingest(dataset, "ownership", OWNERSHIP, "UPDATE")
    assert caller.value(dataset, "ownership") == OWNERSHIP


TAGS = [{"tag": f"urn:li:tag:sized{at}"} for at in range(5)]


def sized(caller: Caller, way: str, urn: str) -> str:
    """Give an entity that has two tags five by one of the ways, and return what that says."""
    if way == "ingest":
        return str(caller.send(urn, "globalTags", {"tags": TAGS}).text)
    if way == "batch":
        return caller.batch(caller.proposal(urn, "globalTags", {"tags": TAGS})).text
    if way == "openapi":
        body = [{"urn": urn, "globalTags": {"value": {"tags": TAGS}}}]
        return caller.post("/openapi/v3/entity/dataset", body).text
    if way == "patch":
        adds = [{"op": "add", "path": f"/tags/{one['tag']}", "value": one} for one in TAGS]
        envelope = {"value": json.dumps(adds), "contentType": "application/json-patch+json"}
        proposal = caller.proposal(urn, "globalTags", {}, "PATCH") | {"aspect": envelope}
        return str(caller.post("/aspects?action=ingestProposal", {"proposal": proposal}).text)
    for one in TAGS:
        caller.ingest(one["tag"], "tagProperties", {"name": "sized"})
    named = {"tagUrns": [one["tag"] for one in TAGS], "resourceUrn": urn}
    query = "mutation($i: AddTagsInput!) { addTags(input: $i) }"
    return json.dumps(caller.graphql(query, i=named))


@pytest.mark.parametrize("way", ["ingest", "batch", "openapi", "patch", "graphql"])
def test_an_aspect_grows_to_its_largest_size_and_no_further_by_any_way(
    caller: Caller, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,sized.{way},PROD)"
    caller.ingest(urn, "globalTags", {"tags": TAGS[:2]})
    monkeypatch.setattr("explorer.server.ingestion.LARGEST_ASPECT", 4)
    told = sized(caller, way, urn)
    assert "5 entries; an aspect may have 4: leave some out" in told
    assert "413" in told
    assert caller.value(urn, "globalTags")["tags"] == TAGS[:2]
    monkeypatch.setattr("explorer.server.ingestion.LARGEST_ASPECT", 5)
    sized(caller, way, urn)
    assert caller.value(urn, "globalTags")["tags"] == TAGS


def test_an_aspect_that_was_larger_before_there_was_a_limit_may_shrink(
    caller: Caller, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.ingest(dataset, "globalTags", {"tags": TAGS})
    monkeypatch.setattr("explorer.server.ingestion.LARGEST_ASPECT", 2)
    for left in (TAGS, TAGS[:4], TAGS[:1]):
        caller.ingest(dataset, "globalTags", {"tags": left})
        assert caller.value(dataset, "globalTags")["tags"] == left
    assert caller.send(dataset, "globalTags", {"tags": TAGS[:3]}).status_code == 413


def test_relationships_in_lists_within_a_list_count_together(
    caller: Caller,
    dataset: str,
    schema: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    value = schema("a", "b", "c", "d", "e")
    for at, column in enumerate(value["fields"]):
        column["globalTags"] = {"tags": [{"tag": f"urn:li:tag:{at}.{nth}"} for nth in range(4)]}
    monkeypatch.setattr("explorer.server.ingestion.LARGEST_ASPECT", 19)
    answer = caller.send(dataset, "schemaMetadata", value)
    assert answer.status_code == 413
    assert "20 entries" in answer.json()["message"]


def test_restate_writes_like_upsert(caller: Caller, dataset: str) -> None:
    for owners in ([], OWNERSHIP["owners"]):
        caller.ingest(dataset, "ownership", {"owners": owners}, "RESTATE")
    assert caller.value(dataset, "ownership") == OWNERSHIP


@pytest.mark.parametrize(
    ("urn", "platform", "path"),
    [
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,Defaults.Orders,PROD)",
            "hive",
            "/prod/hive/defaults/orders",
        ),
        ("urn:li:chart:(looker,defaults.1)", "looker", "/looker/defaults.1"),
        ("urn:li:dashboard:(looker,defaults.1)", "looker", "/looker/defaults.1"),
        ("urn:li:dataFlow:(airflow,defaults,PROD)", "airflow", "/airflow/prod/defaults"),
        (
            "urn:li:dataJob:(urn:li:dataFlow:(airflow,defaults,PROD),step)",
            "airflow",
            "/airflow/defaults/step",
        ),
        ("urn:li:glossaryTerm:Defaults.Term", None, "/defaults/term"),
        ("urn:li:tag:defaults", None, None),
        ("urn:li:corpuser:defaults", None, None),
    ],
)
def test_a_new_entity_has_its_platform_and_browse_path(
    caller: Caller, urn: str, platform: str | None, path: str | None
) -> None:
    caller.ingest(urn, "status", {"removed": False}, systemMetadata={"runId": "begun"})
    aspects = caller.entity(urn)["aspects"]
    given = {
        "dataPlatformInstance": platform and {"platform": f"urn:li:dataPlatform:{platform}"},
        "browsePaths": path and {"paths": [path]},
    }
    for name, value in given.items():
        assert (aspects[name]["value"] if name in aspects else None) == value
    assert {wrapper["systemMetadata"]["runId"] for wrapper in aspects.values()} == {"begun"}


def test_what_a_request_says_itself_is_not_given_first(caller: Caller, dataset: str) -> None:
    paths = {"paths": ["/mine"]}
    caller.batch(
        caller.proposal(dataset, "status", {"removed": False}),
        caller.proposal(dataset, "browsePaths", paths),
    ).raise_for_status()
    read = caller.entity(dataset)["aspects"]["browsePaths"]
    assert read["value"] == paths
    assert read["systemMetadata"]["version"] == "1"
    assert caller.version(dataset, "browsePaths", 1).status_code == 404


def test_a_later_write_leaves_the_platform_and_path_that_were_written(
    caller: Caller, dataset: str
) -> None:
    paths = {"paths": ["/mine"]}
    caller.ingest(dataset, "browsePaths", paths)
    caller.ingest(dataset, "status", {"removed": False})
    assert caller.value(dataset, "browsePaths") == paths


def test_a_platform_that_parts_its_names_otherwise_moves_only_the_paths_it_was_given(
    caller: Caller,
) -> None:
    given = "urn:li:dataset:(urn:li:dataPlatform:parted,a.b/c,PROD)"
    written = "urn:li:dataset:(urn:li:dataPlatform:parted,d.e/f,PROD)"
    caller.ingest(given, "status", {"removed": False})
    caller.ingest(written, "browsePaths", {"paths": ["/mine"]})
    assert caller.value(given, "browsePaths") == {"paths": ["/prod/parted/a/b/c"]}
    info = {"name": "parted", "type": "OTHERS", "datasetNameDelimiter": "/"}
    caller.ingest("urn:li:dataPlatform:parted", "dataPlatformInfo", info)
    assert caller.value(given, "browsePaths") == {"paths": ["/prod/parted/a.b/c"]}
    assert caller.value(written, "browsePaths") == {"paths": ["/mine"]}


def test_a_platform_that_parts_its_names_otherwise_may_come_with_new_datasets(
    caller: Caller,
) -> None:
    known, new = (
        f"urn:li:dataset:(urn:li:dataPlatform:joined,{name}.b/c,PROD)" for name in ("z", "a")
    )
    caller.ingest(known, "status", {"removed": False})
    info = {"name": "joined", "type": "OTHERS", "datasetNameDelimiter": "/"}
    answer = caller.batch(
        caller.proposal("urn:li:dataPlatform:joined", "dataPlatformInfo", info),
        caller.proposal(new, "datasetProperties", {"description": "new"}),
        caller.proposal(new, "status", {"removed": False}),
    )
    assert answer.status_code == 200, answer.text
    for urn, folder in ((known, "z.b"), (new, "a.b")):
        assert caller.value(urn, "browsePaths") == {"paths": [f"/prod/joined/{folder}/c"]}


def test_soft_delete_needs_an_entity_and_restore_does_not(caller: Caller, dataset: str) -> None:
    answer = caller.send(dataset, "status", {"removed": True})
    assert answer.status_code == 404
    assert answer.json()["message"] == f"{dataset} does not exist."
    assert not caller.exists(dataset)
    caller.ingest(dataset, "status", {"removed": False})
    caller.ingest(dataset, "status", {"removed": True})
    assert caller.value(dataset, "status") == {"removed": True}


def test_delete_removes_an_aspect_with_all_its_versions(caller: Caller, dataset: str) -> None:
    for text in ("one", "two"):
        caller.ingest(dataset, "datasetProperties", {"description": text})
    caller.ingest(dataset, "datasetProperties", None, "DELETE")
    assert caller.value(dataset, "datasetProperties") is None
    assert caller.version(dataset, "datasetProperties", 1).status_code == 404
    assert caller.exists(dataset)
    caller.ingest(dataset, "datasetProperties", {"description": "three"})
    assert caller.version(dataset, "datasetProperties", 1).status_code == 404


def test_delete_of_an_aspect_that_is_not_there_changes_nothing(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "ownership", OWNERSHIP)
    before = caller.entity(dataset)
    caller.ingest(dataset, "globalTags", None, "DELETE")
    assert caller.entity(dataset) == before


def test_delete_of_the_key_removes_the_entity(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "ownership", OWNERSHIP)
    caller.ingest(dataset, "datasetKey", None, "DELETE")
    assert not caller.exists(dataset)
    assert caller.search(f'"{dataset.split(",")[1]}"')["numEntities"] == 0


def test_delete_on_an_unknown_entity_fails(caller: Caller, dataset: str) -> None:
    answer = caller.send(dataset, "ownership", None, "DELETE")
    assert answer.status_code == 404
    assert "does not exist" in answer.json()["message"]


def test_a_batch_is_written_in_order(caller: Caller, dataset: str) -> None:
    answer = caller.batch(
        caller.proposal(dataset, "datasetProperties", {"description": "one"}),
        caller.proposal(dataset, "datasetProperties", {"description": "two"}),
        caller.proposal(dataset, "status", {"removed": True}),
    )
    assert answer.json() == {"value": "success"}
    assert caller.value(dataset, "datasetProperties") == {"description": "two"}
    assert caller.version(dataset, "datasetProperties", 1).status_code == 200


@pytest.mark.parametrize("length", [3, 40])
def test_a_batch_with_a_misfit_is_refused_whole_and_names_it(
    caller: Caller, dataset: str, length: int
) -> None:
    good = [
        caller.proposal(f"urn:li:tag:batch{n}", "tagProperties", {"name": "t"})
        for n in range(length - 1)
    ]
    answer = caller.batch(*good, caller.proposal(dataset, "ownership", {"owners": 1}))
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"proposals[{length - 1}] ({dataset}): ")
    assert not caller.exists("urn:li:tag:batch0")


def test_a_batch_that_fails_in_the_store_leaves_nothing_behind(
    caller: Caller, dataset: str
) -> None:
    tag = "urn:li:tag:before-the-failure"
    answer = caller.batch(
        caller.proposal(tag, "tagProperties", {"name": "t"}),
        caller.proposal(dataset, "status", {"removed": True}),
    )
    assert answer.status_code == 404
    assert answer.json()["message"] == f"proposals[1] ({dataset}): {dataset} does not exist."
    assert not caller.exists(tag)
    assert caller.search("before-the-failure", "tag")["numEntities"] == 0


def test_tagging_columns_by_ingestion_keeps_the_descriptions_people_wrote(
    caller: Caller, dataset: str, schema: Callable[..., Any]
) -> None:
    caller.ingest(dataset, "schemaMetadata", schema("a", "b", "c"))
    written = [
        {"fieldPath": "a", "description": "of a"},
        {"fieldPath": "b", "description": "of b"},
        {"fieldPath": "c", "description": "of c"},
    ]
    caller.ingest(dataset, "editableSchemaMetadata", {"editableSchemaFieldInfo": written})
    tags = {"tags": [{"tag": "urn:li:tag:pii"}]}
    tagged = [
        {"fieldPath": "a", "globalTags": tags},
        {"fieldPath": "b", "description": "", "globalTags": tags},
    ]
    caller.ingest(dataset, "editableSchemaMetadata", {"editableSchemaFieldInfo": tagged})
    stored = caller.value(dataset, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert stored == [
        {"fieldPath": "a", "globalTags": tags, "description": "of a"},
        {"fieldPath": "b", "description": "", "globalTags": tags},
        {"fieldPath": "c", "description": "of c"},
    ]


def test_a_snapshot_of_several_aspects_is_written_and_read_back_as_one(
    caller: Caller, dataset: str
) -> None:
    aspects = [
        {"com.vendor.common.Ownership": OWNERSHIP},
        {"com.elsewhere.GlobalTags": {"tags": [{"tag": "urn:li:tag:legacy"}]}},
    ]
    snapshot = {
        "com.vendor.metadata.snapshot.DatasetSnapshot": {"urn": dataset, "aspects": aspects}
    }
    answer = caller.post("/entities?action=ingest", {"entity": {"value": snapshot}})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["deprecation"] == "true"
    assert caller.value(dataset, "ownership") == OWNERSHIP
    assert caller.value(dataset, "globalTags") == {"tags": [{"tag": "urn:li:tag:legacy"}]}


def test_a_glossary_term_snapshot_carries_its_owners(caller: Caller) -> None:
    urn = "urn:li:glossaryTerm:legacy.SavingAccount"
    info = {"definition": "money", "termSource": "EXTERNAL", "sourceRef": "FIBO"}
    body = {
        "urn": urn,
        "aspects": [
            {"com.vendor.glossary.GlossaryTermInfo": info},
            {"com.vendor.common.Ownership": OWNERSHIP},
        ],
    }
    value = {"com.vendor.metadata.snapshot.GlossaryTermSnapshot": body}
    caller.post("/entities?action=ingest", {"entity": {"value": value}}).raise_for_status()
    assert caller.value(urn, "ownership") == OWNERSHIP
    assert caller.value(urn, "glossaryTermInfo") == info


@pytest.mark.parametrize(
    "bad",
    [{"com.vendor.common.Nonsense": {}}, {"com.vendor.common.Ownership": {"owners": 1}}],
)
def test_a_snapshot_with_one_bad_aspect_stores_nothing(
    caller: Caller, dataset: str, bad: Any
) -> None:
    aspects = [{"com.vendor.common.Status": {"removed": False}}, bad]
    value = {"com.vendor.metadata.snapshot.DatasetSnapshot": {"urn": dataset, "aspects": aspects}}
    answer = caller.post("/entities?action=ingest", {"entity": {"value": value}})
    assert answer.status_code == 422
    assert not caller.exists(dataset)


SNAPSHOTS = {
    "Chart": "urn:li:chart:(looker,snapped)",
    "CorpGroup": "urn:li:corpGroup:snapped",
    "CorpUser": "urn:li:corpuser:snapped",
    "Dashboard": "urn:li:dashboard:(looker,snapped)",
    "DataFlow": "urn:li:dataFlow:(airflow,snapped,PROD)",
    "DataHubPolicy": "urn:li:dataHubPolicy:snapped",
    "DataHubRetention": "urn:li:dataHubRetention:(snapped,*)",
    "DataJob": "urn:li:dataJob:(urn:li:dataFlow:(airflow,snapped,PROD),j)",
    "DataPlatform": "urn:li:dataPlatform:snapped",
    "DataProcess": "urn:li:dataProcess:(snapped,airflow,PROD)",
    "Dataset": "urn:li:dataset:(urn:li:dataPlatform:hive,snapped,PROD)",
    "GlossaryNode": "urn:li:glossaryNode:snapped",
    "GlossaryTerm": "urn:li:glossaryTerm:snapped",
    "MLFeature": "urn:li:mlFeature:(snapped,f)",
    "MLFeatureTable": "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,snapped)",
    "MLModel": "urn:li:mlModel:(urn:li:dataPlatform:sagemaker,snapped,PROD)",
    "MLModelDeployment": "urn:li:mlModelDeployment:(urn:li:dataPlatform:sagemaker,snapped,PROD)",
    "MLModelGroup": "urn:li:mlModelGroup:(urn:li:dataPlatform:sagemaker,snapped,PROD)",
    "MLPrimaryKey": "urn:li:mlPrimaryKey:(snapped,k)",
    "SchemaField": "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,s,PROD),a)",
    "Tag": "urn:li:tag:snapped",
}


@pytest.mark.parametrize("prefix", ["com.vendor.", "com.linkedin.", "com.linkedin.pegasus2avro."])
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_every_kind_of_snapshot_is_taken(caller: Caller, prefix: str, name: Any) -> None:
    urn = SNAPSHOTS[name]
    registry = caller.catalog.registry
    key = registry.entity(urn.split(":")[2]).key
    record = prefix + registry.aspect(key).record.removeprefix("com.linkedin.")
    value = caller.entity(urn)["aspects"][key]["value"]
    snapshot = {
        f"{prefix}metadata.snapshot.{name}Snapshot": {"urn": urn, "aspects": [{record: value}]}
    }
    answer = caller.post("/entities?action=ingest", {"entity": {"value": snapshot}})
    assert answer.status_code == 200, answer.text
    assert caller.exists(urn)


def tag_snapshot(name: str, **info: Any) -> dict[str, Any]:
    aspects = [{"com.linkedin.tag.TagProperties": {"name": name} | info}]
    body = {"urn": f"urn:li:tag:{name}", "aspects": aspects}
    return {"value": {"com.linkedin.metadata.snapshot.TagSnapshot": body}}


def test_the_audit_header_of_a_snapshot_names_the_actor(caller: Caller) -> None:
    body = {
        "entity": tag_snapshot("snapshot_audited"),
        "auditHeader": {"actor": "urn:li:corpuser:auditor"},
        "systemMetadata": '{"runId": "audited-run"}',
    }
    caller.post("/entities?action=ingest", body).raise_for_status()
    for wrapper in caller.entity("urn:li:tag:snapshot_audited")["aspects"].values():
        assert wrapper["created"]["actor"] == "urn:li:corpuser:auditor"
        assert wrapper["systemMetadata"]["runId"] == "audited-run"


def test_several_snapshots_are_written_each_with_its_own_run(caller: Caller) -> None:
    names = ["many-a", "many-b"]
    body = {
        "entities": [tag_snapshot(name) for name in names],
        "systemMetadata": [{"runId": f"run-of-{name}"} for name in names],
    }
    answer = caller.post("/entities?action=batchIngest", body)
    assert (answer.status_code, answer.content) == (200, b"")
    for name in names:
        read = caller.entity(f"urn:li:tag:{name}")["aspects"]["tagProperties"]
        assert read["systemMetadata"]["runId"] == f"run-of-{name}"


@pytest.mark.parametrize(
    "bad", [tag_snapshot("halves-b", description=1), {"value": None}, None, {"value": {}}]
)
def test_several_snapshots_are_written_all_or_none(caller: Caller, bad: Any) -> None:
    body = {"entities": [tag_snapshot("halves-a"), bad]}
    answer = caller.post("/entities?action=batchIngest", body)
    assert answer.status_code in (400, 422)
    assert not caller.exists("urn:li:tag:halves-a")


def test_usage_buckets_become_documents_over_time(caller: Caller, dataset: str) -> None:
    metrics = {
        "uniqueUserCount": 2,
        "totalSqlQueries": 9,
        "topSqlQueries": ["select 1"],
        "users": [{"user": "urn:li:corpuser:jdoe", "count": 9, "userEmail": None}],
        "fields": [{"fieldName": "a", "count": 4}],
    }
    bucket = {"bucket": 86400000, "duration": "DAY", "resource": dataset, "metrics": metrics}
    answer = caller.post("/usageStats?action=batchIngest", {"buckets": [bucket]})
    assert (answer.status_code, answer.content) == (200, b"")
    asked = {"urn": dataset, "entity": "dataset", "aspect": "datasetUsageStatistics"}
    read = caller.post("/aspects?action=getTimeseriesAspectValues", asked).json()["value"]
    assert [json.loads(one["aspect"]["value"]) for one in read["values"]] == [
        {
            "timestampMillis": 86400000,
            "eventGranularity": {"unit": "DAY", "multiple": 1},
            "uniqueUserCount": 2,
            "totalSqlQueries": 9,
            "topSqlQueries": ["select 1"],
            "userCounts": [{"user": "urn:li:corpuser:jdoe", "count": 9}],
            "fieldCounts": [{"fieldPath": "a", "count": 4}],
        }
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource": "urn:li:tag:x"},
        {"resource": None},
        {"metrics": None},
        {"bucket": "today"},
        {"metrics": {"totalSqlQueries": "many"}},
        {"metrics": {"users": 3}},
        {"metrics": {"users": [3]}},
        {"metrics": {"fields": {"a": 1}}},
        {"resource": 5},
    ],
)
def test_a_bad_usage_bucket_is_refused_and_none_is_written(
    caller: Caller, dataset: str, wrong: Any
) -> None:
    good = {"bucket": 1, "duration": "DAY", "resource": dataset, "metrics": {}}
    body = {"buckets": [good, good | wrong]}
    answer = caller.post("/usageStats?action=batchIngest", body)
    assert answer.status_code in (400, 422), answer.text
    assert not caller.exists(dataset)


def test_an_aspect_keeps_every_character_of_its_text(caller: Caller, dataset: str) -> None:
    text = '# h\r\n\t| a |\n```\n\\ "q" <b> \u202eRTL\u202c é 🏔 \u0000 end '
    caller.ingest(dataset, "datasetProperties", {"description": text})
    assert caller.value(dataset, "datasetProperties")["description"] == text


class TestSnapshots:
    """What stands beside the aspects of a snapshot record."""

    TERM = "urn:li:glossaryTerm:beside"
    NAME = "com.vendor.metadata.snapshot.GlossaryTermSnapshot"
    INFO: ClassVar = {"com.vendor.glossary.GlossaryTermInfo": {"definition": "d"}}

    def body(self, **more: Any) -> dict[str, Any]:
        return {"entity": {"value": {self.NAME: {"urn": self.TERM, "aspects": [self.INFO]} | more}}}

    def test_an_aspect_beside_the_others_is_written(self, caller: Caller) -> None:
        ownership = {
            "owners": [{"owner": "urn:li:corpuser:jdoe", "type": "DATAOWNER"}],
            "lastModified": {"time": 1, "actor": "urn:li:corpuser:jdoe"},
        }
        answer = caller.post("/entities?action=ingest", self.body(ownership=ownership))
        assert answer.status_code == 200, answer.text
        assert caller.value(self.TERM, "ownership") == ownership
        assert caller.value(self.TERM, "glossaryTermInfo") == {"definition": "d"}

    def test_what_is_no_aspect_is_refused(self, caller: Caller) -> None:
        answer = caller.post("/entities?action=ingest", self.body(owners=[]))
        assert answer.status_code == 400
        assert "'owners'" in answer.json()["message"]


@pytest.mark.parametrize("key", ["entityType", "changeType"])
def test_a_plain_proposal_says_its_entity_type_and_its_change_type(
    caller: Caller, dataset: str, key: str
) -> None:
    proposal = caller.proposal(dataset, "status", {"removed": False})
    del proposal[key]
    path, body = "/aspects?action=ingestProposal", {"proposal": proposal}
    refused = caller.post(path, body)
    assert refused.status_code == 400
    assert key in refused.json()["message"]
    assert not caller.exists(dataset)
    assert caller.post(path, body, **{"X-Catalog-Dialect": "datahub"}).status_code == 200


WRONG = "urn:li:dataset:orders"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/aspects/{WRONG}?aspect=ownership&version=0", None),
        ("GET", f"/entitiesV2/{WRONG}", None),
        ("GET", f"/entitiesV2?ids=List({WRONG})", None),
        ("GET", f"/entities/{WRONG}", None),
        ("GET", f"/versions/{WRONG}?aspect=ownership", None),
        ("GET", f"/relationships?direction=INCOMING&types=OwnedBy&urn={WRONG}", None),
        (
            "GET",
            f"/openapi/relationships/v1?direction=INCOMING&relationshipTypes=OwnedBy&urn={WRONG}",
            None,
        ),
        ("POST", "/relationships?action=getLineage", {"urn": WRONG, "direction": "UPSTREAM"}),
        ("POST", "/entities?action=exists", {"urn": WRONG}),
        ("POST", "/entities?action=getBrowsePaths", {"urn": WRONG}),
        ("POST", "/openapi/v3/entity/dataset/batchGet", [{"urn": WRONG}]),
        (
            "POST",
            "/aspects?action=getTimeseriesAspectValues",
            {"urn": WRONG, "entity": "dataset", "aspect": "datasetProfile"},
        ),
    ],
)
def test_a_urn_of_another_shape_than_its_type_has_is_refused_by_every_read(
    caller: Caller, method: str, path: str, body: Any
) -> None:
    answer = caller.http.request(method, path, json=body)
    assert answer.status_code == 400, answer.text
    assert "<platform>,<name>,<origin>" in answer.json()["message"]


@pytest.mark.parametrize(
    ("aspect", "value", "place"),
    [
        ("ownership", {"owners": [{"owner": "urn:li:tag:a", "type": "NONE"}]}, "owners[0].owner"),
        ("globalTags", {"tags": [{"tag": "urn:li:corpuser:a"}]}, "tags[0].tag"),
        (
            "globalTags",
            {"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:domain:a"}]},
            "tags[1].tag",
        ),
        ("dataPlatformInstance", {"platform": "urn:li:corpuser:a"}, "platform"),
        ("upstreamLineage", {"upstreams": [{"dataset": "urn:li:tag:a"}]}, "upstreams[0].dataset"),
        (
            "institutionalMemory",
            {"elements": [{"url": "https://x", "createStamp": {"time": 1, "actor": "jdoe"}}]},
            "elements[0].createStamp.actor",
        ),
    ],
)
def test_a_reference_to_the_wrong_type_is_refused_with_its_place(
    caller: Caller, dataset: str, aspect: str, value: Any, place: str
) -> None:
    answer = caller.send(dataset, aspect, value)
    assert answer.status_code == 422, answer.text
    assert place in answer.json()["message"]
    assert not caller.exists(dataset)


def test_a_reference_to_a_type_that_nobody_knows_is_kept(caller: Caller, dataset: str) -> None:
    value = {"owners": [{"owner": "urn:li:robotOfTomorrow:r", "type": "NONE"}]}
    caller.ingest(dataset, "ownership", value)
    assert caller.value(dataset, "ownership") == value


def test_the_elements_of_a_list_are_trimmed(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "globalTags", {"tags": []})
    for said in (" globalTags , status ", "%20globalTags%20,%20status%20", "+globalTags+,status"):
        answer = caller.get(f"/entitiesV2/{quote(dataset)}?aspects=List({said})")
        assert "globalTags" in answer.json()["aspects"], said


class TestTheKeyInsteadOfTheUrn:
    """A proposal may name its entity by `entityType` and `entityKeyAspect`."""

    @staticmethod
    def keyed(entity: str, key: Any, **more: Any) -> dict[str, Any]:
        envelope = {"value": json.dumps(key), "contentType": "application/json"}
        value = {"value": json.dumps({"removed": False})}
        return {
            "entityType": entity,
            "entityKeyAspect": envelope,
            "changeType": "UPSERT",
            "aspectName": "status",
            "aspect": value,
        } | more

    @pytest.mark.parametrize(
        ("entity", "key", "urn"),
        [
            (
                "dataset",
                {"platform": "urn:li:dataPlatform:hive", "name": "keyed.a", "origin": "PROD"},
                "urn:li:dataset:(urn:li:dataPlatform:hive,keyed.a,PROD)",
            ),
            ("container", {"guid": "keyed-b"}, "urn:li:container:keyed-b"),
            (
                "dataJob",
                {"jobId": "c", "flow": "urn:li:dataFlow:(airflow,keyed,PROD)"},
                "urn:li:dataJob:(urn:li:dataFlow:(airflow,keyed,PROD),c)",
            ),
        ],
    )
    def test_names_the_entity(self, caller: Caller, entity: str, key: Any, urn: str) -> None:
        body = {"proposal": self.keyed(entity, key)}
        answer = caller.post("/aspects?action=ingestProposal", body)
        assert answer.json() == {"value": urn}
        assert caller.value(urn, "status") == {"removed": False}

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"entityKeyAspect": {"value": "{}"}}, "platform, name, origin"),
            ({"entityKeyAspect": {"value": "{"}}, "'entityKeyAspect.value' is not JSON"),
            ({"entityKeyAspect": "x"}, "'entityKeyAspect' must be an object"),
            ({"entityType": None}, "'entityType'"),
            ({"entityType": "nonsense"}, "nonsense"),
        ],
    )
    def test_is_refused_where_it_names_none(self, caller: Caller, changed: Any, said: str) -> None:
        answer = caller.post(
            "/aspects?action=ingestProposal", {"proposal": self.keyed("dataset", {}) | changed}
        )
        assert answer.status_code == 400, answer.text
        assert said in answer.json()["message"]


@pytest.mark.parametrize(
    ("aspect", "columns", "place"),
    [
        ("schemaMetadata", ["a", "b", "a"], "fields[2].fieldPath"),
        ("schemaMetadata", ["a", ""], "fields[1].fieldPath"),
        ("editableSchemaMetadata", ["a", "a"], "editableSchemaFieldInfo[1].fieldPath"),
        ("editableSchemaMetadata", [""], "editableSchemaFieldInfo[0].fieldPath"),
    ],
)
@pytest.mark.parametrize("dialect", ["plain", "datahub"])
def test_a_field_path_that_is_empty_or_comes_twice_is_refused(
    caller: Caller,
    dataset: str,
    schema: Callable[..., dict[str, Any]],
    aspect: str,
    columns: Any,
    place: str,
    dialect: str,
) -> None:
    value = (
        schema(*columns)
        if aspect == "schemaMetadata"
        else {"editableSchemaFieldInfo": [{"fieldPath": path} for path in columns]}
    )
    body = {"proposal": caller.proposal(dataset, aspect, value)}
    headers = {"X-Catalog-Dialect": dialect}
    answer = caller.post("/aspects?action=ingestProposal", body, **headers)
    assert answer.status_code == 422
    assert place in answer.json()["message"]
    assert not caller.exists(dataset)


class TestPartsThatFollowFromOthers:
    """Filled in for DataHub's callers, connectors and edits; plain callers' values stay as sent."""

    ADA, BOB, TEAM = "urn:li:corpuser:ada", "urn:li:corpuser:bob", "urn:li:corpGroup:team"
    SALES, MARKETING = "urn:li:domain:sales", "urn:li:domain:marketing"

    @pytest.fixture
    def write(self, caller: Caller, dataset: str) -> Any:
        def write(
            aspect: str, value: Any, change: str = "UPSERT", dialect: str = "datahub"
        ) -> httpx.Response:
            proposal = caller.proposal(dataset, aspect, value, change)
            if change == "PATCH":
                proposal["aspect"]["contentType"] = "application/json-patch+json"
            headers = {"X-Catalog-Dialect": dialect}
            body = {"proposal": proposal}
            return caller.post("/aspects?action=ingestProposal", body, **headers)

        return write

    def test_owners_are_listed_by_their_ownership_types(
        self, caller: Caller, dataset: str, write: Any
    ) -> None:
        custom = "urn:li:ownershipType:data.lead"
        owners = [
            {"owner": self.ADA, "type": "DATAOWNER"},
            {"owner": self.TEAM, "type": "DATAOWNER"},
            {"owner": self.BOB, "type": "CUSTOM", "typeUrn": custom},
        ]
        # What a connector says of it is not believed.
        assert write("ownership", {"owners": owners, "ownerTypes": {"x": []}}).status_code == 200
        by_type = {
            "urn:li:ownershipType:__system__dataowner": [self.ADA, self.TEAM],
            "urn:li:ownershipType:data%2Elead": [self.BOB],
        }
        assert caller.value(dataset, "ownership")["ownerTypes"] == by_type
        patch = [{"op": "remove", "path": f"/owners/{self.BOB}"}]
        assert write("ownership", patch, "PATCH").status_code == 200
        del by_type["urn:li:ownershipType:data%2Elead"]
        assert caller.value(dataset, "ownership")["ownerTypes"] == by_type
        # A plain caller that changes what has them, and one that sends what has none.
        patch = [{"op": "remove", "path": f"/owners/{self.TEAM}"}]
        assert write("ownership", patch, "PATCH", "plain").status_code == 200
        by_type["urn:li:ownershipType:__system__dataowner"] = [self.ADA]
        assert caller.value(dataset, "ownership")["ownerTypes"] == by_type
        body = {"urn": self.ADA, "dryRun": False}
        assert caller.post("/entities?action=deleteReferences", body).status_code == 200
        assert caller.value(dataset, "ownership") == {"owners": [], "ownerTypes": {}}
        assert write("ownership", {"owners": owners}, dialect="plain").status_code == 200
        assert caller.value(dataset, "ownership") == {"owners": owners}

    def test_domains_and_their_associations_are_kept_in_step(
        self, caller: Caller, dataset: str, write: Any
    ) -> None:
        def stored() -> dict[str, Any]:
            value: dict[str, Any] = caller.value(dataset, "domains")
            return value

        write("domains", {"domains": [self.SALES]})
        assert stored()["domainAssociations"] == [{"domain": self.SALES}]
        told = [{"domain": self.MARKETING, "context": "{}"}]
        write("domains", {"domains": [self.MARKETING], "domainAssociations": told})
        # What is known of an association outlives writers that know domains alone.
        write("domains", {"domains": [self.SALES, self.MARKETING]})
        assert stored()["domainAssociations"] == [*told, {"domain": self.SALES}]
        write("domains", {"domains": [self.MARKETING], "domainAssociations": None})
        assert stored()["domainAssociations"] == told

    def test_propagated_associations_name_no_domain_of_the_entity(
        self, caller: Caller, dataset: str, write: Any
    ) -> None:
        attribution = {
            "time": 1,
            "actor": self.ADA,
            "sourceDetail": {"propagated": "true"},
        }
        spread = {"domain": self.MARKETING, "attribution": attribution}
        own = {"domain": self.SALES}
        write("domains", {"domains": [self.SALES], "domainAssociations": [own, spread]})
        assert caller.value(dataset, "domains")["domains"] == [self.SALES]
        assert caller.value(dataset, "domains")["domainAssociations"] == [own, spread]

    def test_associations_that_contradict_changed_domains_are_refused(
        self, caller: Caller, dataset: str, write: Any
    ) -> None:
        value = {"domains": [self.SALES], "domainAssociations": [{"domain": self.MARKETING}]}
        answer = write("domains", value)
        assert answer.status_code == 422
        assert "domainAssociations" in answer.json()["message"]
        assert write("domains", value, dialect="plain").status_code == 200
        assert caller.value(dataset, "domains") == value


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_a_body_in_an_encoding_that_is_not_read_is_refused_with_those_that_are(
    caller: Caller, encoding: str
) -> None:
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    answer = caller.http.post("/api/graphql", content=b"\x0b\x02packed", headers=headers)
    assert answer.status_code == 415
    assert "send it as it is, or gzip" in answer.json()["message"]


@pytest.mark.parametrize("encoding", ["GZIP", "x-gzip", "identity"])
def test_names_of_encodings_are_read_in_any_case(caller: Caller, encoding: str) -> None:
    text = b'{"query": "{ __typename }"}'
    body = text if encoding == "identity" else gzip.compress(text)
    answer = caller.http.post("/api/graphql", content=body, headers={"content-encoding": encoding})
    assert answer.json()["data"] == {"__typename": "Query"}
