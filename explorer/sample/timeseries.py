"""Thirty days of usage and profiles of the most important tables, with changes to be noticed.

These problems and changes occur in the last days:

dim_customers.country_code   ever more rows have none, since the address book is moved
fct_shipments                no new rows: the carriers' feed hangs
fct_payments.method          a way to pay that was not there before

The notation of a column's values, in braces in the declared tables:

{u}                              every value once
{d 4210: SUMMIT10, WELCOME5}     so many different values (a share of the rows below 1), samples
{open 1.2|paid 2.1}              these values in these proportions
{0.00..49.00 ~3.10/0.00}         from, to, mean and median; the decimals are those written
{2014-03-02..today}              dates; `today-400` and `today+30` count from the profile's day
{since 2014-03-02}               times from that day until now
{null 0.96}                      the share of empty ones; joined to others with a semicolon
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from explorer.sample.entities import chart_inputs
from explorer.sample.warehouse import (
    HISTORY_DAYS,
    AspectEdit,
    Changes,
    Days,
    SampleColumn,
    SampleTable,
    Warehouse,
    read_data,
    rows,
    user,
)


class RisingNulls(NamedTuple):
    """A share of empty values that begins to rise `since` days ago and reaches `share` today."""

    since: int
    share: float

    def on(self, ago: int, usual: float) -> float:
        """Return the share `ago` days ago; `usual` is the share before the rise."""
        steps = max(self.since + 1 - ago, 0) / (self.since + 1)
        return usual + (self.share - usual) * steps


class NewValue(NamedTuple):
    """A value that first occurred `since` days ago, and the number of rows a day that get it."""

    value: str
    since: int
    rows_a_day: int

    def on(self, ago: int) -> int:
        """Return the number of rows with the value, `ago` days ago."""
        return max(self.since + 1 - ago, 0) * self.rows_a_day


RISING_NULLS = {("analytics.marts.dim_customers", "country_code"): RisingNulls(9, 0.118)}

STALLED = {"analytics.marts.fct_shipments": 4}
"""Days since a table got its last row."""

NEW_VALUES = {("analytics.marts.fct_payments", "method"): NewValue("wero", 6, 184)}


USUAL = {
    "campaign_id": "d 1480",
    "channel": "web 57|app 31|store 9|phone 3",
    "channel_code": "d 9",
    "country_code": "DE 55|AT 13|CH 11|NL 9|DK 7|SE 5",
    "currency": "EUR 72|CHF 11|DKK 9|SEK 8",
    "customer_id": "d 1184212",
    "device_kind": "phone 63|desktop 31|tablet 6",
    "language": "de 76|nl 9|da 7|sv 5|en 3",
    "order_id": "d 0.86",
    "order_number": "d u",
    "product_id": "d 9120",
    "sku": "d 48310: TRK-5510-BLK-42, TNT-2204-GRN-3P, STV-0031-STD-1",
    "supplier_id": "d 214",
    "variant_id": "d 48310",
    "warehouse_id": "1 61|2 28|3 11",
}
"""The values of columns with these names, in every table that does not specify others."""


class Values(msgspec.Struct, frozen=True):
    """The values of a column. `empty` is `None` if the notation does not specify it."""

    empty: float | None = None
    distinct: float | None = None
    weights: tuple[tuple[str, float], ...] = ()
    samples: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    mean: str = ""
    median: str = ""

    @property
    def decimals(self) -> int:
        """The number of decimals of the column's numbers."""
        return len(self.mean.partition(".")[2])


def read_values(text: str) -> Values:
    """Parse the notation of a column's values; an empty text specifies nothing. For `u`, `distinct`
    is 1.0."""
    values = Values()
    for part in (part.strip() for part in text.split(";")):
        head, _, rest = part.partition(" ")
        if "|" in part:
            values = replace(values, weights=tuple(_weight(choice) for choice in part.split("|")))
        elif head == "null":
            values = replace(values, empty=float(rest))
        elif head == "since":
            values = replace(values, low=rest)
        elif head in ("d", "u"):
            count, _, texts = rest.partition(":")
            distinct = 1.0 if head == "u" or count == "u" else float(count)
            samples = tuple(sample.strip() for sample in texts.split(",") if sample)
            values = replace(values, distinct=distinct, samples=samples)
        elif ".." in head:
            low, _, high = head.partition("..")
            mean, _, median = rest.removeprefix("~").partition("/")
            values = replace(values, low=low, high=high, mean=mean, median=median)
        elif part:
            values = replace(values, weights=(_weight(part),))
    return values


def _weight(text: str) -> tuple[str, float]:
    value, _, weight = text.strip().rpartition(" ")
    return value, float(weight)


_SINCE = "2016-01-04"
_NUMBERS = frozenset({"int", "money", "float", "share"})
_TIMES = frozenset({"date", "ts"})

