"""How the folders look, as text kept beside this test.

`UPDATE_SCREENS=1 pytest tests/tui/test_browse_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from explorer.tui.screens.browse import BrowseTree, FolderRows
from tests.tui.conftest import Matches, OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
async def test_the_folders_look_as_they_were_found_good(
    sample: Path, at: OpenTerminal, size: Any, matches: Matches
) -> None:
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("fct_orders")
        await reader.press("full_stop")
        await reader.sees("●", "Place 1 of")
        found = folders(reader)
        await reader.press("h", "f")
        await reader.type("fct_o")
        await reader.press("enter")
        await reader.sees("“fct_o”")
        found += f"\n{'─' * 30}\n{folders(reader)}"
    matches(f"folders-{size[0]}x{size[1]}", found)


async def test_folders_that_appear_have_their_final_height_at_once(
    sample: Path, at: OpenTerminal
) -> None:
    """A height that changes under the reader moves the entity that was just revealed."""
    async with at(sample, size=(80, 24), urn=ORDERS) as reader:
        await reader.sees("fct_orders")
        rows = reader.app.query_one(FolderRows)
        heights = []
        reader.app.screen.screen_layout_refresh_signal.subscribe(
            rows, lambda _: heights.append(rows.size.height), immediate=True
        )
        await reader.press("full_stop")
        await reader.sees("●", "Place 1 of")
        assert set(heights) - {0} == {rows.size.height}
        shown_on = next(
            line for line, text in enumerate(folders(reader).splitlines()) if "●" in text
        )
        assert shown_on == rows.size.height // 3


def folders(reader: Reader) -> Any:
    """What of the screen is the folders'."""
    at = reader.app.query_one(BrowseTree).region
    lines = reader.screen().splitlines()[at.y : at.bottom]
    # All but the scroll bar, which is as long as what was read of the folders around.
    return "\n".join(line[at.x : at.right - 1].rstrip() for line in lines) + "\n"
