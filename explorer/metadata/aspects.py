"""Typed records of the most viewed aspects; all other aspects stay plain JSON.

Every field is optional or has a default, because a value may come from an older or newer model.
Fields that a record does not declare are ignored here and kept in the raw value.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Literal, TypeVar

import msgspec

from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.measurements import Scope, scope_of, window_millis
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(millis: int) -> datetime | None:
    """Return a time as an aware UTC datetime, or `None` outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return None


class Camel(msgspec.Struct, frozen=True, rename="camel"):
    """The base of all records: snake case in Python, camel case on the wire."""


class AuditStamp(Camel, frozen=True):
    """Who did something and when: `time` in milliseconds since 1970 UTC, `actor` a user URN."""

    time: int = 0
    actor: str = UNKNOWN_ACTOR

    @property
    def at(self) -> datetime | None:
        """`time` as an aware UTC datetime, or `None` outside the years 1 to 9999."""
        return moment_of(self.time)


class ChangeStamps(Camel, frozen=True):
    """When something was created and last changed."""

    created: AuditStamp = AuditStamp()
    last_modified: AuditStamp = AuditStamp()


class DataPlatformInstance(Camel, frozen=True):
    """The URNs of the platform of an entity, and of the instance of the platform."""

    platform: str = ""
    instance: str | None = None


class BrowsePaths(Camel, frozen=True):
    """The folders an entity is filed under, `/prod/hive/sales`."""

    paths: tuple[str, ...] = ()


class Owner(Camel, frozen=True):
    """An owner: the URN of a user or group, and the ownership type."""

    owner: str = ""
    type: str = "NONE"


class Ownership(Camel, frozen=True):
    """The owners of an entity."""

    owners: tuple[Owner, ...] = ()
    last_modified: AuditStamp | None = None


class Link(Camel, frozen=True):
    """A documentation link."""

    url: str = ""
    description: str = ""
    create_stamp: AuditStamp = AuditStamp()


class InstitutionalMemory(Camel, frozen=True):
    """The documentation links of an entity."""

    elements: tuple[Link, ...] = ()


class TagAssociation(Camel, frozen=True):
    """One tag on an entity or column."""

    tag: str = ""


class GlobalTags(Camel, frozen=True):
    """The tags on an entity or column."""

    tags: tuple[TagAssociation, ...] = ()


class TermAssociation(Camel, frozen=True):
    """One glossary term on an entity or column."""

    urn: str = ""


class GlossaryTerms(Camel, frozen=True):
    """The glossary terms on an entity or column."""

    terms: tuple[TermAssociation, ...] = ()


class Status(Camel, frozen=True):
    """Whether an entity is soft-deleted."""

    removed: bool = False


class DeprecationRecord(Camel, frozen=True):
    """Whether an entity should no longer be used, and why."""

    deprecated: bool = False
    note: str = ""


class SubTypes(Camel, frozen=True):
    """The platform's own types of an entity, such as `Table`, `View` or `Topic`."""

    type_names: tuple[str, ...] = ()


_WORDS = {
    f"{kind}Type": kind.lower()
    for kind in (
        *("Array", "Boolean", "Bytes", "Date", "Enum", "Fixed", "Map", "Null", "Number"),
        *("Record", "String", "Time", "Union"),
    )
}


class SchemaField(Camel, frozen=True):
    """A column as ingested. `type` is `{"type": {"<record name>": {…}}}`."""

    field_path: str = ""
    description: str | None = None
    native_data_type: str = ""
    nullable: bool = False
    is_part_of_key: bool = False
    recursive: bool = False
    type: dict[str, Any] = msgspec.field(default_factory=dict)
    label: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()

    @property
    def type_name(self) -> str:
        """The type of the column as one word, such as `string` or `record`. For a type that the
        model lacks, the short name of its record; empty if the column has no type."""
        inner = self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            short = str(name).rpartition(".")[2]
            return _WORDS.get(short, short)
        return ""


class SchemaMetadata(Camel, frozen=True):
    """The schema of a dataset as ingested, its columns in order."""

    schema_name: str = ""
    platform: str = ""
    version: int = 0
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None
    hash: str = ""
    fields: tuple[SchemaField, ...] = ()
    platform_schema: dict[str, Any] = msgspec.field(default_factory=dict)
    primary_keys: tuple[str, ...] | None = None


