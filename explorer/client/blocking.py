"""The same client for code that waits: scripts, notebooks, the command line.

Every call runs on a loop of the client's own, in a thread of its own, so it works inside a
notebook, whose loop is always running, as well as outside one.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from explorer.client.aio import AsyncCatalog
from explorer.client.entity import AspectRead, Entity
from explorer.client.records import (
    BrowsePage,
    Direction,
    Edges,
    LoadReport,
    Rollback,
    SearchPage,
    ServerInfo,
    Timeseries,
)
from explorer.client.transport import Transport
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn

__all__ = ["Catalog"]

_T = TypeVar("_T")


class Catalog:
    """A catalog, asked and waited for: every method is that of `AsyncCatalog`, where it is
    described, and returns when the answer is there. May be used from several threads."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        data_dir: Path | None = None,
        timeout_seconds: float = 30.0,
        transport: Transport | None = None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="catalog-client", daemon=True
        )
        self._thread.start()
        self._core = AsyncCatalog(
            url,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            transport=transport,
        )

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

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Hang up and end the client's thread. A closed client is not used again."""
        if self._loop.is_closed():
            return
        self._wait(self._core.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

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

    def info(self) -> ServerInfo:
        """See `AsyncCatalog.info`."""
        return self._wait(self._core.info())

    def search(
        self,
        text: str = "*",
        *,
        entity: str | None = None,
        narrowed_by: Filter | None = None,
        start: int = 0,
        count: int = 20,
    ) -> SearchPage:
        """See `AsyncCatalog.search`."""
        return self._wait(
            self._core.search(
                text, entity=entity, narrowed_by=narrowed_by, start=start, count=count
            )
        )

    def autocomplete(
        self,
        text: str,
        *,
        entity: str = "dataset",
        narrowed_by: Filter | None = None,
        limit: int = 10,
    ) -> tuple[str, ...]:
        """See `AsyncCatalog.autocomplete`."""
        return self._wait(
            self._core.autocomplete(text, entity=entity, narrowed_by=narrowed_by, limit=limit)
        )

    def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsePage:
        """See `AsyncCatalog.browse`."""
        return self._wait(self._core.browse(path, entity=entity, start=start, count=count))

    def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """See `AsyncCatalog.entity`."""
        return self._wait(self._core.entity(urn, aspects))

    def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """See `AsyncCatalog.entities`."""
        return self._wait(self._core.entities(urns, aspects))

    def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """See `AsyncCatalog.summaries`."""
        return self._wait(self._core.summaries(urns))

    def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """See `AsyncCatalog.aspect`."""
        return self._wait(self._core.aspect(urn, name, version))

    def timeseries(
        self,
        urn: str | Urn,
        aspect: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
    ) -> Timeseries:
        """See `AsyncCatalog.timeseries`."""
        return self._wait(self._core.timeseries(urn, aspect, start=start, end=end, limit=limit))

    def relationships(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        count: int = 10_000,
    ) -> Edges:
        """See `AsyncCatalog.relationships`."""
        return self._wait(self._core.relationships(urn, direction, types, count=count))

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """See `AsyncCatalog.relationship_names`."""
        return self._core.relationship_names(entity_type, direction)

    def ingest(self, proposal: Proposal) -> None:
        """See `AsyncCatalog.ingest`."""
        self._wait(self._core.ingest(proposal))

    def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """See `AsyncCatalog.ingest_batch`."""
        return self._wait(self._core.ingest_batch(proposals))

    def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """See `AsyncCatalog.roll_back`."""
        return self._wait(self._core.roll_back(run_id, dry_run=dry_run))

    def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """See `AsyncCatalog.graphql`."""
        return self._wait(self._core.graphql(query, variables))

    def describe(self, urn: str | Urn, text: str, *, column: str | None = None) -> None:
        """See `AsyncCatalog.describe`."""
        self._wait(self._core.describe(urn, text, column=column))
