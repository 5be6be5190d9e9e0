"""Several services on one database: writers that take turns, and observers that hear of all."""

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, cast

import pytest

from explorer.errors import Busy, StorageFull, Unusable
from explorer.server.store import (
    Job,
    Placement,
    Store,
    StoredEdge,
    StoreFault,
    StoreUnavailable,
    Transaction,
)
from tests.postgres import Cluster
from tests.server.store.examples import (
    INFO,
    KEY,
    STAMP,
    do,
    document,
    name_of,
    put,
    refused,
    stored,
    tag,
    version_in,
    write,
)

psycopg = pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
pytest.importorskip("psycopg_pool", reason="psycopg's pool is not installed")

A, B = tag("a"), tag("b")


@pytest.fixture
def address(postgres: Cluster) -> str:
    return postgres.new_schema()


@pytest.fixture
def open_one(address: str) -> Iterator[Callable[[], Store]]:
    from explorer.server.store.postgresql import PostgresStore

    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(PostgresStore(address))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def pair(open_one: Callable[[], Store]) -> tuple[Store, Store]:
    return open_one(), open_one()


class Watcher:
    """An observer that keeps what it hears, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []
        self.began: list[int] = []
        self.news = threading.Condition()

    def prepare(self, transaction: Transaction) -> None:
        self.began.append(transaction.log_bounds().head)

    def follow(self, offset: int) -> None:
        self._hear("follow", offset)

    def publish(self, offset: int) -> None:
        self._hear("publish", offset)

    def _hear(self, what: str, offset: int) -> None:
        with self.news:
            self.heard.append((what, offset))
            self.news.notify_all()

    def wait(self, offset: int) -> None:
        with self.news:
            assert self.news.wait_for(lambda: any(at >= offset for _, at in self.heard), 120)


def putting(urn: str) -> Job[bool]:
    return lambda tx: tx.put(write(urn))


def end_connections(address: str, *, of: str = "") -> None:
    """End the connections whose last statement a pattern fits, as a failing network does."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
            "and application_name = 'catalog' and query ~ %s",
            (of,),
        )


