"""GraphQL operations."""

from typing import Any

from explorer.client.requests.request import Request

__all__ = ["graphql"]


def graphql(query: str, variables: dict[str, Any]) -> Request:
    """A GraphQL operation; what people wrote travels in `variables` only."""
    body = {"query": query, "variables": variables}
    return Request("POST", "/api/graphql", body, repeatable=False)
