"""How something is used: days with bars, users, columns, and the numbers for programs."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"
SACKS = "urn:li:chart:(metabase,mill.1)"
WEEK = ("--from", "2026-01-01", "--to", "2026-01-07")


def test_a_line_a_day_with_a_bar_as_long_as_its_count(mill: Run) -> None:
    ran = mill("usage", FLOUR, *WEEK)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["day", "queries", "users"]
    first, second, third = (line.split() for line in lines[1:4])
    assert first[:3] == ["2026-01-01", "4", "2"]
    assert second == ["2026-01-02", "0", "0"]
    assert third[:3] == ["2026-01-03", "8", "1"]
    assert len(third[3]) == 2 * len(first[3])
    assert max(map(len, lines)) <= 80
    assert "12 queries on 3 measured days from 2026-01-01 to 2026-01-07, 4.0 per day" in ran.err


def test_one_query_is_told_in_the_singular(mill: Run) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.once,PROD)"
    at = int(datetime(2026, 1, 3, tzinfo=UTC).timestamp() * 1000)
    value = json.dumps({"timestampMillis": at, "totalSqlQueries": 1})
    change = {
        "entityUrn": urn,
        "aspectName": "datasetUsageStatistics",
        "aspect": {"value": value},
    }
    assert mill("load", "-", stdin=json.dumps(change).encode()).code == 0
    ran = mill("usage", urn, *WEEK)
    assert "1 query on 1 measured day from 2026-01-01 to 2026-01-07, 1.0 per day" in ran.err
    assert mill("delete", urn, "--hard", "--yes").code == 0


def test_the_top_users_and_columns_say_how_many_there_are(mill: Run) -> None:
    ran = mill("usage", FLOUR, *WEEK, "--top", "1")
    lines = ran.out.splitlines()
    assert lines[lines.index("Users  1 of 2") + 1].split() == ["anna", "11", "█" * 60]
    assert lines[lines.index("Columns  1 used") + 1].split() == ["weight", "12", "█" * 60]
    assert max(map(len, lines)) <= 80
    assert "Users" not in mill("usage", FLOUR, *WEEK, "--top", "0").out


def test_dates_bound_what_is_read_and_include_both_days(mill: Run) -> None:
    def days(*words: Any) -> Any:
        return [day["date"] for day in mill("usage", FLOUR, *words, "--json").json["days"]]

    assert days("--from", "2026-01-02", "--to", "2026-01-03") == ["2026-01-02", "2026-01-03"]
    assert days("--days", "2", "--to", "2026-01-02") == ["2026-01-01", "2026-01-02"]
    nothing = mill("usage", FLOUR, "--from", "2025-01-01", "--to", "2025-01-31")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no usage data from 2025-01-01 to 2025-01-31" in nothing.err


def test_programs_read_json_and_csv(mill: Run) -> None:
    found = mill("usage", FLOUR, *WEEK, "--json").json
    assert (found["total"], found["measure"], found["truncated"]) == (12, "queries", False)
    assert found["users"][0] == {"user": "urn:li:corpuser:anna", "count": 11}
    assert found["columns"] == [{"path": "weight", "count": 12}]
    rows = list(csv.reader(io.StringIO(mill("usage", FLOUR, *WEEK, "--csv").out)))
    assert rows == [
        ["date", "queries", "users"],
        ["2026-01-01", "4", "2"],
        ["2026-01-02", "0", "0"],
        ["2026-01-03", "8", "1"],
    ]


def test_charts_are_viewed_and_tags_are_not_measured(mill: Run) -> None:
    found = mill("usage", SACKS, *WEEK, "--json").json
    assert (found["total"], found["measure"]) == (7, "views")
    assert mill("usage", "urn:li:tag:Finance").code == 1


def test_days_that_cannot_be_meant_are_refused(mill: Run) -> None:
    assert mill("usage", FLOUR, "--days", "3", "--from", "2026-01-01").code == 2
    assert mill("usage", FLOUR, "--from", "2026-01-02", "--to", "2026-01-01").code == 2
    assert mill("usage", FLOUR, "--from", "yesterday").code == 2
