"""What others and ingestion changed since the last visit is listed, opened at its place, and marked
as read when the list is closed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.stewardship import Stewardship
from explorer.stewardship.feed import VisitFile
from explorer.tui.screens.changes import FeedScreen
from tests.conftest import schema_metadata
from tests.tui.conftest import OpenTerminal, Reader
from tests.tui.test_worklist import make_table

pytestmark = pytest.mark.anyio


def read_all(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    steward.mark_read(steward.feed())


def put_columns(catalog: Catalog, urn: Urn, texts: dict[str, str | None]) -> None:
    catalog.ingest(Proposal(urn, "schemaMetadata", schema_metadata(texts)))


async def open_feed(reader: Reader) -> FeedScreen:
    await reader.press("f5")
    await reader.until(lambda: isinstance(reader.app.screen, FeedScreen))
    screen: Any = reader.app.screen
    assert isinstance(screen, FeedScreen)
    return screen


def last_offset(catalog: Catalog) -> int:
    visit = VisitFile.of(catalog.identity).last()
    assert visit is not None
    return visit.offset


async def test_a_renamed_column_is_told_and_opened_at_the_likely_new_one(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "fed_renamed", ["first", "cust_id", "last"])
        catalog.describe(urn, "Who bought.", column="cust_id")
        read_all(catalog)
        put_columns(catalog, urn, {"first": None, "customer_id": None, "last": None})
        read = last_offset(catalog)
        async with at(desk) as reader:
            await open_feed(reader)
            await reader.sees(
                *("fed_renamed · cust_id", "likely renamed to customer_id", "- cust_id"),
                *("the text that people wrote", "Who bought.", "1 to look after"),
            )
            await reader.press("enter")
            await reader.sees("fed_renamed", "0 of 3 documented")
            column = reader.app.screen.query_one("ColumnsView")
            await reader.until(lambda: column.current.path.raw == "customer_id")  # type: ignore[attr-defined]
            # Opening an entry is not the end of reading.
            assert last_offset(catalog) == read
            await open_feed(reader)
            await reader.sees("fed_renamed · cust_id")


async def test_closing_marks_as_read_and_the_visit_before_can_be_looked_up(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        read_all(catalog)
        make_table(catalog, "fed_closed", ["a"])
        async with at(desk) as reader:
            await open_feed(reader)
            await reader.sees("fed_closed", "new, 1 column")
            await reader.press("escape")
            await reader.until(lambda: not isinstance(reader.app.screen, FeedScreen))
            await open_feed(reader)
            await reader.sees("No changes since your last visit; b shows")
            await reader.press("b")
            await reader.sees("fed_closed", "new, 1 column")


async def test_what_is_pressed_after_the_list_was_closed_is_for_what_is_below_it(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        read_all(catalog)
        make_table(catalog, "fed_left", ["a"])
    async with at(desk) as reader:
        await open_feed(reader)
        await reader.sees("fed_left")
        for key in ("q", "slash", *"orders"):
            reader.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await reader.until(lambda: reader.box.value == "orders")


async def test_changes_are_narrowed_to_words_and_to_what_needs_care(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "fed_narrowed", ["a", "b"])
        put_columns(catalog, urn, {"a": None, "b": None})
        catalog.describe(urn, "Tamarins.", column="a")
        read_all(catalog)
        put_columns(catalog, urn, {"a": "Ingested tamarins.", "b": "Ingested as well."})
        async with at(desk) as reader:
            await open_feed(reader)
            await reader.sees("fed_narrowed · a", "fed_narrowed · b")
            await reader.press("c")
            await reader.sees("only changes to check", "+ Ingested tamarins.", "Tamarins.")
            await reader.until(lambda: "fed_narrowed · b" not in reader.screen())
            await reader.press("c")
            await reader.press("f")
            await reader.type("as well")
            await reader.press("enter")
            await reader.sees("1 of ", "fed_narrowed · b", "+ Ingested as well.")
            await reader.press("escape")
            await reader.sees("fed_narrowed · a")


async def test_what_comes_while_the_list_is_read_is_told_and_read_on_demand(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        read_all(catalog)
        async with at(desk) as reader:
            await open_feed(reader)
            await reader.sees("nothing changed")
            make_table(catalog, "fed_later", ["a"])
            await reader.sees("new changes: r reads them")
            await reader.press("r")
            await reader.sees("fed_later", "new, 1 column")


async def test_without_a_change_log_it_says_what_cannot_be_had(
    at: OpenTerminal, desk: Path
) -> None:
    async with at(desk) as reader:
        catalog = await reader.app._session.catalog()
        without = replace(await catalog.abilities(), changes=False)
        catalog._connection._abilities = without
        await open_feed(reader)
        await reader.sees("has no change log")
        await reader.press("escape")
        await reader.until(lambda: not isinstance(reader.app.screen, FeedScreen))
