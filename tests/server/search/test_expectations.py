"""What DataHub expects of a search in its own tests (`SampleDataFixtureTestBase`,
`ElasticSearchGoldenTest`): forms of words, compounds, exact names, quotes, operators, pieces of
URNs.

These of its expectations do not hold here:

- `cac` finds “customer acquisition cost”: there it is a list of synonyms in the server, here a
  glossary term of the catalog (`test_questions.py`).
- A column's whole name also finds what has only parts of it: one word typed has to be found whole.
- A name that is typed from its schema on (`analytics.pet_details`) comes before others with the
  same words: the test is disabled there.
- Tokens of its analysers, such as stop words and numbers that are left out of names.
"""

from collections.abc import Callable

import pytest

from explorer.metadata import Urn
from explorer.query import Filter
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document
from explorer.server.search.query import FoundPage

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Search = Callable[..., FoundPage]

SHOP = "cypress_project.jaffle_shop"


@pytest.fixture(scope="module")
def companions(filled_once: Fill, dataset: Make) -> SearchEngine:
    def model(name: str, kind: str, materialization: str) -> Document:
        properties = {"node_type": kind, "materialization": materialization}
        described = {"name": name, "customProperties": properties}
        return dataset(f"{SHOP}.{name}", platform="dbt", datasetProperties=described)

    def described(name: str, text: str) -> Document:
        return dataset(name, datasetProperties={"description": text})

    def with_columns(name: str, *paths: str) -> Document:
        fields = [{"fieldPath": path, "nativeDataType": "int"} for path in paths]
        return dataset(name, platform="testOnly", schemaMetadata={"fields": fields})

    return filled_once(
        model("customers", "model", "table"),
        model("stg_customers", "model", "view"),
        model("customers_source", "source", "table"),
        model("raw_customers", "seed", "table"),
        model("transformers_customers", "model", "view"),
        described("logging_events", "Logs each event"),
        described("logging_events_bckp", "Logs"),
        described("fct_logs", "It indicates what is logged at the border"),
        dataset("SampleHdfsDataset", platform="hdfs"),
        dataset("project.covid19.excess_deaths_derived", platform="bigquery"),
        dataset("project.audit.activity", platform="bigquery"),
        described("spend", "customer acquisition cost"),
        dataset("companions.adoption.pet_profiles", platform="snowflake"),
        dataset("companions.adoption.pet_profiles", platform="mysql"),
        described("companions.adoption.pets", "profiles of pets"),
        dataset("workspace.collaborative_actionitems", platform="snowflake"),
        dataset("workspace.collaborative_actionitems_old", platform="snowflake"),
        dataset("testExactMatchCase", platform="testOnly"),
        dataset("testexactmatchcase", platform="testOnly"),
        dataset("TESTEXACTMATCHCASE", platform="testOnly"),
        with_columns("unit_data", "id"),
        with_columns("important_units", "unit_data", "special_column_only_present_here_info"),
        with_columns("unit_data_old", "special_column_info"),
    )


def names_of(page: FoundPage) -> list[str]:
    return [Urn.parse(hit.urn).name.rpartition(".")[2] for hit in page.hits]


def complete_names(page: FoundPage) -> list[str]:
    return names_of(page)[: page.complete]


@pytest.mark.parametrize(
    "words",
    [
        ("log", "logs", "logging"),
        ("border", "borders", "bordered", "bordering"),
        ("indicates", "indicate", "indicated"),
        ("customer", "customers"),
        ("bigquery", "big*"),
    ],
)
def test_forms_of_a_word_find_the_same(
    companions: SearchEngine, search: Search, words: tuple[str, ...]
) -> None:
    first, *more = ({*complete_names(search(companions, word))} for word in words)
    assert first
    assert all(names == first for names in more)


