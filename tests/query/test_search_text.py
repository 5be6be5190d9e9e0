"""Words and conditions are told apart in one way, and facets are written into the text."""

import re
from typing import Any

import pytest

from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Criterion, Filter
from explorer.query.search_text import SearchText

REGISTRY = load_registry()
HIVE = "urn:li:dataPlatform:hive"
PII = "urn:li:tag:PII"


def split(text: str) -> SearchText:
    return SearchText.split(text, guide_to(REGISTRY))


@pytest.mark.parametrize(
    ("text", "words", "filters"),
    [
        ("orders", "orders", []),
        ("orders platform:hive AND tags:PII", "orders", ["platform:hive AND tags:PII"]),
        ("platform:hive orders", "orders", ["platform:hive"]),
        ("a platform:hive b tags:PII", "a b", ["platform:hive", "tags:PII"]),
        ("orders AND platform:hive", "orders", ["platform:hive"]),
        ("orders and returns", "orders and returns", []),
        ("NOT tags:PII orders", "orders", ["NOT tags:PII"]),
        ("-tags:PII -word", "-word", ["-tags:PII"]),
        ("tags IS NOT NULL x", "x", ["tags IS NOT NULL"]),
        ("rows > 10 x", "x", ["rows > 10"]),
        ("name IN (a, b) c", "c", ["name IN (a, b)"]),
        ("rows:[1 TO 2] x", "x", ["rows:[1 TO 2]"]),
        ("(tags:PII OR tags:X) orders", "orders", ["(tags:PII OR tags:X)"]),
        ("(orders returns)", "(orders returns)", []),
        ('"order item" name:"a b"', '"order item"', ['name:"a b"']),
        ("orders urn:li:tag:PII tags:X", "orders urn:li:tag:PII", ["tags:X"]),
        ("-urn:li:tag:PII NOT urn:li:tag:X", "-urn:li:tag:PII NOT urn:li:tag:X", []),
        ("(urn:li:tag:PII OR urn:li:tag:X)", "(urn:li:tag:PII OR urn:li:tag:X)", []),
        ("urn:urn:li:tag:PII x", "x", ["urn:urn:li:tag:PII"]),
        ("(urn:li:tag:X OR tags:X) x", "x", ["(urn:li:tag:X OR tags:X)"]),
        ("std::x http://a.b 10:30 don't", "std::x http://a.b 10:30 don't", []),
    ],
)
def test_a_word_with_an_operator_behind_it_is_a_condition(
    text: str, words: str, filters: Any
) -> None:
    question = split(text)
    assert question.words == words
    assert [text[start:end] for start, end in question.runs] == filters
    question.filter(REGISTRY)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("orders platform:", 16),
        ("orders nosuch:x", 7),
        ("a tags:PII AND", 14),
        ("orders OR tags:PII", 7),
        ("a rows:many b", 7),
    ],
)
def test_what_is_wrong_is_told_with_its_place_in_the_whole_text(text: str, place: int) -> None:
    with pytest.raises(FilterSyntax) as caught:
        split(text).filter(REGISTRY)
    assert (caught.value.text, caught.value.position) == (text, place)


@pytest.mark.parametrize("name", ["titanic:csv", "x=1", "a>b", 'say:"so"'])
def test_what_is_typed_with_an_unknown_field_is_offered_in_quotes(name: str) -> None:
    with pytest.raises(FilterSyntax, match="unknown field") as fault:
        split(f"orders ({name} OR platform:hive)").filter(REGISTRY)
    quoted = re.search(r'; (".*") in quotes is searched for; ', fault.value.message)
    assert quoted is not None
    question = split(f"orders {quoted[1]}")
    assert (question.words, question.filter(REGISTRY)) == (f"orders {quoted[1]}", Filter())
    assert fault.value.position == len("orders (")


def test_a_facet_is_written_into_the_text_and_taken_out_of_it() -> None:
    text = "orders"
    for field, value, then in [
        ("platform", HIVE, "orders platform:hive"),
        ("tags", PII, "orders platform:hive AND tags:PII"),
        ("platform", "urn:li:dataPlatform:s3", "orders platform:(hive, s3) AND tags:PII"),
        ("platform", HIVE, "orders platform:s3 AND tags:PII"),
        ("platform", "urn:li:dataPlatform:s3", "orders tags:PII"),
        ("_entityType", "dataset", "orders tags:PII AND type:dataset"),
        ("tags", PII, "orders type:dataset"),
    ]:
        text = split(text).toggle(field, value, REGISTRY)
        assert text == then
        assert (value in split(text).chosen_values(REGISTRY).get(field, ())) == (
            value.split(":")[-1] in text
        )


@pytest.mark.parametrize(
    "excluded",
    [
        "NOT platform:hive",
        "not platform:hive",
        "-platform:hive",
        "platform!=hive",
        "NOT platform:(hive, s3)",
        "-(platform:hive)",
        "NOT (platform:hive OR platform:s3)",
    ],
)
def test_a_value_that_is_excluded_is_not_chosen(excluded: str) -> None:
    for text in (excluded, f"orders {excluded}", f"tags:PII AND {excluded}"):
        question = split(text)
        assert question.chosen_values(REGISTRY).get("platform") is None
        assert question.beyond("platform", REGISTRY) == question.filter(REGISTRY)
        # The exclusion stays, and what is added to it can be removed again.
        added = question.toggle("platform", "urn:li:dataPlatform:kafka", REGISTRY)
        assert added == f"{text} AND platform:kafka"
        assert split(added).chosen_values(REGISTRY)["platform"] == ("urn:li:dataPlatform:kafka",)
        assert split(added).toggle("platform", "urn:li:dataPlatform:kafka", REGISTRY) == text


def test_a_name_is_taken_out_with_all_that_it_may_stand_for() -> None:
    group, person = "urn:li:corpGroup:nina", "urn:li:corpuser:nina"
    text = "orders owner:(nina, omar)"
    assert {group, person} < set(split(text).chosen_values(REGISTRY)["owners"])
    for value in (group, person):
        assert split(text).toggle("owners", value, REGISTRY) == "orders owners:omar"
        assert split("orders owner:nina").toggle("owners", value, REGISTRY) == "orders"
    alone = split(f"owner:({person}, omar)").toggle("owners", person, REGISTRY)
    assert alone == "owners:omar"


def test_a_facet_narrows_every_alternative() -> None:
    text = split("x tags:PII OR tags:X").toggle("platform", HIVE, REGISTRY)
    assert text == "x (tags:PII OR tags:X) AND platform:hive"
    assert all(
        Criterion("platform", (HIVE,)) in group for group in split(text).filter(REGISTRY).any_of
    )
    assert split("tags:PII x").narrow("rows>1") == "tags:PII x rows>1"
    assert split("x tags:PII").widen("rows>1") == "x tags:PII OR rows>1"
