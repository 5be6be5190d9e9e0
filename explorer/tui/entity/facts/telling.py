"""Everything that is stored of an entity, in words, in the order in which people look for it."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from explorer.metadata.urn import Urn
from explorer.metadata.words import ownership
from explorer.tui.entity.facts.part import (
    Code,
    Fact,
    Heading,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Value,
    Web,
)
from explorer.tui.entity.facts.values import facts_of, stamp_of, urn_of, values_of
from explorer.tui.entity.facts.wording import ORDER, title_of

if TYPE_CHECKING:
    from datetime import datetime

    from explorer.client.entity import Entity
    from explorer.client.records import Health

__all__ = ["role", "tell", "tell_health"]

# Said in the first sections, and of measures in tabs of their own.
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


def tell(entity: "Entity") -> list[Part]:
    """The parts of the overview; costs no request and knows URNs, not names."""
    return [
        *_state(entity),
        *_texts(entity),
        *_links(entity),
        *_standing(entity),
        *_custom(entity),
        *_structured(entity),
        *_aspects(entity),
        *_stored(entity),
    ]


def tell_health(health: "Health") -> Iterator[Part]:
    """What is wrong with an entity; nothing where nothing is known to be. Each is a way to it."""
    for sentence in health.sentences():
        yield Fact("wrong", (Plain(sentence),), loud=True)
    for failing in health.failing:
        verb = "error" if failing.is_error else "fails"
        word = "failing since, or earlier" if failing.since_or_earlier else "failing since"
        yield Fact(verb, (Mention(failing.urn, failing.found), *_since(failing.since, word)))
    for one in health.incidents:
        facts = " · ".join(part for part in (one.kind, one.priority, one.stage) if part)
        yield Fact("incident", (Mention(one.urn, facts), *_since(one.since, "active since")))


def _since(moment: "datetime | None", words: str) -> tuple[Value, ...]:
    return () if moment is None else (Stamped(round(moment.timestamp() * 1000), remark=words),)


def role(kind: object) -> str:
    """What an owner is called by the kind of ownership: `technical owner`."""
    return ownership(kind) if isinstance(kind, str) else ""


def _state(entity: "Entity") -> Iterator[Part]:
    if entity.aspects and _held(entity, "status").get("removed") is True:
        loud = Plain("soft-deleted: hidden from search and browse, found by its URN alone")
        yield Fact("state", (loud,), loud=True)
    held = _held(entity, "deprecation")
    if held.get("deprecated") is not True:
        return
    yield Heading("Deprecated")
    note = held.get("note")
    yield Prose(note if isinstance(note, str) else "", "no reason is given")
    yield from facts_of(held, frozenset(("deprecated", "note", "actor")))
    actor = urn_of(held.get("actor"))
    if actor is not None:
        yield Fact("by", (Mention(actor),))


def _texts(entity: "Entity") -> Iterator[Part]:
    edited, ingested = entity.edited_description, entity.ingested_description
    word = "Definition" if entity.entity_type.startswith("glossary") else "Description"
    if entity.entity_type == "corpuser":
        ingested = ""
    if edited:
        yield Heading(word, "✎ edited")
        yield Prose(edited)
    if ingested or not (edited or entity.entity_type in ("corpuser", "dataPlatform")):
        yield Heading(word, "ingested" if ingested else "")
        yield Prose(ingested, "no description")
    for one in _list(entity, "documentation", "documentations"):
        text = one.get("documentation") if isinstance(one, dict) else None
        if isinstance(text, str):
            source = _dict(one.get("attribution")).get("source")
            yield Heading("Documentation", Urn.label(source) if isinstance(source, str) else "")
            yield Prose(text)
    found = _ADDRESS.findall(f"{edited}\n{ingested}"[:_LOOKED_FOR_ADDRESSES])
    addresses = tuple(dict.fromkeys(one.rstrip(".,;:!?") for one in found))
    if addresses:
        yield Heading("Addresses in the text")
        yield Fact("", tuple(Web(one) for one in addresses[:_ADDRESSES_AT_MOST]))


def _links(entity: "Entity") -> Iterator[Part]:
    links: list[Value] = []
    for one in _list(entity, "institutionalMemory", "elements"):
        held = _dict(one)
        url, label = held.get("url"), held.get("description")
        if isinstance(url, str):
            added = stamp_of(held.get("createStamp"))
            links.append(Web(url, label if isinstance(label, str) else "", added))
    if links:
        yield Heading("Links", f"{len(links):,}")
        yield Fact("", tuple(links))


def _standing(entity: "Entity") -> Iterator[Part]:
    """Whose it is, what it is called and where it belongs."""
    owners = tuple(
        Mention(urn, role(_dict(one).get("type")))
        for one in _list(entity, "ownership", "owners")
        if (urn := urn_of(_dict(one).get("owner"))) is not None
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
        ("called", values_of("typeNames", _held(entity, "subTypes").get("typeNames"))),
        ("filed under", tuple(_folders(entity))),
    ]
    stamp = stamp_of(_held(entity, "ownership").get("lastModified"))
    if owners and stamp is not None:
        labels.insert(1, ("owners set", (stamp,)))
    facts = [Fact(label, values) for label, values in labels if values]
    if facts:
        yield Heading("Standing")
        yield from facts


def _mentions(entity: "Entity", aspect: str, field: str) -> tuple[Value, ...]:
    return values_of(field, _held(entity, aspect).get(field))


def _folders(entity: "Entity") -> Iterator[Value]:
    paths = [path for path in _list(entity, "browsePaths", "paths") if isinstance(path, str)]
    for path in paths:
        yield Plain(path.strip("/").replace("/", " / "))
    steps = [_dict(one).get("id") for one in _list(entity, "browsePathsV2", "path")]
    names = [Urn.label(step) for step in steps if isinstance(step, str)]
    if names and not paths:
        yield Plain(" / ".join(names))


def _custom(entity: "Entity") -> Iterator[Part]:
    """What ingestion kept of its own, from whichever aspect."""
    held: dict[str, object] = {}
    for name in sorted(entity.aspects):
        held |= _dict(_held(entity, name).get("customProperties"))
    facts = [Fact(str(key), values_of(str(key), held[key])) for key in sorted(held, key=str)]
    if facts:
        yield Heading("Properties", f"{len(facts):,}")
        yield from (fact for fact in facts if fact.values)


def _structured(entity: "Entity") -> Iterator[Part]:
    facts = []
    for one in _list(entity, "structuredProperties", "properties"):
        held = _dict(one)
        urn = urn_of(held.get("propertyUrn"))
        values = values_of("values", held.get("values"))
        if urn is not None and values:
            facts.append(Fact(urn.name.rpartition(".")[2], values))
    if facts:
        yield Heading("Structured properties", f"{len(facts):,}")
        yield from facts


def _aspects(entity: "Entity") -> Iterator[Part]:
    rank = {name: at for at, name in enumerate(ORDER)}
    names = sorted(entity.aspects, key=lambda name: (rank.get(name, len(rank)), name))
    for name in names:
        if name in _TOLD or name in _NOT_IN_WORDS or name.endswith("Key"):
            continue
        parts = list(_parts_of(entity, name))
        if parts:
            yield Heading(title_of(name))
            yield from parts


def _parts_of(entity: "Entity", name: str) -> Iterator[Part]:
    held = _held(entity, name)
    skipped = _TEXTS
    match name:
        case "schemaMetadata":
            yield from _schema(held)
            return
        case "editableSchemaMetadata":
            written = _list(entity, name, "editableSchemaFieldInfo")
            yield Fact("columns", (Plain(f"{len(written):,}"),))
            skipped = frozenset(("editableSchemaFieldInfo",))
        case "upstreamLineage":
            yield from _upstreams(held)
            skipped = frozenset(("upstreams", "fineGrainedLineages"))
        case "viewProperties" if held.get("viewLogic"):
            # As written; the formatted one says the same again.
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
    yield from facts_of(held, skipped | _own_name(entity, held))


def _own_name(entity: "Entity", held: Mapping[str, Any]) -> frozenset[str]:
    """The fields that say nothing but the name over the page."""
    return frozenset(key for key in _NAMES if held.get(key) == entity.name)


def _schema(held: Mapping[str, Any]) -> Iterator[Part]:
    yield from facts_of(
        held,
        frozenset(("fields", "platformSchema", "platform", "foreignKeys", "foreignKeysSpecs")),
    )
    fields = held.get("fields")
    if isinstance(fields, list):
        yield Fact("columns", (Plain(f"{len(fields):,}"),))
    for member in _dict(held.get("platformSchema")).values():
        for text in ("documentSchema", "schema", "tableSchema", "rawSchema"):
            code = _dict(member).get(text)
            if isinstance(code, str) and code.strip():
                yield Code(code, "json" if code.lstrip().startswith(("{", "[")) else "sql")
                return


def _upstreams(held: Mapping[str, Any]) -> Iterator[Part]:
    listed = held.get("upstreams")
    values = tuple(
        Mention(urn, role(_dict(one).get("type")))
        for one in (listed if isinstance(listed, list) else ())
        if (urn := urn_of(_dict(one).get("dataset"))) is not None
    )
    if values:
        yield Fact("", values)


def _stored(entity: "Entity") -> Iterator[Part]:
    yield Heading("URN")
    yield Fact("", (Plain(str(entity.urn), "dim"),))
    if not entity.aspects:
        return
    yield Heading("Stored", "8 Raw shows each aspect as it is")
    yield Fact("aspects", (Plain(", ".join(sorted(entity.aspects)), "dim"),))
    written = [one.created for one in entity.aspects.values() if one.created is not None]
    newest = max((stamp.time for stamp in written), default=0)
    if newest > 0:
        yield Fact("written last", (Moment(newest),))


def _held(entity: "Entity", aspect: str) -> dict[str, Any]:
    return _dict(entity.raw(aspect))


def _list(entity: "Entity", aspect: str, field: str) -> list[Any]:
    found = _held(entity, aspect).get(field)
    return found if isinstance(found, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
