"""The parts of an entity's page: state, descriptions, links, labels, properties and all other
aspects.

The parts are derived from the stored aspects without requests: other entities are given by URN, and
the front end that renders the parts looks up their names. An aspect without a layout of its own
here is shown field by field.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import orjson

from explorer.client.display import moment
from explorer.client.editable import has_one_description
from explorer.metadata.browse_paths import newer_folders, stored_paths
from explorer.metadata.names import ownership, singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.views.absence import NOBODY
from explorer.views.columns import page_columns
from explorer.views.history import (
    ActorNames,
    actor_of,
    author_of,
    name_of,
    proposer_of,
    version_label,
)
from explorer.views.parts import (
    Code,
    Fact,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Report,
    ReportPart,
    Stamped,
    Title,
    Trail,
    Value,
    Web,
)
from explorer.views.table import Table, TableColumn
from explorer.views.text import EDITED, Piece, join_pieces, text_line

if TYPE_CHECKING:
    from datetime import datetime

    from explorer.client.entity import AspectRead, Entity
    from explorer.client.records import Edges, Health
    from explorer.metadata.aspects import Link, Owner

_TITLES = {
    "chartInfo": "Chart",
    "chartQuery": "Query",
    "containerProperties": "Container",
    "corpGroupEditableInfo": "Group, as edited",
    "corpGroupInfo": "Group",
    "corpUserEditableInfo": "Person, as edited",
    "corpUserInfo": "Person",
    "corpUserStatus": "Account",
    "dashboardInfo": "Dashboard",
    "dataFlowInfo": "Pipeline",
    "dataJobInfo": "Task",
    "dataJobInputOutput": "Reads and writes",
    "dataPlatformInfo": "Platform",
    "dataProductProperties": "Data product",
    "datasetProperties": "Dataset",
    "domainProperties": "Domain",
    "editableSchemaMetadata": "Columns, as edited",
    "glossaryNodeInfo": "Glossary group",
    "glossaryRelatedTerms": "Related terms",
    "glossaryTermInfo": "Glossary term",
    "groupMembership": "In groups",
    "incidentsSummary": "Incidents",
    "inputFields": "Columns read",
    "nativeGroupMembership": "In groups of the catalog itself",
    "metricRelationships": "Related metrics",
    "metricUpstreams": "Computed from",
    "querySubjects": "What it reads",
    "roleMembership": "In roles",
    "schemaMetadata": "Schema",
    "siblings": "Siblings",
    "tagProperties": "Tag",
    "upstreamLineage": "Made from",
    "upstreamMetrics": "Metrics that it shows",
    "usageFeatures": "Use in the last 30 days",
    "viewProperties": "View",
}

ORDER = (
    *("corpUserInfo", "corpUserEditableInfo", "corpGroupInfo", "corpGroupEditableInfo"),
    *("groupMembership", "nativeGroupMembership", "roleMembership"),
    *("glossaryTermInfo", "glossaryNodeInfo", "glossaryRelatedTerms", "tagProperties"),
    *("domainProperties", "dataProductProperties", "dataPlatformInfo"),
    *("chartInfo", "chartQuery", "dashboardInfo"),
    *("dataFlowInfo", "dataJobInfo", "dataJobInputOutput"),
    *("datasetProperties", "containerProperties", "viewProperties", "upstreamLineage", "siblings"),
    *("schemaMetadata", "editableSchemaMetadata", "structuredProperties"),
)
"""The aspects that are shown first, in this order; all others follow by name."""

_LABELS = {
    "aboutMe": "about",
    "chartUrl": "page",
    "colorHex": "colour",
    "countryCode": "country",
    "created": "created",
    "dashboardUrl": "page",
    "definition": "definition",
    "departmentName": "department",
    "env": "origin",
    "externalUrl": "page",
    "flowUrn": "pipeline",
    "hasRelatedTerms": "has",
    "inputDatajobs": "after tasks",
    "inputDatasetFields": "reads columns",
    "inputDatasets": "reads",
    "inputs": "made from",
    "isRelatedTerms": "is a",
    "lastModified": "modified",
    "lastRefreshed": "refreshed",
    "managerUrn": "manager",
    "outputDatasetFields": "writes columns",
    "outputDatasets": "writes",
    "parentDomain": "part of",
    "parentNode": "in",
    "pictureLink": "picture",
    "qualifiedName": "full name",
    "relatedTerms": "related",
    "sourceRef": "source",
    "sourceUrl": "page of the source",
    "termSource": "source is",
    "typeNames": "called",
    "uniqueUserCountLast30Days": "users",
    "queryCountLast30Days": "queries",
    "viewLanguage": "language",
}

CODE = {
    "documentSchema": "json",
    "formattedViewLogic": "sql",
    "keySchema": "json",
    "rawQuery": "sql",
    "rawSchema": "json",
    "schema": "json",
    "statement": "sql",
    "tableSchema": "sql",
    "viewLogic": "sql",
}
"""The fields that contain code, with its language."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("Properties", "Info", "Urn", "Urns", "Edges", "Millis", "Ms")


