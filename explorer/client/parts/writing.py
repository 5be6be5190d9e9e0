"""What changes the catalog, an aspect at a time."""

from collections.abc import Iterable, Sequence

from explorer.client import answers, requests
from explorer.client.parts.part import Part, in_chunks
from explorer.client.records import LoadReport, Rollback
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.proposal import Proposal

__all__ = ["Writing"]

_BATCH = 100


class Writing(Part):
    """How aspects are written and taken back."""

    async def ingest(self, proposal: Proposal) -> None:
        """Write, or remove, one aspect. Stored when this returns. One request."""
        await self._connection.send(requests.writing.ingest(proposal))

    async def ingest_batch(self, proposals: Iterable[Proposal]) -> LoadReport:
        """Write many aspects, as many as possible: what is refused is reported and loses no other.

        One request for a hundred; a batch that is refused is sent again one by one. Raises only
        what concerns them all (`Unreachable`, `NotSignedIn`, `Forbidden`).
        """
        written = 0
        refused: list[tuple[str, str]] = []
        for chunk in in_chunks(proposals, _BATCH):
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
        request = requests.writing.roll_back(run_id, dry_run=dry_run)
        return answers.writing.rollback(await self._connection.send(request))

    async def _took(self, proposals: Sequence[Proposal]) -> bool:
        if len(proposals) == 1:
            return False
        try:
            await self._connection.send(requests.writing.ingest_batch(proposals))
        except (InvalidInput, NotFound, ServerFault):
            return False
        return True

    async def _refusal(self, proposal: Proposal) -> str | None:
        try:
            await self.ingest(proposal)
        except (InvalidInput, NotFound, ServerFault) as error:
            return str(error)
        return None
