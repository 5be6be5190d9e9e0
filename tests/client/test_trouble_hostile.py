"""Answers that are made to hurt: without measure, without end, or costly to look at."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from explorer.client import AsyncCatalog, http
from explorer.client.transport import Retry, error_of_answer
from explorer.errors import InvalidInput, Misuse, TimedOut, Unreachable, Unreadable
from tests.loopback import listening

pytestmark = pytest.mark.anyio

FINE = b'{"data": {"fine": true}}'
MOST = 1_000_000


def answer(body: Any, headers: bytes = b"") -> Any:
    return b"HTTP/1.1 200 X\r\n%bContent-Length: %d\r\n\r\n%b" % (headers, len(body), body)


@asynccontextmanager
async def serving(act: Any) -> AsyncIterator[Any]:
    """The address of a server that answers each request as `act(line)` does."""

    async def serve(reader: Any, line: Any) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                rows = dict(row.split(b": ", 1) for row in head.split(b"\r\n")[1:-2])
                await reader.readexactly(int(rows.get(b"Content-Length", 0)))
                await act(line)
                await line.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            line.close()

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}"


def client_of(address: Any, **options: Any) -> Any:
    options.setdefault("retry", Retry(tries=1))
    return AsyncCatalog(address, **options)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 X\r\nContent-Length: 999999999999\r\n\r\n",
        b"HTTP/1.1 200 X\r\n\r\n",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_an_answer_without_measure_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(http, "_MAX_ANSWER_BYTES", MOST)
    sent = 0

    async def act(line: Any) -> None:
        nonlocal sent
        piece = b" " * 65536
        line.write(head)
        while True:
            line.write(b"10000\r\n%b\r\n" % piece if b"chunked" in head else piece)
            await line.drain()
            sent += len(piece)

    async with serving(act) as address, client_of(address) as catalog:
        with pytest.raises(Unreadable, match="more than 0 MB"):
            await catalog.graphql("{ fine }")
    # What the system itself keeps on the way.
    assert sent < 16 * MOST


async def test_an_answer_that_unpacks_to_very_much_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_MAX_ANSWER_BYTES", MOST)
    said = [gzip.compress(b" " * (MOST + 1)), gzip.compress(FINE), gzip.compress(FINE)[:-4]]

    async def act(line: Any) -> None:
        line.write(answer(said.pop(0), b"Content-Encoding: gzip\r\n"))

    async with serving(act) as address, client_of(address) as catalog:
        with pytest.raises(Unreadable, match="ask for less"):
            await catalog.graphql("{ fine }")
        assert await catalog.graphql("{ fine }") == {"fine": True}


async def test_an_answer_packed_in_several_members_is_read_to_its_end() -> None:
    packed = b"".join(gzip.compress(part) for part in (FINE[:9], b"", FINE[9:]))
    said = packed

    async def act(line: Any) -> None:
        line.write(answer(said, b"Content-Encoding: gzip\r\n"))

    async with serving(act) as address, client_of(address) as catalog:
        assert await catalog.graphql("{ fine }") == {"fine": True}
        for damaged in (packed[:-1], packed + b"no member", packed + gzip.compress(b"no JSON")):
            said = damaged
            with pytest.raises((Unreachable, Unreadable)):
                await catalog.graphql("{ fine }")


@pytest.mark.nightly
async def test_waiting_for_a_turn_is_no_fault_of_the_servers() -> None:
    async def act(line: Any) -> None:
        await asyncio.sleep(0.3)
        line.write(answer(FINE))

    short = Retry(tries=1, total_seconds=5)
    async with (
        serving(act) as address,
        AsyncCatalog(address, timeout_seconds=5, retry=short) as catalog,
    ):
        # Eight at once: the last have their turn after all the time that one may take.
        asked = [catalog.graphql("{ fine }") for _ in range(160)]
        assert await asyncio.gather(*asked) == [{"fine": True}] * 160


@pytest.mark.parametrize("token", ["s3cret\nX: y", "s3cret…", "two s3crets", " \n"])
async def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidInput, match="invalid token") as caught:
        client_of("http://127.0.0.1:9", token=token)
    assert "s3cret" not in str(caught.value)


async def test_a_line_end_after_a_token_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def act(line: Any) -> None:
        line.write(answer(FINE))

    async with serving(act) as address, AsyncCatalog(address, token="s3cret\n") as catalog:
        transport = await catalog._connection._reach.open()
        carry = transport.send

        async def send(request: Any) -> Any:
            asked.append(request.signature.header)
            return await carry(request)

        monkeypatch.setattr(transport, "send", send)
        await catalog.graphql("{ fine }")
    assert asked == ["Bearer s3cret"]


# Gone through again for each of its parts, it took more than a minute.
@pytest.mark.timeout(15)
@pytest.mark.parametrize("query", ["?" * 30_000, "?" + "token" * 6_000, "?" + "a;" * 15_000])
def test_a_long_address_to_go_on_to_is_looked_at_once(query: Any) -> None:
    error = error_of_answer(302, b"", {"location": f"http://there/{query}"}, url="http://here/")
    assert "http://there/" in str(error)


async def test_who_still_waits_when_it_is_closed_is_told_so_and_nothing_is_sent_again() -> None:
    asked, begun = [], asyncio.Event()

    async def act(line: Any) -> None:
        asked.append(line)
        begun.set()
        await asyncio.sleep(5)

    async with serving(act) as address:
        catalog = AsyncCatalog(address)
        waiting = asyncio.create_task(catalog.graphql("{ fine }"))
        await begun.wait()
        await catalog.close()
        with pytest.raises((Misuse, TimedOut)):
            await waiting
    assert len(asked) == 1
