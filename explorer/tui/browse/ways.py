"""The ways to an entity: at which places of the folders it stands."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.metadata.names import plural
from explorer.metadata.urn import Urn
from explorer.tui.browse.sources import NESTING

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["Way", "ways_to"]

_DEEPEST = 20
_HOLDERS = {
    "glossaryNode": ("glossaryNodeInfo", "parentNode"),
    "glossaryTerm": ("glossaryTermInfo", "parentNode"),
    "domain": ("domainProperties", "parentDomain"),
}


@dataclass(frozen=True, slots=True)
class Way:
    """From the top to an entity: folders by name, groups and containers by URN. `own` says that
    the last folder may be the entity's own name."""

    steps: tuple[str | Urn, ...]
    urn: Urn
    name: str
    own: bool = False


async def ways_to(catalog: "AsyncCatalog", urn: Urn) -> list[Way]:
    """Its browse paths first, then the groups, containers and domains it lies in. Two requests,
    and one for each of those."""
    entity = await catalog.entity(urn)
    name = entity.name
    found = []
    if urn.entity_type not in NESTING:
        top = plural(urn.entity_type)
        for path in await catalog.browse_paths(urn):
            folders = [part for part in path.split("/") if part]
            found.append(Way((top, *folders), urn, name, own=bool(folders)))
        if not found:
            found.append(Way((top,), urn, name))
    chain = await _chain(catalog, entity)
    if chain or urn.entity_type in NESTING:
        kind = chain[0].entity_type if chain else urn.entity_type
        found.append(Way((plural(kind), *chain), urn, name))
    for domain in entity.domains if urn.entity_type not in NESTING else ():
        above = await _chain(catalog, await catalog.entity(domain))
        found.append(Way((plural("domain"), *above, domain), urn, name))
    return found


async def _chain(catalog: "AsyncCatalog", entity: "Entity") -> tuple[Urn, ...]:
    """What holds an entity, from the top."""
    chain: list[Urn] = []
    holder = _holder(entity)
    while holder is not None and holder not in chain and len(chain) < _DEEPEST:
        chain.append(holder)
        holder = _holder(await catalog.entity(holder))
    return tuple(reversed(chain))


def _holder(entity: "Entity") -> Urn | None:
    aspect, field = _HOLDERS.get(entity.entity_type, ("container", "container"))
    held: Any = entity.aspects[aspect].value if aspect in entity.aspects else {}
    urns = list(Urn.parse_all([held[field]])) if isinstance(held.get(field), str) else []
    return urns[0] if urns else None
