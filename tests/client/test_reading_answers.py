"""What reading makes of answers: of any vendor's names, of odd ones, and of hostile ones."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.client.editable import place_of
from explorer.client.entity import (
    SUMMARY_ASPECTS,
    AspectRead,
    Entity,
    parse_aspect,
    parse_config,
    parse_entities,
    parse_entity,
    parse_legacy_entity,
)
from explorer.client.history import parse_versions
from explorer.client.records import Timeseries
from explorer.client.timeseries import parse_timeseries
from explorer.errors import CatalogError, ServerFault
from explorer.metadata import Urn
from explorer.metadata.aspects import (
    RECORDS,
    AuditStamp,
    ChartInfo,
    CorpUserEditableInfo,
    FieldProfile,
    GlossaryTermInfo,
    Ownership,
    SchemaMetadata,
    Status,
    UpstreamLineage,
    aspect_of,
    read_aspect,
)
from explorer.metadata.registry import load_registry, read_type

TAG = "urn:li:tag:PII"
ORDERS = Urn.dataset("hive", "orders")

# Every field of every aspect that the interface describes.
FIELDS = {
    "datasetKey": "name platform origin",
    "dataPlatformInstance": "platform",
    "browsePaths": "paths",
    "ownership": "owners.owner owners.type lastModified",
    "institutionalMemory": "elements.url elements.description elements.createStamp",
    "schemaMetadata": (
        "schemaName platform version created lastModified hash platformSchema fields.fieldPath "
        "fields.description fields.nativeDataType fields.nullable fields.isPartOfKey "
        "fields.recursive fields.type"
    ),
    "editableSchemaMetadata": (
        "editableSchemaFieldInfo.fieldPath editableSchemaFieldInfo.globalTags created lastModified"
    ),
    "globalTags": "tags.tag",
    "upstreamLineage": "upstreams.auditStamp upstreams.type upstreams.dataset",
    "status": "removed",
    "datasetUsageStatistics": (
        "timestampMillis uniqueUserCount totalSqlQueries fieldCounts.fieldPath fieldCounts.count"
    ),
    "datasetProfile": (
        "timestampMillis rowCount columnCount fieldProfiles.fieldPath fieldProfiles.uniqueCount "
        "fieldProfiles.uniqueProportion fieldProfiles.nullCount fieldProfiles.nullProportion "
        "fieldProfiles.min fieldProfiles.max fieldProfiles.mean fieldProfiles.median "
        "fieldProfiles.sampleValues fieldProfiles.distinctValueFrequencies.value "
        "fieldProfiles.distinctValueFrequencies.frequency"
    ),
    "corpUserKey": "username",
    "corpUserInfo": "active displayName fullName email",
    "corpUserEditableInfo": "",
    "corpGroupKey": "name",
    "corpGroupInfo": "email admins members groups",
    "chartKey": "chartId dashboardTool",
    "chartInfo": "title description inputs lastModified.created lastModified.lastModified",
    "dashboardKey": "dashboardId dashboardTool",
    "dashboardInfo": "title description charts lastModified.created lastModified.lastModified",
    "tagProperties": "name description",
    "glossaryTermInfo": "definition customProperties sourceRef sourceUrl termSource",
}


def in_record(record: Any, steps: Any) -> Any:
    """Whether a typed record has the field, however deep in its arrays and records."""
    import typing

    import msgspec

    kind = typing.get_type_hints(record)
    by_wire = {field.encode_name: field.name for field in msgspec.structs.fields(record)}
    if steps[0] not in by_wire:
        return False
    waiting, inner = [kind[by_wire[steps[0]]]], None
    while waiting and len(steps) > 1:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            inner = one
        waiting.extend(typing.get_args(one))
    return len(steps) == 1 or (inner is not None and in_record(inner, steps[1:]))


def in_registry(registry: Any, record: Any, steps: Any) -> Any:
    field = registry.records[record].fields.get(steps[0])
    if field is None:
        return False
    if len(steps) == 1:
        return True
    kind, arguments = read_type(field.base)
    return in_registry(registry, arguments[0] if kind != "name" else field.base, steps[1:])


@pytest.mark.parametrize("aspect", FIELDS)
def test_every_aspect_of_the_interface_has_a_typed_record_with_every_field(aspect: Any) -> None:
    registry = load_registry()
    for path in FIELDS[aspect].split():
        steps = path.split(".")
        assert in_record(RECORDS[aspect], steps), path
        assert in_registry(registry, registry.aspect(aspect).record, steps), path
    assert aspect_of(RECORDS[aspect]) == aspect
    assert read_aspect({}, RECORDS[aspect]) == RECORDS[aspect]()


def snapshot(prefix: Any, *aspects: Any, **beside: Any) -> Any:
    return {
        "value": {
            f"{prefix}.metadata.snapshot.GlossaryTermSnapshot": {
                "urn": "urn:li:glossaryTerm:Order",
                "aspects": [{f"{prefix}.{name}": value} for name, value in aspects],
                **beside,
            }
        }
    }


@pytest.mark.parametrize("prefix", ["com.linkedin", "org.acme.x", "com.vendor"])
def test_records_are_known_by_their_last_name_whoever_made_them(prefix: str) -> None:
    owned = {"owners": [{"owner": "urn:li:corpuser:a", "type": "SOMETHING_NEW"}]}
    term = {"definition": "d", "termSource": "ELSEWHERE", "made": {"up": 1}}
    read = parse_legacy_entity(
        snapshot(
            prefix,
            ("glossary.GlossaryTermKey", {"name": "Order"}),
            ("glossary.GlossaryTermInfo", term),
            ("acme.Invented", {"x": 1}),
            ownership=owned,
        ),
        load_registry(),
    )
    assert set(read.aspects) == {"glossaryTermKey", "glossaryTermInfo", "Invented", "ownership"}
    assert read.raw("glossaryTermInfo") == term
    info = read.aspect("glossaryTermInfo", GlossaryTermInfo)
    assert info is not None
    assert info.term_source == "ELSEWHERE"
    assert read.owners[0].type == "SOMETHING_NEW"
    assert read.raw("Invented") == {"x": 1}
    one = parse_aspect({"version": 0, "aspect": {f"{prefix}.x.Status": {}}}, "status")
    assert one.value == {}


def test_unknown_aspects_fields_and_values_are_kept_as_they_came() -> None:
    value = {"removed": False, "why": {"deeply": [1, None, "x"]}}
    wrapper = {"name": "status", "version": 0, "value": value, "new": 1}
    made_up = {"name": "made.up", "version": 2, "value": {"z": None}}
    read = parse_entity({"urn": TAG, "aspects": {"status": wrapper, "made.up": made_up}})
    assert read.raw("status") == value
    assert read.raw("made.up") == {"z": None}
    assert read.aspects["made.up"].version == 2
    assert not read.removed


def test_an_audit_time_is_a_moment_as_far_as_the_calendar_goes() -> None:
    at = {millis: AuditStamp(millis).at for millis in (0, -1, 2**31 + 1, 2**53, 10**18)}
    assert at[0] == datetime(1970, 1, 1, tzinfo=UTC)
    assert at[-1] == datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert at[2**31 + 1] == datetime(1970, 1, 25, 20, 31, 23, 649_000, tzinfo=UTC)
    assert at[2**53] is None
    assert at[10**18] is None
    stamp = {"time": 2**31 + 1, "actor": TAG}
    read = AspectRead("status", 0, {}, stamp)
    assert read.created is not None
    assert (read.created.time, read.created.actor) == (2**31 + 1, TAG)


@pytest.mark.parametrize("stamp", [None, "now", [], {"time": "soon"}, {"time": []}, {"actor": 3}])
def test_a_stamp_that_cannot_be_read_is_none(stamp: Any) -> None:
    assert AspectRead("status", 0, {}, stamp).created is None


def test_a_stamp_is_taken_from_the_system_metadata_where_it_stands_there_alone() -> None:
    system = {"runId": "r", "aspectModified": {"time": 5, "actor": TAG}}
    read = parse_aspect(
        {"version": 3, "aspect": {"com.linkedin.common.Status": {}}, "systemMetadata": system},
        "status",
    )
    assert read.created is not None
    assert (read.created.time, read.run_id) == (5, "r")


def test_summaries_of_a_profile_stay_texts_and_are_numbers_on_request() -> None:
    profile = FieldProfile(min="N/A", max="1e3", mean="12.50", median="nan")
    assert (profile.min, profile.max, profile.mean) == ("N/A", "1e3", "12.50")
    assert profile.number("min") is None
    assert profile.number("max") == 1000.0
    assert profile.number("mean") == 12.5
    assert profile.number("median") is None
    assert FieldProfile().number("min") is None
    assert FieldProfile(min="2024-01-01", max="1_000").number("max") is None


def test_a_platform_schema_of_an_unknown_kind_is_kept() -> None:
    member = {"com.acme.schema.PulsarSchema": {"documentSchema": '{"type": "record"}', "x": 1}}
    schema = read_aspect({"platformSchema": member}, SchemaMetadata)
    assert schema.platform_schema == member


@pytest.mark.parametrize("prefix", ["com.vendor.schema", "com.linkedin.schema", "x"])
@pytest.mark.parametrize(
    ("record", "word"),
    [
        ("StringType", "string"),
        ("RecordType", "record"),
        ("DateType", "date"),
        ("NumberType", "number"),
        ("GeoShape", "GeoShape"),
        ("GeoType", "GeoType"),
    ],
)
def test_the_type_of_a_column_is_a_word_or_its_records_short_name(
    prefix: str, record: str, word: str
) -> None:
    field = {"fieldPath": "a", "type": {"type": {f"{prefix}.{record}": {}}}}
    (column,) = read_aspect({"fields": [field]}, SchemaMetadata).fields
    assert column.type_name == word


def test_the_inputs_of_a_chart_are_urns() -> None:
    value = {"title": "t", "inputs": [{"string": str(ORDERS)}, {"string": "no urn"}]}
    chart = Entity(Urn.of("chart", "looker", "1"), {"chartInfo": AspectRead("chartInfo", 0, value)})
    assert chart.inputs == (ORDERS,)
    info = chart.aspect("chartInfo", ChartInfo)
    assert info is not None
    assert info.input_urns == (str(ORDERS), "no urn")
    assert Entity(chart.urn, {}).inputs == ()


def test_what_people_wrote_of_themselves_may_be_nothing() -> None:
    assert read_aspect({}, CorpUserEditableInfo) == CorpUserEditableInfo()


def test_nulls_count_as_absent_wherever_they_stand() -> None:
    owned = read_aspect({"owners": [{"owner": "u", "type": None}], "lastModified": None}, Ownership)
    assert (owned.owners[0].type, owned.last_modified) == ("NONE", None)
    assert read_aspect({"upstreams": None}, UpstreamLineage).upstreams == ()


ODD: list[Any] = [
    None,
    [],
    "text",
    {},
    {"urn": 3},
    {"urn": "no urn"},
    {"urn": TAG, "aspects": []},
    {"urn": TAG, "aspects": {"status": []}},
    {"urn": TAG, "aspects": {"status": {"value": [1]}}},
    {"urn": TAG, "aspects": {"status": {"value": "no json"}}},
]


@pytest.mark.parametrize("body", ODD)
def test_an_entity_of_another_shape_is_the_servers_fault(body: Any) -> None:
    with pytest.raises(ServerFault):
        parse_entity(body)
    with pytest.raises(ServerFault):
        parse_entities({"results": {TAG: body}} if body is not None else None)


def test_what_is_left_out_of_an_aspect_does_no_harm() -> None:
    aspects = {"status": {}, "ownership": None, "globalTags": {"value": None, "version": None}}
    read = parse_entity({"urn": TAG, "aspects": aspects})
    assert read.raw("status") == {}
    assert "ownership" not in read.aspects
    assert read.aspects["globalTags"].created is None
    assert parse_entity({"urn": TAG, "aspects": None}).aspects == {}
    packed = {"status": {"value": '{"removed": true}'}}
    assert parse_entity({"urn": TAG, "aspects": packed}).removed


@pytest.mark.parametrize(
    "held",
    [None, [], {}, {"a.Status": 3}, {"a.Status": {}, "b.Other": {}, "c.Status": {}}, {"a.B": "{"}],
)
def test_an_aspect_that_is_not_one_record_is_the_servers_fault(held: Any) -> None:
    with pytest.raises(ServerFault):
        parse_aspect({"version": 0, "aspect": held}, "status")


def test_of_two_records_the_one_asked_for_is_read() -> None:
    body = {"version": 1, "aspect": {"a.Other": {}, "b.Status": {"removed": True}}}
    assert parse_aspect(body, "status").value == {"removed": True}


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"values": {"a": 1}},
        {"values": [None]},
        {"values": [{"aspect": {}}]},
        {"values": [{"aspect": {"value": "{"}}]},
        {"values": [{"aspect": {"value": "[]"}}]},
    ],
)
def test_points_of_another_shape_are_the_servers_fault(value: Any) -> None:
    with pytest.raises(ServerFault):
        parse_timeseries({"value": value}, "datasetProfile")


def test_points_without_a_moment_come_first() -> None:
    values = [{"aspect": {"value": text}} for text in ('{"timestampMillis": 1}', '{"a": 1}')]
    read = parse_timeseries({"value": {"values": values, "limit": None}}, "x")
    assert [point.get("timestampMillis") for point in read.values] == [None, 1]
    assert read.limit == 10_000


NAMES = [
    *("urn", "aspects", "value", "version", "created", "time", "actor", "name", "results"),
    *("values", "aspect", "systemMetadata", "runId", "total", "start", "versions", "limit"),
    *("timestampMillis", "fields", "fieldPath", "status", "ownership", "schemaMetadata"),
    *("owners", "owner", "type", "platform", "a.Status"),
]
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
PROPERTIES = [
    name
    for name in dir(Entity)
    if isinstance(getattr(Entity, name), property) or name in ("name", "schema")
]


@pytest.mark.nightly
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(RECORDS)), any_json, max_size=4), any_json)
def test_nothing_a_server_says_breaks_reading(aspects: Any, body: Any) -> None:
    wrapped = {name: {"value": value, "created": value} for name, value in aspects.items()}
    registry = load_registry()
    for read in (
        lambda: parse_entity({"urn": TAG, "aspects": wrapped}),
        lambda: parse_entity(body),
        lambda: parse_entities({"results": {"x": {"urn": TAG, "aspects": body}}}),
        lambda: parse_legacy_entity(body, registry),
        lambda: parse_legacy_entity({"value": {"a.TagSnapshot": body}}, registry),
        lambda: parse_aspect({"aspect": body}, "status"),
        lambda: parse_versions(body, ORDERS, "status"),
        lambda: parse_versions({"versions": [body, body]}, ORDERS, "status"),
        lambda: parse_timeseries({"value": body}, "status"),
        lambda: parse_timeseries({"value": {"values": [{"aspect": body}]}}, "status"),
        lambda: parse_config(body, "x"),
    ):
        told(read)
    for name, value in aspects.items():
        if isinstance(value, dict):
            told(lambda value=value, name=name: read_aspect(value, RECORDS[name]))
            entity = Entity(Urn.parse(TAG), {name: AspectRead(name, 0, value, value, value)})
            for said in PROPERTIES:
                told(lambda entity=entity, said=said: getattr(entity, said))


def told(read: Any) -> Any:
    """What is read, or the one error that says why it cannot be."""
    try:
        return read()
    except CatalogError:
        return None


def test_a_series_is_read_as_any_record() -> None:
    assert Timeseries("status", 1, ({"removed": True},)).records(Status)[0].removed


EDITABLE = (
    *("dataset", "chart", "dashboard", "dataFlow", "dataJob", "container", "tag", "domain"),
    *("glossaryTerm", "glossaryNode", "dataProduct", "corpGroup", "mlModel", "mlModelGroup"),
    *("mlFeature", "mlFeatureTable", "mlPrimaryKey", "notebook", "application"),
    "businessAttribute",
)


@pytest.mark.parametrize("entity_type", EDITABLE)
def test_a_description_that_can_be_edited_is_read_back(entity_type: Any) -> None:
    urn = Urn.parse(f"urn:li:{entity_type}:x")
    place = place_of(urn, None)
    value = place.with_text(urn, {}, "What it holds.")
    entity = Entity(urn, {place.aspect: AspectRead(place.aspect, 0, value)})
    assert entity.description == "What it holds."
    assert place.aspect in SUMMARY_ASPECTS
