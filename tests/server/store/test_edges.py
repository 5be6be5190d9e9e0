"""Edges between entities, and lineage, which runs along some of them."""

import pytest

from explorer.server.store import Direction, Store, StoredEdge, Transaction, Write
from tests.server.store.examples import KEY, STAMP, dataset, do, put, tag, write

ONE, TWO, THREE = dataset("one"), dataset("two"), dataset("three")
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)"
OWNER = "urn:li:corpuser:owner"
OWNED = StoredEdge("OwnedBy", OWNER)

Found = list[tuple[str, str]]


def neighbours(
    store: Store,
    urns: list[str],
    direction: Direction,
    *types: str,
    start: int = 0,
    limit: int = -1,
) -> tuple[int, Found]:
    total, found = store.edges(urns, direction, types, start, limit)
    return total, [(one.relationship, one.urn) for one in found]


@pytest.fixture
def owned(store: Store) -> Store:
    """Two datasets of one owner, who is no stored entity, and their tags."""
    tags = [StoredEdge("TaggedWith", tag(name)) for name in ("b", "a")]
    put(
        store,
        write(ONE, aspect="ownership", edges=[OWNED]),
        write(ONE, aspect="globalTags", edges=tags),
        write(TWO, aspect="ownership", edges=[OWNED]),
    )
    return store


def test_edges_are_found_from_both_ends(owned: Store) -> None:
    assert neighbours(owned, [ONE], "OUTGOING") == (
        3,
        # By relationship, then by which was first seen.
        [("OwnedBy", OWNER), ("TaggedWith", tag("b")), ("TaggedWith", tag("a"))],
    )
    assert neighbours(owned, [OWNER], "INCOMING") == (2, [("OwnedBy", ONE), ("OwnedBy", TWO)])
    assert neighbours(owned, [OWNER], "OUTGOING") == (0, [])
    assert neighbours(owned, ["urn:li:tag:never"], "INCOMING") == (0, [])
    assert neighbours(owned, [], "INCOMING") == (0, [])


def test_edges_are_narrowed_to_relationships_and_paged(owned: Store) -> None:
    assert neighbours(owned, [ONE], "OUTGOING", "TaggedWith", "Other")[0] == 2
    assert neighbours(owned, [ONE], "OUTGOING", start=1, limit=1) == (3, [("TaggedWith", tag("b"))])
    assert neighbours(owned, [ONE], "OUTGOING", start=2) == (3, [("TaggedWith", tag("a"))])
    assert neighbours(owned, [ONE], "OUTGOING", limit=0) == (3, [])
    assert neighbours(owned, [ONE], "OUTGOING", start=9, limit=5) == (3, [])


def test_the_total_of_a_page_counts_every_relationship_between_the_same_two(store: Store) -> None:
    written = StoredEdge("WrittenBy", OWNER)
    for urn in (ONE, TWO):
        put(store, write(urn, aspect="ownership", edges=[OWNED, written]))
        put(store, write(urn, aspect="editable", edges=[OWNED]))
    both = [("OwnedBy", OWNER), ("WrittenBy", OWNER)]
    for urns in ([ONE], [ONE, THREE], [ONE, TWO]):
        for at in (0, 1):
            page = neighbours(store, urns, "OUTGOING", start=at, limit=1)
            assert page == (2, both[at : at + 1])
    assert neighbours(store, [OWNER], "INCOMING", limit=1) == (4, [("OwnedBy", ONE)])
    assert neighbours(store, [OWNER, TWO], "INCOMING", start=3) == (4, [("WrittenBy", TWO)])


