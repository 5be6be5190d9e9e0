"""A YAML file keeps every byte of the lines in which nothing was set."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.stewardship.yaml_document import YamlDocument, load

TEXT = """\
# what stands before
version: 2

models:
- name:   orders   # the orders
  description: "old"  # keep me
  columns:
  - name: id
    description: |   # literal
      first

      second


  # a comment between
  - {name: flow, description: 'x', tags: [a,b]}   # flow
  - name: folded
    description: >-
      goes
      on
    tests: [ unique ,not_null ]
  - name: empty
    description:    # to do
  - name: plain
    description: over
      two lines
- name: last
"""
COLUMNS = ("id", "flow", "folded", "empty", "plain")

hostile = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("\n\r\t :#'\"{}[]&*!|>%@`,?-\\\x85\u2028\ufeff\0 "),
    ),
    min_size=1,
)


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that are only in the one and only in the other, in their order."""
    import difflib

    # Ends of lines that are a line's own, unlike what else Python takes for them.
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    gone: list[str] = []
    come: list[str] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            gone += old[a:b]
            come += new[c:d]
    return gone, come


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_only_the_lines_of_what_was_set_change(newline: str, mark: str) -> None:
    text = mark + TEXT.replace("\n", newline)
    document = YamlDocument(text)
    document.set_text(("models", 0), "description", "new")
    document.set_text(("models", 0, "columns", 1), "description", "it's")
    gone, come = changed_lines(text.replace("\r\n", "\n"), document.render().replace("\r\n", "\n"))
    assert gone == [
        '  description: "old"  # keep me',
        "  - {name: flow, description: 'x', tags: [a,b]}   # flow",
    ]
    assert come == [
        '  description: "new"  # keep me',
        "  - {name: flow, description: 'it''s', tags: [a,b]}   # flow",
    ]
    assert document.render().count("\r\n") == (text.count("\r\n"))


def test_nothing_set_is_the_same_text() -> None:
    assert YamlDocument(TEXT).render() == TEXT


@pytest.mark.parametrize(
    ("column", "text", "lines"),
    [
        (0, "one", ["    description: |-   # literal", "      one"]),
        (0, "a\nb\n", ["    description: |   # literal", "      a", "      b"]),
        (2, "short", ["    description: >-", "      short"]),
        (2, "a\nb", ["    description: |-", "      a", "      b"]),
        (3, "done", ["    description: done    # to do"]),
        (3, "yes", ['    description: "yes"    # to do']),
        (3, "a: b", ['    description: "a: b"    # to do']),
        (3, "a\nb", ["    description: |-    # to do", "      a", "      b"]),
        (3, "a \nb", ['    description: "a \\nb"    # to do']),
        (4, "one line", ["    description: one line"]),
    ],
)
def test_a_text_is_written_in_the_manner_of_the_old_one(
    column: int, text: str, lines: list[str]
) -> None:
    document = YamlDocument(TEXT)
    document.set_text(("models", 0, "columns", column), "description", text)
    changed = document.render()
    assert "\n".join(lines) + "\n" in changed
    assert load(changed)["models"][0]["columns"][column]["description"] == text


def test_what_follows_a_literal_stays_with_its_blank_lines() -> None:
    document = YamlDocument(TEXT)
    document.set_text(("models", 0, "columns", 0), "description", "one")
    assert "      one\n\n\n  # a comment between\n" in document.render()


def test_keys_and_items_are_added_in_the_manner_of_the_file() -> None:
    document = YamlDocument(TEXT.rstrip("\n"))
    document.set_text(("models", 1), "description", "All.", after=("name",))
    document.extend(("models", 1), "columns", [{"name": "on", "description": "a\nb"}])
    document.extend(("models", 0, "columns", 1), "tags", ["c, d"])
    document.insert(("models", 0, "columns", 3), "meta", {"owner": "ann"})
    gone, come = changed_lines(TEXT.rstrip("\n"), document.render())
    assert gone == ["  - {name: flow, description: 'x', tags: [a,b]}   # flow"]
    assert come == [
        "  - {name: flow, description: 'x', tags: [a,b, \"c, d\"]}   # flow",
        "    meta:",
        "      owner: ann",
        "  description: All.",
        "  columns:",
        '  - name: "on"',
        "    description: |-",
        "      a",
        "      b",
    ]


