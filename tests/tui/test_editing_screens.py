"""How writing looks, as text kept beside this test, all moments masked.

`UPDATE_SCREENS=1 pytest tests/tui/test_editing_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TEXT = "## State of the order\n- `open` not paid\n- **paid** [how](https://pay.example)"

# What is pressed from one screen to the next, and what it shows then.
WALK = {
    "editing": ([], ["f6 same name", "• open", "draft saved"]),
    "editing-difference": (["ctrl+d"], ["+ ## State of the order"]),
    "editing-preview": (["escape", "ctrl+t"], ["• open not paid"]),
    "drafts": (["ctrl+t", "escape", "f4"], ["1 draft, not saved"]),
    "links": (["escape", "L"], ["2 links"]),
    "link": (["a"], ["A new link"]),
}


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
async def test_the_screens_look_as_they_were_found_good(
    sample: Path,
    at: OpenTerminal,
    size: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steady: Steady,
    matches: Matches,
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    shown = {}
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("2", "u", "u", "e")
        await reader.sees("column 5 of 29", "f6 same name")
        await reader.type(TEXT)
        for name, (keys, words) in WALK.items():
            await reader.press(*keys)
            # In a narrow terminal the text and its preview take turns.
            await reader.sees(*(one for one in words if size[0] > 100 or one != "• open"))
            await reader.settle()
            shown[name] = steady(reader.screen()) + "\n"
    for name, screen in shown.items():
        matches(f"{name}-{size[0]}x{size[1]}", screen)
