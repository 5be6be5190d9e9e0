"""Changesets that the server keeps, in the terminal: shared with a key, reviewed by several."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import Unreachable
from explorer.metadata import Urn
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship
from explorer.stewardship.proposals import sync_changeset
from explorer.stewardship.staging import changeset_files
from explorer.tui.screens.review import ChangesetsScreen, ReviewScreen
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import make_table, texts_of

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "mine"))


@contextmanager
def elsewhere(patch: pytest.MonkeyPatch, home: Path) -> Iterator[None]:
    """Another machine: a state directory of its own."""
    with patch.context() as other:
        other.setenv("CATALOG_STATE_DIR", str(home))
        yield


@dataclass
class Colleague:
    """Somebody who reviews the same changesets on another machine."""

    catalog: Catalog
    home: Path
    patch: pytest.MonkeyPatch

    def fetch(self, changeset_id: str) -> StagedChangeset:
        with elsewhere(self.patch, self.home):
            return Stewardship(self.catalog).fetch_changeset(changeset_id)

    def decide(self, changeset: StagedChangeset, number: int, state: Any) -> None:
        changeset.decide(number, state, "urn:li:corpuser:colleague")
        Stewardship(self.catalog).sync_changeset(changeset)


@pytest.fixture
def colleague(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Colleague]:
    with Catalog(data_dir=desk) as catalog:
        yield Colleague(catalog, tmp_path / "theirs", monkeypatch)
        # Other tests use the same catalog, and look at what is listed.
        for urn in list(catalog.urns("changeset")):
            catalog.soft_delete(urn)


def staged(catalog: Catalog, urn: Urn, columns: str, title: str) -> StagedChangeset:
    edits = [
        StagedEdit(str(urn), urn.name, column, text=f"Text of {column}.") for column in columns
    ]
    return Stewardship(catalog).stage(edits, title)


async def open_review(reader: Reader) -> ReviewScreen:
    await reader.press("enter")
    await reader.until(lambda: isinstance(reader.app.screen, ReviewScreen))
    screen = reader.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


async def test_a_changeset_is_shared_with_a_key_and_decided_by_two(
    at: OpenTerminal, desk: Path, colleague: Colleague
) -> None:
    urn = make_table(colleague.catalog, "shared", ["a", "b", "c"])
    mine = staged(colleague.catalog, urn, "abc", "Texts for two")
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Texts for two", "3 open", "share")
        await reader.press("s")
        await reader.sees("Texts for two", "3 open · shared", "1 changeset")
        theirs = colleague.fetch(mine.id)
        await open_review(reader)
        await reader.sees("Texts for two", "3 open · shared")
        await reader.press("a")
        await reader.until(lambda: _states(colleague, theirs) == ["accepted", "open", "open"])
        # What the colleague decides is seen without a key.
        colleague.decide(theirs, 2, "refused")
        await reader.sees("1 open · 1 accepted · 1 refused · shared")
        await reader.press("down", "down", "a", "ctrl+s")
        await reader.sees("Write 2 changes")
        await reader.press("ctrl+s")
        await reader.sees("Written: 2 changes.", "2 applied")
        assert texts_of(colleague.catalog, urn) == {"a": "Text of a.", "b": "", "c": "Text of c."}
        await reader.until(lambda: _states(colleague, theirs) == ["applied", "refused", "applied"])
        # The file that was shared stays, and stands in the list once.
        assert len(changeset_files()) == 1
        await reader.press("escape", "V")
        await reader.sees("1 changeset", "1 refused · 2 applied · shared")


def _states(colleague: Colleague, changeset: StagedChangeset) -> list[str]:
    Stewardship(colleague.catalog).sync_changeset(changeset)
    return [item.state for item in changeset.items]


async def test_one_that_a_colleague_shared_is_reviewed_and_who_proposed_it_stands_above(
    at: OpenTerminal, desk: Path, colleague: Colleague
) -> None:
    urn = make_table(colleague.catalog, "queued", ["a", "b"])
    with elsewhere(colleague.patch, colleague.home):
        theirs = staged(colleague.catalog, urn, "ab", "From a colleague")
        Stewardship(colleague.catalog).share_changeset(theirs)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("From a colleague", "2 open · shared")
        await open_review(reader)
        await reader.press("x")
        await reader.sees("1 open · 1 refused · shared")
        await reader.until(lambda: _states(colleague, theirs) == ["refused", "open"])
        Stewardship(colleague.catalog).withdraw_changeset(theirs.id)
        await reader.sees("was withdrawn")


async def test_a_shared_one_is_withdrawn_once_that_is_confirmed_and_its_file_stays(
    at: OpenTerminal, desk: Path, colleague: Colleague
) -> None:
    urn = make_table(colleague.catalog, "withdrawn", ["a"])
    mine = staged(colleague.catalog, urn, "a", "Not wanted")
    steward = Stewardship(colleague.catalog)
    shared = steward.share_changeset(mine)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Not wanted", "1 open · shared", "x withdraw")
        await reader.press("x")
        await reader.sees("Withdraw Not wanted from the server?")
        await reader.press("escape")
        assert shared in {one.urn for one in steward.shared_changesets()}
        await reader.press("x")
        await reader.sees("Withdraw Not wanted from the server?")
        await reader.press("ctrl+s")
        await reader.sees("Withdrawn", "Not wanted")
        assert reader.app.screen.check_action("share", ())
        assert shared not in {one.urn for one in steward.shared_changesets()}


async def test_without_a_network_what_is_decided_is_kept_and_said_to_be_unsent(
    at: OpenTerminal, desk: Path, colleague: Colleague, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = make_table(colleague.catalog, "later", ["a", "b", "c"])
    mine = staged(colleague.catalog, urn, "abc", "Sent later")
    Stewardship(colleague.catalog).share_changeset(mine)
    theirs = colleague.fetch(mine.id)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Sent later", "3 open · shared")
        screen = await open_review(reader)
        await reader.sees("3 open · shared")

        async def silent(*_: Any) -> Any:
            raise Unreachable("nobody answers")

        with monkeypatch.context() as broken:
            broken.setattr("explorer.tui.screens.review.sync_changeset", silent)
            await reader.press("a", "x")
            await reader.sees("1 open · 1 accepted · 1 refused · 2 not sent yet")
            kept = StagedChangeset.open(screen._changeset.path)
            assert [one.state for one in kept.items] == ["accepted", "refused", "open"]
            await reader.press("escape", "V")
            await reader.sees("Sent later", "1 accepted · 1 refused · 2 not sent yet")
        await open_review(reader)
        await reader.sees("1 open · 1 accepted · 1 refused · shared")
        assert _states(colleague, theirs) == ["accepted", "refused", "open"]


async def test_what_somebody_decided_meanwhile_is_told(
    at: OpenTerminal, desk: Path, colleague: Colleague, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = make_table(colleague.catalog, "raced_review", ["a", "b"])
    mine = staged(colleague.catalog, urn, "ab", "Both at once")
    Stewardship(colleague.catalog).share_changeset(mine)
    theirs = colleague.fetch(mine.id)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Both at once", "2 open · shared")
        screen = await open_review(reader)
        await reader.sees("2 open · shared")

        async def slow(*given: Any) -> Any:
            # The colleague is quicker, and neither has seen the other's decision.
            monkeypatch.setattr("explorer.tui.screens.review.sync_changeset", sync_changeset)
            await _in_thread(lambda: colleague.decide(theirs, 1, "refused"))
            return await sync_changeset(*given)

        monkeypatch.setattr("explorer.tui.screens.review.sync_changeset", slow)
        await reader.press("a")
        await reader.sees("raced_review · a: Somebody decided this meanwhile: look at it again.")
        here = [item.state for item in screen._changeset.items]
        await reader.until(lambda: _states(colleague, theirs) == here)


async def _in_thread(work: Any) -> None:
    await asyncio.to_thread(work)


async def test_a_decision_is_shown_before_the_server_answers(
    at: OpenTerminal, desk: Path, colleague: Colleague, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = make_table(colleague.catalog, "slow", ["a", "b"])
    mine = staged(colleague.catalog, urn, "ab", "Slow line")
    Stewardship(colleague.catalog).share_changeset(mine)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Slow line", "2 open · shared")
        screen = await open_review(reader)
        await reader.sees("2 open · shared")
        answered = asyncio.Event()

        async def waiting(*given: Any) -> Any:
            await answered.wait()
            return await sync_changeset(*given)

        monkeypatch.setattr("explorer.tui.screens.review.sync_changeset", waiting)
        # Not by keys, after which a test waits for the answer.
        screen.action_accept()
        screen.action_accept()
        assert "2 accepted · 2 not sent yet" in reader.screen()
        answered.set()
        await reader.sees("2 accepted · shared")
        assert _states(colleague, mine) == ["accepted", "accepted"]


async def test_a_server_that_keeps_none_offers_no_sharing(
    at: OpenTerminal, desk: Path, colleague: Colleague, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.client import connection

    read = connection.read_abilities
    monkeypatch.setattr(
        connection, "read_abilities", lambda given: read({**given, "catalogExplorer": None})
    )
    urn = make_table(colleague.catalog, "datahub", ["a"])
    staged(colleague.catalog, urn, "a", "Of a file alone")
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("Of a file alone", "a file")
        await reader.until(lambda: isinstance(reader.app.screen, ChangesetsScreen))
        screen = reader.app.screen
        await reader.settle()
        assert not screen.check_action("share", ())
        assert "share" not in reader.screen()
