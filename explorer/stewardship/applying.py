"""Writing a changeset into the catalog, one text after the other, and saying what went through."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.client.conflict import TextConflict
from explorer.client.journal import one_save
from explorer.client.records import Edit
from explorer.errors import CatalogError, Forbidden, InvalidInput, NotFound, ReadOnly, ServerFault
from explorer.stewardship.changeset import Change

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.progress import Progress

__all__ = ["Applied", "Failure", "apply_changes"]

_AT_ONCE = 6
_REFUSALS = (InvalidInput, NotFound, ServerFault, TextConflict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A change that was not written, and the sentence that says why."""

    change: Change
    why: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of changes: `done` were written, in their order, with the edits that did it;
    `failed` were refused; `untried` were not come to, or their answer did not come, because of what
    `ended_by` tells."""

    done: tuple[tuple[Change, Edit], ...] = ()
    failed: tuple[Failure, ...] = ()
    untried: tuple[Change, ...] = ()
    ended_by: CatalogError | None = None


async def apply_changes(
    catalog: "AsyncCatalog", changes: Iterable[Change], progress: "Progress | None" = None
) -> Applied:
    """Write the changes, as `Changeset.to_apply` gives them.

    Each goes by itself, the columns of one table one after the other, a few tables at once. One
    that is refused stops nothing: a text that was changed since it was compared is such a one. What
    concerns them all, such as a server that is gone or a token that is refused, ends the work, and
    the rest is untried. Two requests for each change, and nothing is sent twice: comparing the same
    file anew finds just what is left. All of it is one save, which undo takes back at once. Raises
    nothing of its own.
    """
    work = list(changes)
    lanes: dict[str, list[int]] = {}
    for at, change in enumerate(work):
        lanes.setdefault(change.urn, []).append(at)
    done: dict[int, Edit] = {}
    failed: dict[int, str] = {}
    ends: list[CatalogError] = []
    turns = asyncio.Semaphore(_AT_ONCE)

    async def go_along(lane: list[int]) -> None:
        for at in lane:
            async with turns:
                if ends:
                    return
                try:
                    done[at] = await _write(catalog, work[at])
                except ReadOnly as error:
                    ends.append(error)
                    return
                except (Forbidden, *_REFUSALS) as error:
                    # Rights may be given table by table.
                    failed[at] = str(error)
                except CatalogError as error:
                    ends.append(error)
                    return
            if progress is not None:
                progress(len(done) + len(failed), len(work))

    with one_save():
        await asyncio.gather(*(go_along(lane) for lane in lanes.values()))
    return Applied(
        tuple((change, done[at]) for at, change in enumerate(work) if at in done),
        tuple(Failure(change, failed[at]) for at, change in enumerate(work) if at in failed),
        tuple(change for at, change in enumerate(work) if at not in done and at not in failed),
        ends[0] if ends else None,
    )


async def _write(catalog: "AsyncCatalog", change: Change) -> Edit:
    return await catalog.describe(
        change.urn, change.mine, column=change.column, instead_of=change.theirs or ""
    )
