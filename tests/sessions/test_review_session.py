"""A changeset is reviewed step by step: decided, changed, sent, and written."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput, Unreachable
from explorer.metadata import Urn
from explorer.sessions import review
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.review import ALL_DECIDED, OWN_TEXT, ReviewSession
from explorer.stewardship import StagedChangeset, StagedEdit
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.proposals import OVERTAKEN, sync_changeset
from explorer.stewardship.staging import new_path
from tests.sessions.conftest import until

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]


@pytest.fixture
def table(make_table: MakeTable) -> Urn:
    """A table of three columns that nobody described."""
    return make_table(dict.fromkeys("abc"))


async def stage(catalog: AsyncCatalog, table: Urn, columns: str = "abc") -> StagedChangeset:
    edits = [
        StagedEdit(str(table), table.name, column, text=f"About {column}.") for column in columns
    ]
    return await AsyncStewardship(catalog).stage(edits, "Texts")


@pytest.fixture
async def session(catalog: AsyncCatalog, table: Urn) -> AsyncIterator[ReviewSession]:
    """The review of three texts."""
    opened = ReviewSession(catalog, await stage(catalog, table))
    await opened.open()
    yield opened
    opened.close()


def seen(session: ReviewSession) -> Any:
    item = session.state.item
    assert item is not None
    return item


def states(session: ReviewSession) -> list[str]:
    return [item.state for item in session.state.items]


def said(session: ReviewSession) -> str:
    message = session.state.message
    return message.sentence if message is not None else ""


async def texts(catalog: AsyncCatalog, table: Urn) -> dict[str, str]:
    schema = (await catalog.entity(table)).schema
    return {column.path.raw: column.edited for column in schema if column.edited}


async def test_each_decision_is_in_the_file_at_once_and_the_next_is_looked_at(
    session: ReviewSession,
) -> None:
    await session.accept(seen(session))
    assert session.state.number == 2
    await session.refuse(seen(session))
    kept = StagedChangeset.open(session.changeset.path)
    assert [item.state for item in kept.items] == ["accepted", "refused", "open"]
    await session.accept(seen(session), "Another text.")
    assert said(session) == ALL_DECIDED
    assert StagedChangeset.open(session.changeset.path).item(3).edit.text == "Another text."


async def test_decisions_that_are_made_at_once_are_all_recorded(session: ReviewSession) -> None:
    await asyncio.gather(*map(session.accept, session.state.items))
    assert states(session) == ["accepted"] * 3


async def test_what_is_accepted_is_written_as_one_save(
    session: ReviewSession, catalog: AsyncCatalog, table: Urn
) -> None:
    assert session.state.actions["write"].why_not == "Nothing is accepted."
    await session.accept_all(3)
    work: list[str] = []
    session.subscribe(lambda state: work.append(str(state.work)))
    outcome = await session.write(3)
    assert (outcome.applied, session.state.work) == (3, None)
    assert "writing 3 of 3 …" in work
    assert said(session) == "Written: 3 changes."
    assert await texts(catalog, table) == {column: f"About {column}." for column in "abc"}
    with pytest.raises(InvalidInput, match="undo"):
        await session.accept(seen(session))


async def test_another_number_than_the_one_that_was_seen_is_refused(session: ReviewSession) -> None:
    StagedChangeset.open(session.changeset.path).decide(1, "refused", "")
    with pytest.raises(InvalidInput, match="Meanwhile 2 are undecided, not 3"):
        await session.accept_all(3)
    assert states(session) == ["refused", "open", "open"]
    await session.accept_all(2)
    StagedChangeset.open(session.changeset.path).decide(2, "refused", "")
    with pytest.raises(InvalidInput, match="Meanwhile 1 are accepted, not 2"):
        await session.write(2)
    assert session.state.outcome is None


async def test_what_another_program_decided_in_the_file_is_not_overruled(
    session: ReviewSession,
) -> None:
    before = seen(session)
    StagedChangeset.open(session.changeset.path).decide(1, "refused", "urn:li:corpuser:ben")
    with pytest.raises(InvalidInput, match="Somebody decided this meanwhile"):
        await session.accept(before)
    assert states(session)[0] == "refused"
    await session.accept(seen(session))
    assert states(session)[0] == "accepted"


async def test_somebody_elses_text_is_replaced_only_after_it_was_seen(
    session: ReviewSession, catalog: AsyncCatalog, table: Urn
) -> None:
    await catalog.describe(table, "Theirs.", column="a")
    await session.accept(session.state.items[0])
    await session.write(1)
    assert said(session) == "Written: 0 changes; 1 failed, see the reasons."
    assert (session.state.number, seen(session).theirs) == (1, "Theirs.")
    await session.accept(seen(session))
    await session.write(1)
    assert await texts(catalog, table) == {"a": "About a."}


async def test_a_typed_text_is_kept_until_it_is_decided(
    session: ReviewSession, catalog: AsyncCatalog
) -> None:
    await session.type(1, "Half a")
    with pytest.raises(InvalidInput, match=OWN_TEXT):
        await session.accept(session.state.items[0])
    # As after the program was killed.
    again = ReviewSession(catalog, StagedChangeset.open(session.changeset.path))
    await again.read_drafts()
    assert again.state.drafts == {1}
    assert await again.draft(1) == "Half a"
    await again.accept(again.state.items[0], "Half a sentence.")
    assert (again.state.drafts, await again.draft(1)) == (frozenset(), None)


async def test_a_text_that_the_file_cannot_take_stays_a_draft(session: ReviewSession) -> None:
    before = seen(session)
    StagedChangeset.open(session.changeset.path).decide(1, "refused", "")
    with pytest.raises(InvalidInput):
        await session.accept(before, "A long text.")
    assert await session.draft(1) == "A long text."


async def test_what_is_undone_is_undecided_again(
    session: ReviewSession, catalog: AsyncCatalog, tmp_path: Any
) -> None:
    await catalog.keep_journal(tmp_path / "journal.jsonl")
    await session.accept_all(3)
    await session.write(3)
    await catalog.undo_save()
    again = ReviewSession(catalog, session.changeset)
    await again.open()
    assert states(again) == ["open"] * 3
    assert said(again) == "3 changes were undone since: they are open again."


async def test_a_changeset_of_another_catalog_is_written_once_it_is_imported(
    catalog: AsyncCatalog, table: Urn
) -> None:
    path = new_path("Made elsewhere", datetime.now(UTC))
    edits = [StagedEdit(str(table), table.name, "a", text="Text.")]
    foreign = StagedChangeset.create(
        path, edits, title="Made elsewhere", server="http://there", proposed_by="", catalog="other"
    )
    session = ReviewSession(catalog, foreign)
    await session.open()
    assert session.state.foreign == "of another catalog, at http://there"
    await session.accept_all(1)
    with pytest.raises(InvalidInput, match="import it first"):
        await session.write(1)
    await session.import_here()
    assert (session.state.foreign, states(session)) == ("", ["open"])
    await session.accept_all(1)
    await session.write(1)
    assert await texts(catalog, table) == {"a": "Text."}


async def share(session: ReviewSession, elsewhere: Any) -> ReviewSession:
    """Share a changeset, and return the review of a colleague on another machine."""
    await ChangesetsSession(session.catalog).share(session.changeset)
    with elsewhere():
        copy = await ChangesetsSession(session.catalog).fetch(session.changeset.id)
        theirs = ReviewSession(session.catalog, copy)
    for one in (session, theirs):
        await one.open()
        await one.settle()
    return theirs


async def test_two_who_review_the_same_changeset_end_in_the_same_state(
    session: ReviewSession, elsewhere: Any
) -> None:
    theirs = await share(session, elsewhere)
    assert session.state.sync == theirs.state.sync == "sent"
    await asyncio.gather(session.accept(seen(session)), theirs.refuse(theirs.state.items[2]))
    for one in (session, theirs, session):
        await one.settle()
        await one.sync()
    assert states(session) == states(theirs) == ["accepted", "open", "refused"]


async def test_a_decision_is_shown_before_the_server_answers(
    session: ReviewSession, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await share(session, elsewhere)
    answered = asyncio.Event()

    async def waiting(*given: Any) -> Any:
        await answered.wait()
        return await sync_changeset(*given)

    monkeypatch.setattr(review, "sync_changeset", waiting)
    await session.accept(seen(session))
    await session.accept(seen(session))
    assert (session.state.sync, session.state.unsent) == ("unsent", 2)
    answered.set()
    await session.settle()
    assert session.state.sync == "sent"


async def test_without_a_network_decisions_are_kept_and_sent_later(
    session: ReviewSession, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = await share(session, elsewhere)

    async def silent(*_: Any) -> Any:
        raise Unreachable("nobody answers")

    with monkeypatch.context() as broken:
        broken.setattr(review, "sync_changeset", silent)
        broken.setattr(review, "_RETRY_SECONDS", 0.01)
        await session.accept(seen(session))
        await session.settle()
        assert (session.state.sync, said(session)) == ("unreached", "")
    await until(session, lambda state: state.sync == "sent")
    await theirs.sync()
    assert states(theirs) == ["accepted", "open", "open"]


async def test_what_a_colleague_decided_at_the_same_moment_is_told(
    session: ReviewSession, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = await share(session, elsewhere)

    async def slow(*given: Any) -> Any:
        # The colleague is quicker, and neither has seen the other's decision.
        monkeypatch.setattr(review, "sync_changeset", sync_changeset)
        await theirs.refuse(theirs.state.items[0])
        await theirs.settle()
        return await sync_changeset(*given)

    monkeypatch.setattr(review, "sync_changeset", slow)
    await session.accept(seen(session))
    await session.settle()
    assert said(session) == f"{session.changeset.item(1).edit.name} · a: {OVERTAKEN}"
    await theirs.sync()
    assert states(session) == states(theirs)


async def test_who_may_only_read_is_told_and_decides_nothing(
    session: ReviewSession, elsewhere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reads(_: Any) -> str:
        return "Your token has the role reader."

    monkeypatch.setattr(review, "why_undecided", reads)
    await share(session, elsewhere)
    for step in (session.accept(seen(session)), session.accept_all(3)):
        with pytest.raises(InvalidInput, match="role reader"):
            await step
    assert states(session) == ["open"] * 3
    assert session.state.actions["refuse"].why_not == "Your token has the role reader."


async def test_what_ended_the_writing_is_told_and_the_rest_stays_accepted(
    session: ReviewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_: Any, **__: Any) -> Any:
        raise Unreachable("nobody answers")

    await session.accept_all(3)
    monkeypatch.setattr(type(session.catalog), "describe", silent)
    monkeypatch.setattr(type(session.catalog), "graphql", silent)
    await session.write(3)
    assert said(session) == "0 written, 3 not written yet: nobody answers"
    assert states(session) == ["accepted"] * 3


async def test_nothing_is_decided_while_the_changes_are_written(session: ReviewSession) -> None:
    await session.accept(seen(session))
    writing = asyncio.create_task(session.write(1))
    await until(session, lambda state: state.work is not None)
    with pytest.raises(InvalidInput, match="being written"):
        await session.accept(seen(session))
    await writing
    assert states(session) == ["applied", "open", "open"]


async def test_one_that_is_only_read_is_decided_and_not_written(address: str, table: Urn) -> None:
    async with AsyncCatalog(address) as catalog:
        changeset = await stage(catalog, table, "a")
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = ReviewSession(catalog, changeset)
        await session.open()
        await session.accept(seen(session))
        with pytest.raises(InvalidInput, match="read-only"):
            await session.write(1)
    assert states(session) == ["accepted"]


async def test_changesets_are_listed_shared_withdrawn_and_discarded(
    catalog: AsyncCatalog, table: Urn
) -> None:
    changeset = await stage(catalog, table)
    session = ChangesetsSession(catalog)
    await session.read()
    entry = session.state.listed[0]
    assert (entry.counts, entry.shared_urn) == ("3 open", None)
    urn = await session.share(changeset)
    await session.settle()
    assert session.state.current is not None
    assert session.state.current.shared_urn == urn
    assert session.state.actions["discard"].why_not == "It is shared."
    await session.withdraw(urn)
    await session.settle()
    assert session.state.actions["share"].is_possible
    entry = session.state.listed[0]
    assert entry.working_copy is not None
    await session.discard(entry.working_copy)
    await session.settle()
    assert all(entry.working_copy is None for entry in session.state.listed)
