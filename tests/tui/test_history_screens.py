"""How history and raw aspects look, as text kept beside this test, all moments masked.

`UPDATE_SCREENS=1 pytest tests/tui/test_history_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")

SCREENS = {
    "history": (["7", *["down"] * 4], "~ description"),
    "blame": (["7", "b", "down"], "order_number ·"),
    "raw": (["8", *["down"] * 6, "l", "l", "l"], "▾ tags"),
}


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_looks_as_it_was_found_good(
    sample: Path, at: OpenTerminal, name: Any, size: Any, steady: Steady, matches: Matches
) -> None:
    keys, words = SCREENS[name]
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("entities", "documented")
        for key in keys:
            await reader.press(key)
        await reader.sees(words)
        await reader.settle()
        # Below the tabs, which have tests of their own.
        shown = steady(reader.screen()).partition(" 8 Raw")[2] + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)
