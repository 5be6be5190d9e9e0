"""Browsing: folders of any size, filtered, reloaded, and where an entity stands in them."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import Unreachable
from explorer.metadata import Proposal, Urn
from explorer.sessions.browse import PAGE
from explorer.tui.app import CatalogApp
from explorer.tui.screens.browse import BrowseTree, FolderRows
from explorer.tui.screens.search_results import ResultRows
from explorer.tui.state import TerminalState
from tests.conftest import SampleAt
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

HUGE = 1_200
TWICE = Urn.dataset("hive", "huge.t_0777")
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
GONE = Urn.dataset("hive", "huge.t_gone")


def proposals() -> Iterator[Any]:
    for number in range(HUGE):
        paths = ["/prod/hive/huge", *(["/team/s10"] if number == 777 else [])]
        urn = Urn.dataset("hive", f"huge.t_{number:04}")
        yield Proposal(urn, "browsePaths", {"paths": paths})
    yield Proposal(Urn.dataset("hive", "few"), "browsePaths", {"paths": ["/team/s2"]})
    for name in ("x10", "x2", "x1"):
        yield Proposal(Urn.dataset("hive", name), "browsePaths", {"paths": ["/team/s2"]})
    yield Proposal(GONE, "browsePaths", {"paths": ["/team/s2"]})
    yield Proposal(GONE, "status", {"removed": True})
    for below, above in (("Inner", "Outer"), ("Outer", None)):
        parent = {"parentNode": f"urn:li:glossaryNode:{above}"} if above else {}
        urn = Urn.parse(f"urn:li:glossaryNode:{below}")
        yield Proposal(urn, "glossaryNodeInfo", {"definition": "", "name": below, **parent})


@pytest.fixture(scope="module")
def large(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The sample, and a folder of more than a thousand entries."""
    with sample_at(tmp_path_factory.mktemp("large") / "catalog") as directory:
        with Catalog(data_dir=directory) as catalog:
            report = catalog.ingest_batch(proposals())
            assert not report.refused
        yield directory


def tree_of(reader: Reader) -> Any:
    return reader.app.query_one(BrowseTree)


def folder_of(reader: Reader) -> Any:
    """The folder under the cursor."""
    return tree_of(reader)._row_at_cursor.branch


def under_cursor(reader: Reader) -> Any:
    """The row under the cursor, as it is on the screen."""
    rows = reader.app.query_one(FolderRows)
    line = reader.screen().splitlines()[rows.region.y + rows.cursor - rows.scroll_offset.y]
    return line.split("│")[0].strip()


async def until(reader: Reader, so: Any) -> None:
    deadline = time.monotonic() + 120
    while not so():
        assert time.monotonic() < deadline, reader.screen()
        await asyncio.sleep(0.02)
        await reader.pilot.pause()


