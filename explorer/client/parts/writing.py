"""What changes the catalog, an aspect at a time."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from explorer.client import answers, requests
from explorer.client.batches import Batch, cut
from explorer.client.parts.rewriting import Rewriting
from explorer.client.records import (
    Deletion,
    LoadReport,
    Reference,
    RefusedChange,
    Rollback,
    Run,
    StatusChange,
)
from explorer.errors import Conflict, InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import RECORDS
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Writing"]

_AT_ONCE = 2
_OF_ONE = (InvalidInput, NotFound, Conflict, ServerFault)
"""What concerns one change rather than all of them."""
_SNAPSHOTS = "com.linkedin.metadata.snapshot."


class Writing(Rewriting):
    """How aspects are written and taken back."""

    _in_batches = True

    async def ingest(self, proposal: Proposal) -> None:
        """Write, or remove, one aspect. Stored when this returns. One request."""
        await self._connection.send(requests.writing.ingest(proposal))

    async def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """Write many aspects, as many as possible: what is refused is reported and loses no other.

        One request for one or two hundred, two of them at once where they concern different
        entities; changes of one entity are stored in the order given. A batch that is refused is
        sent again one by one. The changes are drawn as they are sent. Raises only what concerns
        them all (`Unreachable`, `NotSignedIn`, `Forbidden`).
        """
        written = 0
        refused: list[RefusedChange] = []
        under_way: dict[asyncio.Task[list[RefusedChange]], Batch] = {}

        async def collect() -> None:
            nonlocal written
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                batch = under_way.pop(task)
                found = task.result()
                refused.extend(found)
                written += len(batch.proposals) - len(found)

        try:
            for batch in cut(proposals):
                while len(under_way) >= _AT_ONCE or any(
                    batch.must_follow(other) for other in under_way.values()
                ):
                    await collect()
                under_way[asyncio.create_task(self._load(batch))] = batch
            while under_way:
                await collect()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return LoadReport(written, tuple(sorted(refused, key=lambda one: one.position)))

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
        """
        name, content = _aspect(aspect, value)
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
        """
        held = dict(operations) if isinstance(operations, Mapping) else list(operations)
        await self.ingest(Proposal(Urn.parse(urn), aspect, held, "PATCH"))

    async def remove(self, urn: str | Urn, aspect: str) -> None:
        """Remove one aspect with all its versions; the key aspect stands for the entity. One
        request, sent once.

        Raises `InvalidInput` where a server does not take single aspects away (DataHub's do not).
        """
        await self.ingest(Proposal(Urn.parse(urn), aspect, change="DELETE"))

    async def ingest_snapshot(
        self, urn: str | Urn, aspects: Mapping[str, Mapping[str, Any] | msgspec.Struct]
    ) -> None:
        """Write several aspects of one entity, by their names, in one request.

        Deprecated by the service: the legacy form, for servers that know no other. Use `put`, or
        `ingest_batch`.
        """
        target = Urn.parse(urn)
        registry = self.registry
        key = registry.aspect(registry.entity(target.entity_type).key).record
        kind = key.rpartition(".")[2].removesuffix("Key")
        records = {
            registry.aspect_of(target.entity_type, name).record: _aspect(name, value)[1]
            for name, value in aspects.items()
        }
        request = requests.writing.snapshot(f"{_SNAPSHOTS}{kind}Snapshot", target, records)
        await self._connection.send(request)

    async def soft_delete(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Take an entity away from search and browsing; nothing of it is lost, and its page stays.

        One request to see, two to write. Raises `NotFound` for an entity that does not exist, and
        writes nothing then.
        """
        return await self._set_removed(Urn.parse(urn), True, dry_run=dry_run)

    async def restore(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Bring a soft-deleted entity back; as `soft_delete` otherwise."""
        return await self._set_removed(Urn.parse(urn), False, dry_run=dry_run)

    async def delete(
        self, urn: str | Urn, *, dry_run: bool = False, with_references: bool = False
    ) -> Deletion:
        """Delete an entity for good: every aspect, every version, every point in time.

        This cannot be undone. Look first with `dry_run`, which tells what points at the entity and
        changes nothing; `soft_delete` hides an entity and keeps it. What points at it goes on
        doing so, unless `with_references` takes these references out of the others' aspects.
        Three requests. Raises `NotFound` for an entity that does not exist.
        """
        target = Urn.parse(urn)
        await self._stored(target)
        count, found = await self._references(target)
        if dry_run:
            return Deletion(target, False, 0, 0, count, found)
        if with_references:
            request = requests.writing.delete_references(target, dry_run=False)
            await self._connection.send(request)
        body = await self._connection.send(requests.writing.delete(target))
        versions, points = answers.writing.deleted(body)
        return Deletion(target, True, versions, points, count, found)

    async def runs(
        self, *, start: int = 0, count: int = 100, with_removed: bool = False
    ) -> tuple[Run, ...]:
        """The runs of ingestion that something is left of, newest first; `with_removed` counts what
        belongs to soft-deleted entities too. One request."""
        request = requests.writing.runs(start, count, with_removed=with_removed)
        return answers.writing.runs(await self._connection.send(request))

    async def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """Undo what a run of ingestion brought: its versions, and the entities it made.
        One request."""
        request = requests.writing.roll_back(run_id, dry_run=dry_run)
        return answers.writing.rollback(await self._connection.send(request))

    async def _load(self, batch: Batch) -> list[RefusedChange]:
        if await self._took(batch.proposals):
            return []
        refused = []
        for position, proposal in enumerate(batch.proposals, batch.start):
            try:
                await self.ingest(proposal)
            except _OF_ONE as error:
                place = (position, proposal.urn, proposal.aspect)
                refused.append(RefusedChange(*place, str(error)))
        if len(batch.proposals) > 1 and not refused:
            # It was the batch itself: a server that takes none is not sent another.
            self._in_batches = (await self.abilities()).batch_writes
        return refused

    async def _took(self, proposals: Sequence[Proposal]) -> bool:
        if len(proposals) == 1 or not self._in_batches:
            return False
        try:
            await self._connection.send(requests.writing.ingest_batch(proposals))
        except _OF_ONE:
            return False
        return True

    async def _set_removed(self, urn: Urn, removed: bool, *, dry_run: bool) -> StatusChange:
        found = await self._stored(urn, "status")
        was = found.value("status").get("removed") is True
        if dry_run or was == removed:
            return StatusChange(urn, was, removed, written=False)
        await self._rewrite(urn, "status", lambda status: {**status, "removed": removed})
        return StatusChange(urn, was, removed, written=True)

    async def _references(self, urn: Urn) -> tuple[int | None, tuple[Reference, ...] | None]:
        try:
            request = requests.writing.delete_references(urn, dry_run=True)
            return answers.writing.references(await self._connection.send(request))
        except (InvalidInput, NotFound):
            return None, None


def _aspect(
    name: str | None, value: Mapping[str, Any] | msgspec.Struct
) -> tuple[str, dict[str, Any]]:
    """An aspect's name and its value as JSON."""
    if isinstance(value, Mapping):
        if name is None:
            raise InvalidInput("name the aspect; only a typed record knows its own")
        return name, dict(value)
    known = next((own for own, record in RECORDS.items() if record is type(value)), None)
    if known is None:
        raise InvalidInput(f"{type(value).__name__} is not the record of an aspect")
    if name not in (None, known):
        raise InvalidInput(f"a {type(value).__name__} is the aspect {known}, not {name}")
    return known, _without_nulls(msgspec.to_builtins(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(part) for part in value]
    return value
