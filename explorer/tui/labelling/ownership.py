"""The kinds of ownership that may be given: those of the model, and the server's own."""

from typing import TYPE_CHECKING

from explorer.errors import InvalidInput, NotFound, ServerFault

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["OWNERSHIPS", "read_ownerships"]

OWNERSHIPS: tuple[str, ...] = ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
"""What the model has beside those that are no longer given."""

_BUILT_IN = "urn:li:ownershipType:__system__"
_AT_MOST = 20


async def read_ownerships(catalog: "AsyncCatalog") -> tuple[str, ...]:
    """The kinds of the model, then at most twenty of the server's own as URNs. One request."""
    try:
        page = await catalog.search("*", entity="ownershipType", count=_AT_MOST)
    except (InvalidInput, NotFound, ServerFault):
        # Servers that have no such entities say so in several ways.
        return OWNERSHIPS
    own = (str(hit.urn) for hit in page)
    return (*OWNERSHIPS, *(urn for urn in own if not urn.startswith(_BUILT_IN)))
