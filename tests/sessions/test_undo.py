"""Saves are undone and redone after it was said what that does, without any front end."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog, Catalog, TextConflict
from explorer.client.journal import JOURNAL, one_save
from explorer.errors import InvalidInput, NotFound, StorageFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sessions.undo import UndoSession
from tests.conftest import schema_metadata, serving_catalog

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


@pytest.fixture
async def catalog(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncCatalog]:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    async with AsyncCatalog(address) as catalog:
        await catalog.keep_journal(config.state_dir() / JOURNAL)
        yield catalog


@pytest.fixture
def table(address: str, request: pytest.FixtureRequest) -> Urn:
    urn = Urn.dataset("hive", f"undone.{request.node.name}")
    with Catalog(address) as catalog:
        texts = {"id": None, "zip": None}
        catalog.ingest(Proposal(urn, "schemaMetadata", schema_metadata(texts)))
    return urn


def sentence(session: UndoSession) -> str:
    message = session.state.message
    return message.sentence if message is not None else ""


async def texts(catalog: AsyncCatalog, urn: Urn) -> list[str | None]:
    return [column.edited for column in (await catalog.entity(urn)).schema]


async def test_the_last_save_is_shown_undone_and_redone(catalog: AsyncCatalog, table: Urn) -> None:
    with one_save():
        await catalog.describe(table, "One.", column="id")
        await catalog.describe(table, "Two.", column="zip")
    session = UndoSession(catalog)
    question = await session.ask_last()
    assert question is not None
    assert session.state.question is question
    preview = question.preview()
    assert preview.question == "Undo the last save, 2 edits?"
    assert [value.change for value in preview.values] == ["“Two.” → none", "“One.” → none"]
    outcome = await session.undo(question)
    assert outcome is not None
    assert await texts(catalog, table) == ["", ""]
    assert sentence(session) == f"Undone: description of {table.name} · zip and 1 more."
    assert session.state.question is None
    question = await session.ask_last_undo()
    assert question is not None
    assert question.preview().question == "Redo the save that was undone last, 2 edits?"
    await session.undo(question)
    assert await texts(catalog, table) == ["One.", "Two."]
    assert sentence(session).startswith("Redone: ")


async def test_where_nothing_is_left_that_is_said(catalog: AsyncCatalog, address: str) -> None:
    session = UndoSession(catalog)
    assert await session.ask_last() is None
    assert sentence(session) == f"Nothing left to undo at {address}."
    assert await session.ask_last_undo() is None
    assert sentence(session).startswith(f"Nothing to redo at {address}: nothing was undone")


async def test_what_somebody_changed_since_is_asked_about_again(
    catalog: AsyncCatalog, table: Urn, address: str
) -> None:
    await catalog.describe(table, "Mine.", column="id")
    with Catalog(address) as other:
        other.describe(table, "Theirs.", column="id")
    session = UndoSession(catalog)
    question = await session.ask_last()
    assert question is not None
    with pytest.raises(TextConflict):
        await session.undo(question)
    assert await texts(catalog, table) == ["Theirs.", None]
    asked = session.state.question
    assert asked is not None
    assert asked.conflict is not None
    assert (asked.conflict.theirs, asked.conflict.mine) == ("Theirs.", "")
    assert await session.undo(asked, force=True) is not None
    assert await texts(catalog, table) == ["", None]


async def test_a_save_past_undoing_is_told_and_the_one_before_is_asked_about(
    catalog: AsyncCatalog, table: Urn, address: str
) -> None:
    gone = Urn.dataset("hive", "undone.gone")
    await catalog.ingest(Proposal(gone, "status", {"removed": False}))
    await catalog.describe(table, "Mine.", column="id")
    await catalog.describe(gone, "Gone.")
    await catalog.delete(gone)
    session = UndoSession(catalog)
    question = await session.ask_last()
    assert question is not None
    assert await session.undo(question) is None
    assert "The last save is past undoing" in sentence(session)
    question = session.state.question
    assert question is not None
    assert await session.undo(question) is not None
    assert await texts(catalog, table) == ["", None]


async def test_a_chosen_save_past_undoing_is_an_error(catalog: AsyncCatalog) -> None:
    gone = Urn.dataset("hive", "undone.gone_too")
    await catalog.ingest(Proposal(gone, "status", {"removed": False}))
    await catalog.describe(gone, "Gone.")
    save = await catalog.last_save()
    await catalog.delete(gone)
    assert save is not None
    session = UndoSession(catalog)
    with pytest.raises(NotFound):
        await session.undo(await session.ask(save))


async def test_two_sessions_undo_one_save_once(catalog: AsyncCatalog, table: Urn) -> None:
    await catalog.describe(table, "Older.", column="id")
    await catalog.describe(table, "Newer.", column="id")
    first, second = UndoSession(catalog), UndoSession(catalog)
    question = await first.ask_last()
    assert question is not None
    same = await second.ask_last()
    assert same is not None
    ends = await asyncio.gather(first.undo(question), second.undo(same), return_exceptions=True)
    assert not [end for end in ends if isinstance(end, BaseException)]
    assert await texts(catalog, table) == ["Older.", None]


async def test_a_changeset_that_cannot_note_it_is_told_with_what_was_undone(
    catalog: AsyncCatalog, table: Urn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with one_save(approved_by="urn:li:corpuser:nina"):
        await catalog.describe(table, "Mine.", column="id")

    async def refuse(*_: Any) -> int:
        raise StorageFault("the disk is full")

    monkeypatch.setattr("explorer.stewardship.changeset.reopen_changeset_of", refuse)
    session = UndoSession(catalog)
    question = await session.ask_last()
    assert question is not None
    outcome = await session.undo(question)
    assert outcome is not None
    assert isinstance(outcome.fault, StorageFault)
    assert sentence(session).endswith("Its changeset cannot note it: the disk is full.")
    assert await texts(catalog, table) == ["", None]


async def test_a_save_of_another_catalog_is_refused(
    catalog: AsyncCatalog, table: Urn, tmp_path: Path
) -> None:
    await catalog.describe(table, "Mine.", column="id")
    save = await catalog.last_save()
    assert save is not None
    (tmp_path / "another").mkdir()
    with serving_catalog(tmp_path / "another") as address:
        async with AsyncCatalog(address) as another:
            session = UndoSession(another)
            with pytest.raises(InvalidInput, match="cannot be undone here"):
                await session.ask(save)
    assert await texts(catalog, table) == ["Mine.", None]


async def test_where_nothing_can_be_written_nothing_is_asked(address: str) -> None:
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = UndoSession(catalog)
        assert "read-only" in session.state.actions["undo"].why_not
        with pytest.raises(InvalidInput, match="read-only"):
            await session.ask_last()
