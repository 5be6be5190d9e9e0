"""Whatever a server does, a call ends, with the error that says what to do, and shows no token."""

import asyncio
import logging
import signal
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.connection import Connection
from explorer.client.http import HttpTransport
from explorer.client.transport import NeverSent, Request, Retry
from explorer.errors import (
    Busy,
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    Misuse,
    NotFound,
    NotSignedIn,
    ServerFault,
    StorageFull,
    TimedOut,
    Unreachable,
    Unreadable,
    Unsupported,
)
from tests.client.conftest import Site

pytestmark = pytest.mark.anyio

TOKEN = "s3cret-of-the-tests"
QUICK = Retry(tries=2, total_seconds=5, first_pause_seconds=0.001)
# A busy machine may take long over what is quick, so only what waits for the end of the time has
# little of it.
PATIENT_SECONDS = 20.0
HASTY_SECONDS = 0.5
JSON = b"Content-Type: application/json\r\n"
HTML = b"<!DOCTYPE html><html><head><title>Bad &amp; worse</title></head><body>x</body></html>"
FINE = b'{"data": {"fine": true}}'


def answer(status: Any, body: bytes = b"", headers: bytes = b"") -> Any:
    """A whole answer, as bytes."""
    return b"HTTP/1.1 %d X\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


class Gone(Exception):
    """The server hangs up here."""


