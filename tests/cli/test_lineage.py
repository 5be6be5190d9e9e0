"""What an entity is made from and what is made from it, for people and for programs."""

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,lake.{name},PROD)"


def column(name: Any, path: Any) -> str:
    return f"urn:li:schemaField:({table(name)},{path})"


CHART = "urn:li:chart:(looker,lake.days)"
DASHBOARD = "urn:li:dashboard:(looker,lake)"


def test_the_tree_has_the_entity_in_its_middle(warehouse: Run) -> None:
    ran = warehouse("lineage", table("mart"))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "┌─ lake.ghost  dataset · hive  only named by others",
        "│  ┌─ raw  ↓ below",
        "├─ left  dataset · hive  removed",
        "│  ┌─ raw  dataset · hive",
        "├─ right  View · hive",
        "● mart  dataset · hive",
        "└─ By day  chart · looker",
        "   └─ The lake  dashboard · looker",
    ]
    assert ran.err == "4 upstream, 2 downstream within 3 hops\n"


def test_what_is_met_twice_is_shown_once_and_referred_to(warehouse: Run) -> None:
    ran = warehouse("lineage", table("raw"), "--down", "--hops", "2")
    lines = ran.out.splitlines()
    assert lines[0] == "● raw  dataset · hive"
    assert sum("mart  dataset" in line for line in lines) == 1
    assert [line for line in lines if "mart" in line][1].endswith("mart  ↑ above")
    # The chart lies one step further and is counted, not shown.
    assert "… 1 more" in next(line for line in lines if "mart  dataset" in line)
    assert "By day" not in ran.out
    assert "there is more lineage; --hops 3 shows it" in ran.err


def test_a_cycle_is_said_and_ends(warehouse: Run) -> None:
    ran = warehouse("lineage", table("one"), "--down", "--hops", "9")
    assert ran.out.splitlines() == [
        "● lake.one  dataset · hive",
        "└─ lake.two  dataset · hive",
        "   └─ lake.one  ↺ a cycle, back to this",
    ]
    assert "cycle: lake.one → lake.two → lake.one" in ran.err


def test_a_limit_shows_the_nearest_and_says_how_many_there_are(warehouse: Run) -> None:
    ran = warehouse("lineage", table("raw"), "--limit", "2", "--hops", "9")
    assert len(ran.out.splitlines()) == 3
    assert "2 of 7 shown (0 upstream, 7 downstream) within 9 hops" in ran.err
    assert "… 1 more" in ran.out


def test_columns_are_connected_and_a_guess_is_marked(warehouse: Run) -> None:
    ran = warehouse("lineage", table("raw"), "--column", "email", "--down")
    assert ran.out.splitlines() == [
        "● raw.email  column · hive",
        "├─ left.email  column · hive  removed  guess: same name",
        "└─ right.mail  column · hive  UPPER",
        "   └─ mart.contact  column · hive  UPPER",
    ]
    assert "1 column edge is a guess" in ran.err
    named = warehouse("lineage", column("raw", "email"), "--down")
    assert named.out == ran.out


def test_a_filter_steps_over_what_it_leaves_out(warehouse: Run) -> None:
    ran = warehouse("lineage", table("raw"), "--filter", "type:dashboard", "--hops", "9")
    assert ran.out.splitlines() == [
        "● raw  dataset · hive",
        "└─ The lake  dashboard · looker  through 3 others",
    ]
    owned = warehouse("lineage", table("raw"), "--filter", "owners:lakekeeper", "--urns")
    assert owned.out.split() == [table("mart")]
    wrong = warehouse("lineage", table("raw"), "--filter", "rowCount>3")
    assert (wrong.code, wrong.out) == (1, "")
    assert "no field of entities in lineage named 'rowCount'" in wrong.err


def test_programs_get_node_link_json_edges_as_csv_and_urns(warehouse: Run) -> None:
    graph = warehouse("lineage", table("raw"), "--json", "--hops", "9").json
    assert {edge["target"] for edge in graph["edges"] if edge["source"] == table("raw")} == {
        table("left"),
        table("right"),
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,lake,PROD),export)",
    }
    hops = {node["id"]: node["hops"] for node in graph["nodes"]}
    assert (hops[table("raw")], hops[DASHBOARD]) == (0, 4)
    rows = list(csv.DictReader(io.StringIO(warehouse("lineage", table("mart"), "--csv").out)))
    assert {(row["source"], row["target"]) for row in rows} >= {
        (table("right"), table("mart")),
        (table("mart"), CHART),
    }
    urns = warehouse("lineage", table("mart"), "--up", "--hops", "1", "--urns").out.split()
    assert urns == [table("ghost"), table("left"), table("right")]


