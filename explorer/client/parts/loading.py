"""Changes as they come, one or many."""

import asyncio
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain

from explorer.client.batches import Batch, cut
from explorer.client.interruption import LoadInterrupted
from explorer.client.parts.rewriting import ConditionalWrites
from explorer.client.records import LoadReport, RefusedChange
from explorer.client.requests.writing import ingest_batch_request, ingest_request
from explorer.client.transport import NeverSent
from explorer.errors import Conflict, InvalidInput, NotFound, ServerFault, Unreachable
from explorer.metadata.proposal import Proposal
from explorer.metadata.structured_properties import ASSIGNMENTS
from explorer.metadata.urn import Urn

__all__ = ["IngestionMethods"]

_AT_ONCE = 2
_OF_ONE = (InvalidInput, NotFound, Conflict, ServerFault)
"""What concerns one change rather than all of them."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What became of a batch, as far as it came: the places of what is stored, and of what may
    be. Of what was refused, `again` are the changes that may go in once all others are."""

    stored: Sequence[int]
    refused: Sequence[RefusedChange] = ()
    unanswered: Sequence[int] = ()
    failure: Unreachable | None = None
    again: Sequence[tuple[int, Proposal]] = ()


@dataclass(slots=True)
class _Tally:
    """What became of all batches so far."""

    stored: list[Sequence[int]] = field(default_factory=list)
    refused: list[RefusedChange] = field(default_factory=list)
    unanswered: list[int] = field(default_factory=list)
    failure: Unreachable | None = None
    again: list[tuple[int, Proposal]] = field(default_factory=list)

    def count(self, loaded: _Loaded) -> None:
        """Add a batch."""
        self.stored.append(loaded.stored)
        self.refused += loaded.refused
        self.unanswered += loaded.unanswered
        self.failure = self.failure or loaded.failure
        self.again += loaded.again

    @property
    def report(self) -> LoadReport:
        """What is known."""
        refused = tuple(sorted(self.refused, key=lambda one: one.position))
        return LoadReport(sum(map(len, self.stored)), refused)

    def interruption(self, cause: Unreachable, proposals: Iterable[Proposal]) -> LoadInterrupted:
        """The error that tells what is known."""
        report, left = self.report, None
        if isinstance(proposals, Sized):
            known = report.written + len(report.refused) + len(self.unanswered)
            left = len(proposals) - known
        stored = tuple(sorted(chain.from_iterable(self.stored)))
        return LoadInterrupted(cause, report, stored, tuple(sorted(self.unanswered)), left)


class IngestionMethods(ConditionalWrites):
    """How changes are sent."""

    _in_batches = True

    async def ingest(self, proposal: Proposal) -> None:
        """Write, or remove, one aspect. Stored when this returns. One request.

        Example: `cat.ingest(Proposal(Urn.parse(urn), "status", {"removed": False}))`
        """
        await self._connection.send(ingest_request(proposal))

    async def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """Write many aspects, as many as possible: what is refused is reported and loses no other.

        One request for one or two hundred, two of them at once where they concern different
        entities; changes of one entity are stored in the order given. A batch that is refused is
        sent again one by one. Of one that the server failed at, and so may have stored, patches
        are not sent twice but reported as refused. The changes are drawn as they are sent.

        Raises only what concerns them all: `LoadInterrupted` where the server stopped answering,
        which is `Unreachable` and tells what had gone in; `NotSignedIn`, `Forbidden`.
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
            # What is on its way may still arrive, and counts too.
            for task in tuple(under_way):
                tally.count(await task)
                del under_way[task]
            raise tally.interruption(tally.failure, proposals) from tally.failure

        try:
            for batch in cut(proposals):
                while len(under_way) >= _AT_ONCE or any(
                    batch.must_follow(other) for other in under_way.values()
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
        """Send once more what was refused for what may have come after it: values of a structured
        property before its definition, as files have them that are sorted by URN."""
        for position, proposal in tally.again:
            try:
                reason = await self._refusal(proposal, None)
            except Unreachable as error:
                raise tally.interruption(error, proposals) from error
            if reason is None:
                tally.stored.append((position,))
                tally.refused = [one for one in tally.refused if one.position != position]

    async def _load(self, batch: Batch) -> _Loaded:
        fault: ServerFault | None = None
        if len(batch.proposals) > 1 and self._in_batches:
            try:
                await self._connection.send(ingest_batch_request(batch.proposals))
            except ServerFault as error:
                # It may have failed half-way, or after all was stored.
                fault = error
            except _OF_ONE:
                pass
            except Unreachable as error:
                unanswered = () if isinstance(error, NeverSent) else batch.positions
                return _Loaded((), (), unanswered, error)
            else:
                return _Loaded(batch.positions)
        return await self._load_singly(batch, fault)

    async def _load_singly(self, batch: Batch, fault: ServerFault | None) -> _Loaded:
        """Each by itself; with the fault of the server's that all may be stored already."""
        stored: list[int] = []
        refused: list[RefusedChange] = []
        again: list[tuple[int, Proposal]] = []
        whole = set[tuple[Urn, str]]()
        for position, proposal in zip(batch.positions, batch.proposals, strict=True):
            place = (proposal.urn, proposal.aspect)
            try:
                reason = await self._refusal(proposal, None if place in whole else fault)
            except Unreachable as error:
                left = batch.positions[position - batch.start :]
                if fault is None:
                    left = left[: 0 if isinstance(error, NeverSent) else 1]
                return _Loaded(stored, refused, left, error, again)
            if reason is not None:
                refused.append(RefusedChange(position, *place, reason))
                if proposal.aspect == ASSIGNMENTS:
                    again.append((position, proposal))
                continue
            stored.append(position)
            if proposal.change != "PATCH":
                # A patch of this one starts from what was just sent.
                whole.add(place)
        if len(batch.proposals) > 1 and not refused:
            # It was the batch itself: a server that takes none is not sent another.
            try:
                self._in_batches = (await self.abilities()).batch_writes
            except Unreachable as error:
                return _Loaded(stored, failure=error)
        return _Loaded(stored, refused, again=again)

    async def _refusal(self, proposal: Proposal, fault: ServerFault | None) -> str | None:
        """Why a change did not go in; nothing where it did. With the fault of the server's that it
        may have been stored before."""
        if fault is not None and proposal.change == "PATCH":
            return (
                f"it may be stored, for the server failed then; a patch is not sent twice: {fault}"
            )
        try:
            await self.ingest(proposal)
        except _OF_ONE as error:
            if fault is not None and await self._is_stored(proposal):
                return None
            return str(error)
        return None

    async def _is_stored(self, proposal: Proposal) -> bool:
        """Whether a change that can be made once only, and is refused, was made already."""
        is_removal = proposal.change == "DELETE"
        if proposal.change == "UPSERT" and not proposal.headers:
            return False
        try:
            found = await self._stored(proposal.urn, proposal.aspect)
        except NotFound:
            return is_removal
        except (InvalidInput, ServerFault):
            return False
        value = found.values.get(proposal.aspect)
        return value is None if is_removal else value == proposal.value
