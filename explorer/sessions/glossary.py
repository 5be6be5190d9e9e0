"""Creating, renaming and moving tags, glossary terms and groups, domains and data products."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.client.display import counted, line
from explorer.client.editable import NAMES, PARENTS, edit_target
from explorer.client.governance import Governed, find_namesake, new_id
from explorer.errors import InvalidInput
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Session, SessionState, action

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Edit
    from explorer.client.entity import Entity
    from explorer.stewardship.glossary import GlossaryChange, GlossaryOutcome

KINDS: Final[tuple[Governed, ...]] = (
    *("tag", "glossaryNode", "glossaryTerm", "domain", "dataProduct"),
)
"""The types of entities that can be created, in the order in which they are offered."""

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
    """The entity to work on, None if there is none; the types that can be created within it; and
    the type of entity that it can be moved into, empty if it cannot be moved."""

    entity: "Entity | None" = None
    makes: tuple[Governed, ...] = ()
    moves_into: str = ""


class GlossarySession(Session[GlossaryState]):
    """Creates one of these entities, or renames or moves an existing one."""

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
        """Return the type of entity in which an entity of this kind can be created; empty if there
        is none."""
        return _ABOVE.get(kind, "")

    async def namesake(self, kind: Governed, name: str, renamed: Urn | None = None) -> Urn | None:
        """Return another entity of this kind that already has the name, None if there is none; the
        entity to be `renamed` is not counted. Two requests."""
        return await find_namesake(self.catalog, kind, name, renamed)

    @action("Make a tag, term, group, domain or data product")
    async def make(
        self,
        kind: Governed,
        name: str,
        parent: str | Urn | None = None,
        *,
        description: str = "",
        entity_id: str | None = None,
        is_namesake_known: bool = False,
    ) -> "Edit":
        """Create an entity, at the top level or in a parent, and return the edit, which has the new
        URN. A name that is already in use is refused unless `entity_id` is given or
        `is_namesake_known` is set. Raises as `Catalog.new`."""
        self.check("make")
        if is_namesake_known:
            entity_id = entity_id or new_id(kind, name, parent)
        edit = await self.catalog.new(
            kind, name, parent=parent, description=description, entity_id=entity_id
        )
        self.say(f"{line(name)} is created.", is_saved=True)
        return edit

    @action("Rename it; its URN and its uses stay the same")
    async def rename(self, name: str) -> "Edit":
        """Rename the entity. Raises `Conflict` if somebody renamed it since it was read."""
        self.check("rename")
        entity = self._entity
        edit = await self.catalog.rename(entity.urn, name, instead_of=_stored(entity, "name"))
        self.say(f"{line(entity.name)} is now called {line(name)}.", is_saved=True)
        return edit

    @action("Move it to another place")
    async def move(self, parent: str | Urn | None) -> "Edit":
        """Move the entity into a parent, or to the top level. Raises `Conflict` if somebody moved
        it since it was read."""
        self.check("move")
        entity = self._entity
        edit = await self.catalog.move(entity.urn, parent, instead_of=_stored(entity, "parent"))
        place = "at the top level"
        if isinstance(edit.after, str) and edit.after:
            (above,) = (await self.catalog.summaries([edit.after])).values()
            place = f"in {line(above.name)}"
        self.say(f"{line(entity.name)} is {place} now.", is_saved=True)
        return edit

    @action("Write the changes of a file of the glossary")
    async def import_changes(self, changes: "Iterable[GlossaryChange]") -> "GlossaryOutcome":
        """Write the differences between a glossary file and the catalog; see `apply_glossary`."""
        from explorer.stewardship.glossary import apply_glossary

        self.check("import_changes")
        outcome = await self.work("writing", apply_glossary(self.catalog, changes))
        self.say(f"{counted(len(outcome.edits), 'edit')} made.", is_saved=bool(outcome.edits))
        return outcome

    @property
    def _entity(self) -> "Entity":
        if self.state.entity is None:
            raise InvalidInput(_NOT_ONE)
        return self.state.entity

    def why_not(self, name: str) -> str:
        """Return why an action is not possible; empty if it is possible."""
        if self.catalog.read_only:
            return READ_ONLY
        if name in ("make", "import_changes"):
            return ""
        if self.state.entity is None:
            return _NOT_ONE
        if name == "move" and not self.state.moves_into:
            return f"A {singular(self.state.entity.entity_type)} is in nothing."
        return ""


_NOT_ONE: Final = "Only tags, terms, groups, domains and data products are renamed and moved."


def _stored(entity: "Entity", what: str) -> str:
    """Return the name or the parent of an entity as it was read; empty if it has none."""
    target = edit_target(entity.urn, "name" if what == "name" else "parent")
    value = target.read(entity.raw(target.aspect) or {})
    return value if isinstance(value, str) else ""
