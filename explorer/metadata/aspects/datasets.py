"""Datasets and containers: what they are called, described as and made from."""

import msgspec

from explorer.metadata.aspects.record import Camel
from explorer.metadata.aspects.shared import AuditStamp

__all__ = [
    "ContainerProperties",
    "DatasetKey",
    "DatasetProperties",
    "EditableContainerProperties",
    "EditableDatasetProperties",
    "Upstream",
    "UpstreamLineage",
]


class DatasetKey(Camel, frozen=True):
    """What a dataset's URN says: `platform` is a URN."""

    name: str = ""
    platform: str = ""
    origin: str = ""


class DatasetProperties(Camel, frozen=True):
    """What ingestion says of a dataset."""

    name: str | None = None
    qualified_name: str | None = None
    description: str | None = None
    external_url: str | None = None
    custom_properties: dict[str, str] = msgspec.field(default_factory=dict)


class EditableDatasetProperties(Camel, frozen=True):
    """What people wrote of a dataset."""

    name: str | None = None
    description: str | None = None
    last_modified: AuditStamp | None = None


class ContainerProperties(Camel, frozen=True):
    """What ingestion says of a container."""

    name: str | None = None
    description: str | None = None


class EditableContainerProperties(Camel, frozen=True):
    """What people wrote of a container."""

    description: str | None = None


class Upstream(Camel, frozen=True):
    """One dataset that another is made from."""

    dataset: str = ""
    type: str = "TRANSFORMED"
    audit_stamp: AuditStamp | None = None


class UpstreamLineage(Camel, frozen=True):
    """What a dataset is made from."""

    upstreams: tuple[Upstream, ...] = ()
