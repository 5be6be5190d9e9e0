"""GraphQL operations."""

import re
from collections.abc import Mapping
from typing import Any

from explorer.client.requests.request import GRAPHQL_PATH, Request

__all__ = ["graphql_request", "is_graphql", "is_writing", "type_fields_request"]

# What may hold braces and words that mean nothing: block strings, strings, comments.
_TOKENS = re.compile(
    r'"""(?:\\"""|[^"]|"(?!""))*+(?:"""|$)|"(?:\\.|[^"\\\n])*+(?:"|$|(?=\n))|#[^\n\r]*'
    r"|[{}()\[\]]|[_A-Za-z][_0-9A-Za-z]*"
)
_FIELDS = "query fieldsOf($type: String!) { __type(name: $type) { fields { name } } }"


def graphql_request(
    query: str, variables: dict[str, Any], if_current: Mapping[str, Any] | None = None
) -> Request:
    """A GraphQL operation; what people wrote travels in `variables` only.

    `if_current` is the condition of an edit, for our service alone. It travels in `extensions`,
    which other servers ignore.
    """
    body: dict[str, Any] = {"query": query, "variables": variables}
    if if_current is not None:
        body["extensions"] = {"ifCurrent": if_current}
    writes = is_writing(query)
    return Request("POST", GRAPHQL_PATH, body, repeatable=_is_question(query), writes=writes)


def type_fields_request(type_name: str) -> Request:
    """Which fields a type of the server's schema has."""
    return graphql_request(_FIELDS, {"type": type_name})


def is_graphql(request: Request) -> bool:
    """Whether a request is a GraphQL operation, whose refusal comes as an answer of status 200."""
    return request.path == GRAPHQL_PATH


def is_writing(query: str) -> bool:
    """Whether a document holds a mutation or a subscription, however it is written."""
    return any(word in ("mutation", "subscription") for word in _operations(query))


def _is_question(query: str) -> bool:
    """Whether a document holds nothing but questions, and so may be sent twice."""
    words = _operations(query)
    return bool(words) and all(word in ("query", "fragment") for word in words)


def _operations(query: str) -> list[str]:
    """The word that each definition of a document begins with; `query` where it is left out."""
    found: list[str] = []
    depth = 0
    is_new = True
    for sign in _TOKENS.findall(query):
        if sign in ("{", "(", "["):
            if depth == 0 and is_new and sign == "{":
                found.append("query")
            depth += 1
            is_new = False
        elif sign in ("}", ")", "]"):
            depth = max(0, depth - 1)
            is_new = depth == 0 and sign == "}"
        elif depth == 0 and is_new and sign[0] not in '"#':
            found.append(sign)
            is_new = False
    return found
