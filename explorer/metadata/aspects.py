"""Typed records of the aspects people look at most; any other aspect stays plain JSON.

Every field is optional or has a default, because a value may come from an older or newer model;
fields that a record does not name are left out here and kept in the raw value.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from explorer.errors import ServerFault

__all__ = [
    "RECORDS",
    "AuditStamp",
    "BrowsePaths",
    "ChartInfo",
    "ChartKey",
    "ContainerProperties",
    "CorpGroupInfo",
    "CorpGroupKey",
    "CorpUserEditableInfo",
    "CorpUserInfo",
    "CorpUserKey",
    "DashboardInfo",
    "DashboardKey",
    "DataPlatformInstance",
    "DatasetKey",
    "DatasetProfile",
    "DatasetProperties",
    "DatasetUsageStatistics",
    "Deprecation",
    "EditableContainerProperties",
    "EditableDatasetProperties",
    "EditableSchemaField",
    "EditableSchemaMetadata",
    "FieldProfile",
    "FieldUsage",
    "GlobalTags",
    "GlossaryTermInfo",
    "GlossaryTerms",
    "InstitutionalMemory",
    "Link",
    "Owner",
    "Ownership",
    "SchemaField",
    "SchemaMetadata",
    "Status",
    "SubTypes",
    "TagProperties",
    "Upstream",
    "UpstreamLineage",
    "ValueFrequency",
    "read_aspect",
]


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    """Base: snake case here, camel case on the wire."""


class AuditStamp(_Camel, frozen=True):
    """Who and when: `time` in milliseconds since 1970 UTC, `actor` a user URN."""

    time: int = 0
    actor: str = "urn:li:corpuser:unknown"


class ChangeStamps(_Camel, frozen=True):
    """When a thing was made and last changed."""

    created: AuditStamp = AuditStamp()
    last_modified: AuditStamp = AuditStamp()


class DatasetKey(_Camel, frozen=True):
    """What a dataset's URN says: `platform` is a URN."""

    name: str = ""
    platform: str = ""
    origin: str = ""


class CorpUserKey(_Camel, frozen=True):
    """What a user's URN says."""

    username: str = ""


class CorpGroupKey(_Camel, frozen=True):
    """What a group's URN says."""

    name: str = ""


class ChartKey(_Camel, frozen=True):
    """What a chart's URN says."""

    chart_id: str = ""
    dashboard_tool: str = ""


class DashboardKey(_Camel, frozen=True):
    """What a dashboard's URN says."""

    dashboard_id: str = ""
    dashboard_tool: str = ""


class DataPlatformInstance(_Camel, frozen=True):
    """The platform an entity lives on, as a URN, and which instance of it."""

    platform: str = ""
    instance: str | None = None


class BrowsePaths(_Camel, frozen=True):
    """The folders an entity is filed under, `/prod/hive/sales`."""

    paths: tuple[str, ...] = ()


class DatasetProperties(_Camel, frozen=True):
    """What ingestion says of a dataset."""

    name: str | None = None
    qualified_name: str | None = None
    description: str | None = None
    external_url: str | None = None
    custom_properties: dict[str, str] = {}


class EditableContainerProperties(_Camel, frozen=True):
    """What people wrote of a container."""

    description: str | None = None


class EditableDatasetProperties(_Camel, frozen=True):
    """What people wrote of a dataset."""

    name: str | None = None
    description: str | None = None
    last_modified: AuditStamp | None = None


class ContainerProperties(_Camel, frozen=True):
    """What ingestion says of a container."""

    name: str | None = None
    description: str | None = None


class Owner(_Camel, frozen=True):
    """An owner: a user or group URN, and in which role."""

    owner: str = ""
    type: str = "NONE"


class Ownership(_Camel, frozen=True):
    """Who answers for an entity."""

    owners: tuple[Owner, ...] = ()
    last_modified: AuditStamp | None = None


class Link(_Camel, frozen=True):
    """A documentation link."""

    url: str = ""
    description: str = ""
    create_stamp: AuditStamp = AuditStamp()


class InstitutionalMemory(_Camel, frozen=True):
    """The documentation links of an entity."""

    elements: tuple[Link, ...] = ()


class TagAssociation(_Camel, frozen=True):
    """One tag on an entity or column."""

    tag: str = ""


class GlobalTags(_Camel, frozen=True):
    """The tags on an entity or column."""

    tags: tuple[TagAssociation, ...] = ()


class TermAssociation(_Camel, frozen=True):
    """One glossary term on an entity or column."""

    urn: str = ""


class GlossaryTerms(_Camel, frozen=True):
    """The glossary terms on an entity or column."""

    terms: tuple[TermAssociation, ...] = ()


class SchemaField(_Camel, frozen=True):
    """A column as ingested. `type` is `{"type": {"<record name>": {…}}}`."""

    field_path: str = ""
    description: str | None = None
    native_data_type: str = ""
    nullable: bool = False
    is_part_of_key: bool = False
    recursive: bool = False
    type: dict[str, Any] = {}
    label: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()

    @property
    def type_name(self) -> str:
        """The kind of the column in lower case, `string`, `record`; empty when it is not said."""
        inner = self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            return str(name).rpartition(".")[2].removesuffix("Type").lower()
        return ""


