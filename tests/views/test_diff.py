"""Texts and values of aspects are compared line by line and word by word."""

import pytest

from explorer.client.records import ValueChange, difference
from explorer.views.diff import DiffLine, summary_of, text_diff, value_diff


def marked(lines: tuple[DiffLine, ...]) -> list[str]:
    return [f"{one.mark}{one.text}" for one in lines]


def changed_words(lines: tuple[DiffLine, ...]) -> list[list[str]]:
    return [[text for text, changed in one.segments() if changed] for one in lines]


def test_words_that_changed_are_known_in_both_lines() -> None:
    lines = text_diff("one\nThe net weight, in pounds.", "one\nThe net weight, in kilograms.")
    assert marked(lines) == [
        " one",
        "-The net weight, in pounds.",
        "+The net weight, in kilograms.",
    ]
    assert changed_words(lines) == [[], ["pounds"], ["kilograms"]]
    for one in lines:
        assert "".join(text for text, _ in one.segments()) == one.text


def test_lines_with_little_in_common_are_two_lines() -> None:
    assert changed_words(text_diff("number of orders", "a wholly other text")) == [[], []]


def test_changed_words_are_where_they_are_after_a_line_is_cleaned() -> None:
    line = text_diff("\x1b[net weight, in pounds", "\x1b[net weight, in kilograms")[1]
    shown = line.cleaned(lambda text: text.replace("\x1b[", ""))
    assert list(shown.segments()) == [("net weight, in ", False), ("kilograms", True)]


@pytest.mark.parametrize(
    ("before", "after", "remark"),
    [
        ("same", "same", "Nothing differs."),
        (None, "", "Nothing differs."),
        ("a\n", "a", "Only the ends of lines differ."),
    ],
)
def test_texts_without_a_different_line_say_so(before: str | None, after: str, remark: str) -> None:
    assert marked(text_diff(before, after)) == [remark]


def test_lines_left_out_leave_a_gap() -> None:
    before = [f"line {at}" for at in range(40)]
    after = ["first", *before[1:-1], "last"]
    kinds = [one.kind for one in text_diff("\n".join(before), "\n".join(after), context=1)]
    assert kinds == ["removed", "added", "same", "gap", "same", "removed", "added"]


def test_a_value_is_compared_place_by_place_and_what_every_write_changes_is_last() -> None:
    changes = difference(
        {"created": {"time": 1}, "fields": [{"fieldPath": "id", "description": "a"}]},
        {"created": {"time": 2}, "fields": [{"fieldPath": "id", "description": "b"}]},
    )
    lines = value_diff(changes)
    assert [one.text for one in lines if one.kind == "place"] == ["fields / id / description"]
    assert [one.text for one in lines if one.kind == "minor"] == ["created / time"]
    assert marked(lines)[:3] == ["~fields / id / description", "-a", "+b"]
    assert marked(value_diff(changes, max_changes=1))[-1] == "… 1 more changes"


def test_long_values_are_cut_and_the_rest_is_counted() -> None:
    change = ValueChange(("text",), "added", after="\n".join("abcdef"))
    assert marked(value_diff([change], max_lines=2))[1:] == ["+a", "+b", "… 4 more lines"]


def test_a_summary_has_three_changes_and_counts_the_others() -> None:
    changes = difference({"a": 1, "b": "x" * 90}, {"a": 2, "b": "y" * 90, "c": "z", "d": True})
    assert summary_of(changes) == "~ a: 1 → 2, ~ b, + c: z, 1 more"
    assert summary_of(difference({}, {"tags": [{"tag": "urn:li:tag:PII"}]})) == "+ tags"
    owners = [{"owner": "urn:li:corpuser:jo", "type": "NONE"}]
    assert summary_of(difference({"owners": []}, {"owners": owners})) == "+ owners/jo/NONE"