@pytest.mark.parametrize(
    ("form", "begins"), [("mermaid", "flowchart LR"), ("dot", "digraph"), ("graphml", "<?xml")]
)
def test_graphs_are_written_for_other_programs(warehouse: Run, form: str, begins: str) -> None:
    ran = warehouse("lineage", table("mart"), "--format", form)
    assert ran.out.startswith(begins)
    assert "By day" in ran.out


def test_a_picture_that_is_cut_is_said_to_be(warehouse: Run, tmp_path: Path) -> None:
    wide = [
        {
            "entityType": "chart",
            "entityUrn": f"urn:li:chart:(looker,lake.wide.{at})",
            "changeType": "UPSERT",
            "aspectName": "chartInfo",
            "aspect": {
                "json": {
                    "title": f"Wide {at}",
                    "description": "",
                    "lastModified": {},
                    "inputs": [{"string": table("wide")}],
                }
            },
        }
        for at in range(160)
    ]
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    loaded = warehouse("load", str(tmp_path / "wide.json"))
    assert loaded.code == 0, loaded
    ran = warehouse("lineage", table("wide"), "--format", "mermaid")
    assert "the diagram is truncated: 150 of 161 nodes" in ran.err
    drawn = warehouse("lineage", table("wide"), "--format", "mermaid", "--limit", "9")
    assert "truncated" not in drawn.err
    assert drawn.out.count("Wide ") == 9
    assert "9 of 160 shown" in drawn.err


def test_names_are_text_and_nothing_else(warehouse: Run, tmp_path: Path) -> None:
    hostile = {
        "entityType": "dataset",
        "entityUrn": table("hostile"),
        "changeType": "UPSERT",
        "aspectName": "datasetProperties",
        "aspect": {"json": {"name": "a\x1b]0;x\x07\u202e[red]b", "customProperties": {}}},
    }
    (tmp_path / "hostile.json").write_text(json.dumps([hostile]))
    assert warehouse("load", str(tmp_path / "hostile.json")).code == 0
    for form in ("tree", "dot", "mermaid"):
        shown = warehouse("lineage", table("hostile"), "--format", form).out
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "a]0;x[red]b" in warehouse("lineage", table("hostile")).out


def test_a_table_fits_the_terminal(warehouse: Run) -> None:
    ran = warehouse("lineage", table("mart"), "--format", "table")
    header, *rows = ran.out.splitlines()
    assert header.split() == ["name", "type", "hops", "side", "state"]
    assert [row.split()[0] for row in rows[:2]] == ["By", "lake.ghost"]
    assert max(map(len, ran.out.splitlines())) <= 80


def test_nothing_there_and_nobody_there_are_different_things(warehouse: Run) -> None:
    nothing = warehouse("lineage", DASHBOARD, "--down")
    assert (nothing.code, nothing.out.strip()) == (0, "● The lake  dashboard · looker")
    assert "nothing downstream within 3 hops" in nothing.err
    nobody = warehouse("lineage", table("nowhere"))
    assert (nobody.code, nobody.out) == (1, "")
    assert "there is no" in nobody.err
    assert "there is no" in warehouse("lineage", table("nowhere"), "--column", "id").err
    column_gone = warehouse("lineage", table("raw"), "--column", "emial")
    assert column_gone.code == 1
    assert "did you mean email?" in column_gone.err


@pytest.mark.parametrize(
    "options", [("--json", "--csv"), ("--urns", "--format", "dot"), ("--hops", "0")]
)
def test_forms_exclude_each_other(warehouse: Run, options: Any) -> None:
    assert warehouse("lineage", table("raw"), *options).code == 2


def test_in_a_shell_what_is_downstream_is_read_one_by_one(
    warehouse: Run, served: str, command: tuple[str, ...]
) -> None:
    catalog = " ".join(command)
    script = (
        f"{catalog} lineage '{table('raw')}' --down --urns --filter type:chart --url {served} |"
        f" xargs -I% {catalog} get % --url {served} | head -1"
    )
    done = subprocess.run(
        ("bash", "-o", "pipefail", "-c", script), capture_output=True, timeout=120, check=False
    )
    assert done.stdout.decode() == "By day\n", done.stderr
