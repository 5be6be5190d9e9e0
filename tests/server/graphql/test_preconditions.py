"""Edits that are made only while what their writer saw is there."""

from typing import Any

import pytest

from tests.conftest import schema_of
from tests.server.conftest import Caller

DESCRIBE = "mutation edit($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
EDIT_DATASET = """
mutation edit($urn: String!, $input: DatasetUpdateInput!) {
  updateDataset(urn: $urn, input: $input) { urn }
}
"""
UNSET = "unsetDomain(entityUrn: $urn)"
A, B = "a", "b"


@pytest.fixture
def columns(caller: Caller, dataset: str) -> Any:
    kind: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    value = schema_of([{"fieldPath": path, "nativeDataType": "s", "type": kind} for path in (A, B)])
    caller.ingest(dataset, "schemaMetadata", value)
    return dataset


@pytest.fixture
def send(caller: Caller) -> Any:
    def go(query: Any, variables: Any, extensions: Any) -> Any:
        body = {"query": query, "variables": variables, "extensions": extensions}
        return caller.post("/api/graphql", body)

    return go


@pytest.fixture
def describe(desk: Any, send: Any, columns: Any) -> Any:
    """Describes a column over the text that was seen; the answer."""

    def go(path: Any, text: Any, seen: Any) -> Any:
        expected = {"urn": columns, "column": path, "what": "description", "value": seen}
        variables = {"input": desk.column(columns, path, text)}
        return send(DESCRIBE, variables, {"ifCurrent": expected}).json()

    return go


def said(caller: Any, urn: Any) -> Any:
    infos = (caller.value(urn, "editableSchemaMetadata") or {})["editableSchemaFieldInfo"]
    return {info["fieldPath"]: info["description"] for info in infos}


def test_an_edit_over_something_else_writes_nothing_and_tells_what_is_there(
    caller: Caller, columns: Any, describe: Any
) -> None:
    assert describe(A, "one", "")["data"] == {"updateDescription": True}
    assert describe(A, "two", "one")["data"] == {"updateDescription": True}
    answer = describe(A, "late", "one")
    (error,) = answer["errors"]
    assert answer["data"] == {"updateDescription": None}
    assert error["message"].startswith(f"the description of a of {columns} has changed since")
    current = error["extensions"].pop("current")
    kind = {"code": 409, "type": "CONFLICT", "classification": "DataFetchingException"}
    assert error["extensions"] == kind
    aspect = caller.entity(columns)["aspects"]["editableSchemaMetadata"]
    assert current == {
        "value": "two",
        "version": aspect["systemMetadata"]["version"],
        "actor": aspect["created"]["actor"],
        "time": aspect["created"]["time"],
    }
    assert said(caller, columns) == {A: "two"}


def test_a_definition_is_compared_where_it_is_kept(caller: Caller, send: Any) -> None:
    term = "urn:li:glossaryTerm:compared"
    info = {"definition": "one", "termSource": "INTERNAL"}
    caller.ingest(term, "glossaryTermInfo", info)
    document = "mutation d($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"

    def describe(text: Any, seen: Any) -> Any:
        expected = {"urn": term, "what": "description", "value": seen}
        edit = {"input": {"resourceUrn": term, "description": text}}
        return send(document, edit, {"ifCurrent": expected}).json()

    assert describe("two", "one")["data"] == {"updateDescription": True}
    (error,) = describe("late", "one")["errors"]
    assert error["extensions"]["current"]["value"] == "two"
    assert caller.value(term, "glossaryTermInfo")["definition"] == "two"


def test_edits_of_other_parts_of_the_aspect_are_no_conflict(
    caller: Caller, columns: Any, describe: Any
) -> None:
    describe(A, "one", "")
    assert "errors" not in describe(B, "other", None)
    assert "errors" not in describe(A, "two", "one")
    assert said(caller, columns) == {A: "two", B: "other"}


def test_an_edit_sent_again_finds_its_work_done(
    caller: Caller, columns: Any, describe: Any
) -> None:
    for _ in range(2):
        assert describe(A, "one", "")["data"] == {"updateDescription": True}
    system = caller.entity(columns)["aspects"]["editableSchemaMetadata"]["systemMetadata"]
    assert system["version"] == "1"


def test_nothing_there_has_no_version(columns: Any, describe: Any) -> None:
    (error,) = describe(A, "late", "never there")["errors"]
    assert error["extensions"]["current"] == {"value": ""}


