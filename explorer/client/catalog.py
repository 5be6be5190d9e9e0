"""AsyncCatalog and Catalog: a catalog's server as an object with a method for each capability."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

from explorer import config
from explorer.client.blocking_face import BlockingFace, blocking, blocking_iterator, plain
from explorer.client.changes import ChangeLogMethods
from explorer.client.completion import CompletionMethods
from explorer.client.connection import Connection, Offline, Watching
from explorer.client.history import HistoryMethods
from explorer.client.journal import JOURNAL
from explorer.client.pages import paged
from explorer.client.transport import Retry, Secret, Transport
from explorer.client.undo import UndoMethods
from explorer.errors import Misuse
from explorer.metadata.registry import Registry

__all__ = ["AsyncCatalog", "Catalog", "CatalogOnLoop"]

_T = TypeVar("_T")


class _OneServer:
    """What both catalogs share: the constructor, copying and pickling, and what the connection
    says of itself."""

    _connection: Connection

    def __init__(
        self,
        url: str | None = None,
        *,
        profile: str | None = None,
        token: str | Secret | None = None,
        data_dir: str | PathLike[str] | None = None,
        timeout_seconds: float | None = None,
        read_only: bool | None = None,
        offline: Offline = "off",
        retry: Retry | None = None,
        transport: Transport | None = None,
    ) -> None:
        # Bound to the same name, so that no traceback of this call shows the bare text.
        token = Secret.of(token)
        connection = Connection(
            url,
            profile=profile,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            read_only=read_only,
            offline=offline,
            retry=retry,
            transport=transport,
        )
        self._start(connection)

    def _start(self, connection: Connection) -> None:
        """Finish the construction, with the connection that was made of the arguments."""
        raise NotImplementedError

    def __repr__(self) -> str:
        # Tracebacks show the repr also where the constructor failed.
        connection = getattr(self, "_connection", None)
        address = repr(connection.address) if connection else ""
        return f"{type(self).__name__}({address})"

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds the arguments that open the same catalog again, except the token.
        return self._connection.options()

    def __setstate__(self, options: dict[str, Any]) -> None:
        self.__init__(**options)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        # Copies of what was read with a catalog share its connection.
        return self

    def __copy__(self) -> Self:
        return self

    def watch(self, callback: Watching | None) -> None:
        """Call `callback` with every exchange as it ends, on the client's own thread; None ends
        that. It is called once for each try of a request.

        Example: `cat.watch(lambda exchange: print(exchange.seconds))`
        """
        self._connection.watching = callback

    def on_warning(self, callback: Callable[[str], None]) -> None:
        """Call `callback`, on the client's own thread, with each warning in place of
        `warnings.warn`: that a token goes over plain HTTP to another machine (once), that edits
        cannot be written into the journal, and that searches may lack what was written last (once
        for each time that the server's database is away).

        Example: `cat.on_warning(print)`
        """
        self._connection.warned = callback

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._connection.embedded

    @property
    def drafting(self) -> config.Drafting:
        """The command that drafts descriptions of this server, as it was configured. The client
        itself never runs it."""
        return self._connection.drafting

    @property
    def address(self) -> str:
        """The address of the server; empty before the first request to the embedded catalog."""
        return self._connection.address

    @property
    def identity(self) -> str:
        """A key for what is stored for one server: equal for two clients only if they use the same
        catalog. Empty for one in this process."""
        return self._connection.identity

    @property
    def read_only(self) -> bool:
        """Whether every write is refused before it is sent."""
        return self._connection.read_only

    @property
    def is_offline(self) -> bool:
        """Whether only kept answers are given, and no request is sent: `offline="only"`."""
        return self._connection.is_offline

    @property
    def as_of(self) -> datetime | None:
        """When the oldest of the kept answers was kept that were given since the server last
        answered. None when the last answer was the server's, unless that said it was old: a service
        whose database is away tells since when its searches may lack something."""
        return self._connection.as_of


class AsyncCatalog(_OneServer, CompletionMethods, HistoryMethods, UndoMethods, ChangeLogMethods):
    """A catalog, read and written with `await`.

    `url` names a server (`http://host:8080`), `profile` one of the profiles, `data_dir` an
    embedded catalog; without any the environment and the current profile do, and without these
    the embedded catalog of this machine is found or started. The constructor sends no request.
    A URN may be given as text everywhere.

    `token` is sent when the server asks for it. `timeout_seconds` bounds one answer from its
    first byte to its last, 30 unless the profile says otherwise; `retry` says how often requests
    are tried again. With `read_only` nothing is ever written. `offline` says whether answers are
    kept, and given when the server does not answer. `transport` carries the requests in place of
    the network.

    Every method raises `Unreachable` when no answer came (`TimedOut` when it took too long, `Busy`
    when the server asked for a pause), `NotSignedIn` and `Forbidden` as they say, `ReadOnly` for a
    write where nothing is written, `InvalidInput` when the server cannot use its arguments,
    `ServerFault` when the server failed, and `Unreadable` when its answer cannot be read.
    """

    def _start(self, connection: Connection) -> None:
        # The first of the classes of methods; its constructor calls those of the others.
        CompletionMethods.__init__(self, connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. The embedded catalog goes on for others, and ends by itself after
        a while without requests."""
        await self._connection.close()


class Catalog(_OneServer, BlockingFace):
    """A catalog whose methods block: every method is that of `AsyncCatalog`, and returns when the
    answer is there. May be used from several threads."""

    _keeps_journal: ClassVar[bool] = False
    """Whether edits go into the journal of this machine, without a call that asks for it."""

    def _start(self, connection: Connection) -> None:
        self._connection = connection
        # Made of the connection; the constructor would open another one.
        self._core = AsyncCatalog.__new__(AsyncCatalog)
        CompletionMethods.__init__(self._core, connection)
        BlockingFace.__init__(self, self._core.close)
        if self._keeps_journal:
            self.journal_in(config.state_dir() / JOURNAL)

    @property
    def core(self) -> AsyncCatalog:
        """The asynchronous client that does the work, on a thread of its own."""
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the client's thread. A closed client is not used again.

        Example: `Catalog().close()`
        """
        self.leave(self._core.close())
        self._end()

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return self._core.registry

    abilities = blocking(AsyncCatalog.abilities)
    described = blocking(AsyncCatalog.described)
    described_trend = blocking(AsyncCatalog.described_trend)
    undescribed = blocking(AsyncCatalog.undescribed)
    info = blocking(AsyncCatalog.info)
    search = blocking(AsyncCatalog.search)
    facets = blocking(AsyncCatalog.facets)
    counts = blocking(AsyncCatalog.counts)
    autocomplete = blocking(AsyncCatalog.autocomplete)
    suggest = blocking(AsyncCatalog.suggest)
    complete_filter = blocking(AsyncCatalog.complete_filter)
    browse = blocking(AsyncCatalog.browse)
    browse_paths = blocking(AsyncCatalog.browse_paths)
    hits = paged(AsyncCatalog.hits)
    urns = paged(AsyncCatalog.urns)
    folder = paged(AsyncCatalog.folder)
    entity = blocking(AsyncCatalog.entity)
    entities = blocking(AsyncCatalog.entities)
    summaries = blocking(AsyncCatalog.summaries)
    aspect = blocking(AsyncCatalog.aspect)
    exists = blocking(AsyncCatalog.exists)
    legacy_entity = blocking(AsyncCatalog.legacy_entity)
    me = blocking(AsyncCatalog.me)
    record = blocking(AsyncCatalog.record)
    versions = blocking(AsyncCatalog.versions)
    every_version = blocking_iterator(AsyncCatalog.every_version)
    diff = blocking(AsyncCatalog.diff)
    column_history = blocking(AsyncCatalog.column_history)
    blame = blocking(AsyncCatalog.blame)
    timeseries = blocking(AsyncCatalog.timeseries)
    every_point = blocking_iterator(AsyncCatalog.every_point)
    usage = blocking(AsyncCatalog.usage)
    profiles = blocking(AsyncCatalog.profiles)
    health = blocking(AsyncCatalog.health)
    measures = blocking(AsyncCatalog.measures)
    relationships = blocking(AsyncCatalog.relationships)
    related = blocking_iterator(AsyncCatalog.related)
    lineage = blocking(AsyncCatalog.lineage)
    ingest = blocking(AsyncCatalog.ingest)
    ingest_batch = blocking(AsyncCatalog.ingest_batch)
    put = blocking(AsyncCatalog.put)
    create = blocking(AsyncCatalog.create)
    create_with = blocking(AsyncCatalog.create_with)
    new = blocking(AsyncCatalog.new)
    rename = blocking(AsyncCatalog.rename)
    move = blocking(AsyncCatalog.move)
    patch = blocking(AsyncCatalog.patch)
    remove = blocking(AsyncCatalog.remove)
    ingest_snapshot = blocking(AsyncCatalog.ingest_snapshot)
    soft_delete = blocking(AsyncCatalog.soft_delete)
    restore = blocking(AsyncCatalog.restore)
    delete = blocking(AsyncCatalog.delete)
    runs = blocking(AsyncCatalog.runs)
    roll_back = blocking(AsyncCatalog.roll_back)
    graphql = blocking(AsyncCatalog.graphql)
    describe = blocking(AsyncCatalog.describe)
    links = blocking(AsyncCatalog.links)
    add_link = blocking(AsyncCatalog.add_link)
    remove_link = blocking(AsyncCatalog.remove_link)
    add_tags = blocking(AsyncCatalog.add_tags)
    remove_tags = blocking(AsyncCatalog.remove_tags)
    add_terms = blocking(AsyncCatalog.add_terms)
    remove_terms = blocking(AsyncCatalog.remove_terms)
    add_owners = blocking(AsyncCatalog.add_owners)
    remove_owners = blocking(AsyncCatalog.remove_owners)
    set_domain = blocking(AsyncCatalog.set_domain)
    deprecate = blocking(AsyncCatalog.deprecate)
    undeprecate = blocking(AsyncCatalog.undeprecate)
    keep_journal = blocking(AsyncCatalog.keep_journal)
    undo = blocking(AsyncCatalog.undo)
    undo_save = blocking(AsyncCatalog.undo_save)
    journal = blocking(AsyncCatalog.journal)
    redo = blocking(AsyncCatalog.redo)
    last_save = blocking(AsyncCatalog.last_save)
    last_undo = blocking(AsyncCatalog.last_undo)
    changes = blocking(AsyncCatalog.changes)
    every_change = blocking_iterator(AsyncCatalog.every_change)
    follow = blocking_iterator(AsyncCatalog.follow)
    journal_in = plain(AsyncCatalog.journal_in)
    relationship_names = plain(AsyncCatalog.relationship_names)


class CatalogOnLoop(Catalog):
    """The blocking face of a client whose event loop runs already, for other threads of the same
    program. It has no thread of its own, and closing it closes nothing."""

    def __init__(self, core: AsyncCatalog, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        # What the connection says of itself is read of this one too.
        self._connection = core._connection  # noqa: SLF001 - the two faces of one client
        self._core_loop = loop

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the client's loop, and return its result or raise its error. Raises
        `Misuse` on the thread of that loop, and when the loop has ended."""
        if not self._core_loop.is_running() or _running_loop() is self._core_loop:
            work.close()
            raise Misuse("the loop of this client does not run, or waits for this very call")
        result = asyncio.run_coroutine_threadsafe(work, self._core_loop)
        while True:
            try:
                return result.result(_LOOK_SECONDS)
            except TimeoutError:
                if result.done():
                    raise
                if not self._core_loop.is_running():
                    raise Misuse("the loop of this client has ended") from None

    def leave(self, work: Coroutine[Any, Any, None]) -> None:
        """See `BlockingFace.leave`."""
        with suppress(Misuse):
            self.wait(work)

    def close(self) -> None:
        """Close nothing."""


_LOOK_SECONDS = 0.5


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
