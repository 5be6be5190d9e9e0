"""Errors on the wire: which status an error has, and the one shape every failed answer has.

A caller's mistake is never answered with 5xx, for real clients send such a request again.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidAspect,
    InvalidInput,
    NotFound,
    NotSignedIn,
    Unreachable,
    Unusable,
)

__all__ = ["RequestRefusal", "error_body", "kind_of", "status_of"]

_EXCEPTION_CLASS = "com.linkedin.restli.server.RestLiServiceException"
_KINDS = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "UNAUTHORIZED",
    404: "NOT_FOUND",
    409: "CONFLICT",
    422: "BAD_REQUEST",
    429: "TOO_MANY_REQUESTS",
    503: "SERVICE_UNAVAILABLE",
}


class RequestRefusal(CatalogError):
    """A request refused with a status of its own; `headers` go out with the answer."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status: int = status
        self.headers: Mapping[str, str] = headers or {}


def status_of(error: CatalogError) -> int:
    """The HTTP status of an error; 500 only for what is no caller's doing."""
    match error:
        case RequestRefusal():
            return error.status
        case InvalidAspect() | Conflict():
            return 422
        case InvalidInput():
            return 400
        case NotFound():
            return 404
        case NotSignedIn():
            return 401
        case Forbidden():
            return 403
        case Unreachable() | Unusable():
            return 503
        case _:
            return 500


def kind_of(status: int) -> str:
    """The word GraphQL clients know a status by."""
    return _KINDS.get(status, "SERVER_ERROR")


def error_body(status: int, message: str) -> bytes:
    """The body of a failed answer; it never holds a trace."""
    shape: dict[str, Any] = {
        "exceptionClass": _EXCEPTION_CLASS,
        "message": message,
        "status": status,
        "stackTrace": "",
    }
    return orjson.dumps(shape)
