"""Errors on the wire: the HTTP status of each error, the body that all error responses share, and
the messages for requests that have to wait for background work.

A mistake of the caller is never answered with 5xx, because clients retry after such a status.
"""

import errno
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from explorer.errors import (
    Busy,
    CatalogError,
    Conflict,
    Forbidden,
    InvalidAspect,
    InvalidInput,
    NotFound,
    NotSignedIn,
    StorageFull,
    Unreachable,
    Unusable,
)
from explorer.files import is_full

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
    507: "SERVICE_UNAVAILABLE",
}
# Errors of the system that may pass: of the disk, of memory, or of the number of open files.
_REFUSED = (
    errno.EIO,
    errno.EROFS,
    errno.ESTALE,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
)
_RETRY_SECONDS = 5.0


class RequestRefusal(CatalogError):
    """A request refused with a given HTTP status. `headers` are added to the response."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status: int = status
        self.headers: Mapping[str, str] = headers or {}


def status_of(error: CatalogError) -> int:
    """Return the HTTP status of an error.

    507 if storage is full, which clients do not retry; 503 if something else that the service needs
    cannot be used at the moment; 500 only for a fault of the service itself.
    """
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
            return 507 if is_full(error) else 503
        case _:
            return 500


def as_catalog_error(error: Exception) -> CatalogError:
    """Return the error that is reported to the caller of a request that raised an exception."""
    if isinstance(error, CatalogError):
        return error
    if is_full(error):
        return StorageFull("the disk of the service is full; make room there")
    if isinstance(error, OSError) and error.errno in _REFUSED:
        return Busy(
            f"the service cannot use its files: {error.strerror}; try again in a moment",
            retry_after_seconds=_RETRY_SECONDS,
        )
    return RequestRefusal(500, "internal server error; see the log of the server")


def restate(error: CatalogError, message: str) -> RequestRefusal:
    """Return a refusal with another message, but the status and headers of the given error."""
    return RequestRefusal(status_of(error), message, headers_of(error))


def headers_of(error: CatalogError) -> Mapping[str, str]:
    """Return the headers of the answer to a request that failed with an error."""
    if isinstance(error, RequestRefusal):
        return error.headers
    if isinstance(error, Busy) and error.retry_after_seconds is not None:
        return {"retry-after": f"{error.retry_after_seconds:.0f}"}
    return {}


def kind_of(status: int) -> str:
    """Return the error type that GraphQL clients expect for a status."""
    return _KINDS.get(status, "SERVER_ERROR")


def error_body(status: int, message: str) -> bytes:
    """Return the body of an error response. It never contains a stack trace."""
    shape: dict[str, Any] = {
        "exceptionClass": _EXCEPTION_CLASS,
        "message": message,
        "status": status,
        "stackTrace": "",
    }
    return orjson.dumps(shape)


def with_article(noun: str) -> str:
    """Return a noun with `a` or `an` before it, for messages about types of entities."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


@dataclass(slots=True)
class Progress:
    """The progress of work on `total` items, named by `unit`: `done` are done, of which `before`
    were done before the work began here.

    `remainder` describes, as a clause, the work that is left once all are done; empty if none is.
    """

    unit: str
    total: int
    done: int = 0
    remainder: str = ""
    before: int = field(init=False)
    began: float = field(init=False, default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.before = self.done

    @property
    def left_seconds(self) -> float:
        """The time until all are done, at the rate so far; 0 if it is not known."""
        counted = self.done - self.before
        if self.remainder or not counted:
            return 0.0
        return (time.monotonic() - self.began) / counted * max(0, self.total - self.done)

    def words(self) -> str:
        """Return in words how far the work is, and when to try again."""
        seconds = self.left_seconds
        again = "soon" if seconds < 60 else f"in about {math.ceil(seconds / 60)} minutes"
        if self.remainder:
            return f"all {self.done:,} {self.unit} were read, {self.remainder}; try again {again}"
        total = max(self.total, self.done)
        return f"{self.done:,} of {total:,} {self.unit}; try again {again}"
