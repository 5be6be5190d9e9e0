"""Two values of an aspect compared place by place."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.client.records import ValueChange, difference
from explorer.metadata.patch import ValueShape
from explorer.metadata.registry import load_registry, read_type


def places(before: Any, after: Any, **more: Any) -> Any:
    return [(change.place, change.kind) for change in difference(before, after, **more)]


def columns(**texts: Any) -> Any:
    return {"fields": [{"fieldPath": path, "description": text} for path, text in texts.items()]}


def test_fields_are_added_removed_and_changed_by_name() -> None:
    changes = difference({"a": 1, "b": "x", "c": {"d": 1}}, {"b": "y", "c": {"d": 1}, "e": [1]})
    assert changes == (
        ValueChange(("a",), "removed", before=1),
        ValueChange(("b",), "changed", "x", "y"),
        ValueChange(("e",), "added", after=[1]),
    )


def test_columns_are_matched_by_their_path_and_moving_one_is_no_change() -> None:
    before, after = columns(id="The id.", name="n"), columns(name="n", id="The key.", new="x")
    assert places(before, after) == [
        ("/fields/id/description", "changed"),
        ("/fields/new", "added"),
    ]
    assert places(before, columns(name="n", id="The id.")) == []


def test_an_owner_is_told_by_who_and_in_which_role() -> None:
    one = {"owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}]}
    two = {"owners": [{"owner": "urn:li:corpuser:a", "type": "PRODUCER"}]}
    assert places(one, two) == [
        ("/owners/urn:li:corpuser:a/PRODUCER", "added"),
        ("/owners/urn:li:corpuser:a/DATAOWNER", "removed"),
    ]


@pytest.mark.parametrize(
    ("array", "key"),
    [
        ("tags", "tag"),
        ("terms", "urn"),
        ("elements", "url"),
        ("upstreams", "dataset"),
        ("inputEdges", "destinationUrn"),
        ("properties", "propertyUrn"),
    ],
)
def test_what_tells_elements_apart_is_known(array: str, key: str) -> None:
    before = {array: [{key: "u:1", "note": "x"}, {key: "u:2", "note": "y"}]}
    after = {array: [{key: "u:2", "note": "z"}, {key: "u:1", "note": "x"}]}
    assert places(before, after) == [(f"/{array}/u:2/note", "changed")]


def test_every_key_by_which_a_patch_addresses_an_array_is_one_here() -> None:
    registry = load_registry()
    shape = ValueShape(registry, {}, lambda _name: {}, generic=False)
    seen = set()
    for record in registry.records.values():
        for name, field in record.fields.items():
            if read_type(field.base)[0] != "array":
                continue
            keys = shape.keys(field.base, (name,))
            if not keys or keys in seen:
                continue
            seen.add(keys)
            elements = [{key: f"{key}-{at}" for key in keys} for at in (1, 2)]
            changed = [elements[1], {**elements[0], "note": 1}]
            told = "/".join(elements[0][key] for key in keys)
            assert places({name: elements}, {name: changed}) == [(f"/{name}/{told}/note", "added")]
    assert len(seen) > 6


def test_keys_may_be_named_for_an_array_of_ones_own() -> None:
    before = {"rules": [{"no": 1, "text": "a"}, {"no": 2, "text": "b"}]}
    after = {"rules": [{"no": 2, "text": "c"}, {"no": 1, "text": "a"}]}
    assert places(before, after, keys={"rules": ["no"]}) == [("/rules/2/text", "changed")]


def test_texts_in_a_list_come_and_go_by_themselves() -> None:
    changes = difference({"paths": ["/a", "/b", "/b"]}, {"paths": ["/b", "/c"]})
    assert [(change.place, change.kind) for change in changes] == [
        ("/paths/~1b", "removed"),
        ("/paths/~1c", "added"),
        ("/paths/~1a", "removed"),
    ]
    assert places({"paths": ["/a", "/b"]}, {"paths": ["/b", "/a"]}) == []


def test_elements_that_nothing_tells_apart_are_matched_by_what_they_say() -> None:
    before = {"lineages": [{"up": ["a"]}, {"up": ["b"]}]}
    after = {"lineages": [{"up": ["b"]}, {"up": ["c"]}, {"up": ["d"]}]}
    assert places(before, after) == [
        ("/lineages/-/up/c", "added"),
        ("/lineages/-/up/a", "removed"),
        ("/lineages/-", "added"),
    ]
    assert places(before, {"lineages": [{"up": ["b"]}, {"up": ["a"]}]}) == []
    assert [change.after for change in difference({"l": [[1]]}, {"l": [[1], [2]]})] == [[2]]


def test_a_key_that_occurs_twice_loses_no_element() -> None:
    before = {"elements": [{"url": "u", "note": 1}, {"url": "u", "note": 2}]}
    after = {"elements": [{"url": "u", "note": 2}, {"url": "u", "note": 3}]}
    assert difference(before, after) == (ValueChange(("elements", "u", "note"), "changed", 1, 3),)


def test_a_null_is_nothing_and_a_boolean_no_number() -> None:
    assert places({"a": None}, {}) == []
    assert places({"a": True}, {"a": 1}) == [("/a", "changed")]
    assert places({"a": {"b": 1}}, {"a": [1]}) == [("/a", "changed")]


def test_from_nothing_everything_is_added() -> None:
    assert places(None, {"a": 1, "b": {"c": 2}}) == [("/a", "added"), ("/b", "added")]
    assert places({"a": 1}, None) == [("/a", "removed")]
    assert difference(None, None) == ()


def test_a_long_text_is_told_line_by_line() -> None:
    before = "\n".join(f"line {at}" for at in range(50))
    after = before.replace("line 25", "line five and twenty")
    (change,) = difference({"text": before}, {"text": after})
    assert change.lines(context=1) == (
        "@@ -25,3 +25,3 @@",
        " line 24",
        "-line 25",
        "+line five and twenty",
        " line 26",
    )
    (added,) = difference({}, {"value": {"a": 1}})
    assert added.lines()[1:] == ("+{", '+  "a": 1', "+}")


def nested(depth: Any, leaf: Any) -> Any:
    value = leaf
    for at in range(depth):
        value = {"a": value} if at % 2 else [value]
    return {"root": value}


def test_what_is_nested_very_deeply_is_still_compared() -> None:
    assert difference(nested(900, 1), nested(900, 1)) == ()
    (change,) = difference(nested(900, 1), nested(900, 2))
    assert change.kind == "changed"
    assert change.lines()
    assert len(difference({"a": 2**70}, {"a": 2**70 + 1})) == 1


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["fieldPath", "owner", "type", "tag", "urn", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(["fields", "owners", "a"]), json_values, max_size=3)


@settings(max_examples=100, deadline=None)
@given(documents, documents)
def test_any_two_values_are_compared_the_same_way_each_time(before: Any, after: Any) -> None:
    assert difference(before, before) == ()
    changes = difference(before, after)
    assert changes == difference(before, after)
    back = difference(after, before)
    assert len(back) == len(changes)
    if changes == ():
        assert _said(before) == _said(after)


def _said(value: Any) -> Any:
    """A value without nulls and without order."""
    if isinstance(value, dict):
        return {key: _said(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return sorted(repr(_said(part)) for part in value if part is not None)
    return orjson.dumps(value) if isinstance(value, float) else value
