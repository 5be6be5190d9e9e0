"""Tags, glossary terms and groups, domains and data products: made, renamed and moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.client.display import line
from explorer.client.editable import NAMES, PARENTS, edit_target
from explorer.client.governance import Governed, find_namesake, new_id
from explorer.errors import InvalidInput
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Session, SessionState, action

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

KINDS: Final[tuple[Governed, ...]] = (
    *("tag", "glossaryNode", "glossaryTerm", "domain", "dataProduct"),
)
"""What can be made, in the order in which it is offered."""

_WITHIN: Final[Mapping[str, tuple[Governed, ...]]] = {
    "glossaryNode": ("glossaryTerm", "glossaryNode"),
    "domain": ("domain", "dataProduct"),
}
_ABOVE: Final[Mapping[str, str]] = {
    **{kind: above for kind, (_, above) in PARENTS.items()},
    "dataProduct": "domain",
}


@dataclass(frozen=True, slots=True)
class GlossaryState(SessionState):
    """What is worked on: the entity, None for none; what can be made within it; and the type of
    entity that it can be moved into, empty if it cannot be moved."""

    entity: "Entity | None" = None
    makes: tuple[Governed, ...] = ()
    moves_into: str = ""


class GlossarySession(Session[GlossaryState]):
    """What is done with one of these entities, or to make the first."""

    def __init__(self, catalog: "AsyncCatalog", entity: "Entity | None" = None) -> None:
        kind = entity.entity_type if entity is not None and entity.exists else ""
        state = GlossaryState(
            entity=entity if kind in NAMES else None,
            makes=_WITHIN.get(kind, ()),
            moves_into=_ABOVE[kind] if kind in PARENTS else "",
        )
        super().__init__(catalog, state)

    @staticmethod
    def parent_type(kind: Governed) -> str:
        """Return the type of entity that one of this kind may be made in; empty for none."""
        return _ABOVE.get(kind, "")

    async def namesake(self, kind: Governed, name: str, renamed: Urn | None = None) -> Urn | None:
        """Return another entity of the kind than the one to be `renamed` that has this name
        already, None if there is none. Two requests."""
        return await find_namesake(self.catalog, kind, name, renamed)

    @action("Make a tag, term, group, domain or data product")
    async def make(self, kind: Governed, name: str, parent: Urn | None = None) -> Urn:
        """Make an entity, at the top level or in a parent, and return its URN. Whoever must not
        make a second one of a name asks for its `namesake` before. Raises as `Catalog.new`."""
        self.check("make")
        entity_id = new_id(kind, name, parent)
        edit = await self.catalog.new(kind, name, parent=parent, entity_id=entity_id)
        self.say(f"{line(name)} is created.", is_saved=True)
        return edit.urn

    @action("Rename it; its URN and its uses stay the same")
    async def rename(self, name: str) -> None:
        """Rename the entity. Raises `Conflict` if somebody renamed it since it was read."""
        self.check("rename")
        entity = self._entity
        before = _stored(entity, "name")
        await self.catalog.rename(entity.urn, name, instead_of=before)
        self.say(f"{line(entity.name)} is now called {line(name)}.", is_saved=True)

    @action("Move it to another place")
    async def move(self, parent: Urn | None) -> None:
        """Move the entity into a parent, or to the top level. Raises `Conflict` if somebody moved
        it since it was read."""
        self.check("move")
        entity = self._entity
        await self.catalog.move(entity.urn, parent, instead_of=_stored(entity, "parent"))
        place = "at the top level"
        if parent is not None:
            above = (await self.catalog.summaries([parent])).get(parent)
            place = f"in {line(above.name if above else parent.name)}"
        self.say(f"{line(entity.name)} is {place} now.", is_saved=True)

    @property
    def _entity(self) -> "Entity":
        if self.state.entity is None:
            raise InvalidInput(_NOT_ONE)
        return self.state.entity

    def why_not(self, name: str) -> str:
        """Return why an action is not possible; empty if it is."""
        if self.catalog.read_only:
            return READ_ONLY
        if name == "make":
            return ""
        if self.state.entity is None:
            return _NOT_ONE
        if name == "move" and not self.state.moves_into:
            return f"A {singular(self.state.entity.entity_type)} is in nothing."
        return ""


_NOT_ONE: Final = "Only tags, terms, groups, domains and data products are renamed and moved."


def _stored(entity: "Entity", what: str) -> str:
    """Return the name or the parent as it was read, empty for none."""
    target = edit_target(entity.urn, "name" if what == "name" else "parent")
    value = target.read(entity.raw(target.aspect) or {})
    return value if isinstance(value, str) else ""
