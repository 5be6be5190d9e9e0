"""Requests and answers as records, the interface of transports and the retry policy; the exceptions
for error answers and missing answers, and the parsing of the outer shape of answers."""

import os
import random
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, ParamSpec, Protocol, TypeVar, runtime_checkable
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

import orjson

from explorer.client.display import line
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
    StorageFull,
    TimedOut,
    Unreachable,
    Unreadable,
)
from explorer.metadata.proposal import millis_of

_FARTHEST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Retry:
    """The retry policy: at most `tries` attempts, all within `total_seconds`.

    The pause between two attempts starts at `first_pause_seconds` and doubles; up to half of it is
    random, so that many clients do not retry at the same time. A longer pause requested by the
    server is respected; a request is not retried if its pause would exceed the remaining time.
    """

    tries: int = 5
    total_seconds: float = 30.0
    first_pause_seconds: float = 0.1

    def __post_init__(self) -> None:
        if self.tries < 1 or self.total_seconds <= 0 or self.first_pause_seconds < 0:
            raise InvalidInput(
                "a retry policy needs tries of at least 1, total_seconds above 0, and a "
                "first_pause_seconds that is not negative"
            )

    def pause_seconds(self, tried: int, least: float | None = None) -> float:
        """Return the pause after `tried` attempts; `least` is the pause requested by the server."""
        pause = self.first_pause_seconds * 2.0 ** (tried - 1)
        # Randomness spreads the load; it need not be secure.
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return pause if least is None else max(pause, least)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the header `Retry-After` requests, in seconds; `None` without one.

    The header has seconds or a date. A date in the past gives 0, anything beyond a day gives a day.
    """
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return min(float(text[:12]), _FARTHEST_SECONDS)
    # Imported here, because few servers send a date, and the parser is large.
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    seconds = (until - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _FARTHEST_SECONDS)


class Secret:
    """The value of an `Authorization` header, which is sent to the server and shown nowhere else.

    It does not appear in messages, logs, tracebacks with local variables, or pickles.
    """

    __slots__ = ("__header",)

    def __init__(self, header: str) -> None:
        self.__header = header

    @classmethod
    def of(cls, token: "str | Secret | None") -> "Secret | None":
        """Return an access token as a secret, stripped of white space; `None` if there is no
        token."""
        if isinstance(token, Secret):
            return token
        return cls(f"Bearer {token.strip()}") if token else None

    @property
    def mark(self) -> str:
        """A hash of the secret: equal for equal secrets, but does not reveal them."""
        # Imported here, because most catalogs have no secret, and the module takes half a megabyte.
        from hashlib import sha256

        return sha256(self.__header.encode(errors="surrogatepass")).hexdigest()

    def check(self) -> None:
        """Raise `InvalidInput` if a header cannot carry the secret. The message does not contain
        it."""
        _, _, secret = self.__header.partition(" ")
        if not secret or not all("!" <= char <= "~" for char in secret):
            raise InvalidInput(
                "invalid token: it is empty, or contains spaces, line ends or characters outside "
                "ASCII"
            )

    @property
    def header(self) -> str:
        """The text of the header. Do not bind it to a variable, because tracebacks show
        variables."""
        return self.__header

    def cut_from(self, body: bytes) -> bytes:
        """Return an answer's body with the secret replaced, in case the server repeats it."""
        _, _, secret = self.__header.partition(" ")
        return body.replace(secret.encode(), b"(the token)") if secret else body

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def part_login(address: str) -> tuple[str, Secret | None]:
    """Split an address: return it without its user name and password, and these as a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, None
    login, separator, host = parts.netloc.rpartition("@")
    if not separator:
        return address, None
    credentials = b64encode(unquote(login).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), Secret(f"Basic {credentials}")


GRAPHQL_PATH = "/api/graphql"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `path` is encoded and relative to the server's base address.

    `repeatable` is true if sending it twice has the same effect as sending it once; `writes` if it
    changes the catalog. `signature` is the authorization, which the connection adds.
    """

    method: str
    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    repeatable: bool = True
    writes: bool = False
    signature: Secret | None = field(default=None, repr=False, compare=False)


