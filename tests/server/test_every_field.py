"""Every field of every aspect that people look at: taken with its type and given back unchanged,
refused with another, and never needed for the entity to be read."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.conftest import Caller

HIVE = "urn:li:dataPlatform:everything"
USER = "urn:li:corpuser:jdoe"
STAMP = {"time": 1581407189000, "actor": USER}
STAMPS = {"created": STAMP, "lastModified": STAMP}
NAME = "every.field"
DATASET = f"urn:li:dataset:({HIVE},{NAME},PROD)"
OTHER = f"urn:li:dataset:({HIVE},every.other,PROD)"
TAGS = {"tags": [{"tag": "urn:li:tag:PII"}]}
CHART = "urn:li:chart:(looker,every)"

COLUMN = {
    "fieldPath": "a.b",
    "description": "of a.b",
    "nativeDataType": "varchar(100)",
    "nullable": True,
    "isPartOfKey": False,
    "recursive": False,
    "type": {"type": {"com.vendor.schema.StringType": {}}},
}
PROFILED = {
    "fieldPath": "a.b",
    "uniqueCount": 3,
    "uniqueProportion": 0.25,
    "nullCount": 1,
    "nullProportion": 0.5,
    "min": "1",
    "max": "9",
    "mean": "5.5",
    "median": "5",
    "sampleValues": ["1", "9"],
    "distinctValueFrequencies": [{"value": "1", "frequency": 2}],
}
WHOLE: dict[tuple[str, str], dict[str, Any]] = {
    (DATASET, "datasetKey"): {"name": NAME, "platform": HIVE, "origin": "PROD"},
    (DATASET, "dataPlatformInstance"): {"platform": HIVE},
    (DATASET, "browsePaths"): {"paths": ["/prod/everything/every.field"]},
    (DATASET, "ownership"): {
        "owners": [{"owner": USER, "type": "DATAOWNER"}],
        "lastModified": STAMP,
    },
    (DATASET, "institutionalMemory"): {
        "elements": [{"url": "https://wiki", "description": "wiki", "createStamp": STAMP}]
    },
    (DATASET, "schemaMetadata"): {
        "schemaName": "SampleSchema",
        "platform": HIVE,
        "version": 0,
        "created": STAMP,
        "lastModified": STAMP,
        "hash": "",
        "platformSchema": {"com.vendor.schema.KafkaSchema": {"documentSchema": "{}"}},
        "fields": [COLUMN],
    },
    (DATASET, "editableSchemaMetadata"): {
        "created": STAMP,
        "lastModified": STAMP,
        "editableSchemaFieldInfo": [{"fieldPath": "a.b", "globalTags": TAGS}],
    },
    (DATASET, "globalTags"): TAGS,
    (DATASET, "upstreamLineage"): {
        "upstreams": [{"auditStamp": STAMP, "type": "TRANSFORMED", "dataset": OTHER}]
    },
    (DATASET, "status"): {"removed": False},
    (DATASET, "datasetUsageStatistics"): {
        "timestampMillis": 1629840771000,
        "uniqueUserCount": 10,
        "totalSqlQueries": 20,
        "fieldCounts": [{"fieldPath": "a.b", "count": 20}],
    },
    (DATASET, "datasetProfile"): {
        "timestampMillis": 1629840771000,
        "rowCount": 1000,
        "columnCount": 5,
        "fieldProfiles": [PROFILED],
    },
    ("urn:li:corpuser:every", "corpUserKey"): {"username": "every"},
    ("urn:li:corpuser:every", "corpUserInfo"): {
        "active": True,
        "displayName": "Every One",
        "fullName": "Every One",
        "email": "every@one",
    },
    ("urn:li:corpGroup:every", "corpGroupKey"): {"name": "every"},
    ("urn:li:corpGroup:every", "corpGroupInfo"): {
        "email": "every@one",
        "admins": [USER],
        "members": [USER],
        "groups": ["urn:li:corpGroup:other"],
    },
    (CHART, "chartKey"): {"chartId": "every", "dashboardTool": "looker"},
    (CHART, "chartInfo"): {
        "title": "Baz Chart",
        "description": "of baz",
        "inputs": [{"string": OTHER}],
        "lastModified": STAMPS,
    },
    ("urn:li:dashboard:(looker,every)", "dashboardKey"): {
        "dashboardId": "every",
        "dashboardTool": "looker",
    },
    ("urn:li:dashboard:(looker,every)", "dashboardInfo"): {
        "title": "Baz",
        "description": "of baz",
        "charts": [CHART],
        "lastModified": STAMPS,
    },
    ("urn:li:tag:every", "tagProperties"): {"name": "every", "description": "of every"},
    ("urn:li:glossaryTerm:every", "glossaryTermInfo"): {
        "definition": "all of it",
        "customProperties": {"FQDN": "full"},
        "sourceRef": "FIBO",
        "sourceUrl": "https://fibo",
        "termSource": "EXTERNAL",
    },
}
TIMESERIES = ("datasetUsageStatistics", "datasetProfile")
# Without these a value says nothing, or nothing of this entity, and is refused.
NEEDED = {
    "browsePaths": {"paths"},
    "chartInfo": {"inputs.0.string"},
    "dataPlatformInstance": {"platform"},
    "datasetProfile": {"timestampMillis", "fieldProfiles.0.fieldPath"},
    "datasetUsageStatistics": {"timestampMillis", "fieldCounts.0.fieldPath"},
    "editableSchemaMetadata": {
        "editableSchemaFieldInfo",
        "editableSchemaFieldInfo.0.fieldPath",
        "editableSchemaFieldInfo.0.globalTags.tags",
        "editableSchemaFieldInfo.0.globalTags.tags.0.tag",
    },
    "globalTags": {"tags", "tags.0.tag"},
    "institutionalMemory": {"elements", "elements.0.url"},
    "ownership": {"owners", "owners.0.owner", "owners.0.type"},
    "schemaMetadata": {
        "fields",
        "fields.0.fieldPath",
        "fields.0.type.type",
        "fields.0.type.type.com.vendor.schema.StringType",
        "platformSchema.com.vendor.schema.KafkaSchema",
    },
    "tagProperties": {"name"},
    "upstreamLineage": {"upstreams", "upstreams.0.dataset"},
}

Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Where every field of a value is, the inner ones too."""
    parts: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        parts = enumerate(value)
    for step, part in parts:
        if isinstance(step, str):
            yield (*at, step)
        yield from paths(part, (*at, step))


