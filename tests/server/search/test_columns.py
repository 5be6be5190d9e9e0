"""Columns as results: those of the tables that a search finds that have its words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.metadata import Urn
from explorer.query import Filter
from explorer.query.filters import Criterion, all_of
from explorer.server.search import SearchEngine
from explorer.server.search.columns import FoundColumns, matched_columns, rank_columns
from explorer.server.search.document import Document
from explorer.server.search.query import FoundPage, SearchHit, SearchQuery

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Search = Callable[..., FoundPage]
FindColumns = Callable[..., FoundColumns]

PII = "urn:li:tag:PII"
COLUMNS: dict[str, dict[str, str]] = {
    "customers": {"id": "", "email": "Where mail goes", "country_code": ""},
    "suppliers": {"id": "", "contact_email": "", "zip": "Postal code as it was typed"},
    "orders": {"order_id": "Key of the order", "customer_id": "", "shipping.zip": ""},
    "web_log": {"visitor": "Email or card of the customer", "order_id": ""},
}


@dataclass(frozen=True)
class Stored:
    name: str
    value: bytes


def schema(columns: dict[str, str]) -> dict[str, Any]:
    fields: list[dict[str, Any]] = [
        {"fieldPath": path, "nativeDataType": "text", "type": {"type": {}}}
        | ({"description": text} if text else {})
        | ({"globalTags": {"tags": [{"tag": PII}]}} if "email" in path else {})
        for path, text in columns.items()
    ]
    return {"schemaName": "", "platform": "urn:li:dataPlatform:hive", "fields": fields}


def edited(path: str, text: str) -> dict[str, Any]:
    return {"editableSchemaFieldInfo": [{"fieldPath": path, "description": text}]}


ASPECTS: dict[str, dict[str, Any]] = {
    name: {"schemaMetadata": schema(columns)} for name, columns in COLUMNS.items()
}
COLUMNS["orders"]["shipping.zip"] = "Where the parcel goes"
ASPECTS["orders"]["editableSchemaMetadata"] = edited("shipping.zip", "Where the parcel goes")
STORED = {
    str(Urn.dataset("hive", name)): [
        Stored(name, orjson.dumps(value)) for name, value in aspects.items()
    ]
    for name, aspects in ASPECTS.items()
}


@pytest.fixture(scope="module")
def shop(filled_once: Fill, dataset: Make) -> SearchEngine:
    return filled_once(*(dataset(name, **aspects) for name, aspects in ASPECTS.items()))


@pytest.fixture(scope="module")
def columns(shop: SearchEngine) -> FindColumns:
    def find(
        text: str, filter: Filter | None = None, *, start: int = 0, count: int = 50, most: int = 200
    ) -> FoundColumns:
        query = SearchQuery(text, None, filter or Filter(), start, count)
        tables = shop.find_tables(query, most)
        return rank_columns(tables, STORED, shop.vocabulary, start, count)  # type: ignore[arg-type]

    return find


def names_of(found: FoundColumns) -> list[str]:
    return [f"{Urn.parse(column.table).name}.{column.path}" for column in found.columns]


def test_a_column_is_found_by_its_words_and_those_of_its_table(columns: FindColumns) -> None:
    found = columns("customer email")
    assert names_of(found)[:2] == ["customers.email", "web_log.visitor"]
    assert found.page.complete == 2
    hits = found.page.hits
    assert [hit.lacks for hit in hits[:2]] == [(), ()]
    assert hits[0].reason == "customer in the name of its table; email in its name"
    assert hits[1].reason == "customer, email in its description, tags or terms"
    assert hits[1].matched == (("fieldDescriptions", "Email or card of the customer"),)
    assert {*names_of(found)[2:]} == {"suppliers.contact_email", "orders.customer_id"}
    assert {hit.lacks for hit in hits[2:]} == {("customer",), ("email",)}


def test_a_column_has_its_place_type_and_present_description(columns: FindColumns) -> None:
    found = columns("parcel")
    (column,) = found.columns
    assert (column.path, column.native_type) == ("shipping.zip", "text")
    assert (column.description, column.edited) == ("Where the parcel goes", True)
    assert found.page.hits[0].urn == f"urn:li:schemaField:({column.table},shipping.zip)"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("email", "customers.email"),
        ("emails", "customers.email"),
        ("order_id", "orders.order_id"),
        ("contactemail", "suppliers.contact_email"),
        ("postal code", "suppliers.zip"),
        ("emial", "customers.email"),
        ("which columns hold the country of a customer", "customers.country_code"),
        ('"contact email"', "suppliers.contact_email"),
        ("cont*_email", "suppliers.contact_email"),
        ("visitor OR zip", "web_log.visitor"),
        ("fieldPaths:customer_id", "orders.customer_id"),
        (PII, "customers.email"),
    ],
)
def test_the_column_that_is_meant_comes_first(columns: FindColumns, text: str, first: str) -> None:
    assert names_of(columns(text))[0] == first


def test_conditions_on_columns_hold_for_the_column(columns: FindColumns) -> None:
    tagged = all_of(Criterion("fieldTags", (PII,)))
    assert {*names_of(columns("*", tagged))} == {"customers.email", "suppliers.contact_email"}
    assert names_of(columns("tags:PII contact")) == ["suppliers.contact_email"]
    assert names_of(columns("fieldPaths:*_id -email")) == ["orders.order_id", "orders.customer_id"]


def test_how_many_tables_were_looked_through_is_said(columns: FindColumns) -> None:
    found = columns("*", most=3)
    assert (found.read_tables, found.tables) == (3, 4)
    assert found.page.total == 9
    whole = columns("*")
    assert (whole.read_tables, whole.tables, whole.page.total) == (4, 4, 11)


def test_what_a_dataset_matches_by_is_said_with_the_column(
    shop: SearchEngine, search: Search
) -> None:
    page = search(shop, "parcel OR card OR email OR web")
    found = matched_columns(page.hits, STORED, shop.vocabulary)  # type: ignore[arg-type]
    by_name = {
        Urn.parse(hit.urn).name: dict(zip(hit.matched, found[hit.urn], strict=True))
        for hit in page.hits
    }
    assert by_name["orders"][("editedFieldDescriptions", "Where the parcel goes")] == "shipping.zip"
    assert by_name["customers"][("fieldPaths", "email")] == "email"
    assert by_name["web_log"] == {
        ("id", "web_log"): None,
        ("fieldDescriptions", "Email or card of the customer"): "visitor",
    }


WORDS = ("email", "customer", "order", "id", "zip", "code", "card", "the", "which", "lama")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), size=st.integers(1, 4))
def test_each_column_is_listed_once_and_what_is_said_of_it_is_true(
    columns: FindColumns, words: list[str], size: int
) -> None:
    text = " ".join(words)
    whole = columns(text)
    read: list[SearchHit] = []
    while page := columns(text, start=len(read), count=size).page.hits:
        read += page
    assert read == [*whole.page.hits]
    assert len({hit.urn for hit in read}) == len(read) == whole.page.total
    assert [hit.score for hit in read] == sorted((hit.score for hit in read), reverse=True)
    complete = whole.page.complete
    lacking = [bool(hit.lacks) for hit in read]
    assert lacking == sorted(lacking)
    assert lacking.count(False) == (len(read) if complete is None else complete)
    asked = {*words} - {"the", "which"} or {*words}
    for hit in read:
        table, path = Urn.parse(hit.urn).parts
        said = {
            word for part in hit.reason.split("; ") for word in part.split(" in ")[0].split(", ")
        }
        assert said | {*hit.lacks} == asked
        assert not said & {*hit.lacks}
        name = Urn.parse(table).name
        column = f"{path} {COLUMNS[name][path]}"
        own = {word for word in asked if word in column.casefold()}
        assert own - {"id"} <= said
        assert own
        near = f"{name} hive prod".casefold()
        assert not [word for word in hit.lacks if word in near]
