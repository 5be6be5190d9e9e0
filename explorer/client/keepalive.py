"""HTTP/1.1 without encryption, over TCP or a Unix socket, on connections that stay open.

It does what a catalog's client needs and no more, which makes a question several times cheaper
than a general client's. Everything that goes wrong is one `Broken`, which says how far it came.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from explorer.client.framing import Framing, Head, read_chunk_size, read_head

__all__ = ["Broken", "Incoming", "KeepAlive", "Outgoing", "Place", "TooLong"]

Place = tuple[str, int] | str
Stage = Literal["connecting", "waiting", "answering"]

_MAX_HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024
# Servers hang up on connections that idle; one that has idled long is not trusted with a request.
_MAX_IDLE_SECONDS = 4.0
_HEAD_END = b"\r\n\r\n"
_LINE_END = b"\r\n"

_S = TypeVar("_S")
_T = TypeVar("_T")


class Broken(Exception):
    """The exchange failed; `stage` says whether while connecting, while nothing of the answer had
    come, or in the middle of it."""

    def __init__(self, stage: Stage, why: str) -> None:
        super().__init__(why)
        self.stage = stage


class TooLong(Broken):
    """The answer is longer than its reader takes."""

    def __init__(self) -> None:
        super().__init__("answering", "its answer is too long")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it goes over the wire. `repeatable` as in `Request`."""

    # Neither shows itself: the head may hold a token.
    head: bytes = field(repr=False)
    body: bytes = field(repr=False)
    connect_seconds: float
    repeatable: bool


class _Counting(asyncio.StreamReaderProtocol):
    """Knows how much has come, and whether more can."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.fed = 0
        self.ended = False

    def data_received(self, data: bytes) -> None:
        self.fed += len(data)
        super().data_received(data)

    def eof_received(self) -> bool | None:
        self.ended = True
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        super().connection_lost(exc)


class _Line:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, came: _Counting
    ) -> None:
        self._reader = reader
        self._came = came
        self._writer = writer
        self._taken = 0
        self._idle_since = 0.0

    async def say(self, outgoing: Outgoing) -> None:
        try:
            self._writer.write(outgoing.head + outgoing.body)
            await self._writer.drain()
        except OSError as error:
            raise Broken("waiting", _words(error)) from None

    async def head(self) -> bytes:
        stage: Stage = "waiting"
        try:
            given = await self._reader.readuntil(_HEAD_END)
        except asyncio.IncompleteReadError as error:
            stage = "answering" if error.partial else "waiting"
            raise Broken(stage, "it hung up") from None
        except asyncio.LimitOverrunError:
            raise Broken("answering", "the head of its answer has no end") from None
        except OSError as error:
            raise Broken(stage, _words(error)) from None
        self._taken += len(given)
        return given

    async def exactly(self, count: int) -> bytes:
        return self._took(await _within(self._reader.readexactly(count)))

    async def some(self, most: int) -> bytes:
        return self._took(await _within(self._reader.read(most)))

    async def row(self) -> bytes:
        return self._took(await _within(self._reader.readuntil(_LINE_END)))

    def rest(self) -> None:
        """Begin to idle."""
        self._idle_since = asyncio.get_running_loop().time()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come that nobody asked for, and nobody hung up."""
        return (
            self._came.fed == self._taken and not self._came.ended and not self._writer.is_closing()
        )

    @property
    def is_fresh(self) -> bool:
        return asyncio.get_running_loop().time() - self._idle_since < _MAX_IDLE_SECONDS

    def hang_up(self) -> None:
        # At once: what is unsent or unread is of no use to anybody.
        self._writer.transport.abort()

    def _took(self, given: bytes) -> bytes:
        self._taken += len(given)
        return given


