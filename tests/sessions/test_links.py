"""The links of an entity are added, changed, removed and brought back, without any front end."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Conflict, InvalidInput
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.links import LinkSession

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


def sentence(session: LinkSession) -> str:
    message = session.state.message
    return message.sentence if message is not None else ""


def shown(session: LinkSession) -> list[tuple[str, str]]:
    return [(link.url, link.description) for link in session.state.rows]


async def stored(catalog: AsyncCatalog, urn: Urn) -> list[tuple[str, str]]:
    return [(link.url, link.description) for link in await catalog.links(urn)]


async def test_links_are_added_changed_removed_and_brought_back(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    session = LinkSession(catalog, urn)
    await session.read()
    assert session.why_not("restore") == "No link was removed."
    assert session.why_not("change") == session.why_not("remove") == "No links yet."
    # What is pressed at once is done one after another.
    await asyncio.gather(session.add("https://a", "One"), session.add("https://b", "Two"))
    assert sentence(session) == "Added Two."
    assert shown(session) == [("https://a", "One"), ("https://b", "Two")]
    await session.change(session.state.rows[0], "https://c", "Three")
    assert sentence(session) == "Changed Three."
    assert shown(session) == [("https://b", "Two"), ("https://c", "Three")]
    assert (session.state.current, session.why_not("remove")) == (session.state.rows[0], "")
    await session.remove("https://b", "Two")
    assert sentence(session) == "Removed Two https://b."
    assert shown(session) == [("https://c", "Three")]
    await session.restore()
    assert sentence(session) == "Restored Two."
    assert session.state.removed == ()
    assert shown(session) == await stored(catalog, urn)
    assert session.state.is_changed


async def test_links_that_somebody_else_changed_are_shown_and_nothing_is_written(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    mine, theirs = LinkSession(catalog, urn, ()), LinkSession(catalog, urn)
    await theirs.add("https://theirs", "Theirs")
    with pytest.raises(Conflict, match="somebody else changed the links"):
        await mine.add("https://mine", "Mine")
    assert shown(mine) == [("https://theirs", "Theirs")] == await stored(catalog, urn)
    assert not mine.state.is_changed
    await mine.add("https://mine", "Mine")
    # Whoever did not read the links leaves all others as they are.
    await theirs.remove("https://theirs")
    assert await stored(catalog, urn) == [("https://mine", "Mine")]
    assert (theirs.state.rows, theirs.state.instead) == ((), theirs.READING)


async def test_where_nothing_is_written_that_is_said(address: str, make_table: MakeTable) -> None:
    urn = make_table({"id": None})
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = LinkSession(catalog, urn)
        with pytest.raises(InvalidInput, match="read-only"):
            await session.add("https://a", "One")
        assert sentence(session) == READ_ONLY
        await session.read()
        assert (session.state.rows, session.state.instead) == ((), "No links yet.")
