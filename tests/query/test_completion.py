"""What is offered while a filter is typed."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax, complete, read_filter, value_at

REGISTRY = load_registry()


@dataclass(frozen=True)
class Value:
    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Facet:
    name: str
    values: tuple[Value, ...]
    label: str = ""


TAGS = Facet(
    "tags",
    (
        Value("urn:li:tag:PII", "PII", 6),
        Value("urn:li:tag:My tag", "My tag", 4),
        Value("urn:li:tag:api", "api", 1),
    ),
)
TYPES = Facet("_entityType", (Value("DATASET", "DATASET", 38), Value("chart", "chart", 3)))
OWNERS = Facet("owners", (Value("urn:li:corpuser:jdoe", "jdoe", 2),))
FACETS = (TAGS, TYPES, OWNERS)


def offered(text: Any) -> Any:
    """What is offered at the `|` of a text."""
    cursor = text.index("|")
    return complete(text.replace("|", ""), cursor, REGISTRY, FACETS)


def after(text: Any, label: Any) -> Any:
    """The text once the completion of that label is taken."""
    found = next(one for one in offered(text) if one.label == label)
    return found.applied_to(text.replace("|", ""))


def labels(text: Any, kind: Any) -> Any:
    return [one.label for one in offered(text) if one.kind == kind]


def test_fields_are_offered_with_those_that_have_facets_first() -> None:
    first = labels("|", "field")[:3]
    assert first == ["_entityType", "owners", "tags"]
    assert labels("|", "value") == []


def test_fields_that_begin_so_come_before_those_that_hold_it() -> None:
    found = labels("ta|", "field")
    assert found[0] == "tags"
    assert "hasTags" in found
    assert found.index("tagAttributionDates") < found.index("hasTags")
    assert after("ta|", "tags") == "tags:"


def test_a_field_is_found_by_its_alias_and_its_label_which_the_hint_tells() -> None:
    (found,) = [one for one in offered("rows|") if one.label == "rowCount"]
    assert found.applied_to("rows") == "rowCount:"
    assert "rows" in found.hint
    assert labels("owner|", "field")[0] == "owners"
    assert labels("type|", "field")[0] == "_entityType"


def test_a_field_keeps_the_operator_it_has() -> None:
    assert after("ta|:x", "tags") == "tags:x"
    assert after("ta|gs >x", "tags") == "tags >x"


def test_values_come_from_the_facets_with_their_counts() -> None:
    found = offered("tags:|")
    assert [(one.text, one.count) for one in found] == [("PII", 6), ('"My tag"', 4), ("api", 1)]
    assert {one.kind for one in found} == {"value"}


@pytest.mark.parametrize(
    ("text", "label", "result"),
    [
        ("tags:p|", "PII", "tags:PII"),
        ("tag:P|", "PII", "tag:PII"),
        ("tags:p|ox name:x", "PII", "tags:PII name:x"),
        ('tags:"My| name:"x"', "My tag", 'tags:"My tag" name:"x"'),
        ('tags:"My| old"', "My tag", 'tags:"My tag"'),
        ("tags:(api, |)", "PII", "tags:(api, PII)"),
        ("tags IN (P|", "PII", "tags IN (PII"),
        ("name:a (NOT tags:|", "PII", "name:a (NOT tags:PII"),
        ("tags:|name:x", "PII", "tags:PII name:x"),
        ("tags:urn:li:tag:P|", "PII", "tags:PII"),
        ("owners:|", "jdoe", "owners:urn:li:corpuser:jdoe"),
        ("removed:t|", "true", "removed:true"),
        ("type:|", "chart", "type:chart"),
        ("type:|", "dataset", "type:dataset"),
        ("entityType:corpu|", "person", "entityType:corpuser"),
        ("type:pers|", "person", "type:corpuser"),
    ],
)
def test_a_value_is_put_in_the_place_of_what_was_typed(text: str, label: str, result: str) -> None:
    assert after(text, label) == result


def test_values_that_begin_so_come_before_those_that_hold_it() -> None:
    assert labels("tags:P|", "value") == ["PII", "api"]


def test_booleans_and_entity_types_have_their_words() -> None:
    assert labels("removed:|", "value") == ["true", "false"]
    types = labels("_entityType:|", "value")
    assert types[:2] == ["dataset", "chart"]
    assert "dashboard" in types
    assert next(one.count for one in offered("_entityType:|")) == 38


def test_after_a_term_come_the_words_that_join() -> None:
    assert labels("tags:PII |", "keyword") == ["AND", "OR", "NOT"]
    assert labels("tags:PII o|", "keyword") == ["OR"]
    assert after("tags:PII a|", "AND") == "tags:PII AND "
    assert after('tags:"My tag"|', "OR") == 'tags:"My tag" OR '
    assert after("(tags:PII)|", "AND") == "(tags:PII) AND "
    assert labels("tags:PII AND n|", "keyword") == ["NOT"]
    assert labels("no|", "keyword") == ["NOT"]
    assert after("tags:PII AND|", "owners") == "tags:PII AND owners:"


def test_operators_fit_the_field() -> None:
    assert ">=" in labels("rowCount|", "operator")
    assert ">=" not in labels("tags |", "operator")
    assert after("tags|", "IS NULL") == "tags IS NULL"
    assert after("tags I|", "IS NULL") == "tags IS NULL"
    assert after("tags !|", "!=") == "tags !="
    assert labels("nothing |", "operator") == []


def test_nothing_is_offered_behind_a_mistake() -> None:
    for text in ("tags:a,b |", 'tags:"a" "b" n|', "name:a) ta|", "tags>|"):
        assert offered(text) == ()


def test_facets_of_a_foreign_model_are_offered_in_quotes() -> None:
    foreign = Facet("zscore", (Value("high", "high", 1),))
    found = complete("zs", 2, REGISTRY, (foreign,))[0]
    assert found.text == '"zscore":'
    (value,) = complete('"zscore":', 9, REGISTRY, (foreign,))
    assert value.applied_to('"zscore":') == '"zscore":high'


PIECES = st.sampled_from([
    "name", "tags:", "tags", "PII", "AND", "or ", "NOT ", "(", ")", ",", '"', "'", "*", "..",
    "-", ">", " ", "IS", " IN (", "my", "urn:li:dataset:(", "removed:", "t", "rowCount", "10",
    "owners", "name:a ", 'tags:"My'"]",
])  # fmt: skip


def mistake(text: Any) -> Any:
    try:
        read_filter(text, REGISTRY)
    except FilterSyntax as error:
        return error.position
    return None


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join), st.integers(0, 60))
def test_no_completion_makes_a_mistake_before_the_cursor(text: Any, cursor: Any) -> None:
    cursor = min(cursor, len(text))
    before = mistake(text[:cursor])
    for one in complete(text, cursor, REGISTRY, FACETS, limit=12):
        assert one.start <= cursor <= one.end
        # What was wrong already stays so.
        assume(before is None or before >= min(one.start, cursor) or before == cursor)
        wrong = mistake(one.applied_to(text))
        assert wrong is None or wrong >= one.start + len(one.text.rstrip())


def test_states_and_what_urns_are_called_are_offered() -> None:
    nina, guid = "urn:li:corpuser:nw", "urn:li:corpGroup:0123456789abcdef0123456789abcdef"
    names = {nina: "Nina Weber", guid: "Nice People"}
    found = complete("owner:ni", 8, REGISTRY, (), names)
    assert [(one.text, one.label) for one in found] == [
        ("nw", "Nina Weber"),
        ('"Nice People"', "Nice People"),
    ]
    group = {"urn:li:glossaryNode:Sales": "Sales"}
    assert [one.text for one in complete("term:sal", 8, REGISTRY, (), group)] == ["Sales/*"]
    domain = {"urn:li:domain:0123456789abcdef0123456789abcdef": "Human Resources"}
    whole = complete("domain:hum", 10, REGISTRY, (), domain)
    assert [one.text for one in whole] == ['"Human Resources"', '"Human Resources"/*']
    assert [one.text for one in complete("is:un", 5, REGISTRY)] == ["undocumented", "unowned"]
    assert complete("us", 2, REGISTRY)[0].text == "use:"
    begun = value_at("tags:PII owner:ni", 17, REGISTRY)
    assert begun is not None
    assert begun[1] == "ni"
    empty = value_at("tags:PII owner:", 15, REGISTRY)
    assert empty is not None
    assert empty[0].name == "owners"
    assert value_at("tags", 4, REGISTRY) is None
