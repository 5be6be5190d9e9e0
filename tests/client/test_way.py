"""The way to a server: proxies of the environment, certificates, and tokens that others could
read."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.client.transport import NeverSent, Retry, proxy_of
from explorer.errors import InvalidInput, Misconfigured, Untrusted
from tests.loopback import listening

pytestmark = pytest.mark.anyio

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
FINE = b'{"data": {"fine": true}}'
TOKEN = "a-token-for-tests"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def answer(reader: Any, line: Any, head: Any) -> None:
    rows = dict(row.split(b": ", 1) for row in head.split(b"\r\n")[1:-2])
    length = {name.lower(): text for name, text in rows.items()}.get(b"content-length", b"0")
    await reader.readexactly(int(length))
    line.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(FINE), FINE))
    await line.drain()


@asynccontextmanager
async def proxying(seen: Any, to: Any = None) -> AsyncIterator[Any]:
    """The port of a proxy, which answers by itself or makes a tunnel to a port of this machine."""

    async def pipe(reader: Any, line: Any) -> None:
        while piece := await reader.read(65536):
            line.write(piece)
            await line.drain()
        line.close()

    async def serve(reader: Any, line: Any) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                seen.append(head)
                if not head.startswith(b"CONNECT"):
                    await answer(reader, line, head)
                    continue
                there, back = await asyncio.open_connection("127.0.0.1", to)
                line.write(b"HTTP/1.1 200 OK\r\n\r\n")
                try:
                    await asyncio.gather(pipe(reader, back), pipe(there, line))
                finally:
                    back.close()
                return
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            line.close()

    async with listening(serve) as port:
        yield port


@asynccontextmanager
async def encrypted(certificate: Any, key: Any) -> AsyncIterator[Any]:
    """The port of a server that speaks https with a certificate of its own."""

    async def serve(reader: Any, line: Any) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await answer(reader, line, head)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            line.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with listening(serve, ssl=context) as port:
        yield port


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A certificate that signs itself, for this machine and one that is only named, and its key."""
    place = tmp_path_factory.mktemp("certificate")
    names = "subjectAltName=IP:127.0.0.1,DNS:catalog.example"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -keyout key -out pem"
    )
    subprocess.run([*command.split(), "-addext", names], cwd=place, check=True, capture_output=True)
    return place / "pem", place / "key"


async def ask(url: Any, **options: Any) -> Any:
    async with AsyncCatalog(url, retry=Retry(tries=1), **options) as catalog:
        return await catalog.graphql("{ fine }")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("form", ["http://{}", "{}"])
async def test_a_request_goes_through_the_proxy_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    seen: list[bytes] = []
    async with proxying(seen) as port:
        monkeypatch.setenv(name, form.format(f"127.0.0.1:{port}"))
        assert await ask("http://catalog.example:8080/gms") == {"fine": True}
    assert seen[0].startswith(b"POST http://catalog.example:8080/gms/api/graphql HTTP/1.1\r\n")


async def test_https_goes_through_a_tunnel_and_is_checked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, certificate: Any
) -> None:
    seen: list[bytes] = []
    pem, key = certificate
    async with encrypted(pem, key) as port, proxying(seen, to=port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy}")
        with pytest.raises(Untrusted):
            await ask("https://catalog.example")
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert await ask("https://catalog.example") == {"fine": True}
    assert seen[-1].startswith(b"CONNECT catalog.example:443 ")


@pytest.mark.parametrize(
    ("address", "exceptions", "goes"),
    [
        ("http://catalog.example", "", True),
        ("http://catalog.example", "other.example", True),
        ("http://catalog.example", "other.example, catalog.example", False),
        ("http://catalog.example:8080", "catalog.example:8080", False),
        ("http://catalog.example:8080", "catalog.example:9000", True),
        ("http://gms.catalog.example", ".catalog.example", False),
        ("http://gms.catalog.example", "catalog.example", False),
        ("http://notcatalog.example", "catalog.example", True),
        ("http://127.0.0.1:8080", "127.0.0.1", False),
        ("http://[::1]:8080", "::1", False),
        ("http://catalog.example", "*", False),
        ("https://catalog.example", "", False),
    ],
)
def test_hosts_that_the_environment_excepts_are_asked_directly(
    monkeypatch: pytest.MonkeyPatch, address: str, exceptions: str, goes: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert proxy_of(address) == ("http://proxy.example:3128" if goes else None)


@pytest.mark.parametrize("url", ["http://catalog.example", "https://catalog.example"])
async def test_a_proxy_that_is_not_there_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://me:secret@127.0.0.1:1")
    with pytest.raises(
        NeverSent, match=r"through the proxy http://127.0.0.1:1; put the host in NO_PROXY"
    ) as caught:
        await ask(url)
    assert "secret" not in str(caught.value)


async def test_a_proxy_that_refuses_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(reader: Any, line: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<html><title>Ask the help desk</title><body>no"
        line.write(b"HTTP/1.1 407 No\r\nContent-Length: %d\r\n\r\n%b" % (len(page), page))
        await line.drain()
        line.close()

    async with listening(refuse) as port:
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
        with pytest.raises(InvalidInput, match="Ask the help desk"):
            await ask("http://catalog.example")
        with pytest.raises(NeverSent, match="through the proxy"):
            await ask("https://catalog.example")


@pytest.mark.parametrize("proxy", ["ftp://proxy.example", "http://[::1"])
async def test_a_proxy_that_is_none_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(Misconfigured, match="HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"):
        await ask("http://catalog.example")


async def test_a_certificate_that_is_not_trusted_says_whose_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, certificate: Any, tmp_path: Path
) -> None:
    pem, key = certificate
    async with encrypted(pem, key) as port:
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(Untrusted) as caught:
            await ask(url)
        assert str(caught.value) == (
            f"{url} shows a certificate that is not trusted here (self-signed certificate); "
            "set SSL_CERT_FILE to a file with the certificate of the authority that signed it"
        )
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert await ask(url) == {"fine": True}
        with pytest.raises(Untrusted, match=r"not valid for|ostname mismatch"):
            await ask(f"https://localhost:{port}")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nowhere"))
        with pytest.raises(Misconfigured, match="SSL_CERT_FILE"):
            await ask(url)


async def test_a_server_without_encryption_is_not_said_to_be_away() -> None:
    async def plain(reader: Any, line: Any) -> None:
        await reader.read(1)
        line.write(b"HTTP/1.1 400 X\r\n\r\n")
        line.close()

    async with listening(plain) as port:
        with pytest.raises(Untrusted, match="begins with http://"):
            await ask(f"https://127.0.0.1:{port}")


async def test_a_token_that_others_could_read_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with proxying([]) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        async with AsyncCatalog("http://catalog.example", token=TOKEN) as catalog:
            with pytest.warns(UserWarning, match=r"sent to http://catalog.example over plain"):
                await catalog.graphql("{ fine }")
            await catalog.graphql("{ fine }")
        told: list[str] = []
        async with AsyncCatalog("http://catalog.example", token=TOKEN) as catalog:
            catalog.on_warning(told.append)
            await catalog.graphql("{ fine }")
            await catalog.graphql("{ fine }")
        assert len(told) == 1
        assert TOKEN not in told[0]
        # Without a token, and to this machine, there is nothing to warn of.
        await ask("http://catalog.example")
        for host in ("127.0.0.1", "localhost", "[::1]"):
            await ask(f"http://{host}:9", token=TOKEN)