class EditableSchemaField(Camel, frozen=True):
    """The edited documentation of one column."""

    field_path: str = ""
    description: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()


class EditableSchemaMetadata(Camel, frozen=True):
    """The edited documentation of a dataset's columns."""

    editable_schema_field_info: tuple[EditableSchemaField, ...] = ()
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None


class DatasetKey(Camel, frozen=True):
    """The key of a dataset; `platform` is a URN."""

    name: str = ""
    platform: str = ""
    origin: str = ""


class DatasetProperties(Camel, frozen=True):
    """The ingested properties of a dataset."""

    name: str | None = None
    qualified_name: str | None = None
    description: str | None = None
    external_url: str | None = None
    custom_properties: dict[str, str] = msgspec.field(default_factory=dict)


class EditableDatasetProperties(Camel, frozen=True):
    """The edited properties of a dataset."""

    name: str | None = None
    description: str | None = None
    last_modified: AuditStamp | None = None


class ContainerProperties(Camel, frozen=True):
    """The ingested properties of a container."""

    name: str | None = None
    description: str | None = None


class EditableContainerProperties(Camel, frozen=True):
    """The edited properties of a container."""

    description: str | None = None


class Upstream(Camel, frozen=True):
    """One upstream dataset."""

    dataset: str = ""
    type: str = "TRANSFORMED"
    audit_stamp: AuditStamp | None = None


class UpstreamLineage(Camel, frozen=True):
    """The upstream datasets of a dataset."""

    upstreams: tuple[Upstream, ...] = ()


Summary = Literal["min", "max", "mean", "median", "stdev"]


class FieldUsage(Camel, frozen=True):
    """How often a column was used."""

    field_path: str = ""
    count: int = 0


class UserUsage(Camel, frozen=True):
    """How often a user, given by URN, queried a dataset."""

    user: str | None = None
    count: int = 0
    user_email: str | None = None


class Granularity(Camel, frozen=True):
    """The length of a window of usage."""

    unit: str | None = None
    multiple: int | None = None


