"""The catalog: the truth, what is derived from it, and the rules of changing it.

Routes and GraphQL are two faces of this one thing.
"""

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from explorer import __version__
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
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry
from explorer.metadata.structured_properties import field_name
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.browse import FolderPage, read_folders
from explorer.server.changelog import Commits, Feed
from explorer.server.coverage_trend import CoverageHistories
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal, status_of
from explorer.server.freshness import FRESH_SECONDS, Freshness
from explorer.server.ingestion import (
    Intake,
    may_need_definition,
    named_in,
    remove_property_values,
)
from explorer.server.ingestion_rules import NO_RUN, UNKNOWN_ACTOR, CheckedProposal
from explorer.server.projection import Projection
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
from explorer.server.search.document import FolderQuery
from explorer.server.search.interface import SearchEngine
from explorer.server.search.query import SearchQuery
from explorer.server.stewardship import Ledger
from explorer.server.store import Job, Reader, Store, StoredFolderPage, Transaction

__all__ = ["CatalogEngine"]

T = TypeVar("T")
Item = TypeVar("Item")
P = ParamSpec("P")

_log = logging.getLogger("explorer.server")

_THREADS = 4
_PROBE_SECONDS = 5.0
_CATCH_UP_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_REBUILD_AGAIN_SECONDS = 10.0
_INLINE = ContextVar("inline", default=False)
_SEEDED = "seeded"
_SAMPLE_RUN = "sample"
# A batch this long is checked beside the event loop, so that others are answered meanwhile.
_LONG_BATCH = 20
# The answer to a batch names so many of its elements that were refused.
_MAX_NAMED = 20
# What one job of the writer does of a large one; with what is derived from it about three times as
# long. Others wait for one such job at most.
_PART_SECONDS = 0.015
_PART_ITEMS = 20
# Of the change log, whatever its age.
_CHANGES_KEPT = 10_000
# Rows dropped by one job of the writer.
_TRIM_ROWS = 1_000
_REPEAT_SECONDS = 3_600.0
_DAY_MILLIS = 86_400_000


