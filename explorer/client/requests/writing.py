"""What changes the catalog."""

from collections.abc import Sequence

from explorer.client.requests.request import Request, action
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal

__all__ = ["ingest", "ingest_batch", "roll_back"]

_MAX_BATCH = 200


def ingest(proposal: Proposal) -> Request:
    """Endpoint 1."""
    body = {"proposal": proposal.to_wire(), "async": "false"}
    # Writing the same value twice makes no version, so an unanswered write may be sent again.
    return action(
        "/aspects", "ingestProposal", body, repeatable=proposal.change == "UPSERT", writes=True
    )


def ingest_batch(proposals: Sequence[Proposal]) -> Request:
    """Endpoint 1 for many: one transaction."""
    if len(proposals) > _MAX_BATCH:
        raise InvalidInput(f"a batch holds at most {_MAX_BATCH} proposals, not {len(proposals)}")
    body = {"proposals": [proposal.to_wire() for proposal in proposals], "async": "false"}
    upserts = all(proposal.change == "UPSERT" for proposal in proposals)
    return action("/aspects", "ingestProposalBatch", body, repeatable=upserts, writes=True)


def roll_back(run_id: str, *, dry_run: bool) -> Request:
    """Undo everything that a run of ingestion brought."""
    body = {"runId": run_id, "dryRun": dry_run, "safe": False}
    return action("/runs", "rollback", body, repeatable=False, writes=not dry_run)
