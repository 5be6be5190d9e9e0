"""A screen may be closed at any moment, above all while it still reads what it shows.

Every key that opens a screen is taken from the table of actions, so a new screen is covered too.
"""

import asyncio
import os
import random
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from textual import events
from textual.keys import key_to_character
from textual.screen import Screen

from explorer.client import AsyncCatalog
from explorer.client.http import HttpTransport
from explorer.metadata import Urn
from explorer.tui import key_queue, session
from explorer.tui.actions import ACTIONS, actions_of
from explorer.tui.screens.editor import EditorScreen
from explorer.tui.widgets.dialogs import DiscardScreen, PromptScreen
from tests.conftest import SampleAt
from tests.tui.conftest import SECONDS, OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
QUITTING = ("quit", "leave_all")
OPENERS = [action.keys[0] for action in actions_of("app") if action.name not in QUITTING]
CLOSERS = sorted(
    {key for action in ACTIONS if action.name in ("close", "leave", "quit") for key in action.keys}
)
KEYS = sorted({key for action in ACTIONS for key in action.keys})
PARTS = 6
# A screen that is closed is gone after fewer turns of the event loop.
TURNS = 200
# For a longer run: CLOSING_KEYS=30000 pytest -m nightly tests/tui/test_closing.py
COUNT = int(os.environ.get("CLOSING_KEYS", "3000"))
SEEDS = 3


class LateService:
    """The real service, whose answers are held until they are released, for 0.2 seconds at most."""

    def __init__(self) -> None:
        self._released = asyncio.Event()

    def hold(self) -> None:
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    async def wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await self._released.wait()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[LateService]:
    """A service that answers late. No error may be told to the reader whose traceback is kept."""
    service = LateService()
    faults: list[str] = []
    send = HttpTransport.send

    async def send_late(self: HttpTransport, request: Any) -> Any:
        answer = await send(self, request)
        await service.wait()
        return answer

    def keep(doing: str) -> str:
        faults.append(f"while {doing}: {traceback.format_exc()}")
        return "its traceback is kept"

    monkeypatch.setattr(HttpTransport, "send", send_late)
    monkeypatch.setattr(session, "_keep_trace", keep)
    # Keys that were meant for what has closed by itself are pressed nonetheless.
    monkeypatch.setattr(key_queue, "_DROPPED_SECONDS", 0)
    yield service
    assert not faults, "\n".join(faults)


def send(reader: Reader, key: str) -> None:
    """Press a key without waiting for what it does."""
    reader.app.post_message(events.Key(key, key_to_character(key)))


def has_quit(reader: Reader) -> bool:
    """Return whether the program ends or has ended."""
    return reader.app._exit or not reader.app.is_running


async def close_all(reader: Reader) -> None:
    """Leave every screen that lies over the page."""
    deadline = time.monotonic() + SECONDS
    while not has_quit(reader) and len(reader.app.screen_stack) > 1:
        assert time.monotonic() < deadline, reader.screen()
        send(reader, "delete" if isinstance(reader.app.screen, DiscardScreen) else "escape")
        await asyncio.sleep(0.01)


Moment: TypeAlias = Callable[[Screen[Any]], bool]


def has_no_widgets(screen: Screen[Any]) -> bool:
    """Return whether the widgets of a screen are gone, a moment before the screen is."""
    return not screen.children


def is_not_shown(screen: Screen[Any]) -> bool:
    """Return whether a screen was closed, before its widgets are gone."""
    return screen not in screen.app.screen_stack


async def wait_for(has_come: Moment, screen: Screen[Any]) -> None:
    """Wait for a moment in the end of a screen, for some turns of the event loop at most."""
    for _ in range(TURNS):
        if has_come(screen):
            break
        await asyncio.sleep(0)


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_screen_may_be_closed_while_it_reads(
    sample: Path, at: OpenTerminal, service: LateService, part: int
) -> None:
    openers = OPENERS[part::PARTS]
    async with at(sample, urn=ORDERS) as reader:
        app = reader.app
        for opener in openers:
            moments: dict[str, Moment] = {
                "escape": has_no_widgets,
                "q": is_not_shown,
                opener: has_no_widgets,
            }
            for closer, has_come in moments.items():
                service.hold()
                send(reader, opener)
                await asyncio.sleep(0.03)
                screen = app.screen
                # On the page itself it would quit.
                if closer != "q" or len(app.screen_stack) > 1:
                    send(reader, closer)
                await wait_for(has_come, screen)
                service.release()
                await close_all(reader)
        service.hold()
        send(reader, openers[0])
        await asyncio.sleep(0.03)
        send(reader, "ctrl+q")
        service.release()
        await reader.until(lambda: has_quit(reader))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_any_keys_may_be_pressed_at_any_pace(
    sample_at: SampleAt,
    at: OpenTerminal,
    service: LateService,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What is written to files stays here.
    monkeypatch.chdir(tmp_path)
    chance = random.Random(seed)
    pressed: list[str] = []
    with sample_at(tmp_path / "catalog") as directory:
        while len(pressed) < COUNT // SEEDS:
            async with at(directory, urn=ORDERS) as reader:
                while len(pressed) < COUNT // SEEDS and not has_quit(reader):
                    key = chance.choice(chance.choice((OPENERS, CLOSERS, KEYS)))
                    pressed.append(key)
                    screen = reader.app.screen
                    send(reader, key)
                    if chance.random() < 0.5:
                        await wait_for(has_no_widgets, screen)
                        service.release()
                    else:
                        service.hold()
                    await asyncio.sleep(chance.choice((0, 0.02, chance.uniform(0, 0.2))))


async def test_a_screen_is_closed_once(sample: Path, at: OpenTerminal) -> None:
    answers: list[str | None] = []
    async with at(sample) as reader:
        below, asked = PromptScreen("Below", ""), PromptScreen("Above", "")
        reader.app.push_screen(below)
        reader.app.push_screen(asked, answers.append)
        await reader.settle()
        asked.dismiss("first")
        asked.dismiss("second")
        await reader.settle()
        assert answers == ["first"]
        assert reader.app.screen is below


async def test_an_editor_that_saves_below_the_help_closes_after_it(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, describe = asyncio.Event(), AsyncCatalog.describe

    async def describe_late(self: AsyncCatalog, *given: Any, **options: Any) -> Any:
        await gate.wait()
        return await describe(self, *given, **options)

    monkeypatch.setattr(AsyncCatalog, "describe", describe_late)
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("E")
        await reader.type("Orders, again.")
        await reader.pilot.press("ctrl+s")
        await reader.pilot.press("f1")
        await reader.sees("Keys")
        gate.set()
        await reader.settle()
        await reader.sees("Keys")
        await reader.press("escape")
        await reader.sees("Saved")
        assert not isinstance(reader.app.screen, EditorScreen)
        assert len(reader.app.screen_stack) == 1
