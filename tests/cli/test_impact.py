"""What breaks when a table or a column goes."""

import csv
import io
import subprocess
from typing import Any

import pytest

from tests.cli.conftest import Run


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,lake.{name},PROD)"


CHART = "urn:li:chart:(looker,lake.days)"
DASHBOARD = "urn:li:dashboard:(looker,lake)"


def test_the_most_used_comes_first_with_its_queries(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"))
    assert ran.code == 0
    header, first, *_ = ran.out.splitlines()
    assert header.split() == ["name", "type", "queries", "users", "hops", "state"]
    assert first.split() == ["mart", "dataset", "·", "hive", "12", "3", "2"]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.err.splitlines() == [
        "7 affected by raw",
        "4 datasets, 1 task, 1 chart, 1 dashboard; 12 queries in 30 days",
    ]


def test_only_the_first_are_shown_and_the_rest_is_counted(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"), "--top", "1")
    assert len(ran.out.splitlines()) == 2
    assert ran.err.splitlines()[0] == "7 affected by raw"
    assert ran.err.splitlines()[-1] == "1 of 7 shown; --top shows more"


def test_of_a_column_is_said_how_sure_it_is(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"), "--column", "email")
    known = {line.split()[0]: line for line in ran.out.splitlines()}
    assert "said" in known["right"]
    assert "guess: same name" in known["left"]
    assert "contact" in known["mart"]
    assert "the table only" in known["By"]
    assert "raw.email" in ran.err


def test_groups_say_how_many_they_are(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"), "--by", "owner", "--top", "2")
    lines = ran.out.splitlines()
    assert "Lake Keeper  1 · 12 queries" in lines
    assert "no owner  6" in lines
    assert lines[-1] == "… 4 more"


def test_programs_get_json_csv_and_urns(warehouse: Run) -> None:
    found = warehouse("impact", table("raw"), "--column", "email", "--json").json
    assert found["column"] == "email"
    assert found["total"] == len(found["affected"])
    by_urn = {one["urn"]: one for one in found["affected"]}
    assert by_urn[table("left")]["certainty"] == "guessed"
    assert by_urn[table("mart")]["columns"] == ["contact"]
    assert by_urn[table("mart")]["queries"] == 12
    assert {"key": "dashboard", "name": "dashboard", "count": 1, "queries": 0} in found["groups"][
        "type"
    ]
    text = warehouse("impact", table("raw"), "--csv").out
    rows = {row["urn"]: row for row in csv.DictReader(io.StringIO(text))}
    assert text.count("\r\n") == len(rows) + 1
    # A spreadsheet does not run it.
    assert rows[table("copy")]["name"] == "'=cmd|'/c calc'!A1"
    assert rows[table("mart")]["queries"] == "12"
    assert rows[table("left")]["removed"] == "true"
    urns = warehouse("impact", table("raw"), "--urns", "--top", "1")
    assert urns.out.split() == [table("mart")]
    assert "1 of 7 shown" in urns.err


def test_a_filter_says_what_counts(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"), "--filter", "type:dashboard or queries>10", "--urns")
    assert ran.out.split() == [table("mart"), DASHBOARD]


def test_nothing_affected_is_said(warehouse: Run) -> None:
    ran = warehouse("impact", table("raw"), "--filter", "name:nobody", "--fail-if-any")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing is affected by raw" in ran.err
    nobody = warehouse("impact", table("nowhere"), "--no-usage")
    assert nobody.code == 1
    assert "there is no" in nobody.err
    assert warehouse("impact", CHART, "--column", "x").code == 1


@pytest.mark.nightly
def test_in_a_shell_a_build_fails_when_a_dashboard_would_break(
    warehouse: Run, served: str, command: tuple[str, ...]
) -> None:
    catalog = " ".join(command)

    def build(column: Any) -> Any:
        script = (
            f"{catalog} impact '{table('right')}' --column {column} --no-usage --fail-if-any"
            f" --filter type:dashboard --urns --url {served} | tee /dev/stderr | wc -l; "
            "exit ${PIPESTATUS[0]}"
        )
        return subprocess.run(
            ("bash", "-c", script), capture_output=True, timeout=120, check=False, text=True
        )

    breaks = build("mail")
    assert (breaks.returncode, breaks.stdout.strip()) == (1, "1"), breaks.stderr
    assert DASHBOARD in breaks.stderr
    passes = build("key")
    assert (passes.returncode, passes.stdout.strip()) == (0, "0"), passes.stderr
