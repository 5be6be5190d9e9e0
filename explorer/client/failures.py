"""A server's refusal as the error that says what to do about it."""

from typing import Any

import orjson

from explorer.client.display import line
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    NotSignedIn,
    ServerFault,
    Unreachable,
)

__all__ = ["from_answer", "from_graphql"]

_BY_STATUS: dict[int, type[CatalogError]] = {
    400: InvalidInput,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    405: InvalidInput,
    409: Conflict,
    412: Conflict,
    413: InvalidInput,
    415: InvalidInput,
    422: InvalidInput,
    429: Unreachable,
    502: Unreachable,
    503: Unreachable,
    504: Unreachable,
}
_SIGN_IN = "the server wants an access token; set CATALOG_TOKEN to one that is still valid"


def from_answer(status: int, body: bytes) -> CatalogError:
    """The error for an answer outside 2xx, in the server's own words where it has any."""
    said = _words_of(body)
    if status == 401:
        return NotSignedIn(f"{_SIGN_IN} ({said})" if said else _SIGN_IN)
    kind = _BY_STATUS.get(status, ServerFault if status >= 500 else InvalidInput)
    return kind(said or f"the server answered {status} and said no more")


def from_graphql(errors: Any) -> CatalogError:
    """The error for the first of a GraphQL answer's errors."""
    first = errors[0] if isinstance(errors, list) and errors else {}
    extensions = first.get("extensions") or {}
    message = line(first.get("message")) or "the server refused and said no more"
    match extensions.get("code"):
        case int(code) if code in _BY_STATUS:
            # GraphQL servers say 403 where nobody is signed in.
            return _BY_STATUS[code](message)
        case int(code) if code >= 500:
            return ServerFault(message)
        case _:
            return InvalidInput(message)


def _words_of(body: bytes) -> str:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        text = body.decode(errors="replace")
        return "" if "<html" in text.lower() else line(text, 300)
    match answer:
        case {"message": str(message)}:
            return line(message)
        case {"error": str(message)}:
            return line(message)
        case _:
            return ""
