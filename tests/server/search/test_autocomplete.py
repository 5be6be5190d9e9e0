from collections.abc import Callable
from unicodedata import normalize

from explorer.query import Criterion, Filter, all_of
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]


def suggest(
    index: SearchEngine,
    text: str,
    filter: Filter | None = None,
    start: int = 0,
    limit: int = 10,
) -> list[str]:
    found = index.autocomplete(text, ("dataset",), filter or Filter(), start, limit)
    return [suggestion.text for suggestion in found]


def test_names_are_suggested_from_the_beginnings_of_their_words(
    filled: Fill, dataset: Make
) -> None:
    index = filled(
        dataset("fct_users_created"),
        dataset("users"),
        dataset("usersDaily"),
        dataset("old_users", status={"removed": True}),
        dataset("orders", datasetProperties={"description": "of users"}),
        dataset("abusers"),
    )
    assert suggest(index, "us") == ["users", "usersDaily", "fct_users_created"]
    assert suggest(index, "users da") == ["usersDaily"]
    assert suggest(index, "daily us") == ["usersDaily"]
    assert suggest(index, "fct_us") == ["fct_users_created"]
    assert suggest(index, "sers") == []
    assert suggest(index, "zzz") == []


def test_a_text_of_signs_suggests_nothing(filled: Fill, dataset: Make) -> None:
    index = filled(dataset("orders"), dataset("users"))
    assert suggest(index, "💰") == []
    assert suggest(index, "-> %") == []
    assert suggest(index, "ord 💰") == ["orders"]
    assert suggest(index, "") == suggest(index, " ") == suggest(index, "*") == ["orders", "users"]


def test_the_name_that_was_typed_is_suggested(filled: Fill, dataset: Make) -> None:
    index = filled(
        dataset("db.t1", datasetProperties={"name": "Customer list", "qualifiedName": "crm.people"})
    )
    assert suggest(index, "cust") == ["Customer list"]
    assert suggest(index, "peo") == ["crm.people"]
    assert suggest(index, "db.t") == ["db.t1"]
    found = index.autocomplete("cust", ("dataset",), Filter(), 0, 5)
    assert found[0].urn == dataset("db.t1").urn


def test_no_name_is_suggested_twice(filled: Fill, dataset: Make) -> None:
    index = filled(
        *(dataset("orders", platform=f"p{at}") for at in range(30)),
        dataset("orders_daily", platform="q"),
    )
    assert suggest(index, "ord", limit=2) == ["orders", "orders_daily"]


def test_no_name_is_left_out_between_names_that_many_entities_share(
    filled: Fill, dataset: Make
) -> None:
    sharing = {"t0": 12, "t1": 1, "t2": 2, "t3": 12, "t4": 1, "t5": 2}
    shared = [name for name, many in sharing.items() for _ in range(many)]
    # What ranks alike is in the order of the URNs, which begin with the platform.
    index = filled(*(dataset(name, platform=f"p{at:02}") for at, name in enumerate(shared)))
    names = [*sharing]
    for limit in range(1, 7):
        assert suggest(index, "t", limit=limit) == names[:limit]
    assert suggest(index, "t", start=1, limit=3) == names[1:4]


def test_a_name_is_suggested_once_however_its_accents_are_written(
    filled: Fill, dataset: Make
) -> None:
    index = filled(dataset("caf\u00e9"), dataset("cafe\u0301"), dataset("cafes"))
    for typed in ("caf", "caf\u00e9", "cafe\u0301"):
        suggested = suggest(index, typed)
        assert len(suggested) == 2
        assert {normalize("NFC", name) for name in suggested} == {"caf\u00e9", "cafes"}


def test_suggestions_are_cut_and_skipped_over(filled: Fill, dataset: Make) -> None:
    index = filled(*(dataset(f"t{at}") for at in range(9)))
    assert suggest(index, "t", limit=4) == ["t0", "t1", "t2", "t3"]
    assert suggest(index, "t", start=7, limit=4) == ["t7", "t8"]
    assert suggest(index, "t", start=9) == []
    assert suggest(index, "t", limit=0) == []


def test_a_filter_narrows_suggestions(filled: Fill, dataset: Make) -> None:
    index = filled(dataset("orders", platform="hive"), dataset("orders_k", platform="kafka"))
    assert suggest(index, "ord", all_of(Criterion("platform", ("kafka",)))) == ["orders_k"]


def test_a_former_name_is_not_suggested(index: SearchEngine, dataset: Make) -> None:
    index.apply(1, [dataset("t", datasetProperties={"name": "before"})])
    index.flush()
    index.apply(2, [dataset("t", datasetProperties={"name": "after"})])
    for _ in range(2):
        assert suggest(index, "before") == []
        assert suggest(index, "aft") == ["after"]
        index.flush()
