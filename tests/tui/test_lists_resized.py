"""A list that gets more or less room does what that asks for once, its cursor in view."""

from pathlib import Path

import pytest

from explorer.client import AsyncCatalog
from explorer.client.folders import TypesSource
from explorer.tui.screens.browse import FolderRows
from explorer.tui.screens.search_results import ResultRows
from explorer.tui.widgets.rows import Rows
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio


async def test_a_resized_list_follows_its_cursor_once(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[Rows] = []
    follow = Rows._follow

    def noted(self: Rows) -> None:
        followed.append(self)
        follow(self)

    monkeypatch.setattr(Rows, "_follow", noted)
    async with at(sample) as reader:
        await reader.sees("329 results")
        rows = reader.app.screen.query_one(ResultRows)
        tree = reader.app.screen.query(FolderRows).first()
        await reader.press(*["down"] * 12)
        followed.clear()
        await reader.pilot.resize_terminal(120, 16)
        await reader.settle()
        # By the new height, and by nothing else.
        assert [followed.count(one) for one in (rows, tree)] == [1, 1]
        first, last = rows.in_view
        assert first <= rows.cursor <= last
        assert rows.missing() is None
        assert f"· {first + 1}–{last + 1} ·" in reader.screen()


async def test_the_types_are_narrowed_at_hand(sample: Path) -> None:
    async with AsyncCatalog(data_dir=sample) as catalog:
        source = TypesSource()
        known = (await source.read(catalog, 0, 100)).entries
        narrowed = await source.narrow("GLOSS", known).read(catalog, 0, 100)
    assert [one.name for one in narrowed.entries] == ["glossary groups", "glossary terms"]
    assert narrowed.total == 2
