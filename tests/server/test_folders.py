"""Browsing by folders that types share: what entities say, else their containers, else paths."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.query.filters import Criterion, all_of
from explorer.server.catalog import CatalogEngine
from tests.server.conftest import Caller

SOURCE = "urn:li:container:"


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def place(caller: Any, name: Any, *folders: Any) -> Any:
    urn = hive(name)
    entries = [one if isinstance(one, dict) else {"id": one} for one in folders]
    caller.ingest(urn, "browsePathsV2", {"path": entries})
    return urn


def contain(caller: Any, urn: Any, container: Any) -> Any:
    caller.ingest(urn, "container", {"container": f"{SOURCE}{container}"})
    return urn


def folders(
    caller: Any,
    *path: Any,
    types: Any = ("dataset",),
    start: int = 0,
    count: int = 1000,
    **more: Any,
) -> Any:
    page = caller.catalog.browse_v2(types, path, start, count, **more)
    return [(one.name, one.count, one.has_subgroups) for one in page.groups]


def test_folders_are_those_that_entities_name_with_what_is_below_them(caller: Caller) -> None:
    place(caller, "shelf.a", "shelf", "one", "deep")
    place(caller, "shelf.b", "shelf", "one")
    place(caller, "shelf.c", "shelf", "two")
    assert ("shelf", 3, True) in folders(caller)
    assert folders(caller, "shelf") == [("one", 2, True), ("two", 1, False)]
    assert folders(caller, "shelf", "one") == [("deep", 1, False)]
    assert folders(caller, "shelf", "two") == folders(caller, "shelf", "nowhere") == []
    page = caller.catalog.browse_v2(("dataset",), ("shelf",), 0, 10)
    assert (page.total, page.total_entities) == (2, 3)


def test_folders_agree_before_and_after_the_index_has_them_on_disk(caller: Caller) -> None:
    for at in range(6):
        place(caller, f"settled.{at}", "settled", f"f{at % 2}", *(["deep"] if at < 2 else []))
    caller.catalog.index.flush()
    assert folders(caller, "settled") == [("f0", 3, True), ("f1", 3, True)]
    place(caller, "settled.0", "settled", "f2")
    caller.post("/entities?action=delete", {"urn": hive("settled.1")}).raise_for_status()
    moved = [("f0", 2, False), ("f1", 2, False), ("f2", 1, False)]
    assert folders(caller, "settled") == moved
    caller.catalog.index.flush()
    assert folders(caller, "settled") == moved


def test_folders_are_shared_by_types_and_kept_apart_when_asked(caller: Caller) -> None:
    place(caller, "shared.a", "both", "x")
    caller.ingest(
        "urn:li:chart:(looker,shared)", "browsePathsV2", {"path": [{"id": "both"}, {"id": "y"}]}
    )
    assert folders(caller, "both") == [("x", 1, False)]
    assert folders(caller, "both", types=("chart",)) == [("y", 1, False)]
    both = [("x", 1, False), ("y", 1, False)]
    assert folders(caller, "both", types=None) == both


def test_a_query_and_a_filter_narrow_the_counts(caller: Caller) -> None:
    for at in range(4):
        urn = place(caller, f"narrow.{at}", "narrow", f"f{at // 3}")
        caller.ingest(urn, "datasetProperties", {"description": "even" if at % 2 == 0 else "odd"})
    assert folders(caller, "narrow", query="even") == [("f0", 2, False)]
    only = all_of(Criterion("urn", ("narrow.3",), "CONTAIN"))
    assert folders(caller, "narrow", filter=only) == [("f1", 1, False)]


def test_folders_sort_naturally_and_come_in_pages(caller: Caller) -> None:
    for folder in ("s10", "s2", "S1"):
        place(caller, f"order.{folder}", "order", folder)
    assert [name for name, *_ in folders(caller, "order")] == ["S1", "s2", "s10"]
    assert [name for name, *_ in folders(caller, "order", start=1, count=1)] == ["s2"]


def test_folders_named_with_thousands_of_digits_are_browsed(caller: Caller) -> None:
    long = "1" * 5_000
    place(caller, "digits.a", "digits", long)
    place(caller, "digits.b", "digits", "9")
    assert folders(caller, "digits") == [("9", 1, False), (long, 1, False)]
    caller.ingest(hive("digits.a"), "browsePaths", {"paths": [f"/digits/{long}/a"]})
    caller.ingest(hive("digits.b"), "browsePaths", {"paths": ["/digits/9/b"]})
    assert [one["name"] for one in caller.browse("/digits")["groups"]] == ["9", long]


def test_the_entity_behind_a_folder_is_told(caller: Caller) -> None:
    urn = f"{SOURCE}behind"
    caller.ingest(urn, "containerProperties", {"name": "Behind"})
    place(caller, "behind.a", "behind", {"id": "sales", "urn": urn}, "plain")
    place(caller, "behind.b", "behind", {"id": urn, "urn": urn})
    groups = caller.catalog.browse_v2(("dataset",), ("behind",), 0, 10).groups
    assert [(one.name, one.label, one.entity) for one in groups] == [
        (urn, "Behind", urn),
        ("sales", "sales", urn),
    ]
    (plain,) = caller.catalog.browse_v2(("dataset",), ("behind", "sales"), 0, 10).groups
    assert (plain.name, plain.entity) == ("plain", None)


def test_without_folders_of_its_own_an_entity_stands_in_its_containers(caller: Caller) -> None:
    contain(caller, f"{SOURCE}way-schema", "way-db")
    contain(caller, hive("way.t"), "way-schema")
    db, schema = f"{SOURCE}way-db", f"{SOURCE}way-schema"
    assert folders(caller, db) == [(schema, 1, False)]
    inside = {"or": [{"and": [{"field": "browsePathV2", "values": [db], "condition": "CONTAIN"}]}]}
    assert caller.search("*", filter=inside)["entities"] == [hive("way.t")]


def test_what_is_in_a_container_moves_with_it(caller: Caller) -> None:
    contain(caller, hive("moves.t"), "moves-inner")
    contain(caller, hive("moves.u"), "moves-inner")
    inner, outer, top = (f"{SOURCE}moves-{one}" for one in ("inner", "outer", "top"))
    contain(caller, inner, "moves-outer")
    assert folders(caller, outer) == [(inner, 2, False)]
    contain(caller, outer, "moves-top")
    assert folders(caller, outer) == []
    assert folders(caller, top, outer) == [(inner, 2, False)]


def test_containers_in_a_circle_do_no_harm(caller: Caller) -> None:
    contain(caller, f"{SOURCE}circle-a", "circle-b")
    contain(caller, f"{SOURCE}circle-b", "circle-a")
    contain(caller, hive("circle.t"), "circle-a")
    assert folders(caller, f"{SOURCE}circle-b") == [(f"{SOURCE}circle-a", 1, False)]


def test_without_containers_an_entity_stands_in_the_folders_of_its_path(caller: Caller) -> None:
    caller.ingest(hive("pathed.t"), "browsePaths", {"paths": ["/pathed/deep/pathed.t"]})
    assert folders(caller, "pathed") == [("deep", 1, False)]
    caller.ingest(hive("Unpathed.t"), "status", {"removed": False})
    assert ("unpathed", 1, False) in folders(caller, "prod", "hive")


def test_removed_entities_are_in_no_folder(caller: Caller) -> None:
    urn = place(caller, "gone.t", "gone", "x")
    caller.ingest(urn, "status", {"removed": True})
    assert folders(caller, "gone") == []


def test_a_catalog_whose_index_is_lost_has_the_same_folders(
    fresh: Callable[[], CatalogEngine], tmp_path: Path
) -> None:
    import shutil

    from explorer.metadata import Proposal, Urn

    catalog = fresh()

    def write(urn: Any, aspect: Any, value: Any) -> None:
        proposal = Proposal(Urn.parse(urn), aspect, value)
        change = catalog.intake.check(proposal)
        catalog.store.write(lambda one: catalog.intake.apply(one, change, 1)).result()

    write(hive("kept.t"), "container", {"container": f"{SOURCE}kept-a"})
    write(f"{SOURCE}kept-a", "container", {"container": f"{SOURCE}kept-b"})
    before = catalog.browse_v2(("dataset",), (f"{SOURCE}kept-b",), 0, 10)
    assert [one.name for one in before.groups] == [f"{SOURCE}kept-a"]
    catalog.close()
    (index,) = (one.parent for one in (tmp_path / "data").rglob("meta.json"))
    shutil.rmtree(index)
    assert fresh().browse_v2(("dataset",), (f"{SOURCE}kept-b",), 0, 10) == before


def test_entities_of_a_folder_come_in_the_order_people_expect(caller: Caller) -> None:
    for number in (10, 1, 100, 2, 21):
        urn = hive(f"counted.t_{number}")
        caller.ingest(urn, "browsePaths", {"paths": ["/counted"]})
    page = caller.post(
        "/entities?action=browse",
        {"entity": "dataset", "path": "/counted", "start": 0, "limit": 10},
    ).json()["value"]
    names = [one["urn"].split(".t_")[1].split(",")[0] for one in page["entities"]]
    assert names == ["1", "2", "10", "21", "100"]
    # Page by page it is the same order.
    second = caller.post(
        "/entities?action=browse",
        {"entity": "dataset", "path": "/counted", "start": 2, "limit": 2},
    ).json()["value"]
    assert [one["urn"] for one in second["entities"]] == [
        one["urn"] for one in page["entities"][2:4]
    ]
