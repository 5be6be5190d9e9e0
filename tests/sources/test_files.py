"""A folder of files is listed as tables: types from footers, sizes, partitions."""

from pathlib import Path

import duckdb
import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.sources.location import open_source
from explorer.sources.source import Inventory, SkippedPart, SourceOptions
from tests.sources.conftest import Run, aspects_of, columns_of, dataset, quiet


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with files of each kind, a partitioned table, one in parts, and a broken file."""
    root = tmp_path / "lake"
    (root / "events" / "batches").mkdir(parents=True)
    (root / "old").mkdir()
    with duckdb.connect() as connection:
        rows = "select i as id, 2020 + i % 3 as year, {'x': i, 'y': 'a'} as pair from range(9) t(i)"
        connection.execute(
            f"copy ({rows}) to '{root / 'sales'}' (format parquet, partition_by (year))"
        )
        for number in (1, 2):
            part = root / "events" / "batches" / f"part-000{number}.parquet"
            connection.execute(f"copy (select 1 as a, 'x' as b) to '{part}' (format parquet)")
        one = root / "events" / "types.parquet"
        connection.execute(f"copy (select date '2024-01-01' as day) to '{one}' (format parquet)")
    (root / "people.csv").write_text("id,name,born\n1,Ann,1990-01-02\n2,Ben,\n")
    (root / "log.jsonl").write_text('{"at": "2024-01-01T00:00:00", "who": {"id": 7}}\n')
    (root / "old" / "broken.parquet").write_text("this is no parquet file at all")
    (root / "old" / "empty.csv").touch()
    (root / "old" / "notes.txt").write_text("nothing")
    (root / "_SUCCESS").touch()
    return root


def read(path: Path) -> Inventory:
    """Return what is found at a path."""
    return open_source(str(path), SourceOptions()).read(quiet)


def test_a_folder_is_listed_as_a_person_would(lake: Path) -> None:
    found = read(lake)
    assert {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"} == {
        "lake/sales",
        "lake/events/batches",
        "lake/events/types.parquet",
        "lake/people.csv",
        "lake/log.jsonl",
    }
    assert found.kinds == {"folder": 2, "table": 2, "file": 3, "column": 14}
    assert [one.subject for one in found.skipped] == [
        "lake/old/broken.parquet",
        "lake/old/empty.csv",
    ]
    assert found.skipped[1].reason == "it is empty"


def test_partitions_are_one_table_with_their_keys(lake: Path) -> None:
    sales = aspects_of(read(lake).proposals, "lake/sales")
    assert columns_of(sales["schemaMetadata"]) == [
        ("id", "BIGINT", "Number", True),
        ("pair", "STRUCT(x BIGINT, y VARCHAR)", "Record", True),
        ("pair.x", "BIGINT", "Number", True),
        ("pair.y", "VARCHAR", "String", True),
        ("year", "BIGINT", "Number", True),
    ]
    keys = [one for one in sales["schemaMetadata"]["fields"] if one.get("isPartitioningKey")]
    assert [one["fieldPath"] for one in keys] == ["year"]
    files = sorted((lake / "sales").rglob("*.parquet"))
    assert sales["datasetProperties"]["customProperties"] == {
        "format": "parquet",
        "files": str(len(files)),
        "partitioned_by": "year",
    }
    assert sales["datasetProfile"] == {
        "rowCount": 9,
        "columnCount": 5,
        "sizeInBytes": sum(one.stat().st_size for one in files),
    }


def test_csv_and_json_lines_have_the_types_of_their_first_rows(lake: Path) -> None:
    found = read(lake).proposals
    assert columns_of(aspects_of(found, "lake/people.csv")["schemaMetadata"]) == [
        ("id", "BIGINT", "Number", True),
        ("name", "VARCHAR", "String", True),
        ("born", "DATE", "Date", True),
    ]
    assert columns_of(aspects_of(found, "lake/log.jsonl")["schemaMetadata"]) == [
        ("at", "TIMESTAMP", "Time", True),
        ("who", "STRUCT(id BIGINT)", "Record", True),
        ("who.id", "BIGINT", "Number", True),
    ]
    assert "rowCount" not in aspects_of(found, "lake/people.csv")["datasetProfile"]


def test_one_file_can_be_added_alone(lake: Path) -> None:
    source = open_source(str(lake / "people.csv"), SourceOptions())
    assert source.default_name == "people"
    assert source.read(quiet).kinds == {"file": 1, "column": 3}
    with pytest.raises(InvalidInput, match="is no file that is known"):
        open_source(str(lake / "old" / "notes.txt"), SourceOptions())


def test_a_file_that_breaks_is_not_taken_for_one_that_is_gone(
    command: Run, cat: Catalog, lake: Path
) -> None:
    assert command("add", str(lake)).code == 0
    (lake / "people.csv").write_bytes(b"")
    (lake / "log.jsonl").unlink()
    ran = command("sources", "run", "lake")
    assert ran.code == 0, ran
    assert "1 gone, 5 unchanged" in ran.out
    assert "skipped lake/people.csv: it is empty" in ran.err
    hidden = [
        name
        for name in ("people.csv", "log.jsonl")
        if (cat.entity(dataset("file", f"lake/{name}")).raw("status") or {}).get("removed")
    ]
    assert hidden == ["log.jsonl"]


def test_files_of_data_that_are_not_read_are_said(lake: Path) -> None:
    for name in ("a.json", "b.JSON.gz", "c.xlsx", "notes.md"):
        (lake / name).write_text("[]")
    (reason,) = [one.reason for one in read(lake).skipped if one.subject == "lake"]
    assert reason == (
        "3 files not read (.json, .json.gz, .xlsx): Parquet, CSV and JSON lines (.jsonl) are"
    )
    only = lake.parent / "only"
    only.mkdir()
    for name in ("data.json", "a.csv.bz2", "b.parquet.gz", "c.jsonl.zip"):
        (only / name).write_text("[]")
    assert [one.reason for one in read(only).skipped] == [
        "4 files not read (.csv.bz2, .json, .jsonl.zip, .parquet.gz): "
        "Parquet, CSV and JSON lines (.jsonl) are"
    ]


def test_what_is_told_of_a_file_that_breaks_has_none_of_its_rows(tmp_path: Path) -> None:
    rows = "".join(f"{number},n{number}\n" for number in range(30_000))
    (tmp_path / "people.csv").write_text(f"id,name\n{rows}hidden person,x\n")
    (tmp_path / "log.csv").write_text('id,name\n1,2\n"hidden,x\n3,4,5,hidden\n"a"b,c\n')
    found = open_source(str(tmp_path), SourceOptions(profile=True)).read(quiet)
    (reason,) = [one.reason for one in found.skipped if one.subject.endswith("people.csv")]
    assert "CSV Error on Line: 30002" in reason
    assert "column \"id\". Could not convert string … to 'BIGINT'" in reason
    assert not [one.reason for one in found.skipped if "hidden" in one.reason]
    assert max(len(one.reason) for one in found.skipped) < 400


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_skipped_with_the_reason(
    tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "towns.csv").write_text("id,größe\n1,Köln\n", encoding=encoding)
    (skipped,) = read(tmp_path).skipped
    assert "This file is not utf-8 encoded" in skipped.reason


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("postgres://u:p/w@x@h/db is away", "postgres://u:…@h/db is away"),
        ("DRIVER={x};UID=u;PWD={a;b};", "DRIVER={x};UID=u;PWD=…;"),
        ("password='a b', next", "password=…, next"),
        ('{"token": "abc"}', '{"token": …}'),
        ("identified by 'abc' twice", "identified by … twice"),
        ("AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=…"),
        (
            'invalid input syntax for type integer: "abc"',
            "invalid input syntax for type integer: …",
        ),
        ("postgres://u:${PW}@h password=${PW}", None),
        ('password authentication failed for user "ann"', None),
        ("it reads tokens, which is not known", None),
    ],
)
def test_no_reason_has_a_password(said: str, told: str | None) -> None:
    assert SkippedPart("it", said).reason == (told or said)


def test_a_folder_of_many_files_is_as_many_tables(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        for number in range(150):
            path = tmp_path / f"table_{number}.parquet"
            connection.execute(f"copy (select 1 as c{number}, 2 as b) to '{path}' (format parquet)")
    found = read(tmp_path)
    assert found.kinds == {"folder": 1, "file": 150, "column": 300}
    assert found.skipped == []
