"""The change log."""

from collections.abc import Iterable
from urllib.parse import quote

from explorer.client.requests.request import Request
from explorer.metadata.urn import Urn

__all__ = ["ChangeQuery", "change_query", "changes_request", "stream_request"]

ChangeQuery = str
"""The query part that says which changes are asked for; each of its parts begins with `&`."""


def change_query(
    urns: Iterable[str | Urn] | None,
    aspects: Iterable[str] | None,
    entities: Iterable[str] | None,
    *,
    values: bool,
) -> ChangeQuery:
    """What narrows the log; nothing for all of it. Raises `InvalidUrn`."""
    parts = [f"&urn={Urn.parse(urn).encoded}" for urn in urns or ()]
    parts += [f"&aspect={quote(name, safe='')}" for name in aspects or ()]
    parts += [f"&entity={quote(name, safe='')}" for name in entities or ()]
    return "".join(parts) + ("" if values else "&values=false")


def changes_request(after: int | None, limit: int, narrowed: ChangeQuery) -> Request:
    """What came after an offset, or from the first change that is kept."""
    begin = "" if after is None else f"after={after}&"
    return Request("GET", f"/changes?{begin}limit={limit}{narrowed}")


def stream_request(after: int, narrowed: ChangeQuery, *, resumed: bool) -> Request:
    """What comes after an offset, as it comes; `resumed` says that there was a stream before."""
    headers = [("Accept", "text/event-stream")]
    if resumed:
        headers.append(("Last-Event-ID", str(after)))
    return Request("GET", f"/changes/stream?after={after}{narrowed}", headers=tuple(headers))
