"""Documents of timeseries aspects: appended, replaced, read within bounds, removed."""

import orjson

from explorer.server.store import Store, StoredDocument
from tests.server.store.examples import (
    ACTOR,
    PROFILE,
    STAMP,
    USAGE,
    append,
    dataset,
    do,
    document,
    put,
    write,
)

URN = dataset("one")


def moments(found: list[StoredDocument]) -> list[int]:
    return [orjson.loads(one.value)["timestampMillis"] for one in found]


def test_documents_come_newest_first_within_bounds_that_are_included(store: Store) -> None:
    append(store, *(document(URN, n) for n in (30, 10, 50, 20, 40)))
    assert moments(list(store.documents(URN, USAGE))) == [50, 40, 30, 20, 10]
    assert moments(list(store.documents(URN, USAGE, 20, 40))) == [40, 30, 20]
    assert moments(list(store.documents(URN, USAGE, limit=2))) == [50, 40]
    assert moments(list(store.documents(URN, USAGE, end_millis=25))) == [20, 10]
    assert moments(list(store.documents(URN, USAGE, -5, 9))) == []
    assert list(store.documents(dataset("other"), USAGE)) == []


def test_those_of_one_moment_are_told_apart_by_their_series(store: Store) -> None:
    append(store, document(URN, 10, "a", series="a"), document(URN, 10, "b", series="b"))
    found = [orjson.loads(one.value)["value"] for one in store.documents(URN, USAGE)]
    assert found == ["b", "a"]


def test_all_documents_of_an_entity_come_by_their_aspect(store: Store) -> None:
    append(store, document(URN, 1), document(URN, 2), document(URN, 3, aspect=PROFILE))
    found = list(store.documents(URN))
    assert [one.aspect for one in found] == [PROFILE, USAGE, USAGE]
    assert moments(found) == [3, 2, 1]
    assert orjson.loads(found[0].system) == {"lastObserved": 1}


def test_a_document_of_the_same_moment_and_series_replaces_the_one_before(store: Store) -> None:
    assert append(store, document(URN, 10, 1)) == [True]
    assert append(store, document(URN, 10, 1)) == [False]
    assert append(store, document(URN, 10, 2)) == [True]
    (found,) = store.documents(URN, USAGE)
    assert orjson.loads(found.value)["value"] == 2
    rows = store.log(0, 10)
    assert [row.offset for row in rows] == [1, 2]
    assert [row.previous for row in rows] == [None, rows[0].value]
    assert {(row.aspect, row.change, row.actor) for row in rows} == {(USAGE, "UPSERT", ACTOR)}


def test_an_entity_may_have_nothing_but_documents(store: Store) -> None:
    append(store, document(URN, 10))
    assert store.existing([URN]) == {URN}
    assert store.urns(entity_type="dataset") == [URN]


def test_those_of_many_entities_that_have_documents_are_told(store: Store) -> None:
    append(store, document(URN, 10))
    do(store, lambda tx: tx.put(write(dataset("plain"), 1)))
    assert store.measured([dataset("plain"), URN, dataset("absent")]) == {URN}
    appended = do(
        store,
        lambda tx: tx.append(document(dataset("plain"), 1)) and tx.measured([dataset("plain")]),
    )
    assert appended == {dataset("plain")}


def test_documents_are_removed_within_bounds_that_are_included(store: Store) -> None:
    append(store, *(document(URN, n) for n in (10, 20, 30, 40)), document(URN, 20, aspect=PROFILE))
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (20, 30), *STAMP)) == 2
    assert moments(list(store.documents(URN, USAGE))) == [40, 10]
    head = store.log_bounds().head
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (20, 30), *STAMP)) == 0
    assert store.log_bounds().head == head
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, 15), *STAMP)) == 1
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP)) == 1
    assert [one.aspect for one in store.documents(URN)] == [PROFILE]
    last = store.log(head - 1, 1)[0]
    assert (last.aspect, last.change, last.value, last.previous) == (USAGE, "DELETE", None, None)
    assert (last.time_millis, last.actor) == STAMP


def test_documents_that_a_run_wrote_are_removed_alone(store: Store) -> None:
    append(store, document(URN, 10, run="a"), document(URN, 20, run="b"), document(URN, 30))
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP, "a")) == 1
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP, "none")) == 0
    assert moments(list(store.documents(URN, USAGE))) == [30, 20]


def test_a_document_that_is_written_again_unchanged_is_of_the_later_run(store: Store) -> None:
    append(store, document(URN, 10, "same", run="a"))
    head = store.log_bounds().head
    assert append(store, document(URN, 10, "same", run="b", seen_millis=9)) == [False]
    assert store.log_bounds().head == head
    (found,) = store.documents(URN, USAGE)
    assert orjson.loads(found.system) == {"lastObserved": 9}
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP, "a")) == 0
    assert do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP, "b")) == 1


def test_documents_are_read_on_the_way_while_others_write(store: Store) -> None:
    append(store, *(document(URN, n) for n in range(1_000)))
    found = store.documents(URN, USAGE)
    first = next(found)
    put(store, write(dataset("two")))
    do(store, lambda tx: tx.remove_documents(URN, USAGE, (None, None), *STAMP))
    assert len([first, *found]) == 1_000
    assert list(store.documents(URN, USAGE)) == []
