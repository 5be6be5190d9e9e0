"""A terminal that changes its size while something is looked at."""

import re
from pathlib import Path

import pytest

from explorer.metadata import Urn
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

DAY = re.compile(r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d")
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
