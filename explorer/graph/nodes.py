"""What a node of a graph says of itself: read off its URN, and completed from the catalog."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from explorer.client.entity import SUMMARY_ASPECTS, Entity
from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog

__all__ = ["add_details", "details", "identity", "read_details"]

_ASPECTS = (*SUMMARY_ASPECTS, "glossaryTerms", "domains")
_DATASET = "urn:li:dataset:(urn:li:dataPlatform:"


def identity(urn: str) -> dict[str, Any]:
    """`type`, `name`, and where the key has them `platform` and `origin`, from the URN alone.

    A graph may have tens of thousands of nodes, nearly all of them datasets, so that their form
    is taken apart here without making a `Urn` of each.
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
    """What the catalog knows of a node beyond its URN.

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


def add_details(graph: "nx.Graph", entities: Mapping[Urn, Entity]) -> None:
    """Complete the nodes that are among `entities`; what nobody wrote of stays as it is."""
    for urn, entity in entities.items():
        if str(urn) in graph and entity.exists:
            graph.nodes[str(urn)].update(details(entity))


async def read_details(
    catalog: "AsyncCatalog", graph: "nx.Graph", urns: Iterable[str] | None = None
) -> None:
    """Complete the nodes named, or all, from the catalog. One request for a hundred nodes."""
    wanted = Urn.parse_all(graph.nodes if urns is None else urns)
    add_details(graph, await catalog.entities(wanted, _ASPECTS))
