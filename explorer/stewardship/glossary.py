"""Exporting and importing the glossary as a YAML file, in the format of DataHub's business glossary
source.

Terms and groups (`nodes`) are nested as in the catalog. Their ids are always written, so that an
entry that is renamed or moved in the file keeps its identity. Entries that are not in the file are
not changed, and removed only on request.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml

from explorer.client.editable import LABEL_KINDS, domains_of, links_of
from explorer.client.journal import one_save
from explorer.client.records import Edit
from explorer.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidUrn,
    NotFound,
    ServerFault,
)
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.stewardship.yaml_document import LinedText, load

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

_NODE, _TERM = "urn:li:glossaryNode:", "urn:li:glossaryTerm:"
_USER, _GROUP = "urn:li:corpuser:", "urn:li:corpGroup:"
_DOMAIN: Final = "urn:li:domain:"
_RELATIONS: Final = {
    "inherits": "isRelatedTerms",
    "contains": "hasRelatedTerms",
    "values": "values",
    "related_terms": "relatedTerms",
}
_SOURCE: Final = {
    "term_source": "termSource",
    "source_ref": "sourceRef",
    "source_url": "sourceUrl",
}
_OF_BOTH: Final = ("id", "name", "description", "owners", "knowledge_links", "custom_properties")
_OF_NODE: Final = (*_OF_BOTH, "nodes", "terms")
_OF_TERM: Final = (*_OF_BOTH, *_SOURCE, *_RELATIONS, "domain")
_OF_FILE: Final = ("version", "source", "owners", "url", "source_type", "nodes", "terms")
_ASPECTS: Final = (
    *("glossaryTermInfo", "glossaryNodeInfo", "glossaryRelatedTerms", "ownership"),
    *("institutionalMemory", "domains", "status"),
)
_ODD_LINE_ENDS: Final = re.compile("[\r\x85\u2028\u2029]")
_DEFAULT_KIND: Final = "DEVELOPER"

GlossaryWhat = Literal[
    "new",
    "name",
    "description",
    "parent",
    "owners",
    "links",
    "domain",
    "source",
    "properties",
    "relations",
    "retired",
]
"""The properties that can differ between the file and the catalog."""

_OF_ONE: Final = (InvalidInput, NotFound, Conflict, Forbidden, ServerFault)
# These are written only when a term is created.
_NOT_WRITTEN: Final = frozenset({"source", "properties", "relations"})


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A glossary term or group.

    `parent` and `domain` are URNs, empty for none. `owners` are `<URN> <ownership type>`, `links`
    `<address> <label>`, as in `Edit`. `source` and `relations` have the keys used in the file;
    related terms are URNs. `lines` has the line numbers of its owners and its domain in the file.
    """

    urn: Urn
    name: str
    description: str = ""
    parent: str = ""
    owners: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    domain: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def is_term(self) -> bool:
        """Whether it is a term rather than a group."""
        return self.urn.entity_type == "glossaryTerm"


@dataclass(frozen=True, slots=True)
class GlossaryChange:
    """One difference of an entry between the catalog (`before`) and the file (`after`)."""

    entry: GlossaryEntry
    what: GlossaryWhat
    before: str | tuple[str, ...]
    after: str | tuple[str, ...]

    @property
    def is_written(self) -> bool:
        """Whether applying the file makes this change.

        The source, properties and relations of a term are written only when it is created.
        """
        return self.what not in _NOT_WRITTEN


@dataclass(slots=True)
class GlossaryOutcome:
    """The result of applying a file: the edits made, and the changes that failed with reasons."""

    edits: list[Edit] = field(default_factory=list)
    failed: list[tuple[GlossaryChange, str]] = field(default_factory=list)


