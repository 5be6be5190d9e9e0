"""A PostgreSQL database, in a cluster of the test's own where the server is installed."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import keyring
import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput, Unreachable
from explorer.sources import database, profile
from explorer.sources.configured import find_source
from explorer.sources.database import PASSWORD_VARIABLE, Database
from explorer.sources.source import SourceOptions, WrongPassword
from tests.postgres import Cluster
from tests.sources.conftest import (
    Run,
    aspects_of,
    column_lineage,
    columns_of,
    dataset,
    execute,
    quiet,
)

psycopg = pytest.importorskip("psycopg", reason="the driver psycopg is not installed")


@pytest.fixture(scope="module")
def server(postgres: Cluster) -> str:
    """The host and port of a server with a database `shop`; ann has a password, and may not use
    the schema `secret`."""
    _fill(postgres)
    return postgres.host


def _fill(cluster: Cluster) -> None:
    with psycopg.connect(cluster.address(), autocommit=True) as connection:
        connection.execute("create database shop")
        connection.execute("create role ann login password 'right'")
        connection.execute("create role meter login password 'right'")
    with psycopg.connect(cluster.address("shop"), autocommit=True) as connection:
        connection.execute(
            """
            create schema sales; create schema secret;
            create type mood as enum ('good', 'bad');
            create domain percent as numeric(5, 2) check (value between 0 and 100);
            create table sales.customers (
                id serial primary key, "userName" varchar(20) not null, mood mood, tags text[],
                extra jsonb, address inet, seen timestamptz, share percent, pause interval,
                key uuid, ratio double precision, weight real
            );
            comment on table sales.customers is 'Who buys.';
            comment on column sales.customers.address is 'Where from.';
            comment on schema sales is 'What is sold.';
            create table orders (
                id bigint primary key, customer_id int references sales.customers (id),
                total money
            );
            create view big as select o.*, c."userName"
                from orders o join sales.customers c on c.id = o.customer_id
                where o.total > 10::money;
            create materialized view sales.counted as
                select customer_id, count(*) as orders from orders group by customer_id;
            insert into orders values (1, null, 3), (2, null, 4);
            create table secret.things (a int);
            create schema measured;
            create table measured.numbers as select generate_series(1, 20000) as n;
            analyze orders; analyze measured.numbers;
            grant usage on schema measured to meter;
            grant select on measured.numbers to meter;
            grant usage on schema public, sales to ann;
            """
        )


def test_schemas_tables_views_keys_and_comments_are_read(server: str) -> None:
    source = Database(f"postgresql+psycopg://ann:right@{server}/shop", SourceOptions())
    found = source.read(quiet)
    assert found.skipped == []
    assert found.kinds == {
        "database": 1,
        "schema": 4,
        "table": 4,
        "view": 1,
        "materialized view": 1,
        "column": 23,
    }
    customers = aspects_of(found.proposals, "shop.sales.customers")
    assert columns_of(customers["schemaMetadata"]) == [
        ("id", "integer", "Number", False),
        ("userName", "character varying(20)", "String", False),
        ("mood", "mood", "Enum", True),
        ("tags", "text[]", "Array", True),
        ("extra", "jsonb", "Record", True),
        ("address", "inet", "String", True),
        ("seen", "timestamp with time zone", "Time", True),
        ("share", "percent", "Number", True),
        ("pause", "interval", "Time", True),
        ("key", "uuid", "String", True),
        ("ratio", "double precision", "Number", True),
        ("weight", "real", "Number", True),
    ]
    assert customers["datasetProperties"]["description"] == "Who buys."
    assert customers["schemaMetadata"]["fields"][5]["description"] == "Where from."
    orders = aspects_of(found.proposals, "shop.public.orders")
    assert orders["datasetProfile"]["rowCount"] == 2
    (key,) = orders["schemaMetadata"]["foreignKeys"]
    assert key["foreignDataset"] == dataset("postgres", "shop.sales.customers")
    big = aspects_of(found.proposals, "shop.public.big")
    assert column_lineage(big["upstreamLineage"]) == {
        "big.id": ["orders.id"],
        "big.customer_id": ["orders.customer_id"],
        "big.total": ["orders.total"],
        "big.userName": ["customers.userName"],
    }
    counted = aspects_of(found.proposals, "shop.sales.counted")
    assert counted["viewProperties"]["materialized"] is True
    assert counted["subTypes"] == {"typeNames": ["Materialized View"]}
    assert column_lineage(counted["upstreamLineage"]) == {
        "counted.customer_id": ["orders.customer_id"]
    }


_WAREHOUSE = """
create schema parts; create schema old;
create extension postgres_fdw;
create server remote foreign data wrapper postgres_fdw options (host 'elsewhere');
create user mapping for public server remote options (user 'u', password 'hidden');
create foreign table parts.clicks (id int, at timestamptz) server remote
    options (schema_name 'web', table_name 'clicks_raw');