def title_of(aspect: str) -> str:
    """Return the heading above an aspect."""
    words = _TITLES.get(aspect) or _split(_without_ending(aspect))
    return words[:1].upper() + words[1:]


def label_of(field: str) -> str:
    """Return the label of a field of an aspect."""
    return _LABELS.get(field) or _split(_without_ending(field))


def _without_ending(name: str) -> str:
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            return name.removesuffix(ending)
    return name


def _split(name: str) -> str:
    if "_" in name:
        return name
    words = _HUMP.sub(" ", name).lower()
    return f"ML{words[2:]}" if words.startswith("ml ") else words


_DEEP = 4
_LONG = 300
_FIRST_MOMENT = 100_000_000_000
_MOMENTS = ("time", "millis", "ms", "at", "timestamp", "date", "refreshed", "created", "modified")
_STAMP = frozenset(("time", "actor", "impersonator", "message"))
_POINTERS = ("urn", "destinationUrn", "dataset", "entity", "schemaFieldUrn", "owner", "tag")
_SECRET = ("password", "secret", "salt", "token", "credential")
_AGAIN = ("Edges", "Edge")
_NOT_SHOWN = "see the aspect as it is stored"


def facts_of(value: Mapping[str, Any], skipped: frozenset[str] = frozenset()) -> Iterator[Part]:
    """Yield the fields of a record in order, long texts and code last.

    Fields in `skipped` are left out, and so are values that another field has already shown.
    """
    late: list[Part] = []
    earlier_values: set[Value] = set()
    for key, field_value in value.items():
        if key in skipped or field_value in (None, "", [], {}):
            continue
        for part in _parts_of(str(key), field_value, _DEEP):
            if not isinstance(part, Fact):
                late.append(part)
                continue
            values = part.values
            if str(key).endswith(_AGAIN):
                # Newer servers repeat a list of URNs as a list of edges.
                values = tuple(value for value in values if value not in earlier_values)
            earlier_values.update(values)
            if values:
                yield Fact(part.label, values)
    yield from late


def values_of(key: str, value: object) -> tuple[Value, ...]:
    """Return the values to show for a field: a list as its elements, another value alone; empty for
    a record with several fields."""
    match value:
        case bool():
            return (Plain("yes" if value else "no"),)
        case int() | float():
            return (_number(key, value),)
        case str():
            return _text(value)
        case list():
            values_by_element = [values_of(key, element) for element in value]
            return tuple(element for values in values_by_element for element in values)
        case dict():
            return _record(key, value)
        case _:
            return ()


def stamp_of(value: object) -> Stamped | None:
    """Return an audit stamp, or `None` if the value is not one or has no time."""
    if not isinstance(value, dict) or not value.keys() <= _STAMP:
        return None
    millis = value.get("time")
    if not isinstance(millis, int) or isinstance(millis, bool) or millis <= 0:
        return None
    message = value.get("message")
    return Stamped(millis, urn_of(value.get("actor")), message if isinstance(message, str) else "")


def urn_of(value: object) -> Urn | None:
    """Parse a value as a URN; `None` if it is not one."""
    urns = Urn.parse_all([value]) if isinstance(value, str) else ()
    return urns[0] if urns else None


def _parts_of(key: str, value: object, deep: int) -> Iterator[Part]:
    label = label_of(key)
    if any(word in key.lower() for word in _SECRET):
        yield Fact(label, (Plain(_NOT_SHOWN, "dim italic"),))
    elif isinstance(value, str) and key in CODE:
        yield Code(value, CODE[key])
    elif isinstance(value, str) and (len(value) > _LONG or "\n" in value.strip()):
        yield Prose(value)
    elif values := values_of(key, value):
        yield Fact(label, values)
    elif not deep:
        yield Fact(label, (Plain(_NOT_SHOWN, "dim italic"),))
    elif isinstance(value, dict) and value.keys() <= _STAMP and value.get("time") == 0:
        return
    elif isinstance(value, dict):
        for inner, field_value in value.items():
            for part in _parts_of(str(inner), field_value, deep - 1):
                if isinstance(part, Fact) and inner != key:
                    within = "" if key in value else f"{label}: "
                    yield Fact(f"{within}{part.label}", part.values)
                else:
                    yield part
    elif isinstance(value, list):
        for element in value:
            yield from _parts_of(key, element, deep - 1)


