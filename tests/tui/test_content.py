"""A catalog's text on the screen is as wide as it is counted, and what is stored stays as it is."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from explorer.client.display import block
from explorer.tui.content import markdown, said

JOINED = {
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467": "family \U0001f468\U0001f469\U0001f467",
    "\U0001f3f3\ufe0f\u200d\U0001f308 flag": "\U0001f3f3\U0001f308 flag",
    "love ❤\ufe0f": "love ❤",
    "she \U0001f937\U0001f3fd\u200d♀\ufe0f": "she \U0001f937\U0001f3fd♀",
    "key 1\ufe0f\u20e3": "key 1\u20e3",
}
WRITTEN = ["क्\u200dष", "می\u200cخواهم", "ක්\u200dෂ", "plain \U0001f600"]


@pytest.mark.parametrize("text", JOINED)
def test_joined_emoji_are_shown_as_their_parts(text):
    shown = said(text).plain
    assert shown == JOINED[text]
    parts = sum(cell_len(char) for char in shown.replace("\U0001f3fd", ""))
    assert cell_len(shown) == parts
    console = Console(width=40, file=None, record=True)
    with console.capture() as drawn:
        console.print(markdown(text))
    assert drawn.get().rstrip() == JOINED[text]


@pytest.mark.parametrize("text", WRITTEN)
def test_joiners_between_letters_stay(text):
    assert said(text).plain == text


def _seen(shown, width):
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    console.print(shown)
    return [row.rstrip() for row in console.file.getvalue().rstrip("\n").split("\n")]


# What markdown may be made of, and what looks like it.
PLAIN = (
    "a order fct_orders a-b (see this) 100% 日本 ... it's & a&b x=1 http://x.y/z ! @me $x$ ^ / ; :"
)
MARKS = "_id id_ a__b https://a_b.c 1. 2) - + = -- === &amp; *b* `c` # > [x] <b> | ~~"
PIECES = [
    *PLAIN.split(" "),
    *MARKS.split(" "),
    *[" ", " ", "  ", "\t", "    ", "\n", "\n", "\n\n", "\n \n", "\u00a0", "\u3000"],
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.integers(5, 60))
def test_a_description_without_markdown_looks_as_if_it_had_been_read_as_such(text, width):
    shown = markdown(text)
    if isinstance(shown, Text) and text.strip():
        assert _seen(shown, width) == _seen(Markdown(block(text, 1_000)), width)


def test_sentences_need_no_markdown_and_a_list_does():
    assert isinstance(markdown("One row per order.\nNet of tax & fees.\n\nSee fct_orders."), Text)
    assert isinstance(markdown("- one\n- two"), Markdown)
    assert isinstance(markdown("a _word_"), Markdown)
