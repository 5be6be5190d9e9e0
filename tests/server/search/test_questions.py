"""What is found where few documents have all words: those that have most of them."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.metadata import Urn, load_registry
from explorer.query.filters import Criterion, all_of
from explorer.server.search import SearchEngine
from explorer.server.search.analysis import stem, word_line
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchHit, SortBy
from tests.server.search.answers import SAMPLE_QUESTIONS, find_names, judge, sample_documents

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Search = Callable[..., FoundPage]


def name_of(hit: SearchHit) -> str:
    return Urn.parse(hit.urn).name


def names_of(page: FoundPage) -> list[str]:
    return list(map(name_of, page.hits))


def columns(*names: str) -> dict[str, object]:
    fields = [{"fieldPath": name, "nativeDataType": "int", "type": {"type": {}}} for name in names]
    return {"schemaName": "", "platform": "urn:li:dataPlatform:hive", "fields": fields}


@pytest.fixture(scope="module")
def shop(filled_once: Fill, dataset: Make, entity: Make) -> SearchEngine:
    return filled_once(
        dataset("orders", schemaMetadata=columns("order_id", "customer_id")),
        dataset("customer", schemaMetadata=columns("customer_id", "country")),
        dataset("order_items", schemaMetadata=columns("order_id", "sku")),
        dataset("web_log", datasetProperties={"description": "Logging of the border router"}),
        dataset("bigquery_jobs"),
        dataset("data.sales", datasetProperties={"description": "From Big Query each night"}),
        dataset("datahub.schema"),
        dataset("datahub_schema"),
        dataset("Invoices"),
        dataset("invoices"),
        dataset("spend", datasetProperties={"description": "Customer acquisition cost by week"}),
        entity(
            "urn:li:glossaryTerm:cost",
            glossaryTermInfo={
                "name": "Customer acquisition cost",
                "definition": "What it takes.",
                "termSource": "INTERNAL",
                "customProperties": {"synonyms": "adspend, Outlay"},
            },
        ),
    )


def test_a_question_finds_what_has_most_of_its_words(shop: SearchEngine, search: Search) -> None:
    page = search(shop, "How many orders are there per customer?", types=("dataset",))
    assert names_of(page)[0] == "orders"
    assert page.complete == 0
    assert page.words == ("how", "many", "orders", "are", "there", "per", "customer")
    lacks = {name_of(hit): hit.lacks for hit in page.hits}
    assert lacks["orders"] == ()
    assert lacks["customer"] == ("orders",)
    assert lacks["order_items"] == ("customer",)


def test_what_matches_everything_comes_first_and_is_counted(
    shop: SearchEngine, search: Search
) -> None:
    page = search(shop, "orders customer", types=("dataset",))
    assert page.complete == 1
    assert names_of(page)[0] == "orders"
    assert not page.hits[0].lacks
    assert [hit.score for hit in page.hits] == sorted((h.score for h in page.hits), reverse=True)
    assert page.hits[0].score >= 1 > page.hits[1].score


@pytest.mark.parametrize("text", ["orders", "customer_id", "orders AND sku", "orders OR sku"])
def test_a_name_or_a_text_with_operators_is_not_loosened(
    shop: SearchEngine, search: Search, text: str
) -> None:
    page = search(shop, text, types=("dataset",))
    assert page.complete is None
    assert not any(hit.lacks for hit in page.hits)


def test_conditions_and_negations_hold_for_all_that_is_found(
    shop: SearchEngine, search: Search
) -> None:
    found = names_of(
        search(shop, "which tables have orders of a customer -sku", types=("dataset",))
    )
    assert "orders" in found
    assert "order_items" not in found
    only = all_of(Criterion("fieldPaths", ("country",)))
    assert names_of(search(shop, "which orders has a customer", only)) == ["customer"]


def test_quoted_text_stays_exact(shop: SearchEngine, search: Search) -> None:
    assert names_of(search(shop, '"customers"', types=("dataset",))) == []
    assert "customer" in names_of(search(shop, "customers", types=("dataset",)))
    found = search(shop, '"customers" orders', types=("dataset",))
    assert names_of(found) == []
    question = search(shop, 'how many "customers" have orders', types=("dataset",))
    assert all('"customers"' in hit.lacks for hit in question.hits)
    assert names_of(question)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("logs", "web_log"),
        ("bordering", "web_log"),
        ("big query", "bigquery_jobs"),
        ("bigquery", "data.sales"),
        ("orderitems", "order_items"),
        ("orderItems", "order_items"),
        ("hive,orders,PROD", "orders"),
        ("CAC", "spend"),
        ("CAC", "cost"),
        ("outlay", "cost"),
        ("sku | country", "order_items"),
        ("sku|country", "customer"),
        ("order sku nonsense", "order_items"),
        ("wie viele Bestellungen hat ein customer", "customer"),
        ("combien de commandes pour chaque customer", "customer"),
        ("cuantos pedidos hay por customer", "customer"),
        ("how many custmers are there", "customer"),
    ],
)
def test_words_are_found_as_people_mean_them(
    shop: SearchEngine, search: Search, text: str, name: str
) -> None:
    assert name in names_of(search(shop, text))


@pytest.mark.parametrize(
    "forms",
    [
        ("log", "logs", "logged", "logging"),
        ("add", "adds", "added", "adding"),
        ("size", "sizes", "sized", "sizing"),
        ("query", "queries", "queried", "querying"),
        ("pass", "passes", "passed", "passing"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({*map(stem, forms)}) == 1
    assert stem(forms[0]) not in {stem("ad"), stem("customs")}


def test_a_name_as_it_is_written_comes_first(shop: SearchEngine, search: Search) -> None:
    for name in ("datahub_schema", "datahub.schema", "Invoices", "invoices"):
        assert names_of(search(shop, name))[0] == name


ODD_NAMES = (
    "x#y?z=1",
    "x#y?",
    "c++",
    "c#",
    "c",
    "titanic:csv",
    "100%",
    "o'brien",
    "L.HUB",
    "l.hub",
)


def test_a_name_with_signs_is_found_first_by_exactly_that_name(
    filled: Fill, dataset: Make, search: Search
) -> None:
    others = (dataset(f"other{n}", datasetProperties={"description": "c x y z 1"}) for n in "123")
    index = filled(*others, *map(dataset, ODD_NAMES))
    for name in ODD_NAMES:
        assert names_of(search(index, name))[:1] == [name]


def test_alternatives_count(filled: Fill, dataset: Make, search: Search) -> None:
    index = filled(
        dataset("shipping_a"),
        dataset("three", datasetProperties={"description": "of shipping, orders and refunds"}),
        dataset("two_orders", datasetProperties={"description": "with refunds"}),
        dataset("refunds_b"),
    )
    found = names_of(search(index, "shipping OR orders OR refunds"))
    assert found == ["three", "two_orders", "refunds_b", "shipping_a"]
    assert names_of(search(index, "shipping OR refunds"))[0] == "three"
    assert names_of(search(index, "refunds_b OR shipping OR orders"))[0] == "refunds_b"


WORDS = ("orders", "customer", "sku", "country", "log", "night", "of", "the", "how")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), size=st.integers(1, 4))
def test_each_hit_is_listed_once_and_what_is_said_of_it_is_true(
    shop: SearchEngine, search: Search, words: list[str], size: int
) -> None:
    text = " ".join(words)
    whole = search(shop, text)
    strict = search(shop, " AND ".join(words))
    read: list[SearchHit] = []
    while page := search(shop, text, start=len(read), count=size).hits:
        read += page
    assert [hit.urn for hit in read] == [hit.urn for hit in whole.hits]
    assert len({hit.urn for hit in read}) == len(read) == whole.total
    # Whatever matches every word is found before what does not.
    first = [hit.urn for hit in read[: strict.total]]
    assert {*first} == {hit.urn for hit in strict.hits}
    in_order = search(shop, text, sort=(SortBy("urn"),))
    assert [hit.urn for hit in in_order.hits] == sorted(hit.urn for hit in read)
    counts = {facet.name: sum(facet.counts.values()) for facet in whole.facets}
    assert counts.get("_entityType", 0) == whole.total
    for hit in read[strict.total :]:
        stems = {stem(word) for word in {*words} - {*hit.lacks}}
        assert hit.matched
        assert all(stems & {*map(stem, word_line((value,)).split())} for _, value in hit.matched)
        assert set(hit.lacks) <= {*words}
        for word in {*words} - {"of", "the", "how"}:
            alone = {found.urn for found in search(shop, word).hits}
            assert (hit.urn in alone) is (word not in hit.lacks)
        assert all(word in hit.reason for word in {*words} - {*hit.lacks, "of", "the", "how"})


def test_a_word_that_is_spelt_nearly_like_one_that_is_there_counts_less(
    filled: Fill, dataset: Make, search: Search
) -> None:
    index = filled(
        dataset("prices", datasetProperties={"description": "The lowest of a month"}),
        dataset("parcels", datasetProperties={"description": "What a carrier brings"}),
        dataset("letters", datasetProperties={"description": "No parcels"}),
    )
    found = search(index, "which carrier is the slowest")
    assert names_of(found) == ["parcels", "prices"]
    assert found.hits[0].score > 1.5 * found.hits[1].score


def test_questions_over_the_sample_are_answered() -> None:
    registry = load_registry()
    index = SearchIndex(None, registry)
    index.apply(1, sample_documents(registry))
    questions = json.loads(SAMPLE_QUESTIONS.read_text(encoding="utf-8"))
    assert len(questions) == 60
    wrong, reciprocal = judge("search", lambda text: find_names(index, text), questions)
    index.close()
    # A quarter are asked in words, or a language, that nothing in the sample has.
    assert len(wrong) <= 15
    assert reciprocal >= 0.69


def test_what_matched_is_said_of_each_hit(shop: SearchEngine, search: Search) -> None:
    page = search(shop, "how many orders per customer", types=("dataset",))
    matched = {name_of(hit): dict(hit.matched) for hit in page.hits}
    assert matched["orders"]["fieldPaths"] == "customer_id"
    assert matched["orders"]["id"] == "orders"
    assert matched["customer"]["fieldPaths"] == "customer_id"
