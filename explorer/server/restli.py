"""Rest.li over Starlette: addresses, parameters, and the endpoints of a resource.

Starlette's router matches the path as it was sent. Every part of an address is decoded exactly
once, after it was cut out:

/entitiesV2/urn%3Ali%3Adataset%3A%28…%2Fx%29      the slash inside the URN splits no path
?aspects=List(a,b)&types=OwnedBy&types=Contains   lists, and parameters that repeat
"""

import itertools
import re
import secrets
import zlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote, unquote_plus, unquote_to_bytes

import orjson
from msgspec import Struct
from msgspec.structs import replace
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from explorer.errors import InvalidInput
from explorer.server.authentication import ANONYMOUS, Access, Role
from explorer.server.catalog import CatalogEngine
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal
from explorer.server.freshness import Freshness

__all__ = [
    "DEFAULT_PAGE",
    "EXAMPLE_URN",
    "LOG_OFFSET",
    "MAX_PAGE",
    "REQUEST_ID",
    "Endpoint",
    "JsonResponse",
    "NotedChange",
    "Parameter",
    "Parameters",
    "QueryParameters",
    "RequestContext",
    "RestliRequest",
    "Routes",
    "ValueResponse",
    "content_length",
    "decode",
    "raw_path",
    "routes",
    "split_list",
    "urns_in",
]


def raw_path(path: bytes | None, decoded: str) -> str:
    """Return the path as it was sent, or `decoded` encoded where a server does not give it."""
    if path is None:
        return quote(decoded)
    return path.partition(b"?")[0].decode("latin-1")


def decode(part: str) -> str:
    """Return a path segment or list element decoded once; a plus stays a plus.

    Raises `InvalidInput` when it is not UTF-8.
    """
    # uvicorn passes bytes on as Latin-1; clients that do not encode send UTF-8.
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{part[:80]!r} is not UTF-8 once it is decoded") from None


# No version or page lies beyond, and the engines count no further.
_MAX_NUMBER = 2**31


