"""Metadata is loaded batch by batch, and what a run loaded is taken out, without any front end."""

from collections.abc import Callable, Mapping

import pytest

from explorer.client import AsyncCatalog
from explorer.client.transport import Retry
from explorer.errors import InvalidInput, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.metadata.files import Refused
from explorer.sessions.base import READ_ONLY
from explorer.sessions.loading import LoadSession, Rejection
from tests.sessions.conftest import Cut

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


def named(name: str) -> Proposal:
    return Proposal(Urn.of("tag", name), "tagProperties", {"name": name})


async def test_what_is_written_and_what_is_refused_is_counted(catalog: AsyncCatalog) -> None:
    reported: list[Rejection] = []
    session = LoadSession(catalog, "tags.json", reported.append)
    wrong = Proposal(Urn.of("tag", "Wrong"), "tagProperties", {"name": 7})
    unread = Refused(2, "is no record", "urn:li:tag:Unread")
    await session.send([(1, named("Loaded one")), (2, wrong), (3, unread)])
    await session.send([(4, named("Loaded one")), (5, named("Loaded two"))])
    state = session.state
    assert (state.aspects, len(session.entities), state.refused) == (3, 2, 2)
    assert list(state.refusals) == reported
    assert [(told.unit, told.number) for told in reported] == [("record", 3), ("change", 2)]
    assert reported[1].to_json()["urn"] == "urn:li:tag:Wrong"
    assert await catalog.exists("urn:li:tag:Loaded two")


async def test_what_a_run_loaded_is_said_and_taken_out(catalog: AsyncCatalog) -> None:
    session = LoadSession(catalog, "run")
    await session.send([(1, named("Of a run").from_run("loaded-run", 1_700_000_000_000))])
    plan = await session.plan_removal("loaded-run")
    assert (plan.aspects, await catalog.exists("urn:li:tag:Of a run")) == (plan.aspects, True)
    assert plan.aspects >= 1
    assert (await session.remove("loaded-run")).aspects == plan.aspects
    assert not await catalog.exists("urn:li:tag:Of a run")


async def test_where_nothing_is_written_that_is_said(address: str) -> None:
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = LoadSession(catalog, "tags.json")
        with pytest.raises(InvalidInput, match="read-only"):
            await session.send([(1, named("Never"))])
        assert session.state.actions["remove"].why_not == READ_ONLY
        assert not await catalog.exists("urn:li:tag:Never")


async def test_what_went_in_before_the_server_went_away_is_counted_and_what_may_have_too(
    address: str,
) -> None:
    line = Cut(address, 30)
    async with AsyncCatalog(address, transport=line, retry=Retry(tries=1)) as catalog:
        session = LoadSession(catalog, "tags.json")
        await session.send([(1, named("Before"))])
        line.is_cut = True
        with pytest.raises(Unreachable):
            await session.send([(2, named("Perhaps"))])
        state = session.state
        assert (state.aspects, state.unanswered, state.refused) == (1, 1, 0)
        assert state.message is not None
        assert state.message.is_error