FIELDS = [
    pytest.param(urn, aspect, path, id=f"{aspect}-{'.'.join(map(str, path))}")
    for (urn, aspect), value in WHOLE.items()
    for path in paths(value)
]


def changed(value: Any, path: Path, *new: Any) -> Any:
    """The value with another part at a path, or with none."""
    value = copy.deepcopy(value)
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    if new:
        inner[path[-1]] = new[0]
    else:
        del inner[path[-1]]
    return value


def renamed(urn: str, marker: str) -> str:
    """An entity of the same type that no other test writes."""
    if "every" not in urn:
        return urn
    return urn.replace("every", f"every_{marker}", 1)


def read(caller: Any, urn: str, aspect: str) -> Any:
    if aspect not in TIMESERIES:
        return caller.value(urn, aspect)
    asked = {"urn": urn, "entity": urn.split(":")[2], "aspect": aspect}
    found = caller.post("/aspects?action=getTimeseriesAspectValues", asked).json()["value"]
    return json.loads(found["values"][0]["aspect"]["value"]) if found["values"] else None


@pytest.mark.parametrize(("urn", "aspect"), WHOLE, ids=[aspect for _, aspect in WHOLE])
def test_an_aspect_with_all_its_fields_is_given_back_unchanged(
    caller: Caller, urn: Any, aspect: Any
) -> None:
    caller.ingest(urn, aspect, WHOLE[urn, aspect])
    assert read(caller, urn, aspect) == WHOLE[urn, aspect]


@pytest.mark.parametrize("name", ["String", "Record", "Date", "Number", "Boolean", "Array", "Map"])
@pytest.mark.parametrize("prefix", ["com.vendor.schema.", "com.linkedin.schema.", ""])
def test_every_type_of_column_is_taken_however_its_name_begins(
    caller: Caller, name: str, prefix: str
) -> None:
    urn = renamed(DATASET, f"{name}_{prefix}")
    column = COLUMN | {"type": {"type": {f"{prefix}{name}Type": {}}}}
    value = WHOLE[DATASET, "schemaMetadata"] | {"fields": [column]}
    caller.ingest(urn, "schemaMetadata", value)
    assert caller.value(urn, "schemaMetadata") == value


