"""The change log: read from an offset, followed, trimmed; and notes about the catalog."""

from random import Random, randbytes

from explorer.server.store import Job, LogBounds, LogEntry, Store, Transaction, log_mark
from tests.server.store.conftest import Open
from tests.server.store.examples import (
    INFO,
    KEY,
    STAMP,
    USAGE,
    append,
    dataset,
    do,
    document,
    put,
    tag,
    write,
)


def test_a_catalog_that_was_never_written_has_no_rows(store: Store) -> None:
    assert store.log_bounds() == LogBounds(0, 0)
    assert store.log(0, 10) == []
    assert store.changed_urns(0) == []
    assert log_mark(store, 0) is None


def test_rows_are_in_the_order_of_the_writes(store: Store) -> None:
    def putting(urn: str) -> Job[bool]:
        return lambda tx: tx.put(write(urn))

    jobs = [store.write(putting(tag(f"t{n}"))) for n in range(100)]
    assert all(job.result(60) for job in jobs)
    rows = store.log(0, 1_000)
    assert [row.offset for row in rows] == list(range(1, 101))
    assert [row.urn for row in rows] == [tag(f"t{n}") for n in range(100)]
    assert [row.offset for row in store.log(97, 2)] == [98, 99]
    assert store.log(100, 10) == []
    assert store.log_bounds() == LogBounds(0, 100)


def test_changed_entities_are_named_once(store: Store) -> None:
    put(store, write(tag("a"), 1))
    put(store, write(tag("b"), 1), write(tag("a"), 2))
    append(store, document(dataset("c"), 1), document(dataset("c"), 2))
    assert sorted(store.changed_urns(0)) == [dataset("c"), tag("a"), tag("b")]
    assert sorted(store.changed_urns(3)) == [dataset("c")]
    assert store.changed_urns(5) == []


def test_the_log_outlives_what_it_tells_of(store: Store) -> None:
    put(store, write(tag("a")))
    do(store, lambda tx: tx.remove_entity(tag("a"), KEY, *STAMP))
    assert store.count() == 0
    assert [row.change for row in store.log(0, 9)] == ["UPSERT", "DELETE"]


def test_rows_stay_as_they_were_whatever_happens_to_what_they_tell_of(store: Store) -> None:
    chance = Random(7)
    names = ("a", "b")
    long = " ".join(f"word{n}" for n in range(200))

    def change(tx: Transaction) -> None:
        urn, aspect = tag(chance.choice(names)), chance.choice((INFO, "other"))
        value = {"name": chance.randrange(4), "text": long[: chance.choice((0, 2_000))]}
        exists = tx.aspect(urn, aspect) is not None
        match chance.randrange(12):
            case 0:
                tx.remove_entity(urn, KEY, *STAMP)
            case 1:
                tx.remove_aspect(urn, aspect, *STAMP)
            case 2 | 3 if exists:
                tx.remove_version(urn, aspect, 0, (), *STAMP)
            case 4 if tx.aspect(urn, aspect, -1):
                older = tx.aspect(urn, aspect, -1)
                assert older is not None
                tx.remove_version(urn, aspect, older.version, (), *STAMP)
            case 5:
                tx.append(document(urn, chance.randrange(3), chance.randrange(3)))
            case 6:
                tx.remove_documents(urn, USAGE, (1, None), *STAMP)
            case _:
                tx.put(write(urn, value, aspect, run=chance.choice(("r1", "r2"))))

    told: list[LogEntry] = []
    for at in range(300):
        do(store, change)
        rows = store.log(0, 10_000)
        assert rows[: len(told)] == told
        for row in rows[len(told) :]:
            assert (row.value is None) is (row.change == "DELETE")
        told = rows
        if at % 100 == 50:
            told = told[trim(store, before_millis=1_000, through=len(told) // 2) :]
    assert len(told) > 100


def trim(store: Store, before_millis: int, through: int, most: int = 1_000) -> int:
    return do(store, lambda tx: tx.trim_log(before_millis, through, most))


def test_old_rows_are_dropped_from_the_beginning(store: Store) -> None:
    for n in range(1, 11):
        put(store, write(tag("a"), n, at_millis=n))
    assert trim(store, before_millis=1, through=10) == 0
    assert trim(store, before_millis=100, through=2) == 2
    assert store.log_bounds() == LogBounds(2, 10)
    assert [row.offset for row in store.log(0, 2)] == [3, 4]
    assert trim(store, before_millis=5, through=10) == 2
    assert trim(store, before_millis=100, through=10, most=3) == 3
    assert store.log_bounds() == LogBounds(7, 10)
    # The last row stays, whatever is asked for: offsets go on after it.
    assert trim(store, before_millis=100, through=10) == 2
    assert store.log_bounds() == LogBounds(9, 10)
    put(store, write(tag("a"), "next"))
    assert store.log_bounds() == LogBounds(9, 11)


def test_a_newer_row_keeps_the_older_ones_behind_it(store: Store) -> None:
    for n, at_millis in enumerate((50, 10, 10)):
        put(store, write(tag("a"), n, at_millis=at_millis))
    assert trim(store, before_millis=20, through=3) == 0


def test_a_row_has_a_mark_that_no_other_has(open_store: Open) -> None:
    store = open_store()
    put(store, write(tag("a"), 1), write(tag("a"), 2))
    one, two = log_mark(store, 1), log_mark(store, 2)
    assert one is not None
    assert one != two
    assert log_mark(store, 3) is None
    store.close()
    # What derives something asks for it while the catalog is closed, too.
    assert log_mark(store, 1) == one
    assert log_mark(open_store(), 1) == one
    trim(open_store(), before_millis=100, through=1)
    assert log_mark(open_store(), 1) is None


def test_notes_are_kept_until_they_are_dropped(open_store: Open) -> None:
    store = open_store()
    assert store.note("a") is None
    do(store, lambda tx: tx.set_note("a", "one"))
    do(store, lambda tx: tx.set_note("a", "two"))
    assert store.note("a") == "two"
    assert store.note("A") is None
    store.close()
    again = open_store()
    assert again.note("a") == "two"
    do(again, lambda tx: tx.set_note("a", None))
    assert again.note("a") is None
    # It is nothing that anybody follows.
    assert again.log_bounds().head == 0


def test_a_catalog_keeps_its_id(open_store: Open) -> None:
    store = open_store()
    known = store.catalog_id()
    assert known
    store.close()
    assert open_store().catalog_id() == known


def test_a_store_takes_more_room_with_what_it_holds(store: Store) -> None:
    before = store.size_bytes()
    put(store, *(write(tag(str(n)), randbytes(500).hex()) for n in range(500)))
    assert store.size_bytes() > before + 250_000
