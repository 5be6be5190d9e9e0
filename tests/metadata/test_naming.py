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
