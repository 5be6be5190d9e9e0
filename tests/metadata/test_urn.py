"""URNs parse into their parts and print back byte for byte."""

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidUrn
from explorer.metadata import Urn

PARTS = st.text(
    st.characters(blacklist_characters="(),", blacklist_categories=["Cs"]),
    min_size=1,
    max_size=40,
).filter(lambda text: text == text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/a b/ü%2C+x,DEV)",
        "urn:li:corpuser:jdoe",
        "urn:li:corpGroup:bfoo",
        "urn:li:chart:(looker,baz1)",
        "urn:li:dashboard:(looker,dashboards.1)",
        "urn:li:tag:PII",
        "urn:li:glossaryTerm:Savings.Account",
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag_abc,PROD),task_123)",
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD),a.b)",
        "urn:li:container:b5e95fce839e7d78151ed7e0a7420d84",
    ],
)
def test_a_urn_prints_back_what_was_parsed(text: str) -> None:
    assert str(Urn.parse(text)) == text


@pytest.mark.parametrize("char", ["\0", "\n", "\r", "\u241f"])
def test_characters_that_no_stored_urn_has_are_refused_with_their_position(char: str) -> None:
    urn = Urn.parse(f"urn:li:tag:a{char}b")
    with pytest.raises(InvalidUrn, match="position 12"):
        urn.check_characters()


@given(PARTS, PARTS, PARTS)
def test_any_name_without_comma_or_parenthesis_survives(
    platform: Any, name: Any, origin: Any
) -> None:
    urn = Urn.of("dataset", f"urn:li:dataPlatform:{platform}", name, origin)
    if len(str(urn).encode()) <= 512:
        assert Urn.parse(str(urn)) == urn
        assert unquote(urn.encoded) == str(urn)
        assert not set(urn.encoded) & set("/(),:% ") - {"%"}


def test_nested_urns_are_split_at_the_outer_commas_only() -> None:
    urn = Urn.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,dag,PROD),task)")
    assert urn.parts == ("urn:li:dataFlow:(airflow,dag,PROD)", "task")
    assert (urn.name, urn.platform) == ("task", "airflow")


def test_a_urn_equals_its_text_and_stands_for_it_as_a_key() -> None:
    text = "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)"
    urn = Urn.parse(text)
    assert urn == text
    assert text == urn
    assert urn != text.lower()
    by_text: dict[Any, int] = {text: 1}
    by_urn: dict[Any, int] = {urn: 2}
    assert (by_text[urn], by_urn[text]) == (1, 2)
    assert {urn, text} == {text}
    # Of one text, but not what is parsed from it.
    assert Urn.of("chart", "looker", "a,b") != Urn.of("chart", "looker", "a", "b")


def test_a_metric_is_called_by_its_id_and_not_by_its_path() -> None:
    urn = Urn.parse("urn:li:metric:(urn:li:dataPlatform:dbt,shop,revenue)")
    assert (urn.name, urn.platform, urn.origin) == ("revenue", "dbt", None)


def test_a_dataset_tells_its_name_platform_and_origin() -> None:
    urn = Urn.dataset("hive", "db.orders", "DEV")
    assert (urn.name, urn.platform, urn.origin) == ("db.orders", "hive", "DEV")
    assert urn.encoded == (
        "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3Ahive%2Cdb.orders%2CDEV%29"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders", "position 0"),
        ("urn:li:dataset", "<entity>:<id>"),
        ("urn:li:tag:", "expected an id"),
        ("urn:li:dataset:(urn:li:dataPlatform:hive,x,PROD", "expected ')'"),
        ("urn:li:dataset:(a,b,c)d", "expected the end"),
        ("urn:li:dataset:(a,,c)", "every part"),
        (" urn:li:tag:x", "white space"),
        ("urn:li:tag:" + "x" * 600, "512 bytes"),
    ],
)
def test_a_malformed_urn_is_refused_with_the_place_and_the_shape(text: Any, said: str) -> None:
    with pytest.raises(InvalidUrn, match=said.replace("(", r"\(").replace(")", r"\)")):
        Urn.parse(text)


def test_what_is_no_urn_is_left_out_of_a_list() -> None:
    assert Urn.parse_all(["urn:li:tag:a", "b", None, "urn:li:tag:"]) == (Urn("tag", ("a",)),)


def test_a_label_is_the_name_people_use() -> None:
    assert Urn.label("urn:li:dataPlatform:hive") == "hive"
    assert Urn.label("PROD") == "PROD"