def pages(
    store: Store, direction: Direction, urns: list[str] | None, *types: str, limit: int = 2
) -> list[list[tuple[str, str, str]]]:
    found = []
    after = None
    while edges := store.scroll_edges(direction, urns, types, after=after, limit=limit):
        found.append([(one.source, one.relationship, one.target) for one in edges])
        after = edges[-1].key
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_scrolling_meets_every_edge_once(owned: Store, limit: int) -> None:
    def flat(direction: Direction, urns: list[str] | None, *types: str) -> list[tuple[str, ...]]:
        found = pages(owned, direction, urns, *types, limit=limit)
        assert all(len(page) == limit for page in found[:-1])
        return [edge for page in found for edge in page]

    one = [(ONE, "OwnedBy", OWNER), *((ONE, "TaggedWith", tag(name)) for name in ("b", "a"))]
    two = (TWO, "OwnedBy", OWNER)
    assert flat("OUTGOING", None) == [*one, two]
    assert flat("OUTGOING", [ONE]) == one
    assert flat("OUTGOING", [TWO, ONE, THREE]) == [*one, two]
    assert flat("OUTGOING", [OWNER]) == []
    assert flat("OUTGOING", []) == []
    assert flat("OUTGOING", None, "TaggedWith", "Other") == one[1:]
    assert flat("INCOMING", [OWNER]) == [one[0], two]
    assert flat("INCOMING", [tag("a"), OWNER], "OwnedBy", "TaggedWith") == [one[0], two, one[2]]
    assert sorted(flat("INCOMING", None)) == sorted([*one, two])


def test_a_scroll_goes_on_behind_edges_that_are_gone(owned: Store) -> None:
    (first,) = owned.scroll_edges("INCOMING", [OWNER], limit=1)
    put(owned, write(ONE, 2, "ownership"), write(THREE, aspect="up", edges=[OWNED]))
    left = owned.scroll_edges("INCOMING", [OWNER], after=first.key, limit=9)
    assert [edge.source for edge in left] == [TWO, THREE]
    do(owned, lambda tx: tx.remove_entity(TWO, "datasetKey", *STAMP))
    left = owned.scroll_edges("INCOMING", [OWNER], after=first.key, limit=9)
    assert [edge.source for edge in left] == [THREE]


def test_an_edge_that_two_aspects_declare_is_scrolled_once(store: Store) -> None:
    put(store, *(write(ONE, aspect=name, edges=[OWNED]) for name in ("ownership", "editable")))
    assert pages(store, "OUTGOING", None, limit=1) == [[(ONE, "OwnedBy", OWNER)]]


def test_the_edges_of_many_are_found_at_once(owned: Store) -> None:
    assert neighbours(owned, [ONE, TWO], "OUTGOING", "OwnedBy") == (1, [("OwnedBy", OWNER)])
    found = neighbours(owned, [OWNER, tag("a"), "urn:li:tag:never"], "INCOMING")
    assert found == (3, [("OwnedBy", ONE), ("OwnedBy", TWO), ("TaggedWith", ONE)])


def test_an_edge_that_two_aspects_declare_is_one_that_names_both(store: Store) -> None:
    edge = StoredEdge("TaggedWith", tag("a"))
    put(store, *(write(ONE, aspect=name, edges=[edge]) for name in ("globalTags", "editable")))
    assert [one.aspects for one in store.edges([ONE], "OUTGOING")[1]] == [
        ("editable", "globalTags")
    ]
    do(store, lambda tx: tx.remove_aspect(ONE, "globalTags", *STAMP))
    assert [one.aspects for one in store.edges([tag("a")], "INCOMING")[1]] == [("editable",)]


def test_a_new_value_has_its_own_edges(owned: Store) -> None:
    put(owned, write(ONE, 2, "globalTags", edges=[StoredEdge("TaggedWith", tag("c"))]))
    assert neighbours(owned, [ONE], "OUTGOING", "TaggedWith") == (1, [("TaggedWith", tag("c"))])
    do(owned, lambda tx: tx.remove_entity(ONE, "datasetKey", *STAMP))
    assert neighbours(owned, [ONE], "OUTGOING") == (0, [])


def test_what_points_at_an_entity_stays_when_it_is_removed(owned: Store) -> None:
    put(owned, write(tag("a"), aspect=KEY))
    do(owned, lambda tx: tx.remove_entity(tag("a"), KEY, *STAMP))
    assert neighbours(owned, [tag("a")], "INCOMING") == (1, [("TaggedWith", ONE)])


def hop(store: Store, urns: list[str], *, upstream: bool, limit: int = -1) -> set[tuple[str, ...]]:
    handles = store.handles(urns)
    near, far, names = store.lineage(list(handles.values()), upstream=upstream, limit=limit)
    return set(
        zip(store.urns_of_handles(near)[0], store.urns_of_handles(far)[0], names, strict=True)
    )


