"""The writer of the SQLite store: what SQLite fails at, and what that means for the catalog."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.errors import StorageFull, Unusable
from explorer.server.store import Store, StoreFault, StoreUnavailable, Transaction
from explorer.server.store.sqlite import SqliteStore
from tests.server.store.examples import do, put, tag, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "catalog.db")
    yield opened
    opened.close()


def test_what_sqlite_fails_at_is_a_fault_of_the_store(store: Store) -> None:
    def fail(_tx: Transaction) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(StoreFault, match="disk is full"):
        do(store, fail)
    assert put(store, write(tag("after"))) == [True]


def test_a_full_disk_does_not_stop_writing_and_a_damaged_file_does(store: Store) -> None:
    def fault(code: int) -> Callable[[Transaction], None]:
        def fail(tx: Transaction) -> None:
            tx.put(write(tag("half")))
            error = sqlite3.DatabaseError("no good")
            error.sqlite_errorcode = code
            raise error

        return fail

    for code, kind, told in (
        (sqlite3.SQLITE_FULL, StorageFull, "disk of the catalog is full"),
        (sqlite3.SQLITE_IOERR_WRITE, StoreUnavailable, "no good; try again in a moment"),
        (sqlite3.SQLITE_READONLY, StoreUnavailable, "no good; try again in a moment"),
        (sqlite3.SQLITE_CONSTRAINT, StoreFault, "no good"),
    ):
        with pytest.raises(kind, match=told):
            do(store, fault(code))
        assert store.problem is None
    assert put(store, write(tag("a"))) == [True]
    with pytest.raises(Unusable, match="is damaged"):
        do(store, fault(sqlite3.SQLITE_CORRUPT))
    assert store.problem is not None
    with pytest.raises(Unusable, match="no more writes are accepted"):
        store.write(lambda tx: tx.put(write(tag("b"))))
    assert store.urns() == [tag("a")]


def test_a_file_that_cannot_be_read_for_a_while_is_to_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    store = SqliteStore(tmp_path / "catalog.db")
    monkeypatch.setattr(store, "_connect", refuse)
    with pytest.raises(StoreUnavailable, match="cannot be read") as told:
        store.aspects([tag("a")])
    assert told.value.retry_after_seconds == 5
    store.close()


def test_tables_of_another_shape_are_a_fault_of_the_store(store: Store, tmp_path: Path) -> None:
    file = sqlite3.connect(tmp_path / "catalog.db")
    file.execute("ALTER TABLE aspects RENAME COLUMN value TO other")
    file.close()
    with pytest.raises(StoreFault, match="cannot be read"):
        store.aspects([tag("a")])
    assert store.problem is None
