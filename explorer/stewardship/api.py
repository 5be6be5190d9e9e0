"""`AsyncStewardship` and `Stewardship`: all operations of this package as methods of one object."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.client.blocking_face import SharedThreadFace, blocking, of_catalog
from explorer.errors import Busy, InvalidInput
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.stewardship.changeset import (
    apply_changes,
    apply_staged,
    read_changeset,
    read_conflicts,
    read_documentation,
)
from explorer.stewardship.concepts import read_concept, read_term_concept
from explorer.stewardship.coverage import (
    Coverage,
    CoverageTrend,
    Every,
    Grouping,
    Part,
    ask_coverage,
    ask_trend,
    read_coverage,
)
from explorer.stewardship.dbt import read_plan, read_project_changes, read_project_edits
from explorer.stewardship.documentation import (
    DatasetSelection,
    Progress,
    Row,
    select_datasets,
    selection_of,
)
from explorer.stewardship.drafting import (
    DRAFTED,
    DraftingOutcome,
    chosen_command,
    draft_descriptions,
    undocumented_requests,
)
from explorer.stewardship.feed import mark_read, read_feed
from explorer.stewardship.glossary import apply_glossary, read_glossary, resolve_glossary
from explorer.stewardship.labels import read_labelled
from explorer.stewardship.propagation import propose_descriptions
from explorer.stewardship.proposals import (
    fetch_changeset,
    server_key,
    share_changeset,
    shared_changesets,
    sync_changeset,
    why_foreign,
    withdraw_changeset,
)
from explorer.stewardship.provenance import (
    pin_propagated,
    read_propagated,
    refresh_propagated,
    take_back_propagated,
)
from explorer.stewardship.staging import Agent, StagedChangeset, StagedEdit, new_path
from explorer.stewardship.worklist import Worklist, ask_worklist, read_worklist

if TYPE_CHECKING:
    from os import PathLike

    from explorer.client import AsyncCatalog, Catalog

_MOST_NAMED = 10_000
_MOST_SECONDS = 600.0
_LONGEST_PAUSE_SECONDS = 5.0
_T = TypeVar("_T")


class AsyncStewardship:
    """Operations that measure and change the documentation of a catalog.

    The datasets are those in `urns`, or those in and below `folder`, or those that a search with
    `text` and `filter` finds. `progress` is called with the number of datasets done and the total.
    A server that computes something for the first time may answer `Busy`, with a sentence that
    reports its progress. If `waiting` is given, it is called with the sentence, and the request is
    repeated for up to ten minutes.
    """

    def __init__(self, catalog: "AsyncCatalog") -> None:
        self._catalog = catalog

    @property
    def catalog(self) -> "AsyncCatalog":
        """The client that reads and writes the catalog."""
        return self._catalog

    datasets = of_catalog(select_datasets)
    changeset = of_catalog(read_changeset)
    apply = of_catalog(apply_changes)
    apply_staged = of_catalog(apply_staged)
    share_changeset = of_catalog(share_changeset)
    shared_changesets = of_catalog(shared_changesets)
    fetch_changeset = of_catalog(fetch_changeset)
    sync_changeset = of_catalog(sync_changeset)
    withdraw_changeset = of_catalog(withdraw_changeset)
    concept = of_catalog(read_concept)
    term_concept = of_catalog(read_term_concept)
    glossary = of_catalog(read_glossary)
    apply_glossary = of_catalog(apply_glossary)
    resolve_glossary = of_catalog(resolve_glossary)
    labelled = of_catalog(read_labelled)
    feed = of_catalog(read_feed)
    mark_read = of_catalog(mark_read)
    propagated = of_catalog(read_propagated)
    pin_propagated = of_catalog(pin_propagated)
    refresh_propagated = of_catalog(refresh_propagated)
    take_back_propagated = of_catalog(take_back_propagated)
    dbt_plan = of_catalog(read_plan)
    dbt_changes = of_catalog(read_project_changes)
    dbt_edits = of_catalog(read_project_edits)

    async def stage(
        self,
        edits: Iterable[StagedEdit],
        title: str,
        path: "str | PathLike[str] | None" = None,
        *,
        agent: Agent | None = None,
    ) -> StagedChangeset:
        """Create a changeset of these edits in a new file and return it, proposed by the current
        user, or by an agent for that user.

        The file is `path`, or a file in the directory of changesets that is named after the title.
        One request. Raises what `StagedChangeset.create` raises.

        Example: `steward.stage(steward.propose_descriptions([urn]), "Texts from upstream")`
        """
        user = await self._catalog.me()
        return await asyncio.to_thread(
            StagedChangeset.create,
            Path(path) if path is not None else new_path(title, datetime.now(UTC)),
            edits,
            title=title,
            server=self._catalog.address,
            proposed_by=str(user) if user is not None else "",
            catalog=(await self._catalog.abilities()).catalog_id,
            agent=agent,
        )

    async def import_changeset(self, changeset: StagedChangeset) -> StagedChangeset:
        """Create a changeset for this catalog with the edits of a changeset of another catalog, and
        return it.

        Its edits are undecided, except two kinds, which are shown as conflicts: edits of tables or
        columns that this catalog lacks, and of descriptions that have another text here than the
        one the edit was written against. Requests as for `stage`, and those of
        `AsyncCatalog.entities`. Raises `InvalidInput` for a changeset of this catalog, and what
        `stage` raises.

        Example: `steward.import_changeset(changeset).counts()`
        """
        known_catalog = await self._catalog.known_as()
        if not why_foreign(changeset, known_catalog, server_key(self._catalog)):
            raise InvalidInput("this changeset is of this catalog: review it as it is")
        edits = [item.edit for item in changeset.items]
        conflicts = await read_conflicts(self._catalog, edits)
        imported = await self.stage(edits, changeset.title)
        conflicts_by_number = {
            item.number: conflicts[item.edit.place]
            for item in imported.items
            if item.edit.place in conflicts
        }
        if conflicts_by_number:
            await asyncio.to_thread(imported.note_conflicts, conflicts_by_number)
        return imported

    async def documentation(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[Row, ...]:
        """Return the documentation of the datasets as rows; see `read_documentation`."""
        chosen = await self.datasets(urns, text=text, filter=filter, folder=folder)
        return await read_documentation(self._catalog, chosen, progress)

    async def coverage(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        by: Grouping | None = None,
        progress: Progress | None = None,
        waiting: Callable[[str], object] | None = None,
    ) -> Coverage:
        """Return how much of the datasets is documented; see `explorer.stewardship.coverage`.

        One request if the server computes coverage, else the requests of `read_coverage`.
        """
        chosen = selection_of(urns, text, filter, folder)
        if await _is_counted(self._catalog, chosen):
            coverage = await _ask_patiently(
                lambda: ask_coverage(self._catalog, chosen, by), waiting
            )
            if progress is not None:
                progress(coverage.tables.total, coverage.tables.total)
            return coverage
        return await read_coverage(self._catalog, await self.datasets(**chosen), by, progress)

    async def coverage_trend(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        by: Grouping | None = None,
        days: int = 90,
        every: Every = "day",
        progress: Progress | None = None,
        waiting: Callable[[str], object] | None = None,
    ) -> CoverageTrend:
        """Return how much was documented on each of the last days, or on every seventh.

        See `explorer.stewardship.coverage.ask_trend`. One request; the first in a large catalog
        takes seconds. Raises `InvalidInput` on a server that does not compute trends, such as
        DataHub's.

        Example: `steward.coverage_trend(by="platform", days=30)`
        """
        chosen = selection_of(urns, text, filter, folder)
        trend = await _ask_patiently(
            lambda: ask_trend(self._catalog, chosen, by, days=days, every=every), waiting
        )
        if progress is not None:
            progress(trend.datasets, trend.datasets)
        return trend

    async def worklist(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        top: int | None = None,
        days: int = 30,
        progress: Progress | None = None,
        waiting: Callable[[str], object] | None = None,
    ) -> Worklist:
        """Return the undocumented tables and columns, most important first; see
        `explorer.stewardship.worklist`.

        One request if the server computes the worklist, else the requests of `read_worklist`.
        """
        chosen = selection_of(urns, text, filter, folder)
        if await _is_counted(self._catalog, chosen):
            worklist = await _ask_patiently(
                lambda: ask_worklist(self._catalog, chosen, top=top, days=days), waiting
            )
            if progress is not None:
                progress(worklist.datasets, worklist.datasets)
            return worklist
        datasets = await self.datasets(**chosen)
        return await read_worklist(self._catalog, datasets, top=top, days=days, progress=progress)

    async def propose_descriptions(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        most_hops: int = 5,
        progress: Progress | None = None,
    ) -> tuple[StagedEdit, ...]:
        """Return a proposed description for each undocumented column for which one can be found.

        They are found along lineage or by the column's name; see
        `explorer.stewardship.propagation.propose_descriptions`.

        Example: `steward.propose_descriptions([urn], most_hops=2)`
        """
        chosen = await self.datasets(urns, text=text, filter=filter, folder=folder)
        return await propose_descriptions(
            self._catalog, chosen, most_hops=most_hops, progress=progress
        )

    async def draft(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        command: str | None = None,
        timeout_seconds: float | None = None,
        parts: Iterable[Part] = ("columns", "tables"),
        limit: int | None = None,
        at_once: int = 4,
        path: "Path | None" = None,
        drafted: Callable[[StagedEdit], object] | None = None,
        progress: Progress | None = None,
    ) -> DraftingOutcome:
        """Run a command that drafts a description for each undocumented column and table, and stage
        them.

        See `explorer.stewardship.drafting`, also for the input of the command. Nothing is written
        to the catalog. `command` and `timeout_seconds` default to the configured ones. Raises
        `Misconfigured` if no command is given or configured.

        Example: `steward.draft([urn], command="my-drafts --short").changeset`
        """
        chosen = chosen_command(self._catalog.drafting, command, timeout_seconds)
        if path is not None and path.exists():
            raise InvalidInput(f"{path} already exists; give another file")
        datasets = await self.datasets(urns, text=text, filter=filter, folder=folder)
        outcome = await draft_descriptions(
            self._catalog,
            datasets,
            chosen,
            parts=parts,
            limit=limit,
            at_once=at_once,
            drafted=drafted,
            progress=progress,
        )
        if not outcome.edits:
            return outcome
        return replace(outcome, changeset=await self.stage(outcome.edits, DRAFTED, path))

    async def draft_requests(
        self,
        urns: str | Urn | Iterable[str | Urn] = (),
        *,
        text: str = "*",
        filter: Filter | str | None = None,
        folder: str | None = None,
        parts: Iterable[Part] = ("columns", "tables"),
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the requests that `draft` would pass to the command, in its order, without running
        it.

        Costs the requests of `explorer.stewardship.drafting.drafting_requests`.
        """
        datasets = await self.datasets(urns, text=text, filter=filter, folder=folder)
        return await undocumented_requests(self._catalog, datasets, parts=parts, limit=limit)


