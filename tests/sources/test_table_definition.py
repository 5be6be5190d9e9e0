"""What a query defines is compared by what it means, not by how it is written."""

from collections.abc import Sequence

import pytest

from explorer.sources.sql_lineage import Path, parse_statement
from explorer.sources.table_definition import DefinedTable, define_table

_COLUMNS = {"a": ("id", "x", "y"), "b": ("id", "z")}


def defined(sql: str) -> DefinedTable:
    def columns_of(path: Path) -> Sequence[str]:
        return _COLUMNS[path[-1]]

    return define_table(parse_statement(sql, "duckdb"), "duckdb", columns_of)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select x + y as s from a", "with q as (select x + y as t from a) select t as s from q"),
        ("select sum(x + y) as s from a", "select sum(t) as s from (select x + y as t from a) q"),
        ("select x, z from a join b using (id)", "select a.x, b.z from a join b using (id)"),
        ("select x from a where x > 1 and y = 2", "select X from a WHERE (y = 2) and x > 1"),
        ("select x from a", "-- all\nselect /* one */ x from a"),
        ("select x from a where y <> 1", "select x from (select * from a where y != 1) q"),
        ("select x, y from a group by 1, 2", "select x, y from a group by x, y"),
        ("select x::int as x from a", "select cast(x as int) as x from a"),
        ("with q as (select * from b where z > 1) select x from a", "select x from a"),
        (
            "select x from a where id in (select id from b where z=1)",
            "with q as (select * from a) select x from q where id in (select id from b where z=1)",
        ),
    ],
)
def test_the_same_query_in_another_form_defines_the_same(one: str, other: str) -> None:
    assert defined(one) == defined(other)


@pytest.mark.parametrize(
    ("one", "other", "part"),
    [
        ("select (x + y) * 2 as s from a", "select x + y * 2 as s from a", None),
        ("select x from a where x > 1", "select x from a where x > 2", "filter"),
        ("select x from a where x > 1", "select x from a where x > 1 or y = 1", "filter"),
        ("select x from a having x > 1", "select x from a", "filter"),
        ("select x from a join b using (id)", "select x from a left join b using (id)", "join"),
        ("select x from a join b on a.id = b.id", "select x from a cross join b", "join"),
        ("select x, y from a group by x, y", "select x, max(y) as y from a group by x", "grouping"),
        ("select x from a", "select distinct x from a", "grouping"),
        ("select x from a", "select x from a limit 1", "limit"),
        (
            "select x from a union select y from a",
            "select x from a union all select y from a",
            "union",
        ),
        (
            "select x from a union select y from a",
            "select x from a except select y from a",
            "union",
        ),
    ],
)
def test_a_query_that_means_something_else_differs_in_that_part(
    one: str, other: str, part: str | None
) -> None:
    before, after = defined(one), defined(other)
    changed = {kind for kind in before.parts if before.parts[kind] != after.parts[kind]}
    assert changed == ({part} if part else set())
    if part is None:
        assert before.columns != after.columns