create type parts.mood as enum ('good', 'bad');
create table parts.sales (
    day date not null, price numeric, number int check (number > 0),
    total numeric generated always as (price * number) stored, mood parts.mood,
    constraint plausible check (price < 100 or mood = 'good')
) partition by range (day);
create table parts.sales_2024 partition of parts.sales
    for values from ('2024-01-01') to ('2025-01-01');
create table parts.sales_2025 partition of parts.sales
    for values from ('2025-01-01') to ('2026-01-01') partition by list (mood);
create table old.sales_2025_good partition of parts.sales_2025 for values in ('good');
insert into parts.sales (day, price, number) values ('2024-02-01', 2, 3);
insert into parts.sales (day, price, number, mood) values ('2025-02-01', 2, 3, 'good');
"""


def test_partitions_are_a_part_of_their_table(postgres: Cluster) -> None:
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute("create database warehouse")
    with psycopg.connect(postgres.address("warehouse"), autocommit=True) as connection:
        connection.execute(_WAREHOUSE)
        connection.execute("analyze")
    address = postgres.address("warehouse").replace("postgresql:", "postgresql+psycopg:")
    found = Database(address, SourceOptions()).read(quiet)
    assert found.skipped == []
    assert (found.kinds["table"], found.kinds["foreign table"], found.kinds["column"]) == (1, 1, 7)
    sales = aspects_of(found.proposals, "warehouse.parts.sales")
    keys = [one for one in sales["schemaMetadata"]["fields"] if one.get("isPartitioningKey")]
    assert [one["fieldPath"] for one in keys] == ["day"]
    assert sales["datasetProperties"]["customProperties"] == {
        "partitioned_by": "RANGE (day)",
        "partitions": "2",
        "check.plausible": "price < 100::numeric OR mood = 'good'::parts.mood",
        "check.sales_number_check": "number > 0",
        "generated.total": "(price * (number)::numeric)",
        "enum.mood": "good, bad",
    }
    assert sales["datasetProfile"]["rowCount"] == 2
    assert sales["datasetProfile"]["sizeInBytes"] > 0
    clicks = aspects_of(found.proposals, "warehouse.parts.clicks")
    assert columns_of(clicks["schemaMetadata"]) == [
        ("id", "integer", "Number", True),
        ("at", "timestamp with time zone", "Time", True),
    ]
    assert clicks["subTypes"] == {"typeNames": ["Foreign Table"]}
    assert clicks["datasetProperties"]["customProperties"] == {
        "foreign_server": "remote",
        "foreign_table": "web.clicks_raw",
    }
    assert "hidden" not in str(found)
    # Where its table is left out, a partition is a table of its own.
    only = Database(address, SourceOptions(schemas=("old",))).read(quiet)
    assert aspects_of(only.proposals, "warehouse.old.sales_2025_good")


def test_a_wrong_password_is_told_and_never_shown(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"postgresql+psycopg://ann:wrong@{server}/shop"
    source = Database(address, SourceOptions())
    with pytest.raises(WrongPassword, match=PASSWORD_VARIABLE) as caught:
        source.read(quiet)
    assert "wrong" not in str(caught.value)
    assert source.location == f"postgresql+psycopg://ann@{server}/shop"
    assert source.contains_secret
    monkeypatch.setenv(PASSWORD_VARIABLE, "right")
    assert Database(source.location, SourceOptions()).read(quiet).kinds["table"] == 4


@pytest.mark.parametrize(
    ("given", "location"),
    [
        (
            "mssql+pyodbc://?odbc_connect=DRIVER%3D%7Bx%7D%3BSERVER%3Dh%3BUID%3Du%3BPWD%3D%7Bhidden%3Bhidden%7D%7Dhidden%7D",
            "mssql+pyodbc://?odbc_connect=DRIVER%3D%7Bx}%3BSERVER%3Dh%3BUID%3Du%3B",
        ),
        ("postgresql://h/db?options=-c+my.password%3Dhidden", "postgresql://h/db?options="),
        ("postgresql://h/db?service=a&sslpassword=hidden", "postgresql://h/db?service=a"),
        ("mysql://h/db?proxy=http://u:hidden@p", "mysql://h/db"),
        ("mssql://?odbc_connect=UID%3Du%3BPWD%3D%7B${PW}%7D", None),
        ("mysql://h/db?charset=utf8mb4&ssl_ca=/a=b", None),
    ],
)
def test_an_address_is_kept_without_the_secrets_in_its_parameters(
    given: str, location: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", "x")
    source = Database(given, SourceOptions())
    assert source.contains_secret == (location is not None)
    assert unquote(source.location) == unquote(location or given)
    assert "hidden" not in source.location


def test_an_address_with_two_at_signs_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInput, match="as %40") as caught:
        Database("postgresql://u:hid@den@h/db", SourceOptions())
    assert "den" not in str(caught.value).replace("hidden", "")


def test_a_password_in_a_variable_is_kept_as_its_name(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "right")
    address = f"postgresql+psycopg://ann:${{SHOP_PASSWORD}}@{server}/shop"
    source = Database(address, SourceOptions(schemas=("sales",)))
    assert source.location == address
    assert not source.contains_secret
    assert source.read(quiet).kinds["table"] == 1


def test_a_password_is_kept_in_the_keyring_until_the_source_is_removed(
    server: str, command: Run, cat: Catalog, own_keyring: Path, tmp_path: Path
) -> None:
    address = f"postgresql+psycopg://ann@{server}/shop"
    asked = command("add", address, "--keyring")
    assert asked.code == 2
    assert "nobody is there to be asked for the password" in asked.err
    ran = command("add", address, "--keyring", **{PASSWORD_VARIABLE: "right"})
    assert ran.code == 0, ran
    assert "the password is in this machine's keyring" in ran.err
    source = find_source(cat, "shop")
    assert source is not None
    assert "right" not in json.dumps(source.proposal().value)
    assert keyring.get_password("catalog-explorer", f"source {address}") == "right"
    # A password is for its own address alone.
    other = command("add", address.replace("ann@", "meter@"), "--keyring", "--name", "other")
    assert "nobody is there to be asked" in other.err
    again = command("sources", "run", "shop")
    assert again.code == 0, again
    assert "unchanged; 0 aspects written" in again.out
    assert command("sources", "remove", "shop", "--yes").code == 0
    assert keyring.get_password("catalog-explorer", f"source {address}") is None
    execute(tmp_path / "x.sqlite", "create table a (b)")
    none = command("add", str(tmp_path / "x.sqlite"), "--keyring")
    assert "--keyring keeps the password of a database; this has none" in none.err


def test_a_database_that_is_not_there_or_does_not_answer_is_told(server: str) -> None:
    for address, sentence in (
        (f"postgresql+psycopg://ann:right@{server}/nothere", "does not exist"),
        ("postgresql+psycopg://ann:right@127.0.0.1:1/shop", "cannot be reached"),
    ):
        with pytest.raises(Unreachable, match=sentence):
            Database(address, SourceOptions()).read(quiet)


def test_a_server_that_goes_away_while_it_is_read_fails_the_run(server: str) -> None:
    ended: list[Any] = []

    def end(what: str, done: int, _total: int | None) -> None:
        if what == "tables" and done == 1 and not ended:
            with psycopg.connect(f"postgresql://ann:right@{server}/shop", autocommit=True) as other:
                ended.append(
                    other.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity"
                        " where usename = 'ann' and pid <> pg_backend_pid()"
                    ).fetchall()
                )

    source = Database(f"postgresql+psycopg://ann:right@{server}/shop", SourceOptions())
    with pytest.raises(Unreachable, match=r"terminating connection|closed"):
        source.read(end)
    assert ended


def test_columns_are_measured_and_tables_that_may_not_be_read_are_told(server: str) -> None:
    address = f"postgresql+psycopg://ann:right@{server}/shop"
    found = Database(address, SourceOptions(profile=True)).read(quiet)
    # What one table denies does not stand in the way of the next.
    reasons = {one.subject: one.reason for one in found.skipped}
    assert reasons["shop.sales.customers"].endswith(
        "permission denied for table customers; grant the user the right to select from it, or "
        "leave it out"
    )
    assert "shop.public.orders" in reasons
    assert aspects_of(found.proposals, "shop.public.orders")["datasetProfile"]["rowCount"] == 2


def test_a_large_table_is_measured_on_rows_of_all_over(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "MOST_ROWS", 1_000)
    monkeypatch.setattr(database, "MOST_ROWS", 1_000)
    address = f"postgresql+psycopg://meter:right@{server}/shop"
    found = Database(address, SourceOptions(schemas=("measured",), profile=True)).read(quiet)
    assert found.skipped == []
    value = aspects_of(found.proposals, "shop.measured.numbers")["datasetProfile"]
    assert value["rowCount"] == 20_000
    assert value["partitionSpec"]["partition"].startswith("SAMPLE (")
    (number,) = value["fieldProfiles"]
    assert float(number["max"]) > 10_000
    again = Database(address, SourceOptions(schemas=("measured",), profile=True)).read(quiet)
    assert aspects_of(again.proposals, "shop.measured.numbers")["datasetProfile"] == value
