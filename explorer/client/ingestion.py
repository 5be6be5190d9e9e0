"""Writing aspects: single proposals, batches, conditional writes, deletion, rollback."""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import orjson

from explorer.client.connection import CatalogMethods
from explorer.client.entity import entity_request, parse_entity
from explorer.client.records import (
    Deletion,
    EntityReference,
    LoadReport,
    RefusedChange,
    Rollback,
    Run,
)
from explorer.client.transport import (
    Json,
    NeverSent,
    Request,
    StoppedListening,
    action,
    as_object,
    read_as,
    value_of,
)
from explorer.errors import Conflict, InvalidInput, NotFound, ServerFault, Unreachable, Unreadable
from explorer.metadata.aspects import RECORDS, AuditStamp, without_nulls
from explorer.metadata.proposal import Proposal
from explorer.metadata.structured_properties import ASSIGNMENTS
from explorer.metadata.urn import Urn

MAX_BATCH = 400
"""The maximum number of proposals in a batch."""
MAX_BODY_BYTES = 16 * 1024 * 1024
"""The maximum size of a request's body."""
# The size of a proposal without its URN, value and system metadata.
_ENVELOPE_BYTES = 400


def ingest_request(proposal: Proposal) -> Request:
    """Return a request that writes one aspect (`ingestProposal`)."""
    body = {"proposal": proposal.to_wire(), "async": "false"}
    return action("/aspects", "ingestProposal", body, repeatable=_repeatable(proposal), writes=True)


def ingest_batch_request(batch: "Batch") -> Request:
    """Return a request that writes many aspects in one transaction (`ingestProposalBatch`)."""
    body = {"proposals": batch.wires, "async": "false"}
    repeatable = all(_repeatable(proposal) for proposal in batch.proposals)
    return action("/aspects", "ingestProposalBatch", body, repeatable=repeatable, writes=True)


def size_bytes(proposal: Proposal, wire: Mapping[str, Any]) -> int:
    """Return the size of a proposal in a request's body, or slightly more."""
    value: str = wire["aspect"]["value"] if "aspect" in wire else ""
    # The value is JSON within JSON: its quotes and backslashes take two bytes each.
    inner = len(value.encode()) + value.count('"') + value.count("\\")
    metadata_length = len(str(proposal.system or "")) + len(str(proposal.headers or ""))
    return inner + 2 * (metadata_length + len(str(proposal.urn).encode())) + _ENVELOPE_BYTES


def delete_references_request(urn: Urn, *, dry_run: bool) -> Request:
    """Return the request that removes the references to an entity from other entities, or lists
    them."""
    body = {"urn": str(urn), "dryRun": dry_run}
    return action("/entities", "deleteReferences", body, writes=not dry_run)


def _repeatable(proposal: Proposal) -> bool:
    # Writing the same value twice creates no new version, so a write without an answer may be sent
    # again. A conditional one may not: if the first was stored, the condition of the second fails.
    return proposal.change == "UPSERT" and not proposal.headers


_ABSENT = -1


class Stored(NamedTuple):
    """The stored aspects of an entity.

    `versions` are the version numbers for conditional writes, `None` if the server does not count
    versions. `stamps` say who last wrote each aspect and when, if the server sends them.
    """

    exists: bool
    values: dict[str, Json]
    versions: dict[str, int] | None
    stamps: dict[str, AuditStamp]

    def value(self, aspect: str) -> Json:
        """Return the aspect's value; empty if there is none."""
        return self.values.get(aspect, {})

    def version(self, aspect: str) -> int | None:
        """Return the version for a conditional write of the aspect, `None` if not supported."""
        return None if self.versions is None else self.versions.get(aspect, _ABSENT)


def parse_stored(body: Any) -> Stored:
    """Parse an entity as the basis of a write."""
    entity = parse_entity(body)
    values = {name: aspect.value for name, aspect in entity.aspects.items()}
    wrappers = as_object(as_object(body, "an entity").get("aspects") or {}, "an entity")
    versions = {
        name: version
        for name, wrapper in wrappers.items()
        if (version := _parse_version(wrapper)) is not None
    }
    stamps = {
        name: aspect.created
        for name, aspect in entity.aspects.items()
        if aspect.created is not None
    }
    return Stored(entity.exists, values, versions or None, stamps)


