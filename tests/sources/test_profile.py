"""`catalog add --stats`: what columns hold, without values that are a person's."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Interface
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.sources import profile
from explorer.sources.location import open_source
from explorer.sources.profile import is_personal
from explorer.sources.source import ColumnDefinition, SourceOptions
from explorer.views.sources import counts_text
from explorer.views.timeseries import read_profiles
from tests.conftest import serving_catalog
from tests.sources.conftest import Run, aspects_of, dataset, execute, quiet

_VALUES = ("min", "max", "mean", "median", "quantiles", "histogram", "distinctValueFrequencies")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a catalog that all tests here share."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


def profiled(path: Path, name: str, **more: Any) -> dict[str, Any]:
    """Return the profile of a table of a source, its columns by name."""
    options = SourceOptions(profile=True, **more)
    inventory = open_source(str(path), options).read(quiet)
    assert inventory.skipped == []
    value = dict(aspects_of(inventory.proposals, name)["datasetProfile"])
    value["fieldProfiles"] = {one["fieldPath"]: one for one in value["fieldProfiles"]}
    return value


_ROWS = """
create table people (id int, email varchar, score double, kind varchar, seen date, is_new boolean);
insert into people select i, 'p' || i || '@x.org', case when i % 4 = 0 then null else i end,
    case when i % 3 = 0 then 'a' else 'b' end, date '2026-01-01' + i::int, i % 2 = 0
