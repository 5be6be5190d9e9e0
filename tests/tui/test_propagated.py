"""Texts that were propagated are listed with their sources, refreshed, pinned and taken back."""

from pathlib import Path

import pytest

from explorer import config
from explorer.client import Catalog
from explorer.client.journal import JOURNAL
from explorer.metadata import Urn
from explorer.tui.screens.stewardship import PropagatedScreen
from tests.stewardship.test_provenance import found, propagate, put_table
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import texts_of

pytestmark = pytest.mark.anyio


async def open_list(reader: Reader) -> None:
    await reader.press("P")
    await reader.until(lambda: isinstance(reader.app.screen, PropagatedScreen))


async def test_a_source_that_changed_is_taken_over_one_text_pinned_and_all_taken_back(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    source, made = (str(Urn.dataset("hive", f"carried.{name}")) for name in ("source", "made"))
    with Catalog(data_dir=desk) as catalog:
        catalog.keep_journal(config.state_dir() / JOURNAL)
        put_table(catalog, source, {"id": "The lynx.", "town": "Where it roams."})
        put_table(catalog, made, {"id": "", "town": ""}, source)
        propagate(catalog, made, tmp_path / "a.changes.jsonl")
        found(catalog, 2, urns=[made])
        catalog.describe(source, "The lynx's key.", column="id")
        async with at(desk) as reader:
            await reader.sees("entities")
            await open_list(reader)
            await reader.press("f")
            await reader.type("carried roams")
            await reader.press("enter")
            await reader.sees("1 of", "1 current", "from carried.source.town", "1 hop upstream")
            await reader.press("p")
            await reader.sees("1 pinned", "pinned: it is not refreshed")
            await reader.press("escape")
            await reader.press("f")
            await reader.type("carried outdated")
            await reader.press("enter")
            await reader.sees("1 outdated", "- The lynx.", "+ The lynx's key.")
            await reader.press("R")
            await reader.sees("Write the current texts of their sources to 1 column?")
            await reader.press("ctrl+s")
            await reader.sees("1 refreshed.", "No text matches")
            assert texts_of(catalog, Urn.parse(made))["id"] == "The lynx's key."
            await reader.press("escape")
            await reader.press("f")
            await reader.type("carried")
            await reader.press("enter")
            await reader.sees("1 current", "1 pinned")
            await reader.press("A")
            await reader.sees("Take back the propagated text of 2 columns?")
            await reader.press("ctrl+s")
            await reader.sees("2 taken back.")
        assert texts_of(catalog, Urn.parse(made)) == {"id": "", "town": ""}


async def test_nothing_propagated_is_said_with_how_to_begin(at: OpenTerminal, sample: Path) -> None:
    async with at(sample) as reader:
        await reader.sees("entities")
        await open_list(reader)
        await reader.sees("No propagated texts", "p in the worklist proposes some")
        await reader.press("escape")
        await reader.until(lambda: not isinstance(reader.app.screen, PropagatedScreen))
