"""A reader sees what a table held, column by column and over time, and what moved."""

import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from explorer.metadata.proposal import Proposal
from tests.tui.conftest import Matches, OpenTerminal, Reader

pytestmark = pytest.mark.anyio

CUSTOMERS = Urn.dataset("snowflake", "analytics.marts.dim_customers")
SHIPMENTS = Urn.dataset("snowflake", "analytics.marts.fct_shipments")
UNPROFILED = Urn.dataset("kafka", "shop.order-placed.v1")
PROFILED = Urn.dataset("bench", "profiled")
FIRST = datetime(2025, 3, 3, 6, tzinfo=UTC)


def field(path: Any, nulls: float = 0.0, distinct: int = 100, **more: Any) -> Any:
    return {
        "fieldPath": path,
        "nullCount": round(nulls * 1_000),
        "nullProportion": nulls,
        "uniqueCount": distinct,
        "uniqueProportion": distinct / 1_000,
        **more,
    }


def profile(day: Any, *fields: Any, rows: int = 1_000, **more: Any) -> Any:
    at = FIRST + timedelta(days=day)
    return {
        "timestampMillis": round(at.timestamp() * 1000),
        "rowCount": rows,
        "columnCount": len(fields),
        "fieldProfiles": list(fields),
        **more,
    }


@pytest.fixture(scope="module")
def profiled(desk: Path) -> Any:
    """A table profiled over twelve days of 2025 with three missing, in which a column loses its
    values."""
    counts = [{"value": "paid", "frequency": 700}, {"value": "[/b]\x1b[2Jopen", "frequency": 300}]
    spread: Any = {
        "quantiles": [{"quantile": "0.25", "value": "7.5"}, {"quantile": "0.75", "value": "60"}],
        "histogram": {"boundaries": ["0.5", "50", "99.5"], "heights": [850.0, 150.0]},
    }
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(Proposal(PROFILED, "status", {"removed": False}))
        for day in (0, 1, 2, 3, 4, 8, 9, 10, 11):
            value = profile(
                day,
                field("amount", min="0.5", max="99.5", mean=f"{20 + day}", median="18", **spread),
                field("status", distinct=2, distinctValueFrequencies=counts),
                field("zip", nulls=0.01 * day**1.5, sampleValues=["10115", "20095"]),
                rows=1_000 + 40 * day,
                sizeInBytes=2_500_000,
            )
            catalog.ingest(Proposal(PROFILED, "datasetProfile", value))
    return desk


async def open_all(reader: Reader) -> None:
    await reader.sees("profiled")
    await reader.press("6", "greater_than_sign", "greater_than_sign")
    await reader.sees("[all]", "1,440 rows")


async def test_the_profile_shows_rows_over_time_and_every_column(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, size=(160, 40), urn=CUSTOMERS) as reader:
        await reader.sees("documented")
        await reader.press("6")
        await reader.sees("1,184,212 rows", "18 columns", "238 MB", " since the one before")
        shown = await reader.sees("nulls trend", "customer_id", "median", "1 column moved")
        marked = [line for line in shown.splitlines() if " ! country_code" in line]
        assert "11.8%" in marked[0]


async def test_a_table_without_new_rows_is_noticed(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=SHIPMENTS) as reader:
        await reader.sees("documented")
        await reader.press("6")
        await reader.sees("! rows the same since")


async def test_a_column_opens_with_its_values_and_its_history(
    profiled: Any, at: OpenTerminal
) -> None:
    async with at(profiled, urn=PROFILED) as reader:
        await open_all(reader)
        await reader.press("down", "enter")
        shown = await reader.sees("status · share of nulls", "2 counted", "paid", "700")
        assert "[/b][2Jopen" in shown
        assert "\x1b" not in shown
        await reader.sees("esc all columns", "m measure")
        await reader.press("escape")
        await reader.sees("1,440 rows", "amount")
        await reader.press("down", "enter")
        await reader.sees("zip · share of nulls", "! nulls 8.0%", "Samples", "20095")


