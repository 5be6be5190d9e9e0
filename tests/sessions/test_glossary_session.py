"""Terms, groups and domains are made, renamed and moved step by step."""

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Conflict, InvalidInput
from explorer.metadata import Urn
from explorer.sessions.glossary import GlossarySession
from explorer.stewardship.glossary import GlossaryChange, GlossaryEntry

pytestmark = pytest.mark.anyio


async def session_of(catalog: AsyncCatalog, urn: Urn | None = None) -> GlossarySession:
    return GlossarySession(catalog, await catalog.entity(urn) if urn is not None else None)


def said(session: GlossarySession) -> str:
    assert session.state.message is not None
    return session.state.message.sentence


async def test_a_term_is_made_in_a_group_and_moved_to_the_top(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    group = (await session.make("glossaryNode", "Money")).urn
    inside = await session_of(catalog, group)
    assert inside.state.makes == ("glossaryTerm", "glossaryNode")
    term = await session_of(catalog, (await inside.make("glossaryTerm", "Net revenue", group)).urn)
    assert term.state.moves_into == "glossaryNode"
    await term.move(None)
    assert said(term) == "Net revenue is at the top level now."
    with pytest.raises(Conflict):
        await term.move(group)
    term = await session_of(catalog, term.state.entity.urn if term.state.entity else None)
    await term.move(group)
    assert said(term) == "Net revenue is in Money now."


async def test_a_name_that_is_taken_is_known_before_it_is_given(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    first = (await session.make("tag", "Taken")).urn
    second = await session_of(catalog, (await session.make("tag", "Other")).urn)
    assert second.state.entity is not None
    assert await second.namesake("tag", "Taken", second.state.entity.urn) == first
    assert await second.namesake("tag", "Other", second.state.entity.urn) is None
    await second.rename("Third")
    assert said(second) == "Other is now called Third."
    with pytest.raises(Conflict, match="is named 'Third' already"):
        await session.make("tag", "Third")
    assert (await session.make("tag", "Third", is_namesake_known=True)).what == "entity"


async def test_what_is_not_possible_says_why(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    assert session.state.actions["make"].is_possible
    with pytest.raises(InvalidInput, match="are renamed and moved"):
        await session.rename("x")
    tag = await session_of(catalog, (await session.make("tag", "Alone")).urn)
    assert tag.state.actions["move"].why_not == "A tag is in nothing."


async def test_a_file_is_written_and_what_cannot_be_is_told(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    costs = GlossaryEntry(Urn.of("glossaryNode", "Costs"), "Costs", "All that is spent.")
    lost = GlossaryEntry(
        Urn.of("glossaryTerm", "Lost"), "Lost", parent="urn:li:glossaryNode:Nowhere"
    )
    missing = GlossaryChange(lost, "name", "Found", "Lost")
    outcome = await session.import_changes([GlossaryChange(costs, "new", "", "Costs"), missing])
    assert said(session) == "1 edit made."
    assert [edit.urn for edit in outcome.edits] == [costs.urn]
    assert [change for change, _ in outcome.failed] == [missing]
    assert (await catalog.entity(costs.urn)).description == "All that is spent."
