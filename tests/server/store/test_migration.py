"""`catalog migrate`: a catalog goes from one engine to another and back, whole."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from explorer.errors import InvalidInput, StorageFault
from explorer.instance import hold
from explorer.metadata.registry import load_registry
from explorer.server.data_directory import migrate, open_catalog, open_store
from explorer.server.store import (
    Placement,
    Store,
    StoredEdge,
    StoreUnavailable,
    Transaction,
    lasting_id,
)
from tests.postgres import Cluster
from tests.server.store.examples import (
    KEY,
    STAMP,
    append,
    dataset,
    do,
    document,
    put,
    refused,
    stored,
    tag,
    version_in,
    write,
)
from tests.server.store.test_histories import answers

A, B = tag("a"), dataset("one")


def fill(store: Store) -> None:
    """Something of everything, some of it long or removed again."""
    edges = [StoredEdge("Knows", B), StoredEdge("MadeOf", tag("nowhere"), 1)]
    for n in range(4):
        put(store, write(A, {"name": "x" * 900 * n, "nul": "\0"}, run=f"r{n}\0", edges=edges))
    put(store, write(B, 1, KEY), write(B, 2), write(A, 5, "status"))
    append(store, *(document(B, n, series="s", run="r1") for n in range(5)), document(A, 7))
    do(store, lambda tx: tx.place(B, "dataset", "One", [Placement(("Prod", "x2"), "One")]))
    do(store, lambda tx: tx.set_note("delimiter.hive", "."))
    do(store, lambda tx: tx.remove_aspect(A, "status", *STAMP))
    put(store, *(write(tag(f"t{n}"), n) for n in range(2_500)))
    put(store, write(A, {"name": "x" * 2_700, "nul": "\0"}, run="again"))
    do(store, lambda tx: tx.remove_entity(tag("t7"), KEY, *STAMP))
    do(store, lambda tx: tx.trim_log(2, 2, 2))


def no_progress(_total: int) -> Callable[[int], None]:
    return lambda _rows: None


def told(place: str) -> dict[str, Any]:
    store = open_store(Path(place), place if "://" in place else None)
    try:
        found = answers(store)
    finally:
        store.close()
    # NUL has a sign in its place where PostgreSQL kept a text.
    return {
        name: repr(sorted(one.items()) if isinstance(one, dict) else one).replace("\\x00", "\u2400")
        for name, one in found.items()
    }


def known_as(place: str) -> str:
    store = open_store(Path(place), place if "://" in place else None)
    try:
        return lasting_id(store)
    finally:
        store.close()


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "source").mkdir()
    store = open_store(tmp_path / "source")
    fill(store)
    store.close()
    return str(tmp_path / "source")


def test_a_catalog_goes_to_postgresql_and_back(
    source: str, postgres: Cluster, tmp_path: Path
) -> None:
    database, back = postgres.new_schema(), str(tmp_path / "back")
    tables = {one.name: one.rows for one in migrate(source, database, no_progress)}
    assert tables["log"] > 2_500
    assert told(database) == told(source)
    migrate(database, back, no_progress)
    assert told(back) == told(source)
    # Clients know it by the same id, wherever it is.
    assert known_as(database) == known_as(back) == known_as(source)
    store = open_store(Path(), database)
    try:
        # Offsets, versions, runs and folders go on where they were.
        head = store.log_bounds().head
        put(store, write(A, "next", run="new"), write(tag("t7"), "again"))
        assert store.log_bounds().head == head + 2
        assert version_in(stored(store, A)) == "5"
        assert version_in(stored(store, tag("t7"))) == "2"
        do(store, lambda tx: tx.place(A, "tag", "a", [Placement(("new",))]))
    finally:
        store.close()


def test_one_that_was_interrupted_goes_on_and_is_not_served_before(
    source: str, postgres: Cluster, tmp_path: Path
) -> None:
    database = postgres.new_schema()
    parts: list[int] = []

    def interrupted(_total: int) -> Callable[[int], None]:
        def advance(rows: int) -> None:
            parts.append(rows)
            if len(parts) == 4:
                raise KeyboardInterrupt

        return advance

    with pytest.raises(KeyboardInterrupt):
        migrate(source, database, interrupted)
    with pytest.raises(StorageFault, match="is copying a catalog"):
        open_catalog(tmp_path, load_registry(), database)
    later: list[int] = []
    tables = migrate(source, database, lambda _total: later.append)
    assert sum(parts) + sum(later) == sum(one.rows for one in tables)
    assert told(database) == told(source)
    with pytest.raises(InvalidInput, match="already holds a catalog"):
        migrate(source, database, no_progress)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_source_stays_in_use_until_the_target_takes_over(
    engine: str, postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.store.migration._FEW_ROWS", 3)
    monkeypatch.setattr("explorer.server.store.migration._PART_ROWS", 1_000)
    directory = tmp_path / "source"
    directory.mkdir()
    is_file = engine == "sqlite"
    source = str(directory) if is_file else postgres.new_schema()
    target = postgres.new_schema() if is_file else str(tmp_path / "target")
    parts: list[int] = []
    switched: list[bool] = []
    with ExitStack() as service:
        if is_file:
            service.enter_context(hold(directory))
        store = open_store(directory, None if is_file else source)
        service.callback(store.close)
        fill(store)
        if is_file:
            # The writer of the service gives up sooner than after 10 seconds.
            cast(Any, store)._writer._connection._connection.execute("PRAGMA busy_timeout = 50")
        else:
            cast(Any, store)._writing._raw.execute("SET lock_timeout = 50")

        def change(rows: int) -> None:
            """What does not leave what was copied as it was, nor always a row in the log."""
            parts.append(rows)
            n = len(parts)

            def job(tx: Transaction) -> None:
                for one in (
                    write(A, {"name": f"later {n}"}),
                    write(tag(f"t{n}"), n, at_millis=n),
                    write(tag(f"t{n + 50}"), f"other {n}", run=f"late{n}"),
                    write(B, n),
                ):
                    tx.put(one)
                tx.append(document(B, 3, n, series="s"))
                tx.append(document(tag(f"t{n}"), n))
                tx.remove_entity(tag(f"t{n + 100}"), KEY, *STAMP)
                tx.place(B, "dataset", "B", [Placement((f"f{n}", "x2"), "B")])
                tx.set_note("delimiter.hive", f"{n}")
                if n % 4 == 0:
                    tx.trim_log(1 << 60, 100 * n, 50)
                    tx.trim_versions(1, 0, 9)

            do(store, job)

        def switch() -> None:
            switched.append(True)
            assert isinstance(refused(store, lambda tx: tx.put(write(A, "lost"))), StoreUnavailable)
            assert told(target) == told(source)
            service.close()

        tables = migrate(source, target, lambda _total: change, switch)
        assert switched == [True] * is_file
        assert len(parts) > 12
        assert {one.name: one.rows for one in tables}["runs"] > 10
    assert told(target) == told(source)


def test_a_row_that_was_lost_on_the_way_is_noticed(
    source: str, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.server.store.sql.transaction import SqlTransaction

    add_rows = SqlTransaction.add_rows

    def lose(self: SqlTransaction, table: Any, rows: list[Any]) -> None:
        add_rows(self, table, rows[1:] if table.name == "points" else rows)

    database = postgres.new_schema()
    monkeypatch.setattr(SqlTransaction, "add_rows", lose)
    with pytest.raises(StorageFault, match="differs from the source in points"):
        migrate(source, database, no_progress)
    monkeypatch.undo()
    migrate(source, database, no_progress)
    assert told(database) == told(source)
