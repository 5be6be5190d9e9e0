"""Entities found by name while one types, as entries of a list to choose from."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.markup import escape

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import line
from explorer.tui.find.pasted import urn_in
from explorer.tui.session import Session
from explorer.tui.shell.choosing import Choosing, Entry

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["EntityScreen", "entities_like", "entity_entries"]

ENTITIES = "Entities"
_FOUND = 12


async def entities_like(session: Session, typed: str, do: Callable[[Urn], None]) -> Sequence[Entry]:
    """Return entries for the entities that a search for `typed` finds first, or for the URN that it
    is; `do` is what each does. Two requests."""
    catalog = await session.catalog()
    urn = urn_in(typed)
    if urn is not None:
        urns = [urn]
    else:
        page = await catalog.search(typed, count=_FOUND)
        urns = [hit.urn for hit in page]
    return entity_entries(urns, await catalog.summaries(urns), do, ENTITIES)


def entity_entries(
    urns: Iterable[Urn],
    known: "dict[Urn, Entity]",
    do: Callable[[Urn], None],
    part: str,
) -> list[Entry]:
    """Return an entry for each of some entities, with what is known of them."""
    entries = []
    for urn in urns:
        entity = known.get(urn)
        name = entity.name if entity else urn.name
        kind = singular(entity.kind if entity else urn.entity_type)
        platform = (entity.platform if entity else urn.platform) or ""
        aside = " · ".join(filter(None, (part, kind, platform)))
        entries.append(Entry(line(name), "", part, line(aside), do=partial(do, urn), also=str(urn)))
    return entries


class EntityScreen(Choosing):
    """Asks for an entity: those `near` at hand, and whatever the catalog finds by what is typed."""

    def __init__(
        self,
        session: Session,
        title: str,
        near: Sequence[Entry],
        do: Callable[[Urn], None],
    ) -> None:
        super().__init__()
        self._title = title
        self._session = session
        self._near = near
        self._do = do

    def on_mount(self) -> None:
        """Say what is asked."""
        super().on_mount()
        self.query_one("Vertical").border_title = escape(line(self._title))

    def entries(self) -> Iterable[Entry]:
        """Those near."""
        return self._near

    def nothing_found(self, typed: str) -> str:
        """Whatever is typed is looked for."""
        return "No entity is called so." if typed else "Type a name, or paste a URN."

    async def further(self, typed: str) -> Sequence[Entry]:
        """What the catalog finds."""
        with self._session.reporting("looking for entities"):
            return await entities_like(self._session, typed, self._do)
        return ()
