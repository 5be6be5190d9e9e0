"""Typed records of the aspects people look at most; any other aspect stays plain JSON.

Every field is optional or has a default, because a value may come from an older or newer model;
fields that a record does not name are left out here and kept in the raw value.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.aspects.columns import (
    EditableSchemaField,
    EditableSchemaMetadata,
    SchemaField,
    SchemaMetadata,
)
from explorer.metadata.aspects.datasets import (
    ContainerProperties,
    DatasetKey,
    DatasetProperties,
    EditableContainerProperties,
    EditableDatasetProperties,
    Upstream,
    UpstreamLineage,
)
from explorer.metadata.aspects.measures import (
    DatasetProfile,
    DatasetUsageStatistics,
    FieldProfile,
    FieldUsage,
    Operation,
    UserUsage,
    ValueFrequency,
)
from explorer.metadata.aspects.moment import moment_of
from explorer.metadata.aspects.people import (
    CorpGroupInfo,
    CorpGroupKey,
    CorpUserEditableInfo,
    CorpUserInfo,
    CorpUserKey,
)
from explorer.metadata.aspects.reports import ChartInfo, ChartKey, DashboardInfo, DashboardKey
from explorer.metadata.aspects.shared import (
    AuditStamp,
    BrowsePaths,
    DataPlatformInstance,
    Deprecation,
    GlobalTags,
    GlossaryTerms,
    InstitutionalMemory,
    Link,
    Owner,
    Ownership,
    Status,
    SubTypes,
)
from explorer.metadata.aspects.vocabulary import GlossaryTermInfo, TagProperties

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
    "Operation",
    "Owner",
    "Ownership",
    "SchemaField",
    "SchemaMetadata",
    "Status",
    "SubTypes",
    "TagProperties",
    "Upstream",
    "UpstreamLineage",
    "UserUsage",
    "ValueFrequency",
    "aspect_of",
    "moment_of",
    "read_aspect",
]

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
    """The name of the aspect that a typed record is of; raises `InvalidInput` for a record that
    is only part of one."""
    try:
        return _NAMES[record]
    except KeyError:
        raise InvalidInput(
            f"{record.__name__} is the record of no aspect; take one of explorer.metadata.aspects "
            "that RECORDS lists"
        ) from None


def read_aspect(value: Any, record: type[_T]) -> _T:
    """A raw value as its typed record; nulls count as absent.

    Raises `ServerFault` naming the place when the value does not have the record's shape.
    """
    try:
        return msgspec.convert(value, record, strict=False)
    except (msgspec.ValidationError, RecursionError):
        # Nulls are rare, and taking them out costs more than reading what is left.
        pass
    try:
        return msgspec.convert(_without_nulls(value), record, strict=False)
    except msgspec.ValidationError as error:
        raise ServerFault(f"the server's {record.__name__} cannot be read: {error}") from error
    except RecursionError:
        raise ServerFault(f"the server's {record.__name__} is nested too deeply") from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value
