"""A steward writes descriptions: exactly, with what others wrote at hand, losing nothing."""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual import events
from textual._compositor import Compositor
from textual._context import active_app
from textual.widgets import Static

from explorer import config
from explorer.client import AsyncCatalog, Catalog
from explorer.client.journal import JOURNAL
from explorer.errors import NotSignedIn
from explorer.metadata import Urn
from explorer.sessions.editing import Descriptions, DescriptionTarget
from explorer.stewardship.drafts import Draft, Drafts
from explorer.tui.screens import editor
from explorer.tui.screens.editor import EditorScreen
from explorer.tui.widgets import text_area
from explorer.tui.widgets.rows import DifferenceRows
from explorer.tui.widgets.text_area import DescriptionArea
from tests.conftest import nightly, schema_of
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

TAG = Urn.parse("urn:li:tag:PII")

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
MART = "analytics.marts.mart_daily_revenue"


def dataset(desk: Path, name: Any, *columns: Any, ingested: Any = None) -> Any:
    """A dataset of its own, with columns that nobody described but where `ingested` says so."""
    urn = Urn.dataset("hive", f"editing.{name}")
    fields = [
        {
            "fieldPath": column,
            "nativeDataType": "int",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
            **({"description": ingested} if ingested else {}),
        }
        for column in columns
    ]
    schema = schema_of(fields, name=name)
    with Catalog(data_dir=desk) as catalog:
        catalog.put(urn, "datasetProperties", {"name": name, "description": "came in"})
        catalog.put(urn, "schemaMetadata", schema)
    return urn


def edited(desk: Path, urn: Urn, path: Any = None) -> Any:
    with Catalog(data_dir=desk) as catalog:
        entity = catalog.entity(urn)
    if path is None:
        return entity.edited_description
    column = entity.schema.column(path)
    assert column is not None
    return column.edited


async def paste(reader: Reader, text: Any) -> None:
    focused = reader.app.screen.focused
    assert focused is not None
    focused.post_message(events.Paste(text))
    await reader.settle()


async def test_a_text_keeps_its_line_ends_tabs_and_spaces_on_the_server(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "exact", "a", "b")
    text = "first  \r\n\tsecond\nthird\u2028still third\r\n\r\n"
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, text, column="a")
        catalog.describe(TAG, "Tells who somebody is.")
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("It has CRLF and LF line ends, kept as they are.")
        await reader.press("x", "enter", "ctrl+s")
        await reader.sees("Saved a.")
        assert edited(desk, urn, "a") == text + "x\r\n"
        await reader.press("down", "e")
        await reader.sees("column 2 of 2, 1 undocumented")
        await paste(reader, "\ttab and end  \n")
        await reader.press("ctrl+s")
        await reader.sees("Saved b.")
        assert edited(desk, urn, "b") == "\ttab and end  \n"
    async with at(desk, urn=TAG) as reader:
        await reader.sees("1 Overview")
        await reader.press("E")
        await reader.sees("Tells who somebody is.", "preview")
        await reader.press("!", "ctrl+s")
        await reader.sees("Saved PII.")
    with Catalog(data_dir=desk) as catalog:
        held = catalog.entity(TAG).raw("tagProperties")
    assert held is not None
    assert held["description"].endswith("is.!")


