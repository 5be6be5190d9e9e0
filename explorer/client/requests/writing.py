"""What changes the catalog."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.client.requests.request import Request, action
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = [
    "MAX_BATCH",
    "MAX_BODY_BYTES",
    "delete_references_request",
    "delete_request",
    "ingest_batch_request",
    "ingest_request",
    "roll_back_request",
    "runs_request",
    "size_bytes",
    "snapshot_request",
]

MAX_BATCH = 200
"""How many proposals a batch holds."""
MAX_BODY_BYTES = 16 * 1024 * 1024
"""How long a request may be."""
# What a proposal takes beside its URN, its value and its system metadata.
_ENVELOPE_BYTES = 400


def ingest_request(proposal: Proposal) -> Request:
    """Endpoint 1."""
    body = {"proposal": proposal.to_wire(), "async": "false"}
    return action("/aspects", "ingestProposal", body, repeatable=_repeatable(proposal), writes=True)


def ingest_batch_request(proposals: Sequence[Proposal]) -> Request:
    """Endpoint 1 for many: one transaction."""
    if len(proposals) > MAX_BATCH:
        raise InvalidInput(f"a batch holds at most {MAX_BATCH} proposals, not {len(proposals)}")
    body = {"proposals": [proposal.to_wire() for proposal in proposals], "async": "false"}
    repeatable = all(_repeatable(proposal) for proposal in proposals)
    return action("/aspects", "ingestProposalBatch", body, repeatable=repeatable, writes=True)


def size_bytes(proposal: Proposal) -> int:
    """What a proposal takes in a request's body, or a little more."""
    wire = proposal.to_wire()
    value: str = wire["aspect"]["value"] if "aspect" in wire else ""
    # The value is JSON within JSON: its quotes and backslashes take two bytes each.
    inner = len(value.encode()) + value.count('"') + value.count("\\")
    beside = len(str(proposal.system or "")) + len(str(proposal.headers or ""))
    return inner + 2 * (beside + len(str(proposal.urn).encode())) + _ENVELOPE_BYTES


def snapshot_request(record: str, urn: Urn, aspects: Mapping[str, Mapping[str, Any]]) -> Request:
    """Endpoint 2: `record` is the snapshot's full name, `aspects` by their records' full names."""
    held = {"urn": str(urn), "aspects": [{name: value} for name, value in aspects.items()]}
    return action("/entities", "ingest", {"entity": {"value": {record: held}}}, writes=True)


def delete_request(urn: Urn) -> Request:
    """Take an entity out for good."""
    return action("/entities", "delete", {"urn": str(urn)}, repeatable=False, writes=True)


def delete_references_request(urn: Urn, *, dry_run: bool) -> Request:
    """Take what points at an entity out of the others' aspects, or tell what that would be."""
    body = {"urn": str(urn), "dryRun": dry_run}
    return action("/entities", "deleteReferences", body, writes=not dry_run)


def runs_request(start: int, count: int, *, include_removed: bool) -> Request:
    """The runs of ingestion, newest first."""
    body = {"pageOffset": start, "pageSize": count, "includeSoft": include_removed}
    return action("/runs", "list", body)


def roll_back_request(run_id: str, *, dry_run: bool) -> Request:
    """Undo everything that a run of ingestion brought."""
    body = {"runId": run_id, "dryRun": dry_run, "safe": False}
    return action("/runs", "rollback", body, repeatable=False, writes=not dry_run)


def _repeatable(proposal: Proposal) -> bool:
    # Writing the same value twice makes no version, so an unanswered write may be sent again. One
    # with a condition may not: it would be refused for what it did itself.
    return proposal.change == "UPSERT" and not proposal.headers
