"""Parsing the outer shape of answers, and mapping error answers and missing answers to
exceptions."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urljoin

import orjson

from explorer.client.display import line
from explorer.client.transport import NeverSent, parse_retry_after, shown
from explorer.errors import (
    Busy,
    CatalogError,
    Conflict,
    Forbidden,
    Gone,
    InvalidInput,
    InvalidUrn,
    Misconfigured,
    NotFound,
    NotSignedIn,
    ServerFault,
    TimedOut,
    Unreachable,
    Unreadable,
)

__all__ = [
    "REFUSALS",
    "Json",
    "as_object",
    "from_answer",
    "from_graphql",
    "hung_up",
    "nobody_there",
    "read_as",
    "too_long",
    "too_slow",
    "unreadable",
    "unusable_proxy",
    "value_of",
]

_BY_STATUS: dict[int, type[CatalogError]] = {
    400: InvalidInput,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    405: InvalidInput,
    409: Conflict,
    410: Gone,
    412: Conflict,
    413: InvalidInput,
    415: InvalidInput,
    422: InvalidInput,
    429: Busy,
    502: Unreachable,
    503: Unreachable,
    504: TimedOut,
}
REFUSALS = (InvalidInput, NotFound, ServerFault)
"""The errors with which servers refuse calls, or parts of calls, that they do not support."""
# The HTTP status for GraphQL errors that have a type but no status.
_BY_TYPE = {
    "BAD_REQUEST": 400,
    "UNAUTHORIZED": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "SERVER_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_SIGN_IN = "the server wants an access token; set CATALOG_TOKEN to one that is still valid"
_EXCERPT = 300
_TITLE = re.compile(r"(?is)<title[^>]*>(.*?)</title")
_UNSEEN = re.compile(r"(?is)<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>")
_PAGE = re.compile(r"(?i)<(!doctype html|html|head|body|title)\b")
# The patterns above take quadratic time on text that is not a web page.
_MAX_PAGE = 5_000


def from_answer(
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    url: str | None = None,
) -> CatalogError:
    """Return the exception for an answer outside 2xx, with the server's own message if it has
    one."""
    words = _words_of(body)
    names = headers or {}
    known: dict[str, Any] = {
        "status": status,
        "url": None if url is None else shown(url),
        "excerpt": words or None,
    }
    if 300 <= status < 400:
        return InvalidInput(_moved(status, names.get("location"), url), **known)
    kind = _BY_STATUS.get(status, ServerFault if status >= 500 else InvalidInput)
    if status == 503 and parse_retry_after(names) is not None:
        kind = Busy
    if kind is NotSignedIn:
        return NotSignedIn(f"{_SIGN_IN} ({words})" if words else _SIGN_IN, **known)
    if kind is Busy:
        known["retry_after_seconds"] = parse_retry_after(names)
    resume_after = names.get("x-changes-after", "")
    if kind is Gone and resume_after.isascii() and resume_after.isdecimal():
        known["resume_after"] = int(resume_after[:18])
    return kind(_sentence(status, words, kind), **known)


def from_graphql(errors: Any, *, url: str | None = None) -> CatalogError:
    """Return the exception for the first error of a GraphQL answer, with its message and path."""
    listed = errors if isinstance(errors, list) else []
    first = next((one for one in listed if isinstance(one, dict)), {})
    extensions = first.get("extensions")
    known = extensions if isinstance(extensions, dict) else {}
    message = first.get("message")
    words = line(message if isinstance(message, str) else None, _EXCERPT)
    code = known.get("code")
    kind_named = known.get("type")
    if not isinstance(code, int) and isinstance(kind_named, str):
        code = _BY_TYPE.get(kind_named)
    kind: type[CatalogError] = InvalidInput
    if isinstance(code, int):
        kind = _BY_STATUS.get(code, ServerFault if code >= 500 else InvalidInput)
    sentence = words or "the server refused the operation and said no more"
    path = first.get("path")
    if isinstance(path, list) and path:
        sentence = f"{sentence} (at {line('.'.join(map(str, path)), 200)})"
    current = known.get("current")
    more = {"current": current} if kind is Conflict and isinstance(current, dict) else {}
    at = None if url is None else shown(url)
    return kind(sentence, status=200, url=at, excerpt=words or None, **more)


def unreadable(why: str, status: int, body: bytes, *, url: str) -> Unreadable:
    """Return the exception for a 2xx answer that is not what was requested."""
    return Unreadable(
        f"{shown(url)} answered with {why}; is it the address of a catalog's metadata service?",
        status=status,
        url=shown(url),
        excerpt=_words_of(body) or None,
    )


def nobody_there(address: str, proxy: str | None = None, why: str = "") -> NeverSent:
    """Return the exception for a server, or a proxy, that accepts no connection."""
    if proxy is None:
        return NeverSent(f"no catalog answers at {shown(address)}; is it running?")
    words = f" ({line(why, _EXCERPT)})" if why else ""
    return NeverSent(
        f"no catalog answers at {shown(address)} through the proxy {line(shown(proxy), _EXCERPT)}"
        f"{words}; put the host in NO_PROXY to connect to it directly"
    )


def unusable_proxy(proxy: str, why: str) -> Misconfigured:
    """Return the exception for a proxy from the environment that cannot be used."""
    return Misconfigured(
        f"the proxy {line(shown(proxy), _EXCERPT)} set in the environment cannot be used "
        f"({line(shown(why), _EXCERPT)}); change HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or put the "
        "server's host in NO_PROXY"
    )


def too_slow(address: str) -> TimedOut:
    """Return the exception for an answer that did not arrive completely in time."""
    return TimedOut(f"{shown(address)} took too long to answer; try again")


def too_long(address: str, most_bytes: int) -> Unreadable:
    """Return the exception for an answer above the size limit."""
    return Unreadable(
        f"{shown(address)} answered with more than {most_bytes >> 20:,} MB; ask for less at once"
    )


def hung_up(address: str, why: str) -> Unreachable:
    """Return the exception for an answer that broke off, or never began."""
    return Unreachable(f"{shown(address)} closed the connection ({line(why, _EXCERPT)}); try again")


def _sentence(status: int, words: str, kind: type[CatalogError]) -> str:
    if status == 429:
        return f"the server is overloaded{_in_brackets(words)}; try again in a while"
    if issubclass(kind, Unreachable):
        # Many servers say themselves when to try again.
        hint = "" if "try again" in words else "; try again"
        return f"the server cannot answer now{_in_brackets(words or str(status))}{hint}"
    return words or f"the server answered {status} and said no more"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _moved(status: int, location: str | None, url: str | None) -> str:
    if not location:
        return f"the server answered {status}, a redirect, without an address"
    # A location that is not a URL is shown unchanged.
    with suppress(ValueError):
        location = urljoin(url or "", location)
    where = line(shown(location), _EXCERPT)
    return (
        f"redirects are not followed: the server points to {where}; if that is the catalog, give "
        "its address instead"
    )


def _words_of(body: bytes) -> str:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _words_of_text(body[:_MAX_PAGE].decode(errors="replace"))
    match answer:
        case {"message": str(message)} | {"error": str(message)} | str(message):
            return line(message)
        case {"errors": [{"message": str(message)}, *_]}:
            return line(message)
        case _:
            return ""


def _words_of_text(text: str) -> str:
    """Return a text as one line; of a web page its title, or else its first words."""
    if not _PAGE.search(text):
        return line(text, _EXCERPT)
    from html import unescape

    title = _TITLE.search(text)
    words = line(unescape(title[1]), _EXCERPT) if title else ""
    return words or line(unescape(_UNSEEN.sub(" ", text)), _EXCERPT)


Json = dict[str, Any]

_P = ParamSpec("_P")
_T = TypeVar("_T")


def read_as(what: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Return a decorator for parsers of answers, which raise `Unreadable` for any unexpected shape.

    The message names `what` was parsed.
    """

    def made(read: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(read)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return read(*args, **kwargs)
            except InvalidUrn as error:
                raise Unreadable(
                    f"the server's answer to {what} has an invalid URN: {error}"
                ) from error
            except CatalogError:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise Unreadable(
                    f"the server's answer to {what} does not have the expected shape"
                ) from error

        return call

    return made


def value_of(body: Any, what: str) -> Json:
    """Return the object under `value` in the answer to a rest.li action."""
    return as_object(as_object(body, what).get("value"), what)


def as_object(body: Any, what: str) -> Json:
    """Return a JSON object. Raises `Unreadable`, naming `what`, for anything else."""
    if not isinstance(body, dict):
        raise Unreadable(f"the server's answer to {what} does not have the expected shape")
    return body
