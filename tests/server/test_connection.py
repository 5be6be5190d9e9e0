"""What one connection may take of the service: memory, time, and a place among the others."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from explorer.instance import find
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.process import ConnectionLimits

MEGABYTE = 1024 * 1024
SENT = 200 * MEGABYTE
GROWTH = 20 * MEGABYTE
CHUNKED = b"POST /config HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
# What is sent first, and what is sent again and again after it.
FLOODS = {
    "header lines": (b"GET /config HTTP/1.1\r\nHost: localhost\r\n", b"a: b\r\n" * 10_000),
    "a header value": (b"GET /config HTTP/1.1\r\nHost: localhost\r\nA: ", b"v" * 65_536),
    "a header name": (b"GET /config HTTP/1.1\r\nHost: localhost\r\n", b"n" * 65_536),
    "an address": (b"GET /", b"p" * 65_536),
    "trailers": (CHUNKED + b"1\r\n1\r\n0\r\n", b"a: b\r\n" * 10_000),
    "a trailer value": (CHUNKED + b"1\r\n1\r\n0\r\nA: ", b"v" * 65_536),
    "a trailer of a request that reads no body": (
        CHUNKED.replace(b"POST", b"GET") + b"1\r\n1\r\n0\r\nA: ",
        b"v" * 65_536,
    ),
}


class Process:
    """A service in a process of its own, on a port or on a Unix socket."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect(self) -> socket.socket:
        raise NotImplementedError

    def client(self) -> httpx.Client:
        raise NotImplementedError

    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * resource.getpagesize()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


class OnPort(Process):
    def __init__(self, data_dir: Path) -> None:
        super().__init__(["explorer.cli", "serve", "--port", "0", "--data-dir", str(data_dir)])
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        threading.Thread(target=lambda: [None for _ in self.process.stderr or ()]).start()

    def connect(self) -> socket.socket:
        host, port = self.address.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=120)

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=120)


class OnSocket(Process):
    def __init__(self, data_dir: Path) -> None:
        data_dir.mkdir()
        super().__init__(["explorer.cli.service", "--no-sample", "--data-dir", str(data_dir)])
        while (found := find(data_dir)) is None:
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)
        self.path = found.address.removeprefix("unix:")

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(self.path)
        return connection

    def client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=self.path)
        return httpx.Client(base_url="http://catalog", transport=transport, timeout=120)


@pytest.fixture(scope="module", params=[OnPort, OnSocket])
def process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    """A service on a port, then one on a Unix socket."""
    started: Process = request.param(tmp_path_factory.mktemp("served") / "data")
    yield started
    started.stop()


def flood(connection: socket.socket, first: bytes, again: bytes, count: int) -> bytes:
    """Send until so many bytes are gone or nobody takes them; the answer, as far as it came."""
    sent = 0
    try:
        connection.sendall(first)
        while sent < count:
            connection.sendall(again)
            sent += len(again)
    except OSError:
        pass
    return answer_of(connection)


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    pieces = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("what", FLOODS)
def test_a_flood_of_headers_takes_no_memory_and_holds_up_nobody(
    process: Process, what: str
) -> None:
    with process.client() as good, process.connect() as attacker:
        assert good.get("/config").status_code == 200
        before = process.resident_bytes()
        # Sent while the flood goes on.
        answers: list[int] = []
        is_over = threading.Event()

        def ask() -> None:
            while not is_over.is_set():
                answers.append(good.get("/health").status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        flood(attacker, *FLOODS[what], SENT)
        is_over.set()
        asking.join()
        assert set(answers) <= {200}
        assert good.get("/config").status_code == 200
        assert process.resident_bytes() - before < GROWTH


def asked(address: str, sent: bytes) -> bytes:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(sent)
        return answer_of(connection)


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer.split(b" ", 2)[1])


@pytest.fixture(scope="module")
def site(catalog: CatalogEngine, serve: Callable[..., str]) -> str:
    return serve(Service(catalog))


