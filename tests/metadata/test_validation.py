"""A value fits its record or is refused with the place inside it."""

from typing import Any

import pytest

from explorer.errors import InvalidAspect
from explorer.metadata.registry import load_registry
from explorer.metadata.validation import Validator

FIELD = {
    "fieldPath": "a",
    "nativeDataType": "text",
    "type": {"type": {"com.linkedin.schema.StringType": {}}},
}
SCHEMA = {
    "schemaName": "s",
    "platform": "urn:li:dataPlatform:hive",
    "version": 0,
    "hash": "",
    "platformSchema": {"com.vendor.schema.KafkaSchema": {"documentSchema": "{}"}},
    "fields": [FIELD],
}


@pytest.fixture(scope="module")
def validator() -> Any:
    return Validator(load_registry())


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("schemaMetadata", SCHEMA),
        ("status", {"removed": False}),
        ("corpUserEditableInfo", {}),
        ("globalTags", {"tags": [{"tag": "urn:li:tag:PII"}]}),
        ("ownership", {"owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}]}),
        ("ownership", {"owners": [{"owner": "urn:li:corpuser:a", "type": "A_NEWER_ROLE"}]}),
        ("status", {"removed": True, "aFieldOfTomorrow": 1}),
        ("datasetProfile", {"timestampMillis": 1, "rowCount": 2, "columnCount": None}),
    ],
)
def test_what_fits_is_taken(validator: Any, aspect: str, value: Any) -> None:
    validator.check(aspect, value)


@pytest.mark.parametrize(
    ("aspect", "value", "said"),
    [
        ("status", {"removed": "yes"}, "status.removed: expected true or false"),
        ("status", [], "status: expected an object"),
        ("datasetProfile", {"rowCount": 1}, "'timestampMillis' is required"),
        ("datasetProfile", {"timestampMillis": True}, "expected an integer"),
        ("datasetProfile", {"timestampMillis": 1.5}, "expected an integer"),
        ("globalTags", {"tags": "PII"}, "globalTags.tags: expected an array"),
        ("globalTags", {"tags": [{"tag": "PII"}]}, "expected a URN"),
        ("ownership", {"owners": [{"owner": "urn:li:corpuser:a"}]}, "owners[0]"),
        (
            "schemaMetadata",
            {**SCHEMA, "fields": [FIELD, {**FIELD, "fieldPath": 3}]},
            "schemaMetadata.fields[1].fieldPath: expected a string",
        ),
        (
            "schemaMetadata",
            {**SCHEMA, "platformSchema": {"x.NoSuchSchema": {}}},
            "platformSchema: expected one of",
        ),
        ("glossaryTermInfo", {"definition": "d", "termSource": 3}, "termSource"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    validator: Any, aspect: str, value: Any, said: str
) -> None:
    with pytest.raises(InvalidAspect) as refused:
        validator.check(aspect, value)
    assert said in str(refused.value)
