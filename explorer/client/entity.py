"""Entities: their aspects, names, descriptions and columns, and how they are read from the server:
requests, parsing and methods."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import orjson

from explorer.client.connection import (
    CatalogMethods,
    config_request,
    gather_limited,
    read_abilities,
)
from explorer.client.editable import COLUMNS, at_present_paths, earlier_entries
from explorer.client.records import ServerInfo
from explorer.client.transport import (
    REFUSALS,
    UNIX,
    Json,
    Request,
    as_object,
    graphql_request,
    of_aspects,
)
from explorer.errors import InvalidUrn, NotFound, ServerFault, UnknownName, Unreadable
from explorer.metadata import aspects as typed
from explorer.metadata.aspects import (
    EditableSchemaField,
    EditableSchemaMetadata,
    SchemaField,
    aspect_of,
    read_aspect,
)
from explorer.metadata.aspects import SchemaMetadata as SchemaAspect
from explorer.metadata.browse_paths import PATH_ASPECTS, path_texts
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import NAME_ASPECTS, display_name
from explorer.metadata.registry import Registry
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `depth` is the number of its ancestors, `parent` the field path of the nearest.

    `ingested` and `edited` are its descriptions by ingestion and by people; `children` is the
    number of columns directly below it. `earlier` is the field path under which people wrote the
    edited description or labels, if the type or the case of the column has changed since.
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
    earlier: FieldPath | None = None

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

    `orphans` are the entries that people wrote for columns that the schema no longer has.
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


def read_schema(
    ingested: SchemaAspect | None,
    edited: EditableSchemaMetadata | None,
    earlier: Mapping[str, str] = MappingProxyType({}),
) -> Schema:
    """Return the schema that combines the ingested and the edited aspect, matched by exact field
    path; `earlier` has the former paths of entries that were moved to their column's present
    path."""
    fields = ingested.fields if ingested else ()
    keys = frozenset(ingested.primary_keys or ()) if ingested else frozenset()
    entries = edited.editable_schema_field_info if edited else ()
    entries_by_path = {entry.field_path: entry for entry in entries}
    paths = {field.field_path for field in fields}
    parents = {field.field_path: _parent(field.field_path, paths) for field in fields}
    children: dict[str | None, list[SchemaField]] = {}
    for field in fields:
        children.setdefault(parents[field.field_path], []).append(field)
    counts = {path: len(below) for path, below in children.items()}
    columns = tuple(
        _column(
            field,
            entries_by_path.get(field.field_path),
            earlier.get(field.field_path),
            parents[field.field_path],
            depth,
            counts.get(field.field_path, 0),
            is_key=field.field_path in keys,
        )
        for field, depth in _in_tree_order(children)
    )
    orphans = tuple(
        entry
        for path, entry in entries_by_path.items()
        if path not in paths and _holds_something(entry)
    )
    return Schema(ingested.schema_name if ingested else "", columns, orphans)


def _holds_something(entry: EditableSchemaField) -> bool:
    text = (entry.description or "").strip()
    return bool(text or entry.global_tags.tags or entry.glossary_terms.terms)


def _parent(path: str, paths: set[str]) -> str | None:
    return next((above for above in FieldPath(path).ancestors() if above in paths), None)


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
    entry: EditableSchemaField | None,
    earlier: str | None,
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
        edited=entry.description if entry else None,
        tags=_join_urns(field, entry, lambda part: [tag.tag for tag in part.global_tags.tags]),
        terms=_join_urns(
            field, entry, lambda part: [term.urn for term in part.glossary_terms.terms]
        ),
        parent=FieldPath(parent) if parent else None,
        depth=depth,
        children=children,
        earlier=FieldPath(earlier) if earlier is not None else None,
    )


def _name_below(path: FieldPath, parent: str | None) -> str:
    """Return the part of the field path below its parent.

    Usually one name; more if the records in between are not columns themselves.
    """
    above = len(FieldPath(parent).names) if parent else 0
    return ".".join(path.names[above:]) or path.name


def _join_urns(
    field: SchemaField,
    entry: EditableSchemaField | None,
    names: Callable[[SchemaField | EditableSchemaField], list[str]],
) -> tuple[Urn, ...]:
    urns = [*names(field), *(names(entry) if entry else ())]
    return Urn.parse_all(dict.fromkeys(urns))


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
    def number(self) -> int:
        """The number of the version as the server counts them, from 1; 0 if it does not say."""
        counted = self.system.get("version") if isinstance(self.system, dict) else None
        return int(counted) if isinstance(counted, str) and counted.isdecimal() else 0

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
        """Whether the entity was ever written, as far as the aspects that were read show it.

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
        raw = self.raw("dataPlatformInstance")
        if raw and isinstance(raw.get("platform"), str):
            return str(raw["platform"]).rpartition(":")[2]
        return self.urn.platform

    @property
    def removed(self) -> bool:
        """Whether the entity is soft-deleted."""
        status = self.aspect("status", typed.Status)
        return bool(status and status.removed)

    @property
    def deprecation(self) -> str | None:
        """The note of the deprecation, or `None` if the entity is not deprecated."""
        record = self.aspect("deprecation", typed.DeprecationRecord)
        return (record.note or "deprecated") if record and record.deprecated else None

    @property
    def owners(self) -> tuple[typed.Owner, ...]:
        """The owners, as stored."""
        ownership = self.aspect("ownership", typed.Ownership)
        return ownership.owners if ownership else ()

    @property
    def tags(self) -> tuple[Urn, ...]:
        """The URNs of the tags."""
        tags = self.aspect("globalTags", typed.GlobalTags)
        return Urn.parse_all(tag.tag for tag in tags.tags) if tags else ()

    @property
    def terms(self) -> tuple[Urn, ...]:
        """The URNs of the glossary terms."""
        terms = self.aspect("glossaryTerms", typed.GlossaryTerms)
        return Urn.parse_all(term.urn for term in terms.terms) if terms else ()

    @property
    def domains(self) -> tuple[Urn, ...]:
        """The URNs of the domains."""
        return Urn.parse_all(self._list_of("domains", "domains"))

    @property
    def links(self) -> tuple[typed.Link, ...]:
        """The documentation links."""
        memory = self.aspect("institutionalMemory", typed.InstitutionalMemory)
        return memory.elements if memory else ()

    @property
    def browse_paths(self) -> tuple[str, ...]:
        """The stored browse paths."""
        values = {name: self.raw(name) for name in PATH_ASPECTS}
        return path_texts(self.urn, values)

    @property
    def inputs(self) -> tuple[Urn, ...]:
        """The URNs of the datasets that a chart reads."""
        info = self.aspect("chartInfo", typed.ChartInfo)
        return Urn.parse_all(info.input_urns) if info else ()

    @cached_property
    def schema(self) -> Schema:
        """The columns; empty if the entity has none."""
        ingested = self.aspect("schemaMetadata", typed.SchemaMetadata)
        edited = self.aspect(COLUMNS, typed.EditableSchemaMetadata)
        earlier = earlier_entries(self.raw(COLUMNS) or {}, self._paths)
        if earlier:
            edited = read_aspect(self.column_edits, typed.EditableSchemaMetadata)
        return read_schema(ingested, edited, earlier)

    @cached_property
    def column_edits(self) -> Json:
        """What people wrote about columns, in the form of the aspect `editableSchemaMetadata`;
        entries written before the type or the case of a column changed are at the column's present
        path."""
        return at_present_paths(self.raw(COLUMNS) or {}, self._paths)

    @property
    def _paths(self) -> list[str]:
        fields = self._list_of("schemaMetadata", "fields")
        return [str(field.get("fieldPath", "")) for field in fields if isinstance(field, dict)]

    def _list_of(self, name: str, key: str) -> list[Any]:
        elements = (self.raw(name) or {}).get(key)
        return elements if isinstance(elements, list) else []

    def _first_text(self, places: tuple[tuple[str, str], ...]) -> str:
        for name, key in places:
            aspect = self.aspects.get(name)
            text = aspect.value.get(key) if aspect else None
            if isinstance(text, str) and text.strip():
                return text
        return ""


