"""What is read late comes once, for who still waits for it, and says what went wrong."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual import events

from explorer.client import AsyncCatalog
from explorer.metadata import Urn
from explorer.sessions import lineage
from explorer.tui import app, key_queue
from explorer.tui.key_queue import start_worker
from explorer.tui.screens import overview, tabs
from explorer.tui.screens.browse import BrowseTree
from explorer.tui.screens.lineage_map import LineageMap
from explorer.tui.screens.tabs import LazyHistoryTab
from tests.tui.conftest import OpenTerminal, Reader, SlowCatalog

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What is read late is read when this is set."""
    let = threading.Event()

    def read_when_let(module: Any) -> Any:
        assert let.wait(120)
        return import_module(module)

    monkeypatch.setattr(tabs, "import_module", read_when_let)
    yield let
    let.set()


async def turn(reader: Reader, times: int = 20) -> None:
    """Let the program go on for a moment, whatever is under way."""
    for _ in range(times):
        await asyncio.sleep(0.01)
        await reader.pilot.pause()


async def test_who_went_elsewhere_by_mouse_is_not_called_back_by_a_tab(
    sample: Path, at: OpenTerminal, disk: Any
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.pilot.press("8")
        await turn(reader)
        await reader.pilot.click(BrowseTree, offset=(5, 6))
        await turn(reader)
        there = reader.app.focused
        assert reader.app.query_one(BrowseTree).has_focus_within
        disk.set()
        await reader.sees("aspects ·")
        assert reader.app.focused is there


async def test_a_tab_that_is_gone_to_again_while_it_is_made_is_one(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        tab = reader.app.query_one(LazyHistoryTab)
        mount = tab.mount

        def mount_and_go_there_again(*widgets: Any) -> Any:
            asyncio.get_running_loop().call_soon(tab.focus_content)
            return mount(*widgets)

        monkeypatch.setattr(tab, "mount", mount_and_go_there_again)
        await reader.press("7")
        await reader.sees("13 aspects")
        assert len(tab.children) == 1


async def test_a_worker_that_is_cancelled_before_it_starts_leaves_nothing_behind(
    sample: Path, at: OpenTerminal
) -> None:
    began = []

    async def do() -> None:
        began.append(True)

    async with at(sample) as reader:
        start_worker(reader.app, do, group="test").cancel()
        await reader.settle()
        gc.collect()
    # A coroutine that is never awaited is a warning, and warnings are errors.
    assert not began


async def test_a_tab_that_cannot_be_read_says_so_and_the_program_goes_on(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def upgraded_meanwhile(module: Any) -> None:
        raise ImportError(module)

    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(tabs, "import_module", upgraded_meanwhile)
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8")
        await reader.sees("Something went wrong while reading the raw of")
        with monkeypatch.context() as upgrade:
            upgrade.setitem(sys.modules, "explorer.tui.screens.editor", None)
            await reader.press("2", "e")
            await reader.sees("Something went wrong while opening the editor")
        await reader.press("e")
        await reader.type("there again")
        await reader.sees("there again")


async def test_names_that_come_while_the_overview_is_not_looked_at_are_told_when_it_is(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    summaries = AsyncCatalog.summaries

    async def when_let(self: AsyncCatalog, *arguments: Any) -> Any:
        await gate.wait()
        return await summaries(self, *arguments)

    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        monkeypatch.setattr(AsyncCatalog, "summaries", when_let)
        await reader.pilot.press("1")
        await turn(reader)
        assert "by Jordan Doe" not in reader.screen()
        await reader.pilot.press("2")
        await turn(reader)
        gate.set()
        await reader.settle()
        await reader.press("1")
        await reader.sees("by Jordan Doe")


async def test_an_overview_left_while_it_is_laid_out_is_there_when_it_is_looked_at_again(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, told = threading.Event(), overview._lay_out_entity

    def when_let(*arguments: Any) -> Any:
        assert gate.wait(120)
        return told(*arguments)

    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        monkeypatch.setattr(overview, "_lay_out_entity", when_let)
        await reader.pilot.press("1")
        await turn(reader)
        await reader.pilot.press("2")
        await turn(reader)
        gate.set()
        await reader.settle()
        await reader.press("1")
        await reader.sees("Description", "by Jordan Doe")


SHIPMENTS = Urn.dataset("snowflake", "analytics.marts.fct_shipments")


async def test_what_is_pressed_while_a_page_is_on_its_way_is_for_that_page(
    sample: Path, at: OpenTerminal, slow: SlowCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may take longer than keys are usually held for a page.
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 5)
    async with at(sample, client=lambda: slow, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("3", "x")
        await reader.sees("what depends on")
        slow.gate.clear()
        reader.app._open(SHIPMENTS)
        for key in ("2", "e", *"bUtqx"):
            reader.app.post_message(events.Key(key, key))
        # Not `turn`, which waits for the keys that are held.
        await asyncio.sleep(0.1)
        slow.gate.set()
        await reader.sees("fct_shipments", "bUtqx", "save")
        await reader.press("escape")


async def test_what_depends_on_it_is_listed_also_where_it_was_asked_before_the_drawing_was_there(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, drawn = asyncio.Event(), asyncio.Event()
    read_graph, read_impact = lineage.read_graph, lineage.read_impact

    async def read_when_asked(*given: Any) -> Any:
        await asked.wait()
        return await read_graph(*given)

    async def read_after_the_drawing(*given: Any, **more: Any) -> Any:
        asked.set()
        await drawn.wait()
        return await read_impact(*given, **more)

    monkeypatch.setattr(lineage, "read_graph", read_when_asked)
    monkeypatch.setattr(lineage, "read_impact", read_after_the_drawing)
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.pilot.press("3", "x")
        await reader.until(lambda: reader.app.query_one(LineageMap).drawing)
        drawn.set()
        await reader.sees("what depends on", "mart_daily_revenue")


async def test_what_was_open_before_is_not_left_under_another_name(
    sample: Path, at: OpenTerminal, slow: SlowCatalog
) -> None:
    async with at(sample, client=lambda: slow, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("3", "x")
        await reader.sees("what depends on", "mart_daily_revenue")
        slow.gate.clear()
        reader.app._open(SHIPMENTS)
        await reader.until(lambda: "mart_daily_revenue" not in reader.screen())
        await reader.pilot.press("enter")
        slow.gate.set()
        await reader.sees("fct_shipments", "documented")


async def test_a_page_that_takes_long_holds_up_one_key_and_not_each(
    sample: Path, at: OpenTerminal, slow: SlowCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 0.5)
    async with at(sample, client=lambda: slow) as reader:
        await reader.sees("results")
        slow.gate.clear()
        reader.app._open(SHIPMENTS)
        for key in ("slash", *"abcdefghij"):
            reader.app.post_message(events.Key(key, None if key == "slash" else key))
        await reader.until(lambda: reader.box.value == "abcdefghij")
        slow.gate.set()
        await reader.settle()


# In a process of its own, in which no module was imported by another test.
EARLY_KEY = """
import asyncio, sys
from pathlib import Path
from textual.events import Key
from textual.worker import WorkerCancelled
from explorer.client import AsyncCatalog
from explorer.tui.app import CatalogApp, _screen_modules

async def press_early(app):
    async with app.run_test(size=(120, 36)) as pilot:
        app.post_message(Key("W", "W"))
        await asyncio.sleep(0.01)
        app.action_folders()
        while not all(name in sys.modules for name in _screen_modules()):
            await asyncio.sleep(0.01)
        await pilot.pause()
        print(type(app.screen).__name__)

asyncio.run(press_early(CatalogApp(lambda: AsyncCatalog(data_dir=Path(sys.argv[1])))))
"""


def test_the_first_key_is_not_lost_and_the_modules_of_later_keys_are_imported_meanwhile(
    sample: Path,
) -> None:
    command = [sys.executable, "-c", EARLY_KEY, str(sample)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout == "WorklistScreen\n", done.stderr


async def test_the_program_is_set_up_once_all_that_keys_open_is_imported(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def import_and_note(module: str) -> Any:
        done.append(module)
        return import_module(module)

    monkeypatch.setattr(app, "import_module", import_and_note)
    async with at(sample, on_mounted=lambda: done.append("set up")) as reader:
        await reader.until(lambda: "set up" in done)
        await reader.settle()
    screens = [name for name in done if name.startswith("explorer.tui.screens.")]
    assert screens
    assert [name for name in done if name in (*screens, "set up")] == [*screens, "set up"]
