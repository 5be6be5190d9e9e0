"""Thirty days of profiles of the tables people lean on, with what drifts in them."""

from itertools import accumulate
from random import Random
from typing import Any

from explorer.sample.change import Change, Changes
from explorer.sample.columnprofile import ColumnProfile
from explorer.sample.days import HISTORY_DAYS, Days
from explorer.sample.drift import NEW_VALUES, RISING_NULLS, STALLED
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse

__all__ = ["profiles"]

# Growth of an average day, Monday to Sunday: people order on Sunday evening.
_WEEKDAYS = (1.04, 0.94, 0.92, 0.95, 0.93, 0.98, 1.24)

# A wide table is profiled in full on the last day only; before, just its described columns.
_WIDE = 60


def profiles(warehouse: Warehouse, days: Days) -> Changes:
    """The daily profiles of every profiled table, taken at the first moment of each day, oldest
    first."""
    for table in warehouse.tables:
        if table.rows:
            yield from _month(table, days)


def _month(table: Table, days: Days) -> Changes:
    dice = Random(f"profile {table.name}")
    counts = _row_counts(table, days, dice)
    columns = [
        ColumnProfile(
            table.name,
            column,
            counts[0],
            days,
            RISING_NULLS.get((table.name, column.name)),
            NEW_VALUES.get((table.name, column.name)),
            dice,
        )
        for column in table.columns
        if column.kind not in ("record", "records", "json")
    ]
    stalled = STALLED.get(table.name, 0)
    described = [one for one in columns if one.described]
    for ago in days.history():
        count = counts[ago]
        taken = described if len(table.columns) > _WIDE and ago else columns
        value: dict[str, Any] = {
            "timestampMillis": days.millis(ago),
            "rowCount": count,
            "columnCount": len(table.columns),
            "fieldProfiles": [column.on(max(ago, stalled), count) for column in taken],
        }
        if table.size_megabytes:
            value["sizeInBytes"] = table.size_megabytes * 1_000_000 * count // counts[0]
        yield Change(table.urn, "datasetProfile", value)


def _row_counts(table: Table, days: Days, dice: Random) -> list[int]:
    """The rows by days ago, from today back."""
    today, growth = table.rows or (0, 0)
    grown = [
        round(growth * _WEEKDAYS[days.on(ago + 1).weekday()] * dice.uniform(0.93, 1.07))
        for ago in range(HISTORY_DAYS - 1)
    ]
    counts = [today - lost for lost in accumulate(grown, initial=0)]
    stalled = STALLED.get(table.name, 0)
    return [counts[stalled]] * stalled + counts[stalled:]
