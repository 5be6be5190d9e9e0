"""Versions of aspects."""

from urllib.parse import quote

from explorer.client.requests.request import Request
from explorer.metadata.urn import Urn

__all__ = ["versions_request"]


def versions_request(urn: Urn, name: str, newest: int, start: int, count: int) -> Request:
    """The versions of an aspect up to one number, newest first: what our own service offers."""
    return Request(
        "GET",
        f"/versions/{urn.encoded}?aspect={quote(name, safe='')}"
        f"&from=1&to={newest}&start={start}&count={count}",
    )
