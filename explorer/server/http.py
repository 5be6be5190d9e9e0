"""A request as a handler sees it, its address, the answer, and the table of endpoints.

Every part of an address is decoded exactly once, after it was cut out:

/entitiesV2/urn%3Ali%3Adataset%3A%28…%2Fx%29      the slash inside the URN splits no path
?aspects=List(a,b)&types=OwnedBy&types=Contains   lists, and parameters that repeat
"""

import itertools
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from time import perf_counter
from typing import Any, Literal
from urllib.parse import quote, unquote_plus, unquote_to_bytes

import orjson
from msgspec import Struct

from explorer.errors import InvalidInput
from explorer.server.authentication import Access, Role
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal

__all__ = [
    "MAX_PAGE",
    "REQUEST_ID",
    "Call",
    "Endpoint",
    "Endpoints",
    "HttpAnswer",
    "Parameter",
    "Parameters",
    "QueryParameters",
    "Receive",
    "RequestContext",
    "Scope",
    "Send",
    "Stream",
    "content_length",
    "decode",
    "parameter",
    "raw_path",
    "split_list",
]


def raw_path(path: bytes | None, decoded: str) -> str:
    """The path as it was sent; `decoded` stands in where a server does not give it."""
    if path is None:
        return quote(decoded)
    return path.partition(b"?")[0].decode("latin-1")


def decode(part: str) -> str:
    """A path segment or list element, decoded once; a plus stays a plus."""
    # The server hands bytes on as Latin-1; callers who do not encode send UTF-8.
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{part[:80]!r} is not UTF-8 once it is decoded") from None


