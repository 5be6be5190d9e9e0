"""Requests through httpx, here alone: https, proxies, and any carrier that speaks httpx's language.

Imported when a first such request is sent, for httpx takes longer to import than a screen to
appear.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import httpx
import orjson

from explorer.client import failures
from explorer.client.address import UNIX, base_of, shown
from explorer.client.plain import (
    CONNECT_SECONDS,
    HEADERS,
    MAX_ANSWER_BYTES,
    MAX_CONNECTIONS,
    unpacked,
)
from explorer.client.requests.request import Request
from explorer.client.transport import Answer, Streamed
from explorer.errors import CatalogError, Untrusted, Unusable

__all__ = ["HttpTransport"]


class HttpTransport:
    """httpx over TCP or, for addresses like `unix:/run/catalog.sock`, a Unix socket.

    `carrier` takes the requests in place of the network: `httpx.ASGITransport(app)` for an
    application in this process, `httpx.MockTransport(answer)` for made-up answers. `proxy` is the
    address of the proxy that requests go through. Certificates are checked against those of
    certifi, or of `SSL_CERT_FILE` or `SSL_CERT_DIR` where these are set.

    A carrier is asked directly rather than through `httpx.AsyncClient`: that follows no redirect,
    keeps no cookie, and writes no address into a log.
    """

    def __init__(
        self,
        address: str,
        timeout_seconds: float = 30.0,
        *,
        carrier: httpx.AsyncBaseTransport | None = None,
        proxy: str | None = None,
    ) -> None:
        """Raises `Unusable` for a proxy or certificates that cannot be used."""
        self._address = address
        self._proxy = proxy
        is_unix = address.startswith(UNIX)
        self._base = "http://catalog" if is_unix else base_of(address)
        # Loading certificates takes longer than a first answer, so only where they are used.
        try:
            self._carrier = carrier or httpx.AsyncHTTPTransport(
                uds=address.removeprefix(UNIX) if is_unix else None,
                limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
                verify=self._base.startswith("https:"),
                proxy=proxy,
            )
        except OSError as error:
            raise Unusable(
                f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}"
            ) from error
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise failures.unusable_proxy(proxy or "", str(error)) from None
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
                names = _names(answer)
                body = unpacked(await _body(answer), names)
                return Answer(answer.status_code, body, names)
            finally:
                await answer.aclose()
        except OverflowError:
            failure = failures.too_long(self._address, MAX_ANSWER_BYTES)
        except httpx.HTTPError as error:
            failure = self._told(error)
        except ValueError as error:
            failure = failures.hung_up(self._address, str(error))
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
            answer = await self._carrier.handle_async_request(self._dressed(request, packed=False))
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
            async for piece in _raw(answer):
                yield piece
        except httpx.HTTPError as error:
            failure = self._told(error)
        if failure is not None:
            raise failure

    def _dressed(self, request: Request, *, packed: bool = True) -> httpx.Request:
        content = None if request.body is None else orjson.dumps(request.body)
        headers = {"Accept-Encoding": "gzip, deflate" if packed else "identity"}
        headers |= HEADERS | dict(request.headers)
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

    def _told(self, error: httpx.HTTPError) -> CatalogError:
        refused = _tls_error(error)
        if refused is not None:
            return _not_trusted(self._address, refused)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            return failures.nobody_there(self._address, self._proxy)
        if isinstance(error, httpx.ProxyError):
            return failures.nobody_there(self._address, self._proxy, str(error))
        if isinstance(error, httpx.TimeoutException):
            return failures.too_slow(self._address)
        return failures.hung_up(self._address, str(error) or type(error).__name__)


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """What went wrong with the encryption, where a failure to connect comes from that."""
    if not isinstance(error, httpx.ConnectError):
        return None
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ssl.SSLError):
            return at
        at = at.__cause__ or at.__context__
    return None


def _not_trusted(address: str, error: ssl.SSLError) -> Untrusted:
    """The error for a server with which no trusted encrypted connection can be made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Untrusted(
            f"{shown(address)} shows a certificate that is not trusted here "
            f"({error.verify_message}); set SSL_CERT_FILE to a file with the "
            "certificate of the authority that signed it"
        )
    reason = error.reason or str(error)
    return Untrusted(
        f"no encrypted connection to {shown(address)} can be made ({reason}); if the server speaks "
        "plain HTTP, its address begins with http://"
    )


async def _body(answer: httpx.Response) -> bytes:
    """All of an answer, as it came; raises `OverflowError` for one that is too long."""
    held, size = [], 0
    async for piece in _raw(answer):
        held.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise OverflowError
    return b"".join(held)


async def _raw(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    # Not unpacked by httpx, which has no measure for what packed bytes become.
    if answer.is_stream_consumed:
        # A made-up answer, whose content is there already.
        yield answer.content
        return
    async for piece in answer.aiter_raw():
        yield piece


def _names(answer: httpx.Response) -> dict[str, str]:
    return {name.lower(): text for name, text in answer.headers.items()}
