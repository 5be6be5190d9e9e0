"""The journal lists what was saved from this machine, finds a save by words, and undoes it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog, Catalog, KnownCatalog
from explorer.client.journal import JOURNAL, Journal, one_save
from explorer.errors import Forbidden
from explorer.tui import key_queue
from explorer.tui.screens.changes import JournalScreen
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import make_table, texts_of

pytestmark = pytest.mark.anyio


async def open_journal(reader: Reader) -> JournalScreen:
    await reader.press("f8")
    await reader.until(lambda: isinstance(reader.app.screen, JournalScreen))
    screen = reader.app.screen
    assert isinstance(screen, JournalScreen)
    return screen


async def find(reader: Reader, words: str) -> None:
    await reader.press("f")
    await reader.type(words)
    await reader.press("enter")


async def test_a_save_is_found_by_words_and_undone_after_it_is_shown(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "journaled", ["a", "b", "c"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        with one_save(approved_by="urn:li:corpuser:nina"):
            catalog.describe(urn, "Pangolins a day.", column="a")
            catalog.describe(urn, "Pangolins a night.", column="b")
        catalog.describe(urn, "Another text.", column="c")
        catalog.add_link(urn, "https://wiki.example/j", "Manual")
        async with at(desk) as reader:
            await open_journal(reader)
            await reader.sees("Journal", "links of journaled")
            await find(reader, "PANGOLINS night")
            await reader.sees("1 of", "2 descriptions of journaled", "approved by nina")
            await reader.sees("description of journaled · a", "+ Pangolins a day.")
            await reader.press("u")
            await reader.sees("Undo this save, 2 edits?")
            await reader.press("u")
            assert texts_of(catalog, urn)["a"] == "Pangolins a day."
            await reader.press("ctrl+s")
            await reader.sees("Undone:", "undone")
            assert texts_of(catalog, urn) == {"a": "", "b": "", "c": "Another text."}


async def test_a_save_of_another_catalog_that_was_at_this_address_is_not_undone(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "replaced", ["a"])
        written = catalog.describe(urn, "Pelicans.", column="a")
        replaced = KnownCatalog(catalog.address, "another")
        Journal(config.state_dir() / JOURNAL).append(written, replaced)
        async with at(desk) as reader:
            await open_journal(reader)
            await find(reader, "pelicans")
            await reader.sees("description of replaced · a")
            await reader.press("u")
            await reader.sees("cannot be undone here: it was made on another catalog")
            assert isinstance(reader.app.screen, JournalScreen)
        assert texts_of(catalog, urn) == {"a": "Pelicans."}


async def test_looking_for_the_next_save_does_not_end_an_undo_under_way(
    at: OpenTerminal, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_queue, "_MAX_HELD_SECONDS", 0)
    undo_save, begun, answers = AsyncCatalog.undo_save, asyncio.Event(), asyncio.Event()

    async def undo_late(self: AsyncCatalog, *given: Any, **options: Any) -> Any:
        begun.set()
        await answers.wait()
        return await undo_save(self, *given, **options)

    monkeypatch.setattr(AsyncCatalog, "undo_save", undo_late)
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "undone_slowly", ["a"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        catalog.describe(urn, "Written.", column="a")
        async with at(desk) as reader:
            await reader.press("U")
            await reader.sees("Undo the last save?")
            await reader.pilot.press("ctrl+s")
            await begun.wait()
            await reader.pilot.press("U")
            await reader.sees("Undo the last save?")
            answers.set()
            await reader.until(lambda: texts_of(catalog, urn) == {"a": ""})


async def test_an_undo_in_the_journal_is_done_again(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "redone", ["a"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        catalog.undo(catalog.describe(urn, "Okapis.", column="a"))
        catalog.describe(urn, "Numbats.", column="a")
        catalog.undo_save()
        async with at(desk) as reader:
            await open_journal(reader)
            await find(reader, "numbats")
            await reader.sees("undo ")
            await reader.press("u")
            await reader.sees("Redo what this save undid?")
            await reader.press("ctrl+s")
            await reader.until(lambda: texts_of(catalog, urn) == {"a": "Numbats."})


async def test_where_this_run_saved_nothing_what_another_saved_is_shown_with_who_and_asked_about(
    at: OpenTerminal, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "elsewhere_saved", ["a", "b"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        with monkeypatch.context() as another:
            another.setattr("explorer.client.journal.SESSION", "ipykernel_launcher 4711 0a")
            with one_save(approved_by="urn:li:corpuser:nina"):
                catalog.describe(urn, "Tapirs.", column="a")
                catalog.add_tags(urn, "PII")
        async with at(desk) as reader:
            await reader.sees("fct_orders")
            for key, now in (("escape", "Tapirs."), ("ctrl+s", "")):
                await reader.press("U")
                await reader.sees(
                    "Undo the last save, 2 edits?",
                    "ipykernel_launcher (process 4711), approved by nina",
                    *("tags of elsewhere_saved", "− PII"),
                    *("description of elsewhere_saved · a", "“Tapirs.”", "becomes none"),
                )
                await reader.press(key)
                await reader.until(lambda: texts_of(catalog, urn)["a"] == now)  # noqa: B023
            await reader.sees("Undone")
            assert not catalog.entity(urn).tags


async def test_an_undo_that_fails_on_its_way_says_how_much_of_it_is_undone(
    at: OpenTerminal, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "half_undone", ["a", "b"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        with one_save():
            catalog.describe(urn, "Okapis.", column="a")
            catalog.describe(urn, "Numbats.", column="b")
        describe = AsyncCatalog.describe

        async def refuse(self: AsyncCatalog, *given: Any, column: str, **more: Any) -> Any:
            if column == "a":
                raise Forbidden("you may not edit this column")
            return await describe(self, *given, column=column, **more)

        async with at(desk) as reader:
            await open_journal(reader)
            await reader.sees("+ Okapis.")
            monkeypatch.setattr(AsyncCatalog, "describe", refuse)
            await reader.press("u", "ctrl+s")
            await reader.sees("You may not edit this column. 1 of 2 edits of the save were undone.")
        assert texts_of(catalog, urn) == {"a": "Okapis.", "b": ""}


async def test_somebody_elses_later_text_is_not_replaced_without_asking(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog, Catalog(data_dir=desk) as other:
        urn = make_table(catalog, "overwritten", ["a"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        catalog.describe(urn, "Quokkas.", column="a")
        other.describe(urn, "Theirs.", column="a")
        async with at(desk) as reader:
            await open_journal(reader)
            await find(reader, "quokkas")
            await reader.sees("Quokkas.")
            await reader.press("u")
            await reader.sees("Undo this save?")
            await reader.press("ctrl+s")
            await reader.sees("Somebody else changed it since", "Theirs.")
            await reader.press("escape")
            assert texts_of(catalog, urn) == {"a": "Theirs."}


async def test_the_page_of_what_was_written_is_opened(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "revisited", ["a"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        catalog.describe(urn, "Kinkajous.", column="a")
    async with at(desk) as reader:
        await open_journal(reader)
        await find(reader, "kinkajous")
        await reader.sees("1 save")
        await reader.press("o")
        await reader.sees("revisited", "Columns")


@pytest.mark.nightly
async def test_the_keys_of_the_journal_are_told_at_a_question_mark(
    at: OpenTerminal, desk: Path
) -> None:
    async with at(desk) as reader:
        await open_journal(reader)
        await reader.press("question_mark")
        await reader.sees("Keys", "undo")
        await reader.press("escape")
        await reader.until(lambda: isinstance(reader.app.screen, JournalScreen))


async def test_words_typed_while_the_list_is_read_again_narrow_what_comes(
    at: OpenTerminal, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "reread", ["a", "b"])
        catalog.keep_journal(config.state_dir() / JOURNAL)
        catalog.describe(urn, "Axolotls.", column="a")
        async with at(desk) as reader:
            await open_journal(reader)
            await reader.sees("description of reread")
            read, gate = AsyncCatalog.journal, asyncio.Event()

            async def slow(self: AsyncCatalog) -> object:
                await gate.wait()
                return await read(self)

            monkeypatch.setattr(AsyncCatalog, "journal", slow)
            catalog.describe(urn, "Axolotls too.", column="b")
            await reader.pilot.press("r", "f", *"axolotls too")
            await asyncio.sleep(0.3)
            gate.set()
            await reader.sees("1 of 2 saves", "+ Axolotls too.")
