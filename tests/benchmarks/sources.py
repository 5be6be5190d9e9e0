"""Large sources on their way into a catalog: how long they take, and whether all of it is there.

    python -m tests.benchmarks.sources [--tables 2000] [--files 500] [--models 1000]

A PostgreSQL database, a DuckDB file, a folder of Parquet files and a dbt project are made, added to
a served catalog, and what the catalog then holds is compared with what was made: every dataset,
column, type, key, reference and column lineage. A second run has to change nothing; a table that is
dropped has to be hidden, and its documentation to come back with it. Times are seconds: reading
without and with writing, and a second run; beside them that of SQLite taking the same aspects as
rows. The status is 1 where something is not as it was made. Needs Debian's package postgresql.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.sources.location import open_source
from explorer.sources.run import RunPlan, plan_run, run_source
from explorer.sources.source import SourceOptions
from tests.conftest import serving_catalog
from tests.postgres import running_cluster

_TYPES = {
    "postgres": ("bigint", "character varying(50)", "numeric(10,2)", "timestamp with time zone"),
    "duckdb": ("BIGINT", "VARCHAR", "DECIMAL(10,2)", "TIMESTAMP WITH TIME ZONE"),
}
_NAMES = ("id", "name", "amount", "paid")


@dataclass
class Expected:
    """What was made: by the name of each dataset its columns with their native types, and by column
    the columns that it is made from, as `dataset.column`."""

    platform: str
    columns: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    lineage: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)


def quiet(_what: str, _done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


def fill(execute: Callable[[str], object], prefix: str, tables: int, platform: str) -> Expected:
    """Make tables in four schemas, each of which refers to the one before, and a view of every
    tenth."""
    made = Expected(platform)
    id_type, *others = _TYPES[platform]
    previous = ""
    for number in range(tables):
        schema, name = f"s{number % 4}", f"t{number:05}"
        if number < 4:
            execute(f"create schema {schema}")
        reference = f", previous {id_type} references {previous}" if previous else ""
        columns = ", ".join(f"{one} {kind}" for one, kind in zip(_NAMES[1:], others, strict=True))
        execute(f"create table {schema}.{name} (id {id_type} primary key, {columns}{reference})")
        dataset = f"{prefix}.{schema}.{name}"
        made.columns[dataset] = list(zip(_NAMES, (id_type, *others), strict=True))
        if previous:
            made.columns[dataset].append(("previous", id_type))
            made.references[dataset] = f"{prefix}.{previous}"
        if number % 10 == 0:
            execute(f"create view {schema}.v{number:05} as select id, name from {schema}.{name}")
            view = f"{prefix}.{schema}.v{number:05}"
            made.columns[view] = [("id", id_type), ("name", others[0])]
            made.lineage[view] = {one: {f"{dataset}.{one}"} for one in ("id", "name")}
        # DuckDB has no references to other schemas.
        previous = f"{schema}.{name}" if platform == "postgres" else ""
    return made


def write_files(folder: Path, files: int) -> Expected:
    """Write Parquet files of two rows each."""
    made = Expected("file")
    with duckdb.connect() as connection:
        for number in range(files):
            place = folder / f"day{number % 7}"
            place.mkdir(exist_ok=True)
            path = place / f"f{number:05}.parquet"
            connection.execute(
                "copy (select range::bigint as id, 'x' as name, 1.5::decimal(10,2) as amount,"
                f" now() as paid from range(2)) to '{path}' (format parquet)"
            )
            made.columns[path.relative_to(folder).as_posix()] = []
    return made


def write_project(folder: Path, models: int) -> Expected:
    """Write the artifacts of a dbt project whose models read the one before and one of ten sources,
    through a CTE and a join."""
    made = Expected("dbt")
    nodes: dict[str, Any] = {}
    sources: dict[str, Any] = {}
    described: dict[str, Any] = {"nodes": {}, "sources": {}}
    columns = ("id", "name", "amount")

    def node(kind: str, schema: str, name: str, **more: Any) -> str:
        unique = f"{kind}.big.{name}"
        held = {
            "unique_id": unique,
            "resource_type": kind,
            "name": name,
            "database": "wh",
            "schema": schema,
            "package_name": "big",
            "config": {"materialized": "table"},
            "columns": {},
            **more,
        }
        (sources if kind == "source" else nodes)[unique] = held
        described["sources" if kind == "source" else "nodes"][unique] = {
            "columns": {
                one: {"name": one, "index": at, "type": "text"} for at, one in enumerate(columns)
            }
        }
        made.columns[f"wh.{schema}.{name}"] = [(one, "text") for one in columns]
        if kind == "source":
            # It is the warehouse's table of the same name.
            same = {one: {f"wh.{schema}.{name}.{one}"} for one in columns}
            made.lineage[f"wh.{schema}.{name}"] = same
        return unique

    raw = [node("source", "raw", f"r{number}", identifier=f"r{number}") for number in range(10)]
    before = raw[0]
    for number in range(models):
        above = f"wh.marts.m{number - 1:05}" if number else "wh.raw.r0"
        beside = number % 10
        sql = (
            f"with a as (select id, name, amount from {above}),"
            f" b as (select * from wh.raw.r{beside})"
            " select a.id, upper(b.name) as name, sum(a.amount) over (partition by b.id) as amount"
            " from a left join b on a.id = b.id"
        )
        before = node(
            "model",
            "marts",
            f"m{number:05}",
            compiled_code=sql,
            raw_code=sql,
            language="sql",
            depends_on={"nodes": [before, raw[beside]]},
        )
        made.lineage[f"wh.marts.m{number:05}"] = {
            "id": {f"{above}.id"},
            "name": {f"wh.raw.r{beside}.name"},
            "amount": {f"{above}.amount", f"wh.raw.r{beside}.id"},
        }
    (folder / "target").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: big\n")
    manifest = {"metadata": {"adapter_type": "postgres"}, "nodes": nodes, "sources": sources}
    (folder / "target/manifest.json").write_text(json.dumps(manifest))
    (folder / "target/catalog.json").write_text(json.dumps(described))
    return made


def faults(catalog: Catalog, plan: RunPlan, made: Expected) -> Iterator[str]:
    """Yield what the catalog holds otherwise than it was made."""
    urns = {urn.name: urn for urn in plan.effects if urn.entity_type == "dataset"}
    if made.platform != "file" and urns.keys() != made.columns.keys():
        yield f"datasets: {sorted(urns.keys() ^ made.columns.keys())[:4]}"
    elif len(urns) != len(made.columns):
        yield f"{len(urns)} datasets in the place of {len(made.columns)}"
    found = catalog.entities(list(urns.values()), ["schemaMetadata", "upstreamLineage"])
    for name, urn in urns.items():
        schema = found[urn].raw("schemaMetadata") or {}
        told = [(one["fieldPath"], one["nativeDataType"]) for one in schema.get("fields", ())]
        expected = made.columns.get(name) or []
        if made.platform == "file":
            expected = list(zip(_NAMES, (kind for _, kind in told), strict=False))
        if told != expected:
            yield f"{name} has {told} and not {expected}"
        keys = [one["foreignDataset"] for one in schema.get("foreignKeys") or ()]
        if [Urn.parse(one).name for one in keys] != [
            one for one in (made.references.get(name),) if one
        ]:
            yield f"{name} refers to {keys}"
        lineage = found[urn].raw("upstreamLineage") or {}
        if (columns := _by_column(lineage)) != made.lineage.get(name, {}):
            yield f"{name} is made from {columns} and not {made.lineage.get(name)}"


def _by_column(lineage: Mapping[str, Any]) -> dict[str, set[str]]:
    def short(urn: str) -> str:
        inner, _, column = urn.removesuffix(")").rpartition(",")
        return f"{inner.split(',')[-2]}.{column}"

    return {
        short(fine["downstreams"][0]).rpartition(".")[2]: set(map(short, fine["upstreams"]))
        for fine in lineage.get("fineGrainedLineages") or ()
    }


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times.append(time.perf_counter() - began)


def add(catalog: Catalog, location: str, name: str, times: list[float]) -> RunPlan:
    """Add a source, or run it again; the time of reading and comparing, then that of writing."""
    options = SourceOptions()
    with timed(times):
        plan = plan_run(catalog, name, open_source(location, options), options, quiet)
    with timed(times):
        outcome = run_source(catalog, plan, quiet)
    assert not outcome.refused, outcome.refused[:3]
    return plan


def rows_in_sqlite(plan: RunPlan, folder: Path) -> float:
    """Return how long SQLite takes for the aspects of a plan as rows."""
    values = [(str(one.urn), one.aspect, json.dumps(one.value)) for one in plan.writes]
    times: list[float] = []
    with timed(times), sqlite3.connect(folder / "rows.db") as connection:
        connection.execute("create table if not exists rows (urn, aspect, value)")
        connection.executemany("insert into rows values (?, ?, ?)", values)
    return times[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=int, default=2_000)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--models", type=int, default=1_000)
    given = parser.parse_args()
    wrong = list[str]()
    with (
        tempfile.TemporaryDirectory() as directory,
        running_cluster() as cluster,
        psycopg.connect(cluster.address(), autocommit=True) as postgres,
    ):
        folder = Path(directory)
        postgres.execute("create database big")
        big = psycopg.connect(cluster.address("big"), autocommit=True)
        file = duckdb.connect(str(folder / "big.duckdb"))
        lake = folder / "lake"
        lake.mkdir()
        made = {
            cluster.address("big").replace("postgresql:", "postgresql+psycopg:"): fill(
                lambda sql: big.execute(sql.encode()), "big", given.tables, "postgres"
            ),
            str(folder / "big.duckdb"): fill(file.execute, "big", given.tables, "duckdb"),
            str(lake): write_files(lake, given.files),
            str(folder / "project"): write_project(folder / "project", given.models),
        }
        file.close()
        (folder / "catalog").mkdir()
        with serving_catalog(folder / "catalog") as address, Catalog(address) as catalog:
            print(f"{'':10}{'datasets':>9}{'read':>8}{'write':>8}{'again':>8}{'SQLite':>8}")
            for number, (location, expected) in enumerate(made.items()):
                times: list[float] = []
                plan = add(catalog, location, f"source{number}", times)
                raw = rows_in_sqlite(plan, folder)
                wrong += faults(catalog, plan, expected)
                again = add(catalog, location, f"source{number}", times)
                if again.counts["unchanged"] != len(again.effects):
                    wrong.append(f"{expected.platform}: a second run changed {again.counts}")
                print(
                    f"{expected.platform:10}{len(expected.columns):9,}{times[0]:8.1f}"
                    f"{times[1]:8.1f}{times[2] + times[3]:8.1f}{raw:8.2f}",
                    flush=True,
                )
            location, urn = next(iter(made)), Urn.dataset("postgres", f"big.s3.t{3:05}")
            catalog.describe(urn, "Written by a person.", column="name")
            again_made = "create table s3.t00003 (id bigint primary key, name varchar(50))"
            for sql, effect in (("drop table s3.t00003 cascade", "gone"), (again_made, "back")):
                big.execute(sql.encode())
                told = add(catalog, location, "source0", []).effects.get(urn)
                if told != effect:
                    wrong.append(f"the table that is {effect} counts as {told}")
            column = catalog.entity(urn).schema.column("name")
            if column is None or column.description != "Written by a person.":
                wrong.append("a table that came back lost the text of its column")
        big.close()
    for sentence in wrong[:20]:
        print(f"wrong: {sentence}")
    print("everything is as it was made" if not wrong else f"{len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