def entity_request(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Return a request for an entity with the given aspects, or with all if `None`."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{of_aspects('?', aspects)}")


def legacy_entity_request(urn: Urn) -> Request:
    """Return a request for an entity in the legacy snapshot form."""
    return Request("GET", f"/entities/{urn.encoded}")


def entities_request(urns: Sequence[Urn], aspects: Sequence[str] | None) -> Request:
    """Return a request for several entities."""
    ids = ",".join(urn.encoded for urn in urns)
    return Request(
        "GET",
        f"/entitiesV2?ids=List({ids}){of_aspects('&', aspects)}",
        headers=(("X-RestLi-Method", "batch_get"),),
    )


def aspect_request(urn: Urn, name: str, version: int) -> Request:
    """Return a request for one version of an aspect."""
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name, safe='')}&version={version}")


def parse_config(body: Any, address: str) -> ServerInfo:
    """Parse an answer to `GET /config`. Raises `ServerFault` if it is not a metadata service's."""
    answer = as_object(body, "the server's /config")
    if answer.get("noCode") != "true":
        raise ServerFault(
            f"{address} answers, but is not a metadata service (its /config lacks noCode); check "
            "the address"
        )
    server = read_abilities(answer)
    if server.product == "datahub":
        return ServerInfo(address, "datahub", server.version)
    ours = answer["catalogExplorer"]
    count, meaning = ours.get("entities"), ours.get("meaning")
    meaning = meaning if isinstance(meaning, dict) else {}
    return ServerInfo(
        address,
        "catalog",
        server.version,
        address.startswith(UNIX),
        bool(ours.get("sample")),
        count if isinstance(count, int) else None,
        str(ours.get("user") or ""),
        state if (state := meaning.get("state")) in ("preparing", "on", "failed") else "off",
        int(meaning.get("vectors") or 0),
        int(meaning.get("unread") or 0),
    )


