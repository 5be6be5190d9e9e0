"""What is sent: every request as a value, built by pure functions from the caller's arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.errors import InvalidInput
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Request"]

_MAX_BATCH = 200


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `path` is already encoded and relative to the server's base address.

    `repeatable` says that sending it twice does what sending it once does.
    """

    method: str
    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    repeatable: bool = True


def config() -> Request:
    """What the server is and can do."""
    return Request("GET", "/config")


def search(text: str, entity: str | None, start: int, count: int, narrowed_by: Filter) -> Request:
    """Endpoint 6, or its twin over all entity types when none is named."""
    body: dict[str, Any] = {"input": text or "*", "start": start, "count": count}
    if entity:
        body["entity"] = entity
    if narrowed_by:
        body["filter"] = narrowed_by.to_wire()
    return _action("/entities", "search" if entity else "searchAcrossEntities", body)


def autocomplete(text: str, entity: str, limit: int, narrowed_by: Filter) -> Request:
    """Endpoint 7."""
    body: dict[str, Any] = {"query": text, "entity": entity, "limit": limit}
    if narrowed_by:
        body["filter"] = narrowed_by.to_wire()
    return _action("/entities", "autocomplete", body)


def browse(path: str, entity: str, start: int, limit: int) -> Request:
    """Endpoint 5."""
    body = {"path": path, "entity": entity, "start": start, "limit": limit}
    return _action("/entities", "browse", body)


def entity(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Endpoint 3; all aspects when none are named."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{_aspects('?', aspects)}")


def entities(urns: Sequence[Urn], aspects: Sequence[str] | None) -> Request:
    """The batch form of endpoint 3."""
    ids = ",".join(urn.encoded for urn in urns)
    return Request(
        "GET",
        f"/entitiesV2?ids=List({ids}){_aspects('&', aspects)}",
        headers=(("X-RestLi-Method", "batch_get"),),
    )


def aspect(urn: Urn, name: str, version: int) -> Request:
    """Endpoint 8."""
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name)}&version={version}")


def timeseries(
    urn: Urn, name: str, start: datetime | None, end: datetime | None, limit: int | None
) -> Request:
    """Endpoint 9; both ends inclusive."""
    body: dict[str, Any] = {"urn": str(urn), "entity": urn.entity_type, "aspect": name}
    if start is not None:
        body["startTimeMillis"] = _millis(start)
    if end is not None:
        body["endTimeMillis"] = _millis(end)
    if limit is not None:
        body["limit"] = limit
    return _action("/aspects", "getTimeseriesAspectValues", body)


def relationships(
    urn: Urn, direction: str, types: Sequence[str], start: int, count: int
) -> Request:
    """Endpoint 10."""
    names = ",".join(quote(name, safe="") for name in types)
    listed = f"List({names})" if len(types) != 1 else names
    return Request(
        "GET",
        f"/relationships?direction={direction}&urn={urn.encoded}&types={listed}"
        f"&start={start}&count={count}",
    )


def ingest(proposal: Proposal) -> Request:
    """Endpoint 1."""
    body = {"proposal": proposal.to_wire(), "async": "false"}
    # Writing the same value twice makes no version, so an unanswered write may be sent again.
    return _action("/aspects", "ingestProposal", body, repeatable=proposal.change == "UPSERT")


def ingest_batch(proposals: Sequence[Proposal]) -> Request:
    """Endpoint 1 for many: one transaction."""
    if len(proposals) > _MAX_BATCH:
        raise InvalidInput(f"a batch holds at most {_MAX_BATCH} proposals, not {len(proposals)}")
    body = {"proposals": [proposal.to_wire() for proposal in proposals], "async": "false"}
    upserts = all(proposal.change == "UPSERT" for proposal in proposals)
    return _action("/aspects", "ingestProposalBatch", body, repeatable=upserts)


def roll_back(run_id: str, *, dry_run: bool) -> Request:
    """Undo everything that a run of ingestion brought."""
    body = {"runId": run_id, "dryRun": dry_run, "safe": False}
    return _action("/runs", "rollback", body, repeatable=False)


def graphql(query: str, variables: dict[str, Any]) -> Request:
    """A GraphQL operation; what people wrote travels in `variables` only."""
    body = {"query": query, "variables": variables}
    return Request("POST", "/api/graphql", body, repeatable=False)


def _action(path: str, action: str, body: dict[str, Any], *, repeatable: bool = True) -> Request:
    return Request("POST", f"{path}?action={action}", body, repeatable=repeatable)


def _aspects(mark: str, aspects: Sequence[str] | None) -> str:
    if aspects is None:
        return ""
    return f"{mark}aspects=List({','.join(quote(name, safe='') for name in aspects)})"


def _millis(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{moment} has no time zone; give an aware datetime, such as datetime.now(UTC)"
        )
    return round(moment.timestamp() * 1000)
