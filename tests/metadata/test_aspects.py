"""Typed records say what the model says, field for field."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from explorer.errors import ServerFault
from explorer.metadata import Proposal
from explorer.metadata.aspects import RECORDS, SchemaMetadata, Status, read_aspect
from explorer.metadata.files import read_file
from explorer.metadata.registry import load_registry

DATA = Path(__file__).parents[3] / "shared/data/datahub"
SPECIFIED = (
    "datasetKey",
    "dataPlatformInstance",
    "browsePaths",
    "ownership",
    "institutionalMemory",
    "schemaMetadata",
    "editableSchemaMetadata",
    "globalTags",
    "upstreamLineage",
    "status",
    "datasetUsageStatistics",
    "datasetProfile",
    "corpUserKey",
    "corpUserInfo",
    "corpUserEditableInfo",
    "corpGroupKey",
    "corpGroupInfo",
    "chartKey",
    "chartInfo",
    "dashboardKey",
    "dashboardInfo",
    "tagProperties",
    "glossaryTermInfo",
)


@pytest.mark.parametrize("aspect", SPECIFIED)
def test_every_specified_aspect_has_a_typed_record(aspect: Any) -> None:
    assert aspect in RECORDS


@pytest.mark.parametrize("aspect", RECORDS)
def test_a_record_names_only_fields_of_the_model(aspect: Any) -> None:
    registry = load_registry()
    record = registry.records[registry.aspect(aspect).record]
    fields = {field.encode_name for field in msgspec.structs.fields(RECORDS[aspect])}
    assert fields <= set(record.fields)


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
def test_every_real_value_reads_as_its_record() -> None:
    registry = load_registry()
    read = 0
    for file in DATA.glob("*.json"):
        if file.name == "model_registry.json":
            continue
        for change in read_file(file.read_bytes(), registry):
            assert isinstance(change, Proposal)
            if change.aspect in RECORDS:
                read_aspect(change.value, RECORDS[change.aspect])
                read += 1
    assert read > 300


def test_nulls_count_as_absent_and_unknown_fields_do_no_harm() -> None:
    assert read_aspect({"removed": None, "tomorrow": 1}, Status) == Status(removed=False)


def test_a_value_of_another_shape_is_told_with_its_place() -> None:
    with pytest.raises(ServerFault, match=r"SchemaMetadata.*fields\[0\]\.fieldPath"):
        read_aspect({"fields": [{"fieldPath": []}]}, SchemaMetadata)
