"""Checked proposals, the rules that they must meet in the store, and the aspects that are written
along with them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
from msgspec import Struct

from explorer.errors import InvalidAspect, InvalidUrn
from explorer.metadata.proposal import NO_RUN, ChangeType, Condition
from explorer.metadata.registry import Aspect, Registry, edges_of
from explorer.metadata.structured_properties import (
    ASSIGNMENTS,
    DEFINITION,
    Definition,
    check_assignment,
    plain_value,
    read_definition,
)
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.server.browse import browse_paths, default_delimiter
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal
from explorer.server.store import StoredAspect, StoredEdge, TimeseriesDocument, Transaction, Write
from explorer.server.store.interface import is_removed, version_of

__all__ = [
    "DERIVED",
    "SUMMARIES",
    "UNKNOWN_ACTOR",
    "CheckedProposal",
    "check_assignments",
    "check_definition",
    "default_aspects",
    "edges_to_store",
    "fill_derived",
    "keep_descriptions",
    "moved_paths",
    "own_write",
    "require_condition",
    "summarise_incidents",
]


_FULL_TABLE = "FULL_TABLE_SNAPSHOT"


class CheckedProposal(Struct, frozen=True):
    """A proposal that has passed all checks that do not need the store.

    `text` is the URN as a string, and `declared` the aspect in the registry. The value of a PATCH
    is a `Patch`. `dialect` is that of the caller, whose rules apply.
    """

    urn: Urn
    text: str
    aspect: str
    kind: ChangeType
    value: Any
    declared: Aspect
    actor: str
    system: Mapping[str, Any] | None
    condition: Condition | None = None
    dialect: Dialect = "plain"

    def write(
        self, aspect: str, value: Any, edges: tuple[StoredEdge, ...], now_millis: int
    ) -> Write:
        """Return a versioned aspect of the entity as the store takes it, with the run and the actor
        of the change."""
        system, run = _system(self.system, now_millis)
        return Write(
            self.text,
            self.urn.entity_type,
            aspect,
            _dump(aspect, value),
            now_millis,
            self.actor,
            system,
            run,
            edges,
            value,
        )

    def point(self, now_millis: int) -> TimeseriesDocument:
        """Return the document of a timeseries aspect as the store takes it."""
        system, run = _system(self.system, now_millis)
        return TimeseriesDocument(
            self.text,
            self.urn.entity_type,
            self.aspect,
            self.value["timestampMillis"],
            _series(self.value),
            _dump(self.aspect, self.value),
            now_millis,
            self.actor,
            system,
            run,
        )


def edges_to_store(registry: Registry, aspect: str, value: Any) -> tuple[StoredEdge, ...]:
    """Return the edges that the value of an aspect declares."""
    declared = registry.aspect(aspect)
    if not declared.relationships:
        return ()
    return tuple(
        StoredEdge(
            relationship.name,
            target,
            (2 if relationship.source_is_upstream else 1) if relationship.lineage else 0,
        )
        for relationship, target in edges_of(declared, value)
    )


def _system(given: Mapping[str, Any] | None, now_millis: int) -> tuple[bytes, str | None]:
    """Return the system metadata as it is stored, and the run id that it names, if any."""
    system = {"lastObserved": now_millis, "runId": NO_RUN, **(given or {})}
    # Only the store sets the version.
    system.pop("version", None)
    run = system["runId"]
    return _dump("systemMetadata", system), run if isinstance(run, str) and run != NO_RUN else None


def _dump(aspect: str, value: Any) -> bytes:
    """Return a value as JSON, in a buffer of its own size: that of orjson has kilobytes to spare,
    and the writer keeps the values of many aspects."""
    try:
        return bytes(memoryview(orjson.dumps(value)))
    except orjson.JSONEncodeError as error:
        raise InvalidAspect(aspect, "", f"cannot be stored: {error}") from None


def _series(value: Mapping[str, Any]) -> str:
    """Return what distinguishes documents of the same time: partition, granularity and message id;
    an empty string if a document has none of them."""
    partition = (value.get("partitionSpec") or {}).get("partition", _FULL_TABLE)
    granularity = value.get("eventGranularity") or {}
    parts = [
        "" if partition == _FULL_TABLE else partition,
        granularity.get("unit", ""),
        granularity.get("multiple", 1) if granularity else "",
        value.get("messageId") or "",
    ]
    return orjson.dumps(parts).decode() if any(parts) else ""


_ABSENT = -1


def require_condition(condition: Condition, stored: StoredAspect | None) -> None:
    """Raise `RequestRefusal` (412) unless the stored aspect meets the version and the times of a
    condition; `stored` is `None` if there is no aspect."""
    actual = version_of(stored.system) if stored else _ABSENT
    if condition.version is not None and condition.version != actual:
        raise RequestRefusal(412, f"Expected version {condition.version}, actual version {actual}")
    at = stored.time_millis if stored else None
    since = condition.modified_since_millis
    if since is not None and (at is None or at <= since):
        raise RequestRefusal(412, f"Expected a change after {since}, the last was {_moment(at)}")
    since = condition.unmodified_since_millis
    if since is not None and at is not None and at > since:
        raise RequestRefusal(412, f"Expected no change after {since}, the last was {_moment(at)}")


def _moment(at_millis: int | None) -> str:
    return "never" if at_millis is None else f"at {at_millis} (milliseconds since 1970)"


def keep_descriptions(stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the given value with the stored descriptions of the columns that it does not describe.

    A connector that tags a column sends the whole aspect, without the descriptions that people
    wrote. A description is removed by an explicit empty text.
    """
    kept = {
        info["fieldPath"]: info["description"]
        for info in stored["editableSchemaFieldInfo"]
        if info.get("description")
    }
    for info in given["editableSchemaFieldInfo"]:
        if info.get("description") is not None:
            kept.pop(info["fieldPath"], None)
    infos = []
    for info in given["editableSchemaFieldInfo"]:
        description = kept.pop(info["fieldPath"], None)
        infos.append(info if description is None else {**info, "description": description})
    infos += [{"fieldPath": path, "description": text} for path, text in kept.items()]
    return {**given, "editableSchemaFieldInfo": infos}


