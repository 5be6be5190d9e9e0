"""Terms, groups and domains are made, renamed and moved step by step."""

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Conflict, InvalidInput
from explorer.metadata import Urn
from explorer.sessions.glossary import GlossarySession

pytestmark = pytest.mark.anyio


async def session_of(catalog: AsyncCatalog, urn: Urn | None = None) -> GlossarySession:
    return GlossarySession(catalog, await catalog.entity(urn) if urn is not None else None)


def said(session: GlossarySession) -> str:
    assert session.state.message is not None
    return session.state.message.sentence


async def test_a_term_is_made_in_a_group_and_moved_to_the_top(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    group = await session.make("glossaryNode", "Money")
    inside = await session_of(catalog, group)
    assert inside.state.makes == ("glossaryTerm", "glossaryNode")
    term = await session_of(catalog, await inside.make("glossaryTerm", "Net revenue", group))
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
    first = await session.make("tag", "Taken")
    second = await session_of(catalog, await session.make("tag", "Other"))
    assert second.state.entity is not None
    assert await second.namesake("tag", "Taken", second.state.entity.urn) == first
    assert await second.namesake("tag", "Other", second.state.entity.urn) is None
    await second.rename("Third")
    assert said(second) == "Other is now called Third."


async def test_what_is_not_possible_says_why(catalog: AsyncCatalog) -> None:
    session = await session_of(catalog)
    assert session.state.actions["make"].is_possible
    with pytest.raises(InvalidInput, match="are renamed and moved"):
        await session.rename("x")
    tag = await session_of(catalog, await session.make("tag", "Alone"))
    assert tag.state.actions["move"].why_not == "A tag is in nothing."
