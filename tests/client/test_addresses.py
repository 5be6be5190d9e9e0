"""An address is written with a slash at its end or without, with a path before ours or without:
the server sees the same. And who it is shown."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest

from explorer import config
from explorer.client import Catalog

TOKEN = "s3cret-of-the-addressed"


class Heard(ThreadingHTTPServer):
    """Remembers the paths with the token that each was asked with, and all headers."""

    asked: list[tuple[str, str | None]]
    heads: list[dict[str, str]]
    url: str


@pytest.fixture
def heard() -> Iterator[Heard]:
    """A server on a socket; what it was asked stands in `heard.asked`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server: Heard

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.server.asked.append((self.path, self.headers.get("Authorization")))
            self.server.heads.append(dict(self.headers.items()))
            body = b'{"value": {"entities": [], "numEntities": 0}, "data": {}}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 - the names that the standard library calls

        def log_message(self, *_: Any) -> None:
            pass

    server = Heard(("127.0.0.1", 0), Handler)
    server.asked, server.heads = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("base", "before"),
    [("", ""), ("/", ""), ("/gms", "/gms"), ("/gms/", "/gms"), ("/a/b/", "/a/b")],
)
def test_every_way_to_write_an_address_asks_for_the_same(
    heard: Any, base: str, before: str
) -> None:
    url = heard.url + base
    with Catalog(url) as catalog:
        catalog.search("x", entity="tag")
        catalog.graphql("{ a }")
        catalog.exists("urn:li:tag:x")
    assert [path for path, _ in heard.asked] == [
        f"{before}/entities?action=search",
        f"{before}/api/graphql",
        f"{before}/aspects/urn%3Ali%3Atag%3Ax?aspect=tagKey&version=0",
    ]
    assert {head["X-RestLi-Protocol-Version"] for head in heard.heads} == {"2.0.0"}
    assert [head.get("Content-Type") for head in heard.heads] == [
        "application/json",
        "application/json",
        None,
    ]


@pytest.mark.parametrize("signs", ["when asked", "always"])
def test_a_profile_says_whether_the_token_is_shown_unasked(
    heard: Heard,
    signs: Literal["when asked", "always"],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("TOKEN_OF_THE_ADDRESSED", TOKEN)
    profile = config.ConnectionProfile(
        url=heard.url, source="environment:TOKEN_OF_THE_ADDRESSED", signs=signs
    )
    config.change_profiles(lambda _: config.ConnectionProfiles(None, {"there": profile}))
    with Catalog(profile="there") as catalog:
        catalog.search("x")
        catalog.graphql("{ a }")
        catalog.search("x")
    shown = f"Bearer {TOKEN}"
    unasked = shown if signs == "always" else None
    assert [token for _, token in heard.asked] == [unasked, shown, unasked]


def test_a_token_that_is_missing_hinders_nobody_at_a_server_that_wants_none(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))
    profile = config.ConnectionProfile(url=heard.url, source="environment:TOKEN_OF_THE_ADDRESSED")
    config.change_profiles(lambda _: config.ConnectionProfiles(None, {"there": profile}))
    with Catalog(profile="there") as catalog:
        catalog.search("x")
    assert [token for _, token in heard.asked] == [None]