# The default number of distinct values, or their share of the non-empty ones if up to 1.
_DISTINCT = {"id": 0.61, "uuid": 0.97, "text": 0.43, "ts": 0.94, "hash": 0.98, "enum": 6.0}


class ColumnProfile:
    """Computes the profile of a column for each day."""

    def __init__(
        self,
        table: str,
        column: SampleColumn,
        rows: int,
        days: Days,
        rising: RisingNulls | None,
        new: NewValue | None,
        dice: Random,
    ) -> None:
        values = read_values(column.values or USUAL.get(column.name, ""))
        if column.kind == "bool" and not values.weights:
            values = replace(values, weights=(("false", 70.0), ("true", 30.0)))
        if column.kind in _TIMES and not values.low:
            values = replace(values, low=_SINCE)
        self.described = bool(column.values)
        self._column = column
        self._values = values
        self._days = days
        self._rising = rising
        self._new = new
        self._dice = dice
        self._seed = f"{table} {column.field_path}"
        self._empty = values.empty
        if self._empty is None:
            self._empty = 0.0 if column.required else dice.choice((0.0, 0.0, 0.002, 0.018))
        self._total_weight = sum(weight for _, weight in values.weights)
        self._mean = float(values.mean or 0)
        self._span = _span(column, values)
        self._samples = list(values.samples) or self._draw_samples(rows)

    def on(self, ago: int, rows: int) -> dict[str, Any]:
        """Return the field profile `ago` days ago, in a table with `rows` rows."""
        # The changes in the last days do not depend on the date of the sample.
        self._dice.seed(f"{self._seed} {ago}")
        empty = self._empty or 0.0
        if self._rising:
            empty = self._rising.on(ago, empty)
        nulls = round(rows * empty * self._dice.uniform(0.996, 1.004)) if empty else 0
        filled = rows - nulls
        profile: dict[str, Any] = {"fieldPath": self._column.field_path}
        if self._values.weights:
            frequencies = self._frequencies(ago, filled)
            profile["distinctValueFrequencies"] = frequencies
            unique = len(frequencies)
        else:
            unique = self._unique(ago, filled)
        profile["uniqueCount"] = unique
        profile["uniqueProportion"] = round(unique / rows, 9)
        profile["nullCount"] = nulls
        profile["nullProportion"] = round(nulls / rows, 9)
        if self._column.kind in _TIMES:
            self._add_times(profile, ago)
        elif self._mean:
            self._add_numbers(profile)
        if self._samples:
            profile["sampleValues"] = self._samples
        return profile

    def _frequencies(self, ago: int, filled: int) -> list[dict[str, Any]]:
        """Return each value with its number of rows, the most frequent first. The numbers add up to
        `filled`."""
        new = self._new.on(ago) if self._new else 0
        part = (filled - new) / self._total_weight
        counts = {value: int(part * weight) for value, weight in self._values.weights}
        if self._new and new:
            counts[self._new.value] = new
        ranked = sorted(counts, key=counts.__getitem__, reverse=True)
        counts[ranked[0]] += filled - sum(counts.values())
        return [{"value": value, "frequency": counts[value]} for value in ranked]

    def _unique(self, ago: int, filled: int) -> int:
        distinct = self._values.distinct
        kind = self._column.kind
        if distinct is None:
            if kind == "date":
                return min(filled, (self._last(ago) - self._first(ago)).days + 1)
            if kind in _NUMBERS:
                return min(int(filled**0.62), self._span)
            distinct = _DISTINCT.get(kind, 12.0)
        if distinct <= 1:
            return int(filled * distinct)
        return min(filled, int(distinct * (1 - 0.0003 * ago)))

    def _add_times(self, profile: dict[str, Any], ago: int) -> None:
        if self._column.kind == "date":
            profile["min"] = str(self._first(ago))
            profile["max"] = str(self._last(ago))
        else:
            profile["min"] = f"{self._first(ago)} 07:12:09"
            profile["max"] = f"{self._last(ago)} 23:58:{17 + ago}"

    def _add_numbers(self, profile: dict[str, Any]) -> None:
        values = self._values
        mean = self._mean * self._dice.uniform(0.9985, 1.0015)
        profile["min"] = values.low
        profile["max"] = values.high
        profile["mean"] = f"{mean:.{values.decimals}f}"
        profile["median"] = values.median

    def _first(self, ago: int) -> date:
        return self._date(self._values.low, ago)

    def _last(self, ago: int) -> date:
        return self._date(self._values.high or "today", ago)

    def _date(self, text: str, ago: int) -> date:
        """Return a date of the notation, as seen `ago` days ago. `today` is the day that had just
        ended then."""
        if not text.startswith("today"):
            return date.fromisoformat(text)
        return self._days.on(ago + 1) + timedelta(days=int(text.removeprefix("today") or 0))

    def _draw_samples(self, rows: int) -> list[str]:
        """Return sample values; none for a column that could identify a person."""
        column = self._column
        if self._values.weights:
            ranked = sorted(self._values.weights, key=lambda pair: -pair[1])
            return [value for value, _ in ranked[:5]]
        if "PII" in column.tags:
            return []
        return [sample for _ in range(4) if (sample := self._draw(rows))]

    def _draw(self, rows: int) -> str:
        dice = self._dice
        column = self._column
        match column.kind:
            case "id":
                distinct = self._values.distinct or 1.0
                return str(dice.randrange(1, int(distinct) if distinct > 1 else rows))
            case "uuid":
                bits = f"{dice.getrandbits(128):032x}"
                return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"
            case "date":
                return str(self._draw_date())
            case "ts":
                hour, minute, second = dice.randrange(7, 23), dice.randrange(60), dice.randrange(60)
                return f"{self._draw_date()} {hour:02}:{minute:02}:{second:02}"
            case _ if self._mean:
                low, high = float(self._values.low), float(self._values.high)
                number = low + dice.expovariate(1 / max(self._mean - low, 0.01))
                return (
                    f"{min(number, high):.{0 if column.kind == 'int' else self._values.decimals}f}"
                )
            case _:
                return ""

    def _draw_date(self) -> date:
        """Return a date that the column holds on every day of the history."""
        first = self._first(0)
        day = first + timedelta(days=self._dice.randrange((self._last(0) - first).days + 1))
        return min(day, self._last(HISTORY_DAYS - 1))


