"""The sources of a catalog: the added ones, those found on this machine, and planning, running and
removing a source."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from explorer.client.catalog import CatalogOnLoop
from explorer.errors import CatalogError, InvalidInput
from explorer.sessions.base import READ_ONLY, Work, action
from explorer.sessions.listing import ListSession, ListState
from explorer.sources.configured import (
    CarriedText,
    ConfiguredSource,
    SourceRun,
    check_name,
    find_differences,
    merge_options,
    name_from,
    read_runs,
    read_sources,
    take_texts,
)
from explorer.sources.location import find_local_sources, open_object, open_source
from explorer.sources.run import (
    Removal,
    RunOutcome,
    RunPlan,
    plan_removal,
    plan_run,
    remove_source,
    run_source,
)
from explorer.sources.source import LocalSource, Progress, Source, SourceOptions, Stopped
from explorer.views.sources import outcome_sentence, removed_sentence

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

_T = TypeVar("_T")

UNDER_WAY: Final = "A source is being read or written: stop that first."
NOT_OPEN: Final = "No source is open: open one first."
NOT_READ: Final = "The source is not read, or was read again since: look at what it has now."
NOT_ADDED: Final = "It is not added to this catalog."
NO_PARTS: Final = "No files look like the parts of one table."
STOPPED: Final = "Stopped."
# The minimum time between two reports of progress in the state.
_TICK_SECONDS: Final = 0.1


class Runner(Protocol):
    """Runs blocking work, and returns its result or raises its error."""

    def __call__(self, work: "Callable[[Catalog], _T]") -> Awaitable[_T]:
        """Call `work` with a blocking catalog, and return its result."""


class ThreadRunner:
    """Runs each work on a new daemon thread, which does not keep the program from ending."""

    def __init__(self, catalog: "AsyncCatalog") -> None:
        self._catalog = catalog

    async def __call__(self, work: "Callable[[Catalog], _T]") -> _T:
        """Run work, and return its result. The work continues if the call is cancelled."""
        catalog = CatalogOnLoop(self._catalog, asyncio.get_running_loop())
        job, result = _job(partial(work, catalog))
        threading.Thread(target=job, name="catalog-source", daemon=True).start()
        return await result


class CallerRunner:
    """Runs work on the thread that called `wait`. Some objects, such as a database in memory, can
    only be used on the thread that created them; and an interrupt reaches the work there."""

    def __init__(self, catalog: "Catalog") -> None:
        self._catalog = catalog
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def __call__(self, work: "Callable[[Catalog], _T]") -> _T:
        """Run work on the thread that called `wait`, and return its result."""
        job, result = _job(partial(work, self._catalog))
        self._jobs.put(job)
        return await result

    def wait(self, doing: Coroutine[Any, Any, _T]) -> _T:
        """Run an action of the session to its end, running its work on this thread, and return its
        result."""
        # A new queue, because an action that was interrupted before may end during this one.
        jobs = self._jobs = SimpleQueue()
        ending = self._catalog.begin(doing)
        ending.add_done_callback(lambda _: jobs.put(None))
        try:
            while (job := jobs.get()) is not None:
                job()
        except BaseException:
            ending.cancel()
            raise
        return ending.result()


def _job(work: Callable[[], _T]) -> "tuple[Callable[[], None], asyncio.Future[_T]]":
    """Return a function that runs the work on any thread, and a future of its result on this event
    loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def end(set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not future.done():
            set_outcome(outcome)

    def job() -> None:
        ending: Callable[[], None]
        try:
            ending = partial(end, future.set_result, work())
        except (Exception, Stopped) as error:  # noqa: BLE001 - raised where it is awaited
            ending = partial(end, future.set_exception, error)
        # The event loop may have ended with the program.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ending)

    return job, future


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source that can be read: the object it was opened from, its name, and the options of its
    run. `kept_options` has the names of the options that were not given now, and are kept from when
    the source was added."""

    subject: object
    name: str
    source: Source
    options: SourceOptions
    kept_options: tuple[str, ...] = ()
    has_password: bool = False

    @property
    def loses_password(self) -> bool:
        """Whether the source was opened with a password that is not stored, so that the next run
        needs it again."""
        return (self.has_password or self.source.contains_secret) and not self.options.keyring


class AddedSource(NamedTuple):
    """A source that was added, and its last run; None if it never ran."""

    source: ConfiguredSource
    run: SourceRun | None


@dataclass(frozen=True, slots=True)
class SourcesState(ListState[AddedSource | LocalSource]):
    """The added sources, then those found on this machine; the opened source, the plan of its run,
    and the outcome. `is_stopping` is true until stopped work has ended."""

    opened: OpenSource | None = None
    plan: RunPlan | None = None
    outcome: RunOutcome | None = None
    is_stopping: bool = False
    is_password_kept: bool = False

    @property
    def added(self) -> list[AddedSource]:
        """The added sources among the rows."""
        return [row for row in self.rows if isinstance(row, AddedSource)]


class SourceSession(ListSession[SourcesState]):
    """Sources are found, opened, planned and run, and removed.

    With a `folder`, sources in and near it are listed too, and the servers of this machine.
    Blocking work is done by a runner. `progress`, if set, is called on the runner's thread; the
    state shows the progress in any case, updated ten times a second.
    """

    READING = "looking for sources …"
    NONE = "No sources yet, and none were found on this machine."

    def __init__(
        self, catalog: "AsyncCatalog", run: Runner | None = None, folder: Path | None = None
    ) -> None:
        self._run = run or ThreadRunner(catalog)
        self._folder = folder
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told_at = 0.0
        self.progress: Progress | None = None
        super().__init__(catalog, SourcesState())

    async def read_rows(self) -> None:
        """Read the added sources and their last runs, then find sources on this machine."""
        added = await self._run(_read_added)
        folder = self._folder
        self.put(added, rows=added, is_reading=folder is not None)
        if folder is not None:
            locations = {source.location for source, _ in added}
            local = await self._run(lambda _: tuple(find_local_sources(folder)))
            rows = (*added, *(source for source in local if source.location not in locations))
            self.put(rows, rows=rows)

    def key_of(self, row: AddedSource | LocalSource) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row.source.name if isinstance(row, AddedSource) else (row.location,)

    def why_not(self, name: str) -> str:
        """See `Session.why_not`."""
        if self.state.work is not None:
            return UNDER_WAY
        if name == "remove" and not isinstance(self.state.current, AddedSource):
            return NOT_ADDED
        if name in ("plan", "write") and self.state.opened is None:
            return NOT_OPEN
        if name == "join_files" and not (self.state.plan and self.state.plan.inventory.patterns):
            return NO_PARTS
        if name == "write" and self.state.plan is None:
            return NOT_READ
        return READ_ONLY if name in ("write", "remove") and self.catalog.read_only else ""

    def cancel(self) -> None:
        """Ask the work in progress to stop; it ends when it next reports its progress."""
        if self.state.work is not None:
            self._stop.set()
            self.replace(is_stopping=True)

    def close(self) -> None:
        """See `Session.close`; also asks the work in progress to stop, without waiting for it."""
        self._stop.set()
        super().close()

    def drop_plan(self) -> None:
        """Forget the open source and its plan, because its address or options were changed."""
        self.replace(opened=None, plan=None)

    @action("Open a source")
    async def open(
        self,
        subject: object,
        name: str = "",
        options: SourceOptions | None = None,
        option_names: Iterable[str] = (),
        password: str | None = None,
    ) -> OpenSource:
        """Open the source at a path or URL, or another object that `open_object` accepts.

        A source that was added before keeps its options, except the fields of `options` named in
        `option_names`. One request. Raises as `open_object` and `merge_options` do.
        """
        self.drop_plan()

        def open_merged(catalog: "Catalog") -> OpenSource:
            given = options or SourceOptions()
            source = open_object(subject, name or None, given, password)
            source_name = name or name_from(source.default_name)
            check_name(source_name)
            merged = merge_options(catalog, source_name, source, given, option_names)
            if merged != given:
                source = open_object(subject, source_name, merged, password)
            kept = find_differences(merged, given)
            return OpenSource(subject, source_name, source, merged, kept, bool(password))

        opened = await self._do("reading", open_merged)
        self.replace(opened=opened)
        return opened

    @action("Open a source that was added")
    async def open_added(self, added: ConfiguredSource) -> OpenSource:
        """Open an added source with its stored options. Raises as `open_source` does."""
        self.drop_plan()
        source = await self._do("reading", lambda _: open_source(added.location, added.options))
        opened = OpenSource(added.location, added.name, source, added.options)
        self.replace(opened=opened)
        return opened

    @action("Read the source, and show what a run would change")
    async def plan(self, password: str | None = None, *, dry_run: bool = True) -> RunPlan:
        """Read the open source and return the plan of its run; see `plan_run`. `password` replaces
        the one it was opened with. Raises `Stopped` if `cancel` was called."""
        opened = self._require_opened()
        subject, name, options = opened.subject, opened.name, opened.options
        if password:
            source = await self._do(
                "reading", lambda _: open_object(subject, name, options, password)
            )
            opened = OpenSource(
                subject, name, source, options, opened.kept_options, has_password=True
            )
        return await self._plan(opened, dry_run=dry_run)

    async def _plan(self, opened: OpenSource, *, dry_run: bool) -> RunPlan:
        self.replace(opened=opened, plan=None)
        name, source, options = opened.name, opened.source, opened.options
        plan = await self._do(
            "reading",
            lambda catalog: plan_run(catalog, name, source, options, self._note, dry_run=dry_run),
        )
        self.replace(plan=plan)
        return plan

    @action("Make one table each of the files that look like the parts of one")
    async def join_files(self) -> RunPlan:
        """Plan the run again, with the file patterns that the plan suggests. Raises as `plan`
        does."""
        opened, plan = self._require_opened(), self.state.plan
        if plan is None or not plan.inventory.patterns:
            raise InvalidInput(NO_PARTS)
        patterns = dict.fromkeys((*opened.options.patterns, *plan.inventory.patterns))
        options = replace(opened.options, patterns=tuple(patterns))
        source = open_object(opened.subject, opened.name, options)
        return await self._plan(replace(opened, source=source, options=options), dry_run=True)

    @action("Write what the plan says")
    async def write(self, seen: RunPlan, *, accept_removals: bool = False) -> RunOutcome:
        """Write the plan that the user has seen; see `run_source`. The password is stored if the
        options say so.

        Raises `InvalidInput` if the plan has changed, and `Stopped` if `cancel` was called. After a
        failure, the source has to be read again before it can be written.
        """
        opened = self._require_opened()
        if seen is not self.state.plan:
            raise InvalidInput(NOT_READ)
        self.replace(plan=None)

        def write(catalog: "Catalog") -> tuple[RunOutcome, bool]:
            outcome = run_source(catalog, seen, self._note, accept_removals=accept_removals)
            return outcome, opened.source.keep_password()

        outcome, is_kept = await self._do("writing", write)
        self.replace(outcome=outcome, is_password_kept=is_kept)
        self.say(outcome_sentence(outcome), is_error=bool(outcome.refused))
        return outcome

    @action("Show what is removed with a source")
    async def plan_removal(self, source: ConfiguredSource, *, is_hard: bool = False) -> Removal:
        """Return how much removing a source would remove; see `plan_removal`."""
        return await self._run(lambda catalog: plan_removal(catalog, source, is_hard=is_hard))

    @action("Remove a source with all that it brought")
    async def remove(self, removal: Removal, *, is_hard: bool = False) -> int:
        """Remove a source, and its password from the keyring, and return the number of entities
        removed; see `remove_source`."""

        def remove(catalog: "Catalog") -> tuple[int, str]:
            progress = partial(self._note, "removing")
            count = remove_source(catalog, removal, progress, is_hard=is_hard)
            return count, _forget_password(removal.source)

        count, problem = await self._do("removing", remove)
        sentence = removed_sentence(removal, count, is_hard=is_hard)
        self.say(f"{sentence} {problem}".rstrip(), is_error=bool(problem))
        if self.state.rows:
            self.start(self.read(), instead_of="read")
        return count

    @action("Take what was written of renamed columns to those that have no text")
    async def take_texts(self, texts: Iterable[CarriedText]) -> list[CarriedText]:
        """Copy descriptions of vanished columns to the columns that probably replace them, as one
        save, and return those copied; see `take_texts`."""
        return await self._do("taking texts over", lambda catalog: take_texts(catalog, texts))

    def _require_opened(self) -> OpenSource:
        if self.state.opened is None:
            raise InvalidInput(NOT_OPEN)
        return self.state.opened

    async def _do(self, what: str, work: "Callable[[Catalog], _T]") -> _T:
        """Run work and return its result. Meanwhile the state shows it as the work in progress, and
        `cancel` can stop it."""
        self._stop.clear()
        self._loop = asyncio.get_running_loop()
        self.replace(is_stopping=False, message=None)
        try:
            return await self.work(what, self._run(work))
        except Stopped:
            self.say(STOPPED)
            raise
        except asyncio.CancelledError:
            self._stop.set()
            raise
        finally:
            self.replace(is_stopping=False)

    def _note(self, what: str, done: int, total: int | None) -> None:
        """Report the progress of work; called on the thread of the work. Raises `Stopped` if it is
        to stop."""
        if self._stop.is_set():
            raise Stopped
        if self.progress is not None:
            self.progress(what, done, total)
        now = time.monotonic()
        if now - self._told_at >= _TICK_SECONDS and self._loop is not None:
            self._told_at = now
            work = Work(what, done, total or 0)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._tell, work)

    def _tell(self, work: Work) -> None:
        if self.state.work is not None:
            self.replace(work=work)


def _read_added(catalog: "Catalog") -> tuple[AddedSource, ...]:
    return tuple(
        AddedSource(source, next(iter(read_runs(catalog, source)), None))
        for source in read_sources(catalog)
    )


def _forget_password(source: ConfiguredSource) -> str:
    """Remove a source's password from the keyring; return the reason if that failed, else an empty
    text."""
    if not source.options.keyring:
        return ""
    try:
        open_source(source.location, source.options, "none").forget_password()
    except CatalogError as error:
        return f"The password stays in the keyring: {error}."
    return ""
