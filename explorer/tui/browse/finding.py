"""Finding one entry in a folder, however large, without reading what stands before it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.metadata.names import natural_key
from explorer.metadata.urn import Urn
from explorer.tui.browse.branch import PAGE, Branch
from explorer.tui.browse.outline import Outline
from explorer.tui.browse.ways import Way

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Found", "follow"]

_FEW = 3
_MOST_FOLDER_PAGES = 25

Fetch = Callable[[Branch, int], Awaitable[None]]
"""Brings a page of a folder to hand; raises what went wrong."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where an entity stands, or the folder in which it ought to."""

    branch: Branch
    index: int | None


async def follow(catalog: "AsyncCatalog", outline: Outline, way: Way, fetch: Fetch) -> Found:
    """Unfold the way to an entity and say where it stands."""
    branch = outline.root
    held: list[Branch] = []
    for step in way.steps:
        branch.narrow("")
        at = await _find(catalog, branch, step, str(step), fetch)
        entry = branch.entry_at(at) if at is not None else None
        below = branch.unfold(at, entry) if at is not None and entry is not None else None
        if below is None:
            break
        held.append(branch)
        branch = below
    branch.narrow("")
    at = await _find(catalog, branch, way.urn, way.name, fetch)
    if at is None and way.own and held and len(held) == len(way.steps):
        # A folder that is called as the entity is: it may stand beside it.
        above = held[-1]
        beside = await _find(catalog, above, way.urn, way.name, fetch)
        if beside is not None:
            return Found(above, beside)
    return Found(branch, at)


async def _find(
    catalog: "AsyncCatalog", branch: Branch, wanted: str | Urn, name: str, fetch: Fetch
) -> int | None:
    """The index of a folder by its name, or of an entity."""
    at = _at_hand(branch, wanted)
    if at is not None:
        return at
    if branch.total is None or 0 not in branch.pages:
        await fetch(branch, 0)
    pages = branch.page_of((branch.total or 0) - 1) + 1
    folders = isinstance(wanted, str)
    for number in range(min(pages, _MOST_FOLDER_PAGES if folders else pages)):
        if not folders and pages > _FEW and number:
            break
        if number not in branch.pages:
            await fetch(branch, number)
        at = _at_hand(branch, wanted)
        entries = branch.pages.get(number, ())
        if at is not None or (folders and entries and entries[-1].urn is not None):
            return at
    if folders or pages <= _FEW or not branch.source.by_name:
        return None
    # Ours puts s2 before s10; other servers compare letter by letter.
    for key in (natural_key, str.casefold):
        await fetch(branch, await _page_with(catalog, branch, wanted, name, pages, key))
        at = _at_hand(branch, wanted)
        if at is not None:
            return at
    return None


def _at_hand(branch: Branch, wanted: str | Urn) -> int | None:
    if isinstance(wanted, str):
        text = wanted.casefold()
        named = (at for at, one in branch.known() if not one.urn and one.name.casefold() == text)
        return next(named, None)
    return next((at for at, one in branch.known() if one.urn == wanted), None)


async def _page_with(
    catalog: "AsyncCatalog",
    branch: Branch,
    wanted: str | Urn,
    name: str,
    pages: int,
    key: Callable[[str], str],
) -> int:
    """The page on which a name belongs in an order, by the first of some pages: one small request
    for each halving."""
    sought = (key(name), str(wanted))
    low, high = 0, pages - 1
    while low < high:
        middle = (low + high + 1) // 2
        portion = await branch.source.read(catalog, middle * PAGE, 1)
        first = next(iter(portion.entries), None)
        before = first is not None and (
            first.urn is None or (key(first.name), str(first.urn)) <= sought
        )
        low, high = (middle, high) if before else (low, middle - 1)
    return low