def _number(key: str, value: float) -> Value:
    if isinstance(value, int) and value >= _FIRST_MOMENT and key.lower().endswith(_MOMENTS):
        return Moment(value)
    return Plain(f"{value:,}")


def _text(value: str) -> tuple[Value, ...]:
    urn = urn_of(value) if value.startswith("urn:li:") else None
    if urn is not None:
        return (Mention(urn),)
    if value.startswith(("http://", "https://")):
        return (Web(value),)
    return (Plain(value),) if value else ()


def _record(key: str, value: dict[str, Any]) -> tuple[Value, ...]:
    stamp = stamp_of(value)
    if stamp is not None:
        return (stamp,)
    if len(value) == 1:
        # A union: `{"string": …}`.
        ((name, inner),) = value.items()
        if name in ("string", "array", "int", "long", "double", "float", "boolean") or "." in name:
            return values_of(key, inner)
    # For an assertion, the entity it is about is only part of the value.
    for pointer in () if key.endswith("Assertion") else _POINTERS:
        urn = urn_of(value.get(pointer))
        if urn is not None:
            kind = value.get("type")
            return (Mention(urn, kind.lower() if isinstance(kind, str) else ""),)
    return ()


# These are shown in the first sections, and the timeseries in tabs of their own.
_TOLD = frozenset(
    (
        *("status", "deprecation", "institutionalMemory", "ownership", "globalTags", "subTypes"),
        *("glossaryTerms", "domains", "dataProducts", "container", "browsePaths", "browsePathsV2"),
        *("dataPlatformInstance", "documentation", "structuredProperties", "forms"),
        *("datasetProfile", "datasetUsageStatistics", "operation"),
    )
)
_NOT_IN_WORDS = frozenset(
    ("corpUserCredentials", "corpUserSettings", "dataHubSecretValue", "inviteToken")
)
_TEXTS = frozenset(("description", "definition", "customProperties"))
_NAMES = ("displayName", "fullName", "name", "title")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`|]+")
_ADDRESSES_AT_MOST = 50
_LOOKED_FOR_ADDRESSES = 200_000


def entity_parts(entity: "Entity", raw_hint: str = "") -> list[Part]:
    """Return all parts of an entity's page, in order of importance.

    `raw_hint` tells the reader how to see the aspects as stored.
    """
    return [
        *_state(entity),
        *_texts(entity),
        *_links(entity),
        *_label_parts(entity),
        *detail_parts(entity),
        *_storage_parts(entity, raw_hint),
    ]


def detail_parts(entity: "Entity", skipped: frozenset[str] = frozenset()) -> list[Part]:
    """Return the parts below descriptions and labels: custom and structured properties, then all
    other aspects, except those in `skipped`."""
    return [*_custom(entity), *_property_parts(entity), *_aspects(entity, skipped)]


@dataclass(frozen=True, slots=True)
class Problem:
    """A failing assertion or an active incident: its rule or title, its start, and details.

    If `or_earlier` is true, it may have started earlier.
    """

    verdict: Literal["error", "fails", "incident"]
    name: str
    urn: Urn
    since: "datetime | None"
    or_earlier: bool
    facts: tuple[str, ...]

    def day(self, day_of: "Callable[[datetime], str]") -> str:
        """Return the day on which the problem started, formatted by `day_of`; empty if unknown."""
        if self.since is None:
            return ""
        return f"{day_of(self.since)}{' or earlier' if self.or_earlier else ''}"


def problems(health: "Health") -> Iterator[Problem]:
    """Yield the failing assertions of an entity, then its incidents, each longest-lasting first."""
    for assertion in health.failing:
        verdict: Literal["error", "fails"] = "error" if assertion.is_error else "fails"
        facts = tuple(filter(None, (assertion.actual,)))
        yield Problem(
            verdict,
            assertion.rule,
            assertion.urn,
            assertion.since,
            assertion.since_or_earlier,
            facts,
        )
    for incident in health.incidents:
        facts = tuple(filter(None, (incident.kind, incident.priority, incident.stage)))
        yield Problem("incident", incident.title, incident.urn, incident.since, False, facts)


def health_parts(health: "Health") -> Iterator[Part]:
    """Yield the parts that show the failing assertions and active incidents of an entity, each with
    its URN."""
    for sentence in health.sentences():
        yield Fact("wrong", (Plain(sentence),), loud=True)
    for problem in problems(health):
        words = "active since" if problem.verdict == "incident" else "failing since"
        words += ", or earlier" if problem.or_earlier else ""
        yield Fact(
            problem.verdict,
            (Mention(problem.urn, " · ".join(problem.facts)), *_since(problem.since, words)),
        )


def health_table(health: "Health") -> Table:
    """Return a row for each failed assertion and active incident of an entity."""
    columns = (
        TableColumn("state", "", lambda problem: problem.verdict, style="bold"),
        TableColumn("urn", None, lambda problem: str(problem.urn), "programs"),
        TableColumn("what", None, lambda problem: problem.name, detail="urn"),
        TableColumn("since", None, lambda problem: problem.day(lambda day: f"{day:%Y-%m-%d}")),
        TableColumn("found", None, lambda problem: ", ".join(problem.facts)),
    )
    return Table.from_records(problems(health), columns, ", ".join(health.sentences()))


def owners_table(owners: "Iterable[Owner]", names: ActorNames) -> Table:
    """Return a row for each owner, in the given order, for data frames.

    urn    string
    name   string   from `names`, else from the URN
    type   string   corpuser or corpGroup
    role   string   DATAOWNER, TECHNICAL_OWNER, …
    """

    def read_type(owner: "Owner") -> str | None:
        return next((urn.entity_type for urn in Urn.parse_all([owner.owner])), None)

    columns = (
        TableColumn("urn", read=lambda owner: owner.owner),
        TableColumn("name", read=lambda owner: name_of(owner.owner, names)),
        TableColumn("type", read=read_type),
        TableColumn("role", read=lambda owner: owner.type),
    )
    return Table.from_records(owners, columns, "owners")


def edges_table(groups: "Iterable[Edges]", names: ActorNames) -> Table:
    """Return a row for each edge, in the given order.

    direction        string   OUTGOING from the entity, or INCOMING
    relationship     string   DownstreamOf, OwnedBy, …
    urn, name        string   of the entity at the other end
    type, platform   string   of the entity at the other end
    """
    columns = (
        TableColumn("direction", None, lambda pair: pair[0], "programs"),
        TableColumn("arrow", "", lambda pair: "→" if pair[0] == "OUTGOING" else "←", "people"),
        TableColumn("relationship", read=lambda pair: pair[1].relationship or None),
        TableColumn("urn", None, lambda pair: str(pair[1].urn), "programs"),
        TableColumn(
            "name",
            read=lambda pair: names.get(pair[1].urn) or pair[1].urn.name,
            style="bold",
            detail="urn",
        ),
        TableColumn("type", None, lambda pair: pair[1].urn.entity_type, "programs"),
        TableColumn("type", None, lambda pair: singular(pair[1].urn.entity_type), "people"),
        TableColumn("platform", read=lambda pair: pair[1].urn.platform),
    )
    edges = [(group.direction, edge) for group in groups for edge in group.edges]
    return Table.from_records(edges, columns, "relationships")


def entity_links_table(links: "Iterable[tuple[str, Link]]", *, several: bool) -> Table:
    """Return a row for each link, with the URN of its entity, which people see only if there are
    `several` entities."""
    columns = (
        TableColumn(
            "urn", None, lambda pair: pair[0], "everyone" if several else "programs", folds=True
        ),
        TableColumn(
            "label", read=lambda pair: pair[1].description, max_width=36, folds=True, style="bold"
        ),
        TableColumn("url", read=lambda pair: pair[1].url, folds=True),
        TableColumn("by", None, lambda pair: pair[1].create_stamp.actor or None, "programs"),
        TableColumn("at_millis", None, lambda pair: pair[1].create_stamp.time or None, "programs"),
    )
    return Table.from_records(links, columns, "Links")


def links_table(links: Iterable["Link"], names: ActorNames) -> Table:
    """Return a row for each documentation link of an entity."""
    columns = (
        TableColumn("url", audience="programs"),
        TableColumn("description", "link", lambda link: link.description or None, link="url"),
        TableColumn("actor", None, lambda link: link.create_stamp.actor, "programs"),
        TableColumn(
            "added", None, lambda link: author_of(link.create_stamp, names), "people", style="dim"
        ),
    )
    return Table.from_records(links, columns, "Links")


def _since(moment: "datetime | None", words: str) -> tuple[Value, ...]:
    return () if moment is None else (Stamped(millis_of(moment), remark=words),)


def ownership_name(kind: object) -> str:
    """Return an ownership type in words: `technical owner`."""
    return ownership(kind) if isinstance(kind, str) else ""


def _state(entity: "Entity") -> Iterator[Part]:
    if entity.aspects and _raw(entity, "status").get("removed") is True:
        loud = Plain("soft-deleted: hidden from search and browse, found by its URN alone")
        yield Fact("state", (loud,), loud=True)
    raw = _raw(entity, "deprecation")
    if raw.get("deprecated") is not True:
        return
    yield Title("Deprecated")
    note = raw.get("note")
    yield Prose(note if isinstance(note, str) else "", "no reason is given")
    yield from facts_of(raw, frozenset(("deprecated", "note", "actor")))
    actor = urn_of(raw.get("actor"))
    if actor is not None:
        yield Fact("by", (Mention(actor),))


def _texts(entity: "Entity") -> Iterator[Part]:
    edited, ingested = entity.edited_description, entity.ingested_description
    word = "Definition" if entity.entity_type.startswith("glossary") else "Description"
    origin = "" if has_one_description(entity.entity_type) else "ingested"
    if entity.entity_type == "corpuser":
        ingested = ""
    if edited:
        yield Title(word, f"{EDITED} edited")
        yield Prose(edited)
    if ingested or not (edited or entity.entity_type in ("corpuser", "dataPlatform")):
        yield Title(word, origin if ingested else "")
        yield Prose(ingested, "no description")
    for entry in _list(entity, "documentation", "documentations"):
        text = entry.get("documentation") if isinstance(entry, dict) else None
        if isinstance(text, str):
            source = _dict(entry.get("attribution")).get("source")
            yield Title("Documentation", Urn.label(source) if isinstance(source, str) else "")
            yield Prose(text)
    findall = _ADDRESS.findall(f"{edited}\n{ingested}"[:_LOOKED_FOR_ADDRESSES])
    addresses = tuple(dict.fromkeys(address.rstrip(".,;:!?") for address in findall))
    if addresses:
        yield Title("Addresses in the text")
        yield Fact("", tuple(Web(address) for address in addresses[:_ADDRESSES_AT_MOST]))


def _links(entity: "Entity") -> Iterator[Part]:
    links: list[Value] = []
    for element in _list(entity, "institutionalMemory", "elements"):
        link = _dict(element)
        url, label = link.get("url"), link.get("description")
        if isinstance(url, str):
            added = stamp_of(link.get("createStamp"))
            links.append(Web(url, label if isinstance(label, str) else "", added))
    if links:
        yield Title("Links", f"{len(links):,}")
        yield Fact("", tuple(links))


def _label_parts(entity: "Entity") -> Iterator[Part]:
    """Yield owners, labels, and the containers and folders of the entity."""
    owners = tuple(
        Mention(urn, ownership_name(_dict(owner).get("type")))
        for owner in _list(entity, "ownership", "owners")
        if (urn := urn_of(_dict(owner).get("owner"))) is not None
    )
    labels: list[tuple[str, tuple[Value, ...]]] = [
        ("owners", owners),
        ("tags", _mentions(entity, "globalTags", "tags")),
        ("terms", _mentions(entity, "glossaryTerms", "terms")),
        ("domain", _mentions(entity, "domains", "domains")),
        ("data product", _mentions(entity, "dataProducts", "dataProducts")),
        ("inside", _mentions(entity, "container", "container")),
        ("platform", _mentions(entity, "dataPlatformInstance", "platform")),
        ("instance", _mentions(entity, "dataPlatformInstance", "instance")),
        ("called", values_of("typeNames", _raw(entity, "subTypes").get("typeNames"))),
        ("filed under", tuple(_folders(entity))),
    ]
    stamp = stamp_of(_raw(entity, "ownership").get("lastModified"))
    if owners and stamp is not None:
        labels.insert(1, ("owners set", (stamp,)))
    facts = [Fact(label, values) for label, values in labels if values]
    if facts:
        yield Title("Standing")
        yield from facts


def _mentions(entity: "Entity", aspect: str, field: str) -> tuple[Value, ...]:
    return values_of(field, _raw(entity, aspect).get(field))


def _folders(entity: "Entity") -> Iterator[Value]:
    paths: Sequence[str] = entity.browse_paths
    if entity.entity_type != "glossaryTerm":
        paths = [path for path in _list(entity, "browsePaths", "paths") if isinstance(path, str)]
    for path in paths:
        yield Plain(path.strip("/").replace("/", " / "))
    folders = _trail(entity)
    if folders and not paths:
        yield Trail(folders)


_BROWSE_PATHS: Final = ("browsePaths", "browsePathsV2")


def _trail(entity: "Entity") -> tuple[Urn | str, ...]:
    return tuple(
        urn_of(folder) or folder
        for folder in newer_folders({"browsePathsV2": _raw(entity, "browsePathsV2")})
    )


def _custom(entity: "Entity") -> Iterator[Part]:
    """Yield the custom properties of all aspects."""
    properties: dict[str, object] = {}
    for name in sorted(entity.aspects):
        properties |= _dict(_raw(entity, name).get("customProperties"))
    facts = [
        Fact(str(key), values_of(str(key), properties[key])) for key in sorted(properties, key=str)
    ]
    if facts:
        yield Title("Properties", f"{len(facts):,}")
        yield from (fact for fact in facts if fact.values)


def _property_parts(entity: "Entity") -> Iterator[Part]:
    facts = []
    for element in _list(entity, "structuredProperties", "properties"):
        assignment = _dict(element)
        urn = urn_of(assignment.get("propertyUrn"))
        values = values_of("values", assignment.get("values"))
        if urn is not None and values:
            facts.append(Fact(urn.name.rpartition(".")[2], values))
    if facts:
        yield Title("Structured properties", f"{len(facts):,}")
        yield from facts


def _aspects(entity: "Entity", skipped: frozenset[str]) -> Iterator[Part]:
    rank = {name: at for at, name in enumerate(ORDER)}
    names = sorted(entity.aspects, key=lambda name: (rank.get(name, len(rank)), name))
    for name in names:
        if name in _TOLD | _NOT_IN_WORDS | skipped or name.endswith("Key"):
            continue
        parts = list(_aspect_parts(entity, name))
        if parts:
            yield Title(title_of(name))
            yield from parts


def _aspect_parts(entity: "Entity", name: str) -> Iterator[Part]:
    raw = _raw(entity, name)
    skipped = _TEXTS
    match name:
        case "schemaMetadata":
            yield from _schema(raw)
            return
        case "editableSchemaMetadata":
            columns = _list(entity, name, "editableSchemaFieldInfo")
            yield Fact("columns", (Plain(f"{len(columns):,}"),))
            skipped = frozenset(("editableSchemaFieldInfo",))
        case "upstreamLineage":
            yield from _upstreams(raw)
            skipped = frozenset(("upstreams", "fineGrainedLineages"))
        case "viewProperties" if raw.get("viewLogic"):
            # The formatted logic repeats it.
            skipped = frozenset(("formattedViewLogic",))
        case "dataJobInputOutput":
            skipped = frozenset(("fineGrainedLineages",))
        case "corpUserInfo" | "corpUserEditableInfo":
            skipped = frozenset(("customProperties",))
        case "inputFields":
            skipped = frozenset(("fields",))
            yield Fact("columns", _mentions(entity, name, "fields"))
        case _:
            pass
    yield from facts_of(raw, skipped | _own_name(entity, raw))


def _own_name(entity: "Entity", raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of an aspect that only repeat the name at the top of the page."""
    return frozenset(key for key in _NAMES if raw.get(key) == entity.name)


def _schema(raw: Mapping[str, Any]) -> Iterator[Part]:
    yield from facts_of(
        raw,
        frozenset(("fields", "platformSchema", "platform", "foreignKeys", "foreignKeysSpecs")),
    )
    fields = raw.get("fields")
    if isinstance(fields, list):
        yield Fact("columns", (Plain(f"{len(fields):,}"),))
    for member in _dict(raw.get("platformSchema")).values():
        for text in ("documentSchema", "schema", "tableSchema", "rawSchema"):
            code = _dict(member).get(text)
            if isinstance(code, str) and code.strip():
                yield Code(code, "json" if code.lstrip().startswith(("{", "[")) else "sql")
                return


def _upstreams(raw: Mapping[str, Any]) -> Iterator[Part]:
    upstreams = raw.get("upstreams")
    values = tuple(
        Mention(urn, ownership_name(_dict(upstream).get("type")))
        for upstream in (upstreams if isinstance(upstreams, list) else ())
        if (urn := urn_of(_dict(upstream).get("dataset"))) is not None
    )
    if values:
        yield Fact("", values)


def _storage_parts(entity: "Entity", raw_hint: str) -> Iterator[Part]:
    yield Title("URN")
    yield Fact("", (Plain(str(entity.urn), "dim"),))
    if not entity.aspects:
        return
    yield Title("Stored", raw_hint)
    yield Fact("aspects", (Plain(", ".join(sorted(entity.aspects)), "dim"),))
    stamps = [aspect.created for aspect in entity.aspects.values() if aspect.created is not None]
    newest = max((stamp.time for stamp in stamps), default=0)
    if newest > 0:
        yield Fact("written last", (Moment(newest),))


def _raw(entity: "Entity", aspect: str) -> dict[str, Any]:
    return _dict(entity.raw(aspect))


def _list(entity: "Entity", aspect: str, field: str) -> list[Any]:
    value = _raw(entity, aspect).get(field)
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# These aspects are shown in the table of columns.
_SHOWN_AS_COLUMNS: Final = frozenset(("schemaMetadata", "editableSchemaMetadata"))


def entity_report(
    entity: "Entity", names: Mapping[Urn, str], health: "Health | None" = None
) -> Report:
    """Return a report on an entity for a command: header, health problems, description, columns,
    links and details. `names` are the names of the entities that it refers to."""
    shown_aspects = ", ".join(name for name in sorted(entity.aspects) if not name.endswith("Key"))
    parts = [
        *_header(entity),
        *(_health_lines(health) if health is not None and not health.is_sound else ()),
        Title("Description"),
        *description_parts(
            entity.ingested_description,
            entity.edited_description,
            _stamp_pieces(_find_edit_aspect(entity), names),
            is_only=has_one_description(entity.entity_type),
        ),
        *_columns_parts(entity),
        *_link_lines(entity, names),
        *detail_parts(entity, _SHOWN_AS_COLUMNS),
    ]
    hint = text_line((f"aspects: {shown_aspects}; --aspect NAME shows one", "dim"))
    return Report(parts=parts, names=names, remarks=("", hint))


def aspects_report(urn: str | Urn, aspects: "Sequence[AspectRead]", names: ActorNames) -> Report:
    """Return a report on aspects as stored: one below the other, or as one JSON object by name."""
    document = {
        "urn": str(urn),
        "entityName": Urn.parse(urn).entity_type,
        "aspects": {
            aspect.name: {
                "name": aspect.name,
                "version": aspect.version,
                "value": aspect.value,
                "created": msgspec.to_builtins(aspect.created),
            }
            for aspect in aspects
        },
    }
    parts: list[ReportPart] = []
    for aspect in aspects:
        head = [(aspect.name, "bold"), version_label(aspect.version), *_stamp_pieces(aspect, names)]
        value = orjson.dumps(aspect.value, option=orjson.OPT_INDENT_2).decode()
        parts += [text_line(*join_pieces(head), wraps=True), Code(value, "json")]
    return Report(parts=parts, document=document)


def description_parts(
    ingested: str | None,
    edited: str | None,
    stamp: Iterable[Piece] = (),
    *,
    is_only: bool = False,
) -> Iterator[ReportPart]:
    """Yield the edited and the ingested description, each under its label; `stamp` says who wrote
    the edited one and when. With `is_only` the entity type has a single description, which has no
    label."""
    if is_only and (text := edited or ingested):
        yield Prose(text)
        return
    if edited:
        yield text_line(*join_pieces([(f"{EDITED} edited", "bold"), *stamp]), wraps=True)
        yield Prose(edited)
    if ingested:
        yield text_line(("from ingestion", "bold"))
        yield Prose(ingested)
    if not (edited or ingested):
        yield text_line(("no description", "dim italic"))


def _header(entity: "Entity") -> Iterator[ReportPart]:
    yield text_line((entity.name, "bold underline"), wraps=True)
    kind = entity.entity_type
    own_kind = entity.kind if entity.kind != kind else ""
    facts: list[str | None] = [singular(kind), own_kind, entity.platform, entity.urn.origin]
    yield text_line(*join_pieces(facts), wraps=True)
    # Never wrapped, so that it can be copied.
    yield text_line((str(entity.urn), "dim"))
    if entity.removed:
        yield text_line(("removed: hidden from search and browse", "bold red"))
    if entity.deprecation is not None:
        yield text_line(("deprecated: ", "bold red"), entity.deprecation, wraps=True)
    owners: list[Value] = [
        Mention(urn, ownership(owner.type))
        if (urn := urn_of(owner.owner)) is not None
        else Plain(f"{owner.owner} ({ownership(owner.type)})")
        for owner in entity.owners
    ]
    yield Fact("owners", tuple(owners) or (Plain(NOBODY),))
    labels = {"tags": entity.tags, "terms": entity.terms, "domains": entity.domains}
    for label, urns in labels.items():
        if urns:
            yield Fact(label, tuple(map(Mention, urns)))
    yield from folder_facts(entity)


_LABEL_TYPES: Final = ("tag", "glossaryTerm", "domain", "dataProduct")
# Half the brightness of white, by the weights of `ink_on`.
_MIDDLE: Final = 127_500
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")


def mention_name(entity: "Entity") -> str:
    """Return the name of an entity that another one mentions. Of a label that does not exist any
    more it says so; people are often mentioned without being in a catalog."""
    is_gone = entity.entity_type in _LABEL_TYPES and not entity.exists
    return f"{entity.name} (gone)" if is_gone else entity.name


def tag_colour(entity: "Entity") -> str:
    """Return the colour of a tag, as `#ff0000`; empty if it has none."""
    colour = _raw(entity, "tagProperties").get("colorHex")
    return colour if isinstance(colour, str) and _COLOUR.fullmatch(colour) else ""


