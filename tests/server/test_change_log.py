"""The change log over HTTP: pages from an offset, and following it live."""

import asyncio
import json
import queue
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from explorer.client import Catalog as Client
from explorer.errors import Gone
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server import catalog as catalog_module
from explorer.server.app import Service
from explorer.server.authentication import Gate, Keyring, create_token, revoke_token
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import check
from explorer.server.data_directory import open_catalog
from explorer.server.process import ConnectionLimits
from explorer.server.routes import changes
from explorer.server.store import SurveyedStore


@pytest.fixture
def own(fresh: Callable[[], CatalogEngine]) -> CatalogEngine:
    return fresh()


@pytest.fixture
def site(own: CatalogEngine, serve: Callable[[Service], str]) -> str:
    return serve(Service(own))


def write(catalog: CatalogEngine, name: str, text: str, entity: str = "tag") -> None:
    aspect = {"tag": "tagProperties", "corpuser": "corpUserEditableInfo"}[entity]
    value = {"name": text} if entity == "tag" else {"aboutMe": text}
    proposal = Proposal(Urn.of(entity, name), aspect, value, system={"runId": "r"})
    change = catalog.intake.check(proposal, "urn:li:corpuser:writer")
    job = lambda tx: catalog.intake.apply(tx, change, 77)  # noqa: E731
    catalog.commits.write(job).result()


def page(site: str, query: str) -> dict[str, Any]:
    answer = httpx.get(f"{site}/changes?{query}", timeout=120)
    assert answer.status_code == 200, answer.text
    value: dict[str, Any] = answer.json()["value"]
    return value


def offsets(value: dict[str, Any]) -> list[int]:
    return [change["offset"] for change in value["changes"]]


@contextmanager
def following(
    site: str, query: str = "", **headers: str
) -> Iterator["queue.Queue[dict[str, Any]]"]:
    """What a follower gets, event by event; `None` when the stream has ended."""
    got: queue.Queue[Any] = queue.Queue()
    with (
        httpx.Client(timeout=120) as http,
        http.stream("GET", f"{site}/changes/stream{query}", headers=headers) as stream,
    ):
        assert stream.status_code == 200
        assert stream.headers["content-type"] == "text/event-stream"

        def read() -> None:
            event: dict[str, Any] = {}
            try:
                for line in stream.iter_lines():
                    key, _, value = line.partition(": ")
                    if line:
                        event[key] = value
                    elif event:
                        got.put(event)
                        event = {}
            except httpx.HTTPError:
                pass
            got.put(None)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        assert got.get(timeout=120) == {"retry": "2000"}
        yield got


def test_a_change_says_what_was_and_what_is(own: CatalogEngine, site: str) -> None:
    write(own, "a", "one")
    write(own, "a", "two")
    value = page(site, "after=2")
    system = value["changes"][0].pop("systemMetadata")
    assert (system["lastObserved"], system["runId"]) == (77, "r")
    assert value == {
        "changes": [
            {
                "offset": 3,
                "entityType": "tag",
                "entityUrn": "urn:li:tag:a",
                "aspectName": "tagProperties",
                "changeType": "UPSERT",
                "aspect": {"value": '{"name":"two"}', "contentType": "application/json"},
                "previousAspectValue": {
                    "value": '{"name":"one"}',
                    "contentType": "application/json",
                },
                "created": {"time": 78, "actor": "urn:li:corpuser:writer"},
            }
        ],
        "next": 3,
        "head": 3,
    }
    bare = page(site, "after=2&values=false")["changes"][0]
    assert "aspect" not in bare
    assert "previousAspectValue" not in bare


def test_pages_join_without_gap_or_overlap(own: CatalogEngine, site: str) -> None:
    for n in range(7):
        write(own, "a", str(n))
    seen: list[int] = []
    after, head = 0, 1
    while after < head:
        value = page(site, f"after={after}&limit=3")
        seen += offsets(value)
        after, head = value["next"], value["head"]
    assert seen == list(range(1, 9))
    assert page(site, "after=8") == {"changes": [], "next": 8, "head": 8}


def test_it_is_narrowed_by_entity_type_urn_and_aspect(own: CatalogEngine, site: str) -> None:
    write(own, "a", "one")
    write(own, "b", "one")
    write(own, "u", "one", "corpuser")
    assert offsets(page(site, "entity=corpuser")) == [5, 6]
    assert offsets(page(site, "urn=urn:li:tag:b")) == [3, 4]
    assert offsets(page(site, "urn=urn:li:tag:b&urn=urn:li:tag:a&aspect=tagKey")) == [1, 3]
    narrow = page(site, "entity=corpuser&limit=1")
    assert (offsets(narrow), narrow["next"]) == ([5], 5)


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "limit=1.5", "values=maybe", "urn=nonsense"]
)
def test_a_wrong_question_is_told_so(site: str, query: str) -> None:
    answer = httpx.get(f"{site}/changes?{query}", timeout=120)
    assert answer.status_code == 400
    assert answer.json()["message"]


