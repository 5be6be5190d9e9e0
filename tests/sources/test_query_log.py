"""`catalog add LOG --dialect`: lineage and use of tables out of the queries that were run."""

import csv
import gzip
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sources import query_log
from explorer.sources.query_log import statement_key
from explorer.sources.script_lineage import DatabaseSession
from explorer.sources.source import Inventory
from explorer.sources.sql_statements import split_statements
from tests.conftest import serving_catalog
from tests.sources.conftest import Run, column_lineage, dataset

_TABLES = """
create table orders (id int, customer_id int, total double, status varchar);
create table customers (id int, name varchar, mail varchar);
create table totals (who varchar, worth double);
create table daily (day date, worth double);
create table monthly (month date, worth double);
create table paid_orders (id int, total double);
"""
_DAY = 24 * 3_600_000
_FIRST = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1_000)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a catalog that all tests here share; each has a schema of its own."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


@pytest.fixture
def schema(command: Run, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The name of a database whose tables are in the catalog."""
    name = "s" + str(abs(hash(request.node.name)))
    path = tmp_path / f"{name}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(_TABLES)
    assert command("add", str(path)).code == 0
    return name


def table(schema: str, name: str) -> str:
    """Return the URN of a table."""
    return dataset("duckdb", f"{schema}.main.{name}")


def lineage(cat: Catalog, urn: str) -> tuple[set[str], dict[str, list[str]]]:
    """Return the tables that one is made from, and of its columns the columns."""
    value = cat.entity(urn).raw("upstreamLineage") or {}
    tables = {one["dataset"].split(".")[-1].split(",")[0] for one in value.get("upstreams", ())}
    columns: dict[str, list[str]] = {}
    for fine in value.get("fineGrainedLineages", ()):
        # A column has an entry for each time that something was added.
        for name, sources in column_lineage({"fineGrainedLineages": [fine]}).items():
            columns.setdefault(name.partition(".")[2], []).extend(sources)
    return tables, columns


def history(path: Path, schema: str, rows: list[tuple[str, str, str, str]]) -> Path:
    """Write a query history as Snowflake exports it: text, user, moment, session."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            (
                *("QUERY_TEXT", "USER_NAME", "START_TIME", "SESSION_ID", "DATABASE_NAME"),
                *("SCHEMA_NAME", "EXECUTION_STATUS"),
            )
        )
        for text, user, moment, session in rows:
            status = "FAIL" if "fails" in text else "SUCCESS"
            writer.writerow((text, user, moment, session, schema, "main", status))
    return path


