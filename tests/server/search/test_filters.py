"""Each condition of a filter with what it lets pass and what not, in memory and on disk."""

from collections.abc import Callable
from typing import Any

import pytest

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata import Urn
from explorer.query import Condition, Criterion, Filter, all_of
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document
from explorer.server.search.query import FoundPage

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Names = Callable[..., list[str]]
Search = Callable[..., FoundPage]

DAY = 86_400_000


@pytest.fixture(scope="module")
def shop(filled_once: Fill, dataset: Make, entity: Make) -> SearchEngine:
    def changed(day: int) -> dict[str, Any]:
        return {"lastModified": {"time": day * DAY}}

    return filled_once(
        dataset(
            "orders",
            globalTags={"tags": [{"tag": "urn:li:tag:PII"}, {"tag": "urn:li:tag:Gold"}]},
            datasetProperties={"description": "Daily orders, all of them", **changed(1)},
        ),
        dataset(
            "orders_daily",
            origin="DEV",
            datasetProperties={"name": "Orders (daily)", **changed(2)},
            schemaMetadata={
                "fields": [{"fieldPath": "a", "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]}}]
            },
        ),
        dataset("customers", platform="kafka", datasetProperties=changed(3)),
        dataset("dropped", status={"removed": True}, datasetProperties=changed(4)),
        entity("urn:li:tag:PII", tagProperties={"name": "PII", "description": "personal"}),
    )


@pytest.mark.parametrize(
    ("field", "condition", "values", "found"),
    [
        ("name", "EQUAL", ["orders"], {"orders"}),
        ("name", "EQUAL", ["ORDERS"], {"orders"}),
        ("name.keyword", "EQUAL", ["orders"], {"orders"}),
        ("name", "EQUAL", ["orders", "customers"], {"orders", "customers"}),
        ("name", "EQUAL", ["order"], set()),
        ("name", "EQUAL", ["Orders (daily)"], {"orders_daily"}),
        ("name", "IEQUAL", ["oRders"], {"orders"}),
        ("name", "IN", ["customers", "nothing"], {"customers"}),
        ("name", "CONTAIN", ["rders"], {"orders", "orders_daily"}),
        ("name", "CONTAIN", ["RS (da"], {"orders_daily"}),
        ("name", "CONTAIN", ["rs_da"], set()),
        ("id", "CONTAIN", ["rs_da"], {"orders_daily"}),
        ("name", "CONTAIN", ["("], {"orders_daily"}),
        ("name", "CONTAIN", ["ordersd"], set()),
        ("name", "CONTAIN", ["or.*"], set()),
        ("name", "START_WITH", ["orders"], {"orders", "orders_daily"}),
        ("name", "START_WITH", ["orders ("], {"orders_daily"}),
        ("name", "START_WITH", ["rders"], set()),
        ("name", "END_WITH", ["ers"], {"orders", "customers"}),
        ("id", "END_WITH", ["_daily"], {"orders_daily"}),
        ("name", "END_WITH", ["ly)"], {"orders_daily"}),
        ("name", "END_WITH", ["order"], set()),
        ("description", "CONTAIN", ["orders, all"], {"orders"}),
        ("description", "CONTAIN", ["aily or"], {"orders"}),
        ("description", "START_WITH", ["daily ord"], {"orders"}),
        ("description", "END_WITH", ["of them"], {"orders"}),
        ("description", "EQUAL", ["daily orders, all of them"], {"orders"}),
        ("description", "EQUAL", ["daily orders"], set()),
        ("tags", "EQUAL", ["urn:li:tag:Gold"], {"orders"}),
        ("tags", "EQUAL", ["urn:li:tag:gold"], set()),
        ("tags", "START_WITH", ["urn:li:tag:gold"], {"orders"}),
        ("tags", "EQUAL", ["gold"], {"orders"}),
        # Tags of columns are tags too.
        ("tags", "EQUAL", ["PII"], {"orders", "orders_daily"}),
        ("fieldTags", "EQUAL", ["PII"], {"orders_daily"}),
        ("tags", "CONTAIN", ["tag:gol"], {"orders"}),
        ("platform", "EQUAL", ["kafka"], {"customers"}),
        ("origin", "EQUAL", ["dev"], {"orders_daily"}),
        ("env", "EQUAL", ["DEV"], {"orders_daily"}),
        ("lastModifiedAt", "EQUAL", [str(2 * DAY)], {"orders_daily"}),
        ("lastModifiedAt", "GREATER_THAN", [str(2 * DAY)], {"customers"}),
        (
            "lastModifiedAt",
            "GREATER_THAN_OR_EQUAL_TO",
            [str(2 * DAY)],
            {"orders_daily", "customers"},
        ),
        ("lastModifiedAt", "LESS_THAN", [str(2 * DAY)], {"orders"}),
        ("lastModifiedAt", "LESS_THAN", [str(10 * DAY)], {"orders", "orders_daily", "customers"}),
        ("lastModifiedAt", "LESS_THAN_OR_EQUAL_TO", [str(2 * DAY)], {"orders", "orders_daily"}),
        ("lastModifiedAt", "BETWEEN", [str(2 * DAY), str(3 * DAY)], {"orders_daily", "customers"}),
        ("lastModifiedAt", "GREATER_THAN", ["1970-01-03T12:00:00Z"], {"customers"}),
        ("lastModifiedAt", "LESS_THAN", ["1970-01-03"], {"orders"}),
        ("name", "GREATER_THAN", ["orders"], {"orders_daily"}),
        ("name", "LESS_THAN", ["orders"], {"customers"}),
        ("name", "BETWEEN", ["c", "orders"], {"orders", "customers"}),
        ("description", "EXISTS", [], {"orders"}),
        ("description", "IS_NULL", [], {"orders_daily", "customers"}),
        ("hasDescription", "EQUAL", ["true"], {"orders"}),
        ("hasDescription", "EQUAL", ["false"], {"orders_daily", "customers"}),
        ("_entityType", "EQUAL", ["DATASET"], {"orders", "orders_daily", "customers"}),
        ("_entityType", "EQUAL", ["tag"], set()),
        ("urn", "END_WITH", ["customers,PROD)"], {"customers"}),
        ("urn", "CONTAIN", ["kafka"], {"customers"}),
        ("removed", "EQUAL", ["true"], {"dropped"}),
        ("removed", "EQUAL", ["false"], {"orders", "orders_daily", "customers"}),
        ("name", "EQUAL", [], {"orders", "orders_daily", "customers"}),
        ("name", "CONTAIN", [""], {"orders", "orders_daily", "customers"}),
    ],
)
def test_a_criterion_lets_pass(
    shop: SearchEngine,
    names: Names,
    field: str,
    condition: Condition,
    values: list[str],
    found: set[str],
) -> None:
    criterion = Criterion(field, tuple(values), condition)
    assert set(names(shop, "*", all_of(criterion), types=("dataset",))) == found
    if values and field != "removed":
        everything = {"orders", "orders_daily", "customers"}
        denied = Criterion(field, tuple(values), condition, negated=True)
        rest = everything - found if values != [""] else set()
        assert set(names(shop, "*", all_of(denied), types=("dataset",))) == rest


@pytest.mark.parametrize(
    ("condition", "value", "found"),
    [
        ("CONTAIN", "->", {"arrow", "arrows"}),
        ("CONTAIN", " -> ", {"arrow"}),
        ("CONTAIN", "%", set()),
        ("CONTAIN", "💰", {"money"}),
        ("CONTAIN", ".", {"arrow", "plain"}),
        ("START_WITH", "->", {"arrows"}),
        ("START_WITH", "💰", {"money"}),
        ("END_WITH", ".", {"arrow", "plain"}),
        ("END_WITH", "->", {"arrows"}),
        ("EQUAL", "->", set()),
        ("EQUAL", "-> ->", {"arrows"}),
        ("EQUAL", "-", {"dash"}),
        ("EQUAL", "%", set()),
        ("CONTAIN", " ", {"arrow", "arrows", "dash", "money", "plain"}),
    ],
)
def test_prose_is_compared_literally_with_a_text_of_signs(
    filled: Fill,
    dataset: Make,
    names: Names,
    search: Search,
    condition: Condition,
    value: str,
    found: set[str],
) -> None:
    texts = {
        "arrow": "From orders -> to users, daily.",
        "arrows": "-> ->",
        "dash": "-",
        "money": "💰 Revenue, 15 sums",
        "plain": "One row each.",
    }
    index = filled(
        *(dataset(name, datasetProperties={"description": text}) for name, text in texts.items()),
        dataset("none"),
    )
    criterion = all_of(Criterion("description", (value,), condition))
    assert set(names(index, "*", criterion)) == found
    assert names(index, "description:->*->") == ["arrows"]
    assert names(index, "description:*->*.") == ["arrow"]
    if condition == "CONTAIN" and value.strip():
        assert set(names(index, f'description:"{value}"')) == found
        assert set(names(index, f"description:*{value.strip()}*")) >= found
        for hit in search(index, f'description:"{value}"').hits:
            assert [texts[Urn.parse(hit.urn).name]] == [text for _, text in hit.matched]


COMPOSED = "Caf\u00e9 \u00dcber 1"
DECOMPOSED = "Cafe\u0301 U\u0308ber 1"


@pytest.mark.parametrize("typed", [COMPOSED, DECOMPOSED])
def test_accents_are_compared_alike_however_they_are_written(
    filled: Fill, dataset: Make, entity: Make, names: Names, search: Search, typed: str
) -> None:
    def tagged(text: str) -> dict[str, Any]:
        return {
            "datasetProperties": {"name": text, "description": f"The {text}."},
            "globalTags": {"tags": [{"tag": f"urn:li:tag:{text}"}]},
        }

    index = filled(
        dataset("composed", **tagged(COMPOSED)),
        dataset("decomposed", **tagged(DECOMPOSED)),
        dataset("plain", **tagged("Cafe Uber 1")),
    )
    both = {"composed", "decomposed"}

    def found(field: str, condition: Condition, value: str) -> set[str]:
        return set(names(index, "*", all_of(Criterion(field, (value,), condition))))

    assert found("name", "EQUAL", typed) == both
    assert found("name", "START_WITH", typed[:-4]) == both
    assert found("name", "CONTAIN", typed[2:-1]) == both
    assert found("name", "END_WITH", typed[3:]) == both
    assert found("tags", "EQUAL", typed) == both
    assert found("tags", "EQUAL", f"urn:li:tag:{typed}") == both
    assert found("description", "EQUAL", f"the {typed}") == both
    assert found("description", "CONTAIN", typed) == both
    assert set(names(index, f'name:"{typed}"')) == both
    assert set(names(index, f'description:"{typed}"')) == both
    assert set(names(index, typed)) == {*both, "plain"}
    facets = {facet.name: facet.counts for facet in search(index, "*").facets}
    assert sorted(facets["tags"].values()) == [1, 2]
    for name, text in (("composed", COMPOSED), ("decomposed", DECOMPOSED)):
        document = index.document(dataset(name).urn)
        assert document is not None
        assert document.name == text


def test_a_filter_is_an_or_of_ands(shop: SearchEngine, names: Names) -> None:
    orders = Criterion("name", ("orders",), "START_WITH")
    pii = Criterion("fieldTags", ("PII",))
    kafka = Criterion("platform", ("kafka",))

    def found(*groups: tuple[Criterion, ...]) -> set[str]:
        return set(names(shop, "*", Filter(groups), types=("dataset",)))

    assert found((orders, pii)) == {"orders_daily"}
    assert found((orders, kafka)) == set()
    assert found((orders, pii), (kafka,)) == {"orders_daily", "customers"}
    assert found() == {"orders", "orders_daily", "customers"}
    assert found((orders,), ()) == {"orders", "orders_daily", "customers"}


def test_a_filter_narrows_what_a_text_finds(shop: SearchEngine, names: Names) -> None:
    dev = all_of(Criterion("origin", ("DEV",)))
    assert names(shop, "orders", dev, types=("dataset",)) == ["orders_daily"]
    assert names(shop, "customers", dev, types=("dataset",)) == []


def test_the_removed_are_found_only_if_asked_for(
    shop: SearchEngine, names: Names, search: Search
) -> None:
    assert names(shop, "dropped") == []
    assert names(shop, "dropped", include_removed=True) == ["dropped"]
    assert names(shop, "dropped", all_of(Criterion("removed", ("true",)))) == ["dropped"]
    assert search(shop, "*").total == 4
    assert shop.total() == 4
    assert shop.total(["dataset"]) == 3
    assert shop.total(["tag"]) == 1


def test_a_field_that_cannot_be_searched_is_refused(shop: SearchEngine, names: Names) -> None:
    with pytest.raises(UnknownName, match="searchable field named 'colour'") as refused:
        names(shop, "*", all_of(Criterion("colour", ("red",))))
    assert "tags" in refused.value.known
    # Known, but to other entities.
    with pytest.raises(UnknownName):
        names(shop, "*", all_of(Criterion("ldap", ("ann",))), types=("dataset",))
    with pytest.raises(UnknownName, match="no entity named"):
        names(shop, "*", types=("spaceship",))


@pytest.mark.parametrize("condition", ["GREATER_THAN", "BETWEEN"])
def test_a_bound_that_is_no_number_is_refused(
    shop: SearchEngine, names: Names, condition: Condition
) -> None:
    criterion = Criterion("lastModifiedAt", ("soon", "later"), condition)
    with pytest.raises(InvalidInput, match="lastModifiedAt is compared with"):
        names(shop, "*", all_of(criterion))


def test_between_wants_two_values(shop: SearchEngine, names: Names) -> None:
    with pytest.raises(InvalidInput, match="two values"):
        names(shop, "*", all_of(Criterion("name", ("a",), "BETWEEN")))


def test_a_value_of_any_length_is_compared(filled: Fill, dataset: Make, names: Names) -> None:
    run = "x" * 400
    long = f"{run}_{'word ' * 100}end"
    index = filled(
        dataset("a", datasetProperties={"qualifiedName": long, "externalUrl": long}),
        dataset("b", datasetProperties={"qualifiedName": f"{run}_other"}),
    )

    def found(condition: Condition, value: str) -> set[str]:
        return set(names(index, "*", all_of(Criterion("qualifiedName", (value,), condition))))

    assert found("EQUAL", long) == {"a"}
    assert found("EQUAL", long + "s") == set()
    assert found("START_WITH", run) == {"a", "b"}
    assert found("START_WITH", f"{run}_wo") == {"a"}
    assert found("CONTAIN", f"{run[:300]}_word") == {"a"}
    assert found("CONTAIN", run + "y") == set()
    assert found("END_WITH", "word end") == {"a"}
    assert found("END_WITH", f"{run}_other") == {"b"}
    assert found("CONTAIN", run[:300]) == {"a", "b"}


@pytest.mark.nightly
def test_a_part_that_is_found_in_ever_so_many_ways_is_found(
    index: SearchEngine, dataset: Make, names: Names
) -> None:
    """More different words lie around the sign than the index looks at in one go."""
    many = {f"{at:x}cust{at}": f"old{at}e_orders{at}" for at in range(8_400)}
    index.apply(
        1,
        [
            dataset("many", datasetProperties={"customProperties": many}),
            dataset("one", datasetProperties={"customProperties": {"a": "e_o"}}),
            dataset("none", datasetProperties={"customProperties": {"a": "e-o"}}),
        ],
    )
    index.flush()

    def found(value: str, condition: Condition) -> list[str]:
        return names(index, "*", all_of(Criterion("customProperties", (value,), condition)))

    assert found("e_o", "CONTAIN") == ["many", "one"]
    assert found("8399e_orders", "CONTAIN") == ["many"]
    assert found("e_orders8399", "END_WITH") == ["many"]
    assert found("e_x", "CONTAIN") == []


def test_a_dbt_model_is_found_by_its_alias_as_by_its_name(
    filled: Fill, dataset: Make, names: Names
) -> None:
    index = filled(
        dataset("wh.main.Sales", platform="dbt", datasetProperties={"name": "fct_orders"}),
        dataset("wh.main.stock", platform="dbt", datasetProperties={"name": "stock"}),
        dataset("wh.main.sales_of_stock", datasetProperties={"name": "other"}),
    )

    def found(condition: Condition, value: str) -> list[str]:
        return names(index, "*", all_of(Criterion("name", (value,), condition)))

    for word in ("sales", "Sales", "fct_orders"):
        assert found("EQUAL", word) == ["wh.main.Sales"]
        assert names(index, word)[0] == "wh.main.Sales"
    assert found("START_WITH", "sal") == ["wh.main.Sales"]
    assert found("EQUAL", "main") == found("EQUAL", "wh.main.Sales") == []


def test_a_filter_by_name_compares_no_id(
    filled: Fill, dataset: Make, entity: Make, names: Names
) -> None:
    index = filled(
        dataset("t1", datasetProperties={"name": "zzz"}),
        dataset("t2", editableDatasetProperties={"name": "zoo"}, datasetProperties={"name": "yes"}),
        dataset("t3"),
    )

    def found(field: str, condition: Condition, value: str) -> set[str]:
        return set(names(index, "*", all_of(Criterion(field, (value,), condition))))

    assert found("name", "GREATER_THAN", "u") == {"t1", "t2"}
    assert found("name", "LESS_THAN", "u") == {"t3"}
    assert found("id", "LESS_THAN", "u") == {"t1", "t2", "t3"}
    assert found("name", "EQUAL", "t1") == set()
    assert found("name", "EQUAL", "t3") == {"t3"}
    assert found("name", "EQUAL", "zoo") == found("name", "EQUAL", "yes") == {"t2"}


GOLD, BRONZE = "urn:li:tag:Gold", "urn:li:tag:gold"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'tags:"{GOLD}"', {"upper"}),
        (f'tags:"{BRONZE}"', {"lower"}),
        (f"tags:{BRONZE}", {"lower"}),
        (BRONZE, {"lower"}),
        ("tags:gold", {"upper", "lower"}),
        ("tags:GOLD", {"upper", "lower"}),
        ("tags:urn*gold", {"upper", "lower"}),
        ('urn:"urn:li:dataset:(urn:li:dataPlatform:hive,upper,PROD)"', {"upper"}),
        ('urn:"urn:li:dataset:(urn:li:dataPlatform:hive,UPPER,PROD)"', set()),
        ("urn:li:dataset:(urn:li:dataPlatform:hive,up", {"upper"}),
        ("urn:li:dataset:(urn:li:dataPlatform:hive,UP", set()),
    ],
)
def test_whole_urns_are_compared_in_their_own_case_and_names_in_any(
    filled: Fill, dataset: Make, entity: Make, names: Names, text: str, found: set[str]
) -> None:
    index = filled(
        dataset("upper", globalTags={"tags": [{"tag": GOLD}]}),
        dataset("lower", globalTags={"tags": [{"tag": BRONZE}]}),
        # Two tags, found by what they are called.
        entity(GOLD, tagProperties={"name": "First"}),
        entity(BRONZE, tagProperties={"name": "Second"}),
    )
    assert set(names(index, text, types=("dataset",))) == found
    assert set(names(index, "tags:first", types=("dataset",))) == {"upper"}
    assert set(names(index, "tags:second", types=("dataset",))) == {"lower"}
