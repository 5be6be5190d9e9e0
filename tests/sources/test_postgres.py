"""A PostgreSQL database, in a cluster of the test's own where the server is installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import Unreachable
from explorer.sources.database import PASSWORD_VARIABLE, Database, WrongPassword
from explorer.sources.source import SourceOptions
from tests.sources.conftest import (
    HAS_ROOT,
    aspects_of,
    column_lineage,
    columns_of,
    dataset,
    quiet,
)

psycopg = pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
pytestmark = pytest.mark.skipif(not _BINARIES, reason="no PostgreSQL server is installed")


def _as_postgres(*words: object, folder: Path) -> None:
    # The server refuses to run as root.
    switch = ("runuser", "-u", "postgres", "--") if HAS_ROOT else ()
    done = subprocess.run(
        (*switch, *map(str, words)), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The host and port of a server with a database `shop`; ann has a password, and may not use
    the schema `secret`."""
    folder = Path(tempfile.mkdtemp(prefix="catalog-postgres-"))
    if HAS_ROOT:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, programs = folder / "data", _BINARIES[-1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    try:
        _as_postgres(
            *(programs / "initdb", "-D", data, "-N", "-E", "UTF8", "--no-locale", "-U", "root"),
            *("--auth-local=trust", "--auth-host=scram-sha-256"),
            folder=folder,
        )
        _as_postgres(
            *(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"),
            *("-o", f"{options} -c fsync=off", "start"),
            folder=folder,
        )
        _fill(f"host={folder} port={port} user=root")
        yield f"127.0.0.1:{port}"
    finally:
        _as_postgres(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop", folder=folder)
        shutil.rmtree(folder, ignore_errors=True)


def _fill(place: str) -> None:
    with psycopg.connect(f"{place} dbname=postgres", autocommit=True) as connection:
        connection.execute("create database shop")
        connection.execute("create role ann login password 'right'")
    with psycopg.connect(f"{place} dbname=shop", autocommit=True) as connection:
        connection.execute(
            """
            create schema sales; create schema secret;
            create type mood as enum ('good', 'bad');
            create domain percent as numeric(5, 2) check (value between 0 and 100);
            create table sales.customers (
                id serial primary key, "userName" varchar(20) not null, mood mood, tags text[],
                extra jsonb, address inet, seen timestamptz, share percent, pause interval, key uuid
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
            analyze orders;
            grant usage on schema public, sales to ann;
            """
        )


def test_schemas_tables_views_keys_and_comments_are_read(server: str) -> None:
    source = Database(f"postgresql+psycopg://ann:right@{server}/shop", SourceOptions())
    found = source.read(quiet)
    assert found.skipped == []
    assert found.kinds == {
        "database": 1,
        "schema": 3,
        "table": 3,
        "view": 1,
        "materialized view": 1,
        "column": 20,
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


def test_a_wrong_password_is_told_and_never_shown(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"postgresql+psycopg://ann:wrong@{server}/shop"
    source = Database(address, SourceOptions())
    with pytest.raises(WrongPassword, match=PASSWORD_VARIABLE) as caught:
        source.read(quiet)
    assert "wrong" not in str(caught.value)
    assert source.location == f"postgresql+psycopg://ann@{server}/shop"
    assert source.holds_secret
    monkeypatch.setenv(PASSWORD_VARIABLE, "right")
    assert Database(source.location, SourceOptions()).read(quiet).kinds["table"] == 3


def test_a_password_in_a_variable_is_kept_as_its_name(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "right")
    address = f"postgresql+psycopg://ann:${{SHOP_PASSWORD}}@{server}/shop"
    source = Database(address, SourceOptions(schemas=("sales",)))
    assert source.location == address
    assert not source.holds_secret
    assert source.read(quiet).kinds["table"] == 1


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
