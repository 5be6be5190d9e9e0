"""The folders in which entities are found when browsing."""

from collections.abc import Sequence

from explorer.server.store import Placement, Store, StoredFolderPage, Transaction
from tests.server.store.examples import dataset, do, put, refused, write

ALL = (0, 100)


def place(store: Store, name: str, *folders: Sequence[str], leaf: str | None = None) -> str:
    """Store a dataset and have it found in folders."""
    urn = dataset(name)
    put(store, write(urn))
    places = [Placement(tuple(folder), leaf) for folder in folders]
    do(store, lambda tx: tx.place(urn, "dataset", name, places))
    return urn


def browse(store: Store, *path: str) -> StoredFolderPage:
    return store.browse("dataset", path, *ALL)


def test_folders_come_before_entities_each_in_the_order_people_expect(store: Store) -> None:
    for name in ("t10", "T2", "t1"):
        place(store, name, ["prod", f"{name} folder"], ["prod"])
    page = browse(store, "prod")
    assert page.groups == (("t1 folder", 1), ("T2 folder", 1), ("t10 folder", 1))
    assert [name for name, _ in page.entities] == ["t1", "T2", "t10"]
    assert (page.total_groups, page.total_entities, page.total_below) == (3, 3, 3)
    assert browse(store).groups == (("prod", 3),)
    assert browse(store, "none") == StoredFolderPage((), (), 0, 0, 0)
    assert store.browse("chart", (), *ALL) == StoredFolderPage((), (), 0, 0, 0)


def test_a_page_goes_over_from_folders_to_entities(store: Store) -> None:
    for name in ("a", "b", "c"):
        place(store, name, ["prod", name], ["prod"])
    whole = browse(store, "prod")
    page = store.browse("dataset", ("prod",), 2, 2)
    assert page.groups == whole.groups[2:]
    assert page.entities == whole.entities[:1]
    assert (page.total_groups, page.total_entities, page.total_below) == (3, 3, 3)
    assert store.browse("dataset", ("prod",), 4, 9).entities == whole.entities[1:]
    assert store.browse("dataset", ("prod",), 1, -1).groups == whole.groups[1:]
    assert store.browse("dataset", ("prod",), 1, -1).entities == whole.entities


def test_paths_compare_without_regard_to_case(store: Store) -> None:
    place(store, "a", ["Prod"])
    place(store, "b", ["PROD"])
    assert browse(store).groups == (("Prod", 2),)
    assert [name for name, _ in browse(store, "prod").entities] == ["a", "b"]


def test_an_entity_that_moves_leaves_no_empty_folder(store: Store) -> None:
    urn = place(store, "a", ["old", "deep"])
    do(store, lambda tx: tx.place(urn, "dataset", "a", [Placement(("new",))]))
    assert browse(store).groups == (("new", 1),)
    do(store, lambda tx: tx.place(urn, "dataset", "a", ()))
    assert browse(store) == StoredFolderPage((), (), 0, 0, 0)


def test_an_entity_that_is_renamed_in_its_folders_has_its_new_name_and_place(store: Store) -> None:
    urn, other = place(store, "a", ["prod", "x"], ["prod"], leaf="a"), place(store, "m", ["prod"])
    places = [Placement(("prod", "x"), "a"), Placement(("prod",), "a")]
    do(store, lambda tx: tx.place(urn, "dataset", "z", places))
    assert browse(store, "prod").entities == (("m", other), ("z", urn))
    assert browse(store, "prod", "x").entities == (("z", urn),)
    assert browse(store, "prod", "a").entities == (("z", urn),)
    assert browse(store).groups == (("prod", 2),)


def test_an_entity_in_several_folders_counts_once_above_them(store: Store) -> None:
    place(store, "a", ["prod", "x"], ["prod", "y"])
    assert browse(store).groups == (("prod", 1),)
    assert browse(store, "prod").groups == (("x", 1), ("y", 1))
    assert browse(store, "prod").total_below == 1


def test_a_path_that_ends_in_the_entity_finds_it(store: Store) -> None:
    urn = place(store, "orders", ["prod"], leaf="orders")
    assert browse(store, "prod", "Orders").entities == (("orders", urn),)
    assert browse(store, "prod", "Orders").total_below == 1
    assert browse(store, "prod", "other").entities == ()


def test_only_some_entities_are_browsed(store: Store) -> None:
    a, b, c = (place(store, name, ["prod", name], ["prod"]) for name in "abc")
    page = store.browse("dataset", ("prod",), *ALL, {a, c})
    assert page.groups == (("a", 1), ("c", 1))
    assert page.entities == (("a", a), ("c", c))
    assert page.total_below == 2
    page = store.browse("dataset", ("prod",), 1, 2, {a, c})
    assert (page.groups, page.entities) == ((("c", 1),), (("a", a),))
    assert store.browse("dataset", ("prod",), 3, -1, {a, c}).entities == (("c", c),)
    assert store.browse("dataset", ("prod",), *ALL, {b}).groups == (("b", 1),)
    assert store.browse("dataset", (), *ALL, set()).groups == ()


def test_a_job_that_fails_places_nothing(store: Store) -> None:
    urn = place(store, "a", ["prod"])

    def move(tx: Transaction) -> None:
        tx.place(urn, "dataset", "a", [Placement(("new",))])
        raise ValueError

    assert isinstance(refused(store, move), ValueError)
    assert browse(store).groups == (("prod", 1),)
    assert browse(store, "prod").entities == (("a", urn),)


def test_a_new_entity_may_be_placed_again_after_another_was(store: Store) -> None:
    other, urn = place(store, "b", ["prod"]), dataset("a")

    def job(tx: Transaction) -> None:
        tx.put(write(urn))
        for folder in ("first", "second"):
            tx.place(urn, "dataset", "a", [Placement((folder,), "a")])
            tx.place(other, "dataset", "b", [Placement((folder,))])
        tx.place(urn, "dataset", "a", [Placement(("second",), "a")])

    do(store, job)
    assert browse(store).groups == (("second", 2),)
    assert browse(store, "second").entities == (("a", urn), ("b", other))
    assert browse(store, "second", "a").entities == (("a", urn),)
