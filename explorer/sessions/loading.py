"""Loading metadata from files, batch by batch, with counts of written and rejected changes; and
removing what a run loaded."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.client.ingestion import LoadInterrupted, urns_of
from explorer.client.records import LoadReport
from explorer.errors import CatalogError
from explorer.metadata.files import Refused
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Session, SessionState, action

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.records import Rollback

_MOST_REFUSALS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rejection:
    """A change that was rejected, with the reason.

    `number` is a position in the file, from 1: that of the `record`, if the record cannot be read,
    or that of the `change`, because a record can have several.
    """

    source: str
    reason: str
    unit: Literal["record", "change"] | None = None
    number: int | None = None
    urn: str | None = None
    aspect: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with `file`, `record` or `change`, `urn`, `aspect` and `reason`, as
        far as known."""
        place = {self.unit: self.number} if self.unit else {}
        subject = {"urn": self.urn, "aspect": self.aspect}
        fields = {key: value for key, value in subject.items() if value is not None}
        return {"file": self.source, **place, **fields, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class LoadState(SessionState):
    """The numbers of changes of a source that were written so far, and that were `refused`, of
    which `refusals` holds the first 10,000. `unanswered` counts changes that were sent without a
    response and may have been written; `resumed_at` the records that an earlier load sent. The
    outcome of all changes up to the number `settled` is known."""

    aspects: int = 0
    unanswered: int = 0
    refused: int = 0
    refusals: tuple[Rejection, ...] = ()
    resumed_at: int = 0
    settled: int = 0


_Batch = Sequence[tuple[int, Proposal | Refused]]


@dataclass(frozen=True, slots=True)
class _Sending:
    """A batch that is being written. `task` returns the outcome, or the error that ended it."""

    batch: _Batch
    proposals: Sequence[Proposal]
    urns: frozenset[Urn]
    task: "asyncio.Task[LoadReport | CatalogError]"


class LoadSession(Session[LoadState]):
    """The load of one source. `report` is called for each change that is rejected."""

    def __init__(
        self,
        catalog: "AsyncCatalog",
        source: str,
        report: Callable[[Rejection], object] = lambda _: None,
    ) -> None:
        self.source = source
        self._report = report
        # Hashes instead of URNs, a million of which need 300 MB.
        self._entities: set[int] = set()
        self._under_way: deque[_Sending] = deque()
        super().__init__(catalog, LoadState())

    @property
    def entities(self) -> frozenset[int]:
        """The hashes of the URNs of entities with written changes."""
        return frozenset(self._entities)

    def refuse(self, *rejections: Rejection) -> None:
        """Count rejected changes, and report them."""
        for rejection in rejections:
            self._report(rejection)
        state = self.state
        room = max(_MOST_REFUSALS - len(state.refusals), 0)
        self.replace(
            refused=state.refused + len(rejections),
            refusals=(*state.refusals, *rejections[:room]) if room else state.refusals,
        )

    @action("Load changes, and count those that are rejected")
    async def send(self, batch: _Batch, *, ahead: int = 0) -> None:
        """Write changes, each with its number in the source; one request for each two to four
        hundred.

        Returns when at most `ahead` batches are still under way; their outcomes are counted by
        later calls, in the order of the batches. Batches that change the same entity are written
        one after another. Errors that concern all changes are raised; the state then counts the
        changes known to be written.
        """
        self.check("send")
        proposals = [change for _, change in batch if isinstance(change, Proposal)]
        urns = urns_of(proposals)
        while not all(urns.isdisjoint(earlier.urns) for earlier in self._under_way):
            await self._settle(len(self._under_way) - 1)
        if batch:
            task = self._write(proposals)
            self._under_way.append(_Sending(batch, proposals, urns, asyncio.create_task(task)))
        await self._settle(ahead)

    @action("Say what a run loaded that is still there", in_turn=False)
    async def plan_removal(self, run_id: str) -> "Rollback":
        """Return how much `remove` would remove; see `Catalog.roll_back`."""
        return await self.catalog.roll_back(run_id, dry_run=True)

    @action("Take out what a run loaded")
    async def remove(self, run_id: str) -> "Rollback":
        """Remove what a run loaded, and return how much it was; see `Catalog.roll_back`."""
        self.check("remove")
        return await self.catalog.roll_back(run_id)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible; empty if it is possible."""
        return READ_ONLY if self.catalog.read_only and name != "plan_removal" else ""

    async def _write(self, proposals: Sequence[Proposal]) -> "LoadReport | CatalogError":
        try:
            return await self.catalog.ingest_batch(proposals)
        except CatalogError as error:
            return error

    async def _settle(self, ahead: int) -> None:
        """Count the outcomes of all batches but the last `ahead`; after an error those of all, and
        raise it."""
        failure: CatalogError | None = None
        while len(self._under_way) > (ahead if failure is None else 0):
            sending = self._under_way.popleft()
            for _, change in sending.batch:
                if isinstance(change, Refused):
                    position = change.index + 1
                    self.refuse(
                        Rejection(self.source, change.reason, "record", position, change.urn)
                    )
            try:
                outcome = await sending.task
            except asyncio.CancelledError:
                for later in self._under_way:
                    later.task.cancel()
                self._under_way.clear()
                raise
            if isinstance(outcome, LoadReport):
                self._count(outcome, sending, range(len(sending.proposals)))
                if failure is None:
                    self.replace(settled=sending.batch[-1][0])
                continue
            if isinstance(outcome, LoadInterrupted):
                self.replace(unanswered=self.state.unanswered + len(outcome.unanswered))
                self._count(outcome.report, sending, outcome.stored)
                # Its sentence counts only this batch.
                outcome = outcome.cause
            failure = failure or outcome
        if failure is not None:
            raise failure

    def _count(self, report: LoadReport, sending: _Sending, stored: Iterable[int]) -> None:
        """Count the changes that were refused, and those at the positions `stored` that were
        not."""
        reasons = {change.position: change.reason for change in report.refused}
        written = (sending.proposals[at] for at in stored if at not in reasons)
        self._entities.update(map(hash, urns_of(written)))
        self.replace(aspects=self.state.aspects + report.written_count)
        if not reasons:
            return
        sent = [(number, each) for number, each in sending.batch if isinstance(each, Proposal)]
        rejections = []
        for at, reason in reasons.items():
            number, change = sent[at]
            urn, aspect = str(change.urn), change.aspect
            rejections.append(Rejection(self.source, reason, "change", number, urn, aspect))
        self.refuse(*rejections)