def _span(column: SampleColumn, values: Values) -> int:
    """Return the number of different numbers possible between the lowest and the highest value."""
    if column.kind not in _NUMBERS or not values.mean:
        return 10_000
    decimals = 0 if column.kind == "int" else values.decimals
    return int((float(values.high) - float(values.low)) * 10**decimals) + 1


# Growth of an average day, Monday to Sunday: people order on Sunday evening.
_GROWTH_BY_WEEKDAY = (1.04, 0.94, 0.92, 0.95, 0.93, 0.98, 1.24)

# On days before the last, only the described columns of a wide table are profiled.
_WIDE = 60


def profiles(warehouse: Warehouse, days: Days) -> Changes:
    """Return the daily profiles of every profiled table, taken at midnight UTC at the beginning of
    each day, oldest first."""
    for table in warehouse.tables:
        if table.rows:
            yield from _profiles_of(table, days)


def _profiles_of(table: SampleTable, days: Days) -> Changes:
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
    described = [column for column in columns if column.described]
    for ago in days.history():
        count = counts[ago]
        profiled = described if len(table.columns) > _WIDE and ago else columns
        value: dict[str, Any] = {
            "timestampMillis": days.millis(ago),
            "rowCount": count,
            "columnCount": len(table.columns),
            "fieldProfiles": [column.on(max(ago, stalled), count) for column in profiled],
        }
        if table.size_megabytes:
            value["sizeInBytes"] = table.size_megabytes * 1_000_000 * count // counts[0]
        yield AspectEdit(table.urn, "datasetProfile", value)


def _row_counts(table: SampleTable, days: Days, dice: Random) -> list[int]:
    """Return the row counts of a table by number of days ago, beginning with today."""
    today, growth = table.rows or (0, 0)
    grown = [
        round(growth * _GROWTH_BY_WEEKDAY[days.on(ago + 1).weekday()] * dice.uniform(0.93, 1.07))
        for ago in range(HISTORY_DAYS - 1)
    ]
    counts = [today - lost for lost in accumulate(grown, initial=0)]
    stalled = STALLED.get(table.name, 0)
    return [counts[stalled]] * stalled + counts[stalled:]


# From the most to the least queried; tables that are not named follow in their own order.
_POPULAR = """
fct_orders mart_daily_revenue dim_customers fct_order_items dim_products fct_sessions fct_payments
mart_customer_360 stg_orders fct_shipments dim_dates mart_ltv fct_stock_daily mart_finance_monthly
rpt_revenue_by_country mart_marketing_attribution fct_returns mart_product_performance fct_refunds
stg_customers int_orders_enriched rpt_board_kpis fct_ad_spend mart_delivery_performance
fct_support_tickets stg_order_items churn_scores mart_inventory_health stg_payments fct_store_sales
int_sessions int_order_payments dim_channels stg_page_views fct_purchase_orders stg_products
raw.shop.orders fct_searches int_customer_orders fct_reviews dim_stores jdoe_black_friday_check
"""

_MOST_QUERIES = 1250
_FALL = 0.8

# In a table with few queries, few columns are used.
_COLUMNS = 14
_FEW_COLUMNS = 5
_USERS = 26