def ink_on(colour: str) -> str:
    """Return the colour of a text that can be read on a colour: black or white."""
    red, green, blue = bytes.fromhex(colour[1:])
    return "#000000" if 299 * red + 587 * green + 114 * blue > _MIDDLE else "#ffffff"


def folder_facts(entity: "Entity") -> Iterator[Fact]:
    """Yield the folders that an entity is in, a fact for each of its paths."""
    folders = _trail(entity)
    if any(isinstance(folder, Urn) for folder in folders):
        paths = stored_paths(entity.urn, {name: _raw(entity, name) for name in _BROWSE_PATHS})
        yield from (Fact("folder", (Plain(path),)) for path in paths)
        yield Fact("folder", (Trail(folders),))
    else:
        yield from (Fact("folder", (Plain(path),)) for path in entity.browse_paths)


def _health_lines(health: "Health") -> Iterator[ReportPart]:
    """Yield the health problems, each with the URN of the entity that has it."""
    yield Title("Health", ", ".join(health.sentences()))
    for problem in problems(health):
        since = problem.day(lambda at: moment(millis_of(at)))
        facts = [problem.name, *problem.facts, f"since {since}" if since else ""]
        yield text_line((f"{problem.verdict}  ", "bold red"), *join_pieces(facts), wraps=True)
        yield text_line("  ", (str(problem.urn), "dim"))