from range(1, 101) t(i);
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A DuckDB file with a table of a hundred people."""
    path = tmp_path / "wh.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(_ROWS)
    return path


def check_people(found: dict[str, Any]) -> None:
    """Check what was measured of those people, whatever they are kept in."""
    assert found["rowCount"] == 100
    columns = found["fieldProfiles"]
    assert columns["email"]["uniqueCount"] == 100
    assert not set(columns["email"]) & set(_VALUES)
    score = columns["score"]
    assert (score["nullCount"], score["nullProportion"], score["uniqueCount"]) == (25, 0.25, 75)
    assert (float(score["min"]), float(score["max"])) == (1, 99)
    assert (float(score["mean"]), float(score["median"])) == (50, 50)
    assert [one["quantile"] for one in score["quantiles"]] == [
        "0.05",
        "0.25",
        "0.5",
        "0.75",
        "0.95",
    ]
    assert len(score["histogram"]["boundaries"]) == len(score["histogram"]["heights"]) + 1
    assert sum(score["histogram"]["heights"]) == pytest.approx(1)
    assert columns["kind"]["distinctValueFrequencies"] == [
        {"value": "b", "frequency": 67},
        {"value": "a", "frequency": 33},
    ]


def test_a_duckdb_table_is_measured(people: Path) -> None:
    found = profiled(people, "wh.main.people")
    check_people(found)
    assert found["fieldProfiles"]["seen"]["min"] == "2026-01-02"
    assert "min" not in found["fieldProfiles"]["is_new"]


def test_files_are_measured(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    with duckdb.connect(str(people)) as connection:
        for ending in ("parquet", "csv"):
            connection.execute(f"copy people to '{folder}/people.{ending}'")
    for ending in ("parquet", "csv"):
        check_people(profiled(folder, f"lake/people.{ending}"))


def test_an_sqlite_table_is_measured(people: Path, tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with duckdb.connect(str(people)) as connection:
        rows = connection.execute(
            "select id, email, score, kind, seen::varchar from people"
        ).fetchall()
    execute(path, "create table people (id int, email text, score real, kind text, seen date)")
    values = ", ".join(str(tuple(row)).replace("None", "null") for row in rows)
    execute(path, f"insert into people values {values}")
    check_people(profiled(path, "shop.people"))


def test_values_of_persons_are_kept_where_that_is_asked_for(people: Path) -> None:
    found = profiled(people, "wh.main.people", values=True)["fieldProfiles"]
    assert found["email"]["min"] == "p100@x.org"


def test_of_a_large_table_a_sample_is_measured(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "MOST_ROWS", 40)
    found = profiled(people, "wh.main.people")
    assert found["rowCount"] == 100
    assert found["partitionSpec"] == {"type": "FULL_TABLE", "partition": "SAMPLE (40 rows)"}
    score = found["fieldProfiles"]["score"]
    assert score["nullProportion"] == 0.25
    # Counts of a sample are not the table's.
    assert not {"nullCount", "uniqueCount", "distinctValueFrequencies"} & set(score)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customerName", ["a", "a"]),
        ("e_mail", ["x"]),
        ("BIRTH_DATE", ["2000-01-01"]),
        ("api_key", ["a", "a"]),
        ("apiKey", ["a", "a"]),
        ("col1", ["ann@example.org", *["x"] * 50]),
        ("col2", ["+49 30 1234567", "030/9876543"]),
        ("col3", ["10.1.2.3", "192.168.0.1"]),
        ("col4", ["2001:db8::1", "fe80::1"]),
        ("col5", ["4111 1111 1111 1111"]),
        ("col6", [4111111111111111, 5500000000000004]),
        ("col7", ["DE89 3704 0044 0532 0130 00"]),
        ("col8", ["eyJhbGciOi.eyJzdWIi.c2ln"]),
        ("col9", ["sk_live_51H8abcdefGHIJKLMNOP"]),
        ("col10", ["12 Main Street", "5 Long Road"]),
        (
            "col11",
            ["She called about her knee, which has been hurting since the operation in May."],
        ),
        ("col12", [f"Person {one}" for one in range(50)]),
        ("col13", [IPv4Address("10.1.2.3"), IPv4Address("10.1.2.4")] * 30),
        ("col14", [IPv6Interface("2001:db8::1/64")]),
        ("col15", [UUID("6f1c1d52-6d1c-4f0e-9a37-0f5f1f6f2a11")] * 30),
        ("col16", [1, 2, "ann@example.org"]),
        ("col17", [Decimal(4111111111111111), Decimal(5500000000000004)]),
        ("col18", [date(1980, 5, 1), date(1999, 1, 2)]),
        ("col19", ["1980-05-01", "1999-01-02"]),
        # One address among many texts.
        ("col20", [*[f"text {one}" for one in range(200)] * 3, "ann@example.org"]),
        ("col21", [*[f"text {one}" for one in range(200)] * 3, "ask ann@example.org first"]),
        ("hired_on", [datetime(2020, 1, 1, tzinfo=UTC)]),
        ("dateofbirth", [1, 2]),
        ("GEBURTSDATUM", [1, 2]),
        ("kundenvorname", ["a", "a"]),
        ("hourly_wage", [1, 2]),
        ("basePay", [1, 2]),
        ("yearlybonus", [1, 2]),
        ("Straße", ["a", "a"]),
        # Far behind the first thousand.
        ("note", [*map(str, range(2_000)), "ana@example.com"]),
    ],
)
def test_what_looks_personal_is_recognised(name: str, values: Sequence[Any]) -> None:
    assert is_personal(ColumnDefinition(name, "", "String"), values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("status", ["paid", "open"] * 30),
        ("total", [1.5, 2.5]),
        ("id", list(range(100))),
        ("placed_at", [f"2026-01-{day:02} 10:00:00" for day in range(1, 29)]),
        ("sku", ["A-1", "B-2"] * 30),
        ("description_length", [3, 4]),
        ("note", [f"text {one}" for one in range(200)] * 3),
        ("shipping", ["dhl", "ups"] * 9),
        ("updatedAt", [datetime(2020, 1, 1, tzinfo=UTC)]),
        ("event_date", [date(2020, 1, 1)]),
        ("day", [date(2020, 1, 1)]),
        ("opens", [time(8), time(9)]),
        ("took", [timedelta(1)]),
        ("payload_size", [1, 2]),
        ("price", [Decimal("1.5"), Decimal("2.5")]),
    ],
)
def test_what_is_no_persons_is_not(name: str, values: Sequence[Any]) -> None:
    assert not is_personal(ColumnDefinition(name, "", "String"), values)


def test_columns_without_values_are_counted_in_words() -> None:
    found = {"column without values": 2, "profiled table": 2}
    assert counts_text(found) == "2 columns without values, 2 profiled tables"


def test_profiles_are_shown_and_measured_again_by_a_run(
    command: Run, cat: Catalog, people: Path
) -> None:
    assert command("add", str(people)).code == 0
    assert "fieldProfiles" not in cat.profiles(dataset("duckdb", "wh.main.people")).values[-1]
    ran = command("add", str(people), "--stats", "--json")
    assert json.loads(ran.out)["found"]["column without values"] == 1
    urn = dataset("duckdb", "wh.main.people")
    assert json.loads(command("sources", "run", "wh", "--json").out)[0]["written"] == 0
    shown = command("profile-stats", urn)
    assert shown.code == 0, shown
    assert "score" in shown.out
    assert "25" in shown.out
    assert "--values says what --stats may show" in command("add", "x", "--values").err


def test_a_source_that_is_added_again_keeps_the_options_that_are_not_given(
    command: Run, cat: Catalog, people: Path
) -> None:
    assert command("add", str(people), "--name", "kept", "--stats", "--instance", "own").code == 0
    urn = dataset("duckdb", "own.wh.main.people")
    again = command("add", str(people), "--name", "kept")
    assert "unchanged; 0 aspects written" in again.out, again
    assert "kept keeps the options that it was added with: --instance, --stats" in again.err
    assert "fieldProfiles" in cat.profiles(urn).values[-1]
    without = command("add", str(people), "--name", "kept", "--no-stats")
    assert "--stats" not in without.err
    assert "fieldProfiles" not in cat.profiles(urn).values[-1]


def test_columns_are_those_of_the_newest_profile_that_measured_some(
    command: Run, cat: Catalog, people: Path
) -> None:
    added = command("add", str(people), "--name", "later", "--stats", "--instance", "later")
    assert added.code == 0, added
    urn = dataset("duckdb", "later.wh.main.people")
    before = json.loads(command("profile-stats", urn, "--json").out)
    assert before["columns_measured_at"] == before["measured_at"]
    later = cat.profiles(urn).values[-1]["timestampMillis"] + 60_000
    rows = {"timestampMillis": later, "rowCount": 7, "columnCount": 9}
    cat.ingest(Proposal(Urn.parse(urn), "datasetProfile", rows))
    after = json.loads(command("profile-stats", urn, "--json").out)
    assert after["rows"] == 7
    assert after["columns"] == before["columns"]
    assert after["columns_measured_at"] == before["measured_at"] < after["measured_at"]
    shown = command("profile-stats", urn)
    assert "7 rows" in shown.out
    assert "columns profiled, last on 20" in shown.err
    columns = read_profiles(cat.profiles(urn)).columns
    assert [one.path for one in columns] == [one["path"] for one in before["columns"]]