class Incoming:
    """An answer whose head has come. `body` or `pieces` gives the rest. `end` is always called:
    it keeps the connection if the whole answer was taken, and hangs up otherwise."""

    def __init__(
        self, line: _Line, head: Head, framing: Framing, release: Callable[[_Line, bool], None]
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self._framing = framing
        self._line = line
        self._release = release
        self._is_over = False
        self._is_whole = False

    async def body(self, most_bytes: int) -> bytes:
        """All of it; raises `TooLong` for more than `most_bytes`."""
        length = self._framing.length
        if length is None:
            held, size = [], 0
            async with aclosing(self.pieces()) as pieces:
                async for piece in pieces:
                    held.append(piece)
                    size += len(piece)
                    if size > most_bytes:
                        raise TooLong
            return b"".join(held)
        if length > most_bytes:
            raise TooLong
        given = await self._line.exactly(length) if length else b""
        self._is_whole = True
        return given

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """What has come, as it comes."""
        if self._framing.chunked:
            while size := _parsed(read_chunk_size, await self._line.row()):
                left = size
                while left:
                    piece = await self._next(left)
                    left -= len(piece)
                    yield piece
                await self._line.exactly(len(_LINE_END))
            while await self._line.row() != _LINE_END:
                pass  # trailers
        elif self._framing.length is not None:
            left = self._framing.length
            while left:
                piece = await self._next(left)
                left -= len(piece)
                yield piece
        else:
            while piece := await self._line.some(_PIECE_BYTES):
                yield piece
        self._is_whole = True

    def end(self) -> None:
        """Give the connection back, or hang up."""
        if not self._is_over:
            self._is_over = True
            self._release(self._line, self._is_whole and self._framing.stays)

    async def _next(self, left: int) -> bytes:
        piece = await self._line.some(min(left, _PIECE_BYTES))
        if not piece:
            raise Broken("answering", "its answer broke off")
        return piece


class KeepAlive:
    """Connections to one place, a host and port or the path of a socket; at most `limit` of them
    are kept. Used from one event loop."""

    def __init__(self, place: Place, limit: int) -> None:
        self._place = place
        self._limit = limit
        self._idle: list[_Line] = []
        self._busy: set[_Line] = set()

    async def send(self, outgoing: Outgoing) -> Incoming:
        """Send one request, and take the head of its answer. Raises `Broken`.

        A kept connection may be hung up while the request travels; what is repeatable and got no
        answer at all there is sent once more, on a new one.
        """
        line = self._kept()
        if line is not None:
            try:
                return await self._exchange(line, outgoing)
            except Broken as error:
                if error.stage != "waiting" or not outgoing.repeatable:
                    raise
        return await self._exchange(await self._opened(outgoing.connect_seconds), outgoing)

    def close(self) -> None:
        """Hang up, also on those who still wait for an answer."""
        for line in (*self._idle, *self._busy):
            line.hang_up()
        self._idle.clear()
        self._busy.clear()

    async def _exchange(self, line: _Line, outgoing: Outgoing) -> Incoming:
        self._busy.add(line)
        answered: Incoming | None = None
        try:
            await line.say(outgoing)
            head = _parsed(read_head, await line.head())
            while head.status < 200:
                head = _parsed(read_head, await line.head())
            answered = Incoming(line, head, _parsed(Framing.of, head), self._release)
        finally:
            if answered is None:
                self._release(line, False)
        return answered

    def _kept(self) -> _Line | None:
        while self._idle:
            line = self._idle.pop()
            if line.is_quiet and line.is_fresh:
                return line
            line.hang_up()
        return None

    async def _opened(self, connect_seconds: float) -> _Line:
        try:
            async with asyncio.timeout(connect_seconds):
                return await self._connect()
        except TimeoutError:
            why = f"no connection within {connect_seconds:g} seconds"
        except (OSError, UnicodeError) as error:
            why = _words(error)
        raise Broken("connecting", why)

    async def _connect(self) -> _Line:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_MAX_HEAD_BYTES)
        protocol = _Counting(reader)
        if isinstance(self._place, str):
            transport, _ = await loop.create_unix_connection(lambda: protocol, self._place)
        else:
            transport, _ = await loop.create_connection(lambda: protocol, *self._place)
        return _Line(reader, asyncio.StreamWriter(transport, protocol, reader, loop), protocol)

    def _release(self, line: _Line, is_usable: bool) -> None:
        self._busy.discard(line)
        if is_usable and len(self._idle) < self._limit and line.is_quiet:
            line.rest()
            self._idle.append(line)
        else:
            line.hang_up()


async def _within(read: Awaitable[bytes]) -> bytes:
    """A read inside an answer, whatever may go wrong told as `Broken`."""
    try:
        return await read
    except asyncio.IncompleteReadError:
        why = "its answer broke off"
    except asyncio.LimitOverrunError:
        why = "its answer is no HTTP"
    except OSError as error:
        why = _words(error)
    raise Broken("answering", why)


def _parsed(parse: Callable[[_S], _T], given: _S) -> _T:
    try:
        return parse(given)
    except ValueError as error:
        raise Broken("answering", str(error)) from None


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "it hung up"
