"""Delta and Iceberg tables are described by their own log and metadata, on disk and in a bucket."""

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput, Unreachable
from explorer.installation import install_command
from explorer.metadata.urn import Urn
from explorer.sources.location import open_source
from explorer.sources.source import Inventory, SourceOptions
from tests.s3 import S3, running_s3
from tests.sources.conftest import Run, aspects_of, columns_of, quiet

pa = pytest.importorskip("pyarrow")
deltalake = pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")


def rows(first: int, count: int, year: int | None = 2024) -> Any:
    """A table of orders, each with its nested part, a tenth without mail."""
    numbers = range(first, first + count)
    comment = {"comment": "The number of the order."}
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata=comment),
            pa.field("mail", pa.string()),
            pa.field("created_at", pa.timestamp("us", tz="UTC")),
            pa.field("amount", pa.decimal128(10, 2)),
            pa.field("size", pa.struct([("x", pa.int32())])),
            pa.field("tags", pa.list_(pa.struct([("key", pa.string())]))),
            pa.field("year", pa.int32()),
        ]
    )
    columns = {
        "id": list(numbers),
        "mail": [None if one % 10 == 0 else f"p{one}@example.com" for one in numbers],
        "created_at": [datetime(2024, 1, 1 + one % 28, tzinfo=UTC) for one in numbers],
        "amount": [Decimal(one) for one in numbers],
        "size": [{"x": one} for one in numbers],
        "tags": [[{"key": "a"}] for _ in numbers],
        "year": [year] * count,
    }
    return pa.table(columns, schema=schema)


def write_delta(place: str) -> None:
    """Write a Delta table of two years, in three commits, of which one takes rows away."""
    deltalake.write_deltalake(
        place, rows(0, 20), partition_by=["year"], description="What was sold."
    )
    deltalake.write_deltalake(place, rows(20, 10, None), mode="append")
    deltalake.DeltaTable(place).delete("id = 3")


def read(place: Path | str, **options: Any) -> Inventory:
    return open_source(str(place), SourceOptions(**options)).read(quiet)


def test_a_delta_table_is_what_its_log_says(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write_delta(str(lake / "sales" / "orders"))
    # What only the log knows is told without the data, which need not be there.
    for file in (lake / "sales" / "orders").rglob("*.parquet"):
        file.unlink()
    found = read(lake)
    assert found.skipped == []
    assert found.kinds == {"folder": 2, "table": 1, "column": 9}
    orders = aspects_of(found.proposals, "lake/sales/orders")
    assert columns_of(orders["schemaMetadata"]) == [
        ("id", "long", "Number", False),
        ("mail", "string", "String", True),
        ("created_at", "timestamp", "Time", True),
        ("amount", "decimal(10,2)", "Number", True),
        ("size", "struct<x: integer>", "Record", True),
        ("size.x", "integer", "Number", True),
        ("tags", "array<struct<key: string>>", "Array", True),
        ("tags.key", "string", "String", True),
        ("year", "integer", "Number", True),
    ]
    fields = {one["fieldPath"]: one for one in orders["schemaMetadata"]["fields"]}
    assert fields["id"]["description"] == "The number of the order."
    assert [path for path, one in fields.items() if one.get("isPartitioningKey")] == ["year"]
    properties = orders["datasetProperties"]
    assert properties["description"] == "What was sold."
    assert properties["customProperties"] == {
        "format": "delta",
        "files": "2",
        "partitioned_by": "year",
        "partitions": "2",
    }
    profile = orders["datasetProfile"]
    assert profile["rowCount"] == 29
    assert profile["sizeInBytes"] > 1_000
    nulls = {one["fieldPath"]: one["nullCount"] for one in profile["fieldProfiles"]}
    assert nulls["id"] == 0
    assert nulls["mail"] == 3
    assert nulls["year"] == 10
    assert not [one for one in profile["fieldProfiles"] if "min" in one]


def test_values_are_told_where_columns_are_measured_and_none_of_persons(tmp_path: Path) -> None:
    write_delta(str(tmp_path / "orders"))
    measured = aspects_of(read(tmp_path, profile=True).proposals, f"{tmp_path.name}/orders")
    bounds = {
        one["fieldPath"]: (one.get("min"), one.get("max"))
        for one in measured["datasetProfile"]["fieldProfiles"]
    }
    assert bounds["id"] == ("0", "29")
    assert bounds["amount"] == ("0.00", "29.00")
    assert bounds["year"] == ("2024", "2024")
    assert bounds["created_at"][0] == "2024-01-01T00:00:00+00:00"
    assert bounds["mail"] == (None, None)
    allowed = aspects_of(
        read(tmp_path, profile=True, values=True).proposals, f"{tmp_path.name}/orders"
    )
    mail = [one for one in allowed["datasetProfile"]["fieldProfiles"] if one["fieldPath"] == "mail"]
    assert mail[0]["min"] == "p11@example.com"


def write_iceberg(warehouse: str, **properties: str) -> Any:
    """Write an Iceberg table with two snapshots of data into a warehouse; returns the table."""
    from pyiceberg.catalog.memory import InMemoryCatalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import DayTransform, IdentityTransform
    from pyiceberg.types import (
        DateType,
        DecimalType,
        IntegerType,
        ListType,
        LongType,
        NestedField,
        StringType,
        StructType,
    )

    schema = Schema(
        NestedField(1, "id", LongType(), required=True, doc="The number of the order."),
        NestedField(2, "region", StringType()),
        NestedField(3, "ordered_on", DateType()),
        NestedField(4, "amount", DecimalType(10, 2)),
        NestedField(5, "size", StructType(NestedField(6, "x", IntegerType()))),
        NestedField(7, "tags", ListType(8, StructType(NestedField(9, "key", StringType())))),
    )
    spec = PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "region"),
        PartitionField(3, 1001, DayTransform(), "ordered_on_day"),
    )
    catalog = InMemoryCatalog("made", warehouse=warehouse, **properties)
    catalog.create_namespace("shop")
    table = catalog.create_table(
        "shop.orders", schema, partition_spec=spec, properties={"comment": "What was sold."}
    )
    for day, regions in ((1, ["north", "south"]), (2, ["north", None])):
        numbers = [10 * day, 10 * day + 1]
        columns = {
            "id": numbers,
            "region": regions,
            "ordered_on": [date(2024, 1, day)] * 2,
            "amount": [Decimal(one) for one in numbers],
            "size": [{"x": one} for one in numbers],
            "tags": [[{"key": "a"}]] * 2,
        }
        table.append(pa.table(columns, schema=table.schema().as_arrow()))
    catalog.close()
    return table