_PLATFORM = "urn:li:dataPlatform:"
# Key fields that name a platform, or an entity that names one.
_NAMING = frozenset({"platform", "dashboardTool", "orchestrator", "notebookTool", "flow"})

Default = tuple[str, dict[str, Any]]


def default_aspects(registry: Registry, transaction: Transaction, urn: Urn) -> Iterator[Default]:
    """Yield the default aspects of a new entity, as name and value; only aspects that its entity
    type has."""
    carried = registry.entity(urn.entity_type).aspects
    named = registry.key_fields(urn.entity_type)[0] in _NAMING
    if named and urn.platform and "dataPlatformInstance" in carried:
        yield "dataPlatformInstance", {"platform": _PLATFORM + urn.platform}
    if "browsePaths" in carried:
        path = _path(urn, _delimiter(transaction, urn.platform))
        if path:
            yield "browsePaths", {"paths": [path]}


def moved_paths(
    transaction: Transaction, platform: Urn, info: dict[str, Any]
) -> Iterator[tuple[Urn, dict[str, Any]]]:
    """Yield the datasets whose default browse path changes if `info` becomes the `dataPlatformInfo`
    of their platform, each with its new `browsePaths`.

    Paths that somebody has written are kept.
    """
    before = _delimiter(transaction, platform.name)
    after = _declared_delimiter(info) or default_delimiter(platform.name)
    if before == after:
        return
    for text in transaction.urns(prefix=f"urn:li:dataset:({platform},"):
        urn = Urn.parse(text)
        stored = transaction.aspect(text, "browsePaths")
        if stored and orjson.loads(stored.value).get("paths") == [_path(urn, before)]:
            yield urn, {"paths": [_path(urn, after)]}


def _path(urn: Urn, delimiter: str) -> str:
    return next(iter(browse_paths(urn, None, delimiter)), "")


def _delimiter(transaction: Transaction, platform: str | None) -> str:
    stored = transaction.aspect(f"{_PLATFORM}{platform}", "dataPlatformInfo") if platform else None
    declared = _declared_delimiter(orjson.loads(stored.value)) if stored else None
    return declared or default_delimiter(platform)


def _declared_delimiter(info: dict[str, Any]) -> str | None:
    found = info.get("datasetNameDelimiter")
    return found if isinstance(found, str) and found else None


