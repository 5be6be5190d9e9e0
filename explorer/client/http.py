"""The transport to every server, over httpx: TCP, Unix sockets, TLS and proxies.

Imported with the first request, because importing httpx takes longer than drawing a screen.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import httpcore
import httpx
import orjson

from explorer.client.transport import (
    UNIX,
    Answer,
    Request,
    Streamed,
    base_url,
    is_local,
    lost_connection,
    mask_url,
    nobody_there,
    too_long,
    too_slow,
    unusable_proxy,
)
from explorer.errors import CatalogError, InvalidInput, Misconfigured, Untrusted
from explorer.files import unpack

_HEADERS = {"X-RestLi-Protocol-Version": "2.0.0", "Accept": "application/json"}
_MAX_CONNECTIONS = 20
_CONNECT_SECONDS = 5.0
# Servers close connections that idle for five seconds; one that has idled nearly as long is not
# used again.
_MAX_IDLE_SECONDS = 4.0
# The maximum size of an answer, compressed and decompressed.
_MAX_ANSWER_BYTES = 256 * 1024 * 1024


class HttpTransport:
    """A transport over TCP or, for addresses such as `unix:/run/catalog.sock`, a Unix socket.

    `carrier` handles the requests instead of the network: `httpx.ASGITransport(app)` for an
    application in this process, `httpx.MockTransport(handler)` for canned answers. `proxy` is the
    address of a proxy. Certificates are verified against those of certifi, or of `SSL_CERT_FILE` or
    `SSL_CERT_DIR` if set.

    The httpx transport is called directly, not through `httpx.AsyncClient`, so redirects are not
    followed, cookies are not stored, and URLs are not logged.
    """

    def __init__(
        self,
        address: str,
        timeout_seconds: float = 30.0,
        *,
        carrier: httpx.AsyncBaseTransport | None = None,
        proxy: str | None = None,
    ) -> None:
        """Choose the connections to use. Raises `Misconfigured` if the proxy or the certificates
        cannot be used."""
        self._address = address
        self._proxy = proxy
        is_unix = address.startswith(UNIX)
        self._base = "http://catalog" if is_unix else base_url(address)
        # Compressing an answer costs more than it saves if it does not cross a network.
        self._encoding = "identity" if proxy is None and is_local(address) else "gzip, deflate"
        if carrier is not None:
            self._carrier = carrier
        elif is_unix:
            self._carrier = UnixSocketTransport(address.removeprefix(UNIX))
        else:
            # Certificates are loaded only if needed, as that takes longer than a first answer.
            self._carrier = _tcp_transport(proxy, verify=self._base.startswith("https:"))
        self._is_closed = False
        self._timeouts = httpx.Timeout(
            timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)
        ).as_dict()

    @classmethod
    def in_process(cls, address: str, app: Any) -> "HttpTransport":
        """Return a transport to an ASGI application in this process; `address` is the address that
        the application sees."""
        return cls(address, carrier=httpx.ASGITransport(app))

    async def send(self, request: Request) -> Answer:
        """Send a request once and return the answer.

        Raises `NeverSent` if no connection was made, `Unreachable` if the answer did not arrive or
        broke off, `Unreadable` if it is too long, `InvalidInput` for a request that HTTP cannot
        carry.
        """
        failure: BaseException
        try:
            answer = await self._carrier.handle_async_request(self._built(request, self._timeouts))
            try:
                headers = _headers_of(answer)
                body = _unpack(await _body(answer), headers)
                return Answer(answer.status_code, body, headers)
            finally:
                await self._finish(answer)
        except OverflowError:
            failure = too_long(self._address, _MAX_ANSWER_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = self._error(error)
        except UnicodeError as error:
            failure = _not_sendable(error)
        except ValueError as error:
            failure = lost_connection(self._address, str(error))
        except asyncio.CancelledError as error:
            error.__context__ = None
            failure = error.with_traceback(None)
        # Raised outside the handlers, because the frames of the original traceback hold the token.
        raise failure

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Streamed, None]:
        """Send a request and return the answer as it arrives, without a read timeout.

        Raises what `send` raises.
        """
        failure: CatalogError | None = None
        patient = self._timeouts | {"read": None}
        try:
            answer = await self._carrier.handle_async_request(
                self._built(request, patient, encoding="identity")
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = self._error(error)
        except UnicodeError as error:
            failure = _not_sendable(error)
        if failure is not None:
            raise failure
        try:
            async with aclosing(self._pieces(answer)) as pieces:
                yield Streamed(answer.status_code, _headers_of(answer), pieces)
        finally:
            await self._finish(answer)

    async def close(self) -> None:
        """Close all connections, including those with a request in progress."""
        self._is_closed = True
        await self._carrier.aclose()

    async def _finish(self, answer: httpx.Response) -> None:
        await answer.aclose()
        connection = answer.extensions.get("network_stream")
        # A connection opened during `close` is not among those that the carrier closed.
        if self._is_closed and connection is not None:
            await connection.aclose()

    async def _pieces(self, answer: httpx.Response) -> AsyncGenerator[bytes, None]:
        failure = None
        try:
            async for piece in _raw(answer):
                yield piece
        except httpx.HTTPError as error:
            failure = self._error(error)
        if failure is not None:
            raise failure

    def _built(
        self, request: Request, timeouts: dict[str, float | None], *, encoding: str | None = None
    ) -> httpx.Request:
        body = request.body
        # Bytes are already a body, whose type is in the headers.
        content = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        headers = {"Accept-Encoding": encoding or self._encoding}
        headers |= _HEADERS | dict(request.headers)
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        if request.signature is not None:
            headers["Authorization"] = request.signature.header
        return httpx.Request(
            request.method,
            self._base + request.path,
            headers=headers,
            content=content,
            extensions={"timeout": timeouts},
        )

    def _error(self, error: httpx.HTTPError | httpx.InvalidURL) -> CatalogError:
        refused = _tls_error(error)
        if refused is not None:
            return _trust_error(self._address, refused)
        match error:
            case httpx.LocalProtocolError() | httpx.InvalidURL():
                return _not_sendable(error)
            case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.PoolTimeout():
                return nobody_there(self._address, self._proxy)
            case httpx.ProxyError():
                return nobody_there(self._address, self._proxy, str(error))
            case httpx.TimeoutException():
                return too_slow(self._address)
            case _:
                return lost_connection(self._address, str(error) or type(error).__name__)


def _tcp_transport(proxy: str | None, *, verify: bool) -> httpx.AsyncHTTPTransport:
    """Return httpx's TCP transport. Raises `Misconfigured` for invalid certificates or proxies."""
    limits = httpx.Limits(
        max_connections=_MAX_CONNECTIONS,
        max_keepalive_connections=_MAX_CONNECTIONS,
        keepalive_expiry=_MAX_IDLE_SECONDS,
    )
    try:
        return httpx.AsyncHTTPTransport(verify=verify, proxy=proxy, limits=limits)
    except OSError as error:
        raise Misconfigured(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}"
        ) from error
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise unusable_proxy(proxy or "", str(error)) from None