@settings(deadline=None)
@given(text=hostile, newline=st.sampled_from(["\n", "\r\n"]), column=st.sampled_from(range(5)))
@example(text="a\n \n", newline="\n", column=0)
@example(text="# no comment", newline="\n", column=3)
@example(text="{{ x }}\r\n", newline="\r\n", column=1)
def test_any_text_reads_back_as_it_was_and_changes_nothing_else(
    text: str, newline: str, column: int
) -> None:
    before = TEXT.replace("\n", newline)
    document = YamlDocument(before)
    document.set_text(("models", 0, "columns", column), "description", text)
    changed = document.render()
    expected = load(before)
    expected["models"][0]["columns"][column]["description"] = text
    assert load(changed) == expected
    # The parser without C, and what stands before and after.
    assert yaml.load(changed, Loader=yaml.SafeLoader) == expected
    name = f"name: {COLUMNS[column]}"
    start = before.index(name)
    assert changed.startswith(before[:start])
    if column < 4:
        following = before.index(f"name: {COLUMNS[column + 1]}")
        assert changed.endswith(before[following:])


@settings(deadline=None)
@given(texts=st.lists(hostile, min_size=5, max_size=5), added=hostile)
def test_many_texts_at_once(texts: Any, added: str) -> None:
    document = YamlDocument(TEXT)
    expected = load(TEXT)
    for at, text in enumerate(texts):
        document.set_text(("models", 0, "columns", at), "description", text)
        expected["models"][0]["columns"][at]["description"] = text
    document.extend(("models", 0), "columns", [{"name": added, "description": added}])
    expected["models"][0]["columns"].append({"name": added, "description": added})
    assert load(document.render()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a: {description: , name: x}\n",
        "a: {description, name: x}\n",
        "a: {}\n",
        "a:\n  description: |+\n    x\n\n\nb: 1\n",
        "a:\n  description: |2\n      x\n  other: 1\n",
        "a:\n  description: &anchor 'x'\n",
        "a:\n  description: !!str x # c\n",
        "a:\n  description: 'x\n\n    y' # c\nb: 1",
        "a:\n  description: |\n    x",
        "a:\n  description:\n\n  # c\n  other: 1\n",
        "a: # c\n  other: &o\n    deep: |+\n      x\n\n",
        "? a\n: description: x\n",
        "{a: {description: x}}",
    ],
)
@pytest.mark.parametrize("value", ["one", "two\nlines", "it's: #odd ", "a\n\n", "{a}, [b]"])
def test_odd_documents(text: str, value: str) -> None:
    for source in (text, text.replace("\n", "\r\n")):
        document = YamlDocument(source)
        document.set_text(("a",), "description", value)
        expected = load(source)
        expected["a"]["description"] = value
        assert load(document.render()) == expected


def test_what_is_shared_is_known() -> None:
    text = """\
base: &base {description: x}
a: {<<: *base}
b: *base
c: &text hello
d: *text
e: {description: &alone y}
"""
    document = YamlDocument(text)
    assert document.is_shared(("base", "description"))
    assert document.is_shared(("b", "description"))
    assert document.is_shared(("c",))
    assert document.is_shared(("d",))
    assert not document.is_shared(("a", "description"))
    assert not document.is_shared(("e", "description"))


@pytest.mark.parametrize("text", ["a: [", "a: !own x", "a: {{ b }}", "a: b: c", "\x07"])
def test_what_is_no_yaml_says_so(text: str) -> None:
    with pytest.raises(InvalidInput, match="not valid YAML"):
        load(text)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(InvalidInput, match="too large"):
        load("\n".join(lines))
    with pytest.raises(InvalidInput, match="too large"):
        load("a: &a [*a]")
