"""Loading metadata from files, batch by batch, with counts of written and rejected changes; and
removing what a run loaded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.client.ingestion import LoadInterrupted
from explorer.client.records import LoadReport
from explorer.metadata.files import Refused
from explorer.metadata.proposal import Proposal
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
    response and may have been written; `resumed_at` the records that an earlier load sent."""

    aspects: int = 0
    unanswered: int = 0
    refused: int = 0
    refusals: tuple[Rejection, ...] = ()
    resumed_at: int = 0


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
    async def send(self, batch: Iterable[tuple[int, Proposal | Refused]]) -> None:
        """Write changes, each with its number in the source; one request for each one or two
        hundred. Errors that concern all changes are raised; the state then counts the changes known
        to be written."""
        self.check("send")
        proposals: list[tuple[int, Proposal]] = []
        for number, change in batch:
            if isinstance(change, Refused):
                position = change.index + 1
                self.refuse(Rejection(self.source, change.reason, "record", position, change.urn))
            else:
                proposals.append((number, change))
        if not proposals:
            return
        try:
            report = await self.catalog.ingest_batch([proposal for _, proposal in proposals])
        except LoadInterrupted as interrupted:
            self.replace(unanswered=self.state.unanswered + len(interrupted.unanswered))
            refused = (change.position for change in interrupted.report.refused)
            self._count(interrupted.report, proposals, (*interrupted.stored, *refused))
            # The counts include earlier batches.
            raise interrupted.cause from interrupted
        self._count(report, proposals, range(len(proposals)))

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

    def _count(
        self,
        report: LoadReport,
        proposals: Sequence[tuple[int, Proposal]],
        settled: Iterable[int],
    ) -> None:
        """Count the proposals at the positions with a known outcome."""
        reasons = {change.position: change.reason for change in report.refused}
        rejections: list[Rejection] = []
        for position in settled:
            number, proposal = proposals[position]
            urn = str(proposal.urn)
            if position in reasons:
                reason, aspect = reasons[position], proposal.aspect
                rejections.append(Rejection(self.source, reason, "change", number, urn, aspect))
            else:
                self._entities.add(hash(urn))
        self.replace(aspects=self.state.aspects + report.written_count)
        if rejections:
            self.refuse(*rejections)
