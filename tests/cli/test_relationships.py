"""What an entity points at, and what points at it."""

import csv
import io
import subprocess
from typing import Any

import pytest

from tests.cli.conftest import Run


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,lake.{name},PROD)"


CHART = "urn:li:chart:(looker,lake.days)"
KEEPER = "urn:li:corpuser:lakekeeper"


def test_relationships_stand_under_their_names_with_counts(warehouse: Run) -> None:
    ran = warehouse("relationships", table("mart"))
    assert ran.code == 0
    lines = ran.out.splitlines()
    at = lines.index("→ OwnedBy  1 outgoing")
    assert lines[at + 1].split() == ["Lake", "Keeper", "person"]
    assert "← Consumes  1 incoming" in lines
    ghost = next(line for line in lines if line.startswith("lake.ghost"))
    assert ghost.endswith("only named by others")
    # A column is named with its table.
    assert any(line.startswith("right.mail  ") and "column · hive" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_direction_and_names_narrow(warehouse: Run) -> None:
    ran = warehouse("relationships", KEEPER, "--direction", "in", "--type", "OwnedBy", "--urns")
    assert ran.out.split() == [table("mart")]
    none = warehouse("relationships", KEEPER, "--direction", "out", "--type", "OwnedBy")
    assert (none.code, none.out) == (0, "")
    assert "no outgoing relationships of Lake Keeper" in none.err


def test_what_is_cut_is_counted(warehouse: Run) -> None:
    ran = warehouse("relationships", table("mart"), "--type", "DownstreamOf", "--limit", "1")
    assert "→ DownstreamOf  4 outgoing" in ran.out
    assert "… 3 more" in ran.out
    assert "1 of 4 shown" in ran.err


def test_programs_get_json_and_csv(warehouse: Run) -> None:
    found = warehouse("relationships", table("mart"), "--json").json
    assert found["counts"]["outgoing"]["OwnedBy"] == 1
    assert found["counts"]["incoming"] == {"Consumes": 1}
    assert found["total"] == len(found["edges"])
    owner = next(edge for edge in found["edges"] if edge["relationship"] == "OwnedBy")
    assert (owner["urn"], owner["name"], owner["direction"]) == (KEEPER, "Lake Keeper", "outgoing")
    text = warehouse("relationships", table("mart"), "--csv", "--direction", "in").out
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["urn"], row["relationship"], row["name"]) == (CHART, "Consumes", "By day")


def test_what_is_not_there_is_said(warehouse: Run) -> None:
    nobody = warehouse("relationships", "urn:li:tag:nobody")
    assert (nobody.code, nobody.out) == (1, "")
    assert "there is no urn:li:tag:nobody" in nobody.err
    wrong = warehouse("relationships", KEEPER, "--type", "OwnedBye")
    assert "did you mean OwnedBy" in wrong.err
    assert warehouse("relationships", KEEPER, "--json", "--csv").code == 2


@pytest.mark.nightly
def test_in_a_shell_what_somebody_owns_is_counted(
    warehouse: Run, served: str, command: tuple[str, ...]
) -> None:
    script = (
        f"{' '.join(command)} relationships {KEEPER} --direction in --type OwnedBy --urns"
        f" --url {served} | grep -c dataset"
    )
    done = subprocess.run(
        ("bash", "-o", "pipefail", "-c", script), capture_output=True, timeout=120, check=False
    )
    assert done.stdout.decode().strip() == "1", done.stderr
