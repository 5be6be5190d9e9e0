"""The looks of finding: what was found good, and facets and results where there is little room.

`UPDATE_SCREENS=1 pytest tests/tui/test_find_screens.py` writes the screens anew.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.tui.conftest import Matches, OpenTerminal

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the searches of another."""
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))


async def test_facets_and_results_take_turns_where_there_is_little_room(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(80, 24)) as reader:
        shown = await reader.sees("329 results", "f facets")
        assert "Tagged With" not in shown
        await reader.press("f")
        shown = await reader.sees("Tagged With")
        assert "fct_orders" not in shown
        # Rows that are not shown are not said to be in view.
        said = shown.splitlines()[4]
        assert said.strip() == "329 results"
        await reader.press("slash")
        await reader.type("dim_dates")
        await reader.press("enter")
        assert "Tagged With" not in await reader.sees("Table · snow")
        await reader.press("f")
        await reader.sees("Tagged With")
        await reader.pilot.resize_terminal(120, 24)
        await reader.sees("Tagged With", "Table · snow")
        await reader.pilot.resize_terminal(80, 24)
        assert "Table · snow" not in await reader.sees("Tagged With")
        await reader.press("escape")
        assert "Tagged With" not in await reader.sees("Table · snow")


async def test_only_a_facet_that_is_longer_than_shown_has_the_sign_of_it(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.ask("fct_orders")
        shown = await reader.sees("14 results", "▸ Tagged With 8", "  Platform")
        assert "▾ Platform" not in shown
        await reader.press("enter", "f", "g", "j", "j", "j", "j", "j", "enter")
        await reader.sees("▾ Tagged With 8")


SCREENS = {
    "find-filter": "orders platform:snowflake tags:",
    "find-wrong": "orders platform:snowflake AND nosuch:x",
    "find-syntax": "",
}


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_looks_as_it_was_found_good(
    sample: Path, at: OpenTerminal, name: Any, size: Any, matches: Matches
) -> None:
    async with at(sample, size=size) as reader:
        await reader.sees("entities", "results")
        await reader.ask("orders platform:snowflake")
        await reader.ask(SCREENS[name])
        if not SCREENS[name]:
            reader.box.value = ""
            await reader.press("question_mark")
            await reader.sees("Search syntax", "is:removed" if size[1] > 30 else "Words")
        await reader.settle()
        shown = re.sub(r"(?m) +$", "", reader.screen().split("\n", 1)[1]) + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)
