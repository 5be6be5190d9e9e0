"""Versioned aspects: writing, reading, versions, removal."""

import orjson
import pytest

from explorer.server.store import LogEntry, Store, StoredEdge
from tests.server.store.examples import (
    ACTOR,
    INFO,
    KEY,
    STAMP,
    append,
    do,
    document,
    name_of,
    put,
    stored,
    tag,
    version_in,
    write,
)

URN = tag("one")
OTHER = tag("two")


def four_values(store: Store) -> None:
    for n in range(1, 5):
        put(store, write(URN, n, at_millis=n))


def test_an_aspect_is_read_as_it_was_written(store: Store) -> None:
    given = b'{"b": 1,  "a":"\xc3\xa9"}'
    one = write(URN, run="r")
    do(store, lambda tx: tx.put(type(one)(URN, "tag", INFO, given, 5, ACTOR, b'{"runId":"r"}')))
    found = stored(store, URN)
    assert found.value == given
    assert (found.name, found.version, found.time_millis, found.actor) == (INFO, 0, 5, ACTOR)
    assert orjson.loads(found.system) == {"runId": "r", "version": "1"}


def test_what_is_not_stored_is_nothing(store: Store) -> None:
    put(store, write(URN))
    assert store.aspect(URN, "status") is None
    assert store.aspect(OTHER, INFO) is None
    assert store.aspect(URN, INFO, 1) is None
    assert store.aspect(URN, INFO, -1) is None
    assert store.versions(URN, "status", (1, 0), 0, 10) is None


