"""Staged edits are reviewed with a key each, and what was accepted is written."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual import events

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.sessions.base import Work
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship, write_rows
from explorer.stewardship.drafts import Drafts
from explorer.stewardship.staging import TextSource, changeset_files, new_path
from explorer.tui.screens.review import ReviewRows, ReviewScreen, ReviewTextScreen
from tests.conftest import nightly
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import Failing, make_table, texts_of

pytestmark = pytest.mark.anyio


def staged(path: Path, urn: Urn, columns: Sequence[str]) -> Path:
    """A changeset that proposes a text for each column."""
    sources = (TextSource("lineage", str(urn), "raw_orders", "key", hops=2, agreeing=3),)
    edits = [
        StagedEdit(str(urn), urn.name, column, text=f"Text of {column}.", sources=sources)
        for column in columns
    ]
    StagedChangeset.create(
        path, edits, title="Texts from upstream", server="", proposed_by="urn:li:corpuser:nina"
    )
    return path


async def review(reader: Reader, path: Path) -> ReviewScreen:
    """Open a file for review from the list of changesets."""
    await reader.press("V")
    await reader.sees("a file")
    await reader.press("i")
    reader.app.post_message(events.Paste(str(path)))
    await reader.press("enter")
    await reader.until(lambda: isinstance(reader.app.screen, ReviewScreen))
    screen = reader.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


@pytest.mark.parametrize("is_passed_on", [*nightly(False), True])
async def test_each_edit_is_decided_with_one_key_and_what_was_accepted_is_written(
    at: OpenTerminal, desk: Path, tmp_path: Path, is_passed_on: bool
) -> None:
    """Undone, it can be decided again: the program knows its own changesets, and finds out about
    others when they are opened."""
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, f"reviewed_{is_passed_on}", ["a", "b", "c", "d"])
        own = new_path("Texts from upstream", datetime.now(UTC))
        path = staged(tmp_path / "one.changes.jsonl" if is_passed_on else own, urn, "abcd")
        async with at(desk) as reader:
            await review(reader, path)
            await reader.sees("Texts from upstream", "4 open", "proposed by nina")
            await reader.sees("from raw_orders.key, 2 hops upstream", "3 columns have this text")
            await reader.press("a", "x", "a", "e")
            await reader.sees("Text of d.", "accept")
            await reader.type(" Changed.")
            await reader.press("ctrl+s")
            await reader.sees("3 accepted", "1 refused", "Everything is decided")
            await reader.press("ctrl+s")
            await reader.sees("Write 3 changes")
            assert set(texts_of(catalog, urn).values()) == {""}
            await reader.press("ctrl+s")
            await reader.sees("Written: 3 changes.", "3 applied")
            written = {"a": "Text of a.", "b": "", "c": "Text of c.", "d": "Text of d. Changed."}
            assert texts_of(catalog, urn) == written
            await reader.press("escape")
            await reader.press("ctrl+z")
            await reader.sees("Undo the last save, 3 edits?", "description of reviewed", "· a")
            await reader.press("ctrl+s")
            await reader.until(lambda: set(texts_of(catalog, urn).values()) == {""})
            if not is_passed_on:
                await reader.sees("3 changes of the changeset can be decided again.")
            await review(reader, path)
            told = "3 changes were undone since: they are open again."
            await reader.sees("3 open", *[told] * is_passed_on)
            await reader.press("x", "x", "a", "ctrl+s")
            await reader.sees("Write 1 change")
            await reader.press("ctrl+s")
            await reader.sees("Written: 1 change.", "1 applied")
            assert texts_of(catalog, urn) == {"a": "", "b": "", "c": "", "d": written["d"]}


async def test_a_changeset_of_another_catalog_is_marked_and_written_once_it_is_imported(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "imported", ["a", "b"])
        catalog.describe(urn, "Theirs.", column="b")
        edits = [StagedEdit(str(urn), urn.name, column, text=f"Text {column}.") for column in "ab"]
        foreign = StagedChangeset.create(
            new_path("Made elsewhere", datetime.now(UTC)),
            edits,
            title="Made elsewhere",
            server="http://there",
            proposed_by="",
            catalog="another",
        )
        async with at(desk) as reader:
            await reader.press("V")
            await reader.sees("Made elsewhere", "2 open · of another catalog, at http://there")
            assert reader.app.screen.check_action("share", ()) is False
            await reader.press("enter")
            await reader.sees("Made elsewhere · of another catalog, at http://there", "import")
            await reader.press("a", "ctrl+s")
            await reader.sees("of another catalog, at http://there: import it first")
            await reader.press("I")
            await reader.sees("Import Made elsewhere?", "Nothing is written yet")
            await reader.press("I", "a")
            assert StagedChangeset.open(foreign.path).counts() == {"accepted": 1, "open": 1}
            await reader.press("ctrl+s")
            await reader.sees("Imported: 2 changes; 1 cannot be written", "1 open", "1 failed")
            await reader.press("a", "ctrl+s")
            await reader.sees("Write 1 change to the catalog on this machine?")
            await reader.press("ctrl+s")
            await reader.sees("Written: 1 change.")
            assert texts_of(catalog, urn) == {"a": "Text a.", "b": "Theirs."}


async def test_what_ends_while_the_screen_is_taken_down_is_told_to_nobody(
    desk: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "taken_down", ["a"])
    path = staged(tmp_path / "staged.jsonl", urn, ["a"])
    async with at(desk) as reader:
        screen = await review(reader, path)
        # Its parts go one after the other, and what is under way may end in between.
        screen.dismiss(None)
        for _ in range(1000):
            if not screen.query("#heading"):
                break
            await asyncio.sleep(0)
        assert screen._review is not None
        screen._review.replace(work=Work("writing", 1, 2))
        screen._review.say("Written.")


async def test_somebody_elses_text_is_shown_before_it_is_replaced(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "raced", ["a", "b"])
        path = staged(tmp_path / "one.changes.jsonl", urn, "ab")
        async with at(desk) as reader:
            await review(reader, path)
            await reader.press("a", "a")
            catalog.describe(urn, "Theirs.", column="b")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("1 failed", "somebody else wrote this meanwhile", "Theirs.")
            assert texts_of(catalog, urn) == {"a": "Text of a.", "b": "Theirs."}
            await reader.press("a")
            await reader.sees("1 accepted")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.until(lambda: texts_of(catalog, urn)["b"] == "Text of b.")


async def test_what_is_pressed_after_a_file_was_chosen_is_for_its_review(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "at_once", ["a", "b"])
    path = staged(tmp_path / "at_once.jsonl", urn, ["a", "b"])
    async with at(desk) as reader:
        await reader.press("V", "i")
        reader.app.post_message(events.Paste(str(path)))
        for key in ("enter", "a"):
            reader.app.post_message(events.Key(key, None if key == "enter" else key))
        await reader.sees("1 open", "1 accepted")


async def test_what_was_decided_is_there_when_the_review_is_opened_again(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "later", ["a", "b", "c"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "abc")
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("a", "e")
        await reader.type(" Typed")
        await reader.press("escape")
    async with at(desk) as reader:
        screen = await review(reader, path)
        await reader.sees("1 accepted", "2 open", "Text of b. Typed")
        # The cursor is on the first that is open.
        assert screen.query_one(ReviewRows).cursor == 1


async def test_a_changeset_of_this_machine_is_discarded_when_that_is_confirmed(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "discarded", ["a", "b"])
        for title in ("Kept one", "Unwanted one"):
            edits = [StagedEdit(str(urn), urn.name, column, text="Text.") for column in "ab"]
            Stewardship(catalog).stage(edits, title)
    async with at(desk) as reader:
        await reader.press("V")
        await reader.sees("2 changesets", "Unwanted one", "del discard")
        await reader.press("delete")
        await reader.sees("Discard Unwanted one?", "Not written: 2 changes.")
        await reader.press("escape")
        assert len(changeset_files()) == 2
        await reader.press("delete", "ctrl+s")
        await reader.sees("1 changeset", "Kept one", "Discarded.")
    assert [StagedChangeset.open(path).title for path in changeset_files()] == ["Kept one"]


async def test_all_that_is_open_is_accepted_at_once_when_that_is_confirmed(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "several", ["a", "b", "c"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "abc")
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("x", "A")
        await reader.sees("Accept all 2 undecided changes?")
        await reader.press("escape")
        await reader.sees("2 open")
        await reader.press("A")
        await reader.press("ctrl+s")
        await reader.sees("2 accepted", "1 refused")
        await reader.press("u")
        await reader.sees("1 accepted", "1 open")


async def test_a_file_of_descriptions_is_reviewed_before_anything_is_written(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "from_file", ["a", "b"])
        rows = Stewardship(catalog).documentation([urn])
        path = tmp_path / "docs.csv"
        content = write_rows(rows, "csv").replace(b"from_file,a,int,,,", b"from_file,a,int,,New,")
        path.write_bytes(content)
        async with at(desk) as reader:
            await review(reader, path)
            await reader.sees("docs.csv", "1 open", "New", "from a file")
            assert texts_of(catalog, urn) == {"a": "", "b": ""}
            # It is kept, and on the list the next time.
            await reader.press("escape")
            await reader.press("V")
            await reader.sees("docs.csv", "1 open")
            await reader.press("enter")
            await reader.press("a", "ctrl+s")
            await reader.press("ctrl+s")
            await reader.until(lambda: texts_of(catalog, urn) == {"a": "New", "b": ""})


@pytest.mark.nightly
async def test_a_file_that_is_none_is_told_and_the_list_stays(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text("{}\n")
    async with at(desk, size=(200, 36)) as reader:
        await reader.press("V")
        await reader.press("i")
        await reader.type(str(path))
        await reader.press("enter")
        await reader.sees("this is not a changeset")
        await reader.press("escape")


async def test_texts_are_proposed_for_a_worklist_and_reviewed(at: OpenTerminal, desk: Path) -> None:
    # Names that no other table of this catalog has.
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    with Catalog(data_dir=desk) as catalog:
        above = make_table(catalog, "proposing_above", ["one_of", "two_of"])
        below = make_table(catalog, "proposing_below", ["one_of", "two_of", "three_of"])
        made_from = {"dataset": str(above), "type": "TRANSFORMED", "auditStamp": stamp}
        catalog.put(below, "upstreamLineage", {"upstreams": [made_from]})
        for column in ("one_of", "two_of"):
            catalog.describe(above, f"Upstream text of {column}.", column=column)
        async with at(desk) as reader:
            await reader.press("W", "f")
            await reader.type("name:proposing_below")
            await reader.press("enter")
            await reader.sees("3 undocumented")
            await reader.press("p")
            await reader.sees("Proposed texts: name:proposing_below", "2 open")
            await reader.sees("proposing_above.one_of, 1 hop upstream; a guess")
            assert set(texts_of(catalog, below).values()) == {""}
            await reader.press("a", "x", "ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written: 1 change.")
            await reader.press("escape")
            # The worklist is below it, without what was written.
            await reader.sees("Worklist", "2 undocumented")
        written = {"one_of": "Upstream text of one_of.", "two_of": "", "three_of": ""}
        assert texts_of(catalog, below) == written


async def test_what_ended_the_writing_is_told_and_the_rest_stays_accepted(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "ended", ["a", "b"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "ab")
    async with at(desk, transport=Failing(desk)) as reader:
        await review(reader, path)
        await reader.press("a", "a", "ctrl+s")
        await reader.press("ctrl+s")
        await reader.sees("2 not written yet: the network is gone", "2 accepted")
    assert StagedChangeset.open(path).counts() == {"accepted": 2}


async def test_an_empty_list_of_changesets_offers_nothing_to_open(
    at: OpenTerminal, desk: Path
) -> None:
    async with at(desk) as reader:
        await reader.press("V")
        assert "⏎" not in await reader.sees("No changesets", "a file")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("W", ("Worklist  here", "Show only what you own, or everything")),
        ("C", ("Coverage  here", "Group by the previous one")),
        ("V", ("Changesets  here", "Review a file: a changeset or descriptions")),
    ],
)
async def test_the_help_lists_the_keys_of_the_screen_that_is_open(
    at: OpenTerminal, desk: Path, key: str, words: tuple[str, ...]
) -> None:
    async with at(desk) as reader:
        await reader.press(key)
        await reader.press("question_mark")
        await reader.sees("Keys", *words)
        await reader.press("escape")
        await reader.press("f1")
        await reader.sees("Keys", *words)


@pytest.mark.nightly
async def test_the_help_of_a_review_does_what_stands_there(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "helped", ["a", "b"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "ab")
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("question_mark")
        await reader.sees("Review  here")
        await reader.type("refuse, and go to")
        await reader.press("enter")
        await reader.sees("1 refused", "1 open")


@pytest.mark.nightly
async def test_a_text_that_is_typed_outlives_a_program_that_is_killed(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "typed_at", ["a", "b"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "ab")
    kept = Drafts.of_changeset(StagedChangeset.open(path).id)
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("e")
        await reader.type(" Half a")
        await reader.until(lambda: kept.read(str(urn), "a") is not None)
        draft = kept.read(str(urn), "a")
    # As it is on disk while the editor is open, for a program that ends there.
    assert draft is not None
    assert draft.text == "Text of a. Half a"
    kept.keep(draft)
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("e")
        await reader.type(" word.")
        await reader.sees("Text of a. Half a word.")
        await reader.press("ctrl+s")
        await reader.sees("1 accepted")
        await reader.until(lambda: kept.read(str(urn), "a") is None)
    assert StagedChangeset.open(path).items[0].edit.text == "Text of a. Half a word."


async def test_a_pause_that_ends_while_the_text_is_accepted_keeps_no_draft(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "paused_at", ["a", "b"])
    path = staged(tmp_path / "one.changes.jsonl", urn, "ab")
    kept = Drafts.of_changeset(StagedChangeset.open(path).id)
    async with at(desk) as reader:
        await review(reader, path)
        await reader.press("e")
        await reader.type(" More.")
        screen = reader.app.screen
        assert isinstance(screen, ReviewTextScreen)
        kept_late: list[str] = []
        screen.action_accept()
        # The pause ends while the screen is going, and what was typed is dropped already.
        screen._typed = kept_late.append
        screen._pass_typed_text()
        assert kept_late == []
        await reader.sees("1 accepted")
        await reader.settle()
    assert kept.read(str(urn), "a") is None


async def test_what_a_colleague_decided_in_the_same_file_is_shown_and_not_overruled(
    at: OpenTerminal, desk: Path, tmp_path: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "reviewed_by_two", ["a", "b", "c"])
        path = staged(tmp_path / "one.changes.jsonl", urn, "abc")
        async with at(desk) as reader:
            await review(reader, path)
            await reader.press("a", "a")
            await reader.sees("2 accepted", "1 open")
            colleague = StagedChangeset.open(path)
            colleague.decide(colleague.items[2].number, "refused", "urn:li:corpuser:nina")
            await reader.press("a")
            await reader.sees("Somebody decided this meanwhile", "1 refused")
            await reader.press("ctrl+s")
            await reader.sees("Write 2 changes")
            colleague.decide(colleague.items[1].number, "refused", "urn:li:corpuser:nina")
            await reader.press("ctrl+s")
            await reader.sees("Meanwhile 1 are accepted, not 2")
            assert set(texts_of(catalog, urn).values()) == {""}
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.until(
                lambda: texts_of(catalog, urn) == {"a": "Text of a.", "b": "", "c": ""}
            )
