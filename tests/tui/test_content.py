"""A catalog's text on the screen is as wide as it is counted, and what is stored stays as it is."""

import pytest
from rich.cells import cell_len
from rich.console import Console

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