# Monday to Sunday, of an average day.
_USE_BY_WEEKDAY = (1.28, 1.34, 1.3, 1.26, 1.1, 0.38, 0.34)
# The use on the newest day does not depend on the day of the week.
_TODAY = 1.0


def usage(warehouse: Warehouse, days: Days) -> Changes:
    """Return the daily usage of every warehouse table that was queried, oldest day first. A day
    without a query has no record."""
    queries = _read_queries()
    reported = chart_inputs()
    active = [cells[0] for cells in rows(read_data("people")) if "(left)" not in cells[2]]
    persons = [name for name in active if not name.startswith("svc_")]
    for rank, table in enumerate(_rank(warehouse), 1):
        dice = Random(f"usage {table.name}")
        pool = _users(table, persons, table.label in reported, rank, dice)
        total = _MOST_QUERIES * rank**-_FALL
        table_queries = queries.get(table.label, [])
        width = min(_COLUMNS, _FEW_COLUMNS + int(total / 20))
        yield from _usage_of(
            table, pool, total, table_queries, _column_shares(table, dice)[:width], days
        )


def _rank(warehouse: Warehouse) -> list[SampleTable]:
    queried = [
        table
        for table in warehouse.tables
        if table.platform == "snowflake"
        and table.origin == "PROD"
        and not table.removed
        and not table.deprecated
    ]
    place = {warehouse[name].name: at for at, name in enumerate(_POPULAR.split())}
    return sorted(queried, key=lambda table: place.get(table.name, len(place)))


def _users(
    table: SampleTable, persons: list[str], reported: bool, rank: int, dice: Random
) -> list[str]:
    """Return the users who query a table, the most active first."""
    owners = [name for name, _ in table.owners if name in persons]
    non_owners = [name for name in persons if name not in owners]
    dice.shuffle(non_owners)
    count = max(2, round(_USERS * rank**-0.35))
    pool = [*owners, *non_owners][:count]
    pool.insert(0 if table.name.startswith("raw.") else 2, "svc_dbt")
    if reported:
        pool.insert(0, "svc_looker")
    return pool


def _usage_of(
    table: SampleTable,
    pool: list[str],
    total: float,
    queries: list[str],
    shares: list[tuple[str, float]],
    days: Days,
) -> Changes:
    weights = list(accumulate((at + 1) ** -0.75 for at in range(len(pool))))
    for ago, count in _counts(table, total, days):
        dice = Random(f"usage {table.name} {ago}")
        if count == 0:
            continue
        weight = weights[-1]
        user_counts = Counter(pool[bisect(weights, dice.random() * weight)] for _ in range(count))
        value: dict[str, Any] = {
            "timestampMillis": days.millis(ago),
            "eventGranularity": {"unit": "DAY", "multiple": 1},
            "uniqueUserCount": len(user_counts),
            "totalSqlQueries": count,
            "userCounts": [
                {"user": user(name), "count": n} for name, n in user_counts.most_common()
            ],
            "fieldCounts": [
                {"fieldPath": path, "count": n}
                for path, share in shares
                if (n := int(count * share * (0.85 + 0.25 * dice.random()) + 0.5))
            ],
        }
        if queries:
            value["topSqlQueries"] = queries
        yield AspectEdit(table.urn, "datasetUsageStatistics", value)


def _counts(table: SampleTable, total: float, days: Days) -> Iterator[tuple[int, int]]:
    """Yield the number of days ago and the number of queries for each day, oldest first. The total
    does not depend on the date of the sample, so that search results keep their order."""
    history = list(days.history())
    dice = Random(f"usage {table.name}")
    busy = {
        ago: (_USE_BY_WEEKDAY[days.on(ago).weekday()] if ago else _TODAY) * dice.uniform(0.8, 1.2)
        for ago in sorted(history)
    }
    share = round(total) / sum(busy.values())
    until, count_so_far = 0.0, 0
    for ago in history:
        until += busy[ago] * share
        count = round(until) - count_so_far
        count_so_far += count
        yield ago, count


def _column_shares(table: SampleTable, dice: Random) -> list[tuple[str, float]]:
    """Return the columns that queries use, each with the share of the queries that name it."""
    shares: list[tuple[str, float]] = []
    share = 0.86
    plain = 0.3
    for column in table.columns:
        if column.hot:
            shares.append((column.field_path, share))
            share *= dice.uniform(0.86, 0.97)
        elif "record" not in column.kind:
            shares.append((column.field_path, plain * dice.uniform(0.5, 1.1)))
            plain *= 0.86
    return sorted(shares, key=lambda pair: -pair[1])


def _read_queries() -> dict[str, list[str]]:
    """Return the most frequent queries of each table."""
    queries_by_table: dict[str, list[str]] = {}
    for block in read_data("queries").split("== ")[1:]:
        name, _, text = block.partition("\n")
        queries_by_table[name] = [query.strip() for query in text.split(";\n")]
    return queries_by_table