def test_an_iceberg_table_is_what_its_metadata_says_wherever_it_was_moved_to(
    tmp_path: Path,
) -> None:
    write_iceberg(str(tmp_path / "written"))
    shutil.move(tmp_path / "written", tmp_path / "lake")
    for file in (tmp_path / "lake").rglob("*.parquet"):
        file.unlink()
    found = read(tmp_path / "lake", profile=True)
    assert found.skipped == []
    assert found.kinds == {"folder": 2, "table": 1, "column": 8}
    orders = aspects_of(found.proposals, "lake/shop/orders")
    assert columns_of(orders["schemaMetadata"]) == [
        ("id", "long", "Number", False),
        ("region", "string", "String", True),
        ("ordered_on", "date", "Date", True),
        ("amount", "decimal(10, 2)", "Number", True),
        ("size", "struct<x: int>", "Record", True),
        ("size.x", "int", "Number", True),
        ("tags", "list<struct<key: string>>", "Array", True),
        ("tags.key", "string", "String", True),
    ]
    fields = {one["fieldPath"]: one for one in orders["schemaMetadata"]["fields"]}
    assert fields["id"]["description"] == "The number of the order."
    assert [path for path, one in fields.items() if one.get("isPartitioningKey")] == ["region"]
    assert orders["datasetProperties"]["description"] == "What was sold."
    assert orders["datasetProperties"]["customProperties"] == {
        "format": "iceberg",
        "files": "4",
        "partitioned_by": "region, day(ordered_on)",
        "partitions": "4",
    }
    profile = orders["datasetProfile"]
    assert profile["rowCount"] == 4
    told = {one["fieldPath"]: one for one in profile["fieldProfiles"]}
    assert (told["region"]["nullCount"], told["region"]["nullProportion"]) == (1, 0.25)
    assert (told["id"]["min"], told["id"]["max"]) == ("10", "21")
    assert (told["ordered_on"]["min"], told["ordered_on"]["max"]) == ("2024-01-01", "2024-01-02")
    assert told["amount"]["max"] == "21.00"
    assert told["size.x"]["nullCount"] == 0
    assert "min" not in told["region"]