def test_every_version_of_some_aspects_comes_by_urn(store: Store) -> None:
    four_values(store)
    put(store, write(URN, aspect="status", at_millis=9), write(OTHER, "only", at_millis=7))
    found = store.histories([URN, OTHER, tag("none")], [INFO, KEY])
    assert found.keys() == {URN, OTHER}
    assert sorted((one.version, one.time_millis) for one in found[URN]) == [
        (0, 4),
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert {one.name for one in found[URN]} == {INFO}
    assert store.histories([URN], []) == store.histories([], [INFO]) == {}


def test_the_latest_aspects_of_many_entities_come_by_their_urns(store: Store) -> None:
    urns = [tag(str(n)) for n in range(1_200)]
    put(store, *(write(urn, urn) for urn in urns), write(urns[0], aspect="status"))
    found = store.aspects([*urns, tag("none")])
    assert found.keys() == set(urns)
    assert {one.name for one in found[urns[0]]} == {INFO, "status"}
    assert all(name_of(found[urn][0]) == urn for urn in urns[1:])
    assert {one.name for one in store.aspects(urns, ["status"])[urns[0]]} == {"status"}
    assert store.aspects(urns, ["status"]).keys() == {urns[0]}
    assert store.aspects([]) == {}
    assert store.aspects(urns, []) == {}


def test_versions_count_from_the_oldest_and_back_from_the_latest(store: Store) -> None:
    four_values(store)
    assert [name_of(stored(store, URN, version=n)) for n in (0, 1, 2, 3)] == [4, 1, 2, 3]
    assert [stored(store, URN, version=n).version for n in (0, 1, -1, -3)] == [0, 1, 3, 1]
    assert store.aspect(URN, INFO, 4) is None
    assert store.aspect(URN, INFO, -4) is None
    assert [version_in(stored(store, URN, version=n)) for n in (1, 2, 3, 0)] == list("1234")


@pytest.mark.parametrize(
    ("ends", "start", "count", "total", "names"),
    [
        ((1, 0), 0, 10, 4, [4, 3, 2, 1]),
        ((0, 1), 1, 2, 4, [3, 2]),
        ((1, 0), 0, 1, 4, [4]),
        ((1, 0), 0, 0, 4, []),
        ((1, 0), 0, -1, 4, [4, 3, 2, 1]),
        ((2, 3), 0, 10, 2, [3, 2]),
        ((-1, 0), 0, 10, 2, [4, 3]),
        ((4, 99), 0, 10, 1, [4]),
        ((50, 99), 0, 10, 0, []),
    ],
)
def test_a_page_of_versions_comes_newest_first(
    store: Store, ends: tuple[int, int], start: int, count: int, total: int, names: list[int]
) -> None:
    four_values(store)
    found = store.versions(URN, INFO, ends, start, count)
    assert found is not None
    assert found[0] == total
    assert [name_of(one) for one in found[1]] == names


def test_an_identical_value_makes_no_version_and_no_log_row(store: Store) -> None:
    assert put(store, write(URN, {"a": 1, "b": 2}, run="first")) == [True]
    assert put(store, write(URN, {"b": 2, "a": 1}, run="second", at_millis=9)) == [False]
    assert store.log_bounds().head == 1
    found = stored(store, URN)
    assert found.value == b'{"a":1,"b":2}'
    assert found.time_millis == 1
    system = orjson.loads(found.system)
    assert (system["runId"], system["lastRunId"]) == ("first", "second")
    assert (system["lastObserved"], system["version"]) == (9, "1")


def test_versions_go_on_after_an_aspect_was_removed(store: Store) -> None:
    four_values(store)
    assert do(store, lambda tx: tx.remove_aspect(URN, INFO, *STAMP)) == 4
    assert store.aspect(URN, INFO) is None
    assert store.aspect(URN, INFO, 1) is None
    put(store, write(URN, "again"))
    assert version_in(stored(store, URN)) == "5"
    assert store.aspect(URN, INFO, -1) is None
    assert do(store, lambda tx: tx.remove_aspect(URN, "status", *STAMP)) == 0


def test_versions_go_on_after_an_entity_was_removed(store: Store) -> None:
    four_values(store)
    put(store, write(URN, {"name": "one"}, KEY))
    append(store, document(URN, 5), document(URN, 6))
    assert do(store, lambda tx: tx.remove_entity(URN, KEY, *STAMP)) == (5, 2)
    assert store.aspects([URN]) == {}
    assert list(store.documents(URN)) == []
    assert store.existing([URN]) == set()
    put(store, write(URN, "again"))
    assert version_in(stored(store, URN)) == "5"
    assert store.existing([URN]) == {URN}
    # What it was before is not brought back.
    assert [one.name for one in store.aspects([URN])[URN]] == [INFO]


def test_a_superseded_version_is_removed_without_a_trace_of_the_others(store: Store) -> None:
    four_values(store)
    before = store.log_bounds()
    do(store, lambda tx: tx.remove_version(URN, INFO, 2, (), *STAMP))
    assert store.log_bounds() == before
    found = store.versions(URN, INFO, (1, 0), 0, 10)
    assert found is not None
    assert [(one.version, name_of(one)) for one in found[1]] == [(0, 4), (3, 3), (1, 1)]
    put(store, write(URN, 5))
    assert stored(store, URN, version=-1).version == 4


def test_the_newest_superseded_version_comes_in_the_place_of_a_removed_latest(
    store: Store,
) -> None:
    put(store, write(URN, 1, run="a", edges=[StoredEdge("Knows", OTHER)]))
    put(store, write(URN, 2, run="b", at_millis=2))
    do(
        store,
        lambda tx: tx.remove_version(URN, INFO, 0, [StoredEdge("Knows", OTHER)], *STAMP),
    )
    found = stored(store, URN)
    # Its time is that at which it came back: who has read version 2 sees a change.
    assert (name_of(found), found.time_millis, found.actor) == (1, STAMP[0], ACTOR)
    # Nobody who has read version 1 or 2 takes it for one of them.
    assert version_in(found) == "3"
    assert store.aspect(URN, INFO, -1) is None
    assert [one.urn for one in store.edges([URN], "OUTGOING")[1]] == [OTHER]
    assert [(row.run, row.rows) for row in store.runs(0, 9, with_removed=True)] == [("a", 1)]
    last = store.log(2, 9)
    assert [(one.change, one.value, one.previous) for one in last] == [
        ("UPSERT", b'{"name":1}', b'{"name":2}')
    ]
    assert (last[0].time_millis, last[0].actor) == STAMP


def test_an_aspect_goes_with_its_only_version(store: Store) -> None:
    put(store, write(URN, 1), write(URN, {"name": "one"}, KEY))
    do(store, lambda tx: tx.remove_version(URN, INFO, 0, (), *STAMP))
    assert store.aspect(URN, INFO) is None
    assert [(one.aspect, one.change) for one in store.log(2, 9)] == [(INFO, "DELETE")]
    put(store, write(URN, 2))
    assert version_in(stored(store, URN)) == "2"


def test_each_change_is_a_row_of_the_log_with_what_it_replaced(store: Store) -> None:
    put(store, write(URN, 1), write(URN, {"name": "one"}, KEY))
    put(store, write(URN, 2))
    do(store, lambda tx: tx.remove_aspect(URN, INFO, *STAMP))
    do(store, lambda tx: tx.remove_entity(URN, KEY, *STAMP))
    one, two, key = b'{"name":1}', b'{"name":2}', b'{"name":"one"}'

    def told(row: LogEntry) -> tuple[object, ...]:
        return row.aspect, row.change, row.previous, row.value

    rows = store.log(0, 100)
    assert [told(row) for row in rows] == [
        (INFO, "UPSERT", None, one),
        (KEY, "UPSERT", None, key),
        (INFO, "UPSERT", one, two),
        (INFO, "DELETE", two, None),
        (KEY, "DELETE", key, None),
    ]
    assert [row.offset for row in rows] == [1, 2, 3, 4, 5]
    assert {row.urn for row in rows} == {URN}
    # Of two values of an aspect the later one has the later time, whatever the clock says.
    written = [(1, ACTOR), (1, ACTOR), (2, ACTOR)]
    assert [(row.time_millis, row.actor) for row in rows] == [*written, STAMP, STAMP]
    assert [orjson.loads(row.system).get("version") for row in rows] == ["1", "1", "2", None, None]
