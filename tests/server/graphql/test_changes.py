"""Small edits: tags, terms, owners, domains, deprecation, removal, and things made by hand."""

import threading
from typing import Any

import pytest

from tests.server.conftest import Caller

TAG = "urn:li:tag:gqlchange"
OTHER = "urn:li:tag:gqlother"
TERM = "urn:li:glossaryTerm:gqlchange"
DOMAIN = "urn:li:domain:gqlchange"
OWNER = "urn:li:corpuser:gqlowner"


def change(caller: Any, name: Any, kind: Any, given: Any) -> Any:
    """Send one mutation with an input; its whole answer."""
    return caller.graphql(f"mutation($i: {kind}!) {{ {name}(input: $i) }}", i=given)


def done(caller: Any, name: Any, kind: Any, given: Any) -> None:
    """Send one mutation that must succeed."""
    answer = change(caller, name, kind, given)
    assert answer == {"data": {name: True}, "extensions": {}}


@pytest.fixture(scope="module", autouse=True)
def vocabulary(caller: Caller) -> None:
    """The tags, terms and so on that the tests here put on things."""
    caller.ingest(TAG, "tagProperties", {"name": "change"})
    caller.ingest(OTHER, "tagProperties", {"name": "other"})
    caller.ingest(TERM, "glossaryTermInfo", {"definition": "d", "termSource": "INTERNAL"})
    caller.ingest(DOMAIN, "domainProperties", {"name": "D"})
    caller.ingest(OWNER, "corpUserInfo", {"active": True})


def tags_of(caller: Any, urn: Any) -> Any:
    return [one["tag"] for one in (caller.value(urn, "globalTags") or {"tags": []})["tags"]]


def versions(caller: Any, urn: Any, aspect: Any) -> Any:
    """How many superseded values an aspect has."""
    return sum(caller.version(urn, aspect, n).status_code == 200 for n in range(1, 6))


def test_tags_are_added_once_and_removed(caller: Caller, table: Any) -> None:
    given = {"tagUrn": TAG, "resourceUrn": table}
    done(caller, "addTag", "TagAssociationInput", given)
    done(caller, "addTag", "TagAssociationInput", given)
    done(caller, "addTags", "AddTagsInput", {"tagUrns": [TAG, OTHER], "resourceUrn": table})
    assert tags_of(caller, table) == [TAG, OTHER]
    done(caller, "removeTag", "TagAssociationInput", given)
    done(caller, "removeTag", "TagAssociationInput", given)
    assert tags_of(caller, table) == [OTHER]
    # What changed nothing made no version.
    assert versions(caller, table, "globalTags") == 2


def test_what_came_with_a_tag_stays_when_another_is_added(caller: Caller, table: Any) -> None:
    caller.ingest(table, "globalTags", {"tags": [{"tag": OTHER, "context": "kept"}]})
    done(caller, "addTag", "TagAssociationInput", {"tagUrn": TAG, "resourceUrn": table})
    assert caller.value(table, "globalTags")["tags"] == [
        {"tag": OTHER, "context": "kept"},
        {"tag": TAG},
    ]


def test_a_column_is_tagged_beside_its_description(desk: Any, caller: Caller, table: Any) -> None:
    desk.describe(changes=desk.column(table, "b", "words"))
    column = {"resourceUrn": table, "subResource": "b", "subResourceType": "DATASET_FIELD"}
    done(caller, "addTag", "TagAssociationInput", {"tagUrn": TAG, **column})
    done(caller, "addTerm", "TermAssociationInput", {"termUrn": TERM, **column})
    (info,) = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert (info["description"], info["globalTags"]) == ("words", {"tags": [{"tag": TAG}]})
    assert [one["urn"] for one in info["glossaryTerms"]["terms"]] == [TERM]
    assert tags_of(caller, table) == []
    done(caller, "removeTag", "TagAssociationInput", {"tagUrn": TAG, **column})
    done(caller, "removeTerm", "TermAssociationInput", {"termUrn": TERM, **column})
    (info,) = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert (info["description"], info["globalTags"]["tags"]) == ("words", [])
    wrong = {"tagUrn": TAG, **column, "subResource": "c"}
    answer = change(caller, "addTag", "TagAssociationInput", wrong)
    assert "Field c does not exist" in desk.one_error(answer)["message"]


def test_a_batch_is_made_as_a_whole_or_not_at_all(desk: Any, caller: Caller, table: Any) -> None:
    missing = "urn:li:dataset:(urn:li:dataPlatform:hive,gqlmissing,PROD)"
    given = {"tagUrns": [TAG], "resources": [{"resourceUrn": table}, {"resourceUrn": missing}]}
    error = desk.one_error(change(caller, "batchAddTags", "BatchAddTagsInput", given))
    assert error["extensions"]["type"] == "NOT_FOUND"
    assert tags_of(caller, table) == []
    assert not caller.exists(missing)


