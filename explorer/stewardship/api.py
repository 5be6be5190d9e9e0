"""AsyncStewardship and Stewardship: documentation, coverage, worklist and changesets."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.client.blocking_face import BlockingFace, blocking
from explorer.errors import Busy
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.stewardship.changeset import (
    Applied,
    Change,
    Changeset,
    apply_changes,
    read_changeset,
    read_documentation,
)
from explorer.stewardship.coverage import Coverage, Grouping, ask_coverage, read_coverage
from explorer.stewardship.documentation import Entry, Progress, Row, named_datasets, select_datasets
from explorer.stewardship.worklist import Worklist, ask_worklist, read_worklist

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

__all__ = ["AsyncStewardship", "Stewardship"]

_MOST_NAMED = 10_000
_MOST_SECONDS = 600.0
_T = TypeVar("_T")


class AsyncStewardship:
    """What is documented in a catalog, what is not, and how much of it is changed at once.

    Questions are about datasets: those whose URNs are given, else those in and below a `folder`,
    else all that a search for `text` and `narrowed_by` finds. `progress` is told how far it is.
    """

    def __init__(self, catalog: "AsyncCatalog") -> None:
        self._catalog = catalog

    async def datasets(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
    ) -> tuple[Urn, ...]:
        """See `explorer.stewardship.documentation.select_datasets`."""
        return await select_datasets(
            self._catalog, urns, text=text, narrowed_by=narrowed_by, folder=folder
        )

    async def documentation(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[Row, ...]:
        """See `explorer.stewardship.changeset.read_documentation`."""
        chosen = await self.datasets(urns, text=text, narrowed_by=narrowed_by, folder=folder)
        return await read_documentation(self._catalog, chosen, progress)

    async def changeset(
        self,
        entries: Iterable[Entry],
        *,
        clear_empty: bool = False,
        progress: Progress | None = None,
    ) -> Changeset:
        """See `explorer.stewardship.changeset.read_changeset`."""
        return await read_changeset(
            self._catalog, entries, clear_empty=clear_empty, progress=progress
        )

    async def apply(
        self, changes: Iterable[Change], *, progress: Progress | None = None
    ) -> Applied:
        """See `explorer.stewardship.changeset.apply_changes`."""
        return await apply_changes(self._catalog, changes, progress)

    async def coverage(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        by: Grouping | None = None,
        progress: Progress | None = None,
    ) -> Coverage:
        """See `explorer.stewardship.coverage`: one request where the server counts, else what
        `read_coverage` costs."""
        named = tuple(urns)
        if await _is_counted(self._catalog, named):
            meant = named_datasets(named, text=text, narrowed_by=narrowed_by, folder=folder)
            coverage = await _counted(
                partial(
                    ask_coverage,
                    self._catalog,
                    meant,
                    text=text,
                    narrowed_by=narrowed_by,
                    folder=folder,
                    by=by,
                )
            )
            if progress is not None:
                progress(coverage.tables.total, coverage.tables.total)
            return coverage
        chosen = await self.datasets(named, text=text, narrowed_by=narrowed_by, folder=folder)
        return await read_coverage(self._catalog, chosen, by, progress)

    async def worklist(
        self,
        urns: Iterable[str | Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        top: int | None = None,
        days: int = 30,
        progress: Progress | None = None,
    ) -> Worklist:
        """See `explorer.stewardship.worklist`: one request where the server counts, else what
        `read_worklist` costs."""
        named = tuple(urns)
        if await _is_counted(self._catalog, named):
            meant = named_datasets(named, text=text, narrowed_by=narrowed_by, folder=folder)
            worklist = await _counted(
                partial(
                    ask_worklist,
                    self._catalog,
                    meant,
                    text=text,
                    narrowed_by=narrowed_by,
                    folder=folder,
                    top=top,
                    days=days,
                )
            )
            if progress is not None:
                progress(worklist.datasets, worklist.datasets)
            return worklist
        chosen = await self.datasets(named, text=text, narrowed_by=narrowed_by, folder=folder)
        return await read_worklist(self._catalog, chosen, top=top, days=days, progress=progress)


class Stewardship(BlockingFace):
    """`AsyncStewardship`, waited for: `Stewardship(catalog).coverage()`. It runs on the catalog's
    thread and is done with when the catalog is closed."""

    def __init__(self, catalog: "Catalog") -> None:
        # No thread of its own is started.
        self._catalog = catalog
        self._core = AsyncStewardship(catalog.core)

    @property
    def core(self) -> AsyncStewardship:
        """The asynchronous questions."""
        return self._core

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """See `BlockingFace.wait`."""
        return self._catalog.wait(work)

    datasets = blocking(AsyncStewardship.datasets)
    documentation = blocking(AsyncStewardship.documentation)
    changeset = blocking(AsyncStewardship.changeset)
    apply = blocking(AsyncStewardship.apply)
    coverage = blocking(AsyncStewardship.coverage)
    worklist = blocking(AsyncStewardship.worklist)


async def _counted(ask: Callable[[], Awaitable[_T]]) -> _T:
    """What a server says that may be counting for the first time: it is asked until it is done,
    ten minutes at most."""
    end = monotonic() + _MOST_SECONDS
    while True:
        try:
            return await ask()
        except Busy as error:
            if monotonic() > end:
                raise
            await asyncio.sleep(error.retry_after_seconds or 1.0)


async def _is_counted(catalog: "AsyncCatalog", named: Sequence[str | Urn]) -> bool:
    """Whether the server counts what is described, of as many datasets as are named."""
    return len(named) <= _MOST_NAMED and (await catalog.abilities()).stewardship