class UsageWindow(Camel, frozen=True):
    """The window of time that starts at `timestamp_millis`."""

    timestamp_millis: int = 0
    event_granularity: Granularity | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The start and the length of the window, in milliseconds."""
        granularity = self.event_granularity or Granularity()
        return self.timestamp_millis, window_millis(granularity.unit, granularity.multiple)


class DatasetUsageStatistics(UsageWindow, frozen=True):
    """The usage of a dataset in a window of time."""

    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    field_counts: tuple[FieldUsage, ...] = ()
    user_counts: tuple[UserUsage, ...] = ()
    top_sql_queries: tuple[str, ...] = ()

    @property
    def at(self) -> datetime | None:
        """The start of the window, as an aware UTC datetime."""
        return moment_of(self.timestamp_millis)


class ValueFrequency(Camel, frozen=True):
    """How often a value occurs in a column."""

    value: str = ""
    frequency: int = 0


class FieldProfile(Camel, frozen=True):
    """The profile of one column: counts, shares and summaries of its values."""

    field_path: str = ""
    unique_count: int | None = None
    unique_proportion: float | None = None
    null_count: int | None = None
    null_proportion: float | None = None
    min: str | None = None
    max: str | None = None
    mean: str | None = None
    median: str | None = None
    stdev: str | None = None
    sample_values: tuple[str, ...] | None = None
    distinct_value_frequencies: tuple[ValueFrequency, ...] | None = None

    def number(self, summary: Summary) -> float | None:
        """Return a summary as a number, or `None` if it is not a finite number, such as `N/A` or a
        date."""
        return read_measurement(getattr(self, summary))


class PartitionSpec(Camel, frozen=True):
    """The part of a table that was profiled."""

    type: str | None = None
    partition: str | None = None


class DatasetProfile(Camel, frozen=True):
    """The profile of a dataset, or of a part of it, measured at `timestamp_millis`."""

    timestamp_millis: int = 0
    row_count: int | None = None
    column_count: int | None = None
    size_in_bytes: int | None = None
    field_profiles: tuple[FieldProfile, ...] | None = None
    partition_spec: PartitionSpec | None = None

    @property
    def scope(self) -> Scope:
        """The scope of the profile: how much of the dataset it covers."""
        spec = self.partition_spec or PartitionSpec()
        return scope_of(spec.type, spec.partition)

    @property
    def part(self) -> str:
        """The partition or sample that was measured, empty for the whole dataset."""
        spec = self.partition_spec
        return spec.partition or "" if spec is not None and self.scope != "table" else ""

    @property
    def at(self) -> datetime | None:
        """The time of the profile, as an aware UTC datetime."""
        return moment_of(self.timestamp_millis)


class Operation(Camel, frozen=True):
    """An operation on a dataset's rows, reported at `timestamp_millis` and done at
    `last_updated_timestamp`, also in milliseconds."""

    timestamp_millis: int = 0
    operation_type: str = ""
    custom_operation_type: str | None = None
    actor: str | None = None
    num_affected_rows: int | None = None
    affected_datasets: tuple[str, ...] | None = None
    last_updated_timestamp: int = 0

    @property
    def at(self) -> datetime | None:
        """The time of the report, as an aware UTC datetime."""
        return moment_of(self.timestamp_millis)


def read_measurement(text: str | None) -> float | None:
    """Return a number that profiling wrote as text, or `None` for `N/A`, a date, or a number that
    is not finite."""
    # Python parses 1_000 as a number, but no database writes numbers like that.
    if text is None or "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


class CorpUserKey(Camel, frozen=True):
    """The key of a user."""

    username: str = ""


class CorpGroupKey(Camel, frozen=True):
    """The key of a group."""

    name: str = ""


class CorpUserInfo(Camel, frozen=True):
    """A person."""

    active: bool = True
    display_name: str | None = None
    full_name: str | None = None
    email: str | None = None
    title: str | None = None


class CorpUserEditableInfo(Camel, frozen=True):
    """The information that a user has entered about themselves."""

    display_name: str | None = None
    about_me: str | None = None
    title: str | None = None


class CorpGroupInfo(Camel, frozen=True):
    """A group of people."""

    display_name: str | None = None
    description: str | None = None
    email: str | None = None
    admins: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ChartKey(Camel, frozen=True):
    """The key of a chart."""

    chart_id: str = ""
    dashboard_tool: str = ""


class DashboardKey(Camel, frozen=True):
    """The key of a dashboard."""

    dashboard_id: str = ""
    dashboard_tool: str = ""


class ChartInfo(Camel, frozen=True):
    """A chart; `inputs` are `{"string": dataset URN}`."""

    title: str = ""
    description: str = ""
    inputs: tuple[dict[str, str], ...] | None = None
    last_modified: ChangeStamps = ChangeStamps()
    chart_url: str | None = None

    @property
    def input_urns(self) -> tuple[str, ...]:
        """The URNs of the datasets from which the chart is made, unparsed."""
        return tuple(urn for member in self.inputs or () for urn in member.values())


class DashboardInfo(Camel, frozen=True):
    """A dashboard and the charts on it."""

    title: str = ""
    description: str = ""
    charts: tuple[str, ...] = ()
    last_modified: ChangeStamps = ChangeStamps()
    dashboard_url: str | None = None


class TagProperties(Camel, frozen=True):
    """A tag."""

    name: str = ""
    description: str | None = None


class GlossaryTermInfo(Camel, frozen=True):
    """A glossary term."""

    definition: str = ""
    name: str | None = None
    term_source: str = ""
    source_ref: str | None = None
    source_url: str | None = None
    custom_properties: dict[str, str] = msgspec.field(default_factory=dict)


RECORDS: Mapping[str, type[msgspec.Struct]] = {
    "browsePaths": BrowsePaths,
    "chartInfo": ChartInfo,
    "chartKey": ChartKey,
    "containerProperties": ContainerProperties,
    "corpGroupInfo": CorpGroupInfo,
    "corpGroupKey": CorpGroupKey,
    "corpUserEditableInfo": CorpUserEditableInfo,
    "corpUserInfo": CorpUserInfo,
    "corpUserKey": CorpUserKey,
    "dashboardInfo": DashboardInfo,
    "dashboardKey": DashboardKey,
    "dataPlatformInstance": DataPlatformInstance,
    "datasetKey": DatasetKey,
    "datasetProfile": DatasetProfile,
    "datasetProperties": DatasetProperties,
    "datasetUsageStatistics": DatasetUsageStatistics,
    "deprecation": DeprecationRecord,
    "editableContainerProperties": EditableContainerProperties,
    "editableDatasetProperties": EditableDatasetProperties,
    "editableSchemaMetadata": EditableSchemaMetadata,
    "globalTags": GlobalTags,
    "glossaryTermInfo": GlossaryTermInfo,
    "glossaryTerms": GlossaryTerms,
    "institutionalMemory": InstitutionalMemory,
    "operation": Operation,
    "ownership": Ownership,
    "schemaMetadata": SchemaMetadata,
    "status": Status,
    "subTypes": SubTypes,
    "tagProperties": TagProperties,
    "upstreamLineage": UpstreamLineage,
}
"""The typed record of each aspect that has one, by aspect name."""

_NAMES = {record: name for name, record in RECORDS.items()}

_T = TypeVar("_T", bound=msgspec.Struct)


def aspect_of(record: type[msgspec.Struct]) -> str:
    """Return the name of the aspect that a record class types. Raises `InvalidInput` for a record
    that is only part of an aspect."""
    try:
        return _NAMES[record]
    except KeyError:
        raise InvalidInput(
            f"{record.__name__} is not the record of an aspect; use one of the records in "
            "explorer.metadata.aspects.RECORDS"
        ) from None


def read_aspect(value: Any, record: type[_T]) -> _T:
    """Convert a raw value to its typed record; nulls count as absent.

    Raises `ServerFault`, which names the place in the value, if the value does not fit the record.
    """
    try:
        return msgspec.convert(value, record, strict=False)
    except (msgspec.ValidationError, RecursionError):
        # Nulls are rare, and removing them costs more than the conversion itself.
        pass
    try:
        return msgspec.convert(without_nulls(value), record, strict=False)
    except msgspec.ValidationError as error:
        raise ServerFault(f"the server's {record.__name__} cannot be read: {error}") from error
    except RecursionError:
        raise ServerFault(f"the server's {record.__name__} is nested too deeply") from None


def schema_value(name: str, platform: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the value of `schemaMetadata` with these columns; `platform` is the platform's URN."""
    return {
        "schemaName": name,
        "platform": platform,
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    }