async def read_glossary(catalog: "AsyncCatalog") -> tuple[GlossaryEntry, ...]:
    """Return all glossary terms and groups that are not soft-deleted, and all groups above them, by
    name.

    A few requests for each thousand.

    Example: `steward.glossary()`
    """
    urns: list[Urn] = []
    for kind in ("glossaryNode", "glossaryTerm"):
        urns += [urn async for urn in catalog.urns(kind)]
    entries: dict[str, GlossaryEntry] = {}
    while urns:
        entities = await catalog.entities(urns, _ASPECTS)
        for urn, entity in entities.items():
            entries[str(urn)] = _entry_of(entity)
        above = {entry.parent for entry in entries.values() if entry.parent}
        # A soft-deleted group may still contain entries that are not.
        urns = [Urn.parse(urn) for urn in sorted(above - entries.keys())]
        if urns and not await catalog.entities(urns, ("status",)):
            break
    return tuple(
        sorted(entries.values(), key=lambda entry: (entry.name.casefold(), str(entry.urn)))
    )


def _entry_of(entity: "Entity") -> GlossaryEntry:
    urn = entity.urn
    is_term = urn.entity_type == "glossaryTerm"
    info = entity.raw("glossaryTermInfo" if is_term else "glossaryNodeInfo") or {}
    related = entity.raw("glossaryRelatedTerms") or {}
    domains = domains_of(entity.raw("domains") or {})
    source = {key: info.get(at) for key, at in _SOURCE.items()} if is_term else {}
    relations = {key: tuple(related.get(at) or ()) for key, at in _RELATIONS.items()}
    return GlossaryEntry(
        urn,
        info.get("name") or urn.name,
        info.get("definition") or "",
        info.get("parentNode") or "",
        LABEL_KINDS["owners"].labels(entity.raw("ownership") or {}, None),
        links_of(entity.raw("institutionalMemory") or {}),
        domains[0] if domains and is_term else "",
        {key: text for key, text in source.items() if isinstance(text, str) and text},
        dict(info.get("customProperties") or {}),
        {key: urns for key, urns in relations.items() if urns},
    )


