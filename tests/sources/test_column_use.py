"""Of tables whose columns are not all known, those that a query uses are found where it is certain
which table has them."""

import pytest

from explorer.sources.column_use import ColumnUse
from explorer.sources.sql_lineage import KnownTables, parse_statement, query_of

# Only the columns of `d` are all known.
_TABLES = KnownTables([(("w", "s"), ()), (("w", "o"), ("k",)), (("w", "d"), ("id", "b"))])


@pytest.mark.parametrize(
    ("sql", "expected", "selected"),
    [
        ("with x as (select * from w.s) select x.id, upper(Nm) from x", {"s": ["id", "Nm"]}, ""),
        ("select s.id, nm from w.s s where at > 1", {"s": ["id", "nm", "at"]}, ""),
        ("select k, l from w.o", {"o": ["l"]}, ""),
        ("select b, c from w.d", {}, ""),
        # A column that only one of the tables can have, and one that two can have.
        ("select b, c, s.x from w.d, w.s", {"s": ["c", "x"]}, ""),
        ("select c, s.x from w.o, w.s", {"s": ["x"]}, ""),
        ("with a as (select * exclude (q) from w.s) select a.q, a.p from a", {"s": ["p"]}, ""),
        ("with a as (select *, 1 as n from w.s) select n, m from a", {"s": ["m"]}, ""),
        ("with a(x) as (select * from w.s) select x from a", {}, ""),
        # Names of other expressions of the same SELECT.
        ("select x as k, k + 1 as m from w.s group by k", {"s": ["x"]}, ""),
        ("select upper(nm) as nm from w.s", {"s": ["nm"]}, ""),
        # In a subquery it may be a column of the query around it.
        ("select b from w.d where exists (select 1 from w.s where k = 1)", {}, ""),
        ("select b from w.d where exists (select 1 from w.s where s.i = b)", {"s": ["i"]}, ""),
        # All columns are in the result, or matched by position.
        ("select * from w.s where x = 1", {"s": ["x"]}, "s"),
        ("with a as (select * from w.s) select a.*, 1 as n from a", {}, "s"),
        (
            "with a as (select * from w.s union all select id, b from w.d) select id from a",
            {},
            "s",
        ),
    ],
)
def test_the_columns_that_a_query_uses_of_a_table(
    sql: str, expected: dict[str, list[str]], selected: str
) -> None:
    use = ColumnUse(
        lambda name: _TABLES.find(name, ()),
        lambda path: {column.casefold() for column in _TABLES.columns(path)},
        lambda path: path[-1] != "d",
    )
    use.read(query_of(parse_statement(sql, "duckdb")))
    used = {path[-1]: list(names.values()) for path, names in use.used.items()}
    open_tables = {path[-1] for path in use.selected} - {"d"}
    assert (used, open_tables) == (expected, set(filter(None, [selected])))
