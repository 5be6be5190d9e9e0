"""A folder of files is listed as tables: types from footers, sizes, partitions."""

import gzip
import json
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
    assert [(one.subject, one.reason) for one in found.skipped if "broken" not in one.subject] == [
        ("lake", "1 file is left out (1 .txt): Parquet, CSV and JSON are read"),
        ("lake/old/empty.csv", "it is empty"),
    ]


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


def test_what_is_left_out_is_counted_by_its_kind(lake: Path) -> None:
    for name in (
        "c.XLSX",
        "d.xlsx",
        "old/e.csv.bz2",
        "f",
        "_g.csv",
        "sales/year=2020/h.parquet.gz",
    ):
        (lake / name).write_text("[]")
    (lake / "_old").mkdir()
    (lake / ".git").mkdir()
    (lake / "old" / "all").symlink_to(lake)
    (reason,) = [one.reason for one in read(lake).skipped if one.subject == "lake"]
    assert reason == (
        "9 files are left out (2 .xlsx, 2 beginning with _, 1 .csv.bz2, 1 .parquet.gz, 1 .txt, "
        "1 linked folder, 1 without an ending): Parquet, CSV and JSON are read"
    )


RECORDS = [{"id": 1, "who": {"town": "Köln"}}, {"id": 2, "who": {"town": "Bonn"}}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        "\n".join(map(json.dumps, RECORDS)),
        "".join(json.dumps(record, indent=1) for record in RECORDS),
        "\ufeff" + json.dumps(RECORDS, ensure_ascii=False),
    ],
)
def test_json_with_records_is_a_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "towns.json").write_text(text)
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(text.encode()))
    found = read(tmp_path)
    for name in ("towns.json", "packed.json.gz"):
        schema = aspects_of(found.proposals, f"{tmp_path.name}/{name}")["schemaMetadata"]
        assert [path for path, *_ in columns_of(schema)] == ["id", "who", "who.town"]
    assert found.skipped == []


def test_json_without_records_is_left_out_with_the_reason(tmp_path: Path) -> None:
    aspect = {"entityUrn": "urn:li:corpuser:a", "aspectName": "status", "aspect": {}}
    for name, text in {
        "package.json": '{"name": "shop", "version": 1}',
        "tsconfig.json": "{}\n",
        "numbers.json": "[1, 2]",
        "cut.json": '{"a": [1',
        "loaded.json": json.dumps([aspect]),
    }.items():
        (tmp_path / name).write_text(text)
    found = read(tmp_path)
    assert found.proposals == []
    root = tmp_path.name
    assert {one.subject: one.reason for one in found.skipped} == {
        f"{root}/package.json, {root}/tsconfig.json": (
            "left out: one object instead of records (2 JSON files)"
        ),
        f"{root}/numbers.json": "left out: no objects",
        f"{root}/cut.json": "left out: damaged JSON",
        f"{root}/loaded.json": "left out: metadata, which catalog load takes",
    }


def test_a_partition_beside_other_tables_hides_none(lake: Path) -> None:
    with duckdb.connect() as connection:
        for day in ("2024-01-01", "2024-01-02"):
            (lake / f"dt={day}").mkdir()
            connection.execute(
                f"copy (select 1 as n) to '{lake}/dt={day}/data.parquet' (format parquet)"
            )
            for name in ("orders", "stock"):
                folder = lake / "old" / f"dt={day}" / name
                folder.mkdir(parents=True)
                connection.execute(
                    f"copy (select 1 as {name}) to '{folder}/1.parquet' (format parquet)"
                )
    found = read(lake)
    names = {one.urn.name for one in found.proposals if one.urn.entity_type == "dataset"}
    assert names == {
        *("lake", "lake/sales", "lake/events/batches", "lake/events/types.parquet"),
        *("lake/people.csv", "lake/log.jsonl", "lake/old/orders", "lake/old/stock"),
    }
    for name, columns in {"lake": ["n", "dt"], "lake/old/stock": ["stock", "dt"]}.items():
        schema = aspects_of(found.proposals, name)["schemaMetadata"]
        assert [path for path, *_ in columns_of(schema)] == columns


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