class QueryParameters:
    """The parameters of an address, decoded when they are asked for."""

    __slots__ = ("_raw",)

    def __init__(self, query: bytes) -> None:
        self._raw: dict[str, list[str]] = {}
        for pair in query.decode("latin-1").split("&") if query else ():
            key, _, value = pair.partition("=")
            self._raw.setdefault(unquote_plus(key), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def one(self, name: str) -> str | None:
        """The first value of a parameter."""
        values = self._raw.get(name)
        return decode(values[0].replace("+", " ")) if values else None

    def required(self, name: str) -> str:
        """The first value of a parameter; raises `InvalidInput` when it is missing or empty."""
        value = self.one(name)
        if not value:
            raise InvalidInput(f"the query parameter {name!r} is required")
        return value

    def many(self, name: str) -> list[str] | None:
        """Every value of a parameter: repeated, or the elements of `List(…)`."""
        values = self._raw.get(name)
        if values is None:
            return None
        found: list[str] = []
        for raw in values:
            if raw.startswith("List("):
                found.extend(decode(element) for element in split_list(raw))
                continue
            value = decode(raw.replace("+", " "))
            found.extend(split_list(value) if value.startswith("List(") else [value])
        return found


def split_list(text: str) -> list[str]:
    """The elements of `List(a,b)`, still encoded: cut at the commas outside inner parentheses.

    White space around an element is dropped. Raises `InvalidInput` when the list is not closed.
    """
    elements: list[str] = []
    depth = 0
    begin = len("List(")
    for at in range(begin, len(text)):
        char = text[at]
        if char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                if at != len(text) - 1:
                    raise InvalidInput(f"nothing may follow the ')' that closes {text[:80]!r}")
                elements.append(text[begin:at])
                break
            depth -= 1
        elif char == "," and depth == 0:
            elements.append(text[begin:at])
            begin = at + 1
    else:
        raise InvalidInput(f"List( is not closed with ')' in {text[:80]!r}")
    stripped = [_strip(element) for element in elements]
    return [] if stripped == [""] else stripped


def _strip(element: str) -> str:
    element = element.strip()
    while element.startswith(("+", "%20")):
        element = element[1:] if element[0] == "+" else element[3:]
    while element.endswith(("+", "%20")):
        element = element[:-1] if element[-1] == "+" else element[:-3]
    return element


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 16 * 1024 * 1024
# A body that is somewhat too large is read and dropped, so that its sender gets to the answer.
_MAX_DRAIN_BYTES = 4 * MAX_BODY_BYTES
_MAX_LENGTH_DIGITS = 20
MAX_PAGE = 10_000
DEFAULT_PAGE = 10

_JSON = b"application/json"


class HttpAnswer:
    """A complete answer; `body` is JSON unless `media_type` says otherwise."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self,
        body: bytes = b"",
        status: int = 200,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        media_type: bytes = _JSON,
    ) -> None:
        self.body = body
        self.status = status
        self.headers = headers
        self.media_type = media_type

    @classmethod
    def of(cls, value: Any) -> "HttpAnswer":
        """The value as JSON."""
        return cls(orjson.dumps(value))

    async def send(self, send: Send) -> None:
        """Put the answer on the wire."""
        length = (b"content-length", str(len(self.body)).encode())
        await send(
            {
                "type": "http.response.start",
                "status": self.status,
                "headers": [(b"content-type", self.media_type), length, *self.headers],
            }
        )
        await send({"type": "http.response.body", "body": self.body})


class Stream(HttpAnswer):
    """An answer that is sent piece by piece, each as soon as it is there."""

    __slots__ = ("pieces",)

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        media_type: bytes,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        self.pieces = pieces

    async def send(self, send: Send) -> None:
        """Put the pieces on the wire until there are no more, or nobody listens."""
        headers = [(b"content-type", self.media_type), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        async for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Call:
    """One request: `rest` is what follows the resource in its path, still encoded.

    `access` says who asks and what they may do; `is_admitted` whether they still may come in, for
    answers that go on for long. `dialect` is how it is answered, and how strictly what it sends is
    taken.
    """

    __slots__ = (
        "_query",
        "_receive",
        "access",
        "dialect",
        "is_admitted",
        "method",
        "path",
        "rest",
        "scope",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        path: str,
        rest: str,
        access: Access,
        is_admitted: Callable[[], bool],
        dialect: Dialect = "plain",
    ) -> None:
        self.scope = scope
        self.access = access
        self.is_admitted = is_admitted
        self.dialect = dialect
        # A probe asks what a reader would get; the server keeps the body back.
        self.method: str = "GET" if scope["method"] == "HEAD" else scope["method"]
        self.path = path
        self.rest = rest
        self._receive = receive
        self._query: QueryParameters | None = None

    @property
    def actor(self) -> str | None:
        """The URN of whoever the request's token belongs to; None when it carries none."""
        return self.access.actor

    @property
    def query(self) -> QueryParameters:
        """The parameters of the address."""
        if self._query is None:
            self._query = QueryParameters(self.scope["query_string"])
        return self._query

    @property
    def key(self) -> str:
        """What follows the resource in the path, decoded once: a URN."""
        return decode(self.rest)

    def header(self, name: bytes) -> str | None:
        """A header's value by its lower-case name."""
        for key, value in self.scope["headers"]:
            if key == name:
                text: str = value.decode("latin-1")
                return text
        return None

    async def body(self) -> bytes:
        """The whole body; raises `Refusal` when it is too large."""
        if content_length(dict(self.scope["headers"])) > _MAX_DRAIN_BYTES:
            raise _too_large()
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise InvalidInput("the request ended before its body was complete")
            piece: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(piece)
            if size <= MAX_BODY_BYTES:
                pieces.append(piece)
            elif size > _MAX_DRAIN_BYTES:
                break
        if size > MAX_BODY_BYTES:
            raise _too_large()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def hung_up(self) -> None:
        """Wait until the caller is gone; for requests whose body is not wanted."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def parameters(self) -> "Parameters":
        """The JSON object of the body; raises `InvalidInput` when it is none."""
        self._refuse_foreign_pages()
        try:
            given = orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"the body is not JSON: {error}") from None
        if not isinstance(given, dict):
            raise InvalidInput("the body must be a JSON object")
        return Parameters(given)

    def _refuse_foreign_pages(self) -> None:
        """A web page of another site may make a browser post here; it must not get through."""
        origin = self.header(b"origin")
        if origin is not None and origin.partition("://")[2] != self.header(b"host"):
            raise RequestRefusal(403, f"requests from pages of {origin} are not taken")


def content_length(headers: Mapping[bytes, bytes]) -> int:
    """Return the length that the headers declare, 0 without one.

    Raises `Refusal` (400) for one that is no number, or has more digits than any body needs.
    """
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS:
        raise RequestRefusal(
            400, f"Content-Length must be a number of bytes, not {declared[:40]!r}"
        )
    return int(declared)


def _too_large() -> RequestRefusal:
    return RequestRefusal(
        413,
        f"the body is larger than {MAX_BODY_BYTES // 1024 // 1024} MB; send it in parts",
        # What is still under way is not read, so the connection cannot go on.
        ((b"connection", b"close"),),
    )


class Parameters:
    """The parameters of an action, each read with its type. A null is a parameter left out."""

    __slots__ = ("given",)

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def text(self, name: str) -> str:
        """A required string."""
        value = self.given.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a string", value)
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or nothing."""
        return None if self.given.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str] | None:
        """A list of strings, or nothing."""
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(name, "a list of strings", value)
        return value

    def items(self, name: str) -> list[Any]:
        """A required list."""
        value = self.given.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list", value)
        return value

    def record(self, name: str) -> dict[str, Any]:
        """A required object."""
        value = self.given.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object", value)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false, also written as a string."""
        value = self.given.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise self._wrong(name, "true or false", value)

    def integer(self, name: str) -> int | None:
        """An integer, or nothing."""
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "an integer", value)
        return value

    def count(self, name: str, default: int, most: int | None = None) -> int:
        """A count from 0 up, cut to `most`."""
        value = self.integer(name)
        if value is None:
            return default
        if value < 0:
            raise InvalidInput(f"the parameter {name!r} must not be negative, it is {value}")
        return value if most is None else min(value, most)

    def start(self) -> int:
        """Where a page begins."""
        # No catalog reaches this far; beyond it the numbers no longer fit the engines.
        return self.count("start", 0, 2**31)

    def page(self, name: str) -> int:
        """How long a page is: 10 when not said, 10000 at most."""
        return self.count(name, DEFAULT_PAGE, MAX_PAGE)

    @staticmethod
    def _wrong(name: str, expected: str, value: Any) -> InvalidInput:
        if value is None:
            return InvalidInput(f"the parameter {name!r} is required: {expected}")
        return InvalidInput(f"the parameter {name!r} must be {expected}, not {value!r:.60}")


