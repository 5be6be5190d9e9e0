"""Tags, terms, owners and the domain are chosen and written, and what is refused is not lost."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Urn
from explorer.sessions.labels import LabelSession
from tests.conftest import schema_of
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

PAYMENTS = Urn.dataset("snowflake", "analytics.marts.fct_payments")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


@pytest.fixture
def thing(desk: Path) -> Any:
    """Makes a dataset of its own for a test."""

    def make(name: Any) -> Any:
        urn = Urn.dataset("hive", name)
        with Catalog(data_dir=desk) as catalog:
            catalog.put(urn, "datasetProperties", {"name": name})
            catalog.put(urn, "globalTags", {"tags": [{"tag": "urn:li:tag:Legacy"}]})
        return urn

    return make


def read(directory: Path, urn: str | Urn) -> Any:
    with Catalog(data_dir=directory) as catalog:
        return catalog.entity(urn)


def names(urns: Any) -> Any:
    return [urn.name for urn in urns]


@contextmanager
def somebody_else(directory: Path) -> Iterator[Any]:
    with Catalog(data_dir=directory) as catalog:
        yield catalog


async def test_tags_are_typed_put_on_taken_off_and_taken_back(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.tagged")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        # What is there comes first, then the most used.
        shown = await reader.sees("Tags of labels.tagged", "● Legacy", "○ CDC", "No changes yet")
        assert shown.index("● Legacy") < shown.index("○ CDC")
        # At once, as fast fingers do.
        await reader.pilot.press(*"pii", "enter")
        await reader.sees("+ PII", "on ")
        await reader.type("legacy")
        await reader.press("space")
        await reader.sees("legacy ")
        await reader.press("backspace", "enter")
        await reader.sees("+ PII  − Legacy")
        assert names(read(desk, urn).tags) == ["Legacy"]
        await reader.press("ctrl+s")
        await reader.sees("Tags of labels.tagged: + PII  − Legacy. U undoes it.", "tags PII")
        assert names(read(desk, urn).tags) == ["PII"]
        # All that the save did, at once.
        await reader.press("U")
        await reader.sees("Undo the last save?", "tags of labels.tagged", "+ Legacy − PII")
        await reader.press("ctrl+s")
        await reader.sees("Undone: tags of labels.tagged. ^y redoes it.")
        assert names(read(desk, urn).tags) == ["Legacy"]
        await reader.press("ctrl+z")
        await reader.sees("Nothing left to undo")
        await reader.press("ctrl+y")
        await reader.sees("Redo the save that was undone last?", "+ PII − Legacy")
        await reader.press("ctrl+s")
        await reader.sees("Redone: tags of labels.tagged. U undoes it.", "tags PII")
        assert names(read(desk, urn).tags) == ["PII"]
        await reader.press("ctrl+y")
        await reader.sees("Nothing to redo")


async def test_a_save_of_an_earlier_run_is_undone_and_redone_from_any_page(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn, tag = thing("labels.earlier"), "urn:li:tag:made for undo"
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("made for undo")
        await reader.press("enter")
        await reader.sees("Create it?")
        await reader.press("ctrl+s")
        await reader.sees("+ made for undo (new)")
        await reader.type("legacy")
        await reader.press("enter", "ctrl+s")
        await reader.sees("+ made for undo  − Legacy. U undoes it")
    with somebody_else(desk) as catalog:
        assert catalog.exists(tag)
    # A new run, on the page of results.
    async with at(desk) as reader:
        await reader.sees("fct_orders")
        await reader.press("ctrl+z")
        await reader.sees(
            "Undo the last save, 2 edits?",
            "tags of labels.earlier",
            "+ Legacy − made for undo",
            "tag made for undo",
            "is removed, unless something else uses it",
        )
        await reader.press("ctrl+s")
        await reader.sees("Undone: tags of labels.earlier and 1 more. ^y redoes it.")
        assert names(read(desk, urn).tags) == ["Legacy"]
        with somebody_else(desk) as catalog:
            assert not catalog.exists(tag)
        await reader.press("ctrl+y")
        await reader.sees(
            "Redo the save that was undone last, 2 edits?", "+ made for undo − Legacy"
        )
        await reader.press("ctrl+s")
        await reader.sees("Redone")
    assert names(read(desk, urn).tags) == ["made for undo"]


async def test_leaving_asks_only_where_something_was_chosen(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.left")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.sees("○ CDC")
        await reader.press("escape")
        assert "No changes yet" not in reader.screen()
        await reader.press("t")
        await reader.sees("● Legacy")
        await reader.press("space", "ctrl+t", "escape")
        await reader.sees("Close without saving these changes?", "− Legacy")
        await reader.press("escape")
        await reader.sees("− Legacy", "Tags of")
        # In the list the letters move, and the space turns.
        await reader.press("tab", "j", "space")
        await reader.sees("+ CDC")
        await reader.press("escape", "delete")
        assert "Tags of" not in reader.screen()
    assert names(read(desk, urn).tags) == ["Legacy"]


async def test_a_tag_that_is_not_there_is_made_after_asking(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.made")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("Closing [b]day")
        await reader.sees("Create tag Closing [b]day")
        await reader.press("enter")
        await reader.sees("There is no tag Closing [b]day. Create it?")
        await reader.press("escape", "enter", "ctrl+s")
        await reader.sees("+ Closing [b]day (new)")
        with somebody_else(desk) as catalog:
            assert not catalog.exists("urn:li:tag:Closing [b]day")
        await reader.press("ctrl+s")
        await reader.sees("tags Legacy, Closing [b]day")
    tag = Urn.parse("urn:li:tag:Closing [b]day")
    assert read(desk, tag).raw("tagProperties")["name"] == "Closing [b]day"
    assert tag in read(desk, urn).tags


async def test_a_column_has_tags_and_terms_of_its_own(desk: Path, at: OpenTerminal) -> None:
    before = read(desk, PAYMENTS)
    path = before.schema.columns[0].path.raw
    async with at(desk, urn=PAYMENTS) as reader:
        await reader.sees("documented")
        await reader.press("t")
        await reader.sees(f"Tags of {path} of fct_payments")
        await reader.type("pii")
        await reader.press("enter", "ctrl+s")
        await reader.sees("U undoes it")
        await reader.press("T")
        await reader.sees(f"Glossary terms of {path} of fct_payments")
        await reader.type("chargeback")
        await reader.press("enter", "ctrl+s")
        await reader.sees("+ Chargeback. U undoes it", "≡Chargeback")
    after = read(desk, PAYMENTS)
    column = after.schema.column(path)
    assert "PII" in names(column.tags)
    assert "Finance.Chargeback" in names(column.terms)
    assert (after.tags, after.terms) == (before.tags, before.terms)


async def test_what_came_in_with_the_schema_cannot_be_taken_off_a_column(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.ingested")
    field = {
        "fieldPath": "mail",
        "nativeDataType": "text",
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
        "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]},
    }
    with somebody_else(desk) as catalog:
        schema = schema_of([field])
        catalog.put(urn, "schemaMetadata", schema)
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("t")
        await reader.sees("◆ PII", "from the ingested schema")
        await reader.press("enter")
        await reader.sees("remove it at the source", "No changes yet")


async def test_owners_are_of_a_kind(desk: Path, at: OpenTerminal, thing: Any) -> None:
    urn = thing("labels.owned")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "nobody")
        await reader.press("O")
        await reader.sees("new owners become technical owner")
        await reader.type("jordan")
        await reader.press("enter")
        await reader.sees("+ Jordan Doe (technical owner)")
        # Of the one under the cursor, and of whoever comes next.
        await reader.press("ctrl+t", "ctrl+t")
        await reader.sees("+ Jordan Doe (data steward)", "new owners become data steward")
        await reader.type("orders and")
        await reader.press("enter")
        await reader.sees("+ Orders and Checkout (data steward)")
        await reader.press("ctrl+s")
        await reader.sees("Jordan Doe", "Orders and Checkout", "U undoes it")
        stored = {(owner.owner, owner.type) for owner in read(desk, urn).owners}
        assert stored == {
            ("urn:li:corpuser:jdoe", "DATA_STEWARD"),
            ("urn:li:corpGroup:team-orders", "DATA_STEWARD"),
        }
        await reader.press("O")
        await reader.sees("● Jordan Doe (data steward)")
        await reader.press("enter", "ctrl+s")
        await reader.sees("− Jordan Doe (data steward). U undoes")
    assert [owner.owner for owner in read(desk, urn).owners] == ["urn:li:corpGroup:team-orders"]


async def test_tags_that_somebody_else_changed_are_shown_before_any_is_written(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.contested")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.sees("● Legacy")
        await reader.type("pii")
        await reader.press("enter")
        await reader.sees("+ PII")
        with somebody_else(desk) as catalog:
            catalog.add_tags(urn, "Finance")
        await reader.press("ctrl+s")
        await reader.sees("tags were changed by somebody else", "+ PII")
        assert names(read(desk, urn).tags) == ["Legacy", "Finance"]
        await reader.press("ctrl+s")
        await reader.sees("U undoes it")
    assert names(read(desk, urn).tags) == ["Legacy", "Finance", "PII"]


async def test_what_the_server_refuses_stays_chosen(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.refused")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("pii")
        await reader.press("enter")
        await reader.sees("+ PII")
        with somebody_else(desk) as catalog:
            catalog.delete(urn)
        await reader.press("ctrl+s")
        await reader.sees("nothing was written", "+ PII", "Tags of labels.refused")


async def test_a_change_that_was_changed_again_is_not_taken_back(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.overtaken")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("pii")
        await reader.press("enter", "ctrl+s")
        await reader.sees("U undoes it")
        with somebody_else(desk) as catalog:
            catalog.remove_tags(urn, "PII")
            catalog.add_tags(urn, "CDC")
        await reader.press("U", "ctrl+s")
        await reader.sees("Somebody else changed it since", "Legacy, urn:li:tag:CDC")
        await reader.press("escape")
        assert names(read(desk, urn).tags) == ["Legacy", "CDC"]


async def test_a_later_text_of_somebody_is_shown_and_only_overwritten_when_told(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.rewritten")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("E")
        await reader.type("mine")
        await reader.press("ctrl+s")
        await reader.sees("Saved")
        with somebody_else(desk) as catalog:
            catalog.describe(urn, "theirs")
        await reader.press("U", "ctrl+s")
        await reader.sees(
            "Somebody else changed it since", "now           theirs", "would become  nothing"
        )
        assert read(desk, urn).edited_description == "theirs"
        await reader.press("ctrl+s")
        await reader.sees("Undone: description of labels.rewritten")
    assert not read(desk, urn).edited_description


async def test_a_description_is_taken_back_as_well(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.described")
    with somebody_else(desk) as catalog:
        catalog.describe(urn, "what it was")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "what it was")
        await reader.press("E")
        await reader.type(" and is")
        await reader.press("ctrl+s")
        await reader.sees("what it was and is", "Saved")
        await reader.press("U")
        await reader.sees("description of labels.described", "becomes “what it was”")
        await reader.press("ctrl+s")
        await reader.sees("Undone")
    assert read(desk, urn).edited_description == "what it was"


async def test_what_others_call_a_tag_is_only_text(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.hostile")
    name = "\x1b]52;c;aGk=\x07[/x] [@click=app.quit]zz\u202ehostile"
    with somebody_else(desk) as catalog:
        catalog.put("urn:li:tag:hostile", "tagProperties", {"name": name, "description": name})
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("hostile")
        await reader.sees("○ ]52;c;aGk=[/x] [@click=app.quit]zzhos…")
        await reader.press("enter")
        await reader.sees("+ ]52;c;aGk=[/x] [@click=app.quit]zzhostile")
        await reader.press("ctrl+s")
        shown = await reader.sees("U undoes it")
        assert "\x1b" not in shown
        assert "\u202e" not in shown


async def test_nothing_is_chosen_where_nothing_is_written(
    sample: Path, monkeypatch: pytest.MonkeyPatch, at: OpenTerminal
) -> None:
    from explorer.client import AsyncCatalog
    from explorer.tui import session

    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        monkeypatch.setattr(session.TerminalSession, "read_only", property(lambda self: True))
        assert isinstance(await reader.app._session.catalog(), AsyncCatalog)
        for key in ("t", "T", "ctrl+t", "m", "O", "D", "exclamation_mark", "ctrl+x", "U"):
            await reader.press(key)
            await reader.sees("Nothing was written: this server is open read-only", "documented")
            await reader.press("home")
            assert "Nothing was written: this server is open read-only" not in reader.screen()


async def test_leaving_while_it_is_written_is_no_trouble(
    desk: Path, at: OpenTerminal, thing: Any
) -> None:
    urn = thing("labels.left")

    class Silent(AsyncCatalog):
        async def add_tags(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(60)

    async with at(desk, client=lambda: Silent(data_dir=desk), urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.sees("○ CDC")
        await reader.type("cdc")
        await reader.press("enter")
        await reader.sees("+ CDC")
        await reader.pilot.press("ctrl+s", "escape", "delete")
        shown = await reader.sees("labels.left", "1 Overview")
        assert "Close without" not in shown
        assert "went wrong" not in shown


async def test_what_was_taken_back_here_is_not_done_again_by_the_command(
    desk: Path, at: OpenTerminal, thing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = thing("labels.both")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.type("pii")
        await reader.press("enter", "ctrl+s")
        await reader.sees("+ PII. U undoes it")
        await reader.press("U", "ctrl+s")
        await reader.sees("Undone")
    command = [sys.executable, "-m", "explorer.cli", "undo", "--data-dir", str(desk)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert "nothing left to undo" in done.stderr, done
    assert names(read(desk, urn).tags) == ["Legacy"]


async def test_what_is_taken_before_it_is_found_is_taken_while_the_next_is_typed(
    desk: Path, at: OpenTerminal, thing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = LabelSession._find

    async def slow(self: LabelSession, text: Any) -> Any:
        await asyncio.sleep(0.3)
        return await find(self, text)

    monkeypatch.setattr(LabelSession, "_find", slow)
    urn = thing("labels.hurried")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Overview", "Legacy")
        await reader.press("t")
        await reader.sees("Tags of")
        await reader.pilot.press(*"pii", "enter", *"certif", "enter", *"nothingso", "enter", *"cdc")
        shown = await reader.sees("+ PII  + Certified", "○ CDC")
        assert "Create it?" not in shown
        await reader.pilot.press("enter", "ctrl+s")
        await reader.sees("U undoes")
    assert {urn.name for urn in read(desk, urn).tags} == {"Legacy", "PII", "Certified", "CDC"}