def test_a_file_of_metadata_alone_is_a_table_of_that_moment(tmp_path: Path) -> None:
    write_iceberg(str(tmp_path / "lake"))
    metadata = tmp_path / "lake" / "shop" / "orders" / "metadata"
    first, second, third = sorted(metadata.glob("*.metadata.json"))
    source = open_source(str(second), SourceOptions())
    assert source.default_name == "orders"
    found = source.read(quiet)
    assert found.kinds == {"table": 1, "column": 8}
    assert aspects_of(found.proposals, "orders")["datasetProfile"]["rowCount"] == 2
    assert aspects_of(read(first).proposals, "orders")["datasetProfile"]["rowCount"] == 0
    # The file of the hint says which is the present one.
    (metadata / "version-hint.text").write_text(second.name)
    orders = aspects_of(read(tmp_path / "lake").proposals, "lake/shop/orders")
    assert orders["datasetProfile"]["rowCount"] == 2
    (metadata / "version-hint.text").write_text("2\n")
    orders = aspects_of(read(tmp_path / "lake").proposals, "lake/shop/orders")
    assert orders["datasetProfile"]["rowCount"] == 4
    assert third.name > second.name


def test_metadata_leads_to_no_file_outside_its_table(tmp_path: Path) -> None:
    table = write_iceberg(str(tmp_path / "lake"))
    newest = Path(table.metadata_location.removeprefix("file://"))
    held = json.loads(newest.read_text())
    outside = tmp_path / "outside.avro"
    listed = Path(held["snapshots"][-1]["manifest-list"].removeprefix("file://"))
    outside.write_bytes(listed.read_bytes())
    for place in (f"{held['location']}/../../../outside.avro", str(outside)):
        held["snapshots"][-1]["manifest-list"] = place
        # An implementation that metadata names is not loaded.
        held["properties"] = {"py-io-impl": "os.system", "s3.endpoint": "http://127.0.0.1:9"}
        newest.write_text(json.dumps(held))
        found = read(tmp_path / "lake")
        (skipped,) = found.skipped
        assert "its manifests cannot be read" in skipped.reason
        assert "is not in the table's folder" in skipped.reason
        profile = aspects_of(found.proposals, "lake/shop/orders")["datasetProfile"]
        assert profile["rowCount"] == 4
        assert "fieldProfiles" not in profile