def test_a_script_gives_lineage_through_the_tables_that_it_makes(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    script = tmp_path / "load.sql"
    script.write_text(
        f"use {schema}.main;\n"
        "create temp table paid as select customer_id, total from orders where status = 'paid';\n"
        "insert into paid select id, 0 from customers;\n"
        "merge into totals t using (select c.name, p.total from paid p join customers c"
        " on c.id = p.customer_id) s on t.who = s.name\n"
        "when matched then update set worth = t.worth + s.total\n"
        "when not matched then insert (who, worth) values (s.name, s.total);\n"
        "create table daily_new as select current_date as day, sum(worth) as worth from totals;\n"
        "alter table daily_new rename to daily;\n"
        "insert into monthly select nonsense from orders;\n"
        "call refresh_everything();\n"
    )
    ran = command("add", str(script), "--dialect", "duckdb", "--json")
    assert ran.code == 0, ran
    value = json.loads(ran.out)
    assert value["found"] == {"statement": 8, "different statement": 8}
    assert [one["subject"] for one in value["skipped"]] == ["statement 9", "statement 10"]
    assert "nonsense" in value["skipped"][0]["reason"].lower()
    assert lineage(cat, table(schema, "totals")) == (
        {"orders", "customers"},
        {"who": ["customers.name"], "worth": ["orders.total"]},
    )
    assert lineage(cat, table(schema, "daily")) == ({"totals"}, {"worth": ["totals.worth"]})
    assert cat.timeseries(table(schema, "orders"), "datasetUsageStatistics").values == ()


def test_a_table_function_or_unknown_table_does_not_hide_what_else_a_query_reads(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    path = history(
        tmp_path / f"{schema}_log.csv",
        schema,
        [
            (
                "create table daily as select g.day, sum(o.total + n.fee) as worth"
                " from generate_series(date '2026-01-01', date '2026-02-01') as g(day)"
                " left join orders o on o.id = g.day left join nowhere n on n.id = o.id group by 1",
                "ANA",
                "2026-03-01 10:00:00",
                "1",
            ),
        ],
    )
    ran = command("add", str(path), "--dialect", "duckdb", "--json")
    assert ran.code == 0, ran
    (skipped,) = json.loads(ran.out)["skipped"]
    reason = "not traced: worth: it reads nowhere, which is not known (create table daily"
    assert skipped["reason"].startswith(reason)
    assert lineage(cat, table(schema, "daily")) == ({"orders"}, {"worth": ["orders.total"]})
    (use,) = cat.timeseries(table(schema, "orders"), "datasetUsageStatistics").values
    assert use["totalSqlQueries"] == 1


def test_a_history_gives_the_use_of_each_day(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    path = history(
        tmp_path / f"{schema}_log.csv",
        schema,
        [
            (
                "select id, total from orders where id = 7",
                "ANA",
                "2026-03-02 09:00:00.5 +0100",
                "1",
            ),
            ("select id, total from orders where id = 8", "ben@x.org", "2026-03-02 23:59:59Z", "2"),
            ("select * from orders where status in ('a', 'b')", "ANA", "2026-03-01 08:00:00", "1"),
            ("select total from orders -- fails", "ANA", "2026-03-01 08:00:00", "1"),
        ],
    )
    ran = command("add", str(path), "--dialect", "duckdb", "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["found"]["failed statement"] == 1
    first, second = cat.timeseries(table(schema, "orders"), "datasetUsageStatistics").values
    assert first["timestampMillis"] == _FIRST
    assert first["totalSqlQueries"] == 1
    assert {one["fieldPath"] for one in first["fieldCounts"]} == {
        *("id", "customer_id", "total", "status")
    }
    assert second["timestampMillis"] == _FIRST + _DAY
    assert second["totalSqlQueries"] == second["uniqueUserCount"] == 2
    assert second["topSqlQueries"] == ["select id, total from orders where id = ?"]
    assert second["userCounts"] == [
        {"user": "urn:li:corpuser:ana", "count": 1},
        {"user": "urn:li:corpuser:ben", "count": 1, "userEmail": "ben@x.org"},
    ]
    assert second["fieldCounts"] == [
        {"fieldPath": "id", "count": 2},
        {"fieldPath": "total", "count": 2},
    ]


def test_a_second_run_changes_nothing_and_a_longer_log_adds(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    rows = [
        ("insert into paid_orders select id, total from orders", "etl", "2026-03-01 01:00", "1")
    ]
    path = history(tmp_path / f"{schema}_log.csv", schema, rows)
    assert command("add", str(path), "--dialect", "duckdb").code == 0
    value = json.loads(command("sources", "run", schema, "--json", "--dry-run").out)
    assert value[0]["source"] == schema
    value = json.loads(
        command("add", str(path), "--dialect", "duckdb", "--name", "log", "--json").out
    )
    assert value["written"] == 0
    rows += [
        ("insert into paid_orders select id, -1 from customers", "etl", "2026-03-02 01:00", "1"),
        ("select * from orders", "ana", "2026-03-02 02:00", "1"),
        ("select * from orders", "ben", "2026-03-02 03:00", "1"),
    ]
    history(path, schema, rows)
    value = json.loads(command("sources", "run", "log", "--json").out)[0]
    assert value["written"] == 3
    assert lineage(cat, table(schema, "paid_orders"))[0] == {"orders", "customers"}
    # A log whose beginning was cut off, in the middle of a day, takes nothing away.
    history(path, schema, [rows[1], rows[3]])
    assert json.loads(command("sources", "run", "log", "--json").out)[0]["written"] == 0
    use = cat.timeseries(table(schema, "orders"), "datasetUsageStatistics").values
    assert [one["totalSqlQueries"] for one in use] == [1, 2]
    assert lineage(cat, table(schema, "paid_orders")) == (
        {"orders", "customers"},
        {"id": ["orders.id", "customers.id"], "total": ["orders.total"]},
    )
    # And a source that is removed takes no tables with it, which others brought.
    assert command("sources", "remove", "log", "--yes").code == 0
    assert not (cat.entity(table(schema, "orders")).raw("status") or {}).get("removed")


def test_the_use_of_a_day_is_the_sum_over_the_logs_that_have_a_part_of_it(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    # The same statement is run by the same user in both halves of the day.
    rows = [("select id from orders", "etl", f"2026-03-01 {hour:02}:00", "1") for hour in range(5)]
    rows[4] = ("select total from orders", "ben", rows[4][2], "2")
    paths = [
        history(tmp_path / f"{schema}_{name}.csv", schema, part)
        for name, part in (("am", rows[:3]), ("pm", rows[3:]), ("am_again", rows[:3]))
    ]
    for path, written in zip(paths, (1, 1, 0), strict=True):
        value = json.loads(command("add", str(path), "--dialect", "duckdb", "--json").out)
        assert value["written"] == written
    # A log that has grown replaces its own part.
    history(paths[1], schema, [*rows[3:], ("select id from orders", "ana", rows[3][2], "3")])
    assert json.loads(command("sources", "run", f"{schema}_pm", "--json").out)[0]["written"] == 1
    period = ("--from", "2026-03-01", "--to", "2026-03-01")
    use = json.loads(command("usage", table(schema, "orders"), *period, "--json").out)
    assert [(day["count"], day["users"]) for day in use["days"]] == [(6, 3)]
    users = {user["user"].rpartition(":")[2]: user["count"] for user in use["users"]}
    assert users == {"etl": 4, "ben": 1, "ana": 1}


def test_a_log_replaces_the_use_that_it_wrote_before_sources_were_told_apart(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    statement = ("insert into orders select id, id, 1, name from customers", "etl")
    path = history(tmp_path / f"{schema}_log.csv", schema, [(*statement, "", "1")])
    assert command("add", str(path), "--dialect", "duckdb").code == 0
    granularity = {"unit": "DAY", "multiple": 1}
    day = {"timestampMillis": _FIRST, "eventGranularity": granularity, "totalSqlQueries": 1}
    for name in ("customers", "orders"):
        cat.ingest(Proposal(Urn.parse(table(schema, name)), "datasetUsageStatistics", day))
    rows = [(*statement, f"2026-03-01 0{hour}:00", "1") for hour in range(2)]
    rows.append(("select * from orders", "ana", rows[0][2], "2"))
    history(path, schema, rows)
    assert command("sources", "run", f"{schema}_log").code == 0

    def counts(name: str) -> list[int]:
        points = cat.timeseries(table(schema, name), "datasetUsageStatistics").values
        return sorted(point["totalSqlQueries"] for point in points)

    # Of the table whose use is new to the log, somebody else has counted one.
    assert counts("customers") == [1, 2]
    assert counts("orders") == [1]


def test_temporary_tables_are_those_of_their_session(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    rows = [
        ("create temp table t as select total as x from orders", "a", "2026-03-01 01:00", "1"),
        ("create temp table t as select mail as x from customers", "b", "2026-03-01 01:01", "2"),
        ("insert into totals (who) select x from t", "b", "2026-03-01 01:02", "2"),
        ("insert into daily (worth) select x from t", "a", "2026-03-01 01:03", "1"),
        ("insert into monthly (worth) select x from t", "c", "2026-03-01 01:04", "3"),
    ]
    # The newest first, as many export it.
    path = history(tmp_path / f"{schema}_log.csv", schema, rows[::-1])
    ran = command("add", str(path), "--dialect", "duckdb", "--json")
    assert lineage(cat, table(schema, "totals"))[1] == {"who": ["customers.mail"]}
    assert lineage(cat, table(schema, "daily"))[1] == {"worth": ["orders.total"]}
    assert lineage(cat, table(schema, "monthly")) == (set(), {})
    (skipped,) = json.loads(ran.out)["skipped"]
    assert "it reads t, which is not known" in skipped["reason"]


def test_statements_that_differ_in_literals_are_parsed_once(
    command: Run, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    read = DatabaseSession.read

    def counted(self: DatabaseSession, text: str, *more: Any) -> Any:
        parsed.append(text)
        return read(self, text, *more)

    monkeypatch.setattr(DatabaseSession, "read", counted)
    rows = [
        (f"select id from orders where total > {one} and status = 'x{one}'", "a", "2026-03-01", "1")
        for one in range(50)
    ]
    path = history(tmp_path / f"{schema}_log.csv", schema, rows)
    assert command("add", str(path), "--dialect", "duckdb").code == 0
    assert len(parsed) == 1


def test_statements_of_others_are_no_session(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    at = f"{schema}.main"
    rows = [
        (f"use {at}", "b", "2026-03-01 00:59"),
        (f"create temp table t as select total as x from {at}.orders", "a", "2026-03-01 01:00"),
        (f"insert into {at}.totals (worth) select x from t", "a", "2026-03-01 01:01"),
        ("use elsewhere.main", "a", "2026-03-01 01:02"),
        ("insert into daily (worth) select x from t", "b", "2026-03-01 01:03"),
        (f"insert into {at}.daily (worth) select x from t", "a", "2026-03-02 01:03"),
        ("insert into monthly (worth) select total from orders", "b", "2026-03-01 01:04"),
    ]
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("query", "user", "timestamp"), *rows])
    ran = command("add", str(path), "--dialect", "duckdb", "--json")
    assert lineage(cat, table(schema, "totals"))[1] == {"worth": ["orders.total"]}
    assert lineage(cat, table(schema, "monthly"))[1] == {"worth": ["orders.total"]}
    assert lineage(cat, table(schema, "daily")) == (set(), {})
    assert len(json.loads(ran.out)["skipped"]) == 2

    # Nor have those a common one of which nothing is known, but for those in one text.
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        texts = ("; ".join(text for text, *_ in rows[1:3]), rows[5][0])
        csv.writer(file).writerows([("query",), *((text,) for text in texts)])
    value = json.loads(command("add", str(path), "--dialect", "duckdb", "--json").out)
    assert [one["subject"] for one in value["skipped"]] == ["statement 2"]


def test_each_script_of_a_folder_is_a_session(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    # Another database has tables of the same names, so that only USE says which are meant.
    other = tmp_path / f"{schema}_other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute(_TABLES)
    assert command("add", str(other)).code == 0
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "a.sql").write_text(
        f"use {schema}.main; create temp table t as select total as x from orders;\n"
        "insert into totals (worth) select x from t;"
    )
    (scripts / "b.sql").write_text(
        f"insert into {schema}.main.daily (worth) select x from t;\n"
        "insert into monthly (worth) select total from orders;"
    )
    ran = command("add", str(scripts), "--dialect", "duckdb", "--json")
    assert lineage(cat, table(schema, "totals"))[1] == {"worth": ["orders.total"]}
    assert lineage(cat, table(schema, "daily")) == (set(), {})
    assert lineage(cat, table(schema, "monthly")) == (set(), {})
    assert len(json.loads(ran.out)["skipped"]) == 2


def test_a_statement_is_parsed_again_only_where_its_names_stand_for_something_else(
    command: Run, cat: Catalog, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    read, made = DatabaseSession.read, list[int]()

    def counted(self: DatabaseSession, text: str, *more: Any) -> Any:
        parsed.append(text)
        found = read(self, text, *more)
        made.append(len(self.script_tables._columns) + len(self.script_tables._by_end))
        return found

    monkeypatch.setattr(DatabaseSession, "read", counted)
    moment = (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=one) for one in range(1_000))
    texts = []
    for night in range(20):
        texts += [
            f"create table stage_{night} as select total as x from orders where id = {night}",
            "create table stage as select total as x from orders",
            "insert into totals (worth) select x from stage",
            f"drop table stage_{night}",
            "drop table stage",
        ]
    texts += [
        "create table stage as select id as x from customers",
        "insert into totals (worth) select x from stage",
    ]
    rows = [(text, "a", next(moment).isoformat(), "1") for text in texts]
    path = history(tmp_path / f"{schema}_log.csv", schema, rows)
    assert command("add", str(path), "--dialect", "duckdb").code == 0
    # Two that are new each night, three that are the same, and one that is not at the end.
    assert len(parsed) == 40 + 3 + 1
    assert max(made) <= 10
    assert lineage(cat, table(schema, "totals"))[1] == {"worth": ["customers.id", "orders.total"]}


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("select 1  -- one\n from t;", "select ? from t"),
        ("select a from t where b in (1, 2,3) and c='x'", "select a from t where b in (?) and c=?"),
        ("select 'it''s' as a, b 'name' from t", "select ? as a, b 'name' from t"),
        ("select * from 'file.parquet'", "select * from 'file.parquet'"),
        ("select 1, 2 from t", "select ?, ? from t"),
        ("select * from t pivot (sum(a) for b in ('x', 'y'))", None),
        (
            "select * from t pivot (sum(a) for b in ('x')) where c = 'secret'",
            "select * from t pivot (sum(a) for b in ('x')) where c = ?",
        ),
        ("select identifier from t where c = 'secret'", "select identifier from t where c = ?"),
        (
            "select * from identifier('t') where c = 'secret'",
            "select * from identifier('t') where c = ?",
        ),
    ],
)
def test_a_key_leaves_out_literals_that_say_nothing_of_what_is_read(
    sql: str, key: str | None
) -> None:
    assert statement_key(sql, "snowflake") == (key or sql)


def test_what_is_shown_of_queries_has_none_of_their_values(
    command: Run, cat: Catalog, schema: str, tmp_path: Path
) -> None:
    texts = (
        "select * from orders pivot (sum(total) for status in ('hidden')) where id = 7",
        "select id from orders where status = 'hidden' or 'pivot' = status",
        'select id "no" from orders where status in ("status", "hidden@x.org")',
        "select total as identifier from orders where id between 5 and 123456",
        "alter user bob password 'hidden'",
        "create user bob identified by hidden",
        "call hide_it('hidden')",
        "pivot orders on hidden hidden identified by hidden",
        "select id from orders where status = 'hidden",
        "select id from orders where status = \"hidden\" and customer_id = 'hidden'",
        "select id from read_csv('hidden')",
        "select id from orders where status 'hidden' 'hidden'",
    )
    rows = [(text, "ana", "2026-03-01 08:00", "1") for text in texts]
    path = history(tmp_path / f"{schema}_log.csv", schema, rows)
    ran = command("add", str(path), "--dialect", "duckdb", "--json")
    assert ran.code == 0, ran
    reasons = [one["reason"] for one in json.loads(ran.out)["skipped"]]
    assert len(reasons) >= 5
    assert {"(alter user …)", "(create user …)", "(call hide_it …)"} <= {
        f"({one.rpartition('(')[2]}" for one in reasons
    }
    (use,) = cat.timeseries(table(schema, "orders"), "datasetUsageStatistics").values
    assert "select total as identifier from orders where id between ? and ?" in use["topSqlQueries"]
    for shown in (*reasons, *use["topSqlQueries"]):
        assert "hidden" not in shown
        assert "123456" not in shown


_MOMENT = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
_ROWS: dict[str, dict[str, Any]] = {
    "snowflake": {
        "QUERY_TEXT": "select 1",
        "USER_NAME": "ANA",
        "START_TIME": "2026-03-01 00:30:00.000 -0800",
        "EXECUTION_STATUS": "SUCCESS",
        "SESSION_ID": 5,
        "DATABASE_NAME": "WH",
        "SCHEMA_NAME": "PUBLIC",
    },
    "bigquery": {
        "query": "select 1",
        "user_email": "ANA",
        "creation_time": "2026-03-01 08:30:00.000000 UTC",
        "state": "DONE",
        "error_result": None,
        "session_info": {"session_id": "5"},
    },
    "redshift": {
        "query_text": "select 1",
        "username": "ANA",
        "start_time": "2026-03-01T08:30:00.123",
        "status": "success",
        "session_id": "5",
        "database_name": "wh",
    },
    "databricks": {
        "statement_text": "select 1",
        "executed_by": "ANA",
        "start_time": 1_772_353_800_000,
        "execution_status": "FINISHED",
        "session_id": "5",
    },
}


@pytest.mark.parametrize("warehouse", _ROWS)
def test_the_columns_of_warehouses_are_known(warehouse: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(_ROWS[warehouse]).encode()))
    (one,) = query_log._statements(path, Inventory(), warehouse)
    # Redshift gives numbers of processes, which come again.
    session = "5 2026-03-01" if warehouse == "redshift" else "5"
    assert (one.text, one.user, one.session) == ("select 1", "ANA", session)
    assert one.at is not None
    assert one.at.replace(microsecond=0) == _MOMENT


@pytest.mark.parametrize("form", ["csv", "jsonl", "sql"])
@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_of_a_log_that_is_cut_off_what_is_there_is_read_and_the_rest_told(
    form: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    dice = random.Random(1)
    texts = [f"select '{dice.randbytes(200).hex()}'\nfrom t{at}" for at in range(2_000)]
    written = io.StringIO(newline="")
    if form == "csv":
        csv.writer(written).writerows([("query_text",), *((text,) for text in texts)])
    elif form == "jsonl":
        written.writelines(f"{json.dumps({'query_text': text})}\n" for text in texts)
    else:
        written.writelines(f"{text};\n" for text in texts)
    packed = compress(written.getvalue().encode())
    path = tmp_path / f"log.{form}.gz"
    path.write_bytes(packed[: len(packed) // 2])
    inventory = Inventory()
    found = [one.text for one in query_log._statements(path, inventory, "duckdb")]
    if form == "sql":
        found = [part for _, part in split_statements(found[0], "duckdb")]
    assert 500 < len(found) < 1_500
    assert found == texts[: len(found)]
    (part,) = inventory.skipped
    assert part.subject == path.name
    lines = len(found) + 1 if form == "jsonl" else 2 * len(found)
    (told,) = re.findall(r"cut off or damaged at line ([\d,]+)", part.reason)
    assert abs(int(told.replace(",", "")) - lines) <= 4
    # Nothing is left of it.
    path.write_bytes(packed[:8])
    with pytest.raises(InvalidInput, match=r"log\..* is cut off or damaged"):
        list(query_log._statements(path, Inventory(), "duckdb"))


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "sql"])
@pytest.mark.parametrize(
    ("encoding", "town"), [("cp1252", "Köln"), ("utf-16", "Köln"), ("cp932", "東京")]
)
def test_the_encoding_of_a_log_is_found_out_and_said(
    form: str, encoding: str, town: str, tmp_path: Path
) -> None:
    query = f"select '{town}' from t"
    written = {
        "csv": f"query_text\n{query}\n",
        "csv.gz": f"query_text\n{query}\n",
        "jsonl": json.dumps({"query_text": query}, ensure_ascii=False),
        "sql": query,
    }[form].encode(encoding)
    path = tmp_path / f"log.{form}"
    path.write_bytes(gzip.compress(written) if form.endswith("gz") else written)
    inventory = Inventory()
    (statement,) = query_log._statements(path, inventory, "duckdb")
    assert statement.text == query
    assert inventory.notes == [f"log.{form}: read as {encoding}"]
    assert [one.text for one in query_log._statements(path, Inventory(), "", encoding)] == [query]
    with pytest.raises(InvalidInput, match=r"log\..* it is not utf-8 .*: leave the encoding out"):
        list(query_log._statements(path, Inventory(), "duckdb", "utf-8"))


def test_the_csv_log_of_postgresql_is_known(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.csv"
    with path.open("w", newline="") as file:
        for message in (
            "statement: select 1",
            "duration: 0.1 ms  execute <unnamed>: select $1",
            "connection authorized: user=ana",
        ):
            head = ["2026-03-01 08:30:00.000 UTC", "ANA", "wh", "77", "[local]", "5", "1", "SELECT"]
            csv.writer(file).writerow([*head, "", "3/4", "0", "LOG", "00000", message, *([""] * 9)])
    found = list(query_log._statements(path, Inventory()))
    assert [one.text for one in found] == ["select 1", "select $1"]
    assert {(one.user, one.session, one.at, one.near) for one in found} == {
        ("ANA", "5", _MOMENT, ("wh",))
    }


def test_parquet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    found = duckdb.sql(
        "select 'select 1' as query_text, 'ANA' as user_name,"
        " timestamptz '2026-03-01 08:30:00+00' as start_time"
    )
    assert found is not None
    found.write_parquet(str(path))
    (one,) = query_log._statements(path, Inventory())
    assert (one.text, one.user, one.at) == ("select 1", "ANA", _MOMENT)


def test_what_is_no_log_is_told_with_what_to_do(command: Run, tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("select a from nowhere")
    assert "give its --dialect" in command("add", str(script)).err
    ran = command("add", str(script), "--dialect", "duckdb")
    assert ran.code == 1
    assert "the catalog has none of the tables" in ran.err
    assert "add their database first" in ran.err
    other = tmp_path / "a.csv"
    other.write_text("a,b\n1,2\n")
    assert (
        "no column with the text of queries"
        in command("add", str(other), "--dialect", "duckdb").err
    )


def test_removing_a_log_says_that_what_it_added_stays(
    command: Run, schema: str, tmp_path: Path
) -> None:
    rows = [
        ("insert into paid_orders select id, total from orders", "etl", "2026-03-01 01:00", "1")
    ]
    path = history(tmp_path / f"{schema}_log.csv", schema, rows)
    assert command("add", str(path), "--dialect", "duckdb", "--name", "gone-log").code == 0
    ran = command("sources", "remove", "gone-log", "--yes")
    assert ran.code == 0, ran
    assert "gone-log is removed; the lineage and use it added stay" in ran.err


def load_tables(command: Run, path: Path, platform: str, tables: dict[str, dict[str, str]]) -> None:
    """Add tables with their columns, by field path and type of the catalog's model."""
    aspects = [
        {
            "entityType": "dataset",
            "entityUrn": dataset(platform, name),
            "changeType": "UPSERT",
            "aspectName": "schemaMetadata",
            "aspect": {
                "json": {
                    "schemaName": name,
                    "platform": f"urn:li:dataPlatform:{platform}",
                    "version": 0,
                    "hash": "",
                    "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
                    "fields": [
                        {
                            "fieldPath": column,
                            "nativeDataType": kind,
                            "type": {"type": {f"com.linkedin.schema.{kind}Type": {}}},
                        }
                        for column, kind in columns.items()
                    ],
                }
            },
        }
        for name, columns in tables.items()
    ]
    path.write_text(json.dumps(aspects))
    ran = command("load", str(path))
    assert ran.code == 0, ran


def columns_of_lineage(cat: Catalog, urn: str) -> dict[str, list[str]]:
    """Return of each column the columns it is made from."""
    return lineage(cat, urn)[1]


def job(text: str, **more: Any) -> dict[str, Any]:
    """Return a job of BigQuery as its INFORMATION_SCHEMA has it."""
    moment = "2026-03-01 08:30:00.000000 UTC"
    return {
        "job_id": f"j{abs(hash(text))}",
        "creation_time": moment,
        "user_email": "ana@acme.org",
        "query": text,
        "state": "DONE",
        **more,
    }


@pytest.mark.parametrize("form", ["lines", "list", "jobs"])
def test_jobs_of_bigquery_have_a_project_a_destination_and_tables_by_day(
    command: Run, cat: Catalog, tmp_path: Path, form: str
) -> None:
    project = f"acme-{form}"
    load_tables(
        command,
        tmp_path / "tables.json",
        "bigquery",
        {
            f"{project}.raw.orders": {
                "id": "Number",
                "geo": "Record",
                "geo.city": "Record",
                "geo.city.name": "String",
            },
            f"{project}.mart.towns": {"id": "Number", "town": "String"},
            f"{project}.mart.copies": {"id": "Number", "place": "String"},
            f"{project}.ga.events": {"event_name": "String"},
            f"{project}.ga.hits_20260101": {"path": "String"},
            f"{project}.ga.hits_20260102": {"path": "String", "more": "String"},
            f"{project}.mart.paths": {"path": "String", "event_name": "String"},
        },
    )

    def destination(dataset_id: str, table_id: str) -> dict[str, str]:
        return {"project_id": project, "dataset_id": dataset_id, "table_id": table_id}

    texts = [
        (
            "create or replace table mart.towns as"
            " select o.id, o.geo.city.name as town from raw.orders o",
            None,
        ),
        ("select id, town as place from mart.towns", destination("mart", "copies")),
        ("select town from mart.towns", destination("_f00", "anon1")),
        (
            f"select h.path, e.event_name from `{project}.ga.hits_*` h,"
            f" `{project}.ga.events_*` e where e._table_suffix > '20260101'",
            destination("mart", "paths$20260101"),
        ),
    ]
    path = tmp_path / f"jobs_{form}.{'jsonl' if form == 'lines' else 'json'}"
    if form == "jobs":
        # What `bq ls --jobs --format=prettyjson` gives.
        path.write_text(
            json.dumps(
                [
                    {
                        "jobReference": {"projectId": project, "jobId": "x"},
                        "status": {"state": "DONE"},
                        "statistics": {"creationTime": "1772353800000"},
                        "user_email": "ana@acme.org",
                        "configuration": {
                            "query": {
                                "query": text,
                                "destinationTable": target
                                and {
                                    "projectId": target["project_id"],
                                    "datasetId": target["dataset_id"],
                                    "tableId": target["table_id"],
                                },
                            }
                        },
                    }
                    for text, target in texts
                ]
                + [{"jobReference": {"projectId": project}, "configuration": {"load": {}}}],
                indent=2,
            )
        )
    else:
        jobs = [job(text, project_id=project, destination_table=target) for text, target in texts]
        path.write_text(
            json.dumps(jobs) if form == "list" else "\n".join(json.dumps(one) for one in jobs)
        )
    ran = command("add", str(path), "--dialect", "bigquery", "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["skipped"] == []

    def urn(name: str) -> str:
        return dataset("bigquery", f"{project}.{name}")

    assert columns_of_lineage(cat, urn("mart.towns")) == {
        "id": ["orders.id"],
        "town": ["orders.geo.city.name"],
    }
    assert columns_of_lineage(cat, urn("mart.copies")) == {
        "id": ["towns.id"],
        "place": ["towns.town"],
    }
    assert columns_of_lineage(cat, urn("mart.paths")) == {
        "path": ["hits_20260101.path", "hits_20260102.path"],
        "event_name": ["events.event_name"],
    }
    (use,) = cat.timeseries(urn("raw.orders"), "datasetUsageStatistics").values
    assert {field["fieldPath"] for field in use["fieldCounts"]} == {"id", "geo.city.name"}
    (use,) = cat.timeseries(urn("mart.towns"), "datasetUsageStatistics").values
    assert use["totalSqlQueries"] == 2


@pytest.mark.parametrize("instance", ["prod", "staging"])
def test_a_log_of_mysql_names_tables_of_its_instance_after_use(
    command: Run, cat: Catalog, tmp_path: Path, instance: str
) -> None:
    names = {"orders": {"id": "Number"}, "totals": {"id": "Number"}}
    load_tables(
        command,
        tmp_path / "tables.json",
        "mysql",
        {
            f"{place}.{schema}.{name}": columns
            for place in ("prod", "staging")
            for schema in ("shop", "crm")
            for name, columns in names.items()
        },
    )
    script = tmp_path / f"load_{instance}.sql"
    script.write_text(
        "use shop; insert into totals (id) select id from orders;"
        " insert into crm.totals (id) select id from crm.orders;"
    )
    ran = command("add", str(script), "--dialect", "mysql", "--instance", instance, "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["skipped"] == []
    for schema in ("shop", "crm"):
        value = cat.entity(dataset("mysql", f"{instance}.{schema}.totals")).raw("upstreamLineage")
        assert value is not None
        assert [one["dataset"] for one in value["upstreams"]] == [
            dataset("mysql", f"{instance}.{schema}.orders")
        ]


_PREFIXES = {
    "%m [%p] %u@%d ": "2026-03-01 08:30:00.000 UTC [77] ANA@wh ",
    "%t [%p-%l] user=%u,db=%d,app=%a,client=%h ": (
        "2026-03-01 08:30:00 UTC [77-1] user=ANA,db=wh,app=psql,client=::1 "
    ),
    "%t:%r:%u@%d:[%p]:": "2026-03-01 08:30:00 UTC:10.0.0.1(5432):ANA@wh:[77]:",
}


@pytest.mark.parametrize("prefix", _PREFIXES.values(), ids=_PREFIXES)
def test_the_log_of_postgresql_is_known_by_what_is_in_its_prefix(
    tmp_path: Path, prefix: str
) -> None:
    path = tmp_path / "postgresql-2026-03-01.log.1"
    path.write_text(
        f"{prefix}LOG:  statement: select 1\n"
        f"{prefix}LOG:  statement: select a,\n\t  b\n\tfrom orders\n"
        f"{prefix}LOG:  execute <unnamed>: select $1,$2\n"
        f"{prefix}DETAIL:  parameters: $1 = '7', $2 = '8'\n"
        f"{prefix}LOG:  duration: 0.1 ms  statement: select 3\n"
        f"{prefix}LOG:  statement: select missing\n"
        f'{prefix}ERROR:  column "missing" does not exist at character 8\n'
        f"{prefix}STATEMENT:  select missing\n"
        f"{prefix}LOG:  connection authorized: user=ana\n"
    )
    inventory = Inventory()
    found = sorted(query_log._statements(path, inventory, "postgres"), key=lambda one: one.place)
    assert [one.text for one in found] == [
        "select 1",
        "select a,\n  b\nfrom orders",
        "select $1,$2",
        "select 3",
    ]
    assert {(one.user, one.at, one.near) for one in found} == {("ANA", _MOMENT, ("wh",))}
    assert inventory.kinds["failed statement"] == 1


def test_a_log_without_a_message_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("something else\n")
    with pytest.raises(InvalidInput, match="no line has LOG:"):
        list(query_log._statements(path, Inventory(), "postgres"))
