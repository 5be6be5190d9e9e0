"""What changes the catalog, an aspect at a time."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from explorer.client.answers.writing import (
    parse_deleted,
    parse_references,
    parse_rollback,
    parse_runs,
)
from explorer.client.parts.loading import IngestionMethods
from explorer.client.parts.rewriting import aspect_value
from explorer.client.records import Deletion, Reference, Rollback, Run
from explorer.client.requests.writing import (
    delete_references_request,
    delete_request,
    roll_back_request,
    runs_request,
    snapshot_request,
)
from explorer.errors import InvalidInput, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["AspectMethods"]

_SNAPSHOTS = "com.linkedin.metadata.snapshot."


class AspectMethods(IngestionMethods):
    """How aspects are written and taken back."""

    async def put(
        self,
        urn: str | Urn,
        aspect: str | None,
        value: Mapping[str, Any] | msgspec.Struct,
        *,
        run_id: str | None = None,
        only_if_version: int | None = None,
    ) -> None:
        """Write one aspect whole. One request.

        `value` is JSON, or a typed record (`Status(removed=True)`), which knows its aspect's name:
        `aspect` is then `None`. A record carries the fields it has a name for and no others.
        `run_id` names the run that `roll_back` takes back. With `only_if_version` it is written
        only over the version of that number (as its system metadata counts them, from 1; -1 where
        there must be none yet).

        Raises `Conflict` where it is another version, `InvalidInput` for a value that does not fit.

        Example: `cat.put(urn, "status", {"removed": False})`
        """
        name, content = aspect_value(aspect, value)
        proposal = Proposal(Urn.parse(urn), name, content)
        if run_id is not None:
            proposal = proposal.from_run(run_id, time.time_ns() // 1_000_000)
        await self._put(proposal, only_if_version)

    async def patch(
        self,
        urn: str | Urn,
        aspect: str,
        operations: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    ) -> None:
        """Change part of an aspect on the server, so that nothing written meanwhile is lost.

        `operations` are a JSON Patch whose arrays are addressed by what tells their elements apart
        (`{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}`), or an
        object with `patch` and `arrayPrimaryKeys`. An aspect that is not there starts empty, as
        does the entity. One request, sent once.

        Example: `cat.patch(urn, "status", [{"op": "add", "path": "/removed", "value": False}])`
        """
        held = dict(operations) if isinstance(operations, Mapping) else list(operations)
        await self.ingest(Proposal(Urn.parse(urn), aspect, held, "PATCH"))

    async def remove(self, urn: str | Urn, aspect: str) -> None:
        """Remove one aspect with all its versions; the key aspect stands for the entity. One
        request, sent once.

        Raises `InvalidInput` where a server does not take single aspects away (DataHub's do not).

        Example: `cat.remove(urn, "deprecation")`
        """
        await self.ingest(Proposal(Urn.parse(urn), aspect, change="DELETE"))

    async def ingest_snapshot(
        self, urn: str | Urn, aspects: Mapping[str, Mapping[str, Any] | msgspec.Struct]
    ) -> None:
        """Write several aspects of one entity, by their names, in one request.

        Deprecated by the service: the legacy form, for servers that know no other. Use `put`, or
        `ingest_batch`.

        Example: `cat.ingest_snapshot(urn, {"status": {"removed": False}})`
        """
        target = Urn.parse(urn)
        registry = self.registry
        key = registry.aspect(registry.entity(target.entity_type).key).record
        kind = key.rpartition(".")[2].removesuffix("Key")
        records = {
            registry.aspect_of(target.entity_type, name).record: aspect_value(name, value)[1]
            for name, value in aspects.items()
        }
        request = snapshot_request(f"{_SNAPSHOTS}{kind}Snapshot", target, records)
        await self._connection.send(request)

    async def delete(
        self, urn: str | Urn, *, dry_run: bool = False, with_references: bool = False
    ) -> Deletion:
        """Delete an entity for good: every aspect, every version, every point in time.

        This cannot be undone. Look first with `dry_run`, which tells what points at the entity and
        changes nothing; `soft_delete` hides an entity and keeps it. What points at it goes on
        doing so, unless `with_references` takes these references out of the others' aspects.
        Three requests. Raises `NotFound` for an entity that does not exist.

        Example: `cat.delete(urn, dry_run=True)`
        """
        target = Urn.parse(urn)
        await self._stored(target)
        count, found = await self._references(target)
        if dry_run:
            return Deletion(target, False, 0, 0, count, found)
        if with_references:
            request = delete_references_request(target, dry_run=False)
            await self._connection.send(request)
        body = await self._connection.send(delete_request(target))
        versions, points = parse_deleted(body)
        return Deletion(target, True, versions, points, count, found)

    async def runs(
        self, *, start: int = 0, count: int = 100, include_removed: bool = False
    ) -> tuple[Run, ...]:
        """The runs of ingestion that something is left of, newest first; `include_removed` counts
        belongs to soft-deleted entities too. One request.

        Example: `cat.runs(count=5)`
        """
        request = runs_request(start, count, include_removed=include_removed)
        return parse_runs(await self._connection.send(request))

    async def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """Undo what a run of ingestion brought: its versions, and the entities it made.
        One request.

        Example: `cat.roll_back("my-run", dry_run=True)`
        """
        request = roll_back_request(run_id, dry_run=dry_run)
        return parse_rollback(await self._connection.send(request))

    async def _references(self, urn: Urn) -> tuple[int | None, tuple[Reference, ...] | None]:
        try:
            request = delete_references_request(urn, dry_run=True)
            return parse_references(await self._connection.send(request))
        except (InvalidInput, NotFound):
            return None, None