def without_nulls(value: Any) -> Any:
    """Return a copy of a JSON value without the fields that are null; tuples become lists."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(part) for part in value]
    return value


_Value = Mapping[str, Any]

_KINDS = (
    "freshnessAssertion",
    "volumeAssertion",
    "sqlAssertion",
    "fieldAssertion",
    "schemaAssertion",
    "customAssertion",
)
_STATUSES = {"SUCCESS": "PASSING", "FAILURE": "FAILING", "ERROR": "ERROR", "INIT": "INIT"}
_MOMENTS = {
    "SUCCESS": "lastPassedAtMillis",
    "FAILURE": "lastFailedAtMillis",
    "ERROR": "lastErroredAtMillis",
    "INIT": "lastInitializedAtMillis",
}


def asserted_entity(info: _Value) -> str | None:
    """Return the URN of the entity that an `assertionInfo` is about, or `None` if it names none.

    Connectors write the URN in the part for the kind of assertion and may leave out `entityUrn`.
    """
    candidates = (
        info.get("entityUrn"),
        _part(info, "datasetAssertion").get("dataset"),
        *(_part(info, kind).get("entity") for kind in _KINDS),
    )
    return next((urn for urn in candidates if isinstance(urn, str) and urn), None)


def asserted_columns(info: _Value) -> list[str]:
    """Return the paths of the columns that an `assertionInfo` is about; empty for a whole table."""
    field = _part(info, "fieldAssertion")
    paths = [
        field.get("fieldPath"),
        *(
            _part(_part(field, kind), "field").get("path")
            for kind in ("fieldValuesAssertion", "fieldMetricAssertion")
        ),
    ]
    urns: list[Any] = []
    for kind in ("datasetAssertion", "customAssertion"):
        part = _part(info, kind)
        listed = part.get("fields")
        urns += [part.get("field"), *(listed if isinstance(listed, list) else ())]
    paths += [urn.name for urn in Urn.parse_all(urns) if urn.entity_type == "schemaField"]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


def _part(value: _Value, name: str) -> _Value:
    part = value.get(name)
    return part if isinstance(part, Mapping) else {}


def run_summary(event: _Value) -> dict[str, Any]:
    """Return the fields of `assertionRunSummary` that a run sets: the new status and its time.
    Empty if the type of the result is unknown."""
    result = (event.get("result") or {}).get("type")
    if result not in _STATUSES:
        return {}
    return {"assertionStatus": _STATUSES[result], _MOMENTS[result]: event.get("timestampMillis")}
