"""Tags, glossary terms and groups, domains and data products are made, renamed and moved."""

from pathlib import Path

import pytest
from textual import events

from explorer import config
from explorer.client import AsyncCatalog, Catalog
from explorer.client.journal import JOURNAL
from explorer.metadata import Urn
from explorer.tui.screens.editor import EditorScreen
from explorer.tui.screens.governance import GovernanceScreen, ParentScreen
from explorer.tui.widgets.dialogs import PromptScreen
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio


async def choose(reader: Reader, words: str) -> None:
    """Open the list of what can be made, and do what an entry says."""
    await reader.press("f12")
    await reader.until(lambda: isinstance(reader.app.screen, GovernanceScreen))
    await reader.type(words)
    await reader.press("enter")


async def name(reader: Reader, text: str) -> None:
    """Type a name where one is asked for."""
    await reader.until(lambda: isinstance(reader.app.screen, PromptScreen))
    await reader.type(text)
    await reader.press("enter")


@pytest.mark.nightly
async def test_a_glossary_is_built_renamed_and_moved_without_the_mouse(
    at: OpenTerminal, desk: Path
) -> None:
    async with at(desk) as reader:
        await reader.sees("entities")
        await choose(reader, "new glossary group")
        await name(reader, "Seafaring")
        await reader.until(lambda: isinstance(reader.app.screen, ParentScreen))
        await reader.press("enter")
        await reader.sees("Seafaring is created", "E describes it")
        await choose(reader, "new glossary term")
        await name(reader, "Keel")
        await reader.sees("Keel is created")
        await choose(reader, "rename")
        await name(reader, "Keelson")
        await reader.sees("Keel is now called Keelson")
        await choose(reader, "move to another")
        await reader.until(lambda: isinstance(reader.app.screen, ParentScreen))
        await reader.sees("At the top", "Seafaring")
        await reader.press("enter")
        await reader.sees("Keelson is at the top level now")
        with Catalog(data_dir=desk) as catalog:
            term = catalog.entity("urn:li:glossaryTerm:Seafaring.Keel")
            assert term.name == "Keelson"
            assert "parentNode" not in (term.raw("glossaryTermInfo") or {})
            await reader.press("U")
            await reader.press("ctrl+s")
            await reader.sees("Undone")
            term = catalog.entity("urn:li:glossaryTerm:Seafaring.Keel")
            assert (term.raw("glossaryTermInfo") or {})["parentNode"] == (
                "urn:li:glossaryNode:Seafaring"
            )


@pytest.mark.nightly
async def test_a_tag_and_a_data_product_are_made_where_they_belong(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        catalog.keep_journal(config.state_dir() / JOURNAL)
        domain = catalog.new("domain", "Harbours").urn
        async with at(desk, urn=domain) as reader:
            await reader.sees("Harbours")
            await choose(reader, "new data product in it")
            await name(reader, "Ship list")
            await reader.sees("Ship list is created")
            await choose(reader, "new tag")
            await name(reader, "Nautical")
            await reader.sees("Nautical is created")
            await choose(reader, "new tag")
            await name(reader, "Ashore")
            await reader.sees("Ashore is created")
            await choose(reader, "rename")
            await name(reader, "Nautical")
            await reader.sees("A tag is named Nautical already", "Give it the same name?")
            await reader.press("escape")
            # A name that is taken is told, and nothing is written over.
            await choose(reader, "new tag")
            await name(reader, "Nautical")
            await reader.sees("already exists")
            await choose(reader, "new tag")
            await name(reader, "NAUTICAL")
            await reader.sees("A tag is named NAUTICAL already: urn:li:tag:Nautical")
            await reader.press("escape")
            await reader.until(lambda: not catalog.entity("urn:li:tag:NAUTICAL").exists)
            await choose(reader, "new tag")
            await name(reader, "NAUTICAL")
            await reader.sees("Create another one of this name?")
            await reader.press("ctrl+s")
            await reader.sees("NAUTICAL is created")
        product = catalog.entity("urn:li:dataProduct:Ship-list")
        assert (product.raw("domains") or {})["domains"] == [str(domain)]
        assert catalog.entity("urn:li:tag:Nautical").exists


async def test_what_is_to_be_within_another_is_looked_for_by_name(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        above = catalog.new("domain", "Oceanography").urn
        moved = catalog.new("domain", "Tides").urn
        async with at(desk, urn=moved) as reader:
            await reader.sees("Tides")
            await choose(reader, "move to another domain")
            await reader.until(lambda: isinstance(reader.app.screen, ParentScreen))
            await reader.type("oceanogr")
            await reader.sees("Oceanography")
            await reader.press("enter")
            await reader.sees("Tides is in Oceanography now")
        held = catalog.entity(moved).raw("domainProperties") or {}
        assert Urn.parse(held["parentDomain"]) == above


async def test_where_nothing_may_be_written_nothing_is_offered(
    at: OpenTerminal, sample: Path
) -> None:
    async with at(None, client=lambda: AsyncCatalog(data_dir=sample, read_only=True)) as reader:
        await reader.sees("entities")
        await reader.press("f12")
        assert not isinstance(reader.app.screen, GovernanceScreen)


async def test_what_is_pressed_after_a_name_was_given_is_for_the_page_that_opens(
    at: OpenTerminal, desk: Path
) -> None:
    async with at(desk) as reader:
        await reader.sees("entities")
        await choose(reader, "new tag")
        await reader.type("Ahead")
        for key in ("enter", "E"):
            reader.app.post_message(events.Key(key, None if key == "enter" else key))
        await reader.until(lambda: isinstance(reader.app.screen, EditorScreen))
