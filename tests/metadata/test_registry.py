"""The registry that ships, and a deployment's own names beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.registry import Registry, load_registry, read_type

OWN = {"changeset"}
"""The entities that this service has beside the model's."""


@pytest.fixture
def registry() -> Any:
    return load_registry()


def test_the_whole_model_is_there(registry: Any) -> None:
    assert len(registry.entities) == 72 + len(OWN)
    assert len(registry.aspects) == 268 + 4
    sources = {"dataHubIngestionSource", "dataHubExecutionRequest"}
    assert {*registry.entities} - {*registry.listed} == OWN | sources
    assert all(aspect.record in registry.records for aspect in registry.aspects.values())
    assert {"OwnedBy", "DownstreamOf", "TaggedWith", "IsPartOf"} <= set(registry.relationship_names)
    assert "DownstreamOf" in registry.lineage_names
    assert "OwnedBy" not in registry.lineage_names


@pytest.mark.parametrize(
    ("aspect", "field"),
    [
        ("queryProperties", "source"),
        ("dataHubViewInfo", "type"),
        ("dataContractStatus", "state"),
        ("postInfo", "type"),
        ("postInfo", "target"),
        ("entityTypeKey", "id"),
    ],
)
def test_a_searchable_field_about_which_the_model_says_no_more_is_searchable(
    registry: Any, aspect: str, field: str
) -> None:
    (found,) = [one for one in registry.aspects[aspect].search if one.name == field]
    assert (found.kind, found.path, found.queried) == ("TEXT", field, True)


@pytest.mark.parametrize(
    ("entity", "key"),
    [
        ("document", ("id",)),
        ("metric", ("platform", "path", "id")),
        ("semanticModel", ("platform", "path", "id")),
        ("lifecycleStageType", ("id",)),
        ("aiAgent", ("id",)),
        ("dataHubPageTemplate", ("id",)),
    ],
)
def test_the_entities_of_the_newest_model_are_known(registry: Any, entity: str, key: Any) -> None:
    assert registry.key_fields(entity) == key
    assert all(name in registry.aspects for name in registry.aspects_of(entity))


def test_of_two_annotations_of_a_place_the_outer_records_stands(registry: Any) -> None:
    names = {one.name for one in registry.aspects["editableSchemaMetadata"].search}
    assert "editedFieldTags" in names
    assert "tags" not in names


def test_key_fields_stand_in_the_order_of_the_urn(registry: Any) -> None:
    assert registry.key_fields("dataset") == ("platform", "name", "origin")
    assert registry.key_fields("chart") == ("dashboardTool", "chartId")
    assert registry.key_fields("tag") == ("name",)
    assert registry.key_fields("container") == ("guid",)


def test_only_the_last_segment_of_a_record_name_decides(registry: Any) -> None:
    for prefix in ("com.linkedin.common", "com.vendor.common", "com.linkedin.pegasus2avro.common"):
        assert registry.aspect_named_by(f"{prefix}.Ownership") == "ownership"
    assert registry.entity_named_by("com.vendor.metadata.snapshot.CorpUserSnapshot") == "corpuser"
    assert registry.entity_named_by("MLModelSnapshot") == "mlModel"


def test_an_unknown_name_is_answered_with_the_nearest(registry: Any) -> None:
    with pytest.raises(UnknownName, match="did you mean dataset"):
        registry.entity("datset")
    with pytest.raises(UnknownName, match="ownership"):
        registry.aspect_of("dataset", "ownerships")
    with pytest.raises(UnknownName, match="aspect of dataset"):
        registry.aspect_of("dataset", "chartInfo")


def test_search_fields_carry_weight_and_facet(registry: Any) -> None:
    def field(aspect: str, name: str) -> Any:
        return next(one for one in registry.aspects[aspect].search if one.name == name)

    assert field("datasetKey", "id").weight == 10
    assert field("globalTags", "tags").facet
    assert not field("ownership", "owners").queried
    assert field("schemaMetadata", "fieldTags").path == "fields.*.globalTags.tags.*.tag"


def test_a_deployment_adds_entities_and_aspects_with_a_file(tmp_path: Path) -> None:
    own = {
        "entities": {
            "sensor": {"key": "sensorKey", "aspects": ["calibration", "ownership"]},
            "dataset": {"key": "datasetKey", "aspects": ["calibration"]},
        },
        "aspects": {
            "sensorKey": {"record": "acme.SensorKey"},
            "calibration": {
                "record": "acme.Calibration",
                "search": [{"name": "calibratedBy", "kind": "URN", "path": "by"}],
                "relationships": [{"name": "CalibratedBy", "path": "by", "to": ["corpuser"]}],
            },
        },
        "records": {
            "acme.SensorKey": {"fields": {"id": {"type": "string"}}},
            "acme.Calibration": {"fields": {"by": {"type": "string"}}},
        },
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(own))
    registry = load_registry(file)
    assert registry.key_fields("sensor") == ("id",)
    assert "calibration" in registry.aspects_of("dataset")
    assert "schemaMetadata" in registry.aspects_of("dataset")
    assert "CalibratedBy" in registry.relationship_names
    assert "calibration" in registry.aspects_of("sensor")
    assert [one.name for one in registry.aspects["calibration"].search] == ["calibratedBy"]


def test_a_broken_registry_file_is_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"aspects": {"a": {"record": 3}}}')
    with pytest.raises(InvalidInput, match=r"own\.json.*aspects.*record"):
        load_registry(file)
    with pytest.raises(InvalidInput, match="cannot read"):
        load_registry(tmp_path / "none.json")


def test_type_expressions_are_read_with_what_is_inside() -> None:
    assert read_type("string") == ("name", ("string",))
    assert read_type("array<map<string>>") == ("array", ("map<string>",))
    assert read_type("union<a|array<b>>") == ("union", ("a", "array<b>"))


def test_a_registry_reads_from_bytes() -> None:
    assert Registry.from_json(b"{}").entities == {}


def test_names_that_would_steer_a_terminal_are_written_out_in_a_sentence() -> None:
    error = UnknownName("column", "email", ["email\x1b[J", *(f"column {n}" for n in range(90))])
    assert "\x1b" not in str(error)
    assert "email\\x1b[J" in str(error)
    many = str(UnknownName("column", "zzzz", (f"column {n:03}" for n in range(350))))
    assert "column 299 and 50 more" in many
