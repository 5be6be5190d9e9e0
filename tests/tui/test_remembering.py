"""What was open, and what was chosen, is there again the next time."""

import asyncio
import json
from pathlib import Path

import pytest

from explorer.config import note_catalog, state_keys
from explorer.config.servers import identity_of_directory
from explorer.metadata import Urn
from explorer.tui.state import ServerState, TerminalState, VisitHistory
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

FIRST = Urn.dataset("snowflake", "analytics.marts.fct_orders")
SECOND = Urn.dataset("snowflake", "analytics.marts.dim_customers")


async def test_what_is_told_is_known_at_once_and_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "state.json"
    told = TerminalState(file)
    assert (told.theme, told.tree_width, told.has_seen("welcome")) == (None, None, False)
    told.set("theme", "light")
    told.set("tree_width", 41)
    told.note_seen("welcome")
    told.note_place("here", ServerState(("a", "b"), "b"))
    assert told.theme == "light"
    await told.close()
    again = TerminalState(file)
    assert (again.theme, again.tree_width, again.has_seen("welcome")) == ("light", 41, True)
    assert again.place("here") == ServerState(("a", "b"), "b")
    assert again.place("elsewhere") == ServerState()


async def test_of_two_programs_neither_takes_back_what_only_the_other_changed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "state.json"
    one, other = TerminalState(file), TerminalState(file)
    one.set("theme", "dark")
    await one.close()
    other.set("tree_width", 20)
    other.note_place("there", ServerState(("x",), "x"))
    await other.close()
    one.note_seen("welcome")
    await one.close()
    last = TerminalState(file)
    assert (last.theme, last.tree_width, last.has_seen("welcome")) == ("dark", 20, True)
    assert last.place("there").last == "x"


async def test_many_changes_at_once_are_all_written(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    many = [TerminalState(file) for _ in range(5)]
    for number, one in enumerate(many):
        for step in range(10):
            one.set(f"{number}.{step}", step)
    await asyncio.gather(*(one.close() for one in many))
    assert len(json.loads(file.read_text())["settings"]) == 50


@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": 3}', "\x00\xff"])
async def test_a_damaged_file_counts_as_empty_and_is_mended(tmp_path: Path, text: str) -> None:
    file = tmp_path / "state.json"
    file.write_text(text)
    one = TerminalState(file)
    assert one.theme is None
    one.set("theme", "dark")
    await one.close()
    assert TerminalState(file).theme == "dark"


async def test_what_cannot_be_written_is_remembered_until_the_end(tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    one = TerminalState(blocked / "state.json")
    one.set("theme", "dark")
    await one.close()
    assert one.theme == "dark"


def test_the_way_back_leads_into_the_run_before_and_the_last_two_take_turns() -> None:
    history = VisitHistory([FIRST, SECOND], SECOND)
    assert history.last(None) == SECOND
    assert history.visited == (FIRST, SECOND)
    # This run began at the search, before which lies the earlier one.
    assert [history.back() for _ in range(5)] == [None, SECOND, FIRST, None, None]
    assert history.forward() == FIRST
    assert history.last(FIRST) == SECOND
    assert history.last(SECOND) == FIRST
    assert VisitHistory().last(None) is None
    assert VisitHistory([FIRST, SECOND]).back() == SECOND


async def test_a_reader_goes_back_to_what_was_open_before_the_restart(
    sample: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    async with at(sample, urn=FIRST, server="s", remembered=TerminalState(file)) as reader:
        await reader.sees("fct_orders", "documented")
    async with at(sample, server="s", remembered=TerminalState(file)) as reader:
        await reader.sees("results")
        await reader.press("minus")
        await reader.sees("fct_orders", "documented")
        await reader.press("left_square_bracket")
        await reader.sees("results")
        await reader.press("right_square_bracket")
        await reader.sees("documented")
    async with at(sample, server="s", last=True, remembered=TerminalState(file)) as reader:
        await reader.sees("fct_orders", "documented")
    async with at(sample, server="other", remembered=TerminalState(file)) as reader:
        await reader.sees("results")
        await reader.press("minus")
        await reader.sees("No other page was open before")


async def test_what_was_open_in_another_catalog_that_was_at_the_address_is_not_gone_back_to(
    sample: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    server, visited = identity_of_directory(sample), ServerState((str(FIRST),), str(FIRST))
    note_catalog(server, "another")
    state = TerminalState(tmp_path / "state.json")
    state.note_place(state_keys(server)[0], visited)
    async with at(sample, server=server, remembered=state) as reader:
        await reader.until(lambda: state_keys(server)[0] != "catalog another")
        await reader.sees("results")
        await reader.press("minus")
        await reader.sees("No other page was open before")
    assert state.place("catalog another") == visited


async def test_back_from_the_search_is_to_the_page_that_was_left_for_it(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=Urn.dataset("snowflake", "analytics.marts.fct_orders")) as reader:
        await reader.sees("documented")
        reader.app._open(Urn.dataset("snowflake", "analytics.marts.dim_customers"))
        await reader.sees("dim_customers   ")
        await reader.press("slash", "escape", "left_square_bracket")
        await reader.sees("dim_customers   ")
        await reader.press("left_square_bracket")
        await reader.sees("fct_orders   ")
        await reader.press("left_square_bracket")
        await reader.sees("results")


async def test_a_search_that_cannot_be_remembered_is_made_without_a_word_of_that(
    at: OpenTerminal, desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    (tmp_path / "searches").write_text("no directory")
    async with at(desk) as reader:
        await reader.sees("fct_orders")
        await reader.ask("dim_customers")
        await reader.press("enter")
        shown = await reader.sees("dim_customers", "results")
        assert "cannot be saved" not in shown
