"""Documents: what is read, in every way that a document can ask for it."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    build_client_schema,
    get_introspection_query,
)

from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from explorer.server.graphql.executor import DocumentCache
from explorer.server.graphql.session import OverBudget, RequestBudget
from tests.server.conftest import Caller

USER = "urn:li:corpuser:grace"


def test_only_what_was_selected_is_answered(caller: Caller, table: Any) -> None:
    answer = caller.graphql(f'{{ dataset(urn: "{table}") {{ properties {{ description }} }} }}')
    assert answer == {
        "data": {"dataset": {"properties": {"description": "ingested"}}},
        "extensions": {},
    }
    query = f'{{ dataset(urn: "{table}") {{ schemaMetadata {{ fields {{ fieldPath }} }} }} }}'
    assert caller.graphql(query)["data"]["dataset"]["schemaMetadata"] == {
        "fields": [{"fieldPath": "a"}, {"fieldPath": "b"}, {"fieldPath": "nested.b"}]
    }


def test_a_dataset_is_read_whole(caller: Caller, dataset: str) -> None:
    tags = {"tags": [{"tag": "urn:li:tag:gql"}]}
    caller.ingest("urn:li:tag:gql", "tagProperties", {"name": "GQL", "description": "d"})
    caller.ingest(dataset, "datasetProperties", {"customProperties": {"k": "v"}})
    caller.ingest(dataset, "globalTags", tags)
    owners = [
        {"owner": USER, "type": "DATAOWNER"},
        {"owner": "urn:li:corpGroup:team", "type": "SOMETHING_NEW"},
    ]
    caller.ingest(dataset, "ownership", {"owners": owners})
    caller.ingest(dataset, "status", {"removed": True})
    field = {
        "fieldPath": "id",
        "nativeDataType": "struct",
        "nullable": True,
        "isPartOfKey": True,
        "globalTags": tags,
        "type": {"type": {"com.vendor.schema.RecordType": {}}},
    }
    caller.ingest(
        dataset,
        "schemaMetadata",
        {
            "schemaName": "s",
            "platform": "urn:li:dataPlatform:hive",
            "version": 2**40,
            "hash": "",
            "platformSchema": {"com.vendor.schema.OtherSchema": {"rawSchema": ""}},
            "fields": [field],
        },
    )
    answer = caller.graphql(
        """
        query whole($urn: String!) {
          dataset(urn: $urn) {
            urn type name origin exists
            platform { urn type name properties { displayName } }
            properties { name description customProperties { key value } }
            status { removed }
            ownership { owners { type owner {
              __typename ... on Entity { urn } ... on CorpGroup { name }
            } } }
            tags { tags { tag { name properties { description } } } }
            schemaMetadata { name version fields {
              fieldPath nullable nativeDataType type recursive isPartOfKey
              tags { tags { tag { urn } } }
            } }
          }
        }
        """,
        urn=dataset,
    )
    assert "errors" not in answer
    assert answer["data"]["dataset"] == {
        "urn": dataset,
        "type": "DATASET",
        "name": "test_a_dataset_is_read_whole",
        "origin": "PROD",
        "exists": True,
        "platform": {
            "urn": "urn:li:dataPlatform:hive",
            "type": "DATA_PLATFORM",
            "name": "hive",
            "properties": None,
        },
        "properties": {
            "name": "test_a_dataset_is_read_whole",
            "description": None,
            "customProperties": [{"key": "k", "value": "v"}],
        },
        "status": {"removed": True},
        "ownership": {
            "owners": [
                {"type": "DATAOWNER", "owner": {"__typename": "CorpUser", "urn": USER}},
                {
                    "type": None,
                    "owner": {
                        "__typename": "CorpGroup",
                        "urn": "urn:li:corpGroup:team",
                        "name": "team",
                    },
                },
            ]
        },
        "tags": {"tags": [{"tag": {"name": "GQL", "properties": {"description": "d"}}}]},
        "schemaMetadata": {
            "name": "s",
            "version": 2**40,
            "fields": [
                {
                    "fieldPath": "id",
                    "nullable": True,
                    "nativeDataType": "struct",
                    "type": "STRUCT",
                    "recursive": False,
                    "isPartOfKey": True,
                    "tags": {"tags": [{"tag": {"urn": "urn:li:tag:gql"}}]},
                }
            ],
        },
    }


def test_nulls_where_a_default_is_meant_are_read_as_it(
    caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
) -> None:
    columns = schema("a")
    columns["fields"][0] |= {"nullable": None, "recursive": None, "isPartOfKey": None}
    caller.ingest(dataset, "schemaMetadata", columns)
    caller.ingest(dataset, "datasetProperties", {"name": None, "customProperties": None})
    query = """query($u: String!) { dataset(urn: $u) {
      properties { name customProperties { key } }
      schemaMetadata { fields { nullable recursive isPartOfKey } }
    } }"""
    read = caller.graphql(query, u=dataset)["data"]["dataset"]
    assert read["properties"]["customProperties"] == []
    (field,) = read["schemaMetadata"]["fields"]
    assert field == {"nullable": False, "recursive": False, "isPartOfKey": False}


def test_a_dataset_that_does_not_exist_reads_as_null(desk: Any, dataset: str) -> None:
    assert desk.read(urn=dataset) == {"data": {"dataset": None}, "extensions": {}}


@pytest.mark.parametrize("urn", ["nonsense", "urn:li:tag:x", "urn:li:dataset:(a,b)"])
def test_a_urn_of_no_dataset_is_an_error(desk: Any, urn: str) -> None:
    answer = desk.read(urn=urn)
    assert answer["data"] == {"dataset": None}
    assert desk.one_error(answer)["extensions"]["code"] == 400


def test_aliases_several_fields_and_named_operations_work(caller: Caller, table: Any) -> None:
    query = f"""
    query one {{ dataset(urn: "{table}") {{ name }} }}
    query two($other: String!) {{
      mine: dataset(urn: "{table}") {{ ...Described }}
      other: dataset(urn: $other) {{ name }}
    }}
    fragment Described on Dataset {{ d: properties {{ description }} }}
    """
    body = {
        "query": query,
        "operationName": "two",
        "variables": {"other": "urn:li:dataset:(urn:li:dataPlatform:hive,no,PROD)"},
    }
    assert caller.post("/api/graphql", body).json() == {
        "data": {"mine": {"d": {"description": "ingested"}}, "other": None},
        "extensions": {},
    }


@pytest.mark.parametrize(
    ("query", "classification"),
    [
        ("{ dataset(urn: 1) { nonsense } }", "ValidationError"),
        ("{ dataset", "InvalidSyntax"),
        ("query($urn: String!) { dataset(urn: $urn) { urn } }", "ValidationError"),
    ],
)
def test_a_document_that_cannot_run_is_answered_with_its_errors(
    caller: Caller, query: str, classification: str
) -> None:
    answer = caller.graphql(query)
    assert answer["data"] is None
    assert answer["extensions"] == {}
    for error in answer["errors"]:
        assert error["extensions"] == {
            "code": 400,
            "type": "BAD_REQUEST",
            "classification": classification,
        }


@pytest.mark.parametrize("body", [{}, {"query": 5}, {"query": "{x}", "variables": []}])
def test_a_request_without_a_document_is_400(caller: Caller, body: Any) -> None:
    assert caller.post("/api/graphql", body).status_code == 400


def test_a_token_in_the_header_is_taken(caller: Caller, table: Any) -> None:
    answer = caller.post("/api/graphql", {"query": "{__typename}"}, Authorization="Bearer x")
    assert answer.json() == {"data": {"__typename": "Query"}, "extensions": {}}


def test_introspection_gives_the_whole_schema(caller: Caller) -> None:
    answer = caller.graphql(get_introspection_query(input_value_deprecation=True))
    schema = build_client_schema(answer["data"])
    entity = schema.get_type("Entity")
    kinds = schema.get_type("EntityType")
    assert isinstance(entity, GraphQLInterfaceType)
    assert isinstance(kinds, GraphQLEnumType)
    assert set(entity.fields) == {"urn", "type", "relationships"}
    assert {"DATASET", "CORP_USER", "DATA_JOB", "MLMODEL"} <= set(kinds.values)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ('{ dataset(urn: "x") { ' + "container { " * 30 + "urn" + " }" * 32, "too deep"),
        (
            "{ "
            + " ".join(f'a{n}: dataset(urn: "x") {{ ...F }}' for n in range(300))
            + " } fragment F on Dataset { "
            + " ".join(f"f{n}: name" for n in range(90))
            + " }",
            "too large",
        ),
        ("{" * 5000, "Syntax Error"),
        (
            "{ ...F0 } "
            + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60))
            + ' fragment F60 on Query { search(input: {type: TAG, query: "a"}) { total } }',
            "too large",
        ),
        ('{ dataset(urn: "x") { ' + "name " * 49_000 + "} }", "Document contains more than 20000"),
        ('{ dataset(urn: "x") { ' + "name " * 2_000 + "} }", "select each once"),
        (
            "{ me { ...F0 } } "
            + " ".join(f"fragment F{n} on AuthenticatedUser {{ __typename }}" for n in range(500)),
            "501 operations and fragments",
        ),
        ("{ ...F } fragment F on Query { ...F a: me { ...F } b: me { ...F } }", "itself"),
        (
            "{ "
            + "".join(
                f"a{n}: __schema {{ types {{ fields {{ name type {{ name }} }} }} }} "
                for n in range(100)
            )
            + "}",
            "asks for up to",
        ),
        ("{ me { __typename } } #" + "x" * 1_000_001, "at most 1,000,000 are read"),
    ],
)
def test_a_document_out_of_bounds_is_refused(
    desk: Any, caller: Caller, query: Any, told: str
) -> None:
    assert told in caller.graphql(query)["errors"][0]["message"]


class TestWhatADocumentTakes:
    """Pages count as long as they are, not as they might be."""

    def test_a_document_of_long_nested_pages_is_answered(self, caller: Caller, table: Any) -> None:
        page = "input: {types: [], direction: INCOMING, count: 1000}"
        inner = "{ total relationships { type entity { urn type } } }"
        document = f"""query($input: SearchAcrossEntitiesInput!) {{
          searchAcrossEntities(input: $input) {{ total searchResults {{ entity {{
            urn ... on Dataset {{ name relationships({page}) {inner} }}
          }} }} }}
        }}"""
        asked = {"query": "*", "types": ["DATASET"], "count": 100}
        answer = caller.graphql(document, input=asked)
        assert "errors" not in answer
        assert answer["data"]["searchAcrossEntities"]["total"] > 0

    @pytest.mark.nightly
    def test_an_answer_of_too_many_fields_is_ended(
        self, caller: Caller, desk: Any, dataset: str, schema: Callable[..., dict[str, Any]]
    ) -> None:
        columns = schema(*(f"c{at}" for at in range(2_000)))
        caller.ingest(dataset, "schemaMetadata", columns)
        one = f'dataset(urn: "{dataset}") {{ schemaMetadata {{ fields {{ fieldPath }} }} }}'
        few = caller.graphql("{ " + " ".join(f"a{at}: {one}" for at in range(20)) + " }")
        assert "errors" not in few
        answer = caller.graphql("{ " + " ".join(f"a{at}: {one}" for at in range(200)) + " }")
        assert answer["data"] is None
        error = desk.one_error(answer)
        assert "more than 250,000 fields" in error["message"]
        assert error["extensions"]["code"] == 400

    def test_an_edit_is_measured_before_it_is_made(
        self, caller: Caller, desk: Any, dataset: str, schema: Callable[..., dict[str, Any]]
    ) -> None:
        caller.ingest(dataset, "schemaMetadata", schema("a"))
        page = "lineage(input: {direction: UPSTREAM, count: 1000}) { relationships { entity "
        deep = page + "{ ... on Dataset { " + page + "{ urn } } } } } } }"
        document = f"""mutation($urn: String!, $input: DatasetUpdateInput!) {{
          updateDataset(urn: $urn, input: $input) {{ {deep} }}
        }}"""
        edit = {"editableProperties": {"description": "not made"}}
        error = desk.one_error(caller.graphql(document, urn=dataset, input=edit))
        assert "asks for up to" in error["message"]
        assert caller.value(dataset, "editableDatasetProperties") is None

    @pytest.mark.parametrize(
        ("budget", "said"),
        [
            (RequestBudget(fields=2), "fields"),
            (RequestBudget(entities=2), "entities"),
            (RequestBudget(seconds=-1), "seconds"),
        ],
    )
    def test_a_budget_that_is_spent_stays_spent(self, budget: Any, said: str) -> None:
        def spend() -> None:
            for _ in range(3):
                budget.answer(1)
                budget.read(1)

        with pytest.raises(OverBudget, match=said):
            spend()
        with pytest.raises(OverBudget, match=said):
            budget.answer(0)
        assert said in str(budget.exceeded)


def test_one_document_asks_the_same_of_every_kind_of_entity(caller: Caller, table: Any) -> None:
    query = """query($u: String!) { entity(urn: $u) {
      urn
      ... on Dataset { name platform { ...P } tags { ...T } properties { name description } }
      ... on Chart { platform { ...P } tags { ...T } properties { name description } }
      ... on Dashboard { platform { ...P } tags { ...T } properties { name description } }
      ... on DataFlow { platform { ...P } tags { ...T } properties { name description } }
      ... on DataJob { jobId platform { ...P } tags { ...T } properties { name description } }
      ... on Container { platform { ...P } tags { ...T } properties { name description } }
      ... on MLModel { name platform { ...P } tags { ...T } properties { name description } }
      ... on MLFeature { name tags { ...T } properties { description } }
      ... on MLFeatureTable { name platform { ...P } properties { description } }
      ... on Domain { properties { name description } }
      ... on GlossaryTerm { name properties { name description } }
      ... on Tag { name properties { name description } }
      ... on CorpUser { username properties { displayName email } }
      ... on CorpGroup { name properties { displayName email } }
    } }
    fragment P on DataPlatform { urn name properties { displayName logoUrl } }
    fragment T on GlobalTags { tags { tag { urn name } } }
    """
    read = caller.graphql(query, u=table)
    assert "errors" not in read
    assert read["data"]["entity"]["properties"] == {"name": "T", "description": "ingested"}


def test_only_posts_with_a_readable_body_are_taken(caller: Caller) -> None:
    assert caller.get("/api/graphql").status_code == 405
    for body in (b"{", b"[]", b""):
        headers = {"content-type": "application/json"}
        answer = caller.http.post("/api/graphql", content=body, headers=headers)
        assert answer.status_code == 400


def test_variables_may_be_null_or_missing(caller: Caller) -> None:
    body: dict[str, Any]
    for body in ({}, {"variables": None}, {"variables": {}}):
        answer = caller.post("/api/graphql", {"query": "{ __typename }", **body})
        assert answer.json()["data"] == {"__typename": "Query"}


def test_the_schema_is_described_again_from_what_was_kept(caller: Caller) -> None:
    query = get_introspection_query(input_value_deprecation=True)
    first = caller.graphql(query)
    assert caller.graphql(query) == first
    kinds = {one["name"] for one in first["data"]["__schema"]["types"]}
    assert {"GenericEntity", "SearchFlags", "AndFilterInput", "EntityType"} <= kinds


def test_a_kind_of_a_deployments_own_is_an_entity_like_any(
    tmp_path: Path, serve: Callable[..., str]
) -> None:
    own = {
        "entities": {"warehouseShelf": {"key": "warehouseShelfKey", "aspects": ["status"]}},
        "aspects": {"warehouseShelfKey": {"record": "com.own.WarehouseShelfKey"}},
        "records": {"com.own.WarehouseShelfKey": {"fields": {"id": {"type": "string"}}}},
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(own))
    (tmp_path / "data").mkdir()
    catalog = open_catalog(tmp_path / "data", load_registry(file))
    urn = "urn:li:warehouseShelf:seven"
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        proposal = {
            "entityType": "warehouseShelf",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": "status",
            "aspect": {"value": '{"removed": false}', "contentType": "application/json"},
        }
        http.post("/aspects?action=ingestProposal", json={"proposal": proposal}).raise_for_status()
        query = """query($u: String!) {
          entity(urn: $u) { __typename urn type ... on GenericEntity { name status { removed } } }
          searchAcrossEntities(input: { query: "*", types: [WAREHOUSE_SHELF] }) {
            searchResults { entity { urn } }
          }
        }"""
        body = {"query": query, "variables": {"u": urn}}
        read = http.post("/api/graphql", json=body).json()
    catalog.close()
    assert read["data"] == {
        "entity": {
            "__typename": "GenericEntity",
            "urn": urn,
            "type": "WAREHOUSE_SHELF",
            "name": "seven",
            "status": {"removed": False},
        },
        "searchAcrossEntities": {"searchResults": [{"entity": {"urn": urn}}]},
    }


def test_others_are_answered_while_a_long_document_is_read(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = " ".join(f'a{at}: dataset(urn: "x") {{ name }}' for at in range(2_000))
    begun, go_on = threading.Event(), threading.Event()
    read = DocumentCache.read

    def slowly(self: DocumentCache, text: str) -> Any:
        if "a1999:" in text:
            begun.set()
            assert go_on.wait(60)
        return read(self, text)

    monkeypatch.setattr(DocumentCache, "read", slowly)
    reading = threading.Thread(target=caller.graphql, args=(f"{{ {names} }}",))
    reading.start()
    try:
        with httpx.Client(base_url=caller.http.base_url, timeout=120) as other:
            assert begun.wait(30)
            # Of a loop that reads it itself nobody would hear.
            assert other.get("/health").status_code == 200
            assert reading.is_alive()
    finally:
        go_on.set()
        reading.join()
