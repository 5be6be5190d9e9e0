"""A terminal that changes its size while something is looked at."""

import re
from pathlib import Path

import pytest
from textual import events

from explorer.metadata import Urn
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

DAY = re.compile(r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d")
# The scroll bar's ends, beside a text.
_BAR = str.maketrans("", "", "▁▂▃▄▅▆▇█")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


async def test_the_cursor_of_a_chart_stays_on_its_day(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("5")
        await reader.sees("days measured")
        newest = DAY.findall(reader.screen())
        await reader.press("left", "left")
        chosen = DAY.findall(reader.screen())
        assert chosen != newest
        for width in (120, 80):
            await reader.pilot.resize_terminal(width, 30)
            await reader.settle()
            assert DAY.findall(reader.screen()) == chosen


@pytest.mark.nightly
async def test_an_expanded_text_is_wrapped_again_for_the_new_width(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8")
        await reader.sees("aspects")
        await reader.press(*["down"] * 3, "space", *["down"] * 6, "space")
        await reader.sees("│ What counts as revenue:")
        for width in (80, 120):
            await reader.pilot.resize_terminal(width, 30)
            await reader.settle()
            lines = [line for line in reader.screen().splitlines() if "│ " in line]
            assert "│ Orders, **one row an order**" in lines[0]
            assert not [line for line in lines if line.rstrip().endswith("…")], width
        # The cursor is on the text that was expanded.
        await reader.press("space")
        assert "│ " not in reader.screen()


async def test_the_facts_above_a_text_have_the_new_width(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.pilot.resize_terminal(80, 24)
        await reader.press("u", "e")
        await reader.sees("times in 30 days", "deli…")
        await reader.pilot.resize_terminal(120, 36)
        await reader.settle()
        assert "cancelled, shipped" in reader.screen()
        await reader.pilot.resize_terminal(60, 24)
        await reader.settle()
        facts = [line for line in reader.screen().splitlines() if "VARCHAR" in line]
        assert facts[0].rstrip().endswith("…")


async def test_a_preview_with_a_scroll_bar_shows_whole_words_at_every_width(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(80, 24), urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("u", "e")
        await reader.sees("column", "^s save")
        words = [f"{'w' * (at % 7 + 1)}{at}" for at in range(400)]
        reader.app.post_message(events.Paste(" ".join(words)))
        await reader.sees("w399")
        for width in (120, 111, 110):
            await reader.pilot.resize_terminal(width, 36)
            await reader.settle()
            lines = [line for line in reader.screen().splitlines() if line.startswith("│")]
            shown = " ".join(line.split("│")[3] for line in lines).translate(_BAR).split()
            # The end of it, as the cursor is at the end.
            assert shown == words[-len(shown) :], width


async def test_a_preview_with_less_room_shows_the_part_that_is_written(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("u", "e")
        await reader.sees("column", "^s save")
        lines = "\n\n".join(f"line {at}" for at in range(12))
        reader.app.post_message(events.Paste(lines))
        await reader.sees("draft saved")
        assert reader.screen().count("line 11") == 2
        await reader.pilot.resize_terminal(120, 18)
        await reader.settle()
        assert reader.screen().count("line 11") == 2
        assert "line 1 " not in reader.screen()


@pytest.mark.nightly
async def test_the_start_and_the_end_of_a_text_and_its_preview_have_keys_in_a_narrow_terminal(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(80, 24), urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("u", "e")
        await reader.sees("column", "^s save", "^t preview", "esc close")
        reader.app.post_message(events.Paste("\n".join(f"line {at}" for at in range(40))))
        await reader.sees("line 39")
        assert "line 0 " not in reader.screen()
        await reader.press("ctrl+home")
        await reader.type("first ")
        await reader.sees("first line 0")
        await reader.press("ctrl+end")
        await reader.type(" last")
        await reader.sees("line 39 last")
        # Beside the text there is the preview, so that the key leads nowhere.
        await reader.pilot.resize_terminal(120, 36)
        await reader.settle()
        assert "^t" not in reader.screen()
