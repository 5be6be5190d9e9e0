"""Entities, aspects and their points in time."""

from collections.abc import Sequence
from urllib.parse import quote

from explorer.client.requests.request import Request, of_aspects
from explorer.metadata.urn import Urn

__all__ = [
    "aspect_request",
    "entities_request",
    "entity_request",
    "legacy_entity_request",
]


def entity_request(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Endpoint 3; all aspects when none are named."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{of_aspects('?', aspects)}")


def legacy_entity_request(urn: Urn) -> Request:
    """Endpoint 4."""
    return Request("GET", f"/entities/{urn.encoded}")


def entities_request(urns: Sequence[Urn], aspects: Sequence[str] | None) -> Request:
    """The batch form of endpoint 3."""
    ids = ",".join(urn.encoded for urn in urns)
    return Request(
        "GET",
        f"/entitiesV2?ids=List({ids}){of_aspects('&', aspects)}",
        headers=(("X-RestLi-Method", "batch_get"),),
    )


def aspect_request(urn: Urn, name: str, version: int) -> Request:
    """Endpoint 8."""
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name, safe='')}&version={version}")