def test_what_a_person_edits_of_themselves_may_be_empty(caller: Caller) -> None:
    caller.ingest("urn:li:corpuser:empty", "corpUserEditableInfo", {})
    assert caller.value("urn:li:corpuser:empty", "corpUserEditableInfo") == {}


@pytest.mark.parametrize(("urn", "aspect", "path"), FIELDS)
def test_a_field_of_another_type_is_refused_and_nothing_is_stored(
    caller: Caller, urn: Any, aspect: Any, path: Any
) -> None:
    marker = "_".join(map(str, (aspect, *path)))
    urn = renamed(urn, marker.replace(".", "_"))
    inner: Any = WHOLE[next(key for key in WHOLE if key[1] == aspect)]
    for step in path:
        inner = inner[step]
    wrong: Any
    for wrong in ([[]], 7 if not isinstance(inner, int | float) else "7"):
        value = changed(WHOLE[next(key for key in WHOLE if key[1] == aspect)], path, wrong)
        answer = caller.send(urn, aspect, value)
        assert answer.status_code == 422, answer.text
        assert answer.json()["message"].startswith(f"{aspect}.")
        assert not caller.exists(urn)


@pytest.mark.parametrize(
    ("aspect", "path"),
    [
        (aspect, path)
        for (_, aspect), value in WHOLE.items()
        for path in paths(value)
        if path[-1] in ("platform", "owner", "tag", "dataset", "string")
    ],
    ids=lambda part: part if isinstance(part, str) else ".".join(map(str, part)),
)
def test_a_text_that_is_no_urn_is_refused_where_one_belongs(
    caller: Caller, aspect: Any, path: Any
) -> None:
    (urn, _), value = next(item for item in WHOLE.items() if item[0][1] == aspect)
    urn = renamed(urn, f"urn_{'_'.join(map(str, path))}")
    answer = caller.send(urn, aspect, changed(value, path, "hive"))
    assert answer.status_code == 422, answer.text
    assert not caller.exists(urn)


WIDE = """
fragment links on InstitutionalMemory {
  elements { url label description author { urn } created { time actor } }
}
fragment owned on Ownership {
  owners { type owner { ... on CorpUser { urn } ... on CorpGroup { urn } } }
  lastModified { time actor }
}
query read($urn: String!) {
  entity(urn: $urn) {
    urn type
    ... on Dataset {
      name properties { name description } editableProperties { description }
      institutionalMemory { ...links } ownership { ...owned } tags { tags { tag { urn } } }
      schemaMetadata {
        name platformUrn version hash createdAt
        fields { fieldPath description type nativeDataType nullable recursive isPartOfKey }
      }
      editableSchemaMetadata { editableSchemaFieldInfo { fieldPath description } }
      usageStats {
        buckets { metrics { uniqueUserCount totalSqlQueries fields { fieldName count } } }
      }
      datasetProfiles {
        rowCount columnCount timestampMillis
        fieldProfiles { fieldPath uniqueCount nullCount min max mean median sampleValues
          distinctValueFrequencies { value frequency } }
      }
    }
    ... on Chart { properties { name description created { time } lastModified { time } } }
    ... on Dashboard { properties { name description created { time } lastModified { time } } }
    ... on CorpUser { username properties { active displayName email fullName } }
    ... on CorpGroup { name properties { displayName description email } }
    ... on Tag { name properties { name description } }
    ... on GlossaryTerm { name properties { name description termSource sourceUrl } }
  }
}"""


@pytest.mark.parametrize(("urn", "aspect", "path"), FIELDS)
def test_an_entity_that_lacks_a_field_is_read_all_the_same(
    caller: Caller, urn: Any, aspect: Any, path: Any
) -> None:
    value = changed(WHOLE[urn, aspect], path)
    marker = "_".join(map(str, ("lacks", aspect, *path)))
    urn = renamed(urn, marker.replace(".", "_"))
    needed = aspect.endswith("Key") or ".".join(map(str, path)) in NEEDED.get(aspect, ())
    answer = caller.send(urn, aspect, value)
    if needed:
        assert answer.status_code == 422, answer.text
        caller.ingest(urn, "status", {"removed": False})
    else:
        assert answer.status_code == 200, answer.text
        assert read(caller, urn, aspect) == value
    entity = caller.entity(urn)
    key = caller.catalog.registry.entity(entity["entityName"]).key
    assert key in entity["aspects"]
    answered = caller.graphql(WIDE, urn=urn)
    assert "errors" not in answered, answered
