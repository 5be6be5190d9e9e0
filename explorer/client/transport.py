"""Requests and answers as records, the interface of transports, and the retry policy."""

import random
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol, runtime_checkable
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from explorer.errors import InvalidInput, Unreachable

__all__ = [
    "GRAPHQL_PATH",
    "UNIX",
    "Answer",
    "NeverSent",
    "Request",
    "Retry",
    "Secret",
    "Streamed",
    "Streaming",
    "Transport",
    "action",
    "base_url",
    "graphql_request",
    "is_graphql",
    "is_local",
    "millis",
    "of_aspects",
    "parse_retry_after",
    "part_login",
    "shown",
    "type_fields_request",
]

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
    left = (until - datetime.now(UTC)).total_seconds()
    return min(max(left, 0.0), _FARTHEST_SECONDS)


class Secret:
    """The value of an `Authorization` header, which is sent to the server and shown nowhere else.

    It does not appear in messages, logs, tracebacks with local variables, or pickles.
    """

    __slots__ = ("__header",)

    def __init__(self, header: str) -> None:
        self.__header = header

    @classmethod
    def of(cls, token: "str | Secret | None") -> "Secret | None":
        """Return an access token as a secret, stripped of white space; `None` for no token."""
        if isinstance(token, Secret):
            return token
        return cls(f"Bearer {token.strip()}") if token else None

    @property
    def mark(self) -> str:
        """A hash of the secret: equal for equal secrets, without revealing them."""
        # Imported here, because most catalogs have no secret, and the module takes half a megabyte.
        from hashlib import sha256

        return sha256(self.__header.encode(errors="surrogatepass")).hexdigest()

    def check(self) -> None:
        """Raise `InvalidInput` if a header cannot carry the secret. The message does not contain
        it."""
        _, _, shown = self.__header.partition(" ")
        if not shown or not all("!" <= char <= "~" for char in shown):
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
        _, _, shown = self.__header.partition(" ")
        return body.replace(shown.encode(), b"(the token)") if shown else body

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def part_login(address: str) -> tuple[str, Secret | None]:
    """Return an address without its user name and password, and these as a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, None
    login, found, host = parts.netloc.rpartition("@")
    if not found:
        return address, None
    shown = b64encode(unquote(login).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), Secret(f"Basic {shown}")


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


def listed(names: Sequence[str]) -> str:
    """Return names as a rest.li list, `List(a,b)`, with each element encoded."""
    return f"List({','.join(quote(name, safe='') for name in names)})"


def of_aspects(mark: str, aspects: Sequence[str] | None) -> str:
    """Return the part of a query string that names aspects, after `mark`; empty for `None`."""
    return "" if aspects is None else f"{mark}aspects={listed(aspects)}"


def millis(moment: datetime) -> int:
    """Return a datetime in milliseconds since 1970 UTC. Raises `InvalidInput` without a time
    zone."""
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{moment} has no time zone; give an aware datetime, such as datetime.now(UTC)"
        )
    return round(moment.timestamp() * 1000)


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
            f"a server's address starts with http:// or https://, not {shown(address)!r}"
        )
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or " " in address:
        raise InvalidInput(
            f"{shown(address)!r} is not a server's address; one looks like http://host:8080"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"a server's address ends with its path; leave out what follows ? or # after "
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        )
    return address.rstrip("/")


def is_local(address: str) -> bool:
    """Return whether requests to an address stay on this machine."""
    host = "" if address.startswith(UNIX) else urlsplit(address).hostname or ""
    try:
        return not host or ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def shown(url: str) -> str:
    """Return an address without user name, password, and secrets in its query, to be shown."""
    return _MEMBER.sub(_masked, _LOGIN.sub("", url))


def _masked(member: re.Match[str]) -> str:
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
    known = {"ifCurrent": if_current, "run": run or None}
    if extensions := {name: value for name, value in known.items() if value is not None}:
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
        """Return the answer, or only its status and body. Raises `Unreachable` if there is none."""
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