Handler = Callable[[Call], Awaitable[HttpAnswer]]
Standing = Literal["current", "deprecated", "to be replaced", "ours"]


class Parameter(Struct, frozen=True):
    """What a caller may say: `kind` names its type (`string`, `integer`, `URN`, `filter`, …),
    `place` where it is said. `example` is a value that works on any catalog with datasets."""

    name: str
    kind: str
    summary: str
    place: Literal["body", "query", "path", "header"] = "body"
    required: bool = False
    example: Any = None


def parameter(
    name: str,
    kind: str,
    summary: str,
    example: Any = None,
    *,
    place: Literal["body", "query", "path", "header"] = "body",
    required: bool = True,
) -> Parameter:
    """A parameter, required unless said otherwise."""
    return Parameter(name, kind, summary, place, required, example)


class Endpoint(Struct, frozen=True):
    """One thing that can be asked, by those who have `role` or a higher one.

    `item` says that a URN follows the path; `action` is the value of the query parameter that
    tells the actions of one resource apart. `parameters`, `gives` (what the answer holds) and
    `notes` (what was decided where the specification is silent) are read by the documentation
    page; an example request is made of the parameters' examples. `standing` is `ours` for what no
    other server of this kind answers.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    handler: Handler
    summary: str
    role: Role
    item: bool = False
    action: str | None = None
    standing: Standing = "current"
    parameters: tuple[Parameter, ...] = ()
    gives: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What tells it from every other: `POST /aspects?action=ingestProposal`."""
        action = f"?action={self.action}" if self.action else ""
        return f"{self.method} {self.path}{'/<urn>' if self.item else ''}{action}"


