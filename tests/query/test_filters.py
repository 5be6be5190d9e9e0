"""Filters and their wire forms."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.query.filters import CONDITIONS, Criterion, Filter, all_of

TEXTS = st.text(max_size=6)
VALUES = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
CRITERIA = st.builds(
    Criterion,
    st.text(min_size=1, max_size=6),
    VALUES,
    st.sampled_from([one for one in CONDITIONS if one not in ("EXISTS", "IS_NULL")]),
    st.booleans(),
) | st.builds(
    Criterion, st.just("tags"), st.just(()), st.sampled_from(["EXISTS", "IS_NULL"]), st.booleans()
)
FILTERS = st.lists(st.lists(CRITERIA, min_size=1, max_size=3).map(tuple), max_size=3).map(
    lambda groups: Filter(tuple(groups))
)


@settings(deadline=None)
@given(FILTERS)
def test_a_filter_is_read_back_from_both_of_its_wire_forms(filter: Any) -> None:
    assert Filter.from_wire(filter.to_wire()) == filter
    assert Filter.from_graphql(filter.to_graphql()) == filter


def test_graphql_is_told_the_values_the_condition_and_whether_it_is_negated() -> None:
    filter = all_of(Criterion("tags", ("urn:li:tag:PII",), "EQUAL", negated=True))
    criterion = {
        "field": "tags",
        "values": ["urn:li:tag:PII"],
        "condition": "EQUAL",
        "negated": True,
    }
    assert filter.to_graphql() == [{"and": [criterion]}]


def test_the_oldest_forms_are_read() -> None:
    oldest = {
        "criteria": [{"field": "a.keyword", "value": "x,y"}, {"field": "b", "values": [True, 3]}]
    }
    assert Filter.from_wire(oldest) == all_of(
        Criterion("a.keyword", ("x,y",)), Criterion("b", ("true", "3"))
    )


@pytest.mark.parametrize(
    "wire",
    [
        None,
        {},
        {"or": []},
        {"or": None},
        {"or": [{"and": None}]},
        {"or": [{"and": []}, {"and": [{"field": "a", "value": "x"}]}]},
        {"criteria": [{"field": "a", "values": []}]},
    ],
)
def test_what_asks_for_nothing_lets_everything_pass(wire: Any) -> None:
    assert Filter.from_wire(wire) == Filter()


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ([], "a filter is"),
        ({"or": ["x"]}, "each alternative"),
        ({"or": [{"and": ["x"]}]}, "a criterion"),
        ({"criteria": [{"value": "x"}]}, "'field'"),
        ({"criteria": [{"field": "a", "value": {}}]}, "list of strings"),
        ({"criteria": [{"field": "a", "value": "x", "condition": "LIKE"}]}, "BETWEEN"),
        ({"criteria": [{"field": "a", "value": "x", "negated": "no"}]}, "true or false"),
    ],
)
def test_another_form_is_refused_with_a_word_on_what_would_do(wire: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Filter.from_wire(wire)


def test_two_filters_together_ask_for_what_both_ask_for() -> None:
    a, b, c = (Criterion(name, ("x",)) for name in "abc")
    assert all_of(a).and_(all_of(b, c)) == all_of(a, b, c)
    assert Filter(((a,), (b,))).and_(all_of(c)) == Filter(((a, c), (b, c)))
    assert Filter().and_(all_of(c)) == all_of(c) == all_of(c).and_(Filter())


def test_two_filters_together_have_their_bounds() -> None:
    many = Filter(tuple((Criterion("a", (str(at),)),) for at in range(40)))
    with pytest.raises(InvalidInput, match="3,200 criteria"):
        many.and_(many)
    long = all_of(*(Criterion("a", (str(at),)) for at in range(2_000)))
    assert len(long.and_(all_of(Criterion("b", ("x",)))).any_of[0]) == 2_001
