"""One request as a handler sees it, and the answer it gives back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson

from explorer.errors import InvalidInput
from explorer.server.authentication import Access
from explorer.server.dialect import Dialect
from explorer.server.failures import Refusal
from explorer.server.urls import Query, decode

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_PAGE",
    "Answer",
    "Call",
    "Parameters",
    "Receive",
    "Scope",
    "Send",
    "Stream",
    "content_length",
]

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


class Answer:
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
    def of(cls, value: Any) -> "Answer":
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


class Stream(Answer):
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
        self._query: Query | None = None

    @property
    def actor(self) -> str | None:
        """The URN of whoever the request's token belongs to; None when it carries none."""
        return self.access.actor

    @property
    def query(self) -> Query:
        """The parameters of the address."""
        if self._query is None:
            self._query = Query(self.scope["query_string"])
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
            raise Refusal(403, f"requests from pages of {origin} are not taken")


def content_length(headers: Mapping[bytes, bytes]) -> int:
    """Return the length that the headers declare, 0 without one.

    Raises `Refusal` (400) for one that is no number, or has more digits than any body needs.
    """
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or len(declared) > _MAX_LENGTH_DIGITS:
        raise Refusal(400, f"Content-Length must be a number of bytes, not {declared[:40]!r}")
    return int(declared)


def _too_large() -> Refusal:
    return Refusal(
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