@pytest.mark.parametrize(
    ("encoding", "header", "town", "told"),
    [
        ("latin-1", "größe", "Köln", "cp1252"),
        ("latin-1", "ort", "ä", "cp1252"),
        ("cp1252", "preis in €", "Köln", "cp1252"),
        ("cp1250", "miasto", "Wrocław", "cp1250"),
        ("shift_jis", "都市", "東京", "cp932"),
        ("utf-16", "größe", "Köln", "utf-16"),
        ("utf-16-le", "都市", "東京", "utf-16-le"),
        ("utf-16-be", "größe", "Köln", "utf-16-be"),
        ("utf-8-sig", "größe", "Köln", None),
    ],
)
def test_the_encoding_of_a_csv_file_is_found_out_and_said(
    command: Run, cat: Catalog, tmp_path: Path, encoding: str, header: str, town: str, told: str
) -> None:
    path = tmp_path / "towns.csv"
    # The file ends in the middle of a line.
    path.write_text(f"id;{header}\n1;{town}\n2;{town[:1]}", encoding=encoding)
    ran = command("add", str(path), "--stats", "--values")
    assert ran.code == 0, ran
    assert (f"towns.csv: read as {told}" in ran.err) == (told is not None)
    assert ("read as" in ran.err) == (told is not None)
    entity = cat.entity(dataset("file", "towns.csv"))
    assert [(column.path.raw, column.native_type) for column in entity.schema.columns] == [
        ("id", "BIGINT"),
        (header, "VARCHAR"),
    ]
    assert (entity.raw("datasetProperties") or {})["customProperties"].get("encoding") == told
    again = command("sources", "run", "towns")
    assert ("read as" in again.err) == (told is not None)


