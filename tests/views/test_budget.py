"""A page of a document fits its budget, and all pages together have each entry once."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.views.budget import (
    END,
    LEAST_TOKENS,
    MOST_TOKENS,
    check_budget,
    count_tokens,
    page_of,
    text_pieces,
)

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.just("ü" * 3_000)
budgets = st.integers(LEAST_TOKENS, 4_000)
rows = st.fixed_dictionaries({"text": texts, "uses": st.none() | st.integers(0, 10**9)})


def size_of(page: Any) -> int:
    return count_tokens(orjson.dumps(page))


def pages_of(document: dict[str, Any], tokens: int) -> list[dict[str, Any]]:
    pages = [page_of(document, tokens)]
    while "left" in pages[-1]:
        pages.append(page_of(document, tokens, pages[-1]["left"]["cursor"]))
    return pages


@settings(max_examples=40)
@given(st.lists(rows, max_size=60), st.lists(texts, max_size=5), texts, budgets)
def test_pages_fit_and_have_every_entry_once(
    columns: list[dict[str, Any]], owners: list[str], text: str, tokens: int
) -> None:
    document: dict[str, Any] = {
        "text": text,
        "state": {"owners": owners, "rows": None},
        "columns": [{"path": f"c{at}", **row} for at, row in enumerate(columns)],
    }
    pages = pages_of(document, tokens)
    assert [page for page in pages if size_of(page) > tokens] == []
    paths = [column["path"] for page in pages for column in page.get("columns", ())]
    assert paths == [column["path"] for column in document["columns"]]
    assert sum(len(page.get("state", {}).get("owners", ())) for page in pages) == len(owners)
    assert sum("text" in page for page in pages) == 1


@settings(max_examples=20)
@given(st.text(max_size=20), st.sampled_from((0, 1, 900, 20_000)), budgets)
def test_a_long_text_is_read_whole_in_pages(text: str, times: int, tokens: int) -> None:
    pieces = text_pieces(text * times)
    pages = pages_of({"text": pieces}, tokens)
    assert [piece for page in pages for piece in page["text"]] == pieces


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=9) | st.just("k" * 3_000), texts, max_size=90), budgets)
def test_names_of_any_number_and_length_fit(properties: dict[str, str], tokens: int) -> None:
    document = {f"{at} {name}": {name: text} for at, (name, text) in enumerate(properties.items())}
    pages = pages_of(document, tokens)
    assert [page for page in pages if size_of(page) > tokens] == []
    assert sum(len({*page} - {"left", "cut"}) for page in pages) == len(document)


def test_a_page_says_how_many_are_left_and_which() -> None:
    document = {"columns": [{"path": f"c{at}"} for at in range(2_000)]}
    page = page_of(document, 500, how="call again")
    shown = len(page["columns"])
    assert page["left"]["count"] == {"columns": 2_000 - shown}
    assert page["left"]["how"] == "call again"
    assert 20 < shown < 100


def test_a_cut_text_says_how_much_it_lacks_and_how_it_is_read() -> None:
    page = page_of({"rows": [{"text": "x" * 200_000}]}, 1_000, hint="read it elsewhere")
    assert page["cut"] == "read it elsewhere"
    assert page["rows"][0]["text"].endswith("more characters")
    whole = page_of({"rows": [{"text": "x"}]}, 1_000, hint="read it elsewhere")
    assert "cut" not in whole


def test_characters_that_are_not_shown_are_gone() -> None:
    page = page_of({"\x1b[31mname": "a\x1b]0;title\x07b\u202e", "rows": [{"text": "c\x00d\u200b"}]})
    assert page == {"[31mname": "a]0;titleb", "rows": [{"text": "cd"}]}


def test_what_changed_before_the_cursor_is_told() -> None:
    rows = [{"path": f"c{at}"} for at in range(300)]
    cursor = page_of({"rows": rows}, 500)["left"]["cursor"]
    assert page_of({"rows": [*rows, {"path": "new"}]}, 500, cursor)["rows"]
    with pytest.raises(InvalidInput, match="ask again without a cursor"):
        page_of({"rows": [{"path": "new"}, *rows]}, 500, cursor)
    with pytest.raises(InvalidInput, match="cursor is not of this answer"):
        page_of({"rows": rows}, 500, "anything")


def test_what_is_not_read_yet_is_left() -> None:
    page = page_of({"results": [{"urn": "a"}]}, further=41)
    assert page["left"] == {
        "count": {"results": 41},
        "cursor": END,
        "how": "call again with this cursor",
    }


@pytest.mark.parametrize("tokens", [0, LEAST_TOKENS - 1, MOST_TOKENS + 1])
def test_a_budget_that_no_answer_keeps_is_refused(tokens: int) -> None:
    with pytest.raises(InvalidInput, match="a budget is from"):
        check_budget(tokens)
