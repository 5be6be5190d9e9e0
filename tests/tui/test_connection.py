"""A server may be dead, slow, gone, back, closed to us, broken, or no catalog at all: each is one
sentence where the answer would have stood, and the reader goes on."""

import asyncio
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.transport import Retry
from explorer.errors import Unreachable
from explorer.metadata import Proposal, Urn
from explorer.metadata.registry import load_registry
from explorer.server.data_directory import open_catalog
from explorer.tui.app import CatalogApp
from explorer.tui.session import Opening, TerminalSession
from tests.conftest import SampleAt
from tests.loopback import listening
from tests.tui.conftest import SECONDS, OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
LATER = Urn.of("tag", "later")
PAGE = b"<!DOCTYPE html><html><head><title>Welcome to nginx</title></head><body>hi</body></html>"


class Gate:
    """A server on a socket that answers as it is told: an HTTP status and body, half an answer,
    nothing at all, or what the real service behind it says."""

    def __init__(self) -> None:
        self.answer: tuple[int, bytes] | str = (200, b"{}")
        self.silent = asyncio.Event()
        self.asked = 0
        self.port = 0
        self.listening = AsyncExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def open(self, port: int = 0) -> None:
        self.port = await self.listening.enter_async_context(listening(self.serve, port))

    async def serve(self, reader: asyncio.StreamReader, writer: Any) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                await reader.readexactly(length)
                self.asked += 1
                if self.answer == "silence":
                    await self.silent.wait()
                if self.answer == "half":
                    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value":')
                    break
                status, body = (200, b"{}") if isinstance(self.answer, str) else self.answer
                writer.write(
                    b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def close(self) -> None:
        self.silent.set()
        await self.listening.aclose()


@asynccontextmanager
async def gate(answer: Any) -> AsyncIterator[Any]:
    one = Gate()
    one.answer = answer
    await one.open()
    try:
        yield one
    finally:
        await one.close()


def to(url: Any, **said: Any) -> Any:
    quick = Retry(tries=2, first_pause_seconds=0)
    return lambda: AsyncCatalog(url, retry=quick, **said)


async def test_without_any_settings_the_first_screen_shows_this_machines_own_catalog(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        shown = await reader.sees("results", "●", "sample catalog", "on this machine")
        assert "error" not in shown.lower()


CASES = {
    "a page of the web": ((200, PAGE), "json"),
    "no json": ((200, b"hello"), "json"),
    "broken": ((500, b"out of memory"), "out of memory"),
    "forbidden": ((403, b'{"message": "not for you"}'), "not for you"),
    "half an answer": ("half", "closed the connection"),
}


@pytest.mark.parametrize("case", CASES)
async def test_trouble_is_told_where_the_answer_would_have_stood(
    at: OpenTerminal, case: Any
) -> None:
    answer, words = CASES[case]
    async with gate(answer) as server, at(None, client=to(server.url)) as reader:
        # The sentence is wrapped where the answer would have stood, not only in the key line.
        shown = await reader.sees("r tries")
        assert words in shown.lower()
        assert reader.app.is_running


async def test_a_dead_server_is_told_of_and_heard_again_when_it_is_back(
    at: OpenTerminal, sample: Path
) -> None:
    dead = Gate()
    await dead.open()
    url, port = dead.url, int(dead.url.rpartition(":")[2])
    await dead.close()
    async with at(None, client=to(url)) as reader:
        await reader.sees("○ no answer from the catalog", "No catalog answers", "tries again")
        await reader.press("slash")
        await reader.type("ord")
        await reader.sees("ord", "○")
        await reader.press("escape")
        await reader.press("r")
        await reader.sees("○ no answer", "tries again")
        back = Gate()
        back.answer = (200, b'{"value": {"numEntities": 0, "entities": []}}')
        await back.open(port)
        try:
            await reader.press("r")
            shown = await reader.sees("●")
            assert "○" not in shown
            assert "tries again" not in shown
            assert "ord" in shown
        finally:
            await back.close()


async def test_a_slow_server_is_waited_for_visibly_and_typing_goes_on(at: OpenTerminal) -> None:
    async with gate("silence") as server, at_once(server.url) as reader:
        await reader.pilot.press("slash", *"orders")
        await reader.sees("orders", "◌ waiting,")
        await reader.pilot.resize_terminal(40, 10)
        await reader.sees("orders", "◌ waiting")
        await reader.pilot.resize_terminal(300, 80)
        await reader.sees("orders", "◌ waiting,")
        server.silent.set()
        server.answer = (200, b"{}")
        await reader.settle()
        assert reader.app._session.waiting_seconds is None
        assert "◌" not in reader.screen()


@asynccontextmanager
async def at_once(url: Any) -> AsyncIterator[Any]:
    """Opens the terminal without waiting for the first answers, which do not come."""
    app = CatalogApp(to(url))
    async with app.run_test(size=(120, 36)) as pilot:
        yield Looker(pilot)


class Looker:
    def __init__(self, pilot: Any) -> None:
        self.pilot, self.app = pilot, pilot.app

    def screen(self) -> Any:
        import html
        import re

        return html.unescape(
            re.sub(r"<[^>]*>", "", self.app.export_screenshot(simplify=True))
        ).replace("\xa0", " ")

    async def sees(self, *words: Any) -> None:
        deadline = time.monotonic() + 120
        while not all(word in self.screen() for word in words):
            assert time.monotonic() < deadline, self.screen()
            await asyncio.sleep(0.05)
            await self.pilot.pause()

    async def settle(self) -> None:
        for _ in range(3):
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()


@pytest.mark.parametrize("token", [None, "a-token-that-is-refused"])
async def test_a_missing_or_refused_token_is_told_of_once_and_nothing_is_asked_in_a_loop(
    at: OpenTerminal, token: str | None
) -> None:
    async with (
        gate((401, b'{"message": "sign in"}')) as server,
        at(None, client=to(server.url, token=token)) as reader,
    ):
        shown = await reader.sees("○ needs an access token", "CATALOG_TOKEN", "catalog profile add")
        assert "a-token-that-is-refused" not in shown
        asked = server.asked
        await asyncio.sleep(0.3)
        await reader.settle()
        assert server.asked == asked
        assert asked <= 12
        await reader.press("f3")
        await reader.sees("Servers", "enter a token")


async def test_the_status_stays_until_an_answer_shows_that_it_is_over() -> None:
    said: list[str] = []

    def say(message: str, *, error: bool = False) -> None:
        del error
        said.append(message)

    async with gate((401, b"{}")) as server:
        session = TerminalSession(to(server.url, token="refused"), say, lambda: None)
        catalog = await session.catalog()

        def contact() -> str:
            return session.standing.contact

        # The second worker is refused, and ends first.
        with session.reporting("reading a file"), session.reporting("searching"):
            await catalog.search("orders")
        assert contact() == "refused"
        with session.reporting("reading a file"):
            pass
        server.answer = (200, b'{"noCode": "true"}')
        with session.reporting("opening the catalog"):
            # Answered without a token, too.
            await catalog.info()
        assert contact() == "refused"
        server.answer = (403, b"{}")
        with session.reporting("searching"):
            await catalog.search("orders")
        # It takes the token, and refuses the request.
        assert contact() == "ready"
        await session.close()
    assert len(said) == 2


async def test_what_is_on_the_page_of_an_entity_is_told_there(
    at: OpenTerminal, sample: Path
) -> None:
    class Silent(AsyncCatalog):
        silent = True

        async def entity(self, urn: Any, *further: Any, **more: Any) -> Any:
            if Silent.silent:
                raise Unreachable("no catalog answers at http://there; is it running?")
            return await super().entity(urn, *further, **more)

    async with at(None, client=lambda: Silent(data_dir=sample), urn=ORDERS) as reader:
        shown = await reader.sees("fct_orders", "is it running? r tries again")
        assert "reading …" not in shown
        Silent.silent = False
        await reader.press("r")
        shown = await reader.sees("documented", "2 Columns", "●")
        assert "tries again" not in shown


async def test_a_kept_copy_says_how_old_it_is(
    at: OpenTerminal, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path))
    server = Gate()
    server.answer = (200, b'{"value": {"numEntities": 0, "entities": []}}')
    await server.open()
    url = server.url
    async with at(None, client=to(url, offline="fallback")) as reader:
        await reader.sees("●")
    await server.close()
    async with at(None, client=to(url, offline="fallback")) as reader:
        await reader.sees("◐ offline copy as of ")
    async with at(None, client=Opening(url, offline=True).maker()) as reader:
        await reader.sees("◐ offline copy as of ")


async def test_what_the_client_warns_of_is_said_on_the_message_line(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.sees("fct_orders")
        catalog = await reader.app._session.catalog()
        catalog._connection.warned(
            "the access token is sent to http://catalog.example over plain HTTP"
        )
        await reader.sees("The access token is sent to http://catalog.example over plain HTTP.")


async def test_changes_that_the_catalog_has_lost_are_told_when_it_is_opened(
    sample_at: SampleAt, at: OpenTerminal, tmp_path: Path
) -> None:
    with sample_at(tmp_path / "catalog") as directory:
        file = directory / "catalog.db"
        older = file.read_bytes()
        with closing(open_catalog(directory, load_registry())) as engine:
            change = engine.intake.check(Proposal(LATER, "tagProperties", {"name": "later"}))
            engine.store.write(lambda tx: engine.intake.apply(tx, change, 1)).result(SECONDS)
        file.write_bytes(older)
        async with at(directory, (80, 24)) as reader:
            told = "The catalog has lost changes"
            shown = await reader.sees(told, "catalog restore", "check --accept-loss")
            assert shown.count(told) == 1
            await reader.press("down")
            assert told not in reader.screen()
        with Catalog(data_dir=directory) as catalog:
            with pytest.warns(UserWarning, match="check --accept-loss; .* are lost"):
                catalog.abilities()
            with warnings.catch_warnings(action="error"):
                catalog.abilities()


async def test_what_cannot_be_read_is_told_once_and_offline_is_not_silence(
    at: OpenTerminal, tmp_path: Path
) -> None:
    def offline() -> Any:
        return AsyncCatalog("http://127.0.0.1:9", offline="only")

    async with at(None, client=offline, size=(100, 30)) as reader:
        shown = await reader.sees("this is not in the local cache")
        assert shown.lower().count("offline: this is not in") == 1
        assert "◐ offline copy" in shown
        assert "no answer" not in shown
        # Nobody is asked the second time either.
        assert "tries again" not in shown


async def test_a_server_that_does_not_answer_is_told_of_once(at: OpenTerminal) -> None:
    dead = Gate()
    await dead.open()
    url = dead.url
    await dead.close()
    async with at(None, client=to(url), size=(100, 30)) as reader:
        shown = await reader.sees("○ no answer from the catalog", "No catalog answers")
        assert shown.count("No catalog answers") == 1
