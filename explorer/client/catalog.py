"""`AsyncCatalog` and `Catalog`: the client of a catalog server, with a method for each
operation."""

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
from explorer.client.naming import takes_names
from explorer.client.pages import as_pages
from explorer.client.transport import Retry, Secret, Transport
from explorer.client.undo import UndoMethods
from explorer.errors import Misuse
from explorer.metadata.registry import Registry

_T = TypeVar("_T")


class _OneServer:
    """The constructor, copying, pickling and connection properties that both catalogs share."""

    _connection: Connection
    _keeps_journal: ClassVar[bool] = False
    """Whether edits are written to this machine's journal without a call of `keep_journal`."""

    journal_in: Callable[..., None]

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
        """Choose the server; no request is sent.

        `url`              the address of a server (`http://host:8080`); without it, `profile` and
                           `data_dir`, `CATALOG_URL` or the current profile names one, and without
                           these the local catalog is found or started
        `profile`          the name of a server, kept with `catalog profile add`
        `token`            sent when the server asks for it; else the profile's, or `CATALOG_TOKEN`
        `data_dir`         the directory of a local catalog
        `timeout_seconds`  the limit for one complete answer; else the profile's,
                           `CATALOG_TIMEOUT_SECONDS`, or 30
        `read_only`        whether every write is refused before it is sent
        `offline`          `"off"` stores no answers, `"keep"` stores them, `"fallback"` also
                           returns them while the server does not answer, `"only"` asks no server
        `retry`            how often requests are retried
        `transport`        carries the requests instead of the network
        """
        # Bound to the same name, so that no traceback of this call shows the token as text.
        token = Secret.of(token)

        def connect() -> Connection:
            return Connection(
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

        self._open(connect)

    def _open(self, connect: Callable[[], Connection]) -> None:
        """Open a connection with `connect`, which is kept in place of the arguments, because those
        contain secrets."""
        self._connect = connect
        self._start(connect())
        if self._keeps_journal:
            self.journal_in(config.state_dir() / JOURNAL)

    def _start(self, connection: Connection) -> None:
        """Finish construction with the connection that was built from the arguments."""
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
        # Copies of results that hold a catalog share its connection.
        return self

    def __copy__(self) -> Self:
        return self

    def watch(self, callback: Watching | None) -> None:
        """Call `callback` with an `Exchange` for each request that ends; `None` stops the calls.

        The callback runs on the client's own thread. A request that is retried gives one exchange
        for each attempt.

        Example: `cat.watch(lambda exchange: print(exchange.seconds))`
        """
        self._connection.watching = callback

    def on_warning(self, callback: Callable[[str], None]) -> None:
        """Pass warnings to `callback` instead of `warnings.warn`.

        The callback runs on the client's own thread. There are five warnings: the token is sent to
        another machine over plain HTTP (given once), the catalog has lost changes (given once),
        edits cannot be written to the journal, an undo leaves something out, and searches may lack
        the latest changes (given once each time the server's database is away). See
        `save_warnings`.

        Example: `cat.on_warning(print)`
        """
        self._connection.warned = callback

    @property
    def save_warnings(self) -> tuple[str, ...]:
        """The warnings about the last save: that it is not in the journal and so cannot be undone,
        or what an undo left out."""
        return self._connection.save_warnings

    @property
    def embedded(self) -> bool:
        """Whether this is the local catalog rather than a server given by its address."""
        return self._connection.embedded

    @property
    def drafting(self) -> config.Drafting:
        """The command configured for drafting descriptions on this server, read from the settings
        each time. The client never runs it."""
        return self._connection.drafting()

    @property
    def address(self) -> str:
        """The address of the server; empty before the first request to the local catalog."""
        return self._connection.address

    @property
    def identity(self) -> str:
        """A name for the address or directory of this catalog, under which local data about it is
        stored; `explorer.config.state_keys` distinguishes successive catalogs at the same place.

        Two clients have the same identity only if they use the same server or directory. It is
        empty for a catalog in this process.
        """
        return self._connection.identity

    @property
    def read_only(self) -> bool:
        """Whether writes are refused before they are sent."""
        return self._connection.read_only

    @property
    def is_offline(self) -> bool:
        """Whether answers come only from the local cache and no request is sent
        (`offline="only"`)."""
        return self._connection.is_offline

    @property
    def as_of(self) -> datetime | None:
        """When the oldest cached answer was stored, of those returned since the server last
        answered.

        `None` when the last answer came from the server. A server whose database is away says since
        when its searches may lack changes; that moment is returned for such an answer.
        """
        return self._connection.as_of


@takes_names
class AsyncCatalog(_OneServer, CompletionMethods, HistoryMethods, UndoMethods, ChangeLogMethods):
    """The client of a catalog, with asynchronous methods.

    Every method accepts a URN as text. Every method raises `Unreachable` when there is no answer
    (`TimedOut` when it took too long, `Busy` when the server asks for a pause), `NotSignedIn` for a
    missing or refused token, `Forbidden` for a missing permission, `ReadOnly` for a write by a
    client that is read-only, `InvalidInput` when the server rejects the arguments, `ServerFault`
    when the server failed, and `Unreadable` when its answer cannot be parsed.
    """

    def _start(self, connection: Connection) -> None:
        # First in the method resolution order; its constructor calls those of the other classes.
        CompletionMethods.__init__(self, connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections.

        The local catalog keeps running for other clients, and stops by itself when it gets no
        requests for a while.
        """
        await self._connection.close()


class Catalog(_OneServer, BlockingFace):
    """The client of a catalog, with blocking methods.

    It has the methods of `AsyncCatalog`, which here wait for their results. A `Catalog` may be used
    from several threads, and inside a notebook's running event loop.
    """

    def _start(self, connection: Connection) -> None:
        self._connection = connection
        # Built from this connection; its constructor would open a second one.
        self._core = AsyncCatalog.__new__(AsyncCatalog)
        CompletionMethods.__init__(self._core, connection)
        BlockingFace.__init__(self, self._core.close)

    @property
    def core(self) -> AsyncCatalog:
        """The `AsyncCatalog` whose methods are run, on a thread of its own."""
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the client's thread. A closed client cannot be used again.

        Example: `Catalog().close()`
        """
        self.leave(self._core.close())
        self._end()

    @property
    def registry(self) -> Registry:
        """The entity types, aspects and fields that this client knows."""
        return self._core.registry

    find_labels = blocking(AsyncCatalog.find_labels)
    other_spelling = blocking(AsyncCatalog.other_spelling)
    abilities = blocking(AsyncCatalog.abilities)
    known_as = blocking(AsyncCatalog.known_as)
    described = blocking(AsyncCatalog.described)
    described_trend = blocking(AsyncCatalog.described_trend)
    undescribed = blocking(AsyncCatalog.undescribed)
    info = blocking(AsyncCatalog.info)
    search = blocking(AsyncCatalog.search)
    facets = blocking(AsyncCatalog.facets)
    counts = blocking(AsyncCatalog.counts)
    urn_of = blocking(AsyncCatalog.urn_of)
    autocomplete = blocking(AsyncCatalog.autocomplete)
    suggest = blocking(AsyncCatalog.suggest)
    complete_filter = blocking(AsyncCatalog.complete_filter)
    browse = blocking(AsyncCatalog.browse)
    browse_paths = blocking(AsyncCatalog.browse_paths)
    hits = as_pages(AsyncCatalog.hits)
    urns = as_pages(AsyncCatalog.urns)
    folder = as_pages(AsyncCatalog.folder)
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
    set_text_source = blocking(AsyncCatalog.set_text_source)
    new = blocking(AsyncCatalog.new)
    rename = blocking(AsyncCatalog.rename)
    move = blocking(AsyncCatalog.move)
    move_contents = blocking(AsyncCatalog.move_contents)
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
    carry_over = blocking(AsyncCatalog.carry_over)
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
    """A blocking catalog for an `AsyncCatalog` whose event loop is already running.

    Used from other threads of the same program. It has no thread of its own, and `close` does
    nothing.
    """

    def __init__(self, core: AsyncCatalog, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        # The properties of `_OneServer` read the connection.
        self._connection = core._connection  # noqa: SLF001 - the two faces of one client
        self._core_loop = loop

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the client's loop, and return its result or raise its error.

        Raises `Misuse` when called on the thread of that loop, and when the loop is not running.
        """
        if not self._core_loop.is_running() or _running_loop() is self._core_loop:
            work.close()
            raise Misuse(
                "this client's event loop is not running, or this call was made on its thread"
            )
        result = asyncio.run_coroutine_threadsafe(work, self._core_loop)
        while True:
            try:
                return result.result(_LOOK_SECONDS)
            except TimeoutError:
                if result.done():
                    raise
                if not self._core_loop.is_running():
                    raise Misuse("this client's event loop has ended") from None

    def leave(self, work: Coroutine[Any, Any, None]) -> None:
        """See `BlockingFace.leave`."""
        with suppress(Misuse):
            self.wait(work)

    def close(self) -> None:
        """Do nothing: the loop and the connection belong to the asynchronous client."""


_LOOK_SECONDS = 0.5


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
