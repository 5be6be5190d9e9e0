"""Metadata is loaded batch by batch, and what a run loaded is taken out, without any front end."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from explorer.client import AsyncCatalog
from explorer.client.http import HttpTransport
from explorer.client.transport import Answer, Request, Retry
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


class Waiting(HttpTransport):
    """A line on which writes wait until `going` is set, and fail from the one with number `lost`
    on."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.going = asyncio.Event()
        self.lost = 100
        self.sent = 0
        self.began = asyncio.Condition()

    async def send(self, request: Request) -> Answer:
        if request.writes:
            self.sent += 1
            number = self.sent
            async with self.began:
                self.began.notify_all()
            await self.going.wait()
            if number >= self.lost:
                raise Unreachable("the connection was cut")
        return await super().send(request)

    async def until_sent(self, count: int) -> None:
        async with self.began:
            await self.began.wait_for(lambda: self.sent == count)


async def test_the_next_batch_is_sent_before_the_last_one_is_answered(address: str) -> None:
    line = Waiting(address)
    async with AsyncCatalog(address, transport=line) as catalog:
        session = LoadSession(catalog, "tags.json")
        await session.send([(1, named("Ahead one"))], ahead=1)
        second = asyncio.create_task(session.send([(2, named("Ahead two"))], ahead=1))
        await line.until_sent(2)
        assert (session.state.aspects, session.state.settled) == (0, 0)
        line.going.set()
        await second
        await session.send(())
        assert (session.state.aspects, session.state.settled) == (2, 2)


async def test_a_batch_waits_for_the_one_before_it_that_changes_the_same_entity(
    address: str,
) -> None:
    line = Waiting(address)
    async with AsyncCatalog(address, transport=line) as catalog:
        session = LoadSession(catalog, "tags.json")
        await session.send([(1, named("Ahead of itself"))], ahead=2)
        await session.send([(2, named("Ahead of others"))], ahead=2)
        same = asyncio.create_task(session.send([(3, named("Ahead of itself"))], ahead=2))
        await line.until_sent(2)
        for _ in range(20):
            await asyncio.sleep(0)
        assert line.sent == 2
        line.going.set()
        await same
        await session.send(())
        assert (session.state.aspects, len(session.entities)) == (3, 2)


async def test_batches_under_way_are_counted_when_one_fails_and_it_is_known_how_far_it_came(
    address: str,
) -> None:
    line = Waiting(address)
    line.lost = 2
    async with AsyncCatalog(address, transport=line, retry=Retry(tries=1)) as catalog:
        session = LoadSession(catalog, "tags.json")
        for number in (1, 2, 3):
            await session.send([(number, named(f"Cut off {number}"))], ahead=3)
        line.going.set()
        with pytest.raises(Unreachable, match="was cut"):
            await session.send(())
        state = session.state
        assert (state.aspects, state.unanswered, state.settled) == (1, 2, 1)


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
