"""Transactions: jobs that share a commit without sharing their failures, and who sees what when."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from explorer.errors import NotFound, ServerFault
from explorer.server.store import (
    Job,
    Placement,
    Store,
    StoredAspect,
    StoreUnavailable,
    Transaction,
    TransactionChanges,
    Write,
)
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
    name_of,
    put,
    refused,
    stored,
    tag,
    version_in,
    write,
)

A, B, C, D = tag("a"), tag("b"), tag("c"), tag("d")


class Watcher:
    """An observer that keeps what it is shown, and fails when it is to."""

    def __init__(self) -> None:
        self.groups: list[TransactionChanges] = []
        self.published: list[int] = []
        self.refuse_to_prepare: set[str] = set()
        self.publish_error: BaseException | None = None

    def prepare(self, transaction: Transaction) -> None:
        if self.refuse_to_prepare & transaction.changes.touched:
            raise ValueError("cannot be derived")
        self.groups.append(transaction.changes)

    def follow(self, offset: int) -> None:
        raise AssertionError(f"nobody else wrote row {offset}")

    def publish(self, offset: int) -> None:
        if self.publish_error is not None:
            raise self.publish_error
        self.published.append(offset)


@pytest.fixture
def watcher(store: Store) -> Watcher:
    found = Watcher()
    store.observe(found)
    return found


def putting(*urns: str, value: object = "x") -> Job[bool]:
    return lambda tx: all(tx.put(write(urn, value)) for urn in urns)


def occupy_writer(store: Store) -> threading.Event:
    """Return an event; until it is set the writer is busy with a group of one job."""
    busy, release = threading.Event(), threading.Event()

    def hold(_tx: Transaction) -> None:
        busy.set()
        release.wait(120)

    store.write(hold)
    # Before the job runs, the writer would take the next ones into the same group.
    assert busy.wait(120)
    return release


def together(store: Store, *jobs: Callable[[Transaction], object]) -> list[object]:
    """What each job gave or raised, all of them queued while the writer was busy."""
    release = occupy_writer(store)
    futures = [store.write(job) for job in jobs]
    release.set()
    return [future.exception(120) or future.result() for future in futures]


def test_jobs_that_queue_up_share_a_commit(store: Store, watcher: Watcher) -> None:
    urns = [tag(str(n)) for n in range(5)]
    assert together(store, *map(putting, urns)) == [True] * 5
    assert watcher.groups[-1].touched == set(urns)
    assert watcher.published == [5]
    assert store.count() == 5


def test_a_job_that_fails_undoes_itself_and_no_other(store: Store, watcher: Watcher) -> None:
    def fail(tx: Transaction) -> None:
        tx.put(write(B))
        tx.put(write(A, "spoilt"))
        raise NotFound("no such thing")

    given = together(store, putting(A), fail, putting(C))
    assert given[0] is given[2] is True
    assert isinstance(given[1], NotFound)
    assert store.existing([A, B, C]) == {A, C}
    assert name_of(stored(store, A)) == "x"
    assert watcher.groups[-1].touched == {A, C}
    assert [row.urn for row in store.log(0, 9)] == [A, C]
    # A group that follows soon.
    given = together(store, fail, putting(D))
    assert isinstance(given[0], NotFound)
    assert given[1] is True
    assert store.existing([A, B, C, D]) == {A, C, D}
    assert name_of(stored(store, A)) == "x"
    assert [row.urn for row in store.log(2, 9)] == [D]


def test_a_job_reads_aspects_as_they_are_now_whoever_read_them_before(store: Store) -> None:
    one, other = tag("one"), tag("other")
    put(store, write(one, 1), write(one, 1, KEY))

    def read(tx: Transaction, *names: str) -> list[tuple[str, object]]:
        found = tx.aspects([one, other, one], names)
        return sorted((urn, name_of(each)) for urn, listed in found.items() for each in listed)

    def change_twice(tx: Transaction) -> list[list[tuple[str, object]]]:
        seen = [read(tx, INFO)]
        for value in (2, 3):
            tx.put(write(one, value))
            tx.put(write(other, value))
            seen.append(read(tx, INFO))
        return seen

    assert do(store, lambda tx: read(tx, INFO)) == [(one, 1)]
    # A name that nobody read before, beside one that somebody did.
    assert do(store, lambda tx: read(tx, INFO, KEY)) == [(one, 1), (one, 1)]
    seen = do(store, change_twice)
    assert seen == [[(one, 1)], [(one, 2), (other, 2)], [(one, 3), (other, 3)]]
    assert do(store, lambda tx: read(tx, INFO)) == [(one, 3), (other, 3)]

    def spoil(tx: Transaction) -> None:
        tx.put(write(one, 4))
        assert read(tx, INFO) == [(one, 4), (other, 3)]
        raise NotFound("no such thing")

    assert isinstance(refused(store, spoil), NotFound)
    assert do(store, lambda tx: read(tx, INFO)) == [(one, 3), (other, 3)]
    do(store, lambda tx: tx.remove_aspect(one, INFO, *STAMP))
    do(store, lambda tx: tx.remove_entity(other, KEY, *STAMP))
    assert do(store, lambda tx: read(tx, INFO, KEY)) == [(one, 1)]


def test_one_aspect_that_was_read_before_is_read_as_it_is_now(store: Store) -> None:
    urn = tag("one")

    def read(tx: Transaction) -> StoredAspect | None:
        return tx.aspect(urn, INFO)

    changes: list[Job[object]] = [
        lambda tx: tx.put(write(urn, 1, KEY)),
        lambda tx: tx.put(write(urn, 1)),
        lambda tx: tx.put(write(urn, 2)),
        lambda tx: tx.put(write(urn, 2, run="again")),
        lambda tx: tx.remove_version(urn, INFO, 0, (), *STAMP),
        lambda tx: tx.remove_aspect(urn, INFO, *STAMP),
        lambda tx: tx.put(write(urn, 3)),
        lambda tx: tx.remove_entity(urn, KEY, *STAMP),
        lambda tx: tx.put(write(urn, 4)),
    ]
    for change in changes:

        def change_and_read(tx: Transaction, change: Job[object] = change) -> StoredAspect | None:
            read(tx)
            change(tx)
            return read(tx)

        within = do(store, change_and_read)
        assert within == do(store, read) == store.aspect(urn, INFO)


def _read(urn: str, names: list[str] | None, tx: Transaction) -> list[StoredAspect]:
    return tx.aspects([urn], names).get(urn, [])


def test_a_job_reads_what_earlier_jobs_wrote_exactly_as_the_store_has_it(store: Store) -> None:
    urn = dataset("one")
    changes: list[Job[object]] = [
        lambda tx: tx.put(write(urn, 1)),
        lambda tx: tx.put(write(urn, 2, KEY)),
        lambda tx: tx.put(write(urn, 1, run="again")),
        lambda tx: tx.put(write(urn, 2)),
        lambda tx: tx.put(write(urn, "x" * 100_000)),
        lambda tx: tx.remove_version(urn, INFO, 0, (), *STAMP),
        lambda tx: tx.put(write(urn, 3)),
        lambda tx: tx.remove_aspect(urn, INFO, *STAMP),
        lambda tx: tx.put(write(urn, 4)),
        lambda tx: tx.remove_entity(urn, KEY, *STAMP),
        lambda tx: tx.put(write(urn, 5)),
    ]
    for change in changes:
        do(store, change)
        now = {one.name: one for one in store.aspects([urn]).get(urn, ())}
        for names in ([INFO], [INFO, KEY], None):
            read = do(store, partial(_read, urn, names))
            wanted = now.keys() if names is None else now.keys() & {*names}
            assert {one.name: one for one in read} == {name: now[name] for name in wanted}
        assert do(store, lambda tx: tx.aspect(urn, INFO)) == now.get(INFO)


def test_a_new_entity_has_its_documents_and_all_its_aspects_at_once(store: Store) -> None:
    urn = dataset("new")

    def make(tx: Transaction) -> list[object]:
        tx.put(write(urn, 1))
        tx.append(document(urn, 5))
        tx.put(write(urn, 2, KEY))
        assert [tx.append(document(urn, at)) for at in (5, 6)] == [False, True]
        return [json.loads(one.value)["timestampMillis"] for one in tx.documents(urn, USAGE)]

    assert do(store, make) == [6, 5]
    assert {one.name for one in store.aspects([urn])[urn]} == {INFO, KEY}
    assert append(store, document(urn, 6), document(urn, 7)) == [False, True]


def test_a_job_that_fails_leaves_nothing(store: Store, watcher: Watcher) -> None:
    urn = dataset("one")
    put(store, write(urn, 1), write(urn, 2), write(A))
    append(store, document(urn, 1))
    do(store, lambda tx: tx.place(urn, "dataset", "one", [Placement(("prod",))]))

    def contents() -> tuple[object, ...]:
        return (
            store.aspects([urn, A, B]),
            store.versions(urn, INFO, (1, 0), 0, 9),
            list(store.documents(urn)),
            store.browse("dataset", (), 0, 9),
            store.runs(0, 9, with_removed=True),
            store.log(0, 99),
            store.note("kept"),
            store.urns(),
        )

    def fail(tx: Transaction) -> None:
        tx.put(write(urn, 3, run="r"))
        tx.put(write(B))
        tx.append(document(urn, 1, "other"))
        tx.append(document(urn, 2, run="r"))
        tx.remove_documents(urn, USAGE, (1, 1), *STAMP)
        tx.remove_version(urn, INFO, 0, (), *STAMP)
        tx.remove_aspect(urn, INFO, *STAMP)
        tx.remove_entity(A, KEY, *STAMP)
        tx.place(urn, "dataset", "one", [Placement(("other",))])
        tx.set_note("kept", "yes")
        tx.trim_log(100, 100, 100)
        raise NotFound("no such thing")

    before, seen = contents(), len(watcher.groups)
    assert isinstance(refused(store, fail), NotFound)
    assert contents() == before
    assert len(watcher.groups) == seen
    # Nor does a later write go on from what was undone.
    put(store, write(urn, 3))
    assert version_in(stored(store, urn)) == "3"


def _put(change: Write, tx: Transaction) -> bool:
    return tx.put(change)


def test_a_part_of_a_job_is_undone_alone(store: Store, watcher: Watcher) -> None:
    urn = dataset("one")
    put(store, write(urn, 1))

    def fail(tx: Transaction) -> None:
        tx.put(write(urn, 3))
        tx.put(write(B))
        tx.place(B, "tag", "b", [Placement(("other",))])
        raise NotFound("no such thing")

    def job(tx: Transaction) -> list[bool]:
        tx.put(write(A))
        with pytest.raises(NotFound, match="no such thing"):
            tx.attempt(fail)
        assert tx.existing([A, B]) == {A}
        written = [tx.attempt(partial(_put, write(urn, at))) for at in (1, 2)]
        tx.put(write(C))
        return written

    assert do(store, job) == [False, True]
    assert store.existing([A, B, C]) == {A, C}
    assert [row.urn for row in store.log(1, 9)] == [A, urn, C]
    assert version_in(stored(store, urn)) == "2"
    assert watcher.groups[-1].touched == {A, urn, C}
    assert isinstance(refused(store, lambda tx: tx.attempt(fail)), NotFound)


def test_a_transaction_reads_what_it_wrote(store: Store) -> None:
    def job(tx: Transaction) -> None:
        tx.put(write(A, 1))
        tx.put(write(A, 2))
        tx.append(document(B, 5))
        tx.set_note("n", "v")
        assert name_of(tx.aspects([A])[A][0]) == 2
        earlier = tx.aspect(A, INFO, -1)
        assert earlier is not None
        assert name_of(earlier) == 1
        assert tx.existing([A, B, C]) == {A, B}
        assert tx.urns(prefix="urn:li:tag:") == [A, B]
        assert len(list(tx.documents(B))) == 1
        assert tx.note("n") == "v"
        assert tx.log_bounds().head == 3
        tx.remove_entity(A, KEY, *STAMP)
        assert tx.existing([A]) == set()
        assert tx.count() == 1

    do(store, job)


def test_what_a_transaction_changed_is_gathered(store: Store, watcher: Watcher) -> None:
    def job(tx: Transaction) -> None:
        tx.put(write(A))
        tx.append(document(B, 5))
        tx.changes.stale.add(C)

    do(store, job)
    (found,) = watcher.groups
    assert (found.touched, found.measured, found.stale) == ({A}, {(B, USAGE)}, {C})
    do(store, lambda tx: tx.remove_documents(B, USAGE, (None, None), *STAMP))
    assert watcher.groups[-1].measured == {(B, USAGE)}
    do(store, lambda tx: tx.set_note("n", "v"))
    assert len(watcher.groups) == 2


def test_what_is_only_derived_anew_is_published_too(store: Store, watcher: Watcher) -> None:
    put(store, write(A))
    do(store, lambda tx: tx.changes.stale.add(A))
    assert watcher.published == [1, 1]
    assert watcher.groups[-1].stale == {A}


def test_what_cannot_be_derived_fails_alone(store: Store, watcher: Watcher) -> None:
    watcher.refuse_to_prepare = {B}
    given = together(store, *map(putting, (A, B, C)))
    assert given[0] is given[2] is True
    assert isinstance(given[1], ValueError)
    assert store.existing([A, B, C]) == {A, C}


def test_what_is_derived_is_written_with_the_change(store: Store) -> None:
    class Placer(Watcher):
        def prepare(self, transaction: Transaction) -> None:
            for urn in transaction.changes.touched:
                transaction.place(urn, "tag", urn, [Placement(("all",))])

    store.observe(Placer())
    together(store, putting(A), putting(B))
    assert store.browse("tag", (), 0, 9).groups == (("all", 2),)


def test_a_commit_stands_though_its_publication_failed(
    store: Store, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    watcher.publish_error = ValueError("is broken")
    assert do(store, putting(A)) is True
    assert store.existing([A])
    assert "is broken" in caplog.text
    assert do(store, putting(B)) is True


def test_a_write_is_published_before_it_is_answered(store: Store, watcher: Watcher) -> None:
    for n in range(20):
        do(store, putting(tag(str(n))))
        assert watcher.published[-1] == n + 1


def test_an_identical_value_is_neither_logged_nor_published(store: Store, watcher: Watcher) -> None:
    assert do(store, putting(A)) is True
    assert do(store, putting(A)) is False
    assert store.log_bounds().head == 1
    assert watcher.published == [1]


def test_an_answered_write_is_seen_by_every_thread(store: Store) -> None:
    def write_and_look(n: int) -> bool:
        urn = tag(str(n))
        do(store, putting(urn))
        return store.existing([urn]) == {urn} and store.log_bounds().head > 0

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(write_and_look, range(100)))
    assert store.log_bounds().head == 100


def test_readers_see_nothing_of_a_transaction_under_way(store: Store) -> None:
    put(store, write(A))
    inside, go = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        tx.put(write(B))
        tx.remove_entity(A, KEY, *STAMP)
        inside.set()
        go.wait(120)

    pending = store.write(slow)
    inside.wait(120)
    assert store.existing([A, B]) == {A}
    assert store.log_bounds().head == 1
    with store.snapshot() as view:
        assert view.urns() == [A]
    go.set()
    pending.result(60)
    assert store.existing([A, B]) == {B}


def test_readers_never_see_half_of_a_transaction(store: Store) -> None:
    put(store, write(A, 0), write(B, 0))
    stop = threading.Event()
    torn: list[object] = []

    def look() -> None:
        while not stop.is_set():
            found = {name_of(one[0]) for one in store.aspects([A, B]).values()}
            if len(found) != 1:
                torn.append(found)

    with ThreadPoolExecutor(2) as threads:
        looking = [threads.submit(look) for _ in range(2)]
        for n in range(1, 60):
            do(store, putting(A, B, value=n))
        stop.set()
        for one in looking:
            one.result(60)
    assert torn == []


def test_a_snapshot_stays_at_its_moment_while_others_write(store: Store) -> None:
    put(store, write(A, 1))
    append(store, document(A, 1))
    with store.snapshot() as view:
        before = view.log_bounds()
        put(store, write(A, 2), write(B))
        append(store, document(A, 2))
        do(store, lambda tx: tx.set_note("n", "v"))
        found = view.aspect(A, INFO)
        assert found is not None
        assert name_of(found) == 1
        assert view.aspect(A, INFO, 1) is None
        assert view.urns() == [A]
        assert view.count() == 1
        assert len(list(view.documents(A))) == 1
        assert view.log(0, 99) == store.log(0, 2)
        assert view.log_bounds() == before
        assert view.note("n") is None
    assert name_of(stored(store, A)) == 2
    with store.snapshot() as view:
        assert view.urns() == [A, B]


def test_what_was_answered_is_there_when_the_catalog_is_opened_again(open_store: Open) -> None:
    store = open_store()
    put(store, write(A, 1), write(A, 2))
    append(store, document(B, 5))
    expected = (store.aspects([A]), list(store.documents(B)), store.log(0, 9))
    store.close()
    again = open_store()
    assert (again.aspects([A]), list(again.documents(B)), again.log(0, 9)) == expected
    put(again, write(A, 3))
    assert version_in(stored(again, A)) == "3"
    assert again.log_bounds().head == 4


def test_closing_finishes_what_is_queued_and_takes_no_more(open_store: Open) -> None:
    store = open_store()
    futures = [store.write(putting(tag(str(n)))) for n in range(50)]
    store.close()
    assert all(future.result(0) for future in futures)
    with pytest.raises(StoreUnavailable, match="shutting down"):
        store.write(putting(tag("late")))
    store.close()
    assert open_store().count() == 50


class Unforeseen(BaseException):
    """As a panic of a library in Rust, no `Exception`."""


def test_a_writer_that_dies_leaves_nobody_waiting(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    release = occupy_writer(store)

    def fail(_tx: Transaction) -> None:
        raise Unforeseen

    assert not store.has_died
    futures: list[Future[Any]] = [store.write(putting(A)), store.write(fail)]
    futures += [store.write(putting(B)) for _ in range(300)]
    release.set()
    for future in futures:
        assert isinstance(future.exception(120), ServerFault)
    assert store.has_died
    with pytest.raises(ServerFault, match="writer failed"):
        store.write(putting(tag("late")))
    assert "Unforeseen" in caplog.text
    assert store.count() == 0


def test_a_publication_that_panics_does_not_stop_the_writer(store: Store, watcher: Watcher) -> None:
    watcher.publish_error = Unforeseen()
    assert do(store, putting(A)) is True
    assert do(store, putting(B)) is True
    assert store.problem is None