@pytest.mark.nightly
async def test_a_folder_of_more_than_a_thousand_is_read_where_it_is_looked_at(
    large: Any, at: OpenTerminal
) -> None:
    async with at(large) as reader:
        await reader.sees("▾ datasets", "▸ prod", "▸ team")
        await reader.press("f6", "down", "down", "right", "down", "down")
        assert under_cursor(reader) == "▸ hive 1,200"
        await reader.press("space", "down", "l", "j")
        await reader.sees("▾ huge 1,200", "huge.t_0000", "1 of 1,200 entries")
        folder = folder_of(reader)
        assert set(folder.pages) == {0}
        await reader.press("G")
        await reader.sees("huge.t_1199", "1,200 of 1,200 entries")
        assert set(folder.pages) == {0, HUGE // PAGE - 1}
        await reader.press("g", *["pagedown"] * 3)
        await until(reader, lambda: set(folder.pages) == {0, HUGE // PAGE - 1})
        place = int(reader.screen().split(" of 1,200 entries")[0].split()[-1])
        assert under_cursor(reader) == f"huge.t_{place - 1:04}"
        await reader.press(*["pagedown"] * 3)
        await until(reader, lambda: 1 in folder.pages)
        await reader.press("ctrl+u", "k", "ctrl+d")

        filtered_at = reader.screen().split(" of 1,200 entries")[0].split()[-1]
        await reader.press("f")
        await reader.type("_077")
        await reader.sees("“_077” 10", "huge.t_0777")
        await reader.press("enter", *["down"] * 7, "enter")
        await reader.sees("●", "huge.t_0777")
        await reader.press("f6")
        assert under_cursor(reader) == "●" + " " * 10 + "huge.t_0777"
        await reader.press("escape")
        # Back to where it was before.
        assert "show all" not in await reader.sees(f"{filtered_at} of 1,200 entries")

        await reader.press("f")
        await reader.type("_0777")
        await reader.sees("“_0777” 1")
        await reader.press("escape")
        await reader.sees(f"{filtered_at} of 1,200 entries")

        await reader.press("h", "r")
        await reader.sees("▾ huge 1,200", "huge.t_0000", "Refreshing the folder")
        width = tree_of(reader).size.width
        await reader.press("greater_than_sign", "greater_than_sign", "b", "b")
        assert tree_of(reader).size.width > width
        await reader.press(*["less_than_sign"] * 9)
        assert tree_of(reader).size.width < width


async def test_what_is_open_is_shown_at_each_of_its_places(large: Any, at: OpenTerminal) -> None:
    async with at(large, urn=TWICE) as reader:
        await reader.sees("▸ team", "entities")
        await reader.press("full_stop")
        await reader.sees("778 of 1,200 entries", "Place 1 of 2")
        assert under_cursor(reader) == "●          huge.t_0777"
        # The first page, the one on which it stands, and perhaps the next.
        assert {0, 777 // PAGE} <= set(folder_of(reader).pages) <= {0, 777 // PAGE, 777 // PAGE + 1}
        await reader.press("full_stop")
        await reader.sees("▾ s10 1", "1 of 1 entry", "Place 2 of 2")
        assert "●" in under_cursor(reader)
        await reader.press("full_stop")
        await reader.sees("Place 1 of 2", "778 of 1,200 entries")


async def test_groups_hold_their_groups_and_folders_count_naturally(
    large: Any, at: OpenTerminal
) -> None:
    outer = Urn.parse("urn:li:glossaryNode:Inner")
    async with at(large, urn=outer) as reader:
        await reader.sees("▸ glossary groups")
        await reader.press("full_stop")
        await reader.sees("▾ Outer", "▸ Inner")
        assert under_cursor(reader) == "●    ▸ Inner"
        await reader.press("right")
        await reader.sees("empty")
    async with at(large, size=(80, 24), urn=GONE) as reader:
        await reader.sees("SOFT-DELETED")
        await reader.press("f6", "G", "g", "down", "down", "down", "right", "down", "right")
        shown = await reader.sees("▾ team", "▾ s2 4")
        assert shown.index("▾ s2") < shown.index("▸ s10")
        order = [shown.index(f"  {name}\n") for name in ("few", "x1", "x2", "x10")]
        assert order == sorted(order)
        assert "gone" not in shown


async def test_it_can_be_used_in_a_very_small_terminal(large: Any, at: OpenTerminal) -> None:
    async with at(large, size=(40, 10), urn=TWICE) as reader:
        await reader.settle()
        await reader.press("full_stop")
        await reader.sees("● ")
        assert "huge.t_0777" in under_cursor(reader)
        await reader.press("h", "f")
        await reader.type("0778")
        await reader.press("enter", "enter")
        await reader.sees("huge.t_0778", "hive")


class Wire:
    """A server of which every folder can fail or be slow; tags lie in no folder."""

    def __init__(self, entries: int = 500, tags: int = 0) -> None:
        self.entries = entries
        self.tags = tags
        self.failing: set[int] = set()
        self.held: dict[int, asyncio.Event] = {}
        self.asked: list[Any] = []

    async def close(self) -> None:
        """Nothing is held."""

    async def send(self, request: Any) -> Any:
        path, body = unquote(request.path), request.body or {}
        if "action=browse" in path:
            return await self.browse(body)
        if "batchGetTotalEntityCount" in path:
            counted = {"dataset": self.entries, "tag": self.tags}
            return self.said({name: number for name, number in counted.items() if number})
        if "action=search" in path and body.get("entity") == "tag":
            return self.listed(body)
        return self.said({"from": 0, "numEntities": 0, "entities": [], "metadata": {}})

    async def browse(self, body: Any) -> Any:
        self.asked.append((body["path"], body["start"]))
        hold = self.held.get(body["start"])
        if hold is not None:
            await hold.wait()
        if body["start"] in self.failing:
            raise Unreachable("no catalog answers at http://nowhere; is it running?")
        if body["entity"] == "tag":
            return self.said({"numEntities": 0, "numElements": 0, "entities": [], "metadata": {}})
        numbers = range(body["start"], min(self.entries, body["start"] + body["limit"]))
        entities = [
            {"name": f"t{one:05}", "urn": str(Urn.dataset("hive", f"t{one:05}"))} for one in numbers
        ]
        total = {"numEntities": self.entries, "numElements": self.entries}
        return self.said({**total, "from": body["start"], "entities": entities, "metadata": {}})

    def listed(self, body: Any) -> Any:
        start = body["start"]
        assert start + body["count"] <= 10_000, "further than servers count"
        entities = [f"urn:li:tag:g{one:05}" for one in range(start, start + body["count"])]
        found = [{"entity": urn} for urn in entities]
        return self.said({"from": start, "numEntities": self.tags, "entities": found})

    def said(self, value: Any) -> Any:
        return 200, orjson.dumps({"value": value, "results": {}, "entities": []})


async def test_the_key_line_says_what_r_does_in_the_folders(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.press("f6")
        shown = await reader.sees("▾ datasets")
        assert "r refresh" in shown.splitlines()[-1]


@pytest.mark.nightly
async def test_a_folder_that_cannot_be_read_says_so_and_is_tried_again(at: OpenTerminal) -> None:
    wire = Wire()
    wire.failing = {0, 400}
    async with at(None, transport=wire, size=(120, 24)) as reader:
        await reader.sees("could not be read", "datasets 500")
        await reader.press("f6", "down")
        await reader.sees("⏎ retries")
        wire.failing = {400}
        await reader.press("enter")
        await reader.sees("t00000", "1 of 500 entries")
        await reader.press("G")
        await reader.sees("could not be read", "500 of 500")
        assert "t00399" not in under_cursor(reader)
        asked = len(wire.asked)
        await reader.press("up")
        assert len(wire.asked) == asked
        wire.failing = set()
        await reader.press("r")
        await reader.sees("t00498", "499 of 500 entries")


async def test_a_late_answer_is_kept_and_moves_nothing(at: OpenTerminal) -> None:
    wire = Wire(2_000)
    async with at(None, transport=wire) as reader:
        await reader.sees("t00000")
        wire.held = {1_800: asyncio.Event(), 0: asyncio.Event()}
        late = wire.held[1_800]
        await reader.pilot.press("f6", "down", "G")
        await reader.sees("2,000 of 2,000 entries", "…")
        await reader.pilot.press("k", "k", "g", "down", "down", "enter")
        await reader.sees("3 of 2,000 entries", "t00002")
        late.set()
        await reader.settle()
        assert "3 of 2,000 entries" in reader.screen()
        assert "t00002" in under_cursor(reader)
        asked = list(wire.asked)
        await reader.press("f6", "G", "G")
        await reader.press("k")
        assert wire.asked == asked
        assert len({start for _, start in wire.asked}) < 5


class Refusing(Wire):
    """A server that lets nobody read a folder."""

    async def browse(self, body: Any) -> Any:
        await super().browse(body)
        return 403, orjson.dumps({"status": 403, "message": "not for you"})


@pytest.mark.parametrize("server", [Wire, Refusing])
async def test_a_folder_that_is_answered_while_the_program_ends_is_no_error(
    server: type[Wire], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    wire = server()
    wire.held = {0: asyncio.Event()}
    app = CatalogApp(lambda: AsyncCatalog(transport=wire))

    async def answer_once_the_rows_are_gone() -> None:
        # Textual tells nobody that it has removed a widget from its tree.
        while tree.query(FolderRows):  # noqa: ASYNC110
            await asyncio.sleep(0)
        # The rows go before the tree, whose worker waits for the answer.
        assert tree.is_attached
        wire.held[0].set()

    # It raises what a worker raised until the program has ended.
    async with app.run_test(size=(120, 36)) as pilot:
        while not wire.asked:
            await pilot.pause()
        tree = app.query_one(BrowseTree)
        answering = asyncio.create_task(answer_once_the_rows_are_gone())
    await answering
    # What nobody foresaw in a worker is kept in a log file.
    assert not (tmp_path / "catalog-tui.log").exists()


async def test_types_without_folders_are_listed_as_far_as_servers_count(at: OpenTerminal) -> None:
    async with at(None, transport=Wire(3, tags=25_000)) as reader:
        await reader.sees("tags 25,000")
        await reader.press("f6", "end", "end", "right", "down")
        await reader.sees("g00000", "1 of 10,000 entries")
        await reader.press("end")
        await reader.sees("g09999")
        await reader.press("down")
        await reader.sees("15,000 more", "lists end at", "f searches all")


async def test_an_empty_catalog_says_how_to_load_one(at: OpenTerminal) -> None:
    async with at(None, transport=Wire(0)) as reader:
        await reader.sees("nothing here yet", "load FILE")


async def test_how_wide_the_folders_are_is_remembered(
    large: Any, at: OpenTerminal, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    async with at(large, remembered=TerminalState(file)) as reader:
        await reader.press("f6", "greater_than_sign", "greater_than_sign")
        width = tree_of(reader).size.width
    async with at(large, remembered=TerminalState(file)) as reader:
        assert tree_of(reader).size.width == width > 31
    told = TerminalState(file)
    told.set("tree_width", 100)
    async with at(large, remembered=told) as reader:
        # The page beside them keeps some room.
        assert tree_of(reader).region.width <= 72


async def test_b_folds_the_folders_at_once_and_f6_goes_to_them(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(120, 36)) as reader:
        await reader.sees("datasets 165", "results")
        await reader.press("b")
        await reader.settle()
        assert "datasets 165" not in reader.screen()
        await reader.press("f6")
        tree = reader.app.query_one(BrowseTree)
        assert tree.display
        assert tree.has_focus_within
        await reader.press("f6")
        assert tree.display
        assert not tree.has_focus_within


async def test_below_115_columns_the_results_have_the_room(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, size=(100, 30)) as reader:
        shown = await reader.sees("results", "platform")
        assert "datasets 165" not in shown
        assert reader.app.query_one(ResultRows).size.width >= 70
        await reader.press("b")
        await reader.sees("datasets 165")
        await reader.press("b")
        assert "datasets 165" not in reader.screen()


async def test_at_100_columns_tabs_keep_their_words(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, size=(100, 30), urn=ORDERS) as reader:
        words = ("Overview", "Columns", "Lineage", "Relationships", "Usage", "Profile", "History")
        await reader.sees(*(f"{at} {word}" for at, word in enumerate(words, 1)), "8 Raw")


async def test_the_tabs_of_an_entity_are_chosen_from_the_folders_too(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(120, 36), urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("f6", "8")
        await reader.sees("datasetProperties")
        assert not reader.app.query_one(BrowseTree).has_focus_within
