"""Edges between entities."""

from collections.abc import Sequence
from urllib.parse import quote

from explorer.client.requests.request import Request
from explorer.metadata.urn import Urn

__all__ = ["relationships"]


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
