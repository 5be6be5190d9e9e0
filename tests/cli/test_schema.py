"""The columns of a dataset: as a tree, filtered, at a version, and for programs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import schema_of

FLOUR = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.flour,PROD)"
GRAIN = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.grain,PROD)"


def string(path: str) -> dict[str, Any]:
    return {
        "fieldPath": path,
        "nativeDataType": "text",
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    }


def names(ran: Any) -> Any:
    return [line.split()[0] for line in ran.out.splitlines()[1:]]


def test_columns_are_a_tree_with_types_keys_tags_and_descriptions(mill: Run) -> None:
    ran = mill("schema", FLOUR)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[1].split() == ["sack_id", "number", "key", "Which", "sack."]
    assert "✎ Net weight, in kilograms." in lines[2]
    assert lines[4].startswith("  mill ")
    assert "#Milled" in lines[4]
    assert "no description" in lines[4]
    assert max(map(len, lines)) <= 80
    assert "5 columns, 3 documented, 1 ✎ edited" in ran.err
    assert "has edits, but is no longer a column: gone" in ran.err


def test_texts_for_an_earlier_type_are_marked_and_moved(mill: Run) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.retyped,PROD)"
    was, now = "[version=2.0].[type=int].id", "[version=2.0].[type=long].id"
    info = {"fieldPath": was, "description": "The key."}
    aspects = {
        "schemaMetadata": schema_of([string(now), string("note")]),
        "editableSchemaMetadata": {"editableSchemaFieldInfo": [info]},
    }
    changes = [
        {"entityUrn": urn, "aspectName": name, "aspect": {"json": value}}
        for name, value in aspects.items()
    ]
    assert mill("load", "-", stdin=json.dumps(changes).encode()).code == 0
    for command in ("schema", "get"):
        shown = " ".join(mill(command, urn).out.split())
        assert "✎ The key. (written for the earlier [type=int].id)" in shown
    (column, _) = mill("schema", urn, "--json").json["columns"]
    assert (column["edited"], column["earlier"]) == ("The key.", was)
    ran = mill("schema", urn)
    assert f"catalog describe '{urn}' --carry-over" in " ".join(ran.err.split())
    assert "no longer a column" not in ran.err

    assert "written for the earlier [type=int].id" in mill("describe", urn, "--column", "id").out
    ran = mill("describe", urn, "--carry-over", "--dry-run")
    assert "id: written for the earlier [type=int].id" in ran.err
    assert "nothing was written" in ran.err
    ran = mill("describe", urn, "--carry-over")
    assert "hat was written of 1 column is moved; catalog undo reverts it" in ran.err
    (column, _) = mill("schema", urn, "--json").json["columns"]
    assert (column["edited"], column["earlier"]) == ("The key.", None)
    assert "nothing was moved" in mill("describe", urn, "--carry-over").err
    assert mill("undo", "--list").out.count("path of mill.retyped · id") == 1
    assert mill("undo", "--yes").code == 0
    (column, _) = mill("schema", urn, "--json").json["columns"]
    assert column["earlier"] == was


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--undocumented",), ["origin", "origin.mill"]),
        (("--tag", "milled"), ["origin.mill"]),
        (("--tag", "urn:li:tag:Milled", "--undocumented"), ["origin.mill"]),
        (("--match", "KILO"), ["weight"]),
        (("--match", "origin."), ["origin.mill"]),
        (("--tag", "Nobody"), []),
    ],
)
def test_columns_can_be_narrowed_and_then_have_their_whole_paths(
    mill: Run, words: Any, shown: Any
) -> None:
    ran = mill("schema", FLOUR, *words)
    assert names(ran) == shown
    assert f"{len(shown)} of 5 shown" in ran.err


def test_an_older_version_says_what_was_then_and_nothing_that_people_wrote_since(mill: Run) -> None:
    ran = mill("schema", FLOUR, "--version", "1", "--json")
    columns = ran.json["columns"]
    assert [column["path"] for column in columns] == ["sack_id", "weight", "origin"]
    assert columns[1]["description"] == "In kilograms.\nWithout the sack."
    assert columns[1]["edited"] is None
    assert "version 1 of the ingested schema; edited descriptions are not part of it" in ran.err
    assert mill("schema", FLOUR, "--version", "7").code == 1


def test_programs_get_exact_paths_first(mill: Run) -> None:
    rows = list(csv.reader(io.StringIO(mill("schema", GRAIN, "--csv").out)))
    assert rows[0][:3] == ["path", "name", "type"]
    assert rows[3][:2] == [
        "[version=2.0].[type=Grain].[type=Field].field.[type=string].name",
        "field.name",
    ]
    column = mill("schema", FLOUR, "--json").json["columns"][1]
    assert (column["ingested"], column["edited"]) == ("In kilograms.", "Net weight, in kilograms.")


def test_no_spreadsheet_takes_a_text_for_a_formula(mill: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(mill("schema", FLOUR, "--csv").out)))
    assert (rows[4]["path"], rows[4]["description"]) == ("'=sum", "'=1+1")
    assert mill("schema", FLOUR, "--json").json["columns"][4]["path"] == "=sum"


def test_what_has_no_columns_is_said(mill: Run) -> None:
    chart = mill("schema", "urn:li:chart:(metabase,mill.1)")
    assert (chart.code, chart.out) == (1, "")
    assert (
        "only datasets have columns; urn:li:chart:(metabase,mill.1) has the type chart" in chart.err
    )
    nowhere = mill("schema", "urn:li:dataset:(urn:li:dataPlatform:duckdb,no.where,PROD)")
    assert nowhere.code == 1


def test_the_urn_may_come_from_standard_input(mill: Run) -> None:
    assert names(mill("schema", "-", stdin=f"{FLOUR}\n".encode()))[0] == "sack_id"
    two = mill("schema", "-", stdin=f"{FLOUR}\n{GRAIN}\n".encode())
    assert (two.code, two.out) == (2, "")
    assert "2 URNs on standard input; give exactly one" in two.err
    assert mill("get", "-", stdin=b"\n").code == 2


def test_no_name_or_text_reaches_the_terminal_as_a_command(mill: Run, tmp_path: Path) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.husk,PROD)"
    kind: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    columns = [
        {"fieldPath": "a\u001b]0;x\u0007b", "type": kind, "nativeDataType": "\u202eV"},
        {"fieldPath": "[bold]c", "type": kind, "nativeDataType": "V", "description": "\u001b[2J!"},
    ]
    schema = schema_of(columns, platform="duckdb", name="husk")
    change = {"entityType": "dataset", "entityUrn": urn, "changeType": "UPSERT"}
    aspect = {"aspectName": "schemaMetadata", "aspect": {"json": schema}}
    (tmp_path / "husk.json").write_text(json.dumps([change | aspect]), encoding="utf-8")
    assert mill("load", str(tmp_path / "husk.json")).code == 0
    ran = mill("schema", urn)
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "[bold]c" in ran.out
    assert mill("schema", urn, "--json").json["columns"][0]["path"] == columns[0]["fieldPath"]


def test_labels_of_columns_are_shown_and_found_by_their_names(catalog: Run) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:duckdb,mill.named_labels,PROD)"
    term, tag = "urn:li:glossaryTerm:0b1c-77", "urn:li:tag:9d4e-12"
    edited = {
        "created": {"time": 0, "actor": "urn:li:corpuser:a"},
        "lastModified": {"time": 0, "actor": "urn:li:corpuser:a"},
        "editableSchemaFieldInfo": [
            {
                "fieldPath": "weight",
                "globalTags": {"tags": [{"tag": tag}]},
                "glossaryTerms": {
                    "terms": [{"urn": term}],
                    "auditStamp": {"time": 0, "actor": "urn:li:corpuser:a"},
                },
            }
        ],
    }
    aspects: dict[str, dict[str, Any]] = {
        urn: {
            "schemaMetadata": schema_of(map(string, ("weight", "origin"))),
            "editableSchemaMetadata": edited,
        },
        term: {"glossaryTermInfo": {"name": "Net weight", "definition": "", "termSource": "x"}},
        tag: {"tagProperties": {"name": "Measured"}},
    }
    changes = [
        {"entityUrn": one, "aspectName": name, "aspect": {"json": value}}
        for one, held in aspects.items()
        for name, value in held.items()
    ]
    ran = catalog("load", "-", stdin=json.dumps(changes).encode())
    assert ran.code == 0, ran
    assert "#Measured, Net weight" in catalog("schema", urn).out
    for name in ("net weight", "Measured", term):
        assert names(catalog("schema", urn, "--tag", name)) == ["weight"]
    # Programs get URNs.
    assert catalog("schema", urn, "--json").json["columns"][0]["terms"] == [term]
