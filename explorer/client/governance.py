"""Tags, glossary terms and groups, domains and data products: how they are created, renamed, moved.

Their descriptions, owners, links and deprecation are edited like those of other entities.
"""

import re
from functools import partial
from typing import Final, Literal, get_args
from uuid import uuid4

from explorer.client.editable import NAMES, PARENTS, Mutation, edit_target, urns_of
from explorer.client.edits import LabelMethods
from explorer.client.records import Edit, MovedContents
from explorer.client.search import SearchMethods, SeveralNamed
from explorer.client.transport import Json
from explorer.errors import Conflict, InvalidInput, NotFound
from explorer.metadata.names import is_name, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

Governed = Literal["tag", "glossaryTerm", "glossaryNode", "domain", "dataProduct"]
"""A type of entity by which other entities are organized."""

GOVERNED: Final[tuple[Governed, ...]] = get_args(Governed)

# Types of which two entities of one name are most likely a mistake. Glossary terms and groups have
# the same names in different groups.
_NAMED_ONCE: Final = frozenset(("tag", "domain", "dataProduct"))

_DESCRIPTIONS: Final = {"glossaryTerm": "definition", "glossaryNode": "definition"}
_SEVERAL_ODD: Final = re.compile(r"[^\w.-]+")


def new_id(kind: Governed, name: str, parent: str | Urn | None = None) -> str:
    """Return the id for a new entity of this name.

    For a tag it is the name itself. For a glossary term or group it is the id of the parent and the
    name, joined by a dot, as in DataHub's business glossary source; dots in the name are replaced,
    so that they are not taken for the separator. For others it is the name with hyphens instead of
    spaces. If no usable character is left, it is a random UUID.
    """
    if kind == "tag":
        return name
    own = _SEVERAL_ODD.sub("-", name).strip("-.") or str(uuid4())
    if not kind.startswith("glossary"):
        return own
    own = own.replace(".", "-")
    return own if parent is None else f"{Urn.parse(parent).name}.{own}"


def new_aspects(
    kind: Governed, name: str, description: str = "", parent: str | None = None
) -> dict[str, Json]:
    """Return the aspects of a new entity by name, the one with its properties first."""
    place = NAMES[kind]
    info: Json = {**(place.defaults or {}), "name": name}
    field = _DESCRIPTIONS.get(kind, "description")
    if description or field in info:
        info[field] = description
    if parent is None:
        return {place.aspect: info}
    if kind in PARENTS:
        above, _ = PARENTS[kind]
        return {place.aspect: {**info, above.field: parent}}
    return {place.aspect: info, "domains": {"domains": [parent]}}


async def find_namesake(
    catalog: SearchMethods, kind: Governed, name: str, renamed: Urn | None = None
) -> Urn | None:
    """Return an entity that already has the name, other than the one to be `renamed`; only for
    types in which two entities of one name are likely a mistake. `None` if there is none, or if it
    has the URN that the new entity would get, because `new` refuses that itself.

    Two requests.
    """
    if kind not in _NAMED_ONCE or not name.strip():
        return None
    try:
        namesakes = [await catalog.urn_of(name, kind)]
    except NotFound:
        return None
    except SeveralNamed as error:
        namesakes = error.urns
    if renamed is not None:
        return next((namesake for namesake in namesakes if namesake != renamed), None)
    own = new_id(kind, name)
    return None if any(namesake.name == own for namesake in namesakes) else namesakes[0]


