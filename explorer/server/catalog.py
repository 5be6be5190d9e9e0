"""The catalog: the truth, what is derived from it, and the rules of changing it.

Routes and GraphQL are two faces of this one thing.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from explorer import __version__
from explorer.errors import CatalogError, InvalidInput, NotFound
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.commits import Commits
from explorer.server.failures import Refusal, status_of
from explorer.server.folders import FolderPage, read_folders
from explorer.server.following import Feed
from explorer.server.intake import NO_RUN, UNKNOWN_ACTOR, Change, Intake
from explorer.server.projection import Projection
from explorer.server.references import Unlinked, unlink
from explorer.server.search.folders import FolderQuery
from explorer.server.search.index import SearchIndex
from explorer.server.store import Job, Store, Transaction
from explorer.server.undo import Undone, roll_back

__all__ = ["Catalog"]

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 4
_SEEDED = "seeded"
_SAMPLE_RUN = "sample"
# A batch this long is checked beside the event loop, so that others are answered meanwhile.
_LONG_BATCH = 20


class Catalog:
    """A store and its search index under one registry. Any thread may call what is not async."""

    def __init__(self, store: Store, index: SearchIndex, registry: Registry) -> None:
        self.store = store
        self.index = index
        self.registry = registry
        self.intake = Intake(registry)
        self._projection = Projection(store, index, registry)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="catalog-reader")
        self.commits = Commits(self._projection)
        self.feed = Feed(store, self.commits)
        store.observe(self.commits)

    def catch_up(self) -> int:
        """Bring the search index up to the change log; how many entities it lacked."""
        return self._projection.catch_up()

    def close(self) -> None:
        """Commit what is queued, flush the index, let go of the files."""
        self.feed.end()
        self._threads.shutdown()
        self.store.close()
        self.index.flush()
        self.index.close()

    async def offload(self, work: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """Do work that takes milliseconds beside the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*given, **named))

    def start(self, work: Callable[[], object]) -> None:
        """Do work beside the event loop and wait for nothing."""
        self._threads.submit(work)

    def write(self, job: Job[T]) -> Awaitable[T]:
        """Queue a job for the writer; what is awaited comes after its commit."""
        return asyncio.wrap_future(self.commits.counted(job, self.store.write))

    async def ingest(self, proposal: Proposal, actor: str | None = None) -> None:
        """Write one change; raises as `Intake.check` and `Intake.apply` do.

        `actor` is whom the caller proved to be; it wins over whom the proposal names.
        """
        change = self.intake.check(proposal, actor)
        await self.write(lambda transaction: self._apply(transaction, change))

    async def ingest_all(self, proposals: Sequence[Proposal], actor: str | None = None) -> None:
        """Write several changes as one, in order: all of them or none."""

        def checked() -> list[Change]:
            return [self.intake.check(proposal, actor) for proposal in proposals]

        changes = await self.offload(checked) if len(proposals) > _LONG_BATCH else checked()
        spoken = _spoken(changes)

        def job(transaction: Transaction) -> None:
            for change in changes:
                self._apply(transaction, change, spoken)

        await self.write(job)

    async def ingest_batch(self, given: Sequence[Any], actor: str | None = None) -> None:
        """Write proposals in their wire form as one, in order: all of them or none.

        Raises `Refusal` naming the place in the batch and the URN of the first that is bad.
        """
        if len(given) > _LONG_BATCH:
            changes = await self.offload(self._check_batch, given, actor)
        else:
            changes = self._check_batch(given, actor)
        spoken = _spoken(changes)

        def job(transaction: Transaction) -> None:
            for at, change in enumerate(changes):
                try:
                    self._apply(transaction, change, spoken)
                except CatalogError as error:
                    raise _in_batch(at, change.text, error) from error

        await self.write(job)

    def seed(self, proposals: Callable[[], Iterable[Proposal]]) -> bool:
        """Fill a catalog that never held anything, in one transaction; whether it was filled.

        The run id that the first proposal names is kept, so that `/config` can tell a sample
        until that run is rolled back.
        """
        if self.store.log_head() or self.store.note(_SEEDED):
            return False

        def job(transaction: Transaction) -> None:
            given = list(proposals())
            run = (given[0].system or {}).get("runId") if given else None
            changes = [self.intake.check(proposal) for proposal in given]
            spoken = _spoken(changes)
            for change in changes:
                self._apply(transaction, change, spoken)
            transaction.set_note(_SEEDED, "yes")
            transaction.set_note(_SAMPLE_RUN, run)

        self.store.write(job).result()
        return True

    async def delete(
        self,
        urn: Urn,
        aspect: str | None,
        bounds: tuple[int | None, int | None],
        actor: str | None = None,
    ) -> tuple[int, int]:
        """Remove an entity, or one of its aspects; how many versioned and timeseries rows went.

        Raises `NotFound` when there is no such entity.
        """
        key = self.registry.entity(urn.entity_type).key
        declared = self.registry.aspect_of(urn.entity_type, aspect) if aspect else None
        by = actor or UNKNOWN_ACTOR

        def job(transaction: Transaction) -> tuple[int, int]:
            text, now = str(urn), _now_millis()
            if not transaction.exists(text):
                raise NotFound(f"{text} does not exist.")
            if aspect is None or declared is None or aspect == key:
                return transaction.erase(text, key, now, by)
            if declared.timeseries:
                return 0, transaction.remove_points(text, aspect, bounds, now, by)
            return transaction.remove(text, aspect, now, by), 0

        return await self.write(job)

    def browse_v2(
        self,
        entity_types: Sequence[str] | None,
        path: tuple[str, ...],
        start: int,
        count: int,
        query: str = "*",
        narrowed_by: Filter | None = None,
    ) -> FolderPage:
        """The folders right below a path of folder ids that hold entities of these types (None for
        all) which a query and a filter let through. Milliseconds; raises as `SearchIndex.search`.
        """
        asked = FolderQuery(
            tuple(entity_types) if entity_types else None, path, query, narrowed_by or Filter()
        )
        return read_folders(self.store, self.index, asked, start, count)

    async def delete_references(
        self, urn: Urn, actor: str | None = None, *, dry_run: bool
    ) -> Unlinked:
        """Take the references to an entity out of all other aspects; with `dry_run` only tell what
        that would be."""

        def job(transaction: Transaction) -> Unlinked:
            stamp = (_now_millis(), actor or UNKNOWN_ACTOR)
            unlinked = unlink(transaction, str(urn), self.intake, self.registry, stamp)
            if dry_run:
                raise _Rehearsed(unlinked)
            return unlinked

        try:
            return await self.write(job)
        except _Rehearsed as rehearsal:
            return rehearsal.unlinked

    async def roll_back(
        self, run: str, actor: str | None = None, *, dry_run: bool, safe: bool
    ) -> Undone:
        """Take back what a run wrote; with `dry_run` only tell what that would be."""
        if run == NO_RUN:
            raise InvalidInput(f"{run} stands for every write that named no run; name one run")

        def job(transaction: Transaction) -> Undone:
            stamp = (_now_millis(), actor or UNKNOWN_ACTOR)
            undone = roll_back(transaction, run, self.intake, self.registry, stamp, safe=safe)
            if dry_run:
                raise _TakenBack(undone)
            if transaction.note(_SAMPLE_RUN) == run:
                transaction.set_note(_SAMPLE_RUN, None)
            return undone

        try:
            return await self.write(job)
        except _TakenBack as rehearsal:
            return rehearsal.undone

    def describe(self) -> dict[str, Any]:
        """What `/config` says of this catalog beside what clients of the real service read."""
        return {
            "version": __version__,
            "sample": self.store.note(_SAMPLE_RUN) is not None,
            "entities": self.store.entity_count(),
        }

    def _apply(
        self, transaction: Transaction, change: Change, spoken: Collection[tuple[str, str]] = ()
    ) -> None:
        self.intake.apply(transaction, change, _now_millis(), spoken)

    def _check_batch(self, given: Sequence[Any], actor: str | None) -> list[Change]:
        changes: list[Change] = []
        for at, wire in enumerate(given):
            try:
                changes.append(self.intake.check(read_proposal(wire), actor))
            except CatalogError as error:
                urn = wire.get("entityUrn") if isinstance(wire, dict) else None
                raise _in_batch(at, urn, error) from error
        return changes


class _TakenBack(Exception):
    """A rehearsal: the writer takes back what a job that raises did."""

    def __init__(self, undone: Undone) -> None:
        super().__init__()
        self.undone = undone


class _Rehearsed(Exception):
    """As `_TakenBack`, of references."""

    def __init__(self, unlinked: Unlinked) -> None:
        super().__init__()
        self.unlinked = unlinked


def _spoken(changes: Iterable[Change]) -> set[tuple[str, str]]:
    """What a batch writes itself, so that a new entity is not given it first."""
    return {(change.text, change.aspect) for change in changes}


def _in_batch(at: int, urn: Any, error: CatalogError) -> Refusal:
    named = f" ({urn})" if isinstance(urn, str) else ""
    return Refusal(status_of(error), f"proposals[{at}]{named}: {error}")


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
