"""The ways from one entity to another."""

import json
import subprocess
from typing import Any

import pytest

from tests.cli.conftest import Run


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,lake.{name},PROD)"


DASHBOARD = "urn:li:dashboard:(looker,lake)"
KEEPER = "urn:li:corpuser:lakekeeper"


def test_all_shortest_ways_are_drawn_with_kinds(warehouse: Run) -> None:
    ran = warehouse("path", table("raw"), table("mart"), COLUMNS="120")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "1  raw (dataset · hive) → left (dataset · hive) removed → mart (dataset · hive)",
        "2  raw (dataset · hive) → right (View · hive) → mart (dataset · hive)",
    ]
    assert ran.err == "2 shortest ways, 2 hops, downstream: mart is downstream of raw\n"


def test_a_long_way_is_broken_between_entities(warehouse: Run) -> None:
    lines = warehouse("path", table("right"), DASHBOARD, COLUMNS="60").out.splitlines()
    assert lines == [
        "right (View · hive) → mart (dataset · hive)",
        "  → By day (chart · looker) → The lake (dashboard · looker)",
    ]


def test_a_way_against_the_flow_is_said_to_be_upstream(warehouse: Run) -> None:
    ran = warehouse("path", table("mart"), table("right"))
    assert ran.out == "mart (dataset · hive) ← right (View · hive)\n"
    assert "upstream: mart is downstream of right" in ran.err


def test_the_way_from_an_entity_to_itself_is_no_claim(warehouse: Run) -> None:
    ran = warehouse("path", table("mart"), table("mart"))
    assert (ran.code, ran.out) == (0, "mart (dataset · hive)\n")
    assert ran.err == "mart is both ends\n"


def test_no_way_is_exit_1_and_a_sentence(warehouse: Run) -> None:
    ran = warehouse("path", table("one"), table("mart"))
    assert (ran.code, ran.out) == (1, "")
    assert "there is no path from lake.one to mart along lineage" in ran.err
    as_json = warehouse("path", table("one"), table("mart"), "--json")
    assert (as_json.code, as_json.json["ways"], as_json.json["hops"]) == (1, [], None)
    nobody = warehouse("path", table("nowhere"), table("mart"))
    assert nobody.code == 1
    assert "there is no urn:li:dataset" in nobody.err


def test_a_way_longer_than_was_looked_for_is_not_denied(warehouse: Run) -> None:
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    chain = [
        {
            "entityUrn": table(f"chain_{at:03}"),
            "aspectName": "upstreamLineage",
            "aspect": {
                "json": {
                    "upstreams": [
                        {
                            "dataset": table(f"chain_{at - 1:03}"),
                            "type": "TRANSFORMED",
                            "auditStamp": stamp,
                        }
                    ]
                }
            },
        }
        for at in range(1, 63)
    ]
    assert warehouse("load", "-", stdin=json.dumps(chain).encode()).code == 0
    ends = table("chain_001"), table("chain_062")
    ran = warehouse("path", *ends)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "there is no path from lake.chain_001 to lake.chain_062 along lineage within 50 hops",
        "incomplete: paths of more than 50 hops were not looked for; --hops 200 looks further",
    ]
    as_json = warehouse("path", *ends, "--json").json
    assert as_json["truncated"] == "paths of more than 50 hops were not looked for"
    assert warehouse("path", *ends, "--hops", "200", "--json").json["hops"] == 61


def test_other_relationships_lead_elsewhere(warehouse: Run) -> None:
    assert warehouse("path", table("mart"), KEEPER).code == 1
    ran = warehouse("path", KEEPER, table("mart"), "--relationship", "OwnedBy")
    assert ran.out == "Lake Keeper (person) — OwnedBy — mart (dataset · hive)\n"
    arguments = ("--relationship", "OwnedBy", "--json")
    assert warehouse("path", KEEPER, table("mart"), *arguments).json["joined_by"] == [["OwnedBy"]]
    wrong = warehouse("path", KEEPER, table("mart"), "--relationship", "OwndBy")
    assert wrong.code == 1
    assert "did you mean OwnedBy" in wrong.err


def test_programs_get_every_way_as_json_and_the_first_as_urns(warehouse: Run) -> None:
    found = warehouse("path", table("raw"), table("mart"), "--json").json
    assert [[step["name"] for step in way] for way in found["ways"]] == [
        ["raw", "left", "mart"],
        ["raw", "right", "mart"],
    ]
    assert (found["direction"], found["hops"]) == ("downstream", 2)
    cut = warehouse("path", table("raw"), table("mart"), "--json", "--limit", "1")
    assert len(cut.json["ways"]) == 1
    assert "there are more" in cut.json["truncated"]
    urns = warehouse("path", table("raw"), table("mart"), "--urns").out.split()
    assert urns == [table("raw"), table("left"), table("mart")]


@pytest.mark.nightly
def test_in_a_shell_the_step_before_the_dashboard_is_found(
    warehouse: Run, served: str, command: tuple[str, ...]
) -> None:
    catalog = " ".join(command)
    script = (
        f"{catalog} path '{table('raw')}' '{DASHBOARD}' --urns --url {served}"
        f" | tail -2 | head -1 || exit 9; {catalog} path '{DASHBOARD}' '{table('one')}'"
        f" --url {served} || echo apart"
    )
    done = subprocess.run(
        ("bash", "-o", "pipefail", "-c", script), capture_output=True, timeout=120, check=False
    )
    assert done.stdout.decode().split() == ["urn:li:chart:(looker,lake.days)", "apart"], done.stderr
