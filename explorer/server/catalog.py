"""The catalog: the store, the search index and counts derived from it, and the rules for changes;
also the age of the search results of each request.

The HTTP routes and GraphQL are two interfaces to the same `CatalogEngine`.

If several services share a store, each has its own index, which follows the change log. A service
that cannot reach the database, or whose process was paused, does not know what others have written
since. Its search results then carry their age in the header `x-catalog-age-seconds`; a caller who
knows of a later change gets an error instead.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from explorer.errors import (
    Busy,
    CatalogError,
    InvalidInput,
    NotFound,
    ServerFault,
    StorageFault,
    TimedOut,
    Unusable,
)
from explorer.metadata.proposal import NO_RUN, Proposal
from explorer.metadata.registry import Registry
from explorer.metadata.structured_properties import DEFINITION, field_name
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.query.filters import Filter
from explorer.server.browse import FolderPage, read_folders
from explorer.server.changelog import Commits, Feed
from explorer.server.coverage import CoverageHistories
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal, restate, status_of
from explorer.server.ingestion import (
    CheckedProposal,
    Intake,
    aspects_to_write,
    may_need_definition,
    remove_property_values,
)
from explorer.server.projection import Projection
from explorer.server.remembered import CatalogMemory, Loss
from explorer.server.removal import (
    AspectReference,
    RollbackResult,
    Stamp,
    UnlinkedReferences,
    references_to,
    roll_back,
    unlink,
)
from explorer.server.retention import Retention, trim_documents, trim_versions
from explorer.server.search import SearchEngine
from explorer.server.search.document import FolderQuery
from explorer.server.search.query import SearchQuery
from explorer.server.stewardship import Ledger
from explorer.server.store import (
    Job,
    Reader,
    Store,
    StoredFolderPage,
    Transaction,
    lasting_id,
)
from explorer.version import __version__

AGE_HEADER = b"x-catalog-age-seconds"
"""The header with the age of the search results in an answer: the seconds since the index was last
known to be complete."""

FRESH_SECONDS = 5.0
"""An index that was known to be complete within this time counts as up to date. A service is
notified of changes at once, and also polls every 2 seconds."""

T = TypeVar("T")
Item = TypeVar("Item")
P = ParamSpec("P")

_log = logging.getLogger("explorer.server")

_THREADS = 4
# More threads than a store has connections; one that waits too long for a connection gets an error.
_REMOTE_THREADS = 24
_PROBE_SECONDS = 5.0
_CATCH_UP_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_RETRY_AFTER_SECONDS = 1.0
_REBUILD_AGAIN_SECONDS = 10.0
_INLINE = ContextVar("inline", default=False)
_MOST_NOTED = 100
_written: ContextVar[dict[str, None] | None] = ContextVar("written", default=None)
_has_left: ContextVar[Callable[[], bool] | None] = ContextVar("has_left", default=None)
_SEEDED = "seeded"
_SAMPLE_RUN = "sample"
# A longer batch is checked in a thread, so that the event loop can answer other requests meanwhile.
_LONG_BATCH = 20
_LARGEST_BATCH = 20_000
# The error for a batch lists at most this many of the refused elements.
_MAX_NAMED = 20
# A large operation is split into writer jobs of this size; updating the derived data makes each
# about three times as long. Other writes wait for at most one such job.
_PART_SECONDS = 0.015
_PART_ITEMS = 20
# The number of changes of a batch that take about `_PART_SECONDS`.
_PART_CHANGES = 100
# So many parts of a batch are queued at once, to share a commit; others are written in between.
_PARTS_QUEUED = 2
# The newest rows of the change log, which are kept whatever their age.
_CHANGES_KEPT = 10_000
# The number of rows that one job of the writer drops.
_TRIM_ROWS = 1_000
_REPEAT_SECONDS = 3_600.0
# The changes of each element of a batch, by its position in the request.
_Elements = Mapping[int, Sequence[CheckedProposal]]
_DAY_MILLIS = 86_400_000


@contextmanager
def noting_writes(has_left: Callable[[], bool] | None = None) -> Iterator[dict[str, None]]:
    """Yield a mapping whose keys are the URNs of the first entities, about a hundred, that writes
    within the block change, in the order of the writes. A nested block has its own mapping.

    `has_left` returns whether the client that requested the writes has disconnected; see
    `CatalogEngine.write`.
    """
    urns: dict[str, None] = {}
    token, client_token = _written.set(urns), _has_left.set(has_left)
    try:
        yield urns
    finally:
        _has_left.reset(client_token)
        _written.reset(token)


class CatalogEngine:
    """A store and its search index, with the registry that both use.

    Methods that are not async may be called from any thread.
    """

    def __init__(
        self,
        store: Store,
        index: SearchEngine,
        registry: Registry,
        counts: Path | None = None,
        name: str = "",
        memory: CatalogMemory | None = None,
    ) -> None:
        """`counts` is the database file of the stewardship ledger; without one it is temporary.
        `name` is the name of this search index if several services share the store. `memory` is
        the record, in the data directory, of which changes the catalog had.
        """
        self.store = store
        self.index = index
        self.registry = registry
        self.intake = Intake(registry)
        self.ledger = Ledger(store, counts)
        self.coverage_histories = CoverageHistories(store)
        self._name = name
        self._projection = Projection(store, index, registry, self.ledger, name)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="catalog-reader")
        # A remote store may keep all of these threads waiting, and searches must not wait for them.
        self._store_threads = (
            self._threads
            if store.is_local
            else ThreadPoolExecutor(_REMOTE_THREADS, thread_name_prefix="catalog-store-reader")
        )
        # One thread each for work that takes seconds: requests such as rollbacks, and updating the
        # contents of containers that moved.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="catalog-worker")
        self._follower = ThreadPoolExecutor(1, thread_name_prefix="catalog-follower")
        self._one_at_a_time = asyncio.Lock()
        self.commits = Commits(store, self._projection)
        self.feed = Feed(store, self.commits)
        self._memory = memory
        if memory is not None:
            self.commits.listeners.append(memory.note)
        self._projection.on_moved = self._follow_moved
        self._is_closing = threading.Event()
        self._tasks: list[threading.Thread] = []
        self._rebuilding: threading.Thread | None = None
        self._probe: Future[None] | None = None
        index.on_damage = self.rebuild_index
        index.before_read = self.ledger.before_read = self._check_freshness
        # In a thread, so that reads and writes of the store are answered meanwhile.
        verification = threading.Thread(
            target=index.verify, name="search-verification", daemon=True
        )
        self._tasks.append(verification)
        verification.start()

    def browse(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int, among: Filter
    ) -> StoredFolderPage:
        """Return the folders and entities at a path of folders, as if only the entities that match
        the filter existed. Raises as `Store.browse` and `SearchEngine.find_urns`."""
        if not among:
            return self.store.browse(entity_type, path, start, limit)
        urns = self.index.find_urns(SearchQuery("*", (entity_type,), among, 0, 0))
        return self.store.browse(entity_type, path, start, limit, urns)

    def catch_up(self) -> int:
        """Bring the search index up to date with the change log; return how many entities were
        missing from it."""
        lacked = self._projection.catch_up()
        self._follow()
        self._projection.follow_moves()
        return lacked

    def recount_use(self) -> int:
        """Recount the usage of the last 30 days, as `Projection.recount_use` does; return how many
        entities changed. Does nothing while the index is suspended, because a rebuild counts it
        too."""
        return 0 if self.index.is_suspended else self._projection.recount_use()

    @property
    def is_preparing(self) -> bool:
        """Whether the search index is being rebuilt, or, for the first time, documentation coverage
        counted or texts encoded for the search by meaning. If the process ended meanwhile, the
        rebuild would begin again."""
        rebuild, meaning = self._rebuilding, self.index.meaning
        is_first_reading = meaning is not None and meaning.is_building
        is_rebuilding = rebuild is not None and rebuild.is_alive()
        return self.ledger.is_counting or is_first_reading or is_rebuilding

    def rebuild_index(self) -> None:
        """Rebuild the search index in the background. Searches raise `Busy` until it is done;
        everything else continues."""
        self.index.suspend()
        self._follow()
        thread = threading.Thread(target=self._rebuild, name="search-rebuild", daemon=True)
        self._rebuilding = thread
        self._tasks.append(thread)
        thread.start()

    def _follow(self) -> None:
        self.store.follow(self._projection.followed, self._name, self._oldest_offset_in_use)

    def _oldest_offset_in_use(self) -> int:
        """Return the offset after which this service still needs the change log, for its search
        index on disk and its followers of the log."""
        # The index also needs the last row it has applied, to prove that it belongs to this
        # catalog.
        needed = [self.index.committed_offset - 1]
        return min(needed + [follower.at for follower in tuple(self.feed.followers)])

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The changes that the catalog has lost, as recorded in its data directory."""
        return () if self._memory is None else self._memory.losses

    async def prove_writer(self) -> None:
        """Wait until the writer has run a job that changes nothing.

        Raises `TimedOut` if that takes more than 5 seconds, and `StorageFault`, with the reason, if
        the writer cannot write.
        """
        try:
            if self._probe is None or self._probe.done():
                self._probe = self.store.write(_do_nothing)
            probed = asyncio.wrap_future(self._probe)
            # Retrieve a later error, which nobody waits for, so that it is not logged as unhandled.
            probed.add_done_callback(asyncio.Future.exception)
            async with asyncio.timeout(_PROBE_SECONDS):
                await asyncio.shield(probed)
        except TimeoutError:
            message = f"the writer did not answer in {_PROBE_SECONDS:g} seconds"
            raise TimedOut(message) from None
        except ServerFault as error:
            raise StorageFault(str(error)) from error

    def lag(self) -> tuple[int, float]:
        """Return how many rows of the change log the index lacks, and how many seconds ago it was
        last known to lack none (0 if it lacks none). Raises `Busy` if the store cannot be reached.
        """
        rows = max(0, self.store.log_bounds().head - self._projection.followed)
        return rows, self.store.lag_seconds() if rows else 0.0

    async def wait_for(self, offset: int) -> None:
        """Wait until searches find everything written up to an offset of the change log, by any
        service, and are known to be fresh. Waits at most one second, and not at all while the store
        cannot be reached."""

        def is_there() -> bool:
            is_fresh = self.store.lag_seconds() <= FRESH_SECONDS
            return (is_fresh and offset <= self.followed) or not self.store.is_reachable

        if is_there():
            return
        end = time.monotonic() + _CATCH_UP_SECONDS
        with self.feed.follow(offset) as follower:
            while not is_there() and not follower.is_over:
                if (remaining := end - time.monotonic()) <= 0:
                    return
                await follower.news(min(remaining, _LOOK_SECONDS))

    def _check_freshness(self) -> None:
        """Record that the current request reads data derived from the change log. Raises as
        `Freshness.note`."""
        if (request := Freshness.current()) is not None:
            # The lag is read first: if changes are followed in between, the data is newer than
            # noted, never older.
            lag_seconds = self.store.lag_seconds()
            request.note(self.followed, lag_seconds)

    def prove_searchable(self) -> None:
        """Raise `Busy` unless searches can be answered, even with results that are out of date."""
        if self.index.is_suspended:
            raise Busy("the search index is being built", retry_after_seconds=_CATCH_UP_SECONDS)

    def prove_caught_up(self) -> None:
        """Raise `Busy`, with the number of missing changes, unless searches find everything that is
        stored. Changes of the last `FRESH_SECONDS` may be missing."""
        self.prove_searchable()
        rows, seconds = self.lag()
        if rows and seconds > FRESH_SECONDS:
            message = f"the search index lacks the last {rows:,} changes"
            raise Busy(message, retry_after_seconds=_CATCH_UP_SECONDS)

    @property
    def followed(self) -> int:
        """The offset of the change log up to which searches find everything."""
        return self._projection.followed

    def close(self) -> None:
        """Commit the queued writes, flush the index, and close all files."""
        self._is_closing.set()
        self.store.hurry()
        self._projection.end()
        self.feed.end()
        self._threads.shutdown()
        self._store_threads.shutdown()
        self._worker.shutdown()
        self._follower.shutdown()
        for thread in self._tasks:
            thread.join()
        self.ledger.close()
        self.store.close()
        if self._memory is not None:
            self._memory.save()
        if not self.index.is_suspended:
            try:
                self.index.flush()
            except Unusable as error:
                _log.warning("%s; it is brought up to date at the next start", error)
        self.index.close()

    def _rebuild(self) -> None:
        while not self._is_closing.is_set():
            try:
                count = self._projection.rebuild(self._is_closing.is_set)
            except Exception:  # noqa: BLE001 - the top level of this thread; it retries
                if self.store.problem is not None:
                    _log.exception("the search index cannot be rebuilt")
                    self.index.suspend(self.store.problem)
                    return
                _log.exception("the search index cannot be rebuilt; trying again")
                self._is_closing.wait(_REBUILD_AGAIN_SECONDS)
                continue
            if not self._is_closing.is_set():
                _log.warning("the search index was rebuilt, with %d entities", count)
            return

    async def offload(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work`, which takes milliseconds and does not read the store, in a thread; within
        `inline`, in the calling thread."""
        return await _in_thread(self._threads, work, *args, **kwargs)

    async def read(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work`, which reads the store, in a thread; within `inline`, in the calling
        thread."""
        return await _in_thread(self._store_threads, work, *args, **kwargs)

    async def read_few(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work`, which reads a few rows of the store, in the calling thread if the store is
        local, else as `read` does."""
        if self.store.is_local:
            return work(*args, **kwargs)
        return await _in_thread(self._store_threads, work, *args, **kwargs)

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within the block, make `offload` and `read` call their work in the calling thread. This
        is for threads that run their own event loop beside the service's."""
        token = _INLINE.set(True)
        try:
            yield
        finally:
            _INLINE.reset(token)

    def start(self, work: Callable[[], object]) -> None:
        """Call `work` in a thread, without waiting for it."""
        self._threads.submit(work)

    def write(self, job: Job[T], *, is_part: bool = False) -> Awaitable[T]:
        """Queue a job for the writer; awaiting the result waits for its commit.

        If several services share the store and the client has disconnected before the job begins,
        the job raises `Busy`: the client may have repeated the request at another service, and have
        written something else since. A job that is part of a larger one is always run.
        """
        urns = _written.get()
        if urns is None:
            return asyncio.wrap_future(self.commits.write(job))
        has_left = _has_left.get() if self.store.is_shared and not is_part else None

        def noting(transaction: Transaction) -> T:
            if has_left is not None and has_left():
                raise Busy("nothing was written, because the client did not wait for the answer")
            outcome = job(transaction)
            if len(urns) < _MOST_NOTED:
                changes = transaction.changes
                touched = {*changes.touched, *(urn for urn, _ in changes.measured)}
                urns.update(dict.fromkeys(sorted(touched)[:_MOST_NOTED]))
            return outcome

        return asyncio.wrap_future(self.commits.write(noting))

    async def ingest(
        self, proposal: Proposal, actor: str | None = None, dialect: Dialect = "plain"
    ) -> None:
        """Write one change. Raises as `Intake.check` and `Intake.apply` do.

        `actor` is the authenticated caller; it takes precedence over the actor that the proposal
        names.
        """
        change = self.intake.check(proposal, actor, dialect)
        await self.write(lambda view: self.intake.apply(view, change, _now_millis()))

    async def ingest_all(
        self,
        proposals: Sequence[Proposal],
        actor: str | None = None,
        dialect: Dialect = "plain",
    ) -> None:
        """Write several changes in one transaction: all of them or none, in the order that
        `ingest_batch` describes. Raises `RequestRefusal` (413) if there are too many."""
        _check_size("aspects", len(proposals), "elements")

        def check_all() -> list[CheckedProposal]:
            default_actor = self.intake.default_actor
            return [
                self.intake.check(proposal, actor, dialect, default_actor) for proposal in proposals
            ]

        changes = await self.offload(check_all) if len(proposals) > _LONG_BATCH else check_all()
        await self.write(lambda view: self.intake.apply_all(view, changes, _now_millis()))

    async def ingest_batch(
        self,
        name: str,
        entries: Sequence[T],
        read_entry: Callable[[T], Sequence[Proposal]],
        actor: str | None = None,
        dialect: Dialect = "plain",
        *,
        all_or_none: bool = True,
    ) -> None:
        """Write the changes of each element of a list in a request.

        They are written in order, except that definitions of structured properties come first:
        files are often sorted by URN, which puts values before their definitions. `read_entry`
        returns the changes of one element, which are written all or none; with `all_or_none`, so is
        the whole list.

        Raises `RequestRefusal` for the first invalid element; without `all_or_none`, for all
        invalid elements, after the others have been written. The message names an element by the
        `name` of the list, its position (from 0) and its URN. A list that is too long is refused as
        a whole (413).
        """
        _check_size(name, len(entries), "elements")

        def check() -> list[list[CheckedProposal] | RequestRefusal]:
            default_actor = self.intake.default_actor
            checks: list[list[CheckedProposal] | RequestRefusal] = []
            change_count = 0
            for at, element in enumerate(entries):
                try:
                    proposals = read_entry(element)
                    change_count += len(proposals)
                    _check_size(name, change_count, "changes")
                    checks.append(
                        [
                            self.intake.check(each, actor, dialect, default_actor)
                            for each in proposals
                        ]
                    )
                except CatalogError as error:
                    urn = element.get("entityUrn") if isinstance(element, dict) else None
                    checks.append(_in_batch(f"{name}[{at}]", urn, error))
            return checks

        checked = await self.offload(check) if len(entries) > _LONG_BATCH else check()
        refused = [outcome for outcome in checked if isinstance(outcome, RequestRefusal)]
        if refused and all_or_none:
            raise refused[0]
        elements = {
            at: outcome
            for at, outcome in enumerate(checked)
            if not isinstance(outcome, RequestRefusal)
        }
        batch = aspects_to_write(change for element in elements.values() for change in element)
        if any(aspect == DEFINITION for _, aspect in batch):
            elements = dict(sorted(elements.items(), key=_follows_definitions))

        def write(transaction: Transaction, parts: _Elements) -> None:
            # Look up all URNs together; the transaction caches the result.
            transaction.existing([change.text for part in parts.values() for change in part])
            now_millis = _now_millis()
            for at, changes in parts.items():
                for change in changes:
                    try:
                        self.intake.apply(transaction, change, now_millis, batch)
                    except CatalogError as error:
                        raise _in_batch(f"{name}[{at}]", change.text, error) from error

        if all_or_none:
            await self.write(lambda transaction: write(transaction, elements))
            return
        all_parts = list(_cut(elements.items()))
        for begin in range(0, len(all_parts), _PARTS_QUEUED):
            jobs = [
                self.write(partial(_write_each, write=write, parts=dict(parts)))
                for parts in all_parts[begin : begin + _PARTS_QUEUED]
            ]
            for refusals in await asyncio.gather(*jobs):
                refused += refusals
        if refused:
            raise _batch_refusal(refused, len(entries))

    def seed(self, proposals: Callable[[], Iterable[Proposal]]) -> bool:
        """Fill a catalog that was never written to, in one transaction; return whether it did.

        The run id of the first proposal is stored: `/config` says that the catalog holds a sample
        until that run is rolled back.
        """
        if self.store.log_bounds().head or self.store.note(_SEEDED):
            return False

        def job(transaction: Transaction) -> bool:
            if transaction.log_bounds().head or transaction.note(_SEEDED):
                # Another service of the same store was faster.
                return False
            seeds = list(proposals())
            run = (seeds[0].system or {}).get("runId") if seeds else None
            changes = [self.intake.check(proposal) for proposal in seeds]
            self.intake.apply_all(transaction, changes, _now_millis())
            transaction.set_note(_SEEDED, "yes")
            transaction.set_note(_SAMPLE_RUN, run)
            return True

        return self.store.write(job).result()

    async def delete(
        self,
        urn: Urn,
        aspect: str | None,
        bounds: tuple[int | None, int | None],
        actor: str | None = None,
        dialect: Dialect = "plain",
    ) -> tuple[int, int]:
        """Remove an entity, or one of its aspects; return the numbers of versioned and of
        timeseries rows removed.

        If `aspect` is a timeseries aspect, only the documents within `bounds` are removed:
        milliseconds since 1970, both inclusive, `None` for an open end. Removing a structured
        property also removes its values from all entities; many are removed in several
        transactions. Raises `NotFound` if the entity does not exist; in DataHub's dialect both
        numbers are 0 instead.
        """
        key = self.registry.entity(urn.entity_type).key
        name = aspect or key
        self.registry.aspect_of(urn.entity_type, name)
        effective_actor = actor or self.intake.default_actor

        def job(transaction: Transaction) -> tuple[int, int]:
            if not transaction.existing([str(urn)]):
                if dialect == "datahub":
                    return 0, 0
                raise NotFound(f"{urn} does not exist.")
            return self.intake.remove(
                transaction, urn, name, bounds, _now_millis(), effective_actor
            )

        carrying: set[str] = set()
        if name == key and urn.entity_type == "structuredProperty":
            carrying = await self.offload(self.index.urns_with, field_name(urn.name))
        rows = await self.write(job)
        await self._in_parts(
            sorted(carrying),
            lambda view, text: remove_property_values(
                view, self.intake, text, urn, _now_millis(), effective_actor
            ),
            _ignore,
        )
        return rows

    def browse_v2(
        self,
        entity_types: Sequence[str] | None,
        path: tuple[str, ...],
        start: int,
        count: int,
        query: str = "*",
        filter: Filter | None = None,
    ) -> FolderPage:
        """Return a page of the folders directly below a path of folder ids.

        Only folders are listed that contain entities of these types (`None` for all) that match the
        query and the filter. Takes milliseconds. Raises as `SearchEngine.search`.
        """
        folders = FolderQuery(
            tuple(entity_types) if entity_types else None, path, query, filter or Filter()
        )
        return read_folders(self.store, self.index, folders, start, count)

    async def delete_references(
        self, urn: Urn, actor: str | None = None, *, dry_run: bool
    ) -> UnlinkedReferences:
        """Remove the references to an entity from all other aspects; return which were removed.

        With `dry_run` nothing is written, and the result is what would be removed, according to one
        snapshot of the store. Each aspect is changed in one transaction; many aspects are changed
        in several, with other writes in between. A second call continues after a crash. Raises
        `RequestRefusal`, with the number of aspects processed, if it cannot continue.
        """
        text, effective_actor = str(urn), actor or self.intake.default_actor

        def remove(
            view: Reader, references: list[AspectReference], stamp: Stamp | None
        ) -> UnlinkedReferences:
            return unlink(view, text, references, self.registry, stamp)

        total = UnlinkedReferences()
        async with self._one_at_a_time:
            find = partial(references_to, urn=text)
            await self._roll_back_all(find, remove, total.add, effective_actor, dry_run=dry_run)
        return total

    async def roll_back(
        self, run: str, actor: str | None = None, *, dry_run: bool, hard: bool
    ) -> RollbackResult:
        """Roll back everything that a run of ingestion wrote; return what was rolled back.

        Entities that the run created are soft-deleted, with `hard` deleted permanently.

        With `dry_run` nothing is written, and the result is what would be rolled back, according to
        one snapshot of the store. Each entity is rolled back in one transaction; many entities are
        in several, with other writes in between. A second call continues after a crash. Raises
        `RequestRefusal`, with the number of entities processed, if it cannot continue, and
        `InvalidInput` for the id that stands for writes without a run.
        """
        if run == NO_RUN:
            raise InvalidInput(
                f"{run} is the runId of all writes that named no run and cannot be rolled back; "
                "give the id of one run"
            )
        effective_actor = actor or self.intake.default_actor

        def undo(view: Reader, urn: str, stamp: Stamp | None) -> RollbackResult:
            return roll_back(view, run, urn, self.intake, self.registry, stamp, hard=hard)

        def settle(transaction: Transaction) -> None:
            if transaction.note(_SAMPLE_RUN) == run:
                transaction.set_note(_SAMPLE_RUN, None)

        total = RollbackResult(run)
        async with self._one_at_a_time:
            await self._roll_back_all(
                lambda view: view.urns(run=run), undo, total.add, effective_actor, dry_run=dry_run
            )
            if not dry_run:
                await self.write(settle, is_part=True)
        return total

    async def _roll_back_all(
        self,
        find: Callable[[Reader], Sequence[Item]],
        work: Callable[[Reader, Item, Stamp | None], T],
        done: Callable[[T], object],
        actor: str,
        *,
        dry_run: bool,
    ) -> None:
        """Find items in one snapshot of the store and process each with `work`; `done` is called
        with each result. With `dry_run` nothing is written, and `work` returns what it would do."""

        def read() -> Sequence[Item]:
            with self.store.snapshot() as view:
                items = find(view)
                for item in items if dry_run else ():
                    done(work(view, item, None))
            return items

        answer = await self._run_in_worker(read)
        if not dry_run:
            await self._in_parts(
                answer,
                lambda view, item: work(view, item, Stamp(view, _now_millis(), actor)),
                done,
            )

    async def _run_in_worker(self, work: Callable[[], T]) -> T:
        """Call `work`, which may take seconds, in a thread that does not block the event loop or
        the readers."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def _in_parts(
        self,
        items: Sequence[Item],
        work: Callable[[Transaction, Item], T],
        done: Callable[[T], object],
    ) -> None:
        """Process items in writer jobs of about 15 ms each, so that other writes are done in
        between; `done` is called with each result after its commit.

        Raises `RequestRefusal`, with the number of items processed, if a job fails.
        """
        at = 0
        while at < len(items):

            def job(transaction: Transaction, begin: int = at) -> list[T]:
                outcomes: list[T] = []
                end_by = time.perf_counter() + _PART_SECONDS
                for item in items[begin : begin + _PART_ITEMS]:
                    outcomes.append(work(transaction, item))
                    if time.perf_counter() > end_by:
                        break
                return outcomes

            try:
                part = await self.write(job, is_part=True)
            except CatalogError as error:
                raise restate(
                    error,
                    f"stopped after {at:,} of {len(items):,}: {error}; repeat the request to "
                    "continue",
                ) from error
            at += len(part)
            for outcome in part:
                done(outcome)

    def keep(self, retention: Retention) -> None:
        """Drop data that is older than `retention` allows, now and every hour, until the catalog is
        closed.

        The newest 10,000 rows of the change log are always kept. So are rows that the search index
        does not have on disk yet or that a follower of the log has not read, at this service or
        another one of the same store. A service that was silent for 7 days is not waited for; it
        rebuilds its index when it returns. Backups do not need the dropped rows.
        """
        if retention == Retention(None):
            return

        def trim() -> None:
            if retention.changes_days is not None:
                self.trim_changes(retention.changes_days)
            if retention.versions is not None:
                trim_versions(self.store, retention.versions, self._is_closing.is_set)
            if retention.document_days is not None:
                trim_documents(self.store, retention.document_days, self._is_closing.is_set)

        thread = self._repeat(
            trim,
            "catalog-retention",
            "expired changes, versions and documents could not be removed",
        )
        self._tasks.append(thread)

    def keep_use(self) -> None:
        """Recount the usage of the last 30 days, now and every hour, until the catalog is
        closed."""
        thread = self._repeat(
            self.recount_use, "catalog-use", "the usage of the last 30 days could not be recounted"
        )
        self._tasks.append(thread)

    def _repeat(self, work: Callable[[], object], name: str, failure: str) -> threading.Thread:
        """Start and return a thread that calls `work` now and every hour until the catalog is
        closed. A `CatalogError`, such as a store that cannot be reached, is logged on one line
        after the message `failure`."""

        def run() -> None:
            while not self._is_closing.is_set():
                try:
                    work()
                except CatalogError as error:
                    _log.warning("%s: %s", failure, error)
                self._is_closing.wait(_REPEAT_SECONDS)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def trim_changes(self, days: int) -> int:
        """Drop old rows of the change log, as described at `keep`; return how many were dropped."""
        before_millis = self.store.now_millis() - days * _DAY_MILLIS
        dropped = 0
        while not self._is_closing.is_set():
            through = min(
                self.store.log_bounds().head - _CHANGES_KEPT,
                self._oldest_offset_in_use(),
                *(reader.after for reader in self.store.log_readers()),
            )
            part = self.store.write(partial(_trim, before_millis, through)).result()
            dropped += part
            if part < _TRIM_ROWS:
                break
        return dropped

    def describe(self) -> dict[str, Any]:
        """Return the part of the `/config` response under `catalogExplorer`, without the
        sign-in."""
        actor, meaning = self.intake.default_actor, self.index.meaning
        return {
            **({"meaning": meaning.describe()} if meaning is not None else {}),
            **({"user": actor} if actor != UNKNOWN_ACTOR else {}),
            **({"losses": list(map(str, self.losses))} if self.losses else {}),
            "version": __version__,
            "id": lasting_id(self.store),
            "sample": self.store.note(_SAMPLE_RUN) is not None,
            "entities": self.store.count(other_than=self.index.vocabulary.unlisted),
            "conditionalEdits": True,
            "namesInFilters": True,
            "columns": True,
            "stewardship": True,
            "coverageTrend": True,
            "proposals": True,
        }

    def _follow_moved(self, work: Callable[[], None]) -> None:
        if not self._is_closing.is_set():
            self._follower.submit(work)


async def _in_thread(
    threads: ThreadPoolExecutor, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    if _INLINE.get():
        return work(*args, **kwargs)
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        threads, lambda: context.run(work, *args, **kwargs)
    )


def _trim(before_millis: int, through: int, transaction: Transaction) -> int:
    return transaction.trim_log(before_millis, through, _TRIM_ROWS)


def _follows_definitions(element: tuple[int, Sequence[CheckedProposal]]) -> bool:
    return all(map(may_need_definition, element[1]))


def _check_size(name: str, size: int, what: str) -> None:
    """Raise `RequestRefusal` (413) if a list in a request has too many elements or changes."""
    if size > _LARGEST_BATCH:
        raise RequestRefusal(
            413, f"{name!r} has {size:,} {what}; send {_LARGEST_BATCH:,} at most at once"
        )


def _cut(
    elements: Iterable[tuple[int, Sequence[CheckedProposal]]],
) -> Iterator[list[tuple[int, Sequence[CheckedProposal]]]]:
    """Cut the elements of a batch into parts of about `_PART_CHANGES` changes."""
    part: list[tuple[int, Sequence[CheckedProposal]]] = []
    size = 0
    for at, changes in elements:
        part.append((at, changes))
        size += len(changes)
        if size >= _PART_CHANGES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _write_each(
    transaction: Transaction, write: Callable[[Transaction, _Elements], None], parts: _Elements
) -> list[RequestRefusal]:
    """Write the elements of a batch: all at once or, if one is refused, one by one. Return the
    refusals."""
    refused: list[RequestRefusal] = []

    def attempt(part: _Elements) -> None:
        transaction.attempt(lambda view: write(view, part))

    try:
        attempt(parts)
    except RequestRefusal:
        for at, changes in parts.items():
            try:
                attempt({at: changes})
            except RequestRefusal as refusal:
                refused.append(refusal)
    return refused


def _in_batch(place: str, urn: Any, error: CatalogError) -> RequestRefusal:
    urn_text = f" ({urn})" if isinstance(urn, str) else ""
    return RequestRefusal(status_of(error), f"{place}{urn_text}: {error}")


def _batch_refusal(refused: Sequence[RequestRefusal], size: int) -> RequestRefusal:
    """Return one error for the elements of a batch that were refused while others were written."""
    statuses = {refusal.status for refusal in refused}
    messages = [str(refusal) for refusal in refused[:_MAX_NAMED]]
    if len(refused) > _MAX_NAMED:
        messages.append(f"and {len(refused) - _MAX_NAMED} more")
    written_count = size - len(refused)
    return RequestRefusal(
        statuses.pop() if len(statuses) == 1 else 422,
        f"{len(refused)} of {size} were refused, the other {written_count} were written: "
        + "; ".join(messages),
    )


def _ignore(_done: object) -> None:
    """Ignore a result that is not reported."""


def _do_nothing(_transaction: Transaction) -> None:
    """Change nothing: a job that only proves that the writer works."""


def _now_millis() -> int:
    return time.time_ns() // 1_000_000


class Behind(Busy):
    """The search index lacks a change that the caller knows of; the caller should retry."""


class Freshness:
    """The freshness of search results that one request requires, and their age. Thread-safe.

    `needed` is the offset of the change log that the caller knows of.
    """

    __slots__ = ("_as_of", "needed")

    def __init__(self) -> None:
        self.needed = 0
        self._as_of = math.inf

    @staticmethod
    def current() -> "Freshness | None":
        """Return the `Freshness` of the current request, or `None` outside of a request."""
        return _current.get()

    @contextmanager
    def make_current(self) -> Iterator[None]:
        """Make this the current `Freshness` within a context."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def note(self, followed: int, lag_seconds: float) -> None:
        """Record a read of the index, which is complete up to the offset `followed`.

        `lag_seconds` is the time since the index was last known to be complete. Raises `Behind` if
        the caller knows of a later change, or if the index was never known to be complete.
        """
        if followed < self.needed:
            raise Behind(
                f"the search index of this server has the changes up to offset {followed}, and "
                f"the request asks for those up to {self.needed}; try again in a moment",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        if lag_seconds == math.inf:
            raise Behind(
                "the search index of this server has not been compared with the database yet; "
                "try again in a moment",
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._as_of = min(self._as_of, time.monotonic() - lag_seconds)

    def age_seconds(self) -> int | None:
        """Return the age of the search results that were read, or `None` if they are fresh or none
        were read.

        Call it when the response is sent, because the process may have been paused since the read.
        """
        age = time.monotonic() - self._as_of
        return math.ceil(age) if age > FRESH_SECONDS else None


_current: ContextVar[Freshness | None] = ContextVar("freshness", default=None)
