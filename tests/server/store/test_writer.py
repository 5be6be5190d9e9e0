"""The writer: groups of jobs that share a commit without sharing their failures."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.errors import NotFound, ServerFault, Unusable
from explorer.server.store import Transaction, Write
from explorer.server.store.sqlite import SqliteStore


def tag(name: str, text: str = "x") -> Write:
    urn = f"urn:li:tag:{name}"
    return Write(urn, "tag", "tagProperties", b'{"name":"%b"}' % text.encode(), 1, "me", b"{}")


class Watcher:
    """An observer that keeps what it is shown, and fails when told to."""

    def __init__(self) -> None:
        self.groups: list[set[str]] = []
        self.published: list[int] = []
        self.refuse_to_prepare: set[str] = set()
        self.refuse_to_publish = False

    def prepare(self, transaction: Transaction) -> None:
        if self.refuse_to_prepare & transaction.touched:
            raise ValueError("cannot be derived")
        self.groups.append(set(transaction.touched))

    def publish(self, offset: int) -> None:
        if self.refuse_to_publish:
            raise ValueError("index is broken")
        self.published.append(offset)


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def store(tmp_path: Path, watcher: Watcher) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "catalog.db")
    opened.observe(watcher)
    yield opened
    opened.close()


def together(store: SqliteStore, *jobs: Callable[[Transaction], object]) -> list[object]:
    """What each job gave or raised, all of them queued while the writer was busy."""
    go = threading.Event()
    store.write(lambda _tx: go.wait(10))
    futures = [store.write(job) for job in jobs]
    go.set()
    return [future.exception() or future.result() for future in futures]


def test_jobs_that_queue_up_share_a_commit(store: SqliteStore, watcher: Watcher) -> None:
    given = together(store, *(lambda tx, n=n: tx.put(tag(f"t{n}")) for n in range(5)))
    assert given == [True] * 5
    assert watcher.groups[-1] == {f"urn:li:tag:t{n}" for n in range(5)}
    assert watcher.published == [5]
    assert store.entity_count() == 5


def test_a_job_that_fails_undoes_itself_and_no_other(store: SqliteStore) -> None:
    def fail(tx: Transaction) -> None:
        tx.put(tag("b"))
        tx.put(tag("a", "spoilt"))
        raise NotFound("no such thing")

    given = together(store, lambda tx: tx.put(tag("a")), fail, lambda tx: tx.put(tag("c")))
    assert given[0] is given[2] is True
    assert isinstance(given[1], NotFound)
    assert store.existing([f"urn:li:tag:{name}" for name in "abc"]) == {
        "urn:li:tag:a",
        "urn:li:tag:c",
    }
    stored = store.aspect("urn:li:tag:a", "tagProperties")
    assert stored is not None
    assert stored.value == b'{"name":"x"}'


def test_what_cannot_be_derived_fails_alone(store: SqliteStore, watcher: Watcher) -> None:
    watcher.refuse_to_prepare = {"urn:li:tag:bad"}
    given = together(store, *(lambda tx, n=n: tx.put(tag(n)) for n in ("good", "bad", "fine")))
    assert given[0] is given[2] is True
    assert isinstance(given[1], ValueError)
    assert store.existing([f"urn:li:tag:{n}" for n in ("good", "bad", "fine")]) == {
        "urn:li:tag:good",
        "urn:li:tag:fine",
    }


def test_a_commit_stands_though_its_publication_failed(
    store: SqliteStore, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    watcher.refuse_to_publish = True
    assert store.write(lambda tx: tx.put(tag("a"))).result() is True
    assert store.existing(["urn:li:tag:a"])
    assert "index is broken" in caplog.text


def test_a_write_is_published_before_it_is_answered(store: SqliteStore, watcher: Watcher) -> None:
    for n in range(20):
        store.write(lambda tx, n=n: tx.put(tag(f"t{n}"))).result()
        assert watcher.published[-1] == n + 1


def test_an_identical_value_is_neither_logged_nor_published(
    store: SqliteStore, watcher: Watcher
) -> None:
    assert store.write(lambda tx: tx.put(tag("a"))).result() is True
    assert store.write(lambda tx: tx.put(tag("a"))).result() is False
    assert store.log_head() == 1
    assert watcher.published == [1]


def test_closing_finishes_what_is_queued_and_takes_no_more(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "catalog.db")
    futures = [store.write(lambda tx, n=n: tx.put(tag(f"t{n}"))) for n in range(50)]
    store.close()
    assert all(future.result(0) for future in futures)
    with pytest.raises(ServerFault, match="shutting down"):
        store.write(lambda tx: tx.put(tag("late")))
    again = SqliteStore(tmp_path / "catalog.db")
    assert again.entity_count() == 50
    again.close()


def test_readers_go_on_while_the_writer_is_busy(store: SqliteStore) -> None:
    store.write(lambda tx: tx.put(tag("a"))).result()
    inside, go = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        tx.put(tag("b"))
        inside.set()
        go.wait(10)

    pending = store.write(slow)
    inside.wait(10)
    assert store.existing(["urn:li:tag:a", "urn:li:tag:b"]) == {"urn:li:tag:a"}
    go.set()
    pending.result()
    assert store.existing(["urn:li:tag:b"])


def test_a_fault_of_the_engine_is_told_as_the_servers_own(store: SqliteStore) -> None:
    def fail(_tx: Transaction) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(ServerFault, match="disk is full"):
        store.write(fail).result()
    assert store.write(lambda tx: tx.put(tag("after"))).result() is True


class Unforeseen(BaseException):
    """As a panic of a library in Rust, no `Exception`."""


def test_a_writer_that_dies_leaves_nobody_waiting(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    go = threading.Event()
    store.write(lambda _tx: go.wait(10))

    def fail(_tx: Transaction) -> None:
        raise Unforeseen

    futures = [store.write(lambda tx: tx.put(tag("a"))), store.write(fail)]
    futures += [store.write(lambda tx: tx.put(tag("b"))) for _ in range(300)]
    go.set()
    for future in futures:
        assert isinstance(future.exception(10), ServerFault)
    assert store.has_died
    with pytest.raises(ServerFault, match="writer failed"):
        store.write(lambda tx: tx.put(tag("late")))
    assert "Unforeseen" in caplog.text
    assert store.entity_count() == 0


def test_a_publication_that_panics_does_not_stop_the_writer(
    store: SqliteStore, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(_offset: int) -> None:
        raise Unforeseen

    monkeypatch.setattr(watcher, "publish", panic)
    assert store.write(lambda tx: tx.put(tag("a"))).result(10) is True
    assert store.write(lambda tx: tx.put(tag("b"))).result(10) is True


def test_a_full_disk_does_not_stop_writing_and_a_damaged_file_does(store: SqliteStore) -> None:
    def fault(code: int) -> Callable[[Transaction], None]:
        def fail(tx: Transaction) -> None:
            tx.put(tag("half"))
            error = sqlite3.DatabaseError("no good")
            error.sqlite_errorcode = code
            raise error

        return fail

    for code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
        with pytest.raises(ServerFault, match="no good"):
            store.write(fault(code)).result(10)
        assert store.problem is None
    assert store.write(lambda tx: tx.put(tag("a"))).result(10) is True
    with pytest.raises(Unusable, match="is damaged"):
        store.write(fault(sqlite3.SQLITE_CORRUPT)).result(10)
    assert store.problem is not None
    with pytest.raises(Unusable, match="nothing is written any more"):
        store.write(lambda tx: tx.put(tag("b"))).result(10)
    assert store.urns("", 10) == ["urn:li:tag:a"]
