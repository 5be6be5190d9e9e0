"""One entity as it was read: its aspects, and what they say in the words people use."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from explorer.client.schema import Schema, read_schema
from explorer.errors import ServerFault
from explorer.metadata import aspects as typed
from explorer.metadata.aspects import read_aspect
from explorer.metadata.naming import NAME_ASPECTS, display_name
from explorer.metadata.urn import Urn

__all__ = ["SUMMARY_ASPECTS", "AspectRead", "Entity"]

_INGESTED_TEXTS = (
    ("datasetProperties", "description"),
    ("containerProperties", "description"),
    ("chartInfo", "description"),
    ("dashboardInfo", "description"),
    ("dataFlowInfo", "description"),
    ("dataJobInfo", "description"),
    ("tagProperties", "description"),
    ("glossaryTermInfo", "definition"),
    ("glossaryNodeInfo", "definition"),
    ("domainProperties", "description"),
    ("dataProductProperties", "description"),
    ("corpGroupInfo", "description"),
    ("corpUserInfo", "title"),
    ("mlModelProperties", "description"),
    ("mlFeatureProperties", "description"),
    ("mlFeatureTableProperties", "description"),
    ("mlPrimaryKeyProperties", "description"),
    ("assertionInfo", "description"),
    ("incidentInfo", "description"),
)
_EDITED_TEXTS = tuple(
    (f"editable{kind}Properties", "description")
    for kind in ("Dataset", "Container", "Chart", "Dashboard", "DataFlow", "DataJob")
)

SUMMARY_ASPECTS = tuple(
    dict.fromkeys(
        [
            *NAME_ASPECTS,
            *(aspect for aspect, _ in (*_INGESTED_TEXTS, *_EDITED_TEXTS)),
            *("status", "subTypes", "ownership", "globalTags", "deprecation"),
        ]
    )
)
"""The aspects that a line in a list is made from."""

_T = TypeVar("_T", bound=msgspec.Struct)


class AspectRead(msgspec.Struct, frozen=True):
    """One aspect: its version (0 is the latest) and its value as JSON.

    `stamp` is the audit stamp as it came, or a typed one; `system` the system metadata, where the
    server gives any. `as_of` is set for what was kept from an earlier reading.
    """

    name: str
    version: int
    value: dict[str, Any]
    stamp: Any = None
    system: Any = None
    as_of: datetime | None = None

    @property
    def created(self) -> typed.AuditStamp | None:
        """Who wrote it and when; nothing where that is not said or cannot be read. Some servers
        say it of older versions in their system metadata alone."""
        stamp = self.stamp
        if stamp is None and isinstance(self.system, dict):
            stamp = self.system.get("aspectModified") or self.system.get("aspectCreated")
        if isinstance(stamp, typed.AuditStamp):
            return stamp
        try:
            return read_aspect(stamp, typed.AuditStamp) if isinstance(stamp, dict) else None
        except ServerFault:
            return None

    @property
    def run_id(self) -> str | None:
        """The run of ingestion that brought it; nothing where that is not said."""
        run = self.system.get("runId") if isinstance(self.system, dict) else None
        return run if isinstance(run, str) else None


@dataclass(frozen=True)
class Entity:
    """An entity read at once. What it holds is raw text: clean it before it is shown.

    Aspects outside those read are absent, and what is made from them is empty. What an aspect of
    another shape would say raises `ServerFault`. `as_of` is set for what was kept from an earlier
    reading.
    """

    urn: Urn
    aspects: Mapping[str, AspectRead]
    as_of: datetime | None = None

    def raw(self, name: str) -> dict[str, Any] | None:
        """The value of an aspect as it came.

        Example: `orders.raw("ownership")`
        """
        aspect = self.aspects.get(name)
        return aspect.value if aspect else None

    def aspect(self, name: str, record: type[_T]) -> _T | None:
        """The value of an aspect as a typed record; nothing where the entity lacks it.

        Raises `ServerFault` when the value has another shape.

        Example: `orders.aspect("ownership", Ownership)`
        """
        value = self.raw(name)
        return read_aspect(value, record) if value is not None else None

    @property
    def entity_type(self) -> str:
        """`dataset`, `chart`, …"""
        return self.urn.entity_type

    @property
    def exists(self) -> bool:
        """Whether it was ever written. A server gives the key of any URN it is asked for; only one
        that is stored says when it was written."""
        return any(
            (aspect.created is not None and aspect.created.time > 0) or not name.endswith("Key")
            for name, aspect in self.aspects.items()
        )

    @cached_property
    def name(self) -> str:
        """What people call it."""
        values = {name: aspect.value for name, aspect in self.aspects.items()}
        return display_name(self.urn, values)

    @property
    def ingested_description(self) -> str:
        """What ingestion says of it."""
        return self._first_text(_INGESTED_TEXTS)

    @property
    def edited_description(self) -> str:
        """What people wrote of it."""
        return self._first_text(_EDITED_TEXTS)

    @property
    def description(self) -> str:
        """The text that counts: what people wrote where they wrote any, else what came in."""
        return self.edited_description or self.ingested_description

    @property
    def kind(self) -> str:
        """What the platform calls it (`View`), else its entity type."""
        types = self.aspect("subTypes", typed.SubTypes)
        return types.type_names[0] if types and types.type_names else self.entity_type

    @property
    def platform(self) -> str | None:
        """The bare name of its platform or tool."""
        held = self.raw("dataPlatformInstance")
        if held and isinstance(held.get("platform"), str):
            return str(held["platform"]).rpartition(":")[2]
        return self.urn.platform

    @property
    def removed(self) -> bool:
        """Whether it is soft-deleted."""
        status = self.aspect("status", typed.Status)
        return bool(status and status.removed)

    @property
    def deprecation(self) -> str | None:
        """Why it should no longer be used; nothing where it may be."""
        held = self.aspect("deprecation", typed.Deprecation)
        return (held.note or "deprecated") if held and held.deprecated else None

    @property
    def owners(self) -> tuple[typed.Owner, ...]:
        """Who answers for it, as written."""
        held = self.aspect("ownership", typed.Ownership)
        return held.owners if held else ()

    @property
    def tags(self) -> tuple[Urn, ...]:
        """Its tags."""
        held = self.aspect("globalTags", typed.GlobalTags)
        return Urn.parse_all(tag.tag for tag in held.tags) if held else ()

    @property
    def terms(self) -> tuple[Urn, ...]:
        """Its glossary terms."""
        held = self.aspect("glossaryTerms", typed.GlossaryTerms)
        return Urn.parse_all(term.urn for term in held.terms) if held else ()

    @property
    def domains(self) -> tuple[Urn, ...]:
        """The domains it belongs to."""
        return Urn.parse_all(self._listed("domains", "domains"))

    @property
    def links(self) -> tuple[typed.Link, ...]:
        """Its documentation links."""
        held = self.aspect("institutionalMemory", typed.InstitutionalMemory)
        return held.elements if held else ()

    @property
    def browse_paths(self) -> tuple[str, ...]:
        """The folders it is filed under, where it says so itself."""
        paths = self._listed("browsePaths", "paths")
        return tuple(path for path in paths if isinstance(path, str))

    @property
    def inputs(self) -> tuple[Urn, ...]:
        """The datasets that a chart is made from."""
        held = self.aspect("chartInfo", typed.ChartInfo)
        return Urn.parse_all(held.input_urns) if held else ()

    @cached_property
    def schema(self) -> Schema:
        """Its columns; empty where it has none."""
        return read_schema(
            self.aspect("schemaMetadata", typed.SchemaMetadata),
            self.aspect("editableSchemaMetadata", typed.EditableSchemaMetadata),
        )

    def _listed(self, name: str, key: str) -> list[Any]:
        found = (self.raw(name) or {}).get(key)
        return found if isinstance(found, list) else []

    def _first_text(self, places: tuple[tuple[str, str], ...]) -> str:
        for name, key in places:
            aspect = self.aspects.get(name)
            text = aspect.value.get(key) if aspect else None
            if isinstance(text, str) and text.strip():
                return text
        return ""