def test_followers_are_told_of_each_commit_once_and_in_order(own: CatalogEngine, site: str) -> None:
    write(own, "a", "before")
    with following(site) as one, following(site, "?after=0&entity=tag") as two:
        for n in range(30):
            write(own, "a", str(n))
        first = [one.get(timeout=120) for _ in range(30)]
        second = [two.get(timeout=120) for _ in range(32)]
    assert [int(event["id"]) for event in first] == list(range(3, 33))
    assert [int(event["id"]) for event in second] == list(range(1, 33))
    assert {event["event"] for event in first} == {"change"}
    last = json.loads(first[-1]["data"])
    assert (last["offset"], last["aspect"]["value"]) == (32, '{"name":"29"}')


def test_a_stream_goes_on_after_the_last_event_that_was_seen(own: CatalogEngine, site: str) -> None:
    for n in range(3):
        write(own, "a", str(n))
    headers = {"Last-Event-ID": "3"}
    with following(site, "?after=0", **headers) as got:
        assert got.get(timeout=120)["id"] == "4"


def test_who_comes_after_many_changes_hears_of_the_next_at_once(own: CatalogEngine) -> None:
    write(own, "first", "1")
    assert own.feed.read(own.store.log_bounds().head - 1, 10)
    for number in range(30):
        write(own, f"tag{number}", "x")
    head = own.store.log_bounds().head
    assert own.feed.read(head, 10) == []
    write(own, "news", "!")
    assert [entry.urn for entry in own.feed.read(head, 10) if "news" in entry.urn]


def test_the_page_is_a_stream_for_who_accepts_events(own: CatalogEngine, site: str) -> None:
    write(own, "a", "one")
    with (
        httpx.Client(timeout=120) as http,
        http.stream("GET", f"{site}/changes?after=1", headers={"Accept": "text/event-stream"}) as s,
    ):
        lines = s.iter_lines()
        assert next(line for line in lines if line.startswith("id")) == "id: 2"


