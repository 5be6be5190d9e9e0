"""What changes data is confirmed on purpose: no letter does it, and none falls through to it."""

import asyncio
import string
from pathlib import Path
from typing import Any

import pytest
from textual import events

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Urn
from explorer.tui.screens.lifecycle import HideScreen
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

LETTERS = (*string.ascii_letters, *string.digits, "space", "enter")


@pytest.fixture
def thing(desk: Path) -> Any:
    """Makes a dataset of its own for a test, with two texts that people wrote of it."""

    def make(name: Any) -> Any:
        urn = Urn.dataset("hive", f"confirming.{name}")
        with Catalog(data_dir=desk) as catalog:
            catalog.put(urn, "datasetProperties", {"name": name})
            catalog.describe(urn, "the old text")
            catalog.describe(urn, "the new text")
        return urn

    return make


def aspects(desk: Path, urn: Urn) -> Any:
    with Catalog(data_dir=desk) as catalog:
        entity = catalog.entity(urn)
        names = ("status", "deprecation", "editableDatasetProperties", "globalTags")
        return {name: entity.raw(name) for name in names}


@pytest.mark.parametrize(
    ("before", "keys", "asks"),
    [
        ("", ("ctrl+x",), "^s hides it"),
        pytest.param("hidden", ("ctrl+x",), "^s restores it", marks=pytest.mark.nightly),
        ("deprecated", ("exclamation_mark", "ctrl+r"), "Remove the deprecation of"),
        pytest.param(
            "", ("7", "j", "j", "R"), "Restore the old description?", marks=pytest.mark.nightly
        ),
    ],
    ids=["hide", "restore", "lift", "put back"],
)
async def test_no_letter_confirms_what_changes_data(
    desk: Path, at: OpenTerminal, thing: Any, before: str, keys: Any, asks: str
) -> None:
    urn = thing(f"{before}{len(keys)}{keys[0][-1]}")
    with Catalog(data_dir=desk) as catalog:
        if before == "hidden":
            catalog.soft_delete(urn)
        elif before == "deprecated":
            catalog.deprecate(urn, "nobody loads it")
    stood = aspects(desk, urn)
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "the new text")
        for key in keys:
            await reader.press(key)
        await reader.sees(asks)
        screen = reader.app.screen
        await reader.press(*LETTERS)
        assert reader.app.screen is screen
        assert aspects(desk, urn) == stood
        await reader.press("ctrl+s")
        await reader.settle()
    assert aspects(desk, urn) != stood


@pytest.mark.nightly
async def test_no_letter_takes_a_change_back(desk: Path, at: OpenTerminal, thing: Any) -> None:
    urn = thing("taken")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "the new text")
        await reader.press("E", "!", "ctrl+s")
        await reader.sees("the new text!", "Saved")
        stood = aspects(desk, urn)
        # As somebody types who believes to be in the editor still.
        await reader.type("Used by finance")
        await reader.press(*LETTERS)
        assert aspects(desk, urn) == stood
        assert reader.app.is_running


@pytest.mark.nightly
async def test_what_is_typed_when_a_screen_closes_by_itself_does_nothing(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("late")
    gate = asyncio.Event()

    class Late(AsyncCatalog):
        async def soft_delete(self, *given: Any, **named: Any) -> Any:
            await gate.wait()
            return await super().soft_delete(*given, **named)

    async with at(desk, client=lambda: Late(data_dir=desk), urn=urn) as reader:
        await reader.sees("1 Overview", "the new text")
        await reader.press("ctrl+x")
        await reader.sees("references to it  nothing", "^s confirm")
        while "reading …" in reader.screen():
            await reader.settle()
        await reader.pilot.press("ctrl+s")
        # Keys wait a second for what a key leads to, and then go where the reader is.
        for letter in "quarter":
            reader.app.post_message(events.Key(letter, letter))
        await asyncio.sleep(1.5)
        assert isinstance(reader.app.screen, HideScreen)
        gate.set()
        # Looked at in every turn of the loop: the next keys come within a second of its closing.
        while isinstance(reader.app.screen, HideScreen):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        for letter in "q end":
            reader.app.post_message(events.Key("space" if letter == " " else letter, letter))
        await reader.sees("SOFT-DELETED")
        assert reader.app.is_running
        assert len(reader.app.screen_stack) == 1
        # And then keys are keys again.
        await reader.press("t")
        await reader.sees("Tags of")
