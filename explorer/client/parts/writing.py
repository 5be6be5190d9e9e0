"""What changes the catalog, an aspect at a time."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from explorer.client import answers, requests
from explorer.client.parts.editing import Editing
from explorer.client.parts.loading import Loading
from explorer.client.records import Deletion, Edit, Reference, Rollback, Run, StatusChange
from explorer.errors import Conflict, InvalidInput, NotFound
from explorer.metadata.aspects import RECORDS
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Writing"]

_SNAPSHOTS = "com.linkedin.metadata.snapshot."


class Writing(Loading, Editing):
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
        name, content = _aspect(aspect, value)
        proposal = Proposal(Urn.parse(urn), name, content)
        if run_id is not None:
            proposal = proposal.from_run(run_id, time.time_ns() // 1_000_000)
        await self._put(proposal, only_if_version)

    async def create(
        self, urn: str | Urn, aspect: str | None, value: Mapping[str, Any] | msgspec.Struct
    ) -> Edit:
        """Create an entity by writing its first aspect, as `put` does; of one that exists nothing
        is changed, except that a hidden one is restored. An edit: `undo` removes what was created,
        unless something else uses it by then. Two requests, one where it exists.

        Raises `InvalidInput` for a value that does not fit.

        Example: `cat.create("urn:li:tag:Reviewed", "tagProperties", {"name": "Reviewed"})`
        """
        target = Urn.parse(urn)
        name, content = _aspect(aspect, value)
        try:
            was = (await self._stored(target, "status")).value("status").get("removed") is True
        except NotFound:
            absent = -1 if (await self.abilities()).conditional_edits else None
            made = self._put(Proposal(target, name, content), absent)
            try:
                return await self._made(made, self._edit(target, "entity", None, {name: content}))
            except Conflict:
                # Somebody else created it at the same moment.
                return self._edit(target, "status", _status(False), _status(False))
        if was:
            await self._set_removed(target, False, dry_run=False)
        return self._edit(target, "status", _status(was), _status(False))

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
            registry.aspect_of(target.entity_type, name).record: _aspect(name, value)[1]
            for name, value in aspects.items()
        }
        request = requests.writing.snapshot(f"{_SNAPSHOTS}{kind}Snapshot", target, records)
        await self._connection.send(request)

    async def soft_delete(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Take an entity away from search and browsing; nothing of it is lost, and its page stays.
        An edit, which the journal has and `undo` takes back.

        One request to see, two to write. Raises `NotFound` for an entity that does not exist, and
        writes nothing then.

        Example: `cat.soft_delete(urn, dry_run=True)`
        """
        return await self._set_removed(Urn.parse(urn), True, dry_run=dry_run)

    async def restore(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Bring a soft-deleted entity back; as `soft_delete` otherwise.

        Example: `cat.restore(urn)`
        """
        return await self._set_removed(Urn.parse(urn), False, dry_run=dry_run)

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
            request = requests.writing.delete_references(target, dry_run=False)
            await self._connection.send(request)
        body = await self._connection.send(requests.writing.delete(target))
        versions, points = answers.writing.deleted(body)
        return Deletion(target, True, versions, points, count, found)

    async def runs(
        self, *, start: int = 0, count: int = 100, include_removed: bool = False
    ) -> tuple[Run, ...]:
        """The runs of ingestion that something is left of, newest first; `include_removed` counts
        belongs to soft-deleted entities too. One request.

        Example: `cat.runs(count=5)`
        """
        request = requests.writing.runs(start, count, include_removed=include_removed)
        return answers.writing.runs(await self._connection.send(request))

    async def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """Undo what a run of ingestion brought: its versions, and the entities it made.
        One request.

        Example: `cat.roll_back("my-run", dry_run=True)`
        """
        request = requests.writing.roll_back(run_id, dry_run=dry_run)
        return answers.writing.rollback(await self._connection.send(request))

    async def _set_removed(self, urn: Urn, removed: bool, *, dry_run: bool) -> StatusChange:
        found = await self._stored(urn, "status")
        was = found.value("status").get("removed") is True
        if dry_run or was == removed:
            return StatusChange(urn, was, removed, written=False)
        change = self._rewrite(urn, "status", lambda status: {**status, "removed": removed})
        await self._made(change, self._edit(urn, "status", _status(was), _status(removed)))
        return StatusChange(urn, was, removed, written=True)

    async def _references(self, urn: Urn) -> tuple[int | None, tuple[Reference, ...] | None]:
        try:
            request = requests.writing.delete_references(urn, dry_run=True)
            return answers.writing.references(await self._connection.send(request))
        except (InvalidInput, NotFound):
            return None, None


def _status(removed: bool) -> str:
    return "hidden" if removed else "shown"


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
