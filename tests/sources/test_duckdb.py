"""A DuckDB file is read as a person would list it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from explorer.errors import InUse, InvalidInput
from explorer.sources.location import open_object, open_source
from explorer.sources.source import Inventory, SourceOptions
from tests.sources.conftest import aspects_of, column_lineage, columns_of, dataset, quiet


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A file with two schemas, nested types, comments, keys and views."""
    path = tmp_path / "lake.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            create type mood as enum ('good', 'bad');
            create schema sales;
            create table sales.customers (
                id integer primary key, name varchar not null, mood mood,
                address struct(street varchar, place struct(zip varchar, town varchar)),
                tags varchar[], visits struct(moment timestamp)[], extra map(varchar, integer),
                worth decimal(10, 2), since date, raw blob, payload json
            );
            comment on table sales.customers is 'Who buys.';
            comment on column sales.customers.name is 'First and last name.';
            create table sales.orders (
                id bigint primary key, customer_id integer references sales.customers (id)
            );
            insert into sales.customers (id, name) values (1, 'Ann'), (2, 'Ben');
            create view per_customer as
                select c.name, count(*) as orders, max(o.id) over () as latest
                from sales.orders o join sales.customers c on c.id = o.customer_id
                group by c.name, o.id;
            create view everything as select * from sales.customers;
            """
        )
    return path


def test_tables_have_nested_columns_comments_keys_and_rows(lake: Path) -> None:
    found = open_source(str(lake), SourceOptions()).read(quiet)
    assert found.kinds == {"database": 1, "schema": 2, "table": 2, "view": 2, "column": 37}
    customers = aspects_of(found.proposals, "lake.sales.customers")
    place = "STRUCT(zip VARCHAR, town VARCHAR)"
    assert columns_of(customers["schemaMetadata"]) == [
        ("id", "INTEGER", "Number", False),
        ("name", "VARCHAR", "String", False),
        ("mood", "ENUM('good', 'bad')", "Enum", True),
        ("address", f"STRUCT(street VARCHAR, place {place})", "Record", True),
        ("address.street", "VARCHAR", "String", True),
        ("address.place", place, "Record", True),
        ("address.place.zip", "VARCHAR", "String", True),
        ("address.place.town", "VARCHAR", "String", True),
        ("tags", "VARCHAR[]", "Array", True),
        ("visits", "STRUCT(moment TIMESTAMP)[]", "Array", True),
        ("visits.moment", "TIMESTAMP", "Time", True),
        ("extra", "MAP(VARCHAR, INTEGER)", "Map", True),
        ("worth", "DECIMAL(10,2)", "Number", True),
        ("since", "DATE", "Date", True),
        ("raw", "BLOB", "Bytes", True),
        ("payload", "JSON", "String", True),
    ]
    assert customers["datasetProperties"]["description"] == "Who buys."
    assert customers["schemaMetadata"]["fields"][1]["description"] == "First and last name."
    assert customers["datasetProfile"]["rowCount"] == 2
    orders = aspects_of(found.proposals, "lake.sales.orders")
    assert orders["schemaMetadata"]["primaryKeys"] == ["id"]
    (key,) = orders["schemaMetadata"]["foreignKeys"]
    assert key["foreignDataset"] == dataset("duckdb", "lake.sales.customers")


def test_views_have_lineage_to_the_column_across_schemas(lake: Path) -> None:
    found = open_source(str(lake), SourceOptions()).read(quiet)
    view = aspects_of(found.proposals, "lake.main.per_customer")
    assert column_lineage(view["upstreamLineage"]) == {
        "per_customer.name": ["customers.name"],
        "per_customer.latest": ["orders.id"],
    }
    everything = aspects_of(found.proposals, "lake.main.everything")["upstreamLineage"]
    assert len(column_lineage(everything)) == 11


def test_a_view_is_traced_to_fields_of_structs_beside_what_the_catalog_lacks(
    lake: Path, tmp_path: Path
) -> None:
    (tmp_path / "towns.csv").write_text("zip,mayor\n1,Zoe\n")
    with duckdb.connect(str(lake)) as connection:
        connection.execute(
            "create view towns as select c.name, c.address.place.town as town, f.mayor"
            f" from sales.customers c join read_csv('{tmp_path}/towns.csv') f"
            " on f.zip = c.address.place.zip"
        )
    found = open_source(str(lake), SourceOptions()).read(quiet)
    assert column_lineage(aspects_of(found.proposals, "lake.main.towns")["upstreamLineage"]) == {
        "towns.name": ["customers.name"],
        "towns.town": ["customers.address.place.town"],
    }
    assert [(one.subject, one.reason) for one in found.skipped] == [
        (
            "lake.main.towns",
            "not traced: mayor: it reads read_csv(…), whose columns are not known",
        )
    ]


def test_conditions_are_properties_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "sold.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table sold (number int check (number > 0))")
    found = open_source(str(path), SourceOptions()).read(quiet)
    sold = aspects_of(found.proposals, "sold.main.sold")["datasetProperties"]
    assert list(sold["customProperties"].values()) == ["(number > 0)"]


def test_only_the_schemas_asked_for_are_read(lake: Path) -> None:
    found = open_source(str(lake), SourceOptions(schemas=("sal*",))).read(quiet)
    assert {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"} == {
        *("lake.sales.customers", "lake.sales.orders")
    }


@pytest.mark.parametrize("config", [{}, {"threads": 1}])
def test_a_file_that_this_program_has_open_is_read_as_it_is_there(
    lake: Path, config: dict[str, Any]
) -> None:
    before = names_of(open_source(str(lake), SourceOptions()).read(quiet))
    with duckdb.connect(str(lake), config=config) as connection:
        connection.execute("create table fresh (id int)")
        result = connection.execute("select 1 union all select 2")
        assert names_of(open_object(connection, None, SourceOptions()).read(quiet)) == {
            *before,
            "lake.main.fresh",
        }
        source = open_source(str(lake), SourceOptions(profile=True))
        if config:
            with pytest.raises(InUse, match=r"as cat\.add\(connection\)"):
                source.read(quiet)
        else:
            assert names_of(source.read(quiet)) == {*before, "lake.main.fresh"}
        # The connection goes on.
        assert len(result.fetchall()) == 2
        connection.execute("insert into fresh values (1)")


def test_a_connection_is_a_source(lake: Path) -> None:
    with duckdb.connect(str(lake)) as connection:
        source = open_object(connection, None, SourceOptions())
        assert (source.location, source.default_name) == (str(lake.resolve()), "lake")
    with pytest.raises(InvalidInput, match="the connection cannot be read"):
        source.read(quiet)
    with duckdb.connect() as connection:
        connection.execute("create schema sold; create table sold.orders as select 1 as id")
        connection.execute("create view v as select id from sold.orders")
        connection.execute("attach ':memory:' as other; create table other.t (x int)")
        with pytest.raises(InvalidInput, match="in memory needs a name"):
            open_object(connection, None, SourceOptions())
        source = open_object(connection, "scratch", SourceOptions(profile=True))
        assert (source.location, source.default_name) == ("memory:scratch", "scratch")
        found = source.read(quiet)
    assert names_of(found) == {"scratch.sold.orders", "scratch.main.v"}
    view = aspects_of(found.proposals, "scratch.main.v")
    assert column_lineage(view["upstreamLineage"]) == {"v.id": ["orders.id"]}
    assert aspects_of(found.proposals, "scratch.sold.orders")["datasetProfile"]["rowCount"] == 1
    assert [(part.subject, part.reason) for part in found.skipped] == [
        ("other", "it is attached to the connection: add it on its own")
    ]


def names_of(found: Inventory) -> set[str]:
    """Return the names of the datasets that were found."""
    return {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"}


def test_a_damaged_file_is_told(lake: Path) -> None:
    lake.write_bytes(lake.read_bytes()[:20] + b"\1" * 9000)
    with pytest.raises(InvalidInput, match=r"lake\.duckdb cannot be read"):
        open_source(str(lake), SourceOptions()).read(quiet)


def test_a_file_that_another_process_writes_is_told(lake: Path) -> None:
    code = (
        f"import duckdb, sys; c = duckdb.connect({str(lake)!r}); print('open', flush=True); "
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        (sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(InUse, match="is written to by another process"):
            open_source(str(lake), SourceOptions()).read(quiet)
        process.communicate()