class QueryParameters:
    """The query parameters of an address, decoded when they are read."""

    __slots__ = ("_raw",)

    def __init__(self, query: bytes) -> None:
        self._raw: dict[str, list[str]] = {}
        for pair in query.decode("latin-1").split("&") if query else ():
            key, _, value = pair.partition("=")
            self._raw.setdefault(unquote_plus(key), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def one(self, name: str) -> str | None:
        """Return the first value of a parameter; None without one."""
        values = self._raw.get(name)
        return decode(values[0].replace("+", " ")) if values else None

    def required(self, name: str) -> str:
        """Return the first value of a parameter; raises `InvalidInput` when it is missing or
        empty."""
        value = self.one(name)
        if not value:
            raise InvalidInput(f"the query parameter {name!r} is required")
        return value

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        """Return a whole number no less than `least`, or `default`; raises `InvalidInput`."""
        text = self.one(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or (number < 0 <= least):
            kind = "a count from 0 up" if least == 0 else "an integer"
            raise InvalidInput(f"the query parameter {name!r} is {kind}, not {text[:40]!r}")
        return max(least, min(number, _MAX_NUMBER))

    def many(self, name: str) -> list[str] | None:
        """Return every value of a parameter: repeated, or the elements of `List(…)`."""
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
    """Return the elements of `List(a,b)`, still encoded: the parts between the commas that are
    outside inner parentheses.

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


MAX_BODY_BYTES = 16 * 1024 * 1024
# A body that is somewhat too large is read and dropped, so that its sender gets to the answer.
_MAX_DRAIN_BYTES = 4 * MAX_BODY_BYTES
_MAX_LENGTH_DIGITS = 20
MAX_PAGE = 10_000
DEFAULT_PAGE = 10


class JsonResponse(Response):
    """A JSON response: of a value, or of bytes that are JSON already. Empty without content."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        if content is None:
            return b""
        return content if isinstance(content, bytes) else orjson.dumps(content)


class ValueResponse(JsonResponse):
    """The response of an action: a JSON object with its `value`."""

    def render(self, content: Any) -> bytes:
        return orjson.dumps({"value": content})


REQUEST_ID = b"x-request-id"
# Where several services share a store: the change log's offset that searches of the answering one
# know. A client sends the highest back, and then finds what it wrote whichever service answers.
LOG_OFFSET = b"x-catalog-offset"

_GIVEN_ID = re.compile(rb"[\w.:/+=-]{1,128}")
_run = secrets.token_hex(4)
_count = itertools.count(1)


# Under these names requests hold the entities that they change.
_NAMING = frozenset(
    {"urn", "urns", "entityUrn", "resourceUrn", "resource", "resources", "assetUrn", "runId"}
)
_MOST_LOOKS = 200
_MOST_URNS = 20


def urns_in(given: Any) -> list[str]:
    """Return the entities that a request's values name, the first 20; of a large value only the
    beginning is looked through."""
    found: list[str] = []
    waiting = deque([("", given)])
    looks = 0
    while waiting and looks < _MOST_LOOKS and len(found) < _MOST_URNS:
        looks += 1
        name, value = waiting.popleft()
        if isinstance(value, str):
            if name in _NAMING and value:
                found.append(value)
        elif isinstance(value, dict):
            waiting.extend(itertools.islice(value.items(), _MOST_LOOKS))
        elif isinstance(value, list):
            waiting.extend((name, one) for one in value[:_MOST_LOOKS])
    return found


class NotedChange(Struct):
    """A change within a request, for the audit log: what it is called, the entities that it names,
    and the status of its own where it has one; `place` is where a document has it."""

    action: str
    urns: list[str]
    status: int = 0
    place: str | int = ""


class RequestContext:
    """What is known of one request, for its handler, the metrics, the access and the audit log.

    `headers` are by lower-case name. `request_id` is the client's own where it sent a valid one.
    `access` is who sent it and what they may do, `dialect` how it is answered; `is_admitted` tells
    whether they would still be let in, for responses that go on for long. `endpoint` is None until
    one was found. `received_bytes` is what the request declared, `body_bytes` how long its body was
    when unpacked; 0 until it was read. `freshness` is what it asks of the search index.
    """

    def __init__(self, scope: Scope) -> None:
        self.started = perf_counter()
        self.scope = scope
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(REQUEST_ID)
        if given is not None and _GIVEN_ID.fullmatch(given):
            self.request_id = given
        else:
            self.request_id = f"{_run}-{next(_count):x}".encode()
        self.access: Access = ANONYMOUS
        self.dialect: Dialect = "plain"
        self.is_admitted: Callable[[], bool] = lambda: True
        self.endpoint: Endpoint | None = None
        self.status = 0
        self.seconds = 0.0
        self.sent_bytes = 0
        self.received_bytes = 0
        self.body_bytes = 0
        self.is_streamed = False
        self.urns: Sequence[str] = ()
        self.changes: list[NotedChange] = []
        self.freshness = Freshness()


class RestliRequest(Request):
    """A request with its Rest.li parameters, who sent it, and how it is to be answered."""

    @property
    def context(self) -> RequestContext:
        """What is known of the request besides its content."""
        context: RequestContext = self.scope["state"]["context"]
        return context

    @property
    def access(self) -> Access:
        """Who sent the request, and what they may do."""
        return self.context.access

    @property
    def actor(self) -> str | None:
        """The URN of the actor of the request's token; None when it carries none."""
        return self.context.access.actor

    @property
    def dialect(self) -> Dialect:
        """How the request is answered, and how strictly what it sends is read."""
        return self.context.dialect

    @cached_property
    def query(self) -> QueryParameters:
        """The parameters of the address."""
        return QueryParameters(self.scope["query_string"])

    @property
    def key(self) -> str:
        """What follows the resource in the path, decoded once: a URN."""
        return decode(self.path_params["key"])

    async def body(self) -> bytes:
        """Return the whole body, unpacked where it says that it is packed with gzip.

        Raises `RequestRefusal` (413) for one that is too large, `InvalidInput` for one that ends
        early or cannot be unpacked.
        """
        if self.context.received_bytes > _MAX_DRAIN_BYTES:
            raise _too_large()
        pieces: list[bytes] = []
        size = 0
        try:
            async for piece in self.stream():
                size += len(piece)
                if size <= MAX_BODY_BYTES:
                    pieces.append(piece)
                elif size > _MAX_DRAIN_BYTES:
                    break
        except ClientDisconnect:
            raise InvalidInput("the request ended before its body was complete") from None
        if size > MAX_BODY_BYTES:
            raise _too_large()
        body = b"".join(pieces)
        if self.headers.get("content-encoding") == "gzip":
            body = _unpacked(body)
        self.context.body_bytes = len(body)
        return body

    async def json(self, most_bytes: int = MAX_BODY_BYTES) -> Any:
        """Return the body's JSON.

        Raises `RequestRefusal` (413) for a body of more than `most_bytes`, `InvalidInput` when it
        is no JSON, and `RequestRefusal` (403) when a web page of another site made a browser send
        it.
        """
        origin = self.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != self.headers.get("host"):
            raise RequestRefusal(403, f"requests from pages of {origin} are not taken")
        body = await self.body()
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
        try:
            given = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"the body is not JSON: {error}") from None
        endpoint = self.context.endpoint
        if endpoint is not None and endpoint.role != "reader":
            self.context.urns = urns_in(given)
        return given

    async def parameters(self) -> "Parameters":
        """Return the JSON object of the body, an action's parameters; raises as `json` does."""
        given = await self.json()
        if not isinstance(given, dict):
            raise InvalidInput("the body must be a JSON object")
        return Parameters(given)


def content_length(headers: Mapping[bytes, bytes]) -> int:
    """Return the length that the headers declare, 0 without one.

    Raises `RequestRefusal` (400) for one that is no number, or has more digits than any body needs.
    """
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS:
        raise RequestRefusal(
            400, f"Content-Length must be a number of bytes, not {declared[:40]!r}"
        )
    return int(declared)


def _unpacked(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        body = unpacker.decompress(packed, MAX_BODY_BYTES + 1)
    except zlib.error as error:
        raise InvalidInput(f"the body cannot be unpacked with gzip: {error}") from None
    if len(body) > MAX_BODY_BYTES:
        raise _too_large()
    if not unpacker.eof:
        raise InvalidInput("the body cannot be unpacked with gzip: it ends early")
    return body


def _too_large(most_bytes: int = MAX_BODY_BYTES) -> RequestRefusal:
    return RequestRefusal(
        413,
        f"the body is larger than {most_bytes // 1024 // 1024} MB; send it in parts",
        # What is still under way is not read, so the connection cannot go on.
        {"connection": "close"},
    )


class Parameters:
    """The parameters of an action, each read as its type; null is a parameter left out.

    Every method raises `InvalidInput` for a value of another type.
    """

    __slots__ = ("given",)

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def text(self, name: str) -> str:
        """Return a required string."""
        value = self.given.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a string", value)
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a string, or None."""
        return None if self.given.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str] | None:
        """Return a list of strings, or None."""
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(name, "a list of strings", value)
        return value

    def items(self, name: str) -> list[Any]:
        """Return a required list."""
        value = self.given.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list", value)
        return value

    def record(self, name: str) -> dict[str, Any]:
        """Return a required object."""
        value = self.given.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object", value)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean, which may be written as a string."""
        value = self.given.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise self._wrong(name, "true or false", value)

    def integer(self, name: str) -> int | None:
        """Return an integer, or None."""
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "an integer", value)
        return value

    def count(self, name: str, default: int, most: int | None = None) -> int:
        """Return a count from 0 up, or `most` where it is more."""
        value = self.integer(name)
        if value is None:
            return default
        if value < 0:
            raise InvalidInput(f"the parameter {name!r} must not be negative, it is {value}")
        return value if most is None else min(value, most)

    def start(self) -> int:
        """Return where a page begins; 0 without it."""
        return self.count("start", 0, _MAX_NUMBER)

    def page(self, name: str) -> int:
        """Return how long a page is: 10 without it, 10000 at most."""
        return self.count(name, DEFAULT_PAGE, MAX_PAGE)

    @staticmethod
    def _wrong(name: str, expected: str, value: Any) -> InvalidInput:
        if value is None:
            return InvalidInput(f"the parameter {name!r} is required: {expected}")
        return InvalidInput(f"the parameter {name!r} must be {expected}, not {value!r:.60}")


Handler = Callable[[RestliRequest], Awaitable[Response]]
HandlerMethod = TypeVar("HandlerMethod", bound=Callable[..., Awaitable[Response]])
_DECLARED = "__endpoint__"
Method = Literal["GET", "POST", "PATCH", "DELETE"]
Standing = Literal["current", "deprecated", "to be replaced", "ours"]


# In examples; the documentation page puts a dataset of its own catalog in its place.
EXAMPLE_URN = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"


async def _unbound(_request: RestliRequest) -> Response:
    """Stand for the handler of an endpoint until its `Routes` object exists."""
    raise NotImplementedError("Routes.endpoints gives endpoints their handlers")


class Parameter(Struct, frozen=True):
    """A parameter as the documentation page shows it.

    `kind` names its type (`string`, `integer`, `URN`, `filter`, …). `example` is a value that works
    on any catalog with datasets.
    """

    name: str
    kind: str
    summary: str
    example: Any = None
    place: Literal["body", "query", "path", "header"] = "body"
    required: bool = True

    @classmethod
    def optional(cls, name: str, kind: str, summary: str, example: Any = None) -> Self:
        """A parameter of the body that may be left out."""
        return cls(name, kind, summary, example, required=False)

    @classmethod
    def query(cls, name: str, kind: str, summary: str, example: Any = None) -> Self:
        """A parameter of the address that may be left out."""
        return cls(name, kind, summary, example, "query", required=False)


class Endpoint(Struct, frozen=True):
    """One call of the service, for those who have `role` or a higher one.

    `item` says that a URN follows the path; `action` is the value of the query parameter that
    tells the actions of one resource apart. The documentation page shows `parameters`, `gives`
    (what the response holds) and `notes` (what was decided where the specification is silent), and
    makes an example request of the parameters' examples. `standing` is `ours` for a call that no
    other server of this kind has.
    """

    method: Method
    path: str
    summary: str
    role: Role
    item: bool = False
    action: str | None = None
    standing: Standing = "current"
    parameters: tuple[Parameter, ...] = ()
    gives: str = ""
    notes: tuple[str, ...] = ()
    handler: Handler = _unbound

    def __call__(self, handler: HandlerMethod) -> HandlerMethod:
        """Declare, as a decorator, which method of `Routes` answers the endpoint."""
        setattr(handler, _DECLARED, self)
        return handler

    @property
    def title(self) -> str:
        """Its name, which no other endpoint has: `POST /aspects?action=ingestProposal`."""
        action = f"?action={self.action}" if self.action else ""
        return f"{self.method} {self.path}{'/<urn>' if self.item else ''}{action}"


class Routes:
    """A family of endpoints of one catalog: the methods that an `Endpoint` decorates."""

    def __init__(self, catalog: CatalogEngine) -> None:
        self._catalog = catalog

    def endpoints(self) -> Iterator[Endpoint]:
        """Yield the endpoints, in the order of their methods."""
        for name, member in vars(type(self)).items():
            declared = getattr(member, _DECLARED, None)
            if declared is not None:
                yield replace(declared, handler=getattr(self, name))


class Resource:
    """The endpoints at one address, as an ASGI application that selects one for each request: by
    its method and, among the actions of the resource, by its query parameter `action`."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {
            (one.method, one.action): one for one in endpoints
        }
        (self._path,) = {one.path for one in self._endpoints.values()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = RestliRequest(scope, receive, send)
        endpoint = request.context.endpoint = self._find(request)
        request.access.require(endpoint.role, endpoint.title)
        response = await endpoint.handler(request)
        if endpoint.standing == "deprecated":
            response.headers["deprecation"] = "true"
        await response(scope, receive, send)

    def _find(self, request: RestliRequest) -> Endpoint:
        """Return the endpoint of a request.

        Raises `RequestRefusal`: 405 for its method, 400 for its action.
        """
        # The response to HEAD is that to GET, whose body the server leaves out.
        method = "GET" if request.method == "HEAD" else request.method
        found = self._endpoints.get((method, None))
        if found is not None:
            return found
        actions = sorted(
            action for known, action in self._endpoints if known == method and action is not None
        )
        if not actions:
            allowed = ", ".join(sorted({known for known, _ in self._endpoints}))
            raise RequestRefusal(
                405, f"{method} is not supported on {self._path}; use {allowed}", {"allow": allowed}
            )
        name = request.query.one("action")
        found = self._endpoints.get((method, name))
        if found is None:
            address = f"{self._path}?action={name}" if name else self._path
            raise RequestRefusal(
                400,
                f"{method} operation named {name} not supported on resource "
                f"'{self._path}' URI: '{address}'; the actions are {', '.join(actions)}",
            )
        return found


class _Key(StringConvertor):
    regex = "/*[^/].*"


class _Slashes(StringConvertor):
    regex = "/*"


register_url_convertor("key", _Key())
register_url_convertor("slashes", _Slashes())


def routes(endpoints: Iterable[Endpoint]) -> list[Route]:
    """Return a route for each address that endpoints are at.

    Slashes at the end of an address mean nothing, unless they end a key.
    """
    resources: dict[tuple[str, bool], list[Endpoint]] = defaultdict(list)
    for one in endpoints:
        resources[one.path, one.item].append(one)
    return [
        Route(path + ("/{key:key}" if item else "{end:slashes}"), Resource(found))
        for (path, item), found in resources.items()
    ]
