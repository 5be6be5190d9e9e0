"""An SQLite file is read as a person would list it."""

import sqlite3
from pathlib import Path

import pytest

from explorer.errors import InvalidInput
from explorer.sources.location import open_source
from explorer.sources.source import SkippedPart, SourceOptions
from tests.sources.conftest import (
    aspects_of,
    column_lineage,
    columns_of,
    dataset,
    execute,
    quiet,
)


def test_tables_have_their_columns_keys_and_rows(shop: Path) -> None:
    found = open_source(str(shop), SourceOptions()).read(quiet)
    assert found.kinds == {"database": 1, "table": 2, "view": 1, "column": 13}
    assert found.skipped == []
    customers = aspects_of(found.proposals, "shop.customers")
    assert columns_of(customers["schemaMetadata"]) == [
        ("id", "INTEGER", "Number", True),
        ("name", "varchar(20)", "String", False),
        ("born", "date", "Date", True),
        ("photo", "BLOB", "Bytes", True),
        ("anything", "", "Null", True),
    ]
    assert customers["schemaMetadata"]["primaryKeys"] == ["id"]
    assert [one["isPartOfKey"] for one in customers["schemaMetadata"]["fields"]] == [
        *(True, False, False, False, False)
    ]
    assert customers["datasetProfile"] == {"rowCount": 3, "columnCount": 5}
    assert customers["subTypes"] == {"typeNames": ["Table"]}
    orders = aspects_of(found.proposals, "shop.orders")
    ours, theirs = dataset("sqlite", "shop.orders"), dataset("sqlite", "shop.customers")
    assert orders["schemaMetadata"]["foreignKeys"] == [
        {
            "name": "orders_customer_id_fkey",
            "sourceFields": [f"urn:li:schemaField:({ours},customer_id)"],
            "foreignDataset": theirs,
            "foreignFields": [f"urn:li:schemaField:({theirs},id)"],
        }
    ]


def test_a_view_has_its_sql_and_lineage_to_the_column(shop: Path) -> None:
    found = open_source(str(shop), SourceOptions()).read(quiet)
    view = aspects_of(found.proposals, "shop.big_orders")
    assert view["viewProperties"]["viewLogic"].startswith("CREATE VIEW big_orders as")
    assert [one["dataset"] for one in view["upstreamLineage"]["upstreams"]] == [
        dataset("sqlite", "shop.orders"),
        dataset("sqlite", "shop.customers"),
    ]
    assert column_lineage(view["upstreamLineage"]) == {
        "big_orders.id": ["orders.id"],
        "big_orders.customer_id": ["orders.customer_id"],
        "big_orders.total": ["orders.total"],
        "big_orders.customer": ["customers.name"],
        "big_orders.doubled": ["orders.total"],
    }
    assert "datasetProfile" not in view


def test_a_broken_view_is_listed_with_the_reason_and_loses_nothing_else(shop: Path) -> None:
    execute(shop, "create table t (a); create view v as select a from t; drop table t;")
    found = open_source(str(shop), SourceOptions()).read(quiet)
    reason = "its columns cannot be read: no such table: main.t"
    assert found.skipped == [SkippedPart("shop.v", reason)]
    broken = aspects_of(found.proposals, "shop.v")
    assert "viewProperties" in broken
    assert "schemaMetadata" not in broken
    assert "schemaMetadata" in aspects_of(found.proposals, "shop.orders")


def test_conditions_and_generated_columns_are_properties_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "sold.sqlite"
    execute(
        path,
        "create table sold (price int, number int check (number > 0), total int generated always"
        " as (price * number) stored, constraint plausible check (price < 100))",
    )
    found = open_source(str(path), SourceOptions()).read(quiet)
    properties = aspects_of(found.proposals, "sold.sold")["datasetProperties"]["customProperties"]
    assert properties == {
        "check.plausible": "price < 100",
        "check.2": "number > 0",
        "generated.total": "price * number",
    }


def test_a_column_without_a_name_is_listed_and_loses_no_other(shop: Path) -> None:
    execute(shop, 'create table notes (a text, "" text, primary key (a, ""))')
    found = open_source(str(shop), SourceOptions()).read(quiet)
    assert found.skipped == [SkippedPart("shop.notes", "it has a column without a name")]
    notes = aspects_of(found.proposals, "shop.notes")
    assert [one["fieldPath"] for one in notes["schemaMetadata"]["fields"]] == ["a"]
    assert notes["schemaMetadata"]["primaryKeys"] == ["a"]


def test_the_tables_behind_a_full_text_index_are_left_out(shop: Path) -> None:
    execute(shop, "create virtual table notes using fts5(body)")
    found = open_source(str(shop), SourceOptions()).read(quiet)
    names = {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"}
    assert names == {"shop.customers", "shop.orders", "shop.big_orders", "shop.notes"}


def test_names_with_reserved_characters_are_encoded(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    execute(path, 'create table "a,b(c)" (x); create table "bro\nken" (x);')
    found = open_source(str(path), SourceOptions()).read(quiet)
    names = {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"}
    assert names == {"odd.a%2Cb%28c%29"}
    assert [one.subject for one in found.skipped] == ["odd.bro\nken"]


def test_an_instance_stands_before_the_names(shop: Path) -> None:
    found = open_source(str(shop), SourceOptions("DEV", "berlin")).read(quiet)
    orders = next(one.urn for one in found.proposals if one.urn.name.endswith("orders"))
    assert str(orders).startswith("urn:li:dataset:(urn:li:dataPlatform:sqlite,berlin.shop.")
    assert orders.origin == "DEV"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"not a database at all", "is no file that is known"),
        (
            b"SQLite format 3\0" + b"\xff" * 4000,
            "cannot be read: file is not a database; it is damaged: restore it from a copy",
        ),
    ],
)
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=sentence):
        open_source(str(path), SourceOptions()).read(quiet)


def test_a_file_whose_name_an_address_could_not_have_is_read(shop: Path) -> None:
    odd = shop.parent / "odd? #1%20"
    odd.mkdir()
    source = open_source(str(shop.rename(odd / "my shop.db")), SourceOptions())
    assert source.location == str(odd / "my shop.db")
    assert source.read(quiet).kinds["table"] == 2


def test_a_database_that_is_being_written_to_is_read_as_it_was(shop: Path) -> None:
    connection = sqlite3.connect(shop, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("begin immediate")
    connection.execute("insert into orders values (3, 3, 7)")
    found = open_source(str(shop), SourceOptions()).read(quiet)
    connection.close()
    assert aspects_of(found.proposals, "shop.orders")["datasetProfile"]["rowCount"] == 2


def test_nothing_is_written_into_the_file(shop: Path) -> None:
    before = (shop.read_bytes(), shop.stat().st_mtime_ns)
    open_source(f"sqlite:///{shop}", SourceOptions()).read(quiet)
    assert (shop.read_bytes(), shop.stat().st_mtime_ns) == before
    assert not list(shop.parent.glob("shop.sqlite-*"))
