"""Reading addresses: cut first, decoded once."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.server.restli import QueryParameters, decode, raw_path, split_list

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
trimmed = texts.filter(lambda text: text == text.strip() and text)


@given(texts)
def test_what_was_encoded_once_comes_back(text: str) -> None:
    assert decode(quote(text, safe="")) == text
    assert QueryParameters(f"x={quote(text, safe='')}".encode()).one("x") == text


@given(st.lists(trimmed, min_size=1))
def test_a_list_of_encoded_elements_comes_back(elements: list[str]) -> None:
    encoded = ",".join(quote(element, safe="") for element in elements)
    assert QueryParameters(f"x=List({encoded})".encode()).many("x") == elements


def test_bytes_that_were_sent_raw_are_utf_8() -> None:
    assert decode(raw_path("/é".encode(), "/é")) == "/é"
    with pytest.raises(InvalidInput):
        decode("%ff")


@pytest.mark.parametrize(
    ("raw", "elements"),
    [
        ("List()", []),
        ("List(a)", ["a"]),
        ("List(a,b)", ["a", "b"]),
        ("List(f(x,y),z)", ["f(x,y)", "z"]),
        ("List(+a,%20b)", ["a", "b"]),
    ],
)
def test_a_list_is_cut_at_its_own_commas(raw: str, elements: list[str]) -> None:
    assert split_list(raw) == elements


@pytest.mark.parametrize("raw", ["List(", "List(a", "List(a(b)", "List(a)b"])
def test_a_list_that_is_not_closed_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput):
        split_list(raw)


def test_a_plus_is_a_space_in_a_query_and_a_plus_in_a_path() -> None:
    assert QueryParameters(b"x=a+b%2Bc").one("x") == "a b+c"
    assert decode("a+b%2Bc") == "a+b+c"


def test_a_parameter_may_repeat_or_be_missing() -> None:
    query = QueryParameters(b"x=1&x=List(2,3)&y=&z")
    assert query.many("x") == ["1", "2", "3"]
    assert query.one("y") == ""
    assert query.many("nothing") is None
    for name in ("y", "z", "nothing"):
        with pytest.raises(InvalidInput, match=f"'{name}' is required"):
            query.require(name)
