"""Metadata files in every form become the same changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn
from explorer.metadata.files import Refused, read_file
from explorer.metadata.registry import edges_of, key_value, load_registry, reach
from explorer.metadata.validation import Validator

DATA = Path(__file__).parents[3] / "shared/data/datahub"
HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
SNAPSHOT = {
    "auditHeader": None,
    "proposedSnapshot": {
        "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": HIVE,
            "aspects": [
                {"com.linkedin.pegasus2avro.common.Status": {"removed": False}},
                {
                    "com.linkedin.pegasus2avro.schema.SchemaMetadata": {
                        "schemaName": "t",
                        "platform": "urn:li:dataPlatform:hive",
                        "version": 0,
                        "hash": "",
                        "deleted": None,
                        "platformSchema": {"com.linkedin.pegasus2avro.schema.Schemaless": {}},
                        "fields": [
                            {
                                "fieldPath": "a",
                                "description": {"string": "wrapped"},
                                "nativeDataType": "int",
                                "type": {
                                    "type": {"com.linkedin.pegasus2avro.schema.NumberType": {}}
                                },
                            }
                        ],
                    }
                },
            ],
        }
    },
    "proposedDelta": None,
    "systemMetadata": {"lastObserved": 5, "runId": "r", "registryName": None},
}


@pytest.fixture(scope="module")
def registry() -> Any:
    return load_registry()


def read(records: Any, registry: Any) -> Any:
    return list(read_file(json.dumps(records).encode(), registry))


def test_a_snapshot_is_one_change_for_each_aspect_without_the_marks_of_avro(registry: Any) -> None:
    status, schema = read([SNAPSHOT], registry)
    assert (str(status.urn), status.aspect, status.value) == (HIVE, "status", {"removed": False})
    assert status.system == {"lastObserved": 5, "runId": "r"}
    assert schema.value["platformSchema"] == {"com.linkedin.schema.Schemaless": {}}
    assert schema.value["fields"][0]["description"] == "wrapped"
    assert schema.value["fields"][0]["type"] == {"type": {"com.linkedin.schema.NumberType": {}}}
    assert "deleted" not in schema.value


def test_both_forms_of_a_proposal_are_read(registry: Any) -> None:
    change = {"entityType": "dataset", "entityUrn": HIVE, "changeType": "UPSERT"}
    value = {"removed": True}
    as_text = {"value": json.dumps(value), "contentType": "application/json"}
    first, second = read(
        [
            {**change, "aspectName": "status", "aspect": as_text},
            {**change, "aspectName": "status", "aspect": {"json": value}},
        ],
        registry,
    )
    assert first.value == second.value == value


def test_usage_buckets_become_usage_statistics(registry: Any) -> None:
    bucket = {
        "bucket": 1000,
        "duration": "DAY",
        "resource": HIVE,
        "metrics": {
            "uniqueUserCount": 1,
            "totalSqlQueries": 2,
            "users": [{"user": "urn:li:corpuser:a", "count": 2}],
            "fields": [{"fieldName": "a", "count": 2}],
        },
    }
    (change,) = read([{"buckets": [bucket]}], registry)
    assert change.aspect == "datasetUsageStatistics"
    assert change.value["fieldCounts"] == [{"fieldPath": "a", "count": 2}]
    Validator(registry).check(change.aspect, change.value)


def test_a_record_that_cannot_be_read_loses_no_other(registry: Any) -> None:
    bad = {"entityUrn": "nonsense", "aspectName": "status", "aspect": {"json": {}}}
    found = read([{"what": 1}, SNAPSHOT, bad, 7], registry)
    refused = [one for one in found if isinstance(one, Refused)]
    assert len(found) - len(refused) == 2
    assert [one.index for one in refused] == [0, 2, 3]
    assert "position 0" in refused[1].reason


def test_one_object_and_one_object_a_line_are_taken_too(registry: Any) -> None:
    line = json.dumps(SNAPSHOT).encode()
    assert len(list(read_file(line, registry))) == 2
    assert len(list(read_file(line + b"\n" + line, registry))) == 4


@pytest.mark.parametrize("data", [b"", b"not json", b"{\n{"])
def test_bytes_that_are_no_json_are_refused(registry: Any, data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        list(read_file(data, registry))


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
@pytest.mark.parametrize(
    "name",
    [
        "bootstrap_mce.json",
        "bootstrap_mce.as_mcps.json",
        "data_platforms.json",
        "dbt_with_schemas.json",
        "demo-profiles.json",
        "looker.json",
        "mongodb.json",
        "s3_local_folder_partition.json",
    ],
)
def test_every_change_of_the_real_files_fits_the_model(registry: Any, name: str) -> None:
    validator = Validator(registry)
    found = list(read_file((DATA / name).read_bytes(), registry))
    assert found
    for change in found:
        assert isinstance(change, Proposal)
        assert isinstance(change.urn, Urn)
        registry.aspect_of(change.urn.entity_type, change.aspect)
        key_value(change.urn, registry.key_fields(change.urn.entity_type))
        validator.check(change.aspect, change.value)


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
def test_snapshots_say_what_their_conversion_by_the_real_tool_says(registry: Any) -> None:
    def changes(name: Any) -> Any:
        found = [*read_file((DATA / name).read_bytes(), registry)]
        changes = [one for one in found if isinstance(one, Proposal)]
        assert len(changes) == len(found)
        return {(str(c.urn), c.aspect, c.value.get("timestampMillis")): c.value for c in changes}

    ours, theirs = changes("bootstrap_mce.json"), changes("bootstrap_mce.as_mcps.json")
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        # The real tool fills in defaults; nothing else may differ.
        assert _within(value, theirs[key]), key


def _within(part: Any, whole: Any) -> Any:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and _within(inner, whole[key])
            for key, inner in part.items()
            if key != "fieldDiscriminator"
        )
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return part == whole


def test_paths_reach_through_arrays_maps_and_keys() -> None:
    value = {"a": [{"b": {"x": 1, "y": 2}}, {"b": None}], "c": "text"}
    assert list(reach(value, "a.*.b.*")) == [1, 2]
    assert list(reach(value, "a.*.b.$key")) == ["x", "y"]
    assert list(reach(value, "c.*.d")) == []
    assert list(reach(value, "nowhere.*")) == []


def test_edges_are_read_off_the_value_once_each(registry: Any) -> None:
    value = {
        "owners": [
            {"owner": "urn:li:corpuser:a", "type": "DATAOWNER"},
            {"owner": "urn:li:corpuser:a", "type": "PRODUCER"},
            {"owner": "urn:li:corpGroup:g", "type": "PRODUCER"},
        ]
    }
    found = [(edge.name, urn) for edge, urn in edges_of(registry.aspect("ownership"), value)]
    assert found == [("OwnedBy", "urn:li:corpuser:a"), ("OwnedBy", "urn:li:corpGroup:g")]


def test_the_conditions_of_a_change_are_kept(registry: Any) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    record = {
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"json": {"removed": False}},
        "headers": {"If-Version-Match": "3"},
    }
    (read,) = read_file(json.dumps([record]).encode(), registry)
    assert isinstance(read, Proposal)
    assert read.to_wire()["headers"] == {"If-Version-Match": "3"}