class Endpoints:
    """Every endpoint of the service, found by path, method and action."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self.all = tuple(endpoints)
        self._resources: dict[tuple[str, bool], dict[tuple[str, str | None], Endpoint]] = {}
        for endpoint in self.all:
            found = self._resources.setdefault((endpoint.path, endpoint.item), {})
            found[endpoint.method, endpoint.action] = endpoint

    def locate(self, path: str) -> tuple[str, str]:
        """The resource that a raw path means, and what follows it.

        Raises `Refusal` (404) when there is none.
        """
        if (path, False) in self._resources:
            return path, ""
        bare = path.rstrip("/")
        if (bare, False) in self._resources:
            return bare, ""
        cut = path.find("/", 1)
        while cut != -1:
            resource, rest = path[:cut], path[cut + 1 :]
            if rest and (resource, True) in self._resources:
                return resource, rest
            cut = path.find("/", cut + 1)
        raise RequestRefusal(404, f"there is nothing at {path[:200]}")

    def find(self, call: Call) -> Endpoint:
        """The endpoint for a located call; raises `Refusal` (405, or 400 for its action)."""
        methods = self._resources[call.path, bool(call.rest)]
        found = methods.get((call.method, None))
        if found is not None:
            return found
        actions = sorted(
            action for method, action in methods if method == call.method and action is not None
        )
        if not actions:
            allowed = ", ".join(sorted({method for method, _ in methods}))
            raise RequestRefusal(
                405,
                f"{call.method} is not supported on {call.path}; use {allowed}",
                ((b"allow", allowed.encode()),),
            )
        named = call.query.one("action")
        found = methods.get((call.method, named))
        if found is None:
            asked = f"{call.path}?action={named}" if named else call.path
            raise RequestRefusal(
                400,
                f"{call.method} operation named {named} not supported on resource "
                f"'{call.path}' URI: '{asked}'; the actions are {', '.join(actions)}",
            )
        return found


REQUEST_ID = b"x-request-id"

_GIVEN_ID = re.compile(rb"[\w.:/+=-]{1,128}")
_run = secrets.token_hex(4)
_count = itertools.count(1)


class RequestContext:
    """One request: its headers by lower-case name, where it led, who asked, what it weighed.

    `request_id` is the caller's own where it gave a fit one. Made ten thousand times a second.
    """

    __slots__ = (
        "actor",
        "began",
        "endpoint",
        "headers",
        "received_bytes",
        "request_id",
        "scope",
        "seconds",
        "sent_bytes",
        "status",
    )

    def __init__(self, scope: Scope) -> None:
        self.began = perf_counter()
        self.scope = scope
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(REQUEST_ID)
        if given is not None and _GIVEN_ID.fullmatch(given):
            self.request_id = given
        else:
            self.request_id = f"{_run}-{next(_count):x}".encode()
        self.endpoint: Endpoint | None = None
        self.actor: str | None = None
        self.status = 0
        self.seconds = 0.0
        self.sent_bytes = 0
        # As the request declared it.
        self.received_bytes = 0

    def weighed(self, send: Send) -> Send:
        """The same way out, counting what goes through it."""

        async def counting(message: MutableMapping[str, Any]) -> None:
            self.sent_bytes += len(message.get("body", b""))
            await send(message)

        return counting

    def end(self) -> None:
        """Note how long it took."""
        self.seconds = perf_counter() - self.began