async def test_a_column_of_numbers_shows_its_quantiles_and_its_histogram(
    profiled: Any, at: OpenTerminal
) -> None:
    async with at(profiled, urn=PROFILED) as reader:
        await open_all(reader)
        await reader.press("enter")
        shown = await reader.sees("amount · share of nulls", "Quantiles", "Histogram", "0.5 – 50")
        assert re.search(r"25% +7\.5 .*\n.* 75% +60 ", shown)
        assert re.search(r"0\.5 – 50 +850 ", shown)


async def test_every_measure_of_a_column_can_be_drawn(profiled: Any, at: OpenTerminal) -> None:
    async with at(profiled, urn=PROFILED) as reader:
        await open_all(reader)
        await reader.press("enter")
        for words in ("share of nulls", "distinct values", "least", "greatest", "mean", "median"):
            await reader.sees(f"amount · {words}")
            await reader.press("m")
        await reader.sees("amount · share of nulls")
        await reader.press("m", "m", "m", "m")
        await reader.sees("31 mean · +1 since the one before")
        await reader.press("left")
        await reader.sees("30 mean")


async def test_a_column_over_time_is_a_table_too(profiled: Any, at: OpenTerminal) -> None:
    async with at(profiled, urn=PROFILED) as reader:
        await open_all(reader)
        await reader.press("t")
        shown = await reader.sees("measured", "2.5 MB", "1,080")
        assert "┤" not in shown
        await reader.press("t", "down", "down", "enter", "t")
        await reader.sees("measured", "36.5%", "2025-03-14")


async def test_days_without_a_profile_break_the_line(profiled: Any, at: OpenTerminal) -> None:
    async with at(profiled, size=(80, 24), urn=PROFILED) as reader:
        await open_all(reader)
        shown = reader.screen()
        drawn = [line.split("┤")[1] for line in shown.splitlines() if "┤" in line]
        columns = ["".join(column).strip() for column in zip(*drawn, strict=False)]
        drawn_at = [at for at, column in enumerate(columns) if column and column != "│"]
        holes = [b - a for a, b in pairwise(drawn_at) if b - a > 1]
        assert len(holes) == 1


async def test_times_are_of_here_or_of_utc(
    profiled: Any, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        async with at(profiled, size=(160, 40), urn=PROFILED) as reader:
            await open_all(reader)
            await reader.sees("measured 2025-03-14 02:00 ")
            await reader.press("Z")
            await reader.sees("measured 2025-03-14 06:00 UTC")
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_what_was_never_profiled_says_so(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=UNPROFILED) as reader:
        await reader.sees("documented")
        await reader.press("6")
        await reader.sees("Nothing was recorded in the last 30 days; > shows more days.")
        await reader.press("greater_than_sign", "greater_than_sign")
        await reader.sees("Nothing was ever recorded for this entity.")


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_it_can_be_read_at_any_size(profiled: Any, at: OpenTerminal, size: Any) -> None:
    async with at(profiled, size=size, urn=PROFILED) as reader:
        await reader.sees("profiled")
        await reader.press("6", "greater_than_sign", "greater_than_sign")
        await reader.sees("2025-03-14", "amount")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("profile", ["down", "down"]),
        ("profile-column", ["down", "down", "enter", "left"]),
        ("profile-table", ["t"]),
    ],
    ids=["columns", "column", "table"],
)
async def test_the_screen_looks_as_it_was_found_good(
    profiled: Any, at: OpenTerminal, name: str, keys: Any, size: Any, matches: Matches
) -> None:
    async with at(profiled, size=size, urn=PROFILED) as reader:
        await reader.sees("entities", "profiled")
        await reader.press("f6", "b", "6", "greater_than_sign", "greater_than_sign", "Z", *keys)
        # The line above says how many there are in the catalog, which other tests add to.
        shown = reader.screen().partition("\n")[2] + "\n"
    matches(f"{name}-{size[0]}x{size[1]}", shown)
