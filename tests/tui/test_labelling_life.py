"""What is deprecated says so, what is hidden says how to bring it back."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog, Catalog
from explorer.client.journal import JOURNAL
from explorer.errors import Unreachable
from explorer.metadata import Urn
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio


@pytest.fixture
def thing(desk: Path) -> Any:
    """Makes a dataset of its own for a test, made from another and read by a third."""

    def make(name: Any) -> Any:
        urn = Urn.dataset("hive", name)
        with Catalog(data_dir=desk) as catalog:
            catalog.put(urn, "datasetProperties", {"name": name})
            catalog.put(
                Urn.dataset("hive", f"{name}_daily"),
                "upstreamLineage",
                {"upstreams": [{"dataset": str(urn), "type": "TRANSFORMED"}]},
            )
        return urn

    return make


def deprecation(directory: Path, urn: Urn) -> Any:
    with Catalog(data_dir=directory) as catalog:
        return catalog.entity(urn).raw("deprecation") or {}


def is_found(directory: Path, urn: Urn) -> Any:
    with Catalog(data_dir=directory) as catalog:
        return urn in [hit.urn for hit in catalog.search(urn.name, entity="dataset")]


@pytest.mark.nightly
async def test_what_is_deprecated_says_why_from_when_and_what_to_use(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("life.old_orders")
    thing("life.new_orders")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview")
        await reader.press("exclamation_mark")
        await reader.sees("Deprecate · life.old_orders", "will show")
        await reader.type("Nobody loads it")
        await reader.press("tab")
        await reader.type("next spring")
        await reader.sees("will show  deprecated · Nobody loads it · “next spring” is not a date")
        await reader.press("ctrl+s")
        await reader.sees("“next spring” is not a date; write it as", "Nobody loads it")
        await reader.press("ctrl+u")
        await reader.type("2027-01-31")
        await reader.press("tab")
        await reader.type("life.new")
        await reader.press("ctrl+s")
        await reader.sees("is not a URN; ^t searches for")
        await reader.press("ctrl+t")
        await reader.sees("deprecated · Nobody loads it · to be removed on 2027-01-31 · use")
        await reader.press("ctrl+s")
        await reader.sees("DEPRECATED", "Nobody loads it", "U undoes it")
        held = deprecation(desk, urn)
        assert held["deprecated"] is True
        assert held["note"] == "Nobody loads it"
        assert held["decommissionTime"] == datetime(2027, 1, 31, tzinfo=UTC).timestamp() * 1000
        assert "life.new_orders" in held["replacement"]
        await reader.press("exclamation_mark")
        await reader.sees("Deprecated · life.old_orders")
        await reader.press("ctrl+s")
        await reader.sees("No changes yet")
        await reader.press("ctrl+r")
        await reader.sees("Remove the deprecation of", "Nobody loads it")
        await reader.press("ctrl+s")
        await reader.sees("is no longer deprecated. U undoes it.")
        assert deprecation(desk, urn)["deprecated"] is False
        await reader.press("U")
        await reader.sees("becomes deprecated “Nobody loads it”")
        await reader.press("ctrl+s")
        await reader.sees("Undone")
        assert deprecation(desk, urn)["note"] == "Nobody loads it"


async def test_what_the_journal_cannot_take_is_saved_and_said_not_to_be_undoable(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("life.unrecorded")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview")
        journal = config.state_dir() / JOURNAL
        journal.unlink()
        journal.mkdir()
        saves = (
            (("t",), "pii", ("enter", "ctrl+s"), "+ PII."),
            (("exclamation_mark",), "Old.", ("ctrl+s",), "is deprecated."),
            (("L", "a"), "https://x.org", ("enter", *"Wiki", "enter"), "Added Wiki."),
            (("escape", "ctrl+x"), "", ("ctrl+s",), "is hidden from search"),
        )
        for begin, text, end, told in saves:
            await reader.press(*begin)
            await reader.type(text)
            await reader.press(*end)
            shown = await reader.sees(told, "It is saved,", "the journal")
            assert "undoes it" not in shown
        journal.rmdir()
        await reader.press("exclamation_mark")
        await reader.type(" Very.")
        await reader.press("ctrl+s")
        await reader.sees("is deprecated. U undoes it.")
    with Catalog(data_dir=desk) as catalog:
        entity = catalog.entity(urn)
        assert ([one.name for one in entity.tags], entity.removed) == (["PII"], True)


async def test_a_deprecation_of_somebody_else_is_shown_and_not_overwritten(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("life.contested")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview")
        await reader.press("exclamation_mark")
        await reader.type("mine")
        with Catalog(data_dir=desk) as catalog:
            catalog.deprecate(urn, "theirs")
        await reader.press("escape")
        await reader.sees("Close without saving")
        await reader.press("escape", "ctrl+s")
        await reader.sees("omebody else changed the deprecation", "somebody wrote  theirs", "mine")
        assert deprecation(desk, urn)["note"] == "theirs"
        await reader.press("ctrl+s")
        await reader.sees("is deprecated. U undoes it.")
    assert deprecation(desk, urn)["note"] == "mine"


async def test_hiding_says_what_happens_and_is_undone_by_the_same_key(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("life.hidden")
    assert is_found(desk, urn)
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview")
        await reader.press("ctrl+x")
        await reader.sees(
            "Hide life.hidden?",
            "1 relationship: feeds 1",
            "1 downstream, the most used: life.hidden_daily",
            "catalog restore 'urn:li:dataset:",
        )
        # Nothing but the one key does it.
        await reader.press("enter", "space", "escape")
        assert is_found(desk, urn)
        await reader.press("ctrl+x")
        await reader.sees("1 downstream")
        await reader.press("ctrl+s")
        await reader.sees("SOFT-DELETED", "^x restores it")
        assert not is_found(desk, urn)
        await reader.press("ctrl+x")
        await reader.sees("Restore life.hidden?", "shown in search and browse again")
        await reader.press("ctrl+s")
        await reader.sees("is shown in search and browse again. U undoes it.")
        assert "SOFT-DELETED" not in reader.screen()
        assert is_found(desk, urn)
        await reader.press("U")
        await reader.sees("status of life.hidden", "becomes hidden")
        await reader.press("ctrl+s")
        await reader.sees("Undone", "SOFT-DELETED")
    assert not is_found(desk, urn)


async def test_hiding_tells_that_nothing_depends_on_it_from_that_this_is_not_known(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    thing("life.lonely")
    daily = Urn.dataset("hive", "life.lonely_daily")
    answering = asyncio.Event()

    class SlowRelationships(AsyncCatalog):
        async def relationships(self, *given: Any, **more: Any) -> Any:
            await answering.wait()
            return await super().relationships(*given, **more)

        async def lineage(self, *given: Any, **more: Any) -> Any:
            raise Unreachable("nobody answers")

    answering.set()
    async with at(None, client=lambda: SlowRelationships(data_dir=desk)) as reader:
        await reader.sees("results")
        answering.clear()
        reader.app._open(daily)
        await reader.until(lambda: "4 Relationships   5 Usage" in reader.screen())
        answering.set()
        await reader.sees("4 Relationships·1")
        answering.clear()
        await reader.pilot.press("ctrl+x")
        await reader.until(lambda: "depends on it     reading …" in reader.screen())
        answering.set()
        await reader.sees("references to it  none", "depends on it     could not be read")
    async with at(desk, urn=daily) as reader:
        await reader.sees("1 Overview")
        await reader.press("ctrl+x")
        await reader.sees("references to it  none", "depends on it     none")