def test_pieces_of_a_compound_find_it(companions: SearchEngine, search: Search) -> None:
    joined, pieces = search(companions, "bigquery"), search(companions, "big query")
    assert {hit.urn for hit in joined.hits} == {hit.urn for hit in pieces.hits}
    assert joined.total == 2


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("stg_customers", ["stg_customers"]),
        ("customers", ["customers"]),
        ('"customers"', ["customers"]),
        ("jaffle shop customers", ["customers"]),
        ("shop customers source", ["customers_source"]),
        ("jaffle shop stg customers", ["stg_customers"]),
        ("jaffle shop transformers customers", ["transformers_customers"]),
        ("shop raw customers", ["raw_customers"]),
        ("pet profiles", ["pet_profiles", "pet_profiles"]),
        ("pet profile", ["pet_profiles", "pet_profiles"]),
        (
            "collaborative actionitems",
            ["collaborative_actionitems", "collaborative_actionitems_old"],
        ),
        ("testExactMatchCase", ["testExactMatchCase"]),
        ("testexactmatchcase", ["testexactmatchcase"]),
        ("TESTEXACTMATCHCASE", ["TESTEXACTMATCHCASE"]),
        ("unit_data", ["unit_data"]),
        ("special_column_only_present_here_info", ["important_units"]),
        ("customer acquisition cost", ["spend"]),
    ],
)
def test_the_name_that_is_meant_comes_first(
    companions: SearchEngine, search: Search, text: str, first: list[str]
) -> None:
    assert names_of(search(companions, text))[: len(first)] == first


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("stg_customers", 1),
        ("logging_events", 2),
        ("logging_events -bckp", 1),
        ("stg_customers | logging_events", 3),
        ("dbt", 5),
        ("bigquery + covid19", 1),
        ("dbt | (bigquery + covid19)", 6),
        ('"customers"', 5),
        ("testExactMatchCase", 3),
        ("/q name: customers", 1),
        ("/q name: customers*", 2),
        ("/q customProperties: node_type=*", 5),
        ("/q customProperties: node_type=model", 3),
        ('"materialization=view"', 2),
        ('/q customProperties:"materialization=view"', 2),
        ("/q fieldPaths: unit_data", 1),
        ("/q platform:urn\\:li\\:dataPlatform\\:dbt", 5),
        ("/q platform.keyword:urn\\:li\\:dataPlatform\\:dbt", 5),
        ("urn:li:dataPlatform:dbt", 5),
        ("urn:li:dataplatform:dbt", 5),
        ("no results", 0),
    ],
)
def test_operators_quotes_and_fields_find_exactly_what_they_say(
    companions: SearchEngine, search: Search, text: str, count: int
) -> None:
    page = search(companions, text)
    assert len(complete_names(page)) == count
    assert all(hit.matched for hit in page.hits)


@pytest.mark.parametrize(
    "text",
    [
        "hdfs,SampleHdfsDataset,PROD",
        "hdfs,SampleHdfsDataset",
        "SampleHdfsDataset",
        "(urn:li:dataPlatform:hdfs,SampleHdfsDataset,PROD)",
        "urn:li:dataPlatform:hdfs,SampleHdfsDataset,PROD",
        "urn:li:dataset:(urn:li:dataPlatform:hdfs,SampleHdfsDataset,PROD)",
        ":(urn:li:dataPlatform:hdfs,SampleHdfsDataset,PROD)",
    ],
)
def test_a_piece_of_a_urn_finds_its_entity_and_says_by_what(
    companions: SearchEngine, search: Search, text: str
) -> None:
    page = search(companions, text)
    assert names_of(page)[0] == "SampleHdfsDataset"
    assert page.hits[0].matched


@pytest.mark.parametrize(
    "begun", ["excess", "excess_", "excess_d", "excess_deaths_der", "excess_deaths_derived"]
)
def test_a_name_is_completed_from_any_of_its_beginnings(
    companions: SearchEngine, begun: str
) -> None:
    (completion,) = companions.autocomplete(begun, ("dataset",), Filter(), 0, 10)
    assert completion.text.endswith("excess_deaths_derived")
