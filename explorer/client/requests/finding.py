"""Search, completion and browsing."""

from typing import Any

from explorer.client.requests.request import Request, action
from explorer.metadata.filters import Filter

__all__ = ["autocomplete", "browse", "search"]


def search(text: str, entity: str | None, start: int, count: int, narrowed_by: Filter) -> Request:
    """Endpoint 6, or its twin over all entity types when none is named."""
    body: dict[str, Any] = {"input": text or "*", "start": start, "count": count}
    if entity:
        body["entity"] = entity
    if narrowed_by:
        body["filter"] = narrowed_by.to_wire()
    return action("/entities", "search" if entity else "searchAcrossEntities", body)


def autocomplete(text: str, entity: str, limit: int, narrowed_by: Filter) -> Request:
    """Endpoint 7."""
    body: dict[str, Any] = {"query": text, "entity": entity, "limit": limit}
    if narrowed_by:
        body["filter"] = narrowed_by.to_wire()
    return action("/entities", "autocomplete", body)


def browse(path: str, entity: str, start: int, limit: int) -> Request:
    """Endpoint 5."""
    body = {"path": path, "entity": entity, "start": start, "limit": limit}
    return action("/entities", "browse", body)
