"""What many kinds of entity carry: stamps, owners, tags, terms, links, standing."""

from datetime import datetime

from explorer.metadata.aspects.moment import moment_of
from explorer.metadata.aspects.record import Camel

__all__ = [
    "AuditStamp",
    "BrowsePaths",
    "ChangeStamps",
    "DataPlatformInstance",
    "Deprecation",
    "GlobalTags",
    "GlossaryTerms",
    "InstitutionalMemory",
    "Link",
    "Owner",
    "Ownership",
    "Status",
    "SubTypes",
    "TagAssociation",
    "TermAssociation",
]


class AuditStamp(Camel, frozen=True):
    """Who and when: `time` in milliseconds since 1970 UTC, `actor` a user URN."""

    time: int = 0
    actor: str = "urn:li:corpuser:unknown"

    @property
    def at(self) -> datetime | None:
        """`time` as an aware UTC moment; nothing outside the years 1 to 9999."""
        return moment_of(self.time)


class ChangeStamps(Camel, frozen=True):
    """When a thing was made and last changed."""

    created: AuditStamp = AuditStamp()
    last_modified: AuditStamp = AuditStamp()


class DataPlatformInstance(Camel, frozen=True):
    """The platform an entity lives on, as a URN, and which instance of it."""

    platform: str = ""
    instance: str | None = None


class BrowsePaths(Camel, frozen=True):
    """The folders an entity is filed under, `/prod/hive/sales`."""

    paths: tuple[str, ...] = ()


class Owner(Camel, frozen=True):
    """An owner: a user or group URN, and in which role."""

    owner: str = ""
    type: str = "NONE"


class Ownership(Camel, frozen=True):
    """Who answers for an entity."""

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


class Deprecation(Camel, frozen=True):
    """Whether an entity should no longer be used, and why."""

    deprecated: bool = False
    note: str = ""


class SubTypes(Camel, frozen=True):
    """What the platform calls the entity: `Table`, `View`, `Topic`."""

    type_names: tuple[str, ...] = ()
