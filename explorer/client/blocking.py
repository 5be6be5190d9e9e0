"""The same client for code that waits."""

from pathlib import Path
from types import TracebackType
from typing import Self

from explorer.client.aio import AsyncCatalog
from explorer.client.records import Direction
from explorer.client.transport import Transport
from explorer.client.waiting import Waiting, waited
from explorer.metadata.registry import Registry

__all__ = ["Catalog"]


class Catalog(Waiting):
    """A catalog, asked and waited for: every method is that of `AsyncCatalog`, and returns when
    the answer is there. May be used from several threads."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        data_dir: Path | None = None,
        timeout_seconds: float = 30.0,
        transport: Transport | None = None,
    ) -> None:
        super().__init__()
        self._core = AsyncCatalog(
            url,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

    @property
    def core(self) -> AsyncCatalog:
        """The asynchronous client that does the work, on a thread of its own."""
        return self._core

    def __repr__(self) -> str:
        return f"Catalog({self.address!r})"

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
        """Hang up and end the client's thread. A closed client is not used again."""
        if self._loop.is_closed():
            return
        self.wait(self._core.close())
        self._end()

    @property
    def address(self) -> str:
        """Where the server answers; empty before the embedded catalog was first asked."""
        return self._core.address

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return self._core.registry

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._core.embedded

    info = waited(AsyncCatalog.info)
    search = waited(AsyncCatalog.search)
    autocomplete = waited(AsyncCatalog.autocomplete)
    browse = waited(AsyncCatalog.browse)
    entity = waited(AsyncCatalog.entity)
    entities = waited(AsyncCatalog.entities)
    summaries = waited(AsyncCatalog.summaries)
    aspect = waited(AsyncCatalog.aspect)
    timeseries = waited(AsyncCatalog.timeseries)
    relationships = waited(AsyncCatalog.relationships)
    ingest = waited(AsyncCatalog.ingest)
    ingest_batch = waited(AsyncCatalog.ingest_batch)
    roll_back = waited(AsyncCatalog.roll_back)
    graphql = waited(AsyncCatalog.graphql)
    describe = waited(AsyncCatalog.describe)

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """See `AsyncCatalog.relationship_names`."""
        return self._core.relationship_names(entity_type, direction)
