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
    where somebody changed the labels since they were read, or since the last step; the choice then
    has what is there now.
    """
    from explorer.client import TextConflict

    try:
        async for edit in _write(catalog, place, kind, choice):
            yield edit
    except TextConflict as conflict:
        choice.found((await read_choice(catalog, place, kind)).there)
        now = ", ".join(line(Urn.label(owner_of(one)[0])) for one in choice.there) or "none"
        what, again = (
            ("the domain was", "to put yours in its place")
            if kind == "domain"
            else (f"the {kind} were", "to change these")
        )
        raise Conflict(
            f"{what} changed by somebody else meanwhile, to {now}; write again {again}"
        ) from conflict


async def _write(
    catalog: "AsyncCatalog", place: Place, kind: Kind, choice: Choice
) -> AsyncIterator["Edit"]:
    urn, column = place.urn, place.path
    added, removed = choice.added, choice.removed
    match kind:
        case "tags" | "terms":
            tags = kind == "tags"
            if tags:
                await _create_tags(catalog, (label for label in added if label in choice.new))
            if added:
                add = catalog.add_tags if tags else catalog.add_terms
                edit = await add(urn, added, column=column, instead_of=choice.there)
                yield _noted(choice, edit, added)
            if removed:
                remove = catalog.remove_tags if tags else catalog.remove_terms
                edit = await remove(urn, removed, column=column, instead_of=choice.there)
                yield _noted(choice, edit, (), removed)
        case "owners":
            for ownership, labels in _by_ownership(added).items():
                owners = [owner_of(label)[0] for label in labels]
                edit = await catalog.add_owners(
                    urn, owners, ownership=ownership, instead_of=choice.there
                )
                yield _noted(choice, edit, labels)
            for ownership, labels in _by_ownership(removed).items():
                owners = [owner_of(label)[0] for label in labels]
                edit = await catalog.remove_owners(
                    urn, owners, ownership=ownership, instead_of=choice.there
                )
                yield _noted(choice, edit, (), labels)
        case "domain":
            domain = added[0] if added else None
            edit = await catalog.set_domain(urn, domain, instead_of=choice.there)
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
        # Somebody else may have made it since it was looked for, or hidden it; or makes it now.
        await catalog.create(urn, "tagProperties", {"name": Urn.parse(urn).name})
