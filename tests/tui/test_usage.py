"""A reader sees how much a table is used, on which days, by whom and which of its columns."""

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Urn
from explorer.metadata.proposal import Proposal
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.widgets.charts import ChartWidget
from tests.tui.conftest import Matches, OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
UNUSED = Urn.dataset("kafka", "shop.order-placed.v1")
METERED = Urn.dataset("bench", "metered")
FIRST = datetime(2025, 3, 3, tzinfo=UTC)
EVIL = "select '[/red] [@click=app.bell]go[/]' \x1b]2;title\x07\nfrom metered"


def window(day: Any, count: Any, **more: Any) -> Any:
    at = FIRST + timedelta(days=day)
    return {
        "timestampMillis": round(at.timestamp() * 1000),
        "eventGranularity": {"unit": "DAY", "multiple": 1},
        "totalSqlQueries": count,
        "uniqueUserCount": 1,
        "userCounts": [{"user": "urn:li:corpuser:jdoe", "count": count}],
        **more,
    }


@pytest.fixture(scope="module")
def metered(desk: Path) -> Any:
    """A table that was used on three of five days of 2025, on one of them not at all."""
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(Proposal(METERED, "status", {"removed": False}))
        columns = [{"fieldPath": "amount", "count": 9}, {"fieldPath": "[0m\x1b[31mred", "count": 3}]
        for value in (
            window(0, 12, fieldCounts=columns, topSqlQueries=[EVIL]),
            window(1, 0, userCounts=[], uniqueUserCount=0),
            window(4, 1_200),
        ):
            catalog.ingest(Proposal(METERED, "datasetUsageStatistics", value))
    return desk


async def test_the_use_is_told_day_by_day_and_by_whom(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("5")
        shown = await reader.sees("queries", "by 26 users", "on 30 days measured", "[30]")
        assert "┤" in shown
        await reader.sees("Columns", "14 of 27 used", "order_id", "Jordan Doe")
        newest = reader.app.query_one(ChartWidget).cursor
        today = datetime.now(UTC).date()
        await reader.sees(f"{today} UTC")
        await reader.press("left", "h")
        assert reader.app.query_one(ChartWidget).cursor == newest - 2
        await reader.sees(f"{today - timedelta(days=2)} UTC")
        await reader.press("right")
        await reader.sees(f"{today - timedelta(days=1)} UTC")


async def test_choosing_a_used_column_shows_it_among_the_columns(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("5")
        await reader.sees("14 of 27 used")
        await reader.press("down", "down", "down", "enter")
        await reader.sees("documented")
        column = reader.app.query_one(ColumnsView).current
        assert column is not None
        assert column.name == "status"


async def test_a_query_unfolds_in_place(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, size=(120, 50), urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("5")
        await reader.sees("14 of 27 used")
        await reader.press("end", "enter")
        shown = await reader.sees("▾ ")
        assert "from analytics.marts.fct_orders\n" in shown
        await reader.press("enter")
        assert "▾ " not in (await reader.sees("▸ ")).split("Queries")[1]


async def test_the_time_looked_at_is_asked_for_once(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        asked = []
        usage = AsyncCatalog.usage

        async def counting(self: AsyncCatalog, urn: Urn, **how: Any) -> Any:
            asked.append(how["days"])
            return await usage(self, urn, **how)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(AsyncCatalog, "usage", counting)
            assert asked == []
            await reader.press("5")
            await reader.sees("[30]")
            await reader.press("less_than_sign")
            await reader.sees("[7]", "on 7 days measured")
            await reader.press("less_than_sign", "greater_than_sign")
            await reader.sees("[30]", "on 30 days measured")
        assert asked == [30, 7]


async def test_an_older_time_is_found_by_looking_further_back(
    metered: Any, at: OpenTerminal
) -> None:
    async with at(metered, urn=METERED) as reader:
        await reader.sees("metered")
        await reader.press("5")
        await reader.sees("No use was recorded in the last 30 days; > shows more days.")
        await reader.press("greater_than_sign", "greater_than_sign")
        await reader.sees("[all]", "1,212 queries", "by 1 user", "on 3 days measured")


async def test_what_was_never_used_says_so(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=UNUSED) as reader:
        await reader.sees("documented")
        await reader.press("5", "greater_than_sign", "greater_than_sign")
        await reader.sees("No use was ever recorded for this entity.")


async def test_a_day_that_was_not_measured_is_no_day_without_use(
    metered: Any, at: OpenTerminal
) -> None:
    async with at(metered, urn=METERED) as reader:
        await reader.sees("metered")
        await reader.press("5", "greater_than_sign", "greater_than_sign", "t")
        shown = await reader.sees("day, UTC")
        days = re.findall(r"(2025-\d\d-\d\d) +([\d,]+) +([\d—]+)", shown)
        assert days == [
            ("2025-03-07", "1,200", "1"),
            ("2025-03-04", "0", "0"),
            ("2025-03-03", "12", "1"),
        ]


async def test_text_of_queries_and_columns_stays_text(metered: Any, at: OpenTerminal) -> None:
    async with at(metered, urn=METERED) as reader:
        await reader.sees("metered")
        await reader.press("5", "greater_than_sign", "greater_than_sign")
        shown = await reader.sees("[/red] [@click=app.bell]go[/]", "[31mred")
        await reader.press("end", "enter")
        shown = await reader.sees("from metered")
        assert "\x1b" not in shown
        assert "\x07" not in shown


async def test_days_that_begin_at_another_hour_here_say_so_until_utc_is_chosen(
    metered: Any, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        async with at(metered, urn=METERED) as reader:
            await reader.sees("metered")
            await reader.press("5", "greater_than_sign", "greater_than_sign")
            await reader.sees("Fri 2025-03-07 UTC, here from Thu 19:00")
            await reader.press("Z")
            shown = await reader.sees("Fri 2025-03-07 UTC")
            assert "here from" not in shown
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_server_that_fails_is_told_and_asked_again(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        with pytest.MonkeyPatch.context() as patched:

            async def broken(self: AsyncCatalog, urn: Urn, **how: Any) -> Any:
                return await usage(self, "urn:li:nonsense:x", **how)

            usage = AsyncCatalog.usage
            patched.setattr(AsyncCatalog, "usage", broken)
            await reader.press("5")
            await reader.sees("This could not be read; r tries again.")
        await reader.press("r")
        await reader.sees("on 30 days measured")


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_it_can_be_read_at_any_size(metered: Any, at: OpenTerminal, size: Any) -> None:
    async with at(metered, size=size, urn=METERED) as reader:
        await reader.sees("metered")
        await reader.press("5", "greater_than_sign", "greater_than_sign")
        await reader.sees("2025-03-07 UTC", "Columns")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize(
    ("name", "keys"), [("usage", ["left"]), ("usage-table", ["t"])], ids=["chart", "table"]
)
async def test_the_screen_looks_as_it_was_found_good(
    metered: Any, at: OpenTerminal, name: str, keys: Any, size: Any, matches: Matches
) -> None:
    async with at(metered, size=size, urn=METERED) as reader:
        await reader.sees("entities", "metered")
        await reader.press("f6", "b", "5", "greater_than_sign", "greater_than_sign", "Z")
        # What comes later has the cursor at its end.
        await reader.sees("2025-03-07 UTC", "Queries")
        await reader.press(*keys)
        # The line above says how many there are in the catalog, which other tests add to.
        shown = reader.screen().partition("\n")[2] + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)