def action(
    path: str, name: str, body: dict[str, Any], *, repeatable: bool = True, writes: bool = False
) -> Request:
    """Return a request for a rest.li action: a POST whose parameters are one JSON object."""
    return Request("POST", f"{path}?action={name}", body, repeatable=repeatable, writes=writes)


def rest_list(names: Sequence[str]) -> str:
    """Return names as a rest.li list, `List(a,b)`, with each element encoded."""
    return f"List({','.join(quote(name, safe='') for name in names)})"


def of_aspects(mark: str, aspects: Sequence[str] | None) -> str:
    """Return the part of a query string that names aspects, after `mark`; empty for `None`."""
    return "" if aspects is None else f"{mark}aspects={rest_list(aspects)}"


def millis(moment: datetime) -> int:
    """Return a datetime in milliseconds since 1970 UTC. Raises `InvalidInput` without a time
    zone."""
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{moment} has no time zone; give an aware datetime, such as datetime.now(UTC)"
        )
    return millis_of(moment)


UNIX = "unix:"
_SECRET_NAMES = re.compile(r"(?i)token|secret|password|passwd|api_?key|signature|auth")
# Names exclude question marks, so that matching takes linear time.
_MEMBER = re.compile(r"([?&;])([^?=&;#]*+)=[^&;#]*")
_LOGIN = re.compile(r"(?<=//)[^/?#\s]*@")


def base_url(address: str) -> str:
    """Return the address that request paths are appended to, without a trailing slash.

    Raises `InvalidInput` if it is not the address of a server.
    """
    if not address.startswith(("http://", "https://")):
        raise InvalidInput(
            f"a server's address starts with http:// or https://, not {mask_url(address)!r}"
        )
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or " " in address:
        raise InvalidInput(
            f"{mask_url(address)!r} is not a server's address; one looks like http://host:8080"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"a server's address ends with its path; leave out what follows ? or # after "
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        )
    return address.rstrip("/")


def proxy_of(address: str) -> str | None:
    """Return the proxy that the environment names for an HTTP or HTTPS address, or `None`.

    It is read from `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`, in upper or lower case; hosts in
    `NO_PROXY` have none.
    """
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    parts = urlsplit(base_url(address))
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    place = parts.netloc.rpartition("@")[2]
    if not proxy or proxy_bypass(place) or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_local(address: str) -> bool:
    """Return whether requests to an address stay on this machine."""
    host = "" if address.startswith(UNIX) else urlsplit(address).hostname or ""
    try:
        return not host or ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def mask_url(url: str) -> str:
    """Return an address without user name, password, and secrets in its query, to be shown."""
    return _MEMBER.sub(_mask, _LOGIN.sub("", url))


def _mask(member: re.Match[str]) -> str:
    return f"{member[1]}{member[2]}=…" if _SECRET_NAMES.search(member[2]) else member[0]


# Block strings, strings and comments come first, so that braces and words in them are ignored.
_TOKENS = re.compile(
    r'"""(?:\\"""|[^"]|"(?!""))*+(?:"""|$)|"(?:\\.|[^"\\\n])*+(?:"|$|(?=\n))|#[^\n\r]*'
    r"|[{}()\[\]]|[_A-Za-z][_0-9A-Za-z]*"
)
_FIELDS = "query fieldsOf($type: String!) { __type(name: $type) { fields { name } } }"


def graphql_request(
    query: str,
    variables: dict[str, Any],
    if_current: Mapping[str, Any] | None = None,
    run: str = "",
) -> Request:
    """Return a request for a GraphQL operation. Text from people belongs in `variables` only.

    `if_current` is the condition of an edit, and `run` the name of the run that it is stored with.
    Only our service understands them; they are sent in `extensions`, which other servers ignore.
    """
    body: dict[str, Any] = {"query": query, "variables": variables}
    fields = {"ifCurrent": if_current, "run": run or None}
    if extensions := {name: value for name, value in fields.items() if value is not None}:
        body["extensions"] = extensions
    writes = is_writing(query)
    return Request("POST", GRAPHQL_PATH, body, repeatable=_is_query(query), writes=writes)


