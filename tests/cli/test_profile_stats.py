"""What profiling measured: the newest profile, and how it changed."""

import csv
import io

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"
GRAIN = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.grain,PROD)"


def test_the_newest_profile_is_shown_column_by_column(mill: Run) -> None:
    ran = mill("profile-stats", FLOUR)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "measured 2026-01-02 00:00 · 90 rows · 2 columns · 2.5 MB"
    at = next(place for place, line in enumerate(lines) if line.startswith("weight"))
    assert lines[at].split() == ["weight", "1", "(1.0%)", "80", "(90.0%)"]
    facts = "min -0.50 · max 25.00 · mean 12.250 · median 12 · e.g. 1.50, =2+2"
    assert lines[at + 1].strip() == facts
    assert lines[at + 2].split() == ["origin.mill", "?", "?"]
    assert max(map(len, lines)) <= 80


def test_a_partition_is_not_shown_as_the_table(catalog: Run, served: str) -> None:
    urn = Urn.dataset("hive", "parted")
    part = {"type": "PARTITION", "partition": "ds=1"}
    whole, parted = {"rowCount": 1_000}, {"rowCount": 7, "partitionSpec": part}
    with Catalog(served) as cat:
        for at, value in ((1, whole), (2, parted)):
            cat.ingest(Proposal(urn, "datasetProfile", {"timestampMillis": at, **value}))
    shown = catalog("profile-stats", str(urn)).out
    assert "1,000 rows · 1 profile of parts left out" in shown
    assert catalog("profile-stats", str(urn), "--json").json["rows"] == 1_000
    ran = catalog("profile-stats", str(urn), "--to", "2026-01-01", "--json")
    assert [(one["rows"], one["part"]) for one in ran.json["profiles"]] == [
        (7, "ds=1"),
        (1_000, ""),
    ]


def test_where_there_is_room_a_column_is_one_line(mill: Run) -> None:
    lines = mill("profile-stats", FLOUR, COLUMNS="140").out.splitlines()
    (row,) = [line for line in lines if line.startswith("weight")]
    assert row.split()[-4:] == ["12.250", "12", "1.50,", "=2+2"]


def test_programs_get_the_numbers_as_profiling_wrote_them(mill: Run) -> None:
    found = mill("profile-stats", FLOUR, "--json").json
    assert (found["rows"], found["size_bytes"]) == (90, 2_500_000)
    assert found["measured_at"].startswith("2026-01-02T00:00:00")
    weight = found["columns"][0]
    assert (weight["min"], weight["mean"], weight["median"]) == ("-0.50", "12.250", "12")
    assert weight["samples"] == ["1.50", "=2+2"]
    row = next(csv.DictReader(io.StringIO(mill("profile-stats", FLOUR, "--csv").out)))
    assert (row["path"], row["nulls"], row["min"], row["mean"]) == (
        "weight",
        "1",
        "-0.50",
        "12.250",
    )


def test_a_column_has_a_line_for_each_profile_newest_first(mill: Run) -> None:
    ran = mill("profile-stats", FLOUR, "--column", "weight")
    table, *values = ran.out.split("\n\n")
    header, *rows = table.splitlines()
    assert header.split() == [
        "measured",
        "rows",
        "nulls",
        "distinct",
        "min",
        "max",
        "mean",
        "median",
    ]
    assert [row.split()[2:5] for row in rows] == [["90", "1", "80"], ["100", "0", "90"]]
    assert "2 profiles, newest first" in ran.err
    # Below, what the newest says of the values.
    quantiles, histogram = (one.splitlines() for one in values)
    assert [one.split() for one in quantiles[1:]] == [
        ["50%", "12", "█" * 30],
        ["95%", "24", "█" * 60],
    ]
    assert [one.split() for one in histogram[1:]] == [
        ["-0.5", "–", "12", "60", "█" * 60],
        ["12", "–", "25", "20", "█" * 20],
    ]
    one = mill("profile-stats", FLOUR, "--column", "weight", "--to", "2026-01-01", "--json").json
    assert [profile["nulls"] for profile in one["profiles"]] == [0]
    wrong = mill("profile-stats", FLOUR, "--column", "wieght")
    assert wrong.code == 1
    assert "weight" in wrong.err


def test_a_period_shows_how_the_table_grew(mill: Run) -> None:
    found = mill("profile-stats", FLOUR, "--from", "2026-01-01", "--csv").out
    rows = list(csv.DictReader(io.StringIO(found)))
    assert [row["rows"] for row in rows] == ["90", "100"]


def test_what_was_never_profiled_is_said(mill: Run) -> None:
    ran = mill("profile-stats", GRAIN)
    assert (ran.code, ran.out) == (0, "")
    assert "this dataset has no profile" in ran.err
    assert mill("profile-stats", "urn:li:tag:Finance").code == 1
