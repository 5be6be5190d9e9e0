"""The line of keys offers what works where the reader is, and nothing that does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Unreachable
from explorer.metadata import Urn
from explorer.tui.widgets.bars import KeyLine
from tests.tui.conftest import OpenTerminal, Reader, SlowCatalog

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
CHART = Urn.parse("urn:li:chart:(looker,dashboard_elements.104)")


def last_line(reader: Reader) -> Any:
    return reader.screen().splitlines()[-1]


DIALOGS = {
    "colon": "close",
    "question_mark": "close",
    "f2": "close",
    "ctrl+k": "close",
    "ctrl+o": "cancel",
    "f9": "close",
    "X": "all or shown",
}


@pytest.mark.parametrize("size", [(120, 36), (40, 10)])
async def test_over_a_page_the_keys_told_are_those_of_what_is_over_it(
    sample: Path, at: OpenTerminal, size: Any
) -> None:
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("order_id")
        below = last_line(reader)
        for key, label in DIALOGS.items():
            await reader.press(key)
            told = last_line(reader)
            assert label in told or size == (40, 10), key
            assert told != below, key
            offered = reader.app.screen.query_one(KeyLine)._shown
            active = reader.app.screen.active_bindings.values()
            assert {action.id for _, _, action in offered} <= {one.binding.id for one in active}
            await reader.press("escape")
            assert last_line(reader) == below, key


async def test_the_search_boxs_own_dialogs_tell_their_keys(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.sees("results")
        await reader.press("slash", "f1")
        assert last_line(reader).split() == ["esc", "close"]
        await reader.press("escape")
        await reader.type("orders")
        await reader.press("ctrl+s")
        assert last_line(reader).split() == ["esc", "cancel"]


async def test_what_was_written_to_a_file_is_told_when_the_dialog_is_gone(
    sample: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("order_id")
        await reader.press("f9", "enter")
        assert "Wrote the screenshot to" in await reader.sees("Wrote the screenshot")
        assert "Write to a file" not in reader.screen()


async def test_trying_again_is_offered_only_when_something_was_not_answered(
    sample: Path, at: OpenTerminal
) -> None:
    class Failing(AsyncCatalog):
        """A client whose searches fail for as long as it is told to."""

        fails = False

        async def search(self, *words: Any, **said: Any) -> Any:
            if Failing.fails:
                raise Unreachable("the server hung up")
            return await super().search(*words, **said)

    async with at(None, client=lambda: Failing(data_dir=sample)) as reader:
        await reader.sees("results")
        await reader.press("f")
        assert "search" in last_line(reader)
        assert "try again" not in last_line(reader)
        Failing.fails = True
        await reader.press("down", "enter")
        await reader.sees("r tries again")
        await reader.press("up")
        assert "r try again" in last_line(reader)
        Failing.fails = False
        await reader.press("r")
        await reader.sees("results")
        assert "try again" not in last_line(reader)


async def test_the_keys_of_a_page_are_told_when_it_is_there(
    sample: Path, at: OpenTerminal, slow: SlowCatalog
) -> None:
    async with at(sample, client=lambda: slow) as reader:
        await reader.sees("results")
        slow.gate.clear()
        reader.app._open(CHART)
        for _ in range(20):
            await asyncio.sleep(0.01)
            await reader.pilot.pause()
        assert "edit description" not in last_line(reader)
        slow.gate.set()
        await reader.sees("E edit description")