def test_writes_at_a_locked_table_wait_once_and_all_together(
    address: str, open_one: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.store.postgresql.schema._WRITE_LOCK_SECONDS", 1)
    store, ran = open_one(), list[int]()
    begun, go = threading.Event(), threading.Event()
    waiting = list[Future[None]]()

    def job(number: int) -> Job[None]:
        def run(tx: Transaction) -> None:
            ran.append(number)
            if number == 0:
                # These come while the writer waits.
                waiting.extend(store.write(job(later)) for later in range(5, 9))
            tx.put(write(tag(f"locked{number}")))

        return run

    def hold(_: Transaction) -> None:
        begun.set()
        go.wait(120)

    held = store.write(hold)
    assert begun.wait(120)
    waiting.extend(store.write(job(number)) for number in range(5))
    with psycopg.connect(address) as connection:
        connection.execute("lock table aspects in access exclusive mode")
        go.set()
        held.result(120)
        errors = [one.exception(120) for one in waiting[:5]]
        errors += [one.exception(120) for one in waiting[5:]]
        connection.rollback()
    assert ran == [0]
    assert len(errors) == 9
    for error in errors:
        assert isinstance(error, StoreUnavailable)
        assert error.retry_after_seconds == 2
        assert "has held a lock for more than" in str(error)
    assert store.count() == 0
    # Nothing is left of them, and the next is written.
    do(store, job(1))
    assert store.urns() == [tag("locked1")]


def test_writes_of_which_nobody_knows_whether_they_went_in_are_not_made_again(
    open_one: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.server.store.postgresql import _WritingConnection

    store, ran = open_one(), list[str]()
    begun, go = threading.Event(), threading.Event()
    commit = _WritingConnection.commit

    def lose(self: _WritingConnection, *given: Any) -> None:
        commit(self, *given)
        raise StoreUnavailable("it is unknown whether the change was saved")

    def job(urn: str) -> Job[None]:
        def run(tx: Transaction) -> None:
            ran.append(urn)
            tx.put(write(urn))

        return run

    def hold(_: Transaction) -> None:
        begun.set()
        go.wait(120)

    held = store.write(hold)
    assert begun.wait(120)
    asked = [store.write(job(urn)) for urn in (A, B)]
    monkeypatch.setattr(_WritingConnection, "commit", lose)
    go.set()
    for one in (held, *asked):
        with pytest.raises(StoreUnavailable, match="unknown"):
            one.result(120)
    assert ran == [A, B]


def test_tables_of_the_release_before_are_expanded_while_it_is_at_work(
    address: str, open_one: Callable[[], Store]
) -> None:
    before = open_one()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("drop table readers, tokens, audit")
        connection.execute("drop sequence token_changes")
        connection.execute("delete from meta where key = 'layout'")
        after = open_one()
        put(before, write(A, 1))
        put(after, write(A, 2))
        assert after.log_readers() == before.log_readers() == []
        # As after a step back to the release before.
        connection.execute("update meta set value = '1000' where key = 'layout'")
    assert name_of(stored(open_one(), A)) == 2


def test_rows_that_are_copied_are_what_rows_one_by_one_are(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.server.store.postgresql import PostgresStore, schema

    def bulk(tx: Transaction) -> None:
        for n in range(30):
            urn, target = tag(f"nul\0{n}"), tag(f"to{n % 3}")
            edges = [StoredEdge("Likes", target, flow) for flow in (1, 0, 2)]
            tx.put(write(urn, "a\0b", edges=edges, run="run"))
            tx.put(write(urn, "c", "ownership"))
            for at in (5, 3, 5, 4):
                tx.append(document(urn, at, f"{n} {at}", series=f"s\0{n % 2}", run="run"))
            tx.place(urn, "tag", f"name {n}", [Placement(("a\0", f"b{n % 4}"), "leaf")])

    found: list[object] = []
    for copied_from in (1, 1 << 30):
        monkeypatch.setattr(schema, "COPY_FROM", copied_from)
        store = PostgresStore(postgres.new_schema())
        try:
            do(store, bulk)
            urns = store.urns()
            assert len(urns) == 30
            read = store.aspects(urns)
            found.append(
                (
                    {urn: sorted((one.name, one) for one in read[urn]) for urn in urns},
                    [list(store.documents(urn)) for urn in urns],
                    store.edges(urns, "OUTGOING"),
                    list(store.lineage_pairs()),
                    store.browse("tag", ("a\u2400",), 0, 10),
                    store.browse("tag", ("a\u2400", "b1"), 0, 10),
                    store.log(0, 1_000),
                    store.run_rows("run"),
                )
            )
        finally:
            store.close()
    assert found[0] == found[1]


def test_of_two_writers_that_saw_the_same_value_one_wins(pair: tuple[Store, Store]) -> None:
    put(pair[0], write(A, 0))

    def count_up(tx: Transaction) -> None:
        found = tx.aspect(A, INFO)
        assert found is not None
        tx.put(write(A, int(str(name_of(found))) + 1))

    jobs = [store.write(count_up) for _ in range(40) for store in pair]
    for job in jobs:
        job.result(60)
    assert name_of(stored(pair[0], A)) == 80
    assert version_in(stored(pair[1], A)) == "81"
    assert [row.offset for row in pair[1].log(0, 100)] == list(range(1, 82))


def test_what_another_wrote_is_what_a_transaction_sees(pair: tuple[Store, Store]) -> None:
    one, two = pair
    put(one, write(A, 1))
    put(two, write(A, 2), write(B, 1))
    do(one, lambda tx: tx.set_note("n", "one"))
    assert do(two, lambda tx: tx.note("n")) == "one"
    do(two, lambda tx: tx.set_note("n", "two"))
    assert do(one, lambda tx: (tx.note("n"), tx.existing([B]))) == ("two", {B})
    do(one, lambda tx: tx.remove_entity(B, KEY, *STAMP))
    assert do(two, lambda tx: tx.existing([B])) == set()
    put(two, write(B, 2))
    assert version_in(stored(one, B)) == "2"
    assert put(one, write(A, 2)) == [False]


def test_what_another_wrote_is_seen_after_transactions_that_wrote_nothing(
    pair: tuple[Store, Store],
) -> None:
    def seen(tx: Transaction) -> tuple[str | None, object, set[str]]:
        aspect = tx.aspect(A, INFO)
        return tx.note("n"), aspect and name_of(aspect), tx.existing([B])

    for reads in range(4):
        do(pair[0], lambda tx: tx.set_note("n", "own"))
        put(pair[0], write(A, "own"))
        do(pair[0], lambda tx: tx.remove_entity(B, KEY, *STAMP))
        for _ in range(reads):
            assert do(pair[0], seen) == ("own", "own", set())

        def change(tx: Transaction) -> None:
            tx.set_note("n", "other")
            tx.put(write(A, "other"))
            tx.put(write(B))

        do(pair[1], change)
        assert do(pair[0], seen) == ("other", "other", {B})


def test_rows_of_the_log_never_become_visible_out_of_order(pair: tuple[Store, Store]) -> None:
    seen: list[int] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            rows = pair[0].log(seen[-1] if seen else 0, 1_000)
            seen.extend(row.offset for row in rows)

    looking = threading.Thread(target=look)
    looking.start()
    jobs = [
        store.write(putting(tag(f"{n}-{at}"))) for n in range(60) for at, store in enumerate(pair)
    ]
    for job in jobs:
        job.result(60)
    while len(seen) < 120:
        assert looking.is_alive()
    is_over.set()
    looking.join(120)
    assert seen == list(range(1, 121))


def test_observers_hear_of_every_row_once_and_in_order(pair: tuple[Store, Store]) -> None:
    watchers = [Watcher(), Watcher()]
    for store, watcher in zip(pair, watchers, strict=True):
        store.observe(watcher)
        store.follow(0, "one", lambda: 0)
    put(pair[0], write(A))
    watchers[1].wait(1)
    put(pair[1], write(B))
    watchers[0].wait(2)
    assert watchers[0].heard == [("publish", 1), ("follow", 2)]
    assert watchers[1].heard == [("follow", 1), ("publish", 2)]


def test_a_transaction_begins_once_its_observer_followed_all_before_it(
    pair: tuple[Store, Store],
) -> None:
    one, two = pair
    watcher = Watcher()
    one.observe(watcher)
    one.follow(0, "one", lambda: 0)
    for n in range(70):
        put(two, write(tag(f"other{n}")))
        if n % 7 == 0:
            put(one, write(tag(f"own{n}")))
    offsets = [offset for _, offset in watcher.heard]
    assert offsets == sorted(set(offsets))
    for what, offset in watcher.heard:
        if what == "publish":
            assert offset - 1 in (0, *offsets)


def test_what_an_observer_failed_at_is_followed_again(
    pair: tuple[Store, Store], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Watcher):
        def follow(self, offset: int) -> None:
            self._hear("tried", 0)
            if len(self.heard) == 1:
                raise ValueError("is broken")
            super().follow(offset)

    watcher = Failing()
    pair[0].observe(watcher)
    pair[0].follow(0, "one", lambda: 0)
    put(pair[1], write(A))
    watcher.wait(1)
    assert "is broken" in caplog.text


def test_a_write_whose_connection_was_lost_before_the_commit_is_made_again(
    pair: tuple[Store, Store], address: str
) -> None:
    tries: list[int] = []

    def job(tx: Transaction) -> bool:
        tries.append(1)
        changed = tx.put(write(A, "kept"))
        tx.aspect(A, INFO)
        if len(tries) == 1:
            end_connections(address)
        return tx.put(write(B)) and changed

    assert do(pair[0], job) is True
    assert len(tries) == 2
    assert [row.urn for row in pair[1].log(0, 9)] == [A, B]


def test_a_write_whose_commit_went_in_unheard_is_not_made_twice(
    pair: tuple[Store, Store], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    execute = psycopg.Connection.execute

    def lose_the_answer(self: object, query: object, *given: object, **how: object) -> object:
        done = execute(self, query, *given, **how)
        if query == b"COMMIT" and tries and len(tries) == 1:
            tries.append(0)
            end_connections(address, of="^COMMIT$")
            execute(self, b"SELECT 1")
        return done

    monkeypatch.setattr(psycopg.Connection, "execute", lose_the_answer)

    def job(tx: Transaction) -> None:
        tries.append(1)
        found = tx.aspect(A, INFO)
        tx.put(write(A, 1 + int(str(name_of(found))) if found else 1))

    do(pair[0], job)
    assert tries == [1, 0]
    assert name_of(stored(pair[1], A)) == 1
    do(pair[0], job)
    assert name_of(stored(pair[1], A)) == 2


def test_what_the_database_says_is_for_the_log_and_in_no_answer(
    pair: tuple[Store, Store], address: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(pair[0], write(A))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("alter table urns add check (urn <> 'urn:li:tag:b')")
        connection.execute("alter table edges rename to others")
    told = str(refused(pair[0], lambda tx: tx.put(write(B))))
    assert "(23514)" in told
    assert "Failing row" not in told
    with pytest.raises(StoreFault, match="42P01") as caught:
        pair[0].edges([A], "OUTGOING")
    assert "edges" not in str(caught.value)
    assert "Failing row" in caplog.text
    assert 'relation "edges"' in caplog.text


def test_a_full_disk_of_the_database_is_told_and_outlived(pair: tuple[Store, Store]) -> None:
    def fail(_tx: Transaction) -> None:
        raise psycopg.errors.DiskFull("could not extend file")

    with pytest.raises(StorageFull, match="disk of the database is full; make room there"):
        do(pair[0], fail)
    assert put(pair[0], write(A)) == [True]


def test_a_writer_that_stops_in_its_turn_loses_it(pair: tuple[Store, Store], address: str) -> None:
    stopped = psycopg.connect(address)
    stopped.execute("set idle_in_transaction_session_timeout = '300ms'")
    stopped.commit()
    stopped.execute("select * from writing for update")
    assert put(pair[0], write(A)) == [True]
    stopped.close()


def test_a_writer_that_finds_itself_on_a_standby_looks_for_who_takes_writes(
    pair: tuple[Store, Store],
) -> None:
    # Such is the session of one that went on while another was made the primary.
    cast(Any, pair[0])._writing._raw.execute("set default_transaction_read_only = on")
    assert put(pair[0], write(A)) == [True]
    assert put(pair[0], write(A, 2)) == [True]


def test_a_conflict_that_the_database_reports_is_tried_again(pair: tuple[Store, Store]) -> None:
    tries: list[int] = []

    def job(tx: Transaction) -> None:
        tries.append(1)
        tx.put(write(A))
        if len(tries) < 3:
            raise psycopg.errors.SerializationFailure("could not serialize access")

    do(pair[0], job)
    assert len(tries) == 3
    assert pair[0].log_bounds().head == 1


@pytest.mark.nightly
def test_a_database_that_went_away_is_told_and_comes_back_by_itself(
    postgres: Cluster, pair: tuple[Store, Store]
) -> None:
    watcher = Watcher()
    pair[0].observe(watcher)
    pair[0].follow(0, "one", lambda: 0)
    put(pair[0], write(A))
    postgres.stop()
    try:
        error = refused(pair[0], lambda tx: tx.put(write(B)))
        assert isinstance(error, StoreUnavailable)
        assert error.retry_after_seconds
        assert "try again" in str(error)
        with pytest.raises(Busy, match="cannot be reached") as caught:
            pair[0].aspect(A, INFO)
        for told in (str(error), str(caught.value)):
            assert str(postgres.folder) not in told
    finally:
        postgres.start()
    assert name_of(stored(pair[1], A)) == "x"
    put(pair[1], write(B))
    watcher.wait(2)
    put(pair[0], write(B, 2))
    assert [row.urn for row in pair[0].log(0, 9)] == [A, B, B]


def test_a_database_of_something_else_is_refused(postgres: Cluster) -> None:
    from explorer.server.store.postgresql import PostgresStore

    other = postgres.new_schema()
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("create table log (a int)")
    with pytest.raises(Unusable, match="another application"):
        PostgresStore(other)
    newer = postgres.new_schema()
    PostgresStore(newer).close()
    with psycopg.connect(newer, autocommit=True) as connection:
        connection.execute("update meta set value = '99' where key = 'format'")
    with pytest.raises(Unusable, match="newer release"):
        PostgresStore(newer)
    with pytest.raises(Unusable, match="another address") as caught:
        PostgresStore("postgresql://ann:secret@127.0.0.1:1/shop")
    assert "secret" not in str(caught.value)
    # Not every command that is given an address takes it by this option.
    assert "--store" not in str(caught.value)
    with pytest.raises(Unusable, match=re.escape("postgresql://user@host")) as caught:
        PostgresStore("postgresql://%%")
    assert caught.value.__cause__ is None


def test_a_text_that_postgresql_cannot_keep_has_a_sign_in_its_place(
    pair: tuple[Store, Store],
) -> None:
    put(pair[0], write(A, {"name": "a\0b"}, run="r\0"))
    assert stored(pair[0], A).value == b'{"name":"a\\u0000b"}'
    assert [one.run for one in pair[0].runs(0, 9, with_removed=True)] == ["r\u2400"]
    put(pair[0], write(A, {"removed": True, "note": "\0 \\u0000"}, "status", run="r\0"))
    assert pair[0].runs(0, 9, with_removed=False) == []
    long = tag("x" * 40_000)
    put(pair[0], write(B, run="r" * 9_000))
    assert pair[0].urns(run="r" * 9_000) == [B]
    assert pair[0].existing([long]) == set()
