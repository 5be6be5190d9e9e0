"""Filters, matches, ranking and pages, as a caller of the search sees them."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Caller


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def one_criterion(**criterion: Any) -> dict[str, Any]:
    return {"or": [{"and": [criterion]}]}


def autocomplete(caller: Any, text: str, entity: str = "dataset", **more: Any) -> Any:
    body = {"query": text, "entity": entity, "limit": 10} | more
    answer = caller.post("/entities?action=autocomplete", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.fixture(scope="module")
def peaks(caller: Caller) -> None:
    """Three datasets that only the word zentralpeak finds."""
    for name, at in (("rigi", 1000), ("pilatus", 2000), ("titlis", 3000)):
        stamp = {"time": at, "actor": "urn:li:corpuser:a"}
        info = {"name": name, "description": "zentralpeak", "lastModified": stamp}
        caller.ingest(hive(f"peaks.{name}"), "datasetProperties", info)
    owned = {"owners": [{"owner": "urn:li:corpuser:guide", "type": "DATAOWNER"}]}
    caller.ingest(hive("peaks.rigi"), "ownership", owned)


@pytest.mark.usefixtures("peaks")
class TestFilters:
    """Every condition, over the wire."""

    @pytest.mark.parametrize(
        ("criterion", "found"),
        [
            ({"condition": "CONTAIN", "value": "ilat"}, "pilatus"),
            ({"condition": "END_WITH", "value": "is"}, "titlis"),
            ({"condition": "START_WITH", "value": "ri"}, "rigi"),
            ({"condition": "EQUAL", "value": "rigi"}, "rigi"),
            ({"condition": "EQUAL", "value": "rig"}, ""),
            ({"condition": "EQUAL", "value": "", "values": ["rigi", "titlis"]}, "rigi titlis"),
            ({"condition": "EQUAL", "value": "rigi", "negated": True}, "pilatus titlis"),
            ({"condition": "IEQUAL", "value": "RIGI"}, "rigi"),
            ({"condition": "IN", "values": ["rigi", "pilatus"]}, "pilatus rigi"),
            ({"condition": "BETWEEN", "values": ["pilatus", "rigi"]}, "pilatus rigi"),
            ({"field": "lastModifiedAt", "condition": "GREATER_THAN", "value": "2000"}, "titlis"),
            (
                {
                    "field": "lastModifiedAt",
                    "condition": "GREATER_THAN_OR_EQUAL_TO",
                    "value": "2000",
                },
                "pilatus titlis",
            ),
            ({"field": "lastModifiedAt", "condition": "LESS_THAN", "value": "2000"}, "rigi"),
            (
                {"field": "lastModifiedAt", "condition": "LESS_THAN_OR_EQUAL_TO", "value": "2000"},
                "pilatus rigi",
            ),
            ({"field": "owners", "condition": "EXISTS"}, "rigi"),
            ({"field": "owners", "condition": "IS_NULL"}, "pilatus titlis"),
            ({"value": "titlis"}, "titlis"),
        ],
    )
    def test_let_pass_what_the_condition_says(
        self, caller: Caller, criterion: Any, found: str
    ) -> None:
        filter = one_criterion(**({"field": "name"} | criterion))
        value = caller.search("zentralpeak", filter=filter)
        names = sorted(urn.split(",")[1].removeprefix("peaks.") for urn in value["entities"])
        assert " ".join(names) == found
        assert value["numEntities"] == len(names)

    @pytest.mark.parametrize("field", ["hash", "schemaMetadata", "nonsense", "ldap"])
    @pytest.mark.parametrize("action", ["search", "autocomplete"])
    def test_on_a_field_that_is_not_searchable_name_those_that_are(
        self, caller: Caller, action: str, field: str
    ) -> None:
        body: dict[str, Any] = {"input": "zentralpeak", "query": "r", "entity": "dataset"}
        body["filter"] = one_criterion(field=field, value="x", condition="EQUAL")
        answer = caller.post(f"/entities?action={action}", body)
        assert answer.status_code == 400
        message = answer.json()["message"]
        assert repr(field) in message
        for known in ("name", "owners", "platform", "tags"):
            assert known in message


class TestSearch:
    """What is matched, in which order, and that all of it is reached."""

    def test_matches_hold_what_was_asked_for_and_stand_beside_their_entity(
        self, caller: Caller
    ) -> None:
        for n in range(4):
            text = f"number {n} is a wildspitzword" if n % 2 else "none"
            info = {"name": f"wildspitzword{n}", "description": text}
            caller.ingest(hive(f"matched.{n}"), "datasetProperties", info)
        value = caller.search("wildspitzword")
        assert len(value["entities"]) == len(value["metadata"]["matches"]) == 4
        for urn, match in zip(value["entities"], value["metadata"]["matches"], strict=True):
            stored = caller.value(urn, "datasetProperties")
            assert match["matchedFields"]
            for field in match["matchedFields"]:
                assert field["value"] == stored[field["name"]]
                assert "wildspitzword" in field["value"]

    def test_an_exact_name_comes_before_its_beginning_and_that_before_a_word(
        self, caller: Caller
    ) -> None:
        caller.ingest(hive("ranked.d"), "datasetProperties", {"description": "ortlerword"})
        for name in ("big_ortlerword", "ortlerword_daily", "ortlerword"):
            caller.ingest(hive(f"ranked.{name}"), "datasetProperties", {"name": name})
        found = caller.search("ortlerword")["entities"]
        order = ("ortlerword", "ortlerword_daily", "big_ortlerword", "d")
        assert found == [hive(f"ranked.{name}") for name in order]

    def test_a_star_and_an_empty_text_mean_all_in_order_of_urns(self, caller: Caller) -> None:
        for n in (2, 0, 1):
            caller.ingest(f"urn:li:mlModelGroup:(urn:li:dataPlatform:x,all{n},PROD)",
                          "status", {"removed": False})  # fmt: skip
        everything = [
            caller.search(text, "mlModelGroup", count=100)["entities"] for text in ("*", "")
        ]
        assert everything[0] == everything[1] == sorted(everything[0])
        assert len(everything[0]) >= 3

    @pytest.mark.parametrize(
        "text",
        ['tags:"odd: tag name"', r"tags:odd\:\ tag\ name", 'tags:"urn:li:tag:odd: tag name"'],
    )
    def test_a_value_with_colons_and_spaces_is_asked_for_in_quotes_or_escaped(
        self, caller: Caller, text: str
    ) -> None:
        urn = hive("colons.and.spaces")
        caller.ingest(urn, "globalTags", {"tags": [{"tag": "urn:li:tag:odd: tag name"}]})
        assert caller.search(text)["entities"] == [urn]
        caller.ingest(urn, "globalTags", {"tags": []})
        assert caller.search(text)["entities"] == []

    def test_an_edited_column_is_found_under_its_new_words(
        self, caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
    ) -> None:
        caller.ingest(dataset, "schemaMetadata", schema("a"))
        mutation = "mutation($i: DescriptionUpdateInput!) { updateDescription(input: $i) }"
        for text, gone in (("watzmannedit", "dachsteinedit"), ("hochkalteredit", "watzmannedit")):
            changes = {
                "description": text,
                "resourceUrn": dataset,
                "subResource": "a",
                "subResourceType": "DATASET_FIELD",
            }
            assert caller.graphql(mutation, i=changes)["data"] == {"updateDescription": True}
            assert caller.search(text)["entities"] == [dataset]
            assert caller.search(gone)["entities"] == []

    def test_the_types_in_the_path_of_a_column_are_no_words(
        self, caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]
    ) -> None:
        path = "[version=2.0].[type=ortlerstruct].order.[type=ortlerstring].piz_palue"
        caller.ingest(dataset, "schemaMetadata", schema(path))
        for text in ("ortlerstruct", "ortlerstring", '"type ortlerstring"'):
            assert caller.search(text)["entities"] == []
        for text in ("palue", "order.piz_palue", f'fieldPaths:"{path}"'):
            value = caller.search(text)
            assert value["entities"] == [dataset]
            (match,) = value["metadata"]["matches"]
            assert match["matchedFields"] == [{"name": "fieldPaths", "value": path}]
        by_path = one_criterion(field="fieldPaths", value=path, condition="EQUAL")
        assert caller.search("*", filter=by_path)["entities"] == [dataset]

    def test_suggestions_know_no_former_name_nothing_removed_and_their_filter(
        self, caller: Caller
    ) -> None:
        for n in range(3):
            info = {"name": f"karwendel{n}", "description": "k" * n}
            caller.ingest(hive(f"suggested.{n}"), "datasetProperties", info)
        every = ["karwendel0", "karwendel1", "karwendel2"]
        assert autocomplete(caller, "karwen")["suggestions"] == every
        assert autocomplete(caller, "karwen", limit=1, start=1)["suggestions"] == every[1:2]
        only = one_criterion(field="name", value="karwendel2", condition="EQUAL")
        assert autocomplete(caller, "karwen", filter=only)["suggestions"] == every[2:]
        caller.ingest(hive("suggested.0"), "datasetProperties", {"name": "wetterstein"})
        caller.ingest(hive("suggested.1"), "status", {"removed": True})
        assert autocomplete(caller, "karwen")["suggestions"] == every[2:]
        assert autocomplete(caller, "wetterst")["suggestions"] == ["wetterstein"]


@pytest.mark.parametrize(
    ("action", "length", "asked"),
    [
        ("search", "count", {"input": "*"}),
        ("browse", "limit", {"path": "/"}),
        ("autocomplete", "limit", {"query": "a"}),
    ],
)
class TestPages:
    """Where a page begins and how long it is."""

    def test_wrong_bounds_are_refused(
        self, caller: Caller, action: Any, length: Any, asked: Any
    ) -> None:
        for name in ("start", length):
            bad: Any
            for bad in (-1, "5", 1.5, True, [], 10**30):
                body = {"entity": "tag"} | asked | {name: bad}
                answer = caller.post(f"/entities?action={action}", body)
                assert answer.status_code == 400, body
                assert f"'{name}'" in answer.json()["message"]

    def test_no_length_and_any_depth_are_answered(
        self, caller: Caller, action: Any, length: Any, asked: Any
    ) -> None:
        far = 9_990 if action == "search" else 10**9
        for start, count in ((0, 0), (0, 10**9), (far, 10)):
            body = {"entity": "tag"} | asked | {"start": start, length: count}
            value = caller.post(f"/entities?action={action}", body).json()["value"]
            if start or not count:
                assert value.get("entities", value.get("suggestions")) == []
            if action != "autocomplete":
                assert (value["from"], value["pageSize"]) == (start, min(count, 10_000))


@pytest.mark.parametrize("action", ["search", "searchAcrossEntities", "filter", "list"])
def test_a_page_beyond_ten_thousand_is_refused_and_scrolling_is_named(
    caller: Caller, action: str
) -> None:
    body = {"entity": "tag", "input": "*", "start": 9_991, "count": 10}
    answer = caller.post(f"/entities?action={action}", body)
    assert answer.status_code == 400
    assert "result 10001" in answer.json()["message"]
    assert "scrollAcrossEntities" in answer.json()["message"]


def test_columns_are_found_with_their_tables_and_a_dataset_says_which_of_them_match(
    caller: Caller,
) -> None:
    text: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    fields: list[dict[str, Any]] = [
        {"fieldPath": path, "nativeDataType": "text", "type": text} | more
        for path, more in (
            ("gipfelhoehe", {}),
            ("cairn", {"description": "Where the gipfelbuch lies"}),
        )
    ]
    schema = {"schemaName": "", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": ""}
    other = {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}
    schema |= {"platformSchema": other, "fields": fields}
    caller.ingest(hive("peaks.summits"), "schemaMetadata", schema)

    asked = {"input": "gipfelbuch summits", "start": 0, "count": 10}
    value = caller.post("/entities?action=searchColumns", asked).json()["value"]
    column = f"urn:li:schemaField:({hive('peaks.summits')},cairn)"
    assert value["numEntities"] == 1
    assert value["metadata"]["urns"] == [column]
    assert value["metadata"]["columns"] == [
        {
            "table": hive("peaks.summits"),
            "fieldPath": "cairn",
            "nativeDataType": "text",
            "description": "Where the gipfelbuch lies",
            "edited": False,
        }
    ]
    assert value["metadata"]["tables"] == {"read": 1, "total": 1}
    (explanation,) = value["metadata"]["explanations"]
    assert explanation["reason"] == (
        "gipfelbuch in its description, tags or terms; summits in the name of its table"
    )

    asked = {"input": "gipfelbuch OR gipfelhoehe", "entity": "dataset", "start": 0, "count": 10}
    metadata = caller.post("/entities?action=search", asked).json()["value"]["metadata"]
    matched = [field["name"] for field in metadata["matches"][0]["matchedFields"]]
    assert dict(zip(matched, metadata["explanations"][0]["columns"], strict=True)) == {
        "fieldPaths": "gipfelhoehe",
        "fieldDescriptions": "cairn",
    }