def test_silence_is_filled_with_comments(
    own: CatalogEngine, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_KEEP_ALIVE_SECONDS", 0.05)
    write(own, "a", "one")
    with following(site, "?after=0&entity=corpuser") as got:
        # Where to go on from is told although nothing that passed was wanted.
        assert got.get(timeout=120) == {"id": "2"}
        assert got.get(timeout=120) == {"": "keep-alive"}


def test_who_has_left_is_forgotten(
    own: CatalogEngine, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_KEEP_ALIVE_SECONDS", 0.2)
    with following(site), following(site):
        assert len(own.feed.followers) == 2
    until(lambda: not own.feed.followers)


def test_a_follower_that_takes_nothing_is_disconnected(
    own: CatalogEngine, serve: Callable[..., str]
) -> None:
    site = serve(Service(own), ConnectionLimits(answer_seconds=0.3))
    host, _, port = site.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.sendall(b"GET /changes/stream?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: own.feed.followers)
        for n in range(12):
            write(own, "a", str(n) * 500_000)
        until(lambda: not own.feed.followers)
        # The connection is gone, and not kept for when the follower reads on, which may be never.
        until(lambda: is_reset(stuck))


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_stream_ends_when_its_token_is_revoked(
    own: CatalogEngine,
    serve: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_busy: bool,
) -> None:
    """At the next comment, or at the next change where there always is one."""
    monkeypatch.setattr(changes, "_KEEP_ALIVE_SECONDS", 3600 if is_busy else 0.2)
    file = tmp_path / "tokens.json"
    token, _ = create_token(file, "a", "urn:li:corpuser:a")
    site = serve(Service(own, gate=Gate(Keyring(file))))
    with following(site, Authorization=f"Bearer {token}") as got:
        until(lambda: own.feed.followers)
        write(own, "a", "before")
        assert got.get(timeout=120)["event"] == "change"
        revoke_token(file, "a")

        def has_ended() -> bool:
            if is_busy:
                write(own, "a", str(time.monotonic()))
            time.sleep(0.05)
            return not own.feed.followers

        until(has_ended)
        while (event := got.get(timeout=120)) is not None:
            assert event


def test_a_stream_ends_when_the_service_stops(own: CatalogEngine, site: str) -> None:
    with following(site) as got:
        until(lambda: own.feed.followers)
        own.feed.end()
        assert got.get(timeout=120) is None
    assert not own.feed.followers


def is_reset(connection: socket.socket) -> bool:
    try:
        connection.sendall(b"x")
    except OSError:
        return True
    return False


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def trimmed(own: CatalogEngine, monkeypatch: pytest.MonkeyPatch) -> CatalogEngine:
    """A catalog that wrote twelve changes, kept three of them, and dropped the rest for age."""
    monkeypatch.setattr(catalog_module, "_CHANGES_KEPT", 3)
    for number in range(6):
        write(own, f"kept{number}", "text")
    own.index.flush()
    head = own.store.log_bounds().head
    assert head == 12
    assert own.trim_changes(30) == head - 3
    return own


def test_old_changes_are_dropped_and_the_newest_are_kept(trimmed: CatalogEngine) -> None:
    head = trimmed.store.log_bounds().head
    assert trimmed.store.log_bounds().floor == head - 3
    assert [row.offset for row in trimmed.store.log(0, 100)] == [head - 2, head - 1, head]
    write(trimmed, "later", "text")
    assert trimmed.store.log_bounds().head == head + 2


def test_a_young_change_is_kept(own: CatalogEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "_CHANGES_KEPT", 0)
    write(own, "young", "text")
    proposal = Proposal(Urn.of("tag", "young"), "tagProperties", {"name": "now"})
    asyncio.run(own.ingest(proposal))
    own.index.flush()
    own.trim_changes(30)
    assert [row.value for row in own.store.log(0, 100)] == [b'{"name":"now"}']
    assert own.trim_changes(0) == 0, "the last row stays, for the log goes on after it"


def test_what_the_index_or_a_follower_has_not_read_is_kept(
    own: CatalogEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_module, "_CHANGES_KEPT", 0)

    async def run() -> None:
        for number in range(4):
            write(own, f"read{number}", "text")
        assert own.index.committed_offset < 8
        own.trim_changes(30)
        assert own.store.log_bounds().floor <= own.index.committed_offset
        own.index.flush()
        with own.feed.follow(5) as follower:
            own.trim_changes(30)
            assert own.store.log_bounds().floor == 5
            follower.at = 6
            own.trim_changes(30)
            assert own.store.log_bounds().floor == 6
        own.trim_changes(30)
        assert own.store.log_bounds().floor == 7

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/changes", "/changes/stream"])
def test_who_asks_for_what_is_gone_is_told_where_to_go_on(
    trimmed: CatalogEngine, site: str, path: str
) -> None:
    floor = trimmed.store.log_bounds().floor
    answer = httpx.get(f"{site}{path}?after={floor - 1}", timeout=120)
    assert answer.status_code == 410
    assert answer.headers["x-changes-after"] == str(floor)
    assert f"continue after {floor}" in answer.json()["message"]
    assert offsets(page(site, f"after={floor}")) == offsets(page(site, "")) == [10, 11, 12]
    assert page(site, "after=0&limit=0")["head"] == 12


def test_a_client_is_told_that_it_missed_changes(trimmed: CatalogEngine, site: str) -> None:
    with Client(site) as catalog:
        with pytest.raises(Gone, match="are not kept any more") as gone:
            catalog.changes(2)
        assert gone.value.resume_after == trimmed.store.log_bounds().floor
        assert [one.offset for one in catalog.changes(gone.value.resume_after)] == [10, 11, 12]
        assert [one.offset for one in catalog.every_change()] == [10, 11, 12]
        with pytest.raises(Gone):
            next(iter(catalog.follow(2)))


def test_the_index_is_made_from_the_store_where_the_log_does_not_tell_all(
    trimmed: CatalogEngine, fresh: Callable[[], CatalogEngine], tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "data" / "search", ignore_errors=True)
    reopened = fresh()
    assert reopened.index.total(["tag"]) == 6
    assert not check(cast(SurveyedStore, reopened.store), reopened.index, reopened.registry)


def test_an_index_that_lacks_what_is_gone_is_made_anew(
    own: CatalogEngine,
    fresh: Callable[[], CatalogEngine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_module, "_CHANGES_KEPT", 1)
    write(own, "old", "text")
    own = fresh()
    shutil.copytree(tmp_path / "data" / "search", tmp_path / "older")
    asyncio.run(own.delete(Urn.of("tag", "old"), None, (None, None)))
    for number in range(3):
        write(own, f"new{number}", "text")
    own.index.flush()
    own.trim_changes(-1)
    own.close()
    shutil.rmtree(tmp_path / "data" / "search")
    shutil.copytree(tmp_path / "older", tmp_path / "data" / "search")
    own = open_catalog(tmp_path / "data", load_registry())
    try:
        assert own.index.total(["tag"]) == 3
        assert not check(cast(SurveyedStore, own.store), own.index, own.registry)
    finally:
        own.close()