def test_an_edit_of_too_many_entities_is_refused_as_a_whole(
    desk: Any, caller: Caller, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.graphql.session._MOST_CHANGES", 2)
    columns = [
        {"resourceUrn": table, "subResource": path, "subResourceType": "DATASET_FIELD"}
        for path in ("a", "b")
    ]
    given = {"tagUrns": [TAG], "resources": [{"resourceUrn": table}, *columns]}
    error = desk.one_error(change(caller, "batchAddTags", "BatchAddTagsInput", given))
    assert error["message"].endswith("2 aspects at most; name fewer entities at once")
    assert tags_of(caller, table) == []
    given = {**given, "resources": columns}
    assert "errors" not in change(caller, "batchAddTags", "BatchAddTagsInput", given)


@pytest.mark.parametrize(
    ("name", "kind", "given", "told"),
    [
        ("addTag", "TagAssociationInput", {"tagUrn": "urn:li:tag:no"}, "Tag urn:li:tag:no does"),
        ("addTag", "TagAssociationInput", {"tagUrn": TERM}, "is not a tag"),
        (
            "addTerm",
            "TermAssociationInput",
            {"termUrn": "urn:li:glossaryTerm:no"},
            "does not exist",
        ),
        (
            "addOwner",
            "AddOwnerInput",
            {"ownerUrn": "urn:li:corpuser:no", "ownerEntityType": "CORP_USER"},
            "Owner urn:li:corpuser:no does not exist",
        ),
        (
            "addOwner",
            "AddOwnerInput",
            {
                "ownerUrn": OWNER,
                "ownerEntityType": "CORP_USER",
                "ownershipTypeUrn": "urn:li:ownershipType:no",
            },
            "Ownership type urn:li:ownershipType:no does not exist",
        ),
        (
            "addOwner",
            "AddOwnerInput",
            {"ownerUrn": OWNER, "ownerEntityType": "CORP_GROUP"},
            "is not a CORP_GROUP",
        ),
    ],
)
def test_what_an_edit_names_must_exist(
    desk: Any, caller: Caller, table: Any, name: str, kind: str, given: Any, told: str
) -> None:
    answer = change(caller, name, kind, {**given, "resourceUrn": table})
    assert told in desk.one_error(answer)["message"]
    assert caller.value(table, "ownership") is None


def test_owners_are_added_in_their_kinds_and_removed(caller: Caller, table: Any) -> None:
    given = {"ownerUrn": OWNER, "ownerEntityType": "CORP_USER", "resourceUrn": table}
    for kind in ("DATA_STEWARD", "DATA_STEWARD", "TECHNICAL_OWNER"):
        done(caller, "addOwner", "AddOwnerInput", {**given, "type": kind})
    owners = caller.value(table, "ownership")["owners"]
    assert [one["type"] for one in owners] == ["DATA_STEWARD", "TECHNICAL_OWNER"]
    steward = "urn:li:ownershipType:__system__data_steward"
    assert owners[0]["typeUrn"] == steward
    done(
        caller,
        "removeOwner",
        "RemoveOwnerInput",
        {"ownerUrn": OWNER, "ownershipTypeUrn": steward, "resourceUrn": table},
    )
    assert [one["type"] for one in caller.value(table, "ownership")["owners"]] == [
        "TECHNICAL_OWNER"
    ]
    done(caller, "removeOwner", "RemoveOwnerInput", {"ownerUrn": OWNER, "resourceUrn": table})
    assert caller.value(table, "ownership")["owners"] == []


def test_an_entity_is_put_into_a_domain_and_out_of_it(caller: Caller, table: Any) -> None:
    put = "mutation($u: String!, $d: String!) { setDomain(entityUrn: $u, domainUrn: $d) }"
    assert caller.graphql(put, u=table, d=DOMAIN)["data"] == {"setDomain": True}
    query = "query($u: String!) { dataset(urn: $u) { domain { associatedUrn domain { id } } } }"
    assert caller.graphql(query, u=table)["data"]["dataset"]["domain"] == {
        "associatedUrn": table,
        "domain": {"id": "gqlchange"},
    }
    out = "mutation($u: String!) { unsetDomain(entityUrn: $u) }"
    assert caller.graphql(out, u=table)["data"] == {"unsetDomain": True}
    assert caller.graphql(query, u=table)["data"]["dataset"]["domain"] is None


def test_a_deprecation_is_said_and_taken_back(caller: Caller, table: Any) -> None:
    query = """query($u: String!) { dataset(urn: $u) {
      deprecation { deprecated decommissionTime note actor }
    } }"""
    said = {"urn": table, "deprecated": True, "decommissionTime": 2**40, "note": "old"}
    done(caller, "updateDeprecation", "UpdateDeprecationInput", said)
    assert caller.graphql(query, u=table)["data"]["dataset"]["deprecation"] == {
        "deprecated": True,
        "decommissionTime": 2**40,
        "note": "old",
        "actor": "urn:li:corpuser:unknown",
    }
    back = {"urn": table, "deprecated": False}
    done(caller, "updateDeprecation", "UpdateDeprecationInput", back)
    read = caller.graphql(query, u=table)["data"]["dataset"]["deprecation"]
    assert (read["deprecated"], read["decommissionTime"], read["note"]) == (False, None, "")


def test_entities_are_taken_away_and_brought_back(caller: Caller, table: Any) -> None:
    def found() -> Any:
        return caller.search(f'"{table.split(",")[1]}"')["numEntities"]

    kind = "BatchUpdateSoftDeletedInput"
    assert found() == 1
    done(caller, "batchUpdateSoftDeleted", kind, {"urns": [table], "deleted": True})
    assert found() == 0
    assert caller.value(table, "datasetProperties")["description"] == "ingested"
    done(caller, "batchUpdateSoftDeleted", kind, {"urns": [table], "deleted": False})
    assert found() == 1


def test_several_parts_of_a_dataset_are_set_at_once(desk: Any, caller: Caller, table: Any) -> None:
    caller.ingest(table, "globalTags", {"tags": [{"tag": OTHER}]})
    changes = {
        "ownership": {"owners": [{"owner": OWNER, "type": "DATAOWNER"}]},
        "tags": {"tags": [{"tag": {"urn": TAG}}]},
        "deprecation": {"deprecated": True, "note": "n"},
        "editableSchemaMetadata": {
            "editableSchemaFieldInfo": [{"fieldPath": "a", "description": "edited"}]
        },
        "editableProperties": {"description": "words"},
    }
    assert "errors" not in desk.edit_dataset(table, changes)
    assert tags_of(caller, table) == [TAG]
    assert caller.value(table, "ownership")["owners"][0]["owner"] == OWNER
    assert caller.value(table, "deprecation")["note"] == "n"
    assert desk.read(table)["data"]["dataset"]["editableSchemaMetadata"] == {
        "editableSchemaFieldInfo": [{"fieldPath": "a", "description": "edited"}]
    }
    broken = {
        "editableProperties": {"description": "lost"},
        "tags": {"tags": [{"tag": {"urn": "urn:li:tag:no"}}]},
    }
    assert desk.edit_dataset(table, broken)["errors"]
    assert desk.read(table)["data"]["dataset"]["editableProperties"] == {"description": "words"}


def test_a_dashboards_description_is_edited_beside_the_ingested_one(caller: Caller) -> None:
    urn = "urn:li:dashboard:(looker,gqldash)"
    stamps = {name: {"time": 0, "actor": OWNER} for name in ("created", "lastModified")}
    info = {"title": "T", "description": "ingested", "lastModified": stamps}
    caller.ingest(urn, "dashboardInfo", info)
    query = """mutation($u: String!, $i: DashboardUpdateInput!) {
      updateDashboard(urn: $u, input: $i) {
        properties { name description } editableProperties { description }
      }
    }"""
    given = {"editableProperties": {"description": "edited"}}
    assert caller.graphql(query, u=urn, i=given)["data"]["updateDashboard"] == {
        "properties": {"name": "T", "description": "edited"},
        "editableProperties": {"description": "edited"},
    }


def test_things_are_made_once_and_renamed(desk: Any, caller: Caller) -> None:
    made = {}
    for name, kind in (
        ("createTag", "CreateTagInput"),
        ("createDomain", "CreateDomainInput"),
        ("createGlossaryNode", "CreateGlossaryEntityInput"),
        ("createGlossaryTerm", "CreateGlossaryEntityInput"),
        ("createGroup", "CreateGroupInput"),
    ):
        given = {"id": "gqlmade", "name": "Made", "description": "by hand"}
        made[name] = change(caller, name, kind, given)["data"][name]
        again = desk.one_error(change(caller, name, kind, given))
        assert again["extensions"] == {
            "code": 409,
            "type": "CONFLICT",
            "classification": "DataFetchingException",
        }
    assert caller.value(made["createTag"], "tagProperties")["description"] == "by hand"
    assert caller.value(made["createGlossaryTerm"], "glossaryTermInfo")["definition"] == "by hand"
    assert caller.value(made["createGroup"], "corpGroupInfo")["displayName"] == "Made"
    given = {"urn": made["createDomain"], "name": "Renamed"}
    done(caller, "updateName", "UpdateNameInput", given)
    assert caller.value(made["createDomain"], "domainProperties")["name"] == "Renamed"
    unnamed = change(caller, "createDomain", "CreateDomainInput", {"name": "Other"})
    assert unnamed["data"]["createDomain"].startswith("urn:li:domain:")


def test_tags_added_at_once_are_all_kept(caller: Caller, table: Any) -> None:
    tags = [f"urn:li:tag:gqlrace{n}" for n in range(12)]
    for tag in tags:
        caller.ingest(tag, "tagProperties", {"name": tag})

    def add(tag: Any) -> None:
        given = {"tagUrn": tag, "resourceUrn": table}
        done(caller, "addTag", "TagAssociationInput", given)

    threads = [threading.Thread(target=add, args=(tag,)) for tag in tags]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(tags_of(caller, table)) == sorted(tags)