def _columns_parts(entity: "Entity") -> Iterator[ReportPart]:
    schema = entity.schema
    if schema.columns:
        edited = f", {EDITED} edited" if any(column.edited for column in schema) else ""
        counts = f"{len(schema)} columns, {schema.documented} documented{edited}"
        yield Title("Schema", counts)
        yield page_columns(schema)
        for orphan in schema.orphans:
            gone = ("has edits, but is no longer a column: ", "dim")
            yield text_line(gone, orphan.field_path)


def _link_lines(entity: "Entity", names: ActorNames) -> Iterator[ReportPart]:
    if entity.links:
        yield Title("Links")
    for link in entity.links:
        author = author_of(link.create_stamp, names)
        pieces: list[Piece] = [link.description, (link.url, "underline"), (author, "dim")]
        yield text_line(*join_pieces(pieces))


def _find_edit_aspect(entity: "Entity") -> "AspectRead | None":
    kind = entity.entity_type
    return entity.aspects.get(f"editable{kind[:1].upper()}{kind[1:]}Properties")


def _stamp_pieces(aspect: "AspectRead | None", names: ActorNames) -> tuple[Piece, ...]:
    if aspect is None or aspect.created is None:
        return ()
    proposer = proposer_of(aspect.run_id)
    proposal = f"proposed by {proposer}" if proposer else ""
    return actor_of(aspect.created, names), proposal, moment(aspect.created.time)
