"""Filters as they arrive on the wire."""

from typing import Any

import pytest

from explorer.errors import InvalidInput
from explorer.query.filters import CONDITIONS, Criterion, Filter, all_of
from explorer.server.search_request import read_filter
from tests.server.conftest import Caller


def flat(*criteria: dict[str, Any]) -> dict[str, Any]:
    return {"or": [{"and": list(criteria)}]}


def test_what_a_filter_writes_is_what_is_read() -> None:
    filter = Filter(
        (
            (Criterion("a", ("x", "y")), Criterion("b", ("z",), "CONTAIN", negated=True)),
            (Criterion("c", (), "EXISTS"),),
        )
    )
    assert read_filter(filter.to_wire()) == filter


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_condition_is_known(condition: str) -> None:
    given = flat({"field": "a", "value": "x", "condition": condition})
    ((criterion,),) = read_filter(given).any_of
    assert criterion.condition == condition


@pytest.mark.parametrize(
    "given", [None, {}, {"or": []}, {"or": None}, {"criteria": []}, flat(), flat({"field": "a"})]
)
def test_what_asks_for_nothing_lets_all_pass(given: Any) -> None:
    assert not read_filter(given)


def test_one_group_without_criteria_lets_all_pass() -> None:
    given = {"or": [{"and": []}, {"and": [{"field": "a", "value": "x"}]}]}
    assert not read_filter(given)


def test_the_oldest_form_and_single_values_are_read() -> None:
    given = {"criteria": [{"field": "a.keyword", "value": "x,y"}, {"field": "b", "value": True}]}
    assert read_filter(given) == all_of(Criterion("a", ("x,y",)), Criterion("b", ("true",)))


@pytest.mark.parametrize(
    "given",
    [
        [],
        "x",
        {"and": []},
        {"or": [{}]},
        {"or": [[]]},
        {"or": [{"and": ["x"]}]},
        flat({"value": "x"}),
        flat({"field": "a", "values": "x"}),
        flat({"field": "a", "values": [{}]}),
        flat({"field": "a", "value": "x", "negated": "yes"}),
    ],
)
def test_what_is_no_filter_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput):
        read_filter(given)


@pytest.mark.parametrize("inner", ["or", "and"])
def test_a_filter_of_thousands_of_criteria_is_answered(
    caller: Caller, dataset: str, inner: str
) -> None:
    caller.ingest(dataset, "status", {"removed": False})
    criteria = [
        {"field": "urn", "values": [f"urn:li:tag:{at}"], "condition": "EQUAL", "negated": True}
        for at in range(3_000)
    ]
    groups = [{"and": [one]} for one in criteria] if inner == "or" else [{"and": criteria}]
    body = {"input": "*", "entity": "dataset", "start": 0, "count": 1, "filter": {"or": groups}}
    answer = caller.post("/entities?action=search", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["value"]["numEntities"] > 0


def test_a_filter_of_too_many_values_is_refused_with_the_limit() -> None:
    many = {"field": "name", "values": [str(at) for at in range(10_001)]}
    with pytest.raises(InvalidInput, match=r"10,001 values, .* at most 10,000; split it"):
        read_filter({"or": [{"and": [many]}]})
    assert read_filter({"criteria": [{**many, "values": many["values"][1:]}]})
    with pytest.raises(InvalidInput, match="at most 10,000"):
        read_filter({"or": [{"and": [{"field": "name", "value": "x"}]}] * 10_001})
