"""Edits by people: what they change, what they leave alone, and what they refuse."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Caller

USER = "urn:li:corpuser:grace"


def test_an_edited_description_is_what_plain_callers_read_and_beside_the_ingested_for_datahubs(
    desk: Any, caller: Caller, table: Any
) -> None:
    answer = desk.edit_dataset(urn=table, changes={"editableProperties": {"description": "edited"}})
    assert answer == {"data": {"updateDataset": {"urn": table}}, "extensions": {}}
    for dialect, text in (("plain", "edited"), ("datahub", "ingested")):
        read = desk.read(table, dialect)["data"]["dataset"]
        assert read["properties"] == {"description": text}
        assert read["editableProperties"] == {"description": "edited"}
    assert caller.value(table, "datasetProperties")["description"] == "ingested"
    stored = caller.value(table, "editableDatasetProperties")
    assert stored["lastModified"]["time"] > 0


def test_an_edited_description_stands_in_where_nothing_was_ingested(
    desk: Any, caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    assert desk.read(urn=dataset)["data"]["dataset"]["properties"] is None
    desk.edit_dataset(urn=dataset, changes={"editableProperties": {"description": "new"}})
    read = desk.read(urn=dataset)["data"]["dataset"]
    assert read["properties"] == {"description": "new"}


def test_an_emptied_description_gives_way_to_the_ingested_one(desk: Any, table: Any) -> None:
    for text in ("edited", ""):
        desk.edit_dataset(urn=table, changes={"editableProperties": {"description": text}})
        desk.describe(changes=desk.column(table, "a", text))
    read = desk.read(urn=table)["data"]["dataset"]
    assert read["properties"] == {"description": "ingested"}
    assert read["schemaMetadata"]["fields"][0]["description"] == "of a"


def test_a_text_for_an_earlier_case_is_the_columns_and_stays_stored_as_it_is(
    desk: Any, caller: Caller, table: Any, schema: Callable[..., dict[str, Any]]
) -> None:
    desk.describe(changes=desk.column(table, "a", "edited"))
    caller.ingest(table, "schemaMetadata", schema("A", "b"))
    read = desk.read(urn=table)["data"]["dataset"]
    assert read["schemaMetadata"]["fields"][0] == {"fieldPath": "A", "description": "edited"}
    infos = read["editableSchemaMetadata"]["editableSchemaFieldInfo"]
    assert infos == [{"fieldPath": "a", "description": "edited"}]


def test_each_part_of_an_update_leaves_the_other_alone_and_links_are_replaced(
    desk: Any, caller: Caller, table: Any
) -> None:
    def link(url: Any) -> Any:
        return {
            "institutionalMemory": {"elements": [{"author": USER, "url": url, "description": "d"}]}
        }

    desk.edit_dataset(urn=table, changes={"editableProperties": {"description": "kept"}})
    desk.edit_dataset(urn=table, changes=link("https://one"))
    desk.edit_dataset(urn=table, changes=link("https://two"))
    read = desk.read(urn=table)["data"]["dataset"]
    assert read["editableProperties"] == {"description": "kept"}
    (element,) = read["institutionalMemory"]["elements"]
    assert element["url"] == "https://two"
    assert element["author"] == {"username": "grace"}
    assert element["created"]["time"] > 0
    desk.edit_dataset(urn=table, changes={"editableProperties": {"description": "again"}})
    assert caller.value(table, "institutionalMemory")["elements"][0]["url"] == "https://two"


def test_the_author_of_a_link_is_a_user(desk: Any, caller: Caller, table: Any) -> None:
    given = {"elements": [{"author": "urn:li:tag:x", "url": "u", "description": "d"}]}
    answer = desk.edit_dataset(urn=table, changes={"institutionalMemory": given})
    assert desk.one_error(answer)["extensions"]["type"] == "BAD_REQUEST"
    assert caller.value(table, "institutionalMemory") is None


def test_a_link_tells_who_made_it_and_when(caller: Caller, table: Any) -> None:
    stamp = {"time": 5, "actor": "urn:li:corpGroup:team"}
    links = [{"url": "https://x", "description": "d", "createStamp": stamp}]
    caller.ingest(table, "institutionalMemory", {"elements": links})
    query = """query($u: String!) { dataset(urn: $u) { institutionalMemory { elements {
      label created { time } actor { __typename urn } associatedUrn
    } } } }"""
    (element,) = caller.graphql(query, u=table)["data"]["dataset"]["institutionalMemory"][
        "elements"
    ]
    assert element == {
        "label": "d",
        "created": {"time": 5},
        "actor": {"__typename": "CorpGroup", "urn": "urn:li:corpGroup:team"},
        "associatedUrn": table,
    }


def test_single_links_are_added_and_removed(desk: Any, caller: Caller, table: Any) -> None:
    add = "mutation($i: AddLinkInput!) { addLink(input: $i) }"
    remove = "mutation($i: RemoveLinkInput!) { removeLink(input: $i) }"
    for url, label in (("https://a", "a"), ("https://b", "b"), ("https://a", "A")):
        given = {"linkUrl": url, "label": label, "resourceUrn": table}
        assert caller.graphql(add, i=given)["data"] == {"addLink": True}
    elements = caller.value(table, "institutionalMemory")["elements"]
    assert [(one["url"], one["description"]) for one in elements] == [
        ("https://b", "b"),
        ("https://a", "A"),
    ]
    gone = {"linkUrl": "https://b", "resourceUrn": table}
    assert caller.graphql(remove, i=gone)["data"] == {"removeLink": True}
    assert len(caller.value(table, "institutionalMemory")["elements"]) == 1
    assert desk.one_error(caller.graphql(remove, i=gone))["extensions"]["type"] == "NOT_FOUND"


def test_a_column_edit_is_read_back_and_leaves_the_ingested_schema_alone(
    desk: Any, caller: Caller, table: Any, schema: Callable[..., dict[str, Any]]
) -> None:
    before = caller.value(table, "schemaMetadata")
    for path, text in (("a", "edited a"), ("b", "edited b")):
        answer = desk.describe(changes=desk.column(table, path, text))
        assert answer == {"data": {"updateDescription": True}, "extensions": {}}
    for dialect, text in (("datahub", "of a"), ("plain", "edited a")):
        read = desk.read(table, dialect)["data"]["dataset"]
        columns = read["schemaMetadata"]["fields"]
        described = {one["fieldPath"]: one["description"] for one in columns}
        assert described == {"a": text, "b": "edited b", "nested.b": None}
    edited = read["editableSchemaMetadata"]["editableSchemaFieldInfo"]
    assert edited == [
        {"fieldPath": "a", "description": "edited a"},
        {"fieldPath": "b", "description": "edited b"},
    ]
    assert caller.value(table, "schemaMetadata") == before
    caller.ingest(table, "schemaMetadata", schema("a", "b", "c"))
    again = desk.read(urn=table)["data"]["dataset"]
    assert again["editableSchemaMetadata"]["editableSchemaFieldInfo"] == edited


def test_a_column_edit_keeps_tags_and_other_entries(desk: Any, caller: Caller, table: Any) -> None:
    tags = {"tags": [{"tag": "urn:li:tag:pii"}]}
    infos = [
        {"fieldPath": "a", "globalTags": tags},
        {"fieldPath": "nested.b", "description": "deep"},
    ]
    caller.ingest(table, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})
    desk.describe(changes=desk.column(table, "a", "text"))
    stored = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert stored == [
        {"fieldPath": "a", "globalTags": tags, "description": "text"},
        {"fieldPath": "nested.b", "description": "deep"},
    ]


def test_a_column_edit_can_empty_a_description(desk: Any, caller: Caller, table: Any) -> None:
    for text in ("text", ""):
        desk.describe(changes=desk.column(table, "b", text))
    (info,) = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert info == {"fieldPath": "b", "description": ""}


def test_saving_the_same_text_again_makes_no_version(desk: Any, caller: Caller, table: Any) -> None:
    for _ in range(2):
        desk.describe(changes=desk.column(table, "b", "text"))
        given = {"editableProperties": {"description": "text"}}
        desk.edit_dataset(urn=table, changes=given)
    for aspect in ("editableSchemaMetadata", "editableDatasetProperties"):
        assert caller.version(table, aspect, 1).status_code == 404


def test_versioned_field_paths_match_exactly(
    desk: Any, caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
) -> None:
    root = "[version=2.0].[type=struct]"
    paths = [f"{root}.[type=struct].a", f"{root}.[type=struct].a.[type=string].b", "a", "a.b"]
    caller.ingest(dataset, "schemaMetadata", schema(*paths))
    desk.describe(changes=desk.column(dataset, paths[1], "the one"))
    fields = desk.read(urn=dataset)["data"]["dataset"]["schemaMetadata"]["fields"]
    assert [field["description"] for field in fields] == [None, "the one", None, None]


def test_an_unknown_column_is_refused_with_its_nearest(
    desk: Any, caller: Caller, table: Any
) -> None:
    error = desk.one_error(desk.describe(changes=desk.column(table, "nested.bb", "text")))
    assert error["message"] == (
        "Field nested.bb does not exist in the datasets schema. Nearest: nested.b"
    )
    assert error["extensions"]["code"] == 404
    assert caller.value(table, "editableSchemaMetadata") is None


def test_two_columns_edited_at_once_are_both_kept(
    desk: Any, caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
) -> None:
    paths = [f"c{n}" for n in range(24)]
    caller.ingest(dataset, "schemaMetadata", schema(*paths))
    failed = []

    def edit(mine: Any) -> None:
        for path in mine:
            answer = desk.describe(changes=desk.column(dataset, path, f"of {path}"))
            if answer.get("errors"):
                failed.append(answer)

    threads = [threading.Thread(target=edit, args=(paths[at::6],)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    infos = caller.value(dataset, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert {info["fieldPath"]: info["description"] for info in infos} == {
        path: f"of {path}" for path in paths
    }


def test_editing_what_does_not_exist_fails_and_makes_nothing(
    desk: Any, caller: Caller, dataset: str
) -> None:
    updates = {
        "editableProperties": {"description": "x"},
        "institutionalMemory": {"elements": []},
    }
    answers = [
        desk.edit_dataset(urn=dataset, changes=updates),
        desk.describe(changes=desk.column(dataset, "a", "x")),
        desk.describe(changes={"resourceUrn": "urn:li:container:nowhere", "description": "x"}),
    ]
    for answer in answers:
        error = desk.one_error(answer)
        assert error["message"].endswith("does not exist.")
        assert error["extensions"] == {
            "code": 404,
            "type": "NOT_FOUND",
            "classification": "DataFetchingException",
        }
        assert set(answer["data"].values()) == {None}
    assert not caller.exists(dataset)


def test_a_container_is_described(desk: Any, caller: Caller) -> None:
    urn = "urn:li:container:gql"
    caller.ingest(urn, "containerProperties", {"name": "Marts"})
    given = {"resourceUrn": urn, "description": "of the marts"}
    assert desk.describe(changes=given)["data"] == {"updateDescription": True}
    query = "query($u: String!) { container(urn: $u) { type properties { name description } } }"
    assert caller.graphql(query, u=urn)["data"]["container"] == {
        "type": "CONTAINER",
        "properties": {"name": "Marts", "description": "of the marts"},
    }


@pytest.mark.parametrize(
    "urn",
    [
        "urn:li:chart:(looker,x)",
        "urn:li:corpuser:x",
        "urn:li:dataset:(urn:li:dataPlatform:hive,bare,PROD)",
    ],
)
def test_other_targets_of_update_description_are_refused(
    desk: Any, caller: Caller, urn: str
) -> None:
    caller.ingest(urn, "status", {"removed": False})
    before = caller.entity(urn)["aspects"]
    answer = desk.describe(changes={"resourceUrn": urn, "description": "x"})
    assert desk.one_error(answer)["extensions"]["code"] == 400
    assert caller.entity(urn)["aspects"] == before


ML = "urn:li:dataPlatform:mlflow"
DESCRIBED = {
    "urn:li:container:described": ("editableContainerProperties", {}),
    "urn:li:domain:described": ("domainProperties", {"name": "described"}),
    "urn:li:glossaryTerm:described": ("glossaryTermInfo", {"termSource": "INTERNAL"}),
    "urn:li:glossaryNode:described": ("glossaryNodeInfo", {}),
    "urn:li:tag:described": ("tagProperties", {"name": "described"}),
    "urn:li:corpGroup:described": ("corpGroupEditableInfo", {}),
    "urn:li:notebook:(querybook,described)": ("editableNotebookProperties", {}),
    f"urn:li:mlModel:({ML},described,PROD)": ("editableMlModelProperties", {}),
    f"urn:li:mlModelGroup:({ML},described,PROD)": ("editableMlModelGroupProperties", {}),
    "urn:li:mlFeature:(users,described)": ("editableMlFeatureProperties", {}),
    f"urn:li:mlFeatureTable:({ML},described)": ("editableMlFeatureTableProperties", {}),
    "urn:li:mlPrimaryKey:(users,described)": ("editableMlPrimaryKeyProperties", {}),
    "urn:li:dataProduct:described": ("dataProductProperties", {}),
    "urn:li:businessAttribute:described": (
        "businessAttributeInfo",
        {"name": "described", "fieldPath": "described"},
    ),
    "urn:li:application:described": ("applicationProperties", {}),
}


@pytest.mark.parametrize("urn", DESCRIBED)
def test_every_kind_that_datahub_describes_is_described(
    desk: Any, caller: Caller, urn: Any
) -> None:
    aspect, begun = DESCRIBED[urn]
    field = "definition" if "glossary" in urn else "description"
    caller.ingest(urn, "ownership", {"owners": []})
    for text in ("first *words*", "second words", ""):
        answer = desk.describe(changes={"resourceUrn": urn, "description": text})
        assert answer == {"data": {"updateDescription": True}, "extensions": {}}
        stored = caller.value(urn, aspect)
        assert {name: stored[name] for name in (*begun, field)} == {**begun, field: text}
    column = {"resourceUrn": urn, "description": "x", "subResource": "a"}
    error = desk.one_error(desk.describe(changes=column))
    assert error["extensions"]["code"] == 400
    assert caller.value(urn, aspect)[field] == ""


def test_what_stands_beside_a_description_stays(desk: Any, caller: Caller) -> None:
    urn = "urn:li:glossaryTerm:beside"
    info = {"name": "Beside", "definition": "before", "termSource": "EXTERNAL", "sourceRef": "r"}
    caller.ingest(urn, "glossaryTermInfo", info)
    desk.describe(changes={"resourceUrn": urn, "description": "after"})
    assert caller.value(urn, "glossaryTermInfo") == info | {"definition": "after"}


def test_block_strings_lose_their_indentation_only(caller: Caller, table: Any) -> None:
    document = f'''
    mutation {{
      updateDescription(input: {{
        resourceUrn: "{table}", subResource: "b", subResourceType: DATASET_FIELD,
        description: """
          # Heading

            * indented "quoted" \\""" and \\ backslash
          last
        """
      }})
    }}
    '''
    assert caller.graphql(document)["data"] == {"updateDescription": True}
    (info,) = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert info["description"] == ('# Heading\n\n  * indented "quoted" """ and \\ backslash\nlast')


def test_text_in_variables_is_kept_character_for_character(
    desk: Any, caller: Caller, table: Any
) -> None:
    text = "a\r\n\tb  \n\u0000|x|\n```\n{}\"'\\ <b> 🏔 \u202e "
    desk.describe(changes=desk.column(table, "b", text))
    (info,) = caller.value(table, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert info["description"] == text


def test_editing_what_is_soft_deleted_works_and_leaves_it_so(
    desk: Any, caller: Caller, table: Any
) -> None:
    caller.ingest(table, "status", {"removed": True})
    desk.describe(changes=desk.column(table, "b", "still"))
    assert caller.value(table, "status") == {"removed": True}
    assert desk.read(urn=table)["data"]["dataset"]["editableSchemaMetadata"]


def test_an_edit_is_found_by_search_at_once(desk: Any, caller: Caller, table: Any) -> None:
    desk.describe(changes=desk.column(table, "b", "hochkoenigwort"))
    assert caller.search("hochkoenigwort")["entities"] == [table]


# As `datahub forms upsert` sends it.
ASSIGN = """
mutation batchAssignForm {
    batchAssignForm(
    input: {
        formUrn: "%s",
        entityUrns: ["%s", "%s"]
    }
    )
}
"""
FORM = "urn:li:form:checked"


def test_a_form_is_assigned_once_with_its_prompts_unanswered_and_taken_off_again(
    desk: Any, caller: Caller, table: Any
) -> None:
    other = "urn:li:chart:(looker,asked)"
    caller.ingest(other, "status", {"removed": False})
    prompt = {"id": "p", "title": "who?", "type": "STRUCTURED_PROPERTY"}
    caller.ingest(FORM, "formInfo", {"name": "Checked", "type": "COMPLETION", "prompts": [prompt]})
    answered = {"urn": "urn:li:form:old", "incompletePrompts": [], "completedPrompts": []}
    before = {"incompleteForms": [], "completedForms": [answered], "verifications": []}
    caller.ingest(table, "forms", before)
    for _ in range(2):
        assert caller.graphql(ASSIGN % (FORM, table, other))["data"] == {"batchAssignForm": True}
    for urn, done in ((table, [answered]), (other, [])):
        forms = caller.value(urn, "forms")
        (form,) = forms["incompleteForms"]
        assert form["urn"] == FORM
        assert [one["id"] for one in form["incompletePrompts"]] == ["p"]
        assert (form["completedPrompts"], forms["completedForms"]) == ([], done)
    take_off = ASSIGN.replace("batchAssignForm", "batchRemoveForm") % (FORM, table, other)
    assert caller.graphql(take_off)["data"] == {"batchRemoveForm": True}
    assert caller.value(table, "forms") == before
    absent = "urn:li:chart:(looker,absent)"
    for form, urn in (("urn:li:form:absent", table), (FORM, absent)):
        error = desk.one_error(caller.graphql(ASSIGN % (form, table, urn)))
        assert "absent" in error["message"]
    assert caller.value(table, "forms") == before


# As `datahub forms upsert` sends it for a file with filters.
BY_FILTER = """
mutation createDynamicFormAssignment {
    createDynamicFormAssignment(
    input: {
        formUrn: "%s"
        orFilters: [{
            and: [%s]
        }]
    }
    )
}
"""


def test_a_form_is_assigned_to_what_a_filter_finds(desk: Any, caller: Caller, table: Any) -> None:
    form, tag = "urn:li:form:filtered", "urn:li:tag:for-the-form"
    caller.ingest(form, "formInfo", {"name": "Filtered", "type": "COMPLETION", "prompts": []})
    chart, other = "urn:li:chart:(looker,tagged)", "urn:li:dashboard:(looker,untagged)"
    for urn in (table, chart):
        caller.ingest(urn, "globalTags", {"tags": [{"tag": tag}]})
    caller.ingest(other, "status", {"removed": False})
    tagged = f'{{ field: "tags", values: ["{tag}"], condition: EQUAL, negated: false }}'
    for _ in range(2):
        answer = caller.graphql(BY_FILTER % (form, tagged))
        assert answer["data"] == {"createDynamicFormAssignment": True}
    for urn, forms in ((table, [form]), (chart, [form]), (other, [])):
        stored = caller.value(urn, "forms") or {"incompleteForms": []}
        assert [one["urn"] for one in stored["incompleteForms"]] == forms
    kept = caller.value(form, "dynamicFormAssignment")
    criterion = {"field": "tags", "values": [tag], "condition": "EQUAL", "negated": False}
    assert kept == {"filter": {"or": [{"and": [criterion]}]}}
    all_of_them = '{ field: "tags", values: [] }'
    for wrong in ((form, ""), (form, all_of_them), ("urn:li:form:absent", tagged)):
        desk.one_error(caller.graphql(BY_FILTER % wrong))
    assert caller.value(other, "forms") is None
    assert caller.value(form, "dynamicFormAssignment") == kept


def test_data_products_are_created_renamed_and_given_assets(
    desk: Any, caller: Caller, table: Any
) -> None:
    """As the skills of DataHub for agents do, with `datahub graphql`."""
    domain, chart = "urn:li:domain:revenue", "urn:li:chart:(looker,sold)"
    caller.ingest(domain, "domainProperties", {"name": "Revenue"})
    caller.ingest(chart, "status", {"removed": False})
    made = caller.graphql("""mutation { createDataProduct(input: {
        domainUrn: "urn:li:domain:revenue", id: "figures",
        properties: { name: "Figures", description: "Revenue pipeline" }
      }) { urn properties { name } domain { domain { urn } } } }""")
    urn = "urn:li:dataProduct:figures"
    assert made["data"]["createDataProduct"] == {
        "urn": urn,
        "properties": {"name": "Figures"},
        "domain": {"domain": {"urn": domain}},
    }
    changed = caller.graphql(
        f'mutation {{ updateDataProduct(urn: "{urn}", input: {{ name: "Numbers" }}) {{ '
        "properties { name description } } }"
    )
    renamed = {"name": "Numbers", "description": "Revenue pipeline"}
    assert changed["data"]["updateDataProduct"]["properties"] == renamed
    fill = "mutation($i: BatchSetDataProductInput!) { batchSetDataProduct(input: $i) }"

    def assets() -> list[str]:
        stored = caller.value(urn, "dataProductProperties").get("assets", ())
        return [one["destinationUrn"] for one in stored]

    for _ in range(2):
        asked = {"dataProductUrn": urn, "resourceUrns": [table, chart]}
        assert caller.graphql(fill, i=asked)["data"] == {"batchSetDataProduct": True}
        assert assets() == [table, chart]
    assert caller.graphql(fill, i={"resourceUrns": [chart]})["data"]
    assert assets() == [table]
    for wrong in ({"dataProductUrn": domain}, {"resourceUrns": ["urn:li:chart:(looker,absent)"]}):
        desk.one_error(caller.graphql(fill, i={**asked, **wrong}))
    desk.one_error(
        caller.graphql(
            f'mutation {{ updateDataProduct(urn: "{domain}", input: {{ name: "x" }}) {{ urn }} }}'
        )
    )
    assert (assets(), caller.value(domain, "domainProperties")["name"]) == ([table], "Revenue")
