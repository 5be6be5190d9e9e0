"""Every size is used: nothing is cut without a mark, and what there is room for is seen."""

from pathlib import Path

import pytest

from explorer.tui.screens.search_results import ResultRows
from explorer.tui.widgets.bars import KeyLine
from tests.tui.conftest import Matches, OpenTerminal, Steady

pytestmark = pytest.mark.anyio

WALK = (
    ("find-wide", ("slash", *"orders", "enter"), "114 results"),
    ("facets-wide", ("f", "down", "down"), "add, remove"),
    ("syntax-wide", ("escape", "slash", "delete", "question_mark"), "Search syntax"),
    ("keys-wide", ("escape", "escape", "question_mark"), "Results  here"),
    ("everything-wide", ("escape", "colon"), "Go to the facets"),
    ("folders-wide", ("escape", "f6", "g", "down", "down", "right", "down"), "▸ snowflake 104"),
)


@pytest.mark.nightly
async def test_a_large_terminal_is_filled(
    sample: Path, at: OpenTerminal, steady: Steady, matches: Matches
) -> None:
    shown = {}
    async with at(sample, size=(200, 60)) as reader:
        await reader.sees("entities", "results")
        for name, keys, words in WALK:
            await reader.press(*keys)
            await reader.sees(words)
            await reader.settle()
            shown[name] = steady(reader.screen()) + "\n"
    for name, text in shown.items():
        matches(f"{name}-200x60", text)


async def test_what_a_line_asks_for_ends_in_a_mark_where_it_is_cut(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(40, 10)) as reader:
        await reader.sees("results", "platform:snowflake,… │")
        # Steps of the introduction are not broken, and a letter is not a key where one types.
        await reader.press("ctrl+g")
        await reader.sees("\n A add your own data   ? all keys")
        await reader.press("slash")
        shown = await reader.sees("⏎ search", "^p commands")
        assert ": commands" not in shown
        await reader.pilot.resize_terminal(120, 36)
        await reader.settle()
        await reader.sees("tags:PII …   ? for syntax")
        assert "/ search" not in reader.screen()
        await reader.press("escape")
        await reader.sees(": commands", "/ search")
        assert reader.app.query_one(KeyLine).size.height == 1


async def test_folders_that_are_cut_keep_their_ends(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, size=(80, 24)) as reader:
        await reader.sees("329 results")
        await reader.press("C")
        await reader.sees("by platform")
        while "by folder" not in reader.screen():
            await reader.press("left")
        await reader.sees("analytics/marts ", "analytics/staging ", "raw/fulfilment ")
        assert "…" in reader.screen()


async def test_a_setting_is_shown_with_all_of_its_value(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.sees("329 results")
        await reader.press("ctrl+k")
        await reader.sees("Keys and settings", 'clipboard = "auto" ', 'start = "find" ')


async def test_the_introduction_leaves_the_results_their_width(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.press("ctrl+g")
        await reader.sees("329 results", "Welcome")
        await reader.settle()
        rows = reader.app.query_one(ResultRows)
        assert rows.region.right == reader.app.size.width
