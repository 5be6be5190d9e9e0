"""An entity is deprecated, hidden, restored and deleted, without any front end."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from explorer.client import AsyncCatalog
from explorer.client.transport import Retry
from explorer.errors import Conflict, InvalidInput, NotFound, Unreachable
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.lifecycle import DeprecationFields, LifecycleSession
from tests.sessions.conftest import Cut, until

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


def sentence(session: LifecycleSession) -> str:
    message = session.state.message
    return message.sentence if message is not None else ""


async def deprecation(catalog: AsyncCatalog, urn: Urn) -> DeprecationFields:
    return DeprecationFields.of(await catalog.entity(urn))


async def make_daily(catalog: AsyncCatalog, urn: Urn) -> Urn:
    """Make a table that is made of another."""
    daily = Urn.dataset("hive", f"{urn.name}.daily")
    upstreams = [{"dataset": str(urn), "type": "TRANSFORMED"}]
    await catalog.put(daily, "upstreamLineage", {"upstreams": upstreams})
    return daily


async def test_it_is_hidden_and_shown_again(catalog: AsyncCatalog, make_table: MakeTable) -> None:
    urn = make_table({"id": None})
    session = LifecycleSession(catalog, urn, "orders")
    assert (await session.hide(dry_run=True)).is_changed is False
    assert sentence(session) == "orders would be hidden from search and browse."
    assert not (await catalog.entity(urn)).removed
    await session.hide()
    assert sentence(session) == "orders is hidden from search and browse."
    assert session.state.message is not None
    assert session.state.message.is_saved
    assert (await catalog.entity(urn)).removed
    await session.hide()
    assert sentence(session) == "orders is hidden already; nothing to do."
    await session.restore()
    assert sentence(session) == "orders is shown in search and browse again."
    assert not (await catalog.entity(urn)).removed
    await session.restore()
    assert sentence(session) == "orders is not hidden; nothing to do."


async def test_what_refers_to_it_is_read_step_by_step(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    made_of_it = await make_daily(catalog, urn)
    session = LifecycleSession(catalog, urn)
    seen: list[tuple[bool, bool, bool]] = []
    session.subscribe(
        lambda state: seen.append(
            (state.edges is not None, state.impact is not None, state.is_read)
        )
    )
    await session.read_references()
    assert seen == [(True, False, False), (True, True, False), (True, True, True)]
    assert session.state.edges is not None
    assert session.state.impact is not None
    assert [entity.urn for entity in session.state.impact.affected] == [str(made_of_it)]


async def test_a_deprecation_of_somebody_else_is_shown_before_it_is_replaced(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    mine, theirs = (LifecycleSession(catalog, urn, "orders") for _ in range(2))
    await theirs.deprecate("theirs", instead_of=theirs.state.deprecation)
    with pytest.raises(Conflict, match="somebody else changed the deprecation"):
        await mine.deprecate("mine", instead_of=mine.state.deprecation)
    assert mine.state.deprecation.note == "theirs"
    assert (await deprecation(catalog, urn)).note == "theirs"
    await mine.deprecate("mine", instead_of=mine.state.deprecation)
    assert sentence(mine) == "orders is deprecated."
    with pytest.raises(Conflict):
        await theirs.lift(instead_of=DeprecationFields(True, "theirs"))
    await theirs.lift(instead_of=theirs.state.deprecation)
    assert sentence(theirs) == "orders is no longer deprecated."
    assert not (await deprecation(catalog, urn)).is_so


async def test_what_is_not_seen_is_replaced_by_whoever_says_nothing_of_it(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    until = DeprecationFields().moment("2030-06-30")
    await LifecycleSession(catalog, urn).deprecate("Old.", until)
    stored = await deprecation(catalog, urn)
    assert (stored.note, stored.day) == ("Old.", "2030-06-30")
    edit = await LifecycleSession(catalog, urn).deprecate("Older.")
    assert edit.before == stored.value
    with pytest.raises(InvalidInput, match="is not a date"):
        stored.moment("next spring")


async def test_what_a_deletion_removes_is_said_before_and_after(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    await make_daily(catalog, urn)
    await catalog.put(urn, "datasetProfile", {"timestampMillis": 1700000000000, "rowCount": 7})
    session = LifecycleSession(catalog, urn, "orders")
    plan = await session.plan_deletion()
    assert [*plan.counts()][-2:] == ["1 time series point", "1 reference to it"]
    assert (await catalog.entity(urn)).exists
    deletion = await session.delete()
    assert deletion.versions == plan.versions
    assert sentence(session) == (
        f"orders is deleted permanently: {plan.versions} versions, 1 time series point. "
        "Kept: 1 reference from other entities."
    )
    with pytest.raises(NotFound):
        await session.plan_deletion()


async def test_a_server_that_does_not_answer_is_told_and_asked_again(
    address: str, make_table: MakeTable
) -> None:
    urn, line = make_table({"id": None}), Cut(address, 30)
    async with AsyncCatalog(address, transport=line, retry=Retry(tries=1)) as catalog:
        session = LifecycleSession(catalog, urn, "orders")
        line.is_cut = True
        for step in (session.hide, session.read_references, session.delete):
            with pytest.raises(Unreachable):
                await step()
            assert sentence(session).endswith("the answer was lost")
        # What could not be read is told apart from what is still being read.
        assert (session.state.edges, session.state.is_read) == (None, True)
        line.is_cut = False
        assert (await catalog.entity(urn)).exists
        await session.hide()
        assert sentence(session) == "orders is hidden from search and browse."
        assert session.state.work is None


async def test_what_was_begun_is_written_though_its_session_is_closed(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    session = LifecycleSession(catalog, urn)
    hiding = asyncio.create_task(session.hide())
    await until(session, lambda state: state.work is not None)
    assert session.why_not("lift") == "This is being written."
    session.close()
    await hiding
    assert (await catalog.entity(urn)).removed


async def test_where_nothing_is_written_that_is_said_and_nothing_is(
    address: str, make_table: MakeTable
) -> None:
    urn = make_table({"id": None})
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = LifecycleSession(catalog, urn)
        for name in ("hide", "restore", "lift", "delete"):
            assert session.state.actions[name].why_not == READ_ONLY
            with pytest.raises(InvalidInput, match="read-only"):
                await getattr(session, name)()
        with pytest.raises(InvalidInput, match="read-only"):
            await session.deprecate("Old.")
        assert sentence(session) == READ_ONLY
        assert not (await catalog.entity(urn)).removed
