"""Requests through httpx, here alone: https, and any carrier that speaks httpx's language.

Imported when a first such request is sent, for httpx takes longer to import than a screen to
appear.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import httpx
import orjson

from explorer.client import failures
from explorer.client.address import UNIX, base_of
from explorer.client.plain import CONNECT_SECONDS, HEADERS, MAX_ANSWER_BYTES, MAX_CONNECTIONS
from explorer.client.requests.request import Request
from explorer.client.transport import Answer, Streamed
from explorer.errors import Unreachable

__all__ = ["HttpTransport"]

_PIECE_BYTES = 64 * 1024
_SAID = {"Accept-Encoding": "gzip, deflate"} | HEADERS


class HttpTransport:
    """httpx over TCP or, for addresses like `unix:/run/catalog.sock`, a Unix socket.

    `carrier` takes the requests in place of the network: `httpx.ASGITransport(app)` for an
    application in this process, `httpx.MockTransport(answer)` for made-up answers.

    A carrier is asked directly rather than through `httpx.AsyncClient`: that follows no redirect,
    keeps no cookie, and writes no address into a log.
    """

    def __init__(
        self,
        address: str,
        timeout_seconds: float = 30.0,
        *,
        carrier: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = address
        is_unix = address.startswith(UNIX)
        self._base = "http://catalog" if is_unix else base_of(address)
        # Loading certificates takes longer than a first answer, so only where they are used.
        self._carrier = carrier or httpx.AsyncHTTPTransport(
            uds=address.removeprefix(UNIX) if is_unix else None,
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
            verify=self._base.startswith("https:"),
        )
        self._limits = httpx.Timeout(
            timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)
        ).as_dict()

    async def send(self, request: Request) -> Answer:
        """Send once; raises `Unreachable` saying what went wrong, `NeverSent` when nothing left,
        `Unreadable` for an answer without measure."""
        failure: BaseException
        try:
            answer = await self._carrier.handle_async_request(self._dressed(request))
            try:
                body = await _body(answer)
                if body is not None:
                    return Answer(answer.status_code, body, _names(answer))
            finally:
                await answer.aclose()
            failure = failures.too_long(self._address, MAX_ANSWER_BYTES)
        except httpx.HTTPError as error:
            failure = self._told(error)
        except asyncio.CancelledError as error:
            error.__context__ = None
            failure = error.with_traceback(None)
        # Apart from what went before: the frames in its trace hold the request's signature.
        raise failure

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Streamed, None]:
        """The answer as it comes. Its connection is its own until it is left."""
        failure = None
        try:
            answer = await self._carrier.handle_async_request(self._dressed(request))
        except httpx.HTTPError as error:
            failure = self._told(error)
        if failure is not None:
            raise failure
        try:
            async with aclosing(self._pieces(answer)) as pieces:
                yield Streamed(answer.status_code, _names(answer), pieces)
        finally:
            await answer.aclose()

    async def close(self) -> None:
        """Hang up."""
        await self._carrier.aclose()

    async def _pieces(self, answer: httpx.Response) -> AsyncGenerator[bytes, None]:
        failure = None
        try:
            async for piece in answer.aiter_bytes():
                yield piece
        except httpx.HTTPError as error:
            failure = self._told(error)
        if failure is not None:
            raise failure

    def _dressed(self, request: Request) -> httpx.Request:
        content = None if request.body is None else orjson.dumps(request.body)
        headers = _SAID | dict(request.headers)
        if content is not None:
            headers["Content-Type"] = "application/json"
        if request.signature is not None:
            headers["Authorization"] = request.signature.header
        return httpx.Request(
            request.method,
            self._base + request.path,
            headers=headers,
            content=content,
            extensions={"timeout": self._limits},
        )

    def _told(self, error: httpx.HTTPError) -> Unreachable:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            return failures.nobody_there(self._address)
        if isinstance(error, httpx.TimeoutException):
            return failures.too_slow(self._address)
        return failures.hung_up(self._address, str(error) or type(error).__name__)


async def _body(answer: httpx.Response) -> bytes | None:
    """All of an answer, unpacked; nothing for one that is too long."""
    held, size = [], 0
    async for piece in answer.aiter_bytes(_PIECE_BYTES):
        held.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            return None
    return b"".join(held)


def _names(answer: httpx.Response) -> dict[str, str]:
    return {name.lower(): text for name, text in answer.headers.items()}