@read_as("rollback")
def parse_rollback(body: Any) -> Rollback:
    """Parse the result of a rollback."""
    value = value_of(body, "rollback")
    return Rollback(
        int(value.get("aspectsReverted", 0)),
        int(value.get("entitiesDeleted", 0)),
        int(value.get("unsafeEntitiesCount", 0)),
    )


@read_as("runs")
def parse_runs(body: Any) -> tuple[Run, ...]:
    """Parse the ingestion runs, newest first."""
    listed = as_object(body, "runs").get("value")
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to runs is not a list")
    return tuple(
        Run(
            str(entry["runId"]),
            datetime.fromtimestamp(int(entry.get("timestamp", 0)) / 1000, UTC),
            int(entry.get("rows", 0)),
        )
        for entry in listed
    )


@read_as("delete")
def parse_deleted(body: Any) -> tuple[int, int]:
    """Parse the result of a deletion: the numbers of deleted versions and timeseries points."""
    value = value_of(body, "delete")
    return int(value.get("rows", 0)), int(value.get("timeseriesRows", 0))


@read_as("references")
def parse_references(body: Any) -> tuple[int, tuple[EntityReference, ...]]:
    """Parse the references to an entity: their number, and some of them."""
    value = value_of(body, "references")
    listed = [*(value.get("relatedAspects") or ()), *(value.get("leftAspects") or ())]
    references = tuple(
        EntityReference(
            Urn.parse(entry["entity"]), entry.get("aspect", ""), entry.get("relationship", "")
        )
        for entry in listed
    )
    return int(value.get("total", 0)) + int(value.get("leftTotal", 0)), references


def _parse_version(wrapper: Any) -> int | None:
    system = wrapper.get("systemMetadata") if isinstance(wrapper, dict) else None
    text = system.get("version") if isinstance(system, dict) else None
    return int(text) if isinstance(text, str | int) and str(text).isdecimal() else None


_USUAL = 200
# Leaves room for the braces and commas around the proposals.
_ROOM_BYTES = MAX_BODY_BYTES - 4096


def urns_of(proposals: Iterable[Proposal]) -> frozenset[Urn]:
    """Return the URNs of the changed entities."""
    # The changes of an entity usually follow one another, and a URN is slow to hash.
    return frozenset(urn for urn, _ in groupby(proposals, attrgetter("urn")))


@dataclass(frozen=True)
class Batch:
    """Consecutive changes and their wire form; `start` is the position of the first one among all
    changes."""

    start: int
    proposals: tuple[Proposal, ...]
    wires: tuple[Mapping[str, Any] | orjson.Fragment, ...]

    @property
    def positions(self) -> range:
        """The positions of the batch's changes among all changes."""
        return range(self.start, self.start + len(self.proposals))

    @cached_property
    def urns(self) -> frozenset[Urn]:
        """The URNs of the changed entities."""
        return urns_of(self.proposals)

    @property
    def halves(self) -> tuple["Batch", "Batch"]:
        """The first and the second half of the changes."""
        middle = len(self.proposals) // 2
        return (
            Batch(self.start, self.proposals[:middle], self.wires[:middle]),
            Batch(self.start + middle, self.proposals[middle:], self.wires[middle:]),
        )

    def must_follow(self, other: "Batch") -> bool:
        """Return whether this batch may only be sent after the other one is stored, because they
        share an entity."""
        return not self.urns.isdisjoint(other.urns)


