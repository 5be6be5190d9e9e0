"""Changesets that the server keeps, in the terminal: shared with a key, reviewed by several."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship
from explorer.stewardship.staging import changeset_files
from explorer.tui.screens.review import ReviewScreen
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
