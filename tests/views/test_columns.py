"""Columns: which are shown in which order, what a filter chooses, and what is known of each."""

from typing import Any

import pytest

from explorer.client.entity import AspectRead, Entity
from explorer.client.records import ColumnChange
from explorer.metadata import Urn
from explorer.metadata.aspects import AuditStamp, FieldProfile
from explorer.views.columns import (
    ColumnKnowledge,
    ColumnMeasurements,
    ForeignKey,
    ShownColumn,
    by_use,
    column_row,
    foreign_keys,
    in_tree_order,
    parse_column_filter,
    schema_of,
)

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOPIC = Urn.dataset("kafka", "shop.order-placed.v1")
KINDS: list[dict[str, Any]] = [
    {"type": {f"com.linkedin.schema.{kind}Type": {}}} for kind in ("String", "Number", "Record")
]
TEXT, NUMBER, RECORD = KINDS


def a_field(path: str, kind: dict[str, Any] = TEXT, **more: Any) -> dict[str, Any]:
    return {"fieldPath": path, "type": kind, "nativeDataType": "x", "nullable": False, **more}


def a_dataset(fields: Any, edited: Any = (), **schema: Any) -> Entity:
    urn = Urn.dataset("hive", "t")
    aspects = {
        "schemaMetadata": {"fields": list(fields), **schema},
        "editableSchemaMetadata": {"editableSchemaFieldInfo": list(edited)},
    }
    return Entity(urn, {name: AspectRead(name, 0, value) for name, value in aspects.items()})


FIELDS = [
    a_field("id", NUMBER, isPartOfKey=True, description="Surrogate key"),
    a_field("ship", RECORD, nullable=True),
    a_field("ship.zip", description="as typed", globalTags={"tags": [{"tag": "urn:li:tag:PII"}]}),
    a_field("ship.geo", RECORD),
    a_field("ship.geo.lat", NUMBER),
    a_field("note", recursive=True),
]
EDITED = [
    {
        "fieldPath": "note",
        "description": "Free text",
        "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:abc"}]},
    }
]
COLUMNS = a_dataset(FIELDS, EDITED).schema.columns


def passing(text: str, names: Any = ()) -> list[str]:
    chosen = parse_column_filter(text).chosen(COLUMNS, dict(names))
    return [COLUMNS[at].path.raw for at in sorted(chosen)]


def paths(shown: list[ShownColumn]) -> list[str]:
    return [one.column.path.raw for one in shown]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("zip", ["ship.zip"]),
        ("SURROGATE", ["id"]),
        ("type:number", ["id", "ship.geo.lat"]),
        ("tag:pi", ["ship.zip"]),
        ("term:money", ["note"]),
        ("is:undocumented", ["ship", "ship.geo", "ship.geo.lat"]),
        ("is:und", ["ship", "ship.geo", "ship.geo.lat"]),
        ("is:edited", ["note"]),
        ("is:key", ["id"]),
        ("is:nullable", ["ship"]),
        ("is:recursive", ["note"]),
        ("ship -is:undocumented", ["ship.zip"]),
        ('"free text"', ["note"]),
        ('-"free text" is:documented', ["id", "ship.zip"]),
        ("ship:zip", []),
    ],
)
def test_columns_are_chosen_by_what_is_typed(text: str, found: list[str]) -> None:
    assert passing(text, {Urn.parse("urn:li:glossaryTerm:abc"): "Money"}.items()) == found


@pytest.mark.parametrize("text", ["", "  ", "type:", "is:", "is:d is:u", '"', "tag:"])
def test_what_is_not_yet_typed_to_its_end_narrows_nothing(text: str) -> None:
    found = passing(text)
    assert len(found) == len(COLUMNS) or text == "is:d is:u"


def test_a_state_that_is_none_is_told() -> None:
    assert "undocumented" in parse_column_filter("is:nonsense").trouble


def test_parents_of_what_passes_stay_in_sight() -> None:
    chosen = parse_column_filter("lat").chosen(COLUMNS, {})
    shown = in_tree_order(COLUMNS, {"ship"}, chosen)
    assert paths(shown) == ["ship", "ship.geo", "ship.geo.lat"]
    assert [one.is_match for one in shown] == [False, False, True]


def test_a_folded_record_hides_all_that_lies_in_it() -> None:
    assert paths(in_tree_order(COLUMNS, {"ship"})) == ["id", "ship", "note"]
    assert paths(in_tree_order(COLUMNS, {"ship.geo"})) == [
        *("id", "ship", "ship.zip", "ship.geo", "note")
    ]


def test_the_most_used_stand_first_and_the_unused_as_in_the_schema() -> None:
    shown = by_use(COLUMNS, {"note": 5, "ship.zip": 9})
    assert paths(shown)[:3] == ["ship.zip", "note", "id"]
    assert len(shown) == len(COLUMNS)


def test_foreign_keys_are_read_with_where_they_lead() -> None:
    customers = Urn.dataset("hive", "customers")
    entity = a_dataset(
        FIELDS,
        foreignKeys=[
            {
                "name": "fk",
                "foreignDataset": str(customers),
                "sourceFields": [f"urn:li:schemaField:({Urn.dataset('hive', 't')},note)"],
                "foreignFields": [f"urn:li:schemaField:({customers},id)"],
            },
            {"foreignFields": None, "sourceFields": 3},
            "nonsense",
        ],
    )
    found = foreign_keys(entity)
    assert list(found) == ["note"]
    assert (found["note"].dataset, found["note"].column) == (customers, "id")


def test_a_schema_of_another_shape_is_none() -> None:
    entity = Entity(ORDERS, {"schemaMetadata": AspectRead("schemaMetadata", 0, {"fields": 3})})
    assert schema_of(entity) is None


def test_a_row_says_what_is_known_of_a_column() -> None:
    change = ColumnChange(
        "note", "edited", None, "Free text", 1, AuditStamp(1, "urn:li:corpuser:ada")
    )
    known = ColumnKnowledge(
        ColumnMeasurements({"id": 3}, {"note": FieldProfile("note", null_count=1)}, 4),
        {"note": ForeignKey(ORDERS, "note")},
        {Urn.parse("urn:li:glossaryTerm:abc"): "Money", ORDERS: "orders"},
        {"note": change},
        {"note"},
    )
    row = column_row(COLUMNS[-1], known)
    assert (row.label, row.terms, row.foreign_key) == ("note", ("Money",), "orders.note")
    assert (row.uses, row.nulls, row.author, row.has_draft) == (0, 0.25, "ada", True)
    assert (row.description, row.is_edited, row.replaced_description) == ("Free text", True, "")
    assert column_row(COLUMNS[2], known).label == "zip"
    assert column_row(COLUMNS[2], known, flat=True).label == "ship.zip"
    assert column_row(COLUMNS[0]).uses is None