def type_fields_request(type_name: str) -> Request:
    """Return a request for the fields of a type in the server's GraphQL schema."""
    return graphql_request(_FIELDS, {"type": type_name})


def is_graphql(request: Request) -> bool:
    """Return whether a request is a GraphQL operation, whose errors come with status 200."""
    return request.path == GRAPHQL_PATH


def is_writing(query: str) -> bool:
    """Return whether a GraphQL document contains a mutation or a subscription."""
    return any(word in ("mutation", "subscription") for word in _operations(query))


def _is_query(query: str) -> bool:
    """Return whether a GraphQL document contains only queries, so that it may be sent twice."""
    words = _operations(query)
    return bool(words) and all(word in ("query", "fragment") for word in words)


def _operations(query: str) -> list[str]:
    """Return the keyword of each definition in a GraphQL document; `query` if it is omitted."""
    keywords: list[str] = []
    depth = 0
    is_new = True
    for sign in _TOKENS.findall(query):
        if sign in ("{", "(", "["):
            if depth == 0 and is_new and sign == "{":
                keywords.append("query")
            depth += 1
            is_new = False
        elif sign in ("}", ")", "]"):
            depth = max(0, depth - 1)
            is_new = depth == 0 and sign == "}"
        elif depth == 0 and is_new and sign[0] not in '"#':
            keywords.append(sign)
            is_new = False
    return keywords


_NONE: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    """A complete answer. The names of its headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = _NONE


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer in progress. `pieces` are chunks of its body as they arrive, of any size."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Transport(Protocol):
    """Sends requests to one server."""

    async def send(self, request: Request) -> Answer | tuple[int, bytes]:
        """Return the answer, or only its status and body. Raises `Unreachable` if no answer
        arrives."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A transport that can also stream."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[Streamed]:
        """Return the answer as it arrives; leaving the context closes it.

        Raises `Unreachable`, also while pieces are read.
        """
        ...


class NeverSent(Unreachable):
    """No connection was made, so the request was not sent, and any request may be retried."""


class StoppedListening(Unreachable):
    """The server no longer accepts connections, after an earlier attempt that may have taken
    effect."""


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
    507: StorageFull,
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


