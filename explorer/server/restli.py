"""Rest.li over Starlette: paths, parameters, and the endpoints of a resource.

Starlette's router matches the path as it was sent, still percent-encoded. Each part of a path or
query is decoded exactly once, after it has been split off:

/entitiesV2/urn%3Ali%3Adataset%3A%28…%2Fx%29      the slash inside the URN does not split the path
?aspects=List(a,b)&types=OwnedBy&types=Contains   lists, and repeated parameters
"""

import itertools
import re
import secrets
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
from explorer.files import unpack
from explorer.server.authentication import ANONYMOUS, Access, Role
from explorer.server.catalog import CatalogEngine, Freshness
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal


def raw_path(path: bytes | None, decoded: str) -> str:
    """Return the path as it was sent, or `decoded` percent-encoded if the server does not provide
    it."""
    if path is None:
        return quote(decoded)
    return path.partition(b"?")[0].decode("latin-1")


def decode(part: str) -> str:
    """Decode a path segment or list element once; a plus sign stays a plus sign.

    Raises `InvalidInput` if the result is not UTF-8.
    """
    # Paths and queries are kept as Latin-1 text, one character per byte; clients that do not
    # percent-encode send UTF-8.
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{part[:80]!r} is not UTF-8 once it is decoded") from None


# No version or page has a higher number, and the storage engines do not support higher ones.
_MAX_NUMBER = 2**31