class GovernanceMethods(LabelMethods):
    """Methods that create, rename and move tags, glossary terms and groups, domains and data
    products."""

    async def new(
        self,
        kind: Governed,
        name: str,
        *,
        parent: str | Urn | None = None,
        description: str = "",
        entity_id: str | None = None,
    ) -> Edit:
        """Create a tag, a glossary term or group (`glossaryNode`), a domain or a data product.

        Returns the edit, whose `urn` is that of the new entity; `undo` deletes it as long as
        nothing uses it. `parent` is the group of a term or group, or the domain of a domain or data
        product, as a URN, an id or a name; a tag has none. Without `entity_id` the id is derived
        from the name (see `new_id`), and a second tag, domain or data product of a name is refused.
        Three to seven requests, and those of `find_labels` for a parent.

        Raises `Conflict` if there is already such an entity, `NotFound` if the parent does not
        exist, `InvalidInput` for an empty name or a parent of another type.

        Example: `cat.new("glossaryTerm", "Churned", description="Left for good.")`
        """
        if kind not in GOVERNED:
            raise InvalidInput(f"a {kind} cannot be created here; these can: {', '.join(GOVERNED)}")
        _check_name(kind, name)
        above = await self._parent(kind, parent)
        namesake = None if entity_id else await find_namesake(self, kind, name)
        if namesake is not None:
            raise Conflict(
                f"a {singular(kind)} is named {name!r} already: {namesake}; give an id to create "
                "another one"
            )
        chosen = entity_id or new_id(kind, name, above)
        (target,) = urns_of(chosen, kind)
        if await self._is_stored_entity(target):
            raise Conflict(f"{target} already exists; give another id, or rename that one")
        parent_urn = None if above is None else str(above)
        edit = await self.create_with(target, new_aspects(kind, name, description, parent_urn))
        if edit.what != "entity":
            raise Conflict(f"{target} was just created by somebody else; give another id")
        return edit

    async def rename(self, urn: str | Urn, name: str, *, instead_of: str | None = None) -> Edit:
        """Rename a tag, a glossary term or group, a domain or a data product. Its URN does not
        change.

        `instead_of` is the name that the author saw, empty for none: if there is another by now,
        nothing is written. How reliable the check is depends on the server: see
        `explorer.client.edits`. Two requests, one more for the first call.

        Raises `NotFound` for an entity that does not exist, `TextConflict` if the name changed,
        `InvalidInput` for an empty name and for an entity type whose name cannot be edited.

        Example: `cat.rename(cat.new("tag", "Draft").urn, "Under review")`
        """
        target = Urn.parse(urn)
        _check_name(target.entity_type, name)
        return await self._put_name(target, name, instead_of=instead_of)

    async def move(
        self, urn: str | Urn, parent: str | Urn | None, *, instead_of: str | None = None
    ) -> Edit:
        """Move a glossary term or group to another group, or a domain to another domain.

        With `None` it is moved to the top level. Everything below it moves too. Use `set_domain` to
        change the domain of a data product.

        `instead_of` is the URN of the parent that the author saw, empty for none; it is checked as
        in `rename`. Three requests, and one for each ancestor of the new parent.

        Raises `NotFound` if there is no such entity or parent, `TextConflict` if the parent
        changed, `InvalidInput` for a parent of another type or below the entity.

        Example: `cat.move(cat.new("domain", "Web").urn, "urn:li:domain:finance")`
        """
        target = Urn.parse(urn)
        edit_target(target, "parent")
        above = await self._parent(target.entity_type, parent)
        if above is not None:
            await self._check_not_below(target, above)
        return await self._put_parent(
            target, None if above is None else str(above), instead_of=instead_of
        )

    async def move_contents(self, urn: str | Urn, *, dry_run: bool = False) -> MovedContents:
        """Move the direct content of a glossary group or domain, including soft-deleted entities,
        to the group or domain above it, or to the top level, so that it can still be found when the
        group or domain is deleted.

        With `dry_run` nothing is written. For other entities nothing is moved. Requests as for
        `urns` and `aspect`, and for `move` of each entity.

        Example: `cat.move_contents("urn:li:domain:finance", dry_run=True).urns`
        """
        source = Urn.parse(urn)
        kinds = [kind for kind, (_, above) in PARENTS.items() if above == source.entity_type]
        if not kinds:
            return MovedContents(())
        held_in = Filter(((Criterion(PARENTS[kinds[0]][0].field, (str(source),)),),))
        contents = [urn async for urn in self.urns(kinds, filter=held_in, include_removed=True)]
        place, _ = PARENTS[source.entity_type]
        stored = await self._read_stored(source, place.aspect)
        text = (stored.value(place.aspect) or {}).get(place.field)
        above = Urn.parse(text) if isinstance(text, str) and text else None
        if not dry_run:
            for child in contents:
                await self.move(child, above, instead_of=str(source))
        return MovedContents(tuple(contents), above)

    async def _put_name(self, urn: Urn, name: str | None, *, instead_of: str | None) -> Edit:
        target = edit_target(urn, "name")
        place = NAMES[urn.entity_type]
        mutation = None
        # The mutation can set a name if the aspect exists, and cannot remove one.
        if (
            name
            and place.mutation
            and (await self._read_stored(urn, place.aspect)).value(place.aspect)
        ):
            mutation = Mutation.with_input(place.mutation, {"urn": str(urn), "name": name})
        change = partial(place.with_text, urn, text=name)
        return await self._replace(target, name, change, mutation, instead_of=instead_of)

    async def _put_parent(self, urn: Urn, parent: str | None, *, instead_of: str | None) -> Edit:
        target = edit_target(urn, "parent")
        place, _ = PARENTS[urn.entity_type]
        mutation = None
        if (await self._read_stored(urn, place.aspect)).value(place.aspect):
            fields = {"resourceUrn": str(urn), place.field: parent}
            mutation = Mutation.with_input(place.mutation, fields)
        change = partial(place.with_text, urn, text=parent)
        return await self._replace(target, parent, change, mutation, instead_of=instead_of)

    async def _parent(self, kind: str, parent: str | Urn | None) -> Urn | None:
        """Return the URN of a parent. Raises `NotFound` if it does not exist."""
        if parent is None:
            return None
        if kind in PARENTS:
            _, kind_above = PARENTS[kind]
        elif kind == "dataProduct":
            kind_above = "domain"
        else:
            raise InvalidInput(f"a {kind} has no parent; leave it out")
        (above,) = await self.find_labels(parent, kind_above)
        if not await self._is_stored_entity(above):
            raise NotFound(f"{above} does not exist in this catalog; nothing was written")
        return above

    async def _check_not_below(self, target: Urn, parent: Urn) -> None:
        at: Urn | None = parent
        urns: set[Urn] = set()
        while at is not None and at not in urns:
            if at == target:
                raise InvalidInput(f"{target} cannot be moved into itself or to what is below it")
            urns.add(at)
            above = edit_target(at, "parent")
            parent_urn = above.read((await self._read_stored(at, above.aspect)).value(above.aspect))
            at = Urn.parse(parent_urn) if isinstance(parent_urn, str) and parent_urn else None

    async def _is_stored_entity(self, urn: Urn) -> bool:
        try:
            await self._read_stored(urn)
        except NotFound:
            return False
        return True


def _check_name(kind: str, name: str) -> None:
    if not is_name(name):
        raise InvalidInput(f"a {kind} needs a name; give a text that is not empty")