class SchemaMetadata(_Camel, frozen=True):
    """The schema of a dataset as ingested, its columns in order."""

    schema_name: str = ""
    platform: str = ""
    version: int = 0
    hash: str = ""
    fields: tuple[SchemaField, ...] = ()
    platform_schema: dict[str, Any] = {}
    primary_keys: tuple[str, ...] | None = None


class EditableSchemaField(_Camel, frozen=True):
    """What people wrote of one column."""

    field_path: str = ""
    description: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()


class EditableSchemaMetadata(_Camel, frozen=True):
    """What people wrote of a dataset's columns."""

    editable_schema_field_info: tuple[EditableSchemaField, ...] = ()
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None


class Upstream(_Camel, frozen=True):
    """One dataset that another is made from."""

    dataset: str = ""
    type: str = "TRANSFORMED"
    audit_stamp: AuditStamp | None = None


class UpstreamLineage(_Camel, frozen=True):
    """What a dataset is made from."""

    upstreams: tuple[Upstream, ...] = ()


class Status(_Camel, frozen=True):
    """Whether an entity is soft-deleted."""

    removed: bool = False


class Deprecation(_Camel, frozen=True):
    """Whether an entity should no longer be used, and why."""

    deprecated: bool = False
    note: str = ""


class SubTypes(_Camel, frozen=True):
    """What the platform calls the entity: `Table`, `View`, `Topic`."""

    type_names: tuple[str, ...] = ()


class FieldUsage(_Camel, frozen=True):
    """How often a column was used."""

    field_path: str = ""
    count: int = 0


class DatasetUsageStatistics(_Camel, frozen=True):
    """Use of a dataset in the window that starts at `timestamp_millis`."""

    timestamp_millis: int = 0
    unique_user_count: int | None = None
    total_sql_queries: int | None = None
    field_counts: tuple[FieldUsage, ...] = ()


class ValueFrequency(_Camel, frozen=True):
    """How often a value occurs in a column."""

    value: str = ""
    frequency: int = 0


class FieldProfile(_Camel, frozen=True):
    """What profiling measured of one column."""

    field_path: str = ""
    unique_count: int | None = None
    unique_proportion: float | None = None
    null_count: int | None = None
    null_proportion: float | None = None
    min: str | None = None
    max: str | None = None
    mean: str | None = None
    median: str | None = None
    sample_values: tuple[str, ...] | None = None
    distinct_value_frequencies: tuple[ValueFrequency, ...] | None = None


class DatasetProfile(_Camel, frozen=True):
    """What profiling measured of a dataset at `timestamp_millis`."""

    timestamp_millis: int = 0
    row_count: int | None = None
    column_count: int | None = None
    field_profiles: tuple[FieldProfile, ...] | None = None


class CorpUserInfo(_Camel, frozen=True):
    """A person."""

    active: bool = True
    display_name: str | None = None
    full_name: str | None = None
    email: str | None = None
    title: str | None = None


class CorpUserEditableInfo(_Camel, frozen=True):
    """What a person wrote of themselves."""

    display_name: str | None = None
    about_me: str | None = None
    title: str | None = None


class CorpGroupInfo(_Camel, frozen=True):
    """A group of people."""

    display_name: str | None = None
    description: str | None = None
    email: str | None = None
    admins: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ChartInfo(_Camel, frozen=True):
    """A chart; `inputs` are `{"string": dataset URN}`."""

    title: str = ""
    description: str = ""
    inputs: tuple[dict[str, str], ...] | None = None
    last_modified: ChangeStamps = ChangeStamps()
    chart_url: str | None = None


class DashboardInfo(_Camel, frozen=True):
    """A dashboard and the charts on it."""

    title: str = ""
    description: str = ""
    charts: tuple[str, ...] = ()
    last_modified: ChangeStamps = ChangeStamps()
    dashboard_url: str | None = None


class TagProperties(_Camel, frozen=True):
    """A tag."""

    name: str = ""
    description: str | None = None


class GlossaryTermInfo(_Camel, frozen=True):
    """A glossary term."""

    definition: str = ""
    name: str | None = None
    term_source: str = ""
    source_ref: str | None = None
    source_url: str | None = None
    custom_properties: dict[str, str] = {}


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
    "deprecation": Deprecation,
    "editableContainerProperties": EditableContainerProperties,
    "editableDatasetProperties": EditableDatasetProperties,
    "editableSchemaMetadata": EditableSchemaMetadata,
    "globalTags": GlobalTags,
    "glossaryTermInfo": GlossaryTermInfo,
    "glossaryTerms": GlossaryTerms,
    "institutionalMemory": InstitutionalMemory,
    "ownership": Ownership,
    "schemaMetadata": SchemaMetadata,
    "status": Status,
    "subTypes": SubTypes,
    "tagProperties": TagProperties,
    "upstreamLineage": UpstreamLineage,
}
"""The typed record of each aspect that has one, by aspect name."""

_T = TypeVar("_T", bound=msgspec.Struct)


def read_aspect(value: Any, record: type[_T]) -> _T:
    """A raw value as its typed record; nulls count as absent.

    Raises `ServerFault` naming the place when the value does not have the record's shape.
    """
    try:
        return msgspec.convert(_without_nulls(value), record, strict=False)
    except msgspec.ValidationError as error:
        raise ServerFault(f"the server's {record.__name__} cannot be read: {error}") from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value
