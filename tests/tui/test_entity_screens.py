"""How the page of an entity and its columns look, as text kept beside this test.

`UPDATE_SCREENS=1 pytest tests/tui/test_entity_screens.py` writes them anew.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from tests.conftest import nightly
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOPIC = Urn.dataset("kafka", "shop.order-placed.v1")
TEAM = Urn.parse("urn:li:corpGroup:team-analytics")
TERM = Urn.parse("urn:li:glossaryTerm:Classification.PersonalData")
# The sample is measured up to today.
MEASURED = re.compile(r"▒+ *|used # *times")

SCREENS = {
    "group": (TEAM, ["f6", "b"], "members"),
    "term": (TERM, ["f6", "b"], "Definition"),
    "columns-narrowed": (TOPIC, ["f6", "b", "f", *"tag:pii", "enter"], "of 29 columns"),
    "columns-folded": (TOPIC, ["f6", "b", "z"], "▸ shipping_address"),
    "columns-by-use": (ORDERS, ["f6", "b", "s"], "use ↓"),
    "relations-narrowed": (ORDERS, ["f6", "b", "4", "f", *"type:table", "enter"], " of "),
}
SIZES = [(80, 24), (120, 36), *nightly((40, 10))]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36", "40x10"])
async def test_the_screens_look_as_they_were_found_good(
    sample: Path, at: OpenTerminal, size: Any, steady: Steady, matches: Matches
) -> None:
    for name, (urn, keys, words) in SCREENS.items():
        async with at(sample, size=size, urn=urn) as reader:
            await reader.sees("entities" if size[0] > 40 else "catalog")
            await reader.settle()
            await reader.press(*("colon" if key == ":" else key for key in keys))
            await reader.press(*(["j"] if name == "group" else []))
            if size[0] > 40:
                await reader.sees(words)
            await reader.settle()
            # Without the header and the keys, which have tests of their own.
            lines = steady(reader.screen()).splitlines()[1:-1]
        shown = "\n".join(MEASURED.sub("~", one) for one in lines)
        matches(f"entity-{name}-{size[0]}x{size[1]}", shown + "\n")
