"""SQL is traced to the columns it reads, or told as not understood; never wrong in silence."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.sources.sql_lineage import (
    KnownTables,
    NotUnderstood,
    parse_statement,
    read_lineage,
)
from explorer.sources.table_definition import defined_columns

_ORDERS = ("wh", "shop", "orders")
_CUSTOMERS = ("wh", "shop", "customers")
_EVENTS = ("wh", "raw", "events")
_ODD = ("wh", "shop", "Odd Table")
_TABLES = KnownTables(
    [
        (_ORDERS, ["id", "customer_id", "total", "placed_at", "status"]),
        (_CUSTOMERS, ["id", "name", "country"]),
        (_EVENTS, ["id", "user_id", "kind", "at", "payload"]),
        (_ODD, ["Some Column", "plain", 'quo"ted']),
        (("wh", "raw", "orders"), ["raw_id", "blob"]),
        (("wh", "shop", "unknown_columns"), []),
    ]
)


def traced(sql: str, dialect: str = "postgres") -> dict[str, str]:
    """Return of each column of the result the columns it is made from, in one text."""
    found = read_lineage(sql, dialect, _TABLES, ("wh", "shop"))
    assert found.problem is None, found.problem
    assert found.describe_gaps() is None, found.describe_gaps()
    return {
        name: " ".join(f"{path[-1]}.{column}" for path, column in sources)
        for name, sources in zip(found.names, found.columns, strict=True)
    }


def reason(sql: str, dialect: str = "postgres") -> str:
    """Return why a statement, or a column of it, is not understood."""
    found = read_lineage(sql, dialect, _TABLES, ("wh", "shop"))
    told = found.problem or found.describe_gaps()
    assert told is not None
    return told


@pytest.mark.parametrize(
    ("path", "named", "near", "is_found"),
    [
        ("shop.public.orders", "public.orders", ("crm", "public"), False),
        ("shop.public.orders", "orders", ("crm", "public"), False),
        ("shop.public.orders", "public.orders", ("crm",), False),
        ("shop.public.orders", "orders", ("crm",), False),
        ("shop.raw.orders", "orders", ("shop", "sales"), False),
        ("shop.raw.orders", "orders", ("", "sales"), False),
        ("db.orders", "orders", ("crm",), False),
        ("shop.public.orders", "orders", ("shop", "sales"), True),
        ("shop.raw.orders", "orders", ("", "RAW"), True),
        ("shop.raw.orders", "orders", ("Shop",), True),
        ("shop.raw.orders", "raw.orders", ("", "sales"), True),
        ("shop.public.orders", "public.orders", (), True),
        ("shop.public.orders", "shop.public.orders", ("crm", "public"), True),
        ("eu.shop.public.orders", "orders", ("shop", "public"), True),
        ("eu.shop.public.orders", "public.orders", ("shop", "public"), True),
        ("db.orders", "orders", ("", "db"), True),
        ("public.made", "made", ("shop", "public"), True),
        ("made", "made", ("shop", "public"), True),
    ],
)
def test_a_table_is_not_taken_for_its_namesake_elsewhere(
    path: str, named: str, near: tuple[str, ...], is_found: bool
) -> None:
    whole = tuple(path.split("."))
    found = KnownTables([(whole, ["id"])]).find(tuple(named.split(".")), near)
    assert found == (whole if is_found else None)


def test_of_namesakes_the_one_in_the_default_schema_is_nearer() -> None:
    tables = KnownTables([(("crm", one, "orders"), ["id"]) for one in ("raw", "public")])
    assert tables.find(("orders",), ("crm",)) == ("crm", "public", "orders")
    assert tables.find(("orders",), ("crm", "raw")) == ("crm", "raw", "orders")
    assert tables.find(("orders",), ("crm", "sales")) == ("crm", "public", "orders")
    assert tables.find(("orders",), ("", "raw")) == ("crm", "raw", "orders")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select id, total from orders", {"id": "orders.id", "total": "orders.total"}),
        ("select ID, Total as T from ORDERS", {"id": "orders.id", "t": "orders.total"}),
        ("select total * 2 as twice, 1 as one from orders", {"twice": "orders.total", "one": ""}),
        (
            "select * from customers",
            {"id": "customers.id", "name": "customers.name", "country": "customers.country"},
        ),
        (
            "select o.id, c.name || c.country as who from orders o join customers c"
            " on c.id = o.customer_id",
            {"id": "orders.id", "who": "customers.country customers.name"},
        ),
        (
            "select name, total from orders, customers where customers.id = customer_id",
            {"name": "customers.name", "total": "orders.total"},
        ),
        (
            "with a as (select id, total t from orders), b as (select id, t + 1 as u from a)"
            " select u from b",
            {"u": "orders.total"},
        ),
        (
            "with orders as (select user_id as id from raw.events) select id from orders",
            {"id": "events.user_id"},
        ),
        (
            "with x as (select * from orders) select x.*, c.name from x left join customers c"
            " on c.id = x.customer_id",
            {
                "id": "orders.id",
                "customer_id": "orders.customer_id",
                "total": "orders.total",
                "placed_at": "orders.placed_at",
                "status": "orders.status",
                "name": "customers.name",
            },
        ),
        (
            "select id, name from customers union all select user_id, kind from raw.events",
            {"id": "events.user_id customers.id", "name": "events.kind customers.name"},
        ),
        (
            "select s.n from (select max(total) as n from orders group by customer_id) s",
            {"n": "orders.total"},
        ),
        (
            "select customer_id, row_number() over (partition by customer_id order by placed_at)"
            " as nth from orders",
            {
                "customer_id": "orders.customer_id",
                "nth": "orders.customer_id orders.placed_at",
            },
        ),
        (
            "select case when status = 'paid' then total else 0 end as paid from orders",
            {"paid": "orders.status orders.total"},
        ),
        (
            "select name, (select max(total) from orders o where o.customer_id = c.id) as most"
            " from customers c",
            {"name": "customers.name", "most": "orders.total"},
        ),
        ("select count(*) as n from orders", {"n": ""}),
        (
            "select coalesce(sum(total), 0) as s from orders having count(id) > 1",
            {"s": "orders.total"},
        ),
        (
            'select "Some Column" as c, "quo""ted" q from "Odd Table"',
            {
                "c": "Odd Table.Some Column",
                "q": 'Odd Table.quo"ted',
            },
        ),
        ("select raw_id from raw.orders", {"raw_id": "orders.raw_id"}),
        ("select wh.raw.orders.blob from wh.raw.orders", {"blob": "orders.blob"}),
        (
            "create view v as select id from orders where status in (select kind from raw.events)",
            {"id": "orders.id"},
        ),
        ("create table t as select name from customers limit 3", {"name": "customers.name"}),
        (
            "select a.id as one, b.id as two from orders a join orders b on a.id = b.customer_id",
            {"one": "orders.id", "two": "orders.id"},
        ),
        (
            "select l.m from customers c cross join lateral"
            " (select c.name || max(o.status) m from orders o where o.customer_id = c.id) l",
            {"m": "customers.name orders.status"},
        ),
    ],
)
def test_columns_are_traced(sql: str, expected: dict[str, str]) -> None:
    assert traced(sql) == expected


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        (
            "bigquery",
            "select `wh.shop`.customers.name, struct(id as a) as s from `wh.shop.customers`",
            {"name": "customers.name", "s": "customers.id"},
        ),
        (
            "bigquery",
            "select * except (id, name) from shop.customers",
            {"country": "customers.country"},
        ),
        (
            "snowflake",
            "select ID, payload:user.name::string as n from RAW.EVENTS qualify"
            " row_number() over (partition by user_id order by at desc) = 1",
            {"id": "events.id", "n": "events.payload"},
        ),
        (
            "snowflake",
            "select iff(total > 1, status, null) as s from orders",
            {"s": "orders.status orders.total"},
        ),
        (
            "tsql",
            "select top 3 [id], [total] as [T] from [shop].[orders]",
            {
                "id": "orders.id",
                "t": "orders.total",
            },
        ),
        (
            "mysql",
            "select `o`.`id`, ifnull(`o`.`total`, 0) as t from `orders` `o`",
            {
                "id": "orders.id",
                "t": "orders.total",
            },
        ),
        (
            "duckdb",
            "select * exclude (name) replace (id + 1 as id) from customers",
            {
                "id": "customers.id",
                "country": "customers.country",
            },
        ),
        ("duckdb", "from customers select name", {"name": "customers.name"}),
        (
            "spark",
            "select id, explode(split(status, ',')) as part from orders",
            {
                "id": "orders.id",
                "part": "orders.status",
            },
        ),
        ("redshift", "select nvl(name, 'x') as n from shop.customers", {"n": "customers.name"}),
        (
            "trino",
            "select json_extract_scalar(payload, '$.a') as a from raw.events",
            {"a": "events.payload"},
        ),
        ("sqlite", "select main.orders.total from main.orders", {"total": "orders.total"}),
    ],
)
def test_dialects_are_traced(dialect: str, sql: str, expected: dict[str, str]) -> None:
    assert traced(sql, dialect) == expected


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("select x from nowhere", "it reads nowhere, which is not known"),
        ("select * from unknown_columns", "the columns of wh.shop.unknown_columns are not known"),
        ("select missing from orders", "missing"),
        ("select id from orders o join customers c on true", "id"),
        ("select from where", "line 1"),
        ("delete from orders", "it is a Delete, not a query"),
        ("select 1; select 2", "it has 2 statements where one is expected"),
        ("", "it has 0 statements"),
        ("select id, total as id from orders", "two of its columns have the same name"),
        ("select * from read_things(1, 3)", "reads read_things(…), whose columns are not known"),
    ],
)
def test_what_is_not_understood_is_told_with_the_reason(sql: str, sentence: str) -> None:
    assert sentence.lower() in reason(sql).lower()


def test_tables_are_known_where_columns_are_not() -> None:
    sql = "select missing from orders union select id from raw.events"
    found = read_lineage(sql, "postgres", _TABLES, ("wh", "shop"))
    assert found.gaps == {0: "wh.shop.orders has no column 'missing'"}
    assert found.tables == [_ORDERS, _EVENTS]


def test_another_number_of_columns_is_not_taken() -> None:
    found = read_lineage("select id from orders", "postgres", _TABLES, ("wh", "shop"), width=2)
    assert found.problem == "the query has 1 columns where 2 are expected"
    assert found.columns == []


def test_a_definition_that_reads_a_table_function_has_its_columns() -> None:
    sql = (
        "create view v as select g.day, o.total::int as total"
        " from generate_series(1, 2) as g(day) join shop.orders o on o.id = g.day"
    )
    columns = defined_columns(parse_statement(sql, "postgres"), "postgres", lambda path: None)
    assert [(column.name, column.type) for column in columns] == [("day", None), ("total", "int")]


def test_an_unknown_dialect_is_told() -> None:
    with pytest.raises(InvalidInput, match="no SQL dialect 'klingon'"):
        read_lineage("select 1", "klingon", _TABLES, ())


@pytest.mark.parametrize("levels", [400, 5_000, 20_000])
@pytest.mark.parametrize(
    ("before", "inner", "after"),
    [
        ("(", "id", ")"),
        ("abs(", "id", ")"),
        ("[", "id", "]"),
        ("case when id > 1 then ", "id", " end"),
        ("(select ", "id", " from orders)"),
    ],
)
def test_a_statement_nested_too_deeply_is_told(
    levels: int, before: str, inner: str, after: str
) -> None:
    sql = f"select {before * levels}{inner}{after * levels} as id from orders"
    assert reason(sql) == "it is nested too deeply"


@pytest.mark.parametrize(
    ("before", "inner", "after"),
    [
        ("- ", "id", ""),
        ("not ", "id", ""),
        ("interval ", "id", ""),
        ("", "id", "::int"),
        ("", "id::int", "[]"),
        ("", "id", ".part"),
        ("", "id from orders", " join orders"),
        # Each of the brackets holds less than what is too much.
        (f"({'- ' * 100}", "id", ")"),
    ],
)
def test_a_statement_nested_too_deeply_without_brackets_is_told_before_it_is_parsed(
    before: str, inner: str, after: str
) -> None:
    levels = 2_000 // max(1, before.count("- "))
    with pytest.raises(NotUnderstood, match="nested too deeply"):
        parse_statement(f"select {before * levels}{inner}{after * levels}", "postgres")


@pytest.mark.parametrize("operator", ["and", "or", "||"])
def test_an_expression_of_very_many_parts_is_parsed(operator: str) -> None:
    many = f" {operator} id = 1" * 1_500
    assert parse_statement(f"select id from orders where id = 0{many}", "postgres")


def test_a_statement_nested_as_deeply_as_people_and_programs_nest_is_read() -> None:
    levels = 100
    sql = f"select {'coalesce(' * levels}id{', 0)' * levels} as id from orders"
    assert traced(sql) == {"id": "orders.id"}


def test_one_unknown_part_affects_only_the_columns_that_are_made_from_it() -> None:
    sql = "select o.id, o.missing, n.fee + o.total as due, n.* from orders o, nowhere n"
    found = read_lineage(sql, "postgres", _TABLES, ("wh", "shop"))
    assert found.problem is None
    assert found.names == ["id", "missing", "due", "*"]
    assert found.columns == [((_ORDERS, "id"),), (), ((_ORDERS, "total"),), ()]
    assert found.describe_gaps() == (
        "missing: wh.shop.orders has no column 'missing'; "
        "due, *: it reads nowhere, which is not known"
    )


def test_a_star_of_unknown_columns_stands_for_those_that_the_view_has_more() -> None:
    sql = "select o.id, n.*, o.total from orders o, nowhere n"
    found = read_lineage(sql, "postgres", _TABLES, ("wh", "shop"), width=4)
    assert found.columns == [((_ORDERS, "id"),), (), (), ((_ORDERS, "total"),)]
    assert list(found.gaps) == [1, 2]
    assert found.describe_gaps(["a", "b", "c", "d"]) == "b, c: it reads nowhere, which is not known"


def test_where_no_column_of_many_is_traced_they_are_counted() -> None:
    names = ", ".join(f"c{number}" for number in range(9))
    found = read_lineage(f"select {names} from nowhere", "postgres", _TABLES, ("wh", "shop"))
    assert found.describe_gaps() == "all 9 columns: it reads nowhere, which is not known"


Sources = frozenset[tuple[tuple[str, ...], str]]


@dataclass(frozen=True)
class Made:
    """What a generated column is made from, and whether that is everything."""

    sources: Sources = frozenset()
    is_whole: bool = True

    def __or__(self, other: "Made") -> "Made":
        return Made(self.sources | other.sources, self.is_whole and other.is_whole)


@dataclass
class Generated:
    """A generated query, or a part of its FROM; one that is open has columns nobody knows."""

    sql: str
    columns: dict[str, Made] = field(default_factory=dict)
    is_open: bool = False

    def row(self) -> Made:
        """Return what a whole row is made from."""
        whole = Made(is_whole=not self.is_open)
        for made in self.columns.values():
            whole |= made
        return whole


_VISITS = ("wh", "raw", "visits")
_GENERATED_TABLES = KnownTables(below=_TABLES)
_GENERATED_TABLES.add(_VISITS, ["id", "geo"], ["geo.country", "geo.city", "geo.city.name"])


def base_table(path: tuple[str, ...]) -> Generated:
    """Return a table that the catalog has."""
    names = _GENERATED_TABLES.columns(path)
    columns = {name: Made(frozenset([(path, name)])) for name in names}
    return Generated(".".join(path[1:]), columns)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2, prefix: str = "") -> Generated:
    """Generate a query together with what each of its columns is made from."""
    sources: dict[str, Generated] = {}
    ctes: list[str] = []
    for at in range(draw(st.integers(1, 3))):
        alias = f"{prefix}t{at}"
        kinds = ["table", "table", "struct", "unknown", "no columns", "function"]
        kind = draw(st.sampled_from(kinds + ["query", "cte", "union"] * bool(depth)))
        if kind == "table":
            source = base_table(draw(st.sampled_from([_ORDERS, _CUSTOMERS, _EVENTS])))
        elif kind == "struct":
            source = base_table(_VISITS)
        elif kind == "unknown":
            source = Generated("nowhere", is_open=True)
        elif kind == "no columns":
            source = Generated("shop.unknown_columns", is_open=True)
        elif kind == "function":
            source = Generated("read_things(1)", is_open=True)
        else:
            inner = draw(queries(depth - 1, f"{alias}_"))
            source = Generated(f"({inner.sql})", inner.columns, inner.is_open)
            if kind == "cte":
                ctes.append(f"{alias}_cte as ({inner.sql})")
                source.sql = f"{alias}_cte"
            elif kind == "union" and not inner.is_open:
                other = base_table(_CUSTOMERS).columns["name"]
                width = ", ".join(["name"] * len(inner.columns))
                source.sql = f"({inner.sql} union all select {width} from shop.customers)"
                source.columns = {name: made | other for name, made in inner.columns.items()}
        sources[alias] = source
    result = Generated("", is_open=False)
    items = []
    for at in range(draw(st.integers(1, 4))):
        name = f"{prefix}c{at}"
        text, made = draw(expressions(sources, depth))
        items.append(f"{text} as {name}")
        result.columns[name] = made
    starred = draw(st.sampled_from([None, *sources]))
    if starred is not None:
        items.append(f"{starred}.*")
        result.columns |= sources[starred].columns
        result.is_open = sources[starred].is_open
    start = f"with {', '.join(ctes)} " if ctes else ""
    origin = " cross join ".join(f"{source.sql} as {alias}" for alias, source in sources.items())
    condition = draw(st.sampled_from(["", " where missing = 1", " order by 1"]))
    result.sql = f"{start}select {', '.join(items)} from {origin}{condition}"
    return result


@st.composite
def expressions(draw: st.DrawFn, sources: dict[str, Generated], depth: int) -> tuple[str, Made]:
    """Generate an expression over the columns of a FROM."""
    alias = draw(st.sampled_from(list(sources)))
    source = sources[alias]
    kind = draw(
        st.sampled_from(
            ["column", "column", "missing", "row", "field of row", "both", "case", "json", "count"]
            + ["query"] * bool(depth)
        )
    )
    name = draw(st.sampled_from([*source.columns, "missing"]))
    made = source.columns.get(name, Made(is_whole=False))
    if kind == "missing":
        return f"{alias}.missing", Made(is_whole=False)
    if kind == "row":
        return alias, source.row()
    if kind == "field of row":
        return f"({alias}).{name}", made
    if kind == "json":
        return f"to_json({alias})", source.row()
    if kind == "count":
        return "count(*)", Made()
    if kind in ("both", "case"):
        text, more = draw(expressions(sources, 0))
        if kind == "both":
            return f"coalesce({alias}.{name}, {text})", made | more
        return f"case when {alias}.{name} = 1 then {text} else 0 end", made | more
    if kind == "query":
        return f"(select max(n.total + {alias}.{name}) from shop.orders n)", made | Made(
            frozenset([(_ORDERS, "total")])
        )
    if name == "geo" and made == base_table(_VISITS).columns["geo"] and source.sql == "raw.visits":
        path = draw(st.sampled_from(["geo.country", "geo.city", "geo.city.name"]))
        return f"{alias}.{path}", Made(frozenset([(_VISITS, path)]))
    return f"{alias}.{name}", made


@settings(max_examples=150, derandomize=True)
@given(query=queries(), dialect=st.sampled_from(["postgres", "duckdb", "bigquery", "spark"]))
def test_every_result_column_is_traced_or_reported(query: Generated, dialect: str) -> None:
    found = read_lineage(query.sql, dialect, _GENERATED_TABLES, ("wh", "shop"))
    assert found.problem is None, found.problem
    expected = dict(query.columns)
    assert found.names[: len(expected)] == list(expected)
    assert found.names[len(expected) :] == ["*"] * query.is_open
    for at, (name, sources) in enumerate(zip(found.names, found.columns, strict=True)):
        made = expected.get(name, Made(is_whole=False))
        assert frozenset(sources) == made.sources, name
        assert (at in found.gaps) == (not made.is_whole), name
