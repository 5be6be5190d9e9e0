"""What was changed is told once, in order, and from where one left off."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, changes
from explorer.client.changes import EventReader
from explorer.client.transport import Streamed
from explorer.errors import InvalidInput, NotSignedIn, Unreachable
from explorer.metadata import Urn

TAG = Urn.parse("urn:li:tag:following")
OURS = {"noCode": "true", "catalogExplorer": {"version": "1.0"}}


def write(client: Any, name: Any) -> None:
    client.put(TAG, "tagProperties", {"name": name})


def names(changes: Any) -> Any:
    return [change.value["name"] for change in changes if change.aspect == "tagProperties"]


@pytest.fixture
def start(client: Any) -> Any:
    write(client, "before")
    return client.changes(limit=0).head


# The log.


def test_a_page_tells_what_was_what_is_and_who_did_it(client: Any, start: Any) -> None:
    write(client, "after")
    page = client.changes(start, urns=[TAG])
    (change,) = page
    assert (change.urn, change.aspect, change.kind) == (TAG, "tagProperties", "UPSERT")
    assert (change.previous, change.value) == ({"name": "before"}, {"name": "after"})
    assert change.offset == page.next == page.head == start + 1
    assert abs((datetime.now(UTC) - change.at).total_seconds()) < 600
    assert change.actor.startswith("urn:li:corpuser:")
    assert not page.truncated


def test_a_page_goes_on_where_the_one_before_ended(client: Any, start: Any) -> None:
    for name in "abc":
        write(client, name)
    first = client.changes(start, limit=2)
    assert names(first) == ["a", "b"]
    assert first.truncated
    assert names(client.changes(first.next)) == ["c"]


def test_the_log_is_narrowed_as_asked(client: Any, start: Any) -> None:
    write(client, "x")
    client.put("urn:li:domain:following", "domainProperties", {"name": "x"})
    client.put(TAG, "status", {"removed": False})
    told = client.changes(start, entities=["tag"], aspects=["status", "tagProperties"])
    assert {str(change.urn) for change in told} == {str(TAG)}
    assert all(change.aspect in ("status", "tagProperties") for change in told)
    assert client.changes(start, urns=["urn:li:tag:nobody"]).changes == ()
    (bare,) = client.changes(start, urns=[TAG], aspects=["tagProperties"], values=False)
    assert (bare.value, bare.previous) == (None, None)
    client.delete(TAG)


def test_every_change_comes_once_over_several_pages(
    client: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_PAGE", 2)
    for name in "abcde":
        write(client, name)
    assert names(client.every_change(start, urns=[TAG])) == list("abcde")


def test_what_happens_is_told_as_it_happens(client: Any, start: Any) -> None:
    write(client, "missed")
    changes = client.follow(start, urns=[TAG], aspects=["tagProperties"])
    assert next(changes).value == {"name": "missed"}
    for name in "ab":
        write(client, name)
        assert next(changes).value == {"name": name}
    if hasattr(changes, "aclose"):
        changes.aclose()
    else:
        changes.close()
    assert client.entity(TAG).name == "b"


# Streams, in pieces.


def event(offset: Any, name: str = "x") -> Any:
    change = {
        "offset": offset,
        "entityUrn": str(TAG),
        "aspectName": "tagProperties",
        "changeType": "UPSERT",
        "aspect": {"value": orjson.dumps({"name": name}).decode()},
        "created": {"time": 1000, "actor": "urn:li:corpuser:a"},
    }
    return b"id: %d\nevent: change\ndata: %b\n\n" % (offset, orjson.dumps(change))


def read(text: Any) -> Any:
    reader = EventReader()
    pieces = [reader.read(line) for line in text.split(b"\n")]
    return [piece for piece in pieces if piece is not None]


def test_comments_and_unknown_events_are_passed_over_and_bare_ids_move_on() -> None:
    text = b"retry: 2000\n\n: keep-alive\n\n" + event(4) + b"id: 9\n\nevent: other\ndata: {}\n\n"
    pieces = read(text)
    assert [piece.offset for piece in pieces] == [4, 9]
    assert pieces[0].change.value == {"name": "x"}
    assert pieces[1].change is None


class Cut:
    """Streams what it is told, one list of pieces after another, then nothing for good."""

    def __init__(self, *streams: Any) -> None:
        self.streams = list(streams)
        self.asked: list[Any] = []
        self.left = 0

    async def send(self, request: Any) -> Any:
        self.asked.append(request)
        if request.path == "/config":
            return 200, orjson.dumps(OURS)
        return 200, orjson.dumps({"value": {"changes": [], "next": 7, "head": 7}})

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncIterator[Any]:
        self.asked.append(request)
        given = self.streams.pop(0) if self.streams else []
        status = 200 if isinstance(given, list) else given

        async def pieces() -> AsyncIterator[Any]:
            for piece in given if isinstance(given, list) else [b'{"message": "no"}']:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
            if not self.streams and status == 200:
                await asyncio.sleep(3600)

        try:
            yield Streamed(status, {}, pieces())
        finally:
            self.left += 1

    async def close(self) -> None:
        pass


def follow(wire: Any, count: Any, after: Any = None) -> Any:
    async def run() -> Any:
        found = []
        async with AsyncCatalog(transport=wire) as catalog:
            changes = catalog.follow(after)
            assert isinstance(changes, AsyncGenerator)
            async with aclosing(changes):
                async for change in changes:
                    found.append(change.offset)
                    if len(found) == count:
                        break
        return found

    return asyncio.run(run())


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(changes, "_LAST_PAUSE_SECONDS", 0.0)


@pytest.mark.usefixtures("_patient")
@pytest.mark.parametrize("end", [[], [Unreachable("hung up")]])
def test_a_stream_that_is_cut_is_taken_up_where_it_was(end: Any) -> None:
    half = event(9)
    wire = Cut([event(8), b"id: 12\n\n", half[:20], *end], [event(13)])
    assert follow(wire, 2) == [8, 13]
    first, second = [one for one in wire.asked if one.path.startswith("/changes/stream")]
    assert first.path == "/changes/stream?after=7"
    assert ("Accept", "text/event-stream") in first.headers
    assert ("Last-Event-ID", "12") in second.headers
    assert wire.left == 2


@pytest.mark.usefixtures("_patient")
def test_a_server_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_PATIENCE_SECONDS", -1.0)
    with pytest.raises(Unreachable, match="away"):
        follow(Cut([event(8), Unreachable("away")], [event(9)]), 2)


@pytest.mark.usefixtures("_patient")
def test_one_who_follows_is_told_when_the_server_is_away_and_when_it_is_back() -> None:
    away = Unreachable("away")
    # A stream that is cut and taken up at once is no silence.
    wire = Cut([event(8), Unreachable("cut")], [event(9), away], [away], [away], [event(10)])
    heard: list[Any] = []

    async def run() -> None:
        async with AsyncCatalog(transport=wire) as catalog:
            changes = catalog.follow(7, on_contact=heard.append)
            assert isinstance(changes, AsyncGenerator)
            async with aclosing(changes):
                async for change in changes:
                    heard.append(change.offset)
                    if change.offset == 10:
                        break

    asyncio.run(run())
    assert heard == [None, 8, None, 9, away, away, None, 10]


def test_a_refusal_ends_it() -> None:
    with pytest.raises(NotSignedIn):
        follow(Cut(401), 1)


def test_being_cancelled_hangs_up() -> None:
    wire = Cut([event(8)])

    async def run() -> None:
        heard = asyncio.Event()

        async def listen(catalog: Any) -> None:
            async for _ in catalog.follow(0):
                heard.set()

        async with AsyncCatalog(transport=wire) as catalog:
            task = asyncio.create_task(listen(catalog))
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert wire.left == 1


def test_a_server_without_a_log_is_said_to_have_none() -> None:
    class Other(Cut):
        async def send(self, request: Any) -> Any:
            return 200, orjson.dumps({"noCode": "true"})

    with pytest.raises(InvalidInput, match="has no change log"):
        follow(Other(), 1)