def cut(
    proposals: Iterable[Proposal], *, usual: int = _USUAL, room_bytes: int = _ROOM_BYTES
) -> Iterator[Batch]:
    """Yield the changes in order, in batches of about `usual`.

    A batch grows to up to 400 to keep the changes of one entity together, and never exceeds the
    size of one request; a single change above that size is a batch of its own. Reads only the
    changes of the batch that it yields, and at most one more.
    """
    waiting: list[Proposal] = []
    wires: list[Mapping[str, Any] | orjson.Fragment] = []
    start, size = 0, 0
    for position, proposal in enumerate(proposals):
        wire: Mapping[str, Any] | orjson.Fragment
        if proposal.line is None:
            wire = proposal.to_wire()
            weight = size_bytes(proposal, wire)
        else:
            wire, weight = orjson.Fragment(proposal.line), len(proposal.line)
        if waiting and (
            len(waiting) >= MAX_BATCH
            or size + weight > room_bytes
            or (len(waiting) >= usual and proposal.urn != waiting[-1].urn)
        ):
            yield Batch(start, tuple(waiting), tuple(wires))
            waiting, wires, start, size = [], [], position, 0
        waiting.append(proposal)
        wires.append(wire)
        size += weight
    if waiting:
        yield Batch(start, tuple(waiting), tuple(wires))


class LoadInterrupted(Unreachable):
    """The server stopped answering while changes were being sent; some of them are stored.

    `report` counts the changes with a known outcome. `stored` holds the positions of those that
    were written, from 0; `unanswered` the positions of those that were sent and may have been
    written. `not_tried` is the number of changes that were not sent, `None` if the changes were an
    iterator of unknown length. `cause` is the error that ended the load.
    """

    def __init__(
        self,
        cause: Unreachable,
        report: LoadReport,
        stored: tuple[int, ...],
        unanswered: tuple[int, ...],
        not_tried: int | None,
    ) -> None:
        self.cause = cause
        self.report = report
        self.stored = stored
        self.unanswered = unanswered
        self.not_tried = not_tried
        unsent = "" if not_tried is None else f", {not_tried:,} were not sent"
        super().__init__(
            f"{cause}; {report.written_count:,} changes were written, {len(unanswered):,} may have "
            f"been{unsent}",
            status=cause.status,
            url=cause.url,
            excerpt=cause.excerpt,
        )

    def __reduce__(self) -> tuple[object, ...]:
        arguments = (self.cause, self.report, self.stored, self.unanswered, self.not_tried)
        return type(self), arguments, self.__dict__


# At each attempt one of the concurrent writers of an aspect succeeds, so in the end all do; random
# pauses make repeated collisions unlikely.
_ATTEMPTS = 30
_LONGEST_PAUSE_SECONDS = 0.2
# Aspects that nearly every entity has, read to find out whether it exists: servers return the key
# of any URN, stored or not, and not every server says when a key was stored.
_SIGNS = ("status", "dataPlatformInstance", "browsePaths")
_CONDITION = "If-Version-Match"
# Some servers answer a failed condition with 422; these words distinguish it from other errors.
_NOT_HELD = "expected version"