def write_glossary(entries: Iterable[GlossaryEntry]) -> str:
    """Return the content of the file. No requests.

    An entry whose parent is not among the entries, or that is below itself, is written at the top
    level.
    """
    entries_by_urn = {str(entry.urn): entry for entry in entries}
    below: dict[str, list[GlossaryEntry]] = {}
    for entry in entries_by_urn.values():
        below.setdefault(_parent_in(entry, entries_by_urn), []).append(entry)
    paths = {
        _path(entry, entries_by_urn): entry for entry in entries_by_urn.values() if entry.is_term
    }
    document: dict[str, Any] = {
        "version": "1",
        "owners": {"users": []},
        **_children("", (), below, paths),
    }
    text: str = yaml.dump(
        document, Dumper=_FileDumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text


class _FileDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes multi-line text as block scalars, and escapes Unicode line ends, which PyYAML writes
    unescaped and reads as spaces."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _ODD_LINE_ENDS.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_FileDumper.add_representer(str, _represent_text)


def _parent_in(entry: GlossaryEntry, entries_by_urn: Mapping[str, GlossaryEntry]) -> str:
    """Return the parent under which an entry is written; empty for the top level."""
    passed, at = {str(entry.urn)}, entry.parent
    while at:
        if at not in entries_by_urn:
            break
        if at in passed:
            # Of the entries in a cycle, the first by URN is written at the top level.
            return "" if str(entry.urn) == min(_circle(at, entries_by_urn)) else entry.parent
        passed.add(at)
        at = entries_by_urn[at].parent
    return entry.parent if entry.parent in entries_by_urn else ""


def _circle(start: str, entries_by_urn: Mapping[str, GlossaryEntry]) -> Iterator[str]:
    at = start
    while True:
        yield at
        at = entries_by_urn[at].parent
        if at == start:
            return


def _path(entry: GlossaryEntry, entries_by_urn: Mapping[str, GlossaryEntry]) -> str:
    names, at = [entry.name], _parent_in(entry, entries_by_urn)
    while at:
        names.append(entries_by_urn[at].name)
        at = _parent_in(entries_by_urn[at], entries_by_urn)
    return ".".join(reversed(names))


def _children(
    parent: str,
    inherited: tuple[str, ...],
    below: Mapping[str, Sequence[GlossaryEntry]],
    paths: Mapping[str, GlossaryEntry],
) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for entry in below.get(parent, ()):
        if entry.is_term:
            entries.setdefault("terms", []).append(_term_to_yaml(entry, inherited, paths))
        else:
            mapping = _to_yaml(entry, inherited) | _children(
                str(entry.urn), entry.owners, below, paths
            )
            entries.setdefault("nodes", []).append(mapping)
    # Groups are written before terms.
    return {key: entries[key] for key in ("nodes", "terms") if key in entries}


def _to_yaml(entry: GlossaryEntry, inherited: tuple[str, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": entry.urn.name
        if str(entry.urn) == _urn_of(entry.urn.name, entry)
        else str(entry.urn),
        "name": entry.name,
        "description": entry.description,
    }
    if entry.owners or inherited:
        # An entry without owners in the file inherits those of the group above.
        fields["owners"] = _owners_to_yaml(entry.owners)
    if entry.links:
        parts = (link.partition(" ") for link in entry.links)
        fields["knowledge_links"] = [{"label": label, "url": url} for url, _, label in parts if url]
    if entry.properties:
        fields["custom_properties"] = dict(entry.properties)
    return fields


def _urn_of(text: str, entry: GlossaryEntry) -> str:
    return f"urn:li:{entry.urn.entity_type}:{text}"


def _term_to_yaml(
    entry: GlossaryEntry, inherited: tuple[str, ...], paths: Mapping[str, GlossaryEntry]
) -> dict[str, Any]:
    mapping = _to_yaml(entry, inherited) | dict(entry.source)
    for key, urns in entry.relations.items():
        mapping[key] = [_term_id_to_yaml(urn, paths) for urn in urns]
    if entry.domain:
        mapping["domain"] = entry.domain
    return mapping


def _term_id_to_yaml(urn: str, paths: Mapping[str, GlossaryEntry]) -> str:
    short = urn.removeprefix(_TERM)
    # A dotted path of names refers to a term before an id does.
    is_of_another = short in paths and str(paths[short].urn) != urn
    return urn if is_of_another or short.startswith("urn:li:") else short


def _owners_to_yaml(owners: tuple[str, ...]) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = []
    for owner in owners:
        urn, _, kind = owner.rpartition(" ")
        # One element for each series of consecutive owners of the same type, to preserve the order.
        key = "groups" if urn.startswith(_GROUP) else "users"
        if not elements or elements[-1]["type"] != kind or key not in elements[-1]:
            elements.append({"type": kind, key: []})
        elements[-1][key].append(urn)
    return elements


def parse_glossary(text: str) -> tuple[GlossaryEntry, ...]:
    """Parse a file; each group comes before its content. No requests.

    Raises `InvalidInput`, with the position, for a file of another form: with unknown keys, missing
    names, or an entry that occurs twice.
    """
    value = load(text, has_lines=True)
    if not isinstance(value, dict):
        raise InvalidInput("it is not a glossary: it has no nodes and no terms")
    _check_keys(value, _OF_FILE, "the file")
    if str(value.get("version", "1")) != "1":
        raise InvalidInput(f"unknown version {value['version']!r}; it must be 1")
    reader = _GlossaryReader(value)
    reader.read(value, "", (), _read_owners(value.get("owners"), "the file") or {})
    return reader.entries()


class _GlossaryReader:
    """Reads the entries of a file, and resolves related terms when all entries are known."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        defaults = {"source_ref": file.get("source"), "source_url": file.get("url")}
        self._defaults = {
            key: str(default)
            for key, default in defaults.items()
            if isinstance(default, str) and default
        }
        self._source = str(file.get("source_type") or "INTERNAL")
        self._found: list[tuple[GlossaryEntry, dict[str, Any], str]] = []
        self._paths: dict[str, str] = {}
        self._seen: set[str] = set()

    def read(
        self,
        holder: Mapping[str, Any],
        parent: str,
        path: tuple[str, ...],
        above: Mapping[str, int],
    ) -> None:
        """Read the content of the file or of a group; `above` are the owners of the group."""
        for key, prefix in (("nodes", _NODE), ("terms", _TERM)):
            where = ".".join(path) or "the file"
            items = holder.get(key)
            if items is None:
                continue
            if not isinstance(items, list):
                raise InvalidInput(f"{key} of {where} is not a list")
            for item in items:
                self._read_one(item, prefix, parent, path, above)

    def _read_one(
        self, item: Any, prefix: str, parent: str, path: tuple[str, ...], above: Mapping[str, int]
    ) -> None:
        inside = ".".join(path) or "the file"
        if not isinstance(item, dict):
            raise InvalidInput(f"an entry in {inside} has no name")
        name = _text(item.get("name"), f"the name of an entry in {inside}")
        if not name.strip():
            raise InvalidInput(f"an entry in {inside} has no name")
        own_path = (*path, name)
        where = ".".join(own_path)
        _check_keys(item, _OF_TERM if prefix == _TERM else _OF_NODE, where)
        text = _text(item.get("id"), f"the id of {where}") or where
        urn = Urn.parse(text if text.startswith(prefix) else f"{prefix}{text}")
        if str(urn) in self._seen:
            raise InvalidInput(f"{urn} is in the file twice, the second time as {where}")
        self._seen.add(str(urn))
        own_owners = _read_owners(item.get("owners"), where)
        owners = above if own_owners is None else own_owners
        properties = item.get("custom_properties") or {}
        if not isinstance(properties, dict):
            raise InvalidInput(f"custom_properties of {where} is not a mapping")
        domain = _domain(_text(item.get("domain"), f"the domain of {where}"))
        entry = GlossaryEntry(
            urn,
            name,
            _text(item.get("description"), f"the description of {where}"),
            parent,
            tuple(owners),
            tuple(_read_links(item.get("knowledge_links"), where)),
            domain,
            self._read_source(item, where) if prefix == _TERM else {},
            {
                str(key): _text(_words_of(text), f"{key} of {where}")
                for key, text in properties.items()
            },
            lines={**owners, domain: _line_of(item.get("domain"))},
        )
        self._found.append((entry, item, where))
        if prefix == _TERM:
            self._paths[where] = str(urn)
        else:
            self.read(item, str(urn), own_path, owners)

    def _read_source(self, item: Mapping[str, Any], where: str) -> dict[str, str]:
        source = {key: _text(item.get(key), f"{key} of {where}") for key in _SOURCE}
        texts = {"term_source": self._source, **self._defaults}
        return texts | {key: text for key, text in source.items() if text}

    def entries(self) -> tuple[GlossaryEntry, ...]:
        """Return the entries read, with their relations resolved."""
        return tuple(
            replace(entry, relations=self._read_relations(item, where)) if entry.is_term else entry
            for entry, item, where in self._found
        )

    def _read_relations(self, item: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
        terms_by_relation: dict[str, tuple[str, ...]] = {}
        for key in _RELATIONS:
            words = _texts(item.get(key), f"{key} of {where}")
            if words:
                terms_by_relation[key] = tuple(
                    word if word.startswith(_TERM) else self._paths.get(word, f"{_TERM}{word}")
                    for word in words
                )
        return terms_by_relation


def _check_keys(value: Mapping[Any, Any], allowed: Sequence[str], where: str) -> None:
    odd = [str(key) for key in value if key not in allowed]
    if odd:
        raise InvalidInput(
            f"{where} has the unknown keys {', '.join(map(repr, odd))}; "
            f"known keys: {', '.join(allowed)}"
        )


def _text(value: Any, where: str) -> str:
    match value:
        case None:
            return ""
        case str():
            # Return a plain string, without its line.
            return str(value)
        case bool():
            raise InvalidInput(f"{where} is read as {str(value).lower()}; put it in quotes")
        case int() | float():
            return str(value)
    raise InvalidInput(f"{where} is not text; put it in quotes")


def _words_of(value: Any) -> Any:
    """Return a boolean as it is usually written in YAML; any other value unchanged."""
    return str(value).lower() if isinstance(value, bool) else value


def _line_of(value: Any) -> int:
    return value.line if isinstance(value, LinedText) else 0


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInput(f"{where} is not a list")
    return tuple(_text(text, where) for text in value)


def _domain(text: str) -> str:
    return text if not text or text.startswith(_DOMAIN) else f"{_DOMAIN}{text}"


def _read_owners(value: Any, where: str) -> dict[str, int] | None:
    """Return the owners in the file, each with its line, or `None` if it does not give any."""
    if value is None:
        return None
    owners: dict[str, int] = {}
    for element in value if isinstance(value, list) else [value]:
        if not isinstance(element, dict):
            raise InvalidInput(f"the owners of {where} are neither users nor groups")
        _check_keys(element, ("type", "typeUrn", "users", "groups"), f"the owners of {where}")
        kind = _text(
            element.get("typeUrn") or element.get("type"), f"the type of the owners of {where}"
        )
        for key, prefix in (("users", _USER), ("groups", _GROUP)):
            names = _texts(element.get(key), f"the owners of {where}")
            for name, owner in zip(names, element.get(key) or (), strict=True):
                urn = name if name.startswith((_USER, _GROUP)) else f"{prefix}{name}"
                owners.setdefault(f"{urn} {kind or _DEFAULT_KIND}", _line_of(owner))
    return owners


def _read_links(value: Any, where: str) -> Iterator[str]:
    for link in value or ():
        if not isinstance(link, dict):
            raise InvalidInput(f"each of the knowledge_links of {where} needs a label and a url")
        _check_keys(link, ("label", "url"), f"a link of {where}")
        url = _text(link.get("url"), f"a url of {where}")
        if not url or any(map(str.isspace, url)):
            raise InvalidInput(f"{url!r} of {where} is not an address; write spaces in it as %20")
        yield f"{url} {_text(link.get('label'), f'a label of {where}')}"


async def resolve_glossary(
    catalog: "AsyncCatalog", file: Iterable[GlossaryEntry], present: Iterable[GlossaryEntry]
) -> tuple[tuple[GlossaryEntry, ...], list[tuple[GlossaryChange, str]]]:
    """Return the entries of a file with the domains and owners that it gives by name resolved, and
    the refused changes, whose domain or owner the catalog does not have: each with the line and the
    reason. The returned entries lack the refused domains and owners.

    Names that an entry in the catalog has already are not looked up. A few requests, and two for
    each name that is no id.

    Example: `steward.resolve_glossary(entries, steward.glossary())`
    """
    entries = tuple(file)
    present_by_urn = {str(entry.urn): entry for entry in present}
    texts: dict[str, None] = {}
    for entry in entries:
        before = present_by_urn.get(str(entry.urn), GlossaryEntry(entry.urn, ""))
        owners = [owner for owner in entry.owners if owner not in before.owners]
        texts |= dict.fromkeys(owner.rpartition(" ")[0] for owner in owners)
        if entry.domain and entry.domain != before.domain:
            texts[entry.domain] = None
    found = {text: await _find_named(catalog, text) for text in texts}
    resolved, refused = [], list[tuple[GlossaryChange, str]]()

    def refuse(entry: GlossaryEntry, what: GlossaryWhat, text: str, why: str) -> None:
        line = f"line {entry.lines[text]}: " if entry.lines.get(text) else ""
        refused.append((GlossaryChange(entry, what, "", text), f"{line}{why}"))

    for entry in entries:
        owners = []
        for owner in entry.owners:
            who, _, kind = owner.rpartition(" ")
            urn, why = found.get(who, (who, ""))
            if why:
                refuse(entry, "owners", owner, why)
            else:
                owners.append(f"{urn} {kind}")
        domain, why = found.get(entry.domain, (entry.domain, ""))
        if why:
            refuse(entry, "domain", entry.domain, why)
        resolved.append(replace(entry, owners=tuple(owners), domain="" if why else domain))
    return tuple(resolved), refused


async def _find_named(catalog: "AsyncCatalog", text: str) -> tuple[str, str]:
    """Return the URN of an entity that a file names by URN, id or name, and an empty text; or the
    text itself and the reason why there is none."""
    kind, _, name = text.removeprefix("urn:li:").partition(":")
    with suppress(InvalidUrn):
        urn = Urn.parse(text)
        if (await catalog.entities([urn], ("status",)))[urn].exists:
            return text, ""
    try:
        return str(await catalog.urn_of(name, kind)), ""
    except (NotFound, InvalidInput) as error:
        return text, str(error)


def compare_glossary(
    file: Iterable[GlossaryEntry], catalog: Iterable[GlossaryEntry], *, retire: bool = False
) -> tuple[GlossaryChange, ...]:
    """Return the differences between the file and the catalog, in the order of the file. No
    requests.

    Owners and links that the file lacks are kept, and so are a description and a domain if the file
    has none. With `retire`, entries that the file lacks are included; applying soft-deletes them.
    """
    entries = {str(entry.urn): entry for entry in catalog}
    changes: list[GlossaryChange] = []
    urns: set[str] = set()
    for entry in file:
        urns.add(str(entry.urn))
        present = entries.get(str(entry.urn))
        if present is None:
            changes.append(GlossaryChange(entry, "new", "", entry.name))
        else:
            changes += _differences(entry, present)
    if retire:
        # Terms come before the groups that contain them.
        missing = [entry for urn, entry in entries.items() if urn not in urns]
        missing.sort(key=lambda entry: not entry.is_term)
        changes += [GlossaryChange(entry, "retired", entry.name, "") for entry in missing]
    return tuple(changes)


def _differences(entry: GlossaryEntry, present: GlossaryEntry) -> Iterator[GlossaryChange]:
    if entry.name != present.name:
        yield GlossaryChange(entry, "name", present.name, entry.name)
    if entry.description and entry.description != present.description:
        yield GlossaryChange(entry, "description", present.description, entry.description)
    if entry.parent != present.parent:
        yield GlossaryChange(entry, "parent", present.parent, entry.parent)
    if entry.domain and entry.domain != present.domain:
        yield GlossaryChange(entry, "domain", present.domain, entry.domain)
    if owners := tuple(owner for owner in entry.owners if owner not in present.owners):
        yield GlossaryChange(entry, "owners", present.owners, (*present.owners, *owners))
    if links := tuple(link for link in entry.links if link not in present.links):
        yield GlossaryChange(entry, "links", present.links, (*present.links, *links))
    mappings: tuple[tuple[GlossaryWhat, Mapping[str, Any], Mapping[str, Any]], ...] = (
        ("source", entry.source, present.source),
        ("properties", entry.properties, present.properties),
        ("relations", entry.relations, present.relations),
    )
    for what, mine, theirs in mappings:
        differing = {key: text for key, text in mine.items() if theirs.get(key) != text}
        if differing:
            before = tuple(f"{key}: {_join(theirs.get(key) or '')}" for key in differing)
            after = tuple(f"{key}: {_join(text)}" for key, text in differing.items())
            yield GlossaryChange(entry, what, before, after)


def _join(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


async def apply_glossary(
    catalog: "AsyncCatalog", changes: Iterable[GlossaryChange]
) -> GlossaryOutcome:
    """Write the changes of a file, as one save, which one undo reverses.

    A change that fails does not affect others. A value that somebody changed since the comparison
    is not overwritten and counts as a failure. Requests as for the single edits. Raises only errors
    that concern the whole server.
    """
    outcome = GlossaryOutcome()
    with one_save():
        for change in _order(changes):
            try:
                outcome.edits += [edit for edit in await _apply(catalog, change) if edit.changed]
            except _OF_ONE as error:
                outcome.failed.append((change, str(error)))
    return outcome


def _order(changes: Iterable[GlossaryChange]) -> list[GlossaryChange]:
    """Return the changes that are written, in an order in which they can be made and undone.

    New groups come first, each after its parent; then new terms, each after the terms it refers to;
    then the other changes.
    """
    to_write = [change for change in changes if change.is_written]
    terms = {
        str(change.entry.urn): change
        for change in to_write
        if change.what == "new" and change.entry.is_term
    }
    ordered = [change for change in to_write if change.what == "new" and not change.entry.is_term]
    visited: set[str] = set()
    for first in terms:
        waiting = [(first, False)]
        while waiting:
            urn, is_ready = waiting.pop()
            if is_ready:
                ordered.append(terms[urn])
            elif urn not in visited:
                visited.add(urn)
                waiting.append((urn, True))
                related = (urn for urns in terms[urn].entry.relations.values() for urn in urns)
                waiting += [(term, False) for term in related if term in terms]
    return ordered + [change for change in to_write if change.what != "new"]


async def _apply(catalog: "AsyncCatalog", change: GlossaryChange) -> list[Edit]:
    entry, urn = change.entry, change.entry.urn
    before = change.before if isinstance(change.before, str) else ""
    match change.what:
        case "new":
            return [await catalog.create_with(urn, _aspects_of(entry))]
        case "name":
            # If the name is the one in the URN, the aspect may not contain it.
            name_before = None if before == urn.name else before
            return [await catalog.rename(urn, entry.name, instead_of=name_before)]
        case "description":
            return [await catalog.describe(urn, entry.description, instead_of=before)]
        case "parent":
            return [await catalog.move(urn, entry.parent or None, instead_of=before)]
        case "domain":
            domains_before = (before,) if before else ()
            return [await catalog.set_domain(urn, entry.domain, instead_of=domains_before)]
        case "owners":
            edits = []
            for owner in change.after:
                if owner not in change.before:
                    owner_urn, _, kind = owner.rpartition(" ")
                    edits.append(await catalog.add_owners(urn, owner_urn, ownership=kind))
            return edits
        case "links":
            parts = [link.partition(" ") for link in change.after if link not in change.before]
            return [await catalog.add_link(urn, url, label) for url, _, label in parts]
        case "retired":
            done = await catalog.soft_delete(urn)
            was = "hidden" if done.was_removed else "shown"
            return [Edit.now(urn, "status", was, "hidden")]
    return []


def _aspects_of(entry: GlossaryEntry) -> dict[str, dict[str, Any]]:
    """Return the aspects of a new entry by name."""
    stamp = {"time": time.time_ns() // 1_000_000, "actor": UNKNOWN_ACTOR}
    info: dict[str, Any] = {"name": entry.name, "definition": entry.description}
    if entry.parent:
        info["parentNode"] = entry.parent
    if entry.properties:
        info["customProperties"] = dict(entry.properties)
    if not entry.is_term:
        aspects = {"glossaryNodeInfo": info}
    else:
        texts = {_SOURCE[key]: text for key, text in entry.source.items()}
        aspects = {"glossaryTermInfo": {"termSource": "INTERNAL", **info, **texts}}
    if entry.owners:
        aspects["ownership"] = LABEL_KINDS["owners"].with_labels(
            {}, entry.owners, None, adding=True
        )
    if entry.links:
        parts = (link.partition(" ") for link in entry.links)
        aspects["institutionalMemory"] = {
            "elements": [
                {"url": url, "description": label, "createStamp": stamp} for url, _, label in parts
            ]
        }
    if entry.domain:
        aspects["domains"] = {"domains": [entry.domain]}
    if entry.relations:
        aspects["glossaryRelatedTerms"] = {
            _RELATIONS[key]: list(urns) for key, urns in entry.relations.items()
        }
    return aspects
