"""The catalog: the truth, what is derived from it, and the rules of changing it.

Routes and GraphQL are two faces of this one thing.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from explorer import __version__
from explorer.errors import CatalogError, InvalidInput, NotFound
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.failures import Refusal, status_of
from explorer.server.intake import NO_RUN, UNKNOWN_ACTOR, Change, Intake
from explorer.server.projection import Projection
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
        store.observe(self._projection)

    def catch_up(self) -> int:
        """Bring the search index up to the change log; how many entities it lacked."""
        return self._projection.catch_up()

    def close(self) -> None:
        """Commit what is queued, flush the index, let go of the files."""
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
        return asyncio.wrap_future(self.store.write(job))

    async def ingest(self, proposal: Proposal, actor: str | None = None) -> None:
        """Write one change; raises as `Intake.check` and `Intake.apply` do.

        `actor` is whom the caller proved to be; it wins over whom the proposal names.
        """
        change = self.intake.check(proposal, actor)
        await self.write(lambda transaction: self._apply(transaction, change))

    async def ingest_all(self, proposals: Sequence[Proposal], actor: str | None = None) -> None:
        """Write several changes as one, in order: all of them or none."""
        changes = [self.intake.check(proposal, actor) for proposal in proposals]

        def job(transaction: Transaction) -> None:
            for change in changes:
                self._apply(transaction, change)

        await self.write(job)

    async def ingest_batch(self, given: Sequence[Any], actor: str | None = None) -> None:
        """Write proposals in their wire form as one, in order: all of them or none.

        Raises `Refusal` naming the place in the batch and the URN of the first that is bad.
        """
        if len(given) > _LONG_BATCH:
            changes = await self.offload(self._check_batch, given, actor)
        else:
            changes = self._check_batch(given, actor)

        def job(transaction: Transaction) -> None:
            for at, change in enumerate(changes):
                try:
                    self._apply(transaction, change)
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
            run: str | None = None
            for proposal in proposals():
                if run is None:
                    run = (proposal.system or {}).get("runId")
                self._apply(transaction, self.intake.check(proposal))
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

    def _apply(self, transaction: Transaction, change: Change) -> None:
        self.intake.apply(transaction, change, _now_millis())

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


def _in_batch(at: int, urn: Any, error: CatalogError) -> Refusal:
    named = f" ({urn})" if isinstance(urn, str) else ""
    return Refusal(status_of(error), f"proposals[{at}]{named}: {error}")


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