class QueryParameters:
    """The query parameters of a URL, decoded on access."""

    __slots__ = ("_raw",)

    def __init__(self, query: bytes) -> None:
        self._raw: dict[str, list[str]] = {}
        for pair in query.decode("latin-1").split("&") if query else ():
            key, _, value = pair.partition("=")
            self._raw.setdefault(unquote_plus(key), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def one(self, name: str) -> str | None:
        """Return the first value of a parameter, or `None` if it is missing."""
        values = self._raw.get(name)
        return decode(values[0].replace("+", " ")) if values else None

    def require(self, name: str) -> str:
        """Return the first value of a parameter.

        Raises `InvalidInput` if it is missing or empty.
        """
        value = self.one(name)
        if not value:
            raise InvalidInput(f"the query parameter {name!r} is required")
        return value

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        """Return an integer, or `default` if the parameter is missing.

        A value below `least` or above 2**31 is replaced by that bound. Raises `InvalidInput` if the
        value is not an integer, or is negative although `least` is not.
        """
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
        """Return all values of a parameter, or `None` if it is missing.

        A parameter may be repeated, and each value may be a `List(…)`. Raises `InvalidInput` if a
        list is malformed.
        """
        values = self._raw.get(name)
        if values is None:
            return None
        elements: list[str] = []
        for raw in values:
            if raw.startswith("List("):
                elements.extend(decode(element) for element in split_list(raw))
                continue
            value = decode(raw.replace("+", " "))
            elements.extend(split_list(value) if value.startswith("List(") else [value])
        return elements


def split_list(text: str) -> list[str]:
    """Split `List(a,b)` into its elements, without decoding them.

    Commas inside nested parentheses do not separate elements, and white space around an element is
    dropped. Raises `InvalidInput` if the list is not closed or something follows it.
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
# A body over the limit is still read up to this size and discarded, so that its sender finishes
# sending and reads the response.
_MAX_DRAIN_BYTES = 4 * MAX_BODY_BYTES
_MAX_LENGTH_DIGITS = 20
# Parsed, a value of three bytes takes up to a hundred: a body of so many takes 150 MB, while one of
# 16 MB with the columns of a table has a million.
_MAX_VALUES = 1_500_000
MAX_PAGE = 10_000
DEFAULT_PAGE = 10


class JsonResponse(Response):
    """A JSON response: a value, or bytes that are already JSON. `None` gives an empty body."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        if content is None:
            return b""
        return content if isinstance(content, bytes) else orjson.dumps(content)


class ValueResponse(JsonResponse):
    """The response of an action: a JSON object with the result as `value`."""

    def render(self, content: Any) -> bytes:
        return orjson.dumps({"value": content})


REQUEST_ID = b"x-request-id"
# Sent if several services share a store: the offset of the change log that the search index of the
# answering service has reached. A client that sends back the highest offset it has received finds
# what it wrote, whichever service answers.
LOG_OFFSET = b"x-catalog-offset"

_GIVEN_ID = re.compile(rb"[\w.:/+=-]{1,128}")
_run = secrets.token_hex(4)
_count = itertools.count(1)


# The fields in which requests name the entities that they change.
_NAMING = frozenset(
    {"urn", "urns", "entityUrn", "resourceUrn", "resource", "resources", "assetUrn", "runId"}
)
_MOST_LOOKS = 200
_MOST_URNS = 20


def urns_in(given: Any) -> list[str]:
    """Return the URNs of the entities named in the parameters of a request, at most 20.

    At most 200 values are examined, breadth first; of each object, the fields that name entities
    are read first.
    """
    urns: list[str] = []
    waiting = deque([("", given)])
    looks = 0
    while waiting and looks < _MOST_LOOKS and len(urns) < _MOST_URNS:
        looks += 1
        name, value = waiting.popleft()
        if isinstance(value, str):
            if name in _NAMING and value:
                urns.append(value)
        elif isinstance(value, dict):
            naming = _NAMING & value.keys()
            texts = (value[key] for key in sorted(naming))
            urns += (text for text in texts if isinstance(text, str) and text)
            fields = ((key, nested) for key, nested in value.items() if not isinstance(nested, str))
            waiting.extend(itertools.islice(fields, _MOST_LOOKS))
        elif isinstance(value, list):
            waiting.extend((name, element) for element in value[:_MOST_URNS])
    return urns[:_MOST_URNS]


class NotedChange(Struct):
    """A change within a request, for the audit log.

    `action` is its name, and `urns` are the entities that it changed, or those that it names if it
    changed none. `status` is the change's own status, 0 if it has none. `place` is its key in the
    response to a GraphQL document.
    """

    action: str
    urns: list[str]
    status: int = 0
    place: str | int = ""


class RequestContext:
    """The context of one request, shared by its handler, the metrics, and the access and audit
    logs.

    `headers` are keyed by lower-case name. `request_id` is the client's own if it sent a valid one.
    `access` is the caller and their role, and `dialect` is the dialect of the response.
    `is_admitted` returns whether the caller would still be admitted; long-running responses check
    it. `endpoint` is `None` until the request has been dispatched. `received_bytes` is the declared
    length of the body, and `body_bytes` its length after decompression, 0 until it has been read.
    `urns` are the entities that the request names, and the keys of `written` those that it changed.
    `freshness` is what the request requires of the search index.
    """

    def __init__(self, scope: Scope) -> None:
        self.started = perf_counter()
        self.scope = scope
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        request_id = self.headers.get(REQUEST_ID)
        if request_id is not None and _GIVEN_ID.fullmatch(request_id):
            self.request_id = request_id
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
        self.written: Mapping[str, None] = {}
        self.changes: list[NotedChange] = []
        self.freshness = Freshness()


class RestliRequest(Request):
    """A request with its Rest.li parameters, its caller and its dialect."""

    @property
    def context(self) -> RequestContext:
        """The context of the request, shared with the middleware."""
        context: RequestContext = self.scope["state"]["context"]
        return context

    @property
    def access(self) -> Access:
        """The caller and their role."""
        return self.context.access

    @property
    def actor(self) -> str | None:
        """The URN of the actor of the request's token, or `None` without a token."""
        return self.context.access.actor

    @property
    def dialect(self) -> Dialect:
        """The dialect of the request: how it is answered, and how strictly its content is
        checked."""
        return self.context.dialect

    @cached_property
    def query(self) -> QueryParameters:
        """The query parameters."""
        return QueryParameters(self.scope["query_string"])

    @property
    def key(self) -> str:
        """The part of the path after the resource, decoded once; usually a URN."""
        return decode(self.path_params["key"])

    async def body(self) -> bytes:
        """Return the complete body, decompressed if its content encoding is gzip.

        Raises `RequestRefusal` if it is too large (413) or encoded with anything but gzip (415),
        and `InvalidInput` if it ends early or cannot be decompressed.
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
        encoding = self.headers.get("content-encoding", "").strip().lower()
        if encoding in ("gzip", "x-gzip"):
            try:
                body = unpack(body, MAX_BODY_BYTES)
            except OverflowError:
                raise _too_large() from None
            except ValueError as error:
                raise InvalidInput(f"the body cannot be decompressed with gzip: {error}") from None
        elif encoding not in ("", "identity"):
            raise RequestRefusal(
                415, f"a body encoded with {encoding[:40]!r} is not read; send it as it is, or gzip"
            )
        self.context.body_bytes = len(body)
        return body

    async def json(
        self,
        most_bytes: int = MAX_BODY_BYTES,
        find_urns: Callable[[Any], list[str]] = urns_in,
    ) -> Any:
        """Parse the body as JSON. If the endpoint changes something, record the URNs that
        `find_urns` finds in it, for the audit log.

        Raises `RequestRefusal` (413) if the body is larger than `most_bytes` or has too many
        values, and `InvalidInput` if it is not JSON.
        """
        body = await self.body()
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
        _check_values(body)
        try:
            request_id = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"the body is not JSON: {error}") from None
        endpoint = self.context.endpoint
        if endpoint is not None and endpoint.role != "reader":
            self.context.urns = find_urns(request_id)
        return request_id

    async def parameters(self) -> "Parameters":
        """Parse the body as the parameters of an action, a JSON object.

        Raises `InvalidInput` if it is not an object; otherwise raises as `json` does.
        """
        json = await self.json()
        if not isinstance(json, dict):
            raise InvalidInput("the body must be a JSON object")
        return Parameters(json)


def content_length(headers: Mapping[bytes, bytes]) -> int:
    """Return the length that the headers declare, or 0 if they declare none.

    Raises `RequestRefusal` (400) if it is not a number, or has more than 20 digits.
    """
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS:
        raise RequestRefusal(
            400, f"Content-Length must be a number of bytes, not {declared[:40]!r}"
        )
    return int(declared)


def _too_large(most_bytes: int = MAX_BODY_BYTES) -> RequestRefusal:
    return RequestRefusal(
        413,
        f"the body is larger than {most_bytes // 1024 // 1024} MB; send it in parts",
        # The rest of the body is not read, so the connection cannot be reused.
        {"connection": "close"},
    )


def _check_values(body: bytes) -> None:
    """Raise `RequestRefusal` (413) if JSON may have too many values to be parsed.

    Each value follows a comma or begins an object or array, and an object takes as much memory as
    two others. Texts are counted too, because those of proposals are JSON that is parsed later.
    """
    if 2 * len(body) <= _MAX_VALUES:
        return
    values = body.count(b",") + body.count(b"[") + 2 * body.count(b"{")
    if values > _MAX_VALUES:
        raise RequestRefusal(
            413,
            f"the body has too many values: {values:,} commas, [ and {{ ({{ counts twice), and "
            f"{_MAX_VALUES:,} at most are read; send it in parts",
        )


class Parameters:
    """The parameters of an action, with a method for each type. A `null` counts as missing.

    All methods raise `InvalidInput` if the value has another type.
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
        """Return a string, or `None` if it is missing."""
        return None if self.given.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str] | None:
        """Return a list of strings, or `None` if it is missing."""
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
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
        """Return a boolean, or `default` if it is missing. It may also be the string "true" or
        "false"."""
        value = self.given.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise self._wrong(name, "true or false", value)

    def integer(self, name: str) -> int | None:
        """Return an integer, or `None` if it is missing."""
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "an integer", value)
        return value

    def count(self, name: str, default: int, most: int | None = None) -> int:
        """Return a count, or `default` if it is missing; a value above `most` is reduced to it.

        Raises `InvalidInput` if it is negative.
        """
        value = self.integer(name)
        if value is None:
            return default
        if value < 0:
            raise InvalidInput(f"the parameter {name!r} must not be negative, it is {value}")
        return value if most is None else min(value, most)

    def start(self) -> int:
        """Return the offset of the first element of a page, or 0 if it is missing."""
        return self.count("start", 0, _MAX_NUMBER)

    def page(self, name: str) -> int:
        """Return the length of a page, at most 10,000, or 10 if it is missing."""
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


