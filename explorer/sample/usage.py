"""Thirty days of queries against the warehouse."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Any

from explorer.sample.change import Change, Changes, user
from explorer.sample.days import Days
from explorer.sample.notation import rows
from explorer.sample.reports import chart_inputs
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse, read_data

__all__ = ["usage"]

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

# A table that is hardly queried has few columns that ever are.
_COLUMNS = 14
_FEW_COLUMNS = 5
_USERS = 26

# Monday to Sunday, of an average day.
_WEEKDAYS = (1.28, 1.34, 1.3, 1.26, 1.1, 0.38, 0.34)
# The newest day is an average one on every day of the week.
_TODAY = 1.0


def usage(warehouse: Warehouse, days: Days) -> Changes:
    """The daily usage of every warehouse table that was queried, oldest day first. A day without
    a query has no record."""
    queries = _read_queries()
    reported = chart_inputs()
    active = [cells[0] for cells in rows(read_data("people")) if "(left)" not in cells[2]]
    persons = [name for name in active if not name.startswith("svc_")]
    for rank, table in enumerate(_ranked(warehouse), 1):
        dice = Random(f"usage {table.name}")
        pool = _users(table, persons, table.label in reported, rank, dice)
        total = _MOST_QUERIES * rank**-_FALL
        asked = queries.get(table.label, [])
        width = min(_COLUMNS, _FEW_COLUMNS + int(total / 20))
        yield from _month(table, pool, total, asked, _column_shares(table, dice)[:width], days)


def _ranked(warehouse: Warehouse) -> list[Table]:
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


def _users(table: Table, persons: list[str], reported: bool, rank: int, dice: Random) -> list[str]:
    """Who queries a table, the keenest first."""
    owners = [name for name, _ in table.owners if name in persons]
    others = [name for name in persons if name not in owners]
    dice.shuffle(others)
    count = max(2, round(_USERS * rank**-0.35))
    pool = [*owners, *others][:count]
    pool.insert(0 if table.name.startswith("raw.") else 2, "svc_dbt")
    if reported:
        pool.insert(0, "svc_looker")
    return pool


def _month(
    table: Table,
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
        whole = weights[-1]
        by = Counter(pool[bisect(weights, dice.random() * whole)] for _ in range(count))
        value: dict[str, Any] = {
            "timestampMillis": days.millis(ago),
            "eventGranularity": {"unit": "DAY", "multiple": 1},
            "uniqueUserCount": len(by),
            "totalSqlQueries": count,
            "userCounts": [{"user": user(name), "count": n} for name, n in by.most_common()],
            "fieldCounts": [
                {"fieldPath": path, "count": n}
                for path, share in shares
                if (n := int(count * share * (0.85 + 0.25 * dice.random()) + 0.5))
            ],
        }
        if queries:
            value["topSqlQueries"] = queries
        yield Change(table.urn, "datasetUsageStatistics", value)


def _counts(table: Table, total: float, days: Days) -> Iterator[tuple[int, int]]:
    """The queries of each day, oldest first. In all they are the same every day that the sample is
    made: what is found in which order hinges on that."""
    history = list(days.history())
    dice = Random(f"usage {table.name}")
    busy = {
        ago: (_WEEKDAYS[days.on(ago).weekday()] if ago else _TODAY) * dice.uniform(0.8, 1.2)
        for ago in sorted(history)
    }
    share = round(total) / sum(busy.values())
    until, given = 0.0, 0
    for ago in history:
        until += busy[ago] * share
        count = round(until) - given
        given += count
        yield ago, count


def _column_shares(table: Table, dice: Random) -> list[tuple[str, float]]:
    """The columns that are queried, with the share of the queries that name them."""
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
    """The queries that are run most, by table."""
    found: dict[str, list[str]] = {}
    for block in read_data("queries").split("== ")[1:]:
        name, _, text = block.partition("\n")
        found[name] = [query.strip() for query in text.split(";\n")]
    return found
