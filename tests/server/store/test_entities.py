"""Entities: which exist, in which order they are listed, what is counted, what runs wrote."""

import pytest

from explorer.server.store import DocumentRange, Store
from tests.server.store.examples import (
    INFO,
    KEY,
    PROFILE,
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

NAMES = ["B", "a", "ab", "é", "\U0001f600", "z"]


@pytest.fixture
def filled(store: Store) -> Store:
    """Tags and datasets, one of each removed."""
    put(store, *(write(tag(name)) for name in [*NAMES, "gone"]))
    put(store, *(write(dataset(name)) for name in ("x", "y", "gone")))
    do(store, lambda tx: tx.remove_entity(tag("gone"), KEY, *STAMP))
    do(store, lambda tx: tx.remove_entity(dataset("gone"), "datasetKey", *STAMP))
    return store


def test_urns_are_sorted_by_code_points(filled: Store) -> None:
    tags, datasets = [tag(name) for name in sorted(NAMES)], [dataset("x"), dataset("y")]
    assert filled.urns() == [*datasets, *tags]
    assert filled.urns(entity_type="tag") == tags
    assert filled.urns(entity_type="tag", start=1, limit=2) == tags[1:3]
    assert filled.urns(after=tags[1], limit=3) == tags[2:5]
    assert filled.urns(after=tags[-1]) == []
    assert filled.urns(prefix=tag("a")) == [tag("a"), tag("ab")]
    assert filled.urns(prefix=tag("a"), entity_type="dataset") == []
    assert filled.urns(prefix=tag("a"), after=tag("a"), limit=5) == [tag("ab")]
    assert filled.urns(prefix=tag("ab"), after=tag("a")) == [tag("ab")]
    assert filled.urns(limit=0) == []


def test_an_entity_type_is_not_another_that_begins_alike(store: Store) -> None:
    put(store, write("urn:li:data:a"), write("urn:li:dataset:a"))
    assert store.urns(entity_type="data") == ["urn:li:data:a"]
    assert store.count(entity_type="data") == 1


def test_only_stored_entities_exist(filled: Store) -> None:
    named = [tag("a"), tag("gone"), tag("never")]
    assert filled.existing(named) == {tag("a")}
    assert filled.existing([]) == set()
    many = [tag(str(n)) for n in range(1_500)]
    put(filled, *(write(urn) for urn in many))
    assert filled.existing([*many, *named]) == {*many, tag("a")}


def test_entities_are_counted(filled: Store) -> None:
    assert filled.count() == 8
    assert filled.count(entity_type="tag") == 6
    assert filled.count(entity_type="chart") == 0
    assert filled.count(other_than=("tag", "chart")) == 2
    assert filled.count(urn_like="%hive%") == 2
    assert filled.count(urn_like="URN:LI:TAG:A_") == 1


def test_those_with_an_aspect_are_counted_and_documents_of_one_over_time(filled: Store) -> None:
    put(filled, write(tag("a"), aspect="status"), write(dataset("x"), aspect="status"))
    append(filled, *(document(dataset("x"), n) for n in range(3)))
    assert filled.count(aspect="status") == 2
    assert filled.count(aspect="status", entity_type="tag") == 1
    assert filled.count(aspect="status", urn_like="%:tag:%") == 1
    assert filled.count(aspect=USAGE) == 3
    assert filled.count(aspect=INFO, urn_like="%none%") == 0


def test_urns_are_found_by_when_documents_of_theirs_were(store: Store) -> None:
    append(store, document(dataset("b"), 10), document(dataset("b"), 15))
    append(store, document(dataset("a"), 10), document(dataset("c"), 20))
    append(store, document(dataset("d"), 10, aspect=PROFILE))
    measured = DocumentRange(USAGE, 10, 20)
    assert store.urns(measured=measured) == [dataset("a"), dataset("b")]
    assert store.urns(measured=measured, limit=1) == [dataset("a")]
    assert store.urns(measured=DocumentRange(USAGE, 11, 15)) == []


def runs(store: Store, *, with_removed: bool = True) -> list[tuple[str, int, int]]:
    found = store.runs(0, 10, with_removed=with_removed)
    return [(one.run, one.rows, one.time_millis) for one in found]


@pytest.fixture
def ingested(store: Store) -> Store:
    """What two runs and a person wrote."""
    one, two = dataset("one"), dataset("two")
    put(store, write(one, 1, run="early", at_millis=10), write(two, 1, run="early", at_millis=11))
    put(store, write(one, 2, run="late", at_millis=20))
    append(store, document(one, 5, run="early", seen_millis=12), document(one, 6, run="late"))
    append(store, document(one, 7, run="early", seen_millis=13))
    put(store, write(tag("mine"), at_millis=99))
    return store


def test_runs_come_newest_first_with_what_is_left_of_them(ingested: Store) -> None:
    assert runs(ingested) == [("late", 2, 20), ("early", 4, 13)]
    assert [one.run for one in ingested.runs(1, 1, with_removed=True)] == ["early"]
    do(ingested, lambda tx: tx.remove_entity(dataset("one"), "datasetKey", *STAMP))
    assert runs(ingested) == [("early", 1, 11)]


def test_what_a_run_wrote_comes_by_urn_and_aspect_the_latest_first(ingested: Store) -> None:
    put(ingested, write(dataset("one"), 3, run="early", at_millis=30))
    rows = ingested.run_rows("early")
    assert [(row.urn, row.aspect, row.version, row.time_millis, row.at_millis) for row in rows] == [
        (dataset("one"), USAGE, 0, 13, 7),
        (dataset("one"), USAGE, 0, 12, 5),
        (dataset("one"), INFO, 0, 30, None),
        (dataset("one"), INFO, 1, 10, None),
        (dataset("two"), INFO, 0, 11, None),
    ]
    assert rows[2].value == b'{"name":3}'
    assert ingested.run_rows("early", 1, 2) == rows[1:3]
    assert ingested.run_rows("early", urn=dataset("two")) == rows[4:]
    assert ingested.run_rows("none") == ingested.run_rows("early", urn=tag("none")) == []


def test_the_entities_of_a_run_are_found(ingested: Store) -> None:
    assert ingested.urns(run="early") == [dataset("one"), dataset("two")]
    assert ingested.urns(run="late") == [dataset("one")]
    assert ingested.urns(run="none") == []
    # A superseded version is one that the run wrote, too.
    put(ingested, write(dataset("two"), 9))
    assert ingested.urns(run="early", after=dataset("one")) == [dataset("two")]


def test_what_is_soft_deleted_counts_for_a_run_where_that_is_asked_for(ingested: Store) -> None:
    put(ingested, write(dataset("one"), {"removed": True}, "status"))
    assert runs(ingested, with_removed=False) == [("early", 1, 11)]
    rows = ingested.run_rows("early", with_removed=False)
    assert [row.urn for row in rows] == [dataset("two")]
    assert len(runs(ingested)) == 2