class Server:
    """Answers on loopback as told by `act(line, request)`, an asynchronous function that writes
    what it likes; remembers what it was asked, and how many left before they were answered."""

    def __init__(self) -> None:
        self.act = self.fine
        self.asked: list[Any] = []
        self.left = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[Any]] = set()
        self._lines: set[asyncio.StreamWriter] = set()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def fine(self, line: Any, _request: Any) -> None:
        line.write(answer(200, FINE, JSON))

    def says(self, *answers: Any) -> None:
        """One answer after another, the last one for ever."""
        left = list(answers)

        async def act(line: Any, _request: Any) -> None:
            said = left.pop(0) if len(left) > 1 else left[0]
            if said is None:
                raise Gone
            line.write(said)

        self.act = act

    def start(self) -> None:
        async def begin() -> None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

        self._run(begin())

    def stop(self) -> None:
        """Hang up on everybody and listen no more."""

        async def end() -> None:
            assert self._server is not None
            # Who was let in at the last moment is hung up on too: a server of Python 3.11 that is
            # closed forgets, and never closes, what it is just accepting.
            for listening in self._server.sockets:
                self._loop.remove_reader(listening.fileno())
            accepting = asyncio.all_tasks() - self._serving - {asyncio.current_task()}
            await asyncio.gather(*accepting, return_exceptions=True)
            self._server.close()
            serving = tuple(self._serving)
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            lines, self._lines = self._lines, set()
            for line in lines:
                line.transport.abort()
            await asyncio.gather(*(one.wait_closed() for one in lines), return_exceptions=True)

        self._run(end())

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def send(self, line: Any, said: Any) -> None:
        """Send what nobody asked for; it has left when this returns."""

        async def sending() -> None:
            line.write(said)
            await line.drain()

        self._run(sending())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENT_SECONDS)

    def _accept(self, reader: Any, line: Any) -> None:
        self._lines.add(line)
        task = self._begin(self._serve(reader, line))
        # One that is cancelled before it began closes nothing.
        task.add_done_callback(lambda _: line.close())

    def _begin(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    async def _serve(self, reader: Any, line: Any) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                text = head.decode("latin-1")
                rows = dict(row.split(": ", 1) for row in text.split("\r\n")[1:-2])
                body = await reader.readexactly(int(rows.get("Content-Length", 0)))
                self.asked.append((text.split(" ")[1], rows, body))
                acting = self._begin(self.act(line, text))
                leaving = self._begin(reader.read(1))
                await asyncio.wait((acting, leaving), return_when=asyncio.FIRST_COMPLETED)
                if not acting.done():
                    self.left += 1
                    acting.cancel()
                    return
                leaving.cancel()
                await asyncio.wait((leaving,))
                acting.result()
                await line.drain()
        except (Gone, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            line.transport.abort() if self.act.__name__ == "reset" else line.close()


@pytest.fixture
def server() -> Iterator[Any]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def _what_a_request_needs_is_imported() -> None:
    """A first request imports httpx and what connects it, which counts as time of the server."""
    made = Server()
    with catalog_of(made, kind=Catalog) as catalog:
        catalog.graphql("{ a }")
    made.close()


def catalog_of(server: Any, kind: Any = AsyncCatalog, **more: Any) -> Any:
    settings = {"token": TOKEN, "retry": QUICK, "timeout_seconds": PATIENT_SECONDS} | more
    return kind(server.url, **settings)


async def eventually(is_so: Any) -> None:
    end = time.monotonic() + PATIENT_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.01)


def drip(piece: Any) -> Any:
    async def act(line: Any, _request: Any) -> None:
        line.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            line.write(piece)
            await line.drain()
            await asyncio.sleep(0.02)

    return act


async def silence(_line: Any, _request: Any) -> None:
    await asyncio.sleep(60)


def told(said: Any, hang_up: bool = False) -> Any:
    async def act(line: Any, _request: Any) -> None:
        line.write(said)
        await line.drain()
        if hang_up:
            raise Gone

    return act


FAULTS = {
    "silent": (silence, TimedOut, None),
    "dripping": (drip(b"x"), TimedOut, None),
    "closes at once": (told(b"", True), Unreachable, None),
    "body cut": (told(answer(200, FINE)[:-3], True), Unreachable, None),
    "head cut": (told(b"HTTP/1.1 200 OK\r\nContent-", True), Unreachable, None),
    "chunk cut": (
        told(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{", True),
        Unreachable,
        None,
    ),
    "chunk of no length": (
        told(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{", True),
        Unreachable,
        None,
    ),
    "no http": (told(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", True), Unreachable, None),
    "endless head": (told(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000, True), Unreachable, None),
    "unpackable": (
        told(answer(200, b"\x1f\x8bnope", b"Content-Encoding: gzip\r\n")),
        Unreachable,
        None,
    ),
    "json damaged": (told(answer(200, FINE[:-2], JSON)), Unreadable, 200),
    "json no object": (told(answer(200, b"[1]", JSON)), Unreadable, 200),
    "a web page": (told(answer(200, HTML)), Unreadable, 200),
    "empty": (told(answer(200)), ServerFault, None),
    "graphql 400 empty": (told(answer(400)), InvalidInput, 400),
    "401": (told(answer(401, b'{"message": "Unauthorized"}')), NotSignedIn, 401),
    "403": (told(answer(403, b'{"message": "not you"}')), Forbidden, 403),
    "404 page": (told(answer(404, HTML)), NotFound, 404),
    "409": (told(answer(409, b"")), Conflict, 409),
    "429": (told(answer(429, b"")), Busy, 429),
    "500": (told(answer(500, b'{"message": "it broke", "stackTrace": "at x"}')), ServerFault, 500),
    "500 text": (told(answer(500, b"it broke")), ServerFault, 500),
    "502 page": (told(answer(502, HTML)), Unreachable, 502),
    "503": (told(answer(503)), Unreachable, 503),
    "504": (told(answer(504, b"late")), TimedOut, 504),
    "redirect": (
        told(answer(302, b"", b"Location: http://u:p@other.example/login?token=abc\r\n")),
        InvalidInput,
        302,
    ),
    "echoes the token": (told(answer(500, b"no: Bearer " + TOKEN.encode())), ServerFault, 500),
}


def seconds_for(fault: str) -> float:
    """Return how long a call may take before it gives up: little where that is what is tried."""
    return HASTY_SECONDS if fault in ("silent", "dripping") else PATIENT_SECONDS


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_has_its_error_in_time_and_shows_no_token(
    server: Any, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server.act, kind, status = FAULTS[fault]
    with caplog.at_level(logging.DEBUG):
        async with catalog_of(server, timeout_seconds=seconds_for(fault)) as catalog:
            with pytest.raises(kind) as caught:
                await catalog.graphql("query q { a }")
    assert type(caught.value) is kind
    if status is not None:
        assert caught.value.status == status
        assert str(caught.value.url).endswith("/api/graphql")
    shown = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    told_of_it = str(caught.value) + repr(caught.value) + str(caught.value.excerpt) + caplog.text
    own = shown.replace(f"TOKEN = {TOKEN!r}", "")
    assert TOKEN not in told_of_it + own
    assert "<" not in str(caught.value)
    assert server.asked[0][1]["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("fault", ["silent", "body cut", "json damaged", "401", "503"])
def test_the_blocking_face_tells_the_same(server: Any, fault: str) -> None:
    server.act, kind, _ = FAULTS[fault]
    with (
        catalog_of(server, kind=Catalog, timeout_seconds=seconds_for(fault)) as catalog,
        pytest.raises(kind) as caught,
    ):
        catalog.graphql("{ a }")
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert TOKEN not in "".join(shown.format())


async def test_words_of_a_proxy_and_of_the_server_are_kept(server: Any) -> None:
    async with catalog_of(server) as catalog:
        server.act = FAULTS["502 page"][0]
        with pytest.raises(Unreachable, match="Bad & worse"):
            await catalog.graphql("{ a }")
        server.act = FAULTS["redirect"][0]
        with pytest.raises(InvalidInput, match=r"http://other\.example/login") as caught:
            await catalog.graphql("{ a }")
        assert "abc" not in str(caught.value)
        assert "u:p" not in str(caught.value)


async def test_a_body_may_come_in_any_of_its_forms(server: Any) -> None:
    pieces = b"".join(b"%x;a=b\r\n%b\r\n" % (1, FINE[at : at + 1]) for at in range(len(FINE)))
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces
    async with catalog_of(server) as catalog:
        for said, hang_up in (
            (chunked + b"0\r\nTrailer: x\r\n\r\n", False),
            (b"HTTP/1.1 100 Continue\r\n\r\n" + answer(200, FINE), False),
            (answer(200, FINE, b"Connection: close\r\n"), True),
            (b"HTTP/1.0 200 OK\r\n\r\n" + FINE, True),
            (answer(200, FINE), False),
        ):
            server.act = told(said, hang_up)
            assert await catalog.graphql("{ a }") == {"fine": True}


async def test_a_kept_connection_that_was_hung_up_costs_nobody_anything(server: Any) -> None:
    async with catalog_of(server, retry=Retry(tries=1)) as catalog:
        for query in ("{ a }", "mutation { a }", "{ a }"):
            server.act = told(answer(200, FINE), hang_up=True)
            await catalog.graphql(query)
            server.act = server.fine
            await asyncio.sleep(0.02)
            await catalog.graphql(query)


async def test_what_nobody_asked_for_is_not_taken_for_an_answer(server: Any) -> None:
    lines = []

    async def act(line: Any, _request: Any) -> None:
        lines.append(line)
        line.write(answer(200, FINE))

    server.act = act
    async with catalog_of(server, retry=Retry(tries=1)) as catalog:
        for _ in range(3):
            assert await catalog.graphql("mutation { a }") == {"fine": True}
            server.send(lines[-1], answer(408, b"you were idle"))


async def test_a_question_is_asked_again_and_a_change_is_not(server: Any) -> None:
    async with catalog_of(server) as catalog:
        for refusal in (None, answer(502), answer(503), answer(504), answer(429)):
            server.says(refusal, answer(200, FINE))
            assert await catalog.graphql("{ a }") == {"fine": True}
            server.asked.clear()
            server.says(refusal, answer(200, FINE))
            with pytest.raises(Unreachable):
                await catalog.graphql("mutation { a }")
            assert len(server.asked) == 1


async def test_a_full_disk_is_not_asked_again(server: Any) -> None:
    server.says(answer(507, b'{"message": "the disk is full; make room there"}'))
    async with catalog_of(server) as catalog:
        with pytest.raises(StorageFull, match=r"^the disk is full; make room there$"):
            await catalog.graphql("{ a }")
    assert len(server.asked) == 1


async def test_tries_and_time_are_bounded(server: Any) -> None:
    server.says(answer(503))
    async with catalog_of(server, retry=Retry(3, 5, 0.001)) as catalog:
        with pytest.raises(Unreachable):
            await catalog.graphql("{ a }")
    assert len(server.asked) == 3
    server.asked.clear()
    begun = time.monotonic()
    async with catalog_of(server, retry=Retry(1000, 0.3, 0.02), timeout_seconds=0.3) as catalog:
        # The time may also end during a try.
        with pytest.raises((Unreachable, TimedOut)):
            await catalog.graphql("{ a }")
    assert len(server.asked) < 20
    assert time.monotonic() - begun < PATIENT_SECONDS


async def test_a_server_is_left_alone_for_as_long_as_it_asks(server: Any) -> None:
    async with catalog_of(server) as catalog:
        server.says(answer(429, b"", b"Retry-After: 1\r\n"), answer(200, FINE))
        begun = time.monotonic()
        assert await catalog.graphql("{ a }") == {"fine": True}
        assert time.monotonic() - begun >= 1
        server.asked.clear()
        server.says(answer(429, b"", b"Retry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\n"))
        with pytest.raises(Busy) as caught:
            await catalog.graphql("{ a }")
        assert caught.value.retry_after_seconds == 86_400
        assert len(server.asked) == 1


async def test_a_server_that_is_not_ready_is_told_with_its_words_not_as_too_slow(
    server: Any,
) -> None:
    left = [answer(503, b'{"message": "counted 3 of 9"}', b"Retry-After: 0\r\n")]

    async def act(line: Any, _request: Any) -> None:
        if left:
            line.write(left.pop())
        else:
            await asyncio.sleep(PATIENT_SECONDS)

    server.act = act
    async with catalog_of(server, retry=Retry(5, 0.5, 0.001), timeout_seconds=0.5) as catalog:
        with pytest.raises(Busy, match="counted 3 of 9") as caught:
            await catalog.graphql("{ a }")
    assert caught.value.excerpt == "counted 3 of 9"
    assert len(server.asked) == 2


async def test_a_server_that_restarts_between_reads_is_survived(server: Any) -> None:
    patient = Retry(tries=500, total_seconds=120, first_pause_seconds=0.01)
    async with catalog_of(server, retry=patient) as catalog:

        async def read() -> None:
            for _ in range(60):
                assert await catalog.graphql("{ a }") == {"fine": True}
                await asyncio.sleep(0.001)

        readers = [asyncio.ensure_future(read()) for _ in range(4)]
        for _ in range(3):
            seen = len(server.asked)
            await eventually(lambda seen=seen: len(server.asked) > seen + 5)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(0.05)
            await asyncio.to_thread(server.start)
        await asyncio.gather(*readers)


async def test_nobody_there_is_said_so_and_asked_a_few_times_only(server: Any) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with AsyncCatalog(url, retry=QUICK) as catalog:
            with pytest.raises(Unreachable, match="is it running"):
                await catalog.graphql("mutation { a }")


async def test_cancelled_questions_hang_up_and_make_room(server: Any) -> None:
    async def slow(line: Any, request: Any) -> None:
        await silence(line, request)

    server.act = slow
    async with catalog_of(server, timeout_seconds=20) as catalog:
        asked = [asyncio.ensure_future(catalog.graphql("{ a }")) for _ in range(50)]
        await eventually(lambda: len(server.asked) == 8)
        for task in asked:
            task.cancel()
        given = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in given)
        server.act = server.fine
        async with asyncio.timeout(PATIENT_SECONDS):
            assert await catalog.graphql("{ a }") == {"fine": True}
        await eventually(lambda: server.left == 8)
        for one in given:
            shown = traceback.TracebackException.from_exception(one, capture_locals=True)
            assert TOKEN not in "".join(shown.format()).replace(f"TOKEN = {TOKEN!r}", "")


def test_an_interrupt_of_the_waiting_hangs_up(server: Any) -> None:
    server.act = silence
    with catalog_of(server, kind=Catalog, timeout_seconds=20) as catalog:

        def interrupt() -> None:
            while not server.asked:
                time.sleep(0.01)
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            catalog.graphql("{ a }")
        asyncio.run(eventually(lambda: server.left == 1))
        server.act = server.fine
        assert catalog.graphql("{ a }") == {"fine": True}


def test_a_client_closed_by_another_thread_lets_nobody_wait(server: Any) -> None:
    server.act = silence
    catalog = catalog_of(server, kind=Catalog, timeout_seconds=20)
    caught = []

    def ask() -> None:
        try:
            catalog.graphql("{ a }")
        except (Misuse, Unreachable) as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    asyncio.run(eventually(lambda: server.asked))
    catalog.close()
    thread.join(PATIENT_SECONDS)
    assert len(caught) == 1
    with pytest.raises(Misuse, match="closed"):
        catalog.graphql("{ a }")


LIVE = Request("GET", "/changes/stream")


async def test_a_stream_gives_lines_as_they_come_and_hangs_up_when_left(server: Any) -> None:
    async def act(line: Any, _request: Any) -> None:
        line.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"id: 1\nda", b"ta: x\r\n\n", b"id"):
            line.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await line.drain()
            await asyncio.sleep(0.01)
        await asyncio.sleep(60)

    server.act = act
    connection = catalog_of(server)._connection
    lines = connection.stream(LIVE)
    assert [await anext(lines) for _ in range(3)] == [b"id: 1", b"data: x", b""]
    await lines.aclose()
    await eventually(lambda: server.left == 1)
    server.act = silence
    waiting = asyncio.ensure_future(anext(connection.stream(LIVE)))
    await eventually(lambda: len(server.asked) == 2)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await eventually(lambda: server.left == 2)
    await connection.close()


@pytest.mark.parametrize("fault", ["403", "503", "chunk cut", "closes at once", "silent"])
async def test_a_stream_fails_with_the_same_errors(server: Any, fault: str) -> None:
    server.act, kind, status = FAULTS[fault]
    connection = catalog_of(server, timeout_seconds=seconds_for(fault))._connection
    with pytest.raises(kind) as caught:
        async for _ in connection.stream(LIVE):
            pass
    assert caught.value.status == status
    await connection.close()


async def test_a_stream_of_the_real_service_tells_what_was_written(site: Site) -> None:
    from explorer.metadata import Proposal, Urn

    tag = Urn.parse("urn:li:tag:streamed")
    request = Request("GET", f"/changes/stream?after=0&urn={tag.encoded}")
    async with AsyncCatalog(site.address) as catalog, asyncio.timeout(20):
        lines = catalog._connection.stream(request)
        assert (await anext(lines)).startswith(b"retry:")
        for name in (b"first", b"second"):
            await catalog.ingest(Proposal(tag, "tagProperties", {"name": name.decode()}))
            async for line in lines:
                if name in line:
                    break
        await lines.aclose()


async def test_a_transport_that_cannot_stream_says_so() -> None:
    class Whole:
        async def send(self, _request: Any) -> Any:
            return 200, b"{}"

        async def close(self) -> None:
            pass

    with pytest.raises(Unsupported, match="cannot stream"):
        await anext(Connection(transport=Whole()).stream(LIVE))


async def test_a_request_cancelled_as_its_answer_arrives_reports_nothing_to_the_loop(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "socket")
    loop = asyncio.get_running_loop()
    reported = []
    former = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    transport = HttpTransport(f"unix:{path}")
    asked = Request("GET", "/config")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        request = asyncio.ensure_future(transport.send(asked))
        server = (await asyncio.to_thread(listener.accept))[0]
        await asyncio.to_thread(server.recv, 65536)
        with server:
            # The answer is noticed by the loop in the same turn as the request is cancelled.
            server.sendall(answer(200, FINE, JSON))
            loop.call_soon(request.cancel)
            with pytest.raises(asyncio.CancelledError):
                await request
        request = asyncio.ensure_future(transport.send(asked))
        server = (await asyncio.to_thread(listener.accept))[0]
        with server:
            await asyncio.to_thread(server.recv, 65536)
            server.sendall(answer(200, FINE, JSON))
            assert (await request).body == FINE
    await transport.close()
    loop.set_exception_handler(former)
    assert reported == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (None, NeverSent),
        (b"", Unreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", Unreachable),
        (b"no HTTP at all\r\n\r\n", Unreachable),
        ("silence", TimedOut),
    ],
)
async def test_trouble_on_a_unix_socket_is_told_as_on_tcp(
    tmp_path: Path, reply: bytes | str | None, expected: Any
) -> None:
    path = str(tmp_path / "socket")
    patience = HASTY_SECONDS if reply == "silence" else PATIENT_SECONDS
    transport = HttpTransport(f"unix:{path}", timeout_seconds=patience)

    async def serve(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if reply == "silence":
            await reader.read()
        else:
            writer.write(reply)
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    hung_up = asyncio.Event()
    server = None if reply is None else await asyncio.start_unix_server(serve, path)
    with pytest.raises(expected) as raised:
        await transport.send(Request("GET", "/config"))
    assert type(raised.value) is expected
    await transport.close()
    if server is not None:
        await hung_up.wait()
        server.close()


@pytest.mark.parametrize("carrier", ["tcp", "unix"])
@pytest.mark.parametrize("steps", [1, 2, 5, 10, 20, 50])
async def test_a_client_that_is_closed_while_it_connects_leaves_no_connection(
    tmp_path: Path, carrier: str, steps: int
) -> None:
    met: list[asyncio.StreamWriter] = []
    nobody_is_left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, line: asyncio.StreamWriter) -> None:
        met.append(line)
        nobody_is_left.clear()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                line.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await line.drain()
        line.close()
        if all(one.is_closing() for one in met):
            nobody_is_left.set()

    path = str(tmp_path / "socket")
    if carrier == "tcp":
        server = await asyncio.start_server(serve, "127.0.0.1")
        transport = HttpTransport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    else:
        server = await asyncio.start_unix_server(serve, path)
        transport = HttpTransport(f"unix:{path}")
    asking = asyncio.ensure_future(transport.send(Request("GET", "/config")))
    for _ in range(steps):
        await asyncio.sleep(0)
    await transport.close()
    with suppress(CatalogError):
        await asking
    # One that was closed already may be asked once more.
    await transport.send(Request("GET", "/config"))
    async with asyncio.timeout(20):
        await nobody_is_left.wait()
    server.close()
    await server.wait_closed()
    for line in met:
        with suppress(ConnectionError):
            await line.wait_closed()