def test_a_log_that_is_damaged_hides_no_table_and_loses_no_other(
    command: Run, cat: Catalog, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    write_delta(str(lake / "orders"))
    write_iceberg(str(lake))
    (lake / "people.csv").write_text("id\n1\n")
    assert command("add", str(lake)).code == 0
    assert "5 unchanged" in command("sources", "run", "lake").out
    for file in (lake / "orders" / "_delta_log").glob("*.json"):
        file.write_text("{")
    for file in (lake / "shop" / "orders" / "metadata").glob("*.metadata.json"):
        file.write_text("{")
    ran = command("sources", "run", "lake")
    assert ran.code == 0, ran
    assert "gone" not in ran.out
    assert "skipped lake/orders: its Delta log cannot be read" in ran.err
    assert "skipped lake/shop/orders: its Iceberg metadata cannot be read: Invalid JSON" in ran.err
    assert "errors.pydantic.dev" not in ran.err
    for name in ("lake/orders", "lake/shop/orders", "lake/people.csv"):
        assert not cat.entity(Urn.dataset("file", name)).removed


@pytest.mark.parametrize("package", ["deltalake", "pyiceberg"])
def test_without_its_extra_a_table_is_skipped_with_the_name_of_that(
    package: str, command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    write_delta(str(lake / "orders"))
    write_iceberg(str(lake))
    (lake / "people.csv").write_text("id\n1\n")
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    ran = command("add", str(lake))
    assert ran.code == 0, ran
    assert f"needs {package}" in ran.err
    assert install_command("lake") in ran.err
    assert "1 table, 1 file" in ran.err


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    """A server that speaks S3."""
    with running_s3() as server:
        yield server


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket with files and tables; the keys to it are in the environment."""
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)
    system = s3.file_system()
    system.create_dir("lake")
    for name, text in (
        ("raw/people.csv", "id,name\n1,Ann\n"),
        ("towns/towns.csv", "id,größe\n1,Köln\n2\n"),
        ("towns/towns.json", '{"of": "towns"}'),
        ("raw/log.jsonl", '{"at": "2024-01-01"}\n'),
        ("raw/empty.csv", ""),
        ("by day/day=1/part-0.csv", "id\n1\n"),
        ("by day/day=2/part-0.csv", "id\n2\n"),
    ):
        with system.open_output_stream(f"lake/{name}") as file:
            file.write(text.encode("cp1252"))
    import pyarrow.parquet

    with system.open_output_stream("lake/raw/orders.parquet") as file:
        pyarrow.parquet.write_table(rows(0, 5), file)
    write_delta("s3://lake/tables/orders")
    write_iceberg(
        "s3://lake/warehouse",
        **{
            "s3.endpoint": s3.variables["AWS_ENDPOINT_URL"],
            "s3.access-key-id": "key",
            "s3.secret-access-key": "hidden-secret",
            "s3.region": "us-east-1",
        },
    )
    yield "s3://lake"
    system.delete_dir("lake")


@pytest.mark.nightly
def test_a_bucket_is_listed_as_a_folder_is(bucket: str, command: Run, cat: Catalog) -> None:
    ran = command("add", bucket)
    assert ran.code == 0, ran
    assert "skipped lake/raw/empty.csv: it is empty" in ran.err
    orders = cat.entity(Urn.dataset("s3", "lake/raw/orders.parquet"))
    assert orders.schema.column("amount") is not None
    kinds = {
        name: cat.entity(Urn.dataset("s3", f"lake/{name}")).raw("datasetProperties")
        for name in ("by day", "tables/orders", "warehouse/shop/orders", "raw/people.csv")
    }
    assert {name: (one or {})["customProperties"]["format"] for name, one in kinds.items()} == {
        "by day": "csv",
        "tables/orders": "delta",
        "warehouse/shop/orders": "iceberg",
        "raw/people.csv": "csv",
    }
    source = command("sources", "--json").out
    assert "hidden-secret" not in source
    assert json.loads(source)[0]["location"] == "s3://lake"
    again = command("sources", "run", "lake")
    assert "unchanged; 0 aspects written" in again.out, again


def test_a_part_of_a_bucket_can_be_added_and_measured(bucket: str) -> None:
    found = open_source(f"{bucket}/raw/", SourceOptions(profile=True)).read(quiet)
    assert {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"} == {
        "lake/raw/orders.parquet",
        "lake/raw/people.csv",
        "lake/raw/log.jsonl",
    }
    assert found.kinds["bucket"] == 1
    profile = aspects_of(found.proposals, "lake/raw/orders.parquet")["datasetProfile"]
    assert profile["rowCount"] == 5
    one = open_source(f"{bucket}/raw/people.csv", SourceOptions())
    assert (one.default_name, one.kind) == ("people", "s3")
    assert one.read(quiet).kinds == {"bucket": 1, "folder": 1, "file": 1, "column": 2}
    towns = open_source(f"{bucket}/towns", SourceOptions()).read(quiet)
    assert towns.kinds["column"] == 2
    assert towns.notes == [
        "lake/towns/towns.csv: 1 of its 2 rows have more or fewer fields than its header",
        "lake/towns/towns.csv: read as cp1252",
    ]
    assert [(part.subject, part.reason) for part in towns.skipped] == [
        ("lake/towns/towns.json", "left out: one object instead of records")
    ]


@pytest.mark.nightly
def test_a_bucket_that_is_not_there_or_not_reached_says_what_to_do(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match="there is no s3://nowhere/x"):
        read("s3://nowhere/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"cannot be reached.*AWS_ACCESS_KEY_ID"):
        read("s3://lake/x")
    with pytest.raises(InvalidInput, match="without keys and options; keys are taken from AWS"):
        read("s3://key:hidden@lake/x")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(InvalidInput, match="set AZURE_STORAGE_ACCOUNT_NAME"):
        read("az://lake/x")


@pytest.mark.nightly
def test_a_bucket_that_goes_away_in_the_middle_hides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_s3() as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        server.file_system().create_dir("lake")
        for number in range(2):
            with server.file_system().open_output_stream(f"lake/x/{number}.csv") as file:
                file.write(b"a\n1\n")
            with server.file_system().open_output_stream(f"lake/y/n{number}.csv") as file:
                file.write(b"a\n1\n")

        def end(_what: str, done: int, _total: int | None) -> None:
            if done == 1:
                server.process.kill()
                server.process.wait()

        found = open_source("s3://lake", SourceOptions()).read(end)
    assert found.kinds["table"] == 1
    assert [one.subject for one in found.skipped] == ["lake/y/n0.csv", "lake/y/n1.csv"]
    # The reason is one sentence, and where they may still be is known.
    assert all("Could not connect to server" in one.reason for one in found.skipped)
    assert not any("Traceback" in one.reason for one in found.skipped)
    assert [one.prefix for one in found.skipped] == ["lake/y/n0.csv", "lake/y/n1.csv"]