def parse_entity(body: Any, as_of: datetime | None = None) -> Entity:
    """Parse an entity; an aspect that is null in the answer is left out."""
    answer = as_object(body, "an entity")
    aspects = answer.get("aspects")
    wrappers = {} if aspects is None else as_object(aspects, "an entity's aspects")
    return Entity(
        _urn(answer.get("urn")),
        {
            name: parse_wrapper(name, wrapper)
            for name, wrapper in wrappers.items()
            if wrapper is not None
        },
        as_of,
    )


def parse_entities(body: Any, as_of: datetime | None = None) -> dict[Urn, Entity]:
    """Parse a batch of entities, by URN, without those that the server could not read."""
    results = as_object(body, "entities").get("results")
    entities = [
        parse_entity(answer, as_of)
        for answer in as_object(results, "entities").values()
        if answer is not None
    ]
    return {entity.urn: entity for entity in entities}


def parse_legacy_entity(body: Any, registry: Registry, as_of: datetime | None = None) -> Entity:
    """Parse an entity in the legacy snapshot form.

    A snapshot names aspects by their records, with or without the package prefix. An aspect that is
    not in the model keeps the short name of its record.
    """
    answer = as_object(body, "an entity")
    _, snapshot = _member(answer.get("value", answer), "a snapshot")
    listed = snapshot.get("aspects") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's snapshot has no list of aspects")
    aspect_reads: dict[str, AspectRead] = {}
    # Some aspects are fields of the snapshot beside the list, or share one element of it.
    beside = {name: snapshot[name] for name in snapshot if name in registry.aspects}
    for members in (*listed, beside):
        for record, value in as_object(members, "a snapshot's aspect").items():
            name = _find_name(record, registry)
            aspect_reads[name] = AspectRead(name, 0, parse_value(value, name))
    return Entity(_urn(snapshot.get("urn")), aspect_reads, as_of)


