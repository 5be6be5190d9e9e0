"""A reader finds a table, looks at it and documents a column; it is there ever after."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from explorer.tui.screens.search import SearchView
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
FOLLOWING = Urn.dataset("snowflake", "analytics.marts.fct_returns")


def columns_of(directory: Path, urn: Urn = ORDERS) -> Any:
    with Catalog(data_dir=directory) as catalog:
        return {column.path.raw: column for column in catalog.entity(urn).schema}


async def test_the_first_screen_shows_the_catalog_before_anything_is_typed(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        shown = await reader.sees("datasets", "dashboards", "results")
        assert "on this machine" in shown


async def test_typing_finds_completes_and_opens(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("fct_ord")
        await reader.sees("⇥ fct_orders", "best first")
        await reader.press("tab")
        await reader.sees("│ fct_orders")
        await reader.press("enter", "enter")
        await reader.sees("Columns·", "documented", "order_id", "Surrogate key of an order.")


async def test_what_is_typed_before_the_first_answer_is_not_lost(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("fct_ord")
        # As a slow start would, after somebody was quicker.
        reader.app.query_one(SearchView).start("")
        await reader.settle()
        await reader.sees("│ fct_ord", "best first")


async def test_a_facet_is_taken_on_and_off_by_its_number(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("orders")
        everything = await reader.sees("best first", "results")
        await reader.press("enter", "1")
        await reader.sees("orders type:dataset", "● dataset")
        await reader.press("x")
        assert "type:dataset" not in await reader.sees(_count(everything))


def _count(screen: Any) -> Any:
    return next(word for word in screen.split("│") if " results" in word).split("·")[0].strip()


async def test_folders_are_read_as_they_are_unfolded(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.press("f6", "down", "down", "right")
        await reader.sees("snowflake", "postgres")
        await reader.press("b")
        assert "datasets" not in reader.screen()
        await reader.press("b")
        await reader.sees("datasets", "▸ postgres")


async def test_a_column_is_described_and_stays_described(desk: Path, at: OpenTerminal) -> None:
    assert not columns_of(desk)["status"].documented
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("order_id")
        await reader.press("u")
        await reader.sees("status", "no description")
        await reader.press("e")
        await reader.type("Where the order *stands*")
        await reader.press("ctrl+s")
        await reader.sees("✎", "Where the order stands", "Saved status")
    column = columns_of(desk)["status"]
    assert column.edited == "Where the order *stands*"
    assert column.ingested is None
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("Where the order stands")


async def test_saving_goes_on_to_the_next_column_without_a_description(
    desk: Path, at: OpenTerminal
) -> None:
    async with at(desk, urn=FOLLOWING) as reader:
        await reader.sees("documented")
        undocumented = [
            path for path, one in columns_of(desk, FOLLOWING).items() if not one.documented
        ]
        await reader.press("u", "e")
        await reader.type("First")
        await reader.press("ctrl+n")
        await reader.type("Second")
        await reader.press("ctrl+s")
        await reader.sees("Saved")
    after = columns_of(desk, FOLLOWING)
    written = [path for path in undocumented if after[path].documented]
    assert sorted(after[path].edited for path in written) == ["First", "Second"]


async def test_the_description_of_a_dataset_is_edited_byte_for_byte(
    desk: Path, at: OpenTerminal
) -> None:
    text = "# Head\n\n\ttabbed  \n| a | b |\n"
    urn = Urn.dataset("snowflake", "analytics.marts.fct_payments")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("E")
        from textual.widgets import TextArea

        reader.app.screen.query_one(TextArea).text = text
        await reader.press("ctrl+s")
        await reader.sees("Saved")
    with Catalog(data_dir=desk) as catalog:
        assert catalog.entity(urn).edited_description == text


async def test_what_was_typed_and_not_saved_is_there_again(desk: Path, at: OpenTerminal) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.fct_shipments")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("e")
        await reader.type(" half a thought")
        await reader.press("escape")
        await reader.sees("Columns·")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("e")
        await reader.sees("half a thought", "your unsaved draft")
        await reader.press("ctrl+r", "escape")


async def test_a_text_that_somebody_else_changed_meanwhile_is_not_overwritten(
    desk: Path, at: OpenTerminal
) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.dim_customers")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        path = next(iter(columns_of(desk, urn)))
        await reader.press("e")
        await reader.type(" mine")
        with Catalog(data_dir=desk) as catalog:
            catalog.describe(urn, "theirs", column=path)
        await reader.press("ctrl+s")
        await reader.sees("theirs", "Not saved")
        # Nothing that may have been meant for the text writes over theirs.
        await reader.press(*"mt", "ctrl+s", "enter")
        assert columns_of(desk, urn)[path].edited == "theirs"
        await reader.press("ctrl+o")
        await reader.sees("Saved")
    assert columns_of(desk, urn)[path].edited.endswith(" mine")


async def test_relationships_are_followed_and_the_way_back_is_kept(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("Columns·")
        await reader.press("4")
        await reader.sees("feeds", "made from", "stg_orders")
        await reader.press("enter")
        shown = await reader.sees("1 Overview")
        assert "fct_orders   " not in shown
        await reader.press("left_square_bracket")
        await reader.sees("fct_orders   ")
        await reader.press("left_square_bracket")
        await reader.sees("results")
        await reader.press("right_square_bracket")
        await reader.sees("fct_orders   ")


async def test_help_says_the_keys_that_work_here(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("Columns·")
        await reader.press("question_mark")
        await reader.sees("Columns  here", "Edit this column's description", "Entity  here")
        await reader.type("from anywhere")
        shown = await reader.sees("Quit from anywhere", "Everywhere  here")
        assert "Edit this column" not in shown
        await reader.press("escape")
        await reader.sees("documented")


async def test_everything_can_be_found_by_name(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("Columns·")
        await reader.press("colon")
        await reader.type("relationships")
        await reader.press("enter")
        await reader.sees("made from")


async def test_what_is_not_in_the_catalog_is_said(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=Urn.dataset("hive", "never.written")) as reader:
        await reader.sees("Not in the catalog")


async def test_a_draft_is_not_shared_with_a_terminal_that_is_open_beside_it(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:

    urn = Urn.dataset("snowflake", "analytics.marts.fct_sessions")
    async with at(desk, urn=urn) as first, at(desk, urn=urn) as second:
        await first.sees("documented")
        await second.sees("documented")
        await first.press("e")
        await first.type(" of the first")
        await asyncio.sleep(0.5)
        # Both readers are of this process; the second is made to be of another one.
        monkeypatch.setattr(os, "getpid", lambda: 1)
        await second.press("e")
        assert "of the first" not in second.screen()
        await second.type(" of the second")
        await second.press("escape")
        monkeypatch.undo()
        await first.press("escape", "e")
        await first.sees("of the first")
        await first.press("ctrl+r", "escape")


async def test_going_back_finds_the_tab_that_was_left(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("Columns·")
        await reader.press("4")
        await reader.sees("made from")
        await reader.press("enter")
        await reader.sees("1 Overview")
        await reader.press("left_square_bracket")
        await reader.sees("fct_orders   ", "made from")


async def test_reverting_can_be_undone(desk: Path, at: OpenTerminal) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.dim_products")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("e")
        await reader.type(" more words")
        await reader.press("ctrl+r")
        assert "more words" not in reader.screen()
        await reader.press("ctrl+z")
        await reader.sees("more words")
        await reader.press("ctrl+r", "escape")