def error_of_answer(
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
    details: dict[str, Any] = {
        "status": status,
        "url": None if url is None else mask_url(url),
        "excerpt": words or None,
    }
    if 300 <= status < 400:
        return InvalidInput(_redirect_error(status, names.get("location"), url), **details)
    kind = _BY_STATUS.get(status, ServerFault if status >= 500 else InvalidInput)
    if status == 503 and parse_retry_after(names) is not None:
        kind = Busy
    if kind is NotSignedIn:
        return NotSignedIn(f"{_SIGN_IN} ({words})" if words else _SIGN_IN, **details)
    if kind is Busy:
        details["retry_after_seconds"] = parse_retry_after(names)
    resume_after = names.get("x-changes-after", "")
    if kind is Gone and resume_after.isascii() and resume_after.isdecimal():
        details["resume_after"] = int(resume_after[:18])
    return kind(_sentence(status, words, kind), **details)


def error_of_graphql(errors: Any, *, url: str | None = None) -> CatalogError:
    """Return the exception for the first error of a GraphQL answer, with its message and path."""
    listed = errors if isinstance(errors, list) else []
    first = next((error for error in listed if isinstance(error, dict)), {})
    extensions = first.get("extensions")
    details = extensions if isinstance(extensions, dict) else {}
    message = first.get("message")
    words = line(message if isinstance(message, str) else None, _EXCERPT)
    code = details.get("code")
    kind_named = details.get("type")
    if not isinstance(code, int) and isinstance(kind_named, str):
        code = _BY_TYPE.get(kind_named)
    kind: type[CatalogError] = InvalidInput
    if isinstance(code, int):
        kind = _BY_STATUS.get(code, ServerFault if code >= 500 else InvalidInput)
    sentence = words or "the server refused the operation and said no more"
    path = first.get("path")
    if isinstance(path, list) and path:
        sentence = f"{sentence} (at {line('.'.join(map(str, path)), 200)})"
    current = details.get("current")
    more = {"current": current} if kind is Conflict and isinstance(current, dict) else {}
    at = None if url is None else mask_url(url)
    return kind(sentence, status=200, url=at, excerpt=words or None, **more)


def unreadable(why: str, status: int, body: bytes, *, url: str) -> Unreadable:
    """Return the exception for a 2xx answer that does not have the requested form."""
    return Unreadable(
        f"{mask_url(url)} answered with {why}; is it the address of a catalog's metadata service?",
        status=status,
        url=mask_url(url),
        excerpt=_words_of(body) or None,
    )


def nobody_there(address: str, proxy: str | None = None, why: str = "") -> NeverSent:
    """Return the exception for a server, or a proxy, that accepts no connection."""
    if proxy is None:
        return NeverSent(f"no catalog answers at {mask_url(address)}; is it running?")
    words = f" ({line(why, _EXCERPT)})" if why else ""
    return NeverSent(
        f"no catalog answers at {mask_url(address)} through the proxy "
        f"{line(mask_url(proxy), _EXCERPT)}{words}; put the host in NO_PROXY to connect "
        "to it directly"
    )


def unusable_proxy(proxy: str, why: str) -> Misconfigured:
    """Return the exception for a proxy from the environment that cannot be used."""
    return Misconfigured(
        f"the proxy {line(mask_url(proxy), _EXCERPT)} set in the environment cannot be used "
        f"({line(mask_url(why), _EXCERPT)}); change HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or put "
        "the server's host in NO_PROXY"
    )


def too_slow(address: str) -> TimedOut:
    """Return the exception for an answer that did not arrive completely in time."""
    return TimedOut(f"{mask_url(address)} took too long to answer; try again")


def too_long(address: str, most_bytes: int) -> Unreadable:
    """Return the exception for an answer above the size limit."""
    return Unreadable(
        f"{mask_url(address)} answered with more than {most_bytes >> 20:,} MB; ask for less at once"
    )


def lost_connection(address: str, why: str) -> Unreachable:
    """Return the exception for an answer that broke off, or never began."""
    return Unreachable(
        f"{mask_url(address)} closed the connection ({line(why, _EXCERPT)}); try again"
    )


def _sentence(status: int, words: str, kind: type[CatalogError]) -> str:
    if status == 429:
        return f"the server is overloaded{_in_brackets(words)}; try again in a while"
    if kind is StorageFull:
        return words or "the storage of the server is full; free space there, then go on"
    if issubclass(kind, Unreachable):
        # Many servers already say when to try again.
        hint = "" if "try again" in words else "; try again"
        return f"the server cannot answer now{_in_brackets(words or str(status))}{hint}"
    return words or f"the server answered {status} and said no more"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _redirect_error(status: int, location: str | None, url: str | None) -> str:
    if not location:
        return f"the server answered {status}, a redirect, without an address"
    # A location that is not a URL is shown unchanged.
    with suppress(ValueError):
        location = urljoin(url or "", location)
    where = line(mask_url(location), _EXCERPT)
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
    """Return a text as one line; for a web page its title, or else its first words."""
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

    def wrap(parse: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(parse)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return parse(*args, **kwargs)
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

    return wrap


def value_of(body: Any, what: str) -> Json:
    """Return the object under `value` in the answer to a rest.li action."""
    return as_object(as_object(body, what).get("value"), what)


def as_object(body: Any, what: str) -> Json:
    """Return a JSON object. Raises `Unreadable`, naming `what`, for anything else."""
    if not isinstance(body, dict):
        raise Unreadable(f"the server's answer to {what} does not have the expected shape")
    return body
