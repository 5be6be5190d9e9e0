"""Words and conditions are told apart in one way, and facets are written into the text."""

from typing import Any, get_args

import pytest

from explorer.metadata import Urn
from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import CONDITIONS, Criterion
from explorer.query.search_text import SearchText
from explorer.tui.screens.search.dialogs import EXAMPLES, How, condition_of
from explorer.tui.widgets.inputs import LONGEST, pasted_line, pasted_urn

REGISTRY = load_registry()
HIVE = "urn:li:dataPlatform:hive"
PII = "urn:li:tag:PII"


def split(text: Any) -> Any:
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


def test_every_example_of_the_help_can_be_read() -> None:
    for _, examples in EXAMPLES:
        for typed, _ in examples:
            split(typed).filter(REGISTRY)


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
        text = split(text).toggled(field, value, REGISTRY)
        assert text == then
        assert (value in split(text).chosen(REGISTRY).get(field, ())) == (
            value.split(":")[-1] in text
        )


def test_a_facet_narrows_every_alternative() -> None:
    text = split("x tags:PII OR tags:X").toggled("platform", HIVE, REGISTRY)
    assert text == "x (tags:PII OR tags:X) AND platform:hive"
    assert all(
        Criterion("platform", (HIVE,)) in group for group in split(text).filter(REGISTRY).any_of
    )
    assert split("tags:PII x").narrowed("rows>1") == "tags:PII x rows>1"
    assert split("x tags:PII").widened("rows>1") == "x tags:PII OR rows>1"


def test_a_pasted_urn_or_the_address_of_its_page_names_an_entity() -> None:
    urn = Urn.dataset("hive", "a.b")
    for text in (
        str(urn),
        f"  {urn}\n",
        f"https://hub.example/dataset/{urn}/Schema?is_lineage_mode=false",
        "https://hub.example/dataset/urn%3Ali%3Adataset%3A(urn%3Ali%3AdataPlatform%3Ahive%2Ca.b%2CPROD)/",
    ):
        assert pasted_urn(text) == urn
    assert pasted_urn("https://hub.example/tag/urn:li:tag:PII/x?y") == Urn.parse(PII)
    assert pasted_urn("orders urn:li:tag:PII") is None
    assert pasted_urn("urn:li:dataset:(") is None


def test_a_paste_of_megabytes_is_one_line_and_cut() -> None:
    line, is_cut = pasted_line("a\nb " * 1_000_000)
    assert is_cut
    assert len(line) <= LONGEST
    assert "\n" not in line


def test_the_steps_lead_to_every_condition_that_there_is() -> None:
    values = {"from … to": "1..2", "is one of": "1, 2"}
    filters = {
        how: split(condition_of("rowCount", how, values.get(how, "1"))).filter(REGISTRY)
        for how in get_args(How)
    }
    criteria = {how: found.any_of[0][0] for how, found in filters.items()}
    # Those along a tree are for URNs in requests and have no form in what people type.
    along = {"DESCENDANTS_INCL", "ANCESTORS_INCL", "RELATED_INCL"}
    assert {one.condition for one in criteria.values()} == set(CONDITIONS) - along
    assert [how for how, one in criteria.items() if one.negated] == ["is not"]
    assert {one.field for one in criteria.values()} == {"rowCount"}
    assert criteria["from … to"].values == ("1", "2")
