from collections.abc import Callable

from explorer.metadata import Urn
from explorer.metadata.registry import Registry
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document, build_document
from explorer.server.search.query import FoundPage

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Names = Callable[..., list[str]]
Search = Callable[..., FoundPage]


def test_names_come_before_fields_and_fields_by_weight(
    filled: Fill, dataset: Make, names: Names
) -> None:
    tag = {"tags": [{"tag": "urn:li:tag:orders"}]}
    index = filled(
        dataset("z1", globalTags=tag),
        dataset("y1", datasetProperties={"description": "has ordersets"}),
        dataset("x1", datasetProperties={"description": "all orders"}),
        dataset("w1", editableDatasetProperties={"name": "Nice"}, datasetProperties={"name": "v"}),
        dataset("db.all_ordersets"),
        dataset("db.all_orders"),
        dataset("db.orders_daily"),
        dataset("db.orders"),
    )
    assert names(index, "orders") == [
        "db.orders",
        "db.orders_daily",
        "db.all_orders",
        "db.all_ordersets",
        "x1",
        "y1",
        "z1",
    ]


def test_more_words_in_the_name_are_better(filled: Fill, dataset: Make, names: Names) -> None:
    described = {"description": "finance orders"}
    index = filled(
        dataset("a", datasetProperties=described),
        dataset("b_orders", datasetProperties=described),
        dataset("c_orders_finance"),
        dataset("finance_orders_old"),
        dataset("d_finance_orders"),
        dataset("orders_finance"),
    )
    assert names(index, "orders finance") == [
        "orders_finance",
        "c_orders_finance",
        "d_finance_orders",
        "finance_orders_old",
        "b_orders",
        "a",
    ]


def test_usage_decides_between_equals_and_never_beats_a_better_name(
    filled: Fill, dataset: Make, names: Names
) -> None:
    index = filled(
        dataset("a_orders"),
        dataset("b_orders", usage=3),
        dataset("c_orders", usage=900),
        dataset("d_orders", usage=1_000),
        dataset("orders_unused"),
        dataset("e", usage=10**9, datasetProperties={"description": "orders"}),
    )
    # 900 and 1,000 are as good as the same: the URN decides.
    assert names(index, "orders") == [
        "orders_unused",
        "c_orders",
        "d_orders",
        "b_orders",
        "a_orders",
        "e",
    ]


def test_the_first_of_many_are_the_same_as_in_a_longer_page(
    filled: Fill, dataset: Make, names: Names, search: Search
) -> None:
    """A short page is looked for among the most used documents first, a long one is not."""
    index = filled(
        *(
            dataset(f"s{n}_{'orders' if n % 3 else 'parcels'}", usage={0: 900, 1: 1}.get(n % 8, 0))
            for n in range(1_000)
        ),
        *(dataset(f"s{n}_unused_{'orders' if n % 2 else 'parcels'}") for n in range(200)),
    )
    for text in ("*", "orders", "ord", "parcels", "unused", "unused orders", "orders -unused"):
        assert names(index, text, count=1) == names(index, text, count=900)[:1], text
        page = search(index, text, count=1, facets=True)
        assert page.total == search(index, text, count=900).total, text
        types = next(facet for facet in page.facets if facet.name == "_entityType")
        assert types.counts == {"dataset": page.total}, text
    assert names(index, "orders", count=1) == ["s104_orders"]
    assert names(index, "unused", count=1) == ["s0_unused_parcels"]
    assert search(index, "nothing", count=1, facets=True).facets == ()


def test_tables_come_before_their_tests_and_their_owners(
    filled: Fill, dataset: Make, registry: Registry, search: Search
) -> None:
    table = dataset("orders")
    others = [
        build_document(registry, Urn.parse(urn), {aspect: {}})
        for urn, aspect in (
            ("urn:li:assertion:orders", "assertionInfo"),
            ("urn:li:corpuser:orders", "corpUserInfo"),
            ("urn:li:incident:orders", "incidentInfo"),
            ("urn:li:tag:orders", "tagProperties"),
        )
    ]
    index = filled(*others, table)
    for text in ("*", "orders"):
        found = [hit.urn for hit in search(index, text).hits]
        assert found == [
            table.urn,
            "urn:li:tag:orders",
            "urn:li:assertion:orders",
            "urn:li:corpuser:orders",
            "urn:li:incident:orders",
        ]


def test_scores_fall_with_the_order(filled: Fill, dataset: Make, search: Search) -> None:
    index = filled(dataset("orders"), dataset("orders_b", usage=9), dataset("orders_c"))
    scores = [hit.score for hit in search(index, "orders").hits]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_equals_come_in_the_order_of_their_urns(
    index: SearchEngine, dataset: Make, names: Names
) -> None:
    wanted = [f"t{at:03}_orders" for at in range(60)]
    for at in (0, 1):
        index.apply(at + 1, [dataset(name) for name in wanted[at::2]])
        if at == 0:
            index.flush()
    assert names(index, "orders") == wanted
    assert names(index, "*") == wanted
    index.flush()
    assert names(index, "orders") == wanted


def test_pages_cover_everything_once(index: SearchEngine, dataset: Make, names: Names) -> None:
    """Over both layers: changed, gone and new documents among those on disk."""
    for part in range(5):
        documents = [dataset(f"t{part}{at:03}", usage=at % 7) for at in range(200)]
        index.apply(part + 1, documents)
        index.flush()
    changed = [dataset(f"t{part}{at:03}", usage=50) for part in range(5) for at in range(0, 200, 9)]
    new = [dataset(f"t{part}{at:03}") for part in range(5) for at in range(200, 220)]
    gone = [dataset(f"t{part}{at:03}").urn for part in range(5) for at in range(1, 200, 11)]
    index.apply(9, [*changed, *new], gone)
    everything = names(index, "*", count=10_000)
    assert len(everything) == len(set(everything)) == 1_000 + 100 - len(set(gone))
    assert everything[0] == "t0000"
    pages = [names(index, "*", start=at, count=37) for at in range(0, len(everything) + 37, 37)]
    assert [name for page in pages for name in page] == everything
    # A jump into the middle, with nothing read before it.
    for at in (900, 433, 610, 222):
        assert names(index, "-zzz", start=at, count=10) == everything[at : at + 10]
    index.flush()
    assert names(index, "*", count=10_000) == everything
    assert names(index, "*", start=777, count=10) == everything[777:787]
    assert names(index, "*", start=len(everything), count=10) == []
    assert names(index, "*", start=9_990, count=10) == []
    assert names(index, "*", count=0) == []