class ConditionalWrites(CatalogMethods):
    """Conditional writes, which the methods for writing and for editing share."""

    async def _read_stored(self, urn: Urn, *aspects: str) -> Stored:
        """Return the given aspects of an entity as the server has them now. One request.

        Raises `NotFound` for an entity that was never written.
        """
        entity = self.registry.entities.get(urn.entity_type)
        aspects_of_type = self.registry.aspects_of(urn.entity_type) if entity else ()
        signs = (
            *(name for name in _SIGNS if name in aspects_of_type),
            *((entity.key,) if entity else ()),
        )
        names = list(dict.fromkeys((*aspects, *signs)))
        request = entity_request(urn, names)
        # The basis of a write must not come from the cache.
        reply = await self._connection.ask(request, fresh=True)
        stored = parse_stored(reply.body)
        if not stored.exists:
            raise NotFound(f"{urn} does not exist in this catalog; nothing was written")
        return stored

    async def _rewrite(
        self, urn: Urn, aspect: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Read an aspect, apply `change` to its value, and write it, unless nothing changed.

        If the server counts versions (ours, DataHub's since 0.14), the write carries
        `If-Version-Match`: if somebody else wrote in between, it starts again with that value,
        which `change` may refuse by raising. On other servers a write in between is lost. Two
        requests. Raises `NotFound`, and `Conflict` if others kept writing in between.
        """
        for attempt in range(_ATTEMPTS):
            stored = await self._read_stored(urn, aspect)
            value = stored.value(aspect)
            changed = change(dict(value))
            if changed == value:
                return
            version = stored.version(aspect)
            try:
                await self._put(Proposal(urn, aspect, changed), version)
            except Conflict:
                if attempt + 1 == _ATTEMPTS:
                    raise
                pause = min(_LONGEST_PAUSE_SECONDS, 0.005 * 2**attempt)
                await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
            else:
                return

    async def _put(self, proposal: Proposal, version: int | None) -> None:
        """Write a proposal; if a version is given, only over that version. Raises `Conflict`."""
        if version is not None:
            headers = {**(proposal.headers or {}), _CONDITION: str(version)}
            proposal = replace(proposal, headers=headers)
        try:
            await self._connection.send(ingest_request(proposal))
        except InvalidInput as error:
            if version is not None and _NOT_HELD in str(error).lower():
                raise Conflict(str(error)) from error
            raise


def aspect_value(
    name: str | None, value: Mapping[str, Any] | msgspec.Struct
) -> tuple[str, dict[str, Any]]:
    """Return the name of an aspect and its value as JSON. Raises `InvalidInput`."""
    if isinstance(value, Mapping):
        if name is None:
            raise InvalidInput("give the name of the aspect; only a typed record implies it")
        return name, dict(value)
    aspect = next(
        (aspect_name for aspect_name, record in RECORDS.items() if record is type(value)), None
    )
    if aspect is None:
        raise InvalidInput(f"{type(value).__name__} is not the record of an aspect")
    if name not in (None, aspect):
        raise InvalidInput(f"a {type(value).__name__} is the aspect {aspect}, not {name}")
    return aspect, without_nulls(msgspec.to_builtins(value))


_AT_ONCE = 2
# Of a refused batch with more changes, one half may be accepted as a whole.
_FEW = 25
# How long a load waits for a server that is restarting, and the pause between attempts.
_RESTART_SECONDS = 15.0
_RESTART_PAUSE_SECONDS = 0.5
_OF_ONE = (InvalidInput, NotFound, Conflict, ServerFault)
"""Errors that concern a single change and not the others."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The outcome of a batch: the positions of the changes that were stored, and of those that may
    have been stored.

    `again` are refused changes that may succeed after all others are stored.
    """

    stored: Sequence[int]
    refused: Sequence[RefusedChange] = ()
    unanswered: Sequence[int] = ()
    failure: Unreachable | None = None
    again: Sequence[tuple[int, Proposal]] = ()


@dataclass(slots=True)
class _Tally:
    """The outcome of all batches so far."""

    stored: list[Sequence[int]] = field(default_factory=list)
    refused: list[RefusedChange] = field(default_factory=list)
    unanswered: list[int] = field(default_factory=list)
    failure: Unreachable | None = None
    again: list[tuple[int, Proposal]] = field(default_factory=list)

    def count(self, loaded: _Loaded) -> None:
        """Add the outcome of a batch."""
        self.stored.append(loaded.stored)
        self.refused += loaded.refused
        self.unanswered += loaded.unanswered
        self.failure = self.failure or loaded.failure
        self.again += loaded.again

    @property
    def report(self) -> LoadReport:
        """Return the report on the changes with a known outcome."""
        refused = tuple(sorted(self.refused, key=lambda one: one.position))
        return LoadReport(sum(map(len, self.stored)), refused)

    def interruption(self, cause: Unreachable, proposals: Iterable[Proposal]) -> LoadInterrupted:
        """Return the error that carries the outcome so far."""
        report, unsent = self.report, None
        if isinstance(proposals, Sized):
            settled = report.written_count + len(report.refused) + len(self.unanswered)
            unsent = len(proposals) - settled
        stored = tuple(sorted(chain.from_iterable(self.stored)))
        return LoadInterrupted(cause, report, stored, tuple(sorted(self.unanswered)), unsent)


class IngestionMethods(ConditionalWrites):
    """Methods that write proposals."""

    _in_batches = True
    _has_answered = False
    """Whether the server has stored a batch, so that it is waited for if it is restarted."""

    async def ingest(self, proposal: Proposal) -> None:
        """Write or remove one aspect. It is stored when this returns. One request.

        Example: `cat.ingest(Proposal(Urn.parse(urn), "status", {"removed": False}))`
        """
        await self._connection.send(ingest_request(proposal))

    async def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """Write many aspects, and report those that were refused. A refused aspect does not affect
        others.

        One request for each 200 to 400 aspects, two at a time if they concern different entities;
        the changes of one entity are stored in the order given. If the server is restarted
        meanwhile, waits for it up to 15 seconds. A batch that is refused is sent again in halves,
        and below 25 aspects one by one.
        If the server failed during a batch, and so may have stored it, its patches are not sent
        again but reported as refused. The iterable is read as the batches are sent.

        Raises only errors that concern all changes: `LoadInterrupted` (an `Unreachable`) if the
        server stopped answering, which says what was written; `NotSignedIn`, `Forbidden`.
        """
        tally = _Tally()
        under_way: dict[asyncio.Task[_Loaded], Batch] = {}

        async def collect() -> None:
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                del under_way[task]
                tally.count(task.result())
            if tally.failure is None:
                return
            # Batches in progress may still be stored, and count too.
            for task in tuple(under_way):
                tally.count(await task)
                del under_way[task]
            raise tally.interruption(tally.failure, proposals) from tally.failure

        try:
            for batch in cut(proposals):
                while len(under_way) >= _AT_ONCE or any(
                    batch.must_follow(earlier) for earlier in under_way.values()
                ):
                    await collect()
                under_way[asyncio.create_task(self._load(batch))] = batch
            while under_way:
                await collect()
            await self._load_again(tally, proposals)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return tally.report

    async def _load_again(self, tally: _Tally, proposals: Iterable[Proposal]) -> None:
        """Send changes again that may have been refused because they came too early.

        These are values of a structured property before its definition, as in files sorted by URN.
        """
        for position, proposal in tally.again:
            try:
                reason = await self._refusal(proposal, None)
            except Unreachable as error:
                raise tally.interruption(error, proposals) from error
            if reason is None:
                tally.stored.append((position,))
                tally.refused = [change for change in tally.refused if change.position != position]

    async def _load(self, batch: Batch) -> _Loaded:
        fault: ServerFault | None = None
        if len(batch.proposals) > 1 and self._in_batches:
            try:
                await self._send_batch(batch)
            except ServerFault as error:
                # The server may have failed before or after the batch was stored.
                fault = error
            except _OF_ONE:
                if len(batch.proposals) > _FEW:
                    return await self._load_halves(batch)
            except Unreachable as error:
                unanswered = () if isinstance(error, NeverSent) else batch.positions
                return _Loaded((), (), unanswered, error)
            else:
                return _Loaded(batch.positions)
        return await self._load_singly(batch, fault)

    async def _load_halves(self, batch: Batch) -> _Loaded:
        """Send a refused batch in two parts."""
        half, other_half = batch.halves
        loaded = await self._load(half)
        if loaded.failure is not None:
            return loaded
        other = await self._load(other_half)
        return _Loaded(
            (*loaded.stored, *other.stored),
            (*loaded.refused, *other.refused),
            other.unanswered,
            other.failure,
            (*loaded.again, *other.again),
        )

    async def _send_batch(self, batch: Batch) -> None:
        """Send a batch. If the server answered before but now refuses connections, wait for it,
        because it may be restarting."""
        request = ingest_batch_request(batch)
        end = time.monotonic() + _RESTART_SECONDS * self._has_answered
        while True:
            try:
                await self._connection.send(request)
            except (NeverSent, StoppedListening) as error:
                may_repeat = isinstance(error, NeverSent) or request.repeatable
                if not may_repeat or time.monotonic() >= end:
                    raise
                await asyncio.sleep(_RESTART_PAUSE_SECONDS)
            else:
                self._has_answered = True
                return

    async def _load_singly(self, batch: Batch, fault: ServerFault | None) -> _Loaded:
        """Send each change by itself.

        `fault` is the error of the batch, after which some changes may already be stored.
        """
        stored: list[int] = []
        refused: list[RefusedChange] = []
        again: list[tuple[int, Proposal]] = []
        rewritten = set[tuple[Urn, str]]()
        for position, proposal in zip(batch.positions, batch.proposals, strict=True):
            place = (proposal.urn, proposal.aspect)
            try:
                reason = await self._refusal(proposal, None if place in rewritten else fault)
            except Unreachable as error:
                positions = batch.positions[position - batch.start :]
                if fault is None:
                    positions = positions[: 0 if isinstance(error, NeverSent) else 1]
                return _Loaded(stored, refused, positions, error, again)
            if reason is not None:
                refused.append(RefusedChange(position, *place, reason))
                if proposal.aspect == ASSIGNMENTS:
                    again.append((position, proposal))
                continue
            stored.append(position)
            if proposal.change != "PATCH":
                # A patch of the same aspect starts from what was just written.
                rewritten.add(place)
        if len(batch.proposals) > 1 and not refused:
            # Every change succeeded alone, so the server may not support batches; if so, no more
            # are sent.
            try:
                self._in_batches = (await self.abilities()).batch_writes
            except Unreachable as error:
                return _Loaded(stored, failure=error)
        return _Loaded(stored, refused, again=again)

    async def _refusal(self, proposal: Proposal, fault: ServerFault | None) -> str | None:
        """Send one change; return the reason if it was refused, `None` if it was stored.

        `fault` is the error of a batch in which it may already have been stored.
        """
        if fault is not None and proposal.change == "PATCH":
            return f"the server failed, and may have stored it; a patch is not sent twice: {fault}"
        try:
            await self.ingest(proposal)
        except _OF_ONE as error:
            if fault is not None and await self._is_stored(proposal):
                return None
            return str(error)
        return None

    async def _is_stored(self, proposal: Proposal) -> bool:
        """Return whether a refused change, of a kind that succeeds only once, was already
        stored."""
        is_removal = proposal.change == "DELETE"
        if proposal.change == "UPSERT" and not proposal.headers:
            return False
        try:
            stored = await self._read_stored(proposal.urn, proposal.aspect)
        except NotFound:
            return is_removal
        except (InvalidInput, ServerFault):
            return False
        value = stored.values.get(proposal.aspect)
        return value is None if is_removal else value == proposal.value


_SNAPSHOTS = "com.linkedin.metadata.snapshot."


class AspectMethods(IngestionMethods):
    """Methods that write, remove, delete and roll back aspects."""

    async def put(
        self,
        urn: str | Urn,
        aspect: str | None,
        value: Mapping[str, Any] | msgspec.Struct,
        *,
        run_id: str | None = None,
        only_if_version: int | None = None,
    ) -> None:
        """Write one aspect, replacing its value. One request.

        `value` is JSON, or a typed record (`Status(removed=True)`), for which `aspect` can be
        `None`. A record writes only the fields that it declares. `run_id` assigns the write to a
        run, which `roll_back` undoes. With `only_if_version` the aspect is written only if its
        present version has this number (as in its system metadata, from 1; -1 if there must be none
        yet).

        Raises `Conflict` if it has another version, `InvalidInput` for a value that does not fit.

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
        """Change part of an aspect on the server, so that concurrent changes are not lost.

        `operations` are a JSON Patch in which elements of arrays are addressed by the fields that
        identify them (`{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag":
        "urn:li:tag:PII"}}`), or an object with `patch` and `arrayPrimaryKeys`. An aspect or entity
        that does not exist starts empty. One request, which is not retried.

        Example: `cat.patch(urn, "status", [{"op": "add", "path": "/removed", "value": False}])`
        """
        patch = dict(operations) if isinstance(operations, Mapping) else list(operations)
        await self.ingest(Proposal(Urn.parse(urn), aspect, patch, "PATCH"))

    async def remove(self, urn: str | Urn, aspect: str) -> None:
        """Remove one aspect with all its versions; removing the key aspect deletes the entity.

        One request, which is not retried. Raises `InvalidInput` if the server does not remove
        single aspects (DataHub's do not).

        Example: `cat.remove(urn, "deprecation")`
        """
        await self.ingest(Proposal(Urn.parse(urn), aspect, change="DELETE"))

    async def ingest_snapshot(
        self, urn: str | Urn, aspects: Mapping[str, Mapping[str, Any] | msgspec.Struct]
    ) -> None:
        """Write several aspects of one entity, by name, in one request.

        Deprecated by the service: this is the legacy form, for servers that support no other. Use
        `put` or `ingest_batch`.

        Example: `cat.ingest_snapshot(urn, {"status": {"removed": False}})`
        """
        target = Urn.parse(urn)
        registry = self.registry
        key = registry.aspect(registry.entity(target.entity_type).key).record
        kind = key.rpartition(".")[2].removesuffix("Key")
        records = [
            {registry.aspect_of(target.entity_type, name).record: aspect_value(name, value)[1]}
            for name, value in aspects.items()
        ]
        snapshot = {f"{_SNAPSHOTS}{kind}Snapshot": {"urn": str(target), "aspects": records}}
        request = action("/entities", "ingest", {"entity": {"value": snapshot}}, writes=True)
        await self._connection.send(request)

    async def delete(
        self, urn: str | Urn, *, dry_run: bool = False, with_references: bool = False
    ) -> Deletion:
        """Permanently delete an entity: all aspects, versions and timeseries points.

        This cannot be undone. `dry_run` changes nothing and returns what refers to the entity;
        `soft_delete` hides an entity without deleting it. References from other entities stay,
        unless `with_references` removes them from their aspects. Three requests. Raises `NotFound`
        for an entity that does not exist.

        Example: `cat.delete(urn, dry_run=True)`
        """
        target = Urn.parse(urn)
        await self._read_stored(target)
        count, references = await self._references(target)
        if dry_run:
            return Deletion(target, False, 0, 0, count, references)
        if with_references:
            await self._connection.send(delete_references_request(target, dry_run=False))
        fields = {"urn": str(target)}
        request = action("/entities", "delete", fields, repeatable=False, writes=True)
        versions, points = parse_deleted(await self._connection.send(request))
        return Deletion(target, True, versions, points, count, references)

    async def runs(
        self, *, start: int = 0, count: int = 100, include_removed: bool = False
    ) -> tuple[Run, ...]:
        """Return the ingestion runs that have anything left in the catalog, newest first. One
        request.

        `include_removed` also counts versions and points of soft-deleted entities.

        Example: `cat.runs(count=5)`
        """
        body = {"pageOffset": start, "pageSize": count, "includeSoft": include_removed}
        return parse_runs(await self._connection.send(action("/runs", "list", body)))

    async def roll_back(self, run_id: str, *, dry_run: bool = False) -> Rollback:
        """Undo an ingestion run: remove what it wrote, and for good the entities it created.

        One request.

        Example: `cat.roll_back("my-run", dry_run=True)`
        """
        body = {"runId": run_id, "dryRun": dry_run, "safe": False}
        request = action("/runs", "rollback", body, repeatable=False, writes=not dry_run)
        return parse_rollback(await self._connection.send(request))

    async def _references(self, urn: Urn) -> tuple[int | None, tuple[EntityReference, ...] | None]:
        try:
            request = delete_references_request(urn, dry_run=True)
            return parse_references(await self._connection.send(request))
        except (InvalidInput, NotFound):
            return None, None