@pytest.fixture(scope="module")
def hasty(catalog: CatalogEngine, serve: Callable[..., str]) -> str:
    """A site that waits half a second for a head, a body, or a reader."""
    limits = ConnectionLimits(head_seconds=0.5, body_seconds=0.5, answer_seconds=0.5)
    return serve(Service(catalog), limits)


@pytest.mark.parametrize(
    ("size", "status"), [(60_000, 200), (65_000, 200), (66_000, 431), (500_000, 431)]
)
@pytest.mark.parametrize("lines", [1, 500])
def test_a_head_may_have_64_kilobytes(site: str, size: int, status: int, lines: int) -> None:
    line = b"A: " + b"v" * (size // lines - 5) + b"\r\n"
    head = b"GET /config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    answer = asked(site, head + line * lines + b"\r\n")
    assert status_of(answer) == status
    if status == 431:
        assert b"request line and headers are larger than 64 KB" in answer
        assert b"RestLiServiceException" in answer


def test_trailers_may_have_64_kilobytes_and_are_no_headers(site: str) -> None:
    body = b'{"urn":"urn:li:tag:never-written"}'
    head = CHUNKED.replace(b"/config", b"/entities?action=exists")
    head = head.replace(b"Host", b"Connection: close\r\nHost")
    chunk = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    short = asked(site, head + chunk + b"A: b\r\nHost: evil\r\n\r\n")
    assert status_of(short) == 200
    assert b'{"value":false}' in short
    long = asked(site, head + chunk + b"A: " + b"v" * 200_000 + b"\r\n\r\n")
    assert status_of(long) == 431
    assert b"trailers are larger than 64 KB" in long


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /config HTTP/1.1\r\nHost: local", 408),
        (b"\r\n", 408),
        (b"POST /entities?action=exists HTTP/1.1\r\nContent-Length: 9\r\n\r\n{", 408),
        (CHUNKED.replace(b"/config", b"/entities?action=exists") + b"1;name=val", 408),
        (b"", None),
    ],
)
def test_a_request_that_does_not_go_on_is_ended(
    hasty: str, sent: bytes, status: int | None
) -> None:
    answer = asked(hasty, sent)
    if status is None:
        assert answer == b""
    else:
        assert status_of(answer) == status


@pytest.mark.nightly
@pytest.mark.parametrize(
    "begin",
    [
        b"GET /config HTTP/1.1\r\nA: ",
        b"POST /entities?action=exists HTTP/1.1\r\nContent-Length: 90000\r\n\r\n",
    ],
)
def test_a_request_that_trickles_is_ended(hasty: str, begin: bytes) -> None:
    """A byte now and then is not enough, of a head or of a body."""
    host, port = hasty.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        assert sends_until_closed(connection, begin, again=b"a")


def test_a_connection_that_was_used_may_wait_longer_than_a_head_may_take(hasty: str) -> None:
    with httpx.Client(base_url=hasty, timeout=120) as client:
        assert client.get("/health").status_code == 200
        time.sleep(1)
        stream = client.get("/health").extensions["network_stream"]
        assert client.get("/health").extensions["network_stream"] is stream


@pytest.mark.nightly
def test_a_large_body_that_keeps_coming_is_taken(hasty: str) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"urn":"urn:li:tag:never-written","padding":"'
        # Three times as long as a body may stand still, in steps that are a tenth of that.
        for _ in range(30):
            yield b"p" * 10_000
            time.sleep(0.05)
        yield b'"}'

    answer = httpx.post(f"{hasty}/entities?action=exists", content=pieces(), timeout=120)
    assert answer.json() == {"value": False}