class UnixSocketTransport(httpx.AsyncBaseTransport):
    """Sends requests over the Unix socket at `path`, with the streams of asyncio.

    It replaces `httpx.AsyncHTTPTransport(uds=path)`, which always uses anyio. With anyio's streams,
    cancelling a request at the moment in which its answer arrives reports `InvalidStateError` to
    the event loop (anyio 4.16; the same fault at closing is
    https://github.com/agronholm/anyio/issues/1267).
    """

    def __init__(self, path: str) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            uds=path,
            max_connections=_MAX_CONNECTIONS,
            max_keepalive_connections=_MAX_CONNECTIONS,
            keepalive_expiry=_MAX_IDLE_SECONDS,
            network_backend=_AsyncioBackend(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response, whose body is read as it arrives. Raises httpx's
        errors."""
        url = request.url
        with _as_httpx_errors():
            response = await self._pool.handle_async_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_ResponseStream(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        with _as_httpx_errors():
            await self._pool.aclose()


class _ResponseStream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx_errors():
            async for chunk in self._response.aiter_stream():
                yield chunk

    async def aclose(self) -> None:
        with _as_httpx_errors():
            await self._response.aclose()


# Each class before its base classes.
_HTTPX_ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.ReadTimeout, httpx.ReadTimeout),
    (httpcore.WriteTimeout, httpx.WriteTimeout),
    (httpcore.PoolTimeout, httpx.PoolTimeout),
    (httpcore.TimeoutException, httpx.TimeoutException),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.ReadError, httpx.ReadError),
    (httpcore.WriteError, httpx.WriteError),
    (httpcore.NetworkError, httpx.NetworkError),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.RemoteProtocolError, httpx.RemoteProtocolError),
    (httpcore.ProtocolError, httpx.ProtocolError),
)


@contextmanager
def _as_httpx_errors() -> Iterator[None]:
    """Translate httpcore's exceptions to httpx's."""
    try:
        yield
    except tuple(kind for kind, _ in _HTTPX_ERRORS) as error:
        kind = next(
            httpx_error
            for core_error, httpx_error in _HTTPX_ERRORS
            if isinstance(error, core_error)
        )
        raise kind(str(error)) from error


class _AsyncioBackend(httpcore.AsyncNetworkBackend):
    """A network backend that connects to Unix sockets with the streams of asyncio."""

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 (httpcore's interface)
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                return _AsyncioStream(*await asyncio.open_unix_connection(path))
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _AsyncioStream(httpcore.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.transport.abort()

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":
            # An idle connection is readable if the server closed it.
            return self._reader.at_eof() or self._reader.exception() is not None
        return None


def _not_sendable(error: Exception) -> InvalidInput:
    # Does not quote the header, which may be the token.
    why = "a header holds a character outside latin-1" if isinstance(error, UnicodeError) else ""
    return InvalidInput(f"the request cannot be sent: {why or error}")


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """Return the TLS error that caused a connection failure, or `None`."""
    if not isinstance(error, httpx.ConnectError):
        return None
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ssl.SSLError):
            return at
        at = at.__cause__ or at.__context__
    return None


def _trust_error(address: str, error: ssl.SSLError) -> Untrusted:
    """Return the exception for a server to which no trusted TLS connection can be made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Untrusted(
            f"{mask_url(address)} shows a certificate that is not trusted here "
            f"({error.verify_message}); set SSL_CERT_FILE to a file with the "
            "certificate of the authority that signed it"
        )
    reason = error.reason or str(error)
    return Untrusted(
        f"no encrypted connection to {mask_url(address)} can be made ({reason}); if the server "
        "speaks plain HTTP, its address begins with http://"
    )


async def _body(answer: httpx.Response) -> bytes:
    """Return the body of an answer, still compressed. Raises `OverflowError` if it is too long."""
    chunks, size = [], 0
    async for piece in _raw(answer):
        chunks.append(piece)
        size += len(piece)
        if size > _MAX_ANSWER_BYTES:
            raise OverflowError
    return b"".join(chunks)


async def _raw(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    # Not decompressed by httpx, which does not limit the decompressed size.
    if answer.is_stream_consumed:
        # The content of a canned answer is already complete.
        yield answer.content
        return
    async for piece in answer.aiter_raw():
        yield piece


def _unpack(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the decompressed body of an answer.

    Raises `OverflowError` if it is longer than allowed, `ValueError` if it cannot be decompressed.
    """
    if headers.get("content-encoding", "").lower() not in ("gzip", "x-gzip", "deflate"):
        return body
    try:
        return unpack(body, _MAX_ANSWER_BYTES, with_zlib=True)
    except ValueError:
        raise ValueError("its answer cannot be decompressed") from None


def _headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name.lower(): text for name, text in answer.headers.items()}
