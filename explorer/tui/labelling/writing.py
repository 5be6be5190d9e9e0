"""What was chosen, written through the client, a step after another."""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from explorer.errors import Conflict
from explorer.metadata.urn import Urn
from explorer.tui.content import line
from explorer.tui.labelling.choice import Choice, Kind, owner_of
from explorer.tui.labelling.place import Place, read_choice

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Edit

__all__ = ["write_choice"]


async def write_choice(
    catalog: "AsyncCatalog", place: Place, kind: Kind, choice: Choice
) -> AsyncIterator["Edit"]:
    """Take off and put on what was chosen; every edit when it is made.

    The choice knows after each step what is written, so that what fails is all that is left of
    it. Two requests for each step and tags that are made first one or two each. Raises `Conflict`
    where somebody put the entity into another domain meanwhile, which the choice then has.
    """
    urn, column = place.urn, place.path
    added, removed = choice.added, choice.removed
    match kind:
        case "tags":
            await _create_tags(catalog, (label for label in added if label in choice.new))
            if added:
                yield _noted(choice, await catalog.add_tags(urn, added, column=column), added)
            if removed:
                edit = await catalog.remove_tags(urn, removed, column=column)
                yield _noted(choice, edit, (), removed)
        case "terms":
            if added:
                yield _noted(choice, await catalog.add_terms(urn, added, column=column), added)
            if removed:
                edit = await catalog.remove_terms(urn, removed, column=column)
                yield _noted(choice, edit, (), removed)
        case "owners":
            for ownership, labels in _by_ownership(added).items():
                owners = [owner_of(label)[0] for label in labels]
                edit = await catalog.add_owners(urn, owners, ownership=ownership)
                yield _noted(choice, edit, labels)
            for ownership, labels in _by_ownership(removed).items():
                owners = [owner_of(label)[0] for label in labels]
                edit = await catalog.remove_owners(urn, owners, ownership=ownership)
                yield _noted(choice, edit, (), labels)
        case "domain":
            there = (await read_choice(catalog, place, kind)).there
            if there != choice.there:
                choice.found(there)
                now = ", ".join(line(Urn.label(one)) for one in there) or "none"
                raise Conflict(
                    f"the domain was changed by somebody else meanwhile, to {now}; nothing was "
                    "written: write again to put yours in its place"
                )
            edit = await catalog.set_domain(urn, added[0] if added else None)
            yield _noted(choice, edit, added, removed)


def _noted(
    choice: Choice, edit: "Edit", added: Iterable[str] = (), removed: Iterable[str] = ()
) -> "Edit":
    choice.written(added=added, removed=removed)
    return edit


def _by_ownership(labels: Iterable[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for label in labels:
        grouped.setdefault(owner_of(label)[1], []).append(label)
    return grouped


async def _create_tags(catalog: "AsyncCatalog", urns: Iterable[str]) -> None:
    for urn in urns:
        # Somebody else may have made it since it was looked for, or hidden it.
        if not await catalog.exists(urn):
            await catalog.put(urn, "tagProperties", {"name": Urn.parse(urn).name})
