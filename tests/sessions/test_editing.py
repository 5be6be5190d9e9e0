"""A text is typed, kept, saved and set against what somebody else saved, without any front end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.http import HttpTransport
from explorer.client.transport import Retry
from explorer.errors import InvalidInput, StorageFault, Unreachable
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sessions.editing import EditSession, Saves, TextDrafts
from explorer.stewardship.drafts import Draft, Drafts
from tests.conftest import schema_metadata, serving_catalog

pytestmark = pytest.mark.anyio

NAMES = ("id", "mail", "zip")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))


@pytest.fixture
def table(address: str, request: pytest.FixtureRequest) -> Urn:
    """A table of this test alone, one of whose columns ingestion described."""
    urn = Urn.dataset("hive", f"edited.{request.node.name}")
    with Catalog(address) as catalog:
        texts = {"id": "ingested key", "mail": None, "zip": None}
        catalog.ingest(Proposal(urn, "schemaMetadata", schema_metadata(texts)))
    return urn


class Line:
    """Carries requests, but for those that write while it is cut."""

    def __init__(self, address: str) -> None:
        self.line = HttpTransport(address, 30)
        self.is_cut = False
        self.loses_answers = False

    async def send(self, request: Any) -> Any:
        body = request.body if isinstance(request.body, dict) else {}
        is_writing = "input" in (body.get("variables") or {})
        if self.is_cut and is_writing:
            raise Unreachable("the network is gone")
        answer = await self.line.send(request)
        if self.loses_answers and is_writing:
            raise Unreachable("the answer was lost")
        return answer

    async def close(self) -> None:
        await self.line.close()


class Desk:
    """A client and what is written with it."""

    def __init__(self, address: str) -> None:
        self.line = Line(address)
        self.catalog = AsyncCatalog(address, transport=self.line, retry=Retry(tries=1))
        self.drafts = TextDrafts("a test", partial(Drafts.of, address))
        self.saves = Saves(self.catalog, self.drafts)
        self.address = address

    @property
    def kept(self) -> Drafts:
        # Which catalog is at the address is known after the first request.
        return Drafts.of(self.address)

    async def session(self, urn: Urn, path: str | None) -> EditSession:
        """A session at a text, whose draft was looked for."""
        session = EditSession(self.catalog, self.drafts, self.saves)
        session.begin(self.saves.descriptions(await self.catalog.entity(urn)), path)
        await session.resume()
        return session

    async def edited(self, urn: Urn, path: str) -> str | None:
        column = (await self.catalog.entity(urn)).schema.column(path)
        assert column is not None
        return column.edited

    def texts(self) -> list[tuple[str | None, str]]:
        return [(stored.draft.path, stored.draft.text) for stored in self.kept.all()]


@pytest.fixture
async def desk(address: str) -> AsyncIterator[Desk]:
    desk = Desk(address)
    yield desk
    await desk.catalog.close()


def write_elsewhere(address: str, urn: Urn, path: str, text: str) -> None:
    with Catalog(address) as catalog:
        catalog.describe(urn, text, column=path)


async def test_what_is_typed_is_on_disk_until_it_is_saved(desk: Desk, table: Urn) -> None:
    session = await desk.session(table, "zip")
    await session.type("the code")
    assert desk.texts() == [("zip", "the code")]
    assert session.text.is_typed
    assert await session.save("the code") is None
    assert desk.texts() == []
    assert await desk.edited(table, "zip") == "the code"
    message = session.state.message
    assert message is not None
    assert (message.sentence, message.is_saved) == ("Saved zip.", True)


async def test_a_text_that_is_typed_back_is_no_draft(desk: Desk, table: Urn) -> None:
    session = await desk.session(table, "id")
    assert session.text.text == "ingested key"
    await session.type("ingested key of")
    await session.type("ingested key")
    assert desk.texts() == []
    assert await session.save("ingested key") is None
    assert await desk.edited(table, "id") is None


async def test_a_draft_is_gone_on_with_and_told_to_be_overtaken(
    desk: Desk, table: Urn, address: str
) -> None:
    await desk.catalog.entity(table)
    desk.kept.keep(Draft(str(table), "zip", "", "begun before"))
    write_elsewhere(address, table, "zip", "theirs")
    session = await desk.session(table, "zip")
    assert session.text.text == "begun before"
    assert session.text.remark("X") == (
        "This is your unsaved draft; X reverts to the saved text. The saved text has changed since."
    )
    await session.discard()
    assert session.text.text == "theirs"
    assert desk.texts() == []


async def test_what_somebody_else_saved_is_not_replaced_and_either_text_can_be_taken(
    desk: Desk, table: Urn, address: str
) -> None:
    session, other = await desk.session(table, "zip"), await desk.session(table, "mail")
    write_elsewhere(address, table, "zip", "theirs")
    write_elsewhere(address, table, "mail", "theirs")
    failure = await session.save("mine")
    assert failure is not None
    assert (failure.their_text, failure.base, session.text.text) == ("theirs", "", "mine")
    assert session.text.is_typed
    assert desk.texts() == [("zip", "mine")]
    assert await session.save("mine", instead_of="theirs") is None
    assert await desk.edited(table, "zip") == "mine"
    failure = await other.save("mine")
    assert failure is not None
    assert other.take_theirs("theirs").text == "theirs"
    assert not other.text.is_typed
    assert await desk.edited(table, "mail") == "theirs"


async def test_two_sessions_on_one_text_end_with_one_text(
    desk: Desk, table: Urn, address: str
) -> None:
    colleague = Desk(address)
    first, second = await desk.session(table, "zip"), await colleague.session(table, "zip")
    failures = await asyncio.gather(first.save("one"), second.save("two"))
    conflicts = [failure.their_text for failure in failures if failure is not None]
    stored = await desk.edited(table, "zip")
    assert conflicts == [stored]
    await colleague.catalog.close()


async def test_a_save_that_does_not_get_through_is_a_draft_and_can_be_repeated(
    desk: Desk, table: Urn
) -> None:
    session = await desk.session(table, "zip")
    desk.line.is_cut = True
    failure = await session.save("far away")
    assert failure is not None
    assert "the network is gone" in failure.reason
    assert desk.texts() == [("zip", "far away")]
    assert session.text.is_typed
    message = session.state.message
    assert message is not None
    assert message.is_error
    desk.line.is_cut = False
    assert await session.save("far away") is None
    assert desk.texts() == []


async def test_a_save_whose_answer_was_lost_is_no_conflict_with_its_next_text(
    desk: Desk, table: Urn
) -> None:
    session = await desk.session(table, "zip")
    desk.line.loses_answers = True
    assert await session.save("first") is not None
    desk.line.loses_answers = False
    assert await session.save("second") is None
    assert await desk.edited(table, "zip") == "second"


async def test_a_save_goes_on_while_its_writer_is_at_the_next_text(desk: Desk, table: Urn) -> None:
    session = await desk.session(table, "mail")
    done = session.put("an address")
    assert session.following == (str(table), "zip")
    assert session.subject is not None
    session.begin(session.subject, "zip")
    await session.resume()
    await session.type("a code")
    session.close()
    assert done is not None
    assert await done is None
    assert await desk.edited(table, "mail") == "an address"
    assert desk.texts() == [("zip", "a code")]
    assert session.following is None


async def test_a_text_of_another_place_goes_to_its_own_draft(desk: Desk, table: Urn) -> None:
    session = await desk.session(table, "mail")
    assert session.subject is not None
    session.begin(session.subject, "zip")
    await session.type("late", (str(table), "mail"))
    assert desk.texts() == [("mail", "late")]
    assert session.text.text == ""


async def test_a_draft_that_was_not_found_yet_is_not_written_over(desk: Desk, table: Urn) -> None:
    await desk.catalog.entity(table)
    desk.kept.keep(Draft(str(table), "zip", "", "precious"))
    session = await desk.session(table, "mail")
    assert session.subject is not None
    session.begin(session.subject, "zip")
    with pytest.raises(InvalidInput, match="not known yet"):
        await session.type("hasty")
    await session.resume()
    assert session.text.text == "precious"
    assert desk.texts() == [("zip", "precious")]


async def test_a_pause_while_the_draft_of_a_saved_text_is_removed_brings_no_draft_back(
    desk: Desk, table: Urn, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await desk.session(table, "zip")
    removing, may_remove = threading.Event(), threading.Event()
    drop = Drafts.drop

    def drop_slowly(*given: Any) -> None:
        removing.set()
        may_remove.wait(30)
        drop(*given)

    await session.type("text")
    monkeypatch.setattr(Drafts, "drop", drop_slowly)
    saving = asyncio.create_task(session.save("text"))
    await asyncio.to_thread(removing.wait, 30)
    pause = asyncio.create_task(session.type("text"))
    await asyncio.sleep(0)
    may_remove.set()
    await pause
    assert await saving is None
    assert desk.texts() == []


async def test_a_text_that_could_not_be_kept_is_gone_on_with_as_it_was_typed(
    desk: Desk, table: Urn, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await desk.session(table, "zip")
    await session.type("first")

    def refuse(*_: Any) -> None:
        raise StorageFault("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(Drafts, "keep", refuse)
        with pytest.raises(StorageFault):
            await session.type("first and second")
    assert session.subject is not None
    session.begin(session.subject, "mail")
    session.begin(session.subject, "zip")
    await session.resume()
    assert session.text.text == "first and second"


async def test_what_something_else_kept_since_is_not_deleted(desk: Desk, table: Urn) -> None:
    session = await desk.session(table, "zip")
    await session.type("mine")
    desk.kept.keep(Draft(str(table), "zip", "", "of another widget"))
    await session.discard()
    assert desk.texts() == [("zip", "of another widget")]


async def test_a_draft_that_cannot_be_kept_is_told(
    desk: Desk, table: Urn, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await desk.session(table, "zip")

    def refuse(*_: Any) -> None:
        raise StorageFault("the disk is full")

    monkeypatch.setattr(Drafts, "keep", refuse)
    with pytest.raises(StorageFault):
        await session.type("text")
    message = session.state.message
    assert message is not None
    assert isinstance(message.error, StorageFault)
    assert session.text.text == "text"


async def test_where_nothing_can_be_saved_the_action_says_so(address: str, table: Urn) -> None:
    async with AsyncCatalog(address, read_only=True) as catalog:
        drafts = TextDrafts("a test", partial(Drafts.of, address))
        saves = Saves(catalog, drafts)
        session = EditSession(catalog, drafts, saves)
        session.begin(saves.descriptions(await catalog.entity(table)), "zip")
        assert "read-only" in session.state.actions["save"].why_not
        with pytest.raises(InvalidInput, match="read-only"):
            await session.save("text")
        assert not saves.titles(None)


async def test_the_next_table_with_an_undocumented_column_is_found(
    desk: Desk, table: Urn, address: str
) -> None:
    complete = Urn.dataset("hive", "edited.complete")
    with Catalog(address) as catalog:
        catalog.ingest(Proposal(complete, "schemaMetadata", schema_metadata({"a": "text"})))
    found = await desk.saves.next_undocumented([complete, table], complete)
    assert found is not None
    assert found.undocumented == ["mail", "zip"]
    assert await desk.saves.next_undocumented([complete, table], table) is None
