"""Lists with a detail beside them are read, narrowed and looked through, without any front end."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from explorer import config
from explorer.client import AsyncCatalog, Catalog
from explorer.client.journal import JOURNAL
from explorer.errors import CatalogError, InvalidInput, NotFound, Superseded, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.changes import FeedSession, JournalSession
from explorer.sessions.concept import OWN, ConceptQuestion, ConceptSession
from explorer.sessions.drafts import DraftsSession
from explorer.sessions.listing import NarrowedSession, NarrowedState
from explorer.sessions.propagated import PropagatedSession
from explorer.sessions.saved_searches import NO_NAME, ListedSearch, SavedSearchSession
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.drafts import Draft, Drafts
from tests.conftest import schema_metadata
from tests.sessions.conftest import until
from tests.stewardship.test_provenance import found, propagate, put_table

pytestmark = pytest.mark.anyio

MakeTable = Callable[[Mapping[str, str | None]], Urn]
# A program of this number does not run any more.
_ENDED = 2**30


class Names(NarrowedSession[NarrowedState[str]]):
    """A list of names that `names` returns, or fails to."""

    READING = "reading the names …"
    names: Callable[[], Awaitable[list[str]]]

    def __init__(self, catalog: AsyncCatalog, at: str | None = None) -> None:
        super().__init__(catalog, NarrowedState(), at)

    async def read_rows(self) -> None:
        await self.show(rows=await self.names())

    def key_of(self, row: str) -> str:
        return row

    def select(self, state: NarrowedState[str]) -> list[str]:
        return [name for name in state.rows if state.words in name]

    def why_none(self, state: NarrowedState[str]) -> str:
        return "No name matches." if state.rows else "No names."


def answering(*names: str) -> Callable[[], Awaitable[list[str]]]:
    async def answer() -> list[str]:
        return [*names]

    return answer


def failing(error: CatalogError) -> Callable[[], Awaitable[list[str]]]:
    async def fail() -> list[str]:
        raise error

    return fail


@pytest.fixture
async def names(catalog: AsyncCatalog) -> Names:
    """A list of three names, of which the second is looked at."""
    session = Names(catalog, at="bee")
    session.names = answering("ant", "bee", "cow")
    await session.read()
    return session


async def test_loading_none_no_match_and_failed_are_told_apart(catalog: AsyncCatalog) -> None:
    session = Names(catalog)
    assert (session.state.instead, session.state.is_reading) == ("reading the names …", True)
    session.names = failing(Unreachable("the network is gone"))
    with pytest.raises(Unreachable):
        await session.read()
    assert session.state.instead == "the network is gone"
    assert isinstance(session.state.failure, Unreachable)
    session.names = answering()
    await session.read()
    assert session.state.instead == "No names."
    session.names = answering("ant")
    await session.read()
    await session.narrow("x")
    assert session.state.instead == "No name matches."


async def test_the_same_row_is_looked_at_when_the_list_is_read_again(names: Names) -> None:
    assert names.state.current == "bee"
    names.names = answering("aardvark", "ant", "bee")
    await names.read()
    assert (names.state.cursor, names.state.current) == (2, "bee")
    # Where it is gone, the one that took its place.
    names.names = answering("aardvark", "ant")
    await names.read()
    assert names.state.current == "ant"


async def test_what_was_read_stays_when_it_cannot_be_read_again(names: Names) -> None:
    names.names = failing(Unreachable("the network is gone"))
    with pytest.raises(Unreachable):
        await names.read()
    assert (names.state.listed, names.state.current) == (["ant", "bee", "cow"], "bee")
    assert names.state.message is not None
    assert names.state.message.is_error


async def test_words_that_are_typed_on_take_the_place_of_those_before(names: Names) -> None:
    first = asyncio.create_task(names.narrow("b"))
    await until(names, lambda state: state.words == "b")
    await names.narrow("w")
    with pytest.raises(Superseded):
        await first
    assert names.state.listed == ["cow"]
    await names.narrow("")
    assert names.state.listed == ["ant", "bee", "cow"]
    assert names.state.current == "cow"


@pytest.fixture
def propagated(
    address: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[str, str]]:
    """A table with a text, and one with that text by propagation."""
    start = f"propagated.{request.node.name}"
    source, made = (str(Urn.dataset("hive", f"{start}.{name}")) for name in ("source", "made"))
    with Catalog(address) as client:
        put_table(client, source, {"id": "The lynx."})
        put_table(client, made, {"id": ""}, source)
        propagate(client, made, tmp_path / "a.changes.jsonl")
        found(client, 1, urns=[made])
        yield source, made


async def test_a_propagated_text_is_refreshed_pinned_and_taken_back(
    catalog: AsyncCatalog, propagated: tuple[str, str], request: pytest.FixtureRequest
) -> None:
    source, made = propagated
    session = PropagatedSession(catalog)
    await session.read()
    await session.narrow(f"{request.node.name}.made")
    assert [text.state for text in session.state.listed] == ["current"]
    assert session.why_not("refresh") == "No text that is listed is outdated."
    await catalog.describe(source, "The lynx's key.", column="id")
    await session.read()
    outcome = await session.refresh(session.state.outdated, dry_run=True)
    assert [text.key for text in outcome.updated] == [(made, "id")]
    assert session.state.message is not None
    assert session.state.message.sentence == "1 would be refreshed."
    assert [column.edited for column in (await catalog.entity(made)).schema] == ["The lynx."]
    await session.refresh(session.state.outdated)
    await session.settle()
    assert session.state.message is not None
    assert session.state.message.sentence == "1 refreshed."
    assert [column.edited for column in (await catalog.entity(made)).schema] == ["The lynx's key."]
    await session.pin(session.state.listed)
    await session.settle()
    assert [text.state for text in session.state.listed] == ["pinned"]
    await session.pin(session.state.listed, is_pinned=False)
    await session.settle()
    assert [text.state for text in session.state.listed] == ["current"]
    await session.take_back(session.state.listed)
    await session.settle()
    assert not any(column.edited for column in (await catalog.entity(made)).schema)


async def test_propagated_texts_are_chosen_by_their_source(
    catalog: AsyncCatalog, propagated: tuple[str, str]
) -> None:
    source, made = propagated
    session = PropagatedSession(catalog, source=source, urns=[made], column="id")
    await session.read()
    assert [text.key for text in session.state.rows] == [(made, "id")]
    session = PropagatedSession(catalog, source=made)
    await session.read()
    assert (session.state.rows, session.state.instead) == ((), "No propagated texts.")


async def test_a_reader_is_told_why_propagated_texts_stay(
    address: str, propagated: tuple[str, str]
) -> None:
    async with AsyncCatalog(address, read_only=True) as catalog:
        session = PropagatedSession(catalog)
        assert session.why_not("take_back") == session.READING
        await session.read()
        assert session.why_not("take_back") == READ_ONLY
        with pytest.raises(InvalidInput, match=READ_ONLY):
            await session.take_back(session.state.listed)


async def test_changes_are_narrowed_marked_as_read_and_those_before_are_read_again(
    catalog: AsyncCatalog, make_table: MakeTable, request: pytest.FixtureRequest
) -> None:
    steward = AsyncStewardship(catalog)
    make_table({"a": None, "b": None})
    await catalog.describe(make_table({"a": None, "b": None}), "Tamarins.", column="a")
    await steward.mark_read(await steward.feed())
    make_table({"a": "Ingested tamarins.", "b": "Ingested as well."})
    session = FeedSession(catalog)
    assert session.why_not("mark") == session.READING
    await session.read()
    await session.narrow(request.node.name)
    assert [entry.path for entry in session.state.listed] == ["a", "b"]
    await session.toggle_care()
    assert [entry.path for entry in session.state.listed] == ["a"]
    await session.toggle_care()
    await session.mark()
    session.follow(["another change"])
    assert (session.state.is_marked, session.state.newer_count) == (True, 1)
    with pytest.raises(InvalidInput, match="marked as read"):
        await session.mark()
    await session.read()
    assert (session.state.instead, session.state.newer_count) == (
        "No changes since your last visit.",
        0,
    )
    await session.turn_back()
    assert [entry.path for entry in session.state.listed] == ["a", "b"]


async def test_saves_are_listed_by_what_they_changed(
    catalog: AsyncCatalog, make_table: MakeTable
) -> None:
    await catalog.keep_journal(config.state_dir() / JOURNAL)
    session = JournalSession(catalog)
    await session.read()
    assert session.state.instead == "No saves from this machine yet."
    urn = make_table({"a": None, "b": None})
    for column, animal in {"a": "Lynx.", "b": "Otter."}.items():
        await catalog.describe(urn, animal, column=column)
    await session.read()
    assert [record.save.entries[0].after for record in session.state.listed] == [
        "Otter.",
        "Lynx.",
    ]
    await session.narrow("lynx")
    assert len(session.state.listed) == 1
    await session.narrow("nowhere")
    assert session.state.instead == "No save matches."


@pytest.fixture
async def concept(catalog: AsyncCatalog, make_table: MakeTable, tmp_path: Path) -> ConceptSession:
    """Three columns of one name, of which two have a text, and an unrelated one."""
    urn = make_table({"ocelot": "Spotted.", "other": None})
    for name in ("without", "with"):
        schema = schema_metadata({"ocelot": "Spotted." if name == "with" else None})
        alike = Urn.dataset("hive", f"{urn.name}.{name}")
        await catalog.ingest(Proposal(alike, "schemaMetadata", schema))
    session = ConceptSession(catalog, ConceptQuestion("ocelot"), lambda: Drafts(tmp_path, _ENDED))
    await session.read()
    return session


async def test_one_text_is_staged_for_the_marked_columns_of_a_name(
    concept: ConceptSession,
) -> None:
    own = [column for column in concept.state.listed if "staged_for_the_marked" in column.urn]
    assert len(own) == 3
    assert concept.why_not("stage") == "Mark columns first."
    concept.mark(own)
    concept.mark([own[0]])
    concept.mark(own)
    assert set(concept.state.marked) == {column.key for column in own}
    assert concept.state.text == "Spotted."
    changeset = await concept.stage()
    assert changeset is not None
    assert [item.edit.urn for item in changeset.items] == [
        column.urn for column in own if not column.text
    ]
    concept.mark(own)
    assert concept.state.marked == ()
    concept.mark(column for column in own if column.text)
    assert await concept.stage() is None
    assert concept.state.message is not None
    assert concept.state.message.sentence == "The marked columns already have this text."


async def test_a_text_that_was_written_is_kept_until_it_is_staged(
    concept: ConceptSession, catalog: AsyncCatalog, tmp_path: Path
) -> None:
    await concept.write("An own text.")
    assert (concept.state.variant, concept.state.text) == (OWN, "An own text.")
    again = ConceptSession(
        catalog, ConceptQuestion("ocelot"), lambda: Drafts(tmp_path, os.getpid())
    )
    await again.read()
    assert again.state.own_text == "An own text."
    again.choose(OWN)
    again.mark(again.state.listed)
    changeset = await again.stage()
    assert changeset is not None
    assert {item.edit.text for item in changeset.items} == {"An own text."}
    assert Drafts(tmp_path, _ENDED).all() == []


async def test_a_draft_is_discarded_and_restored_unless_another_program_has_it_open(
    catalog: AsyncCatalog, tmp_path: Path
) -> None:
    drafts = Drafts(tmp_path / "drafts", _ENDED)
    for column in "ab":
        drafts.keep(Draft("urn:li:dataset:a", column, "", f"Text of {column}.", "a"))
    session = DraftsSession(catalog, lambda: Drafts(tmp_path / "drafts", os.getpid()))
    assert session.why_not("discard") == "looking for drafts …"
    await session.read()
    assert len(session.state.listed) == 2
    stored = session.state.listed[0]
    await session.discard(stored)
    assert [left.draft.path for left in session.state.listed] == [
        path for path in "ab" if path != stored.draft.path
    ]
    await session.restore()
    assert {left.draft.text for left in session.state.listed} == {"Text of a.", "Text of b."}
    assert session.why_not("restore") == "No draft was discarded here."
    typed_there = Draft("urn:li:dataset:a", "a", "", "Typed there.", "a")
    Drafts(tmp_path / "drafts", os.getppid()).keep(typed_there)
    await session.read()
    theirs = next(left for left in session.state.listed if left.open)
    with pytest.raises(InvalidInput, match="close it there first"):
        await session.discard(theirs)
    with pytest.raises(NotFound):
        await session.discard(stored)
    assert len(session.state.listed) == 3


async def test_two_programs_share_the_searches_that_are_saved_renamed_and_forgotten(
    catalog: AsyncCatalog,
) -> None:
    one, two = SavedSearchSession(catalog), SavedSearchSession(catalog)
    with pytest.raises(InvalidInput, match="type a search first"):
        await one.save("mine", "")
    await two.read()
    assert (two.state.listed, two.state.instead) == ((), "No saved searches yet.")
    assert two.why_not("forget") == two.state.instead
    await one.save("mine", "orders", "name")
    assert one.state.message is not None
    assert one.state.message.sentence == "Saved as “mine”."
    await two.remember("orders")
    await one.read()
    saved, recent = one.state.listed
    assert (saved, recent) == (ListedSearch("orders", "mine", "name"), ListedSearch("orders"))
    assert [completion.text for completion in one.recent()] == ["orders"]
    await two.save("first", "customers")
    one.look_at(1)
    assert one.why_not("rename") == NO_NAME
    # What is renamed is looked at, wherever it stands.
    await one.rename(saved, "ours")
    assert one.state.current == ListedSearch("orders", "ours", "name")
    await one.forget(one.state.listed[0])
    await two.forget(recent)
    await one.read()
    assert len(one.state.listed) == 1
    await one.forget(one.state.listed[0])
    assert (one.state.listed, one.state.instead) == ((), "No saved searches yet.")
