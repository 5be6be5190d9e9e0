"""An entity as read from the server: its aspects, its name and descriptions, and its columns."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from explorer.errors import ServerFault
from explorer.metadata import aspects as typed
from explorer.metadata.aspects import (
    EditableSchemaField,
    EditableSchemaMetadata,
    SchemaField,
    read_aspect,
)
from explorer.metadata.aspects import SchemaMetadata as SchemaAspect
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import NAME_ASPECTS, display_name
from explorer.metadata.urn import Urn

__all__ = ["SUMMARY_ASPECTS", "AspectRead", "Column", "Entity", "Schema"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `depth` is the number of its ancestors, `parent` the field path of the nearest.

    `ingested` and `edited` are its descriptions by ingestion and by people; `children` is the
    number of columns directly below it.
    """

    path: FieldPath
    name: str
    type: str
    native_type: str
    nullable: bool
    is_key: bool
    recursive: bool
    ingested: str | None
    edited: str | None
    tags: tuple[Urn, ...]
    terms: tuple[Urn, ...]
    parent: FieldPath | None
    depth: int
    children: int

    @property
    def description(self) -> str:
        """The edited description, or the ingested one if there is none."""
        texts = ((text or "").strip() for text in (self.edited, self.ingested))
        return next(filter(None, texts), "")

    @property
    def documented(self) -> bool:
        """Whether the column has a description, edited or ingested."""
        return bool(self.description)