class Stewardship(SharedThreadFace):
    """The blocking form of `AsyncStewardship`: `Stewardship(catalog).coverage()`.

    It uses the catalog's thread, and can be used until the catalog is closed.
    """

    def __init__(self, catalog: "Catalog") -> None:
        super().__init__(catalog)
        self._core = AsyncStewardship(catalog.core)

    @property
    def core(self) -> AsyncStewardship:
        """The asynchronous object whose methods are run."""
        return self._core

    datasets = blocking(AsyncStewardship.datasets)
    documentation = blocking(AsyncStewardship.documentation)
    changeset = blocking(AsyncStewardship.changeset)
    apply = blocking(AsyncStewardship.apply)
    apply_staged = blocking(AsyncStewardship.apply_staged)
    share_changeset = blocking(AsyncStewardship.share_changeset)
    shared_changesets = blocking(AsyncStewardship.shared_changesets)
    fetch_changeset = blocking(AsyncStewardship.fetch_changeset)
    sync_changeset = blocking(AsyncStewardship.sync_changeset)
    withdraw_changeset = blocking(AsyncStewardship.withdraw_changeset)
    stage = blocking(AsyncStewardship.stage)
    import_changeset = blocking(AsyncStewardship.import_changeset)
    dbt_plan = blocking(AsyncStewardship.dbt_plan)
    dbt_changes = blocking(AsyncStewardship.dbt_changes)
    dbt_edits = blocking(AsyncStewardship.dbt_edits)
    coverage = blocking(AsyncStewardship.coverage)
    coverage_trend = blocking(AsyncStewardship.coverage_trend)
    worklist = blocking(AsyncStewardship.worklist)
    propose_descriptions = blocking(AsyncStewardship.propose_descriptions)
    draft = blocking(AsyncStewardship.draft)
    draft_requests = blocking(AsyncStewardship.draft_requests)
    concept = blocking(AsyncStewardship.concept)
    term_concept = blocking(AsyncStewardship.term_concept)
    glossary = blocking(AsyncStewardship.glossary)
    apply_glossary = blocking(AsyncStewardship.apply_glossary)
    resolve_glossary = blocking(AsyncStewardship.resolve_glossary)
    labelled = blocking(AsyncStewardship.labelled)
    feed = blocking(AsyncStewardship.feed)
    mark_read = blocking(AsyncStewardship.mark_read)
    propagated = blocking(AsyncStewardship.propagated)
    pin_propagated = blocking(AsyncStewardship.pin_propagated)
    refresh_propagated = blocking(AsyncStewardship.refresh_propagated)
    take_back_propagated = blocking(AsyncStewardship.take_back_propagated)


async def _ask_patiently(
    ask: Callable[[], Awaitable[_T]], waiting: Callable[[str], object] | None
) -> _T:
    """Return the answer to a request. While the server answers `Busy`, call `waiting` with its
    message and repeat the request, for ten minutes; without `waiting`, raise the `Busy`."""
    end = monotonic() + _MOST_SECONDS
    while True:
        try:
            return await ask()
        except Busy as error:
            if waiting is None or monotonic() > end:
                raise
            waiting(error.excerpt or str(error))
            await asyncio.sleep(min(error.retry_after_seconds or 1.0, _LONGEST_PAUSE_SECONDS))


async def _is_counted(catalog: "AsyncCatalog", datasets: DatasetSelection) -> bool:
    """Return whether the server computes coverage and worklists for this many datasets."""
    return len(datasets["urns"]) <= _MOST_NAMED and (await catalog.abilities()).stewardship
