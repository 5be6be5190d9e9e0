"""Finding by keys: words and conditions, completions, facets, order, pages, saved searches."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key

from explorer.client import AsyncCatalog
from explorer.errors import Busy, Unreachable
from explorer.metadata import Urn
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.search_results import ResultRows
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
REMOVED = Urn.dataset("snowflake", "analytics.sandbox.tmp_orders_backfill")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the searches of another."""
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))


class Gated(AsyncCatalog):
    """The catalog, its answers to searches held back as long as the gate is shut."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: Exception | None = None
        self.asked: list[str] = []

    async def search(self, text: str = "*", **further: Any) -> Any:
        self.asked.append(text)
        await self.gate.wait()
        if self.failing:
            raise self.failing
        return await super().search(text, **further)


def burst(reader: Reader, text: Any) -> None:
    """Every key at once, as a paste without brackets or a script sends them."""
    for char in text:
        key = "enter" if char == "\n" else _character_to_key(char)
        reader.app.post_message(events.Key(key, None if char == "\n" else char))


async def test_words_and_a_filter_are_typed_together_and_a_wrong_one_empties_nothing(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.ask("orders platform:snowflake AND tags:PII")
        shown = await reader.sees("5 results", "best first", "fct_orders")
        assert "postgres" not in shown.split("best first")[1]
        await reader.press("end")
        reader.app.post_message(events.Paste(" AND nosuch:x"))
        shown = await reader.sees("nknown field", "»nosuch«")
        assert "fct_orders" in shown
        # Enter does not lead on to results that are not those of the text.
        await reader.press("enter")
        assert reader.box.has_focus
        await reader.ask("name:*_orders OR (tags:PII AND NOT platform:snowflake)")
        await reader.sees("results")
        await reader.ask("orders platform:snow")
        await reader.sees("No match yet", "fct_")
        await reader.press("enter")
        await reader.sees("No results", "x clears the conditions")


async def test_a_burst_of_keys_finds_and_opens_the_first_result_of_what_was_typed(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        for name in ("fct_refunds", "dim_stores", "fct_orders", "stg_orders"):
            burst(reader, f"/{name}\n\n")
            await reader.sees(f" {name} ", "Columns·")
            assert reader.box.value == name
        # What follows is for the page that is opened, not for the facets.
        burst(reader, "/fct_refunds\n\n2")
        await reader.sees(" fct_refunds ", "Columns·")
        assert reader.box.value == "fct_refunds"


async def test_a_second_enter_waits_for_the_answer_and_a_slow_server_slows_no_typing(
    sample: Path, at: OpenTerminal
) -> None:
    catalogs = []

    def client() -> Any:
        catalogs.append(Gated(sample))
        return catalogs[-1]

    async with at(sample, client=client) as reader:
        await reader.sees("results")
        catalog = catalogs[0]
        catalog.gate.clear()
        burst(reader, "/fct_refunds\n\n")
        await reader.until(lambda: catalog.asked[-1] == "fct_refunds")
        await reader.sees("│ fct_refunds", "searching …")
        assert "Columns·" not in reader.screen()
        catalog.gate.set()
        await reader.sees(" fct_refunds ", "Columns·")


@pytest.mark.nightly
async def test_what_is_typed_while_the_answer_comes_goes_behind_what_was_typed_before(
    sample: Path, at: OpenTerminal
) -> None:
    catalogs = []

    def client() -> Any:
        catalogs.append(Gated(sample))
        return catalogs[-1]

    async with at(sample, client=client) as reader:
        await reader.sees("results")
        catalog = catalogs[0]
        for turns in (1, 2, 3, 5, 8):
            catalog.gate.clear()
            asked = len(catalog.asked)
            burst(reader, "/fct_refunds\n\n")
            await reader.until(partial(lambda asked: "fct_refunds" in catalog.asked[asked:], asked))
            await reader.sees("│ fct_refunds", "searching …")
            word = "visits and whatever comes of them, by day, week and month"
            for at_letter, letter in enumerate(f"/{word}"):
                burst(reader, letter)
                if at_letter == 3:
                    catalog.gate.set()
                for _ in range(turns):
                    await asyncio.sleep(0)
            await reader.sees(f"│ {word}")
            assert reader.box.value == word
            await reader.press("escape", "escape", "left_square_bracket")
            await reader.press("right_square_bracket")
            await reader.sees(" fct_refunds ", "Columns·")
            await reader.press("slash", "escape")


async def test_loading_failing_and_finding_nothing_look_different(
    sample: Path, at: OpenTerminal
) -> None:
    catalogs = []

    def client() -> Any:
        catalogs.append(Gated(sample))
        return catalogs[-1]

    async with at(sample, client=client) as reader:
        await reader.sees("results")
        await reader.ask("zzzznothing")
        await reader.sees("No results", "No results for “zzzznothing”")
        catalogs[0].failing = Unreachable("the server cannot be reached")
        await reader.ask("orders")
        await reader.sees("✗ ", "cannot be reached", "r tries again")
        catalogs[0].failing = None
        await reader.press("escape", "escape", "r")
        await reader.sees("114 results")
        # What was wrong with a text before is said no more once another one fails.
        await reader.ask("orders nosuch:x")
        await reader.sees("»nosuch«")
        catalogs[0].failing = Unreachable("the server cannot be reached")
        await reader.ask("orders")
        await reader.sees("✗ ", "cannot be reached")
        await reader.press("escape", "escape")
        assert "»nosuch«" not in reader.screen()


async def test_completions_drop_down_are_chosen_and_taken(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("fct_ord")
        shown = await reader.sees("⇥ fct_orders", "dataset · snowflake", "best first")
        top = shown.splitlines().index(next(one for one in shown.splitlines() if "⇥" in one))
        assert top == 5
        await reader.press("tab")
        assert reader.box.value.startswith("fct_order")
        assert "⇥ fct" not in reader.screen()
        await reader.ask("orders plat")
        await reader.sees("⇥ platform:")
        await reader.press("tab")
        await reader.sees("snowflake", "121")
        await reader.press("down", "down")
        await reader.sees("› postgres")
        await reader.press("enter")
        assert reader.box.value == "orders platform:postgres"
        await reader.sees("26 results")
        # A name chosen with the arrows is opened.
        await reader.ask("fct_refu")
        await reader.sees("⇥ fct_refunds")
        await reader.press("down", "enter")
        await reader.sees("Columns·", "fct_refunds")


async def test_facets_are_conditions_of_the_text(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("orders")
        await reader.sees("114 results")
        await reader.press("enter", "1")
        await reader.sees("│ orders type:dataset", "● dataset", "93 results")
        await reader.ask("orders tags:PII")
        shown = await reader.sees("● PII")
        assert "● dataset" not in shown
        await reader.press("escape", "x")
        await reader.sees("114 results")
        assert reader.box.value == "orders"


@pytest.mark.nightly
async def test_a_condition_is_made_step_by_step(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("orders")
        await reader.press("enter", "c")
        await reader.sees("Condition: choose a field", "platform", "4 values")
        await reader.type("platform")
        await reader.press("enter")
        await reader.sees("is not", "begins with", "has no value")
        await reader.press("enter")
        await reader.sees("snowflake", "59")
        await reader.press("enter")
        await reader.sees("59 results")
        assert reader.box.value == "orders platform:snowflake"
        await reader.press("c")
        await reader.type("rowcount")
        await reader.press("enter")
        await reader.type("at")
        await reader.press("enter")
        await reader.type("1000000")
        await reader.press("enter")
        await reader.sees("AND: also require this", "OR: add an alternative")
        await reader.press("down", "enter")
        await reader.sees("results")
        assert reader.box.value == "orders platform:snowflake OR rowCount>=1000000"
        # A field is called as people type it, its stored name stands aside, and finds it too.
        await reader.press("c")
        await reader.type("_entitytype")
        [told] = [one for one in reader.screen().splitlines() if "_entityType" in one]
        assert told.index(" type ") < told.index("_entityType")
        await reader.press("enter")
        await reader.sees("type …")
        await reader.press("enter")
        await reader.sees("type is …")
        await reader.press("escape")
        # Where there is nothing to choose from, what can be done is said.
        await reader.press("c")
        await reader.type("rowcount")
        await reader.press("enter", "enter")
        await reader.sees("Type a value; ⏎ accepts it.")
        await reader.type("7")
        await reader.sees("⏎ accepts “7”.")
        await reader.press("enter", "enter")
        await reader.settle()
        both = "(platform:snowflake OR rowCount>=1000000)"
        assert reader.box.value == f"orders {both} AND rowCount:7"


async def test_all_of_a_long_result_can_be_reached_and_its_place_is_told(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(80, 24)) as reader:
        await reader.sees("329 results", "page 1 of 7")
        results = reader.app.query_one(ResultRows)
        await reader.press("n")
        await reader.sees("· 51–", "page 2 of 7")
        assert results.urn_at(50) is not None
        await reader.press("J")
        await reader.type("p7")
        await reader.press("enter")
        await reader.sees("page 7 of 7")
        await reader.press("J")
        await reader.type("120")
        await reader.press("enter")
        await reader.sees("· 120–")
        assert results.cursor == 119
        assert results.urn_at(119) is not None
        await reader.press("p", "G")
        await reader.sees("–329")
        # Everything between was not asked for.
        assert results.urn_at(170) is None


async def test_the_order_is_chosen_and_a_place_explained(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("orders platform:snowflake")
        await reader.press("enter", "w")
        await reader.sees(
            "Why orders is number 1",
            "· score 14",
            "of it for its use",
            "a name is what was typed",
            "full name raw.shop.orders",
            "weight 10",
        )
        await reader.press("down")
        await reader.sees("is number 2")
        await reader.press("w", "o")
        await reader.sees("Sort by")
        await reader.press("down", "enter")
        shown = await reader.sees("by name, A to Z")
        names = [hit.urn.name for hit in reader.app.query_one(ResultRows).hits.values()]
        assert names[0].endswith("categories"), shown


@pytest.mark.nightly
async def test_searches_are_saved_listed_run_and_asked_again(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.ask("orders tags:PII")
        await reader.press("enter", "s")
        await reader.sees("Save this search as")
        await reader.type("mine")
        await reader.press("enter")
        await reader.sees("Saved as “mine”")
    async with at(sample) as reader:
        await reader.press("S")
        await reader.sees("mine   orders tags:PII", "Recent searches")
        await reader.press("f2")
        await reader.type("ours")
        await reader.press("enter")
        await reader.sees("ours   orders tags:PII")
        await reader.press("enter")
        await reader.sees("│ orders tags:PII", "best first")
        await reader.press("slash", "delete", "up")
        await reader.sees("recent search")
        await reader.press("down", "enter")
        await reader.sees("│ orders tags:PII", "best first")
        await reader.press("S", "f8")
        await reader.sees("Recent searches")
        assert "ours" not in reader.screen()


async def test_a_pasted_urn_is_gone_to_also_one_that_no_search_finds(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.ask(f"https://hub.example/dataset/{ORDERS}/Schema")
        await reader.sees(" fct_orders ", "Columns·")
        await reader.ask(REMOVED.parts[1])
        await reader.sees("none has every word, these have most: analyt")
        await reader.ask(str(REMOVED))
        await reader.sees("SOFT-DELETED", REMOVED.parts[1].rpartition(".")[2])
        await reader.ask(str(Urn.dataset("hive", "never.there")))
        await reader.sees("Not in the catalog")
        # Among the results too, and megabytes of something else are cut.
        await reader.press("slash", "escape", "escape")
        reader.app.post_message(events.Paste(str(ORDERS)))
        await reader.sees(" fct_orders ", "Columns·")
        await reader.ask("x\n" * 1_000_000)
        await reader.sees("cut to its first 10,000 characters")


async def test_what_most_words_found_is_said_at_80_columns_and_the_words_are_cut(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(80, 24)) as reader:
        await reader.ask("orders sandbox tmp analytics whatever")
        shown = await reader.sees("none has every word, these have most: orders")
        (line,) = [line for line in shown.splitlines() if "none has every word" in line]
        assert "… · 1–" in line


async def test_results_are_marked_counted_and_unmarked(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.sees("329 results")
        await reader.press("space", "v")
        shown = await reader.sees("329 results · 2 marked: t T O D ! L", "esc unmark")
        assert shown.count("◆") == 2
        results = reader.app.query_one(ResultRows)
        assert next(urn.name for urn in results.marked) == "analytics.marts.fct_orders"
        await reader.press("g", "space")
        await reader.sees("1 marked")
        await reader.press("escape")
        shown = reader.screen()
        assert "marked" not in shown
        assert "◆" not in shown
        # What is not seen any more is not marked.
        await reader.press("space", "1")
        await reader.sees("165 results")
        assert results.marked == ()


async def test_a_draft_leaves_the_type_of_a_result_as_it_is_at_120_columns(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(120, 36)) as reader:
        await reader.ask("fct_orders platform:snowflake")
        shown = await reader.sees("results", "fct_orders")
        row = next(one for one in shown.splitlines() if "PROD" in one)
        results = reader.app.query_one(ResultRows)
        results.drafts = frozenset(str(hit.urn) for hit in results.hits.values())
        results.refresh()
        marked = await reader.sees(" draft ")
        assert row in marked


async def test_what_is_found_while_the_database_is_away_is_shown_by_its_urns(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = AsyncCatalog.search

    async def search_earlier(self: AsyncCatalog, *arguments: Any, **further: Any) -> Any:
        return replace(await search(self, *arguments, **further), as_of=datetime.now(UTC))

    async def fail(*_: Any) -> Any:
        raise Busy("the database is away")

    monkeypatch.setattr(AsyncCatalog, "search", search_earlier)
    monkeypatch.setattr(AsyncCatalog, "summaries", fail)
    async with at(sample) as reader:
        await reader.press("slash")
        await reader.type("fct_orders")
        await reader.sees("analytics.marts.fct_purchase_orders")
        await reader.sees("Names and descriptions cannot be read now")


async def test_columns_are_results_that_open_at_the_column(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("country of customer addresses")
        await reader.sees("results", "customer_addresses")
        await reader.press("enter", "i")
        shown = await reader.sees("columns", "have every word", "shop.public.customer_add")
        assert "without" not in shown.split("country_code")[0]
        await reader.press("o")
        await reader.sees("Columns come best first.")
        row = reader.app.screen.query_one(ResultRows).row_at(0)
        assert row is not None
        assert row.column is not None
        await reader.press("enter")
        await reader.sees("Columns·", "customer_addresses")
        columns = reader.app.screen.query_one(ColumnsView)
        await reader.until(lambda: columns.current is not None)
        path = row.column.path
        await reader.until(lambda: columns.current and columns.current.path.raw == path)
        await reader.press("backspace", "i")
        await reader.sees(" results ", "have every word")


async def test_a_result_found_by_a_column_opens_there(sample: Path, at: OpenTerminal) -> None:
    async with at(sample) as reader:
        await reader.ask("wrapping platform:postgres")
        shown = await reader.sees("1 result", "order_items")
        assert "column is_gift" in shown
        await reader.press("enter", "enter")
        await reader.sees("Columns·", "order_items")
        columns = reader.app.screen.query_one(ColumnsView)
        await reader.until(lambda: columns.current and columns.current.path.raw == "is_gift")