async def test_from_column_to_column_without_leaving(desk: Path, at: OpenTerminal) -> None:
    urn = dataset(desk, "walk", "order_id", "zz_one", "zz_two", "zz_three")
    async with at(desk, urn=urn) as reader:
        await reader.sees("4 documented")
        await reader.press("2", "e")
        # What others wrote of columns of that name, taken and taken back.
        await reader.sees("column 1 of 4, 4 undocumented", "f6 same name")
        await reader.press("f5")
        # Its key takes the ingested text alone, and there is none.
        assert "key of an order" not in reader.screen().partition("f6 same name")[0]
        await reader.press("f6")
        await reader.sees("key of an order")
        await reader.press("ctrl+z")
        assert "key of an order" not in reader.screen().partition("f6 same name")[0]
        # No pause between the key that goes on and what is typed next.
        await reader.type("The order")
        await reader.pilot.press("ctrl+n", *"one")
        await reader.sees("zz_one", "column 2 of 4, 3 undocumented", "│ one")
        assert edited(desk, urn, "order_id") == "The order"
        await reader.press("f3")
        await reader.sees("zz_two", "what you typed for zz_one is kept as a draft")
        await reader.press("f2")
        await reader.sees("This is your unsaved draft", "│ one")
        await reader.press("ctrl+r")
        await reader.press("f2")
        await reader.sees("The order", "column 1 of 4")
        await reader.press("escape")
        await reader.sees("1 of 4 documented")
    assert edited(desk, urn, "zz_one") is None