def test_labels_have_no_order_and_owners_are_told_by_their_kind(
    caller: Caller, send: Any, dataset: str
) -> None:
    tags = ["urn:li:tag:p1", "urn:li:tag:p2"]
    owners = [
        {"owner": "urn:li:corpuser:ada", "type": "DATA_STEWARD"},
        {"owner": "urn:li:corpuser:bob", "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:mine"},
    ]
    for tag in tags:
        caller.ingest(tag, "tagProperties", {"name": "p"})
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": tag} for tag in tags]})
    caller.ingest(dataset, "ownership", {"owners": owners})
    seen: dict[str, Any] = {
        "tags": list(reversed(tags)),
        "owners": [
            "urn:li:corpuser:bob urn:li:ownershipType:mine",
            "urn:li:corpuser:ada DATA_STEWARD",
        ],
        "terms": [],
        "links": None,
        "domain": [],
        "deprecation": {},
    }
    for what, value in seen.items():
        for held, refused in ((value, False), (["urn:li:tag:unseen"], True)):
            edit = {"editableProperties": {"description": f"{what} {refused}"}}
            expected = {"urn": dataset, "what": what, "value": held}
            variables = {"urn": dataset, "input": edit}
            answer = send(EDIT_DATASET, variables, {"ifCurrent": expected}).json()
            assert ("errors" in answer) is refused


@pytest.mark.parametrize(
    ("what", "aspect", "value", "current", "others"),
    [
        (
            "owners",
            "ownership",
            {"owners": [{"owner": "urn:li:corpuser:ada", "type": "DATA_STEWARD"}]},
            "urn:li:corpuser:ada DATA_STEWARD",
            ["urn:li:corpuser:ada TECHNICAL_OWNER", "urn:li:corpuser:bob DATA_STEWARD"],
        ),
        (
            "owners",
            "ownership",
            {
                "owners": [
                    {
                        "owner": "urn:li:corpuser:ada",
                        "type": "CUSTOM",
                        "typeUrn": "urn:li:ownershipType:mine",
                    }
                ]
            },
            "urn:li:corpuser:ada urn:li:ownershipType:mine",
            ["urn:li:corpuser:ada urn:li:ownershipType:yours"],
        ),
        (
            "links",
            "institutionalMemory",
            {"elements": [{"url": "https://wiki/t", "description": "Run book of t"}]},
            "https://wiki/t Run book of t",
            ["https://wiki/t Run book of u", "https://wiki/t ", "https://wiki/u Run book of t"],
        ),
    ],
    ids=["owners", "owners of own kinds", "links"],
)
def test_the_kind_of_an_owner_and_the_label_of_a_link_are_compared(
    caller: Caller,
    send: Any,
    dataset: str,
    what: str,
    aspect: str,
    value: Any,
    current: str,
    others: list[str],
) -> None:
    caller.ingest(dataset, aspect, value)
    for seen in ([current, *others], *([other] for other in others), [current]):
        edit = {"editableProperties": {"description": "conditional"}}
        expected = {"urn": dataset, "what": what, "value": seen}
        variables = {"urn": dataset, "input": edit}
        answer = send(EDIT_DATASET, variables, {"ifCurrent": expected}).json()
        is_current = seen == [current]
        assert ("errors" not in answer) is is_current, seen
        is_written = caller.value(dataset, "editableDatasetProperties") is not None
        assert is_written is is_current, seen


@pytest.mark.parametrize(
    "extensions",
    [
        [],
        {"ifCurrent": "text"},
        {"ifCurrent": {"urn": "urn:li:tag:x"}},
        {"ifCurrent": {"urn": "urn:li:tag:x", "what": "colour"}},
        {"ifCurrent": {"urn": "urn:li:tag:x", "what": "tags", "value": 5}},
        {"ifCurrent": {"urn": "urn:li:tag:x", "what": "tags", "colum": "c"}},
        {"run": ["a"]},
        {"run": ""},
        {"run": "a\nb"},
        {"run": "a" * 501},
    ],
)
def test_what_cannot_be_read_of_the_extensions_is_refused(
    send: Any, dataset: str, extensions: Any
) -> None:
    edit = {"editableProperties": {"description": "unconditional"}}
    answer = send(EDIT_DATASET, {"urn": dataset, "input": edit}, extensions)
    assert answer.status_code == 400
    assert "extensions" in answer.json()["message"]


@pytest.mark.parametrize(
    "expected",
    [
        {"urn": "no urn", "what": "tags"},
        {"urn": "urn:li:corpuser:x", "what": "description"},
        {"urn": "urn:li:tag:x", "what": "description", "column": "c"},
    ],
)
def test_a_condition_on_what_there_is_not_writes_nothing(
    caller: Caller, send: Any, table: Any, expected: Any
) -> None:
    edit = {"editableProperties": {"description": "unconditional"}}
    variables = {"urn": table, "input": edit}
    (error,) = send(EDIT_DATASET, variables, {"ifCurrent": expected}).json()["errors"]
    assert error["extensions"]["type"] == "BAD_REQUEST"
    assert caller.value(table, "editableDatasetProperties") is None


@pytest.mark.parametrize(
    "query",
    [
        "query q($urn: String!) { dataset(urn: $urn) { urn } }",
        f"mutation m($urn: String!) {{ a: {UNSET} b: {UNSET} }}",
        f"mutation m($urn: String!) {{ ...f }} fragment f on Mutation {{ {UNSET} }}",
    ],
    ids=["a question", "two edits", "a fragment"],
)
def test_a_condition_is_that_of_one_edit(send: Any, table: Any, query: str) -> None:
    expected = {"urn": table, "what": "domain"}
    (error,) = send(query, {"urn": table}, {"ifCurrent": expected}).json()["errors"]
    assert "one edit" in error["message"]