def test_a_new_client_gets_in_past_half_open_connections(
    catalog: CatalogEngine, serve: Callable[..., str]
) -> None:
    site = serve(Service(catalog), ConnectionLimits(connections=50))
    host, port = site.removeprefix("http://").split(":")
    with ExitStack() as stack:
        patient = stack.enter_context(httpx.Client(base_url=site, timeout=120))
        assert patient.get("/health").status_code == 200
        half_open = []
        for _ in range(200):
            connection = socket.create_connection((host, int(port)), timeout=120)
            half_open.append(stack.enter_context(connection))
            connection.sendall(b"GET /config HTTP/1.1\r\nA: ")
        assert httpx.get(f"{site}/health", timeout=120).status_code == 200
        # One that is in use is not closed for one that never asked anything.
        assert patient.get("/health").status_code == 200
        # The oldest had to go, the newest still waits.
        assert answer_of(half_open[0]) == b""
        half_open[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            half_open[-1].recv(1)


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="limits the open files of a process")
def test_a_thousand_half_open_connections_lock_nobody_out_of_a_process_with_few_files(
    tmp_path: Path,
) -> None:
    limit = "import resource,sys,runpy;resource.setrlimit(resource.RLIMIT_NOFILE,(1024,1024));"
    run = "sys.argv[0]='catalog';runpy.run_module('explorer.cli',run_name='__main__')"
    command = [sys.executable, "-c", limit + run, "serve", "--port", "0", "--log-format", "none"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        host, port = address.removeprefix("http://").split(":")
        with ExitStack() as stack:
            for _ in range(1_100):
                connection = socket.create_connection((host, int(port)), timeout=120)
                stack.enter_context(connection).sendall(b"GET /config HTTP/1.1\r\nA: ")
            with httpx.Client(base_url=address, timeout=120) as client:
                assert client.get("/config").status_code == 200
                posted = client.post(
                    "/entities?action=exists", json={"urn": "urn:li:tag:never-written"}
                )
                assert posted.json() == {"value": False}
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("method", [b"GET /config", b"POST /entities?action=exists"])
@pytest.mark.parametrize("length", [b"0" * 4_400, b"0" * 4_400 + b"2", b"0" * 25 + b"2"])
def test_a_content_length_with_thousands_of_digits_is_refused(
    site: str, method: bytes, length: bytes
) -> None:
    head = b" HTTP/1.1\r\nConnection: close\r\nContent-Length: " + length
    answer = asked(site, method + head + b"\r\n\r\n{}")
    assert status_of(answer) == 400
    assert b"Content-Length must be a number of bytes" in answer


def test_a_head_that_is_malformed_and_too_large_is_refused_once(
    catalog: CatalogEngine, serve: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    site = serve(Service(catalog), ConnectionLimits(head_bytes=1_000))
    answer = asked(site, b"GET /config HTTP/1.1\r\nA\0: " + b"v" * 2_000)
    assert status_of(answer) == 400
    assert answer.count(b"HTTP/1.1") == 1
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []


def test_a_reader_that_takes_nothing_of_its_answers_is_disconnected(hasty: str) -> None:
    host, port = hasty.removeprefix("http://").split(":")
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.settimeout(60)
        stuck.connect((host, int(port)))
        ask = b"GET /restli/docs HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert sends_until_closed(stuck, ask * 200, again=ask)


def test_an_answer_whose_reader_takes_nothing_does_not_keep_a_closing_connection(
    hasty: str,
) -> None:
    host, port = hasty.removeprefix("http://").split(":")
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.settimeout(60)
        stuck.connect((host, int(port)))
        ask = b"GET /restli/docs HTTP/1.1\r\nHost: localhost\r\n"
        last = ask + b"Connection: close\r\n\r\n"
        assert sends_until_closed(stuck, (ask + b"\r\n") * 200 + last, again=b"\r\n")


def sends_until_closed(connection: socket.socket, first: bytes, again: bytes) -> bool:
    """Whether the connection is reset within some time, while more is sent on it."""
    connection.sendall(first)
    for _ in range(3_000):
        time.sleep(0.02)
        try:
            connection.sendall(again)
        except OSError:
            return True
    return False
