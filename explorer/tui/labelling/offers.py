"""What may be put on: tags, glossary terms, people and groups, domains of the server."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.urn import Urn
from explorer.tui.labelling.choice import Kind

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["FOUND", "NOUNS", "TYPES", "Offer", "Offered", "Offers", "is_offered"]

TYPES: Mapping[Kind, tuple[str, ...]] = {
    "tags": ("tag",),
    "terms": ("glossaryTerm",),
    "owners": ("corpuser", "corpGroup"),
    "domain": ("domain",),
}
NOUNS: Mapping[Kind, tuple[str, str]] = {
    "tags": ("tag", "tags"),
    "terms": ("glossary term", "glossary terms"),
    "owners": ("owner", "owners"),
    "domain": ("domain", "domain"),
}
"""The words for one and for several; an entity is in one domain."""

FOUND: Mapping[Kind, tuple[str, str]] = {
    **NOUNS,
    "owners": ("person or group", "people and groups"),
    "domain": ("domain", "domains"),
}
"""The words for one and for several of those that may be put on."""

_ASPECTS: Mapping[Kind, str] = {
    "tags": "globalTags",
    "terms": "glossaryTerms",
    "owners": "ownership",
    "domain": "domains",
}
_FACETS: Mapping[Kind, str] = {
    "tags": "tags",
    "terms": "glossaryTerms",
    "owners": "owners",
    "domain": "domains",
}
_SHOWN = 60
_COMPLETED = 12
# What servers answer that do not know the question, or not these types of entities.
_REFUSALS = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class Offer:
    """One that may be put on. `uses` is how many entities have it, where that is known."""

    urn: str
    name: str
    about: str = ""
    uses: int | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """What was found for a text: at most sixty of `total`, the best first."""

    text: str
    offers: tuple[Offer, ...]
    total: int


def is_offered(entity_type: str, kind: Kind) -> bool:
    """Whether the model lets entities of a type have such a label."""
    from explorer.metadata.registry import load_registry

    registry = load_registry()
    if entity_type not in registry.entities:
        return True
    return _ASPECTS[kind] in registry.aspects_of(entity_type)


class Offers:
    """One kind of label, asked for while somebody types.

    How often each is used is asked once, with the first question.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._known: dict[str, Offer] = {}
        self._uses: dict[str, int] | None = None

    def known(self, urn: str) -> Offer:
        """What was read of one; its URN alone where nothing was."""
        offer = self._known.get(urn) or Offer(urn, Urn.label(urn))
        return replace(offer, uses=(self._uses or {}).get(urn))

    async def read(self, catalog: "AsyncCatalog", urns: Sequence[str]) -> None:
        """Read names and descriptions of these; one request for what is not known yet."""
        unknown = Urn.parse_all(urn for urn in urns if urn not in self._known)
        if unknown:
            for urn, entity in (await catalog.summaries(unknown)).items():
                text = str(urn)
                about = entity.description if entity.exists else "not in the catalog"
                self._known[text] = Offer(text, entity.name, about)

    async def matching(self, catalog: "AsyncCatalog", text: str) -> Offered:
        """What has a word of that beginning in its name, then where else it occurs; of everything
        the most used first. Two or three requests."""
        typed = text.strip()
        if not typed:
            return await self._everything(catalog)
        names, page, _ = await asyncio.gather(
            self._completed(catalog, typed),
            catalog.search(typed, entity=TYPES[self.kind], count=_SHOWN),
            self._read_uses(catalog),
        )
        urns = tuple(dict.fromkeys((*names, *(str(hit.urn) for hit in page))))
        await self.read(catalog, urns)
        # What only seems to begin so comes after what is called so.
        called = [urn for urn in urns if self.known(urn).name.lower() == typed.lower()]
        ordered = tuple(dict.fromkeys((*called, *urns)))[:_SHOWN]
        total = max(page.total, len(urns))
        return Offered(typed, tuple(self.known(urn) for urn in ordered), total)

    async def _everything(self, catalog: "AsyncCatalog") -> Offered:
        uses, page = await asyncio.gather(
            self._read_uses(catalog),
            catalog.search("*", entity=TYPES[self.kind], count=_SHOWN),
        )
        used = sorted(uses, key=lambda urn: (-uses[urn], urn))
        kinds = TYPES[self.kind]
        fitting = [str(urn) for urn in Urn.parse_all(used) if urn.entity_type in kinds]
        urns = tuple(dict.fromkeys((*fitting, *(str(hit.urn) for hit in page))))[:_SHOWN]
        await self.read(catalog, urns)
        offers = tuple(self.known(urn) for urn in urns)
        return Offered("", offers, max(page.total, len(urns)))

    async def _completed(self, catalog: "AsyncCatalog", text: str) -> tuple[str, ...]:
        try:
            found = await catalog.suggest(text, entities=TYPES[self.kind], limit=_COMPLETED)
        except _REFUSALS:
            return ()
        return tuple(str(one.urn) for one in found if one.urn is not None)

    async def _read_uses(self, catalog: "AsyncCatalog") -> dict[str, int]:
        if self._uses is None:
            try:
                facets = await catalog.facets("*", names=(_FACETS[self.kind],))
            except _REFUSALS:
                facets = ()
            self._uses = {value.value: value.count for facet in facets for value in facet.values}
        return self._uses
