"""How labels and the life of an entity look, as text kept beside this test.

`UPDATE_SCREENS=1 pytest tests/tui/test_labelling_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")

SCREENS = {
    "labels": (["ctrl+t", *"pii", "enter", *"certified", "enter", *"fresh"], "Create tag fresh"),
    "labels-owners": (["O"], "owns 42"),
    "labels-column": (["T"], "○ Payment"),
    "deprecation": (
        ["exclamation_mark", *"late", "tab", *"2027-01-31"],
        "to be removed on 2027-01-31",
    ),
    "discard": (
        ["exclamation_mark", *"late", "tab", *"2027", "escape"],
        "The text you typed is lost",
    ),
    "hiding": (["ctrl+x"], "36 more"),
}


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_looks_as_it_was_found_good(
    sample: Path, at: OpenTerminal, name: Any, size: Any, steady: Steady, matches: Matches
) -> None:
    keys, words = SCREENS[name]
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("entities", "documented")
        await reader.press(*keys)
        await reader.sees(words)
        await reader.settle()
        shown = steady(reader.screen()) + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)
