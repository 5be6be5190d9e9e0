"""Keys go where the ones before them led, however busy the machine; a widget that is stuck holds up
nobody for long."""

import asyncio
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input

from explorer.client import AsyncCatalog
from explorer.errors import Unreachable
from explorer.metadata import Urn
from explorer.stewardship.drafts import Drafts
from explorer.tui import key_queue
from explorer.tui.key_queue import KeyQueue
from explorer.tui.screens import tabs
from explorer.tui.screens.search import SearchBox
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


async def until(so: Any) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 120
    while not so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def send(app: Any, keys: Any) -> None:
    """Every key at once."""
    for key in keys:
        app.post_message(events.Key({"/": "slash"}.get(key, key), key))


async def test_a_key_that_is_long_under_way_is_waited_for(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a machine so busy that every way takes longer than anybody is patient.
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 0)
    async with at(sample, urn=ORDERS) as reader:
        box = reader.app.query_one(SearchBox)
        for word in ("visit046", "visit047", "fct_orders"):
            reader.app._open(ORDERS)
            await reader.sees("documented")
            send(reader.app, f"/{word}")
            await until(lambda word=word: box.value == word)
            await reader.settle()


class Stuck(Widget, can_focus=True):
    """Hears a key, and is not done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self.done = asyncio.Event()

    async def on_key(self, event: Any) -> None:
        self.heard.append(event.key)
        await self.done.wait()


class Small(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.keys = KeyQueue(self, super().on_event)

    def compose(self) -> Iterator[Any]:
        with Vertical():
            yield Stuck()
            yield Input()

    async def on_event(self, event: Any) -> None:
        if not await self.keys.enqueue(event):
            await super().on_event(event)

    async def on_key_done(self) -> None:
        await self.keys.on_idle()


async def test_a_widget_that_is_stuck_is_not_waited_for_longer_than_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 0.05)
    app = Small()
    async with app.run_test() as pilot:
        stuck = app.query_one(Stuck)
        stuck.focus()
        await pilot.pause()
        send(app, "x")
        await until(lambda: stuck.heard == ["x"])
        app.screen.set_focus(app.query_one(Input))
        send(app, "abc")
        await until(lambda: app.query_one(Input).value == "abc")
        stuck.done.set()
        await pilot.pause()
        # Nothing is under way any more, and nothing is looked after.
        assert app.keys._holding is None


async def test_what_is_held_when_the_program_ends_is_looked_after_no_more() -> None:
    app = Small()
    async with app.run_test() as pilot:
        await pilot.pause()
        send(app, "abc")
        app.exit()
    await app.keys._hold()


async def test_a_key_waits_for_the_editor_to_be_left_while_the_draft_is_kept(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Drafts.keep

    def keep_on_a_slow_disk(self: Drafts, draft: Any) -> Any:
        time.sleep(0.3)
        return keep(self, draft)

    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("kept in time")
        monkeypatch.setattr(Drafts, "keep", keep_on_a_slow_disk)
        for key in ("x", "escape", "f4"):
            reader.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await reader.sees("not saved", "fct_orders", "kept in time")


async def test_spaces_and_joiners_of_all_languages_are_typed_as_they_are(
    sample: Path, at: OpenTerminal
) -> None:
    text = "10\u00a0%, \u0645\u06cc\u200c\u062e, 全角\u3000空, 👩\u200d👧, a\u202fb, so\u00adft"
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        send(reader.app, "/fct\u3000orders")
        box = reader.app.query_one(SearchBox)
        await until(lambda: box.value == "fct\u3000orders")
        reader.app._open(ORDERS)
        await reader.sees("documented")
        await reader.press("2", "e")
        send(reader.app, text)
        await until(lambda: text in getattr(reader.app.focused, "text", ""))


async def test_what_was_typed_for_an_editor_that_does_not_open_is_no_command(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at(sample) as reader:
        await reader.press("W")
        await reader.sees("undocumented")
        before = reader.app.screen

        async def refuse(*_: Any) -> None:
            await asyncio.sleep(0.5)
            raise Unreachable("the server does not answer")

        monkeypatch.setattr(AsyncCatalog, "entity", refuse)
        send(reader.app, ["enter", *"quit"])
        await reader.sees("does not answer")
        await asyncio.sleep(0.3)
        assert reader.app.screen is before


async def test_a_screen_over_the_page_shows_how_long_the_server_takes(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, answers = AsyncCatalog.entity, asyncio.Event()

    async def wait(*given: Any) -> Any:
        await answers.wait()
        return await read(*given)

    async with at(sample) as reader:
        await reader.press("W")
        await reader.sees("undocumented", "⏎ write")
        monkeypatch.setattr(AsyncCatalog, "entity", wait)
        send(reader.app, ["enter"])
        shown = await reader.sees("◌ waiting, 2 s")
        # The keys that fit beside it stay.
        (line,) = (one for one in shown.splitlines() if "◌ waiting" in one)
        assert "⏎ write" in line
        assert line.rstrip().endswith(" s")
        answers.set()
        await reader.sees("left · column")
        assert "◌" not in reader.screen()
        await reader.press("escape")
        await reader.sees("undocumented")
        assert "◌" not in reader.screen()


@pytest.mark.parametrize(
    ("keys", "led_to"),
    [
        ("3x", "what depends on"),
        ("7b", "who described"),
    ],
)
async def test_keys_wait_for_what_is_read_only_when_it_is_wanted(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch, keys: Any, led_to: str
) -> None:
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 0.1)

    def read_from_a_slow_disk(module: Any) -> Any:
        time.sleep(0.5)
        return import_module(module)

    monkeypatch.setattr(tabs, "import_module", read_from_a_slow_disk)
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        send(reader.app, keys)
        await reader.sees(led_to)
