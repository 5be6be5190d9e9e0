"""Requests over HTTP without encryption: to the embedded catalog, and to http:// addresses.

Needs no library, so that nothing is imported before the first answer of this machine's catalog,
and costs a fraction of what a general client does. https and whatever goes through a proxy is
sent by `explorer.client.http`.
"""

import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from urllib.parse import urlsplit

import orjson

from explorer.client import failures
from explorer.client.address import UNIX, base_of
from explorer.client.framing import write_head
from explorer.client.keepalive import Broken, Incoming, KeepAlive, Outgoing, Place, TooLong
from explorer.client.requests.request import Request
from explorer.client.transport import Answer, Streamed
from explorer.errors import CatalogError, InvalidInput

__all__ = [
    "CONNECT_SECONDS",
    "HEADERS",
    "MAX_ANSWER_BYTES",
    "MAX_CONNECTIONS",
    "PlainTransport",
    "unpacked",
]

HEADERS = {"X-RestLi-Protocol-Version": "2.0.0", "Accept": "application/json"}
MAX_CONNECTIONS = 20
CONNECT_SECONDS = 5.0
MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""How long an answer may be, also when it is unpacked."""
# gzip and zlib, told apart by their first bytes.
_EITHER = zlib.MAX_WBITS | 32


class PlainTransport:
    """HTTP/1.1 over TCP or, for addresses like `unix:/run/catalog.sock`, a Unix socket."""

    def __init__(self, address: str, timeout_seconds: float) -> None:
        self._address = address
        self._connect_seconds = min(CONNECT_SECONDS, timeout_seconds)
        place: Place
        if address.startswith(UNIX):
            place, host, self._prefix = address.removeprefix(UNIX), "catalog", ""
        else:
            parts = urlsplit(base_of(address))
            place = (parts.hostname or "", parts.port or 80)
            host, self._prefix = parts.netloc.rpartition("@")[2], parts.path
        self._common = [
            (b"Host", host.encode("idna" if not host.isascii() else "ascii")),
            *((name.encode(), text.encode()) for name, text in HEADERS.items()),
        ]
        self._lines = KeepAlive(place, MAX_CONNECTIONS)

    async def send(self, request: Request) -> Answer:
        """Send once; raises `Unreachable` saying what went wrong, `NeverSent` when nothing left,
        `Unreadable` for an answer without measure."""
        outgoing = self._outgoing(request)
        try:
            incoming = await self._lines.send(outgoing)
            try:
                return _answer(incoming, await incoming.body(MAX_ANSWER_BYTES))
            finally:
                incoming.end()
        except Broken as error:
            failure = self._told(error)
        raise failure

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Streamed, None]:
        """The answer as it comes. Its connection is its own until it is left."""
        failure = None
        try:
            incoming = await self._lines.send(self._outgoing(request))
        except Broken as error:
            failure = self._told(error)
        if failure is not None:
            raise failure
        try:
            async with aclosing(self._pieces(incoming)) as pieces:
                yield Streamed(incoming.status, _names(incoming), pieces)
        finally:
            incoming.end()

    async def close(self) -> None:
        """Hang up."""
        self._lines.close()

    async def _pieces(self, incoming: Incoming) -> AsyncGenerator[bytes, None]:
        failure = None
        try:
            async with aclosing(incoming.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        except Broken as error:
            failure = self._told(error)
        if failure is not None:
            raise failure

    def _outgoing(self, request: Request) -> Outgoing:
        body = b"" if request.body is None else orjson.dumps(request.body)
        return Outgoing(
            self._head(request, len(body)), body, self._connect_seconds, request.repeatable
        )

    def _head(self, request: Request, length: int) -> bytes:
        headers = self._common.copy()
        headers += [(name.encode(), text.encode("latin-1")) for name, text in request.headers]
        if request.body is not None:
            headers.append((b"Content-Type", b"application/json"))
        if request.body is not None or request.method != "GET":
            headers.append((b"Content-Length", b"%d" % length))
        if request.signature is not None:
            headers.append((b"Authorization", request.signature.header.encode("latin-1")))
        target = (self._prefix + request.path).encode("ascii")
        try:
            return write_head(request.method.encode(), target, headers)
        except ValueError as error:
            problem = str(error)
        raise InvalidInput(f"the request cannot be sent: {problem}")

    def _told(self, error: Broken) -> CatalogError:
        if isinstance(error, TooLong):
            return failures.too_long(self._address, MAX_ANSWER_BYTES)
        if error.stage == "connecting":
            return failures.nobody_there(self._address)
        return failures.hung_up(self._address, str(error))


def _answer(incoming: Incoming, body: bytes) -> Answer:
    names = _names(incoming)
    try:
        return Answer(incoming.status, unpacked(body, names), names)
    except OverflowError:
        failure: Broken = TooLong()
    except ValueError as error:
        failure = Broken("answering", str(error))
    raise failure


def unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body of an answer as its server packed it. Raises `OverflowError` where that is longer
    than any answer that makes sense, `ValueError` where it cannot be unpacked."""
    if headers.get("content-encoding", "").lower() not in ("gzip", "x-gzip", "deflate"):
        return body
    unpacking = zlib.decompressobj(_EITHER)
    try:
        body = unpacking.decompress(body, MAX_ANSWER_BYTES)
    except zlib.error:
        raise ValueError("its answer cannot be unpacked") from None
    if unpacking.unconsumed_tail:
        raise OverflowError
    if not unpacking.eof:
        raise ValueError("its answer cannot be unpacked")
    return body


def _names(incoming: Incoming) -> dict[str, str]:
    return {name.decode("latin-1"): text.decode("latin-1") for name, text in incoming.headers}