@dataclass(frozen=True)
class Schema:
    """The columns of a dataset, each parent before its children, siblings in ingested order.

    `orphans` are descriptions of columns that the schema no longer has.
    """

    name: str
    columns: tuple[Column, ...]
    orphans: tuple[EditableSchemaField, ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @cached_property
    def _by_path(self) -> dict[str, Column]:
        return {column.path.raw: column for column in self.columns}

    def column(self, path: str) -> Column | None:
        """Return the column with exactly this field path, or `None`."""
        return self._by_path.get(path)

    @property
    def documented(self) -> int:
        """The number of columns with a description."""
        return sum(column.documented for column in self.columns)


def read_schema(ingested: SchemaAspect | None, edited: EditableSchemaMetadata | None) -> Schema:
    """Combine the ingested and the edited schema aspect; columns are matched by exact field
    path."""
    fields = ingested.fields if ingested else ()
    keys = frozenset(ingested.primary_keys or ()) if ingested else frozenset()
    entries = edited.editable_schema_field_info if edited else ()
    written = {entry.field_path: entry for entry in entries}
    known = {field.field_path for field in fields}
    parents = {field.field_path: _parent(field.field_path, known) for field in fields}
    children: dict[str | None, list[SchemaField]] = {}
    for field in fields:
        children.setdefault(parents[field.field_path], []).append(field)
    counts = {path: len(below) for path, below in children.items()}
    columns = tuple(
        _column(
            field,
            written.get(field.field_path),
            parents[field.field_path],
            depth,
            counts.get(field.field_path, 0),
            is_key=field.field_path in keys,
        )
        for field, depth in _in_tree_order(children)
    )
    orphans = tuple(entry for path, entry in written.items() if path not in known)
    return Schema(ingested.schema_name if ingested else "", columns, orphans)


def _parent(path: str, known: set[str]) -> str | None:
    return next((above for above in FieldPath(path).ancestors() if above in known), None)


def _in_tree_order(
    children: dict[str | None, list[SchemaField]],
) -> Iterator[tuple[SchemaField, int]]:
    waiting = [(field, 0) for field in reversed(children.get(None, ()))]
    while waiting:
        field, depth = waiting.pop()
        yield field, depth
        # Popped, so that the children of a path listed twice are yielded once.
        below = children.pop(field.field_path, ())
        waiting.extend((child, depth + 1) for child in reversed(below))


def _column(
    field: SchemaField,
    written: EditableSchemaField | None,
    parent: str | None,
    depth: int,
    children: int,
    *,
    is_key: bool,
) -> Column:
    path = FieldPath(field.field_path)
    return Column(
        path=path,
        name=_name_below(path, parent),
        type=field.type_name,
        native_type=field.native_data_type,
        nullable=field.nullable,
        is_key=is_key or field.is_part_of_key or path.is_key,
        recursive=field.recursive,
        ingested=field.description,
        edited=written.description if written else None,
        tags=_both(field, written, lambda part: [tag.tag for tag in part.global_tags.tags]),
        terms=_both(field, written, lambda part: [term.urn for term in part.glossary_terms.terms]),
        parent=FieldPath(parent) if parent else None,
        depth=depth,
        children=children,
    )


def _name_below(path: FieldPath, parent: str | None) -> str:
    """Return the part of the field path below its parent.

    Usually one name; more if the records in between are not columns themselves.
    """
    above = len(FieldPath(parent).names) if parent else 0
    return ".".join(path.names[above:]) or path.name


def _both(
    field: SchemaField,
    written: EditableSchemaField | None,
    names: Callable[[SchemaField | EditableSchemaField], list[str]],
) -> tuple[Urn, ...]:
    found = [*names(field), *(names(written) if written else ())]
    return Urn.parse_all(dict.fromkeys(found))


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
    ("mlModelGroupProperties", "description"),
    ("notebookInfo", "description"),
    ("applicationProperties", "description"),
    ("businessAttributeInfo", "description"),
    ("metricInfo", "description"),
    ("semanticModelInfo", "description"),
    ("assertionInfo", "description"),
    ("incidentInfo", "description"),
)
_EDITED_TEXTS = tuple(
    (aspect, "description")
    for aspect in (
        "editableDatasetProperties",
        "editableContainerProperties",
        "editableChartProperties",
        "editableDashboardProperties",
        "editableDataFlowProperties",
        "editableDataJobProperties",
        "editableMlModelProperties",
        "editableMlModelGroupProperties",
        "editableMlFeatureProperties",
        "editableMlFeatureTableProperties",
        "editableMlPrimaryKeyProperties",
        "editableNotebookProperties",
        "corpGroupEditableInfo",
    )
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
"""The aspects needed to show an entity as a row in a list."""

_T = TypeVar("_T", bound=msgspec.Struct)


class AspectRead(msgspec.Struct, frozen=True):
    """One version of an aspect (0 is the latest), with its value as JSON.

    `stamp` is the audit stamp, as JSON or typed; `system` the system metadata, if the server sends
    any. `as_of` is set if it comes from the cache.
    """

    name: str
    version: int
    value: dict[str, Any]
    stamp: Any = None
    system: Any = None
    as_of: datetime | None = None

    @property
    def created(self) -> typed.AuditStamp | None:
        """Who wrote the aspect and when, or `None` if the server does not say or it cannot be
        parsed.

        For older versions some servers put it only in the system metadata.
        """
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
        """The id of the ingestion run that wrote the aspect, or `None` if the server does not
        say."""
        run = self.system.get("runId") if isinstance(self.system, dict) else None
        return run if isinstance(run, str) else None


@dataclass(frozen=True)
class Entity:
    """An entity with the aspects that were requested.

    Texts are as stored and must be cleaned before they are shown. Properties whose aspects were not
    requested are empty; those whose aspect has an unexpected shape raise `ServerFault`. `as_of` is
    set if the entity comes from the cache.
    """

    urn: Urn
    aspects: Mapping[str, AspectRead]
    as_of: datetime | None = None

    def raw(self, name: str) -> dict[str, Any] | None:
        """Return the value of an aspect as JSON, or `None` if the entity lacks it.

        Example: `orders.raw("ownership")`
        """
        aspect = self.aspects.get(name)
        return aspect.value if aspect else None

    def aspect(self, name: str, record: type[_T]) -> _T | None:
        """Return the value of an aspect as a typed record, or `None` if the entity lacks it.

        Raises `ServerFault` if the value does not fit the record.

        Example: `orders.aspect("ownership", Ownership)`
        """
        value = self.raw(name)
        return read_aspect(value, record) if value is not None else None

    @property
    def entity_type(self) -> str:
        """The entity type: `dataset`, `chart`, …"""
        return self.urn.entity_type

    @property
    def exists(self) -> bool:
        """Whether the entity was ever written.

        A server returns a key aspect for any URN; only that of a stored entity has a time.
        """
        return any(
            (aspect.created is not None and aspect.created.time > 0) or not name.endswith("Key")
            for name, aspect in self.aspects.items()
        )

    @cached_property
    def name(self) -> str:
        """The display name."""
        values = {name: aspect.value for name, aspect in self.aspects.items()}
        return display_name(self.urn, values)

    @property
    def ingested_description(self) -> str:
        """The description written by ingestion."""
        return self._first_text(_INGESTED_TEXTS)

    @property
    def edited_description(self) -> str:
        """The description written by people."""
        return self._first_text(_EDITED_TEXTS)

    @property
    def description(self) -> str:
        """The edited description, or the ingested one if there is none."""
        return self.edited_description or self.ingested_description

    @property
    def kind(self) -> str:
        """The name that the platform uses for this kind of entity (`View`), else the entity
        type."""
        types = self.aspect("subTypes", typed.SubTypes)
        return types.type_names[0] if types and types.type_names else self.entity_type

    @property
    def platform(self) -> str | None:
        """The name of the platform or tool, without a URN prefix."""
        held = self.raw("dataPlatformInstance")
        if held and isinstance(held.get("platform"), str):
            return str(held["platform"]).rpartition(":")[2]
        return self.urn.platform

    @property
    def removed(self) -> bool:
        """Whether the entity is soft-deleted."""
        status = self.aspect("status", typed.Status)
        return bool(status and status.removed)

    @property
    def deprecation(self) -> str | None:
        """The note of the deprecation, or `None` if the entity is not deprecated."""
        held = self.aspect("deprecation", typed.DeprecationRecord)
        return (held.note or "deprecated") if held and held.deprecated else None

    @property
    def owners(self) -> tuple[typed.Owner, ...]:
        """The owners, as stored."""
        held = self.aspect("ownership", typed.Ownership)
        return held.owners if held else ()

    @property
    def tags(self) -> tuple[Urn, ...]:
        """The URNs of the tags."""
        held = self.aspect("globalTags", typed.GlobalTags)
        return Urn.parse_all(tag.tag for tag in held.tags) if held else ()

    @property
    def terms(self) -> tuple[Urn, ...]:
        """The URNs of the glossary terms."""
        held = self.aspect("glossaryTerms", typed.GlossaryTerms)
        return Urn.parse_all(term.urn for term in held.terms) if held else ()

    @property
    def domains(self) -> tuple[Urn, ...]:
        """The URNs of the domains."""
        return Urn.parse_all(self._listed("domains", "domains"))

    @property
    def links(self) -> tuple[typed.Link, ...]:
        """The documentation links."""
        held = self.aspect("institutionalMemory", typed.InstitutionalMemory)
        return held.elements if held else ()

    @property
    def browse_paths(self) -> tuple[str, ...]:
        """The stored browse paths."""
        paths = self._listed("browsePaths", "paths")
        return tuple(path for path in paths if isinstance(path, str))

    @property
    def inputs(self) -> tuple[Urn, ...]:
        """The URNs of the datasets that a chart reads."""
        held = self.aspect("chartInfo", typed.ChartInfo)
        return Urn.parse_all(held.input_urns) if held else ()

    @cached_property
    def schema(self) -> Schema:
        """The columns; empty if the entity has none."""
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