@pytest.fixture
def flowing(store: Store) -> Store:
    """ONE is read by a job that writes TWO, of which THREE is made; ONE and TWO are not stored."""
    put(
        store,
        write(
            JOB, aspect="io", edges=[StoredEdge("Consumes", ONE, 1), StoredEdge("Makes", TWO, 2)]
        ),
        write(THREE, aspect="up", edges=[StoredEdge("DownstreamOf", TWO, 1)]),
        write(THREE, aspect="tags", edges=[StoredEdge("TaggedWith", tag("a"))]),
    )
    return store


def test_lineage_runs_along_edges_whichever_side_declares_them(flowing: Store) -> None:
    assert hop(flowing, [ONE], upstream=False) == {(ONE, JOB, "Consumes")}
    assert hop(flowing, [JOB], upstream=False) == {(JOB, TWO, "Makes")}
    assert hop(flowing, [TWO, THREE], upstream=True) == {
        (TWO, JOB, "Makes"),
        (THREE, TWO, "DownstreamOf"),
    }
    assert hop(flowing, [JOB], upstream=True) == {(JOB, ONE, "Consumes")}
    assert hop(flowing, [THREE], upstream=False) == set()
    assert hop(flowing, [], upstream=False) == set()
    assert len(hop(flowing, [TWO, THREE], upstream=True, limit=1)) == 1


def test_edges_of_lineage_are_scrolled_with_their_flow(flowing: Store) -> None:
    def scrolled(direction: Direction, urns: list[str] | None) -> set[tuple[str, str, int]]:
        found = flowing.scroll_edges(direction, urns, lineage=True, limit=9)
        return {(one.source, one.target, one.flow) for one in found}

    assert scrolled("OUTGOING", None) == {(JOB, ONE, 1), (JOB, TWO, 2), (THREE, TWO, 1)}
    assert scrolled("INCOMING", [TWO]) == {(JOB, TWO, 2), (THREE, TWO, 1)}
    assert scrolled("OUTGOING", [THREE]) == {(THREE, TWO, 1)}


@pytest.mark.parametrize("at_once", [1, 2, 50_000])
def test_every_edge_of_lineage_is_a_pair(
    flowing: Store, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.store.sql.reads._HANDLES_AT_ONCE", at_once)
    pairs = [
        tuple(flowing.urns_of_handles([one])[0][0] for one in pair)
        for columns in flowing.lineage_pairs()
        for pair in zip(*columns, strict=True)
    ]
    assert sorted(pairs) == sorted([(ONE, JOB), (JOB, TWO), (TWO, THREE)])


def test_handles_stand_for_what_is_stored_or_pointed_at(flowing: Store) -> None:
    handles = flowing.handles([THREE, ONE, dataset("never")])
    assert handles.keys() == {THREE, ONE}
    assert flowing.urns_of_handles([handles[ONE], handles[THREE]]) == ([ONE, THREE], [0, 1])
    assert flowing.urns_of_handles([handles[THREE], handles[ONE]]) == ([THREE, ONE], [1, 0])
    assert flowing.urns_of_handles([]) == ([], [])


def test_a_transaction_says_whether_lineage_changed(flowing: Store) -> None:
    def is_rewired(tx: Transaction, *writes: Write) -> bool:
        for one in writes:
            tx.put(one)
        return tx.changes.rewired

    tagged = write(THREE, 2, "tags", edges=[StoredEdge("TaggedWith", tag("b"))])
    same = write(THREE, 2, "up", edges=[StoredEdge("DownstreamOf", TWO, 1)])
    assert not do(flowing, lambda tx: is_rewired(tx, tagged, same))
    assert do(flowing, lambda tx: is_rewired(tx, write(THREE, 3, "up")))
    do(flowing, lambda tx: tx.remove_entity(THREE, "datasetKey", *STAMP))

    def removes(tx: Transaction) -> bool:
        tx.remove_entity(JOB, "dataJobKey", *STAMP)
        return tx.changes.rewired

    assert do(flowing, removes)
