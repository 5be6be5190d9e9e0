"""The client: a catalog's server as an object with a method for everything one asks of it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from explorer.client import answers, documents, failures, requests
from explorer.client.connection import Connection
from explorer.client.entity import SUMMARY_ASPECTS, AspectRead, Entity
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
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry, load_registry
from explorer.metadata.urn import Urn

__all__ = ["AsyncCatalog"]

_BATCH = 100
_EVERYTHING = 10_000
_T = TypeVar("_T")


class AsyncCatalog:
    """A catalog, asked asynchronously.

    `url` names a server (`http://host:8080`); without one the environment's `CATALOG_URL` does,
    and without that the embedded catalog of this machine is found or started. Nothing is sent
    before the first question. A URN may be given as text wherever one is asked for.

    Every method raises `Unreachable` when no answer came, `NotSignedIn` and `Forbidden` as they
    say, `InvalidInput` when the server cannot use what it was given, `ServerFault` when it failed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        data_dir: Path | None = None,
        timeout_seconds: float = 30.0,
        transport: Transport | None = None,
    ) -> None:
        self._connection = Connection(
            url,
            token=token,
            data_dir=data_dir,
            timeout_seconds=timeout_seconds,
            transport=transport,
        )
        self._batches = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up. The embedded catalog goes on for others, and away when nobody asks it."""
        await self._connection.close()

    @property
    def registry(self) -> Registry:
        """The vocabulary this client knows."""
        return load_registry()

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine rather than a named server."""
        return self._connection.embedded

    @property
    def address(self) -> str:
        """Where the server answers; empty before the embedded catalog was first asked."""
        return self._connection.address

    async def info(self) -> ServerInfo:
        """What the server says of itself. One request."""
        body = await self._connection.send(requests.config())
        return answers.config(body, self._connection.address)

    async def search(
        self,
        text: str = "*",
        *,
        entity: str | None = None,
        narrowed_by: Filter | None = None,
        start: int = 0,
        count: int = 20,
    ) -> SearchPage:
        """A page of what matches `text`, best first, with facets over the whole result.

        Over all entity types unless `entity` names one. One request. Soft-deleted entities are
        not found.
        """
        request = requests.search(text, entity, start, count, narrowed_by or Filter())
        return answers.search(await self._connection.send(request), text)

    async def autocomplete(
        self,
        text: str,
        *,
        entity: str = "dataset",
        narrowed_by: Filter | None = None,
        limit: int = 10,
    ) -> tuple[str, ...]:
        """Names that complete `text`, best first, at most `limit`. One request."""
        request = requests.autocomplete(text, entity, limit, narrowed_by or Filter())
        return answers.suggestions(await self._connection.send(request))

    async def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsePage:
        """A page of what lies at a browse path: folders first. An unknown path is empty.
        One request."""
        request = requests.browse(path, entity, start, count)
        return answers.browse(await self._connection.send(request))

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """An entity with its latest aspects, or those named. One request.

        An entity that was never written has nothing but its key (`Entity.exists` is false).
        Timeseries aspects are not among them.
        """
        request = requests.entity(Urn.parse(urn), aspects)
        try:
            return answers.entity(await self._connection.send(request))
        except NotFound:
            return Entity(Urn.parse(urn), {})

    async def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """Many entities, by URN, in the order given. One request for a hundred, or one each from
        a server that knows no batches."""
        wanted = [Urn.parse(urn) for urn in dict.fromkeys(urns)]
        found: dict[Urn, Entity] = {}
        for chunk in _chunks(wanted, _BATCH):
            found.update(await self._some(chunk, aspects))
        return {urn: found[urn] for urn in wanted if urn in found}

    async def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """What a line in a list needs of each entity; costs what `entities` costs."""
        return await self.entities(urns, SUMMARY_ASPECTS)

    async def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """One aspect at one version: 0 is the latest, 1 the oldest. One request.

        Raises `NotFound` where there is no such entity, aspect or version.
        """
        request = requests.aspect(Urn.parse(urn), name, version)
        return answers.aspect(await self._connection.send(request), name)

    async def timeseries(
        self,
        urn: str | Urn,
        aspect: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
    ) -> Timeseries:
        """Points of a timeseries aspect, oldest first, between two aware moments, both inclusive.

        The server gives at most 10,000, the newest, or `limit`. One request.
        """
        request = requests.timeseries(Urn.parse(urn), aspect, start, end, limit)
        return answers.timeseries(await self._connection.send(request), aspect)

    async def relationships(
        self,
        urn: str | Urn,
        direction: Direction,
        types: Sequence[str] | None = None,
        *,
        count: int = _EVERYTHING,
    ) -> Edges:
        """Edges of an entity: OUTGOING those it declares, INCOMING those that lead to it.

        Of the relationships named, or of every one the model allows. One request.
        """
        source = Urn.parse(urn)
        names = tuple(types or self.relationship_names(source.entity_type, direction))
        if not names:
            return Edges(direction, 0)
        request = requests.relationships(source, direction, names, 0, count)
        return answers.relationships(await self._connection.send(request), direction, names)

    def relationship_names(self, entity_type: str, direction: Direction) -> tuple[str, ...]:
        """The relationships that an entity of a type may have in a direction, sorted."""
        registry = self.registry
        if direction == "INCOMING":
            found = {
                edge.name
                for aspect in registry.aspects.values()
                for edge in aspect.relationships
                if not edge.to or entity_type in edge.to
            }
        else:
            names = registry.aspects_of(entity_type) if entity_type in registry.entities else ()
            found = {
                edge.name
                for name in names
                if name in registry.aspects
                for edge in registry.aspects[name].relationships
            }
        return tuple(sorted(found))

    async def ingest(self, proposal: Proposal) -> None:
        """Write, or remove, one aspect. Stored when this returns. One request."""
        await self._connection.send(requests.ingest(proposal))

    async def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """Write many aspects, as many as possible: what is refused is reported and loses no other.

        One request for a hundred; a batch that is refused is sent again one by one. Raises only
        what concerns them all (`Unreachable`, `NotSignedIn`, `Forbidden`).
        """
        written = 0
        refused: list[tuple[str, str]] = []
        for chunk in _chunks(proposals, _BATCH):
            if await self._took(chunk):
                written += len(chunk)
                continue
            for proposal in chunk:
                reason = await self._refusal(proposal)
                if reason is None:
                    written += 1
                else:
                    refused.append((f"{proposal.urn} {proposal.aspect}", reason))
        return LoadReport(written, tuple(refused))

    async def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """Undo what a run of ingestion brought: its versions, and the entities it made.
        One request."""
        request = requests.roll_back(run_id, dry_run=dry_run)
        return answers.rollback(await self._connection.send(request))

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """The `data` of a GraphQL operation. One request, sent once.

        Raises the error that the server's first one stands for.
        """
        body = await self._connection.send(requests.graphql(query, variables or {}))
        if not isinstance(body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        if body.get("errors"):
            raise failures.from_graphql(body["errors"])
        data = body.get("data")
        return data if isinstance(data, dict) else {}

    async def describe(self, urn: str | Urn, text: str, *, column: str | None = None) -> None:
        """Write the description of a dataset, of one of its columns (by its exact field path), or
        of a container. The text is markdown and is kept byte for byte; what ingestion says stays
        beside it. One request.

        Raises `NotFound` or `InvalidInput` when there is no such entity or column, `InvalidInput`
        for an entity whose description cannot be edited.
        """
        target = Urn.parse(urn)
        if target.entity_type == "dataset" and column is None:
            edit = {"editableProperties": {"description": text}}
            variables: dict[str, Any] = {"urn": str(target), "input": edit}
            await self.graphql(documents.UPDATE_DATASET, variables)
            return
        if target.entity_type not in ("dataset", "container"):
            raise InvalidInput(
                "descriptions of datasets, their columns and containers can be edited, "
                f"not of a {target.entity_type}"
            )
        edit_input: dict[str, Any] = {"description": text, "resourceUrn": str(target)}
        if column is not None:
            edit_input |= {"subResource": column, "subResourceType": "DATASET_FIELD"}
        data = await self.graphql(documents.UPDATE_DESCRIPTION, {"input": edit_input})
        if data.get("updateDescription") is not True:
            raise ServerFault("the server did not say that it stored the description")

    async def _some(self, urns: Sequence[Urn], aspects: Sequence[str] | None) -> dict[Urn, Entity]:
        if self._batches:
            try:
                body = await self._connection.send(requests.entities(urns, aspects))
                return answers.entities(body)
            except (InvalidInput, NotFound, ServerFault):
                # An older server: remembered, so that it is asked but once.
                self._batches = False
        found = await asyncio.gather(*(self.entity(urn, aspects) for urn in urns))
        return {one.urn: one for one in found}

    async def _took(self, proposals: Sequence[Proposal]) -> bool:
        if len(proposals) == 1:
            return False
        try:
            await self._connection.send(requests.ingest_batch(proposals))
        except (InvalidInput, NotFound, ServerFault):
            return False
        return True

    async def _refusal(self, proposal: Proposal) -> str | None:
        try:
            await self.ingest(proposal)
        except (InvalidInput, NotFound, ServerFault) as error:
            return str(error)
        return None


def _chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk
