"""The terminal in a browser: its own pages alone, for whoever has the key."""

import contextlib
import http.client
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual_serve")

ELSEWHERE = re.compile(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "explorer.tui", "--serve", "--port", str(port), "--read-only"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if "Ctrl+C" in line:
            break
    yield port, said
    process.terminate()
    assert process.wait(120) in (0, -15)
    process.stdout.close()


def ask(port: Any, path: Any, **headers: Any) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode(errors="replace")
    finally:
        connection.close()


def cookie_of(said: Any) -> str:
    """The cookie that the printed address is exchanged for."""
    found = re.search(r":(\d+)/\?key=(\S+)", said)
    assert found
    port, key = found.groups()
    return f"catalog-key-{port}={key}"


def test_it_says_where_it_is_and_who_may_write(served: Any) -> None:
    port, said = served
    assert re.search(rf"http://127\.0\.0\.1:{port}/\?key=\S{{20,}}", said)
    assert "including write access" in said


def test_without_the_key_nothing_is_served(served: Any) -> None:
    port, _ = served
    for path in ("/", "/?key=", "/?key=wrong", "/ws", "/static/js/textual.js"):
        assert ask(port, path)[0] == 403


def test_the_page_is_offline_else_for_anything(served: Any) -> None:
    port, said = served
    key = re.search(r"key=(\S+)", said)
    assert key
    status, headers, _ = ask(port, f"/?key={key[1]}")
    assert status == 303
    cookie = headers["Set-Cookie"].partition(";")[0]
    # Browsers send it to every port of the host, so that it says whose it is.
    assert cookie == cookie_of(said)
    assert ask(port, "/", Cookie=f"catalog-key-{port + 1}={key}")[0] == 403
    assert "HttpOnly" in headers["Set-Cookie"]
    status, headers, page = ask(port, "/", Cookie=cookie)
    assert status == 200
    assert not ELSEWHERE.search(page)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    own = re.findall(r"""(?:src|href)=["']([^"']+)|url\(["']?([^"')]+)""", page)
    for path in {one or other for one, other in own}:
        status, _, body = ask(port, path, Cookie=cookie)
        assert status == 200, path
        if path.endswith("css"):
            assert not ELSEWHERE.search(body)


def test_another_site_cannot_open_a_line(served: Any) -> None:
    port, said = served
    cookie = cookie_of(said)
    upgrade = {
        "Cookie": cookie,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert ask(port, "/ws", **upgrade, Origin="http://evil.example")[0] == 403


def test_a_page_shows_the_program(served: Any, sample: Path) -> None:
    del sample
    port, said = served
    cookie = cookie_of(said)
    head = (
        f"GET /ws?width=100&height=30 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://127.0.0.1:{port}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=120) as line:
        line.sendall(head.encode())
        seen, deadline = b"", time.monotonic() + 120
        while b"catalog" not in seen.partition(b"\r\n\r\n")[2] and time.monotonic() < deadline:
            piece = line.recv(65536)
            assert piece, seen[-300:]
            seen += piece
    assert b"101 Switching" in seen
    assert b"catalog" in seen
