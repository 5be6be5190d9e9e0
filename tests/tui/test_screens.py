"""How the screens look, as text: kept beside this test, to be read in a review.

`UPDATE_SCREENS=1 pytest tests/tui/test_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

SALES = Urn.dataset("snowflake", "analytics.marts.fct_store_sales")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOPIC = Urn.dataset("kafka", "shop.order-placed.v1")
CHART = Urn.parse("urn:li:chart:(looker,dashboard_elements.104)")

SCREENS = {
    "find": (None, ["slash", *"fct_store_sales"]),
    "columns": (SALES, []),
    "typed-paths": (TOPIC, []),
    "overview": (SALES, ["1"]),
    "lineage": (SALES, ["3", "l"]),
    "lineage-larger": (ORDERS, ["3"]),
    "impact": (SALES, ["3", "x"]),
    "relationships": (SALES, ["4"]),
    "chart": (CHART, []),
    "editor": (SALES, ["e"]),
    "keys": (SALES, ["question_mark"]),
    "browse": (SALES, ["f6", "b", "b", "down", "down", "right"]),
}


# Names in lists are read where a row is painted.
@pytest.mark.paints
@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_looks_as_it_was_found_good(
    sample: Path, at: OpenTerminal, steady: Steady, name: Any, size: Any, matches: Matches
) -> None:
    urn, keys = SCREENS[name]
    async with at(sample, size=size, urn=urn) as reader:
        await reader.sees("entities")
        await reader.settle()
        for key in keys:
            await reader.press("underscore" if key == "_" else key)
        await reader.settle()
        shown = steady(reader.screen()) + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)


def test_ci_writes_no_screens(matches: Matches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPDATE_SCREENS", "1")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="for a person"):
        matches("never-written", "text")
