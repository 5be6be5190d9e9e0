"""What to document next is listed, written, and drops out once anybody documented it; and how much
is documented is counted, without any front end."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput, Superseded, Unreachable
from explorer.metadata import FieldPath, Proposal, Urn
from explorer.sessions.listing import DatasetQuestion
from explorer.sessions.worklist import CoverageSession, WorklistSession
from explorer.stewardship.worklist import Item, Key, Worklist
from tests.conftest import schema_metadata
from tests.sessions.conftest import until

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]
A1: Key = ("urn:a", "one")
A2: Key = ("urn:a", "two")
B0: Key = ("urn:b", None)
B1: Key = ("urn:b", "one")
ALL = (A1, A2, B0, B1)


def worklist_of(*keys: Key) -> Worklist:
    items = [
        Item(urn, urn[-1], "hive", FieldPath(path) if path else None, "int", 1, "table", 0)
        for urn, path in keys
    ]
    return Worklist(tuple(items), len(items), 30, datasets=2)


def keys(session: WorklistSession) -> list[Key]:
    return [item.key for item in session.state.listed]


@pytest.fixture
def queue(catalog: AsyncCatalog) -> WorklistSession:
    """A worklist that was read before."""
    return WorklistSession(catalog, worklist=worklist_of(*ALL))


@pytest.fixture
async def session(catalog: AsyncCatalog, make_table: MakeTable) -> WorklistSession:
    """The worklist of a table of this test, with three columns that nobody described."""
    urn = make_table(dict.fromkeys("abc"))
    await catalog.describe(urn, "Described.")
    opened = WorklistSession(catalog, DatasetQuestion(f'"{urn.name}"'))
    await opened.read()
    return opened


def table(session: WorklistSession) -> str:
    return session.state.rows[0].urn


async def test_a_queue_gives_what_is_left_after_something_and_goes_round(
    queue: WorklistSession,
) -> None:
    assert [queue.after(key) for key in ALL] == [A2, B0, B1, A1]
    assert queue.after(A1, {A2, B0}) == B1
    queue.wrote(A2, "text")
    assert queue.after(A1) == B0
    assert queue.after(("urn:elsewhere", None)) == A1
    assert queue.progress == "3 left, 1 written"
    for key in (A1, B0):
        queue.wrote(key, "text")
    assert queue.after(B1) is None


async def test_a_text_that_was_emptied_is_to_be_written_again(queue: WorklistSession) -> None:
    queue.wrote(A1, "text")
    assert keys(queue) == [A2, B0, B1]
    assert (queue.state.worklist.total, queue.state.written_count) == (3, 1)
    queue.wrote(A1, "  ")
    assert keys(queue) == [*ALL]
    assert (queue.state.worklist.total, queue.state.written_count) == (4, 0)


async def test_the_same_item_is_looked_at_whatever_drops_out_around_it(
    queue: WorklistSession,
) -> None:
    queue.look_at(2)
    queue.wrote(A1, "text")
    assert queue.state.current is not None
    assert (queue.state.cursor, queue.state.current.key) == (1, B0)
    queue.wrote(B0, "text")
    assert queue.state.current is not None
    assert queue.state.current.key == B1


async def test_a_selection_without_datasets_is_not_one_that_is_documented(
    catalog: AsyncCatalog, queue: WorklistSession
) -> None:
    for key in ALL:
        queue.wrote(key, "text")
    assert queue.state.instead == "Everything here is documented."
    empty = WorklistSession(catalog, DatasetQuestion("name:nothing_has_this_name"))
    assert empty.state.instead == "reading the undocumented columns …"
    await empty.read()
    assert (empty.state.instead, empty.progress) == ("No dataset matches.", "no dataset matches")
    assert empty.why_not("propose") == "No dataset matches."


async def test_what_others_documented_drops_out(
    session: WorklistSession, catalog: AsyncCatalog
) -> None:
    urn = table(session)
    await catalog.describe(urn, "Theirs.", column="b")
    session.follow([Urn.dataset("hive", "another")])
    await session.settle()
    assert len(session.state.listed) == 3
    session.follow([Urn.parse(urn)])
    await session.settle()
    assert keys(session) == [(urn, "a"), (urn, "c")]
    await session.look_again()
    assert session.state.message is not None
    assert session.state.message.sentence == "No changes."
    await catalog.describe(urn, "Theirs.", column="a")
    await session.look_again()
    assert session.state.message.sentence.endswith("no longer in the catalog: 1.")
    assert session.progress == "1 left"


async def test_what_was_documented_is_counted_once_when_the_list_is_read_again(
    session: WorklistSession, catalog: AsyncCatalog
) -> None:
    urn = table(session)
    session.look_at(2)
    await catalog.describe(urn, "Mine.", column="a")
    session.wrote((urn, "a"), "Mine.")
    await session.read()
    assert (session.progress, session.state.written_count) == ("2 left", 0)
    assert session.state.current is not None
    assert session.state.current.key == (urn, "c")


async def test_a_wrong_filter_is_told_and_another_question_is_asked(
    session: WorklistSession,
) -> None:
    question = session.state.question
    with pytest.raises(InvalidInput, match="the filter cannot be read"):
        await session.ask(DatasetQuestion("platform:("))
    assert session.state.instead.startswith("the filter cannot be read")
    assert not session.state.listed
    await session.ask(question)
    assert len(session.state.listed) == 3
    with pytest.raises(InvalidInput, match="does not report who you are"):
        await session.ask(replace(question, is_mine=True))


async def test_a_later_question_takes_the_place_of_one_that_is_being_read(
    session: WorklistSession,
) -> None:
    question = session.state.question
    slow = asyncio.create_task(session.ask(DatasetQuestion("orders")))
    await until(session, lambda state: state.is_reading)
    await session.ask(question)
    with pytest.raises(Superseded):
        await slow
    assert len(session.state.listed) == 3


async def test_texts_are_staged_for_review_or_it_is_said_that_there_are_none(
    catalog: AsyncCatalog, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = make_table({"unheard_of": None})
    session = WorklistSession(catalog, DatasetQuestion(f'"{urn.name}"'))
    assert session.why_not("propose") == session.READING
    await session.read()
    assert await session.propose() is None
    assert session.state.message is not None
    assert session.state.message.sentence.startswith("No text was found upstream")
    alike = Urn.dataset("hive", f"{urn.name}.alike")
    schema = schema_metadata({"unheard_of": "Heard of."})
    await catalog.ingest(Proposal(alike, "schemaMetadata", schema))
    changeset = await session.propose()
    assert changeset is not None
    assert [item.edit.text for item in changeset.items] == ["Heard of."]
    assert not any(column.edited for column in (await catalog.entity(urn)).schema)
    monkeypatch.setattr(catalog._connection, "send", _fail)
    with pytest.raises(Unreachable):
        await session.propose()
    assert session.state.work is None


async def _fail(*_: Any, **__: Any) -> Any:
    raise Unreachable("the network is gone")


async def test_the_coverage_leads_to_what_is_missing_in_a_group_and_to_its_trend(
    sample: Path,
) -> None:
    async with AsyncCatalog(data_dir=sample) as catalog:
        session = CoverageSession(catalog)
        await session.read()
        await session.group("owner")
        group = session.state.listed[0]
        worklist = WorklistSession(catalog, session.question_of(group))
        await worklist.read()
        missing = group.columns.undocumented + group.tables.undocumented
        assert worklist.state.worklist.total == missing
        await session.show_trend("columns")
        trends = [session.state.trend]
        await session.group("tag")
        await session.settle()
        trends.append(session.state.trend)
        assert [trend and trend.by for trend in trends] == ["owner", "tag"]