def test_an_encoding_that_is_given_is_used_and_a_wrong_one_is_refused(
    command: Run, cat: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "towns.csv"
    path.write_text("id,name\n1,Plzeň\n2,Žďár\n", encoding="cp1250")
    ran = command("add", str(path), "--encoding", "cp1250", "--stats", "--values")
    assert "towns.csv: read as cp1250" in ran.err, ran
    assert "Plzeň" in str(cat.profiles(dataset("file", "towns.csv")).values)
    assert command("sources", "run", "towns").code == 0
    wrong = command("add", str(path), "--encoding", "utf-8")
    assert (
        "skipped towns.csv: it is not utf-8 (the bytes f2 are no character of it): leave the "
        "encoding out, to have it found out"
    ) in wrong.err
    unknown = command("add", str(path), "--encoding", "utf8mb4")
    assert unknown.code == 1
    assert "no encoding is named 'utf8mb4': give one such as utf-8" in unknown.err


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x00\x01\x02\x03" * 50])
def test_a_file_of_no_text_is_skipped_with_the_reason(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "picture.csv").write_bytes(data)
    found = read(tmp_path)
    assert found.notes == []
    assert "read as" not in str(found.proposals)


def test_the_sample_of_a_large_file_cuts_no_character(tmp_path: Path) -> None:
    for number in range(3):
        text = f"id,city{'x' * number}\n" + "1,東京\n" * 120_000
        (tmp_path / f"{number}.csv").write_text(text)
        (tmp_path / f"s{number}.csv").write_text(text, encoding="shift_jis")
    found = read(tmp_path)
    root = tmp_path.name
    (note,) = [note for note in found.notes if "read as" in note]
    assert note == f"{root}/s0.csv, {root}/s1.csv, {root}/s2.csv: read as cp932"
    assert found.skipped == []


def test_another_encoding_after_the_first_rows_is_found_too(tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_bytes(
        b"id,name\n" + b"1,a\n" * 300 + "2,Köln\n".encode("cp1252")
    )
    (tmp_path / "late.csv").write_bytes(
        b"id,name\n" + b"1,a\n" * 30_000 + "2,Köln\n".encode("cp1252")
    )
    found = open_source(str(tmp_path), SourceOptions(profile=True)).read(quiet)
    root = tmp_path.name
    assert found.notes == [f"{root}/late.csv, {root}/towns.csv: read as cp1252"]
    assert found.skipped == []


@pytest.mark.parametrize(
    ("rows", "ragged", "total"),
    [
        (["1,Ann,Köln", "2,Ben", "3,Cleo,Bonn,x,y", "4,Dan,Ulm,"], 2, 4),
        (["1,Ann", "2,Ben", "3,Cleo"], 3, 3),
        (["1,Ann,Köln,x,y", "2,Ben,Ulm,x,y"], 2, 2),
        (["1,Ann,Köln", "", "total,2"], 1, 2),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_ragged_csv_file_keeps_its_header_and_says_how_many_rows_are_ragged(
    tmp_path: Path, rows: list[str], ragged: int, total: int, encoding: str
) -> None:
    (tmp_path / "people.csv").write_text("\n".join(["id,name,größe", *rows]), encoding=encoding)
    found = open_source(str(tmp_path / "people.csv"), SourceOptions(profile=True)).read(quiet)
    schema = aspects_of(found.proposals, "people.csv")["schemaMetadata"]
    assert [path for path, *_ in columns_of(schema)] == ["id", "name", "größe"]
    (note,) = [note for note in found.notes if "fields" in note]
    assert note == (
        f"people.csv: {ragged} of its {total} rows have more or fewer fields than its header"
    )
    assert aspects_of(found.proposals, "people.csv")["datasetProfile"]["rowCount"] == total
    assert found.skipped == []


def test_ragged_rows_far_below_the_header_are_counted_among_those_that_are_read(
    tmp_path: Path,
) -> None:
    rows = "".join(f"{number},a,b\n" for number in range(30_000))
    (tmp_path / "long.csv").write_text(f"id,name,town\n{rows}1,x\n{rows}")
    assert read(tmp_path / "long.csv").notes == []
    found = open_source(str(tmp_path / "long.csv"), SourceOptions(profile=True)).read(quiet)
    assert found.notes == [
        "long.csv: 1 of its first 50,001 rows have more or fewer fields than its header"
    ]
    assert found.skipped == []
    profile = aspects_of(found.proposals, "long.csv")["datasetProfile"]
    assert profile["partitionSpec"]["partition"] == "SAMPLE (50,000 rows)"


@pytest.mark.parametrize(
    "text",
    [
        "Report of 2024\n\nid,name\n1,Ann\n2,Ben\n",
        "1,2\n3,4\n",
        'text\n"some, words"\nothers\n',
        '"Name, first",town\nAnn,Ulm\n',
    ],
)
def test_a_csv_file_that_is_not_ragged_is_not_said_to_be(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert read(tmp_path / "a.csv").notes == []


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A folder with a file for each day, of two tables, and one whose columns change."""
    folder = tmp_path / "days"
    folder.mkdir()
    with duckdb.connect() as connection:
        for day in range(1, 4):
            path = folder / f"orders_2024-01-0{day}.parquet"
            connection.execute(f"copy (select {day} as id, 'x' as note) to '{path}'")
            (folder / f"stock_{day}.csv").write_text(f"item,count\na,{day}\n")
            extra = ", 1 as extra" if day == 3 else ""
            path = folder / f"moves-2024010{day}.parquet"
            connection.execute(f"copy (select {day} as id{extra}) to '{path}'")
        connection.execute(f"copy (select 1 as other) to '{folder}/orders_old.parquet'")
    return folder


def test_files_of_days_are_offered_as_one_table(days: Path) -> None:
    found = read(days)
    assert found.kinds["file"] == 10
    assert sorted(found.patterns) == ["orders_[0-9]*.parquet", "stock_*.csv"]
    assert sorted(found.notes) == [
        "days: 3 files have names like moves-*.parquet, but different columns: they stay tables of "
        "their own",
        "days: 3 files have the same columns and names like orders_[0-9]*.parquet: they become one "
        "table with the pattern (--pattern)",
        "days: 3 files have the same columns and names like stock_*.csv: they become one table "
        "with the pattern (--pattern)",
    ]


def test_a_pattern_makes_files_one_table_and_says_where_they_differ(
    command: Run, cat: Catalog, days: Path
) -> None:
    patterns = ("orders_[0-9]*.parquet", "moves-*", "stock_*.csv", "none_*")
    options = [word for pattern in patterns for word in ("--pattern", pattern)]
    ran = command("add", str(days), *options)
    assert ran.code == 0, ran
    assert "days/moves: its files differ in extra" in ran.err
    assert "skipped days: no file has a name that matches the pattern none_*" in ran.err
    names = {urn.name for urn in cat.urns("dataset")}
    assert names == {"days/orders", "days/moves", "days/stock", "days/orders_old.parquet"}
    properties = cat.entity(dataset("file", "days/orders")).raw("datasetProperties") or {}
    assert properties["customProperties"] == {"format": "parquet", "files": "3"}
    assert "5 unchanged" in command("sources", "run", "days").out


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