def parse_aspect(body: Any, name: str, as_of: datetime | None = None) -> AspectRead:
    """Parse one version of an aspect."""
    answer = as_object(body, "an aspect")
    members = as_object(answer.get("aspect"), f"the aspect {name}")
    if len(members) > 1:
        matching = {
            record: value
            for record, value in members.items()
            if record.rpartition(".")[2].casefold() == name.casefold()
        }
        members = matching or members
    _, value = _member(members, f"the aspect {name}")
    return AspectRead(
        name,
        int_or(answer.get("version"), 0),
        value,
        None,
        answer.get("systemMetadata"),
        as_of,
    )


def parse_wrapper(name: str, wrapper: Any) -> AspectRead:
    if not isinstance(wrapper, dict):
        raise Unreadable(f"the server's aspect {name} does not have the expected shape")
    # Positional and without helpers, for speed: a page of entities has thousands of aspects.
    field = wrapper.get
    value, version = field("value"), field("version")
    return AspectRead(
        name,
        version if type(version) is int else 0,
        value if type(value) is dict else parse_value(value, name),
        field("created"),
        field("systemMetadata"),
    )


def parse_value(value: Any, what: str) -> Json:
    """Parse a value that is a JSON object or JSON text in an envelope; null gives an empty
    object."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise Unreadable(f"the server's {what} is not JSON: {error}") from error
    return as_object(value, what)


def _member(union: Any, what: str) -> tuple[str, Json]:
    members = as_object(union, what)
    if len(members) != 1:
        raise Unreadable(f"the server's answer to {what} names {len(members)} records, not one")
    ((record, value),) = members.items()
    return record, parse_value(value, what)


def _find_name(record: str, registry: Registry) -> str:
    if record in registry.aspects:
        return record
    try:
        return registry.aspect_named_by(record)
    except UnknownName:
        return record.rpartition(".")[2]


def _urn(text: Any) -> Urn:
    try:
        if isinstance(text, str):
            return Urn.parse(text)
    except InvalidUrn as error:
        raise Unreadable(
            f"the server's answer has an entity without a valid URN: {error}"
        ) from error
    raise Unreadable("the server's entity has no URN")


def int_or(value: Any, default: int) -> int:
    # Not isinstance, because a boolean is an int.
    return value if type(value) is int else default


_BATCH = 150
# Servers accept a request line of 16 KB or more, which also holds the names of aspects.
_BATCH_BYTES = 12_000
_AT_ONCE = 4
_ME = "query me { me { corpUser { urn } } }"


class EntityMethods(CatalogMethods):
    """Methods that read entities and aspects."""

    _batches = True

    async def info(self) -> ServerInfo:
        """Return the product, version and other properties of the server. One request."""
        body = await self._connection.send(config_request())
        return parse_config(body, self._connection.address)

    async def me(self) -> Urn | None:
        """Return the URN of the user that requests are made as, or `None` if the server does not
        know it.

        Two requests.

        Example: `cat.me()`
        """
        user = (await self.info()).user
        if not user:
            try:
                body = await self._connection.send(graphql_request(_ME, {}))
            except REFUSALS:
                # A server without GraphQL, or whose `me` requires a signed-in user.
                return None
            value = body
            for key in ("data", "me", "corpUser", "urn"):
                value = value.get(key) if isinstance(value, dict) else None
            user = value if isinstance(value, str) and value != UNKNOWN_ACTOR else ""
        return next(iter(Urn.parse_all((user,))), None)

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """Return an entity with the latest version of all its aspects, or of those given. One
        request.

        An entity that was never written has only its key (`Entity.exists` is false). Timeseries
        aspects are not included.
        """
        request = entity_request(Urn.parse(urn), aspects)
        try:
            reply = await self._connection.ask(request)
        except NotFound:
            return Entity(Urn.parse(urn), {})
        return parse_entity(reply.body, reply.as_of)

    async def legacy_entity(self, urn: str | Urn) -> Entity:
        """Return an entity in the deprecated snapshot form. One request.

        For servers that support nothing newer; use `entity` with all others. It does not say when
        or by whom aspects were written. Raises `NotFound` for types without snapshots, such as
        containers.

        Example: `cat.legacy_entity(urn)`
        """
        request = legacy_entity_request(Urn.parse(urn))
        reply = await self._connection.ask(request)
        return parse_legacy_entity(reply.body, self.registry, reply.as_of)

    async def exists(self, urn: str | Urn) -> bool:
        """Return whether an entity was ever written, soft-deleted or not. One request.

        Example: `cat.exists(urn)`
        """
        target = Urn.parse(urn)
        declared = self.registry.entities.get(target.entity_type)
        key = declared.key if declared else f"{target.entity_type}Key"
        try:
            await self._connection.send(aspect_request(target, key, 0))
        except NotFound:
            return False
        return True

    async def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """Return many entities by URN, in the order given, which may have names among the URNs.

        One request for each 150 entities (fewer if URNs are long), four at a time; one for each
        entity if the server has no batches.

        Example: `cat.entities([urn], ["ownership"])`
        """
        targets = tuple(dict.fromkeys(Urn.parse(urn) for urn in urns))
        entities: dict[Urn, Entity] = {}
        for part in await gather_limited(
            (self._some(chunk, aspects) for chunk in _batch(targets)), _AT_ONCE
        ):
            entities |= part
        return {urn: entities[urn] for urn in targets if urn in entities}

    async def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """Return entities with only the aspects that a row in a list shows. Costs as many requests
        as `entities`.

        Example: `cat.summaries([urn])[Urn.parse(urn)].name`
        """
        return await self.entities(urns, SUMMARY_ASPECTS)

    async def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """Return one version of an aspect: 0 is the latest, 1 the oldest. One request.

        Raises `NotFound` if there is no such entity, aspect or version.

        Example: `cat.aspect(urn, "ownership").value`
        """
        reply = await self._connection.ask(aspect_request(Urn.parse(urn), name, version))
        return parse_aspect(reply.body, name, reply.as_of)

    async def record(self, urn: str | Urn, kind: type[_T], version: int = 0) -> _T | None:
        """Return an aspect as its typed record, such as `Ownership`; `None` if it does not exist.

        Fields that the record does not declare are available only through `aspect`. One request.
        Raises `InvalidInput` if no aspect has this record type, and `ServerFault` if the value does
        not fit it.

        Example: `cat.record(urn, Ownership)`
        """
        name = aspect_of(kind)
        try:
            aspect = await self.aspect(urn, name, version)
        except NotFound:
            return None
        return read_aspect(aspect.value, kind)

    async def _some(self, urns: Sequence[Urn], aspects: Sequence[str] | None) -> dict[Urn, Entity]:
        if self._batches:
            try:
                reply = await self._connection.ask(entities_request(urns, aspects))
                return parse_entities(reply.body, reply.as_of)
            except REFUSALS:
                # Either one entity or the batch as a whole was refused, so they are read one by
                # one.
                pass
        entities = await gather_limited((self.entity(urn, aspects) for urn in urns), _AT_ONCE)
        # Every entity could be read alone, so the server does not support batches, and none is sent
        # again.
        self._batches = False
        return {entity.urn: entity for entity in entities}


def _batch(urns: Iterable[Urn]) -> Iterator[list[Urn]]:
    """Yield the URNs in lists that each fit into one request."""
    chunk: list[Urn] = []
    size = 0
    for urn in urns:
        length = len(urn.encoded) + 1
        if chunk and (len(chunk) == _BATCH or size + length > _BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(urn)
        size += length
    if chunk:
        yield chunk