async def test_the_editor_shows_what_is_known_of_the_column(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("e")
        shown = await reader.sees("column 1 of 29")
        facts = shown.splitlines()[1]
        assert facts.startswith(" NUMBER(38,0) · not null · key · used ")
        assert " times in 30 days · 0 % null · 4,862,310 distinct · 774048, " in facts
        await reader.press("f3")
        shown = await reader.sees("column 2 of 29")
        assert "VARCHAR" in shown.splitlines()[1]


async def test_a_long_table_name_leaves_the_column_and_the_draft_in_the_heading(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "a_long_name_" * 12, "net_amount", "b")
    async with at(desk, size=(80, 24), urn=urn) as reader:
        await reader.sees("0 of 2 documented")
        await reader.press("e")
        await reader.sees("a_long_name_", "… · net_amount · column 1 of 2")
        await reader.type("words")
        await reader.sees("… · net_amount · column 1 of 2", "draft saved")


def test_in_a_worklist_a_heading_loses_its_place_before_the_draft() -> None:
    target = DescriptionTarget(
        Urn.parse(str(ORDERS)), "mart_daily_revenue", "country_code", "country_code", "", ""
    )
    place = "1,209 left, 2 written · column 2 of 12"
    heading = editor.editor_heading(target, place, "draft saved", read_only=False, width=78)
    assert heading.cell_len <= 78
    assert heading.plain.startswith("mart_daily_reve… · country_code · 1,209 left, 2 written")
    assert heading.plain.endswith("… · draft saved")


async def test_what_is_known_of_the_columns_of_the_next_table_is_read(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("e")
        screen = reader.app.screen
        assert isinstance(screen, EditorScreen)
        other = await reader.app._session.catalog()
        table = Descriptions(await other.entity(ORDERS.dataset("snowflake", MART)))
        screen._next, screen._is_done = table, True
        screen._go_to_next()
        await reader.settle()
        await reader.sees("mart_daily_revenue", "times in 30 days")


async def test_what_would_change_is_seen_before_it_is_saved(desk: Path, at: OpenTerminal) -> None:
    urn = dataset(desk, "compare", "a", ingested="line one\nline two")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.sees("f5 ingested", "line two")
        await reader.type(" and more")
        await reader.press("ctrl+d")
        await reader.sees("- line two", "+ line two and more")
        # Letters that come too late save nothing, and go nowhere.
        await reader.press("y", "q", "escape")
        await reader.sees("column 1 of 1")
        assert edited(desk, urn, "a") is None
        await reader.press("ctrl+d", "ctrl+s")
        await reader.sees("Saved a.")
    assert edited(desk, urn, "a") == "line one\nline two and more"


async def test_a_blank_text_removes_the_description_and_never_is_one(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "blank", "a", "b")
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, "!", column="a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 of 2 documented")
        await reader.press("2", "e")
        await reader.sees("│ !")
        await reader.press("end", "backspace", "space", "enter", "space", "ctrl+s")
        await reader.sees("Saved a.", "0 of 2 documented")
        await reader.press("e")
        await reader.sees("column 1 of 2")
        await reader.type("mine")
        await reader.press("ctrl+s")
        await reader.sees("Saved a.", "1 of 2 documented")
    assert edited(desk, urn, "a") == "mine"


async def test_of_two_texts_either_can_be_taken_and_neither_is_lost(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "conflict", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("mine")
        with Catalog(data_dir=desk) as catalog:
            catalog.describe(urn, "theirs", column="a")
        await reader.press("ctrl+s")
        shown = await reader.sees("somebody else changed a meanwhile", "+ theirs", "+ mine")
        before, theirs, mine = (
            shown.index(one) for one in ("Before, when", "Theirs, saved by", "Yours")
        )
        assert before < shown.index("no description") < theirs < shown.index("+ theirs") < mine
        assert re.search(r"Theirs, saved by \w+.* · \d{4}-\d\d-\d\d \d\d:\d\d", shown)
        # No line is under a cursor, for none can be chosen.
        lines = reader.app.screen.query_one(DifferenceRows)
        strips = [lines.render_line(y) for y in range(lines.count)]
        assert len({one.style.bgcolor for strip in strips for one in strip if one.style}) == 1
        await reader.press("escape")
        await reader.sees("Not saved", "│ mine", "saved by ", "theirs")
        await reader.press("ctrl+s")
        await reader.sees("somebody else changed a")
        await reader.press("ctrl+r")
        await reader.sees("│ theirs")
        await reader.press("ctrl+z")
        await reader.sees("│ mine")
        assert edited(desk, urn, "a") == "theirs"
        await reader.press("ctrl+s")
        await reader.sees("Saved a.")
    assert edited(desk, urn, "a") == "mine"


async def test_a_conflict_that_is_left_is_told_once(desk: Path, at: OpenTerminal) -> None:
    urn = dataset(desk, "left", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("mine")
        with Catalog(data_dir=desk) as catalog:
            catalog.describe(urn, "theirs", column="a")
        await reader.press("ctrl+s")
        await reader.sees("somebody else changed a meanwhile")
        await reader.press("escape")
        await reader.sees("Not saved", "│ mine")
        await reader.press("escape")
        shown = await reader.sees("what you typed for a is kept")
        assert shown.count("Not saved") == 1


async def test_a_draft_of_a_text_that_has_changed_since_overwrites_nothing(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "stale", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("half")
        await reader.press("escape")
        await reader.sees("what you typed for a is kept")
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, "theirs", column="a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.sees("│ half", "The saved text has changed since.")
        await reader.press("ctrl+s")
        await reader.sees("somebody else changed a")
        await reader.press("escape", "ctrl+r")
        await reader.sees("│ theirs")
        await reader.press("escape")
    assert edited(desk, urn, "a") == "theirs"


@pytest.mark.nightly
async def test_the_remark_on_a_draft_is_seen_whole_until_the_draft_is_given_up(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "remark", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("half")
        await reader.press("escape")
        await reader.sees("what you typed for a is kept")
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, "theirs", column="a")
    async with at(desk, size=(80, 24), urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        shown = await reader.sees("│ half", "This is your unsaved draft; ^r reverts")
        assert "The saved text has changed since." in " ".join(shown.split())
        await reader.press("ctrl+s")
        await reader.sees("somebody else changed a")
        await reader.press("ctrl+r")
        shown = await reader.sees("│ theirs", "Their text is kept. ^z brings yours back.")
        assert not re.search("unsaved draft|Not saved|has changed since", shown)
        await reader.press("ctrl+z")
        await reader.sees("│ half")


async def test_every_draft_is_in_a_list(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "listed", "a", "b")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("f4")
        await reader.sees("No drafts: no text waits to be saved.")
        await reader.press("escape", "2", "e")
        await reader.type("of a")
        await reader.press("f3")
        await reader.type("of b")
        await reader.press("escape")
        await reader.sees("what you typed for b is kept")
        await reader.press("f4")
        await reader.sees("2 drafts, not saved", "listed · b", "of b", "listed · a", "of a")
        await reader.press("x", "z")
        await reader.sees("2 drafts, not saved")
        await reader.press("delete")
        assert "of b" not in await reader.sees("1 draft, not saved", "^z restores it")
        # One that a full disk does not take is restored later.
        (tmp_path / "file").write_text("")
        with monkeypatch.context() as full:
            full.setenv("CATALOG_STATE_DIR", str(tmp_path / "file"))
            await reader.press("ctrl+z")
            await reader.sees("The draft cannot be kept")
        await reader.press("ctrl+z")
        await reader.sees("2 drafts, not saved", "of b")
        await reader.press("end", "enter")
        await reader.sees("This is your unsaved draft", "│ of a")
        await reader.press("ctrl+s")
        await reader.sees("Saved a.")
    assert edited(desk, urn, "a") == "of a"


async def test_a_save_that_the_journal_cannot_take_is_saved_and_claims_no_draft(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "unrecorded", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        journal = config.state_dir() / JOURNAL
        journal.unlink(missing_ok=True)
        journal.mkdir(parents=True)
        await reader.press("2", "e")
        await reader.sees("column 1 of 1")
        await reader.type("Kept.")
        await reader.press("ctrl+s")
        shown = await reader.sees("documented", "Saved", "cannot be undone")
        assert "Not saved" not in shown
    assert edited(desk, urn, "a") == "Kept."


async def test_drafts_of_one_text_by_two_programs_are_listed_saved_and_discarded_by_themselves(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "twice", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        drafts = await Drafts.at(reader.app._session)

        def kept() -> list[str]:
            return sorted(one.draft.text for one in drafts.all())

        # No process has so high a number: these programs have ended.
        for number, text in enumerate(("older", "newer", "newest"), 4_194_305):
            replace(drafts, process=number).keep(Draft(str(urn), "a", "", text, "twice", "a"))
            [file] = drafts.directory.glob(f"*-{number}.json")
            os.utime(file, (number, number))
        await reader.press("f4")
        await reader.sees("3 drafts, not saved", "older", "newer", "newest")
        await reader.press("delete")
        assert "newest" not in await reader.sees("2 drafts, not saved", "older", "newer")
        await reader.press("ctrl+z")
        await reader.sees("3 drafts, not saved", "newest")
        await reader.press("delete", "end", "enter")
        await reader.sees("This is your unsaved draft", "│ older")
        await reader.press("escape")
        await reader.sees("2 drafts F4")
        assert kept() == ["newer", "older"]
        # What was continued was kept last; it stays when another is continued.
        await reader.press("f4")
        await reader.sees("2 drafts, not saved", "older", "newer")
        await reader.press("end", "enter")
        await reader.sees("This is your unsaved draft", "│ newer")
        await reader.press("ctrl+s")
        await reader.sees("Saved a.")
        await reader.until(lambda: kept() == ["older"])
        await reader.press("escape", "f4")
        await reader.sees("1 draft, not saved", "older")
    assert edited(desk, urn, "a") == "newer"


async def test_an_entity_that_is_gone_is_told_and_the_text_is_kept(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "gone", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("kept")
        with Catalog(data_dir=desk) as catalog:
            catalog.delete(urn)
        await reader.press("ctrl+s")
        await reader.sees("editing.gone", "│ kept", "in this catalog; nothing was written")
        await reader.press("escape", "f4")
        await reader.sees("gone · a", "kept")
        await reader.press("enter")
        # There is nothing to go on with on the server, but the words are here.
        await reader.sees("This is your unsaved draft", "│ kept")


async def test_a_token_that_is_refused_in_the_middle_loses_nothing(
    desk: Path, at: OpenTerminal
) -> None:
    from explorer.client.connection import Connection

    urn = dataset(desk, "refused", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("kept")

        async def refuse(*_: Any, **__: Any) -> None:
            raise NotSignedIn("the server refused the token; give another one")

        # No server of this test can be made to forget who asks.
        catalog = await reader.app._session.catalog()
        connection: Connection = catalog._connection
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(connection, "ask", refuse)
            patched.setattr(connection, "send", refuse)
            await reader.press("ctrl+s")
            await reader.sees("│ kept", "refused the token")
        await reader.press("ctrl+s")
        await reader.sees("Saved a.")
    assert edited(desk, urn, "a") == "kept"


async def test_links_are_added_changed_taken_away_and_put_back(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset(desk, "linked", "a")

    def links() -> Any:
        with Catalog(data_dir=desk) as catalog:
            return [(one.url, one.description) for one in catalog.links(urn)]

    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("L")
        await reader.sees("0 links", "No links yet.")
        await reader.press("a")
        await reader.type("wiki.example.org")
        await reader.press("enter")
        await reader.sees("An address must begin with one of http")
        await reader.press("home")
        await reader.type("https://")
        await reader.press("enter")
        await reader.type("Wiki [bold]")
        await reader.press("enter")
        await reader.sees("Added Wiki [bold].", "https://wiki.example.org", "1 link")
        assert links() == [("https://wiki.example.org", "Wiki [bold]")]
        with Catalog(data_dir=desk) as catalog:
            [stamp] = [one.create_stamp for one in catalog.links(urn)]
            saved = catalog.entity(urn).aspects["institutionalMemory"].created
        # Who the server says wrote it is who the link says added it.
        assert saved is not None
        assert (stamp.actor, stamp.time > 0) == (saved.actor, True)
        await reader.press("e", "tab", "x", "enter")
        await reader.sees("Changed Wiki [bold]x.", "1 link")
        assert links() == [("https://wiki.example.org", "Wiki [bold]x")]
        await reader.press("x", "z")
        assert links() == [("https://wiki.example.org", "Wiki [bold]x")]
        await reader.press("delete")
        await reader.sees("Removed Wiki [bold]x https://wiki.example.org. ^z restores it.")
        assert links() == []
        await reader.press("ctrl+z")
        await reader.sees("Restored Wiki [bold]x.", "1 link")
        await reader.press("escape", "1")
        await reader.sees("Wiki [bold]x")
    assert links() == [("https://wiki.example.org", "Wiki [bold]x")]


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Drafts are found only once the event is set."""
    gate = threading.Event()
    gate.set()
    read = Drafts.read

    def later(self: Drafts, *given: Any) -> Any:
        gate.wait(5)
        return read(self, *given)

    monkeypatch.setattr(Drafts, "read", later)
    yield gate
    gate.set()


@pytest.mark.parametrize("key", [*nightly("escape", "f3"), "ctrl+q"])
async def test_a_draft_that_was_not_shown_yet_survives(
    desk: Path,
    at: OpenTerminal,
    slow_disk: Any,
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "hasty", "a", "b")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("precious")
        await reader.press("escape")
        slow_disk.clear()
        await reader.pilot.press("e", key)
        await asyncio.sleep(0.1)
        slow_disk.set()
        await asyncio.sleep(0.1)
        drafts = await Drafts.at(reader.app._session)
    assert [(one.draft.column, one.draft.text) for one in drafts.all()] == [("a", "precious")]


async def test_a_draft_that_was_not_shown_yet_is_not_saved_unseen(
    desk: Path, at: OpenTerminal, slow_disk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "unseen", "a", "b")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("half a thought")
        await reader.press("escape")
        slow_disk.clear()
        await reader.pilot.press("e", "ctrl+s")
        slow_disk.set()
        await reader.sees("Not saved: a draft was found", "half a thought")
        with Catalog(data_dir=desk) as catalog:
            assert [column.edited for column in catalog.entity(urn).schema] == [None, None]
        await reader.press("ctrl+s")
        await reader.sees("1 of 2 documented", "✎ half a thought")


@pytest.mark.nightly
async def test_a_text_is_no_draft_of_the_column_that_is_on_its_way(
    desk: Path, at: OpenTerminal, slow_disk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "between", "a", "b")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("of a")
        slow_disk.clear()
        await reader.pilot.press("f3", "ctrl+q")
        slow_disk.set()
        drafts = await Drafts.at(reader.app._session)
    assert [(one.draft.column, one.draft.text) for one in drafts.all()] == [("a", "of a")]


async def test_one_may_quit_without_the_drafts_of_a_disk_that_does_not_answer(
    desk: Path, at: OpenTerminal, slow_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.tui.app._DISK_SECONDS", 0.5)
    urn = dataset(desk, "hung", "a")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        slow_disk.clear()
        await reader.pilot.press("2", "e", "ctrl+q")
        await reader.sees("What you typed is not kept as a draft", "Leave", "again")
        assert reader.app.is_running
        # A warning of long ago was about other text.
        monkeypatch.setattr("explorer.tui.app._WARNED_SECONDS", 0)
        await reader.pilot.press("ctrl+q")
        assert reader.app.is_running
        monkeypatch.setattr("explorer.tui.app._WARNED_SECONDS", 60)
        await reader.pilot.press("ctrl+q")
        assert not reader.app.is_running


@pytest.mark.nightly
async def test_what_is_typed_while_a_text_is_saved_is_kept_when_one_quits(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    urn = dataset(desk, "saving", "a")

    class Silent(AsyncCatalog):
        async def describe(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(60)

    async with at(desk, client=lambda: Silent(data_dir=desk), urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("first")
        await reader.pilot.press("ctrl+s", "!")
        await reader.pilot.press("ctrl+q")
        drafts = await Drafts.at(reader.app._session)
    assert [(one.draft.text, one.draft.program) for one in drafts.all()] == [("first!", "terminal")]


@pytest.mark.paints
async def test_a_long_text_is_broken_once_and_drawn_when_it_is_in_its_place(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "long_text", "a")
    lines = [
        f"line {number} of a text that is longer than the pane is wide, and goes on below"
        for number in range(99)
    ]
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, "\n".join(lines))
    broken: list[str] = []
    drawn: list[bool] = []
    find_breaks, render = text_area._narrow_breaks, Compositor.render_update

    def breaks(line: str, width: int) -> list[int] | None:
        if width:
            broken.append(line)
        return find_breaks(line, width)

    monkeypatch.setattr(text_area, "_narrow_breaks", breaks)
    # On a busy machine it is drawn without the text rather than late.
    monkeypatch.setattr(editor, "_UNPAINTED_SECONDS", 60)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")

        def rendered(self: Compositor, *given: Any, **more: Any) -> Any:
            screen = reader.app.screen
            # Textual draws while a batch lasts too, and shows nothing of it.
            is_shown = screen._compositor is self and not reader.app._batch_count
            if isinstance(screen, EditorScreen) and is_shown:
                drawn.append(screen._opened.is_set())
            return render(self, *given, **more)

        monkeypatch.setattr(Compositor, "render_update", rendered)
        await reader.press("E")
        await reader.sees("line 98 of a text")
    assert drawn
    assert all(drawn)
    assert [line for line in broken if line] == lines


def painted(monkeypatch: pytest.MonkeyPatch, note: Callable[[EditorScreen], None]) -> None:
    """Have every painting of an editor noted."""
    render = Compositor.render_update

    def rendered(self: Compositor, *given: Any, **more: Any) -> Any:
        update = render(self, *given, **more)
        for screen in app_screens():
            if screen._compositor is self and not screen.app._batch_count:
                note(screen)
        return update

    def app_screens() -> list[EditorScreen]:
        return [one for one in active_app.get().screen_stack if isinstance(one, EditorScreen)]

    monkeypatch.setattr(Compositor, "render_update", rendered)


@pytest.mark.paints
async def test_the_preview_is_rendered_once_and_after_the_text_was_painted(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "previewed", "a")
    text = "- an item of a **long** list\n" * 2_000
    with Catalog(data_dir=desk) as catalog:
        catalog.describe(urn, text)
    done: list[str] = []
    widths: list[tuple[str, int]] = []
    render = editor._render_lines

    def preview(rendered: str, width: int) -> list[Text]:
        done.append(rendered)
        widths.append((rendered, width))
        return render(rendered, width)

    painted(monkeypatch, lambda _: done.append("painted"))
    monkeypatch.setattr(editor, "_render_lines", preview)
    # On a busy machine it is drawn without the text rather than late.
    monkeypatch.setattr(editor, "_UNPAINTED_SECONDS", 60)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.sees("• an item of a long list")
        # After the pause in which a draft would be kept it is asked for once more.
        await asyncio.sleep(2 * editor._PAUSE_SECONDS)
        await reader.settle()
        await reader.press("x")
        await reader.until(lambda: f"{text}x" in done)
    assert done[0] == "painted"
    assert list(dict.fromkeys(one for one, _ in widths)) == [text, f"{text}x"]
    assert len(set(widths)) == len(widths), [(len(one), width) for one, width in widths]


async def test_a_preview_that_nobody_waits_for_any_more_is_not_rendered_twice(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "previewed_once", "a")
    done: list[str] = []
    go_on = threading.Event()
    render = editor._render_lines

    def preview(rendered: str, width: int) -> list[Text]:
        done.append(rendered)
        assert go_on.wait(60)
        return render(rendered, width)

    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.sees("^s save")
        shown = reader.app.screen.query_one(editor.Preview)
        monkeypatch.setattr(editor, "_render_lines", preview)
        first = asyncio.create_task(shown.show_text("**given up**"))
        await reader.until(lambda: done)
        first.cancel()
        await asyncio.wait([first])
        again = asyncio.create_task(shown.show_text("**given up**"))
        await asyncio.sleep(0)
        go_on.set()
        await again
        assert "given up" in await reader.sees("given up")
    assert done == ["**given up**"]


async def test_an_editor_whose_widgets_are_removed_as_it_opens_ends_quietly(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "closed", "a")
    ends: list[bool] = []
    mounted = EditorScreen.on_mount

    async def mount(self: EditorScreen) -> None:
        # As where the program ends: the widgets are removed one after another.
        await self.query_one(DescriptionArea).remove()
        mounted(self)
        ends.append(True)

    monkeypatch.setattr(EditorScreen, "on_mount", mount)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.until(lambda: bool(ends))


async def test_the_widgets_of_the_editor_are_styled_for_the_width_that_there_is(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "styled", "a")
    known: list[bool] = []
    mounted = EditorScreen.on_mount

    def mount(self: EditorScreen) -> None:
        known.append(any(map(self.has_class, ("-narrow", "-medium", "-wide"))))
        mounted(self)

    monkeypatch.setattr(EditorScreen, "on_mount", mount)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.sees("^s save")
    assert known == [True]


async def test_what_stands_above_the_text_is_laid_out_when_it_changes(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "above", "a")
    said: dict[str | None, list[str]] = {}
    update = Static.update

    def updated(self: Static, content: Any = "", **more: Any) -> None:
        said.setdefault(self.id, []).append(str(content))
        update(self, content, **more)

    monkeypatch.setattr(Static, "update", updated)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.sees("^s save")
        await asyncio.sleep(2 * editor._PAUSE_SECONDS)
        await reader.type("x")
        await reader.sees("draft saved")
    titles = said["title"]
    assert len(titles) == len(set(titles)) == 2


async def test_a_draft_is_kept_while_a_long_preview_is_still_rendered(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = dataset(desk, "slow_preview", "a")
    render, gate = editor._render_lines, threading.Event()
    ended: list[str] = []

    def preview(text: str, width: int) -> list[Text]:
        if text.endswith("x"):
            gate.wait(20)
            ended.append(text)
        return render(text, width)

    monkeypatch.setattr(editor, "_render_lines", preview)
    async with at(desk, urn=urn) as reader:
        await reader.sees("a · int")
        await reader.press("E")
        await reader.sees("^s save")
        await reader.pilot.press("x")
        try:
            await reader.sees("draft saved")
            assert ended == []
        finally:
            gate.set()
