"""A description is written in one step, without any front end."""

from collections.abc import Callable, Mapping

import pytest

from explorer.client import AsyncCatalog, TextConflict
from explorer.errors import ReadOnly
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.descriptions import DescriptionSession
from tests.conftest import schema_metadata

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


def sentence(session: DescriptionSession) -> str:
    message = session.state.message
    return message.sentence if message is not None else ""


async def edited(catalog: AsyncCatalog, urn: Urn, path: str) -> str | None:
    column = (await catalog.entity(urn)).schema.column(path)
    return column.edited if column is not None else None


async def test_it_is_written_and_what_is_there_already_is_not(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    session = DescriptionSession(catalog, urn, "id", "id of orders")
    await session.write("The key.")
    assert sentence(session) == "Described id of orders: none → “The key.”."
    assert await edited(catalog, urn, "id") == "The key."
    edit = await session.write("The key.")
    assert not edit.changed
    assert sentence(session) == "id of orders already has this description; nothing was written."


async def test_a_text_that_was_not_seen_is_seen_before_it_is_replaced(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    mine = DescriptionSession(catalog, urn, "id", base="")
    careless = DescriptionSession(catalog, urn, "id")
    await DescriptionSession(catalog, urn, "id").write("theirs")
    with pytest.raises(TextConflict):
        await mine.write("mine")
    assert (mine.state.base, await edited(catalog, urn, "id")) == ("theirs", "theirs")
    assert "changed by somebody else" in sentence(mine)
    await mine.write("mine")
    assert await edited(catalog, urn, "id") == "mine"
    await careless.write("whatever")
    with pytest.raises(TextConflict):
        await mine.write("mine again")
    await DescriptionSession(catalog, urn, "id", base="of long ago").write("forced", force=True)
    assert await edited(catalog, urn, "id") == "forced"


async def test_what_was_written_before_the_type_of_columns_changed_is_moved_as_one_save(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None, "zip": None})
    for path in ("id", "zip"):
        await catalog.describe(urn, f"Text of {path}.", column=path)
    present = {f"[version=2.0].[type=long].{path}": None for path in ("id", "zip")}
    await catalog.put(urn, "schemaMetadata", schema_metadata(present))
    session = DescriptionSession(catalog, urn)
    edits = await session.carry_over([*present])
    assert sentence(session) == "What was written of 2 columns is moved."
    assert [edit.column for edit in edits] == [*present]
    texts = [column.edited for column in (await catalog.entity(urn)).schema]
    assert texts == ["Text of id.", "Text of zip."]


async def test_where_nothing_is_written_that_is_said(address: str, make_table: MakeTable) -> None:
    urn = make_table({"id": None})
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = DescriptionSession(catalog, urn, "id")
        assert session.state.actions["write"].why_not == READ_ONLY
        with pytest.raises(ReadOnly):
            await session.write("The key.")
        assert await edited(catalog, urn, "id") is None