# Used in examples; the documentation page replaces it by a dataset of its own catalog.
EXAMPLE_URN = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"


async def _unbound(_request: RestliRequest) -> Response:
    """The handler of an endpoint that is not yet bound to a `Routes` object; always raises."""
    raise NotImplementedError("Routes.endpoints gives endpoints their handlers")


class Parameter(Struct, frozen=True):
    """A parameter of an endpoint, for the OpenAPI description.

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
        """Return an optional parameter of the body."""
        return cls(name, kind, summary, example, required=False)

    @classmethod
    def query(cls, name: str, kind: str, summary: str, example: Any = None) -> Self:
        """Return an optional query parameter."""
        return cls(name, kind, summary, example, "query", required=False)


class Endpoint(Struct, frozen=True):
    """One call of the service, for callers with `role` or a higher one.

    A caller with the role proposer may use a call that `proposes`, which checks the proposals
    itself. `item` means that a key, usually a URN, follows the path. `action` is the value of the
    query parameter `action`, which distinguishes the actions of one resource. The OpenAPI
    description contains `parameters`, `gives` (the content of the response, which is of
    `media_type`), `notes` (decisions where the specification is silent), and an example request,
    made of the examples of the parameters. `standing` is `ours` if no other server of this kind has
    the call.
    """

    method: Method
    path: str
    summary: str
    role: Role
    item: bool = False
    action: str | None = None
    standing: Standing = "current"
    media_type: str = "application/json"
    parameters: tuple[Parameter, ...] = ()
    gives: str = ""
    notes: tuple[str, ...] = ()
    handler: Handler = _unbound
    proposes: bool = False

    def __call__(self, handler: HandlerMethod) -> HandlerMethod:
        """Decorate the method of a `Routes` class that handles the endpoint."""
        setattr(handler, _DECLARED, self)
        return handler

    @property
    def title(self) -> str:
        """The unique name of the endpoint, such as `POST /aspects?action=ingestProposal`."""
        action = f"?action={self.action}" if self.action else ""
        return f"{self.method} {self.path}{'/<urn>' if self.item else ''}{action}"


class Routes:
    """A group of endpoints of one catalog: the methods that are decorated with an `Endpoint`."""

    def __init__(self, catalog: CatalogEngine) -> None:
        self._catalog = catalog

    def endpoints(self) -> Iterator[Endpoint]:
        """Yield the endpoints, in the order in which their methods are defined."""
        for name, member in vars(type(self)).items():
            declared = getattr(member, _DECLARED, None)
            if declared is not None:
                yield replace(declared, handler=getattr(self, name))


class Resource:
    """The endpoints of one path, as an ASGI application.

    A request is dispatched by its HTTP method and, among the actions of the resource, by its query
    parameter `action`.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {
            (endpoint.method, endpoint.action): endpoint for endpoint in endpoints
        }
        (self._path,) = {endpoint.path for endpoint in self._endpoints.values()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = RestliRequest(scope, receive, send)
        endpoint = request.context.endpoint = self._find(request)
        if not (endpoint.proposes and request.access.role == "proposer"):
            request.access.require(endpoint.role, endpoint.title)
        response = await endpoint.handler(request)
        if endpoint.standing == "deprecated":
            response.headers["deprecation"] = "true"
        await response(scope, receive, send)

    def _find(self, request: RestliRequest) -> Endpoint:
        """Return the endpoint of a request.

        Raises `RequestRefusal` (405) if the path does not support its method, and (400) if it does
        not have its action.
        """
        # HEAD is handled like GET; the HTTP server omits the body of the response.
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = self._endpoints.get((method, None))
        if endpoint is not None:
            return endpoint
        actions = sorted(
            action
            for endpoint_method, action in self._endpoints
            if endpoint_method == method and action is not None
        )
        if not actions:
            allowed = ", ".join(sorted({endpoint_method for endpoint_method, _ in self._endpoints}))
            raise RequestRefusal(
                405, f"{method} is not supported on {self._path}; use {allowed}", {"allow": allowed}
            )
        name = request.query.one("action")
        endpoint = self._endpoints.get((method, name))
        if endpoint is None:
            address = f"{self._path}?action={name}" if name else self._path
            raise RequestRefusal(
                400,
                f"{method} operation named {name} not supported on resource "
                f"'{self._path}' URI: '{address}'; the actions are {', '.join(actions)}",
            )
        return endpoint


class _Key(StringConvertor):
    regex = "/*[^/].*"


class _Slashes(StringConvertor):
    regex = "/*"


register_url_convertor("key", _Key())
register_url_convertor("slashes", _Slashes())


def routes(endpoints: Iterable[Endpoint]) -> list[Route]:
    """Return a route for each path of the endpoints.

    Slashes at the end of a path are ignored, unless they belong to a key.
    """
    resources: dict[tuple[str, bool], list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        resources[endpoint.path, endpoint.item].append(endpoint)
    return [
        Route(path + ("/{key:key}" if item else "{end:slashes}"), Resource(resource))
        for (path, item), resource in resources.items()
    ]