_OWNERSHIP_TYPE = "urn:li:ownershipType:__system__"
_INCIDENT = "urn:li:incident:"
_SUMMARY = "incidentsSummary"
SUMMARIES = frozenset((_SUMMARY,))
"""The aspects that the service itself writes, derived from the aspects of other entities."""
_SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"
# The summary of an entity lists the incidents that were written last, at most this many per
# state.
_MOST_INCIDENTS = 100
_Value = Mapping[str, Any]


def fill_derived(
    aspect: str, stored: _Value, value: dict[str, Any], *, adds: bool
) -> dict[str, Any]:
    """Return the value of an aspect with its derived part filled in.

    `ownership` gets `ownerTypes`, the owners by the URN of their ownership type; the two lists of
    `domains` are kept consistent. `stored` is the previous value, empty if there was none. If
    `adds` is false, a derived part is updated only if the value contains it exactly as stored.
    Raises `InvalidAspect` if the value contradicts itself.
    """
    if aspect not in _FILLED:
        return value
    part, fill = _FILLED[aspect]
    is_left = value.get(part) is not None and value[part] == stored.get(part)
    return fill(stored, value) if adds or is_left else value


def _owner_types(_stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for owner in value.get("owners") or ():
        named = owner.get("typeUrn") or f"{_OWNERSHIP_TYPE}{owner.get('type', 'NONE').lower()}"
        # DataHub's search interprets a dot as the separator of a nested field.
        owners = found.setdefault(named.replace(".", "%2E"), [])
        if owner.get("owner") not in (None, *owners):
            owners.append(owner["owner"])
    return {**value, "ownerTypes": found}


def _domains(stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with `domains` and `domainAssociations` consistent.

    If the associations changed, `domains` follows them; if both changed, they must agree, else
    `InvalidAspect` is raised. Otherwise the associations follow `domains`. Associations made by
    propagation are ignored, because they do not name domains of the entity itself.
    """
    domains = list(dict.fromkeys(value.get("domains") or ()))
    given, before = value.get("domainAssociations"), stored.get("domainAssociations")
    if given is not None and given != before:
        named = list(dict.fromkeys(one["domain"] for one in given if not _is_propagated(one)))
        if set(named) != set(domains) and value.get("domains") != stored.get("domains"):
            raise InvalidAspect(
                "domains", "domainAssociations", "they name other domains than 'domains' does"
            )
        return {**value, "domains": named}
    # The stored value may be older than the model, and lack required fields.
    kept = [one for one in before or () if one.get("domain") in domains or _is_propagated(one)]
    present = {one.get("domain") for one in kept if not _is_propagated(one)}
    added = [{"domain": domain} for domain in domains if domain not in present]
    return {**value, "domainAssociations": [*kept, *added]}


def _is_propagated(association: _Value) -> bool:
    detail = (association.get("attribution") or {}).get("sourceDetail") or {}
    return str(detail.get("propagated")).lower() == "true"


# By aspect: the derived part, and the function that fills it in.
_FILLED: Mapping[str, tuple[str, Callable[[_Value, dict[str, Any]], dict[str, Any]]]] = {
    "ownership": ("ownerTypes", _owner_types),
    "domains": ("domainAssociations", _domains),
}
DERIVED = frozenset(_FILLED)
"""The aspects with a derived part; see `fill_derived`."""


def summarise_incidents(transaction: Transaction, registry: Registry, now_millis: int) -> None:
    """Update the `incidentsSummary` of entities with the incidents that a transaction has written
    or removed.

    An incident that was removed, or is no longer about an entity, is removed from the entity's
    summary. An entity that does not exist gets no summary.
    """
    for text in sorted(urn for urn in transaction.changes.touched if urn.startswith(_INCIDENT)):
        info = _stored(transaction, text, "incidentInfo")
        about = info.get("entities") or ()
        _, pointing = transaction.edges([text], "INCOMING")
        listed = sorted({one.urn for one in pointing if _SUMMARY in one.aspects})
        for entity in dict.fromkeys((*listed, *about)):
            urn = Urn.parse(entity)
            known = registry.entities.get(urn.entity_type)
            if known is None or _SUMMARY not in registry.aspects_of(urn.entity_type):
                continue
            if transaction.existing([entity]):
                details = _incident_details(text, info) if entity in about else None
                state = _state(info) if details else ""
                _summarise(transaction, registry, urn, (text, state, details), now_millis)


def _stored(transaction: Transaction, urn: str, aspect: str) -> dict[str, Any]:
    """Return the value of an aspect; an empty dictionary if there is none, or it is damaged."""
    stored = transaction.aspect(urn, aspect)
    try:
        value = orjson.loads(stored.value) if stored else {}
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _state(info: _Value) -> str:
    return str((info.get("status") or {}).get("state"))


def _incident_details(urn: str, info: _Value) -> dict[str, Any]:
    kind = info.get("type")
    changed = (info.get("status") or {}).get("lastUpdated") or {}
    details = {
        "urn": urn,
        "type": info.get("customType") or kind if kind == "CUSTOM" else kind,
        "createdAt": (info.get("created") or {}).get("time"),
        "resolvedAt": changed.get("time") if _state(info) == "RESOLVED" else None,
        "priority": info.get("priority"),
    }
    return {key: value for key, value in details.items() if value is not None}


def _summarise(
    transaction: Transaction,
    registry: Registry,
    entity: Urn,
    incident: tuple[str, str, dict[str, Any] | None],
    now_millis: int,
) -> None:
    """Add an incident to the summary of an entity, under its state, or remove it.

    `incident` is its URN, its state, and its details, `None` to remove it.
    """
    text, state, details = incident
    before = _stored(transaction, str(entity), _SUMMARY)
    value = dict(before)
    for name, now in (("active", "ACTIVE"), ("resolved", "RESOLVED")):
        # The lists of bare URNs come from older releases of DataHub; nothing is added to them.
        bare, full = f"{name}Incidents", f"{name}IncidentDetails"
        value[bare] = [one for one in before.get(bare) or () if one != text]
        entries = before.get(full) or []
        if details is None or state != now:
            value[full] = [one for one in entries if one.get("urn") != text]
        elif details not in entries:
            others = [one for one in entries if one.get("urn") != text]
            value[full] = [*others, details][-_MOST_INCIDENTS:]
        else:
            value[full] = entries
    if value == before or (not before and details is None):
        return
    transaction.put(own_write(registry, entity, _SUMMARY, value, now_millis, _SYSTEM_ACTOR))


def own_write(
    registry: Registry, urn: Urn, aspect: str, value: _Value, now_millis: int, actor: str
) -> Write:
    """Return the write of an aspect that the service itself changes, outside of any run."""
    system, run = _system(None, now_millis)
    edges = edges_to_store(registry, aspect, value)
    given = orjson.dumps(value)
    return Write(str(urn), urn.entity_type, aspect, given, now_millis, actor, system, run, edges)


_PROPERTY = "structuredProperty"
# A UTC time as digits, such as 20261231235959.
_VERSION = re.compile(r"\d{14}", re.ASCII)


def check_definition(
    transaction: Transaction, urn: Urn, value: _Value, stored: _Value | None
) -> None:
    """Check a definition of a structured property against the stored one.

    The rules are those of DataHub's `PropertyDefinitionValidator`: the qualified name must not
    change. Unless the version is raised, the value type must not change, MULTIPLE must not become
    SINGLE, and allowed values must not be removed.

    Raises `InvalidAspect` if the definition breaks these rules or has an invalid `version`, or if
    the property is soft-deleted.
    """
    if stored is not None and _is_removed(transaction, str(urn)):
        raise InvalidAspect(
            DEFINITION,
            "",
            f"the structured property {urn.name} was removed; restore it (status removed=false) "
            "before its definition is changed",
        )
    version = value.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        raise InvalidAspect(
            DEFINITION, "version", f"expected 14 digits, such as 20261231235959, found {version!r}"
        )
    if stored is None:
        return
    if value.get("qualifiedName") != stored.get("qualifiedName"):
        raise InvalidAspect(
            DEFINITION,
            "qualifiedName",
            f"the qualified name {stored.get('qualifiedName')!r} cannot be changed; define another "
            "property",
        )
    before = stored.get("version")
    if version is not None and (before is None or version > before):
        return
    for field, problem in _narrowed(value, stored):
        raise InvalidAspect(
            DEFINITION,
            field,
            f"{problem}, because values that were valid before may become invalid; to change it "
            f"anyway, give a version later than {before or 'none'}",
        )


def _narrowed(value: _Value, stored: _Value) -> Iterator[tuple[str, str]]:
    """Yield the fields in which a definition allows less than the stored one, each with a
    description of the problem."""
    if value.get("valueType") != stored.get("valueType"):
        yield "valueType", f"the value type cannot be changed from {stored.get('valueType')}"
    if stored.get("cardinality") == "MULTIPLE" and value.get("cardinality") != "MULTIPLE":
        yield "cardinality", "the cardinality cannot be changed from MULTIPLE to SINGLE"
    if value.get("allowedValues") is None:
        return
    now = [plain_value(one.get("value")) for one in value["allowedValues"]]
    if stored.get("allowedValues") is None:
        yield "allowedValues", "a property that allows all values cannot be restricted to some"
    for one in stored.get("allowedValues") or ():
        known = plain_value(one.get("value"))
        if known not in now:
            yield "allowedValues", f"the allowed value {known!r} cannot be removed"


def check_assignments(
    transaction: Transaction, entity: Urn, value: _Value, stored: _Value | None
) -> None:
    """Check that an entity may have these structured properties.

    Properties that stay as they are `stored` are accepted, so that a definition that has since
    changed or been removed does not prevent a write of the others. The values of an immutable
    property can be neither changed nor removed.

    Raises `InvalidAspect` if a property is listed twice, has no definition, or has values that its
    definition does not allow for the entity, or if an immutable one would change.
    """
    before = dict(_assigned(stored)) if stored else {}
    seen: set[str] = set()
    for at, (text, values) in enumerate(_assigned(value)):
        path = f"properties[{at}]"
        if text in seen:
            raise InvalidAspect(
                ASSIGNMENTS, path, f"{text} occurs twice; send all its values in one entry"
            )
        seen.add(text)
        if before.get(text) == values:
            continue
        definition = _required(transaction, text, path)
        if text in before and definition.is_immutable:
            raise _unchangeable(definition, path)
        check_assignment(definition, entity, _platform(transaction, entity), values, path)
    for text in before.keys() - seen:
        for urn in Urn.parse_all((text,)):
            gone = _defined(transaction, urn)
            if gone is not None and gone.is_immutable:
                raise _unchangeable(gone, "properties")


def _assigned(value: _Value) -> Iterator[tuple[str, list[Any]]]:
    """Yield the URN of each property with its plain values, whether they are given bare or
    wrapped."""
    for one in value.get("properties") or ():
        values = [plain_value(given) for given in one.get("values") or ()]
        yield str(one.get("propertyUrn")), values


def _required(transaction: Transaction, text: str, path: str) -> Definition:
    place = f"{path}.propertyUrn"
    try:
        urn = Urn.parse(text)
    except InvalidUrn as error:
        raise InvalidAspect(ASSIGNMENTS, place, f"expected a URN; {error}") from None
    if urn.entity_type != _PROPERTY:
        raise InvalidAspect(
            ASSIGNMENTS, place, f"expected urn:li:{_PROPERTY}:<id>, found {text!r:.80}"
        )
    definition = _defined(transaction, urn)
    if definition is not None:
        return definition
    if _is_removed(transaction, text):
        problem = "was removed; restore it (status removed=false) or leave it out"
    else:
        problem = "has no definition; write its propertyDefinition first or leave it out"
    raise InvalidAspect(ASSIGNMENTS, place, f"the structured property {urn.name} {problem}")


def _is_removed(transaction: Transaction, urn: str) -> bool:
    return is_removed(transaction.aspects([urn], ("status",)).get(urn, ()))


def _defined(transaction: Transaction, urn: Urn) -> Definition | None:
    aspects = transaction.aspects([str(urn)]).get(str(urn), ())
    return read_definition(urn, {one.name: orjson.loads(one.value) for one in aspects})


def _platform(transaction: Transaction, entity: Urn) -> str | None:
    """Return the platform of an entity: from its URN, else from its `dataPlatformInstance`."""
    if entity.platform:
        return entity.platform
    stored = transaction.aspect(str(entity), "dataPlatformInstance")
    platform = orjson.loads(stored.value).get("platform") if stored else None
    return Urn.label(platform) if isinstance(platform, str) else None


def _unchangeable(definition: Definition, path: str) -> InvalidAspect:
    return InvalidAspect(
        ASSIGNMENTS,
        path,
        f"the structured property {definition.urn.name} is immutable: a stored value cannot be "
        "changed; send the value that is stored",
    )
