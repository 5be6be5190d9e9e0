"""The attributes of a graph's nodes: read off their URNs, and completed from the catalog."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from explorer.client.entity import SUMMARY_ASPECTS, Entity
from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog

__all__ = [
    "DETAIL_ASPECTS",
    "add_details",
    "check_directed",
    "details",
    "distinctions",
    "identity",
    "known_attributes",
    "named_apart",
    "read_details",
]

DETAIL_ASPECTS = (*SUMMARY_ASPECTS, "glossaryTerms", "domains")
"""The aspects that `details` are read from."""

_DATASET = "urn:li:dataset:(urn:li:dataPlatform:"


def identity(urn: str) -> dict[str, Any]:
    """Return `type`, `name`, and where the key has them `platform` and `origin`, from the URN.

    A graph may have tens of thousands of nodes, nearly all of them datasets, so the URN of a
    dataset is split here without making a `Urn` of it.
    """
    if urn.startswith(_DATASET):
        platform, comma, rest = urn[len(_DATASET) : -1].partition(",")
        name, last_comma, origin = rest.rpartition(",")
        if comma and last_comma and "," not in name and "(" not in platform:
            return {"type": "dataset", "name": name, "platform": platform, "origin": origin}
    try:
        parsed = Urn.parse(urn)
    except InvalidUrn:
        return {"type": urn.split(":")[2] if urn.count(":") > 1 else "", "name": urn}
    found: dict[str, Any] = {"type": parsed.entity_type, "name": parsed.name}
    if parsed.platform is not None:
        found["platform"] = parsed.platform
    if parsed.origin is not None:
        found["origin"] = parsed.origin
    return found


def details(entity: Entity) -> dict[str, Any]:
    """Return what the catalog knows of a node beyond its URN.

    name, kind, platform     text
    description              text, what people wrote where they wrote any; "" where there is none
    owners, tags, terms      lists of URNs, as written
    domain                   the URN of the first domain; absent where there is none
    deprecated, removed      booleans
    """
    found: dict[str, Any] = {
        "name": entity.name,
        "kind": entity.kind,
        "description": entity.description,
        "owners": [owner.owner for owner in entity.owners],
        "tags": [str(urn) for urn in entity.tags],
        "terms": [str(urn) for urn in entity.terms],
        "deprecated": entity.deprecation is not None,
        "removed": entity.removed,
    }
    if entity.platform is not None:
        found["platform"] = entity.platform
    if entity.domains:
        found["domain"] = str(entity.domains[0])
    return found


def known_attributes(
    urns: Iterable[str], entities: Mapping[Urn, Entity]
) -> dict[str, dict[str, Any]]:
    """Return the attributes of each entity, with `exists`: whether anything is stored of it. Pure.

    `entities` are those of `urns` that the catalog knows, with their `DETAIL_ASPECTS`.
    """
    stored = {str(urn): details(entity) for urn, entity in entities.items() if entity.exists}
    return {urn: {**identity(urn), **stored.get(urn, {}), "exists": urn in stored} for urn in urns}


def distinctions(nodes: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return what tells entities of one name and type apart, by URN. Pure.

    It is whichever of platform, environment and path differs among them, or all that differ where
    one is not enough: `hive`, `DEV`, `analytics.staging`. The path is the rest of the URN's key.
    Entities whose name and type nobody shares are left out.
    """
    named: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for urn, attributes in nodes:
        named[tuple(str(attributes.get(key, "")) for key in ("name", "column", "type"))].append(urn)
    found: dict[str, str] = {}
    for (name, *_), urns in named.items():
        if len(urns) < 2 or not name:
            continue
        facts = {urn: _place(urn, name) for urn in urns}
        counts = [len(set(column)) for column in zip(*facts.values(), strict=True)]
        enough = [at for at, count in enumerate(counts) if count == len(urns)][:1]
        chosen = enough or [at for at, count in enumerate(counts) if count > 1]
        for urn, place in facts.items():
            found[urn] = " · ".join(place[at] for at in chosen if place[at])
    return found


def named_apart(
    nodes: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[str, Mapping[str, Any]]:
    """Return the attributes of nodes by URN, in the `name` of each that shares it with another
    what tells them apart: `orders (analytics.staging)`. Pure."""
    held = dict(nodes)
    apart = distinctions(held.items())
    return held | {
        urn: {**held[urn], "name": f"{held[urn]['name']} ({apart[urn]})"} for urn in apart
    }


def _place(urn: str, name: str) -> tuple[str, str, str]:
    """Return the platform, the environment and the path in a URN, the path without the name."""
    for parsed in Urn.parse_all([urn]):
        if parsed.entity_type == "schemaField":
            return _place(parsed.parts[0], name)
        origin, platform = parsed.origin or "", parsed.platform or ""
        rest = [Urn.label(part) for part in parsed.parts]
        path = "/".join(part for part in rest if part not in (origin, platform))
        for separator in "./":
            path = path.removesuffix(f"{separator}{name}")
        return platform, origin, path
    return "", "", urn


def add_details(graph: "nx.Graph", entities: Mapping[Urn, Entity]) -> None:
    """Add the details of `entities` to their nodes; nodes of which nothing is stored stay as they
    are."""
    for urn, entity in entities.items():
        if str(urn) in graph and entity.exists:
            graph.nodes[str(urn)].update(details(entity))


async def read_details(
    catalog: "AsyncCatalog", graph: "nx.Graph", urns: Iterable[str] | None = None
) -> None:
    """Add details from the catalog to the nodes named, or to all. One request for a hundred."""
    targets = Urn.parse_all(graph.nodes if urns is None else urns)
    add_details(graph, await catalog.entities(targets, DETAIL_ASPECTS))


def check_directed(graph: "nx.DiGraph | nx.MultiDiGraph") -> None:
    """Refuse graphs whose edges have no direction."""
    if not graph.is_directed():
        raise InvalidInput("the graph is undirected; give a DiGraph or a MultiDiGraph")
