"""What was changed, when and by whom, and what differs between two versions."""

import csv
import io

from tests.cli.conftest import Run

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"
NOWHERE = "urn:li:dataset:(urn:li:dataPlatform:duckdb,no.where,PROD)"


def test_every_version_says_what_it_changed(mill: Run) -> None:
    ran = mill("history", FLOUR, "--aspect", "editableSchemaMetadata")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].endswith("editableSchemaMetadata · latest version")
    what = " ".join(line.strip() for line in lines[1:3])
    assert what.startswith("~ weight/description: Net weight. → Net weight, in kilograms.")
    assert lines[-2].endswith("version 1")
    assert lines[-1] == "  first version"
    assert max(map(len, lines)) <= 80
    assert "2 versions shown" in ran.err


def test_all_aspects_are_read_where_none_is_named_newest_first(mill: Run) -> None:
    found = mill("history", FLOUR, "--json").json
    times = [version["time"] for version in found["versions"]]
    assert times == sorted(times, reverse=True)
    assert found["total"] == len(found["versions"])
    named = [(version["aspect"], version["version"]) for version in found["versions"]]
    assert named.index(("schemaMetadata", 0)) < named.index(("schemaMetadata", 1))
    some = mill("history", FLOUR, "--count", "2")
    assert f"2 of {found['total']} versions shown; --count shows more" in some.err
    rows = list(csv.DictReader(io.StringIO(mill("history", FLOUR, "--csv").out)))
    assert [row["time"] for row in rows] == times


def test_a_columns_history_has_ingested_and_edited_texts(mill: Run) -> None:
    found = mill("history", FLOUR, "--column", "weight", "--json").json
    said = [(change["origin"], change["before"], change["after"]) for change in found["changes"]]
    assert ("edited", "Net weight.", "Net weight, in kilograms.") in said
    assert ("ingested", "In kilograms.\nWithout the sack.", "In kilograms.") in said
    lines = mill("history", FLOUR, "--column", "weight").out.splitlines()
    assert lines[1:3] == ["  -Net weight.", "  +Net weight, in kilograms."]
    assert (
        "this column has never had a description"
        in mill("history", FLOUR, "--column", "origin.mill").err
    )


def test_a_difference_is_shown_place_by_place(mill: Run) -> None:
    ran = mill("diff", FLOUR, "--aspect", "schemaMetadata")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("--- schemaMetadata, version 1")
    assert lines[1].startswith("+++ schemaMetadata, latest version")
    at = lines.index("~ fields / weight / description")
    assert lines[at + 1 : at + 3] == ["   In kilograms.", "  -Without the sack."]
    assert '  +  "fieldPath": "origin.mill",' in lines
    assert "3 places differ" in ran.err
    found = mill("diff", FLOUR, "--aspect", "schemaMetadata", "--json").json
    assert [change["kind"] for change in found["changes"]] == ["changed", "added", "added"]
    assert (found["older"]["version"], found["newer"]["version"]) == (1, 0)


def test_versions_are_named_by_number_and_the_same_twice_is_no_fault(mill: Run) -> None:
    back = mill("diff", FLOUR, "--aspect", "schemaMetadata", "--older", "0", "--newer", "-1")
    assert "  +Without the sack." in back.out.splitlines()
    same = mill("diff", FLOUR, "--aspect", "schemaMetadata", "--older", "0")
    assert (same.code, same.out) == (0, "")
    assert "no differences" in same.err
    assert same.err.count("\n") == 1


def test_what_is_not_there_is_said(mill: Run) -> None:
    assert "has one version only" in mill("diff", FLOUR, "--aspect", "datasetProperties").err
    assert mill("diff", FLOUR, "--aspect", "schemaMetadata", "--older", "9").code == 1
    assert mill("history", NOWHERE).code == 1
    wrong = mill("history", FLOUR, "--aspect", "schemaMetadta")
    assert wrong.code == 1
    assert "schemaMetadata" in wrong.err
    assert mill("history", FLOUR, "--aspect", "status", "--column", "weight").code == 2
