"""`catalog lineage --sql`: what a script of statements reads and makes, to the column."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.sources.conftest import Run, dataset

_SCRIPT = """\
-- A load of every night; with a semicolon here.
set threads = 4;
create temp table paid as
    select id, customer_id, total from wh.main.orders where status = 'paid; or not';
insert into totals (who, worth)
    select c.name, sum(p.total) from paid p join customers c on c.id = p.customer_id group by 1;
insert into totals select missing from orders;
merge into totals t using paid p on t.who = p.id when matched then update set worth = 1;
select from where;
drop table paid;
select worth * 2 as twice from totals;
"""


@pytest.fixture
def loaded(command: Run, tmp_path: Path) -> Run:
    """The catalog with a DuckDB file of three tables, and the command that asks it."""
    path = tmp_path / "wh.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table orders (id int, customer_id int, total double, status varchar);"
            "create table customers (id int, name varchar);"
            "create table totals (who varchar, worth double)"
        )
    assert command("add", str(path)).code == 0
    return command


def test_each_statement_is_traced_or_listed_with_the_reason(loaded: Run, tmp_path: Path) -> None:
    script = tmp_path / "load.sql"
    script.write_text(_SCRIPT)
    ran = loaded("lineage", "--sql", str(script), "--dialect", "duckdb", "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    orders, customers = dataset("duckdb", "wh.main.orders"), dataset("duckdb", "wh.main.customers")
    totals = dataset("duckdb", "wh.main.totals")
    assert [(one["line"], one["target"], one["upstreams"]) for one in found] == [
        (3, "paid", [orders]),
        (5, totals, ["paid", customers]),
        (7, totals, [orders]),
        (8, totals, ["paid"]),
        (9, None, []),
        (11, None, [totals]),
    ]
    assert found[0]["columns"]["total"] == [{"urn": orders, "column": "total"}]
    assert found[1]["columns"] == {
        "who": [{"urn": customers, "column": "name"}],
        "worth": [{"urn": "paid", "column": "total"}],
    }
    assert found[5]["columns"] == {"twice": [{"urn": totals, "column": "worth"}]}
    assert [bool(one["problem"]) for one in found] == [False, False, True, False, True, False]
    assert found[3]["columns"] == {"worth": []}
    assert "4 of 6 statements parsed" in ran.err


def test_people_read_a_line_a_column(loaded: Run, tmp_path: Path) -> None:
    script = tmp_path / "view.sql"
    script.write_text("create view v as select id, upper(status) as state from orders")
    ran = loaded("lineage", "--sql", str(script), "--dialect", "duckdb")
    assert ran.code == 0, ran
    assert [line.split() for line in ran.out.splitlines()] == [
        ["1", "v", "from", "wh.main.orders"],
        ["id", "←", "orders.id"],
        ["state", "←", "orders.status"],
    ]


def test_what_is_not_traced_is_told_column_by_column(loaded: Run, tmp_path: Path) -> None:
    script = tmp_path / "view.sql"
    script.write_text(
        "create view v as select o.id, o.total + n.fee as due from orders o, nowhere n"
    )
    told = "not traced: it reads nowhere, which is not known"
    ran = loaded("lineage", "--sql", str(script), "--dialect", "duckdb")
    assert ran.code == 1
    assert [line.split() for line in ran.out.splitlines()] == [
        ["1", "v", "from", "wh.main.orders"],
        ["id", "←", "orders.id"],
        ["due", "←", "orders.total;", *told.split(" ")],
    ]
    assert "line 1: not traced: due: it reads nowhere, which is not known (create view" in ran.err
    ran = loaded("lineage", "--sql", str(script), "--dialect", "duckdb", "--json")
    (found,) = json.loads(ran.out)
    assert found["columns"]["id"] == [{"urn": dataset("duckdb", "wh.main.orders"), "column": "id"}]
    assert found["untraced"] == {"due": "it reads nowhere, which is not known"}


def test_tables_in_blocks_and_procedures_are_those_of_the_catalog(
    loaded: Run, tmp_path: Path
) -> None:
    script = tmp_path / "procedure.sql"
    script.write_text(
        "create procedure load() language sql as $$\n"
        "  insert into totals (who) select name from customers;\n"
        "$$;\n"
        "do $$ begin\n"
        "  insert into totals (worth) select total from orders;\n"
        "  call load();\n"
        "end $$;\n"
    )
    ran = loaded("lineage", "--sql", str(script), "--dialect", "duckdb", "--json")
    assert ran.code == 0, ran
    totals = dataset("duckdb", "wh.main.totals")
    assert [(one["line"], one["target"], one["columns"]) for one in json.loads(ran.out)] == [
        (5, totals, {"worth": [{"urn": dataset("duckdb", "wh.main.orders"), "column": "total"}]}),
        (2, totals, {"who": [{"urn": dataset("duckdb", "wh.main.customers"), "column": "name"}]}),
    ]


def test_wrong_use_is_told(loaded: Run, tmp_path: Path) -> None:
    assert "give a URN, or a file" in loaded("lineage").err
    assert "must be given together" in loaded("lineage", "--sql", "x.sql").err
    ran = loaded("lineage", "--sql", "nothere.sql", "--dialect", "duckdb")
    assert "cannot read nothere.sql: No such file" in ran.err
    script = tmp_path / "a.sql"
    script.write_text("select 1")
    ran = loaded("lineage", "--sql", str(script), "--dialect", "klingon")
    assert "no SQL dialect 'klingon'" in ran.err
