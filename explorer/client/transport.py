"""Requests and answers as values, the transport that carries them, and the retry policy."""

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
    "asked_pause_seconds",
    "base_url",
    "graphql_request",
    "is_graphql",
    "is_local",
    "millis",
    "of_aspects",
    "part_login",
    "shown",
    "type_fields_request",
]

_FARTHEST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Retry:
    """A request is sent `tries` times at most, and never after `total_seconds`.

    The pause between two tries begins at `first_pause_seconds` and doubles; up to half of it is
    left to chance, so that many clients do not come back at once. A server that names a pause is
    given that one, or is not asked again when it is longer than what is left.
    """

    tries: int = 5
    total_seconds: float = 30.0
    first_pause_seconds: float = 0.1

    def __post_init__(self) -> None:
        if self.tries < 1 or self.total_seconds <= 0 or self.first_pause_seconds < 0:
            raise InvalidInput(
                "a retry policy has at least one try, a total above 0 seconds and no negative pause"
            )

    def pause_seconds(self, tried: int, asked: float | None = None) -> float:
        """How long to wait after `tried` tries; `asked` is what the server wants at least."""
        pause = self.first_pause_seconds * 2.0 ** (tried - 1)
        # Chance, not secrecy.
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return pause if asked is None else max(pause, asked)


def asked_pause_seconds(headers: Mapping[str, str]) -> float | None:
    """What `Retry-After` asks for, in seconds or until a date; None where it says nothing.

    A date that has passed is 0, anything beyond a day is a day.
    """
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return min(float(text[:12]), _FARTHEST_SECONDS)
    # Hardly any server names a date, and what reads one is large.
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
    """What is shown to a server in its `Authorization` header, and to nobody else.

    It has no text of its own in a message, a log, a traceback with its locals or a pickle.
    """

    __slots__ = ("__header",)

    def __init__(self, header: str) -> None:
        self.__header = header

    @classmethod
    def of(cls, token: "str | Secret | None") -> "Secret | None":
        """An access token, without the spaces and line ends around it; nothing for none."""
        if isinstance(token, Secret):
            return token
        return cls(f"Bearer {token.strip()}") if token else None

    @property
    def mark(self) -> str:
        """A text that is equal for equal secrets, and tells nothing of them."""
        # Most catalogs have no secret, and the cryptography is half a megabyte.
        from hashlib import sha256

        return sha256(self.__header.encode(errors="surrogatepass")).hexdigest()

    def check(self) -> None:
        """Raises `InvalidInput`, which does not say what it was, for what no header can carry."""
        _, _, shown = self.__header.partition(" ")
        if not shown or not all("!" <= char <= "~" for char in shown):
            raise InvalidInput(
                "the token given is no token: it is empty, or holds spaces, line ends or letters "
                "outside ASCII"
            )

    @property
    def header(self) -> str:
        """The header's text; not to be kept in a variable."""
        return self.__header

    def cut_from(self, body: bytes) -> bytes:
        """What a server said, without the secret where it is repeated."""
        _, _, shown = self.__header.partition(" ")
        return body.replace(shown.encode(), b"(the token)") if shown else body

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def part_login(address: str) -> tuple[str, Secret | None]:
    """An address without the name and password in it, and these as what a server is shown."""
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
    """One HTTP request. `path` is already encoded and relative to the server's base address.

    `repeatable` says that sending it twice does what sending it once does; `writes` that it
    changes what the catalog holds. `signature` is what the server is shown of who asks; whoever
    sends the request puts it on.
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
    """A rest.li action: a POST whose parameters are one JSON object."""
    return Request("POST", f"{path}?action={name}", body, repeatable=repeatable, writes=writes)


def listed(names: Sequence[str]) -> str:
    """`List(a,b)`, every element encoded once."""
    return f"List({','.join(quote(name, safe='') for name in names)})"


def of_aspects(mark: str, aspects: Sequence[str] | None) -> str:
    """The query part that names aspects after `mark`; empty where none are named."""
    return "" if aspects is None else f"{mark}aspects={listed(aspects)}"


def millis(moment: datetime) -> int:
    """Milliseconds since 1970 UTC; raises `InvalidInput` for a datetime without a zone."""
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{moment} has no time zone; give an aware datetime, such as datetime.now(UTC)"
        )
    return round(moment.timestamp() * 1000)


UNIX = "unix:"
_TELLING = re.compile(r"(?i)token|secret|password|passwd|api_?key|signature|auth")
# Names hold no question mark, so that no part of a text is gone through more than once.
_MEMBER = re.compile(r"([?&;])([^?=&;#]*+)=[^&;#]*")
_LOGIN = re.compile(r"(?<=//)[^/?#\s]*@")


def base_url(address: str) -> str:
    """What the paths of requests follow: the address without a slash at its end.

    Raises `InvalidInput` for what is no address of a server.
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
            f"{shown(address)!r} is no server's address; it looks like http://host:8080"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"a server's address ends with its path; leave out what follows ? or # after "
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        )
    return address.rstrip("/")


def is_local(address: str) -> bool:
    """Whether what is sent to an address stays on this machine."""
    host = "" if address.startswith(UNIX) else urlsplit(address).hostname or ""
    try:
        return not host or ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def shown(url: str) -> str:
    """An address fit to be shown: no name, no password, no token in its query."""
    return _MEMBER.sub(_untold, _LOGIN.sub("", url))


def _untold(member: re.Match[str]) -> str:
    return f"{member[1]}{member[2]}=…" if _TELLING.search(member[2]) else member[0]


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


_NONE: Mapping[str, str] = MappingProxyType({})


class Answer(NamedTuple):
    """A whole answer. The names of its headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = _NONE


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that is still coming: its pieces as they come, cut anywhere."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Transport(Protocol):
    """What carries a request to a server."""

    async def send(self, request: Request) -> Answer | tuple[int, bytes]:
        """The answer, or no more than its status and body; raises `Unreachable` where none came."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """What a transport may be able to do beside."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[Streamed]:
        """The answer as it comes; leaving the context hangs up. Raises `Unreachable`, also in the
        middle."""
        ...


class NeverSent(Unreachable):
    """Nobody listens there: the request never left, so any request may be tried again."""
