"""An entity is called what people call it."""

from typing import Any

import pytest

from explorer.metadata import Urn
from explorer.metadata.names import display_name, plural

TABLE = Urn.dataset("hive", "db.orders")


@pytest.mark.parametrize(
    ("urn", "aspects", "name"),
    [
        (TABLE, {}, "db.orders"),
        (TABLE, {"datasetProperties": {"name": "orders"}}, "orders"),
        (TABLE, {"datasetProperties": {"name": "  "}}, "db.orders"),
        (
            TABLE,
            {"datasetProperties": {"name": "a"}, "editableDatasetProperties": {"name": "mine"}},
            "mine",
        ),
        (Urn.parse("urn:li:corpuser:j"), {"corpUserInfo": {"fullName": "Jo Doe"}}, "Jo Doe"),
        (Urn.parse("urn:li:sensor:3"), {"sensorInfo": {"title": "Door"}}, "Door"),
        (Urn.of("schemaField", TABLE, "[version=2.0].[type=int].id"), {}, "id"),
    ],
)
def test_the_edited_name_counts_then_the_ingested_one_then_the_urn(
    urn: Any, aspects: Any, name: str
) -> None:
    assert display_name(urn, aspects) == name


def check(native: str, *columns: str, part: str = "customAssertion", **info: Any) -> dict[str, Any]:
    """Return an `assertionInfo` of a check of columns of the table."""
    fields = [f"urn:li:schemaField:({TABLE},{path})" for path in columns]
    value = {"entity": str(TABLE), "dataset": str(TABLE), "nativeType": native, "fields": fields}
    return {"assertionInfo": {part: value, **info}}


@pytest.mark.parametrize(
    ("aspects", "name"),
    [
        (check("not_null_orders_id", "id"), "not_null_orders_id"),
        (check("totals_are_positive"), "totals_are_positive"),
        (check("unique", "id", part="datasetAssertion"), "unique id of orders"),
        (check("unique_rows", "a", "s.b"), "unique_rows a, s.b of orders"),
        (check("unique", "id", description="No order twice"), "No order twice"),
        ({"assertionInfo": {"customAssertion": {"fields": 3, "nativeType": 4}}}, "9f3c"),
        ({"assertionInfo": {"customAssertion": "odd", "fieldAssertion": ["odd"]}}, "9f3c"),
        ({}, "9f3c"),
    ],
)
def test_a_test_is_called_as_the_tool_that_runs_it_calls_it(aspects: Any, name: str) -> None:
    assert display_name(Urn.of("assertion", "9f3c"), aspects) == name


@pytest.mark.parametrize(
    ("kind", "several"),
    [
        ("dataset", "datasets"),
        ("structuredProperty", "structured properties"),
        ("incidentSeverity", "incidentSeverities"),
        ("surveyDay", "surveyDays"),
    ],
)
def test_several_of_a_type_are_called_in_the_plural(kind: str, several: str) -> None:
    assert plural(kind) == several
