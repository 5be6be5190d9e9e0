"""The same client for code that waits."""

from collections.abc import Callable
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from explorer import config
from explorer.client.aio import AsyncCatalog
from explorer.client.exchange import Watching
from explorer.client.journal import JOURNAL
from explorer.client.keeping import Offline
from explorer.client.paging import paged
from explorer.client.records import Direction
from explorer.client.retry import Retry
from explorer.client.secret import Secret
from explorer.client.transport import Transport
from explorer.client.waiting import Waiting, iterated, waited
from explorer.metadata.registry import Registry

__all__ = ["Catalog"]


class Catalog(Waiting):
    """A catalog, asked and waited for: every method is that of `AsyncCatalog`, and returns when
    the answer is there. May be used from several threads."""

    _keeps_journal: ClassVar[bool] = False
    """Whether edits go into the journal of this machine, without being told to."""

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
        token = Secret.of(token)
        self._core = AsyncCatalog(
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
        super().__init__(self._core.close)
        if self._keeps_journal:
            self._core.journal_in(config.state_dir() / JOURNAL)

    @property
    def core(self) -> AsyncCatalog:
        """The asynchronous client that does the work, on a thread of its own."""
        return self._core

    def __repr__(self) -> str:
        core = getattr(self, "_core", None)
        return f"Catalog({core.address!r})" if core else "Catalog()"

    def __getstate__(self) -> dict[str, Any]:
        return self._core.__getstate__()

    def __setstate__(self, options: dict[str, Any]) -> None:
        self.__init__(**options)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up and end the client's thread. A closed client is not used again.

        Example: `Catalog().close()`
        """
        self.leave(self._core.close())
        self._end()

    @property
    def address(self) -> str:
        """Where the server answers; empty before the embedded catalog was first asked."""
        return self._core.address

    @property
    def identity(self) -> str:
        """What tells this server from others wherever something is kept for it: equal for two
        clients only if they ask the same catalog. Empty for one in this process."""
        return self._core.identity

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return self._core.registry

    def watch(self, told: Watching | None) -> None:
        """Have `told` called with every exchange as it ends, on the client's own thread; None
        ends that. A request that is tried again is told of each time.

        Example: `cat.watch(lambda exchange: print(exchange.seconds))`
        """
        self._core.watch(told)

    def on_warning(self, told: Callable[[str], None]) -> None:
        """Have `told` called, on the client's own thread, with each sentence of warning in place of
        `warnings.warn`: that a token goes over plain HTTP to another machine, which is told once,
        and that edits cannot be written down.

        Example: `cat.on_warning(print)`
        """
        self._core.on_warning(told)

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._core.embedded

    @property
    def read_only(self) -> bool:
        """Whether nothing is ever written here; every write is refused before it is sent."""
        return self._core.read_only

    @property
    def is_offline(self) -> bool:
        """Whether only kept answers are given, and no server is asked: `offline="only"`."""
        return self._core.is_offline

    @property
    def as_of(self) -> datetime | None:
        """How old what is shown may be: when the oldest of the kept answers was kept that were
        given since the server last answered. None when the last answer was the server's."""
        return self._core.as_of

    abilities = waited(AsyncCatalog.abilities)
    described = waited(AsyncCatalog.described)
    undescribed = waited(AsyncCatalog.undescribed)
    info = waited(AsyncCatalog.info)
    search = waited(AsyncCatalog.search)
    facets = waited(AsyncCatalog.facets)
    counts = waited(AsyncCatalog.counts)
    autocomplete = waited(AsyncCatalog.autocomplete)
    suggest = waited(AsyncCatalog.suggest)
    complete_filter = waited(AsyncCatalog.complete_filter)
    browse = waited(AsyncCatalog.browse)
    browse_paths = waited(AsyncCatalog.browse_paths)
    hits = paged(AsyncCatalog.hits)
    urns = paged(AsyncCatalog.urns)
    folder = paged(AsyncCatalog.folder)
    entity = waited(AsyncCatalog.entity)
    entities = waited(AsyncCatalog.entities)
    summaries = waited(AsyncCatalog.summaries)
    aspect = waited(AsyncCatalog.aspect)
    exists = waited(AsyncCatalog.exists)
    legacy_entity = waited(AsyncCatalog.legacy_entity)
    record = waited(AsyncCatalog.record)
    versions = waited(AsyncCatalog.versions)
    every_version = iterated(AsyncCatalog.every_version)
    diff = waited(AsyncCatalog.diff)
    column_history = waited(AsyncCatalog.column_history)
    blame = waited(AsyncCatalog.blame)
    timeseries = waited(AsyncCatalog.timeseries)
    every_point = iterated(AsyncCatalog.every_point)
    usage = waited(AsyncCatalog.usage)
    profiles = waited(AsyncCatalog.profiles)
    health = waited(AsyncCatalog.health)
    measures = waited(AsyncCatalog.measures)
    relationships = waited(AsyncCatalog.relationships)
    related = iterated(AsyncCatalog.related)
    lineage = waited(AsyncCatalog.lineage)
    ingest = waited(AsyncCatalog.ingest)
    ingest_batch = waited(AsyncCatalog.ingest_batch)
    put = waited(AsyncCatalog.put)
    create = waited(AsyncCatalog.create)
    patch = waited(AsyncCatalog.patch)
    remove = waited(AsyncCatalog.remove)
    ingest_snapshot = waited(AsyncCatalog.ingest_snapshot)
    soft_delete = waited(AsyncCatalog.soft_delete)
    restore = waited(AsyncCatalog.restore)
    delete = waited(AsyncCatalog.delete)
    runs = waited(AsyncCatalog.runs)
    roll_back = waited(AsyncCatalog.roll_back)
    graphql = waited(AsyncCatalog.graphql)
    describe = waited(AsyncCatalog.describe)
    links = waited(AsyncCatalog.links)
    add_link = waited(AsyncCatalog.add_link)
    remove_link = waited(AsyncCatalog.remove_link)
    add_tags = waited(AsyncCatalog.add_tags)
    remove_tags = waited(AsyncCatalog.remove_tags)
    add_terms = waited(AsyncCatalog.add_terms)
    remove_terms = waited(AsyncCatalog.remove_terms)
    add_owners = waited(AsyncCatalog.add_owners)
    remove_owners = waited(AsyncCatalog.remove_owners)
    set_domain = waited(AsyncCatalog.set_domain)
    deprecate = waited(AsyncCatalog.deprecate)
    undeprecate = waited(AsyncCatalog.undeprecate)
    keep_journal = waited(AsyncCatalog.keep_journal)
    undo = waited(AsyncCatalog.undo)
    undo_save = waited(AsyncCatalog.undo_save)
    redo = waited(AsyncCatalog.redo)
    last_save = waited(AsyncCatalog.last_save)
    last_undo = waited(AsyncCatalog.last_undo)
    changes = waited(AsyncCatalog.changes)
    every_change = iterated(AsyncCatalog.every_change)
    follow = iterated(AsyncCatalog.follow)

    def journal_in(self, path: Path) -> None:
        """Keep a journal in this file from the first edit on, as `keep_journal` does. Where the
        file cannot be made, that is warned of once, and edits are made all the same.

        Example: `cat.journal_in(Path("journal.jsonl"))`
        """
        self._core.journal_in(path)

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """The relationships that an entity of a type may have in a direction, sorted.

        Example: `cat.relationship_names("dataset", "OUTGOING")`
        """
        return self._core.relationship_names(entity_type, direction)