def test_extensions_of_others_are_ignored(send: Any, table: Any) -> None:
    edit = {"editableProperties": {"description": "text"}}
    given = {"persistedQuery": {"version": 1}}
    assert "errors" not in send(EDIT_DATASET, {"urn": table, "input": edit}, given).json()


UPDATE_NAME = "mutation go($input: UpdateNameInput!) { updateName(input: $input) }"
UPDATE_PARENT = "mutation go($input: UpdateParentNodeInput!) { updateParentNode(input: $input) }"
MOVE_DOMAIN = "mutation go($input: MoveDomainInput!) { moveDomain(input: $input) }"


@pytest.fixture
def tree(caller: Caller) -> None:
    """Groups a > b with a term in b, and domains A > B."""
    groups = {"tree.a": None, "tree.b": "urn:li:glossaryNode:tree.a"}
    for name, above in groups.items():
        value: dict[str, Any]
        value = {"definition": "", "name": name} | ({"parentNode": above} if above else {})
        caller.ingest(f"urn:li:glossaryNode:{name}", "glossaryNodeInfo", value)
    value = {"definition": "d", "termSource": "INTERNAL", "customProperties": {"kept": "yes"}}
    caller.ingest("urn:li:glossaryTerm:tree.t", "glossaryTermInfo", value)
    caller.ingest("urn:li:domain:tree.A", "domainProperties", {"name": "A"})
    value = {"name": "B", "parentDomain": "urn:li:domain:tree.A"}
    caller.ingest("urn:li:domain:tree.B", "domainProperties", value)


@pytest.mark.usefixtures("tree")
def test_terms_groups_and_domains_move_and_keep_the_rest(caller: Caller) -> None:
    term, group = "urn:li:glossaryTerm:tree.t", "urn:li:glossaryNode:tree.b"
    for parent in (group, None):
        answer = caller.graphql(UPDATE_PARENT, input={"resourceUrn": term, "parentNode": parent})
        assert answer["data"] == {"updateParentNode": True}
        info = caller.value(term, "glossaryTermInfo")
        assert info.get("parentNode") == parent
        assert (info["definition"], info["customProperties"]) == ("d", {"kept": "yes"})
    domain = "urn:li:domain:tree.B"
    answer = caller.graphql(MOVE_DOMAIN, input={"resourceUrn": domain})
    assert answer["data"] == {"moveDomain": True}
    assert "parentDomain" not in caller.value(domain, "domainProperties")


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("mutation", "resource", "field", "parent", "why"),
    [
        (UPDATE_PARENT, "glossaryNode:tree.a", "parentNode", "glossaryNode:tree.b", "into itself"),
        (UPDATE_PARENT, "glossaryNode:tree.a", "parentNode", "glossaryNode:tree.a", "into itself"),
        (UPDATE_PARENT, "glossaryTerm:tree.t", "parentNode", "glossaryNode:no", "does not exist"),
        (UPDATE_PARENT, "glossaryTerm:tree.t", "parentNode", "domain:tree.A", "is not a glossary"),
        (UPDATE_PARENT, "domain:tree.A", "parentNode", None, "neither a glossary term"),
        (MOVE_DOMAIN, "domain:tree.A", "parentDomain", "domain:tree.B", "into itself"),
        (MOVE_DOMAIN, "glossaryNode:tree.a", "parentDomain", None, "is not a domain"),
    ],
)
def test_what_cannot_be_moved_there_stays(
    caller: Caller, mutation: Any, resource: Any, field: Any, parent: Any, why: Any
) -> None:
    given = {"resourceUrn": f"urn:li:{resource}", field: parent and f"urn:li:{parent}"}
    (error,) = caller.graphql(mutation, input=given)["errors"]
    assert why in error["message"]


@pytest.mark.usefixtures("tree")
def test_a_name_and_a_parent_are_only_changed_over_those_that_were_seen(
    caller: Caller, send: Any
) -> None:
    term, group = "urn:li:glossaryTerm:tree.t", "urn:li:glossaryNode:tree.b"
    rename = {"input": {"urn": term, "name": "New"}}
    move = {"input": {"resourceUrn": term, "parentNode": group}}
    for query, variables, what, seen, now in (
        (UPDATE_NAME, rename, "name", "Other", ""),
        (UPDATE_PARENT, move, "parent", "urn:li:glossaryNode:tree.a", ""),
    ):
        expected = {"urn": term, "what": what, "value": seen}
        (error,) = send(query, variables, {"ifCurrent": expected}).json()["errors"]
        assert error["extensions"]["current"]["value"] == now
        again = send(query, variables, {"ifCurrent": {**expected, "value": now}}).json()
        assert "errors" not in again
    info = caller.value(term, "glossaryTermInfo")
    assert (info["name"], info["parentNode"]) == ("New", group)
    expected = {"urn": "urn:li:corpuser:x", "what": "parent", "value": ""}
    (error,) = send(UPDATE_PARENT, move, {"ifCurrent": expected}).json()["errors"]
    assert "has no parent" in error["message"]