class CatalogEngine:
    """A store and its search index under one registry. Any thread may call what is not async."""

    def __init__(
        self,
        store: Store,
        index: SearchEngine,
        registry: Registry,
        counts: Path | None = None,
        name: str = "",
    ) -> None:
        """`counts` is the file in which what stewardship counts is kept; `name` that of the index
        where others are made of the same store."""
        self.store = store
        self.index = index
        self.registry = registry
        self.intake = Intake(registry)
        self.ledger = Ledger(store, counts)
        self.coverage_histories = CoverageHistories(store)
        self._name = name
        self._projection = Projection(store, index, registry, self.ledger, name)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="catalog-reader")
        # For work of seconds, one after another: what people ask for, and what follows a move.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="catalog-worker")
        self._follower = ThreadPoolExecutor(1, thread_name_prefix="catalog-follower")
        self._one_at_a_time = asyncio.Lock()
        self.commits = Commits(store, self._projection)
        self.feed = Feed(store, self.commits)
        self._projection.on_moved = self._follow_moved
        self._is_closing = threading.Event()
        self._tasks: list[threading.Thread] = []
        self._probe: Future[None] | None = None
        index.on_damage = self.rebuild_index
        index.before_read = self.ledger.before_read = self._check_freshness

    def browse(
        self, entity_type: str, path: tuple[str, ...], start: int, limit: int, among: Filter
    ) -> StoredFolderPage:
        """Return what is at a path of folders, as if there were only what a filter lets through;
        raises as `Store.browse` and `SearchEngine.found_urns`."""
        if not among:
            return self.store.browse(entity_type, path, start, limit)
        found = self.index.found_urns(SearchQuery("*", (entity_type,), among, 0, 0))
        return self.store.browse(entity_type, path, start, limit, found)

    def catch_up(self) -> int:
        """Bring the search index up to the change log; how many entities it lacked."""
        lacked = self._projection.catch_up()
        self._follow()
        self._projection.follow_moved()
        return lacked

    def recount_use(self) -> int:
        """Count the use of 30 days anew where some of it is longer ago by now, see `Projection`;
        how many entities that were."""
        return self._projection.recount_use()

    def rebuild_index(self) -> None:
        """Make the search index anew in the background. Until it is done searches raise `Busy`;
        everything else goes on."""
        self.index.suspend()
        self._follow()
        thread = threading.Thread(target=self._rebuild, name="search-rebuild", daemon=True)
        self._tasks.append(thread)
        thread.start()

    def _follow(self) -> None:
        self.store.follow(self._projection.followed, self._name, self._needed_after)

    def _needed_after(self) -> int:
        """The offset after which the change log is needed by this service: by the search index on
        disk, and by whoever follows the log here."""
        # The row that the index ends with proves that it is of this catalog.
        needed = [self.index.committed_offset - 1]
        return min(needed + [follower.at for follower in tuple(self.feed.followers)])

    async def prove_writer(self) -> None:
        """Return once the writer took a job that changes nothing. Raises `TimedOut` when it does
        not in 5 seconds, and `StorageFault` when it says why it writes nothing."""
        try:
            if self._probe is None or self._probe.done():
                self._probe = self.store.write(_do_nothing)
            async with asyncio.timeout(_PROBE_SECONDS):
                await asyncio.shield(asyncio.wrap_future(self._probe))
        except TimeoutError:
            message = f"the writer did not answer in {_PROBE_SECONDS:g} seconds"
            raise TimedOut(message) from None
        except ServerFault as error:
            raise StorageFault(str(error)) from error

    def lag(self) -> tuple[int, float]:
        """How many rows of the change log the index lacks, and how long ago it is known to have
        lacked none, in seconds. Raises `Busy` where the store cannot be reached."""
        rows = max(0, self.store.log_bounds().head - self._projection.followed)
        return rows, self.store.lag_seconds() if rows else 0.0

    async def wait_for(self, offset: int) -> None:
        """Wait until searches find what was written up to an offset of the change log, by whichever
        service, and are known to be fresh; a second at most, and not while the store is away."""

        def is_there() -> bool:
            is_fresh = self.store.lag_seconds() <= FRESH_SECONDS
            return (is_fresh and offset <= self.followed) or not self.store.is_reachable

        if is_there():
            return
        end = time.monotonic() + _CATCH_UP_SECONDS
        with self.feed.follow(offset) as follower:
            while not is_there() and not follower.is_over:
                if (left := end - time.monotonic()) <= 0:
                    return
                await follower.news(min(left, _LOOK_SECONDS))

    def _check_freshness(self) -> None:
        """Note that what follows the change log is read for a request; see `Freshness.note`."""
        if (request := Freshness.current()) is not None:
            # In this order: what is followed meanwhile makes it newer and not older.
            lag_seconds = self.store.lag_seconds()
            request.note(self.followed, lag_seconds)

    def copy_index(self) -> Path:
        """Return a new directory with the files of the search index, as it is now, which the caller
        removes. Raises `Busy` where it lacks something that the change log does not tell, and
        `NotFound` where there are no files."""
        moves = self._projection.moves_left()
        copied = self.index.copy_files()
        if copied is None:
            raise NotFound("this server has no search index on disk")
        if moves is None or moves != self._projection.moves_left():
            shutil.rmtree(copied, ignore_errors=True)
            raise Busy(
                "what moved with a container is not found there yet; try again in a moment",
                retry_after_seconds=_CATCH_UP_SECONDS,
            )
        return copied

    def prove_searchable(self) -> None:
        """Return when searches are answered, however old. Raises `Busy` while they are not."""
        if self.index.is_suspended:
            raise Busy("the search index is being made", retry_after_seconds=_CATCH_UP_SECONDS)

    def prove_caught_up(self) -> None:
        """Return when searches find all that is stored. Raises `Busy` that says what they lack."""
        self.prove_searchable()
        rows, seconds = self.lag()
        if rows and seconds > FRESH_SECONDS:
            message = f"the search index lacks the last {rows:,} changes"
            raise Busy(message, retry_after_seconds=_CATCH_UP_SECONDS)

    @property
    def followed(self) -> int:
        """The offset of the change log up to which searches find what was written."""
        return self._projection.followed

    def close(self) -> None:
        """Commit what is queued, flush the index, let go of the files."""
        self._is_closing.set()
        self._projection.end()
        self.feed.end()
        self._threads.shutdown()
        self._worker.shutdown()
        self._follower.shutdown()
        for thread in self._tasks:
            thread.join()
        self.ledger.close()
        self.store.close()
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
            except Exception:  # noqa: BLE001 - the edge of this thread; it is tried again
                if self.store.problem is not None:
                    _log.exception("the search index cannot be made anew")
                    self.index.suspend(self.store.problem)
                    return
                _log.exception("the search index cannot be made anew; trying again")
                self._is_closing.wait(_REBUILD_AGAIN_SECONDS)
                continue
            if not self._is_closing.is_set():
                _log.warning("the search index is made anew, with %d entities", count)
            return

    async def offload(self, work: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """Do work that takes milliseconds beside the event loop; see `inline`."""
        if _INLINE.get():
            return work(*given, **named)
        loop = asyncio.get_running_loop()
        context = copy_context()
        return await loop.run_in_executor(self._threads, lambda: context.run(work, *given, **named))

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within, `offload` does the work in the calling thread: for one that runs an event loop
        of its own beside the service's."""
        token = _INLINE.set(True)
        try:
            yield
        finally:
            _INLINE.reset(token)

    def start(self, work: Callable[[], object]) -> None:
        """Do work beside the event loop and wait for nothing."""
        self._threads.submit(work)

    def write(self, job: Job[T]) -> Awaitable[T]:
        """Queue a job for the writer; what is awaited comes after its commit."""
        return asyncio.wrap_future(self.commits.write(job))

    async def ingest(
        self, proposal: Proposal, actor: str | None = None, dialect: Dialect = "plain"
    ) -> None:
        """Write one change; raises as `Intake.check` and `Intake.apply` do.

        `actor` is whom the caller proved to be; it wins over whom the proposal names.
        """
        change = self.intake.check(proposal, actor, dialect)
        await self.write(lambda view: self.intake.apply(view, change, _now_millis()))

    async def ingest_all(
        self,
        proposals: Sequence[Proposal],
        actor: str | None = None,
        dialect: Dialect = "plain",
    ) -> None:
        """Write several changes as one, in order (see `ingest_batch`): all of them or none."""

        def checked() -> list[CheckedProposal]:
            by = self.intake.default_actor
            return [self.intake.check(proposal, actor, dialect, by) for proposal in proposals]

        changes = await self.offload(checked) if len(proposals) > _LONG_BATCH else checked()
        await self.write(lambda view: self.intake.apply_all(view, changes, _now_millis()))

    async def ingest_batch(
        self,
        name: str,
        given: Sequence[T],
        read: Callable[[T], Sequence[Proposal]],
        actor: str | None = None,
        dialect: Dialect = "plain",
        *,
        all_or_none: bool = True,
    ) -> None:
        """Write the changes that each element of a request's list stands for, in order; but
        definitions of structured properties come first, for files are often sorted by URN.

        `read` gives the changes of one element; these are written together or not at all. With
        `all_or_none` so is the whole list. Raises `Refusal` for the first element that is bad;
        without `all_or_none` for all of those, once the others are written. Elements are named by
        the list's `name`, their place (from 0) and the URN.
        """

        def check() -> list[list[CheckedProposal] | RequestRefusal]:
            by = self.intake.default_actor
            found: list[list[CheckedProposal] | RequestRefusal] = []
            for at, one in enumerate(given):
                try:
                    read_one = read(one)
                    found.append([self.intake.check(each, actor, dialect, by) for each in read_one])
                except CatalogError as error:
                    urn = one.get("entityUrn") if isinstance(one, dict) else None
                    found.append(_in_batch(f"{name}[{at}]", urn, error))
            return found

        checked = await self.offload(check) if len(given) > _LONG_BATCH else check()
        refused = [one for one in checked if isinstance(one, RequestRefusal)]
        if refused and all_or_none:
            raise refused[0]
        elements = {
            f"{name}[{at}]": one
            for at, one in sorted(
                enumerate(checked), key=lambda each: _all_follow_definitions(each[1])
            )
            if not isinstance(one, RequestRefusal)
        }
        batch = named_in(change for element in elements.values() for change in element)

        def write(transaction: Transaction, parts: Mapping[str, Sequence[CheckedProposal]]) -> None:
            # Looked up together.
            transaction.existing([change.text for part in parts.values() for change in part])
            for place, changes in parts.items():
                for change in changes:
                    try:
                        self.intake.apply(transaction, change, _now_millis(), batch)
                    except CatalogError as error:
                        raise _in_batch(place, change.text, error) from error

        if all_or_none:
            await self.write(lambda transaction: write(transaction, elements))
            return
        # The writer takes each job by itself, and commits many at once.
        jobs = [
            self.write(partial(write, parts={place: changes}))
            for place, changes in elements.items()
        ]
        for done in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(done, RequestRefusal):
                refused.append(done)
            elif isinstance(done, BaseException):
                raise done
        if refused:
            raise _refused(refused, len(given))

    def seed(self, proposals: Callable[[], Iterable[Proposal]]) -> bool:
        """Fill a catalog that never held anything, in one transaction; whether it was filled.

        The run id that the first proposal names is kept, so that `/config` can tell a sample
        until that run is rolled back.
        """
        if self.store.log_bounds().head or self.store.note(_SEEDED):
            return False

        def job(transaction: Transaction) -> bool:
            if transaction.log_bounds().head or transaction.note(_SEEDED):
                # Another service was faster.
                return False
            given = list(proposals())
            run = (given[0].system or {}).get("runId") if given else None
            changes = [self.intake.check(proposal) for proposal in given]
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
        """Remove an entity, or one of its aspects; how many versioned and timeseries rows went.

        With a structured property go the values that others have of it, many in several
        transactions. Raises `NotFound` when there is no such entity; for DataHub's callers no rows
        went then.
        """
        key = self.registry.entity(urn.entity_type).key
        name = aspect or key
        self.registry.aspect_of(urn.entity_type, name)
        by = actor or self.intake.default_actor

        def job(transaction: Transaction) -> tuple[int, int]:
            if not transaction.existing([str(urn)]):
                if dialect == "datahub":
                    return 0, 0
                raise NotFound(f"{urn} does not exist.")
            return self.intake.remove(transaction, urn, name, bounds, _now_millis(), by)

        carrying: set[str] = set()
        if name == key and urn.entity_type == "structuredProperty":
            carrying = await self.offload(self.index.urns_with, field_name(urn.name))
        rows = await self.write(job)
        await self._in_parts(
            sorted(carrying),
            lambda view, text: remove_property_values(
                view, self.intake, text, urn, _now_millis(), by
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
        narrowed_by: Filter | None = None,
    ) -> FolderPage:
        """The folders right below a path of folder ids that hold entities of these types (None for
        all) which a query and a filter let through. Milliseconds; raises as `SearchEngine.search`.
        """
        folders = FolderQuery(
            tuple(entity_types) if entity_types else None, path, query, narrowed_by or Filter()
        )
        return read_folders(self.store, self.index, folders, start, count)

    async def delete_references(
        self, urn: Urn, actor: str | None = None, *, dry_run: bool
    ) -> UnlinkedReferences:
        """Take the references to an entity out of all other aspects; with `dry_run` only tell what
        that would be, from one moment of the store.

        Each aspect is changed as a whole, many are changed in several transactions with other
        writes in between. Ended early by a crash, a second call goes on where this one was; one
        that cannot go on raises `ServerFault` and says how far it came.
        """
        text, by = str(urn), actor or self.intake.default_actor

        def remove(
            view: Reader, references: list[AspectReference], stamp: Stamp | None
        ) -> UnlinkedReferences:
            return unlink(view, text, references, self.registry, stamp)

        total = UnlinkedReferences()
        async with self._one_at_a_time:
            find = partial(references_to, urn=text)
            await self._take_back(find, remove, total.add, by, dry_run=dry_run)
        return total

    async def roll_back(
        self, run: str, actor: str | None = None, *, dry_run: bool, safe: bool
    ) -> RollbackResult:
        """Take back what a run wrote; with `dry_run` only tell what that would be, from one moment
        of the store.

        Each entity is taken back as a whole, many are in several transactions with other writes in
        between. Ended early by a crash, a second call goes on where this one was; one that cannot
        go on raises `ServerFault` and says how far it came.
        """
        if run == NO_RUN:
            raise InvalidInput(f"{run} stands for every write that named no run; name one run")
        by = actor or self.intake.default_actor

        def undo(view: Reader, urn: str, stamp: Stamp | None) -> RollbackResult:
            return roll_back(view, run, urn, self.intake, self.registry, stamp, safe=safe)

        def settle(transaction: Transaction) -> None:
            if transaction.note(_SAMPLE_RUN) == run:
                transaction.set_note(_SAMPLE_RUN, None)

        total = RollbackResult(run)
        async with self._one_at_a_time:
            await self._take_back(
                lambda view: view.urns(run=run), undo, total.add, by, dry_run=dry_run
            )
            if not dry_run:
                await self.write(settle)
        return total

    async def _take_back(
        self,
        find: Callable[[Reader], Sequence[Item]],
        work: Callable[[Reader, Item, Stamp | None], T],
        done: Callable[[T], object],
        actor: str,
        *,
        dry_run: bool,
    ) -> None:
        """Find items at one moment of the store and work through them; `done` gets what was made
        of each, or with `dry_run`, which writes nothing, what would be."""

        def read() -> Sequence[Item]:
            with self.store.snapshot() as view:
                found = find(view)
                for one in found if dry_run else ():
                    done(work(view, one, None))
            return found

        found = await self._beside(read)
        if not dry_run:
            await self._in_parts(
                found, lambda view, one: work(view, one, Stamp(view, _now_millis(), actor)), done
            )

    async def _beside(self, work: Callable[[], T]) -> T:
        """Do work that may take seconds, beside the event loop and the readers."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def _in_parts(
        self,
        items: Sequence[Item],
        work: Callable[[Transaction, Item], T],
        done: Callable[[T], object],
    ) -> None:
        """Work through items in jobs of the writer that take some 15 ms each, so that others are
        written in between; `done` gets what was made of each once it is committed."""
        at = 0
        while at < len(items):

            def job(transaction: Transaction, begin: int = at) -> list[T]:
                made: list[T] = []
                end_by = time.perf_counter() + _PART_SECONDS
                for item in items[begin : begin + _PART_ITEMS]:
                    made.append(work(transaction, item))
                    if time.perf_counter() > end_by:
                        break
                return made

            try:
                made = await self.write(job)
            except CatalogError as error:
                raise ServerFault(
                    f"stopped after {at:,} of {len(items):,}: {error}; ask again to go on"
                ) from error
            at += len(made)
            for one in made:
                done(one)

    def keep(self, retention: Retention) -> None:
        """Drop what is older than is kept, now and every hour, until the catalog is closed.

        Of the change log the newest 10,000 rows are always kept, and what the search index has not
        on disk yet or somebody who follows the log has not read, at this service or another of the
        same store. One that was silent for 7 days holds nothing any more, and makes its index anew
        when it is back. Backups need none of it.
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
            trim, "catalog-retention", "what is older than is kept was not dropped"
        )
        self._tasks.append(thread)

    def keep_use(self) -> None:
        """Count the use of 30 days anew, now and every hour, until the catalog is closed."""
        thread = self._repeat(
            self.recount_use, "catalog-use", "the use of the last 30 days was not counted anew"
        )
        self._tasks.append(thread)

    def _repeat(self, work: Callable[[], object], name: str, failure: str) -> threading.Thread:
        """Start a thread that works now and every hour until the catalog is closed; an error is
        logged with a sentence."""

        def run() -> None:
            while not self._is_closing.is_set():
                try:
                    work()
                except CatalogError:
                    _log.exception(failure)
                self._is_closing.wait(_REPEAT_SECONDS)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def trim_changes(self, days: int) -> int:
        """Drop old rows of the change log as `keep` says; how many went."""
        before_millis = self.store.now_millis() - days * _DAY_MILLIS
        gone = 0
        while not self._is_closing.is_set():
            through = min(
                self.store.log_bounds().head - _CHANGES_KEPT,
                self._needed_after(),
                *(reader.after for reader in self.store.log_readers()),
            )
            part = self.store.write(partial(_trim, before_millis, through)).result()
            gone += part
            if part < _TRIM_ROWS:
                break
        return gone

    def describe(self) -> dict[str, Any]:
        """What `/config` says of this catalog beside what clients of the real service read."""
        actor = self.intake.default_actor
        return {
            **({"user": actor} if actor != UNKNOWN_ACTOR else {}),
            "version": __version__,
            "sample": self.store.note(_SAMPLE_RUN) is not None,
            "entities": self.store.count(),
            "conditionalEdits": True,
            "namesInFilters": True,
            "stewardship": True,
            "coverageTrend": True,
            "proposals": True,
        }

    def _follow_moved(self) -> None:
        if not self._is_closing.is_set():
            self._follower.submit(self._projection.follow_moved)


def _trim(before_millis: int, through: int, transaction: Transaction) -> int:
    return transaction.trim_log(before_millis, through, _TRIM_ROWS)


def _all_follow_definitions(changes: list[CheckedProposal] | RequestRefusal) -> bool:
    return isinstance(changes, RequestRefusal) or all(map(may_need_definition, changes))


def _in_batch(place: str, urn: Any, error: CatalogError) -> RequestRefusal:
    named = f" ({urn})" if isinstance(urn, str) else ""
    return RequestRefusal(status_of(error), f"{place}{named}: {error}")


def _refused(refused: Sequence[RequestRefusal], size: int) -> RequestRefusal:
    """Return one error for the elements of a batch that were refused while others were written."""
    statuses = {one.status for one in refused}
    named = [str(one) for one in refused[:_MAX_NAMED]]
    if len(refused) > _MAX_NAMED:
        named.append(f"and {len(refused) - _MAX_NAMED} more")
    written = size - len(refused)
    return RequestRefusal(
        statuses.pop() if len(statuses) == 1 else 422,
        f"{len(refused)} of {size} were refused, the other {written} were written: "
        + "; ".join(named),
    )


def _ignore(_done: object) -> None:
    """What is not counted."""


def _do_nothing(_transaction: Transaction) -> None:
    """A job that only proves that jobs are done."""


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
